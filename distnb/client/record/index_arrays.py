"""Arrays made of their own indices: ``indices``, ``eye`` and what a function makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Dist, Grid, Order, Shape, order_of
from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.indexing import lengths
from distnb.client.reach.decorators import makes_at_home
from distnb.client.reach.whole_functions import made as made_at_home
from distnb.client.record.creation import made, session_asked
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.placement import layout_of_new
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Ints, Layout, default_layout

__all__ = ["each_index", "eye", "fromfunction", "identity", "indices"]


def each_index(
    shape: Ints,
    dtype: DTypeLike | None = int,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> tuple[Array, ...]:
    """Return, for each axis, the array of global indices along it: arrays of their own."""
    return tuple(
        made(shape, dtype, dist, grid, session, ("index", d, 0, 1)) for d in range(len(shape))
    )


def _check_count(shape: Ints, dtype: DTypeLike | None) -> None:
    """Raise NumPy's error for a dtype that cannot count so far: bool has two numbers."""
    for n in shape:
        np.arange(min(n, 3), dtype=dtype)


def _in_grid(dimensions: Sequence[int], dtype: DTypeLike | None = int) -> int:
    """Return the number of elements of all indices; of sparse ones there are several arrays."""
    return len(dimensions) * prod(dimensions)


@makes_at_home(np.indices, _in_grid)
def indices(
    dimensions: Sequence[int],
    dtype: DTypeLike | None = int,
    sparse: bool = False,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Any:
    """Return, for each axis, the global indices along it, as ``numpy.indices``.

    They are one array with an axis in front, that of the axes, which is whole; ``dist`` says how
    each of them lies. With ``sparse`` they are a tuple of arrays of length 1 along other axes.
    Engines fill their parts, and nothing is sent.

    Parameters
    ----------
    dimensions : sequence of int
        Lengths of the axes.
    dtype : dtype
        Of the indices.
    sparse : bool
        Whether to return arrays that broadcast to the whole ones.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray, or a tuple of one for each axis
        Of the shape ``(len(dimensions), *dimensions)``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.indices((2, 2)).to_numpy()
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    check_device(device)
    shape = lengths(tuple(dimensions))
    _check_count(shape, dtype)
    if sparse:
        return tuple(
            made(
                tuple(n if d == e else 1 for e, n in enumerate(shape)),
                *(dtype, dist, grid, session, ("index", d, 0, 1)),
            )
            for d in range(len(shape))
        )
    at, kind = need(session), numeric(float if dtype is None else dtype)
    whole = (len(shape), *shape)
    spread = dist is not False
    layout = layout_of_new(whole, kind, at, None if spread else dist)
    if not layout.here or (dist is not None and spread) or grid is not None:
        each = layout_of_new(shape, kind, at, dist, grid)
        each = default_layout(shape, at.size) if each.here else each
        layout = Layout(each.grid, (Whole(), *each.axes), (-1, *each.dims))
    found = create(at, whole, kind, layout, ("empty",), stays=True)
    for d, given in enumerate(each_index(shape, dtype, dist=dist, grid=grid, session=at)):
        found[d] = given
    return found


@stands_for(np.fromfunction)
def fromfunction(
    function: Callable[..., Any],
    shape: Shape,
    *,
    dtype: DTypeLike | None = float,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
    **kwargs: Any,
) -> Any:
    """Call a function with the arrays of global indices, as ``numpy.fromfunction``.

    The function runs in the notebook, on distributed index arrays: what it computes runs on the
    engines, and lies as they do.

    Parameters
    ----------
    function : callable
        Called with an array of indices for each axis, and ``kwargs``.
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype
        Of the indices.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    like : DistArray, optional
        An array whose session is used.
    **kwargs
        What the function gets besides.

    Returns
    -------
    object
        What the function returns.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int).to_numpy()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    check_device(device)
    size = lengths(shape)
    if all(x is None for x in (dist, grid, session, like)):  # as in NumPy, views of one array
        found = made_at_home(np.indices, _in_grid, (size, dtype), {})
        if found is not None:
            return function(*found, **kwargs)
    at = session_asked(session, like)
    _check_count(size, dtype)
    return function(*each_index(size, dtype, dist=dist, grid=grid, session=at), **kwargs)


def _in_matrix(N: int, M: int | None = None, *_: object, **_options: object) -> int:
    """Return the number of elements in a matrix; an identity's has the order in the first place."""
    return N * (M if type(M) is int else N)


@stands_for(np.eye, makes=_in_matrix)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = float,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make a matrix with ones on a diagonal and zeros elsewhere, as ``numpy.eye``.

    Engines compute their parts from indices, and nothing is sent. Without ``dist`` and ``grid``,
    what is below the cutoff stays in the notebook.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns; by default as many.
    k : int
        Which diagonal: above the main one, or below if negative.
    dtype : dtype
        Of the result.
    order : {'C', 'F'}, optional
        As in NumPy. Elements lie as the layout says, whatever the order.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        Of the shape ``(N, M)``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.eye(2, 3, k=1).to_numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    check_device(device)
    order_of(order, among="CF")
    shape = lengths((N, N if M is None else M))
    at = session_asked(session, like)
    row, column = each_index(shape, dist=dist, grid=grid, session=at)
    offset = max(-shape[0], min(operator.index(k), shape[1]))  # beyond these there is nothing
    return elementwise("equal", row + offset, column).astype(numeric(dtype))


@stands_for(np.identity, makes=_in_matrix)
def identity(n: int, dtype: DTypeLike | None = None, **layout: Any) -> Array:
    """Make the identity matrix, as ``numpy.identity``.

    Engines compute their parts from indices, and nothing is sent.

    Parameters
    ----------
    n : int
        Number of rows, and of columns.
    dtype : dtype, optional
        Of the result; by default floats.
    **layout
        ``dist``, ``grid``, ``session``, ``device`` and ``like``, as in :func:`distnb.eye`.

    Returns
    -------
    DistArray
        Of the shape ``(n, n)``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.identity(2, dist=("*", "block"))
    [[1. 0.]
     [0. 1.]]
    (2, 2) float64, 32 B, columns in blocks on 2 engines
    """
    return eye(n, dtype=float if dtype is None else dtype, **layout)
