"""The messages of a group on one rank: sent before its turn if they can be, taken in at its turn.

What a group sends is known as soon as nothing that is still to run writes it. So it is sent then
(*ahead*), before what comes before the group is computed: messages of groups that do not depend on
each other are on their way together, and the batch waits for the network once, not once a group.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.exchange import Exchange
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.engines.runtime.zero_copy import ZeroCopyReads
from distnb.measure.events import TRANSFER, Clock
from distnb.plans.transfer import Message, Plan, at
from distnb.wire.protocol import Operand

__all__ = ["GroupMessages"]


class GroupMessages:
    """The messages of a group.

    Parameters
    ----------
    comm, clock, store
        Those of the rank.
    number : int
        Number of the group, the same on all ranks.
    plan : Plan
        Who sends what to whom.
    operands : sequence of Operand
        What messages are of, by their numbers.

    Attributes
    ----------
    exchange : Exchange
        Where they are sent and taken in.
    reads : ZeroCopyReads
        What is read in place.
    """

    def __init__(
        self,
        comm: Comm,
        clock: Clock,
        store: BaseTable,
        number: int,
        plan: Plan,
        operands: list[Operand],
    ) -> None:
        self.plan, self.reads = plan, ZeroCopyReads(store, plan)
        owed = [(m.peer, m.operand) for m in plan.sends] + self.reads.owed
        expected = [(m.peer, m.operand) for m in plan.receives] + self.reads.expected
        self.exchange = Exchange(comm, clock, number, owed, expected)
        self._clock, self._store, self._operands = clock, store, operands
        self._sent = False
        self._trouble: BaseException | None = None

    def send_ahead(self) -> None:
        """Send what others need, before the group has its turn; it fails then if this does."""
        try:
            self.send()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever it is, others have more to come before
            self._trouble = error

    def send(self) -> None:
        """Send what others need, if that was not done; raise what went wrong if it was."""
        if self._trouble is not None:
            raise self._trouble
        if self._sent:
            return
        self._sent = True
        for message in self.plan.sends:
            base = self._store.bases[self._operands[message.operand + 1].base]
            if base.lost:
                self.exchange.refuse(message.peer, message.operand)
            else:
                data = self.pack(message, base)
                in_place = prod(message.shape) * base.dtype.itemsize if message.zero_copy else 0
                self.exchange.send(message.peer, message.operand, data, in_place)
        self.reads.end_offers()

    def pack(self, message: Message, base: LocalBase) -> np.ndarray:
        """Return a message's data, dense, or where they can be read."""
        before = self._clock.switch(TRANSFER)
        packed = (
            self.reads.offer(base, message) if message.zero_copy else _packed(message, base.block)
        )
        self._clock.switch(before)
        return packed


def _packed(message: Message, block: Any) -> np.ndarray:
    packed = np.empty(message.shape, block.dtype)
    for chunk in message.chunks:
        at(packed, chunk.shape, chunk.message)[...] = at(block, chunk.shape, chunk.memory)
    return packed
