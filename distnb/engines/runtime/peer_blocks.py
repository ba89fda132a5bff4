"""Whole blocks that ranks of a node read in each other's memory, in one command.

What of a block is read depends on elements that only the reader knows. So its owner tells where in
its shared segment the block is, and the reader says with an empty message that it has read all; the
owner ends the command only then (as in :mod:`distnb.engines.runtime.zero_copy`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase

__all__ = ["PeerBlocks"]


class PeerBlocks:
    """Blocks of some bases that this rank lets others read, and that it reads at others.

    Parameters
    ----------
    store, bases
        Those of this rank.
    readers : mapping of int to int
        Rank -> bytes that it reads here.
    owners : sequence of int
        The ranks at which this one reads.
    tag : int
        That of the messages that tell where blocks are; the next one is that of those that end
        reading.

    Attributes
    ----------
    owed, expected : list of (peer, tag)
        The messages.
    """

    def __init__(
        self,
        store: BaseTable,
        bases: Sequence[LocalBase],
        readers: Mapping[int, int],
        owners: Sequence[int],
        tag: int,
    ) -> None:
        self._store, self._bases = store, bases
        self._readers, self._owners, self._tag = readers, owners, tag
        self.owed: list[Key] = [(r, tag) for r in readers] + [(r, tag + 1) for r in owners]
        self.expected: list[Key] = [(r, tag) for r in owners] + [(r, tag + 1) for r in readers]
        self._copies: list[np.ndarray] = []

    def offer(self, exchange: Exchange) -> None:
        """Tell others where the blocks are."""
        if self._readers:
            places = np.array([self._place(base) for base in self._bases], np.int64)
            for peer, nbytes in self._readers.items():
                exchange.send(peer, self._tag, places, nbytes)

    def _place(self, base: LocalBase) -> int:
        """Have a block lie in the shared segment: it stays there, or a copy of it does."""
        place = self._store.place(base, move=not base.shared)
        if place is None:  # somebody looks at it, or it is another rank's
            block = cast(np.ndarray, base.block)
            memory = self._store.memory.take(block.nbytes, shared=True)
            np.ndarray(block.shape, block.dtype, memory)[...] = block
            self._copies.append(memory)
            place = cast(int, self._store.memory.offset(memory))
        return place

    def open(self, exchange: Exchange) -> dict[int, list[np.ndarray]]:
        """Wait until all owners have said where their blocks are; return these by rank."""
        found = {}
        for peer in self._owners:
            places = np.empty(len(self._bases), np.int64)
            exchange.receive(peer, self._tag, places)
            pairs = zip(self._bases, places.tolist(), strict=True)
            found[peer] = [self._block(base, peer, place) for base, place in pairs]
        return found

    def _block(self, base: LocalBase, peer: int, place: int) -> np.ndarray:
        shape = base.layout.local_shape(base.shape, peer)
        assert shape is not None
        return self._store.memory.block(peer, place, prod(shape), base.dtype).reshape(shape)

    def end_reads(self, exchange: Exchange) -> None:
        """Tell owners that this rank has read all."""
        for peer in self._owners:
            exchange.refuse(peer, self._tag + 1)

    def close(self, exchange: Exchange) -> None:
        """Wait until others have read all."""
        for peer in self._readers:
            exchange.drop(peer, self._tag + 1)
        self._copies.clear()
