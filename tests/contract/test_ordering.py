"""Positions in order, selection and search agree with NumPy, whatever the layout and elements."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.client.select import searching
from distnb.ops.table import sorted_layout, sorting_layout
from tests.contract.support import DTYPES, agree, measured, pair, same, setting, special, thin
from tests.tiers import examples

pytestmark = pytest.mark.ways("one")

METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]


def shuffled(shape, dtype):
    """Return specials in disorder: many equal elements, both zeros, NaN, infinities."""
    n = int(np.prod(shape))
    return special(dtype, n)[np.arange(n) * 31 % max(1, n)].reshape(shape)


def tame(shape, dtype):
    """Return small numbers in disorder, NaN among those that can be."""
    x = (np.arange(int(np.prod(shape))) * 31 % 17).astype(dtype).reshape(shape)
    if x.dtype.kind == "f":
        x[x == 5] = np.nan
    return x


def largest(x, k, axis, most=True):
    """Return what ``topk`` does, by NumPy."""
    n = x.shape[axis]
    order = np.argsort(np.flip(x, axis) if most else x, axis, stable=True)
    order = np.flip(n - 1 - order, axis) if most else order
    order = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


# -- positions in order ------------------------------------------------------------------------


@given(st.data())
@examples(20)
def test_argsort_of_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=9).filter(len))
    x, a, base, dist = pair(data.draw, shape, session.size, elements=shuffled)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(np.argsort(a, axis, stable=True), np.argsort(x, axis, stable=True))
    same(dist, base)


@pytest.mark.cases(26)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_argsort_of_every_dtype(session, dtype):
    x = shuffled((60,), dtype)
    a = dnb.array(x)
    same(dnb.argsort(a, stable=True), np.argsort(x, stable=True))
    backwards = 59 - np.argsort(x[::-1], stable=True)[::-1]
    same(dnb.argsort(a, descending=True), backwards)
    same(dnb.sort(a, descending=True, stable=True), x[backwards])
    same(dnb.lexsort((a, a == x[0])), np.lexsort((x, x == x[0])))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 3000])
def test_lengths_and_ties(session, n):
    """Several rounds of samples; all equal; a few values only."""
    rng = np.random.default_rng(n)
    for x in (np.zeros(n), rng.integers(0, 3, n), rng.random(n)):
        for dist in ("block", "cyclic", ("engine", session.size - 1)):
            a = dnb.array(x, dist=dist)
            same(dnb.argsort(a, stable=True), np.argsort(x, stable=True))
        y = rng.integers(0, 4, n)
        keys = (dnb.array(y), a, dnb.array(y[::-1], dist="cyclic"))
        same(dnb.lexsort(keys), np.lexsort((y, x, y[::-1])))


def test_lexsort_of_more_axes(session):
    x, y = tame((6, 5), np.int64), tame((5, 6), np.int64).T % 3
    a, b = dnb.array(x), dnb.array(y, dist=("*", "block"))
    for axis in (0, 1, -1):
        same(np.lexsort((a, b), axis), np.lexsort((x, y), axis))
    agree(lambda: np.lexsort((x, x[0])), lambda: dnb.lexsort((a, b[0])))
    agree(lambda: np.lexsort(()), lambda: dnb.lexsort(()))


@pytest.mark.parametrize("shape", [(40,), (3, 50), (9, 7), (2, 2, 3)])
@pytest.mark.parametrize("dtype", ["f8", "i2"])
def test_topk(session, shape, dtype):
    x = tame(shape, dtype)
    for dist in (None, "cyclic", "replicated"):
        a = dnb.array(x, dist=dist)
        for axis in range(-1, x.ndim - 1):
            for k in {0, 1, 2, x.shape[axis]}:
                for most in (True, False):
                    found = dnb.topk(a, k, axis, largest=most)
                    for f, e in zip(found, largest(x, k, axis, most), strict=True):
                        same(f, e)
    with pytest.raises(ValueError, match="k: got"):
        dnb.topk(a, x.shape[-1] + 1)


@pytest.mark.usefixtures("engines_only")
def test_topk_sends_what_it_finds_and_samples(session):
    n, p = 20_000, session.size
    a = dnb.array(np.random.default_rng(1).random(n))
    with measured(session) as reports:
        dnb.topk(a, 10)
    sent = sum(r.bytes for row in reports[0].ops for r in row.ranks)
    assert sent <= (p - 1) * (20 * 16 + p) + 2 * p * (p + 1) * (2048 * 8 + 32 * p)


def whole(x, d):
    """Tell whether 1-D slices lie, or are partitioned, whole: then as NumPy does it."""
    layout = sorted_layout(x.placed, d, x.session.size)
    return sorting_layout(x.shape, layout, d, x.session.size).parts(d) == 1


@pytest.mark.parametrize("place", ["engines", "auto"])
@pytest.mark.parametrize("shape", [(7, 6), (2, 9), (9,)], ids=str)
def test_partition(session, place, shape):
    x = tame(shape, np.float64)
    with setting(place=place, cutoff=0):
        a = dnb.array(x, dist="block")
        for axis, kth in itertools.product(range(x.ndim), (1, [1, -2])):
            numpys = np.partition(x, kth, axis), np.argpartition(x, kth, axis)
            sorts = np.sort(x, axis), np.argsort(x, axis, "stable")
            found = np.partition(a, kth, axis), np.argpartition(a, kth, axis)
            for f, as_numpys, as_sorted in zip(found, numpys, sorts, strict=True):
                if whole(a, axis):
                    same(f, as_numpys)
                else:  # engines sort it all, the notebook does not, if it has come in reach
                    there = [as_sorted, *([as_numpys] if place == "auto" else [])]
                    assert f.to_numpy().tobytes() in [each.tobytes() for each in there]
        for kth in (6, -8, [0, 9], 1.5):
            agree(lambda k=kth: np.partition(x, k, -1), lambda k=kth: np.partition(a, k, -1))


def test_methods_of_arrays(session):
    x = tame((6, 5), np.int64)
    a = dnb.array(x)
    same(a.argsort(0, stable=True), x.argsort(0, stable=True))
    b, y = a[1:].copy(), x[1:].copy()
    assert b.partition(2) is None
    y.partition(2)
    same(b, y)
    same(dnb.arange(9).searchsorted(a), np.arange(9).searchsorted(x))
    same(a.argpartition(1), x.argpartition(1))


# -- quantiles ---------------------------------------------------------------------------------


@given(st.data())
@examples(20)
def test_quantiles_of_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=6).filter(len))
    dtype = data.draw(st.sampled_from(["f8", "f4", "i4", "u1"]))
    x, a, _, _ = pair(data.draw, shape, session.size, dtype, elements=tame)
    axis = data.draw(st.sampled_from([None, *range(x.ndim), tuple(range(x.ndim))]))
    q = data.draw(st.sampled_from([0.3, np.float32(0.25), [0, 0.5, 1], 1, [[0.1], [0.9]]]))
    method, keep = data.draw(st.sampled_from(METHODS)), data.draw(st.booleans())
    for f in (np.quantile, np.nanquantile):
        agree(
            lambda f=f: f(x, q, axis, method=method, keepdims=keep),
            lambda f=f: f(a, q, axis, method=method, keepdims=keep),
        )
    for f in (np.median, np.nanmedian):
        agree(lambda f=f: f(x, axis, keepdims=keep), lambda f=f: f(a, axis, keepdims=keep))


@pytest.mark.parametrize("method", METHODS)
def test_methods(session, books, method):
    for n in (1, 2, 31):
        x = tame((n,), np.float64)
        for y in (x, np.nan_to_num(x)):
            a = dnb.array(y, dist="cyclic")
            for q in (0.4, [0.0, 0.25, 0.5, 0.999, 1.0]):
                for f in (np.quantile, np.nanquantile):
                    books.add(f(a, q, method=method), f(y, q, method=method), (n, q, f))


def test_weighted_quantiles(session):
    x = tame((6, 5, 2), np.float64)
    w = (np.arange(60) % 8 / 4).reshape(x.shape)  # sums are exact
    b, more = dnb.array(w), {"method": "inverted_cdf"}
    cases = [(None, w, b), (1, w, b), ((0, 2), w, b), (0, w[:, 0, 0] + 1, b[:, 0, 0] + 1)]
    for y in (np.nan_to_num(x), x):
        a = dnb.array(y, dist="cyclic")
        for f in (np.quantile, np.nanquantile):
            for axis, theirs, ours in cases[: 4 if f is np.quantile else 3]:
                for q in (0.5, [0, 0.25, 1.0]):
                    expected = f(y, q, axis, weights=theirs, **more)
                    same(f(a, q, axis, weights=ours, **more), np.asarray(expected))
    agree(
        lambda: np.quantile(x, 0.5, weights=-w, **more),
        lambda: np.quantile(a, 0.5, weights=-b, **more),
    )
    agree(lambda: np.quantile(x, 0.5, weights=w), lambda: np.quantile(a, 0.5, weights=b))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_quantiles(session, dtype):
    x = tame((31,), dtype)
    a = dnb.array(x)
    agree(lambda: np.median(x), lambda: np.median(a))
    agree(lambda: np.percentile(x, [10, 65]), lambda: np.percentile(a, [10, 65]))
    agree(lambda: np.nanpercentile(x, 65.0), lambda: np.nanpercentile(a, 65.0))


@pytest.mark.usefixtures("engines_only")
def test_a_median_sends_samples_only(session):
    n, p = 30_000, session.size
    x = np.random.default_rng(3).random(n)
    a = dnb.array(x, dist="cyclic")
    with measured(session) as reports:
        found = dnb.median(a)
    same(found, np.median(x))
    rounds, most = 3, 3 * 8 * 2048  # positions, bytes of samples of all engines
    assert sum(r.bytes for row in reports[0].ops for r in row.ranks) <= rounds * p * most


def test_quantiles_of_nothing_and_wrong_arguments(session):
    x, a = np.zeros((0, 3)), dnb.zeros((0, 3))
    for f in (np.median, np.nanmedian, lambda y, axis: np.quantile(y, 0.5, axis)):
        for axis in (0, 1, None):
            agree(lambda f=f, axis=axis: f(x, axis), lambda f=f, axis=axis: f(a, axis))
    x, a = np.ones(5), dnb.ones(5)
    agree(lambda: np.quantile(x, 1.5), lambda: np.quantile(a, 1.5))
    agree(lambda: np.quantile(x, 0.5, method="best"), lambda: np.quantile(a, 0.5, method="best"))
    agree(lambda: np.quantile(x, 0.5, axis=1), lambda: np.quantile(a, 0.5, axis=1))
    agree(lambda: np.quantile(x * 1j, 0.5), lambda: np.quantile(a * 1j, 0.5))
    out = dnb.zeros(())
    assert dnb.median(a, out=out) is out
    same(out, np.array(1.0))


# -- search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("small", [0, 1 << 16], ids=["split", "everywhere"])
@pytest.mark.parametrize("dist", ["block", "cyclic", "replicated"])
def test_searchsorted(session, monkeypatch, small, dist):
    monkeypatch.setattr(searching, "SMALL", small)
    rng = np.random.default_rng(0)
    lines = [np.sort(rng.random(50)), np.sort(tame((40,), np.float64)), np.zeros(0), np.arange(2)]
    wanted = [rng.random((5, 4)), np.array([1, 2, 99, -5, 2]), 3.0, np.array([np.nan, 2, 0])]
    for x in lines:
        a = dnb.array(x, dist=dist)
        for v in (*wanted, np.zeros((0, 3))):
            for side in ("left", "right"):
                expected = np.asarray(np.searchsorted(x, v, side))
                same(np.searchsorted(a, dnb.array(v), side), expected)
                same(dnb.searchsorted(a, v, side), expected)
                same(dnb.searchsorted(x, dnb.array(v), side), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_searchsorted_of_every_dtype(session, monkeypatch, dtype):
    monkeypatch.setattr(searching, "SMALL", 0)
    x = np.sort(shuffled((40,), dtype))
    v = shuffled((3, 13), dtype)
    for side in thin(["left", "right"], 1):
        found = np.searchsorted(dnb.array(x), dnb.array(v, dist=("*", "block")), side)
        same(found, np.searchsorted(x, v, side))


def test_searchsorted_refuses_what_numpy_refuses(session):
    x, a = np.arange(4.0), dnb.arange(4.0)
    agree(lambda: np.searchsorted(x, 1, "middle"), lambda: np.searchsorted(a, 1, "middle"))
    agree(lambda: np.searchsorted(x[None], 1), lambda: np.searchsorted(a[None], 1))


@pytest.mark.parametrize("bins", [[0.0, 1, 2.5], [3.0, 2, 1, 1], [1.0], [], [1.0, 3, 2]], ids=str)
def test_digitize(session, bins):
    x = np.random.default_rng(1).random((6, 5)) * 4
    a = dnb.array(x)
    for right in (False, True):
        agree(lambda r=right: np.digitize(x, bins, r), lambda r=right: np.digitize(a, bins, r))
        there = dnb.array(np.array(bins))
        agree(lambda r=right: np.digitize(x, bins, r), lambda r=right: np.digitize(a, there, r))
