"""Sparse arrays by rule, of others, and of files: identity, diagonals, random ones, blocks.

They are made as triplets on the engines, which read and write their own parts of files.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import prod
from os import PathLike
from typing import IO, Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.files.market import head_of, name_of, read_triplets, write_triplets
from distnb.client.files.members import write_members
from distnb.client.files.numpys import path_of
from distnb.client.files.text import naming
from distnb.client.files.writing import is_stream, replacing
from distnb.client.handle.arguments import Dist, Grid, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import lengths
from distnb.client.record.creation import asarray, ones
from distnb.client.record.ranges import arange
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.client.shape.repeating import repeat, tile
from distnb.client.sparse.arithmetic import dense_of, is_sparse
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import below
from distnb.client.sparse.compressed import csc_array, csr_array
from distnb.client.sparse.coordinates import coo_array
from distnb.client.sparse.creation import stored_in
from distnb.client.sparse.scipys import index_dtype, scipy_sparse, supported
from distnb.client.stats.random import Generator, default_rng
from distnb.common.errors import explain
from distnb.formats.stored import good
from distnb.formats.text import share
from distnb.geometry.layout import Ints

__all__ = [
    "block_array",
    "block_diag",
    "diags_array",
    "expand_dims",
    "eye_array",
    "find",
    "hstack",
    "kron",
    "kronsum",
    "load_npz",
    "mmread",
    "mmwrite",
    "permute_dims",
    "random_array",
    "save_npz",
    "swapaxes",
    "tril",
    "triu",
    "vstack",
]


def eye_array(
    m: int,
    n: int | None = None,
    *,
    k: int = 0,
    dtype: DTypeLike = float,
    format: str | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Return a sparse array with ones on a diagonal, as SciPy's ``eye_array``.

    Engines make the triplets, and send those that belong into others' rows.

    Parameters
    ----------
    m, n : int
        The shape; square if ``n`` is not given.
    k : int
        Which diagonal; above the main one if positive.
    dtype : dtype
        Element type.
    format : {'csr', 'csc', 'coo'}, optional
        By default CSR (SciPy's is DIA).
    dist, grid : optional
        Who has what, as for :class:`csr_array`; of COO as of that.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    csr_array, csc_array or coo_array
        As many rows, or columns of CSC, on each engine, unless another layout is given.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.eye_array(2, 3, k=1).toarray().to_numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    m = operator.index(m)
    n = m if n is None else operator.index(n)
    length = min(m + min(k, 0), n - max(k, 0))
    if length < 0:
        raise ValueError(f"Offset {k} (index 0) out of bounds")
    at = need(session)
    places = arange(length, session=at)
    triplets = (ones(length, supported(np.dtype(dtype)), session=at), _shifted(places, k))
    return _formed(triplets, (m, n), format, dist, grid)


def _formed(triplets: Any, shape: Ints, format: str | None, dist: Dist, grid: Grid) -> Any:
    """Return the array of triplets in a format; COO stands for CSR."""
    kind = csc_array if format == "csc" else csr_array
    return kind(triplets, shape=shape, dist=dist, grid=grid).asformat(format)


def _shifted(places: Array, k: int) -> tuple[Any, Any]:
    """Return rows and columns of a diagonal's elements."""
    return places + max(-k, 0), places + max(k, 0)


def diags_array(
    diagonals: Sequence[ArrayLike] | ArrayLike,
    /,
    *,
    offsets: SupportsIndex | Sequence[SupportsIndex] = 0,
    shape: Shape | None = None,
    format: str | None = None,
    dtype: DTypeLike | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Return a sparse array of diagonals, as SciPy's ``diags_array``.

    Engines make the triplets, and send those that belong into others' rows. Zeros are not stored,
    as in SciPy's CSR, CSC and COO: how many there are is read, this waits.

    Parameters
    ----------
    diagonals : sequence of array_like
        One-dimensional, distributed or not; of length 1 to be repeated.
    offsets : int or sequence of int
        Which diagonals they are.
    shape : tuple of int, optional
        By default square, and large enough.
    format : {'csr', 'csc', 'coo'}, optional
        By default CSR (SciPy's is DIA).
    dtype : dtype, optional
        Element type.
    dist, grid : optional
        Who has what, as for :class:`csr_array`; of COO as of that.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    csr_array, csc_array or coo_array
        As many rows, or columns of CSC, on each engine, unless another layout is given.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.diags_array([1, [5, 6]], offsets=[0, 1], shape=(3, 3)).toarray().to_numpy()
    array([[1., 5., 0.],
           [0., 1., 6.],
           [0., 0., 1.]])
    """
    given, places = _given(diagonals, offsets)
    at = need(next((d.session for d in given if isinstance(d, Array)), session))
    arrays = [asarray(d if isinstance(d, Array) else np.atleast_1d(d), session=at) for d in given]
    square = len(arrays[0]) + abs(places[0])
    m, n = (square, square) if shape is None else lengths(shape)
    pieces = [_diagonal(d, k, (m, n)) for d, k in zip(arrays, places, strict=True)]
    kind = np.result_type(*[d.dtype for d in arrays]) if dtype is None else np.dtype(dtype)
    if dtype is None and kind.kind in "biu":
        kind = np.dtype(np.float64)  # as SciPy
    data, rows, columns = [concatenate([p[i] for p in pieces]) for i in range(3)]
    triplets = (data.astype(supported(kind)), (rows, columns))
    found = _formed(triplets, (m, n), "csc" if format == "csc" else None, dist, grid)
    found.eliminate_zeros()
    return found.asformat(format)


def _given(diagonals: Any, offsets: Any) -> tuple[list[Any], list[int]]:
    """Return diagonals and offsets as lists; of one offset the diagonal may be given by itself."""
    if np.ndim(offsets) == 0:
        offsets = [offsets]
        if not isinstance(diagonals, Array) and len(diagonals) and np.ndim(diagonals[0]) > 0:
            (diagonals,) = diagonals
        diagonals = [diagonals]
    places = [operator.index(k) for k in offsets]
    if len(diagonals) != len(places):
        raise ValueError("Different number of diagonals and offsets.")
    if len({*places}) < len(places):
        raise ValueError("repeated offset in the offsets array")
    return list(diagonals), places


def _diagonal(diagonal: Array, k: int, shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Return elements, rows and columns of a diagonal."""
    m, n = shape
    length = min(m + min(k, 0), n - max(k, 0))
    if length < 0:
        raise ValueError(f"Offset {k} (index 0) out of bounds")
    diagonal = diagonal[:length] if len(diagonal) > length else diagonal
    if len(diagonal) not in (1, length):
        raise ValueError(
            f"Diagonal length (index 0: {len(diagonal)} at offset {k}) does not agree with "
            f"array size ({m}, {n})."
        )
    places = arange(length, session=diagonal.session)
    data = (
        diagonal if len(diagonal) == length else ones(length, session=diagonal.session) * diagonal
    )
    return (data, *_shifted(places, k))


def random_array(
    shape: Shape,
    *,
    density: float = 0.01,
    format: str = "coo",
    dtype: DTypeLike | None = None,
    rng: Generator | int | None = None,
    data_sampler: Callable[..., ArrayLike] | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Return a sparse array with random elements at random places, as SciPy's ``random_array``.

    Places and elements are drawn on the engines: as many as SciPy draws, but other ones. They are
    the same for any number of engines. Places are sorted, and triplets sent to where their rows
    are.

    Parameters
    ----------
    shape : tuple of int
        One or two lengths; of one axis, only COO is there.
    density : float
        Share of the elements that are stored.
    format : {'coo', 'csr', 'csc'}
        The format.
    dtype : dtype, optional
        A float or complex type: elements are from 0 to 1.
    rng : int, optional
        Seed, or a generator of :mod:`distnb.random`.
    data_sampler : callable, optional
        Called with ``size=``, returns the elements.
    dist, grid : optional
        Who has what, as for :class:`csr_array`; of COO as of that.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    coo_array, csr_array or csc_array
        With ``round(density * m * n)`` stored elements. Of one axis they lie in equal blocks.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.random_array((100, 50), density=0.1, rng=1).nnz
    500
    """
    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    extents = lengths(shape)
    one = len(extents) == 1 and (format, dist, grid) == ("coo", None, None)
    if not one and len(extents) != 2:
        expected = "two axes, or one without format=, dist= and grid="
        raise NotImplementedError(
            explain("random_array", f"shape {shape}", expected, "make one row, and take it: [0]")
        )
    kind = np.dtype(np.float64 if dtype is None else dtype)
    at = need(session)
    draw = rng if isinstance(rng, Generator) else default_rng(rng, session=at)
    total = prod(extents)
    count = round(density * total)
    flat = _distinct(draw, total, count, at)
    if data_sampler is not None:
        data = asarray(data_sampler(size=count), session=flat.session)
    elif kind.kind in "iu":  # from all of the dtype, but its greatest, as SciPy's
        limits = np.iinfo(supported(kind))
        data = draw.integers(limits.min, limits.max, size=count, dtype=kind)
    else:
        data = draw.random(count)
        data = data + 1j * draw.random(count) if kind.kind == "c" else data
    data = data.astype(supported(kind))
    if one:
        return coo_array((data, (flat.astype(index_dtype(total)),)), shape=extents)
    across = max(1, extents[1])
    return _formed((data, (flat // across, flat % across)), extents, format, dist, grid)


def _distinct(draw: Generator, total: int, count: int, session: Session) -> Any:
    """Return ``count`` different numbers below ``total``, in rising order."""
    if count > total // 2:
        kept = ones(total, bool, session=session)
        kept[_distinct(draw, total, total - count, session)] = False
        return np.flatnonzero(kept)
    found: Any = arange(0, session=session)
    while len(found) < count:
        more = int(-total * np.log1p(-(count - len(found)) / total) * 1.01) + 8
        found = np.unique(concatenate([found, draw.integers(0, total, size=more)]))
    surplus = len(found) - count
    if surplus:
        kept = ones(len(found), bool, session=session)
        kept[np.argsort(draw.random(len(found)))[:surplus]] = False
        found = found[kept]
    return found


def block_array(blocks: Any, *, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return a sparse array of blocks, as SciPy's ``block_array``; None is a block of zeros.

    Rows of CSR blocks below each other, and columns of CSC ones side by side, are sent to where
    they are in the result. Other blocks become triplets, which are joined, as by
    :func:`distnb.concatenate`; in another format they are sent to where their rows, or columns,
    are.

    Parameters
    ----------
    blocks : list of lists
        Sparse arrays, distributed or SciPy's, at least one of them distributed.
    format : {'csr', 'csc', 'coo'}, optional
        By default that of all blocks if these are CSR or CSC alike, else COO.
    dtype : dtype, optional
        Element type.

    Returns
    -------
    coo_array, csr_array or csc_array
        As high as a column of blocks, as wide as a row.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     one = dnb.sparse.eye_array(1, dtype=int)
    ...     dnb.sparse.block_array([[one, 2 * one], [None, one]]).toarray().to_numpy()
    array([[1, 2],
           [0, 1]])
    """
    rows = [list(row) for row in blocks]
    if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ValueError("blocks must be 2-D")
    session = next((b.session for row in rows for b in row if hasattr(b, "session")), None)
    if session is None:
        raise TypeError(explain("blocks", "none on engines", "a distributed one", "use SciPy's"))
    found = _in_one_line(rows, format, dtype, session)
    if found is not None:
        return found
    grid = [[None if b is None else _coo(b, session) for b in row] for row in rows]
    heights = [_length(row, 0, f"row {i}") for i, row in enumerate(grid)]
    widths = [_length(column, 1, f"column {j}") for j, column in enumerate(zip(*grid, strict=True))]
    below, right = np.cumsum([0, *heights]).tolist(), np.cumsum([0, *widths]).tolist()
    pieces = [
        (b.data, b.row.astype(np.int64) + below[i], b.col.astype(np.int64) + right[j])
        for i, row in enumerate(grid)
        for j, b in enumerate(row)
        if b is not None
    ]
    data, row, column = [concatenate([p[k] for p in pieces]) for k in range(3)]
    found = coo_array((data, (row, column)), shape=(below[-1], right[-1]), dtype=dtype)
    formats = {getattr(b, "format", None) for given in rows for b in given}
    if format is None and len(formats) == 1 and formats <= {"csr", "csc"}:
        (format,) = formats
    return found.asformat(format)


def _in_one_line(
    rows: list[list[Any]], format: str | None, dtype: DTypeLike | None, session: Session
) -> Any:
    """Return CSR blocks below each other, or CSC ones side by side, None for others.

    Whole rows, or columns, go to where they are in the result; elements stay in their order.
    """
    axis = 0 if len(rows[0]) == 1 else 1
    name, flat = ("csr", "csc")[axis], [b for row in rows for b in row]
    alike = format in (None, name) and all(getattr(b, "format", "") == name for b in flat)
    if min(len(rows), len(rows[0])) > 1 or not alike or len({b.shape[1 - axis] for b in flat}) > 1:
        return None
    kind = supported(np.result_type(*[b.dtype for b in flat]) if dtype is None else np.dtype(dtype))
    ours = [b if isinstance(b, Sparse) else Sparse.kinds[name](b, session=session) for b in flat]
    return Sparse.kinds[name].of(below([x.astype(kind, copy=False).held for x in ours]))


def _coo(x: object, session: Session) -> Any:
    """Return a block as triplets on engines."""
    if not is_sparse(x):
        dense = dense_of(x, session)
        if not dense.ndim:
            raise ValueError(explain("block", "a number", "an array", "pass [[number]]"))
        return csr_array(dense).tocoo()
    found: Any = x.tocoo() if isinstance(x, Sparse) else coo_array(x, session=session)
    return found if found.ndim == 2 else expand_dims(found)  # one axis is a row


def _length(blocks: Sequence[Any], axis: int, where: str) -> int:
    """Return the length that blocks side by side have in common."""
    lengths = {b.shape[axis] for b in blocks if b is not None}
    if len(lengths) > 1:
        raise ValueError(f"blocks of {where} have incompatible dimensions: {sorted(lengths)}")
    return int(lengths.pop()) if lengths else 0


def hstack(blocks: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return sparse arrays side by side, as SciPy's ``hstack``.

    Layout and messages are those of :func:`block_array`.

    Parameters
    ----------
    blocks : sequence
        Sparse arrays, distributed or SciPy's, at least one of them distributed.
    format : {'csr', 'csc', 'coo'}, optional
        By default that of all blocks if these are CSR or CSC alike, else COO.
    dtype : dtype, optional
        Element type.

    Returns
    -------
    coo_array, csr_array or csc_array
        As high as the blocks.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     one = dnb.sparse.eye_array(1, dtype=int)
    ...     dnb.sparse.hstack([one, 2 * one]).toarray().to_numpy()
    array([[1, 2]])
    """
    return block_array([blocks], format=format, dtype=dtype)


def vstack(blocks: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return sparse arrays one below the other, as SciPy's ``vstack``.

    Layout and messages are those of :func:`block_array`.

    Parameters
    ----------
    blocks : sequence
        Sparse arrays, distributed or SciPy's, at least one of them distributed.
    format : {'csr', 'csc', 'coo'}, optional
        By default that of all blocks if these are CSR or CSC alike, else COO.
    dtype : dtype, optional
        Element type.

    Returns
    -------
    coo_array, csr_array or csc_array
        As wide as the blocks.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     one = dnb.sparse.eye_array(1, dtype=int)
    ...     dnb.sparse.vstack([one, 2 * one]).toarray().to_numpy()
    array([[1],
           [2]])
    """
    return block_array([[b] for b in blocks], format=format, dtype=dtype)


def block_diag(
    mats: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Return sparse arrays along the diagonal, zeros elsewhere, as SciPy's ``block_diag``.

    Layout and messages are those of :func:`block_array`.

    Parameters
    ----------
    mats : sequence
        Sparse arrays, distributed or SciPy's, at least one of them distributed.
    format : {'coo', 'csr', 'csc'}, optional
        By default COO.
    dtype : dtype, optional
        Element type.

    Returns
    -------
    coo_array, csr_array or csc_array
        As high, and as wide, as all together.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     one = dnb.sparse.eye_array(1, dtype=int)
    ...     dnb.sparse.block_diag([one, 2 * one]).toarray().to_numpy()
    array([[1, 0],
           [0, 2]])
    """
    blocks = [m if is_sparse(m) else np.atleast_2d(m) for m in mats]
    grid = [[m if i == j else None for j in range(len(mats))] for i, m in enumerate(blocks)]
    return block_array(grid, format="coo" if format is None else format, dtype=dtype)


def kron(A: object, B: object, format: str | None = None) -> Any:
    """Return Kronecker's product of two sparse arrays, as SciPy's ``kron``.

    There is a triplet for each pair of theirs. Those of ``B`` are sent to where the repeated ones
    of ``A`` lie.

    Parameters
    ----------
    A, B
        Sparse arrays, distributed or SciPy's, at least one of them distributed.
    format : {'coo', 'csr', 'csc'}, optional
        By default COO.

    Returns
    -------
    coo_array, csr_array or csc_array
        Along each axis as long as the lengths of both, multiplied.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.csr_array([[0, 1]])
    ...     dnb.sparse.kron(A, dnb.sparse.csr_array([[2, 3]])).toarray().to_numpy()
    array([[0, 0, 2, 3]])
    """
    session = _session_of("kron", A, B)
    a, b = _coo(A, session), _coo(B, session)
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    data = repeat(a.data, b.nnz) * tile(b.data, a.nnz)
    places = [
        repeat(x.astype(np.int64), b.nnz) * n + tile(y, a.nnz)
        for x, y, n in zip(a.coords, b.coords, b.shape, strict=True)
    ]
    return coo_array((data, tuple(places)), shape=shape).asformat(format)


def kronsum(A: Sparse, B: Sparse, format: str | None = None) -> Any:
    """Return Kronecker's sum of two square sparse arrays, as SciPy's ``kronsum``.

    It is ``kron(I, A) + kron(B, I)``; messages are those of :func:`kron`, and triplets are sent to
    where their rows are.

    Parameters
    ----------
    A, B
        Sparse arrays, distributed or SciPy's, at least one of them distributed.
    format : {'coo', 'csr', 'csc'}, optional
        By default CSR.

    Returns
    -------
    csr_array, csc_array or coo_array
        Along both axes as long as the lengths of both, multiplied.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.csr_array([[0, 1], [2, 0]])
    ...     dnb.sparse.kronsum(A, A).toarray().to_numpy()
    array([[0, 1, 1, 0],
           [2, 0, 0, 1],
           [2, 0, 0, 1],
           [0, 2, 2, 0]])
    """
    session = _session_of("kronsum", A, B)
    given: dict[str, Any] = {"A": A, "B": B}
    for name, x in given.items():
        if np.ndim(x) != 2:
            raise ValueError(explain(name, f"{np.ndim(x)} axes", "two", "reshape it"))
    a, b = _coo(A, session), _coo(B, session)
    for name, x in (("A", a), ("B", b)):
        if x.shape[0] != x.shape[1]:
            raise ValueError(explain(name, f"shape {x.shape}", "a square", "pass square arrays"))
    kind = np.result_type(a.dtype, b.dtype)
    inner, outer = [eye_array(x.shape[0], dtype=kind, session=session) for x in (a, b)]
    return (kron(outer, a) + kron(b, inner)).asformat(format)


def _session_of(name: str, *given: object) -> Session:
    """Return the session of the first array that is distributed."""
    session: Session | None = next((x.session for x in given if hasattr(x, "session")), None)
    if session is None:
        raise TypeError(explain(name, "none on engines", "a distributed array", "use SciPy's"))
    return session


def find(A: object) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of the elements that are not zero, as SciPy's ``find``.

    Elements are brought into rows first, and equal places summed; how many there are is read: this
    waits.

    Parameters
    ----------
    A : sparse array or array_like
        Of one or two axes.

    Returns
    -------
    tuple of DistArray
        Rows, columns and values, in C order, which lie where the rows do.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns, values = dnb.sparse.find(dnb.sparse.csr_array([[0, 2], [3, 0]]))
    ...     rows.to_numpy(), columns.to_numpy(), values.to_numpy()
    (array([0, 1], dtype=int32), array([1, 0], dtype=int32), array([2, 3]))
    """
    x = _ours(A).tocoo()
    x = x._as_before(x._in_rows().in_lines()._summed()).tocoo(copy=False)
    keep = x.data != 0
    return x.row[keep], x.col[keep], x.data[keep]


def _ours(A: object) -> Any:
    """Return a distributed sparse array, of another one if need be."""
    return A if isinstance(A, Sparse) else coo_array(A)


def permute_dims(A: Sparse, axes: Sequence[int] | None = None, copy: bool = False) -> Any:
    """Return the array with its axes in another order, as SciPy's; nothing is sent.

    Parameters
    ----------
    A : sparse array
        Whose axes are exchanged.
    axes : sequence of int, optional
        Which axis takes the place of each; by default they are reversed.
    copy : bool
        Whether elements are copied.

    Returns
    -------
    coo_array
        The array itself, of its format, if the order is that which it has.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.permute_dims(dnb.sparse.eye_array(2, 3), (1, 0)).shape
    (3, 2)
    """
    x = _ours(A)
    axes = range(x.ndim)[::-1] if axes is None else axes
    if len(axes) != x.ndim:
        raise ValueError(explain("axes", axes, f"{x.ndim} of them", "name each axis once"))
    places = [operator.index(axis) for axis in axes]
    if any(not -x.ndim <= axis < x.ndim for axis in places):
        raise ValueError(explain("axes", axes, f"below {x.ndim}", "name each axis once"))
    places = [axis % x.ndim for axis in places]
    if len({*places}) < x.ndim:
        raise ValueError(explain("axes", axes, "different ones", "name each axis once"))
    if places == [*range(x.ndim)]:
        return x.copy() if copy else x
    return x.tocoo(copy=copy).T


def swapaxes(A: Sparse, axis1: int, axis2: int) -> Any:
    """Return a copy of the array with two axes exchanged, as SciPy's; nothing is sent.

    Parameters
    ----------
    A : sparse array
        Whose axes are exchanged.
    axis1, axis2 : int
        Which ones.

    Returns
    -------
    coo_array
        Of the format of the array if both are the same.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.swapaxes(dnb.sparse.eye_array(2, 3), 0, 1).shape
    (3, 2)
    """
    x = _ours(A)
    axes = np.arange(x.ndim)
    try:
        axes[[axis1, axis2]] = axes[[axis2, axis1]]
    except IndexError:
        got, advice = f"{axis1!r} and {axis2!r}", "name two of the axes"
        raise ValueError(explain("axes", got, f"integers below {x.ndim}", advice)) from None
    return permute_dims(x, axes.tolist(), copy=True)


def expand_dims(A: Sparse, /, *, axis: int = 0) -> Any:
    """Return a copy of an array of one axis as a row or a column, as SciPy's; nothing is sent.

    Parameters
    ----------
    A : sparse array
        Of one axis: there are no sparse arrays of three.
    axis : int
        Where the axis of length 1 comes: 0, or 1.

    Returns
    -------
    coo_array
        Of two axes.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.sparse.coo_array(dnb.array([0, 5, 0]))
    ...     dnb.sparse.expand_dims(x, axis=1).shape
    (3, 1)
    """
    x = _ours(A)
    if not hasattr(axis, "__index__") or not -x.ndim - 1 <= axis <= x.ndim:
        expected = f"an integer from {-x.ndim - 1} to {x.ndim}"
        raise ValueError(explain("axis", axis, expected, "say where the new one comes"))
    if x.ndim != 1:
        raise NotImplementedError(
            explain("expand_dims", f"{x.ndim} axes", "one", "make it dense: A.toarray()")
        )
    ((places,), (n,)) = x.coords, x.shape
    row = coo_array((x.data.copy(), (np.zeros_like(places), places.copy())), shape=(1, n))
    return row.T if operator.index(axis) % 2 else row


def tril(A: Sparse, k: int = 0, format: str | None = None) -> Any:
    """Return the elements on and below a diagonal, as SciPy's ``tril``.

    Each engine keeps its own; how many these are is read: this waits.

    Parameters
    ----------
    A : sparse array
        Of which elements are kept.
    k : int
        The last diagonal that is kept; above the main one if positive.
    format : {'coo', 'csr', 'csc'}, optional
        By default COO.

    Returns
    -------
    coo_array, csr_array or csc_array
        Of the same shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.tril(dnb.sparse.csr_array([[1, 2], [3, 4]])).toarray().to_numpy()
    array([[1, 0],
           [3, 4]])
    """
    x = _triplets(A)
    return _kept(x, x.row + k >= x.col).asformat(format)


def triu(A: Sparse, k: int = 0, format: str | None = None) -> Any:
    """Return the elements on and above a diagonal, as SciPy's ``triu``.

    Each engine keeps its own; how many these are is read: this waits.

    Parameters
    ----------
    A : sparse array
        Of which elements are kept.
    k : int
        The first diagonal that is kept; above the main one if positive.
    format : {'coo', 'csr', 'csc'}, optional
        By default COO.

    Returns
    -------
    coo_array, csr_array or csc_array
        Of the same shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.triu(dnb.sparse.csr_array([[1, 2], [3, 4]])).toarray().to_numpy()
    array([[1, 2],
           [0, 4]])
    """
    x = _triplets(A)
    return _kept(x, x.row + k <= x.col).asformat(format)


def _triplets(A: object) -> Any:
    """Return a sparse array, or a dense one, as triplets on engines, of two axes."""
    x = _ours(A).tocoo()
    if x.ndim != 2:
        raise ValueError(explain("array", f"shape {x.shape}", "two axes", "reshape it"))
    return x


def _kept(x: Any, mask: Array) -> Any:
    """Return the triplets that a mask names."""
    return coo_array((x.data[mask], (x.row[mask], x.col[mask])), shape=x.shape)


# -- files ---------------------------------------------------------------------------------------

#: A path, or an open file.
File: TypeAlias = str | PathLike[str] | IO[bytes]
#: Names of Matrix Market files that only SciPy expands.
_PACKED = (".bz2",)
#: Where an axis is as long, SciPy does not look whether an array is symmetric.
_LOOKED_AT = 100


def _sent(x: Any, session: Session | None) -> Any:
    """Return SciPy's array as a distributed one, of its format if that is there, else CSR."""
    found = {"coo": coo_array, "csc": csc_array}.get(x.format, csr_array)
    return found(x, session=session)


def load_npz(file: File, *, session: Session | None = None) -> Any:
    """Return the sparse array that a file of SciPy's ``save_npz`` holds.

    Each engine reads its own part of CSR, CSC and COO; what is compressed it expands up to there.
    Of an open file, and of other formats, the notebook reads all, and sends each engine its part.

    Parameters
    ----------
    file : str, path or open file
        The file, which all engines see.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    csr_array, csc_array or coo_array
        Of the format in the file; CSR for others. As many rows, or columns, on each engine.

    Raises
    ------
    ValueError
        For a file that is cut off, and for indices or pointers that do not fit: the file is named.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.save_npz("A.npz", dnb.sparse.csr_array([[0, 2], [1, 0]]))
    ...     dnb.sparse.load_npz("A.npz").toarray().to_numpy()
    array([[0, 2],
           [1, 0]])
    """
    path = path_of(file)
    found = None if path is None or is_stream(path) else stored_in(path, need(session))
    if found is None:
        with nullcontext() if path is None else good(path, "a sparse array"):
            theirs = scipy_sparse().load_npz(file)
        return _sent(theirs, session)
    kind, x = found
    if kind == "coo":
        data, coords, shape = x
        return coo_array((data, coords), shape=shape)
    return (csr_array if kind == "csr" else csc_array).of(x)


def save_npz(file: File, matrix: Sparse, compressed: bool = True) -> None:
    """Save a sparse array as SciPy's ``save_npz``: each engine writes its own part.

    The file appears whole, or not at all. To an open file the notebook writes.

    Parameters
    ----------
    file : str, path or open file
        Which is written; ``.npz`` is appended to a name without it.
    matrix : sparse array
        What is saved.
    compressed : bool
        Whether the file is compressed: it takes less room and more time, also to read.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.save_npz("A.npz", dnb.sparse.csr_array([[0, 2], [1, 0]]))
    ...     dnb.sparse.load_npz("A.npz").nnz
    2
    """
    if not is_sparse(matrix):
        raise TypeError(
            explain("save_npz", type(matrix).__name__, "a sparse array", "use dnb.save")
        )
    if not isinstance(matrix, Sparse):
        scipy_sparse().save_npz(file, matrix, compressed)
        return
    path = path_of(file)
    if path is None or is_stream(path) or matrix.ndim != 2:
        scipy_sparse().save_npz(file, matrix.to_scipy(), compressed)
        return
    if matrix.format == "coo":
        places = {"row": matrix.tocoo(copy=False).row, "col": matrix.tocoo(copy=False).col}
    else:
        x = matrix._compressed()
        matrix = x = x.in_lines() if x.structure.blocks else x
        places = {"indices": x.indices, "indptr": x.indptr}
    about = {"format": np.array(matrix.format.encode()), "shape": np.array(matrix.shape)}
    arrays = {**places, **about, "data": matrix.data, "_is_array": np.array(True)}
    path = path if path.endswith(".npz") else f"{path}.npz"
    with replacing(path, matrix.session) as name:
        write_members(name, arrays, compressed, matrix.session)


def mmread(source: File, *, session: Session | None = None) -> Any:
    """Return the sparse array of a Matrix Market file, as ``scipy.io.mmread``.

    Each engine parses a share of the lines, and has their elements; how many there are is read:
    this waits. The notebook reads files of dense arrays, those that end in ``.bz2``, and open ones.

    Parameters
    ----------
    source : str, path or open file
        The file, which all engines see; it may be compressed by gzip or Zstandard.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    coo_array
        Of a dense file, too. It has both halves of what is symmetric.

    Raises
    ------
    ValueError
        For a head that is not good, a line that is no triplet within the shape, and a file that is
        cut off: the file is named, and the line.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.mmwrite("A.mtx", dnb.sparse.csr_array([[0, 2], [1, 0]]))
    ...     dnb.sparse.mmread("A.mtx").toarray().to_numpy()
    array([[0, 2],
           [1, 0]])
    """
    sparse, path = scipy_sparse(), path_of(source)
    if path is not None and not is_stream(path) and not path.endswith(_PACKED):
        head = head_of(path)
        if not head.dense:
            data, rows, columns = read_triplets(path, head, need(session))
            return coo_array((data, (rows, columns)), shape=head.shape)
        share(path, head.start, 0, 1, None, "numbers", ())  # which raises
    from scipy.io import mmread

    with naming(source):
        found = mmread(source)
    return _sent(sparse.coo_array(found), session)


def mmwrite(
    target: File,
    a: Sparse,
    comment: str | None = None,
    field: str | None = None,
    precision: int | None = None,
    symmetry: str | None = "AUTO",
) -> None:
    """Write a sparse array as a Matrix Market file, as ``scipy.io.mmwrite``.

    Each engine writes the lines of its own elements; the file appears whole, or not at all. It is
    compressed if its name ends in ``.mtx.gz``, ``.mtx.bz2`` or ``.mtx.zst``. To an open file the
    notebook writes.

    Parameters
    ----------
    target : str, path or open file
        Which is written; ``.mtx`` is appended to a name without it.
    a : sparse array
        What is written.
    comment : str, optional
        Goes below the first line.
    field : {'real', 'complex', 'pattern', 'integer'}, optional
        What elements are written as; by default what they are.
    precision : int, optional
        Digits; by default as many as tell a number from others.
    symmetry : {'AUTO', 'general', 'symmetric', 'skew-symmetric', 'hermitian'}, optional
        Of which only the half below the diagonal is written. None looks what holds, for which the
        array is transposed; 'AUTO' does so below 100 rows and columns, else it is 'general'.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.mmwrite("A.mtx", dnb.sparse.csr_array([[0, 2], [1, 0]]))
    ...     dnb.sparse.mmread("A.mtx").nnz
    2
    """
    scipy_sparse()
    path = path_of(target)
    options = {"comment": comment, "field": field, "precision": precision}
    if path is None or is_stream(path) or a.ndim != 2:
        from scipy.io import mmwrite

        mmwrite(target, a.to_scipy(), symmetry=symmetry, **options)
        return
    if symmetry == "AUTO":
        symmetry = None if max(a.shape) < _LOOKED_AT else "general"
    kind = _symmetry(a) if symmetry is None else symmetry.lower()
    x = a.tocoo(copy=False) if kind == "general" else tril(a)
    write_triplets(name_of(path), (x.data, x.row, x.col), x.shape, kind, options)


def _symmetry(x: Any) -> str:
    """Return what a file may say of an array of which it has one half."""
    if x.shape[0] == x.shape[1]:
        x, kind = x.tocsr(), x.dtype.kind
        if not (x != x.T).nnz:
            return "symmetric"
        if kind in "ifc" and not (x != -x.T).nnz:
            return "skew-symmetric"
        if kind == "c" and not (x != x.conj().T).nnz:
            return "hermitian"
    return "general"
