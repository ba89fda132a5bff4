"""Batches that come again: all that follows from their commands and the specs of their bases.

The text of a batch is the same in every turn of a loop (:class:`distnb.wire.protocol.Packed`). What
is found out of it the first time, down to the registers of its groups, is kept under the text and
under what its bases are. A turn then binds handles and values to it, as databases do with prepared
statements, and runs the groups.
"""

from __future__ import annotations

from collections import OrderedDict

from distnb.engines.fusion.amounts import held
from distnb.engines.fusion.elementwise import Task
from distnb.engines.fusion.groups import (
    Group,
    Spec,
    Specs,
    schedule,
)
from distnb.engines.runtime.store import BatchScope, LocalBase
from distnb.geometry.layout import Ints
from distnb.wire.encoding import commands_of
from distnb.wire.protocol import (
    Command,
    Create,
    Free,
)

__all__ = ["Library", "Prepared", "Script"]

#: Commands of all scripts that are kept.
_MOST = 1 << 14
#: Ways in which a script is prepared; most often bases stay what they are.
_MOST_SPECS = 4


class Script:
    """The commands of a text, and what follows from them alone.

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
    """

    def __init__(self, text: bytes) -> None:
        self.commands = commands_of(text)
        numbered = [i for i, c in enumerate(self.commands) if not isinstance(c, Free)]
        self.numbered = tuple([self.commands[i] for i in numbered])
        self.index = {position: k for k, position in enumerate(numbered)}
        self.writes = any(c.writes for c in self.numbered)
        self._prepared: dict[tuple[Ints, bool], Prepared] = {}

    def prepared(self, scope: BatchScope, fuse: bool, agreed: bool) -> Prepared:
        """Return how it runs where bases are what they are now; see :func:`schedule`."""
        key = (scope.specs, fuse)
        found = self._prepared.get(key)
        if found is None:
            if len(self._prepared) >= _MOST_SPECS:
                self._prepared.clear()
            found = self._prepared[key] = Prepared(self, scope, fuse, agreed)
        return found


class Prepared:
    """How a script runs on a rank.

    Attributes
    ----------
    items : list of (Task or int, Ints, int)
        Groups, and positions of other commands, in the order in which they run; each with the
        numbers of the commands (-1 for a deletion), and how many elements this rank holds of what
        it works on.
    quick : list
        The same without what is only made and dropped for arrays that are never stored.
    virtual : frozenset of int
        The positions that ``quick`` leaves out.
    specs : dict
        What each base is.
    complex : bool
        Whether complex numbers may be cast to real ones.
    dead : set of int
        The bases that are not stored when they are created.
    """

    def __init__(self, script: Script, scope: BatchScope, fuse: bool, agreed: bool) -> None:
        specs: Specs = {n: _spec(base) for n, base in scope.bases.items()}
        self.specs = specs
        plan = schedule(script.commands, specs, fuse, agreed)
        self.dead = plan.dead | plan.reduced
        self.complex = any(x.dtype.kind == "c" for x in specs.values())
        self.items: list[tuple[Task | int, Ints, int]] = []
        for item in plan.items:
            if isinstance(item, Group):
                rows = tuple([script.index[p] for p in item.all_positions])
                task = Task(scope, item, specs, plan.dead)
                self.items.append((task, rows, task.scheme.elements))
            else:
                elements = held(script.commands[item], specs, scope.rank)
                self.items.append((item, (script.index.get(item, -1),), elements))
        new = plan.dead - scope.bases.keys()
        self.virtual = frozenset(i for i, c in enumerate(script.commands) if _only(c, new))
        self.quick = [item for item in self.items if item[0] not in self.virtual]


def _spec(base: LocalBase) -> Spec:
    return Spec(base.shape, base.dtype, base.layout)


def _only(command: Command, new: set[int]) -> bool:
    """Tell whether a command does nothing but make or drop some of these bases."""
    if isinstance(command, Create):
        return command.base in new
    return isinstance(command, Free) and new.issuperset(command.bases)


class Library:
    """The scripts that were used last, under their texts."""

    def __init__(self) -> None:
        self._scripts: OrderedDict[bytes, Script] = OrderedDict()
        self._commands = 0

    def script(self, text: bytes) -> Script:
        """Return the script of a text."""
        found = self._scripts.get(text)
        if found is not None:
            self._scripts.move_to_end(text)
            return found
        found = self._scripts[text] = Script(text)
        self._commands += len(found.commands)
        while self._commands > _MOST and len(self._scripts) > 1:
            self._commands -= len(self._scripts.popitem(last=False)[1].commands)
        return found
