"""Batches that come again: all that follows from their commands and the specs of their bases.

A *normalised batch* is the same in every turn of a loop (:class:`distnb.wire.protocol.Packed`).
What is found out of it the first time, down to the registers of its groups, is kept under its bytes
and under what its bases are: a *prepared batch*. A turn then binds handles and values to it, as
databases do with prepared statements, and runs the groups.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any
from zlib import crc32

import numpy as np

from distnb.engines.fusion.amounts import elements_of
from distnb.engines.fusion.elementwise import Task
from distnb.engines.fusion.groups import (
    Group,
    Spec,
    Specs,
    schedule,
)
from distnb.engines.runtime.store import BatchScope, LocalBase
from distnb.engines.worker.postings import Item, Posting, messages_first
from distnb.engines.worker.same_program import Told
from distnb.engines.worker.steps import Step, quick_step, step_of
from distnb.geometry.layout import Ints
from distnb.wire.encoding import commands_of, compared
from distnb.wire.progress import marks
from distnb.wire.protocol import Command, Create, Free, Typed, bases_of, described

__all__ = ["NormalisedBatch", "PlanCache", "PreparedBatch"]

#: Commands of all batches that are kept.
_MOST = 1 << 14
#: Ways in which a batch is prepared; most often bases stay what they are.
_MOST_SPECS = 4


class NormalisedBatch:
    """The commands of a normalised batch, and what follows from them alone.

    Attributes
    ----------
    commands : tuple of Command
        With numbers for bases, and Params.
    numbered : tuple of Command
        All but deletions, which have no number: under SPMD they may come at other places on other
        ranks.
    index : dict of int to int
        Position in ``commands`` -> number of the command.
    writes : bool
        Whether anything is written.
    digest : int
        Of the commands but deletions; the same on all ranks that record the same.
    """

    def __init__(self, normalised: bytes) -> None:
        self.commands = commands_of(normalised)
        numbered = [i for i, c in enumerate(self.commands) if not isinstance(c, Free)]
        self.numbered = tuple([self.commands[i] for i in numbered])
        self.index = {position: k for k, position in enumerate(numbered)}
        self.writes = any(c.writes for c in self.numbered)
        self._prepared: dict[tuple[Ints, bool], PreparedBatch] = {}

    @cached_property
    def digest(self) -> int:
        """A number that tells commands from others, wherever deletions are."""
        return crc32(repr(self._alike()).encode()) or 1

    def _alike(self) -> list[Command]:
        """Return the commands but deletions as they are wherever these are."""
        bases = sorted({n for c in self.numbered for n in bases_of(c)})
        numbers = {n: k for k, n in enumerate(bases)}
        return [c.renumbered(numbers) for c in self.numbered]

    def digest_with(self, values: tuple[Any, ...]) -> int:
        """Return a number that also tells apart what commands are given: scalars and arguments."""
        return crc32(repr(compared(self.numbered, values)).encode(), self.digest) or 1

    def telling(self, values: tuple[Any, ...]) -> Callable[[], tuple[Told, ...]]:
        """Return what finds what a person is told of each command but deletions."""
        return partial(self._told, values)

    def _told(self, values: tuple[Any, ...]) -> tuple[Told, ...]:
        given = compared(self.numbered, values)
        return tuple(
            [
                Told(
                    described(command),
                    _given(command, _spelled(each)),
                    crc32(repr((alike, each)).encode()),
                )
                for command, alike, each in zip(self.numbered, self._alike(), given, strict=True)
            ]
        )

    def prepared(self, scope: BatchScope, fuse: bool, agreed: bool) -> PreparedBatch:
        """Return how it runs where bases are what they are now; see :func:`schedule`."""
        key = (scope.specs, fuse)
        found = self._prepared.get(key)
        if found is None:
            if len(self._prepared) >= _MOST_SPECS:
                self._prepared.clear()
            found = self._prepared[key] = PreparedBatch(self, scope, fuse, agreed)
        return found


def _given(command: Command, spelled: str) -> str:
    """Return what a command is given in words: an array that is made, its dtype, too."""
    if not isinstance(command, Create):
        return spelled
    return ", ".join(filter(None, [np.dtype(command.dtype).name, spelled]))


class PreparedBatch:
    """How a batch runs on a rank.

    Attributes
    ----------
    items : list of (Task or Step, Ints, int)
        Groups and other commands, in the order in which they run, and what is sent before; each
        with the numbers of the commands (-1 for a deletion), and how many elements this rank holds
        of what it works on.
    quick : list of the same
        The same without what is only made and dropped for arrays that are never stored, and with
        shorter ways for some commands, in which no rank can be made to fail.
    item_marks, quick_marks : list of int
        What is noted before each of them, and after the last (:func:`distnb.wire.progress.marks`).
    virtual : frozenset of int
        The positions that ``quick`` leaves out.
    specs : dict
        What each base is.
    complex : bool
        Whether complex numbers may be cast to real ones.
    dead : set of int
        The bases that are not stored when they are created.
    """

    def __init__(self, batch: NormalisedBatch, scope: BatchScope, fuse: bool, agreed: bool) -> None:
        specs: Specs = {n: _spec(base) for n, base in scope.bases.items()}
        self.specs = specs
        plan = schedule(batch.commands, specs, fuse, agreed)
        self.dead = plan.dead | plan.reduced
        self.complex = any(x.dtype.kind == "c" for x in specs.values())
        items: list[Item] = []
        for item in plan.items:
            if isinstance(item, Group):
                rows = tuple([batch.index[p] for p in item.all_positions])
                task = Task(scope, item, specs, plan.dead)
                items.append((task, rows, task.plan.elements))
            else:
                elements = elements_of(batch.commands[item], specs, scope.rank)
                step = step_of(item, batch.commands[item])
                items.append((step, (batch.index.get(item, -1),), elements))
        new = plan.dead - scope.bases.keys()
        self.virtual = frozenset(i for i, c in enumerate(batch.commands) if _only(c, new))
        stored = [item for item in items if item[0].positions[0] not in self.virtual]
        short: list[Item] = []
        for what, rows, elements in stored:
            quick = what
            if isinstance(what, Step):
                quick = quick_step(what, specs, self.dead, scope.rank)
            short.append((quick, rows, elements))
        self.items, self.quick = messages_first(items), messages_first(short)
        self.item_marks, self.quick_marks = [_marks(batch, i) for i in (self.items, self.quick)]


def _spelled(x: Any) -> str:
    """Return what a command is given as a person would write it."""
    if isinstance(x, Typed):
        return repr(x.value)
    return ", ".join(map(_spelled, x)) if isinstance(x, list | tuple) else repr(x)


def _spec(base: LocalBase) -> Spec:
    return Spec(base.shape, base.dtype, base.layout)


def _marks(batch: NormalisedBatch, items: list[Item]) -> list[int]:
    """Return what is noted of items; creations may run before their turn, deletions after it."""
    found = []
    for what, *_ in items:
        creates = isinstance(what, Step) and isinstance(what.command, Create)
        counts = not isinstance(what, Posting) and what.positions[0] in batch.index
        found.append((tuple(what.positions) if counts else (), not creates))
    return marks(found, len(batch.commands))


def _only(command: Command, new: set[int]) -> bool:
    """Tell whether a command does nothing but make or drop some of these bases."""
    if isinstance(command, Create):
        return command.base in new
    return isinstance(command, Free) and new.issuperset(command.bases)


class PlanCache:
    """The batches that were used last, under their bytes."""

    def __init__(self) -> None:
        self._batches: OrderedDict[bytes, NormalisedBatch] = OrderedDict()
        self._commands = 0

    def batch(self, normalised: bytes) -> NormalisedBatch:
        """Return the batch of these bytes."""
        found = self._batches.get(normalised)
        if found is not None:
            self._batches.move_to_end(normalised)
            return found
        found = self._batches[normalised] = NormalisedBatch(normalised)
        self._commands += len(found.commands)
        while self._commands > _MOST and len(self._batches) > 1:
            self._commands -= len(self._batches.popitem(last=False)[1].commands)
        return found
