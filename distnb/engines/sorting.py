"""Sorting along an axis that is split: exact splitters, one exchange, a merge.

Each engine sorts its part. Then the engines along the axis find, for each border between two of
them, how many of each engine's elements belong below it: of all elements exactly as many as lie
below the border in the layout. So the result lies as the layout says, whatever the elements are;
equal ones count in the order of engines and positions, which also makes the sort stable. Then each
element goes to its engine in one message for each pair, and the sorted runs are merged.

The borders are found by regular sampling (Shi and Schaeffer, "Parallel sorting by regular
sampling", 1992), again and again, within the *gaps* of elements that are still undecided. A
round shrinks all gaps of a border together to at most ``4 / samples`` of what they were,
whatever the elements are; so the number of rounds follows from the specs, and with it all messages.
Samples travel up a binomial tree, and gaps down.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from distnb.engines.exchange import TAGS_PER_COMMAND, Exchange, Key
from distnb.engines.reductions import Tree
from distnb.engines.store import Base, Store
from distnb.events import COMPUTE, Clock
from distnb.protocol import Collective

__all__ = ["Sort", "narrow", "rounds", "samples_for"]

#: Tags of a command: one for each round, the last for the elements.
_ELEMENTS = TAGS_PER_COMMAND - 1


def samples_for(members: int) -> int:
    """Return how many samples an engine takes of a gap.

    Many are fewer rounds; few keep what the root takes in (all engines' samples for all borders)
    proportional to the number of engines.
    """
    return max(64, 2048 // members)


def rounds(n: int, samples: int) -> int:
    """Return how many rounds decide about all of ``n`` elements; gaps of ``samples`` are exact.

    >>> rounds(1000, 1024), rounds(1 << 24, 1024), rounds(1 << 40, 64)
    (1, 3, 10)
    """
    found = 1
    while n > samples:
        n, found = 4 * n // samples + 3, found + 1
    return found


def _steps(widths: np.ndarray, samples: int) -> np.ndarray:
    """Return the distance of samples in each gap."""
    return np.maximum(1, -(-widths // samples))


def _places(widths: np.ndarray, samples: int) -> np.ndarray:
    """Return, for each gap, how many of its elements come up to and with each sample.

    The last axis is the number of the sample; the last element of a gap is always one.
    """
    number = np.arange(1, samples + 1)
    return np.minimum(number * _steps(widths, samples)[..., None], widths[..., None])


def narrow(samples: np.ndarray, widths: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Bound how many elements of each gap are among the ``wanted`` smallest of all gaps.

    Parameters
    ----------
    samples : ndarray
        For each gap, its sorted samples at :func:`_places`; what is left over is ignored.
    widths : ndarray
        The length of each gap.
    wanted : int
        From 0 to the sum of the widths.

    Returns
    -------
    tuple of ndarray
        At least and at most how many; the same if no gap is wider than there are samples.
    """
    n = samples.shape[1]
    steps = _steps(widths, n)
    used = -(-widths // steps)
    keep = np.arange(n) < used[:, None]
    owner = np.nonzero(keep)[0]
    order = owner[np.argsort(samples[keep], kind="stable")]
    seen = np.zeros((len(order) + 1, len(widths)), np.int64)  # samples of each gap so far
    np.cumsum(order[:, None] == np.arange(len(widths)), axis=0, out=seen[1:])
    least = np.minimum(seen * steps, widths)
    most = np.where(seen < used, np.minimum((seen + 1) * steps, widths) - 1, widths)
    below = max(0, int(np.searchsorted(most.sum(axis=1), wanted, "right")) - 1)
    above = int(np.searchsorted(least.sum(axis=1), wanted, "left"))
    return least[below], most[above]


class _Line(NamedTuple):
    """The engines along the sorted axis, and the first index of each (and the length)."""

    members: list[int]
    me: int
    cuts: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """How many elements of a lane each of them holds."""
        return np.diff(self.cuts)


def _line(base: Base, axis: int, rank: int) -> _Line:
    """Return the engines that sort together with ``rank``; itself alone if there is no need."""
    grid, gdim, n = base.layout.grid, base.layout.dims[axis], base.shape[axis]
    coords, local = grid.coords(rank), base.layout.local_shape(base.shape, rank)
    lanes = 0 if local is None else prod(m for d, m in enumerate(local) if d != axis)
    if coords is None or not lanes or base.layout.parts(axis) == 1:
        return _Line([rank], 0, np.array([0, n]))
    p, kind = grid.sizes[gdim], base.layout.axes[axis]
    members = [grid.rank((*coords[:gdim], c, *coords[gdim + 1 :])) for c in range(p)]
    cuts = [kind.bounds(n, p, c)[0] for c in range(p)] + [n]
    return _Line(members, coords[gdim], np.array(cuts))


class Sort:
    """Sort a whole base in place along one axis, on one rank.

    ``command.args`` are the axis and NumPy's ``kind`` (None or ``'stable'``). A split axis must lie
    in blocks, one for each engine.
    """

    def __init__(self, command: Collective, store: Store) -> None:
        self.axis, self.kind = command.args
        self.base = base = store.bases[command.outs[0].base]
        self.line = line = _line(base, self.axis, store.rank)
        n = base.shape[self.axis]
        self.samples = max(1, min(samples_for(len(line.members)), n))
        self.rounds = rounds(n, self.samples)
        self.tree = Tree(line.members, store.rank)
        self.others = [r for r in line.members if r != store.rank]

    @property
    def owed(self) -> list[Key]:
        """Messages this rank sends: samples up, gaps down, elements to all others."""
        tree = self.tree
        near = tree.children if tree.parent is None else [tree.parent, *tree.children]
        found = [(r, k) for r in near for k in range(self.rounds)]
        return found + [(r, _ELEMENTS) for r in self.others]

    @property
    def expected(self) -> list[Key]:
        """Messages this rank takes in: an answer to each, under the same tag."""
        return self.owed

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Sort the rank's part, exchange, and merge."""
        block = self.base.block
        if block is None:
            return
        before = clock.switch(COMPUTE)
        block.sort(axis=self.axis, kind=self.kind)
        lanes = np.ascontiguousarray(np.moveaxis(block, self.axis, -1))
        clock.switch(before)
        if self.others:
            rows = lanes.reshape(prod(lanes.shape[:-1]), lanes.shape[-1])
            taken = self._borders(rows, exchange, clock)
            merged = self._trade(rows, taken, exchange)
            exchange.finish()  # what is sent may lie in the block
            before = clock.switch(COMPUTE)
            merged.sort(axis=-1, kind="stable")
            np.moveaxis(block, self.axis, -1)[...] = merged.reshape(lanes.shape)
            clock.switch(before)

    def _borders(self, rows: np.ndarray, exchange: Exchange, clock: Clock) -> np.ndarray:
        """Return how many elements of a lane lie below a border: [engine, border, lane].

        The first border has none below it, the last one all.
        """
        line = self.line
        p, inner = len(line.members), line.cuts[1:-1]
        low = np.zeros((p, p - 1, len(rows)), np.int64)
        high = low + line.held[:, None, None]
        for k in range(self.rounds):
            found = self._gather(self._sample(rows, low[line.me], high[line.me]), k, exchange)
            gaps = np.stack([low, high])
            if self.tree.parent is None:
                before = clock.switch(COMPUTE)
                _shrink(gaps, found, inner)
                clock.switch(before)
            low, high = self._spread(gaps, k, exchange)
        full = np.empty((p, p + 1, len(rows)), np.int64)
        full[:, 0], full[:, 1:-1], full[:, -1] = 0, low, line.held[:, None]
        return full

    def _sample(self, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return samples of this rank's gaps: [border, lane, sample]."""
        if rows.shape[1] == 0:
            return np.zeros((*low.shape, self.samples), rows.dtype)
        at = np.maximum(low[..., None] + _places(high - low, self.samples) - 1, 0)
        return rows[np.arange(len(rows))[:, None], at]

    def _gather(self, mine: np.ndarray, tag: int, exchange: Exchange) -> np.ndarray:
        """Collect the samples of all engines in the root: [engine, ...]; others get a part."""
        members, me = self.line.members, self.line.me
        found = np.empty((len(members) - me, *mine.shape), mine.dtype)
        found[0], end = mine, 1
        for child in self.tree.children:  # of the engines from the child on, up to the next one
            at = members.index(child) - me
            end = min(2 * at, len(found))
            exchange.receive(child, tag, found[at:end])
        if self.tree.parent is not None:
            exchange.send(self.tree.parent, tag, found[:end])
        return found

    def _spread(self, gaps: np.ndarray, tag: int, exchange: Exchange) -> np.ndarray:
        """Bring the root's gaps to all."""
        if self.tree.parent is not None:
            exchange.receive(self.tree.parent, tag, gaps)
        for child in self.tree.children:
            exchange.send(child, tag, gaps)
        return gaps

    def _trade(self, rows: np.ndarray, taken: np.ndarray, exchange: Exchange) -> np.ndarray:
        """Send to each engine the elements between its borders; return what comes, run by run."""
        line, me = self.line, self.line.me
        p = len(line.members)
        runs = np.diff(taken, axis=1)  # [from, to, lane]
        merged = np.empty((len(rows), line.held[me]), rows.dtype)
        starts = np.cumsum(runs[:, me], axis=0) - runs[:, me]
        for k in range(p):
            to = (me + k) % p
            parts = _cut(rows, taken[me, to], runs[me, to])
            if to == me:
                _place(merged, starts[me], runs[me, me], _message(parts))
            else:
                exchange.send(line.members[to], _ELEMENTS, _message(parts))
        for k in range(1, p):
            peer = (me - k) % p
            n = runs[peer, me]
            # A lane alone is received where it belongs.
            direct = merged[0, starts[peer, 0] :][: n[0]] if len(rows) == 1 and n[0] else None
            into = _buffer(n.sum(), rows.dtype) if direct is None else direct
            exchange.receive(line.members[peer], _ELEMENTS, into)
            if direct is None and n.sum():
                _place(merged, starts[peer], n, into)
        return merged


def _shrink(gaps: np.ndarray, samples: np.ndarray, inner: np.ndarray) -> None:
    """Narrow the gaps of all borders and lanes, in place."""
    low, high = gaps
    for border, lane in np.ndindex(low.shape[1:]):
        a, b = low[:, border, lane], high[:, border, lane]
        least, most = narrow(samples[:, border, lane], b - a, int(inner[border] - a.sum()))
        b[...] = a + most
        a += least


def _cut(rows: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Return from each lane the elements of one message."""
    return [row[i : i + n] for row, i, n in zip(rows, starts, counts, strict=True)]


def _place(merged: np.ndarray, starts: np.ndarray, counts: np.ndarray, flat: np.ndarray) -> None:
    """Put the elements of one message where they belong in each lane."""
    at = 0
    for row, i, n in zip(merged, starts, counts, strict=True):
        row[i : i + n] = flat[at : at + n]
        at += n


def _buffer(n: int, dtype: np.dtype) -> np.ndarray:
    """Return room for a message; one of no elements has a byte, as empty ones tell of failures."""
    return np.empty(n, dtype) if n else np.zeros(1, np.uint8)


def _message(parts: list[np.ndarray]) -> np.ndarray:
    found = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return found if found.size else _buffer(0, found.dtype)
