"""Views of bases, and who owns which of their elements.

A *view* is an affine index map from its own axes to those of a base. Placed, that is with the shape
and the layout of its base, it tells the sections that each rank holds. Everything here is a pure
function, the same on the client and on every rank.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from distnb.common.lazy import lazy
from distnb.geometry.axes import (
    Axis,
    Block,
    Irregular,
    SlicedBlock,
    Whole,
)
from distnb.geometry.layout import (
    Grid,
    Ints,
    Layout,
    default_layout,
)
from distnb.geometry.slices import (
    Section,
    Sections,
    intersect,
    interval,
    preimage,
    section,
    total,
)

__all__ = [
    "AxisMap",
    "Placed",
    "View",
    "begin_of",
    "broadcast_shapes",
    "follow",
    "follow_axis",
]

_BLOCK = Block()

#: Axes that ``numpy.broadcast_shapes`` knows at most; arrays have up to 64.
_KNOWN = 32


def broadcast_shapes(*shapes: Ints) -> Ints:
    """Return the shape that arrays of some shapes have together; raises ValueError if none.

    >>> broadcast_shapes((2, 1), (1,) * 40 + (3,))[-2:]
    (2, 3)
    """
    most = max(map(len, shapes), default=0)
    if most <= _KNOWN:
        return np.broadcast_shapes(*shapes)
    aligned = [(1,) * (most - len(shape)) + shape for shape in shapes]
    cut = most - _KNOWN
    first = broadcast_shapes(*(shape[:cut] for shape in aligned))
    return first + broadcast_shapes(*(shape[cut:] for shape in aligned))


class View(NamedTuple):
    """An affine map from the view's axes to a base's.

    Axis ``d`` of the view runs along ``dims[d] = (axis, start, step)`` of the base, where axis -1
    means that it does not move in the base (broadcast). ``fixed`` holds ``(axis, index)`` for base
    axes that the view holds still.
    """

    shape: Ints
    dims: tuple[tuple[int, int, int], ...]
    fixed: tuple[tuple[int, int], ...] = ()

    @staticmethod
    @lru_cache(maxsize=1024)
    def whole(shape: Ints) -> View:
        """Return the view of a whole base."""
        return View(shape, tuple((a, 0, 1) for a in range(len(shape))))

    def transpose(self, order: Sequence[int]) -> View:
        """Return the view with its axes in another order."""
        shape = tuple(self.shape[d] for d in order)
        return self._replace(shape=shape, dims=tuple(self.dims[d] for d in order))

    def take(self, d: int, start: int, step: int, n: int) -> View:
        """Return the view of indices ``start + step*i``, i below n, along axis ``d``."""
        axis, base_start, base_step = self.dims[d]
        moved = (
            (axis, base_start + base_step * start, base_step * step) if axis >= 0 else (-1, 0, 0)
        )
        shape, dims, fixed = self
        return View(shape[:d] + (n,) + shape[d + 1 :], dims[:d] + (moved,) + dims[d + 1 :], fixed)

    def fix(self, d: int, index: int) -> View:
        """Return the view at one index of axis ``d``, without the axis."""
        axis, start, step = self.dims[d]
        still = ((axis, start + step * index),) if axis >= 0 else ()
        return View(
            self.shape[:d] + self.shape[d + 1 :],
            self.dims[:d] + self.dims[d + 1 :],
            tuple(sorted(self.fixed + still)),
        )

    def insert(self, d: int) -> View:
        """Return the view with a new axis of length 1 before axis ``d``."""
        return self._replace(
            shape=self.shape[:d] + (1,) + self.shape[d:],
            dims=self.dims[:d] + ((-1, 0, 0),) + self.dims[d:],
        )

    def of_ndim(self, n: int) -> View:
        """Return the view with ``n`` axes: leading ones of length 1 come before it, or go."""
        found = self
        while len(found.shape) < n:
            found = found.insert(0)
        while len(found.shape) > n:
            found = found.fix(0, 0)
        return found

    def broadcast(self, shape: Ints) -> View:
        """Return the view stretched to a shape it broadcasts to (checked by the caller)."""
        pad = len(shape) - len(self.shape)
        old = (1,) * pad + self.shape
        dims = ((-1, 0, 0),) * pad + self.dims
        still = tuple(
            (dims[d][0], dims[d][1])
            for d, n in enumerate(shape)
            if old[d] == 1 != n and dims[d][0] >= 0
        )
        moved = tuple((-1, 0, 0) if old[d] == 1 != n else dims[d] for d, n in enumerate(shape))
        return View(shape, moved, tuple(sorted(self.fixed + still)))

    def then(self, inner: View) -> View:
        """Return the view of the base that another view shows of what this one shows of it.

        >>> rows = View((4, 9), ((0, 2, 1), (1, 0, 1)))
        >>> rows.then(View((2,), ((0, 1, 2),), ((1, 5),)))
        View(shape=(2,), dims=((0, 3, 2),), fixed=((1, 5),))
        """
        dims, fixed = list[tuple[int, int, int]](), list(self.fixed)
        for axis, start, step in inner.dims:
            base, begin, by = self.dims[axis] if axis >= 0 else (-1, 0, 0)
            dims.append((base, begin + by * start, by * step))
        for axis, index in inner.fixed:
            base, begin, by = self.dims[axis]
            fixed += [(base, begin + by * index)] if base >= 0 else []
        return View(inner.shape, tuple(dims), tuple(sorted(fixed)))

    def is_whole(self, shape: Ints) -> bool:
        """Tell whether this is the identity view of a base of ``shape``."""
        return self == View.whole(shape)

    def meets(self, other: View) -> bool:
        """Tell whether two views of one base have any element in common."""
        if 0 in self.shape or 0 in other.shape:
            return False
        mine, others = self._reach(), other._reach()
        return all(intersect(mine[a], others[a]) for a in mine)

    def _reach(self) -> dict[int, Section]:
        """Return what the view takes of each axis of its base: all combinations of these indices.

        So two views are apart where they are along any axis.
        """
        found = {a: Section(i, 1, 1, 1) for a, i in self.fixed}
        for n, (a, start, step) in zip(self.shape, self.dims, strict=True):
            if a >= 0:
                (found[a],) = section(min(start, start + step * (n - 1)), 1, abs(step), n)
        return found


class AxisMap(NamedTuple):
    """How one axis of a view meets a split axis of its base."""

    axis: Axis
    n: int
    p: int
    gdim: int
    start: int
    step: int
    extent: int

    def owned(self, c: int) -> Sections:
        """Return the view's indices that coordinate ``c`` owns, ordered by first index."""
        base = self.axis.sections(self.n, self.p, c)
        if len(base) == 1:
            return preimage(base[0], self.start, self.step, self.extent)
        found = (p for s in base for p in preimage(s, self.start, self.step, self.extent))
        return tuple(sorted(found))

    def owner(self, i: int) -> int:
        """Return the coordinate that owns the view's index ``i``."""
        return self.axis.owner(self.n, self.p, self.start + self.step * i)

    def candidates(self, s: Section) -> Sequence[int]:
        """Return the coordinates that may own something of ``s``, ascending.

        Ownership repeats, so it is enough to walk over as many runs as meet it differently; where
        that would take longer than asking everyone, all coordinates are returned.
        """
        period = self.axis.period(self.p)
        if not period:
            return self._owners(s)
        differ = min(s.count, period // gcd(s.period * self.step, period))
        block = s.block if self.step % period else 1  # all of a run lies with one owner
        parts = abs(self.step) * (block - 1) // (period // self.p) + 2
        if differ * parts > self.p:
            return range(self.p)
        runs = (Section(s.start + m * s.period, block, block, 1) for m in range(differ))
        return sorted({c for run in runs for c in self._owners(run)})

    def _owners(self, s: Section) -> list[int]:
        """Walk over a section, from one owner to the next, past gaps; return them, ascending."""
        i, end = s.start, s.start + (s.count - 1) * s.period + s.block
        found = set()
        while i < end:
            into = (i - s.start) % s.period
            if into >= s.block:
                i += s.period - into
            at = self.start + self.step * i
            found.add(self.axis.owner(self.n, self.p, at))
            i = self._leave(i, at)
        return sorted(found)

    def _leave(self, i: int, at: int) -> int:
        """Return the first index after ``i`` whose base index leaves the run around ``at``."""
        if self.step > 0:
            return i - (at - self.axis.run(self.n, self.p, at)) // self.step
        period = self.axis.period(self.p)
        into = at % (period // self.p) if period else self.axis.to_local(self.n, self.p, at)
        return i + into // -self.step + 1

    def locate(self, s: Section) -> tuple[int, int, int]:
        """Return (local index of the start, local step in a run, local step between runs)."""
        at = self.axis.to_local(self.n, self.p, self.start + self.step * s.start)
        inner = self.axis.stride(self.p, self.step)
        outer = self.axis.stride(self.p, self.step * s.period) if s.count > 1 else 0
        return at, inner, outer


@dataclass(frozen=True)
class Placed:
    """A view of a base with a shape and a layout: everything that planning needs to know."""

    shape: Ints
    layout: Layout
    view: View

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        return hash((self.shape, self.layout, self.view))

    @lazy
    def moved(self) -> View:
        """Move the view back as far as its elements keep their owners: results of both lie alike.

        Along an axis that is not split that is to its beginning, along others to the beginning of
        the run that all of the view lies in, and along one that is dealt by whole periods. What
        goes backwards stays.

        >>> rows = Layout(Grid.of((2,)), (Block(), Whole()), (0, -1))
        >>> Placed((8, 9), rows, View((2,), ((1, 3, 2),), ((0, 6),))).moved
        View(shape=(2,), dims=((1, 0, 2),), fixed=((0, 4),))
        """
        shape, dims, fixed = self.view
        return View(
            shape,
            tuple([d if d[0] < 0 else self._back(n, *d) for n, d in zip(shape, dims, strict=True)]),
            tuple([self._back(1, a, i, 1)[:2] for a, i in fixed]),
        )

    def _back(self, n: int, a: int, start: int, step: int) -> tuple[int, int, int]:
        """Return how ``n`` elements along an axis of the base lie where they are moved to."""
        if not n or step < 0:  # layouts of what goes backwards say where it begins
            return a, start, step
        return a, begin_of(self.layout, self.shape, a, start, step * (n - 1)), step

    @lazy
    def maps(self) -> tuple[AxisMap | None, ...]:
        """One map for each axis of the view; None where its base axis is not split."""
        out: list[AxisMap | None] = []
        for extent, (a, start, step) in zip(self.view.shape, self.view.dims, strict=True):
            g = self.layout.dims[a] if a >= 0 else -1
            if g < 0 or self.layout.grid.sizes[g] == 1:
                out.append(None)
                continue
            p = self.layout.grid.sizes[g]
            out.append(AxisMap(self.layout.axes[a], self.shape[a], p, g, start, step, extent))
        return tuple(out)

    @lazy
    def pinned(self) -> dict[int, int]:
        """Grid coordinates that the view's fixed indices (and empty dims) determine."""
        found = {}
        for a, i in self.view.fixed:
            g = self.layout.dims[a]
            if g >= 0:
                found[g] = self.layout.axes[a].owner(self.shape[a], self.layout.parts(a), i)
        return found

    @lazy
    def free(self) -> Ints:
        """Grid dimensions that do not matter for ownership: they hold copies."""
        used = {m.gdim for m in self.maps if m} | set(self.pinned)
        return tuple(g for g in range(len(self.layout.grid.sizes)) if g not in used)

    def owned(self, rank: int) -> tuple[Sections, ...] | None:
        """Return, for each axis, the view's indices that a rank holds; None if it holds none."""
        coords = self.layout.grid.coords(rank)
        return None if coords is None else self.owned_at(coords)

    def owned_at(self, coords: Ints) -> tuple[Sections, ...] | None:
        """Return the same for grid coordinates."""
        if any(coords[g] != c for g, c in self.pinned.items()):
            return None
        out = []
        for n, m in zip(self.view.shape, self.maps, strict=True):
            sections = m.owned(coords[m.gdim]) if m else interval(0, n)
            if not sections:
                return None
            out.append(sections)
        return tuple(out)

    def source(self, where: dict[int, int], near: int) -> int:
        """Return the rank that hands out the elements at grid coordinates ``where``.

        Where there are copies, the receiver ``near`` takes its own, or one chosen by its number.
        """
        grid = self.layout.grid
        own = grid.coords(near)
        coords = []
        for g, n in enumerate(grid.sizes):
            if g in where:
                coords.append(where[g])
            elif own:
                coords.append(own[g])
            else:
                near, c = divmod(near, n)
                coords.append(c)
        return grid.rank(coords)

    def strangers(self, rank: int, last: int) -> Iterator[int]:
        """Enumerate the ranks up to ``last`` that hold nothing and take all from ``rank``.

        To be asked where each rank of the grid holds all of the view; see :meth:`source`.
        """
        grid = self.layout.grid
        number, step = 0, 1
        for c, n in zip(grid.coords(rank) or (), grid.sizes, strict=True):
            number, step = number + c * step, step * n
        return (r for r in range(number, last + 1, step) if grid.coords(r) is None)

    def owner(self, index: Ints) -> int:
        """Return the lowest rank that holds the element of the view at ``index``."""
        where = dict(self.pinned)
        where.update((m.gdim, m.owner(i)) for m, i in zip(self.maps, index, strict=True) if m)
        grid = self.layout.grid
        lowest = grid.coords(grid.lowest) or ()
        return grid.rank([where.get(g, c) for g, c in enumerate(lowest)])

    def local_shape(self, rank: int) -> Ints | None:
        """Return the shape of the base's part on a rank."""
        return self.layout.local_shape(self.shape, rank)

    @staticmethod
    @lru_cache(maxsize=4096)
    def whole(shape: Ints, layout: Layout) -> Placed:
        """Return the placement of a whole base (the same object every time)."""
        return Placed(shape, layout, View.whole(shape))

    def held(self, rank: int) -> int:
        """Return how many elements of the view a rank holds."""
        owned = self.owned(rank)
        return prod(total(s) for s in owned) if owned is not None else 0


def begin_of(layout: Layout, shape: Ints, a: int, at: int, reach: int) -> int:
    """Return to where what is from ``at`` to ``at + reach`` along an axis can be moved back.

    Its owners are the same there; else it stays.
    """
    parts = layout.parts(a)
    if parts == 1:
        return 0
    axis, n = layout.axes[a], shape[a]
    if period := axis.period(parts):
        alone = at + reach < axis.run(n, parts, at)
        return (axis.begin(n, parts, at) if alone else at) % period
    begins = _begins(axis, n, parts)
    k = bisect_right(begins, at)
    return begins[k - 1] if k == len(begins) or at + reach < begins[k] else at


@lru_cache(maxsize=1024)
def _begins(axis: Axis, n: int, parts: int) -> Ints:
    """Return where the intervals begin that coordinates own, of an axis that is not dealt."""
    return tuple([axis.bounds(n, parts, c)[0] for c in range(parts)])


def follow(
    placed: Placed, size: int, dropped: Sequence[int] = (), balanced: bool = True
) -> tuple[Layout, bool]:
    """Return the layout of a result that stays where a view's elements are, and if it does exactly.

    Axes in ``dropped`` (the reduced ones) are left out, and their grid dimensions hold copies.
    Block and irregular axes keep the owners of the view's indices; of a reversed view the grid's
    coordinates count from the end. A cyclic axis is dealt anew, which is exact when the view takes
    all of it in order. Where that would leave an engine with more than twice its fair share, the
    default layout of the shape is used instead (not when ``balanced`` is False: the user asked for
    that very layout).
    """
    keep, sub = _free_grid(placed)
    axes: list[Axis] = []
    dims: list[int] = []
    turned: list[int] = []
    exact = True
    for d, m in enumerate(placed.maps):
        if m is None:
            if d not in dropped:
                axes.append(Whole())
                dims.append(-1)
            continue
        axis, same = follow_axis(m)
        exact &= same
        if d not in dropped:
            axes.append(axis)
            dims.append(keep.index(m.gdim))
            if m.step < 0 and same:
                turned.append(dims[-1])
    # What holds copies is counted from the lowest rank.
    turned += [g for g, stride in enumerate(sub.strides) if stride < 0 and g not in dims]
    layout = Layout(sub.turned(turned) if turned else sub, tuple(axes), tuple(dims))
    whole = View.whole(placed.view.shape)
    shape = tuple(n for d, n in enumerate(placed.view.shape) if d not in dropped)
    if balanced and not (dropped or layout.here) and _unbalanced(layout, whole.shape, size):
        return default_layout(shape, size), False
    return layout, exact


def _free_grid(placed: Placed) -> tuple[Sequence[int], Grid]:
    """Return the grid dimensions that a view's fixed indices do not determine, and their grid."""
    grid, pinned = placed.layout.grid, placed.pinned
    if not pinned:
        return range(len(grid.sizes)), grid
    keep = [g for g in range(len(grid.sizes)) if g not in pinned]
    first = grid.first + sum(c * grid.strides[g] for g, c in pinned.items())
    return keep, Grid(
        first, tuple(grid.sizes[g] for g in keep), tuple(grid.strides[g] for g in keep)
    )


def follow_axis(m: AxisMap) -> tuple[Axis, bool]:
    """Return the axis kind that owns what the view's axis owns, and whether it does exactly."""
    if m.start == 0 and m.step == 1 and m.extent == m.n:
        return m.axis, True
    if m.axis.period(m.p):
        return m.axis, False
    if isinstance(m.axis, Block | SlicedBlock):
        return _slice_of_blocks(m), True
    cuts = _cuts(m)
    if all(Block().bounds(m.extent, m.p, c)[0] == cuts[c] for c in range(m.p)):
        return Block(), True
    return Irregular(tuple(cuts)), True


def _cuts(m: AxisMap) -> list[int]:
    """Return the cuts of a view of irregular blocks, from the last block on if it is reversed."""
    bounds = [m.axis.bounds(m.n, m.p, c) for c in range(m.p)]
    begins = [lo for lo, _ in bounds] if m.step > 0 else [hi - 1 for _, hi in reversed(bounds)]
    cuts = [min(m.extent, max(0, -((m.start - at) // m.step))) for at in begins]
    return [0, *cuts[1:], m.extent]


def _slice_of_blocks(m: AxisMap) -> Axis:
    """Return the axis of a slice: in blocks if that is the same.

    What lies in one block lies as its beginning does, wherever in it that is: loops over rows and
    windows make few different layouts.
    """
    if m.extent == 0:
        return _BLOCK
    of, start, step = m.n, m.start, m.step
    if isinstance(m.axis, SlicedBlock):
        of, start, step = m.axis.of, m.axis.start + m.axis.step * start, m.axis.step * step
    if step > 0 and start + step * (m.extent - 1) < _BLOCK.run(of, m.p, start):
        return SlicedBlock(of, _BLOCK.begin(of, m.p, start))
    sliced = SlicedBlock(of, start, step)
    return _BLOCK if _is_block(sliced, m.extent, m.p) else sliced


def _is_block(axis: SlicedBlock, n: int, p: int) -> bool:
    """Tell whether a slice of blocks is cut as blocks are.

    With nothing empty and no block cut amid a step, both cuts rise evenly but for one bend each, so
    they agree everywhere if they do at both ends and at the bends.
    """
    even = abs(axis.step) == 1 or axis.of % (p * axis.step) == 0
    bend = axis.of % p
    ends = (c for c in (1, p - 1, bend, p - bend, n % p) if 0 < c < p)
    return (
        even and n >= p and all(axis.bounds(n, p, c)[0] == Block().bounds(n, p, c)[0] for c in ends)
    )


def _unbalanced(layout: Layout, shape: Ints, size: int) -> bool:
    n = prod(shape)
    if n < 2:
        return False
    most = 2 * (-(-n // size) if layout.copies == 1 else n)
    # What is certain takes a fraction of the time, and most often it is enough.
    return layout.at_most(shape) > most and layout.largest_part(shape) > most
