"""Methods of sparse arrays agree with SciPy's: diagonals, shapes, brackets of triplets, one axis."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from tests.contract.test_sparse import matrix, same, vector

SHAPES = [(7, 5), (2, 9), (1, 1), (0, 3), (3, 0)]
FORMATS = ["csr", "csc", "coo"]

pytestmark = pytest.mark.cases(2)


def layouts(session, n):
    """Return how rows or columns are cut: evenly, unevenly, with engines that have none, in blocks."""
    p = session.size
    grids = [{"grid": (2, p // 2)}, {"grid": (1, p)}] if p % 2 == 0 else [{"grid": (1, p)}]
    first = {"dist": ("irregular", (0,) * p + (n,))}
    last = {"dist": ("irregular", (0,) + (n,) * p)}
    return [{}, {"dist": "nnz"}, first, last, {"dist": "replicated"}, *grids]


def arrays(session, a):
    """Return SciPy's array distributed, in its format, in all layouts."""
    kind = getattr(sparse, type(a).__name__)
    if a.format == "coo":
        others = [{}, {"dist": "replicated"}, {"grid": (1, session.size)}]
        return [kind(a), *[kind(sparse.csc_array(a, **options)) for options in others]]
    n = a.shape[a.format == "csc"]
    return [kind(a, **options) for options in layouts(session, n)]


def two_of(session, a, which):
    """Return the array in two of these layouts, others for each number."""
    found = arrays(session, a)
    return [found[(which + k) % len(found)] for k in (0, 2)]


def outcome(run):
    """Return what a function gives, or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run()
        except Exception as error:
            return type(error)


def agree(got, want):
    """Check a result, or the type of an exception; one axis is COO here where SciPy's is CSR."""
    if isinstance(want, type):
        assert got is want
        return
    assert not isinstance(got, type), got
    if isinstance(want, tuple):
        for x, y in zip(got, want, strict=True):
            agree(x, y)
    elif sp.issparse(want):
        same(got, want.tocoo() if want.ndim == 1 else want)
    else:
        assert not sparse.issparse(got)
        same(got if isinstance(got, dnb.DistArray) else np.asarray(got), np.asarray(want))


def compare(expressions, theirs, ours):
    """Check expressions, in which ``S`` is SciPy's module and ``dnb.sparse``."""
    for expression in expressions.split("  "):
        text = expression.strip()
        if text:
            # SciPy changes some of its arrays: permute_dims, and sums of equal places
            there = {name: x.copy() for name, x in theirs.items()}
            want = outcome(lambda: eval(text, {"np": np, "S": sp, **there}))
            got = outcome(lambda: eval(text, {"np": np, "S": sparse, **ours}))
            try:
                agree(got, want)
            except Exception as error:
                error.add_note(text)
                raise


# -- diagonals -----------------------------------------------------------------------------------


@pytest.mark.ways("four")
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_diagonals_are_set(session, shape, fmt):
    a = matrix(shape, fmt=fmt)
    given = [7, 1.5, [3, 0], np.arange(9.0), [], *[[[1.0], [2.0]]] * (0 not in shape)]
    for which, (k, values) in enumerate(itertools.product((-9, -1, 0, 2), given)):
        want, count = a.copy(), max(0, min(shape[0] + min(k, 0), shape[1] - max(k, 0)))
        few = values[:count] if fmt == "coo" and np.ndim(values) == 1 else values  # SciPy's fails
        failed = outcome(lambda: want.setdiag(few, k))
        want = a if isinstance(failed, type) else want  # SciPy's may be left half done
        for A in two_of(session, a, which):
            before = A.layout
            assert outcome(lambda: A.setdiag(values, k)) is failed
            same(A, want)
            if fmt != "coo":
                assert (A.layout.axis, A.layout.cuts) == (before.axis, before.cuts)


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_diagonal_has_the_dtype_of_scipys(session, fmt):
    some = np.array([[1, 0, 2], [0, 4, 3]])
    for dtype, values in (("i4", [1.5, 2]), ("i4", [1, 2]), ("f4", [1j, 2]), ("?", [2, 0])):
        for k in (0, 1, -1):
            a = getattr(sp, f"{fmt}_array")(some.astype(dtype))
            A = getattr(sparse, f"{fmt}_array")(a)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                a.setdiag(values, k)
                A.setdiag(dnb.array(values) if k else values, k)
            same(A, a)


def test_setting_a_diagonal_leaves_other_arrays(session):
    a = matrix((6, 6))
    A = sparse.csr_array(a)
    B, C = A.copy(), A.T
    A.setdiag(9)
    same(B, a)
    same(C, a.T)


@pytest.mark.parametrize("fmt", FORMATS)
def test_traces(session, fmt):
    a = matrix((5, 7), fmt=fmt)
    for A in arrays(session, a):
        for k in (0, 2, -4, 9, -9):
            same(A.trace(k), a.trace(k))


# -- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", [(6, 4), (1, 8), (8, 1), (0, 3), (3, 0), (1, 1)], ids=str)
def test_reshaping(session, shape, fmt):
    a = matrix(shape, fmt=fmt)
    wanted = [(4, 6), (2, -1), (-1,), (24,), (8,), (1, -1), (3, 3), (-1, -1), (0, 5), [1, 1], ()]
    for which, (new, order) in enumerate(itertools.product(wanted, "CF")):
        for A in two_of(session, a, which):
            agree(
                outcome(lambda: A.reshape(new, order=order)),
                outcome(lambda: a.reshape(new, order=order)),
            )
    for A in arrays(session, a):
        line, want = A.reshape(-1), a.reshape(-1)
        same(line.reshape(*shape, order="F"), want.reshape(*shape, order="F"))
        assert A.reshape(shape) is A
        copied = A.reshape(shape, copy=True)
        copied *= 2
        same(A, a)


def test_what_no_shape_is(session):
    A = sparse.csr_array(matrix((6, 4)))
    with pytest.raises(TypeError, match="shape"):
        A.reshape()
    with pytest.raises(NotImplementedError, match="3 axes"):
        A.reshape(2, 3, 4)
    with pytest.raises(ValueError, match="order"):
        A.reshape(4, 6, order="K")
    with pytest.raises(ValueError, match="places"):
        sparse.coo_array((dnb.ones(1), (dnb.zeros(1, int),) * 2), (2**40, 2**40)).reshape(
            2**41, 2**39
        )


def test_large_places_are_counted(session):
    a = sp.coo_array(([1.0, 2, 3], ([0, 2**31, 2**32], [1, 5, 2])), shape=(2**33, 7))
    A = sparse.coo_array(a).reshape(7, -1)
    want = a.reshape(7, 2**33)
    for got, coords in zip(A.coords, want.coords, strict=True):
        np.testing.assert_array_equal(got.to_numpy(), coords)


# -- reductions ----------------------------------------------------------------------------------

EXTREMES = """
A.nanmax()  A.nanmin()  A.nanmax(axis=0)  A.nanmax(axis=1)  A.nanmin(axis=0)  A.nanmin(axis=-1)
A.nanmax(axis=(0, 1))  A.nanmax(axis=2)  A.nanmax(explicit=True)  A.nanmin(explicit=True)
A.nanmax(axis=1, explicit=True)  A.nanmin(axis=0, explicit=True)
A.argmax()  A.argmin()  A.argmax(axis=0)  A.argmax(axis=1)  A.argmin(axis=0)  A.argmin(axis=-1)
A.argmax(axis=2)  A.argmax(axis=(0, 1))
"""


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extremes_without_nan(session, shape, fmt):
    for dtype in ("f8", "i4", "?"):
        a = matrix(shape, dtype, density=0.6, fmt=fmt)
        if dtype == "f8":
            a.data[::2] = np.nan
        text = EXTREMES if dtype != "f8" else EXTREMES.partition("A.argmax()")[0]
        with np.errstate(all="ignore"):
            for A in two_of(session, a, len(dtype) + shape[0]):
                compare(text, {"A": a}, {"A": A})


@pytest.mark.parametrize("fmt", FORMATS)
def test_rows_of_nan_alone(session, fmt):
    n = np.nan
    a = getattr(sp, f"{fmt}_array")(np.array([[n, n, n], [0, n, -1], [0, 0, 0], [n, 2, 3]]))
    for A in arrays(session, a):
        compare(EXTREMES.partition("A.argmax()")[0], {"A": a}, {"A": A})


# -- how elements are stored ---------------------------------------------------------------------


@pytest.mark.ways("four")
def test_whether_indices_are_sorted(session):
    pointers = np.array([0, 2, 4, 4, 6])
    for indices in ([0, 1, 0, 2, 1, 2], [1, 0, 0, 2, 1, 2], [0, 1, 0, 2, 2, 1], [0, 1, 1, 1, 0, 2]):
        for name in ("csr_array", "csc_array"):
            given = (np.arange(6.0), np.array(indices), pointers)
            shape = (4, 3) if name == "csr_array" else (3, 4)
            a = getattr(sp, name)(given, shape=shape)
            for A in arrays(session, a):
                there = A.to_scipy()  # blocks of one column are sorted, whatever was given
                found = A.sorted_indices()
                assert found.has_sorted_indices
                same(found, a.sorted_indices())
                assert A.has_sorted_indices is there.has_sorted_indices
                assert A.has_canonical_format is there.has_canonical_format
                if not A.layout.across:
                    assert A.has_sorted_indices is a.has_sorted_indices
                A.check_format()
                A.check_format(full_check=False)
                A.prune()
                same(A, a)
    for fmt in ("csr", "csc"):
        A = getattr(sparse, f"{fmt}_array")((0, 3))
        assert A.has_sorted_indices
        assert A.has_canonical_format
        A.check_format()


def test_whether_triplets_are_in_order(session):
    for rows, columns, want in (
        ([0, 1, 1], [2, 0, 1], True),
        ([0, 1, 1], [2, 1, 0], False),
        ([0, 1, 1], [2, 1, 1], False),
        ([1, 0, 1], [0, 1, 2], False),
        ([], [], True),
    ):
        places = np.array(rows, int), np.array(columns, int)
        A = sparse.coo_array((np.ones(len(rows)), places), shape=(2, 3))
        assert A.has_canonical_format is want
        A.sum_duplicates()
        assert A.has_canonical_format
        assert A.tocsr().tocoo().has_canonical_format
    assert not sparse.csc_array(np.ones((2, 2))).tocoo().has_canonical_format
    assert sparse.coo_array(np.array([0, 1, 2])).has_canonical_format
    for key in (None, (slice(None), None)):
        with pytest.raises(NotImplementedError, match="^index of a sparse array: got 3 axes"):
            A[key]


def test_what_a_format_has_to_be(session):
    outside = sp.csr_array((np.ones(2), np.array([0, 7]), np.array([0, 1, 2])), shape=(2, 8))
    A = sparse.csr_array(outside)
    A.check_format()
    A.structure.shape, A.structure.minor = (2, 3), 3  # constructors refuse what has such places
    A.check_format(full_check=False)
    with pytest.raises(ValueError, match="indices"):
        A.check_format()
    A.data = dnb.ones(5)
    with pytest.raises(ValueError, match="elements"):
        A.check_format(full_check=False)


# -- triplets in brackets ------------------------------------------------------------------------

BRACKETS = """
A[0]  A[-1]  A[99]  A[0, 1]  A[-1, -1]  A[0, 99]  A[:, 0]  A[:, -2]  A[1:3]  A[:-1]  A[5:2]  A[::2]  A[::-1]
A[3:0:-1]  A[:, 1:3]  A[:, ::-2]  A[1:3, 0:2]  A[::2, ::-1]  A[::99]  A[99::-99, ::3]  A[0, 1:]  A[-1, ::-1]  A[1:, 0]
A[[0, 1, 0]]  A[[-1, 0]]  A[[]]  A[[0, 99]]  A[:, [0, 1, 0]]  A[[1, 0], 1:3]  A[1:, [0, 1]]  A[0, [1, 0]]  A[[0, 1], 0]
A[[0, 1, 0], [1, 1, 0]]  A[[0, 1], [1, 1, 0]]  A[np.ix_([1, 0], [0, 1])]  A[np.ix_([1, 0], [])]  A[D > 1]  A[D > 99]  A[A > 1]
A[...]  A[..., 0]  A[0, ...]  A[()]  A[0, None]  A[None, :, 0]  A[:, None, 1]  A[None, 0, 1]  A[..., None, 0]  A[0, 0, 0]
A[1.5]  A['x']  A[r > 0]  A[:, r > 0]  A[c > 0]  A[np.int64(1)]  A[0][1]  A[0][1:]  A[:, 1][::-1]  A[D.T > 1]
A[0][[0, 1, 0]]  A[0][[[0, 1], [1, 0]]]  A[0][r > 0]  A[0][None]  A[0][:, None]  A[0][0, 0]  A[0][99]  A[0][A[0] > 1]  A[0][...]
"""


@pytest.mark.ways("reach")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_triplets_in_brackets(session, shape):
    m, n = shape
    a = matrix(shape, fmt="coo")
    some = {"D": vector(shape), "r": vector((n,)), "c": vector((m,))}
    for A in arrays(session, a)[:: 1 if m == 7 else 2]:
        compare(BRACKETS, {"A": a, **some}, {"A": A, **some})
        for got, want in zip(A, a, strict=True):
            same(got, want)


@pytest.mark.parametrize("key", ["[], []", "[1], []", "[[]], [[]]", "a < -9", "[], 1"])
def test_no_places_in_brackets(session, key):
    for fmt in FORMATS:
        a = matrix((5, 4), fmt=fmt)
        A = getattr(sparse, f"{fmt}_array")(a)
        want, got = [outcome(lambda x=x: eval(f"x[{key}]", {"x": x, "a": x})) for x in (a, A)]
        agree(got, want)


def test_equal_places_are_summed_in_brackets(session):
    coords = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2])
    a = sp.coo_array((np.array([1, 2, 3, 0]), coords), shape=(2, 3))
    A = sparse.coo_array((dnb.array(a.data), tuple(map(dnb.array, coords))), shape=(2, 3))
    same(A[0, 1], a[0, 1])
    for key in ((0,), (slice(None, None, -1),), (slice(None), slice(1, 3))):
        same(A[key], a[key])
    for key in ([1, 0], ([0, 1], [1, 0])):
        np.testing.assert_array_equal(A[key].toarray(), a[key].toarray())


def test_indices_of_few_bits_are_no_limit(session):
    coords = tuple(dnb.array(x, dtype="u1") for x in ([0, 200], [3, 250]))
    A = sparse.coo_array((dnb.array([1.0, 2.0]), coords), shape=(300, 300))
    a = A.to_scipy()
    for got, want in ((A[100:][::-1], a[100:][::-1]), (A.reshape(900, 100), a.reshape(900, 100))):
        same(got, want)
    A.setdiag(np.arange(1.0, 301))
    np.testing.assert_array_equal(A.diagonal().to_numpy(), np.arange(1.0, 301))


# -- functions -----------------------------------------------------------------------------------

FUNCTIONS = """
S.find(A)  S.find(D)  S.find(A.reshape(-1))  S.kronsum(Q, Q.T)  S.kronsum(Q, Q, 'coo')  S.kronsum(A, Q)  S.kronsum(Q, A)
S.kronsum(Q, A.reshape(-1))  S.swapaxes(A, 0, 1)  S.swapaxes(A, -1, 0)  S.swapaxes(A, 1, 1)  S.swapaxes(A, 0, 2)
S.swapaxes(A, 0, 1.5)  S.permute_dims(A)  S.permute_dims(A, (0, 1))  S.permute_dims(A, [1, -2])  S.permute_dims(A, (0,))
S.permute_dims(A, (0, 0))  S.permute_dims(A, (0, 2))  S.permute_dims(A, (0, 1.5))  S.permute_dims(A, 1)
S.permute_dims(A, copy=True)  S.permute_dims(A.reshape(-1))  S.permute_dims(A.reshape(-1), (0,))
S.expand_dims(A.reshape(-1))  S.expand_dims(A.reshape(-1), axis=1)  S.expand_dims(A.reshape(-1), axis=-2)
S.expand_dims(A.reshape(-1), axis=-1)  S.expand_dims(A.reshape(-1), axis=2)  S.expand_dims(A, axis=4)
S.expand_dims(A.reshape(-1), axis=0.5)
"""


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", [(7, 5), (0, 3), (4, 4)], ids=str)
def test_functions(session, shape, fmt):
    for dtype in ("f8", "?"):
        a, q = matrix(shape, dtype, fmt=fmt), matrix((3, 3), dtype, fmt=fmt)
        D = vector(shape, dtype)
        Q = getattr(sparse, f"{fmt}_array")(q)
        for A in two_of(session, a, len(dtype) + shape[0]):
            compare(FUNCTIONS, {"A": a, "Q": q, "D": D}, {"A": A, "Q": Q, "D": D})


def test_equal_places_are_found_once(session):
    coords = np.array([1, 0, 1, 0]), np.array([2, 1, 2, 0])
    a = sp.coo_array((np.array([1, 2, 3, 0]), coords), shape=(2, 3))
    A = sparse.coo_array((dnb.array(a.data), tuple(map(dnb.array, coords))), shape=(2, 3))
    for got, want in zip(sparse.find(A), sp.find(a), strict=True):
        np.testing.assert_array_equal(got.to_numpy(), want)
    assert A.nnz == 4
    with pytest.raises(TypeError, match="a distributed array"):
        sparse.kronsum(a[:, :2], a[:, :2])


def test_names_of_matrices_are_left_out():
    for name, use in (("eye", "eye_array"), ("csr_matrix", "csr_array"), ("bmat", "block_array")):
        with pytest.raises(AttributeError, match=f"distnb.sparse.{use}"):
            getattr(sparse, name)
        assert name not in dir(sparse)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sparse.nonsense  # noqa: B018
    assert callable(sparse.linalg.cg)


# -- one axis ------------------------------------------------------------------------------------

LINES = """
x  x + y  x - y  x * y  x / y  x + d  d + x  x - d  d - x  x * d  d * x  x / (d + 20)  x * 2  2 * x  x / 2  x + 0  x + 1  1 - x
0 - x  x == y  x != y  x < y  x > y  x <= y  x >= y  x == 0  x != 0  x > 1  x < 1  x == d  x < d  x.maximum(y)  x.minimum(y)
x.maximum(0)  x.minimum(0)  x.maximum(d)  x.multiply(y)  x.multiply(d)  x * D  D * x  x + D  x * c  c * x  x * B  B * x  B.multiply(x)
x + B  B - x  B == x  B.maximum(x)  B / x  x / B  x * one  x + short  x * short  x / short  x.maximum(short)  x == z  x + z  x * z  x < z
x @ d  d @ x  x @ d[:, None]  x @ D.T  D @ x  x @ A  A.T @ x  B @ x  x @ B.T  x @ short  x @ D  x @ B  B.T @ x  x @ 2  2 @ x  x.dot(d)
x.dot(A)  x.dot(2)  x @ A.tocsc()  A.T.tocsr() @ x  B.tocoo() @ x  x @ A.tocoo()
x.sum()  x.sum(axis=0)  x.sum(axis=-1)  x.sum(axis=1)  x.sum(axis=(0,))  x.sum(dtype='f4')  x.max()  x.min()  x.max(axis=0)  x.min(axis=-1)
x.max(axis=1)  x.max(explicit=True)  x.mean()  x.mean(axis=0)  x.mean(axis=1)  x.mean(dtype='f4')  x.count_nonzero()
x.nanmax()  x.nanmin(axis=0)  x.argmax()  x.argmin()  x.argmax(axis=0)  x.argmax(axis=1)  x.diagonal()  x.trace()  x.setdiag(1)
x.T  x.transpose()  x.nonzero()  x.toarray()  x.reshape(-1, 1)  x.reshape((1, -1))  x.reshape(-1)  x.reshape(3, 3)  x.reshape(3, 3, order='F')
abs(x)  -x  x ** 2  x.power(3)  np.sin(x)  round(x)  x.sign()  x.astype('f4')  x.conj()  x.real  x.copy()  x.row  x.col  x.tocoo()  x.tocsr()  x.tocsc()  x.asformat('csr')
x[0]  x[-1]  x[1:3]  x[::-2]  x[[1, 0, 1]]  x[d > 0]  x[None]  x[:, None]  x[99]
"""


@pytest.mark.parametrize("n", [9, 1, 0])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?"])
def test_one_axis(session, dtype, n):
    given = {
        "x": matrix((1, n), dtype).tocoo().reshape(n),
        "y": matrix((1, n), dtype, seed=2).tocoo().reshape(n),
        "z": matrix((1, n + 3), dtype).tocoo().reshape(n + 3),
        "A": matrix((n, 4), dtype),
        "B": matrix((3, n), dtype),
    }
    dense = {
        **{"d": vector((n,), dtype), "D": vector((3, n), dtype), "c": vector((4, 1), dtype)},
        **{"one": vector((1,), dtype), "short": vector((n + 2,), dtype)},
    }
    ours = {name: getattr(sparse, type(x).__name__)(x) for name, x in given.items()}
    there = {name: dnb.array(x) for name, x in dense.items()} if dtype != "i4" else dense
    lines = LINES if n > 1 else LINES.replace("A.T @ x ", "")  # SciPy's fails
    with np.errstate(all="ignore"):
        compare(lines, {**given, **dense}, {**ours, **there})


def test_one_axis_products(session):
    x, y = [matrix((1, 9), seed=s).tocoo().reshape(9) for s in (1, 2)]
    X, Y = map(sparse.coo_array, (x, y))
    for got in (X @ Y, X.dot(Y), x @ Y):  # SciPy's is memory that nobody wrote
        same(got, np.asarray(x @ y.toarray()))
    for got in (X + y, x + Y):
        agree(got, x + y)


def test_one_axis_of_equal_places(session):
    data, index = np.array([1.0, 2.0, -1.0, -3.0]), np.array([3, 3, 0, 3])
    x = sp.coo_array((data, (index,)), shape=(5,))
    X = sparse.coo_array((dnb.array(data), (dnb.array(index),)), shape=(5,))
    same(X, x)
    assert X.nnz == 4
    text = "x.max()  x.min()  x.mean()  x.sum()  x.count_nonzero()  abs(x)  x ** 2  x.argmin()  x.toarray()  x[3]"
    compare(text, {"x": x.copy()}, {"x": X})
    assert (X.tocsr().nnz, X.nnz) == (x.copy().tocsr().nnz, 4)  # SciPy's changes its array
    X.sum_duplicates()
    x.sum_duplicates()
    same(X, x)
    with pytest.raises(ValueError, match="exceeds"):
        sparse.coo_array((dnb.array(data), (dnb.array(index),)), shape=(3,))
    with pytest.raises(ValueError, match="index arrays"):
        sparse.coo_array((dnb.array(data), (dnb.array(index),)), shape=(3, 5))
    for kind in (sparse.csr_array, sparse.csc_array):
        with pytest.raises(NotImplementedError, match="two axes|expected two"):
            kind((dnb.array(data), (dnb.array(index),)), shape=(5,))
        with pytest.raises(NotImplementedError, match="two axes"):
            kind(X)


def test_random_elements_of_one_axis(session):
    for n, density in ((100, 0.3), (7, 1.0), (5, 0.0), (0, 0.5)):
        x = sparse.random_array((n,), density=density, rng=1)
        want = sp.random_array((n,), density=density, rng=1)
        assert (x.format, x.shape, x.nnz, x.dtype) == ("coo", (n,), want.nnz, want.dtype)
        assert x.col.dtype == want.col.dtype
        assert len(set(x.col.to_numpy().tolist())) == x.nnz
    with pytest.raises(NotImplementedError, match="format"):
        sparse.random_array((9,), format="csr")


# -- what broadcasts -----------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_rows_and_columns_multiply_stored_elements_alone(session, fmt):
    a = getattr(sp, f"{fmt}_array")(np.array([[np.inf, 0, 2], [0, np.nan, 3.0]]))
    row, column = sp.csr_array([[0, 2.0, 0]]), sp.csr_array([[0.0], [5.0]])
    D = vector((2, 3))
    for A in arrays(session, a):
        for b in (row, column, row.tocoo(), column.tocsc(), sp.csr_array([[2.0]])):
            for got, want in ((A * b, a * b), (A.multiply(b), a.multiply(b))):
                np.testing.assert_array_equal(got.toarray().to_numpy(), want.toarray())
                assert got.nnz == want.nnz
    for b in (row, column):
        same(sparse.csr_array(b) * D, b * D)
    with pytest.raises(ValueError, match="shapes"):
        sparse.csr_array(row) + D


# -- what is put in --------------------------------------------------------------------------------

BLOCKS = """
x[2:5, 1:3] = b; x[1:7:2, 1:3] = b; x[[1, 0, 5], :2] = b; x[[[1], [0], [5]], [[4, 2]]] = b; x[:, :] = x.T @ x @ x[:7]
x[[1, 1, 5], :2] = b; x[2:5, 1:3] = b[:1]; x[2:5, 1:3] = b[:, :1]; x[2:5, 1:3] = b[:1, :1]; x[2:5, 1:3] = b[:2]
x[2:5, 1:3] = d; x[7:1:-2, [5, 0]] = d; x[2:5, 1:3] = d[:1]; x[[1, 1, 5], :2] = d; x[2, 1:3] = d[0]; x[2:5, 1] = d[:, 0]
x[2] = x[3]; x[[0, 1], [2, 3]] = b[:1]; x[0, 0] = b[:1, :1]; x[2:2] = b[:0]; x[-1, 1:3] = b[1]; x[i, :2] = b; x[i, i] = 5
"""
TRIPLETS = """
x[0, 1] = 5; x[0, 0] = 0; x[0] = 3; x[:, 1] = 0; x[[0, 1], [1, 1]] = [0, 4]; x[[0, 1], [1, 1]] = 0; x[-1] = 0; x[...] = 0
"""


@pytest.mark.ways("four")
@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("fmt", FORMATS)
def test_blocks_are_put_in_where_they_are(session, fmt):
    dtype = "i2" if fmt == "csc" else "f8"
    b, d = matrix((3, 2), dtype), np.arange(6).reshape(3, 2)
    i = np.array([1, -1, 3])
    theirs = {"b": b, "d": d, "i": i}
    ours = {"b": sparse.csr_array(b), "d": dnb.array(d), "i": dnb.array(i)}
    # of positions that are named twice SciPy's COO keeps the first, all others the last
    lines = BLOCKS if fmt != "coo" else BLOCKS.replace("[1, 1, 5]", "[1, 2, 5]") + TRIPLETS
    lines = [line.strip() for line in lines.replace("\n", ";").split(";") if line.strip()]
    for which, line in enumerate(lines):
        want = matrix((8, 7), dtype, fmt=fmt)
        failed = outcome(lambda line=line, want=want: exec(line, {"x": want, **theirs}))
        for names in (ours, theirs):
            (A, *_) = two_of(session, matrix((8, 7), dtype, fmt=fmt), which)
            got = outcome(lambda A=A, line=line, names=names: exec(line, {"x": A, **names}))
            assert got is failed, line
            if failed is None:
                if fmt == "coo":
                    want.eliminate_zeros()  # SciPy's stores the zero of a single place
                    A.eliminate_zeros()
                np.testing.assert_array_equal(A.toarray().to_numpy(), want.toarray(), line)
                assert A.nnz == want.nnz, line


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
def test_a_block_that_is_put_in_does_not_come_to_the_notebook(session, monkeypatch):
    A, b = sparse.csr_array(matrix((30, 30))), sparse.csc_array(matrix((20, 10)))
    x = dnb.ones((20, 10))
    monkeypatch.setattr(dnb.config, "gather_budget", 100)
    A[5:25, 10:20] = b
    A[0:20, 20:30] = x
    want = matrix((30, 30))
    want[5:25, 10:20], want[0:20, 20:30] = matrix((20, 10)), np.ones((20, 10))
    same(A, want)


def test_positions_on_engines_are_checked_before_anything_is_put_in(session):
    for key in (
        (dnb.array([9]), slice(2)),
        (dnb.array([9]), dnb.array([0])),
        ([0], dnb.array([-9])),
    ):
        for fmt in FORMATS:
            A = sparse.eye_array(7, format=fmt)
            with pytest.raises(IndexError):
                A[key] = 5
            same(A, getattr(sp, f"{fmt}_array")(sp.eye_array(7)))


@pytest.mark.parametrize("n", [9, 1])
def test_one_axis_is_written(session, n):
    for line in (
        "x[0] = 0",
        "x[0] = 5",
        "x[-1:] = 7",
        "x[:] = 0",
        "x[x.toarray() > 1] = 3",
        "x[99] = 1",
    ):
        a = matrix((1, n), seed=n)[0]
        A = sparse.coo_array(a)
        want = outcome(lambda a=a, line=line: exec(line, {"x": a}))
        assert outcome(lambda A=A, line=line: exec(line, {"x": A})) is want
        same(A, a)


@pytest.mark.filterwarnings("ignore:Changing the sparsity")
@pytest.mark.parametrize("shape", [(4, 5), (10, 12), (10, 3), ((3, 3),), (0, 0), (-1, 3)])
def test_arrays_are_resized_in_place(session, shape):
    a = sp.random_array((7, 9), density=0.4, rng=1, format="csr")
    for fmt in FORMATS:
        want, A = a.asformat(fmt).copy(), getattr(sparse, f"{fmt}_array")(a)
        before, view = A.toarray(), A.T
        failed = outcome(lambda want=want: want.resize(*shape))
        assert outcome(lambda A=A: A.resize(*shape)) is failed
        assert (A.shape, A.format, A.nnz) == (want.shape, fmt, want.nnz)
        np.testing.assert_array_equal(A.toarray(), want.toarray())
        if failed is None and all(A.shape):
            np.testing.assert_allclose(A @ np.ones(A.shape[1]), want @ np.ones(A.shape[1]))
            A[0, 0] = want[0, 0] = 5
            np.testing.assert_array_equal(A.toarray(), want.toarray())
        np.testing.assert_array_equal(view.toarray(), before.T)
    row = sparse.coo_array(np.array([1.0, 0, 2]))
    row.resize(5)
    assert row.toarray().tolist() == [1, 0, 2, 0, 0]
    with pytest.raises(NotImplementedError, match="got 2 lengths, expected 1 length"):
        row.resize(2, 2)


# -- results that have a place, and what is left out -------------------------------------------------


@pytest.mark.ways("reach")
@pytest.mark.parametrize("fmt", FORMATS)
def test_sums_are_written_into_an_array(session, fmt):
    a = matrix((6, 5), "i4", fmt=fmt)
    A = getattr(sparse, f"{fmt}_array")(a)
    for name, axis, kind in itertools.product(("sum", "mean"), (None, 0, 1), ("f8", "i8", "i2")):
        shape = () if axis is None else (a.shape[1 - axis],)
        want = outcome(lambda: getattr(a, name)(axis=axis, out=np.zeros(shape, kind)))
        for new in (dnb.zeros, np.zeros):
            out = new(shape, kind)
            got = outcome(lambda out=out: getattr(A, name)(axis=axis, out=out))
            agree(got, want)
            assert isinstance(want, type) or got is out
    for name in ("max", "argmin"):
        with pytest.raises(ValueError, match="out"):
            getattr(A, name)(axis=0, out=dnb.zeros(5))


#: Equal places are summed in the dtype of the result: SciPy does not sum them before.
OF_BOTH_DTYPES = ("x + ones", "ones + x", "x - ones", "x / (x != 0)", "(x.setdiag([7], k), x)[1]")


@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_sums_of_bools_that_are_there_twice(session, fmt):
    parts = np.array([True, True, True]), np.array([0, 0, 1]), np.array([0, 3])
    shape = (1, 3) if fmt == "csr" else (3, 1)
    kinds = [getattr(module, f"{fmt}_array") for module in (sp, sparse)]
    more = {"ones": np.ones(shape, int), "k": 2 if fmt == "csr" else -2}
    for text in (
        "x.sum()",
        "x.sum(dtype='i8')",
        "x.sum(0)",
        "x.sum(1)",
        "x.mean()",
        *OF_BOTH_DTYPES,
    ):
        want, got = [eval(text, {"x": kind(parts, shape=shape), **more}) for kind in kinds]
        agree(got, want)


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
def test_sums_of_what_is_there_twice_are_in_its_own_dtype_first(session, fmt, dtype):
    parts = np.array([255, 200, 7]).astype(dtype) * np.array(130, dtype), [0, 0, 1], [0, 3]
    shape = (1, 3) if fmt == "csr" else (3, 1)
    for text in ("x.sum()", "x.sum(dtype='i8')", "x.mean()"):
        kinds = [getattr(module, f"{fmt}_array")(parts, shape=shape) for module in (sp, sparse)]
        want, got = [eval(text, {"x": x}) for x in kinds]
        agree(got, want)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("dtypes", ["Fi", "fD", "ii"])
def test_quotients_have_scipys_dtype(session, fmt, dtypes):
    a, b = [matrix((4, 5), kind, fmt=fmt) for kind in dtypes]
    b.data[b.data == 0] = 1
    A, B = [getattr(sparse, f"{fmt}_array")(x) for x in (a, b)]
    want, got = a / b, (A / B).to_numpy()
    assert got.dtype == want.dtype
    where = b.toarray() != 0  # of complex numbers by 0 NumPy and SciPy have others
    np.testing.assert_allclose(got[where], want[where], rtol=1e-6)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extremes_of_what_is_stored(session, shape, fmt):
    stored = matrix(shape, fmt=fmt)
    one = [matrix((1, shape[1]))[0]] if fmt == "coo" and all(shape) else []
    for a in (stored, -abs(stored), stored * 0, getattr(sp, f"{fmt}_array")(shape), *one):
        A = getattr(sparse, f"{fmt}_array")(a)
        for name, axis in itertools.product(("argmax", "argmin", "max", "min"), (None, 0, 1, -1)):
            text = f"a.{name}(axis={axis}, explicit=True)"
            want, got = [outcome(lambda x=x: eval(text, {"a": x})) for x in (a, A)]
            agree(got, want)


@pytest.mark.parametrize("name", ["todia", "tolil", "todok", "tobsr", "tensordot"])
def test_methods_that_are_left_out_say_what_to_do(session, name):
    for fmt in FORMATS:
        with pytest.raises(AttributeError, match=f"{fmt}_array.{name}: .*; use "):
            getattr(sparse.eye_array(2, format=fmt), name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        sparse.eye_array(2).nonsense  # noqa: B018
