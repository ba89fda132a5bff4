"""``distnb.special``: SciPy's special functions of distributed arrays, element by element.

With ``SCIPY_ARRAY_API=1`` SciPy looks here for functions of the arrays that it is given: in place
of ufuncs it offers functions then, which gather what is not here.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.math.mapping import map_
from distnb.common.errors import explain
from distnb.left_out import unknown

#: What is a function of elements in SciPy, and no ufunc.
_FUNCTIONS = ("multigammaln", "polygamma", "sinc", "zeta")

_unknown = unknown(__name__)


def __getattr__(name: str) -> Any:
    """Return SciPy's ufunc: given distributed arrays, it runs on the engines."""
    found = _plain(name)
    if isinstance(found, np.ufunc):
        return found
    return _mapped(found) if name in _FUNCTIONS else _unknown(name)


def __dir__() -> list[str]:
    """Return the names of functions, for completion."""
    names = dir(_scipys())
    return [n for n in names if n in _FUNCTIONS or isinstance(_plain(n), np.ufunc)]


def _plain(name: str) -> Any:
    """Return what SciPy has under a name, without what it wraps around it."""
    return inspect.unwrap(getattr(_scipys(), name, None))  # type: ignore[arg-type]


def _scipys() -> Any:
    """Return the module ``scipy.special``; it is an optional dependency."""
    try:
        return importlib.import_module("scipy.special")
    except ImportError as error:
        raise ImportError(
            explain(__name__, "no SciPy", "scipy", "run: pip install scipy")
        ) from error


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of elements that is called on the engines."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = inspect.signature(function).bind(*args, **options).args
        here = not any(isinstance(x, Array) for x in given)
        return function(*given) if here else map_(function, *given)

    return call
