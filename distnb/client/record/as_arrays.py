"""Arrays as they are asked for: ``copy``, ``asanyarray``, ``require`` and their like."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid, Order
from distnb.client.handle.array import Array, is_whole
from distnb.client.record.creation import array, asarray
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.client.session.session import Session
from distnb.common.errors import explain

__all__ = ["from_pickle"]


def from_pickle(text: bytes) -> Array:
    """Return the array of a pickled ndarray, as arrays have made it that were pickled."""
    return asarray(pickle.loads(text))


@stands_for(np.copy)
def copy(a: ArrayLike, order: Order = "K", subok: bool = False) -> Array:
    """Return a copy; the elements of a distributed array stay where they are."""
    return array(a, order=order)


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
    """Make a distributed array, or return the data itself, as :func:`distnb.asarray`."""
    check_device(device)
    return asarray(a, dtype, order, dist=dist, grid=grid, copy=copy, session=session, like=like)


@stands_for(np.ascontiguousarray)
def ascontiguousarray(
    a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None
) -> Array:
    """Return an array that is all of its base, with an axis at least: itself, or a copy."""
    x = asarray(a, dtype, like=like)
    return array(x if is_whole(x) else x.copy(), copy=None, ndmin=1)


@stands_for(np.asfortranarray)
def asfortranarray(a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None) -> Array:
    """Return an array that is all of its base, as :func:`distnb.ascontiguousarray`.

    How its elements lie in memory is for the layout.
    """
    return ascontiguousarray(a, dtype, like=like)


def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike | None = None, order: Order = None) -> Array:
    """Make a distributed array; raise ValueError for NaN and infinity, which waits for engines.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.asarray_chkfinite([1.0, dnb.nan])
    Traceback (most recent call last):
    ...
    ValueError: array must not contain infs or NaNs
    """
    x = asarray(a, dtype, order)
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
    where ``'W'`` is. How elements lie in memory is for the layout.
    """
    asked = [requirements] if isinstance(requirements, str) else list(requirements or ())
    unknown = [word for word in asked if word.upper() not in _FLAGS]
    if unknown:
        raise KeyError(explain("requirement", unknown[0], f"one of {list(_FLAGS)}", "drop it"))
    flags = {_FLAGS[word.upper()] for word in asked}
    if {"C", "F"} <= flags:
        raise ValueError('Cannot specify both "C" and "F" order')
    x = asarray(a, dtype, like=like)
    good = (is_whole(x) or not flags & set("CFO")) and (x.writeable or "W" not in flags)
    return x if good else x.copy()
