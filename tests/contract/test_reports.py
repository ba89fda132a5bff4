"""What reports of real runs say: the laws of the ladder, who is late, and how fast memory is."""

import json

import numpy as np
import pytest

import distnb as dnb
from distnb.client.reports import memory_bandwidth
from distnb.widgets import TimeReport
from tests.contract.support import on_engines
from tests.unit.pages import parse

pytestmark = [
    pytest.mark.usefixtures("engines_only"),
    pytest.mark.ways("one", "spmd", "started", "connected"),
]

AWAY = 0.2
ENOUGH = 0.05  # the others may come late, where machines have too much to do


def run():
    rng = np.random.default_rng(3)
    a, b = dnb.asarray(rng.random((41, 13))), dnb.asarray(rng.random((41, 13)), dist="cyclic")
    with dnb.profile() as report:
        c = a[1:] * 2 + b[:-1]
        for _ in range(3):
            d = c + 1
            float(d.sum())
        dnb.sort(b.ravel())
        (a @ a.T).to_numpy()
        del c, d
    return report


def test_the_ladder_of_a_real_run(session):
    report = run()
    stages = report.stages
    product = np.prod([rung.efficiency for rung in report.ladder])
    compute = [engine.spent[0] / 1e9 for engine in report.engines]
    assert stages.window == pytest.approx(report.wall, abs=1e-9)
    assert list(stages) == sorted(stages, reverse=True)
    assert product == pytest.approx(np.mean(compute) / report.wall)
    assert all(0 <= rung.efficiency <= 1 for rung in report.ladder)
    assert report.load_balance_layout * report.load_balance_speed == pytest.approx(
        report.load_balance
    )
    assert report.speedup <= session.size
    times = report.run
    work = times.compute + times.transfer + times.overhead
    assert times.length(work) <= times.busy() + 1 <= report.wall * 1e9 + 2
    assert report.waits.sum(axis=1) == pytest.approx([e.spent[1] / 1e9 for e in report.engines])
    assert report.messages.sum(axis=1).tolist() == [e.messages for e in report.engines]
    assert report.touched == sum(sum(s.touched for s in step.spans) for step in report.steps)


def test_a_real_run_is_shown(session):
    report = run()
    parse(report._repr_html_())
    assert report.advice in " ".join(repr(report).split())
    text = report.details()
    assert text.count("100 %  ") >= session.size  # accounted
    assert "test_reports.py line" in text
    events = json.loads(report.to_json())["traceEvents"]
    begun = {e["id"]: e["pid"] for e in events if e["ph"] == "s"}
    ended = {e["id"]: e["pid"] for e in events if e["ph"] == "f"}
    assert set(begun) == set(ended)
    assert all(begun[k] != ended[k] for k in begun)
    assert (len(begun) > 0) == (session.size > 1)
    changes = run().diff(report)
    assert {"fetch", "sort", "add"} <= {change.op for change in changes.ops}
    assert all(change.calls[0] == change.calls[1] for change in changes.ops)


def test_who_is_late_and_where(session):
    if session.size < 2:
        pytest.skip("nobody to wait for")
    a = dnb.ones((4 * session.size, 5))
    b = a[1:] + a[:-1]
    session.flush()
    nap = f"lambda c: __import__('time').sleep({AWAY}) if getattr(c, 'op', '') == 'add' else None"
    plant(session, nap, 0)
    try:
        while True:  # a machine may keep others from coming earlier
            with dnb.profile() as report:
                b = a[1:] + a[:-1]
                b.to_numpy()
            if report.waits[1, 0] >= ENOUGH and report.waited_for(1) == 0:
                break
    finally:
        plant(session, "None", 0)
    late = report.delays[0]
    assert late.engine == 0
    assert late.op.startswith("add")
    assert late.line.endswith("b = a[1:] + a[:-1]")
    assert sum(delay.seconds for delay in report.delays if delay.engine == 0) >= ENOUGH
    assert "engine 0" in repr(report)


def plant(session, fault, rank):
    on_engines(
        session,
        f"[setattr(worker.executor, 'fault', {fault}) if worker.comm.rank == {rank} else None] "
        "and None",
    )


def test_what_a_layout_costs(session):
    n = session.size
    parts = [10 * (n - i) for i in range(n)]
    x = dnb.ones(sum(parts), dist=("irregular", (0, *np.cumsum(parts).tolist())))
    with dnb.profile() as report:
        y = x * 2.0
        float(y.max())
    (step,) = [
        s for s, at in enumerate(report.steps) if any(op == "multiply" for op, _ in at.names)
    ]
    share = report.expected[step] / max(1e-9, report.expected[step].sum())
    assert share.tolist() == pytest.approx([part / sum(parts) for part in parts])
    assert report.load_balance <= report.load_balance_layout <= 1


@pytest.fixture
def unmeasured(session, monkeypatch):
    """A session of which the memory bandwidth is not known, and quick to measure."""
    monkeypatch.setattr(memory_bandwidth, "_KNOWN", {})
    monkeypatch.setattr(memory_bandwidth, "SIZE", 1 << 16)
    monkeypatch.setattr(memory_bandwidth, "WORTH", 1)


def test_the_speed_of_copying_is_measured_once(session, unmeasured):
    x = dnb.ones(1000 * session.size)
    with dnb.profile() as outer:
        with dnb.profile() as inner:
            y = x + 1
        assert inner.memory_bandwidth is None  # another window is open, which this must not be in
        assert inner.memory_rate > 0
        assert inner.memory_speed is None
    assert outer.memory_bandwidth > 0
    assert outer.memory_speed == pytest.approx(outer.memory_rate / outer.memory_bandwidth)
    assert "% of the memory bandwidth" in outer.details()
    with dnb.profile() as again:
        y = x + 1
    batches = session.batches
    assert again.memory_bandwidth == outer.memory_bandwidth
    assert (
        memory_bandwidth.with_memory_bandwidth(session, again._report._report).memory_bandwidth
        == outer.memory_bandwidth
    )
    assert session.batches == batches
    del y


def test_little_is_not_worth_measuring(session, monkeypatch):
    monkeypatch.setattr(memory_bandwidth, "_KNOWN", {})
    with dnb.profile() as report:
        dnb.ones(10) + 1
    assert report.memory_bandwidth is None
    assert isinstance(report._report, TimeReport)
