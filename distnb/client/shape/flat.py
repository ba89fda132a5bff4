"""``flat``: the elements of an array in C order, to index, to assign to, and to walk over."""

from __future__ import annotations

import operator
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import Readable
from distnb.client.handle.host_arrays import stored
from distnb.client.reach.admission import brought
from distnb.client.reach.aliasing import outline
from distnb.client.reach.small_steps import store
from distnb.client.reach.whole_functions import written_in_reach
from distnb.client.record.creation import asarray
from distnb.client.record.operations import assign
from distnb.client.session.session import Session
from distnb.client.shape.reshaping import flatten, ravel, reshape, resize
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["Flat"]

#: Does ``x.flat = value``, for which NumPy first copies what is not in C order.
_SET = vars(np.ndarray)["flat"].__set__
#: Axes of arrays whose elements NumPy walks over.
_MOST_FLAT = 32
#: Elements that come at a time, at first and at most.
_AHEAD, _MOST_AHEAD = 1 << 12, 1 << 17


class Flat(Readable):
    """The elements of an array in C order, as ``numpy.ndarray.flat``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.zeros((2, 3), dtype=int)
    ...     a.flat[1::2] = [7, 8, 9]
    ...     a.flat[4].item(), a.to_numpy()
    (0, array([[0, 7, 0],
           [8, 0, 9]]))
    """

    def __init__(self, x: Array) -> None:
        if x.ndim > _MOST_FLAT:
            raise RuntimeError(
                explain("flat", f"{x.ndim} axes", f"at most {_MOST_FLAT}", "use .ravel()")
            )
        self.base = x
        self._reset()

    def _reset(self) -> None:
        """Begin again: the next element is the first one."""
        self._at = 0
        self._left: Iterator[Any] | None = None

    def __delitem__(self, key: object) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Read the element whose turn it is, as it is now; many are fetched at a time."""
        if self._left is None:
            self._left = _one_by_one(self.base)
        found = next(self._left)
        self._at += 1
        return found

    @property
    def index(self) -> int:
        """The position of the element whose turn it is."""
        return self._at

    @property
    def coords(self) -> Ints:
        """The index of the element whose turn it is; after the last one, that of one row more."""
        return _place(self._at, self.base.shape)

    def copy(self) -> Array:
        """Return a copy of the elements along one axis."""
        return flatten(self.base)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return the elements as a NumPy array; obeys the gather budget."""
        found = self.base.__array__().reshape(-1)
        return found if dtype is None else found.astype(dtype)

    def __distarray__(self, session: Session | None) -> Array:
        """Return the elements as operations take them."""
        return ravel(self.base)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(_unflat, inputs), **options)

    def __eq__(self, other: object) -> Any:
        return ravel(self.base) == _unflat(other)

    def __ne__(self, other: object) -> Any:
        return ravel(self.base) != _unflat(other)

    def __lt__(self, other: ArrayLike) -> Any:
        return ravel(self.base) < _unflat(other)

    def __le__(self, other: ArrayLike) -> Any:
        return ravel(self.base) <= _unflat(other)

    def __gt__(self, other: ArrayLike) -> Any:
        return ravel(self.base) > _unflat(other)

    def __ge__(self, other: ArrayLike) -> Any:
        return ravel(self.base) >= _unflat(other)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Array:
        self._reset()
        if type(key) is int:
            return self.base[self._index(key)]
        key = _flat_key(key, len(self))
        return self.base[self._index(key)] if _is_integer(key) else ravel(self.base)[key].copy()

    def __setitem__(self, key: Any, value: ArrayLike) -> None:
        """Assign; as in NumPy, too few values are repeated, and of none nothing is assigned."""
        self._reset()
        x = self.base
        if type(key) is int and store(x, self._index(key), value):
            return
        key = _flat_key(key, len(self))
        # Of an array that overlaps NumPy reads what it has written
        if written_in_reach("cast", _put, "exact", x, value, key):
            return
        if not isinstance(value, Array | np.ndarray | np.generic):
            value = _held(value, x.dtype, key)
        if _is_integer(key):
            x[self._index(key)] = value
            return
        if isinstance(key, tuple):
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        if not value.size:
            return
        if isinstance(value, np.generic):  # which it casts, unlike those assigned to a slice
            value = np.asarray(stored(value, x.dtype))
        shown = outline(x).flags.c_contiguous  # what is written into ravel(x) is in x
        flat = ravel(x) if shown else flatten(x)
        flat[key] = value if value.size == 1 else _repeated(value, key, flat)
        if not shown:
            assign(x, reshape(flat, x.shape))

    def assign(self, value: ArrayLike) -> None:
        """Assign to all elements, as ``x.flat = value``."""
        if not written_in_reach("cast", _SET, "exact", self.base, value):
            self[:] = value

    def _index(self, key: SupportsIndex) -> tuple[Any, ...]:
        i, n = operator.index(key), self.base.size
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for size {n}")
        return _place(i % n, self.base.shape)


def _put(x: np.ndarray, value: np.ndarray, key: slice) -> None:
    """Assign to elements in C order."""
    x.flat[key] = value


def _repeated(value: ArrayLike, key: Any, flat: Array) -> Array:
    """Return values as often as an index has elements, which only a mask does not tell itself."""
    whole = isinstance(key, Array | np.ndarray) and key.dtype.kind != "b"
    return resize(asarray(value, session=flat.session), key.shape if whole else flat[key].shape)


def _held(value: ArrayLike, dtype: np.dtype, key: Any) -> np.ndarray:
    """Return what is no array as one; numbers that it cannot hold are refused, as NumPy does.

    A bool that is an element tells whether a list is empty.
    """
    try:
        number = bool(value) if dtype.char == "?" and _is_integer(key) else value
        return np.asarray(number, dtype)
    except (TypeError, OverflowError) as error:
        if not _is_integer(key):
            raise
        raise ValueError("Error setting single item of array.") from error


def _place(at: int, shape: Ints) -> Ints:
    """Return the index of a position in C order; past the end it is that of one row more."""
    found: list[int] = []
    for n in shape[:0:-1]:
        at, i = divmod(at, n or 1)
        found.append(i)
    return (at, *found[::-1]) if shape else ()


def _one_by_one(x: Array) -> Iterator[Any]:
    """Read elements in C order, each as it is when it is its turn.

    Those in reach are read where they lie, until they leave. Others come many at a time, and hold
    until anything is recorded that might write them; of a loop that writes, few come the next time.
    """
    if x.ndim < 2:
        yield from cast("Any", x if x.ndim else x.alias(x.dview.insert(0)))
        return
    at, ahead = 0, _AHEAD
    while at < x.size:
        if x.near is not None or brought(x):
            at = yield from _near_ones(x, at)
            continue
        some = x[_next_box(x.shape, at, ahead)].to_numpy()
        read = yield from _fresh_ones(x, some)
        at, ahead = at + read, min(2 * (ahead if read == some.size else read), _MOST_AHEAD)


def _near_ones(x: Array, at: int) -> Generator[Any, None, int]:
    """Read elements in reach until they leave; returns where the next one is."""
    near, whole = cast("np.ndarray", x.near), x._whole
    for value in islice(near.flat, at, None):
        yield value
        at += 1
        if x._near is not near or (whole is not None and x.dbase.near is not whole):
            break
    return at


def _fresh_ones(x: Array, some: np.ndarray) -> Generator[Any, None, int]:
    """Read what was fetched until it may be written; returns how many were read."""
    session, read = x.session, 0
    state = session.changes, session.transport.foreign
    for value in some.flat:
        yield value
        read += 1
        if (session.changes, session.transport.foreign) != state:
            break
    return read


def _next_box(shape: Ints, at: int, n: int) -> tuple[int | slice, ...]:
    """Return an index of elements that follow each other in C order: at most ``n``, but one."""
    index, inner, d = np.unravel_index(at, shape), 1, len(shape) - 1
    while d and not index[d] and inner * shape[d] <= n:
        inner *= shape[d]
        d -= 1
    first = int(index[d])
    return (*map(int, index[:d]), slice(first, first + max(n // inner, 1)))


def _unflat(x: Any) -> Any:
    """Return elements that are to be compared: those of an iterator as an array."""
    return ravel(x.base) if isinstance(x, Flat) else x


def _flat_key(key: object, n: int) -> Any:
    """Return an index of ``n`` elements in C order; raises IndexError for what NumPy refuses."""
    if isinstance(key, Flat):
        return key.__array__()
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if type(key) is list and key and (given := np.array(key)).dtype.kind == "i":
        return given
    if isinstance(key, Array) and key.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    kind = getattr(getattr(key, "dtype", None), "kind", "")
    mask = kind == "b" and np.ndim(cast(Any, key)) == 1
    whole = isinstance(key, slice) and all(
        k is None or _is_integer(k) for k in (key.start, key.stop, key.step)
    )
    none = isinstance(key, tuple) and not key
    if whole or mask or none or key is Ellipsis or kind in ("i", "u") or _is_integer(key):
        return key
    return np.arange(n).flat[cast(Any, key)]  # what is unusual NumPy makes positions of, or refuses


def _is_integer(key: Any) -> bool:
    try:
        return not isinstance(key, bool | np.bool_) and operator.index(key) is not None
    except TypeError:
        return False
