"""What of an array travels when it meets another one: the halo of a shifted view, and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from distnb.geometry.slices import (
    Section,
    Sections,
    meetings,
    total,
)
from distnb.geometry.views import Placed
from distnb.widgets.layouts.picture import Range

__all__ = ["Halo", "halo"]

#: More rectangles than this are not drawn.
MOST = 300
#: More runs of one engine along an axis than this are not looked at.
_RUNS = 32


class Halo(NamedTuple):
    """Rectangles of the base, along the shown axes, that other engines need.

    ``hidden`` are axes that are not shown along which elements travel, too. Nothing is drawn where
    that would be too much.
    """

    rects: tuple[tuple[Range, Range], ...]
    hidden: tuple[int, ...] = ()
    too_many: bool = False


def halo(out: Placed, operand: Placed, shown: tuple[int, int]) -> Halo:
    """Return what travels of an operand when an operation runs where ``out`` lies.

    ``shown`` are the axes of the operand's base along rows and columns, as those of its picture.
    """
    found: dict[tuple[Range, Range], None] = {}
    hidden: set[int] = set()
    for rank in out.layout.grid.ranks():
        needed = out.owned(rank)
        if needed is None:
            continue
        own = _met(needed, operand.owned(rank))
        drawn = [_axis_of(operand, a) for a in shown]
        apart = {
            a
            for d, (a, _, _) in enumerate(operand.view.dims)
            if a >= 0 and d not in drawn and total(own[d]) < total(needed[d])
        }
        if apart and all(total(of) for of in own):
            hidden |= apart
        if any(_many(of) for of in (*needed, *own)):
            return Halo((), tuple(sorted(hidden)), too_many=True)
        found.update(dict.fromkeys(_rects(operand, shown, drawn, needed, own)))
        if len(found) > MOST:
            return Halo((), tuple(sorted(hidden)), too_many=True)
    return Halo(tuple(found), tuple(sorted(hidden)))


def _many(sections: Sections) -> bool:
    return sum(s.count for s in sections) > _RUNS


def _met(needed: Sequence[Sections], held: Sequence[Sections] | None) -> list[Sections]:
    """Return, for each axis, what is needed and held; nothing at all if some axis has none."""
    if held is None:
        return [()] * len(needed)
    pairs = zip(needed, held, strict=True)
    return [tuple(part for _, _, part in meetings(a, b)) for a, b in pairs]


def _axis_of(operand: Placed, a: int) -> int:
    """Return the axis of the view that runs along an axis of the base, -1 if none does."""
    axes = [axis for axis, _, _ in operand.view.dims]
    return axes.index(a) if a in axes and a >= 0 else -1


def _rects(
    operand: Placed,
    shown: tuple[int, int],
    drawn: Sequence[int],
    needed: Sequence[Sections],
    own: Sequence[Sections],
) -> Iterator[tuple[Range, Range]]:
    """Return what is needed without what is there, as rectangles of the base."""
    rows, cols = (_along(operand, a, d, needed) for a, d in zip(shown, drawn, strict=True))
    if not all(total(of) for of in own):
        yield from product(rows, cols)
        return
    there = [_along(operand, a, d, own) for a, d in zip(shown, drawn, strict=True)]
    yield from product(_without(rows, there[0]), cols)
    yield from product(there[0], _without(cols, there[1]))


def _along(operand: Placed, a: int, d: int, of: Sequence[Sections]) -> list[Range]:
    """Return sections of the view's axis ``d`` as intervals of the base's axis ``a``."""
    if d < 0:
        i = dict(operand.view.fixed).get(a, 0)
        return [(i, i + 1)]
    _, start, step = operand.view.dims[d]
    found = []
    for lo, hi in sorted(run for s in of[d] for run in _runs(s)):
        ends = start + step * lo, start + step * (hi - 1)
        found.append((min(ends), max(ends) + 1))
    return sorted(found)


def _runs(s: Section) -> Iterator[Range]:
    for m in range(s.count):
        yield s.start + m * s.period, s.start + m * s.period + s.block


def _without(whole: list[Range], there: list[Range]) -> list[Range]:
    """Return what is left of intervals without others that lie within them.

    >>> _without([(0, 9)], [(0, 2), (4, 5)])
    [(2, 4), (5, 9)]
    """
    found = []
    for lo, hi in whole:
        at = lo
        for a, b in there:
            if lo <= a and b <= hi:
                found += [(at, a)] * (at < a)
                at = b
        found += [(at, hi)] * (at < hi)
    return found
