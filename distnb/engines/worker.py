"""Runs batches on one rank: every command in order, and one agreement at the end.

A failure never stops the others: the command that fails completes its communication without data,
what depends on it fails without running, and at the end of the batch all ranks learn of all
failures, so that all agree on which bases are lost.
"""

from __future__ import annotations

import threading
import traceback
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from distnb.config import config
from distnb.engines.comm import Comm
from distnb.engines.compiler import Compiler, available
from distnb.engines.exchange import Exchange, wait_until
from distnb.engines.executor import DEPENDENT, Executor
from distnb.engines.fusion import Group, schedule
from distnb.engines.local import LocalArray
from distnb.engines.reductions import Tree
from distnb.engines.shared import Node
from distnb.engines.store import Base, Store
from distnb.events import IDLE, OVERHEAD, Clock
from distnb.interrupts import held, interruptible
from distnb.protocol import (
    Apply,
    Batch,
    Bind,
    Clocks,
    Collective,
    Command,
    Create,
    Describe,
    Failure,
    Fetch,
    Free,
    Local,
    Operand,
    Reduce,
    Reply,
    decode,
    written,
)

__all__ = ["Worker"]

#: Distance between the command numbers of two batches: a prime, so that tags repeat late.
_STRIDE = 1021


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
    """

    def __init__(
        self, comm: Comm, user: dict[str, Any], pool_bytes: int, node: Node | None = None
    ) -> None:
        self.comm = comm
        self.clock = Clock()
        self.store = Store(comm.rank, pool_bytes, node)
        self.executor = Executor(self.store, comm, self.clock)
        self.executor.user = user
        watch = self.executor.watch
        watch.warned = self._on_warning
        watch.compiler = Compiler() if config.jit and available() else None
        self.epoch = 0
        #: Batches in this epoch: all ranks count alike, whatever happened before.
        self.batches = 0
        self.bound: dict[str, LocalArray] = {}
        self._warned: list[tuple[int, str]] = []
        #: Whether all is lost that an interrupted batch writes, also what was done before: where
        #: each rank has a client of its own (SPMD), all must come to the same conclusion.
        self.together = False
        self._gave_up = False
        self._last: _Run | None = None
        self._next: Comm | None = None
        self._abandoned: list[Comm] = []

    def run(self, message: bytes, buffers: list[np.ndarray]) -> Reply:
        """Run a batch and return this rank's reply; raises only if the message is no batch."""
        with held(forget=True):
            self.clock.switch(OVERHEAD)
            batch: Batch = decode(message)
            run = _Run(self, batch, buffers)
            self._last = run if self.together else None
            try:
                interruptible(lambda: self._run(run))
            except KeyboardInterrupt:
                self._gave_up = True
                run.abort()
            finally:
                self.clock.switch(IDLE)
            return run.reply()

    def _run(self, run: _Run) -> None:
        if run.commands:  # deletions need nobody, and under SPMD they may come on one rank only
            if run.batch.epoch != self.epoch:
                self._start_epoch(run.batch.epoch)
            elif self._gave_up:  # other ranks will not take part in what is left of the epoch
                raise KeyboardInterrupt
            self.batches += 1
        with (
            _quiet_casts(),
            np.errstate(divide="call", over="call", invalid="call", call=self._on_warning),
        ):
            run.all()

    def give_up(self) -> None:
        """Give up the batch that was just run, because another rank did."""
        self._gave_up = True
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
        if self.executor.watch.compiler is not None:
            self.executor.watch.compiler.close()
        self.comm.free()

    def bind(self, names: Iterable[tuple[str, Operand]]) -> None:
        """Put arrays into the user namespace under their names, and take the last ones out."""
        user = self.executor.user
        for name, array in self.bound.items():
            if user.get(name) is array:
                del user[name]
        self.bound = {
            name: LocalArray(name, self.store, operand, self.comm) for name, operand in names
        }
        user.update(self.bound)

    def warnings(self) -> list[tuple[int, str]]:
        """Return the floating point warnings since the last call, with the step of the group."""
        found, self._warned = self._warned, []
        return list(dict.fromkeys(found))

    def _on_warning(self, kind: str, flag: int) -> None:
        self._warned.append((self.executor.watch.step, kind))

    def _start_epoch(self, epoch: int) -> None:
        """Take a communicator that no message of an abandoned command can reach.

        The old one is kept: messages may be pending on it, and MPI may still touch their buffers.
        If the wait for the other ranks is interrupted, the next batch goes on with it.
        """
        if self._next is None:
            self._next = self.comm.fresh()
        wait_until(self._next.ready)
        self.store.settle()
        self._abandoned.append(self.comm)
        self.comm = self.executor.comm = self._next
        self._next = None
        self.epoch, self.batches, self._gave_up = epoch, 0, False


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

    def __init__(self, worker: Worker, batch: Batch, buffers: list[np.ndarray]) -> None:
        self.worker = worker
        self.batch = batch
        self.buffers = buffers
        self.failures: list[Failure] = []
        self.failed: set[int] = set()
        self.lost: tuple[int, ...] = ()
        self.warnings: list[tuple[int, str]] = []
        self.values: dict[int, Any] = {}
        # Deletions are not numbered: under SPMD they may come at other places on other ranks.
        self.commands = tuple(c for c in batch.commands if not isinstance(c, Free))
        numbered = (i for i, c in enumerate(batch.commands) if not isinstance(c, Free))
        #: position in the batch -> number of the command
        self.index = {position: k for k, position in enumerate(numbered)}
        #: (rows that share the time, the clock's totals) after each command or group
        self.marks: list[tuple[Sequence[int], Any]] = [((), worker.clock.mark())]
        self.aborted = False
        self.agreed = False
        #: positions that are done, whatever came of it
        self.done: set[int] = set()

    def all(self) -> None:
        """Run all commands, then agree with the other ranks on what failed."""
        store = self.worker.store
        specs = ChainMap({}, store.bases)
        plan = schedule(self.batch.commands, specs, bool(self.batch.fuse))
        for item in plan.items:
            if isinstance(item, Group):
                self._group(item, plan.dead)
                self.done.update(item.positions)
                self._book([self.index[p] for p in item.all_positions])
                continue
            command = self.batch.commands[item]
            if isinstance(command, Free):
                store.free(command.bases)
            else:
                self._one(self.index[item], command, plan.dead | plan.reduced)
            self.done.add(item)
            self._book([self.index.get(item, -1)])
        # What only reads leaves nothing to agree on, but under SPMD each rank has a client to tell.
        # Deletions cannot fail, and under SPMD other ranks may have none now.
        if any(map(written, self.commands)) or (self.worker.together and self.commands):
            self._agree()

    def _group(self, group: Group, dead: set[int]) -> None:
        rows = [self.index[p] for p in group.all_positions]
        executor, store = self.worker.executor, self.worker.store
        errors = executor.group(self._number(rows[0]), group, dead)
        for k, (row, command) in enumerate(zip(rows, group.commands, strict=False)):
            if k in errors:
                self._failed(row, command, errors[k])
            else:
                for handle in written(command):
                    store.bases[handle].lost = False
        self.warnings += [(rows[k], kind) for k, kind in self.worker.warnings()]

    def _number(self, index: int) -> int:
        """Return a number for a command that all ranks agree on, whatever happened before."""
        return self.worker.batches * _STRIDE + index

    def _book(self, rows: Sequence[int]) -> None:
        """Book the time since the last call; -1 is the row for everything that is no command."""
        self.marks.append((rows, self.worker.clock.mark()))

    def times(self) -> np.ndarray:
        """Return a row of ``events.CommandTime`` for each command, and one for everything else.

        The commands of a group share its time in equal parts.
        """
        self._book([-1])
        spent = np.diff(np.array([mark for _, mark in self.marks]), axis=0)
        found = np.zeros((len(self.commands) + 1, 6), np.int64)
        for (rows, _), total in zip(self.marks[1:], spent, strict=True):
            found[list(rows)] += total // len(rows)
            found[rows[-1]] += total % len(rows)
        return found

    def _one(self, index: int, command: Command, dead: set[int]) -> None:
        worker = self.worker
        try:
            if isinstance(command, Bind):
                worker.bind(command.names)
            elif isinstance(command, Clocks):
                self.values[command.slot] = worker.clock.read()
            elif isinstance(command, Describe):
                self.values[command.slot] = self._describe(command)
            else:
                virtual = isinstance(command, Create) and command.base in dead
                number = self._number(index)
                value = worker.executor.run(number, command, self.buffers, virtual)
                if isinstance(command, Fetch):
                    self.values[command.slot] = value
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            worker.clock.switch(OVERHEAD)
            self._failed(index, command, error)
        self.warnings += [(index, kind) for _, kind in worker.warnings()]

    def _describe(self, command: Describe) -> tuple[Any, ...]:
        found = self.worker.executor.user.get(command.name)
        if not isinstance(found, np.ndarray):
            return (None, type(found).__name__)
        return (found.shape, found.dtype.str)

    def _failed(self, index: int, command: Command, error: BaseException) -> None:
        """Note that a command failed; only what was not known before is told to the client."""
        if not isinstance(error, DEPENDENT):
            self.failures.append(_failure(index, command, self.worker, error))
        self.failed.add(index)
        for handle in written(command):
            if handle in self.worker.store.bases:
                self.worker.store.bases[handle].lost = True

    def _agree(self) -> None:
        """Tell everyone which commands failed anywhere; mark what they write as lost everywhere."""
        bits = np.zeros(len(self.commands) + 1, np.uint8)
        bits[list(self.failed)] = 1
        failed = np.flatnonzero(_union(self.worker, self._number(len(self.commands)), bits))
        self.worker.store.settle()
        self.agreed = bool(failed.size)
        self._lose(failed.tolist())

    def abort(self) -> None:
        """Give up: what this and later commands write is lost on this rank, and so everywhere.

        Bases come to be and go all the same, so that all ranks have the same ones.
        """
        self.aborted = True
        self.worker.comm.abort()
        store = self.worker.store
        for position, command in enumerate(self.batch.commands):
            if position in self.done:
                continue
            if isinstance(command, Free):
                store.free(command.bases)
            elif isinstance(command, Create) and command.base not in store.bases:
                dtype = np.dtype(command.dtype)
                store.bases[command.base] = Base(
                    command.shape, dtype, command.layout, None, lost=True
                )
        done = set() if self.worker.together else {self.index.get(p) for p in self.done}
        self._lose(self.failed.union(k for k in range(len(self.commands)) if k not in done))

    def _lose(self, failed: Iterable[int]) -> None:
        """Mark what follows from failed commands."""
        self.lost = tuple(sorted(_dependents(self.commands, failed)))
        for handle in self.lost:
            base = self.worker.store.bases.get(handle)
            if base is not None:
                base.lost = True

    def reply(self) -> Reply:
        """Return what the client gets to hear."""
        return Reply(
            self.worker.comm.rank,
            tuple(self.failures),
            self.lost,
            tuple(self.warnings),
            self.values,
            self.times(),
            self.aborted,
            self.agreed,
        )


def _read(command: Command) -> set[int]:
    """Return the bases that a command reads (or writes in part)."""
    if isinstance(command, Apply):
        found = {x.base for x in command.ins if isinstance(x, Operand)}
        found |= {o.base for o in command.outs}
        return found | ({command.where.base} if command.where else set())
    if isinstance(command, Local):
        return {x.base for x in (command.out, *command.ins)}
    if isinstance(command, Collective):
        return {x.base for x in command.ins}
    if isinstance(command, Reduce | Fetch):
        return {command.operand.base}
    return set()


def _dependents(commands: tuple[Command, ...], failed: Iterable[int]) -> set[int]:
    """Return the bases that failed commands write, and all that follow from them, in order."""
    bad = set(failed)
    lost: set[int] = set()
    for i, command in enumerate(commands):
        if i in bad or _read(command) & lost:
            lost.update(written(command))
    return lost


def _union(worker: Worker, number: int, bits: np.ndarray) -> np.ndarray:
    """Return the union of all ranks' bits, on every rank: up a binomial tree and down again."""
    comm = worker.comm
    if comm.size == 1:
        return bits
    tree = Tree(list(range(comm.size)), comm.rank)
    exchange = Exchange(comm, worker.clock, number, [], [])
    other = np.empty_like(bits)
    for child in tree.children:
        exchange.receive(child, 0, other)
        np.bitwise_or(bits, other, out=bits)
    if tree.parent is not None:
        exchange.send(tree.parent, 0, bits)
        bits = other
        exchange.receive(tree.parent, 1, bits)
    for child in tree.children:
        exchange.send(child, 1, bits)
    exchange.finish()
    return bits


def _failure(index: int, command: Command, worker: Worker, error: BaseException) -> Failure:
    """Describe an exception so that the client can raise it again."""
    handles = sorted(_read(command) | set(written(command)))
    bases = [worker.store.bases[h] for h in handles if h in worker.store.bases]
    rank = worker.comm.rank
    shapes = tuple(
        None
        if worker.store.held(b) == 0 and b.block is None
        else b.layout.local_shape(b.shape, rank)
        for b in bases
    )
    trace = _text(lambda: "".join(traceback.format_exception(error)))
    kinds = tuple(cls.__name__ for cls in type(error).__mro__)
    return Failure(index, worker.comm.rank, kinds, _text(lambda: str(error)), trace, shapes)


def _text(make: Callable[[], str]) -> str:
    """Return a text that code of the user's may have a part in."""
    try:
        return make()
    except Exception as error:
        return f"(no text: {type(error).__name__})"
