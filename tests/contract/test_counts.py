"""What is sent is counted: messages between engines, batches to them, and memory on them."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.client.batching import lead
from distnb.common.memory_pool import size_class
from tests.contract.support import measured, numbered, on_engines, same, setting, take
from tests.tiers import SCALE, examples
from tests.waiting import until

pytestmark = [pytest.mark.usefixtures("engines_only"), pytest.mark.ways("one", "four")]

DISTS = [None, "cyclic", ("*", "block"), ("block", "cyclic"), "replicated"]


def traffic(report, *ops):
    """Return messages and bytes that engines sent for some operations (all, if none is named)."""
    rows = [row for row in report.ops if not ops or row.op in ops]
    assert rows
    return (
        sum(rank.messages for row in rows for rank in row.ranks),
        sum(rank.bytes for row in rows for rank in row.ranks),
    )


def bases(session):
    """Return how many bases each engine holds, and how many the session knows."""
    gc.collect()
    session.flush()
    return [*on_engines(session, "len(worker.store.bases)"), len(session.handles)]


# -- messages between engines ------------------------------------------------------------------


@pytest.mark.parametrize("dist", ["block", ("block", "block"), ("irregular", None)], ids=str)
def test_copies_of_reversed_views_send_nothing(session, dist):
    x = numbered((24, 24))
    if dist[0] == "irregular":
        cuts = [0, *(24 * c // session.size + 1 for c in range(1, session.size)), 24]
        dist = ("irregular", tuple(cuts))
    a = dnb.array(x, dist=dist)
    with measured(session) as reports:
        b = a[::-1].copy()
        c = b + a[::-1, ::-1][:, ::-1]
        d = b[::-1] * a
    assert traffic(reports[0]) == (0, 0)
    for found, expected in ((b, x[::-1]), (c, 2 * x[::-1]), (d, x * x)):
        same(found, expected)


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_aligned_operations_send_nothing(session, dist):
    x = numbered((13, 9))
    a, b = dnb.array(x, dist=dist), dnb.array(x, dist=dist)
    out = dnb.empty_like(a)
    with measured(session) as reports:
        c = a + b
        c *= 2
        d = np.sqrt(c) - a * 3.5
        d[...] = a
        np.divmod(a, b, out=(c, out))
        e = dnb.zeros_like(a)
        e[1:-1] = a[1:-1]
        e[::2] += b[::2]
        e.T[3:] -= b.T[3:]
        np.add(e, 1, out=e, where=a > 4)
    assert traffic(reports[0]) == (0, 0)
    assert reports[0].commands >= 15
    expected = np.zeros_like(x)
    expected[1:-1] = x[1:-1]
    expected[::2] += x[::2]
    expected.T[3:] -= x.T[3:]
    np.add(expected, 1, out=expected, where=x > 4)
    same(e, expected)


@given(st.data())
@examples(25)
def test_aligned_views_send_nothing(session, data):
    """The same view of two arrays of one layout is aligned, whatever it is."""
    shape = data.draw(testing.shapes(max_dims=2))
    operand = data.draw(testing.placed(shape, session.size, broadcast=False))
    x = numbered(operand.shape)
    a, b = dnb.array(x, dist=operand.layout), dnb.array(x, dist=operand.layout)
    with measured(session) as reports:
        one, two = take(a, operand.view), take(b, operand.view)
        np.add(one, two, out=two)
        two *= one
    assert traffic(reports[0]) == (0, 0)
    y = x.copy()
    y, whole = take(y, operand.view), y
    y += take(x, operand.view)
    y *= take(x, operand.view)
    same(b, whole)


@pytest.mark.parametrize("shape", [(16, 12), (23, 7)])
def test_stencil_sends_one_row_per_neighbour_and_shift(session, shape):
    """The sweep of the DistNumPy paper: two shifted views cross block borders."""
    n, m = shape
    x = numbered(shape)
    a, t = dnb.array(x, dist="block"), None
    borders = session.size - 1
    row = (m - 2) * 8
    with measured(session) as reports:
        t = a[1:-1, 1:-1] + a[1:-1, :-2]
    assert traffic(reports[0]) == (0, 0)
    with measured(session) as reports:
        t += a[1:-1, 2:]
    assert traffic(reports[0]) == (0, 0)
    with measured(session) as reports:
        t += a[:-2, 1:-1]
    assert traffic(reports[0]) == (borders, borders * row)
    with measured(session) as reports:
        t += a[2:, 1:-1]
    assert traffic(reports[0]) == (borders, borders * row)
    with measured(session) as reports:
        a[1:-1, 1:-1] = 0.2 * t
    assert traffic(reports[0]) == (0, 0)
    y = x.copy()
    y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1])
    same(a, y)


def test_a_temporary_lies_where_its_result_goes(session):
    """Two terms that lie a row off, to either side: each border is crossed once in each direction."""
    agreed = session.transport.rank is None  # under SPMD ranks may delete it at other times
    x = numbered((24 * session.size, 6))
    a, borders = dnb.array(x, dist="block"), session.size - 1
    row = 6 * 8  # not in place, since it is written in the same pass

    def add(m, one, other):
        m[1:-1] += m[one] * 2 + m[other]

    def add_up_first(m):
        add(m, slice(None, -2), slice(2, None))

    def add_down_first(m):
        add(m, slice(2, None), slice(None, -2))

    for cell in (add_up_first, add_down_first):
        with setting(fuse=1), measured(session) as reports:
            cell(a)
        crossed = traffic(reports[0]) == (2 * borders, 2 * borders * row)
        assert crossed == (agreed or not borders)
        cell(x)
        same(a, x)


def test_a_temporary_that_is_far_from_its_result_is_what_moves(session):
    p = session.size
    n = 4 * p
    x = numbered((n, n))
    a, b = dnb.array(x, dist="block"), dnb.zeros((n, n), dist=("*", "block"))
    with setting(fuse=1), measured(session) as reports:
        b[...] = (a + 1) * a - a[::-1, ::-1][::-1, ::-1]
    assert traffic(reports[0]) == (p * (p - 1), p * (p - 1) * (16 * 8))
    same(b, (x + 1) * x - x)


def test_reductions_send_partial_results_only(session):
    a = dnb.array(numbered((40, 6)), dist="block")
    with measured(session) as reports:
        a.sum()
    assert traffic(reports[0], "sum") == (2 * (session.size - 1), 2 * (session.size - 1) * 8)
    with measured(session) as reports:
        a.sum(axis=0)
    assert traffic(reports[0], "sum") == (2 * (session.size - 1), 2 * (session.size - 1) * 48)
    with measured(session) as reports:
        a.sum(axis=1)
        a.max(axis=1)
    assert traffic(reports[0]) == (0, 0)


def test_redistribution_sends_only_what_moves(session):
    p = session.size
    n = 4 * p
    a = dnb.array(numbered((n, n)), dist="block")
    with measured(session) as reports:
        b = a.redistribute(("*", "block"))
    assert traffic(reports[0]) == (p * (p - 1), p * (p - 1) * (16 * 8))
    with measured(session) as reports:
        b.redistribute(("*", "block"))
    assert traffic(reports[0]) == (0, 0)
    with measured(session) as reports:
        a.redistribute(("engine", 0))
    assert traffic(reports[0]) == (p - 1, (p - 1) * (4 * n * 8))


# -- batches -----------------------------------------------------------------------------------


@pytest.fixture
def in_time(monkeypatch):
    """Let batches be sent when they have enough commands, however long engines take for these."""
    monkeypatch.setattr(lead, "_BATCH", 1e6)
    with setting(flush_idle=60):
        yield


@pytest.mark.usefixtures("in_time")
def test_a_thousand_operations_are_a_handful_of_batches(session):
    a = dnb.zeros(100)
    session.flush()
    before = session.batches
    for _ in range(1000):
        a += 1
    session.flush()
    assert session.batches - before <= 5
    before = session.batches
    for _ in range(250):
        a = a * 1 + 0
    session.flush()
    assert session.batches - before <= 5
    same(a, np.full(100, 1000.0))


@pytest.mark.usefixtures("in_time")
def test_deletions_travel_with_commands(session):
    a = dnb.zeros(10)
    session.flush()
    before = session.batches
    for _ in range(100):
        b = a + 1
        del b
    session.flush()
    assert session.batches - before <= 3


def test_what_is_left_alone_is_sent(session):
    if not session.transport.concurrent:
        pytest.skip("no timer where all ranks must record the same batches")
    a = dnb.zeros(10)
    session.flush()
    before = session.batches
    a += 1
    until(lambda: session.batches > before)
    assert session.batches == before + 1
    same(a, np.ones(10))


def test_the_size_of_a_batch_is_a_setting(session):
    a = dnb.zeros(10)
    session.flush()
    with setting(flush_size=10, flush_idle=3.0):
        before = session.batches
        for _ in range(100):
            a += 1
        session.flush()
        assert 10 <= session.batches - before <= 12
    same(a, np.full(10, 100.0))


# -- memory ------------------------------------------------------------------------------------


def test_what_is_deleted_is_freed(session):
    before = bases(session)
    room = session.handles.budget.room()
    x = numbered((50, 40))
    a = dnb.array(x)
    b = a[1:] + a[:-1]
    c = b.sum(axis=0)
    d = c[::-1]
    assert bases(session) == [n + 3 for n in before]
    del c
    assert bases(session) == [n + 3 for n in before]  # d is a view of it
    same(d, (x[1:] + x[:-1]).sum(axis=0)[::-1])
    del a, b, d
    assert bases(session) == before
    assert session.handles.budget.room() == room


def test_temporaries_leave_nothing(session):
    before = bases(session)
    a = dnb.zeros(64)
    for _ in range(round(2500 * min(1, max(SCALE, 0.2)))):
        a + 1 - a * 2
        a[1:] -= a[:-1]
    del a
    assert bases(session) == before


def test_large_blocks_are_reused_and_bounded(session):
    pool = "(worker.store.memory.pool.held, worker.store.memory.pool.limit)"
    a = dnb.zeros(200_000)
    session.flush()
    before = on_engines(session, pool)
    for _ in range(20):
        a = a + 1
    session.flush()
    held = on_engines(session, pool)
    assert all(h <= limit for h, limit in held)
    more = 10 * size_class(8 * 200_000)
    assert all(h <= b + more for (h, _), (b, _) in zip(held, before, strict=True))
    same(a[::50_000], np.full(4, 20.0))


def test_the_last_result_goes_back_to_the_pool(session):
    a = dnb.zeros(session.size * 50_000)
    b = a * 3
    before = kept_for_reuse(session)
    del b
    session.flush()
    c = a[:1] + 1  # that b is gone stands in the ledger with the next batch
    session.flush()
    assert kept_for_reuse(session) - before >= session.size * 8 * 50_000
    same(c, np.ones(1))


def kept_for_reuse(session):
    """Return the bytes in the pools: those of the engines, and that of the segment which they share."""
    own = sum(on_engines(session, "worker.store.memory.pool.held"))
    if (pool := session.memory._pool) is None:
        return own
    pool.collect()
    return own + pool.held


def test_failed_commands_leave_nothing(session):
    before = bases(session)
    a = dnb.arange(6)
    b = a ** (a - 3)
    c = b + 1
    with pytest.raises(ValueError, match="negative integer powers"):
        session.flush()
    del a, b, c
    assert bases(session) == before
    for call in (
        lambda: dnb.zeros(3) + dnb.zeros(4),
        lambda: dnb.zeros(3, "nonsense"),
        lambda: dnb.zeros(3, dist="nonsense"),
        lambda: dnb.zeros(3).sum(axis=5),
        lambda: dnb.arange(3)[7],
        lambda: np.add(dnb.arange(3), 2.5, out=dnb.arange(3)),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            call()
    assert bases(session) == before


def test_reading_leaves_nothing(session):
    before = bases(session)
    a = dnb.array(numbered((7, 5)))
    for _ in range(20):
        float(a[3, 3])
        a[2].tolist()
        bool((a > 0).all())
    del a
    assert bases(session) == before
    assert session.replies.values == {}


# -- time --------------------------------------------------------------------------------------


def test_every_instant_is_accounted_for(session):
    with measured(session) as reports:
        a = dnb.random.default_rng(1).random((200, 200))
        b = a.T + a
        b.sum().item()
    report = reports[0]
    assert len(report.engines) == session.size
    for engine in report.engines:
        assert sum(engine.spent) == engine.now
        assert engine.now > 0
    assert {"create (random)", "add", "sum", "fetch"} <= {row.op for row in report.ops}
    assert all(len(row.ranks) == session.size for row in report.ops)
    lines = [row.line for row in report.ops if row.op == "add"]
    assert "b = a.T + a" in lines[0]
    assert report.batches >= 1
