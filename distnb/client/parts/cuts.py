"""Where arrays are cut for tasks, and which engine has the parts of which tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from distnb.client.sparse.structure import even
from distnb.geometry.layout import Ints

__all__ = ["Cuts", "cut", "shared_out"]


class Cuts(NamedTuple):
    """The places between the parts of an axis, and with which part those of each rank begin."""

    places: Ints
    homes: Ints

    @property
    def bounds(self) -> Ints:
        """Where the axis is cut among engines."""
        return tuple([self.places[h] for h in self.homes])


def shared_out(parts: int, weights: Sequence[int]) -> Ints:
    """Return how many parts each engine has: one, and of the others as many as its weight says.

    >>> shared_out(10, (6, 2, 0))
    (6, 3, 1)
    """
    more, total = parts - len(weights), sum(weights)
    if not total:
        weights, total = [1] * len(weights), len(weights)
    found = [more * w // total for w in weights]
    rest = sorted(range(len(found)), key=lambda r: -(more * weights[r] % total))
    for r in rest[: more - sum(found)]:
        found[r] += 1
    return tuple([1 + k for k in found])


def cut(bounds: Ints, parts: int, weights: Sequence[int]) -> Cuts:
    """Return the parts of an axis that engines have between some bounds.

    No part has elements of two engines. Where there are fewer parts than engines, all is cut anew.

    >>> cut((0, 6, 8), 3, (6, 2))
    Cuts(places=(0, 3, 6, 8), homes=(0, 2, 3))
    """
    size, n = len(bounds) - 1, bounds[-1]
    if parts < size:
        return Cuts(even(n, parts), tuple([min(r, parts) for r in range(size + 1)]))
    counts = shared_out(parts, weights)
    places = [0]
    for (low, high), count in zip(pairwise(bounds), counts, strict=True):
        places += [low + at for at in even(high - low, count)[1:]]
    return Cuts(tuple(places), (0, *accumulate(counts)))
