"""Arrays as they are asked for: ``copy``, ``asanyarray``, ``require`` and their like."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid, Order
from distnb.client.handle.array import Array
from distnb.client.reach.aliasing import outline
from distnb.client.record.creation import array, asarray, no_scalar
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.client.session.current import received
from distnb.client.session.session import Session
from distnb.common.errors import explain

__all__ = ["from_pickle"]


def from_pickle(elements: np.ndarray | bytes) -> Array:
    """Return the array of elements, or of a pickled ndarray, as arrays were pickled."""
    host = pickle.loads(elements) if isinstance(elements, bytes) else elements
    return asarray(host, session=received())


@stands_for(np.copy)
def copy(a: ArrayLike, order: Order = "K", subok: bool = False) -> Array:
    """Return a copy, as ``numpy.copy``.

    The elements of a distributed array stay where they are; others are sent as by
    :func:`distnb.array`.

    Parameters
    ----------
    a : array_like
        What to copy.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy: that of the elements, which by default is kept of a distributed array.
    subok : bool, optional
        As in NumPy; the result is a DistArray in any case.

    Returns
    -------
    DistArray
        Of the shape of ``a``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(3)
    ...     y = dnb.copy(x)
    ...     y[0] = 9
    ...     x.to_numpy()
    array([0, 1, 2])
    """
    return array(a, order=order)


@stands_for(np.asarray)
def asarray_(
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
    """Make a distributed array, or return the data itself if it is one already.

    As ``numpy.asarray``. Each engine is sent the part that it holds, see :func:`distnb.array`; a
    distributed array is redistributed if another layout is asked for.

    Parameters
    ----------
    a : array_like
        The elements.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy. Elements lie as the layout says, whatever the order.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    copy : bool, optional
        True: always a copy; False: an error if one is needed.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        ``a`` itself where it fits.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.asarray([1, 2, 3], dist="block")
    ...     dnb.asarray(x) is x, x.layout.elements()
    (True, (2, 1))
    """
    found = asarray(
        a,
        dtype,
        order,
        dist=dist,
        grid=grid,
        copy=copy,
        session=session,
        device=device,
        like=like,
    )
    return no_scalar(found, copy) if isinstance(a, Array) else found


@stands_for(np.asanyarray)
def asanyarray(
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
    """Make a distributed array, or return the data itself if it is one already.

    As ``numpy.asanyarray``, which is the same as :func:`distnb.asarray` here: each engine is sent
    the part that it holds.

    Parameters
    ----------
    a : array_like
        The elements.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy. Elements lie as the layout says, whatever the order.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    copy : bool, optional
        True: always a copy; False: an error if one is needed.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        ``a`` itself where it fits.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(3)
    ...     dnb.asanyarray(x) is x
    True
    """
    check_device(device)
    return asarray_(a, dtype, order, dist=dist, grid=grid, copy=copy, session=session, like=like)


@stands_for(np.ascontiguousarray)
def ascontiguousarray(
    a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None
) -> Array:
    """Return an array that is one piece of its base, with an axis at least: itself, or a copy.

    As ``numpy.ascontiguousarray``. A copy of a view stays where the view is, and nothing is sent;
    how elements lie on an engine is for the layout.

    Parameters
    ----------
    a : array_like
        The elements.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        ``a`` itself where NumPy's would be that.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(6)[::2]
    ...     dnb.ascontiguousarray(x).to_numpy()
    array([0, 2, 4])
    """
    return array(asarray(a, dtype, "C", like=like), copy=None, ndmin=1)


@stands_for(np.asfortranarray)
def asfortranarray(a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None) -> Array:
    """Return an array of which NumPy's would be in Fortran's order: itself, or a copy.

    A copy stays where the elements are, and nothing is sent; it is a transposed view of all of its
    base. How elements lie on an engine is for the layout.

    Parameters
    ----------
    a : array_like
        The elements.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        ``a`` itself where NumPy's would be that.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(6)[::2]
    ...     dnb.asfortranarray(x).to_numpy()
    array([0, 2, 4])
    """
    return array(asarray(a, dtype, "F", like=like), copy=None, ndmin=1)


def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike | None = None, order: Order = None) -> Array:
    """Make a distributed array; refuse NaN and infinity, as ``numpy.asarray_chkfinite``.

    Data are sent as by :func:`distnb.asarray`; then it is waited for one truth value.

    Parameters
    ----------
    a : array_like
        The elements.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    order : {'C', 'F', 'A', 'K'}, optional
        As in NumPy. Elements lie as the layout says, whatever the order.

    Returns
    -------
    DistArray
        ``a`` itself where it fits.

    Raises
    ------
    ValueError
        If an element is not finite.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.asarray_chkfinite([1.0, dnb.nan])
    Traceback (most recent call last):
    ...
    ValueError: array must not contain infs or NaNs
    """
    x = asarray_(a, dtype, order)
    if x.dtype.kind in "fc" and not bool(reduce("all", elementwise("isfinite", x))):
        raise ValueError("array must not contain infs or NaNs")
    return x


#: What ``require`` takes, in NumPy's words.
_FLAGS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("A", "ALIGNED"), "A"),
    **dict.fromkeys(("W", "WRITEABLE"), "W"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
    **dict.fromkeys(("E", "ENSUREARRAY"), "E"),
}


@stands_for(np.require)
def require(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    requirements: str | Iterable[str] | None = None,
    *,
    like: object = None,
) -> Array:
    """Return an array of a dtype with what is required of it, as ``numpy.require``.

    A copy is made of a view where ``'C'``, ``'F'`` or ``'O'`` is required, and of what is read-only
    where ``'W'`` is; it stays where the elements are. How elements lie in memory is for the layout.

    Parameters
    ----------
    a : array_like
        The elements.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    requirements : str or sequence of str, optional
        ``'C'``, ``'F'``, ``'A'``, ``'W'``, ``'O'`` or ``'E'``, or NumPy's longer names of them.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        ``a`` itself where it fits.

    Raises
    ------
    KeyError
        For other requirements.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.broadcast_to(dnb.arange(2), (2, 2))
    ...     dnb.require(x, requirements="W").flags.writeable
    True
    """
    word = isinstance(requirements, str) and requirements.upper() in _FLAGS
    asked = [str(requirements)] if word else list(requirements or ())
    unknown = [word for word in asked if word.upper() not in _FLAGS]
    if unknown:
        raise KeyError(explain("requirement", unknown[0], f"one of {list(_FLAGS)}", "drop it"))
    flags = {_FLAGS[word.upper()] for word in asked}
    if {"C", "F"} <= flags:
        raise ValueError('Cannot specify both "C" and "F" order')
    wanted: Order = "F" if "F" in flags else "C" if "C" in flags else None
    x = asarray_(a, dtype, wanted, like=like)
    good = (x.owner is None or "O" not in flags) and (x.writeable or "W" not in flags)
    if good:
        return x
    turned = outline(x).flags.fnc and "O" not in flags  # a copy lies as it
    return x.transpose().copy().transpose() if turned else x.copy()
