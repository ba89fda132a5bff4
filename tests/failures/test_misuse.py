"""What cannot be done is refused at the call, as NumPy refuses it, and nothing is lost."""

import builtins
import contextlib
import re
import threading

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support

#: got, expected, do: where NumPy has no words of its own
FORM = r".+: got .+, expected .+; .+"

A = np.arange(12.0).reshape(3, 4)


class Names:
    """Arrays under short names, NumPy's or distributed."""

    def __init__(self, array):
        self.names = {
            "np": np,
            "a": array(A),
            "i": array(A.astype(int)),
            "b": array(np.arange(5.0)),
            "small": array(np.zeros(3, np.int8)),
            "z": array(np.array(2.5)),
        }

    def run(self, code):
        """Return the exception that a statement raises."""
        try:
            exec(code, self.names)
        except Exception as error:
            return error
        return None


def nearest(error):
    """Return the nearest class of an exception that users can name."""
    places = (builtins, np.exceptions, np.linalg)
    return next(
        cls
        for cls in type(error).__mro__
        if any(getattr(place, cls.__name__, None) is cls for place in places)
    )


@contextlib.contextmanager
def unharmed(session):
    """Afterwards all is as before: what there was, what is on the engines, and that they answer."""
    keep = dnb.arange(7, session=session, dist="cyclic")
    session.flush()
    before = bases(session)
    yield
    session.flush()
    assert bases(session) == before
    np.testing.assert_array_equal(keep.to_numpy(), np.arange(7))
    assert session.connection.ready


def bases(session):
    return support.everywhere(session, "found = len(worker.store.bases)")


@pytest.fixture(scope="module")
def names():
    """A session, and arrays in it; with arrays of another session, of more engines."""
    with dnb.inprocess(4) as other, dnb.inprocess(3) as session:
        found = Names(dnb.array)
        found.names |= {"dnb": dnb, "other": other, "wide": dnb.ones(8, session=other)}
        yield session, found


AS_NUMPY = """
    a + b
    a[:, 1:] - a[:, :-2]
    a + [1, 2]
    a + [[1, 2], [3]]
    a + 'x'
    a + None
    a + object()
    a < 'x'
    a + np.array(['x'])
    a + np.array([None])
    a + np.array(['2020-01-01'], 'M8[D]')
    a + np.timedelta64(1, 's')
    a & a
    ~a
    a << 2
    i ^ 1.5
    a @ b
    a @ 3
    small + 300
    small * -129
    small += 1000
    i + 2**63
    i * 2**70
    np.add(small, 128)
    np.add(a)
    np.add(a, 1, a, a)
    np.add(a, 1, out=(a, a))
    np.add(a, 1, out=i)
    np.add(a, 1, out=b)
    np.add(a, 1, where=b > 1, out=a)
    np.add(a, 1, where=b, out=a)
    np.add(a, 1, dtype='int8')
    np.add(a, 1, dtype='f4', casting='no')
    np.add(a, 1, casting='never')
    np.add(a, 1, axis=0)
    np.add(a, 1, nonsense=0)
    a[3]
    a[-4]
    a[0, 0, 0]
    a[..., ...]
    a[1.5]
    a['x']
    a[{}]
    a[2**70]
    a['1':]
    a[::0]
    a.sum(axis=2)
    a.sum(axis=(0, 0))
    a.sum(axis=(0, -2))
    a.sum(axis=1.5)
    a.sum(axis='x')
    a.sum(out=b)
    a.sum(axis=0, out=b)
    a.sum(dtype='U3')
    a.sum(where=b > 1)
    a.min(where=a > 1)
    a[:0].max()
    a[:0].argmax()
    a[:0].argmin(axis=0)
    a.argmin(axis=(0, 1))
    np.mean(a, axis=9)
    np.std(a, axis='x')
    np.count_nonzero(a, axis=9)
    float(a)
    int(a)
    complex(a)
    bool(a)
    range(a)
    [1, 2, 3][z]
    len(z)
    iter(z)
    hash(a)
    a.item()
    a.item(7, 7)
    a.transpose(0)
    a.transpose(0, 0)
    a.transpose(0, 2)
    a.swapaxes(0, 5)
    a.squeeze(0)
    a.squeeze(5)
    np.expand_dims(a, 7)
    np.broadcast_to(a, (2, 2))
    np.broadcast_to(a, (3, -4))
    np.broadcast_to(a, (2, 3, 4))[...] = 1
    np.broadcast_arrays(a, b)
    np.flip(a, 3)
    np.moveaxis(a, 0, 5)
    np.moveaxis(a, (0, 1), (0,))
    np.where(a, b, 1)
    np.clip(a, b, 3)
    np.clip(a, 'x', 3)
    np.round(a, 'x')
    np.round(a, 1.5)
    a.astype('nonsense')
    a.astype('i4', casting='safe')
    a.astype('i4', casting='never')
    np.copyto(a, b)
    np.copyto(i, a)
    np.copyto(a, 1, where=b > 1)
    np.full_like(small, 1000)
    np.zeros_like(a, shape=-1)
    a[...] = b
    a[0] = b
    a[:, :2] = a
    a[...] = [1, 2]
    a[...] = 1j
    a[...] = object()
    i[...] = np.nan
    i[...] = np.inf
    i[...] = 2**64
    small[...] = 300
    small[0] = -129
    small[...] = np.int64(300)
    small[...] = 3j
    a[5] = 1
    a['x'] = 1
    a[b > 1] = 1
    a[a > 1] = b
    a[a > 1] = [1, 2, 3]
    a[[0, 3]]
    a[[0, -4]] = 1
    a[[0, 1], [0, 1, 2]]
    a[[0, 1]] = [1, 2, 3]
    a[[0.5]]
    np.take(a, [12])
    np.put(a, np.array([0.5]), 1)
    np.add.at(a, [3], 1)
    a.shape = (5, 5)
    a.nonsense
    del a[0]
    np.matmul(a, a)
    np.vecdot(a, b)
    np.zeros((0, 2**62)) if type(a) is np.ndarray else np.zeros_like(a, shape=(0, 2**62))
    np.zeros((1,) * 65) if type(a) is np.ndarray else np.zeros_like(a, shape=(1,) * 65)
    np.zeros((2**40, 2**40)) if type(a) is np.ndarray else np.zeros_like(a, shape=(2**40, 2**40))
"""  # fmt: skip


@pytest.mark.parametrize("code", [line.strip() for line in AS_NUMPY.strip().splitlines()])
def test_as_numpy(names, code):
    session, ours = names
    numpys = Names(np.array).run(code)
    assert numpys is not None
    with unharmed(session):
        error = ours.run(code)
        assert isinstance(error, nearest(numpys)), repr(error)
        del error
        np.testing.assert_array_equal(ours.names["a"].to_numpy(), A)
        np.testing.assert_array_equal(ours.names["small"].to_numpy(), np.zeros(3))


NOT_OFFERED = """
    np.frompyfunc(abs, 1, 1)(a)
    """
#: What the error names where there is a better way than to gather.
BETTER = {"np.frompyfunc(abs, 1, 1)(a)": "use distnb.vectorize(function, otypes=[float])"}


@pytest.mark.parametrize("code", [line.strip() for line in NOT_OFFERED.strip().splitlines()])
def test_what_is_not_offered_is_not_gathered(names, monkeypatch, code):
    session, ours = names
    with unharmed(session), monkeypatch.context() as patch:
        patch.setattr(dnb.Session, "gather", None)
        error = ours.run(code)
        assert isinstance(error, TypeError)
        assert BETTER.get(code, "use .to_numpy() for small arrays") in str(error)
        del error


IN_ONE_FORM = [
    ("np.add(a, 1, out=[0.0])", TypeError),
    ("a.sum(axis=0, out=[0.0] * 4)", TypeError),
    ("np.add(a, 1, dtype=object)", TypeError),
    ("a.sum(dtype=object)", TypeError),
    ("a.astype('U5')", TypeError),
    ("a.astype(object)", TypeError),
    ("a.astype('M8')", TypeError),
    ("a.astype(np.longdouble)", TypeError),
    ("a[...] = 'x'", ValueError),
    ("np.asarray(a, copy=False)", ValueError),
    ("dnb.zeros(-1)", ValueError),
    ("dnb.zeros((3, -1))", ValueError),
    ("dnb.zeros('3')", TypeError),
    ("dnb.zeros(3.0)", TypeError),
    ("dnb.zeros(None)", TypeError),
    ("dnb.zeros(2**40)", MemoryError),
    ("np.broadcast_to(dnb.zeros(1), (2**40,)) + 1", MemoryError),
    ("dnb.zeros(3, 'U3')", TypeError),
    ("dnb.zeros(3, object)", TypeError),
    ("dnb.zeros(3, 'M8[s]')", TypeError),
    ("dnb.zeros(3, [('f', 'f4')])", TypeError),
    ("dnb.array(['x'])", TypeError),
    ("dnb.array([None])", TypeError),
    ("dnb.array([1, 2**70])", TypeError),
    ("dnb.array(a, session=other)", dnb.SessionError),
    ("dnb.full(3, 'x')", TypeError),
    ("dnb.full(3, [1, 2])", ValueError),
    ("dnb.zeros(3, session='x')", TypeError),
    ("dnb.zeros(3, dist='blocks')", dnb.LayoutError),
    ("dnb.zeros(3, dist=3)", dnb.LayoutError),
    ("dnb.zeros(3, dist=('block', 'block'))", dnb.LayoutError),
    ("dnb.zeros(9, dist=('cyclic', 0))", dnb.LayoutError),
    ("dnb.zeros(9, dist=('cyclic', 1.5))", dnb.LayoutError),
    ("dnb.zeros(9, dist=('irregular', (0, 6, 3, 9)))", dnb.LayoutError),
    ("dnb.zeros(9, dist=('irregular', (0, 3, 6, 10)))", dnb.LayoutError),
    ("dnb.zeros(9, dist=('irregular', (0, 1, 2, 3, 9)))", dnb.LayoutError),
    ("dnb.zeros(9, dist=('engine', 3))", dnb.LayoutError),
    ("dnb.zeros((), dist='block')", dnb.LayoutError),
    ("dnb.zeros(9, grid=4)", dnb.LayoutError),
    ("dnb.zeros((9, 9), dist=('block', 'block'), grid=(2, 2))", dnb.LayoutError),
    ("dnb.zeros((9, 9), dist=('block', 'block'), grid=(0, 3))", dnb.LayoutError),
    ("dnb.zeros((9, 9), dist=('block', 'block'), grid='x')", dnb.LayoutError),
    ("dnb.zeros(8, dist=wide)", dnb.LayoutError),
    ("dnb.zeros(9, dist=a)", ValueError),
    ("a.redistribute('blocks')", dnb.LayoutError),
    ("a.redistribute(('engine', 7))", dnb.LayoutError),
    ("a.layout.owner(9, 9)", IndexError),
    ("a.layout.owner(1)", IndexError),
    ("dnb.from_parts([])", ValueError),
    ("dnb.from_parts([[1], [2]])", ValueError),
    ("dnb.from_parts([[1], [2], [3], [4]])", ValueError),
    ("dnb.from_parts([1, 2, 3])", ValueError),
    ("dnb.from_parts([[1], [2.0], [3]])", ValueError),
    ("dnb.from_parts([[1], [[2]], [3]])", ValueError),
    ("dnb.from_parts([['x'], ['x'], ['x']])", TypeError),
    ("dnb.from_parts('nothing')", TypeError),
    ("dnb.random.default_rng(-1)", ValueError),
    ("dnb.random.default_rng(1).random(-1)", ValueError),
    ("dnb.random.default_rng(1).random(3, dtype=int)", TypeError),
    ("dnb.random.default_rng(1).integers(5, 3, 3)", ValueError),
    ("dnb.inprocess(0)", ValueError),
    ("dnb.inprocess(2.5)", TypeError),
    ("dnb.start(0)", ValueError),
    ("dnb.start('x')", TypeError),
    ("dnb.config.nonsense = 1", AttributeError),
    ("dnb.config.flush_size = -1", ValueError),
]


@pytest.mark.parametrize(("code", "kind"), IN_ONE_FORM)
def test_in_the_one_form(names, code, kind):
    session, ours = names
    with unharmed(session):
        error = ours.run(code)
        assert isinstance(error, kind), repr(error)
        assert re.fullmatch(FORM, str(error), re.DOTALL)
        del error


TWO_SESSIONS = """
    a + o
    o + a
    a @ o
    a[:] = o
    a += o
    a[o > 0] = 1
    np.add(a, 1, out=o)
    np.add(a, 1, out=a, where=o > 0)
    np.where(a > 1, o, a)
    np.clip(a, o, 3)
    np.copyto(a, o)
    a.sum(where=o > 0)
    np.sum(a, axis=0, out=o[0])
    np.full_like(a, o)
    np.allclose(a, o)
    np.array_equal(a, o)
    a + o[0, 0]
    np.take(a, places)
    np.take(a, places, axis=1, mode="clip")
    np.put(a, places, 5)
    np.ravel_multi_index((a[0].astype(int), places), (9, 9))
    dnb.array([a, o])
    dnb.minimum.reduce([a, o])
"""


@pytest.mark.parametrize("code", [line.strip() for line in TWO_SESSIONS.strip().splitlines()])
def test_arrays_of_two_sessions(names, code):
    session, ours = names
    with dnb.inprocess(2) as other:
        ours.names["o"] = o = dnb.ones((3, 4), session=other)
        ours.names["places"] = dnb.array([0, 1, 1, 0], session=other)
        with unharmed(session), unharmed(other):
            error = ours.run(code)
            assert isinstance(error, dnb.SessionError), repr(error)
            assert "got two sessions, expected one; use .to_numpy()" in str(error)
            del error
        np.testing.assert_array_equal(o.to_numpy(), np.ones((3, 4)))
        np.testing.assert_array_equal(ours.names["a"].to_numpy(), A)


CLOSED = """
    c + 1
    1 - c
    c.sum()
    c.to_numpy()
    c[2:4].to_numpy()
    c.copy()
    c.fill(1)
    c[0] = 1
    c += 1
    c.redistribute('cyclic')
    np.add(c, c)
    np.asarray(c)
    np.zeros_like(c)
    float(c[0])
    dnb.zeros(3, session=closed)
    dnb.random.default_rng(1, session=closed).random(3)
    closed.start_window()
"""


@pytest.mark.parametrize("code", [line.strip() for line in CLOSED.strip().splitlines()])
def test_a_closed_session(names, code):
    session, ours = names
    with dnb.inprocess(2) as closed:
        c = dnb.ones(9)
    ours.names |= {"closed": closed, "c": c}
    with unharmed(session):
        error = ours.run(code)
        assert isinstance(error, dnb.SessionError), repr(error)
        assert "got a closed one, expected an open one; call dnb.start()" in str(error)
    closed.flush()
    closed.close()
    assert (c.shape, c.T.dtype, c.layout.elements()) == ((9,), np.dtype(float), (5, 4))
    assert "closed session" in repr(c)


def test_gathering_has_a_budget(names):
    session, ours = names
    a = ours.names["a"]
    uses = [
        *(lambda: np.asarray(a), lambda: np.array(a), a.tolist, lambda: np.array([a, a])),
        *(lambda: np.ones((3, 4)).__iadd__(np.asarray(a)), lambda: np.vectorize(abs)(a)),
    ]
    with unharmed(session), support.setting(gather_budget=64):
        for use in uses:
            with pytest.raises(
                dnb.GatherError, match=r"got 96 bytes, expected at most 64; call \.to"
            ):
                use()
        assert a[0].tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(a.to_numpy(), A)  # asked for by name


def test_more_than_the_engines_have(names):
    session, _ = names
    with unharmed(session):
        room = session.handles.budget.room()
        most = dnb.empty(
            3 * room // 8 // 2, dist="block"
        )  # pages that are not touched cost nothing
        with pytest.raises(MemoryError, match="delete arrays, use more engines, or raise"):
            dnb.empty(3 * room // 8, dist="block")
        del most
        assert session.handles.budget.room() == room


@pytest.mark.cases(1)
@pytest.mark.parametrize("code", ["a + b", "dnb.zeros(3, object)", "dnb.from_parts([[1]])", "a[9]"])
def test_over_ipyparallel(cluster, code):
    ours = Names(dnb.array)
    ours.names["dnb"] = dnb
    with unharmed(cluster):
        assert ours.run(code) is not None
        np.testing.assert_array_equal(ours.names["a"].to_numpy(), A)


@pytest.mark.parametrize("code", ["f(a)", "a + u", "u + a", "a == u", "np.where(u, a, 1)"])
def test_strange_operands(names, code):
    """Objects with protocols of their own, or that raise: nothing hangs, nothing is lost."""

    class Unwilling:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("no array")

        def __iter__(self):
            raise RuntimeError("no items")

    session, ours = names
    ours.names |= {"u": Unwilling(), "f": lambda x: memoryview(x)}
    with unharmed(session):
        assert isinstance(ours.run(code), TypeError | RuntimeError)


def test_several_threads_record(three):
    """Recording from several threads is in some order, and none is lost."""
    a = dnb.zeros(9)

    def add():
        for _ in range(200):
            a.__iadd__(1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(a.to_numpy(), np.full(9, 800.0))
