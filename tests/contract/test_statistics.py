"""Sums without NaN, means, histograms and composed elementwise functions agree with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import DTYPES, agree, check, measured, pair, same, special, thin
from tests.tiers import examples

pytestmark = pytest.mark.ways("cutoff", "auto")

FEW = ["f8", "f2", "c8", "i4", "u1", "?"]
DISTS = [None, "cyclic", ("*", "block"), "replicated"]


def holey(shape, dtype=np.float64):
    """Return small numbers, every fifth of them NaN if that is possible."""
    n = int(np.prod(shape))
    x = (np.arange(n) * 31 % 17 - 4).astype(dtype)
    if x.dtype.kind in "fc":
        x[::5] = np.nan
    return x.reshape(shape)


# -- without NaN -------------------------------------------------------------------------------

NANS = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"]


@pytest.mark.parametrize("name", [*NANS, "nanargmin", "nanargmax"])
@pytest.mark.parametrize("dtype", ["f8", "c8", "i4"])
def test_reductions_without_nan(session, name, dtype):
    f = getattr(np, name)
    x = holey((6, 5), dtype)
    for dist in DISTS[:2]:
        a = dnb.array(x, dist=dist)
        for axis in (None, 0, -1):
            agree(lambda axis=axis: f(x, axis), lambda a=a, axis=axis: f(a, axis), 1e-6)
        agree(lambda: f(x, 1, keepdims=True), lambda a=a: f(a, 1, keepdims=True), 1e-6)


def test_lanes_of_nothing_but_nan(session):
    x = holey((4, 3))
    x[1] = np.nan
    a = dnb.array(x)
    for name in [*NANS, "nanargmin"]:
        f = getattr(np, name)
        agree(lambda f=f: f(x, 1), lambda f=f: f(a, 1), 1e-12)
    for name in ("nanvar", "nanstd"):
        f = getattr(np, name)
        for more in ({"ddof": 2}, {"correction": 1}, {"ddof": 1, "correction": 1}):
            agree(lambda f=f, m=more: f(x, 1, **m), lambda f=f, m=more: f(a, 1, **m), 1e-12)
    mask = np.arange(12).reshape(4, 3) % 2 == 0
    agree(lambda: np.nansum(x, 0, where=mask), lambda: np.nansum(a, 0, where=dnb.array(mask)))
    agree(lambda: np.nanmean(x, 0, where=mask), lambda: np.nanmean(a, 0, where=dnb.array(mask)))
    agree(lambda: np.nanmean(x, dtype=int), lambda: np.nanmean(a, dtype=int))
    out = dnb.zeros(4)
    assert np.nansum(a, 1, out=out) is out
    same(out, np.nansum(x, 1))


# -- means -------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{"ddof": 1}, {"correction": 1.5}, {"keepdims": True}], ids=str)
def test_variances(session, more):
    x = np.random.default_rng(1).random((7, 5))
    a = dnb.array(x, dist="cyclic")
    for f in (np.var, np.std):
        agree(lambda f=f: f(x, 0, **more), lambda f=f: f(a, 0, **more), 1e-12)
    m = x.mean(0, keepdims=True)
    agree(lambda: np.var(x, 0, mean=m), lambda: np.var(a, 0, mean=dnb.array(m)), 1e-12)
    agree(lambda: np.var(x, ddof=1, correction=1), lambda: np.var(a, ddof=1, correction=1))


@pytest.mark.parametrize("dtype", ["f8", "i4", "c8"])
def test_average(session, dtype):
    x = np.nan_to_num(holey((4, 5, 3), dtype))
    w = np.arange(60.0).reshape(x.shape) + 1
    a, b = dnb.array(x), dnb.array(w, dist="cyclic")
    for axis in (None, 1, (0, 2), -1):
        for both in ((None, None), (w, b)):
            agree(
                lambda axis=axis, g=both: np.average(x, axis, g[0], returned=True),
                lambda axis=axis, g=both: np.average(a, axis, g[1], returned=True),
                1e-5,
            )
    agree(lambda: np.average(x, 1, w[0, :, 0]), lambda: np.average(a, 1, b[0, :, 0]), 1e-5)
    agree(lambda: np.average(x, (2, 0), w[:, 0].T), lambda: np.average(a, (2, 0), b[:, 0].T), 1e-5)
    agree(lambda: np.average(x, 1, w[0]), lambda: np.average(a, 1, b[0]))
    agree(lambda: np.average(x, None, w[0]), lambda: np.average(a, None, b[0]))
    agree(lambda: np.average(x, 0, w * 0), lambda: np.average(a, 0, b * 0))


def test_ptp(session):
    for dtype in thin(DTYPES, 2):
        x = np.nan_to_num(special(dtype, 24)).reshape(6, 4)
        a = dnb.array(x)
        for axis in (None, 0, 1):
            agree(lambda x=x, axis=axis: np.ptp(x, axis), lambda a=a, axis=axis: np.ptp(a, axis))


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
def test_covariances(session, dtype):
    x = np.nan_to_num(holey((3, 20), dtype)) + np.arange(20) % 7
    y = np.arange(20.0) * 3 % 11
    a, b = dnb.array(x), dnb.array(y)
    f, w = np.arange(20) % 3, np.arange(20.0) + 0.5
    cases = [
        ((x,), (a,), {}),
        ((x, y), (a, b), {"bias": True}),
        ((x.T,), (a.T,), {"rowvar": False, "ddof": 0}),
        ((y,), (b,), {}),
        ((x,), (a,), {"fweights": f}),
        ((x,), (a,), {"aweights": w, "ddof": 0}),
        ((x,), (a,), {"fweights": f, "aweights": w}),
        ((x,), (a,), {"fweights": w}),
        ((x,), (a,), {"aweights": w[1:]}),
    ]
    for theirs, ours, more in cases:
        agree(
            lambda t=theirs, m=more: np.cov(*t, **m), lambda o=ours, m=more: np.cov(*o, **m), 1e-10
        )
    agree(lambda: np.corrcoef(x), lambda: np.corrcoef(a), 1e-10)
    agree(lambda: np.corrcoef(x, y), lambda: np.corrcoef(a, b), 1e-10)


# -- histograms --------------------------------------------------------------------------------


@given(st.data())
@examples(15)
def test_histogram_of_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=7))
    dtype = data.draw(st.sampled_from(["f8", "f4", "i4", "u1"]))
    x, a, _, _ = pair(data.draw, shape, session.size, dtype)
    bins = data.draw(st.sampled_from([1, 4, [0, 2, 3, 30], np.array([1.5, 20, 20])]))
    limits = data.draw(st.sampled_from([None, (3, 17)]))
    agree(lambda: np.histogram(x, bins, limits), lambda: np.histogram(a, bins, limits))
    w = (np.arange(x.size) % 8 / 4).reshape(x.shape)
    agree(
        lambda: np.histogram(x, bins, limits, weights=w),
        lambda: np.histogram(a, bins, limits, weights=dnb.array(w)),
    )


@pytest.mark.parametrize("bins", ["auto", "fd", "scott", "rice", "sturges", "doane", "sqrt"])
def test_rules_for_the_number_of_bins(session, bins):
    rng = np.random.default_rng(1)
    for x in (rng.normal(size=500), rng.integers(0, 9, 100), np.ones(9), np.zeros(0)):
        a = dnb.array(x)
        agree(lambda x=x: np.histogram(x, bins), lambda a=a: np.histogram(a, bins))
        agree(
            lambda x=x: np.histogram_bin_edges(x, bins), lambda a=a: np.histogram_bin_edges(a, bins)
        )


@pytest.mark.parametrize("bins", [[], [1], "auto", "scott", "stone", 3], ids=str)
def test_bins_between_edges_that_are_odd(session, bins):
    for x in (np.arange(50.0) / 25, np.arange(5), np.ones(4)):
        a = dnb.array(x)
        for limits in (None, (1, 1), (0, 1), (5, 7), (2, 1), (0, np.inf)):
            for density in (False, True):
                agree(
                    lambda x=x, r=limits, d=density: np.histogram(x, bins, r, d),
                    lambda a=a, r=limits, d=density: dnb.histogram(a, bins, r, d),
                    1e-12,
                )


@pytest.mark.parametrize(
    "arguments",
    [(0,), (2.5,), ([3, 1],), ([[1, 2]],), ("best",), (3, (5, 1)), (3, (0, np.inf))],
    ids=str,
)
def test_histogram_refuses_what_numpy_refuses(session, arguments):
    x = np.arange(9.0)
    a = dnb.array(x)
    agree(lambda: np.histogram(x, *arguments), lambda: np.histogram(a, *arguments))
    agree(
        lambda: np.histogram(x, 3, weights=x[1:]), lambda: np.histogram(a, 3, weights=dnb.ones(8))
    )
    agree(lambda: np.histogram(x * np.nan, 3), lambda: np.histogram(a * np.nan, 3))


@pytest.mark.parametrize(
    "limits", [(0, 1), (-4, 4), (np.float32(0.1), np.float32(8.7)), (0.1, 17.7)]
)
def test_elements_on_edges_of_bins_are_in_numpys(session, limits):
    for dtype in "efd":
        on = np.histogram_bin_edges(np.zeros(0, dtype), 30, limits)
        x = np.concatenate([on, np.nextafter(on, on[0]), np.nextafter(on, on[-1])])
        a = dnb.array(x)
        for more in ({}, {"weights": np.arange(x.size) % 5}, {"density": True}):
            agree(
                lambda x=x, more=more: np.histogram(x, 30, limits, **more),
                lambda a=a, more=more: np.histogram(a, 30, limits, **more),
            )


def test_density(session):
    x = np.arange(40.0) * 7 % 23
    a = dnb.array(x, dist="cyclic")
    for bins in (5, [0, 1, 5, 20]):
        agree(
            lambda b=bins: np.histogram(x, b, density=True),
            lambda b=bins: np.histogram(a, b, density=True),
            1e-14,
        )
    y = x[::-1] % 5
    agree(
        lambda: np.histogram2d(x, y, 4, density=True),
        lambda: np.histogram2d(a, dnb.array(y), 4, density=True),
        1e-14,
    )


def test_histograms_of_more_dimensions(session):
    x = np.random.default_rng(0).random((50, 3))
    a = dnb.array(x, dist=("*", "block") if session.size < 4 else None)
    w = np.arange(50) % 8 / 4
    for more in ({}, {"bins": 3}, {"bins": [2, [0, 0.5, 1], 4]}, {"range": [(0, 1), None, None]}):
        theirs, ours = np.histogramdd(x, **more), np.histogramdd(a, **more)
        same(ours[0], theirs[0])
        for e, f in zip(ours[1], theirs[1], strict=True):
            same(e, f)
    same(np.histogramdd(a, 3, weights=dnb.array(w))[0], np.histogramdd(x, 3, weights=w)[0])
    columns = [dnb.array(c) for c in x.T[:2]]
    for bins in (4, [3, 5], [0, 0.2, 0.5, 1], [[0, 0.5, 1], 3]):
        theirs, ours = np.histogram2d(*x.T[:2], bins), dnb.histogram2d(*columns, bins)
        for e, f in zip(ours, theirs, strict=True):
            same(e, f)


@pytest.mark.usefixtures("engines_only")
def test_a_histogram_sends_counts_and_edges(session):
    a, p = dnb.array(np.arange(5000.0)), session.size
    with measured(session) as reports:
        dnb.histogram(a, 8, (0, 5000))
    assert sum(r.bytes for row in reports[0].ops for r in row.ranks) <= 2 * (p - 1) * 8 * 9


# -- elementwise -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fix", "angle", "iscomplex", "isreal", "isposinf", "isneginf"])
def test_simple_functions(session, books, name):
    f = getattr(np, name)
    for dtype in DTYPES:
        x = special(dtype, 15)
        a, tolerance = dnb.array(x, dist="cyclic"), 1e-6 if name == "angle" else 0
        books.compare((name, dtype), lambda x=x: f(x), lambda a=a: f(a), tolerance)


@pytest.mark.parametrize("dtype", FEW)
def test_functions_of_numbers(session, dtype):
    dtype = np.dtype(dtype)
    x = special(dtype, 15)
    a = dnb.array(x)
    agree(lambda: np.nan_to_num(x), lambda: np.nan_to_num(a))
    agree(
        lambda: np.nan_to_num(x, nan=1, posinf=2, neginf=3),
        lambda: np.nan_to_num(a, nan=1, posinf=2, neginf=3),
    )
    agree(lambda: np.sort_complex(x), lambda: np.sort_complex(a))
    agree(lambda: np.real_if_close(x), lambda: np.real_if_close(a))
    y = np.arange(-6, 9).astype(dtype)
    b = dnb.array(y)
    tolerance = 1e-2 if dtype == np.float16 else 1e-5
    agree(lambda: np.i0(y), lambda: np.i0(b), tolerance)
    if dtype.kind == "f":
        agree(lambda: np.sinc(y / 4), lambda: np.sinc(b / 4), tolerance)


def test_unwrap(session):
    x = np.linspace(0, 20, 60).reshape(12, 5) % 3
    a = dnb.array(x)
    for axis in (0, -1):
        for period in (3, 2 * np.pi):
            agree(
                lambda axis=axis, period=period: np.unwrap(x, axis=axis, period=period),
                lambda axis=axis, period=period: np.unwrap(a, axis=axis, period=period),
                1e-12,
            )
    y = (np.arange(20) * 3) % 8
    agree(lambda: np.unwrap(y, period=8), lambda: np.unwrap(dnb.array(y), period=8))


def test_nan_to_num_in_place(session):
    a = dnb.array([1.0, np.nan, np.inf])
    assert np.nan_to_num(a, copy=False) is a
    same(a, np.nan_to_num(np.array([1.0, np.nan, np.inf])))
    z = np.array([1 + 1e-20j, 2])
    agree(lambda: np.real_if_close(z), lambda: np.real_if_close(dnb.array(z)))


@pytest.mark.parametrize("dtype", ["f8", "c16", "i8", "i1", "?"])
def test_comparisons(session, dtype):
    x = special(dtype, 12)
    y = np.where(np.arange(12) % 3 == 0, x, np.roll(x, 1)).astype(dtype)
    a, b = dnb.array(x), dnb.array(y, dist="cyclic")
    for more in ({}, {"equal_nan": True}, {"rtol": 0.5, "atol": 1}):
        agree(lambda m=more: np.isclose(x, y, **m), lambda m=more: np.isclose(a, b, **m))
        agree(lambda m=more: np.allclose(x, x, **m), lambda m=more: np.allclose(a, a, **m))
    agree(lambda: np.isclose(x, 1), lambda: np.isclose(a, 1))
    agree(lambda: np.isclose(1, x), lambda: np.isclose(1, a))
    for f in (np.array_equal, np.array_equiv):
        agree(lambda f=f: f(x, y), lambda f=f: f(a, b))
        agree(lambda f=f: f(x, x[:1]), lambda f=f: f(a, a[:1]))
        agree(lambda f=f: f(x, x[:5]), lambda f=f: f(a, a[:5]))


def test_apply_over_axes(session):
    x = np.arange(24.0).reshape(2, 3, 4)
    a = dnb.array(x)
    for axes in (0, [0, -1]):
        same(np.apply_over_axes(np.sum, a, axes), np.apply_over_axes(np.sum, x, axes))


# -- polynomials, and functions that call others -------------------------------------------------


def test_polynomials(session):
    p, q, x = np.array([2.0, -1, 0.5]), np.array([1.0, 3]), np.linspace(-2, 2, 24).reshape(6, 4)
    a, b, t = dnb.array(p), dnb.array(q), dnb.array(x, dist="cyclic")
    same(np.polyval(a, t), np.polyval(p, x))
    same(dnb.polyval([1, 2, 3], t), np.polyval([1, 2, 3], x))
    for f in (np.polyadd, np.polysub):
        same(f(a, b), f(p, q))
        same(f(b, a), f(q, p))
    for m in (0, 1, 2, 4):
        same(np.polyder(a, m), np.polyder(p, m))
        same(np.polyint(a, m), np.polyint(p, m))
    same(np.polymul(a, b), np.polymul(p, q))
    check(np.polydiv(a, b), np.polydiv(p, q))
    same(dnb.poly(b), np.poly(q))  # NumPy asks the elements, which may be its own
    same(dnb.roots(a), np.roots(p))
    same(np.polyint(a, 2, [1, 2]), np.polyint(p, 2, [1, 2]))
    for bad in (lambda y: np.polyder(y, -1), lambda y: np.polyint(y, 2, [1, 2, 3][:0])):
        agree(lambda bad=bad: bad(p), lambda bad=bad: bad(a))


def test_fits(session):
    x = np.linspace(0, 2, 40)
    y = np.column_stack([x**3 - x, np.cos(x)])
    a, b, w = dnb.array(x), dnb.array(y), np.linspace(1, 2, 40)
    for more, ours in (({}, {}), ({"w": w}, {"w": dnb.array(w)}), ({"cov": True},) * 2):
        for k in (0, np.s_[:]):
            theirs, found = np.polyfit(x, y[:, k], 3, **more), np.polyfit(a, b[:, k], 3, **ours)
            both = (theirs, found) if "cov" in more else ((theirs,), (found,))
            for e, f in zip(*both, strict=True):
                np.testing.assert_allclose(f.to_numpy(), e, rtol=1e-7, atol=1e-9)
    agree(lambda: np.polyfit(x, y, -1), lambda: np.polyfit(a, b, -1))
    agree(lambda: np.polyfit(x, y[1:], 2), lambda: np.polyfit(a, b[1:], 2))


def test_apply_along_axis(session):
    x = np.arange(24.0).reshape(2, 3, 4)
    a = dnb.array(x)
    for axis in (0, 1, -1):
        for f in (lambda v: v.sum(), lambda v: v[:2] * 2, lambda v: v[:, None] * v[None, :2]):
            same(np.apply_along_axis(f, axis, a), np.apply_along_axis(f, axis, x))
    same(np.apply_along_axis(np.max, 0, a[0, 0]), np.apply_along_axis(np.max, 0, x[0, 0]))
    agree(
        lambda: np.apply_along_axis(np.max, 1, x[:0]), lambda: np.apply_along_axis(np.max, 1, a[:0])
    )


def test_piecewise(session):
    x = np.linspace(-2, 3, 30).reshape(5, 6)
    a = dnb.array(x)
    for functions in ([np.exp, -1.0], [np.exp, lambda v: v * 2, 0.5]):
        theirs = np.piecewise(x, [x < 0, x > 1], functions)
        same(np.piecewise(a, [a < 0, a > 1], functions), theirs)
    b, y = a[0], x[0]
    same(np.piecewise(b, b < 0, [7, np.sqrt]), np.piecewise(y, y < 0, [7, np.sqrt]))
    agree(lambda: np.piecewise(x, [x < 0], [1, 2, 3]), lambda: np.piecewise(a, [a < 0], [1, 2, 3]))
