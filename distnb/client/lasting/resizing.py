"""Sessions on more or fewer engines: arrays stay where they are, and are cut anew.

Before its engines go, all that a session has is laid in the shared segment in C order, if it does
not lie so, where any number of engines finds its parts. Others take over as from engines that died
(:mod:`distnb.client.recovery.renewal`). What is to lie otherwise is moved by these.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from distnb.client.array.migration import Followers, bounds_of, laid, moved, whole
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import copied
from distnb.client.handle.living import living
from distnb.client.handle.spilling import Spilling
from distnb.client.lasting.checkpoints import Saved
from distnb.client.lasting.kept_arrays import Names
from distnb.client.record.operation_cache import OperationCache
from distnb.client.session import current
from distnb.client.session.bases import Base, bases_of
from distnb.client.session.session import Session
from distnb.common.errors import EngineError, LostArrayError, SessionError, check_count, explain
from distnb.common.interrupts import deferred_interrupts
from distnb.geometry.layout import Layout
from distnb.geometry.regrid import in_rows, regridded, scaled

__all__ = ["CARRIED", "Cut", "Lay", "resize"]

#: Cuts a base, where it lies.
Lay = Callable[[Base, Layout], None]
#: Cuts something for so many engines.
Cut = Callable[[int, Lay], None]
#: What has cuts of its own: its class -> what returns how one of it is cut for so many; it asks
#: engines.
CARRIED: dict[type[Any], Callable[[Any, int], Cut]] = {}

#: What goes on whatever the engines are; the rest of what a session knows is made again.
_STAYS = (Names, Followers, OperationCache, Saved, Spilling)


def resize(session: Session, engines: int) -> None:
    """Go on with another number of engines; see :meth:`Session.resize`."""
    size = check_count("engines", engines)
    if not session.closed:
        session.recover()  # it is engines that lay the arrays for others
    session.check_open()
    if size == session.size:
        return
    _check(session)
    current.check_room(size, "engines")
    with session.recorder.lock, deferred_interrupts():
        session.flush()
        made, kept = _Resized(session), session.connection.keeps
        if not kept:
            session.recovery.prepare(wanted=True)
        try:
            made.prepare(size)
        except BaseException:
            # Else it would be known of some arrays only.
            session.connection.keeps = session.ledger.lays = kept
            raise
        try:
            session.recovery.resize(size, made.recut)
        finally:
            made.finish()
    if session.size != size:
        raise EngineError(
            explain(
                "resize", f"{session.size} new engines, for others died", f"{size}", "do it again"
            )
        )


Session.resized_by = staticmethod(resize)


def _check(session: Session) -> None:
    """Refuse what cannot have another number of engines."""
    transport = session.transport
    if not transport.starts:
        raise SessionError(
            explain(
                "resize",
                f"other engines ({transport.kind})",
                "those that dnb.start() started on this host",
                "make another session with as many, and its arrays anew",
            )
        )
    client = getattr(transport, "client", None)
    others = [s for s in current.open_sessions() if s is not session]
    if any(getattr(s.transport, "client", None) is client for s in others):
        raise SessionError(
            explain("resize", "engines that other sessions use", "its own", "close the others")
        )
    if not session.memory.available():
        raise EngineError(
            explain("resize", "no memory that engines share", "memfd", "make another session")
        )


class _Resized:
    """A session's arrays on their way to another number of engines.

    Parameters
    ----------
    session : Session
        The session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        #: Bases that were laid in C order, or that are, and how they are to lie.
        self._wanted: dict[int, tuple[Base, Layout]] = {}
        self._cuts: list[Cut] = []

    def prepare(self, engines: int) -> None:
        """Let all lie in the shared segment, in C order; wait for the engines."""
        session = self.session
        session.unfinished.finish()
        for kind, carry in CARRIED.items():
            self._cuts += [carry(x, engines) for x in living(kind) if x.session is session]
        for base in _bases(session):
            base.kept = None
        session.flush()
        while left := [base for base in bases_of(session) if not self._lies(base)]:
            for base in left:  # others may become bases on the engines meanwhile
                self._wanted.setdefault(id(base), (base, base.layout))
                try:
                    self._put_in_order(base)
                except LostArrayError:  # it shows one that is lost
                    base.lost = True
            session.flush()

    def _lies(self, base: Base) -> bool:
        """Tell whether other engines can have a base as it is; or nothing of it, for it is lost."""
        kept = self.session.ledger.kept.get(base.handle)
        if base.lost or 0 in base.shape:
            return True
        there = kept is not None and kept.memory is not None and kept.all
        return there and base.layout.in_order(base.shape)

    def _put_in_order(self, base: Base) -> None:
        session = self.session
        with session.journal.paused():  # this is not what the cell computes
            layout = in_rows(base.shape, session.size)
            made: Base = copied(whole(base), base.dtype, layout).dbase
            session.flush()
        found = session.ledger.kept[made.handle]
        if found.memory is None:
            raise MemoryError(
                explain("resize", "no room in shared memory", "some for a copy", "delete arrays")
            )
        base.exchange(made)
        base.apart = False

    def recut(self, engines: int) -> None:
        """Cut all for so many engines; this asks none."""
        session, before = self.session, self.session.size
        for kind in session.extensions.keys() - set(_STAYS):
            del session.extensions[kind]
        session.extensions[OperationCache].forget()
        wanted, self._wanted = self._wanted, {}
        bases = [x for x in _bases(session) if x.host is None]
        found = [(x, wanted[id(x)][1] if id(x) in wanted else x.layout) for x in bases]
        arrays: list[Array] = [x for x in living(Array.made) if _has_no_base(x, session)]
        near = [(x, _promised(x)) for x in arrays]
        session.ledger.forget_but({x.handle for x in bases if x.nbytes >= 0})

        def lay(base: Base, layout: Layout) -> None:
            there = base.nbytes >= 0 or base.memory is not None
            if there and 0 not in base.shape and not layout.in_order(base.shape):
                self._wanted[id(base)] = base, layout
                layout = in_rows(base.shape, engines)
            base.recut(layout)

        for base, layout in found:
            lay(base, _regridded(base, layout, before, engines))
        for x, layout in near:
            x.promise = regridded(layout, x.shape, before, engines)
        for cut in self._cuts:
            cut(engines, lay)
        session.journal.forget()
        session.origin = ("start", engines) if session.origin else ()
        to = session.keeping
        if to is not None and engines > to.facts["engines"]:  # these write into what is listed
            to.tell(engines=engines)

    def finish(self) -> None:
        """Let engines move what is to lie otherwise, and list it for the next notebook.

        Not after Ctrl-C, when they take over in the middle of another step: it lies in rows then.
        """
        session = self.session
        if not session.connection.ready:
            return
        for base, layout in self._wanted.values():
            with contextlib.suppress(LostArrayError):  # or it shows one that is lost
                if not base.lost:
                    moved(base, layout)()
        if session.keeping is not None:
            Session.listed_by(session)


def _regridded(base: Base, layout: Layout, before: int, engines: int) -> Layout:
    """Return the like of a layout for other engines; what is cut together stays so."""
    for group in base.session.extensions[Followers].of(base):
        for axis in [axis for x, axis in group.alive() if x is base]:
            bounds = bounds_of(layout, base.shape, axis, before)
            if bounds is not None:
                return laid(scaled(bounds, engines), len(base.shape), axis)
    return regridded(layout, base.shape, before, engines)


def _bases(session: Session) -> list[Base]:
    return [x for x in living(Base) if hasattr(x, "turn") and x.session is session]


def _has_no_base(x: Array, session: Session) -> bool:
    """Tell whether an array in reach has no base yet, and does not live in the notebook."""
    mine = getattr(x, "session", None) is session
    return mine and x._near is not None and x._whole is None and x.promise is not None


def _promised(x: Array) -> Layout:
    promise: Any = x.promise
    return promise if isinstance(promise, Layout) else promise.layout()
