"""Products of matrices on a grid of engines: the largest of the three matrices stays where it is.

If it is the result, panels of the operands travel (SUMMA, :mod:`distnb.engines.linalg.summa`). If
it is an operand, the other one is brought beside it, and partial products are added up along the
grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import in_layout, record_collective, record_local
from distnb.client.linalg.contraction_commands import add_up
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import Grid, Layout
from distnb.geometry.views import Placed, follow

__all__ = ["Way", "multiply_parts", "ways"]

#: Summed indices of a panel.
WIDTH = 256
#: Products added up in the time in which a byte is written, about.
_PRODUCTS = 2
_BLOCK, _WHOLE = Block(), Whole()


class Way(NamedTuple):
    """A way to multiply: the elements it moves, and what does it."""

    moved: float
    run: Callable[[], Array]


def ways(a: Array, b: Array, dtype: np.dtype) -> Iterator[Way]:
    """Enumerate ways to multiply two matrices of which one has both axes dealt over a grid."""
    grid = _grid(a) or _grid(b)
    if grid is None or 0 in (a.size, b.size):
        return
    p, q = grid.sizes
    here = Layout(grid, (_BLOCK, _BLOCK), (0, 1))
    to_a, to_b = _move(a, here), _move(b, here)
    n, m = a.shape[0], b.shape[1]
    panels = a.size * (q - 1.0) + b.size * (p - 1.0)
    yield Way(to_a + to_b + panels, lambda: _summa(a, b, here, dtype))
    yield Way(to_a + b.size * p + 2.0 * n * m * (q - 1), lambda: _beside_left(a, b, here, dtype))
    yield Way(to_b + a.size * q + 2.0 * n * m * (p - 1), lambda: _beside_right(a, b, here, dtype))


def _grid(x: Array) -> Grid | None:
    """Return the grid over which both axes of a matrix are dealt: that of the rows comes first."""
    return _grid_of(x.placed, x.session.size)


@lru_cache(maxsize=1024)
def _grid_of(placed: Placed, size: int) -> Grid | None:
    layout, _ = follow(placed, size)
    if len(layout.grid.sizes) != 2 or sorted(layout.dims) != [0, 1]:
        return None
    sizes, strides = layout.grid.sizes, layout.grid.strides
    d, e = layout.dims
    return Grid(layout.grid.first, (sizes[d], sizes[e]), (strides[d], strides[e]))


def _move(x: Array, layout: Layout) -> float:
    """Return (about) the elements that travel to bring ``x`` into a layout."""
    same = follow(x.placed, x.session.size)[0] == layout
    return 0.0 if same else float(x.size)


def _summa(a: Array, b: Array, here: Layout, dtype: np.dtype) -> Array:
    """Multiply panel by panel."""
    a, b = in_layout(a, here, dtype), in_layout(b, here, dtype)
    grid, session = here.grid, a.session
    out = create(session, (a.shape[0], b.shape[1]), dtype, here, ("empty",))
    now: list[Array] = []
    for part, following in pairwise([(), *_parts(a.shape[1], grid), ()]):
        made = []
        if following:
            w = following[1] - following[0]
            left = Layout(grid, (_BLOCK, _WHOLE), (0, -1)), (a.shape[0], w)
            right = Layout(grid, (_WHOLE, _BLOCK), (-1, 1)), (w, b.shape[1])
            made = [create(session, s, dtype, where, ("empty",)) for where, s in (left, right)]
        if part:
            session.handles.budget.work += _work(out.size, part[1] - part[0], session.size)
        record_collective("summa", [out, *made], [a, b, *now], (part, following))
        now = made
    return out


def _parts(k: int, grid: Grid) -> list[tuple[int, int]]:
    """Return parts of the summed axis of which each is on one row and on one column of a grid.

    >>> _parts(10, Grid.of((2, 3)))
    [(0, 4), (4, 5), (5, 7), (7, 10)]
    """
    cuts = {_BLOCK.bounds(k, p, c)[0] for p in grid.sizes for c in range(p)}
    whole = list(pairwise(sorted({*cuts, k})))
    return [(i, min(i + WIDTH, last)) for first, last in whole for i in range(first, last, WIDTH)]


def _beside_left(a: Array, b: Array, here: Layout, dtype: np.dtype) -> Array:
    """Multiply where the left operand is; add up along the rows of the grid."""
    grid = here.grid
    b = in_layout(b, Layout(grid, (_BLOCK, _WHOLE), (1, -1)))
    where = Layout(grid, (_BLOCK, _BLOCK, _WHOLE), (1, 0, -1))
    return _added(in_layout(a, here), b, grid.sizes[1], where, dtype)


def _beside_right(a: Array, b: Array, here: Layout, dtype: np.dtype) -> Array:
    """Multiply where the right operand is; add up along the columns of the grid."""
    grid = here.grid
    a = in_layout(a, Layout(grid, (_WHOLE, _BLOCK), (-1, 0)))
    where = Layout(grid, (_BLOCK, _WHOLE, _BLOCK), (0, -1, 1))
    return _added(a, in_layout(b, here), grid.sizes[0], where, dtype)


def _added(a: Array, b: Array, parts: int, where: Layout, dtype: np.dtype) -> Array:
    """Add up the products of the parts of the summed axis."""
    shape = (parts, a.shape[0], b.shape[1])
    partial = create(a.session, shape, dtype, where, ("fill", 0))
    multiply_parts(partial, a, b)
    return add_up(partial, (0,))


def multiply_parts(out: Array, a: Array, b: Array) -> None:
    """Record products of what each engine holds."""
    out.session.handles.budget.work += _work(out.size, a.shape[-1], out.session.size)
    record_local("matmul", out, (a, b))


def _work(elements: int, k: int, size: int) -> int:
    """Return as how many bytes written the products count that an engine adds up."""
    return elements * k // (_PRODUCTS * size)
