"""What a run would have taken without some of its costs: its steps, replayed in their order.

The model is small. Each rank works through its spans in order; of a span, what is kept of its work
(computing, moving bytes, overhead) counts, and waiting only as far as it is still needed:

- Within a span work comes first, at an even pace, then waiting. A rank that waited for another ends
  no sooner than the other is as far as it was when that wait ended.
- Where the other had done its work by then, the message was on its way: that time counts as
  transfer, as does waiting for nobody knows whom.
- A span that follows a pause of its rank waited for the notebook: it begins no sooner than all
  spans end that had ended by then. Pauses themselves take no time.

So no replay takes longer than the run, and the less is kept the shorter it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Run", "waits_of"]


class Need(NamedTuple):
    """Rank ``rank`` ends no sooner than ``of`` has done a share of its work, ``flight`` later.

    A share of 2 is all of its span, waits included.
    """

    rank: int
    of: int
    share: float
    flight: float


class Run:
    """The spans of steps as arrays of one row for each step and one column for each rank.

    >>> from distnb.events import CommandTime, Span, Step
    >>> late = Span(0, 100, CommandTime(20, 0, 0, 80, 0, 0))
    >>> waits = Span(0, 100, CommandTime(30, 70, 0, 0, 0, 0), waits=((0, 70),))
    >>> run = Run([Step((), (), (late, waits))], 2)
    >>> run.length(run.compute + run.overhead), run.length(run.compute)
    (100.0, 30.0)
    """

    def __init__(self, steps: Sequence[Any], size: int) -> None:
        found = [[(s.start, s.end, *s.time[:4]) for s in step.spans] for step in steps]
        table = np.array(found, float).reshape(len(steps), size, 6)
        self.start, self.end = table[:, :, 0], table[:, :, 1]
        self.compute, waiting, self.transfer, self.overhead = np.moveaxis(table[:, :, 2:], 2, 0)
        self._worked = self.end - waiting
        self._ran = self.end > self.start
        # The end of the span before, of each rank
        before = np.maximum.accumulate(np.where(self._ran, self.end, 0), axis=0)
        self._before = np.concatenate([np.zeros((1, size)), before])[:-1]
        self._paused = self._ran & (self.start > self._before) & (self._before > 0)
        self._needs = [sorted(self._needs_of(s, step)) for s, step in enumerate(steps)]
        meets = np.array([bool(needs) for needs in self._needs], bool)
        #: The steps in which ranks may depend on each other.
        self._marked = np.flatnonzero(self._paused.any(axis=1) | meets).tolist()

    def busy(self) -> float:
        """Return the time in which some rank had a step, in ns."""
        starts, ends = self.start[self._ran], self.end[self._ran]
        order = np.argsort(starts)
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        pauses = starts[1:] - ends[:-1]
        return float(ends[-1] - starts[0] - pauses[pauses > 0].sum()) if len(ends) else 0.0

    def length(self, kept: np.ndarray, flight: bool = True) -> float:
        """Return how long the run takes, in ns, if each rank has only ``kept`` work in each step.

        ``flight`` tells whether messages take time on their way.
        """
        totals = np.concatenate([np.zeros((1, kept.shape[1])), np.cumsum(kept, axis=0)])
        now, done = np.zeros(kept.shape[1]), 0
        for s in self._marked:
            now += totals[s] - totals[done]
            done, ended = s + 1, now.copy()
            for rank in np.flatnonzero(self._paused[s]).tolist():
                now[rank] = ended[self._before[s] <= self.start[s, rank]].max()
            self._meet(s, now, kept[s], flight)
        return float((now + totals[-1] - totals[done]).max(initial=0.0))

    def _meet(self, s: int, now: np.ndarray, kept: np.ndarray, flight: bool) -> None:
        """Let ranks do a step: ``now`` becomes when each ends."""
        ready = now.copy()
        now += kept
        for _, (rank, of, share, late) in self._needs[s]:
            there = now[of] if share > 1 else ready[of] + share * kept[of]
            now[rank] = max(now[rank], there + late * flight)

    def _needs_of(self, s: int, step: Any) -> Iterator[tuple[float, Need]]:
        """Yield when a wait ended, and what it was for."""
        for rank, of, since, at in waits_of(step):
            if self._ran[s, of] and at > self.start[s, of]:
                started, worked, ended = self.start[s, of], self._worked[s, of], self.end[s, of]
                share = 2.0 if at > ended else min(1.0, (at - started) / max(worked - started, 1))
                late = max(0.0, at - max(since, ended if at > ended else worked))
                yield at, Need(rank, of, share, late)
        for rank, span in enumerate(step.spans):
            if (rest := span.time.waiting - sum(ns for _, ns in span.waits)) > 0:
                yield span.end, Need(rank, rank, 1.0, rest)


def waits_of(step: Any) -> Iterator[tuple[int, int, int, int]]:
    """Yield who waited for whom in a step, from when to when: at the end of spans, in order."""
    for rank, span in enumerate(step.spans):
        at = span.end - sum(ns for _, ns in span.waits)
        for other, ns in span.waits:
            yield rank, other, at, at + ns
            at += ns
