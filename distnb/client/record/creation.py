"""Functions that make arrays. All take ``dist=`` and ``grid=`` for the layout (see ``array``)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid, Shape
from distnb.client.handle.array import Array, create, hosted, numeric
from distnb.client.handle.conversion import from_host
from distnb.client.handle.indexing import lengths
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.placement import layout_of_new, stay
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.errors import SessionError, explain
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.wire.protocol import Typed

__all__ = [
    "arange",
    "array",
    "asarray",
    "each_index",
    "empty",
    "empty_like",
    "eye",
    "fromfunction",
    "full",
    "full_like",
    "identity",
    "indices",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def array(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: bool | None = True,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make a distributed array from array-like data.

    Parameters
    ----------
    data : array_like or DistArray
        The elements; each engine is sent only the part that it holds.
    dtype : dtype, optional
        Bool, integer, float or complex; by default that of the data.
    dist : optional
        The layout. None: blocks along the first axis that is at least as long as there are
        engines. ``'replicated'``; ``('engine', r)``: all on one; one word for the first axis or a
        tuple with a word for each: ``'*'`` whole, ``'block'``, ``'cyclic'``, ``('cyclic', k)``
        block-cyclic, ``('irregular', cuts)``; or another array or its ``layout``.
    grid : int or tuple of int, optional
        Engines along each split axis.
    copy : bool or None
        Whether a DistArray that already fits is copied. False: never; then data that are no
        DistArray, or that do not fit, are an error.
    session : Session, optional
        By default the current one.

    Raises
    ------
    TypeError
        For dtypes that are not numeric.
    ValueError
        If a copy would be needed and ``copy`` is False.
    LayoutError
        If the layout does not fit the shape or the number of engines.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.array([[1, 2], [3, 4]], dist=("*", "cyclic"))
    <DistArray (2, 2) int64, * x cyclic on 2 engines, 0.0 MiB>
    """
    check_device(device)
    if isinstance(data, Array):
        if session is not None and session is not data.session:
            raise SessionError(
                explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
            )
        found = _from_dist(data, dtype, dist, grid, bool(copy))
        if copy is False and found is not data:
            raise _no_copy()
        return found
    if copy is False:
        raise _no_copy()
    at = need(session)
    host = np.asarray(data) if dtype is None else np.asarray(data, dtype=numeric(dtype))
    host = host.astype(numeric(host.dtype), copy=False)
    layout = layout_of_new(host.shape, host.dtype, at, dist, grid)
    if layout.here:
        return hosted(at, np.array(host, order="C", copy=True))
    return from_host(at, host, layout)


def _no_copy() -> ValueError:
    return ValueError(
        explain("copy", False, "None or True, as a copy is needed", "leave copy= out")
    )


def _from_dist(data: Array, dtype: DTypeLike | None, dist: Dist, grid: Grid, copy: bool) -> Array:
    found = data if dtype is None or numeric(dtype) == data.dtype else data.astype(dtype)
    if dist is not None or grid is not None:
        return found.redistribute(dist, grid)
    return found.copy() if copy and found is data else found


def asarray(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: bool | None = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make a distributed array, or return the data itself if it is one already; see ``array``."""
    check_device(device)
    return array(data, dtype, dist=dist, grid=grid, copy=copy, session=session)


def _made(
    shape: Shape,
    dtype: DTypeLike | None,
    dist: Dist,
    grid: Grid,
    session: Session | None,
    how: tuple[Any, ...],
) -> Array:
    at, extents = need(session), lengths(shape)
    kind = numeric(float if dtype is None else dtype)
    return create(at, extents, kind, layout_of_new(extents, kind, at, dist, grid), how, stays=True)


def empty(
    shape: Shape,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make an array with undefined content."""
    check_device(device)
    return _made(shape, dtype, dist, grid, session, ("empty",))


def zeros(
    shape: Shape,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make an array of zeros."""
    check_device(device)
    return _made(shape, dtype, dist, grid, session, ("fill", 0))


def ones(
    shape: Shape,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make an array of ones."""
    check_device(device)
    return _made(shape, dtype, dist, grid, session, ("fill", 1))


def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make an array of one value; the dtype is the value's by default."""
    check_device(device)
    if isinstance(fill_value, Array):
        return _filled_from(
            empty(shape, dtype or fill_value.dtype, dist=dist, grid=grid), fill_value
        )
    value = np.asarray(fill_value)
    kind = numeric(value.dtype if dtype is None else dtype)
    if value.ndim:
        at = need(session)
        return _filled_from(empty(shape, kind, dist=dist, grid=grid, session=at), value)
    scalar = np.full(1, fill_value, kind)[0]  # NumPy refuses what cannot be stored
    how = ("fill", Typed(kind.str, scalar.item()))
    return _made(shape, kind, dist, grid, session, how)


def _filled_from(made: Array, value: ArrayLike) -> Array:
    made[...] = value
    return made


def _like(
    prototype: ArrayLike,
    dtype: DTypeLike | None,
    shape: Shape | None,
    dist: Dist,
    how: tuple[Any, ...],
) -> Array:
    """Make an array like another: its shape and dtype, and its elements where the other's are."""
    if not isinstance(prototype, Array):
        prototype = np.asarray(prototype)
        extents = prototype.shape if shape is None else shape
        return _made(extents, dtype or prototype.dtype, dist, None, None, how)
    extents = prototype.shape if shape is None else lengths(shape)
    at = prototype.session
    kind = numeric(prototype.dtype if dtype is None else dtype)
    if dist is None and extents == prototype.shape:
        layout = stay(prototype, kind)
    else:
        layout = layout_of_new(extents, kind, at, dist)
    return create(at, extents, kind, layout, how, stays=True)


@stands_for(np.empty_like)
def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array with undefined content that lies like another."""
    check_device(device)
    return _like(prototype, dtype, shape, dist, ("empty",))


@stands_for(np.zeros_like)
def zeros_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array of zeros that lies like another."""
    check_device(device)
    return _like(prototype, dtype, shape, dist, ("fill", 0))


@stands_for(np.ones_like)
def ones_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array of ones that lies like another."""
    check_device(device)
    return _like(prototype, dtype, shape, dist, ("fill", 1))


@stands_for(np.full_like)
def full_like(
    prototype: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array of one value that lies like another."""
    check_device(device)
    made = _like(prototype, dtype, shape, dist, ("empty",))
    if not isinstance(fill_value, Array):  # NumPy casts its own numbers, and refuses Python's
        fill_value = np.full(np.shape(fill_value), fill_value, made.dtype)
    return _filled_from(made, fill_value)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make evenly spaced numbers in ``[start, stop)``, bit for bit as ``numpy.arange``."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    # NumPy computes the first two numbers and goes on with their difference.
    first = (
        np.arange(start, start + 2 * step, step, dtype=dtype)[:2] if step else np.arange(0, 1, step)
    )
    kind = numeric(
        np.arange(start, stop, step, dtype=dtype)[:0].dtype
        if _short(start, stop, step)
        else first.dtype
    )
    try:
        n = max(0, ceil((stop - start) / step))
    except OverflowError:
        raise ValueError(
            explain("length", (stop - start) / step, "a finite number", "check stop")
        ) from None
    one, two = first.astype({"?": np.int8, "e": np.float32}.get(kind.char, kind))
    low, gap = one.item(), (two - one).item()
    return _made((n,), kind, dist, grid, session, ("index", 0, low, gap))


def _short(start: complex, stop: complex, step: complex) -> bool:
    return float(abs(stop - start)) <= 1000 * float(abs(step))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Any:
    """Make ``num`` evenly spaced numbers from ``start`` to ``stop``, as ``numpy.linspace``."""
    check_device(device)
    n = operator.index(num)
    if n < 0:
        raise ValueError(f"Number of samples, {n}, must be non-negative.")
    parts = n - 1 if endpoint else n
    sample = np.linspace(start, stop, min(n, 2), dtype=dtype)
    working = np.result_type(start, stop, float(n))
    delta = np.subtract(stop, start, dtype=working)
    step = delta / parts if parts > 0 else np.nan
    y = arange(n, dtype=working, dist=dist, grid=grid, session=session)
    y = (y / parts * delta if step == 0 else y * step) if parts > 0 else y * delta
    y = y + start
    if endpoint and n > 1:
        y[-1] = stop
    if sample.dtype.kind in "iu":
        y = elementwise("floor", y)
    y = y.astype(sample.dtype, copy=False)
    return (y, step) if retstep else y


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
            _made(
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
        _made(shape, dtype, dist, grid, session, ("index", d, 0, 1)) for d in range(len(shape))
    )


def fromfunction(
    function: Callable[..., Any],
    shape: Shape,
    *,
    dtype: DTypeLike | None = float,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function with the arrays of global indices, as ``numpy.fromfunction``.

    The function runs in the notebook, on distributed index arrays: what it computes runs on the
    engines.
    """
    check_device(device)
    return function(
        *each_index(lengths(shape), dtype, dist=dist, grid=grid, session=session), **kwargs
    )


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Array:
    """Make a 2-D array with ones on a diagonal and zeros elsewhere."""
    check_device(device)
    shape = lengths((N, N if M is None else M))
    row, column = each_index(shape, dist=dist, grid=grid, session=session)
    return elementwise("equal", row + operator.index(k), column).astype(numeric(dtype))


def identity(n: int, dtype: DTypeLike | None = None, **layout: Any) -> Array:
    """Make the identity matrix."""
    return eye(n, dtype=float if dtype is None else dtype, **layout)
