"""Layouts of results in reach, which are found when somebody asks.

A small step takes NumPy less time than the rules for the layout of its result, and few results are
ever given to engines or looked at. So a base in reach may have what promises its layout: the operands'
shapes, layouts and views, which in turn may be promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from distnb.client.record.array import Array
from distnb.client.record.host_arrays import fits
from distnb.geometry.layout import Ints, Layout, default_layout, in_notebook
from distnb.geometry.views import Placed, View
from distnb.ops import table

__all__ = ["Promise", "promised"]

#: Promises that build on each other, at most.
_DEEPEST = 16


class Promise:
    """The layout of an elementwise result, kept when it is found.

    Parameters
    ----------
    find : callable
        Finds it.
    depth : int
        How many promises it builds on, one on the other.
    """

    __slots__ = ("_find", "_found", "depth")

    def __init__(self, find: Callable[[], Layout], depth: int = 0) -> None:
        self._find: Callable[[], Layout] | None = find
        self._found: Layout | None = None
        self.depth = depth

    def layout(self) -> Layout:
        """Return it."""
        if self._found is None:
            assert self._find is not None
            self._found, self._find, self.depth = self._find(), None, 0
        return self._found


def promised(inputs: Sequence[Any], near: np.ndarray) -> Layout | Promise:
    """Return the layout of an elementwise result of arrays in reach, or what promises it."""
    arrays = [x for x in inputs if type(x) is Array.made]
    leaders = [x for x in arrays if x.dbase.host is None]
    if not leaders:
        size = arrays[0].dbase.session.size
        return in_notebook(near.ndim) if fits(near.nbytes) else default_layout(near.shape, size)
    size, shape = leaders[0].dbase.session.size, near.shape
    known = [(x.dbase.layout_or_promise, x.dbase.shape, x.dview) for x in leaders]
    first = known[0][0]
    if all([k[0] is first and k[1] == shape and k[2].is_whole(shape) for k in known]):
        return first if type(first) is Promise else _followed(first, shape, size)
    depth = max([k[0].depth for k in known if type(k[0]) is Promise], default=-1) + 1
    made = Promise(lambda: _found(known, shape, size), depth)
    return made.layout() if depth > _DEEPEST else made


def _found(known: Sequence[tuple[Any, Ints, View]], shape: Ints, size: int) -> Layout:
    """Return the layout of a result; ``known`` are the operands' layouts, shapes and views."""
    views = []
    for promise, base, view in known:
        layout = promise.layout() if type(promise) is Promise else promise
        stretched = view if view.shape == shape else view.broadcast(shape)
        views.append((prod(view.shape), Placed(base, layout, stretched)))
    return table.elementwise_layout(tuple(views), shape, size)


@lru_cache(maxsize=1024)
def _followed(layout: Layout, shape: Ints, size: int) -> Layout:
    """Return the layout of a result of whole arrays of one layout."""
    return _found([(layout, shape, View.whole(shape))], shape, size)
