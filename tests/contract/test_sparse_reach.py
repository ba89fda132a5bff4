"""Small sparse arrays in reach: the notebook makes what engines would, bit for bit, and asks nobody."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from tests.contract.support import setting

M, N = 14, 11
#: What is made of two arrays ``A`` and ``B``, vectors ``x``, ``y`` of rows and columns, columns
#: ``X``, an array ``D`` and positions ``i``, ``j``.
READS = {
    "A @ x": lambda A, B, v: A @ v.x,
    "A @ X": lambda A, B, v: A @ v.X,
    "A.T @ y": lambda A, B, v: A.T @ v.y,
    "A @ B.T": lambda A, B, v: A @ B.T,
    "A + B": lambda A, B, v: A + B,
    "A - B": lambda A, B, v: A - B,
    "A B": lambda A, B, v: A.multiply(B),
    "A x": lambda A, B, v: A.multiply(v.x),
    "A y": lambda A, B, v: A.multiply(v.y[:, None]),
    "A D": lambda A, B, v: A.multiply(v.D),
    "D + A": lambda A, B, v: v.D + A,
    "A > 1": lambda A, B, v: A > 1,
    "A != B": lambda A, B, v: A != B,
    "maximum": lambda A, B, v: A.maximum(B),
    "sums": lambda A, B, v: [A.sum(axis=0), A.sum(axis=1), A.mean(axis=1)],
    "extremes": lambda A, B, v: [A.max(axis=1).toarray(), A.min(axis=0).toarray()],
    "places": lambda A, B, v: [A.argmax(axis=1), A.argmin(axis=0)],
    "counts": lambda A, B, v: [A.count_nonzero(axis=1), A.count_nonzero(axis=0)],
    "row": lambda A, B, v: [A[3], A[2:9], A[2:9, 1:5], A[::-1], A[:, ::-2], A[:, 4]],
    "rows": lambda A, B, v: [A[v.i], A[:, v.j], A[v.i][:, v.j], A[v.i > 5]],
    "points": lambda A, B, v: [A[v.i[:4], v.j[:4]], A[3, 2]],
    "diagonals": lambda A, B, v: [A.diagonal(), A.diagonal(-2)],
    "turned": lambda A, B, v: [A.tocsc(), A.tocsr(), A.T.tocsr()],
    "triplets": lambda A, B, v: [A.tocoo().row, A.tocoo().col, A.tocoo().tocsr(), A.indptr],
    "dense": lambda A, B, v: [A.toarray(), A.T.toarray()],
    "in order": lambda A, B, v: [A.sorted_indices(), A.has_canonical_format],
    "stacked": lambda A, B, v: [v.sparse.vstack([A, B]), v.sparse.hstack([A, B])],
    "truth": lambda A, B, v: [(A > 1) @ v.x, (A > 1).sum(axis=0), (A > 1) @ (B > 0).T],
    "put": lambda A, B, v: [put(A, (3, 4), 7), put(A, (v.i, 2), 5), put(A, (slice(2), 1), 0)],
    "changed": lambda A, B, v: [changed(A, "eliminate_zeros"), changed(A, "sum_duplicates")],
}


class Given:
    """Vectors, an array and positions, of NumPy's or ours."""

    def __init__(self, make, module):
        rng = np.random.default_rng(3)
        self.x, self.y, self.X = [make(rng.random(n)) for n in (N, M, (N, 2))]
        self.D, self.sparse = make(rng.integers(0, 3, (M, N)).astype(float)), module
        self.i, self.j = rng.integers(0, M, M), rng.integers(-N, N, 9)


def put(A, key, value):
    A = A.copy()
    A[key] = value
    return A


def changed(A, method):
    A = A.copy()
    getattr(A, method)()
    return A


def scipys(format, dtype, ordered, seed):
    """Return an array of SciPy's; places are not in order, and some twice, if it is not ordered."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, M)
    data = rng.integers(-2, 5, counts.sum()).astype(dtype)
    data = data * dtype(0.1) if np.dtype(dtype).kind == "f" else data
    indices = rng.integers(0, N, counts.sum())
    found = sp.csr_array((data, indices, np.append(0, counts.cumsum())), shape=(M, N))
    if ordered:
        found.sum_duplicates()
    return found.asformat(format)


def told(x):
    """Return all that there is of a result: format, bytes, dtypes, order, and where it lies."""
    if isinstance(x, list):
        return [told(y) for y in x]
    if sparse.issparse(x):
        arrays = x.coords if x.format == "coo" else (x.indices, x.indptr)
        return [x.format, x.shape, x.layout if x.format != "coo" else None, told([x.data, *arrays])]
    if isinstance(x, dnb.DistArray) and x.ndim:
        return [x.dbase.layout, *told(x.to_numpy())]
    x = np.asarray(x)
    return [x.dtype, x.shape, x.tobytes()]


def dense(x):
    if isinstance(x, list):
        return [dense(y) for y in x]
    x = x.to_scipy() if sparse.issparse(x) else x
    return (x.format, x.toarray()) if sp.issparse(x) else np.asarray(x)


def check_equal(ours, theirs):
    for a, b in zip(*[y if isinstance(y, list) else [y] for y in (ours, theirs)], strict=True):
        if isinstance(a, tuple):
            assert a[0] == b[0]
            a, b = a[1], b[1]
        assert a.dtype == b.dtype or a.dtype.kind == b.dtype.kind == "i"  # of indices
        np.testing.assert_allclose(a, b, rtol=1e-6)


def ours(format, dtype, ordered):
    """Return both arrays and what they meet, on engines of which nobody has heard of."""
    kind = getattr(sparse, f"{format}_array")
    return (*[kind(scipys(format, dtype, ordered, s)) for s in (1, 2)], Given(dnb.array, sparse))


@pytest.mark.ways("one", "four", "cutoff", "reach", "started", every=True)
@pytest.mark.parametrize(
    "kind", [("csr", float, False), ("csc", np.float32, True), ("csc", int, False)]
)
def test_as_engines_make_it(session, kind):
    for name, read in READS.items():
        with setting(place="engines"):
            theirs = told(read(*ours(*kind)))
        with setting(place="notebook"):
            found = read(*ours(*kind))
            assert told(found) == theirs, name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
            right = read(*[scipys(*kind, seed) for seed in (1, 2)], Given(np.array, sp))
        check_equal(dense(found), dense(right))


@pytest.mark.ways("one", "cutoff", "started")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_engines_are_not_asked(session, format):
    if not session.memory.possible:
        pytest.skip("engines have memory of their own")
    with setting(place="auto"):
        A, B, v = ours(format, np.float64, False)
        session.flush()
        before = session.batches
        for name, read in READS.items():
            read(A, B, v)
            assert session.batches == before, name


@pytest.mark.ways("one", "cutoff", "started")
def test_writes_are_seen(session):
    with setting(place="auto"):
        a = scipys("csr", np.float64, True, 1)
        A, x = sparse.csr_array(a), np.arange(N) / 7
        for step in (
            lambda A: A.data.__setitem__(slice(2, 5), 9.0),
            lambda A: A.__imul__(3.0),
            lambda A: (A.T.data.__setitem__(0, -1.0), A.tocoo(copy=False).data.__setitem__(1, 4)),
            lambda A: A.__setitem__((3, 4), 2.5),
            lambda A: A.setdiag(np.arange(5.0)),
            lambda A: (A + A).data.__setitem__(slice(None), 0),
            lambda A: A[2:5].data.__setitem__(slice(None), 0),
            lambda A: A.tocsc().data.__setitem__(slice(None), 0),
            lambda A: setattr(A, "data", A.data * 2),
        ):
            step(A)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
                step(a)
            if session.size > 1:
                (A.data * 1).move("cyclic")  # engines go on with what the notebook made
            np.testing.assert_allclose((A @ x).to_numpy(), a @ x)
            np.testing.assert_allclose(A.sum(axis=0).to_numpy(), a.sum(axis=0))
            np.testing.assert_array_equal((A + A).toarray().to_numpy(), (a + a).toarray())
            with setting(place="engines"):
                np.testing.assert_allclose((A @ x).to_numpy(), a @ x)
                np.testing.assert_array_equal((A - A.T.T).nnz, (a - a).nnz)


def test_scipys_array_stays_apart(session):
    a = scipys("csr", np.float64, True, 1)
    A = sparse.csr_array(a)
    B = sparse.vstack([A])
    a.data[:] = 7
    B.data[:] = 5
    np.testing.assert_array_equal(A.toarray().to_numpy(), scipys("csr", float, True, 1).toarray())


@pytest.mark.ways("cutoff", "started")
def test_what_would_be_large_is_for_engines(session):
    with setting(place="auto"):
        many = np.zeros(4_000, int)
        A = sparse.csr_array(np.ones((2, 1_000)))
        session.flush()
        before = session.batches
        assert A[many].nnz == 4_000_000
        assert (A.T @ A).nnz == 1_000_000
        assert session.batches > before


def test_places_outside_are_refused_here(session):
    with setting(place="notebook"):
        A = sparse.csr_array(scipys("csr", np.float64, True, 1))
        with pytest.raises(IndexError):
            A[dnb.array([0, M])]
        with pytest.raises(ValueError, match="axis 0 index 14 exceeds matrix dimension 14"):
            sparse.csr_array((dnb.ones(1), (dnb.array([M]), dnb.array([0]))), shape=(M, N))
