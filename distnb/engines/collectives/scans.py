"""Scans: running totals along an axis, whose parts meet in a few rounds.

Each engine accumulates its part, as NumPy does. What it has to add is the total of all engines
before. They find it by doubling: in round k, an engine gives the total of its last 2^k engines to
the one 2^k places on (Hillis and Steele, "Data parallel algorithms", 1986). Totals are combined in
the order of the axis, and which ones depends on the number of engines only, never on timing.

An operation for which the order of evaluation matters, such as a difference, runs from engine to
engine instead: each one begins where the one before it has ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.ops import table
from distnb.wire.protocol import Collective

__all__ = ["Scan", "line_of"]

#: A row of so many elements costs more than to call a ufunc.
_LONG = 256


def line_of(base: LocalBase, axis: int, rank: int) -> tuple[list[int], int]:
    """Return the engines that share the rank's 1-D slices, in order, and its place among them."""
    grid, gdim = base.layout.grid, base.layout.dims[axis]
    coords, local = grid.coords(rank), base.layout.local_shape(base.shape, rank)
    if coords is None or local is None or 0 in local or base.layout.parts(axis) == 1:
        return [rank], 0
    p, kind, n = grid.sizes[gdim], base.layout.axes[axis], base.shape[axis]
    filled = [c for c in range(p) if kind.size(n, p, c)]
    members = [grid.rank((*coords[:gdim], c, *coords[gdim + 1 :])) for c in filled]
    return members, members.index(rank)


class Scan:
    """Fill a base with the running results of another, or of itself, along an axis, on one rank.

    ``command.args`` are the name of the ufunc and the axis. A split axis must lie in intervals.
    Where the order of evaluation matters, the base is its own operand.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        name, self.axis = command.args
        self.ufunc: Any = table.ELEMENTWISE[name].run
        self.base = store.bases[command.outs[0].base]
        self.source = store.bases[command.ins[0].base]
        self.members, self.me = line_of(self.base, self.axis, store.rank)
        #: places to the engine that a message goes to, round by round
        self.steps = [1]
        self.together = table.is_associative(name, self.base.dtype)
        if self.together:
            self.steps = [1 << k for k in range((len(self.members) - 1).bit_length())]

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends."""
        return self._keys(1)

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return self._keys(-1)

    def _keys(self, sign: int) -> list[Key]:
        places = ((self.me + sign * step, k) for k, step in enumerate(self.steps))
        return [(self.members[i], k) for i, k in places if 0 <= i < len(self.members)]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Accumulate the rank's part, and add what comes before."""
        block = self.base.block
        if block is None or not block.size:
            return
        work = self._together if self.together else self._in_turn
        before = clock.switch(COMPUTE)
        work(np.moveaxis(block, self.axis, 0), exchange)
        clock.switch(before)

    def _together(self, slices: np.ndarray, exchange: Exchange) -> None:
        """Accumulate from the first index on, then combine with the total of the engines before."""
        assert self.source.block is not None
        source = np.moveaxis(self.source.block, self.axis, 0)
        _accumulate(self.ufunc, source, slices)
        total = slices[-1:].copy()  # 1-D slices change while it may still be on its way
        offset = None
        owed, expected = ({k: r for r, k in keys} for keys in (self.owed, self.expected))
        for k in range(len(self.steps)):
            if k in owed:
                exchange.send(owed[k], k, total)
            if k in expected:
                near = np.empty_like(total)
                exchange.receive(expected[k], k, near)
                offset = near if offset is None else self.ufunc(near, offset)
                total = self.ufunc(near, total)  # a new one, as the last may still be on its way
        if offset is not None:
            self.ufunc(offset, slices, out=slices)

    def _in_turn(self, slices: np.ndarray, exchange: Exchange) -> None:
        """Go on from the last element of the engine before."""
        for peer, tag in self.expected:
            carry = np.empty_like(np.ascontiguousarray(slices[:1]))
            exchange.receive(peer, tag, carry)
            slices[:1] = self.ufunc(carry, slices[:1])
        _accumulate(self.ufunc, slices, slices)
        for peer, tag in self.owed:
            exchange.send(peer, tag, np.ascontiguousarray(slices[-1:]))


def _accumulate(ufunc: Any, source: np.ndarray, out: np.ndarray) -> None:
    """Accumulate along the first axis, as NumPy does.

    NumPy walks along one 1-D slice after the other. Where neighbours are of different 1-D slices,
    it is a few times as fast to add whole rows, which gives the same bits.
    """
    if out[0].size < _LONG or abs(out.strides[0]) <= min(map(abs, out.strides[1:])):
        ufunc.accumulate(source, axis=0, out=out, dtype=out.dtype)
        return
    out[0] = source[0]
    for before, element, here in zip(out, source[1:], out[1:], strict=False):
        ufunc(before, element, out=here)
