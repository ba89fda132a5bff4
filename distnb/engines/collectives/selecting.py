"""Selection: the elements at given positions of the sorted 1-D slices, which nobody puts in order.

Each engine sorts its part, and the splitters for a position tell how many elements of each engine
come before it. The element is then the smallest of those that are next: each engine sends one, and
the root picks. So what travels does not depend on how long the 1-D slices are, but for the number
of rounds. 1-D slices may run along several axes, and these may be split in any way.
"""

from __future__ import annotations

import numpy as np

from distnb.engines.collectives.splitters import Splitters, line_of
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.geometry.layout import Ints
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Select"]

#: With more positions than these, sorting is faster than partitioning around them.
_FEW = 16


class Select:
    """Take elements of a whole base by their positions in sorted order, on one rank.

    ``command.ins`` are the elements and the positions: of each 1-D slice its own, along the first
    axis. The output has the shape and the layout of the positions: the axes that are kept are split
    as those of the elements, and every engine that shares a 1-D slice has a copy. ``command.args``
    are the axes along which 1-D slices run.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.axes: Ints = command.args[0]
        self.base, self.at = (store.bases[x.base] for x in command.ins)
        self.out = store.bases[command.outs[0].base]
        self.line = line_of(self.base, self.axes, store.rank)
        n = int(self.line.held.sum())
        self.splitters = Splitters(self.line, n)
        self.silent = store.elements(self.out) == 0

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: those of the splitters, and what is next up and down."""
        return [] if self.silent else self.splitters.messages(more=1)

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in: an answer to each, under the same tag."""
        return self.owed

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Sort a copy of the rank's part, find what comes before each position, and pick."""
        out, block, at = self.out.block, self.base.block, self.at.block
        if self.silent or out is None or block is None or at is None:
            return
        wanted = at.reshape(len(at), -1)
        alone = len(self.line.members) == 1
        before = clock.switch(COMPUTE)
        rows = _in_order(_lanes(block, self.axes), wanted if alone else None)
        clock.switch(before)
        if alone:
            found = _at(rows, wanted)
        else:
            low = self.splitters.find(rows, wanted, exchange, clock)
            found = self._pick(rows, low, exchange)
        out[...] = found.reshape(out.shape)

    def _pick(self, rows: np.ndarray, low: np.ndarray, exchange: Exchange) -> np.ndarray:
        """Return the smallest of all engines' next elements: [position, slice]."""
        held, splitters = self.line.held, self.splitters
        mine = low[self.line.me]
        nearest = np.minimum(mine, max(rows.shape[1] - 1, 0))
        best = _at(rows, nearest) if rows.shape[1] else np.zeros(mine.shape, rows.dtype)
        found = splitters.gather(best, splitters.rounds, exchange)
        if splitters.tree.parent is None:
            order = np.argsort(found, axis=0, kind="stable")
            left = np.take_along_axis(low < held[:, None, None], order, axis=0)
            first = np.take_along_axis(order, left.argmax(axis=0)[None], axis=0)
            best = np.take_along_axis(found, first, axis=0)[0]
        return splitters.spread(best, splitters.rounds, exchange)


def _lanes(block: np.ndarray, axes: Ints) -> np.ndarray:
    """Return a copy of a block with a row for each 1-D slice."""
    kept = [d for d in range(block.ndim) if d not in axes]
    moved = block.transpose(kept + list(axes))
    count = int(np.prod([block.shape[d] for d in kept], dtype=int))
    width = int(np.prod([block.shape[d] for d in axes], dtype=int))
    return np.array(moved, order="C").reshape(count, width)


def _in_order(rows: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
    """Sort rows in place, or as far as to have the wanted positions right."""
    places = None if wanted is None else np.unique(wanted)
    if places is not None and len(places) <= _FEW:
        rows.partition(places, axis=-1)
    else:
        rows.sort(axis=-1)
    return rows


def _at(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return elements by position: [position, slice]."""
    return rows[np.arange(len(rows)), places]
