"""What operations weigh, by which the notebook's steps are told from those of engines."""

import numpy as np
import pytest

import distnb as dnb
from distnb.client.record import operation_cache
from distnb.ops import weights

#: Seconds that the bytes of the elements which are measured take alone, for two arrays of float64.
ALONE = 2 * 8 * weights._ELEMENTS * weights._MEMORY


@pytest.fixture
def takes(monkeypatch):
    """Let every measured operation take so many seconds, by a clock of the test's."""

    def takes(seconds):
        ticks = iter(range(10**6))
        monkeypatch.setattr(weights, "perf_counter", lambda: next(ticks) * seconds)
        monkeypatch.setattr(weights, "_weights", {})

    return takes


@pytest.mark.parametrize(("often", "weight"), [(0.3, 1), (1.5, 1), (7.5, 7), (1000, weights.MOST)])
def test_an_operation_weighs_what_it_takes(takes, often, weight):
    takes(often * ALONE)
    assert weights.weight(np.sin, np.dtype("f8")) == weight


def test_it_is_measured_once_for_a_dtype(takes, monkeypatch):
    takes(5.5 * ALONE)
    assert weights.weight(np.exp, np.dtype("f8")) == 5
    takes(3.6 * ALONE)
    monkeypatch.setattr(weights, "_weights", {(np.exp, "d"): 5})
    assert weights.weight(np.exp, np.dtype("f8")) == 5
    assert weights.weight(np.exp, np.dtype("f4")) == 7  # as long, for half of the bytes


@pytest.mark.parametrize("code", "?bhilqefdgFD")
def test_whatever_numpy_has_can_be_weighed(code):
    for run in weights._KNOWN:
        assert 1 <= weights.weight(run, np.dtype(code)) <= weights.MOST


def test_nobody_elses_function_is_called_to_be_weighed():
    def never(x):
        raise AssertionError("called")

    for run in (never, np.frompyfunc(never, 1, 1), np.vectorize(never)):
        assert weights.weight(run, np.dtype("f8")) == 1


@pytest.fixture
def dear(monkeypatch):
    """Let sines of float64 weigh the most, and sums nothing."""
    known = {(np.sin, "d"): weights.MOST, (np.add, "d"): 1}
    monkeypatch.setattr(weights, "_weights", known)


@pytest.mark.tier("test")
def test_templates_say_what_operations_weigh(dear):
    with dnb.inprocess(2) as session:
        x = dnb.ones(1 << 17)
        y, _ = np.sin(x), x + x
        kept = session.extensions[operation_cache.OperationCache].templates
        found = {key[0]: template for key, template in kept.items()}
        assert found["sin"].nbytes == 2 * weights.MOST * x.nbytes
        assert found["add"].nbytes == 3 * x.nbytes
        assert (found["sin"].large, found["add"].large) == (True, False)
        assert np.array_equal(y.to_numpy(), np.sin(np.ones(1 << 17)))


@pytest.mark.tier("test")
@pytest.mark.parametrize(
    ("step", "often"),
    [
        (lambda x: np.sin(x), weights.MOST),
        (lambda x: np.sin(x, out=x), weights.MOST),
        (lambda x: x + x, 0),
        (lambda x: np.interp(x, [0, 1], [0, 1]), weights.MOST),
    ],
)
def test_what_weighs_much_is_a_large_step(dear, monkeypatch, step, often):
    with dnb.inprocess(2) as session:
        monkeypatch.setattr(dnb.config, "place", "auto")
        x = dnb.ones(1 << 17)
        assert x[0] == 1
        before = session.large.nbytes
        y = step(x)
        assert session.large.nbytes - before == often * 2 * x.nbytes
        assert np.array_equal(y.to_numpy(), step(np.ones(1 << 17)))


def test_objects_are_not_measured():
    """Python's numbers raise what who calls the operation would be told in place of what is wrong."""
    for run in (np.divide, np.floor_divide, np.hypot, np.add):
        assert weights.weight(run, np.dtype(object)) == 1
