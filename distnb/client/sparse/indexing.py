"""What is in brackets: rows stay or travel, columns are taken in place, points are asked for."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import as_dist, from_host, in_layout
from distnb.client.select.taking import flatnonzero
from distnb.client.session.session import Session
from distnb.client.sparse.commands import each, rows_of
from distnb.client.sparse.dense import points
from distnb.client.sparse.structure import Stored, even, line
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, replicated
from distnb.plans.gather_scatter import checked

__all__ = ["Key", "One", "key_of", "pointwise", "selected"]

_INTP = np.dtype(np.int64)


#: Positions along an axis, on engines or not.
Positions: TypeAlias = np.ndarray | Array
#: What is said of an axis in brackets.
One: TypeAlias = int | slice | Positions


class Key(NamedTuple):
    """An index of rows and one of columns: an int, a slice, or an array of positions each.

    ``apart``: two arrays name single elements; else all rows that one names of all columns.
    """

    rows: Any
    columns: Any
    apart: bool = False


def key_of(key: object, shape: Ints) -> Key:
    """Return what is in brackets; raises IndexError as SciPy does."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(item is None for item in items):
        raise NotImplementedError(
            explain("index of a sparse array", "None", "rows and columns", "use .reshape on dense")
        )
    if sum(item is Ellipsis for item in items) == 1:
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[at : at + 1] = [slice(None)] * (len(shape) + 1 - len(items))
    if len(items) > len(shape):
        raise IndexError(
            f"Too many indices for array or tuple index out of range. Key {key} needs "
            f"{len(items)}D. Array is {len(shape)}D"
        )
    items += [slice(None)] * (len(shape) - len(items))
    found = [_index(item, n) for item, n in zip(items, shape, strict=True)]
    arrays = [isinstance(x, np.ndarray | Array) for x in found]
    if all(arrays):
        return _two(*found)
    return Key(*[_line(x) if array else x for x, array in zip(found, arrays, strict=True)])


def _index(item: object, n: int) -> Any:
    """Return one index, from 0 where that is known here."""
    if isinstance(item, slice):
        return item
    if (
        not isinstance(item, bool | np.bool_)
        and hasattr(item, "__index__")
        and not np.ndim(cast(Any, item))
    ):
        i = operator.index(item)
        if not -n <= i < n:
            raise IndexError(f"index ({i}) out of range")
        return i % n
    index = item if isinstance(item, Array) else np.asarray(item)
    if index.dtype.kind == "b" and index.ndim == 1:
        if index.shape != (n,):
            raise IndexError(f"boolean index shape {index.shape} does not match axis of length {n}")
        return flatnonzero(index) if isinstance(index, Array) else np.flatnonzero(index)
    if index.dtype.kind not in "iu" and index.size:
        raise IndexError(f"arrays used as indices must be of integer or boolean type, got {item!r}")
    if isinstance(index, Array):
        return index  # engines check
    try:
        return checked(index.astype(np.int64), n)
    except IndexError:
        bad = index[(index >= n) | (index < -n)]
        raise IndexError(f"index ({bad[0]}) out of range") from None


def _two(rows: Positions, columns: Positions) -> Key:
    """Return what two arrays of positions name."""
    if rows.ndim == 2 and columns.ndim == 2 and rows.shape[1] == 1 and columns.shape[0] == 1:
        return Key(rows.reshape(-1), columns.reshape(-1))
    if rows.ndim != 1 or columns.ndim != 1:
        raise NotImplementedError(
            explain(
                "index arrays of a sparse array",
                f"shapes {rows.shape} and {columns.shape}",
                "one axis each, or numpy.ix_",
                "index by one axis after the other",
            )
        )
    if rows.shape != columns.shape:
        try:
            rows, columns = np.broadcast_arrays(rows, columns)
        except ValueError as error:
            raise IndexError("shape mismatch: index arrays could not be broadcast") from error
    return Key(rows, columns, apart=True)


def _line(index: Positions) -> Any:
    if index.ndim != 1:
        raise NotImplementedError(
            explain("index array", f"{index.ndim} axes", "one", "flatten it, and index again")
        )
    return index


def positions_of(session: Session, index: Positions) -> Any:
    """Return positions as all of a base on a line."""
    where = line(even(len(index), session.size))
    if not isinstance(index, Array):
        return from_host(session, np.ascontiguousarray(index, np.int64), where)
    return in_layout(as_dist(index, session), where, _INTP)


def selected(x: Stored, major: One, minor: One) -> Stored:
    """Return some rows and columns (of CSR); an int leaves an axis of length 1."""
    if isinstance(major, int):
        major = slice(major, major + 1)
    if isinstance(minor, int):
        minor = slice(minor, minor + 1)
    s = x.structure
    if isinstance(major, slice):
        start, stop, step = major.indices(s.major)
        if step != 1:
            x, major = _taken(x, np.arange(start, stop, step)), slice(None)
    else:
        x, major = _taken(x, major), slice(None)
    if isinstance(minor, slice):
        return _sliced(x, major, minor)
    x = x if major == slice(None) else _sliced(x, major, slice(None))
    return _columns(x, minor)


def _taken(x: Stored, index: Positions) -> Stored:
    return rows_of(x, positions_of(x.structure.session, index))


def _sliced(x: Stored, major: slice, minor: slice) -> Stored:
    """Return a block of rows, which stay where they are, and a slice of columns."""
    s = x.structure
    if major == minor == slice(None):
        return x
    start, stop, _ = major.indices(s.major)
    n = max(0, stop - start)
    cuts = tuple(min(max(c - start, 0), n) for c in s.cuts)
    rows = tuple(
        (a + start - c, b + start - c) if b > a else (0, 0)
        for a, b, c in zip(cuts, cuts[1:], s.cuts, strict=False)
    )
    across = minor.indices(s.minor)
    return each(
        "slice",
        (x,),
        x.data.dtype,
        (rows, across),
        cuts=cuts,
        minor=len(range(*across)),
        canonical=s.canonical and across[2] > 0,
    )


def _columns(x: Stored, index: Positions) -> Stored:
    """Return columns at some positions: each engine gets all of these."""
    s = x.structure
    where = replicated(1, s.session.size)
    if isinstance(index, Array):
        chosen = in_layout(as_dist(index, s.session), where, _INTP)
    else:
        chosen = from_host(s.session, np.ascontiguousarray(index, np.int64), where)
    return each("columns", (x,), x.data.dtype, dense=(chosen,), minor=len(index))


def pointwise(x: Stored, major: Positions, minor: Positions) -> Any:
    """Return the elements at some positions as a dense array."""
    session = x.structure.session
    return points(x, positions_of(session, major), positions_of(session, minor))
