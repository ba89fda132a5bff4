"""Tracebacks that end at the user's line: distnb's own frames, and what they call, are hidden.

An interrupt within distnb is three lines: where, what, and which arrays have no content now.
``%xmode Verbose`` shows them all, and so does a debugger. An import of distnb in a shell is enough.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import FrameType, TracebackType
from typing import Any

from numpy.lib import mixins

from distnb.client.session import current
from distnb.magics.arguments import arrays_of

__all__ = ["Tracebacks", "shortened"]

#: Where distnb's code is, with that of its operators, and where code is that is nobody's own.
_OURS = (str(Path(__file__).resolve().parents[1]), mixins.__file__)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
#: What compiled and frozen modules have for a file.
_LIBRARIES += ("<frozen ", "(tree fragment)", "zmq/")


#: What an error of an engine tells of the engine's own lines.
_REST = re.compile(r"\ntraceback of rank \d+:.*", re.DOTALL)


class Tracebacks:
    """Shortens the tracebacks that a shell shows, until :meth:`remove`."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._shown_by = shell.InteractiveTB
        self.remove()  # what is there since distnb was imported, without the extension
        self._whole = self._shown_by.structured_traceback
        self._shown_by.structured_traceback = self._shortened

    def _shortened(
        self, etype: Any, value: Any = None, tb: Any = None, *args: Any, **named: Any
    ) -> Any:
        if self._shown_by.mode == "Verbose":
            return self._whole(etype, value, tb, *args, **named)
        if isinstance(value, KeyboardInterrupt) and (asked := _asked(tb)) is not None:
            name = self._shell.compile.format_code_name(asked.filename)
            where = name[1] if name else Path(asked.filename).name
            return self._interrupted(value, f"{where} line {asked.lineno}: {asked.line}")
        if isinstance(value, KeyboardInterrupt) and tb is not None and shortened(tb) is None:
            return self._interrupted(value, "at the end of the cell, which waits for the engines")
        with _chain_shortened(value), _notes_shortened(value):
            return self._whole(etype, value, shortened(tb), *args, **named)

    def _interrupted(self, interrupt: KeyboardInterrupt, where: str) -> list[str]:
        """Return the lines of an interrupt of what was asked for at a place."""
        lost, later = list[str](), list[str]()
        for session in current.open_sessions():
            for name, x in arrays_of(self._shell, session):
                if x.dbase.handle in session.unfinished.wanted:
                    later.append(name)
                elif x.dbase.lost:
                    lost.append(name)
        texts = {"made when they are used": later, "lost, to be made again": lost}
        fates = [f"{text}: {', '.join(names)}" for text, names in texts.items() if names]
        fate = "; ".join(fates) or "all arrays are whole"
        if any(session.connection.sent for session in current.open_sessions()):
            fate = "what engines were writing is known when they answer"
        what = ": ".join(["KeyboardInterrupt", *map(str, interrupt.args)])
        return [where, what, fate]

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

    Functions of the user's that distnb has called stay. None if nothing else is left, as of what is
    found at the end of a cell: the error itself tells the line that asked for it.
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
        line = -1 if frame.tb_lineno is None else frame.tb_lineno  # Python tells none of some code
        found = TracebackType(found, frame.tb_frame, frame.tb_lasti, line)
    return found


def _asked(tb: TracebackType | None) -> FrameSummary | None:
    """Return the user's line that called distnb, the last one; None if none did.

    A magic is distnb's, too, and runs lines of the user's.
    """
    line: FrameSummary | None = None
    found: FrameSummary | None = None
    while tb is not None:
        if _is_in(tb.tb_frame, _OURS) or _is_native(tb.tb_frame):
            found = line
        elif not _is_in(tb.tb_frame, _LIBRARIES):
            here = extract_tb(tb, limit=1)[0]
            line = here if here.line or line is None else line  # %timeit's code has no text
        tb = tb.tb_next
    return found


def _is_native(frame: FrameType) -> bool:
    """Tell whether a frame is of a compiled module of distnb, which tells no place of a file."""
    return str(frame.f_globals.get("__name__")).startswith("distnb.")


def _is_in(frame: FrameType, folders: tuple[str, ...]) -> bool:
    return frame.f_code.co_filename.startswith(folders)
