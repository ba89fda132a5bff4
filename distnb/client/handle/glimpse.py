"""A look at elements that never waits for long: what a repr may ask of the engines.

A repr is made by the user, and by debuggers, tracebacks and lists of variables, at any moment and
in any thread. So it asks only where that is safe, in one small batch, waits for so long and no
longer, raises nothing of the engines', and leaves their errors to who uses the session next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from distnb.client.batching.error_states import error_state
from distnb.client.session.session import Session
from distnb.wire.protocol import Command

__all__ = ["WAITING", "Asked", "Glimpse"]

#: Why there are no values yet.
WAITING = "being computed"

#: Seconds between two looks whether engines have replied: at first, and at most.
_PAUSES = (0.0001, 0.01)
#: Seconds for which the idle timer, which sends what is recorded, is waited for.
_BRIEFLY = 0.2


class Asked:
    """Commands that engines were sent; their values are kept as long as this is."""

    def __init__(self, session: Session, makes: list[Callable[[int], Command]]) -> None:
        self._session, self._size = session, session.size
        self._slots = [session.replies.expect() for _ in makes]
        with np.errstate(all="warn") if error_state().waits else nullcontext():
            commands = [make(slot) for make, slot in zip(makes, self._slots, strict=True)]
            session.record(*commands)
        self._come = False
        #: The batch that they leave with, or left with.
        with session.recorder.lock:  # not while the idle timer sends them
            self._batch = session.batches + (session.recorder.waiting > 0)

    def come(self, seconds: float) -> bool:
        """Wait for the values; tell whether engines are done with these commands."""
        return _until(self._done, time.monotonic() + seconds)

    def poll(self) -> bool:
        """Tell the same without waiting; any thread may ask."""
        lock = self._session.recorder.lock
        if self._come or not lock.acquire(blocking=False):
            return self._come
        try:
            return self._done()
        finally:
            lock.release()

    def _done(self) -> bool:
        session = self._session
        if session.recorder.waiting and session.connection.ready:
            session.send(idle=True)  # so it never waits
        self._come = session.quiet() or session.connection.settled >= self._batch
        return self._come

    def values(self) -> list[list[Any]] | str:
        """Return each rank's value of each command; why there are none, if engines have none."""
        session = self._session
        found = [session.replies.values[slot] for slot in self._slots]
        ranks = range(self._size)
        if any(len(values) < self._size for values in found):
            return _hindrance(session) or "content lost"
        return [[values[rank] for rank in ranks] for values in found]

    def __del__(self) -> None:
        for slot in self._slots:
            self._session.replies.values.pop(slot, None)


class Glimpse:
    """Asks the engines of a session for values that they may have in time."""

    def __init__(self) -> None:
        #: What engines had done when they were last waited for in vain: they are not waited for
        #: again before they have done more. A list of arrays waits once.
        self._in_vain = -1

    def ask(
        self, session: Session, makes: list[Callable[[int], Command]], seconds: float
    ) -> Asked | str:
        """Return what was asked, whether it has come or not; or why engines cannot be asked.

        ``makes`` return commands, of the slots where their values go.
        """
        reason = _hindrance(session)
        if reason:
            return reason
        if not session.recorder.lock.acquire(timeout=min(seconds, _BRIEFLY)):
            return "in use by another thread"
        try:
            if not (session.quiet() or not session.connection.full):
                return WAITING  # to record more could mean to wait
            asked = Asked(session, makes)
            in_vain = session.connection.finished == self._in_vain
            came = asked.come(0.0 if in_vain else seconds)
        finally:
            session.recorder.lock.release()
        self._in_vain = -1 if came else session.connection.finished
        return asked


def _hindrance(session: Session) -> str:
    """Return why engines cannot be asked here and now; nothing if they can."""
    if session.closed:
        return "closed session"
    if session.connection.dead:
        return "engines gone"
    if not session.connection.ready:
        return "engines reported an error"
    if session.transport.rank is not None:
        return "print(x) on all ranks shows it"  # one alone would wait for the others
    # A debugger, or a traceback, in the middle of a step of the session's.
    return "in use" if session.recorder.busy else ""


def _until(ready: Callable[[], bool], end: float) -> bool:
    pause, most = _PAUSES
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(most, 1.5 * pause)
    return True
