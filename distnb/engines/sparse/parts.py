"""One rank's part of a sparse array, as SciPy's own, and results whose length only engines know.

A sparse array is compressed along its *major* axis, which is cut (rows of CSR, columns of CSC); the
*minor* axis is whole. A part is SciPy's ``csr_array`` of (its share of the major axis) x (minor
axis), in the memory of three blocks: elements, minor indices, and pointers from 0.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Held", "Making", "csr", "part_of"]


def csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return SciPy's array of these, in their memory."""
    from scipy.sparse import csr_array

    return csr_array((data, indices, indptr), shape=shape, copy=False)


def block_of(base: LocalBase) -> np.ndarray:
    """Return the block of a base, which all ranks have, be it without elements."""
    return cast(np.ndarray, base.block)


def part_of(bases: list[LocalBase], minor: int) -> Any:
    """Return the part in the blocks of three bases: elements, indices, pointers."""
    data, indices, indptr = [block_of(base) for base in bases]
    return csr(data, indices, indptr, (len(indptr) - 1, minor))


class Making:
    """A command that makes parts: how many elements each has is its output, until they are held.

    The output has an element for each rank; the client reads it, and makes bases that long.
    """

    owed: tuple[Key, ...] | list[Key] = ()
    expected: tuple[Key, ...] | list[Key] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.args = command.args
        self.store, self.rank = store, store.rank
        self.out: LocalBase = store.bases[command.outs[0].base]
        self.ins: list[LocalBase] = [store.bases[x.base] for x in command.ins]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Make this rank's part, and keep it with the count."""
        before = clock.switch(COMPUTE)
        made = self.make(exchange)
        self.out.kept = made
        block_of(self.out)[...] = made.nnz
        clock.switch(before)

    def make(self, exchange: Exchange) -> Any:
        """Return the part."""
        raise NotImplementedError


class Held:
    """Give what was made to the bases that are to have it: elements, indices, pointers."""

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.outs = [store.bases[x.base] for x in command.outs]
        self.made = store.bases[command.ins[0].base]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Hand the arrays over."""
        before = clock.switch(COMPUTE)
        part, self.made.kept = self.made.kept, None
        arrays = (part.data, part.indices, part.indptr)
        for base, array in zip(self.outs, arrays, strict=True):
            block = block_of(base)
            if array.base is None and array.dtype == block.dtype and array.flags.c_contiguous:
                base.block = array
            else:  # more memory may hang on it than its own
                block[...] = array
        clock.switch(before)
