"""What SciPy's sparse arrays do at the edges: in place, of matrices, of wide ones, of bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from tests.contract.test_sparse import matrix, same

FORMATS = ["csr", "csc", "coo"]


def both(a, fmt="csr"):
    """Return SciPy's array and the same distributed."""
    a = getattr(sp, f"{fmt}_array")(a)
    return a, getattr(sparse, f"{fmt}_array")(a)


def test_elements_of_very_wide_arrays_are_put_where_they_belong(session):
    A = sparse.csr_array((20, 2**60))
    A[[0, 16, 0], [5, 5, 5]] = [1.0, 2.0, 3.0]
    assert A.nnz == 2
    assert (A[0, 5], A[16, 5]) == (3.0, 2.0)
    A[[], []] = []
    assert A.nnz == 2


def test_scipys_matrices_have_the_product_for_a_star(session):
    a, A = both(matrix((5, 5)))
    same(sp.csr_matrix(a) * A, sp.csr_array(sp.csr_matrix(a) @ a))
    same(A * sp.csr_matrix(a), a * sp.csr_matrix(a))
    same(a * A, a * a)
    with np.errstate(all="ignore"):
        got, want = a / A, a / a
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    with pytest.raises(TypeError):
        2 / A


@pytest.mark.parametrize("fmt", FORMATS)
def test_numbers_multiply_and_divide_in_place(session, fmt):
    a, A = both(matrix((6, 4)), fmt)
    other = A
    for step in ("A *= 3", "A /= 4", "A *= np.float32(2)"):
        exec(step, {"A": a, "np": np})
        exec(step, {"A": A, "np": np})
        same(other, a)
    A *= A
    a *= a
    assert other is not A
    np.testing.assert_array_equal(A.to_scipy().toarray(), a.toarray())
    for dtype, step in (("i1", "A *= 2.5"), ("i8", "A /= 2"), ("?", "A *= 2")):
        a, A = both(matrix((6, 4), dtype), fmt)
        with pytest.raises(TypeError):
            exec(step, {"A": a})
        with pytest.raises(TypeError):
            exec(step, {"A": A})
        same(A, a)


@pytest.mark.parametrize("fmt", FORMATS)
def test_sums_are_in_the_dtype_that_is_asked_for(session, fmt):
    a, A = both(np.diag([2**62, 2**62, 2**62]), fmt)
    assert float(A.sum(dtype=float)) == float(a.sum(dtype=float)) == 3 * 2.0**62
    a, A = both(np.array([[0.5, 0.5], [0.75, 0]]), fmt)
    for dtype in (None, int, bool, "f4", "c16"):
        same(A.sum(dtype=dtype), a.sum(dtype=dtype))


def test_triplets_are_transposed_as_asked(session):
    a, A = both(matrix((3, 5)), "coo")
    for axes in (None, (0, 1), (1, 0), [-1, 0]):
        same(A.transpose(axes), a.transpose(axes))
    for axes in ((0,), (1, 1), 3):
        with pytest.raises(ValueError, match="axes don't match|repeated axis"):
            a.transpose(axes)
        with pytest.raises(ValueError, match="axes don't match|repeated axis"):
            A.transpose(axes)


@pytest.mark.parametrize(("dtype", "n"), [("i8", -1), ("?", -1), ("i4", -2)])
def test_negative_powers_of_whole_numbers_are_refused_at_once(session, dtype, n):
    a, A = both(matrix((4, 4), dtype))
    with pytest.raises(ValueError, match="negative integer powers"):
        a.power(n)
    with pytest.raises(ValueError, match="negative integer powers"):
        A.power(n)


@pytest.mark.parametrize("fmt", FORMATS)
def test_triplets_outside_are_refused_at_once(session, fmt):
    kind = getattr(sparse, f"{fmt}_array")
    for rows, columns in (([0, 3], [0, 1]), ([0, 1], [0, 3]), ([0, -1], [0, 1]), ([0, 1], [-1, 1])):
        with pytest.raises((ValueError, IndexError)):
            kind((dnb.ones(2), (dnb.array(rows), dnb.array(columns))), shape=(3, 3))
    with pytest.raises((ValueError, IndexError)):
        kind((dnb.ones(2), (dnb.array([0, -1]), dnb.array([0, 1]))))
