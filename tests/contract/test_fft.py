"""Fourier transforms: NumPy's results up to rounding, over layouts, lengths and kinds of slices."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.client.signal import fft_commands
from distnb.engines.collectives import fourier as fourier_of_engines
from distnb.engines.collectives import pencils
from tests.contract.support import DTYPES, agree, measured, on_engines, pair, same, setting, thin
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four")

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
REAL = ("rfft", "ihfft", "rfftn", "rfft2")
SHAPES = [(6, 8), (3, 5, 7), (2, 2, 70), (9, 2)]


@pytest.fixture
def together(monkeypatch):
    """Even short 1-D slices are transformed by all engines together."""
    monkeypatch.setattr(fft_commands, "TOGETHER", 8)
    monkeypatch.setattr(fft_commands, "LONG", 8)
    monkeypatch.setattr(fft_commands, "CONVOLVE", 2)


def data(shape, name="", dtype=complex):
    x = np.random.default_rng(sum(shape)).standard_normal((2, *shape))
    found = x[0] if name in REAL or np.dtype(dtype).kind == "f" else x[0] + 1j * x[1]
    return found.astype(np.result_type(dtype, np.float32) if name in REAL else dtype)


def close(actual, expected):
    assert isinstance(actual, dnb.DistArray)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if not expected.size:
        return
    eps = max(np.finfo(expected.dtype).eps, 1e-15)
    scale = np.abs(expected).max() * eps * 40
    np.testing.assert_allclose(actual.to_numpy(), expected, rtol=0, atol=scale)


def compare(name, a, x, *args, **options):
    close(getattr(dnb.fft, name)(a, *args, **options), getattr(np.fft, name)(x, *args, **options))


# -- several axes ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEVERAL)
def test_layouts(session, name):
    for shape in thin(SHAPES, 2):
        x = data(shape, name, float if name in REAL else complex)
        for dist in thin(list(product(("*", "block", "cyclic"), repeat=len(shape)))[::2], 5):
            a = dnb.array(x, dist=dist)
            compare(name, a, x)
            same(a, x)


@pytest.mark.parametrize("name", ONE)
def test_one_axis_of_several(session, name):
    x = data((4, 6, 5), name, float if name in REAL else complex)
    for dist in ("block", ("*", "cyclic"), ("*", "block", "block"), "replicated"):
        a = dnb.array(x, dist=dist)
        for axis in range(-1, 2):
            for n in (None, 4, 9):
                compare(name, a, x, n, axis)
        compare(name, a[::-2].T, x[::-2].T, axis=1)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_norms(session, together, norm):
    x, y = data((24,)), data((4, 6))
    for name in ONE:
        z = x.real if name in REAL else x
        compare(name, dnb.array(z), z, norm=norm)
    for name in SEVERAL:
        z = y.real if name in REAL else y
        compare(name, dnb.array(z), z, norm=norm)


# -- real elements: half is computed -------------------------------------------------------------

REALS = [(6, 8), (9, 5), (3, 5, 7), (4, 4, 6), (2, 3, 4, 5)]


@pytest.mark.parametrize("name", ["fftn", "ifftn"])
def test_real_elements(session, name):
    for shape in thin(REALS, 2):
        x = data(shape, dtype=float)
        for dist in thin(list(product(("*", "block", "cyclic"), repeat=len(shape)))[::2], 5):
            compare(name, dnb.array(x, dist=dist), x)
        for axes in ((0, 1), (-1, 0), (-2, -1)):
            compare(name, dnb.array(x), x, axes=axes)
            compare(name, dnb.array(x), x, (4, 9), axes, "ortho")
            compare(name, dnb.array(x)[::-1].T, x[::-1].T, (3, -1), axes, "forward")


@pytest.mark.parametrize("name", ["fft2", "ifft2"])
def test_real_elements_of_any_length(session, name):
    """Even and odd ones, and fewer 1-D slices than engines."""
    for shape in product((1, 2, 3, 4, 7, 8), (1, 2, 3, 5, 6)):
        compare(name, dnb.array(data(shape, dtype=float)), data(shape, dtype=float))


def test_real_elements_of_any_kind(session):
    for dtype in DTYPES:
        x = (np.arange(35) % 5).astype(dtype).reshape(5, 7)
        for dist in ("block", ("irregular", even_cuts(5, session.size)), ("engine", 0)):
            compare("fft2", dnb.array(x, dist=dist), x)
            compare("ifft2", dnb.array(x, dist=dist), x)


def test_real_elements_on_grids(session):
    for shape, dist in (((6, 5, 8), ("block", "block")), ((3, 4, 5, 6), ("block", "*", "block"))):
        x = data(shape, dtype=float)
        a = dnb.array(x, dist=dist)
        assert is_hermitian(dnb.fft.fftn(a).to_numpy())
        compare("fftn", a, x)
        compare("ifftn", a, x, axes=(0, -1))
        compare("fftn", a, x, axes=(0, 1))


def is_hermitian(x):
    turned = x.conj()
    for d in range(x.ndim):
        turned = np.roll(np.flip(turned, d), 1, d)
    return np.allclose(x, turned)


def even_cuts(n, p):
    return tuple(n * i // p for i in range(p + 1))


@pytest.mark.parametrize("tile", [64, 1000])
def test_tiles_and_strips(session, monkeypatch, tile):
    """Where the cache holds a few slices only, there are many tiles, and the last are shorter."""
    for module in (fourier_of_engines, pencils):
        monkeypatch.setattr(module, "TILE", tile)
    monkeypatch.setattr(pencils, "NARROWEST", 3)
    for shape in ((11, 16), (5, 6, 10)):
        x = data(shape)
        for dist in ("block", ("*", "block")):
            for y in (x, x.real):
                for name in ("fftn", "ifftn", "irfftn"):
                    compare(name, dnb.array(y, dist=dist), y)
            compare("rfftn", dnb.array(x.real, dist=dist), x.real)


def test_an_array_that_is_transformed_keeps_its_elements(session):
    for x in (data((6, 8)), data((6, 8), dtype=float)):
        a = dnb.array(x)
        for name in ("fft2", "ifft2", "irfft2"):
            compare(name, a, x)
            same(a, x)


@pytest.mark.parametrize("name", ["fft", "ifft", "fftn"])
def test_an_array_on_one_engine_keeps_its_elements(session, name):
    for rank in range(session.size):
        for shape in ((40,), (1, 40), (3, 40)):
            a = np.arange(np.prod(shape)).reshape(shape) * (1 + 2j)
            x = dnb.array(a, dist=("engine", rank))
            found = getattr(dnb.fft, name)(x).to_numpy()
            np.testing.assert_allclose(found, getattr(np.fft, name)(a), rtol=1e-12, atol=1e-9)
            same(x, a)


def test_lengths_and_axes(session):
    x = data((6, 5, 7))
    a = dnb.array(x, dist=("*", "block"))
    for options in (
        {"s": (4, 9)},
        {"axes": (0, 2)},
        {"s": (8, 3), "axes": (1, 0)},
        {"s": (-1, 3), "axes": (2, 0)},
        {"axes": (1, 1)},
        {"axes": ()},
        {"s": (3, 4, 5), "axes": (2, 1, 0)},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            compare("fftn", a, x, **options)
            if options != {"axes": ()}:
                compare("irfftn", a, x, **options)
                compare("rfftn", a.real, x.real, **options)


def test_along_no_axis(session):
    x = dnb.ones((2, 3))
    assert dnb.fft.fftn(x, axes=()) is x
    assert dnb.fft.ifftn(dnb.ones(()), norm="ortho").dtype == np.fft.ifftn(np.ones(())).dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(session, together, dtype):
    x = (np.arange(48) % 7).astype(dtype)
    for name in ONE:
        if name in REAL and dtype.kind == "c":
            agree(lambda: getattr(np.fft, name)(x), lambda: getattr(dnb.fft, name)(dnb.array(x)))
        elif not (dtype == np.float16 and name in ("hfft", "irfft")):  # NumPy's result overflows
            compare(name, dnb.array(x), x)
            compare(name, dnb.array(x.reshape(8, 6)), x.reshape(8, 6), axis=0)


@pytest.mark.ways("spmd")
@given(st.data())
@examples(40)
def test_any_view_of_any_layout(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=7).filter(len))
    x, a, base, dist = pair(data.draw, shape, session.size, dtype="f8")
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=3))
    before = base.copy()
    if all(x.shape[axis] for axis in axes):
        compare("fftn", a, x, axes=axes)
    else:
        agree(lambda: np.fft.fftn(x, axes=axes), lambda: np.fft.fftn(a, axes=axes))
    same(dist, before)


def test_nothing(session):
    for shape in ((0, 4), (4, 0), (0,)):
        x = np.zeros(shape)
        for name in ONE:
            for n in (None, 4):
                f, g = getattr(np.fft, name), getattr(dnb.fft, name)
                if n is None or name not in ("irfft", "hfft"):  # NumPy reads beyond the end
                    agree(lambda: f(x, n), lambda: g(dnb.array(x), n))


# -- one axis ----------------------------------------------------------------------------------


def test_primes_are_convolutions_of_many_engines(session, engines_only, monkeypatch):
    """With few engines, one transforms the slice alone."""
    a = dnb.array(data((4099,)))
    for engines in (8, 2):
        monkeypatch.setattr(fft_commands, "CONVOLVE", engines)
        with measured(session) as reports:
            dnb.fft.fft(a)
        together = any(row.op == "twiddle" for row in reports[0].ops)
        assert together == (engines <= session.size)
        close(dnb.fft.fft(a), np.fft.fft(a.to_numpy()))


@pytest.mark.ways("spmd")
@pytest.mark.parametrize("name", ONE)
def test_one_lane_by_all_engines(session, together, name):
    """Lengths that two, three, four engines can divide, and prime ones."""
    for n, dist in ((1, "block"), (36, "cyclic"), (64, "block"), (127, "block"), (144, "block")):
        x = data((n,), name, float if name in REAL else complex)
        a = dnb.array(x, dist=dist)
        for length in (None, n + 5, max(2, n - 3)):
            if (n, length) != (1, None) or name not in ("irfft", "hfft"):
                compare(name, a, x, length)


@pytest.mark.ways("spmd")
def test_few_lanes_by_all_engines(session, together):
    x = data((2, 150))
    for dist in (("*", "block"), ("block", "block")):
        compare("fft", dnb.array(x, dist=dist), x)
        compare("fft", dnb.array(x.T, dist=dist[::-1]), x.T, 160, 0)


def test_long_lanes(session):
    for n in (1 << 14, 4096 + 1, 5040):
        x = data((n,))
        a = dnb.array(x)
        compare("fft", a, x)
        compare("irfft", a, x)
        close(dnb.fft.ifft(dnb.fft.fft(a)), x)


# -- layouts and messages ------------------------------------------------------------------------


def sent(session, step):
    with measured(session) as reports:
        found = step()
    return found, sum(r.bytes for row in reports[0].ops for r in row.ranks)


def test_one_redistribution_for_each_split_axis(session, engines_only):
    p, n = session.size, 24
    x = data((n, n))
    a = dnb.array(x)
    b, there = sent(session, lambda: dnb.fft.fft2(a))
    assert there == p * (p - 1) * (x.nbytes // p**2)
    assert p == 1 or b.dbase.layout == dnb.ones((n, n), dist=("*", "block")).dbase.layout
    c, back = sent(session, lambda: dnb.fft.ifft2(b))
    assert back == there
    assert p == 1 or c.dbase.layout == a.dbase.layout
    assert sent(session, lambda: dnb.fft.fft(a))[1] == 0


def test_real_elements_send_half_and_conjugates(session, engines_only):
    """With the conjugates that is no more than complex elements would send on many engines."""
    p, n = session.size, 24
    x = data((n, n), dtype=float)
    a = dnb.array(x)
    b, there = sent(session, lambda: dnb.fft.fft2(a))
    close(b, np.fft.fft2(x))
    half = n // 2 + 1
    moved = n * half * (p - 1) / p + n * n / 2
    most = 16 * (moved + 2 * p * n)
    assert 0 < there <= most or p == 1
    assert b.dbase.layout == dnb.fft.fft2(a * 1j).dbase.layout


@pytest.mark.ways("spmd")
def test_pencils(session, engines_only):
    """On a grid, elements move along its dimensions only."""
    x = data((8, 8, 8))
    a = dnb.array(x, dist=("block", "block"))
    found = dnb.fft.fftn(a)
    close(found, np.fft.fftn(x))
    assert found.dbase.layout.grid == a.dbase.layout.grid


def test_lanes_of_one_axis_stay_in_blocks(session, engines_only):
    for n in (24, 5000):
        a = dnb.ones(n, complex)
        found = dnb.fft.fft(a)
        assert session.size == 1 or found.dbase.layout == a.dbase.layout


@pytest.mark.ways("spmd")
def test_pack_buffers_go_back_to_the_pool(session, engines_only):
    a = dnb.array(data((96, 96), dtype=float))
    held = []
    for _ in range(3):
        found = dnb.fft.fft2(a)
        session.flush()
        del found
        held.append(on_engines(session, "worker.store.memory.pool.held"))
    assert held[1] == held[2]
    most = 16 * 96 * 49 // session.size  # at least what was packed of the first transform
    assert min(held[1]) >= most * 0.9


@pytest.mark.ways("spmd")
@pytest.mark.parametrize("dtype", [float, complex])
def test_a_failure_amid_the_transforms(session, engines_only, monkeypatch, dtype):
    """Nobody waits for ever, and nothing is left over."""
    if hasattr(session.transport, "client"):
        pytest.skip("engines are other processes")
    x = data((24, 24), dtype=float if session.size == 1 else dtype)  # one engine only halves
    a = dnb.array(x)
    session.flush()
    before = pencils.transform
    spmd = session.transport.kind == "SPMD"
    for calls in (0, 1) if spmd else (0, 1, 2 * session.size - 1):
        left = [calls if not spmd or session.transport.rank == 0 else -1]

        def fails(*args, left=left, **options):
            left[0] -= 1
            if left[0] == -1:
                raise MemoryError("planted")
            return before(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(pencils, "transform", fails)
            lost = dnb.fft.fft2(a)
            with pytest.raises(MemoryError, match="planted"):
                session.flush()
        with pytest.raises(dnb.LostArrayError):
            lost.to_numpy()
        compare("fft2", a, x)


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fft", (0,)),
        ("fft", (-3,)),
        ("fft", (2.5,)),
        ("fft", (None, 2)),
        ("fft", (None, 0, "wrong")),
        ("irfft", (None, 5)),
        ("fftn", ((2, 3), (0,))),
        ("fftn", ((0,), (0,))),
        ("fftn", (None, (0, 3))),
        ("fft2", (None, (0,), "wrong")),
        ("irfftn", (None, ())),
        ("fftshift", (4,)),
    ],
    ids=str,
)
def test_bad_arguments(session, name, args):
    x = data((4, 5))
    f, g = getattr(np.fft, name), getattr(dnb.fft, name)
    agree(lambda: f(x, *args), lambda: g(dnb.array(x), *args))


def test_numpys_functions_take_distributed_arrays(session):
    x = data((12, 4))
    a = dnb.array(x)
    close(np.fft.fft(a, axis=0), np.fft.fft(x, axis=0))
    close(np.fft.fft2(a), np.fft.fft2(x))
    close(dnb.fft.fft([1, 2, 3]), np.fft.fft([1, 2, 3]))
    close(dnb.fft.fft(np.ones(3)), np.fft.fft(np.ones(3)))


def test_given_outputs(session):
    x = data((6, 4))
    out = dnb.empty((6, 4), complex)
    assert dnb.fft.fft(dnb.array(x), axis=0, out=out) is out
    close(out, np.fft.fft(x, axis=0))
    assert np.fft.fftn(dnb.array(x), out=out) is out
    close(out, np.fft.fftn(x))


@pytest.mark.parametrize("name", ["hfft", "ifft2", "irfft2"])
@pytest.mark.parametrize("cutoff", [0, 1 << 20])
def test_outputs_that_numpys_own_forget(session, name, cutoff):
    x = data((6, 4))
    expected = getattr(np.fft, name)(x)
    with setting(place="auto", cutoff=cutoff):
        out = dnb.zeros(expected.shape, expected.dtype)
        assert getattr(dnb.fft, name)(dnb.array(x), out=out) is out
        close(out, expected)


def test_frequencies(session):
    for n, d in product((1, 4, 7), (1.0, 0.25, 3)):
        same(dnb.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        same(dnb.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    agree(lambda: np.fft.fftfreq(2.5), lambda: dnb.fft.fftfreq(2.5))


def test_shifts(session):
    for shape in ((7,), (4, 5), (3, 0, 2)):
        x = np.arange(np.prod(shape)).reshape(shape)
        for dist in ("block", "cyclic", "replicated"):
            a = dnb.array(x, dist=dist)
            for axes in (None, 0, -1, (0, 0), (0, -1)):
                same(dnb.fft.fftshift(a, axes), np.fft.fftshift(x, axes))
                same(np.fft.ifftshift(a, axes), np.fft.ifftshift(x, axes))


def test_poisson_equation(session):
    """A program: solve for a periodic potential by dividing in Fourier space."""

    def solve(np, rho):
        kx, ky = np.fft.fftfreq(16)[:, None], np.fft.fftfreq(12)[None, :]
        k2 = kx**2 + ky**2
        k2[0, 0] = 1
        phi = np.fft.fft2(rho) / k2
        phi[0, 0] = 0
        return np.fft.ifft2(phi).real

    rho = data((16, 12), dtype=float)
    close(solve(dnb, dnb.array(rho)), solve(np, rho))


@pytest.mark.parametrize("norm", ["ortho", "forward", None])
def test_half_precision_is_scaled_as_by_numpy(norm):
    x = np.arange(24, dtype="f2").reshape(3, 8)
    close(dnb.fft.fft(dnb.array(x), norm=norm), np.fft.fft(x, norm=norm))
