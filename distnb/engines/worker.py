"""Runs batches on one rank: every command in order, and one agreement at the end.

A failure never stops the others: the command that fails completes its communication without data,
what depends on it fails without running, and at the end of the batch all ranks learn of all
failures, so that all agree on which bases are lost.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any

import numpy as np

from distnb.engines.comm import Comm
from distnb.engines.exchange import Exchange
from distnb.engines.executor import DEPENDENT, Executor
from distnb.engines.local import LocalArray
from distnb.engines.reductions import Tree
from distnb.engines.store import Store
from distnb.events import IDLE, OVERHEAD, Clock
from distnb.protocol import (
    Apply,
    Batch,
    Bind,
    Clocks,
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
    """

    def __init__(self, comm: Comm, user: dict[str, Any], pool_bytes: int) -> None:
        self.comm = comm
        self.clock = Clock()
        self.store = Store(comm.rank, pool_bytes)
        self.executor = Executor(self.store, comm, self.clock)
        self.executor.user = user
        self.epoch = 0
        self.bound: dict[str, LocalArray] = {}
        self._warned: list[str] = []

    def run(self, message: bytes, buffers: list[np.ndarray]) -> Reply:
        """Run a batch and return this rank's reply; raises only if the message is no batch."""
        self.clock.switch(OVERHEAD)
        batch: Batch = decode(message)
        if batch.epoch != self.epoch:
            self._start_epoch(batch.epoch)
        run = _Run(self, batch, buffers)
        try:
            with np.errstate(divide="call", over="call", invalid="call", call=self._on_warning):
                run.all()
        except KeyboardInterrupt:
            run.abort()
        finally:
            self.clock.switch(IDLE)
        return run.reply()

    def close(self) -> None:
        """Drop all bases and give the communicator back."""
        self.bind(())
        self.store.clear()
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

    def warnings(self) -> list[str]:
        """Return the floating point warnings since the last call."""
        found, self._warned = self._warned, []
        return list(dict.fromkeys(found))

    def _on_warning(self, kind: str, flag: int) -> None:
        self._warned.append(kind)

    def _start_epoch(self, epoch: int) -> None:
        """Take a communicator that no message of an abandoned command can reach.

        The old one is not freed: requests may be pending on it.
        """
        self.comm = self.executor.comm = self.comm.fresh()
        self.epoch = epoch


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
        #: (row, the clock's totals) after each command; the last row is for everything else
        self.marks = [(-1, worker.clock.mark())]
        self.aborted = False
        self.at = 0

    def all(self) -> None:
        """Run all commands, then agree with the other ranks on what failed."""
        for command in self.batch.commands:
            if isinstance(command, Free):
                self.worker.store.free(command.bases)
                self._book(-1)
                continue
            self._one(self.at, command)
            self._book(self.at)
            self.at += 1
        self._agree()

    def _number(self, index: int) -> int:
        """Return a number for a command that all ranks agree on, whatever happened before."""
        return self.batch.number * _STRIDE + index

    def _book(self, row: int) -> None:
        self.marks.append((row, self.worker.clock.mark()))

    def times(self) -> np.ndarray:
        """Return a row of ``events.CommandTime`` for each command, and one for everything else."""
        self._book(-1)
        rows = np.array([row for row, _ in self.marks[1:]])
        spent = np.diff(np.array([mark for _, mark in self.marks]), axis=0)
        found = np.zeros((len(self.commands) + 1, 6), np.int64)
        np.add.at(found, rows, spent)
        return found

    def _one(self, index: int, command: Command) -> None:
        worker = self.worker
        try:
            if isinstance(command, Bind):
                worker.bind(command.names)
            elif isinstance(command, Clocks):
                self.values[command.slot] = worker.clock.read()
            elif isinstance(command, Describe):
                self.values[command.slot] = self._describe(command)
            else:
                value = worker.executor.run(self._number(index), command, self.buffers)
                if isinstance(command, Fetch):
                    self.values[command.slot] = value
        except DEPENDENT:
            self._fail(index, command)
        except Exception as error:
            worker.clock.switch(OVERHEAD)
            self.failures.append(_failure(index, command, worker, error))
            self._fail(index, command)
        self.warnings += [(index, w) for w in worker.warnings()]

    def _describe(self, command: Describe) -> tuple[Any, ...]:
        found = self.worker.executor.user.get(command.name)
        if not isinstance(found, np.ndarray):
            return (None, type(found).__name__)
        return (found.shape, found.dtype.str)

    def _fail(self, index: int, command: Command) -> None:
        self.failed.add(index)
        for handle in _written(command):
            if handle in self.worker.store.bases:
                self.worker.store.bases[handle].lost = True

    def _agree(self) -> None:
        """Tell everyone which commands failed anywhere; mark what they write as lost everywhere."""
        bits = np.zeros(len(self.commands) + 1, np.uint8)
        bits[list(self.failed)] = 1
        failed = np.flatnonzero(_union(self.worker, self._number(self.at), bits))
        if not failed.size:
            return
        lost = _dependents(self.commands, failed.tolist())
        for handle in lost:
            base = self.worker.store.bases.get(handle)
            if base is not None:
                base.lost = True
        self.lost = tuple(sorted(lost))

    def abort(self) -> None:
        """Give up: what this and later commands write is lost on this rank, and so everywhere."""
        self.aborted = True
        rest = range(self.at, len(self.commands))
        self.lost = tuple(sorted(_dependents(self.commands, rest)))
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
        )


def _written(command: Command) -> tuple[int, ...]:
    """Return the bases that a command writes."""
    if isinstance(command, Apply):
        return tuple(o.base for o in command.outs)
    if isinstance(command, Create):
        return (command.base,)
    if isinstance(command, Local):
        return (command.out.base,)
    return (command.out,) if isinstance(command, Reduce) else ()


def _read(command: Command) -> set[int]:
    """Return the bases that a command reads (or writes in part)."""
    if isinstance(command, Apply):
        found = {x.base for x in command.ins if isinstance(x, Operand)}
        found |= {o.base for o in command.outs}
        return found | ({command.where.base} if command.where else set())
    if isinstance(command, Local):
        return {x.base for x in (command.out, *command.ins)}
    if isinstance(command, Reduce | Fetch):
        return {command.operand.base}
    return set()


def _dependents(commands: tuple[Command, ...], failed: Iterable[int]) -> set[int]:
    """Return the bases that failed commands write, and all that follow from them, in order."""
    bad = set(failed)
    lost: set[int] = set()
    for i, command in enumerate(commands):
        if i in bad or _read(command) & lost:
            lost.update(_written(command))
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


def _failure(index: int, command: Command, worker: Worker, error: Exception) -> Failure:
    """Describe an exception so that the client can raise it again."""
    handles = sorted(_read(command) | set(_written(command)))
    bases = [worker.store.bases[h] for h in handles if h in worker.store.bases]
    shapes = tuple(None if b.block is None else b.block.shape for b in bases)
    trace = "".join(traceback.format_exception(error))
    kinds = tuple(cls.__name__ for cls in type(error).__mro__)
    return Failure(index, worker.comm.rank, kinds, str(error), trace, shapes)
