"""Layouts for another number of engines: the same kinds of axes, on another grid."""

from __future__ import annotations

import numpy as np

from distnb.geometry.axes import Axis, Block, Irregular, Whole, cut_at
from distnb.geometry.layout import Grid, Ints, Layout, default_layout, near_square, on_engine

__all__ = ["in_rows", "regridded", "scaled"]


def scaled(cuts: Ints, parts: int) -> Ints:
    """Return cuts for another number of parts, which hold as much where those before did.

    >>> scaled((0, 2, 10), 4), scaled((0, 1, 5, 9), 1), scaled((0, 4, 7), 3)
    ((0, 1, 2, 6, 10), (0, 9), (0, 3, 5, 7))
    """
    n, before = cuts[-1], len(cuts) - 1
    if cut_at(cuts) == Block():
        return (0, *[Block().bounds(n, parts, c)[1] for c in range(parts)])
    at = np.interp(np.arange(1, parts) * (before / parts), np.arange(before + 1), cuts)
    return (0, *np.rint(at).astype(int).tolist(), n)


def in_rows(shape: Ints, engines: int) -> Layout:
    """Return a layout whose parts, one after the other, are an array in C order.

    >>> in_rows((1, 3, 2), 2).spell(), in_rows((), 2).spell()
    ('* x block x * on 2 engines', 'on engine 0')
    """
    if not shape:
        return on_engine(0, 0)
    axis = next((a for a, n in enumerate(shape) if n > 1), 0)
    axes = tuple(Block() if a == axis else Whole() for a in range(len(shape)))
    return Layout(
        Grid.of((engines,)), axes, tuple(0 if a == axis else -1 for a in range(len(axes)))
    )


def regridded(layout: Layout, shape: Ints, before: int, engines: int) -> Layout:
    """Return the like of a layout, which was for ``before`` engines, for another number.

    What lies as new arrays do lies so again; what is on some engines only stays there if it can.

    >>> grid = Layout(Grid.of((2, 2)), (Block(), Block()), (0, 1))
    >>> regridded(grid, (8, 8), 4, 2).spell(), regridded(grid, (8, 8), 4, 6).spell()
    ('block x block on 2x1 engines', 'block x block on 3x2 engines')
    >>> regridded(on_engine(2, 3), (8, 8), 4, 2).spell()
    'on engine 1'
    """
    grid = layout.grid
    if layout.here or before == engines:
        return layout
    if layout == default_layout(shape, before):
        return default_layout(shape, engines)
    if not grid.sizes:
        return on_engine(len(shape), min(grid.first, engines - 1))
    if grid.size < before and grid.last < engines:
        return layout
    sizes = _sizes(layout, shape, engines)
    pairs = zip(layout.axes, layout.dims, strict=True)
    axes = tuple([_axis(axis, sizes[d] if d >= 0 else 1) for axis, d in pairs])
    turned = [g for g, stride in enumerate(grid.strides) if stride < 0]
    return Layout(Grid.of(sizes).turned(turned), axes, layout.dims)


def _axis(axis: Axis, parts: int) -> Axis:
    """Return the like of an axis that is split over another number of coordinates."""
    return cut_at(scaled(axis.cuts, parts)) if isinstance(axis, Irregular) else axis


def _sizes(layout: Layout, shape: Ints, engines: int) -> Ints:
    """Return the grid: as near a square as can be, unless it was another one before.

    Dimensions that no axis uses hold as many copies as before, all if there is no other, and none
    where engines cannot be shared out so.
    """
    old, lengths = layout.grid.sizes, dict(zip(layout.dims, shape, strict=True))
    lengths.pop(-1, None)
    if not lengths:
        return (engines,) + (1,) * (len(old) - 1)
    copies = layout.copies if engines % layout.copies == 0 else 1
    dims = sorted(lengths)
    if [old[d] for d in dims] != near_square(layout.split, [lengths[d] for d in dims]):
        dims = [d for d in dims if old[d] > 1] or dims
    found = dict(zip(dims, near_square(engines // copies, [lengths[d] for d in dims]), strict=True))
    spare = next((d for d in range(len(old)) if d not in lengths), -1)
    return tuple([found.get(d, copies if d == spare else 1) for d in range(len(old))])
