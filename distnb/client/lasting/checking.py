"""What a manifest may say: nothing that engines would take for places outside of an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from math import prod
from typing import Any

import numpy as np

from distnb.geometry.layout import Grid, Ints, Layout
from distnb.geometry.views import View

__all__ = ["check_layout", "check_parts", "check_view", "natural", "need"]

#: More bytes than any array has.
_BYTES = 1 << 63
#: As many axes as an array of NumPy's can have.
_AXES = 64


def need(fact: object, what: str) -> None:
    """Raise ValueError if something is not so.

    >>> need(1 < 2, "order")
    """
    if not fact:
        raise ValueError(what)


def natural(found: Any) -> bool:
    """Tell whether this is a whole number, not below 0.

    >>> natural(3), natural(-1), natural(True), natural(3.0)
    (True, False, False, False)
    """
    return _whole(found) and found >= 0


def _whole(found: Any) -> bool:
    return type(found) is int and abs(found) < _BYTES


def check_parts(shape: Ints, dtype: str, parts: Sequence[Any]) -> None:
    """Refuse a shape, a dtype or parts of a file that cannot be.

    >>> check_parts((4, 3), "<f8", [(48, 7), (48, 9)])
    """
    need(isinstance(dtype, str) and not np.dtype(dtype).hasobject, "dtype")
    _check_shape(shape, np.dtype(dtype).itemsize)
    need(all(natural(length) and natural(crc) for length, crc in parts), "parts")
    need(sum([n for n, _ in parts]) == prod(shape) * np.dtype(dtype).itemsize, "parts")


def _check_shape(shape: Any, itemsize: int) -> None:
    need(isinstance(shape, tuple) and all(map(natural, shape)), "shape")
    need(len(shape) <= _AXES and prod(shape) * itemsize < _BYTES, "shape")


def check_layout(layout: Layout, shape: Ints, engines: int) -> None:
    """Refuse a layout that is not one of a base of this shape on so many engines.

    >>> from distnb.geometry.layout import default_layout
    >>> check_layout(default_layout((4, 3), 2), (4, 3), 2)
    """
    grid, axes, dims = layout.grid, layout.axes, layout.dims
    need(all(map(_whole, _leaves([astuple(grid), [astuple(x) for x in axes], dims]))), "layout")
    need(len(axes) == len(dims) == len(shape), "axes of a layout")
    used = [d for d in dims if d >= 0]
    need(len(used) == len(set(used)), "dimensions of a grid")
    need(all(-1 <= d < len(grid.sizes) for d in dims), "dimensions of a grid")
    if layout.here:
        need(not grid.sizes and not grid.strides, "grid")
    else:
        _check_grid(grid, engines)
    for a, (axis, n) in enumerate(zip(axes, shape, strict=True)):
        if n:
            axis.check(n, layout.parts(a))


def _leaves(found: Any) -> list[Any]:
    nested = isinstance(found, list | tuple)
    return [leaf for each in found for leaf in _leaves(each)] if nested else [found]


def _check_grid(grid: Grid, engines: int) -> None:
    """Refuse ranks that there are not, or that come twice."""
    need(all(n >= 1 for n in grid.sizes), "grid")
    need(len(grid.sizes) == len(grid.strides), "grid")
    need(grid.lowest >= 0 and grid.last < engines, "grid")
    pairs = zip(grid.strides, grid.sizes, strict=True)
    reach = 0
    for stride, n in sorted([(abs(s), n) for s, n in pairs if n > 1]):
        need(stride > reach, "grid")
        reach += stride * (n - 1)


def check_view(view: View, shape: Ints, itemsize: int) -> None:
    """Refuse a view that shows what is not in a base of this shape.

    >>> check_view(View((2,), ((1, 2, -2),), ((0, 3),)), (4, 3), 8)
    """
    _check_shape(view.shape, itemsize)
    need(all(map(_whole, _leaves([view.dims, view.fixed]))), "view")
    need(len(view.dims) == len(view.shape), "axes of a view")
    shown = [axis for axis, _, _ in view.dims if axis != -1] + [axis for axis, _ in view.fixed]
    need(sorted(shown) == list(range(len(shape))), "axes of a view")
    for n, (axis, start, step) in zip(view.shape, view.dims, strict=True):
        if axis >= 0 and n:
            last = start + step * (n - 1)
            need(min(start, last) >= 0 and max(start, last) < shape[axis], "indices of a view")
            need(step or n == 1, "steps of a view")
    need(all(0 <= index < shape[axis] for axis, index in view.fixed), "indices of a view")
