"""When a batch has enough to do: where a loop comes round again, so that it ends there.

Batches of whole rounds are the same again and again, and engines know them
(:mod:`distnb.engines.worker.plan_cache`); and what one operation makes for the next one is in the
same batch, so that it need not be stored. For the same reasons rounds are taken by one, two, four
and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from operator import eq
from typing import Any, TypeAlias

from distnb.geometry.views import View
from distnb.wire.protocol import Command, Create

__all__ = ["Rounds"]

#: An operation, its line, and what it reads.
Mark: TypeAlias = tuple[str, int, list[tuple[View, bool]]]

#: Commands that are seldom enough.
_FEW = 8
#: How many looks whether commands are enough are made until there are twice as many, about.
_LOOKS = 4
#: How many times as much as a batch leaves although no round ends.
_OVERFULL = 4
#: Ways to create a base in which engines have nothing to do.
_NOTHING = frozenset(("at", "empty", "lost", "room", "same"))
#: How many lengths of a round are tried, and up to which.
_TRIED, _LONGEST = 32, 256


class Rounds:
    """Tells when what is pending is to leave.

    Parameters
    ----------
    filled : callable, optional
        Returns what share of a batch so many commands are that are pending. Without it a batch
        never has enough to do.

    Attributes
    ----------
    look : int
        From how many commands on it is to be asked. A batch begins with ``first``.
    first : int
        Where to look first in a batch: earlier, if the one before was full with few commands.
    wanted : int
        How many operations are to follow until it leaves; 0 as it begins.
    """

    def __init__(self, filled: Callable[[int], float] | None) -> None:
        self._filled = filled
        self.first = self.look = sys.maxsize if filled is None else _FEW
        self.wanted = 0
        #: The round that was found last.
        self._round: list[Mark] = []

    def is_full(self, count: int, added: Iterable[Command], pending: Iterable[Command]) -> bool:
        """Tell whether what is pending is to leave: if it is enough, when a round ends.

        ``count``: how many commands are pending, but for deletions; ``added``: the last of them.
        """
        if self.wanted:
            self.wanted -= min(self.wanted, len(operations(added)))
            return not self.wanted or self._share(count) >= _OVERFULL
        self.look = count + 1 + count // _LOOKS
        filled = self._share(count)
        if filled < 1:
            self.first = _FEW
            return False
        self.first = max(1, min(count, _FEW) // 2)
        marks = operations(pending)
        length, covered = len(self._round), len(marks)
        if marks != self._round[:covered]:
            length, covered = period(marks)
            self._round = marks[len(marks) - covered :][:length]
        if not length:
            return filled >= _OVERFULL
        self.look, self.wanted = count, missing(length, covered)
        return not self.wanted

    def _share(self, count: int) -> float:
        return 0.0 if self._filled is None else self._filled(count)


def operations(commands: Iterable[Command]) -> list[Mark]:
    """Return operations and their lines, but for what only makes or drops bases, or reads.

    Of each the views that it reads, and whether they are of what the one before has made.
    """
    found, made = list[Mark](), tuple[int, ...]()
    for command in commands:
        op = command.how[0] if isinstance(command, Create) else getattr(command, "op", "")
        if op and op not in _NOTHING:
            read = [(x.view, x.base in made) for x in command.reads]
            found.append((op, getattr(command, "site", 0), read))
            made = command.writes
    return found


def period(marks: Sequence[Any]) -> tuple[int, int]:
    """Return the length of a round at the end of a sequence, and how much of that is rounds.

    Both are 0 if nothing comes again. If there is something else before, but for the first one, of
    which nobody knows what it reads, it must come four times: an operation may do so in a round.

    Examples
    --------
    >>> period("abbcabbca"), period("xxabb"), period("xxabababab")
    ((4, 9), (0, 0), (2, 8))
    """
    backwards, best = marks[::-1], (0, 0)
    same = (i for i in range(1, min(len(marks), _LONGEST)) if backwards[i] == backwards[0])
    for length in islice(same, _TRIED):
        pairs = map(eq, backwards, islice(backwards, length, None))
        covered = length + sum(takewhile(bool, pairs))
        if covered >= len(marks) - 1:
            covered = len(marks)
        times = 2 if covered == len(marks) else 4
        if covered >= times * length and covered > best[1]:
            best = length, covered
    return best


def missing(length: int, covered: int) -> int:
    """Return how many operations are to follow so many of rounds, until it is 1, 2, 4, ... rounds.

    >>> [missing(3, n) for n in (2, 3, 4, 6, 7)]
    [1, 0, 2, 0, 5]
    """
    begun = -(-covered // length)
    return (length << (begun - 1).bit_length()) - covered
