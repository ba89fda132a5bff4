"""Moving elements around in an array: rolled over its ends, flipped, turned."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.indexing import one_axis, several
from distnb.client.reach.small_steps import like
from distnb.client.record.creation import asarray, unset_like
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign
from distnb.client.shape.reshaping import ravel, reshape
from distnb.client.shape.viewing import flip
from distnb.common.errors import explain

__all__: list[str] = []


@stands_for(np.roll, small="exact")
def roll(a: ArrayLike, shift: ArrayLike, axis: Any = None) -> Array:
    """Return a copy whose elements have moved along axes, around the ends, as ``numpy.roll``.

    The result follows the operand. Only elements that get to another engine are sent. Without an
    axis, an array of several axes is reshaped to one and back.

    Parameters
    ----------
    a : array_like
        The elements.
    shift : int or tuple of int
        By how many places.
    axis : int or tuple of int, optional
        Along which axes; by default all elements in C order.

    Returns
    -------
    DistArray
        Of the shape of ``a``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.roll(dnb.arange(5), 2).to_numpy()
    array([3, 4, 0, 1, 2])
    """
    x = asarray(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    shifts = [0] * x.ndim
    pairs = np.broadcast(shift, [operator.index(d) for d in several(axis)])
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, d in pairs:
        shifts[one_axis(d, x.ndim)] += int(by)
    if not x.ndim:  # NumPy raises ValueError, too
        raise ValueError(explain("array to roll", "no axes", "one at least", "leave out axis="))
    here = like(x, np.roll, tuple(shifts), tuple(range(x.ndim)))
    if here is not None:
        return here
    found = unset_like(x)
    if not x.size:
        return found
    moves = [_two(by % n, n) for by, n in zip(shifts, x.shape, strict=True)]
    for parts in product(*moves):
        assign(found[tuple(to for to, _ in parts)], x[tuple(of for _, of in parts)])
    return found


def _two(by: int, n: int) -> list[tuple[slice, slice]]:
    """Return where the parts of an axis go that is rolled, and where they come from."""
    if not by:
        return [(slice(None), slice(None))]
    return [(slice(by, None), slice(None, n - by)), (slice(None, by), slice(n - by, None))]


@stands_for(np.rollaxis)
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Return a view with an axis moved before another one, as ``numpy.rollaxis``.

    Elements stay where they are, and nothing is sent; :func:`distnb.moveaxis` is easier to read.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int
        Which axis.
    start : int
        Before which one it comes.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.rollaxis(dnb.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = asarray(a)
    d = one_axis(axis, x.ndim)
    if not -x.ndim <= operator.index(start) <= x.ndim:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-x.ndim} <= start < {x.ndim + 1}, but {start} was passed in"
        )
    to = start + x.ndim if start < 0 else start
    order = [e for e in range(x.ndim) if e != d]
    order.insert(to - (d < to), d)
    return x.transpose(order)


@stands_for(np.fliplr)
def fliplr(m: ArrayLike) -> Array:
    """Return a view with the elements along axis 1 in reverse order, as ``numpy.fliplr``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    m : array_like
        Of two axes at least.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fliplr(dnb.array([[1, 2], [3, 4]])).to_numpy()
    array([[2, 1],
           [4, 3]])
    """
    x = asarray(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return x[:, ::-1]


@stands_for(np.flipud)
def flipud(m: ArrayLike) -> Array:
    """Return a view with the elements along axis 0 in reverse order, as ``numpy.flipud``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    m : array_like
        Of one axis at least.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.flipud(dnb.array([[1, 2], [3, 4]])).to_numpy()
    array([[3, 4],
           [1, 2]])
    """
    x = asarray(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return x[::-1]


@stands_for(np.rot90)
def rot90(m: ArrayLike, k: int = 1, axes: Any = (0, 1)) -> Array:
    """Return a view turned by 90 degrees, ``k`` times, from the first axis to the second.

    As ``numpy.rot90``. Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    m : array_like
        Of two axes at least.
    k : int
        How often; negative numbers turn the other way.
    axes : pair of int
        The plane in which it is turned.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.rot90(dnb.array([[1, 2], [3, 4]])).to_numpy()
    array([[2, 4],
           [1, 3]])
    """
    x = asarray(m)
    if len(tuple(axes)) != 2:
        raise ValueError("len(axes) must be 2.")
    i, j = axes
    if i == j or abs(i - j) == x.ndim:
        raise ValueError("Axes must be different.")
    if not (-x.ndim <= i < x.ndim and -x.ndim <= j < x.ndim):
        raise ValueError(f"Axes={axes} out of range for array of ndim={x.ndim}.")
    k = k % 4 if k % 4 in (0, 1, 2) else 3  # as NumPy, which takes a fraction for the latter
    turned = x.swapaxes(i, j) if k % 2 else x[:]
    # After a quarter turn, what was along `j` runs backwards along `i`; after three, along `j`.
    for d, times in ((i, (1, 2)), (j, (2, 3))):
        if k in times:
            turned = flip(turned, d)
    return turned
