"""Arrays made of data, in another dtype or layout, and the commands that write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.array import (
    Array,
    create,
    give,
    hosted,
    leave,
    numeric,
    room_for,
)
from distnb.client.handle.host_arrays import home, tell_discarded
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.errors import SessionError, explain
from distnb.geometry.layout import Ints, Layout, default_layout, make_layout, replicated
from distnb.geometry.views import View, follow
from distnb.ops.scalars import STORABLE
from distnb.plans.host_parts import parts_of
from distnb.wire.protocol import Apply, Collective, Local, Operand

__all__ = [
    "Readable",
    "array_of",
    "as_dist",
    "broadcast",
    "check_session",
    "copied",
    "from_host",
    "in_layout",
    "move_out",
    "record_apply",
    "record_collective",
    "record_local",
    "together",
]


class Readable:
    """An array that is somewhere else, and is made when an operation needs it."""

    __slots__ = ()

    def __distarray__(self, session: Session | None) -> Any:
        """Return it as the distributed array that operations take, and may write into."""
        raise NotImplementedError

    def as_array(self, session: Session | None) -> Any:
        """Return it as the distributed array that ``asarray`` makes of it."""
        return self.__distarray__(session)


def from_host(session: Session, data: np.ndarray, layout: Layout) -> Any:
    """Send an ndarray to the engines, to each the part it is to hold.

    A replicated array is sent in parts, and the engines give each other the rest.
    """
    if layout.copies > 1 and data.nbytes > 1 << 16 and session.size > 1:
        spread = from_host(session, data, default_layout(data.shape, session.size))
        return copied(spread, data.dtype, layout)
    memory = room_for(session, data.shape, data.dtype, layout)
    if memory is not None:  # engines find it there
        memory[...] = data
        base = Base.reached(session, memory, layout, memory)
        base.site = session.site()
        if session.memory.disk is not None and data.nbytes > 1 << 20:
            leave(base)  # only then it counts, and can go to disk
        return Array.made(base, View.whole(data.shape))
    parts = parts_of(session.size, data, layout)
    return create(session, data.shape, data.dtype, layout, ("data", parts))


def array_of(session: Session, data: np.ndarray) -> Any:
    """Return the array of an ndarray that was made for it: in the notebook if it is small."""
    layout = home(data.shape, data.dtype, session.size)
    return hosted(session, data) if layout.here else from_host(session, data, layout)


def copied(x: Array, dtype: np.dtype, layout: Layout) -> Any:
    """Return a new array with the elements of ``x``, in a dtype and a layout."""
    if layout.here:
        return hosted(x.session, np.array(x.here, dtype, order="C", copy=True))
    tell_discarded(x.dtype, dtype)
    out = create(x.session, x.shape, dtype, layout, ("empty",))
    record_apply("copy", (out,), (as_dist(x, x.session),), None, ())
    return out


def together(data: Sequence[Any], dtype: DTypeLike | None = None) -> Any:
    """Return the array of a list of arrays of a shape, or of such lists; None if it is odd.

    Elements go to where they are to lie.
    """
    items = [together(x) if isinstance(x, list | tuple) else x for x in data]
    first: Any = items[0] if items else None
    for x in items or [None]:
        if not isinstance(x, Array) or x.shape != first.shape:
            return None
        check_session(x, first.session)
    kind = np.result_type(*{x.dtype for x in items})
    wanted = kind if dtype is None else np.dtype(dtype)
    if wanted not in STORABLE or not np.can_cast(kind, wanted, "same_kind"):
        return None
    shape = (len(items), *first.shape)
    layout = default_layout(shape, first.session.size)  # as of all that is made of lists
    found = create(first.session, shape, wanted, layout, ("empty",))
    for k, x in enumerate(items):
        part = found.alias(found.dview.fix(0, k))
        record_apply("copy", (part,), (as_dist(x, first.session),), None, ())
    return found


def in_layout(x: Array, layout: Layout, dtype: np.dtype | None = None) -> Any:
    """Return all of a base with the elements of ``x`` in a layout: itself, or an aligned copy."""
    there = x.dbase.layout == layout and x.dview.is_whole(x.dbase.shape)
    return (
        x if there and (dtype is None or dtype == x.dtype) else copied(x, dtype or x.dtype, layout)
    )


def move_out(base: Base, layout: Layout | None = None) -> None:
    """Give a base to the engines for good: they are to write into it."""
    host = base.host
    if host is None:
        return
    if base.related():
        raise ValueError(
            explain(
                "array in the notebook",
                "memory that views or NumPy's arrays share",
                "its own, to be given to engines",
                "take x.copy(), or assign value.to_numpy()",
            )
        )
    with base.session.recorder.lock:
        if base.host is None:  # another thread has given it
            return
        give(base, layout or default_layout(base.shape, base.session.size), False)


def _copy_of(x: Array) -> Any:
    """Return a read-only array on the engines with the elements that ``x`` has now.

    Every engine gets the whole base, once for as long as nothing is written into it.
    """
    base = x.dbase
    if base.sharing is not None or base.exported:  # others may have written there
        base.kept = None
    host = cast(np.ndarray, base.host)
    if (
        base.sharing is not None and x.nbytes < host.nbytes
    ):  # windows are larger than what they show
        near = np.ascontiguousarray(x.near)
        part = from_host(base.session, near, replicated(near.ndim, base.session.size))
        return Array.made(part.dbase, part.dview, writeable=False)
    layout = replicated(len(base.shape), base.session.size)
    copy = None if base.kept is None else base.kept.get(layout)
    if copy is None or copy.lost:
        copy = from_host(base.session, host, layout).dbase
        base.kept = {layout: copy}
    return Array.made(copy, x.dview, writeable=False)


def check_session(x: Array, session: Session) -> None:
    """Raise SessionError for an array of another session."""
    if x.session is session:
        return
    if x.session.closed or session.closed:
        do = "make the array anew"
        raise SessionError(explain("array", "one of a closed session", "one that is there", do))
    raise SessionError(
        explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
    )


def as_dist(x: Any, session: Session, like: Array | None = None) -> Any:
    """Return array-like data as an array on the engines, laid out as ``like`` if shapes agree."""
    if isinstance(x, Array):
        check_session(x, session)
        if x.dbase.host is None:
            return x
        with session.recorder.lock:
            return x if x.dbase.host is None else _copy_of(x)
    if isinstance(x, Readable):
        return as_dist(x.__distarray__(session), session)
    data = np.asarray(x)
    numeric(data.dtype)
    if like is not None and like.shape == data.shape:
        layout = follow(like.placed, session.size)[0]
    elif like is not None and data.nbytes <= 1 << 16:
        layout = make_layout(data.shape, session.size, "replicated")
    else:
        layout = default_layout(data.shape, session.size)
    return from_host(session, data.astype(numeric(data.dtype), copy=False), layout)


def broadcast(x: Array, shape: Ints) -> Any:
    """Return a read-only view of ``x`` stretched to a shape it broadcasts to."""
    return x if x.shape == shape else x.alias(x.dview.broadcast(shape), writeable=False)


def record_apply(
    op: str,
    outs: tuple[Array, ...],
    ins: Sequence[Any],
    mask: Array | None,
    options: tuple[tuple[str, str], ...],
) -> None:
    """Record an elementwise operation into arrays; a lost one that is all written is good again."""
    shape = outs[0].shape
    session = outs[0].session
    with session.recorder.lock:
        commands = [broadcast(x, shape).operand if isinstance(x, Array) else x for x in ins]
        where = None if mask is None else broadcast(mask, shape).operand
        written = tuple(_written(o, mask) for o in outs)
        command = Apply(op, written, tuple(commands), where, options, session.site())
        healed = [o.dbase for o in outs if o.dbase.lost]
        for base in healed:
            base.lost = False
        session.handles.budget.work += outs[0].nbytes // session.size
        try:
            session.record(command)
        except BaseException:
            for base in healed:
                base.lost = True
            raise


def _written(o: Array, mask: Array | None) -> Operand:
    """Return an output as commands name it; writing all of a lost array makes it good again."""
    base = o.dbase
    if base.near is not None:
        leave(base)
    whole = mask is None and o.dview.is_whole(base.shape)
    if whole and base.look is not None:
        base.look.wrote(base)  # nobody wants what it had, so it need not be up to date
    recent = not base.lost and base.since > base.session.batches
    if not recent and whole:
        base.since = base.session.batches + 1
        new = not base.heard_of  # a look that left before engines had to do with it
        if new:
            base.move(base.layout)
        if new or base.lost:
            base.renew()
            return Operand(base.handle, o.dview)
    return o.operand


def record_collective(
    op: str, outs: Sequence[Array], ins: Sequence[Array], args: tuple[Any, ...] = ()
) -> None:
    """Record a command on whole bases by messages between the ranks."""
    session = (*outs, *ins)[0].session
    for x in (*outs, *ins):  # a handle of another session's may be one of this session's, too
        check_session(x, session)
    with session.recorder.lock:
        written, read = tuple([x.operand for x in outs]), tuple([x.operand for x in ins])
        session.record(Collective(op, written, read, args, session.site()))


def record_local(op: str, out: Array, ins: Sequence[Array]) -> None:
    """Record a command on what each rank holds of whole bases."""
    session = out.session
    for x in ins:
        check_session(x, session)
    with session.recorder.lock:
        read = tuple([x.operand for x in ins])
        session.record(Local(op, out.operand, read, session.site()))
