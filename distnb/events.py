"""Where the time went: the closed account of every engine, and records of every command.

Every instant of an engine is in exactly one class, so the classes add up to the wall time:

========== =====================================================
compute    computing elements
waiting    blocking: waiting for a partner's message to arrive
transfer   blocking: moving bytes
overhead   bookkeeping in the engine: decoding, planning, memory
idle       no command to work on
========== =====================================================

*Blocking* is waiting plus transfer, as in DistNumPy (Kristensen and Vinter 2012, section VI).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np

__all__ = [
    "CLASSES",
    "COMPUTE",
    "IDLE",
    "OVERHEAD",
    "TRANSFER",
    "WAITING",
    "Account",
    "Clock",
    "CommandTime",
    "OpTime",
    "Report",
    "Span",
    "Step",
    "Times",
    "bandwidth",
    "summarise",
]

COMPUTE, WAITING, TRANSFER, OVERHEAD, IDLE = range(5)
CLASSES = ("compute", "waiting", "transfer", "overhead", "idle")


class Clock:
    """Books every instant to one class; switching costs about 0.15 us.

    >>> clock = Clock()
    >>> before = clock.switch(COMPUTE)
    >>> a, b = clock.read(), clock.read()
    >>> sum(b.spent) - sum(a.spent) == b.now - a.now
    True
    """

    __slots__ = ("_last", "bytes", "current", "messages", "spent")

    def __init__(self) -> None:
        self.spent = [0, 0, 0, 0, 0]
        self.current = IDLE
        self.messages = 0
        self.bytes = 0
        self._last = perf_counter_ns()

    def switch(self, to: int) -> int:
        """Book the time since the last switch, go on in class ``to``, return the class before."""
        now = perf_counter_ns()
        before = self.current
        self.spent[before] += now - self._last
        self._last = now
        self.current = to
        return before

    def mark(self) -> tuple[int, int, int, int, int, int]:
        """Return the totals that :class:`CommandTime` has, as one plain tuple (half a us)."""
        self.switch(self.current)
        compute, waiting, transfer, overhead, _ = self.spent
        return compute, waiting, transfer, overhead, self.messages, self.bytes

    def read(self) -> Account:
        """Return the account up to now."""
        self.switch(self.current)
        return Account(self._last, tuple(self.spent), self.messages, self.bytes)


class Account(NamedTuple):
    """An engine's totals since it was attached: nanoseconds in each class, messages, bytes sent."""

    now: int
    spent: tuple[int, ...]
    messages: int
    bytes: int

    def since(self, before: Account) -> Account:
        """Return what was added since ``before``; ``now`` is the length of the window."""
        spent = tuple(a - b for a, b in zip(self.spent, before.spent, strict=True))
        return Account(
            self.now - before.now,
            spent,
            self.messages - before.messages,
            self.bytes - before.bytes,
        )


class CommandTime(NamedTuple):
    """One command on one rank: nanoseconds in each busy class, messages and bytes sent."""

    compute: int
    waiting: int
    transfer: int
    overhead: int
    messages: int
    bytes: int


class Times(NamedTuple):
    """What the commands of a batch took on one rank, as it travels.

    ``marks`` are a clock's totals after each part of the batch that ran in one go, and ``shares``
    the commands that share it; -1 stands for everything that is no command. The first is the start.

    >>> marks = ((1, 0, 0, 0, 0, 0), (10, 0, 0, 1, 0, 0), (14, 0, 0, 1, 0, 0))
    >>> Times(((), (0, 2), (1,)), marks).rows(3).tolist()
    [[4, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0], [5, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]]
    """

    shares: tuple[Sequence[int], ...]
    marks: tuple[Sequence[int], ...]

    def rows(self, n: int) -> np.ndarray:
        """Return a row for each of ``n`` commands, in equal parts, and one for everything else."""
        found = np.zeros((n + 1, 6), np.int64)
        for of, total in zip(self.shares[1:], np.diff(self.marks, axis=0), strict=True):
            found[list(of)] += total // len(of)
            found[of[-1]] += total % len(of)
        return found


class OpTime(NamedTuple):
    """All calls of one operation on one source line: per-rank sums of CommandTime."""

    op: str
    line: str
    calls: int
    ranks: tuple[CommandTime, ...]

    @property
    def imbalance(self) -> float:
        """Greatest over mean compute time; 1.0 is perfect."""
        return imbalance([r.compute for r in self.ranks])


class Span(NamedTuple):
    """What one rank did of a step; times in ns, ``start`` and ``end`` since the window began.

    ``touched`` counts the bytes that computing read and wrote, ``waits`` has (rank waited for, ns)
    and ``sent`` has (rank, messages, bytes), each rank once.
    """

    start: int
    end: int
    time: CommandTime
    touched: int = 0
    waits: tuple[tuple[int, int], ...] = ()
    sent: tuple[tuple[int, int, int], ...] = ()


class Step(NamedTuple):
    """A command, or several that ran in one go, on all ranks.

    ``names`` has the (operation, source line) of each command, ``held`` the elements that each rank
    holds of what the step writes (of what it reads, where it writes nothing).
    """

    names: tuple[tuple[str, str], ...]
    held: tuple[int, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Report:
    """Where the time of a window went, engine by engine and operation by operation.

    Attributes
    ----------
    wall : float
        Length of the window on the client, in seconds.
    engines : tuple of Account
        What each engine spent in the window; ``sum(e.spent) == e.now`` exactly.
    ops : tuple of OpTime
        The operations of the window, the most expensive first.
    commands : int
        Commands recorded in the window.
    batches : int
        Messages from the client to each engine.
    steps : tuple of Step
        What ran, in order.
    """

    wall: float
    engines: tuple[Account, ...]
    ops: tuple[OpTime, ...]
    commands: int
    batches: int
    steps: tuple[Step, ...] = ()

    @property
    def imbalance(self) -> float:
        """Greatest over mean compute time of the engines; 1.0 is perfect."""
        return imbalance([e.spent[COMPUTE] for e in self.engines])

    def share(self, cls: int) -> float:
        """Return the share of the engines' time that was spent in a class, 0 to 1."""
        whole = sum(e.now for e in self.engines)
        return sum(e.spent[cls] for e in self.engines) / whole if whole else 0.0


def imbalance(values: Sequence[int]) -> float:
    """Return max / mean, and 1.0 where there is nothing.

    >>> imbalance([3, 1])
    1.5
    """
    total = sum(values)
    return max(values) * len(values) / total if total else 1.0


def bandwidth(engines: Sequence[Account]) -> float | None:
    """Return the bytes that an engine sends in a second of transfer; None for too few to tell.

    >>> bandwidth([Account(10**9, (0, 0, 10**7, 0, 0), 4, 10**7)])
    1000000000.0
    """
    sent, spent = sum(e.bytes for e in engines), sum(e.spent[TRANSFER] for e in engines)
    return sent / spent * 1e9 if sent >= 1 << 20 and spent else None


def summarise(
    records: Sequence[tuple[str, str, Sequence[CommandTime]]],
) -> tuple[OpTime, ...]:
    """Sum the records (op, line, time on each rank) of commands by op and line."""
    sums: dict[tuple[str, str], list[list[int]]] = {}
    calls: dict[tuple[str, str], int] = {}
    for op, line, ranks in records:
        rows = sums.setdefault((op, line), [[0] * 6 for _ in ranks])
        calls[op, line] = calls.get((op, line), 0) + 1
        for row, time in zip(rows, ranks, strict=True):
            for i, value in enumerate(time):
                row[i] += value
    found = [
        OpTime(op, line, calls[op, line], tuple(CommandTime(*r) for r in rows))
        for (op, line), rows in sums.items()
    ]
    return tuple(sorted(found, key=lambda o: -max(sum(r[:4]) for r in o.ranks)))
