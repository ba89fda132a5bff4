"""Splitters are exact, whatever the elements: all engines simulated in one process."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb.engines.collectives import splitters as sorting
from distnb.engines.runtime.exchange import TAGS_PER_COMMAND
from distnb.ops.orders import stable_order, taken

VALUES = {
    "numbers": st.integers(-50, 50).map(float),
    "few": st.sampled_from([0.0, -0.0, 1.0]),
    "specials": st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5]),
}


@st.composite
def parts(draw):
    """Draw the sorted parts of some engines."""
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    lists = st.lists(st.lists(values, max_size=60), min_size=1, max_size=5)
    return [np.sort(np.array(part, float), kind="stable") for part in draw(lists)]


def sample(part, low, high, n):
    """Take the samples of one gap, as an engine does."""
    if not part.size:
        return np.zeros(n)
    return part[np.maximum(low + sorting._places(np.array(high - low), n) - 1, 0)]


def share(runs, wanted):
    """Return how many elements of each run are among the ``wanted`` smallest of all."""
    owner = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    order = np.argsort(np.concatenate(runs), kind="stable")
    return np.bincount(owner[order[:wanted]], minlength=len(runs))


@given(parts(), st.integers(8, 20), st.data())
def test_borders_are_exact_after_the_rounds(runs, n, data):
    """Gaps always enclose the answer, and the number of rounds follows from the length alone."""
    total = sum(map(len, runs))
    wanted = data.draw(st.integers(0, total))
    right = share(runs, wanted)
    low = np.zeros(len(runs), np.int64)
    high = np.array([len(run) for run in runs])
    for _ in range(sorting.rounds(total, n)):
        widths = high - low
        samples = np.array([sample(*each, n) for each in zip(runs, low, high, strict=True)])
        least, most = sorting.narrow(samples, widths, int(wanted - low.sum()))
        low, high = low + least, low + most
        assert (low <= right).all()
        assert (right <= high).all()
        if widths.sum() > n:
            assert (high - low).sum() <= 4 * widths.sum() // n + 3
    np.testing.assert_array_equal(low, right)
    np.testing.assert_array_equal(high, right)


@pytest.mark.parametrize("members", [2, 3, 8, 32, 100, 1000])
def test_rounds_of_any_length_have_tags(members):
    n = sorting.samples_for(members)
    assert sorting.rounds(n, n) == 1
    assert sorting.rounds(n + 1, n) == 2
    assert sorting.rounds(1 << 55, n) < TAGS_PER_COMMAND


@given(st.data())
def test_equal_elements_stay_in_order(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    shape = data.draw(
        st.sampled_from([(200,), (3, 65), (70, 2), (2, 3, 80), (5,), (0, 70), (1, 0), ()])
    )
    x = rng.integers(0, data.draw(st.sampled_from([1, 4, 100, 1 << 20])), shape)
    code = data.draw(st.sampled_from("bHiqQefdD"))
    if code in "efdD":
        special = rng.choice([np.nan, -0.0, 0, np.inf], shape)
        x = np.where(rng.random(shape) < 0.1, special, x)
    with np.errstate(over="ignore"):
        x = np.asarray(x).astype(code)
    for axis in [-1, *range(x.ndim)]:
        np.testing.assert_array_equal(
            stable_order(x, axis), np.argsort(x, axis, kind="stable"), strict=True
        )


@pytest.mark.parametrize("shape", [(3, 4), (1, 0), (0, 0), (0, 5), (2, 0), (1, 5)])
def test_elements_in_an_order(shape):
    rows = np.arange(np.prod(shape)).reshape(shape) * 3
    for order in (np.argsort(-rows, -1), np.argsort(-rows, -1)[:, :2]):
        np.testing.assert_array_equal(taken(rows, order), np.take_along_axis(rows, order, -1))
