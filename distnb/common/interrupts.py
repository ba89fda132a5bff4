"""Ctrl-C and other signals, deferred while something is half done.

Python raises KeyboardInterrupt between any two instructions of the main thread, and so it does with
whatever handlers of other signals raise: of SIGALRM for a time limit, of SIGTERM at the end of a
job. A step that must be done wholly or not at all defers them until its end, and lets them through
where it waits. Other threads never get them.

What they raise where they are let through is KeyboardInterrupt, whatever a handler raised: so all
who wait need to know of one exception, and nothing takes a handler's TimeoutError for its own. The
handler's exception takes its place at the end of the step.

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
from itertools import repeat
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

from distnb.common.insistence import insist, insisted, relent

__all__ = [
    "STOP",
    "deferred_interrupts",
    "insisting",
    "interruptible",
    "interrupts",
    "listen",
    "shielded",
    "unbroken",
    "wake_main",
]

_T = TypeVar("_T")

# CPython's own functions: the enumerations around them take ten times as long.
_signal: Any = sys.modules.get("_signal", signal)

#: What stops a batch on an engine; MPICH has a use for SIGUSR1.
STOP = signal.SIGUSR2
#: What makes the main thread look whether it is to stop. Where nobody listens it is ignored.
WAKE = signal.SIGURG

_SIGINT = int(signal.SIGINT)
#: What users handle by functions that raise; Ctrl-C is the first to be as it was.
_NUMBERS = tuple(
    map(
        int,
        (
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGUSR1,
            signal.SIGUSR2,
            signal.SIGALRM,
            signal.SIGTERM,
            signal.SIGVTALRM,
            signal.SIGPROF,
            signal.SIGXCPU,
        ),
    )
)


class _Deferral(NamedTuple):
    """What signals do outside of the block, and what came meanwhile."""

    #: Signal -> what it does where it is let through; that of Ctrl-C is STOP's and WAKE's as well.
    handlers: dict[int, Callable[..., Any]]
    noted: dict[int, tuple[Any, ...]]
    windows: list[bool]
    shields: list[bool]
    #: What was raised where KeyboardInterrupt was.
    raised: list[BaseException]

    def come(self, number: int, frame: Any) -> None:
        """Do what the handler does where that is let through, else note it."""
        if self.windows and not self.shields:
            self.windows.clear()  # if the handler raises, nothing more is let through
            self._handle(number, (number, frame))
            self.windows.append(True)
            if self.noted:
                self.catch_up()
        else:
            self.noted[number] = number, frame

    def catch_up(self) -> None:
        """Do what was deferred, of which there must be something."""
        try:
            self._handle(*self.noted.popitem())
        finally:
            if self.noted:
                self.catch_up()

    def _handle(self, number: int, args: tuple[Any, ...]) -> None:
        """Call a handler; within the block it raises nothing but KeyboardInterrupt."""
        try:
            self.handlers.get(number, signal.default_int_handler)(*args)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if not _DEFERRALS:
                raise
            self.raised.append(error)
            raise KeyboardInterrupt from None

    def end(self, before: dict[int, Any]) -> None:
        """Let all be handled as before, and raise what is to come out of the block."""
        try:
            [*map(_signal.signal, before, before.values())]  # with no instruction between two
        except BaseException:  # what was put back raised at once, and others may not be
            self.end(before)
            raise
        try:
            if self.noted:
                self.catch_up()
        finally:
            if self.raised:
                raise self.raised.pop()


_DEFERRALS: list[_Deferral] = []
#: The main thread, which signals come to: after a fork it is the one that forked.
_MAIN = [threading.main_thread().ident]
os.register_at_fork(after_in_child=lambda: _MAIN.__setitem__(0, get_ident()))


@contextmanager
def deferred_interrupts(forget: bool = False, handler: Any = None) -> Iterator[None]:
    """Defer signals until the end of the outermost such block, or drop Ctrl-C (``forget``).

    ``handler`` is what Ctrl-C does where it is let through, by default what it does outside.
    """
    if _DEFERRALS or get_ident() != _MAIN[0]:
        yield
        return
    found = [*map(_signal.getsignal, _NUMBERS)]
    before = _SEEN[0][1] if found == _SEEN[0][0] else _functions(found)
    if handler is not None and _SIGINT not in before and found[0] is not None:
        before = {_SIGINT: found[0]} | before
    if not before:
        yield
        return
    handlers = before if handler is None else before | {_SIGINT: handler}
    deferral = _Deferral(handlers, {}, [], [], [])
    come = deferral.come
    try:
        _DEFERRALS.append(deferral)
        [*map(_signal.signal, before, repeat(come))]  # with no instruction between two
        yield
    finally:
        _DEFERRALS.clear()
        if forget:
            deferral.noted.pop(_SIGINT, None)
        # what a handler, or what was let in, has set instead stays
        mine = {n: h for n, h in before.items() if _signal.getsignal(n) == come}
        try:
            [*map(_signal.signal, mine, mine.values())]
        except BaseException:  # what was put back raised at once, and others may not be
            deferral.end(mine)
            raise
        if deferral.noted or deferral.raised:
            deferral.end(mine)


def _functions(found: list[Any]) -> dict[int, Any]:
    """Return which signals functions handle, and note it for the next time."""
    each = zip(_NUMBERS, found, strict=True)
    _SEEN[0] = found, {n: known for n, known in each if callable(known) and known is not _stop}
    return _SEEN[0][1]


#: What the signals were handled by when last looked at, and which of that are functions.
_SEEN: list[tuple[list[Any], dict[int, Any]]] = [([], {})]


def interruptible(function: Callable[[], _T]) -> _T:
    """Call a function where signals are deferred, and let them through, also earlier ones.

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
    """Call a function and defer signals once more, within a function that is ``interruptible``."""
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


def unbroken(function: Callable[[], _T]) -> _T:
    """Call a function in which no signal comes through, wherever it is called.

    Such as one in which C calls Python back, and cannot go on after an exception.

    Examples
    --------
    >>> unbroken(lambda: 1 + 1)
    2
    """
    with deferred_interrupts():
        return shielded(function)


def interrupts(error: BaseException) -> bool:
    """Tell whether an exception is an interrupt: Ctrl-C, or what a handler of a signal has raised.

    Examples
    --------
    >>> interrupts(ValueError()), interrupts(KeyboardInterrupt())
    (False, True)
    """
    if not isinstance(error, Exception):
        return True
    codes, traceback = set(map(_code, _NUMBERS)), error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def _code(number: int) -> Any:
    """Return the code of what handles a signal, None if that is not the user's."""
    handler = _signal.getsignal(number)
    function = getattr(handler, "__func__", handler)
    called = type(handler).__call__ if callable(handler) else None
    return getattr(function, "__code__", None) or getattr(called, "__code__", None)


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
        _DEFERRALS[-1].noted[_SIGINT] = args


def _wake(number: int, frame: Any) -> None:
    if not _DEFERRALS or not _MEANT[0]():
        return
    deferral = _DEFERRALS[-1]
    if deferral.shields:
        deferral.noted[_SIGINT] = number, frame
        return
    if insist(frame, wake_main) or deferral.windows:
        deferral.windows.clear()
        raise KeyboardInterrupt
