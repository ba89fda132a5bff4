"""Fourier transforms along two axes, with a redistribution between them.

The first transform writes its results into pack buffers for the ranks that are to have them, and
the second takes its 1-D slices from what came: tile by tile, in the cache, so the redistribution
costs no pass of its own. Of real elements half of the result is computed; the other half is its
conjugate, and goes where it belongs in a second redistribution, in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from distnb.engines.collectives.fourier import length, transform
from distnb.engines.collectives.packing import (
    PackBuffer,
    Packing,
    Sent,
    TargetBuffers,
)
from distnb.engines.fusion.reduction_blocks import Scratch, tiles
from distnb.engines.runtime.exchange import TAGS_PER_COMMAND, Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.geometry.boxes import (
    Box,
    box_of,
    half_of,
    images,
    meet,
    reflected,
    sizes,
    within,
)
from distnb.geometry.layout import Ints
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Pencils"]

#: Bytes of a tile of complex 1-D slices: what lies in a core's L3 cache is taken twice from there,
#: and wide strips count for more (half as many bytes were 4 % slower, twice as many no faster).
TILE = 1 << 21
#: Strips are at least so wide: some lines of the cache.
NARROWEST = 8

#: Tags of messages: pack buffers have the first ones.
_END = TAGS_PER_COMMAND - 1
_PLACE = TAGS_PER_COMMAND - 4


class Pencils:
    """Transform along an axis, redistribute, transform along another that is whole then.

    ``args`` are the two transforms, as (name, axis, n, norm), the first of which may be None; the
    dtype of what travels; and None, or for real elements the axis of which half is computed, and
    the others along which indices of conjugates change sign. All bases lie in boxes.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.first, self.second, dtype, self.hermitian = command.args
        self.store = store
        self.source: LocalBase = store.bases[command.ins[0].base]
        self.out: LocalBase = store.bases[command.outs[0].base]
        self.between = _transformed(self.source.shape, self.first)
        #: What this rank computes: the 1-D slices that the second transform takes, and gives.
        self.computed = self._computed(self.between, store.rank)
        longest = max(step[2] for step in (self.first, self.second) if step)
        self.itemsize = np.result_type(self.out.dtype, np.complex64).itemsize
        self.width = max(NARROWEST, TILE // (longest * self.itemsize))
        computed = partial(self._computed, self.between)
        out = partial(box_of, self.out.layout, self.out.shape)
        sends, receives = self._routes(0, self._rows, computed)
        self.packing = Packing(store, np.dtype(dtype), self.width, sends, receives, _END)
        sends, receives = self._routes(1, self._halves, out) if self.hermitian else ([], [])
        self.targets = TargetBuffers(store, self.out, sends, receives, _PLACE)
        left = self.targets.sends, self.targets.receives
        self.rest = Packing(store, self.out.dtype, self.width, *left, _END - 1)

    def _computed(self, shape: Ints, rank: int) -> Box | None:
        """Return the 1-D slices that the second transform takes or gives on a rank."""
        if self.hermitian is None:
            return box_of(self.out.layout, shape, rank)
        return half_of(self.out.layout, shape, rank, self.hermitian[0])

    def _rows(self, rank: int) -> list[Box]:
        """Return what the first transform gives on a rank."""
        box = box_of(self.source.layout, self.between, rank)
        return [] if box is None else [box]

    def _halves(self, rank: int) -> list[Box]:
        """Return the boxes that a rank computes, and those of the conjugates."""
        box = self._computed(_transformed(self.between, self.second), rank)
        if box is None:
            return []
        half, others = self.hermitian
        return [box, *images(box, self.out.shape, half, others, apart=False)]

    def _routes(
        self, first: int, filled: Callable[[int], list[Box]], wanted: Callable[[int], Box | None]
    ) -> tuple[list[Sent], list[Sent]]:
        """Return what goes out and what comes in, if ranks fill boxes and want parts of them."""
        rank = self.store.rank

        def between(sender: int, receiver: int, peer: int) -> Iterator[Sent]:
            box_there = wanted(receiver)
            for tag, box in enumerate(filled(sender), first):
                common = meet(box, box_there)
                if common is not None:
                    yield Sent(peer, tag, common)

        ranks = {*self.source.layout.grid.ranks(), *self.out.layout.grid.ranks()}
        others = sorted(ranks - {rank})
        mine = [] if first else [rank]  # what is computed goes to its place at once
        sends = [sent for r in mine + others for sent in between(rank, r, r)]
        return sends, [sent for r in others for sent in between(r, rank, r)]

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends."""
        return self.packing.owed + self.targets.owed + self.rest.owed

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return self.packing.expected + self.targets.expected + self.rest.expected

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Transform, send, transform what came, and bring it where it belongs."""
        before = clock.switch(COMPUTE)
        self.targets.offer(exchange)
        self._transform_rows(self.packing.pack())
        self.packing.send(exchange)
        self._transform_columns(
            self.packing.open(exchange),
            [*self._own(), *self.targets.open(exchange), *self.rest.pack()],
        )
        self.packing.end_reads(exchange)
        self.targets.leave(exchange)
        self.rest.send(exchange)
        self._fill(self.rest.open(exchange))
        self.rest.end_reads(exchange)
        self.targets.close(exchange)
        self.packing.close(exchange)
        self.rest.close(exchange)
        clock.switch(before)

    def _own(self) -> list[PackBuffer]:
        """Return this rank's part of the result as a buffer of one strip."""
        box, block = box_of(self.out.layout, self.out.shape, self.store.rank), self.out.block
        if box is None or block is None:
            return []
        return [PackBuffer(box, block.reshape(-1), sizes(box)[-1])]

    def _tiles(self, box: Box, step: Any) -> Iterator[Box]:
        """Cut a box into tiles of whole 1-D slices: of rows if there is nothing to transform."""
        shape = sizes(box)
        _, axis, n, _ = step or (None, len(shape) - 1, 0, None)
        for tile in tiles(shape, self._tile(shape, axis, n)):
            yield tuple(
                [(low + s.start, low + s.stop) for (low, _), s in zip(box, tile, strict=True)]
            )

    def _tile(self, shape: Ints, axis: int, n: int) -> Ints:
        """Return the lengths of a tile: a strip of 1-D slices, as long as it fits the cache."""
        lengths, last = [1] * len(shape), len(shape) - 1
        lengths[last] = min(self.width, shape[last])
        lengths[axis] = shape[axis]
        nbytes = max(n, shape[axis]) * self.itemsize
        left = TILE // (nbytes if axis == last else nbytes * lengths[last])
        for d in reversed(range(last)):
            if d != axis:
                lengths[d] = max(1, min(shape[d], left))
                left //= lengths[d]
        return tuple(lengths)

    def _transform_rows(self, buffers: list[PackBuffer]) -> None:
        """Transform what this rank holds."""
        box = box_of(self.source.layout, self.source.shape, self.store.rank)
        block = self.source.block
        if box is None or block is None:
            return
        scratch = Scratch()
        for region in self._tiles(box, self.first):
            values = block[within(region, box)]
            if self.first is not None:
                values = _transform(values, self.first, scratch)
            _put(_done(region, self.first), values, buffers)

    def _transform_columns(self, buffers: list[PackBuffer], targets: list[PackBuffer]) -> None:
        """Transform what came, a tile at a time."""
        if self.computed is None:
            return
        scratch, dtype = Scratch(), self.packing.dtype
        for region in self._tiles(self.computed, self.second):
            (values,) = scratch.take([dtype], sizes(region))
            for buffer in buffers:
                common = meet(region, buffer.box)
                if common is not None:
                    buffer.get(common, values[within(common, region)])
            name, axis, n, norm = self.second
            found = transform(values, name, axis, n, norm, spare=True)
            done = _done(region, self.second)
            _put(done, found, targets)
            if self.hermitian is not None:
                self._put_conjugates(done, found, targets)

    def _put_conjugates(self, region: Box, values: np.ndarray, targets: list[PackBuffer]) -> None:
        """Put the conjugates of a tile where they belong."""
        how = self.out.shape, *self.hermitian
        for image in images(region, *how):
            for target in targets:
                common = meet(image, target.box)
                if common is not None:
                    target.put(common, values[reflected(common, region, *how)], _conjugate)

    def _fill(self, buffers: list[PackBuffer]) -> None:
        """Put what others computed into this rank's part of the result."""
        own = self._own()
        for buffer in buffers:
            for region, values in buffer.regions():
                _put(region, values, own)


def _transform(values: np.ndarray, step: Any, scratch: Scratch) -> np.ndarray:
    """Transform 1-D slices; those that run across memory are first brought close together."""
    name, axis, n, norm = step
    across = axis < values.ndim - 1
    if across:
        (dense,) = scratch.take([values.dtype], values.shape)
        dense[...] = values
        values = dense
    return transform(values, name, axis, n, norm, spare=across)


def _conjugate(into: np.ndarray, values: np.ndarray) -> None:
    np.conjugate(values, out=into)
    into.imag += 0.0  # -0.0 where NumPy, which computes both halves, has 0.0


def _put(region: Box, values: np.ndarray, targets: list[PackBuffer]) -> None:
    """Copy the values of a region to where parts of it belong."""
    for target in targets:
        common = meet(region, target.box)
        if common is not None:
            target.put(common, values[within(common, region)])


def _done(region: Box, step: Any) -> Box:
    """Return the box of what a transform gives for a box of whole 1-D slices."""
    if step is None:
        return region
    name, axis, n, _ = step
    return (*region[:axis], (0, length(name, n)), *region[axis + 1 :])


def _transformed(shape: Ints, step: Any) -> Ints:
    """Return the shape of what a transform gives."""
    return tuple([end for _, end in _done(tuple((0, n) for n in shape), step)])
