"""Which of the user's lines the notebook's own time goes to, looked at every few milliseconds.

Engines note the line of each command, and add nothing to what a step costs. What the notebook does
by itself has no such note: a small step takes less than one would. So a thread looks where the
notebook is, as sampling profilers do, while a window is open (S. L. Graham, P. B. Kessler and
M. K. McKusick, *gprof*, 1982, has the idea and its limits: of what is short there is no sample).
The interpreter lets it look where it calls something or begins a round of a loop, and NumPy while
it computes: what is shorter than that is counted at the next such place.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection
from threading import Event, Thread
from typing import NamedTuple

from distnb.client.batching.call_sites import line_of, own_position
from distnb.measure.events import OwnLine

__all__ = ["OwnLines"]

#: Seconds between two looks, at first: later it is this part of what has gone by.
_EVERY, _PART = 0.005, 2000


class _Look(NamedTuple):
    """Where the notebook was, and what it did since the look before, in ns."""

    at: int
    where: tuple[str, int]
    own: int
    computed: int


class OwnLines:
    """Looks of a thread at the notebook's.

    Parameters
    ----------
    gone : callable
        Returns the ns up to now for which the notebook waited for engines, or for the disk.
    windows : collection
        Those that are open: once there is none, nobody looks, though it was not ended.
    """

    def __init__(self, gone: Callable[[], int], windows: Collection[object]) -> None:
        self._gone, self._windows = gone, windows
        self._looks: list[_Look] = []
        self._end = Event()

    def begin(self, thread: int) -> None:
        """Forget what was looked at; look at a thread until :meth:`end`."""
        self.end()
        self._looks, self._end = [], Event()
        try:
            clock = time.pthread_getcpuclockid(thread)
        except (AttributeError, OSError):  # not everywhere
            return
        args = thread, clock, self._looks, self._end
        looking = Thread(target=self._look, args=args, name="distnb lines", daemon=True)
        try:
            looking.start()
        except RuntimeError:  # no room for a thread: there are no lines, that is all
            return

    def end(self) -> None:
        """Look no more."""
        self._end.set()

    def _look(self, thread: int, clock: int, looks: list[_Look], end: Event) -> None:
        began = at = time.perf_counter_ns()
        gone, computed = self._gone(), time.clock_gettime_ns(clock)
        while not end.wait(max(_EVERY, (at - began) / 1e9 / _PART)):
            frame = sys._current_frames().get(thread)
            if frame is None or not self._windows:
                return
            where = own_position(frame)
            del frame  # or all that it has would live on
            before = at, gone, computed
            at, gone, computed = time.perf_counter_ns(), self._gone(), time.clock_gettime_ns(clock)
            own = max(0, at - before[0] - max(0, gone - before[1]))
            looks.append(_Look(at, where, own, min(own, computed - before[2])))

    def between(self, start: int, end: int) -> tuple[OwnLine, ...]:
        """Return the lines at which the notebook did something of its own between two instants."""
        sums: dict[tuple[str, int], tuple[int, int]] = {}
        for look in [look for look in self._looks if start < look.at <= end]:
            own, computed = sums.get(look.where, (0, 0))
            sums[look.where] = own + look.own, computed + look.computed
        return tuple(
            OwnLine(line_of(*where), own / 1e9, computed / 1e9)
            for where, (own, computed) in sums.items()
            if own and where[0]
        )
