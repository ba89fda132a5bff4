"""Reading: each rank reads its part of an array from a file."""

from __future__ import annotations

from distnb.engines.files.owned import held
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.formats.boxes import in_file, pieces
from distnb.formats.objects import Called
from distnb.formats.plain import checksum
from distnb.formats.stored import Reader, Stored, check_same, sub
from distnb.formats.table import reader_of
from distnb.geometry.axes import Block
from distnb.measure.events import TRANSFER, Clock
from distnb.wire.protocol import Collective

__all__ = ["Call", "Read", "Sum"]


class Read:
    """Read a view of a file; ``args`` are what is in the file, and the view of it."""

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        *_, stored, self.view = command.args
        self.stored, self.args = Stored(*stored), command.args
        self.out, self.store = command.outs[0], store

    def open(self) -> Reader:
        """Return what reads boxes of the file."""
        return reader_of(self.stored)

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Read piece by piece, and give up in between if the user does."""
        part = held(self.store, self.out)
        if part is None or not part[1].size:
            return
        before = clock.switch(TRANSFER)
        box, out = in_file(self.view, part[0], len(self.stored.shape), part[1])
        note, reader = exchange.filing(out.nbytes), self.open()
        try:
            for piece in pieces(box, out.itemsize, self.stored.chunks):
                some = tuple([r[s] for r, s in zip(box, piece, strict=True)])
                into = sub(out, piece)
                reader.read(some, into)
                note(into.nbytes)
        finally:
            reader.close()
            clock.switch(before)


class Sum:
    """Compute checksums of bytes of a file, of which each rank reads as many.

    ``args``: what is in the file, where the bytes begin, and how many they are. The output has a
    row for each rank: how many it read, and their CRC-32.
    """

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        stored, self.begin, self.length = command.args
        self.stored, self.rank = Stored(*stored), store.rank
        self.out = store.bases[command.outs[0].base]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Read this rank's share."""
        before = clock.switch(TRANSFER)
        check_same(self.stored.path, self.stored.stamp)
        low, high = Block().bounds(self.length, self.out.shape[0], self.rank)
        look = exchange.comm.check
        found = checksum(self.stored.path, self.begin + low, high - low, look)
        if self.out.block is not None:
            self.out.block[...] = (high - low, found)
        clock.switch(before)


class Call(Read):
    """Read a view of what a function reads; its number and name come before the other ``args``."""

    def open(self) -> Reader:
        """Return what calls the function."""
        return Called(self.store.functions[self.args[0]])
