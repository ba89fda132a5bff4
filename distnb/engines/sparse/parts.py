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
from distnb.geometry.boxes import box_of
from distnb.geometry.layout import Ints, Layout
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.compressed import csr
from distnb.wire.protocol import Collective

__all__ = [
    "PART",
    "Held",
    "Making",
    "block_of",
    "block_part",
    "load_scipy",
    "multiply",
    "multiply_turned",
    "numbers",
    "part_of",
    "receive",
    "receive_part",
    "send_part",
    "some",
]


def block_of(base: LocalBase) -> np.ndarray:
    """Return the block of a base, which all ranks have, be it without elements."""
    return cast(np.ndarray, base.block)


def part_of(bases: list[LocalBase], minor: int) -> Any:
    """Return the part in the blocks of three bases: elements, indices, pointers."""
    data, indices, indptr = [block_of(base).view() for base in bases]
    for block in (data, indices, indptr):  # SciPy sorts and sums in place where that suits it
        block.flags.writeable = False
    return csr(data, indices, indptr, (len(indptr) - 1, minor))


def block_part(bases: list[LocalBase], shape: Ints, layout: Layout, rank: int) -> Any:
    """Return the part of a rank that has something, without the columns that it has nothing of."""
    box = box_of(layout, shape, rank)
    assert box is not None
    first, end = box[1]
    data, indices, indptr = [block_of(base) for base in bases]
    if (first, end) == (0, shape[1]):
        return part_of(bases, shape[1])
    return csr(data, indices - indices.dtype.type(first), indptr, (len(indptr) - 1, end - first))


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
            own = array.base is None and array.flags.writeable and array.flags.c_contiguous
            if own and array.dtype == block.dtype and not base.place:
                base.block = array
            else:  # it may be another base's, or more memory may hang on it than its own
                block[...] = array
        clock.switch(before)


def some(array: np.ndarray) -> np.ndarray:
    """Return what is sent for an array: a byte for one without elements, as none means failure."""
    return np.ascontiguousarray(array) if array.size else np.zeros(1, np.uint8)


def numbers(message: np.ndarray) -> np.ndarray:
    """Return the int64 that came."""
    return np.empty(0, np.int64) if message.nbytes == 1 else message.view(np.int64)


def receive(exchange: Exchange, peer: int, tag: int, n: int, dtype: np.dtype) -> np.ndarray:
    """Return ``n`` elements that come from a rank."""
    found = np.empty(n, dtype)
    exchange.receive(peer, tag, found if n else np.zeros(1, np.uint8))
    return found


#: Tags of the messages that carry a part: lengths of rows, indices, elements.
LENGTHS, INDICES, ELEMENTS = 1, 2, 3
PART = (LENGTHS, INDICES, ELEMENTS)


def send_part(exchange: Exchange, peer: int, part: Any, kind: np.dtype) -> None:
    """Send a part to a rank, in three messages, with indices of a kind that both know."""
    exchange.send(peer, LENGTHS, some(np.diff(part.indptr).astype(np.int64)))
    exchange.send(peer, INDICES, some(part.indices.astype(kind, copy=False)))
    exchange.send(peer, ELEMENTS, some(part.data))


def receive_part(exchange: Exchange, peer: int, kind: np.dtype, own: Any) -> Any:
    """Return what a rank sent: a part with the elements and the minor axis of this rank's."""
    lengths = numbers(exchange.take(peer, LENGTHS))
    pointers = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=pointers[1:])
    indices = receive(exchange, peer, INDICES, int(pointers[-1]), kind)
    data = receive(exchange, peer, ELEMENTS, int(pointers[-1]), own.data.dtype)
    return csr(data, indices, pointers, (len(lengths), own.shape[1]))


# SciPy's ``@`` makes new memory for each result, whose pages cost as much as a product of few
# elements a row: its loops write where they are told. Without them ``@`` does it.


def _loop(name: str) -> Any:
    """Return one of SciPy's loops, None if there is none."""
    return getattr(load_scipy(), name, None)


def load_scipy() -> Any:
    """Return what has SciPy's loops, None if there is none; imports it if that is still to do."""
    try:
        from scipy.sparse import _sparsetools
    except ImportError:
        return None
    return _sparsetools


def multiply(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the product of the part and ``x``."""
    _run("csr", len(indptr) - 1, len(x), (indptr, indices, data), x, out)


def multiply_turned(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the product of the transposed part and ``x``."""
    _run("csc", len(out), len(x), (indptr, indices, data), x, out)


def _run(
    kind: str,
    rows: int,
    columns: int,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
    x: np.ndarray,
    out: np.ndarray,
) -> None:
    loop = _loop(f"{kind}_matvec" if x.ndim == 1 else f"{kind}_matvecs")
    indptr, indices, data = arrays
    if loop is None or indptr.dtype != indices.dtype:
        shape = (rows, columns) if kind == "csr" else (columns, rows)
        part = csr(data, indices, indptr, shape)
        out[...] = (part if kind == "csr" else part.T) @ x
        return
    out[...] = 0
    some = () if x.ndim == 1 else (x.shape[1],)
    loop(rows, columns, *some, *arrays, np.ascontiguousarray(x).reshape(-1), out.reshape(-1))
