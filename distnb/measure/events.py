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
from typing import Any, NamedTuple

import numpy as np

from distnb.measure.advice import Advised
from distnb.measure.metrics import CLASSES

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
    "Moment",
    "Notebook",
    "OpTime",
    "OwnLine",
    "Report",
    "Span",
    "Step",
    "bandwidth",
    "clock_name",
    "delayed",
]

COMPUTE, WAITING, TRANSFER, OVERHEAD, IDLE = range(5)


class Clock:
    """Books every instant to one class; switching costs about 0.15 us.

    >>> clock = Clock()
    >>> before = clock.switch(COMPUTE)
    >>> a, b = clock.read(), clock.read()
    >>> sum(b.spent) - sum(a.spent) == b.now - a.now
    True

    Attributes
    ----------
    now : int
        When the class was switched last, by ``perf_counter_ns``.
    touched : int
        Bytes that computing read and wrote.
    waits : dict
        Rank -> ns for which it was waited for, since these were last forgotten.
    sent : dict
        Rank -> (messages, bytes) that it was sent since then.
    bytes, in_place : int
        Bytes that went to others, and those of them that are no message between engines: what
        others of the node read where it is, and what the notebook gets.
    filed : tuple of int
        Number of the last command that read or wrote a file, bytes that it did, and those that it
        will do in all, 0 if nobody knows.
    """

    __slots__ = (
        *("_sent", "_waits", "bytes", "current", "filed", "in_place", "messages", "now", "origin"),
        *("sent", "spent", "touched", "waits"),
    )

    def __init__(self) -> None:
        self.spent = [0, 0, 0, 0, 0]
        self.current = IDLE
        self.messages = 0
        self.bytes = 0
        self.in_place = 0
        self.touched = 0
        self.filed = (0, 0, 0)
        self.waits: dict[int, int] = {}
        self.sent: dict[int, tuple[int, int]] = {}
        #: The same before that.
        self._waits: dict[int, int] = {}
        self._sent: dict[int, tuple[int, int]] = {}
        #: When it started: what is booked adds up to the time since then.
        self.origin = self.now = perf_counter_ns()

    def switch(self, to: int) -> int:
        """Book the time since the last switch, go on in class ``to``, return the class before."""
        now = perf_counter_ns()
        before = self.current
        self.spent[before] += now - self.now
        self.now = now
        self.current = to
        return before

    def waited(self, peer: int, ns: int) -> None:
        """Note for whom the engine waited: part of the time in class ``waiting``."""
        self.waits[peer] = self.waits.get(peer, 0) + ns

    def send(self, peer: int, nbytes: int, in_place: int = 0) -> None:
        """Count a message, or that a peer is to read ``in_place`` bytes where they are."""
        self.messages += 1
        moved = in_place or nbytes
        self.bytes += moved
        self.in_place += in_place
        messages, total = self.sent.get(peer, (0, 0))
        self.sent[peer] = messages + 1, total + moved

    def hand_over(self, nbytes: int) -> None:
        """Count bytes that go to the notebook, with a reply or into its memory."""
        self.bytes += nbytes
        self.in_place += nbytes

    def forget_peers(self) -> None:
        """Begin anew with ``waits`` and ``sent``; the account keeps their sums."""
        for peer, ns in self.waits.items():
            self._waits[peer] = self._waits.get(peer, 0) + ns
        for peer, counts in self.sent.items():
            messages, nbytes = self._sent.get(peer, (0, 0))
            self._sent[peer] = messages + counts[0], nbytes + counts[1]
        self.waits.clear()
        self.sent.clear()

    def read(self) -> Account:
        """Return the account up to now; between batches, for it forgets peers."""
        self.switch(self.current)
        self.forget_peers()
        waits = tuple(sorted(self._waits.items()))
        sent = tuple(sorted((peer, *counts) for peer, counts in self._sent.items()))
        totals = self.messages, self.bytes, self.touched
        account = Account(self.now, tuple(self.spent), *totals, waits, sent)
        return account._replace(in_place=self.in_place, delayed=delayed())

    def peek(self) -> Account:
        """Return the account up to now, for another thread: nothing is booked.

        What is not booked yet goes to the current class; a switch in between is mended in the next.
        """
        spent = self.spent.copy()
        now = perf_counter_ns()
        spent[self.current] += now - self.origin - sum(spent)
        return Account(now, tuple(spent), self.messages, self.bytes)


class Account(NamedTuple):
    """An engine's totals since it was attached, or in a window.

    ``spent`` has the nanoseconds in each class; ``messages`` and ``bytes`` were sent, ``touched``
    bytes were read and written by computing. ``waits`` has (rank waited for, ns), which add up to
    the time in class ``waiting``, and ``sent`` has (rank, messages, bytes). Of the bytes, ranks of
    a node read ``in_place`` where they are, or the notebook got them. ``delayed`` are nanoseconds
    in which the engine could have run, but other work had the cores.
    """

    now: int
    spent: tuple[int, ...]
    messages: int
    bytes: int
    touched: int = 0
    waits: tuple[tuple[int, int], ...] = ()
    sent: tuple[tuple[int, int, int], ...] = ()
    in_place: int = 0
    delayed: int = 0

    def since(self, before: Account) -> Account:
        """Return what was added since ``before``; ``now`` is the length of the window."""
        spent = tuple(a - b for a, b in zip(self.spent, before.spent, strict=True))
        return Account(
            self.now - before.now,
            spent,
            self.messages - before.messages,
            self.bytes - before.bytes,
            self.touched - before.touched,
            _added(self.waits, before.waits),
            _added(self.sent, before.sent),
            self.in_place - before.in_place,
            self.delayed - before.delayed,
        )


def _added(rows: Any, before: Any) -> Any:
    """Return rows (rank, number, ...) less those before; without the ranks where nothing is new."""
    known = {rank: numbers for rank, *numbers in before}
    found = []
    for rank, *numbers in rows:
        old = known.get(rank, (0,) * len(numbers))
        new = tuple(a - b for a, b in zip(numbers, old, strict=True))
        if any(new):
            found.append((rank, *new))
    return tuple(found)


class CommandTime(NamedTuple):
    """One command on one rank: nanoseconds in each busy class, messages and bytes sent."""

    compute: int
    waiting: int
    transfer: int
    overhead: int
    messages: int
    bytes: int


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

    The busy classes of ``time`` add up to ``end - start``. ``touched`` counts the bytes that
    computing read and wrote, each element once. ``waits`` has (rank waited for, ns), which add up
    to ``time.waiting``, and ``sent`` has (rank, messages, bytes), each rank once, with what ranks
    of the node read in place.
    """

    start: int
    end: int
    time: CommandTime
    touched: int = 0
    waits: tuple[tuple[int, int], ...] = ()
    sent: tuple[tuple[int, int, int], ...] = ()


class Step(NamedTuple):
    """A command, or several that ran in one go, on all ranks.

    ``names`` has the (operation, source line) of each command. ``held`` has the elements that each
    rank holds of what the step works on: of what it writes, or of what it reduces or only reads.
    Each batch begins with a step ``decode`` and ends, if anything may have failed, with ``agree``:
    no commands, but what engines do to know what to run, and to tell each other what failed.
    Ranks that had no part in a step have a span of no length.
    """

    names: tuple[tuple[str, str], ...]
    held: tuple[int, ...]
    spans: tuple[Span, ...]


class Moment(NamedTuple):
    """What the notebook did up to a moment, all in ns: see :class:`Notebook`."""

    at: int
    computed: int
    collected: int
    disk: int
    waited: int = 0
    tried: int = 0

    def since(self, before: Moment) -> Moment:
        """Return what was added since ``before``."""
        return Moment(*(a - b for a, b in zip(self, before, strict=True)))


class OwnLine(NamedTuple):
    """A line of the user's on which the notebook was, without waits for engines and the disk.

    For ``seconds`` it was there, of which it ``computed`` by itself for some: else it slept, had no
    core, or waited for threads of libraries and other programs.
    """

    line: str
    seconds: float
    computed: float


class Notebook(NamedTuple):
    """What the notebook itself did in a window, in seconds.

    It ``computed`` (its own steps, on arrays in reach; recording; all other Python), and of that
    time it ``collected`` garbage. Apart from that, arrays went to ``disk`` and came back, where
    memory was full, and it ``waited`` for engines (None: unknown); what is left was no work of
    distnb's that took a core: it slept, or did other things. For so long it ``tried`` functions of
    the user's, to find the dtypes of their results. Between two of the ``moments``, which begin
    with the window and end with it, it did one thing. The ``lines`` are those that it was seen on,
    now and then: what was too short for that is on none of them.
    """

    computed: float
    collected: float = 0.0
    disk: float = 0.0
    moments: tuple[Moment, ...] = ()
    waited: float | None = None
    tried: float = 0.0
    lines: tuple[OwnLine, ...] = ()

    def apart(self, starts: np.ndarray, ends: np.ndarray) -> float:
        """Return the seconds between instants (ns) when it neither waited nor was at the disk.

        >>> did = Notebook(0, moments=(Moment(0, 0, 0, 0), Moment(8, 0, 0, 0, 4)), waited=4e-9)
        >>> did.apart(np.array([2]), np.array([4]))
        1e-09
        """
        if self.waited is None or not self.moments:
            return 0.0
        at = [m.at for m in self.moments]
        gone = [m.waited + m.disk for m in self.moments]
        there = np.interp(ends, at, gone) - np.interp(starts, at, gone)
        return float((ends - starts - there).sum()) / 1e9

    def until(self, times: np.ndarray) -> np.ndarray:
        """Return the ns of (computing, disk), shape (n, 2), up to n instants of the window.

        >>> did = Notebook(2e-9, moments=(Moment(0, 0, 0, 0), Moment(4, 2, 0, 0)))
        >>> did.until(np.array([0, 2, 4])).tolist()
        [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
        """
        if not self.moments:
            return np.zeros((len(times), 2))
        at, computed, _, disk, *_ = zip(*self.moments, strict=True)
        return np.column_stack([np.interp(times, at, did) for did in (computed, disk)])


@dataclass(frozen=True)
class Report(Advised):
    """Where the time of a window went, engine by engine and operation by operation.

    What follows from these numbers is there, too: see :class:`~distnb.measure.metrics.Metrics` and
    :class:`~distnb.measure.advice.Advised`.

    Attributes
    ----------
    wall : float
        Length of the window on the client, in seconds.
    engines : tuple of Account
        What each engine spent in the window; ``sum(e.spent) == e.now`` exactly, the wall time in
        nanoseconds.
    ops : tuple of OpTime
        The operations of the window, the most expensive first.
    commands : int
        Commands recorded in the window.
    batches : int
        Messages from the client to each engine.
    steps : tuple of Step
        What ran, in order.
    dropped : int
        Steps of a long window that came after these; they are only in ``engines`` and ``ops``.
    clock_error : float
        Seconds by which the times of engines on other hosts may be wrong, against the client's.
    memory_bandwidth : float or None
        Bytes that an engine reads and writes in a second when all copy memory at once, if known.
    notebook : Notebook or None
        What the notebook itself did; None where it is one with an engine.
    notes : tuple of str
        What the session did by itself: arrays that it cut anew, why, and what that brought.
    """

    wall: float
    engines: tuple[Account, ...]
    ops: tuple[OpTime, ...]
    commands: int
    batches: int
    steps: tuple[Step, ...] = ()
    dropped: int = 0
    clock_error: float = 0.0
    memory_bandwidth: float | None = None
    notebook: Notebook | None = None
    notes: tuple[str, ...] = ()

    @property
    def imbalance(self) -> float:
        """Greatest over mean compute time of the engines; 1.0 is perfect."""
        return imbalance([e.spent[COMPUTE] for e in self.engines])

    def share(self, cls: int) -> float:
        """Return the share of the engines' time that was spent in a class, 0 to 1."""
        whole = sum(e.now for e in self.engines)
        return sum(e.spent[cls] for e in self.engines) / whole if whole else 0.0


def clock_name() -> str:
    """Return what names the clock of ``perf_counter_ns``: all processes of a host share it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as name:
            return name.read().strip()
    except OSError:
        import socket

        return socket.gethostname()


def delayed() -> int:
    """Return for how long this thread could have run, but did not get a core (ns); 0 if unknown."""
    try:
        with open("/proc/thread-self/schedstat") as numbers:
            return int(numbers.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


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
    sent, spent = (
        sum(e.bytes - e.in_place for e in engines),
        sum(e.spent[TRANSFER] for e in engines),
    )
    return sent / spent * 1e9 if sent >= 1 << 20 and spent else None
