"""Zero-copy reads: elements that ranks of a node read in each other's memory, in one command.

The owner tells where in its shared segment the elements lie, in place of sending them, and the
reader reads them there. When it has done all that it wants to, it says so with an empty message;
the owner ends the command only then, so nothing that others read is written or freed meanwhile.
Both messages follow from the plan, and a rank that fails completes them like all others.
"""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np

from distnb.engines.runtime.exchange import TAGS_PER_COMMAND, Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.plans.transfer import Message, Plan, at

__all__ = ["ZeroCopyReads"]

#: Tag of the message that ends reading; no operand has that number, since the output is none.
_READ = TAGS_PER_COMMAND - 1


class ZeroCopyReads:
    """What one rank reads at others in one command, and others at it.

    Attributes
    ----------
    owed, expected : list of (peer, tag)
        The messages that end reading.
    """

    def __init__(self, store: BaseTable, plan: Plan) -> None:
        self._store = store
        self.owed: list[Key] = sorted({(m.peer, _READ) for m in plan.receives if m.zero_copy})
        self.expected: list[Key] = sorted({(m.peer, _READ) for m in plan.sends if m.zero_copy})
        self._offered: list[LocalBase] = []
        #: handle of a base that lies elsewhere -> shared memory with what is read of it
        self._copies: dict[int, np.ndarray] = {}

    def offer(self, base: LocalBase, message: Message) -> np.ndarray:
        """Return what the receiver must know to read a message in place of getting it.

        A block that is read for the second time goes to shared memory, and stays there. The first
        time only what is read is copied: the block may never be read again.
        """
        assert base.block is not None
        self._offered.append(base)
        place = self._store.place(base, move=base.read_in_place and not base.shared)
        if place is None:
            place = self._copied(base, base.block, message)
        return np.array([place], np.int64)

    def end_offers(self) -> None:
        """Note what was offered: the next to read it is not the first."""
        for base in self._offered:
            base.read_in_place = True

    def _copied(self, base: LocalBase, block: np.ndarray, message: Message) -> int:
        """Copy what is read, each element to its own place in memory as large as the block."""
        if id(base) not in self._copies:
            self._copies[id(base)] = self._store.memory.take(block.nbytes, shared=True)
        memory = self._copies[id(base)]
        shadow = np.ndarray(block.shape, block.dtype, memory)
        for chunk in message.chunks:
            at(shadow, chunk.shape, chunk.memory)[...] = at(block, chunk.shape, chunk.memory)
        return cast(int, self._store.memory.offset(memory))

    def block_of(self, base: LocalBase, peer: int, place: np.ndarray) -> np.ndarray:
        """Return the block of a peer, flat."""
        shape = base.layout.local_shape(base.shape, peer)
        assert shape is not None
        return self._store.memory.block(peer, int(place[0]), prod(shape), base.dtype)

    def end_reads(self, exchange: Exchange) -> None:
        """Tell owners that this rank has read all."""
        for peer, tag in self.owed:
            exchange.refuse(peer, tag)

    def await_readers(self, exchange: Exchange) -> None:
        """Wait until others have read all."""
        for peer, tag in self.expected:
            exchange.drop(peer, tag)
        self._copies.clear()
