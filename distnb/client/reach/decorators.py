"""Functions that let NumPy's try first, on arrays in reach."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from distnb.client.batching.call_sites import at_users_line
from distnb.client.handle.array import Array
from distnb.client.reach.methods import reduction
from distnb.client.reach.whole_functions import Kind, Makes, made, step

__all__ = ["ASKED", "asks", "gives", "in_reach", "makes_at_home", "reduces"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: What is read as an array, whatever methods it has.
_ARRAYS = (Array, np.ndarray, list, tuple, np.generic, int, float, complex)
#: Functions of NumPy's that may warn by Python's means, not by NumPy's error state.
_WARN = frozenset(("average", "corrcoef", "cov", "lstsq", "polyfit"))
_WARN |= {"nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanquantile", "nanstd"}
_WARN |= {"nanvar"}
#: Options of reductions that the short way knows.
_AXES = frozenset(("axis", "keepdims"))
#: Functions for which NumPy asks what is no array of its own for a method, and those of them that
#: hand on an axis.
_SPREAD = frozenset(("std", "var"))
_ALONG = _SPREAD | {"all", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "mean", "min"}
_ALONG |= {"prod", "sum"}
#: Those that no other decorator lets try the methods of others.
ASKED = frozenset(("squeeze", "swapaxes", "transpose"))
_ASKED = _ALONG | ASKED
_ASKED |= {"argsort", "clip", "nonzero", "ravel", "repeat", "round", "searchsorted"}


def in_reach(
    numpys: Callable[..., Any], kind: Kind, reduces: str | None = None
) -> Callable[[_F], _F]:
    """Let a function be done by NumPy's if all its arrays are small and in reach.

    ``reduces`` names the reduction that it is: then the way of the method comes first.
    """

    def decorate(f: _F) -> _F:
        most = _before_out(f)
        run = at_users_line(numpys) if numpys.__name__ in _WARN else numpys

        @functools.wraps(f)
        def function(*args: Any, **options: Any) -> Any:
            found = None
            if reduces is not None and args and isinstance(args[0], Array):
                found = reduction(reduces, args[0], args[1:], options)
            out = args[most] if len(args) > most else None
            if found is None and out is None:
                found = step(run, function, kind, args, options)
            elif found is None and len(args) == most + 1 and "out" not in options:
                found = step(run, function, kind, args[:most], {**options, "out": out})
            if found is None and args and not isinstance(args[0], _ARRAYS):
                found = _by_method(f.__name__, args, options)
            return f(*args, **options) if found is None else found

        return function  # type: ignore[return-value]

    return decorate


def _by_method(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what a method of the first argument does, where NumPy asks for it; else None.

    pandas' and xarray's objects, and sparse arrays, keep what they are.
    """
    if name not in _ASKED and not hasattr(type(args[0]), "__distnb_methods__"):
        return None
    own = getattr(args[0], name, None)
    if own is None:
        return None
    if len(args) == 1 and name in _ALONG:  # NumPy hands its defaults on; others have their own
        options = {"axis": None, **options}
    if len(args) < 3 and name in _SPREAD:
        options = {"ddof": 0, **options}
    return own(*args[1:], **options)


def asks(f: _F) -> _F:
    """Let a function be the method of what is no array, where NumPy asks for it."""

    @functools.wraps(f)
    def function(*args: Any, **options: Any) -> Any:
        found = None
        if args and not isinstance(args[0], _ARRAYS):
            found = _by_method(f.__name__, args, options)
        return f(*args, **options) if found is None else found

    return function  # type: ignore[return-value]


def reduces(op: str) -> Callable[[_F], _F]:
    """Let a method that reduces try the short way first, and, given more than axes, NumPy's."""

    def decorate(f: _F) -> _F:
        itself: Any = f.__wrapped__  # type: ignore[attr-defined]

        @functools.wraps(f)
        def method(self: Any, *args: Any, **options: Any) -> Any:
            found = reduction(op, self, args, options)
            if found is not None:
                return found
            more = len(args) > 1 or not _AXES.issuperset(options)
            return (f if more else itself)(self, *args, **options)

        return method  # type: ignore[return-value]

    return decorate


def makes_at_home(numpys: Callable[..., Any], most: Makes) -> Callable[[_F], _F]:
    """Let a function that makes an array be NumPy's if that array is to live in the notebook."""

    def decorate(f: _F) -> _F:
        @functools.wraps(f)
        def function(*args: Any, **options: Any) -> Any:
            found = made(numpys, most, args, options)
            return f(*args, **options) if found is None else found

        return function  # type: ignore[return-value]

    return decorate


def gives(scalars: bool) -> Callable[[_F], _F]:
    """Let what a function makes of no axes be scalars, or arrays: all but what it was given."""

    def decorate(f: _F) -> _F:
        @functools.wraps(f)
        def function(*args: object, **options: object) -> Any:
            found = f(*args, **options)
            near = found._near if isinstance(found, Array) else None
            if near is not None and near.ndim:
                return found
            for result in found if isinstance(found, tuple) else (found,):
                if isinstance(result, Array) and not result.shape and result.single != scalars:
                    given = any(result is x for x in (*args, *options.values()))
                    result.single = result.single if given else scalars
            return found

        return function  # type: ignore[return-value]

    return decorate


def _before_out(f: Callable[..., Any]) -> int:
    """Return how many arguments a function takes by position before its output."""
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    return names.index("out") if "out" in names else sys.maxsize
