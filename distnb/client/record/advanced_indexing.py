"""Indexing by arrays: integers and masks, mixed with slices, as NumPy's advanced indexing.

An index is taken apart into a view, whose first axes are those that arrays index, and the arrays'
positions along them. Reading gathers, and assigning scatters
(:mod:`distnb.client.record.gather_scatter`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array, Elements
from distnb.client.handle.conversion import broadcast, check_session, move_out
from distnb.client.handle.host_arrays import all_here, stored, watched
from distnb.client.handle.indexing import BASIC, index_view
from distnb.client.handle.operands import is_sequence
from distnb.client.reach.decorators import in_reach
from distnb.client.reach.small_views import laid
from distnb.client.reach.whole_functions import put_in_reach
from distnb.client.record.gather_scatter import (
    Flat,
    Position,
    compressed,
    expand,
    gather,
    lazy_indices,
    moved,
    nonzero_indices,
    scatter,
)
from distnb.client.record.operations import assign
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.geometry.views import View, broadcast_shapes

__all__ = [
    "Index",
    "get_advanced",
    "has_array",
    "in_notebook",
    "is_advanced",
    "put_advanced",
    "values_for",
    "written_here",
]

_BOOLS = (bool, np.bool_)


def is_advanced(key: Subscript) -> bool:
    """Tell whether an index has arrays in it, or what NumPy takes for some."""
    if type(key) is not tuple and not isinstance(key, tuple):  # a named one is none, as any other
        return type(key) not in BASIC and _is_array(key)
    for k in key:  # noqa: SIM110 - half the time of any()
        if type(k) not in BASIC and _is_array(k):
            return True
    return False


def has_array(key: Subscript) -> bool:
    """Tell whether there is an array without axes in an index, of which NumPy makes a copy.

    What NumPy has as a scalar is none.
    """
    return any(
        isinstance(k, np.ndarray) or (isinstance(k, Array) and not k.single) for k in _items(key)
    )


def _is_array(k: object) -> bool:
    """Tell whether one item of an index counts as an array: numbers do not, but truth values do."""
    if isinstance(k, Array | np.ndarray | np.generic):
        return k.ndim > 0 or k.dtype.kind not in "iu"
    known = isinstance(k, bool | list | tuple | range)
    return known or hasattr(k, "__array__") or is_sequence(k)


@in_reach(operator.getitem, "picks")
def get_advanced(x: Array, key: Subscript) -> Any:
    """Return ``x[key]``, a copy.

    It lies as :func:`distnb.plans.gather_scatter.gathered_layout` says.
    """
    here: Any = x.here
    if here is not None and (plain := in_notebook((x, *_items(key)))) is not None:
        return laid(x.session, np.array(here[plain[1:]], order="K"), ())
    index = Index(x, key)
    found = None if index.mask is None else compressed(x, index.mask)
    if found is not None:
        return found
    flat = index.flat()
    return moved(gather(index.view_of(x), index.k, flat), flat.index.ndim, index.before)


def put_advanced(x: Array, key: Subscript, value: Any) -> None:
    """Do ``x[key] = value``; where an element is named more than once, the last value stays."""
    if put_in_reach(x, key, value):
        return
    if written_here("cast", _set, x, value, *_items(key)):
        return
    try:
        _put_on_engines(x, key, value)
    except IndexError as error:  # NumPy looks at values before
        if "out of bounds" in str(error) and not isinstance(value, Array):
            _host_values(value, x.dtype)
        raise


def _put_on_engines(x: Array, key: Subscript, value: Any) -> None:
    index = Index(x, key)
    move_out(x.dbase)
    x.session.check_open()
    mask = index.mask
    if mask is None and index.alone is not None:  # it has no elements
        _check_count(index, 0, value)
    if mask is not None and np.size(value) == 1 >= np.ndim(value):
        more = (..., *(None,) * (x.ndim - mask.ndim))
        assign(x, value if np.ndim(value) == 0 else value[0], mask[more])
        return
    if mask is not None and expand(x, mask, lambda n: _masked_values(index, value, n)):
        return
    flat = index.flat(sure=True)
    if mask is not None:
        _check_count(index, flat.index.size, value)
    values = values_for(x, value, index.shape(flat), flat.index.ndim, index.before)
    scatter(index.view_of(x), index.k, flat, values)


def in_notebook(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return arguments as NumPy gets them, if all arrays are where the first is; else None."""
    if not all_here(given, given[0].session):
        return None
    return tuple(g.here if isinstance(g, Array) else g for g in given)


def _set(near: np.ndarray, value: ArrayLike, *key: Subscript) -> None:
    near[key] = value  # type: ignore[index] # lists among the keys


def written_here(
    name: str, run: Callable[..., Any], x: Array, *args: object, **options: object
) -> bool:
    """Let NumPy write into an array, ``run(x, *args)``, if that is to be done in the notebook.

    It is where all are there, and where it must stay as views of it that only NumPy has. Meanwhile
    no other thread gives it to engines.
    """
    with x.session.recorder.lock:
        plain = in_notebook((x, *args))
        if plain is None and x.here is not None and x.dbase.related():
            plain = (x.here, *[y.to_numpy() if isinstance(y, Array) else y for y in args])
        if plain is None:
            return False
        x.dbase.about_to_be_written()
        watched(name, run, *plain, **options)
    return True


def _items(key: Subscript) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _masked_values(index: Index, value: Any, n: int) -> Any:
    """Return the values for ``n`` elements that a mask names, as an array."""
    _check_count(index, n, value)
    shape = index.shape_of((n,))
    found = values_for(index.x, value, shape, 1)
    return np.full(shape, found) if isinstance(found, np.generic) else found


def _check_count(index: Index, n: int, value: ArrayLike) -> None:
    """Raise what NumPy raises for values that are not as many as a mask of all axes takes."""
    if index.k != len(index.view.shape):
        return
    if np.ndim(value) > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input "
            f"has {np.ndim(value)} dimensions"
        )
    if np.size(value) not in (1, n):
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {np.size(value)} input values "
            f"to the {n} output values where the mask is true"
        )


def values_for(
    x: Array, value: Any, shape: Ints, ndim: int, before: int = 0, dtype: np.dtype | None = None
) -> Any:
    """Return values for elements of a shape, as :func:`place` takes them.

    The ``ndim`` axes of the flat indices come after ``before`` others in ``shape``, but first in
    what is placed.
    """
    if isinstance(value, Array) and value.here is None:
        check_session(value, x.session)
        value = broadcast(_fitting(value, shape), shape)
    else:
        data = _host_values(value, x.dtype if dtype is None else dtype)
        if data.size == 1 and data.ndim <= len(shape):
            return data.reshape(())[()]
        value = np.broadcast_to(_fitting(data, shape), shape)
    order = (*range(before, before + ndim), *range(before), *range(before + ndim, len(shape)))
    if isinstance(value, Array):
        return value.alias(value.dview.transpose(order))
    return np.ascontiguousarray(value.transpose(order))


def _host_values(value: ArrayLike, dtype: np.dtype) -> np.ndarray:
    """Return values in the notebook as an array of a dtype; NumPy refuses what cannot be stored."""
    data = value.here if isinstance(value, Array) else value
    if not isinstance(data, np.ndarray | np.generic):
        return np.asarray(data, dtype)
    if not data.ndim:
        return np.asarray(stored(data, dtype))
    found = np.empty(data.shape, dtype)
    watched("cast", found.__setitem__, ..., data)
    return found


def _fitting(value: Elements, shape: Ints) -> Any:
    """Return values without leading axes of length 1 that a shape does not have."""
    found = value.shape
    extra = max(0, len(found) - len(shape))
    try:
        good = found[:extra] == (1,) * extra
        good = good and broadcast_shapes(found[extra:], shape) == shape
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            f"shape mismatch: value array of shape {found} could not be broadcast to indexing "
            f"result of shape {shape}"
        )
    if isinstance(value, Array):
        return value.alias(value.dview.of_ndim(value.ndim - extra)) if extra else value
    return value.reshape(found[extra:]) if extra else value


# -- taking an index apart -------------------------------------------------------------------------


#: Axes of an array, and operands of an index, at most, as in NumPy.
_MOST = 64


class Index:
    """An index with arrays in it, taken apart for an array.

    ``view``: the array's, with the axes that arrays index first; there are ``k``. ``before``: how
    many other axes come before those of the arrays in the result.
    """

    def __init__(self, x: Array, key: Subscript) -> None:
        self.x = x
        self.session = x.session
        self.items = [_item(k) for k in _items(key)]
        self.arrays = [k for k in self.items if isinstance(k, Array)]
        many = sum(isinstance(k, Array | np.ndarray) for k in self.items)
        if many >= _MOST:
            raise IndexError(f"too many advanced indices: got {many}")
        for a in self.arrays:
            check_session(a, x.session)
        walk = _Walk(x.dview, x.shape)
        for k in _with_ellipsis(self.items, x.ndim):
            walk.step(k)
        self.positions = walk.positions
        self.k = len(walk.indexed)
        others = [d for d in range(len(walk.view.shape)) if d not in walk.indexed]
        self.view = walk.view.transpose((*walk.indexed, *others))
        self.before = walk.before

    @property
    def mask(self) -> Any:
        """The mask that is all of the index, and has elements; or None."""
        mask = self.alone
        return mask if mask is not None and mask.size else None

    @property
    def alone(self) -> Any:
        """The mask that is all of the index, or None."""
        if len(self.items) != 1 or not _is_mask(self.items[0]) or not self.items[0].ndim:
            return None
        return self.items[0]

    def flat(self, sure: bool = False) -> Flat:
        """Return the flat indices into the indexed axes; masks are counted.

        ``sure`` is as in :func:`flat_indices`.
        """
        found = [
            p._replace(index=nonzero_indices(p.index), checked=True) if _is_mask(p.index) else p
            for p in self.positions
        ]
        return lazy_indices(self.session, found, sure)

    def shape(self, flat: Flat) -> Ints:
        """Return the shape of the result."""
        return self.shape_of(flat.index.shape)

    def shape_of(self, indices: Ints) -> Ints:
        """Return the shape of the result, for indices of a shape."""
        others = self.view.shape[self.k :]
        if len(others) + len(indices) > _MOST:
            raise IndexError(
                f"number of dimensions must be within [0, {_MOST}], indexing result would have "
                f"{len(others) + len(indices)}"
            )
        return (*others[: self.before], *indices, *others[self.before :])

    def view_of(self, x: Array) -> Any:
        """Return the array seen so that the first ``k`` axes are those that arrays index."""
        return x.alias(self.view)


@dataclass
class _Walk:
    """The way through an index: the view so far, and what is known about its axes."""

    view: View
    shape: Ints
    d: int = 0  # next axis of the view
    s: int = 0  # next axis of the array
    indexed: list[int] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    before: int = 0
    #: 0: no array or number yet, 1: among them, 2: after them
    state: int = 0

    def step(self, k: Any) -> None:
        """Take one item of the index."""
        if isinstance(k, Array | np.ndarray):
            self._joined()
            self._array(k)
        elif k is None or isinstance(k, slice):
            self._apart()
            self.view = index_view(self.view, (*(slice(None),) * self.d, k))[0]
            self.d, self.s = self.d + 1, self.s + (k is not None)
        elif isinstance(k, _Rest):
            self._apart()
            self.d, self.s = self.d + k.count, self.s + k.count
        else:
            self._joined()
            i = checked_number(k, self.shape[self.s], self.s)
            self.view, self.s = self.view.fix(self.d, i), self.s + 1

    def _joined(self) -> None:
        """Note an item of those that are indexed together; if not side by side, they come first."""
        if self.state == 0:
            self.before, self.state = self.d - len(self.indexed), 1
        elif self.state == 2:
            self.before = 0

    def _apart(self) -> None:
        self.state = 2 if self.state else 0

    def _array(self, k: Elements) -> None:
        """Take an array, along one axis, or a mask along as many as it has."""
        if not _is_mask(k):
            self._add(Position(k, self.shape[self.s], self.s), 1)
            return
        if not k.ndim:  # one more axis, all of it or nothing
            self.view = self.view.insert(self.d)
            self._add(Position(np.zeros(int(bool(k)), np.int64), 1, self.s, True), 1, 0)
            return
        lengths = self.shape[self.s : self.s + k.ndim]
        for i, (n, m) in enumerate(zip(lengths, k.shape, strict=True)):
            if n != m and m:  # of a mask without elements NumPy asks no more
                raise IndexError(
                    f"boolean index did not match indexed array along axis {self.s + i}; size of "
                    f"axis is {n} but size of corresponding boolean axis is {m}"
                )
        if not k.size:  # whatever its other lengths are
            k = np.zeros(0, np.int64)
            self._add(Position(k, prod(lengths), self.s), len(lengths))
            return
        self._add(Position(k, prod(k.shape), self.s), k.ndim)

    def _add(self, position: Position, count: int, used: int | None = None) -> None:
        self.positions.append(position)
        self.indexed += range(self.d, self.d + count)
        self.d, self.s = self.d + count, self.s + (count if used is None else used)


@dataclass
class _Rest:
    """An ellipsis, which stands for ``count`` axes."""

    count: int


def checked_number(k: SupportsIndex, n: int, axis: int) -> int:
    """Return an index as a number from 0 to n - 1."""
    i = operator.index(k)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i % n


def _with_ellipsis(items: list[Any], ndim: int) -> list[Any]:
    """Return the items with a rest for the axes that are not named."""
    used = sum(_axes_of(k) for k in items)
    if sum(1 for k in items if k is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    rest = _Rest(ndim - used)
    if any(k is Ellipsis for k in items):
        return [rest if k is Ellipsis else k for k in items]
    return [*items, rest]


def _axes_of(k: object) -> int:
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if isinstance(k, Array | np.ndarray) and _is_mask(k) else 1


def _is_mask(k: Elements) -> bool:
    return k.dtype == bool


def _item(k: Any) -> Any:
    """Return an item of an index as None, '...', a slice, a number, an ndarray or an array."""
    if type(k) in BASIC:
        return k
    if not isinstance(k, Array):
        if not _is_array(k):
            return _number(k)
        empty = not isinstance(k, np.ndarray) and np.size(k) == 0
        k = np.asarray(k, np.int64) if empty else np.asarray(k)
    if k.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if not k.ndim and k.dtype.kind == "b" and isinstance(k, Array):
        one: Any = k
        return np.asarray(one.to_numpy())  # how long the result is depends on it
    return k


def _number(k: Any) -> int:
    try:
        return operator.index(k)
    except TypeError:
        raise IndexError(
            explain("index", type(k).__name__, "integers, slices, '...', None or arrays", "convert")
        ) from None
