"""Which arrays of a session there are, on engines or in the notebook, whoever has them."""

from __future__ import annotations

import gc
from math import prod
from typing import Any, TypeVar

from distnb.client.handle.array import Array
from distnb.client.session.session import Session

__all__ = ["held", "living"]

T = TypeVar("T")


def living(kind: type[T]) -> list[T]:
    """Return all objects of a class that there are: nobody else knows those in reach."""
    if gc.get_freeze_count():  # those are not shown
        gc.unfreeze()
    return _shown(kind)


def _shown(kind: type[T]) -> list[T]:
    return [x for x in gc.get_objects() if issubclass(type(x), kind)]


def held(session: Session) -> list[int]:
    """Return the bytes of each array of a session; of those that share memory, the largest.

    What ``gc.freeze()`` keeps from being collected stays so; of that only engines' arrays count.
    """
    there = [x for x in _shown(Array.made) if getattr(x, "session", None) is session]
    sizes = [*map(_memory, there), *map(_memory_of, session.bases())]
    found: dict[int, int] = {}
    for key, nbytes in sizes:
        found[key] = max(nbytes, found.get(key, 0))
    return list(found.values())


def _memory(x: Array) -> tuple[int, int]:
    """Return what tells the memory of an array from others, and its bytes."""
    base: Any = x._base
    if base is None:  # it is all there is of its elements
        near: Any = x._near
        return id(x), near.nbytes
    return _memory_of(base)


def _memory_of(base: Any) -> tuple[int, int]:
    same = base.sharing if base.look is None else base.look.family
    return id(base if same is None else same), base.dtype.itemsize * prod(base.shape)


Session.counted_by = staticmethod(held)
