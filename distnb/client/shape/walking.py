"""Walking over arrays in Python: ``ndenumerate``, ``nditer``, ``broadcast``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, in_memory, sealed
from distnb.client.record.creation import asarray
from distnb.client.shape.viewing import broadcast_arrays
from distnb.common.errors import explain

__all__: list[str] = []


class ndenumerate:  # noqa: N801 - NumPy's name
    """Yield indices and elements, in C order, as ``numpy.ndenumerate``.

    Elements are fetched several at a time.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [(index, float(x)) for index, x in dnb.ndenumerate([[1.0, 2.0]])]
    [((0, 0), 1.0), ((0, 1), 2.0)]
    """

    def __init__(self, arr: ArrayLike) -> None:
        self._array = asarray(arr)
        self._indices = np.ndindex(self._array.shape)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        index = next(self._indices)
        return index, self._array[index]


def nditer(
    op: ArrayLike | Sequence[ArrayLike],
    flags: Sequence[str] | None = None,
    op_flags: Sequence[Any] | None = None,
    *args: object,
    **options: object,
) -> np.nditer:
    """Return NumPy's ``nditer`` over the elements.

    Those on engines are brought to the notebook, which obeys the gather budget, to be read; those
    in the notebook are read and written where they are.

    Parameters
    ----------
    op : array_like, or a sequence of them
        The arrays.
    flags, op_flags, *args, **options
        As in ``numpy.nditer``.

    Returns
    -------
    numpy.nditer
        In the notebook.

    Raises
    ------
    TypeError
        If the iterator is to write into arrays on engines: it could write into a copy only.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     [int(x) for x in dnb.nditer(dnb.arange(3))]
    [0, 1, 2]
    """
    several = isinstance(op, tuple | list)
    given: Sequence[Any] = op if isinstance(op, tuple | list) else [op]
    hosts = [_lying(x) if isinstance(x, Array) else x for x in given]
    each: Any = hosts if several else hosts[0]
    numpys: Any = np.nditer
    try:
        return numpys(each, flags, op_flags, *args, **options)
    except ValueError as error:
        away = [x for x in given if isinstance(x, Array) and not x.at_home]
        if "is read-only" not in str(error) or not away:
            raise
        do = "assign to slices, or use distnb.map"
        raise TypeError(explain("op_flags", op_flags, "'readonly'", do)) from error


def _lying(x: Array) -> np.ndarray:
    """Return the elements as those of NumPy's array would lie: iterators go by that.

    Only if they are the array's own they can be written.
    """
    here = None if x.single else in_memory(x)
    return sealed(x, _lying_copy(x)) if here is None else here


def _lying_copy(x: Array) -> np.ndarray:
    found = np.asarray(x)
    if x.dview.is_whole(x.dbase.shape):
        return found
    turns = tuple(slice(None, None, -1 if step < 0 else 1) for _, _, step in x.dview.dims)
    order = sorted(range(x.ndim), key=lambda d: x.dview.dims[d][0])
    lying = found[turns].transpose(order).copy(order="C")
    return lying.transpose(np.argsort(order))[turns]


#: Arrays that are broadcast together, at most, as in NumPy.
_MOST = 64


class broadcast:  # noqa: N801 - NumPy's name
    """What arrays look like beside each other, as ``numpy.broadcast``; nothing is sent.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.broadcast(dnb.zeros((3, 1)), dnb.zeros(4)).shape
    (3, 4)
    """

    def __init__(self, *args: ArrayLike) -> None:
        if len(args) > _MOST:
            raise ValueError(f"Need at least 0 and at most {_MOST} array objects.")
        self._arrays = broadcast_arrays(*args)
        self.shape = self._arrays[0].shape if args else ()
        self.nd = self.ndim = len(self.shape)
        self.size = prod(self.shape)
        self.numiter = len(args)
        self.reset()

    @property
    def iters(self) -> tuple[Any, ...]:
        """An iterator over the elements of each, which obey the gather budget."""
        return tuple(iter(x.__array__().flat) for x in self._arrays)

    def reset(self) -> None:
        """Begin again."""
        self.index = 0
        self._left: Iterator[tuple[Any, ...]] | None = None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self._left is None:
            self._left = zip(*self.iters, strict=True)
        found = next(self._left)
        self.index += 1
        return found
