"""Products of matrices and vectors agree with NumPy in every layout."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import distnb as dnb

pytestmark = pytest.mark.ways("one", "four")

DISTS = [None, ("*", "block"), ("cyclic", "*"), "replicated", ("engine", 0)]


def sample(shape: tuple[int, ...], dtype: object = float) -> np.ndarray:
    rng = np.random.default_rng(sum(shape) + 1)
    found = rng.integers(-9, 9, shape)
    return (found * (1 + 2j) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def same(found: dnb.DistArray | np.generic, expected: np.ndarray) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(np.asarray(found), expected)  # exact: the samples are integers


@pytest.mark.parametrize(("left", "right"), list(itertools.product(DISTS, DISTS)))
@pytest.mark.parametrize(("n", "k", "m"), [(5, 4, 7), (1, 9, 2), (8, 1, 3), (2, 30, 2), (3, 0, 2)])
def test_matrices_in_any_layout(session, left, right, n, k, m):
    a, b = sample((n, k)), sample((k, m))
    same(dnb.array(a, dist=left) @ dnb.array(b, dist=right), a @ b)


@pytest.mark.parametrize("dtype", [bool, "i1", "u8", "f4", "f8", "c8", "c16"])
def test_all_dtypes(session, dtype):
    a, b = sample((4, 6), dtype), sample((6, 3), dtype)
    same(dnb.array(a) @ dnb.array(b), a @ b)
    same(dnb.array(a).T @ dnb.array(a), a.T @ a)


def test_vectors_stacks_and_views(session):
    a, x = sample((6, 6)), sample((6,))
    d, v = dnb.array(a), dnb.array(x)
    same(d @ v, a @ x)
    same(v @ d, x @ a)
    same(v @ v, np.asarray(x @ x))
    same(d[::-1, 1:] @ v[1:], a[::-1, 1:] @ x[1:])
    s, t = sample((3, 2, 4)), sample((4, 5))
    same(dnb.array(s) @ dnb.array(t), s @ t)
    same(t.T @ dnb.array(s).mT, t.T @ s.swapaxes(-1, -2))


def test_functions_of_numpy(session):
    a, x = sample((4, 5), "c16"), sample((5,), "c16")
    d, v = dnb.array(a), dnb.array(x)
    same(np.matmul(d, v), np.matmul(a, x))
    same(np.dot(d, v), np.dot(a, x))
    same(np.vecdot(v, d), np.vecdot(x, a))
    same(np.matvec(d, v), np.matvec(a, x))
    same(np.vecmat(v, d.T), np.vecmat(x, a.T))
    out = dnb.empty(4, complex)
    assert np.matmul(d, v, out=out) is out
    same(out, a @ x)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((3,), (4,)), ((2, 3), ()), ((2, 3, 4), (3, 4, 5))]
)
def test_shapes_that_do_not_fit(session, shapes):
    a, b = (dnb.ones(s) for s in shapes)
    with pytest.raises(ValueError, match=r"got .* expected"):
        a @ b


def test_a_matrix_split_by_rows_sends_nothing_for_a_replicated_vector(session):
    a = dnb.ones((12, 12))
    x = dnb.ones(12, dist="replicated")
    session.flush()
    window = session.start_window()
    y = a @ x
    report = session.end_window(window)
    assert all(r.messages == 0 for op in report.ops for r in op.ranks if op.op != "fetch")
    same(y, np.full(12, 12.0))


@pytest.mark.ways("cutoff", "reach")
@pytest.mark.parametrize("key", [slice(None), slice(None, None, -1), slice(3, None, 7)])
def test_vectors_with_strides_are_added_up_in_the_order_of_numpys_dot(session, key):
    """To the last bit: recursions of Durbin's kind make much of a digit."""
    rng = np.random.default_rng(3)
    x, y = rng.random(900), rng.random(900)
    a, b = dnb.asarray(x), dnb.asarray(y)
    if not (a.at_home and b.at_home):
        return  # engines add up their parts
    for f in (np.dot, dnb.dot):
        assert float(f(a[key], b[key][::-1])) == np.dot(x[key], y[key][::-1])
        assert float(f(np.flip(a[key]), b[key])) == np.dot(np.flip(x[key]), y[key])
