"""Attributes that are computed when they are first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["lazy"]

_T = TypeVar("_T")


class lazy(Generic[_T]):  # noqa: N801 - used as a decorator
    """As ``functools.cached_property``, without the lock that Python 3.11 takes for it.

    What is computed must be the same every time: two threads may compute it at once.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> _T:
        if instance is None:
            return self  # type: ignore[return-value]  # of a class, as properties are
        found = instance.__dict__[self._name] = self._compute(instance)
        return found
