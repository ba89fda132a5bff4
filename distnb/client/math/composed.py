"""Elementwise functions of NumPy that are no ufuncs: composed of ufuncs as NumPy composes them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, cast

import numpy as np
from numpy.lib import _function_base_impl as _numpys
from numpy.typing import ArrayLike

from distnb.client.batching.call_sites import user_place
from distnb.client.batching.error_states import warn_at
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import one_axis
from distnb.client.math.differences import diff
from distnb.client.math.scans import cumsum
from distnb.client.math.ufuncs import of_no_numbers
from distnb.client.reach.whole_functions import written_in_reach
from distnb.client.record.creation import array, asarray, zeros_like
from distnb.client.record.eager import session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.reducing import reduce
from distnb.client.select.sorting import sort
from distnb.client.shape.viewing import expand_dims

__all__: list[str] = []


@stands_for(np.fix, small="elementwise")
def fix(x: ArrayLike, out: Array | None = None) -> Array:
    """Round towards zero, as ``numpy.fix``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        What to round.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fix([1.7, -1.7]).to_numpy()
    array([ 1., -1.])
    """
    return elementwise("trunc", asarray(x), out=out)


@stands_for(np.angle, small="elementwise")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of complex numbers in the plane, as ``numpy.angle``.

    Element by element: the result lies as ``z``, and nothing is sent.

    Parameters
    ----------
    z : array_like
        Complex numbers, or real ones.
    deg : bool
        Whether in degrees; by default in radians.

    Returns
    -------
    DistArray of float
        Angles from -pi to pi, of the shape of ``z``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.angle([1, 1j, -1], deg=True).to_numpy()
    array([  0.,  90., 180.])
    """
    x = asarray(z)
    parts = (x.imag, x.real) if x.dtype.kind == "c" else (0, x)
    found = elementwise("arctan2", *parts)
    return found * (180 / np.pi) if deg else found


@stands_for(np.iscomplex, small="elementwise", scalar=True)
def iscomplex(x: ArrayLike) -> Array:
    """Tell which elements have an imaginary part that is not zero, as ``numpy.iscomplex``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The elements.

    Returns
    -------
    DistArray of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.iscomplex([1 + 1j, 2 + 0j]).to_numpy()
    array([ True, False])
    """
    a = asarray(x)
    return elementwise("not_equal", a.imag, 0) if a.dtype.kind == "c" else zeros_like(a, bool)


@stands_for(np.isreal, small="elementwise")
def isreal(x: ArrayLike) -> Array:
    """Tell which elements have no imaginary part, or one of zero, as ``numpy.isreal``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The elements.

    Returns
    -------
    DistArray of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isreal([1 + 1j, 2 + 0j]).to_numpy()
    array([False,  True])
    """
    return elementwise("equal", asarray(x).imag, 0)


@stands_for(np.isposinf, small="elementwise")
def isposinf(x: ArrayLike, out: Array | None = None) -> Array:
    """Tell which elements are positive infinity, as ``numpy.isposinf``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The elements.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isposinf([1.0, dnb.inf, -dnb.inf]).to_numpy()
    array([False,  True, False])
    """
    sign = elementwise("signbit", asarray(x))
    return elementwise("logical_and", elementwise("isinf", asarray(x)), ~sign, out=out)


@stands_for(np.isneginf, small="elementwise")
def isneginf(x: ArrayLike, out: Array | None = None) -> Array:
    """Tell which elements are negative infinity, as ``numpy.isneginf``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The elements.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isneginf([1.0, dnb.inf, -dnb.inf]).to_numpy()
    array([False, False,  True])
    """
    sign = elementwise("signbit", asarray(x))
    return elementwise("logical_and", elementwise("isinf", asarray(x)), sign, out=out)


def _finite_copy(x: Any, copy: bool = True, *args: object, **options: Any) -> Any:
    """Return NumPy's copy; what is to be written into its operand is for the long way."""
    if not copy:
        raise ValueError
    numpys: Any = np.nan_to_num
    return numpys(x, True, *args, **options)


@stands_for(np.nan_to_num, scalar=True, small="elementwise", near=_finite_copy)
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """Replace NaN and infinities by numbers, as ``numpy.nan_to_num``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The elements.
    copy : bool
        Whether in a copy; else they are replaced in ``x`` itself.
    nan : float
        What comes for NaN.
    posinf, neginf : float, optional
        What comes for infinities; by default the largest and the least number of the dtype.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.nan_to_num([1.0, dnb.nan, dnb.inf], posinf=9.0).to_numpy()
    array([1., 0., 9.])
    """
    if not copy and isinstance(x, np.ndarray):
        x[...] = nan_to_num(x, True, nan, posinf, neginf).to_numpy()
        return cast(Array, x)
    given = cast(Array, x)
    writes = not copy and isinstance(x, Array) and not x.single and x.dtype.kind in "fc"
    values = (nan, posinf, neginf)
    if writes and written_in_reach("cast", np.nan_to_num, "exact", given, False, *values):
        return given
    a = array(x, copy=copy)
    if a.dtype.kind in "fc":
        limits = np.finfo(a.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        _make_finite(a, (nan, high, low))
    return a if a.shape else a.copy()  # NumPy's scalar, whatever it is of


def _make_finite(a: Array, values: tuple[Any, Any, Any]) -> None:
    """Put values for NaN and infinities into an array."""

    def finite(part: Array) -> Array:
        tests = (np.isnan, np.isposinf, np.isneginf)
        masks: list[Any] = [test(part) for test in tests]
        for mask, value in zip(masks, values, strict=True):
            assign(part, value, mask)  # which may make others of what is not finite
        return part

    if a.dtype.kind == "f":
        finite(a)
        return
    real, imag = finite(a.real.copy()), finite(a.imag.copy())
    # Not as a sum: that has no -0.0, nor what is not finite in one part alone.
    assign(a, elementwise("with_real", elementwise("with_imag", a, imag), real))


@stands_for(np.real_if_close)
def real_if_close(a: ArrayLike, tol: float = 100) -> Array:
    """Return the real parts if all imaginary parts are close to zero, as ``numpy.real_if_close``.

    Whether they are is one number, for which is waited. The real parts are a view, and lie as
    ``a``.

    Parameters
    ----------
    a : array_like
        The elements.
    tol : float
        How close: in units of the dtype's precision if it is above 1, else as a number.

    Returns
    -------
    DistArray
        Real parts, or ``a`` as it is.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.real_if_close([1 + 1e-20j, 2 + 0j]).to_numpy()
    array([1., 2.])
    """
    x = asarray(a)
    if x.dtype.kind != "c":
        return x
    most = np.finfo(x.dtype).eps * tol if tol > 1 else tol
    return x.real if bool((abs(x.imag) < most).all()) else x


@stands_for(np.sinc, small="elementwise")
def sinc(x: ArrayLike) -> Array:
    """Return ``sin(pi x) / (pi x)``, and 1 at 0, as ``numpy.sinc``.

    Element by element: the result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        The elements.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sinc([0.0, 0.5]).to_numpy()
    array([1.        , 0.63661977])
    """
    y = np.pi * asarray(x)
    eps = np.finfo(y.dtype).eps if y.dtype.kind == "f" else 1e-20
    y = elementwise("where", y, y, eps)
    return elementwise("sin", y) / y


@stands_for(np.i0, small="dear", scalar=False)
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of the first kind and order 0, as ``numpy.i0``.

    Element by element, by a series of Chebyshev polynomials below 8 and another one above: the
    result lies as ``x``, and nothing is sent.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Raises
    ------
    TypeError
        For complex numbers.

    References
    ----------
    C. W. Clenshaw, "Chebyshev series for mathematical functions", National Physical Laboratory
    Mathematical Tables 5, 1962.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.i0([0.0, 1.0]).to_numpy()
    array([1.        , 1.26606588])
    """
    a = asarray(x)
    if a.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    y = abs(a if a.dtype.kind == "f" else a.astype(float))
    near = elementwise("less_equal", y, 8.0)
    low, high = elementwise("minimum", y, 8.0), elementwise("maximum", y, 8.0)
    small = elementwise("exp", low) * _chebyshev(low / 2.0 - 2, _numpys._i0A)  # type: ignore[attr-defined]
    large = elementwise("exp", high) * _chebyshev(32.0 / high - 2.0, _numpys._i0B)  # type: ignore[attr-defined]
    return elementwise("where", near, small, large / elementwise("sqrt", high)).astype(y.dtype)


def _chebyshev(x: Array, coefficients: Sequence[float]) -> Array:
    """Sum up a series of Chebyshev polynomials (Clenshaw's recurrence)."""
    b0: Any = coefficients[0]
    b1: Any = 0.0
    b2 = b1
    for coefficient in coefficients[1:]:
        b1, b2 = b0, b1
        b0 = x * b1 - b2 + coefficient
    return 0.5 * (b0 - b2)


@stands_for(np.sort_complex, small="exact")
def sort_complex(a: ArrayLike) -> Array:
    """Sort along the last axis, and return complex numbers, as ``numpy.sort_complex``.

    By real parts, of equal ones by imaginary parts. Layout and messages are those of
    :func:`distnb.sort`.

    Parameters
    ----------
    a : array_like
        What to sort.

    Returns
    -------
    DistArray of complex
        A sorted copy.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sort_complex([3, 1 + 2j, 1 + 1j]).to_numpy()
    array([1.+1.j, 1.+2.j, 3.+0.j])
    """
    found = sort(asarray(a))
    if found.dtype.kind == "c":
        return found
    return found.astype("F" if found.dtype.char in "bhBH" else "D")


@stands_for(np.unwrap, small="home")
def unwrap(
    p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> Array:
    """Take out jumps of a period along an axis, as ``numpy.unwrap``.

    The corrections are added up along the axis, so messages are those of :func:`distnb.diff` and
    :func:`distnb.cumsum`. The result lies as ``p``.

    Parameters
    ----------
    p : array_like
        Angles, or another quantity that is known up to a period.
    discont : float, optional
        From which difference on there is a jump; by default half a period.
    axis : int
        Along which axis.
    period : float
        By how much values jump.

    Returns
    -------
    DistArray
        Of the shape of ``p``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.unwrap([0, 3, 6, 1, 4], period=8).to_numpy()
    array([ 0,  3,  6,  9, 12])
    """
    x = asarray(p)
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    d = one_axis(axis, x.ndim)
    rest = (slice(None),) * d + (slice(1, None),)
    steps = diff(x, axis=d)
    dtype = np.result_type(steps.dtype, period)
    whole = dtype.kind in "iu"
    high, odd = divmod(period, 2) if whole else (period / 2, 0)
    low = -high  # which unsigned integers have not, as NumPy says
    wrapped = elementwise("remainder", steps - low, period) + low
    if not odd:
        wrapped = elementwise("where", (wrapped == low) & (steps > 0), high, wrapped)
    least = period / 2 if discont is None else discont
    change = elementwise("where", abs(steps) < least, 0, wrapped - steps)
    found = x.astype(dtype)
    found[rest] = x[rest] + cumsum(change, d)
    return found


# -- comparison ----------------------------------------------------------------------------------


def _tolerant(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of NumPy's refuse tolerances that it would warn of: the long way does."""

    @functools.wraps(numpys)
    def function(
        a: ArrayLike,
        b: ArrayLike,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        *rest: bool,
        **more: bool,
    ) -> object:
        if not (isfinite(rtol) and isfinite(atol)):
            raise ValueError
        return numpys(a, b, rtol, atol, *rest, **more)

    return function


@stands_for(np.isclose, small="elementwise", near=_tolerant(np.isclose))
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike | None = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Tell which elements agree within tolerances, as ``numpy.isclose``.

    True where ``abs(a - b) <= atol + rtol * abs(b)``. Element by element: the result lies as the
    larger operand, and of aligned operands nothing is sent.

    Parameters
    ----------
    a, b : array_like
        The operands, which meet by broadcasting.
    rtol : array_like of float, optional
        Tolerance for each unit of ``b``.
    atol : array_like of float, optional
        Tolerance besides.
    equal_nan : bool
        Whether NaN agrees with NaN.

    Returns
    -------
    DistArray of bool
        Of the shape to which operands are broadcast.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).to_numpy()
    array([ True, False])
    """
    _check_tolerances(atol, rtol)
    return _close(a, b, rtol, atol, equal_nan)


def _close(a: ArrayLike, b: ArrayLike, rtol: Any, atol: Any, equal_nan: bool) -> Array:
    numbers, session = (int, float, complex), session_of(a, b, rtol, atol)
    x, y, rtol, atol = (
        v if isinstance(v, numbers) else asarray(cast(ArrayLike, v), session=session)
        for v in (a, b, rtol, atol)
    )
    if isinstance(y, Array):
        y = y.astype(np.result_type(y.dtype, 1.0), copy=False)
    elif isinstance(y, int):
        y = float(y)
    x = x if isinstance(y, Array) or isinstance(x, Array) else asarray(x)
    size = elementwise("absolute", y) if isinstance(y, Array) else abs(y)
    finite = elementwise("isfinite", y) if isinstance(y, Array) else bool(np.isfinite(y))
    with np.errstate(invalid="ignore"):
        near = elementwise("less_equal", abs(x - y), atol + rtol * size) & finite
    near = near | elementwise("equal", x, y)
    if equal_nan:
        near = near | (_nan(x) & _nan(y))
    return near


def _check_tolerances(atol: Any, rtol: Any) -> None:
    """Do about tolerances that are not finite what ``errstate`` says of what is invalid."""
    known = [np.isfinite(t).all() for t in (atol, rtol) if not isinstance(t, Array)]
    how, text = (
        np.geterr()["invalid"],
        f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}",
    )
    if all(known) or how not in ("warn", "raise", "print"):
        return
    if how == "raise":
        raise FloatingPointError(text)
    if how == "print":
        print(text)
    else:
        warn_at(user_place(), text, RuntimeWarning)


def _nan(x: Array | complex) -> Any:
    return elementwise("isnan", x) if isinstance(x, Array) else bool(np.isnan(x))


@stands_for(np.allclose, small="exact", near=_tolerant(np.allclose))
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike | None = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Tell whether all elements agree within tolerances, as ``numpy.allclose``.

    It is waited for one truth value; what is sent besides is what :func:`distnb.isclose` sends.

    Parameters
    ----------
    a, b : array_like
        The operands, which meet by broadcasting.
    rtol : array_like of float, optional
        Tolerance for each unit of ``b``.
    atol : array_like of float, optional
        Tolerance besides.
    equal_nan : bool
        Whether NaN agrees with NaN.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.allclose(dnb.ones(4), 1.0 + 1e-9)
    True
    """
    return bool(reduce("all", isclose(a, b, rtol, atol, equal_nan)))


@stands_for(np.array_equiv, small="exact")
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Tell whether elements are equal where they meet by broadcasting.

    As ``numpy.array_equiv``. It is waited for one truth value; what does not lie alike is sent to
    the larger operand.

    Parameters
    ----------
    a1, a2 : array_like
        What to compare; shapes that do not meet are not equal.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    session = session_of(a1, a2)
    try:
        x, y = asarray(a1, session=session), asarray(a2, session=session)
    except (TypeError, ValueError):
        return of_no_numbers(np.array_equiv, a1, a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return bool(elementwise("equal", x, y).all())


# -- functions over axes -------------------------------------------------------------------------


@stands_for(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: ArrayLike) -> Array:
    """Call a function that reduces along one axis for one axis after the other.

    As ``numpy.apply_over_axes``: an axis that the function takes away comes again with length 1.
    The function is called in the notebook, with a distributed array; what it sends is its own
    matter.

    Parameters
    ----------
    func : callable
        Called as ``func(x, axis)``.
    a : array_like
        The elements.
    axes : int or sequence of int
        The axes, in their order.

    Returns
    -------
    DistArray
        Of as many axes as ``a``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.apply_over_axes(dnb.sum, dnb.ones((2, 3, 4)), [0, 2]).to_numpy()
    array([[[8.],
            [8.],
            [8.]]])
    """
    x = asarray(a)
    for axis in np.ravel(axes).tolist():
        d = axis + x.ndim if axis < 0 else axis  # what there is not, the function refuses
        found = func(x, d)
        if found.ndim != x.ndim:
            found = expand_dims(found, d)
            if found.ndim != x.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        x = found
    return x
