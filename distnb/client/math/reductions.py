"""Functions that reduce: those of the op table, and what is composed of sums."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.record.creation import asarray
from distnb.client.record.indexing import some_axes
from distnb.client.record.namespace import FUNCTIONS, NAMESPACE, public
from distnb.client.record.operations import assign, broadcast, elementwise
from distnb.client.record.reducing import reduce

__all__: list[str] = []

_Function = Callable[..., Any]


def _make_reduction(name: str) -> _Function:
    def function(a: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        return getattr(asarray(a), name)(axis, *args, **options)

    function.__signature__ = inspect.signature(getattr(np, name))  # type: ignore[attr-defined]
    function.__doc__ = (
        f"Reduce over ``axis`` as ``numpy.{name}`` does.\n\n    The kept axes stay split as they "
        "are and every engine along a reduced axis gets a copy of the\n    result; partial results "
        "travel up and down a binomial tree.\n    "
    )
    return function


for _name, _numpys in {
    "sum": (np.sum,),
    "prod": (np.prod,),
    "min": (np.min,),
    "max": (np.max,),
    "any": (np.any,),
    "all": (np.all,),
    "argmin": (np.argmin,),
    "argmax": (np.argmax,),
}.items():
    public(_name, *_numpys)(_make_reduction(_name))
NAMESPACE["amax"], NAMESPACE["amin"] = NAMESPACE["max"], NAMESPACE["min"]


# -- means -------------------------------------------------------------------------------------


def _count(x: DistArray, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """Return how many elements each result is of."""
    if where is True or where is np._NoValue:
        return int(np.prod([x.shape[d] for d in axes], dtype=np.int64))
    mask = broadcast(asarray(where, session=x.session), x.shape)
    return reduce("sum", mask, axes, np.dtype(np.intp), None, keepdims)


def _working_dtype(x: DistArray, dtype: Any) -> Any:
    """Return the dtype in which NumPy adds up for mean and var."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if x.dtype == np.float16 else None


def _result_dtype(f: _Function, x: DistArray, dtype: Any) -> np.dtype:
    return np.asarray(f(np.ones(1, x.dtype), dtype=dtype)).dtype


def _finish(found: DistArray, dtype: np.dtype, out: Any) -> DistArray:
    if out is not None:
        assign(out, found)
        return out
    return found if found.dtype == dtype else found.astype(dtype)


@public("mean", np.mean)
def _mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):  # type: ignore[no-untyped-def]
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


@public("var", np.var)
def _var(  # type: ignore[no-untyped-def]
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=False,
    *,
    where=True,
    mean=np._NoValue,
    correction=np._NoValue,
):
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


@public("std", np.std)
def _std(  # type: ignore[no-untyped-def]
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=False,
    *,
    where=True,
    mean=np._NoValue,
    correction=np._NoValue,
):
    """Take the square root of the variance."""
    found = FUNCTIONS[np.var](
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    return elementwise("sqrt", found, out=out)


@public("ptp", np.ptp)
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> DistArray:
    """Return how far the largest element is from the smallest."""
    x, keep = asarray(a), keepdims is True
    ends = [reduce(op, x, axis, keepdims=keep) for op in ("max", "min")]
    return elementwise("subtract", *ends, out=out)


FUNCTIONS[np.amax] = FUNCTIONS[np.max]
FUNCTIONS[np.amin] = FUNCTIONS[np.min]


@public("count_nonzero", np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> DistArray:
    """Count the elements that are not zero."""
    x = asarray(a)
    return reduce("sum", elementwise("not_equal", x, 0), axis, np.dtype(np.intp), None, keepdims)
