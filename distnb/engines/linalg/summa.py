"""Products of matrices on a grid: panels travel along its rows and columns, results stay.

The algorithm is SUMMA (van de Geijn and Watts, "SUMMA: scalable universal matrix multiplication
algorithm", 1997). All three matrices are in blocks on one grid. One command is one step: the owners
of the next panels, some columns of the left and the same rows of the right matrix, send them; then
all multiply the current ones, while the messages travel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.collectives.reductions import Tree
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Product"]

#: Rows whose products are added at a time: what is between stays in the cache.
_TILE = 256


class _Panel:
    """The next columns of the left matrix (axis 1), or rows of the right one (axis 0)."""

    def __init__(
        self, source: LocalBase, made: LocalBase, axis: int, part: tuple[int, int], rank: int
    ):
        layout, n = source.layout, source.shape[axis]
        grid, kind, parts = layout.grid, layout.axes[axis], layout.parts(axis)
        owner = kind.owner(n, parts, part[0])
        at = list(grid.coords(rank) or ())
        first = kind.to_local(n, parts, part[0])
        self.tag = axis
        self.source, self.made = source, made
        self.where = (slice(None),) * axis + (slice(first, first + part[1] - part[0]),)
        members = []
        for i in range(parts):
            at[axis] = (owner + i) % parts
            members.append(grid.rank(at))
        self.tree = Tree(members, rank)

    def begin(self, exchange: Exchange) -> None:
        """Cut the panel out and send it, if this rank has it."""
        if self.tree.parent is None:
            _block(self.made)[...] = _block(self.source)[self.where]
            self._pass_on(exchange)

    def end(self, exchange: Exchange) -> None:
        """Receive it, if another one has it."""
        if self.tree.parent is not None:
            exchange.receive(self.tree.parent, self.tag, _block(self.made))
            self._pass_on(exchange)

    def _pass_on(self, exchange: Exchange) -> None:
        for child in self.tree.children:
            exchange.send(child, self.tag, _block(self.made))


class Product:
    """Multiply the current panels, and bring the next ones.

    ``command.args`` are the indices (first, last) along the summed axis of the current and of the
    next panels (either may be empty); ``command.outs`` are the result and the next panels,
    ``command.ins`` the operands and the current ones.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.now, following = command.args
        self.out, *made = [store.bases[x.base] for x in command.outs]
        left, right, *self.current = [store.bases[x.base] for x in command.ins]
        self.panels: list[_Panel] = []
        if following and left.layout.grid.coords(store.rank) is not None:
            self.panels = [
                _Panel(source, panel, axis, following, store.rank)
                for source, panel, axis in zip((left, right), made, (1, 0), strict=True)
                if store.elements(panel)
            ]

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: the next panels, down trees from their owners."""
        return [(child, p.tag) for p in self.panels for child in p.tree.children]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return [(p.tree.parent, p.tag) for p in self.panels if p.tree.parent is not None]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Send what this rank has of the next panels, multiply, receive the rest."""
        before = clock.switch(COMPUTE)
        for panel in self.panels:
            panel.begin(exchange)
        if self.now and self.out.block is not None:
            left, right = map(_block, self.current)
            self._multiply(left, right)
        for panel in self.panels:
            panel.end(exchange)
        clock.switch(before)

    def _multiply(self, left: np.ndarray, right: np.ndarray) -> None:
        out = _block(self.out)
        if self.now[0] == 0:
            np.matmul(left, right, out=out)
            return
        for i in range(0, len(out), _TILE):
            out[i : i + _TILE] += left[i : i + _TILE] @ right


def _block(base: LocalBase) -> Any:
    assert base.block is not None
    return base.block
