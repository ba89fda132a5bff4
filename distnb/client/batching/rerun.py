"""What of batches can be run again where engines died in the middle of them, and what is lost.

Batches that an engine has begun may have been run in part, on each engine up to somewhere else.
Running all of them again gives what they would have given if each command reads what it would have
read. So what they write in place must not be read before they have written it for the last time:
what is read there may have been written already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from distnb.client.batching.connection import Sent
from distnb.geometry.layout import Ints
from distnb.wire.protocol import Apply, Command, Create, Free

__all__ = ["Rerun", "rerun"]


class Rerun(NamedTuple):
    """For each batch the commands that are to run again; handles of what is lost, with the reason.

    The reason is a command that was writing it, or what it is made of; None if it was lost before.
    """

    batches: list[tuple[Command, ...]]
    lost: dict[int, Command | None]


def rerun(
    sent: Sequence[Sent], epoch: int, gone: Iterable[int], shapes: Mapping[int, Ints]
) -> Rerun:
    """Find what can run again of batches that were sent, in their order.

    Parameters
    ----------
    sent : sequence of Sent
        The batches, of which it is known whether engines had begun them.
    epoch : int
        What was sent in an earlier one was given up by the user, and is not run.
    gone : iterable of int
        The bases that are lost whatever is done.
    shapes : mapping of int to tuple of int
        What shapes bases have.

    Examples
    --------
    An array that was being written in place is lost if it is also read, ``x += 1``, and not if it
    is all made anew.

    >>> from distnb.client.batching.connection import Again
    >>> from distnb.geometry.views import View
    >>> from distnb.wire.protocol import Operand
    >>> x = Operand(1, View.whole((3,)))
    >>> def lost(*ins):
    ...     commands = (Apply("add", (x,), ins, None, (), 0),)
    ...     batch = Sent(0, 1, 0, None, commands, (), again=Again(commands, [], begun=True))
    ...     return sorted(rerun([batch], 0, [], {1: (3,)}).lost)
    >>> lost(x, 1), lost(2, 1)
    ([1], [])
    """
    return _Walk(sent, epoch, gone, shapes).found()


class _Walk:
    """Goes through the commands of batches in their order."""

    def __init__(
        self, sent: Sequence[Sent], epoch: int, gone: Iterable[int], shapes: Mapping[int, Ints]
    ) -> None:
        self._sent = sent
        self._shapes = shapes
        self._epoch = epoch
        self._lost: dict[int, Command | None] = dict.fromkeys(gone)
        #: Bases that are made by what runs again, so that it does not matter what they were.
        self._new: set[int] = set()
        #: Base -> position of the last command that may have written it, and that command.
        self._written: dict[int, tuple[int, Command]] = {}
        position = 0
        for batch in sent:
            for command in batch.again.commands if batch.again else ():
                position += 1
                if batch.again is not None and batch.again.begun:
                    self._written |= dict.fromkeys(command.writes, (position, command))
        self._position = 0

    def found(self) -> Rerun:
        """Return what is found."""
        batches = []
        for batch in self._sent:
            assert batch.again is not None
            given_up = batch.epoch != self._epoch
            batches.append(tuple([c for c in batch.again.commands if self._runs(c, given_up)]))
        return Rerun(batches, self._lost)

    def _runs(self, command: Command, given_up: bool) -> bool:
        """Tell whether a command is to run again; note what follows if it is not."""
        self._position += 1
        if isinstance(command, Free):
            return True
        if isinstance(command, Create):
            self._lost.pop(command.base, None)
            if command.how[0] != "same":  # then the notebook has written it, once
                self._new.add(command.base)
            if given_up:
                self._lost[command.base] = command
            return True
        if given_up:
            return self._leave_out(command, command)
        for operand in command.reads:
            if operand.base in self._lost:
                return self._leave_out(command, self._lost[operand.base] or command)
            position, last = self._written.get(operand.base, (0, command))
            if position >= self._position and operand.base not in self._new:
                return self._leave_out(command, last)
        for base in command.writes:
            if base in self._lost and not self._makes_good(command, base):
                return self._leave_out(command, self._lost[base] or command)
        return True

    def _leave_out(self, command: Command, cause: Command) -> bool:
        for base in command.writes:
            self._lost[base] = cause
        return False

    def _makes_good(self, command: Command, base: int) -> bool:
        """Tell whether a command writes all of a base; if so it is as one that it makes."""
        whole = (
            isinstance(command, Apply)
            and command.where is None
            and len(command.outs) == 1
            and command.outs[0].view.is_whole(self._shapes.get(base, ()))
        )
        if whole:
            self._lost.pop(base, None)
            self._new.add(base)
        return whole
