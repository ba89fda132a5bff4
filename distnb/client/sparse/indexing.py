"""What is in brackets: rows stay or travel, columns are taken in place, points are asked for."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import as_dist, check_session, from_host, in_layout
from distnb.client.handle.indexing import lengths
from distnb.client.math.ufuncs import where
from distnb.client.record.creation import asarray, full, ones
from distnb.client.record.ranges import arange
from distnb.client.select.taking import flatnonzero
from distnb.client.session.session import Session
from distnb.client.sparse.arithmetic import is_dense, is_sparse, ours
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import (
    brought,
    each,
    elements,
    in_reach,
    laid_out,
    recut,
    routed,
    rows_of,
)
from distnb.client.sparse.creation import stored
from distnb.client.sparse.dense import picked, points, spread
from distnb.client.sparse.reductions import Reductions
from distnb.client.sparse.scipys import is_scalar, supported
from distnb.client.sparse.structure import Stored, even, line
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, replicated
from distnb.plans.gather_scatter import checked

__all__ = [
    "Key",
    "One",
    "Positions",
    "assigned",
    "index_within",
    "inside",
    "is_basic",
    "is_mask",
    "key_of",
    "named",
    "named_in",
    "on_diagonal",
    "pointwise",
    "selected",
    "with_diagonal",
    "with_new",
]

_INTP = np.dtype(np.int64)


#: Positions along an axis, on engines or not.
Positions: TypeAlias = np.ndarray | Array
#: What is said of an axis in brackets.
One: TypeAlias = int | slice | Positions


class Key(NamedTuple):
    """An index of rows and one of columns: an int, a slice, or an array of positions each.

    ``apart``: two arrays name single elements; else all rows that one names of all columns.
    ``lies`` is the shape of single elements that two axes are made of.
    """

    rows: Any
    columns: Any
    apart: bool = False
    lies: Ints | None = None


def key_of(key: object, shape: Ints) -> Key:
    """Return what is in brackets; raises IndexError as SciPy does."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(item is None for item in items):  # as SciPy's, of what would have more axes
        do = "use .reshape of what is named"
        raise IndexError(explain("index of a sparse array", "None", "rows and columns", do))
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
    if any(isinstance(x, int) for x in found) and any(np.ndim(x) == 2 for x in found):
        found = [np.array([x]) if isinstance(x, int) else x for x in found]
        arrays = [True, True]
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


def is_mask(key: object) -> bool:
    """Tell whether what is in brackets is an array that tells of each place, of two axes."""
    if is_sparse(key) or isinstance(key, tuple) or not is_dense(key):
        return is_sparse(key)
    kind = key if isinstance(key, Array) else np.asarray(key)
    return kind.ndim == 2 and kind.dtype == bool


def named(key: object, like: Sparse) -> Key:
    """Return the rows and columns that a mask of two axes names, in C order."""
    mask: Any = key if hasattr(key, "dtype") else np.asarray(key)
    if mask.shape != like.shape:
        raise IndexError(f"bool index shape {mask.shape} does not match {like.shape}")
    if mask.dtype != bool:
        raise IndexError(f"index of two axes: got {mask.dtype}, expected a mask of bools")
    if is_sparse(mask):
        x = ours(mask, like).tocsr()
        x.sum_duplicates()
    else:
        x = asarray(mask, session=like.session)
    rows, columns = x.nonzero()
    return Key(rows, columns, apart=True)


def is_basic(item: object) -> bool:
    """Tell whether an index is none that names positions one by one."""
    return item is None or item is Ellipsis or isinstance(item, int | np.integer | slice)


def with_new(items: tuple[object, ...], found: Ints, ndim: int) -> Ints:
    """Return the shape of what indices without the Nones give, with an axis for each None.

    >>> with_new((None, Ellipsis, slice(2), 0, None), (5, 2), 3)
    (1, 5, 2, 1)
    """
    rest, shape = iter(found), list[int]()
    each = sum(item is not None and item is not Ellipsis for item in items)
    for item in items:
        if item is None:
            shape.append(1)
        elif item is Ellipsis:
            shape += islice(rest, ndim - each)
        elif isinstance(item, slice):
            shape.append(next(rest))
    return (*shape, *rest)


def index_within(item: int | slice, index: Array, n: int) -> tuple[Any, Any, int | None]:
    """Return indices along an axis as an int or a slice counts them, which are in it, its length.

    None stands for all of them, and for an axis that goes away.
    """
    x = index.astype(np.int64)
    if not isinstance(item, slice):
        return x, x == item, None
    start, stop, step = item.indices(n)
    length = len(range(start, stop, step))
    if (start, step, length) == (0, 1, n):
        return index, None, n
    x, on = (x - start) // step, (x - start) % step == 0
    return x.astype(index.dtype), on & (x >= 0) & (x < length), length


def _two(rows: Positions, columns: Positions) -> Key:
    """Return what two arrays of positions name."""
    row = columns.ndim == 1 or (columns.ndim == 2 and columns.shape[0] == 1)
    if row and rows.ndim == 2 and rows.shape[1] == 1:
        return Key(rows.reshape(-1), columns.reshape(-1))
    if rows.shape != columns.shape:
        try:
            rows, columns = np.broadcast_arrays(rows, columns)
        except ValueError as error:
            raise IndexError("shape mismatch: index arrays could not be broadcast") from error
    if rows.ndim > 2:
        raise IndexError(f"Index dimension must be 1 or 2. Got {rows.ndim}")
    lies = rows.shape if rows.ndim == 2 else None
    return Key(rows.reshape(-1), columns.reshape(-1), apart=True, lies=lies)


def _line(index: Positions) -> Any:
    if index.ndim != 1:
        do = "flatten it, and index again"
        raise IndexError(explain("index array", f"{index.ndim} axes", "one", do))
    return index


def positions_of(session: Session, index: Positions) -> Any:
    """Return positions as all of a base on a line."""
    where = line(even(len(index), session.size))
    if not isinstance(index, Array):
        return laid_out(session, np.ascontiguousarray(index, np.int64), where)
    check_session(index, session)
    return brought(index, where, _INTP)


def selected(x: Stored, major: One, minor: One) -> Stored:
    """Return some rows and columns (of CSR); an int leaves an axis of length 1."""
    if isinstance(major, int):
        major = slice(major, major + 1)
    if isinstance(minor, int):
        minor = slice(minor, minor + 1)
    s, given = x.structure, x
    if isinstance(major, slice):
        start, stop, step = major.indices(s.major)
        if step != 1:
            x, major = _taken(x, np.arange(start, stop, step)), slice(None)
    else:
        x, major = _taken(x, major), slice(None)
    if isinstance(minor, slice):
        found = _sliced(x, major, minor)
        return found._replace(data=x.data.copy()) if found is given else found  # never an alias
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
    rows = [
        (a + start - c, b + start - c) if b > a else (0, 0)
        for a, b, c in zip(cuts, cuts[1:], s.cuts, strict=False)
    ]
    across = minor.indices(s.minor)
    return each(
        "slice",
        (x,),
        x.data.dtype,
        ((*rows, (start, start + n)), across),
        shape=(n, len(range(*across))),
        layout=line(cuts, 1),
        canonical=s.canonical and across[2] > 0,
    )


def _columns(x: Stored, index: Positions) -> Stored:
    """Return columns at some positions: each engine gets all of these."""
    s, where = x.structure, replicated(1, x.structure.session.size)
    if in_reach(s.session, (x,), [index] if isinstance(index, Array) else ()) is not None:
        chosen = positions_of(s.session, index)
    elif isinstance(index, Array):
        chosen = in_layout(as_dist(index, s.session), where, _INTP)
    else:
        chosen = from_host(s.session, np.ascontiguousarray(index, np.int64), where)
    return each("columns", (x,), x.data.dtype, dense=(chosen,), shape=(s.major, len(index)))


def pointwise(x: Stored, major: Positions, minor: Positions) -> Any:
    """Return the elements at some positions as a dense array."""
    session = x.structure.session
    return points(x, positions_of(session, major), positions_of(session, minor))


# -- assignment: what is put in takes the place of what is there, and makes new places ---------

#: What part of the elements may be new on a diagonal such that SciPy inserts them one by one.
_FEW = 0.001


def assigned(x: Reductions, key: object, value: object) -> Stored:
    """Return a compressed array in which some places have another value."""
    x.sum_duplicates()
    if is_sparse(key) and is_scalar(value):
        return _under(x, key, value)
    found = named_in(x, key)
    if is_sparse(value) and isinstance(found.rows, int) and isinstance(found.columns, int):
        value = value.toarray()  # one element, which is stored if it is 0, too
    if is_sparse(value):
        return _sparsely(x, found, value)
    if isinstance(value, Array) and value.ndim and _is_block(found):
        shape, values = _spread_over(x, found, value)
        steps = arange(len(values), session=x.session)
        places = steps // max(shape[1], 1), steps % max(shape[1], 1)
        return _put(x, _routed(x, found, places, values))
    return _merged(x, *_triplets(x, found, value))


def named_in(x: Reductions, key: object) -> Key:
    """Return the places that are named, by indices or by a mask; arrays of positions are here."""
    found = Key(*_named(x, key), apart=True) if is_mask(key) else key_of(key, x.shape)
    here = zip(found[:2], x.shape, strict=True)
    rows, columns = [checked(np.asarray(i), n) if isinstance(i, Array) else i for i, n in here]
    return found._replace(rows=rows, columns=columns)


def _is_block(key: Key) -> bool:
    """Tell whether some rows and columns are named, each of them once."""
    arrays = [i for i in key[:2] if isinstance(i, np.ndarray)]
    return not key.apart and all(len(np.unique(i)) == len(i) for i in arrays)


def _merged(x: Reductions, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Stored:
    """Put values at single places; the last one wins where a place is named twice."""
    order = np.lexsort((columns, rows))  # stable
    r, c = rows[order], columns[order]
    last = order[np.append((r[1:] != r[:-1]) | (c[1:] != c[:-1]), True)[: len(order)]]
    given = (values[last], (rows[last], columns[last]))
    return _put(x, stored(x.session, given, x.shape, x.dtype, x.axis, None))


def _put(x: Reductions, some: Stored) -> Stored:
    """Return an array with the elements of another one put in."""
    parts = (x.stored, recut(some, x.structure.cuts))
    return each("accumulated", parts, x.dtype, ("second", False, False), canonical=True)


def on_diagonal(values: Positions, k: int, count: int, like: Sparse) -> tuple[Any, Any, Any]:
    """Return the first elements of a diagonal, their rows and their columns, on engines.

    A number is of the array's dtype, as for SciPy.
    """
    session = like.session
    data = asarray(values, session=session)
    if not data.ndim:
        data = full(count, data, like.dtype, session=session)
    steps = arange(count, session=session)
    return data, steps + max(-k, 0), steps + max(k, 0)


def with_diagonal(x: Any, values: Positions, k: int, count: int) -> Stored:
    """Return a compressed array in which the first elements of a diagonal have other values.

    It has the dtype of both where SciPy's has: if it makes places, and these are not but a few.
    Equal places are summed in the dtype of the result.
    """
    data, *coords = on_diagonal(values, k, count, x)
    major, minor = coords if x.axis == 0 else coords[::-1]

    def put(x: Any) -> Stored:
        s, x = x.structure, x.in_order()
        return _put(x, routed(major, minor, data.astype(x.dtype), s.cuts, s.minor))

    found, kind = put(x), np.result_type(x.dtype, data.dtype)
    had = x.in_order().nnz
    new = found.structure.nnz - had
    if kind == x.dtype or not new or new < had * _FEW:
        return found
    return put(x.astype(supported(kind)))


def _under(x: Reductions, mask: Sparse, value: ArrayLike) -> Stored:
    """Put one value where a sparse mask is true: nothing is brought here."""
    if tuple(mask.shape) != x.shape:
        raise IndexError(f"bool index shape {tuple(mask.shape)} does not match {x.shape}")
    if mask.dtype != bool:
        raise IndexError(f"index of two axes: got {mask.dtype}, expected a mask of bools")
    chosen = ours(mask, x)._compressed()._along(x.axis)
    chosen = x._kind(x.format).of(chosen.stored)
    chosen.eliminate_zeros()
    number = np.asarray(value, x.dtype)
    data = where(chosen.data, number, number)
    return _put(x, chosen._with_data(data).stored)


def _named(x: Reductions, mask: object) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns that a mask of two axes names, in C order, here."""
    found: Any = ours(mask, x).tocsr() if is_sparse(mask) else mask
    found = found if is_sparse(mask) or isinstance(mask, Array) else np.asarray(mask)
    if found.shape != x.shape:
        raise IndexError(f"bool index shape {found.shape} does not match {x.shape}")
    if found.dtype != np.dtype(bool):
        raise IndexError(f"index of two axes: got {found.dtype}, expected a mask of bools")
    if is_sparse(mask):
        found.sum_duplicates()
    rows, columns = found.nonzero()
    return np.asarray(rows), np.asarray(columns)


def inside(x: Reductions, key: Key) -> Any:
    """Return for each stored element whether its place is named: engines look."""
    if key.apart:
        rows, columns = [asarray(i, session=x.session) for i in key[:2]]
        once = ones(len(rows), bool, session=x.session)
        s = x.stored.structure
        lines, across = (rows, columns) if x.axis == 0 else (columns, rows)
        some = type(x).of(routed(lines, across, once, s.cuts, s.minor))
        coords = x.tocoo(copy=False).coords
        return pointwise(some.stored, *(coords if x.axis == 0 else coords[::-1]))
    found = []
    for index, n, axis in zip(key[:2], x.shape, (0, 1), strict=True):
        chosen = np.zeros(n, bool)
        chosen[index] = True
        take = spread if axis == x.axis else picked
        found.append(take(x.stored, asarray(chosen, session=x.session)))
    return found[0] & found[1]


def _cleared(x: Reductions, key: Key) -> Stored:
    """Set what is stored in the places that are named to 0; no place is made for zeros."""
    if 0 in (x.structure.nnz, *x.shape):
        return Stored(x.data, x.structure)
    data = where(inside(x, key), x.dtype.type(0), elements(x.stored))
    return Stored(data, x.structure)


def _sparsely(x: Reductions, key: Key, value: Sparse) -> Stored:
    """Put a sparse array in: what it stores, and 0 where else something is stored, as SciPy.

    What an array and an int name is a row, as single elements are.
    """
    if 0 in value.shape:
        return Stored(x.data, x.structure)
    if {type(i) for i in key[:2]} == {int, np.ndarray}:
        rows, columns = np.broadcast_arrays(*key[:2])
        key = Key(rows, columns, apart=True)
    if key.apart:
        shape: Ints = key.lies or (1, len(key.rows))
    else:
        shape = lengths(tuple([_length(i, n) for i, n in zip(key[:2], x.shape, strict=True)]))
    y = _repeated(ours(value, x), shape)
    y = y if y.structure.canonical else y.copy()._summed()
    y = y.astype(x.dtype).tocoo(copy=False)
    cleared = type(x).of(_cleared(x, key))
    if _is_block(key):
        return _put(cleared, _routed(x, key, y.coords, y.data))
    row, column, data = [np.asarray(z) for z in (*y.coords, y.data)]
    lines = [_positions(i, n) for i, n in zip(key[:2], x.shape, strict=True)]
    row, column = (row * shape[1] + column,) * 2 if key.apart else (row, column)
    return _merged(cleared, lines[0][row], lines[1][column], data)


def _repeated(y: Sparse, shape: Ints) -> Any:
    """Return a sparse value in the shape of the places, as triplets in rows."""
    found = (y if y.ndim == 2 else y.reshape(1, -1)).tocsr()
    if any(have not in (1, want) for have, want in zip(found.shape, shape, strict=True)):
        raise ValueError("shape mismatch in assignment")
    for lies in ((shape[0], found.shape[1]), shape):
        found = found if found.shape == lies else found._repeated(lies)
    return found


def _length(index: One, n: int) -> int:
    """Return how many positions an index of one axis names."""
    if isinstance(index, slice):
        return len(range(*index.indices(n)))
    return 1 if isinstance(index, int) else len(index)


def _routed(x: Reductions, key: Key, places: Sequence[Array], data: Array) -> Stored:
    """Return elements at places of a block where these are in the array; nothing comes here."""
    coords = [_within(*one, x.session) for one in zip(key[:2], places, x.shape, strict=True)]
    major, minor = coords if x.axis == 0 else coords[::-1]
    s = x.stored.structure
    return routed(major, minor, data, s.cuts, s.minor)


def _within(index: One, c: Array, n: int, session: Session) -> Any:
    """Return positions along an axis of those that an index counts from 0."""
    c = c.astype(np.int64)
    if isinstance(index, int):
        return c + index
    if isinstance(index, slice):
        start, _, step = index.indices(n)
        return start + step * c
    return asarray(_positions(index, n), session=session)[c]


def _spread_over(x: Reductions, key: Key, value: ArrayLike) -> tuple[Ints, Any]:
    """Return how many rows and columns are named, and a value for each of their places."""
    found = value.astype(x.dtype) if isinstance(value, Array) else np.asarray(value, x.dtype)
    shape = lengths(tuple([_length(i, n) for i, n in zip(key[:2], x.shape, strict=True)]))
    kept = tuple(n for n, i in zip(shape, key[:2], strict=True) if not isinstance(i, int))
    if not kept and found.size != 1:
        raise ValueError("Trying to assign a sequence to an item")
    fits = kept if found.ndim <= len(kept) else shape
    return shape, np.broadcast_to(_turned(found, fits), fits).reshape(-1)


def _turned(x: Any, shape: Ints) -> Any:
    """Return values in a shape if theirs differs from it by axes of length 1, as SciPy takes them.

    >>> _turned(np.zeros((3, 1)), (1, 3)).shape, _turned(np.zeros((1, 3)), (2, 3)).shape
    ((1, 3), (1, 3))
    """
    alike = [n for n in x.shape if n != 1] == [n for n in shape if n != 1]
    return x.reshape(shape) if alike else x


def _triplets(x: Reductions, key: Key, value: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values here, one for each place that is named."""
    here: Any = np.asarray(value) if isinstance(value, Array) else value  # within the budget
    if key.apart:
        shape = key.lies or key.rows.shape
        values = np.broadcast_to(_turned(np.asarray(here, x.dtype), shape), shape)
        return key.rows, key.columns, values.reshape(-1)
    _, values = _spread_over(x, key, here)
    lines = [_positions(index, n) for index, n in zip(key[:2], x.shape, strict=True)]
    rows, columns = np.broadcast_arrays(lines[0][:, None], lines[1])
    return rows.reshape(-1), columns.reshape(-1), values


def _positions(index: One, n: int) -> np.ndarray:
    """Return the positions that an index of one axis names."""
    if isinstance(index, slice):
        return np.arange(*index.indices(n))
    return np.atleast_1d(index)
