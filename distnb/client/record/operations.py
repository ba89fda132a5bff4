"""Elementwise operations and assignment: checked here, recorded, done on the engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle import host_arrays
from distnb.client.handle.arguments import order_of
from distnb.client.handle.array import (
    Array,
    as_result,
    create,
    hosted,
    numeric,
    read_only,
    storable,
)
from distnb.client.handle.conversion import (
    as_dist,
    broadcast,
    check_session,
    move_out,
    record_apply,
)
from distnb.client.handle.fields import stayed
from distnb.client.handle.host_arrays import all_here, plain
from distnb.client.handle.operands import beside_text, by_numpy
from distnb.client.reach.admission import admitted
from distnb.client.reach.kept_order import axes_asked, axes_of, in_their_order
from distnb.client.reach.small_steps import done as quick_done
from distnb.client.reach.small_steps import made_of, quick
from distnb.client.reach.small_views import laid
from distnb.client.record import operation_cache
from distnb.client.record.operation_cache import OperationCache, Template
from distnb.client.record.ufunc_options import (
    as_mask,
    broadcast_shape,
    brought_together,
    come_in_reach,
    has_plain,
    is_new,
    options_of,
    outputs,
    put_plain,
)
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import NotNumericError, explain
from distnb.common.interrupts import interrupts
from distnb.geometry.layout import Ints
from distnb.ops import table
from distnb.ops.fast import fast_name
from distnb.ops.scalars import COMPARISONS, NUMBERS, NUMPYS, SCALARS, within_range
from distnb.wire.protocol import Function, Typed

__all__ = [
    "assign",
    "done",
    "elementwise",
    "on_engines",
    "simple",
]

#: Operations that are no ufuncs to the table, and are cast to ``out=`` as those are.
_CAST_CHECKED = frozenset(("clip", "round"))


# -- elementwise -------------------------------------------------------------------------------


def elementwise(
    op: str,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str | None = None,
    **others: Any,
) -> Any:
    """Record an elementwise operation; return its result, or a tuple of results.

    Keyword arguments are those of NumPy's ufuncs. The rule for the layout of a new result is
    :func:`distnb.ops.table.elementwise_layout`.
    """
    op = fast_name(op, inputs)
    row = table.ELEMENTWISE[op]
    if where is True and dtype is None and casting is None and not others:
        found = _shortly(op, inputs, out)
        if found is not None:
            return found
    order = order_of(others["order"], "K") if "order" in others else "K"
    axes = axes_asked((*inputs, where), order) if is_new(out) else ()
    if axes:
        others = others if order == "K" else others | {"order": "C"}
        again = partial(elementwise, op, dtype=dtype, casting=casting, **others)
        return in_their_order(lambda *x: again(*x[:-1], where=x[-1]), (*inputs, where), axes)
    options, where = options_of(row, inputs, dtype, casting, others), as_mask(where)
    if has_plain(out):
        return _into_plain(op, inputs, out, where, dtype, casting, others)
    if where is not True and op in COMPARISONS:
        inputs = within_range(inputs)
    outs = outputs(out, row.nout)
    arrays = [x for x in (*inputs, *outs, where) if isinstance(x, Array)]
    if not arrays:  # scalars that were results, before somebody went on with them
        run = partial(host_arrays.watched, op, row.run, **options, where=where)
        return table.FUNCTIONS.get(op, run)(*inputs)
    try:
        found = _done(row, arrays, inputs, outs, where, options)
    except NotNumericError:
        if not (is_new(out) and isinstance(row.run, np.ufunc) and beside_text(row.run, inputs)):
            raise
        return by_numpy(row.run, *inputs, where=where, **options)  # its result has times, or text
    return found[0] if row.nout == 1 else found


def _done(row: table.Elementwise, arrays: Sequence[Array], *rest: Any) -> Any:
    """Do an operation here, or on the engines; return its results."""
    session = arrays[0].session
    near = () if all_here(arrays, session) else come_in_reach(row, *rest[:3])
    found = None if near is None else _here(session, row, near, *rest)
    return found or on_engines(session, row, *rest)


def _shortly(op: str, inputs: Sequence[Any], out: object) -> Any:
    """Do an operation without options, if one of the short ways does it; None if not."""
    row, found = table.ELEMENTWISE[op], None
    if out is None and row.nout == 1 and (isinstance(row.run, np.ufunc) or op in table.NEW):
        found = quick(table.FUNCTIONS.get(op, row.run), inputs)
        if found is None and SCALARS.issuperset(map(type, inputs)):
            found = quick_done(row.run, inputs)
    if found is None and (found := simple(op, inputs, out)) is None:
        found = brought_together(row.run, inputs, out)
    return found


def _into_plain(
    op: str,
    inputs: Sequence[Any],
    out: object,
    where: ArrayLike,
    dtype: DTypeLike | None,
    casting: str | None,
    others: dict[str, Any],
) -> Any:
    """Do an operation whose outputs are NumPy's arrays, or some of them."""
    row = table.ELEMENTWISE[op]
    outs = out if isinstance(out, tuple) else (out,) + (None,) * (row.nout - 1)
    ours = tuple(None if isinstance(o, np.ndarray) else o for o in outs)
    found = elementwise(op, *inputs, out=ours, where=where, dtype=dtype, casting=casting, **others)
    results = found if row.nout > 1 else (found,)
    put = [
        put_plain(f, o, where, casting) if isinstance(o, np.ndarray) else f
        for f, o in zip(results, outs, strict=True)
    ]
    return put[0] if row.nout == 1 else tuple(put)


def _here(
    session: Session,
    row: table.Elementwise,
    away: Sequence[Array],
    inputs: Sequence[Any],
    outs: Sequence[Any],
    where: Any,
    options: dict[str, Any],
) -> tuple[Any, ...] | None:
    """Compute with NumPy what is all in the notebook, or in reach; None if engines are to.

    New results lie as arrays do that are ``away``.
    """
    ins, into = [plain(x) for x in inputs], [None if o is None else o.near for o in outs]
    mask = where if where is True else plain(where)
    needed = [*ins, mask, *[near for o, near in zip(outs, into, strict=True) if o is not None]]
    if any(near is None for near in needed):  # another thread has given it to engines
        return None
    for o in outs:
        if o is not None:
            o.dbase.about_to_be_written()
    mask = mask if mask is True else host_arrays.boolean(np.asarray(mask))
    prepare = partial(_asked, row.name, ins, mask, outs, options)
    try:
        found = host_arrays.compute(row, ins, into, mask, options, prepare, bool(away))
    except Exception as error:
        if interrupts(error):
            raise
        raise _told(error, prepare) from None
    for o, near in zip(outs, into, strict=True):
        if o is not None and near is not None and not stayed(o, near):
            assign(o, near, None if mask is True else mask)
    make = partial(_in_c, away=away) if away else hosted
    return None if found is None else host_arrays.delivered(session, found, outs, make)


def _in_c(session: Session, found: np.ndarray, away: Sequence[Array]) -> Any:
    """Return the array of a result in C order, whatever that of the operands is."""
    return laid(session, found if found.flags.c_contiguous else found.copy(), away)


def on_engines(
    session: Session,
    row: table.Elementwise,
    inputs: Sequence[Any],
    outs: Sequence[Any],
    where: Any,
    options: dict[str, Any],
    dtypes: Sequence[np.dtype] | None = None,
) -> tuple[Any, ...]:
    """Record an operation; ``dtypes`` are those of the results where NumPy cannot tell them."""
    into = outs
    if any(o is not None and o.dbase.related() for o in outs):
        into = [None] * len(outs)  # it stays, as views of it that only NumPy has
    for o in outs:
        if o is not None:
            check_session(o, session)
    for o in into:
        if o is not None:
            move_out(o.dbase)
    there = [x for x in (*inputs, *outs, where) if _leads(x)]
    like = max(there, key=lambda a: a.size, default=None)
    ins = [_operand(x, session, like) for x in inputs]
    mask = where
    if where is not True:
        mask = host_arrays.boolean(as_dist(where, session, like))
    shape, dtypes = _asked(row.name, ins, mask, outs, options, dtypes)
    leaders = [
        found for x, found in zip(inputs, ins, strict=True) if _leads(x) or not isinstance(x, Array)
    ]
    results = _results(session, leaders, into, dtypes, shape)
    masked = None if mask is True else mask
    record_apply(row.name, results, ins, masked, tuple(sorted(options.items())))
    return tuple(
        as_result(r) if o is None else _deliver(r, o, masked)
        for r, o in zip(results, outs, strict=True)
    )


def simple(op: str, inputs: Sequence[Any], out: object) -> Any:
    """Record an operation on scalars, and arrays on engines; return None if it is another one."""
    one = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if (one is not None and not isinstance(one, Array)) or table.ELEMENTWISE[op].nout > 1:
        return None
    session, key = operation_cache.key_of(op, inputs, one)
    if session is None:
        return None
    cache: OperationCache = session.extensions[OperationCache]
    template = cache.templates.get(key)
    if template is None:
        if one is None and axes_of(inputs):
            return None  # the result lies in another order
        template = cache.add(key, _template(session, op, inputs, one))
    return done(session, op, template, inputs, one)


def done(session: Session, op: str, template: Template, inputs: Sequence[Any], out: Any) -> Any:
    """Do an operation: here if it is small, and recorded if not."""
    arrays = [x for x in (*inputs, out) if isinstance(x, Array)]
    if admitted(session, arrays, template.nbytes):
        found = _computed(session, table.ELEMENTWISE[op], template, inputs, out)
        session.large.touch()
        if found is not None:
            return found
    return operation_cache.repeat(session, op, template, inputs, out)


def _computed(
    session: Session, row: table.Elementwise, template: Template, inputs: Sequence[Any], out: Any
) -> Any:
    """Do an operation on arrays in reach; return its result.

    None if another thread has given one of them to the engines meanwhile.
    """
    args = [x.near if isinstance(x, Array) else x for x in inputs]
    made = template.made
    for x in args:
        if x is None:
            return None
    if made is None:
        into = out.near
        if into is None:
            return None
        out.dbase.about_to_be_written()
        host_arrays.watched(row.name, row.run, *args, out=(into,))
        if not stayed(out, into):
            assign(out, into)
        return out
    memory = None
    if made.lies and made.need > config.cutoff and session.memory.available():
        settled = session.connection.settled
        memory = session.memory.take(made.shape, made.dtype, settled, True, made.need)
    near = np.empty(made.shape, made.dtype) if memory is None else memory
    host_arrays.watched(row.name, row.run, *args, out=(near,))
    return as_result(made_of(session, near, made.layout, memory))


def _template(session: Session, op: str, inputs: Sequence[Any], out: Array | None) -> Template:
    """Return the template of an operation, which NumPy is asked about."""
    (dtype,) = _result_dtypes(op, inputs, (out,), {})
    shape = broadcast_shape(inputs, (out,))
    if out is not None:
        return operation_cache.into(op, out, inputs)
    arrays = [x for x in inputs if isinstance(x, Array)]
    views = tuple([(x.size, broadcast(x, shape).placed) for x in arrays])
    layout = table.elementwise_layout(views, shape, session.size)
    return operation_cache.new(session, op, inputs, shape, dtype, layout)


def _leads(x: Any) -> bool:
    """Tell whether ``x`` is an array on the engines; results do not follow copies of others."""
    return isinstance(x, Array) and not x.dbase.layout.here


def _operand(x: Any, session: Session, like: Array | None) -> Any:
    """Return an input as a DistArray, a Typed scalar, or a Python scalar (weak)."""
    if isinstance(x, Array):
        check_session(x, session)
        if x.dbase.host is None or x.shape:
            return as_dist(x, session)
        x = x.here
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return Typed(numeric(x.dtype).str, x.item())
    if type(x) in NUMBERS or isinstance(x, Function):
        return x
    if isinstance(x, tuple(NUMBERS)):  # of a subclass, such as IntEnum: to NumPy these are not weak
        return _operand(np.asarray(x)[()], session, like)
    return as_dist(x, session, like)


def _kind(x: Any) -> Any:
    """Return what the oracle gets for an operand: a dtype for arrays, a scalar for scalars."""
    if isinstance(x, Array | np.ndarray):
        return x.dtype
    return np.dtype(x.dtype).type(x.value) if isinstance(x, Typed) else x


def _asked(
    op: str,
    ins: Sequence[Any],
    mask: Any,
    outs: Sequence[Any],
    options: dict[str, Any],
    dtypes: Sequence[np.dtype] | None = None,
) -> tuple[Ints, Sequence[np.dtype]]:
    """Return shape and dtypes of the results, which may be known.

    As NumPy, say what cannot be cast, then what does not fit, and only then what casts discard.
    """
    try:
        shape = broadcast_shape([*ins, mask], outs)
    except ValueError as error:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            raise _told(error, partial(_result_dtypes, op, ins, outs, options)) from None
    return shape, dtypes or _result_dtypes(op, ins, outs, options)


def _result_dtypes(
    op: str, ins: Sequence[Any], outs: Sequence[Any], options: dict[str, Any]
) -> tuple[np.dtype, ...]:
    """Ask NumPy for the result's dtypes, and whether they may be cast to those of ``out``."""
    asked = dict(options)
    kinds = [_kind(x) for x in ins]
    if isinstance(table.ELEMENTWISE[op].run, np.ufunc) and any(o is not None for o in outs):
        asked["out"] = tuple(None if o is None else o.dtype for o in outs)
        return table.result_dtypes_into(op, tuple(kinds), tuple(sorted(asked.items())))
    found = table.result_dtypes(op, kinds, asked)
    for o, dtype in zip(outs, found, strict=False):
        casting: Any = options.get("casting", "same_kind")
        if o is not None and op in _CAST_CHECKED and not np.can_cast(dtype, o.dtype, casting):
            raise table.uncast(op, dtype, o.dtype, casting)
    return found


def _results(
    session: Session,
    ins: Sequence[Any],
    outs: Sequence[Any],
    dtypes: Sequence[np.dtype],
    shape: Ints,
) -> tuple[Any, ...]:
    """Return the arrays that the engines compute into: the given ones, or new ones.

    Of several outputs all must lie alike (one rank computes them together); where given ones do
    not, new ones are used and copied.
    """
    given = [o for o in outs if o is not None]
    if given and all(o is not None and o.placed == given[0].placed for o in outs):
        return tuple(outs)
    views = tuple((x.size, broadcast(x, shape).placed) for x in ins if isinstance(x, Array))
    layout = table.kept_layout(views, shape, session.size)
    return tuple(create(session, shape, dt, layout, ("empty",)) for dt in dtypes)


def _deliver(result: Array, out: Any, mask: Array | None) -> Any:
    """Return a given output, with the result in it where a mask is true."""
    if out is not result:
        assign(out, result, mask)
    return out


def assign(target: Array, value: Any, mask: Array | None = None) -> None:
    """Record ``target[...] = value`` with NumPy's casting and broadcasting rules."""
    if not target.writeable:
        raise read_only(target)
    session = target.session
    value = _listed(value, target.dtype)
    if _near(target, value, mask):
        value = _assign_here(target, value, mask)
        if value is None:
            return
    if target.dbase.host is not None:
        for x in (value, mask):
            if isinstance(x, Array):
                check_session(x, session)
        if target.dbase.related():  # it stays, as views of it that only NumPy has
            _assign_here(
                target, *(x.to_numpy() if isinstance(x, Array) else x for x in (value, mask))
            )
            return
        move_out(target.dbase)
    _assign_there(target, value, mask)


def _assign_there(target: Array, value: Any, mask: Array | None) -> None:
    """Record an assignment to what is on the engines."""
    session = target.session
    session.check_open()
    if isinstance(value, Array):
        source = _fit(value, target.shape)
        host_arrays.tell_discarded(value.dtype, target.dtype)
        if mask is None and simple("copy", (source,), target) is not None:
            return
    source = _operand(value, session, target)
    if isinstance(source, Array):
        source = _fit(source, target.shape)
    else:
        source = _stored(_kind(source), target.dtype, mask is not None)
    if mask is not None:
        mask = _fit(host_arrays.boolean(as_dist(mask, session, target)), target.shape)
    record_apply("copy", (target,), (source,), mask, ())


def _listed(value: Any, dtype: np.dtype) -> Any:
    """Return what NumPy does not cast, but stores one by one, as an array: lists, text, objects."""
    if isinstance(value, list | tuple):
        return np.asarray(value, dtype)
    if isinstance(value, Array | int | float | complex) or type(value) in NUMPYS:
        return value
    # It may be a file; of SciPy's sparse arrays NumPy has none.
    kind = getattr(value, "dtype", None) if hasattr(type(value), "__array__") else None
    if not isinstance(kind, np.dtype | None):  # as of pandas, where some may be missing
        return np.asarray(value, dtype)
    if not storable(np.asarray(value).dtype if kind is None else kind):
        try:
            return np.asarray(value, dtype)
        except ValueError as error:
            got, do = f"{value!r} ({error})", "assign a number"
            raise ValueError(explain("value to assign", got, f"{dtype}", do)) from None
    return value


def _stored(number: Any, dtype: np.dtype, masked: bool) -> Typed:
    """Return a number as it is stored; NumPy refuses what cannot be."""
    found = np.empty((), dtype)
    found[...] = host_arrays.stored(number, dtype) if masked else number
    return Typed(dtype.str, found.item())


def _near(target: Array, value: Any, mask: Any) -> bool:
    """Tell whether the notebook is to assign what is all at home or in reach."""
    session = target.session
    if target.dbase.host is not None and all_here((value, mask), session):
        return True
    arrays = [x for x in (target, value, mask) if isinstance(x, Array)]
    alike = all(x.dbase.session is session for x in arrays)
    return alike and admitted(session, arrays, 2 * target.nbytes)


def _assign_here(target: Array, value: Any, mask: Any) -> Any:
    """Assign what is all in the notebook.

    Return what is left to assign as another thread has given something to engines; else None.
    """
    near, source, where = target.near, plain(value), True if mask is None else plain(mask)
    if near is None or source is None or where is None:
        return value
    where = None if mask is None else host_arrays.boolean(np.asarray(where))
    target.dbase.about_to_be_written()
    try:
        host_arrays.assign(near, source, where)
    except ValueError as error:
        given = [x.shape for x in (source, where) if isinstance(x, np.ndarray)]
        raise _told(error, *[partial(_check_fit, n, target.shape) for n in given]) from None
    return None if stayed(target, near) else near


def _told(error: Exception, *checks: Callable[[], Any]) -> Exception:
    """Return what a check raises, which says what to do, or the error: one of both is enough."""
    try:
        for check in checks:
            check()
    except Exception as better:
        return better
    return error


def _fit(source: Array, shape: Ints) -> Any:
    """Return ``source`` without leading axes of length 1 that ``shape`` does not have."""
    _check_fit(source.shape, shape)
    few = min(len(source.shape), len(shape))
    return source if source.ndim == few else source.alias(source.dview.of_ndim(few))


def _check_fit(found: Ints, shape: Ints) -> None:
    """Raise ValueError unless an array can be assigned to one of ``shape``."""
    extra = max(0, len(found) - len(shape))
    pairs = zip(reversed(found), reversed(shape), strict=False)
    good = found[:extra] == (1,) * extra and all(n in (1, m) for n, m in pairs)
    if not good:
        raise ValueError(
            explain("value to assign", f"shape {found}", f"{shape}", "slice or reshape it")
        )
