"""The bases that a rank holds: local blocks, what they belong to, and a pool of freed memory."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Any, cast

import numpy as np

from distnb.engines.runtime.shared_segments import Arena, Node
from distnb.geometry.layout import Ints, Layout, in_notebook
from distnb.geometry.views import Placed
from distnb.wire.protocol import Operand

__all__ = ["Base", "Frame", "Lost", "Pool", "Store"]

#: Blocks smaller than this are cheaper to allocate than to look up.
_POOLED_FROM = 1 << 15
#: Specs of bases -> numbers, of which none is given twice.
_SPECS: dict[tuple[Ints, np.dtype, Layout], int] = {}
_MOST_SPECS = 4096
_NUMBERS = count(1)


class Lost(Exception):  # noqa: N818 - a state of a base, not an error of the user's
    """A base whose content is undefined, because a command that writes it failed."""


@dataclass
class Base:
    """One rank's part of an array: ``block`` is C-contiguous, None where the rank holds none."""

    shape: Ints
    dtype: np.dtype
    layout: Layout
    block: np.ndarray | None
    memory: np.ndarray | None = None
    lost: bool = False
    #: Never stored: it comes to be and goes within one group of commands.
    virtual: bool = False
    #: In place of elements: what took them in for the reduction that follows, or why it failed.
    taken: Any = None
    #: Whether other ranks of the node have read this rank's block in place.
    lent: bool = False
    #: The ranks of the node that share one block (``fusion.replicas``), if they do.
    shared: Ints = ()
    #: Equal for equal shapes, dtypes and layouts, as long as few others come between.
    spec: int = field(init=False)

    def __post_init__(self) -> None:
        key = (self.shape, self.dtype, self.layout)
        found = _SPECS.get(key)
        if found is None:
            if len(_SPECS) >= _MOST_SPECS:
                _SPECS.clear()
            found = _SPECS.setdefault(key, next(_NUMBERS))
        self.spec = found


@dataclass
class Pool:
    """Freed memory, kept by size: a loop that makes temporaries pays its page faults once.

    Memory in the arena, which others of the node can read, is kept apart. Its pages are small: new
    ones cost more, and so does walking across them. So it is made only to be read by others.
    """

    limit: int
    arena: Arena | None = None
    held: int = 0
    #: (bytes, whether in the arena) -> memory; of which kind something was freed last comes last
    free: dict[tuple[int, bool], list[np.ndarray]] = field(default_factory=dict)

    def take(self, nbytes: int, shared: bool = False) -> np.ndarray:
        """Return memory of exactly ``nbytes``, with undefined content; in the arena if asked."""
        for kind in (True,) if shared else (False, True):
            waiting = self.free.get((nbytes, kind))
            if waiting:
                self.held -= nbytes
                return waiting.pop()
        if shared and self.arena is not None:
            return self.arena.take(nbytes)
        return np.empty(nbytes, np.uint8)

    def give(self, memory: np.ndarray) -> None:
        """Keep memory for reuse; when the pool is full, let go what was not used for long."""
        if memory.nbytes <= self.limit:
            self._make_room(self.limit - memory.nbytes)
            shared = self.arena is not None and self.arena.offset(memory) is not None
            kind = memory.nbytes, shared
            waiting = self.free[kind] = self.free.pop(kind, [])  # the last of all kinds
            waiting.append(memory)
            self.held += memory.nbytes

    def _make_room(self, most: int) -> None:
        """Let memory go until no more than ``most`` bytes are held: first of the oldest kind."""
        for kind, waiting in self.free.items() if self.held > most else ():
            while waiting and self.held > most:
                waiting.pop()
                self.held -= kind[0]

    def clear(self) -> None:
        """Let all kept memory go."""
        self.free.clear()
        self.held = 0


class Store:
    """Handle -> base, and number -> function, on one rank."""

    def __init__(self, rank: int, pool_bytes: int, node: Node | None = None) -> None:
        self.rank = rank
        self.bases: dict[int, Base] = {}
        #: Functions of the user's, under their numbers.
        self.functions: dict[int, Any] = {}
        #: The ranks of the node, if they share memory.
        self.node = node
        self.pool = Pool(pool_bytes, None if node is None else node.arena)
        #: (bytes, ranks that may still read it) -> memory of bases that are freed
        self._limbo: dict[tuple[int, Ints], list[np.ndarray]] = {}
        self._alone = 0
        self._unseen = _lookers(_unseen_base())
        self._calibrate()

    def _calibrate(self) -> None:
        """Count the references to memory that nobody else holds, as :meth:`free` would see them."""
        memory = np.empty(0, np.uint8)

        def release(memory: np.ndarray) -> None:
            self._alone = _references(memory)

        release(memory)

    def add(self, handle: int, shape: Ints, dtype: np.dtype, layout: Layout) -> Base:
        """Make a base without memory; it counts as lost until its content is given."""
        base = Base(shape, dtype, layout, None, lost=True)
        self.put(handle, base)
        return base

    def put(self, handle: int, base: Base) -> None:
        """Enter a base."""
        self.bases[handle] = base

    def provide(self, base: Base) -> None:
        """Give a base memory, with undefined content."""
        local = base.layout.local_shape(base.shape, self.rank)
        if local is not None:
            base.block, base.memory = self.allocate(local, base.dtype)
        base.virtual = False

    def allocate(self, shape: Ints, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray | None]:
        """Return a C-contiguous block, and the pooled memory under it (None if not pooled)."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < _POOLED_FROM:
            return np.empty(shape, dtype), None
        memory = self.take(nbytes)
        return np.ndarray(shape, dtype, memory), memory

    def take(self, nbytes: int, shared: bool = False) -> np.ndarray:
        """Return memory from the pool, or new memory, for which the pool may have to make room."""
        try:
            return self.pool.take(nbytes, shared)
        except MemoryError:
            self.pool.clear()
            return self.pool.take(nbytes, shared)

    @property
    def arena(self) -> Arena:
        """The memory that others of the node can read; only where there is a node."""
        assert self.node is not None
        return self.node.arena

    def place(self, base: Base, move: bool) -> int | None:
        """Return where in the arena a block lies; None if it does not, and is not to be moved.

        What ``%px`` looks at is never moved.
        """
        found = self._offset(base)
        if found is None and move and _lookers(base) <= self._unseen:
            old, block = base.memory, cast(np.ndarray, base.block)
            base.memory = self.take(block.nbytes, shared=True)
            base.block = np.ndarray(block.shape, block.dtype, base.memory)
            base.block[...] = block
            del block
            self.release(old)
            return self._offset(base)
        return found

    def expose(self, base: Base, ranks: Ints) -> None:
        """Let a block lie in the arena; its content becomes undefined. ``ranks`` are to read it.

        They have done what came before, and so read nothing of theirs that was freed.
        """
        if base.block is None or self._offset(base) is None:
            shape = cast(Ints, base.layout.local_shape(base.shape, self.rank))
            nbytes = prod(shape) * base.dtype.itemsize
            waiting = self._limbo.get((nbytes, ranks))
            memory = waiting.pop() if waiting else self.take(nbytes, shared=True)
            old, base.memory, base.block = (
                base.memory,
                memory,
                np.ndarray(shape, base.dtype, memory),
            )
            self.release(old)

    def settle(self) -> None:
        """Reuse what was freed while others might read it: all have done what came before."""
        for waiting in self._limbo.values():
            while waiting:
                memory = waiting.pop()
                self.release(memory)
        self._limbo.clear()

    def _offset(self, base: Base) -> int | None:
        return self.arena.offset(cast(np.ndarray, base.block))

    def release(self, memory: np.ndarray | None, readers: Ints = ()) -> None:
        """Give memory back to the pool, unless someone (``%px``) still looks at it.

        What other ranks may still read waits until they are known to have done that.
        """
        if memory is None or _references(memory) > self._alone:
            return
        if readers:
            self._limbo.setdefault((memory.nbytes, readers), []).append(memory)
        else:
            self.pool.give(memory)

    def get(self, handle: int) -> Base:
        """Return a base whose content is good; raise Lost otherwise."""
        base = self.bases[handle]
        if base.lost:
            raise Lost(f"array {handle}")
        return base

    def held(self, base: Any) -> int:
        """Return how many elements of a base this rank is to hold."""
        local = base.layout.local_shape(base.shape, self.rank)
        return 0 if local is None else prod(local)

    def is_there(self, base: Base) -> bool:
        """Tell whether this rank can write its part of a base."""
        return base.block is not None or base.virtual or not self.held(base)

    def placed(self, operand: Operand) -> Placed:
        """Return the placement of an operand."""
        base = self.bases[operand.base]
        return Placed(base.shape, base.layout, operand.view)

    def adopt(self, target: Base, source: Base) -> None:
        """Let a base have the memory of another one: the same elements in C order."""
        if target.block is None or source.block is None:
            return
        memory, target.memory = target.memory, source.memory
        target.shared = source.shared
        target.block = source.block.reshape(target.block.shape)
        self.release(memory)

    def free(self, handles: Ints) -> None:
        """Drop bases and functions."""
        for handle in handles:
            if handle < 0:
                self.functions.pop(handle, None)
            base = self.bases.pop(handle, None)
            if base is not None and base.memory is not None:
                memory, base.memory, base.block = base.memory, None, None
                self.release(memory, base.shared)

    def clear(self) -> None:
        """Drop everything."""
        self.bases.clear()
        self.functions.clear()
        self._limbo.clear()
        self.pool.clear()


class Frame(Store):
    """A store as one batch sees it: its bases have the numbers by which its commands name them."""

    def __init__(self, store: Store, handles: Ints) -> None:
        vars(self).update(vars(store))  # all else is the store's
        self._store = store
        self._handles = handles
        there = store.bases
        self.bases = {n: there[h] for n, h in enumerate(handles) if h in there}

    @property
    def specs(self) -> Ints:
        """What the bases are that were there before the batch (0 for all others)."""
        there = self._store.bases
        return tuple([there[h].spec if h in there else 0 for h in self._handles])

    def put(self, handle: int, base: Base) -> None:
        """Enter a base here and in the store."""
        self.bases[handle] = base
        self._store.put(self._handles[handle], base)

    def free(self, handles: Ints) -> None:
        """Drop bases here and in the store."""
        for handle in handles:
            self.bases.pop(handle, None)
        self._store.free(tuple([self._handles[h] for h in handles]))


def _unseen_base() -> Base:
    """Return a base as it is when nobody but the store looks at its memory."""
    memory = np.empty(1, np.uint8)
    block = np.ndarray((1,), memory.dtype, memory)
    return Base((1,), memory.dtype, in_notebook(1), block, memory)


def _lookers(base: Base) -> int:
    """Return how many references there are to a block and to the memory under it."""
    block = cast(np.ndarray, base.block)
    found = sys.getrefcount(block)
    if block.base is not None:
        found += sys.getrefcount(block.base) - (base.memory is not None)
    return found


def _references(memory: np.ndarray) -> int:
    return sys.getrefcount(memory)
