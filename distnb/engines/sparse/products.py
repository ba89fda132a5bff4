"""Products of a sparse array and a vector, or some columns.

Where the minor axis is summed, each engine first gets the entries of ``x`` that its part needs
(``bring``), and multiplies by itself (``gather``): what was brought may serve again. ``multiply``
does one after the other, and only then waits for those that read its entries. ``scatter``:
the major axis is summed; each engine has its entries of ``x``, and gives what it has for the result
to those that hold this, who add it up in the order of the ranks. The ranks know from the plan's
counts who sends; on a node, ``bring`` reads in place. Where several ranks have columns of the same
rows, ``fold`` adds up what they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.peer_blocks import PeerBlocks
from distnb.engines.runtime.store import BaseTable
from distnb.engines.sparse.needs import Need, take_into, taken
from distnb.engines.sparse.parts import block_of
from distnb.engines.sparse.semirings import Ring
from distnb.geometry.boxes import Box, box_of, meet, within
from distnb.measure.events import COMPUTE, TRANSFER, Clock
from distnb.wire.protocol import Collective

__all__ = ["Brought", "Folded", "Gathered", "Multiplied", "Picked", "Scattered"]

_ENTRIES, _PLACES = 0, 1
_MET = 1
#: Tells where anything comes to a result.
_ANYTHING = ("or", "pair", "?", False)
#: A block is read in place if it has at most so many times the bytes that are needed.
_WORTH = 16


def _peers(counts: Any, rank: int) -> tuple[list[int], list[int]]:
    """Return the other ranks that need something of one, and of which it needs something."""
    takers = [r for r, row in enumerate(counts) if row[rank] and r != rank]
    return takers, [r for r, n in enumerate(counts[rank]) if n and r != rank]


class Brought:
    """Get what parts need of a vector; ``args``: how many entries each rank needs of each.

    Operands: plan, vector. The output has what each rank needs, in the order of the plan.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.rank, self.node = store.rank, store.memory.node
        self.counts, *self.more = command.args
        self.plan, self.x, *self.others = [store.bases[x.base] for x in command.ins]
        self.out = store.bases[command.outs[0].base]
        takers, givers = _peers(self.counts, self.rank)
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
        """Send what others need, and take in what this rank does."""
        before = clock.switch(TRANSFER)
        need: Need = self.plan.kept
        self.peers.offer(exchange)
        for r in self.sends:
            exchange.send(r, _ENTRIES, np.ascontiguousarray(taken(block_of(self.x), need.given[r])))
        self._take(need, exchange)
        clock.switch(COMPUTE)
        self.use(need)
        clock.switch(TRANSFER)
        self.peers.close(exchange)
        clock.switch(before)

    def use(self, need: Need) -> None:
        """Do what is to be done with it."""

    def _take(self, need: Need, exchange: Exchange) -> None:
        """Fill what this rank needs, in the order of the plan."""
        entries = block_of(self.out)
        if self.rank in need.wanted:
            own = entries[need.places[self.rank]]
            take_into(own, block_of(self.x), need.wanted[self.rank])
        for r, (block,) in self.peers.open(exchange).items():
            take_into(entries[need.places[r]], block, need.wanted[r])
        self.peers.end_reads(exchange)
        for r in self.takes:
            exchange.receive(r, _ENTRIES, entries[need.places[r]])


class Gathered(SingleEngine):
    """Sum over the minor axis; ``args``: the semiring.

    Operands: elements, pointers, plan, what the parts need of the vector, and of what tells which
    of its elements take part, if not all do.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.ring = Ring(self.args[0], store.compiler)

    def work(self) -> None:
        """Fill the block."""
        data, indptr, plan, *entries = self.ins
        x, *there = map(block_of, entries)
        blocks = block_of(data), plan.kept.indices, block_of(indptr)
        self.ring.rows(blocks, x, block_of(self.out), *there)


class Multiplied(Brought):
    """Get it, and sum over the minor axis; ``args``: also the semiring.

    Operands: also elements and pointers; the second output is the product.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.ring = Ring(self.more[0], store.compiler)
        self.product = store.bases[command.outs[1].base]

    def use(self, need: Need) -> None:
        """Fill the block of the product."""
        if block_of(self.product).size:
            data, indptr = map(block_of, self.others)
            self.ring.rows((data, need.indices, indptr), block_of(self.out), block_of(self.product))


class Picked(SingleEngine):
    """Give each element the entry of the vector that its minor index names.

    Operands: plan, and what the parts need of the vector.
    """

    def work(self) -> None:
        """Fill the block."""
        plan, entries = self.ins
        block_of(self.out)[...] = block_of(entries)[plan.kept.indices]


class Folded:
    """Add up what ranks have for the same lines, in the order of their columns.

    ``args``: shape and layout of the sparse array. The first operand has what each rank has for its
    lines, the second one its pointers: what has no elements is not sent where that is less. Of the
    output each rank has some lines.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.rank = store.rank
        shape, layout = command.args
        bases = [store.bases[x.base] for x in (*command.ins, *command.outs)]
        self.source, self.pointers, self.out = bases
        ranks = range(self.out.layout.grid.size)
        parts = {r: box[:1] for r in ranks if (box := box_of(self.out.layout, self.out.shape, r))}
        boxes = {r: box for r in ranks if (box := box_of(layout, shape, r))}
        order = sorted(boxes, key=lambda r: boxes[r][1])
        #: Where in this rank's lines are those of others, and in its part those that others have.
        self.gives = _common(boxes.get(self.rank, ())[:1], parts)
        self.takes = _common(parts.get(self.rank, ()), {r: boxes[r][:1] for r in order})
        self.owed: list[Key] = [(r, _ENTRIES) for r in self.gives if r != self.rank]
        self.expected: list[Key] = [(r, _ENTRIES) for r in self.takes if r != self.rank]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Send what others add up, and do so."""
        before = clock.switch(TRANSFER)
        lines, out = block_of(self.source), block_of(self.out)
        there = np.diff(block_of(self.pointers)) > 0
        for r, _ in self.owed:
            where = self.gives[r]
            exchange.send(r, _ENTRIES, _without_zeros(lines[where], there[where]))
        out[...] = 0
        for r, where in self.takes.items():
            if r == self.rank:
                out[where] += lines[self.gives[r]]
            else:
                _add_to(out[where], exchange.take(r, _ENTRIES))
        clock.switch(before)


def _without_zeros(lines: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return the bytes of lines; if that is less than half, of those that are there, and a mask."""
    few = np.count_nonzero(there) * (lines.nbytes // len(lines)) + _mask_length(lines)
    less = 2 * few < lines.nbytes
    values = np.ascontiguousarray(lines[there] if less else lines).reshape(-1).view(np.uint8)
    return np.concatenate([values, np.packbits(there)]) if less else values


def _add_to(lines: np.ndarray, message: np.ndarray) -> None:
    """Add what came to some lines."""
    if message.nbytes == lines.nbytes:
        lines += message.view(lines.dtype).reshape(lines.shape)
        return
    values, mask = np.split(message, [-_mask_length(lines)])
    there = np.unpackbits(mask, count=len(lines)).astype(bool)
    lines[there] += values.view(lines.dtype).reshape(-1, *lines.shape[1:])


def _mask_length(lines: np.ndarray) -> int:
    return -(-len(lines) // 8)


def _common(box: Box, others: dict[int, Box]) -> dict[int, slice]:
    """Return where in an interval others have something of it, by rank."""
    met = {r: meet(box, other) for r, other in others.items()} if box else {}
    return {r: within(both, box)[0] for r, both in met.items() if both is not None}


class Scattered:
    """Sum over the major axis; ``args``: how many entries each rank needs of each, the semiring.

    Operands: elements, pointers, plan, vector, and what tells which of its elements take part, if
    not all do.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.rank = store.rank
        self.counts, ring = command.args
        self.ring = Ring(ring, store.compiler)
        bases = [store.bases[x.base] for x in command.ins]
        self.data, self.indptr, self.plan, self.x, *self.present = bases
        self.out = store.bases[command.outs[0].base]
        holders, givers = _peers(self.counts, self.rank)
        #: What tells for which entries something has come: where nothing stands for nothing.
        self.meets = [Ring(_ANYTHING, store.compiler)] if self.present else []
        self.meets = self.meets if self.ring.monoid.ufunc is None else []
        tags = (_ENTRIES, _MET) if self.meets else (_ENTRIES,)
        #: Messages this rank takes in, and sends: what it has for entries of others.
        self.expected: list[Key] = [(r, tag) for r in holders for tag in tags]
        self.owed: list[Key] = [(r, tag) for r in givers for tag in tags]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Multiply, send, and add up in the order of the ranks."""
        before = clock.switch(COMPUTE)
        need: Need = self.plan.kept
        x, out = self.x.block, self.out.block
        has = [np.empty((need.length, *self.x.shape[1:]), self.out.dtype)]
        has += [np.zeros(need.length, bool) for _ in self.meets]
        if x is not None:
            blocks = block_of(self.data), need.indices, block_of(self.indptr)
            for ring, entries in zip((self.ring, *self.meets), has, strict=True):
                ring.columns(blocks, x, entries, *map(block_of, self.present))
        for r, tag in self.owed:
            exchange.send(r, tag, np.ascontiguousarray(has[tag][need.places[r]]))
        if out is not None:
            out[...] = self.ring.semiring.identity
        seen = np.zeros(len(block_of(self.out)), bool)
        for r, row in enumerate(self.counts):
            if row[self.rank]:
                where = need.wanted[r] if r == self.rank else need.given[r]
                some, *met = self._of(r, row[self.rank], has, need, exchange)
                for which in met:
                    where, some = _positions(where)[which], some[which]
                self.ring.add_at(block_of(self.out), seen, where, some)
        clock.switch(before)

    def _of(
        self, r: int, n: int, has: list[np.ndarray], need: Need, exchange: Exchange
    ) -> list[np.ndarray]:
        """Return what a rank has for entries of this one."""
        if r == self.rank:
            return [x[need.places[r]] for x in has]
        found = [np.empty((n, *x.shape[1:]), x.dtype) for x in has]
        for tag, x in enumerate(found):
            exchange.receive(r, tag, x)
        return found


def _positions(where: Any) -> np.ndarray:
    """Return positions, which may be a slice, as an array."""
    found: np.ndarray = np.r_[where]
    return found
