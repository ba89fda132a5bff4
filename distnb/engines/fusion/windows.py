"""Windows: what loops see of blocks and messages, and where that lies, found once for all turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from distnb.engines.fusion.loops import Loop
from distnb.geometry.layout import Ints, strides_of
from distnb.plans.transfer import window

__all__ = ["BlockWindow", "Look", "dense", "looks", "window_of", "windows_of"]


class BlockWindow(NamedTuple):
    """What a loop sees of flat memory: the array, and how compiled code finds its elements."""

    array: np.ndarray
    flat: np.ndarray
    offset: int
    strides: Ints


def window_of(block: np.ndarray, loop: Loop, i: int) -> BlockWindow:
    """Return the window of a loop's reference ``i`` in a block or message."""
    array = window(block, loop.shape, loop.offsets[i], loop.strides[i])
    return BlockWindow(array, block.reshape(-1), loop.offsets[i], loop.strides[i])


class Look(NamedTuple):
    """Where a loop looks at flat memory, in elements and as NumPy counts: in bytes."""

    shape: Ints
    dtype: np.dtype
    offset: int
    strides: Ints
    offset_bytes: int
    strides_bytes: Ints

    @classmethod
    def of(cls, shape: Ints, dtype: np.dtype, offset: int, strides: Ints) -> Look:
        """Return a look at elements of a dtype."""
        size = dtype.itemsize
        return cls(shape, dtype, offset, strides, offset * size, tuple(s * size for s in strides))

    def copy(self, block: np.ndarray) -> np.ndarray:
        """Return a dense copy of what is seen in a block."""
        shape, dtype, *_, offset, strides = self
        return np.ndarray(shape, dtype, block, offset, strides).copy()


def looks(loop: Loop, dtypes: Sequence[np.dtype]) -> list[Look]:
    """Return where a loop looks at memory under each reference, whose dtypes are given."""
    references = zip(dtypes, loop.offsets, loop.strides, strict=True)
    return [Look.of(loop.shape, *reference) for reference in references]


def windows_of(blocks: Sequence[Any], places: Sequence[Look]) -> list[Any]:
    """Return the window of each reference in its block; None where there is no block."""
    return [
        None
        if block is None
        else BlockWindow(
            np.ndarray(look[0], look[1], block, look[4], look[5]), block.reshape(-1), *look[2:4]
        )
        for block, look in zip(blocks, places, strict=True)
    ]


def dense(array: np.ndarray) -> BlockWindow:
    """Return the window that is all of a C-contiguous array."""
    return BlockWindow(array, array.reshape(-1), 0, strides_of(array.shape))
