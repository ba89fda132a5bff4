"""SPMD: ranks that do not run the same program are told of, and wait for nobody for ever.

Ranks count their steps: batches, and what they share. A rank that waits for long in one tells its
neighbours in a ring where it is. Two that are at other things in the same step raise, and so does
one whose neighbour's program has ended: if not all ranks are at the same, some neighbours differ.
What nobody waits for is found by a digest of each batch, of which ranks tell each other when they
agree on what failed.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple, NoReturn

import numpy as np

from distnb.common.errors import EngineError, explain

__all__ = ["DIGITS", "SameProgram", "Told", "differ", "digits"]

#: Stands for a batch where ranks share something else.
_SHARED = 0
#: Seconds of a wait after which a rank tells where it is.
_PATIENCE = 1.0
#: Bytes that :func:`digits` returns.
DIGITS = 8
#: Steps after which a rank hears what was said.
_HEARING = 256
#: Commands that are told of, and characters of each, of what it is given, and of a line. MPI sends
#: what is so short at once, whether or not it is ever received: nothing of it is under way when the
#: program ends.
_COMMANDS, _COMMAND, _GIVEN, _LINE = 25, 30, 20, 200
_TAG = 0
_DO = "let no branch, loop or size depend on the rank: what a rank holds of A is A.local"


class Told(NamedTuple):
    """What a person is told of a command and its arguments; a number that tells it from others."""

    text: str
    given: str
    mark: int

    def short(self) -> Told:
        """Return it with what is not too long."""
        given = self.given if len(self.given) <= _GIVEN else ""
        return Told(self.text[:_COMMAND], given, self.mark)


class _Place(NamedTuple):
    """Where a rank is: its epoch, the number of the step in that, what it does, and the line.

    ``commands`` tells of each command.
    """

    epoch: int
    step: int
    digest: int
    line: str
    commands: tuple[Told, ...]


class _End(NamedTuple):
    """A program that has ended, and the last step in which it did its part."""

    epoch: int
    step: int


class SameProgram:
    """What a rank knows of where the others are in the program that all run.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        On which nobody else sends messages to one rank.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        rank, size = comm.Get_rank(), comm.Get_size()
        self._rank = rank
        self._neighbours = sorted({(rank - 1) % size, (rank + 1) % size} - {rank})
        #: Gives the user's line that runs.
        self.line: Callable[[], str] = lambda: "a line"
        self._epoch = self._step = self._digest = 0
        self._done = _End(0, 0)
        self._commands: Callable[[], tuple[Told, ...]] = tuple
        self._since = 0.0
        self._has_told = self._has_ended = False
        #: Neighbour -> where it said that it waits, or that its program has ended.
        self._heard: dict[int, _Place | _End] = {}
        #: In what ranks differ, once this one has found that out while it waited.
        self.error: EngineError | None = None
        self._sends: list[Any] = []

    def enter(
        self, epoch: int, digest: int = _SHARED, commands: Callable[[], tuple[Told, ...]] = tuple
    ) -> None:
        """Note that a step begins; ``commands`` tells what is in it."""
        self._step = self._step + 1 if epoch == self._epoch else 0
        self._epoch, self._digest, self._commands = epoch, digest, commands
        self._since, self._has_told = 0.0, False
        if not self._step % _HEARING:  # who never waits has not asked for what others say
            self._hear()

    def leave(self) -> None:
        """Note that this rank has done its part of the step, though others may still wait."""
        self._done = _End(self._epoch, self._step)

    def look(self) -> None:
        """Raise KeyboardInterrupt if this rank waits in vain; called again and again in a wait.

        Nothing takes that for a failure of what runs. Why it came is ``error``.
        """
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since >= _PATIENCE:
            try:
                self._exchange()
            except EngineError as error:
                self.error = error
                raise KeyboardInterrupt from None

    def disagree(self) -> NoReturn:
        """Raise EngineError: ranks know that a batch was not the same everywhere."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:  # a neighbour may tell where
            self._exchange()
            time.sleep(0.001)
        got = f"on rank {self._rank} ({self.line()}) other commands than on a rank elsewhere"
        raise self._error(got)

    def _exchange(self) -> None:
        """Tell neighbours where this rank is, once, and look where they are."""
        if not self._has_told:
            self._tell(self._place())
            self._has_told = True
        for peer, place in self._heard.items():
            self._compare(peer, place)
        for peer, place in self._hear():
            self._compare(peer, place)

    def end(self) -> None:
        """Tell, once, that the program of this rank has ended."""
        from mpi4py import MPI

        atexit.unregister(self.end)
        if not (self._has_ended or MPI.Is_finalized()):
            self._has_ended = True
            self._tell(self._done)

    def _place(self) -> _Place:
        told = tuple([c.short() for c in self._commands()[:_COMMANDS]])
        return _Place(self._epoch, self._step, self._digest, self.line()[:_LINE], told)

    def _tell(self, place: _Place | _End) -> None:
        self._sends = [request for request in self._sends if not request.Test()]
        self._sends += [self._comm.isend(place, dest=peer, tag=_TAG) for peer in self._neighbours]

    def _hear(self) -> list[tuple[int, _Place | _End]]:
        """Return what neighbours have said since."""
        found = []
        while (peer := self._next()) is not None:
            self._heard[peer] = self._comm.recv(source=peer, tag=_TAG)
            found.append((peer, self._heard[peer]))
        return found

    def _next(self) -> int | None:
        found = (r for r in self._neighbours if self._comm.Iprobe(source=r, tag=_TAG))
        return next(found, None)

    def _compare(self, peer: int, place: _Place | _End) -> None:
        here, there = (self._epoch, self._step), (place.epoch, place.step)
        if isinstance(place, _End):
            if there < here:  # else its part of this step is on its way
                got = f"the end of the program on rank {peer}"
                raise self._error(f"{got}, while rank {self._rank} waits at {self.line()}")
        elif there == here and place.digest != self._digest:
            raise self._differs(peer, place)

    def _differs(self, peer: int, place: _Place) -> EngineError:
        here = self._place()
        pairs = list(zip_longest(here.commands, place.commands, fillvalue=_NOTHING))
        seen = [(a, b) for a, b in pairs if (a.text, a.given) != (b.text, b.given)]
        mine, theirs = next((p for p in seen or pairs if p[0] != p[1]), (_LATER, _LATER))
        same = mine.text == theirs.text
        shown = same and mine.given != theirs.given
        both = [(self._rank, mine, here.line), (peer, theirs, place.line)]
        said = [
            f"{told.text}{(_given(told) if shown else _OWN) * same} on rank {rank} ({line})"
            for rank, told, line in sorted(both)
        ]
        return self._error(", ".join(said))

    def _error(self, got: str) -> EngineError:
        return EngineError(explain("SPMD", got, "the same commands on all ranks", _DO))


#: What is said of what a command is given where that is long, or a layout, or a function.
_OWN = " with arguments of its own"
#: Stand for a command where there is none, and for one after those that are told of.
_NOTHING, _LATER = Told("nothing more", "", 0), Told("a later command", "", 0)


def _given(told: Told) -> str:
    return f" given {told.given}" if told.given else _OWN


def digits(digest: int) -> np.ndarray:
    """Return a digest as bytes whose union with those of other digests tells that they differ."""
    return np.array([digest, ~digest & 0xFFFFFFFF], np.uint32).view(np.uint8)


def differ(union: np.ndarray) -> bool:
    """Tell whether bytes are the union of those of several digests.

    >>> differ(digits(5) | digits(5)), differ(digits(5) | digits(7))
    (False, True)
    """
    digest, complement = union.view(np.uint32).tolist()
    return bool(digest & complement)
