"""Indexing by arrays, on one rank: elements are asked for where they lie, or sent there.

Messages go between those that have flat indices and those that may hold what these name, which
follows from specs. What is in them depends on the indices; one without elements has one byte, as
empty ones tell of failures.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.table import ELEMENTWISE
from distnb.plans.gather_scatter import (
    IndexedView,
    checked,
    unravel,
    wanted_dtype,
)
from distnb.wire.protocol import Collective

__all__ = ["Along", "Check", "Gather", "Nonzero", "Scatter"]

_POSITIONS, _ROWS = 0, 1


class _Blocks(SingleEngine):
    def _blocks(self) -> list[Any]:
        """Return the blocks of the result and of the operands."""
        return [x.block for x in (self.out, *self.ins)]


class Check(_Blocks):
    """Check positions along an axis: ``args`` are those of ``checked`` in the plans."""

    def work(self) -> None:
        """Fill the positions."""
        found, index = self._blocks()
        found[...] = checked(index, *self.args)


class Nonzero(_Blocks):
    """Find where a mask is true: C-order positions; the output is as long as there are of these."""

    def work(self) -> None:
        """Fill the positions."""
        found, mask = self._blocks()
        found[...] = np.flatnonzero(mask) + self._first()

    def _first(self) -> int:
        """Return the position of the first element of this rank; axes before it have length 1."""
        base = self.ins[0]
        layout = base.layout
        split = next((d for d in range(len(layout.dims)) if layout.parts(d) > 1), None)
        coords = base.layout.grid.coords(self.rank)
        if split is None or coords is None:
            return 0
        c, p = coords[base.layout.dims[split]], base.layout.parts(split)
        low = base.layout.axes[split].bounds(base.shape[split], p, c)[0]
        return low * prod(base.shape[split + 1 :])


class Along(_Blocks):
    """Take along an axis that is not split: ``args`` is the axis; others are aligned."""

    def work(self) -> None:
        """Take from the first operand at the positions that the second holds."""
        (axis,) = self.args
        found, x, index = self._blocks()
        found[...] = np.take_along_axis(x, checked(index, x.shape[axis], axis), axis)


class _Lot(NamedTuple):
    """Flat indices in the order of the ranks that hold what they name."""

    order: Any
    positions: np.ndarray
    #: rank -> which of the positions
    parts: dict[int, slice]


class _GatherScatter:
    """What both have in common: who has flat indices, and who may hold what they name."""

    def __init__(self, command: Collective, store: BaseTable, copies: bool) -> None:
        self.command = command
        self.rank = rank = store.rank
        x, flat = command.ins[:2]
        self.x, self.flat = store.bases[x.base], store.bases[flat.base]
        self.indexed = indexed = IndexedView(store.placed(x), command.args[0], copies)
        self.dtype = wanted_dtype(self.x.shape)
        self.inner = indexed.inner(rank)
        self.holders = indexed.holders(rank) if self._has_indices(rank) else []
        grid = self.flat.layout.grid
        self.owners = [
            r for r in grid.ranks() if self._has_indices(r) and indexed.is_holder(rank, r)
        ]

    def _has_indices(self, rank: int) -> bool:
        local = self.flat.layout.local_shape(self.flat.shape, rank)
        return local is not None and 0 not in local and 0 not in self.indexed.inner(rank)

    def _others(self, ranks: list[int]) -> list[int]:
        return [r for r in ranks if r != self.rank]

    def _messages(self, ranks: list[int], *tags: int) -> list[Key]:
        return [(r, tag) for r in self._others(ranks) for tag in tags]

    def _lot(self) -> _Lot:
        """Sort this rank's indices by holder; stably, for of equal ones the last is to win."""
        if not self.holders or self.flat.block is None:
            return _Lot(slice(None), np.empty(0, np.int64), {})
        ranks, at = self.indexed.find(self.flat.block.reshape(-1), self.rank)
        order: Any = slice(None)
        if (ranks[1:] < ranks[:-1]).any():
            order = np.argsort(ranks.astype(np.min_scalar_type(int(ranks.max()))), kind="stable")
            ranks = ranks[order]
        first = np.array([self.indexed.first_copy(r) for r in self.holders])
        cuts = np.searchsorted(ranks, [first, first + 1]).T.tolist()
        parts = {r: slice(*c) for r, c in zip(self.holders, cuts, strict=True)}
        return _Lot(order, at[order], parts)

    def _send_positions(self, lot: _Lot, exchange: Exchange) -> None:
        for r in self._others(self.holders):
            part = lot.positions[lot.parts[r]].astype(self.dtype)
            exchange.send(r, _POSITIONS, _message(part))

    def _window(self) -> np.ndarray:
        """Return what this rank holds."""
        block, shape = self.x.block, self.indexed.outer(self.rank) + self.inner
        if block is None or 0 in shape:
            return np.empty(shape, self.x.dtype)
        return self.indexed.window(block, self.rank)

    def _index(self, positions: np.ndarray) -> tuple[np.ndarray, ...]:
        return unravel(positions, self.indexed.outer(self.rank))

    def _asked(self, peer: int, exchange: Exchange) -> np.ndarray:
        """Take in the positions that a rank sends."""
        found = exchange.take(peer, _POSITIONS)
        if found.size == 1:
            return np.empty(0, np.int64)
        return found.view(self.dtype).astype(np.int64)


class Gather(_GatherScatter):
    """Gather elements of a view: ``args`` is the number of axes that are indexed.

    Those that have indices send positions to the holders, which answer with what is there.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store, copies=False)
        self.out = store.bases[command.outs[0].base]

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: positions, and answers."""
        return self._messages(self.holders, _POSITIONS) + self._messages(self.owners, _ROWS)

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return self._messages(self.owners, _POSITIONS) + self._messages(self.holders, _ROWS)

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Ask, answer, and put the answers in their places."""
        before = clock.switch(COMPUTE)
        lot, held = self._lot(), self._window()
        self._send_positions(lot, exchange)
        target = self._target(len(lot.positions))
        sorted_already = isinstance(lot.order, slice)
        rows = target if sorted_already else np.empty_like(target)
        if self.rank in lot.parts:
            mine = lot.parts[self.rank]
            rows[mine] = held[self._index(lot.positions[mine])]
        for r in self._others(self.owners):
            asked = self._asked(r, exchange)
            exchange.send(r, _ROWS, _message(held[self._index(asked)]))
        for r in self._others(self.holders):
            exchange.receive(r, _ROWS, _receiving(rows[lot.parts[r]]))
        if not sorted_already:
            target[lot.order] = rows
        clock.switch(before)

    def _target(self, n: int) -> np.ndarray:
        """Return the part of the result here, with an entry for each of ``n`` indices."""
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
    """Assign to elements of a view, or combine with them: ``args`` are (k, op, value).

    Those that have indices send positions and values to all holders. A holder works through them in
    their order, so that of equal ones the last one wins. ``op`` is a ufunc, or None to
    assign; ``value`` a scalar as (dtype, value), or None if there is a third operand, or if ``op``
    takes none.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store, copies=True)
        _, op, scalar = command.args
        self.at = None if op is None else ELEMENTWISE[op].run.at  # type: ignore[attr-defined]
        self.scalar = None if scalar is None else np.asarray(scalar[1], scalar[0])
        self.values = store.bases[command.ins[2].base] if len(command.ins) > 2 else None
        self.tags = (_POSITIONS,) if self.values is None else (_POSITIONS, _ROWS)

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: positions, and values."""
        return self._messages(self.holders, *self.tags)

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return self._messages(self.owners, *self.tags)

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Send, and write what comes, in the order of the indices."""
        before = clock.switch(COMPUTE)
        lot, held = self._lot(), self._window()
        rows = self._rows(lot)
        self._send_positions(lot, exchange)
        if rows is not None:
            for r in self._others(self.holders):
                exchange.send(r, _ROWS, _message(rows[lot.parts[r]]))
        for r in self.owners:
            if r == self.rank:
                mine = lot.parts[r]
                self._write(held, lot.positions[mine], None if rows is None else rows[mine])
            else:
                positions = self._asked(r, exchange)
                self._write(held, positions, self._values_from(r, len(positions), exchange))
        clock.switch(before)

    def _rows(self, lot: _Lot) -> np.ndarray | None:
        """Return this rank's values in the order of the lot; they do not change while x does."""
        values, n = self.values, len(lot.positions)
        if values is None:
            return None
        if not n or values.block is None:
            return np.empty((0, *self.inner), values.dtype)
        rows = values.block.reshape(n, *self.inner)[lot.order]
        return rows.copy() if values is self.x else rows

    def _values_from(self, peer: int, n: int, exchange: Exchange) -> np.ndarray | None:
        if self.values is None:
            return None
        rows = np.empty((n, *self.inner), self.values.dtype)
        exchange.receive(peer, _ROWS, _receiving(rows))
        return rows

    def _write(self, held: np.ndarray, positions: np.ndarray, rows: np.ndarray | None) -> None:
        if not positions.size:
            return
        index, value = self._index(positions), self.scalar if rows is None else rows
        if self.at is None:
            held[index] = value
        elif value is None:
            self.at(held, index)
        else:
            self.at(held, index, value)
