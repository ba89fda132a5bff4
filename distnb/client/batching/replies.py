"""What engines reply: values that were asked for, warnings, failures, and what is lost."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from distnb.client.batching.call_sites import CallSites
from distnb.client.batching.connection import Outcome
from distnb.client.batching.error_states import ErrorState, tell
from distnb.client.batching.failures import exception_of, why_lost
from distnb.client.batching.handle_table import HandleTable
from distnb.geometry.views import Placed
from distnb.plans.transfer import at, plan_parts
from distnb.wire.protocol import Command, title

__all__ = ["MISSING", "Replies", "fill_in"]

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
    sites : CallSites
        Knows the user's lines.
    """

    def __init__(self, size: int, handles: HandleTable, sites: CallSites) -> None:
        self.size = size
        self._handles = handles
        self._sites = sites
        self._slots = count(1)
        #: Slot that is waited for -> rank -> value.
        self.values: dict[int, dict[int, Any]] = {}
        #: Floating point errors that nobody was told of yet: of each command each kind once.
        self.warnings: dict[tuple[int, int, str], tuple[Command, ErrorState]] = {}

    def expect(self) -> int:
        """Return a new slot, whose values are kept until :meth:`claim`."""
        slot = next(self._slots)
        self.values[slot] = {}
        return slot

    def claim(self, slot: int) -> list[Any]:
        """Return each rank's value of a slot, ``MISSING`` where there is none; keep none."""
        found = self.values.pop(slot)
        return [found.get(rank, MISSING) for rank in range(self.size)]

    def take(self, outcome: Outcome) -> BaseException | None:
        """Take in what came of a batch; return the exception if a command failed."""
        sent, replies, known = outcome
        short: MemoryError | None = None
        for reply in replies:
            for slot, value in reply.values.items():
                if isinstance(value, MemoryError):  # of the notebook
                    short = value
                elif slot in self.values:
                    self.values[slot][reply.rank] = value
            for index, kind in reply.warnings:
                told = sent.commands[index], sent.errors
                self.warnings[sent.number, index, kind] = told
        lost = {handle for reply in replies for handle in reply.lost}
        if not known:
            lost = {handle for command in sent.commands for handle in command.writes}
        failures = [f for reply in replies for f in reply.failures]
        if lost:
            why = why_lost(sent.commands, failures, self._sites.line)
            self._handles.lose(lost, sent.number, why or self._why_before(sent.commands))
        return (
            exception_of(sent.commands, failures, self.size, self._sites.line)
            if failures
            else short
        )

    def _why_before(self, commands: Iterable[Command]) -> str:
        """Return why something was lost that commands read; "" if that is not known."""
        told = (self._handles.lost(x.base) for command in commands for x in command.reads)
        return next((why for why in told if isinstance(why, str)), "")

    def warn(self) -> None:
        """Tell of floating point errors as the user wanted when they were recorded."""
        found, self.warnings = self.warnings, {}
        for (_, _, kind), (command, errors) in found.items():
            site = getattr(command, "site", 0)
            tell(errors, [kind], title(command), partial(self._sites.place, site))


def fill_in(out: np.ndarray, parts: list[Any], placed: Placed) -> None:
    """Put what each rank sent of a view where it belongs; None of those that hold nothing of it."""
    for rank, data in enumerate(parts):
        if data is None:
            continue
        if data.shape == out.shape:
            out[...] = data
            continue
        part = plan_parts(rank, placed)
        if part is None:
            continue
        for chunk, to in zip(part.chunks, part.places, strict=True):
            at(out, chunk.shape, to)[...] = at(data, chunk.shape, chunk.message)
