"""``distnb.lib.scimath``: functions whose results are complex where no real number is one.

``distnb.emath`` is another name of it. Whether an element asks for it is found out on the engines,
and one truth value is read: these functions wait.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]


def _is_true(mask: Array) -> bool:
    return bool(reduce("any", mask))


def _as_complex(x: Array) -> Array:
    """Return an array as complex numbers of the precision that NumPy takes."""
    short = x.dtype.kind == "f" and x.dtype.itemsize == 4
    short = short or (x.dtype.kind in "iu" and x.dtype.itemsize < 4)
    return x.astype(np.complex64 if short else np.complex128)


def _positive(x: ArrayLike) -> Array:
    """Return an array, as complex numbers if one is negative."""
    a = asarray(x)
    real = a.dtype.kind != "c" and _is_true(elementwise("less", a, 0))
    return _as_complex(a) if real else a


def _within_one(x: ArrayLike) -> Array:
    """Return an array, as complex numbers if one is beyond 1 or -1."""
    a = asarray(x)
    beyond = a.dtype.kind != "c" and _is_true(elementwise("greater", elementwise("absolute", a), 1))
    return _as_complex(a) if beyond else a


def sqrt(x: ArrayLike) -> Array:
    """Return square roots; of an array with negative numbers, complex ones.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The numbers.

    Returns
    -------
    DistArray
        Of the shape of ``x``; complex if a number is negative.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.sqrt(dnb.array([-4.0, 9.0], dist="block")).to_numpy()
    array([0.+2.j, 3.+0.j])
    """
    return elementwise("sqrt", _positive(x))


def log(x: ArrayLike) -> Array:
    """Return natural logarithms; of an array with negative numbers, complex ones.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The numbers.

    Returns
    -------
    DistArray
        Of the shape of ``x``; complex if a number is negative.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.log(dnb.array([-1.0, 1.0], dist="block")).to_numpy().round(2)
    array([0.+3.14j, 0.+0.j  ])
    """
    return elementwise("log", _positive(x))


def log2(x: ArrayLike) -> Array:
    """Return logarithms to base 2; of an array with negative numbers, complex ones.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The numbers.

    Returns
    -------
    DistArray
        Of the shape of ``x``; complex if a number is negative.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.log2(dnb.array([-4.0, 4.0], dist="block")).to_numpy().round(2)
    array([2.+4.53j, 2.+0.j  ])
    """
    return elementwise("log2", _positive(x))


def log10(x: ArrayLike) -> Array:
    """Return logarithms to base 10; of an array with negative numbers, complex ones.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The numbers.

    Returns
    -------
    DistArray
        Of the shape of ``x``; complex if a number is negative.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.log10(dnb.array([-10.0, 10.0], dist="block")).to_numpy().round(2)
    array([1.+1.36j, 1.+0.j  ])
    """
    return elementwise("log10", _positive(x))


def logn(n: ArrayLike, x: ArrayLike) -> Array:
    """Return logarithms to base n; of arrays with negative numbers, complex ones.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    n : array_like
        The base.
    x : array_like
        The numbers.

    Returns
    -------
    DistArray
        Of the shape to which both broadcast; complex if a number is negative.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.logn(2, dnb.array([4.0, 8.0], dist="block")).to_numpy()
    array([2., 3.])
    """
    return elementwise("divide", log(x), log(n))


def power(x: ArrayLike, p: ArrayLike) -> Array:
    """Return powers; of an array with negative numbers, complex ones.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The numbers.
    p : array_like
        The exponents.

    Returns
    -------
    DistArray
        Of the shape to which both broadcast; complex if one of ``x`` is negative.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.power(dnb.array([-4.0, 9.0], dist="block"), 0.5).to_numpy().round(2)
    array([0.+2.j, 3.+0.j])
    """
    exponent = asarray(p)
    if exponent.dtype.kind != "c" and _is_true(elementwise("less", exponent, 0)):
        exponent = exponent * 1.0
    return elementwise("power", _positive(x), exponent)


def arccos(x: ArrayLike) -> Array:
    """Return angles by their cosines; complex ones if one is beyond 1 or -1.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The cosines.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.arccos(dnb.array([1.0, -1.0], dist="block")).to_numpy().round(2)
    array([0.  , 3.14])
    """
    return elementwise("arccos", _within_one(x))


def arcsin(x: ArrayLike) -> Array:
    """Return angles by their sines; complex ones if one is beyond 1 or -1.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The sines.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.arcsin(dnb.array([1.0, 2.0], dist="block")).to_numpy().round(2)
    array([1.57+0.j  , 1.57+1.32j])
    """
    return elementwise("arcsin", _within_one(x))


def arctanh(x: ArrayLike) -> Array:
    """Return inverse hyperbolic tangents; complex ones if one is beyond 1 or -1.

    The result lies as that of an elementwise operation. Whether there is such a number is read
    first: this waits.

    Parameters
    ----------
    x : array_like
        The numbers.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.arctanh(dnb.array([0.0, 0.5], dist="block")).to_numpy().round(2)
    array([0.  , 0.55])
    """
    return elementwise("arctanh", _within_one(x))
