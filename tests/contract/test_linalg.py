"""Linear algebra agrees with NumPy up to rounding, and factors have the properties they are for."""

import numpy as np
import pytest

import distnb as dnb
from distnb.client.linalg import panel_commands
from tests.contract.support import agree, outcome, setting

pytestmark = pytest.mark.ways("one", "four")

DISTS = [
    None,
    ("*", "block"),
    (("cyclic", 2), "*"),
    "replicated",
    ("engine", 0),
    ("block", "block"),
]
DTYPES = ["f8", "c16", "f4", "c8", "i4", "?"]


def random(*shape, dtype="f8", seed=0):
    """Return well conditioned elements of a dtype."""
    rng = np.random.default_rng([seed, *shape])
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return (found * (1 if np.dtype(dtype).kind in "fc" else 9)).astype(dtype)


def positive(*shape, dtype="f8"):
    """Return positive definite matrices."""
    a = random(*shape, dtype=dtype).astype("c16" if np.dtype(dtype).kind == "c" else "f8")
    return (a @ a.conj().mT + shape[-1] * np.eye(shape[-1])).astype(dtype)


def close(found, expected, scale=1.0):
    """A result is NumPy's in dtype and shape, and up to rounding in its values."""
    expected = np.asarray(expected)
    assert isinstance(found, dnb.DistArray | np.generic), type(found)
    values = np.asarray(found)
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    eps = np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
    bound = 200 * eps * scale * max(1, np.abs(expected).max(initial=0, where=np.isfinite(expected)))
    np.testing.assert_allclose(values, expected, rtol=0, atol=bound)


def identity(q, n=None):
    """Columns are orthonormal."""
    q = q.to_numpy()
    eps = np.finfo(q.dtype).eps
    np.testing.assert_allclose(
        q.conj().mT @ q,
        np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)),
        rtol=0,
        atol=100 * eps,
    )


def stacks(session):
    """Return shapes of stacks, and layouts of arrays with two axes more."""
    return [
        ((4, 3), None),
        ((5,), ("*", "*", "block")),
        ((5,), "cyclic"),
        ((0,), None),
        ((1, 1), None),
    ]


# -- matrices in any layout ----------------------------------------------------------------------


SHAPES = [(5, 5), (40, 3), (3, 40), (7, 4), (1, 1), (9, 1)]


@pytest.mark.parametrize(
    ("shape", "dist"),
    [(shape, DISTS[(i + k) % 6]) for i, shape in enumerate(SHAPES) for k in range(0, 6, 2)],
    ids=str,
)
def test_factors_of_a_matrix(session, shape, dist):
    a = random(*shape)
    x = dnb.array(a, dist=dist)
    q, r = dnb.linalg.qr(x)
    assert (q.shape, r.shape) == tuple(f.shape for f in np.linalg.qr(a))
    identity(q)
    close(q @ r, a)
    close(abs(dnb.linalg.qr(x, mode="r")), abs(np.linalg.qr(a, "r")))
    np.testing.assert_array_equal(np.tril(r.to_numpy(), -1), 0)
    u, s, vh = dnb.linalg.svd(x, full_matrices=False)
    expected = np.linalg.svd(a, full_matrices=False)
    assert [f.shape for f in (u, s, vh)] == [f.shape for f in expected]
    identity(u)
    identity(vh.mT)
    close(s, expected.S)
    close((u * s) @ vh, a)
    close(np.linalg.svdvals(x), expected.S)
    close(dnb.linalg.pinv(x), np.linalg.pinv(a), 10)


@pytest.mark.parametrize(
    ("dist", "dtype"), [*((d, "f8") for d in DISTS), *((None, t) for t in DTYPES[1:4])], ids=str
)
def test_square_matrices(session, dist, dtype):
    a, b = positive(6, 6, dtype=dtype), random(6, 2, dtype=dtype)
    x, y = dnb.array(a, dist=dist), dnb.array(b)
    close(dnb.linalg.cholesky(x), np.linalg.cholesky(a))
    close(np.linalg.cholesky(x, upper=True), np.linalg.cholesky(a, upper=True))
    close(dnb.linalg.inv(x), np.linalg.inv(a))
    close(dnb.linalg.solve(x, y), np.linalg.solve(a, b))
    close(np.linalg.solve(x, b[:, 0]), np.linalg.solve(a, b[:, 0]))
    close(dnb.linalg.det(x), np.linalg.det(a))
    for found, expected in zip(np.linalg.slogdet(x), np.linalg.slogdet(a), strict=True):
        close(found, expected)
    w, v = dnb.linalg.eigh(x)
    close(w, np.linalg.eigh(a)[0], 10)
    close(v * w @ v.conj().T, a)
    close(np.linalg.eigvalsh(x), np.linalg.eigvalsh(a), 10)
    w, v = np.linalg.eig(x)
    close(x @ v, (v * w).to_numpy(), 10)
    close(np.sort(dnb.linalg.eigvals(x)), np.sort(np.linalg.eigvals(a)), 10)


def test_eigenvalues_are_complex_where_they_are(session):
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    assert dnb.linalg.eigvals(dnb.array(turn)).dtype == complex
    assert dnb.linalg.eig(dnb.array(turn)).eigenvectors.dtype == complex


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (12, 3)])
def test_dtypes(session, dtype, shape):
    a = random(*shape, dtype=dtype)
    x = dnb.array(a)
    close(dnb.linalg.svdvals(x), np.linalg.svdvals(a))
    q, r = dnb.linalg.qr(x)
    close(q @ r, np.matmul(*np.linalg.qr(a)))
    for found, expected in zip(
        np.linalg.lstsq(x, a[:, 0]), np.linalg.lstsq(a, a[:, 0]), strict=True
    ):
        if isinstance(expected, int | np.integer):
            assert found == expected
        else:
            close(found, expected, 100)


def test_a_view(session):
    a = random(30, 30)
    x = dnb.array(a, dist=(("cyclic", 3), "*"))
    close(dnb.linalg.inv(x[::-2, 15:].T), np.linalg.inv(a[::-2, 15:].T), 100)
    close(np.linalg.svdvals(x[4:, 3:5]), np.linalg.svdvals(a[4:, 3:5]))
    part = x[:15, ::-2]
    u, s, vh = np.linalg.svd(part)
    close((u * s) @ vh, a[:15, ::-2])


# -- matrices that no engine factors alone ---------------------------------------------------------


@pytest.fixture
def panels_of(monkeypatch):
    """Return a function that sets the columns of a panel; all matrices count as large."""
    with setting(alone=0, scalapack=0):
        yield lambda width: monkeypatch.setattr(panel_commands, "WIDTH", width)


@pytest.mark.parametrize("dtype", ["f8", "c8"])
@pytest.mark.parametrize(("n", "width"), [(1, 2), (4, 2), (11, 2), (11, 5), (23, 10)])
def test_panels(session, panels_of, n, width, dtype):
    panels_of(width)
    a, b, p = random(n, n, dtype=dtype), random(n, 3, dtype=dtype), positive(n, n, dtype=dtype)
    x, y, z = (dnb.array(c, dist=d) for c, d in ((a, "block"), (b, "cyclic"), (p, ("*", "block"))))
    close(dnb.linalg.cholesky(z), np.linalg.cholesky(p))
    close(dnb.linalg.cholesky(z, upper=True), np.linalg.cholesky(p, upper=True))
    close(dnb.linalg.solve(z, y), np.linalg.solve(p, b))
    close(dnb.linalg.solve(z, b[:, 0]), np.linalg.solve(p, b[:, 0]))
    close(dnb.linalg.inv(z), np.linalg.inv(p))
    close(dnb.linalg.det(x), np.linalg.det(a), 10)
    for found, expected in zip(dnb.linalg.slogdet(x), np.linalg.slogdet(a), strict=True):
        close(found, expected, 10)
    zero = x * np.array(0, dtype)
    close(dnb.linalg.det(zero), np.zeros((), dtype))
    assert dnb.linalg.slogdet(zero)[1].item() == -np.inf


@pytest.mark.usefixtures("engines_only")
def test_one_engine_factors_larger_matrices_where_all_share_a_node(session, monkeypatch):
    if session.size == 1:
        pytest.skip("one engine holds the matrix whole")
    x, bytes_ = dnb.array(positive(9, 9), dist="block"), 9 * 9 * 8

    def operations(alone):
        with setting(alone=alone, scalapack=0):
            window = session.start_window()
            dnb.linalg.solve(x, np.ones(9))
            return {op.op for op in session.end_window(window).ops}

    about = [a | {"host": "one"} for a in session.transport.about]
    monkeypatch.setattr(session.transport, "about", about)
    assert "solve" in operations(bytes_ // 16 + 1)
    assert "solve" not in operations(bytes_ // 16 - 1)
    about[0]["host"] = "other"
    assert "solve" not in operations(bytes_ - 1)
    assert "solve" in operations(bytes_)


@pytest.mark.parametrize("shape", [(11, 11), (5, 12), (12, 8)])
def test_reflections_in_panels(session, panels_of, shape):
    panels_of(3)
    for dtype in ("f8", "c16"):
        a = random(*shape, dtype=dtype)
        x = dnb.array(a, dist=("*", "block"))
        for mode in ("reduced", "complete"):
            expected = np.linalg.qr(a, mode)
            q, r = dnb.linalg.qr(x, mode)
            close(abs(r), abs(expected.R))
            identity(q)
            close(q @ r, a)
            assert q.shape == expected.Q.shape
        close(abs(dnb.linalg.qr(x, "r")), abs(np.linalg.qr(a, "r")))


def test_spectra_that_are_divided(session, panels_of):
    panels_of(8)
    n = 7
    a = random(n, n, dtype="c16")
    for h, triangle in (
        (a + a.conj().T, "U"),
        ((a[:, :2] @ a[:, :2].conj().T).real, "L"),
        (2 * np.eye(n), "L"),
    ):
        with setting(alone=26 if h.dtype.kind == "c" else 13):  # it is divided once
            half = (np.triu if triangle == "U" else np.tril)(h)
            w, v = dnb.linalg.eigh(dnb.array(half, dist="block"), triangle)
        close(w, np.linalg.eigvalsh(h))
        identity(v)
        close(v * w @ v.conj().T, h)


def test_singular_values_by_polar_decomposition(session, panels_of):
    panels_of(8)
    a = random(7, 9, seed=1)
    with setting(alone=13):
        u, s, vh = dnb.linalg.svd(dnb.array(a, dist="block"), full_matrices=False)
    close(u * s @ vh, a)
    identity(u)
    close(s, np.linalg.svdvals(a))


def test_spectra_that_are_divided_are_those_of_any_size(session, panels_of):
    """Of elements whose squares are no numbers, too; what is no number is told as by NumPy."""
    panels_of(8)
    a = random(9, 7, seed=1)
    for scale in (1e200, 1e-200):
        with setting(alone=13):
            s = dnb.linalg.svdvals(dnb.array(a * scale, dist="block"))
            w = dnb.linalg.eigvalsh(dnb.array((a[:7] + a[:7].T) * scale, dist="block"))
        close(s / scale, np.linalg.svdvals(a))
        close(w / scale, np.linalg.eigvalsh(a[:7] + a[:7].T))
    a[0, 0] = np.nan
    with setting(alone=13), pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        dnb.linalg.svdvals(dnb.array(a[:7], dist="block")).to_numpy()


def test_pivots_keep_growth_down(session, panels_of):
    """Without exchanges, the small elements of the diagonal would be divided by."""
    panels_of(4)
    a = random(17, 17) - np.diag(np.diag(random(17, 17))) + 1e-14 * np.eye(17)
    b = random(17)
    close(dnb.linalg.solve(dnb.array(a, dist="block"), b), np.linalg.solve(a, b), 1000)


def test_panels_that_fail(session, panels_of):
    panels_of(2)
    a = np.eye(9)
    a[6, 6] = -1
    x = dnb.array(a, dist="block")
    with pytest.raises(np.linalg.LinAlgError):
        dnb.linalg.cholesky(x).to_numpy()
    a[6, 6] = 0
    for call in (dnb.linalg.inv, lambda z: dnb.linalg.solve(z, np.ones(9))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            call(dnb.array(a, dist="block")).to_numpy()
    x[6, 6] = 1
    close(dnb.linalg.inv(x), np.eye(9))


# -- stacks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(5))
def test_stacks(session, k):
    stack, dist = stacks(session)[k]
    a, b = positive(*stack, 3, 3), random(*stack, 3, 2)
    x, y = dnb.array(a, dist=dist), dnb.array(b)
    for name in ("cholesky", "inv", "det", "eigvalsh", "svdvals"):
        close(getattr(dnb.linalg, name)(x), getattr(np.linalg, name)(a), 10)
    close(dnb.linalg.solve(x, y), np.linalg.solve(a, b))
    close(dnb.linalg.solve(x, np.eye(3, 1)), np.linalg.solve(a, np.eye(3, 1)))
    close(dnb.linalg.solve(x, np.ones(3)), np.linalg.solve(a, np.ones(3)))
    q, r = dnb.linalg.qr(y)
    close(q @ r, b)
    u, s, vh = np.linalg.svd(y, full_matrices=False)
    close(u * s[..., None, :] @ vh, b)
    close(np.linalg.pinv(y), np.linalg.pinv(b), 10)
    agree(lambda: np.linalg.matrix_rank(b), lambda: np.linalg.matrix_rank(y))
    for n in (-2, 0, 1, 5):
        close(np.linalg.matrix_power(x, n), np.linalg.matrix_power(a, n), 100)


# -- other functions -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 5), (2, 4, 4), (2, 5), (3,), (0, 0)], ids=str)
@pytest.mark.parametrize("dtype", [float, complex])
def test_lower_triangles_of_hermitian_matrices(session, shape, dtype):
    a = random(*shape).astype(dtype)
    a = a + 1j * random(*shape, seed=2) if dtype is complex else a
    x = dnb.array(a)
    for run in (
        lambda m, v: m.linalg.svd(v, compute_uv=False, hermitian=True),
        lambda m, v: m.linalg.pinv(v, hermitian=True).round(9) + 0.0,  # no -0.0
        lambda m, v: m.linalg.matrix_rank(v, hermitian=True),
    ):
        agree(lambda run=run: run(np, a), lambda run=run: run(dnb, x), 1e-9)
    if a.ndim > 1 and a.shape[-1] == a.shape[-2]:
        (u, s, vh), expected = (m.linalg.svd(v, hermitian=True) for m, v in ((dnb, x), (np, a)))
        close(s, expected.S, 10)
        close(u * s[..., None, :] @ vh, expected.U * expected.S[..., None, :] @ expected.Vh, 10)


@pytest.mark.filterwarnings("ignore:The '")
@pytest.mark.parametrize("mode", ["full", "economic"])
def test_modes_of_before(session, mode):
    a = random(5, 3)
    found, expected = (m.linalg.qr(v, mode) for m, v in ((dnb, dnb.array(a)), (np, a)))
    if mode == "full":
        found, expected = found.R, expected.R
    close(abs(found), abs(expected), 10)


@pytest.mark.parametrize("p", [None, 1, "fro"])
def test_condition_of_what_is_not_square(session, p):
    for a in (np.ones((2, 5)), np.ones(3)):
        x = dnb.array(a)
        agree(lambda a=a: np.linalg.cond(a, p), lambda x=x: dnb.linalg.cond(x, p), 1e16)


@pytest.mark.parametrize("shape", [(6, 6), (30, 2), (3, 4, 4)], ids=str)
def test_rank_and_condition(session, shape):
    a = random(*shape)
    a[..., 1] = a[..., 0]
    x = dnb.array(a)
    for options in ({}, {"tol": 1e-3}, {"rtol": 1e-6}):
        assert np.asarray(np.linalg.matrix_rank(x, **options)).tolist() == (
            np.linalg.matrix_rank(a, **options).tolist()
        )
    a[..., 1] += 3
    x = dnb.array(a)
    for p in (None, 2, -2, *((1, -1, np.inf, "fro") if shape[-1] == shape[-2] else ())):
        close(np.linalg.cond(x, p), np.linalg.cond(a, p), 1000)


@pytest.mark.parametrize("rank", [3, 2])
@pytest.mark.parametrize("shape", [(20, 3), (3, 20), (4, 3)], ids=str)
def test_least_squares(session, shape, rank):
    a, b = random(*shape), random(shape[0], 2)
    if rank == 2:
        a[..., 2] = a[..., 0] if shape[0] > 3 else a[..., 2]
    for right in (b, b[:, 0]):
        found, expected = np.linalg.lstsq(dnb.array(a), right), np.linalg.lstsq(a, right)
        close(found[0], expected[0], 100)
        close(found[1], expected[1], 100)
        assert found[2] == expected[2]
        close(found[3], expected[3])


@pytest.mark.parametrize("shape", [(5, 5), (20, 2), (3, 4, 6), (0, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_norms(session, shape, dtype):
    a = random(*shape, dtype=dtype)
    x = dnb.array(a, dist=None if dtype == "f8" else ("*", "block"))
    for axis, orders in (
        (None, [None, "fro", 1, 2, -2, np.inf, "nuc"]),
        ((-2, -1), [None, "fro", 1, -1, 2, -2, np.inf, -np.inf, "nuc", 3, "no"]),
        ((1, 0), ["nuc", 1]),
        (-1, [None, 1, 2, 0, np.inf, -np.inf, 3, -1.5, "fro"]),
        ((0, 0), [1]),
    ):
        for order in orders:
            norm_alike(lambda f, z: f.norm(z, order, axis), x, a)
    norm_alike(lambda f, z: f.norm(z, None, 1, True), x, a)
    norm_alike(lambda f, z: f.vector_norm(z, axis=(0, 1), ord=3), x, a)
    norm_alike(lambda f, z: f.matrix_norm(z, keepdims=True), x, a)


def norm_alike(call, x, a):
    """A norm is NumPy's, or raises the same."""
    expected, error = outcome(lambda: call(np.linalg, a))
    if error is None:
        close(call(np.linalg, x), expected, 10)
    else:
        with pytest.raises(type(error)):
            call(np.linalg, x)


def test_tensor_equations(session):
    a, b = random(2, 3, 6), random(2, 3)
    x, y = dnb.array(a), dnb.array(b)
    close(np.linalg.tensorinv(x, 2), np.linalg.tensorinv(a, 2), 10)
    close(np.linalg.tensorsolve(x, y), np.linalg.tensorsolve(a, b), 10)
    c = random(2, 6, 3)
    close(
        np.linalg.tensorsolve(dnb.array(c), y, axes=(1,)),
        np.linalg.tensorsolve(c, b, axes=(1,)),
        10,
    )
    for bad in (0, 1):
        agree(lambda: np.linalg.tensorinv(a, bad), lambda: np.linalg.tensorinv(x, bad))
    agree(
        lambda: np.linalg.tensorsolve(a[..., :5], b), lambda: np.linalg.tensorsolve(x[..., :5], y)
    )


# -- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", [None, "replicated", ("engine", 0)], ids=str)
def test_singular_matrices_raise_once(session, dist):
    zero = dnb.zeros((4, 4), dist=dist)
    keep = dnb.ones(3)
    for call in (dnb.linalg.inv, dnb.linalg.cholesky, lambda x: dnb.linalg.solve(x, zero)):
        with pytest.raises(np.linalg.LinAlgError):
            call(zero).to_numpy()
    with pytest.raises(np.linalg.LinAlgError):
        dnb.linalg.inv(dnb.zeros((session.size + 1, 2, 2))).to_numpy()
    close(keep + 1, np.full(3, 2.0))


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("inv", [(2, 3)]),
        ("inv", [(3,)]),
        ("det", [(2, 3)]),
        ("cholesky", [(4, 2, 3)]),
        ("eigh", [(2, 3)]),
        ("svd", [(3,)]),
        ("qr", [()]),
        ("solve", [(3, 3), (2,)]),
        ("solve", [(2, 3), (2,)]),
        ("solve", [(3, 3), (2, 2)]),
        ("lstsq", [(3, 3, 3), (3,)]),
        ("lstsq", [(3, 3), (2,)]),
        ("matrix_power", [(2, 3)]),
    ],
)
def test_shapes_that_do_not_fit(session, name, shapes):
    more = (2,) if name == "matrix_power" else ()
    agree(
        lambda: getattr(np.linalg, name)(*map(np.ones, shapes), *more),
        lambda: getattr(np.linalg, name)(*map(dnb.ones, shapes), *more),
    )


def test_dtypes_that_do_not_fit(session):
    half = np.ones((3, 3), "f2")
    for name in ("inv", "qr", "svdvals", "eigh", "pinv"):
        f = getattr(np.linalg, name)
        agree(lambda f=f: f(half), lambda f=f: f(dnb.array(half)))
