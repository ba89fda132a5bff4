"""Shapes agree with NumPy, whatever the layout and the view; what should be a view is one."""

import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from tests.contract.support import (
    agree,
    between_engines,
    measured,
    numbered,
    outcome,
    pair,
    same,
    setting,
    thin,
)
from tests.tiers import examples

pytestmark = pytest.mark.ways("one", "four")

SHAPES = [(24,), (2, 12), (12, 2), (4, 6), (2, 3, 4), (1, 24), (24, 1), (2, 1, 12), (2, 2, 2, 3)]
DISTS = [
    *(None, "cyclic", ("*", "block"), ("block", "block"), "replicated", ("cyclic", 2)),
    *(("*", "*", "block"), ("block", "cyclic"), "engine", "irregular", "two copies"),
]


def spread(session, x, dist):
    """Return an array in a layout, or None if its shape has not enough axes for it."""
    if dist == "engine":
        dist = ("engine", session.size - 1)
    if dist == "irregular":
        dist = ("irregular", (*(0,) * session.size, x.shape[0]))
    if dist == "two copies":
        a = dnb.array(np.broadcast_to(x, (2, *x.shape)), dist=("block",), grid=(session.size,))
        return a[1]
    if isinstance(dist, tuple) and dist[0] in ("*", "block") and len(dist) > x.ndim:
        return None
    return dnb.array(x, dist=dist)


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_any_shape_to_any(session, books, dist):
    for shape in SHAPES:
        x = numbered(shape)
        a = spread(session, x, dist)
        if a is None:
            continue
        for k, to in enumerate(thin(SHAPES, 3)):
            views = (a, x), (a.T, x.T), (a[::-1], x[::-1])
            view, turned = views[k % 3]
            books.add(dnb.reshape(view, to), turned.reshape(to), (shape, to, k % 3))


@given(st.data())
@examples(25)
def test_any_view(session, data):
    shape = data.draw(testing.shapes(max_dims=3, max_side=7))
    x, a, base, dist = pair(data.draw, shape, session.size)
    order = data.draw(st.sampled_from("CF"))
    n, cut = x.size, data.draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7]))
    to = (cut, -1) if n and n % cut == 0 else (-1,) if n else (0, 3)
    same(np.reshape(a, to, order=order), x.reshape(to, order=order))
    same(np.ravel(a, order), np.ravel(x, order))
    same(a.flatten(), x.flatten())
    same(dist, base)


def test_views_and_copies(session):
    x = numbered((4, 3))
    a = dnb.array(x)
    view = a[:, :1].reshape(2 * 2)
    view[1] = 7
    a.reshape(1, 4, 1, 3)[0, 2, 0, 2] = 9
    x[1, 0], x[2, 2] = 7, 9
    same(a, x)
    a.reshape(12)[0] = x.reshape(12)[0] = 5
    same(a, x)
    a.flatten()[1] = 5
    same(a, x)
    alone = dnb.array(x).reshape(12)
    alone[0] = 6
    assert alone[0] == 6
    assert dnb.reshape(a, (4, 3, 1), copy=True).dbase is not a.dbase
    with pytest.raises(ValueError, match="copy"):
        dnb.reshape(a.T, (12,), copy=False)
    same(dnb.reshape(a, (12,), copy=False), x.reshape(12))
    same(dnb.reshape(a, (4, 1, 3), copy=False), x.reshape(4, 1, 3))


def test_memory_is_not_held_twice(session):
    a = dnb.arange(24.0)
    base = weakref.ref(a.dbase)
    found = a.reshape(4, 6)
    if found.dbase.near is not None:  # views of one memory
        assert np.shares_memory(found.dbase.near, a.dbase.near)
        return
    found += 1
    del a
    assert base() is None
    same(found, np.arange(1, 25.0).reshape(4, 6))


def test_nothing_moves_that_nobody_asks_for(session):
    """A look that is written in a loop is moved back once, when the array is used."""
    with setting(place="engines"):
        a = dnb.arange(60.0, dist="block")
        y = a.reshape(5, 12)
        session.flush()
        with measured(session) as report:
            for i in range(4):
                y[:, i] += 1
        assert between_engines(report[0]) == 0
        with measured(session) as report:
            total = float(a.sum())
            again = float(a.sum())
        assert total == again == 1770 + 20
        once = between_engines(report[0])
        assert once <= 2 * a.nbytes


def test_copies_have_the_elements_of_their_time(session):
    """Memory that is looked at as rows is read before it is written again."""
    for shape, to in (((1, 24), (4, 6)), ((24,), (6, 4)), ((2, 12), (3, 8))):
        x = numbered(shape)
        a = dnb.array(x)
        found = a.reshape(to, copy=True)
        a[..., ::-1] = dnb.zeros(shape)
        same(found, x.reshape(to))
        same(a, np.zeros(shape))


def test_replicas_are_written_once(session):
    """Ranks of a node may share one block of a large array; it stays so under another shape."""
    x = numbered((6, 20_000))
    a = dnb.array(x, dist="replicated")
    b = a * 2  # computed once for a node
    found = b.reshape((20_000, 6), copy=True)
    b += 1
    same(found, (x * 2).reshape(20_000, 6))
    same(b, x * 2 + 1)
    del b
    found += 1
    found[:, 1:] -= 3
    back = found.flatten()
    found *= 5
    y = (x * 2).reshape(20_000, 6) + 1
    y[:, 1:] -= 3
    same(back, y.reshape(-1))
    same(found, y * 5)
    same(np.cumsum(back), np.cumsum(y.reshape(-1)))
    same(np.subtract.reduceat(back, [0, 7]), np.subtract.reduceat(y.reshape(-1), [0, 7]))
    same(back, y.reshape(-1))


def test_errors(session):
    x = numbered((4, 3))
    a = dnb.array(x)
    for shape in ((5, -1), (-1, -1), (13,), (0, -1), (2.0, 6), "ab", (-2, 6), ()):
        agree(lambda shape=shape: x.reshape(shape), lambda shape=shape: a.reshape(shape))
    for shape in ((2, 2), (5, -1, 7), (13,), ()):
        found = [outcome(lambda y=y, shape=shape: y.reshape(shape))[1] for y in (x, a)]
        assert str(found[0]) == str(found[1])
    agree(lambda: x.reshape(12, order="X"), lambda: a.reshape(12, order="X"))
    agree(lambda: x.ravel("X"), lambda: a.ravel("X"))
    none = dnb.zeros((0, 3))
    agree(lambda: np.zeros((0, 3)).reshape(-1, 0), lambda: none.reshape(-1, 0))
    same(none.reshape(5, 0), np.zeros((5, 0)))
    same(none.reshape(-1, 2), np.zeros((0, 2)))


def test_orders(session):
    x = numbered((3, 4, 2))
    a = dnb.array(x)
    for f in (lambda z: z, lambda z: z.T, lambda z: z.transpose(1, 0, 2), lambda z: z[::2].T):
        for order in "CFA":
            same(f(a).reshape(4, -1, order=order), f(x).reshape(4, -1, order=order))
        for order in "CFAK":
            same(f(a).ravel(order), f(x).ravel(order))


def test_rows_that_lie_right_are_not_sent(session):
    a = dnb.ones((12 * session.size, 10), dist="block")
    with measured(session) as report:
        a.reshape(-1, 2, 5)
        a.reshape(-1)
        a.reshape(4 * session.size, 30)
        dnb.ones((3, 4), dist="replicated").reshape(12)
    assert between_engines(report[0]) == 0
    with measured(session) as report:
        a.reshape(-1, 5).reshape(5, -1)
    sent = between_engines(report[0])
    assert sent <= 2 * a.nbytes


def test_shape_in_place(session):
    a = dnb.arange(6.0)
    a.shape = (1, 6, 1)
    same(a, np.arange(6.0).reshape(1, 6, 1))
    a.shape = (2, 3)
    same(a, np.arange(6.0).reshape(2, 3))
    b = a.T
    with pytest.raises(AttributeError, match="reshape"):
        b.shape = 6
    with pytest.raises(ValueError, match="size"):
        a.shape = 5


def test_flat(session):
    x = numbered((4, 5))
    a = dnb.array(x)
    assert list(a.flat) == list(x.flat)
    assert len(a.flat) == 20
    same(a.flat[7], x.flat[7])
    same(a.flat[3:-2:4], x.flat[3:-2:4])
    same(a.flat[[5, 2]], x.flat[[5, 2]])
    for y in (x, a):
        y.flat[-1] = 50
        y.flat[2:9] = [1, 2, 3]
        y.T.flat[::7] = 4
        y.flat[[3, 11, 12]] = [70, 80]
    same(a, x)
    a.flat = [1, 2]
    x.flat = [1, 2]
    same(a, x)
    agree(lambda: x.flat[20], lambda: a.flat[20])
    few = np.arange(4, dtype="u1")
    for key in (1, np.int64(1), slice(2), [0, 1]):
        for value in (-1, 1j, None, [300]):
            agree(
                lambda key=key, value=value: few.flat.__setitem__(key, value),
                lambda key=key, value=value: dnb.array(few).flat.__setitem__(key, value),
            )


@pytest.mark.parametrize("key", [slice(3, 9), [7, 2, -1], np.arange(1000) == 5, [[1, 2], [3, 4]]])
def test_flat_writes_what_it_names(session, key):
    """The elements are written where they are: the array is not copied for that.

    By the notebook: under ``auto`` a machine that was held up would have it go to engines.
    """
    x = numbered((1000, 500))
    with setting(place="notebook"):
        a = dnb.array(x)
        a[0, 0] = x[0, 0] = 1  # in reach
        key = np.pad(key, (0, x.size - 1000)) if np.size(key) == 1000 else key
        given = dnb.array(key) if isinstance(key, np.ndarray) else key
        tracemalloc.start()
        try:
            a.flat[given] = [7, 8]
            a.flat[given] = a.flat[given] + 1
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        x.flat[key] = [7, 8]
        x.flat[key] += 1
        same(a, x)
    assert not session.transport.concurrent or most < x.nbytes / 3


def test_resize(session):
    x = numbered((3, 4))
    a = dnb.array(x)
    for shape in ((2, 2), 30, (5, 5), (0,), (2, 0), (3, 4), (7, 1, 9), -1):
        agree(lambda shape=shape: np.resize(x, shape), lambda shape=shape: np.resize(a, shape))
    same(dnb.resize(dnb.zeros((0,)), (2, 3)), np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_at_least(session, name):
    numpys, ours = getattr(np, name), getattr(dnb, name)
    data = [numbered(shape) for shape in ((), (3,), (2, 3), (2, 0, 3), (2, 1, 3, 2))]
    for x in data:
        same(ours(dnb.array(x)), numpys(x))
    for found, wanted in zip(numpys(*map(dnb.array, data)), numpys(*data), strict=True):
        same(found, wanted)
