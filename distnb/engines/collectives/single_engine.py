"""Collectives without messages: work of each rank on its parts of bases, with arguments.

``Local`` commands take no arguments, and their functions know nothing of the layout.
"""

from __future__ import annotations

from distnb.engines.runtime.creation import owned
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.ops import filling
from distnb.wire.protocol import Collective

__all__ = ["Sample", "SingleEngine"]


class SingleEngine:
    """Work on the parts that this rank holds of bases in aligned layouts."""

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.args = command.args
        self.rank = store.rank
        self.out: LocalBase = store.bases[command.outs[0].base]
        self.ins: list[LocalBase] = [store.bases[x.base] for x in command.ins]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Do the work, if this rank holds something of the result."""
        if self.out.block is None or not self.out.block.size:
            return
        before = clock.switch(COMPUTE)
        self.work()
        clock.switch(before)

    def work(self) -> None:
        """Fill the block of ``out``."""
        raise NotImplementedError


class Sample(SingleEngine):
    """Fill with random numbers; ``args`` are as in ``('random', ...)`` of ``protocol.Create``.

    Each None among the parameters stands for the next of the operands.
    """

    def work(self) -> None:
        """Fill the block."""
        kind, seed, stream, given = self.args
        arrays = iter(self.ins)
        args = tuple(next(arrays).block if a is None else a for a in given)
        here, block = owned(self.out, self.rank), self.out.block
        if here is not None and block is not None:
            filling.fill_random(block, here, self.out.shape, kind, seed, stream, args)
