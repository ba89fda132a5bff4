"""What engines reply: values that were asked for, warnings, failures, and what is lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

from distnb.client.batching.connection import Outcome
from distnb.client.batching.failures import exception_of
from distnb.client.batching.handle_table import HandleTable
from distnb.wire.protocol import Command, title

__all__ = ["MISSING", "Replies"]

#: In place of a value that a rank does not have.
MISSING: Any = object()


class Replies:
    """What was asked for and what engines said, until the session hands it on.

    Parameters
    ----------
    size : int
        Number of ranks.
    handles : HandleTable
        Whose bases get lost.
    line : callable
        Gives the text of a source line.
    """

    def __init__(self, size: int, handles: HandleTable, line: Callable[[int], str]) -> None:
        self._size = size
        self._handles = handles
        self._line = line
        self._slots = count(1)
        #: Slot that is waited for -> rank -> value.
        self.values: dict[int, dict[int, Any]] = {}
        #: Those that were not given yet.
        self.warnings: list[tuple[Command, str]] = []

    def expect(self) -> int:
        """Return a new slot, whose values are kept until :meth:`claim`."""
        slot = next(self._slots)
        self.values[slot] = {}
        return slot

    def claim(self, slot: int) -> list[Any]:
        """Return each rank's value of a slot, ``MISSING`` where there is none; keep none."""
        found = self.values.pop(slot)
        return [found.get(rank, MISSING) for rank in range(self._size)]

    def take(self, outcome: Outcome) -> BaseException | None:
        """Take in what came of a batch; return the exception if a command failed."""
        sent, replies, known = outcome
        for reply in replies:
            for slot, value in reply.values.items():
                if slot in self.values:
                    self.values[slot][reply.rank] = value
            self.warnings += [(sent.commands[index], kind) for index, kind in reply.warnings]
        lost = {handle for reply in replies for handle in reply.lost}
        if not known:
            lost = {handle for command in sent.commands for handle in command.writes}
        if lost:
            self._handles.lose(lost, sent.number)
        failures = [f for reply in replies for f in reply.failures]
        return exception_of(sent.commands, failures, self._size, self._line) if failures else None

    def warn(self) -> None:
        """Give the warnings, at the line that calls the session."""
        found, self.warnings = self.warnings, []
        for command, kind in found:
            line = self._line(getattr(command, "site", 0))
            text = f"{kind} encountered in {title(command)} ({line})"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
