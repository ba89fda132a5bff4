"""Text: each rank parses a share of the lines, and keeps the rows until it is told their place."""

from __future__ import annotations

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.formats.stored import check_same
from distnb.formats.text import share
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Hold", "Parse"]


class Parse:
    """Parse a share of a file; ``args`` are path, stamp, place, parser, and its arguments.

    The output has a row for each rank: how many rows it found, and the number of the dtype's code
    for each array.
    """

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.path, self.stamp, self.start, self.parser, *self.args = command.args
        self.out: LocalBase = store.bases[command.outs[0].base]
        self.rank = store.rank

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Parse block by block, and give up in between if the user does."""
        before = clock.switch(COMPUTE)
        check_same(self.path, self.stamp)
        size, check = self.out.shape[0], exchange.comm.check
        arrays = share(self.path, self.start, self.rank, size, self.parser, self.args, check)
        self.out.kept = arrays
        if self.out.block is not None:
            self.out.block[...] = (len(arrays[0]), *[ord(a.dtype.char) for a in arrays])
        clock.switch(before)


class Hold:
    """Give the arrays that were parsed to the bases that are to have them."""

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.outs = [store.bases[x.base] for x in command.outs]
        self.parsed = store.bases[command.ins[0].base]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Hand the rows over."""
        before = clock.switch(COMPUTE)
        arrays, self.parsed.kept = self.parsed.kept, None
        for base, array in zip(self.outs, arrays, strict=True):
            if base.block is not None:
                base.block[...] = array
        clock.switch(before)
