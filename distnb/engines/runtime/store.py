"""The bases of which a rank has a part: under their handles, and as one batch numbers them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any, cast

import numpy as np

from distnb.common.lazy import lazy
from distnb.engines.runtime.memory import Memory, owner_of
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed
from distnb.wire.protocol import Operand

__all__ = ["BaseTable", "BatchScope", "LocalBase", "Lost", "Store"]

#: Specs of bases -> numbers, of which none is given twice.
_SPECS: dict[tuple[Ints, np.dtype, Layout], int] = {}
_MOST_SPECS = 4096
_NUMBERS = count(1)


class Lost(Exception):  # noqa: N818 - a state of a base, not an error of the user's
    """A base whose content is undefined, because a command that writes it failed."""


@dataclass
class LocalBase:
    """One rank's part of a base: ``block`` is C-contiguous, None where the rank has none."""

    shape: Ints
    dtype: np.dtype
    layout: Layout
    block: np.ndarray | None
    lost: bool = False
    #: Never stored: it comes to be and goes within one group of commands.
    virtual: bool = False
    #: In place of elements: what took them in for the reduction that follows, or why it failed.
    taken: Any = None
    #: Whether other ranks of the node have read this rank's block where it is.
    read_in_place: bool = False
    #: The ranks of the node that share one block (``fusion.replicas``), if they do.
    shared: Ints = ()
    #: Where in the notebook's segment it lies, 0 if it does not.
    place: int = 0
    #: What else this rank knows of it, such as the plan of a sparse product; it goes with the base.
    kept: Any = None

    @lazy
    def spec(self) -> int:
        """Equal for equal shapes, dtypes and layouts, as long as few others come between."""
        key = (self.shape, self.dtype, self.layout)
        found = _SPECS.get(key)
        if found is None:
            if len(_SPECS) >= _MOST_SPECS:
                _SPECS.clear()
            found = _SPECS.setdefault(key, next(_NUMBERS))
        return found


class BaseTable:
    """Bases under numbers, on one rank.

    Parameters
    ----------
    rank : int
        The rank.
    memory : Memory
        Where its blocks are.
    functions : dict
        Functions of the user's, under their numbers.
    """

    def __init__(self, rank: int, memory: Memory, functions: dict[int, Any]) -> None:
        self.rank = rank
        self.memory = memory
        self.functions = functions
        self.bases: dict[int, LocalBase] = {}
        #: Gives compiled loops, if there are to be any.
        self.compiler: Any = None

    def put(self, number: int, base: LocalBase) -> None:
        """Enter a base."""
        self.bases[number] = base

    def add(self, number: int, shape: Ints, dtype: np.dtype, layout: Layout) -> LocalBase:
        """Make a base without memory; it counts as lost until its content is given."""
        base = LocalBase(shape, dtype, layout, None, lost=True)
        self.put(number, base)
        return base

    def free(self, numbers: Ints) -> None:
        """Drop bases, and functions, whose numbers are negative."""
        for number in numbers:
            if number < 0:
                self.functions.pop(number, None)
            base = self.bases.pop(number, None)
            if base is not None and base.block is not None:
                block, base.block = base.block, None
                if base.shared:
                    self.memory.drop(block, base.shared)

    def get(self, number: int) -> LocalBase:
        """Return a base whose content is good; raise Lost otherwise."""
        base = self.bases[number]
        if base.lost:
            raise Lost(f"array {number}")
        return base

    def check_memory(self, base: LocalBase) -> None:
        """Raise Lost if there was no memory for this rank's part of a base when it was made."""
        if base.block is None and self.elements(base):
            raise Lost("no memory for the result")

    def placed(self, operand: Operand) -> Placed:
        """Return the placement of an operand."""
        base = self.bases[operand.base]
        return Placed(base.shape, base.layout, operand.view)

    def elements(self, base: Any) -> int:
        """Return how many elements of a base this rank is to hold."""
        local = base.layout.local_shape(base.shape, self.rank)
        return 0 if local is None else prod(local)

    def is_there(self, base: LocalBase) -> bool:
        """Tell whether this rank can write its part of a base."""
        return base.block is not None or base.virtual or not self.elements(base)

    # -- memory of bases -----------------------------------------------------------------------

    def provide(self, base: LocalBase) -> None:
        """Give a base memory, with undefined content."""
        local = base.layout.local_shape(base.shape, self.rank)
        if local is not None:
            base.block = self.own_block(base, local)
        base.virtual = False

    def lay(self, base: LocalBase, place: int, new: bool = True) -> bool:
        """Give a base memory in the notebook's segment, where all parts lie one after the other.

        What it holds, it takes along; else its content is what lies there, unless it is ``new``.
        Returns whether it is there: what ``%px`` looks at is not moved.
        """
        local = base.layout.local_shape(base.shape, self.rank)
        if local is None:
            return True
        there = self.laid(base, local, place, new)
        if base.block is None:
            base.block = there
            return True
        return self._replace(base, there)

    def laid(self, base: LocalBase, local: Ints, place: int, new: bool = True) -> np.ndarray:
        """Return memory of the notebook's segment for this rank's part of a base."""
        before = base.layout.place(base.shape, self.rank) * base.dtype.itemsize
        found = self.memory.lay(place, before, local, base.dtype, new)
        base.place = place
        return found

    def own_block(self, base: LocalBase, local: Ints) -> np.ndarray:
        """Return memory that is this rank's, where the base lies if it has a place."""
        if base.place:
            return self.laid(base, local, base.place)
        return self.memory.allocate(local, base.dtype)

    def place(self, base: LocalBase, move: bool) -> int | None:
        """Return where in the shared segment a block lies.

        None if it does not, and is not to be moved. What ``%px`` looks at is never moved.
        """
        found = self.memory.offset(cast(np.ndarray, base.block))
        if found is None and move:
            self._move(base)
            found = self.memory.offset(cast(np.ndarray, base.block))
        return found

    def _move(self, base: LocalBase) -> None:
        """Move a block to the shared segment, unless someone looks at it."""
        shape = cast(np.ndarray, base.block).shape
        self._replace(base, self.memory.allocate(shape, base.dtype, shared=True))

    def _replace(self, base: LocalBase, copy: np.ndarray) -> bool:
        """Let a base have a copy of its block, unless somebody looks at it; tell whether it has."""
        block = cast(np.ndarray, base.block)
        address, owner = block.ctypes.data, owner_of(block)
        if owner is None:
            return False
        copy[...] = block
        base.block = copy
        del block
        old = owner()
        if old is not None:  # it outlives the block, so somebody has it
            base.block = np.ndarray(copy.shape, copy.dtype, old, address - old.ctypes.data)
        return old is None

    def expose(self, base: LocalBase, ranks: Ints) -> None:
        """Let a block lie in the shared segment; its content becomes undefined.

        ``ranks`` are to read it. They have done what came before, and so read nothing of what was
        dropped for them.
        """
        if base.block is None or self.memory.offset(base.block) is None:
            shape = cast(Ints, base.layout.local_shape(base.shape, self.rank))
            base.block = self.memory.again(shape, base.dtype, ranks)

    def adopt(self, target: LocalBase, source: LocalBase) -> None:
        """Let a base have the memory of another one: the same elements, or bytes, in C order."""
        if target.block is None or source.block is None:
            return
        block = source.block
        if target.dtype != source.dtype:
            block = block.reshape(-1).view(target.dtype)
        block = block.reshape(target.block.shape)
        if target.place:
            target.block[...] = block
            return
        target.shared = source.shared
        # The notebook gives the place of its segment to another base when this one is gone.
        target.block = block.copy() if self.memory.is_notebooks(block) else block


def _is_shared(block: np.ndarray) -> bool:
    """Tell whether more than a base, and a pair in a list, refers to a block."""
    owner = block.base  # which all views of it refer to
    return sys.getrefcount(block) > 5 or owner is None or sys.getrefcount(owner) > 3


class Store(BaseTable):
    """The bases of a session, under their handles."""

    def __init__(self, rank: int, memory: Memory) -> None:
        super().__init__(rank, memory, {})

    def looked_at(self, handles: Ints) -> Ints:
        """Return the bases at whose blocks anything looks but themselves."""
        there = [(h, self.bases[h].block) for h in handles if h in self.bases]
        return tuple([h for h, block in there if block is not None and _is_shared(block)])

    def clear(self) -> None:
        """Drop everything."""
        self.bases.clear()
        self.functions.clear()
        self.memory.clear()


class BatchScope(BaseTable):
    """The bases of a store under the numbers by which the commands of one batch name them."""

    def __init__(self, store: Store, handles: Ints) -> None:
        super().__init__(store.rank, store.memory, store.functions)
        self._store = store
        self._handles = handles
        there = [store.bases.get(h) for h in handles]
        self.bases = {n: base for n, base in enumerate(there) if base is not None}
        #: What the bases are that were there before the batch (0 for all others).
        self.specs: Ints = tuple([0 if base is None else base.spec for base in there])

    def put(self, number: int, base: LocalBase) -> None:
        """Enter a base here and in the store."""
        self.bases[number] = self._store.bases[self._handles[number]] = base

    def free(self, numbers: Ints) -> None:
        """Drop bases here and in the store."""
        for number in numbers:
            self.bases.pop(number, None)
        self._store.free(tuple([self._handles[n] for n in numbers]))
