"""Measured windows: what engines record between two moments, and the reports made of it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from time import perf_counter_ns
from typing import Any, NamedTuple

from distnb.client.batching.connection import Outcome
from distnb.client.session.own_lines import OwnLines
from distnb.client.transport.contract import AnyTransport
from distnb.common.errors import EngineError, explain
from distnb.measure.events import (
    IDLE,
    Account,
    Moment,
    Report,
    Step,
    bandwidth,
    clock_name,
)
from distnb.measure.notebook_clock import NotebookClock
from distnb.measure.records import (
    Sums,
    Times,
    clock_offset,
    steps,
)
from distnb.wire.protocol import Ask, Bind, Command, Create, title

__all__ = ["Measuring", "Reading", "Record", "Window"]

#: Commands of a window of which steps are kept, and spans that these may have.
_MOST, _MOST_SPANS = 20_000, 200_000


class Record(NamedTuple):
    """A batch: its commands, when it was sent and its replies taken in, times of the ranks."""

    commands: tuple[Command, ...]
    sent: int
    taken: int
    times: list[Times]


class Reading(NamedTuple):
    """All engines' accounts while nothing was under way; when they were asked for, and there."""

    asked: int
    there: int
    accounts: list[Account]
    recorded: int
    batches: int
    #: What the notebook itself has done up to then; None where it is one with an engine.
    notebook: Moment | None = None


class _Seen(NamedTuple):
    """What one client knows of a window: of all ranks, or (SPMD) of its own."""

    clock: str
    moments: tuple[tuple[int, int], ...]
    #: Of each batch how many commands, and the times.
    batches: list[tuple[int, list[Times]]]
    sums: Sums


class Window:
    """What is recorded from one moment on.

    Of the first batches all is kept, of those beyond some number of commands only sums.
    """

    def __init__(self, transport: AnyTransport, start: Reading) -> None:
        self._transport = transport
        self.start = start
        self._kept: list[Record] = []
        self._commands = 0
        self._most = min(_MOST, _MOST_SPANS // transport.size)
        self._sums = Sums()
        self._dropped = 0
        #: Whether there are other engines now than when it began.
        self.lost = False

    def take(self, record: Record) -> None:
        """Take in a batch."""
        own = self._transport.rank
        if own is not None:
            if not record.commands:  # deletions alone are each rank's own
                return
            times = record.times[own if len(record.times) > 1 else 0]
            record = record._replace(times=[times])
        self._commands += len(record.commands)
        if self._commands <= self._most:
            self._kept.append(record)
        else:
            self._dropped += max(len(times.parts) for times in record.times)
            self._sums.add(_keys(record.commands), record.times)

    def report(self, end: Reading, line: Callable[[int], str]) -> Report:
        """Return the report up to a moment; ``line`` gives the text of a source line."""
        line = cache(line)
        for record in self._kept:
            self._sums.add(_keys(record.commands), record.times)

        def named(key: tuple[str, int]) -> tuple[str, str]:
            return key[0], line(key[1]) if key[1] >= 0 else ""

        moments = tuple((r.asked, r.there) for r in (self.start, end))
        batches = [(len(r.commands), r.times) for r in self._kept]
        mine = _Seen(clock_name(), moments, batches, self._sums)
        seen: list[_Seen] = self._transport.share(mine)
        zeros, wall, error = self._zeros(seen) if len(seen) > 1 else self._zeros_of_engines(end)
        accounts = zip(self.start.accounts, end.accounts, strict=True)
        return Report(
            wall / 1e9,
            tuple(_closed(after.since(before), wall) for before, after in accounts),
            Sums.joined([s.sums for s in seen]).op_times(named),
            end.recorded - self.start.recorded,
            end.batches - self.start.batches,
            tuple(self._steps(seen, zeros, named)),
            self._dropped,
            error / 1e9,
        )

    def _steps(
        self, seen: Sequence[_Seen], zeros: list[int], named: Callable[[Any], tuple[str, str]]
    ) -> list[Step]:
        found: list[Step] = []
        sizes = {tuple(n for n, _ in s.batches) for s in seen}
        if len(sizes) > 1:  # an interrupt came to ranks at different places
            return found
        for record, *parts in zip(self._kept, *(s.batches for s in seen), strict=True):
            names = [named(_name(command)) for command in record.commands]
            times = chain.from_iterable(times for _, times in parts)
            found += steps([*times], zeros, names.__getitem__)
        return found

    def _zeros_of_engines(self, end: Reading) -> tuple[list[int], int, int]:
        """Return when the window began by each engine's clock, its length, and the error.

        On the client's host all have the same clock.
        """
        begin, wall = self.start.there, end.there - self.start.there
        here, zeros, errors = clock_name(), list[int](), [0]
        for rank, about in enumerate(self._transport.about):
            ahead = 0
            if about.get("clock", here) != here and self._kept:
                trips = ((r.sent, r.taken, r.times[rank]) for r in self._kept)
                bounds = ((sent, taken, t.start, t.end) for sent, taken, t in trips)
                ahead, error = clock_offset(bounds)
                errors.append(error)
            zeros.append(begin + ahead)
        return zeros, wall, max(errors)

    @staticmethod
    def _zeros(seen: Sequence[_Seen]) -> tuple[list[int], int, int]:
        """Return the same where each rank has a window of its own (SPMD).

        The common one begins with the first of them, and ends with the last. No rank gets its
        accounts before all have asked for them.
        """
        first, ahead, errors = seen[0], list[int](), [0]
        for other in seen:
            here, there = first.moments, other.moments
            offset = 0
            if other.clock != first.clock:
                pairs = zip(here, there, strict=True)
                offset, error = clock_offset((*a, b[1], b[0]) for a, b in pairs)
                errors.append(error)
            ahead.append(offset)
        begin = min(s.moments[0][1] - a for s, a in zip(seen, ahead, strict=True))
        end = max(s.moments[1][1] - a for s, a in zip(seen, ahead, strict=True))
        return [begin + a for a in ahead], end - begin, max(errors)


class Measuring:
    """The open windows of a session.

    Attributes
    ----------
    bandwidth : float or None
        Bytes that an engine sends in a second, as measured; None before anything was.
    reported : callable or None
        Gets each report (a dashboard sets it).
    """

    def __init__(
        self, transport: AnyTransport, line: Callable[[int], str], wait: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._line, self._wait = line, wait
        #: What the notebook itself does while a window is open.
        self.clock = NotebookClock()
        #: One that nobody holds any more is forgotten.
        self.windows: weakref.WeakSet[Window] = weakref.WeakSet()
        self._lines = OwnLines(self.clock.gone, self.windows)
        self.bandwidth: float | None = None
        self.reported: Callable[[Report], None] | None = None

    def start(self, reading: Reading) -> Window:
        """Begin to measure."""
        thread = None if self.windows else self.clock.begin()
        window = Window(self._transport, reading)
        self.windows.add(window)
        if thread is not None and reading.notebook is not None:
            self._lines.begin(thread)
        return window

    def lose(self) -> None:
        """Note that other engines have come, with other clocks: no open window can be closed."""
        for window in list(self.windows):
            window.lost = True

    def wait(self) -> None:
        """Wait for engines; that is not what the notebook itself does."""
        with self.clock.elsewhere():
            self._wait()

    def take(self, outcome: Outcome) -> None:
        """Take in the times of a batch."""
        sent, replies, _ = outcome
        if replies:
            times = [r.times for r in sorted(replies, key=lambda r: r.rank)]
            record = Record(sent.commands, sent.at, perf_counter_ns(), times)
            for window in list(self.windows):
                window.take(record)

    def end(self, window: Window, reading: Reading, notes: tuple[str, ...]) -> Report:
        """End measuring; return where the time went, with what the session did by itself."""
        self.windows.discard(window)
        if not self.windows:
            self._lines.end()
            self.clock.end()
        if window.lost:
            raise EngineError(
                explain(
                    "measured window", "other engines since it began", "the same", "measure again"
                )
            )
        report = replace(window.report(reading, self._line), notes=notes)
        if window.start.notebook is not None and reading.notebook is not None:
            begun, ended = window.start.notebook, reading.notebook
            if (did := self.clock.between(begun, ended)) is not None:
                did = did._replace(lines=self._lines.between(begun.at, ended.at))
            report = replace(report, notebook=did)
        self.bandwidth = bandwidth(report.engines) or self.bandwidth
        if self.reported is not None:
            self.reported(report)
        return report


def _closed(account: Account, wall: int) -> Account:
    """Return an account of a window of this length: an engine is idle whenever it runs no batch."""
    busy = account.spent[:IDLE]
    return account._replace(now=wall, spent=(*busy, wall - sum(busy)))


def _name(command: Command) -> tuple[str, int]:
    """Return the operation of a command, and the number of its source line (-1: none)."""
    name = f"create ({_kind(command)})" if isinstance(command, Create) else title(command)
    return name, getattr(command, "site", -1)


def _kind(command: Create) -> str:
    """Return how a base is made, wherever it lies."""
    how = command.how
    return str(how[2] if how[0] == "at" else "empty" if how[0] == "same" else how[0])


def _keys(commands: Sequence[Command]) -> list[Any]:
    """Return what the time of each command counts for; None if it is no operation of the user's."""
    return [None if isinstance(c, Ask | Bind) else _name(c) for c in commands]
