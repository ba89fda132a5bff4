"""Running results agree with NumPy: integers exactly, floats along whole axes bit for bit."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import DTYPES, agree, measured, numbered, pair, same, setting, special
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four")

DISTS = [None, "cyclic", ("*", "block"), ("block", "cyclic"), "replicated", ("engine", 0)]
UFUNCS = [np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.logical_xor, np.bitwise_or]
IN_TURN = [np.subtract, np.divide, np.floor_divide, np.remainder, np.arctan2, np.less]


@given(st.data())
@examples(40)
def test_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=7))
    x, a, base, dist = pair(data.draw, shape, session.size)
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    name = data.draw(st.sampled_from(["cumsum", "cumprod", "nancumsum", "nancumprod"]))
    if x.dtype.kind in "fc" and "prod" in name:
        name = "cumsum"
    numpys = getattr(np, name)
    same(numpys(a, axis), numpys(x, axis), 1e-3 if x.dtype.itemsize < 8 else 1e-10)
    same(dist, base)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ufuncs_and_dtypes(session, books, dtype):
    x = special(dtype, 10)
    for dist in ("block", "cyclic"):
        a = dnb.array(x, dist=dist)
        for ufunc in UFUNCS + IN_TURN:
            rounds = x.dtype.kind in "fc" and ufunc in (np.add, np.multiply)
            books.compare(
                ufunc.__name__,
                lambda f=ufunc: f.accumulate(x),
                lambda f=ufunc: f.accumulate(a),
                rtol=1e-5 if rounds else 1e-6 if ufunc is np.arctan2 else 0.0,
            )


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_axes_exactly(session, books, dist):
    x = numbered((7, 5), np.int64)
    a = dnb.array(x, dist=dist)
    for axis in (0, 1, -1):
        for view, turned in ((a, x), (a[::-2], x[::-2]), (a.T, x.T), (a[:1], x[:1])):
            books.add(np.cumsum(view, axis), np.cumsum(turned, axis), axis)
            books.add(
                np.subtract.accumulate(view, axis), np.subtract.accumulate(turned, axis), axis
            )
    books.add(dnb.cumprod(a % 3 + 1), np.cumprod(x % 3 + 1), "flat")


def test_dtypes_that_are_asked_for(session):
    """Small integers and truth values, which NumPy adds up in larger ones unless it is told."""
    x = numbered((4, 5), np.float64)
    for place in ("engines", "notebook", "auto"):
        with setting(place=place):
            for dtype in ("?", "i1", "i4", "u2", "f4"):
                for axis in (0, 1, None):
                    a = dnb.array(x)
                    same(dnb.cumsum(a, axis, dtype), np.cumsum(x, axis, dtype), 1e-6)
                    same(dnb.nancumsum(a, axis, dtype), np.nancumsum(x, axis, dtype), 1e-6)


def test_whole_axes_bit_for_bit(session):
    x = np.random.default_rng(0).random((40, 30))
    a = dnb.array(x, dist="block")
    with measured(session) as report:
        found = a.cumsum(axis=1)
    assert found.to_numpy().tobytes() == x.cumsum(axis=1).tobytes()
    assert sum(op.ranks[r].bytes for op in report[0].ops for r in range(session.size)) == 0


def test_long_rows_bit_for_bit(session):
    x = np.random.default_rng(2).random((5, 3, 700)) - 0.5
    for dist in (("*", "*", "block"), "replicated"):
        a = dnb.array(x, dist=dist)
        for axis in (0, 1):
            assert a.cumsum(axis).to_numpy().tobytes() == x.cumsum(axis).tobytes()
        found = np.subtract.accumulate(a, 1).to_numpy()
        assert found.tobytes() == np.subtract.accumulate(x, 1).tobytes()
    y = (x * 100).astype(np.int16)
    same(dnb.cumsum(dnb.array(y), axis=0, dtype=np.float32), np.cumsum(y, 0, np.float32))


def test_rounding_along_split_axes(session):
    x = np.random.default_rng(1).random(5000) - 0.5
    exact = np.cumsum(x.astype(np.longdouble))
    found = dnb.array(x).cumsum().to_numpy()
    assert np.abs(found - exact).max() <= np.abs(np.cumsum(x) - exact).max() * 2 + 1e-13


@pytest.mark.parametrize("x", [[20000] * 6 + [-20000] * 6, [3e4, 3e4, 1e-4, 1e4, 7, 0.3] * 50])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_half_precision_is_rounded_where_numpy_rounds_it(session, x):
    """At each step of running totals, and at the end of a segment, wherever engines' parts end."""
    x = np.array(x, np.float16)
    for place in ("engines", "notebook"):
        with setting(place=place):
            for shape in ((-1,), (-1, 2)):
                rows = x.reshape(shape)
                a = dnb.array(rows, dist="block")
                for ufunc in (np.add, np.multiply, np.subtract, np.maximum):
                    same(ufunc.accumulate(a, 0), ufunc.accumulate(rows, 0))
                    for at in ([0], [0, 5], [1, 3, 2]):
                        same(ufunc.reduceat(a, at), ufunc.reduceat(rows, at))


def test_nan(session):
    x = special(np.float64, 40)
    x[~np.isfinite(x)] = np.nan
    x[x > 1e100] = 3
    a = dnb.array(x)
    for name in ("nancumsum", "nancumprod"):
        same(getattr(np, name)(a), getattr(np, name)(x), 1e-12)
    same(np.maximum.accumulate(a), np.maximum.accumulate(x))


def test_options_and_errors(session):
    x, y = numbered((4, 3), np.int8), numbered((5,))
    a, b = dnb.array(x), dnb.array(y)
    for call in (
        lambda m, x, y: m.cumsum(x, axis=0, dtype=np.float32),
        lambda m, x, y: m.cumsum(x, axis=2),
        lambda m, x, y: m.cumsum(x, dtype="U3"),
        lambda m, x, y: m.cumsum(y, out=m.zeros(5, dtype=np.int8)),
        lambda m, x, y: m.cumsum(y, out=m.zeros(4)),
        lambda m, x, y: m.cumulative_sum(x),
        lambda m, x, y: m.cumulative_sum(y, include_initial=True),
        lambda m, x, y: m.cumulative_prod(x, axis=1, include_initial=True, dtype=np.int64),
        lambda m, x, y: m.cumulative_prod(y),
        lambda m, x, y: np.add.accumulate(x, 1),
        lambda m, x, y: np.add.accumulate(x, None),
        lambda m, x, y: np.add.accumulate(y, None),
        lambda m, x, y: np.add.accumulate(x[0, 0]),
        lambda m, x, y: np.add.accumulate(x, (0, 1)),
        lambda m, x, y: np.sin.accumulate(x),
        lambda m, x, y: m.cumsum(x[0, :1]),
        lambda m, x, y: m.cumsum(x[:0], axis=0),
        lambda m, x, y: x.cumsum(),
        lambda m, x, y: np.multiply.outer(x, y),
        lambda m, x, y: np.subtract.outer(y, 3),
        lambda m, x, y: np.add.outer([1, 2], x, dtype=np.float64),
        lambda m, x, y: np.power.outer(2.0, y),
    ):
        agree(lambda f=call: f(np, x, y), lambda f=call: f(dnb, a, b))
    out = dnb.zeros(5)
    assert b.cumsum(out=out) is out
    same(out, y.cumsum())


METHODS = [
    lambda m, x: m.add.accumulate(x, 1),
    lambda m, x: m.maximum.accumulate(x, -1),
    lambda m, x: m.add.accumulate(x, 1, np.float32),
    lambda m, x: m.subtract.accumulate(x, 5),
    lambda m, x: m.add.accumulate(x),
    lambda m, x: m.add.accumulate(x, axis=1, dtype=int),
    lambda m, x: m.add.reduce(x, 1),
    lambda m, x: m.maximum.reduce(x, None, None, None, True),
    lambda m, x: m.subtract.outer(x, x[0]),
    lambda m, x: m.multiply.reduceat(x, [0, 2, 1], 1),
    lambda m, x: m.add.at(x, (0, 1), 7.0) or x,
]


@pytest.mark.parametrize("cutoff", [0, 1 << 20])
def test_methods_of_ufuncs_in_our_namespace(session, cutoff):
    with setting(cutoff=cutoff, place="auto"):
        for call in METHODS:
            a = np.arange(12.0).reshape(3, 4)
            b = dnb.array(a)
            agree(lambda f=call, a=a: f(np, a), lambda f=call, b=b: f(dnb, b))


# -- segments --------------------------------------------------------------------------------------


@given(st.data())
@examples(40)
def test_reduceat_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=9).filter(lambda s: s and 0 not in s))
    x, a, base, dist = pair(data.draw, shape, session.size)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    at = data.draw(st.lists(st.integers(0, x.shape[axis] - 1), max_size=5))
    at = at if data.draw(st.booleans()) else sorted(at)
    ufunc = data.draw(st.sampled_from([np.add, np.maximum, np.subtract, np.logical_or]))
    agree(lambda: ufunc.reduceat(x, at, axis), lambda: ufunc.reduceat(a, at, axis), 1e-3)
    same(dist, base)


def test_reduceat_exactly(session, books):
    x = numbered((40,), np.int64)
    for dist in ("block", "cyclic", "replicated"):
        a = dnb.array(x, dist=dist)
        for at in (
            [0],
            [3],
            [0, 39],
            [0, 5, 20],
            [5, 5, 2, 30],
            list(range(40)),
            [39, 0],
            [10, 20, 30],
        ):
            for ufunc in (np.add, np.subtract, np.minimum):
                books.add(ufunc.reduceat(a, at), ufunc.reduceat(x, at), (ufunc, at))


def test_reduceat_of_many_segments_that_overlap(session):
    """As many commands as are in one place at most, however many segments there are."""
    n, width, step = 4000, 7, 3
    x = numbered((n, 2), np.int64)
    a = dnb.array(x, dist="block")
    begins = np.arange(0, n - width, step)
    at = np.column_stack([begins, begins + width]).reshape(-1)
    session.flush()
    before = session.recorded
    found = np.add.reduceat(a, at)
    assert session.recorded - before < 40
    same(found[::2], np.add.reduceat(x, at)[::2])
    same(found, np.add.reduceat(x, at))


def test_reduceat_errors(session):
    x = numbered((5, 3))
    a = dnb.array(x)
    for at, options in (
        *(([5], {}), ([-1], {}), ([[1]], {}), (2, {}), ([0], {"axis": 2}), ([], {}), ([1.5], {})),
        *((np.array([1.5]), {}), ([0, 2], {"dtype": np.int8}), ([0, 1], {"axis": 1})),
    ):
        agree(
            lambda i=at, o=options: np.add.reduceat(x, i, **o),
            lambda i=at, o=options: np.add.reduceat(a, i, **o),
        )
    out = dnb.zeros((2, 3))
    assert np.add.reduceat(a, [0, 2], out=out) is out
    same(out, np.add.reduceat(x, [0, 2]))


@pytest.mark.parametrize("kind", ["?", "i8", "u8", "f4", "c16"])
@pytest.mark.parametrize("dtype", ["?", "i4", "f8"])
def test_what_it_is_put_into_has_a_say_in_the_dtype(kind, dtype):
    data = np.array([0.5, 1.5, 2.5, 1.0]).astype(dtype)
    for run in (
        lambda m, x, out: m.cumsum(x, out=out),
        lambda m, x, out: m.cumprod(x, out=out),
        lambda m, x, out: np.maximum.accumulate(x, out=out),
        lambda m, x, out: np.logaddexp.accumulate(x, out=out),
        lambda m, x, out: m.cumulative_sum(x, out=out),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            agree(
                lambda run=run: run(np, data, np.zeros(4, kind)),
                lambda run=run: run(dnb, dnb.array(data), dnb.zeros(4, kind)),
            )


def test_with_the_first_in_front_it_is_put_into_all():
    x = np.arange(3.0) + 0.6
    expected = np.cumulative_sum(x, include_initial=True, out=np.zeros(4, "i8"))
    same(dnb.cumulative_sum(dnb.array(x), include_initial=True, out=dnb.zeros(4, "i8")), expected)


def test_integers_summed_as_floats_are_summed_as_engines_do():
    data = (np.random.default_rng(0).random(200_000) * 250).astype("u1")
    found = []
    for place in ("notebook", "engines"):
        with setting(place=place):
            x = dnb.asarray(data, dist="block")
            found.append((dnb.cumsum(x, dtype="f4").to_numpy()[-1], x.sum(dtype="f4").item()))
    assert found[0] == found[1]
