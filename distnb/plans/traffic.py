"""What an operation sends, added up for each engine: from counts along the axes.

:mod:`distnb.plans.transfer` plans one rank in all detail. Here only totals are asked for, of all
ranks. What a rank needs of an operand is a product over the axes, and so is what it has of that
itself; the rest comes from others. So the cost grows with the number of engines, and not of their
pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from distnb.geometry.layout import Grid
from distnb.geometry.overlaps import Along, by_coord, divide
from distnb.geometry.slices import (
    Section,
    Sections,
    meetings,
    total,
)
from distnb.geometry.views import AxisMap, Placed

__all__ = ["Traffic", "counts", "none", "pairs", "reduction", "traffic"]

#: With more pairs of coordinates than this along an axis, messages are bounded and not counted.
_PAIRS = 1 << 12


class Traffic(NamedTuple):
    """Elements that each rank takes from others and gives to others, and the number of messages.

    ``sent`` is None where it would take too long to tell; ``messages`` is exact, or an upper bound.
    """

    received: np.ndarray
    sent: np.ndarray | None
    messages: int
    exact: bool = True


def none(size: int) -> Traffic:
    """Return the traffic of what sends nothing."""
    return Traffic(np.zeros(size, np.int64), np.zeros(size, np.int64), 0)


def counts(placed: Placed, size: int, once: Sequence[bool] = ()) -> np.ndarray:
    """Return how many elements of a view each rank holds.

    Of an axis in ``once`` a single index counts, as it travels where an operand is broadcast.

    >>> from distnb.geometry.layout import make_layout
    >>> from distnb.geometry.views import View
    >>> counts(Placed((5,), make_layout((5,), 2), View.whole((5,))), 3).tolist()
    [3, 2, 0]
    """
    still = tuple(once) or (False,) * len(placed.view.shape)
    counts = [_counts(placed, d, of) for d, of in enumerate(still)]
    found = np.zeros(size, np.int64)
    found[_ranks(placed.layout.grid)] = _over_grid(placed, counts).ravel()
    return found


def _counts(placed: Placed, d: int, once: bool) -> np.ndarray:
    """Return how many indices of an axis each coordinate holds, or 1 for all coordinates."""
    m, n = placed.maps[d], placed.view.shape[d]
    found = [n] if m is None else [total(m.owned(c)) for c in range(m.p)]
    return np.minimum(found, 1) if once else np.array(found, np.int64)


def _over_grid(placed: Placed, counts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the product of counts along the axes for all coordinates of the grid."""
    sizes = placed.layout.grid.sizes
    found = np.ones(sizes, np.int64)
    for m, count in zip(placed.maps, counts, strict=True):
        shape = [-1 if m and g == m.gdim else 1 for g in range(len(sizes))]
        found *= count.reshape(shape) if m else count[0]
    for g, c in placed.pinned.items():
        found *= (np.arange(sizes[g]) == c).reshape(
            [-1 if h == g else 1 for h in range(len(sizes))]
        )
    return found


def _ranks(grid: Grid) -> list[int]:
    return list(grid.ranks())


@lru_cache(maxsize=4096)
def traffic(out: Placed, operand: Placed, size: int) -> Traffic:
    """Return what travels of an operand of an elementwise operation that runs where ``out`` lies.

    Law: the sums of all messages of :func:`distnb.plans.transfer.plan_apply`, in elements.

    >>> from distnb.geometry.layout import make_layout
    >>> from distnb.geometry.views import View
    >>> rows, columns = (
    ...     Placed((4, 4), make_layout((4, 4), 2, dist), View.whole((4, 4)))
    ...     for dist in ("block", ("*", "block"))
    ... )
    >>> found = traffic(columns, rows, 2)
    >>> found.received.tolist(), found.sent.tolist(), found.messages
    ([4, 4], [4, 4], 2)
    """
    same = out.layout == operand.layout and out.shape == operand.shape and out.view == operand.view
    if same or not prod(out.view.shape):
        return none(size)
    once = tuple(a < 0 for a, _, _ in operand.view.dims)
    needed, own = counts(out, size, once), _own(out, operand, size, once)
    partners, exact = _messages(out, operand, size)
    messages = int(np.where(needed > 0, partners, 0).sum() - np.count_nonzero(own))
    return Traffic(needed - own, _sent(out, operand, own, needed, once), messages, exact)


def _own(out: Placed, operand: Placed, size: int, once: Sequence[bool]) -> np.ndarray:
    """Return how much of what each rank needs it holds itself."""
    found = np.zeros(size, np.int64)
    there, here = (_coords(p, size) for p in (out, operand))
    known: list[dict[tuple[int, int], int]] = [{} for _ in once]
    for rank in range(size):
        mine, its = there.get(rank), here.get(rank)
        if mine is None or its is None:
            continue
        count = 1
        for d, table in enumerate(known):
            key = mine[d], its[d]
            if key not in table:
                table[key] = _meeting(out, operand, d, *key, once=once[d])
            count *= table[key]
            if not count:
                break
        found[rank] = count
    return found


def _coords(placed: Placed, size: int) -> dict[int, tuple[int, ...]]:
    """Return the coordinates along each axis (-1: not split) of the ranks that may hold a part."""
    grid, found = placed.layout.grid, {}
    for rank, at in zip(grid.ranks(), product(*map(range, grid.sizes)), strict=True):
        if rank < size and all(at[g] == c for g, c in placed.pinned.items()):
            found[rank] = tuple(at[m.gdim] if m else -1 for m in placed.maps)
    return found


def _meeting(out: Placed, operand: Placed, d: int, mine: int, its: int, once: bool) -> int:
    """Return how many indices of an axis both coordinates hold."""
    a, b = _indices(out, d, mine), _indices(operand, d, its)
    n = total(a) if a == b else sum(total((part,)) for _, _, part in meetings(a, b))
    return min(n, 1) if once else n


def _indices(placed: Placed, d: int, c: int) -> Sections:
    m, n = placed.maps[d], placed.view.shape[d]
    return m.owned(c) if m else (Section(0, n, n, 1),)


def _messages(out: Placed, operand: Placed, size: int) -> tuple[np.ndarray, bool]:
    """Return how many ranks hold what each rank needs (itself included), and if that is exact."""
    counts, exact = [], True
    for d, (mine, its) in enumerate(zip(out.maps, operand.maps, strict=True)):
        few = mine is None or its is None or mine.p * its.p <= _PAIRS
        exact &= few
        coords = range(mine.p) if mine else range(1)
        counts.append(
            np.array([_holders(_indices(out, d, c), its, few) if its else 1 for c in coords])
        )
    found = np.zeros(size, np.int64)
    found[_ranks(out.layout.grid)] = _over_grid(out, counts).ravel()
    return found, exact


def _holders(needed: Sections, m: AxisMap, exact: bool) -> int:
    """Return how many coordinates own something of sections, or at most own something."""
    if exact:
        return len({x.coord for x in divide(needed, Along(m, -1, ()))})
    return min(m.p, sum(_at_most(s, m) for s in needed))


def _at_most(s: Section, m: AxisMap) -> int:
    first, last = (
        m.start + m.step * i for i in (s.start, s.start + (s.count - 1) * s.period + s.block - 1)
    )
    if period := m.axis.period(m.p):
        k = period // m.p
        apart = abs(last // k - first // k) + 1
    else:
        apart = abs(m.axis.owner(m.n, m.p, last) - m.axis.owner(m.n, m.p, first)) + 1
    return min(apart, s.count * s.block)


def _sent(
    out: Placed, operand: Placed, own: np.ndarray, needed: np.ndarray, once: Sequence[bool]
) -> np.ndarray | None:
    """Return how much each rank sends."""
    if not operand.free:
        return _all_uses(out, operand, len(own), once) - own
    found = np.zeros(len(own), np.int64)
    if len(operand.free) == len(operand.layout.grid.sizes):
        for rank in np.flatnonzero(needed - own).tolist():
            found[operand.source({}, rank)] += needed[rank]
        return found
    if prod(m.p for m in (*out.maps, *operand.maps) if m) * operand.layout.copies > 4 * _PAIRS:
        return None
    for sender, _, n in pairs(out, operand):
        found[sender] += n
    return found


def _all_uses(out: Placed, operand: Placed, size: int, once: Sequence[bool]) -> np.ndarray:
    """Return how often what each rank holds is used, by all ranks, where there are no copies."""
    counts = [
        np.array([np.count_nonzero(_counts(out, d, once=True))])
        if still
        else _counts(operand, d, False)
        for d, still in enumerate(once)
    ]
    found = np.zeros(size, np.int64)
    found[_ranks(operand.layout.grid)] = _over_grid(operand, counts).ravel()
    return found * prod(out.layout.grid.sizes[g] for g in out.free)


def pairs(out: Placed, operand: Placed) -> Iterator[tuple[int, int, int]]:
    """Enumerate the messages: sender, receiver, elements."""
    once = [a < 0 for a, _, _ in operand.view.dims]
    for rank in out.layout.grid.ranks():
        for where, n in _sources(out.owned(rank), operand, once):
            sender = operand.source(where, rank)
            if sender != rank:
                yield sender, rank, n


def _sources(
    needed: tuple[Sections, ...] | None, operand: Placed, once: Sequence[bool]
) -> Iterator[tuple[dict[int, int], int]]:
    """Enumerate the grid coordinates at which something lies, and how many elements."""
    if needed is None:
        return
    maps = operand.maps
    axes = [by_coord(divide(of, Along(m, -1, ()))) for of, m in zip(needed, maps, strict=True)]
    for several in product(*axes):
        where = dict(operand.pinned)
        where.update((m.gdim, c) for m, (c, _) in zip(maps, several, strict=True) if m)
        yield (
            where,
            prod(1 if still else total(of) for still, (_, of) in zip(once, several, strict=True)),
        )


@lru_cache(maxsize=1024)
def reduction(placed: Placed, axes: tuple[int, ...], size: int) -> Traffic:
    """Return what a reduction over axes sends: partial results up a tree, the result down.

    Each is as large as the part of the result that a rank gets.
    """
    grid, moving = (
        placed.layout.grid,
        {m.gdim for d, m in enumerate(placed.maps) if m and d in axes},
    )
    counts = [_counts(placed, d, once=d in axes) for d in range(len(placed.maps))]
    holds = _over_grid(placed, counts)
    kept = [np.ones_like(n) if d in axes else n for d, n in enumerate(counts)]
    parts = _over_grid(placed, kept)
    ranks = np.array(_ranks(grid), np.int64).reshape(grid.sizes)
    order = [g for g in range(ranks.ndim) if g not in moving] + sorted(moving)
    members = prod(grid.sizes[g] for g in moving)
    groups = zip(
        *(x.transpose(order).reshape(-1, members) for x in (ranks, holds > 0, parts)), strict=True
    )
    found = none(size)
    messages = sum(_tree(found, *group) for group in groups)
    return found._replace(messages=messages)


def _tree(found: Traffic, ranks: np.ndarray, holding: np.ndarray, parts: np.ndarray) -> int:
    """Add the messages of one group of a reduction; return how many."""
    n, holders = int(parts.max()), sorted(ranks[holding].tolist())
    everyone = holders + sorted(ranks[~holding].tolist())
    if not (n and holders) or found.sent is None:
        return 0
    for i in range(1, len(holders)):
        found.sent[holders[i]] += n
        found.received[holders[i - (i & -i)]] += n
    for i in range(1, len(everyone)):
        found.sent[everyone[i - (i & -i)]] += n
        found.received[everyone[i]] += n
    return len(holders) + len(everyone) - 2
