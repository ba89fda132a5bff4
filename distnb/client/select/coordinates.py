"""From positions in C order to indices and back, and indices of a grid of rows and columns."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Shape
from distnb.client.handle.array import Array
from distnb.client.handle.fields import fits
from distnb.client.reach.whole_functions import step
from distnb.client.record.creation import asarray
from distnb.client.record.gather_scatter import flat_indices
from distnb.client.record.namespace import stands_for
from distnb.client.select.taking import as_array, flatnonzero, positions, session_of, unraveled
from distnb.ops.scalars import SCALARS

__all__: list[str] = []

#: Bytes of a position.
_POSITION = 8


def _lengths(shape: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, shape)) if np.ndim(shape) else (operator.index(shape),)


@stands_for(np.unravel_index, small="exact", scalar=True)
def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Any, ...]:
    """Return the indices along each axis of positions in an array, as ``numpy.unravel_index``.

    Elementwise: they lie as the positions do.

    Parameters
    ----------
    indices : array_like of int
        Positions; one that is out of bounds is a ValueError.
    shape : tuple of int
        Shape of the array.
    order : {'C', 'F'}
        In which order positions are counted.

    Returns
    -------
    tuple of DistArray of int
        One for each axis, of the shape of ``indices``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     rows, columns = dnb.unravel_index(dnb.array([5, 2]), (2, 3))
    ...     rows.to_numpy(), columns.to_numpy()
    (array([1, 0]), array([2, 2]))
    """
    lengths = _lengths(shape)
    ask: Any = np.unravel_index
    if type(indices) in SCALARS and fits(_POSITION):
        return tuple(ask(indices, lengths, order))
    x: Any = indices if isinstance(indices, Array) else np.asarray(indices)  # checked here
    if not x.ndim and not lengths:
        return tuple(ask(x.item(), (), order))
    ask(np.zeros(0, x.dtype), lengths, order)  # NumPy refuses what it does not take
    if x.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    session = session_of(x)
    flat = flat_indices(session, [positions(x, prod(lengths), casting="unsafe")], "flat")
    found = unraveled(as_array(session, flat), lengths if order == "C" else lengths[::-1])
    return found if order == "C" else found[::-1]


@stands_for(np.ravel_multi_index, small="exact", scalar=True)
def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Shape,
    mode: str | tuple[str, ...] = "raise",
    order: str = "C",
) -> Any:
    """Return the positions of indices along each axis, as ``numpy.ravel_multi_index``.

    Elementwise: they lie as the largest array of indices does.

    Parameters
    ----------
    multi_index : tuple of array_like of int
        Indices along each axis; one that is out of bounds is a ValueError.
    dims : tuple of int
        Shape of the array.
    mode : {'raise', 'wrap', 'clip'} or a tuple of these
        What to do about indices that are out of bounds.
    order : {'C', 'F'}
        In which order positions are counted.

    Returns
    -------
    DistArray of int
        Of the shape to which the indices are broadcast.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.ravel_multi_index((dnb.array([1, 0]), 2), (2, 3)).to_numpy()
    array([5, 2])
    """
    lengths, given = _lengths(dims), list(multi_index)
    session = session_of(*given)
    modes = mode if isinstance(mode, tuple) else (mode,) * len(lengths)
    some = 0 in lengths and all(np.size(a) for a in given)  # that is no place at all
    few = [
        np.zeros(int(some), a.dtype if isinstance(a, Array) else np.asarray(a).dtype) for a in given
    ]
    np.ravel_multi_index(tuple(few), lengths, mode, order)  # type: ignore[call-overload]
    parts = [
        positions(*p, casting="unsafe")
        for p in zip(given, lengths, range(len(lengths)), modes, strict=True)
    ]
    flat = flat_indices(session, parts if order == "C" else parts[::-1], "coordinate")
    return as_array(session, flat)


@stands_for(np.ix_)
def ix_(*args: ArrayLike) -> tuple[Any, ...]:
    """Return arrays that index all combinations of indices along each axis, as ``numpy.ix_``.

    They are views of the arguments; of masks, of what :func:`flatnonzero` returns.

    Parameters
    ----------
    args : 1-D array_like
        Indices along an axis, or masks.

    Returns
    -------
    tuple of DistArray of int
        An array for each axis, which broadcast to all combinations.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.arange(12).reshape(3, 4)
    ...     a[dnb.ix_(dnb.array([0, 2]), [True, False, False, True])].to_numpy()
    array([[ 0,  3],
           [ 8, 11]])
    """
    if not any(isinstance(arg, Array) for arg in args):
        made = step(np.ix_, ix_, "exact", args, {})
        if made is not None:
            return tuple(made)
    session, found = session_of(*args), []
    for i, arg in enumerate(args):
        one: Any = arg if isinstance(arg, Array) else np.asarray(arg)
        one = one.astype(np.int64) if not isinstance(arg, Array) and not one.size else one
        if one.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        one = asarray(one, session=session)
        one = flatnonzero(one) if one.dtype == bool else one
        found.append(one[tuple(slice(None) if j == i else None for j in range(len(args)))])
    return tuple(found)
