"""How a base is split: grids of ranks, and layouts.

A *base* has a shape and a layout. A layout puts each axis on at most one dimension of a grid of
ranks; grid dimensions that no axis uses hold copies (replicas).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from distnb.common.errors import LayoutError, explain, quoted
from distnb.common.lazy import lazy
from distnb.geometry.axes import (
    Axis,
    Block,
    Irregular,
    Whole,
    parse_axis,
)

__all__ = [
    "NOTEBOOK",
    "Grid",
    "Layout",
    "default_layout",
    "in_notebook",
    "make_layout",
    "near_square",
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
    """Ranks ``first + sum(coords * strides)`` for all coords below ``sizes``; row-major.

    A stride is negative where the coordinates count ranks from the last to the first.
    """

    first: int
    sizes: Ints
    strides: Ints

    def __post_init__(self) -> None:
        """Find all that is known of it: a thread may send it while another one would find more."""
        _ = self.size, self.last, self.lowest

    @classmethod
    def of(cls, sizes: Sequence[int], first: int = 0) -> Grid:
        """Return the row-major grid of consecutive ranks."""
        return cls(first, tuple(sizes), strides_of(sizes))

    @lazy
    def size(self) -> int:
        """Return the number of ranks."""
        return prod(self.sizes)

    @lazy
    def last(self) -> int:
        """Return the highest rank."""
        pairs = zip(self.sizes, self.strides, strict=True)
        return self.first + sum((n - 1) * stride for n, stride in pairs if stride > 0)

    @lazy
    def lowest(self) -> int:
        """Return the lowest rank."""
        pairs = zip(self.sizes, self.strides, strict=True)
        return self.first + sum((n - 1) * stride for n, stride in pairs if stride < 0)

    def rank(self, coords: Sequence[int]) -> int:
        """Return the rank at grid coordinates."""
        return self.first + sum(c * s for c, s in zip(coords, self.strides, strict=True))

    def coords(self, rank: int) -> Ints | None:
        """Return the grid coordinates of a rank, or None if it is not in the grid."""
        rest = rank - self.lowest
        found = []
        for size, stride in zip(self.sizes, self.strides, strict=True):
            c, rest = divmod(rest, abs(stride))
            if not 0 <= c < size:
                return None
            found.append(c if stride > 0 else size - 1 - c)
        return tuple(found) if rest == 0 else None

    def turned(self, dims: Iterable[int]) -> Grid:
        """Return the same ranks, with the coordinates of some dimensions counted from the end."""
        first, strides = self.first, list(self.strides)
        for g in dims:
            first += (self.sizes[g] - 1) * strides[g]
            strides[g] = -strides[g]
        return Grid(first, self.sizes, tuple(strides))

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

    def __post_init__(self) -> None:
        """Find all that is known of it; see :meth:`Grid.__post_init__`."""
        _ = self._hash, self.copies, self.split

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        return hash((self.grid, self.axes, self.dims))

    @property
    def T(self) -> Layout:  # noqa: N802 - NumPy's name
        """The layout of the base with its axes reversed."""
        return Layout(self.grid, self.axes[::-1], self.dims[::-1])

    def parts(self, a: int) -> int:
        """Return over how many coordinates axis ``a`` is split."""
        d = self.dims[a]
        return self.grid.sizes[d] if d >= 0 else 1

    def holders(self, n: int, a: int) -> int:
        """Return over how many coordinates axis ``a`` is split that have some of its ``n`` indices.

        >>> default_layout((4,), 2).holders(4, 0), default_layout((1,), 2).holders(1, 0)
        (2, 1)
        """
        p = self.parts(a)
        return p if p == 1 else sum(self.axes[a].size(n, p, c) > 0 for c in range(p))

    @lazy
    def copies(self) -> int:
        """How many ranks hold each element."""
        return prod(n for d, n in enumerate(self.grid.sizes) if d not in self.dims)

    @lazy
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
        return None if coords is None else self.shape_at(shape, coords)

    def shape_at(self, shape: Ints, coords: Ints) -> Ints:
        """Return the shape of the part at grid coordinates."""
        return tuple(
            axis.size(n, self.parts(a), coords[self.dims[a]] if self.dims[a] >= 0 else 0)
            for a, (axis, n) in enumerate(zip(self.axes, shape, strict=True))
        )

    @lru_cache(maxsize=1024)  # noqa: B019 - layouts are small values
    def in_order(self, shape: Ints) -> bool:
        """Tell whether the ranks' parts, one after the other, are the array in C order.

        >>> default_layout((4, 4), 2).in_order((4, 4))
        True
        >>> default_layout((4, 4), 2).T.in_order((4, 4))
        False
        """
        split = [a for a in range(len(shape)) if self.parts(a) > 1]
        if self.copies > 1 or len(split) > 1:
            return False
        return not split or (
            prod(shape[: split[0]]) <= 1 and not self.axes[split[0]].period(self.parts(split[0]))
        )

    def start(self, shape: Ints, rank: int) -> int:
        """Return where in that order a rank's part begins, in elements."""
        coords = self.grid.coords(rank)
        assert coords is not None
        for a, n in enumerate(shape):
            if self.parts(a) > 1:
                low, _ = self.axes[a].bounds(n, self.parts(a), coords[self.dims[a]])
                return low * prod(shape[a + 1 :])
        return 0

    @lru_cache(maxsize=4096)  # noqa: B019 - layouts are small values
    def place(self, shape: Ints, rank: int) -> int:
        """Return where a rank's part begins if the parts lie one after the other, in elements.

        >>> default_layout((4, 4), 2).T.place((4, 4), 1)
        8
        """
        if self.in_order(shape):
            return self.start(shape, rank)
        before = range(self.grid.lowest, rank)
        return sum(prod(part) for r in before if (part := self.local_shape(shape, r)) is not None)

    @lru_cache(maxsize=1024)  # noqa: B019 - layouts are small values
    def all_parts(self, shape: Ints) -> int:
        """Return how many elements all parts have together."""
        return prod(shape) * self.copies

    @lru_cache(maxsize=1024)  # noqa: B019 - layouts are small values
    def largest_part(self, shape: Ints) -> int:
        """Return an upper bound of the number of elements that any rank holds."""
        return prod(
            ax.largest(n, self.parts(a))
            for a, (ax, n) in enumerate(zip(self.axes, shape, strict=True))
        )

    def at_most(self, shape: Ints) -> int:
        """Return a bound of that which is found at once."""
        return prod(
            ax.at_most(n, self.parts(a))
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
        if any(s < 0 for n, s in zip(grid.sizes, grid.strides, strict=True) if n > 1):
            more += ", reversed"
        return f"{kinds} on {over} engine{'s' * (over != '1')}{more}"


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
    dist : None, bool, str, tuple or Layout
        None or True for :func:`default_layout`; ``'replicated'``, or False;
        ``('engine', r)`` for all on engine r;
        one word for the first axis (``'block'``), or a tuple with a word for each axis:
        ``'*'``, ``'block'``, ``'cyclic'``, ``('cyclic', k)``, ``('irregular', cuts)``, or
        ``('block', length, start, step)``: as a slice of a longer axis in blocks lies.
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
    if isinstance(dist, bool):
        dist = None if dist else "replicated"
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
    if layout.grid.last >= size:
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
            explain("engine", quoted(rank), f"a number from 0 to {size - 1}", "pass ('engine', r)")
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
    if len(dist) > 2 and dist[0] == "block":
        return all(_integer(x) is not None for x in dist[1:])
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
    chosen = dict(zip(free, near_square(rest, [lengths[i] for i in free]), strict=True))
    return tuple(f or chosen[i] for i, f in enumerate(fixed))


def near_square(size: int, lengths: list[int]) -> list[int]:
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
