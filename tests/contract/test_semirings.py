"""Products in semirings agree with what the definition says, element by element."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from distnb.ops.semirings import MONOIDS, MULTIPLIES
from tests.contract.test_sparse import matrix, vector

pytestmark = pytest.mark.ways("one")

ADDS = {
    **{"plus": np.add, "times": np.multiply, "min": np.minimum, "max": np.maximum},
    **{"or": np.logical_or, "and": np.logical_and, "xor": np.logical_xor, "any": lambda a, b: a},
}
BY = {
    **{"times": np.multiply, "plus": np.add, "minus": np.subtract, "div": np.true_divide},
    **{"min": np.minimum, "max": np.maximum, "first": lambda a, b: a, "second": lambda a, b: b},
    **{"or": np.logical_or, "and": np.logical_and, "xor": np.logical_xor},
    "pair": lambda a, b: np.int64(1),
}
TRUTH = ("or", "and", "xor")


def empty(add, dtype):
    """Return what a dense result has where nothing comes."""
    if add in ("min", "max"):
        least, most = {
            "b": lambda _: (False, True),
            "i": lambda d: (np.iinfo(d).min, np.iinfo(d).max),
            "f": lambda _: (-np.inf, np.inf),
        }[dtype.kind](dtype)
        return most if add == "min" else least
    return 1 if add in ("times", "and") else 0


def stored(a):
    """Return the stored elements of SciPy's array, by place."""
    a = a.tocoo()
    return {(int(i), int(j)): v for i, j, v in zip(*a.coords, a.data, strict=True)}


def product(a, b, name):
    """Return the product of two dictionaries of elements."""
    add, by = name.split("_")
    if add in TRUTH or by in TRUTH:  # then both factors are taken as truth values
        a, b = [{k: np.bool_(v) for k, v in x.items()} for x in (a, b)]
    found = {}
    rows = {}
    for (k, j), v in sorted(b.items()):
        rows.setdefault(k, []).append((j, v))
    with np.errstate(all="ignore"):
        for (i, k), u in sorted(a.items()):
            for j, v in rows.get(k, []):
                z = BY[by](u, v) if by != "pair" or add not in TRUTH else np.True_
                found[i, j] = ADDS[add](found[i, j], z) if (i, j) in found else z
    return found


def check(got, want, name):
    """Compare a sparse result with a dictionary."""
    there = stored(got.to_scipy())
    if name == "plus_times":  # SciPy's own, which stores no zeros
        want = {k: v for k, v in want.items() if v}
    assert there.keys() == want.keys(), name
    for place, v in want.items():
        np.testing.assert_array_equal(there[place], v, err_msg=name)


@pytest.mark.cases(3)
@pytest.mark.parametrize("multiply", MULTIPLIES)
@pytest.mark.parametrize("add", MONOIDS)
def test_all_semirings(session, add, multiply):
    name = f"{add}_{multiply}"
    a, b = matrix((7, 6)), matrix((6, 8), seed=2, fmt="csc")
    if add in TRUTH and multiply in ("minus", "div"):  # as NumPy has it of bools
        with pytest.raises(TypeError):
            sparse.matmul(sparse.csr_array(a), b, name)
        return
    with np.errstate(all="ignore"):
        want = product(stored(a), stored(b), name)
    for fmt in ("csr", "csc"):
        A = getattr(sparse, f"{fmt}_array")(a)
        check(sparse.matmul(A, b, name), want, name)
    x = vector(6) + 0.5
    line = product(stored(a), {(k, 0): v for k, v in enumerate(x)}, name)
    A = sparse.csr_array(a)
    for got in (
        sparse.matmul(A, x, name),
        sparse.matmul(A.tocsc(), x[:, None], name).reshape(7),
        sparse.matmul(A, dnb.array(x, dist="cyclic"), name),
    ):
        assert got.shape == (7,)
        start = empty(add, got.dtype)
        full = np.array([line.get((i, 0), start) for i in range(7)], got.dtype)
        np.testing.assert_array_equal(got.to_numpy(), full, err_msg=name)
    turned = {(0, k): v for k, v in enumerate(vector(7) + 0.5)}
    line = product(turned, stored(a), name)
    for X in (A, A.tocsc()):
        got = sparse.matmul(vector(7) + 0.5, X, name)
        start = empty(add, got.dtype)
        full = np.array([line.get((0, j), start) for j in range(6)], got.dtype)
        np.testing.assert_array_equal(got.to_numpy(), full, err_msg=name)


@pytest.mark.cases(4)
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "c16"])
def test_dtypes(session, dtype):
    a, b = matrix((5, 6), dtype), matrix((6, 4), dtype, seed=3)
    A = sparse.csr_array(a)
    for name in ("plus_times", "plus_pair", "min_plus", "max_first", "plus_second", "any_pair"):
        want = product(stored(a), stored(b), name)
        got = sparse.matmul(A, b, name)
        if name == "plus_times":
            assert got.dtype == (a @ b).dtype
            np.testing.assert_array_equal(got.to_scipy().toarray(), (a @ b).toarray())
            continue
        kind = {"pair": np.int64, "plus": a.dtype}.get(name.split("_")[1], a.dtype)
        assert got.dtype == (bool if name == "any_pair" else kind)
        if dtype != "?":
            check(got, {k: got.dtype.type(v) for k, v in want.items()}, name)
    with pytest.raises(TypeError):
        sparse.matmul(sparse.csr_array(a.astype(bool)), b.astype(bool), "plus_minus")


@pytest.mark.cases(4)
@pytest.mark.parametrize("accum", MULTIPLIES)
def test_sums_of_zero_are_accumulated(session, accum):
    a, b = np.array([[1.0, 1, 0], [2, 0, 0]]), np.array([[3.0, 1], [-3, 1], [0, 0]])
    for fmt, how in itertools.product(("csr", "csc"), ({}, {"grid": (1, session.size)})):
        make = getattr(sparse, f"{fmt}_array")
        found = []
        for mask in (None, sparse.csr_array(np.ones((2, 2)))):
            out = make(np.array([[5.0, 2], [0, 7]]), **how)
            sparse.matmul(make(a, **how), sp.csr_array(b), accum=accum, out=out, mask=mask)
            found.append(out.toarray().to_numpy())
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(found[0][0, 0], np.float64(BY[accum](5.0, 0.0)))


@pytest.mark.cases(4)
@pytest.mark.parametrize("accum", [None, "plus", "min", "second"])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_masks_and_accumulators(session, fmt, accum):
    a, b, m, c = [matrix(s, seed=k) for k, s in enumerate([(6, 7), (7, 9), (6, 9), (6, 9)], 4)]
    full = product(stored(a), stored(b), "min_plus")
    A = sparse.csr_array(a).asformat(fmt)
    names = {k for k, v in stored(m).items() if v}
    assert len(names) < m.nnz  # stored zeros are there
    for others in (False, True):
        for by_place in (False, True):
            named = set(stored(m)) if by_place else names
            inside = lambda k: (k in named) != others  # noqa: E731
            found = {k: v for k, v in full.items() if inside(k)}
            how = {"mask": sparse.csr_array(m), "complement": others, "structure": by_place}
            check(sparse.matmul(A, b, "min_plus", **how), found, "min_plus")
            for replace in (False, True):
                C = sparse.csr_array(c).asformat(fmt)
                got = sparse.matmul(A, b, "min_plus", accum=accum, out=C, replace=replace, **how)
                assert got is C
                want = {k: v for k, v in stored(c).items() if inside(k) or not replace}
                if accum is None:
                    want = {k: v for k, v in want.items() if not inside(k)}
                    want |= found
                else:
                    both = {k: BY[accum](want[k], v) for k, v in found.items() if k in want}
                    want |= found | both
                check(C, want, "min_plus")
    C = sparse.csr_array(c)
    sparse.matmul(A, b, "min_plus", accum=accum, out=C)
    want = dict(full) if accum is None else stored(c) | full
    if accum is not None:
        want |= {k: BY[accum](stored(c)[k], v) for k, v in full.items() if k in stored(c)}
    check(C, want, "min_plus")


def test_masks_of_dense_results(session):
    a, x = matrix((8, 6), density=0.15), vector(6) + 0.5
    A, mask, old = sparse.csr_array(a), np.arange(8) % 3 > 0, np.arange(8.0)
    full = sparse.matmul(A, x, "min_plus").to_numpy()
    assert np.isinf(full).any()
    got = sparse.matmul(A, x, "min_plus", mask=mask)
    np.testing.assert_array_equal(got.to_numpy(), np.where(mask, full, np.inf))
    out = dnb.array(old)
    assert sparse.matmul(A, x, "min_plus", mask=mask, complement=True, out=out) is out
    np.testing.assert_array_equal(out.to_numpy(), np.where(mask, old, full))
    out = dnb.array(old)
    sparse.matmul(A, x, "min_plus", accum="min", out=out)
    np.testing.assert_array_equal(out.to_numpy(), np.minimum(old, full))
    out = dnb.array(old)
    sparse.matmul(A, x, "min_plus", accum="plus", out=out)  # nothing comes where it is inf
    np.testing.assert_array_equal(out.to_numpy(), np.where(np.isinf(full), old, old + full))


def test_what_does_not_fit_is_refused(session):
    a = matrix((5, 6))
    A = sparse.csr_array(a)
    for call, error in [
        (lambda: sparse.matmul(A, A), ValueError),
        (lambda: sparse.matmul(A, np.ones(5)), ValueError),
        (lambda: sparse.matmul(np.ones(6), A), ValueError),
        (lambda: sparse.matmul(A, np.ones((6, 2, 2))), ValueError),
        (lambda: sparse.matmul(np.ones(3), np.ones(3)), TypeError),
        (lambda: sparse.matmul(A, np.ones(6), "best_plus"), ValueError),
        (lambda: sparse.matmul(A, np.ones(6), 3), ValueError),
        (lambda: sparse.matmul(A, np.ones(6), accum="plus"), ValueError),
        (lambda: sparse.matmul(A, np.ones(6), complement=True), ValueError),
        (lambda: sparse.matmul(A, np.ones(6), mask=np.ones(6)), ValueError),
        (lambda: sparse.matmul(A, np.ones(6), mask=sparse.csr_array(a)), TypeError),
        (lambda: sparse.matmul(A, A.T, mask=np.ones((5, 5))), TypeError),
        (lambda: sparse.matmul(A, A.T, mask=A), ValueError),
        (lambda: sparse.matmul(A, A.T, out=sp.csr_array((5, 5))), TypeError),
    ]:
        with pytest.raises(error):
            call()
    assert A.nnz == a.nnz


def test_empty_ones(session):
    for shape, inner in [((0, 3), 4), ((3, 0), 2), ((2, 2), 0)]:
        A, b = sparse.csr_array(shape), sp.csr_array((shape[1], inner))
        assert sparse.matmul(A, b, "min_plus").shape == (shape[0], inner)
        got = sparse.matmul(A, np.ones(shape[1]), "min_plus")
        np.testing.assert_array_equal(got.to_numpy(), np.full(shape[0], np.inf))


def test_equal_places_are_summed_first(session):
    A = sparse.coo_array((np.array([2.0, 3.0]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    got = sparse.matmul(A, np.array([10.0, 20.0]), "min_plus")
    np.testing.assert_array_equal(got.to_numpy(), [25.0, np.inf])


@pytest.mark.ways("four", "started", "spmd")
@pytest.mark.cases(4)
@pytest.mark.parametrize("name", ["min_plus", "plus_times", "any_first", "max_second", "or_and"])
def test_what_is_not_present_takes_no_part(session, name):
    a = matrix((9, 9))
    x, there = vector(9) + 0.5, np.arange(9) % 3 == 1
    x[0] = np.nan  # which nobody sees
    add = name.split("_")[0]
    some = {(k, 0): v for k, v in enumerate(x) if there[k]}
    line = product(stored(a), some, name)
    back = product({(0, k): v for (k, _), v in some.items()}, stored(a), name)
    for X in (sparse.csr_array(a), sparse.csc_array(a)):
        for lies in ("block", "cyclic", "replicated"):
            y, which = dnb.array(x, dist=lies), dnb.array(there)
            for got, want in (
                (sparse.matmul(X, y, name, present=which), {i: v for (i, _), v in line.items()}),
                (sparse.matmul(y, X, name, present=there), {j: v for (_, j), v in back.items()}),
            ):
                start = empty(add, got.dtype)
                full = np.array([want.get(i, start) for i in range(9)], got.dtype)
                np.testing.assert_array_equal(got.to_numpy(), full, err_msg=name)
    out = dnb.zeros(9)
    sparse.matmul(sparse.csr_array(a), x, "plus_times", present=np.zeros(9, bool), out=out)
    assert not out.to_numpy().any()


def test_present_is_of_a_dense_vector(session):
    A = sparse.csr_array(matrix((7, 6)))
    for factor, present in ((vector((6, 2)), np.ones(6, bool)), (vector(6), np.ones(5, bool))):
        with pytest.raises(ValueError, match="^present: got shape"):
            sparse.matmul(A, factor, present=present)
    with pytest.raises(ValueError, match="^present: got sparse factors"):
        sparse.matmul(A, A.T, present=np.ones(6, bool))


@pytest.mark.ways("one", "cutoff")
def test_products_leave_their_factors_as_they_are(session):
    P = sparse.csr_array(np.arange(9.0).reshape(3, 3))
    Q = P @ P
    R = sparse.csr_array(sp.csr_array(([1.0, 5, 3], [2, 0, 2], [0, 3, 3, 3]), shape=(3, 3)))
    for A in (Q, R):
        before = A.data.tolist(), A.indices.tolist()
        for other in (P, P.toarray(), dnb.ones(3), dnb.ones(3)):
            sparse.matmul(A, other, "min_plus")
            sparse.matmul(other, A, "max_times")
        sparse.matmul(P, P, "min_plus", mask=A)
        assert (A.data.tolist(), A.indices.tolist()) == before
    want = [4, np.inf, np.inf]  # 1 + 3 at one place
    np.testing.assert_array_equal(sparse.matmul(R, np.zeros(3), "min_plus").to_numpy(), want)
