"""Where elements belong in a sorted array that is split: each is looked up where it belongs.

Engines tell each other the first element of their part. Then each knows which part an element falls
into, sends its elements there, every distinct one once, and gets their positions back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from distnb.engines.collectives.sorting import message, room
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Search"]

_FIRST, _COUNT, _ELEMENTS, _POSITIONS = range(4)


class Search:
    """Find positions in a sorted whole base, on one rank, or whether elements are in it.

    ``command.ins`` are the sorted array, of one axis, in blocks over all engines or held by each of
    them, and the elements to look for. The output lies as these. ``command.args`` is the side:
    ``'left'`` or ``'right'``, or ``'in'`` to tell what is there.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.side: Any = command.args[0]
        self.kind = np.dtype(bool if self.side == "in" else np.int64)
        self._edge: Any = "right" if self.side == "in" else self.side
        self.base, self.wanted = (store.bases[x.base] for x in command.ins)
        self.out = store.bases[command.outs[0].base]
        n, p = self.base.shape[0], self.base.layout.parts(0)
        kind, grid = self.base.layout.axes[0], self.base.layout.grid
        bounds = [kind.bounds(n, p, c) if p > 1 else (0, n) for c in range(p)]
        #: Rank and first index of each part that is not empty, and the index after the last.
        self.owners = [grid.rank((c,)) for c, (lo, hi) in enumerate(bounds) if hi > lo]
        self.cuts = [lo for lo, hi in bounds if hi > lo] + [n]
        if p == 1:
            self.owners = [store.rank]
        self.rank = store.rank
        self.all = list(range(grid.first, grid.first + grid.size)) if p > 1 else [store.rank]
        self.others = [r for r in self.all if r != store.rank]
        self.givers = [r for r in self.owners if r != store.rank]
        self.asked = self.others if store.rank in self.owners else []

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: its first element and answers, if it has any; questions."""
        answers = [(r, tag) for r in self.asked for tag in (_FIRST, _POSITIONS)]
        return answers + [(r, tag) for r in self.givers for tag in (_COUNT, _ELEMENTS)]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        answers = [(r, tag) for r in self.givers for tag in (_FIRST, _POSITIONS)]
        return answers + [(r, tag) for r in self.asked for tag in (_COUNT, _ELEMENTS)]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Ask the owners, answer others, and put together what comes back."""
        block = self.base.block
        if block is None:
            return
        wanted = self.wanted.block
        flat = np.empty(0, self.wanted.dtype) if wanted is None else wanted.reshape(-1)
        if not self.others:
            before = clock.switch(COMPUTE)
            self._deliver(self._positions(block, flat))
            clock.switch(before)
            return
        firsts = self._firsts(block, exchange)
        before = clock.switch(COMPUTE)
        distinct, back = np.unique(flat, return_inverse=True, equal_nan=False)
        where = np.maximum(np.searchsorted(firsts, distinct, self._edge) - 1, 0)
        ends = np.searchsorted(where, np.arange(len(self.owners) + 1))
        clock.switch(before)
        found = self._ask(distinct, ends, block, exchange, clock)
        self._deliver(found[back])

    def _firsts(self, block: np.ndarray, exchange: Exchange) -> np.ndarray:
        """Return the first element of each part."""
        found = np.empty(len(self.owners), block.dtype)
        for peer in self.asked:
            exchange.send(peer, _FIRST, block[:1])
        for i, owner in enumerate(self.owners):
            if owner == self.rank:
                found[i] = block[0]
            else:
                exchange.receive(owner, _FIRST, found[i : i + 1])
        return found

    def _ask(
        self,
        distinct: np.ndarray,
        ends: np.ndarray,
        block: np.ndarray,
        exchange: Exchange,
        clock: Clock,
    ) -> np.ndarray:
        """Return the positions of elements; those between two ends belong in one part."""
        parts = [distinct[lo:hi] for lo, hi in pairwise(ends)]
        for owner, part in zip(self.owners, parts, strict=True):
            if owner != self.rank:
                exchange.send(owner, _COUNT, np.array([len(part)]))
                exchange.send(owner, _ELEMENTS, message([part]))
        for peer in self.asked:
            count = np.empty(1, np.int64)
            exchange.receive(peer, _COUNT, count)
            questions = room(int(count[0]), distinct.dtype)
            exchange.receive(peer, _ELEMENTS, questions)
            answers = self._answer(block, questions[: count[0]], clock)
            exchange.send(peer, _POSITIONS, message([answers]))
        found = np.empty(len(distinct), self.kind)
        for owner, part, (lo, hi) in zip(self.owners, parts, pairwise(ends), strict=True):
            if owner == self.rank:
                found[lo:hi] = self._answer(block, part, clock)
            else:
                into = room(hi - lo, found.dtype)
                exchange.receive(owner, _POSITIONS, into)
                found[lo:hi] = into[: hi - lo]
        return found

    def _answer(self, block: np.ndarray, elements: np.ndarray, clock: Clock) -> np.ndarray:
        """Return positions of elements that belong in this rank's part."""
        before = clock.switch(COMPUTE)
        start = self.cuts[self.owners.index(self.rank)]
        found = np.empty(0, self.kind)
        if len(elements):
            found = self._positions(block, elements)
            found = found if self.side == "in" else found + start
        clock.switch(before)
        return found

    def _positions(self, block: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Return what is asked of elements in a part."""
        if self.side == "in":
            return np.isin(elements, block)
        return np.searchsorted(block, elements, self.side)

    def _deliver(self, found: np.ndarray) -> None:
        if self.out.block is not None:
            self.out.block[...] = found.reshape(self.out.block.shape)
