"""What the notebook itself does while a window is open, and when.

Its time is the CPU time of the thread that opened the window, without what that took to wait for
engines (who waits in shared memory looks again and again) and to write and read what is on disk.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter_ns, thread_time_ns
from weakref import WeakSet

from distnb.measure.events import Moment, Notebook
from distnb.measure.garbage import Collecting

__all__ = ["NotebookClock"]

#: Moments that are kept of all windows that are open: later ones are left out.
_MOST = 20_000


class NotebookClock:
    """The account of the notebook: what it computed, and how long arrays went to disk and back.

    It stands still while no window is open. Other threads than the one that began are not in it.
    """

    def __init__(self) -> None:
        self._thread = 0
        #: Whether it waits, and since when.
        self._elsewhere, self._since = False, 0
        self._left_out = self._disk = self._waited = self._tried = 0
        self._moments: list[Moment] = []

    def begin(self) -> int:
        """Start to take moments, and forget those of windows that were open before.

        Returns the thread whose clock it is from now on.
        """
        self._thread = get_ident()
        self._moments.clear()
        _look(self)
        return self._thread

    def end(self) -> None:
        """Note that no window is open any more."""
        _look_away(self)

    def note(self) -> None:
        """Take a moment: what it did changes here, from its own steps to a wait or back."""
        if get_ident() == self._thread and len(self._moments) < _MOST:
            self._moments.append(self.read())

    def gone(self) -> int:
        """Return the ns that it waited for engines or the disk, up to now; for other threads."""
        since = self._since if self._elsewhere else 0
        return self._waited + self._disk + (perf_counter_ns() - since if since else 0)

    def read(self) -> Moment:
        """Return all that it did up to now."""
        computed = thread_time_ns() - self._left_out
        collected = _COLLECTING.spent
        return Moment(perf_counter_ns(), computed, collected, self._disk, self._waited, self._tried)

    @contextmanager
    def elsewhere(self, disk: bool = False) -> Iterator[None]:
        """Leave out what the processor does meanwhile: it waits for engines, or for the disk."""
        if self._elsewhere or get_ident() != self._thread:
            yield
            return
        self.note()
        at, before = perf_counter_ns(), thread_time_ns()
        self._since, self._elsewhere = at, True
        try:
            yield
        finally:
            self._left_out += thread_time_ns() - before
            self._elsewhere = False
            if disk:
                self._disk += perf_counter_ns() - at
            else:
                self._waited += perf_counter_ns() - at
            self.note()

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Note how long a function of the user's is called to find the dtype of its result."""
        at = perf_counter_ns()
        try:
            yield
        finally:
            self._tried += perf_counter_ns() - at

    def between(self, start: Moment, end: Moment) -> Notebook | None:
        """Return what it did from one moment to another; None if that was another thread."""
        if get_ident() != self._thread:
            return None
        inside = [m for m in self._moments if start.at < m.at < end.at]
        moments = [m.since(start) for m in (start, *inside, end)]
        _, computed, collected, disk, waited, tried = (ns / 1e9 for ns in moments[-1])
        return Notebook(computed, collected, disk, tuple(moments), waited, tried)


#: Looks while any clock runs, and not always: interpreted, it would drop a Ctrl-C.
_COLLECTING = Collecting()
_RUNNING = WeakSet[NotebookClock]()


def _look(clock: NotebookClock) -> None:
    """Look how long Python collects garbage, for a clock."""
    _RUNNING.add(clock)
    if _COLLECTING not in gc.callbacks:
        gc.callbacks.append(_COLLECTING)


def _look_away(clock: NotebookClock) -> None:
    """Look no more if no other clock runs."""
    _RUNNING.discard(clock)
    if not _RUNNING and _COLLECTING in gc.callbacks:
        gc.callbacks.remove(_COLLECTING)
        _COLLECTING.since = 0
