"""Elementwise operations and assignment: checked here, recorded, done on the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distnb import ops
from distnb.client.handle import Handle, create, numeric
from distnb.client.placement import Placement
from distnb.client.session import Session
from distnb.errors import SessionError, explain
from distnb.layout import Ints, Layout, default_layout, make_layout
from distnb.protocol import Apply, Operand, Typed
from distnb.transfer import part_of
from distnb.views import Placed, View, follow

__all__ = [
    "as_dist",
    "assign",
    "broadcast",
    "copied",
    "elementwise",
    "from_host",
    "layout_for",
    "understood",
]

_SCALARS = (bool, int, float, complex)


def layout_for(shape: Ints, session: Session, dist: Any, grid: Any = None) -> Layout:
    """Return the layout that ``dist=`` and ``grid=`` ask for."""
    if isinstance(dist, Handle):
        dist = Placement(dist.placed, dist.dtype, session.size)
    if isinstance(dist, Placement):
        if dist.placed.view.shape != shape:
            same = len(dist.placed.view.shape) == len(shape)
            if not same:
                raise ValueError(
                    explain(
                        "layout", f"{dist.placed.view.shape}", f"one for {shape}", "pass another"
                    )
                )
        dist = follow(dist.placed, session.size, balanced=False)[0]
    return make_layout(shape, session.size, dist, grid)


#: What operations take besides distributed arrays.
_UNDERSTOOD = (Handle, np.ndarray, np.generic, list, tuple, *_SCALARS)


def understood(x: Any) -> bool:
    """Tell whether operations take ``x`` as an operand."""
    return isinstance(x, _UNDERSTOOD)


# -- making arrays -----------------------------------------------------------------------------


def from_host(session: Session, data: np.ndarray, layout: Layout) -> Any:
    """Send an ndarray to the engines, to each the part it is to hold.

    A replicated array is sent in parts, and the engines give each other the rest.
    """
    if layout.copies > 1 and data.nbytes > 1 << 16 and session.size > 1:
        spread = from_host(session, data, default_layout(data.shape, session.size))
        return copied(spread, data.dtype, layout)
    placed = Placed(data.shape, layout, View.whole(data.shape))
    parts = [_host_part(data, placed, rank) for rank in range(session.size)]
    return create(session, data.shape, data.dtype, layout, ("data", parts))


def _host_part(data: np.ndarray, placed: Placed, rank: int) -> np.ndarray:
    owned = placed.owned(rank)
    if owned is None:
        return np.empty(0, data.dtype)
    part = part_of(rank, placed, owned)
    source = np.ascontiguousarray(data)
    out = np.empty(part.shape, data.dtype)
    for chunk, place in zip(part.chunks, part.places, strict=True):
        _at(out, chunk.shape, chunk.message)[...] = _at(source, chunk.shape, place)
    return out


def _at(block: np.ndarray, shape: Ints, ref: Any) -> np.ndarray:
    size = block.itemsize
    return np.ndarray(
        shape, block.dtype, block, ref.offset * size, tuple(s * size for s in ref.strides)
    )


def copied(x: Handle, dtype: np.dtype, layout: Layout) -> Any:
    """Return a new array with the elements of ``x``, in a dtype and a layout."""
    out = create(x.session, x.shape, dtype, layout, ("empty",))
    record_apply("copy", (out,), (x,), None, ())
    return out


def as_dist(x: Any, session: Session, like: Handle | None = None) -> Any:
    """Return array-like data as an array of the session, laid out as ``like`` if shapes agree."""
    if isinstance(x, Handle):
        if x.session is not session:
            raise SessionError(
                explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
            )
        return x
    data = np.asarray(x)
    numeric(data.dtype)
    if like is not None and like.shape == data.shape:
        layout = follow(like.placed, session.size)[0]
    elif like is not None and data.nbytes <= 1 << 16:
        layout = make_layout(data.shape, session.size, "replicated")
    else:
        layout = default_layout(data.shape, session.size)
    return from_host(session, data.astype(numeric(data.dtype), copy=False), layout)


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
    :func:`distnb.ops.elementwise_layout`.
    """
    _check_others(op, others)
    row = ops.ELEMENTWISE[op]
    outs = outputs(out, row.nout)
    arrays = [x for x in (*inputs, *outs, where) if isinstance(x, Handle)]
    session = arrays[0].session
    like = max(arrays, key=lambda a: a.size)
    ins = [_operand(x, session, like) for x in inputs]
    mask = (
        None
        if where is True
        else as_dist(np.asarray(where) if isinstance(where, bool) else where, session, like)
    )
    if mask is not None and mask.dtype != bool:
        raise TypeError(explain("where", mask.dtype, "bool", "pass a mask"))
    for o in outs:
        if o is not None:
            as_dist(o, session)
    options = _options(dtype, casting)
    dtypes = _result_dtypes(op, ins, outs, options)
    shape = _broadcast_shape([*ins, mask], outs)
    results = _results(session, ins, outs, dtypes, shape)
    record_apply(op, results, ins, mask, tuple(sorted(options.items())))
    final = tuple(_deliver(r, o) for r, o in zip(results, outs, strict=True))
    return final[0] if row.nout == 1 else final


def _check_others(op: str, others: dict[str, Any]) -> None:
    for name, value in others.items():
        if not (name == "order" or (name == "subok" and value is True)):
            raise TypeError(
                explain(f"{op}()", f"{name}=", "out, where, dtype or casting", "leave it out")
            )


def _options(dtype: Any, casting: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = numeric(dtype).str
    if casting is not None:
        options["casting"] = casting
    return options


def outputs(out: Any, nout: int) -> tuple[Any, ...]:
    outs = out if isinstance(out, tuple) else (out,) + (None,) * (nout - 1)
    if len(outs) != nout:
        raise ValueError(explain("out", f"{len(outs)} arrays", f"{nout}", "pass a tuple"))
    for o in outs:
        if o is not None and not isinstance(o, Handle):
            raise TypeError(
                explain(
                    "out", type(o).__name__, "a DistArray", "assign to x[...] of a distnb array"
                )
            )
        if o is not None and not o._writeable:
            raise ValueError("output array is read-only")
    return outs


def _operand(x: Any, session: Session, like: Handle) -> Any:
    """Return an input as a DistArray, a Typed scalar, or a Python scalar (weak)."""
    if isinstance(x, Handle):
        return as_dist(x, session)
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return Typed(numeric(x.dtype).str, x.item())
    if isinstance(x, _SCALARS):
        return x
    return as_dist(x, session, like)


def _kind(x: Any) -> Any:
    """Return what the oracle gets for an operand: a dtype for arrays, a scalar for scalars."""
    if isinstance(x, Handle):
        return x.dtype
    return np.dtype(x.dtype).type(x.value) if isinstance(x, Typed) else x


def _result_dtypes(
    op: str, ins: Sequence[Any], outs: Sequence[Any], options: dict[str, Any]
) -> tuple[np.dtype, ...]:
    """Ask NumPy for the result's dtypes, and whether they may be cast to those of ``out``."""
    asked = dict(options)
    kinds = [_kind(x) for x in ins]
    if isinstance(ops.ELEMENTWISE[op].run, np.ufunc) and any(o is not None for o in outs):
        asked["out"] = tuple(None if o is None else o.dtype for o in outs)
        return ops.result_dtypes_into(op, tuple(kinds), tuple(sorted(asked.items())))
    return ops.result_dtypes(op, kinds, asked)


def _broadcast_shape(operands: Sequence[Any], outs: Sequence[Any]) -> Ints:
    shapes = [x.shape for x in operands if isinstance(x, Handle)]
    given = [o.shape for o in outs if o is not None]
    if shapes and not given and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        shape = np.broadcast_shapes(*shapes)
        if not shapes:
            shape = given[0]
        fits = all(np.broadcast_shapes(shape, g) == g for g in given)
    except ValueError:
        shown = " and ".join(str(s) for s in (*shapes, *given))
        raise ValueError(
            explain(
                "shapes", shown, "shapes that broadcast together", "align or slice the operands"
            )
        ) from None
    if not fits or len(set(given)) > 1:
        raise ValueError(
            explain("out", f"shape {given}", f"{shape}", "pass an output of the broadcast shape")
        )
    return given[0] if given else shape


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
    views = tuple((x.size, broadcast(x, shape).placed) for x in ins if isinstance(x, Handle))
    layout = ops.elementwise_layout(views, shape, session.size)
    return tuple(create(session, shape, dt, layout, ("empty",)) for dt in dtypes)


def _deliver(result: Handle, out: Any) -> Any:
    if out is None or out is result:
        return result
    record_apply("copy", (out,), (result,), None, ())
    return out


def broadcast(x: Handle, shape: Ints) -> Any:
    """Return a read-only view of ``x`` stretched to a shape it broadcasts to."""
    return x if x.shape == shape else x._look(x._view.broadcast(shape), writeable=False)


def record_apply(
    op: str,
    outs: tuple[Handle, ...],
    ins: Sequence[Any],
    mask: Handle | None,
    options: tuple[tuple[str, str], ...],
) -> None:
    shape = outs[0].shape
    session = outs[0].session
    commands = [broadcast(x, shape).operand if isinstance(x, Handle) else x for x in ins]
    where = None if mask is None else broadcast(mask, shape).operand
    written = tuple(_written(o, mask) for o in outs)
    command = Apply(op, written, tuple(commands), where, options, session.site())
    healed = [o._base for o in outs if o._base.lost]
    for base in healed:
        base.lost = False
    try:
        session.record(command)
    except BaseException:
        for base in healed:
            base.lost = True
        raise


def _written(o: Handle, mask: Handle | None) -> Operand:
    """Return an output as commands name it; writing all of a lost array makes it good again."""
    base = o._base
    recent = not base.lost and base.since > base.session.batches
    if not recent and mask is None and o._view.is_whole(base.shape):
        base.since = base.session.batches + 1
        if base.lost:
            base.session.renew(base)
            return Operand(base.handle, o._view)
    return o.operand


def assign(target: Handle, value: Any, mask: Handle | None = None) -> None:
    """Record ``target[...] = value`` with NumPy's casting and broadcasting rules."""
    if not target._writeable:
        raise ValueError("assignment destination is read-only")
    session = target.session
    session.check_open()
    source = _operand(value, session, target)
    if isinstance(source, Handle):
        source = _fit(source, target.shape)
    else:
        stored = np.empty((), target.dtype)
        stored[...] = _kind(source)  # NumPy refuses what cannot be stored
        source = Typed(target.dtype.str, stored.item())
    if mask is not None:
        mask = as_dist(mask, session)
        if mask.dtype != bool:
            raise TypeError(explain("where", mask.dtype, "bool", "pass a mask"))
        mask = _fit(mask, target.shape)
    record_apply("copy", (target,), (source,), mask, ())


def _fit(source: Handle, shape: Ints) -> Any:
    """Return ``source`` without leading axes of length 1 that ``shape`` does not have."""
    extra = len(source.shape) - len(shape)
    while extra > 0 and source.shape[0] == 1:
        source, extra = source._look(source._view.fix(0, 0)), extra - 1
    try:
        good = np.broadcast_shapes(source.shape, shape) == shape
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            explain("value to assign", f"shape {source.shape}", f"{shape}", "slice or reshape it")
        )
    return source
