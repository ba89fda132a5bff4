"""What a rank can take from blocks, and write to them, by the positions that indices name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from distnb.plans.gather_scatter import unravel

__all__ = ["Chosen", "Reach", "Window"]


class Window:
    """What a rank holds and may be asked for: ``held`` has the ``k`` indexed axes first."""

    def __init__(self, held: np.ndarray, k: int) -> None:
        self.held, self._shape = held, held.shape[:k]
        #: The same with one axis in place of these, if its elements lie one after the other.
        self.rows = None
        if held.flags.c_contiguous:
            self.rows = held.reshape(prod(self._shape), *held.shape[k:])

    def index(self, positions: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the indices of positions."""
        return unravel(positions, self._shape)

    def take(self, positions: np.ndarray) -> np.ndarray:
        """Return what is at some positions, which are within bounds."""
        if self.rows is None:
            return self.held[self.index(positions)]
        return self.rows.take(positions, 0, mode="clip")


class Reach:
    """One array over the blocks of several ranks, wherever they are in this process' memory.

    What is between them is never touched: each index names an element of a block. So it is one
    call that takes from all of them, and no index has to be put apart.

    Parameters
    ----------
    blocks : sequence of numpy.ndarray
        Dense, of one dtype, in the order of the flat indices.
    lows : sequence of int
        The first flat index of each.
    """

    def __init__(self, blocks: Sequence[np.ndarray], lows: Sequence[int]) -> None:
        self._blocks, self._lows = blocks, lows
        starts = np.array([b.__array_interface__["data"][0] for b in blocks])
        size, first = blocks[0].itemsize, int(starts.argmin())
        #: Whether all begin at a multiple of an element's size from each other.
        self.even = not ((starts - starts[first]) % size).any()
        far = (starts - starts[first]) // size
        self._shifts = (far - lows).tolist()
        length = int((far + [b.size for b in blocks]).max())
        self._all = as_strided(blocks[first], (length,), (size,), writeable=False)

    def take(self, flat: np.ndarray, out: np.ndarray) -> None:
        """Take what flat indices name."""
        at = flat + self._shifts[0]
        for low, (before, shift) in zip(self._lows[1:], pairwise(self._shifts), strict=True):
            at += (flat >= low) * (shift - before)
        self._all.take(at, 0, out, "clip")


class Chosen:
    """Which indices name what a rank holds, stretch by stretch, and their positions there."""

    def __init__(self) -> None:
        self._which: list[np.ndarray] = []
        self._positions: list[np.ndarray] = []

    def add(self, stretch: slice, which: Any, positions: np.ndarray) -> None:
        """Add those of a stretch."""
        if isinstance(which, slice):
            which = np.arange(len(positions))
        self._which.append(which + stretch.start)
        self._positions.append(positions)

    @property
    def which(self) -> np.ndarray:
        """Their numbers among the indices."""
        return np.concatenate([np.empty(0, np.int64), *self._which])

    def positions(self, dtype: np.dtype) -> np.ndarray:
        """Return their positions, as they travel."""
        return np.concatenate([np.empty(0, dtype), *[p.astype(dtype) for p in self._positions]])
