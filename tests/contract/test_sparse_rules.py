"""What SciPy's sparse arrays do at the edges: in place, of matrices, of wide ones, of bad input."""

import copy
import operator
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.sparse import csgraph

import distnb as dnb
from distnb import sparse
from tests.contract.support import setting
from tests.contract.test_sparse import matrix, same

FORMATS = ["csr", "csc", "coo"]


def both(a, fmt="csr"):
    """Return SciPy's array and the same distributed."""
    a = getattr(sp, f"{fmt}_array")(a)
    return a, getattr(sparse, f"{fmt}_array")(a)


@pytest.mark.ways("one", "unfused", every=True)  # on fewer engines parts are longer
def test_elements_of_very_wide_arrays_are_put_where_they_belong(session):
    A = sparse.csr_array((20, 2**60))
    A[[0, 16, 0], [5, 5, 5]] = [1.0, 2.0, 3.0]
    assert A.nnz == 2
    assert (A[0, 5], A[16, 5]) == (3.0, 2.0)
    A[[], []] = []
    assert A.nnz == 2
    # of a product that a mask lets through
    left = sparse.csr_array(sp.eye_array(20, format="csr"))
    right = sp.coo_array(([1.0, 2.0, 3.0], ([1, 18, 19], [4, 7, 2**60 - 1])), shape=A.shape)
    mask = sp.coo_array(([1.0, 1.0], ([1, 19], [4, 2**60 - 1])), shape=A.shape).tocsr()
    got = sparse.matmul(left, sparse.csr_array(right.tocsr()), mask=sparse.csr_array(mask)).tocoo()
    assert list(map(list, got.to_scipy().coords)) == [[1, 19], [4, 2**60 - 1]]
    assert got.data.tolist() == [1, 3]


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


def test_what_is_not_points_or_no_rounds_is_refused(session):
    X = dnb.array(np.arange(12.0).reshape(6, 2))
    with pytest.raises(TypeError, match="complex128"):
        dnb.learn.kmeans(X + 1j, 2)
    for x in (sparse.eye_array(3), sp.eye_array(3)):
        with pytest.raises(TypeError, match="sparse"):
            dnb.learn.kmeans(x, 2)
    with pytest.raises(ValueError, match="max_iterations"):
        dnb.learn.kmeans(X, 2, max_iterations=0)
    with pytest.raises(ValueError, match="iterations"):
        dnb.learn.als(sparse.eye_array(3), 1, iterations=0)


def test_ratings_of_zero_are_ratings(session):
    a = sp.csr_array((np.array([0.0, 4.0, 2.0, 0.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])))
    users, things = dnb.learn.als(sparse.csr_array(a), 2, penalty=1e-6, iterations=50)
    np.testing.assert_allclose((users @ things.T).to_numpy(), a.toarray(), atol=1e-2)


def test_an_array_without_elements_is_cut_evenly(session):
    even = sparse.csr_array((9, 2)).layout.cuts
    assert dnb.repartition(sparse.csr_array((9, 2)), by="nnz").layout.cuts == even
    assert sparse.csr_array(sp.csr_array((9, 2)), dist="nnz").layout.cuts == even


def test_graph_functions_leave_arrays_as_they_are(session):
    parts = np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])
    A = sparse.csr_array(sp.csr_array(parts, shape=(2, 2)))
    dnb.graph.pagerank(A)
    dnb.graph.bfs(A, 0)
    assert A.nnz == 3


def test_weights_of_graphs_are_checked(session):
    a = matrix((4, 4))
    for x in (a * np.nan, -abs(a), a * np.inf):
        with pytest.raises(ValueError, match="weights of links"):
            dnb.graph.pagerank(sparse.csr_array(x))
    A = sparse.csr_array(abs(a))
    for damping in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="damping"):
            dnb.graph.pagerank(A, damping)
    with pytest.raises(ValueError, match="personalization"):
        dnb.graph.pagerank(A, personalization=[3, -1, 0, 0])
    with pytest.raises(TypeError, match="complex"):
        dnb.graph.pagerank(A * 1j)
    with pytest.raises(TypeError, match="complex"):
        dnb.graph.shortest_paths(A * 1j, 0)
    with pytest.raises(TypeError, match="complex"):
        dnb.repartition(dnb.arange(4.0), by=[1j, 2, 3, 4])


def test_equal_places_of_bools_are_counted_by_sums(session):
    coords = np.array([0, 0, 1]), np.array([1, 1, 0])
    for dtype in ("?", "i1", "f8"):
        data = np.full(3, 100).astype(dtype)
        a = sp.coo_array((data, coords), shape=(2, 2))
        A = sparse.coo_array((dnb.array(data), tuple(map(dnb.array, coords))), shape=(2, 2))
        for axis in (None, 0, 1):
            same(A.sum(axis=axis), a.copy().sum(axis=axis))  # SciPy's sum changes its array
            same(A.mean(axis=axis), a.copy().mean(axis=axis))
        same(A.tocsr(), a.tocsr())
        x = np.array([1, 2])
        for got, want in ((A @ x, a @ x), (x @ A, x @ a), (A.T @ x, a.T @ x), (A + x, a + x)):
            same(got, want)  # in the dtype of both


@pytest.mark.parametrize("fmt", FORMATS)
def test_pickles_and_copies(session, fmt, monkeypatch):
    a, A = both(matrix((5, 4)), fmt)
    same(pickle.loads(pickle.dumps(A)), a)
    same(copy.deepcopy(A), a)
    shared = copy.copy(A)
    shared *= 2
    same(A, a * 2)
    same(
        pickle.loads(pickle.dumps(A[[0]].tocoo() if fmt != "coo" else A)),
        a[[0]].tocoo() * 2 if fmt != "coo" else a * 2,
    )
    monkeypatch.setattr(dnb.config, "gather_budget", 8)
    with pytest.raises(dnb.GatherError):
        pickle.dumps(A)


def test_tasks_get_sparse_arrays_by_keyword(session):
    a, A = both(matrix((6, 6)))
    x = dnb.arange(6.0)
    same(dnb.foreach(lambda part, A: A.sum() + part, x.splits(), A=A), a.sum() + np.arange(6.0))
    with pytest.raises(TypeError, match="y="):
        dnb.foreach(lambda part, y: part, x.splits(), y=x.splits())


def test_what_is_not_taken_is_named(session, tmp_path):
    a, A = both(matrix((4, 4)))
    sparse.save_npz(tmp_path / "a.npz", a)
    same(sparse.load_npz(tmp_path / "a.npz"), a)
    with pytest.raises(TypeError, match="save_npz"):
        sparse.save_npz(tmp_path / "d.npz", a.toarray())
    same(sparse.tril(a.toarray()), sp.tril(sp.csr_array(a.toarray())))
    same(sparse.triu(a), sp.triu(a))
    same(sparse.vstack([A[0], A[1], A]), sp.vstack([a[0], a[1], a]))
    same(sparse.hstack([A[0], A[1]]), sp.hstack([a[0], a[1]]))
    with pytest.raises(NotImplementedError, match="two axes"):
        sparse.random_array((5, 5, 5))
    for x in (a, a.toarray()):
        with pytest.raises(TypeError, match="a distributed array"):
            dnb.repartition(x)
    with pytest.raises(TypeError, match="choose other"):
        sparse.matmul(A, A, "or_div")
    with pytest.raises(ValueError, match="float16"):
        round(A.astype(bool))
    same(round(A), round(a))
    falling = np.ones(3), np.array([0, 1, 2]), np.array([0, 2, 1, 3])
    with pytest.raises(ValueError, match="indptr"):
        sparse.csr_array(falling, shape=(3, 3))


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
@pytest.mark.parametrize("key", [slice(None), ..., (slice(None), slice(None)), slice(0, 2)])
def test_a_slice_of_all_of_it_is_a_copy(session, fmt, key):
    for module in (sp, sparse):
        whole = getattr(module, f"{fmt}_array")(np.array([[1.0, 2], [0, 3]]))
        part = whole[key]
        whole *= 10
        part.data[:1] = 7
        assert part.toarray()[1].tolist() == [0, 3]
        assert whole.toarray().tolist() == [[10, 20], [0, 30]]


@pytest.mark.parametrize("to", ["tocsr", "tocsc"])
def test_triplets_in_rows_have_elements_of_their_own(session, to):
    for module in (sp, sparse):
        triplets = module.coo_array(np.array([[1.0, 2], [0, 3]]))
        rows = getattr(triplets, to)()
        triplets *= 10
        assert rows.toarray().tolist() == [[1, 2], [0, 3]]
        kept = getattr(module, f"{to[2:]}_array")(triplets)
        kept.data[:] = 9
        assert triplets.toarray().tolist() == [[10, 20], [0, 30]]


def test_diagonals_may_be_longer_than_there_is_room(session):
    ones = np.ones(3)
    expected = sp.diags_array([ones, 2 * ones], offsets=[0, 1], shape=(3, 3))
    found = sparse.diags_array([ones, 2 * ones], offsets=[0, 1], shape=(3, 3))
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", None])
def test_zeros_of_diagonals_are_not_stored(session, fmt):
    for given in ([1.0, 0, np.nan, -0.0], dnb.array([1.0, 0, np.nan, -0.0])):
        assert sparse.diags_array(given, format=fmt).nnz == 2
    assert sparse.diags_array([0.5, 2], dtype="i8", format=fmt).nnz == 1


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
@pytest.mark.parametrize(("name", "value"), [("shape", (36, 1)), ("format", "csc"), ("nnz", 3)])
def test_what_an_array_is_cannot_be_set(session, fmt, name, value):
    a = sp.eye_array(6).asformat(fmt)
    for x in (a, getattr(sparse, f"{fmt}_array")(a)):
        with pytest.raises(AttributeError, match=name):
            setattr(x, name, value)
    assert getattr(x, name) == getattr(a, name)


def test_scipys_warnings_have_their_names():
    assert sparse.SparseEfficiencyWarning is sp.SparseEfficiencyWarning
    assert sparse.SparseWarning is sp.SparseWarning


@pytest.mark.parametrize("run", [lambda a: a == 0, lambda a: a.maximum(1)], ids=["==", "maximum"])
def test_scipys_warnings_have_the_users_line(session, run):
    with pytest.warns(sp.SparseEfficiencyWarning) as found:
        run(sp.csr_array(np.eye(3)))
    assert [each.filename for each in found] == [__file__]


#: What looks into sparse arrays, of one of ours, ``A``, and of SciPy's, ``S``.
LOOKS = """
sp.csr_array(A)|sp.coo_array(A, dtype="f4")|sp.csc_matrix(arg1=A)|sp.dia_array(A)|sp.lil_array(A)|
sp.dok_array(A)|sp.bsr_array(A)|sp.hstack([S, A])|sp.vstack((A, S))|sp.kron(S, A)|sp.tril(A)|
sp.block_diag([S, A])|sp.block_array([[A, None], [None, S]])|sp.find(A)[2]|sla.norm(A)|
sla.expm(sp.csc_array(A))|sla.inv(A.tocsc())|sla.spsolve(A.tocsr(), [1.0, 2, 3])|
csgraph.laplacian(A)|csgraph.dijkstra(csgraph=A.tocsr(), indices=0)|csgraph.connected_components(A)[1]|
S.multiply(A)|S.maximum(A)|S.minimum(A)|S.todia().multiply(A)|S.todok().multiply(A)
"""


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
def test_scipys_functions_take_sparse_arrays(session, fmt):
    S = sp.csr_array(np.array([[2.0, 1, 0], [0, 3, 0], [1, 0, 4]]))
    names = {"S": S, "sp": sp, "sla": sla, "csgraph": csgraph}
    A = getattr(sparse, f"{fmt}_array")(S)
    for code in "".join(LOOKS.split("\n")).split("|"):
        got, want = [eval(code, names | {"A": x}) for x in (A, S.asformat(fmt))]
        assert type(got) is type(want) or dnb.sparse.issparse(got), code
        got, want = [x.toarray() if hasattr(x, "toarray") else x for x in (got, want)]
        np.testing.assert_allclose(np.asarray(got), want, err_msg=code)
    with setting(gather_budget=10), pytest.raises(dnb.GatherError, match="to_scipy"):
        sp.csr_array(A)


ROWS, COLUMNS = [[0, 1], [2, 5]], [[3, 0], [1, 3]]


@pytest.mark.parametrize("kind", ["csr_array", "coo_array", "dok_array", "csr_matrix"])
def test_scipys_arrays_are_operands_beside_dense_ones(session, kind):
    a = np.arange(12.0).reshape(3, 4) % 5 - 1
    m, d = getattr(sp, kind)(a * (a > 1)), dnb.asarray(a)
    ops = [operator.add, operator.sub, operator.eq, operator.ne, operator.lt, operator.ge]
    for op in ops:
        for got, expected in ((op(m, d), op(m, a)), (op(d, m), op(a, m))):
            assert type(got) is (np.matrix if kind == "csr_matrix" else dnb.DistArray)
            assert got.dtype == expected.dtype
            assert np.array_equal(np.asarray(got), expected)
    assert np.array_equal(np.asarray(m.maximum(d)), m.maximum(a))
    assert np.array_equal(np.asarray(m.minimum(d[0])), m.minimum(a[0]))
    with np.errstate(all="ignore"):
        got, expected = m / d, m / a
    assert type(got) is type(expected)
    assert np.array_equal(got.toarray(), expected.toarray(), equal_nan=True)
    with pytest.raises(NotImplementedError, match="nonzero scalar"):
        sp.csr_array(m) + dnb.asarray(2.0)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_places_in_two_axes(session, fmt, far):
    """Indices broadcast; what they name has their shape."""
    a, A = both(matrix((6, 4)), fmt)
    given = [np.array(x) for x in (ROWS, COLUMNS)]
    ours = [dnb.array(x, dist="block") for x in given] if far else given
    for rows, columns in ((ROWS, COLUMNS), ([[0], [3], [5]], [1, 2]), ([1, 2], [[3], [0]])):
        same(A[rows, columns], a[rows, columns])
    same(A[*ours], a[*given])
    for value in (3, [[1, 0], [2, 3]], [1, 2], [[1], [2]], sp.csr_array([[1, 2], [3, 0]])):
        A[*ours] = value
        # SciPy's own COO takes broadcast values for others
        a[*given] = value if sp.issparse(value) else np.full((2, 2), value)
        same(A, a)
    for key, what in (((ROWS, [1, 2, 3]), "mismatch"), (([ROWS], [COLUMNS]), "1 or 2")):
        with pytest.raises(IndexError, match=what):
            A[*key]


@pytest.mark.parametrize("fmt", FORMATS)
def test_dense_arrays_are_filled(session, fmt):
    a, A = both(matrix((6, 4)), fmt)
    for make in (dnb.ones, np.ones):
        out = make(A.shape, A.dtype)
        assert A.toarray(out=out) is out
        np.testing.assert_array_equal(np.asarray(out), a.toarray())
    np.testing.assert_array_equal(A.todense("F").to_numpy(), a.todense("F"))
    for wrong in ({"order": "A"}, {"order": "C", "out": out}, {"out": dnb.ones((4, 6))}):
        with pytest.raises(ValueError, match="order|same dtype and shape"):
            A.toarray(**wrong)


@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_elements_indices_and_pointers_on_engines(session, fmt):
    a = getattr(matrix((6, 4)), f"to{fmt}")()
    parts = [dnb.array(x, dist="block") for x in (a.data, a.indices, a.indptr)]
    make = getattr(sparse, f"{fmt}_array")
    same(make(tuple(parts), shape=a.shape), a)
    same(make(tuple(parts)), getattr(sp, f"{fmt}_array")((a.data, a.indices, a.indptr)))
    data, indices, indptr = parts
    for wrong, what in (
        ((data[1:], indices, indptr), "same size"),
        ((data, indices, indptr + 1), "start with 0"),
        ((data, indices, indptr * 2), "Last value"),
        ((data, indices, indptr[[0, 2, 1, -1]]), "fall"),
        ((data, indices, indptr[None]), "1-D"),
        ((data[:0], indices[:0], indptr * 0), "infer"),
    ):
        with pytest.raises(ValueError, match=what):
            make(wrong)
    with pytest.raises(ValueError, match="index pointer size"):
        make(tuple(parts), shape=(9, 9))


def test_functions_of_the_namespace_are_methods(session):
    a, A = both(matrix((6, 4)))
    assert float(dnb.sum(A)) == pytest.approx(np.sum(a))
    assert float(dnb.max(A)) == np.max(a)
    np.testing.assert_allclose(np.asarray(dnb.mean(A, axis=0)), np.mean(a, axis=0))
    assert isinstance(A.tocoo(), sparse.sparray)
    with pytest.raises(TypeError, match=r"csr_array.*toarray"):
        dnb.std(A)


def test_a_sum_with_a_sparse_array_is_a_new_array(session):
    """As in SciPy: it may have another dtype, or be sparse."""
    a, A = both(matrix((6, 4)))
    for run in ("x += a", "x -= a", "x *= a"):
        there, here = {"x": np.ones((6, 4), int), "a": a}, {"x": dnb.ones((6, 4), int), "a": A}
        first = here["x"]
        exec(run, there)
        exec(run, here)
        assert (first == 1).all()
        one, other = here["x"], there["x"]
        if sp.issparse(other):
            one, other = one.toarray(), other.toarray()
        np.testing.assert_array_equal(one.to_numpy(), other)
        assert one.dtype == other.dtype


def test_sums_into_numpys_arrays(session):
    a, A = both(matrix((6, 4)))
    for run in ("x += a", "x -= a", "x *= a"):
        x = np.full((6, 4), 2.0)
        there, here = {"x": x.copy(), "a": a}, {"x": x, "a": A}
        exec(run, there)
        exec(run, here)
        assert here["x"] is x
        other = there["x"]
        np.testing.assert_array_equal(x, other.toarray() if sp.issparse(other) else other)
    with pytest.raises(TypeError):
        x**A
    with pytest.raises(TypeError):
        np.int8(2) ** A


def test_other_elements_are_put_in(session):
    a, A = both(matrix((6, 4)))
    a.data = A.data = np.arange(1.0, 1 + a.nnz)
    same(A, a)
    same(A @ dnb.ones(4), a @ np.ones(4))


def test_blocks_may_be_dense_and_numbers(session):
    a, A = both(matrix((3, 2)))
    blocks = [np.ones((2, 2)), [[1, 2]], 3]
    same(sparse.block_diag([A, *blocks]), sp.block_diag([a, *blocks]))


def looks(A, x, z, seed):
    """Return what is read of an array: bits, structure, and where it lies."""
    rng = np.random.default_rng(seed)
    (m, n), found = A.shape, []
    i, j, rows, columns = rng.integers(m), rng.integers(n), rng.integers(m, size=4), rng.integers(n)
    lines = slice(*rng.integers(m + 1, size=2), int(rng.choice([1, 2, -1])))
    across = slice(*rng.integers(n + 1, size=2), int(rng.choice([1, -1])))
    for y in (
        *(A @ x, A @ dnb.stack([x, x + 1], 1), z @ A, A.T @ z, A.diagonal(1), A[lines], A.indptr),
        *(A[lines, across], A[i], A[:, j], A[rows], A[rows, columns % n], A[i, across]),
    ):
        if sparse.issparse(y):
            t = y.to_scipy()
            places = t.coords if t.format == "coo" else (t.indices, t.indptr)
            lies = y.layout.cuts
            found.append((t.data.tobytes(), t.shape, *[c.tobytes() for c in places], lies))
        else:
            found.append((y.dtype, y.to_numpy().tobytes(), y.placed.layout.spell()))
    return [*found, repr(A[i, j])]


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4", "?"])
def test_what_is_in_reach_is_computed_to_the_same_bits(session, fmt, dtype):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a = matrix(tuple(rng.integers(1, 12, 2)), density=0.5, seed=seed).tocoo()
        twice = [np.r_[c, c[: seed * 3]] for c in (*a.coords, a.data * 0.1)]
        a = sp.coo_array((twice[2].astype(dtype), tuple(twice[:2])), shape=a.shape)
        x, z = rng.standard_normal(a.shape[1]), rng.standard_normal(a.shape[0])
        told = []
        for place in ("engines", "auto"):
            with setting(place=place, cutoff=0):
                A = getattr(sparse, f"{fmt}_array")(getattr(a, f"to{fmt}")())
                told.append(looks(A, dnb.array(x, dist="block"), dnb.array(z, dist="block"), seed))
        assert told[0] == told[1]


# -- what is named, and what has the same memory ------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_slices_that_are_empty_go_backwards_too(session, fmt):
    a, A = both(matrix((5, 3)), fmt)
    for key in (
        np.s_[:, -4::-1],
        np.s_[-6::-1],
        np.s_[:, 0:5:-1],
        np.s_[::-1, ::-1],
        np.s_[:, 1::-1],
    ):
        same(A[key], a[key])
        got, want = A[key].sum(axis=1), a[key].sum(axis=1)
        np.testing.assert_array_equal(np.asarray(got), want)


PLACES = [
    *(np.s_[[0, 1, 2, 3], 0], np.s_[:, 0], np.s_[0, [0, 1, 2, 3]], np.s_[0, :], np.s_[:, [0]]),
    *(np.s_[[0, 1, 2, 3], [0, 1, 2, 3]], np.s_[[1, 1, 2, 3], 0], np.s_[:, [1, 1, 0, 2]]),
    *(np.s_[[[0], [1], [2], [3]], 0], np.s_[np.array([False, True, False, True]), 1]),
    *(np.s_[0, 2], np.s_[0:2], np.s_[[0, 2]], np.s_[:, [0, 2]], np.s_[[0, 1], [2, 2]]),
]
LINE = np.arange(1.0, 5)
VALUES = {
    "line": lambda m: m.coo_array(LINE),
    "row": lambda m: m.csr_array(LINE[None]),
    "column": lambda m: m.csr_array(LINE[:, None]),
    "twice": lambda m: m.coo_array((LINE, ([0, 0, 0, 0], [0, 1, 1, 3])), shape=(1, 4)),
    "dense": lambda m: LINE,
    "turned": lambda m: LINE[:, None],
    "zero": lambda m: 0,
}


@pytest.mark.cases(1)
@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", PLACES, ids=str)
def test_values_fit_and_zeros_are_stored_as_scipys(session, fmt, value, key):
    a, A = both(np.diag([1.0, 2, 3, 4]), fmt)
    try:
        a[key] = VALUES[value](sp)
    except ValueError:
        with pytest.raises(ValueError, match="shape mismatch|broadcast|sequence|dimensions"):
            A[key] = VALUES[value](sparse)
        return
    A[key] = VALUES[value](sparse)
    same(A, a)


def shared(m, fmt):
    """Return what is in an array, and in what was made of it, after one of them was written."""
    make = getattr(m, f"{fmt}_array")
    for run in (
        lambda x: None,
        lambda x: x.data.__imul__(2),
        lambda x: x.data.__setitem__(0, 9),
    ):
        for name in ("tocoo", "real", "imag"):
            for which in (0, 1):
                A = make(np.array([[3 + 1j, 0], [4, 5j]]))
                x = getattr(A, name)
                x = x() if callable(x) else x
                run((A, x)[which])
                yield from (A, x)
    A = make(np.array([[3.0, 0], [4, 5]]))
    x = A.tocoo()
    A.data = A.data * 3
    A.sum_duplicates()
    yield from (A, x)


@pytest.mark.ways("one", "reach")
@pytest.mark.parametrize("fmt", FORMATS)
def test_memory_is_shared_where_scipys_is(session, fmt):
    for got, want in zip(shared(sparse, fmt), shared(sp, fmt), strict=True):
        same(got, want)
    with pytest.raises(ValueError, match="read-only"):
        getattr(sparse, f"{fmt}_array")(np.eye(3)).imag.data += 1
    A = sparse.csr_array(np.array([[3.0, 0], [4, 5]]))
    x = A.tocoo()
    A[0, 1] = 7  # makes A anew
    assert x.toarray().tolist() == [[3, 0], [4, 5]]


def test_a_graph_without_links_has_no_triangles(session):
    assert dnb.graph.triangles(sparse.csr_array((5, 5)), eigenvalues=2) == 0.0


SORTING = {
    "max": lambda A: A.max(),
    "min": lambda A: A.min(),
    "abs": abs,
    "count_nonzero": lambda A: A.count_nonzero(),
    "power": lambda A: A.power(2),
    "sum_duplicates": lambda A: A.sum_duplicates(),
    "sort_indices": lambda A: A.sort_indices(),
    "eliminate_zeros": lambda A: A.eliminate_zeros(),
}


def unsorted(lib, fmt, how):
    """Return an array whose indices are not sorted."""
    A = getattr(lib, f"{fmt}_array")(np.arange(9.0).reshape(3, 3) + 1)
    return A @ A if how == "product" else A[:, [2, 0, 1]] if fmt == "csr" else A[[2, 0, 1]]


@pytest.mark.ways("one", "four", "cutoff", "spmd")
@pytest.mark.cases(6)
@pytest.mark.parametrize("how", ["product", "columns"])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("name", SORTING)
def test_what_sorts_an_array_keeps_all_views_of_it(session, name, fmt, how):
    found = []
    for lib in (sp, sparse):
        A = unsorted(lib, fmt, how)
        others = [2 * A, A.tocoo(copy=False), A.T, type(A)(A)]
        coords, elements, indices = others[1].coords, A.data, A.indices
        others += [3 * A]
        theirs = others[-1].indices
        SORTING[name](A)
        lists = [np.asarray(x).tolist() for x in (elements, indices, *coords)]
        lists += [np.asarray(x).tolist() for x in (others[-1].data, theirs)]
        lists += [np.asarray(x.toarray()).tolist() for x in others]
        elements *= 0
        elements += 5
        found.append([*lists, *[np.asarray(x.toarray()).tolist() for x in (A, *others)]])
    assert found[0][6:] == found[1][6:]
    for k in (0, 4):  # elements may be in another order than SciPy's, which sorts not stably
        pairs = [sorted(zip(*x[k : k + 2], strict=True)) for x in found]
        assert pairs[0] == pairs[1]


@pytest.mark.ways("one", "cutoff")
def test_parts_of_complex_elements_are_sorted_with_them(session):
    A = sparse.csr_array(np.arange(9).reshape(3, 3) * (1 + 2j))
    for sort in (lambda B, real: B.sort_indices(), lambda B, real: real.sort_indices()):
        B = A @ A
        want, real = B.toarray().to_numpy(), B.real
        sort(B, real)
        np.testing.assert_array_equal(B.toarray().to_numpy(), want)
        np.testing.assert_array_equal(real.toarray().to_numpy(), want.real)


@pytest.mark.ways("one", "cutoff")
def test_where_no_zeros_are_stored_eliminating_them_changes_nothing(session):
    A = sparse.csr_array(np.eye(3) + 1)
    elements = A.data
    A.eliminate_zeros()
    elements[:] = 0
    assert float(A.sum()) == 0
    A.eliminate_zeros()
    assert A.nnz == 0


@pytest.mark.ways("one", "cutoff")
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", [(1, 6), (2, 6)], ids=str)
def test_arrays_are_multiplied_by_sparse_ones_of_one_axis(session, fmt, shape):
    a, A = both(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), fmt)
    v = sp.coo_array(np.array([0, 1.0, 0, 2, 0, 3]))
    V = sparse.coo_array(v)
    same(A * V, a * v)
    same(V * A, v * a)
    same(A.multiply(v), a.multiply(v))
    same(V.multiply(a), v.multiply(a))


@pytest.mark.ways("one", "cutoff")
def test_triplets_take_columns_of_one_axis(session):
    for step in (
        *("A[:, 0] = A[:, 1]", "A[:, 0] = A[:, 0] * 2", "A[1:, 0] = A[1:, 1]", "A[0] = A[1]"),
        *("A[0, :] = A[:, 1]", "A[[0, 1], 0] = A[:2, 1]", "A[:, 0] = A[:, [1]]"),
    ):
        a, A = both(np.arange(9.0).reshape(3, 3), "coo")
        exec(step, {"A": a})
        exec(step, {"A": A})
        np.testing.assert_array_equal(A.toarray().to_numpy(), a.toarray())


@pytest.mark.parametrize("fmt", FORMATS)
def test_numpys_square_is_a_product(session, fmt):
    a, A = both(matrix((4, 3)), fmt)
    same(np.square(A), np.square(a))
    same(dnb.square(A), np.square(a))
    V = sparse.coo_array(np.array([0, 2.0, 3]))
    assert np.square(V).toarray().tolist() == [0, 4, 9]


WIDE = {
    **{name: lambda A, name=name: getattr(A, name)() for name in ("max", "min", "sum", "trace")},
    "mean": lambda A: A.mean(),
    "argmax": lambda A: A.argmax(),
    "argmin": lambda A: A.argmin(),
    "max of columns": lambda A: A.max(axis=0).toarray(),
    "argmax of columns": lambda A: A.argmax(axis=0),
    "count_nonzero": lambda A: A.count_nonzero(),
    "count_nonzero of columns": lambda A: A.count_nonzero(axis=0),
    "abs": lambda A: abs(A).sum(),
    "diagonal": lambda A: A.diagonal(),
    "sum_duplicates": lambda A: [A.sum_duplicates(), [list(x) for x in (A.row, A.col, A.data)]][1],
}


@pytest.mark.ways("one", "cutoff")
@pytest.mark.cases(14)
@pytest.mark.parametrize("name", WIDE)
def test_triplets_of_many_rows_are_reduced_without_an_array_of_all_rows(session, name):
    coords = [2**33, 0, 0, 2**33], [1, 0, 2, 1]
    a = sp.coo_array((np.array([1.0, 3, -4, 2]), coords), shape=(2**34, 3))
    got, want = WIDE[name](sparse.coo_array(a)), WIDE[name](a)
    np.testing.assert_allclose(np.asarray(got), np.asarray(want))


def test_sums_of_columns_of_many_rows_need_no_array_of_all_rows(session):
    A = sparse.coo_array(sp.coo_array((np.ones(2), ([0, 2**33], [0, 1])), shape=(2**34, 3)))
    assert A.sum(axis=0).tolist() == [1, 1, 0]


@pytest.mark.ways("one", "cutoff")
@pytest.mark.parametrize("fmt", FORMATS)
def test_the_first_extreme_of_all_is_in_c_order_and_may_not_be_stored(session, fmt):
    for dense in (
        [[0, 2, 1], [2, 0, 0]],
        [[-1, -2, -1], [-1, 0, 0]],
        [[-1, -2, -1], [-1, -3, -1]],
        [[1, 3, 0], [-1, 2, 3]],
        [[0, 0, 0], [0, 0, 0]],
    ):
        a, A = both(np.array(dense), fmt)
        for name in ("argmax", "argmin"):
            assert getattr(A, name)() == getattr(a, name)()
    a = sp.coo_array(([0, -1, -2], ([0, 0, 1], [2, 0, 1])), shape=(2, 3)).asformat(fmt)
    A = getattr(sparse, f"{fmt}_array")(a)
    assert (A.argmax(), A.argmin()) == (a.argmax(), a.argmin())


@pytest.mark.ways("one", "four", "cutoff")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_blocks_in_one_line_stay_as_they_are_stored(session, fmt):
    stack = "vstack" if fmt == "csr" else "hstack"
    first = sp.csr_array(([1.0, 2, 3, 4], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    if fmt == "csc":
        first = first.T
    theirs = [first, 2 * first, getattr(sp, f"{fmt}_array")(np.eye(3, dtype=int))]
    for layout in (None, "replicated"):
        ours = [getattr(sparse, f"{fmt}_array")(x, dist=layout) for x in theirs[:2]]
        got = getattr(sparse, stack)([*ours, theirs[2]]).to_scipy()
        want = getattr(sp, stack)(theirs)
        single = getattr(sparse, stack)([*ours, theirs[2]], dtype="f4")
        assert single.dtype == np.float32
        np.testing.assert_array_equal(single.toarray().to_numpy(), want.toarray())
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
    other = getattr(sparse, f"{fmt}_array")((4, 4))
    with pytest.raises(ValueError, match="incompatible dimensions"):
        getattr(sparse, stack)([ours[0], other])
    alone = getattr(sparse, stack)([ours[0]])
    alone.data[:] = 9
    assert ours[0].data.tolist() == first.data.tolist()


def test_random_integers_are_of_all_their_dtype(session):
    for dtype in ("i4", "u1", "i8"):
        A = sparse.random_array((20, 20), density=0.5, dtype=dtype, rng=0)
        assert (A.dtype, A.nnz) == (np.dtype(dtype), 200)
        assert int(A.data.max()) > np.iinfo(dtype).max // 2


def test_places_are_cut_to_whole_numbers(session):
    for rows, columns in (([0.0, 2.5], [1.0, 1.0]), ([True, False], [True, True])):
        want = sp.coo_array((np.ones(2), (np.array(rows), np.array(columns))), shape=(3, 3))
        places = dnb.array(rows), dnb.array(columns)
        for kind in (sparse.coo_array, sparse.csr_array):
            got = kind((dnb.ones(2), places), shape=(3, 3))
            np.testing.assert_array_equal(got.toarray().to_numpy(), want.toarray())
    with pytest.raises(TypeError, match="coordinates"):
        sparse.coo_array((dnb.ones(1), (dnb.array([1j]), dnb.array([0]))), shape=(3, 3))


def test_weights_may_be_as_large_as_numbers_are(session):
    cuts = []
    for weight in (1.0, 1e308, 1e-320):
        x = dnb.arange(9.0)
        dnb.repartition(x, by=np.full(9, weight))
        cuts.append(x.layout.base.spell())
    assert cuts[0] == cuts[1] == cuts[2]


@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_triplets_have_the_elements_that_are_put_there(session, fmt):
    a, A = [x.tocoo(copy=False) for x in both(matrix((4, 3)), fmt)]
    for x in (a, A):
        x.data = 2 * x.data
    same(A.tocsr(), a.tocsr())
    same(A.sum(axis=0), a.sum(axis=0))
