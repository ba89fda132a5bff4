"""Runs batches on one rank: every command in order, and one agreement at the end.

A failure never stops the others: the command that fails completes its communication without data,
what depends on it fails without running, and at the end of the batch all ranks learn of all
failures, so that all agree on which bases are lost.
"""

from __future__ import annotations

import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from distnb.common.config import config
from distnb.common.errors import EngineError
from distnb.common.interrupts import deferred_interrupts, interruptible
from distnb.common.shared_segments import Card
from distnb.engines.fusion.compiler import Compiler, available
from distnb.engines.fusion.elementwise import Task
from distnb.engines.fusion.groups import Specs
from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.exchange import wait_until
from distnb.engines.runtime.memory import Memory
from distnb.engines.runtime.node import Node
from distnb.engines.runtime.store import BatchScope, LocalBase, Store
from distnb.engines.runtime.user_functions import Function
from distnb.engines.worker.agreement import union
from distnb.engines.worker.executor import DEPENDENT, Executor
from distnb.engines.worker.local import LocalArray
from distnb.engines.worker.plan_cache import PlanCache, PreparedBatch
from distnb.engines.worker.postings import Item
from distnb.engines.worker.same_program import DIGITS, SameProgram, differ, digits
from distnb.engines.worker.steps import Step
from distnb.engines.worker.survey import survey
from distnb.geometry.layout import Ints
from distnb.measure.events import IDLE, OVERHEAD, Clock
from distnb.measure.records import AGREE, END, Log
from distnb.wire.channel import Arrays
from distnb.wire.encoding import unpack
from distnb.wire.exceptions import packed
from distnb.wire.messages import Failure, Packed, Reply
from distnb.wire.progress import BATCH
from distnb.wire.protocol import (
    Ask,
    Bind,
    Command,
    Create,
    Fetch,
    Free,
    Lay,
    Operand,
    bases_of,
)

__all__ = ["Worker"]

#: Distance between the command numbers of two batches: a prime, so that tags repeat late.
_STRIDE = 1021
#: The number of a deletion: none.
_DELETION = (-1,)


class Worker:
    """One rank of a session.

    Parameters
    ----------
    comm : Comm
        The session's own communicator; the worker frees it.
    user : dict
        The engine's user namespace, in which ``%px`` runs.
    pool_bytes : int
        Freed memory to keep for reuse.
    node : Node, optional
        The ranks of the node that share memory.
    users : Comm, optional
        What code of the user's gets to communicate on; the worker frees it.
    """

    def __init__(
        self,
        comm: Comm,
        user: dict[str, Any],
        pool_bytes: int,
        node: Node | None = None,
        users: Comm | None = None,
    ) -> None:
        self.comm = comm
        self.users = users or comm
        self.clock = Clock()
        self.store = Store(comm.rank, Memory(pool_bytes, node))
        self.executor = Executor(self.store, comm, self.clock)
        self.executor.user = user
        self.executor.warned = self._on_warning
        self.executor.compiler = Compiler() if config.jit and available() else None
        self.plans = PlanCache()
        self.epoch = 0
        #: Batches in this epoch: all ranks count alike, whatever happened before.
        self.batches = 0
        self.bound: dict[str, LocalArray] = {}
        #: Floating point warnings that were not taken, with the step of the group.
        self.warned: list[tuple[int, str]] = []
        #: Where each rank has a client of its own (SPMD). Then all is lost that an interrupted
        #: batch writes, also what was done before: all must come to the same conclusion.
        self.together: SameProgram | None = None
        self._gave_up = False
        #: The last batch that the client wants given up, with all before it.
        self.stopped = 0
        #: For who looks on (``server.self_report``): what runs, and the last batch that began.
        self.now: _Run | None = None
        self.latest = 0
        self._last: _Run | None = None
        #: The epoch in which batches run, -1 if none do because a rank gave up.
        self._entered = 0
        #: How many communicators were made since the first one; each epoch has one.
        self._generation = 0
        self._abandoned: list[Comm] = []

    def run(self, message: bytes, buffers: Arrays) -> Reply:
        """Run a batch and return this rank's reply.

        What is no failure of a command is raised, and makes the other ranks give up.
        """
        with deferred_interrupts(forget=True):
            log = Log(self.clock)
            try:
                if self.store.memory.node is not None:
                    self.store.memory.node.spread()
                batch = unpack(message)
                run = self.now = _Run(self, batch, buffers, log)
                self.latest = batch.number
                # once this rank has left out something, what it notes would say too much
                begun = self.store.memory.begun
                if begun is not None and not (self._gave_up and batch.epoch == self.epoch):
                    run.begun, run.note = begun, batch.number << BATCH
                    begun[self.comm.rank] = run.note
                self._last = run if self.together else None
                if self.together and run.commands:
                    run.digest = run.normalised.digest_with(batch.values)
                    self.together.enter(batch.epoch, run.digest, run.normalised.telling(run.given))
                # deletions need nobody, and under SPMD they may come on one rank only
                if run.commands and (batch.epoch != self._entered or batch.number <= self.stopped):
                    self._enter(batch)
                interruptible(lambda: self._run(run))
                if self.together and run.commands:
                    self.together.leave()
            except KeyboardInterrupt:
                self.give_up_if_apart()
                self._leave_out()
                run.abort()
            except BaseException as error:  # no failure of a command's; others may wait for it
                self._leave_out()
                self.comm.abort(str(error) if isinstance(error, EngineError) else "")
                raise
            finally:
                self.store.memory.pool.collect()
                log.begin(END, 0, IDLE)
                self.now = None
            reply = run.reply()
            if (ended := self.store.memory.ended) is not None and ended[self.comm.rank] >= 0:
                ended[self.comm.rank] = -1 if reply.failed or reply.aborted else batch.number
            return reply

    def give_up_if_apart(self) -> None:
        """Raise EngineError on a rank that has given up because ranks do not do the same."""
        if self.together is None:
            return
        error = self.together.error or (EngineError(self.comm.why) if self.comm.why else None)
        if error is not None:
            self._leave_out()
            self.comm.abort(str(error))
            raise error from None

    def _leave_out(self) -> None:
        """Note that this rank does nothing more of this epoch."""
        self._gave_up, self._entered = True, -1

    def _enter(self, batch: Packed) -> None:
        """Take part in a batch's epoch, if nobody gave up what it has."""
        if batch.epoch != self.epoch:
            self.epoch, self.batches, self._gave_up = batch.epoch, 0, False
            self.clock.filed = (0, 0, 0)  # what was given up; commands have the same numbers again
        elif self._gave_up:  # other ranks will not take part in what is left of the epoch
            raise KeyboardInterrupt
        if self.together:  # Ctrl-C comes to each rank, and nothing else tells it
            interruptible(self._enter_epoch)
        else:
            self._enter_epoch()
        self.check_stop()
        self._entered = self.epoch

    def _run(self, run: _Run) -> None:
        self.batches += bool(run.commands)
        with np.errstate(all="call", call=self._on_warning):
            run.all()

    def stop(self, number: int) -> None:
        """Give up all batches up to this one, also those still to come; any thread may ask."""
        self.stopped = max(self.stopped, number)

    @property
    def stopping(self) -> bool:
        """Whether the batch that runs is to be given up."""
        run = self.now
        return run is not None and run.batch.number <= self.stopped

    def check_stop(self) -> None:
        """Raise KeyboardInterrupt if the batch that runs is to be given up."""
        if self.stopping:
            raise KeyboardInterrupt

    def give_up(self) -> None:
        """Give up the batch that was just run, because another rank did."""
        self._leave_out()
        if self._last is not None:
            self._last.abort()

    def reply(self) -> Reply:
        """Return the reply to the last batch."""
        assert self._last is not None
        return self._last.reply()

    def close(self) -> None:
        """Drop all bases and give the communicator back."""
        self.bind(())
        self.store.clear()
        if self.executor.compiler is not None:
            self.executor.compiler.close()
        if self.together is not None:
            self.together.end()
        self.comm.free()
        if self.users is not self.comm:
            self.users.free()

    def bind(self, names: Iterable[tuple[str, Operand]], sealed: Iterable[str] = ()) -> None:
        """Put arrays into the user namespace under their names, and take the last ones out.

        Where the user has something else under a name by now, it stays, as long as the notebook's
        array of that name is the same.
        """
        user, before = self.executor.user, self.bound
        theirs = {name for name, array in before.items() if user.get(name) is not array}
        for name in before.keys() - theirs:
            del user[name]
        self.bound = {
            name: LocalArray(name, self.store, operand, self.users, name in sealed)
            for name, operand in names
        }
        for name, array in self.bound.items():
            if name not in theirs or not array.is_same(before[name]):
                user[name] = array

    def local(self, operand: Operand) -> LocalArray:
        """Return this rank's part of an array, for a client of the same process."""
        return LocalArray("array", self.store, operand, self.comm)

    def define(self, number: int, text: bytes) -> None:
        """Keep a function of the user's, for later batches that name its number."""
        self.store.functions[number] = Function(text)

    def warnings(self) -> list[tuple[int, str]]:
        """Take the floating point warnings since the last call."""
        found, self.warned = self.warned, []
        return list(dict.fromkeys(found))

    def _on_warning(self, kind: str, flag: int) -> None:
        self.warned.append((self.executor.step, kind))

    def _enter_epoch(self) -> None:
        """Take the epoch's communicator, which no message of an abandoned command can reach.

        Old ones are kept: messages may be pending on them, and MPI may still touch their buffers.
        All ranks make one for each epoch, whatever they saw of it, or they would take part in
        different ones. The wait for the others ends only if the client wants the batch given up,
        which it tells all ranks: one that left for another reason would let the others wait.
        """
        while self._generation < self.epoch:
            wait_until(self.comm.ready, self.check_stop)
            self._abandoned.append(self.comm)
            self.comm = self.executor.comm = self.comm.fresh()
            self._generation += 1
        wait_until(self.comm.ready, self.check_stop)
        self.store.memory.settle()


@contextmanager
def _quiet_casts() -> Iterator[None]:
    """Drop NumPy's warning that a cast drops imaginary parts: nobody reads it on an engine.

    Not where engines are threads, for the filters belong to the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


class _Run:
    """One batch on one rank."""

    def __init__(self, worker: Worker, batch: Packed, buffers: Arrays, log: Log) -> None:
        self.worker = worker
        self.log = log
        self.batch = batch
        self.buffers = buffers
        self.failures: list[Failure] = []
        self.failed: set[int] = set()
        self.lost: tuple[int, ...] = ()
        self.warnings: list[tuple[int, str]] = []
        self.values: dict[int, Any] = {}
        #: slots of values that are the clock's account, when all of the batch is booked
        self.clocks: list[int] = []
        self.normalised = worker.plans.batch(batch.normalised)
        self.commands, self.digest = self.normalised.numbered, 0  # which SPMD compares
        self.clock, self.executor, self.given = worker.clock, worker.executor, batch.values
        self.scope = BatchScope(worker.store, batch.handles)
        #: What is known of bases that are never stored.
        self.specs: Specs = {}
        #: Added to the number of a command it is one that all ranks agree on, whatever happened.
        self.first = 0
        #: The bases that are not stored when they are created.
        self.dead: set[int] = set()
        self.aborted = False
        #: whether all ranks know that some rank failed, and that some rank warns
        self.agreed = self.warned = False
        #: positions that are done, whatever came of it
        self.done: set[int] = set()
        #: Where to note how far this rank is, and that it has begun.
        self.begun: memoryview[int] | None = None
        self.note = 0
        #: What it consists of, once that is known.
        self.items: list[Item] | None = None

    def all(self) -> None:
        """Run all commands, then agree with the other ranks on what failed."""
        plan = self.normalised.prepared(self.scope, bool(self.batch.fuse), not self.worker.together)
        self.specs = plan.specs
        self.worker.executor.enter(self.scope, plan.specs)
        if plan.complex:
            with _quiet_casts():
                self._items(plan)
        else:
            self._items(plan)
        # What only reads leaves nothing to agree on, but under SPMD each rank has a client to tell.
        # Deletions cannot fail, and under SPMD other ranks may have none now.
        if self.normalised.writes or (self.worker.together and self.commands):
            self.log.begin(AGREE)
            if self.worker.comm.size > 1 or self.failed:
                self._agree()

    def _items(self, plan: PreparedBatch) -> None:
        """Run commands and groups."""
        items, marks, worker = plan.items, plan.item_marks, self.worker
        begun, rank, note = self.begun, worker.comm.rank, self.note
        self.dead, self.first = plan.dead, self.worker.batches * _STRIDE
        if self.worker.executor.fault is None:  # then what is never stored cannot fail
            items, marks = plan.quick, plan.quick_marks
            self.done.update(plan.virtual)
        self.items = items
        for (item, rows, elements), mark in zip(items, marks, strict=False):
            if worker.stopped:
                worker.check_stop()
            if begun is not None:
                begun[rank] = note + mark
            if rows != _DELETION:  # the time of deletions goes to what runs before
                self.log.begin(rows, elements)
            if isinstance(item, Task):
                self._group(item, rows)
            else:
                self._one(rows[0], item)
            self.done.update(item.positions)
        if begun is not None:
            begun[rank] = note + marks[-1]

    def _doubt(self) -> None:
        """Note that this batch is not to be taken for done as far as it was begun."""
        if (failed := self.worker.store.memory.failed) is not None:
            failed[self.worker.comm.rank] = self.batch.number

    def _group(self, task: Task, rows: Ints) -> None:
        errors = self.worker.executor.group(self.first + rows[0], task, self.given)
        bases = self.scope.bases
        if not errors:
            for base in task.written:
                bases[base].lost = False
        else:
            for k, (row, command) in enumerate(zip(rows, task.commands, strict=False)):
                if k in errors:
                    self._failed(row, command, errors[k])
                    continue
                for base in command.writes:
                    if base in bases:
                        bases[base].lost = False
        if self.worker.warned:
            self._doubt()
            self.warnings += [(rows[k], kind) for k, kind in self.worker.warnings()]

    def _one(self, index: int, step: Step) -> None:
        try:
            step.run(self, index)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.clock.switch(OVERHEAD)
            self._failed(index, step.command, error)
        if self.worker.warned:
            self._doubt()
            self.warnings += [(index, kind) for _, kind in self.worker.warnings()]

    def command(self, index: int, command: Command) -> None:
        """Run a command that is no group's."""
        worker = self.worker
        if isinstance(command, Bind):
            worker.bind(*command.renumbered(self.batch.handles))
        elif isinstance(command, Ask) and command.what == "clocks":
            self.clocks.append(command.slot)
        elif isinstance(command, Ask):
            self.values[command.slot] = _ABOUT[command.what](worker, *command.args)
        else:
            virtual = isinstance(command, Create) and command.base in self.dead
            number = self.first + index
            value = worker.executor.run(number, command, self.buffers, virtual)
            if isinstance(command, Fetch | Lay):
                self.values[command.slot] = value

    def _failed(self, index: int, command: Command, error: BaseException) -> None:
        """Note that a command failed; only what was not known before is told to the client."""
        self._doubt()
        if not isinstance(error, DEPENDENT):
            specs = self.specs | self.scope.bases
            self.failures.append(_failure(index, command, self.scope, specs, error))
        self.failed.add(index)
        for handle in command.writes:
            if handle in self.scope.bases:
                self.scope.bases[handle].lost = True

    def _agree(self) -> None:
        """Tell everyone which commands failed anywhere; mark what they write as lost everywhere.

        And whether anybody warns, for warnings may be errors.
        """
        failed: Iterable[int] = self.failed
        if self.worker.comm.size > 1:
            n, together = len(self.commands), self.worker.together
            bits = np.zeros(n + 1 + (DIGITS if together else 0), np.uint8)
            bits[list(self.failed)] = 1
            bits[n] = bool(self.warnings)
            if together:
                bits[n + 1 :] = digits(self.digest)
            union(self.worker.comm, self.clock, self.first + n, bits, alike=not together)
            if together and differ(bits[n + 1 :].copy()):
                together.disagree()
            failed = np.flatnonzero(bits[:n]).tolist() if bits[:n].any() else ()
            self.warned = bool(bits[n])
        self.worker.store.memory.settle()
        self.agreed = bool(failed)
        if failed:
            self._lose(failed)

    def abort(self) -> None:
        """Give up: what this and later commands write is lost on this rank, and so everywhere.

        Bases come to be and go all the same, so that all ranks have the same ones.
        """
        self.aborted = True
        self.worker.comm.abort()
        scope = self.scope
        for position, command in enumerate(self.normalised.commands):
            if position in self.done:
                continue
            if isinstance(command, Free):
                scope.free(command.bases)
            elif isinstance(command, Create) and command.base not in scope.bases:
                dtype = np.dtype(command.dtype)
                base = LocalBase(command.shape, dtype, command.layout, None, lost=True)
                scope.put(command.base, base)
        done = set() if self.worker.together else {self.normalised.index.get(p) for p in self.done}
        self._lose(self.failed.union(k for k in range(len(self.commands)) if k not in done))

    def _lose(self, failed: Iterable[int]) -> None:
        """Mark what follows from failed commands."""
        lost = _dependents(self.commands, failed)
        for number in lost:
            base = self.scope.bases.get(number)
            if base is not None:
                base.lost = True
        self.lost = tuple(sorted([self.batch.handles[n] for n in lost]))

    def reply(self) -> Reply:
        """Return what the client gets to hear."""
        times, compiler = self.log.times(), self.executor.compiler
        young = compiler is not None and compiler.tells_young()
        if self.clocks:
            self.values |= dict.fromkeys(self.clocks, self.worker.clock.read())
        return Reply(
            self.worker.comm.rank,
            tuple(self.failures),
            self.lost,
            tuple(self.warnings),
            self.values,
            times,
            self.aborted,
            self.agreed,
            self.warned,
            young,
        )


def _dependents(commands: tuple[Command, ...], failed: Iterable[int]) -> set[int]:
    """Return the bases that failed commands write, and all that follow from them, in order."""
    bad = set(failed)
    lost: set[int] = set()
    for i, command in enumerate(commands):
        if i in bad or bases_of(command) & lost:
            lost.update(command.writes)
    return lost


def _failure(
    index: int, command: Command, scope: BatchScope, specs: Mapping[int, Any], error: BaseException
) -> Failure:
    """Describe an exception so that the client can raise it again."""
    numbers = sorted(bases_of(command))
    bases = [specs[n] for n in numbers if n in specs]
    rank = scope.rank
    shapes = tuple(
        None
        if scope.elements(b) == 0 and getattr(b, "block", None) is None
        else b.layout.local_shape(b.shape, rank)
        for b in bases
    )
    trace = _text(lambda: "".join(traceback.format_exception(error)))
    kinds = tuple(cls.__name__ for cls in type(error).__mro__)
    return Failure(index, rank, kinds, _text(lambda: str(error)), trace, shapes, packed(error))


def _text(make: Callable[[], str]) -> str:
    """Return a text that code of the user's may have a part in."""
    try:
        return make()
    except Exception as error:
        return f"(no text: {type(error).__name__})"


def _describe(worker: Worker, name: str) -> tuple[Any, ...]:
    """Return the shape and dtype of a variable of the user namespace, or (None, its type)."""
    found = worker.executor.user.get(name)
    if not isinstance(found, np.ndarray):
        return (None, type(found).__name__)
    return (found.shape, found.dtype.str)


#: What engines are asked about themselves -> what answers it; the clock is read when all is booked.
_ABOUT: dict[str, Callable[..., Any]] = {
    "describe": _describe,
    "busy": lambda worker, *handles: worker.store.looked_at(handles),
    "looked": lambda worker, *places: worker.store.memory.looked_at(places),
    "share": lambda worker, *card: worker.store.memory.attach(Card(*card)),
    "survey": lambda worker: survey(worker.store),
}
