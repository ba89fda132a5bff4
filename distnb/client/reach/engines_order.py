"""Reductions in the order in which engines do them, where the notebook has all the elements."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from distnb.client.handle.arguments import Axes
from distnb.client.handle.indexing import some_axes
from distnb.client.reach.promised_layouts import Seen, view_seen
from distnb.client.transport.contract import KERNELS
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Grid, Ints, Layout, on_engine
from distnb.geometry.views import Placed, View
from distnb.ops import table
from distnb.wire.protocol import Operand, Reduce

__all__ = [
    "EnginesOrder",
    "NumberOrder",
    "PiecesOrder",
    "by_all_ranks",
    "by_rows",
    "of_all",
    "of_view",
]


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
    rows : tuple of int, optional
        The shape as which it is the same along axis 1, if there is one.
    """

    def __init__(self, op: str, x: Placed, axes: Ints, dtype: np.dtype, size: int) -> None:
        layout, _ = table.reduction_layout(x, axes, size)
        command = Reduce(op, 0, Operand(0, x.view), axes, dtype.str, 0)
        self._ranks = importlib.import_module(KERNELS).OneProcess(command, x, size)
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


class _ByTrees:
    """A sum or a product of which engines combine what each comes to by itself.

    Parameters
    ----------
    op : str
        Which of them.
    x : Placed
        What is reduced.
    axes : tuple of int
        Along which axes.
    size : int
        Number of engines.
    """

    def __init__(self, op: str, x: Placed, axes: Ints, size: int) -> None:
        self._ufunc: Any = table.REDUCTIONS[op].ufunc
        command = Reduce(op, 0, Operand(0, x.view), axes, "d", 0)
        self._ranks = importlib.import_module(KERNELS).OneProcess(command, x, size)

    def _combined(self, near: np.ndarray, tree: Any) -> Any:
        """Return what an engine and those below it in the tree come to."""
        found = self._one(near, tree.rank)
        if not tree.children:
            return found
        partial = np.asarray(found)
        for child in tree.children:  # in place, as engines: complex products round otherwise
            self._ufunc(partial, self._combined(near, child), out=partial)
        return partial[()]

    def _one(self, near: np.ndarray, rank: int) -> Any:
        """Return what an engine comes to."""
        raise NotImplementedError


class NumberOrder(_ByTrees):
    """A reduction of all elements, of which each engine has an interval, in C order.

    ``plain`` tells whether NumPy's order is the same: one engine has one block.
    """

    def __init__(self, op: str, x: Placed, size: int, lengths: Sequence[int]) -> None:
        super().__init__(op, x, tuple(range(len(x.shape))), size)
        sizes = [prod(x.layout.local_shape(x.shape, r) or (0,)) for r in range(size)]
        starts = [x.layout.start(x.shape, r) if sizes[r] else 0 for r in range(size)]
        (self._tree,) = self._ranks.trees()[:1]
        self._parts = [(at, at + n, k) for at, n, k in zip(starts, sizes, lengths, strict=True)]
        only = not self._tree.children and sizes[self._tree.rank] == prod(x.shape)
        self.plain = only and lengths[self._tree.rank] >= prod(x.shape)

    def __call__(self, near: np.ndarray) -> Any:
        """Return the number."""
        return self._combined(near.reshape(-1), self._tree)

    def _one(self, near: np.ndarray, rank: int) -> Any:
        start, stop, length = self._parts[rank]
        flat, reduce = near[start:stop], self._ufunc.reduce
        if stop - start <= length:
            return reduce(flat)
        n, rest = divmod(stop - start, length)
        partial = reduce(flat[: n * length].reshape(n, length), axis=1)
        if rest:
            partial = np.append(partial, reduce(flat[n * length :]))
        return reduce(partial)


class PiecesOrder(_ByTrees):
    """A reduction of a view, of each of whose axes an engine has one interval."""

    def __init__(self, op: str, x: Placed, axes: Ints, size: int) -> None:
        super().__init__(op, x, axes, size)
        self._axes = axes
        self._pieces = [_part(x, r) for r in range(size)]
        self._shape = table.reduced_shape(x.view.shape, axes, keepdims=False)
        self._parts: dict[str, tuple[Any, Any]] = {}
        for tree in self._ranks.trees():  # where several have the same part, it is made once
            piece = self._pieces[tree.rank] or ()
            at = tuple([k for d, k in enumerate(piece) if d not in axes])
            self._parts[str(at)] = at, tree

    def __call__(self, near: np.ndarray) -> Any:
        """Return the result, of the elements of the view."""
        parts = self._parts.values()
        if len(parts) == 1:
            ((_, tree),) = parts
            return self._combined(near, tree)
        found = np.empty(self._shape, near.dtype)
        for at, tree in parts:
            found[at] = self._combined(near, tree)
        return found

    def _one(self, near: np.ndarray, rank: int) -> Any:
        return self._ufunc.reduce(near[self._pieces[rank]], axis=self._axes)


def by_all_ranks(
    op: str, args: tuple[Any, ...], x: np.ndarray, layout: Layout, made: Placed
) -> np.ndarray:
    """Return what a scan, or a reduction of segments, makes of elements that may be written.

    The name of the ufunc and the axis are ``args``. Other axes may be split: each 1-D slice is as
    if it were alone.
    """
    found = x if op == "scan" else np.empty(made.shape, x.dtype)
    do = importlib.import_module(KERNELS).one_after_the_other
    do(op, args, (found, _along(args[1], made.layout)), (x, _along(args[1], layout)))
    return found


def _along(axis: int, layout: Layout) -> Layout:
    """Return the layout that splits one axis as another one does, and no other."""
    parts, ndim = layout.parts(axis), len(layout.axes)
    if parts == 1:
        return on_engine(ndim, 0)
    axes = tuple([layout.axes[axis] if d == axis else Whole() for d in range(ndim)])
    return Layout(Grid.of((parts,)), axes, tuple([0 if d == axis else -1 for d in range(ndim)]))


@lru_cache(maxsize=1024)
def of_view(op: str, seen: Seen, axis: Axes, size: int) -> PiecesOrder | None:
    """Return the reduction of a view of a base; None if engines do it in another way.

    They do where the view is of all of the base or goes backwards, and where an engine has several
    pieces of it.
    """
    layout, shape, _ = seen
    view = view_seen(seen)
    axes = some_axes(axis, len(view.shape))
    forward = all(step > 0 or along < 0 for along, _, step in view.dims)
    if not layout.in_order(shape) or not forward or view.is_whole(shape):
        return None
    placed = Placed(shape, layout, view)
    pieces = [placed.owned(r) or () for r in range(size)]
    if any(len(found) != 1 or found[0].count != 1 for piece in pieces for found in piece):
        return None
    _, exact = table.reduction_layout(placed, axes, size)
    return PiecesOrder(op, placed, axes, size) if exact else None


@lru_cache(maxsize=1024)
def of_all(op: str, shape: Ints, layout: Layout, size: int) -> NumberOrder | None:
    """Return the reduction of all elements of arrays; None if engines do it in another way."""
    placed = Placed(shape, layout, View.whole(shape))
    if not layout.in_order(shape) or not prod(shape):
        return None
    command = Reduce(op, 0, Operand(0, placed.view), tuple(range(len(shape))), "d", 0)
    lengths = importlib.import_module(KERNELS).OneProcess(command, placed, size).lengths()
    return None if lengths is None else NumberOrder(op, placed, size, lengths)


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
