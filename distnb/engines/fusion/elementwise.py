"""Runs one group of elementwise commands on one rank.

Messages are posted first; the pieces that need none run meanwhile, and each other piece as soon as
its data is here. A command that fails takes those along that depend on it, and no other: what is
left of the group runs without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol, cast

import numpy as np

from distnb.engines.fusion.compressed import Compressed
from distnb.engines.fusion.group_messages import GroupMessages
from distnb.engines.fusion.groups import Elementary, Group, Specs
from distnb.engines.fusion.kernels import GroupRun, Job, program
from distnb.engines.fusion.loops import group_plan
from distnb.engines.fusion.reduction_blocks import Combiner, ReductionBlocks, Scratch
from distnb.engines.fusion.replicas import has_sharers, is_large
from distnb.engines.fusion.windows import BlockWindow, dense, looks, window_of, windows_of
from distnb.engines.runtime.exchange import PeerFailed
from distnb.engines.runtime.store import BaseTable, Lost
from distnb.geometry.views import Placed
from distnb.measure.events import COMPUTE, OVERHEAD, Clock
from distnb.ops import table
from distnb.ops.scalars import PYTHON_SCALARS
from distnb.plans.transfer import LOCAL, Piece
from distnb.plans.transfer import group as sharing
from distnb.wire.encoding import filled
from distnb.wire.messages import FUNCTION, Param
from distnb.wire.protocol import Apply, Collective, Operand, Reduce

__all__ = ["Elementwise", "Task"]


class Task:
    """A group, and all that a rank knows of it from specs: what need not be found out again.

    Parameters
    ----------
    store : BaseTable
        That of the rank that runs it.
    group, specs, dead
        What to do, what its bases are, and those of them that are never stored.
    """

    def __init__(self, store: BaseTable, group: Group, specs: Specs, dead: set[int]) -> None:
        signature, node = group.signature(specs, dead), store.memory.node
        self.positions = group.positions
        self.commands = group.commands
        self.plan = group_plan(store.rank, signature, node and (node.ranks, node.least))
        self.program = program(signature, self.plan.inputs, None)
        #: The same if the group's tail takes in what it reduces.
        self.reducing = self.program
        if signature.tail is not None and self.plan.blocks is not None:
            self.reducing = program(signature, self.plan.inputs, signature.tail[0])
        slots = list(group.slots)
        self.operands = [slots[s] for s in self.plan.inputs]
        #: The bases that are stored.
        self.kept = {x.base for x, slot in zip(slots, signature.slots, strict=True) if slot.kept}
        self.kept |= group.blocks
        #: Those of them that it writes.
        self.written = [b for b in group.written if b in self.kept]
        self.group = group
        #: Whether one rank may be to compute for all of its node.
        self.large = any(is_large(store, specs[b]) for b in group.written)
        transfer = self.plan.transfer
        #: The bases of which it sends something, and how many bytes it sends in copies.
        sent = [(self.operands[m.operand + 1].base, m) for m in transfer.sends]
        self.sent = {base for base, _ in sent}
        self.sent_bytes = sum(
            prod(m.shape) * specs[base].dtype.itemsize for base, m in sent if not m.zero_copy
        )
        #: Where each scalar is among the values of the batch, and what makes it of that; or what
        #: reads blocks in its place.
        self.scalars = [
            x if isinstance(x, Collective) else (x.index, _maker(x, store)) for x in group.scalars
        ]
        dtypes = [signature.slots[s].dtype for s in self.plan.inputs]
        #: Of each piece, where each reference of it is looked at.
        self.looks = [looks(loop, dtypes) for loop in self.plan.loops]
        tail = group.tail
        #: Whether no other rank has to do with what its tail reduces here.
        self.alone = tail is not None and _is_alone(tail, specs[tail.operand.base], store.rank)
        #: Whether each rank but computes what it holds, from what it holds: nothing travels, is
        #: copied before, goes to anything but the blocks, or is stored to be reduced.
        delays = self.program.delayed or self.plan.whole or self.plan.saved
        stored = group.tail is not None and self.plan.blocks is None
        travels = transfer.sends or transfer.receives
        self.still = not (travels or delays or self.large or stored)
        #: Whether it may send before its turn: not where ranks of a node first agree who computes.
        layouts = [specs[b].layout for b in group.written]
        self.ahead = bool(self.sent) and not (self.large and has_sharers(store, layouts))


def _is_alone(tail: Reduce, spec: Any, rank: int) -> bool:
    placed = Placed(spec.shape, spec.layout, tail.operand.view)
    return sharing(placed, tail.axes, rank) == (rank,)


def _maker(x: Param, store: BaseTable) -> Any:
    """Return what makes a scalar of its value, or finds a function by its number."""
    if x.kind == FUNCTION:
        return store.functions.get
    return None if x.kind in PYTHON_SCALARS else np.dtype(x.kind).type


class Bench(Protocol):
    """What a rank works with (:class:`distnb.engines.worker.executor.Executor`)."""

    store: BaseTable
    clock: Clock
    #: Memory for tiles, and for the results of a tail.
    scratch: Scratch
    results: Scratch
    #: What hears of floating point errors, and what gives compiled loops (:class:`GroupRun`).
    warned: Callable[[str, int], None]
    compiler: Any


class Elementwise(GroupRun):
    """Carries out one group against a store.

    Parameters
    ----------
    bench : Bench
        What the rank works with.
    task : Task
        What to do.
    values : tuple
        Those of the batch, scalars among them.

    Attributes
    ----------
    computes : bool
        Whether this rank computes: else it only sends what others need, as another rank of its
        node computes what it holds.
    """

    def __init__(
        self,
        bench: Bench,
        task: Task,
        values: tuple[Any, ...],
    ) -> None:
        self.warned, self.compiler = bench.warned, bench.compiler
        self.store, self.clock = bench.store, bench.clock
        self.scratch, self.results = bench.scratch, bench.results
        self.computes = True
        self.task = task
        self.values = values
        self.plan = task.plan
        #: None for the output if it is never stored.
        self.bases: list[Any] = [bench.store.bases.get(x.base) for x in task.operands]
        #: step -> why it failed; operands whose data did not come
        self.failed: dict[int, BaseException] = {}
        self._missing: set[Operand] = set()
        self._scalars = [self._scalar(x) for x in task.scalars]
        self._targets: list[Any] = []
        #: What takes in what the group's tail reduces, if that is not stored.
        self._tail = None if task.group.tail is None else self._end_with(task.group.tail)
        self.program = task.program if self._tail is None else task.reducing

    def _scalar(self, x: Any) -> Any:
        """Return the value of a scalar, or what makes elements of blocks."""
        if isinstance(x, Collective):
            return self._compressed(x) if self.computes else None
        i, make = x
        return self.values[i] if make is None else make(self.values[i])

    def _compressed(self, command: Collective) -> Compressed | None:
        """Return what a mask leaves; None where there is nothing, or what it needs is lost."""
        blocks = [self.store.bases[x.base].block for x in command.ins]
        if any(block is None for block in blocks):
            return None
        self.clock.touched += sum(cast(np.ndarray, block).nbytes for block in blocks)
        return Compressed(*cast(list[np.ndarray], blocks))

    def _end_with(self, command: Reduce) -> Combiner | None:
        how = self.plan.blocks
        if how is None or not self.store.bases[command.operand.base].virtual:
            return None
        ufunc, dtype = table.REDUCTIONS[command.op].ufunc, np.dtype(command.dtype)
        return Combiner(ufunc, dtype, how, self.results, self._place(command, how, dtype))

    def _place(self, command: Reduce, how: ReductionBlocks, dtype: np.dtype) -> np.ndarray | None:
        """Return the result's block, if the results of reduction blocks are all that goes there."""
        out = self.store.bases.get(command.out)
        if not self.task.alone or out is None or out.block is None or out.dtype != dtype:
            return None
        return out.block if out.block.size == prod(how.partial_shape) else None

    def take(self) -> Any:
        """Return what took in what the group's tail reduces, or why it failed; None if stored."""
        return self.failed.pop(len(self.task.commands), self._tail)

    # -- what may run ------------------------------------------------------------------------

    def check(self, fault: Any) -> None:
        """Find the commands that cannot run: those that ``fault`` stops, and their dependents."""
        bases = self.store.bases
        trouble = fault is not None or self.failed or self._missing
        if not trouble and not any(bases[n].lost for n in self.task.kept):
            return
        lost: dict[int, bool] = {}
        for k, command in enumerate(self.task.commands):
            if k not in self.failed:
                try:
                    self._check(command, lost)
                    if fault is not None:
                        fault(filled(command, self.values))
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # whatever it is, the others must not wait
                    self.failed[k] = error
            for o in command.outs:
                lost[o.base] = k in self.failed
        self.skipped = set(self.failed)

    def step_failed(self, error: Exception) -> None:
        """Go on without the step that failed, and without those that depend on it."""
        self.failed[self.step] = error
        self.check(None)

    def _check(self, command: Elementary, lost: dict[int, bool]) -> None:
        """Raise Lost if a command reads what is lost; ``lost`` tells of what the group writes."""
        for x in command.reads:
            if lost.get(x.base, self._is_lost(x.base)):
                raise Lost(f"array {x.base}")
            if x in self._missing and x.base not in lost:
                raise PeerFailed("a rank could not send its part")
        for o in command.outs:
            if lost.get(o.base, self._is_lost(o.base)):
                base = self.store.bases[o.base]
                masked = isinstance(command, Apply) and command.where is not None
                whole = not masked and o.view.is_whole(base.shape)
                if not whole or not self.store.is_there(base):
                    raise Lost(f"array {o.base}")

    def _is_lost(self, base: int) -> bool:
        """Tell whether a base is lost; what is never stored need not be there."""
        found = self.store.bases.get(base)
        return found is not None and found.lost

    def fail(self, error: BaseException) -> None:
        """Note that the step that is running failed, and the others with it."""
        others = range(len(self.task.group.all_positions))
        self.failed = {k: Lost("the group failed") for k in others} | self.failed
        self.failed[self.step] = error

    # -- running -----------------------------------------------------------------------------

    def run_still(self, fault: Any) -> None:
        """Compute where nothing travels, and note what failed; see ``check`` for ``fault``."""
        try:
            self.check(fault)
            self.clock.touched += self.plan.touched
            self.clock.switch(COMPUTE)
            for i in range(len(self.plan.loops)):
                self.piece(i, (), {})
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever it is, the batch goes on
            self.fail(error)
        self.clock.switch(OVERHEAD)

    def run(self, messages: GroupMessages) -> None:
        """Compute what others need nothing for at once, and all else when its data is here."""
        exchange, reads = messages.exchange, messages.reads
        temporaries = self.targets()
        self._pieces(messages)
        reads.end_reads(exchange)
        for i in temporaries:
            self.copy_back(i)
            self._targets[i] = None
        reads.await_readers(exchange)

    def targets(self) -> list[int]:
        """Choose where delayed results go: into their blocks, or into temporaries; return these."""
        self._targets = [None if base is None else base.block for base in self.bases]
        found: list[int] = []
        if self.plan.whole and self.computes:
            for i in self.program.delayed:
                block = self.bases[i].block
                if block is not None:
                    self._targets[i] = self.store.memory.allocate(block.shape, block.dtype)
                    found.append(i)
        return found

    def copy_back(self, i: int) -> None:
        """Copy a temporary to the output it stands for."""
        before = self.clock.switch(COMPUTE)
        source, target = self._targets[i], cast(np.ndarray, self.bases[i].block)
        for loop in self.plan.loops:
            window_of(target, loop, i).array[...] = window_of(source, loop, i).array
        self.clock.switch(before)

    def _pieces(self, messages: GroupMessages) -> None:
        """Run the ready pieces while messages fly, then each other one when its data is here."""
        plan = self.plan.transfer
        sources = [self.bases[m.operand + 1] for m in plan.receives]
        buffers: list[Any] = [
            np.empty(1, np.int64) if m.zero_copy else np.empty(m.shape, base.dtype)
            for m, base in zip(plan.receives, sources, strict=True)
        ]
        ready, end = (plan.ready, len(plan.pieces)) if self.computes else (0, 0)
        self.clock.touched += self.plan.touched * self.computes
        before = self.clock.switch(COMPUTE)
        saved = self._save()
        for i in range(ready):
            self.piece(i, buffers, saved)
        self.clock.switch(before)
        late = {i: _sources(plan.pieces[i]) for i in range(ready, end)}
        missing = set(range(len(buffers)))
        wanted = {k: (m.peer, m.operand, buffers[k]) for k, m in enumerate(plan.receives)}
        for key, good in messages.exchange.arrivals(wanted):
            missing.discard(key)
            if not good:
                self._missing.add(self.task.operands[plan.receives[key].operand + 1])
                self.check(None)
                buffers[key] = None  # of a peer's block there is no place
            elif plan.receives[key].zero_copy:
                peer = plan.receives[key].peer
                buffers[key] = messages.reads.block_of(sources[key], peer, buffers[key])
            before = self.clock.switch(COMPUTE)
            for i in [i for i, sources in late.items() if not sources & missing]:
                del late[i]
                self.piece(i, buffers, saved)
            self.clock.switch(before)

    def _save(self) -> dict[tuple[int, int], BlockWindow]:
        """Copy what pieces read that an earlier one overwrites."""
        found = {}
        for piece, i in self.plan.saved if self.computes else ():
            block = self.bases[i].block
            if block is not None:
                found[piece, i] = dense(window_of(block, self.plan.loops[piece], i).array.copy())
        return found

    def piece(
        self,
        number: int,
        buffers: Sequence[np.ndarray],
        saved: dict[tuple[int, int], BlockWindow],
    ) -> None:
        """Compute one piece."""
        todo, views = self.program, self.task.looks[number]
        refs = self.plan.transfer.pieces[number].refs
        blocks: list[Any] = [None] * len(self.bases)
        for i in todo.memory:
            source = refs[i].source
            blocks[i] = self.bases[i].block if source == LOCAL else buffers[source]
        windows = windows_of(blocks, views)
        for (piece_number, i), window in saved.items():
            if piece_number == number:
                windows[i] = window
        targets = []
        if todo.delayed:
            delayed = [t if i in todo.delayed else None for i, t in enumerate(self._targets)]
            targets = windows_of(delayed, views)
        loop = self.plan.loops[number]
        for source in self._scalars if self.task.group.blocks else ():
            if isinstance(source, Compressed):
                source.origin = loop.offsets[0]
        todo.run(Job(loop, windows, targets, self._scalars, self.scratch, self, self._tail))


def _sources(piece: Piece) -> set[int]:
    return {r.source for r in piece.refs if r.source != LOCAL}
