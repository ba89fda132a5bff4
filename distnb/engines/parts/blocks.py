"""Functions of blocks with halos, and of slices: each rank calls them with what it holds.

A large block is not copied whole to put its halo around it: the function is called for some of its
rows at a time, as many as fit a core's cache with what is between.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from distnb.common.calling import run_block
from distnb.common.errors import explain
from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.geometry.layout import Ints
from distnb.measure.events import COMPUTE, Clock
from distnb.plans.halos import BOUNDARIES, Box, halo_of
from distnb.wire.protocol import Collective

__all__ = ["AlongAxis", "Blocks"]

#: Bytes of a block with its halo that the function gets at a time.
_TILE = 1 << 19
#: Rows at a time, at least so many times those of the halo, which are computed twice.
_WORTH = 16


class Blocks:
    """Fill blocks with what a function makes of blocks with their halo, of arrays that lie alike.

    ``args``: the function's number and name, the halo along each axis, and the boundary, which is
    a word or a value.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        number, _, self.halo, self.boundary = command.args
        self.function = store.functions[number]
        self.store, self.rank = store, store.rank
        self.outs: list[LocalBase] = [store.bases[x.base] for x in command.outs]
        self.ins: list[LocalBase] = [store.bases[x.base] for x in command.ins]
        ranks = list(self.ins[0].layout.grid.ranks()) if any(self.halo) else [self.rank]
        boxes = {r: self._boxes(r) for r in ranks}
        self.boxes = boxes.get(self.rank, ())
        #: Peer -> the boxes that it sends here, and that it gets from here.
        self.takes = _by(self.boxes, self.rank)
        self.gives = {
            r: [box for box in of if box.rank == self.rank]
            for r, of in boxes.items()
            if r != self.rank and any(box.rank == self.rank for box in of)
        }
        self.owed: list[Key] = [(r, j) for r in self.gives for j in range(len(self.ins))]
        self.expected: list[Key] = [(r, j) for r in self.takes for j in range(len(self.ins))]

    def _boxes(self, rank: int) -> tuple[Box, ...]:
        first = self.ins[0]
        word = self.boundary if self.boundary in BOUNDARIES else None
        return halo_of(rank, first.shape, first.layout, self.halo, word)

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Send what others need, take in what this rank needs, and call the function."""
        before = clock.switch(COMPUTE)
        for j, base in enumerate(self.ins):
            for peer, boxes in self.gives.items():
                exchange.send(peer, j, _packed(base.block, boxes))
        parts = [self._parts(exchange, j, base) for j, base in enumerate(self.ins)]
        if self.boxes:
            for rows in self._tiles():
                blocks = tuple([self._block(j, of, rows) for j, of in enumerate(parts)])
                targets = tuple([_target(base)[rows] for base in self.outs])
                run_block(self.function, blocks, self.halo, targets)
        clock.switch(before)

    def _own(self, base: LocalBase, box: Box) -> np.ndarray:
        where: Any = (*box.source, ...)
        found: np.ndarray = _target(base)[where]
        return found

    def _parts(self, exchange: Exchange, j: int, base: LocalBase) -> list[tuple[Box, np.ndarray]]:
        """Return the boxes of this rank with their elements, as others sent them, or from here."""
        came: dict[int, Iterator[np.ndarray]] = {}
        for peer, boxes in self.takes.items():
            message = np.empty(sum(prod(box.shape) for box in boxes), base.dtype)
            exchange.receive(peer, j, message)
            came[peer] = _unpacked(message, boxes)
        return [
            (box, next(came[box.rank]) if box.rank in came else self._own(base, box))
            for box in self.boxes
        ]

    def _tiles(self) -> Iterator[Any]:
        """Go through the rows of this rank's block, some at a time: all where there is no halo."""
        if not any(self.halo):
            yield ...
            return
        local = _target(self.ins[0]).shape
        row = prod(m + 2 * h for m, h in zip(local[1:], self.halo[1:], strict=True))
        most = max(base.dtype.itemsize for base in self.ins)
        step = max(1, _TILE // (row * most), _WORTH * self.halo[0])
        for i in range(0, local[0], step):
            yield slice(i, min(local[0], i + step))

    def _block(self, j: int, parts: list[tuple[Box, np.ndarray]], rows: Any) -> np.ndarray:
        """Return some rows of a block with all of their halo."""
        if not any(self.halo):
            return parts[0][1].view()
        local = _target(self.ins[j]).shape
        shape = [m + 2 * h for m, h in zip(local, self.halo, strict=True)]
        shape[0] = rows.stop - rows.start + 2 * self.halo[0]
        block: np.ndarray = self.store.memory.allocate(tuple(shape), self.ins[j].dtype)
        if self.boundary not in BOUNDARIES:
            _fill_margin(block, self.halo, self.boundary)
        for box, elements in parts:
            first, *others = box.place
            low, high = max(first.start, rows.start), min(first.stop, rows.start + shape[0])
            if low < high:
                one = len(elements) == 1  # the same for all places, or there is only one
                some = elements if one else elements[low - first.start : high - first.start]
                block[(slice(low - rows.start, high - rows.start), *others)] = some
        return block


class AlongAxis(SingleEngine):
    """Fill with what a function makes of each slice along an axis, which is whole on each rank.

    ``args``: the function's number and name, the axis, and the shape of what it returns, which
    stands in its place.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.function = store.functions[self.args[0]]

    def work(self) -> None:
        """Call the function for each slice."""
        _, _, axis, shape = self.args
        block, target = self.ins[0].block, self.out.block
        assert block is not None
        assert target is not None
        slices = np.moveaxis(block, axis, -1)
        slices.flags.writeable = False
        made = range(axis, axis + len(shape))
        found = np.moveaxis(target, made, range(-len(shape), 0))
        for place in np.ndindex(slices.shape[:-1]):
            one = self.function(slices[place])
            if one.shape != shape:
                raise ValueError(
                    explain(
                        "function of apply_along_axis()",
                        f"shape {one.shape}",
                        f"{shape}, as for the first slice",
                        "return as much for any slice",
                    )
                )
            found[place] = one


def _fill_margin(block: np.ndarray, halo: Ints, value: Any) -> None:
    """Fill the margin of a block; what is known of it is written over that."""
    for a, h in enumerate(halo):
        if h:
            lead = (slice(None),) * a
            block[(*lead, slice(0, h))] = block[(*lead, slice(-h, None))] = value


def _by(boxes: tuple[Box, ...], rank: int) -> dict[int, list[Box]]:
    """Return the boxes of each other rank."""
    others = sorted((box for box in boxes if box.rank != rank), key=lambda box: box.rank)
    return {r: list(of) for r, of in groupby(others, key=lambda box: box.rank)}


def _packed(block: np.ndarray | None, boxes: list[Box]) -> np.ndarray:
    """Return the elements of some boxes, one after the other."""
    assert block is not None
    return np.concatenate([block[box.source].reshape(-1) for box in boxes])


def _unpacked(message: np.ndarray, boxes: list[Box]) -> Iterator[np.ndarray]:
    """Go through the elements of some boxes."""
    at = 0
    for box in boxes:
        end = at + prod(box.shape)
        yield message[at:end].reshape(box.shape)
        at = end


def _target(base: LocalBase) -> np.ndarray:
    assert base.block is not None
    return base.block
