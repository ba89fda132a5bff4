"""Sorting along an axis that is split: exact splitters, one exchange, a merge.

Each engine sorts its part. Then the engines along the axis find, for each border between two of
them, how many of each engine's elements belong below it: of all elements exactly as many as lie
below the border in the layout (:mod:`distnb.engines.collectives.splitters`). So the result lies as
the layout says, whatever the elements are; equal ones count in the order of engines and positions,
which also makes the sort stable. Then each element goes to its engine in one message for each pair,
and the sorted runs are merged.

Other arrays can travel with the keys: positions, for instance, which makes it an argsort. And the
result can be a stretch of the sorted elements only, in a base of its own.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from distnb.engines.collectives.splitters import Splitters, line_of
from distnb.engines.runtime.exchange import TAGS_PER_COMMAND, Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.orders import stable_order, taken
from distnb.wire.protocol import Collective

__all__ = ["Sort", "message", "room"]

#: The tag of the elements; the first ones are of the splitters.
_ELEMENTS = TAGS_PER_COMMAND - 1


class Sort:
    """Sort whole bases along one axis by the first of them, on one rank.

    ``command.ins`` are the keys and what travels with them, all in one layout. The outputs are the
    same bases, or others on the same grid that take, of each sorted 1-D slice, as many elements as
    they are long; if they are fewer, the last ones. ``command.args`` are the axis, NumPy's ``kind``
    (None or ``'stable'``), and the first position that is taken. A split axis must lie in blocks,
    one for each engine. With more arguments, positions, an axis that is not split is partitioned
    around these.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.axis, self.kind, self.start, *self.places = command.args
        self.sources = [store.bases[x.base] for x in command.ins]
        self.outs = [store.bases[x.base] for x in command.outs]
        #: How many of the first inputs are in no output.
        self.dropped = len(self.sources) - len(self.outs)
        self.line = line_of(self.sources[0], (self.axis,), store.rank)
        self._leave_out()
        self.n = int(self.line.held.sum())
        self.splitters = Splitters(self.line, self.n)
        self.others = [r for r in self.line.members if r != store.rank]
        if self.others:
            self.cuts = self.start + _cuts(self.outs[0], self.axis)
            self.inner = (self.cuts > 0) & (self.cuts < self.n)
            if not self.inner.any():
                self.splitters.rounds = 0  # no border is searched for

    def _leave_out(self) -> None:
        """Let each rank keep only as many of its smallest, or largest, as the result may take."""
        n, length = int(self.line.held.sum()), self.outs[0].shape[self.axis]
        self.last = self.start > n - self.start - length
        self.reach = n - self.start if self.last else self.start + length
        self.line = self.line._replace(held=np.minimum(self.line.held, self.reach))
        if self.last:
            self.start += int(self.line.held.sum()) - n

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: those of the splitters, and elements to all others."""
        return self.splitters.messages() + [(r, _ELEMENTS) for r in self.others]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in: an answer to each, under the same tag."""
        return self.owed

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Sort the rank's part, exchange, and merge."""
        if self.sources[0].block is None:
            return
        before = clock.switch(COMPUTE)
        in_place = len(self.sources) == 1 and self.outs[0] is self.sources[0]
        if in_place:
            self._sort_there()
        if self.others:
            rows = _rows(self.sources[0].block, self.axis) if in_place else self._sorted()
            clock.switch(before)
            taken = self._borders(rows, exchange, clock)
            merged = self._trade(rows, taken, exchange)
            exchange.finish()  # what is sent may lie in the block
            clock.switch(COMPUTE)
            self._deliver(_merge(merged))
        elif not in_place:
            self._reorder()
        clock.switch(before)

    def _sort_there(self) -> None:
        """Sort the rank's part of the keys, which are all, where the result will be."""
        block: Any = self.sources[0].block
        if self.places:
            block.partition(self.places, axis=self.axis)
        else:
            block.sort(axis=self.axis, kind=self.kind)

    def _reorder(self) -> None:
        """Put whole 1-D slices, which this rank has to itself, into their order."""
        order = self._order()[:, self.start : self.start + self.outs[0].shape[self.axis]]
        for source, out in zip(self.sources[self.dropped :], self.outs, strict=True):
            if out.block is not None:
                slices = np.moveaxis(out.block, self.axis, -1)
                rows = _rows(source.block, self.axis)
                slices[...] = taken(rows, order).reshape(slices.shape)

    def _order(self) -> np.ndarray:
        """Return the places of this rank's keys, in the order of the result."""
        keys = _rows(self.sources[0].block, self.axis)
        if self.places:
            return np.argpartition(keys, self.places, axis=-1)
        return _order(keys, self.reach, self.last)

    def _sorted(self) -> np.ndarray:
        """Return this rank's sorted part of each 1-D slice: records of keys and what travels."""
        parts = [_rows(base.block, self.axis) for base in self.sources]
        order = self._order()
        dtype = np.dtype([(f"f{i}", part.dtype) for i, part in enumerate(parts)])
        found = np.empty(order.shape, dtype)
        for i, part in enumerate(parts):
            found[f"f{i}"] = taken(part, order)
        return found

    def _borders(self, rows: np.ndarray, exchange: Exchange, clock: Clock) -> np.ndarray:
        """Return how many elements lie below where a part starts: [engine, part, slice].

        In the end comes where the last part ends.
        """
        held, n, cuts, inner = self.line.held, self.n, self.cuts, self.inner
        wanted = np.repeat(cuts[inner, None], len(rows), axis=1)
        full = np.where(cuts[:, None] < n, 0, held[:, None, None])
        full = np.repeat(full, len(rows), axis=2)
        full[:, inner] = self.splitters.find(_keys(rows), wanted, exchange, clock)
        return full

    def _trade(self, rows: np.ndarray, taken: np.ndarray, exchange: Exchange) -> np.ndarray:
        """Send to each engine the elements between its borders; return what comes, run by run."""
        members, me = self.line.members, self.line.me
        p = len(members)
        runs = np.diff(taken, axis=1)  # [from, to, slice]
        merged = np.empty((len(rows), runs[:, me, 0].sum()), rows.dtype)
        starts = np.cumsum(runs[:, me], axis=0) - runs[:, me]
        for k in range(p):
            to = (me + k) % p
            parts = _cut(rows, taken[me, to], runs[me, to])
            if to == me:
                _place(merged, starts[me], runs[me, me], message(parts))
            else:
                exchange.send(members[to], _ELEMENTS, message(parts))
        for k in range(1, p):
            peer = (me - k) % p
            n = runs[peer, me]
            # A 1-D slice alone is received where it belongs.
            direct = merged[0, starts[peer, 0] :][: n[0]] if len(rows) == 1 and n[0] else None
            into = room(n.sum(), rows.dtype) if direct is None else direct
            exchange.receive(members[peer], _ELEMENTS, into)
            if direct is None and n.sum():
                _place(merged, starts[peer], n, into)
        return merged

    def _deliver(self, rows: np.ndarray) -> None:
        """Put sorted 1-D slices into this rank's parts of the outputs."""
        for i, out in enumerate(self.outs, start=self.dropped):
            if out.block is not None:
                slices = np.moveaxis(out.block, self.axis, -1)
                slices[...] = (rows[f"f{i}"] if rows.dtype.names else rows).reshape(slices.shape)


def _rows(block: np.ndarray | None, axis: int) -> np.ndarray:
    """Return 1-D slices as the rows of a contiguous matrix."""
    slices = np.ascontiguousarray(np.moveaxis(block, axis, -1))  # type: ignore[type-var]
    return slices.reshape(prod(slices.shape[:-1]), slices.shape[-1])


def _order(rows: np.ndarray, reach: int, last: bool) -> np.ndarray:
    """Return the order of each row, as far as to its ``reach`` first or last elements."""
    if reach > rows.shape[1] // 8:
        order = stable_order(rows)
        return order[:, -reach:] if last else order[:, :reach]
    found = np.empty((len(rows), reach), np.intp)
    for row, into in zip(rows, found, strict=True):
        place = len(row) - reach if last else reach - 1
        border = np.partition(row, place)[place] if reach else row[0]
        some = np.flatnonzero(~(row < border) if last else ~(row > border))
        order = some[stable_order(row[some])]
        into[...] = order[len(order) - reach :] if last else order[:reach]
    return found


def _keys(rows: np.ndarray) -> np.ndarray:
    return rows["f0"] if rows.dtype.names else rows


def _merge(rows: np.ndarray) -> np.ndarray:
    """Sort 1-D slices that are made of sorted runs: NumPy's stable sort finds and merges them."""
    if not rows.dtype.names:
        rows.sort(axis=-1, kind="stable")
        return rows
    return np.take_along_axis(rows, np.argsort(rows["f0"], axis=-1, kind="stable"), axis=-1)


def _cuts(base: LocalBase, axis: int) -> np.ndarray:
    """Return the first index of each part of an axis in blocks, and its length."""
    n, p, kind = base.shape[axis], base.layout.parts(axis), base.layout.axes[axis]
    return np.array([kind.bounds(n, p, c)[0] for c in range(p)] + [n])


def _cut(rows: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Return from each 1-D slice the elements of one message."""
    return [row[i : i + n] for row, i, n in zip(rows, starts, counts, strict=True)]


def _place(merged: np.ndarray, starts: np.ndarray, counts: np.ndarray, flat: np.ndarray) -> None:
    """Put the elements of one message where they belong in each 1-D slice."""
    at = 0
    for row, i, n in zip(merged, starts, counts, strict=True):
        row[i : i + n] = flat[at : at + n]
        at += n


def room(n: int, dtype: np.dtype) -> np.ndarray:
    """Return room for a message; one of no elements has a byte, as empty ones tell of failures."""
    return np.empty(n, dtype) if n else np.zeros(1, np.uint8)


def message(parts: list[np.ndarray]) -> np.ndarray:
    """Return parts as one message."""
    found = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return found if found.size else room(0, found.dtype)
