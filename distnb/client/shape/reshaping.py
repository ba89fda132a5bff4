"""``reshape`` and its like: views where only axes of length 1 come or go, else redistributions.

An array that is split along one axis, in intervals, consists of a few *rows*: for each index of the
axes before, all elements of the axes from there on, of which every engine holds an interval. Most
often there is one row, which is the whole array. So reshaping is a copy of intervals of rows to
intervals of other rows, between two looks at memory as rows.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Order, Shape, Subscript, order_of
from distnb.client.handle.array import Array, create, is_whole
from distnb.client.handle.conversion import array_of, copied, record_local
from distnb.client.handle.fields import at_hand
from distnb.client.handle.indexing import lengths, no_bool, one_axis
from distnb.client.handle.scalars import check_settable
from distnb.client.reach.aliasing import look_at, outline
from distnb.client.reach.decorators import in_reach
from distnb.client.reach.kept_order import axes_of
from distnb.client.reach.methods import reshaped
from distnb.client.record.creation import asarray, zeros
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign
from distnb.common.errors import explain
from distnb.geometry.axes import Axis, Whole, cut_at
from distnb.geometry.layout import Ints, Layout, default_layout, in_notebook
from distnb.geometry.views import View, follow

__all__ = ["adopted", "axis_of", "cycled", "flatten", "new_lengths", "ravel", "reshape", "rows_of"]


@stands_for(np.reshape)
def reshape(
    a: ArrayLike, /, shape: Any = None, order: Order = "C", *, copy: bool | None = None
) -> Array:
    """Return an array with the same elements in another shape, as ``numpy.reshape``.

    What is written into either is seen in both where NumPy's is a view. If only axes of length 1
    come or go, nothing is sent. Else it lies in the default layout of its shape, and elements go
    where they are to lie, in one message for each pair of engines: once, and again when one is used
    after the other was written. (What is split in more than one way, in cyclic ways, or seen
    through a transposed or sliced view is brought into blocks first.) An array that each engine
    holds as a whole stays so.

    Parameters
    ----------
    a : array_like
        The elements.
    shape : int or tuple of int
        The new shape; one length may be -1.
    order : {'C', 'F', 'A'}
        In which order elements are read and placed.
    copy : bool, optional
        True: never a view; False: an error if it cannot be a view.

    Returns
    -------
    DistArray
        Of this shape: a view where NumPy's is one.

    Raises
    ------
    ValueError
        If the number of elements is another one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.reshape(dnb.arange(6), (2, -1)).to_numpy()
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    if order == "C" and copy is None:
        found = reshaped(a, shape)
        if found is not None:
            return found
    x = asarray(a)
    if shape is None:
        raise TypeError(explain("reshape()", "no shape", "a shape", "pass one"))
    wanted = new_lengths(shape, x.size)
    order = order_of(order)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if order == "F" or (order == "A" and _is_fortran(x)):
        return _reshaped(x.T, wanted[::-1], copy).T
    return _reshaped(x, wanted, copy)


def _listed(shape: object) -> Sequence[Any]:
    """Return the lengths in a shape: a sequence of them, an array of one axis, or one alone."""
    if isinstance(shape, Array | np.ndarray) and shape.ndim == 1:
        return [*shape]
    return shape if isinstance(shape, tuple | list) else (shape,)


def new_lengths(shape: Shape, size: int) -> Ints:
    """Return a new shape as lengths; raises what NumPy raises."""
    given = _listed(shape)
    if any(isinstance(n, bool | np.bool_) for n in given):
        raise TypeError(explain("shape", given, "integers", "no truth values"))
    asked = [operator.index(n) for n in given]
    found = [*asked]
    unknown = [d for d, n in enumerate(found) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    rest = prod(n for n in found if n >= 0)
    for d in unknown:
        found[d] = size // rest if rest else -1
    if prod(found) != size or min(found, default=0) < 0:
        np.broadcast_to(0, size).reshape(asked)  # which raises, in NumPy's words
    return tuple(found)


def _is_fortran(x: Array) -> bool:
    """Tell whether an array lies in Fortran order, and not in C order as well."""
    flags = outline(x).flags
    return flags.f_contiguous and not flags.c_contiguous


def _reshaped(x: Array, shape: Ints, copy: bool | None = None) -> Array:
    """Return the elements in C order in a shape of as many."""
    if [n for n in x.shape if n != 1] == [n for n in shape if n != 1]:
        found = x.alias(_with_units(x.dview, shape))
        return found.copy() if copy else found
    if not x.size:
        how = default_layout(shape, x.session.size) if x.here is None else in_notebook(len(shape))
        found = create(x.session, shape, x.dtype, how, ("empty",))
        found.writeable = x.writeable or bool(copy)
        return found
    if not copy:
        found = look_at(x, Reshaped(shape))
        if found is not None:
            return found
    if copy is False:
        raise ValueError(
            explain("copy", "False", "None or True: it cannot be a view", "leave copy= out")
        )
    if x.here is not None:
        return array_of(x.session, np.array(x.here.reshape(shape), order="C", copy=True))
    return _moved_or_near(x, shape)


@in_reach(np.reshape, "exact")
def _moved_or_near(x: Array, shape: Ints) -> Any:
    return _moved(x, shape)


class Reshaped(NamedTuple):
    """The elements in C order in another shape."""

    shape: Ints

    def near(self, x: np.ndarray) -> np.ndarray | None:
        """Return NumPy's view; None if NumPy would copy."""
        try:
            return x.reshape(self.shape, copy=False)
        except ValueError:
            return None

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now."""
        return _moved(x, self.shape)

    def put(self, x: Array, found: Array) -> None:
        """Write what such an array has now into ``x``."""
        assign(x, _moved(found, x.shape))

    def after(self, before: Any) -> Any:
        """Return the one way that does both, if the other is of the same kind."""
        return self if type(before) is Reshaped else None


def _with_units(view: View, shape: Ints) -> View:
    """Return a view in a shape that differs by axes of length 1."""
    for d in range(len(view.shape))[::-1]:
        if view.shape[d] == 1:
            view = view.fix(d, 0)
    for d, n in enumerate(shape):
        if n == 1:
            view = view.insert(d)
    return view


def _moved(x: Array, shape: Ints) -> Array:
    """Return a new array with the elements in another shape."""
    size = x.session.size
    layout = follow(x.placed, size)[0]
    unsplit = not any(layout.parts(d) > 1 for d in range(x.ndim))
    if not (unsplit or _in_rows(layout, x.shape, size)):
        layout = default_layout(x.shape, size)
    whole = x.dview.is_whole(x.dbase.shape) and x.dbase.layout == layout
    source = x if whole else copied(x, x.dtype, layout)
    target = default_layout(shape, size)
    if unsplit:
        target = Layout(layout.grid, (Whole(),) * len(shape), (-1,) * len(shape))
    rows = adopted(source, *rows_of(source.shape, layout))
    lengths, wanted = rows_of(shape, target)
    if whole or rows.shape != lengths or rows.dbase.layout != wanted:
        rows = _regrouped(rows, lengths, wanted)
    # This command ends the group of the copies: what comes later cannot write into `x` before.
    return adopted(rows, shape, target)


# -- rows ----------------------------------------------------------------------------------------


def _split_axis(layout: Layout) -> int:
    """Return the first axis that is split, or 0."""
    return next((d for d in range(len(layout.axes)) if layout.parts(d) > 1), 0)


def _in_rows(layout: Layout, shape: Ints, size: int) -> bool:
    """Tell whether every engine holds intervals of rows, of which there are not many."""
    d = _split_axis(layout)
    few = prod(shape[:d]) <= max(size, prod(shape[: _split_axis(default_layout(shape, size))]))
    alone = all(layout.parts(e) == 1 for e in range(len(shape)) if e != d)
    return few and alone and not layout.axes[d].period(layout.parts(d))


def rows_of(shape: Ints, layout: Layout) -> tuple[Ints, Layout]:
    """Return an array that lies in rows as an array of rows: its shape and its layout."""
    if not shape:
        return (1, 1), Layout(layout.grid, (Whole(), Whole()), (-1, -1))
    d = _split_axis(layout)
    first, inner, p = prod(shape[:d]), prod(shape[d + 1 :]), layout.parts(d)
    n = shape[d] * inner
    axis: Axis = Whole()
    if p > 1:
        cuts = [layout.axes[d].bounds(shape[d], p, c)[0] * inner for c in range(p)]
        axis = cut_at((*cuts, n))
    dims = (-1, layout.dims[d] if p > 1 else -1)
    return (first, n), Layout(layout.grid, (Whole(), axis), dims)


def adopted(x: Array, shape: Ints, layout: Layout, dtype: np.dtype | None = None) -> Array:
    """Return an array that has the memory of another one, all of a base, in another shape.

    With a dtype it has the bytes as that. One of the two must not be written as long as both are
    there.
    """
    if x.shape == shape and x.dbase.layout == layout and (dtype is None or dtype == x.dtype):
        return x
    found = create(x.session, shape, dtype or x.dtype, layout, ("empty",))
    record_local("adopt", found, (x,))
    return found


def _regrouped(x: Array, shape: Ints, layout: Layout) -> Array:
    """Copy an array of rows to rows of another length."""
    if x.shape == shape:
        return copied(x, x.dtype, layout)
    found = create(x.session, shape, x.dtype, layout, ("empty",))
    for here, there in zip(_pieces(x, shape), _pieces(found, x.shape), strict=True):
        assign(there, here)
    return found


def _pieces(x: Array, other: Ints) -> Iterator[Array]:
    """Enumerate an array of rows, cut where rows of it or of another shape end."""
    length = x.shape[1]
    cuts = sorted({*range(0, x.size + 1, length), *range(0, x.size + 1, other[1])})
    for low, high in pairwise(cuts):
        row, start = divmod(low, length)
        yield x[row, start : start + high - low]


# -- one axis --------------------------------------------------------------------------------------


@stands_for(np.ravel)
def ravel(a: ArrayLike, order: Order = "C") -> Array:
    """Return all elements along one axis, as ``numpy.ravel``: a view where NumPy's is one.

    Nothing is sent if all axes but one have length 1; else elements go into blocks, as by
    :func:`distnb.reshape`.

    Parameters
    ----------
    a : array_like
        The elements.
    order : {'C', 'F', 'A', 'K'}
        In which order elements are read.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.ravel(dnb.array([[1, 2], [3, 4]]), order="F").to_numpy()
    array([1, 3, 2, 4])
    """
    near = at_hand(a) if order == "C" else None
    if near is not None and near.ndim and near.flags.c_contiguous:
        seen: Array | None = reshaped(a, -1)
        if seen is not None:
            return seen
    found = _in_order(asarray(a), order, None)
    # as NumPy's: a view only if that is contiguous
    return found if outline(found).flags.c_contiguous else found.copy()


def axis_of(x: Array, axis: SupportsIndex | None) -> tuple[Array, int]:
    """Return an array and an axis of it as many of NumPy's functions take them.

    None means all elements in C order; an array of no axes counts as one of one element.
    """
    if axis is None:
        return ravel(x), 0
    if not x.ndim and operator.index(no_bool(axis)) in (0, -1):
        x = x.alias(x.dview.insert(0))
    return x, one_axis(no_bool(axis), x.ndim)


@in_reach(np.ndarray.flatten, "exact")
def flatten(x: Array, order: Order = "C") -> Array:
    """Return a copy of all elements along one axis."""
    return _in_order(x, order, True)


def _in_order(x: Array, order: Order, copy: bool | None) -> Array:
    order = order_of(order)
    if order == "F" or (order != "C" and _is_fortran(x)):
        x = x.T
    elif order == "K" and (axes := axes_of((x,))):
        x = x.transpose(axes)
    return _reshaped(x, (x.size,), copy)


def set_shape(x: Array, shape: Shape) -> None:
    """Give an array another shape in place, by axes of length 1."""
    check_settable(x, "shape")
    wanted = new_lengths(shape, x.size)
    try:
        found = _reshaped(x, wanted, False)
    except ValueError:
        raise AttributeError(
            explain("shape", wanted, f"one that needs no copy of {x.shape}", "use x.reshape()")
        ) from None
    x.become(found)


def set_size(x: Array, shape: Shape | None, shared: bool) -> None:
    """Give an array another size in place, as ``numpy.ndarray.resize``: zeros come after it."""
    if shape is None or shape == ():
        wanted: Any = x.shape if shape is None else ()
    else:
        wanted = lengths(shape)
    if not x.writeable:
        raise ValueError("cannot resize this array: it is read-only")
    n, flags = prod(wanted), outline(x).flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    turned = _is_fortran(x)  # elements stay where they are in memory, whose order stays
    lies = x.T if turned else x
    if n == x.size:
        x.become(_reshaped(lies, wanted[::-1]).T if turned else _reshaped(x, wanted))
        return
    if shared:
        raise ValueError("cannot resize an array that is referenced by another array")
    if not is_whole(lies):
        raise ValueError("cannot resize this array: it does not own its data")
    most = min(n, x.size)
    flat = zeros((n,), x.dtype, session=x.session)
    flat[:most] = ravel(lies)[:most]
    found = _reshaped(flat, wanted[::-1] if turned else wanted).copy()  # as NumPy's, it owns them
    x.become(found.T if turned else found)
    x._owner = None


def cycled(values: np.ndarray, shape: Ints) -> np.ndarray:
    """Return values again and again in a shape: numpy.resize joins a copy for each time."""
    flat, n = values.ravel(), prod(shape)
    if not flat.size:
        return np.zeros(shape, flat.dtype)
    again = np.array(np.broadcast_to(flat, (-(-n // flat.size), flat.size)))
    return again.reshape(-1)[:n].reshape(shape)


@stands_for(np.resize)
def resize(a: ArrayLike, new_shape: Shape) -> Array:
    """Return an array of another size: elements in C order, again and again, as ``numpy.resize``.

    Layout and messages are those of two calls of :func:`distnb.reshape`.

    Parameters
    ----------
    a : array_like
        The elements.
    new_shape : int or tuple of int
        Lengths of the axes.

    Returns
    -------
    DistArray
        A new array of this shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.resize(dnb.arange(3), (2, 4)).to_numpy()
    array([[0, 1, 2, 0],
           [1, 2, 0, 1]])
    """
    x = asarray(a)
    wanted = tuple(operator.index(n) for n in _listed(new_shape))
    if min(wanted, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    if x.here is not None:
        return array_of(x.session, cycled(x.here, wanted))
    n = prod(wanted)
    if not x.size:
        return create(
            x.session, wanted, x.dtype, default_layout(wanted, x.session.size), ("fill", 0)
        )
    flat = ravel(x)
    if n > x.size:
        times = -(-n // x.size)
        again = flat.alias(flat.dview.broadcast((times, x.size)), writeable=False)
        flat = _reshaped(again, (times * x.size,))
    found = _reshaped(flat[:n], wanted)
    return found.copy() if n <= x.size or not found.writeable else found  # never a view


# -- axes of length 1 ------------------------------------------------------------------------------


def _at_least(keys: Sequence[Subscript], arys: tuple[Any, ...]) -> Any:
    """Return arrays that have as many axes as there are keys, and views by these of all others."""
    given = map(asarray, arys)
    found = [x if x.ndim >= len(keys) else x[keys[x.ndim]] for x in given]  # the same, as NumPy's
    return found[0] if len(found) == 1 else tuple(found)


@stands_for(np.atleast_1d)
def atleast_1d(*arys: ArrayLike) -> Any:
    """Return views of one axis at least, as ``numpy.atleast_1d``.

    Axes of length 1 are added: elements stay where they are, and nothing is sent.

    Parameters
    ----------
    *arys : array_like
        The arrays.

    Returns
    -------
    DistArray, or a tuple of one for each
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.atleast_1d(7).to_numpy()
    array([7])
    """
    return _at_least((None,), arys)


@stands_for(np.atleast_2d)
def atleast_2d(*arys: ArrayLike) -> Any:
    """Return views of two axes at least, as ``numpy.atleast_2d``.

    Axes of length 1 are added in front: elements stay where they are, and nothing is sent.

    Parameters
    ----------
    *arys : array_like
        The arrays.

    Returns
    -------
    DistArray, or a tuple of one for each
        Views.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.atleast_2d([1, 2]).to_numpy()
    array([[1, 2]])
    """
    return _at_least(((None, None), None), arys)


@stands_for(np.atleast_3d)
def atleast_3d(*arys: ArrayLike) -> Any:
    """Return views of three axes at least, as ``numpy.atleast_3d``.

    Axes of length 1 are added: elements stay where they are, and nothing is sent.

    Parameters
    ----------
    *arys : array_like
        The arrays.

    Returns
    -------
    DistArray, or a tuple of one for each
        Views; a vector comes along the second axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _at_least(((None, None, None), (None, slice(None), None), (..., None)), arys)


@stands_for(np.broadcast_shapes)
def broadcast_shapes(*args: Shape) -> Ints:
    """Return the shape to which shapes broadcast, as ``numpy.broadcast_shapes``.

    A matter of numbers in the notebook: no array is needed, and nothing is sent.

    Parameters
    ----------
    *args : int or tuple of int
        The shapes.

    Returns
    -------
    tuple of int
        The shape.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> import distnb as dnb
    >>> dnb.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return np.broadcast_shapes(*args)
