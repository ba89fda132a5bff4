"""Boxes: products of intervals of indices, which is what ranks own where nothing is dealt in turns.

A box has a pair (first, end) for each axis, in global indices. The transform of real elements is
Hermitian: the element at index k is the conjugate of that at -k, along all transformed axes, modulo
their lengths. So half of it along one axis tells the other half: *images* are where they go.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from distnb.geometry.layout import Ints, Layout

__all__ = ["Box", "box_of", "half_of", "images", "is_boxes", "meet", "reflected", "sizes", "within"]

Box = tuple[tuple[int, int], ...]


def is_boxes(layout: Layout) -> bool:
    """Tell whether each element is on one rank, and each rank owns one box.

    >>> from distnb.geometry.layout import make_layout
    >>> [is_boxes(make_layout((8, 8), 2, dist)) for dist in ("block", "cyclic", "replicated")]
    [True, False, False]
    """
    split = ((axis, layout.parts(d)) for d, axis in enumerate(layout.axes))
    return layout.copies == 1 and not any(axis.period(parts) for axis, parts in split if parts > 1)


@lru_cache(maxsize=4096)
def box_of(layout: Layout, shape: Ints, rank: int) -> Box | None:
    """Return what a rank owns, or None if that is nothing.

    >>> from distnb.geometry.layout import make_layout
    >>> box_of(make_layout((8, 4), 2), (8, 4), 1)
    ((4, 8), (0, 4))
    """
    coords = layout.grid.coords(rank)
    if coords is None:
        return None
    box = tuple(
        axis.bounds(n, p, coords[g]) if (p := layout.parts(d)) > 1 else (0, n)
        for d, (axis, n, g) in enumerate(zip(layout.axes, shape, layout.dims, strict=True))
    )
    return box if 0 not in sizes(box) else None


def half_of(layout: Layout, shape: Ints, rank: int, half: int) -> Box | None:
    """Return what a rank computes of the first half of a Hermitian array, of which it owns a box.

    ``shape`` is that of the first half along axis ``half``. Where that is split, the parts are
    given in turns to the ranks from the first on and to those from the last on: so each owns about
    half of what it computes and of the conjugates.

    >>> from distnb.geometry.layout import make_layout
    >>> [half_of(make_layout((16,), 4), (8,), rank, 0) for rank in range(4)]
    [((0, 2),), ((4, 6),), ((6, 8),), ((2, 4),)]
    """
    parts, coords = layout.parts(half), layout.grid.coords(rank)
    if parts == 1 or coords is None:
        return box_of(layout, shape, rank)
    turned = list(coords)
    c = coords[layout.dims[half]]
    turned[layout.dims[half]] = min(2 * c, 2 * (parts - c) - 1)
    return box_of(layout, shape, layout.grid.rank(turned))


def sizes(box: Box) -> Ints:
    """Return the lengths of a box along its axes."""
    return tuple([end - first for first, end in box])


def meet(a: Box | None, b: Box | None) -> Box | None:
    """Return what two boxes have in common, or None if that is nothing.

    >>> meet(((0, 4), (2, 9)), ((3, 8), (0, 5))), meet(((0, 4),), ((4, 8),))
    (((3, 4), (2, 5)), None)
    """
    if a is None or b is None:
        return None
    found = []
    for (i, j), (k, n) in zip(a, b, strict=True):
        first, end = max(i, k), min(j, n)
        if first >= end:
            return None
        found.append((first, end))
    return tuple(found)


def within(part: Box, box: Box) -> tuple[slice, ...]:
    """Return where a part of a box is in an array of what is in the box."""
    return tuple(
        [slice(i - first, j - first) for (i, j), (first, _) in zip(part, box, strict=True)]
    )


def images(
    box: Box, shape: Ints, half: int, others: Sequence[int], apart: bool = True
) -> list[Box]:
    """Return the boxes of the other half of a Hermitian array of which a box is conjugates.

    ``box`` is in the first ``n // 2 + 1`` indices along axis ``half``; along ``others`` indices
    change sign, too. Index 0 stays where it is, so it is in a box of its own; unless ``apart`` is
    False and the axis is whole.

    >>> images(((0, 3), (0, 4)), (5, 6), 1, (0,))
    [((0, 1), (4, 6)), ((3, 5), (4, 6))]
    """
    n = shape[half]
    first, end = max(box[half][0], 1), min(box[half][1], (n + 1) // 2)
    if first >= end:
        return []
    parts = [
        _images(span, n, apart) if d in others else [span]
        for d, (span, n) in enumerate(zip(box, shape, strict=True))
    ]
    parts[half] = [_reflect((first, end), n)]
    return list(product(*parts))


def _images(span: tuple[int, int], n: int, apart: bool) -> list[tuple[int, int]]:
    first, end = span
    if span == (0, n) and not apart:
        return [span]
    zero = [(0, 1)] if first == 0 else []
    return zero + ([_reflect((max(first, 1), end), n)] if end > 1 else [])


def _reflect(span: tuple[int, int], n: int) -> tuple[int, int]:
    """Return where the negatives of indices are; index 0 stays alone where it is."""
    first, end = span
    return span if end == 1 else (n - end + 1, n - first + 1)


def reflected(
    part: Box, box: Box, shape: Ints, half: int, others: Sequence[int]
) -> tuple[slice, ...]:
    """Return where in an array of a box the elements are whose conjugates fill a part of an image.

    >>> reflected(((3, 4), (4, 6)), ((0, 3), (0, 4)), (5, 6), 1, (0,))
    (slice(2, 1, -1), slice(2, 0, -1))
    """
    found = []
    for d, (span, (low, _), n) in enumerate(zip(part, box, shape, strict=True)):
        turned = d == half or d in others
        first, end = _reflect(span, n) if turned else span
        found.append(
            _backwards(first - low, end - low)
            if turned and span[0]
            else slice(first - low, end - low)
        )
    return tuple(found)


def _backwards(first: int, end: int) -> slice:
    """Return the slice of the indices from first to end, from the last to the first."""
    return slice(end - 1, first - 1 if first else None, -1)
