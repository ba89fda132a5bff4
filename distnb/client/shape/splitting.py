"""Splitting arrays: views of parts along an axis."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, as_result
from distnb.client.handle.indexing import one_axis
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.geometry.axes import Block

__all__: list[str] = []


@stands_for(np.unstack)
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return a view for each index of an axis, as ``numpy.unstack``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    x : array_like
        What to take apart.
    axis : int
        Along which axis.

    Returns
    -------
    tuple of DistArray
        Views without the axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a, b = dnb.unstack(dnb.array([[1, 2], [3, 4]]), axis=1)
    ...     a.to_numpy(), b.to_numpy()
    (array([1, 3]), array([2, 4]))
    """
    found = asarray(x)
    if found.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    d = one_axis(axis, found.ndim)
    if found.ndim == 1:  # of scalars, which do not change
        found = found.copy()
        return tuple(as_result(found.alias(found.dview.fix(0, i))) for i in range(found.size))
    return tuple(found.alias(found.dview.fix(d, i)) for i in range(found.shape[d]))


@stands_for(np.array_split)
def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[Array]:
    """Return views of parts along an axis, as ``numpy.array_split``; lengths may differ by 1.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    ary : array_like
        What to take apart.
    indices_or_sections : int or sequence of int
        How many parts, or where all but the first begin.
    axis : int
        Along which axis.

    Returns
    -------
    list of DistArray
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [x.to_numpy() for x in dnb.array_split(dnb.arange(5), 2)]
    [array([0, 1, 2]), array([3, 4])]
    """
    x = asarray(ary)
    d = one_axis(axis, x.ndim)
    before = (slice(None),) * d
    cuts = _cuts(x.shape[d], indices_or_sections)
    return [x[(*before, slice(low, high))] for low, high in pairwise(cuts)]


def _cuts(n: int, given: Any) -> list[int]:
    """Return where parts of an axis begin and end."""
    try:
        inner: Iterable[Any] = list(given)
    except TypeError:
        parts = int(given)
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        return [Block().bounds(n, parts, c)[0] for c in range(parts)] + [n]
    return [0, *(operator.index(i) for i in inner), n]


@stands_for(np.split)
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return views of equal parts along an axis, as ``numpy.split``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    ary : array_like
        What to take apart.
    indices_or_sections : int or sequence of int
        How many parts, of one length, or where all but the first begin.
    axis : int
        Along which axis.

    Returns
    -------
    list of DistArray
        Views.

    Raises
    ------
    ValueError
        If so many parts are not equally long; use :func:`distnb.array_split`.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [x.to_numpy() for x in dnb.split(dnb.arange(5), [1, 3])]
    [array([0]), array([1, 2]), array([3, 4])]
    """
    x = asarray(ary)
    if not np.ndim(indices_or_sections):
        n = x.shape[one_axis(axis, x.ndim)]
        if n % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def _at_least(x: ArrayLike, least: int, name: str) -> Array:
    """Return an array that has the axes to be split."""
    found = asarray(x)
    if found.ndim < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
    return found


@stands_for(np.hsplit)
def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Array]:
    """Return views of parts along the second axis, of a vector the first, as ``numpy.hsplit``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    ary : array_like
        What to take apart.
    indices_or_sections : int or sequence of int
        How many parts, of one length, or where all but the first begin.

    Returns
    -------
    list of DistArray
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [x.to_numpy() for x in dnb.hsplit(dnb.array([[1, 2], [3, 4]]), 2)]
    [array([[1],
           [3]]), array([[2],
           [4]])]
    """
    x = _at_least(ary, 1, "hsplit")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@stands_for(np.vsplit)
def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Array]:
    """Return views of parts along the first axis, as ``numpy.vsplit``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    ary : array_like
        What to take apart, of two axes at least.
    indices_or_sections : int or sequence of int
        How many parts, of one length, or where all but the first begin.

    Returns
    -------
    list of DistArray
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [x.to_numpy() for x in dnb.vsplit(dnb.array([[1, 2], [3, 4]]), 2)]
    [array([[1, 2]]), array([[3, 4]])]
    """
    return split(_at_least(ary, 2, "vsplit"), indices_or_sections, 0)


@stands_for(np.dsplit)
def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Array]:
    """Return views of parts along the third axis, as ``numpy.dsplit``.

    Elements stay where they are, and nothing is sent.

    Parameters
    ----------
    ary : array_like
        What to take apart, of three axes at least.
    indices_or_sections : int or sequence of int
        How many parts, of one length, or where all but the first begin.

    Returns
    -------
    list of DistArray
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [x.shape for x in dnb.dsplit(dnb.ones((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    return split(_at_least(ary, 3, "dsplit"), indices_or_sections, 2)
