"""One copy for a node of what several of its ranks are to hold: replicated arrays, and their like.

The lowest of these ranks, the *node leader*, computes such a block, in its shared segment; the
others look at it there. This begins with a creation, or with elementwise commands that write all of
the base. Before the leader begins, it hears from all others that they are there: so they have done
what came before, and read nothing any more where it will write. When it has ended it tells them
where the block is, or that it failed. Other commands that write to such a base end this: each rank
first takes a copy of its own.

All follows from commands and specs, and from what became of earlier commands, which the ranks that
share a block know alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np

from distnb.engines.fusion.groups import Elementary, Group, Specs
from distnb.engines.runtime.comm import Comm
from distnb.engines.runtime.exchange import TAGS_PER_COMMAND, Exchange
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.geometry.layout import Ints, Layout
from distnb.measure.events import Clock
from distnb.wire.protocol import Apply

__all__ = ["Replicas", "has_sharers", "is_large"]

#: Each of these messages is the first or the last of its command, so they need no tag of their own.
_TAG = TAGS_PER_COMMAND - 1
#: In place of where a block is.
_FAILED, _NEVER_STORED = -1, -2


class Replicas:
    """What one rank does for blocks that it shares with others of its node."""

    def __init__(self, store: BaseTable, clock: Clock, specs: Specs) -> None:
        self.store = store
        self.specs = specs
        self._clock = clock

    def sharers(self, base: LocalBase) -> Ints:
        """Return the ranks of the node that are to hold the same block as this one, leader first.

        Empty if it is the only one.
        """
        node = self.store.memory.node
        return () if node is None else _sharers(base.layout, node.ranks, self.store.rank)

    def made_by(self, group: Group) -> list[int]:
        """Return the bases that a group writes if the leader alone is to run it, else none.

        Each must be shared already, or all of it must be written and nothing of it read.
        """
        bases = {handle: self._base(handle) for handle in group.written}
        if not any(is_large(self.store, base) for base in bases.values()):
            return []
        for handle, base in bases.items():
            if not self.sharers(base):
                return []
            whole = group.written[handle].is_whole(base.shape) and handle not in group.read
            if not (base.shared or (whole and _unmasked(group.commands, handle))):
                return []
        return list(bases)

    def made_of(self, handle: int) -> list[int]:
        """Return a base that is all written by a command if the leader alone is to run it."""
        base = self.store.bases[handle]
        return [handle] if is_large(self.store, base) and self.sharers(base) else []

    def _base(self, handle: int) -> LocalBase:
        """Return a base; of one that is never stored, and so need not be there, what it is."""
        found = self.store.bases.get(handle)
        if found is None:
            spec = self.specs[handle]
            found = LocalBase(spec.shape, spec.dtype, spec.layout, None, virtual=True)
        return found

    def keeps(self, made: Sequence[int]) -> bool:
        """Tell whether this rank computes what is made."""
        return not made or self.sharers(self._base(made[0]))[0] == self.store.rank

    # -- before a command ------------------------------------------------------------------------

    def part(self, comm: Comm, number: int, handles: Iterable[int]) -> Exception | None:
        """Give each rank a block of its own, where it looks at the leader's.

        Returns why that failed: then the base is lost, and the command must fail.
        """
        trouble = None
        for handle in handles:
            base = self.store.bases.get(handle)
            if base is not None and base.shared:
                trouble = self._part(Exchange(comm, self._clock, number, [], []), base) or trouble
        return trouble

    def _part(self, exchange: Exchange, base: LocalBase) -> Exception | None:
        (leader, *others), base.shared = base.shared, ()
        if leader == self.store.rank:
            self._hear(exchange, others)
            return None
        try:
            shared = cast(np.ndarray, base.block)
            base.block = self.store.own_block(base, shared.shape)
            base.block[...] = shared
        except MemoryError as error:
            base.block, base.lost = None, True
            return error
        finally:
            exchange.refuse(leader, _TAG)
            exchange.finish()
        return None

    def begin(self, comm: Comm, number: int, made: Sequence[int]) -> Exception | None:
        """Wait until nobody reads what the leader is to write, and give it shared memory."""
        exchange = Exchange(comm, self._clock, number, [], [])
        bases = [self._base(handle) for handle in made]
        sharers = self.sharers(bases[0])
        if sharers[0] != self.store.rank:
            exchange.refuse(sharers[0], _TAG)
            exchange.finish()
            return None
        self._hear(exchange, sharers[1:])
        try:
            for base in bases:
                if not base.virtual:
                    self.store.expose(base, sharers)
        except MemoryError as error:
            return error
        return None

    def copy(self, base: LocalBase) -> None:
        """Take what the leader has where the base lies: it may be what all others had, too."""
        grid, rank = base.layout.grid, self.store.rank
        everyone = frozenset(range(grid.lowest, grid.last + 1))
        leader = min(_sharers(base.layout, everyone, rank), default=rank)
        if leader != rank and base.block is not None:
            start = base.place + base.layout.place(base.shape, leader) * base.dtype.itemsize
            base.block[...] = self.store.memory.at(start, base.block.shape, base.dtype)

    def _hear(self, exchange: Exchange, others: Iterable[int]) -> None:
        for peer in others:
            exchange.drop(peer, _TAG)

    # -- after a command -------------------------------------------------------------------------

    def end(self, comm: Comm, number: int, made: Sequence[int], failed: set[int]) -> set[int]:
        """Tell where the leader's blocks are, or hear it; return the bases that it could not make.

        ``failed`` are those that this rank could not make.
        """
        exchange = Exchange(comm, self._clock, number, [], [])
        bases = [self._base(handle) for handle in made]
        leader, *others = self.sharers(bases[0])
        if leader == self.store.rank:
            places = np.array([self._place(h in failed, h) for h in made], np.int64)
            for peer in others:
                exchange.tell(peer, _TAG, places)
            exchange.finish()
        else:
            places = np.empty(len(made), np.int64)
            exchange.receive(leader, _TAG, places)
        for base, place in zip(bases, places.tolist(), strict=True):
            if place not in (
                _FAILED,
                _NEVER_STORED,
            ):  # places of the notebook's are lower
                base.shared = (leader, *others)
                self._read_at(base, leader, place)
        return {h for h, place in zip(made, places.tolist(), strict=True) if place == _FAILED}

    def _place(self, failed: bool, handle: int) -> int:
        base = self._base(handle)
        if failed:
            return _FAILED
        if base.virtual:
            return _NEVER_STORED
        return cast(int, self.store.memory.offset(cast(np.ndarray, base.block)))

    def _read_at(self, base: LocalBase, leader: int, place: int) -> None:
        if leader != self.store.rank and not base.virtual:
            shape = cast(Ints, base.layout.local_shape(base.shape, leader))
            flat = self.store.memory.block(leader, place, prod(shape), base.dtype)
            base.block = flat.reshape(shape)


def is_large(store: BaseTable, base: Any) -> bool:
    """Tell whether a block is worth to be shared."""
    node = store.memory.node
    return node is not None and store.elements(base) * base.dtype.itemsize >= node.least


def has_sharers(store: BaseTable, layouts: Iterable[Layout]) -> bool:
    """Tell whether a rank of the node may compute for others what lies so."""
    node = store.memory.node
    return node is not None and all(_sharers(x, node.ranks, store.rank) for x in layouts)


def _unmasked(commands: Sequence[Elementary], handle: int) -> bool:
    """Tell whether the first command that writes a base does so without a mask."""
    first = next(c for c in commands if any(o.base == handle for o in c.outs))
    return not isinstance(first, Apply) or first.where is None


@lru_cache(maxsize=1024)
def _sharers(layout: Layout, ranks: frozenset[int], rank: int) -> Ints:
    mine = _part(layout, rank)
    found = tuple(r for r in sorted(ranks) if _part(layout, r) == mine)
    return found if mine is not None and len(found) > 1 else ()


def _part(layout: Layout, rank: int) -> Ints | None:
    """Return the coordinates of a rank that say which part it holds."""
    coords = layout.grid.coords(rank)
    return None if coords is None else tuple(coords[g] for g in layout.dims if g >= 0)
