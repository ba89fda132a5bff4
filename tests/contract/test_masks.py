"""Masks: what they leave, what is assigned to it, and reductions of it that make no array of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.engines.fusion import compressed
from tests.contract.support import numbered
from tests.contract.test_tails import forget
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "unfused", "compiled")

CHAINS = {
    "sum": lambda x: x.sum(),
    "square": lambda x: (x**2).mean(),
    "max": lambda x: x.max(),
    "any": lambda x: (x > 0.5).any(),
    "distance": lambda x: abs(x - 0.25).sum(),
    "cast": lambda x: (x + 1).astype("f4").sum(),
}
SHAPES = [(1,), (7,), (61,), (6, 5), (40, 9), (3, 1, 4), (1, 23)]


@pytest.fixture(params=[True, False], ids=["small chunks", "as they are"], autouse=True)
def sizes(request, session, monkeypatch):
    """Chunks of a few elements (in engines of this process), so that tiles begin within them."""
    if request.param:
        monkeypatch.setattr(compressed, "_CHUNK", 5)
    forget(session)


def masked(shape, share, seed):
    """Return numbers and a mask."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape), rng.random(shape) < share


@given(
    shape=st.sampled_from(SHAPES),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 9),
    name=st.sampled_from(sorted(CHAINS)),
)
@examples(60)
def test_a_chain_has_the_digits_of_what_is_stored(session, shape, share, seed, name):
    x, mask = masked(shape, share, seed)
    a, m = dnb.array(x), dnb.array(mask)
    kept = a[m]
    assert np.array_equal(kept.to_numpy(), x[mask])
    assert kept.dtype == x.dtype
    if not mask.any():
        return
    stored = np.asarray(CHAINS[name](kept))
    del kept
    assert np.asarray(CHAINS[name](a[m])).tobytes() == stored.tobytes()
    np.testing.assert_allclose(stored, CHAINS[name](x[mask]), rtol=1e-6)


@given(
    shape=st.sampled_from(SHAPES), share=st.sampled_from([0.1, 0.6, 1.0]), seed=st.integers(0, 9)
)
@examples(40)
def test_masks_of_some_axes(session, shape, share, seed):
    x, mask = masked(shape, share, seed)
    for d in range(1, len(shape) + 1):
        rows = mask[(..., *(0,) * (len(shape) - d))]
        a, m = dnb.array(x), dnb.array(rows)
        assert np.array_equal(a[m].to_numpy(), x[rows])
        value = numbered(x[rows].shape, np.dtype("f8"))
        a[m], y = dnb.array(value), x.copy()
        y[rows] = value
        assert np.array_equal(a.to_numpy(), y)
        a[m] = a[m] * 2
        y[rows] *= 2
        assert np.array_equal(a.to_numpy(), y)


def test_steps_between_use_other_arrays_and_views(session):
    x, mask = masked((50,), 0.5, 1)
    a, m, n = dnb.array(x), dnb.array(mask), int(mask.sum())
    b, y = dnb.arange(50.0), np.arange(50.0)
    assert np.array_equal((a[m] + b[:n]).to_numpy(), x[mask] + y[:n])
    b[1 : n + 1] = a[m] + b[:n]
    y[1 : n + 1] = x[mask] + y[:n]
    assert np.array_equal(b.to_numpy(), y)
    b[: 2 * (n // 2) : 2] = a[m][: n // 2]
    y[: 2 * (n // 2) : 2] = x[mask][: n // 2]
    assert np.array_equal(b.to_numpy(), y)
    a[:n] = a[m]  # written over while it is read
    x[:n] = x[mask]
    assert np.array_equal(a.to_numpy(), x)


def test_what_is_named_and_assigned_may_be_the_mask_itself(session):
    x = np.arange(30) % 3 > 0
    a = dnb.array(x)
    a[a] = dnb.array(np.arange(20) % 2 > 0)
    x[x] = np.arange(20) % 2 > 0
    assert np.array_equal(a.to_numpy(), x)


@pytest.mark.parametrize("dist", ["cyclic", "replicated", ("engine", 0)])
def test_other_layouts(session, dist):
    x, mask = masked((40, 9), 0.4, 2)
    a, m = dnb.array(x, dist=dist), dnb.array(mask)
    assert np.array_equal(a[m].to_numpy(), x[mask])
    assert np.array_equal(a[dnb.array(mask, dist=dist)].to_numpy(), x[mask])
    assert np.array_equal(a.T[m.T].to_numpy(), x.T[mask.T])
    assert np.array_equal(a[::2][m[::2]].to_numpy(), x[::2][mask[::2]])


def test_values_that_do_not_fit(session):
    a, m = dnb.arange(20.0), dnb.arange(20) % 2 == 0
    with pytest.raises(ValueError, match="cannot assign 3 input values to the 10 output values"):
        a[m] = dnb.arange(3.0)
    with pytest.raises(TypeError, match="requires a 0 or 1-dimensional input"):
        a[m] = dnb.ones((2, 5))
    assert np.array_equal(a.to_numpy(), np.arange(20.0))


@pytest.mark.parametrize("dist", ["block", "cyclic", ("cyclic", 3), "replicated", ("engine", 0)])
@pytest.mark.parametrize("n", [7, 1000, 70_000])
def test_masks_that_leave_all_beside_what_is_brought(session, dist, n):
    """What is recorded after them has their shape, and elements of it come from other engines."""
    a = np.random.default_rng(0).permutation(n) * 1.0
    x, y = dnb.array(a, dist="block"), dnb.array(a[::-1].copy(), dist=dist)
    for after in (
        lambda u, a, b: (b + a, u),
        lambda u, a, b: (u * 2 + b, u + a, b - u),
        lambda u, a, b: ((u + b * 2).sum(), u),
        lambda u, a, b: (b.cumsum(), u),
        lambda u, a, b: (u[1:] + u[:-1], a[::-1] + b, u),
    ):
        found, expected = after(x[x > -1], x, y), after(a[a > -1], a, a[::-1])
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
    np.testing.assert_array_equal(dnb.setxor1d(x, y + 3), np.setxor1d(a, a + 3))
