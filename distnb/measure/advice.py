"""What would make a run shorter, and by how much: from replays without one cost at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from distnb.common.lazy import lazy
from distnb.measure.comparison import source
from distnb.measure.metrics import Metrics, label, ratio

__all__ = ["Advised", "Remedy", "WhatIf", "duration"]

#: Gains below this share of the window are not worth a change.
WORTH = 0.05
#: Computing at this share of the speed of memory is as fast as it gets.
FAST = 0.6

#: Bytes below which a message costs what it costs to send one at all.
SMALL = 20_000


class WhatIf(NamedTuple):
    """How long the window would have been if something were otherwise, in seconds."""

    name: str
    assumption: str
    before: float
    after: float

    @property
    def gain(self) -> float:
        """The share of the window that is saved."""
        return 1 - ratio(self.after, self.before)

    @property
    def words(self) -> str:
        """The gain for reading."""
        change = f"{duration(self.before)} -> {duration(self.after)}"
        return f"{-100 * self.gain:+.0f} % ({change})"


class Remedy(NamedTuple):
    """A loss, what would help, and an estimate of what that gives."""

    loss: str
    cure: str
    gain: WhatIf


def duration(seconds: float) -> str:
    """Return a time for reading.

    >>> duration(1.31), duration(0.0123), duration(2e-6), duration(0)
    ('1.31 s', '12.3 ms', '2 us', '0 us')
    """
    if seconds >= 0.9995:
        return f"{seconds:,.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 0.9995e-3 else f"{seconds * 1e6:.0f} us"


class Advised(Metrics):
    """What-ifs and advice of :class:`~distnb.measure.events.Report`."""

    ops: tuple[Any, ...]
    commands: int

    @lazy
    def what_if(self) -> tuple[WhatIf, ...]:
        """Gains if one cost were gone, each with its assumption."""
        run, lost = self.run, [rung.lost for rung in self.ladder]
        even = np.broadcast_to(run.compute.mean(axis=1, keepdims=True), run.compute.shape)
        moving = run.transfer + run.overhead
        none = "no engine ever waits for the notebook"
        whole = self.stages.window
        return (
            self._if("balanced", "in each step all engines compute equally long", even + moving, 4),
            WhatIf("no dispatch", none, whole, whole - lost[0]),
            self._if(
                "no overhead",
                "engines decode, plan and get memory in no time",
                run.compute + run.transfer,
                1,
            ),
            self._if(
                "nothing sent",
                "no bytes move",
                run.compute + run.overhead,
                2,
                flight=False,
            ),
        )

    def _if(
        self, name: str, assumption: str, kept: np.ndarray, rung: int, flight: bool = True
    ) -> WhatIf:
        """Replay with other work; without steps, only what a rung says is known."""
        whole, commanded = self.stages[:2]
        if not self.steps:
            return WhatIf(name, assumption, whole, whole - self.ladder[rung].lost)
        share = min(1.0, ratio(self.run.length(kept, flight), self._lengths[0]))
        return WhatIf(name, assumption, whole, whole - commanded * (1 - share))

    # -- advice ------------------------------------------------------------------------------

    @lazy
    def remedies(self) -> tuple[Remedy, ...]:
        """Losses, and what would help against them, the greatest gain first."""
        return tuple(sorted(self._remedies(), key=lambda r: -r.gain.gain))

    @property
    def advice(self) -> str:
        """What cost most and what would help, in one sentence, with the estimated gain."""
        if not self.stages.mean:
            return "Nothing was computed on the engines."
        best = self.remedies[0] if self.remedies else None
        if best is None or best.gain.gain < WORTH:
            return self._good()
        return f"{best.loss}; {best.cure}: about {best.gain.words}."

    def _good(self) -> str:
        used = f"{100 * self.parallel_efficiency:.0f} % of the engines' time is computing"
        speed = self.memory_speed
        if speed is not None and speed >= FAST:
            used += f", at {100 * speed:.0f} % of the speed of memory: less data is all that helps"
        return f"No single change would gain much: {used}."

    def _remedies(self) -> Iterator[Remedy]:
        _, dispatch, overhead, sent = self.what_if
        if self.steps:
            yield from self._balance()
        elif self.load_balance < 1:
            yield Remedy(
                f"Engine {self.spent[:, 0].argmax()} computes longer than the others",
                "see %distlayout who holds how much",
                self.what_if[0],
            )
        yield self._notebook(dispatch)
        yield self._bookkeeping(overhead)
        if any(e.bytes for e in self.engines):
            yield self._traffic(sent)
        if self.delays:
            yield self._order()

    def _balance(self) -> Iterator[Remedy]:
        """Yield what would help against unequal work, by layout and by speed."""
        run, expected = self.run, self.expected
        moving, even = run.transfer + run.overhead, expected.mean(axis=1, keepdims=True)
        totals, compute = expected.sum(axis=0), run.compute.sum(axis=0)
        gain = self._if(
            "balanced layout",
            "engines hold equally much, and are as fast as they were",
            np.maximum(0, run.compute - expected + even) + moving,
            4,
        )
        line = self._worst_line(expected.max(axis=1) - even[:, 0])
        most, times = int(totals.argmax()), ratio(float(totals.max()), float(totals.mean()))
        yield Remedy(
            f"Engine {most} holds {times:.1f} times the mean of what {quoted(line)} works on",
            _evenly(line),
            gain,
        )
        gain = self._if(
            "equal speed", "all elements of a step are equally fast", expected + moving, 4
        )
        slow = compute / np.maximum(totals, 1e-9)
        most, times = int(slow.argmax()), float(slow.max())
        yield Remedy(
            f"Engine {most} computes {times:.1f} times as long as its share of elements takes on "
            "the mean engine",
            "see whether its core is shared, or deal elements that differ in work cyclically",
            gain,
        )

    def _notebook(self, gain: WhatIf) -> Remedy:
        reads = [op for op in self.ops if op.op == "fetch"]
        loss = f"All engines waited {duration(self.ladder[0].lost)} for the notebook"
        if reads:
            most = max(reads, key=lambda op: op.calls)
            what = "a value" if most.calls == 1 else f"{most.calls:,} values"
            loss += f", where {quoted(most.line)} reads {what}"
        return Remedy(loss, "read fewer values, or give engines more to do between", gain)

    def _bookkeeping(self, gain: WhatIf) -> Remedy:
        each = float(self.spent[:, 3].mean()) / max(1, self.commands)
        loss = f"{self.commands:,} commands cost {duration(each)} of overhead each"
        return Remedy(loss, "use fewer operations on larger arrays", gain)

    def _traffic(self, gain: WhatIf) -> Remedy:
        sent = {(op.op, op.line): sum(rank.bytes for rank in op.ranks) for op in self.ops}
        op, line = max(sent, key=sent.__getitem__, default=("", ""))
        share = ratio(sent.get((op, line), 0), sum(sent.values()))
        count, size = (sum(e[i] for e in self.engines) for i in (2, 3))
        if size < SMALL * count:
            return Remedy(
                f"{count:,} small messages cost {duration(self.ladder[2].lost)}, most for {op} in "
                f"{quoted(line)}",
                "use fewer operations that send, on larger arrays, or fewer engines",
                gain,
            )
        return Remedy(
            f"Moving bytes takes {duration(self.ladder[2].lost)}, {100 * share:.0f} % of them for "
            f"{op} in {quoted(line)}",
            "lay its operands out alike, once, with x.redistribute(y.layout)",
            gain,
        )

    def _order(self) -> Remedy:
        worst, whole = self.delays[0], self.stages.window
        loss = f"Engines waited {duration(worst.seconds)} in all for engine {worst.engine} at " + (
            f"{worst.op} in {quoted(worst.line)}" if worst.line else worst.op
        )
        gain = WhatIf("no order", "no engine waits", whole, whole - self.ladder[3].lost)
        return Remedy(loss, "let all engines share that work, or let less depend on it", gain)

    def _worst_line(self, excess: np.ndarray) -> str:
        """Return the source line whose steps lose most."""
        sums: dict[str, float] = {}
        for step, lost in zip(self.steps, excess.tolist(), strict=True):
            line = label(step.names)[1]
            sums[line] = sums.get(line, 0.0) + lost
        return max(sums, key=sums.__getitem__, default="")


def _evenly(line: str) -> str:
    name = assigned(line)
    return f"deal its arrays evenly, as {name or 'x'} = {name or 'x'}.redistribute() does"


def quoted(line: str) -> str:
    """Return the source of a line to be read within a sentence.

    >>> quoted("Cell In [3] line 2: b = a[::2]"), quoted("x.py line 3"), quoted("")
    ('`b = a[::2]`', 'x.py line 3', 'one line')
    """
    text = source(line) or line
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    text = text if len(text) <= 48 else text[:45] + "..."
    return f"`{text}`" if source(line) else text or "one line"


def assigned(line: str) -> str:
    """Return the name of the array that a line assigns to, if that can be told.

    >>> assigned("Cell In [3] line 2: t[1:] = 2 * a"), assigned("x.py line 3: print(a)")
    ('t', '')
    """
    try:
        first = ast.parse(source(line)).body[0]
    except (SyntaxError, ValueError, IndexError):
        return ""
    while not isinstance(first, ast.Assign | ast.AnnAssign | ast.AugAssign):
        if not (body := getattr(first, "body", None)) or not isinstance(body, list):
            return ""
        first = body[0]  # of a loop on one line
    found: Any = first.targets[0] if isinstance(first, ast.Assign) else first.target
    found = found.value if isinstance(found, ast.Subscript) else found
    return found.id if isinstance(found, ast.Name) else ""
