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

    >>> from distnb.measure.events import CommandTime, Span, Step
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
        self.compute, _, self.transfer, self.overhead = np.moveaxis(table[:, :, 2:], 2, 0)
        self._ran = self.end > self.start
        # When the span before ended, of each rank; and of those that begin later, who had ended.
        before = np.maximum.accumulate(np.where(self._ran, self.end, 0), axis=0)
        before = np.concatenate([np.zeros((1, size)), before])[:-1]
        self._paused: list[list[tuple[int, list[int]]]] = [[] for _ in steps]
        for s, rank in np.argwhere(self._ran & (self.start > before) & (before > 0)).tolist():
            ended = np.flatnonzero(before[s] <= self.start[s, rank]).tolist()
            self._paused[s].append((rank, ended))
        self._needs = [_needs_of(step) for step in steps]
        #: The steps in which ranks may depend on each other.
        self._marked = [s for s in range(len(steps)) if self._paused[s] or self._needs[s]]

    def pauses(self, window: float) -> tuple[np.ndarray, np.ndarray]:
        """Return when times without a step of any rank begin and end in a window, in ns."""
        starts, ends = self.start[self._ran], self.end[self._ran]
        order = np.argsort(starts)
        begin = np.append(0.0, np.maximum.accumulate(ends[order]))
        until = np.append(starts[order], window)
        return begin[until > begin], until[until > begin]

    def busy(self) -> float:
        """Return the time in which some rank had a step, in ns."""
        last = float(self.end.max(initial=0))
        begin, until = self.pauses(last)
        return last - float((until - begin).sum())

    def length(self, kept: np.ndarray, flight: bool = True) -> float:
        """Return how long the run takes, in ns, if each rank has only ``kept`` work in each step.

        ``flight`` tells whether messages take time on their way.
        """
        sums = np.concatenate([np.zeros((1, kept.shape[1])), np.cumsum(kept, axis=0)])
        totals: list[list[float]] = sums.tolist()
        now, done = [0.0] * kept.shape[1], 0
        for s in self._marked:  # lists of few numbers are faster than arrays
            if s > done:
                now = _forward(now, totals[done], totals[s])
            if self._paused[s]:
                now = self._resume(s, now)
            now, done = self._meet(s, now, totals, flight), s + 1
        return max(_forward(now, totals[done], totals[-1]), default=0.0)

    def _resume(self, s: int, now: list[float]) -> list[float]:
        """Let ranks that paused begin no sooner than all end that had ended by then."""
        found = now.copy()
        for rank, others in self._paused[s]:
            found[rank] = max(now[other] for other in others)
        return found

    def _meet(
        self, s: int, ready: list[float], totals: list[list[float]], flight: bool
    ) -> list[float]:
        """Let ranks do a step; return when each ends."""
        now = _forward(ready, totals[s], totals[s + 1])
        for rank, of, share, late in self._needs[s]:
            work = totals[s + 1][of] - totals[s][of]
            there = now[of] if share > 1 else ready[of] + share * work
            now[rank] = max(now[rank], there + late if flight else there)
        return now


def _forward(now: list[float], before: list[float], after: list[float]) -> list[float]:
    return [n + b - a for n, a, b in zip(now, before, after, strict=True)]


def _needs_of(step: Any) -> list[Need]:
    """Return what ranks wait for in a step, in the order in which these waits ended."""
    found = []
    for rank, of, since, at in waits_of(step):
        start, end, time, *_ = step.spans[of]
        if start < at and start < end:
            worked = end - time.waiting
            share = 2.0 if at > end else min(1.0, (at - start) / max(worked - start, 1))
            late = max(0, at - max(since, end if at > end else worked))
            found.append((at, Need(rank, of, share, late)))
    for rank, span in enumerate(step.spans):
        if (rest := span.time.waiting - sum(ns for _, ns in span.waits)) > 0:
            found.append((span.end, Need(rank, rank, 1.0, rest)))
    return [need for _, need in sorted(found)]


def waits_of(step: Any) -> Iterator[tuple[int, int, int, int]]:
    """Yield who waited for whom in a step, from when to when: at the end of spans, in order."""
    for rank, span in enumerate(step.spans):
        at = span.end - sum(ns for _, ns in span.waits)
        for other, ns in span.waits:
            yield rank, other, at, at + ns
            at += ns
