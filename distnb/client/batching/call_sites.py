"""The user's lines of code: which one records a command, and how a person reads it."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from distnb.client.batching.error_states import Place

__all__ = [
    "CallSites",
    "at_users_line",
    "from_users_line",
    "line_in_function",
    "line_of",
    "own_line",
    "own_position",
    "user_frame",
    "user_place",
    "warn_user",
]

_F = TypeVar("_F", bound=Callable[..., Any])

_HERE = os.path.dirname(sys.modules["distnb"].__file__ or "") + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
#: What calls a ufunc of Numba's for the user.
_NUMBA = os.sep + os.path.join("numba", "np", "ufunc") + os.sep
#: Where code is that others wrote, which calls us for the user.
_OTHERS = (*{sysconfig.get_path(k) for k in ("stdlib", "purelib", "platlib")}, "<frozen ")
#: The file of code that was made of text, and is nowhere to be read.
_OF_TEXT = "<string>"
#: What shows the values of cells.
_SHELL = os.sep + "IPython" + os.sep
#: Files that are known to be distnb's or NumPy's own, and those that are known to be the user's.
_LIBRARY: set[str] = set()
_USERS: set[str] = set()

#: The line that runs, and the one that is told of: the user's, who called a library.
Site: TypeAlias = tuple[str, int, str, int]


class CallSites:
    """Numbers for lines of code, so that a command names its line by a small number."""

    def __init__(self) -> None:
        self._sites: list[Site] = []
        self._number_of: dict[Site, int] = {}
        #: The warnings that were given, file by file.
        self._given: dict[str, dict[Any, Any]] = {}

    def number(self) -> int:
        """Return the number of the user's source line that is running.

        It is asked for at every operation: of a frame whose file is known the name is enough.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in _LIBRARY:
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename not in _USERS:
            frame = user_frame(frame) if frame is not None else None
            key: Site = (*_position(frame), *_position(_told(frame)))
        else:
            name, line = frame.f_code.co_filename, frame.f_lineno
            key = (name, line, name, line)
        found = self._number_of.get(key)
        if found is None:
            found = self._number_of[key] = len(self._sites)
            self._sites.append(key)
        return found

    def line(self, site: int) -> str:
        """Return a source line as a person reads it: the user's own, not that of a library."""
        _, _, name, number = self._sites[site]
        return line_of(name, number)

    def place(self, site: int) -> Place:
        """Return a line as warnings are given at it, which may be a library's, as NumPy's are."""
        name, number, _, _ = self._sites[site]
        return name, number, self._given.setdefault(name, {})


#: What IPython makes of a magic: ``%%disttime`` is a call that has the whole cell in it.
_MAGIC = re.compile(
    r"""get_ipython\(\)\.run_(cell|line)_magic\('(\w+)', (?:'(.*?)'|"(.*?)")(?:, .*|\))$"""
)


def as_written(text: str) -> str:
    """Return a line that IPython has made of another as it was written.

    >>> as_written("t = get_ipython().run_line_magic('timeit', 'A + 1')")
    't = %timeit A + 1'
    """
    found = _MAGIC.search(text)
    if found is None:
        return text
    sign = "%%" if found[1] == "cell" else "%"
    return f"{text[: found.start()]}{sign}{found[2]} {found[3] or found[4] or ''}".rstrip()


def line_of(name: str, number: int) -> str:
    """Return a line of a file, or of a cell, and which it is."""
    if _SHELL in name:
        return "what the cell shows"
    text = as_written(linecache.getline(name, number).strip())
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    label = shell.compile.format_code_name(name) if shell is not None else None
    where = label[1] if label else os.path.basename(name)
    return f"{where} line {number}: {text}" if text else f"{where} line {number}"


#: A frame of a traceback as text: file, line, function.
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+), in (.+)$', re.MULTILINE)


def line_in_function(trace: str) -> str:
    """Return the last line of the user's in an engine's traceback, "" if there is none."""
    found = [f for f in _FRAME.findall(trace) if not (_is_library(f[0]) or _is_others(f[0]))]
    if not found:
        return ""
    name, number, function = found[-1]
    return f"{function}(): {line_of(name, int(number))}"


def user_line() -> str:
    """Return the user's line that is running, as a person reads it."""
    return line_of(*_position(_told(user_frame())))


def own_line() -> str:
    """Return the user's line that is running; "" where libraries alone are, as in their threads."""
    where = own_position(sys._getframe(1))
    return line_of(*where) if where[0] else ""


def own_position(frame: FrameType) -> tuple[str, int]:
    """Return where in the user's code a frame is; no file where libraries alone are."""
    found = _told(user_frame(frame))
    return ("", 0) if found is None or _is_others(found.f_code.co_filename) else _position(found)


def user_place() -> Place:
    """Return the user's line that is running."""
    frame = user_frame()
    if frame is None:
        return "", 0, None
    given = frame.f_globals.setdefault("__warningregistry__", {})
    return frame.f_code.co_filename, frame.f_lineno, given


def from_users_line(function: Callable[..., Any], *args: object, **options: object) -> Any:
    """Call a function of NumPy's as if from the user's line, for it warns its caller.

    What it warns of is then told once for each line, and filters by module are obeyed.
    """
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return function(*args, **options)
    names = {"function": function, "args": args, "options": options}
    return eval(_call(frame.f_code.co_filename, frame.f_lineno), frame.f_globals, names)


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if the user's line did."""
    from_users_line(warnings.warn, text, category)


def at_users_line(function: _F) -> _F:
    """Return a function that is called so."""

    @functools.wraps(function)
    def run(*args: object, **options: object) -> Any:
        return from_users_line(function, *args, **options)

    return cast("_F", run)


@functools.lru_cache(1024)
def _call(name: str, line: int) -> CodeType:
    """Return a call that is at a line of a file."""
    code = compile("function(*args, **options)", name, "eval")
    return code.replace(co_firstlineno=line)


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """Return the innermost frame of the user's code from a frame on, None if there is none."""
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _told(frame: FrameType | None) -> FrameType | None:
    """Return the frame that a person is told of: where nobody else wrote the code, if there is one.

    A library that calls us for the user is not what he can change, nor is code that was made of
    text, as methods of dataclasses: it has no line that can be shown.
    """
    found = frame
    while found is not None and (
        _is_others(found.f_code.co_filename) or found.f_code.co_filename == _OF_TEXT
    ):
        found = found.f_back
    return frame if found is None else found


def _position(frame: FrameType | None) -> tuple[str, int]:
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _is_library(name: str) -> bool:
    """Tell whether code is distnb's or NumPy's own, and remember it."""
    if name in _USERS:
        return False
    if name in _LIBRARY or name.startswith((_HERE, _NUMPY)) or _NUMBA in name:
        _LIBRARY.add(name)
        return True
    if not name.startswith(_OTHERS) and name != _OF_TEXT:
        _USERS.add(name)
    return False


def _is_others(name: str) -> bool:
    """Tell whether code is a library's, ours included."""
    return name not in _USERS and (_is_library(name) or name.startswith(_OTHERS))
