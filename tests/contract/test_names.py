"""``import distnb as np``: names that make arrays, tell of them and walk over them, as NumPy's."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, check

pytestmark = [
    pytest.mark.ways("one", "four", "cutoff", "reach"),
    pytest.mark.usefixtures("session"),
]

X = np.arange(12.0).reshape(3, 4) - 5


def both(call):
    """Compare what a function of the namespace and of an array gives."""
    agree(lambda: call(np, X), lambda: call(dnb, dnb.array(X)))


# -- limits, lengths and orders --------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.linspace(0, x.max(), 4),
        lambda m, x: m.linspace([0, 1], [2, 5], 4),
        lambda m, x: m.linspace([0, 1], [2, 5], 4, axis=-1, dtype=int),
        lambda m, x: m.linspace(x[:, 0], 2, 4, axis=1),
        lambda m, x: m.linspace(x[0].astype("i1"), x[1].astype("f4"), 3),
        lambda m, x: m.linspace(x.max().astype("f4"), 3, 3),
        lambda m, x: m.linspace(np.float16(1), 3, 3, retstep=True),
        lambda m, x: m.linspace(0, x, 3, axis=1, endpoint=False),
        lambda m, x: m.linspace(0, 1, 3, axis=2),
        lambda m, x: m.logspace([0, 1], [2, x.max()], 4),
        lambda m, x: m.logspace(0, 1, 4, base=[2, 3], axis=-1),
        lambda m, x: m.geomspace(1, x.max(), 3),
        lambda m, x: m.geomspace([1, -2], [8, -16], 4, axis=1),
        lambda m, x: m.geomspace([1, 0], 2, 4),
        lambda m, x: m.mgrid[0 : x.max() : 2],
        lambda m, x: m.mgrid[0 : x.max() : 3j, :2],
        lambda m, x: m.mgrid[0 : 2 : np.complex64(3j)],
        lambda m, x: m.arange(x.max()),
        lambda m, x: m.arange(m.array(2), m.array(9), m.array(3)),
        lambda m, x: m.zeros(m.array(3)),
        lambda m, x: m.ones((m.array(2), 3)),
        lambda m, x: m.zeros(m.array([2, 3])),
        lambda m, x: m.zeros(np.array([2, 3])),
        lambda m, x: m.full((2, 2), x.max()),
        lambda m, x: m.eye(m.array(3)),
        lambda m, x: m.indices((2, 3)),
        lambda m, x: m.indices((2, 0)),
        lambda m, x: m.indices(()),
        lambda m, x: m.indices((2, 3), dtype="f4", sparse=True),
    ],
)
def test_limits_and_lengths_may_be_arrays(call):
    agree(lambda: call(np, X), lambda: call(dnb, dnb.array(X)), rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.array([1, 2], ndmin=3),
        lambda m, x: m.array(x, ndmin=3, copy=None),
        lambda m, x: m.array(x, ndmin=1),
        lambda m, x: m.array(x, order="F"),
        lambda m, x: m.asarray([[1, 2]], "f4", "F"),
        lambda m, x: m.zeros((2, 3), int, "F"),
        lambda m, x: m.ones((2, 3), order="f"),
        lambda m, x: m.full((2, 3), 4, int, "F"),
        lambda m, x: m.eye(3, 4, 1, int, "F"),
        lambda m, x: m.zeros_like(x, order="F"),
        lambda m, x: x.copy("F"),
        lambda m, x: x.astype("f4", "F", "unsafe", True, False),
        lambda m, x: x.flatten("f"),
        lambda m, x: x.ravel("a"),
        lambda m, x: x.reshape(4, 3, order="f"),
        lambda m, x: m.zeros(3, order="K"),
        lambda m, x: m.array(x, order="X"),
        lambda m, x: m.zeros_like(x, order="X"),
        lambda m, x: x.copy("X"),
        lambda m, x: x.astype(int, order="X"),
        lambda m, x: x.ravel(3),
        lambda m, x: x.reshape(12, order="K"),
    ],
)
def test_orders_are_taken_and_checked(call):
    both(call)


@pytest.mark.skipif("ndmax" not in np.array.__doc__, reason="NumPy 2.4")
def test_elements_that_are_lists_are_refused():
    for most in (1, 2):
        agree(lambda: np.array([[1, 2]], ndmax=most), lambda: dnb.array([[1, 2]], ndmax=most))


def test_like_is_of_the_session_of_an_array(session, second):
    x = dnb.array(X, session=session)
    assert dnb.session() is second
    for made in (dnb.zeros(3, like=x), dnb.array([1], like=x), dnb.arange(3, like=x)):
        assert made.session is session


# -- what is known of an array, and arrays as they are asked for -----------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.shape(x),
        lambda m, x: m.shape([[1, 2]]),
        lambda m, x: m.ndim(x),
        lambda m, x: m.size(x),
        lambda m, x: m.size(x, 1),
        lambda m, x: m.size(x, (0, 1)),
        lambda m, x: m.size(x, 2),
        lambda m, x: m.iscomplexobj(x),
        lambda m, x: m.isrealobj(x * 1j),
        lambda m, x: m.isfortran(x),
        lambda m, x: m.common_type(x, x.astype("f4"), x.astype(int)) is np.float64,
        lambda m, x: m.common_type(x > 0),
        lambda m, x: str(m.min_scalar_type(x)),
        lambda m, x: str(m.min_scalar_type(m.array(300))),
        lambda m, x: m.may_share_memory(x, x[1:]),
        lambda m, x: m.copy(x),
        lambda m, x: m.copy(x[1:], "F"),
        lambda m, x: m.copy([1, 2]),
        lambda m, x: m.asanyarray(x, "f4"),
        lambda m, x: m.ascontiguousarray(x.T),
        lambda m, x: m.ascontiguousarray(3),
        lambda m, x: m.asfortranarray(x, "f4"),
        lambda m, x: m.asarray_chkfinite(x),
        lambda m, x: m.asarray_chkfinite(x / 0.0),
        lambda m, x: m.asarray_chkfinite([1, 2], float),
        lambda m, x: m.require(x[1:], "f4", ["C", "W"]),
        lambda m, x: m.require(x, requirements="F"),
        lambda m, x: m.require(x, requirements=["C", "F"]),
        lambda m, x: m.require(x, requirements=["Q"]),
        lambda m, x: m.array_repr(x),
        lambda m, x: m.array_repr(x[:, 0].astype("f4"), precision=1),
        lambda m, x: m.array_repr(m.arange(2000)),
        lambda m, x: m.mask_indices(3, m.triu, 1),
        lambda m, x: m.ndarray((2, 3), "f4").shape,
        lambda m, x: m.ndarray((2, 3), int).dtype.str,
        lambda m, x: isinstance(x, m.ndarray),
        lambda m, x: isinstance([1], m.ndarray),
        lambda m, x: isinstance(m.add, m.ufunc),
        lambda m, x: isinstance(m.sum, m.ufunc),
        lambda m, x: isinstance(x.flat, m.flatiter),
        lambda m, x: m.ndarray.sum(x, 0),
        lambda m, x: m.broadcast(x, [[1], [2], [3]]).shape,
        lambda m, x: m.broadcast(x, 1).size,
        lambda m, x: m.broadcast(x, [1, 2]),
        lambda m, x: [(float(a), float(b)) for a, b in m.broadcast(x[0], 2.0)],
        lambda m, x: [(i, float(v)) for i, v in m.ndenumerate(x)],
        lambda m, x: [float(v) for v in m.nditer(x)],
        lambda m, x: [(int(a), int(b)) for a, b in m.nditer([m.arange(3), 7])],
    ],
)
def test_facts_and_conversions(call):
    with np.errstate(all="ignore"):
        both(call)


def test_a_copy_is_made_only_where_one_is_needed():
    x = dnb.array(X)
    assert dnb.ascontiguousarray(x) is x
    assert dnb.asanyarray(x) is x
    assert dnb.require(x, x.dtype, ["C", "W", "O"]) is x
    assert dnb.ascontiguousarray(x.T) is not x
    assert dnb.require(dnb.broadcast_to(x[0], (3, 4)), None, "W").writeable


def test_ndarray_takes_no_memory_and_no_children():
    with pytest.raises(TypeError, match="engines hold the elements"):
        dnb.ndarray(3, float, np.zeros(3))
    with pytest.raises(TypeError, match="results are always DistArray"):
        type("Mine", (dnb.ndarray,), {})
    assert dnb.ndarray[tuple[int], np.dtype] is not None


# -- brackets and bits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.r_[x[0], 7, x[1]],
        lambda m, x: m.r_[0:5, 0, 1.5:3:3j],
        lambda m, x: m.r_[:3, x[0].astype("f4"), 2],
        lambda m, x: m.r_[m.array([1], dtype="i1"), 5],
        lambda m, x: m.r_[x, x],
        lambda m, x: m.r_["1", x, x],
        lambda m, x: m.r_["0,2", x[0], x[1]],
        lambda m, x: m.r_["0,2,0", x[0], x[1]],
        lambda m, x: m.r_["1,2,0", x[0], x[1]],
        lambda m, x: m.r_["0,3,-1", x, [7, 8, 9, 0]],
        lambda m, x: m.r_["-1,2", :4, x[0]],
        lambda m, x: m.c_[x[0], x[1]],
        lambda m, x: m.c_[x, x[:, 0], m.ones(3, bool)],
        lambda m, x: m.c_[:3, 3:6],
        lambda m, x: m.c_[1, 2],
        lambda m, x: m.r_["q", x],
        lambda m, x: m.r_[x, "0"],
        lambda m, x: m.r_[()],
        lambda m, x: m.r_[x, x[0]],
        lambda m, x: x[m.s_[1:, ::2]],
        lambda m, x: x[m.index_exp[..., 0]],
        lambda m, x: m.packbits(x > 0),
        lambda m, x: m.packbits(x > 0, axis=0),
        lambda m, x: m.packbits(x > 0, -1, "little"),
        lambda m, x: m.packbits(m.ones((2, 9), int), 1),
        lambda m, x: m.packbits(m.array(True), 0),
        lambda m, x: m.packbits(m.zeros((2, 0), bool), 1),
        lambda m, x: m.unpackbits(m.array(5, dtype="u1"), -1),
        lambda m, x: m.packbits(x),
        lambda m, x: m.packbits(x > 0, bitorder="x"),
        lambda m, x: m.unpackbits(m.arange(7, dtype="u1")),
        lambda m, x: m.unpackbits(m.arange(6, dtype="u1").reshape(2, 3), axis=0),
        lambda m, x: m.unpackbits(m.arange(6, dtype="u1").reshape(2, 3), 1, 10, "little"),
        lambda m, x: m.unpackbits(m.arange(3, dtype="u1"), count=-3),
        lambda m, x: m.unpackbits(m.arange(3, dtype="u1"), count=30),
        lambda m, x: m.unpackbits(m.arange(3, dtype="u1"), count=-30),
        lambda m, x: m.unpackbits(x),
    ],
)
def test_brackets_and_bits(call):
    both(call)


# -- files -----------------------------------------------------------------------------------------


def test_arrays_come_from_files_and_go_to_them(tmp_path, monkeypatch):
    monkeypatch.setattr(dnb.config, "gather_budget", 64)
    x, name = dnb.array(X), tmp_path / "x.npy"
    dnb.save(name, x)
    np.testing.assert_array_equal(np.load(name), X)
    check(dnb.load(name), X)
    check(dnb.load(name, mmap_mode="r", dist="cyclic"), X)
    dnb.save(tmp_path / "one", dnb.array(3.0))
    check(dnb.load(tmp_path / "one.npy"), np.array(3.0))
    monkeypatch.setattr(dnb.config, "gather_budget", 2**20)
    dnb.savez(tmp_path / "a.npz", x, y=x.T)
    dnb.savez_compressed(tmp_path / "b.npz", y=x)
    with dnb.load(tmp_path / "a.npz") as found:
        assert sorted(found) == ["arr_0", "y"]
        check(found["y"], X.T)
    check(dnb.load(tmp_path / "b.npz")["y"], X)
    dnb.savetxt(tmp_path / "x.txt", x)
    check(dnb.loadtxt(tmp_path / "x.txt", dist="block"), X)
    check(dnb.genfromtxt(tmp_path / "x.txt", usecols=1), X[:, 1])
    check(dnb.fromiter(range(4), "f4"), np.arange(4, dtype="f4"))
    check(dnb.frombuffer(b"\1\2", "u1"), np.array([1, 2], "u1"))
    check(dnb.fromstring("1 2", sep=" "), np.array([1.0, 2.0]))


# -- modules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "i8", "c8"])
def test_complex_results_where_no_real_number_is_one(name, dtype):
    for values in ([0.25, 0.5], [-0.5, 0.5], [2, -3]):
        x = np.array(values).astype(dtype)
        with np.errstate(all="ignore"):
            wanted = getattr(np.emath, name)(x)
            found = getattr(dnb.emath, name)(dnb.array(x))
            agree(lambda: wanted, lambda: found, rtol=1e-6)
            got = dnb.lib.scimath.logn(2, dnb.array(x)), dnb.lib.scimath.power(dnb.array(x), -2)
            agree(lambda: np.emath.logn(2, x), lambda: got[0], rtol=1e-6)
            agree(lambda: np.emath.power(x, -2), lambda: got[1], rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f(x, (2, 2)),
        lambda f, x: f(x, 3, axis=1),
        lambda f, x: f(x, (2, 4)),
        lambda f, x: f(x, (3,), axis=-1),
        lambda f, x: f(x, (2, 2), axis=(1, 1)),
        lambda f, x: f(x[0], 2),
        lambda f, x: f(x[0], 4),
        lambda f, x: f(x, (1, 1)),
        lambda f, x: f(x, (), axis=()),
        lambda f, x: f(x, 0, axis=0),
        lambda f, x: f(x, (4, 2)),
        lambda f, x: f(x, 2),
        lambda f, x: f(x, -1, axis=0),
        lambda f, x: f(x, 2, axis=5),
    ],
)
def test_windows(call):
    numpys, ours = np.lib.stride_tricks, dnb.lib.stride_tricks
    agree(
        lambda: call(numpys.sliding_window_view, X),
        lambda: call(ours.sliding_window_view, dnb.array(X)),
    )


def test_windows_cannot_be_written():
    x = dnb.array(X[0])
    for length in (1, 2):
        windows = np.lib.stride_tricks.sliding_window_view(x, length)
        with pytest.raises(ValueError, match="read-only"):
            windows[0, 0] = 1.0
    with pytest.raises(ValueError, match="share elements"):
        dnb.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)
    assert dnb.lib.stride_tricks.sliding_window_view(x, (), axis=()).writeable is False
    assert x.writeable


def test_one_generator_for_all(session):
    rnd = dnb.random
    rnd.seed(5)
    first = [rnd.rand(3, 2), rnd.randn(4), rnd.randint(3, 9, 5), rnd.normal(2.0, 1.0, (2, 2))]
    assert [x.shape for x in first] == [(3, 2), (4,), (5,), (2, 2)]
    assert first[2].dtype == np.int64
    state = rnd.get_state()
    more = rnd.random_sample(3).to_numpy()
    rnd.set_state(state)
    np.testing.assert_array_equal(rnd.ranf(3).to_numpy(), more)
    again = rnd.RandomState(5)
    np.testing.assert_array_equal(again.rand(3, 2).to_numpy(), first[0].to_numpy())
    assert 0 <= float(rnd.rand()) < 1
    assert set(rnd.random_integers(2, size=50).to_numpy().tolist()) == {1, 2}
    assert int(again.tomaxint()) >= 0
    for seed in (None, [1, 2], np.random.SeedSequence(3), np.random.PCG64(4)):
        assert rnd.RandomState(seed).rand(2).shape == rnd.default_rng(seed).random(2).shape
    assert (
        rnd.Generator(rnd.PCG64(7)).random(2).tolist()
        == rnd.default_rng(rnd.PCG64(7)).random(2).tolist()
    )
    for wrong in (-1, 1.5, "x"):
        with pytest.raises((ValueError, TypeError)):
            rnd.seed(wrong)


def test_shuffle_in_place_takes_lists_and_ndarrays(session):
    values, table = list("abcdef"), X.copy()
    dnb.random.seed(1)
    dnb.random.shuffle(values)
    dnb.random.default_rng(3).shuffle(table, axis=1)
    assert sorted(values) == list("abcdef")
    assert sorted(table[0].tolist()) == X[0].tolist()
    np.testing.assert_array_equal(table[1] - table[0], [4.0] * 4)


@pytest.mark.parametrize("budget", [40, 2**20])
def test_assertions(session, monkeypatch, budget):
    monkeypatch.setattr(dnb.config, "gather_budget", budget)
    x, t = dnb.array(X), dnb.testing
    for check_ in (t.assert_allclose, t.assert_array_equal, t.assert_equal, t.assert_almost_equal):
        check_(x, X)
        check_(X, x)
        check_(x * 0, 0)
        with pytest.raises(AssertionError):
            check_(x, X + (np.arange(12).reshape(3, 4) == 11))
        with pytest.raises(AssertionError):
            check_(x, X[:, :2])
    t.assert_array_less(x, x + 1)
    t.assert_array_max_ulp(x, X)
    t.assert_allclose(actual=x, desired=x + 1e-9, rtol=0, atol=1e-8)
    t.assert_equal([x[0], {"a": x[1]}], [X[0], {"a": X[1]}])
    with t.assert_raises(ValueError):
        dnb.zeros(-1)
    with pytest.raises(TypeError):
        t.assert_allclose(x)


def test_numpys_own_functions_make_arrays_like_distributed_ones(session):
    x = dnb.array(X)
    for call in (
        lambda like: np.zeros((2, 3), like=like),
        lambda like: np.asarray([1, 2], like=like),
        lambda like: np.array(X, ndmin=3, like=like),
        lambda like: np.arange(3, like=like),
        lambda like: np.full(3, 7, like=like),
        lambda like: np.eye(3, like=like),
        lambda like: np.fromiter(range(3), int, like=like),
        lambda like: np.require([1], like=like),
    ):
        agree(lambda: call(None), lambda: call(x))
    check(np.linspace(x[0], x.max(), 3), np.linspace(X[0], X.max(), 3))
    check(np.logspace(x[0], 1, 3), np.logspace(X[0], 1, 3), rtol=1e-12)
