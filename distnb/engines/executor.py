"""Runs one command on one rank: plan, post all messages, compute what is ready, then the rest.

Where an output overlaps an input of another view of the same base, results go to a temporary
first, so that every element is computed from the values before the command, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distnb import ops
from distnb.engines import creation, reductions
from distnb.engines.comm import Comm
from distnb.engines.exchange import Exchange, PeerFailed
from distnb.engines.store import Base, Lost, Store, window
from distnb.events import COMPUTE, TRANSFER, Clock
from distnb.protocol import Apply, Command, Create, Fetch, Local, Operand, Reduce, Typed
from distnb.transfer import LOCAL, Message, Piece, Plan, Ref, plan_apply, plan_parts

__all__ = ["Executor"]


class Executor:
    """Carries out commands against a store, over a communicator, on a clock.

    ``fault`` is called with each command before it runs; tests set it to make a rank fail.
    """

    def __init__(self, store: Store, comm: Comm, clock: Clock) -> None:
        self.store = store
        self.comm = comm
        self.clock = clock
        self.fault: Callable[[Command], None] | None = None
        self.user: dict[str, Any] = {}

    def run(self, number: int, command: Command, buffers: list[np.ndarray]) -> Any:
        """Run a command that computes; return its value if it is a Fetch."""
        if isinstance(command, Apply):
            return self._apply(number, command)
        if isinstance(command, Create):
            return self._create(command, buffers)
        if isinstance(command, Reduce):
            return self._reduce(number, command)
        if isinstance(command, Local):
            return self._local(command)
        if isinstance(command, Fetch):
            return self._fetch(command)
        raise TypeError(f"command: got {type(command).__name__}, expected one that computes")

    def _check(self, command: Command) -> None:
        if self.fault is not None:
            self.fault(command)

    def _create(self, command: Create, buffers: list[np.ndarray]) -> None:
        dtype = np.dtype(command.dtype)
        self.store.free((command.base,))  # one that was lost is made again under its handle
        if command.how[0] == "data":
            base = self.store.bases[command.base] = Base(
                command.shape, dtype, command.layout, None, None, lost=True
            )
            self._check(command)
            base.block = creation.adopt(buffers, command.how[1], command, self.store.rank)
        else:
            base = self.store.add(command.base, command.shape, dtype, command.layout)
            self._check(command)
            before = self.clock.switch(COMPUTE)
            creation.fill(base, command.how, self.store.rank, self.user)
            self.clock.switch(before)
        base.lost = False

    def _fetch(self, command: Fetch) -> np.ndarray | None:
        base = self.store.get(command.operand.base)
        self._check(command)
        part = plan_parts(self.store.rank, self.store.placed(command.operand))
        if part is None or base.block is None:
            return None
        before = self.clock.switch(TRANSFER)
        out = np.empty(part.shape, base.dtype)
        for chunk in part.chunks:
            _at(out, chunk.shape, chunk.message)[...] = _at(base.block, chunk.shape, chunk.memory)
        self.clock.switch(before)
        return out

    def _local(self, command: Local) -> None:
        blocks = [self.store.get(x.base).block for x in command.ins]
        target = self.store.get(command.out.base)
        self._check(command)
        if target.block is None or target.block.size == 0:
            return
        before = self.clock.switch(COMPUTE)
        lead = [_with_axes(b, target.block.ndim) for b in blocks if b is not None]
        ops.LOCALS[command.op](*lead, out=target.block)
        self.clock.switch(before)

    def _reduce(self, number: int, command: Reduce) -> None:
        placed = self.store.placed(command.operand)
        work = reductions.Work(command, placed, self.store.rank)
        # All ranks that would talk hold a copy of the result: where that is empty, nobody talks.
        silent = self.store.held(self.store.bases[command.out]) == 0
        owed, expected = ([], []) if silent else (work.owed, work.expected)
        self._with_messages(number, command, owed, expected, lambda x: self._reducing(x, work))

    def _reducing(self, exchange: Exchange, work: reductions.Work) -> None:
        base = self.store.get(work.command.operand.base)
        out = self.store.get(work.command.out)
        self._check(work.command)
        reductions.run(work, base.block, out.block, exchange, self.clock)
        out.lost = False

    def _apply(self, number: int, command: Apply) -> None:
        views = [x for x in command.ins if isinstance(x, Operand)]
        if command.where is not None:
            views.append(command.where)
        out = self.store.placed(command.outs[0])
        plan = plan_apply(self.store.rank, out, tuple(self.store.placed(v) for v in views))
        owed = [(m.peer, m.operand) for m in plan.sends]
        expected = [(m.peer, m.operand) for m in plan.receives]
        self._with_messages(
            number, command, owed, expected, lambda x: self._applying(x, command, plan, views)
        )

    def _with_messages(
        self,
        number: int,
        command: Command,
        owed: list[tuple[int, int]],
        expected: list[tuple[int, int]],
        work: Callable[[Exchange], None],
    ) -> None:
        """Run ``work``; if it fails, complete the command's communication without data."""
        exchange = Exchange(self.comm, self.clock, number, owed, expected)
        try:
            work(exchange)
            exchange.finish()
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever it is, the others must not wait
            exchange.fail()
            raise

    def _applying(
        self, exchange: Exchange, command: Apply, plan: Plan, views: list[Operand]
    ) -> None:
        targets = [self.store.bases[o.base] for o in command.outs]
        for handle in {v.base for v in views}:
            self.store.get(handle)
        for target, operand in zip(targets, command.outs, strict=True):
            if target.lost:
                whole = command.where is None and operand.view.is_whole(target.shape)
                if not whole or (target.block is None and self.store.held(target)):
                    raise Lost(f"array {operand.base}")
        self._check(command)
        blocks = [self.store.bases[v.base].block for v in views]
        for message in plan.sends:
            exchange.send(message.peer, message.operand, self._pack(message, blocks))
        outs = [self._target(o, t, views) for o, t in zip(command.outs, targets, strict=True)]
        kernel = _Kernel(command)
        self._pieces(exchange, plan, blocks, views, [o[0] for o in outs], kernel)
        for (block, memory), target in zip(outs, targets, strict=True):
            if block is not target.block:
                self._copy_back(plan, block, target.block)
                del block
                self.store.release(memory)
            target.lost = False

    def _target(
        self, operand: Operand, target: Base, views: list[Operand]
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the block to compute into: the output's own, or a temporary if inputs overlap."""
        clash = any(v.base == operand.base and v.view != operand.view for v in views)
        if clash and target.block is not None:
            return self.store.allocate(target.block.shape, target.dtype)
        return target.block, None

    def _pack(self, message: Message, blocks: list[Any]) -> np.ndarray:
        before = self.clock.switch(TRANSFER)
        block = blocks[message.operand]
        packed = np.empty(message.shape, block.dtype)
        for chunk in message.chunks:
            _at(packed, chunk.shape, chunk.message)[...] = _at(block, chunk.shape, chunk.memory)
        self.clock.switch(before)
        return packed

    def _pieces(
        self,
        exchange: Exchange,
        plan: Plan,
        blocks: list[Any],
        views: list[Operand],
        outs: list[Any],
        kernel: _Kernel,
    ) -> None:
        """Run the ready pieces while messages fly, then each other one when its data is here."""
        dtypes = [self.store.bases[v.base].dtype for v in views]
        buffers = [np.empty(m.shape, dtypes[m.operand]) for m in plan.receives]
        before = self.clock.switch(COMPUTE)
        for piece in plan.pieces[: plan.ready]:
            kernel(piece, outs, blocks, buffers)
        self.clock.switch(before)
        late = [(p, _sources(p)) for p in plan.pieces[plan.ready :]]
        missing = set(range(len(buffers)))
        wanted = {k: (m.peer, m.operand, buffers[k]) for k, m in enumerate(plan.receives)}
        for key in exchange.arrivals(wanted):
            missing.discard(key)
            before = self.clock.switch(COMPUTE)
            for piece, sources in late:
                if not sources & missing:
                    kernel(piece, outs, blocks, buffers)
            late = [(p, s) for p, s in late if s & missing]
            self.clock.switch(before)

    def _copy_back(self, plan: Plan, source: Any, target: Any) -> None:
        before = self.clock.switch(COMPUTE)
        for piece in plan.pieces:
            ref = piece.refs[0]
            _at(target, piece.shape, ref)[...] = _at(source, piece.shape, ref)
        self.clock.switch(before)


class _Kernel:
    """Applies a command's operation to one piece."""

    def __init__(self, command: Apply) -> None:
        row = ops.ELEMENTWISE[command.op]
        self.run = row.run
        self.options = dict(command.options)
        self.masked = command.where is not None
        self.scalars = [_scalar(x) for x in command.ins]

    def __call__(
        self, piece: Piece, outs: list[Any], blocks: list[Any], received: list[Any]
    ) -> None:
        windows = iter(
            [
                _at(blocks[j] if r.source == LOCAL else received[r.source], piece.shape, r)
                for j, r in enumerate(piece.refs[1:])
            ]
        )
        ins = [next(windows) if x is _ARRAY else x for x in self.scalars]
        into = tuple(_at(block, piece.shape, piece.refs[0]) for block in outs)
        if self.masked:
            self.run(*ins, out=into, where=next(windows), **self.options)
        else:
            self.run(*ins, out=into, **self.options)


def _with_axes(block: np.ndarray, ndim: int) -> np.ndarray:
    """Return a block with leading axes of length 1, up to ``ndim`` axes."""
    return block.reshape((1,) * (ndim - block.ndim) + block.shape)


_ARRAY = object()


def _scalar(x: Any) -> Any:
    """Return what NumPy is to get for an input that is no array."""
    if isinstance(x, Operand):
        return _ARRAY
    return np.dtype(x.dtype).type(x.value) if isinstance(x, Typed) else x


def _sources(piece: Piece) -> set[int]:
    return {r.source for r in piece.refs if r.source != LOCAL}


def _at(block: np.ndarray, shape: tuple[int, ...], ref: Ref) -> np.ndarray:
    return window(block, shape, ref.offset, ref.strides)


#: Errors that say that a command cannot run because of an earlier one.
DEPENDENT = (Lost, PeerFailed)
