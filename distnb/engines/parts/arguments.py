"""What a task gets: its part of each array that is split, and all of each other one.

The client describes each argument by a tuple: what it is, the number of its first base among the
operands, and what follows from specs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.ops.compressed import columns_of, rows_of

__all__ = ["ARGUMENTS", "check_structure", "read_only"]

Blocks = Sequence[np.ndarray]
Getter = Callable[[int], Any]


def read_only(block: np.ndarray) -> np.ndarray:
    """Return a look at a block that cannot be written."""
    found = block.view()
    found.flags.writeable = False
    return found


def _split(blocks: Blocks, first: int, writable: bool, cuts: Ints, axis: int) -> Getter:
    """Return what gives a task its part of a dense array."""
    block = blocks[0].view() if writable else read_only(blocks[0])
    before, start = (slice(None),) * axis, cuts[first]

    def part(task: int) -> Any:
        return block[(*before, slice(cuts[task] - start, cuts[task + 1] - start))]

    return part


def _compressed(
    blocks: Blocks, first: int, writable: bool, cuts: Ints, axis: int, minor: int
) -> Getter:
    """Return what gives a task its rows (CSR) or columns (CSC), whose elements may be written."""
    data, indices, indptr = blocks[0] if writable else read_only(blocks[0]), *blocks[1:]
    indices, start = read_only(indices), cuts[first]

    def part(task: int) -> Any:
        low, high = cuts[task] - start, cuts[task + 1] - start
        a, b = int(indptr[low]), int(indptr[high])
        arrays = data[a:b], indices[a:b], read_only(indptr[low : high + 1] - a)
        return _matrix_of(arrays, (high - low, minor), axis)

    return part


def _whole(blocks: Blocks, *_: Any) -> Getter:
    """Return what gives each task all of a dense array."""
    block = read_only(blocks[0])
    return lambda task: block


def _matrix(
    blocks: Blocks, first: int, writable: bool, cuts: Ints, axis: int, minor: int, ends: Ints
) -> Getter:
    """Return what gives each task all of a sparse array, whose parts have pointers from 0."""
    data, indices, local = map(read_only, blocks)
    pieces = [local[a + r : b + r] + ends[r] for r, (a, b) in enumerate(pairwise(cuts))]
    indptr = read_only(np.concatenate([*pieces, [ends[-1]]]).astype(local.dtype))
    found = _matrix_of((data, indices, indptr), (cuts[-1], minor), axis)
    return lambda task: found


def _matrix_of(arrays: tuple[Any, ...], lines: tuple[int, int], axis: int) -> Any:
    """Return SciPy's array of these arrays: so many rows, or columns, of so many elements."""
    return rows_of(arrays, lines) if axis == 0 else columns_of(arrays, lines[::-1])


#: Kind of argument -> how many bases it is, and what makes of the blocks of a rank, the first task
#: there, whether it may be written, and the rest of its description what gives a task its part.
ARGUMENTS: dict[str, tuple[int, Callable[..., Getter]]] = {
    "compressed": (3, _compressed),
    "matrix": (3, _matrix),
    "split": (1, _split),
    "whole": (1, _whole),
}


def check_structure(part: Any, before: tuple[Any, ...]) -> None:
    """Raise ValueError if a sparse part has other places than it had; what is kept is elements."""
    now = (part.data, part.indices, part.indptr)
    if any(a is not b for a, b in zip(now, before, strict=True)):
        raise ValueError(
            explain(
                "sparse part that is updated",
                "other places of elements",
                "new elements at the same places",
                "write part.data[...], or return the part",
            )
        )
