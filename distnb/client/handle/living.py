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
    return [x for x in gc.get_objects() if issubclass(type(x), kind)]


def held(session: Session) -> list[int]:
    """Return the bytes of each array of a session; of those that share memory, the largest."""
    found: dict[int, int] = {}
    for x in living(Array.made):
        if getattr(x, "session", None) is session:
            key, nbytes = _memory(x)
            found[key] = max(nbytes, found.get(key, 0))
    return list(found.values())


def _memory(x: Array) -> tuple[int, int]:
    """Return what tells the memory of an array from others, and its bytes."""
    base: Any = x._base
    if base is None:  # it is all there is of its elements
        near: Any = x._near
        return id(x), near.nbytes
    same = base.sharing if base.look is None else base.look.family
    return id(base if same is None else same), base.dtype.itemsize * prod(base.shape)


Session.counted_by = staticmethod(held)
