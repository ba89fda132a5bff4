"""Where the elements of a compressed array are, and how its major axis is cut.

The arithmetic of cuts is here; commands are in :mod:`distnb.client.sparse.commands`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from distnb.client.handle.arguments import Dist
from distnb.client.handle.array import Array
from distnb.client.record.placement import Placement
from distnb.client.session.session import Session
from distnb.client.sparse.scipys import index_dtype
from distnb.common.errors import explain
from distnb.geometry.axes import Block, Irregular, Whole, cut_at
from distnb.geometry.boxes import Box, box_of
from distnb.geometry.layout import Grid, Ints, Layout, replicated
from distnb.measure.events import imbalance
from distnb.measure.quantities import counted
from distnb.ops.compressed import Arrays, columns_of, rows_of

__all__ = [
    "Before",
    "Seen",
    "SparseLayout",
    "Stored",
    "Structure",
    "balanced",
    "cuts_for",
    "cuts_of",
    "even",
    "global_pointers",
    "in_lines",
    "is_everywhere",
    "line",
    "lines_of",
    "local_pointers",
    "nearest",
    "pointer_cuts",
    "shares",
]


def even(n: int, parts: int) -> Ints:
    """Return the cuts of an axis in blocks.

    >>> even(7, 3)
    (0, 3, 5, 7)
    """
    return (0, *[Block().bounds(n, parts, c)[1] for c in range(parts)])


def balanced(indptr: np.ndarray, parts: int) -> Ints:
    """Return cuts between which as many elements lie as can be: one row never is cut.

    >>> balanced(np.array([0, 6, 7, 8, 12]), 2)
    (0, 1, 4)
    """
    n = len(indptr) - 1
    if not int(indptr[-1]):
        return even(n, parts)
    wanted = np.arange(1, parts) * (int(indptr[-1]) / parts)
    above = np.searchsorted(indptr[1:], wanted)
    return nearest(wanted, above, indptr[above], indptr[np.minimum(above + 1, n)], n)


def nearest(
    wanted: np.ndarray, above: np.ndarray, before: np.ndarray, after: np.ndarray, n: int
) -> Ints:
    """Return cuts next to which there are numbers of elements as near as can be to those wanted.

    ``above``: the rows in which these are reached; ``before`` and ``after``: how many elements
    there are up to these rows, without them and with them.
    """
    rows = np.where(wanted - before <= after - wanted, above, above + 1)
    return (0, *np.maximum.accumulate(rows.clip(0, n)).tolist(), n)


def shares(ends: Ints, costs: Sequence[float]) -> np.ndarray:
    """Return up to which elements parts cost as much each; ``costs``: one element of each part.

    >>> shares((0, 4, 8), (3.0, 1.0)).tolist()
    [2.6666666666666665]
    """
    each = np.diff(ends) * np.asarray(costs)
    upto = np.concatenate([[0.0], np.cumsum(each)])
    wanted = np.arange(1, len(costs)) * (upto[-1] / len(costs))
    return np.interp(wanted, upto, np.asarray(ends, float))


def cuts_for(dist: Dist, n: int, parts: int, indptr: np.ndarray | None = None) -> Ints:
    """Return the cuts of the major axis that ``dist=`` asks for."""
    if dist is None or (isinstance(dist, str) and dist == "block"):
        return even(n, parts)
    if isinstance(dist, str) and dist == "nnz" and indptr is not None:
        return balanced(indptr, parts)
    if isinstance(dist, tuple | list) and len(dist) == 2 and dist[0] == "irregular":
        places: Any = dist[1]
        cuts = tuple(int(c) for c in places)
        Irregular(cuts).check(n, parts)
        return cuts
    raise NotImplementedError(
        explain(
            "layout of a sparse array",
            repr(dist),
            "None, 'block', 'nnz', ('irregular', cuts) or 'replicated', of rows or columns",
            "choose one of these, or give grid=",
        )
    )


@lru_cache(maxsize=1024)
def line(cuts: Ints, inner: int = 0) -> Layout:
    """Return the layout of an array whose first axis has these cuts, and more that are whole."""
    axes = (cut_at(cuts), *(Whole(),) * inner)
    return Layout(Grid.of((len(cuts) - 1,)), axes, (0,) + (-1,) * inner)


def lines_of(layout: Layout, shape: Ints, size: int) -> Ints:
    """Return the cuts between engines if what each has of the first axis is counted as lines.

    Engines that have columns of the same rows have different lines of them.

    >>> lines_of(Layout(Grid.of((2, 2)), (Block(), Block()), (0, 1)), (5, 9), 4)
    (0, 3, 6, 8, 10)
    """
    if is_everywhere(layout):
        return (0, shape[0])
    parts = [layout.local_shape(shape, r) or (0,) for r in range(size)]
    return (0, *accumulate(part[0] for part in parts))


def is_everywhere(layout: Layout) -> bool:
    """Tell whether each engine has all of an array."""
    return bool(layout.grid.sizes) and max(layout.dims) < 0


def in_lines(layout: Layout, shape: Ints, size: int) -> Layout:
    """Return a layout of boxes, which is that of whole lines if it has these.

    >>> in_lines(Layout(Grid.of((2, 1)), (Block(), Block()), (0, 1)), (4, 9), 3).spell()
    "('irregular', (0, 2, 4, 4)) x * on 3 engines"
    """
    cuts = lines_of(layout, shape, size)
    found = line(cuts, 1)
    same = all(box_of(layout, shape, r) == box_of(found, shape, r) for r in range(size))
    return found if same and cuts[-1] == shape[0] else layout


class Seen:
    """Elements and indices in reach, and SciPy's array of these, whose rows are the lines."""

    def __init__(self, data: np.ndarray, indices: np.ndarray, whole: Any, cuts: Ints) -> None:
        self.data, self.indices, self.whole, self.cuts = data, indices, whole, cuts

    @cached_property
    def _parts(self) -> list[tuple[Arrays, int]]:
        """Elements, indices and pointers of each engine, and how many lines it has."""
        x, found = self.whole, []
        for a, b in pairwise(self.cuts):
            c, d = x.indptr[a], x.indptr[b]
            found.append(((x.data[c:d], x.indices[c:d], x.indptr[a : b + 1] - c), b - a))
        return found

    @cached_property
    def parts(self) -> list[Any]:
        """The parts of engines."""
        return [rows_of(part, (n, self.whole.shape[1])) for part, n in self._parts]

    @cached_property
    def turned(self) -> list[Any]:
        """The parts of engines, transposed."""
        return [columns_of(part, (self.whole.shape[1], n)) for part, n in self._parts]


class Before(NamedTuple):
    """What products took before a structure was cut anew: seconds of the slowest engine."""

    seconds: float
    rounds: int


class Structure:
    """Indices and pointers of a compressed array, which arrays with other elements may share.

    Nothing writes into it but who sorts an array that has it alone, so what was planned for it
    stays true until then, or until it is cut elsewhere.

    Parameters
    ----------
    shape : tuple of int
        Lengths of the major and the minor axis.
    layout : Layout
        Who has what: lines of the major axis, all of it, or blocks.
    ends : tuple of int
        How many elements lie before each part, and in all.
    indices, indptr : Array
        Minor indices, and for each part its pointers, from 0.
    canonical : bool
        Whether indices rise within each row (of CSR), so there are none twice. If False, it is not
        known.

    Attributes
    ----------
    cuts : tuple of int
        Where the lines are cut: those of the major axis, or, of blocks, of what all engines have of
        it, one after the other.
    unique : bool
        Whether it is known that no place is there twice.
    shown : bool
        Whether somebody may have a view of the indices.
    copied, blocks : bool
        Whether each engine has all of it: then it is one part; whether lines are in several parts.
    plans : dict
        Layout of a vector along the minor axis -> what products need of it.
    """

    def __init__(
        self,
        shape: Ints,
        layout: Layout,
        ends: Ints,
        indices: Array,
        indptr: Array,
        canonical: bool = False,
    ) -> None:
        self.shape, self.layout, self.ends = shape, layout, ends
        self.major, self.minor = shape
        self.indices, self.indptr, self.canonical = indices, indptr, canonical
        self.unique, self.shown = canonical, False
        self.cuts = lines_of(layout, shape, indices.session.size)
        self.copied = is_everywhere(layout)
        self.blocks = not self.copied and layout != line(self.cuts, 1)
        self.plans: dict[Layout, Any] = {}
        self.seen: Seen | None = None
        #: The arrays of this structure, whose elements are to go along where it is cut anew.
        self.arrays: WeakValueDictionary[int, Any] = WeakValueDictionary()
        #: Products since it was cut.
        self.rounds = 0
        #: Before so many it is not cut by itself: that failed.
        self.not_before = 0
        #: Whether it was cut by time, and what products took before: until that was told of.
        self.by_time = False
        self.before: Before | None = None

    def lie(self, layout: Layout, cuts: Ints, ends: Ints, indptr: Array) -> None:
        """Note that the indices lie elsewhere now, with the pointers of the new parts."""
        self.layout, self.cuts = layout, cuts
        self.ends, self.indptr = ends, indptr
        self.plans, self.seen = {}, None
        self.rounds = 0

    def again(self) -> Structure:
        """Return the same with indices of its own, for which holds what was planned."""
        indices: Any = self.indices
        shape, layout, ends = self.shape, self.layout, self.ends
        found = Structure(shape, layout, ends, indices.copy(), self.indptr, self.canonical)
        found.plans.update(self.plans)
        return found

    def sort(self, by: Structure) -> None:
        """Put the indices of another one, which are sorted, where its own lie."""
        indices: Any = self.indices
        indices[...] = by.indices
        self.plans, self.seen = {}, None
        self.unique, self.canonical = by.unique or self.unique, by.canonical

    @property
    def session(self) -> Session:
        """The session of its arrays."""
        found: Session = self.indices.session
        return found

    @property
    def shown_indices(self) -> Any:
        """The indices as others see them: what was planned holds as long as nobody writes there."""
        self.shown = True
        return self.indices.alias(self.indices.dview, writeable=False)

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return self.ends[-1]

    @property
    def per_engine(self) -> Ints:
        """How many of them each engine has."""
        if self.copied:
            return (self.nnz,) * self.session.size
        return tuple(b - a for a, b in pairwise(self.ends))

    @property
    def lined(self) -> bool:
        """Whether each line is on one engine."""
        return not self.copied and not self.blocks

    @property
    def starts(self) -> Ints:
        """Where along the major axis the part of each engine begins, if lines are whole."""
        return (0,) * self.session.size if self.copied else self.cuts[:-1]

    def line(self, cuts: Ints, inner: int = 0) -> Layout:
        """Return the layout of what lies as the parts, along an axis with these cuts."""
        return replicated(1 + inner, self.session.size) if self.copied else line(cuts, inner)

    def along(self, inner: int = 0) -> Layout:
        """Return the layout of what engines have along the major axis: each that of its part."""
        lies = self.layout
        axes, dims = lies.axes[:1] + (Whole(),) * inner, lies.dims[:1] + (-1,) * inner
        return Layout(lies.grid, axes, dims)

    @property
    def layout_imbalance(self) -> float:
        """The most elements of an engine, over their mean."""
        return imbalance(self.per_engine)

    @property
    def index_dtype(self) -> np.dtype:
        """The dtype of its indices."""
        return index_dtype(self.major, self.minor, self.nnz)


#: More engines than these are not listed one by one.
_LISTED = 8


class SparseLayout(NamedTuple):
    """Who holds what of a sparse array.

    Attributes
    ----------
    axis : str
        What is cut: ``'rows'``, ``'columns'``, ``'blocks'``, or ``'elements'`` (COO).
    cuts : tuple of int
        Where: engine ``r`` has those from ``cuts[r]`` up to ``cuts[r + 1]``. Of blocks, where rows
        are cut.
    nnz : tuple of int
        Stored elements of each engine.
    copies : int
        How many engines have each element.
    across : tuple of int
        Of blocks, where columns are cut.
    boxes : tuple
        Of blocks, from where up to where each engine has rows, and columns; None for nothing.
    """

    axis: str
    cuts: Ints
    nnz: Ints
    copies: int = 1
    across: Ints = ()
    boxes: tuple[Box | None, ...] = ()

    @property
    def total(self) -> int:
        """How many elements are stored; copies do not count."""
        return sum(self.nnz) // self.copies

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """From where up to where each engine has the axis; of blocks, rows."""
        if self.boxes:
            return tuple([(0, 0) if box is None else box[0] for box in self.boxes])
        return tuple(pairwise(self.cuts)) * self.copies

    @property
    def holdings(self) -> tuple[str, ...]:
        """What each engine has, in words."""
        if not self.boxes:
            return tuple([f"{self.axis} {a:,}:{b:,}" for a, b in self.parts])
        return tuple([_block(box) for box in self.boxes])

    @property
    def imbalance(self) -> float:
        """The most elements of an engine, over their mean."""
        return imbalance(self.nnz)

    def plot(self, ax: object = None) -> Any:
        """Draw how many elements each engine stores; returns the matplotlib Axes.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     ax = dnb.sparse.csr_array([[1, 2], [3, 0]]).layout.plot()
        >>> print(ax.get_title(loc="left"))
        Engine 0 holds most: 1.33 times the mean
        3 stored elements on 2 engines
        """
        return Placement.views.plot_sparse(self, ax=ax)

    def shares(self) -> str:
        """Return how many elements each engine has, in words."""
        if self.copies > 1:
            return f"replicated on {self.copies} engines"
        if len(self.nnz) > _LISTED:
            return f"{min(self.nnz):,} to {max(self.nnz):,} on each of {len(self.nnz)} engines"
        return " + ".join(f"{n:,}" for n in self.nnz) + f" on {counted(len(self.nnz), 'engine')}"

    def __repr__(self) -> str:
        if self.copies > 1:
            return f"{self.total:,} elements {self.shares()}"
        if self.boxes:
            lines = [f"blocks on a grid of {len(self.cuts) - 1}x{len(self.across) - 1}"]
        else:
            lines = [f"{self.axis} cut at {self.cuts}" if len(self.nnz) <= _LISTED else self.axis]
        lines += [self.shares(), f"the most is {self.imbalance:.2f} of the mean"]
        return ", ".join(lines)


def _block(box: Box | None) -> str:
    """Return which rows and columns an engine has, in words."""
    if box is None:
        return "nothing"
    (a, b), (c, d) = box
    return f"rows {a:,}:{b:,}, columns {c:,}:{d:,}"


class Stored(NamedTuple):
    """A compressed array: its elements, and where they are."""

    data: Array
    structure: Structure


def cuts_of(layout: Layout, n: int, axis: int = 0) -> Ints:
    """Return the cuts of an axis of an array of boxes: of the first one."""
    p = layout.parts(axis)
    return (0, *[layout.axes[axis].bounds(n, p, c)[1] for c in range(p)])


def pointer_cuts(cuts: Ints) -> Ints:
    """Return where parts of pointers begin: each has one more than rows."""
    return tuple(c + i for i, c in enumerate(cuts))


def local_pointers(indptr: np.ndarray, cuts: Sequence[int]) -> np.ndarray:
    """Return the pointers of all parts, one after the other, each from 0.

    >>> local_pointers(np.array([0, 2, 2, 5]), (0, 1, 3))
    array([0, 2, 0, 0, 3])
    """
    parts = [indptr[a : b + 1] - indptr[a] for a, b in pairwise(cuts)]
    return np.concatenate(parts)


def global_pointers(local: np.ndarray, cuts: Sequence[int], ends: Sequence[int]) -> np.ndarray:
    """Return the pointers of all, from those of the parts.

    >>> global_pointers(np.array([0, 2, 0, 0, 3]), (0, 1, 3), (0, 2, 5))
    array([0, 2, 2, 5])
    """
    found = np.zeros(cuts[-1] + 1, local.dtype)
    for i, (a, b) in enumerate(pairwise(cuts)):
        found[a + 1 : b + 1] = local[a + i + 1 : b + i + 1] + ends[i]
    return found
