"""Sets: elements in order, each once; what is in another array, by looking there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import as_dist
from distnb.client.handle.indexing import one_axis
from distnb.client.math.scans import cumsum
from distnb.client.reach.decorators import in_reach
from distnb.client.record.creation import asarray, empty_like, full, full_like, ones
from distnb.client.record.eager import at_once, session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange
from distnb.client.record.reducing import reduce
from distnb.client.select import searching
from distnb.client.select.ordering import lexsort, sorted_with_positions
from distnb.client.select.sorting import sort
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.client.shape.reshaping import ravel, reshape
from distnb.client.shape.viewing import moveaxis
from distnb.common.errors import explain

__all__ = ["isin", "unique"]


def _flat(x: ArrayLike, session: Session) -> Array:
    return ravel(asarray(x, session=session))


# -- each once ---------------------------------------------------------------------------------


@stands_for(np.unique, small="home")
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements in order.

    A sort, with positions if they are asked for; each engine keeps the first of equal elements that
    it holds after it. So the results lie in irregular parts, and the lengths of these are read:
    this waits. The inverse lies in blocks. What is sent is what :func:`distnb.sort` sends.

    Parameters
    ----------
    ar : array_like
        All of its elements, or along an axis its slices.
    return_index, return_inverse, return_counts : bool
        Whether to return where each was first, which one each element is, and how many there are.
    axis : int, optional
        Along which axis slices are compared; one sort for each element of a slice.
    equal_nan : bool
        Whether all NaN count as one.
    sorted : bool
        The result is always in order.

    Returns
    -------
    DistArray
        Of one axis, or slices along ``axis``; a tuple, if more is asked for.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     values, counts = dnb.unique(dnb.array([3, 1, 3, 2, 1]), return_counts=True)
    ...     values.to_numpy(), counts.to_numpy()
    (array([1, 2, 3]), array([2, 1, 2]))
    """
    x = asarray(ar)
    wanted = (return_index, return_inverse, return_counts)
    found = at_once(np.unique, x, *wanted, axis, equal_nan=equal_nan)
    if found is not None:
        return found
    if axis is None and x.dtype.kind in "biu":
        return _of_integers(x, *wanted)
    along = None if axis is None else one_axis(axis, x.ndim)
    if along is not None and x.ndim > 1:
        return _packed(*_slices(x, along, wanted))
    return _of_all(x, wanted, equal_nan)


@in_reach(np.unique, "exact")
def _of_integers(x: Array, index: bool, inverse: bool, counts: bool) -> Any:
    """Return distinct elements of which equal ones are the same, so it matters not who looks."""
    return _of_all(x, (index, inverse, counts), equal_nan=True)


def _of_all(x: Array, wanted: tuple[bool, bool, bool], equal_nan: bool) -> Any:
    values, *others = _distinct(ravel(x), wanted, equal_nan)
    if wanted[1]:
        others[wanted[0]] = reshape(others[wanted[0]], x.shape)
    return _packed(values, *others)


def _packed(*results: Array) -> Any:
    return results if len(results) > 1 else results[0]


def _distinct(x: Array, wanted: tuple[bool, bool, bool], equal_nan: bool) -> list[Array]:
    """Return the distinct elements of one axis, and what else is wanted."""
    if wanted[0] or wanted[1]:
        inorder, order = sorted_with_positions(x)
    else:
        inorder = order = sort(x)
    keep = _differs(inorder)
    if equal_nan and x.dtype.kind in "fc":
        nan = elementwise("isnan", inorder)
        keep[1:] = keep[1:] & ~(nan[1:] & nan[:-1])
    return [inorder[keep], *_others(keep, order, wanted)]


def _differs(x: Array) -> Array:
    """Tell which elements (or rows) are not as the one before."""
    keep = empty_like(x if x.ndim == 1 else x[:, 0], bool)
    keep[:1] = True
    other = elementwise("not_equal", x[1:], x[:-1])
    keep[1:] = other if x.ndim == 1 else reduce("any", other, 1)
    return keep


def _others(keep: Array, order: Array, wanted: tuple[bool, bool, bool]) -> list[Array]:
    """Return positions, inverse and counts, as far as they are wanted."""
    found = []
    if wanted[0]:
        found.append(order[keep])
    if wanted[1]:
        found.append(_inverse(keep, order))
    if wanted[2]:
        n = keep.shape[0]
        starts = arange(n, dist=keep, session=keep.session)[keep]
        ends = full_like(starts, n)
        ends[:-1] = starts[1:]
        found.append(ends - starts)
    return found


def _numpys_inverse(keep: np.ndarray, order: np.ndarray) -> np.ndarray:
    found = np.empty_like(order)
    found[order] = np.cumsum(keep) - 1
    return found


@in_reach(_numpys_inverse, "exact")
def _inverse(keep: Array, order: Array) -> Array:
    """Return which of those that are kept each element is, in blocks."""
    found = empty_like(order, dist="block")
    found[order] = cumsum(keep) - 1
    return found


def _slices(x: Array, axis: int, wanted: tuple[bool, bool, bool]) -> list[Array]:
    """Return the distinct slices along an axis, and what else is wanted."""
    moved = moveaxis(x, axis, 0)
    n = x.shape[axis]
    rows = reshape(moved, (n, -1)) if moved.size else reshape(moved, (n, 0))
    if not rows.size:
        return [moveaxis(moved[:1], 0, axis), *_none_differ(x, n, wanted)]
    order = lexsort([rows[:, j] for j in range(rows.shape[1])[::-1]])
    inorder = rows[order]
    keep = _differs(inorder)
    found = inorder[keep]
    values = reshape(found, (found.shape[0], *moved.shape[1:]))
    return [moveaxis(values, 0, axis), *_others(keep, order, wanted)]


def _none_differ(x: Array, n: int, wanted: tuple[bool, bool, bool]) -> list[Array]:
    """Return what else is wanted of so many slices without elements: they are all the same."""
    few = min(n, 1)
    lengths, values = (few, n, few), (0, 0, n)
    return [
        full(length, value, np.intp, session=x.session)
        for length, value, asked in zip(lengths, values, wanted, strict=True)
        if asked
    ]


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` returns."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` returns."""

    values: Any
    inverse_indices: Any


@stands_for(np.unique_all, small="home")
def unique_all(x: ArrayLike) -> UniqueAllResult:
    """Return distinct elements, first positions, inverse and counts; each NaN is distinct.

    Layout and messages are those of :func:`unique`.

    Parameters
    ----------
    x : array_like
        All of its elements.

    Returns
    -------
    values, indices, inverse_indices, counts : DistArray
        A named tuple; the inverse is of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     found = dnb.unique_all(dnb.array([3, 1, 3], dist="block"))
    ...     found.indices.to_numpy(), found.inverse_indices.to_numpy()
    (array([1, 0]), array([1, 0, 1]))
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@stands_for(np.unique_counts, small="home")
def unique_counts(x: ArrayLike) -> UniqueCountsResult:
    """Return distinct elements and how many there are of each; each NaN is distinct.

    Layout and messages are those of :func:`unique`.

    Parameters
    ----------
    x : array_like
        All of its elements.

    Returns
    -------
    values, counts : DistArray
        A named tuple.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     found = dnb.unique_counts(dnb.array([3, 1, 3], dist="block"))
    ...     found.values.to_numpy(), found.counts.to_numpy()
    (array([1, 3]), array([1, 2]))
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@stands_for(np.unique_inverse, small="home")
def unique_inverse(x: ArrayLike) -> UniqueInverseResult:
    """Return distinct elements, and which one each element is; each NaN is distinct.

    Layout and messages are those of :func:`unique`.

    Parameters
    ----------
    x : array_like
        All of its elements.

    Returns
    -------
    values, inverse_indices : DistArray
        A named tuple; the inverse is of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     found = dnb.unique_inverse(dnb.array([3, 1, 3], dist="block"))
    ...     found.values.to_numpy(), found.inverse_indices.to_numpy()
    (array([1, 3]), array([1, 0, 1]))
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@stands_for(np.unique_values, small="home")
def unique_values(x: ArrayLike) -> Array:
    """Return distinct elements, in order; each NaN is distinct.

    Layout and messages are those of :func:`unique`.

    Parameters
    ----------
    x : array_like
        All of its elements.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.unique_values(dnb.array([3, 1, 3], dist="block")).to_numpy()
    array([1, 3])
    """
    return unique(x, equal_nan=False)


# -- what is in another --------------------------------------------------------------------------


@stands_for(np.isin, small="exact")
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Array:
    """Tell which elements are in another array.

    The result lies as ``element``. The other array is brought to every engine if it has at most 64
    KiB; else it is sorted, and elements are looked up as by :func:`distnb.searchsorted`.

    Parameters
    ----------
    element : array_like
        What is looked up.
    test_elements : array_like
        Where.
    assume_unique : bool
        Changes nothing.
    invert : bool
        Whether to tell which are not.
    kind : {'sort', 'table'}, optional
        Changes nothing.

    Returns
    -------
    DistArray
        bool, of the shape of ``element``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isin(dnb.array([1, 2, 3], dist="block"), [3, 1]).to_numpy()
    array([ True, False,  True])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    session = session_of(element, test_elements)
    x, others = asarray(element, session=session), asarray(test_elements, session=session)
    if kind == "table" and not (x.dtype.kind in "biu" and others.dtype.kind in "biu"):
        raise ValueError(
            explain("kind='table'", f"{x.dtype} and {others.dtype}", "integers", "use 'sort'")
        )
    found = at_once(np.isin, x, others, assume_unique, invert)
    if found is not None:
        return found
    others = ravel(others)
    if others.nbytes > searching.SMALL:
        others = sort(others)
    inside = searching.looked_up(as_dist(others, session), as_dist(x, session), "in")
    return ~inside if invert else inside


def _pair(ar1: ArrayLike, ar2: ArrayLike) -> tuple[Array, Array]:
    session = session_of(ar1, ar2)
    return _flat(ar1, session), _flat(ar2, session)


@stands_for(np.union1d, small="exact")
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Array:
    """Return the elements of both arrays in order, each once.

    Layout and messages are those of :func:`unique`, after elements are joined.

    Parameters
    ----------
    ar1, ar2 : array_like
        Of any shape.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.union1d(dnb.array([3, 1, 3], dist="block"), [1, 2]).to_numpy()
    array([1, 2, 3])
    """
    return unique(concatenate((ar1, ar2), axis=None))  # where Python's numbers are weak


@stands_for(np.intersect1d, small="exact")
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Return the elements that are in both arrays, in order, each once.

    What is sent is what :func:`unique` of each and :func:`isin` send; the result lies in irregular
    parts. Lengths are read: this waits.

    Parameters
    ----------
    ar1, ar2 : array_like
        Of any shape.
    assume_unique : bool
        Changes nothing.
    return_indices : bool
        Whether to return where each was first in both.

    Returns
    -------
    DistArray
        Of one axis; a tuple with the positions, if they are asked for.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.intersect1d(dnb.array([3, 1, 3], dist="block"), [1, 2]).to_numpy()
    array([1])
    """
    x, y = _pair(ar1, ar2)
    found = at_once(np.intersect1d, x, y, assume_unique, return_indices)
    if found is not None:
        return found
    dtype = np.result_type(x.dtype, y.dtype)
    values, at = unique(x, True, equal_nan=False)
    keep = isin(values, y)
    both = values[keep].astype(dtype, copy=False)
    if not return_indices:
        return both
    others, there = unique(y, True, equal_nan=False)
    return both, at[keep], there[isin(others, x)]


@stands_for(np.setdiff1d, small="exact")
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """Return the elements of one array that are not in another, in order, each once.

    What is sent is what :func:`unique` and :func:`isin` send; the result lies in irregular parts.
    Lengths are read: this waits.

    Parameters
    ----------
    ar1, ar2 : array_like
        Of any shape.
    assume_unique : bool
        Whether elements of ``ar1`` stay in their order, as often as they are there.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.setdiff1d(dnb.array([3, 1, 3], dist="block"), [1, 2]).to_numpy()
    array([3])
    """
    x, y = _pair(ar1, ar2)
    found = at_once(np.setdiff1d, x, y, assume_unique)
    if found is not None:
        return found
    values = x if assume_unique else unique(x)
    return values[isin(values, y, invert=True)]


@stands_for(np.setxor1d, small="exact")
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """Return the elements that are in one of two arrays only, in order.

    What is sent is what :func:`unique` of each and a sort of both send; the result lies in
    irregular parts. Lengths are read: this waits.

    Parameters
    ----------
    ar1, ar2 : array_like
        Of any shape.
    assume_unique : bool
        Whether no element comes twice in one of them: then they need not be looked through.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.setxor1d(dnb.array([3, 1, 3], dist="block"), [1, 2]).to_numpy()
    array([2, 3])
    """
    x, y = _pair(ar1, ar2)
    found = at_once(np.setxor1d, x, y, assume_unique)
    if found is not None:
        return found
    both = concatenate((x, y) if assume_unique else (unique(x), unique(y)))
    inorder = sort(both)
    keep = ones(inorder.shape, bool, session=inorder.session)
    other = elementwise("not_equal", inorder[1:], inorder[:-1])
    keep[1:] = other
    keep[:-1] = keep[:-1] & other
    return inorder[keep]
