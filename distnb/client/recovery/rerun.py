"""What of batches runs again where engines died in the middle of them, and what is lost.

Engines have noted how far they were: what all of them had done is not done again, unless what it
made was in their own memory, and is still needed. What only some had done, or may have begun, may
be done in part, on each engine up to somewhere else. Running it again gives what it would have
given if it reads what it would have read. So what was written in place must not be read before it
has been written for the last time: what is read there may have been written already. It may where
what has been done gives the same once more, as ``maximum(x, y, out=x)`` does.

What is lost by that may be made anew, from where all of it was made, if all that this needs is as
it was then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from distnb.client.batching.connection import Sent
from distnb.geometry.layout import Ints
from distnb.wire.protocol import Apply, Command, Create, Free, bases_of

__all__ = ["Rerun", "makes", "needed", "rerun"]


#: Operations that give, of what they gave and the same others, the same once more.
_REPEATABLE = frozenset(
    ("bitwise_and", "bitwise_or", "clip", "fmax", "fmin", "logical_and", "logical_or", "maximum")
    + ("minimum", "where", "with_imag", "with_real")
)


class Rerun(NamedTuple):
    """For each batch the commands that are to run again; handles of what is lost, with the reason.

    The reason is a command that was writing it, or what it is made of; None if it was lost before.
    """

    batches: list[tuple[Command, ...]]
    lost: dict[int, Command | None]


def rerun(
    sent: Sequence[Sent], epoch: int, gone: Collection[int], shapes: Mapping[int, Ints]
) -> Rerun:
    """Find what runs again of batches that were sent, in their order.

    Parameters
    ----------
    sent : sequence of Sent
        The batches, of which it is known how far engines had come.
    epoch : int
        What was sent in an earlier one was given up by the user, and is not run.
    gone : collection of int
        The bases whose content is not there any more.
    shapes : mapping of int to tuple of int
        What shapes bases have that outlive a batch.

    Examples
    --------
    An array that was being written in place is lost if it is also read, ``x += 1``, and not if it
    is all made anew, nor if all engines had written it.

    >>> from distnb.client.batching.connection import Again
    >>> from distnb.geometry.views import View
    >>> from distnb.wire.protocol import Operand
    >>> x = Operand(1, View.whole((3,)))
    >>> def lost(*ins, done=0):
    ...     commands = (Apply("add", (x,), ins, None, (), 0),)
    ...     batch = Sent(0, 1, 0, None, commands, (), again=Again(commands, [], done, begun=1))
    ...     return sorted(rerun([batch], 0, [], {1: (3,)}).lost)
    >>> lost(x, 1), lost(2, 1), lost(x, 1, done=1)
    ([1], [], [])
    """
    steps = [step for batch in sent for step in _steps(batch, epoch)]
    best = _Walk(steps, gone, shapes, frozenset())
    made = {base for step in steps for base in step.command.writes if step.makes(base, shapes)}
    while anew := (best.torn & made) - best.anew:
        walk = _Walk(steps, gone, shapes, best.anew | anew)
        if walk.cost >= best.cost:
            break
        best = walk
    return Rerun(best.batches(sent), best.lost)


def needed(
    batches: Sequence[Sequence[Command]], wanted: Iterable[int], shapes: Mapping[int, Ints]
) -> tuple[list[tuple[Command, ...]], set[int]]:
    """Return of each batch the commands that some bases need, and all bases that these name.

    What made a base that was dropped since is not needed, unless another one was made of that.

    >>> from distnb.geometry.views import View
    >>> from distnb.wire.protocol import Operand
    >>> x, y = (Operand(base, View.whole((3,))) for base in (1, 2))
    >>> sin, more = (Apply(op, (x,), (y,), None, (), 0) for op in ("sin", "cos"))
    >>> found = needed([[sin], [more, Free((7, 2))]], {1}, {1: (3,), 2: (3,)})
    >>> [[c.op if type(c) is Apply else c.bases for c in batch] for batch in found[0]], found[1]
    ([[], ['cos', (2,)]], {1, 2})
    """
    content, named = set(wanted), set(wanted)

    def runs(command: Command) -> bool:
        if isinstance(command, Free):
            return True
        if isinstance(command, Create):
            content.discard(command.base)
            return command.base in named
        if content.isdisjoint(command.writes):
            return False
        content.difference_update([b for b in command.writes if makes(command, b, shapes)])
        content.update([x.base for x in command.reads])
        named.update(bases_of(command))
        return True

    kept = [[c for c in reversed(batch) if runs(c)][::-1] for batch in reversed(batches)]
    return [_without(batch, named) for batch in reversed(kept)], named


def _without(commands: Iterable[Command], named: Set[int]) -> tuple[Command, ...]:
    """Return commands without the deletions of what they do not name."""
    found = list[Command]()
    for command in commands:
        if not isinstance(command, Free):
            found.append(command)
        elif there := tuple([h for h in command.bases if h in named]):
            found.append(Free(there))
    return tuple(found)


class _Step(NamedTuple):
    """A command, whether all engines have done it, and whether any may have begun it."""

    command: Command
    done: bool
    begun: bool
    given_up: bool

    def makes(self, base: int, shapes: Mapping[int, Ints]) -> bool:
        """Tell whether it makes all of a base, whatever that was."""
        return makes(self.command, base, shapes)


def makes(command: Command, base: int, shapes: Mapping[int, Ints]) -> bool:
    """Tell whether a command makes all of a base that it writes, whatever that was."""
    if isinstance(command, Create):
        return command.how[0] not in ("same", "lost")
    return (
        isinstance(command, Apply)
        and command.where is None
        and len(command.outs) == 1
        and base in shapes
        and command.outs[0].view.is_whole(shapes[base])
        and all(x.base != base for x in command.reads)
    )


def _steps(batch: Sent, epoch: int) -> Iterable[_Step]:
    again, given_up = batch.again, batch.epoch != epoch
    assert again is not None
    for position, command in enumerate(again.commands):
        done, begun = position < again.done, position < again.begun
        yield _Step(command, done, begun, given_up or (again.deadly and begun and not done))


class _Walk:
    """Goes through commands in their order, and finds which run.

    Attributes
    ----------
    anew : set of int
        The bases that are made anew, although what they hold may be good.
    lost : dict of int to Command or None
        What is lost, and why.
    torn : set of int
        The bases that were not as they had been when something was to read or write them.
    cost : int
        How many arrays and values are lost.
    """

    def __init__(
        self,
        steps: Sequence[_Step],
        gone: Collection[int],
        shapes: Mapping[int, Ints],
        anew: Set[int],
    ) -> None:
        self.anew = anew
        self.torn: set[int] = set()
        self._steps, self._shapes = steps, shapes
        #: Bases whose content is there.
        self._there = shapes.keys() - gone - anew
        self._wanted = self._find_wanted({*gone, *anew})
        self.lost: dict[int, Command | None] = dict.fromkeys(gone)
        #: Bases that are made by what runs again, so that it does not matter what they were.
        self._new: set[int] = set()
        #: Base -> the last step that may have written it, and its command.
        self._written: dict[int, tuple[int, Command]] = {}
        for i, step in enumerate(steps):
            if step.begun:
                self._written |= dict.fromkeys(step.command.writes, (i, step.command))
        self.lost |= {base: self._written[base][1] for base in anew if base in self._written}
        self._runs = [self._run(i, step) for i, step in enumerate(steps)]
        freed = {h for s in steps if isinstance(s.command, Free) for h in s.command.bases}
        values = [s for i, s in enumerate(steps) if not s.command.writes and not self._runs[i]]
        self.cost = len(self.lost.keys() - freed) + len(values)

    def batches(self, sent: Sequence[Sent]) -> list[tuple[Command, ...]]:
        """Return the commands of each batch that run again."""
        runs = iter(zip(self._steps, self._runs, strict=True))
        found = []
        for batch in sent:
            assert batch.again is not None
            mine = [next(runs) for _ in batch.again.commands]
            found.append(tuple([step.command for step, run in mine if run]))
        return found

    def _find_wanted(self, needed: set[int]) -> list[bool]:
        """Find the steps that are to run: those not done, and what made what is not there."""
        found = []
        for step in reversed(self._steps):
            command = step.command
            wanted = not (step.done and command.writes) or not needed.isdisjoint(command.writes)
            found.append(wanted)
            if not wanted or step.given_up:
                continue
            for base in command.writes:
                if step.makes(base, self._shapes):
                    needed.discard(base)
                elif base not in self._there:
                    needed.add(base)
            needed |= {x.base for x in command.reads} - self._there
        return found[::-1]

    def _run(self, i: int, step: _Step) -> bool:
        """Tell whether a step is to run; note what follows if it is not."""
        command = step.command
        if isinstance(command, Free):
            return True
        if not self._wanted[i]:
            return False
        if isinstance(command, Create):
            self.lost.pop(command.base, None)
            if command.how[0] != "same":  # then the notebook has written it, once
                self._new.add(command.base)
            if step.given_up or command.how[0] == "lost":
                self.lost[command.base] = command
            return True
        cause = command if step.given_up else self._trouble(i, step)
        if cause is not None:
            kept = self._there if step.done else frozenset()
            self.lost |= dict.fromkeys([b for b in command.writes if b not in kept], cause)
        return cause is None

    def _trouble(self, i: int, step: _Step) -> Command | None:
        """Return why a step cannot run, None if it can."""
        command, own = step.command, _own(step.command)
        for base in [x.base for x in command.reads]:
            if base in self.lost:
                return self._lost_by(base, command)
            if self._is_later(base, i if base == own else i - 1):
                return self._lost_by(base, self._written[base][1])
        for base in command.writes:
            if step.makes(base, self._shapes):
                self.lost.pop(base, None)
                self._new.add(base)
            elif base in self.lost or (step.done and self._is_later(base, i)):
                return self._lost_by(base, command)
        return None

    def _is_later(self, base: int, i: int) -> bool:
        """Tell whether a base may hold what was written after a step."""
        return base not in self._new and self._written.get(base, (-1, None))[0] > i

    def _lost_by(self, base: int, command: Command) -> Command:
        self.torn.add(base)
        return self.lost.get(base) or command


def _own(command: Command) -> int | None:
    """Return the base that a command writes in place and may find written by itself; or None."""
    if not isinstance(command, Apply) or command.op not in _REPEATABLE:
        return None
    (out,) = command.outs
    same = all(x == out for x in command.reads if x.base == out.base)
    return out.base if same and command.where != out else None
