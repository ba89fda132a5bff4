"""Reductions of small arrays in reach, if NumPy combines elements in the order of engines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

import distnb.common.ndarrays as nd
from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.handle.fields import fresh, is_away, near_of
from distnb.client.handle.host_arrays import watched
from distnb.client.handle.indexing import some_axes
from distnb.client.reach.admission import is_mine
from distnb.client.reach.engines_order import by_parts, by_rows, of_all, of_view
from distnb.client.reach.promised_layouts import reduced, scanned, seen_of, told
from distnb.client.reach.small_steps import done
from distnb.client.reach.small_views import indexed
from distnb.common.config import config
from distnb.geometry.layout import Ints, Layout
from distnb.ops import table

__all__ = [
    "ORDERED",
    "accumulated",
    "quick_mean",
    "quick_norm",
    "quick_reduction",
    "quick_variance",
]

#: Reductions whose result depends on the order, if elements are rounded.
ORDERED = frozenset(("sum", "prod"))
#: What gives the same however elements are put together.
_EXACT = frozenset((np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or))
#: Reductions by ufuncs.
_UFUNCS = frozenset(op for op, row in table.REDUCTIONS.items() if row.ufunc is not None)
#: Reduction -> what does it of an array, along axes.
_RUNS: dict[str, Callable[..., Any]] = {
    op: getattr(np.ndarray, op) if row.ufunc is None else row.ufunc.reduce
    for op, row in table.REDUCTIONS.items()
}
#: Dtypes in which sums of such elements are, and their means.
_MEANT = "fdFD"
#: Dtypes in which variances of such elements are.
_WORKING = "fd"


def quick_reduction(op: str, x: Array, axis: Axes, keepdims: bool) -> Any:
    """Reduce what is in reach if NumPy's order is that of engines; return None if it is not."""
    near = near_of(x)
    if near is None or not near.ndim:
        return None
    home = not is_away(x)
    if not home and not is_mine(x.session, nd.nbytes(near)):
        return None
    if not home and op in ORDERED and near.dtype.char == "e":
        return None  # which are combined in single precision
    if keepdims and not home:
        return _with_axes(x, axis, quick_reduction(op, x, axis, False))
    if not home and not _same_order(op, x, near):
        return _in_engines_order(op, x, near, axis)
    if keepdims:
        if op not in _UFUNCS:
            return None
        found = done(_RUNS[op], (near, axis, None, None, True))
        return None if found is None else fresh(x.session, found, None)
    found = done(_RUNS[op], (near, axis))
    return fresh(x.session, found, reduced(x, axis)) if type(found) is ndarray else found


def quick_mean(x: Array, axis: Axes, keepdims: bool) -> Any:
    """Return the mean along axes as the sum divided by their number; None if that is not quick."""
    near = near_of(x)
    if near is None or not near.size or near.dtype.char not in _MEANT or isinstance(axis, bool):
        return None
    n = near.size
    if axis is not None and not (near.ndim == 1 and type(axis) is int):
        try:
            n = prod([near.shape[d] for d in some_axes(axis, near.ndim)])
        except (TypeError, ValueError, IndexError):  # no such axis
            return None
    found = quick_reduction("sum", x, axis, keepdims)
    return None if found is None else found / n


def quick_norm(x: Array, axis: Axes) -> Any:
    """Return the root of the sum of squares of real numbers; None if that takes the long way."""
    near = near_of(x)
    if near is None or not near.ndim or not near.size or near.dtype.char not in _WORKING:
        return None
    if axis is not None and type(axis) is not int:
        return None
    if not is_away(x) or not is_mine(x.session, nd.nbytes(near)):
        return None
    squares: Any = x * x
    total = quick_reduction("sum", squares, axis, False)
    return None if total is None else np.sqrt(total)


def quick_variance(x: Array, axis: Axes, ddof: object) -> Any:
    """Return the variance, as :func:`distnb.var` finds it; None if that takes the long way."""
    near = near_of(x)
    if near is None or not near.size or near.dtype.char not in _WORKING:
        return None
    if not isinstance(ddof, int | float) or isinstance(axis, bool):
        return None
    try:
        axes = some_axes(axis, near.ndim)
    except (TypeError, ValueError, IndexError):  # no such axis
        return None
    n = prod([near.shape[d] for d in axes])
    total = quick_reduction("sum", x, axis, True) if n > ddof else None
    if total is None:
        return None
    rest = x - total / n
    square: Any = rest * rest
    squares = quick_reduction("sum", square, axis, False)
    return (square.sum(axis) if squares is None else squares) / (n - ddof)


def accumulated(ufunc: np.ufunc, x: ArrayLike, options: dict[str, Any]) -> Any:
    """Return the running results of a small array in reach; None if it is another operation."""
    near = near_of(x) if isinstance(x, Array) else None
    if near is None or not isinstance(x, Array) or nd.nbytes(near) > nd.QUICK:
        return None
    axis = options.get("axis", 0)
    if len(options) > 1 or (options and type(options.get("axis")) is not int):
        return None
    if getattr(np, ufunc.__name__, None) is not ufunc:
        return None
    away = is_away(x)
    if away and not (-near.ndim <= axis < near.ndim and is_mine(x.session, nd.nbytes(near))):
        return None
    layout: Any = scanned(x, axis % near.ndim) if away else None
    if away and near.size and not (near.dtype.kind not in "fc" or ufunc in _EXACT):
        layout = layout if isinstance(layout, Layout) else layout.layout()
        if layout.holders(near.shape[axis], axis % near.ndim) > 1:  # each engine begins anew
            return None
    found = done(ufunc.accumulate, (near, axis))
    if type(found) is not ndarray or not (away or nd.nbytes(found) <= config.cutoff):
        return None
    return fresh(x.session, found, layout)


def _same_order(op: str, x: Array, near: np.ndarray) -> bool:
    """Tell whether engines combine elements as NumPy does: one of them, those of a part of it."""
    if op not in ORDERED or near.dtype.kind not in "fc" or not near.size:
        return True
    whole: Any = x._whole
    if whole is None or not nd.in_c(near):
        return False
    base = x._base
    if near.size == whole.size or not nd.in_c(whole):
        return False
    starts = _starts(base.layout, base.shape, base.session.size)
    if not starts:
        return False
    at = (nd.address(near) - nd.address(whole)) // near.itemsize
    k = bisect_right(starts, at)
    return k < len(starts) and at + near.size <= starts[k]  # or another thread has moved it


def _in_engines_order(op: str, x: Array, near: np.ndarray, axis: Axes) -> Any:
    """Reduce an array in reach as engines would; None if that takes the long way."""
    found = _in_order(op, x, near, axis)
    return _by_parts(op, x, near, axis) if found is None else found


def _by_parts(op: str, x: Array, near: np.ndarray, axis: Axes) -> Any:
    """Reduce what engines have in columns, or each of them all of it; None if it is dealt."""
    axes: Any = axis
    try:
        found = by_parts(op, seen_of(*told(x)), near.dtype, axes, x.session.size)
    except (TypeError, ValueError, IndexError):  # no such axis
        return None
    if found is None:
        return None
    result = watched("reduce", found, near)
    return fresh(x.session, result, reduced(x, axis)) if result.ndim else result[()]


def _in_order(op: str, x: Array, near: np.ndarray, axis: Axes) -> Any:
    """Reduce what engines have one after the other; None if they do not, or in another way."""
    promise: Any = x.promise
    if x._whole is not None:
        if near is not x._whole:
            return _by_pieces(op, x, near, axis)
        promise = x._base.layout
    layout = promise if type(promise) is Layout else promise.layout()
    if not _is_all(axis, near.ndim):
        return _by_rows(op, x, near, axis, layout)
    if not nd.in_c(near):
        return None
    found = of_all(op, near.shape, layout, x.session.size)
    if found is not None and found.plain:
        return done(_RUNS[op], (near, None))
    return None if found is None else watched("reduce", found, near)


def _by_rows(op: str, x: Array, near: np.ndarray, axis: Axes, layout: Layout) -> Any:
    """Reduce some axes, if each engine has all of each result; None if that is not so."""
    if not nd.in_c(near):
        return None
    try:
        axes: Any = axis
        found = by_rows(near.shape, layout, axes, x.session.size)
    except (TypeError, ValueError, IndexError):  # no such axis
        return None
    if found is None:
        return None
    rows, shape = found
    results = done(_RUNS[op], (near.reshape(rows), 1))
    if results is None or not shape:  # all axes, in another order: a number
        return None if results is None else results.reshape(shape)[()]
    return fresh(x.session, results.reshape(shape), reduced(x, axis))


def _by_pieces(op: str, x: Array, near: np.ndarray, axis: Axes) -> Any:
    """Reduce a view of an array, of which each engine has one piece; None if that is not so."""
    axes: Any = axis
    try:
        found = of_view(op, seen_of(*told(x)), axes, x.session.size)
    except (TypeError, ValueError, IndexError):  # no such axis
        return None
    if found is None:
        return None
    result = watched("reduce", found, near)
    if type(result) is not ndarray:
        return result
    return fresh(x.session, result if nd.in_c(result) else result.copy(), reduced(x, axis))


def _with_axes(x: Array, axis: Axes, found: object) -> Any:
    """Return a result with the axes that were reduced, of length 1; None if there is none."""
    if found is None:
        return None
    made: Any = found
    if not isinstance(found, Array):
        made = fresh(x.session, np.asarray(found), reduced(x, axis))
    axes = some_axes(axis, x.ndim)
    key = tuple([None if d in axes else slice(None) for d in range(x.ndim)])
    return indexed(made, key)


def _is_all(axis: Axes, ndim: int) -> bool:
    """Tell whether an axis as it is given stands for all of them."""
    if type(axis) is int:
        return ndim == 1 and -1 <= axis < 1
    return axis is None or (type(axis) is tuple and axis == tuple(range(ndim)))


@lru_cache(maxsize=256)
def _starts(layout: Layout, shape: Ints, size: int) -> Ints:
    """Return where the parts of an array begin in C order, and where the last one ends.

    Nothing if they do not lie one after the other in that order.
    """
    if not layout.in_order(shape):
        return ()
    ranks = [r for r in range(size) if layout.local_shape(shape, r) is not None]
    return (*sorted({layout.start(shape, r) for r in ranks}), prod(shape))
