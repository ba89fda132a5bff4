"""Reductions in the order in which engines do them, where the notebook has all the elements."""

from __future__ import annotations

import importlib
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from distnb.client.handle.arguments import Axes
from distnb.client.handle.indexing import some_axes
from distnb.client.transport.contract import ENTRY
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed, View
from distnb.ops import table
from distnb.wire.protocol import Operand, Reduce

__all__ = ["EnginesOrder", "by_rows", "of_all"]


class EnginesOrder:
    """A reduction of arrays that lie alike, in the order in which engines do it.

    Parameters
    ----------
    op : str
        A reduction with a ufunc.
    x : Placed
        What is reduced.
    axes : tuple of int
        Along which axes.
    dtype : dtype
        Of the result.
    size : int
        Number of engines.

    Attributes
    ----------
    plain : bool
        Whether NumPy's order is the same.
    rows : tuple of int, optional
        The shape as which it is the same along axis 1, if there is one.
    """

    def __init__(self, op: str, x: Placed, axes: Ints, dtype: np.dtype, size: int) -> None:
        layout, _ = table.reduction_layout(x, axes, size)
        command = Reduce(op, 0, Operand(0, x.view), axes, dtype.str, 0)
        self._ranks = importlib.import_module(ENTRY).OneProcess(command, x, size)
        self.plain = self._ranks.plain
        self.rows = self._ranks.rows()
        self._shape = table.reduced_shape(x.view.shape, axes, keepdims=False)
        self._dtype = dtype
        made = Placed.whole(self._shape, layout)
        self._blocks = [_part(Placed.whole(x.shape, x.layout), r) for r in range(size)]
        self._outs = [_part(made, r) for r in range(size)]

    def __call__(self, near: np.ndarray) -> np.ndarray:
        """Return the result, of the elements of all of the base."""
        near = near if near.flags.c_contiguous else near.copy()  # such as the real parts of another
        blocks = [_cut(near, part) for part in self._blocks]
        if not self._shape:
            return self._ranks.number(blocks)
        found = np.empty(self._shape, self._dtype)
        self._ranks.run(blocks, [_cut(found, part) for part in self._outs])
        return found


def _part(placed: Placed, rank: int) -> tuple[Any, ...] | None:
    """Return the index of what a rank has of an array whose parts are intervals; None: nothing."""
    owned = placed.owned(rank)
    if owned is None or not all(owned):
        return None
    return (*[slice(s[0].start, s[0].start + s[0].block) for s in owned], ...)


def _cut(whole: np.ndarray, part: tuple[Any, ...] | None) -> np.ndarray:
    return np.empty((0,) * (whole.ndim or 1), whole.dtype) if part is None else whole[part]


@lru_cache(maxsize=1024)
def of_all(op: str, shape: Ints, layout: Layout, dtype: np.dtype, size: int) -> EnginesOrder | None:
    """Return the reduction of all elements of arrays; None if the parts are no intervals."""
    if not layout.in_order(shape):
        return None
    return _of(op, shape, layout, dtype, tuple(range(len(shape))), size)


@lru_cache(maxsize=1024)
def by_rows(
    op: str, shape: Ints, layout: Layout, dtype: np.dtype, axis: Axes, size: int
) -> tuple[Ints, Ints] | None:
    """Return the shape as which NumPy reduces along axis 1 as engines do along axes, and what for.

    The latter is the shape of the result. None if they do it in another way.
    """
    if not layout.in_order(shape) or not prod(shape):
        return None
    axes = some_axes(axis, len(shape))
    rows = _of(op, shape, layout, dtype, axes, size).rows
    return None if rows is None else (rows, table.reduced_shape(shape, axes, keepdims=False))


def _of(
    op: str, shape: Ints, layout: Layout, dtype: np.dtype, axes: Ints, size: int
) -> EnginesOrder:
    return EnginesOrder(op, Placed(shape, layout, View.whole(shape)), axes, dtype, size)
