"""How many bytes large steps have read and written, and since when: what they cost."""

from __future__ import annotations

from time import perf_counter

__all__ = ["LargeSteps"]

#: Seconds between two steps that are somebody's pause.
_PAUSE = 0.25
#: Bytes until somebody wants to know at first.
_ENOUGH = 512 << 20


class LargeSteps:
    """Counts the bytes of large steps.

    What was counted before a pause, of which nobody knows what it was, is as if it had not been;
    but once only, for there are steps that take long.

    Attributes
    ----------
    nbytes, enough : int
        What was counted, and how much is enough: who records for engines is to ask first then.
    """

    __slots__ = ("_last", "_paused", "_since", "enough", "nbytes")

    def __init__(self) -> None:
        self.begin(_ENOUGH)

    def begin(self, enough: int) -> None:
        """Begin to count."""
        self.nbytes, self.enough, self._paused = 0, enough, False
        self._since = self._last = perf_counter()

    def add(self, nbytes: int) -> None:
        """Count a step that is about to be done or recorded."""
        self.tick()
        self.nbytes += nbytes

    def tick(self) -> None:
        """Look at the clock, as where a batch is sent: steps of engines are counted without."""
        now = perf_counter()
        if now - self._last > _PAUSE and not self._paused:
            self._paused, self.nbytes, self._since = True, 0, now
        self._last = now

    @property
    def seconds(self) -> float:
        """For how long has been counted."""
        return perf_counter() - self._since

    @property
    def price(self) -> float:
        """The seconds for a byte of steps that have just ended."""
        return self.seconds / max(self.nbytes, 1)
