"""Sorting and counting agree with NumPy, whatever the layout, the view and the elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import (
    DTYPES,
    agree,
    between_engines,
    measured,
    numbered,
    on_engines,
    operands,
    outcome,
    pair,
    public,
    same,
    special,
    take,
    thin,
)
from tests.tiers import SCALE, examples

pytestmark = [
    pytest.mark.usefixtures("engines_only"),
    pytest.mark.ways("one", "four"),
]

DISTS = [None, "cyclic", ("cyclic", 3), ("irregular", "all on the last"), "replicated", "engine"]
LENGTHS = [0, 1, 2, 3, 4, 7, 64, 1000, 5003]


def layout_of(dist, session, n):
    """Return what a word of ``DISTS`` stands for."""
    if dist == "engine":
        return ("engine", session.size - 1)
    if isinstance(dist, tuple) and dist[0] == "irregular":
        return ("irregular", (0,) * session.size + (n,))
    return dist


def mixed(shape, dtype):
    """Return elements in disorder, few of them equal."""
    n = int(np.prod(shape))
    return numbered((n,), dtype)[np.arange(n) * 7919 % max(1, n)].reshape(shape)


def shuffled(shape, dtype):
    """Return specials in disorder: many equal elements, both zeros, NaN, infinities."""
    n = int(np.prod(shape))
    return special(dtype, n)[np.arange(n) * 31 % max(1, n)].reshape(shape)


def kinds_of_data(n):
    """Return data of length ``n`` that are hard to split evenly."""
    rng = np.random.default_rng(n)
    return {
        "random": rng.random(n),
        "all equal": np.full(n, 2.5),
        "two values": (rng.random(n) < 0.9).astype(np.int8),
        "sorted": np.arange(n, dtype=np.int64),
        "reversed": np.arange(n, dtype=np.float32)[::-1].copy(),
        "all on one side": np.concatenate([np.zeros(n - n // 3), rng.random(n // 3)]),
        "organ pipe": np.abs(np.arange(n) - n // 2),
        "mostly nan": np.where(rng.random(n) < 0.8, np.nan, rng.random(n)),
        "exponents": np.exp(rng.normal(0, 200, n).clip(-700, 700)),
    }


def exactly(actual, expected):
    """A result has NumPy's bits: equal elements are where NumPy puts them, too."""
    same(actual, expected)
    assert actual.to_numpy().tobytes() == np.ascontiguousarray(expected).tobytes()


def blocks(session, array):
    """Return how many elements each engine holds of an array."""
    handle = array.dbase.handle
    block = f"worker.store.bases[{handle}].block"
    return on_engines(session, f"0 if {block} is None else {block}.size")


# -- one axis ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_lengths_and_data(session, dist):
    for n in LENGTHS:
        for name, x in thin(kinds_of_data(n).items(), 3):
            a = dnb.array(x, dist=layout_of(dist, session, n))
            found = dnb.sort(a)
            same(found, np.sort(x))
            same(a, x)
            assert sum(blocks(session, found)) >= n, name


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_and_specials(session, dtype):
    """NaN come last, also in parts of complex numbers; with ``stable``, the bits are NumPy's."""
    for n in (5, 40, 700):
        x = shuffled((n,), dtype)
        for dist in (None, "cyclic"):
            a = dnb.array(x, dist=dist)
            same(np.sort(a), np.sort(x))
            exactly(np.sort(a, stable=True), np.sort(x, stable=True))
            exactly(np.sort(a, kind="mergesort"), np.sort(x, kind="mergesort"))
            same(dnb.sort(a, kind="heapsort"), np.sort(x))


def test_stable_keeps_zeros_and_nan_payloads_in_order(session):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 40, 3000, np.uint64) | np.uint64(0x7FF8 << 48)
    x = np.where(rng.random(3000) < 0.5, bits.view(np.float64), rng.choice([0.0, -0.0], 3000))
    a = dnb.array(x)
    exactly(dnb.sort(a, stable=True), np.sort(x, stable=True))
    exactly(dnb.sort(a[::-1], kind="stable"), np.sort(x[::-1], kind="stable"))


@pytest.mark.ways("spmd")
@given(st.data())
@examples(60)
def test_any_view_of_any_layout(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=9).filter(len))
    x, a, base, dist = pair(data.draw, shape, session.size, elements=shuffled)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    stable = data.draw(st.booleans())
    before = base.copy()
    compare = exactly if stable else same
    compare(dnb.sort(a, axis, stable=stable), np.sort(x, axis, stable=stable))
    same(dist, before)


@pytest.mark.ways("spmd")
@given(st.data())
@examples(60)
def test_any_view_in_place(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=9).filter(len))
    base, dist, view = data.draw(operands(shape, session.size, elements=shuffled, broadcast=False))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    take(base, view).sort(axis, stable=True)
    layout = dist.layout
    assert take(dist, view).sort(axis, stable=True) is None
    exactly(dist, base)
    assert dist.layout == layout


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_descending(session, dtype):
    """As the standard's sort: equal elements stay in order."""
    x = shuffled((6, 40), dtype)
    for dist in ("block", ("*", "cyclic")):
        a = dnb.array(x, dist=dist)
        for axis in (0, -1):
            expected = np.flip(np.sort(np.flip(x, axis), axis, stable=True), axis)
            exactly(dnb.sort(a, axis=axis, stable=True, descending=True), expected)


# -- more axes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3000, 2), (2, 3000), (40, 30), (3, 2, 70), (2, 0, 5), (9, 1)])
def test_axes(session, shape):
    """Few lanes are sorted by all engines together, many by one engine each."""
    x = mixed(shape, np.int32) % 50
    dists = [None, ("*", "block"), "cyclic", ("block", "cyclic"), ("cyclic", "block")]
    for dist in thin(dists, 3):
        a = dnb.array(x, dist=dist)
        for axis in range(-1, x.ndim - 1):
            same(dnb.sort(a, axis=axis), np.sort(x, axis=axis))
            b, y = a.copy(), x.copy()
            b.sort(axis)
            y.sort(axis)
            same(b, y)


def test_no_axis(session):
    x = mixed((20,), np.float64)
    same(dnb.sort(dnb.array(x), axis=None), np.sort(x, axis=None))
    same(dnb.sort(dnb.array(2.5), axis=None), np.sort(np.array(2.5), axis=None))
    same(dnb.sort(dnb.array(x.reshape(4, 5)).T, axis=None), np.sort(x.reshape(4, 5).T, axis=None))
    agree(
        lambda: x.reshape(4, 5).sort(axis=None), lambda: dnb.array(x.reshape(4, 5)).sort(axis=None)
    )


# -- where the result lies ---------------------------------------------------------------------


def lies_as(found, like):
    return found.session.size == 1 or found.dbase.layout == like.dbase.layout


def test_layout_of_the_result(session):
    n, p = 24, session.size
    uneven = ("irregular", (0, *range(1, p), n)) if p < 3 else ("irregular", (0, *[9] * (p - 1), n))
    for dist in (None, "replicated", uneven, "cyclic", ("cyclic", 2), ("engine", 0)):
        a = dnb.array(mixed((n,), np.float64), dist=dist)
        dealt = dist in ("cyclic", ("cyclic", 2))
        assert lies_as(dnb.sort(a), dnb.ones(n) if dealt else a.copy())
    b = dnb.ones((12, 12), dist=("cyclic", "*"))
    assert lies_as(dnb.sort(b), b)
    assert lies_as(dnb.sort(b.T), dnb.ones((12, 12), dist=("*", "block")))


@pytest.mark.parametrize("name", list(kinds_of_data(3)))
def test_no_engine_takes_in_more_than_its_share(session, name):
    """Each element is sent once at most, and the messages do not depend on the elements."""
    p, n = session.size, 4096
    x = kinds_of_data(n)[name]
    a = dnb.array(x)
    with measured(session) as reports:
        b = dnb.sort(a)
    same(b, np.sort(x))
    (row,) = [row for row in reports[0].ops if row.op == "sort"]
    assert max(blocks(session, b)) == -(-n // p)
    rounds, borders = (2 if p > 1 else 0), p - 1  # there are between 1024 and 512 samples
    assert sum(r.messages for r in row.ranks) == p * (p - 1) + 2 * (p - 1) * rounds
    samples = p * borders * (2048 // p) * x.itemsize
    gaps = (p - 1) * 2 * p * borders * 8
    assert sum(r.bytes for r in row.ranks) <= x.nbytes + p * p + rounds * (samples + gaps)


def test_nothing_is_sent_along_whole_axes(session):
    a = dnb.array(mixed((30, 17), np.float64))
    with measured(session) as reports:
        dnb.sort(a)
        a.sort(axis=1)
        dnb.array(mixed((9,), np.float64), dist="replicated").sort()
    rows = [r for row in reports[0].ops if row.op == "sort" for r in row.ranks]
    assert [r.messages for r in rows] == [0] * len(rows)


def test_whole_lanes_travel_twice_at_most(session):
    x = mixed((40, 24), np.float64)
    a = dnb.array(x)
    with measured(session) as reports:
        b = dnb.sort(a, axis=0)
    assert between_engines(reports[0]) <= 2 * x.nbytes
    same(b, np.sort(x, axis=0))


# -- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"axis": 1},
        {"axis": -2},
        {"axis": 0.5},
        {"kind": "bubble"},
        {"order": "x"},
        {"kind": "stable", "stable": True},
    ],
    ids=str,
)
def test_arguments_as_numpy(options):
    x = mixed((7,), np.float64)
    a = dnb.array(x)
    agree(lambda: np.sort(x, **options), lambda: np.sort(a, **options))
    agree(lambda: x.copy().sort(**options), lambda: a.copy().sort(**options))
    agree(lambda: np.sort(np.array(1.0)), lambda: np.sort(dnb.array(1.0)))
    same(dnb.sort([3, 1, 2]), np.sort([3, 1, 2]))


def test_read_only_arrays_are_not_sorted(session):
    a = np.broadcast_to(dnb.arange(4), (3, 4))
    with pytest.raises(ValueError, match="read-only"):
        a.sort()
    same(np.sort(a), np.sort(np.broadcast_to(np.arange(4), (3, 4))))


# -- bincount ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_bincount(session, dist):
    for n in thin(LENGTHS, 3):
        x = mixed((n,), np.int64) % 37
        a = dnb.array(x, dist=layout_of(dist, session, n))
        w = (np.arange(n) % 8) / 4  # sums are exact
        for least in (0, 5, 100):
            same(np.bincount(a, minlength=least), np.bincount(x, minlength=least))
            same(dnb.bincount(a, dnb.array(w), least), np.bincount(x, w, least))
        same(np.bincount(a[::-2], weights=w[::-2]), np.bincount(x[::-2], w[::-2]))


@pytest.mark.ways("spmd")
@given(st.data())
@examples(40)
def test_bincount_of_any_view(session, data):
    n = data.draw(st.integers(0, 40))
    dtype = data.draw(st.sampled_from(["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8"]))
    counted = {"elements": lambda shape, kind: (mixed(shape, np.int64) % 23).astype(kind)}
    x, a, _, _ = pair(data.draw, (n,), session.size, dtype, **counted)
    w, b, _, _ = pair(data.draw, (n,), session.size, data.draw(st.sampled_from(["i4", "f4", "f8"])))
    least = data.draw(st.integers(0, 30))
    same(dnb.bincount(a, minlength=least), np.bincount(x, minlength=least))
    same(dnb.bincount(a, b, least), np.bincount(x, w, least), 1e-12)


def test_bincount_lies_where_the_numbers_are(session):
    x = mixed((50,), np.int64)
    for dist in (None, "cyclic", "replicated"):
        found = dnb.bincount(dnb.array(x, dist=dist))
        assert found.dbase.layout == dnb.ones(51, dist="replicated").dbase.layout
    one = dnb.array(x, dist=("engine", 0))
    assert dnb.bincount(one).dbase.layout == dnb.ones(51, dist=("engine", 0)).dbase.layout


def test_bincount_sends_counts_and_reads_once(session):
    a, p = dnb.array(mixed((999,), np.int64) % 11), session.size
    session.flush()
    before = session.batches
    with measured(session) as reports:
        dnb.bincount(a)
    assert sum(r.messages for row in reports[0].ops for r in row.ranks) == 2 * (p - 1)
    assert between_engines(reports[0]) == 2 * (p - 1) * 11 * 8
    assert session.batches - before <= 4  # one of them reads; two belong to the report


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bincount_takes_the_dtypes_that_numpy_takes(session, dtype):
    x = np.array([1, 0, 1], dtype)
    agree(lambda: np.bincount(x), lambda: np.bincount(dnb.array(x)))
    y = np.array([1, 0, 2])
    agree(lambda: np.bincount(y, x), lambda: np.bincount(dnb.array(y), dnb.array(x)))


@pytest.mark.parametrize(
    "arguments",
    [
        ([1, -1, 5],),
        ([[1, 2], [3, 4]],),
        (3,),
        ([1, 2], [1.0]),
        ([1, 2], [[1.0, 2.0]]),
        ([1, 2], None, -1),
        ([1, 2], None, 2.5),
        ([1, 2], None, None),
    ],
    ids=str,
)
def test_bincount_refuses_what_numpy_refuses(session, arguments):
    _, error = outcome(lambda: np.bincount(*map_first(np.array, arguments)))
    assert error is not None
    with pytest.raises(public(error)):
        np.bincount(*map_first(dnb.array, arguments))


def map_first(function, arguments):
    return function(arguments[0]), *arguments[1:]


def test_bincount_of_nothing(session):
    for least in (0, 4):
        x = np.zeros(0, np.int64)
        same(np.bincount(dnb.array(x), minlength=least), np.bincount(x, minlength=least))


def test_large_sorts(session):
    """Several rounds: more elements than samples, many of them equal."""
    n = round(200_000 * max(0.3, min(1, SCALE)))
    rng = np.random.default_rng(n)
    for x in (rng.random(n), rng.integers(0, 5, n), np.minimum(rng.random(n), 0.5)):
        same(dnb.sort(dnb.array(x, dist="cyclic")), np.sort(x))


@pytest.mark.ways("spmd")
def test_temporaries_are_sorted_within_a_batch(session):
    """What is computed, sorted in place and dropped in one batch must be stored all the same."""
    x = mixed((500,), np.float64)
    a = dnb.array(x)
    session.flush()
    t = a * 2 + 1
    t.sort()
    u = t - a
    del t
    same(u, np.sort(x * 2 + 1) - x)
