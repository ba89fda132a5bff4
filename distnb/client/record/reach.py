"""Who computes: the engines, or the notebook itself, on arrays in reach.

An array is in reach while the notebook may read and write its elements: what engines were asked is
done, and they do nothing with it until it leaves. In the shared segment coming and going moves
nothing. Small arrays elsewhere are fetched, and sent when they leave.

What is small is done here, at NumPy's cost, what is large by the engines. If engines are busy,
small work is recorded for them; when several such steps came one after the other, waiting for the
engines once is cheaper than their next steps would be. Either way the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from distnb.client.record.array import Array, room_for
from distnb.client.record.host_arrays import FLAGS, quietly, tell, watched
from distnb.client.record.indexing import is_plain
from distnb.client.record.operation_cache import Template
from distnb.client.record.promised_layouts import promised
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.views import Placed, View
from distnb.ops.scalars import SCALARS
from distnb.ops.table import Elementwise
from distnb.wire.protocol import Lay, Operand

__all__ = [
    "admitted",
    "awaited",
    "computed",
    "done",
    "element",
    "is_mine",
    "like",
    "look",
    "made_of",
    "product",
    "quick",
    "store",
]

#: Bytes that a step reads and writes, up to which it is small: about what takes as long as two
#: engines take for a batch of it, there and back.
_SMALL = 4 << 20
#: Bytes up to which operands in reach, and results, are not looked at twice.
_QUICK = 1 << 20
#: Small steps, one after the other, that are recorded before engines are waited for.
_PATIENCE = 6
#: Bytes of a base outside of the segment that are worth moving for one small step.
_MOVED = 8 << 20
#: Bytes of a base that cannot lie in the segment up to which it is fetched.
_FETCHED = 1 << 16


class Pace:
    """How a session went on: small steps in a row, and who wanted which bases in reach."""

    def __init__(self) -> None:
        self.small = 0
        #: Handle of a base outside of the segment -> how often it was wanted; below 0: in vain.
        self.wanted: dict[int, int] = {}


def admitted(session: Session, arrays: Iterable[Array], nbytes: int) -> bool:
    """Tell whether the notebook is to do a step on ``nbytes`` of memory; arrays are then in reach.

    An error that an engine reported meanwhile is raised.
    """
    if config.place == "engines" or not session.memory.possible:
        return False
    pace: Pace = session.extensions[Pace]
    if nbytes > _SMALL and config.place == "auto":
        pace.small = 0
        return False
    away = [base for a in arrays if (base := a.dbase).near is None]
    return not away or (_ready(session, pace) and all(_come(base, pace) for base in away))


def _ready(session: Session, pace: Pace) -> bool:
    """Tell whether engines have done what they were asked; wait for it if that pays."""
    if session.quiet():
        return True
    pace.small += 1
    if pace.small < _PATIENCE and config.place == "auto":
        return False
    pace.small = 0
    session.flush()
    return True


def _come(base: Base, pace: Pace) -> bool:
    """Bring a base in reach, of a session that is quiet; tell whether that could be done."""
    if base.near is not None:
        return True
    if base.lost or base.known is not None or pace.wanted.get(base.handle, 0) < 0:
        return False
    if base.memory is None and not _laid(base, pace):
        return _fetched(base)
    base.near = base.memory
    base.session.reaches += 1
    return True


def _laid(base: Base, pace: Pace) -> bool:
    """Let engines move a base to the shared segment, if it was wanted often enough."""
    session = base.session
    if not session.memory.fits(base.shape, base.layout):
        return False
    wanted = pace.wanted[base.handle] = pace.wanted.get(base.handle, 0) + 1
    if prod(base.shape) * base.dtype.itemsize > _MOVED * wanted:
        return False
    memory = session.memory.take(base.shape, base.dtype, session.settled)
    place, site = session.memory.place(memory), session.site()
    whole = Operand(base.handle, View.whole(base.shape))
    there = session.ask(lambda slot: Lay(slot, whole, place, site))
    base.memory = memory  # some have moved, whatever others say
    pace.wanted[base.handle] = 0 if all(found is True for found in there) else -1
    return pace.wanted[base.handle] == 0


def _fetched(base: Base) -> bool:
    """Fetch a small base, which engines then drop, unless others may look at it there (``%px``)."""
    session = base.session
    nbytes = prod(base.shape) * base.dtype.itemsize
    if nbytes > _FETCHED or session.memory.shown or base.memory is not None:
        return False
    whole, placed = View.whole(base.shape), Placed.whole(base.shape, base.layout)
    near = session.gather(Operand(base.handle, whole), placed, base.dtype)
    session.handles.release(base)
    base.nbytes = -1
    base.near = near
    session.reaches += 1
    return True


def quick(run: Any, inputs: Sequence[Any], out: Array | None = None) -> Any:
    """Do an elementwise operation on scalars, and small arrays in reach; return None if it is another one.

    NumPy finds out dtype and shape. The layout is found when somebody asks.
    """
    session, shape, alike, nbytes = None, None, True, 0
    args: list[Any] = []
    away: list[Array] = []
    for x in inputs if out is None else (*inputs, out):
        kind = type(x)
        if kind is Array.made:
            base = x.dbase
            whole = base.near
            if whole is None or (session is not None and base.session is not session):
                return None
            near = x._near if x._whole is whole else x.near
            args.append(near)
            nbytes += near.nbytes
            if session is None:
                session, shape = base.session, near.shape
            elif shape != near.shape:
                alike = False
            if base.host is None:
                away.append(x)
        elif kind in SCALARS:
            args.append(x)
        else:
            return None
    if session is None or nbytes > _QUICK or session.closed or getattr(run, "nout", 1) > 1:
        return None
    if (away and config.place == "engines") or not (alike or _is_small(args)):
        return None
    if out is None:
        near = done(run, args)
        return None if near is None else made_of(session, near, promised(session, away, near))
    if not out.writeable:
        return None
    out.dbase.copy = None
    return None if done(run, args) is None else out


def done(run: Any, args: Sequence[Any]) -> Any:
    """Return what NumPy makes of small operands, an array; None if it raises."""
    try:
        found = quietly(run, args)
    except Exception:
        return None  # the long way says what is wrong
    if FLAGS:
        tell(run.__name__)
    if type(found) is not np.ndarray:
        return np.asarray(found)
    return found if found.flags.c_contiguous else found.copy()


def is_mine(nbytes: int) -> bool:
    """Tell whether a step on so much memory in reach is the notebook's."""
    place = config.place
    return place == "notebook" or (nbytes <= _SMALL and place == "auto")


def product(x: Array, y: Array) -> Any:
    """Multiply small matrices and vectors in reach; return None if they are something else."""
    session = x.dbase.session
    if not (0 < x.ndim < 3 and 0 < y.ndim < 3) or session is not y.dbase.session:
        return None
    nbytes = x.nbytes + y.nbytes
    if nbytes > _QUICK or session.closed or not admitted(session, (x, y), nbytes):
        return None
    found = done(np.matmul, (x.near, y.near))
    return None if found is None else made_of(session, found, promised(session, (), found))


def look(x: Array, key: Any) -> Any:
    """Return what NumPy makes of an index in reach: an element or a view; None if it is no such."""
    near = x.near if is_plain(key) and not x.dbase.session.closed else None
    if near is None:
        return None
    try:
        return near[key]
    except IndexError:
        return None  # the long way says what is wrong


def like(x: Array, run: Any, *args: Any) -> Any:
    """Return ``run(x, *args)`` of a small array in reach, which lies as ``x``; None if it is not."""
    session, near = x.dbase.session, x.dbase.near
    if near is None or x.nbytes > _QUICK or session.closed:
        return None
    found = done(run, (x.near, *args))
    away = [x] if x.dbase.host is None else []
    return None if found is None else made_of(session, found, promised(session, away, found))


def store(x: Array, key: Any, value: Any) -> bool:
    """Do ``x[key] = value`` in reach, if it is small and simple; tell whether it was done."""
    base = x.dbase
    if not is_plain(key) or not x.writeable or base.session.closed:
        return False
    kind = type(value)
    if kind is Array.made:
        other = value.dbase
        if other.near is None or other.session is not base.session:
            return False
        value = value.near
        if value.nbytes > _QUICK:
            return False
    elif kind not in SCALARS:
        return False
    near: Any = x.near
    if near.nbytes > _QUICK and type(key) is not int and near[key].nbytes > _QUICK:
        return False
    base.copy = None
    try:
        quietly(near.__setitem__, (key, value))
    except Exception:
        return False  # the long way says what is wrong
    if FLAGS:
        tell("cast")
    return True


def _is_small(args: Sequence[Any]) -> bool:
    """Tell whether a result is small of operands of several shapes."""
    try:
        shape = np.broadcast_shapes(*[a.shape for a in args if type(a) is np.ndarray])
    except ValueError:
        return False
    return 16 * prod(shape) <= _QUICK


def computed(
    session: Session, row: Elementwise, template: Template, inputs: Sequence[Any], out: Any
) -> Any:
    """Do an operation on arrays in reach; return its result."""
    args = [x.near if isinstance(x, Array) else x for x in inputs]
    made = template.made
    if made is None:
        out.dbase.about_to_be_written()
        watched(row.name, row.run, *args, out=(out.near,))
        return out
    near = room_for(session, made.shape, made.dtype, made.layout) if made.need > _QUICK else None
    memory, near = near, np.empty(made.shape, made.dtype) if near is None else near
    watched(row.name, row.run, *args, out=(near,))
    return made_of(session, near, made.layout, memory)


def made_of(
    session: Session, near: np.ndarray, layout: Any, memory: np.ndarray | None = None
) -> Any:
    """Return the array in reach of an ndarray in C order; a layout, or what promises one."""
    found = Array.made(Base.reached(session, near, layout, memory), View.whole(near.shape))
    found._whole = found._near = near
    return found


def awaited(x: Array) -> Any:
    """Return an element of an array as NumPy's scalar, as :func:`element`, and wait for engines."""
    session = x.session
    if config.place != "engines" and session.memory.possible:
        session.flush()
    return element(x)


def element(x: Array) -> Any:
    """Return an array of one element as NumPy's scalar if it is in reach; None if it is not."""
    base = x.dbase
    if base.near is None and not admitted(base.session, (x,), base.dtype.itemsize):
        return None
    near = x.near
    return None if near is None else near[()]
