"""Who computes: the engines, or the notebook itself, on arrays in reach.

An array is in reach while the notebook may read and write its elements: what engines were asked is
done, and they do nothing with it until it leaves. In the shared segment coming and going moves
nothing. Small arrays elsewhere are fetched, and sent when they leave.

What is small is done here, at NumPy's cost, what is large by the engines. If engines are busy, small
work is recorded for them; when several such steps came one after the other, waiting for the engines
once is cheaper than their next steps would be. Either way the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from distnb.client.record.array import Array, room_for
from distnb.client.record.host_arrays import watched
from distnb.client.record.operation_cache import Template
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.views import Placed, View
from distnb.ops.table import Elementwise
from distnb.wire.protocol import Lay, Operand

__all__ = ["admitted", "awaited", "computed", "element"]

#: Bytes that a step reads and writes, up to which it is small: about what takes as long as two
#: engines take for a batch of it, there and back.
_SMALL = 4 << 20
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
    return not away or (_ready(session, pace) and all([_come(base, pace) for base in away]))


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
    if nbytes > _FETCHED or session.shown or base.memory is not None:
        return False
    whole, placed = View.whole(base.shape), Placed.whole(base.shape, base.layout)
    near = session.gather(Operand(base.handle, whole), placed, base.dtype)
    session.handles.release(base)
    base.nbytes = -1
    base.near = near
    session.reaches += 1
    return True


def computed(
    session: Session, row: Elementwise, template: Template, inputs: Sequence[Any], out: Any
) -> Any:
    """Do an operation on arrays in reach; return its result."""
    args = [x.near if isinstance(x, Array) else x for x in inputs]
    made, run = template.made, row.run
    if made is None:
        out.dbase.about_to_be_written()
        watched(row.name, run, *args, out=(out.near,))
        return out
    memory = None
    if made.need > config.cutoff:
        memory = room_for(session, made.shape, made.dtype, made.layout)
    if memory is None and isinstance(run, np.ufunc):
        near = np.asarray(watched(row.name, run, *args))
        near = near if near.flags.c_contiguous else near.copy()
    else:
        near = np.empty(made.shape, made.dtype) if memory is None else memory
        watched(row.name, run, *args, out=(near,))
    found = Array.made(Base.reached(session, near, made.layout, memory), template.out)
    found.spec, found._whole, found._near = made.spec, near, near
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
