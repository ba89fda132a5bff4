"""Functions that look at the same elements in another way; nothing is copied or sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import lengths, some_axes
from distnb.client.reach.aliasing import are_related, outline
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.common.errors import explain
from distnb.geometry.views import broadcast_shapes

__all__: list[str] = []


# -- views -------------------------------------------------------------------------------------


@stands_for(np.transpose)
def transpose(a: ArrayLike, axes: Axes = None) -> Array:
    """Return a view with its axes in another order, as ``numpy.transpose``.

    Elements stay where they are, and nothing is sent: each engine holds a transposed part.

    Parameters
    ----------
    a : array_like
        The elements.
    axes : sequence of int, optional
        The axes in their new order; by default reversed.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.transpose(dnb.array([[1, 2], [3, 4]])).to_numpy()
    array([[1, 3],
           [2, 4]])
    """
    return asarray(a).transpose(axes)


def permute_dims(a: ArrayLike, axes: Sequence[SupportsIndex] | None = None) -> Array:
    """Return a view with its axes in another order, as the array API standard has it.

    Elements stay where they are, and nothing is sent: each engine holds a transposed part.

    Parameters
    ----------
    a : array_like
        The elements.
    axes : sequence of int, optional
        The axes in their new order; by default the last one comes first.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.permute_dims(dnb.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return asarray(a).transpose(axes)


@stands_for(np.swapaxes)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Return a view with two axes exchanged, as ``numpy.swapaxes``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    a : array_like
        The elements.
    axis1, axis2 : int
        The axes.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.swapaxes(dnb.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return asarray(a).swapaxes(axis1, axis2)


@stands_for(np.moveaxis)
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """Return a view with axes moved to other places, as ``numpy.moveaxis``.

    Elements stay where they are, and nothing is sent. The other axes keep their order.

    Parameters
    ----------
    a : array_like
        The elements.
    source, destination : int or sequence of int
        Which axes, and to where.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.moveaxis(dnb.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = asarray(a)
    # NumPy moves, and checks, axes of one element that have their numbers for strides
    axes = np.ndarray((1,) * x.ndim, bool, b"\0", 0, tuple(range(x.ndim)))
    return x.transpose(np.moveaxis(axes, source, destination).strides)


@stands_for(np.flip)
def flip(m: ArrayLike, axis: Axes = None) -> Array:
    """Return a view with the elements along axes in reverse order, as ``numpy.flip``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    m : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.flip(dnb.arange(4)).to_numpy()
    array([3, 2, 1, 0])
    """
    x = asarray(m)
    back = slice(None, None, -1)
    if axis is None:
        return x[(back,) * x.ndim]
    axes = some_axes(axis, x.ndim)
    return x[tuple([back if d in axes else slice(None) for d in range(x.ndim)])]


@stands_for(np.expand_dims)
def expand_dims(a: ArrayLike, axis: Axes) -> Array:
    """Return a view with new axes of length 1, as ``numpy.expand_dims``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int
        Where the axes are in the result.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.expand_dims(dnb.arange(4), (0, 2)).shape
    (1, 4, 1)
    """
    x = asarray(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    view = x.dview
    for d in sorted(some_axes(tuple(given), x.ndim + len(given))):
        view = view.insert(d)
    return x.alias(view)


@stands_for(np.squeeze)
def squeeze(a: ArrayLike, axis: Axes = None) -> Array:
    """Return a view without axes of length 1, as ``numpy.squeeze``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Which of these axes; by default all.

    Returns
    -------
    DistArray
        A view.

    Raises
    ------
    ValueError
        If an axis has another length.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.squeeze(dnb.ones((1, 3, 1))).shape
    (3,)
    """
    given: Any = a
    return given.squeeze(axis) if isinstance(a, np.generic) else asarray(a).squeeze(axis)


@stands_for(np.broadcast_to)
def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> Array:
    """Return a view stretched to a shape, as ``numpy.broadcast_to``; it cannot be written.

    Elements stay where they are, and nothing is sent: each is held once.

    Parameters
    ----------
    array : array_like
        The elements.
    shape : int or tuple of int
        Lengths of the axes.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.

    Returns
    -------
    DistArray
        A view.

    Raises
    ------
    ValueError
        If it does not stretch to the shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.broadcast_to(dnb.arange(2), (3, 2)).to_numpy()
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    x = asarray(array)
    wanted = lengths(shape)
    try:
        good = broadcast_shapes(x.shape, wanted) == wanted
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            explain(
                "broadcast_to", f"shape {x.shape}", f"one that stretches to {wanted}", "reshape"
            )
        )
    return x.alias(x.dview.broadcast(wanted), writeable=False)


@stands_for(np.broadcast_arrays)
def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[Array, ...]:
    """Return views of one shape, as ``numpy.broadcast_arrays``; they cannot be written.

    Elements stay where they are, and nothing is sent: each is held once. Arrays that have one shape
    already are returned as they are, and can be written.

    Parameters
    ----------
    *args : array_like
        The arrays.
    subok : bool, optional
        As in NumPy; results are DistArrays in any case.

    Returns
    -------
    tuple of DistArray
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x, y = dnb.broadcast_arrays(dnb.arange(2), [[10], [20]])
    ...     x.shape, y.shape
    ((2, 2), (2, 2))
    """
    arrays = [asarray(a) for a in args]
    shape = broadcast_shapes(*(a.shape for a in arrays))
    if all(a.shape == shape for a in arrays):
        return tuple(arrays)
    return tuple(broadcast_to(a, shape) for a in arrays)


def _outlines(a: ArrayLike, b: ArrayLike) -> tuple[np.ndarray, np.ndarray] | None:
    """Return how two arrays of one memory lie in it, as NumPy's would; None of all others."""
    if not (isinstance(a, Array) and isinstance(b, Array)):
        here = tuple([x.here if isinstance(x, Array) else x for x in (a, b)])
        both = all(isinstance(x, np.ndarray) for x in here)
        return cast(tuple[np.ndarray, np.ndarray], here) if both else None
    if a.dbase is not b.dbase and not are_related(a.dbase, b.dbase):
        return None
    return outline(a), outline(b)


@stands_for(np.shares_memory)
def shares_memory(a: ArrayLike, b: ArrayLike, max_work: int | None = None) -> bool:
    """Tell whether two arrays have an element in common, exactly, as ``numpy.shares_memory``.

    The notebook knows it of the views: nothing is sent.

    Parameters
    ----------
    a, b : array_like
        The arrays; NumPy's share memory with those in the notebook alone.
    max_work : int, optional
        As in NumPy; of views of one array it is always found out, unless 0 is given.

    Returns
    -------
    bool
        In the notebook.

    Raises
    ------
    numpy.exceptions.TooHardError
        If it takes more work than allowed.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(6)
    ...     dnb.shares_memory(x[::2], x[2:]), dnb.shares_memory(x[::2], x[1::2])
    (True, False)
    """
    if isinstance(a, Array) and isinstance(b, Array) and a.dbase is b.dbase and max_work != 0:
        return a.dview.meets(b.dview)
    both = _outlines(a, b)
    run: Callable[..., bool] = np.shares_memory  # whose stub leaves out max_work=None
    return both is not None and run(*both, max_work)


@stands_for(np.may_share_memory)
def may_share_memory(a: ArrayLike, b: ArrayLike, max_work: int | None = None) -> bool:
    """Tell whether two arrays may have an element in common, as ``numpy.may_share_memory``.

    That is so where the stretches of memory overlap in which NumPy's would lie. Nothing is sent.
    What NumPy gets of an array on engines cannot be written, as if it shared memory with it: who
    asks is about to write into it, and copies it first.

    Parameters
    ----------
    a, b : array_like
        The arrays; NumPy's share memory with those in the notebook.
    max_work : int, optional
        As in NumPy: how much work to do to find out more.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(6)
    ...     dnb.may_share_memory(x[::2], x[1::2]), dnb.may_share_memory(x[:3], x[3:])
    (True, False)
    """
    both = _outlines(a, b)
    run: Callable[..., bool] = np.may_share_memory
    return _is_read_only_beside(a, b) if both is None else run(*both, max_work)


def _is_read_only_beside(*both: ArrayLike) -> bool:
    """Tell whether one of NumPy's arrays that cannot be written is beside one on engines."""
    there = [x for x in both if isinstance(x, Array)]
    numpys = [x for x in both if isinstance(x, np.ndarray) and not x.flags.writeable]
    return bool(there and numpys) and there[0].dtype == numpys[0].dtype
