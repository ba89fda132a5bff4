"""Reading: each rank reads its part of an array from a file."""

from __future__ import annotations

from distnb.engines.files.owned import held
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.formats.boxes import in_file, pieces
from distnb.formats.stored import Stored, sub
from distnb.formats.table import reader_of
from distnb.measure.events import TRANSFER, Clock
from distnb.wire.protocol import Collective

__all__ = ["Read"]


class Read:
    """Read a view of a file; ``args`` are what is in the file, and the view of it."""

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.args, self.out, self.store = command.args, command.outs[0], store

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Read piece by piece, and give up in between if the user does."""
        stored, view = Stored(*self.args[0]), self.args[1]
        part = held(self.store, self.out)
        if part is None or not part[1].size:
            return
        before = clock.switch(TRANSFER)
        box, out = in_file(view, part[0], len(stored.shape), part[1])
        reader = reader_of(stored)
        try:
            for piece in pieces(box, out.itemsize, stored.chunks):
                exchange.comm.check()
                some = tuple([r[s] for r, s in zip(box, piece, strict=True)])
                reader.read(some, sub(out, piece))
        finally:
            reader.close()
            clock.switch(before)
