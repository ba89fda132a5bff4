"""A pool of memory that came back, for whoever asks next.

Nobody counts references. What the pool gives out is an array that stands for the memory, and that
all views of it refer to; when that is gone, whoever had it, the memory comes back by itself.
"""

from __future__ import annotations

import importlib
import weakref
from collections import deque
from typing import Any

import numpy as np

from distnb.common.shared_segments import SharedSegment

__all__ = ["NUMPYS_POOL", "Pool", "keep_numpys", "size_class"]


def _compiled() -> Any:
    """Return the module ``numpy_pool.c``; None if it could not be compiled."""
    try:
        return importlib.import_module("distnb.common.numpy_pool")
    except ImportError:
        return None


#: A pool for what NumPy itself allocates in this process, in contexts that use it; or None.
NUMPYS_POOL = _compiled()

#: Bytes below which memory is taken to the byte.
_EXACT = 1 << 16
#: Bytes for which memory is taken that is larger, up to twice, rather than new pages.
_LEAST, _MOST = 1 << 20, 1 << 28


def size_class(nbytes: int) -> int:
    """Return how many bytes are taken for ``nbytes``: an eighth more at most, pages not touched.

    So arrays that grow or shrink in a loop have the memory of those before.

    >>> [size_class(n) for n in (100, 1 << 20, (1 << 20) + 1)]
    [100, 1048576, 1179648]
    """
    step = 1 << max(nbytes.bit_length() - 4, 0)
    return nbytes if nbytes < _EXACT else -(-nbytes // step) * step


def keep_numpys(most: int) -> None:
    """Keep no more than so many bytes of what NumPy gave back in this process, from now on."""
    if NUMPYS_POOL is not None:
        NUMPYS_POOL.keep_at_most(most)


class _Lease(weakref.ref[np.ndarray]):
    """Refers to the array that stands for memory, and knows what memory that is."""

    __slots__ = ("kind", "memory")

    kind: tuple[int, bool]
    memory: np.ndarray


class Pool:
    """Memory that came back, kept by size: a loop that makes temporaries pays its page faults once.

    Memory of the segment, which others of the node can read, is kept apart. Where its pages are
    small, new ones cost more, and so does walking across them. So it is made only to be read by
    others.
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

    def take(self, nbytes: int, shared: bool = False, mine: bool = False) -> np.ndarray:
        """Return memory of exactly ``nbytes``, with undefined content; of the segment if asked.

        It comes back when neither the array nor a view of it is there any more. ``mine``: this
        process writes it first, so that new pages are near it, and huge where they can be.
        """
        size = size_class(nbytes)
        kind = size, shared
        memory = self.collect(kind)
        for other in (True,) if shared else (False, True):
            waiting = self.free.get((size, other))
            if memory is None and waiting:
                self.held -= size
                kind, memory = (size, other), waiting.pop()
        if memory is None and _LEAST <= size <= _MOST and (larger := self._larger(kind)):
            self.held -= larger[0]
            kind, memory = larger, self.free[larger].pop()
        return self._lend(kind, self._new(size, shared, mine) if memory is None else memory, nbytes)

    def claim(self, place: int, nbytes: int) -> np.ndarray:
        """Return memory at a place of the segment, which a pool gave out, with what is there."""
        assert self.segment is not None
        size = size_class(nbytes)
        return self._lend((size, True), self.segment.claim(place, size), nbytes)

    def keep_at_most(self, limit: int) -> None:
        """Keep no more than so many bytes from now on."""
        self.limit = limit
        self._make_room(limit)

    def _larger(self, kind: tuple[int, bool]) -> tuple[int, bool] | None:
        """Return the next larger kind of which memory is kept, if it is not twice as large."""
        size, shared = kind
        kinds = [k for k, kept in self.free.items() if kept and k[1] == shared]
        return min((k for k in kinds if size < k[0] < 2 * size), default=None)

    def _new(self, nbytes: int, shared: bool, mine: bool) -> np.ndarray:
        if not shared or self.segment is None:
            return np.empty(nbytes, np.uint8)
        found = self.segment.take(nbytes)
        if mine:
            self.segment.enlarge(found)
        return found

    def _lend(self, kind: tuple[int, bool], memory: np.ndarray, nbytes: int) -> np.ndarray:
        if not nbytes:
            return memory
        # As it does not look like a view of an array, its own views refer to it and not beyond.
        buffer: Any = memory
        array = np.frombuffer(memoryview(buffer), np.uint8, nbytes)
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
