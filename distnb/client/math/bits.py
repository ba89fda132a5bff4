"""Bits of bytes: ``packbits``, ``unpackbits``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, is_whole
from distnb.client.handle.indexing import one_axis
from distnb.client.math.padding import pad
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.client.shape.reshaping import ravel, reshape
from distnb.common.errors import explain

__all__: list[str] = []


def _last(x: Array, axis: int | None) -> tuple[Array, int]:
    """Return an array with an axis brought to the end, and which it was."""
    x = ravel(x) if axis is None or not x.ndim else x
    d = -1 if axis is None else one_axis(axis, x.ndim)
    return x.swapaxes(d, -1), d


def _shifts(bitorder: str) -> np.ndarray:
    """Return by how much the bits of a byte are shifted, in their order."""
    if not isinstance(bitorder, str):
        raise TypeError(explain("bitorder", repr(bitorder), "'big' or 'little'", "choose one"))
    if bitorder not in ("big", "little"):
        raise ValueError(explain("bitorder", repr(bitorder), "'big' or 'little'", "choose one"))
    up = np.arange(8, dtype=np.uint8)
    return up if bitorder == "little" else up[::-1].copy()


@stands_for(np.packbits, small="exact")
def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack truth values into the bits of bytes, as ``numpy.packbits``.

    Elements are made truth values where they are, and brought together in groups of eight: what is
    sent is what :func:`distnb.reshape` sends, of a byte each.

    Parameters
    ----------
    a : array_like of bool or int
        What is not zero is 1.
    axis : int, optional
        Along which axis; by default all elements in C order.
    bitorder : {'big', 'little'}
        Whether the first of eight is the highest bit or the lowest.

    Returns
    -------
    DistArray of uint8
        An eighth as long along the axis, rounded up.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.packbits([1, 0, 1]).to_numpy()
    array([160], dtype=uint8)
    """
    given = asarray(a)
    if given.dtype.kind not in "biu":
        raise TypeError(
            explain("packbits()", given.dtype, "truth values or integers", "compare them first")
        )
    x, d = _last(elementwise("not_equal", given, 0), axis)
    missing = -x.shape[-1] % 8
    full = pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]) if missing else x
    eights = reshape(full, (*x.shape[:-1], full.shape[-1] // 8, 8)).astype(np.uint8)
    bits = elementwise("left_shift", eights, _shifts(bitorder))
    return _back(reduce("sum", bits, -1, np.uint8), d)


@stands_for(np.unpackbits, small="grows")
def unpackbits(
    a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpack the bits of bytes, as ``numpy.unpackbits``.

    Each engine unpacks what it holds; then bits go where they are to lie, as by
    :func:`distnb.reshape`.

    Parameters
    ----------
    a : array_like of uint8
        The bytes.
    axis : int, optional
        Along which axis; by default all elements in C order.
    count : int, optional
        How many bits to return: those that are missing are 0; a negative number is left out at the
        end.
    bitorder : {'big', 'little'}
        Whether the highest bit comes first or the lowest.

    Returns
    -------
    DistArray of uint8
        Zeros and ones, eight times as long along the axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> import numpy as np
    >>> with dnb.inprocess(2):
    ...     dnb.unpackbits(dnb.array([160], dtype=np.uint8), count=4).to_numpy()
    array([1, 0, 1, 0], dtype=uint8)
    """
    given = asarray(a)
    if given.dtype != np.uint8:
        raise TypeError(
            explain("unpackbits()", given.dtype, "bytes, of dtype uint8", "use astype()")
        )
    x, d = _last(given, axis)
    bits = elementwise("right_shift", x[..., None], _shifts(bitorder))
    flat = reshape(elementwise("bitwise_and", bits, 1), (*x.shape[:-1], x.shape[-1] * 8))
    return _back(_counted(flat, count), d)


def _back(x: Array, d: int) -> Array:
    """Return an array whose last axis is where it was, in C order as NumPy's."""
    found: Array = x.swapaxes(d, -1)
    return found if is_whole(found) else found.copy()


def _counted(x: Array, count: int | None) -> Array:
    """Return the first bits along the last axis; zeros where there are no more."""
    n = x.shape[-1]
    if count is None:
        return x
    if count < -n:
        raise ValueError(explain("count", count, f"at least -{n}, the number of bits", "drop less"))
    if count > n:
        return pad(x, [(0, 0)] * (x.ndim - 1) + [(0, count - n)])
    return x[..., :count].copy()
