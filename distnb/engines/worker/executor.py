"""Runs one command, or one group of elementwise commands, on one rank."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from distnb.engines.collectives import (
    fourier,
    gather_scatter,
    masks,
    pencils,
    reductions,
    scans,
    searching,
    segmented,
    selecting,
    single_engine,
    sorting,
)
from distnb.engines.files import appending, parsing, reading, writing
from distnb.engines.fusion.amounts import of_blocks
from distnb.engines.fusion.elementwise import Elementwise, Task
from distnb.engines.fusion.group_messages import GroupMessages
from distnb.engines.fusion.groups import Specs
from distnb.engines.fusion.reduction_blocks import Scratch
from distnb.engines.fusion.replicas import Replicas
from distnb.engines.linalg import (
    panels,
    scalapack,
    summa,
    tsqr,
    whole_matrices,
)
from distnb.engines.parts import blocks, results, tasks
from distnb.engines.runtime import creation
from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.exchange import Exchange, PeerFailed
from distnb.engines.runtime.store import BaseTable, LocalBase, Lost
from distnb.engines.sparse import local, needs, parts, products, routes, rows
from distnb.engines.worker.steps import gathered
from distnb.geometry.views import View
from distnb.measure.events import COMPUTE, OVERHEAD, TRANSFER, Clock
from distnb.ops import table
from distnb.plans.transfer import at, plan_parts
from distnb.wire.channel import Arrays
from distnb.wire.protocol import Collective, Command, Create, Fetch, Lay, Local, Reduce

__all__ = ["Executor"]

#: op -> what does it: made of a command and the store, it knows its messages (``owed``,
#: ``expected``) from specs alone, and does its work in ``run(exchange, clock)``.
COLLECTIVES: dict[str, Callable[[Collective, BaseTable], Any]] = {
    "along": gather_scatter.Along,
    "apply_along_axis": blocks.AlongAxis,
    "check": gather_scatter.Check,
    "compress.rows": masks.CompressRows,
    "expand": masks.Expand,
    "file.append": appending.Append,
    "file.call": reading.Call,
    "file.hold": parsing.Hold,
    "file.parse": parsing.Parse,
    "file.read": reading.Read,
    "file.sum": reading.Sum,
    "file.table": writing.WriteTable,
    "file.write": writing.Write,
    "fft": fourier.Transform,
    "foreach": tasks.Tasks,
    "foreach.join": results.Joined,
    "foreach.join_sparse": results.SparseJoined,
    "foreach.tell": results.Told,
    "gather": gather_scatter.Gather,
    "map_blocks": blocks.Blocks,
    "map_stacks": blocks.Stacks,
    "nonzero": masks.Nonzero,
    "panel": panels.PanelStep,
    "pencils": pencils.Pencils,
    "sample": single_engine.Sample,
    "scalapack": scalapack.Factors,
    "scan": scans.Scan,
    "scatter": gather_scatter.Scatter,
    "search": searching.Search,
    "segments": segmented.Segments,
    "select": selecting.Select,
    "sort": sorting.Sort,
    "sparse.bring": products.Brought,
    "sparse.count": local.Counted,
    "sparse.dense": local.Dense,
    "sparse.diagonal": local.Diagonal,
    "sparse.each": local.Each,
    "sparse.fold": products.Folded,
    "sparse.gather": products.Gathered,
    "sparse.hold": parts.Held,
    "sparse.lay": routes.Lay,
    "sparse.look": local.Looked,
    "sparse.multiply": products.Multiplied,
    "sparse.pick": products.Picked,
    "sparse.plan": needs.Needs,
    "sparse.points": rows.Points,
    "sparse.route": routes.Route,
    "sparse.rows": rows.Rows,
    "sparse.rowwise": local.Rowwise,
    "sparse.scatter": products.Scattered,
    "sparse.spread": local.Spread,
    "sparse.times": rows.Times,
    "sparse.turn": routes.Turn,
    "summa": summa.Product,
    "tsqr": tsqr.TallQR,
    "twiddle": fourier.Twiddle,
    **dict.fromkeys(whole_matrices.NAMES, whole_matrices.OnParts),
}


class Executor:
    """Carries out commands against a store, over a communicator, on a clock.

    ``fault`` is called with each command before it runs; tests set it to make a rank fail.
    """

    def __init__(self, store: BaseTable, comm: Comm, clock: Clock) -> None:
        self.store = store
        self.comm = comm
        self.clock = clock
        self.fault: Callable[[Command], None] | None = None
        self.user: dict[str, Any] = {}
        self.replicas = Replicas(store, clock, {})
        #: What must make the command fail that runs next.
        self.trouble: Exception | None = None
        self.scratch = Scratch()
        #: for the partial results of reductions
        self.results = Scratch()
        #: Is told of floating point errors, as NumPy tells of them.
        self.warned: Callable[[str, int], None] = lambda kind, flag: None
        #: Gives compiled loops, if there are to be any.
        self.compiler: Any = None
        self._group: Elementwise | None = None
        #: Number of a group -> its messages, which are sent before its turn.
        self._ahead: dict[int, GroupMessages] = {}

    @property
    def step(self) -> int:
        """The step of a group that runs, for whoever hears of floating point errors."""
        return 0 if self._group is None else self._group.step

    def enter(self, store: BaseTable, specs: Specs) -> None:
        """Work on the bases of a batch from now on; ``specs`` tells what they are."""
        self.store = self.replicas.store = store
        self._ahead.clear()  # those of a batch that was given up
        self.replicas.specs = specs
        store.compiler = self.compiler

    def run(self, number: int, command: Command, buffers: Arrays, dead: bool = False) -> Any:
        """Run a command that computes; return its value if it has one.

        ``dead``: whether what it creates is never stored (see :mod:`distnb.engines.fusion.groups`).
        """
        if isinstance(command, Create):
            return self._create(number, command, buffers, dead)
        if isinstance(command, Reduce):
            return self._reduce(number, command)
        self.trouble = self.replicas.part(self.comm, number, command.writes)
        if isinstance(command, Local):
            return self._local(number, command)
        if isinstance(command, Collective):
            return self._collective(number, command)
        if isinstance(command, Fetch):
            return self._fetch(command)
        if isinstance(command, Lay):
            return self._lay(command)
        raise TypeError(f"command: got {type(command).__name__}, expected one that computes")

    def _check(self, command: Command) -> None:
        trouble, self.trouble = self.trouble, None
        if trouble is not None:
            raise trouble
        if self.fault is not None:
            self.fault(command)

    def _create(self, number: int, command: Create, buffers: Arrays, dead: bool) -> None:
        dtype = np.dtype(command.dtype)
        self.store.free((command.base,))  # one that was lost is made again under its handle
        if dead:
            base = LocalBase(command.shape, dtype, command.layout, None, lost=True, virtual=True)
            self.store.put(command.base, base)
            self._check(command)
        elif command.how[0] == "data":
            base = LocalBase(command.shape, dtype, command.layout, None, lost=True)
            self.store.put(command.base, base)
            self._check(command)
            base.block = creation.adopt(buffers, command.how[1], command, self.store.rank)
        else:
            base = self.store.add(command.base, command.shape, dtype, command.layout)
            before = self.clock.switch(OVERHEAD if command.bare else COMPUTE)
            self._fill(number, command, base, buffers)
            self.clock.switch(before)
        base.lost = command.how[0] == "lost"

    def _at(self, command: Create, base: LocalBase, buffers: Arrays) -> None:
        """Give a base a place in the notebook's segment, if it has one, and fill it."""
        kind, place, *how = command.how
        if place:
            self.store.lay(base, place, kind in ("at", "room"))
        elif kind == "lost":  # all of it can be written
            self.store.provide(base)
        self._check(command)
        if kind == "at" and how[0] == "data":
            part = creation.adopt(buffers, how[1], command, self.store.rank)
            if part is not None and base.block is not None:
                base.block[...] = part
        elif kind == "same":
            self.replicas.copy(base)
        elif kind == "at":
            self._filled(base, tuple(how))

    def _filled(self, base: LocalBase, how: tuple[Any, ...]) -> None:
        """Fill a base, and count that."""
        creation.fill(base, how, self.store.rank, self.user)
        if how[0] not in ("empty", "local"):
            self.clock.touched += of_blocks([base])

    def _fill(self, number: int, command: Create, base: LocalBase, buffers: Arrays) -> None:
        """Give a base memory and fill it."""
        if command.how[0] in ("at", "room", "same", "lost"):
            self._at(command, base, buffers)
            return
        made = [] if command.how[0] in ("empty", "local") else self.replicas.made_of(command.base)
        if not made:
            self.store.provide(base)

        def work(computes: bool) -> None:
            self._check(command)
            if computes:
                self._filled(base, command.how)

        self._by_node_leader(number, made, work)

    def _by_node_leader(self, number: int, made: list[int], work: Callable[[bool], None]) -> None:
        """Do work without messages, with its result only if it is not another rank's to make."""
        if not made:
            return work(True)
        failure: BaseException | None = self.replicas.begin(self.comm, number, made)
        try:
            work(failure is None and self.replicas.keeps(made))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever it is, the others must hear of it
            failure = error
        bad = self.replicas.end(self.comm, number, made, {*made} if failure else set())
        if failure is not None:
            raise failure
        if bad:
            raise PeerFailed(_LEADER_FAILED)

    def _lay(self, command: Lay) -> bool:
        """Move this rank's part of a base to the notebook's segment; tell whether it is there."""
        base = self.store.get(command.operand.base)
        self._check(command)
        before = self.clock.switch(TRANSFER)
        there = self.store.lay(base, command.place)
        self.clock.hand_over(of_blocks([base]))
        self.clock.switch(before)
        return there

    def _fetch(self, command: Fetch) -> np.ndarray | None:
        base = self.store.get(command.operand.base)
        self._check(command)
        view = command.operand.view
        part = plan_parts(self.store.rank, self.store.placed(command.operand))
        if part is None or base.block is None:
            return None
        before = self.clock.switch(TRANSFER)
        self.clock.hand_over(prod(part.shape) * base.dtype.itemsize)
        if not command.place:
            found = gathered(part, base.block)
        else:
            found, out = None, self.store.memory.at(command.place, view.shape, base.dtype)
            for chunk, place in zip(part.chunks, part.places, strict=True):
                at(out, chunk.shape, place)[...] = at(base.block, chunk.shape, chunk.memory)
        self.clock.switch(before)
        return found

    def _local(self, number: int, command: Local) -> None:
        out = command.out.base
        made = [] if command.op == "adopt" else self.replicas.made_of(out)
        self._by_node_leader(number, made, lambda computes: self._on_blocks(command, computes))

    def _on_blocks(self, command: Local, computes: bool) -> None:
        blocks = [self.store.get(x.base).block for x in command.ins]
        target = self.store.get(command.out.base)
        self._check(command)
        if not computes or target.block is None or target.block.size == 0:
            return
        if command.op == "adopt":
            self.store.adopt(target, self.store.get(command.ins[0].base))
            return
        before = self.clock.switch(COMPUTE)
        seen = [_seen(b, x.view) for b, x in zip(blocks, command.ins, strict=True) if b is not None]
        lead = [_with_axes(b, target.block.ndim) for b in seen]
        table.LOCALS[command.op](*lead, out=target.block)
        self.clock.touched += sum(b.nbytes for b in (*lead, target.block))
        self.clock.switch(before)

    def _reduce(self, number: int, command: Reduce) -> None:
        placed = self.store.placed(command.operand)
        silent = self.store.elements(self.store.bases[command.out]) == 0
        plan = reductions.plan(placed, command.axes, self.store.rank)
        self.reduce(number, reductions.Work(command, plan, silent))

    def reduce(self, number: int, work: reductions.Work) -> None:
        """Reduce, as it was planned."""
        shared = self.store.bases[work.command.out].shared
        self.trouble = (
            self.replicas.part(self.comm, number, work.command.writes) if shared else None
        )
        owed, expected = ([], []) if work.silent else (work.plan.owed, work.plan.expected)
        self._with_messages(number, owed, expected, lambda x: self._reducing(x, work))

    def _reducing(self, exchange: Exchange, work: reductions.Work) -> None:
        base = self.store.get(work.command.operand.base)
        out = self.store.get(work.command.out)
        self._check(work.command)
        if isinstance(base.taken, BaseException):
            raise base.taken
        block = base.block if base.taken is None else base.taken
        reductions.run(work, block, out.block, exchange, self.clock, self.results, self.compiler)
        elements = work.plan.elements if base.taken is None else 0
        self.clock.touched += elements * base.dtype.itemsize + of_blocks([out])
        out.lost = False

    def _collective(self, number: int, command: Collective) -> None:
        work = COLLECTIVES[command.op](command, self.store)
        operands = (*command.ins, *command.outs)

        def run(exchange: Exchange) -> None:
            for operand in command.ins:
                self.store.get(operand.base)
            for operand in command.outs:
                self.store.check_memory(self.store.bases[operand.base])
            self._check(command)
            work.run(exchange, self.clock)
            self.clock.touched += of_blocks([self.store.bases[x.base] for x in operands])
            for operand in command.outs:
                self.store.bases[operand.base].lost = False

        self._with_messages(number, work.owed, work.expected, run)

    def group(self, number: int, task: Task, values: tuple[Any, ...]) -> dict[int, BaseException]:
        """Run a group of elementwise commands; return why which of them failed."""
        bases = self.store.bases
        if not task.still or any(bases[n].shared for n in task.written):
            return self._moving_group(number, task, values)
        todo = self._group = Elementwise(self, task, values)
        try:
            todo.run_still(self.fault)
        finally:
            self._group = None
        if task.group.tail is not None:
            bases[task.group.tail.operand.base].taken = todo.take()
        return todo.failed

    def _moving_group(
        self, number: int, task: Task, values: tuple[Any, ...]
    ) -> dict[int, BaseException]:
        """Run a group of which something travels, or is copied."""
        made = self.replicas.made_by(task.group) if task.large else []
        trouble = self._begin(number, task, made)
        todo = self._group = Elementwise(self, task, values)
        todo.computes = self.replicas.keeps(made)
        messages = self._ahead.pop(number, None) or self._messages(number, task)

        def work(_: Exchange) -> None:
            if trouble is not None:
                raise trouble
            todo.check(self.fault)
            messages.send()
            todo.run(messages)

        try:
            _completing(messages.exchange, work)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            todo.fail(error)
        finally:
            self._group = None
        if task.group.tail is not None:
            self.store.bases[task.group.tail.operand.base].taken = todo.take()
        if made:
            self._made(number, task, made, todo.failed)
        return todo.failed

    def post(self, number: int, task: Task) -> None:
        """Send what a group owes, before its turn; what goes wrong fails the group."""
        messages = self._ahead[number] = self._messages(number, task)
        messages.send_ahead()

    def _messages(self, number: int, task: Task) -> GroupMessages:
        plan = task.plan.transfer
        return GroupMessages(self.comm, self.clock, self.store, number, plan, task.operands)

    def _begin(self, number: int, task: Task, made: list[int]) -> Exception | None:
        """Prepare what a group writes; return what went wrong."""
        failure, tail = None, task.group.tail
        if tail is not None and (made or task.plan.blocks is None):
            try:  # it is reduced afterwards, and by those that are to look at it
                self.store.provide(self.store.bases[tail.operand.base])
            except MemoryError as error:
                failure = error
        if made:
            return self.replicas.begin(self.comm, number, made) or failure
        return self.replicas.part(self.comm, number, task.written) or failure

    def _made(
        self, number: int, task: Task, made: list[int], failed: dict[int, BaseException]
    ) -> None:
        """Share what was made with others of the node, or note that it could not be made."""
        outs = [{o.base for o in command.outs} for command in task.commands]
        mine = set().union(*(outs[k] for k in failed))
        bad = self.replicas.end(self.comm, number, made, mine)
        for k, handles in enumerate(outs):
            if handles & bad:
                failed.setdefault(k, PeerFailed(_LEADER_FAILED))

    def _with_messages(
        self,
        number: int,
        owed: list[tuple[int, int]],
        expected: list[tuple[int, int]],
        work: Callable[[Exchange], None],
    ) -> None:
        """Run ``work`` with the messages of a command."""
        _completing(Exchange(self.comm, self.clock, number, owed, expected), work)


def _completing(exchange: Exchange, work: Callable[[Exchange], None]) -> None:
    """Run ``work``; what it leaves open, because it fails or had nothing to send, is completed."""
    try:
        work(exchange)
        exchange.fail()
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever it is, the others must not wait
        exchange.fail()
        raise


def _seen(block: np.ndarray, view: View) -> np.ndarray:
    """Return a block as a view sees it that is all of a base, maybe transposed."""
    order = [axis for axis, _, _ in view.dims]
    return block.transpose(order) if sorted(order) == list(range(block.ndim)) else block


def _with_axes(block: np.ndarray, ndim: int) -> np.ndarray:
    """Return a block with leading axes of length 1, up to ``ndim`` axes."""
    return block.reshape((1,) * (ndim - block.ndim) + block.shape)


_LEADER_FAILED = "the rank that computes for this one failed"
#: Errors that say that a command cannot run because of an earlier one.
DEPENDENT = (Lost, PeerFailed)
