"""Running results: ``cumsum`` and its like, differences, and the other methods of ufuncs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Axes, Number
from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.conversion import array_of, copied, record_collective
from distnb.client.handle.host_arrays import FLAGS, boolean, watched
from distnb.client.handle.indexing import no_bool, one_axis, some_axes
from distnb.client.reach.admission import admitted
from distnb.client.reach.decorators import in_reach
from distnb.client.reach.engines_order import by_all_ranks
from distnb.client.reach.small_reductions import accumulated
from distnb.client.reach.small_steps import made_of
from distnb.client.record.creation import asarray, full
from distnb.client.record.eager import Out, delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import held_first, reduce, room_for
from distnb.client.record.ufunc_options import as_mask, outputs
from distnb.client.select.taking import take
from distnb.client.shape.joining import concatenate
from distnb.client.shape.reshaping import ravel
from distnb.common.ndarrays import QUICK
from distnb.geometry.axes import cut_at
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import Placed
from distnb.ops import table
from distnb.plans.segments import Lane, lanes

#: Axes that NumPy's arrays can have.
_MOST = 64
#: What changes nothing as a second operand, of ufuncs to which NumPy gives no identity.
_RIGHT_IDENTITIES: dict[np.ufunc, int] = {
    np.subtract: 0,
    np.left_shift: 0,
    np.right_shift: 0,
    np.divide: 1,
    np.power: 1,
    np.float_power: 1,
}

__all__ = ["accumulate", "outer", "reduce_in_order", "reduceat"]


def _by_numpy(method: str) -> Callable[..., Any]:
    """Return what calls a method of a ufunc of NumPy's; of others, the long way does."""

    def run(ufunc: np.ufunc, *args: ArrayLike, **options: object) -> object:
        if getattr(np, ufunc.__name__, None) is not ufunc:
            raise TypeError
        found = getattr(ufunc, method)(*args, **options)
        if FLAGS:  # the long way says whose they are
            raise ArithmeticError
        return found

    run.__name__ = method
    return run


@in_reach(_by_numpy("accumulate"), "sums")
def accumulate(
    ufunc: np.ufunc,
    array: ArrayLike,
    axis: SupportsIndex | tuple[int] | None = 0,
    dtype: DTypeLike | None = None,
    out: Out = None,
) -> Array:
    """Return the running results of a ufunc along an axis, as ``ufunc.accumulate``.

    The result follows the operand, and a cyclic axis along which it runs gets blocks.
    """
    x = asarray(array)
    into: Any = out[0] if isinstance(out, tuple) else out
    if into is not None and not isinstance(into, np.ndarray):
        outputs(into, 1)
    kind = _result_dtype(ufunc, x, axis, dtype, into)
    if isinstance(axis, tuple) and len(axis) == 1:  # as in NumPy
        (axis,) = axis
    d = 0 if axis is None else one_axis(axis, x.ndim)
    if x.here is not None:
        run = watched("accumulate", ufunc.accumulate, x.here, d, kind)
        found = array_of(x.session, np.asarray(run))
    else:
        found = _scanned(ufunc, x, d, kind)
    return delivered(found, out)


def _scanned(ufunc: np.ufunc, x: Array, d: int, kind: np.dtype) -> Array:
    """Record a scan of what lies as the result, or of a copy that does.

    A small array in reach is scanned as they would.
    """
    layout, session = table.sorted_layout(x.placed, d, x.session.size), x.session
    args = (ufunc.__name__, d)
    near = _done(x, kind, "scan", args, layout, Placed.whole(x.shape, layout))
    if near is not None:
        return near
    there = x.dview.is_whole(x.dbase.shape) and x.dbase.layout == layout and x.dtype == kind
    if there and table.is_associative(ufunc.__name__, kind):
        found = create(session, x.shape, kind, layout, ("empty",))
        source = x
    else:
        found = source = copied(x, kind, layout)
    if x.size:
        record_collective("scan", (found,), (source,), args)
    return found


def _done(
    x: Array, kind: np.dtype, op: str, args: tuple[Any, ...], layout: Layout, made: Placed
) -> Array | None:
    """Do in the notebook what engines would do with a small array; None if it is not in reach."""
    small = args[0] in table.UFUNC_REDUCTIONS and 0 < x.nbytes <= QUICK
    near = x.near if small and admitted(x.session, (x,), 2 * x.nbytes) else None
    if near is None:  # another thread may have given it to the engines
        return None
    given = np.array(near, kind, order="C"), layout, made
    run = watched("accumulate", by_all_ranks, op, args, *given)
    found: Array = made_of(x.session, run, made.layout)
    return found


def _result_dtype(
    ufunc: np.ufunc, x: Array, axis: Any, dtype: DTypeLike | None, out: Array | None
) -> np.dtype:
    """Ask NumPy for the dtype in which it accumulates; raises what it raises."""
    sample = np.ones((1,) * x.ndim, x.dtype)
    if dtype is None and out is not None:
        if all(loop[-1] in "?O" for loop in ufunc.types):  # what finds truth is put as numbers
            return ufunc.accumulate(sample, axis).dtype
        ufunc.accumulate(sample, axis, out=np.ones(sample.shape, out.dtype))  # NumPy may refuse it
        ops = (out.dtype, x.dtype, None)
        return numeric(ufunc.resolve_dtypes(ops, casting="unsafe", reduction=True)[2])
    return numeric(ufunc.accumulate(sample, axis, dtype).dtype)


# -- functions -------------------------------------------------------------------------------------


def _running(
    ufunc: np.ufunc,
    a: ArrayLike,
    axis: SupportsIndex | None,
    dtype: DTypeLike | None,
    out: Array | None,
) -> Array:
    """Accumulate along an axis; by default all elements in C order."""
    if dtype is None and out is None and isinstance(a, Array):
        every = a.ndim == 1 and axis is None
        if every or type(axis) is int:
            found = accumulated(ufunc, a, {"axis": 0 if every else axis})
            if found is not None:
                return found
    x = asarray(a)
    x = ravel(x) if axis is None or not x.ndim else x
    d = 0 if axis is None else one_axis(no_bool(axis), x.ndim)
    return accumulate(ufunc, x, d, dtype, out)


def _without_nan(a: ArrayLike, neutral: int) -> Array:
    """Return an array with a number in place of NaN."""
    x = asarray(a)
    if x.dtype.kind in "fc":
        return elementwise("where", elementwise("isnan", x), x.dtype.type(neutral), x)
    return x


@stands_for(np.cumsum, small="sums")
def cumsum(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return running sums along an axis, as ``numpy.cumsum``; by default over all elements.

    The result follows the operand, and a cyclic axis along which it runs gets blocks. Each engine
    accumulates its part. Then the totals of the parts travel, in as many rounds as the engines
    along the axis double.

    Along a split axis, floats differ from NumPy's in the last digits: NumPy adds one element after
    the other, here the sum of the engines before is added to the sum of the engine's own. Which
    elements are added to which depends on the layout, never on timing.

    Parameters
    ----------
    a : array_like
        What to add up.
    axis : int, optional
        Along which axis; by default all elements in C order.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of the shape of ``a``; without an axis, of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.cumsum(dnb.arange(6, dist="block")).to_numpy()
    array([ 0,  1,  3,  6, 10, 15])
    """
    return _running(np.add, a, axis, dtype, out)


@stands_for(np.cumprod, small="sums")
def cumprod(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return running products along an axis, as ``numpy.cumprod``; by default over all elements.

    Layout and messages are those of :func:`distnb.cumsum`: totals of the parts travel.

    Parameters
    ----------
    a : array_like
        What to multiply.
    axis : int, optional
        Along which axis; by default all elements in C order.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of the shape of ``a``; without an axis, of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.cumprod(dnb.array([1, 2, 3, 4], dist="block")).to_numpy()
    array([ 1,  2,  6, 24])
    """
    return _running(np.multiply, a, axis, dtype, out)


@stands_for(np.nancumsum, small="sums")
def nancumsum(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return running sums with NaN taken as 0, as ``numpy.nancumsum``.

    Layout and messages are those of :func:`distnb.cumsum`: totals of the parts travel.

    Parameters
    ----------
    a : array_like
        What to add up.
    axis : int, optional
        Along which axis; by default all elements in C order.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of the shape of ``a``; without an axis, of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.nancumsum(dnb.array([1.0, dnb.nan, 3.0])).to_numpy()
    array([1., 1., 4.])
    """
    return _running(np.add, _without_nan(a, 0), axis, dtype, out)


@stands_for(np.nancumprod, small="sums")
def nancumprod(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return running products with NaN taken as 1, as ``numpy.nancumprod``.

    Layout and messages are those of :func:`distnb.cumsum`: totals of the parts travel.

    Parameters
    ----------
    a : array_like
        What to multiply.
    axis : int, optional
        Along which axis; by default all elements in C order.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of the shape of ``a``; without an axis, of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.nancumprod(dnb.array([2.0, dnb.nan, 3.0])).to_numpy()
    array([2., 2., 6.])
    """
    return _running(np.multiply, _without_nan(a, 1), axis, dtype, out)


@stands_for(np.cumulative_sum, small="sums")
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    include_initial: bool = False,
) -> Array:
    """Return running sums along an axis, as the array API standard has them.

    Layout and messages are those of :func:`distnb.cumsum`: totals of the parts travel. With the 0
    in front it is joined as :func:`distnb.concatenate` does.

    Parameters
    ----------
    x : array_like
        What to add up.
    axis : int, optional
        Along which axis; it can be left out if there is one only.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    include_initial : bool
        Whether a 0 comes before the sums, which are then one more.

    Returns
    -------
    DistArray
        Of the shape of ``x``, or one longer along the axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.cumulative_sum(dnb.array([1, 2, 3]), include_initial=True).to_numpy()
    array([0, 1, 3, 6])
    """
    return _cumulative(np.add, 0, asarray(x), axis, dtype, out, include_initial)


@stands_for(np.cumulative_prod, small="sums")
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    include_initial: bool = False,
) -> Array:
    """Return running products along an axis, as the array API standard has them.

    Layout and messages are those of :func:`distnb.cumsum`: totals of the parts travel. With the 1
    in front it is joined as :func:`distnb.concatenate` does.

    Parameters
    ----------
    x : array_like
        What to multiply.
    axis : int, optional
        Along which axis; it can be left out if there is one only.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.
    include_initial : bool
        Whether a 1 comes before the products, which are then one more.

    Returns
    -------
    DistArray
        Of the shape of ``x``, or one longer along the axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.cumulative_prod(dnb.array([1, 2, 3]), include_initial=True).to_numpy()
    array([1, 1, 2, 6])
    """
    return _cumulative(np.multiply, 1, asarray(x), axis, dtype, out, include_initial)


def _cumulative(
    ufunc: np.ufunc,
    neutral: int,
    x: Array,
    axis: SupportsIndex | None,
    dtype: DTypeLike | None,
    out: Array | None,
    initial: bool,
) -> Array:
    """Accumulate as the array API standard says."""
    x = x if x.ndim else ravel(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"For arrays which have more than one dimension ``axis`` argument is required, "
                f"got {x.ndim} axes"
            )
        axis = 0
    if not initial:
        return accumulate(ufunc, x, axis, dtype, out)
    d = one_axis(axis, x.ndim)
    if out is not None:
        at = (slice(None),) * d
        accumulate(ufunc, x, d, dtype, out[(*at, slice(1, None))])
        out[(*at, slice(1))] = neutral
        return out
    found = accumulate(ufunc, x, d, dtype)
    first = np.full((*x.shape[:d], 1, *x.shape[d + 1 :]), neutral, found.dtype)
    return concatenate((first, found), d)


@in_reach(_by_numpy("outer"), "grows")
def outer(ufunc: np.ufunc, a: ArrayLike, b: ArrayLike, **options: Any) -> Any:
    """Apply a ufunc to all pairs of elements, by views that broadcast."""
    x, y = asarray(a), asarray(b)
    if x.ndim + y.ndim > _MOST:
        raise ValueError(f"maximum supported dimension for an ndarray is {_MOST}")
    return ufunc(x[(..., *(None,) * y.ndim)], y, **options)


def reduceat(
    ufunc: np.ufunc,
    array: ArrayLike,
    indices: ArrayLike,
    axis: SupportsIndex = 0,
    dtype: DTypeLike | None = None,
    out: Out = None,
) -> Array:
    """Reduce segments of an axis, as ``ufunc.reduceat``; each lies where it ends.

    Indices are read in the notebook. Where segments overlap, there are as many commands as are in
    one place at most, which also reduce what is between segments, and may warn of that; the results
    lie as those of ``take``.
    """
    x, at = asarray(array), np.asarray(indices)
    at = at if isinstance(indices, Array | np.ndarray) else at.astype(np.intp)
    sample = np.ones((1,) * x.ndim, x.dtype)
    kind = ufunc.reduceat(sample, at * 0, axis, _computed_in(ufunc, x, axis, dtype, out)).dtype
    d = one_axis(axis, x.ndim)
    n = x.shape[d]
    at = at.astype(np.intp, copy=False)
    for i in at[(at < 0) | (at >= n)]:
        raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    if x.here is not None:
        name = ufunc.__name__
        alike = name in table.UFUNC_REDUCTIONS or table.total_dtype(name, kind) != kind
        single = at.size == 1 and not at[0] and n > 1 and not alike  # NumPy's power is wrong then
        found = array_of(
            x.session,
            watched("reduce", ufunc.reduce, x.here, d, kind, keepdims=True)
            if single
            else watched("reduceat", ufunc.reduceat, x.here, at, d, kind),
        )
    elif not at.size or not x.size:
        shape = (*x.shape[:d], at.size, *x.shape[d + 1 :])
        found = create(x.session, shape, kind, default_layout(shape, x.session.size), ("empty",))
    else:
        dealt = [*lanes(at, n)]
        parts = [_segments(ufunc, x, lane, d, kind) for lane in dealt]
        found = concatenate(parts, d) if len(parts) > 1 else parts[0]
        if len(parts) > 1 or len(dealt[0].begins) > at.size:
            found = take(found, _places(dealt, at.size), d)
    return delivered(found, out)


def _computed_in(ufunc: np.ufunc, x: Array, axis: Axes, dtype: DTypeLike | None, out: Out) -> Any:
    """Return the dtype in which a ufunc reduces: by default that of the output, if it is given."""
    one = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if dtype is not None or not isinstance(one, Array | np.ndarray):
        return dtype
    if x.ndim:
        some_axes(axis, x.ndim)  # which NumPy looks at before it looks for a loop
    ops = (one.dtype, x.dtype, None)
    return ufunc.resolve_dtypes(ops, casting="unsafe", reduction=True)[2]


def reduce_in_order(
    ufunc: np.ufunc,
    array: ArrayLike,
    axis: Axes = 0,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: ArrayLike = True,
) -> Any:
    """Reduce with a ufunc for which the order matters, as ``ufunc.reduce``: one segment an axis."""
    x = asarray(array)
    where = boolean(where) if (where := as_mask(where)) is not True else where
    options: dict[str, Any] = {"keepdims": keepdims}
    if initial is not np._NoValue:
        options["initial"] = initial
    if where is not True:
        options["where"] = np.ones((1,) * np.ndim(where), bool)
    sample = np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)
    dtype = _computed_in(ufunc, x, axis, dtype, out)
    kind = numeric(np.asarray(ufunc.reduce(sample, axis, dtype, **options)).dtype)
    axes = some_axes(axis, x.ndim) if x.ndim else ()
    if x.here is not None and out is not None and where is True:
        options["out"] = room_for(x, axis, keepdims, out)
        run = watched("reduce", ufunc.reduce, x.here, axes, kind, **options)
        return delivered(array_of(x.session, np.asarray(run)), out)
    x, initial = held_first(ufunc, x, axis, kind, out, initial, where)
    first: Any = ufunc.identity if initial is np._NoValue else initial
    if where is not True:
        neutral: Any = _RIGHT_IDENTITIES.get(ufunc, ufunc.identity)
        if neutral is None:
            return delivered(_in_steps(ufunc, x, where, first, axes, kind, keepdims), out)
        x = _with_neutral(neutral, x, where, kind)
    found = _one_by_one(ufunc, x, axes, kind, first, initial not in (None, np._NoValue))
    if ufunc is np.hypot and where is not True:  # a first value to which nothing comes has its sign
        mask: Any = np.broadcast_to(asarray(where, session=x.session), x.shape)
        found = elementwise("where", reduce("any", mask, axes, keepdims=True), found, first)
    shown = found if keepdims else found.squeeze(axes)
    return delivered(shown, out)


def _one_by_one(
    ufunc: np.ufunc, x: Array, axes: Ints, kind: np.dtype, first: Number | None, given: bool
) -> Array:
    """Reduce along axes, which are kept; a first value that is given takes part once."""
    found = x if axes else x.astype(kind)  # of no axes it is a copy
    if not axes and first is not None:
        found = elementwise(ufunc.__name__, np.asarray(first).astype(kind), found)
    for d in sorted(axes, reverse=True):
        found = _in_one(ufunc, found, d, first if given and d == min(axes) else None, kind)
    return found


def _in_one(ufunc: np.ufunc, x: Array, d: int, first: Any, kind: np.dtype) -> Array:
    """Reduce along an axis, which is kept; a first value, if there is one, comes before."""
    alone = ufunc.identity is not None and x.shape[d] == 1  # with that it loses its sign
    if first is not None or alone or not x.shape[d]:
        edge = (*x.shape[:d], 1, *x.shape[d + 1 :])
        begin = np.full(edge, ufunc.identity if first is None else first, kind)
        x = concatenate((begin, x.astype(kind)), d)
    if x.here is not None:
        found = watched("reduce", ufunc.reduce, x.here, d, kind, keepdims=True)
        return array_of(x.session, found)
    return reduceat(ufunc, x, np.zeros(1, np.intp), d, kind)


def _with_neutral(neutral: Any, x: Array, where: ArrayLike, kind: np.dtype) -> Array:
    """Return an array with what changes nothing where a mask is false."""
    if not np.isfinite(neutral):  # integers have none
        x = x.astype(kind)
    found: Array = elementwise("where", where, x, np.asarray(neutral).astype(x.dtype)[()])
    return found


def _in_steps(
    ufunc: np.ufunc,
    x: Array,
    where: ArrayLike,
    first: Any,
    axes: Ints,
    kind: np.dtype,
    keepdims: bool,
) -> Array:
    """Reduce slice by slice, of each what a mask has: nothing changes nothing in such a ufunc.

    NumPy refuses more axes than one where the order matters, which is so of all of these.
    """
    x, mask = x.astype(kind), np.broadcast_to(asarray(as_mask(where), session=x.session), x.shape)
    rest = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    found: Array = full(rest, np.asarray(first).astype(kind), session=x.session)
    for k in range(x.shape[axes[0]] if axes else 1):
        at = (*[slice(k, k + 1) if d in axes else slice(None) for d in range(x.ndim)], ...)
        elementwise(ufunc.__name__, found, x[at], out=found, where=mask[at], casting="unsafe")
    return found if keepdims else found.squeeze(axes)


def _places(dealt: Sequence[Lane], count: int) -> np.ndarray:
    """Return where each of so many segments is, where the results of lanes follow each other."""
    found, begin = np.empty(count, np.intp), 0
    for lane in dealt:
        found[lane.segments] = lane.places + begin
        begin += len(lane.begins)
    return found


def _segments(ufunc: np.ufunc, x: Array, lane: Lane, d: int, kind: np.dtype) -> Array:
    """Reduce the segments of a lane, and what is between them."""
    begins = lane.begins
    view = x[(slice(None),) * d + (slice(int(begins[0]), lane.end),)]
    layout = table.sorted_layout(view.placed, d, x.session.size)
    starts = (begins - begins[0]).astype(np.int64)
    where = layout
    if layout.parts(d) > 1:
        p, n = layout.parts(d), view.shape[d]
        lows = [layout.axes[d].bounds(n, p, c)[0] for c in range(p)]
        ended = np.searchsorted(np.append(starts[1:], n), lows, "right").tolist()
        axes = (*layout.axes[:d], cut_at((*ended, len(starts))), *layout.axes[d + 1 :])
        where = Layout(layout.grid, axes, layout.dims)
    shape = (*x.shape[:d], len(starts), *x.shape[d + 1 :])
    args = (ufunc.__name__, d, starts.tobytes())
    near = _done(view, kind, "segments", args, layout, Placed.whole(shape, where))
    if near is not None:
        return near
    found, source = create(x.session, shape, kind, where, ("empty",)), copied(view, kind, layout)
    record_collective("segments", (found, source), (source,), args)
    return found
