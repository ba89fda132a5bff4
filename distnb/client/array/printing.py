"""``print(x)`` as NumPy prints: of a large array, only the edges are fetched."""

from __future__ import annotations

from itertools import product
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.geometry.layout import Ints

__all__ = ["corners", "edges_of", "hollow"]


def corners(shape: Ints, items: int) -> list[Any]:
    """Return what is printed of an array as slices: 2 along each axis that is shortened.

    With 0 ``items`` it is all.
    """
    if not shape:
        return [...]
    ends = (slice(0, items), slice(-items, None))
    return list(product(*(ends if 0 < 2 * items < n else (slice(None),) for n in shape)))


def hollow(shape: Ints, dtype: np.dtype, items: int) -> np.ndarray:
    """Return an array for the corners; one element between them stands for the rest."""
    short = [2 * items + 1 if 0 < 2 * items < n else n for n in shape]
    return np.zeros(short, dtype)


def edges_of(x: np.ndarray, items: int) -> np.ndarray:
    """Return the corners of an array of NumPy's in one."""
    found = hollow(x.shape, x.dtype, items)
    for corner in corners(x.shape, items):
        found[corner] = x[corner]
    return found


def _edges(x: Array, threshold: int, items: int) -> np.ndarray:
    """Return what is printed of an array; each corner is fetched on its own."""
    if x.size <= threshold:
        return x.to_numpy()
    if not items:
        return np.zeros([int(n > 0) for n in x.shape], x.dtype)
    found = hollow(x.shape, x.dtype, items)
    for corner in corners(x.shape, items):
        found[corner] = x[corner].to_numpy()
    return found


@stands_for(np.array2string)
def array2string(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    threshold: int | None = None,
    edgeitems: int | None = None,
    **options: Any,
) -> str:
    """Return an array as text, as ``numpy.array2string``.

    Of an array with more than ``threshold`` elements only the edges are sent to the notebook.

    Parameters
    ----------
    a : array_like
        The array.
    max_line_width, precision, suppress_small, separator, prefix
        As in NumPy.
    threshold : int, optional
        From how many elements on it is shortened; by default as ``numpy.printoptions`` say.
    edgeitems : int, optional
        How many elements are written at each end of an axis that is shortened.
    **options
        Others of NumPy's.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     print(dnb.array2string(dnb.arange(10_000).reshape(100, 100), separator=", "))
    [[   0,    1,    2, ...,   97,   98,   99],
     [ 100,  101,  102, ...,  197,  198,  199],
     [ 200,  201,  202, ...,  297,  298,  299],
     ...,
     [9700, 9701, 9702, ..., 9797, 9798, 9799],
     [9800, 9801, 9802, ..., 9897, 9898, 9899],
     [9900, 9901, 9902, ..., 9997, 9998, 9999]]
    """
    x, usual = asarray(a), np.get_printoptions()
    most = usual["threshold"] if threshold is None else threshold
    items = usual["edgeitems"] if edgeitems is None else index(edgeitems)
    shown, limit = _edges(x, most, items), 0 if x.size > most else most
    return np.array2string(
        shown,
        max_line_width,
        precision,
        suppress_small,
        separator,
        prefix,
        threshold=limit,
        edgeitems=items,
        **options,
    )


@stands_for(np.array_str)
def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the elements as text, as ``numpy.array_str``.

    Of a large array only the edges are sent to the notebook, as by :func:`distnb.array2string`.

    Parameters
    ----------
    a : array_like
        The array.
    max_line_width, precision, suppress_small
        As in NumPy.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.array_str(dnb.arange(10_000))
    '[   0    1    2 ... 9997 9998 9999]'
    """
    x = asarray(a)
    if not x.ndim:
        return np.array_str(x.to_numpy(), max_line_width, precision, suppress_small)
    return array2string(x, max_line_width, precision, suppress_small)


@stands_for(np.array_repr)
def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return an array as NumPy's ``repr`` writes one, as ``numpy.array_repr``.

    Of a large array only the edges are sent to the notebook, as by :func:`distnb.array2string`.

    Parameters
    ----------
    arr : array_like
        The array.
    max_line_width, precision, suppress_small
        As in NumPy.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.array_repr(dnb.arange(3))
    'array([0, 1, 2])'
    """
    x, usual = asarray(arr), np.get_printoptions()
    most, items = usual["threshold"], usual["edgeitems"]
    if x.size <= most:
        return np.array_repr(x.to_numpy(), max_line_width, precision, suppress_small)
    with np.printoptions(threshold=0):
        text = np.array_repr(_edges(x, most, items), max_line_width, precision, suppress_small)
    return f"{text[: text.rindex(', shape=')]}, shape={x.shape})"
