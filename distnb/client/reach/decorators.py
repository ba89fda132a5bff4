"""Functions that let NumPy's try first, on arrays in reach."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from distnb.client.handle.array import Array
from distnb.client.reach.methods import reduction
from distnb.client.reach.whole_functions import Kind, Makes, made, step

__all__ = ["gives", "in_reach", "makes_at_home", "reduces"]

_F = TypeVar("_F", bound=Callable[..., Any])


def in_reach(
    numpys: Callable[..., Any], kind: Kind, reduces: str | None = None
) -> Callable[[_F], _F]:
    """Let a function be done by NumPy's if all its arrays are small and in reach.

    ``reduces`` names the reduction that it is: then the way of the method comes first.
    """

    def decorate(f: _F) -> _F:
        most = _before_out(f)

        @functools.wraps(f)
        def function(*args: Any, **options: Any) -> Any:
            found = None
            if reduces is not None and args and isinstance(args[0], Array):
                found = reduction(reduces, args[0], args[1:], options)
            if found is None and (len(args) <= most or args[most] is None):
                found = step(numpys, function, kind, args, options)
            if found is None and args and hasattr(type(args[0]), "__distnb_methods__"):
                own = getattr(args[0], f.__name__, None)  # as NumPy asks what is no array
                found = None if own is None else own(*args[1:], **options)
            return f(*args, **options) if found is None else found

        return function  # type: ignore[return-value]

    return decorate


def reduces(op: str) -> Callable[[_F], _F]:
    """Let a method that reduces try the short way first."""

    def decorate(f: _F) -> _F:
        @functools.wraps(f)
        def method(self: Any, *args: Any, **options: Any) -> Any:
            found = reduction(op, self, args, options)
            return f(self, *args, **options) if found is None else found

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
