"""What NumPy warns of by Python's means is told at the user's line, once for each line."""

import io
import warnings

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import same, setting

pytestmark = pytest.mark.usefixtures("session")


def lines(xp):
    """Lines of which each warns once, at home in the notebook."""
    a = xp.full((2, 2), np.nan)
    xp.nanmean(a, axis=0)
    xp.nanmean(a, axis=1)
    xp.nanmax(a[0])
    xp.array([1 + 2j]).astype(float)
    xp.array([1 + 2j]).astype("f4")
    xp.polyfit(xp.ones(5), xp.arange(5.0), 2)
    xp.loadtxt(io.StringIO(""))
    xp.genfromtxt(io.StringIO(""))
    a[0, 0] = np.ma.masked


def told_of(xp):
    """Return file, line and class of what is warned of, as Python shows it: once a place."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        lines(xp)
    return [(w.filename, w.lineno, w.category) for w in found]


def test_each_line_is_told_of(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 1 << 20)
    monkeypatch.setattr(dnb.config, "place", "auto")
    expected = told_of(np)
    assert len(expected) == 9
    assert told_of(dnb) == expected


def test_filters_by_module_are_obeyed(monkeypatch):
    monkeypatch.setattr(dnb.config, "cutoff", 1 << 20)
    monkeypatch.setattr(dnb.config, "place", "auto")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning, module=__name__)
        with pytest.raises(RuntimeWarning, match="All-NaN"):
            dnb.nanmax(dnb.full(3, np.nan))


@pytest.mark.parametrize("dtype", ["O", "g"])
def test_what_a_refused_line_would_warn_of_is_not_told_of_the_next(dtype):
    x = dnb.ones(3)
    with setting(place="auto", cutoff=1 << 20), np.errstate(all="raise"):
        with pytest.raises(TypeError, match="dtype"):
            dnb.linspace(-1.7e308, 1.7e308, 3, dtype=dtype)
        assert (x + 1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("step", [-2, -1])
def test_ranges_that_fall_do_not_warn(step):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(dnb.arange(5, 0, step, dtype="u1"), np.arange(5, 0, step, dtype="u1"))
