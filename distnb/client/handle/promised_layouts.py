"""Layouts of results in reach, which are found when somebody asks.

A small step takes NumPy less time than the rules for the layout of its result, and few results are
ever given to engines or looked at. So a base in reach may have what promises its layout: the
shapes, layouts and views of the operands, where a layout may in turn be promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.handle.host_arrays import fits
from distnb.client.handle.indexing import some_axes
from distnb.client.session.bases import Promised
from distnb.client.session.session import Session
from distnb.geometry.layout import Ints, Layout, default_layout, in_notebook
from distnb.geometry.views import Placed, View, follow
from distnb.ops import table

__all__ = ["Promise", "promised", "reduced"]

#: Promises that build on each other, at most.
_DEEPEST = 16


class Promise:
    """The layout of a result, kept when it is found.

    Parameters
    ----------
    depth : int
        How many promises it builds on, one on the other.
    find : callable
        Finds it.
    args
        What it is called with.
    """

    __slots__ = ("_args", "_find", "_found", "depth")

    def __init__(self, depth: int, find: Callable[..., Layout], *args: object) -> None:
        self._find, self._args = find, args
        self._found: Layout | None = None
        self.depth = depth

    def layout(self) -> Layout:
        """Return it."""
        if self._found is None:
            self._found = self._find(*self._args)
            self._args, self.depth = (), 0
        return self._found


def promised(session: Session, away: Sequence[Array], near: np.ndarray) -> Layout | Promise:
    """Return the layout of an elementwise result, or what promises it.

    ``away`` are those operands in reach that are not at home in the notebook.
    """
    size, shape = session.size, near.shape
    if not away:
        return in_notebook(near.ndim) if fits(near.nbytes) else default_layout(shape, size)
    first = away[0]
    for x in away:  # the first of the largest leads, but for layouts that differ
        base, led = x.dbase, first.dbase
        alike = (base.promise or base.layout) is (led.promise or led.layout)
        if not alike and x.size >= first.size:
            break
    else:
        base = first.dbase
        if first._near is base.near and base.shape == shape:
            promise: Any = base.promise or base.layout
            return promise if type(promise) is Promise else _followed(promise, shape, size)
    known = [(x.dbase.promise or x.dbase.layout, x.dbase.shape, x.dview) for x in away]
    depth = max([k[0].depth for k in known if type(k[0]) is Promise], default=-1) + 1
    made = Promise(depth, _found, known, shape, size)
    return made.layout() if depth > _DEEPEST else made


def _found(known: Sequence[tuple[Any, Ints, View]], shape: Ints, size: int) -> Layout:
    """Return the layout of a result; ``known`` are the operands' layouts, shapes and views."""
    views = []
    for promise, base, view in known:
        layout = promise.layout() if type(promise) is Promise else promise
        stretched = view if view.shape == shape else view.broadcast(shape)
        views.append((prod(view.shape), Placed(base, layout, stretched)))
    return table.elementwise_layout(tuple(views), shape, size)


def reduced(x: Array, axis: Axes) -> Layout | Promise:
    """Return the layout of a reduction along axes, or what promises it."""
    session, base = x.dbase.session, x.dbase
    if base.host is not None:
        return in_notebook(x.ndim - (x.ndim if axis is None else len(some_axes(axis, x.ndim))))
    from_ = base.promise or base.layout
    depth = from_.depth + 1 if type(from_) is Promise else 0
    made = Promise(depth, _of_reduced, from_, base.shape, x.dview, axis, session.size)
    return made.layout() if depth > _DEEPEST else made


def _of_reduced(
    promise: Layout | Promised, shape: Ints, view: View, axis: Axes, size: int
) -> Layout:
    layout = promise if isinstance(promise, Layout) else promise.layout()
    axes = some_axes(axis, len(view.shape)) if view.shape else ()
    placed = Placed(shape, layout, view)
    found, exact = table.reduction_layout(placed, axes, size)
    if not exact:  # engines reduce a copy
        copy = follow(placed, size)[0]
        found, _ = table.reduction_layout(Placed.whole(view.shape, copy), axes, size)
    return found


@lru_cache(maxsize=1024)
def _followed(layout: Layout, shape: Ints, size: int) -> Layout:
    """Return the layout of a result of whole arrays of one layout."""
    return _found([(layout, shape, View.whole(shape))], shape, size)
