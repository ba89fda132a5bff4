"""``distnb.polynomial``: the names of ``numpy.polynomial``, for distributed points."""

from __future__ import annotations

import functools
import inspect
import sys
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
from distnb.client.record.creation import asarray
from distnb.left_out import listing, refusal

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

__getattr__ = refusal(__name__)

__dir__ = listing(__all__)


def _values(function: Callable[..., Any], x: Any, c: ArrayLike, tensor: bool = True) -> Any:
    """Evaluate series at points: each of them at all points, if coefficients have several axes.

    NumPy asks for its own class there, and would broadcast distributed points to the series.
    """
    if not isinstance(x, Array):
        return function(x, c, tensor)
    several = isinstance(c, Array) and c.ndim > 1
    series: Any = c if several else np.array(c, ndmin=1)
    if tensor:
        series = series[(..., *[None] * x.ndim)]
    return function(x, _by_power(series) if several else series, tensor=False)


def _by_power(c: Array) -> np.ndarray:
    """Return distributed coefficients as NumPy's functions take them: an object for each power."""
    if c.dtype.kind in "biu":
        c = c + 0.0  # as NumPy does, so that no integers overflow
    found = np.empty(len(c), object)
    for power in range(len(c)):
        found[power] = c[power]
    return found


def _from_roots(function: Callable[..., Any], x: Any, r: ArrayLike, tensor: bool = True) -> Any:
    """Evaluate polynomials of given roots at points, each of them at all points."""
    if not isinstance(x, Array):
        return function(x, r, tensor)
    roots = np.array(r, ndmin=1)
    if tensor:
        roots = roots.reshape(roots.shape + (1,) * x.ndim)
    elif x.ndim >= roots.ndim:
        raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return function(x, roots)


def _in_space(
    value: Callable[..., Any], grid: bool, function: Callable[..., Any], *args: Any, **options: Any
) -> Any:
    """Evaluate series of several variables: one variable after the other, as NumPy does.

    Coefficients are left for each point of a grid, or for points that are the same for all.
    """
    given = inspect.signature(function).bind(*args, **options).arguments
    c = given.pop("c")
    if not any(isinstance(x, Array) for x in given.values()):
        return function(*args, **options)
    first, *others = map(asarray, given.values())
    if not grid and any(x.shape != first.shape for x in others):
        raise ValueError(f"{', '.join(given)} are incompatible")
    c = _values(value, first, c)
    for x in others:
        c = _values(value, x, c, tensor=grid)
    return c


def _series(numpys: ModuleType, prefix: str) -> ModuleType:
    """Return a module of ``numpy.polynomial`` whose functions take distributed points.

    Values at points are computed where the points are; all else NumPy computes in the notebook.
    It is among the modules of Python, so that it can be imported, and pickled by name.
    """
    name = f"{__name__}.{numpys.__name__.rpartition('.')[2]}"
    made = sys.modules[name] = ModuleType(name, numpys.__doc__)
    value = inspect.unwrap(getattr(numpys, f"{prefix}val"))
    ways: dict[str, Callable[..., Any]] = {"val": _values, "valfromroots": _from_roots}
    for axes in ("2d", "3d"):
        ways[f"val{axes}"] = functools.partial(_in_space, value, False)
        ways[f"grid{axes}"] = functools.partial(_in_space, value, True)
    made.__dict__.update({k: v for k, v in vars(numpys).items() if k == "__all__" or k[0] != "_"})
    for end, way in ways.items():
        if hasattr(numpys, prefix + end):
            plain = inspect.unwrap(getattr(numpys, prefix + end))
            setattr(made, prefix + end, _named(way, plain, name))
    return made


def _named(way: Callable[..., Any], numpys: Callable[..., Any], module: str) -> Callable[..., Any]:
    """Return a function of a module, which calls NumPy's in its way."""

    @functools.wraps(numpys)
    def call(*args: Any, **options: Any) -> Any:
        return way(numpys, *args, **options)

    call.__module__ = module
    return call


polynomial = _series(_polynomial, "poly")
chebyshev = _series(_chebyshev, "cheb")
legendre = _series(_legendre, "leg")
laguerre = _series(_laguerre, "lag")
hermite = _series(_hermite, "herm")
hermite_e = _series(_hermite_e, "herme")
