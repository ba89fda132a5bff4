"""``argsort`` and its like: positions that travel with the keys while these are sorted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create, room_for
from distnb.client.handle.conversion import (
    array_of,
    as_dist,
    copied,
    in_layout,
    record_collective,
)
from distnb.client.handle.host_arrays import all_here, plain
from distnb.client.handle.indexing import no_bool, one_axis
from distnb.client.reach.admission import admitted
from distnb.client.reach.decorators import in_reach
from distnb.client.reach.small_steps import made_of
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.select.sorting import check_sort, reverse, sort
from distnb.client.shape.reshaping import axis_of
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.common.ndarrays import QUICK
from distnb.geometry.axes import Block
from distnb.geometry.layout import Ints, Layout
from distnb.ops import table
from distnb.ops.orders import stable_order

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sorted_with_positions", "topk"]

_POSITION = np.dtype(np.intp)


def _stably(
    a: np.ndarray, axis: SupportsIndex | None = -1, kind: object = None, *, stable: object = None
) -> np.ndarray:
    """Do what NumPy's does that is stable; raise if something else is asked for."""
    if kind is not None and (stable is not None or kind not in ("stable", "mergesort")):
        raise ValueError(kind)
    if stable not in (None, True):
        raise ValueError(stable)
    if axis is None or a.ndim == 0:
        return np.argsort(a, axis, kind="stable")
    return stable_order(a, one_axis(no_bool(axis), a.ndim))


@stands_for(np.argsort)
@in_reach(_stably, "exact")
def argsort(
    a: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Array:
    """Return the positions of the elements in sorted order, as ``numpy.argsort``.

    Equal elements stay in order, as the array API standard asks; only in the notebook ``kind`` and
    ``stable`` can say otherwise. The result lies as a sorted copy does (see ``sort``). A position
    travels with each element: 8 bytes more.

    Parameters
    ----------
    a : array_like
        What to sort.
    axis : int or None
        Along which axis; None takes all elements in C order.
    kind, order, stable
        As in ``sort``.
    descending : bool
        Whether the largest come first; then NaN come before all others.

    Returns
    -------
    DistArray of int
        Positions along the axis, of the shape of ``a``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.argsort(dnb.array([3, 1, 4, 1, 5])).to_numpy()
    array([1, 3, 0, 2, 4])
    """
    x = asarray(a)
    x, d = axis_of(x, axis)
    check_sort(x, d, kind, order, stable)
    if descending:
        found = argsort(reverse(x, d), d, stable=True)
        return (x.shape[d] - 1) - reverse(found, d)
    if x.here is not None:
        if kind is None and stable in (None, True):
            return array_of(x.session, stable_order(x.here, d))
        return array_of(x.session, np.argsort(x.here, d, kind, stable=stable))
    return _positions_by([x], d)


def _positions_by(keys: Sequence[Array], d: int) -> Array:
    """Return the positions in the order of the last key, of those before it where it is equal."""
    first = keys[0]
    layout = table.sorted_layout(first.placed, d, first.session.size)
    uncut = table.sorting_layout(first.shape, layout, d, first.session.size)
    carried = [in_layout(first, uncut), *(copied(x, x.dtype, uncut) for x in keys[1:])]
    carried.append(
        create(first.session, first.shape, _POSITION, uncut, ("index", d, *_numbers(first, d)))
    )
    while len(carried) > 1:  # a stable sort by the least significant key first
        _record(carried, carried[1:], d, 0)
        carried = carried[1:]
    found = carried[0]
    return found if uncut == layout else copied(found, _POSITION, layout)


def _in_order(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = x.argsort(kind="stable")
    return x[order], order


@in_reach(_in_order, "exact")
def sorted_with_positions(x: Array) -> tuple[Array, Array]:
    """Return the elements of one axis in order, and where each comes from; equal ones stay so."""
    layout = table.sorted_layout(x.placed, 0, x.session.size)
    found = [
        copied(x, x.dtype, layout),
        create(x.session, x.shape, _POSITION, layout, ("index", 0, 0, 1)),
    ]
    _record(found, found, 0, 0)
    return found[0], found[1]


def _numbers(x: Array, d: int, backwards: bool = False) -> tuple[int, int]:
    return (x.shape[d] - 1, -1) if backwards else (0, 1)


def _record(
    ins: Sequence[Array], outs: Sequence[Array], d: int, start: int, places: Ints = ()
) -> None:
    """Record that arrays in one layout are sorted, or partitioned, by the first of them."""
    if not ins[0].size:
        return
    record_collective("sort", outs, ins, (d, "stable", start, *places))


@stands_for(np.lexsort, small="exact")
def lexsort(keys: Any, axis: Any = -1) -> Array:
    """Return the positions in the order of several keys, the last one first, as ``numpy.lexsort``.

    A stable sort by each key, the first one first; all keys that are still to come travel with it.
    The result lies as a sorted copy of the first key.

    Parameters
    ----------
    keys : sequence of array_like
        Of one shape; the last one counts most.
    axis : int
        Along which axis.

    Returns
    -------
    DistArray of int
        Of the shape of a key.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lexsort((dnb.array([3, 1, 2, 0]), dnb.array([1, 0, 1, 0]))).to_numpy()
    array([3, 1, 2, 0])
    """
    given = [keys[i] for i in range(len(keys))]
    if not given:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    found = next((k for k in given if isinstance(k, Array)), None)
    arrays = [asarray(k, session=None if found is None else found.session) for k in given]
    if all_here(arrays, arrays[0].session):
        order = np.lexsort([plain(x) for x in arrays], axis)
        return array_of(arrays[0].session, np.asarray(order))
    if any(x.shape != arrays[0].shape for x in arrays):
        raise ValueError("all keys need to be the same shape")
    there = [as_dist(x, arrays[0].session, x) for x in arrays]
    if not there[0].ndim:
        return lexsort([x[None] for x in there])[0]
    return _positions_by(there, one_axis(axis, there[0].ndim))


@stands_for(np.partition, small="exact")
def partition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: str | None = "introselect",
    order: None = None,
) -> Array:
    """Return a copy in which the elements at ``kth`` are where they would be in a sorted one.

    As ``numpy.partition``, in whose order the others are, too, but where engines share a 1-D slice
    that is not in reach of the notebook: they sort it. Layout and messages are those of
    :func:`distnb.sort`. To get elements by position without moving all others, use
    :func:`distnb.quantile` or :func:`distnb.topk`.

    Parameters
    ----------
    a : array_like
        The elements.
    kth : int or sequence of int
        Which positions.
    axis : int or None
        Along which axis; None takes all elements in C order.
    kind, order
        As in NumPy, only their defaults.

    Returns
    -------
    DistArray
        A copy.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.partition(dnb.array([3, 1, 2]), 1).to_numpy()
    array([1, 2, 3])
    """
    return _partitioned(*_check_partition(a, kth, axis, kind, order), positions=False)


@stands_for(np.argpartition, small="exact")
def argpartition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: str | None = "introselect",
    order: None = None,
) -> Array:
    """Return positions that partition an array, as ``numpy.argpartition``.

    In reach of the notebook it is NumPy's. Else, where engines share a 1-D slice, all are in sorted
    order. Layout and messages are those of :func:`distnb.argsort`.

    Parameters
    ----------
    a : array_like
        The elements.
    kth : int or sequence of int
        Which positions.
    axis : int or None
        Along which axis; None takes all elements in C order.
    kind, order
        As in NumPy, only their defaults.

    Returns
    -------
    DistArray of int
        Positions along the axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.argpartition(dnb.array([3, 1, 2]), 1).to_numpy()
    array([1, 2, 0])
    """
    found = _check_partition(a, kth, axis, kind, order, positions=True)
    return _partitioned(*found, positions=True)


def _partitioned(x: Array, d: int, places: Ints, positions: bool) -> Array:
    """Return a copy that is partitioned along an axis, or the positions that do it."""
    session, numpys = x.session, np.argpartition if positions else np.partition
    if x.here is not None:
        return array_of(session, np.asarray(numpys(x.here, places, d)))
    layout = table.sorted_layout(x.placed, d, session.size)
    uncut = table.sorting_layout(x.shape, layout, d, session.size)
    shared = uncut.parts(d) > 1
    if x.size and x.nbytes <= (config.gather_budget if shared else QUICK):
        near = _partitioned_here(x, lambda near: numpys(near, places, d), layout)
        if near is not None:
            return near
    if shared or not x.size:
        return argsort(x, d) if positions else sort(x, d)
    kind = _POSITION if positions else x.dtype
    carried = [in_layout(x, uncut) if positions else copied(x, x.dtype, uncut)]
    if positions:
        how = ("index", d, *_numbers(x, d))
        carried.append(create(session, x.shape, _POSITION, uncut, how))
    _record(carried, carried[-1:], d, 0, places)
    return carried[-1] if uncut == layout else copied(carried[-1], kind, layout)


def _partitioned_here(x: Array, run: Callable[[np.ndarray], np.ndarray], layout: Layout) -> Any:
    """Return what NumPy partitions, if it is in reach; else None.

    It looks at each element a few times. Engines that share a 1-D slice would sort all of it, so
    for them it counts as small.
    """
    session = x.session
    if not admitted(session, (x,), min(2 * x.nbytes, QUICK)) or (near := x.near) is None:
        return None  # or another thread has given it to engines
    found = run(near)
    memory = room_for(session, found.shape, found.dtype, layout)
    if memory is None:
        return made_of(session, np.ascontiguousarray(found), layout)
    memory[...] = found
    return made_of(session, memory, layout, memory)


def _check_partition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: SupportsIndex | None,
    kind: Any,
    order: None,
    positions: bool = False,
) -> tuple[Array, int, Ints]:
    """Return the array, the axis and the positions; raise what NumPy raises."""
    x = asarray(a)
    d = 0
    if axis is None or positions:
        x, d = axis_of(x, axis)
    else:
        d = one_axis(axis, x.ndim)
    np.partition(np.empty(1, x.dtype), 0, -1, kind, order)
    n = x.shape[d]
    places = np.ravel(kth)
    if np.ndim(kth) > 1:
        raise ValueError(explain("kth", f"{np.ndim(kth)} axes", "one at most", "ravel() it"))
    if places.dtype == bool:
        raise ValueError("Booleans unacceptable as partition index")
    for k in places:
        if not -n <= operator.index(k) < n and x.size:
            raise ValueError(f"kth(={k}) out of bounds ({n})")
    return x, d, tuple(places.tolist())


def topk(x: ArrayLike, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Array, Array]:
    """Return the ``k`` largest elements along an axis in descending order, and their positions.

    Of equal elements those with lower positions come first, and NaN count as larger than all.
    Only these elements travel between the engines, and samples for finding them.

    Parameters
    ----------
    x : array_like
        Where to look.
    k : int
        How many, from 0 to the length of the axis.
    axis : int
        Along which axis.
    largest : bool
        If False, the smallest elements in ascending order.

    Returns
    -------
    tuple of DistArray
        Values and positions. The axis gets blocks if it is split, the others follow ``x``.

    Raises
    ------
    ValueError
        If there are not as many elements.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     values, positions = dnb.topk(dnb.array([3, 1, 4, 1, 5, 9, 2, 6]), 3)
    ...     values.to_numpy(), positions.to_numpy()
    (array([9, 6, 5]), array([5, 7, 4]))
    """
    a = asarray(x)
    d, n = one_axis(axis, a.ndim), operator.index(k)
    if not 0 <= n <= a.shape[d]:
        raise ValueError(explain("k", n, f"0 to {a.shape[d]}", "ask for fewer"))
    if a.here is not None:
        order = argsort(a, d, stable=True, descending=largest)
        best = order.here[(slice(None),) * d + (slice(0, n),)]  # type: ignore[index]
        values = np.take_along_axis(a.here, best, d)
        return tuple(array_of(a.session, found) for found in (values, best.copy()))
    found = _stretch(reverse(a, d) if largest else a, d, n, largest)
    return tuple(reverse(f, d).copy() if largest else f for f in found)  # type: ignore[return-value]


def _stretch(a: Array, d: int, n: int, last: bool) -> tuple[Array, Array]:
    """Return the first or last ``n`` elements in sorted order, and where they come from."""
    session = a.session
    layout = table.sorted_layout(a.placed, d, session.size)
    uncut = table.sorting_layout(a.shape, layout, d, session.size)
    shape = (*a.shape[:d], n, *a.shape[d + 1 :])
    axes = (*uncut.axes[:d], Block() if uncut.dims[d] >= 0 else uncut.axes[d], *uncut.axes[d + 1 :])
    into = Layout(uncut.grid, axes, uncut.dims)
    ins = (
        copied(a, a.dtype, uncut),
        create(session, a.shape, _POSITION, uncut, ("index", d, *_numbers(a, d, last))),
    )
    outs = tuple(create(session, shape, x.dtype, into, ("empty",)) for x in ins)
    if n:
        _record(ins, outs, d, a.shape[d] - n if last else 0)
    return outs
