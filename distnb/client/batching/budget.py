"""The bytes that arrays take on the engines, counted before they are made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import prod

import numpy as np

from distnb.common.config import config
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, Layout
from distnb.measure.quantities import size_text

__all__ = ["Budget", "need"]

#: Bases that may have been freed and still count, as long as there is room.
_MANY = 1000
#: Bytes that an array can have.
_ADDRESSABLE = int(np.iinfo(np.intp).max)


def need(shape: Ints, dtype: np.dtype, layout: Layout) -> int:
    """Return the bytes that an engine needs for a base."""
    if len(shape) > 32 or prod(n or 1 for n in shape) * dtype.itemsize > _ADDRESSABLE:
        np.broadcast_to(np.empty((), dtype), shape)  # NumPy refuses what no array can be
    return layout.largest_part(shape) * dtype.itemsize


class Budget:
    """What bases take of an engine's memory.

    Parameters
    ----------
    share : int
        Bytes that an engine has; 0 if that is not known.
    """

    def __init__(self, share: int) -> None:
        self.share = share
        self._reserved = 0
        #: Bytes that an engine was to write so far, about: who asks for what is long adds to it.
        self.work = 0
        #: Lets go what could be made again, where there is no room for what is asked for.
        self.shed: Callable[[], None] = lambda: None
        #: Lets so many bytes go to disk; returns why that could not be done, and what to do.
        self.spill: Callable[[float], str] = lambda excess: ""
        #: Bytes that were freed, by the garbage collector in any thread, and are still counted.
        self._released: deque[int] = deque()
        #: Notes the bytes of a base that was freed (called by the garbage collector: no lock).
        self.release: Callable[[int], None] = self._released.append

    def reserve(
        self, shape: Ints, dtype: np.dtype, layout: Layout, known: int | None = None
    ) -> int:
        """Count a base, and return its bytes; refuse what cannot fit.

        ``known`` is what this returned for the like of it before.
        """
        asked = need(shape, dtype, layout) if known is None else known
        limit = self.share * config.memory_share
        if len(self._released) > _MANY or self._reserved + asked > limit:
            self._settle()
        why = ""
        if asked and self.share and self._reserved + asked > limit:
            why = self._make_room(asked, limit)
        reserved = self._reserved + asked
        if asked and self.share and reserved > limit:
            raise MemoryError(
                explain(
                    f"array of shape {shape} and {dtype}",
                    f"{size_text(asked)} on an engine",
                    f"at most {size_text(self.room() or 0)}",
                    f"delete arrays, use more engines, or raise dnb.config.memory_share{why}",
                )
            )
        self._reserved = reserved
        self.work += asked
        return asked

    def _make_room(self, asked: int, limit: float) -> str:
        """Let go what can, for an array that would not fit; return why not all that was needed."""
        self.shed()
        self._settle()
        excess = self._reserved + asked - limit
        why = self.spill(excess) if excess > 0 else ""
        self._settle()
        return why and f"; {why}"

    @property
    def free(self) -> int:
        """Bytes that bases may still take, at least (0 if unknown). Any thread may ask."""
        return max(0, int(self.share * config.memory_share) - self._reserved)

    def change(self, counted: int, to: int) -> int:
        """Count a base that is there with other bytes, and return these."""
        self._reserved += to - counted
        return to

    def room(self) -> int | None:
        """Return the bytes that another base may take on an engine (None if unknown)."""
        if not self.share:
            return None
        self._settle()
        return max(0, int(self.share * config.memory_share) - self._reserved)

    def _settle(self) -> None:
        """Count what was freed no longer."""
        if not self._released:
            return
        with suppress(IndexError):  # another thread has counted the last of it
            while self._released:
                self._reserved -= self._released.popleft()
