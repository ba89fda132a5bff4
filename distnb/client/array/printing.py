"""``print(x)`` as NumPy prints: of a large array, only the edges are fetched."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for

__all__: list[str] = []


def _edges(x: Array, threshold: int, items: int) -> np.ndarray:
    """Return what is printed of an array; the one element between edges stands for the rest.

    Each corner is fetched on its own: 2 along each axis that is shortened.
    """
    if x.size <= threshold:
        return x.to_numpy()
    short = [n > 2 * items for n in x.shape]
    found = np.zeros(
        [2 * items + 1 if s else n for s, n in zip(short, x.shape, strict=True)], x.dtype
    )
    ends = (slice(0, items), slice(-items, None)) if items else ()
    for corner in product(*(ends if s else (slice(None),) for s in short)):
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

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     print(dnb.arange(10_000).reshape(100, 100))
    [[   0    1    2 ...   97   98   99]
     [ 100  101  102 ...  197  198  199]
     [ 200  201  202 ...  297  298  299]
     ...
     [9700 9701 9702 ... 9797 9798 9799]
     [9800 9801 9802 ... 9897 9898 9899]
     [9900 9901 9902 ... 9997 9998 9999]]
    """
    x, usual = asarray(a), np.get_printoptions()
    most = usual["threshold"] if threshold is None else threshold
    items = usual["edgeitems"] if edgeitems is None else edgeitems
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
    """Return the elements as text, as ``numpy.array_str``; see ``array2string``."""
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
    """Return an array as NumPy's ``repr`` writes one; of a large one, the edges are fetched."""
    x, usual = asarray(arr), np.get_printoptions()
    most, items = usual["threshold"], usual["edgeitems"]
    if x.size <= most:
        return np.array_repr(x.to_numpy(), max_line_width, precision, suppress_small)
    with np.printoptions(threshold=0):
        text = np.array_repr(_edges(x, most, items), max_line_width, precision, suppress_small)
    return f"{text[: text.rindex(', shape=')]}, shape={x.shape})"
