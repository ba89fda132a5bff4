"""What engines hold, and where it lies: enough to give it to new engines when these have died.

What a batch makes and leaves lies in the notebook's segment, at places that the ledger gives out as
the batch is sent; what comes and goes within a batch does not. A place is free again when engines
have done the batch that drops the base: until then the batches before it can be run again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from distnb.client.batching.connection import Outcome, Sent
from distnb.client.batching.entries import Entry
from distnb.client.batching.handle_table import HandleTable
from distnb.client.recovery.rerun import makes
from distnb.client.recovery.shared_memory import SharedMemory
from distnb.geometry.layout import Ints, Layout
from distnb.wire.protocol import Collective, Command, Create, Free

__all__ = ["Kept", "Ledger"]

#: Commands after which engines know more of their first output than its elements.
_KNOWING = frozenset(
    ("file.parse", "foreach", "foreach.join_sparse", "sparse.each", "sparse.lay", "sparse.plan")
    + ("sparse.route", "sparse.rows", "sparse.times", "sparse.turn")
)
#: Those that make the same of the same once more, into what no user sees or writes.
_REPEATABLE = frozenset(
    ("sparse.each", "sparse.lay", "sparse.plan", "sparse.route", "sparse.rows", "sparse.times")
    + ("sparse.turn",)
)


#: Bytes that batches on their way may hold of what is gone, before one waits for all but the last.
_HELD = 1 << 28
#: Why a base is lost that engines have told of.
_FAILED = "a command that writes it failed"


class Kept(NamedTuple):
    """A base that engines have.

    ``memory`` is where it lies in the notebook's segment, None if it does not; ``all`` tells
    whether engines know nothing more of it. Else it is gone with them.
    """

    shape: Ints
    dtype: str
    layout: Layout
    memory: np.ndarray | None
    site: int
    all: bool = True
    #: Why its content is lost, if it is.
    why: str = ""
    #: What makes again all that engines know of it, while what it reads is as it was.
    maker: Collective | None = None


class Ledger:
    """The bases that engines have, by their handles.

    Parameters
    ----------
    memory : SharedMemory
        Where they lie.
    handles : HandleTable
        Knows those that are alive.
    """

    def __init__(self, memory: SharedMemory, handles: HandleTable) -> None:
        self._memory = memory
        self._handles = handles
        self.kept: dict[int, Kept] = {}
        #: Whether bases lie in the notebook's segment; else in the engines' own memory.
        self.lays = False
        #: Place -> memory there that a notebook before this one has left, of what is to be made.
        self.found: dict[int, np.ndarray] = {}
        #: Those of which the content is lost.
        self._lost: set[int] = set()
        #: Base with a maker -> the bases that this reads.
        self._sources: dict[int, frozenset[int]] = {}
        #: Bytes that are free as soon as engines have done what is on its way.
        self._leaving = 0

    def is_crowded(self, many: int) -> bool:
        """Tell whether to wait for the oldest of so many batches before more memory is taken.

        With one left engines do not wait for the notebook, so that with more much less is enough.
        """
        if many < 1 or not self._leaving:
            return False
        most = self._memory.most_kept
        return self._leaving > (most if many < 2 else min(most, _HELD))

    def enter(self, commands: tuple[Command, ...], settled: int) -> tuple[Command, ...]:
        """Return the commands of a batch, with places for what they make; it may be told twice."""
        freed = [h for c in commands if type(c) is Free for h in c.bases]
        gone, found = set(freed), list[Command]()
        for command in commands:
            if type(command) is Create and command.base not in gone:
                found.append(self._made(command, settled))
                continue
            if self._sources:
                self._drop_makers(command.writes)
            if type(command) is Collective and command.op in _KNOWING:
                self._know(command)
            found.append(command)
        self._leaving += sum([self._nbytes(h) for h in freed])
        return tuple(found)

    def _know(self, command: Collective) -> None:
        """Note that engines will know more of a base than its elements."""
        handle, maker = command.outs[0].base, command if command.op in _REPEATABLE else None
        self._change(handle, all=False, maker=maker)
        if maker is not None and handle in self.kept:
            self._sources[handle] = frozenset([x.base for x in maker.ins])

    def _drop_makers(self, written: Iterable[int]) -> None:
        """Forget how to make what is made of bases that are written."""
        for base in written:
            for handle in [h for h, sources in self._sources.items() if base in sources]:
                del self._sources[handle]
                self._change(handle, maker=None)

    def forget(self, sent: Iterable[Sent]) -> None:
        """Take it that no batch but these, which are on their way, was entered."""
        self._leaving = sum([self._nbytes(h) for batch in sent for h in batch.freed])

    def _made(self, command: Create, settled: int) -> Create:
        """Note a base that is made, and give it a place."""
        handle, shape, dtype, layout, how, site = command
        reference = self._handles.entries.get(handle)
        base = None if reference is None else reference()
        memory = None if base is None else base.memory
        if base is not None and base.apart:
            self.kept[handle] = Kept(shape, dtype, layout, None, site, all=False)
            return command
        if how[0] not in ("at", "room", "same", "lost"):
            count = layout.all_parts(shape)
            nbytes = count * np.dtype(dtype).itemsize
            taken = self._memory.keep(nbytes, settled) if count and self.lays else None
            if taken is not None:
                place = self._memory.place(taken)
                memory = taken
                if base is not None and layout.in_order(shape):
                    base.memory = np.ndarray(shape, dtype, taken)
                how = ("room", place) if how[0] == "empty" else ("at", place, *how)
                command = command._replace(how=how)
        if how[0] in ("same", "lost") and memory is None:
            before = self.kept.get(handle)  # if engines are to have it again
            memory = self.found.pop(how[1], None) if before is None else before.memory
        why = how[2] if how[0] == "lost" else ""
        self.kept[handle] = Kept(shape, dtype, layout, memory, site, why=why)
        self._change(handle, why=why)
        return command

    def forget_but(self, handles: Collection[int]) -> None:
        """Forget those that nobody has any more, which engines have not dropped yet."""
        self.kept = {h: found for h, found in self.kept.items() if h in handles}
        self._lost.intersection_update(handles)
        self._sources = {h: found for h, found in self._sources.items() if h in handles}

    def lies(self, handle: int, memory: np.ndarray) -> None:
        """Note where a base lies from now on."""
        self._change(handle, memory=memory)

    def recut(self, base: Entry) -> None:
        """Note how other engines are to have a base: cut elsewhere, where it lies in C order."""
        shape, layout = base.shape, base.layout
        found = self.kept.get(base.handle) or Kept(shape, base.dtype.str, layout, None, -1)
        same = layout.in_order(shape) and found.layout.in_order(shape)
        memory = found.memory if same else None
        self._sources.pop(base.handle, None)
        self.kept[base.handle] = found._replace(layout=layout, memory=memory, maker=None)

    def lose(self, handle: int, why: str) -> None:
        """Note that the content of a base is lost, until it is made again."""
        self._change(handle, why=why)

    def restore(self, bases: dict[int, Kept], freed: Iterable[int]) -> list[Create]:
        """Return what gives engines bases that they have dropped, or take for lost, as they were.

        ``freed`` are those that what comes after that drops.
        """
        self.kept |= bases
        self._leaving += sum([self._nbytes(h) for h in freed])
        return [self.again(h, lost=False) for h in bases]

    def are_good(self, handles: Iterable[int]) -> None:
        """Note that the content of bases is not lost any more."""
        for handle in handles:
            self._change(handle, why="")

    def again(self, handle: int, lost: bool) -> Create:
        """Return what gives new engines a base that others had; its content is there, or lost."""
        shape, dtype, layout, memory, site, *_ = self.kept[handle]
        place = 0 if memory is None else self._memory.place(memory)
        how: tuple[Any, ...] = ("same", place) if place else ("empty",)
        return Create(handle, shape, dtype, layout, ("lost", place) if lost else how, site)

    def makers(self) -> tuple[Command, ...]:
        """Return what makes again what engines knew of bases, of bases that are still there."""
        found = list[Command]()
        for handle, kept in self.kept.items():
            maker = kept.maker
            if maker is None or kept.why or not all(x.base in self.kept for x in maker.ins):
                continue
            place = 0 if kept.memory is None else self._memory.place(kept.memory)
            how: tuple[Any, ...] = ("room", place) if place else ("empty",)
            found += [self.again(handle, lost=False)._replace(how=how), maker]
        return tuple(found)

    def lost_of(self, sent: Sent) -> list[Create]:
        """Return what makes the bases of a batch where they are to lie, their content lost.

        Of engines it is not known whether they had it: then all have the same bases.
        """
        found = []
        for command in sent.commands:
            if type(command) is Create and command.base in self._handles.entries:
                kept = self.kept.get(command.base)
                lies = None if kept is None else kept.memory
                place = 0 if lies is None else self._memory.place(lies)
                found.append(command._replace(how=("lost", place, "")))
        return found

    def _change(self, handle: int, **changes: Any) -> None:
        if handle in self.kept:
            self.kept[handle] = self.kept[handle]._replace(**changes)
            if "why" in changes:
                (self._lost.add if changes["why"] else self._lost.discard)(handle)

    def _nbytes(self, handle: int) -> int:
        found = self.kept.get(handle)
        return 0 if found is None or found.memory is None else found.memory.nbytes

    def done(self, outcome: Outcome) -> None:
        """Note what engines have lost in a batch, and give back the places of what they dropped.

        The former of bases, too, that nobody has any more: batches on their way may read them.
        """
        sent, replies, known = outcome
        lost = {h for reply in replies for h in reply.lost}
        if not known:
            lost.update([h for command in sent.commands for h in command.writes])
        for command in sent.commands if self._lost else ():
            for handle in self._lost.intersection(command.writes, self.kept) - lost:
                if makes(command, handle, {handle: self.kept[handle].shape}):
                    self._change(handle, why="")
        for handle in lost:
            self._change(handle, why=_FAILED)
        for handle in sent.freed:
            self._leaving -= self._nbytes(handle)
            if known:
                self.kept.pop(handle, None)
                self._sources.pop(handle, None)
                self._lost.discard(handle)

    def close(self) -> None:
        """Let all go."""
        self.kept.clear()
