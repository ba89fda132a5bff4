"""Sets agree with NumPy, whatever the layout and the elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.client.select import searching
from tests.contract.support import DTYPES, agree, check, pair, same, thin
from tests.tiers import examples

pytestmark = pytest.mark.ways("one")

FLAGS = [
    (False,) * 3,
    (True, False, False),
    (False, True, False),
    (False, False, True),
    (True,) * 3,
]


def few(shape, dtype, values=7):
    """Return few distinct elements in disorder, NaN among them if there are any."""
    x = (np.arange(int(np.prod(shape))) * 31 % 17 % values).astype(dtype).reshape(shape)
    if x.dtype.kind == "f":
        x[x == 2] = np.nan
    return x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique_of_every_dtype(session, dtype):
    x = few((40,), dtype)
    for dist in (None, "cyclic"):
        a = dnb.array(x, dist=dist)
        for flags in FLAGS if dist is None else FLAGS[-1:]:
            check(np.unique(a, *flags), np.unique(x, *flags))
    check(np.unique(a, True, equal_nan=False), np.unique(x, True, equal_nan=False))


@given(st.data())
@examples(5)
def test_unique_of_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=6))
    x, a, _, _ = pair(data.draw, shape, session.size, "f8", elements=few)
    check(dnb.unique(a), np.unique(x))
    check(dnb.unique(a, True, True, True), np.unique(x, True, True, True))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 500])
def test_hard_data(session, n):
    for x in (np.zeros(n), np.arange(n), np.full(n, np.nan), np.arange(n)[::-1] // 2):
        a = dnb.array(x)
        check(dnb.unique(a, True, True, True), np.unique(x, True, True, True))


def test_unique_slices(session):
    x = few((12, 3), np.int64, 2)
    a = dnb.array(x)
    for axis in (0, 1, -1):
        for flags in thin(FLAGS[::4], 1):
            check(np.unique(a, *flags, axis=axis), np.unique(x, *flags, axis=axis))
    y = few((6, 2, 2), np.float32, 2)
    check(np.unique(dnb.array(y), True, axis=0), np.unique(y, True, axis=0))
    agree(lambda: np.unique(x, axis=2), lambda: np.unique(a, axis=2))


def test_names_of_the_standard(session):
    x = few((6, 5), np.float64)
    a = dnb.array(x)
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        if name == "unique_inverse":  # which NaN is which is not specified
            x = np.nan_to_num(x)
            a = dnb.array(x)
        ours, theirs = getattr(np, name)(a), getattr(np, name)(x)
        assert ours._fields == theirs._fields
        check(tuple(ours), tuple(np.asarray(f) for f in theirs))
    same(np.unique_values(a), np.sort(np.unique_values(x)))


@pytest.mark.parametrize("dtypes", [("i8", "i8"), ("f8", "i4"), ("?", "u2")], ids=str)
@pytest.mark.parametrize("small", [0, 1 << 16], ids=["split", "everywhere"])
def test_two_sets(session, monkeypatch, dtypes, small):
    monkeypatch.setattr(searching, "SMALL", small)
    x, y = few((9, 4), dtypes[0], 9), few((25,), dtypes[1], 5) + np.ones((), dtypes[1])
    for first, second in ((x, y), (y, x[:0])):
        a, b = dnb.array(first), dnb.array(second, dist="cyclic")
        for f in (np.isin, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d):
            agree(lambda f=f, p=first, q=second: f(p, q), lambda f=f, p=a, q=b: f(p, q))
        agree(
            lambda p=first, q=second: np.isin(p, q, invert=True),
            lambda p=a, q=b: np.isin(p, q, invert=True),
        )
        agree(
            lambda p=first, q=second: np.intersect1d(p, q, return_indices=True),
            lambda p=a, q=b: np.intersect1d(p, q, return_indices=True),
        )
        distinct = np.unique(first)[::-1]
        agree(
            lambda p=distinct, q=second: np.setdiff1d(p, q, assume_unique=True),
            lambda p=distinct, q=b: np.setdiff1d(dnb.array(p), q, assume_unique=True),
        )
    agree(lambda: np.isin(x, [1, 2]), lambda: np.isin(dnb.array(x), [1, 2]))
    agree(lambda: np.isin(x, 1, kind="best"), lambda: np.isin(dnb.array(x), 1, kind="best"))
