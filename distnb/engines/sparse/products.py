"""Products of a sparse array and a vector, or some columns: one exchange of what is needed.

``gather``: the minor axis is summed; each engine gets the entries of ``x`` that its part needs, and
has its entries of the result. ``scatter``: the major axis is summed; each engine has its entries of
``x``, and gives what it has for the result to those that hold this, who add it up in the order of
the ranks. The ranks know from the plan's counts who sends; on a node, ``gather`` reads in place.
"""

from __future__ import annotations

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.peer_blocks import PeerBlocks
from distnb.engines.runtime.store import BaseTable
from distnb.engines.sparse.needs import Need, taken
from distnb.engines.sparse.parts import block_of
from distnb.engines.sparse.semirings import Ring
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Gathered", "Picked", "Scattered"]

_ENTRIES, _PLACES = 0, 1
#: A block is read in place if it has at most so many times the bytes that are needed.
_WORTH = 16


class _Product:
    """What both have in common: ``args``: how many entries each rank needs of each, the semiring.

    Operands: elements, pointers, plan, vector.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.rank = store.rank
        self.counts, ring = command.args
        self.ring = Ring(ring, store.compiler)
        self.data, self.indptr, self.plan, self.x = [store.bases[x.base] for x in command.ins]
        self.out = store.bases[command.outs[0].base]

    def _peers(self, of: int | None, on: int | None) -> list[int]:
        """Return the other ranks that need something of one, or of which one needs something."""
        if on is None:
            found = [r for r, row in enumerate(self.counts) if of is not None and row[of]]
        else:
            found = [r for r, n in enumerate(self.counts[on]) if n]
        return [r for r in found if r != self.rank]

    def _blocks(self, need: Need) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return elements, places of their entries, and pointers."""
        return block_of(self.data), need.indices, block_of(self.indptr)


class Gathered(_Product):
    """Sum over the minor axis."""

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.node = store.memory.node
        takers, givers = self._peers(self.rank, None), self._peers(None, self.rank)
        near = {r: self._lent(r, self.rank) for r in takers}
        lenders = [r for r in givers if self._lent(self.rank, r)]
        readers = {r: n for r, n in near.items() if n}
        self.peers = PeerBlocks(store, [self.x], readers, lenders, _PLACES)
        self.sends = [r for r in takers if r not in readers]
        self.takes = [r for r in givers if r not in lenders]

    def _lent(self, reader: int, owner: int) -> int:
        """Return how many bytes one rank reads in place at another: 0 if it is sent them."""
        if self.node is None or not {reader, owner} <= self.node.ranks:
            return 0
        one = self.x.dtype.itemsize * int(np.prod(self.x.shape[1:], dtype=int))
        local = self.x.layout.local_shape(self.x.shape, owner)
        nbytes: int = self.counts[reader][owner] * one
        if local is None or nbytes < self.node.least or local[0] * one > _WORTH * nbytes:
            return 0
        return nbytes

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends."""
        return [(r, _ENTRIES) for r in self.sends] + self.peers.owed

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return [(r, _ENTRIES) for r in self.takes] + self.peers.expected

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Get what is needed, and multiply."""
        before = clock.switch(COMPUTE)
        need: Need = self.plan.kept
        self.peers.offer(exchange)
        for r in self.sends:
            exchange.send(r, _ENTRIES, np.ascontiguousarray(taken(block_of(self.x), need.given[r])))
        self.use(need, self._entries(need, exchange))
        self.peers.close(exchange)
        clock.switch(before)

    def use(self, need: Need, entries: np.ndarray) -> None:
        """Fill the result from the entries that this rank needs."""
        self.ring.rows(self._blocks(need), entries, block_of(self.out))

    def _entries(self, need: Need, exchange: Exchange) -> np.ndarray:
        """Return the entries that this rank needs, in the order of the plan."""
        if need.whole == self.rank:
            return block_of(self.x)
        entries = np.empty((need.length, *self.x.shape[1:]), self.x.dtype)
        if self.rank in need.wanted:
            entries[need.places[self.rank]] = taken(block_of(self.x), need.wanted[self.rank])
        for r, (block,) in self.peers.open(exchange).items():
            entries[need.places[r]] = taken(block, need.wanted[r])
        self.peers.end_reads(exchange)
        for r in self.takes:
            exchange.receive(r, _ENTRIES, entries[need.places[r]])
        return entries


class Picked(Gathered):
    """Give each element the entry of the vector that its minor index names."""

    def use(self, need: Need, entries: np.ndarray) -> None:
        """Fill the result, which is as the elements."""
        if len(need.indices):
            block_of(self.out)[...] = entries[need.indices]


class Scattered(_Product):
    """Sum over the major axis."""

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: what it has for entries of others."""
        return [(r, _ENTRIES) for r in self._peers(None, self.rank)]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return [(r, _ENTRIES) for r in self._peers(self.rank, None)]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Multiply, send, and add up in the order of the ranks."""
        before = clock.switch(COMPUTE)
        need: Need = self.plan.kept
        x, out = self.x.block, self.out.block
        inner = self.x.shape[1:]
        entries = np.zeros((need.length, *inner), self.out.dtype)
        if x is not None:
            self.ring.columns(self._blocks(need), x, entries)
        for r, _ in self.owed:
            exchange.send(r, _ENTRIES, np.ascontiguousarray(entries[need.places[r]]))
        if out is not None:
            out[...] = self.ring.semiring.identity
        seen = np.zeros(len(block_of(self.out)), bool)
        for r, row in enumerate(self.counts):
            if not row[self.rank]:
                continue
            if r == self.rank:
                where, some = need.wanted[r], entries[need.places[r]]
            else:
                where, some = need.given[r], np.empty((row[self.rank], *inner), self.out.dtype)
                exchange.receive(r, _ENTRIES, some)
            self.ring.add_at(block_of(self.out), seen, where, some)
        clock.switch(before)
