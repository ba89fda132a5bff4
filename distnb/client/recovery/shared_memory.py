"""The notebook's shared segment: memory that it and all engines of its node have mapped.

A base that lies there is one ndarray for the notebook, and each engine's part of it is where the
layout says. The notebook gives out the places, and no message is needed for that.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from math import prod
from typing import Any

import numpy as np

from distnb.client.batching.budget import Budget, need
from distnb.common.config import config
from distnb.common.memory_pool import Pool, keep_numpys
from distnb.common.shared_segments import SharedSegment, card_of, file_segment, new_segment
from distnb.geometry.layout import Ints, Layout
from distnb.wire.progress import Progress, progress
from distnb.wire.protocol import Ask, Command, InNotebook, Operand

__all__ = ["SharedMemory"]

#: Bytes of bases that are gone from which engines are asked whether somebody looks at them.
_SHOWN = 1 << 26
#: Bytes up to which what was in the notebook goes to engines in their messages.
_SENT = 1 << 16
#: Of open sessions: NumPy's memory is kept in this process while there are any.
_OPEN: weakref.WeakSet[SharedMemory] = weakref.WeakSet()


class SharedMemory:
    """What the notebook gives out of its segment, which is made when it is first asked for.

    Parameters
    ----------
    ask : callable
        Asks all engines, and waits (:meth:`distnb.client.session.session.Session.ask`).
    lock : context manager
        The recorder's, with which one asks.
    possible : bool
        Whether there can be one: not where each rank has a notebook of its own (SPMD).
    segment : SharedSegment, optional
        That of a notebook that has ended, which this is to be.
    budget : Budget, optional
        What an engine may still take.
    """

    def __init__(
        self,
        ask: Callable[[Callable[[int], Command]], list[Any]],
        lock: AbstractContextManager[object],
        possible: bool,
        segment: SharedSegment | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._ask, self._asking = ask, lock
        self._budget = budget
        self._given = segment
        self._pool: Pool | None = None
        #: The idle timer takes places, too.
        self._lock = threading.Lock()
        self.possible = possible
        #: A file on a disk, for what is to lie there and not in memory, if there is one.
        self.disk: SharedSegment | None = None
        #: What engines may be at: (the last batch that they may need it for, memory, and whether
        #: their users may look at it).
        self._held: deque[tuple[int, np.ndarray, bool]] = deque()
        #: What users were given, and what of it may have a forked child.
        self._read: list[weakref.ref[np.ndarray]] = []
        self._forked: list[np.ndarray] = []
        #: Whether ``%px`` was shown arrays, so that engines' users may look at them at any time.
        self.shown = False
        #: Handles of the arrays that it was shown.
        self.seen: set[int] = set()
        #: Memory of bases that are gone, at which they may still look.
        self._shown: list[np.ndarray] = []
        _OPEN.add(self)
        keep_numpys(config.pool_bytes)

    def show(self, names: Iterable[tuple[str, Operand | InNotebook]]) -> None:
        """Note what engines' users are shown, who may look at it at any time from now on."""
        self.lend([x.base for _, x in names if type(x) is Operand])
        self._ask_if_many()

    def lend(self, handles: Iterable[int]) -> None:
        """Note bases at whose parts users look themselves, and may write them at any time."""
        self.shown = True
        self.seen.update(handles)

    def available(self) -> bool:
        """Tell whether all engines have mapped the segment; the first call asks them."""
        if self._pool is None and self.possible:
            with self._asking:
                if self._pool is None:  # else another thread has asked
                    self.possible = self._share()
        return self.possible and self._pool is not None

    def _share(self) -> bool:
        disk = file_segment(config.spill) if config.spill and self._given is None else None
        segment = self._given or new_segment(0 if disk is None else disk.nbytes)
        if segment is None:
            return False
        card = tuple(card_of(segment))
        shared = False
        try:
            shared = all(
                found is True for found in self._ask(lambda slot: Ask(slot, "share", card))
            )
        finally:
            if not shared:
                segment.close()
        if not shared:
            return False
        self._pool, self.disk = Pool(config.pool_bytes, segment), disk
        return True

    @property
    def segment(self) -> SharedSegment:
        """The segment, where it is available."""
        assert self._pool is not None
        assert self._pool.segment is not None
        return self._pool.segment

    def claim(self, place: int, nbytes: int) -> np.ndarray:
        """Return memory at a place, with what is there; raises MemoryError if it is taken."""
        assert self._pool is not None
        with self._lock:
            return self._pool.claim(place, nbytes)

    def card(self, slot: int) -> Command:
        """Return what lets new engines map the segment."""
        return Ask(slot, "share", tuple(card_of(self.segment)))

    def how_far(self, batch: int, count: int, size: int) -> Progress:
        """Return how far so many engines have noted that they are in a batch of ``count`` commands.

        Where they could not note it, they may be anywhere.
        """
        if self._pool is None:
            return Progress(0, count)
        return progress(self.segment.begun[:size].tolist(), batch, count)

    def failed(self, size: int) -> int:
        """Return the last batch in which something failed on an engine, or was warned of."""
        return 0 if self._pool is None else int(max(self.segment.failed[:size], default=0))

    def forget_begun(self) -> None:
        """Take it that no engine has begun any batch, and that nobody knows what was done."""
        if self._pool is not None:
            self.segment.begun[:] = self.segment.failed[:] = 0
            self.segment.ended[:] = -1

    def fits(self, shape: Ints, layout: Layout) -> bool:
        """Tell whether a base can lie there: whole, in C order, on the engines of this node."""
        return layout.in_order(shape) and prod(shape) > 0 and self.available()

    def take(
        self, shape: Ints, dtype: np.dtype, settled: int, mine: bool = False, asked: int = 0
    ) -> np.ndarray | None:
        """Return an array of undefined content; its memory comes back when nobody refers to it.

        None if there is no room. ``settled`` is the last batch that engines have done; ``mine``:
        the notebook writes it first, and so has its pages near; ``asked``: what an engine needs
        for the base that it is to be, if that is new.
        """
        if asked and not self._has_room(asked):
            return None
        if self._shown:
            self._ask_if_many()
        found = self.keep(prod(shape) * dtype.itemsize, settled, mine)
        return None if found is None else np.ndarray(shape, dtype, found)

    def at_once(
        self, shape: Ints, dtype: np.dtype, layout: Layout, settled: int
    ) -> np.ndarray | None:
        """Return an array, as :meth:`take` does, for the notebook to write; nobody is asked.

        None of what is little, which is sent, or cannot lie there, or if there is no segment yet.
        """
        nbytes = prod(shape) * dtype.itemsize
        usual = self.possible and nbytes > _SENT and layout.in_order(shape)
        if self._pool is None or not usual or config.place == "engines":
            return None
        if not self._has_room(need(shape, dtype, layout)):
            return None
        found = self.keep(nbytes, settled, True)
        return None if found is None else np.ndarray(shape, dtype, found)

    def _has_room(self, asked: int) -> bool:
        """Tell whether the budget allows a base for which an engine needs so many bytes."""
        room = None if self._budget is None else self._budget.room()
        return room is None or asked <= room

    @property
    def most_kept(self) -> int:
        """Bytes that are kept for reuse at most: new pages of a segment cost as much as NumPy does.

        That is half of what an engine may still take, so that there is always room for arrays.
        """
        free = 0 if self._budget is None else self._budget.free
        return config.pool_bytes and max(config.pool_bytes, free // 2)

    def keep(self, nbytes: int, settled: int, mine: bool = False) -> np.ndarray | None:
        """Return memory, as :meth:`take` does, without asking engines anything."""
        pool = self._pool
        assert pool is not None
        assert pool.segment is not None
        with self._lock:
            if self._held:
                self._release(settled)
            pool.limit = self.most_kept
            if pool.held > pool.limit:
                pool.keep_at_most(pool.limit)
            for _ in range(2):
                try:
                    return pool.take(nbytes, True, mine)
                except MemoryError:
                    pool.clear()
        return None

    def _release(self, settled: int) -> None:
        """Let go what engines were at; no name of it is left, so that it can be had at once."""
        held = self._held
        while held and held[0][0] <= settled:
            _, gone, seen = held.popleft()
            if seen:
                self._shown.append(gone)

    def read_into(
        self, shape: Ints, dtype: np.dtype, settled: int
    ) -> tuple[np.ndarray | None, int]:
        """Return an array for the user, and the place at which engines are to put its elements.

        None and 0 if there is no room. It is the user's own: later writes are not seen by others,
        nor by parents and children that were forked. What a child may look at is not given to
        anything else.
        """
        memory = self.take(shape, dtype, settled)
        if memory is None:
            return None, 0
        owner = memory.base if isinstance(memory.base, np.ndarray) else memory
        pages = self.segment.private(owner)
        self._read = [r for r in self._read if r() is not None]
        self._read.append(weakref.ref(owner))
        return np.ndarray(shape, dtype, pages), self.place(memory)

    def close(self) -> None:
        """Let go what nobody has; what users were given stays theirs."""
        _OPEN.discard(self)
        others = any(
            memory.possible for memory in _OPEN
        )  # rehearsals have none, and are not closed
        keep_numpys(config.pool_bytes if others else 0)
        self.possible = False
        self._held.clear()
        self._shown = []
        if self._pool is not None and self._pool.segment is not None:
            self._pool.clear()
            self._pool.segment.close()
        if self.disk is not None:
            self.disk.close()

    def before_fork(self) -> None:
        """Keep for ever what was read and is still there: a child may look at it."""
        self._forked += [memory for r in self._read if (memory := r()) is not None]
        self._read = []

    def place(self, memory: np.ndarray) -> int:
        """Return where in the segment memory lies."""
        found = self.segment.offset(memory)
        assert found is not None
        return found

    def _ask_if_many(self) -> None:
        """Give back what was shown to users of engines, and nobody looks at, where it is much."""
        if sum([x.nbytes for x in self._shown]) <= _SHOWN:
            return
        shown = {self.place(x): x for x in self._shown}
        found = self._ask(lambda slot: Ask(slot, "looked", tuple(shown)))
        self._shown = [x for place, x in shown.items() if any(place in f for f in found)]

    def hold(self, memory: np.ndarray, batch: int, handle: int = 0) -> None:
        """Keep memory until engines have done a batch. The garbage collector calls this.

        That of a base whose handle was shown is kept for as long as their users look at it.
        """
        seen = handle in self.seen
        self.seen.discard(handle)
        self._held.append((batch, memory, seen))
