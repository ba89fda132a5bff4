"""What is done with parts of sparse arrays, be a part that of an engine or the whole array.

A part is SciPy's ``csr_array`` of (its share of the major axis) x (minor axis).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distnb.geometry.boxes import box_of
from distnb.geometry.layout import Ints, Layout
from distnb.ops.compressed import csr
from distnb.ops.semirings import Semiring

__all__ = [
    "ALL",
    "among",
    "check_places",
    "from_keys",
    "keys_of",
    "made",
    "rowwise",
    "stacked",
    "strips",
    "summed",
    "turned",
]

#: The rank of who has all rows.
ALL = -1
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
    """Return some rows of a part, other ones on each rank (the last of all), and of its columns."""
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


_MADE: dict[str, Callable[..., Any]] = {
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


def made(name: str, rank: int, parts: list[Any], dense: list[Any], params: Sequence[Any]) -> Any:
    """Return what one of these functions makes of parts that are cut alike, and of dense arrays."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the notebook has told what there is to tell
        return _MADE[name](rank, parts, dense, *params).tocsr()


def summed(major: np.ndarray, minor: np.ndarray, data: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return the part of triplets, where equal places are summed."""
    from scipy.sparse import coo_array

    found = coo_array((data, (major, minor)), shape=shape).tocsr()
    found.sum_duplicates()
    return found


def check_places(coords: Sequence[Any], shape: Ints) -> None:
    """Raise ValueError for coordinates outside a shape, as SciPy; the ends are read."""
    for axis, (x, n) in enumerate(zip(coords, shape, strict=True)):
        if not x.size:
            continue
        if (most := int(x.max())) >= n:
            raise ValueError(f"axis {axis} index {most} exceeds matrix dimension {n}")
        if (least := int(x.min())) < 0:
            raise ValueError(f"negative axis {axis} index: {least}")


def turned(part: Any) -> Any:
    """Return a part with its axes changed: in a row, elements in the order of the rows before."""
    found = part.tocsc()
    return csr(found.data, found.indices, found.indptr, found.shape[::-1])


def stacked(parts: list[Any], like: Any) -> Any:
    """Return parts one below the other; ``like`` has their elements and minor axis."""
    if len(parts) == 1:
        return parts[0]
    lengths = [np.empty(0, np.int64), *[np.diff(p.indptr) for p in parts]]
    pointers = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate(lengths), out=pointers[1:])
    indices = [np.empty(0, like.indices.dtype), *[p.indices for p in parts]]
    data = [np.empty(0, like.data.dtype), *[p.data for p in parts]]
    shape = (len(pointers) - 1, like.shape[1])
    return csr(np.concatenate(data), np.concatenate(indices), pointers, shape)


def strips(rows: int, minor: int) -> list[slice]:
    """Cut rows into as few strips as have keys of 64 bits for all of their elements.

    >>> strips(20, 1 << 60), strips(20, 9)
    ([slice(0, 7, None), slice(7, 14, None), slice(14, 21, None)], [slice(0, 20, None)])
    """
    most = max(1, (2**63 - 1) // max(1, minor))
    if rows <= most:
        return [slice(0, rows)]
    return [slice(low, low + most) for low in range(0, rows, most)]


def keys_of(part: Any) -> np.ndarray:
    """Return one number for each element, which rises with its row, and in a row with its index."""
    rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    found: np.ndarray = rows * np.int64(part.shape[1]) + part.indices
    return found


def from_keys(keys: np.ndarray, data: np.ndarray, shape: tuple[int, int], kind: np.dtype) -> Any:
    """Return the part whose elements have these keys, which rise."""
    minor = max(shape[1], 1)
    pointers = np.searchsorted(keys, np.arange(shape[0] + 1) * np.int64(minor))
    return csr(data, (keys % minor).astype(kind), pointers.astype(kind), shape)


def among(keys: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Tell which keys are among some, which rise."""
    if not len(allowed):
        return np.zeros(len(keys), bool)
    at = np.minimum(np.searchsorted(allowed, keys), len(allowed) - 1)
    found: np.ndarray = allowed[at] == keys
    return found


#: Facts that count against all rows of a part -> what SciPy's array says if it is not so.
_AGAINST = {"repeated": "has_canonical_format", "unsorted": "has_sorted_indices"}


def rowwise(part: Any, method: str, options: Sequence[tuple[str, Any]] = ()) -> Any:
    """Return a reduction of each row: what a method of SciPy's gives, or how long it is."""
    if method == "lengths":
        return np.diff(part.indptr)
    if method in _AGAINST:
        return np.full(part.shape[0], not getattr(part, _AGAINST[method]))
    part = part.copy() if method not in ("sum", "mean") else part
    found = getattr(part, method)(axis=1, **dict(options))
    return found.toarray() if hasattr(found, "toarray") else found
