"""Functions by the processor's vectors: at most 4 ulp off, special values to the bit."""

import numpy as np
import pytest

import distnb as dnb
from distnb.ops import table
from distnb.ops.fast import FAST, fast_name

COMPILED = FAST["exp"][1] is not np.exp
#: Where a function is defined: from and to.
RANGES = {"arcsin": (-1, 1), "arccos": (-1, 1), "log1p": (-0.99, 1e6)} | dict.fromkeys(
    ("log", "log2", "log10"), (1e-30, 1e6)
)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1.0, -1.0, 700.0, -800.0]


def ulps(found, expected, exact):
    """Return how far numbers are off; those that are not finite are to be the same."""
    odd = ~np.isfinite(expected)
    np.testing.assert_array_equal(found[odd], expected[odd])
    return np.abs(found[~odd] - exact[~odd]) / np.spacing(np.abs(expected[~odd]))


@pytest.mark.skipif(not COMPILED, reason="NumPy's own are all there is")
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("name", FAST)
def test_they_are_at_most_four_ulp_off_wherever_numbers_are(name, kind):
    low, high = RANGES.get(name, (-30, 30))
    x = np.linspace(low, high, 20_001).astype(kind)
    x = x[(x >= low) & (x <= high)]
    found, exact = FAST[name][1](x), getattr(np, name)(x.astype(np.longdouble))
    assert found.dtype == kind
    assert ulps(found, exact.astype(kind), exact).max() <= 4
    for some in (x[::3], x[::-1], x[5:], x[:7], np.asfortranarray(x[:60].reshape(6, 10)).T):
        where = np.searchsorted(x, some)  # in another place, the same digits
        np.testing.assert_array_equal(FAST[name][1](some), found[where])


@pytest.mark.parametrize("name", FAST)
def test_special_values_are_numpys_and_nothing_warns(name):
    x = np.array(SPECIAL * 3)
    with np.errstate(all="ignore"):
        expected, exact = [getattr(np, name)(x.astype(kind)) for kind in ("f8", np.longdouble)]
    with np.errstate(all="raise" if COMPILED else "ignore"):
        found = FAST[name][1](x)
    assert ulps(found, expected, exact).max() <= 4
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))
    np.testing.assert_array_equal(found[:10], found[10:20])


def test_the_smallest_numbers_stay_what_they_are():
    FAST["exp"][1](np.ones(100))
    assert np.array([1e-310])[0] * 1.0 == 1e-310
    assert (np.full(99, 5e-324) * 1.0 == 5e-324).all()


def test_rows_of_the_table_are_chosen_by_setting_and_dtype(monkeypatch):
    x = np.ones(3)
    assert fast_name("exp", (x,)) == "exp"
    monkeypatch.setattr(dnb.config, "math", "fast")
    assert fast_name("exp", (x,)) == "fast_exp"
    assert fast_name("exp", (x.astype("f4"),)) == "fast_exp"
    for other in (x.astype("f2"), x.astype(int), x.astype(complex), np.array(1.0), 2.5):
        assert fast_name("exp", (other,)) == "exp"
    assert fast_name("add", (x, x)) == "add"
    assert table.ELEMENTWISE["fast_exp"].run is FAST["exp"][1]
    with pytest.raises(ValueError, match="setting math"):
        dnb.config.math = "quick"
