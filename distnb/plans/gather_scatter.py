"""Gather and scatter: who holds what flat indices name, and where what is gathered lies.

The first ``k`` axes of a view are indexed together, by *flat indices*: C-order positions over these
axes. So what is gathered has the axes of the indices, and then the other axes of the view. These
are never split in another way than the view is; so who has an index finds all that it names with
one holder.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from distnb.common.lazy import lazy
from distnb.geometry.axes import Axis, Block, Whole
from distnb.geometry.layout import (
    Grid,
    Ints,
    Layout,
    default_layout,
    strides_of,
)
from distnb.geometry.slices import total
from distnb.geometry.views import (
    AxisMap,
    Placed,
    follow,
    follow_axis,
)
from distnb.plans.transfer import window

__all__ = [
    "IndexedView",
    "checked",
    "gathered_layout",
    "in_line",
    "layout_of_indices",
    "spread",
    "unravel",
]

#: How positions are checked -> whether negative ones count from the end, the exception, its text.
_CHECKS: dict[str, tuple[bool, type[Exception], str]] = {
    "index": (True, IndexError, "index {i} is out of bounds for axis {axis} with size {n}"),
    "choice": (False, ValueError, "invalid entry in choice array"),
    "coordinate": (False, ValueError, "invalid entry in coordinates array"),
    "flat": (False, ValueError, "index {i} is out of bounds for array with size {n}"),
}


def checked(i: np.ndarray, n: int, axis: int = 0, check: str = "index") -> np.ndarray:
    """Return positions below ``n``, negative ones counted from the end; raise if one is outside.

    >>> checked(np.array([0, -1]), 5)
    array([0, 4])
    """
    wraps, error, text = _CHECKS[check]
    found = i.astype(np.int64, copy=False)
    if not found.size or (found.min() >= 0 and found.max() < n):
        return found
    bad = (found < (-n if wraps else 0)) | (found >= n)
    if bad.any():
        raise error(text.format(i=found[bad][0], axis=axis, n=n))
    return np.where(found < 0, found + n, found) if wraps else found


def unravel(flat: np.ndarray, shape: Ints) -> tuple[np.ndarray, ...]:
    """Return the indices of C-order positions."""
    if len(shape) == 1 or not flat.size:
        return (flat,) * len(shape)
    found = np.unravel_index(np.ravel(flat), shape)  # NumPy 2.4 errs in columns of many
    return tuple([index.reshape(np.shape(flat)) for index in found])


@dataclass(frozen=True)
class IndexedView:
    """A view of which the first ``k`` axes are indexed by flat indices.

    ``copies``: whether all ranks that hold an element are meant (to write), or the nearest one.
    """

    placed: Placed
    k: int
    copies: bool = False

    @lazy
    def _loose(self) -> dict[int, int]:
        """Return the grid dimensions along which the holders are, and their lengths."""
        placed = self.placed
        found = {m.gdim: m.p for m in placed.maps[: self.k] if m}
        if self.copies:
            found |= {g: placed.layout.grid.sizes[g] for g in placed.free}
        return found

    def holders(self, near: int) -> list[int]:
        """Return the ranks that hold what ``near`` may have indices of."""
        pinned, loose = self.placed.pinned, self._loose
        where = (dict(zip(loose, c, strict=True)) for c in product(*map(range, loose.values())))
        return [self.placed.source(pinned | w, near) for w in where]

    def is_holder(self, rank: int, near: int) -> bool:
        """Tell whether ``rank`` is one of :meth:`holders`."""
        coords = self.placed.layout.grid.coords(rank)
        if coords is None:
            return False
        where = {g: coords[g] for g in self._loose}
        return self.placed.source(self.placed.pinned | where, near) == rank

    def find(self, flat: np.ndarray, near: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each index, the (lowest) rank that holds it, and its position there."""
        placed, grid = self.placed, self.placed.layout.grid
        first = placed.source(placed.pinned | dict.fromkeys(self._loose, 0), near)
        ranks = np.full(flat.shape, first, np.int64)
        at: Any = None
        index = unravel(flat, placed.view.shape[: self.k])
        for i, (a, start, step), m in zip(index, placed.view.dims, placed.maps, strict=False):
            if a < 0:
                continue  # the same element for all indices
            local: Any = i if (start, step) == (0, 1) else start + step * i
            size: Any = placed.shape[a]
            if m is not None:
                owner, local = m.axis.find(m.n, m.p, local)
                ranks += owner * grid.strides[m.gdim]
                if at is not None:
                    size = np.array([m.axis.size(m.n, m.p, c) for c in range(m.p)])[owner]
            at = local if at is None else at * size + local
        return ranks, np.zeros(flat.shape, np.int64) if at is None else at

    def span(self, rank: int) -> tuple[int, int] | None:
        """Return the first flat index that names something a holder has, and the end of the last.

        None if that are not all between, or they do not lie in their order.
        """
        placed, k = self.placed, self.k
        shape, maps, coords = (
            placed.view.shape[:k],
            placed.maps[:k],
            placed.layout.grid.coords(rank),
        )
        plain = tuple((d, 0, 1) for d in range(k))
        if placed.view.dims[:k] != plain or shape != placed.shape[:k] or coords is None:
            return None
        if any(m is not None for m in maps[1:]):
            return None
        m, row = maps[0], prod(shape[1:])
        if m is None:
            return 0, shape[0] * row
        if m.axis.period(m.p):
            return None
        low, high = m.axis.bounds(m.n, m.p, coords[m.gdim])
        return low * row, high * row

    def first_copy(self, rank: int) -> int:
        """Return the rank that :meth:`find` names for what a holder holds."""
        grid = self.placed.layout.grid
        coords = grid.coords(rank)
        if not self.copies or coords is None:
            return rank
        return rank - sum(coords[g] * grid.strides[g] for g in self.placed.free)

    def inner(self, rank: int) -> Ints:
        """Return the lengths of the other axes in what a rank gathers."""
        coords = self.placed.layout.grid.coords(rank)
        return tuple(
            n if m is None or coords is None else total(m.owned(coords[m.gdim]))
            for n, m in zip(
                self.placed.view.shape[self.k :], self.placed.maps[self.k :], strict=True
            )
        )

    def outer(self, rank: int) -> Ints:
        """Return the lengths of the indexed axes on a rank."""
        local, coords = self.placed.local_shape(rank), self.placed.layout.grid.coords(rank)
        if local is None or coords is None or self._is_elsewhere(coords):
            return (0,) * self.k
        return tuple(local[a] if a >= 0 else 1 for a, _, _ in self.placed.view.dims[: self.k])

    def _is_elsewhere(self, coords: Ints) -> bool:
        return any(coords[g] != c for g, c in self.placed.pinned.items())

    def window(self, block: np.ndarray, rank: int) -> np.ndarray:
        """Return all that a rank holds and that may be asked for: indexed axes first."""
        placed = self.placed
        layout, coords = placed.layout, placed.layout.grid.coords(rank) or ()
        unit = strides_of(block.shape)
        offset = 0
        for a, i in placed.view.fixed:
            offset += layout.axes[a].to_local(placed.shape[a], layout.parts(a), i) * unit[a]
        strides = [unit[a] if a >= 0 else 0 for a, _, _ in placed.view.dims[: self.k]]
        dims = zip(placed.view.dims[self.k :], placed.maps[self.k :], strict=True)
        for (a, start, step), m in dims:
            at, by = (start, step) if m is None else _local(m, coords[m.gdim])
            offset += at * unit[a] if a >= 0 else 0
            strides.append(by * unit[a] if a >= 0 else 0)
        return window(block, self.outer(rank) + self.inner(rank), offset, tuple(strides))


def _local(m: AxisMap, c: int) -> tuple[int, int]:
    """Return where the part of an axis that is followed exactly begins in memory, and its step."""
    if m.start == 0 and m.step == 1 and m.extent == m.n:
        return 0, 1
    sections = m.owned(c)
    return m.locate(sections[0])[:2] if sections else (0, 1)


def in_line(placed: Placed, k: int) -> bool:
    """Tell whether gathered elements can lie as the axes that are not indexed do."""
    split = (m for m in placed.maps[k:] if m is not None)
    return all(m.step > 0 and follow_axis(m)[1] for m in split)


def spread(placed: Placed, k: int, shape: Ints, axis: int | None) -> Layout:
    """Return a layout of what indices of a shape gather, in line with the axes not indexed.

    One axis of the indices lies in blocks along the dimensions of the grid that are left; of those
    that cannot be made one, only the longest is used.
    """
    split = [m for m in placed.maps[k:] if m is not None]
    used, grid = {m.gdim for m in split}, placed.layout.grid
    # Along the others coordinates do not matter; they count from the lowest rank.
    grid = grid.turned(g for g, s in enumerate(grid.strides) if s < 0 and g not in used)
    dims = {grid.strides[m.gdim]: m.p for m in split}
    size, stride = _pool(grid, used)
    if axis is not None and size > 1:
        dims[stride] = size
    order = sorted(dims, key=abs, reverse=True)
    made = Grid(grid.first, tuple(dims[s] for s in order), tuple(order))
    blocks = axis if size > 1 else None
    kinds: list[Axis] = [Block() if d == blocks else Whole() for d in range(len(shape))]
    where = [order.index(stride) if d == blocks else -1 for d in range(len(shape))]
    for m in placed.maps[k:]:
        kinds.append(Whole() if m is None else follow_axis(m)[0])
        where.append(-1 if m is None else order.index(grid.strides[m.gdim]))
    return Layout(made, tuple(kinds), tuple(where))


def _pool(grid: Grid, used: set[int]) -> tuple[int, int]:
    """Return the longest (size, stride) that can be made of the grid dimensions not used."""
    runs = [(1, 0)]
    for g, (size, stride) in enumerate(zip(grid.sizes, grid.strides, strict=True)):
        if g in used or size == 1:
            continue
        if runs[-1][1] == size * stride:
            runs[-1] = (runs[-1][0] * size, stride)
        else:
            runs.append((size, stride))
    return max(runs)


def gathered_layout(placed: Placed, k: int, flat: Any, shape: Ints, size: int) -> Layout:
    """Return the layout of what is gathered by indices of a shape.

    The result lies as its index does; if that is not distributed (None), in the default layout. But
    where axes are split that are not indexed, it follows these.
    """
    inner = len(placed.view.shape) - k
    if any(m is not None for m in placed.maps[k:]):
        longest = shape.index(max(shape)) if shape else None
        return spread(placed, k, shape, longest)
    layout = default_layout(shape, size) if flat is None else follow(flat, size)[0]
    return Layout(layout.grid, layout.axes + (Whole(),) * inner, layout.dims + (-1,) * inner)


def layout_of_indices(layout: Layout, ndim: int) -> Layout:
    """Return where the indices lie that gather what lies in a layout."""
    return Layout(layout.grid, layout.axes[:ndim], layout.dims[:ndim])


def wanted_dtype(shape: Ints) -> np.dtype:
    """Return the dtype in which positions in a base of a shape travel."""
    return np.dtype(np.int32 if prod(shape) < 1 << 31 else np.int64)
