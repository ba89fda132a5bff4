"""Which commands of a batch run together: groups of elementwise work, one pass over memory each.

A *group* is a run of elementwise commands over one iteration space, whose outputs all lie alike. It
needs one plan, one exchange of messages, and one pass over tiles of memory; a temporary that comes
to be and goes within its group is never stored, nor is what the next group to use it overwrites. A
command joins a group unless it reads what the group writes through another view: then an element
would be needed before it is there. What the group reads may be written at its end through another
view, as in a stencil that is assigned back (a write-after-read hazard); the kernel
(:mod:`distnb.engines.fusion.kernels`) delays results as long as what they overwrite is to be read.

A temporary that is never stored may lie anywhere. Where what a group has made so far is such, and
ends in a result that lies a little elsewhere, it is computed where that lies (owner computes):
``a[1:-1] += a[:-2] + a[2:]`` is one pass, although the sum alone would follow ``a[:-2]``.

Elements where a mask is true (``compress``) are made in a group, too: each rank has those of its
block, and reads block and mask as they lie, which are of another shape. So ``a[a > 0].sum()`` makes
no array of what the mask leaves. There nothing is brought from other ranks, and nothing follows.

Where a reduction follows that is all a group's result is made for, it becomes the group's *tail*:
each tile goes into it while it is in the cache, and the result is not stored either.

Groups follow from the commands and the specs of their arrays alone, so all ranks form the same.
Deletions do not matter for that under SPMD, where they may come at different places on different
ranks: there temporaries lie as the client said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from distnb.engines.runtime.exchange import TAGS_PER_COMMAND
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed, View
from distnb.ops import table
from distnb.plans.temporaries import (
    Life,
    alike,
    lives_of,
    new_layout,
)
from distnb.wire.messages import Param
from distnb.wire.protocol import Apply, Collective, Command, Create, Free, Operand, Reduce, bases_of

__all__ = [
    "BLOCKS",
    "COMPRESS",
    "Elementary",
    "Group",
    "GroupSignature",
    "GroupStep",
    "Slot",
    "Spec",
    "schedule",
]

#: The collective that runs in a group: its elements come from blocks, which are no slots.
COMPRESS = "compress"
#: What stands for these blocks among the kinds of scalars.
BLOCKS = "object"
#: What runs in a group.
Elementary: TypeAlias = Apply | Collective

#: Longer groups gain nothing: their temporaries no longer fit the cache.
_MOST_STEPS = 64


class Spec(NamedTuple):
    """What grouping needs to know of a base (a ``store.LocalBase`` will do, too)."""

    shape: Ints
    dtype: np.dtype
    layout: Layout


#: Number of a base -> what it is.
Specs = dict[int, Any]


class Slot(NamedTuple):
    """One array of a group: a view of base number ``base`` (counted within the group)."""

    base: int
    placed: Placed
    dtype: np.dtype
    kept: bool  # False: comes to be and goes within the group, and is never stored


class GroupStep(NamedTuple):
    """One operation of a group, on slots; -1-k as an input is scalar k."""

    op: str
    outs: Ints
    ins: Ints
    mask: int | None
    options: tuple[tuple[str, str], ...]


class GroupSignature(NamedTuple):
    """What a group does, without the handles of its bases and the values of its scalars.

    Equal signatures have equal plans and kernels. ``scalars`` are the types of the scalars.
    ``tail`` is the slot that is reduced at the end, and along which axes; ranks that cannot do that
    in the same pass store it, so it counts as kept.
    """

    slots: tuple[Slot, ...]
    scalars: tuple[str, ...]
    steps: tuple[GroupStep, ...]
    tail: tuple[int, Ints] | None = None


class Group:
    """Commands at ``positions`` of a batch that run in one pass, and the deletions to do then."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.commands: list[Elementary] = []
        self.slots: dict[Operand, int] = {}
        #: base -> the one view through which it is written
        self.written: dict[int, View] = {}
        #: base -> the views through which it is read before it is written
        self.read: dict[int, set[View]] = {}
        #: the bases whose blocks are read as they lie
        self.blocks: set[int] = set()
        #: the reduction that follows, and its position in the batch
        self.tail: Reduce | None = None
        self.tail_at = -1
        #: what is not stored, because the next to use it overwrites it
        self.overwritten: set[int] = set()
        self._lead: Placed | None = None

    @property
    def used(self) -> set[int]:
        """The bases that it reads or writes."""
        return self.written.keys() | self.read.keys() | self.blocks

    def join(
        self, position: int, command: Elementary, specs: Specs, lives: Mapping[int, Life]
    ) -> bool:
        """Add a command if it can run in the same pass; ``lives`` are those of temporaries."""
        if self.commands and not (
            self._fits(command) and self._meets(position, command, specs, lives)
        ):
            return False
        if isinstance(command, Collective):
            self.blocks |= {x.base for x in command.ins}
        for operand in _aligned(command):
            self.slots.setdefault(operand, len(self.slots))
            if operand.base not in self.written:
                self.read.setdefault(operand.base, set()).add(operand.view)
        for out in command.outs:
            self.slots.setdefault(out, len(self.slots))
            self.written[out.base] = out.view
            if self._lead is None:
                self._lead = _placed(out, specs)
        self.positions.append(position)
        self.commands.append(command)
        return True

    def _fits(self, command: Elementary) -> bool:
        used = (*_aligned(command), *command.outs)
        new = {x for x in used if x not in self.slots}
        if len(self.commands) >= _MOST_STEPS or len(self.slots) + len(new) > TAGS_PER_COMMAND:
            return False
        if not self.blocks.isdisjoint(command.writes):
            return False
        if isinstance(command, Collective) and not self._is_dense(command):
            return False
        return all(self.written.get(x.base, x.view) == x.view for x in used)

    def _is_dense(self, command: Collective) -> bool:
        """Tell whether blocks are not written, and results lie as a base does: in order."""
        lead = self._lead
        return (
            self.written.keys().isdisjoint(x.base for x in command.ins)
            and lead is not None
            and lead.view.is_whole(lead.shape)
        )

    def _meets(
        self, position: int, command: Elementary, specs: Specs, lives: Mapping[int, Life]
    ) -> bool:
        """Tell whether a command lies as what was made so far does, which may follow it."""
        if self.blocks or isinstance(command, Collective):
            return self._stays(command, specs)
        return self._lies_alike(command, specs) or self._follows(position, command, specs, lives)

    def _lies_alike(self, command: Elementary, specs: Specs) -> bool:
        assert self._lead is not None
        return all(
            (o in self.slots and o.base in self.written) or alike(self._lead, _placed(o, specs))
            for o in command.outs
        )

    def _stays(self, command: Elementary, specs: Specs) -> bool:
        """Tell whether all lies alike: what a mask leaves is made one element after the other.

        Where something is brought, a rank goes through its elements in pieces, which may be of
        every other one.
        """
        assert self._lead is not None
        read = [Operand(b, v) for b, views in self.read.items() for v in views]
        read += [x for x in _aligned(command) if x.base not in self.written]
        lies = all(alike(self._lead, _placed(x, specs)) for x in read)
        return lies and self._lies_alike(command, specs)

    def _follows(
        self, position: int, command: Elementary, specs: Specs, lives: Mapping[int, Life]
    ) -> bool:
        """Have what was made so far lie as a command's result does, if that is worth it."""
        lead = _placed(command.outs[0], specs)
        brought = [_placed(Operand(b, v), specs) for b, views in self.read.items() for v in views]
        span = range(self.positions[0], position + 1)
        layout = None
        whole = all(view.is_whole(specs[base].shape) for base, view in self.written.items())
        if len(command.outs) == 1 and whole and self.written.keys().isdisjoint(self.read):
            layout = new_layout(lead, self.written, brought, lives, span)
        if layout is None:
            return False
        specs.update((base, specs[base]._replace(layout=layout)) for base in self.written)
        self._lead = lead
        return True

    def end_with(self, position: int, command: Reduce, specs: Specs) -> None:
        """Take a reduction as the tail if it reduces the whole of what the group writes."""
        base, view = command.operand
        whole = base in self.written and view.is_whole(specs[base].shape)
        if whole and view == self.written[base] and table.REDUCTIONS[command.op].ufunc is not None:
            self.tail, self.tail_at = command, position

    def is_overwritten(self, base: int, later: Group, specs: Specs) -> bool:
        """Tell whether a later group overwrites all that this one writes of a base."""
        if base in self.read or base in later.read or base not in later.written:
            return False
        if base in self.blocks or base in later.blocks:
            return False
        if self.tail is not None and self.tail.operand.base == base:
            return False
        if any(_mask(c) for g in (self, later) for c in g.commands if base in c.writes):
            return False
        shape, layout = specs[base].shape, specs[base].layout
        if layout.copies > 1:  # what one rank of a node makes for all
            return False
        view = later.written[base]
        return view == self.written[base] or view.is_whole(shape)

    @property
    def all_positions(self) -> list[int]:
        """The positions of the commands, and of the tail if there is one."""
        return self.positions if self.tail is None else [*self.positions, self.tail_at]

    def signature(self, specs: Specs, dead: set[int]) -> GroupSignature:
        """Return what the group does, in a form that is equal for equal work."""
        bases: dict[int, int] = {}
        slots = tuple(
            Slot(
                bases.setdefault(x.base, len(bases)),
                _placed(x, specs),
                specs[x.base].dtype,
                x.base not in dead and x.base not in self.overwritten,
            )
            for x in self.slots
        )
        kinds: list[str] = []
        steps = tuple(self._step(c, kinds) for c in self.commands)
        tail = None if self.tail is None else (self.slots[self.tail.operand], self.tail.axes)
        return GroupSignature(slots, tuple(kinds), steps, tail)

    def _step(self, command: Elementary, kinds: list[str]) -> GroupStep:
        outs = tuple(self.slots[o] for o in command.outs)
        if isinstance(command, Collective):
            kinds.append(BLOCKS)
            return GroupStep(command.op, outs, (-len(kinds),), None, ())
        ins = []
        for x in command.ins:
            if isinstance(x, Operand):
                ins.append(self.slots[x])
            else:
                kinds.append(x.kind)
                ins.append(-len(kinds))
        mask = None if command.where is None else self.slots[command.where]
        return GroupStep(command.op, outs, tuple(ins), mask, command.options)

    @property
    def scalars(self) -> list[Param | Collective]:
        """The scalars, and what reads blocks, in the order of the signature's."""
        found: list[Param | Collective] = []
        for c in self.commands:
            if isinstance(c, Collective):
                found.append(c)
            else:
                found += [x for x in c.ins if not isinstance(x, Operand)]
        return found


def _aligned(command: Elementary) -> Sequence[Operand]:
    """Return what a command reads in the iteration space of its group."""
    return command.reads if isinstance(command, Apply) else ()


def _mask(command: Elementary) -> Operand | None:
    return command.where if isinstance(command, Apply) else None


def _placed(operand: Operand, specs: Specs) -> Placed:
    spec = specs[operand.base]
    if operand.view.is_whole(spec.shape):
        return Placed.whole(spec.shape, spec.layout)
    return Placed(spec.shape, spec.layout, operand.view)


class Schedule(NamedTuple):
    """The order in which a batch runs (positions, and groups), and the bases never stored.

    ``reduced`` are those that are only made for a group's tail.
    """

    items: list[int | Group]
    dead: set[int]
    reduced: set[int]


def schedule(
    commands: Sequence[Command], specs: Specs, fuse: bool, agreed: bool = True
) -> Schedule:
    """Return in which order, and in which groups, the commands of a batch run.

    Creations inside a group come before it, and deletions after it. ``specs`` are those of the
    bases that exist; those that the batch makes are added. ``agreed``: whether all ranks see the
    same deletions.
    """
    lives = lives_of(commands) if agreed else {}
    items: list[int | Group] = []
    group: Group | None = None
    later: list[int] = []
    for position, command in enumerate(commands):
        if isinstance(command, Free):
            (items if group is None else later).append(position)
            continue
        if _runs_in_group(command) and group is not None and fuse:
            if group.join(position, command, specs, lives):
                continue
        elif isinstance(command, Create) and command.base not in specs:
            specs[command.base] = Spec(command.shape, np.dtype(command.dtype), command.layout)
            items.append(position)
            continue
        elif isinstance(command, Reduce) and group is not None and fuse:
            group.end_with(position, command, specs)
        _end(items, group, later)
        group = None
        if _runs_in_group(command):
            group = Group()
            group.join(position, command, specs, lives)
        else:
            items.append(position)
    _end(items, group, later)
    _overwrite(commands, items, specs)
    return _schedule(commands, items)


def _runs_in_group(command: Command) -> TypeGuard[Elementary]:
    compresses = isinstance(command, Collective) and command.op == COMPRESS
    return compresses or isinstance(command, Apply)


def _overwrite(commands: Sequence[Command], items: list[int | Group], specs: Specs) -> None:
    """Find what groups need not store, because the next to use it overwrites it.

    Should that one not come to it, what it was to write is lost.
    """
    following: dict[int, Group | None] = {}
    for item in reversed(items):
        if not isinstance(item, Group):
            following |= dict.fromkeys(bases_of(commands[item]))
            continue
        for base in item.written:
            later = following.get(base)
            if later is not None and item.is_overwritten(base, later, specs):
                item.overwritten.add(base)
        following |= dict.fromkeys(item.used, item)


def _end(items: list[int | Group], group: Group | None, later: list[int]) -> None:
    if group is not None:
        items.append(group)
    items.extend(later)
    later.clear()


def _schedule(commands: Sequence[Command], items: list[int | Group]) -> Schedule:
    """Find the bases that come to be, are used by one group only, and go, all in this batch."""
    made = {c.base for c in commands if isinstance(c, Create) and c.how == ("empty",)}
    freed = {h for c in commands if isinstance(c, Free) for h in c.bases}
    once: dict[int, int] = {}
    tails = {x.tail_at: x for x in items if isinstance(x, Group) and x.tail is not None}
    found = made & freed
    for number, item in enumerate(items):
        if not isinstance(item, Group):
            if not isinstance(commands[item], Create):
                tail = tails[item].tail if item in tails else None
                found -= bases_of(commands[item]) - {b.base for b in (tail.reads if tail else ())}
            continue
        for handle in item.used:
            before = handle in item.read or handle in item.blocks
            if once.setdefault(handle, number) != number or before:
                found.discard(handle)
    reduced = set()
    for group in tails.values():
        if group.tail is not None and group.tail.operand.base in found:
            reduced.add(group.tail.operand.base)
        else:
            group.tail = None
    return Schedule(items, found - reduced, reduced)
