"""Repeating elements: ``repeat``, ``tile``."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import array_of, broadcast, copied, record_local
from distnb.client.handle.host_arrays import plain
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.placement import stay
from distnb.client.shape.reshaping import adopted, axis_of, ravel, reshape
from distnb.common.errors import explain
from distnb.geometry.axes import Axis, Block, BlockCyclic, cut_at
from distnb.geometry.layout import Layout, replicated

__all__ = ["merged", "repeat", "scaled", "tile"]


@stands_for(np.repeat, small="grows")
def repeat(a: ArrayLike, repeats: Any, axis: SupportsIndex | None = None) -> Array:
    """Return each element several times, as ``numpy.repeat``.

    The engine that holds an element holds its repetitions, in the same order: nothing is sent if
    the axis is not split, or split in intervals. If the repeats are an array on engines, the
    length of the result depends on its elements: then it is waited for them.

    Parameters
    ----------
    a : array_like
        The elements.
    repeats : int or array_like of int
        How often each element comes along the axis.
    axis : int, optional
        By default all elements in C order.

    Returns
    -------
    DistArray
        As long along the axis as all repetitions together.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.repeat(dnb.array([3, 5, 7]), [2, 0, 1]).to_numpy()
    array([3, 3, 7])
    """
    x, d = axis_of(asarray(a), axis)
    array = isinstance(repeats, Array | np.ndarray)
    times = repeats if array else np.asarray(repeats).astype(np.int64)
    if times.ndim and not np.can_cast(times.dtype, np.int64):
        raise TypeError(
            f"Cannot cast array data from {times.dtype!r} to dtype('int64') according to the rule "
            "'safe'"
        )
    if times.ndim > 1:
        raise ValueError("object too deep for desired array")
    if times.size == 1:
        return _repeat_all(x, int(ravel(times)[0] if times.ndim else times), d)
    if times.shape[0] != x.shape[d]:
        raise ValueError(
            explain("repeats", f"{times.shape[0]} numbers", f"{x.shape[d]}", "give one for each")
        )
    return _repeat_each(x, times, d)


def _repeat_all(x: Array, times: int, d: int) -> Array:
    """Repeat each element equally often: stretch a new axis, and merge it with the one before."""
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    if x.here is not None:
        return array_of(x.session, np.repeat(x.here, times, d))
    wide = x.alias(x.dview.insert(d + 1))
    shape = (*x.shape[: d + 1], times, *x.shape[d + 1 :])
    return merged(broadcast(wide, shape), d)


def merged(x: Array, d: int) -> Array:
    """Return a new array in which an axis and the next one are one; 1-D slices stay together."""
    shape = (*x.shape[:d], x.shape[d] * x.shape[d + 1], *x.shape[d + 2 :])
    layout = stay(x, x.dtype)
    if layout.parts(d + 1) > 1 or not x.size:
        return reshape(x, shape, copy=True)
    p, n, k = layout.parts(d), x.shape[d], x.shape[d + 1]
    axis = scaled(layout.axes[d], n, p, k) if p > 1 else layout.axes[d]
    axes = (*layout.axes[:d], axis, *layout.axes[d + 2 :])
    dims = (*layout.dims[: d + 1], *layout.dims[d + 2 :])
    return adopted(copied(x, x.dtype, layout), shape, Layout(layout.grid, axes, dims))


def scaled(axis: Axis, n: int, p: int, k: int) -> Axis:
    """Return how an axis is split each of whose indices becomes ``k``."""
    if isinstance(axis, BlockCyclic):
        return BlockCyclic(axis.k * k)
    return cut_at((*[axis.bounds(n, p, c)[0] * k for c in range(p)], n * k))


def _repeat_each(x: Array, times: Any, d: int) -> Array:
    """Repeat each index of an axis as often as an array says: each engine its own."""
    if x.here is not None and (not isinstance(times, Array) or times.here is not None):
        return array_of(x.session, np.repeat(x.here, plain(times), d))
    rows = x.transpose([d, *(e for e in range(x.ndim) if e != d)])
    layout = _in_intervals(stay(rows, x.dtype) if x.here is None else None, rows)
    source = copied(rows, x.dtype, layout)
    n, p = x.shape[d], layout.parts(0)
    cuts = [layout.axes[0].bounds(n, p, c)[0] for c in range(p)] + [n]
    ends = _ends(times, cuts)
    numbers = asarray(times, session=x.session).astype(np.int64)
    along = Layout(layout.grid, layout.axes[:1], layout.dims[:1])
    beside = numbers.redistribute(along)
    axis = cut_at(tuple(ends)) if p > 1 else layout.axes[0]
    to = Layout(layout.grid, (axis, *layout.axes[1:]), layout.dims)
    found = create(x.session, (ends[-1], *rows.shape[1:]), x.dtype, to, ("empty",))
    record_local("repeat", found, (source, beside))
    return found.transpose([*range(1, d + 1), 0, *range(d + 1, x.ndim)])


def _in_intervals(layout: Layout | None, x: Array) -> Layout:
    """Return a layout with blocks in place of a cyclic first axis."""
    if layout is None:
        return replicated(x.ndim, x.session.size)
    if not layout.axes[0].period(layout.parts(0)):
        return layout
    return Layout(layout.grid, (Block(), *layout.axes[1:]), layout.dims)


def _ends(times: np.ndarray, cuts: list[int]) -> list[int]:
    """Return how many repetitions come before each cut; raise ValueError if some are negative."""
    if (times < 0).any():
        raise ValueError("repeats may not contain negative values.")
    sums = np.stack([times[low:high].sum() for low, high in pairwise(cuts)])
    return [0, *np.cumsum(np.asarray(sums)).tolist()]


@stands_for(np.tile, small="grows")
def tile(A: ArrayLike, reps: Any) -> Array:  # noqa: N803 - NumPy's name
    """Return an array again and again along its axes, as ``numpy.tile``.

    Layout and messages are those of :func:`distnb.reshape`, of a view that is stretched: what is
    sent, is sent once.

    Parameters
    ----------
    A : array_like
        What to repeat.
    reps : int or sequence of int
        How often along each axis, of which there may be more.

    Returns
    -------
    DistArray
        A new array.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.tile(dnb.array([1, 2]), (2, 2)).to_numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    x = asarray(A)
    times = tuple(operator.index(n) for n in (reps if np.iterable(reps) else (reps,)))
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    old = (1,) * (ndim - x.ndim) + x.shape
    if x.here is not None:
        return array_of(x.session, np.tile(x.here, times))
    shape = tuple(n * k for n, k in zip(old, times, strict=True))
    if min(shape, default=0) < 0:
        raise ValueError(explain("reps", times, "no negative numbers", "check the arithmetic"))
    view = x.dview.broadcast(old)
    for e in reversed(range(ndim)):
        view = view.insert(e)
    wide = tuple(n for pair in zip(times, old, strict=True) for n in pair)
    return reshape(x.alias(view.broadcast(wide), writeable=False), shape, copy=True)
