"""Functions of the user's that an engine holds, for commands that name their numbers."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

from distnb.common.calling import on_engine
from distnb.common.interrupts import insisting

__all__ = ["Function"]


class Function:
    """A function, made of its text when it is first called: if that fails, the command fails."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._function: Any = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call it."""
        with on_engine():
            if self._function is None:
                self._function = insisting(pickle.loads, self._text)
            called = partial(self._function, **named) if named else self._function
            return insisting(called, *args)
