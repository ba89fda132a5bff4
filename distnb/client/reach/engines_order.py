"""Reductions in the order in which engines do them, where the notebook has all the elements."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from distnb.client.handle.arguments import Axes
from distnb.client.handle.indexing import some_axes
from distnb.client.reach.promised_layouts import Seen, view_seen
from distnb.client.transport.contract import KERNELS
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Grid, Ints, Layout, on_engine
from distnb.geometry.slices import Section
from distnb.geometry.views import Placed, follow
from distnb.ops import table
from distnb.plans.transfer import plan_reduce, window
from distnb.wire.protocol import Operand, Reduce

__all__ = [
    "EnginesOrder",
    "NumberOrder",
    "PartsOrder",
    "PiecesOrder",
    "by_all_ranks",
    "by_parts",
    "by_rows",
    "of_all",
    "of_view",
]


#: Bytes of a part that is laid out for some elements of it, at most.
_MOST = 1 << 26


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
    of_base : bool
        Whether it takes the elements of all of the base, and not those of the view.
    """

    of_base = True

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


class PartsOrder(EnginesOrder):
    """The same, of the elements of a view alone; engines may hold any parts of its base.

    They are laid out as in each engine's part, for NumPy combines elements as they lie in memory.
    """

    of_base = False

    def __init__(self, op: str, x: Placed, axes: Ints, dtype: np.dtype, size: int) -> None:
        super().__init__(op, x, axes, dtype, size)
        made = Placed.whole(self._shape, table.reduction_layout(x, axes, size)[0])
        self._taken = [_Local(x, r, axes) for r in range(size)]
        #: Of copies of a part of the result the one that is written.
        self._given = [_Local(made, r, ()) if self._ranks.writes(r) else None for r in range(size)]

    def __call__(self, near: np.ndarray) -> np.ndarray:
        """Return the result, of the elements of the view."""
        blocks = []
        for part in self._taken:
            block = np.empty(part.shape, near.dtype)
            for place, look in part.pairs(block, near):
                place[...] = look
            blocks.append(block)
        outs = [np.empty(part.shape if part else 0, self._dtype) for part in self._given]
        self._ranks.run(blocks, outs)
        found = np.empty(self._shape, self._dtype)
        for given, out in zip(self._given, outs, strict=True):
            for place, look in given.pairs(out, found) if given else ():
                look[...] = place
        return found


class _Local:
    """Where the elements of a view lie in a rank's part of the base, and where in the view."""

    def __init__(self, placed: Placed, rank: int, dropped: Ints) -> None:
        plan = plan_reduce(rank, placed, dropped)
        self._pieces = () if plan is None else plan[1]
        self.shape = placed.local_shape(rank) or ()

    def pairs(self, block: np.ndarray, near: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Enumerate looks at the same elements: in the rank's part, and in all of the view."""
        for piece in self._pieces:
            place = window(block, piece.shape, piece.memory.offset, piece.memory.strides)
            yield place, _look(near, piece.sections)


def _look(x: np.ndarray, sections: tuple[Section, ...]) -> np.ndarray:
    """Return a look at a section of each axis, with two axes where several runs are of several."""
    ends = [s.start + (s.count - 1) * s.period + s.block for s in sections]
    spans: list[Any] = [slice(s.start, end) for s, end in zip(sections, ends, strict=True)]
    begins = x[(*spans, ...)]
    if all(s.count == 1 for s in sections):
        return begins
    shape, strides = list[int](), list[int]()
    for s, step in zip(sections, begins.strides, strict=True):
        runs = ((s.count, s.period * step), (s.block, step))
        for n, stride in runs if 1 not in (s.count, s.block) else runs[s.count == 1 :][:1]:
            shape.append(n)
            strides.append(stride)
    return as_strided(begins, shape, strides)


def _part(placed: Placed, rank: int) -> tuple[Any, ...] | None:
    """Return the index of what a rank has of an array whose parts are intervals; None: nothing."""
    owned = placed.owned(rank)
    if owned is None or not all(owned):
        return None
    return (*[slice(s[0].start, s[0].start + s[0].block) for s in owned], ...)


def _cut(whole: np.ndarray, part: tuple[Any, ...] | None) -> np.ndarray:
    return np.empty((0,) * (whole.ndim or 1), whole.dtype) if part is None else whole[part]


class _ByTree:
    """A sum or a product of which engines combine what each comes to by itself.

    Parameters
    ----------
    op : str
        Which of them.
    holders : list of int
        The ranks that have something, in ascending order.
    """

    def __init__(self, op: str, holders: list[int]) -> None:
        self._ufunc: Any = table.REDUCTIONS[op].ufunc
        self._tree = _kernels().tree_of(holders)

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


class NumberOrder(_ByTree):
    """A reduction of all elements, of which each engine has an interval, in C order.

    Parameters
    ----------
    op : str
        A sum or a product.
    parts : dict of int to (int, int, int)
        For each rank that has some, where they begin and end, and the elements of a block.

    Attributes
    ----------
    plain : bool
        Whether NumPy's order is the same: one engine has one block.
    """

    def __init__(self, op: str, parts: dict[int, tuple[int, int, int]]) -> None:
        super().__init__(op, [*parts])
        self._parts = parts
        self.plain = len(parts) == 1 and all(stop - at <= k for at, stop, k in parts.values())

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


class PiecesOrder(_ByTree):
    """A reduction of a view, of whose axes at most one is split, into an interval for each engine.

    Parameters
    ----------
    op : str
        A sum or a product.
    axes : tuple of int
        Along which axes of the view.
    split : int
        The one that is split.
    pieces : dict of int to (int, int)
        For each rank that has some of it, where that begins and ends.
    shape : tuple of int
        Of the result.
    """

    def __init__(
        self, op: str, axes: Ints, split: int, pieces: dict[int, tuple[int, int]], shape: Ints
    ) -> None:
        super().__init__(op, [*pieces])
        self._axes, self._shape = axes, shape
        before = (slice(None),) * split
        self._pieces = {r: (*before, slice(*piece)) for r, piece in pieces.items()}
        self._kept = split not in axes and len(pieces) > 1
        self._cut = [d for d in range(split) if d in axes]

    def __call__(self, near: np.ndarray) -> Any:
        """Return the result, of the elements of the view."""
        if not self._kept:
            return self._combined(near, self._tree)
        found = np.empty(self._shape, near.dtype)
        for rank, piece in self._pieces.items():
            found[piece[len(self._cut) :]] = self._one(near, rank)
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

    They do where the view is of all of the base or goes backwards, and where their parts do not lie
    one after the other.
    """
    layout, shape, _ = seen
    view = view_seen(seen)
    axes = some_axes(axis, len(view.shape))
    forward = all(step > 0 or along < 0 for along, _, step in view.dims)
    if not layout.in_order(shape) or not forward or not axes or view.is_whole(shape):
        return None
    split, parts = _split(layout, shape, size)
    d = next((d for d, (a, _, _) in enumerate(view.dims) if a == split), None)
    made = table.reduced_shape(view.shape, axes, keepdims=False)
    if d is None:  # one engine has all of it
        return PiecesOrder(op, axes, 0, {0: (0, view.shape[0])}, made)
    _, start, step = view.dims[d]
    pieces = {}
    for rank, ends in parts.items():
        piece = [min(view.shape[d], max(0, -((start - end) // step))) for end in ends]
        if piece[0] < piece[1]:
            pieces[rank] = (piece[0], piece[1])
    return PiecesOrder(op, axes, d, pieces, made)


@lru_cache(maxsize=256)
def by_parts(op: str, seen: Seen, dtype: np.dtype, axis: Axes, size: int) -> PartsOrder | None:
    """Return the reduction of a view whatever engines hold; None if that takes too much memory.

    Only as many rows of the base are laid out as the view has, and one more: not all of it.
    """
    layout, shape, _ = seen
    view = view_seen(seen)
    axes = some_axes(axis, len(view.shape))
    if not axes:
        return None
    placed = Placed(shape, layout, view)
    if not table.reduction_layout(placed, axes, size)[1]:  # engines reduce a copy
        whole = Placed.whole(view.shape, follow(placed, size)[0])
        return _parts_of(op, whole, axes, dtype, size)
    if shape and layout.parts(0) == 1:
        lengths = zip(view.shape, view.dims, strict=True)
        last = [max(at, at + (n - 1) * step) for n, (a, at, step) in lengths if a == 0]
        shape = (min(shape[0], max(last, default=0) + 2), *shape[1:])
    return _parts_of(op, Placed(shape, layout, view), axes, dtype, size)


@lru_cache(maxsize=256)
def _parts_of(op: str, placed: Placed, axes: Ints, dtype: np.dtype, size: int) -> PartsOrder | None:
    """Return the reduction of what is placed; None if a part of it takes too much memory."""
    parts = [placed.local_shape(r) or (0,) for r in range(size)]
    if max(map(prod, parts)) * dtype.itemsize > _MOST:
        return None
    return PartsOrder(op, placed, axes, dtype, size)


@lru_cache(maxsize=1024)
def of_all(op: str, shape: Ints, layout: Layout, size: int) -> NumberOrder | None:
    """Return the reduction of all elements of arrays; None if engines do it in another way."""
    if not layout.in_order(shape) or not prod(shape):
        return None
    split, parts = _split(layout, shape, size)
    below, every = prod(shape[split + 1 :]), tuple(range(len(shape)))
    found = {}
    for rank, (start, stop) in parts.items():
        how = _kernels().reduction_blocks(_with(shape, split, stop - start), every)
        if how is not None and (how.first or how.last < len(how.shape)):
            return None
        length = prod((how.step, *how.shape[1:])) if how else 1
        found[rank] = start * below, stop * below, length
    return NumberOrder(op, found)


@lru_cache(maxsize=1024)
def by_rows(shape: Ints, layout: Layout, axis: Axes, size: int) -> tuple[Ints, Ints] | None:
    """Return the shape as which NumPy reduces along axis 1 as engines do along axes, and what for.

    The latter is the shape of the result. None if they do it in another way.
    """
    if not layout.in_order(shape) or not prod(shape):
        return None
    axes = some_axes(axis, len(shape))
    split, parts = _split(layout, shape, size)
    if split in axes and len(parts) > 1:
        return None
    others, kinds = 0, set()
    for start, stop in parts.values():
        how = _kernels().reduction_blocks(_with(shape, split, stop - start), axes)
        rows = None if how is None else how.rows
        if rows is None:
            return None
        others += rows[0]
        kinds.add(rows[1:])
    if len(kinds) > 1:
        return None
    return (others, *kinds.pop()), table.reduced_shape(shape, axes, keepdims=False)


def _kernels() -> Any:
    return importlib.import_module(KERNELS)


def _with(shape: Ints, axis: int, n: int) -> Ints:
    """Return a shape with another length along an axis."""
    return (*shape[:axis], n, *shape[axis + 1 :])


def _split(layout: Layout, shape: Ints, size: int) -> tuple[int, dict[int, tuple[int, int]]]:
    """Return the axis that is split, and what of it ranks have, of a layout in order.

    Of the ranks, in ascending order, those that have some. If none is split, that is the first one.
    """
    split = next((a for a in range(len(shape)) if layout.parts(a) > 1), 0)
    n, p, g = shape[split], layout.parts(split), layout.dims[split]
    found = {}
    for rank in range(size):
        coords = layout.grid.coords(rank)
        if coords is not None:
            # What one coordinate has is all of it, however it would deal it out.
            low, high = layout.axes[split].bounds(n, p, coords[g]) if p > 1 else (0, n)
            if low < high:
                found[rank] = low, high
    return split, found
