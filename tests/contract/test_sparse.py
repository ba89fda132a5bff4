"""Sparse arrays agree with SciPy's, whatever the layout, the dtype and the structure."""

import operator
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import sparse
from tests.tiers import examples

pytestmark = pytest.mark.ways("one")

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
        np.testing.assert_array_equal(there.toarray(), want.toarray())
        return
    if isinstance(got, dnb.DistArray):
        got = got.to_numpy()
    assert got.dtype == want.dtype
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(
        got, want, rtol=1e-5 if want.dtype.char in "fF" else 1e-13, atol=1e-15
    )


@pytest.mark.cases(6)
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


def test_engines_may_have_nothing_of_a_vector_and_need_nothing(session):
    a = np.zeros((8, 3))
    a[0] = 1
    x = dnb.array(vector((3,)), dist=("engine", 0))
    for fmt in ("csr", "csc"):
        same(getattr(sparse, f"{fmt}_array")(a) @ x, a @ vector((3,)))


#: What is done to a sparse array ``A``, another one ``B`` of its shape, a dense one ``D``, a row ``r``,
#: a column ``c``, positions ``i`` and ``j``, and a square one ``Q``.
EXPRESSIONS = """
A  A.T  A.T.T  A * 2  2 * A  A * 2.5  A / 2  A / 3  -A  +A  abs(A)  A ** 2  A.power(3)  A * 0
A + B  A - B  A * B  A.multiply(B)  A + D  D + A  A - D  D - A  A * D  D * A  A * r  r * A  A * c
A / (D + 20)  A / (r + 20)  A + 0  A - 0  0 - A  A + 1  1 - A  A == B  A != B  A < B  A > B  A <= B  A >= B
A == 0  A == 1  A != 0  A != 1  A < 1  A > 1  A <= 0  A >= 1  A == D  A > D  A.maximum(B)  A.minimum(B)
A.maximum(0)  A.minimum(1)  A @ B.T  A.T @ B  A @ B.tocsc().T  A.tocsc() @ B.T  A.tocoo() @ B.T  A @ D.T  D.T @ A
A @ B  A @ D  A @ 2  A @ r  c.T @ A  A.dot(2)  A.dot(B.T)  A.dot(r)  A.tocsr()  A.tocsc()  A.tocoo()
A.tocoo().tocsr()  A.tocoo().tocsc()  A.tocoo().T  A.tocoo() * 2  A.tocoo() + B  A.tocsc() + B  A.toarray()  A.todense()
A.tocoo().toarray()  A.tocoo().row  A.tocoo().col  A.asformat('csc')  A.asformat('?')  A.transpose()  A.transpose((0, 1))
np.sqrt(abs(A))  np.sin(A)  np.cos(A)  A.floor()  A.sign()  np.expm1(A)  np.abs(A)  np.negative(A)
np.add(A, B)  np.multiply(A, 2)  np.multiply(2, A)  A.sin()  A.trunc()  A.rint()
A.sum()  A.sum(axis=0)  A.sum(axis=1)  A.sum(axis=-1)  A.sum(axis=(0, 1))  A.sum(axis=2)  A.sum(axis=0, dtype='f4')
np.sum(A)  np.mean(A, axis=0)  np.max(A, 1)  A.mean()  A.mean(axis=0)  A.mean(axis=1)  A.max()  A.min()  A.max(axis=0)  A.max(axis=1)  A.min(axis=0)  A.min(axis=1)
A.max(axis=1, explicit=True)  A.argmax(axis=0)  A.argmax(axis=1)  A.argmin(axis=1)  A.count_nonzero()
A.count_nonzero(axis=0).astype(int)  A.count_nonzero(axis=1).astype(int)  A.nonzero()[0]  A.nonzero()[1]  A.diagonal()  A.diagonal(1)  A.diagonal(-2)
A.diagonal(99)  A.trace()  A.astype('f4')  A.astype('c16')  A.astype(bool)  A.astype('f2')  A.copy()  A.conj()  A.real  A.imag
A[0]  A[-1]  A[99]  A[0, 1]  A[-1, -1]  A[0, 99]  A[:, 0]  A[:, -2]  A[1:3]  A[1:]  A[:-1]  A[5:2]  A[::2]  A[::-1]  A[3:0:-1]
A[:, 1:3]  A[:, ::2]  A[:, ::-1]  A[1:3, 0:2]  A[::2, ::2]  A[i]  A[i, j]  A[:, j]  A[i, 1:3]  A[i][:, j]  A[np.ix_(i, j)]
A[..., 0]  A[0, ...]  A[...]  A[0, 0, 0]  A[1.5]  A[r > 99]  A[A.sum(axis=1) > 1]  A[:, A.sum(axis=0) > 1]  A[A > 1]
A[D > 1]  A[[0, 99]]  A[[-1, 0]]  A[[]]  A[[0, 1, 0], [1, 1, 0]]  A[[0, 1], [1, 1, 0]]
A[0, None]  A[None, -1]  A[None, :, 0]  A[:, 0, None]  A[:, None, 0]  A[None, 0, 1]  A[None, 0, None, 1]  A[None, 99]  A[None]  A[:, None]
A[0, None, 1:]  A[1:, 0, None]
A.indices  A.indptr  A.data  A.nnz  A.shape  A.dtype  A.ndim  A.size  A.format  len(A)  bool(A)  float(A)  A.layout_of
Q @ Q  Q.T @ Q  Q + Q.T  Q - Q.tocsc()  Q.trace()  Q.diagonal(2)  Q[1:4, 1:4]  Q @ Q @ Q
"""


def outcome(expression, names):
    """Return what an expression gives, or the type of what it raises."""
    try:
        return eval(expression, {"np": np, **names})
    except Exception as error:
        return type(error)


def names_of(shape, dtype, fmt, seed=1):
    """Return what expressions are made of: SciPy's, and the same distributed."""
    m, n = shape
    a, b = matrix(shape, dtype, fmt=fmt, seed=seed), matrix(shape, dtype, fmt=fmt, seed=seed + 1)
    q = matrix((9, 9), dtype, fmt=fmt, seed=seed + 2)
    some = {
        "D": vector(shape, dtype),
        "r": vector((n,), dtype),
        "c": vector((m, 1), dtype),
        "i": np.array([m - 1, 0, 0, -1][: 4 * (m > 0)], int),
        "j": np.array([0, n - 1, 0, 1 % max(n, 1)][: 4 * (n > 0)], int),
    }
    make = getattr(sparse, f"{fmt}_array")
    ours = {name: dnb.array(x) for name, x in some.items()}
    return {"A": a, "B": b, "Q": q} | some, {
        **{"A": make(a), "B": make(b, dist="nnz"), "Q": make(q)},
        **ours,
    }


def check(expression, theirs, ours):
    """Check that both give the same, or raise the same."""
    want, got = outcome(expression, theirs), outcome(expression, ours)
    if isinstance(want, type) or isinstance(got, type):
        assert got is want, (expression, got, want)
    elif isinstance(want, (str, int, tuple, np.dtype)):
        assert got == want, expression
    else:
        same(got, want)


CASES = [e.strip() for e in EXPRESSIONS.replace("\n", "  ").split("  ") if e.strip()]
KINDS = [
    *(((7, 5), "f8"), ((2, 9), "i4"), ((12, 12), "c16"), ((3, 0), "f8"), ((0, 3), "i8")),
    *(((1, 1), "f4"), ((5, 4), "?"), ((5, 4), "u1"), ((1, 6), "c8"), ((6, 1), "u8")),
]


@pytest.mark.cases(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize(("shape", "dtype"), KINDS, ids=str)
def test_expressions(session, shape, dtype, fmt):
    theirs, ours = names_of(shape, dtype, fmt)
    for expression in CASES:
        check(expression, theirs, ours)


DTYPES = "? b B h H i I l L f d F D".split()


@pytest.mark.cases(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_triplets_on_engines_are_summed_and_sent_in_one_pass(session, dtype):
    rng = np.random.default_rng(3)
    n = 40
    i, j, v = rng.integers(0, 7, n), rng.integers(0, 9, n), rng.integers(0, 5, n).astype(dtype)
    for fmt in ("csr", "csc"):
        want = sp.coo_array((v, (i, j)), shape=(7, 9)).asformat(fmt)
        make = getattr(sparse, f"{fmt}_array")
        for lies in ("block", "cyclic", ("engine", 0)):
            given = [dnb.array(x, dist=lies) for x in (v, i, j)]
            same(make((given[0], tuple(given[1:])), shape=(7, 9)), want)
        same(make((v, (i, j)), shape=(7, 9)), want)
        same(make((dnb.array(v), (i, j)), shape=(7, 9), dist="nnz"), want)
    coo = sparse.coo_array((dnb.array(v), (dnb.array(i), dnb.array(j))), shape=(7, 9))
    same(coo, sp.coo_array((v, (i, j)), shape=(7, 9)))
    same(coo.tocsc(), want)


@pytest.mark.cases(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_arrays_come_and_go(session, dtype):
    x = matrix((6, 8), dtype).toarray()
    for fmt in ("csr", "csc", "coo"):
        make = getattr(sparse, f"{fmt}_array")
        for lies in ("block", ("*", "block"), ("engine", 0)):
            found = make(dnb.array(x, dist=lies))
            same(found.toarray(), x)
            assert found.nnz == np.count_nonzero(x)
        same(make(x), getattr(sp, f"{fmt}_array")(x))
    same(sparse.csr_array(dnb.array(x), dtype="c16"), sp.csr_array(x, dtype="c16"))


def test_arrays_with_duplicates_unsorted_indices_and_zeros(session):
    data = np.array([1.0, 2, 3, 0, 5, -5, 7, 4])
    given = (data, np.array([3, 1, 3, 0, 2, 2, 1, 0], "i4"), np.array([0, 3, 3, 6, 8], "i4"))
    theirs = {"A": sp.csr_array(given, shape=(4, 5))}
    theirs["B"] = sp.csr_array(given, shape=(4, 5)) * 2
    ours = {name: sparse.csr_array(x) for name, x in theirs.items()}
    for expression in """A  A + B  A * B  A @ B.T  A.T  A.tocsc()  A.toarray()  A.sum(axis=0)  A[::-1]  A[:, [3, 1]]
        A.max(axis=0)  A.tocoo()  A == B  A.nonzero()[1]  A[2]  A.max()  abs(A)  A.sqrt()  A.count_nonzero()
        A.tocoo().tocsr()  A.data""".split("  "):
        check(expression.strip(), theirs, ours)
    for change in ("eliminate_zeros", "sort_indices", "sum_duplicates"):
        a, A = sp.csr_array(given, shape=(4, 5)), sparse.csr_array(given, shape=(4, 5))
        getattr(a, change)()
        getattr(A, change)()
        same(A, a)
        np.testing.assert_array_equal(A.indices.to_numpy(), a.indices)


def test_elements_are_shared_as_scipys(session):
    a = matrix((6, 4))
    A = sparse.csr_array(a)
    A.T.data[...] *= 2
    same(A, a * 2)
    B = A.copy()
    B.data[...] = 0
    same(A, a * 2)
    half = dnb.array(np.arange(6.0))
    np.testing.assert_array_equal((A @ dnb.ones(4)).to_numpy(), a @ np.full(4, 2.0))
    for places in (A.indices, A.tocoo().col):
        with pytest.raises(ValueError, match="read-only"):
            places[0] = 1
    A.data = A.data + 1  # another array, of the same length
    same(
        A @ dnb.ones(4) + half, (a * 2).toarray() @ np.ones(4) + np.diff(a.indptr) + np.arange(6.0)
    )


CHANGES = ("A *= 0.5", "A /= 4", "A.data[...] = 3", "A.data[:5] = 1", "A.T.data[0] = 7")


@pytest.mark.ways("reach", "auto", "spmd", "started")
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
@pytest.mark.parametrize("n", [9, 700])
def test_products_have_what_was_written(session, fmt, n):
    """Also where the notebook multiplies, and has SciPy's arrays of before."""
    a = matrix((n, n), fmt=fmt, density=5 / n)
    names = {"A": getattr(sparse, f"{fmt}_array")(a)}
    x = vector(n, np.dtype(float))
    y = dnb.array(x)
    for change in CHANGES:
        for _ in range(2):
            for got, want in ((names["A"] @ y, a @ x), (y @ names["A"], x @ a)):
                np.testing.assert_allclose(got.to_numpy(), want)
        exec(change, {}, names)
        theirs = {"A": a}
        exec(change, {}, theirs)
        a = theirs["A"]


@pytest.mark.ways("spmd", "openmpi", "started")
@pytest.mark.parametrize("dist", ["block", "nnz", "irregular"])
def test_cuts(session, dist):
    p = session.size
    a = matrix((20, 20), density=0.3)
    cuts = (0, *[3 + i for i in range(p - 1)], 20)
    A = sparse.csr_array(a, dist=("irregular", cuts) if dist == "irregular" else dist)
    assert sum(A.layout.nnz) == a.nnz
    assert A.layout.cuts == cuts or dist != "irregular"
    for other in (None, "nnz", ("irregular", cuts)):
        same(A.redistribute(other), a)
        same(A + sparse.csr_array(a, dist=other), a + a)
        same(A @ sparse.csr_array(a, dist=other), a @ a)
    assert A.redistribute("nnz").layout == sparse.csr_array(a, dist="nnz").layout


def test_a_second_product_sends_only_what_is_needed(session, engines_only):
    n = 12 * session.size
    a = sp.diags_array([1.0, 2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    A, x = sparse.csr_array(a), dnb.arange(n, dtype=float)
    A @ x
    x += 1  # what was brought of it is old
    window = session.start_window()
    A @ x
    report = session.end_window(window)
    brought = [op for op in report.ops if op.op == "sparse.multiply"]
    assert len(brought) == (session.size > 1)
    assert sum(rank.bytes for op in brought for rank in op.ranks) == 16 * (session.size - 1)
    assert not [op for op in report.ops if op.op == "sparse.plan"]


MADE = """
eye_array(5)  eye_array(4, 7, k=2)  eye_array(4, 7, k=-1, dtype='i4')  eye_array(3, k=9)  diags_array([1.0, 2, 3])
diags_array([[1.0, 2, 3], [4, 5]], offsets=[0, 1])  diags_array([1.0, 2.0], offsets=[-1, 2], shape=(5, 6))
diags_array([[1.0, 2]], offsets=[0, 1])  diags_array([[1.0, 2], [3.0]], offsets=[0, 0])
block_array([[A, None], [None, B]])  block_array([[A, B], [B, A]])  hstack([A, B])  vstack([A, B])  hstack([A, C])
vstack([A, C])  block_diag([A, C])  kron(A, C)  kron(A, B, format='csr')  vstack([A, A], dtype='f4')
tril(A)  tril(A, k=1)  tril(A, -2)  triu(A)  triu(A, k=1, format='csr')  triu(C, -9)
block_array([[A, None], [None, None]])  block_array([])  random_array((4, 4), density=2)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_arrays_made_by_rule_and_of_others(session, fmt):
    theirs = {
        "A": matrix((4, 5), fmt=fmt),
        "B": matrix((4, 5), fmt=fmt, seed=2),
        "C": matrix((2, 3), "i8"),
    }
    ours = {name: sparse.csr_array(x).asformat(x.format) for name, x in theirs.items()}
    for expression in MADE.replace("\n", "  ").split("  "):
        if expression.strip():
            want = outcome(f"sp.{expression}", theirs | {"sp": sp})
            got = outcome(f"sp.{expression}", ours | {"sp": sparse})
            if isinstance(want, type) or isinstance(got, type):
                assert got is want, expression
                continue
            if want.format not in ("csr", "csc", "coo"):  # diagonals, dense blocks
                assert got.format in ("csr", "coo")
                want = want.asformat(got.format)
                want.eliminate_zeros()
                got.eliminate_zeros()
            same(got, want)


def test_random_places_are_as_many_as_asked_for(session):
    for shape, density in (((30, 20), 0.1), ((9, 9), 0.8), ((5, 5), 1), ((4, 4), 0), ((0, 3), 0.5)):
        A = sparse.random_array(shape, density=density, rng=4)
        a = A.to_scipy()
        assert a.nnz == round(density * shape[0] * shape[1]) == len({*zip(*a.coords, strict=True)})
        assert 0 in a.shape or not a.nnz or 0 <= a.data.min() <= a.data.max() < 1
    a, b = [sparse.random_array((30, 20), density=0.1, rng=s).to_scipy() for s in (1, 1)]
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    assert sparse.random_array((9, 9), density=0.5, rng=1, dtype="c8", format="csc").dtype == "c8"


def test_files(session, tmp_path):
    a = matrix((6, 4))
    sp.save_npz(tmp_path / "a.npz", a)
    A = sparse.load_npz(tmp_path / "a.npz")
    same(A, a)
    sparse.save_npz(tmp_path / "b.npz", A)
    same(sparse.csr_array(sp.load_npz(tmp_path / "b.npz")), a)
    sparse.mmwrite(tmp_path / "a.mtx", A)
    same(sparse.mmread(tmp_path / "a.mtx").tocsr(), a)


@pytest.mark.filterwarnings("ignore")
def test_scipys_solvers_take_them(session):
    k = 6
    line = sp.diags_array([-np.ones(k - 1), 4 * np.ones(k), -np.ones(k - 1)], offsets=[-1, 0, 1])
    a = sp.kron(sp.eye_array(k), line, format="csr")
    A, b = sparse.csr_array(a), np.arange(k * k, dtype=float)
    same(sla.cg(A, dnb.array(b))[0], sla.cg(a, b)[0])
    same(sla.gmres(A, b)[0], sla.gmres(a, b)[0])  # which writes into the products
    same(sla.aslinearoperator(A.T * 1j).rmatvec(b), (a * -1j) @ b)
    np.testing.assert_allclose(sla.eigsh(A, k=2, v0=b)[0], sla.eigsh(a, k=2, v0=b)[0])


BAD = [
    (
        ValueError,
        "exceeds matrix dimension",
        lambda: sparse.csr_array((dnb.ones(3), (dnb.arange(3), dnb.arange(3))), shape=(3, 2)).nnz,
    ),
    (
        ValueError,
        "negative axis 0 index",
        lambda: (
            sparse.csr_array((dnb.ones(3), (dnb.arange(3) - 1, dnb.arange(3))), shape=(3, 3)).nnz
        ),
    ),
    (
        ValueError,
        "same length",
        lambda: sparse.coo_array((dnb.ones(3), (dnb.arange(2), dnb.arange(3)))),
    ),
    (
        TypeError,
        "integers",
        lambda: sparse.coo_array((dnb.ones(3), (1j * dnb.ones(3), dnb.arange(3)))),
    ),
    (
        ValueError,
        "triplets",
        lambda: sparse.csr_array((dnb.ones(3), dnb.arange(3), np.arange(4), np.arange(4))),
    ),
    (IndexError, "out of bounds", lambda: sparse.eye_array(3)[dnb.array([0, 3])].nnz),
    (NotImplementedError, "format", lambda: sparse.eye_array(3).asformat("dia")),
    (NotImplementedError, "layout", lambda: sparse.eye_array(3).redistribute("cyclic")),
    (dnb.LayoutError, "cuts", lambda: sparse.csr_array((3, 3), dist=("irregular", (0, 1)))),
    (ValueError, "float16", lambda: sparse.csr_array((3, 3), dtype="f2")),
    (ValueError, "not support dtype", lambda: sparse.eye_array(3).astype("U3")),
    (IndexError, "one; flatten it", lambda: sparse.eye_array(3, format="csc")[[[0, 1]]]),
    (ValueError, "negative", lambda: sparse.csr_array((3, -3))),
    (ValueError, "inconsistent", lambda: sparse.eye_array(3) / sparse.eye_array(2)),
    (ValueError, "a number", lambda: sparse.kron(sparse.eye_array(3), 2)),
]


@pytest.mark.parametrize(("kind", "text", "run"), BAD, ids=[text for _, text, _ in BAD])
def test_bad_input_raises_and_harms_nothing(session, kind, text, run):
    x = dnb.arange(5)
    with pytest.raises(kind, match=text):
        run()
    assert int(x.sum()) == 10


@pytest.mark.parametrize("place", [7, -1])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_places_outside_are_refused_before_a_loop_reads_them(session, fmt, place):
    parts = np.ones(3), np.array([0, 1, place]), np.array([0, 2, 3])
    shape = (2, 4) if fmt == "csr" else (4, 2)
    theirs = getattr(sp, f"{fmt}_array")(parts, shape=shape)  # which SciPy takes
    for make in (sparse.csr_array, sparse.csc_array):
        with pytest.raises(ValueError, match="indices: got"):
            make(theirs)
    with pytest.raises(ValueError, match="indices: got"):
        getattr(sparse, f"{fmt}_array")(parts, shape=shape)
    with pytest.raises(ValueError, match="indices: got"):
        getattr(sparse, f"{fmt}_array")(shape) + theirs


@pytest.mark.parametrize("place", [2, -1])
def test_blocks_outside_are_refused_before_a_loop_reads_them(session, place):
    parts = np.ones((2, 2, 3)), np.array([0, place]), np.array([0, 1, 2])
    theirs = sp.bsr_array(parts, shape=(4, 6))
    for make in (
        sparse.csr_array,
        sparse.csc_array,
        sparse.coo_array,
        sparse.eye_array(4, 6).__add__,
    ):
        with pytest.raises(ValueError, match="ind"):
            make(theirs)
    theirs.indices[1] = 1
    np.testing.assert_array_equal(sparse.csc_array(theirs).toarray().to_numpy(), theirs.toarray())


def test_elements_that_do_not_fit_are_refused(session):
    A = sparse.eye_array(5)
    A.data = dnb.ones(4)
    with pytest.raises(ValueError, match="one for each place"):
        A @ dnb.ones(5)
    with pytest.raises(ValueError, match="dimension mismatch"):
        sparse.eye_array(5) @ dnb.ones(4)


@st.composite
def pairs(draw):
    """Draw two arrays whose product there is, as SciPy's, and cuts of the rows of the first."""
    m, k, n = (draw(st.integers(0, 12)) for _ in range(3))
    dtype = draw(st.sampled_from("f8 i4 u1 c8".split()))
    found = []
    for shape in ((m, k), (k, n)):
        count = draw(st.integers(0, 30)) if 0 not in shape else 0
        places = [
            draw(st.lists(st.integers(0, max(0, s - 1)), min_size=count, max_size=count))
            for s in shape
        ]
        data = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), dtype)
        found.append(sp.coo_array((data, [np.array(p, int) for p in places]), shape=shape))
    return (*found, draw(st.lists(st.integers(0, m), min_size=3, max_size=3)))


@pytest.mark.ways("reach", "spmd", "openmpi")
@examples(40)
@given(pairs())
def test_any_arrays_and_cuts(session, drawn):
    a, b, inner = drawn
    m = a.shape[0]
    dist = ("irregular", (0, *sorted(inner)[: session.size - 1], m))
    A = sparse.csr_array(
        (dnb.array(a.data), tuple(dnb.array(c) for c in a.coords)), shape=a.shape, dist=dist
    )
    B = sparse.csc_array(b, dist="nnz")
    a, b = a.tocsr(), b.tocsc()
    x = vector(a.shape[1:], a.dtype)
    for got, want in (
        *((A, a), (A.tocsc(), a.tocsc()), (A @ B, a @ b), (B.T @ A.T, b.T @ a.T)),
        *((A @ dnb.array(x), a @ x), (x @ A.T, x @ a.T), (B.T @ dnb.array(x), b.T @ x)),
        *((A + A.redistribute("nnz"), a + a), (A[::-1], a[::-1]), (A[:, ::2], a[:, ::2])),
        *(
            (A.sum(axis=0), a.sum(axis=0)),
            (A.toarray(), a.toarray()),
            (A.indptr.astype(int), a.indptr.astype(int)),
        ),
    ):
        same(got, want)


ASSIGNMENTS = """
x[0, 1] = 5; x[0, 0] = 0; x[0] = np.arange(x.shape[1]); x[:, 1] = np.arange(x.shape[0]); x[:, [0, 2]] = 1
x[[0, 1], [1, 1]] = [3, 4]; x[[0, 0], [1, 1]] = [3, 4]; x[0:2] = 0; x[x > 1] = 9; x[x.toarray() > 1] = 7
x[1:3, 1:] = 2; x[[3, 1, 1]] = 0; x[-1, -1] = 1; x[...] = 3; x[0] = x[[1]]; x[:, 0] = 0; x[::2, 1] = 4
x[x.toarray() < 0] = np.arange(np.count_nonzero(x.toarray() < 0)); x[:, 0] = [[1]]; x[2:2] = 5
"""


@pytest.mark.cases(4)
@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("dtype", ["f8", "i2"])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_assignment(session, fmt, dtype):
    for line in ASSIGNMENTS.replace("\n", ";").split(";"):
        a = matrix((6, 5), dtype, fmt=fmt)
        A = getattr(sparse, f"{fmt}_array")(a)
        exec(line.strip(), {"x": a, "np": np})
        exec(line.strip(), {"x": A, "np": np})
        assert A.dtype == a.dtype
        np.testing.assert_array_equal(A.toarray().to_numpy(), a.toarray(), err_msg=line)
        np.testing.assert_array_equal(A @ np.ones(5), a @ np.ones(5), err_msg=line)


def test_assignment_that_does_not_fit(session):
    A = sparse.csr_array(matrix((6, 5)))
    before = A.to_scipy().toarray()
    for error, line in [
        (TypeError, "x[0, 0] = 1j"),
        (ValueError, "x[0] = [1, 2]"),
        (ValueError, "x[0, 0] = [1, 2]"),
        (ValueError, "x[0] = 'a'"),
        (IndexError, "x[9, 0] = 1"),
        (IndexError, "x[x.astype(int)] = 1"),
    ]:
        with pytest.raises(error):
            exec(line, {"x": A, "np": np})
    np.testing.assert_array_equal(A.to_scipy().toarray(), before)


def test_products_and_quotients_that_broadcast(session):
    a, b = matrix((4, 5)), matrix((4, 5), seed=2)
    A = sparse.csr_array(a)
    row, column, one = b[[0]], b[:, [1]], sp.csr_array([[3.0]])
    for x in (row, column, one):
        want = (a * x).toarray()
        for left, right in ((A, x), (A, sparse.csr_array(x)), (sparse.csr_array(x), A)):
            np.testing.assert_array_equal((left * right).toarray().to_numpy(), want)
        np.testing.assert_array_equal((A.tocsc() * x).toarray().to_numpy(), want)
    want = (row * column).toarray()
    np.testing.assert_array_equal((sparse.csr_array(row) * column).toarray().to_numpy(), want)
    np.testing.assert_array_equal((sparse.csr_array(column) * row).toarray().to_numpy(), want)
    with pytest.raises(ValueError, match="inconsistent"):
        A * sp.csr_array((1, 3))
    b.eliminate_zeros()  # of -0.0 only quotients of sparse arrays know the sign
    np.testing.assert_array_equal((A / sparse.csr_array(b)).to_numpy(), np.asarray(a / b))
    for name in ("argmax", "argmin"):
        for x in (a, -abs(a), abs(a), a.T.tocsr()):
            assert getattr(sparse.csr_array(x), name)() == getattr(x, name)()


@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_norms(session, fmt):
    a = matrix((7, 5), fmt=fmt)
    A = getattr(sparse, f"{fmt}_array")(a)
    for order in (None, "fro", 1, -1, np.inf, -np.inf):
        np.testing.assert_allclose(sparse.linalg.norm(A, order), sla.norm(a, order))
    np.testing.assert_allclose(sparse.linalg.norm(A, 2), np.linalg.norm(a.toarray(), 2))
    for axis in (0, 1):
        for order in (None, 0, 1, 2, 3, np.inf, -np.inf):
            got = sparse.linalg.norm(A, order, axis)
            np.testing.assert_allclose(got.to_numpy(), sla.norm(a, order, axis))
    for axes in ((0, 1), (1, 0), (-1, 0), (-1,)):
        for order in (None, 1, -1, np.inf, -np.inf):
            got = sparse.linalg.norm(A, order, axes)
            np.testing.assert_allclose(np.asarray(got), sla.norm(a, order, axes))
    for args in ((7,), (0, (0, 1)), (1, (0, 2)), (1, (0, 0)), (1, 5), (1, ()), (1, [0]), ("x", 1)):
        with pytest.raises((ValueError, TypeError)) as theirs:
            sla.norm(a, *args)
        with pytest.raises(theirs.type, match=re.escape(str(theirs.value))):
            sparse.linalg.norm(A, *args)


@pytest.mark.parametrize("kind", ["i1", "i2", "u4", "i8", "f4", "c8"])
def test_norms_have_the_dtypes_of_scipys(session, kind):
    """Squares of integers, and the size of the least one, are beyond their dtype."""
    most = np.iinfo(kind).min if kind[0] in "iu" else 3
    a = sp.coo_array(np.array([[most or 70_000, 0, 1], [0, 100, 1]], kind))
    A = sparse.coo_array(a)
    for x in (A, A.tocsr(), A.tocsc()):
        for order in (None, 1, -1, np.inf, -np.inf):
            got, want = sparse.linalg.norm(x, order), sla.norm(a, order)
            assert (type(got), float(got)) == (type(want), pytest.approx(float(want), rel=1e-6))
        got, want = sparse.linalg.norm(x, 2), sla.norm(a.tocsr(), 2)
        assert (type(got), float(got)) == (type(want), pytest.approx(float(want), rel=1e-6))


def test_the_largest_of_singular_values_that_are_close(session):
    for values in (np.linspace(0.99, 1, 200), np.linspace(-3, 0, 90), np.zeros(4), np.ones(1)):
        got = sparse.linalg.norm(sparse.diags_array(values, dtype=float), 2)
        assert got == pytest.approx(abs(values).max(), rel=1e-6)
    for values in (np.nan, np.inf):
        assert np.isnan(sparse.linalg.norm(sparse.diags_array([1.0, values]), 2))
    with pytest.raises(ValueError, match="must not be empty"):
        sparse.linalg.norm(sparse.csr_array((0, 3)), 2)


def test_solvers_of_vectors_on_engines(session):
    n = 40
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    skew = a + sp.diags_array([0.5], offsets=[1], shape=(n, n))
    b = np.sin(np.arange(n))
    M = sparse.diags_array(np.full(n, 1 / 2.5))
    steps = []
    for solve, x in ((sparse.linalg.cg, a), (sparse.linalg.bicgstab, skew.tocsr())):
        for near in (None, M):
            call = {"rtol": 1e-10, "M": near, "callback": steps.append}
            got, info = solve(sparse.csr_array(x), dnb.asarray(b), **call)
            assert info == 0
            assert isinstance(got, dnb.DistArray)
            np.testing.assert_allclose(x @ got.to_numpy(), b, atol=1e-8)
        got, info = solve(sparse.csr_array(x), dnb.asarray(b), maxiter=2)
        assert info == 2
    assert len(steps) > 4
    for solve in (sparse.linalg.cg, sparse.linalg.bicgstab):
        got, info = solve(sparse.csr_array(a), np.zeros(n), b)
        assert (info, bool(got.any())) == (0, False)
    turn = np.array([[0.0, 1], [-1, 0]])  # of which a vector and its product are at right angles
    got, info = sparse.linalg.bicgstab(sparse.csr_array(turn), np.ones(2))
    assert (info, got.tolist()) == (-11, [0, 0])
    with pytest.raises(ValueError, match="square"):
        sparse.linalg.cg(sparse.csr_array((2, 3)), np.ones(2))
    with pytest.raises(ValueError, match="b: got"):
        sparse.linalg.cg(sparse.csr_array(a), np.ones((n, 2)))


@pytest.mark.parametrize("compare", [operator.le, operator.eq, operator.ne, operator.gt])
def test_elements_of_one_place_are_summed_where_they_are_compared(session, compare):
    parts = np.array([1.0, 2, 5, 3, 4]), np.array([4, 4, 0, 0, 1]), np.array([0, 3, 4, 4, 5])
    S = sp.csr_array(parts, shape=(4, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = compare(dnb.sparse.csr_array(S), 2), compare(S, 2)
    np.testing.assert_array_equal(found.toarray().to_numpy(), wanted.toarray())
