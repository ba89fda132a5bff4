"""Where functions on distributed arrays register: under a public name, and for NumPy's own.

Modules that define functions of the array namespace put them here with :func:`public`; the package
takes its names from ``NAMESPACE``, and ``__array_function__`` looks into ``FUNCTIONS``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from distnb.common.errors import explain

__all__ = ["DEVICE", "FUNCTIONS", "NAMESPACE", "check_device", "public", "with_device"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: Public name -> function. Not all are module globals: these would hide the builtins ``sum``,
#: ``max``, ``abs`` ... where they are defined.
NAMESPACE: dict[str, Any] = {}

#: NumPy function -> what it does to distributed arrays. A word is a method of all ufuncs.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

#: The one device of the array API standard that there is: where elements are is in ``layout``.
DEVICE = "cpu"


def public(name: str, *stands_for: Any) -> Callable[[_F], _F]:
    """Put a function into the namespace, and in place of NumPy's for distributed arrays."""

    def register(f: _F) -> _F:
        f.__name__ = f.__qualname__ = name
        NAMESPACE[name] = f
        for numpys in stands_for:
            FUNCTIONS[numpys] = f
        return f

    return register


def with_device(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take ``device=`` as the array API standard wants it."""

    @functools.wraps(f)
    def function(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        check_device(device)
        return f(*args, **kwargs)

    signature = inspect.signature(f)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    rest = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    last = [p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*rest, device, *last]
    )
    return function


def check_device(device: Any) -> None:
    """Raise ValueError for a device that there is not."""
    if device not in (None, DEVICE):
        raise ValueError(
            explain("device", repr(device), f"{DEVICE!r}", "say where with dist= and session=")
        )


def stands_for(*numpys: Any) -> Callable[[_F], _F]:
    """Put a function in place of NumPy's for distributed arrays; its module makes it public."""

    def register(f: _F) -> _F:
        for one in numpys:
            FUNCTIONS[one] = f
        return f

    return register
