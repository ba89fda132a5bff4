"""The order in which a reduction combines elements: reduction blocks, then their results.

What a rank has is cut into *reduction blocks* of a few thousand elements along its reduced axes, by
its shape alone. NumPy reduces each of them (a sum of contiguous elements pairwise, of rows one row
after the other), then the results of all. So it does not matter how many are done at a time: a
group of operations that ends in a reduction does those of a tile while they are in the cache, and a
stored array all of them in one call, with the same digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.geometry.layout import Ints

__all__ = ["Combiner", "ReductionBlocks", "Scratch", "Tile", "options", "reduction_blocks", "tiles"]

#: A part of a block, by its indices along each axis.
Tile = tuple[slice, ...]

#: Elements of a block of contiguous elements.
_ELEMENTS = 1 << 12
#: Rows of a block where the last axis is kept.
_ROWS = 1 << 6
#: Rows of a tile at least (or a block's, if fewer): narrower and longer tiles are slow to read.
_FEWEST = 1 << 3
#: Elements to cast at a time: they stay in the cache.
_CAST = 1 << 15


class ReductionBlocks(NamedTuple):
    """How an array is cut: a block is ``step`` long on axis ``first``, whole up to axis ``last``.

    ``shape`` are the lengths of the array's axes that are longer than 1, ``reduced`` says which of
    them are. Those before ``first`` have length 1 in a block; those from ``last`` on are kept.
    """

    shape: Ints
    reduced: tuple[bool, ...]
    first: int
    last: int
    step: int

    @property
    def partial_shape(self) -> Ints:
        """The shape of the array of the blocks' results."""
        n = -(-self.shape[self.first] // self.step)
        return (*self.shape[: self.first], n, *self.shape[self.last :])

    @property
    def one(self) -> bool:
        """Whether there is one block of contiguous elements, which come to one number."""
        return not self.first and self.last == len(self.shape) and self.step >= self.shape[0]

    @property
    def rows(self) -> Ints | None:
        """The lengths (others, of a block, kept) if each of the others is one block, else None."""
        first, last = self.first, self.last
        if any(self.reduced[:first]) or self.step < self.shape[first]:
            return None
        return prod(self.shape[:first]), prod(self.shape[first:last]), prod(self.shape[last:])

    @property
    def open(self) -> Ints:
        """The axes of the array of results along which these are to be combined."""
        return (*(d for d in range(self.first) if self.reduced[d]), self.first)

    def folded(self, tile: Ints) -> Ints:
        """Return the shape of a tile as (others, blocks, elements of a block, kept elements)."""
        return _folded(self, tile)

    def tile(self, limit: int) -> Ints:
        """Return the lengths of tiles of about ``limit`` elements.

        A tile has whole blocks, or a part of the rows of a block that divides it evenly.
        """
        lengths = [1] * self.first + list(self.shape[self.first :])
        inner = prod(self.shape[self.first + 1 : self.last])
        rows = 1 if self.last == len(self.shape) else min(self.step, _FEWEST)
        left = limit // (inner * rows)
        for d in reversed(range(self.last, len(self.shape))):
            lengths[d] = _even(self.shape[d], left)
            left //= lengths[d]
        left = limit // (inner * prod(lengths[self.last :]))
        lengths[self.first] = self._along(left)
        left //= lengths[self.first]
        for d in reversed(range(self.first)):
            if lengths[d + 1] < self.shape[d + 1]:
                break
            lengths[d] = _even(self.shape[d], left)
            left //= lengths[d]
        return tuple(lengths)

    def _along(self, limit: int) -> int:
        n, step = self.shape[self.first], self.step
        if limit >= step:
            return min(n, limit // step * step)
        if self.last == len(self.shape):  # contiguous elements of a block stay together
            return min(n, step)
        return min(n, next(k for k in range(max(1, limit), 0, -1) if step % k == 0))


@lru_cache(maxsize=1024)
def _folded(how: ReductionBlocks, tile: Ints) -> Ints:
    first, last = how.first, how.last
    step = min(how.step, tile[first])
    n = -(-tile[first] // step)
    return prod(tile[:first]), n, step * prod(tile[first + 1 : last]), prod(tile[last:])


def _even(n: int, limit: int) -> int:
    """Return a length of at most ``limit`` that cuts ``n`` into even parts."""
    parts = -(-n // max(1, limit))
    return -(-n // parts)


@lru_cache(maxsize=1024)
def reduction_blocks(shape: Ints, axes: Ints) -> ReductionBlocks | None:
    """Return how an array is cut; None if it has no elements, or none that are combined."""
    long = [d for d, n in enumerate(shape) if n != 1]
    shape, reduced = tuple(shape[d] for d in long), tuple(d in axes for d in long)
    if not prod(shape) or not any(reduced):
        return None
    last = len(reduced) - reduced[::-1].index(True)
    limit = _ELEMENTS if last == len(shape) else _ROWS
    first, inner = last - 1, 1
    while first and reduced[first - 1] and inner * shape[first] <= limit:
        inner *= shape[first]
        first -= 1
    step = max(1, limit // inner)
    if last == len(shape):
        step = _even(shape[first], step)
    return ReductionBlocks(shape, reduced, first, last, step)


def tiles(shape: Ints, lengths: Ints) -> Iterator[Tile]:
    """Enumerate tiles, in the order of memory."""
    cuts = (
        [slice(i, min(i + t, n)) for i in range(0, n, t)]
        for n, t in zip(shape, lengths, strict=True)
    )
    return product(*cuts)


class Scratch:
    """Buffers kept from one use to the next, so that they stay in the cache."""

    def __init__(self) -> None:
        self._memory: list[np.ndarray] = []

    def take(self, dtypes: Sequence[np.dtype], shape: Ints) -> list[np.ndarray]:
        """Return a buffer for each dtype, with undefined content."""
        found = []
        for i, dtype in enumerate(dtypes):
            nbytes = prod(shape) * dtype.itemsize
            if i == len(self._memory):
                self._memory.append(np.empty(0, np.uint8))
            if self._memory[i].nbytes < nbytes:
                self._memory[i] = np.empty(nbytes, np.uint8)
            found.append(np.ndarray(shape, dtype, self._memory[i]))
        return found


class Combiner:
    """Combines the elements of one array, tile by tile, in the order of memory.

    Parameters
    ----------
    ufunc : numpy.ufunc
        What combines two elements.
    dtype : numpy.dtype
        Of the result.
    how : ReductionBlocks
        How the array is cut.
    scratch : Scratch
        Gives memory for the blocks' results, which is that of the last combiner's.
    place : numpy.ndarray, optional
        Where they are to go instead, because they are all that is wanted.
    """

    def __init__(
        self,
        ufunc: Any,
        dtype: np.dtype,
        how: ReductionBlocks,
        scratch: Scratch,
        place: np.ndarray | None = None,
    ) -> None:
        self.ufunc, self.dtype, self.how = ufunc, dtype, how
        # Logical operations take any dtype and give bool: asking for bool would be a cast.
        self.options = options(ufunc, dtype)
        if place is None:
            (self.found,) = scratch.take([dtype], how.partial_shape)
        else:
            self.found = place.reshape(how.partial_shape)

    def exact(self, dtype: np.dtype) -> bool:
        """Tell whether NumPy needs no buffers for elements of ``dtype``: they would cut blocks."""
        return dtype == self.dtype or not self.options or self.dtype.kind not in "fc"

    def all(self, data: np.ndarray) -> None:
        """Take in all elements: in one call, if they need no cast."""
        limit = data.size if self.exact(data.dtype) else _CAST
        for tile in tiles(self.how.shape, self.how.tile(limit)):
            self.add(tile, data[tile])

    def add(self, tile: Sequence[slice], data: np.ndarray) -> None:
        """Take in the elements of one tile, an array of its shape."""
        if not self.exact(data.dtype):
            data = data.astype(self.dtype)
        how = self.how
        cut = tile[how.first]
        start, into = divmod(cut.start, how.step)
        o, n, step, kept = how.folded(data.shape)
        place = self.found[(*tile[: how.first], slice(start, start + n), *tile[how.last :])]
        results = place.reshape((o, n, kept))
        if into:
            self._continue(results, data.reshape((o, -1, kept)))
        elif data.size == o * n * step * kept:
            self._reduce(data.reshape((o, n, step, kept)), 2, results)
        else:  # the last block is shorter
            flat = data.reshape((o, -1, kept))
            full = flat[:, : (n - 1) * step].reshape((o, n - 1, step, kept))
            self._reduce(full, 2, results[:, :-1])
            self._reduce(flat[:, (n - 1) * step :], 1, results[:, -1])
        if not place.flags.c_contiguous:  # the results may be a copy
            place[...] = results.reshape(place.shape)

    def _continue(self, result: np.ndarray, data: np.ndarray) -> None:
        """Add more rows to a block, one after the other as NumPy does."""
        for row in data[0]:
            self.ufunc(result[0, 0], row, out=result[0, 0], casting="unsafe", **self.options)

    def _reduce(self, data: np.ndarray, axis: int, out: np.ndarray) -> None:
        rows = self.how.last < len(self.how.shape)
        if rows and data.shape[-1] == 1:  # NumPy would take a single column pairwise
            data = np.concatenate([data, data], axis=-1)
            out[...] = self.ufunc.reduce(data, axis=axis, **self.options)[..., :1]
        else:
            self.ufunc.reduce(data, axis=axis, out=out, **self.options)

    def result(self, shape: Ints) -> np.ndarray:
        """Combine the results of the blocks; ``shape`` is that of the kept axes."""
        found = self.found
        if any(found.shape[d] > 1 for d in self.how.open):
            found = self.ufunc.reduce(found, axis=self.how.open, **self.options)
        return np.asarray(found).reshape(shape)


def options(ufunc: Any, dtype: np.dtype) -> dict[str, Any]:
    """Return what to tell a ufunc of the dtype of its result."""
    return {} if ufunc in (np.logical_and, np.logical_or, np.logical_xor) else {"dtype": dtype}
