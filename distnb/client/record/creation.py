"""Functions that make arrays. All take ``dist=`` and ``grid=`` for the layout (see ``array``)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import from_users_line
from distnb.client.handle.arguments import Dist, Grid, Order, Shape, order_of
from distnb.client.handle.array import Array, create, hosted, numeric
from distnb.client.handle.conversion import Readable, array_of, from_host, together
from distnb.client.handle.fields import at_hand, fits, fresh
from distnb.client.handle.indexing import lengths
from distnb.client.reach.aliasing import outline
from distnb.client.reach.kept_order import axes_in, in_their_order
from distnb.client.reach.small_steps import like
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.placement import layout_of_new, stay
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import SessionError, explain, quoted
from distnb.common.interrupts import interrupts
from distnb.geometry.layout import Ints
from distnb.ops.scalars import STORABLE
from distnb.wire.protocol import Typed

__all__ = [
    "array",
    "asarray",
    "copy_asked",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "made",
    "ones",
    "ones_like",
    "refuse_masked",
    "session_asked",
    "unset_like",
    "zeros",
    "zeros_like",
]


@stands_for(np.array)
def array(
    object: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: bool | None = True,
    order: Order = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make a distributed array from array-like data.

    Each engine is sent only the part that it holds; where it shares memory with the notebook, it
    finds the part there. Without ``dist`` and ``grid``, what is below the cutoff stays in the
    notebook.

    Parameters
    ----------
    object : array_like or DistArray
        The elements.
    dtype : dtype, optional
        Bool, integer, float or complex; by default that of the data.
    dist : bool, str, tuple, DistArray or layout, optional
        The layout. None: blocks along the first axis that is at least as long as there are engines.
        ``'replicated'``; ``('engine', r)``: all on one; one word for the first axis or a tuple with
        a word for each: ``'*'`` whole, ``'block'``, ``'cyclic'``, ``('cyclic', k)`` block-cyclic,
        ``('irregular', cuts)``; or another array or its ``layout``. True: spread as for None,
        however small it is; False: not spread, in the notebook however large it is.
    grid : int or tuple of int, optional
        Engines along each split axis.
    copy : bool or None
        Whether a DistArray that already fits is copied. False: never; then data that are no
        DistArray, or that do not fit, are an error.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy for a DistArray: by default the axes have the order that those of a transposed
        one have (K). A copy of other data is in C order.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.
    ndmin : int
        The least number of axes: those that are missing come first, of length 1.
    ndmax : int
        The largest depth of lists that is taken for axes; elements that are lists are refused.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        Of the shape of the data.

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
    [[1 2]
     [3 4]]
    (2, 2) int64, 32 B, columns in turn on 2 engines
    """
    found = None
    if copy is True and order == "K" and not ndmax and _unasked(dist, grid, session, device, like):
        found = _at_once(object, dtype)
    if found is None:
        check_device(device)
        wanted = order_of(order)
        if ndmax and not isinstance(object, Array):
            numpys: Any = np.array
            object = numpys(object, dtype, copy=None, ndmax=ndmax)
        found = _from_data(object, dtype, dist, grid, copy, session_asked(session, like))
        if isinstance(object, Array):
            found = no_scalar(in_order(found, wanted, copy), copy)
    if ndmin and found.ndim < ndmin:
        return found[(*(None,) * (ndmin - found.ndim), ...)]
    return found


def session_asked(session: Session | None, like: object) -> Session | None:
    """Return the session that is asked for, by itself or by an array in it."""
    return like.session if session is None and isinstance(like, Array) else session


def copy_asked(copy: object) -> bool | None:
    """Return what ``copy=`` asks for: True, False, or None where it is needed."""
    if isinstance(copy, str):
        raise ValueError(explain("copy", quoted(copy), "True, False or None", "use one of these"))
    return None if copy is None or copy is np._CopyMode.IF_NEEDED else bool(copy)


def no_scalar(x: Array, copy: object = None) -> Array:
    """Return an array also of a scalar, which is one of its own: that can be written."""
    if not x.single or x.shape:
        return x
    if copy_asked(copy) is False:
        raise _no_copy()
    found = x.copy()
    found.single = False
    return found


def in_order(x: Array, order: str, copy: object = None) -> Array:
    """Return an array whose elements lie in an order, as NumPy's would: itself, or a copy.

    In Fortran's order lies what is a transposed view of all of its base.
    """
    if order not in "CF":
        return x
    flags = outline(x).flags
    if flags.f_contiguous if order == "F" else flags.c_contiguous:
        return x
    if copy_asked(copy) is False:
        raise _no_copy()
    return x.copy(order)


def _from_data(
    data: ArrayLike,
    dtype: DTypeLike | None,
    dist: Dist,
    grid: Grid,
    copy: bool | None,
    session: Session | None,
) -> Array:
    copy = copy_asked(copy)
    if isinstance(data, Array):
        if session is not None and session is not data.session:
            raise SessionError(
                explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
            )
        found = _from_dist(data, dtype, dist, grid, bool(copy))
        if copy is False and found is not data:
            raise _no_copy()
        return found
    if isinstance(data, Readable):
        found = data.__distarray__(session) if copy is False else data.as_array(session)
        return _from_dist(found, dtype, dist, grid, copy=False)
    if copy is False:
        raise _no_copy()
    at = need(session)
    given: Any = data
    if not isinstance(data, np.ndarray | np.generic) and hasattr(type(data), "__array__"):
        given = given.__array__()  # which may be written with our functions
        if isinstance(given, Array):
            return _from_data(given, dtype, dist, grid, copy, session)
    refuse_masked(given)
    if hasattr(type(given), "__distnb_methods__"):
        do = "use a method of its own, or .toarray()"
        raise TypeError(explain("array", type(given).__name__, "a dense array", do))
    listed = _of_arrays(given, dtype)
    if listed is not None:
        return _from_data(listed, None, dist, grid, None, session)
    host = _as_host(given, dtype)
    layout = layout_of_new(host.shape, host.dtype, at, dist, grid)
    if layout.here:
        return hosted(at, np.array(host, order="C", copy=True))
    return from_host(at, host, layout)


def _as_host(given: Any, dtype: DTypeLike | None) -> np.ndarray:
    """Return NumPy's array of what is given, of a dtype that arrays can have."""
    if dtype is None:
        host = np.asarray(given)
        return host.astype(numeric(host.dtype), copy=False)
    wanted = numeric(dtype)
    if isinstance(given, np.ndarray) and not np.can_cast(given.dtype, wanted):
        return cast(np.ndarray, from_users_line(np.asarray, given, wanted))  # which may warn
    return np.asarray(given, dtype=wanted)


def refuse_masked(given: object) -> None:
    """Raise TypeError for an array of NumPy's of which a mask hides elements."""
    if type(given) is not np.ndarray and isinstance(given, np.ndarray) and np.ma.is_masked(given):
        raise TypeError(
            explain("elements", "a masked array", "elements that are there", "use .filled(value)")
        )


#: Types of what NumPy reads item by item, and Python's numbers.
_LISTS, _NUMBERS = frozenset((list, tuple)), frozenset((bool, int, float, complex))
#: Bytes of an array from which engines take it to others in a list: it is a command for each.
_LARGE = 1 << 16


def _unasked(*options: object) -> bool:
    """Tell whether nothing is asked for."""
    for x in options:  # noqa: SIM110 - half the time of all()
        if x is not None:
            return False
    return True


def _at_once(data: object, dtype: DTypeLike | None) -> Any:
    """Return the array of a number or a list, or a copy of one in reach; None of what is odd."""
    made, kind = Array.made, type(data)
    items: Any = data
    if kind in _LISTS:
        found = _of_arrays(data, dtype)
        if found is not None:
            return found
        items = [_read_here(x) if type(x) is made else x for x in items]
    elif kind not in _NUMBERS:
        return like(items, np.ndarray.copy, "K") if kind is made and dtype is None else None
    try:
        host = np.array(items, dtype)
    except Exception as error:
        if interrupts(error):
            raise
        return None  # what is wrong is said by who reads it otherwise
    if host.dtype not in STORABLE:
        return None
    return fresh(need(None), host, None) if fits(host.nbytes) else array_of(need(None), host)


def _of_arrays(data: Any, dtype: DTypeLike | None) -> Any:
    """Return the array of a list of large arrays on engines, made there; None of anything else."""
    first, many = data, 1
    while type(first) in _LISTS and first:
        first, many = first[0], many * len(first)
    if type(first) is not Array.made or at_hand(first) is not None or first.here is not None:
        return None
    large = first.nbytes >= min(_LARGE, config.cutoff) and first.nbytes * many > config.cutoff
    return together(data, dtype) if large else None


def _read_here(x: Array) -> Any:
    """Return the elements of an array if they are in the notebook, else the array itself."""
    here = at_hand(x)
    here = x.here if here is None else here
    return x if here is None else here


def _no_copy() -> ValueError:
    return ValueError(
        explain("copy", False, "None or True, as a copy is needed", "leave copy= out")
    )


def _from_dist(data: Array, dtype: DTypeLike | None, dist: Dist, grid: Grid, copy: bool) -> Array:
    found = data if dtype is None or numeric(dtype) == data.dtype else data.astype(dtype)
    if dist is not None or grid is not None:
        return found.redistribute(dist, grid)
    if copy:
        found = found.copy("K") if found is data else found
        found.single = False  # an array, also of a scalar
    return found


def asarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: bool | None = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Return data as a distributed array; what is one, or a scalar on engines, as it is.

    See :func:`distnb.asarray`, of which scalars are arrays.
    """
    if copy is None and _unasked(dist, grid, session, device, like, order):
        if isinstance(a, Array) and dtype is None:
            return a
        found = _at_once(a, dtype)
        if found is not None:
            return found
    check_device(device)
    wanted = "K" if order is None else order_of(order)
    at = session if like is None else session_asked(session, like)
    found = _from_data(a, dtype, dist, grid, copy, at)
    return in_order(found, wanted, copy) if isinstance(a, Array) else found


def made(
    shape: Shape,
    dtype: DTypeLike | None,
    dist: Dist,
    grid: Grid,
    session: Session | None,
    how: tuple[Any, ...],
    order: Order = "C",
    like: object = None,
) -> Array:
    """Make an array as engines fill it: ``how`` is as in :class:`distnb.wire.protocol.Create`."""
    at, extents = need(session_asked(session, like)), lengths(shape)
    kind = numeric(float if dtype is None else dtype)
    if order_of(order, among="CF") == "F" and len(extents) > 1 and dist is None and grid is None:
        turned: Array = made(extents[::-1], kind, None, None, at, how).transpose()
        turned._owner = None  # it is no view of the user's
        return turned
    return create(at, extents, kind, layout_of_new(extents, kind, at, dist, grid), how, stays=True)


def _in_shape(shape: Any, *_: object, **_options: object) -> float:
    """Return the number of elements in a shape; a truth value is no length."""
    if type(shape) is bool:
        return inf
    return prod(shape) if type(shape) is tuple or type(shape) is list else shape


@stands_for(np.empty, makes=_in_shape)
def empty(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make an array whose elements are not set, as ``numpy.empty``.

    Engines make room for their parts, and nothing is sent. Without ``dist`` and ``grid``, what is
    below the cutoff stays in the notebook.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    order : {'C', 'F'}, optional
        As in NumPy; ``'F'``: a transposed view, whose columns are in blocks without ``dist``.
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
        Of this shape; by default of floats.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.empty((6, 4), dist="block").layout.elements()
    (12, 12)
    """
    check_device(device)
    return made(shape, dtype, dist, grid, session, ("empty",), order, like)


@stands_for(np.zeros, makes=_in_shape)
def zeros(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make an array of zeros, as ``numpy.zeros``.

    Engines fill their parts, or the notebook up to 8 MB in memory that they share, and nothing is
    sent. Without ``dist`` and ``grid``, what is below the cutoff stays in the notebook.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    order : {'C', 'F'}, optional
        As in NumPy; ``'F'``: a transposed view, whose columns are in blocks without ``dist``.
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
        Of this shape; by default of floats.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.zeros((2, 2), dist=("*", "block"))
    [[0. 0.]
     [0. 0.]]
    (2, 2) float64, 32 B, columns in blocks on 2 engines
    """
    check_device(device)
    return made(shape, dtype, dist, grid, session, ("fill", 0), order, like)


@stands_for(np.ones, makes=_in_shape)
def ones(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make an array of ones, as ``numpy.ones``.

    Engines fill their parts, or the notebook up to 8 MB in memory that they share, and nothing is
    sent. Without ``dist`` and ``grid``, what is below the cutoff stays in the notebook.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    order : {'C', 'F'}, optional
        As in NumPy; ``'F'``: a transposed view, whose columns are in blocks without ``dist``.
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
        Of this shape; by default of floats.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.ones((2, 2), dist=("*", "block"))
    [[1. 1.]
     [1. 1.]]
    (2, 2) float64, 32 B, columns in blocks on 2 engines
    """
    check_device(device)
    return made(shape, dtype, dist, grid, session, ("fill", 1), order, like)


@stands_for(np.full, makes=_in_shape)
def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make an array of one value, as ``numpy.full``.

    Engines fill their parts with a number, and nothing is sent; values that are an array are
    assigned. Without ``dist`` and ``grid``, what is below the cutoff stays in the notebook.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    fill_value : array_like
        The value, or values that are broadcast.
    dtype : dtype, optional
        Of the result; by default that of the value.
    order : {'C', 'F'}, optional
        As in NumPy; ``'F'``: a transposed view, whose columns are in blocks without ``dist``.
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
        Of this shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.full((2, 2), 7).to_numpy()
    array([[7, 7],
           [7, 7]])
    """
    check_device(device)
    at = session_asked(session, fill_value if isinstance(fill_value, Array) else like)
    if isinstance(fill_value, Array):
        kind = fill_value.dtype if dtype is None else numeric(dtype)
        return _filled_from(made(shape, kind, dist, grid, at, ("empty",), order), fill_value)
    value = np.asarray(fill_value)
    kind = numeric(value.dtype if dtype is None else dtype)
    if value.ndim:
        return _filled_from(made(shape, kind, dist, grid, at, ("empty",), order), value)
    scalar = np.full(1, fill_value, kind)[0]  # NumPy refuses what cannot be stored
    how = ("fill", Typed(kind.str, scalar.item()))
    return made(shape, kind, dist, grid, at, how, order)


def _filled_from(made: Array, value: ArrayLike) -> Array:
    if isinstance(value, Array) and value.single:  # a number is cast here, as by NumPy
        value = value.astype(made.dtype)
    made[...] = value
    return made


def _has_axes_of(prototype: Array, shape: Ints | None, order: str) -> bool:
    """Tell whether an array of a shape that is asked for lies as its prototype may ask."""
    return shape is None or (order == "K" and len(shape) == prototype.ndim)


def _like(
    prototype: ArrayLike,
    dtype: DTypeLike | None,
    shape: Shape | None,
    dist: Dist,
    how: tuple[Any, ...],
    small: Callable[..., np.ndarray],
    order: Order,
) -> Array:
    """Make an array like another: its shape and dtype, and its elements where the other's are.

    ``small`` is NumPy's function for those in reach. What is like a transposed array is transposed.
    """
    wanted = order_of(order, "K")
    asked = None if shape is None else lengths(shape)
    if dist is None and asked is None and isinstance(prototype, Array):
        found = like(prototype, small, None if dtype is None else numeric(dtype), wanted)
        if found is not None:
            return found
    if dist is None and isinstance(prototype, Array) and _has_axes_of(prototype, asked, wanted):
        axes = axes_in(prototype, wanted)
        if axes:
            inner = asked and tuple([asked[d] for d in axes])
            run = lambda x: _like(x, dtype, inner, None, how, small, "C")  # noqa: E731
            return in_their_order(run, (prototype,), axes)
    at = prototype.session if isinstance(prototype, Array) else None
    shown = outline(prototype) if isinstance(prototype, Array) else np.asarray(prototype)
    extents = shown.shape if asked is None else asked
    turned = shown.flags.f_contiguous and not shown.flags.c_contiguous
    kept = wanted == "A" or (wanted == "K" and len(extents) == shown.ndim)
    lies: Order = "F" if wanted == "F" or (kept and turned) else "C"
    if not isinstance(prototype, Array) or (lies == "F" and shape is not None):
        return made(extents, dtype or shown.dtype, dist, None, at, how, lies)
    kind = numeric(prototype.dtype if dtype is None else dtype)
    if dist is None and extents == prototype.shape:
        layout = stay(prototype, kind)
    else:
        layout = layout_of_new(extents, kind, prototype.session, dist)
    return create(prototype.session, extents, kind, layout, how, stays=True)


def unset_like(x: Array, dtype: DTypeLike | None = None) -> Array:
    """Make what :func:`empty_like` does, for a function that goes on to have engines write it.

    It has no place in the shared segment until the batch is sent, and none at all if it is gone by
    then: a loop that is far ahead of the engines would take one for each result of each round.
    """
    kind = x.dtype if dtype is None else np.dtype(dtype)
    run = lambda x: create(x.session, x.shape, kind, stay(x, kind), ("empty",))  # noqa: E731
    return in_their_order(run, (x,), axes_in(x, "K"))


@stands_for(np.empty_like)
def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array whose elements are not set and that lies like another, as ``numpy.empty_like``.

    Engines make room for their parts, and nothing is sent: it is aligned with the other one. With
    another shape it lies as a new array.

    Parameters
    ----------
    prototype : array_like
        What it is like.
    dtype : dtype, optional
        Of the result; by default that of ``prototype``.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy: of C, of Fortran, or that of a ``prototype`` that is transposed (K, and A of
        one that lies as Fortran's), a transposed view; with ``dist``, of C.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.
    shape : int or tuple of int, optional
        Lengths of the axes; by default those of ``prototype``.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray
        Of the shape of ``prototype``, or of this one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.ones(5, dist="cyclic")
    ...     dnb.empty_like(x).layout == x.layout
    True
    """
    check_device(device)
    return _like(prototype, dtype, shape, dist, ("empty",), np.empty_like, order)


@stands_for(np.zeros_like)
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array of zeros that lies like another, as ``numpy.zeros_like``.

    Engines fill their parts, and nothing is sent: it is aligned with the other one. With another
    shape it lies as a new array.

    Parameters
    ----------
    a : array_like
        What it is like.
    dtype : dtype, optional
        Of the result; by default that of ``a``.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy: of C, of Fortran, or that of ``a`` if it is transposed (K, and A of
        one that lies as Fortran's), a transposed view; with ``dist``, of C.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.
    shape : int or tuple of int, optional
        Lengths of the axes; by default those of ``a``.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray
        Of the shape of ``a``, or of this one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.zeros_like(dnb.arange(3, dist="cyclic"))
    [0 0 0]
    (3,) int64, 24 B, elements in turn on 2 engines
    """
    check_device(device)
    return _like(a, dtype, shape, dist, ("fill", 0), np.zeros_like, order)


@stands_for(np.ones_like)
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array of ones that lies like another, as ``numpy.ones_like``.

    Engines fill their parts, and nothing is sent: it is aligned with the other one. With another
    shape it lies as a new array.

    Parameters
    ----------
    a : array_like
        What it is like.
    dtype : dtype, optional
        Of the result; by default that of ``a``.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy: of C, of Fortran, or that of ``a`` if it is transposed (K, and A of
        one that lies as Fortran's), a transposed view; with ``dist``, of C.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.
    shape : int or tuple of int, optional
        Lengths of the axes; by default those of ``a``.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray
        Of the shape of ``a``, or of this one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.ones_like(dnb.arange(3, dist="cyclic"))
    [1 1 1]
    (3,) int64, 24 B, elements in turn on 2 engines
    """
    check_device(device)
    return _like(a, dtype, shape, dist, ("fill", 1), np.ones_like, order)


@stands_for(np.full_like, small="home")
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> Array:
    """Make an array of one value that lies like another, as ``numpy.full_like``.

    Engines fill their parts: it is aligned with the other one, and only values that are an array
    are sent. With another shape it lies as a new array.

    Parameters
    ----------
    a : array_like
        What it is like.
    fill_value : array_like
        The value, or values that are broadcast.
    dtype : dtype, optional
        Of the result; by default that of ``a``.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy: of C, of Fortran, or that of ``a`` if it is transposed (K, and A of
        one that lies as Fortran's), a transposed view; with ``dist``, of C.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.
    shape : int or tuple of int, optional
        Lengths of the axes; by default those of ``a``.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray
        Of the shape of ``a``, or of this one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.full_like(dnb.arange(3), 7).to_numpy()
    array([7, 7, 7])
    """
    check_device(device)
    order_of(order)
    found = _like(a, dtype, shape, dist, ("empty",), np.empty_like, order)
    if not isinstance(fill_value, Array):  # NumPy casts its own numbers, and refuses Python's
        fill_value = np.full(np.shape(fill_value), fill_value, found.dtype)
    return _filled_from(found, fill_value)
