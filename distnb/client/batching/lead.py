"""How far the notebook may be ahead of the engines: about as far as they end soon after Ctrl-C.

A loop that reads nothing is recorded in no time. If engines were sent all of it, Ctrl-C would come
when they are at what its first rounds asked for, and what its names stand for by then could only be
given up. So a batch is sent, and the oldest waited for, when that much is under way; they never
wait for the notebook, which records the next batch while they are at one.

What a batch takes is what the two before took, the lesser of them if they differ, if these are like
it: if they write about as many bytes a command. If they are not, it is only known what it writes,
and how many commands it has.
"""

from __future__ import annotations

from collections.abc import Iterable

from distnb.client.batching.budget import Budget

__all__ = ["SLOW", "Lead"]

#: Seconds of work that are enough for a batch, and that may be under way.
_BATCH, _AHEAD = 0.1, 0.2
#: Nanoseconds from which on what a batch took is worth noting, however few its commands are.
SLOW = 20_000_000
#: Bytes that an engine writes in a second, about, and seconds that a command takes that writes
#: little, if nothing else is known: so that soon something is.
_RATE, _UNKNOWN = 10e9, 2e-3
#: How many times as many bytes a command batches may write that are alike.
_ALIKE = 2


class Lead:
    """What is known of how long engines take.

    Parameters
    ----------
    budget : Budget
        Counts what is written.

    Attributes
    ----------
    sent : int
        What it had counted when the last batch was sent.
    slow : bool
        Whether few commands like those of the last batch are enough for one.

    Examples
    --------
    >>> lead = Lead(Budget(0))
    >>> lead.seconds(10, 10**6), lead.seconds(10, 10**10)
    (0.02, 1.0)
    >>> for took in (0.9, 0.5):
    ...     lead.learn(10, 10**6, took)
    >>> lead.seconds(20, 10**6), lead.seconds(20, 10**10), lead.slow
    (1.0, 1.0, True)
    """

    def __init__(self, budget: Budget) -> None:
        self.budget, self.sent = budget, budget.work
        self.slow = False
        #: The last batch, what a command of it took, and the lesser of that and the one before.
        self._last, self._took, self._each = (1, -1), 0.0, 0.0

    def filled(self, commands: int) -> float:
        """Return what share of a batch so many commands are that are pending."""
        return self.seconds(commands, self.budget.work - self.sent) / _BATCH

    def is_long(self, seconds: float) -> bool:
        """Tell whether engines have enough to do for so long."""
        return seconds > _AHEAD

    def under_way(self, batches: Iterable[tuple[int, int]]) -> float:
        """Return about how many seconds batches take, of so many commands and bytes each."""
        return sum([self.seconds(*batch) for batch in batches])

    def learn(self, commands: int, nbytes: int, took: float) -> None:
        """Note how many seconds the slowest engine was at a batch."""
        if commands:
            each = took / commands
            before = self._took if self._is_alike(commands, nbytes) else each
            self._last, self._took, self._each = (commands, nbytes), each, min(each, before)
            self.slow = self._each > _BATCH / 10

    def seconds(self, commands: int, nbytes: int) -> float:
        """Return about how long a batch takes."""
        if self._is_alike(commands, nbytes):
            return commands * self._each
        return max(nbytes / _RATE, commands * _UNKNOWN)

    def _is_alike(self, commands: int, nbytes: int) -> bool:
        """Tell whether a batch writes about as many bytes a command as the last one."""
        many, last = self._last
        ours, theirs = nbytes * many, last * commands
        return theirs <= ours * _ALIKE and ours <= theirs * _ALIKE
