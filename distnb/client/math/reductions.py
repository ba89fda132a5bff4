"""Functions that reduce: those of the op table, and what is composed of sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Axes, NoValue, Number
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import broadcast
from distnb.client.handle.indexing import some_axes
from distnb.client.record.creation import asarray
from distnb.client.record.eager import check_out, delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce

__all__: list[str] = []


@stands_for(np.sum, small="sums")
def sum_(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Sum over axes, as ``numpy.sum``.

    Axes that are kept stay split as they are, and every engine along an axis that is summed gets a
    copy of the result. Sent are partial results, up and down a binomial tree.

    Parameters
    ----------
    a : array_like
        What to sum.
    axis : int or tuple of int, optional
        The axes to sum; by default all.
    dtype : dtype, optional
        In which it is summed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are summed are kept, with length 1.
    initial : scalar, optional
        What is added to the sum.
    where : array_like of bool, optional
        Which elements count.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.sum(dnb.ones((6, 4), dist="block"), axis=1).to_numpy()
    array([4., 4., 4., 4., 4., 4.])
    """
    return reduce("sum", asarray(a), axis, dtype, out, keepdims, initial, where)


@stands_for(np.prod, small="sums")
def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Multiply over axes, as ``numpy.prod``; see :func:`distnb.sum`."""
    return reduce("prod", asarray(a), axis, dtype, out, keepdims, initial, where)


@stands_for(np.min, np.amin, small="sums")
def min_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Return the minimum over axes, as ``numpy.min``; see :func:`distnb.sum`."""
    return reduce("min", asarray(a), axis, None, out, keepdims, initial, where)


@stands_for(np.max, np.amax, small="sums")
def max_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Return the maximum over axes, as ``numpy.max``; see :func:`distnb.sum`."""
    return reduce("max", asarray(a), axis, None, out, keepdims, initial, where)


@stands_for(np.any, small="exact")
def any_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Tell whether any element is true, as ``numpy.any``; see :func:`distnb.sum`."""
    return reduce("any", asarray(a), axis, None, out, keepdims, np._NoValue, where)


@stands_for(np.all, small="exact")
def all_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Tell whether all elements are true, as ``numpy.all``; see :func:`distnb.sum`."""
    return reduce("all", asarray(a), axis, None, out, keepdims, np._NoValue, where)


@stands_for(np.argmin, small="home")
def argmin(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, *, keepdims: bool | NoValue = False
) -> Array:
    """Return where the first minimum is, as ``numpy.argmin``; see :func:`distnb.sum`."""
    return reduce("argmin", asarray(a), axis, None, out, keepdims)


@stands_for(np.argmax, small="home")
def argmax(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, *, keepdims: bool | NoValue = False
) -> Array:
    """Return where the first maximum is, as ``numpy.argmax``; see :func:`distnb.sum`."""
    return reduce("argmax", asarray(a), axis, None, out, keepdims)


amin, amax = min_, max_

# -- means -------------------------------------------------------------------------------------


def _count(x: Array, axes: tuple[int, ...], where: ArrayLike | NoValue, keepdims: bool) -> Any:
    """Return how many elements each result is of."""
    if where is True or where is np._NoValue:
        return int(np.prod([x.shape[d] for d in axes], dtype=np.int64))
    mask = broadcast(asarray(cast(ArrayLike, where), session=x.session), x.shape)
    return reduce("sum", mask, axes, np.dtype(np.intp), None, keepdims)


def _working_dtype(x: Array, dtype: DTypeLike | None) -> Any:
    """Return the dtype in which NumPy adds up for mean and var."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if x.dtype == np.float16 else None


def _result_dtype(f: Callable[..., Any], x: Array, dtype: DTypeLike | None) -> np.dtype:
    return np.asarray(f(np.ones(1, x.dtype), dtype=dtype)).dtype


def _divided(total: Array, n: Any) -> Array:
    """Divide in the dtype of a sum, as NumPy does in place, be it of integers."""
    return elementwise("divide", total, n).astype(total.dtype, copy=False)


def _finish(found: Array, dtype: np.dtype, out: Array | None) -> Array:
    return delivered(found if out is not None else found.astype(dtype, copy=False), out)


@stands_for(np.mean, small="home")
def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Arithmetic mean: a sum, divided on the engines."""
    x = asarray(a)
    axes = some_axes(axis, x.ndim)
    keep = keepdims is True
    total = reduce("sum", x, axes, _working_dtype(x, dtype), None, keep, np._NoValue, where)
    mean = elementwise("divide", total, _count(x, axes, where, keep))
    return _finish(mean, _result_dtype(np.mean, x, dtype), out)


def free_of(ddof: float, correction: float | NoValue) -> Any:
    """Return what is taken from the number of elements; two names for it cannot both be given."""
    if correction is np._NoValue:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@stands_for(np.var, small="home")
def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = np._NoValue,
    correction: float | NoValue = np._NoValue,
) -> Array:
    """Variance in two passes, as NumPy: the mean, then the mean square of what is left."""
    ddof = free_of(ddof, correction)
    x = asarray(a)
    axes = some_axes(axis, x.ndim)
    keep = keepdims is True
    working = _working_dtype(x, dtype)
    if mean is np._NoValue:
        total = reduce("sum", x, axes, working, None, True, np._NoValue, where)
        mean = _divided(total, _count(x, axes, where, True))
    rest = elementwise("subtract", x, mean)
    if rest.dtype.kind == "c":
        square = rest.real * rest.real + rest.imag * rest.imag
    else:
        square = elementwise("multiply", rest, rest)
    kind = square.dtype if dtype is None and working is not None else dtype
    squares = reduce("sum", square, axes, kind, None, keep, np._NoValue, where)
    n = _count(x, axes, where, keep)
    free = max(n - ddof, 0) if isinstance(n, int) else elementwise("maximum", n - ddof, 0)
    return _finish(elementwise("divide", squares, free), _result_dtype(np.var, x, dtype), out)


@stands_for(np.std, small="home")
def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = np._NoValue,
    correction: float | NoValue = np._NoValue,
) -> Array:
    """Take the square root of the variance."""
    found = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    if found.dtype.kind in "biu":  # of a number NumPy casts the root, and of an array it refuses to
        root = elementwise("sqrt", found, out=found if found.ndim else None)
        return delivered(root.astype(found.dtype, copy=False), out)
    check_out(found, out)
    return elementwise("sqrt", found, out=out)


@stands_for(np.ptp, small="sums")
def ptp(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, keepdims: bool | NoValue = False
) -> Array:
    """Return how far the largest element is from the smallest."""
    x, keep = asarray(a), keepdims is True
    ends = [reduce(op, x, axis, keepdims=keep) for op in ("max", "min")]
    check_out(ends[0], out)
    return elementwise("subtract", *ends, out=out)


@stands_for(np.count_nonzero, small="exact")
def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Count the elements that are not zero."""
    x = asarray(a)
    return reduce("sum", elementwise("not_equal", x, 0), axis, np.dtype(np.intp), None, keepdims)
