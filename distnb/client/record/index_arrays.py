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
    shape = lengths(dimensions)
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
    layout = layout_of_new(whole, kind, at, None)
    if not layout.here or dist is not None or grid is not None:
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
    engines.
    """
    check_device(device)
    at = session_asked(session, like)
    return function(*each_index(lengths(shape), dtype, dist=dist, grid=grid, session=at), **kwargs)


def _in_matrix(N: int, M: int | None = None, *_: Any, **_options: Any) -> int:
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
    """Make a 2-D array with ones on a diagonal and zeros elsewhere."""
    check_device(device)
    order_of(order, among="CF")
    shape = lengths((N, N if M is None else M))
    at = session_asked(session, like)
    row, column = each_index(shape, dist=dist, grid=grid, session=at)
    offset = max(-shape[0], min(operator.index(k), shape[1]))  # beyond these there is nothing
    return elementwise("equal", row + offset, column).astype(numeric(dtype))


@stands_for(np.identity, makes=_in_matrix)
def identity(n: int, dtype: DTypeLike | None = None, **layout: Any) -> Array:
    """Make the identity matrix."""
    return eye(n, dtype=float if dtype is None else dtype, **layout)
