"""Small arrays live in the notebook: nothing is sent, and all is as on engines and in NumPy."""

import gc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.client.reach import whole_functions
from distnb.client.record import creation, index_arrays, operation_cache, ranges
from distnb.client.record.operation_cache import OperationCache
from tests.contract.support import agree, numbered, on_engines, outcome, same, setting, take
from tests.tiers import examples

pytestmark = pytest.mark.ways("cutoff", every=True)

HERE = "in the notebook"


@pytest.fixture(autouse=True)
def cutoff():
    with setting(cutoff=800, place="engines"):
        yield


def commands(session, step):
    """Return how many commands a step records."""
    before = session.recorder.recorded
    step()
    return session.recorder.recorded - before


def large(session, shape=(20, 10), first=1):
    """Return an array on the engines, NumPy's and distributed."""
    x = numbered(shape, first=first)
    a = dnb.array(x, session=session)
    assert not a.layout.base.here
    return x, a


# -- where arrays live -------------------------------------------------------------------------


def test_small_arrays_cost_no_command(session):
    def step():
        a = dnb.arange(10.0)
        b = np.sqrt(a[::-1]) + a * 2 - 1
        b[1:4] = a[:3]
        b[b > 3] = 0
        b += [1.0] * 10
        assert b.sum() > float(b.mean())
        assert dnb.array_equal(b, b.copy())
        assert (a @ b).shape == ()
        dnb.eye(3).T.astype(int).tolist()
        dnb.random.default_rng(1).random((3, 3))
        for x in (a, b, b[2:], a > 3):
            assert HERE in repr(x)
            assert HERE in repr(x.layout)
            assert x.layout.elements() == (0,) * session.size

    assert commands(session, step) == 0


@pytest.mark.parametrize(
    ("numpys", "args"),
    [
        (np.fft.fft, (10**12,)),
        (np.histogram, (10**12,)),
        (np.histogramdd, ((10**7, 10**6),)),
        (np.cov, ()),
        (np.zeros, (10**13,)),
        (np.arange, (1e15,)),
        (np.eye, (10**7,)),
    ],
)
def test_a_small_array_makes_no_large_one_in_the_notebook(session, numpys, args):
    """What asks for much is for the engines: NumPy is not called."""
    x = dnb.zeros((1000, 1) if numpys is np.cov else (9, 2), np.int8)
    assert x.at_home or numpys is np.cov
    with setting(cutoff=1 << 16):
        if numpys in (np.zeros, np.arange, np.eye):
            found = whole_functions.made(numpys, MADE[numpys], args, {})
        else:
            kind = "wide" if numpys is np.cov else "home"
            found = whole_functions.step(numpys, numpys, kind, (x, *args), {})
    assert found is None


MADE = {
    np.zeros: creation._in_shape,
    np.arange: ranges._in_range,
    np.eye: index_arrays._in_matrix,
}


@pytest.mark.ways("spmd")
def test_where_new_arrays_live(session):
    n = 100
    for make in (dnb.zeros, dnb.ones, dnb.arange, dnb.random.default_rng(1).random, dnb.empty):
        assert make(n).layout.base.here
        assert not make(n + 1).layout.base.here
        assert not make(3, dist="block").layout.base.here
    a = dnb.zeros(n)
    assert dnb.zeros_like(a).layout.base.here
    assert not dnb.zeros_like(a, dtype=complex).layout.base.here
    assert not dnb.zeros_like(a, shape=(n, 2)).layout.base.here
    assert dnb.zeros(n, dist=a).layout.base.here
    assert dnb.zeros(n, dist=a.layout.base).layout.base.here
    assert not dnb.zeros((n, 2), dist=dnb.zeros((1, 1)).layout).layout.base.here
    assert not a.astype(complex).layout.base.here
    assert not a.redistribute().layout.base.here
    assert not a.redistribute(a).layout.base.here
    assert a.redistribute("cyclic").layout == dnb.zeros(n, dist="cyclic").layout
    assert dnb.array(range(n)).layout.base.here
    assert not dnb.from_parts([np.ones(2)] * session.size).layout.base.here
    with setting(cutoff=0):
        assert not dnb.zeros(0).layout.base.here
        assert not (a + 1).layout.base.here
        assert not a.copy().layout.base.here
    with pytest.raises(dnb.LayoutError, match="owner: got an array in the notebook"):
        a.layout.owner(3)


def test_large_results_of_small_arrays(session):
    x, y = numbered((100, 1)), numbered((1, 50))
    a, b = dnb.array(x), dnb.array(y)
    found = a * b + np.arange(50.0)
    assert sum(found.layout.elements()) == found.size  # each element once: default layout
    same(found, x * y + np.arange(50.0))
    same(a @ b, x @ y)
    same(np.broadcast_to(a, (100, 30)).copy(), np.broadcast_to(x, (100, 30)))
    same(
        np.broadcast_to(a, (40, 100, 30)).sum(axis=0), np.broadcast_to(x, (40, 100, 30)).sum(axis=0)
    )
    z = numbered((60,), bool)
    same(dnb.array(z) + 0j, z + 0j)
    wide = np.broadcast_to(dnb.array(y), (1000, 50))
    assert not (wide + 1).layout.base.here
    same(wide > 3, np.broadcast_to(y, (1000, 50)) > 3)
    same(dnb.zeros_like(wide), np.zeros((1000, 50)))


@given(data=st.data())
@examples(25)
def test_views_share_memory(session, data):
    """Whatever the view is, writing through it shows in the base, and the other way round."""
    operand = data.draw(testing.placed(data.draw(testing.shapes()), session.size, broadcast=False))
    x = numbered(operand.shape)
    with setting(cutoff=1 << 30):
        a = dnb.array(x)
        assert a.layout.base.here
        view, ours = take(x, operand.view), take(a, operand.view)
        same(ours, view)
        view += 100
        ours += 100
        same(a, x)
        x *= 2
        a *= 2
        same(ours, view)


def test_data_and_copies_do_not_alias(session):
    x = numbered(10)
    a = dnb.array(x)
    x[:] = 0
    same(a, numbered(10))
    a.to_numpy()[:] = 0
    np.array(a)[:] = 0
    same(a, numbered(10))
    b, c = a.copy(), a + 0
    a[:] = 5
    same(b, numbered(10))
    same(c, numbered(10))
    assert not np.shares_memory(a, b)
    assert np.shares_memory(a, a[3:])


# -- meeting arrays on engines -----------------------------------------------------------------


@pytest.mark.ways("spmd")
def test_a_copy_travels_once_until_it_is_written(session):
    x, a = large(session)
    y = numbered(10)
    b = dnb.array(y)
    assert commands(session, lambda: a * dnb.ones(10)) == 3  # the copy, the result, the operation

    def product(b=b):
        return a * b[::-1]

    assert commands(session, product) == 3
    assert commands(session, product) == 2
    same(a + b[::2].sum(), x + y[::2].sum())
    b[0] = -1
    y[0] = -1
    assert commands(session, product) == 3
    c = a * b
    b += 1
    same(c, x * y)
    same(a * b[::-1], x * (y + 1)[::-1])
    assert b.layout.base.here
    gc.collect()
    session.flush()
    before = on_engines(session, "len(worker.store.bases)")
    product.__defaults__ = ()
    del b
    gc.collect()
    session.flush()
    assert on_engines(session, "len(worker.store.bases)") == [n - 1 for n in before]


def test_a_scalar_travels_in_the_command(session):
    x, a = large(session)
    assert commands(session, lambda: a * dnb.array(2.5)) == 2
    same(a * dnb.array(np.float32(2.5)), x * np.array(np.float32(2.5)))
    same(a.astype("f4") * dnb.array(2.5), x.astype("f4") * np.array(2.5))


def test_results_do_not_follow_the_copy(session):
    _, a = large(session)
    b = a[:1, :2]
    assert (b * dnb.ones((1, 1))).layout == (b * 1).layout
    assert (dnb.ones((1, 1)) * b).layout == (b * 1).layout
    d = dnb.ones(10, dist="cyclic")
    assert (dnb.ones(10) + d).layout == (d + 1).layout
    assert (d + dnb.ones(10)).layout == (d + 1).layout


@pytest.mark.ways("spmd")
def test_writing_from_engines_moves_out(session):
    x, a = large(session)
    y = numbered((10, 3))
    b = dnb.array(y)
    view = b.T[1:]
    b[2] = a[:3, 4]
    y[2] = x[:3, 4]
    for z in (b, view, b[1:]):
        assert HERE not in repr(z)
        assert HERE not in repr(z.layout)
    same(b, y)
    same(view, y.T[1:])
    view -= 1
    y.T[1:] -= 1
    same(b, y)
    c, z = dnb.zeros(10), np.zeros(10)
    np.add(a[0], 1, out=c)
    same(c, x[0] + 1)
    c = dnb.zeros(10)
    c[a[0] > 3] = 7
    z[x[0] > 3] = 7
    same(c, z)
    c = dnb.zeros(10)
    a.sum(axis=0, out=c)
    same(c, x.sum(axis=0))
    a[3] = dnb.arange(10)
    x[3] = np.arange(10)
    a[a > 100] = dnb.array(-1.0)
    x[x > 100] = -1.0
    np.multiply(a, 2, out=a, where=dnb.arange(10) % 2 == 0)
    np.multiply(x, 2, out=x, where=np.arange(10) % 2 == 0)
    same(a, x)
    same(np.sum(a, where=dnb.arange(10) > 3), np.sum(x, where=np.arange(10) > 3))
    same(a @ dnb.ones((10, 2)), x @ np.ones((10, 2)))
    same(dnb.ones((2, 20)) @ a, np.ones((2, 20)) @ x)


@pytest.mark.ways("spmd")
def test_a_lost_copy_is_sent_again(session):
    x, a = large(session)
    b = dnb.arange(10.0)
    a * b
    (copy,) = b.dbase.kept.values()
    copy.lost = True
    same(a * b, x * np.arange(10.0))


@pytest.mark.ways("spmd")
def test_sessions_do_not_mix(session, second):
    a, b = dnb.ones(4, session=session), dnb.ones(4, session=second)
    for use in (
        lambda: a + b,
        lambda: a.__iadd__(b),
        lambda: a.__setitem__(0, b[0, ...]),
        lambda: np.where(a > 0, b, a),
        lambda: a @ b,
        lambda: np.sum(a, where=b > 0),
        lambda: a.sum(out=b[0, ...]),
    ):
        with pytest.raises(dnb.SessionError):
            use()
    same(a, np.ones(4))


@pytest.mark.ways("spmd")
def test_px_is_told(session):
    a, (_, b) = dnb.arange(6.0), large(session)
    session.bind([("a", a.bound), ("b", b.bound)])
    shown = on_engines(session, "repr(worker.executor.user['a'])")
    assert shown == ["<a: (6,) float64, in the notebook>"] * session.size
    about = "(lambda a: (a.shape, a.dtype.str, a.layout))(worker.executor.user['a'])"
    assert on_engines(session, about) == [((6,), "<f8", HERE)] * session.size
    a = a.redistribute()
    session.bind([("a", a.bound)])
    assert sum(on_engines(session, "worker.executor.user['a'].local.size")) == 6
    session.bind([])


@pytest.mark.ways("spmd")
def test_what_px_gives_the_name_of_an_array_stays(session):
    a = dnb.arange(6.0, dist="block")
    session.bind([("a", a.bound)])
    on_engines(session, "worker.executor.user.__setitem__('a', 5)")
    for _ in range(2):
        session.bind([("a", a.bound)])
        assert on_engines(session, "worker.executor.user['a']") == [5] * session.size
    a = a + 1  # the notebook means another array by it
    session.bind([("a", a.bound)])
    assert sum(on_engines(session, "worker.executor.user['a'].local.size")) == 6
    session.bind([])
    assert on_engines(session, "'a' in worker.executor.user") == [False] * session.size


# -- as NumPy does -----------------------------------------------------------------------------


@pytest.mark.ways("spmd")
def test_random_numbers_are_the_same_everywhere(session):
    for draw in (
        lambda rng, **at: rng.random((4, 3), **at),
        lambda rng, **at: rng.normal(1, 2, 5, **at),
        lambda rng, **at: rng.integers(0, 10, (2, 0, 3), **at),
        lambda rng, **at: rng.exponential(2.0, (), **at),
    ):
        here = draw(dnb.random.default_rng(7))
        assert here.layout.base.here
        there = draw(dnb.random.default_rng(7), dist="replicated")
        assert not there.layout.base.here
        same(here, there.to_numpy())


def test_warnings_name_the_line_and_obey_errstate(session):
    a = dnb.array([1.0, 0.0, -1.0])
    for use, text in (
        (lambda: 1 / a, "divide by zero encountered in divide"),
        (lambda: np.sqrt(a), "invalid value encountered in sqrt"),
        (lambda: a.__itruediv__(0), "invalid value encountered in divide"),
        (lambda: (a * 1e300).prod(dtype="f4"), "overflow encountered in reduce"),
    ):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            use()
        shown = {(str(w.message), w.category, w.filename) for w in found}
        assert (text, RuntimeWarning, __file__) in shown
        a[:] = [1.0, 0.0, -1.0]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            use()
        a[:] = [1.0, 0.0, -1.0]
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="encountered in"):
            use()
        a[:] = [1.0, 0.0, -1.0]
    told = []
    with np.errstate(divide="call", call=lambda *what: told.append(what)):
        1 / a
    assert told == [("divide by zero", 1)]


@pytest.mark.ways("spmd")
def test_errors_come_at_once_and_change_nothing(session):
    x = numbered(6, int)
    a = dnb.array(x)
    for f in (
        lambda a: a ** (a - 3),
        lambda a: a.__iadd__(0.5),
        lambda a: a + np.ones(4),
        lambda a: a.__setitem__(0, 1j),
        lambda a: a.__setitem__(slice(2), [1, 2, 3]),
        lambda a: a.__setitem__(a > 3, [1, 2]),
        lambda a: np.bitwise_or(a, 0.5),
        lambda a: a.astype("i1") + 1000,
        lambda a: a[:0].max(),
        lambda a: a @ np.ones((3, 3)),
    ):
        agree(lambda f=f: f(x.copy()), lambda f=f: f(a))
        same(a, x)
    with pytest.raises(ValueError, match="read-only"):
        np.add(a, 1, out=np.broadcast_to(a, (2, 6)))
    same(a, x)


def test_arrays_outlive_what_engines_do(session):
    """Reading what is here waits for no engine, and does not raise what one raised."""
    x = dnb.arange(200)
    y = x ** (x - 3)
    a = dnb.arange(3)
    assert (a + 1).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="negative integer powers"):
        y.to_numpy()
    same(a, np.arange(3))


# -- operations that come again ----------------------------------------------------------------


def test_repeated_operations(session):
    """The second time an operation is recorded from what was kept; nothing else may change."""
    with setting(cutoff=0):
        for dtype in ("i1", "u1", "f4", "f8", "?", "c16"):
            x = numbered((6, 5), dtype)
            a = dnb.array(x, dist="cyclic")
            for _ in range(3):
                for scalar in (1, 100, 127, 128, 300, -1, True, 2.5, 1j, 1e300, np.float32(2)):
                    for f in (np.add, np.multiply, np.minimum):
                        with np.errstate(all="ignore"):
                            agree(lambda: f(x, scalar), lambda: f(a, scalar))
                same(a.T[1:] + a.T[:-1], x.T[1:] + x.T[:-1])
                same(a[0] * a, x[0] * x)
        x, y = numbered((4, 6), "f8"), np.zeros((4, 6))
        a, b = dnb.array(x), dnb.zeros((4, 6), dist="cyclic")
        frozen = np.broadcast_to(b, (4, 6))
        for k in range(4):
            b[1:] += a[1:] * k
            y[1:] += x[1:] * k
            b[:, ::2] = a[:1, ::2]
            y[:, ::2] = x[:1, ::2]
            b[:] = b[::-1]
            y[:] = y[::-1]
            with pytest.raises(ValueError, match="read-only"):
                frozen += 1
            with pytest.raises(ValueError, match="shapes"):
                a + a[:, 1:]
        same(b, y)


def test_what_is_kept_is_bounded(session, monkeypatch):
    monkeypatch.setattr(operation_cache, "_MOST", 60)
    kept = session.extensions[OperationCache]
    kept.forget()  # what tests before it have left
    sizes = []
    with setting(cutoff=0):
        a = dnb.zeros((10, 30))
        for i in range(10):
            for j in range(15):
                a[i, j:] + 1
                sizes.append(max(len(kept.specs), len(kept.templates)))
    assert max(sizes[1:]) <= 60 + 1
    assert min(sizes) < 10  # what had come to be too much is forgotten


def test_indices_that_look_alike(session):
    """What is kept of an index must not take True or 1.0 for 1."""
    x = np.arange(12.0).reshape(3, 4)
    for there in (0, 1 << 16):
        with setting(cutoff=there):
            a = dnb.array(x)
            for _ in range(2):
                for key in (1, (1,), slice(1), (slice(None, None, 2), 1), np.int64(1), (None, 1)):
                    same(a[key], x[key])
                for key in (True, (True,)):
                    same(a[key], x[key])
                for key in (1.0, slice(1.0), (slice(None), 1.0), "x"):
                    with pytest.raises((IndexError, TypeError)):
                        a[key]


def test_small_arrays_as_indices_take_what_numpy_takes(session):
    x = np.arange(24.0).reshape(4, 6)
    views = {
        "whole": (x, dnb.array(x)),
        "turned": (x.T, dnb.array(x).T),
        "flipped": (x[::-2, 1:], dnb.array(x)[::-2, 1:]),
        "line": (x[1], dnb.array(x)[1]),
        "of no axes": (x[1, 2, ...], dnb.array(x)[1, 2, ...]),
        "empty": (x[:0], dnb.array(x)[:0]),
        "wide": (np.zeros((2, 50)), dnb.zeros((2, 50))),
    }
    keys = [
        np.array(k) for k in ([0, 1], [[0, -1], [1, 0]], [1.5], [9], [True, False], [], 1, True)
    ]
    for name, (a, b) in views.items():
        for key in (*keys, np.array([], int), a > 3, np.zeros(len(np.atleast_1d(a)), int) == 0):
            at = dnb.array(key)
            wanted, refused = outcome(lambda a=a, key=key: a[key])
            found, error = outcome(lambda b=b, at=at: b[at])
            assert (refused is None) == (error is None), (name, key, error)
            if error is not None:
                assert isinstance(error, type(refused)), (name, key)
                continue
            same(found, wanted)
            if np.ndim(wanted):  # a copy
                found[...] = -1
                assert b.layout.base.here
                assert np.array_equal(b.to_numpy(), a), (name, key)
    many = np.zeros(100, int)  # what comes is large, and so on engines
    assert not dnb.zeros((2, 50))[dnb.array(many)].layout.base.here


def test_sorting_and_counting_small_arrays(session):
    x = np.array([3, 1, 2, 1, 0])
    with setting(cutoff=1 << 16):
        a = dnb.array(x)
        assert dnb.sort(a).layout == a.layout
        same(dnb.sort(a), np.sort(x))
        same(dnb.bincount(a, a * 0.5, 7), np.bincount(x, x * 0.5, 7))
        same(dnb.bincount(a, dnb.array(x, dist="block")), np.bincount(x, x))
        same(dnb.bincount(dnb.array(x, dist="block"), a), np.bincount(x, x))
        b = a[::-1]
        a.sort()
        same(b, np.sort(x)[::-1])
    with pytest.raises(ValueError, match="negative"):
        dnb.bincount(dnb.array([-1, 1]))


#: What small programs are full of: of NumPy, or of distnb in its place.
SMALL = {
    "numbers": lambda xp, v, m: (xp.sqrt(2.0), xp.add(True, 2), xp.maximum(1, xp.float32(2))),
    "a number clipped": lambda xp, v, m: (xp.clip(xp.float64(3.0), 0, 1), xp.clip(2, 0, 1)),
    "lists": lambda xp, v, m: (xp.array([1, 2.5]), xp.array([[1, 2], [3, 4]]), xp.asarray((1, 2))),
    "lists of arrays": lambda xp, v, m: (xp.array([v, v + 1]), xp.array([v[1], 2, v.sum()])),
    "a list and a dtype": lambda xp, v, m: xp.array([v[0], 1], dtype=xp.float32),
    "numpy's indices": lambda xp, v, m: (v[np.int64(2)], m[np.int8(1), np.uint64(2)]),
    "new axes": lambda xp, v, m: (v[:, None] * v, m[None, 1, None], v[..., None, 1:]),
    "one broadcast": lambda xp, v, m: (m + v, v - m[:, :1], m[:, :1] * v[None]),
    "into outputs": lambda xp, v, m: (xp.add(v, 1.5, out=v), xp.multiply(m, v, out=m), v, m),
    "kept axes": lambda xp, v, m: (
        m.sum(axis=1, keepdims=True),
        m.max(0, keepdims=True),
        (m > 2).any(keepdims=True),
        m.argmax(axis=0, keepdims=True),
    ),
    "products": lambda xp, v, m: (m @ v, v @ v, m.T @ m, m @ [1.0, 0, 0, 0], xp.dot(m, v)),
    "diagonals": lambda xp, v, m: (xp.fill_diagonal(m, 7), m),
    "powers": lambda xp, v, m: (xp.vander(v), xp.vander(v, 3, increasing=True)),
    "grids": lambda xp, v, m: (xp.indices((2, 3)), *xp.indices((2, 3), sparse=True)),
    "positions": lambda xp, v, m: (xp.unravel_index(7, (3, 4)), xp.full_like(v, 2)),
    "frequencies": lambda xp, v, m: (xp.fft.fftfreq(5, 0.1), xp.fft.rfftfreq(6, d=0.2)),
    "factors": lambda xp, v, m: (*xp.linalg.svd(m), *xp.linalg.lstsq(m, v)[:2]),
    "at": lambda xp, v, m: (xp.add.at(v, [1, 1, 0], 0.1), v),
}


@pytest.mark.parametrize("what", SMALL)
def test_what_small_programs_do_is_what_numpy_does(session, what):
    v, m = numbered((4,)) / 7, numbered((4, 4)) ** 0.5
    expected = SMALL[what](np, v.copy(), m.copy())
    with setting(cutoff=1 << 17, place="auto"):
        found = SMALL[what](dnb, dnb.array(v), dnb.array(m))
    for f, e in _pairs(found, expected):
        assert isinstance(f, dnb.DistArray) == isinstance(e, np.ndarray), (f, e)
        if e is not None:
            assert np.asarray(f).dtype == np.asarray(e).dtype
            assert np.asarray(f).shape == np.shape(e)
            assert np.asarray(f).tobytes() == np.asarray(e).tobytes(), (f, e)


def _pairs(found, expected):
    if not isinstance(expected, tuple):
        return [(found, expected)]
    assert len(found) == len(expected)
    return [p for f, e in zip(found, expected, strict=True) for p in _pairs(f, e)]


def test_lists_with_arrays_of_engines_have_their_elements(session):
    with setting(cutoff=1 << 17):
        far = dnb.array(numbered((3,)), dist="block")
        for dtype in (None, float, np.float32):
            same(dnb.array([far, numbered((3,))], dtype), np.array([numbered((3,))] * 2, dtype))
            same(dnb.array([far.sum(), 1], dtype), np.array([6.0, 1], dtype))


def test_putting_along_no_axis_leaves_an_array_where_it_is(session):
    """It shares its memory with others, so it could not move to engines."""
    a, x = dnb.arange(6), np.arange(6)
    table = a.reshape(2, 3)
    for values in ([7, 8, 9], 5, [6], [1, 2]):
        agree(
            lambda v=values: np.put_along_axis(x.reshape(2, 3), np.array([1, -1, 2]), v, None),
            lambda v=values: dnb.put_along_axis(table, np.array([1, -1, 2]), v, None),
        )
        same(a, x)
    assert a.layout.base.here


def test_outputs_that_do_not_fit_are_refused(session):
    with setting(cutoff=1 << 17):
        v, whole = dnb.arange(4.0), dnb.arange(4)
        fixed = dnb.arange(4.0)
        fixed.flags.writeable = False
        for out, error in ((whole, TypeError), (fixed, ValueError), (dnb.ones(3), ValueError)):
            before = out.to_numpy()
            with pytest.raises(error):
                dnb.add(v, 0.5, out=out)
            same(out, before)
        view = v[1:]
        assert dnb.add(v[:-1], 1.0, out=view) is view
        same(v, np.array([0.0, 1.0, 2.0, 3.0]))
