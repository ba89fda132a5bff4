"""What the last cell did: its commands, and what engines say they took.

Kept always, because it costs next to nothing: a batch is kept as it was sent, with the times that
come back with its replies; nothing is done for a single operation. Only so many commands of a cell
are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from distnb.client.batching.entries import Entry
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.measure.records import Times
from distnb.plans.forecast import Spec
from distnb.wire.protocol import (
    Apply,
    Ask,
    Bind,
    Collective,
    Command,
    Free,
    Lay,
    Local,
    Reduce,
)

__all__ = ["Cell", "Done", "Journal", "Named"]

#: Commands of a cell that are kept.
MOST = 1 << 13
#: Those that were done last that are kept besides.
RECENT = 1 << 12
#: Commands that are not the user's.
OURS = (Ask, Bind, Lay)
#: Commands that compute.
COMPUTING = (Apply, Collective, Local, Reduce)


class Done(NamedTuple):
    """Commands that were sent together and are done.

    ``freed`` are the bases that it dropped, ``times`` what each rank says (``Reply.times``), and
    ``seconds`` the time from when it was sent, or the one before was done, until its replies were
    taken in.
    """

    commands: tuple[Command, ...]
    freed: Ints
    times: tuple[Times, ...]
    seconds: float


class Cell:
    """What was done since a cell began.

    Attributes
    ----------
    specs : dict
        What the bases are that were there before.
    batches : list of Done
        What is done.
    kept, left : int
        How many commands are kept, and how many were left out.
    """

    def __init__(self, specs: dict[int, Spec]) -> None:
        self.specs = specs
        self.batches: list[Done] = []
        self.kept = self.left = 0
        self.began = perf_counter()
        self.ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it took, or has taken by now."""
        return (perf_counter() if self.ended is None else self.ended) - self.began

    @property
    def empty(self) -> bool:
        """Whether the user's code recorded nothing."""
        return not (self.left or any(type(c) not in OURS for b in self.batches for c in b[0]))

    @property
    def computes(self) -> bool:
        """Whether the user's code computed anything, and did not only make arrays."""
        return any(isinstance(c, COMPUTING) for c in self.commands)

    @property
    def commands(self) -> Iterator[Command]:
        """All commands that are kept, in order; after those of each batch the deletions in it."""
        return (c for b in self.batches for c in (*b.commands, Free(b.freed)))

    def add(self, batch: Done) -> None:
        """Keep a batch, if there is room."""
        if self.kept + len(batch.commands) > MOST and self.kept:
            self.left += len(batch.commands)
        else:
            self.kept += len(batch.commands)
            self.batches.append(batch)


class Journal:
    """The commands of this cell and of the last one that had any.

    Parameters
    ----------
    bases : callable
        Returns the bases on the engines.
    """

    def __init__(self, bases: Callable[[], list[Entry]]) -> None:
        self._bases = bases
        self._done = 0.0
        self._paused = False
        self._names: dict[int, Ints] = {}
        #: The batches that were done last, whatever the cell.
        self.recent: deque[Done] = deque()
        self._many = 0
        self.cell = self.last = self._computed = Cell({})
        #: Cells after the last one that asked engines for nothing.
        self._idle = 0

    def begin(self) -> None:
        """Begin a new cell."""
        self._idle += 1
        if not self.cell.empty:
            self.last, self._idle = self.cell, 0
        self.cell = Cell({b.handle: Spec(b.shape, b.dtype, b.layout) for b in self._bases()})

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take no note of what is done meanwhile."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def forget(self) -> None:
        """Keep nothing of what was done: that was by another number of engines."""
        self.recent.clear()
        self._many = 0
        self.begin()
        self.last = self._computed = self.cell

    def end(self) -> None:
        """Note that the cell has ended."""
        self.cell.ended = perf_counter()
        if self.cell.computes:
            self._computed = self.cell

    @property
    def computed(self) -> Cell:
        """The last cell that ended and computed something; the one that runs, if there is none."""
        return self._computed if self._computed.batches else self.cell

    def renamed(self, old: int, new: int) -> None:
        """Note that a base that moved has another handle."""
        self._names[new] = (*self._names.pop(old, ()), old)

    def names(self, handle: int) -> Ints:
        """Return the handles that a base has had."""
        return (*self._names.get(handle, ()), handle)

    @property
    def latest(self) -> Cell:
        """The cell that ran last and had any commands; it may be the one that runs now."""
        return self.last if self.cell.empty else self.cell

    @property
    def is_older(self) -> bool:
        """Whether cells have ended since the latest one that asked engines for nothing."""
        return self.cell.empty and self._idle > 0

    def took(
        self, sent: int, commands: tuple[Command, ...], freed: Ints, times: Sequence[Times]
    ) -> None:
        """Keep a batch whose replies have come; ``sent`` is when it left, in ns."""
        now = perf_counter()
        seconds, self._done = now - max(sent / 1e9, self._done), now
        if self._paused:
            return
        done = Done(commands, freed, tuple(times), seconds)
        self.cell.add(done)
        self.recent.append(done)
        self._many += len(commands)
        while self._many > RECENT and len(self.recent) > 1:
            self._many -= len(self.recent.popleft().commands)


class Named(dict[str, Any]):
    """The arrays of a session that were given a name; asking for another one tells which."""

    def __missing__(self, name: str) -> Any:
        known = ", ".join(map(repr, self)) or "a name that was given"
        raise KeyError(explain("session", repr(name), known, "see dnb.arrays()"))


class ByName:
    """What has arrays by names: they are read, listed and completed."""

    named: Named

    def __getitem__(self, name: str) -> Any:
        """Return the array of a name: one given here, or in the notebook that had the session."""
        return self.named[name]

    def __contains__(self, name: object) -> bool:
        return name in self.named

    def __iter__(self) -> Iterator[str]:
        """Return the names, one after the other."""
        return iter([*self.named])

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.named]
