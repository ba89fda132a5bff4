"""One copy for a node of what several of its ranks are to hold: replicated arrays, and their like.

The lowest of these ranks, the *keeper*, computes such a block, in its arena; the others look at it
there. This begins with a command that writes all of the base, and reads nothing of it. Before the
keeper begins, it hears from all others that they are there: so they have done what came before, and
read nothing any more where it will write. When it has ended it tells them where the block is, or
that it failed. A command that writes to such a base in another way ends this: each rank first
takes a copy of its own.

All follows from commands and specs, and from what became of earlier commands, which the ranks that
share a block know alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np

from distnb.engines.comm import Comm
from distnb.engines.exchange import TAGS_PER_COMMAND, Exchange
from distnb.engines.fusion import Group, Specs
from distnb.engines.store import Base, Store
from distnb.events import Clock
from distnb.layout import Ints, Layout
from distnb.protocol import Apply

__all__ = ["Replicas", "made_by", "sharers"]

#: Each of these messages is the first or the last of its command, so they need no tag of their own.
_TAG = TAGS_PER_COMMAND - 1
#: In place of where a block is.
_FAILED, _NEVER_STORED = -1, -2


class Replicas:
    """What one rank does for blocks that it shares with others of its node."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    # -- before a command ------------------------------------------------------------------------

    def part(self, comm: Comm, number: int, handles: Iterable[int]) -> Exception | None:
        """Give each rank a block of its own, where it looks at the keeper's.

        Returns why that failed: then the base is lost, and the command must fail.
        """
        trouble = None
        for handle in handles:
            base = self._store.bases.get(handle)
            if base is not None and base.shared:
                trouble = self._part(Exchange(comm, self._clock, number, [], []), base) or trouble
        return trouble

    def _part(self, exchange: Exchange, base: Base) -> Exception | None:
        (keeper, *others), base.shared = base.shared, ()
        if keeper == self._store.rank:
            self._hear(exchange, others)
            return None
        try:
            look = cast(np.ndarray, base.block)
            base.block, base.memory = self._store.allocate(look.shape, look.dtype)
            base.block[...] = look
        except MemoryError as error:
            base.block, base.lost = None, True
            return error
        finally:
            exchange.refuse(keeper, _TAG)
            exchange.finish()
        return None

    def begin(
        self, comm: Comm, number: int, made: Sequence[int], sharers: Ints
    ) -> Exception | None:
        """Wait until nobody reads what the keeper is to write, and give it shared memory."""
        exchange = Exchange(comm, self._clock, number, [], [])
        if sharers[0] != self._store.rank:
            exchange.refuse(sharers[0], _TAG)
            exchange.finish()
            return None
        self._hear(exchange, sharers[1:])
        try:
            for base in map(self._stored, made):
                if base is not None:
                    self._store.expose(base, sharers)
        except MemoryError as error:
            return error
        return None

    def _hear(self, exchange: Exchange, others: Iterable[int]) -> None:
        for peer in others:
            exchange.drop(peer, _TAG)

    # -- after a command -------------------------------------------------------------------------

    def end(
        self, comm: Comm, number: int, made: Sequence[int], sharers: Ints, failed: set[int]
    ) -> set[int]:
        """Tell where the keeper's blocks are, or hear it; return the bases that it could not make.

        ``failed`` are those that this rank could not make.
        """
        exchange = Exchange(comm, self._clock, number, [], [])
        keeper, *others = sharers
        if keeper == self._store.rank:
            places = np.array([self._place(h in failed, h) for h in made], np.int64)
            for peer in others:
                exchange.tell(peer, _TAG, places)
            exchange.finish()
        else:
            places = np.empty(len(made), np.int64)
            exchange.receive(keeper, _TAG, places)
        for handle, place in zip(made, places.tolist(), strict=True):
            base = self._stored(handle)
            if base is not None and place >= 0:
                base.shared = sharers
                self._look(base, keeper, place)
        return {h for h, place in zip(made, places.tolist(), strict=True) if place == _FAILED}

    def _stored(self, handle: int) -> Base | None:
        """Return a base, None if it is never stored."""
        base = self._store.bases.get(handle)
        return None if base is None or base.virtual else base

    def _place(self, failed: bool, handle: int) -> int:
        base = self._stored(handle)
        if failed:
            return _FAILED
        if base is None:
            return _NEVER_STORED
        return cast(int, self._store.arena.offset(cast(np.ndarray, base.block)))

    def _look(self, base: Base, keeper: int, place: int) -> None:
        if keeper != self._store.rank:
            shape = cast(Ints, base.layout.local_shape(base.shape, keeper))
            assert self._store.node is not None
            flat = self._store.node.block(keeper, place, prod(shape), base.dtype)
            memory, base.memory, base.block = base.memory, None, flat.reshape(shape)
            self._store.release(memory)


def sharers(store: Store, base: Any) -> Ints:
    """Return the ranks of the node that share this rank's block of a base, the keeper first."""
    if store.node is None or store.held(base) * base.dtype.itemsize < store.node.least:
        return ()
    return _sharers(base.layout, store.node.ranks, store.rank)


def made_by(store: Store, group: Group, specs: Specs) -> list[int]:
    """Return the bases that a group writes if the keeper alone is to run it, else none."""
    if store.node is None:
        return []
    for handle, view in group.written.items():
        whole = view.is_whole(specs[handle].shape) and _first(group.commands, handle)
        if not whole or handle in group.read or not sharers(store, specs[handle]):
            return []
    return list(group.written)


def _first(commands: Sequence[Apply], handle: int) -> bool:
    """Tell whether the first command that writes a base writes all of it, without a mask."""
    first = next(c for c in commands if any(o.base == handle for o in c.outs))
    return first.where is None


@lru_cache(maxsize=1024)
def _sharers(layout: Layout, ranks: frozenset[int], rank: int) -> Ints:
    mine = _part(layout, rank)
    found = tuple(r for r in sorted(ranks) if _part(layout, r) == mine)
    return found if mine is not None and len(found) > 1 else ()


def _part(layout: Layout, rank: int) -> Ints | None:
    """Return the coordinates of a rank that say which part it holds."""
    coords = layout.grid.coords(rank)
    return None if coords is None else tuple(coords[g] for g in layout.dims if g >= 0)
