"""Assignment in brackets: what is put in takes the place of what is there, and makes new places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.indexing import lengths
from distnb.client.math.ufuncs import where
from distnb.client.record.creation import asarray
from distnb.client.sparse.arithmetic import is_dense, is_sparse, ours
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import each, elements, recut
from distnb.client.sparse.creation import stored
from distnb.client.sparse.dense import picked, spread
from distnb.client.sparse.indexing import Key, One, key_of
from distnb.client.sparse.reductions import Reductions
from distnb.client.sparse.scipys import is_scalar
from distnb.client.sparse.structure import Stored
from distnb.common.errors import explain

__all__ = ["assigned"]

#: Places that a sparse right-hand side may stand for: they are made dense.
_DENSE = 1 << 24


def assigned(x: Reductions, key: object, value: object) -> Stored:
    """Return a compressed array in which some places have another value."""
    x.sum_duplicates()
    if is_sparse(key) and is_scalar(value):
        return _under(x, key, value)
    if is_sparse(key) or (is_dense(key) and not isinstance(key, tuple) and np.ndim(key) == 2):
        rows, columns = _named(x, key)
        found = Key(rows, columns, apart=True)
    else:
        found = key_of(key, x.shape)
    if not found.apart and is_scalar(value) and not np.asarray(value).astype(bool):
        return _cleared(x, found)
    return _merged(x, *_triplets(x, found, value))


def _merged(x: Reductions, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Stored:
    """Put values at single places; the last one wins where a place is named twice."""
    keys = (rows * np.int64(x.shape[1]) + columns)[::-1]
    _, last = np.unique(keys, return_index=True)
    last = len(keys) - 1 - last
    given = (values[last], (rows[last], columns[last]))
    return _put(x, stored(x.session, given, x.shape, x.dtype, x.axis, None))


def _put(x: Reductions, some: Stored) -> Stored:
    """Return an array with the elements of another one put in."""
    parts = (x.stored, recut(some, x.structure.cuts))
    return each("accumulated", parts, x.dtype, ("second", False, False), canonical=True)


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


def _cleared(x: Reductions, key: Key) -> Stored:
    """Set what is stored in some rows and columns to 0; no place is made for zeros."""
    if 0 in (x.structure.nnz, *x.shape):
        return Stored(x.data, x.structure)
    inside = []
    for index, n, axis in zip(key[:2], x.shape, (0, 1), strict=True):
        chosen = np.zeros(n, bool)
        chosen[np.asarray(index) if isinstance(index, Array) else index] = True
        take = spread if axis == x.axis else picked
        inside.append(take(x.stored, asarray(chosen, session=x.session)))
    data = where(inside[0] & inside[1], x.dtype.type(0), elements(x.stored))
    return Stored(data, x.structure)


def _triplets(x: Reductions, key: Key, value: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values here, one for each place that is named."""
    if is_sparse(value):
        if int(np.prod(value.shape)) > _DENSE:
            raise NotImplementedError(
                explain(
                    "assignment of a sparse array",
                    f"shape {tuple(value.shape)}",
                    f"{_DENSE:,} places at most",
                    "use vstack, hstack or block_array",
                )
            )
        value = value.toarray()
    here: Any = value.to_numpy() if isinstance(value, Array) else value
    values = np.asarray(here, x.dtype)
    if key.apart:
        rows, columns = np.asarray(key.rows), np.asarray(key.columns)
        return rows % x.shape[0], columns % x.shape[1], np.broadcast_to(values, rows.shape)
    lines = [_positions(index, n) for index, n in zip(key[:2], x.shape, strict=True)]
    shape = lengths(tuple(map(len, lines)))
    kept = tuple(n for n, i in zip(shape, key[:2], strict=True) if not isinstance(i, int))
    if not kept and values.size != 1:
        raise ValueError("Trying to assign a sequence to an item")
    fits = kept if values.ndim <= len(kept) else shape
    whole = np.broadcast_to(values, fits).reshape(shape)
    rows, columns = np.broadcast_arrays(lines[0][:, None], lines[1])
    return rows.reshape(-1), columns.reshape(-1), whole.reshape(-1)


def _positions(index: One, n: int) -> np.ndarray:
    """Return the positions that an index of one axis names."""
    if isinstance(index, slice):
        return np.arange(*index.indices(n))
    return np.atleast_1d(np.asarray(index)).astype(np.int64) % max(n, 1)
