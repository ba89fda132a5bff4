"""Factorisations of a matrix whose columns are dealt in blocks: a panel, its broadcast, an update.

A base holds the transposed matrix in blocks of rows, dealt round-robin, so the columns of a panel
are contiguous. One command is one step, as in ScaLAPACK's right-looking algorithms, but the next
panel comes first: its owner updates it with the current one, factors it and sends it; then all
update what is left, while the message travels (*lookahead*). A panel is factored by one engine: so
nobody has to agree on pivots. Columns that are not factored, such as right hand sides, *follow*:
they are updated by each panel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distnb.engines.collectives.reductions import Tree
from distnb.engines.linalg.triangular import lu_panel, reflectors, swapped
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["PanelStep"]

_PANEL, _PIVOTS = 0, 1
#: Rows of followers that are updated at a time: what is between stays in the cache.
_TILE = 128


class Panel(NamedTuple):
    """A panel of columns ``first`` to ``last``, transposed, and what else is needed to apply it."""

    first: int
    last: int
    block: np.ndarray
    pivots: np.ndarray


class Cholesky:
    """The matrix is its lower factor times the conjugate of that, transposed."""

    @staticmethod
    def make(rows: np.ndarray, first: int, last: int, pivots: Any, more: Any) -> np.ndarray:
        """Factor the rows of a panel in place; return what is sent."""
        lower = np.linalg.cholesky(rows[:, first:last].T)
        rows[:, :first] = 0
        rows[:, first:last] = lower.T
        if last < rows.shape[1]:
            rows[:, last:] = np.linalg.solve(lower.conj(), rows[:, last:])
        return rows[:, first:]

    @staticmethod
    def apply(panel: Panel, rows: np.ndarray, at: int) -> None:
        """Update some rows, the first of which is row ``at`` of the base."""
        skip = at - panel.first
        mine = panel.block[:, skip : skip + len(rows)]
        rows[:, at:] -= mine.conj().T @ panel.block[:, skip:]


class LU:
    """With partial pivoting, as LAPACK; a pivot of 0 raises if ``more`` says so."""

    @staticmethod
    def make(rows: np.ndarray, first: int, last: int, pivots: Any, more: Any) -> np.ndarray:
        """Factor the rows of a panel in place; return what is sent."""
        panel = np.ascontiguousarray(rows[:, first:])
        lu_panel(panel, pivots[first:last], strict=bool(more))
        rows[:, first:] = panel
        return panel

    @staticmethod
    def apply(panel: Panel, rows: np.ndarray, at: int) -> None:
        """Exchange, solve with the unit triangle, update."""
        first, last, block, pivots = panel
        b = last - first
        swapped(rows[:, first:], pivots)
        unit = np.tril(block[:, :b].T, -1) + np.eye(b)
        rows[:, first:last] = np.linalg.solve(unit, rows[:, first:last].T).T
        rows[:, last:] -= rows[:, first:last] @ block[:, b:]


class Back:
    """Back substitution with the upper factor: followers become solutions."""

    @staticmethod
    def make(rows: np.ndarray, first: int, last: int, pivots: Any, more: Any) -> np.ndarray:
        """Return the panel, which is not changed."""
        return rows[:, :last]

    @staticmethod
    def apply(panel: Panel, rows: np.ndarray, at: int) -> None:
        """Solve with the diagonal block, update what is above."""
        first, last, block, _ = panel
        upper = np.triu(block[:, first:last].T)
        rows[:, first:last] = np.linalg.solve(upper, rows[:, first:last].T).T
        rows[:, :first] -= rows[:, first:last] @ block[:, :first]


class QR:
    """Householder's reflections; ``more`` keeps what Q is made of, None drops it."""

    @staticmethod
    def make(rows: np.ndarray, first: int, last: int, pivots: Any, more: Any) -> np.ndarray:
        """Factor the rows of a panel in place; return what is sent: T, and the vectors."""
        upper, vectors, t = reflectors(rows[:, first:])
        rows[:, first:] = upper
        if more is not None:
            mask = np.tri(*upper.shape) > 0
            rows[:, first:] = np.where(mask, upper, vectors)
            more[:, : len(t)] = t
        return np.concatenate([t, vectors], axis=1)

    @staticmethod
    def apply(panel: Panel, rows: np.ndarray, at: int) -> None:
        """Multiply by the conjugate transpose of the panel's product of reflections."""
        t, vectors = _parts(panel)
        rows = rows[:, panel.first :]
        rows -= (rows @ vectors.conj().T @ t.conj()) @ vectors


class Q(QR):
    """The product of the reflections, applied to followers."""

    @staticmethod
    def make(rows: np.ndarray, first: int, last: int, pivots: Any, more: Any) -> np.ndarray:
        """Return T and the vectors, and put zeros in their place: what stays is R."""
        vectors = np.triu(rows[:, first:], 1)
        np.fill_diagonal(vectors, 1)
        rows[:, first:] = np.tril(rows[:, first:])
        return np.concatenate([more[:, : last - first], vectors], axis=1)

    @staticmethod
    def apply(panel: Panel, rows: np.ndarray, at: int) -> None:
        """Multiply by the panel's product of reflections."""
        t, vectors = _parts(panel)
        rows = rows[:, panel.first :]
        rows -= (rows @ vectors.conj().T @ t.T) @ vectors


def _parts(panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    b = panel.last - panel.first
    return panel.block[:, :b], panel.block[:, b:]


_KINDS: dict[str, Any] = {"cholesky": Cholesky, "lu": LU, "back": Back, "qr": QR, "q": Q}


class PanelStep:
    """Apply a panel, and make the next one before.

    ``command.args`` are the kind, the columns (first, last) of the panel that is applied and of the
    next (either may be empty), how many bases follow, and what ``make`` is told besides.
    ``command.outs`` are the matrix, pivots, a base beside the matrix (T of QR), the followers and
    the next panel; ``command.ins`` the same with the current panel.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        kind, self.now, self.next, follow, self.more = command.args
        self.kind = _KINDS[kind]
        self.rank = store.rank
        outs = [store.bases[x.base] for x in command.outs]
        self.matrix, self.pivots, self.beside = outs[:3]
        self.followers = outs[3 : 3 + follow]
        self.made = outs[3 + follow] if self.next else None
        self.panel = store.bases[command.ins[3 + follow].base] if self.now else None
        self.width = self.matrix.layout.axes[0].k  # type: ignore[attr-defined]
        self.size = self.matrix.layout.grid.size
        owner = self._owner()
        ranks = [(owner + i) % self.size for i in range(self.size)]
        self.tree = Tree(ranks, store.rank) if self.next else None
        self.tags = (_PANEL, _PIVOTS) if kind == "lu" else (_PANEL,)

    def _owner(self) -> int:
        return self.next[0] // self.width % self.size if self.next else 0

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: the next panel, down a tree from its owner."""
        return [(r, tag) for r in (self.tree.children if self.tree else []) for tag in self.tags]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        if self.tree is None or self.tree.parent is None:
            return []
        return [(self.tree.parent, tag) for tag in self.tags]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Make the next panel if it is this rank's, update the rest, pass the panel on."""
        before = clock.switch(COMPUTE)
        panel = self._current()
        mine = self.next and self._owner() == self.rank
        if mine:
            self._make(panel)
            self._pass_on(exchange)
        if panel is not None:
            self._update(panel)
        if self.next and not mine:
            for tag, into in self._messages():
                exchange.receive(self.tree.parent, tag, into)  # type: ignore[union-attr, arg-type]
            self._pass_on(exchange)
        clock.switch(before)

    def _current(self) -> Panel | None:
        if self.panel is None:
            return None
        first, last = self.now
        return Panel(first, last, _block(self.panel), _block(self.pivots)[first:last])

    def _messages(self) -> list[tuple[int, np.ndarray]]:
        first, last = self.next
        both = (_block(self.made), _block(self.pivots)[first:last])  # type: ignore[arg-type]
        return list(zip(self.tags, both, strict=False))

    def _pass_on(self, exchange: Exchange) -> None:
        for child in self.tree.children:  # type: ignore[union-attr]
            for tag, data in self._messages():
                exchange.send(child, tag, data)

    def _local(self, column: int) -> int:
        """Return where the columns from ``column`` on begin in this rank's block."""
        blocks, rest = divmod(column, self.width)
        full, turn = divmod(blocks, self.size)
        if turn == self.rank:
            return full * self.width + rest
        return (full + (self.rank < turn)) * self.width

    def _rows(self, columns: tuple[int, int]) -> np.ndarray:
        at = self._local(columns[0])
        return _block(self.matrix)[at : at + columns[1] - columns[0]]

    def _make(self, panel: Panel | None) -> None:
        first, last = self.next
        rows = self._rows(self.next)
        if panel is not None and self.kind not in (Q, Back):
            self.kind.apply(panel, rows, first)
        more = self.more
        if more == "keep":
            at = self._local(first)
            more = _block(self.beside)[at : at + last - first]
        made = self.kind.make(rows, first, last, _block(self.pivots), more)
        _block(self.made)[...] = made  # type: ignore[arg-type]

    def _update(self, panel: Panel) -> None:
        """Apply a panel to the columns that come after the next one, and to all followers."""
        if self.kind not in (Q, Back):
            block = _block(self.matrix)
            at = self._local(self.next[1] if self.next else self.now[1])
            while at < len(block):
                turn, rest = divmod(at, self.width)
                stop = min(at + self.width - rest, len(block))
                column = (turn * self.size + self.rank) * self.width + rest
                self.kind.apply(panel, block[at:stop], column)
                at = stop
        for base in self.followers:
            rows = _block(base)
            for i in range(0, len(rows), _TILE):
                self.kind.apply(panel, rows[i : i + _TILE], 0)


def _block(base: LocalBase) -> np.ndarray:
    assert base.block is not None
    return base.block
