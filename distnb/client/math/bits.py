"""Bits of bytes: ``packbits``, ``unpackbits``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create, is_whole
from distnb.client.handle.conversion import array_of, in_layout, record_local
from distnb.client.handle.indexing import one_axis
from distnb.client.math.padding import pad
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.placement import stay
from distnb.client.shape.repeating import scaled
from distnb.client.shape.reshaping import ravel
from distnb.common.errors import explain, quoted
from distnb.geometry.axes import Axis, Block, cut_at
from distnb.geometry.layout import Layout

__all__: list[str] = []

#: NumPy's, whose types ask for an order that is known when types are checked.
_PACK: Any = np.packbits
_UNPACK: Any = np.unpackbits


def _last(x: Array, axis: int | None) -> tuple[Array, int]:
    """Return an array with an axis brought to the end, and which it was."""
    x = ravel(x) if axis is None or not x.ndim else x
    d = -1 if axis is None else one_axis(axis, x.ndim)
    return x.swapaxes(d, -1), d


def _check(bitorder: object) -> None:
    if not isinstance(bitorder, str):
        raise TypeError(explain("bitorder", quoted(bitorder), "'big' or 'little'", "choose one"))
    if bitorder not in ("big", "little"):
        raise ValueError(explain("bitorder", quoted(bitorder), "'big' or 'little'", "choose one"))


def _by_engines(op: str, x: Array, layout: Layout, n: int, axis: Axis) -> Array:
    """Return what each engine makes of the last axis of its part, of ``n`` indices afterwards."""
    to = Layout(layout.grid, (*layout.axes[:-1], axis), layout.dims)
    found = create(x.session, (*x.shape[:-1], n), np.dtype(np.uint8), to, ("empty",))
    record_local(op, found, (in_layout(x, layout),))
    return found


def _in_eights(layout: Layout, n: int) -> tuple[Layout, Axis]:
    """Return a layout whose last axis is cut at multiples of eight, and the axis of the eights."""
    p, eights = layout.parts(len(layout.axes) - 1), -(-n // 8)
    if p == 1:
        return layout, layout.axes[-1]
    lows = [Block().bounds(eights, p, c)[0] for c in range(p)]
    axis = cut_at((*[min(low * 8, n) for low in lows], n))
    return Layout(layout.grid, (*layout.axes[:-1], axis), layout.dims), cut_at((*lows, eights))


@stands_for(np.packbits, small="exact")
def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack truth values into the bits of bytes, as ``numpy.packbits``.

    Each engine packs what it holds, in the layout of ``a``, but that a split axis is cut at
    multiples of eight: what is on the other side of such a cut is sent.

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
    _check(bitorder)
    x, d = _last(given, axis)
    if x.here is not None:
        return _back(array_of(x.session, _PACK(x.here, -1, bitorder)), d)
    n = x.shape[-1]
    layout, eights = _in_eights(stay(x, x.dtype), n)
    return _back(_by_engines(f"packbits.{bitorder}", x, layout, -(-n // 8), eights), d)


@stands_for(np.unpackbits, small="grows")
def unpackbits(
    a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpack the bits of bytes, as ``numpy.unpackbits``.

    Each engine unpacks what it holds, in the layout of ``a``: nothing is sent.

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
    _check(bitorder)
    x, d = _last(given, axis)
    if x.here is not None:
        flat = array_of(x.session, _UNPACK(x.here, -1, None, bitorder))
    else:
        layout, n = stay(x, x.dtype), x.shape[-1]
        p = layout.parts(x.ndim - 1)
        bits = scaled(layout.axes[-1], n, p, 8) if p > 1 else layout.axes[-1]
        flat = _by_engines(f"unpackbits.{bitorder}", x, layout, 8 * n, bits)
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
