"""Arrays made of their own indices: ``indices``, ``eye`` and what a function makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Dist, Grid, Order, Shape, order_of
from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.indexing import lengths
from distnb.client.record.creation import made, session_asked
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.placement import layout_of_new
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Ints, Layout, in_notebook

__all__ = ["along_axes", "eye", "fromfunction", "identity", "indices"]


def along_axes(
    shape: Ints,
    dtype: DTypeLike | None = int,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> tuple[Array, ...]:
    """Return, for each axis, the array of global indices along it."""
    rows = range(len(shape))
    return tuple(made(shape, dtype, dist, grid, session, ("index", d, 0, 1)) for d in rows)


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
    """Return the global indices along each axis of a shape, as ``numpy.indices``.

    One array holds them all; ``dist=`` and ``grid=`` say how what it holds for one axis lies. With
    ``sparse=True`` these are a tuple of arrays that broadcast against each other.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows, columns = dnb.indices((2, 3))
    ...     (rows * 10 + columns).to_numpy()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    check_device(device)
    shape = lengths(dimensions)
    if sparse:
        single = (tuple(n if d == e else 1 for e, n in enumerate(shape)) for d in range(len(shape)))
        return tuple(
            made(s, dtype, dist, grid, session, ("index", d, 0, 1)) for d, s in enumerate(single)
        )
    at, kind = need(session), numeric(int if dtype is None else dtype)
    one = layout_of_new(shape, kind, at, dist, grid)
    layout = Layout(one.grid, (Whole(), *one.axes), (-1, *one.dims))
    whole = (len(shape), *shape)
    found = create(at, whole, kind, in_notebook(len(whole)) if one.here else layout, ("empty",))
    for d, row in enumerate(along_axes(shape, dtype, dist, grid, at)):
        found[d] = row
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
    engines.
    """
    check_device(device)
    at = session_asked(session, like)
    return function(*along_axes(lengths(shape), dtype, dist, grid, at), **kwargs)


@stands_for(np.eye)
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
    """Make a 2-D array with ones on a diagonal and zeros elsewhere."""
    check_device(device)
    order_of(order, among="CF")
    shape = lengths((N, N if M is None else M))
    row, column = along_axes(shape, int, dist, grid, session_asked(session, like))
    return elementwise("equal", row + operator.index(k), column).astype(numeric(dtype))


@stands_for(np.identity)
def identity(n: int, dtype: DTypeLike | None = None, **layout: Any) -> Array:
    """Make the identity matrix."""
    return eye(n, dtype=float if dtype is None else dtype, **layout)
