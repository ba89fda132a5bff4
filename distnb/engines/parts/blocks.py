"""Functions of blocks with halos, and of slices: each rank calls them with what it holds.

A block is not copied to put its halo around it: its inside has its halo in the block, and is seen
there, some rows at a time, whose results stay in a core's cache until they are copied, or are
written by the function itself. Only what is around the inside is put together. A block that is
overwritten is copied some rows at a time, with those before them as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import prod
from typing import Any, TypeAlias

import numpy as np

from distnb.common.calling import run_block, run_slices
from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.plans.halos import BOUNDARIES, Box, halo_of
from distnb.wire.protocol import Collective

__all__ = ["AlongAxis", "Blocks", "Stacks"]

#: Bytes of results that the function computes at a time.
_TILE = 1 << 21
#: A block that is so many times as long as the halo has an inside, seen where it lies.
_WORTH = 8

#: Indices of a rank's block along each axis.
Region: TypeAlias = tuple[slice, ...]


class Blocks:
    """Fill blocks with what a function makes of blocks with their halo, of arrays that lie alike.

    ``args``: the function's number and name, the halo along each axis, the boundary, which is
    a word or a value, and whether the function ``'returns'`` or ``'fills'`` what it gets as
    ``out=``, or is a ``'ufunc'`` that does, which may overwrite what it reads. Blocks that are
    read may be filled; what is filled is the last that is read.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        number, _, self.halo, self.boundary, self.how = command.args
        self.function = store.functions[number]
        self.store, self.rank = store, store.rank
        self.outs: list[LocalBase] = [store.bases[x.base] for x in command.outs]
        ins = command.ins[: -len(self.outs)] if self.how == "fills" else command.ins
        self.ins: list[LocalBase] = [store.bases[x.base] for x in ins]
        written = {x.base for x in command.outs if self.how != "ufunc"}
        #: Arrays that are overwritten while they are read -> their last rows before that.
        self.before: dict[int, np.ndarray | None] = {
            j: None for j, x in enumerate(ins) if x.base in written
        }
        ranks = list(self.ins[0].layout.grid.ranks()) if any(self.halo) else [self.rank]
        boxes = {r: self._boxes(r) for r in ranks}
        self.boxes = boxes.get(self.rank, ())
        #: Number of an array -> its boxes with their elements, once others have sent them.
        self.parts: dict[int, list[tuple[Box, np.ndarray]]] = {}
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
        """Send what others need, and call the function, first where nothing of others is needed."""
        before = clock.switch(COMPUTE)
        for j, base in enumerate(self.ins):
            for peer, boxes in self.gives.items():
                exchange.send(peer, j, _packed(base.block, boxes))
        for region in self._regions() if self.boxes else ():
            blocks = tuple([self._block(exchange, j, region) for j in range(len(self.ins))])
            targets = tuple([_seen(_target(base), region) for base in self.outs])
            run_block(self.function, blocks, self.halo, targets, self.how != "returns")
        clock.switch(before)

    def _parts(self, exchange: Exchange, j: int) -> list[tuple[Box, np.ndarray]]:
        """Return the boxes of this rank with their elements, as others sent them, or from here."""
        if j in self.parts:
            return self.parts[j]
        base = self.ins[j]
        came: dict[int, Iterator[np.ndarray]] = {}
        for peer, boxes in self.takes.items():
            message = np.empty(sum(prod(box.shape) for box in boxes), base.dtype)
            exchange.receive(peer, j, message)
            came[peer] = _unpacked(message, boxes)
        found = self.parts[j] = [
            (box, next(came[box.rank]) if box.rank in came else _seen(_target(base), box.source))
            for box in self.boxes
        ]
        if j in self.before:  # but the block itself, whose first rows go first
            found[1:] = [(box, x.copy() if box.rank == self.rank else x) for box, x in found[1:]]
        return found

    def _regions(self) -> Iterator[Region]:
        """Go through regions that cover this rank's block: its inside, and what is around that.

        The inside is seen where it lies, as its halo is in the block, too.
        """
        local = _target(self.ins[0]).shape
        whole = tuple([slice(0, n) for n in local])
        if not any(self.halo):
            yield from self._tiles(whole, None if self.how == "ufunc" else self._cut())
            return
        if self.before or any(n < _WORTH * h for n, h in zip(local, self.halo, strict=True)):
            yield from self._tiles(whole)
            return
        inside = tuple([slice(h, n - h) for n, h in zip(local, self.halo, strict=True)])
        yield from self._tiles(inside)
        for a, (n, h) in enumerate(zip(local, self.halo, strict=True)):
            if h:
                for edge in (slice(0, h), slice(n - h, n)):
                    yield (*inside[:a], edge, *whole[a + 1 :])

    def _cut(self) -> int | None:
        """Return the first axis that is cut among ranks: nothing may depend on how it is cut."""
        dims = self.ins[0].layout.dims
        return next((a for a, d in enumerate(dims) if d >= 0), None)

    def _tiles(self, region: Region, axis: int | None = 0) -> Iterator[Region]:
        """Cut a region along an axis into some that fit a core's cache."""
        if axis is None:
            yield region
            return
        of = region[axis]
        row = prod(o.stop - o.start for a, o in enumerate(region) if a != axis)
        most = max(base.dtype.itemsize for base in (*self.ins, *self.outs))
        step = max(1, _TILE // max(1, row * most), self.halo[axis])
        for i in range(of.start, of.stop, step):
            yield (*region[:axis], slice(i, min(of.stop, i + step)), *region[axis + 1 :])

    def _block(self, exchange: Exchange, j: int, region: Region) -> np.ndarray:
        """Return a region of this rank's block with all of its halo, for which it may wait."""
        own = _target(self.ins[j])
        pairs = list(zip(region, self.halo, own.shape, strict=True))
        if j not in self.before and all(of.start >= h and of.stop + h <= n for of, h, n in pairs):
            return _seen(own, tuple([slice(of.start - h, of.stop + h) for of, h, _ in pairs]))
        shape = tuple([of.stop - of.start + 2 * h for of, h, _ in pairs])
        block: np.ndarray = self.store.memory.allocate(shape, own.dtype)
        if self.boundary not in BOUNDARIES:
            block[...] = self.boundary
        for box, elements in self._parts(exchange, j):
            _place(block, region, box, elements)
        if j in self.before:
            self._remember(j, block)
        return block

    def _remember(self, j: int, block: np.ndarray) -> None:
        """Give a block the rows before it as they were; keep those before the next one."""
        if self.halo and (h := self.halo[0]):
            before = self.before[j]
            if before is not None:
                block[:h] = before
            self.before[j] = block[len(block) - 2 * h : len(block) - h].copy()


def _place(block: np.ndarray, region: Region, box: Box, elements: np.ndarray) -> None:
    """Write what a box has of a region with its halo."""
    to, of = [], []
    for place, part, n, length in zip(box.place, region, elements.shape, block.shape, strict=True):
        low, high = max(place.start, part.start), min(place.stop, part.start + length)
        if low >= high:
            return
        to.append(slice(low - part.start, high - part.start))
        same = n < place.stop - place.start  # one index for many
        of.append(slice(None) if same else slice(low - place.start, high - place.start))
    block[tuple(to)] = elements[tuple(of)]


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
        run_slices(self.function, axis, block, target, shape)


class Stacks(SingleEngine):
    """Fill with what a ufunc of last axes makes of blocks; ``args``: its number and name."""

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.function = store.functions[self.args[0]]
        self.outs = [store.bases[x.base] for x in command.outs]
        self.out = max(self.outs, key=lambda base: 0 if base.block is None else base.block.size)

    def work(self) -> None:
        """Call the function once."""
        self.function(*[_target(base) for base in (*self.ins, *self.outs)])


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


def _seen(block: np.ndarray, region: Region) -> np.ndarray:
    """Return a look at a region of a block, of one without axes too."""
    where: tuple[Any, ...] = (*region, ...)
    found: np.ndarray = block[where]
    return found


def _target(base: LocalBase) -> np.ndarray:
    assert base.block is not None
    return base.block
