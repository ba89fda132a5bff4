"""Functions that reduce: those of the op table, and what is composed of sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod as product_of
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import user_place
from distnb.client.batching.error_states import warn_at
from distnb.client.handle.arguments import Axes, NoValue, Number, kept
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import broadcast
from distnb.client.handle.fields import near_of
from distnb.client.handle.indexing import reduced_axes
from distnb.client.reach.small_reductions import quick_mean, quick_variance
from distnb.client.record.creation import asarray
from distnb.client.record.eager import check_out, delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.ops import table

__all__ = ["told", "wider"]


@stands_for(np.sum, small="sums", reduces="sum")
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
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        What is added to the sum.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.sum(dnb.ones((6, 4), dist="block"), axis=1).to_numpy()
    array([4., 4., 4., 4., 4., 4.])
    """
    return reduce("sum", asarray(a), axis, dtype, out, keepdims, initial, where)


@stands_for(np.prod, small="sums", reduces="prod")
def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Multiply over axes, as ``numpy.prod``.

    Layout and messages are those of :func:`distnb.sum`: axes that are kept stay split, every engine
    along the others gets a copy, and partial results are sent along a tree.

    Parameters
    ----------
    a : array_like
        What to multiply.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        What the product begins with.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.prod(dnb.array([[1, 2], [3, 4]]), axis=0).to_numpy()
    array([3, 8])
    """
    return reduce("prod", asarray(a), axis, dtype, out, keepdims, initial, where)


@stands_for(np.min, np.amin, small="sums", reduces="min")
def min_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Return the minimum over axes, as ``numpy.min``; NaN where there is one.

    Layout and messages are those of :func:`distnb.sum`: axes that are kept stay split, every engine
    along the others gets a copy, and partial results are sent along a tree.

    Parameters
    ----------
    a : array_like
        Where to look.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        A value that counts as well; needed where there is no element.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.min(dnb.array([[3, 1], [2, 4]]), axis=1).to_numpy()
    array([1, 2])
    """
    return reduce("min", asarray(a), axis, None, out, keepdims, initial, where)


@stands_for(np.max, np.amax, small="sums", reduces="max")
def max_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    initial: Number | NoValue | None = np._NoValue,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Return the maximum over axes, as ``numpy.max``; NaN where there is one.

    Layout and messages are those of :func:`distnb.sum`: axes that are kept stay split, every engine
    along the others gets a copy, and partial results are sent along a tree.

    Parameters
    ----------
    a : array_like
        Where to look.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        A value that counts as well; needed where there is no element.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.max(dnb.array([[3, 1], [2, 4]]), axis=1).to_numpy()
    array([3, 4])
    """
    return reduce("max", asarray(a), axis, None, out, keepdims, initial, where)


@stands_for(np.any, small="exact", reduces="any")
def any_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Tell whether any element is true along axes, as ``numpy.any``.

    Layout and messages are those of :func:`distnb.sum`: axes that are kept stay split, every engine
    along the others gets a copy, and partial results are sent along a tree.

    Parameters
    ----------
    a : array_like
        Where to look.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray of bool
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.any(dnb.array([[0, 1], [0, 0]]), axis=1).to_numpy()
    array([ True, False])
    """
    return reduce("any", asarray(a), axis, None, out, keepdims, np._NoValue, where)


@stands_for(np.all, small="exact", reduces="all")
def all_(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Tell whether all elements are true along axes, as ``numpy.all``.

    Layout and messages are those of :func:`distnb.sum`: axes that are kept stay split, every engine
    along the others gets a copy, and partial results are sent along a tree.

    Parameters
    ----------
    a : array_like
        Where to look.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray of bool
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.all(dnb.array([[0, 1], [2, 3]]), axis=1).to_numpy()
    array([False,  True])
    """
    return reduce("all", asarray(a), axis, None, out, keepdims, np._NoValue, where)


@stands_for(np.argmin, small="exact", reduces="argmin")
def argmin(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, *, keepdims: bool | NoValue = False
) -> Array:
    """Return where the first minimum along an axis is, as ``numpy.argmin``.

    The result lies as a minimum does, see :func:`distnb.sum`. Partial results that are sent are
    values with their positions.

    Parameters
    ----------
    a : array_like
        Where to look.
    axis : int, optional
        Along which axis; by default all elements in C order.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray of int
        Positions along the axis; without one, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.argmin(dnb.array([[3, 1], [2, 4]]), axis=1).to_numpy()
    array([1, 0])
    """
    return reduce("argmin", asarray(a), axis, None, out, keepdims)


@stands_for(np.argmax, small="exact", reduces="argmax")
def argmax(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, *, keepdims: bool | NoValue = False
) -> Array:
    """Return where the first maximum along an axis is, as ``numpy.argmax``.

    The result lies as a maximum does, see :func:`distnb.sum`. Partial results that are sent are
    values with their positions.

    Parameters
    ----------
    a : array_like
        Where to look.
    axis : int, optional
        Along which axis; by default all elements in C order.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray of int
        Positions along the axis; without one, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.argmax(dnb.array([[3, 1], [2, 4]]), axis=1).to_numpy()
    array([0, 1])
    """
    return reduce("argmax", asarray(a), axis, None, out, keepdims)


amin, amax = min_, max_

# -- means -------------------------------------------------------------------------------------


def _count(x: Array, axes: tuple[int, ...], where: ArrayLike | NoValue, keepdims: bool) -> Any:
    """Return how many elements each result is of."""
    if where is True or where is np._NoValue:
        return product_of([x.shape[d] for d in axes])
    mask = broadcast(asarray(cast(ArrayLike, where), session=x.session), x.shape)
    return reduce("sum", mask, axes, np.dtype(np.intp), None, keepdims)


def _divided_by(total: Array, n: int | Array, least: float, what: int) -> Any:
    """Divide by how many elements there are, less what was taken off; warn if they are too few.

    How many a mask leaves only engines know, who tell when they have computed.
    """
    if isinstance(n, int):
        if n <= least:
            warn_at(user_place(), table.TOLD[what], RuntimeWarning)
        return elementwise("divide", total, max(n - least, 0))
    free = n if what == 1 else elementwise("maximum", n - least, 0)  # a mask may count -1
    return told(elementwise("divide", total, free), n <= least, what)


def told(found: Array, bad: Array | np.generic, what: int) -> Array:
    """Return a result; warn as NumPy does where it is bad: by engines, when they have computed it.

    ``what`` is the row of ``table.TOLD`` that says so.
    """
    near = near_of(bad) if isinstance(bad, Array) else bad
    if near is None:
        return elementwise("told", found, bad, what)
    if near.any():
        warn_at(user_place(), table.TOLD[what], RuntimeWarning)
    return found


def _working_dtype(x: Array, dtype: DTypeLike | None) -> Any:
    """Return the dtype in which NumPy adds up for mean and var."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if x.dtype == np.float16 else None


def wider(x: Array, dtype: DTypeLike | None, out: Any) -> Any:
    """Return the dtype to compute in: by default that of an output which holds more digits."""
    if dtype is None and out is not None and x.dtype != np.float16:
        found = np.result_type(out.dtype, x.dtype)
        return found if found.kind == x.dtype.kind in "fc" and found != x.dtype else None
    return dtype


def _result_dtype(f: Callable[..., Any], x: Array, dtype: DTypeLike | None) -> np.dtype:
    return _asked_of(f, x.dtype, None if dtype is None else np.dtype(dtype))


@lru_cache(maxsize=256)
def _asked_of(f: Callable[..., Any], given: np.dtype, dtype: np.dtype | None) -> np.dtype:
    return np.asarray(f(np.ones(1, given), dtype=dtype)).dtype


def _of_mean(x: Array, dtype: DTypeLike | None, mean: object) -> np.dtype:
    """Return the dtype of a variance for which the mean is given."""
    given: Any = mean
    known = given if np.isscalar(given) else np.ones(1, asarray(given).dtype)
    numpys: Any = np.var
    return np.asarray(numpys(np.ones(1, x.dtype), dtype=dtype, mean=known)).dtype


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
    """Return the arithmetic mean over axes, as ``numpy.mean``.

    A sum, which each engine divides by the number of elements: layout and messages are those of
    :func:`distnb.sum`, with a mask also those of a sum of the mask.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default double precision for integers, single precision for
        half.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.mean(dnb.array([[1, 2], [3, 6]]), axis=0).to_numpy()
    array([2., 4.])
    """
    x = asarray(a)
    every: Any = where
    if dtype is None and out is None and every is True:
        found = quick_mean(x, axis, kept(keepdims))
        if found is not None:
            return found
    axes = reduced_axes(axis, x.ndim)
    keep = kept(keepdims)
    dtype = wider(x, dtype, out)
    total = reduce("sum", x, axes, _working_dtype(x, dtype), None, keep, np._NoValue, where)
    mean = _divided_by(total, _count(x, axes, where, keep), 0, 1)
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
    """Return the variance over axes, as ``numpy.var``, in two passes.

    First the mean, of which every engine gets the part that it needs, then the mean square of what
    is left: what is sent are the partial results of two sums, and the result lies as one of them
    does (see :func:`distnb.sum`).

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    ddof : float
        What is taken from the number of elements before it divides the sum of squares.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    where : array_like of bool, optional
        Which elements count.
    mean : array_like, optional
        The mean, where it is known, with axes of length 1 kept; it saves a pass.
    correction : float, optional
        Another name of ``ddof``.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.var(dnb.array([[1.0, 2.0], [3.0, 6.0]]), axis=0).to_numpy()
    array([1., 4.])
    """
    ddof = free_of(ddof, correction)
    x = asarray(a)
    every: Any = where
    keep = kept(keepdims)
    if dtype is None and out is None and every is True and mean is np._NoValue and not keep:
        found = quick_variance(x, axis, ddof)
        if found is not None:
            return found
    axes = reduced_axes(axis, x.ndim)
    working = _working_dtype(x, dtype)
    want = _result_dtype(np.var, x, dtype)
    if mean is np._NoValue:
        total = reduce("sum", x, axes, working, None, True, np._NoValue, where)
        mean = _divided(total, _count(x, axes, where, True))
    else:
        want = _of_mean(x, dtype, mean)
    rest = elementwise("subtract", x, mean)
    if rest.dtype.kind == "c" and x.dtype.kind not in "iuf":  # else NumPy takes it for real
        square = rest.real * rest.real + rest.imag * rest.imag
    else:
        square = elementwise("multiply", rest, rest)
    kind = square.dtype if dtype is None and working is not None else wider(square, dtype, out)
    squares = reduce("sum", square, axes, kind, None, keep, np._NoValue, where)
    found = _divided_by(squares, _count(x, axes, where, keep), ddof, 3)
    return _finish(found, want, out)


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
    """Return the standard deviation over axes, as ``numpy.std``.

    The square root of the variance: layout and messages are those of :func:`distnb.var`.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    ddof : float
        What is taken from the number of elements before it divides the sum of squares.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    where : array_like of bool, optional
        Which elements count.
    mean : array_like, optional
        The mean, where it is known, with axes of length 1 kept; it saves a pass.
    correction : float, optional
        Another name of ``ddof``.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.std(dnb.array([[1.0, 2.0], [3.0, 6.0]]), axis=0).to_numpy()
    array([1., 2.])
    """
    first = out if isinstance(out, Array) and out.dtype.kind in "fc" else None  # as NumPy does
    found = var(
        a, axis, dtype, first, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    if found.dtype.kind in "biu":  # of a number NumPy casts the root, and of an array it refuses to
        root = elementwise("sqrt", found, out=found if found.ndim else None)
        return delivered(root.astype(found.dtype, copy=False), out)
    check_out(found, out)
    return elementwise("sqrt", found, out=out)


@stands_for(np.ptp, small="exact")
def ptp(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, keepdims: bool | NoValue = False
) -> Array:
    """Return how far the largest element is from the smallest along axes, as ``numpy.ptp``.

    Two reductions, whose layout and messages are those of :func:`distnb.sum`.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.ptp(dnb.array([[3, 1], [2, 7]]), axis=1).to_numpy()
    array([2, 5])
    """
    x, keep = asarray(a), kept(keepdims)
    ends = [reduce(op, x, axis, keepdims=keep) for op in ("max", "min")]
    check_out(ends[0], out)
    return elementwise("subtract", *ends, out=out)


@stands_for(np.count_nonzero, small="exact")
def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Count the elements that are not zero along axes, as ``numpy.count_nonzero``.

    Each engine counts its own; sent are the counts, and the result lies as in :func:`distnb.sum`.

    Parameters
    ----------
    a : array_like
        What to count.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray of int
        Of the axes that are kept.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.count_nonzero(dnb.array([[3, 0], [2, 7]]), axis=0).to_numpy()
    array([2, 1])
    """
    x = asarray(a)
    return reduce("sum", elementwise("not_equal", x, 0), axis, np.dtype(np.intp), None, keepdims)
