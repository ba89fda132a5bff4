"""Layouts of results in reach, which are found when somebody asks.

A small step takes NumPy less time than the rules for the layout of its result, and few results are
ever given to engines or looked at. So a base in reach may have what promises its layout: the
shapes, layouts and views of the operands, where a layout may in turn be promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

import distnb.common.ndarrays as nd
from distnb.client.batching.entries import Promised
from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.handle.fields import Fields, fits
from distnb.client.handle.indexing import Turn, some_axes, view_of
from distnb.client.session.session import Session
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import Placed, View, begin_of, follow
from distnb.ops import table

__all__ = [
    "DEEPEST",
    "Promise",
    "Seen",
    "layout_of_reduced",
    "promised",
    "reduced",
    "scanned",
    "seen_of",
    "told",
    "view_seen",
]

#: Promises that build on each other, at most.
DEEPEST = 16


class Promise:
    """The layout of a result, kept when it is found.

    Parameters
    ----------
    depth : int
        How many promises it builds on, one on the other.
    find : callable
        Finds it.
    args : tuple
        What it is called with.
    """

    __slots__ = ("_args", "_find", "_found", "_shape", "_size", "depth")

    def __init__(self, depth: int, find: Callable[..., Layout], args: tuple[Any, ...]) -> None:
        self._find = find
        self._args = args
        self._found: Layout | None = None
        #: Shape and engines of an elementwise result, whose operands are the arguments; else None.
        self._shape: Ints | None = None
        self._size = 0
        self.depth = depth

    def layout(self) -> Layout:
        """Return it."""
        if self._found is None:
            args = self._args if self._shape is None else (self._args, self._shape, self._size)
            self._found = _one_of(self._find(*args))
            self._args, self._shape, self.depth = (), None, 0
        return self._found

    def settled(self) -> Any:
        """Return itself, or the layout if it builds on too many others."""
        return self.layout() if self.depth > DEEPEST else self


@lru_cache(maxsize=1024)
def _one_of(layout: Layout) -> Layout:
    """Return of equal layouts always the same one, so that to look which it is is enough."""
    return layout


def promised(
    session: Session, away: Sequence[Fields], near: np.ndarray
) -> Layout | Promised | None:
    """Return the layout of an elementwise result, or what promises it; None: in the notebook.

    ``away`` are those operands in reach that are not at home in the notebook.
    """
    if not away:
        return None if fits(nd.nbytes(near)) else default_layout(near.shape, session.size)
    first: Any = None
    for x in away:
        found = _of_whole(x, near)
        if found is None or (first is not None and found is not first):
            return _of_pieces(session, away, near)
        first = found
    if type(first) is not Promise:
        return _followed(first, near.shape, session.size)
    if first._find is _found:  # such a layout gives itself again
        return first
    return _of_pieces(session, away, near)


def _of_whole(x: Fields, near: np.ndarray) -> Any:
    """Return the layout of an array in reach, or what promises it; None of views, or other shapes.

    What it is views of is looked at as little as can be: this is a third of what a step takes.
    """
    mine: Any = x._near
    if x._whole is None:
        promise = x.promise
    else:
        base = x._base
        if mine is not base.near:
            return None
        promise = base.promise
        if promise is None:
            promise = base._layout
    if mine is None or not nd.same_shape(mine, near):  # None: another thread gave it to engines
        return None
    if type(promise) is Promise:
        one: Promise = promise
        return one if one._found is None else one._found
    return promise


def _of_pieces(session: Session, away: Sequence[Fields], near: np.ndarray) -> Layout | Promised:
    """Return what promises the layout of an elementwise result of any operands."""
    made: Promise = nd.bare(Promise)
    made._find, made._found, made.depth = _found, None, 0
    made._shape, made._size = near.shape, session.size
    if len(away) == 1:
        made._args = (_known(away[0], made),)
    elif len(away) == 2:
        made._args = (_known(away[0], made), _known(away[1], made))
    else:
        made._args = tuple([_known(x, made) for x in away])
    return made if made.depth <= DEEPEST else made.layout()


def _known(x: Any, made: Promise) -> tuple[Any, Ints, Any]:
    """Return what is :func:`told` of an operand; note on how many promises the result builds."""
    what = told(x)
    if type(what[0]) is Promise:
        one: Promise = what[0]
        if one._found is not None:
            return one._found, what[1], what[2]
        if one.depth >= made.depth:
            made.depth = one.depth + 1
    return what


def told(x: Array) -> tuple[Any, Ints, Any]:
    """Return layout or promise, and shape, of the base of an array in reach, and its view.

    The view is None if it is of all of the base; it may also be another view and an index.
    """
    if x._whole is None:
        return x.promise, x._near.shape, None  # type: ignore[union-attr]
    base, near = x.dbase if x._base is None else x._base, x._near
    view: Any = None
    if near is None or near is not base.near:  # None: another thread has given it to the engines
        view = x.dview if x._key is None else x._key
    promise = base.promise
    if promise is None:
        promise = base.layout if base._layout is None else base._layout
    return promise, base.shape, view


def _found(known: Sequence[tuple[Any, Ints, Any]], shape: Ints, size: int) -> Layout:
    """Return the layout of a result; ``known`` are as :func:`told`."""
    seen = tuple([seen_of(promise, base, view) for promise, base, view in known])
    return _kept(seen, shape, size)


#: A base and a view of it, as what can be looked up: its layout and shape, and what is seen of it.
Seen: TypeAlias = tuple[Layout, Ints, Any]


def seen_of(promise: Layout | Promised, shape: Ints, seen: object) -> Seen:
    """Return what is seen as what can be looked up, of a view in whose place another may stand.

    It is moved as :attr:`distnb.geometry.views.Placed.moved` tells, where results lie as they do
    here: a loop over rows or windows finds its layout once.
    """
    layout = promise if isinstance(promise, Layout) else promise.layout()
    if seen is None:
        return layout, shape, None
    index = _moved_index(layout, shape, seen) if type(seen) is tuple else None
    if index is not None:
        return layout, shape, index
    return layout, shape, Placed(shape, layout, view_of(seen, shape)).moved


def _moved_index(layout: Layout, shape: Ints, seen: tuple[Any, Any]) -> Any:
    """Return a whole base and a moved index of it; None if that is not what is seen.

    To find the view itself takes three times as long.
    """
    whole, index = seen
    if type(whole) is not View or not whole.is_whole(shape):
        return None
    if type(index) is Turn:
        return seen
    items: list[Any] = []
    d = 0
    for k in index if type(index) is tuple else (index,):
        if k is Ellipsis:
            return None
        items.append(k if k is None else _moved_item(layout, shape, d, k))
        d += k is not None
    return whole, tuple(items)


def _moved_item(layout: Layout, shape: Ints, d: Any, k: Any) -> Any:
    """Return an integer, or a slice as its three numbers, moved; an empty one as it is."""
    n, split = shape[d], layout.dims[d] >= 0
    if type(k) is not slice:
        return begin_of(layout, shape, d, k % n, 0) if split else 0
    start, stop, step = k.start, k.stop, k.step
    if step is None and type(start) is type(stop) is int and 0 <= start < stop <= n:
        last, step = stop - start - 1, 1
    else:
        start, stop, step = k.indices(n)
        last = (len(range(start, stop, step)) - 1) * step
    if step < 0 or last < 0:
        return k.start, k.stop, k.step
    start = begin_of(layout, shape, d, start, last) if split else 0
    return start, start + last + 1, step


def view_seen(seen: Seen) -> View:
    """Return the view."""
    _, shape, what = seen
    if type(what) is tuple and type(what[1]) is tuple:
        what = what[0], tuple([slice(*k) if type(k) is tuple else k for k in what[1]])
    return view_of(what, shape)


@lru_cache(maxsize=1024)
def _kept(known: tuple[Seen, ...], shape: Ints, size: int) -> Layout:
    """Return the layout of an elementwise result."""
    views = []
    for seen in known:
        view = view_seen(seen)
        stretched = view if view.shape == shape else view.broadcast(shape)
        views.append((prod(view.shape), Placed(seen[1], seen[0], stretched)))
    return table.kept_layout(tuple(views), shape, size)


def reduced(x: Array, axis: Axes) -> Layout | Promised | None:
    """Return the layout of a reduction along axes, or what promises it; None: in the notebook."""
    return _along(x, axis, _of_reduced)


def _along(x: Array, axis: Axes, find: Callable[..., Layout]) -> Layout | Promised | None:
    """Return what promises a layout that follows from that of an array, and from axes."""
    if x.at_home:
        return None
    promise, shape, view = told(x)
    depth = promise.depth + 1 if type(promise) is Promise else 0
    return Promise(depth, find, (promise, shape, view, axis, x.session.size)).settled()


def scanned(x: Array, axis: int) -> Layout | Promised | None:
    """Return the layout of running results along an axis, as :func:`reduced`."""
    return _along(x, axis, _of_scanned)


def _of_scanned(promise: Layout | Promised, shape: Ints, seen: Any, axis: int, size: int) -> Layout:
    return _scanned(seen_of(promise, shape, seen), axis, size)


@lru_cache(maxsize=1024)
def _scanned(seen: Seen, axis: int, size: int) -> Layout:
    return table.sorted_layout(Placed(seen[1], seen[0], view_seen(seen)), axis, size)


def _of_reduced(promise: Layout | Promised, shape: Ints, seen: Any, axis: Any, size: int) -> Layout:
    return layout_of_reduced(seen_of(promise, shape, seen), axis, size)


@lru_cache(maxsize=1024)
def layout_of_reduced(seen: Seen, axis: Axes, size: int) -> Layout:
    """Return the layout of a reduction along axes of what is seen."""
    view = view_seen(seen)
    axes = some_axes(axis, len(view.shape)) if view.shape else ()
    placed = Placed(seen[1], seen[0], view)
    found, exact = table.reduction_layout(placed, axes, size)
    if not exact:  # engines reduce a copy
        copy = follow(placed, size)[0]
        found, _ = table.reduction_layout(Placed.whole(view.shape, copy), axes, size)
    return found


@lru_cache(maxsize=1024)
def _followed(layout: Layout, shape: Ints, size: int) -> Layout:
    """Return the layout of a result of whole arrays of one layout."""
    return _found([(layout, shape, None)], shape, size)
