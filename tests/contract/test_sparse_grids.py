"""Sparse arrays in blocks on grids of engines: SciPy's results, and what is sent for them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import sparse
from distnb.common.errors import LayoutError
from tests.contract.support import between_engines
from tests.contract.test_sparse import (
    ASSIGNMENTS,
    CASES,
    DTYPES,
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

#: Elements of an array in blocks come block by block: these tell of their order.
ORDERED = {"A.tocoo().row", "A.tocoo().col", "A.indices", "A.indptr", "A.data"}


def grids_of(session):
    """Return grids that fit on the engines."""
    p = session.size
    return [(r, c) for r in range(1, p + 1) for c in range(1, p + 1) if r * c <= p]


def widest(session):
    """Return a grid with more than one engine along columns, if there are more, as near a square."""
    return max(grids_of(session), key=lambda g: (g[0] * g[1], min(g), g[1]))


def sent(session, run):
    """Return how many messages, and bytes, engines send while something runs."""
    session.flush()
    window = session.start_window()
    run()
    report = session.end_window(window)
    messages = sum(rank.messages for op in report.ops for rank in op.ranks)
    return messages, between_engines(report)


@pytest.mark.cases(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize(("shape", "dtype"), KINDS, ids=str)
@pytest.mark.parametrize("which", ["A", "B", "AB"])
def test_expressions(session, shape, dtype, fmt, which):
    theirs, ours = names_of(shape, dtype, fmt)
    ours |= {name: ours[name].redistribute(grid=widest(session)) for name in (*which, "Q")}
    for expression in CASES:
        if expression not in ORDERED or "A" not in which:
            check(expression, theirs, ours)


@pytest.mark.ways("four", "spmd", "openmpi")
@pytest.mark.cases(2)
@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_grids(session, dtype, fmt):
    for shape in ((7, 5), (2, 9), (0, 3), (3, 0)):
        a = matrix(shape, dtype, fmt=fmt)
        x, y = vector((shape[1], 2), dtype), vector(shape[:1], dtype)
        made = getattr(sparse, f"{fmt}_array")
        for grid in grids_of(session):
            A = made(a, grid=grid)
            assert len(A.layout.nnz) == session.size
            for got, want in ((A, a), (A.toarray(), a.toarray()), (A @ x, a @ x), (y @ A, y @ a)):
                same(got, want)
            for got, want in ((A.tocsr(), a.tocsr()), (A.tocsc(), a.tocsc()), (A.T, a.T)):
                same(got, want)
            same(A @ dnb.array(x, dist="replicated"), a @ x)
            same(A.redistribute("nnz"), a)
            same(A.redistribute("replicated").redistribute(grid=grid), a)
            if A.layout.axis == "blocks":
                assert A.tocsr().layout == A.tocsc().layout == A.layout


@st.composite
def placed(draw):
    """Draw two arrays, and places where rows and columns of the first are cut, as shares."""
    a, b, _ = draw(pairs())
    return a, b, [draw(st.lists(st.floats(0, 1), min_size=3, max_size=3)) for _ in range(2)]


@pytest.mark.ways("four", "reach", "spmd", "started", "openmpi")
@pytest.mark.filterwarnings("ignore:Comparing a sparse matrix")
@examples(40)
@given(placed())
def test_any_arrays_and_cuts(session, drawn):
    a, b, shares = drawn
    grid = widest(session)
    cuts = [
        ("irregular", (0, *sorted(int(n * s) for s in some[: g - 1]), n))
        for n, g, some in zip(a.shape, grid, shares, strict=True)
    ]
    given = (dnb.array(a.data), tuple(dnb.array(c) for c in a.coords))
    A = sparse.csr_array(given, shape=a.shape, dist=tuple(cuts))
    B, C = sparse.csc_array(b, grid=grid), sparse.csr_array(a)
    whole = A.redistribute("replicated")
    a, b = a.tocsr(), b.tocsc()
    x, y = vector(a.shape[1:], a.dtype), vector((a.shape[0], 2), a.dtype)
    for got, want in (
        *((A, a), (A.redistribute(grid=grid[::-1]), a), (A.redistribute(), a), (whole, a)),
        *((A.toarray(), a.toarray()), (A.tocsc(), a.tocsc()), (A.T.tocsr(), a.T.tocsr())),
        *((A @ x, a @ x), (A.T @ y, a.T @ y), (A @ B, a @ b), (B.T @ A.T, b.T @ a.T)),
        *((A + C, a + a), (C + A, a + a), (whole - A, a - a), (A * C, a.multiply(a))),
        *((A + C.redistribute(grid=grid), a + a), (A.tocsc() * C.tocsc(), (a * a).tocsc())),
        *((A != 1, a != 1), (A.sum(axis=0), a.sum(axis=0)), (A.sum(axis=1), a.sum(axis=1))),
        *((A[::-1], a[::-1]), (A[:, ::2], a[:, ::2]), (A * x, a.multiply(x))),
        *((A.data.sum(), a.data.sum()), (A.nonzero()[1], a.nonzero()[1].astype("i4"))),
    ):
        same(got, want)


def test_duplicates_stay_until_they_are_summed(session):
    data = np.array([1.0, 2, 3, 0, 5, -5, 7, 4])
    a = sp.csr_array((data, [3, 1, 3, 0, 2, 2, 1, 0], [0, 3, 3, 6, 8]), shape=(4, 5))
    A = sparse.csr_array(a, grid=widest(session))
    assert A.nnz == 8
    A.data[...] *= 2
    np.testing.assert_array_equal((A @ np.arange(5.0)).to_numpy(), 2 * (a @ np.arange(5.0)))
    np.testing.assert_array_equal(A.toarray().to_numpy(), 2 * a.toarray())
    lies = A.layout.boxes
    A.sum_duplicates()
    assert A.nnz == 6
    A.eliminate_zeros()
    assert A.nnz == 4
    assert A.layout.boxes == lies
    np.testing.assert_array_equal(A.toarray().to_numpy(), 2 * a.toarray())


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_assignment_leaves_it_where_it_is(session, fmt):
    a = matrix((6, 5), fmt=fmt)
    made = getattr(sparse, f"{fmt}_array")
    lies = made(a, grid=widest(session)).layout.boxes
    for step in (s.strip() for s in ASSIGNMENTS.replace("\n", ";").split(";") if s.strip()):
        A, b = made(a, grid=widest(session)), a.copy()
        exec(step, {"x": A, "np": np})
        exec(step, {"x": b, "np": np})
        np.testing.assert_array_equal(A.toarray().to_numpy(), b.toarray(), step)
        assert A.layout.boxes == lies, step


def test_parts_are_added_in_the_order_of_columns(session):
    r, c = grid = widest(session)
    rng = np.random.default_rng(5)
    a = sp.csr_array(rng.standard_normal((40, 60)) * 10.0 ** rng.integers(-9, 9, 60))
    x = rng.standard_normal(60)
    cuts = dnb.geometry.layout.make_layout((40, 60), session.size, None, grid).axes[1]
    want = np.zeros(40)
    for j in range(c):
        low, high = cuts.bounds(60, c, j)
        want += a[:, low:high] @ x[low:high]
    np.testing.assert_array_equal((sparse.csr_array(a, grid=grid) @ x).to_numpy(), want)


def test_other_functions_take_them(session, tmp_path):
    a = matrix((9, 9), density=0.5)
    A = sparse.csr_array(a, grid=widest(session))
    np.testing.assert_array_equal(
        dnb.foreach(lambda part: part.sum(axis=1), A.splits(4)).to_numpy(), a.sum(axis=1)
    )
    whole = dnb.foreach(lambda one, M: M @ one, dnb.eye(9).splits(axis=1), A)
    np.testing.assert_array_equal(whole.to_numpy(), a.toarray())
    same(sparse.hstack([A, sparse.csr_array(a)]), sp.hstack([a, a]))
    same(sparse.kron(A, A, format="csr"), sp.kron(a, a, format="csr"))
    same(sparse.csr_array(A), a)
    assert sparse.csr_array(A).layout == A.layout
    sparse.save_npz(tmp_path / "A.npz", A)
    same(sparse.load_npz(tmp_path / "A.npz"), a)
    sparse.mmwrite(tmp_path / "A.mtx", A)
    same(sparse.mmread(tmp_path / "A.mtx").tocsr(), a.tocoo().tocsr())
    x, rows = vector((9,)), sparse.csr_array(a)
    for left, right in ((A, x), (x, A), (A, A), (A, rows), (rows, A)):
        dense = [z.redistribute() if sparse.issparse(z) else z for z in (left, right)]
        got, want = [sparse.matmul(*z, "min_plus") for z in ((left, right), dense)]
        np.testing.assert_array_equal(*[sparse_or_dense(z) for z in (got, want)])
    out = A.copy()
    sparse.matmul(A, A, mask=A, out=out)
    assert out.layout.boxes == A.layout.boxes
    found = np.where(a.toarray() != 0, (a @ a).toarray(), 0)
    np.testing.assert_allclose(out.toarray().to_numpy(), found)


def sparse_or_dense(x):
    """Return the elements of a result."""
    return (x.toarray() if sparse.issparse(x) else x).to_numpy()


# -- where they lie --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def four():
    with dnb.inprocess(4) as found:
        yield found


@pytest.fixture(scope="module")
def nine():
    with dnb.inprocess(9) as found:
        yield found


def test_layouts_are_told(four):
    a = matrix((10, 7), density=0.5)
    A = sparse.csr_array(a, grid=(2, 2), session=four)
    assert A.layout.axis == "blocks"
    assert (A.layout.cuts, A.layout.across) == ((0, 5, 10), (0, 4, 7))
    assert A.layout.holdings[2] == "rows 5:10, columns 0:4"
    assert A.layout.nnz == tuple(a[i : i + 5, j : j + 4].nnz for i in (0, 5) for j in (0, 4))
    assert A.layout.total == a.nnz
    assert repr(A.layout).startswith("blocks on a grid of 2x2, ")
    assert repr(A).endswith(" on 4 engines>")
    turned = A.T.layout
    assert (turned.cuts, turned.across) == ((0, 4, 7), (0, 5, 10))
    assert turned.holdings[2] == "rows 0:4, columns 5:10"
    assert A.tocsc().layout == A.layout
    assert sparse.csc_array(a, grid=(2, 2), session=four).layout == A.layout
    assert A.toarray().layout.base == dnb.array(a.toarray(), grid=(2, 2), session=four).layout.base
    wide = A.redistribute(grid=(1, 3)).layout
    assert wide.holdings == ("rows 0:10, columns 0:3", "rows 0:10, columns 3:5") + (
        "rows 0:10, columns 5:7",
        "nothing",
    )
    rows = A.redistribute(grid=(3, 1)).layout
    assert (rows.axis, rows.cuts) == ("rows", (0, 4, 7, 10, 10))
    assert A.redistribute(("block", "*")).layout == sparse.csr_array(a, session=four).layout
    pytest.importorskip("matplotlib")
    labels = [text.get_text() for text in A.layout.plot().get_yticklabels()]
    assert labels[1] == "engine 1: rows 0:5, columns 4:7"


def test_what_does_not_fit_is_refused(four):
    a = matrix((9, 9))
    A = sparse.csr_array(a, grid=(2, 2), session=four)
    for run in (
        lambda: dnb.repartition(A),
        lambda: dnb.together(A, dnb.ones(9, session=four)),
        lambda: dnb.together(dnb.ones(9, session=four), A),
    ):
        with pytest.raises(LayoutError, match=r"a whole array that can be cut .*redistribute it"):
            run()
    with pytest.raises(LayoutError, match="product of at most 4"):
        A.redistribute(grid=(2, 3))
    with pytest.raises(LayoutError, match="leave one of them out"):
        A.redistribute("nnz", grid=(2, 2))
    with pytest.raises(LayoutError, match="grid"):
        A.redistribute("replicated", grid=(2, 2))
    with pytest.raises(NotImplementedError, match="blocks of rows and columns"):
        A.redistribute(("block", "cyclic"))
    with pytest.raises(
        NotImplementedError, match=r"indptr: got blocks on a grid of 2x2.*redistrib"
    ):
        A.indptr  # noqa: B018 - it is a property
    same(A, a)


def test_what_each_engine_does_with_its_block_sends_nothing(four):
    a = matrix((40, 40), density=0.3)
    A = sparse.csr_array(a, grid=(2, 2), session=four)
    D = dnb.ones((40, 40), grid=(2, 2), session=four)
    found = {}

    def run():
        found.update(plus=A + A, less=A - 2 * A, kind=A.astype("f4"), power=A**2, few=A > 1)
        found.update(turned=A.T, other=A.tocsc(), dense=A.toarray(), times=A * D)
        A.eliminate_zeros()
        four.flush()

    assert sent(four, run) == (0, 0)
    assert {x.layout.boxes for k, x in found.items() if k not in ("turned", "dense")} == {
        A.layout.boxes
    }
    same(found["other"], a.tocsc())


def test_a_product_sends_less_than_of_rows(nine):
    n = 900
    a = sp.random_array((n, n), density=0.2, rng=1, format="csr")
    A = sparse.csr_array(a, session=nine)
    B, x = A.redistribute(grid=(3, 3)), dnb.ones(n, dist="block", session=nine)
    for M in (A, B, A.T, B.T):
        M @ x  # finds out who needs what
    counted = {}
    for name, M in {"rows": A, "grid": B, "columns": A.T, "turned": B.T}.items():
        x *= 1
        counted[name] = sent(nine, lambda M=M: M @ x)
    part = n // 9 * 8
    assert counted["rows"] == counted["columns"] == (9 * 8, 9 * 8 * part)
    # Engine (r, c) gets the thirds of x that are columns c, of three engines, of which it may be
    # one; and gives two of three parts of its rows to the two others that have these rows.
    assert counted["grid"] == ((9 * 3 - 3) + 9 * 2, (9 * 3 - 3 + 9 * 2) * part)
    assert counted["turned"] == counted["grid"]
    x *= 1
    B @ x
    assert sent(nine, lambda: B @ x)[1] == 9 * 2 * part  # what was brought of x serves again
    assert (B @ x).dbase.layout == x.dbase.layout  # so that vectors meet without messages
    assert (B.T @ x).dbase.layout == x.dbase.layout


@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_without_elements_are_not_sent(four, dtype):
    n = 400
    rows = np.array([0, 7, 99, 100, 101, 250, 399])
    a = sp.coo_array((np.ones(7), (rows, rows[::-1])), shape=(n, n)).astype(dtype).tocsr()
    A = sparse.csr_array(a, grid=(2, 2), session=four)
    for inner in ((), (3,)):
        x = dnb.ones((n, *inner), dtype, dist="block", session=four)
        A @ x
        moved = sent(four, lambda x=x: A @ x)  # what it needs of x is there
        # Each engine gives 100 lines to another one, of which few have elements: these, and a mask.
        few = sum(np.count_nonzero(a[r : r + 100, c].sum(axis=1)) for r, c in OTHERS)
        one = x.dtype.itemsize * int(np.prod(inner))
        assert moved == (4, 4 * 13 + few * one)
        same(A @ x, a @ x.to_numpy())
        same(A.T @ x, a.T @ x.to_numpy())
    same(A.sum(axis=1), a.sum(axis=1))


#: Of engines 0 to 3 on 2 x 2, the first of the 100 rows that they give away, and their columns.
OTHERS = [(100, slice(0, 200)), (0, slice(200, 400)), (300, slice(0, 200)), (200, slice(200, 400))]


def test_engines_get_what_they_do_not_have(four):
    n = 64
    a = sp.csr_array(np.ones((n, n)))
    A = sparse.csr_array(a, session=four)
    moved = sent(four, lambda: A.redistribute(grid=(2, 2)))
    # Of each engine's 16 rows one half of the columns goes to the other engine that has these rows:
    # lengths of rows, indices and elements.
    assert moved == (4 * 3, 4 * (16 * 8 + 16 * 32 * (4 + 8)))


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
def test_what_is_made_by_rule_lies_as_it_is_asked_to(session, fmt):
    grid = widest(session)
    cut = {"dist": ("irregular", (0, *(7,) * session.size))}
    for lies in ({"grid": grid}, {"dist": "nnz"}, {"dist": "replicated"}, cut):
        at = {"format": fmt, **lies}
        eye = sparse.eye_array(7, k=1, **at)
        line = sparse.diags_array([[2.0] * 7, [3.0] * 6], offsets=[0, 1], **at)
        some = sparse.random_array((7, 7), density=0.4, rng=1, **at)
        same(eye, sp.eye_array(7, k=1, format=fmt))
        same(line, sp.diags_array([[2.0] * 7, [3.0] * 6], offsets=[0, 1], format=fmt))
        same(some, sparse.random_array((7, 7), density=0.4, rng=1, format=fmt).to_scipy())
        for x in (eye, line, some):
            asked = x.asformat("csc" if fmt == "csc" else "csr")
            assert x.layout == asked.redistribute(**lies).layout


def test_functions_of_graphs_take_them(session):
    A = dnb.graph.rmat(6, seed=3, session=session)
    B = dnb.graph.rmat(6, seed=3, grid=widest(session), session=session)
    assert B.layout == A.redistribute(grid=widest(session)).layout
    for run in (
        dnb.graph.pagerank,
        lambda G: dnb.graph.bfs(G, 0),
        lambda G: dnb.graph.connected_components(G)[1],
        sparse.linalg.norm,
    ):
        got, want = [np.asarray(run(G)) for G in (B, A)]
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_power_iteration_on_a_grid(session):
    a = abs(matrix((30, 30), density=0.5)) + sp.eye_array(30, format="csr")
    A, x, y = sparse.csr_array(a, grid=widest(session)), dnb.ones(30), np.ones(30)
    for _ in range(20):
        x, y = A.T @ (A @ x), a.T @ (a @ y)
        x, y = x / x.max(), y / y.max()
    np.testing.assert_allclose(x.to_numpy(), y)
