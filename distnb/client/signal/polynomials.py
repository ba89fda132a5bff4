"""Polynomials as coefficients, the highest power first: few numbers, and many points maybe."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of
from distnb.client.linalg.factorizations import inv, lstsq
from distnb.client.linalg.products import matmul
from distnb.client.record.creation import (
    asarray,
    empty,
    zeros,
    zeros_like,
)
from distnb.client.record.eager import at_once, session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.shape.joining import concatenate
from distnb.client.signal.convolution import convolve

__all__: list[str] = []

_F = TypeVar("_F", bound=Callable[..., Any])


def _of_objects(numpys: Callable[..., Any]) -> Callable[[_F], _F]:
    """Leave polynomials that are objects to NumPy, which makes one: their coefficients are here."""

    def decorate(f: _F) -> _F:
        @functools.wraps(f)
        def function(*args: Any, **options: Any) -> Any:
            if any(isinstance(a, np.poly1d) for a in args):
                known = [a.__array__() if isinstance(a, Array) else a for a in args]
                return numpys(*known, **options)
            return f(*args, **options)

        return function  # type: ignore[return-value]

    return decorate


@stands_for(np.polyval, small="exact")
@_of_objects(np.polyval)
def polyval(p: ArrayLike, x: ArrayLike) -> Array:
    """Evaluate a polynomial, as ``numpy.polyval``: a product and a sum for each coefficient.

    The result lies as ``x``; coefficients on the engines are sent one by one.
    """
    session = session_of(x, p)
    at, coefficients = asarray(x, session=session), p if isinstance(p, Array) else np.asarray(p)
    y = zeros_like(at)
    for i in range(len(coefficients)):
        y = y * at + coefficients[i]
    return y


def _coefficients(*given: ArrayLike) -> list[Array]:
    """Return coefficients as arrays of one axis."""
    session = session_of(*given)
    arrays = [asarray(p, session=session) for p in given]
    return [x[None] if x.ndim == 0 else x for x in arrays]


def _summed(op: str, a1: ArrayLike, a2: ArrayLike) -> Array:
    x, y = _coefficients(a1, a2)
    n = max(x.shape[0], y.shape[0])
    return elementwise(op, _longer(x, n), _longer(y, n))


@stands_for(np.polyadd)
@_of_objects(np.polyadd)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Add polynomials term by term, as ``numpy.polyadd``."""
    return _summed("add", a1, a2)


@stands_for(np.polysub)
@_of_objects(np.polysub)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Subtract polynomials term by term, as ``numpy.polysub``."""
    return _summed("subtract", a1, a2)


def _longer(x: Array, n: int) -> Array:
    """Return coefficients with zeros in front."""
    missing = n - x.shape[0]
    return concatenate((zeros(missing, x.dtype, session=x.session), x)) if missing else x


@stands_for(np.polymul)
@_of_objects(np.polymul)
def polymul(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Multiply polynomials, as ``numpy.polymul``: a convolution."""
    x, y = _coefficients(a1, a2)
    found = at_once(np.polymul, x, y)
    return convolve(x, y) if found is None else found


def _read(numpys: Callable[..., Any], *args: ArrayLike) -> Any:
    """Compute with NumPy a function of few numbers, which are read within the gather budget."""
    session = session_of(*args)
    # What is a sequence of arrays would call NumPy to call this again.
    found = numpys(*[np.asarray(a) for a in args])
    several = isinstance(found, tuple)
    made = tuple(array_of(session, np.asarray(f)) for f in (found if several else (found,)))
    return made if several else made[0]


@stands_for(np.poly)
def poly(seq_of_zeros: ArrayLike) -> Any:
    """Return the polynomial with given roots, as ``numpy.poly``.

    Coefficients are few: they are read, within the gather budget, and computed in the notebook.
    """
    return _read(np.poly, seq_of_zeros)


@stands_for(np.polydiv)
@_of_objects(np.polydiv)
def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """Divide polynomials, as ``numpy.polydiv``.

    Coefficients are few: they are read, within the gather budget, and computed in the notebook.
    """
    return _read(np.polydiv, u, v)


@stands_for(np.roots)
def roots(p: ArrayLike) -> Any:
    """Return the roots of a polynomial, as ``numpy.roots``.

    Coefficients are few: they are read, within the gather budget, and computed in the notebook.
    """
    return _read(np.roots, p)


@stands_for(np.polyder)
@_of_objects(np.polyder)
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Differentiate a polynomial, as ``numpy.polyder``."""
    times = operator.index(m)
    if times < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    (found,) = _coefficients(p)
    for _ in range(times):
        n = max(found.shape[0] - 1, 0)
        found = found[:-1] * np.arange(n, 0, -1)
    return found


@stands_for(np.polyint)
@_of_objects(np.polyint)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Integrate a polynomial, as ``numpy.polyint``; ``k`` are constants of integration."""
    times = operator.index(m)
    if times < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.atleast_1d(np.zeros(times) if k is None else np.asarray(k))
    if len(constants) == 1 and times > 1:
        constants = np.repeat(constants, times)
    if len(constants) < times:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    (found,) = _coefficients(p)
    for i in range(times):
        n = found.shape[0]
        parts = (found / np.arange(n, 0, -1), asarray(constants[i : i + 1], session=found.session))
        found = concatenate(parts)
    return found


@stands_for(np.polyfit)
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Fit a polynomial by least squares, as ``numpy.polyfit``; see ``linalg.lstsq``.

    The powers of ``x`` are the columns of a matrix that is split as ``x``; what is returned is as
    long as the polynomial.
    """
    session = session_of(x, y, w)
    at, values = asarray(x, session=session), asarray(y, session=session)
    heavy = None if w is None else asarray(w, session=session)
    found = at_once(np.polyfit, at, values, deg, rcond, full, heavy, cov)
    if found is not None:
        return found
    order = operator.index(deg) + 1
    _check(at, values, heavy, order)
    at, values = at + 0.0, values + 0.0
    rcond = at.shape[0] * np.finfo(at.dtype).eps if rcond is None else rcond
    left, right = _powers(at, order), values
    if heavy is not None:
        heavy = heavy + 0.0
        left = left * heavy[:, None]
        right = right * (heavy if right.ndim == 1 else heavy[:, None])
    scale = elementwise("sqrt", (left * left).sum(axis=0))
    c, rest, rank, s = lstsq(left / scale, right, rcond)
    c = c / (scale if c.ndim == 1 else scale[:, None])
    if full:
        return c, rest, rank, s, rcond
    if not cov:
        return c
    return c, _uncertainty(left / scale, scale, rest, at.shape[0] - order, cov, values.ndim)


def _powers(x: Array, n: int) -> Array:
    """Return a column for each power, the highest first."""
    made = empty((x.shape[0], n), x.dtype, session=x.session)
    made[:, n - 1] = 1
    for k in range(n - 2, -1, -1):
        made[:, k] = made[:, k + 1] * x
    return made


def _check(x: Array, y: Array, w: Array | None, order: int) -> None:
    """Raise what NumPy raises."""
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None and w.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and w.shape[0] != y.shape[0]:
        raise TypeError("expected w and y to have the same length")


def _uncertainty(
    left: Array, scale: Array, rest: Array, free: int, cov: bool | str, ndim: int
) -> Array:
    """Return the covariance of the coefficients, unscaled if that is asked for."""
    base = inv(matmul(left.T, left))
    base = base / (scale[:, None] * scale[None, :])
    factor: Any = 1
    if cov != "unscaled":
        if free <= 0:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = rest / free
    return base * factor if ndim == 1 else base[:, :, None] * factor
