"""Reductions that leave out NaN: they put what changes nothing in their place."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.math.reductions import free_of
from distnb.client.record.creation import asarray
from distnb.client.record.eager import at_once, delivered
from distnb.client.record.indexing import some_axes
from distnb.client.record.namespace import FUNCTIONS, public
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce

__all__: list[str] = []

_NONE = np._NoValue


def _options(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {k: v for k, v in options.items() if v is not _NONE and v is not None}


def _filled(x: DistArray, value: Any) -> DistArray:
    """Return ``x`` with a value in place of NaN."""
    if x.dtype.kind not in "fc":
        return x
    return elementwise("where", elementwise("isnan", x), x.dtype.type(value), x)


def _make(name: str, op: str, fill: Any) -> None:
    """Make a sum or product, or an extreme: fmin and fmax leave out NaN by themselves."""
    numpys = getattr(np, name)

    def combined(x: DistArray, axis: Any, dtype: Any, options: dict[str, Any]) -> Any:
        if fill is None:
            return reduce(op, x, axis, None, **options)
        return reduce(op, _filled(x, fill), axis, dtype, **options)

    def called(a: Any, axis: Any, dtype: Any, out: Any, options: dict[str, Any]) -> Any:
        x = asarray(a)
        more = options if dtype is None else options | {"dtype": dtype}
        found = at_once(numpys, x, axis, **more)
        return delivered(combined(x, axis, dtype, options) if found is None else found, out)

    if fill is None:

        def extreme(  # type: ignore[no-untyped-def]
            a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE
        ):
            options = _options(keepdims=keepdims, initial=initial, where=where)
            return called(a, axis, None, out, options)

        function: Any = extreme
    else:

        def total(  # type: ignore[no-untyped-def]
            a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE
        ):
            options = _options(keepdims=keepdims, initial=initial, where=where)
            return called(a, axis, dtype, out, options)

        function = total
    function.__doc__ = f"""Reduce what is not NaN, as ``numpy.{name}``; layout as in ``sum``.

    Where nothing is left, the engines do not warn.
    """
    public(name, numpys)(function)


for _name, _op, _fill in (
    ("nansum", "sum", 0),
    ("nanprod", "prod", 1),
    ("nanmin", "fmin.reduce", None),
    ("nanmax", "fmax.reduce", None),
):
    _make(_name, _op, _fill)


def _make_position(name: str, fill: float) -> None:
    numpys = getattr(np, name)

    def position(a, axis=None, out=None, *, keepdims=_NONE):  # type: ignore[no-untyped-def]
        x = asarray(a)
        found = at_once(numpys, x, axis, **_options(keepdims=keepdims))
        if found is None:
            if x.dtype.kind in "fc" and bool(elementwise("isnan", x).all(axis).any()):
                raise ValueError("All-NaN slice encountered")
            op = name.removeprefix("nan")
            found = reduce(op, _filled(x, fill), axis, keepdims=keepdims is True)
        return delivered(found, out)

    position.__doc__ = f"""Return positions of extremes that are not NaN, as ``numpy.{name}``.

    Whether there are any is read first: this waits.
    """
    public(name, numpys)(position)


_make_position("nanargmin", np.inf)
_make_position("nanargmax", -np.inf)


# -- means ---------------------------------------------------------------------------------------


def _check(x: DistArray, dtype: Any, out: Any) -> None:
    """Raise what NumPy raises."""
    for what, kind in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if kind is not None and np.dtype(kind).kind not in "fc":
            raise TypeError(f"If a is inexact, then {what} must be inexact")


def _left(x: DistArray, axes: Any, keep: bool, where: Any) -> DistArray:
    """Count what is not NaN."""
    numbers = ~elementwise("isnan", x)
    return reduce("sum", numbers, axes, np.dtype(np.intp), None, keep, None, where)


@public("nanmean", np.nanmean)
def _nanmean(a, axis=None, dtype=None, out=None, keepdims=_NONE, *, where=True):  # type: ignore[no-untyped-def]
    """Return the mean of what is not NaN, as ``numpy.nanmean``; layout as in ``sum``."""
    x, keep = asarray(a), keepdims is True
    if x.dtype.kind not in "fc":
        return FUNCTIONS[np.mean](x, axis, dtype, out, keep, where=where)
    _check(x, dtype, out)
    where = True if where is _NONE else where
    found = at_once(np.nanmean, x, axis, dtype, keepdims=keep, where=where)
    if found is None:
        axes = some_axes(axis, x.ndim)
        total = reduce("sum", _filled(x, 0), axes, dtype, None, keep, None, where)
        mean = elementwise("divide", total, _left(x, axes, keep, where))
        found = mean.astype(total.dtype, copy=False)
    return delivered(found, out)


@public("nanvar", np.nanvar)
def _nanvar(  # type: ignore[no-untyped-def]
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_NONE,
    *,
    where=True,
    mean=_NONE,
    correction=_NONE,
):
    """Return the variance of what is not NaN, as ``numpy.nanvar``; layout as in ``sum``."""
    x, keep = asarray(a), keepdims is True
    free = free_of(ddof, correction)
    if x.dtype.kind not in "fc":
        return FUNCTIONS[np.var](x, axis, dtype, out, free, keep, where=where, mean=mean)
    _check(x, dtype, out)
    where = True if where is _NONE else where
    more = {} if mean is _NONE else {"mean": mean}
    found = at_once(np.nanvar, x, axis, dtype, None, free, keepdims=keep, where=where, **more)
    if found is None:
        found = _variance(x, some_axes(axis, x.ndim), dtype, free, keep, where, mean)
    return delivered(found, out)


def _variance(
    x: DistArray, axes: Any, dtype: Any, free: Any, keep: bool, where: Any, mean: Any
) -> DistArray:
    """Return the mean square of what is left when the mean is taken away; NaN count as mean."""
    if mean is _NONE:
        total = reduce("sum", _filled(x, 0), axes, dtype, None, True, None, where)
        mean = elementwise("divide", total, _left(x, axes, True, where)).astype(total.dtype)
    rest = _filled(elementwise("subtract", x, mean).astype(x.dtype, copy=False), 0)
    square = rest.real * rest.real + rest.imag * rest.imag if rest.dtype.kind == "c" else rest**2
    squares = reduce("sum", square, axes, dtype, None, keep, None, where)
    n = _left(x, axes, keep, where) - free
    found = elementwise("divide", squares, n).astype(squares.dtype, copy=False)
    return elementwise("where", n <= 0, found.dtype.type(np.nan), found)


@public("nanstd", np.nanstd)
def _nanstd(  # type: ignore[no-untyped-def]
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_NONE,
    *,
    where=True,
    mean=_NONE,
    correction=_NONE,
):
    """Return the standard deviation of what is not NaN, as ``numpy.nanstd``."""
    found = FUNCTIONS[np.nanvar](
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    return elementwise("sqrt", found, out=out)
