"""Reductions: checked here, recorded, done on the engines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle import host_arrays
from distnb.client.handle.arguments import Axes, Number, kept, truly
from distnb.client.handle.array import Array, as_result, create, hosted, is_whole, numeric
from distnb.client.handle.conversion import array_of
from distnb.client.handle.indexing import as_in_c, some_axes
from distnb.client.handle.scalars import numbers_in
from distnb.client.reach.admission import admitted, read_of
from distnb.client.reach.engines_order import EnginesOrder, by_parts
from distnb.client.reach.promised_layouts import layout_of_reduced, seen_of
from distnb.client.reach.small_reductions import ORDERED, quick_reduction
from distnb.client.reach.small_steps import made_of
from distnb.client.record.eager import Out, delivered
from distnb.client.record.operation_cache import OperationCache, spec_of
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.ufunc_options import as_mask, outputs
from distnb.client.session.bases import Base
from distnb.client.session.current import need
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, Layout, in_notebook
from distnb.geometry.views import Placed, View, broadcast_shapes
from distnb.ops import table
from distnb.plans.transfer import plan_reduce
from distnb.wire.protocol import Create, Reduce

__all__ = ["held_first", "reduce", "reduce_options", "room_for"]


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
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """Record a reduction; return its result.

    Kept axes stay split as they were; every engine along a reduced axis holds a copy of the
    result. Sent are the partial results, up and down a binomial tree.
    """
    keepdims = (truly if op in _POSITIONS else kept)(keepdims)
    if type(axis) not in _PLAIN:
        as_in_c(axis)
    if type(x) is not Array.made:  # a scalar, that was a result
        x = hosted(need(None) if out is None else out.session, np.asarray(x))
    if initial is None:
        _check_without(op, x, axis, dtype, where)
    if isinstance(out, Array | np.ndarray | tuple) and op not in _TRUTHS:
        x, dtype, initial = _as_output(op, x, axis, dtype, out, initial, where)
    initial = None if initial is np._NoValue else numbers_in(initial)
    if where is not True and where is not np._NoValue:
        some_axes(axis, x.ndim or 1)  # which NumPy looks at before it misses an identity
        x = _masked(op, x, dtype, where, initial)
    same = isinstance(out, Array) and out.session is x.session
    if type(axis) in _PLAIN and (out is None or (same and not x.at_home)):
        found = _reached(op, x, axis, dtype, keepdims, initial)
        if found is not None:
            return found if out is None else _reduced_into(op, found, out)
    if (x._base or x.dbase).host is not None:
        return _reduce_here(op, x, axis, dtype, out, keepdims, initial)
    result_dtype = _reduced_dtype(op, x, axis, dtype, initial)
    if op in ORDERED and result_dtype == np.float16:
        return _reduce_halves(op, x, axis, out, keepdims, initial)
    axes = some_axes(axis, x.ndim) if x.ndim else ()  # NumPy takes axis 0 of a scalar, too
    layout, exact = table.reduction_layout(x.placed, axes, x.session.size)
    if not exact:
        first = np._NoValue if initial is None else initial
        return reduce(op, x.copy(), axis, dtype, out, keepdims, first)
    found = _begun(op, x, axes, layout, result_dtype, initial)
    return _shown(found, axes, keepdims, op, out)


def _as_output(
    op: str,
    x: Array,
    axis: Axes,
    dtype: DTypeLike | None,
    out: Out | np.ndarray,
    initial: object,
    where: object,
) -> tuple[Array, DTypeLike | None, Any]:
    """Return operand, dtype and beginning of a reduction as they are with an output."""
    if dtype is None and isinstance(out, Array | np.ndarray):
        dtype = _of_both(x, out)
    ufunc = table.REDUCTIONS[op].ufunc
    if ufunc is None or x.here is not None:
        return x, dtype, initial
    kind = x.dtype if dtype is None else numeric(dtype)
    x, initial = held_first(ufunc, x, axis, kind, out, initial, where)
    return x, dtype, initial


def _of_both(x: Array, out: Array | np.ndarray) -> np.dtype | None:
    """Return the dtype in which NumPy reduces into an output; None if ``x`` has it."""
    found = np.result_type(out.dtype, x.dtype)
    return None if found == x.dtype and found.kind in "fc" else found


def held_first(
    ufunc: np.ufunc,
    x: Array,
    axis: Axes,
    kind: np.dtype,
    out: Out | np.ndarray,
    initial: object,
    where: object = True,
) -> tuple[Array, Any]:
    """Return an array, and what its reduction begins with, as an output of another dtype has it.

    NumPy puts the identity, or the first elements if there is none, into the output, and goes on in
    the dtype of the reduction.
    """
    into = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    held = getattr(into, "dtype", None)
    if held is None or initial is None or np.can_cast(kind, held, "safe"):
        return x, initial
    first = ufunc.identity if initial is np._NoValue else numbers_in(initial)
    if first is not None:
        begin = np.asarray(first).astype(kind)
        there = begin.astype(held).astype(kind)
        return x, initial if np.array_equal(begin, there, equal_nan=True) else there[()]
    if not x.size or not (where is True or where is np._NoValue):
        return x, initial
    axes = some_axes(axis, x.ndim) if x.ndim else ()
    key = (*[slice(0, 1) if d in axes else slice(None) for d in range(x.ndim)], ...)
    found = x.astype(kind)
    assign(found[key], x[key].astype(held))
    return found, initial


def room_for(x: Array, axis: Axes, keepdims: bool, out: Out | np.ndarray) -> np.ndarray | None:
    """Return room for what NumPy reduces into an output, where it casts on the way."""
    into = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if not isinstance(into, Array | np.ndarray):
        return None
    axes = some_axes(axis, x.ndim) if x.ndim else ()
    return np.empty(table.reduced_shape(x.shape, axes, keepdims=keepdims), into.dtype)


def _reduce_halves(
    op: str, x: Array, axis: Axes, out: Array | None, keepdims: bool, initial: Number | None
) -> Any:
    """Combine half floats in single precision, as NumPy: what parts come to may be out of range."""
    first: Any = np._NoValue if initial is None else np.asarray(initial).astype(np.float16)[()]
    halves = x.astype(np.float16, copy=False)
    found = reduce(op, halves, axis, np.float32, None, keepdims, first).astype(np.float16)
    return found if out is None else _reduced_into(op, found, out)


def _begun(
    op: str, x: Array, axes: Ints, layout: Layout, dtype: np.dtype, initial: Number | None
) -> Array:
    """Return the result of a reduction that begins with a number, or with none."""
    result = Placed.whole(table.reduced_shape(x.shape, axes, keepdims=False), layout)
    if initial is not None and not x.size:  # there is nothing to combine it with
        value = np.asarray(initial).astype(dtype).item()
        return create(x.session, result.shape, dtype, result.layout, ("fill", value))
    found: Array = _recorded(op, x, axes, result, dtype)
    if initial is not None:
        _begin_with(op, x, found, initial, axes)
    return found


def _begin_with(op: str, x: Array, found: Array, initial: Any, axes: Ints) -> None:
    """Combine a result with what the reduction begins with."""
    ufunc = table.REDUCTIONS[op].ufunc
    first = np.empty((), found.dtype)
    first[...] = initial
    elementwise(ufunc.__name__, found, first, out=found)  # type: ignore[union-attr]
    if op == "sum" and found.dtype.kind == "c" and x.dtype.kind == "c":
        _keep_sign(found.real, x.real, first.real, axes)
        _keep_sign(found.imag, x.imag, first.imag, axes)
    elif op == "sum" and found.dtype.kind == "f":
        _keep_sign(found, x, first, axes)


def _keep_sign(found: Array, x: Array, first: np.ndarray, axes: Ints) -> None:
    """Let a sum that begins with -0.0 be that if nothing but -0.0 is added: sums begin with 0.0."""
    if not first and np.signbit(first):
        negative = elementwise("equal", x, 0) & elementwise("signbit", x)
        assign(found, first, reduce("all", negative, axes))


def _recorded(op: str, x: Array, axes: Ints, result: Placed, dtype: np.dtype) -> Any:
    """Record a reduction along axes; return its result, which is to lie as told."""
    session, shape, layout = x.session, result.shape, result.layout
    with session.recorder.lock:
        source = x.operand
        base = Base(session, shape, dtype, layout)
        site = base.site = session.site()
        session.record(Create(base.handle, shape, dtype.str, layout, ("empty",), site))
        session.record(Reduce(op, base.handle, source, axes, dtype.str, site))
    return Array.made(base, View.whole(shape))


def _begun_in_reach(
    op: str, x: Array, axis: Axes, dtype: DTypeLike | None, keepdims: bool, initial: Number
) -> Any:
    """Reduce what is in reach, as :func:`_begun` does; return None if engines are to do it."""
    if x.at_home or not x.size:
        return None
    first = np.empty((), _reduced_dtype(op, x, axis, dtype, initial))
    first[...] = initial
    if op == "sum" and any(not part and np.signbit(part) for part in (first.real, first.imag)):
        return None  # :func:`_keep_sign`
    found = _reached(op, x, axis, dtype, keepdims)
    ufunc: Any = table.REDUCTIONS[op].ufunc
    return None if found is None else elementwise(ufunc.__name__, found, first[()])


#: Reductions to positions, whose ``keepdims`` may be anything.
_POSITIONS = frozenset(("argmin", "argmax"))
#: Reductions to truth values and positions, whatever ``out`` is.
_TRUTHS = frozenset(("any", "all", "logical_xor.reduce", "argmin", "argmax"))
#: Types of ``axis`` and ``dtype`` that can be looked up; other ways to say the same are not.
_PLAIN = frozenset((int, tuple, type(None), type))


class _Known(NamedTuple):
    """What is known of a reduction that comes again.

    ``apart`` does it in the order of engines, where NumPy's is another one. ``ufunc`` is None if
    the notebook cannot do it.
    """

    ufunc: np.ufunc | None
    axes: Ints
    dtype: np.dtype
    layout: Layout
    nbytes: int
    apart: Any


def _reached(
    op: str,
    x: Array,
    axis: Axes,
    dtype: DTypeLike | None,
    keepdims: bool,
    initial: Number | None = None,
) -> Any:
    """Reduce an array that is in reach; return None if engines are to do it."""
    if initial is not None:
        return _begun_in_reach(op, x, axis, dtype, keepdims, initial)
    dtype = _looked_up(np.dtype(dtype)) if isinstance(dtype, str | np.dtype) else dtype
    if type(dtype) not in _PLAIN:
        return None
    quick = dtype is None and (x._near is not None or x._base.near is not None)
    if quick and (found := quick_reduction(op, x, axis, keepdims)) is not None:
        return found
    base, session = x._base or x.dbase, x.session
    if base.lost or base.known is not None:
        return None
    cache: OperationCache = session.extensions[OperationCache]
    key = ("reduce", op, (x.spec or spec_of(session, x)) + base.turn, axis, dtype)
    known: Any = cache.templates.get(key)
    if known is None:
        known = cache.add(key, _known(op, x, axis, dtype))  # type: ignore[arg-type]
    nbytes = known.nbytes if base.look is None else read_of(x)
    if known.ufunc is None or not (base.layout.here or admitted(session, (x,), nbytes)):
        return None
    if session.closed:
        session.check_open()
    near = x.near if known.apart is None or not known.apart.of_base else base.near
    if near is None:  # another thread has given it to engines
        return None
    if known.apart is None:
        made = host_arrays.watched("reduce", known.ufunc.reduce, near, known.axes, known.dtype)
        found = np.asarray(made, order="C")
    else:
        found = host_arrays.watched("reduce", known.apart, near)
    if not (found.ndim or keepdims):
        return found[()]
    made = made_of(session, found, known.layout)
    return _shown(made, known.axes, keepdims, op, None) if keepdims else made


def _looked_up(dtype: np.dtype) -> DTypeLike:
    """Return another way to say the same dtype, which can be looked up, if there is one."""
    return dtype.type if dtype.isnative else dtype


def _known(op: str, x: Array, axis: Axes, dtype: DTypeLike | None) -> _Known:
    """Find out how a reduction goes; raises what NumPy raises."""
    ufunc, result = table.REDUCTIONS[op].ufunc, _reduced_dtype(op, x, axis, dtype, None)
    axes = some_axes(axis, x.ndim) if x.ndim else ()
    if x.dbase.layout.here:
        return _Known(ufunc, axes, result, in_notebook(x.ndim - len(axes)), x.nbytes, None)
    base, size = x.dbase, x.session.size
    seen = seen_of(base.layout, base.shape, x.dview)
    good = x.size > 0 and not (op in ORDERED and result == np.float16)
    apart: Any = None
    exact = table.reduction_layout(x.placed, axes, size)[1]
    if good and op in ORDERED and result.kind in "fc" and not (exact and _in_one_piece(x, axes)):
        if exact and base.layout.in_order(base.shape):
            there = Placed(base.shape, base.layout, x.dview)
            apart = EnginesOrder(op, there, axes, result, size)
        else:
            apart = by_parts(op, seen, result, axes, size)
        good = apart is not None
    layout = layout_of_reduced(seen, axes, size)
    return _Known(ufunc if good else None, axes, result, layout, x.nbytes, apart)


def _in_one_piece(x: Array, axes: Ints) -> bool:
    """Tell whether one engine reduces a view in one go, as NumPy would."""
    plans = [plan_reduce(rank, x.placed, axes) for rank in range(x.session.size)]
    pieces = [plan[1] for plan in plans if plan is not None and plan[1]]
    forward = all(step > 0 for _, _, step in x.dview.dims)
    return not is_whole(x) and len(pieces) == 1 and len(pieces[0]) == 1 and forward


def _shown(found: Array, axes: Ints, keepdims: bool, op: str, out: Array | None) -> Any:
    """Return a result with the axes that are to be kept, or put it into ``out``."""
    if keepdims:
        for d in axes:
            found = found.alias(found.dview.insert(d))
    return as_result(found) if out is None else _reduced_into(op, found, out)


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
    if out is not None and op not in _TRUTHS:
        options["out"] = room_for(x, axis, keepdims, out)
    found = host_arrays.watched("reduce", function, x.here, keepdims=keepdims, **options)
    if out is None and not isinstance(found, np.ndarray):
        return found
    made = array_of(x.session, np.asarray(found))
    return made if out is None else _reduced_into(op, made, out)


def _reduced_dtype(
    op: str, x: Array, axis: Axes, dtype: DTypeLike | None, initial: Number | None
) -> np.dtype:
    """Ask NumPy for the dtype of the result; raises what it raises (empty, axis, dtype)."""
    sample = np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)
    options = _numpys_options(axis, dtype, initial)
    return np.asarray(table.REDUCTIONS[op].function(sample, **options)).dtype


def _check_without(op: str, x: Array, axis: Axes, dtype: DTypeLike | None, where: Any) -> None:
    """Raise what NumPy raises of ``initial=None``, which takes the identity away."""
    sample = np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)
    mask = where is True or where is np._NoValue or np.ones((), bool)
    options = _numpys_options(axis, dtype, None) | {"initial": None, "where": mask}
    table.REDUCTIONS[op].function(sample, **options)


def _numpys_options(axis: Axes, dtype: DTypeLike | None, initial: Number | None) -> dict[str, Any]:
    options: dict[str, Any] = {"axis": tuple(axis) if isinstance(axis, list) else axis}
    if dtype is not None:
        options["dtype"] = numeric(dtype)
    if initial is not None:
        options["initial"] = initial
    return options


def _masked(
    op: str, x: Array, dtype: DTypeLike | None, where: ArrayLike, initial: Number | None
) -> Any:
    """Return ``x`` with the operation's identity where the mask is false."""
    if dtype is not None and op not in _TRUTHS:  # which holds what the mask puts in
        x = x.astype(numeric(dtype), copy=False)
    mask = host_arrays.boolean(as_mask(where))
    if broadcast_shapes(mask.shape, x.shape) != x.shape:
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
    one: Any = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    (into,) = (one,) if isinstance(one, np.ndarray) else outputs(out, 1)
    if table.REDUCTIONS[op].ufunc is None and not np.can_cast(into.dtype, np.intp):
        raise TypeError(explain("out", into.dtype, "an integer type", "positions are intp"))
    return delivered(found, into)
