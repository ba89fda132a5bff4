"""KeyboardInterrupt for a function that catches whatever is raised in it.

``except: pass`` around a wait catches an interrupt, too, and a loop around that goes on for ever.
So if a function has not been left a while after the first one, all is raised that it takes: once in
each ``try`` of each frame, so that what catches it cannot go on either.
"""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar

__all__ = ["insist", "insisted", "relent"]

_T = TypeVar("_T")

#: (frame, where it goes on after an exception) of those that were raised already.
_RAISED: set[tuple[FrameType, int]] = set()
#: For a function that is insisted on, of which there is at most one: whether it was left.
_LEFT: list[threading.Event] = []
#: Since when it is insisted on.
_SINCE: list[float] = []
#: Seconds that a function has to tidy up.
_PATIENCE = 0.3
#: Seconds until :func:`insist` is called again: the interpreter takes away a tracer that raises.
_AGAIN = 1e-3


def insisted(function: Callable[..., _T], *args: Any) -> _T:
    """Call a function; while it runs, :func:`insist` can be called."""
    return function(*args)


def insist(frame: FrameType | None, again: Callable[[], None]) -> bool:
    """See to it that a function is left in which KeyboardInterrupt is raised now, and caught.

    Returns False if nothing is to be raised: the code that runs in the frame is not in such a
    function, or has its time to tidy up after the first time. ``again`` is called in a thread, and
    has this called again in the one of the function: it may wait, or be in a loop where it caught
    what was raised.
    """
    frames = _within(frame)
    if not frames:
        return False
    if not _LEFT:
        _LEFT.append(threading.Event())
        _SINCE[:] = [time.monotonic()]
        _thread.start_new_thread(_remind, (_LEFT[0], again))
        return True
    if time.monotonic() - _SINCE[0] < _PATIENCE:
        return False
    for each in frames:
        each.f_trace, each.f_trace_opcodes = _trace, True
    sys.settrace(_trace)
    return True


def _within(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of what ``insisted`` called, none if ours are among them."""
    frames = []
    while frame is not None and frame.f_code is not insisted.__code__:
        if frame.f_code in (insist.__code__, _trace.__code__):
            return []
        frames.append(frame)
        frame = frame.f_back
    return [] if frame is None else frames


def _remind(left: threading.Event, again: Callable[[], None]) -> None:
    pause = _PATIENCE
    while not left.wait(pause):
        again()
        pause = _AGAIN


def relent() -> None:
    """Raise no more: the function was left."""
    if _LEFT:
        sys.settrace(None)
        _LEFT.pop().set()
        _RAISED.clear()


def _trace(frame: FrameType, event: str, arg: Any) -> Any:
    if event == "call" and not _within(frame):
        return None
    frame.f_trace_opcodes = True
    if event == "opcode" and _LEFT:
        place = frame, _handler(frame.f_code, frame.f_lasti)
        if place not in _RAISED:
            _RAISED.add(place)
            raise KeyboardInterrupt
    return _trace


def _handler(code: CodeType, at: int) -> int:
    """Return where code goes on after an exception at an instruction, -1 if it is left."""
    numbers = _numbers(code.co_exceptiontable)
    for start in numbers:
        length, target, _ = next(numbers), next(numbers), next(numbers)
        if start <= at // 2 < start + length:
            return target
    return -1


def _numbers(table: bytes) -> Iterator[int]:
    """Yield the numbers of an exception table: six bits to a byte, the first ones first."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0
