"""Halos: what of an array in blocks lies around each rank's block, and who has it.

A block with its halo is a box of *boxes*: each is all of one rank's, and lies in its block in
order, or backwards (``reflect``), or is one index for all (``nearest``). What lies beyond the array
where the boundary is a value is nobody's.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from distnb.geometry.axes import Axis
from distnb.geometry.layout import Ints, Layout

__all__ = ["BOUNDARIES", "Box", "Run", "halo_of", "outside"]


def _periodic(i: np.ndarray, n: int) -> np.ndarray:
    return i % n


def _reflect(i: np.ndarray, n: int) -> np.ndarray:
    i = i % (2 * n)
    return np.minimum(i, 2 * n - 1 - i)


def _nearest(i: np.ndarray, n: int) -> np.ndarray:
    return i.clip(0, n - 1)


#: What lies beyond the ends of an axis -> which of its indices that is, and ``numpy.pad``'s mode.
BOUNDARIES = {
    "periodic": (_periodic, "wrap"),
    "reflect": (_reflect, "symmetric"),
    "nearest": (_nearest, "edge"),
}


def outside(i: np.ndarray, n: int, boundary: str | None) -> np.ndarray:
    """Return which indices of an axis stand at some places, -1 where none does.

    >>> outside(np.arange(-2, 5), 3, "reflect").tolist()
    [1, 0, 0, 1, 2, 2, 1]
    >>> outside(np.arange(-2, 5), 3, None).tolist()
    [-1, -1, 0, 1, 2, -1, -1]
    """
    if boundary is not None:
        return BOUNDARIES[boundary][0](i, n)
    return np.where((i >= 0) & (i < n), i, -1)


class Run(NamedTuple):
    """Places along an axis of a block with its halo: whose they are, and where in that block."""

    coord: int
    place: slice
    source: slice


class Box(NamedTuple):
    """A box of a block with its halo: whose it is, where it belongs, where it is in that block.

    ``shape`` is that of what is read there, which has one index for many where all are the same.
    """

    rank: int
    place: tuple[slice, ...]
    source: tuple[slice, ...]
    shape: Ints


@lru_cache(maxsize=1024)
def halo_of(
    rank: int, shape: Ints, layout: Layout, halo: Ints, boundary: str | None
) -> tuple[Box, ...]:
    """Return the boxes of a rank's block with its halo; its own block comes first.

    ``layout`` is one in blocks, without copies. None for ``boundary``: nothing is beyond the array.
    """
    coords = layout.grid.coords(rank)
    if coords is None or 0 in layout.shape_at(shape, coords):
        return ()
    along = [
        _runs(axis, n, layout.parts(a), coords[d] if d >= 0 else 0, halo[a], boundary)
        for a, (axis, n, d) in enumerate(zip(layout.axes, shape, layout.dims, strict=True))
    ]
    return tuple([_box(rank, layout, coords, runs) for runs in product(*along)])


def _box(rank: int, layout: Layout, coords: Ints, runs: tuple[Run, ...]) -> Box:
    where = list(coords)
    for run, d in zip(runs, layout.dims, strict=True):
        if d >= 0:
            where[d] = run.coord
    owner, sources = layout.grid.rank(where), tuple([run.source for run in runs])
    return Box(owner, tuple([run.place for run in runs]), sources, tuple(map(_length, sources)))


def _runs(axis: Axis, n: int, p: int, c: int, halo: int, boundary: str | None) -> list[Run]:
    """Return the runs of one axis; the first is the block itself."""
    low, high = axis.bounds(n, p, c)
    before = outside(np.arange(low - halo, low), n, boundary)
    after = outside(np.arange(high, high + halo), n, boundary)
    found = [Run(c, slice(halo, halo + high - low), slice(0, high - low))]
    for first, indices in ((0, before), (halo + high - low, after)):
        found += _runs_of(axis, n, p, first, indices)
    return found


def _runs_of(axis: Axis, n: int, p: int, first: int, indices: np.ndarray) -> list[Run]:
    """Return the runs of indices that stand at places from ``first`` on."""
    found: list[Run] = []
    owners = axis.find(n, p, indices.clip(0))[0]
    step = np.diff(indices)
    turns = (np.diff(owners) != 0) | (abs(step) > 1) | (np.diff(indices < 0) != 0)
    turns[1:] |= np.diff(step) != 0
    ends = [0, *(np.flatnonzero(turns) + 1).tolist(), indices.size]
    for i, j in pairwise(ends):
        if i < j and indices[i] >= 0:
            owner = int(owners[i])
            source = _slice(indices[i:j] - axis.bounds(n, p, owner)[0])
            found.append(Run(owner, slice(first + i, first + j), source))
    return found


def _length(of: slice) -> int:
    """Return how many indices a slice takes."""
    stop = -1 if of.stop is None else of.stop
    return abs(int(stop - of.start))


def _slice(indices: np.ndarray) -> slice:
    """Return indices that rise or fall by one, or are all the same, as a slice."""
    one, last = int(indices[0]), int(indices[-1])
    if last >= one:
        return slice(one, last + 1)
    return slice(one, last - 1 if last else None, -1)
