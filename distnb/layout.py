"""Who owns which elements: process grids, layouts, views, and sections of a view on a rank.

A *base* has a shape and a layout. A layout puts each axis on at most one dimension of a grid of
ranks; grid dimensions that no axis uses hold copies (replicas). A *view* is an affine index map
from its own axes to those of a base. Everything here is a pure function of these, the same on the
client and on every rank.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, prod
from typing import NamedTuple

from distnb.axes import Axis, Block, Irregular, Whole, parse_axis
from distnb.errors import LayoutError, explain
from distnb.slices import Section, Sections, intersect, interval, preimage, total

__all__ = [
    "NOTEBOOK",
    "AxisMap",
    "Grid",
    "Layout",
    "Placed",
    "View",
    "default_layout",
    "follow",
    "in_notebook",
    "make_layout",
    "on_engine",
    "replicated",
    "strides_of",
]

Ints = tuple[int, ...]

#: In place of a rank: the notebook's process, which is no engine.
NOTEBOOK = -1


def strides_of(shape: Sequence[int]) -> Ints:
    """Return C-order strides in elements.

    >>> strides_of((2, 3, 4))
    (12, 4, 1)
    """
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


@dataclass(frozen=True)
class Grid:
    """Ranks ``first + sum(coords * strides)`` for all coords below ``sizes``; row-major."""

    first: int
    sizes: Ints
    strides: Ints

    @classmethod
    def of(cls, sizes: Sequence[int], first: int = 0) -> Grid:
        """Return the row-major grid of consecutive ranks."""
        return cls(first, tuple(sizes), strides_of(sizes))

    @cached_property
    def size(self) -> int:
        """Number of ranks."""
        return prod(self.sizes)

    @cached_property
    def last(self) -> int:
        """The highest rank."""
        return self.rank([n - 1 for n in self.sizes])

    def covers(self, other: Grid) -> bool:
        """Tell whether these are consecutive ranks among which are all of another grid."""
        consecutive = self.last - self.first + 1 == self.size
        return consecutive and self.first <= other.first and other.last <= self.last

    def rank(self, coords: Sequence[int]) -> int:
        """Return the rank at grid coordinates."""
        return self.first + sum(c * s for c, s in zip(coords, self.strides, strict=True))

    def coords(self, rank: int) -> Ints | None:
        """Return the grid coordinates of a rank, or None if it is not in the grid."""
        rest = rank - self.first
        found = []
        for size, stride in zip(self.sizes, self.strides, strict=True):
            c, rest = divmod(rest, stride)
            if not 0 <= c < size:
                return None
            found.append(c)
        return tuple(found) if rest == 0 else None

    def ranks(self) -> Iterator[int]:
        """Enumerate the ranks in order of their coordinates."""
        found = [self.first]
        for size, stride in zip(self.sizes, self.strides, strict=True):
            found = [r + c * stride for r in found for c in range(size)]
        return iter(found)


@dataclass(frozen=True)
class Layout:
    """How a base is split: a kind of axis and a grid dimension (or -1) for each array axis."""

    grid: Grid
    axes: tuple[Axis, ...]
    dims: Ints

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.grid, self.axes, self.dims))

    def parts(self, a: int) -> int:
        """Return over how many coordinates axis ``a`` is split."""
        d = self.dims[a]
        return self.grid.sizes[d] if d >= 0 else 1

    @cached_property
    def copies(self) -> int:
        """How many ranks hold each element."""
        return prod(n for d, n in enumerate(self.grid.sizes) if d not in self.dims)

    @cached_property
    def split(self) -> int:
        """Over how many parts the array is split."""
        return self.grid.size // self.copies

    @property
    def here(self) -> bool:
        """Whether the notebook holds the array, and no engine does."""
        return self.grid.first == NOTEBOOK

    def local_shape(self, shape: Ints, rank: int) -> Ints | None:
        """Return the shape of a rank's part, or None if the rank holds no part."""
        coords = self.grid.coords(rank)
        if coords is None:
            return None
        return tuple(
            axis.size(n, self.parts(a), coords[self.dims[a]] if self.dims[a] >= 0 else 0)
            for a, (axis, n) in enumerate(zip(self.axes, shape, strict=True))
        )

    @lru_cache(maxsize=1024)  # noqa: B019 - layouts are small values
    def largest_part(self, shape: Ints) -> int:
        """Return an upper bound of the number of elements that any rank holds."""
        return prod(
            ax.largest(n, self.parts(a))
            for a, (ax, n) in enumerate(zip(self.axes, shape, strict=True))
        )

    def check(self, shape: Ints) -> None:
        """Raise LayoutError unless the layout fits the shape."""
        for a, (axis, n) in enumerate(zip(self.axes, shape, strict=True)):
            axis.check(n, self.parts(a))

    def spell(self) -> str:
        """Return the layout as a user reads it, for example ``block x * on 2 engines``."""
        grid = self.grid
        if self.here:
            return "in the notebook"
        if not any(d >= 0 for d in self.dims):
            where = f"on engine {grid.first}" if grid.size == 1 else f"replicated on {grid.size}"
            return where
        kinds = " x ".join(axis.spell().strip("'") for axis in self.axes)
        over = "x".join(str(n) for n in grid.sizes)
        more = f", {self.copies} copies" if self.copies > 1 else ""
        return f"{kinds} on {over} engines{more}"


def replicated(ndim: int, size: int) -> Layout:
    """Return the layout in which each of ``size`` ranks holds the whole array."""
    return Layout(Grid.of((size,)), (Whole(),) * ndim, (-1,) * ndim)


def on_engine(ndim: int, rank: int) -> Layout:
    """Return the layout in which one rank holds the whole array."""
    return Layout(Grid.of((), rank), (Whole(),) * ndim, (-1,) * ndim)


@lru_cache(maxsize=64)
def in_notebook(ndim: int) -> Layout:
    """Return the layout of an array that the notebook's process holds, and no engine."""
    return on_engine(ndim, NOTEBOOK)


def default_layout(shape: Ints, size: int) -> Layout:
    """Return the layout of an array for which none was asked.

    Blocks along the first axis that is at least as long as there are ranks, else along the longest
    axis; arrays of fewer than two elements are replicated.
    """
    if prod(shape) < 2:
        return replicated(len(shape), size)
    axis = next((a for a, n in enumerate(shape) if n >= size), shape.index(max(shape)))
    dims = tuple(0 if a == axis else -1 for a in range(len(shape)))
    axes = tuple(Block() if a == axis else Whole() for a in range(len(shape)))
    return Layout(Grid.of((size,)), axes, dims)


def make_layout(shape: Ints, size: int, dist: object = None, grid: object = None) -> Layout:
    """Return the layout a user asks for with ``dist=`` and ``grid=``.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    size : int
        Number of engines.
    dist : None, str, tuple or Layout
        None for :func:`default_layout`; ``'replicated'``; ``('engine', r)`` for all on engine r;
        one word for the first axis (``'block'``), or a tuple with a word for each axis:
        ``'*'``, ``'block'``, ``'cyclic'``, ``('cyclic', k)``, ``('irregular', cuts)``.
    grid : tuple of int, optional
        How many engines along each split axis; by default as square as possible.

    Examples
    --------
    >>> make_layout((8, 8), 4, ("block", ("cyclic", 2))).spell()
    "block x ('cyclic', 2) on 2x2 engines"
    """
    if isinstance(dist, Layout):
        _check_given(dist, shape, size)
        return dist
    if dist is None and grid is None:
        return default_layout(shape, size)
    wanted = _grid(grid)
    if isinstance(dist, tuple | list) and len(dist) == 2 and dist[0] == "engine":
        _check_no_grid(wanted)
        return on_engine(len(shape), _check_engine(dist[1], size))
    unsplit = isinstance(dist, str) and dist == "replicated"
    axes = () if unsplit else _parse_axes(dist, len(shape), wanted)
    where = [a for a, axis in enumerate(axes) if not isinstance(axis, Whole)]
    if not where:
        _check_no_grid(wanted)
        return replicated(len(shape), size)
    sizes = _grid_sizes(size, [shape[a] for a in where], [axes[a] for a in where], wanted)
    dims = tuple(where.index(a) if a in where else -1 for a in range(len(shape)))
    layout = Layout(Grid.of(sizes), axes, dims)
    layout.check(shape)
    return layout


def _check_given(layout: Layout, shape: Ints, size: int) -> None:
    if len(layout.axes) != len(shape):
        raise LayoutError(
            explain("layout", f"{len(layout.axes)} axes", f"{len(shape)}", "pass one for the shape")
        )
    if max(layout.grid.ranks()) >= size:
        raise LayoutError(
            explain(
                "layout", f"a grid of {layout.grid}", f"ranks below {size}", "use fewer engines"
            )
        )
    layout.check(shape)


def _grid(grid: object) -> Ints | None:
    """Return ``grid=`` as a tuple of positive integers."""
    if grid is None:
        return None
    given = [_integer(g) for g in (grid if isinstance(grid, tuple | list) else (grid,))]
    if not all(g is not None and g >= 1 for g in given):
        raise LayoutError(
            explain("grid", grid, "positive integers", "give the engines along each split axis")
        )
    return tuple(g for g in given if g is not None)


def _integer(x: object) -> int | None:
    """Return an integer, NumPy's included; None for anything else."""
    try:
        return None if isinstance(x, bool) else operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        return None


def _check_no_grid(grid: Ints | None) -> None:
    if grid is not None:
        raise LayoutError(
            explain("grid", grid, "none, for no axis is split", "leave it out or split an axis")
        )


def _check_engine(rank: object, size: int) -> int:
    found = _integer(rank)
    if found is None or not 0 <= found < size:
        raise LayoutError(
            explain("engine", repr(rank), f"a number from 0 to {size - 1}", "pass ('engine', r)")
        )
    return found


def _parse_axes(dist: object, ndim: int, grid: Ints | None) -> tuple[Axis, ...]:
    if dist is None:  # only a grid was given: blocks along its axes
        words: list[object] = ["block"] * len(grid or ())
    elif isinstance(dist, tuple | list) and not _is_word(dist):
        words = list(dist)
    else:
        words = [dist]
    if len(words) > ndim:
        raise LayoutError(
            explain("dist", f"{len(words)} words", f"at most {ndim}", "give one word for each axis")
        )
    return tuple(parse_axis(w) for w in words) + (Whole(),) * (ndim - len(words))


def _is_word(dist: Sequence[object]) -> bool:
    """Tell ``('cyclic', 4)``, a word for one axis, from ``('cyclic', ('cyclic', 4))``, for two."""
    if len(dist) != 2 or dist[0] not in ("cyclic", "irregular"):
        return False
    arg = dist[1]
    numbers = isinstance(arg, Iterable) and all(_integer(x) is not None for x in arg)
    return _integer(arg) is not None if dist[0] == "cyclic" else numbers


def _grid_sizes(size: int, lengths: list[int], axes: list[Axis], grid: Ints | None) -> Ints:
    if grid is not None:
        sizes = grid
        if len(sizes) != len(axes) or prod(sizes) > size:
            raise LayoutError(
                explain(
                    "grid",
                    sizes,
                    f"{len(axes)} positive numbers with a product of at most {size}",
                    "give the engines along each split axis",
                )
            )
        return sizes
    fixed = [len(ax.cuts) - 1 if isinstance(ax, Irregular) else 0 for ax in axes]
    free = [i for i, f in enumerate(fixed) if f == 0]
    rest = size // max(1, prod(f for f in fixed if f))
    if prod(f for f in fixed if f) > size:
        raise LayoutError(
            explain(
                "cuts of irregular axes", f"{fixed} parts", f"at most {size}", "give fewer cuts"
            )
        )
    chosen = dict(zip(free, _near_square(rest, [lengths[i] for i in free]), strict=True))
    return tuple(f or chosen[i] for i, f in enumerate(fixed))


def _near_square(size: int, lengths: list[int]) -> list[int]:
    """Factor ``size`` over the axes so that blocks come out as square as possible."""
    sizes = [1] * len(lengths)
    if not sizes:
        return sizes
    for f in _factors(size):
        longest = max(range(len(sizes)), key=lambda i: lengths[i] / sizes[i])
        sizes[longest] *= f
    return sizes


def _factors(n: int) -> list[int]:
    """Return the prime factors, largest first."""
    found, f = [], 2
    while n > 1:
        while n % f == 0:
            found.append(f)
            n //= f
        f = f + 1 if f * f <= n else n
    return found[::-1]


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
        return self._replace(
            shape=self.shape[:d] + (n,) + self.shape[d + 1 :],
            dims=self.dims[:d] + (moved,) + self.dims[d + 1 :],
        )

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

    def is_whole(self, shape: Ints) -> bool:
        """Tell whether this is the identity view of a base of ``shape``."""
        return self == View.whole(shape)


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
        found = [
            p
            for s in self.axis.sections(self.n, self.p, c)
            for p in preimage(s, self.start, self.step, self.extent)
        ]
        return tuple(sorted(found)) if len(found) > 1 else tuple(found)

    def owner(self, i: int) -> int:
        """Return the coordinate that owns the view's index ``i``."""
        return self.axis.owner(self.n, self.p, self.start + self.step * i)

    def split(self, s: Section) -> list[tuple[Section, int]]:
        """Split a section of the view where its owner changes: pairs of part and coordinate.

        Only the coordinates that can own a part are asked, so a shifted view costs a few steps on
        any number of engines.
        """
        return [(p, c) for c in self.candidates(s) for p in self._part(s, c)]

    def _part(self, s: Section, c: int) -> list[Section]:
        return [p for o in self.owned(c) for p in intersect(s, o)]

    def candidates(self, s: Section) -> Sequence[int]:
        """Return the coordinates that may own something of ``s``, ascending.

        Ownership repeats, so it is enough to walk over as many runs as meet it differently; where
        that would take longer than asking everyone, all coordinates are returned.
        """
        period = self.axis.period(self.p)
        if not period:
            return self._owners(s.start, (s.count - 1) * s.period + s.block)
        differ = min(s.count, period // gcd(s.period * self.step, period))
        block = s.block if self.step % period else 1  # all of a run lies with one owner
        parts = abs(self.step) * (block - 1) // (period // self.p) + 2
        if differ * parts > self.p:
            return range(self.p)
        runs = (self._owners(s.start + m * s.period, block) for m in range(differ))
        return sorted({c for run in runs for c in run})

    def _owners(self, start: int, block: int) -> list[int]:
        """Walk over a run of the view, from one owner to the next; return them, ascending."""
        i, end = start, start + block
        found = set()
        while i < end:
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

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.layout, self.view))

    @cached_property
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

    @cached_property
    def pinned(self) -> dict[int, int]:
        """Grid coordinates that the view's fixed indices (and empty dims) determine."""
        found = {}
        for a, i in self.view.fixed:
            g = self.layout.dims[a]
            if g >= 0:
                found[g] = self.layout.axes[a].owner(self.shape[a], self.layout.parts(a), i)
        return found

    @cached_property
    def free(self) -> Ints:
        """Grid dimensions that do not matter for ownership: they hold copies."""
        used = {m.gdim for m in self.maps if m} | set(self.pinned)
        return tuple(g for g in range(len(self.layout.grid.sizes)) if g not in used)

    def owned(self, rank: int) -> tuple[Sections, ...] | None:
        """Return, for each axis, the view's indices that a rank holds; None if it holds none."""
        coords = self.layout.grid.coords(rank)
        if coords is None or any(coords[g] != c for g, c in self.pinned.items()):
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
        coords = [
            where[g] if g in where else (own[g] if own else near % n)
            for g, n in enumerate(grid.sizes)
        ]
        return grid.rank(coords)

    def owner(self, index: Ints) -> int:
        """Return the lowest rank that holds the element of the view at ``index``."""
        where = dict(self.pinned)
        where.update((m.gdim, m.owner(i)) for m, i in zip(self.maps, index, strict=True) if m)
        return self.layout.grid.rank([where.get(g, 0) for g in range(len(self.layout.grid.sizes))])

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


def follow(
    placed: Placed, size: int, dropped: Sequence[int] = (), balanced: bool = True
) -> tuple[Layout, bool]:
    """Return the layout of a result that stays where a view's elements are, and if it does exactly.

    Axes in ``dropped`` (the reduced ones) are left out, and their grid dimensions hold copies.
    Block and irregular axes keep the owners of the view's indices; a cyclic axis is dealt anew,
    which is exact when the view takes all of it in order. Where that would leave an engine with
    more than twice its fair share, the default layout of the shape is used instead (not when
    ``balanced`` is False: the user asked for that very layout).
    """
    grid = placed.layout.grid
    keep = [g for g in range(len(grid.sizes)) if g not in placed.pinned]
    first = grid.first + sum(c * grid.strides[g] for g, c in placed.pinned.items())
    sub = Grid(first, tuple(grid.sizes[g] for g in keep), tuple(grid.strides[g] for g in keep))
    axes: list[Axis] = []
    dims: list[int] = []
    exact = True
    for d, m in enumerate(placed.maps):
        if m is None:
            if d not in dropped:
                axes.append(Whole())
                dims.append(-1)
            continue
        axis, same = _follow_axis(m)
        exact &= same
        if d not in dropped:
            axes.append(axis)
            dims.append(keep.index(m.gdim))
    layout = Layout(sub, tuple(axes), tuple(dims))
    whole = View.whole(placed.view.shape)
    shape = tuple(n for d, n in enumerate(placed.view.shape) if d not in dropped)
    if balanced and not (dropped or layout.here) and _unbalanced(layout, whole.shape, size):
        return default_layout(shape, size), False
    return layout, exact


def _follow_axis(m: AxisMap) -> tuple[Axis, bool]:
    """Return the axis kind that owns what the view's axis owns, and whether it does exactly."""
    if m.start == 0 and m.step == 1 and m.extent == m.n:
        return m.axis, True
    if m.axis.period(m.p):
        return m.axis, False
    if m.step < 0:
        return Block(), False
    lows = [m.axis.bounds(m.n, m.p, c)[0] for c in range(m.p)]
    cuts = [min(m.extent, max(0, -((m.start - lo) // m.step))) for lo in lows] + [m.extent]
    cuts[0] = 0
    if all(Block().bounds(m.extent, m.p, c)[0] == cuts[c] for c in range(m.p)):
        return Block(), True
    return Irregular(tuple(cuts)), True


def _unbalanced(layout: Layout, shape: Ints, size: int) -> bool:
    n = prod(shape)
    if n < 2:
        return False
    fair = -(-n // size) if layout.copies == 1 else n
    return layout.largest_part(shape) > 2 * fair
