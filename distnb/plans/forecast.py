"""What commands that ran would send if some of their arrays lay elsewhere.

Commands are gone through in order with two layouts for each base: the one that it had, and the one
that it would have. Where the layout of a result followed from the operands, it follows from their
new layouts by the same rule; where it was asked for, it stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed, View, follow
from distnb.ops import table
from distnb.plans.temporaries import (
    Life,
    lives_of,
    new_layout,
)
from distnb.plans.traffic import Traffic, reduction, traffic
from distnb.wire.protocol import Apply, Collective, Command, Create, Free, Local, Operand, Reduce

__all__ = ["Forecast", "Spec", "forecast"]

#: Commands that run in one pass at most.
_STEPS = 64


class Spec(NamedTuple):
    """What is known of a base."""

    shape: Ints
    dtype: np.dtype
    layout: Layout


@dataclass
class Forecast:
    """What commands send.

    Attributes
    ----------
    sent : dict of int to int
        Bytes that all engines send, for each source line (by the number of its site).
    received : numpy.ndarray
        Bytes that each engine takes from others.
    messages : int
        Number of messages, or an upper bound.
    commands : int
        Commands that were counted.
    unknown : int
        Commands whose messages depend on the elements, or on arrays that are not known any more;
        they are not in these numbers.
    """

    received: np.ndarray
    sent: dict[int, int] = field(default_factory=dict)
    messages: int = 0
    commands: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """Bytes that all engines send."""
        return sum(self.sent.values())

    def add(self, site: int, found: Traffic, itemsize: int) -> None:
        """Count the messages of an operand of a command."""
        taken = found.received * itemsize
        self.received += taken
        self.sent[site] = self.sent.get(site, 0) + int(taken.sum())
        self.messages += found.messages


def forecast(
    commands: Iterable[Command],
    specs: Mapping[int, Spec],
    size: int,
    moved: Mapping[int, Layout] | None = None,
) -> Forecast:
    """Return what commands send on ``size`` engines, with the bases in ``moved`` lying elsewhere.

    Parameters
    ----------
    commands : iterable of Command
        In program order, batch by batch; each ends with what it deletes.
    specs : mapping of int to Spec
        The bases that were there before, and those that are made without a Create.
    size : int
        Number of engines.
    moved : mapping of int to Layout, optional
        Bases and where they are to lie, from the beginning.
    """
    replay = _Replay(specs, size, dict(moved or {}))
    for batch in _batches(commands):
        replay.run(batch)
    return replay.found


def _batches(commands: Iterable[Command]) -> Iterator[list[Command]]:
    batch: list[Command] = []
    for command in commands:
        batch.append(command)
        if isinstance(command, Free):
            yield batch
            batch = []
    yield batch


class _Pass:
    """Elementwise commands that run in one pass: what they read through one view travels once."""

    def __init__(self, lead: Placed, position: int) -> None:
        self.lead = lead
        self.first = position
        self.slots: set[Operand] = set()
        self.written: dict[int, View] = {}
        #: What it takes in: site and placement of each operand, and the bytes of an element.
        self.brought: list[tuple[int, Placed, int]] = []
        self.steps = 0

    def takes(self, operands: Sequence[Operand]) -> bool:
        """Tell whether a command may run in this pass, too, if its result lies alike."""
        return self.steps < _STEPS and all(
            self.written.get(x.base, x.view) == x.view for x in operands
        )

    def lies(self, out: Placed, size: int) -> bool:
        """Tell whether a result lies as those of this pass do."""
        same = out.view.shape == self.lead.view.shape and out.layout.grid == self.lead.layout.grid
        return same and not traffic(self.lead, out, size).received.any()

    def add(self, command: Apply, reads: Sequence[Operand]) -> list[Operand]:
        """Add a command; return which of its operands have not been brought yet."""
        new = [x for x in dict.fromkeys(reads) if x not in self.slots]
        self.slots.update(reads, command.outs)
        self.written.update((x.base, x.view) for x in command.outs)
        self.steps += 1
        return new


class _Replay:
    """Goes through commands, and keeps what is known of their bases."""

    def __init__(self, specs: Mapping[int, Spec], size: int, moved: dict[int, Layout]) -> None:
        self.size = size
        self.moved = moved
        self.old = dict(specs)
        self.new: dict[int, Layout] = {}
        #: Bases that were made and not written yet, and the site that made them.
        self.fresh: dict[int, int] = {}
        self.lives: Mapping[int, Life] = {}
        self.group: _Pass | None = None
        self.found = Forecast(np.zeros(size, np.int64))

    def run(self, batch: Sequence[Command]) -> None:
        """Take in the commands of a batch."""
        self.lives = lives_of(batch)
        for position, command in enumerate(batch):
            self._step(position, command)
        self._end_pass()

    def _step(self, position: int, command: Command) -> None:
        if isinstance(command, Create):
            self.old[command.base] = Spec(command.shape, np.dtype(command.dtype), command.layout)
            if command.how == ("empty",):
                self.fresh[command.base] = command.site
        elif isinstance(command, Apply | Reduce | Local | Collective):
            if not isinstance(command, Apply):
                self._end_pass()
            try:
                self._count(position, command)
            except KeyError:
                self.found.unknown += 1
        elif isinstance(command, Free):
            for base in command.bases:
                self.fresh.pop(base, None)

    def _end_pass(self) -> None:
        """Count what a pass takes in, now that it is known where it runs."""
        group, self.group = self.group, None
        if group is not None:
            for site, placed, itemsize in group.brought:
                self.found.add(site, traffic(group.lead, placed, self.size), itemsize)

    def _count(self, position: int, command: Any) -> None:
        if isinstance(command, Collective):
            self.found.unknown += 1
            return
        if isinstance(command, Apply):
            self._apply(position, command)
        elif isinstance(command, Reduce):
            self._reduce(command)
        else:
            self._brought(command)
        self.found.commands += 1

    # -- specs -------------------------------------------------------------------------------

    def _layout(self, base: int) -> Layout:
        """Return where a base would lie."""
        found = self.moved.get(base) or self.new.get(base)
        return found if found is not None else self.old[base].layout

    def _placed(self, operand: Operand, before: bool = False) -> Placed:
        shape, _, layout = self.old[operand.base]
        layout = layout if before else self._layout(operand.base)
        whole = operand.view.is_whole(shape)
        return Placed.whole(shape, layout) if whole else Placed(shape, layout, operand.view)

    def _itemsize(self, base: int) -> int:
        return self.old[base].dtype.itemsize

    # -- commands ----------------------------------------------------------------------------

    def _apply(self, position: int, command: Apply) -> None:
        ins = command.reads
        for made in command.outs:
            if self.fresh.pop(made.base, None) == command.site:
                self._follow(made, [x for x in command.ins if isinstance(x, Operand)])
        out, group = self._placed(command.outs[0]), self.group
        if (
            group is None
            or not group.takes((*ins, *command.outs))
            or not (group.lies(out, self.size) or self._led(group, out, position, command))
        ):
            self._end_pass()
            group = self.group = _Pass(out, position)
        group.brought += [
            (command.site, self._placed(x), self._itemsize(x.base)) for x in group.add(command, ins)
        ]

    def _led(self, group: _Pass, out: Placed, position: int, command: Apply) -> bool:
        """Let a pass run where a command's result lies, if engines do."""
        span = range(group.first, position + 1)
        brought = [placed for _, placed, _ in group.brought]
        layout = None
        if len(command.outs) == 1:
            layout = new_layout(out, group.written, brought, self.lives, span)
        if layout is None:
            return False
        self.new |= dict.fromkeys(group.written, layout)
        group.lead = out
        return True

    def _follow(self, out: Operand, ins: list[Operand]) -> None:
        """Let a new result lie where the rule says, if it did so before."""
        if self._rule(out, ins, before=True) == self.old[out.base].layout:
            self.new[out.base] = self._rule(out, ins, before=False)

    def _rule(self, out: Operand, ins: list[Operand], before: bool) -> Layout:
        operands = tuple((_elements(x.view), self._placed(x, before)) for x in ins)
        return table.kept_layout(operands, out.view.shape, self.size)

    def _reduce(self, command: Reduce) -> None:
        operand, site = self._placed(command.operand), command.site
        itemsize = self._itemsize(command.operand.base)
        layout, exact = table.reduction_layout(operand, command.axes, self.size)
        if not exact:  # it would be copied first
            copy = Placed.whole(operand.view.shape, follow(operand, self.size)[0])
            self.found.add(site, traffic(copy, operand, self.size), itemsize)
            operand, layout = copy, table.reduction_layout(copy, command.axes, self.size)[0]
        if self.fresh.pop(command.out, None) is not None:
            self.new[command.out] = layout
        positions = table.REDUCTIONS[command.op].ufunc is None
        each = itemsize + 8 if positions else np.dtype(command.dtype).itemsize
        self.found.add(site, reduction(operand, command.axes, self.size), each)

    def _brought(self, command: Local) -> None:
        """Count what brings whole bases back to where a command needs them."""
        for x in command.ins:
            there, needed = self._placed(x), self._placed(x, before=True)
            self.found.add(command.site, traffic(needed, there, self.size), self._itemsize(x.base))


def _elements(view: View) -> int:
    """Return the elements of an operand before it was broadcast."""
    return prod(n for n, (a, _, _) in zip(view.shape, view.dims, strict=True) if a >= 0)
