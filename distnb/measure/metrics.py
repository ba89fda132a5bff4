"""What follows from a report: how well the engines were used, and where the rest of the time went.

Of a window of length T, the engines compute mean(U) in the mean. The way down from T to
mean(U) has five rungs; the efficiency of each is how much of the time above it is left below it:

=============== ===================================================== ===========================
rung            the time below it                                     what is lost there
=============== ===================================================== ===========================
dispatch        T1: some engine had a command                         engines wait for the notebook
overhead        T2: as T1, replayed without the engines' overhead     decoding, planning, memory
transfer        T3: as T2, replayed without moving bytes              messages
serialisation   max(U): the engine that computed longest              waiting for other engines
load balance    mean(U)                                               unequal work
=============== ===================================================== ===========================

Their product is mean(U) / T, the parallel efficiency. The last three are those of POP, the European
centre of excellence for performance (there transfer x serialisation is communication efficiency).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from distnb.common.errors import explain
from distnb.common.lazy import lazy
from distnb.measure.comparison import Comparison, compare
from distnb.measure.replay import Run, waits_of
from distnb.ops.table import FILE

__all__ = ["CLASSES", "Delay", "Metrics", "Rung", "Stages", "label", "ratio"]

#: The classes of time, in the order of their numbers.
CLASSES = ("compute", "waiting", "transfer", "overhead", "idle")

#: The names of a step in which engines begin a batch.
DECODE = (("decode", ""),)
#: Nanoseconds by which engines may begin a batch one after the other.
LATE = 50_000_000
#: Operations that bring elements to the notebook: with a reply, or into its memory.
_TO_NOTEBOOK = ("fetch", "lay")


class Stages(NamedTuple):
    """The times between the rungs, in seconds, none greater than the one before."""

    window: float
    commanded: float
    without_overhead: float
    without_transfer: float
    longest: float
    mean: float


class Rung(NamedTuple):
    """A step from the window's length down to what engines computed in the mean."""

    name: str
    efficiency: float
    lost: float
    meaning: str


RUNGS = (
    ("dispatch", "no engine had a command: all waited for the notebook"),
    ("overhead", "engines decoded, planned and got memory"),
    ("transfer", "engines moved bytes, or these were on their way"),
    ("serialisation", "engines waited for what others had to do first"),
    ("load balance", "engines had less to compute than the one that computed longest"),
)


class Delay(NamedTuple):
    """How long others waited, in all, for an engine while it was at an operation of a line."""

    op: str
    line: str
    engine: int
    seconds: float


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 1.0 of nothing.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, 1.0)
    """
    return part / whole if whole else 1.0


def label(names: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """Return the operations of a step, and the source line of the first.

    >>> label((("create (empty)", "x:1"), ("add", "x:2"), ("add", "x:2"), ("copy", "x:3")))
    ('add, copy', 'x:2')
    """
    if not names:
        return "", ""
    found = [name for name in names if not name[0].startswith("create")] or list(names)
    ops = list(dict.fromkeys(op for op, _ in found))
    return ", ".join(ops[:3] + ["..."] * (len(ops) > 3)), found[0][1]


class Metrics:
    """The metrics of a report. Times are in seconds, efficiencies 0 to 1."""

    wall: float
    engines: tuple[Any, ...]
    ops: tuple[Any, ...]
    steps: tuple[Any, ...]
    memory_bandwidth: float | None

    def diff(self, other: Metrics) -> Comparison:
        """Return what changed since another report: ``after.diff(before)``."""
        if not isinstance(other, Metrics):
            raise TypeError(
                explain("diff", type(other).__name__, "a report", "write after.diff(before)")
            )
        return compare(other, self, CLASSES)

    # -- the account -------------------------------------------------------------------------

    @lazy
    def spent(self) -> np.ndarray:
        """Seconds of each engine (rows) in each class (columns)."""
        return np.array([e.spent for e in self.engines], float).reshape(-1, 5) / 1e9

    @lazy
    def run(self) -> Run:
        """Lay out the steps to be replayed."""
        return Run(self.steps, len(self.engines))

    @lazy
    def stages(self) -> Stages:
        """Find the times between the rungs.

        Where no steps were recorded, the accounts stand for one step of each engine; where only the
        first of them were kept, these stand for all.
        """
        compute, idle = self.spent[:, 0], self.spent[:, 4]
        longest, mean = float(compute.max(initial=0)), float(compute.sum()) / max(1, len(compute))
        windows = self.spent.sum(axis=1)
        whole = max(self.wall, float(windows.max(initial=0)))
        busy = max(self.run.busy() / 1e9, float((windows - idle).max(initial=0)))
        first = min(whole, max(busy, longest))
        second, third = (max(longest, first * share) for share in self._kept())
        return Stages(whole, first, second, third, longest, mean)

    def _kept(self) -> tuple[float, float]:
        """Return how much of the time with commands is left without overhead, and transfer."""
        if self.steps:
            full, second, third = self._lengths
        else:
            compute, waiting, transfer, overhead, _ = self.spent.T
            kept = (compute, compute + transfer + waiting, compute + transfer + waiting + overhead)
            third, second, full = (float(k.max(initial=0)) for k in kept)
        return ratio(second, full), ratio(third, full)

    @lazy
    def _lengths(self) -> tuple[float, float, float]:
        """How long replays take (ns): of everything, without overhead, and of computing alone."""
        run = self.run
        return (
            run.length(run.compute + run.transfer + run.overhead),
            run.length(run.compute + run.transfer),
            run.length(run.compute, flight=False),
        )

    # -- the ladder --------------------------------------------------------------------------

    @lazy
    def ladder(self) -> tuple[Rung, ...]:
        """Five rungs, from the window down: their efficiencies, and seconds lost there."""
        stages = self.stages
        return tuple(
            Rung(name, ratio(below, above), above - below, meaning)
            for (name, meaning), above, below in zip(RUNGS, stages[:-1], stages[1:], strict=True)
        )

    @property
    def worst(self) -> Rung:
        """The rung where most time is lost."""
        return max(reversed(self.ladder), key=lambda rung: round(rung.lost, 9))

    @property
    def dispatch_efficiency(self) -> float:
        """Share of the window in which some engine had a command."""
        return self.ladder[0].efficiency

    @property
    def overhead_efficiency(self) -> float:
        """What is left of that without the engines' overhead."""
        return self.ladder[1].efficiency

    @property
    def transfer_efficiency(self) -> float:
        """What is left of that if bytes move in no time."""
        return self.ladder[2].efficiency

    @property
    def serialisation(self) -> float:
        """What is left of that if engines do not wait for each other."""
        return self.ladder[3].efficiency

    @property
    def load_balance(self) -> float:
        """Mean over greatest computing time of the engines."""
        return self.ladder[4].efficiency

    @property
    def parallel_efficiency(self) -> float:
        """Mean computing time over the window's length: the product of the rungs."""
        return ratio(self.stages.mean, self.stages.window)

    @property
    def pop_efficiency(self) -> float:
        """POP's parallel efficiency: without dispatch and overhead."""
        return self.load_balance * self.serialisation * self.transfer_efficiency

    @property
    def speedup(self) -> float:
        """Estimated speed-up over one engine: what all engines computed, over the window."""
        return self.parallel_efficiency * len(self.engines)

    # -- balance -----------------------------------------------------------------------------

    @lazy
    def held(self) -> np.ndarray:
        """Elements that each engine (columns) holds in each step (rows)."""
        found = [step.held or (0,) * len(self.engines) for step in self.steps]
        return np.array(found, float).reshape(len(self.steps), len(self.engines))

    @lazy
    def expected(self) -> np.ndarray:
        """Estimate the computing time (ns) in each step, were all its elements equally fast."""
        found = np.where(self.held.any(axis=1, keepdims=True), self.held, 1.0)
        found /= np.maximum(1e-9, found.sum(axis=1, keepdims=True))
        return found * self.run.compute.sum(axis=1, keepdims=True)

    @property
    def load_balance_layout(self) -> float:
        """The load balance that follows from how many elements engines hold.

        It is at least the load balance: a layout costs no more than all that was lost.
        """
        expected = self.expected.sum(axis=0)
        found = ratio(float(expected.sum()), float(expected.max(initial=0)) * len(expected))
        return max(self.load_balance, min(1.0, found))

    @property
    def load_balance_speed(self) -> float:
        """The rest: unequal speed, or elements that are more work than others."""
        return ratio(self.load_balance, self.load_balance_layout)

    # -- between engines ---------------------------------------------------------------------

    @lazy
    def waits(self) -> np.ndarray:
        """Seconds that engine i (rows) waited for engine j (columns)."""
        return self._between([[(j, ns) for j, ns in e.waits] for e in self.engines]) / 1e9

    @lazy
    def sent(self) -> np.ndarray:
        """Bytes that engine i (rows) sent to engine j (columns), or that j read there in place."""
        found = self._between([[(j, size) for j, _, size in e.sent] for e in self.engines])
        return found.astype(int)

    @lazy
    def messages(self) -> np.ndarray:
        """Messages that engine i (rows) sent to engine j (columns)."""
        found = self._between([[(j, count) for j, count, _ in e.sent] for e in self.engines])
        return found.astype(int)

    @lazy
    def gathered(self) -> np.ndarray:
        """Bytes of each engine that came to the notebook."""
        found = np.zeros(len(self.engines), int)
        for op in self.gathers:
            found += [rank.bytes for rank in op.ranks]
        return found

    @property
    def gathers(self) -> tuple[Any, ...]:
        """The operations of lines that brought elements to the notebook."""
        return tuple([op for op in self.ops if op.op in _TO_NOTEBOOK])

    @property
    def filings(self) -> tuple[Any, ...]:
        """The operations of lines that read or wrote files."""
        return tuple([op for op in self.ops if op.op.startswith(FILE)])

    def _between(self, rows: list[list[tuple[int, int]]]) -> np.ndarray:
        found = np.zeros((len(rows), len(rows)))
        for i, row in enumerate(rows):
            for j, value in row:
                found[i, j] += value
        return found

    @lazy
    def late(self) -> np.ndarray:
        """Seconds for which each engine had a batch and nothing else to do, but others were at it.

        Of batches that it took later than :data:`LATE`, for less is usual.
        """
        run, found = self.run, np.zeros(len(self.engines))
        for s, step in enumerate(self.steps):
            if step.names == DECODE:
                since = np.maximum(run.start[s].min(), run.end[:s].max(axis=0, initial=0))
                behind = run.start[s] - since
                found += np.where(behind > LATE, behind, 0)
        return found / 1e9

    def waited_for(self, engine: int) -> int | None:
        """Return the engine that an engine waited for most, or None."""
        row = self.waits[engine]
        return int(row.argmax()) if row.any() else None

    @lazy
    def delays(self) -> tuple[Delay, ...]:
        """Who was waited for, and at which operation of which line that engine was, most first."""
        found: dict[tuple[str, str, int], float] = {}
        columns = [_Column(self.steps, rank) for rank in range(len(self.engines))]
        labels = [label(step.names) for step in self.steps]
        for at, step in enumerate(self.steps):
            for _, rank, since, until in waits_of(step):
                span = step.spans[rank]
                here = span.start <= since and until <= span.end
                parts = [(at, until - since)] if here else columns[rank].within(since, until)
                for s, part in parts:
                    key = (*labels[s], rank)
                    found[key] = found.get(key, 0.0) + part / 1e9
        rows = (Delay(*key, seconds) for key, seconds in found.items())
        return tuple(sorted(rows, key=lambda d: -d.seconds))

    @property
    def bandwidth(self) -> float | None:
        """Bytes sent for each second of transfer, of one engine in the mean; None where no time."""
        sent, seconds = sum(e.bytes for e in self.engines), float(self.spent[:, 2].sum())
        return sent / seconds if seconds else None

    # -- memory ------------------------------------------------------------------------------

    @property
    def touched(self) -> int:
        """Bytes that computing read and wrote, on all engines."""
        return sum(e.touched for e in self.engines)

    @lazy
    def touched_by(self) -> dict[tuple[str, str], float]:
        """Bytes that computing touched, by operation and line; those of one step share alike."""
        found: dict[tuple[str, str], float] = {}
        for step in self.steps:
            touched = sum(span.touched for span in step.spans)
            for name in step.names:
                found[name] = found.get(name, 0.0) + touched / len(step.names)
        return found

    @property
    def memory_rate(self) -> float | None:
        """Bytes that one engine touched for each second of computing; None if unknown."""
        computed = float(self.spent[:, 0].sum())
        return self.touched / computed if self.touched and computed else None

    @property
    def memory_speed(self) -> float | None:
        """Speed of computing over that of copying memory on all engines at once; None if unknown.

        Near 1, computing is as fast as memory allows; it is more where caches help.
        """
        if self.memory_rate is None or not self.memory_bandwidth:
            return None
        return self.memory_rate / self.memory_bandwidth


class _Column:
    """The spans of one rank, to be found by time."""

    def __init__(self, steps: tuple[Any, ...], rank: int) -> None:
        spans = [(step.spans[rank], s) for s, step in enumerate(steps)]
        self.rows = [(span.start, span.end, s) for span, s in spans if span.end > span.start]
        self.starts = [row[0] for row in self.rows]

    def within(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the steps that the rank was at between two times, and for how long."""
        for k in range(max(0, bisect_right(self.starts, start) - 1), len(self.rows)):
            first, last, s = self.rows[k]
            if first >= end:
                break
            if (part := min(last, end) - max(first, start)) > 0:
                yield s, part
