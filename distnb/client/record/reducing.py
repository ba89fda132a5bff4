"""Reductions: checked here, recorded, done on the engines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.record import host_arrays
from distnb.client.record.arguments import Axes, Number
from distnb.client.record.array import Array, create, numeric
from distnb.client.record.conversion import array_of
from distnb.client.record.eager import Out, delivered
from distnb.client.record.indexing import some_axes
from distnb.client.record.operations import elementwise, outputs
from distnb.client.session.bases import Base
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.geometry.views import View
from distnb.ops import table
from distnb.wire.protocol import Create, Reduce

__all__ = ["reduce", "reduce_options"]


def reduce_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``ufunc.reduce``, whose axis is 0 by default."""
    found = {"axis": 0} | kwargs
    out = found.get("out")
    found["out"] = out[0] if isinstance(out, tuple) else out
    return {k: v for k, v in found.items() if v is not np._NoValue}


def reduce(
    op: str,
    x: Array,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Record a reduction; return its result.

    Kept axes stay split as they were; every engine along a reduced axis holds a copy of the
    result. Sent are the partial results, up and down a binomial tree.
    """
    keepdims = False if keepdims is np._NoValue else bool(keepdims)
    initial = None if initial is np._NoValue else initial
    if where is not True and where is not np._NoValue:
        x = _masked(op, x, where, initial)
    if x.dbase.host is not None:
        return _reduce_here(op, x, axis, dtype, out, keepdims, initial)
    result_dtype = _reduced_dtype(op, x, axis, dtype, initial)
    axes = some_axes(axis, x.ndim) if x.ndim else ()  # NumPy takes axis 0 of a scalar, too
    placed = x.placed
    layout, exact = table.reduction_layout(placed, axes, x.session.size)
    if not exact:
        return reduce(op, x.copy(), axis, dtype, out, keepdims, initial)
    shape = table.reduced_shape(x.shape, axes, keepdims=False)
    if initial is not None and not x.size:  # there is nothing to combine it with
        value = np.asarray(initial).astype(result_dtype).item()
        filled = create(x.session, shape, result_dtype, layout, ("fill", value))
        return _shown(filled, axes, keepdims, op, out)
    source = x.operand
    base = Base(x.session, shape, result_dtype, layout)
    found = Array.made(base, View.whole(shape))
    site = base.site = x.session.site()
    x.session.record(Create(base.handle, shape, result_dtype.str, layout, ("empty",), site))
    x.session.record(Reduce(op, base.handle, source, axes, result_dtype.str, site))
    if initial is not None:
        ufunc = table.REDUCTIONS[op].ufunc
        first = np.empty((), result_dtype)
        first[...] = initial
        elementwise(ufunc.__name__, found, first, out=found)  # type: ignore[union-attr]
    return _shown(found, axes, keepdims, op, out)


def _shown(found: Array, axes: Ints, keepdims: bool, op: str, out: Array | None) -> Any:
    """Return a result with the axes that are to be kept, or put it into ``out``."""
    if keepdims:
        for d in axes:
            found = found.alias(found.dview.insert(d))
    return found if out is None else _reduced_into(op, found, out)


def _reduce_here(
    op: str,
    x: Array,
    axis: Axes,
    dtype: DTypeLike | None,
    out: Array | None,
    keepdims: bool,
    initial: Number | None,
) -> Any:
    """Reduce with NumPy what is in the notebook."""
    options = _numpys_options(axis, dtype, initial)
    function = table.REDUCTIONS[op].function
    found = host_arrays.watched("reduce", function, x.here, keepdims=keepdims, **options)
    made = array_of(x.session, np.asarray(found))
    return made if out is None else _reduced_into(op, made, out)


def _reduced_dtype(
    op: str, x: Array, axis: Axes, dtype: DTypeLike | None, initial: Number | None
) -> np.dtype:
    """Ask NumPy for the dtype of the result; raises what it raises (empty, axis, dtype)."""
    sample = np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)
    options = _numpys_options(axis, dtype, initial)
    return np.asarray(table.REDUCTIONS[op].function(sample, **options)).dtype


def _numpys_options(axis: Axes, dtype: DTypeLike | None, initial: Number | None) -> dict[str, Any]:
    options: dict[str, Any] = {"axis": tuple(axis) if isinstance(axis, list) else axis}
    if dtype is not None:
        options["dtype"] = numeric(dtype)
    if initial is not None:
        options["initial"] = initial
    return options


def _masked(op: str, x: Array, where: ArrayLike, initial: Number | None) -> Any:
    """Return ``x`` with the operation's identity where the mask is false."""
    mask = host_arrays.boolean(where if isinstance(where, Array) else np.asarray(where))
    if np.broadcast_shapes(mask.shape, x.shape) != x.shape:
        raise ValueError(explain("where", f"shape {mask.shape}", f"{x.shape}", "slice the mask"))
    ufunc = table.REDUCTIONS[op].ufunc
    identity = getattr(ufunc, "identity", None)
    identity = initial if identity is None else identity
    if identity is None:
        raise ValueError(
            f"reduction operation '{op}' does not have an identity, so to use a where mask one has "
            "to specify 'initial'"
        )
    return elementwise("where", mask, x, np.asarray(identity).astype(x.dtype)[()])


def _reduced_into(op: str, found: Array, out: Out) -> Any:
    (into,) = outputs(out, 1)
    if table.REDUCTIONS[op].ufunc is None and not np.can_cast(into.dtype, np.intp):
        raise TypeError(explain("out", into.dtype, "an integer type", "positions are intp"))
    return delivered(found, into)
