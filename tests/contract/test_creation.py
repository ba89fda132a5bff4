"""Arrays are made bit for bit as NumPy makes them, in every layout; random ones do not depend on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.ops.filling import drawer
from tests.contract.support import DTYPES, agree, no_warnings, numbered, same, setting
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four", "cutoff", "reach")

DISTS = [None, "block", "cyclic", ("cyclic", 3), "replicated", ("engine", 0)]


def exact(actual, expected):
    """Compare bit for bit."""
    same(actual, expected)
    assert actual.to_numpy().tobytes() == np.asarray(expected).tobytes()


@pytest.fixture
def both(books):
    """Return a function that makes an array with NumPy and with distnb, and compares all bits."""

    def compare(name, *args, **options):
        f, g = getattr(np, name), getattr(dnb, name)
        for dist in (None, "cyclic"):
            books.compare(
                (name, args, options, dist),
                lambda: np.asarray(f(*args, **options)),
                lambda d=dist: g(*args, **options, **({} if d is None else {"dist": d})),
                rtol=None,
            )

    return compare


# -- constant and from data --------------------------------------------------------------------


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_constants(name):
    for shape in ((), 3, (4, 5), (0,), (2, 0), [3, 2], (np.int8(2), 3), (1, 1, 1, 2)):
        for dtype in (None, *DTYPES, "i4", np.float32, bool, complex):
            options = {} if dtype is None else {"dtype": dtype}
            if name == "empty":
                a, x = dnb.empty(shape, **options), np.empty(shape, **options)
                assert (a.shape, a.dtype) == (x.shape, x.dtype)
            else:
                x = getattr(np, name)(shape, **options)
                a = getattr(dnb, name)(shape, **options)
                assert (a.shape, a.dtype) == (x.shape, x.dtype)
                if dtype in (None, "i4", complex):
                    exact(a, x)
    for shape in (-1, (2, -3), 2.5, "x", (2, 1.5)):
        agree(lambda s=shape: getattr(np, name)(s), lambda s=shape: getattr(dnb, name)(s))
    for dtype in ("U3", object, "M8[s]", "m8[s]", "V4", [("a", int)], "S2"):
        with pytest.raises(TypeError, match=r"dtype: got .*, expected bool, an integer"):
            getattr(dnb, name)(3, dtype=dtype)


def test_full(both):
    for value in (0, 3, -1, 2.5, True, 1j, 2**40, np.float32(0.1), np.uint8(200), np.nan):
        both("full", (3, 4), value)
        both("full", (1, 1), value)
        same(dnb.full((), value), np.full((), value))
        for dtype in ("?", "i1", "u4", "f4", "c16"):
            with no_warnings():
                both("full", 5, value, dtype=dtype)
    both("full", (2, 3), [1, 2, 3])
    both("full", (2, 3), np.arange(3.0))
    both("full", (2, 3), [1, 2])
    a = dnb.arange(3)
    same(dnb.full((2, 3), a), np.full((2, 3), np.arange(3)))
    with pytest.raises(TypeError, match="dtype"):
        dnb.full(3, "a")


@pytest.mark.usefixtures("session")
def test_like():
    x = np.arange(12.0).reshape(3, 4)
    a = dnb.array(x, dist=("*", "cyclic"))
    for prototype, ours in (
        (x, a),
        (x[1:, ::2].T, a[1:, ::2].T),
        (x[0], a[0]),
        (x[1, 1], a[1, 1, ...]),
    ):
        for name, args in (
            ("zeros_like", ()),
            ("ones_like", ()),
            ("full_like", (7,)),
            ("full_like", (2.5,)),
        ):
            f, g = getattr(np, name), getattr(dnb, name)
            for options in ({}, {"dtype": "i4"}, {"shape": (2, 5)}, {"shape": 3, "dtype": bool}):
                expected = np.asarray(f(prototype, *args, **options))
                same(g(ours, *args, **options), expected)
                same(f(ours, *args, **options), expected)
        assert np.empty_like(ours).shape == np.shape(prototype)
    assert dnb.zeros_like(a).layout.elements() == a.layout.elements()
    same(dnb.zeros_like(x), np.zeros_like(x))
    same(dnb.ones_like([1, 2, 3]), np.ones_like([1, 2, 3]))
    with pytest.raises(TypeError, match="dtype: got object"):
        dnb.zeros_like(a, dtype=object)


@pytest.mark.usefixtures("session")
def test_array():
    cases = [
        3,
        2.5,
        True,
        1j,
        [1, 2, 3],
        [[1, 2.5], [3, 4]],
        (),
        [],
        [[]],
        range(5),
        np.arange(3)[::-1],
        np.float32(3),
    ]
    cases += [numbered((4, 3), d) for d in DTYPES]
    cases += [
        np.asfortranarray(numbered((4, 3))),
        np.arange(6, dtype=">i4"),
        np.arange(6.0).astype(">c16"),
    ]
    for data in cases:
        x = np.array(data)
        wanted = x.astype(x.dtype.newbyteorder("="))
        exact(dnb.array(data), wanted)
        exact(dnb.asarray(data), wanted)
    for dtype in ("f4", "i1", "?", "c8"):
        agree(lambda d=dtype: np.array([0, 1, 2], d), lambda d=dtype: dnb.array([0, 1, 2], d))
    agree(lambda: np.array([300], "u1"), lambda: dnb.array([300], "u1"))
    agree(lambda: np.array([[1, 2], [3]]), lambda: dnb.array([[1, 2], [3]]))
    for data in ("abc", ["a"], [None], np.datetime64("2020"), {}, object()):
        with pytest.raises(TypeError, match=r"dtype: got .*, expected bool"):
            dnb.array(data)
    a = dnb.arange(5)
    assert dnb.asarray(a) is a
    assert dnb.asarray(a, dtype=a.dtype) is a
    b = dnb.array(a)
    b += 1
    same(a, np.arange(5))
    same(dnb.asarray(a, "f4"), np.arange(5, dtype="f4"))


@pytest.mark.usefixtures("session")
def test_the_data_is_copied():
    x = np.arange(10.0)
    a, b = dnb.array(x), dnb.array(x, dist="replicated")
    x[:] = -1
    same(a, np.arange(10.0))
    same(b, np.arange(10.0))
    y = np.arange(100_000.0)
    c, d = dnb.array(y), dnb.asarray(y, dist="replicated")
    y[:] = -1
    same(c, np.arange(100_000.0))
    same(d, np.arange(100_000.0))
    e = dnb.ones(100_000) * y
    y[:] = 0
    assert float(e.min()) == -1
    found = a.to_numpy()
    found[:] = 5
    same(a, np.arange(10.0))


# -- sequences ---------------------------------------------------------------------------------


def test_arange(both):
    for args in (
        *((5,), (0,), (-3,), (2, 7), (7, 2), (1, 10, 3), (10, 1, -3), (10, 1, 3), (-5, 5, 2)),
        *(
            (5.0,),
            (0.5, 3),
            (0, 1, 0.1),
            (1, 0, -0.1),
            (0.1, 0.7, 0.1),
            (3, -2.2, -0.7),
            (1e17, 1e17 + 100, 7),
        ),
        *(
            (True,),
            (np.int8(5),),
            (np.float32(3.5),),
            (2**40, 2**40 + 5),
            (0, 2**62, 2**60),
            (np.uint8(3), np.uint8(9)),
        ),
        *((np.uint8(9), np.uint8(3)), (np.int8(100), np.int8(-100), np.int8(-50))),
        *(
            (0, 5, 2**40),
            (2**62, 2**63 - 1, 2**61),
            (-(2**63), 2**63 - 1, 2**62),
            (0, 1, 1 / 3),
            (1, 2, 0.30000000000000004),
        ),
        *(
            (2**63, 2**63 + 5),
            (2**64 - 4, 2**64 - 1),
            (np.uint64(2**63), np.uint64(2**63 + 9), np.uint64(4)),
        ),
    ):
        both("arange", *args)
    for args in ((0, 10, 0), ("a",), (None,), (0, np.inf), (np.nan,), (0, 10, 0.0)):
        both("arange", *args)
    for dtype in ("i1", "u2", "i8", "f4", "f8", "c16"):
        both("arange", 7, dtype=dtype)
        both("arange", 1, 9, 2, dtype=dtype)
        both("arange", 0.5, 5.5, dtype=dtype)
        both("arange", 9, 1, -2, dtype=dtype)
    both("arange", 2, dtype=bool)
    both("arange", 1, 3, dtype=bool)
    both("arange", 5, dtype=bool)
    both("arange", 5000, dtype=bool)
    for args in ((300, 300), (5000, -1, 2), (2**64, 2**64), (1e300, 1e300), (1e18, 1e18)):
        for dtype in ("i1", "u8", "?", "f8"):
            both("arange", *args, dtype=dtype)
    both("arange", 127, 128, dtype="i1")
    both("arange", 1e18, 1e18 + 3000)  # steps that are lost in the rounding
    both("arange", 0, 300, 0.3, dtype="f2")
    both("arange", 300, dtype="i1")
    both("arange", 0, 20, 0.1, dtype="c8")
    both("arange", start=1, stop=4)
    both("arange", 3, step=2)
    exact(dnb.arange(3000, 5), np.arange(3000, 5))
    exact(dnb.arange(0, 300, 0.1), np.arange(0, 300, 0.1))
    exact(dnb.arange(-2, 2000, 0.7, dtype="f4"), np.arange(-2, 2000, 0.7, dtype="f4"))


@given(st.data())
@examples(40)
def test_arange_of_numbers(session, data):
    number = st.one_of(
        st.integers(-100, 100),
        st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 2) + 0.0),
    )
    start, stop, step = (
        data.draw(number),
        data.draw(number),
        data.draw(number.filter(lambda x: abs(x) > 0.05)),
    )
    layout = data.draw(testing.layouts(np.arange(start, stop, step).shape, session.size))
    exact(dnb.arange(start, stop, step, dist=layout), np.arange(start, stop, step))


def test_linspace(both):
    for args in (
        (0, 1),
        (0, 1, 5),
        (1, 0, 5),
        (2.5, 2.5, 4),
        (-1, 1, 1),
        (0, 1, 0),
        (0, 10, 11),
        (1j, 2, 4),
        (0, 1e-320, 7),
    ):
        for options in (
            {},
            {"endpoint": False},
            {"dtype": "f4"},
            {"dtype": "i4"},
            {"dtype": "c16"},
        ):
            if not (args[0] == 1j and options.get("dtype", "c16") != "c16"):
                both("linspace", *args, **options)
    for args in ((0, 1, -1), (0, 1, 2.5), ("a", 1), (0, 1, "x")):
        both("linspace", *args)
    for endpoint in (True, False):
        for n in (0, 1, 2, 5):
            y, step = dnb.linspace(2, 9, n, endpoint, retstep=True)
            x, wanted = np.linspace(2, 9, n, endpoint, retstep=True)
            exact(y, x)
            np.testing.assert_equal(step, wanted)
    both("linspace", 0, 2 * np.pi, 1001)


def test_eye_and_indices(both):
    for args in ((3,), (3, 5), (5, 3), (4, 4, 1), (4, 5, -2), (0,), (3, 0), (3, 3, 9)):
        both("eye", *args)
    both("eye", 3, dtype="i4")
    both("eye", 3, k=-1)
    both("eye", -1)
    both("eye", 2.5)
    both("identity", 4)
    both("identity", 4, dtype="?")
    for shape in ((3,), (2, 3), (2, 0), (2, 3, 4)):
        exact(dnb.indices(shape), np.indices(shape))
        sparse = zip(dnb.indices(shape, sparse=True), np.indices(shape, sparse=True), strict=True)
        for mine, wanted in sparse:
            exact(mine, wanted)
    exact(dnb.indices(()), np.indices(()))
    exact(dnb.indices((4, 5), dtype="f4", dist=("cyclic", "block")), np.indices((4, 5), "f4"))


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_fromfunction(dist):
    for f, shape, options in (
        (lambda i, j: i * 10 + j, (6, 5), {}),
        (lambda i, j: i == j, (4, 4), {"dtype": int}),
        (lambda i, j, k: (i - j) / (k + 1), (3, 2, 4), {}),
        (lambda i: np.sqrt(i) * 2, (9,), {}),
    ):
        exact(
            dnb.fromfunction(f, shape, dist=dist, **options), np.fromfunction(f, shape, **options)
        )


# -- layouts -----------------------------------------------------------------------------------


@given(st.data())
@examples(50)
def test_every_layout(session, data):
    shape = data.draw(testing.shapes())
    layout = data.draw(testing.layouts(shape, session.size))
    x = numbered(shape, data.draw(testing.dtypes()))
    a = dnb.array(x, dist=layout)
    assert a.layout.base == layout
    exact(a, x)
    exact(dnb.full(shape, 7, x.dtype, dist=layout), np.full(shape, 7, x.dtype))
    exact(dnb.indices(shape, dist=layout), np.indices(shape))
    held = a.layout.elements()
    assert len(held) == session.size
    assert sum(held) == layout.copies * x.size
    if x.size:
        index = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
        assert a.layout.base.grid.coords(a.layout.owner(*index)) is not None


def test_layout_of_another_array(session):
    a = dnb.zeros((6, 8), dist=("*", "cyclic"))
    for dist in (a, a.layout, a.layout.base):
        b = dnb.ones((6, 8), dist=dist)
        assert b.layout.elements() == a.layout.elements()
    part = a[1:, 2:]
    assert dnb.ones((5, 6), dist=part.layout).shape == (5, 6)
    assert session.size == len(a.layout.elements())


# -- parts -------------------------------------------------------------------------------------


def test_from_parts(session):
    n = session.size
    for lengths in ([2] * n, list(range(n)), [0] * (n - 1) + [5], [5] + [0] * (n - 1), [0] * n):
        for more in ((), (3,), (0,)):
            parts = [numbered((k, *more), "f4", 10 * r) for r, k in enumerate(lengths)]
            a = dnb.from_parts(parts)
            exact(a, np.concatenate(parts))
            assert a.layout.elements() == tuple(p.size for p in parts)
            a += 1
            exact(a, np.concatenate(parts) + np.float32(1))
    a = (
        dnb.from_parts([[r] * r for r in range(n)])
        if n == 1
        else dnb.from_parts([[r] for r in range(n)])
    )
    same(a[::-1].copy(), np.asarray(a)[::-1])


def test_wrong_parts(session):
    n = session.size
    for parts in (
        [[1]] * (n + 1),
        [[1]] * (n - 1),
        [1] * n,
        [np.ones((2, k + 1)) for k in range(n)] if n > 1 else [3],
        [np.ones(2, d) for d in ("f4", "f8", "i4", "i8")[:n]] if n > 1 else [],
    ):
        with pytest.raises(ValueError, match="parts: got .* expected .*; give one for each engine"):
            dnb.from_parts(parts)
    with pytest.raises(TypeError, match="dtype"):
        dnb.from_parts([["a"]] * n)
    with pytest.raises(TypeError, match="variable 'no_such_name' on rank 0: got NoneType"):
        dnb.from_parts("no_such_name")
    session.flush()


# -- random numbers ----------------------------------------------------------------------------


def expected_numbers(kind, seed, stream, args, shape, dtype):
    """Return the numbers that every session must give, made here in one piece."""
    out = np.empty(int(np.prod(shape)), dtype)
    drawer(kind).fill(kind, seed, stream, args, [(0, out.size)] if out.size else [], out)
    return out.reshape(shape)


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_random_numbers_do_not_depend_on_layout(dist):
    rng = dnb.random.default_rng(42)
    shape = (7, 5)
    draws = [
        (rng.random(shape, dist=dist), "uniform", (0.0, 1.0), "f8"),
        (rng.random(shape, "f4", dist=dist), "uniform", (0.0, 1.0), "f4"),
        (rng.uniform(-2, 3, shape, dist=dist), "uniform", (-2.0, 3.0), "f8"),
        (rng.integers(10, size=shape, dist=dist), "integers", (0, 10), "i8"),
        (rng.integers(-5, 5, shape, "i2", endpoint=True, dist=dist), "integers", (-5, 6), "i2"),
        (rng.integers(0, 2, shape, bool, dist=dist), "integers", (0, 2), "?"),
        (rng.standard_normal(shape, dist=dist), "normal", (0.0, 1.0), "f8"),
        (rng.normal(5, 0.5, shape, dist=dist), "normal", (5.0, 0.5), "f8"),
        (rng.exponential(3, shape, dist=dist), "exponential", (3.0,), "f8"),
    ]
    for stream, (a, kind, args, dtype) in enumerate(draws):
        exact(a, expected_numbers(kind, 42, stream, args, shape, dtype))


@pytest.mark.usefixtures("session")
def test_random_constants():
    """The numbers themselves are part of the contract: a program gives the same ones for ever."""
    rng = dnb.random.default_rng(1)
    assert rng.integers(1000, size=6).tolist() == CONSTANTS["integers"]
    assert [x.hex() for x in rng.random(3).tolist()] == CONSTANTS["random"]


CONSTANTS = {
    "integers": [303, 848, 156, 31, 900, 52],
    "random": ["0x1.6eb5903476306p-2", "0x1.35eb7199c5068p-2", "0x1.a616678247547p-1"],
}


@given(st.data())
@examples(30)
def test_random_layouts(session, data):
    shape = data.draw(testing.shapes(max_dims=3))
    layout = data.draw(testing.layouts(shape, session.size))
    a = dnb.random.default_rng(7).integers(1 << 40, size=shape, dist=layout)
    exact(a, expected_numbers("integers", 7, 0, (0, 1 << 40), shape, "i8"))


@pytest.mark.usefixtures("session")
def test_random_streams():
    rng, twin = dnb.random.default_rng(3), dnb.random.default_rng(3)
    first, second = rng.random(50), rng.random(50)
    assert not dnb.array_equal(first, second)
    assert dnb.array_equal(first, twin.random(50, dist="cyclic"))
    assert dnb.array_equal(second, twin.random(50))
    assert not dnb.array_equal(first, dnb.random.default_rng(4).random(50))
    assert np.shape(rng.random()) == ()
    assert rng.random(()).shape == ()
    assert rng.random((0, 3)).shape == (0, 3)


@pytest.mark.usefixtures("session")
def test_wrong_random_arguments():
    rng = dnb.random.default_rng(0)
    for call, error in (
        (lambda: dnb.random.default_rng(-1), ValueError),
        (lambda: dnb.random.default_rng("x"), TypeError),
        (lambda: rng.random(-3), ValueError),
        (lambda: rng.random(2.5), TypeError),
        (lambda: rng.random(3, "i4"), TypeError),
        (lambda: rng.normal(0, -1, 3), ValueError),
        (lambda: rng.exponential(-1, 3), ValueError),
        (lambda: rng.integers(3, 3, 2), ValueError),
        (lambda: rng.integers(0, 300, 2, "i1"), ValueError),
        (lambda: rng.integers(0, 2, 2, "f8"), TypeError),
        (lambda: rng.integers("a", 2, 2), ValueError),
    ):
        with pytest.raises(error):
            call()


#: What makes arrays, and takes a layout: each alone says whether they are spread.
MAKES = {
    "zeros": lambda d: dnb.zeros((4, 3), dist=d),
    "more than the cutoff": lambda d: dnb.ones(200_000, dist=d),
    "array": lambda d: dnb.array([1, 2.0, 4, 5], dist=d),
    "arange": lambda d: dnb.arange(12, dist=d),
    "zeros_like": lambda d: dnb.zeros_like(dnb.ones(5, dist="block"), dist=d),
    "indices": lambda d: dnb.indices((4, 5), dist=d),
    "random": lambda d: dnb.random.default_rng(1).random(12, dist=d),
    "poisson": lambda d: dnb.random.default_rng(1).poisson(3, 12, dist=d),
    "permutation": lambda d: dnb.random.default_rng(1).permutation(12, dist=d),
    "rand": lambda d: (dnb.random.seed(1), dnb.random.rand(5, dist=d))[1],
}


@pytest.mark.parametrize("name", MAKES)
def test_layouts_that_only_say_whether_arrays_are_spread(session, name):
    here, there = MAKES[name](False), MAKES[name](True)
    assert here.at_home
    assert there.layout.placed.layout.split == session.size
    same(here, there.to_numpy())


def test_what_cannot_be_in_the_notebook_is_replicated(session):
    x = dnb.arange(12.0, dist="block")
    for found in (x.redistribute(False), dnb.array(x, dist=False)):
        assert found.layout == dnb.zeros(12, dist="replicated").layout
    drawn = dnb.random.default_rng(1).normal(x, 1.0, dist=False)
    assert drawn.layout == dnb.zeros(12, dist="replicated").layout
    assert x.redistribute(True).layout == x.layout


def test_sparse_arrays_are_spread_or_not(session):
    pytest.importorskip("scipy.sparse")
    for dist, word in ((True, "block"), (False, "replicated")):
        found = dnb.sparse.eye_array(12, format="csr").redistribute(dist)
        assert str(found.layout) == str(found.redistribute(word).layout)


@pytest.mark.ways("auto")
@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (1, 6)], ids=str)
@pytest.mark.parametrize("turn", [lambda x: x.T, lambda x: x[1:].T, lambda x: x.T[::-1]])
def test_like_a_transposed_array_is_transposed(session, shape, turn):
    a = numbered(shape)
    x, y = turn(dnb.array(a, dist="block")), turn(a)
    for name in ("zeros_like", "ones_like", "empty_like"):
        found, expected = getattr(np, name)(x), getattr(np, name)(y)
        assert found.strides == expected.strides or 1 in shape
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        assert getattr(np, name)(x, order="C").flags.c_contiguous
    same(np.full_like(x, 2.5), np.full_like(y, 2.5))
    kept, expected = np.zeros_like(x, dtype="f4"), np.zeros_like(y, dtype="f4")
    kept.T[...] = x.T
    expected.T[...] = y.T
    same(kept, expected)
    if 1 not in shape:
        assert np.zeros_like(x.T).T.layout == np.zeros_like(x).layout


@pytest.mark.parametrize(
    "run",
    [
        lambda m, a, b: m.array([a, b, a]),
        lambda m, a, b: m.array([[a, b], (b, a)]),
        lambda m, a, b: m.array([a[1:-1], a[2:], b[:-2].T.T], "f4"),
        lambda m, a, b: m.asarray((a > 0.5, b < 0.5)),
        lambda m, a, b: m.array([a, b.astype("f4"), b * 1j]),
        lambda m, a, b: m.array([a, b], ndmin=4),
        lambda m, a, b: m.maximum.reduce([a[1:, 1:], a[:-1, 1:], b[1:, :-1]]),
        lambda m, a, b: m.sum([a, b], axis=0),
        lambda m, a, b: m.add([a, b], [b]),
        lambda m, a, b: m.where(a > 0.5, [a, b], 0),
    ],
)
def test_lists_of_arrays_are_joined_on_engines(session, run):
    rng = np.random.default_rng(4)
    x, y = rng.random((2, 40, 50))
    given = [dnb.array(z, dist="block") for z in (x, y)]
    with setting(cutoff=1 << 10, gather_budget=0):
        found = run(dnb, *given)
        assert found.here is None
    np.testing.assert_allclose(np.asarray(found), run(np, x, y), rtol=1e-14)
    assert found.dtype == run(np, x, y).dtype


def test_lists_that_are_no_array_are_refused(session):
    a = dnb.ones((40, 50), dist="block")
    with setting(cutoff=1 << 10):
        for odd in ([a, a[1:]], [a, [a, a]], [a, []], [a, 1.0], [[a], []]):
            with pytest.raises(ValueError, match="inhomogeneous"):
                dnb.array(odd)
        same(dnb.array([a, np.zeros((40, 50))]), np.array([np.ones((40, 50)), np.zeros((40, 50))]))
