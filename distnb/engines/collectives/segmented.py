"""Reductions of segments of an axis: what goes on over a border is handed to the next engine.

Each engine reduces its part of each segment. A segment that began before gets what the engine
before has of it, and one that ends later is handed on; it lies where it ends.

So an engine sends to later ones alone, as for a scan: whoever has all elements can do what they do
one after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from distnb.engines.collectives.scans import Scan, line_of
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.geometry.layout import Layout
from distnb.geometry.views import View
from distnb.measure.events import COMPUTE, Clock
from distnb.ops import table
from distnb.wire.protocol import Collective, Operand

__all__ = ["Segments", "one_after_the_other"]


class Segments:
    """Reduce the segments of an axis, on one rank; the operand is written over.

    ``command.outs`` are the result, and the operand as well; ``command.args`` the name of the
    ufunc, the axis, and where segments begin, as the bytes of int64: the first at 0.
    A split axis must lie in intervals, and the result where segments end.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        name, self.axis, starts = command.args
        self.ufunc: Any = table.ELEMENTWISE[name].run
        self.together = name in table.UFUNC_REDUCTIONS
        self.out, self.base = (store.bases[x.base] for x in command.outs)
        self.dtype = table.total_dtype(name, self.out.dtype)
        self.members, self.me = line_of(self.base, self.axis, store.rank)
        layout, n = self.base.layout, self.base.shape[self.axis]
        p, kind = layout.parts(self.axis), layout.axes[self.axis]
        bounds = [kind.bounds(n, p, c) for c in range(p)] if p > 1 else [(0, n)]
        low, high = [b for b in bounds if b[0] < b[1] or p == 1][self.me]
        begins = np.frombuffer(starts, np.int64)
        first, last = np.searchsorted(begins, (low, high))
        inside = begins[first:last] - low
        self.goes_on = bool(high < n and (last == len(begins) or begins[last] != high))
        self.began = bool(low > 0 and (not inside.size or inside[0]))
        self.starts = np.concatenate(([0], inside)) if self.began else inside

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: what it has of a segment that goes on."""
        return [(self.members[self.me + 1], 0)] if self.goes_on and self._talks else []

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return [(self.members[self.me - 1], 0)] if self.began and self._talks else []

    @property
    def _talks(self) -> bool:
        return len(self.members) > 1

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Reduce the rank's part; take over what began before, and hand on what goes on."""
        block = self.base.block
        if block is None or not block.size or self.out.block is None:
            return
        before = clock.switch(COMPUTE)
        slices = np.moveaxis(block, self.axis, 0).astype(self.dtype, copy=False)
        if not self.together:  # the order matters
            self._take_over(slices, exchange)
        if len(slices) == 1:  # where reduce() begins with the identity
            found = slices
        elif len(self.starts) == 1 and not self.together:
            # NumPy's power.reduceat takes but the first and the last
            found = self.ufunc.reduce(slices, axis=0, dtype=self.dtype, keepdims=True)
        else:
            found = self.ufunc.reduceat(slices, self.starts, axis=0, dtype=self.dtype)
        if self.together:
            self._take_over(found, exchange)
        for peer, tag in self.owed:
            exchange.send(peer, tag, np.ascontiguousarray(found[-1:]))
        ended = found[: len(found) - self.goes_on]
        np.moveaxis(self.out.block, self.axis, 0)[...] = ended
        clock.switch(before)

    def _take_over(self, slices: np.ndarray, exchange: Exchange) -> None:
        """Combine what the engine before has of a segment with the first of some elements."""
        for peer, tag in self.expected:
            carry = np.empty(slices[:1].shape, slices.dtype)
            exchange.receive(peer, tag, carry)
            slices[:1] = self.ufunc(carry, slices[:1])


class _Rank(NamedTuple):
    """What a rank has, in the process that has it all."""

    rank: int
    bases: dict[int, LocalBase]


class _Letters:
    """What ranks send to later ones."""

    def __init__(self) -> None:
        self.rank = 0
        self._sent: dict[tuple[int, int, int], np.ndarray] = {}

    def send(self, peer: int, tag: int, data: np.ndarray) -> None:
        """Keep what the rank sends."""
        self._sent[self.rank, peer, tag] = data

    def receive(self, peer: int, tag: int, into: np.ndarray) -> None:
        """Give the rank what it was sent."""
        into[...] = self._sent.pop((peer, self.rank, tag))


def one_after_the_other(
    op: str,
    args: tuple[Any, ...],
    found: tuple[np.ndarray, Layout],
    source: tuple[np.ndarray, Layout],
) -> None:
    """Do a scan, or reduce segments, as all ranks would, in the process that has all elements.

    ``found`` and ``source`` are whole arrays and layouts of ranks from 0 on that split no other
    axis than the one in ``args``; ``source`` may be written.
    """
    out, base = (Operand(k, View.whole(x.shape)) for k, (x, _) in enumerate((found, source)))
    command = Collective(op, (out, base), (base,), args, 0)
    letters, clock = _Letters(), Clock()
    for rank in range(source[1].grid.size):
        bases = {k: _part(*given, rank) for k, given in enumerate((found, source))}
        known = cast(BaseTable, _Rank(rank, bases))
        letters.rank = rank
        work = Scan(command, known) if op == "scan" else Segments(command, known)
        work.run(cast(Exchange, letters), clock)


def _part(whole: np.ndarray, layout: Layout, rank: int) -> LocalBase:
    """Return a rank's part of an array, as a view."""
    key: Any = tuple(
        slice(*axis.bounds(n, layout.grid.size, rank)) if d >= 0 else slice(None)
        for axis, d, n in zip(layout.axes, layout.dims, whole.shape, strict=True)
    )
    return LocalBase(whole.shape, whole.dtype, layout, whole[key])
