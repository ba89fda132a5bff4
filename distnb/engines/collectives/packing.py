"""Boxes of elements on their way from rank to rank, in strips that suit who reads 1-D slices.

A *pack buffer* is dense memory for the elements of a box, cut into strips along its last axis: one
strip after the other, each in C order. Who writes rows and who reads a few columns of all rows both
walk along memory then, in long runs, which strides of a power of two and small pages make slow
otherwise. Ranks of the same node read each other's pack buffers in place. Or they let each other
write into their *target buffers*: the blocks where the elements are to be in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import prod
from typing import NamedTuple, cast

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.geometry.boxes import (
    Box,
    box_of,
    meet,
    sizes,
    within,
)

__all__ = ["PackBuffer", "Packing", "Sent", "TargetBuffers"]


class PackBuffer:
    """The elements of a box, in strips of ``width`` along the last axis."""

    def __init__(self, box: Box, flat: np.ndarray, width: int) -> None:
        *outer, last = sizes(box)
        full, rest = divmod(last, width)
        cut = prod(outer) * full * width
        self.box = box
        #: (first index along the last axis, strips of one width)
        self._strips = [
            (box[-1][0], flat[:cut].reshape(full, *outer, width)),
            (box[-1][1] - rest, flat[cut:].reshape(int(rest > 0), *outer, rest)),
        ]

    def put(self, region: Box, values: np.ndarray, move: Callable[..., object] = np.copyto) -> None:
        """Set a part of the box; ``move(into, values)`` does that."""
        for mine, theirs in self._pairs(region, values):
            move(mine, theirs)

    def get(self, region: Box, into: np.ndarray) -> None:
        """Read a part of the box."""
        for mine, theirs in self._pairs(region, into):
            theirs[...] = mine

    def regions(self) -> Iterator[tuple[Box, np.ndarray]]:
        """Enumerate the strips."""
        for first, strips in self._strips:
            for i, strip in enumerate(strips):
                at = first + i * strip.shape[-1]
                yield (*self.box[:-1], (at, at + strip.shape[-1])), strip

    def _pairs(self, region: Box, values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Enumerate what belongs together of the strips and of the values of a part."""
        outer = within(region[:-1], self.box[:-1])
        first = region[-1][0]
        for low, strips in self._strips:
            width = strips.shape[-1]
            common = meet(region[-1:], ((low, low + len(strips) * width),))
            for i, j in _cuts(*common[0], low, width) if common else ():
                k, at = divmod(i - low, width)
                count = max(1, (j - i) // width)
                wide = (j - i) // count
                theirs = values[..., i - first : j - first]
                theirs = theirs.reshape(*theirs.shape[:-1], count, wide)
                yield (
                    strips[(slice(k, k + count), *outer, slice(at, at + wide))],
                    np.moveaxis(theirs, -2, 0),
                )


def _cuts(first: int, end: int, low: int, width: int) -> Iterator[tuple[int, int]]:
    """Cut an interval into whole strips, and what is before and after them.

    >>> list(_cuts(3, 14, 0, 4)), list(_cuts(5, 7, 0, 4))
    ([(3, 4), (4, 12), (12, 14)], [(5, 7)])
    """
    begin, stop = low - (low - first) // width * width, low + (end - low) // width * width
    cuts = [first, end] if begin > stop else [first, begin, stop, end]
    yield from ((i, j) for i, j in pairwise(cuts) if i < j)


class Sent(NamedTuple):
    """A pack buffer between two ranks: the other one, its tag, and its box."""

    peer: int
    tag: int
    box: Box


class Packing:
    """The pack buffers that one rank fills, and those that it opens.

    Parameters
    ----------
    store : BaseTable
        That of the rank.
    dtype, width
        What the elements are, and how wide strips are.
    sends, receives : list of Sent
        What goes out and what comes in; those to itself are in ``sends`` only, and first.
    end_tag : int
        Tag of the messages that end reading in place.

    Attributes
    ----------
    owed, expected : list of (peer, tag)
        The messages, those that end reading in place included.
    packed, opened : dict
        The pack buffers, by peer and tag.
    """

    def __init__(
        self,
        store: BaseTable,
        dtype: np.dtype,
        width: int,
        sends: list[Sent],
        receives: list[Sent],
        end_tag: int,
    ) -> None:
        self._store, self.dtype, self._width = store, dtype, width
        self._sends, self._receives = sends, receives
        self._reads_owed = sorted({(s.peer, end_tag) for s in receives if self._in_place(s)})
        self._reads_awaited = sorted({(s.peer, end_tag) for s in sends if self._in_place(s)})
        away = [(s.peer, s.tag) for s in sends if s.peer != store.rank]
        self.owed: list[Key] = away + self._reads_owed
        self.expected: list[Key] = [(s.peer, s.tag) for s in receives] + self._reads_awaited
        self.packed: dict[Key, PackBuffer] = {}
        self.opened: dict[Key, PackBuffer] = {}
        #: What was taken from the pool for buffers that go out, by peer and tag.
        self._memory: dict[Key, np.ndarray] = {}

    def _nbytes(self, sent: Sent) -> int:
        return prod(sizes(sent.box)) * self.dtype.itemsize

    def _in_place(self, sent: Sent) -> bool:
        """Tell whether a buffer is read in place; both ranks find the same."""
        node = self._store.memory.node
        near = node is not None and sent.peer in node.ranks and sent.peer != self._store.rank
        return near and node is not None and self._nbytes(sent) >= node.least

    def pack(self) -> list[PackBuffer]:
        """Return buffers to be filled."""
        for sent in self._sends:
            key = sent.peer, sent.tag
            self._memory[key] = self._store.memory.take(
                self._nbytes(sent), shared=self._in_place(sent)
            )
            flat = self._memory[key].view(self.dtype)
            self.packed[key] = PackBuffer(sent.box, flat, self._width)
        return list(self.packed.values())

    def send(self, exchange: Exchange) -> None:
        """Send what was packed, or tell where it is."""
        for sent in self._sends:
            memory = self._memory[sent.peer, sent.tag]
            if sent.peer == self._store.rank:
                continue
            if self._in_place(sent):
                place = np.array([self._store.memory.offset(memory)], np.int64)
                exchange.send(sent.peer, sent.tag, place, memory.nbytes)
            else:
                exchange.send(sent.peer, sent.tag, memory)

    def open(self, exchange: Exchange) -> list[PackBuffer]:
        """Wait for what comes; return it with what this rank has packed for itself."""
        for sent in self._receives:
            flat = self._receive(sent, exchange)
            self.opened[sent.peer, sent.tag] = PackBuffer(sent.box, flat, self._width)
        own = [p for (peer, _), p in self.packed.items() if peer == self._store.rank]
        return own + list(self.opened.values())

    def _receive(self, sent: Sent, exchange: Exchange) -> np.ndarray:
        count = prod(sizes(sent.box))
        if not self._in_place(sent):
            memory = self._store.memory.take(self._nbytes(sent))
            exchange.receive(sent.peer, sent.tag, memory)
            return memory.view(self.dtype)
        place = np.empty(1, np.int64)
        exchange.receive(sent.peer, sent.tag, place)
        return self._store.memory.block(sent.peer, int(place[0]), count, self.dtype)

    def end_reads(self, exchange: Exchange) -> None:
        """Tell others that this rank has read all."""
        self.opened.clear()
        for peer, tag in self._reads_owed:
            exchange.refuse(peer, tag)

    def close(self, exchange: Exchange) -> None:
        """Free what was packed, as soon as all have it."""
        for peer, tag in self._reads_awaited:
            exchange.drop(peer, tag)
        exchange.finish()
        self.packed.clear()
        for key in list(self._memory):  # the first is the first that the pool lets go
            del self._memory[key]


class TargetBuffers:
    """The blocks of a base that ranks of a node let each other write to, in place of sending.

    Parameters
    ----------
    store, base
        Those of this rank. All of the base is written by the command.
    sends, receives : list of Sent
        What goes out and what comes in, of which pairs of ranks that are near need send nothing.
    tag : int
        That of the messages that tell where a block is; the next one is that of what is said when
        all is written.

    Attributes
    ----------
    owed, expected : list of (peer, tag)
        The messages.
    sends, receives : list of Sent
        What must be sent even so.
    """

    def __init__(
        self, store: BaseTable, base: LocalBase, sends: list[Sent], receives: list[Sent], tag: int
    ) -> None:
        self._store, self._base = store, base
        self._tag = tag
        #: rank -> bytes that this rank writes there, or that rank here
        self._hosts, self._guests = self._near(sends), self._near(receives)
        self.sends = [sent for sent in sends if sent.peer not in self._hosts]
        self.receives = [sent for sent in receives if sent.peer not in self._guests]
        self.owed = [(r, tag) for r in self._guests] + [(r, tag + 1) for r in self._hosts]
        self.expected = [(r, tag) for r in self._hosts] + [(r, tag + 1) for r in self._guests]

    def _near(self, several: list[Sent]) -> dict[int, int]:
        """Return the ranks of the node that get, or give, enough."""
        node, total = self._store.memory.node, dict[int, int]()
        for sent in several:
            if node is not None and sent.peer in node.ranks:
                nbytes = prod(sizes(sent.box)) * self._base.dtype.itemsize
                total[sent.peer] = total.get(sent.peer, 0) + nbytes
        return {r: n for r, n in total.items() if node is not None and n >= node.least}

    def offer(self, exchange: Exchange) -> None:
        """Tell others where this rank's block is."""
        if not self._guests:
            return
        self._store.expose(self._base, ())
        place = self._store.memory.offset(cast(np.ndarray, self._base.block))
        for peer in self._guests:
            exchange.tell(peer, self._tag, np.array([place], np.int64))

    def open(self, exchange: Exchange) -> list[PackBuffer]:
        """Wait until all hosts have said where their blocks are; return these to be filled."""
        found, base = [], self._base
        for peer in self._hosts:
            place = np.empty(1, np.int64)
            exchange.receive(peer, self._tag, place)
            box = box_of(base.layout, base.shape, peer)
            assert box is not None
            flat = self._store.memory.block(peer, int(place[0]), prod(sizes(box)), base.dtype)
            found.append(PackBuffer(box, flat, sizes(box)[-1]))
        return found

    def leave(self, exchange: Exchange) -> None:
        """Tell hosts that all is written."""
        for peer, nbytes in self._hosts.items():
            exchange.send(peer, self._tag + 1, np.ones(1, np.uint8), nbytes)

    def close(self, exchange: Exchange) -> None:
        """Wait until all guests have written."""
        for peer in self._guests:
            exchange.receive(peer, self._tag + 1, np.empty(1, np.uint8))
