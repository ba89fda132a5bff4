"""The product of two arrays, summed over some of their axes: what is brought where.

Axes have labels, as in ``einsum``. One of them is split over all engines: operands that have the
axis are split along it, the other is brought to every engine. If it is one that is summed, partial
results are added up. The axis is taken for which the least travels. Local products are NumPy's.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of, as_dist, in_layout
from distnb.client.handle.fields import fits
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.linalg.matrix_commands import local
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import (
    Grid,
    Ints,
    Layout,
    replicated,
)
from distnb.geometry.views import Placed
from distnb.ops import matrix_functions

__all__ = ["add_up", "contract", "move", "split", "spread"]


def contract(a: Array, ia: Ints, b: Array, ib: Ints, io: Ints) -> Array:
    """Multiply two arrays and sum over the labels that are not in ``io``.

    Each label of an operand is in the other or in ``io``, and none is twice in one.
    """
    length = dict(zip(ia + ib, a.shape + b.shape, strict=True))
    spec = tuple(length[i] for i in io), _dtype(a, b)
    if all_here((a, b), a.session) and fits(prod(spec[0]) * spec[1].itemsize):
        args = (a.here, b.here), (ia, ib, io)
        (found,) = watched("multiply", matrix_functions.call, "contract", *args)
        return array_of(a.session, np.array(found, order="C"))
    if not length:
        return elementwise("multiply", a, b)
    a, b = as_dist(a, a.session), as_dist(b, a.session)
    if spec[1] == np.float16:  # which NumPy sums in single precision, without BLAS
        found = contract(a.astype(np.float32), ia, b.astype(np.float32), ib, io)
        return found.astype(np.float16)
    i = _best(a, ia, b, ib, io, length, prod(spec[0]))
    return _product(a, ia, b, ib, io, i, spec)


def _dtype(a: Array, b: Array) -> np.dtype:
    return np.matmul(np.zeros((1, 1), a.dtype), np.zeros((1, 1), b.dtype)).dtype


def _best(a: Array, ia: Ints, b: Array, ib: Ints, io: Ints, length: dict[int, int], n: int) -> int:
    """Return the label of the axis to split, for a result of ``n`` elements."""
    size = a.session.size
    parts = {i: min(length[i], size) for i in (*io, *(i for i in ia if i not in io))}

    def cost(i: int) -> float:
        found = 0.0 if i in io else 2.0 * n * (size > 1)
        for x, labels in ((a, ia), (b, ib)):
            found += move(x, split(labels.index(i), size, x.ndim)) if i in labels else spread(x)
        return found

    return min((i for i in parts if parts[i] == max(parts.values())), key=cost)


def _product(
    a: Array, ia: Ints, b: Array, ib: Ints, io: Ints, i: int, spec: matrix_functions.Spec
) -> Array:
    """Multiply with the axis of label ``i`` split."""
    size = a.session.size
    brought = [
        in_layout(x, split(labels.index(i), size, x.ndim) if i in labels else _all(x))
        for x, labels in ((a, ia), (b, ib))
    ]
    partial = i not in io and size > 1
    if not partial:
        where = split(io.index(i), size, len(io)) if i in io else replicated(len(io), size)
        return local("contract", brought, (ia, ib, io), None, [where], [spec])[0]
    # A part of length 1 along an axis of its own: each engine has a partial result.
    where = split(0, size, len(io) + 1)
    spec = (size, *spec[0]), spec[1]
    found = local("contract", brought, (ia, ib, io), None, [where], [spec])[0]
    return add_up(found, (0,))


def add_up(x: Array, axes: Ints) -> Array:
    """Sum in the dtype of the operand (a bool is true if any is)."""
    if x.dtype.kind == "b":
        return reduce("any", x, axes)
    return reduce("sum", x, axes, x.dtype)


# -- layouts and what they cost ----------------------------------------------------------------


@lru_cache(maxsize=256)
def split(axis: int, size: int, ndim: int = 2) -> Layout:
    """Return the layout with blocks along one axis."""
    if size == 1:
        return replicated(ndim, size)
    dims = tuple(0 if d == axis else -1 for d in range(ndim))
    axes = tuple(Block() if d == axis else Whole() for d in range(ndim))
    return Layout(Grid.of((size,)), axes, dims)


def _all(x: Array) -> Layout:
    return replicated(x.ndim, x.session.size)


def spread(x: Array) -> float:
    """Return the elements that travel to give every engine all of ``x``."""
    return _spread(x.placed, x.session.size)


@lru_cache(maxsize=1024)
def _spread(placed: Placed, size: int) -> float:
    held = not any(placed.maps) and not placed.pinned and placed.layout.copies == size
    return 0.0 if held else float(prod(placed.view.shape)) * (size - 1)


def move(x: Array, layout: Layout) -> float:
    """Return (about) the elements that travel to bring ``x`` into a layout."""
    if layout.copies > 1 or layout.grid.size == 1:
        return 0.0
    return _move(x.placed, layout, x.session.size)


@lru_cache(maxsize=1024)
def _move(placed: Placed, layout: Layout, size: int) -> float:
    axis = layout.dims.index(0)
    m = placed.maps[axis]
    others = any(other for d, other in enumerate(placed.maps) if d != axis)
    if m is not None and not others and m.step > 0 and not m.axis.period(m.p) and m.p == size:
        return 0.0
    return 0.0 if _spread(placed, size) == 0.0 else float(prod(placed.view.shape))
