"""The exceptions of distnb.

Every exception is also the builtin (or NumPy) type that a NumPy user would catch::

    DistnbError
    +-- SessionError (RuntimeError)     no session, a closed one, or arrays of two sessions
    +-- LayoutError (ValueError)        a layout that cannot be
    +-- GatherError (MemoryError)       an implicit gather over the byte budget
    +-- LostArrayError (RuntimeError)   the array depends on a command that failed
    +-- EngineError (RuntimeError)      an engine or the cluster is gone, or does not start
        +-- LauncherError (FileNotFoundError)   there is no mpiexec
        +-- LateError (TimeoutError)            engines were not ready in time
        +-- CountError (ValueError)             there is no such number of engines
        +-- CountTypeError (TypeError)          what was given is no number

What an engine raises is raised again in the notebook with its own type (``MemoryError``,
``FloatingPointError``, ...), once, with the ranks, the operation and the line that asked for it.

Messages read ``what: got X, expected Y; do Z``.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = [
    "CountError",
    "CountTypeError",
    "DistnbError",
    "EngineError",
    "GatherError",
    "LateError",
    "LauncherError",
    "LayoutError",
    "LostArrayError",
    "NotNumericError",
    "SessionError",
    "check_count",
    "explain",
    "quoted",
    "without_secrets",
]

#: What lets someone in, in an address: a name and a password, or what is asked of the server.
_SECRETS = re.compile(r"(?<=://)[^/\s]+(?=@)|(?<=\?)\S+?(?=['\")\]:;,]*(?:\s|$))")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://\S+")


class DistnbError(Exception):
    """Base of all exceptions that only distnb raises."""


class SessionError(DistnbError, RuntimeError):
    """There is no usable session, or arrays belong to different ones."""


class LayoutError(DistnbError, ValueError):
    """A layout cannot be built from what was asked."""


class GatherError(DistnbError, MemoryError):
    """An implicit gather would bring more bytes to the notebook than the budget allows."""


class LostArrayError(DistnbError, RuntimeError):
    """The array's content was lost because a command that makes it failed on an engine."""


class EngineError(DistnbError, RuntimeError):
    """An engine, or the whole cluster, cannot be reached any more, or does not start."""


class LauncherError(EngineError, FileNotFoundError):
    """There is nothing to start engines with."""


class LateError(EngineError, TimeoutError):
    """Engines were not ready in time."""


class CountError(EngineError, ValueError):
    """There cannot be so many engines."""


class CountTypeError(EngineError, TypeError):
    """What was given is no number of engines."""


#: No array can have such a dtype: text, times, objects, records. To users it is NumPy's exception.
NotNumericError: type[TypeError] = type(
    "TypeError",
    (TypeError,),
    {"__module__": "builtins", "__reduce__": lambda self: (TypeError, self.args)},
)


def check_count(name: str, n: Any, most: int | None = None) -> int:
    """Return a number of engines, at most ``most``; ``name`` is the argument's.

    >>> check_count("n", 0)
    Traceback (most recent call last):
    ...
    distnb.common.errors.CountError: n: got 0, expected an integer >= 1; pass n=1
    """
    expected = "an integer >= 1" if most is None else f"an integer from 1 to {most}"
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise CountTypeError(explain(name, quoted(n), expected, f"pass {name}=1"))
    if not 1 <= int(n) <= (most or int(n)):
        raise CountError(explain(name, n, expected, f"pass {name}={most or 1}"))
    return int(n)


def explain(what: str, got: object, expected: object, do: str) -> str:
    """Return a message in the one form that all of distnb uses.

    >>> explain("engines", -1, "an integer >= 1", "pass n=4")
    'engines: got -1, expected an integer >= 1; pass n=4'
    """
    return without_secrets(f"{what}: got {_kind(got) or got}, expected {expected}; {do}")


def quoted(value: object) -> str:
    """Return what a user passed, for a message: as Python shows it, of an array its kind and shape.

    >>> quoted("x"), quoted(1.5)
    ("'x'", '1.5')
    """
    return _kind(value) or repr(value)


def _kind(value: object) -> str:
    """Return kind and shape of an array: its elements take many lines, and are asked of engines."""
    shape = getattr(value, "shape", ())
    found = isinstance(shape, tuple) and shape  # of a class it is a property
    return f"{type(value).__name__} of shape {shape}" if found else ""


def without_secrets(text: str) -> str:
    """Return a text whose addresses do not tell passwords, nor what signed ones end with.

    >>> without_secrets("file s3://me:secret@host/x.npy?sig=1: none")
    'file s3://***@host/x.npy?***: none'
    """
    return _ADDRESS.sub(lambda found: _SECRETS.sub("***", found[0]), text)
