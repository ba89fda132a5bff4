"""Elements that are sent to who is to have them: triplets, and parts that are cut otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.runtime.exchange import Exchange
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.engines.sparse.parts import (
    PART,
    Making,
    numbers,
    part_of,
    receive,
    receive_part,
    send_part,
    some,
)
from distnb.geometry.boxes import Box, box_of, meet, within
from distnb.ops.compressed import csr
from distnb.ops.sparse_parts import check_places, stacked, summed, turned
from distnb.wire.protocol import Collective

__all__ = ["Lay", "Route", "Turn"]

_MAJOR, _MINOR, _ELEMENTS = 0, 1, 2


class _Pushing(Making):
    """Send to whom rows of the result belong; ``args``: another length, and where these are cut.

    ``tags`` are those of the messages; the base of the first operand says who has something.
    """

    tags: tuple[int, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.length, self.cuts = self.args
        source = self.source()
        ranks = range(len(self.cuts) - 1)
        senders = [
            r for r in ranks if source.layout.local_shape(source.shape, r) not in (None, (0,))
        ]
        takers = [r for r in ranks if self.cuts[r + 1] > self.cuts[r]]
        self.sends = [r for r in takers if r != self.rank] if self.rank in senders else []
        self.takes = [r for r in senders if r != self.rank] if self.rank in takers else []
        self.senders = senders if self.rank in takers else []
        self.owed = [(r, tag) for r in self.sends for tag in self.tags]
        self.expected = [(r, tag) for r in self.takes for tag in self.tags]

    def source(self) -> LocalBase:
        """Return the base that says who has something."""
        return self.ins[0]


class Route(_Pushing):
    """Make parts of triplets: operands are major indices, minor ones, elements, which lie alike.

    ``args``: length of the minor axis, cuts of the major one. Equal places are summed.
    """

    tags = (_MAJOR, _MINOR, _ELEMENTS)

    def make(self, exchange: Exchange) -> Any:
        """Return the part."""
        major, minor, data = self._checked()
        cuts = np.array(self.cuts)
        owners = np.searchsorted(cuts[1:], major, "right")
        chosen = {}
        for r in (*self.sends, self.rank):
            which = np.flatnonzero(owners == r)
            chosen[r] = (major[which] - cuts[r], minor[which], data[which])
        for r in self.sends:
            for tag, array in zip(self.tags, chosen[r], strict=True):
                exchange.send(r, tag, some(array))
        pieces = [self._from(r, exchange, chosen) for r in self.senders]
        empty = [np.empty(0, x.dtype) for x in (major, minor, data)]
        rows, columns, elements = (
            np.concatenate([none, *[p[i] for p in pieces]]) for i, none in enumerate(empty)
        )
        shape = (int(cuts[self.rank + 1] - cuts[self.rank]), self.length)
        return summed(rows, columns, elements, shape)

    def _checked(self) -> tuple[np.ndarray, ...]:
        """Return what this rank has; raises as SciPy does if an index is outside."""
        major, minor, data = [
            np.empty(0, base.dtype) if base.block is None else base.block for base in self.ins
        ]
        check_places((major, minor), (self.cuts[-1], self.length))
        return major.astype(np.int64, copy=False), minor.astype(np.int64, copy=False), data

    def _from(self, rank: int, exchange: Exchange, chosen: dict[int, Any]) -> tuple[Any, ...]:
        """Return what a rank has for this one."""
        if rank == self.rank:
            found: tuple[Any, ...] = chosen[rank]
            return found
        major = numbers(exchange.take(rank, _MAJOR))
        minor = receive(exchange, rank, _MINOR, len(major), np.dtype(np.int64))
        return major, minor, receive(exchange, rank, _ELEMENTS, len(major), self.ins[2].dtype)


class Turn(_Pushing):
    """Cut an array along its other axis; ``args``: length of the one now cut, cuts of the other."""

    tags = PART

    def source(self) -> LocalBase:
        """Return the pointers, of which all ranks have some: so all columns are there."""
        return self.ins[2]

    def make(self, exchange: Exchange) -> Any:
        """Return the part: what all ranks have between this one's cuts, turned."""
        part, kind = part_of(self.ins, self.cuts[-1]), self.ins[1].dtype
        for r in self.sends:
            send_part(exchange, r, part[:, self.cuts[r] : self.cuts[r + 1]], kind)
        own = part[:, self.cuts[self.rank] : self.cuts[self.rank + 1]]
        pieces = [
            own if r == self.rank else receive_part(exchange, r, kind, own) for r in self.senders
        ]
        return turned(stacked(pieces, own))


class Lay(Making):
    """Give to each rank its box of the array; ``args``: shape, layout that it has, that it gets.

    What a rank has of a row it has in the order of what it got it from, which is that of columns.
    Where all ranks have all, each takes its own.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.shape, source, target = self.args
        ranks = range(self.out.layout.grid.size) if source.copies == 1 else (self.rank,)
        self.has = box_of(source, self.shape, self.rank)
        self.gets = box_of(target, self.shape, self.rank)
        self.rows = (target.local_shape(self.shape, self.rank) or (0,))[0]
        gives = {r: meet(self.has, box_of(target, self.shape, r)) for r in ranks}
        takes = {r: meet(self.gets, box_of(source, self.shape, r)) for r in ranks}
        #: What this rank gives to whom, and takes of whom, in the order of the columns.
        self.gives = {r: box for r, box in gives.items() if box is not None}
        met = [(box[1], box[0], r) for r, box in takes.items() if box is not None]
        self.takes = {r: (rows, columns) for columns, rows, r in sorted(met)}
        self.owed = [(r, tag) for r in self.gives if r != self.rank for tag in PART]
        self.expected = [(r, tag) for r in self.takes if r != self.rank for tag in PART]

    def make(self, exchange: Exchange) -> Any:
        """Return the part: what all ranks have of this one's box."""
        part, kind = part_of(self.ins, self.shape[1]), self.ins[1].dtype
        for r, box in self.gives.items():
            if r != self.rank:
                send_part(exchange, r, self._within(part, box), kind)
        pieces = []
        for r, box in self.takes.items():
            own = r == self.rank
            found = self._within(part, box) if own else receive_part(exchange, r, kind, part)
            pieces.append((box[0], found))
        return self._joined(pieces, part)

    def _within(self, part: Any, box: Box) -> Any:
        """Return what this rank has of a box."""
        assert self.has is not None
        rows, columns = within(box, self.has)[0], box[1]
        low, high = part.indptr[[rows.start, rows.stop]]
        arrays = (part.data[low:high], part.indices[low:high])  # which are not copied
        found = csr(*arrays, part.indptr[rows.start : rows.stop + 1] - low, _rows(rows, part))
        if columns == self.has[1]:
            return found
        found = found[:, slice(*columns)]
        indices = found.indices + found.indices.dtype.type(columns[0])
        return csr(found.data, indices, found.indptr, _rows(rows, part))

    def _joined(self, pieces: list[tuple[tuple[int, int], Any]], like: Any) -> Any:
        """Return the part of pieces of rows, which may have others of their columns."""
        if self.gets is None:
            none, shape = np.zeros(self.rows + 1, like.indptr.dtype), (self.rows, self.shape[1])
            return csr(like.data[:0], like.indices[:0], none, shape)
        found = stacked([piece for _, piece in pieces], like)
        if len({rows for rows, _ in pieces}) == len(pieces):
            return found
        (low, high), _ = self.gets
        rows = np.concatenate([np.arange(*rows) for rows, _ in pieces])  # of each row of a piece
        rows = np.repeat(rows, np.diff(found.indptr))
        order = np.argsort(rows, kind="stable")
        pointers = np.searchsorted(rows[order], np.arange(low, high + 1))
        data, indices = found.data[order], found.indices[order]
        return csr(data, indices, pointers, (self.rows, self.shape[1]))


def _rows(rows: slice, part: Any) -> tuple[int, int]:
    """Return the shape of some rows of a part."""
    return rows.stop - rows.start, part.shape[1]
