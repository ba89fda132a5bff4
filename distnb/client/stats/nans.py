"""Reductions that leave out NaN: they put what changes nothing in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Axes, NoValue, Number, kept, truly
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import reduced_axes
from distnb.client.math.reductions import free_of, mean, told, var, wider
from distnb.client.record.creation import asarray
from distnb.client.record.eager import at_once, delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.geometry.layout import Ints

__all__: list[str] = []

_NONE = np._NoValue


def _options(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {k: v for k, v in options.items() if v is not _NONE}


def _filled(x: Array, value: complex) -> Array:
    """Return ``x`` with a value in place of NaN."""
    if x.dtype.kind not in "fc":
        return x
    return elementwise("where", elementwise("isnan", x), x.dtype.type(value), x)


def _axes(axis: Axes, ndim: int) -> Ints:
    """Return axes; those of no dimensions may name one, as in NumPy's sums."""
    return () if not ndim and axis in (0, -1) else reduced_axes(axis, ndim)


def _reduced(
    numpys: Callable[..., Any],
    op: str,
    fill: complex | None,
    a: ArrayLike,
    axis: Axes,
    dtype: DTypeLike | None,
    out: Array | None,
    options: dict[str, Any],
) -> Array:
    """Reduce what is not NaN; without a number for it, the operation leaves it out by itself."""
    x = asarray(a)
    if dtype is None and isinstance(out, Array | np.ndarray):  # as in any reduction of NumPy's
        wide = np.result_type(out.dtype, x.dtype)
        if fill is None:  # extremes have no dtype of their own
            x = x.astype(wide, copy=False)
        else:
            dtype = wide
    more = options if dtype is None else options | {"dtype": dtype}
    found = at_once(numpys, x, axis, **more)
    if found is None:
        found = reduce(op, x if fill is None else _filled(x, fill), axis, dtype, **options)
        if fill is None and x.dtype.kind in "fc":
            found = told(found, elementwise("isnan", found), 0)
    return delivered(found, out)


@stands_for(np.nansum, small="sums")
def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = _NONE,
    initial: Number | NoValue = _NONE,
    where: ArrayLike | NoValue = _NONE,
) -> Array:
    """Sum what is not NaN.

    Layout and messages are those of :func:`distnb.sum`.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
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
        Of the axes that are left; 0 where all are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nansum(dnb.array([1, 2, float("nan")], dist="block")))
    3.0
    """
    options = _options(keepdims=keepdims, initial=initial, where=where)
    return _reduced(np.nansum, "sum", 0, a, axis, dtype, out, options)


@stands_for(np.nanprod, small="sums")
def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = _NONE,
    initial: Number | NoValue = _NONE,
    where: ArrayLike | NoValue = _NONE,
) -> Array:
    """Multiply what is not NaN.

    Layout and messages are those of :func:`distnb.sum`.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        By what the product is multiplied.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are left; 1 where all are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanprod(dnb.array([3, 2, float("nan")], dist="block")))
    6.0
    """
    options = _options(keepdims=keepdims, initial=initial, where=where)
    return _reduced(np.nanprod, "prod", 1, a, axis, dtype, out, options)


@stands_for(np.nanmin, small="exact")
def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = _NONE,
    initial: Number | NoValue = _NONE,
    where: ArrayLike | NoValue = _NONE,
) -> Array:
    """Return the minimum of what is not NaN.

    Layout and messages are those of :func:`distnb.sum`.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        Takes part, too.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are left; NaN where all are NaN, with a RuntimeWarning when that is known.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanmin(dnb.array([3, 2, float("nan")], dist="block")))
    2.0
    """
    options = _options(keepdims=keepdims, initial=initial, where=where)
    return _reduced(np.nanmin, "fmin.reduce", None, a, axis, None, out, options)


@stands_for(np.nanmax, small="exact")
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool | NoValue = _NONE,
    initial: Number | NoValue = _NONE,
    where: ArrayLike | NoValue = _NONE,
) -> Array:
    """Return the maximum of what is not NaN.

    Layout and messages are those of :func:`distnb.sum`.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    initial : scalar, optional
        Takes part, too.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are left; NaN where all are NaN, with a RuntimeWarning when that is known.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanmax(dnb.array([3, 2, float("nan")], dist="block")))
    3.0
    """
    options = _options(keepdims=keepdims, initial=initial, where=where)
    return _reduced(np.nanmax, "fmax.reduce", None, a, axis, None, out, options)


def _position(
    numpys: Callable[..., Any],
    op: str,
    fill: float,
    a: ArrayLike,
    axis: Axes,
    out: Array | None,
    keepdims: bool | NoValue,
) -> Array:
    """Return positions of extremes, with a number in place of NaN that is none."""
    x = asarray(a)
    if isinstance(out, Array | np.ndarray):  # NumPy may refuse its dtype
        numpys(np.ones(1), out=np.empty((), out.dtype))
    found = at_once(numpys, x, axis, keepdims=truly(keepdims))
    if found is None:
        if x.dtype.kind in "fc" and bool(elementwise("isnan", x).all(axis).any()):
            raise ValueError("All-NaN slice encountered")
        found = reduce(op, _filled(x, fill), axis, keepdims=truly(keepdims))
    return delivered(found, out)


@stands_for(np.nanargmin, small="home")
def nanargmin(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, *, keepdims: bool | NoValue = _NONE
) -> Array:
    """Return where the first minimum of what is not NaN is.

    Layout and messages are those of :func:`distnb.sum`, for pairs of value and position. Whether
    all of a slice are NaN is read first: this waits.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int, optional
        Along which axis; by default positions are those in C order of all elements.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Positions, of the axes that are left.

    Raises
    ------
    ValueError
        If all of a slice are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     int(dnb.nanargmin(dnb.array([float("nan"), 3, 2], dist="block")))
    2
    """
    return _position(np.nanargmin, "argmin", np.inf, a, axis, out, keepdims)


@stands_for(np.nanargmax, small="home")
def nanargmax(
    a: ArrayLike, axis: Axes = None, out: Array | None = None, *, keepdims: bool | NoValue = _NONE
) -> Array:
    """Return where the first maximum of what is not NaN is.

    Layout and messages are those of :func:`distnb.sum`, for pairs of value and position. Whether
    all of a slice are NaN is read first: this waits.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int, optional
        Along which axis; by default positions are those in C order of all elements.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Positions, of the axes that are left.

    Raises
    ------
    ValueError
        If all of a slice are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     int(dnb.nanargmax(dnb.array([float("nan"), 3, 2], dist="block")))
    1
    """
    return _position(np.nanargmax, "argmax", -np.inf, a, axis, out, keepdims)


# -- means ---------------------------------------------------------------------------------------


def _check(x: Array, dtype: DTypeLike | None, out: Array | None) -> None:
    """Raise what NumPy raises."""
    for what, kind in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if kind is not None and np.dtype(kind).kind not in "fc":
            raise TypeError(f"If a is inexact, then {what} must be inexact")


def _left(x: Array, axes: Ints, keep: bool, where: ArrayLike | NoValue) -> Array:
    """Count what is not NaN."""
    numbers = ~elementwise("isnan", x)
    return reduce("sum", numbers, axes, np.dtype(np.intp), None, keep, np._NoValue, where)


@stands_for(np.nanmean, small="sums")
def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool | NoValue = _NONE,
    *,
    where: ArrayLike | NoValue = True,
) -> Array:
    """Return the mean of what is not NaN.

    Layout and messages are those of :func:`distnb.sum`, for the sum and for how many are not NaN.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    where : array_like of bool, optional
        Which elements count.

    Returns
    -------
    DistArray
        Of the axes that are left; NaN where all are NaN, with a RuntimeWarning when that is known.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanmean(dnb.array([1, 2, float("nan")], dist="block")))
    1.5
    """
    x, keep = asarray(a), kept(keepdims)
    if x.dtype.kind not in "fc":
        return mean(x, axis, dtype, out, keep, where=where)
    _check(x, dtype, out)
    where = True if where is _NONE else where
    kind = wider(x, dtype, out)
    found = at_once(np.nanmean, x, axis, kind, keepdims=keep, where=where)
    if found is None:
        axes = _axes(axis, x.ndim)
        total = reduce("sum", _filled(x, 0), axes, kind, None, keep, np._NoValue, where)
        n = _left(x, axes, keep, where)
        found = elementwise("divide", total, _or_nan(n, n == 0)).astype(total.dtype, copy=False)
        found = told(found, n == 0, 1)
    return delivered(found, out)


@stands_for(np.nanvar, small="home")
def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool | NoValue = _NONE,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = _NONE,
    correction: float | NoValue = _NONE,
) -> Array:
    """Return the variance of what is not NaN.

    Layout and messages are those of :func:`distnb.sum`, for the mean, then for squares of what is
    left.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
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
        Of the axes that are left; NaN where too few are not NaN, with a RuntimeWarning when that is
        known.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanvar(dnb.array([1, 3, float("nan")], dist="block")))
    1.0
    """
    x, keep = asarray(a), kept(keepdims)
    free = free_of(ddof, correction)
    if x.dtype.kind not in "fc":
        return var(x, axis, dtype, out, free, keep, where=where, mean=mean)
    _check(x, dtype, out)
    where = True if where is _NONE else where
    more = {} if mean is _NONE else {"mean": mean}
    found = at_once(np.nanvar, x, axis, dtype, None, free, keepdims=keep, where=where, **more)
    if found is None:
        found = _variance(x, _axes(axis, x.ndim), dtype, free, keep, where, mean)
    return delivered(found, out)


def _variance(
    x: Array,
    axes: Ints,
    dtype: DTypeLike | None,
    free: float,
    keep: bool,
    where: ArrayLike | NoValue,
    mean: ArrayLike | NoValue,
) -> Array:
    """Return the mean square of what is left when the mean is taken away; NaN count as mean."""
    if mean is _NONE:
        total = reduce("sum", _filled(x, 0), axes, dtype, None, True, np._NoValue, where)
        n = _left(x, axes, True, where)
        mean = elementwise("divide", total, _or_nan(n, n == 0)).astype(total.dtype)
    rest = elementwise("subtract", x, mean).astype(x.dtype, copy=False)
    rest = elementwise("where", elementwise("isnan", x), x.dtype.type(0), rest)  # inf - inf counts
    square = rest.real * rest.real + rest.imag * rest.imag if rest.dtype.kind == "c" else rest**2
    squares = reduce("sum", square, axes, dtype, None, keep, np._NoValue, where)
    n = _left(x, axes, keep, where) - free
    found = elementwise("divide", squares, _or_nan(n, n <= 0)).astype(squares.dtype, copy=False)
    return told(found, n <= 0, 2)


def _or_nan(n: Array, bad: Array) -> Array:
    """Return numbers to divide by, with NaN in place of bad ones: of that nobody is warned."""
    return elementwise("where", bad, np.nan, n)


@stands_for(np.nanstd, small="home")
def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool | NoValue = _NONE,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = _NONE,
    correction: float | NoValue = _NONE,
) -> Array:
    """Return the standard deviation of what is not NaN.

    It is the root of :func:`nanvar`, which sends the same.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
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
        Of the axes that are left; NaN where too few are not NaN, with a RuntimeWarning when that is
        known.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanstd(dnb.array([1, 3, float("nan")], dist="block")))
    1.0
    """
    found = nanvar(
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    if out is not None or found.dtype.kind in "fc":
        return elementwise("sqrt", found, out=out)
    # NumPy puts roots where squares of integers were: a scalar is cut, an array cannot hold them.
    if found.ndim:
        return elementwise("sqrt", found, out=found)
    return elementwise("sqrt", found).astype(found.dtype)
