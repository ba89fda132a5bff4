"""Compressed arrays of what users have: SciPy's arrays, triplets, dense arrays, a shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Dist, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import as_dist, in_layout
from distnb.client.handle.indexing import lengths
from distnb.client.record.creation import asarray
from distnb.client.session.session import Session
from distnb.client.sparse.balance import balanced_cuts
from distnb.client.sparse.commands import made, recut, routed, sent
from distnb.client.sparse.scipys import index_dtype, scipy_sparse, supported
from distnb.client.sparse.structure import Stored, cuts_for, line
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["stored", "triplets"]


def stored(
    session: Session, arg1: Any, shape: Shape | None, dtype: DTypeLike | None, axis: int, dist: Dist
) -> Stored:
    """Return the elements and the structure of what a constructor got, cut along an axis."""
    kind = None if dtype is None else supported(np.dtype(dtype))
    if _is_shape(arg1):
        return _empty(session, lengths(arg1), kind, axis, dist)
    if isinstance(arg1, tuple) and _lies_on_engines(arg1):
        rows, columns, data, extents = triplets(arg1, shape, kind)
        major, minor = (rows, columns) if axis == 0 else (columns, rows)
        n, across = extents if axis == 0 else extents[::-1]
        cuts = cuts_for("block" if dist == "nnz" else dist, n, session.size)
        return _balanced(routed(major, minor, data, cuts, across), dist)
    if isinstance(arg1, Array) and arg1.here is None:
        return _balanced(_from_dense(arg1, kind, axis, dist), dist)
    if isinstance(arg1, Array):
        arg1 = arg1.to_numpy()
    name = "csr" if axis == 0 else "csc"
    x = getattr(scipy_sparse(), f"{name}_array")(arg1, shape=shape, dtype=kind)
    if x.ndim != 2:
        raise NotImplementedError(
            explain(f"{name}_array", f"{x.ndim} axis", "two", "use coo_array for one axis")
        )
    return _from_scipys(session, x, axis, dist)


def _is_shape(x: object) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and all(hasattr(n, "__index__") for n in x)


def _lies_on_engines(x: tuple[Any, ...]) -> bool:
    """Tell whether one of the arrays of a constructor's tuple is on engines."""
    flat = [z for y in x for z in (y if isinstance(y, tuple) else (y,))]
    return any(isinstance(z, Array) for z in flat)


def _from_scipys(session: Session, x: Any, axis: int, dist: Dist) -> Stored:
    kind = supported(x.dtype)
    cuts = cuts_for(dist, x.shape[axis], session.size, x.indptr)
    arrays = (x.data.astype(kind, copy=False), x.indices, x.indptr)
    return sent(session, arrays, x.shape[1 - axis], cuts, bool(x.has_canonical_format))


def _empty(session: Session, shape: Ints, kind: np.dtype | None, axis: int, dist: Dist) -> Stored:
    major, minor = shape if axis == 0 else shape[::-1]
    cuts = cuts_for("block" if dist == "nnz" else dist, major, session.size)
    indices = np.empty(0, index_dtype(major, minor))
    data = np.empty(0, np.float64 if kind is None else kind)
    return sent(session, (data, indices, np.zeros(major + 1, indices.dtype)), minor, cuts, True)


def _from_dense(x: Array, kind: np.dtype | None, axis: int, dist: Dist) -> Stored:
    """Return what of a dense array is not zero."""
    if x.ndim != 2:
        raise NotImplementedError(
            explain("sparse array of a dense one", f"{x.ndim} axes", "two", "reshape it")
        )
    session, (major, minor) = x.session, x.shape if axis == 0 else x.shape[::-1]
    cuts = cuts_for("block" if dist == "nnz" else dist, major, session.size)
    where = line(cuts, 1)
    kind = supported(x.dtype) if kind is None else kind
    x = in_layout(as_dist(x, session), where if axis == 0 else where.T, kind)
    args = ("from_dense", (), axis)
    return made(session, "sparse.each", (x,), args, minor, cuts, kind, True)


def triplets(arg1: Any, shape: Shape | None, kind: np.dtype | None) -> tuple[Any, Any, Any, Ints]:
    """Return rows, columns and elements on engines, and the shape."""
    if len(arg1) != 2 or not isinstance(arg1[1], tuple):
        raise NotImplementedError(
            explain(
                "sparse array of (data, indices, indptr) on engines",
                "distributed arrays",
                "NumPy's, or triplets",
                "use (data, (rows, columns)), or .to_numpy()",
            )
        )
    data, coords = arg1
    if len(coords) != 2:
        raise NotImplementedError(
            explain("coordinates", f"{len(coords)} axes", "two", "give rows and columns")
        )
    session = next(x for x in (data, *coords) if isinstance(x, Array)).session
    data, rows, columns = [asarray(x, session=session) for x in (data, *coords)]
    if (
        any(x.ndim != 1 for x in (data, rows, columns))
        or len({*map(len, (data, rows, columns))}) > 1
    ):
        raise ValueError("all index and data arrays must have the same length")
    for x in (rows, columns):
        if x.dtype.kind not in "iu":
            raise TypeError(explain("coordinates", x.dtype, "integers", "use .astype(int)"))
    if shape is None:
        if not len(data):
            raise ValueError("cannot infer dimensions from zero sized index arrays")
        shape = [int(x.max()) + 1 for x in (rows, columns)]
    kind = supported(data.dtype) if kind is None else kind
    return rows, columns, data.astype(kind), lengths(shape)


def _balanced(x: Stored, dist: Dist) -> Stored:
    return recut(x, balanced_cuts(x)) if isinstance(dist, str) and dist == "nnz" else x
