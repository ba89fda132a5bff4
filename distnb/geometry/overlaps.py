"""One axis, split among the owners of operands: their overlaps, and intervals within one of each.

What a rank holds or needs of an axis is a few sections. Each operand's owners divide them into
*overlaps*, and the *intervals* are the common refinement of the overlaps of all operands. All is
done by sections, so the cost grows with the number of owners that meet, not of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from distnb.geometry.slices import Section, Sections, meetings
from distnb.geometry.views import AxisMap

__all__ = ["Along", "AxisSplit", "Interval", "Overlap", "by_coord", "divide", "split"]


class Along(NamedTuple):
    """How one axis of an operand is split; a rank's coordinate there, and what it holds if any."""

    map: AxisMap | None
    own: int
    held: Sections


class Overlap(NamedTuple):
    """A part of section ``parent`` of an axis: who has it, and where it begins in the message."""

    section: Section
    parent: int
    coord: int
    at: int


def divide(mine: Sections, other: Along, asked: Iterable[int] | None = None) -> list[Overlap]:
    """Split sections of one axis by their owners' coordinates; -1 where the axis is not split.

    The overlaps of a coordinate are what its message holds along this axis, in order. Sender and
    receiver find the same: one splits what it has, the other what it needs. No coordinates but
    those ``asked`` matter, if they are known.
    """
    m, own, held = other
    if m is None or held == mine:
        return _in_line(own, enumerate(mine))
    if asked is None:
        asked = sorted({c for s in mine for c in m.candidates(s)})
    found: list[Overlap] = []
    for c in asked:
        met = [(i, part) for i, _, part in meetings(mine, m.owned(c))]
        found += _in_line(c, sorted(met, key=_SECTION) if len(met) > 1 else met)
    return found


_SECTION = itemgetter(1)


def _in_line(coord: int, parts: Iterable[tuple[int, Section]]) -> list[Overlap]:
    """Return overlaps of one owner that lie one after the other."""
    found, at = [], 0
    for parent, s in parts:
        found.append(Overlap(s, parent, coord, at))
        at += s.block * s.count
    return found


def by_coord(overlaps: list[Overlap]) -> list[tuple[int, Sections]]:
    """Return each coordinate, and the sections of it."""
    grouped = groupby(overlaps, key=attrgetter("coord"))
    return [(c, tuple([x.section for x in several])) for c, several in grouped]


class Interval(NamedTuple):
    """A section of one axis that lies within one overlap of each operand."""

    section: Section
    overlaps: tuple[Overlap, ...]


class AxisSplit(NamedTuple):
    """How an axis is split: intervals, and for each operand the length of each owner's message."""

    intervals: list[Interval]
    lengths: list[dict[int, int]]


def split(mine: Sections, operands: Sequence[Along]) -> AxisSplit:
    """Split one axis where the owner of any operand changes; those that lie alike only once."""
    found = [[Interval(s, ())] for s in mine]
    lengths = []
    different = list(dict.fromkeys(operands))
    for operand in different:
        overlaps = divide(mine, operand)
        lengths.append({x.coord: x.at + x.section.block * x.section.count for x in overlaps})
        inside: list[list[Overlap]] = [[] for _ in mine]
        for x in overlaps:
            inside[x.parent].append(x)
        found = [_refine(intervals, inside[i]) for i, intervals in enumerate(found)]
    order = [different.index(operand) for operand in operands]
    intervals = [Interval(s, tuple(x[i] for i in order)) for several in found for s, x in several]
    return AxisSplit(intervals, [lengths[i] for i in order])


def _refine(intervals: list[Interval], overlaps: list[Overlap]) -> list[Interval]:
    """Split intervals of a section by overlaps of the same section: either cover all of it."""
    if len(overlaps) == 1:
        return [Interval(s, (*before, overlaps[0])) for s, before in intervals]
    if len(intervals) == 1:
        return [Interval(x.section, (*intervals[0].overlaps, x)) for x in overlaps]
    met = meetings([s.section for s in intervals], [x.section for x in overlaps])
    return [Interval(part, (*intervals[i].overlaps, overlaps[j])) for i, j, part in met]
