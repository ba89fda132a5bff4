"""Compiled loops over short rows: their sums have NumPy's digits, and their best NumPy's places."""

import warnings

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.fusion import compiled_rows
from distnb.engines.fusion.compiler import Compiler
from tests.compiling import at_once

pytest.importorskip("numba")

pytestmark = pytest.mark.tier("test")

ROWS = 40


@pytest.fixture
def session():
    """Two engines that compile at once whatever they can."""
    with dnb.inprocess(2) as found, at_once(found):
        yield found


@pytest.fixture
def runs(monkeypatch):
    """Take down the lengths of rows that compiled loops sum."""
    seen = []
    real = compiled_rows.CompiledSums.__call__

    def run(self, registers, tile):
        seen.append(tile[-1].stop)
        return real(self, registers, tile)

    monkeypatch.setattr(compiled_rows.CompiledSums, "__call__", run)
    return seen


def numbers(dtype, rows, n, seed):
    """Return numbers of very different sizes, whose sums depend on the order; some are special."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((rows, n)) * 10.0 ** rng.integers(-3, 4, (rows, n))
    if np.dtype(dtype).kind == "f":
        found[1], found[-1] = -0.0, 0.0
        found[2 % rows, -1], found[3 % rows, 0] = np.inf, np.nan
    return found.astype(dtype)


def equal_to_the_bit(found, wanted):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])


CASES = [("f8", 3), ("f8", 19), ("f4", 8)]
ALL = [(dtype, n) for dtype in ("f8", "f4", "i8") for n in (*range(2, 34), 63, 64)]


@pytest.mark.cases(2)
@pytest.mark.parametrize(("dtype", "n"), CASES)
def test_distances_have_numpys_digits(session, runs, dtype, n):
    distances_of(dtype, n)
    assert runs == [n, n]


@pytest.mark.tier("test-all")
@pytest.mark.parametrize(("dtype", "n"), sorted({*ALL} - {*CASES}))
def test_distances_of_every_length(session, runs, dtype, n):
    distances_of(dtype, n)
    assert runs == [n, n]


def distances_of(dtype, n):
    x, y = numbers(dtype, ROWS, n, 1), numbers(dtype, 3, n, 2)
    a, b = dnb.array(x), dnb.array(y, dist="replicated")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = np.square(x[:, None] - y).sum(axis=-1)
        equal_to_the_bit(np.square(a[:, None] - b).sum(axis=-1).to_numpy(), wanted)


def test_other_reductions_go_their_way(session, runs):
    x = numbers("f8", ROWS, 9, 1)[4:-1]
    a = dnb.array(x)
    for axis in (0, (0, 1), 1):
        np.testing.assert_array_equal((a * 2 - 1).max(axis=axis).to_numpy(), (x * 2 - 1).max(axis))
    np.testing.assert_allclose((a * 2 - 1).sum(axis=0).to_numpy(), (x * 2 - 1).sum(axis=0))
    long = np.linspace(-1, 1, ROWS * 65).reshape(ROWS, 65)
    equal_to_the_bit((dnb.array(long) * 3).sum(axis=1).to_numpy(), (long * 3).sum(axis=1))
    small = x.astype("f4")
    wide = (dnb.array(small) * np.float32(2)).sum(axis=1, dtype="f8").to_numpy()
    equal_to_the_bit(wide, (small * np.float32(2)).sum(axis=1, dtype="f8"))
    assert runs == []
    both = dnb.array(x) * 2
    equal_to_the_bit(both.sum(axis=1).to_numpy(), (x * 2).sum(axis=1))
    equal_to_the_bit(both.to_numpy(), x * 2)


def test_warnings_are_numpys(session, runs):
    a, b = dnb.array(np.full((ROWS, 8), 1e200)), dnb.array(np.full((2, 8), -1.0), dist="replicated")
    with pytest.warns(RuntimeWarning, match="overflow encountered"):
        found = ((a[:, None] - b) ** 2).sum(axis=-1).to_numpy()
    assert np.isinf(found).all()
    assert runs


def test_a_row_is_summed_where_its_result_lies(session, monkeypatch):
    """Nothing else takes as much memory as the result."""
    x = np.arange(ROWS * 8.0).reshape(ROWS, 8)
    a = dnb.array(x)
    results = [worker.executor.results for worker in session.transport.workers]
    taken = []
    for scratch in results:
        monkeypatch.setattr(scratch, "take", lambda dtypes, shape: taken.append(shape))
    found = (a * 3).sum(axis=1)
    np.testing.assert_array_equal(found.to_numpy(), (x * 3).sum(axis=1))
    assert taken == []


@pytest.mark.cases(2)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8"])
def test_where_the_best_of_short_rows_is(monkeypatch, dtype):
    """The first of equal ones; the first NaN, if there is one."""
    monkeypatch.setattr(compiled_rows, "_MANY", 1)
    made = Compiler(wait=True)
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 64):
        rows = rng.integers(-2, 3, (500, n)).astype(dtype)
        if rows.dtype.kind == "f":
            rows[rng.integers(0, 500, 90), rng.integers(0, n, 90)] = np.nan
            rows[7], rows[8], rows[9] = np.nan, np.inf, -np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for better, function in (("<", np.argmin), (">", np.argmax)):
                found = compiled_rows.best_of_rows(made, rows, better)
                equal_to_the_bit(found, function(rows, axis=-1))
    assert compiled_rows.best_of_rows(made, rows[:, ::2], "<") is None
    assert compiled_rows.best_of_rows(made, rows.astype("f2"), "<") is None
    assert compiled_rows.best_of_rows(made, np.zeros((9, 65)), "<") is None


def test_positions_in_rows(session, monkeypatch):
    monkeypatch.setattr(compiled_rows, "_MANY", 1)
    x = numbers("f8", ROWS, 9, 3)
    for dist in ("block", ("*", "block"), "cyclic"):
        a = dnb.array(x, dist=dist)
        for name in ("argmin", "argmax"):
            for axis in (0, 1, None):
                wanted = getattr(x, name)(axis=axis)
                np.testing.assert_array_equal(getattr(a, name)(axis=axis).to_numpy(), wanted)
