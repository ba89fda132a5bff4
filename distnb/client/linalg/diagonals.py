"""Triangles of matrices, matrices made of a diagonal, and of powers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.conversion import array_of, broadcast
from distnb.client.handle.fields import fits
from distnb.client.handle.host_arrays import home, watched
from distnb.client.linalg.contractions import diagonal
from distnb.client.math.scans import accumulate
from distnb.client.reach.kept_order import axes_of, in_their_order
from distnb.client.reach.whole_functions import step, written_in_reach
from distnb.client.record.creation import asarray, empty, empty_like, ones, ones_like
from distnb.client.record.eager import written_plain
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.ranges import arange
from distnb.client.select.taking import nonzero
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.client.shape.reshaping import adopted, ravel, resize, rows_of
from distnb.common.ndarrays import QUICK
from distnb.geometry.layout import default_layout

__all__ = ["diag", "tril", "triu"]

#: Bytes of the largest number.
_LARGEST = 16


# -- triangles -------------------------------------------------------------------------------------


def _below(mask: Array, k: int) -> Array:
    """Fill an array of matrices: what is on or below a diagonal is true."""
    n, m = mask.shape[-2:]
    row, column = (arange(size, dist="replicated", session=mask.session) for size in (n, m))
    if k != int(k):  # whatever NumPy's range makes of a fraction
        column, k = asarray(np.arange(-k, m - k, dtype=np.int64)[:m], session=mask.session), 0
    elementwise("greater_equal", row[:, None], column - int(k), out=mask)
    return mask


def _triangle(m: ArrayLike, k: int, upper: bool) -> Array:
    """Return a copy with zeros on one side of a diagonal; the mask is never stored."""
    x = asarray(m)
    if not x.ndim:
        raise TypeError("tri() missing 1 required positional argument: 'N'")
    if x.here is not None:
        return array_of(x.session, (np.triu if upper else np.tril)(x.here, k))
    x = broadcast(x, x.shape * 2) if x.ndim == 1 else x
    mask, zero = _below(empty_like(x, bool, "C"), k - upper), x.dtype.type(0)
    numpys: np.ndarray = as_strided(np.empty(1, bool), x.shape[-2:], (x.shape[-1], 1))
    run = lambda mask, x: elementwise(  # noqa: E731
        "where", mask, *((zero, x) if upper else (x, zero)), order="C"
    )
    return in_their_order(run, (mask, x), axes_of((numpys, x)))


@stands_for(np.tril, small="exact")
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return a copy of matrices with zeros above a diagonal.

    The result lies as the array. Nothing is sent, and no mask is stored.

    Parameters
    ----------
    m : array_like
        A matrix, or a stack.
    k : int
        The last diagonal that is kept; above the main one if positive.

    Returns
    -------
    DistArray
        Of the same shape and dtype.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.tril(dnb.ones((3, 3), int, dist="block")).to_numpy()
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return _triangle(m, k, False)


@stands_for(np.triu, small="exact")
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return a copy of matrices with zeros below a diagonal.

    The result lies as the array. Nothing is sent, and no mask is stored.

    Parameters
    ----------
    m : array_like
        A matrix, or a stack.
    k : int
        The first diagonal that is kept; above the main one if positive.

    Returns
    -------
    DistArray
        Of the same shape and dtype.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.triu(dnb.ones((3, 3), int, dist="block"), 1).to_numpy()
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    return _triangle(m, k, True)


@stands_for(np.tri)
def tri(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: DTypeLike = float,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    like: object = None,
) -> Array:
    """Make a matrix with ones on and below a diagonal, zeros above.

    Each engine makes its own part: nothing is sent.

    Parameters
    ----------
    N : int
        How many rows.
    M : int, optional
        How many columns; by default as many as rows.
    k : int
        Which diagonal; above the main one if positive.
    dtype : dtype
        Element type.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        Of shape ``(N, M)``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.tri(2, 3, dtype=int, dist="block").to_numpy()
    array([[1, 0, 0],
           [1, 1, 0]])
    """
    shape = tuple(max(0, ceil(n)) for n in (N, N if M is None else M))  # as of NumPy's arange
    mask = empty(shape, bool, dist=dist, grid=grid, session=session, like=like)
    if mask.here is not None:
        return array_of(mask.session, np.tri(N, M, k, numeric(dtype)))
    return _below(mask, k).astype(numeric(dtype), copy=False)


# -- diagonals -------------------------------------------------------------------------------------


@stands_for(np.diag)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return a diagonal of a matrix, or a matrix with a diagonal.

    A diagonal is a view, and lies as that of :func:`distnb.diagonal`. A matrix is new, in the
    default layout: each element is sent to where its row is.

    Parameters
    ----------
    v : array_like
        A matrix, or one axis of elements.
    k : int
        Which diagonal; above the main one if positive.

    Returns
    -------
    DistArray
        Of one axis, read-only; or a square matrix.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.diag(dnb.arange(1, 3, dist="block")).to_numpy()
    array([[1, 0],
           [0, 2]])
    """
    x = asarray(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return _with_diagonal(x, operator.index(k))


def _with_diagonal(x: Array, k: int) -> Array:
    """Return a matrix of zeros but for a diagonal: in its memory, one strided view."""
    n = x.size + abs(k)
    layout, size = home((n, n), x.dtype, x.session.size), x.session.size
    if layout.here and x.here is not None:
        return array_of(x.session, np.diag(x.here, k))
    if 16 * n * n <= QUICK:
        found = step(np.diag, _with_diagonal, "exact", (x, k), {})
        if found is not None:
            return found
    layout = default_layout((n, n), size)
    shape, rows = rows_of((n, n), layout)
    flat = create(x.session, shape, x.dtype, rows, ("fill", 0))
    start = k if k > 0 else -k * n
    assign(flat[0, start : start + x.size * (n + 1) : n + 1], x)
    return adopted(flat, (n, n), layout)


@stands_for(np.diagflat)
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return a matrix with all elements of an array on a diagonal.

    It is new, in the default layout: each element is sent to where its row is.

    Parameters
    ----------
    v : array_like
        Its elements are taken in C order.
    k : int
        Which diagonal; above the main one if positive.

    Returns
    -------
    DistArray
        A square matrix.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.diagflat(dnb.array([[1, 2]], dist="block"), 1).to_numpy()
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    return _with_diagonal(ravel(asarray(v)), operator.index(k))


@stands_for(np.fill_diagonal)
def fill_diagonal(a: Array, val: ArrayLike, wrap: bool = False) -> None:
    """Assign to the diagonal of an array, in place.

    Each engine writes what it has of the diagonal. For a number nothing is sent; of several values,
    each goes to where its row is.

    Parameters
    ----------
    a : DistArray
        With at least two axes, of one length if there are more.
    val : array_like
        A number; or values, which are repeated.
    wrap : bool
        Whether the diagonal begins again in a tall matrix, after a row that is left out.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.zeros((2, 2), dist="block")
    ...     dnb.fill_diagonal(a, 5)
    ...     a.to_numpy()
    array([[5., 0.],
           [0., 5.]])
    """
    if written_plain(np.fill_diagonal, a, val, wrap=wrap):
        return
    if written_in_reach("fill_diagonal", np.fill_diagonal, "exact", a, val, wrap):
        return
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    columns = a.shape[1]
    blocks = range(0, a.shape[0], columns + 1) if wrap and a.ndim == 2 and columns else (0,)
    n = sum(min(columns, a.shape[0] - low) for low in blocks)
    one = np.ndim(val) == 0
    if not one and not np.size(val):
        return  # as an assignment of nothing to the flat array
    values: Any = val
    if not one:
        given = val if isinstance(val, Array | np.ndarray) else np.asarray(val, a.dtype)
        values = resize(asarray(given, session=a.session), n)
    many = (slice(None), *(None,) * (a.ndim - 1))
    done = 0
    for low in blocks:
        part = a[low : low + columns]
        few = min(part.shape[:2])
        part = part[:few, :few]
        _fill(part, values if one else values[done : done + few][many])
        done += few


def _fill(x: Array, values: Any) -> None:
    """Assign a number, or a column of numbers, to the diagonal of a square."""
    if not x.size:
        return
    here = x.here is not None
    at = arange(x.shape[0], dist=None if here else "replicated", session=x.session)
    mask = empty_like(x, bool)
    mask[...] = True
    for d in range(1, x.ndim):
        rows, columns = (at[(slice(None), *(None,) * (x.ndim - e - 1))] for e in (0, d))
        elementwise("logical_and", mask, elementwise("equal", rows, columns), out=mask)
    assign(x, values, mask)


# -- indices ---------------------------------------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the diagonal of an array of equal lengths.

    They are in the default layout, made by each engine: nothing is sent.

    Parameters
    ----------
    n : int
        The length of each axis.
    ndim : int
        How many axes.

    Returns
    -------
    tuple of DistArray
        The numbers from 0 to ``n - 1``, for each axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.zeros((2, 2), dist="block")
    ...     a[dnb.diag_indices(2)] = 7
    ...     a.to_numpy()
    array([[7., 0.],
           [0., 7.]])
    """
    return (arange(n),) * ndim


@stands_for(np.diag_indices_from)
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the diagonal of an array.

    They are in the default layout, made by each engine: nothing is sent.

    Parameters
    ----------
    arr : array_like
        With at least two axes, all of one length; only its shape matters.

    Returns
    -------
    tuple of DistArray
        The numbers below that length, for each axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.diag_indices_from(dnb.ones((3, 3), dist="block"))
    ...     rows.to_numpy()
    array([0, 1, 2])
    """
    x = asarray(arr)
    if x.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return (arange(x.shape[0], session=x.session),) * x.ndim


def _matrix(arr: Array) -> Array:
    """Return an array that is a matrix."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return the indices of the lower triangle of a matrix.

    Each engine finds those of its part of a mask, which is in the default layout. How many these
    are is read: this waits.

    Parameters
    ----------
    n : int
        How many rows.
    k : int
        The last diagonal that counts; above the main one if positive.
    m : int, optional
        How many columns; by default as many as rows.

    Returns
    -------
    tuple of DistArray
        Rows and columns, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.tril_indices(2)
    ...     rows.to_numpy(), columns.to_numpy()
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return nonzero(tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return the indices of the upper triangle of a matrix.

    Each engine finds those of its part of a mask, which is in the default layout. How many these
    are is read: this waits.

    Parameters
    ----------
    n : int
        How many rows.
    k : int
        The first diagonal that counts; above the main one if positive.
    m : int, optional
        How many columns; by default as many as rows.

    Returns
    -------
    tuple of DistArray
        Rows and columns, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.triu_indices(2)
    ...     rows.to_numpy(), columns.to_numpy()
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return nonzero(elementwise("logical_not", tri(n, m, k - 1, bool)))


def mask_indices(n: int, mask_func: Callable[..., Any], k: object = 0) -> tuple[Array, ...]:
    """Return the indices of what a function such as :func:`triu` leaves of a matrix of ones.

    Each engine finds those of its part. How many these are is read: this waits.

    Parameters
    ----------
    n : int
        How many rows and columns.
    mask_func : callable
        Gets a matrix and ``k``; what it leaves is not zero.
    k : optional
        What it gets besides.

    Returns
    -------
    tuple of DistArray
        Rows and columns, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.mask_indices(3, dnb.triu, 1)
    ...     rows.to_numpy(), columns.to_numpy()
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    return nonzero(elementwise("not_equal", mask_func(ones((n, n), int), k), 0))


@stands_for(np.tril_indices_from)
def tril_indices_from(arr: Array, k: int = 0) -> tuple[Array, ...]:
    """Return the indices of the lower triangle of a matrix, as :func:`tril_indices`.

    Nothing of the matrix is sent. How many there are is read: this waits.

    Parameters
    ----------
    arr : DistArray
        A matrix; only its shape matters.
    k : int
        The last diagonal that counts; above the main one if positive.

    Returns
    -------
    tuple of DistArray
        Rows and columns, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.tril_indices_from(dnb.ones((2, 2), dist="block"))
    ...     rows.to_numpy(), columns.to_numpy()
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return tril_indices(_matrix(arr).shape[-2], k, arr.shape[-1])


@stands_for(np.triu_indices_from)
def triu_indices_from(arr: Array, k: int = 0) -> tuple[Array, ...]:
    """Return the indices of the upper triangle of a matrix, as :func:`triu_indices`.

    Nothing of the matrix is sent. How many there are is read: this waits.

    Parameters
    ----------
    arr : DistArray
        A matrix; only its shape matters.
    k : int
        The first diagonal that counts; above the main one if positive.

    Returns
    -------
    tuple of DistArray
        Rows and columns, in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.triu_indices_from(dnb.ones((2, 2), dist="block"))
    ...     rows.to_numpy(), columns.to_numpy()
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return triu_indices(_matrix(arr).shape[-2], k, arr.shape[-1])


# -- powers ----------------------------------------------------------------------------------------


@stands_for(np.vander)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803
    """Return the matrix of powers of numbers: those of one number in a row.

    Rows lie as the numbers do, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The numbers, of one axis.
    N : int, optional
        How many powers; by default as many as numbers.
    increasing : bool
        Whether power 0 comes first; by default it is last.

    Returns
    -------
    DistArray
        Of shape ``(len(x), N)``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.vander(dnb.arange(1, 4, dist="block"), 3).to_numpy()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    numbers = asarray(x)
    if numbers.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = numbers.size if N is None else operator.index(N)
    host = numbers.here
    if host is not None and fits(_LARGEST * numbers.size * max(n, 0)):
        return array_of(numbers.session, watched("vander", np.vander, host, n, increasing))
    dtype = np.promote_types(numbers.dtype, int)
    column = numbers[:, None].astype(dtype)
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    if n < 2:
        return ones((numbers.size, n), dtype, session=numbers.session)
    wide = broadcast(column, (numbers.size, n - 1))
    powers = accumulate(np.multiply, wide, 1, dtype)
    first = ones_like(column)
    return concatenate((first, powers) if increasing else (powers[:, ::-1], first), 1)
