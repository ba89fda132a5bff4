"""Square and wide matrices that no engine holds whole: their columns are dealt in blocks.

Each step of a factorisation is a command (:mod:`distnb.engines.linalg.panels`). Steps, and what
each engine sends, follow from the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import copied, in_layout, record_collective
from distnb.client.linalg.contractions import diagonal
from distnb.client.linalg.matrix_commands import rows
from distnb.client.math.reductions import prod
from distnb.client.math.ufuncs import where
from distnb.client.record.index_arrays import eye
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange
from distnb.geometry.axes import BlockCyclic, Whole
from distnb.geometry.layout import Grid, Layout, replicated
from distnb.ops import matrix_functions

__all__ = ["cholesky", "det", "inv", "qr", "slogdet", "solve"]

#: Columns of a panel.
WIDTH = 128

Panels = Sequence[tuple[int, ...]]


class _Sweep:
    """A matrix whose columns are dealt, and what belongs to it while it is factored."""

    def __init__(self, x: Array, like: np.dtype | None = None) -> None:
        self.session = session = x.session
        self.dtype = matrix_functions.work_dtype(
            x.dtype if like is None else np.result_type(x, like)
        )
        self.m, self.n = x.shape
        grid, size = Grid.of((session.size,)), session.size
        layout = Layout(grid, (BlockCyclic(WIDTH), Whole()), (0, -1))
        k = min(x.shape)
        #: The matrix, transposed.
        self.matrix = copied(x.T, self.dtype, layout)
        self.pivots = create(session, (k,), np.dtype(np.int64), replicated(1, size), ("empty",))
        self.beside = create(session, (self.n, WIDTH), self.dtype, layout, ("empty",))
        self.panels: Panels = [(i, min(i + WIDTH, k)) for i in range(0, k, WIDTH)]

    def run(
        self,
        kind: str,
        followers: Sequence[Array] = (),
        more: bool | str | None = None,
        back: bool = False,
    ) -> None:
        """Record all steps of a kind, from the last to the first if ``back``."""
        steps = [(), *(reversed(self.panels) if back else self.panels), ()]
        bases = [self.matrix, self.pivots, self.beside, *followers]
        now: list[Array] = []
        for step, following in pairwise(steps):
            made = [self._panel(kind, *following)] if following else []
            args = (kind, step, following, len(followers), more)
            record_collective("panel", [*bases, *made], [*bases, *now], args)
            now = made

    def _panel(self, kind: str, first: int, last: int) -> Array:
        b = last - first
        length = {"back": last}.get(kind, self.m - first + (b if kind in ("qr", "q") else 0))
        where = replicated(2, self.session.size)
        return create(self.session, (b, length), self.dtype, where, ("empty",))

    def ones(self, k: int) -> Array:
        """Return the first columns of the identity as rows of a base."""
        where = rows(self.session.size)
        found = eye(k, self.m, dtype=self.dtype, dist=where, session=self.session)
        return in_layout(found, where)

    def beside_rows(self, x: Array) -> Array:
        """Return the columns of ``x`` as rows of a base: they follow."""
        return copied(x.T, self.dtype, rows(self.session.size))


def cholesky(a: Array) -> list[Array]:
    """Return the lower factor of a positive definite matrix."""
    sweep = _Sweep(a)
    sweep.run("cholesky")
    return [sweep.matrix.T]


def solve(a: Array, b: Array) -> list[Array]:
    """Return the solutions of systems of equations."""
    sweep = _Sweep(a, b.dtype)
    return [_solved(sweep, sweep.beside_rows(b))]


def inv(a: Array) -> list[Array]:
    """Return the inverse."""
    sweep = _Sweep(a)
    return [_solved(sweep, sweep.ones(len(a)))]


def _solved(sweep: _Sweep, right: Array) -> Array:
    sweep.run("lu", [right], more=True)
    sweep.run("back", [right], back=True)
    return right.T


def _triangle(a: Array) -> tuple[Array, Array]:
    """Return the diagonal of U, and whether each row was exchanged."""
    sweep = _Sweep(a)
    sweep.run("lu", more=False)
    return diagonal(sweep.matrix), sweep.pivots != arange(len(a), session=a.session) % WIDTH


def det(a: Array) -> list[Array]:
    """Return the determinant."""
    return determinant(*_triangle(a))


def slogdet(a: Array) -> list[Array]:
    """Return sign and logarithm of the determinant."""
    return logarithm(*_triangle(a))


def determinant(u: Array, swaps: Array) -> list[Array]:
    """Return the product of the diagonal of U, and of the signs of the exchanges."""
    return [prod(u) * _sign(swaps)]


def logarithm(u: Array, swaps: Array) -> list[Array]:
    """Return sign and logarithm of the determinant, from the diagonal of U and the exchanges."""
    size = abs(u)
    sign: Array = prod(where(size == 0, 0, u / where(size == 0, 1, size)))
    return [sign * _sign(swaps), elementwise("log", size).sum()]


def _sign(swaps: Array) -> Array:
    """Return -1 for an odd number of exchanges."""
    return prod(where(swaps, -1.0, 1.0))


def qr(a: Array, mode: str) -> list[Array]:
    """Return Q (reduced or complete) and R, or R alone."""
    sweep = _Sweep(a)
    k = sweep.m if mode == "complete" else min(a.shape)
    if mode == "r":
        sweep.run("qr")
        return [sweep.matrix.T[:k]]
    sweep.run("qr", more="keep")
    q = sweep.ones(k)
    sweep.run("q", [q], more="keep", back=True)
    return [q.T, sweep.matrix.T[:k]]
