"""What the parts of a sparse array need of a vector along the minor axis: planned once.

Each engine finds the minor indices that occur in its part, asks the holders of the vector for
exactly these, and numbers its indices anew: as places in what then comes, holder after holder. The
same plan, backwards, adds up what the parts have for a vector along the minor axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable
from distnb.engines.sparse.parts import block_of, load_scipy, multiply_turned
from distnb.geometry.layout import Layout
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Need", "Needs", "numbered", "take_into", "taken", "used"]

_POSITIONS = 0
#: So many times the elements of a part may be the length of the minor axis to be ticked off.
_DENSE = 16
#: So many indices are looked up at a time.
_CHUNK = 1 << 17


@dataclass
class Need:
    """What one rank needs of a vector, and gives of it to others.

    Attributes
    ----------
    indices : ndarray
        For each element of the part its place among what is needed.
    wanted : dict of int to ndarray or slice
        Holder -> where in its block lies what this rank needs, in rising order.
    places : dict of int to slice
        Holder -> where that is among all that is needed.
    given : dict of int to ndarray or slice
        Rank -> where in this rank's block lies what that one needs.
    length : int
        How many entries are needed.
    """

    indices: np.ndarray
    wanted: dict[int, Any] = field(default_factory=dict)
    places: dict[int, slice] = field(default_factory=dict)
    given: dict[int, Any] = field(default_factory=dict)
    length: int = 0


def compact(positions: np.ndarray) -> Any:
    """Return rising positions as a slice, if there is none between them that they leave out."""
    first, last = int(positions[0]), int(positions[-1])
    return slice(first, last + 1) if last - first + 1 == len(positions) else positions


def taken(block: np.ndarray, positions: Any) -> np.ndarray:
    """Return the rows of a block at some positions."""
    return block[positions] if isinstance(positions, slice) else block.take(positions, 0)


def take_into(out: np.ndarray, block: np.ndarray, positions: Any) -> None:
    """Fill ``out`` with the rows of a block at some positions, which are all in it."""
    if isinstance(positions, slice):
        out[...] = block[positions]
    else:  # what is clipped needs no memory in between, as what is checked does
        block.take(positions, 0, out=out, mode="clip")


def used(indices: np.ndarray, minor: int) -> np.ndarray:
    """Return the indices that occur, in rising order."""
    if minor > _DENSE * len(indices):
        return np.unique(indices).astype(np.int64, copy=False)
    ticked, kind = np.empty(minor, bool), indices.dtype  # by SciPy's loop in half of NumPy's time
    ends = np.array([0, len(indices)], kind)
    multiply_turned(np.ones(len(indices), bool), indices, ends, np.ones(1, bool), ticked)
    return np.flatnonzero(ticked)


def numbered(
    indices: np.ndarray, some: np.ndarray, order: np.ndarray | None, minor: int
) -> np.ndarray:
    """Return for each index its place in ``some[order]``, which has all of them once."""
    if minor > _DENSE * len(indices):
        places = np.searchsorted(some, indices).astype(indices.dtype, copy=False)
        if order is None:
            return places
        back = np.empty(len(order), indices.dtype)
        back[order] = np.arange(len(order), dtype=indices.dtype)
        return back[places]
    table = np.empty(minor, indices.dtype)
    table[some if order is None else some[order]] = np.arange(len(some), dtype=indices.dtype)
    found = np.empty_like(indices)
    for a in range(0, len(indices), _CHUNK):  # NumPy looks up in int64, which it makes of them
        chunk = slice(a, a + _CHUNK)
        table.take(indices[chunk], out=found[chunk], mode="clip")  # none is outside
    return found


def wanted_from(
    rank: int, layout: Layout, minor: int, some: np.ndarray
) -> tuple[dict[int, np.ndarray], np.ndarray | None]:
    """Return holder -> positions in its block of some indices, and their order by holder.

    The order is None if it is theirs already. A vector of which all ranks have a copy is read here.
    """
    if not len(some):
        return {}, None
    if layout.copies > 1:
        return {rank: some}, None
    g = layout.dims[0]
    if g < 0:  # on one engine
        return {layout.grid.lowest: some}, None
    owners, local = layout.axes[0].find(minor, layout.parts(0), some)
    order = None
    if len(owners) and (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        owners, local = owners[order], local[order]
    ends = np.searchsorted(owners, np.arange(layout.parts(0) + 1))
    ranks = [layout.grid.rank((c,)) for c in range(layout.parts(0))]
    return {r: local[a:b] for r, a, b in zip(ranks, ends, ends[1:], strict=False) if b > a}, order


class Needs:
    """Plan for a layout of the vector; ``args``: length of the minor axis, the layout.

    The output has a row for each rank: how many entries it needs of each.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        load_scipy()  # it takes long the first time, which is no part of what a plan takes
        self.rank = rank = store.rank
        self.minor, self.layout = command.args
        self.indices = store.bases[command.ins[0].base]
        self.out = store.bases[command.outs[0].base]
        ranks = range(self.indices.layout.grid.size)
        askers = [r for r in ranks if self._count(r)]
        holders = [r for r in ranks if self._holds(r)]
        #: Whether this rank has all of the vector, and nobody asks it: indices stay what they are.
        self.alone = self.layout.copies > 1 or len(ranks) == 1
        #: Ranks that this one asks, and that ask it.
        self.asks = [r for r in holders if r != rank] if rank in askers else []
        self.asked = [r for r in askers if r != rank] if rank in holders else []

    def _count(self, rank: int) -> int:
        local = self.indices.layout.local_shape(self.indices.shape, rank)
        return 0 if local is None else local[0]

    def _held(self, rank: int) -> int:
        local = self.layout.local_shape((self.minor,), rank)
        return 0 if local is None else local[0]

    def _holds(self, rank: int) -> bool:
        """Tell whether others may have to ask a rank."""
        return self.layout.copies == 1 and self._held(rank) > 0

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends."""
        return [(r, _POSITIONS) for r in self.asks]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in."""
        return [(r, _POSITIONS) for r in self.asked]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Ask, and note who asks for what."""
        before = clock.switch(COMPUTE)
        indices = block_of(self.indices)
        if self.alone:
            self._keep(Need(indices), {self.rank: np.arange(self.minor)})
            clock.switch(before)
            return
        some = used(indices, self.minor)
        wanted, order = wanted_from(self.rank, self.layout, self.minor, some)
        for r in self.asks:
            positions = wanted.get(r)
            exchange.send(r, _POSITIONS, np.zeros(1, np.uint8) if positions is None else positions)
        need = Need(numbered(indices, some, order, self.minor))
        for r in self.asked:
            found = exchange.take(r, _POSITIONS)
            if found.nbytes > 1:
                need.given[r] = compact(found.view(np.int64))
        self._keep(need, wanted)
        clock.switch(before)

    def _keep(self, need: Need, wanted: dict[int, np.ndarray]) -> None:
        """Keep what is needed of whom, and tell how much that is."""
        row = block_of(self.out).reshape(-1)
        row[...] = 0
        for r, positions in wanted.items():
            row[r] = n = len(positions)
            if n:
                need.wanted[r] = compact(positions)
            need.places[r] = slice(need.length, need.length + n)
            need.length += n
        self.out.kept = need
