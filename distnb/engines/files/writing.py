"""Writing: each rank writes its part of an array into a file that is there, and as long."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from distnb.engines.files.owned import own
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.formats.boxes import moved, pieces
from distnb.formats.libraries import arrow, parquet
from distnb.formats.stored import Box, Stored, bytes_of, check_same, sub
from distnb.formats.table import FORMATS, writer_of
from distnb.measure.events import TRANSFER, Clock
from distnb.wire.protocol import Collective

__all__ = ["Write", "WriteTable"]


class Write:
    """Write a view; ``args`` are what is to be in the file, where there, and whether to sum.

    The output has a row for each rank: the bytes that it wrote, and their CRC-32. Formats of which
    a file has one writer at a time are written by turns: a rank tells the next one.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        stored, self.origin, self.summed = command.args
        self.stored = Stored(*stored)
        self.operand, self.store = command.ins[0], store
        self.out = store.bases[command.outs[0].base]
        rank, size = store.rank, self.out.shape[0]
        turns = FORMATS[self.stored.format].by_turns and self.stored.details[-1] is None
        self.expected: list[Key] = [(rank - 1, 0)] if turns and rank else []
        self.owed: list[Key] = [(rank + 1, 0)] if turns and rank + 1 < size else []

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Write in turn."""
        token, part = np.ones(1, np.uint8), own(self.store, self.operand)
        write = None
        if part is not None and part[1].size:  # it counts before its turn comes
            write = partial(self._write, exchange.filing(part[1].nbytes), *part)
        for peer, tag in self.expected:
            exchange.receive(peer, tag, token)
        before = clock.switch(TRANSFER)
        found = write() if write is not None else (0, 0)
        if self.out.block is not None:
            self.out.block[...] = found
        clock.switch(before)
        for peer, tag in self.owed:
            exchange.send(peer, tag, token)

    def _write(self, note: Callable[[int], None], box: Box, data: np.ndarray) -> tuple[int, int]:
        """Write piece by piece, and give up in between if the user does."""
        nbytes, check, place = 0, 0, moved(box, self.origin)
        writer = writer_of(self.stored)
        try:
            for piece in pieces(place, data.itemsize, self.stored.chunks):
                part = sub(data, piece)
                some = np.ascontiguousarray(part).reshape(part.shape)  # NumPy adds an axis
                writer.write(tuple([r[s] for r, s in zip(place, piece, strict=True)]), some)
                nbytes += some.nbytes
                if self.summed:
                    check = zlib.crc32(bytes_of(some), check)
                note(some.nbytes)
        finally:
            writer.close()
        return nbytes, check


class WriteTable:
    """Write the rows that this rank holds of columns, as a file of a folder.

    ``args``: the folder, what its files' names end in, columns' names, options. The output has a
    row for each rank: how many it wrote.
    """

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.folder, self.suffix, self.names, self.options = command.args
        self.columns = [store.bases[x.base] for x in command.ins]
        self.out, self.rank = store.bases[command.outs[0].base], store.rank

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Write the file, if there are rows; one file there is always."""
        before = clock.switch(TRANSFER)
        blocks = [base.block for base in self.columns]
        kinds = [base.dtype for base in self.columns]
        found = [np.empty(0, k) if b is None else b for b, k in zip(blocks, kinds, strict=True)]
        if len(found[0]) or not self.rank:
            path = os.path.join(self.folder, f"part-{self.rank:05d}{self.suffix}")
            check_same(self.folder, ())
            write = parquet.write_part if self.suffix == ".parquet" else arrow.write_part
            write(path, list(self.names), found, self.options)
        if self.out.block is not None:
            self.out.block[...] = (len(found[0]), 0)
        clock.switch(before)
