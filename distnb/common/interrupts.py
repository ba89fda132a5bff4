"""Ctrl-C, put off while something is half done.

Python raises KeyboardInterrupt between any two instructions of the main thread. A step that must
be done wholly or not at all holds the signal back until its end, and lets it through where it
waits. Other threads never get it.

Engines are told to stop by a signal of distnb's own. Unlike SIGINT it does nothing outside of such
a window, so it can never make an engine lose a message.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

__all__ = ["STOP", "held", "interruptible", "listen", "shielded"]

_T = TypeVar("_T")

# CPython's own functions: the enumerations around them take ten times as long.
_signal: Any = sys.modules.get("_signal", signal)

#: What stops a batch on an engine; MPICH has a use for SIGUSR1.
STOP = signal.SIGUSR2


class _Hold(NamedTuple):
    """What to do with Ctrl-C outside of the block, and what came meanwhile."""

    handler: Callable[..., Any]
    noted: list[tuple[Any, ...]]
    windows: list[bool]
    shields: list[bool]

    def come(self, *args: Any) -> None:
        """Do what the handler does where that is let through, else put it off."""
        if self.windows and not self.shields:
            self.windows.clear()  # if the handler raises, nothing more is let through
            self.handler(*args)
            self.windows.append(True)
        else:
            self.noted.append(args)

    def catch_up(self) -> None:
        """Do what was put off."""
        if self.noted:
            args = self.noted[-1]
            self.noted.clear()
            self.handler(*args)


_HOLDS: list[_Hold] = []


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def held(forget: bool = False, handler: Any = None) -> Iterator[None]:
    """Put Ctrl-C off until the end of the outermost such block, or drop what comes (``forget``).

    ``handler`` is what Ctrl-C does where it is let through, by default what it does outside.
    """
    before = None if _HOLDS or not _in_main_thread() else _signal.getsignal(signal.SIGINT)
    handler = handler or before
    if before is None or not callable(handler):
        yield
        return
    hold = _Hold(handler, [], [], [])
    _signal.signal(signal.SIGINT, hold.come)
    _HOLDS.append(hold)
    try:
        yield
    finally:
        _HOLDS.remove(hold)
        _signal.signal(signal.SIGINT, before)
        if not forget:
            hold.catch_up()


def interruptible(function: Callable[[], _T]) -> _T:
    """Call a function within a held block, and let Ctrl-C through, also what was put off so far.

    Not a context manager: KeyboardInterrupt can come between the end of its block and its own code.
    """
    if not _HOLDS or not _in_main_thread():
        return function()
    hold = _HOLDS[-1]
    try:
        hold.windows.append(True)
        hold.catch_up()
        return function()
    finally:
        hold.windows.clear()


def shielded(function: Callable[[], _T]) -> _T:
    """Call a function and put Ctrl-C off once more, within a function that is ``interruptible``."""
    if not _HOLDS or not _in_main_thread() or not _HOLDS[-1].windows:
        return function()
    hold = _HOLDS[-1]
    try:
        hold.shields.append(True)
        return function()
    finally:
        hold.shields.clear()
        hold.catch_up()


def listen() -> None:
    """Let the signal ``STOP`` raise KeyboardInterrupt in functions that are ``interruptible``."""
    signal.signal(STOP, _stop)


def _stop(*args: Any) -> None:
    if _HOLDS and _HOLDS[-1].windows and not _HOLDS[-1].shields:
        _HOLDS[-1].windows.clear()
        raise KeyboardInterrupt
    if _HOLDS:
        _HOLDS[-1].noted.append(args)
