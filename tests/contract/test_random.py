"""Random numbers on engines and in the notebook: the same for every layout, right for parameters."""

import copy
import json
import warnings

import numpy as np
import pytest

import distnb as dnb
from distnb.ops.filling import drawer
from tests.contract.support import measured, outcome, public, same
from tests.tiers import some

pytestmark = pytest.mark.ways("one", "cutoff")

#: Every distribution, with numbers and with arrays for its parameters.
CASES = [
    ("beta", (2.0, 0.5)),
    ("binomial", (12, 0.3)),
    ("binomial", (500, 0.6)),
    ("chisquare", (3.0,)),
    ("exponential", (2.0,)),
    ("f", (4.0, 7.0)),
    ("gamma", (2.5, 3.0)),
    ("geometric", (0.2,)),
    ("gumbel", (1.0, 2.0)),
    ("hypergeometric", (15, 25, 8)),
    ("hypergeometric", (60, 70, 50)),
    ("integers", (-5, 9)),
    ("laplace", (0.5, 1.0)),
    ("logistic", (1.0, 3.0)),
    ("lognormal", (0.0, 0.5)),
    ("logseries", (0.7,)),
    ("negative_binomial", (3, 0.2)),
    ("noncentral_chisquare", (3.0, 2.0)),
    ("noncentral_f", (3.0, 5.0, 2.0)),
    ("normal", (1.0, 2.0)),
    ("pareto", (3.0,)),
    ("poisson", (3.5,)),
    ("poisson", (44.0,)),
    ("power", (2.0,)),
    ("rayleigh", (2.0,)),
    ("standard_cauchy", ()),
    ("standard_exponential", ()),
    ("standard_gamma", (0.3,)),
    ("standard_normal", ()),
    ("standard_t", (3.0,)),
    ("triangular", (-1.0, 0.5, 2.0)),
    ("uniform", (-1.0, 2.0)),
    ("vonmises", (0.5, 4.0)),
    ("wald", (1.0, 2.0)),
    ("weibull", (1.5,)),
    ("zipf", (1.7,)),
]
ids = [f"{kind}{args}" for kind, args in CASES]


def draw(kind, args, size=None, seed=5, **options):
    return getattr(dnb.random.default_rng(seed), kind)(*args, size=size, **options)


@pytest.mark.ways("spmd")
@pytest.mark.parametrize(("kind", "args"), CASES, ids=ids)
def test_the_same_for_every_layout(session, kind, args):
    made = [
        draw(kind, args, (13, 4), dist=d) for d in (None, "cyclic", ("*", "block"), "replicated")
    ]
    first = made[0].to_numpy()
    numpys = getattr(np.random.default_rng(0), kind)(*args, size=(13, 4))
    assert (first.dtype, first.shape) == (numpys.dtype, numpys.shape)
    for x in made[1:]:
        same(x, first)
    part = np.empty(20, first.dtype)  # of the formula that engines and notebook share
    if kind not in ("integers", "uniform"):  # whose parameters are worked on before
        drawer(kind).fill(kind, 5, 0, args, [(7, 27)], part)
        np.testing.assert_array_equal(first.ravel()[7:27], part)


@pytest.mark.parametrize(("kind", "args"), CASES, ids=ids)
def test_arrays_of_parameters(session, kind, args):
    """Where they lie, and whether they are broadcast, does not matter; integers go another way.

    Normal, exponential and uniform numbers are those of single parameters.
    """
    if not args or kind == "integers":
        return
    arrays = [np.full((6, 4)[i % 2 :], a) for i, a in enumerate(args)]
    rtol = 1e-15
    single = draw(kind, arrays).to_numpy()
    if kind in ("normal", "exponential", "uniform"):
        same(draw(kind, args, (6, 4)), single, rtol)
    same(draw(kind, [dnb.array(a, dist="cyclic") for a in arrays], (6, 4)), single, rtol)
    same(draw(kind, [dnb.array(arrays[0]), *args[1:]], (6, 4), dist="replicated"), single, rtol)


def test_parameters_of_each_element(session):
    lam = np.repeat([0.0, 3.0, 50.0, 1e6], 500).reshape(4, 500)
    for dist in ("block", ("*", "cyclic")):
        x = draw("poisson", (dnb.array(lam, dist=dist),)).to_numpy()
        assert (abs(x.mean(axis=1) - lam[:, 0]) <= 5 * np.sqrt(lam[:, 0] / 500)).all()
    low, high = dnb.array([0, 100, -5]), dnb.array([[1], [101]])
    with pytest.raises(ValueError, match="low >= high"):
        draw("integers", (low, high)).to_numpy()
    x = draw("integers", (np.array([0, 10, -5]), [[20], [30]]), (400, 2, 3)).to_numpy()
    assert (x.min(axis=0) == [[0, 10, -5], [0, 10, -5]]).all()
    assert (x.max(axis=0) == [[19, 19, 19], [29, 29, 29]]).all()
    y = draw("integers", ([0, 10, -5], 20), (400, 3), endpoint=True).to_numpy()
    assert (y.max(axis=0) == 20).all()


def test_results_lie_as_their_parameters(session, engines_only):
    lam = dnb.ones((12, 12), dist=("*", "block"))
    with measured(session) as reports:
        x = draw("poisson", (lam,))
        y = draw("normal", (lam, 2.0))
    assert x.dbase.layout == y.dbase.layout == (lam + 1).dbase.layout
    assert sum(r.bytes for row in reports[0].ops for r in row.ranks) == 0


BAD = [
    ("poisson", (-1.0,)),
    ("poisson", (np.nan,)),
    ("binomial", (5, 1.5)),
    ("binomial", (-1, 0.5)),
    ("beta", (0.0, 1.0)),
    ("gamma", (-1.0, 1.0)),
    ("hypergeometric", (3, 4, 8)),
    ("triangular", (2.0, 1.0, 3.0)),
    ("wald", (0.0, 1.0)),
    ("zipf", (1.0,)),
    ("vonmises", (0.0, -1.0)),
    ("standard_t", (0.0,)),
    ("logseries", (1.0,)),
    ("normal", (0.0, -1.0)),
    ("exponential", (-1.0,)),
    ("rayleigh", (-1.0,)),
]


@pytest.mark.parametrize(("kind", "args"), BAD, ids=str)
def test_what_numpy_refuses(session, kind, args):
    """Of numbers at once; of arrays on engines when the elements are looked at."""
    _, error = outcome(lambda: getattr(np.random.default_rng(0), kind)(*args))
    with pytest.raises(public(error)):
        draw(kind, args, 5)
    with pytest.raises(public(error)):
        draw(kind, [np.full(4, a) for a in args]).to_numpy()
    with pytest.raises(ValueError, match="broadcast"):
        draw(kind, [np.full(4, a) for a in args], (3,))


def test_given_outputs(session):
    for kind, args in (
        ("random", ()),
        ("standard_normal", ()),
        ("standard_exponential", ()),
        ("standard_gamma", (2.0,)),
    ):
        for dtype in ("f4", "f8"):
            out = dnb.zeros((5, 4), dtype, dist="cyclic")
            rng = dnb.random.default_rng(5)
            assert getattr(rng, kind)(*args, out=out, dtype=dtype) is out
            same(out, getattr(dnb.random.default_rng(5), kind)(*args, (5, 4), dtype).to_numpy())
        with pytest.raises(TypeError, match="out: got float64"):
            getattr(rng, kind)(*args, out=dnb.zeros(3), dtype="f4")
        with pytest.raises(ValueError, match="out: got shape"):
            getattr(rng, kind)(*args, 4, out=dnb.zeros(3))
        with pytest.raises(TypeError, match="a DistArray"):
            getattr(rng, kind)(*args, out=np.zeros(3))


def test_empty_arrays(session):
    for size in ((0,), (3, 0), (0, 4)):
        same(draw("poisson", (3.0,), size), np.zeros(size, np.int64))
        same(draw("gamma", (np.ones(size),)), np.zeros(size))


@pytest.mark.ways("spmd")
def test_streams_do_not_repeat(session):
    rng = dnb.random.default_rng(1)
    made = [rng.standard_gamma(2.0, 50).to_numpy() for _ in range(3)]
    made += [r.standard_gamma(2.0, 50).to_numpy() for r in rng.spawn(2)]
    assert len({x.tobytes() for x in made}) == 5
    assert dnb.random.default_rng(rng) is rng


@pytest.mark.ways("spmd")
def test_bytes(session):
    found = dnb.random.default_rng(3).bytes(1000)
    assert len(found) == 1000
    assert len(set(found)) > 200


@pytest.mark.ways("spmd")
def test_state_of_bit_generator(session):
    rng = dnb.random.default_rng(4)
    rng.random(3)
    state = json.loads(json.dumps(rng.bit_generator.state))
    first, others = rng.normal(size=6), rng.random(2)
    rng.bit_generator.state = state
    same(rng.normal(size=6), first.to_numpy())
    another = dnb.random.default_rng()
    another.bit_generator.state = state
    another.normal(size=6)
    same(another.random(2), others.to_numpy())
    for wrong, error in ((5, TypeError), (np.random.PCG64(1).state, ValueError)):
        for bits in (rng.bit_generator, np.random.MT19937(1)):
            with pytest.raises(error):
                bits.state = wrong


@pytest.mark.ways("spmd")
def test_generators_share_a_bit_generator(session):
    first = dnb.random.default_rng(4)
    second, apart = (
        dnb.random.Generator(first.bit_generator),
        dnb.random.Generator(copy.deepcopy(first.bit_generator)),
    )
    made = [g.random(5).to_numpy() for g in (first, second, first, apart)]
    assert second.bit_generator is first.bit_generator
    assert len({x.tobytes() for x in made[:3]}) == 3
    np.testing.assert_array_equal(made[3], made[0])


@pytest.mark.ways("spmd")
def test_seeds_of_a_bit_generator(session):
    sequence = np.random.SeedSequence(9)
    assert dnb.random.default_rng(sequence).bit_generator.seed_seq is sequence
    for xp in (np, dnb):
        bits = xp.random.default_rng(9).bit_generator
        assert bits.seed_seq.entropy == 9
        found = [xp.random.default_rng(s).random(4) for s in bits.seed_seq.spawn(2)]
        found += [xp.random.default_rng(s).random(4) for s in bits.seed_seq.spawn(1)]
        assert len({np.asarray(x).tobytes() for x in found}) == 3
        assert xp.random.default_rng(np.random.PCG64(1)).bit_generator.seed_seq is not None


# -- orders and choices --------------------------------------------------------------------------


def test_permutation_of_numbers(session):
    for n in (0, 1, 2, 300):
        for dist in (None, "cyclic", "replicated"):
            x = dnb.random.default_rng(2).permutation(n, dist=dist).to_numpy()
            assert x.dtype == np.int64
            np.testing.assert_array_equal(np.sort(x), np.arange(n))
    assert (np.diff(x) != 1).sum() > 280


def test_permutation_of_slices(session):
    x = np.arange(24).reshape(6, 4)
    found = []
    for dist in ("block", "cyclic", ("*", "block")):
        a = dnb.array(x, dist=dist)
        rng = dnb.random.default_rng(2)
        rows, columns = rng.permutation(a).to_numpy(), rng.permutation(a, axis=1).to_numpy()
        np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], x)
        np.testing.assert_array_equal(columns[:, np.argsort(columns[0])], x)
        same(a, x)
        rng.shuffle(a)
        b = a.to_numpy()
        np.testing.assert_array_equal(b[np.argsort(b[:, 0])], x)
        found.append(np.concatenate([rows, columns, b]).tobytes())
    assert len(set(found)) == 1
    with pytest.raises(np.exceptions.AxisError):
        rng.permutation(a, axis=2)
    with pytest.raises(TypeError, match="an array or a list"):
        rng.shuffle((1, 2, 3))


@pytest.mark.ways("spmd")
def test_permuted(session):
    """Each slice has an order of its own; all together have one."""
    x = np.arange(48).reshape(12, 4)
    found = []
    for dist in ("block", ("*", "cyclic"), "replicated"):
        a = dnb.array(x, dist=dist)
        rng = dnb.random.default_rng(2)
        for axis in (0, 1, -1):
            y = rng.permuted(a, axis=axis).to_numpy()
            np.testing.assert_array_equal(np.sort(y, axis), x)
            found.append(y.tobytes())
        z = rng.permuted(a).to_numpy()
        np.testing.assert_array_equal(np.sort(z, None), x.ravel())
        assert (np.sort(z, 1) != x).any()
        assert rng.permuted(a, axis=0, out=a) is a
    assert len(set(found)) == 3
    assert len(set(map(tuple, y - x[:, :1]))) > 1


def test_orders_are_equally_likely(session):
    rng = dnb.random.default_rng(8)
    found = [tuple(rng.permutation(3, dist="block").to_numpy()) for _ in range(60)]
    counts = [found.count(order) for order in set(found)]
    assert len(counts) == 6
    assert min(counts) > 2


@pytest.mark.ways("spmd")
def test_choice(session):
    rng = dnb.random.default_rng(2)
    x = rng.choice(5, (300, 2)).to_numpy()
    assert set(x.ravel()) == set(range(5))
    assert np.shape(rng.choice(5)) == ()
    few = rng.choice(9, (2, 3), replace=False).to_numpy()
    assert len(set(few.ravel())) == 6
    a = dnb.array(np.arange(20).reshape(10, 2) * 7, dist="cyclic")
    rows = rng.choice(a, 6, replace=False).to_numpy()
    assert len({tuple(r) for r in rows}) == 6
    assert {tuple(r) for r in rows} <= {tuple(r) for r in a.to_numpy()}
    assert rng.choice(a, 3, axis=1).shape == (10, 3)
    assert set(rng.choice([1.5, 2.5], 50).to_numpy()) == {1.5, 2.5}


def test_choices_of_text_are_numpys(session):
    """Engines have no such elements: places are drawn, and NumPy takes what is there."""
    faces = [["H", "T"], ["a", "b"], ["c", "d"]]
    days = np.arange(3).astype("M8[D]")
    for a in (faces, np.array(faces), days, [None] * 3):
        text, rng, numpys = np.array(a), *(g.random.default_rng(1) for g in (dnb, np))
        for run in (
            lambda g, a=a: g.choice(a),
            lambda g, a=a: g.choice(a, ()),
            lambda g, a=a: g.choice(a, (2, 3), axis=-1),
            lambda g, a=a: g.choice(a, 2, replace=False, p=[0.5, 0.25, 0.25]),
            lambda g, a=a: g.permutation(a),
            lambda g, a=a: g.permuted(a, axis=0),
            lambda g, a=a: g.permuted(a),
        ):
            found, wanted = run(rng), run(numpys)
            assert type(found) is type(wanted)
            found, wanted = np.asarray(found), np.asarray(wanted)
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            assert np.isin(found, text).all()
    order = dnb.random.default_rng(1).permutation(3)
    same(order, dnb.random.default_rng(1).permutation(np.array(["0", "1", "2"])).astype(int))
    with pytest.raises(TypeError, match="dtype: got <U1"):
        rng.permutation(["a", "b"], dist="block")


def test_few_of_many_are_chosen(session):
    """They are drawn until so many are unlike, and each is as likely at each place."""
    counts = np.zeros((40, 3))
    for seed in range(300):
        found = dnb.random.default_rng(seed).choice(40, 3, replace=False, dist="block").to_numpy()
        assert len(set(found.tolist())) == 3
        counts[found, range(3)] += 1
    assert counts.max() < 25  # 7.5 are expected; so many come once in a million
    whole = dnb.random.default_rng(1).choice(80_000, (100, 100), replace=False)
    assert len(np.unique(whole.to_numpy())) == 10_000
    assert dnb.random.default_rng(1).choice(10**15, 5, replace=False).shape == (5,)


def test_single_choices_are_those_of_arrays(session):
    """Numbers are drawn in a shorter way: the same ones, of the same types as NumPy's."""
    chances = [0.1, 0.2, 0.7]
    for p in (None, chances, dnb.array(chances), dnb.array(chances, dist="block")):
        for a in (3, [1.5, 2.5, 3.5], dnb.arange(3.0, dist="block"), [[1, 2], [3, 4], [5, 6]]):
            one, several = (dnb.random.default_rng(1) for _ in range(2))
            for _ in some(range(20), 4):
                x, y = one.choice(a, p=p), several.choice(a, (), p=p)
                assert np.array_equal(np.asarray(x), np.asarray(y))
                assert np.asarray(x).dtype == np.asarray(y).dtype
    for p in (None, chances):
        kind = type(dnb.random.default_rng(1).choice(3, p=p))
        if dnb.config.place != "notebook":  # there a value may be at hand without a cutoff, too
            assert kind is (int if dnb.config.cutoff else dnb.DistArray)
    x = np.arange(4.0).reshape(2, 2)
    row = dnb.random.default_rng(1).choice(dnb.array(x))
    row[...] = 9  # a copy
    assert row.shape == (2,)


def test_choice_with_probabilities(session):
    rng = dnb.random.default_rng(2)
    p = np.array([0.1, 0.2, 0.0, 0.3, 0.4])
    for chances in (p, dnb.array(p, dist="cyclic")):
        x = rng.choice(5, 2000, p=chances).to_numpy()
        assert (abs(np.bincount(x, minlength=5) / 2000 - p) < 0.05).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = rng.choice(5, 4, replace=False, p=chances).to_numpy()
        assert sorted(y) == [0, 1, 3, 4]
    first = [rng.choice(5, 1, replace=False, p=p).item() for _ in range(40)]
    assert first.count(2) == 0
    assert first.count(4) > first.count(0)


@pytest.mark.parametrize(
    ("a", "size", "options"),
    [
        (0, 3, {}),
        (3, 4, {"replace": False}),
        (3, 2, {"p": [0.5, 0.5]}),
        (2, 2, {"p": [0.5, 0.6]}),
        (2, 2, {"p": [1.5, -0.5]}),
        (3, 2, {"p": [1.0, 0.0, 0.0], "replace": False}),
    ],
    ids=str,
)
def test_choices_that_numpy_refuses(session, a, size, options):
    _, error = outcome(lambda: np.random.default_rng(0).choice(a, size, **options))
    with pytest.raises(public(error)):
        dnb.random.default_rng(0).choice(a, size, **options)


# -- vectors and counts --------------------------------------------------------------------------


def test_multinomial(session):
    rng = dnb.random.default_rng(4)
    p = [0.2, 0.5, 0.0, 0.3]
    x = rng.multinomial(20, p, 900).to_numpy()
    assert x.dtype == np.int64
    assert (x.sum(axis=1) == 20).all()
    assert (x >= 0).all()
    assert (abs(x.mean(axis=0) - 20 * np.array(p)) < 0.4).all()
    covariance = np.cov(x[:, 0], x[:, 1])[0, 1]
    assert abs(covariance + 20 * 0.2 * 0.5) < 0.5
    assert rng.multinomial(5, p).shape == (4,)
    y = rng.multinomial([3, 7], p, (10, 2)).to_numpy()
    assert (y.sum(axis=-1) == [3, 7]).all()
    with pytest.raises(ValueError, match="sum"):
        rng.multinomial(5, [0.9, 0.9, 0.1])


def test_multivariate_hypergeometric(session):
    rng = dnb.random.default_rng(4)
    x = rng.multivariate_hypergeometric([10, 20, 5], 14, 500).to_numpy()
    assert (x.sum(axis=1) == 14).all()
    assert (x <= [10, 20, 5]).all()
    assert (abs(x.mean(axis=0) - [4, 8, 2]) < 0.3).all()


def test_dirichlet(session):
    alpha = np.array([0.001, 3.0, 1.5])
    x = dnb.random.default_rng(4).dirichlet(alpha, (30, 40)).to_numpy()
    assert x.shape == (30, 40, 3)
    np.testing.assert_allclose(x.sum(axis=-1), 1)
    assert (abs(x.mean(axis=(0, 1)) - alpha / alpha.sum()) < 0.02).all()
    with pytest.raises(ValueError, match="alpha"):
        dnb.random.default_rng(4).dirichlet([-1, 2])


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(session, method):
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    rng = dnb.random.default_rng(4)
    x = rng.multivariate_normal(mean, cov, 3000, method=method).to_numpy()
    assert (abs(x.mean(axis=0) - mean) < 0.1).all()
    assert (abs(np.cov(x.T) - cov) < 0.15).all()
    assert rng.multivariate_normal(mean, cov, method=method).shape == (2,)
    assert rng.multivariate_normal(mean, cov, (2, 3)).shape == (2, 3, 2)
    with pytest.raises(ValueError, match="cov"):
        rng.multivariate_normal(mean, np.eye(3))


#: Of parameters that are arrays, ``A``, of which NumPy returns NaN, takes all bits, or refuses some.
ODD = """
g.gamma(A([nan, 1.0]), 1.0)
g.standard_gamma(A([inf, 1.0]))
g.chisquare(A([nan, 1.0]))
g.standard_t(A([inf, 1.0]))
g.beta(A([nan, 1.0]), A([1.0, 2]))
g.f(A([nan, 1.0]), 1.0)
g.noncentral_chisquare(A([nan, 1.0]), 1.0)
g.noncentral_chisquare(A([2.0, 1.0]), nan)
g.noncentral_chisquare(A([2.0, 1.0]), inf)
g.noncentral_f(A([1.0, 2.0]), 1.0, nan)
g.vonmises(0, A([nan, 2]))
g.zipf(A([1 + 1e-7, 2.0]))
g.dirichlet([0.0, 0.0])
g.dirichlet([0.0, 1.0])
g.dirichlet([inf, 0.5])
g.dirichlet([])
g.normal(0, nan)
g.normal(A([1 + 5j]))
g.exponential(nan)
g.exponential(-1)
g.gamma(None)
g.uniform(0, A([nan, 1.0]))
g.uniform(A([-1e308, 1.0]), 1e308)
g.uniform(0, A([-1.0, 1.0]))
g.binomial(A([2.5, 3.0]), 0.5)
g.hypergeometric(A([5.9, 3]), 4, 3)
g.negative_binomial(A([1e300, 1.0]), A([1e-10, 0.5]))
g.multinomial(A([3, 4]), [nan, 0.6])
g.multinomial(A([3, 4]), [0.9, 0.9, 0.9])
g.multinomial(A([3, 4]), [])
g.multinomial(A([3, 4]), 0.5)
g.multinomial(A([2.5, 3]), [0.4, 0.6])
g.multinomial(A([-1, 3]), [0.4, 0.6])
g.multinomial(A(np.zeros(0, int)), [0.4, 0.6])
g.integers(0, A([300, 300]), dtype="u1")
g.integers(A([0, 0]), A([5, 256]), dtype="u1")
g.integers(A([0, 0]), A([5, 256]), dtype="u1", endpoint=True)
g.integers(A([0, 0]), A([5, 255]), dtype="u1", endpoint=True)
g.integers(A([-5, -5]), A([-3, -3]), dtype="u4")
g.integers(A([-1, 0]), A([1, 2]), dtype="u8")
g.integers(A([False, False]), A([1, 2]), dtype=bool)
g.integers(A(np.full(3, 2**64 - 1, "u8")), A(np.zeros(3, "u8")), dtype="u8")
g.integers(A(np.zeros(3, "u8")), A(np.full(3, 2**64 - 1, "u8")), dtype="u8")
g.integers(0, A(np.array([127, 127, 5], "i1")), endpoint=True)
g.integers(A([0, 0]), 2**63 - 1, endpoint=True)
g.integers(-(2**63), A([2**63 - 1] * 3), endpoint=True)
g.integers(-(2**63) - 1, A([5, 5]))
g.integers(A([5, 5]), A([5, 5]))
g.integers(A([5, 5]), A([5, 5]), endpoint=True)
g.integers(0, [1, 2], endpoint=True)
g.integers(0, [2**64] * 4, dtype="u8")
g.integers(np.array([0] * 4, object), np.array([5] * 4, object))
g.integers(0, A(np.zeros(0, int)))
g.integers(2.5)
g.permuted(A([1, 2, 3]), out=Z((2, 3), int))
g.permuted(A([1, 2, 3]), out=Z(3, "f4"))
g.permuted(5)
g.shuffle([1, 2, 3], axis=2)
"""


@pytest.mark.cases(60)
@pytest.mark.parametrize("code", ODD.strip().splitlines())
def test_odd_parameters_are_numpys(session, code):
    def run(m, array):
        names = {"g": m.random.default_rng(1), "A": array, "Z": m.zeros, "np": np}
        found = np.asarray(eval(code, names | {"nan": np.nan, "inf": np.inf}))
        return found.dtype, found.shape, list(np.isnan(found)) if found.dtype.kind == "f" else None

    wanted, refused = outcome(lambda: run(np, np.array))
    for array in (dnb.array, np.array):
        found, error = outcome(lambda array=array: run(dnb, array))
        assert found == wanted
        assert (error and public(error)) == (refused and public(refused))


def test_all_integers_of_64_bits_are_drawn_between_arrays(session):
    rng = dnb.random.default_rng(1)
    least, most = np.full(4000, -(2**63)), np.full(4000, 2**63 - 1)
    x = rng.integers(dnb.array(least), dnb.array(most), endpoint=True).to_numpy()
    assert len(np.unique(x)) == 4000
    assert abs((x < 0).mean() - 0.5) < 0.05
    assert (np.unique(x & 7, return_counts=True)[1] > 400).all()


def test_ranges_that_fall():
    """As in NumPy: legacy generators draw from them, others refuse."""
    found = dnb.random.RandomState(1).uniform(3, 1, 1000).to_numpy()
    assert 1 < found.min() < 1.1
    assert 2.9 < found.max() <= 3
    for draw in ("uniform(3, 1)", "normal(0, -0.0)", "exponential(-0.0)"):
        for of in (np, dnb):
            with pytest.raises(ValueError, match="low|range|scale"):
                eval(f"of.random.default_rng(1).{draw}", {"of": of})


@pytest.mark.parametrize("seed", [2**32, -1, [1, 2**32], [], [[1, 2]]])
def test_the_legacy_way_takes_the_seeds_that_numpys_takes(session, seed):
    for take in (np.random.RandomState, np.random.seed, dnb.random.RandomState, dnb.random.seed):
        with pytest.raises(ValueError, match="(?i)seed"):
            take(seed)
    for good in (2**32 - 1, [3, 2**32 - 1], np.random.SeedSequence(1)):
        assert dnb.random.RandomState(good).rand(3).shape == (3,)
