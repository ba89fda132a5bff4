"""Exact splitters: how many of each engine's elements lie below a border, in sorted order.

Each engine has its part sorted. For a border, ``wanted`` elements of all engines belong below it:
the smallest ones, where equal ones count in the order of engines and positions. How many of each
engine these are is found by regular sampling (Shi and Schaeffer, "Parallel sorting by regular
sampling", 1992), again and again, within the *gaps* of elements that are still undecided. A
round shrinks all gaps of a border together to at most ``4 / samples`` of what they were,
whatever the elements are; so the number of rounds follows from the specs, and with it all messages.
Samples travel up a binomial tree, and gaps down.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from distnb.engines.collectives.reductions import Tree
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import LocalBase
from distnb.geometry.layout import Ints
from distnb.measure.events import COMPUTE, Clock

__all__ = ["Line", "Splitters", "line_of", "narrow", "rounds", "samples_for"]


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


class Line(NamedTuple):
    """The engines that share 1-D slices, this one's place among them, and how long their parts are.

    Each holds ``held[i]`` elements of every 1-D slice.
    """

    members: list[int]
    me: int
    held: np.ndarray


def line_of(base: LocalBase, axes: Ints, rank: int) -> Line:
    """Return the engines that hold parts of 1-D slices along ``axes``, in the order of the parts.

    It is ``rank`` alone where 1-D slices are whole, or where it holds none.
    """
    layout, shape = base.layout, base.shape
    coords = layout.grid.coords(rank)
    local = layout.local_shape(shape, rank)
    split = [a for a in axes if layout.parts(a) > 1]
    count = 0 if local is None else prod(m for d, m in enumerate(local) if d not in axes)
    if coords is None or not count or not split:
        return Line([rank], 0, np.array([prod(shape[a] for a in axes)]))
    members, held = [], []
    for along in product(*(range(layout.parts(a)) for a in split)):
        where = list(coords)
        for a, c in zip(split, along, strict=True):
            where[layout.dims[a]] = c
        members.append(layout.grid.rank(where))
        part = layout.shape_at(shape, tuple(where))
        held.append(prod(part[a] for a in axes))
    return Line(members, members.index(rank), np.array(held))


class Splitters:
    """The search for borders in 1-D slices of ``n`` elements, by the engines of a line."""

    def __init__(self, line: Line, n: int) -> None:
        self.line = line
        self.samples = max(1, min(samples_for(len(line.members)), n))
        self.rounds = rounds(n, self.samples)
        self.tree = Tree(line.members, line.members[line.me])

    def messages(self, more: int = 0) -> list[Key]:
        """Return what this rank sends, and takes in: samples up, gaps down.

        ``more``: further trips up the tree and down, under the tags that follow.
        """
        tree = self.tree
        near = tree.children if tree.parent is None else [tree.parent, *tree.children]
        return [(r, k) for r in near for k in range(self.rounds + more)]

    def find(
        self, rows: np.ndarray, wanted: np.ndarray, exchange: Exchange, clock: Clock
    ) -> np.ndarray:
        """Return how many elements lie below each border: [engine, border, slice].

        Parameters
        ----------
        rows : ndarray
            This engine's part of each 1-D slice, sorted.
        wanted : ndarray
            How many of all engines' elements are to lie below: [border, slice].
        """
        line = self.line
        low = np.zeros((len(line.members), *wanted.shape), np.int64)
        high = low + line.held[:, None, None]
        for k in range(self.rounds if wanted.size else 0):
            found = self.gather(self._sample(rows, low[line.me], high[line.me]), k, exchange)
            gaps = np.stack([low, high])
            if self.tree.parent is None:
                before = clock.switch(COMPUTE)
                _shrink(gaps, found, wanted)
                clock.switch(before)
            low, high = self.spread(gaps, k, exchange)
        return low

    def _sample(self, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return samples of this rank's gaps: [border, slice, sample]."""
        if rows.shape[1] == 0:
            return np.zeros((*low.shape, self.samples), rows.dtype)
        at = np.maximum(low[..., None] + _places(high - low, self.samples) - 1, 0)
        return rows[np.arange(len(rows))[:, None], at]

    def gather(self, mine: np.ndarray, tag: int, exchange: Exchange) -> np.ndarray:
        """Collect an array of each engine in the root: [engine, ...]; others get a part."""
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

    def spread(self, found: np.ndarray, tag: int, exchange: Exchange) -> np.ndarray:
        """Bring the root's array to all."""
        if self.tree.parent is not None:
            exchange.receive(self.tree.parent, tag, found)
        for child in self.tree.children:
            exchange.send(child, tag, found)
        return found


def _shrink(gaps: np.ndarray, samples: np.ndarray, wanted: np.ndarray) -> None:
    """Narrow the gaps of all borders and 1-D slices, in place."""
    low, high = gaps
    for border, which in np.ndindex(low.shape[1:]):
        a, b = low[:, border, which], high[:, border, which]
        left = int(wanted[border, which] - a.sum())
        least, most = narrow(samples[:, border, which], b - a, left)
        b[...] = a + most
        a += least
