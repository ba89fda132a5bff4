"""Elementwise functions of NumPy that are no ufuncs: composed of ufuncs as NumPy composes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib import _function_base_impl as _numpys
from numpy.typing import ArrayLike

from distnb.client.batching.call_sites import user_place
from distnb.client.batching.error_states import warn_at
from distnb.client.handle.array import Array
from distnb.client.handle.whole_functions import in_reach
from distnb.client.math.differences import diff
from distnb.client.math.scans import cumsum
from distnb.client.record.creation import array, asarray, zeros_like
from distnb.client.record.eager import session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.reducing import reduce
from distnb.client.select.sorting import sort
from distnb.client.shape.viewing import expand_dims

__all__: list[str] = []


@stands_for(np.fix, small="exact")
def fix(x: ArrayLike, out: Array | None = None) -> Array:
    """Round towards zero."""
    return elementwise("trunc", asarray(x), out=out)


@stands_for(np.angle, small="exact")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of complex numbers."""
    x = asarray(z)
    parts = (x.imag, x.real) if x.dtype.kind == "c" else (0, x)
    found = elementwise("arctan2", *parts)
    return found * (180 / np.pi) if deg else found


@stands_for(np.iscomplex, small="exact")
def iscomplex(x: ArrayLike) -> Array:
    """Tell which elements have an imaginary part."""
    a = asarray(x)
    return elementwise("not_equal", a.imag, 0) if a.dtype.kind == "c" else zeros_like(a, bool)


@stands_for(np.isreal, small="exact")
def isreal(x: ArrayLike) -> Array:
    """Tell which elements have no imaginary part."""
    return elementwise("equal", asarray(x).imag, 0)


@stands_for(np.isposinf, small="exact")
def isposinf(x: ArrayLike, out: Array | None = None) -> Array:
    """Tell which elements are positive infinity."""
    sign = elementwise("signbit", asarray(x))
    return elementwise("logical_and", elementwise("isinf", asarray(x)), ~sign, out=out)


@stands_for(np.isneginf, small="exact")
def isneginf(x: ArrayLike, out: Array | None = None) -> Array:
    """Tell which elements are negative infinity."""
    sign = elementwise("signbit", asarray(x))
    return elementwise("logical_and", elementwise("isinf", asarray(x)), sign, out=out)


@stands_for(np.nan_to_num)
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """Replace NaN and infinities by numbers."""
    a = array(x, copy=copy)
    if a.dtype.kind not in "fc":
        return a
    limits = np.finfo(a.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf

    def finite(part: Array) -> Array:
        tests = (np.isnan, np.isposinf, np.isneginf)
        masks: list[Any] = [test(part) for test in tests]
        for mask, value in zip(masks, (nan, high, low), strict=True):
            assign(part, value, mask)  # which may make others of what is not finite
        return part

    if a.dtype.kind == "f":
        return finite(a)
    real, imag = finite(a.real.copy()), finite(a.imag.copy())
    odd = [] if np.isfinite([nan, high, low]).all() else _ODD
    assign(a, elementwise("add", real, _turned(imag, a.dtype, odd)))
    return a


#: What makes NaN of a product with 1j, and how it is found.
_ODD = (("isnan", np.nan), ("isposinf", np.inf), ("isneginf", -np.inf))


def _turned(imag: Array, dtype: np.dtype, odd: Sequence[tuple[str, float]]) -> Array:
    """Return imaginary parts as complex numbers; ``odd`` ones are put in place."""
    found = elementwise("multiply", imag, dtype.type(1j))
    for test, value in odd:
        mask = getattr(np, test)(imag)
        found = elementwise("where", mask, dtype.type(complex(0, value)), found)
    return found


@stands_for(np.real_if_close)
def real_if_close(a: ArrayLike, tol: float = 100) -> Array:
    """Return the real part if the imaginary parts are close to zero (reads one value)."""
    x = asarray(a)
    if x.dtype.kind != "c":
        return x
    most = np.finfo(x.dtype).eps * tol if tol > 1 else tol
    return x.real if bool((abs(x.imag) < most).all()) else x


@stands_for(np.sinc, small="exact")
def sinc(x: ArrayLike) -> Array:
    """Return sin(pi x) / (pi x)."""
    y = np.pi * asarray(x)
    eps = np.finfo(y.dtype).eps if y.dtype.kind == "f" else 1e-20
    y = elementwise("where", y, y, eps)
    return elementwise("sin", y) / y


@stands_for(np.i0, small="exact")
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of the first kind, order 0."""
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
    """Sort along the last axis, as complex numbers."""
    found = sort(asarray(a))
    if found.dtype.kind == "c":
        return found
    return found.astype("F" if found.dtype.char in "bhBH" else "D")


@stands_for(np.unwrap, small="home")
def unwrap(
    p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> Array:
    """Take out jumps of a period: the corrections are added up along the axis."""
    x = asarray(p)
    d = axis % x.ndim
    rest = (slice(None),) * d + (slice(1, None),)
    steps = diff(x, axis=d)
    dtype = np.result_type(steps.dtype, period)
    whole = dtype.kind in "iu"
    high, odd = divmod(period, 2) if whole else (period / 2, 0)
    wrapped = elementwise("remainder", steps + high, period) - high
    if not odd:
        wrapped = elementwise("where", (wrapped == -high) & (steps > 0), high, wrapped)
    least = period / 2 if discont is None else discont
    change = elementwise("where", abs(steps) < least, 0, wrapped - steps)
    found = x.astype(dtype)
    found[rest] = x[rest] + cumsum(change, d)
    return found


# -- comparison ----------------------------------------------------------------------------------


@stands_for(np.isclose)
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike | None = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Tell which elements agree within tolerances."""
    _check_tolerances(atol, rtol)
    return _close(a, b, rtol, atol, equal_nan)


@in_reach(np.isclose, "exact")
def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Array:
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


@stands_for(np.allclose)
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike | None = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Tell whether all elements agree within tolerances (reads one value)."""
    return bool(reduce("all", isclose(a, b, rtol, atol, equal_nan)))


@stands_for(np.array_equiv, small="exact")
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Tell whether all elements are equal where they meet by broadcasting (reads one value)."""
    session = session_of(a1, a2)
    x, y = asarray(a1, session=session), asarray(a2, session=session)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return bool(elementwise("equal", x, y).all())


# -- functions over axes -------------------------------------------------------------------------


@stands_for(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: ArrayLike) -> Array:
    """Call a function that reduces along one axis for one axis after the other."""
    x = asarray(a)
    for axis in np.ravel(axes):
        found = func(x, int(axis) % x.ndim)
        if found.ndim != x.ndim:
            found = expand_dims(found, int(axis) % x.ndim)
            if found.ndim != x.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        x = found
    return x
