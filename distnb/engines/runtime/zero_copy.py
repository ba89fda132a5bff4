"""What the ranks of a node lend each other in one command, in place of sending it.

The sender of a lent message tells where in its shared segment the elements lie, and the receiver
reads them there. When it has done all that it wants to, it gives back what it borrowed, with an
empty message; the sender ends the command only then, so nothing that is lent is written or freed
meanwhile.
Both messages follow from the plan, and a rank that fails completes them like all others.
"""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np

from distnb.engines.runtime.exchange import TAGS_PER_COMMAND, Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.plans.transfer import Message, Plan, at

__all__ = ["Loans"]

#: Tag of the message that gives back; no operand has that number, since the output is none.
_BACK = TAGS_PER_COMMAND - 1


class Loans:
    """What one rank lends and borrows in one command.

    Attributes
    ----------
    owed, expected : list of (peer, tag)
        The messages that give back.
    """

    def __init__(self, store: BaseTable, plan: Plan) -> None:
        self._store = store
        self.owed: list[Key] = sorted({(m.peer, _BACK) for m in plan.receives if m.lent})
        self.expected: list[Key] = sorted({(m.peer, _BACK) for m in plan.sends if m.lent})
        self._lent: list[LocalBase] = []
        #: handle of a base that lies elsewhere -> shared memory with what is lent of it
        self._copies: dict[int, np.ndarray] = {}

    def lend(self, base: LocalBase, message: Message) -> np.ndarray:
        """Return what the receiver must know to read a message in place of getting it.

        A block that is lent for the second time goes to shared memory, and stays there. The first
        time only what is lent is copied: the block may never be lent again.
        """
        assert base.block is not None
        self._lent.append(base)
        place = self._store.place(base, move=base.lent and not base.shared)
        if place is None:
            place = self._copied(base, base.block, message)
        return np.array([place], np.int64)

    def _copied(self, base: LocalBase, block: np.ndarray, message: Message) -> int:
        """Copy what is lent, each element to its own place in memory as large as the block."""
        if id(base) not in self._copies:
            self._copies[id(base)] = self._store.memory.take(block.nbytes, shared=True)
        memory = self._copies[id(base)]
        shadow = np.ndarray(block.shape, block.dtype, memory)
        for chunk in message.chunks:
            at(shadow, chunk.shape, chunk.memory)[...] = at(block, chunk.shape, chunk.memory)
        return cast(int, self._store.memory.offset(memory))

    def borrow(self, base: LocalBase, peer: int, place: np.ndarray) -> np.ndarray:
        """Return the block of a peer, flat."""
        shape = base.layout.local_shape(base.shape, peer)
        assert self._store.memory.node is not None
        assert shape is not None
        return self._store.memory.node.block(peer, int(place[0]), prod(shape), base.dtype)

    def give_back(self, exchange: Exchange) -> None:
        """Tell lenders that what they lent is not needed any more."""
        for peer, tag in self.owed:
            exchange.refuse(peer, tag)

    def take_back(self, exchange: Exchange) -> None:
        """Wait until all that was lent is given back."""
        for peer, tag in self.expected:
            exchange.drop(peer, tag)
        for base in self._lent:
            base.lent = True
        self._copies.clear()
