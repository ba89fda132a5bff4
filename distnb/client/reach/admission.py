"""Who computes: the engines, or the notebook itself, on arrays in reach.

An array is in reach while the notebook may read and write its elements: what engines were asked is
done, and they do nothing with it until it leaves. In the shared segment coming and going moves
nothing. Arrays elsewhere are fetched when they were wanted often enough for their size, and sent
when they leave.

What is small is done here, at NumPy's cost, what is large by the engines. If engines are busy,
small work is recorded for them; when several such steps came one after the other, waiting for the
engines once is cheaper than their next steps would be. Where large steps and small ones take turns,
:mod:`~distnb.client.reach.pace` finds what is quickest. Either way the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.handle.spilling import bring_back, may_come
from distnb.client.reach.pace import SMALL_STEP, Pace, Paces, judged_by
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.views import Placed, View
from distnb.wire.protocol import Lay, Operand

__all__ = [
    "admitted",
    "awaited",
    "brought",
    "element",
    "is_mine",
    "mask_counted",
    "near_if_brief",
    "read_of",
]

#: Bytes of a base outside of the segment that are worth moving for one small step.
_MOVED = 8 << 20
#: Bases of which it is remembered how often they were wanted.
_REMEMBERED = 4096
#: Seconds of calls of a user's function that engines would take to be asked.
_BRIEF = 3e-3
#: Bytes of one that cannot lie in the segment that are worth fetching, and at most.
_FETCHED, _MOST_FETCHED = 1 << 19, 1 << 26


class Wanted(dict[int, int]):
    """Handle of a base outside of the segment -> how often it was wanted; below 0: in vain."""


def admitted(session: Session, arrays: Iterable[Array], nbytes: int) -> bool:
    """Tell whether the notebook is to do a step on ``nbytes`` of memory; arrays are then in reach.

    An error that an engine reported meanwhile is raised.
    """
    if not session.memory.possible:
        session.large.nbytes = 0  # so that nobody asks at each step
        return False
    if config.place == "engines":
        return False
    pace: Paces = session.extensions[Paces]
    if config.place == "auto" and not pace.is_small(session, nbytes):
        session.small_steps = -1
        session.large.add(judged_by(nbytes))
        return False
    away = [base for a in arrays if (base := a.dbase).near is None]
    if not away:
        return True
    wanted: Wanted = session.extensions[Wanted]
    with session.recorder.lock:  # nothing is recorded between what is asked and what is done
        worth = [_pays(base, wanted) for base in away]  # each is wanted once more
        if not all(worth) or not _ready(session, pace.now, away):
            return False
        if not all(_come(base, wanted) for base in away):
            return False
        pace.waited(session)
    return True


def near_if_brief(arrays: Sequence[Array], nbytes: int, seconds: float) -> list[Any] | None:
    """Return arrays as NumPy's if the notebook is to call a user's function with them, else None.

    Those calls would take so many seconds there, for ``nbytes`` of results.
    """
    session, nbytes = arrays[0].session, nbytes + sum([x.nbytes for x in arrays])
    if seconds > _BRIEF or any(x.session is not session for x in arrays):
        return None
    if not admitted(session, arrays, nbytes):
        return None
    nears = [x.near for x in arrays]
    # Another thread may have given one to engines
    return None if any(near is None for near in nears) else nears


def _unmade(base: Base) -> bool:
    """Tell whether engines would first have to make what the notebook only looks at."""
    return base.look is not None and base.look.made_of(base) > 0


def _ready(session: Session, pace: Pace, wanted: Iterable[Base]) -> bool:
    """Tell whether engines have done what they were asked; wait for it if that pays."""
    if session.quiet():
        return True
    if config.place == "auto" and pace.is_patient(session) and not any(map(_unmade, wanted)):
        return False
    pace.wait(session)
    return True


def _pays(base: Base, wanted: Wanted) -> bool:
    """Tell whether a base is worth waiting for: what has to be moved must be wanted often enough.

    So moving takes no longer than the steps that wanted it.
    """
    known = (base.near, base.look, base.memory, base.disk)
    if any(found is not None for found in known):
        return True
    often = wanted.get(base.handle, 0) + 1
    if often <= 0 or base.lost or base.known is not None:
        return False
    if len(wanted) > _REMEMBERED:
        for handle in [handle for handle, n in wanted.items() if n > 0]:
            del wanted[handle]
    wanted[base.handle] = often
    if base.session.memory.fits(base.shape, base.layout):
        return prod(base.shape) * base.dtype.itemsize <= _MOVED * often
    return _is_fetched(base, often)


def _is_fetched(base: Base, often: int) -> bool:
    """Tell whether a base is to be fetched that was wanted so often, which engines then drop.

    Not where users may look at it there (``%px``).
    """
    nbytes = prod(base.shape) * base.dtype.itemsize
    return (
        nbytes <= min(_FETCHED * often, _MOST_FETCHED)
        and base.handle not in base.session.memory.seen
    )


def _come(base: Base, wanted: Wanted) -> bool:
    """Bring a base in reach, of a session that is quiet; tell whether that could be done."""
    if base.near is not None:
        return True
    if base.look is not None:
        worth = _unmade(base)
        return bool(
            base.look.come(
                base, lambda root: (worth or _pays(root, wanted)) and _come(root, wanted)
            )
        )
    if base.lost or base.known is not None or wanted.get(base.handle, 0) < 0:
        return False
    if base.handle in base.session.unfinished.named or not may_come(base):
        return False
    if base.disk is not None:
        with base.session.recorder.lock:  # or another thread's array could send it there again
            bring_back(base)
    elif base.memory is None and not _laid(base, wanted):
        return _fetched(base, wanted)
    base.near = cast("np.ndarray", base.memory).view()  # so who has the one before can tell
    base.session.reaches += 1
    if base.session.keeping is not None and base.memory is not None:
        base.session.keeping.reached(base.memory)
    return True


def _laid(base: Base, wanted: Wanted) -> bool:
    """Let engines move a base to the shared segment."""
    session = base.session
    if not session.memory.fits(base.shape, base.layout):
        return False
    memory = session.memory.take(base.shape, base.dtype, session.connection.settled)
    if memory is None:
        return False
    place, site = session.memory.place(memory), session.site()
    whole = Operand(base.handle, View.whole(base.shape))
    # If this fails or is interrupted, some engines have moved: they keep the memory.
    base.memory, wanted[base.handle] = memory, -1
    there = session.ask(lambda slot: Lay(slot, whole, place, site))
    if all(found is True for found in there):
        session.ledger.lies(base.handle, memory)
        del wanted[base.handle]
    return base.handle not in wanted


def _fetched(base: Base, wanted: Wanted) -> bool:
    """Fetch a base, if that pays."""
    session = base.session
    often = wanted.pop(base.handle, 1)
    if base.memory is not None or not _is_fetched(base, often):
        return False
    whole, placed = View.whole(base.shape), Placed.whole(base.shape, base.layout)
    near = session.gather(Operand(base.handle, whole), placed, base.dtype)
    handle = base.handle
    session.handles.release(base)
    base.handle, base.near = handle, near
    session.reaches += 1
    return True


def mask_counted(session: Session) -> None:
    """Note that engines were asked how many elements a mask leaves, before more can be recorded."""
    pace: Paces = session.extensions[Paces]
    with session.recorder.lock:
        pace.waited(session)


def is_mine(session: Session, nbytes: int) -> bool:
    """Tell whether a step on so much memory in reach is the notebook's."""
    place = config.place
    return place == "notebook" or (
        place == "auto"
        and (nbytes <= SMALL_STEP or session.extensions[Paces].is_small(session, nbytes))
    )


def read_of(x: Array) -> int:
    """Return how many bytes of an array a step reads, by which it is the notebook's or engines'.

    None of what engines would have to make first, and the notebook only looks at, or copies.
    """
    return 0 if _unmade(x.dbase) and x.nbytes <= config.gather_budget else x.nbytes


def awaited(x: Array) -> Any:
    """Return an element of an array as NumPy's scalar, as :func:`element`, and wait for engines."""
    session = x.session
    if config.place != "engines" and session.memory.possible:
        session.flush()
    return element(x)


def brought(x: Array) -> bool:
    """Bring a small array in reach, and wait for engines; tell whether that could be done."""
    session = x.session
    if config.place == "engines" or not session.memory.possible or x.nbytes > SMALL_STEP:
        return False
    session.flush()
    return admitted(session, (x,), x.nbytes)


def element(x: Array) -> Any:
    """Return an array of one element as NumPy's scalar if it is in reach; None if it is not."""
    base = x.dbase
    if base.near is None and not admitted(base.session, (x,), base.dtype.itemsize):
        return None
    near = x.near
    return None if near is None else near[()]
