"""What would make a run shorter, and by how much: from replays without one cost at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from distnb.common.lazy import lazy
from distnb.measure.metrics import Metrics, Rung, label, ratio
from distnb.measure.quantities import duration, size_text
from distnb.measure.source_lines import assigned, evenly, quoted
from distnb.ops.table import WRITING

__all__ = ["CAUSES", "Advised", "Remedy", "WhatIf"]

#: Gains below this share of the window are not worth a change.
WORTH = 0.05
#: Computing at this share of the speed of memory is as fast as it gets.
FAST = 0.6

#: Seconds that recording an operation may take, with the Python around it.
RECORDING = 100e-6
#: Seconds of Python that may come with a value that is read; as many make a loop.
READING, MANY = 1e-3, 10
#: Messages of an engine for one operation from which its operands lie apart, piece by piece.
PIECES = 32
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
    """A loss, what would help, and an estimate of what that gives.

    ``cause`` is the field's word for it, and ``rung`` the number of the rung where it is lost.
    """

    cause: str
    rung: int
    loss: str
    cure: str
    gain: WhatIf

    @property
    def sentence(self) -> str:
        """The remedy for reading."""
        loss = self.loss[:1].lower() + self.loss[1:]
        return f"{self.cause}: {loss}; {self.cure}: about {self.gain.words}."


#: What operations with files do, and what would help.
_WRITES = ("Writing files", "write less: smaller dtypes, or compressed")
_READS = ("Reading files", "read once, and only what is needed")

#: The field's words for what is lost, explained.
CAUSES = {
    "load balance": "engines had unequal work: the others waited for the one that had most",
    "serialisation": "engines waited for what others had to do first",
    "bandwidth": "communication: moving so many bytes between engines takes its time",
    "gather": "elements came to the notebook, and engines had nothing else to do",
    "files": "engines read and wrote files, and had nothing else to do",
    "latency": "communication: each message costs, however few bytes it has",
    "straggler": "an engine took its commands late: it was stopped, or had no core",
    "overhead": "engines decoded commands, and planned",
    "memory": "engines got memory for new arrays, whose pages cost when they are first used",
    "waiting for the notebook": "no engine had a command, and the notebook did not compute",
    "recording": "no engine had a command: the notebook was recording operations",
    "notebook": "no engine had a command: the notebook did steps of its own, or other Python",
    "disk": "no engine had a command: arrays went to disk, where memory was full, and came back",
    "garbage collection": "no engine had a command: Python was collecting garbage in the notebook",
    "busy machine": "engines could have run, but other programs had the cores",
}


def _gain(found: WhatIf) -> float:
    return found.gain


class Advised(Metrics):
    """What-ifs and advice of :class:`~distnb.measure.events.Report`."""

    ops: tuple[Any, ...]
    commands: int
    dropped: int
    notebook: Any

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
        """Losses, and what would help against them: that of the worst rung first, then by gain."""
        found = sorted(self._remedies(), key=lambda r: -r.gain.gain)
        worst = self.ladder.index(self.worst)
        return tuple(sorted(found, key=lambda r: r.rung != worst))

    @property
    def headline(self) -> Remedy | None:
        """What to do first, against the loss of the worst rung; None if nothing would gain much.

        Other programs are named where they took more than twice of what that rung lost: of what a
        cause that stands out took, they are a part.
        """
        if not self._worked:
            return None
        best = self.remedies[0] if self.remedies else None
        worst = self.ladder.index(self.worst)
        if best and (best.rung != worst or best.gain.gain < WORTH):
            best = None
        least = 2 * self.worst.lost if best else WORTH * self.stages.window
        return self._machine() if self.delayed > least else best

    @property
    def marked(self) -> Rung | None:
        """The rung that views mark: the worst one, unless other programs took more than it lost."""
        best = self.headline
        return None if (best is not None and best.rung < 0) or not self.worst.lost else self.worst

    @property
    def advice(self) -> str:
        """What cost most and what would help, in one sentence, with the estimated gain."""
        if not self._worked:
            return self._alone()
        best = self.headline
        if best is None:
            return self._good()
        sentence = best.sentence
        sentence = sentence[:1].upper() + sentence[1:]
        share = self.delayed / self.stages.window
        if share >= WORTH and best.cause != "busy machine":
            busy = f"for {100 * share:.0f} % of the time engines had no core"
            sentence = f"{sentence[:-1]} (the machine was shared with other work: {busy})."
        return sentence

    @property
    def _worked(self) -> bool:
        """Whether engines computed anything, or the notebook got elements of theirs."""
        return bool(self.stages.mean or self.gathered.any())

    @property
    def delayed(self) -> float:
        """Seconds in which an engine, in the mean, could have run, but had no core."""
        each = [getattr(e, "delayed", 0) for e in self.engines]
        return sum(each) / max(1, len(each)) / 1e9

    def _machine(self) -> Remedy:
        whole = self.stages.window
        loss = f"engines could not run for {duration(self.delayed)}, as others had the cores"
        gain = WhatIf("a machine of its own", "no other work", whole, whole - self.delayed)
        cure = "measure when nothing else runs, or start no more engines than there are cores"
        return Remedy("busy machine", -1, loss, cure, gain)

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
                "load balance",
                4,
                f"Engine {self.spent[:, 0].argmax()} computes longer than the others",
                "see x.layout who holds how much",
                self.what_if[0],
            )
        yield self._dispatch(dispatch)
        yield from self._bookkeeping(overhead)
        lost = [rung.lost for rung in self.ladder]
        if lost[2]:
            most = self._without(2)
            yield self._traffic(min(sent, most, key=_gain) if sent.gain >= WORTH else most)
        if lost[3]:
            yield self._order()

    def _without(self, rung: int) -> WhatIf:
        """Return the gain if all that a rung has lost were there."""
        name, _, lost, meaning = self.ladder[rung]
        whole = self.stages.window
        return WhatIf(f"no {name}", f"not: {meaning}", whole, whole - lost)

    def _balance(self) -> Iterator[Remedy]:
        """Yield what would help against unequal work, by layout and by speed."""
        run, expected = self.run, self.expected
        moving, even = run.transfer + run.overhead, expected.mean(axis=1, keepdims=True)
        totals = expected.sum(axis=0)
        by_layout = self._if(
            "balanced layout",
            "engines hold equally much, and are as fast as they were",
            np.maximum(0, run.compute - expected + even) + moving,
            4,
        )
        line = self._worst_line(expected.max(axis=1) - even[:, 0])
        most, times = int(totals.argmax()), ratio(float(totals.max()), float(totals.mean()))
        yield Remedy(
            "load balance",
            4,
            f"Engine {most} holds {times:.1f} times the mean of what {quoted(line)} works on",
            evenly(line),
            by_layout,
        )
        yield from self._slow(expected, by_layout)

    def _slow(self, expected: np.ndarray, by_layout: WhatIf) -> Iterator[Remedy]:
        """Yield what would help against an engine that is slower than its elements tell."""
        run, totals = self.run, expected.sum(axis=0)
        gain = self._if(
            "equal speed",
            "all elements of a step are equally fast",
            expected + run.transfer + run.overhead,
            4,
        )
        compute = run.compute.sum(axis=0)
        has_part = totals > 0  # of the others there is nothing to compare
        slow = np.divide(compute, totals, out=np.zeros_like(totals), where=has_part)
        most, times = int(slow.argmax()), float(slow.max())
        if max(gain.gain, by_layout.gain) < WORTH and self.worst is self.ladder[4]:
            gain = self._without(4)
        yield Remedy(
            "load balance",
            4,
            f"Engine {most} computes {times:.1f} times as long as its share of elements takes on "
            "the mean engine",
            "see whether its core is shared, or deal elements that differ in work cyclically",
            gain,
        )

    def _dispatch(self, gain: WhatIf) -> Remedy:
        """Return why no engine had a command: what the notebook did then."""
        lost, did = self.ladder[0].lost, self.notebook
        if did is None or not lost:
            return self._waiting(gain)
        if did.disk >= lost / 2:
            loss = f"Arrays went to disk and came back for {duration(did.disk)}, as memory was full"
            cure = "drop what is not needed (%distmem lists it), or work on parts that fit"
            return Remedy("disk", 0, loss, cure, self._less(gain, did.disk))
        if did.tried >= lost / 2:
            return self._trial(gain)
        if self._reads_often:
            return self._waiting(gain, lost)
        own = did.computed if did.waited is None else self._apart
        if own < lost / 2:
            return self._waiting(gain)
        if did.computed < own / 4:  # less than a half may be for want of a core
            return self._other(gain)
        if did.collected >= lost / 2:
            loss = f"Python collected garbage for {duration(did.collected)}"
            cure = "drop lists of many objects before, or call gc.freeze() after the imports"
            return Remedy("garbage collection", 0, loss, cure, self._less(gain, did.collected))
        if did.computed <= RECORDING * self.commands:
            loss = f"Recording {self.commands:,} operations took {duration(did.computed)}"
            cure = "use fewer operations on larger arrays"
            return Remedy("recording", 0, loss, cure, self._less(gain, did.computed))
        loss = (
            f"Engines had no command while it computed by itself for {duration(did.computed)}"
            f"{self._seen}"
        )
        cure = "let arrays and functions of distnb do that work"
        return Remedy("notebook", 0, loss, cure, self._less(gain, did.computed))

    @property
    def _reads_often(self) -> bool:
        """Whether values are read in a loop, with little of the notebook's own beside them."""
        count = sum(op.calls for op in self.ops if op.op == "fetch")
        little = self.notebook.computed <= READING * count
        return count >= MANY and little and not self._gathers_much

    @property
    def elsewhere(self) -> float:
        """Seconds without commands in which the notebook neither computed nor waited for engines.

        It slept, had no core, or waited for threads of libraries, files, other programs.
        """
        return 0.0 if self.notebook is None else max(0.0, self._apart - self.notebook.computed)

    def _alone(self) -> str:
        """Return what the notebook did in a window in which engines did nothing."""
        did, whole = self.notebook, self.stages.window
        nothing = "Nothing was computed on the engines"
        if did is None or not whole:
            return nothing + "."
        parts = {
            "computed": did.computed,
            "waited for engines": did.waited or 0.0,
            "waited for the disk": did.disk,
            "waited for threads of libraries, for a core or in a sleep": self.elsewhere,
        }
        told = [f"{what} ({duration(s)})" for what, s in parts.items() if s >= WORTH * whole]
        most = ", ".join(sorted(told, key=lambda each: each.startswith("waited")))
        most = most + self._seen if most else "did next to nothing"
        return f"{nothing}: in {duration(whole)} the notebook {most}."

    @property
    def _seen(self) -> str:
        """On which line the notebook was for most of its own time, if it was seen on any."""
        lines = self.notebook.lines
        most = max(lines, key=lambda each: each.seconds, default=None)
        return f", most at {quoted(most.line)}" if most else ""

    @lazy
    def _apart(self) -> float:
        """Seconds in which no engine had a command, and the notebook did not wait for any."""
        did, whole = self.notebook, 1e9 * self.stages.window
        if did is None:
            return 0.0
        known = self.steps and not self.dropped
        pauses = self.run.pauses(whole) if known else (np.zeros(1), np.array([whole]))
        return float(np.clip(did.apart(*pauses), 0, self.ladder[0].lost))

    def _less(self, gain: WhatIf, seconds: float, rung: int = 0) -> WhatIf:
        """Return a gain of so many seconds, under the same assumption; no more than a rung lost."""
        return gain._replace(after=gain.before - min(seconds, self.ladder[rung].lost))

    def _trial(self, gain: WhatIf) -> Remedy:
        """Return what helps where functions were called in the notebook for their dtypes."""
        lines = {op.line for op in self.ops if op.op.startswith("map_blocks")}
        where = f" in {quoted(*lines)}" if len(lines) == 1 else ""
        tried = self.notebook.tried
        loss = f"It called a function for {duration(tried)}{where}, to find the dtype of the result"
        return Remedy("notebook", 0, loss, "give dtype=", self._less(gain, tried))

    def _other(self, gain: WhatIf) -> Remedy:
        """Return what is known where the notebook did other things."""
        loss = (
            f"Engines had no command for {duration(self._apart)}, while it did other things than "
            "wait for them (a sleep, files, libraries and their threads), or had no core"
            f"{self._seen}"
        )
        cure = "ask engines for what they can do meanwhile before that"
        return Remedy("waiting for the notebook", 0, loss, cure, self._less(gain, self._apart))

    def _waiting(self, gain: WhatIf, lost: float | None = None) -> Remedy:
        """Return what helps where reads were waited for: each from when it was asked."""
        if self._gathers_much:
            return self._gather(0, gain)
        lost = self.ladder[0].lost - self._apart if lost is None else lost
        gain = self._less(gain, lost)
        reads = [op for op in self.ops if op.op == "fetch"]
        loss = f"Engines had no command for {duration(lost)}"
        if reads:
            most = max(reads, key=lambda op: op.calls)
            what = "a value" if most.calls == 1 else f"{most.calls:,} values"
            loss += f", where {quoted(most.line)} reads {what}"
        cure = "read fewer values, or give engines more to do between"
        return Remedy("waiting for the notebook", 0, loss, cure, gain)

    def _bookkeeping(self, gain: WhatIf) -> Iterator[Remedy]:
        """Yield what would help against overhead: that of new memory, or else of commands."""
        took = {op: sum(rank.overhead for rank in op.ranks) for op in self.ops}
        made = {op: ns for op, ns in took.items() if op.op.startswith("create")}
        share = ratio(sum(made.values()), max(1, sum(e.spent[3] for e in self.engines)))
        lost = self.ladder[1].lost
        if made and share >= 0.5:
            line = max(made, key=made.__getitem__).line
            loss = f"Getting memory for new arrays takes {duration(share * lost)}, most for "
            name = assigned(line) or "x"
            cure = f"write into an array that is there, as {name}[...] = or out={name} does"
            yield Remedy("memory", 1, loss + quoted(line), cure, self._less(gain, share * lost, 1))
        elif self.commands:
            loss = (
                f"{self.commands:,} commands cost {duration(lost / self.commands)} of overhead each"
            )
            yield Remedy("overhead", 1, loss, "use fewer operations on larger arrays", gain)

    @property
    def _gathers_much(self) -> bool:
        """Whether what came to the notebook was more than values."""
        return int(self.gathered.sum()) >= SMALL * max(1, sum(op.calls for op in self.gathers))

    def _gather(self, rung: int, gain: WhatIf) -> Remedy:
        """Return what would help where the notebook got many elements."""
        sizes = [sum(rank.bytes for rank in op.ranks) for op in self.gathers]
        most = self.gathers[sizes.index(max(sizes))]
        times = f", {most.calls:,} times" if most.calls > 1 else ""
        loss = (
            f"Moving {size_text(sum(sizes))} to the notebook takes "
            f"{duration(self.ladder[rung].lost)}, most for {quoted(most.line)}{times}"
        )
        cure = "reduce on the engines first, or read once what is needed"
        return Remedy("gather", rung, loss, cure, gain)

    def _files(self, gain: WhatIf) -> Remedy | None:
        """Return what would help where files take at least half of what engines moved; or None."""
        took = {op: sum(rank.transfer for rank in op.ranks) for op in self.filings}
        whole = sum(e.spent[2] for e in self.engines)
        if not took or 2 * sum(took.values()) < whole:
            return None
        most = max(took, key=took.__getitem__)
        does, cure = _WRITES if most.op in WRITING else _READS
        loss = f"{does} takes {duration(self.ladder[2].lost)}, most for {quoted(most.line)}"
        return Remedy("files", 2, loss, cure, gain)

    def _traffic(self, gain: WhatIf) -> Remedy:
        if (files := self._files(gain)) is not None:
            return files
        sizes = ((op, sum(rank.bytes for rank in op.ranks)) for op in self.ops)
        sent = {(op.op, op.line): size for op, size in sizes if op not in self.gathers}
        op, line = max(sent, key=sent.__getitem__, default=("", ""))
        share = ratio(sent.get((op, line), 0), sum(sent.values()))
        count, size = (sum(e[i] for e in self.engines) for i in (2, 3))
        gathered = int(self.gathered.sum())
        size -= gathered
        if gathered >= size and self._gathers_much:
            return self._gather(2, gain)
        if size < SMALL * count:
            return self._latency(count, gain)
        return Remedy(
            "bandwidth",
            2,
            f"Moving {size_text(size)} takes {duration(self.ladder[2].lost)}, "
            f"{100 * share:.0f} % of them for {op} in {quoted(line)}",
            "lay its operands out alike, once, with x.redistribute(y.layout)",
            gain,
        )

    def _latency(self, count: int, gain: WhatIf) -> Remedy:
        """Return what would help against many messages: those of the line that sends most."""
        sent = {op: sum(rank.messages for rank in op.ranks) for op in self.ops}
        most = max(sent, key=sent.__getitem__, default=None)
        loss = f"{count:,} small messages cost {duration(self.ladder[2].lost)}, "
        cure = "use fewer operations that send, on larger arrays, or fewer engines"
        if most is None or not sent[most]:  # by them engines agree on what failed
            loss += "by which engines agree at the ends of batches"
            cure = "read values less often, and use larger arrays, or fewer engines"
            return Remedy("latency", 2, loss, cure, gain)
        elementwise = most.op == "copy" or isinstance(getattr(np, most.op, None), np.ufunc)
        if elementwise and sent[most] > PIECES * most.calls * len(self.engines):
            cure = "lay its operands out alike, once, with x.redistribute(y.layout)"
        loss += f"most for {most.op} in {quoted(most.line)}"
        return Remedy("latency", 2, loss, cure, gain)

    def _order(self) -> Remedy:
        lost = self.ladder[3].lost
        late = self.late
        if late.max(initial=0) >= lost / 2:
            loss = f"Engine {late.argmax()} took its commands {duration(float(late.max()))} late"
            cure = "see what else has its core, and whether it was stopped"
            gain = self._less(self._without(3), float(late.max()), 3)
            return Remedy("straggler", 3, loss, cure, gain)
        loss = f"Engines waited {duration(self.ladder[3].lost)} for what others had to do first"
        if self.delays:
            worst = self.delays[0]
            loss += f", most for engine {worst.engine} at " + (
                f"{worst.op} in {quoted(worst.line)}" if worst.line else worst.op
            )
        cure = "let all engines share that work, or let less depend on it"
        return Remedy("serialisation", 3, loss, cure, self._without(3))

    def _worst_line(self, excess: np.ndarray) -> str:
        """Return the source line whose steps lose most."""
        sums: dict[str, float] = {}
        for step, lost in zip(self.steps, excess.tolist(), strict=True):
            line = label(step.names)[1]
            sums[line] = sums.get(line, 0.0) + lost
        return max(sums, key=sums.__getitem__, default="")
