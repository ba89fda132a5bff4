"""Functions that read by position or by mask: ``take``, ``nonzero``, ``compress`` and others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, Elements, create, is_whole
from distnb.client.handle.conversion import array_of, as_dist, copied, record_collective
from distnb.client.handle.host_arrays import all_here
from distnb.client.handle.indexing import no_bool, one_axis
from distnb.client.record.advanced_indexing import get_advanced
from distnb.client.record.creation import asarray
from distnb.client.record.eager import delivered
from distnb.client.record.gather_scatter import (
    Position,
    brought,
    compressed,
    flat_indices,
    gather,
    lazy_indices,
    moved,
    nonzero_indices,
    rebalanced,
)
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.client.shape.joining import stack
from distnb.client.shape.reshaping import ravel
from distnb.client.shape.viewing import broadcast_to
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import follow
from distnb.ops import table
from distnb.ops.scalars import NUMBERS

__all__: list[str] = []

MODES = ("raise", "wrap", "clip")


# -- positions -------------------------------------------------------------------------------------


def session_of(*given: object) -> Session:
    """Return the session of the first array, else the current one."""
    return next((a.session for a in given if isinstance(a, Array)), None) or need(None)


def positions(
    index: ArrayLike, n: int, axis: int = 0, mode: str = "raise", casting: Any = "safe"
) -> Position:
    """Return positions along an axis; ``mode`` is what is done about those out of bounds."""
    if mode not in MODES:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if not isinstance(index, Array):
        one = hasattr(index, "__index__") and not hasattr(index, "dtype")
        listed = one or isinstance(index, list | tuple)
        index = np.asarray(index, np.int64) if listed else np.asarray(index)
    if not np.can_cast(index.dtype, np.int64, casting):
        raise TypeError(
            f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule "
            f"{casting!r}"
        )
    if mode == "raise":
        return Position(index, n, axis)
    if not n and index.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    index = index.astype(np.int64)
    index = np.remainder(index, n) if mode == "wrap" else np.clip(index, 0, n - 1)
    return Position(index, n, axis, checked=True)


# -- positions along an axis -----------------------------------------------------------------------


@stands_for(np.take, small="takes")
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: SupportsIndex | None = None,
    out: Array | None = None,
    mode: str = "raise",
) -> Array:
    """Return the elements at positions along an axis, as ``numpy.take``.

    The result lies as the indices do, or in the default layout if these are no distributed array;
    but where ``a`` is split along another axis, it stays so. Each engine reads what it is to hold
    in the memory of the others of its node; to other nodes positions travel, and elements back.

    Parameters
    ----------
    a : array_like
        Where to take from.
    indices : array_like of int
        Negative ones count from the end.
    axis : int, optional
        Along which axis; by default, of all elements in C order.
    out : DistArray, optional
        Where the result is put.
    mode : {'raise', 'wrap', 'clip'}
        What to do about indices that are out of bounds.

    Returns
    -------
    DistArray
        With the axes of the indices in place of ``axis``.

    Raises
    ------
    IndexError
        If an index is out of bounds: at once if the indices are in the notebook, else from the
        engines.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.take(dnb.arange(10) ** 2, [3, 3, -1]).to_numpy()
    array([ 9,  9, 81])
    """
    session = session_of(a, indices)
    x = asarray(a, session=session)
    if all_here((x, indices), session):
        given = indices.here if isinstance(indices, Array) else indices
        ask: Any = np.take
        return _put(array_of(session, np.asarray(ask(x.here, given, axis, mode=mode))), out)
    axis = _axis(axis, x.ndim)
    d = 0 if axis is None else one_axis(no_bool(axis), x.ndim)
    k = x.ndim if axis is None else 1
    n = x.size if axis is None else x.shape[d]
    before, beside = ((), ()) if axis is None else (x.shape[:d], x.shape[d + 1 :])
    if 0 in before or (0 in beside and not n and mode != "raise"):  # NumPy looks at no position
        at = positions(indices, 1, d, "wrap" if mode == "raise" else mode, "same_kind")
        none = np.empty((*before, *at.index.shape, *beside), x.dtype)
        return _put(asarray(none, session=session), out)
    at = positions(indices, n, d, mode, "same_kind")
    if not n and np.size(at.index):
        raise IndexError("cannot do a non-empty take from an empty axes.")
    order = range(x.ndim) if axis is None else (d, *(i for i in range(x.ndim) if i != d))
    if not k:  # an array without axes has one element all the same
        x, k, order = x.alias(x.dview.insert(0)), 1, range(1)
    flat = lazy_indices(session, [at])
    found = gather(x.alias(x.dview.transpose(tuple(order))), k, flat)
    found = moved(found, flat.index.ndim, d)
    return _put(found if is_whole(found) or out is not None else found.copy(), out)  # in C order


def _put(found: Array, out: Array | None) -> Array:
    """Put what was taken into ``out``, which NumPy first reads as what it takes from."""
    kind = getattr(out, "dtype", None)
    if kind is not None and not np.can_cast(kind, found.dtype):
        raise TypeError(explain("out", kind, f"a dtype that {found.dtype} can hold", "cast it"))
    return delivered(found, out)


def _axis(axis: SupportsIndex | None, ndim: int) -> SupportsIndex | None:
    """Return an axis; one of an array without axes is that of all elements."""
    return None if not ndim and axis in (0, -1) else axis


@stands_for(np.take_along_axis, small="exact")
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: SupportsIndex | None = -1) -> Array:
    """Return elements at positions along an axis, other ones for each 1-D slice.

    As ``numpy.take_along_axis``, for what ``argsort`` returns. If the axis is not split, or
    another one is long enough to be split instead, both arrays are brought together so, and each
    engine takes from what it holds. Else positions and elements travel as in :func:`take`.

    Parameters
    ----------
    arr : array_like
        Where to take from.
    indices : array_like of int
        Positions; of as many axes as ``arr``, which broadcast together but for ``axis``.
    axis : int or None
        Along which axis; None: of all elements in C order.

    Returns
    -------
    DistArray
        With the length of ``indices`` along the axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.array([[3, 1, 2], [6, 5, 4]])
    ...     dnb.take_along_axis(a, dnb.array([[1, 2, 0], [2, 1, 0]]), 1).to_numpy()
    array([[1, 2, 3],
           [4, 5, 6]])
    """
    session = session_of(arr, indices)
    x, index = asarray(arr, session=session), asarray(indices, session=session)
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = ravel(x), 0
    key = along(x.shape, index, axis)
    d = one_axis(axis, x.ndim)
    if all_here((x, index), session) or not x.size:
        return get_advanced(x, key)
    found = _locally(x, index, d)
    return get_advanced(x, key) if found is None else found


def along(shape: Ints, index: Elements, axis: SupportsIndex | None) -> tuple[Any, ...]:
    """Return the index that names an element of each 1-D slice, by its position."""
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    d = one_axis(axis, len(shape))
    if len(shape) != index.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return tuple(
        index if i == d else np.arange(n).reshape([-1 if j == i else 1 for j in range(len(shape))])
        for i, n in enumerate(shape)
    )


def _locally(x: Array, index: Array, d: int) -> Any:
    """Take where whole 1-D slices are together; return None if there is no such layout."""
    session, size = x.session, x.session.size
    lengths = [n for i, n in enumerate(x.shape) if i != d]
    if lengths != [n for i, n in enumerate(index.shape) if i != d]:
        return None
    there = as_dist(x, session)
    uncut = table.sorting_layout(x.shape, follow(there.placed, size)[0], d, size)
    if uncut.parts(d) > 1:
        return None
    source, at = (
        brought(session, there, uncut),
        brought(session, as_dist(index, session), uncut),
    )
    out = create(session, index.shape, x.dtype, uncut, ("empty",))
    if out.size:
        record_collective("along", (out,), (source, at), (d,))
    wanted = _follow_index(index, size)
    return out if wanted in (None, uncut) else copied(out, out.dtype, wanted)


def _follow_index(index: Array, size: int) -> Layout | None:
    return None if index.here is not None else follow(index.placed, size)[0]


# -- where something is true -----------------------------------------------------------------------


def truth(x: Array) -> Any:
    """Return where elements are not zero, as a mask."""
    return x if x.dtype == bool else elementwise("not_equal", x, 0)


def as_array(session: Session, flat: Elements) -> Any:
    """Return indices as a distributed array."""
    return flat if isinstance(flat, Array) else array_of(session, np.asarray(flat))


@stands_for(np.flatnonzero, small="exact")
def flatnonzero(a: ArrayLike) -> Array:
    """Return the C-order positions of the elements that are not zero, as ``numpy.flatnonzero``.

    They stay where these elements are, if the array lies in blocks of its first axis; else a mask
    travels. How many there are on each engine is read: the length of the result depends on it.

    Parameters
    ----------
    a : array_like
        The elements.

    Returns
    -------
    DistArray of int
        Of one axis, as long as there are such elements.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.flatnonzero(dnb.array([0, 3, 0, 5, 7])).to_numpy()
    array([1, 3, 4])
    """
    x = asarray(a)
    found = as_array(x.session, nonzero_indices(truth(x)))
    return found if found.here is not None else rebalanced(found)


@stands_for(np.nonzero, small="exact")
def nonzero(a: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, an array for each axis.

    As ``numpy.nonzero``, in C order. Layout and messages are those of :func:`flatnonzero`.

    Parameters
    ----------
    a : array_like
        The elements, with at least one axis.

    Returns
    -------
    tuple of DistArray of int
        Of one axis each, as long as there are such elements.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     rows, columns = dnb.nonzero(dnb.array([[0, 3], [5, 7]]))
    ...     rows.to_numpy(), columns.to_numpy()
    (array([0, 1, 1]), array([1, 0, 1]))
    """
    x = asarray(a)
    if not x.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead. If the context of this error is of the form `arr[nonzero(cond)]`, just use "
            "`arr[cond]`."
        )
    return unraveled(flatnonzero(x), x.shape)


def unraveled(flat: Elements, shape: Ints) -> tuple[Any, ...]:
    """Return the indices of C-order positions that are within bounds."""
    if len(shape) == 1:
        return (flat,)
    found = []
    for d, n in enumerate(shape):
        one = flat // max(1, prod(shape[d + 1 :]))
        found.append(one % max(1, n) if d else one)
    return tuple(found)


@stands_for(np.argwhere, small="exact")
def argwhere(a: ArrayLike) -> Array:
    """Return the indices of the elements that are not zero, one in each row.

    As ``numpy.argwhere``; the rows lie as the result of :func:`flatnonzero`.

    Parameters
    ----------
    a : array_like
        The elements.

    Returns
    -------
    DistArray of int
        A row of indices for each element that is not zero.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.argwhere(dnb.array([[0, 3], [5, 7]])).to_numpy()
    array([[0, 1],
           [1, 0],
           [1, 1]])
    """
    x = asarray(a)
    if not x.ndim:
        return argwhere(x.alias(x.dview.insert(0)))[:, :0]
    return stack(nonzero(x), 1)


@stands_for(np.compress, small="exact")
def compress(
    condition: ArrayLike, a: ArrayLike, axis: SupportsIndex | None = None, out: Array | None = None
) -> Array:
    """Return the parts of an array along an axis for which a condition is true.

    As ``numpy.compress``; the result lies as that of :func:`take` at :func:`flatnonzero` of the
    condition. Where both lie in blocks of rows, nothing travels.

    Parameters
    ----------
    condition : array_like
        One axis, at most as long as that of ``a`` (what follows is left out).
    a : array_like
        Where to take from.
    axis : int, optional
        Along which axis; by default, of all elements in C order.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        As long along the axis as there are true conditions.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.compress([True, False, True], dnb.arange(6).reshape(3, 2), axis=0).to_numpy()
    array([[0, 1],
           [4, 5]])
    """
    session = session_of(condition, a)
    mask = asarray(condition, session=session)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    x, mask = asarray(a, session=session), truth(mask)
    axis = _axis(axis, x.ndim)
    if mask.shape == x.shape[:1] and (x.ndim == 1 if axis is None else one_axis(axis, x.ndim) == 0):
        found = compressed(x, mask)
        if found is not None:
            return _put(found, out)
    return take(x, nonzero_indices(mask), axis, out)


@stands_for(np.extract, small="exact")
def extract(condition: ArrayLike, arr: ArrayLike) -> Array:
    """Return the elements of an array for which a condition is true, along one axis.

    As ``numpy.extract``: the same as ``arr[condition]`` if both have the same shape. Layout and
    messages are those of :func:`distnb.compress`: it is waited for the number of elements.

    Parameters
    ----------
    condition : array_like
        As many elements as ``arr``.
    arr : array_like
        Where to take from.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     x = dnb.arange(6)
    ...     dnb.extract(x % 2 == 1, x).to_numpy()
    array([1, 3, 5])
    """
    session = session_of(condition, arr)
    mask = truth(asarray(condition, session=session))
    x = asarray(arr, session=session)
    found = compressed(x, mask) if mask.shape == x.shape and x.ndim else None
    return take(x, nonzero_indices(mask)) if found is None else found


# -- choices ---------------------------------------------------------------------------------------


@stands_for(np.choose, small="exact")
def choose(
    a: ArrayLike,
    choices: Sequence[ArrayLike] | Array,
    out: Array | None = None,
    mode: str = "raise",
) -> Array:
    """Return, for each element, that of one of several arrays, as ``numpy.choose``.

    Elementwise: the result follows the largest operand.

    Parameters
    ----------
    a : array_like of int
        Which of the choices.
    choices : sequence of array_like
        They broadcast together, and with ``a``.
    out : DistArray, optional
        Where the result is put.
    mode : {'raise', 'wrap', 'clip'}
        What to do about numbers of which there is no choice; ``'raise'`` means ValueError.

    Returns
    -------
    DistArray
        Of the shape to which ``a`` and the choices are broadcast.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.choose(dnb.array([0, 1, 0]), [[1, 2, 3], [10, 20, 30]]).to_numpy()
    array([ 1, 20,  3])
    """
    listed: list[Any] = list(choices)
    session = session_of(a, *listed)
    given = [c if isinstance(c, Array) else np.asarray(c) for c in listed]
    which = asarray(a, session=session)
    at = positions(which, len(given), 0, mode)
    shape = np.broadcast_shapes(which.shape, *(c.shape for c in given))
    at = at._replace(index=flat_indices(session, [at], "choice"))
    pairs = zip(listed, given, strict=True)
    samples = [c if type(c) in NUMBERS else np.empty(0, g.dtype) for c, g in pairs]
    dtype = np.choose(np.empty(0, int), samples).dtype  # to which NumPy casts them, come what may
    given = [c if c.dtype == dtype else c.astype(dtype) for c in given]
    which, found = as_array(session, at.index), given[0]
    for i, choice in enumerate(given[1:], 1):
        found = elementwise("where", which == i, choice, found)
    found = found if isinstance(found, Array) else asarray(found, session=session)
    if len(given) == 1 or found.dtype != dtype:
        found = broadcast_to(found, shape).astype(dtype)
    if isinstance(out, Array | np.ndarray) and out.shape != shape:
        raise TypeError(explain("out", f"shape {out.shape}", f"{shape}", "pass a matching one"))
    return delivered(found, out)


@stands_for(np.select, small="exact", scalar=False)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    """Return elements of the first choice whose condition is true, as ``numpy.select``.

    Elementwise: the result follows the largest operand.

    Parameters
    ----------
    condlist, choicelist : lists of array_like
        Masks, and as many choices.
    default : scalar or array_like
        Where no condition is true.

    Returns
    -------
    DistArray
        Of the shape to which all operands are broadcast.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     x = dnb.arange(6)
    ...     dnb.select([x < 2, x > 3], [x, x * 10], -1).to_numpy()
    array([ 0,  1, -1, -1, 40, 50])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    session = session_of(*condlist, *choicelist, default)
    choices = [
        c if type(c) in (int, float, complex) or isinstance(c, Array) else np.asarray(c)
        for c in (*choicelist, default)
    ]
    dtype = _common(choices)
    found = _as(choices[-1], dtype)
    for i in reversed(range(len(condlist))):
        cond = condlist[i] if isinstance(condlist[i], Array) else np.asarray(condlist[i])
        if cond.dtype != bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
        cond = cond if isinstance(cond, Array) else asarray(cond, session=session)
        found = elementwise("where", cond, _as(choices[i], dtype, "same_kind"), found, order="C")
    return found


def _common(choices: Sequence[Elements | complex]) -> np.dtype:
    """Return the dtype of what ``select`` chooses from."""
    try:
        return np.result_type(*(c.dtype if isinstance(c, Array) else c for c in choices))
    except TypeError as error:
        what = "Choicelist and default value do not have a common dtype"
        raise TypeError(f"{what}: {error}") from None


def _as(
    x: Elements | complex, dtype: np.dtype, rule: Literal["same_kind", "unsafe"] = "unsafe"
) -> Any:
    """Return a choice of a dtype, to which it may be cast; integers of Python's are int64 first."""
    x = x if hasattr(x, "astype") else np.asarray(x)
    return x.astype(dtype, casting=rule, copy=False)
