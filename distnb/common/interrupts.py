"""Ctrl-C, deferred while something is half done.

Python raises KeyboardInterrupt between any two instructions of the main thread. A step that must
be done wholly or not at all defers the signal until its end, and lets it through where it waits.
Other threads never get it.

Engines are told to stop by signals of distnb's own. Unlike SIGINT they do nothing outside of such
a window, so they can never make an engine lose a message. ``STOP`` comes from another process, and
stops whatever runs when it arrives. Better is to be told what is to stop: a thread notes it and
wakes the main thread up by ``WAKE``, which stops what is *meant* and nothing else, however late.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

from distnb.common.insistence import insist, insisted, relent

__all__ = [
    "STOP",
    "deferred_interrupts",
    "insisting",
    "interruptible",
    "listen",
    "shielded",
    "wake_main",
]

_T = TypeVar("_T")

# CPython's own functions: the enumerations around them take ten times as long.
_signal: Any = sys.modules.get("_signal", signal)

#: What stops a batch on an engine; MPICH has a use for SIGUSR1.
STOP = signal.SIGUSR2
#: What makes the main thread look whether it is to stop. Where nobody listens it is ignored.
WAKE = signal.SIGURG


class _Deferral(NamedTuple):
    """What to do with Ctrl-C outside of the block, and what came meanwhile."""

    handler: Callable[..., Any]
    noted: list[tuple[Any, ...]]
    windows: list[bool]
    shields: list[bool]

    def come(self, *args: Any) -> None:
        """Do what the handler does where that is let through, else note it."""
        if self.windows and not self.shields:
            self.windows.clear()  # if the handler raises, nothing more is let through
            self.handler(*args)
            self.windows.append(True)
        else:
            self.noted.append(args)

    def catch_up(self) -> None:
        """Do what was deferred, of which there must be something."""
        args = self.noted[-1]
        self.noted.clear()
        self.handler(*args)


_DEFERRALS: list[_Deferral] = []
#: The main thread, which signals come to: after a fork it is the one that forked.
_MAIN = [threading.main_thread().ident]
os.register_at_fork(after_in_child=lambda: _MAIN.__setitem__(0, get_ident()))


@contextmanager
def deferred_interrupts(forget: bool = False, handler: Any = None) -> Iterator[None]:
    """Defer Ctrl-C until the end of the outermost such block, or drop what comes (``forget``).

    ``handler`` is what Ctrl-C does where it is let through, by default what it does outside.
    """
    here = not _DEFERRALS and get_ident() == _MAIN[0]
    before = _signal.getsignal(signal.SIGINT) if here else None
    handler = handler or before
    if before is None or not callable(handler):
        yield
        return
    deferral = _Deferral(handler, [], [], [])
    _signal.signal(signal.SIGINT, deferral.come)
    _DEFERRALS.append(deferral)
    try:
        yield
    finally:
        _DEFERRALS.remove(deferral)
        _signal.signal(signal.SIGINT, before)
        if deferral.noted and not forget:
            deferral.catch_up()


def interruptible(function: Callable[[], _T]) -> _T:
    """Call a function where interrupts are deferred, and let them through, also earlier ones.

    Not a context manager: KeyboardInterrupt can come between the end of its block and its own code.
    """
    if not _DEFERRALS or get_ident() != _MAIN[0]:
        return function()
    deferral = _DEFERRALS[-1]
    try:
        deferral.windows.append(True)
        if deferral.noted:
            deferral.catch_up()
        return function()
    finally:
        deferral.windows.clear()


def shielded(function: Callable[[], _T]) -> _T:
    """Call a function and defer Ctrl-C once more, within a function that is ``interruptible``."""
    if not _DEFERRALS or get_ident() != _MAIN[0] or not _DEFERRALS[-1].windows:
        return function()
    deferral = _DEFERRALS[-1]
    try:
        deferral.shields.append(True)
        return function()
    finally:
        deferral.shields.clear()
        if deferral.noted:
            deferral.catch_up()


#: Tell whether what runs now is to be stopped.
_MEANT: list[Callable[[], bool]] = []


def listen(meant: Callable[[], bool] = lambda: False) -> None:
    """Let ``STOP`` and ``WAKE`` raise KeyboardInterrupt in functions that are ``interruptible``.

    ``meant`` tells whether what runs now is to be stopped by ``WAKE``.
    """
    _MEANT[:] = [meant]
    signal.signal(STOP, _stop)
    signal.signal(WAKE, _wake)


def wake_main() -> None:
    """Stop what is meant in the main thread, from another one; this ends its system call, too."""
    if _MEANT and _MEANT[0]():
        _signal.pthread_kill(_MAIN[0], WAKE)


def insisting(function: Callable[..., _T], *args: Any) -> _T:
    """Call a function that is stopped by ``WAKE``, although it may catch what is raised in it.

    Or make something else of it, as Python itself does where classes are made.
    """
    try:
        found = insisted(function, *args)
    except Exception:
        if _is_meant():
            raise KeyboardInterrupt from None
        raise
    finally:
        relent()
    if _is_meant():  # it was caught
        raise KeyboardInterrupt
    return found


def _is_meant() -> bool:
    return bool(_MEANT) and get_ident() == _MAIN[0] and _MEANT[0]()


def _stop(*args: Any) -> None:
    if _DEFERRALS and _DEFERRALS[-1].windows and not _DEFERRALS[-1].shields:
        _DEFERRALS[-1].windows.clear()
        raise KeyboardInterrupt
    if _DEFERRALS:
        _DEFERRALS[-1].noted.append(args)


def _wake(number: int, frame: Any) -> None:
    if not _DEFERRALS or not _MEANT[0]():
        return
    deferral = _DEFERRALS[-1]
    if deferral.shields:
        deferral.noted.append((number, frame))
        return
    if insist(frame, wake_main) or deferral.windows:
        deferral.windows.clear()
        raise KeyboardInterrupt
