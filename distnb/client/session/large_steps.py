"""How many bytes large steps have read and written, and since when: what they cost."""

from __future__ import annotations

from math import inf
from time import perf_counter

__all__ = ["ENOUGH", "PAUSE", "LargeSteps"]

#: Seconds between two steps that are a pause, whatever is known of them.
PAUSE = 0.25
#: Bytes until somebody wants to know at first.
ENOUGH = 2 << 30


class LargeSteps:
    """Counts the bytes of large steps.

    What was counted before a pause, of which nobody knows what it was, is as if it had not been;
    but once only, for there are steps that take long.

    Attributes
    ----------
    nbytes, enough : int
        What was counted, and how much is enough: who records for engines is to ask first then.
    """

    __slots__ = ("_last", "_pause", "_since", "enough", "nbytes")

    def __init__(self) -> None:
        self.begin(0)  # the first of them ask

    def begin(self, enough: int, pause: float = PAUSE) -> None:
        """Begin to count; ``pause`` is longer than a step takes, if these cost what they did."""
        self.nbytes, self.enough, self._pause = 0, enough, min(pause, PAUSE)
        self._since = self._last = perf_counter()

    def add(self, nbytes: int) -> None:
        """Count a step that is about to be done or recorded."""
        self.tick()
        self.nbytes += nbytes

    def tick(self) -> None:
        """Look at the clock, as where a batch is sent: steps of engines are counted without."""
        now = perf_counter()
        if now - self._last > self._pause:
            self._pause, self.nbytes, self._since = inf, 0, now
        self._last = now

    def touch(self) -> None:
        """Note that until now engines were waited for, or a step was done: that is no pause."""
        self._last = perf_counter()

    @property
    def idle(self) -> float:
        """For how long there was nothing of this, and no step was counted."""
        return perf_counter() - self._last

    @property
    def seconds(self) -> float:
        """For how long has been counted."""
        return perf_counter() - self._since

    @property
    def price(self) -> float:
        """The seconds for a byte of steps that have just ended."""
        return self.seconds / max(self.nbytes, 1)
