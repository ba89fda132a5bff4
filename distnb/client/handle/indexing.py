"""From what users write between brackets, and as ``axis=``, to views and axis numbers."""

from __future__ import annotations

import operator
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.batching.call_sites import from_users_line
from distnb.client.handle.arguments import Axes, Shape, Subscript
from distnb.common.errors import explain, quoted
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["BASIC", "Turn", "index_view", "lengths", "one_axis", "some_axes", "view_of"]


class Turn(NamedTuple):
    """The order in which a view has the axes of another one; no index is equal to it."""

    axes: Ints


def one_axis(axis: Any, ndim: int) -> int:
    """Return an axis as a non-negative number; raises AxisError."""
    try:
        i = operator.index(axis)
    except TypeError:
        raise TypeError(explain("axis", quoted(axis), "an integer", "pass a number")) from None
    if not -ndim <= i < ndim:
        raise np.exceptions.AxisError(i, ndim)
    return i % ndim


def is_turn(order: tuple[Any, ...], ndim: int) -> bool:
    """Tell whether axes are all of an array, as Python's numbers from 0 on."""
    for d in order:
        if type(d) is not int:
            return False
    return sorted(order) == [*range(ndim)]


def no_bool(axis: Any) -> Any:
    """Return an axis; raise TypeError for a bool, as those of NumPy's functions that are in C."""
    if isinstance(axis, bool | np.bool_):
        raise TypeError(explain("axis", quoted(axis), "an integer", "pass a number"))
    return axis


def check_levels(value: Any, ndim: int, dtype: np.dtype, element: bool) -> Any:
    """Return a value to assign; raise what NumPy raises for a list of too many levels.

    Of no axes that is an element, or a view, of which NumPy tells in another way: a bool that is an
    element tells whether a list is empty.
    """
    if not ndim and not element and isinstance(value, list | tuple):
        np.empty((), dtype)[...] = value
    if not ndim:
        one = np.empty(1, dtype)
        if isinstance(value, list | tuple | np.ma.MaskedArray):  # NumPy may warn of the last one
            from_users_line(one.__setitem__, 0, value)
            return one[0] if element else value
        if np.ndim(value):  # NumPy says whether that is a number
            one[0] = np.zeros(np.shape(value), dtype)
        return value
    levels, first = 0, value
    while isinstance(first, list | tuple) and first:
        levels, first = levels + 1, first[0]
    levels += np.ndim(first) if levels else 0  # arrays among them are levels as well
    if levels > ndim:
        raise ValueError(
            explain("value to assign", f"{levels} levels of lists", f"at most {ndim}", "flatten it")
        )
    return value


def place_of(index: tuple[Any, ...], shape: Ints) -> tuple[int, ...]:
    """Return what ``x.item(*index)`` takes: an index for each axis, or one in C order."""
    given = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    found = tuple(map(operator.index, given))
    if len(found) == 1 and len(shape) != 1:
        n = prod(shape)
        if not -n <= found[0] < n:
            raise IndexError(f"index {found[0]} is out of bounds for size {n}")
        return tuple(map(int, np.unravel_index(found[0] % n, shape)))
    if len(found) != len(shape):
        raise ValueError(
            explain("item()", f"{len(found)} indices", f"{len(shape)} or 1", "pass one an axis")
        )
    return found


def several(axis: Axes) -> tuple[Any, ...]:
    """Return one axis, or any iterable of axes, as a tuple."""
    if isinstance(axis, tuple | list):
        return tuple(axis)
    given: Any = axis
    try:
        return (operator.index(given),)
    except TypeError:
        listed = np.iterable(given) and not isinstance(given, str | bytes)
        return tuple(given) if listed else (given,)


def some_axes(axis: Axes, ndim: int) -> Ints:
    """Return axes as distinct non-negative numbers, ascending; None means all."""
    found = range(ndim) if axis is None else sorted(one_axis(a, ndim) for a in several(axis))
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(found)


def as_in_c(axis: Axes) -> Axes:
    """Return axes; raise TypeError for what those of NumPy's functions refuse that are in C."""
    given: Any = axis
    if not isinstance(axis, tuple) and np.iterable(axis) and np.ndim(given):
        raise TypeError(
            explain("axis", quoted(axis), "an integer or a tuple of them", "pass a tuple")
        )
    return no_bool(axis)


def reduced_axes(axis: Axes, ndim: int) -> Ints:
    """Return the axes of a reduction."""
    return some_axes(as_in_c(axis), ndim)


def index_view(view: View, key: Subscript) -> tuple[View, bool]:
    """Return the view of a basic index, and whether it takes a single element.

    Raises IndexError as NumPy does.
    """
    plain = _plain(key)
    return _index(view, key) if plain is None else _known(view, plain)


def view_of(seen: Any, shape: Ints) -> View:
    """Return the view of a base of a shape that one is told of.

    ``seen`` is it, or None for all of the base, or one that one is told of and what takes the view
    from there.
    """
    if seen is None:
        return View.whole(shape)
    if isinstance(seen, View):
        return seen
    parent, key = seen
    view = view_of(parent, shape)
    return view.transpose(key.axes) if type(key) is Turn else index_view(view, key)[0]


#: Types of an index that has no arrays in it.
BASIC = frozenset((int, slice, type(None), type(Ellipsis)))

#: What numbers of an index may be if it is looked up: True and 1.0 would be found as 1.
_EXACT = frozenset((int, type(None)))


def _plain(key: Subscript) -> tuple[Any, ...] | None:
    """Return an index of ints, slices, None and '...' as something to look up, else None."""
    found: list[Any] = []
    for k in key if type(key) is tuple else (key,):
        if type(k) is slice:
            part = (k.start, k.stop, k.step)
            if not (
                type(part[0]) in _EXACT and type(part[1]) in _EXACT and type(part[2]) in _EXACT
            ):
                return None
            found.append(part)
        elif type(k) in _EXACT or k is Ellipsis:
            found.append(k)
        else:
            return None
    return tuple(found)


#: Axes that NumPy's arrays can have.
_MOST = 64


@lru_cache(maxsize=4096)
def _known(view: View, plain: tuple[Any, ...]) -> tuple[View, bool]:
    return _index(view, tuple(slice(*k) if type(k) is tuple else k for k in plain))


def _index(view: View, key: Subscript) -> tuple[View, bool]:
    items = list(key) if isinstance(key, tuple) else [key]
    ndim = len(view.shape)
    used = sum(1 for k in items if k is not None and k is not Ellipsis)
    if sum(1 for k in items if k is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > ndim:
        raise IndexError(
            explain(
                "index", f"{used} indices", f"at most {ndim} for shape {view.shape}", "drop some"
            )
        )
    if ndim + sum(1 for k in items if k is None) > _MOST:
        raise IndexError(f"number of dimensions must be within [0, {_MOST}]")
    for k in items:  # whatever is wrong with a slice, too
        if k is not None and k is not Ellipsis and not isinstance(k, slice):
            _integer(k)
    has_ellipsis = any(k is Ellipsis for k in items)
    if not has_ellipsis:
        items.append(Ellipsis)
    d = missing = 0  # of the view that is made: the axis, and how many before it are missing
    for k in items:
        if k is Ellipsis:
            d += ndim - used
        elif k is None:
            view, d, missing = view.insert(d), d + 1, missing - 1
        elif isinstance(k, slice):
            start, stop, step = _slice(k, view.shape[d])
            view, d = view.take(d, start, step, len(range(start, stop, step))), d + 1
        else:
            view = view.fix(d, _position(k, view.shape[d], d + missing))
            missing += 1
    element = (
        not has_ellipsis
        and used == ndim
        and all(k is not None and not isinstance(k, slice) for k in items[:-1])
    )
    return view, (element and used > 0) or (ndim == 0 and key == ())


def _slice(k: slice, n: int) -> tuple[int, int, int]:
    try:
        start, stop, step = k.indices(n)
    except TypeError:
        raise TypeError(
            explain("slice", k, "integers, or None", "convert the bounds with int()")
        ) from None
    longest = max(n, 1)  # a longer step has one element, too, but no stride
    return start, stop, max(-longest, min(step, longest))


def _integer(k: Any) -> int:
    """Return an index as an integer; raises IndexError for anything else."""
    try:
        i = None if isinstance(k, bool | np.bool_) else operator.index(k)
    except TypeError:
        i = None
    if i is None:
        raise IndexError(
            explain(
                "index",
                f"{type(k).__name__}",
                "integers, slices, '...', None, and arrays of integers or of truth values",
                "pass one of these",
            )
        )
    return i


def _position(k: Any, n: int, d: int) -> int:
    i = _integer(k)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {d} with size {n}")
    return i % n


def _length(n: Any) -> int:
    """Return a length as a Python integer; a truth value is none."""
    if isinstance(n, bool | np.bool_):
        raise TypeError
    return operator.index(n)


def _are_plain(shape: tuple[Any, ...]) -> bool:
    """Tell whether lengths are Python's integers as they should be."""
    for n in shape:  # noqa: SIM110 - half the time of all()
        if type(n) is not int or n < 0:
            return False
    return True


def lengths(shape: Shape) -> Ints:
    """Return a shape as a tuple of Python integers."""
    if type(shape) is int and shape >= 0:
        return (shape,)
    if type(shape) is tuple and _are_plain(shape):
        return shape
    several = isinstance(shape, tuple | list) or getattr(shape, "ndim", 0) == 1
    given: Any = shape if several else (shape,)
    try:
        found = tuple(_length(n) for n in given)
    except TypeError:
        raise TypeError(
            explain("shape", quoted(shape), "integers", "pass an integer or a tuple of them")
        ) from None
    if any(n < 0 for n in found):
        raise ValueError(explain("shape", found, "no negative lengths", "check the arithmetic"))
    return found
