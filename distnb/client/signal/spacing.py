"""Arrays of numbers by a formula: logarithmic spacing, and windows for signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.array import Array
from distnb.client.math.composed import i0
from distnb.client.record.creation import ones
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange, in_spaces, linspace
from distnb.client.shape.viewing import moveaxis

__all__ = ["bartlett", "blackman", "geomspace", "hamming", "hanning", "kaiser", "logspace"]


@stands_for(np.logspace, makes=in_spaces)
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    **where: Any,
) -> Array:
    """Make numbers whose logarithms are evenly spaced.

    Each engine makes its part: nothing is sent. Limits and bases that are distributed arrays are
    read.

    Parameters
    ----------
    start, stop : array_like
        The first and the last exponent.
    num : int
        How many numbers.
    endpoint : bool
        Whether ``stop`` is the last exponent.
    base : array_like
        Of which the powers are.
    dtype : dtype, optional
        Element type; by default float64.
    axis : int
        Along which axis numbers lie, if limits or bases are arrays.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.linspace`.

    Returns
    -------
    DistArray
        ``num`` numbers, or slices along ``axis``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.logspace(0, 3, 4, dist="block").to_numpy()
    array([   1.,   10.,  100., 1000.])
    """
    bases = np.asarray(base)
    if bases.ndim:
        start, stop = np.asarray(start), np.asarray(stop)
        most = np.broadcast(start, stop, bases).ndim
        start, stop = np.array(start, ndmin=most), np.array(stop, ndmin=most)
        bases = np.expand_dims(np.array(bases, ndmin=most), axis)
    y = linspace(start, stop, num, endpoint, axis=axis, **where)
    y = elementwise("power", bases if bases.ndim else base, y)
    return y if dtype is None else y.astype(dtype)


@stands_for(np.geomspace, makes=in_spaces)
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    **where: Any,
) -> Array:
    """Make a geometric progression.

    Each engine makes its part: nothing is sent. Limits that are distributed arrays are read.

    Parameters
    ----------
    start, stop : array_like
        The first and the last number; none is zero.
    num : int
        How many numbers.
    endpoint : bool
        Whether ``stop`` is the last number.
    dtype : dtype, optional
        Element type; by default that of the limits, as floats.
    axis : int
        Along which axis numbers lie, if limits are arrays.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.linspace`.

    Returns
    -------
    DistArray
        ``num`` numbers, or slices along ``axis``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.geomspace(1, 8, 4, dist="block").to_numpy()
    array([1., 2., 4., 8.])
    """
    ends = np.asarray(start), np.asarray(stop)
    if np.any(ends[0] == 0) or np.any(ends[1] == 0):
        raise ValueError("Geometric sequence cannot include zero")
    kind = np.result_type(*ends, float(num), np.zeros((), dtype))
    sign = np.sign(ends[0].astype(kind))
    first, last = (end.astype(kind) / sign for end in ends)
    found = logspace(np.log10(first), np.log10(last), num, endpoint, 10.0, kind, **where)
    if num > 0:
        found[0] = first
    if num > 1 and endpoint:
        found[-1] = last
    whole = moveaxis(found * sign, 0, axis) if axis else found * sign
    return whole.astype(kind if dtype is None else dtype, copy=False)


def _window(formula: Callable[[Array, float], Any], M: float, where: dict[str, Any]) -> Array:  # noqa: N803
    """Make a window from its formula on the numbers 1 - M, 3 - M ... M - 1."""
    m: Any = np.array([0.0, M])[1]  # as NumPy reads it
    if m < 1 or m == 1:
        return ones(int(m == 1), **where)
    return formula(arange(1 - float(m), float(m), 2.0, **where), float(m))


def _cosines(*weights: float) -> Callable[[Array, float], Any]:
    """Return a formula: a sum of cosines of multiples."""

    def formula(n: Array, m: float) -> Any:
        found: Any = weights[0]
        for k, weight in enumerate(weights[1:], 1):
            found = found + weight * elementwise("cos", k * np.pi * n / (m - 1))
        return found

    return formula


def _triangle(n: Array, m: float) -> Any:
    return elementwise("where", n <= 0, 1 + n / (m - 1), 1 - n / (m - 1))


def bartlett(M: float, **where: Any) -> Array:  # noqa: N803
    """Make Bartlett's window: a triangle that ends at zero.

    Each engine computes its part: nothing is sent. The layout is the default, or ``dist=``.

    Parameters
    ----------
    M : int
        How many numbers.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.ones`.

    Returns
    -------
    DistArray
        The window, float64; its largest number is 1 if ``M`` is odd.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.bartlett(5, dist="block").to_numpy()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(_triangle, M, where)


def blackman(M: float, **where: Any) -> Array:  # noqa: N803
    """Make Blackman's window: a constant and two cosines, almost zero at its ends.

    Each engine computes its part: nothing is sent. The layout is the default, or ``dist=``.

    Parameters
    ----------
    M : int
        How many numbers.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.ones`.

    Returns
    -------
    DistArray
        The window, float64; its largest number is 1 if ``M`` is odd.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.blackman(5, dist="block").to_numpy().round(2) + 0.0
    array([0.  , 0.34, 1.  , 0.34, 0.  ])
    """
    return _window(_cosines(0.42, 0.5, 0.08), M, where)


def hamming(M: float, **where: Any) -> Array:  # noqa: N803
    """Make Hamming's window: a constant and a cosine, with the least of the nearest side lobe.

    Each engine computes its part: nothing is sent. The layout is the default, or ``dist=``.

    Parameters
    ----------
    M : int
        How many numbers.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.ones`.

    Returns
    -------
    DistArray
        The window, float64; its largest number is 1 if ``M`` is odd.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.hamming(5, dist="block").to_numpy()
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return _window(_cosines(0.54, 0.46), M, where)


def hanning(M: float, **where: Any) -> Array:  # noqa: N803
    """Make the Hann window: a cosine that ends at zero.

    Each engine computes its part: nothing is sent. The layout is the default, or ``dist=``.

    Parameters
    ----------
    M : int
        How many numbers.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.ones`.

    Returns
    -------
    DistArray
        The window, float64; its largest number is 1 if ``M`` is odd.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.hanning(5, dist="block").to_numpy()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(_cosines(0.5, 0.5), M, where)


def kaiser(M: float, beta: float, **where: Any) -> Array:  # noqa: N803
    """Make Kaiser's window, a Bessel function of a half circle.

    Each engine computes its part: nothing is sent. The layout is the default, or ``dist=``.

    Parameters
    ----------
    M : int
        How many numbers.
    beta : float
        The shape: 0 is a rectangle, 14 falls off steeply.
    **where
        ``dist``, ``grid`` and ``session``, as in :func:`distnb.ones`.

    Returns
    -------
    DistArray
        The window, float64; its largest number is 1.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.kaiser(5, 2.0, dist="block").to_numpy().round(2)
    array([0.44, 0.83, 1.  , 0.83, 0.44])
    """
    m = float(M)
    if m == 1:
        return ones(1, **where)
    half = (m - 1) / 2.0
    n = arange(m, **where)
    return i0(beta * elementwise("sqrt", 1 - ((n - half) / half) ** 2.0)) / np.i0(float(beta))
