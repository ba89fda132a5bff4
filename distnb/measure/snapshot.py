"""What engines tell of themselves while they work, and what the client makes of it.

Nothing here waits for a batch: an engine says it when it is asked, in the middle of a command too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from distnb.measure.events import CLASSES, Account
from distnb.measure.quantities import duration, size_text

__all__ = ["SILENT", "Engine", "Live", "Sample"]

#: Seconds without an answer after which an engine counts as silent.
SILENT = 2.0


class Sample(NamedTuple):
    """What an engine says of itself at one instant.

    Attributes
    ----------
    account : Account
        Its account up to now.
    cpu : int
        Nanoseconds that its process has had of cores, all threads together.
    batch : int
        The last batch that it began, as the client numbers them.
    left : int
        Commands of that batch that are not done.
    running : tuple of int
        Numbers within the batch of the commands that run now, in one go.
    held, pooled : int
        Bytes of the session's blocks, and of freed memory that is kept for others.
    resident, free : int
        Bytes of its process, and of memory that its node can still give; 0 if unknown.
    threads : int
        Threads of its process, sleeping ones too; 0 if unknown.
    filed : tuple of int
        Of the last command that read or wrote a file its number, the bytes that this engine did,
        and those that it will do in all, 0 if nobody knows.
    """

    account: Account
    cpu: int
    batch: int
    left: int
    running: tuple[int, ...]
    held: int
    pooled: int
    resident: int
    free: int
    threads: int
    filed: tuple[int, int, int] = (0, 0, 0)


class Engine(NamedTuple):
    """An engine as the client sees it.

    Attributes
    ----------
    rank : int
        Its rank.
    alive : bool
        Whether its process is there.
    silence : float
        Seconds for which it has not answered; 0.0 if it has just done so.
    left : int
        Commands that are recorded and not done by it, as far as the client knows.
    running : str
        What it runs, with the source line; "" if nothing.
    sample : Sample or None
        The last that it said; None where it cannot be asked.
    """

    rank: int
    alive: bool
    silence: float
    left: int
    running: str
    sample: Sample | None

    @property
    def state(self) -> str:
        """Return "alive", "dead", or for how long it has been silent.

        >>> Engine(0, True, 3.2, 0, "", None).state
        'silent for 3 s'
        """
        if not self.alive:
            return "dead"
        return f"silent for {self.silence:.0f} s" if self.silence >= SILENT else "alive"


class Live(NamedTuple):
    """A session at one instant, as :meth:`distnb.Session.live` returns it.

    Attributes
    ----------
    road : str
        How batches get to the engines.
    engines : tuple of Engine
        Each engine, by rank; under SPMD this process only.
    recorded : int
        Commands that were recorded so far.
    queued : int
        Commands of these that are not sent yet.
    recover : str
        What becomes of engines that die, as ``config.recover``; "never" if there can be no others,
        "theirs" if the user has to start them.
    """

    road: str
    engines: tuple[Engine, ...]
    recorded: int
    queued: int
    recover: str = "never"

    @property
    def left(self) -> int:
        """Commands that are not done on all engines."""
        return max((e.left for e in self.engines), default=0)

    @property
    def slowest(self) -> Engine | None:
        """The engine that has most left to do; None if they are level."""
        lefts = [e.left for e in self.engines]
        if len(set(lefts)) < 2:
            return None
        return self.engines[lefts.index(max(lefts))]

    @property
    def running(self) -> str:
        """What the engines are at: the slowest one's command, with its source line."""
        slowest = self.slowest
        those = self.engines if slowest is None else (slowest,)
        return next((e.running for e in those if e.running), "")

    @property
    def filed(self) -> tuple[int, int, int] | None:
        """The command that some engine reads or writes a file for; its bytes, done and in all.

        The last is 0 if nobody knows. None if no engine is at a file.
        """
        found = [e.sample.filed for e in self.engines if e.sample is not None]
        number = max((n for n, _, _ in found), default=0)
        those = [(done, total) for n, done, total in found if n == number]
        if not self.running or all(done == total for done, total in those):
            return None
        dones, totals = zip(*those, strict=True)
        return number, sum(dones), sum(totals) if all(totals) else 0

    def __repr__(self) -> str:
        alive = sum(e.alive for e in self.engines)
        done = self.recorded - self.left
        lines = [
            f"{alive} of {len(self.engines)} engines alive, {self.road}: "
            f"{done:,} of {self.recorded:,} commands done, {self.queued:,} not sent"
        ]
        lines += _columns([_HEAD, *map(_entries, self.engines)])
        lines += [f"engine {e.rank} runs {e.running}" for e in self.engines if e.running]
        return "\n".join(lines)


_HEAD = ("engine", "state", "left", "arrays", "pool", "process", "free", *CLASSES)


def _entries(engine: Engine) -> tuple[str, ...]:
    start = (str(engine.rank), engine.state, f"{engine.left:,}")
    sample = engine.sample
    if sample is None:
        return (*start, *["?"] * (len(_HEAD) - 3))
    sizes = (sample.held, sample.pooled, sample.resident, sample.free)
    seconds = (duration(ns / 1e9) for ns in sample.account.spent)
    return (*start, *map(size_text, sizes), *seconds)


def _columns(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.rjust(n) for cell, n in zip(row, widths, strict=True)) for row in table]
