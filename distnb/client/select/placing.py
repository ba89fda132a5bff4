"""Functions that write by position or by mask: ``put``, ``place``, ``ufunc.at``, ``insert`` ..."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array, Elements
from distnb.client.handle.conversion import move_out
from distnb.client.handle.host_arrays import all_here
from distnb.client.handle.indexing import one_axis
from distnb.client.handle.scalars import no_array
from distnb.client.reach.aliasing import are_related
from distnb.client.reach.whole_functions import put_in_reach, written_in_reach
from distnb.client.record.advanced_indexing import (
    Index,
    is_advanced,
    put_advanced,
    values_for,
    written_here,
)
from distnb.client.record.creation import asarray, empty, ones
from distnb.client.record.eager import written_plain
from distnb.client.record.gather_scatter import Flat, lazy_indices, nonzero_indices, scatter
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.select.taking import along, compress, positions, session_of, take, truth
from distnb.client.shape.joining import concatenate
from distnb.client.shape.reshaping import cycled, ravel, resize
from distnb.common.errors import explain
from distnb.ops import table
from distnb.plans.gather_scatter import checked

__all__: list[str] = []


def _target(x: Array) -> Array:
    """Return an array that is to be written; raise if it must not be."""
    if x.single and not x.ndim:
        raise no_array(x)
    if not x.writeable:
        raise ValueError("assignment destination is read-only")
    return x


def _place_flat(x: Array, flat: Flat, values: ArrayLike) -> None:
    """Assign to elements at C-order positions, as many values."""
    move_out(x.dbase)
    seen, k = (x, x.ndim) if x.ndim else (x.alias(x.dview.insert(0)), 1)
    scatter(seen, k, flat, values_for(x, values, flat.index.shape, flat.index.ndim))


@stands_for(np.put)
def put(a: Array, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Assign to elements at C-order positions, as ``numpy.put``.

    Positions and values travel to those who hold the elements, or are read by these on their node;
    of equal positions the last wins.

    Parameters
    ----------
    a : DistArray
        What to write into.
    ind : array_like of int
        C-order positions; negative ones count from the end.
    v : array_like
        Values; too few are repeated.
    mode : {'raise', 'wrap', 'clip'}
        What to do about positions that are out of bounds; ``'raise'`` means IndexError.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.zeros(5)
    ...     dnb.put(a, [0, -1], [1, 2])
    ...     a.to_numpy()
    array([1., 0., 0., 0., 2.])
    """
    if written_plain(np.put, a, ind, v, mode=mode):
        return
    x = _target(a)
    if mode == "raise" and x.size and written_in_reach("put", np.ndarray.put, "takes", x, ind, v):
        return
    if not x.size and np.size(ind):
        raise IndexError("cannot replace elements of an empty array")
    if not np.size(v):
        return
    if written_here("put", np.put, x, ind, v, mode=mode):
        return
    at = positions(ind, x.size, 0, mode)
    if x.ndim and isinstance(at.index, np.ndarray) and at.index.size:
        one = np.ravel(at.index if at.checked else checked(at.index, x.size))
        key = np.unravel_index(one, x.shape)
        if put_in_reach(x, key, _repeated(_typed(v, x.dtype), one)):
            return
    flat = lazy_indices(x.session, [at], sure=True)
    if flat.index.size:
        _place_flat(x, flat, _repeated(_typed(v, x.dtype), flat.index))


def _typed(values: ArrayLike, dtype: np.dtype) -> Any:
    """Return what is no array as one of a dtype; NumPy refuses numbers that cannot be stored."""
    known = isinstance(values, Array | np.ndarray | np.generic)
    return values if known else np.asarray(values, dtype)


def _safe(values: ArrayLike, dtype: np.dtype) -> Any:
    """Return values of a dtype as :func:`_typed`; arrays must be cast to it without loss."""
    if isinstance(values, Array) and values.single and not values.ndim:
        return values  # a scalar, as NumPy's
    if isinstance(values, Array | np.ndarray) and not np.can_cast(values.dtype, dtype, "safe"):
        what = "array data" if values.ndim else "scalar"
        raise TypeError(
            f"Cannot cast {what} from {values.dtype!r} to {dtype!r} according to the rule 'safe'"
        )
    return _typed(values, dtype)


def _repeated(values: ArrayLike, flat: Elements) -> Any:
    """Return as many values as there are flat indices, by repeating them."""
    if np.size(values) == 1:
        return ravel(values)[0] if isinstance(values, Array) else np.ravel(values)[0]
    if isinstance(values, Array):
        return resize(values, flat.shape)
    return cycled(np.asarray(values), flat.shape)


@stands_for(np.put_along_axis)
def put_along_axis(
    arr: Array, indices: ArrayLike, values: ArrayLike, axis: SupportsIndex | None
) -> None:
    """Assign to elements at positions along an axis, other ones for each 1-D slice.

    As ``numpy.put_along_axis``; what is sent is that of :func:`put`.

    Parameters
    ----------
    arr : DistArray
        What to write into.
    indices : array_like of int
        Positions; of as many axes as ``arr``, which broadcast together but for ``axis``.
    values : array_like
        They broadcast to the shape of the indices.
    axis : int or None
        Along which axis; None: of all elements in C order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.zeros((2, 3))
    ...     dnb.put_along_axis(a, dnb.array([[1], [2]]), 7, 1)
    ...     a.to_numpy()
    array([[0., 7., 0.],
           [0., 0., 7.]])
    """
    if written_plain(np.put_along_axis, arr, indices, values, axis):
        return
    x = _target(arr)
    index = asarray(indices, session=x.session)
    if axis is not None:
        put_advanced(x, along(x.shape, index, axis), values)
        return
    along((x.size,), index, 0)
    given = _typed(values, x.dtype)
    put(x, index, np.broadcast_to(given, index.shape) if np.ndim(given) else given)


@stands_for(np.place)
def place(arr: Array, mask: ArrayLike, vals: ArrayLike) -> None:
    """Assign values, one after the other, where a mask is true, as ``numpy.place``.

    What is read and sent is that of :func:`flatnonzero` and :func:`put`.

    Parameters
    ----------
    arr : DistArray
        What to write into.
    mask : array_like
        As many elements as ``arr``.
    vals : array_like
        Too few are repeated.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.arange(6)
    ...     dnb.place(a, a > 2, [44, 55])
    ...     a.to_numpy()
    array([ 0,  1,  2, 44, 55, 44])
    """
    if written_plain(np.place, arr, mask, vals):
        return
    if isinstance(arr, Array) and written_in_reach("place", np.place, "exact", arr, mask, vals):
        return
    x = _target(arr)
    where = truth(asarray(mask, session=x.session))
    if where.size != x.size:
        raise ValueError("place: mask and data must be the same size")
    given = _safe(vals, x.dtype)
    if given.size == 1:
        x[where.reshape(x.shape)] = ravel(given)[0]
        return
    flat = nonzero_indices(where)
    if not given.size and flat.size:
        raise ValueError("Cannot insert from an empty array!")
    if flat.size:
        values = _repeated(given, flat)
        if np.ndim(values) == 1:
            values = values[: flat.size]
        _write_flat(x, flat, values)


def _write_flat(x: Array, flat: Elements, values: ArrayLike) -> None:
    """Assign to elements at C-order positions, in the notebook if all is there."""
    if all_here((x, flat, values), x.session) or x.dbase.related():
        put(x, flat, values)
    else:
        _place_flat(x, Flat(flat), values)


@stands_for(np.putmask)
def putmask(a: Array, /, mask: ArrayLike, values: ArrayLike) -> None:
    """Assign the values at the same C-order positions where a mask is true, as ``numpy.putmask``.

    Elementwise if the values have the shape of the array, or are one; else what is read and sent
    is that of :func:`flatnonzero`, :func:`take` and :func:`put`.

    Parameters
    ----------
    a : DistArray
        What to write into.
    mask : array_like
        As many elements as ``a``.
    values : array_like
        Repeated up to the number of elements of ``a``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.arange(6)
    ...     dnb.putmask(a, a > 2, [-1, -2])
    ...     a.to_numpy()
    array([ 0,  1,  2, -2, -1, -2])
    """
    if written_plain(np.putmask, a, mask, values):
        return
    x = _target(a)
    where = truth(asarray(mask, session=x.session))
    if where.size != x.size:
        raise ValueError("putmask: mask and data must be the same size")
    where, given = _apart(where, x), _apart(_safe(values, x.dtype), x)
    if not given.size:
        return
    if written_in_reach("putmask", np.putmask, "exact", x, where, given):
        return
    if where.shape == x.shape and (given.size == 1 or given.shape == x.shape):
        assign(x, given if given.size > 1 else _repeated(given, where), where)
        return
    flat = nonzero_indices(where)
    if flat.size:
        _write_flat(x, flat, take(given, flat % given.size))


def _apart(y: Any, x: Array) -> Any:
    """Return what is read while an array is written: a copy, where it is of the same array."""
    same = isinstance(y, Array) and (y.dbase is x.dbase or are_related(y.dbase, x.dbase))
    return y.copy() if same else y


def at(ufunc: np.ufunc, a: Array, indices: Subscript, *more: ArrayLike) -> None:
    """Apply a ufunc in place to indexed elements, once for each time they are named."""
    if written_plain(ufunc.at, a, indices, *more):
        return
    x, row = _target(a), table.ELEMENTWISE.get(ufunc.__name__)
    if row is None or row.run is not ufunc:
        raise TypeError(
            explain("ufunc.at", ufunc.__name__, "a ufunc of NumPy", "use x[i] = f(x[i])")
        )
    if ufunc.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    if len(more) != ufunc.nin - 1:
        raise ValueError("second operand needed for ufunc")
    if written_in_reach(ufunc.__name__, ufunc.at, "picks", x, indices, *more):
        return
    values = [_operand(b, x.dtype) for b in more]
    few = [np.ones(1, b.dtype) for b in values]
    ufunc.at(np.ones(1, x.dtype), [0], *few)  # NumPy refuses what it does not compute
    key = tuple([_number(k) for k in (indices if isinstance(indices, tuple) else (indices,))])
    n = len(values)
    written = written_here(
        ufunc.__name__, lambda near, *args: ufunc.at(near, args[n:], *args[:n]), x, *values, *key
    )
    if written:
        return
    if is_advanced(key):
        _at_positions(ufunc, x, key, values)
    else:
        part = x[key if any(k is Ellipsis for k in key) else (*key, ...)]
        elementwise(ufunc.__name__, part, *values, out=part, casting="unsafe")


def _operand(b: ArrayLike, dtype: np.dtype) -> Elements:
    """Return an operand of ``ufunc.at`` as an array: no number is weak."""
    found = b if isinstance(b, Array) else np.asarray(b)
    return found if found.dtype.kind != "O" else np.asarray(b, dtype)  # integers too large for any


def _number(k: Any) -> Any:
    """Return an index, as a number where it is an array of one integer without axes."""
    one = isinstance(k, Array | np.ndarray) and not k.ndim and k.dtype.kind in "iu"
    return int(k) if one else k


def _at_positions(ufunc: np.ufunc, x: Array, key: Subscript, more: Any) -> None:
    """Apply a ufunc where arrays say; holders do so in the order of the flat indices."""
    move_out(x.dbase)
    index = Index(x, key)
    flat = index.flat(sure=True)
    values = None
    if more:
        kind = more[0].dtype
        shape = index.shape(flat)
        if np.ndim(more[0]) > len(shape):  # even of length 1, unlike where they are assigned
            what = f"values of {np.ndim(more[0])} axes", f"at most {len(shape)}, as the index has"
            raise ValueError(explain("ufunc.at", *what, "reshape them"))
        values = values_for(x, more[0], shape, flat.index.ndim, index.before, kind)
    scatter(index.view_of(x), index.k, flat, values, ufunc.__name__)


# -- longer and shorter ----------------------------------------------------------------------------


@stands_for(np.delete, small="exact")
def delete(arr: ArrayLike, obj: Any, axis: SupportsIndex | None = None) -> Array:
    """Return a copy without some indices along an axis, as ``numpy.delete``.

    One index is left out by joining what is before and after it. For several, what stays is a
    mask, and the result that of :func:`compress`.

    Parameters
    ----------
    arr : array_like
        What to copy.
    obj : int, slice or array_like of int or bool
        What to leave out.
    axis : int, optional
        Along which axis; by default, of all elements in C order.

    Returns
    -------
    DistArray
        A new array without these parts.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.delete(dnb.arange(6), [1, 3]).to_numpy()
    array([0, 2, 4, 5])
    """
    x = asarray(arr, session=session_of(arr, obj))
    if axis is None:
        x, axis = ravel(x), 0
    d = one_axis(axis, x.ndim)
    n, before = x.shape[d], (slice(None),) * d
    if _is_number(obj):
        i = operator.index(obj)
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for axis {d} with size {n}")
        i %= n
        return concatenate((x[(*before, slice(i))], x[(*before, slice(i + 1, None))]), d)
    if not isinstance(obj, slice | Array):
        listed = not isinstance(obj, np.ndarray) and np.size(obj) == 0
        obj = np.asarray(obj, np.int64) if listed else np.asarray(obj)
    if not isinstance(obj, slice) and obj.dtype == bool and obj.shape != (n,):
        raise ValueError(
            "boolean array argument obj to delete must be one dimensional and match the axis "
            f"length of {n}"
        )
    keep = ones(n, bool, session=x.session)
    keep[obj] = False
    return compress(keep, x, d)


def _is_number(obj: object) -> bool:
    if isinstance(obj, bool | np.bool_):
        return False
    return isinstance(obj, int | np.integer) or (
        isinstance(obj, Array | np.ndarray) and not obj.ndim and obj.dtype.kind in "iu"
    )


@stands_for(np.insert, small="exact")
def insert(
    arr: ArrayLike, obj: slice | ArrayLike, values: ArrayLike, axis: SupportsIndex | None = None
) -> Array:
    """Return a copy with values put in before some indices along an axis, as ``numpy.insert``.

    One index is a join of what is before it, the values, and what comes after, see
    :func:`distnb.concatenate`. For several, which are read, old and new elements are assigned by
    position to a new array in the default layout: each is sent to where it is to lie.

    Parameters
    ----------
    arr : array_like
        What to copy.
    obj : int, slice or array_like of int or bool
        Before which indices of ``arr``.
    values : array_like
        What to put in; cast to the dtype of ``arr``.
    axis : int, optional
        Along which axis; by default, into all elements in C order.

    Returns
    -------
    DistArray
        Of the dtype of ``arr``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.insert(dnb.arange(4), [1, 3], [70, 80]).to_numpy()
    array([ 0, 70,  1,  2, 80,  3])
    """
    x = asarray(arr, session=session_of(arr, obj, values))
    if axis is None:
        x, axis = ravel(x), 0
    d = one_axis(axis, x.ndim)
    n = x.shape[d]
    indices = _insertions(obj, n)
    many: Any = _typed(values, x.dtype)
    many = many if isinstance(many, Array) else np.asarray(many)
    if indices.size == 1:
        i = int(indices.reshape(())[()])
        if not -n <= i <= n:
            raise IndexError(f"index {i} is out of bounds for axis {d} with size {n}")
        i += n if i < 0 else 0
        many = many[(None,) * (x.ndim - many.ndim) + (...,)]
        many = np.moveaxis(many, 0, d) if not indices.ndim else many
        return _joined_at(x, i, many, d)
    where = np.where(indices < 0, indices + n, indices)
    order = where.argsort(kind="stable")
    where[order] += np.arange(len(where))
    before: tuple[Any, ...] = (slice(None),) * d
    shape = (*x.shape[:d], n + len(where), *x.shape[d + 1 :])
    found = empty(shape, x.dtype, session=x.session)
    old = ones(shape[d], bool, session=x.session)
    old[where] = False
    found[*before, where] = many
    found[*before, old] = x
    return found


def _insertions(obj: slice | ArrayLike, n: int) -> np.ndarray:
    """Return before which indices something is inserted, as NumPy reads them."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    found = np.array(obj)
    if found.dtype == bool:
        if found.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        return np.flatnonzero(found)
    if found.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if found.size == 0 and not isinstance(obj, np.ndarray | Array):
        return found.astype(np.intp)
    if found.dtype.kind not in "iu":
        error = TypeError if found.size == 1 else IndexError  # as NumPy, where it takes them
        raise error(explain("indices", found.dtype, "integers", "round them, and use astype(int)"))
    return found


def _joined_at(x: Array, i: int, values: Elements, d: int) -> Array:
    """Return ``x`` with values before index ``i`` of an axis, stretched along the others."""
    before = (slice(None),) * d
    shape = (*x.shape[:d], values.shape[d], *x.shape[d + 1 :])
    part = np.broadcast_to(values, shape)
    cast = part.astype(x.dtype) if part.dtype != x.dtype else part
    return concatenate((x[(*before, slice(i))], cast, x[(*before, slice(i, None))]), d)
