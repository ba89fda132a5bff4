"""Rows of a sparse array that others have: asked for by position, and sent as parts.

Products of two sparse arrays get the rows that the left part's indices name. The ranks know from
specs who may ask whom; what is asked for depends on elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.runtime.exchange import Exchange
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.engines.sparse.needs import numbered, used
from distnb.engines.sparse.parts import (
    PART,
    Making,
    block_of,
    numbers,
    part_of,
    receive_part,
    send_part,
    some,
)
from distnb.engines.sparse.semirings import Ring
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.compressed import csr
from distnb.ops.sparse_parts import stacked
from distnb.plans.gather_scatter import checked
from distnb.wire.protocol import Collective

__all__ = ["Points", "Rows", "Times"]

_POSITIONS = 0


class _Pulling(Making):
    """Get rows of the array of the first three operands; ``args``: minor axis, cuts of the rows.

    ``asking`` is the base whose parts say which rows are needed: who has none asks nobody. Nobody
    asks where each has all of the array.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.minor, self.cuts = self.args[:2]
        asking = self.asking()
        self.alone = self.ins[0].layout.copies > 1
        ranks = range(0 if self.alone else len(self.cuts) - 1)
        holders = [r for r in ranks if self.cuts[r + 1] > self.cuts[r]]
        askers = [
            r for r in ranks if asking.layout.local_shape(asking.shape, r) not in (None, (0,))
        ]
        self.asks = [r for r in holders if r != self.rank] if self.rank in askers else []
        self.asked = [r for r in askers if r != self.rank] if self.rank in holders else []
        parts = [(r, tag) for r in self.asked for tag in PART]
        self.owed = [(r, _POSITIONS) for r in self.asks] + parts
        self.expected = [(r, _POSITIONS) for r in self.asked]
        self.expected += [(r, tag) for r in self.asks for tag in PART]

    def asking(self) -> LocalBase:
        """Return the base whose parts say which rows are needed."""
        return self.ins[3]

    def pull(self, wanted: np.ndarray, exchange: Exchange) -> Any:
        """Return the rows at some positions."""
        part, kind = part_of(self.ins[:3], self.minor), self.ins[1].dtype
        if self.alone:
            return part[wanted]
        cuts = np.array(self.cuts)
        owners = np.searchsorted(cuts[1:], wanted, "right")
        order = None if (np.diff(owners) >= 0).all() else np.argsort(owners, kind="stable")
        sorted_ = wanted if order is None else wanted[order]
        ends = np.searchsorted(owners if order is None else owners[order], range(len(cuts)))
        mine = {r: sorted_[ends[r] : ends[r + 1]] - cuts[r] for r in range(len(cuts) - 1)}
        for r in self.asks:
            exchange.send(r, _POSITIONS, some(mine[r].astype(np.int64, copy=False)))
        for r in self.asked:
            send_part(exchange, r, part[numbers(exchange.take(r, _POSITIONS))], kind)
        pieces = []
        for r in range(len(cuts) - 1):
            if r == self.rank:
                pieces.append(part[mine[r]])
            elif r in self.asks:
                pieces.append(receive_part(exchange, r, kind, part))
        found = stacked(pieces, part)
        if order is None:
            return found
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return found[back]


class Rows(_Pulling):
    """Take rows at the positions that the fourth operand holds."""

    def make(self, exchange: Exchange) -> Any:
        """Return the rows."""
        return self.pull(checked(block_of(self.ins[3]), self.cuts[-1]), exchange)


class Points(_Pulling):
    """Take single elements: at the rows and columns that the last two operands hold."""

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Fill the block with the elements."""
        before = clock.switch(COMPUTE)
        rows, columns = [block_of(base) for base in self.ins[3:]]
        found = self.pull(checked(rows, self.cuts[-1]), exchange)
        columns = checked(columns, self.minor, 1)
        if len(columns):
            block_of(self.out)[...] = found[np.arange(len(columns)), columns]
        clock.switch(before)


class Times(_Pulling):
    """Multiply: the fourth to sixth operands are the left array, the first three the right one.

    Three more are a mask; ``args``: also the semiring, and whether the mask names what is not made.
    """

    def asking(self) -> LocalBase:
        """Return the left array's indices."""
        return self.ins[4]

    def make(self, exchange: Exchange) -> Any:
        """Return the rows of the product."""
        ring, others = self.args[2:]
        data, indices, indptr = [block_of(base) for base in self.ins[3:6]]
        inner = self.cuts[-1]
        mask = part_of(self.ins[6:], self.minor) if self.ins[6:] else None
        if mask is not None and not others:  # rows of which nothing is asked for need nothing
            data, indices, indptr = _of_rows(data, indices, indptr, np.diff(mask.indptr) > 0)
        needed = used(indices, inner)
        right = self.pull(needed, exchange)
        places = numbered(indices, needed, None, inner)
        left = csr(data, places, indptr, (len(indptr) - 1, len(needed)))
        return Ring(ring, self.store.compiler).matrix(left, right, mask, others)


def _of_rows(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a part whose other rows have no elements."""
    lengths = np.diff(indptr)
    keep = np.repeat(which, lengths)
    pointers = np.zeros_like(indptr)
    np.cumsum(np.where(which, lengths, 0), out=pointers[1:])
    return data[keep], indices[keep], pointers
