"""Indexing by arrays, on one rank: elements are asked for where they lie, or sent there.

Messages go between those that have flat indices and those that may hold what these name, which
follows from specs. What is in them depends on the indices; one without elements has one byte, as
empty ones tell of failures.

Ranks of a node need not ask: who has indices reads what they name in the holder's memory, and who
holds what is to be written reads indices and values in place. Both go through the indices in
stretches that stay in the cache, and choose those of each holder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from distnb.engines.collectives.indexed_blocks import Chosen, Reach, Window
from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.peer_blocks import PeerBlocks
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.table import ELEMENTWISE
from distnb.plans.gather_scatter import (
    IndexedView,
    checked,
    wanted_dtype,
)
from distnb.wire.protocol import Collective

__all__ = ["Along", "Check", "Gather", "Scatter"]

_POSITIONS, _ROWS, _PLACES = 0, 1, 2
#: Elements that indices of one stretch name: with their positions they stay in the cache.
_STRETCH = 1 << 15
#: Holders for which each looks for its own among the indices; more of them sort these.
_FEW = 8
#: A block is read in place if it has at most so many times the bytes that are asked for: the first
#: time it is copied.
_WORTH = 16


class _Blocks(SingleEngine):
    def _blocks(self) -> list[Any]:
        """Return the blocks of the result and of the operands."""
        return [x.block for x in (self.out, *self.ins)]


class Check(_Blocks):
    """Check positions along an axis: ``args`` are those of ``checked`` in the plans.

    Without an output nothing is left of it: positions are found again when they are used.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        outs = command.outs or command.ins
        super().__init__(command._replace(outs=outs), store)
        self.keeps = bool(command.outs)

    def work(self) -> None:
        """Fill the positions."""
        found, index = (block.reshape(-1) for block in self._blocks())
        for i in range(0, index.size, _STRETCH):
            good = checked(index[i : i + _STRETCH], *self.args)
            if self.keeps:
                found[i : i + _STRETCH] = good


class Along(_Blocks):
    """Take along an axis that is not split: ``args`` is the axis; others are aligned."""

    def work(self) -> None:
        """Take from the first operand at the positions that the second holds."""
        (axis,) = self.args
        found, x, index = self._blocks()
        found[...] = np.take_along_axis(x, checked(index, x.shape[axis], axis), axis)


class _GatherScatter:
    """What both have in common: who has flat indices, and who may hold what they name.

    The last of ``args`` says how indices are to be checked (see ``checked`` in the plans); None if
    they are flat indices for sure.
    """

    def __init__(self, command: Collective, store: BaseTable, copies: bool) -> None:
        self.command, self.store = command, store
        self.rank = rank = store.rank
        x, flat = command.ins[:2]
        self.x, self.flat = store.bases[x.base], store.bases[flat.base]
        self.rule = command.args[-1]
        self.indexed = indexed = IndexedView(store.placed(x), command.args[0], copies)
        self.dtype = wanted_dtype(self.x.shape)
        #: How many flat indices there may be, and which of them each rank has.
        self.total = prod(indexed.placed.view.shape[: indexed.k])
        self._spans: dict[int, tuple[int, int] | None] = {}
        self.inner = indexed.inner(rank)
        self.holders = indexed.holders(rank) if self._count(rank) else []
        grid = self.flat.layout.grid
        self.owners = [r for r in grid.ranks() if self._count(r) and indexed.is_holder(rank, r)]

    def _count(self, rank: int) -> int:
        """Return how many indices a rank has that name something."""
        local = self.flat.layout.local_shape(self.flat.shape, rank)
        return 0 if local is None or 0 in self.indexed.inner(rank) else prod(local)

    def _away(self, ranks: Sequence[int], near: Sequence[int]) -> list[int]:
        """Return those that messages go to, or come from."""
        return [r for r in ranks if r != self.rank and r not in near]

    def _together(self, owner: int, holder: int) -> bool:
        """Tell whether both are ranks of this node."""
        node = self.store.memory.node
        return node is not None and owner != holder and {owner, holder} <= node.ranks

    def _nbytes(self, base: LocalBase, rank: int) -> int:
        return prod(base.layout.local_shape(base.shape, rank) or (0,)) * base.dtype.itemsize

    def _indices(self) -> np.ndarray:
        """Return this rank's indices."""
        block = self.flat.block
        return np.empty(0, np.int64) if block is None or not self.holders else block.reshape(-1)

    def _stretches(self, indices: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Go through indices: which of them, and the flat indices that they are."""
        step = max(1, _STRETCH // max(1, prod(self.inner)))
        for i in range(0, indices.size, step):
            some = indices[i : i + step]
            yield (
                slice(i, i + len(some)),
                some.astype(np.int64, copy=False)
                if self.rule is None
                else checked(some, *self.rule),
            )

    def _parts(
        self, flat: np.ndarray, owner: int, holders: Sequence[int]
    ) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Enumerate holders: which of a rank's flat indices name what each has, and where there."""
        spans = [self._span(r) for r in holders]
        if len(holders) > _FEW or None in spans:
            yield from self._found(flat, owner, holders)
            return
        for r, (low, high) in zip(holders, cast(list[tuple[int, int]], spans), strict=True):
            if high - low == self.total:
                yield r, slice(None), flat
                continue
            at = flat - low
            # As a number without a sign, what is below is far above.
            which = (at.view(np.uint64) < high - low).nonzero()[0]
            yield r, which, at.take(which, mode="clip")

    def _span(self, rank: int) -> tuple[int, int] | None:
        if rank not in self._spans:
            self._spans[rank] = self.indexed.span(rank)
        return self._spans[rank]

    def _found(
        self, flat: np.ndarray, owner: int, holders: Sequence[int]
    ) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Do the same where nobody has all from one index to another, or there are many."""
        ranks, at = self.indexed.find(flat, owner)
        first = {r: self.indexed.first_copy(r) for r in holders}
        if len(first) <= _FEW:
            for r, low in first.items():
                which = (ranks == low).nonzero()[0]
                yield r, which, at.take(which, mode="clip")
            return
        small = ranks.astype(np.min_scalar_type(int(ranks.max())))
        order = small.argsort(kind="stable")  # so each holder's indices stay in order
        lows = list(first.values())
        cuts = np.searchsorted(small, [lows, [low + 1 for low in lows]], sorter=order).T
        for r, (i, j) in zip(first, cuts.tolist(), strict=True):
            yield r, order[i:j], at.take(order[i:j], mode="clip")

    def _window(self, block: np.ndarray | None, rank: int) -> Window:
        """Return what a rank holds."""
        shape, k = self.indexed.outer(rank) + self.inner, self.command.args[0]
        if block is None or 0 in shape:
            return Window(np.empty(shape, self.x.dtype), k)
        return Window(self.indexed.window(block, rank), k)

    def _asked(self, peer: int, exchange: Exchange) -> np.ndarray:
        """Take in the positions that a rank sends."""
        found = exchange.take(peer, _POSITIONS)
        if found.size == 1:
            return np.empty(0, np.int64)
        return found.view(self.dtype).astype(np.int64)


def _chosen(values: np.ndarray, which: Any) -> np.ndarray:
    """Return some rows, or all of them."""
    return values if isinstance(which, slice) else values.take(which, 0, mode="clip")


class Gather(_GatherScatter):
    """Gather elements of a view: ``args`` are the number of axes that are indexed, and how.

    Those that have indices read what they name, or send positions to the holders, which answer with
    what is there.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store, copies=False)
        self.out = store.bases[command.outs[0].base]
        near = [r for r in self.holders if self._is_near(self.rank, r)]
        readers = {r: self._wanted(r) for r in self.owners if self._is_near(r, self.rank)}
        self.peers = PeerBlocks(store, [self.x], readers, near, _PLACES)
        self.asks, self.asked = self._away(self.holders, near), self._away(self.owners, [*readers])

    def _wanted(self, owner: int) -> int:
        """Return the bytes of what a rank gathers."""
        return self._count(owner) * prod(self.indexed.inner(owner)) * self.x.dtype.itemsize

    def _is_near(self, owner: int, holder: int) -> bool:
        """Tell whether one reads in place what the other holds; both find the same."""
        node, wanted, held = (
            self.store.memory.node,
            self._wanted(owner),
            self._nbytes(self.x, holder),
        )
        if node is None or not self._together(owner, holder):
            return False
        return 0 < held <= _WORTH * wanted and wanted >= node.least

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: positions, and answers."""
        found = [(r, _POSITIONS) for r in self.asks] + [(r, _ROWS) for r in self.asked]
        return found + self.peers.owed

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        found = [(r, _POSITIONS) for r in self.asked] + [(r, _ROWS) for r in self.asks]
        return found + self.peers.expected

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Read and ask, answer, and put the answers in their places."""
        before = clock.switch(COMPUTE)
        self.peers.offer(exchange)
        windows = {r: self._window(b, r) for r, (b,) in self.peers.open(exchange).items()}
        windows[self.rank] = held = self._window(self.x.block, self.rank)
        target = self._target()
        chosen = self._take(windows, target)
        self.peers.end_reads(exchange)
        for r in self.asks:
            exchange.send(r, _POSITIONS, _message(chosen[r].positions(self.dtype)))
        for r in self.asked:
            exchange.send(r, _ROWS, _message(held.take(self._asked(r, exchange))))
        for r in self.asks:
            which = chosen[r].which
            rows = np.empty((len(which), *self.inner), self.x.dtype)
            exchange.receive(r, _ROWS, _receiving(rows))
            target[which] = rows
        self.peers.close(exchange)
        clock.switch(before)

    def _take(self, windows: dict[int, Window], target: np.ndarray) -> dict[int, Chosen]:
        """Take what can be read; return what others are to be asked for."""
        chosen = {r: Chosen() for r in self.asks}
        reach = self._reach(windows)
        for stretch, flat in self._stretches(self._indices()):
            out = target[stretch]
            if reach is not None:
                reach.take(flat, out)
                continue
            for r, which, positions in self._parts(flat, self.rank, self.holders):
                if r in chosen:
                    chosen[r].add(stretch, which, positions)
                else:
                    out[which] = windows[r].take(positions)
        return chosen

    def _reach(self, windows: dict[int, Window]) -> Reach | None:
        """Return all that this rank's indices may name as one array, if that can be."""
        spans = {r: self._span(r) for r in self.holders}
        if self.asks or self.inner or not 1 < len(spans) <= _FEW or None in spans.values():
            return None
        order = sorted(self.holders, key=lambda r: cast(tuple[int, int], spans[r]))
        blocks = [windows[r].rows for r in order]
        if any(block is None for block in blocks):
            return None
        lows = [cast(tuple[int, int], spans[r])[0] for r in order]
        reach = Reach(cast(list[np.ndarray], blocks), lows)
        return reach if reach.even else None

    def _target(self) -> np.ndarray:
        """Return the part of the result here, with an entry for each index."""
        n = self._indices().size
        if not n or self.out.block is None:
            return np.empty((0, *self.inner), self.x.dtype)
        return self.out.block.reshape(n, *self.inner)


def _message(data: np.ndarray) -> np.ndarray:
    """Return what is sent for some elements; for none, a byte."""
    return np.ascontiguousarray(data) if data.size else np.zeros(1, np.uint8)


def _receiving(into: np.ndarray) -> np.ndarray:
    """Return where a message is received."""
    return into if into.size else np.zeros(1, np.uint8)


class Scatter(_GatherScatter):
    """Assign to elements of a view, or combine with them: ``args`` are (k, op, value, rule).

    Those that have indices send positions and values to all holders, or let them read both. A
    holder works through them in their order, so that of equal ones the last one wins. ``op`` is a
    ufunc, or None to assign; ``value`` a scalar as (dtype, value), or None if there is a third
    operand, or if ``op`` takes none.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store, copies=True)
        _, op, scalar, _ = command.args
        self.at = None if op is None else ELEMENTWISE[op].run.at  # type: ignore[attr-defined]
        self.scalar = None if scalar is None else np.asarray(scalar[1], scalar[0])
        self.values = store.bases[command.ins[2].base] if len(command.ins) > 2 else None
        self.tags = (_POSITIONS,) if self.values is None else (_POSITIONS, _ROWS)
        near = [r for r in self.owners if self._is_near(r, self.rank)]
        readers = {r: self._brought(r) for r in self.holders if self._is_near(self.rank, r)}
        self.peers = PeerBlocks(store, self._read(), readers, near, _PLACES)
        self.sends = self._away(self.holders, [*readers])
        self.takes = self._away(self.owners, near)

    def _read(self) -> list[LocalBase]:
        return [self.flat] if self.values is None else [self.flat, self.values]

    def _brought(self, owner: int) -> int:
        """Return the bytes of a rank's indices and values."""
        return sum(self._nbytes(base, owner) for base in self._read())

    def _is_near(self, owner: int, holder: int) -> bool:
        """Tell whether one reads in place what the other brings; both find the same.

        Not what is written meanwhile.
        """
        node, own = self.store.memory.node, any(base is self.x for base in self._read())
        if node is None or own or not self._together(owner, holder):
            return False
        return len(node.ranks) <= _FEW and self._brought(owner) >= node.least

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: positions, and values."""
        return [(r, tag) for r in self.sends for tag in self.tags] + self.peers.owed

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return [(r, tag) for r in self.takes for tag in self.tags] + self.peers.expected

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Send, and write what comes, in the order of the indices."""
        before = clock.switch(COMPUTE)
        self.peers.offer(exchange)
        self._send(exchange)
        held, blocks = self._window(self.x.block, self.rank), self.peers.open(exchange)
        if self.rank in self.owners:
            blocks[self.rank] = self._own()
        for r in self.owners:
            if r in self.takes:
                positions = self._asked(r, exchange)
                self._write(held, positions, self._values_from(r, len(positions), exchange))
            else:
                self._write_all(held, r, *blocks[r])
        self.peers.end_reads(exchange)
        self.peers.close(exchange)
        clock.switch(before)

    def _own(self) -> list[np.ndarray]:
        """Return this rank's indices and values, as they are before anything is written."""
        blocks = [cast(np.ndarray, base.block) for base in self._read()]
        pairs = zip(self._read(), blocks, strict=True)
        return [block.copy() if base is self.x else block for base, block in pairs]

    def _send(self, exchange: Exchange) -> None:
        """Send positions and values to those that cannot read them."""
        if not self.sends:
            return
        chosen = {r: Chosen() for r in self.sends}
        for stretch, flat in self._stretches(self._indices()):
            for r, which, positions in self._parts(flat, self.rank, self.sends):
                chosen[r].add(stretch, which, positions)
        rows = None if self.values is None else self._rows(self.values.block)
        for r in self.sends:
            exchange.send(r, _POSITIONS, _message(chosen[r].positions(self.dtype)))
            if rows is not None:
                exchange.send(r, _ROWS, _message(rows.take(chosen[r].which, 0, mode="clip")))

    def _rows(self, values: np.ndarray | None) -> np.ndarray | None:
        """Return values with an entry for each index."""
        return None if values is None else values.reshape(-1, *self.inner)

    def _values_from(self, peer: int, n: int, exchange: Exchange) -> np.ndarray | None:
        if self.values is None:
            return None
        rows = np.empty((n, *self.inner), self.values.dtype)
        exchange.receive(peer, _ROWS, _receiving(rows))
        return rows

    def _write_all(
        self, held: Window, owner: int, flat: np.ndarray, values: np.ndarray | None = None
    ) -> None:
        """Write what of a rank's indices name something here."""
        rows = self._rows(values)
        for stretch, indices in self._stretches(flat.reshape(-1)):
            for _, which, positions in self._parts(indices, owner, [self.rank]):
                some = None if rows is None else _chosen(rows[stretch], which)
                self._write(held, positions, some)

    def _write(self, held: Window, positions: np.ndarray, rows: np.ndarray | None) -> None:
        if not positions.size:
            return
        index, value = held.index(positions), self.scalar if rows is None else rows
        if self.at is None:
            given: Any = value
            real = held.held.dtype.kind in "iuf" and np.iscomplexobj(given)
            held.held[index] = given.real if real else given  # the notebook has warned
        elif value is None:
            self.at(held.held, index)
        else:
            self.at(held.held, index, value)
