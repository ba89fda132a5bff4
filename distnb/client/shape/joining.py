"""Joining arrays: a new array whose parts are assigned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import warn_user
from distnb.client.handle.arguments import Nested
from distnb.client.handle.array import Array, Elements, create, numeric
from distnb.client.handle.conversion import array_of, check_session
from distnb.client.handle.host_arrays import all_here, plain
from distnb.client.handle.indexing import no_bool, one_axis
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign
from distnb.client.record.ufunc_options import outputs
from distnb.client.session.current import need
from distnb.client.shape.reshaping import atleast_1d, atleast_2d, atleast_3d, ravel
from distnb.common.errors import explain
from distnb.geometry.axes import Block, Irregular, SlicedBlock
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed, follow
from distnb.ops.scalars import NUMBERS

__all__ = ["concatenate", "stack"]


@stands_for(np.concatenate, small="exact")
def concatenate(
    arrays: Sequence[ArrayLike] | Array,
    /,
    axis: SupportsIndex | None = 0,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Array:
    """Join arrays along an axis that exists, as ``numpy.concatenate``.

    The result follows the operand with the most elements; an axis that is split in intervals and
    along which is joined is in blocks. Elements go where they are to lie: nothing is sent if all
    lie alike and the axis is not split.

    Parameters
    ----------
    arrays : sequence of array_like
        Of the same shape but for the axis.
    axis : int or None
        None joins all elements in C order.
    out : DistArray or ndarray, optional
        Where the result is put.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    casting : str, optional
        How operands may be cast, as in NumPy; by default ``'same_kind'``.

    Returns
    -------
    DistArray
        As long along the axis as all arrays together.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.concatenate([dnb.arange(3), [7, 8]]).to_numpy()
    array([0, 1, 2, 7, 8])
    """
    parts = _parts(arrays)
    if axis is None:
        if dtype is None and out is None:
            dtype = _with_weak(arrays, parts)
        parts, axis = [_flat(p) for p in parts], 0
    shape, d = _joined_shape(parts, axis)
    kind = _joined_dtype(parts, out, dtype, casting)
    given = [p for p in (*parts, out) if isinstance(p, Array)]
    session = given[0].session if given else need(None)
    for p in given:
        check_session(p, session)
    if out is None and all_here(parts, session):
        host = np.concatenate([plain(p) for p in parts], d, dtype=kind, casting="unsafe")
        return array_of(session, host)
    if out is None:
        out = create(session, shape, kind, _joined_layout(parts, shape, d), ("empty",))
    elif out.shape != shape:
        raise ValueError(explain("out", f"shape {out.shape}", f"{shape}", "pass a matching one"))
    start = 0
    for p in parts:
        here = (slice(None),) * d + (slice(start, start + p.shape[d]),)
        if isinstance(out, np.ndarray):
            out[here] = np.asarray(p)
        else:
            assign(out[here], p)
        start += p.shape[d]
    return out


def concat(
    arrays: Sequence[ArrayLike] | Array,
    /,
    axis: int | None = 0,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Array:
    """Join arrays along an axis that exists: :func:`distnb.concatenate` by its other name.

    Layout and messages are the same: the result follows the largest operand.

    Parameters
    ----------
    arrays : sequence of array_like
        Of the same shape but for the axis.
    axis : int or None
        None joins all elements in C order.
    out : DistArray, optional
        Where the result is put.
    dtype : dtype, optional
        Of the result; by default what holds the elements of all.
    casting : str
        What may be cast, as in NumPy.

    Returns
    -------
    DistArray
        As long along the axis as all arrays together.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.concat([dnb.arange(3), [7, 8]]).to_numpy()
    array([0, 1, 2, 7, 8])
    """
    return concatenate(arrays, axis, out, dtype=dtype, casting=casting)


def _parts(arrays: Sequence[ArrayLike] | Array) -> list[Any]:
    """Return the operands: distributed arrays as they are, others as NumPy's."""
    if isinstance(arrays, Array):
        return list(arrays)
    if not isinstance(arrays, Sequence | np.ndarray):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple')
    return [a if isinstance(a, Array) else np.asarray(a) for a in arrays]


def _with_weak(arrays: Sequence[ArrayLike] | Array, parts: list[Any]) -> np.dtype | None:
    """Return the dtype of operands among which are numbers of Python's, which are weak here."""
    pairs = list(zip(arrays, parts, strict=True))
    if not any(type(a) in NUMBERS for a, _ in pairs):
        return None
    kind = np.result_type(*(a if type(a) in NUMBERS else p.dtype for a, p in pairs))
    parts[:] = [np.asarray(a, kind) if type(a) in NUMBERS else p for a, p in pairs]
    return kind


def _flat(x: Elements) -> Any:
    return ravel(x) if isinstance(x, Array) else np.ravel(x)


def _joined_shape(parts: list[Any], axis: Any) -> tuple[Ints, int]:
    """Return the shape of joined arrays, and the axis; raises what NumPy raises."""
    if not parts:
        raise ValueError("need at least one array to concatenate")
    first = parts[0].shape
    if not first:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    d = one_axis(no_bool(axis), len(first))
    for p in parts:
        if p.ndim != len(first) or any(
            n != m for e, (n, m) in enumerate(zip(p.shape, first, strict=True)) if e != d
        ):
            raise ValueError(
                explain(
                    "arrays to join",
                    f"shapes {first} and {p.shape}",
                    f"equal lengths but along axis {d}",
                    "slice, reshape or add axes",
                )
            )
    return (*first[:d], sum(p.shape[d] for p in parts), *first[d + 1 :]), d


def _joined_dtype(
    parts: list[Any], out: Elements | None, dtype: DTypeLike | None, casting: Any
) -> np.dtype:
    """Ask NumPy for the dtype of joined arrays."""
    samples = [np.empty(0, p.dtype) for p in parts]
    if out is None:
        return numeric(np.concatenate(samples, dtype=dtype, casting=casting).dtype)
    into = out if isinstance(out, np.ndarray) else outputs(out, 1)[0]
    found = np.empty(0, into.dtype)
    return np.concatenate(samples, out=found, dtype=dtype, casting=casting).dtype


def _joined_layout(parts: list[Any], shape: Ints, d: int) -> Layout:
    """Return the layout of arrays that are joined along axis ``d``."""
    there = [p for p in parts if isinstance(p, Array) and p.dbase.host is None]
    leader = max(there, key=lambda p: (p.size, p.dbase.layout.split))
    size = leader.session.size
    layout = follow(leader.placed, size)[0]
    if isinstance(layout.axes[d], Irregular | SlicedBlock):
        layout = Layout(
            layout.grid, (*layout.axes[:d], Block(), *layout.axes[d + 1 :]), layout.dims
        )
    return follow(Placed.whole(shape, layout), size)[0]


@stands_for(np.stack, small="exact")
def stack(
    arrays: Sequence[ArrayLike] | Array,
    axis: SupportsIndex | None = 0,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Array:
    """Join arrays of one shape along a new axis, which is not split, as ``numpy.stack``.

    Layout and messages are those of :func:`distnb.concatenate`: nothing is sent if all lie alike.

    Parameters
    ----------
    arrays : sequence of array_like
        Of one shape.
    axis : int
        Where the new axis is.
    out : DistArray, optional
        Where the result is put.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    casting : str, optional
        How operands may be cast, as in NumPy; by default ``'same_kind'``.

    Returns
    -------
    DistArray
        Of one axis more.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.stack([dnb.arange(3), [7, 8, 9]], axis=1).to_numpy()
    array([[0, 7],
           [1, 8],
           [2, 9]])
    """
    parts = _parts(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({p.shape for p in parts}) > 1:
        raise ValueError("all input arrays must have the same shape")
    d = one_axis(axis, parts[0].ndim + 1)
    wide = [p[(slice(None),) * d + (None,)] for p in parts]
    return concatenate(wide, d, out, dtype=dtype, casting=casting)


def _stacked(
    tup: Sequence[ArrayLike] | Array,
    least: Callable[[Any], Any],
    axis: int,
    dtype: DTypeLike | None,
    casting: str,
) -> Array:
    """Join arrays of at least so many axes along axis 0, 1 or 2."""
    parts = [least(p) for p in _parts(tup)]
    axis = 0 if axis == 1 and parts and parts[0].ndim == 1 else axis
    return concatenate(parts, axis, dtype=dtype, casting=casting)


@stands_for(np.vstack, small="exact")
def vstack(
    tup: Sequence[ArrayLike] | Array, *, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> Array:
    """Join arrays as rows, as ``numpy.vstack``.

    Layout and messages are those of :func:`distnb.concatenate`: the result follows the largest
    operand.

    Parameters
    ----------
    tup : sequence of array_like
        Vectors count as matrices of one row.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    casting : str, optional
        How operands may be cast, as in NumPy; by default ``'same_kind'``.

    Returns
    -------
    DistArray
        Of two axes at least.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.vstack([dnb.arange(3), [[7, 8, 9]]]).to_numpy()
    array([[0, 1, 2],
           [7, 8, 9]])
    """
    return _stacked(tup, atleast_2d, 0, dtype, casting)


@stands_for(np.hstack, small="exact")
def hstack(
    tup: Sequence[ArrayLike] | Array, *, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> Array:
    """Join arrays along the second axis, vectors along their only one, as ``numpy.hstack``.

    Layout and messages are those of :func:`distnb.concatenate`: the result follows the largest
    operand.

    Parameters
    ----------
    tup : sequence of array_like
        Of the same shape but for the axis.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    casting : str, optional
        How operands may be cast, as in NumPy; by default ``'same_kind'``.

    Returns
    -------
    DistArray
        As long along the axis as all arrays together.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.hstack([dnb.arange(3), [7, 8]]).to_numpy()
    array([0, 1, 2, 7, 8])
    """
    return _stacked(tup, atleast_1d, 1, dtype, casting)


@stands_for(np.dstack, small="exact")
def dstack(
    tup: Sequence[ArrayLike] | Array, *, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> Array:
    """Join arrays along the third axis, as ``numpy.dstack``.

    Layout and messages are those of :func:`distnb.concatenate`: the result follows the largest
    operand.

    Parameters
    ----------
    tup : sequence of array_like
        Vectors and matrices get axes of length 1.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    casting : str, optional
        How operands may be cast, as in NumPy; by default ``'same_kind'``.

    Returns
    -------
    DistArray
        Of three axes at least.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.dstack([dnb.arange(2), [7, 8]]).to_numpy()
    array([[[0, 7],
            [1, 8]]])
    """
    return _stacked(tup, atleast_3d, 2, dtype, casting)


@stands_for(np.column_stack, small="exact")
def column_stack(tup: Sequence[ArrayLike] | Array) -> Array:
    """Join vectors and matrices as columns, as ``numpy.column_stack``.

    Layout and messages are those of :func:`distnb.concatenate`: the result follows the largest
    operand.

    Parameters
    ----------
    tup : sequence of array_like
        Vectors count as matrices of one column.

    Returns
    -------
    DistArray
        Of two axes.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.column_stack([dnb.arange(2), [7, 8]]).to_numpy()
    array([[0, 7],
           [1, 8]])
    """
    return _stacked(tup, _column, 1, None, "same_kind")


def _column(x: Elements) -> Any:
    return atleast_2d(x).T if x.ndim < 2 else x


def row_stack(
    tup: Sequence[ArrayLike] | Array, *, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> Array:
    """Join arrays as rows, as :func:`distnb.vstack`, which NumPy advises.

    Layout and messages are those of :func:`distnb.concatenate`.

    Parameters
    ----------
    tup, dtype, casting
        As in :func:`distnb.vstack`.

    Returns
    -------
    DistArray
        Of two axes at least.

    Examples
    --------
    >>> import distnb as dnb
    >>> import warnings
    >>> with dnb.inprocess(2), warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DeprecationWarning)
    ...     dnb.row_stack([dnb.arange(2), [7, 8]]).to_numpy()
    array([[0, 1],
           [7, 8]])
    """
    warn_user("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning)
    return vstack(tup, dtype=dtype, casting=casting)


@stands_for(np.block, small="exact")
def block(arrays: Nested) -> Array:
    """Join nested lists of arrays, the innermost along the last axis, as ``numpy.block``.

    For each list a new array is made as by :func:`distnb.concatenate`, which says where it lies and
    what is sent.

    Parameters
    ----------
    arrays : nested list of array_like
        All as deep.

    Returns
    -------
    DistArray
        All blocks in one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.block([[dnb.eye(2), dnb.ones((2, 1))], [5, 6, 7]]).to_numpy()
    array([[1., 0., 1.],
           [0., 1., 1.],
           [5., 6., 7.]])
    """
    depth = _depth(arrays)
    ndim = max(depth, _most_axes(arrays))
    found = _blocks(arrays, depth, ndim)
    return found.copy() if not depth else found


def _depth(arrays: Nested) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("np.block only allows lists of arrays, and not tuples")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    found = {_depth(a) for a in arrays}
    if len(found) > 1:
        raise ValueError(explain("block", f"depths {sorted(found)}", "one", "nest lists alike"))
    return found.pop() + 1


def _most_axes(arrays: Nested) -> int:
    if isinstance(arrays, list):
        return max(_most_axes(a) for a in arrays)
    return arrays.ndim if isinstance(arrays, Array) else np.ndim(arrays)


def _blocks(arrays: Any, depth: int, ndim: int) -> Any:
    if depth:
        return concatenate([_blocks(a, depth - 1, ndim) for a in arrays], -depth)
    x = asarray(arrays)
    return x[(None,) * (ndim - x.ndim)]


@stands_for(np.append, small="exact")
def append(arr: ArrayLike, values: ArrayLike, axis: SupportsIndex | None = None) -> Array:
    """Join two arrays, as ``numpy.append``; by default all elements in C order.

    Layout and messages are those of :func:`distnb.concatenate`: all is copied, so that appending in
    a loop is slow.

    Parameters
    ----------
    arr : array_like
        What comes first.
    values : array_like
        What comes after.
    axis : int, optional
        Along which axis; by default all elements in C order.

    Returns
    -------
    DistArray
        A new array.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.append(dnb.arange(3), [7, 8]).to_numpy()
    array([0, 1, 2, 7, 8])
    """
    both = [a if isinstance(a, Array) else np.asarray(a) for a in (arr, values)]  # none is weak
    return concatenate(both, axis)
