"""``distnb.polynomial``: the names of ``numpy.polynomial``, for distributed points."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.polynomial import (
    Chebyshev,
    Hermite,
    HermiteE,
    Laguerre,
    Legendre,
    Polynomial,
    polyutils,
    set_default_printstyle,
)
from numpy.polynomial import chebyshev as _chebyshev
from numpy.polynomial import hermite as _hermite
from numpy.polynomial import hermite_e as _hermite_e
from numpy.polynomial import laguerre as _laguerre
from numpy.polynomial import legendre as _legendre
from numpy.polynomial import polynomial as _polynomial
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebyshev",
    "hermite",
    "hermite_e",
    "laguerre",
    "legendre",
    "polynomial",
    "polyutils",
    "set_default_printstyle",
]


class Series:
    """A module of ``numpy.polynomial``: its functions take distributed arrays.

    Values at points are computed where the points are; all else NumPy computes in the notebook.
    """

    def __init__(self, numpys: ModuleType, value: str) -> None:
        self._numpys, self._value = numpys, value

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._numpys, name)
        if name == self._value:
            return functools.wraps(found)(functools.partial(_values, found))
        if name in ("polyval2d", "polygrid2d"):  # which ask arrays for a function of their own
            return functools.wraps(found)(functools.partial(_read, found))
        return found

    def __dir__(self) -> list[str]:
        return dir(self._numpys)


def _values(function: Callable[..., Any], x: Any, c: ArrayLike, tensor: bool = True) -> Any:
    """Evaluate series at points: each of them at all points, if coefficients have several axes.

    NumPy asks for its own class there, and would broadcast distributed points to the series.
    """
    if not (tensor and isinstance(x, Array)):
        return function(x, c, tensor)
    series = np.array(c, ndmin=1)
    return function(x, series.reshape(series.shape + (1,) * x.ndim), tensor=False)


def _read(function: Callable[..., Any], *args: ArrayLike) -> Any:
    """Call a function with arrays of NumPy's."""
    return function(*map(np.asarray, args))


polynomial = Series(_polynomial, "polyval")
chebyshev = Series(_chebyshev, "chebval")
legendre = Series(_legendre, "legval")
laguerre = Series(_laguerre, "lagval")
hermite = Series(_hermite, "hermval")
hermite_e = Series(_hermite_e, "hermeval")
