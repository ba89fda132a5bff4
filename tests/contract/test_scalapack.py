"""Factors found by ScaLAPACK are NumPy's up to rounding; skipped where engines do not have it."""

import numpy as np
import pytest

import distnb as dnb
from distnb.client.linalg import scalapack_commands
from tests.contract.support import setting
from tests.contract.test_linalg import close, identity, positive, random

pytestmark = pytest.mark.ways("four", "spmd")

DTYPES = ["f8", "c16", "f4"]


@pytest.fixture
def blocks_of(session, monkeypatch):
    """Return a function that sets the rows and columns of a block; all matrices count as large."""
    if not all(about.get("scalapack") for about in session.transport.about):
        pytest.skip("these engines do not have ScaLAPACK (extra 'scalapack', two engines and more)")
    with setting(alone=0, scalapack=2):
        yield lambda width: monkeypatch.setattr(scalapack_commands, "WIDTH", width)


@pytest.fixture(params=[(1, 2), (5, 3), (11, 2), (24, 4)], ids=str)
def n(request, blocks_of):
    n, width = request.param
    blocks_of(width)
    return n


def layouts(session):
    return ["block", ("*", "cyclic"), ("block", "block"), ("engine", session.size - 1)]


def test_that_it_is_used(session, blocks_of):
    x = dnb.array(positive(9, 9), dist="block")
    dnb.linalg.cholesky(x).to_numpy()
    window = session.start_window()
    found = dnb.linalg.cholesky(x)
    report = session.end_window(window)
    assert "scalapack" in {op.op for op in report.ops}
    assert found.layout == dnb.array(np.ones((9, 9))).layout
    for fewer in (0, 1):  # panels are as quick
        with setting(scalapack=fewer):
            window = session.start_window()
            dnb.linalg.cholesky(x)
            report = session.end_window(window)
        assert "scalapack" not in {op.op for op in report.ops}


@pytest.mark.parametrize("dtype", DTYPES)
def test_square_matrices(session, n, dtype):
    a, b, p = random(n, n, dtype=dtype), random(n, 3, dtype=dtype), positive(n, n, dtype=dtype)
    for k, dist in enumerate(layouts(session)):
        x, y, z = (dnb.array(c, dist=dist) for c in (a, b, p))
        close(dnb.linalg.cholesky(z, upper=bool(k % 2)), np.linalg.cholesky(p, upper=bool(k % 2)))
        close(dnb.linalg.solve(z, y), np.linalg.solve(p, b))
        close(dnb.linalg.inv(z), np.linalg.inv(p))
        close(dnb.linalg.det(x), np.linalg.det(a), 10)
    close(dnb.linalg.solve(z, b[:, 0]), np.linalg.solve(p, b[:, 0]))
    close(dnb.linalg.solve(z.real, y), np.linalg.solve(p.real, b))
    for found, expected in zip(dnb.linalg.slogdet(x), np.linalg.slogdet(a), strict=True):
        close(found, expected, 10)
    close(dnb.linalg.det(x * np.array(0, dtype)), np.zeros((), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues(session, n, dtype):
    h = random(n, n, dtype=dtype)
    h = h + h.conj().T
    for dist, triangle in zip(layouts(session), "LUlu", strict=True):
        half = (np.tril if triangle in "lL" else np.triu)(h)
        other = (np.triu if triangle in "lL" else np.tril)(
            np.full((n, n), np.nan), 1 - 2 * (triangle in "uU")
        )
        x = dnb.array(half + other.astype(dtype), dist=dist)  # which is not read
        w, v = dnb.linalg.eigh(x, triangle)
        close(w, np.linalg.eigvalsh(h), 10)
        identity(v)
        close(v * w @ v.conj().T, h, 10)
        close(dnb.linalg.eigvalsh(x, triangle), np.linalg.eigvalsh(h), 10)


@pytest.mark.parametrize("shape", [(11, 11), (5, 12), (12, 8), (1, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rectangular_matrices(session, blocks_of, shape, dtype):
    blocks_of(3)
    a = random(*shape, dtype=dtype)
    for dist in layouts(session):
        x = dnb.array(a, dist=dist)
        for mode in ("reduced", "complete"):
            expected = np.linalg.qr(a, mode)
            q, r = dnb.linalg.qr(x, mode)
            assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
            close(abs(r), abs(expected.R), 10)
            identity(q)
            close(q @ r, a, 10)
            assert not np.tril(r.to_numpy(), -1).any()
        close(abs(dnb.linalg.qr(x, "r")), abs(np.linalg.qr(a, "r")), 10)
        u, s, vh = dnb.linalg.svd(x, full_matrices=False)
        close(s, np.linalg.svdvals(a), 10)
        identity(u)
        identity(vh.mT)
        close(u * s @ vh, a, 10)
        close(dnb.linalg.svdvals(x), np.linalg.svdvals(a), 10)


def test_matrices_that_have_no_factors(session, blocks_of):
    blocks_of(2)
    a = np.eye(9)
    a[6, 6] = -1
    x = dnb.array(a, dist="block")
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        dnb.linalg.cholesky(x).to_numpy()
    x[6, 6] = 0
    for call in (dnb.linalg.inv, lambda z: dnb.linalg.solve(z, np.ones(9))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            call(x).to_numpy()
    x[6, 6] = np.nan
    for call in (dnb.linalg.cholesky, dnb.linalg.eigh, dnb.linalg.eigvalsh, dnb.linalg.svdvals):
        with pytest.raises(np.linalg.LinAlgError):
            call(x)[0].to_numpy()
    assert np.isnan(dnb.linalg.det(x).item())
    x[6, 6] = 1
    close(dnb.linalg.inv(x), np.eye(9))


def test_larger_blocks(session, blocks_of):
    """Residuals are as small as LAPACK's, with blocks as users have them."""
    n = 300
    a = random(n, n)
    x = dnb.array(a)
    q, r = dnb.linalg.qr(x)
    identity(q)
    close(q @ r, a, 10)
    u, s, vh = dnb.linalg.svd(x)
    identity(u)
    close(u * s @ vh, a, 10)
    close(x @ dnb.linalg.solve(x, a[:, :5]), a[:, :5], 1000)
