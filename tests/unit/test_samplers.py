"""Samplers have NumPy's distributions, and each number depends on its index and parameters only."""

import math

import numpy as np
import pytest

from distnb.ops import parameters
from distnb.ops.samplers import Draws, fill, log_factorial

#: Each sampler where it takes another way: inversion, rejection, large and small parameters.
CASES = [
    ("beta", (2.0, 3.0)),
    ("beta", (0.3, 0.05)),
    ("beta", (50.0, 70.0)),
    ("binomial", (20, 0.3)),
    ("binomial", (20, 0.9)),
    ("binomial", (1000, 0.4)),
    ("binomial", (10**6, 0.7)),
    ("chisquare", (0.5,)),
    ("f", (4.0, 7.0)),
    ("gamma", (0.4, 3.0)),
    ("geometric", (0.2,)),
    ("geometric", (0.001,)),
    ("gumbel", (1.0, 2.0)),
    ("hypergeometric", (5, 4, 7)),
    ("hypergeometric", (20, 14, 12)),
    ("hypergeometric", (100, 70, 60)),
    ("hypergeometric", (50, 10, 49)),
    ("hypergeometric", (10**5, 3 * 10**5, 10**4)),
    ("laplace", (0.0, 1.0)),
    ("logistic", (1.0, 3.0)),
    ("lognormal", (0.0, 0.5)),
    ("logseries", (0.7,)),
    ("logseries", (0.99,)),
    ("negative_binomial", (3, 0.2)),
    ("negative_binomial", (2.5, 0.9)),
    ("noncentral_chisquare", (3.0, 2.0)),
    ("noncentral_chisquare", (0.5, 7.0)),
    ("noncentral_f", (3.0, 5.0, 2.0)),
    ("pareto", (3.0,)),
    ("poisson", (0.5,)),
    ("poisson", (9.9,)),
    ("poisson", (10.0,)),
    ("poisson", (1234.0,)),
    ("poisson", (1e9,)),
    ("power", (2.0,)),
    ("rayleigh", (2.0,)),
    ("standard_cauchy", ()),
    ("standard_gamma", (0.1,)),
    ("standard_gamma", (1.0,)),
    ("standard_gamma", (20.0,)),
    ("standard_t", (3.0,)),
    ("triangular", (-1.0, 0.5, 2.0)),
    ("vonmises", (0.5, 4.0)),
    ("vonmises", (3.0, 0.01)),
    ("vonmises", (0.0, 1e-6)),
    ("vonmises", (2.0, 1e7)),
    ("wald", (1.0, 2.0)),
    ("wald", (3.0, 0.1)),
    ("weibull", (1.5,)),
    ("zipf", (1.7,)),
    ("zipf", (4.0,)),
]
all_cases = pytest.mark.parametrize(("kind", "args"), CASES, ids=[f"{k}{a}" for k, a in CASES])


def draw(kind, args, start, stop, seed=7, stream=3):
    out = np.empty(stop - start)
    fill(kind, seed, stream, args, [(start, stop)], out)
    return out


def distance(x, y):
    """Return the largest difference of two empirical distributions (Kolmogorov and Smirnov)."""
    x, y = np.sort(x), np.sort(y)
    at = np.concatenate([x, y])
    below = [np.searchsorted(z, at, "right") / z.size for z in (x, y)]
    return np.abs(below[0] - below[1]).max()


@all_cases
def test_distributions_are_numpys(kind, args):
    """Samples of 20,000 differ by chance so far in one of 20,000 cases; the seeds are fixed."""
    n = 20_000
    numpys = getattr(np.random.default_rng(11), kind)(*args, size=n)
    assert distance(draw(kind, args, 0, n), numpys) < 2.3 * math.sqrt(2 / n)


@all_cases
def test_each_number_depends_on_its_index(kind, args):
    whole = draw(kind, args, 0, 9000)
    np.testing.assert_array_equal(draw(kind, args, 8100, 8400), whole[8100:8400])
    picked = np.empty(3)
    fill(kind, 7, 3, args, [(8500, 8501), (2, 3), (700, 701)], picked)
    np.testing.assert_array_equal(picked, whole[[8500, 2, 700]])


@all_cases
def test_arrays_of_parameters_are_taken_one_by_one(kind, args):
    """Beside others, each index has the number that its own parameters give."""
    n = 300
    other = next(a for k, a in CASES[::-1] if k == kind)
    mixed = tuple(np.where(np.arange(n) % 3 == 0, b, a) for a, b in zip(args, other, strict=True))
    expected = np.where(np.arange(n) % 3 == 0, draw(kind, other, 0, n), draw(kind, args, 0, n))
    np.testing.assert_allclose(draw(kind, mixed, 0, n), expected, 1e-15)


def test_ends_of_the_parameters():
    ends = {
        ("binomial", (0, 0.5)): 0,
        ("binomial", (7, 0.0)): 0,
        ("binomial", (7, 1.0)): 7,
        ("geometric", (1.0,)): 1,
        ("hypergeometric", (0, 5, 3)): 0,
        ("hypergeometric", (5, 0, 3)): 3,
        ("hypergeometric", (5, 4, 9)): 5,
        ("hypergeometric", (5, 4, 0)): 0,
        ("negative_binomial", (5, 1.0)): 0,
        ("poisson", (0.0,)): 0,
        ("standard_gamma", (0.0,)): 0,
        ("zipf", (5000.0,)): 1,
    }
    for (kind, args), value in ends.items():
        assert set(draw(kind, args, 0, 100).tolist()) == {value}, kind


def test_small_shapes_do_not_vanish():
    logs = draw("log_gamma", (1e-4,), 0, 1000)
    assert np.isfinite(logs).all()
    assert logs.min() < -1000
    beta = draw("beta", (1e-4, 1e-4), 0, 1000)
    assert ((beta >= 0) & (beta <= 1)).all()
    assert abs((beta > 0.5).mean() - 0.5) < 0.1


def test_log_factorial():
    for k in (0, 1, 2, 15, 16, 17, 100, 10**6):
        assert math.isclose(
            float(log_factorial(float(k))), math.lgamma(k + 1), rel_tol=1e-12, abs_tol=0
        )


def test_forks_and_attempts_differ():
    draws = Draws(np.arange(5, dtype=np.uint64), 1, 2)
    others = [draws.fork(1), draws.fork(2), draws.fork(1).fork(2), draws.fork(3).fork(3).fork(3)]
    rows = [d.words(k).tobytes() for d in (draws, *others) for k in (0, 1, 5)]
    assert len(set(rows)) == len(rows)
    assert ((draws.uniform() > 0) & (draws.uniform() < 1)).all()


def test_check_takes_numbers_and_arrays():
    parameters.check("poisson", (np.array([0.0, 3.0]),))
    parameters.check("poisson", (np.empty(0),))
    for args in ((-1.0,), (np.array([1.0, -1.0]),), (np.array([np.nan, 1.0]),)):
        with pytest.raises(ValueError, match="lam"):
            parameters.check("poisson", args)
    with pytest.raises(ValueError, match="left"):
        parameters.check("triangular", (np.array([0, 5]), np.array([1, 4]), np.array([2, 9])))
