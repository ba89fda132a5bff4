"""Sparse arrays of which each engine has all: SciPy's results, copies that do not count, no messages."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

import distnb as dnb
from distnb import sparse
from distnb.common.errors import LayoutError
from tests.contract.support import between_engines
from tests.contract.test_sparse import (
    ASSIGNMENTS,
    CASES,
    KINDS,
    check,
    matrix,
    names_of,
    pairs,
    same,
    vector,
)
from tests.tiers import examples

pytestmark = pytest.mark.ways("one")


def is_copied(x):
    """Tell whether each engine has all of a sparse array."""
    return x.layout.copies == x.session.size and set(x.layout.nnz) == {x.nnz}


def sent(session, run):
    """Return how many bytes engines send while something runs."""
    session.flush()
    window = session.start_window()
    run()
    report = session.end_window(window)
    return between_engines(report)


@pytest.mark.cases(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize(("shape", "dtype"), KINDS, ids=str)
@pytest.mark.parametrize("which", ["A", "B", "AB"])
def test_expressions(session, shape, dtype, fmt, which):
    theirs, ours = names_of(shape, dtype, fmt)
    ours |= {name: ours[name].redistribute("replicated") for name in (*which, "Q")}
    for expression in CASES:
        check(expression, theirs, ours)


@pytest.mark.ways("four", "spmd", "openmpi")
@examples(20)
@given(pairs())
def test_any_arrays(session, drawn):
    a, b, inner = drawn
    m = a.shape[0]
    cuts = ("irregular", (0, *sorted(inner)[: session.size - 1], m))
    A = sparse.csr_array(
        (dnb.array(a.data), tuple(dnb.array(c) for c in a.coords)), shape=a.shape, dist="replicated"
    )
    B, C = sparse.csc_array(b, dist="replicated"), sparse.csr_array(b, dist="nnz")
    a, b = a.tocsr(), b.tocsc()
    x = vector(a.shape[1:], a.dtype)
    X = dnb.array(x, dist="replicated")
    for got, want in (
        *((A, a), (A.tocsc(), a.tocsc()), (A.redistribute(cuts), a), (A.T.tocsr(), a.T.tocsr())),
        *(
            (A @ B, a @ b),
            (A @ C, a @ b),
            (A.redistribute(cuts) @ B, a @ b),
            (C.T @ A.T, b.tocsr().T @ a.T),
        ),
        *((A @ X, a @ x), (A @ dnb.array(x), a @ x), (X @ A.T, x @ a.T), (B.T @ X, b.T @ x)),
        *((A + A.redistribute(cuts), a + a), (A.redistribute(cuts) + A, a + a), (A - A, a - a)),
        *((A.sum(axis=0), a.sum(axis=0)), (A.sum(), a.sum()), (A.toarray(), a.toarray())),
        *((A[::-1], a[::-1]), (A[:, ::2], a[:, ::2]), (A.data, a.data)),
        (A.indptr.astype(int), a.indptr.astype(int)),
    ):
        same(got, want)


@pytest.mark.ways("spmd", "started")
def test_it_stays_so_and_nothing_is_sent(session):
    n = 6 * session.size
    a = matrix((n, n), density=0.3)
    A = sparse.csr_array(a, dist="replicated")
    x, rows = dnb.array(vector((n,)), dist="replicated"), sparse.csr_array(a)
    assert is_copied(A)
    assert A.nnz == a.nnz == A.layout.total
    found = {}

    def run():
        found.update(plus=A + A, twice=2 * A, turned=A.T, other=A.tocsc(), product=A @ A)
        found.update(copy=A.copy(), kind=A.astype("f4"), greater=A > 1)
        found.update(vector=A @ x, across=A.T @ x, total=A.sum(axis=0), dense=A.toarray())
        found.update(most=A.max(axis=0), cut=A.redistribute())
        session.flush()

    assert sent(session, run) == 0
    for name in ("plus", "twice", "turned", "other", "product", "copy", "kind", "greater"):
        assert is_copied(found[name]), name
    for name in ("vector", "across", "total", "dense"):
        assert found[name].dbase.layout.copies == session.size, name
    assert sum(found["cut"].layout.nnz) == a.nnz
    assert found["cut"].layout == rows.layout
    same(found["across"], a.T @ x.to_numpy())
    rows @ A  # what SciPy loads is there
    assert sent(session, lambda: rows @ A) == 0
    for got in (A + rows, rows + A, A @ rows, rows @ A, A @ dnb.ones(n, dist="block")):
        parts = got.layout.copies if sparse.issparse(got) else got.dbase.layout.copies
        assert parts == 1  # what is cut leads


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_assignment_leaves_it_where_it_is(session, fmt):
    a = matrix((6, 5), fmt=fmt)
    for step in (s.strip() for s in ASSIGNMENTS.replace("\n", ";").split(";") if s.strip()):
        A, b = getattr(sparse, f"{fmt}_array")(a, dist="replicated"), a.copy()
        exec(step, {"x": A, "np": np})
        exec(step, {"x": b, "np": np})
        np.testing.assert_array_equal(A.toarray().to_numpy(), b.toarray(), step)
        assert is_copied(A), step
    A = sparse.csr_array(a, dist="replicated")
    A[0, 1], A[2] = 5, 0
    b = a.toarray()
    b[0, 1], b[2] = 5, 0
    np.testing.assert_array_equal(A.toarray().to_numpy(), b)
    A.eliminate_zeros()
    assert is_copied(A)
    assert A.nnz == np.count_nonzero(b)


def test_duplicates_and_written_elements(session):
    places = ([0, 0, 2, 2, 2], [1, 1, 0, 2, 0])
    a = sp.csr_array((np.arange(1.0, 6), places[1], [0, 2, 2, 5]), shape=(3, 3))
    A = sparse.csr_array(a, dist="replicated")
    assert A.nnz == 5
    A.data[...] *= 2
    np.testing.assert_array_equal((A @ dnb.ones(3)).to_numpy(), 2 * (a @ np.ones(3)))
    A.sum_duplicates()
    assert A.nnz == 3
    assert is_copied(A)
    np.testing.assert_array_equal(A.toarray().to_numpy(), 2 * a.toarray())


def test_other_functions_take_them(session, tmp_path):
    a = matrix((9, 9), density=0.5)
    A = sparse.csr_array(a, dist="replicated")
    np.testing.assert_array_equal(
        dnb.foreach(lambda part: part.sum(axis=1), A.splits(4)).to_numpy(), a.sum(axis=1)
    )
    whole = dnb.foreach(lambda one, M: M @ one, dnb.eye(9).splits(axis=1), A)
    np.testing.assert_array_equal(whole.to_numpy(), a.toarray())
    same(sparse.hstack([A, sparse.csr_array(a)]), sp.hstack([a, a]))
    same(sparse.kron(A, A, format="csr"), sp.kron(a, a, format="csr"))
    sparse.save_npz(tmp_path / "A.npz", A)
    same(sparse.load_npz(tmp_path / "A.npz"), a)
    x = dnb.array(vector((9,)), dist="replicated")
    by_rows = sparse.matmul(sparse.csr_array(a), x, "min_plus").to_numpy()
    np.testing.assert_array_equal(sparse.matmul(A, x, "min_plus").to_numpy(), by_rows)
    out = A.copy()
    sparse.matmul(A, A, "plus_times", out=out)
    assert is_copied(out)
    np.testing.assert_allclose(out.toarray().to_numpy(), (a @ a).toarray())


def test_what_is_cut_in_place_refuses_them(session):
    if session.size == 1:
        pytest.skip("all engines have all of any array")
    A = sparse.csr_array(matrix((9, 9)), dist="replicated")
    for run in (
        lambda: dnb.repartition(A),
        lambda: dnb.together(A, dnb.ones(9)),
        lambda: dnb.together(dnb.ones(9), A),
    ):
        with pytest.raises(LayoutError, match=r"replicated on .*redistribute it"):
            run()
    with pytest.raises(NotImplementedError, match="'replicated'"):
        A.redistribute("elsewhere")
    same(A.redistribute("nnz"), A.to_scipy())


def test_copies_are_not_told_of_as_elements(session):
    A = sparse.csr_array([[1, 2], [3, 0]], dist="replicated")
    p = session.size
    assert repr(A).count("3 stored elements") == 1
    assert (f"replicated on {p} engines" in repr(A)) == (p > 1)
    assert A.layout.parts == ((0, 2),) * p
    assert A.layout.total == 3
    assert A.layout.imbalance == 1.0
    pytest.importorskip("matplotlib")
    assert f"3 stored elements on {p} engines" in A.layout.plot().get_title(loc="left")
