"""What engines do with parts by themselves: SciPy's functions on what lies alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.sparse.parts import Making, block_of, block_part, csr, part_of, stacked
from distnb.engines.sparse.semirings import among, from_keys, keys_of, strips
from distnb.geometry.boxes import box_of
from distnb.geometry.layout import Ints, Layout
from distnb.ops.semirings import Semiring

__all__ = ["Counted", "Dense", "Diagonal", "Each", "Looked", "Rowwise", "Spread"]

#: Methods of SciPy's arrays that take another part, or a scalar.
_OPERATORS = frozenset(
    (
        *("__add__", "__sub__", "multiply", "maximum", "minimum"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    )
)


def _operator(_: int, parts: list[Any], dense: list[Any], name: str, *scalar: Any) -> Any:
    """Return what an operator gives of two parts, or of one and a scalar (its dtype, its value)."""
    if name not in _OPERATORS:
        raise ValueError(f"operator: got {name!r}, expected one of {sorted(_OPERATORS)}")
    if scalar:
        kind, value = scalar
        parts = [*parts, np.dtype(kind).type(value) if kind else value]
        if not parts[0].has_canonical_format:  # SciPy sums elements of one place where they are
            parts[0] = parts[0].copy()
    left, right = parts
    return getattr(left, name)(right)


def _from_dense(_: int, parts: list[Any], dense: list[Any], axis: int) -> Any:
    """Return what of a dense block is not zero."""
    from scipy.sparse import csr_array

    (block,) = dense
    return csr_array(block if axis == 0 else block.T)


def _columns(_: int, parts: list[Any], dense: list[Any]) -> Any:
    return parts[0][:, dense[0]]


def _slice(
    rank: int, parts: list[Any], dense: list[Any], rows: Any, minor: tuple[int, int, int]
) -> Any:
    """Return some rows of a part, other ones on each rank, and a slice of its minor axis."""
    low, high = rows[rank]
    start, stop, step = minor if range(*minor) else (0, 0, 1)
    return parts[0][low:high, slice(start, None if stop < 0 else stop, step)]


def _changed(method: str) -> Callable[..., Any]:
    """Return what SciPy does in place, done to a copy."""

    def run(_: int, parts: list[Any], dense: list[Any]) -> Any:
        found = parts[0].copy()
        getattr(found, method)()
        return found

    return run


def _accumulated(
    _: int, parts: list[Any], dense: list[Any], accum: str, others: bool, replace: bool
) -> Any:
    """Return the first part, with the second put in, or added, where a mask (the third) lets it.

    ``others``: the mask names where it does not.
    """
    into, found = parts[:2]
    if len(cut := strips(*into.shape)) > 1:
        how = (accum, others, replace)
        return stacked(
            [_accumulated(0, [p[rows] for p in parts], dense, *how) for rows in cut], into
        )
    old, new = keys_of(into), keys_of(found)
    inside = np.ones(len(old), bool)
    if parts[2:]:
        inside = among(old, keys_of(parts[2])) != others
    keep = np.full(len(old), not replace) if not accum else inside | (not replace)
    if not accum:
        keep &= ~inside
    keys, data = (
        np.concatenate([old[keep], new]),
        np.concatenate([into.data[keep], found.data.astype(into.data.dtype, copy=False)]),
    )
    order = np.argsort(keys, kind="stable")
    places, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    data = data[order]
    both = starts[counts == 2]
    ring = Semiring("any", accum or "second", data.dtype)
    data[both] = ring.products(data[both], data[both + 1])
    return from_keys(places, data[starts], into.shape, into.indices.dtype)


def _turned(rank: int, parts: list[Any], dense: list[Any], shape: Ints, layout: Layout) -> Any:
    """Return the columns that a rank has, of the rows that it has."""
    part, lines = parts[0], (layout.T.local_shape(shape[::-1], rank) or (0,))[0]
    (first, _), (low, high) = box_of(layout, shape, rank) or ((0, 0), (0, 0))
    if low == high:  # it may have columns of no row, or nothing
        none = np.zeros(lines + 1, part.indptr.dtype)
        return csr(part.data, part.indices, none, (lines, shape[0]))
    found = part[:, low:high].T.tocsr()
    indices = found.indices + found.indices.dtype.type(first)
    return csr(found.data, indices, found.indptr, (lines, shape[0]))


def _below(_: int, parts: list[Any], dense: list[Any]) -> Any:
    return stacked(parts, parts[0])


_LOCAL: dict[str, Callable[..., Any]] = {
    "accumulated": _accumulated,
    "below": _below,
    "columns": _columns,
    "eliminate_zeros": _changed("eliminate_zeros"),
    "from_dense": _from_dense,
    "operator": _operator,
    "slice": _slice,
    "sort_indices": _changed("sort_indices"),
    "sum_duplicates": _changed("sum_duplicates"),
    "turned": _turned,
}


class Each(Making):
    """Make a part of parts that are cut alike; ``args``: which function, minor axes, its arguments.

    Operands: three for each sparse array, then dense ones.
    """

    def make(self, exchange: Any) -> Any:
        """Return the part."""
        name, minors, *params = self.args
        k = 3 * len(minors)
        parts = [part_of(self.ins[3 * i : 3 * i + 3], n) for i, n in enumerate(minors)]
        dense = [block_of(base) for base in self.ins[k:]]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the notebook has told what there is to tell
            return _LOCAL[name](self.rank, parts, dense, *params).tocsr()


class Dense(SingleEngine):
    """Fill a dense block with a part; ``args``: shape, layout, the axis that is cut."""

    def work(self) -> None:
        """Fill the block."""
        shape, layout, axis = self.args
        part = block_part(self.ins, shape, layout, self.rank)
        (part if axis == 0 else part.T).toarray(out=block_of(self.out))


#: Facts that count against all rows of a part -> what SciPy's array says if it is not so.
_AGAINST = {"repeated": "has_canonical_format", "unsorted": "has_sorted_indices"}


class Rowwise(SingleEngine):
    """Reduce each row of a part; ``args``: length of the minor axis, SciPy's method, options."""

    def work(self) -> None:
        """Fill the block."""
        minor, method, options = self.args
        if method == "lengths":
            block_of(self.out)[...] = np.diff(block_of(self.ins[2]))
            return
        part = part_of(self.ins, minor)
        if method in _AGAINST:
            block_of(self.out)[...] = not getattr(part, _AGAINST[method])
            return
        part = part.copy() if method not in ("sum", "mean") else part
        found = getattr(part, method)(axis=1, **dict(options))
        block_of(self.out)[...] = found.toarray() if hasattr(found, "toarray") else found


class Diagonal(SingleEngine):
    """Take a diagonal; ``args``: minor axis, where each rank's rows begin, and which diagonal."""

    def work(self) -> None:
        """Fill the block."""
        minor, cuts, k = self.args
        block_of(self.out)[...] = part_of(self.ins, minor).diagonal(k + cuts[self.rank])


class Counted(SingleEngine):
    """Make the pointers of a part, from how many elements its rows have."""

    def work(self) -> None:
        """Fill the block."""
        block = block_of(self.out)
        block[0] = 0
        np.cumsum(block_of(self.ins[0]), out=block[1:])


class Spread(SingleEngine):
    """Give each element the entry of its row in a vector; operands: pointers, the vector."""

    def work(self) -> None:
        """Fill the block."""
        indptr, x = [block_of(base) for base in self.ins]
        block_of(self.out)[...] = np.repeat(x, np.diff(indptr))


class Looked(SingleEngine):
    """Give each element what a dense array has at its place; operands: indices, pointers, that.

    ``args``: shape, layout, the axis that is cut.
    """

    def work(self) -> None:
        """Fill the block."""
        shape, layout, axis = self.args
        indices, indptr, x = [block_of(base) for base in self.ins]
        box = box_of(layout, shape, self.rank)
        assert box is not None  # it has elements
        indices = indices - indices.dtype.type(box[1][0])
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        block_of(self.out)[...] = x[rows, indices] if axis == 0 else x[indices, rows]
