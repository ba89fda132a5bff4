"""Tracebacks that end at the user's line: distnb's own frames, and what they call, are hidden.

``%xmode Verbose`` shows them all, and so does a debugger.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from numpy.lib import mixins

__all__ = ["Tracebacks", "shortened"]

#: Where distnb's code is, with that of its operators, and where code is that is nobody's own.
_OURS = (str(Path(__file__).resolve().parents[1]), mixins.__file__)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


#: What an error of an engine tells of the engine's own lines.
_REST = re.compile(r"\ntraceback of rank \d+:.*", re.DOTALL)


class Tracebacks:
    """Shortens the tracebacks that a shell shows, until :meth:`remove`."""

    def __init__(self, shell: Any) -> None:
        self._shown_by = shell.InteractiveTB
        self._whole = self._shown_by.structured_traceback
        self._shown_by.structured_traceback = self._shortened

    def _shortened(
        self, etype: Any, value: Any = None, tb: Any = None, *args: Any, **named: Any
    ) -> Any:
        if self._shown_by.mode == "Verbose":
            return self._whole(etype, value, tb, *args, **named)
        with _chain_shortened(value), _notes_shortened(value):
            return self._whole(etype, value, shortened(tb), *args, **named)

    def remove(self) -> None:
        """Show whole ones again."""
        self._shown_by.__dict__.pop("structured_traceback", None)


@contextmanager
def _chain_shortened(error: BaseException | None) -> Iterator[None]:
    """Shorten the tracebacks of what an error came from, as long as they are shown."""
    whole: list[tuple[BaseException, TracebackType | None]] = []
    seen = {id(error)}
    try:
        while error is not None:
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            if error is None or id(error) in seen:
                break
            seen.add(id(error))
            whole.append((error, error.__traceback__))
            error.__traceback__ = shortened(error.__traceback__)
        yield
    finally:
        for each, before in whole:
            each.__traceback__ = before


@contextmanager
def _notes_shortened(error: BaseException | None) -> Iterator[None]:
    """Leave out the engine's traceback of an error, as long as it is shown."""
    whole = getattr(error, "__notes__", None)
    if error is None or not whole:
        yield
        return
    error.__notes__ = [
        _REST.sub(r"\n%xmode Verbose shows the engine's traceback", n) for n in whole
    ]
    try:
        yield
    finally:
        error.__notes__ = whole


def shortened(tb: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of distnb and of libraries that it has called.

    Functions of the user's that distnb has called stay. It is whole if nothing else is left.
    """
    frames, within = [], False
    each = tb
    while each is not None:
        ours = _is_in(each.tb_frame, _OURS) or _is_native(each.tb_frame)
        within = ours or (within and _is_in(each.tb_frame, _LIBRARIES))
        if not within:
            frames.append(each)
        each = each.tb_next
    found: TracebackType | None = None
    for frame in reversed(frames):
        found = TracebackType(found, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return found or tb


def _is_native(frame: FrameType) -> bool:
    """Tell whether a frame is of a compiled module of distnb, which tells no place of a file."""
    return str(frame.f_globals.get("__name__")).startswith("distnb.")


def _is_in(frame: FrameType, folders: tuple[str, ...]) -> bool:
    return frame.f_code.co_filename.startswith(folders)
