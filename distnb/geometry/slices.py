"""Integer arithmetic on periodic index sets, and on NumPy's slices.

A *section* is the set ``{start + m*period + t : 0 <= m < count, 0 <= t < block}``: ``count`` runs
of ``block`` indices, one every ``period``. An interval, every k-th index, and what one engine owns
of a block-cyclic axis are all sections, and so are (as a few disjoint ones) their intersections
and their preimages under strided views. Hence nothing here depends on the number of blocks or
elements: pairs of runs are matched by the Chinese remainder theorem, not by walking over them.

The set algebra follows the regular sections of Chatterjee et al., "Generating local addresses and
communication sets for data-parallel programs" (1995), and the nested FALLS of Ramaswamy and
Banerjee, "Automatic generation of efficient array redistribution routines" (1995).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import gcd
from typing import NamedTuple

__all__ = [
    "Section",
    "clip",
    "elements",
    "intersect",
    "interval",
    "length",
    "meetings",
    "preimage",
    "section",
    "total",
]


class Section(NamedTuple):
    """``count`` runs of ``block`` consecutive indices, one every ``period``."""

    start: int
    block: int
    period: int
    count: int  # type: ignore[assignment]  # not tuple.count


Sections = tuple[Section, ...]


def section(start: int, block: int, period: int, count: int) -> Sections:
    """Return the canonical section as a tuple of one, or of none if it is empty.

    >>> section(3, 2, 2, 5)
    (Section(start=3, block=10, period=10, count=1),)
    """
    if count <= 0 or block <= 0:
        return ()
    if count == 1 or block == period:
        return (Section(start, block * count, block * count, 1),)
    return (Section(start, block, period, count),)


def interval(lo: int, hi: int) -> Sections:
    """Return ``[lo, hi)`` as sections."""
    return (Section(lo, hi - lo, hi - lo, 1),) if lo < hi else ()


def length(s: Section) -> int:
    """Return the number of indices in a section."""
    return s.block * s.count


def total(sections: Iterable[Section]) -> int:
    """Return the number of indices in disjoint sections."""
    return sum(s.block * s.count for s in sections)


def elements(sections: Iterable[Section]) -> Iterator[int]:
    """Enumerate the indices, run by run (the slow and obvious definition; used by tests)."""
    for s in sections:
        for m in range(s.count):
            first = s.start + m * s.period
            yield from range(first, first + s.block)


def clip(s: Section, lo: int, hi: int) -> Sections:
    """Return the part of ``s`` in ``[lo, hi)``: at most a cut head, whole runs and a cut tail.

    >>> for part in clip(Section(start=0, block=2, period=4, count=3), 1, 9):
    ...     print(part)
    Section(start=1, block=1, period=1, count=1)
    Section(start=4, block=2, period=2, count=1)
    Section(start=8, block=1, period=1, count=1)
    """
    end = s.start + (s.count - 1) * s.period + s.block
    if lo <= s.start and end <= hi:
        return (s,)
    if s.count == 1:
        return interval(max(s.start, lo), min(end, hi))
    # Runs first..last-1 touch [lo, hi); a run that sticks out is cut on its own.
    first = max(0, -((s.start + s.block - 1 - lo) // s.period))
    last = min(s.count, (hi - 1 - s.start) // s.period + 1)
    if first >= last:
        return ()
    head: Sections = ()
    tail: Sections = ()
    at = s.start + first * s.period
    if at < lo or (at + s.block > hi):
        head = interval(max(at, lo), min(at + s.block, hi))
        first += 1
    at = s.start + (last - 1) * s.period
    if last > first and at + s.block > hi:
        tail = interval(at, hi)
        last -= 1
    return head + section(s.start + first * s.period, s.block, s.period, last - first) + tail


def intersect(a: Section, b: Section) -> Sections:
    """Return the indices in both, as disjoint sections ordered by their first index.

    Law: ``set(elements(intersect(a, b))) == set(elements([a])) & set(elements([b]))``, and
    ``intersect(a, b) == intersect(b, a)``, so that two ranks find the same parts. Every run of the
    result lies within one run of ``a`` and one of ``b``, and (unless it has a single run) its
    period is a multiple of both periods, or it lies within one run of the other.
    """
    if a.count == 1:
        return clip(b, a.start, a.start + a.block)
    if b.count == 1:
        return clip(a, b.start, b.start + b.block)
    g = gcd(a.period, b.period)
    few, many = (a, b) if (a.count, a) <= (b.count, b) else (b, a)
    if few.count <= (a.block + b.block) // g:
        found = [p for m in range(few.count) for p in _clip_to_run(many, few, m)]
    else:
        found = _intersect_periodic(a, b, g)
    return tuple(sorted(found))


def _clip_to_run(s: Section, runs: Section, m: int) -> Sections:
    lo = runs.start + m * runs.period
    return clip(s, lo, lo + runs.block)


def _intersect_periodic(a: Section, b: Section, g: int) -> list[Section]:
    """Match run m of ``a`` with run n of ``b`` for each offset d = a_m - b_n at which they meet.

    m and n solve ``m*Pa - n*Pb == d - a.start + b.start``, which has a solution when g divides the
    right side, and then one for each multiple of the common period.
    """
    pa, pb = a.period // g, b.period // g
    inverse = pow(pa, -1, pb) if pb > 1 else 0
    found: list[Section] = []
    shift = a.start - b.start
    lowest = 1 - a.block
    for d in range(lowest + (shift - lowest) % g, b.block, g):
        m = (d - shift) // g * inverse % pb
        n = (shift + m * a.period - d) // b.period
        skip = max(0, -(n // pa))  # n may be negative: advance to the first run that exists
        m, n = m + skip * pb, n + skip * pa
        count = min((a.count - 1 - m) // pb, (b.count - 1 - n) // pa) + 1
        into = max(0, -d)
        block = min(a.block, b.block - d) - into
        found.extend(section(a.start + m * a.period + into, block, a.period * pb, count))
    return found


def meetings(a: Sequence[Section], b: Sequence[Section]) -> list[tuple[int, int, Section]]:
    """Return all parts (i, j, part) in which ``a[i]`` and ``b[j]`` meet.

    Only those are compared that come close to each other modulo what all periods have in common, so
    the cost grows with the number of parts, and not with that of all pairs.
    """
    if len(a) == len(b) == 1:
        return [(0, 0, part) for part in intersect(a[0], b[0])]
    pairs = product(range(len(a)), range(len(b))) if min(len(a), len(b)) < 2 else _close(a, b)
    return [(i, j, part) for i, j in pairs for part in intersect(a[i], b[j])]


def _close(a: Sequence[Section], b: Sequence[Section]) -> set[tuple[int, int]]:
    """Return the pairs of sections whose residues overlap, by a sweep over both."""
    common = gcd(*(s.period for s in (*a, *b) if s.count > 1))
    sides = [(lo, hi, 0, i) for i, s in enumerate(a) for lo, hi in _residues(s, common)]
    sides += [(lo, hi, 1, j) for j, s in enumerate(b) for lo, hi in _residues(s, common)]
    found: set[tuple[int, int]] = set()
    open_runs: tuple[list[tuple[int, int]], ...] = ([], [])
    for lo, hi, side, number in sorted(sides):
        other = open_runs[1 - side]
        other[:] = [run for run in other if run[0] > lo]
        open_runs[side].append((hi, number))
        found.update((n, number) if side else (number, n) for _, n in other)
    return found


def _residues(s: Section, common: int) -> list[tuple[int, int]]:
    """Return the runs of a section modulo ``common`` (0: as they are) as intervals."""
    if not common:
        return [(s.start, s.start + s.block)]
    if s.block >= common:
        return [(0, common)]
    lo = s.start % common
    hi = lo + s.block
    return [(lo, hi)] if hi <= common else [(lo, common), (0, hi - common)]


def preimage(s: Section, offset: int, step: int, n: int) -> Sections:
    """Return ``{i : 0 <= i < n, offset + step*i in s}`` as sections ordered by first index.

    ``step`` may be negative. Where the gaps of ``s`` are at least as long as its runs (as they are
    in what one coordinate of several owns), every run of the result maps into one run of ``s``, or
    (when it was merged from runs of one index) ``step`` is a multiple of ``s.period``. Shorter gaps
    may fall between two steps, and then runs are merged.
    """
    if n <= 0:
        return ()
    if step == 1:
        return clip(Section(s.start - offset, s.block, s.period, s.count), 0, n)
    if step < 0:  # walk the view backwards, then mirror what was found
        found = preimage(s, offset + step * (n - 1), -step, n)
        return tuple(sorted(_mirror(f, n) for f in found))
    if s.count > 1 and s.block < step:
        arithmetic = section(offset, 1, step, n)[0] if n > 1 else Section(offset, 1, 1, 1)
        return tuple(sorted(_divide(f, offset, step) for f in _points(arithmetic, s)))
    found = tuple(p for r in _preimage_runs(s, offset, step) for p in clip(r, 0, n))
    return tuple(sorted(found))


def _points(arithmetic: Section, s: Section) -> Sections:
    """Intersect an arithmetic progression (step > 1, or one point) with ``s``."""
    return intersect(arithmetic, s)


def _divide(s: Section, offset: int, step: int) -> Section:
    """Turn a section of points ``offset + step*i`` into the section of their i."""
    if s.count == 1:
        return Section((s.start - offset) // step, 1, 1, 1)
    return section((s.start - offset) // step, 1, s.period // step, s.count)[0]


def _mirror(s: Section, n: int) -> Section:
    """Return ``{n - 1 - i : i in s}``."""
    last = s.start + (s.count - 1) * s.period + s.block - 1
    return Section(n - 1 - last, s.block, s.period, s.count)


def _preimage_runs(s: Section, offset: int, step: int) -> Iterator[Section]:
    """Preimages of the runs, one section for each residue class of runs (step > 0, unclipped)."""
    classes = step // gcd(s.period, step)
    for m in range(min(classes, s.count)):
        first = s.start + m * s.period - offset
        lo, hi = -(-first // step), (first + s.block - 1) // step + 1
        runs = -(-(s.count - m) // classes)
        yield from section(lo, hi - lo, s.period * classes // step, runs)
