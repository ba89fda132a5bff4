"""Polynomials as coefficients, the highest power first: few numbers, and many points maybe."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.batching.call_sites import at_users_line, warn_user
from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import array_of
from distnb.client.linalg.factorizations import lstsq
from distnb.client.linalg.products import matmul
from distnb.client.reach.whole_functions import step
from distnb.client.record.creation import (
    asarray,
    empty,
    zeros,
    zeros_like,
)
from distnb.client.record.eager import at_once, session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.select.taking import flatnonzero
from distnb.client.shape.joining import concatenate
from distnb.client.signal.convolution import convolve
from distnb.geometry.layout import default_layout

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
    """Evaluate a polynomial: a product and a sum for each coefficient.

    The result lies as ``x``. Coefficients on the engines are sent one by one; else nothing is sent.

    Parameters
    ----------
    p : array_like
        The coefficients, that of the highest power first.
    x : array_like
        Where to evaluate.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.polyval([1, 0, 2], dnb.arange(4, dist="block")).to_numpy()
    array([ 2,  3,  6, 11])
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


@stands_for(np.polyadd, small="home")
@_of_objects(np.polyadd)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Add polynomials term by term.

    The result lies as :func:`distnb.add` has it; the shorter one is sent to where the longer one
    is.

    Parameters
    ----------
    a1, a2 : array_like
        The coefficients, that of the highest power first.

    Returns
    -------
    DistArray
        The coefficients of the sum, as many as the longer one has.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.polyadd([1, 2, 3], dnb.array([1, 1], dist="block")).to_numpy()
    array([1, 3, 4])
    """
    return _summed("add", a1, a2)


@stands_for(np.polysub, small="home")
@_of_objects(np.polysub)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Subtract polynomials term by term.

    The result lies as :func:`distnb.subtract` has it; the shorter one is sent to where the longer
    is.

    Parameters
    ----------
    a1, a2 : array_like
        The coefficients, that of the highest power first.

    Returns
    -------
    DistArray
        The coefficients of the difference, as many as the longer one has.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.polysub([1, 2, 3], dnb.array([1, 1], dist="block")).to_numpy()
    array([1, 1, 2])
    """
    return _summed("subtract", a1, a2)


def _longer(x: Array, n: int) -> Array:
    """Return coefficients with zeros in front."""
    missing = n - x.shape[0]
    return concatenate((zeros(missing, x.dtype, session=x.session), x)) if missing else x


@stands_for(np.polymul, small="home")
@_of_objects(np.polymul)
def polymul(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Multiply polynomials: a convolution, with the layout and messages of :func:`distnb.convolve`.

    Parameters
    ----------
    a1, a2 : array_like
        The coefficients, that of the highest power first.

    Returns
    -------
    DistArray
        The coefficients of the product.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.polymul(dnb.array([1, 1], dist="block"), [1, -1]).to_numpy()
    array([ 1,  0, -1])
    """
    x, y = _coefficients(a1, a2)
    found = at_once(np.polymul, x, y)
    return convolve(_leading(x), _leading(y)) if found is None else found


def _leading(x: Array) -> Array:
    """Return coefficients from the first that is not 0."""
    if not x.size:
        return asarray(np.zeros(1, x.dtype), session=x.session)
    if bool(x[0] != 0):
        return x
    places = flatnonzero(x)
    return x[int(places[0]) :] if places.size else x[-1:]


def _read(numpys: Callable[..., Any], *args: ArrayLike) -> Any:
    """Compute with NumPy a function of few numbers, which are read within the gather budget."""
    session = session_of(*args)
    # What is a sequence of arrays would call NumPy to call this again.
    found = numpys(*[np.asarray(a) for a in args])
    several = isinstance(found, tuple)
    made = tuple(array_of(session, np.asarray(f)) for f in (found if several else (found,)))
    return made if several else made[0]


@stands_for(np.poly, small="home")
def poly(seq_of_zeros: ArrayLike) -> Any:
    """Return the polynomial with given roots, or of the eigenvalues of a matrix.

    These are few: they come to the notebook, within the gather budget, where NumPy computes.

    Parameters
    ----------
    seq_of_zeros : array_like
        The roots, or a square matrix.

    Returns
    -------
    DistArray
        The coefficients, that of the highest power first.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.poly(dnb.array([1.0, -1.0], dist="block")).to_numpy()
    array([ 1.,  0., -1.])
    """
    return _read(np.poly, seq_of_zeros)


@stands_for(np.polydiv, small="home")
@_of_objects(np.polydiv)
def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """Divide polynomials.

    Coefficients are few: they come to the notebook, within the gather budget, where NumPy computes.

    Parameters
    ----------
    u, v : array_like
        The coefficients of what is divided, and by what, that of the highest power first.

    Returns
    -------
    q, r : DistArray
        The coefficients of quotient and remainder.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     q, r = dnb.polydiv(dnb.array([1.0, 0.0, -2.0], dist="block"), [1.0, 1.0])
    ...     q.to_numpy(), r.to_numpy()
    (array([ 1., -1.]), array([-1.]))
    """
    return _read(np.polydiv, u, v)


@stands_for(np.roots, small="home")
def roots(p: ArrayLike) -> Any:
    """Return the roots of a polynomial.

    Coefficients are few: they come to the notebook, within the gather budget, where NumPy computes.

    Parameters
    ----------
    p : array_like
        The coefficients, that of the highest power first.

    Returns
    -------
    DistArray
        The roots, complex if one is.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.roots(dnb.array([1.0, 0.0, -4.0], dist="block")).to_numpy().round(6)
    array([-2.,  2.])
    """
    return _read(np.roots, p)


@stands_for(np.polyder, small="home")
@_of_objects(np.polyder)
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Differentiate a polynomial.

    The result lies as the coefficients; with them the engines that hold them get their powers.

    Parameters
    ----------
    p : array_like
        The coefficients, that of the highest power first.
    m : int
        How many times.

    Returns
    -------
    DistArray
        The coefficients, ``m`` fewer.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.polyder(dnb.array([1, 0, 5], dist="block")).to_numpy()
    array([2, 0])
    """
    times = operator.index(m)
    if times < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    (found,) = _coefficients(p)
    for _ in range(times):
        n = max(found.shape[0] - 1, 0)
        found = found[:-1] * np.arange(n, 0, -1)
    return found


@stands_for(np.polyint, small="home")
@_of_objects(np.polyint)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Integrate a polynomial.

    Layout and messages are those of :func:`distnb.concatenate` with the constants.

    Parameters
    ----------
    p : array_like
        The coefficients, that of the highest power first.
    m : int
        How many times.
    k : array_like, optional
        The constants of integration, one for each time or one for all; by default 0.

    Returns
    -------
    DistArray
        The coefficients, ``m`` more.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.polyint(dnb.array([2, 0], dist="block"), k=5).to_numpy()
    array([1., 0., 5.])
    """
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
    """Fit a polynomial by least squares.

    The powers of ``x`` are the columns of a matrix in blocks of rows. Sent are triangles as long as
    the polynomial, as by :func:`distnb.linalg.lstsq`; every engine gets the coefficients. This
    waits.

    Parameters
    ----------
    x : array_like
        The places, of one axis.
    y : array_like
        The values there; of two axes, a polynomial for each column.
    deg : int
        The highest power.
    rcond : float, optional
        Singular values below this share of the largest count as zero.
    full : bool
        Whether to return residuals, rank, singular values and ``rcond`` as well.
    w : array_like, optional
        Weights: by what each difference is multiplied.
    cov : bool or 'unscaled'
        Whether to return the covariance of the coefficients as well.

    Returns
    -------
    DistArray
        The coefficients, that of the highest power first; a tuple with ``full`` or ``cov``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.arange(20.0, dist="block")
    ...     dnb.polyfit(x, 3 * x * x + 1, 2).to_numpy().round(6) + 0.0
    array([3., 0., 1.])
    """
    session = session_of(x, y, w)
    at, values = asarray(x, session=session), asarray(y, session=session)
    heavy = None if w is None else asarray(w, session=session)
    found = at_once(np.polyfit, at, values, deg, rcond, full, heavy, cov)
    if found is not None:
        return found
    if not (full or cov) and values.ndim == 1:
        found = step(_FIT, _fitted, "products", (at, values, deg, rcond, False, heavy), {})
        if found is not None:
            return found
    order = operator.index(deg) + 1
    _check(at, values, heavy, order)
    at, values = at + 0.0, values + 0.0
    rcond = at.shape[0] * np.finfo(at.dtype).eps if rcond is None else rcond
    wide = np.promote_types(at.dtype, np.int_)  # which NumPy's vander has
    left, right = _powers(at.astype(wide, copy=False), order), values
    if heavy is not None:
        heavy = heavy + 0.0
        left = left * heavy[:, None]
        right = right * (heavy if right.ndim == 1 else heavy[:, None])
    scale = elementwise("sqrt", (left * left).sum(axis=0))
    c, rest, rank, s = lstsq(left / scale, right, rcond)
    c = c / (scale if c.ndim == 1 else scale[:, None])
    if full:
        return c, rest, np.int32(rank), s, rcond
    if rank != order:
        said = "Polyfit may be poorly conditioned"
        warn_user(said, np.exceptions.RankWarning)
    if not cov:
        return c
    return c, _uncertainty(left / scale, scale, rest, at.shape[0] - order, cov, values.ndim)


_FIT = at_users_line(np.polyfit)


def _fitted(x: Array, y: Array, deg: int, *_: object) -> Array:
    """Return what lies as the coefficients of a fit."""
    shape, session = (deg + 1,), x.session
    return create(session, shape, x.dtype, default_layout(shape, session.size), ("fill", 0))


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
    """Return the covariance of the coefficients, unscaled if that is asked for.

    The notebook inverts the few numbers, so that it is told at once if they are singular.
    """
    base = asarray(np.linalg.inv(matmul(left.T, left).to_numpy()), session=left.session)
    base = base / (scale[:, None] * scale[None, :])
    factor: Any = 1
    if cov != "unscaled":
        if free <= 0:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = rest / free
    return base * factor if ndim == 1 else base[:, :, None] * factor
