"""Functions that reduce: those of the op table, and what is composed of sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.record.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.indexing import some_axes
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, broadcast, elementwise
from distnb.client.record.reducing import reduce

__all__: list[str] = []

_Function = Callable[..., Any]


_LAYOUT = """

    The kept axes stay split as they are and every engine along a reduced axis gets a copy of the
    result; partial results travel up and down a binomial tree.
    """


def _reduction(*numpys: Any) -> Callable[[Any], Any]:
    """Let a function stand for NumPy's; what all reductions do with layouts goes into its text."""

    def register(f: Any) -> Any:
        f.__doc__ += _LAYOUT
        return stands_for(*numpys)(f)

    return register


@_reduction(np.sum)
def sum_(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
    """Sum over ``axis``, as ``numpy.sum``."""
    return reduce("sum", asarray(a), axis, dtype, out, keepdims, initial, where)


@_reduction(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
    """Product over ``axis``, as ``numpy.prod``."""
    return reduce("prod", asarray(a), axis, dtype, out, keepdims, initial, where)


@_reduction(np.min, np.amin)
def min_(a, axis=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
    """Minimum over ``axis``, as ``numpy.min``."""
    return reduce("min", asarray(a), axis, None, out, keepdims, initial, where)


@_reduction(np.max, np.amax)
def max_(a, axis=None, out=None, keepdims=False, initial=None, where=True):  # type: ignore[no-untyped-def]
    """Maximum over ``axis``, as ``numpy.max``."""
    return reduce("max", asarray(a), axis, None, out, keepdims, initial, where)


@_reduction(np.any)
def any_(a, axis=None, out=None, keepdims=False, *, where=True):  # type: ignore[no-untyped-def]
    """Tell whether any element is true, as ``numpy.any``."""
    return reduce("any", asarray(a), axis, None, out, keepdims, None, where)


@_reduction(np.all)
def all_(a, axis=None, out=None, keepdims=False, *, where=True):  # type: ignore[no-untyped-def]
    """Tell whether all elements are true, as ``numpy.all``."""
    return reduce("all", asarray(a), axis, None, out, keepdims, None, where)


@_reduction(np.argmin)
def argmin(a, axis=None, out=None, *, keepdims=False):  # type: ignore[no-untyped-def]
    """Position of the first minimum, as ``numpy.argmin``."""
    return reduce("argmin", asarray(a), axis, None, out, keepdims)


@_reduction(np.argmax)
def argmax(a, axis=None, out=None, *, keepdims=False):  # type: ignore[no-untyped-def]
    """Position of the first maximum, as ``numpy.argmax``."""
    return reduce("argmax", asarray(a), axis, None, out, keepdims)


amin, amax = min_, max_

# -- means -------------------------------------------------------------------------------------


def _count(x: Array, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """Return how many elements each result is of."""
    if where is True or where is np._NoValue:
        return int(np.prod([x.shape[d] for d in axes], dtype=np.int64))
    mask = broadcast(asarray(where, session=x.session), x.shape)
    return reduce("sum", mask, axes, np.dtype(np.intp), None, keepdims)


def _working_dtype(x: Array, dtype: Any) -> Any:
    """Return the dtype in which NumPy adds up for mean and var."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if x.dtype == np.float16 else None


def _result_dtype(f: _Function, x: Array, dtype: Any) -> np.dtype:
    return np.asarray(f(np.ones(1, x.dtype), dtype=dtype)).dtype


def _finish(found: Array, dtype: np.dtype, out: Any) -> Array:
    if out is not None:
        assign(out, found)
        return out
    return found if found.dtype == dtype else found.astype(dtype)


@stands_for(np.mean)
def mean(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Array:
    """Arithmetic mean: a sum, divided on the engines."""
    x = asarray(a)
    axes = some_axes(axis, x.ndim)
    keep = keepdims is True
    total = reduce("sum", x, axes, _working_dtype(x, dtype), None, keep, None, where)
    mean = elementwise("divide", total, _count(x, axes, where, keep))
    return _finish(mean, _result_dtype(np.mean, x, dtype), out)


def free_of(ddof: Any, correction: Any) -> Any:
    """Return what is taken from the number of elements; two names for it cannot both be given."""
    if correction is np._NoValue:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@stands_for(np.var)
def var(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = np._NoValue,
    correction: Any = np._NoValue,
) -> Array:
    """Variance in two passes, as NumPy: the mean, then the mean square of what is left."""
    ddof = free_of(ddof, correction)
    x = asarray(a)
    axes = some_axes(axis, x.ndim)
    keep = keepdims is True
    working = _working_dtype(x, dtype)
    if mean is np._NoValue:
        total = reduce("sum", x, axes, working, None, True, None, where)
        mean = elementwise("divide", total, _count(x, axes, where, True))
    rest = elementwise("subtract", x, mean)
    if rest.dtype.kind == "c":
        square = rest.real * rest.real + rest.imag * rest.imag
    else:
        square = elementwise("multiply", rest, rest)
    squares = reduce(
        "sum", square, axes, None if working is None else square.dtype, None, keep, None, where
    )
    n = _count(x, axes, where, keep)
    free = max(n - ddof, 0) if isinstance(n, int) else elementwise("maximum", n - ddof, 0)
    return _finish(elementwise("divide", squares, free), _result_dtype(np.var, x, dtype), out)


@stands_for(np.std)
def std(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = np._NoValue,
    correction: Any = np._NoValue,
) -> Array:
    """Take the square root of the variance."""
    found = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return elementwise("sqrt", found, out=out)


@stands_for(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Array:
    """Return how far the largest element is from the smallest."""
    x, keep = asarray(a), keepdims is True
    ends = [reduce(op, x, axis, keepdims=keep) for op in ("max", "min")]
    return elementwise("subtract", *ends, out=out)


@stands_for(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Count the elements that are not zero."""
    x = asarray(a)
    return reduce("sum", elementwise("not_equal", x, 0), axis, np.dtype(np.intp), None, keepdims)
