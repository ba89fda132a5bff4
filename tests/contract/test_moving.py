"""Arrays that move in place: the same elements; all views and names of them follow."""

import gc

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import same

pytestmark = pytest.mark.ways("four", "spmd")

DISTS = [
    *("cyclic", ("*", "block"), ("block", "block"), "replicated", ("engine", 0)),
    (("cyclic", 2), "cyclic"),
]


def data():
    return np.arange(72.0).reshape(12, 6)


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_views_and_names_follow(session, dist):
    """Views made before see what is written through the array afterwards, and the other way."""
    x = data()
    a = dnb.array(x, dist="block")
    b, views = a, [a[1:-1, ::2], a.T, a[3], np.broadcast_to(a, (2, 12, 6))]
    twins = [x[1:-1, ::2], x.T, x[3], np.broadcast_to(x, (2, 12, 6))]
    first = [v + 1 for v in views]  # templates are known from now on
    before = [t + 1 for t in twins]
    assert a.move(dist) is None
    wanted = dnb.zeros(x.shape, dist=dist).layout
    assert a.layout == b.layout == wanted
    assert {v.layout.base for v in views} == {wanted.base}
    views[0][...] = -1.0
    twins[0][...] = -1.0
    a[3] += 5
    x[3] += 5
    for v, t in zip([a, b, *views], [x, x, *twins], strict=True):
        same(v, t)
        same(v + 1, t + 1)
        same(v.sum(), t.sum())
    for f, t in zip(first, before, strict=True):
        same(f, t)


def test_results_follow_the_new_layout(session):
    """What was found out for the old layout is not used for the new one; nor between arrays."""
    a, b = dnb.ones((12, 6), dist="block"), dnb.ones((12, 6), dist="block")
    before = (a + b).layout
    for dist in ("cyclic", ("*", "block"), "block"):
        a.move(dist)
        wanted = (dnb.zeros((12, 6), dist=dist) + 1).layout
        assert (a + 1).layout == (a * a).layout == (a[:] + 1).layout == wanted
        assert (b + 1).layout == before
        same(a + b, np.full((12, 6), 2.0))


def test_loops_go_on(session):
    x, y = data(), data()
    a = dnb.array(x, dist="block")
    inside = a[1:-1, 1:-1]
    for i in range(6):
        if i % 2:
            a.move(DISTS[i % len(DISTS)])
        inside[:] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        y[1:-1, 1:-1] = 0.25 * (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:])
    same(a, y)


@pytest.mark.usefixtures("engines_only")
def test_memory_is_what_it_was(session):
    a = dnb.ones((12, 6), dist="block")
    gc.collect()
    session.flush()
    before, count = session.handles.budget.room(), len(session.bases())
    for dist in ("cyclic", "block"):
        a.move(dist)
    assert len(session.bases()) == count
    if before is not None:
        assert session.handles.budget.room() == before


def test_a_small_array_moves_out_with_its_views(session):
    x = data()
    a = dnb.array(x)
    row = a[1]
    a.move("cyclic")
    assert a.layout == dnb.zeros(x.shape, dist="cyclic").layout
    row[:] = 7.0
    x[1] = 7.0
    same(a, x)
    same(row, x[1])


def test_the_layout_of_an_array(session):
    x = data()
    a, b = dnb.array(x, dist="block"), dnb.zeros(x.shape, dist=("*", "cyclic"))
    a.move(b)
    assert a.layout == dnb.zeros(x.shape, dist=b).layout
    a.move(b.layout)
    a.move(grid=(session.size,))
    assert a.layout == dnb.zeros(x.shape, dist="block").layout
    same(a, x)


@pytest.mark.parametrize("shape", [(), (0,), (0, 4), (3, 0)])
def test_nothing_or_next_to_nothing(session, shape):
    a = dnb.ones(shape, dist="replicated")
    a.move(("engine", session.size - 1))
    same(a, np.ones(shape))


def test_what_cannot_be(session, engines_only):
    a = dnb.ones((6, 4), dist="block")
    with pytest.raises(dnb.LayoutError, match="array to move: got a view"):
        a[1:].move("cyclic")
    with pytest.raises(dnb.LayoutError, match="array to move: got a view"):
        a.T.move("cyclic")
    with pytest.raises(dnb.LayoutError):
        a.move("diagonal")
    with pytest.raises(dnb.LayoutError):
        a.move(("engine", session.size))
    assert a.layout == dnb.zeros((6, 4), dist="block").layout
    same(a, np.ones((6, 4)))
