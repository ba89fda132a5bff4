"""The bases that a rank holds: local blocks, what they belong to, and a pool of freed memory."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from distnb.layout import Ints, Layout
from distnb.protocol import Operand
from distnb.views import Placed

__all__ = ["Base", "Lost", "Pool", "Store"]

#: Blocks smaller than this are cheaper to allocate than to look up.
_POOLED_FROM = 1 << 15


class Lost(Exception):  # noqa: N818 - a state of a base, not an error of the user's
    """A base whose content is undefined, because a command that writes it failed."""


@dataclass
class Base:
    """One rank's part of an array: ``block`` is C-contiguous, None where the rank holds none."""

    shape: Ints
    dtype: np.dtype
    layout: Layout
    block: np.ndarray | None
    memory: np.ndarray | None = None
    lost: bool = False
    #: Never stored: it comes to be and goes within one group of commands.
    virtual: bool = False
    #: In place of elements: what took them in for the reduction that follows, or why it failed.
    taken: Any = None


@dataclass
class Pool:
    """Freed memory, kept by size: a loop that makes temporaries pays its page faults once."""

    limit: int
    held: int = 0
    free: dict[int, list[np.ndarray]] = field(default_factory=dict)

    def take(self, nbytes: int) -> np.ndarray:
        """Return memory of exactly ``nbytes``, with undefined content."""
        waiting = self.free.get(nbytes)
        if waiting:
            self.held -= nbytes
            return waiting.pop()
        return np.empty(nbytes, np.uint8)

    def give(self, memory: np.ndarray) -> None:
        """Keep memory for reuse, or let it go when the pool is full."""
        if self.held + memory.nbytes <= self.limit:
            self.free.setdefault(memory.nbytes, []).append(memory)
            self.held += memory.nbytes

    def clear(self) -> None:
        """Let all kept memory go."""
        self.free.clear()
        self.held = 0


class Store:
    """Handle -> base, on one rank."""

    def __init__(self, rank: int, pool_bytes: int) -> None:
        self.rank = rank
        self.bases: dict[int, Base] = {}
        self.pool = Pool(pool_bytes)
        self._alone = 0
        self._calibrate()

    def _calibrate(self) -> None:
        """Count the references to memory that nobody else holds, as :meth:`free` would see them."""
        memory = np.empty(0, np.uint8)

        def release(memory: np.ndarray) -> None:
            self._alone = _references(memory)

        release(memory)

    def add(self, handle: int, shape: Ints, dtype: np.dtype, layout: Layout) -> Base:
        """Make a base with undefined content; it counts as lost until that is given."""
        base = self.bases[handle] = Base(shape, dtype, layout, None, None, lost=True)
        self.make(base)
        return base

    def make(self, base: Base) -> None:
        """Give a base its memory."""
        local = base.layout.local_shape(base.shape, self.rank)
        if local is not None:
            base.block, base.memory = self.allocate(local, base.dtype)
        base.virtual = False

    def allocate(self, shape: Ints, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray | None]:
        """Return a C-contiguous block, and the pooled memory under it (None if not pooled)."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < _POOLED_FROM:
            return np.empty(shape, dtype), None
        try:
            memory = self.pool.take(nbytes)
        except MemoryError:
            self.pool.clear()
            memory = self.pool.take(nbytes)
        return np.ndarray(shape, dtype, memory), memory

    def release(self, memory: np.ndarray | None) -> None:
        """Give memory back to the pool, unless someone (``%px``) still looks at it."""
        if memory is not None and _references(memory) <= self._alone:
            self.pool.give(memory)

    def get(self, handle: int) -> Base:
        """Return a base whose content is good; raise Lost otherwise."""
        base = self.bases[handle]
        if base.lost:
            raise Lost(f"array {handle}")
        return base

    def held(self, base: Base) -> int:
        """Return how many elements of a base this rank is to hold."""
        local = base.layout.local_shape(base.shape, self.rank)
        return 0 if local is None else prod(local)

    def is_there(self, base: Base) -> bool:
        """Tell whether this rank can write its part of a base."""
        return base.block is not None or base.virtual or not self.held(base)

    def placed(self, operand: Operand) -> Placed:
        """Return the placement of an operand."""
        base = self.bases[operand.base]
        return Placed(base.shape, base.layout, operand.view)

    def free(self, handles: Ints) -> None:
        """Drop bases."""
        for handle in handles:
            base = self.bases.pop(handle, None)
            if base is not None and base.memory is not None:
                memory, base.memory, base.block = base.memory, None, None
                self.release(memory)

    def clear(self) -> None:
        """Drop everything."""
        self.bases.clear()
        self.pool.clear()


def _references(memory: np.ndarray) -> int:
    return sys.getrefcount(memory)
