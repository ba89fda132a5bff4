"""Boxes of files: what of a file an array's view of it is, and the pieces it is read in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from distnb.formats.stored import Box, sub
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["PIECE", "full", "in_file", "moved", "pieces"]

#: Bytes that are read or written at a time, between looks at whether the user has given up.
PIECE = 1 << 25


def full(shape: Ints) -> Box:
    """Return the box of all of an array."""
    return tuple([range(n) for n in shape])


def moved(box: Box, origin: Ints) -> Box:
    """Return where a box whose steps are 1 is in a file, of an array that begins at a place there.

    >>> moved((range(2), range(3, 5)), (10, 0))
    (range(10, 12), range(3, 5))
    """
    return tuple([range(r.start + o, r.stop + o) for r, o in zip(box, origin, strict=True)])


def in_file(view: View, box: Box, ndim: int, out: np.ndarray) -> tuple[Box, np.ndarray]:
    """Return what a box of a view of a file is in the file, and where its elements go.

    ``out`` has the shape of the box; what is returned looks at it with the file's axes.

    >>> out = np.zeros((2, 3))
    >>> view = View((3, 4), ((1, 9, -1), (0, 0, 2)))  # reversed columns, every other row
    >>> found, there = in_file(view, (range(0, 2), range(1, 4)), 2, out)
    >>> found, there.shape
    ((range(2, 7, 2), range(8, 10)), (3, 2))
    """
    places: list[range] = [range(0, 1)] * ndim
    for axis, index in view.fixed:
        places[axis] = range(index, index + 1)
    where: dict[int, int] = {}
    turn: list[slice] = []
    for d, (r, (axis, start, step)) in enumerate(zip(box, view.dims, strict=True)):
        turn.append(slice(None, None, -1 if step < 0 else 1))
        if axis >= 0:
            ends = (start + step * r[0], start + step * r[-1]) if len(r) else (0, -1)
            places[axis] = range(min(ends), max(ends) + 1, abs(step)) if len(r) else range(0)
            where[axis] = d
    found = out[tuple(turn)] if turn else out
    order = [where[a] for a in sorted(where)]
    still = [d for d in range(len(box)) if d not in order]
    found = found.transpose(*order, *still)
    found = sub(found, [*[slice(None)] * len(order), *[0] * len(still)])
    axes = [slice(None) if a in where else None for a in range(ndim)]
    return tuple(places), sub(found, axes)


def pieces(box: Box, itemsize: int, chunks: Ints, most: int = PIECE) -> Iterator[tuple[slice, ...]]:
    """Cut a box into pieces of at most ``most`` bytes, if chunks are no larger.

    Yields where in the box each lies. Cuts are where chunks end, along the first axes.

    >>> [p[0] for p in pieces((range(5, 12), range(2)), 8, (4, 2), 64)]
    [slice(0, 3, None), slice(3, 7, None)]
    """
    axes: list[list[slice]] = []
    budget = max(1, most // itemsize)
    for d, r in enumerate(box):
        row = prod([len(other) for other in box[d + 1 :]])
        cuts = list(_cuts(r, max(1, budget // max(1, row)), chunks[d] if chunks else 1))
        axes.append(cuts)
        budget = max(1, budget // max((cut.stop - cut.start for cut in cuts), default=1))
    yield from product(*axes)


def _cuts(r: range, few: int, chunk: int) -> Iterator[slice]:
    """Cut a range into parts of about ``few`` indices, where chunks end if it can be."""
    low, n = 0, len(r)
    while low < n:
        high = min(n, low + few)
        if high < n and chunk > 1:
            end = max((r[0] + high * r.step) // chunk, r[low] // chunk + 1) * chunk
            high = min(n, max(low + 1, -((r[0] - end) // r.step)))
        yield slice(low, high)
        low = high
