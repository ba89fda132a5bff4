"""The memory of a rank's blocks: a pool of what was used before, and what others can read.

Nobody counts references. What the pool gives out is an array that stands for the memory, and that
all views of it refer to; when that is gone, whoever had it, the memory comes back by itself.
"""

from __future__ import annotations

import weakref
from collections import deque
from math import prod
from typing import Any, cast

import numpy as np

from distnb.engines.runtime.shared_segments import Node, SharedSegment
from distnb.geometry.layout import Ints

__all__ = ["Memory", "Pool", "owner_of"]

#: Blocks smaller than this are cheaper to allocate than to look up.
_POOLED_FROM = 1 << 15


class _Lease(weakref.ref[np.ndarray]):
    """Refers to the array that stands for memory, and knows what memory that is."""

    __slots__ = ("kind", "memory")

    kind: tuple[int, bool]
    memory: np.ndarray


class Pool:
    """Memory that came back, kept by size: a loop that makes temporaries pays its page faults once.

    Memory of the segment, which others of the node can read, is kept apart. Its pages are small:
    new ones cost more, and so does walking across them. So it is made only to be read by others.
    """

    def __init__(self, limit: int, segment: SharedSegment | None = None) -> None:
        self.limit = limit
        self.segment = segment
        #: Bytes that are kept.
        self.held = 0
        #: (bytes, whether in the segment) -> memory; of which kind something came last comes last
        self.free: dict[tuple[int, bool], list[np.ndarray]] = {}
        self._leases: dict[int, _Lease] = {}
        #: Those that have ended. That is appended by the interpreter, in any thread, between any
        #: two instructions, so it waits here until it is called in.
        self._ended: deque[_Lease] = deque()

    def take(self, nbytes: int, shared: bool = False) -> np.ndarray:
        """Return memory of exactly ``nbytes``, with undefined content; of the segment if asked.

        It comes back when neither the array nor a view of it is there any more.
        """
        kind = nbytes, shared
        memory = self.collect(kind)
        for other in (True,) if shared else (False, True):
            waiting = self.free.get((nbytes, other))
            if memory is None and waiting:
                self.held -= nbytes
                kind, memory = (nbytes, other), waiting.pop()
        return self._lend(kind, self._new(nbytes, shared) if memory is None else memory)

    def _new(self, nbytes: int, shared: bool) -> np.ndarray:
        if shared and self.segment is not None:
            return self.segment.take(nbytes)
        return np.empty(nbytes, np.uint8)

    def _lend(self, kind: tuple[int, bool], memory: np.ndarray) -> np.ndarray:
        if not len(memory):
            return memory
        # As it does not look like a view of an array, its own views refer to it and not beyond.
        array = np.frombuffer(memoryview(cast(Any, memory)), np.uint8)
        lease = _Lease(array, self._ended.append)
        lease.kind, lease.memory = kind, memory
        self._leases[id(lease)] = lease
        return array

    def collect(self, wanted: tuple[int, bool] | None = None) -> np.ndarray | None:
        """Call in what has come back; return memory of a kind that is wanted, if there is any."""
        found = None
        while self._ended:
            lease = self._ended.popleft()
            del self._leases[id(lease)]
            if found is None and lease.kind == wanted:
                found = lease.memory
            else:
                self._keep(lease.kind, lease.memory)
        return found

    def _keep(self, kind: tuple[int, bool], memory: np.ndarray) -> None:
        """Keep memory for reuse; when the pool is full, let go what was not used for long."""
        if memory.nbytes <= self.limit:
            self._make_room(self.limit - memory.nbytes)
            waiting = self.free[kind] = self.free.pop(kind, [])  # the last of all kinds
            waiting.append(memory)
            self.held += memory.nbytes

    def _make_room(self, most: int) -> None:
        """Let memory go until no more than ``most`` bytes are kept: first of the oldest kind."""
        for kind, waiting in self.free.items() if self.held > most else ():
            while waiting and self.held > most:
                waiting.pop()
                self.held -= kind[0]

    def clear(self) -> None:
        """Let all kept memory go."""
        self.collect()
        self.free.clear()
        self.held = 0


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
            return self.pool.take(nbytes, shared)
        except MemoryError:
            self.pool.clear()
            return self.pool.take(nbytes, shared)

    def allocate(self, shape: Ints, dtype: np.dtype, shared: bool = False) -> np.ndarray:
        """Return a C-contiguous block with undefined content; in the segment if asked."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < _POOLED_FROM and not shared:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self.take(nbytes, shared))

    def offset(self, block: np.ndarray) -> int | None:
        """Return where in the segment an array lies, None if it does not."""
        return None if self.node is None else self.node.segment.offset(block)

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
