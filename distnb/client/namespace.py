"""Where functions on distributed arrays register: under a public name, and for NumPy's own.

Modules that define functions of the array namespace put them here with :func:`public`; the package
takes its names from ``NAMESPACE``, and ``__array_function__`` looks into ``FUNCTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["FUNCTIONS", "NAMESPACE", "public"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: Public name -> function. Not all are module globals: these would hide the builtins ``sum``,
#: ``max``, ``abs`` ... where they are defined.
NAMESPACE: dict[str, Any] = {}

#: NumPy function -> what it does to distributed arrays.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def public(name: str, *stands_for: Any) -> Callable[[_F], _F]:
    """Put a function into the namespace, and in place of NumPy's for distributed arrays."""

    def register(f: _F) -> _F:
        f.__name__ = f.__qualname__ = name
        NAMESPACE[name] = f
        for numpys in stands_for:
            FUNCTIONS[numpys] = f
        return f

    return register
