"""Reports of windows: closed accounts, steps that are all that engines did, who waited for whom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.client.session import windows
from distnb.measure.events import COMPUTE, TRANSFER
from tests.contract.support import closed, on_engines, setting
from tests.tiers import examples

pytestmark = [
    pytest.mark.usefixtures("engines_only"),
    pytest.mark.ways("one", "four", "spmd", "started"),
]

AWAY = 0.05
ENOUGH = 45_000_000


def of(report, op):
    """Return the steps in which an operation ran."""
    return [step for step in report.steps if any(name == op for name, _ in step.names)]


def everywhere(session, doing):
    """Do something on each engine; ``doing`` is evaluated with ``worker`` and ``rank``."""
    on_engines(session, f"(lambda rank: [{doing}] and None)(worker.comm.rank)")


@pytest.fixture
def away(session):
    """Let an engine sleep before each command of an operation."""

    def plant(op, rank):
        nap = f"__import__('time').sleep({AWAY}) if getattr(c, 'op', '') == {op!r} else None"
        everywhere(
            session,
            f"setattr(worker.executor, 'fault', (lambda c: {nap}) if rank == {rank} else None)",
        )

    yield plant
    everywhere(session, "setattr(worker.executor, 'fault', None)")


def test_a_report_is_closed(session):
    rng = np.random.default_rng(3)
    a, b = dnb.asarray(rng.random((41, 13))), dnb.asarray(rng.random((41, 13)), dist="cyclic")
    with dnb.profile() as report:
        c = a[1:] * 2 + b[:-1]
        c[::2] = c[::-2] if len(c) % 2 else c[1::2]
        for _ in range(3):
            d = c + 1
            float(d.sum())
        dnb.sort(b.ravel())
        (a @ a.T).to_numpy()
        del c, d
    closed(report, session)
    ops = {op for step in report.steps for op, _ in step.names}
    assert {"add", "sum", "sort", "fetch", "decode", "agree"} <= ops
    lines = {line for step in of(report, "add") for _, line in step.names}
    assert any("c = a[1:] * 2 + b[:-1]" in line for line in lines)
    assert all("test_windows" in line for line in lines)


def across(x):
    x[1:-1] = x[:-2] + x[2:]
    return x


DOINGS = {
    "scale": lambda x: x * 2 + 1,
    "turn": lambda x: x + x[::-1],
    "roll": lambda x: dnb.roll(x, 1, axis=0),
    "sort": lambda x: dnb.sort(x, axis=0),
    "centre": lambda x: x - x.mean(axis=0),
    "read": lambda x: x / (1 + abs(float(x.max()))),
    "transpose": lambda x: x.T,
    "columns": lambda x: x.redistribute(("*", "block")),
    "deal": lambda x: x.redistribute(("cyclic", "*")),
    "product": lambda x: (x @ x.T)[:, :5],
    "scan": lambda x: dnb.cumsum(x, axis=0),
    "pick": lambda x: x[np.arange(len(x))[::-1]],
    "across": across,
}


@given(st.lists(st.sampled_from(sorted(DOINGS)), max_size=6), st.sampled_from(("block", "cyclic")))
@examples(12)
def test_reports_of_programs(session, doings, dist):
    x = dnb.ones((9, 7), dist=dist)
    with dnb.profile() as outer:
        for doing in doings:
            with dnb.profile() as inner:
                x = DOINGS[doing](x)
            closed(inner, session)
    closed(outer, session)
    product = np.prod([rung.efficiency for rung in outer.ladder])
    useful = np.mean([engine.spent[COMPUTE] for engine in outer.engines])
    np.testing.assert_allclose(product, useful / 1e9 / outer.wall, rtol=1e-6, atol=1e-9)


def test_operations_are_the_sums_of_steps(session):
    x = dnb.arange(100.0)
    with dnb.profile() as report:
        for _ in range(3):
            y = x * 2 + 1
            y.to_numpy()
    calls = {}
    for row in report.ops:
        calls[row.op] = calls.get(row.op, 0) + row.calls
    assert calls["multiply"] == calls["add"] == calls["fetch"] == 3
    commands = {"decode", "agree", "clocks", "bind"}
    for rank in range(session.size):
        mine = [s.spans[rank] for s in report.steps if not commands & {n for n, _ in s.names}]
        total = np.sum([span.time for span in mine], axis=0)
        assert np.sum([row.ranks[rank] for row in report.ops], axis=0).tolist() == total.tolist()


def waited(cell, op, rank, by, meanwhile=None):
    """Run a cell in which a rank is away in an operation; check for how long another one waits.

    It cannot go on before the first is back, and is busy until it waits. Where a machine has too
    much to do, it comes so late itself that there is less to wait for: then the cell runs again.
    """
    while True:
        with dnb.profile() as report:
            kept = cell()
        (step,) = of(report, op)
        missing = of(report, meanwhile or op)[0]
        back = step.spans[rank].start + int(AWAY * 1e9)
        span = missing.spans[by]
        waits = dict(span.waits).get(rank, 0)
        others = span.time.waiting - waits
        assert waits >= back - span.start - others - sum(span.time[:4]) + span.time.waiting
        assert dict(report.engines[by].waits).get(rank, 0) >= waits
        if waits >= ENOUGH:
            return report, step
        del kept


def test_who_is_away_is_waited_for(session, away):
    if session.size < 2:
        pytest.skip("nobody to wait for")
    a = dnb.ones((4 * session.size, 5))
    (a[1:] + a[:-1]).to_numpy()
    away("add", 0)

    def cell():
        b = a[1:] + a[:-1]
        return b.to_numpy()

    report, step = waited(cell, "add", 0, by=1)
    closed(report, session)
    assert "b = a[1:] + a[:-1]" in step.names[0][1]
    assert step.spans[0].end - step.spans[0].start >= AWAY * 1e9


def test_who_is_away_keeps_a_reduction_waiting(session, away):
    if session.size < 2:
        pytest.skip("nobody to wait for")
    x = dnb.arange(100.0)
    float(x.sum())
    away("sum", 1)
    report, step = waited(lambda: float(x.sum()), "sum", 1, by=0)  # its parent in the tree
    closed(report, session)
    for rank in range(2, session.size):  # others wait for those who wait
        assert step.spans[rank].end >= step.spans[1].start + AWAY * 1e9


def test_who_has_nothing_to_send_is_missed_in_the_end(session, away):
    if session.size < 2:
        pytest.skip("nobody to wait for")
    x = dnb.arange(100.0)
    (x * 2)[:1].to_numpy()
    away("multiply", 1)

    def cell():
        y = x * 2
        session.flush()
        return y

    report, step = waited(cell, "multiply", 1, by=0, meanwhile="agree")
    closed(report, session)
    assert not any(span.waits for span in step.spans)


def test_a_slow_engine(session):
    x = dnb.arange(1000.0)
    ((x + 1) * (x + 2)).to_numpy()  # compiled where that is done at once
    slow = session.size - 1
    take = "worker.executor.scratch"
    everywhere(
        session,
        f"setattr({take}, 'take', (lambda *a, do={take}.take: "
        f"(__import__('time').sleep({AWAY}), do(*a))[1])) if rank == {slow} else None",
    )
    last = None
    try:
        while last != slow:  # the machine may keep any engine from its work
            with dnb.profile() as report:
                y = (x + 1) * (x + 2)
                y.to_numpy()
            closed(report, session)
            compute = [engine.spent[COMPUTE] for engine in report.engines]
            last = int(np.argmax(compute))
    finally:
        everywhere(session, f"{take}.__dict__.pop('take', None)")
    assert compute[slow] >= ENOUGH
    (step,) = of(report, "multiply")
    assert step.held == tuple(x.placed.held(rank) for rank in range(session.size))


def test_an_imbalance_is_in_what_is_held(session):
    n = session.size
    parts = [10 * (n - i) for i in range(n)]
    x = dnb.ones(sum(parts), dist=("irregular", (0, *np.cumsum(parts).tolist())))
    with dnb.profile() as report:
        y = x * 2.0
        float(y.max())
    closed(report, session)
    assert of(report, "multiply")[0].held == tuple(parts)
    assert of(report, "max")[-1].held == tuple(parts)


def test_bytes_from_to(session):
    if session.size < 2:
        pytest.skip("nobody to send to")
    a = dnb.ones((4 * session.size, 50))
    session.flush()
    with dnb.profile() as report:
        b = a[1:] + a[:-1]
    closed(report, session)
    (step,) = of(report, "add")
    for rank, span in enumerate(step.spans):
        last = rank == session.size - 1
        assert span.sent == (() if last else ((rank + 1, 1, 400),))
        assert span.time.bytes == (0 if last else 400)
    del b


def test_bytes_touched(session):
    n = 12 * session.size
    a, t = dnb.ones((n, 20)), dnb.zeros((n, 20))
    row, rows = 20 * 8, n // session.size
    session.flush()
    with setting(flush_idle=3.0, fuse=1), dnb.profile() as report:
        t[1:-1] = a[1:-1] + a[2:] + a[:-2]
        t.sum()
        kept = dnb.zeros((n, 20))
    closed(report, session)
    for rank in range(session.size):
        edges = (rank == 0) + (rank == session.size - 1)
        stencil = of(report, "add")[0].spans[rank].touched
        # all rows that are near, the neighbours' too, and those that are written
        assert stencil == (2 * rows + 2 - 2 * edges) * row
        assert of(report, "sum")[-1].spans[rank].touched == rows * row + 8
        assert of(report, "create (fill)")[-1].spans[rank].touched == rows * row
    del kept
    total = np.sum([s.touched for step in report.steps for s in step.spans])
    assert total == sum(engine.touched for engine in report.engines)


def test_windows_may_overlap(session):
    x = dnb.arange(100.0)
    with dnb.profile() as outer:
        y = x + 1
        with dnb.profile() as inner:
            y *= 2
            y.to_numpy()
        y -= 1
    for report in (outer, inner):
        closed(report, session)
    assert not of(inner, "add") + of(inner, "subtract")
    assert len(of(inner, "multiply")) == len(of(outer, "multiply")) == 1
    assert of(outer, "add")
    assert of(outer, "subtract")
    assert inner.wall < outer.wall
    assert not session.measuring.windows


def test_a_window_that_nobody_holds_is_forgotten(session):
    session.start_window()
    assert not list(session.measuring.windows)


def test_long_windows_keep_sums(session, monkeypatch):
    monkeypatch.setattr(windows, "_MOST", 10)
    x = dnb.arange(100.0)
    session.flush()
    with dnb.profile() as report:
        for _ in range(8):
            x = x + 1
            x.to_numpy()
    closed(report, session)
    assert report.dropped > 0
    assert 0 < len(of(report, "add")) < 8
    calls = {row.op: row.calls for row in report.ops}
    assert calls["add"] == calls["fetch"] == 8
    kept = len(report.steps)
    with dnb.profile() as report:
        x.to_numpy()
    assert report.dropped == 0
    assert len(report.steps) < kept


def test_failed_commands_are_booked(session):
    x = dnb.arange(10.0)
    everywhere(
        session,
        "setattr(worker.executor, 'fault', "
        "lambda c: 1 / 0 if getattr(c, 'op', '') == 'exp' and rank == 0 else None)",
    )
    try:
        with pytest.raises(ZeroDivisionError), dnb.profile() as report:
            y = dnb.exp(x)
            z = y + 1
            (x * 2).to_numpy()
        closed(report, session)
        with pytest.raises(ZeroDivisionError), dnb.profile() as report:
            y = dnb.exp(x)  # raised at the end of the block
        closed(report, session)
        assert of(report, "exp")
        with pytest.raises(KeyError, match="mine") as raised, dnb.profile() as report:
            y = dnb.exp(x)
            raise KeyError("mine")
        assert "division" in raised.value.__notes__[0]
        closed(report, session)
    finally:
        everywhere(session, "setattr(worker.executor, 'fault', None)")
    del y, z


def test_a_profile_is_filled_when_its_block_ends(session):
    found = dnb.profile()
    assert "not filled" in repr(found)
    with pytest.raises(AttributeError, match="not filled"):
        _ = found.wall
    with found as report:
        with pytest.raises(AttributeError, match="still runs"):
            _ = report.steps
        assert "still runs" in repr(report)
        dnb.ones(100).to_numpy()
    assert report is found
    assert report.wall > 0
    assert "wall" in repr(report)
    assert "wall" in dir(report)
    with pytest.raises(ValueError, match="mine"), found:
        raise ValueError("mine")
    assert found.commands == 0
    assert found.clock_error == 0.0


def test_clocks_of_other_hosts(session, monkeypatch):
    rank = session.transport.rank
    if rank is not None:
        monkeypatch.setattr(windows, "clock_name", lambda: f"host {rank % 2}")
    for other, about in enumerate(session.transport.about):
        monkeypatch.setitem(about, "clock", "elsewhere" if other % 2 else windows.clock_name())
    x = dnb.arange(100.0)
    session.flush()
    with dnb.profile() as report:
        y = x[1:] + x[:-1]
        y.to_numpy()
    closed(report, session)
    assert (0 < report.clock_error < report.wall) == (session.size > 1)


def test_transfer_is_not_waiting(session):
    if session.size < 2:
        pytest.skip("nothing is sent")
    a = dnb.ones((session.size * 50, 400))
    session.flush()
    with dnb.profile() as report:
        b = a.redistribute(("*", "block"))
        session.flush()
    closed(report, session)
    assert all(engine.spent[TRANSFER] > 0 for engine in report.engines)
    assert all(engine.messages >= session.size - 1 for engine in report.engines)
    del b
