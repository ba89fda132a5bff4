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

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.scimath.sqrt([-4.0, 9.0]).to_numpy()
    array([0.+2.j, 3.+0.j])
    """
    return elementwise("sqrt", _positive(x))


def log(x: ArrayLike) -> Array:
    """Return natural logarithms; of an array with negative numbers, complex ones."""
    return elementwise("log", _positive(x))


def log2(x: ArrayLike) -> Array:
    """Return logarithms to base 2; of an array with negative numbers, complex ones."""
    return elementwise("log2", _positive(x))


def log10(x: ArrayLike) -> Array:
    """Return logarithms to base 10; of an array with negative numbers, complex ones."""
    return elementwise("log10", _positive(x))


def logn(n: ArrayLike, x: ArrayLike) -> Array:
    """Return logarithms to base n; of arrays with negative numbers, complex ones."""
    return elementwise("divide", log(x), log(n))


def power(x: ArrayLike, p: ArrayLike) -> Array:
    """Return powers; of an array with negative numbers, complex ones."""
    exponent = asarray(p)
    if exponent.dtype.kind != "c" and _is_true(elementwise("less", exponent, 0)):
        exponent = exponent * 1.0
    return elementwise("power", _positive(x), exponent)


def arccos(x: ArrayLike) -> Array:
    """Return angles by their cosines; complex ones if one is beyond 1 or -1."""
    return elementwise("arccos", _within_one(x))


def arcsin(x: ArrayLike) -> Array:
    """Return angles by their sines; complex ones if one is beyond 1 or -1."""
    return elementwise("arcsin", _within_one(x))


def arctanh(x: ArrayLike) -> Array:
    """Return inverse hyperbolic tangents; complex ones if one is beyond 1 or -1."""
    return elementwise("arctanh", _within_one(x))
