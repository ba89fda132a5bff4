"""The commands of a prepared batch that run alone, each with all that follows from specs.

A :class:`Step` runs any command, from its fields. Those that come with nearly every batch are steps
of their own: what they make or read, and where it lies, was found out when the batch was prepared.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from distnb.engines.collectives.reductions import Work
from distnb.engines.collectives.reductions import plan as reduction_plan
from distnb.engines.fusion.elementwise import Task
from distnb.engines.fusion.groups import Specs
from distnb.engines.fusion.windows import Look
from distnb.engines.runtime.store import BatchScope, LocalBase
from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed, View
from distnb.measure.events import TRANSFER, Clock
from distnb.plans.transfer import Part, at, plan_parts
from distnb.wire.encoding import filled
from distnb.wire.messages import Param
from distnb.wire.protocol import Command, Create, Fetch, Free, Reduce

__all__ = ["Step", "gathered", "quick_step", "step_of"]


class Bench(Protocol):
    """What carries out commands."""

    def reduce(self, number: int, work: Work) -> None:
        """Reduce, under a number that all ranks agree on."""

    def post(self, number: int, task: Task) -> None:
        """Send what a group owes, before its turn."""


class Turn(Protocol):
    """The run of a batch, as its steps see it."""

    scope: BatchScope
    clock: Clock
    #: Added to the number of a command it is one that all ranks agree on.
    first: int
    #: The values that travel apart from the commands, and those that go back.
    given: tuple[Any, ...]
    values: dict[int, Any]

    @property
    def executor(self) -> Bench:
        """What carries out commands."""

    def command(self, index: int, command: Command) -> None:
        """Run a command."""


class Step:
    """A command at its position in the batch."""

    def __init__(self, position: int, command: Command) -> None:
        self.positions: Ints = (position,)
        self.command = command

    def run(self, turn: Turn, index: int) -> None:
        """Run the command, whose number is ``index``."""
        turn.command(index, filled(self.command, turn.given))


class _Deletion(Step):
    """Drops bases."""

    command: Free

    def run(self, turn: Turn, index: int) -> None:
        turn.scope.free(self.command.bases)


class _Creation(Step):
    """Makes a base with undefined content, or one that is never stored."""

    command: Create

    def __init__(self, position: int, command: Create, virtual: bool, rank: int) -> None:
        super().__init__(position, command)
        self._virtual = virtual
        self._dtype = np.dtype(command.dtype)
        self._local = command.layout.local_shape(command.shape, rank)
        #: Which value tells its place in the notebook's segment, if it has one.
        self._place = command.how[1].index if command.how[0] == "room" else None
        self._spec = LocalBase(command.shape, self._dtype, command.layout, None).spec

    def run(self, turn: Turn, index: int) -> None:
        number, shape, _, layout, *_ = self.command
        scope = turn.scope
        if number in scope.bases:  # one that was lost is made again under its handle
            scope.free((number,))
        base = LocalBase(shape, self._dtype, layout, None, lost=True, virtual=self._virtual)
        base.spec = self._spec
        scope.put(number, base)
        if self._local is not None and not self._virtual:
            if self._place is None:
                base.block = scope.memory.allocate(self._local, self._dtype)
            else:
                base.block = scope.laid(base, self._local, turn.given[self._place][0])
        base.lost = False


class _Reduction(Step):
    """Reduces a view along axes."""

    command: Reduce

    def __init__(self, position: int, command: Reduce, specs: Specs, rank: int) -> None:
        super().__init__(position, command)
        of, out = specs[command.operand.base], specs[command.out]
        placed = Placed(of.shape, of.layout, command.operand.view)
        local = out.layout.local_shape(out.shape, rank)
        silent = local is None or 0 in local
        self._work = Work(command, reduction_plan(placed, command.axes, rank), silent)

    def run(self, turn: Turn, index: int) -> None:
        turn.executor.reduce(turn.first + index, self._work)


class _Reading(Step):
    """Sends what this rank has of a view, or of a single element."""

    command: Fetch

    def __init__(self, position: int, command: Fetch, specs: Specs, rank: int) -> None:
        super().__init__(position, command)
        slot: Any = command.slot
        view: Any = command.operand.view
        self._base = command.operand.base
        self._slot = slot.index
        self._spec, self._rank = specs[self._base], rank
        #: Which element, if that travels apart: loops read one after the other.
        self._place = view.index if isinstance(view, Param) else None
        self._element: Any = None
        if self._place is None:
            self._aim(view)

    def _aim(self, view: View) -> None:
        """Find what this rank has of a view, which most often is all in one place."""
        spec = self._spec
        self._part = plan_parts(self._rank, Placed(spec.shape, spec.layout, view))
        chunks = () if self._part is None else self._part.chunks
        self._look = None
        if len(chunks) == 1:
            shape, (_, offset, strides), _ = chunks[0]
            self._look = Look.of(shape, spec.dtype, offset, strides)

    def run(self, turn: Turn, index: int) -> None:
        base = turn.scope.get(self._base)
        if self._place is not None and turn.given[self._place] != self._element:
            self._element = turn.given[self._place]
            self._aim(View((), (), self._element))
        part, found = self._part, None
        if part is not None and base.block is not None:
            clock = turn.clock
            before = clock.switch(TRANSFER)
            if self._look is None:
                found = gathered(part, base.block)
            else:
                found = self._look.copy(base.block).reshape(part.shape)
            clock.bytes += found.nbytes  # as hand_over() does, without a call for each value
            clock.in_place += found.nbytes
            clock.switch(before)
        turn.values[turn.given[self._slot]] = found


def gathered(part: Part, block: np.ndarray) -> np.ndarray:
    """Return a dense copy of a part of a block."""
    out = np.empty(part.shape, block.dtype)
    for chunk in part.chunks:
        at(out, chunk.shape, chunk.message)[...] = at(block, chunk.shape, chunk.memory)
    return out


def step_of(position: int, command: Command) -> Step:
    """Return the step of a command, from which any rank can be made to fail."""
    return _Deletion(position, command) if isinstance(command, Free) else Step(position, command)


def quick_step(step: Step, specs: Specs, dead: set[int], rank: int) -> Step:
    """Return a step that does the same in a shorter way, if there is one."""
    (position,), command = step.positions, step.command
    if isinstance(command, Create) and command.bare:
        return _Creation(position, command, command.base in dead, rank)
    if isinstance(command, Reduce):
        return _Reduction(position, command, specs, rank)
    if isinstance(command, Fetch) and not command.place:
        return _Reading(position, command, specs, rank)
    return step
