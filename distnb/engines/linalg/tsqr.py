"""QR of a tall matrix in blocks of rows: of the parts, then of the triangles that meet in a tree.

The algorithm is TSQR (Demmel, Grigori, Hoemmen and Langou, "Communication-optimal parallel and
sequential QR and LU factorizations", 2012). Each engine factors its part. Triangles go up a
binomial tree; two that meet are stacked and factored. On the way down each engine gets the n x n
factor by which it multiplies its own Q. It is as stable as Householder's QR, for it is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.collectives.reductions import Tree
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["TallQR"]

_UP, _DOWN = 0, 1


class TallQR:
    """Factor a base that is split in rows; R is held by all ranks of its layout.

    The outputs are R, or Q (which lies as the operand) and R.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.source = store.bases[command.ins[0].base]
        *q, self.r = [store.bases[x.base] for x in command.outs]
        self.q = q[0] if q else None
        members = list(self.source.layout.grid.ranks())
        self.tree = Tree(members, store.rank) if store.rank in members else None

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: a triangle up, a factor (and R) down to each child."""
        if self.tree is None:
            return []
        up = [] if self.tree.parent is None else [(self.tree.parent, _UP)]
        return up + [(child, _DOWN) for child in self.tree.children]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        if self.tree is None:
            return []
        down = [] if self.tree.parent is None else [(self.tree.parent, _DOWN)]
        return down + [(child, _UP) for child in self.tree.children]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Factor the part, go up and down the tree, and write the rank's part of the results."""
        if self.tree is None:
            return
        before = clock.switch(COMPUTE)
        found = self._factor(self.source.block)
        factors = []
        for child in self.tree.children:
            pair = np.empty((2, *found[1].shape), found[1].dtype)
            pair[0] = found[1]
            exchange.receive(child, _UP, pair[1])
            both = self._factor(pair.reshape(-1, pair.shape[-1]))
            factors.append(both[0])
            found = found[0], both[1]
        final = self._down(found[1], factors, exchange)
        self.r.block[...] = final[1]  # type: ignore[index]
        if self.q is not None:
            np.matmul(found[0], final[0], out=self.q.block)
        clock.switch(before)

    def _factor(self, a: Any) -> tuple[Any, np.ndarray]:
        """Return Q (None if nobody asked) and R, padded with zeros to n rows."""
        n = a.shape[1]
        if not a.size:
            return np.zeros(a.shape, a.dtype), np.zeros((n, n), a.dtype)
        q: Any
        r: Any
        q, r = (None, np.linalg.qr(a, "r")) if self.q is None else np.linalg.qr(a)
        short = n - r.shape[0]
        if short:
            r = np.pad(r, ((0, short), (0, 0)))
            q = None if q is None else np.pad(q, ((0, 0), (0, short)))
        return q, r

    def _down(self, r: np.ndarray, factors: list[Any], exchange: Exchange) -> np.ndarray:
        """Bring to each rank its factor and R; return this rank's."""
        assert self.tree is not None
        mine = np.empty((2, *r.shape), r.dtype)
        if self.tree.parent is None:
            mine[0], mine[1] = np.eye(len(r)), r
        else:
            exchange.send(self.tree.parent, _UP, np.ascontiguousarray(r))
            exchange.receive(self.tree.parent, _DOWN, mine)
        for child, factor in reversed(list(zip(self.tree.children, factors, strict=True))):
            theirs = mine.copy()
            if factor is not None:
                both = factor @ mine[0]
                mine[0], theirs[0] = both[: len(r)], both[len(r) :]
            exchange.send(child, _DOWN, theirs)
        return mine
