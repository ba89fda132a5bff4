"""From what engines say of a failure to the one exception that the user gets; lost arrays."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distnb.client.batching.call_sites import line_in_function
from distnb.common.errors import EngineError, LostArrayError, explain
from distnb.geometry.layout import Ints
from distnb.measure.metrics import label
from distnb.wire.exceptions import unpacked
from distnb.wire.messages import Failure
from distnb.wire.protocol import Command, title

__all__ = ["exception_like", "exception_of", "given_up", "lost_error", "why_lost", "within"]


def exception_of(
    commands: Sequence[Command], failures: Sequence[Failure], size: int, line: Callable[[int], str]
) -> BaseException:
    """Build the one exception for the first command that failed."""
    first = min(f.index for f in failures)
    same = sorted((f for f in failures if f.index == first), key=lambda f: f.rank)
    failure, command = same[0], commands[first]
    ranks = ", ".join(str(f.rank) for f in same)
    what = title(command)
    shapes = "; ".join(f"rank {f.rank}: {list(f.shapes)}" for f in same)
    error = unpacked(failure.packed) or exception_like(failure.kinds, failure.message)
    error.add_note(
        f"raised on rank{'s' if len(same) > 1 else ''} {ranks} of {size} in {what!r}\n"
        f"{within(failure.traceback)}"
        f"local shapes: {shapes}\n"
        f"recorded at {line(getattr(command, 'site', 0))}\n"
        "arrays that do not depend on it are unharmed\n"
        f"traceback of rank {failure.rank}:\n{failure.traceback}"
    )
    return error


def within(trace: str) -> str:
    """Return the line of the user's function that raised, as a line of a note."""
    found = line_in_function(trace)
    return f"in {found}\n" if found else ""


def why_lost(
    commands: Sequence[Command], failures: Sequence[Failure], line: Callable[[int], str]
) -> str:
    """Return why what a batch was to write has no content; "" where nothing in it failed."""
    if not failures:
        return ""
    first = min(failures, key=lambda f: f.index)
    command = commands[first.index]
    where = line(getattr(command, "site", 0))
    return f"{title(command)!r} failed with {first.kinds[0]}, recorded at {where}"


def given_up(commands: Sequence[Command]) -> str:
    """Return what an interrupt tells of the batch that engines gave up."""
    return f"engines were at {label(tuple((title(c), '') for c in commands))[0]}"


def exception_like(kinds: Sequence[str], message: str) -> BaseException:
    """Return an exception of an engine's type, or its nearest builtin base; first its own class."""
    places: Sequence[Any] = (builtins, np.exceptions, np.linalg)
    for kind in kinds:
        for place in places:
            cls = getattr(place, kind, None)
            if isinstance(cls, type) and issubclass(cls, Exception) and cls is not Exception:
                try:
                    return cls(message)
                except TypeError:  # an exception with arguments of its own
                    continue
    return EngineError(f"{kinds[0]}: {message}")


def lost_error(shape: Ints, why: str | bool = "") -> LostArrayError:
    """Return the error for reading an array whose content is gone, and why if that is known."""
    if not isinstance(why, str) or not why:
        why = "a command that writes it failed or was interrupted"
    return LostArrayError(
        explain(
            f"array of shape {shape}",
            f"no content: {why}",
            "a good array",
            "make it again, or assign all of it",
        )
    )
