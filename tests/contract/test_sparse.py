"""Sparse arrays agree with SciPy's, whatever the layout, the dtype and the structure."""

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse

pytestmark = pytest.mark.ways("one", "four")

SHAPES = [(7, 5), (2, 9), (30, 30), (1, 1), (0, 3), (3, 0)]
LAYOUTS = ["block", "cyclic", "replicated", ("engine", 0)]


def matrix(shape, dtype="f8", density=0.4, fmt="csr", seed=1):
    """Return a random sparse array with a few explicit zeros."""
    rng = np.random.default_rng(seed)
    found = sp.random_array(shape, density=density, rng=rng, format="csr")
    found.data = np.round(found.data * 6 - 2)
    return found.astype(dtype).asformat(fmt)


def vector(shape, dtype="f8"):
    """Return a dense array with whole numbers."""
    return (np.arange(np.prod(shape)) * 7 % 11 - 3).reshape(shape).astype(dtype)


def same(got, want):
    """Check that a dense or sparse result is SciPy's: class, dtype, shape, structure, elements."""
    if sp.issparse(want):
        assert type(got).__name__ == type(want).__name__
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        there = got.to_scipy()
        assert there.dtype == want.dtype
        assert there.nnz == want.nnz == got.nnz
        if want.format != "coo":
            assert there.indices.dtype == want.indices.dtype
        np.testing.assert_array_equal(there.toarray(), want.toarray())
        return
    if isinstance(got, dnb.DistArray):
        got = got.to_numpy()
    assert got.dtype == want.dtype
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_with_vectors_and_columns(session, shape, fmt):
    a = matrix(shape, fmt=fmt)
    m, n = shape
    for dist in (None, "nnz"):
        A = getattr(sparse, f"{fmt}_array")(a, dist=dist)
        same(A, a)
        for inner in ((), (3,)):
            x, y = vector((n, *inner)), vector((m, *inner))
            same(A @ x, a @ x)
            same(y.T @ A, y.T @ a)
            for lies in LAYOUTS if dist is None else LAYOUTS[:1]:
                X, Y = dnb.array(x, dist=lies), dnb.array(y, dist=lies)
                same(A @ X, a @ x)
                same(Y.T @ A, y.T @ a)
                same(A.T @ Y, a.T @ y)
