"""Bases on disk: where memory is full, those that were not used for longest go there.

A base keeps its place in the notebook's segment. Only its pages go, when their bytes are on the
disk, and the same bytes come back. So engines need not know of it, nor do others that take over
from them, and it is all the same how a base is cut. Bases go only when engines have done all that
they were asked, and nothing there looks at them; and no command that names one is recorded before
it is back.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, cast

import numpy as np

from distnb.client.batching.budget import need
from distnb.client.batching.replies import MISSING
from distnb.client.session.bases import Base, bases_of
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import EngineError
from distnb.common.interrupts import deferred_interrupts, interruptible
from distnb.common.shared_segments import SharedSegment
from distnb.measure.quantities import counted, duration, size_text
from distnb.wire import protocol
from distnb.wire.protocol import Ask, Command

__all__ = ["Spilling", "bring_back", "may_come"]

#: Bytes on an engine up to which a base is not worth a place on a disk.
_LEAST = 1 << 16
#: The part of an engine's memory that may be in reach of the notebook, of what could go to disk.
_IN_REACH = 4


class Spilling:
    """What of a session is on disk, and when its bases were used."""

    def __init__(self) -> None:
        #: Handle -> number of the step that used it last, since the first ones went to disk.
        self._used: dict[int, int] = {}
        self._steps = count(1)
        #: Handles of what is on disk.
        self._away: set[int] = set()
        #: Handles of what the command names that is about to be recorded.
        self._needed: set[int] = set()
        #: Handles of bases at which something on engines looks, as they said.
        self._busy: set[int] = set()
        self._spilling = False

    def make_room(self, session: Session, excess: float) -> str:
        """Let bases go until so many bytes less count on an engine; return why if it cannot be."""
        with session.recorder.lock, deferred_interrupts():
            if self._spilling:
                return ""
            self._spilling = True
            try:
                _settle(session)
                if session.connection.dead or session.recorder.pending:
                    return "nothing goes to disk before engines have done what they were asked"
                with session.measuring.clock.elsewhere(disk=True):
                    return self._spill(session, excess)
            finally:
                self._spilling = False
                self._busy = set()

    def _spill(self, session: Session, excess: float) -> str:
        if session.recorder.uses is None:
            session.recorder.uses = partial(self._have, session)
        while going := self._chosen(session, excess):
            asked = [base.handle for base, _ in going]
            busy = {h for each in _asked(session, "busy", asked) for h in each}
            if not busy:
                break
            self._busy |= busy
        if not going:
            return "what one operation needs must fit, whatever is on disk"
        began = perf_counter()
        try:
            there = interruptible(partial(_write, session, [memory for _, memory in going]))
        except (OSError, MemoryError) as error:
            return f"and nothing could go to disk (dnb.config.spill): {error}"
        for (base, memory), place in zip(going, there, strict=True):
            # First of all it counts as there: to read back the same bytes is never wrong.
            base.disk = place
            self._away.add(base.handle)
            base.nbytes = session.handles.budget.change(base.nbytes, 0)
            try:
                session.memory.segment.empty(memory)
            except OSError as error:
                return f"and its memory could not be given back (dnb.config.spill): {error}"
        _note(session, [memory for _, memory in going], "went to disk", began)
        return ""

    def _chosen(self, session: Session, excess: float) -> list[tuple[Base, np.ndarray]]:
        """Return those that were not used for longest, and enough of them, with their memory."""
        there = session.handles.entries
        self._used = {h: step for h, step in self._used.items() if h in there}
        self._away = {h for h in self._away if h in there}
        session.memory.seen = {h for h in session.memory.seen if h in there}
        loose = [base for base in bases_of(session) if self._is_loose(session, base)]
        chosen, left = [], excess
        for base in sorted(loose, key=lambda base: (self._used.get(base.handle, 0), base.handle)):
            if left > 0:
                chosen.append((base, _memory_of(session, base)))
                left -= base.nbytes
        return chosen if left <= 0 else []

    def _is_loose(self, session: Session, base: Base) -> bool:
        """Tell whether a base can go, as far as engines have to do with it, and is worth it.

        Copies that engines share lie elsewhere.
        """
        handle, kept = base.handle, session.ledger.kept.get(base.handle)
        if base.near is not None or base.lost or base.nbytes <= _LEAST or base.layout.copies > 1:
            return False
        if handle in self._needed or handle in self._busy or handle in session.memory.seen:
            return False
        if handle in session.unfinished.named:
            return False
        if kept is None:
            return False
        return kept.memory is not None and not kept.why

    def _have(self, session: Session, commands: tuple[Command, ...]) -> None:
        """Bring back what commands name that are about to be recorded."""
        named = {base for command in commands for base in protocol.bases_of(command)}
        self._used |= dict.fromkeys(named, next(self._steps))
        if named.isdisjoint(self._away):
            return
        there = {b.handle: b for b in bases_of(session)}
        self._needed = named
        try:
            self.bring_back(session, [there[h] for h in sorted(named & self._away) if h in there])
        finally:
            self._needed = set()

    def bring_back(self, session: Session, bases: Iterable[Base]) -> None:
        """Have bases in memory; others may have to go."""
        with session.recorder.lock, deferred_interrupts():
            began, found = perf_counter(), []
            for base in bases:
                if base.disk is not None:
                    with session.measuring.clock.elsewhere(disk=True):
                        found.append(_read(session, base))
                    self._away.discard(base.handle)
            if found:
                _note(session, found, "came back from disk", began)


def _settle(session: Session) -> None:
    """Let engines do what they were asked, and nothing of what was given up.

    Nothing is raised of what they raise, and what is deferred stays so: this is in the middle of
    what the user asked for.
    """
    session.progress.begin()
    try:
        _take_all(session)
        if session.sharing is not None:
            session.sharing.is_our_turn(False)
        session.send(idle=True)
        _take_all(session)
        if session.connection.unsettled:
            _asked(session, "clocks", [])
    finally:
        session.progress.end()


def _asked(session: Session, what: str, args: list[int]) -> list[Any]:
    """Return what engines say, which are asked past the recorder."""
    slot = session.replies.expect()
    try:
        session.connection.submit((Ask(slot, what, tuple(args)),), [])
        _take_all(session)
    finally:
        found = session.replies.claim(slot)
    if MISSING in found:
        raise EngineError(session.connection.dead or "engines: got no reply, expected one")
    return found


def _take_all(session: Session) -> None:
    while session.connection.sent:
        session.take_oldest()


def _memory_of(session: Session, base: Base) -> np.ndarray:
    return cast(np.ndarray, session.ledger.kept[base.handle].memory)


def _write(session: Session, memories: list[np.ndarray]) -> list[np.ndarray]:
    """Return where on the disk all of it is now, too; nothing is there if this fails."""
    disk = cast(SharedSegment, session.memory.disk)
    found = [disk.write(memory) for memory in memories]
    disk.sync()
    return found


def _read(session: Session, base: Base) -> np.ndarray:
    """Bring a base back; return its memory."""
    budget, disk = session.handles.budget, cast(SharedSegment, session.memory.disk)
    counted = budget.reserve(base.shape, base.dtype, base.layout)
    memory = _memory_of(session, base)
    try:
        interruptible(partial(disk.read_into, memory, cast(np.ndarray, base.disk)))
    except BaseException:
        budget.change(counted, 0)
        session.memory.segment.empty(memory)
        raise
    base.nbytes, base.disk = counted, None
    return memory


def _note(session: Session, memories: list[np.ndarray], what: str, began: float) -> None:
    """Note for reports what went or came, and how long that took."""
    n, size = len(memories), sum(memory.nbytes for memory in memories)
    took = perf_counter() - began
    session.note(f"{counted(n, 'array')}, {size_text(size)}, {what} in {duration(took)}")


def bring_back(base: Base) -> None:
    """Have a base in memory that is on disk."""
    spilling: Spilling = base.session.extensions[Spilling]
    spilling.bring_back(base.session, [base])


def may_come(base: Base) -> bool:
    """Tell whether a base may come in reach of the notebook.

    What is there cannot go to disk: where it could, that is to be a small part of all.
    """
    session, budget = base.session, base.session.handles.budget
    if session.memory.disk is None or not budget.share:
        return True
    nbytes = need(base.shape, base.dtype, base.layout)
    if nbytes <= _LEAST:
        return True
    there = sum([b.nbytes for b in bases_of(session) if b.near is not None])
    return there + nbytes <= budget.share * config.memory_share / _IN_REACH


def spill(session: Session, excess: float) -> str:
    """Let so many bytes of an engine go to disk; return why that cannot be, and what to do."""
    if not session.ledger.lays:  # engines have their arrays to themselves
        return ""
    if session.memory.disk is None:
        return "or start a session with dnb.config.spill = a directory on a disk"
    if session.keeping is not None:
        return "with keep= nothing goes to disk (dnb.config.spill)"
    spilling: Spilling = session.extensions[Spilling]
    return spilling.make_room(session, excess)


Session.spilled_by = staticmethod(spill)
