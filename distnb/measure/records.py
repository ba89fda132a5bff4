"""What engines record of each batch, as it travels, and the steps and sums that it tells of."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from distnb.geometry.layout import Ints
from distnb.measure.events import (
    OVERHEAD,
    Clock,
    CommandTime,
    OpTime,
    Span,
    Step,
)

__all__ = ["AGREE", "DECODE", "END", "Log", "Sums", "Times", "clock_offset", "posted", "steps"]

#: In place of numbers of commands: what comes before them, and after them.
DECODE: Ints = (-1,)
AGREE: Ints = (-2,)
#: No part: the batch is done.
END: Ints = ()
_OTHERS = {DECODE: (("decode", ""),), AGREE: (("agree", ""),)}
#: Numbers of a mark: a command's, bytes touched, elements held.
_WIDTH = len(CommandTime._fields) + 2
_BUSY = 4


def posted(part: Ints) -> Ints:
    """Return what stands for the messages of a part that are sent before its turn, or the reverse.

    >>> posted((0, 7)), posted((-3, -10))
    ((-3, -10), (0, 7))
    """
    return tuple([AGREE[0] - 1 - number for number in part])


def _commands_of(part: Ints) -> Ints:
    """Return the numbers of the commands that a part is about, none for what is no command."""
    return part if part[0] >= 0 else posted(part) if part[0] < AGREE[0] else ()


class Times(NamedTuple):
    """What the parts of a batch took on one rank, as it travels. A part runs in one go.

    Attributes
    ----------
    start : int
        When the first part began, by the rank's ``perf_counter_ns``. The others follow at once.
    parts : tuple of Ints
        The numbers of the commands of each part; DECODE and AGREE stand for what is no command,
        and what :func:`posted` makes of numbers for messages that are sent before their turn.
    marks, waits, sent : bytes
        Integers. When each part begins, and at the end of the last: the totals of CommandTime, of
        bytes touched, and the elements that the part holds; (part, rank waited for, ns); (part,
        rank, messages, bytes).
    """

    start: int
    parts: tuple[Ints, ...]
    marks: bytes
    waits: bytes
    sent: bytes

    @property
    def end(self) -> int:
        """When the last part ended, by the rank's clock."""
        return self.start + self.busy

    @property
    def busy(self) -> int:
        """How many ns all parts took."""
        marks = memoryview(self.marks).cast("q")
        return sum(marks[-_WIDTH : _BUSY - _WIDTH]) - sum(marks[:_BUSY]) if marks else 0

    def table(self) -> np.ndarray:
        """Return a row for each part: its busy classes, messages, bytes, touched, held."""
        marks = np.frombuffer(self.marks, np.int64).reshape(-1, _WIDTH)
        found = marks[:-1].copy()
        found[:, :-1] = marks[1:, :-1] - marks[:-1, :-1]
        return found

    def rows(self, n: int) -> np.ndarray:
        """Return the numbers of a CommandTime for each of ``n`` commands.

        The commands of a part share what it took in equal parts.
        """
        found = np.zeros((n, _WIDTH - 2), np.int64)
        commands = [_commands_of(part) for part in self.parts]
        parts = [i for i, of in enumerate(commands) if of]
        if parts:
            totals = self.table()[parts, :-2]
            lengths = np.array([len(commands[i]) for i in parts])
            each, rest = np.divmod(totals, lengths[:, None])
            members = np.concatenate([commands[i] for i in parts])
            np.add.at(found, members, np.repeat(each, lengths, axis=0))
            np.add.at(found, members[np.cumsum(lengths) - 1], rest)
        return found


class Log:
    """Takes down on an engine what the parts of a batch take, from now on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks = array("q")
        self._parts: list[Ints] = []
        self._waits = array("q")
        self._sent = array("q")
        if clock.waits or clock.sent:
            clock.forget_peers()
        self.begin(DECODE)
        self._start = clock.now

    def begin(self, part: Ints, held: int = 0, to: int = OVERHEAD) -> None:
        """End the part that runs, and begin another one in class ``to``; END is none."""
        clock = self._clock
        clock.switch(to)
        compute, waiting, transfer, overhead, _ = clock.spent
        counts = clock.messages, clock.bytes, clock.touched
        self._marks.extend((compute, waiting, transfer, overhead, *counts, held))
        if clock.waits or clock.sent:
            self._note_peers(len(self._parts) - 1)
        self._parts.append(part)

    def _note_peers(self, part: int) -> None:
        """Take down what a part had to do with other ranks."""
        for peer, ns in self._clock.waits.items():
            self._waits.extend((part, peer, ns))
        for peer, (messages, nbytes) in self._clock.sent.items():
            self._sent.extend((part, peer, messages, nbytes))
        self._clock.forget_peers()

    def times(self) -> Times:
        """Return all, after the end of the last part."""
        numbers = [each.tobytes() for each in (self._marks, self._waits, self._sent)]
        return Times(self._start, tuple(self._parts[:-1]), *numbers)


# -- steps -------------------------------------------------------------------------------------


def steps(
    ranks: Sequence[Times], zeros: Sequence[int], name: Callable[[int], tuple[str, str]]
) -> list[Step]:
    """Return the steps of a batch.

    Parameters
    ----------
    ranks
        What each rank recorded.
    zeros
        When the window began, by each rank's clock.
    name
        Gives operation and source line of a command, by its number.
    """
    columns = [_spans(times, zero) for times, zero in zip(ranks, zeros, strict=True)]
    ends = [times.start - zero for times, zero in zip(ranks, zeros, strict=True)]
    found = []
    for part in _order(columns):
        held, spans = [], []
        for rank, column in enumerate(columns):
            here = column.get(part)
            if here is None:  # it has failed, or did not have to do this
                here = 0, Span(ends[rank], ends[rank], CommandTime(0, 0, 0, 0, 0, 0))
            held.append(here[0])
            spans.append(here[1])
            ends[rank] = here[1].end
        names = _OTHERS.get(part) or tuple(map(name, _commands_of(part)))
        found.append(Step(names, tuple(held), tuple(spans)))
    return found


def _order(columns: Sequence[dict[Ints, Any]]) -> list[Ints]:
    """Return all parts in their order; a rank that failed, or does more, has others."""
    order = list(columns[0])
    for column in columns[1:]:
        if list(column) != order:
            at = 0
            for part in column:
                if part not in order:
                    order.insert(at, part)
                at = order.index(part) + 1
    return order


def _spans(times: Times, zero: int) -> dict[Ints, tuple[int, Span]]:
    """Return, for each part, how many elements are held and what was done."""
    waits = _by_part(times.waits, 3)
    sent = _by_part(times.sent, 4)
    at, found = times.start - zero, {}
    for number, (part, row) in enumerate(zip(times.parts, times.table().tolist(), strict=True)):
        *time, touched, held = row
        end = at + sum(time[:_BUSY])
        peers = waits.get(number, ()), sent.get(number, ())
        found[part] = held, Span(at, end, CommandTime._make(time), touched, *peers)
        at = end
    return found


def _by_part(numbers: bytes, width: int) -> dict[int, Any]:
    """Return the rows of each part, without its number."""
    found: dict[int, Any] = {}
    for part, *row in np.frombuffer(numbers, np.int64).reshape(-1, width).tolist():
        found[part] = (*found.get(part, ()), tuple(row))
    return found


# -- sums --------------------------------------------------------------------------------------


class Sums:
    """What commands took, added up by their keys: for each key the calls, and a row for each rank.

    >>> clock = Clock()
    >>> log = Log(clock)
    >>> log.begin((0, 1))
    >>> log.begin(END)
    >>> sums = Sums()
    >>> sums.add(["add", "copy"], [log.times()])
    >>> [(op, calls) for op, calls, _ in sums.items()]
    [('add', 1), ('copy', 1)]
    """

    def __init__(self) -> None:
        self.found: dict[Any, tuple[int, np.ndarray]] = {}

    def add(self, keys: Sequence[Hashable], ranks: Sequence[Times]) -> None:
        """Add a batch; ``keys`` has one for each command, None where it does not count."""
        rows = np.stack([times.rows(len(keys)) for times in ranks], axis=1)
        where: dict[Any, list[int]] = {}
        for i, key in enumerate(keys):
            where.setdefault(key, []).append(i)
        where.pop(None, None)
        for key, of in where.items():
            calls, total = self.found.get(key, (0, 0))
            self.found[key] = calls + len(of), total + rows[of].sum(axis=0)

    def items(self) -> Iterator[tuple[Any, int, np.ndarray]]:
        """Yield keys, calls, and their rows."""
        for key, (calls, rows) in self.found.items():
            yield key, calls, rows

    @staticmethod
    def joined(parts: Sequence[Sums]) -> Sums:
        """Return the sums of what each of some ranks has for itself."""
        found = Sums()
        nothing = 0, np.zeros((1, len(CommandTime._fields)), np.int64)
        for key in dict.fromkeys(key for part in parts for key in part.found):
            calls, rows = zip(*(part.found.get(key, nothing) for part in parts), strict=True)
            found.found[key] = max(calls), np.concatenate(rows)
        return found

    def op_times(self, name: Callable[[Any], tuple[str, str]]) -> tuple[OpTime, ...]:
        """Return a row for each operation and source line, those that took longest first."""
        named: dict[tuple[str, str], tuple[int, Any]] = {}
        for key, calls, rows in self.items():
            before, total = named.get(name(key), (0, 0))
            named[name(key)] = before + calls, total + rows
        found = [
            OpTime(op, line, calls, tuple(CommandTime(*row) for row in rows.tolist()))
            for (op, line), (calls, rows) in named.items()
        ]
        return tuple(sorted(found, key=lambda o: -max(sum(r[:_BUSY]) for r in o.ranks)))


# -- clocks ------------------------------------------------------------------------------------


def clock_offset(seen: Iterable[tuple[int, int, int, int]]) -> tuple[int, int]:
    """Return by how much another clock is ahead, and how wrong that may be.

    ``seen`` are round trips: when something was sent and when its answer was there, by the own
    clock; when it arrived and when the answer left, by the other. Nothing comes before it was sent,
    so each round trip says between which bounds the difference is.

    >>> clock_offset([(0, 10, 1003, 1008), (100, 104, 1103, 1103)])
    (1001, 2)
    """
    rows = list(seen)
    high = min(arrived - sent for sent, _, arrived, _ in rows)
    low = max(left - there for _, there, _, left in rows)
    return (low + high) // 2, -(-abs(high - low) // 2)
