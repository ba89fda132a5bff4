"""Appending: parts of a file whose lengths only engines know, one after the other."""

from __future__ import annotations

import os
import zlib

import numpy as np

from distnb.engines.files.owned import own
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.formats.encodings import ENCODINGS
from distnb.formats.plain import write_all
from distnb.formats.stored import bytes_of, check_same
from distnb.measure.events import COMPUTE, TRANSFER, Clock
from distnb.wire.protocol import Collective, Operand

__all__ = ["Append"]


class Append:
    """Write parts in the order of ranks; ``args`` are path, place, encoding and its arguments.

    Operands after the first lie as it does, and go into what is written, too.
    The output has a row for each rank: the bytes that it wrote, the CRC-32 of its elements, and
    their bytes.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.path, self.start, self.encoding, *self.args = command.args
        self.operands, self.store = command.ins, store
        self.out = store.bases[command.outs[0].base]
        self.rank, self.size = store.rank, self.out.shape[0]
        others = [rank for rank in range(self.size) if rank != self.rank]
        self.owed: list[Key] = [(rank, 0) for rank in others]
        self.expected: list[Key] = [(rank, 0) for rank in others]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Encode this rank's part, tell all how long it is, and write it."""
        before = clock.switch(COMPUTE)
        data, *more = [self._part(operand) for operand in self.operands]
        packed = []
        if data.size:
            for some in ENCODINGS[self.encoding](data, *more, *self.args):
                exchange.comm.check()
                packed.append(some)
        lengths = np.zeros(self.size, np.int64)
        mine = np.array([sum(map(len, packed))], np.int64)
        for peer, tag in [*self.owed]:
            exchange.send(peer, tag, mine)
        lengths[self.rank] = mine[0]
        for peer, tag in [*self.expected]:
            exchange.receive(peer, tag, lengths[peer : peer + 1])
        clock.switch(TRANSFER)
        self._write(exchange, packed, self.start + int(lengths[: self.rank].sum()))
        check = zlib.crc32(bytes_of(data)) if data.size else 0
        if self.out.block is not None:
            self.out.block[...] = (int(mine[0]), check, data.nbytes)
        clock.switch(before)

    def _part(self, operand: Operand) -> np.ndarray:
        """Return what this rank is to write of a view."""
        part = own(self.store, operand)
        return np.empty(0) if part is None else np.ascontiguousarray(part[1])

    def _write(self, exchange: Exchange, packed: list[bytes], at: int) -> None:
        if not packed:
            return
        check_same(self.path, ())
        note = exchange.filing(sum(map(len, packed)))
        fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            for some in packed:
                write_all(fd, some, at)
                note(len(some))
                at += len(some)
        finally:
            os.close(fd)
