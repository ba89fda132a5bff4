"""The memory of a rank's blocks: a pool of what was used before, and what others can read."""

from __future__ import annotations

import weakref
from math import prod
from typing import Any

import numpy as np

from distnb.common.memory_pool import Pool
from distnb.common.shared_segments import (
    BEGUN,
    ENDED,
    FAILED,
    WRITTEN,
    Card,
    Pages,
    SharedSegment,
    map_segment,
)
from distnb.engines.runtime.node import Node
from distnb.geometry.layout import Ints

__all__ = ["Memory", "owner_of"]

#: Blocks smaller than this are cheaper to allocate than to look up.
_POOLED_FROM = 1 << 15


class Memory:
    """The memory of the blocks of one rank.

    Parameters
    ----------
    pool_bytes : int
        What is kept for reuse.
    node : Node, optional
        The ranks of the node, if they share memory.
    """

    def __init__(self, pool_bytes: int, node: Node | None = None) -> None:
        self.node = node
        self.pool = Pool(pool_bytes, None if node is None else node.segment)
        #: The segment of the notebook, if it has given one to its engines.
        self._notebooks: Pages | None = None
        #: There, for when ranks have died: how far each is (:mod:`distnb.wire.progress`), the last
        #: batch that it has done (below 0: it has failed to do one, and no other counts), and the
        #: last in which something failed.
        self.begun: memoryview[int] | None = None
        self.ended: memoryview[int] | None = None
        self.failed: memoryview[int] | None = None
        #: Place there of a base -> what all views of this rank's block refer to.
        self._laid: dict[int, weakref.ref[np.ndarray]] = {}
        #: (bytes, ranks that may still read it) -> blocks that were dropped
        self._still_read: dict[tuple[int, Ints], list[np.ndarray]] = {}

    @property
    def segment(self) -> SharedSegment:
        """The memory that others of the node can read; only where there is a node."""
        assert self.node is not None
        return self.node.segment

    def take(self, nbytes: int, shared: bool = False) -> np.ndarray:
        """Return memory from the pool, or new memory, for which the pool may have to make room."""
        try:
            return self.pool.take(nbytes, shared, shared)
        except MemoryError:
            self.pool.clear()
            return self.pool.take(nbytes, shared, shared)

    def allocate(self, shape: Ints, dtype: np.dtype, shared: bool = False) -> np.ndarray:
        """Return a C-contiguous block with undefined content; in the segment if asked."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < _POOLED_FROM and not shared:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self.take(nbytes, shared))

    def offset(self, block: np.ndarray) -> int | None:
        """Return where in the segment an array lies, None if it does not.

        Below 0: where in the notebook's.
        """
        if self.is_notebooks(block):
            return -self._in_notebooks(block)
        return None if self.node is None else self.node.segment.offset(block)

    def block(self, peer: int, place: int, count: int, dtype: np.dtype) -> np.ndarray:
        """Return a look at a peer's block by its :meth:`offset` there, flat."""
        if place < 0:
            return self.at(-place, (count,), dtype)
        assert self.node is not None
        return self.node.block(peer, place, count, dtype)

    # -- the notebook's segment ------------------------------------------------------------------

    def attach(self, card: Card) -> bool:
        """Map the segment of the notebook; tell whether that could be done."""
        pages = map_segment(card)
        if pages is not None:
            self._notebooks = pages
            self.begun = pages.content[BEGUN:ENDED].cast("q")
            self.ended = pages.content[ENDED:FAILED].cast("q")
            self.failed = pages.content[FAILED:WRITTEN].cast("q")
        return pages is not None

    def at(self, place: int, shape: Ints, dtype: np.dtype) -> np.ndarray:
        """Return what lies at a place of the notebook's segment."""
        assert self._notebooks is not None
        return np.ndarray(shape, dtype, self._notebooks.content, place)

    def lay(
        self, place: int, offset: int, shape: Ints, dtype: np.dtype, new: bool = True
    ) -> np.ndarray:
        """Return the block of a base that begins at a place, and note who looks at it.

        ``new``: nobody has written there yet.
        """
        assert self._notebooks is not None
        nbytes = prod(shape) * dtype.itemsize
        if new:
            self._notebooks.enlarge(place + offset, nbytes)
        pages = self._notebooks.content[place + offset : place + offset + nbytes]
        owner = np.frombuffer(pages, np.uint8)  # which all views of the block refer to
        self._laid[place] = weakref.ref(owner)
        return np.ndarray(shape, dtype, owner)

    def looked_at(self, places: Ints) -> Ints:
        """Return the places of blocks at which somebody looks; the others are forgotten."""
        gone = [p for p in places if p not in self._laid or self._laid[p]() is None]
        for place in gone:
            self._laid.pop(place, None)
        return tuple([p for p in places if p not in gone])

    def is_notebooks(self, block: np.ndarray) -> bool:
        """Tell whether an array lies in the notebook's segment."""
        return self._notebooks is not None and self._in_notebooks(block) > 0

    def _in_notebooks(self, block: np.ndarray) -> int:
        """Return where in the notebook's segment an array lies, 0 if it does not."""
        assert self._notebooks is not None
        at: int = block.__array_interface__["data"][0] - self._notebooks.start
        return at if 0 < at < len(self._notebooks.content) else 0

    # -- what others may still read ------------------------------------------------------------

    def drop(self, block: np.ndarray, readers: Ints) -> None:
        """Let a block go, but for the time in which other ranks may still read it."""
        if readers and self.offset(block) is not None:
            self._still_read.setdefault((block.nbytes, readers), []).append(block)

    def again(self, shape: Ints, dtype: np.dtype, readers: Ints) -> np.ndarray:
        """Return a block of the segment, best one that these ranks have read, and read no more."""
        waiting = self._still_read.get((prod(shape) * dtype.itemsize, readers))
        if waiting:
            waiting.pop()  # nobody else has it, most often: then it comes back at once
        return self.allocate(shape, dtype, shared=True)

    def settle(self) -> None:
        """Reuse what was dropped while others might read it: all have done what came before."""
        self._still_read.clear()

    def clear(self) -> None:
        """Let all go that is kept."""
        self._still_read.clear()
        self.pool.clear()


def owner_of(block: np.ndarray) -> weakref.ref[Any] | None:
    """Return what tells whether anyone looks at a block; None if nothing does."""
    try:
        return weakref.ref(block if block.base is None else block.base)
    except TypeError:  # bytes, for one
        return None
