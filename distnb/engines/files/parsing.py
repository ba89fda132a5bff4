"""Text: each rank parses a share of the lines, and keeps the rows until it is told their place."""

from __future__ import annotations

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.formats.lines import Quotes, bytes_of_share, ends_within, turn_of
from distnb.formats.stored import check_same
from distnb.formats.text import share
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Hold", "Parse"]


class Parse:
    """Parse a share of a file.

    ``args`` are path, stamp, place, quotes, parser, and its arguments. The output has a row for
    each rank: how many rows it found, and the number of the dtype's code for each array. Where
    fields may be quoted, a rank tells the next one whether the share of that begins in quotes.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.path, self.stamp, self.start, self.quotes, self.parser, *self.args = command.args
        self.out: LocalBase = store.bases[command.outs[0].base]
        rank, self.size = store.rank, self.out.shape[0]
        self.rank = rank
        self.expected: list[Key] = [(rank - 1, 0)] if self.quotes and rank else []
        self.owed: list[Key] = [(rank + 1, 0)] if self.quotes and rank + 1 < self.size else []

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Parse block by block, and give up in between if the user does."""
        before = clock.switch(COMPUTE)
        check_same(self.path, self.stamp)
        within = self._within(exchange) if self.quotes else False
        part = (self.path, self.start, self.rank, self.size)
        note = exchange.filing(bytes_of_share(self.path, self.start, self.size))
        arrays = share(*part, self.quotes, self.parser, self.args, within, note)
        self.out.kept = arrays
        if self.out.block is not None:
            kinds = [np.result_type(*[piece.dtype for piece in pieces]) for pieces in arrays]
            self.out.block[...] = (sum(map(len, arrays[0])), *[ord(kind.char) for kind in kinds])
        clock.switch(before)

    def _within(self, exchange: Exchange) -> bool:
        """Return whether this share begins in quotes; tell the next rank whether its own does."""
        quotes, part = Quotes(*self.quotes), (self.path, self.start, self.rank, self.size)
        check, token = exchange.comm.check, np.zeros(1, np.uint8)
        turn = turn_of(*part, quotes, check) if self.owed else (None, None)
        for peer, tag in self.expected:
            exchange.receive(peer, tag, token)
        within = bool(token[0])
        for peer, tag in [*self.owed]:
            ends = turn[within]
            if ends is None:
                ends = ends_within(*part, quotes, within, check)
            exchange.send(peer, tag, np.array([ends], np.uint8))
        return within


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
        for base, pieces in zip(self.outs, arrays, strict=True):
            if base.block is not None:
                np.concatenate(pieces, out=base.block, casting="unsafe")
        clock.switch(before)
