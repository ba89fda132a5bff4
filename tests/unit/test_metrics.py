"""Metrics: the ladder's product, bounds and sums for any run, and runs whose losses are known."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from distnb.measure.events import Account, Moment, Notebook, OwnLine, Report
from distnb.measure.quantities import duration
from distnb.measure.source_lines import assigned, evenly, leading
from distnb.widgets.times.glance import DID, worst_lines
from tests.unit.runs import MS, report, reports, span, step

LAW = pytest.approx


def account(*rows):
    """A report of engines of which only the account is known, in ms."""
    engines = [Account(sum(row) * MS, tuple(ms * MS for ms in row), 0, 0) for row in rows]
    return Report(max(map(sum, rows)) / 1e3, tuple(engines), (), 5, 1)


# -- Laws ------------------------------------------------------------------------------------------


@given(reports())
def test_the_product_of_the_ladder_is_mean_compute_over_the_window(found):
    stages, product = found.stages, np.prod([rung.efficiency for rung in found.ladder])
    compute = [e.spent[0] for e in found.engines]
    assert stages.mean == LAW(np.mean(compute) / 1e9)
    assert stages.longest == LAW(max(compute) / 1e9)
    assert list(stages) == sorted(stages, reverse=True) or list(stages) == LAW(
        sorted(stages, reverse=True)
    )
    assert all(0 <= rung.efficiency <= 1 + 1e-9 for rung in found.ladder)
    assert all(rung.lost >= -1e-15 for rung in found.ladder)
    assert sum(rung.lost for rung in found.ladder) == LAW(stages.window - stages.mean)
    if stages.window:
        assert product == LAW(stages.mean / stages.window)
        assert product == LAW(found.parallel_efficiency)
        assert found.speedup == LAW(sum(compute) / 1e9 / stages.window)
    assert found.pop_efficiency == LAW(np.prod([rung.efficiency for rung in found.ladder[2:]]))


@given(reports())
def test_layout_and_speed_make_up_the_load_balance(found):
    split = found.load_balance_layout, found.load_balance_speed
    assert all(0 <= part <= 1 + 1e-9 for part in split)
    assert split[0] * split[1] == LAW(found.load_balance)


@given(reports())
def test_a_replay_is_no_longer_than_the_run_and_no_shorter_than_its_work(found):
    run = found.run
    work = run.compute + run.transfer + run.overhead
    window = found.stages.window * 1e9
    assert run.busy() <= window + 1e-6
    lengths = [
        run.length(work),
        run.length(run.compute + run.transfer),
        run.length(run.compute),
        run.length(run.compute, flight=False),
    ]
    assert lengths[0] <= run.busy() + 1e-6
    assert all(a >= b - 1e-6 for a, b in pairwise(lengths))
    assert lengths[0] >= work.sum(axis=0).max(initial=0) - 1e-6
    assert lengths[3] >= run.compute.sum(axis=0).max(initial=0) - 1e-6
    assert run.length(0 * work, flight=False) == 0


@given(reports())
def test_matrices_are_the_sums_of_spans(found):
    spans = [(rank, s) for each in found.steps for rank, s in enumerate(each.spans)]
    for i in range(len(found.engines)):
        for j in range(len(found.engines)):
            waits = sum(ns for r, s in spans for k, ns in s.waits if (r, k) == (i, j))
            sent = [(m, n) for r, s in spans for k, m, n in s.sent if (r, k) == (i, j)]
            assert found.waits[i, j] == LAW(waits / 1e9)
            assert found.messages[i, j] == sum(m for m, _ in sent)
            assert found.sent[i, j] == sum(n for _, n in sent)
        assert found.waits[i].sum() <= found.engines[i].spent[1] / 1e9 + 1e-12
        assert found.sent[i].sum() == found.engines[i].bytes
        most = found.waited_for(i)
        assert most is None if not found.waits[i].any() else found.waits[i, most] > 0
    for engine in range(len(found.engines)):
        charged = sum(d.seconds for d in found.delays if d.engine == engine)
        assert charged <= found.waits[:, engine].sum() + 1e-12
    assert found.touched == sum(s.touched for _, s in spans)
    named = sum(s.touched for each in found.steps if each.names for s in each.spans)
    assert sum(found.touched_by.values()) == LAW(named)


@given(reports())
def test_what_ifs_gain_and_advice_is_one_sentence(found):
    for what in found.what_if:
        assert -1e-12 <= what.after <= what.before + 1e-12
        assert what.before == found.stages.window
        assert what.assumption
    worst = found.remedies[0].rung if found.remedies else ""  # what it is about comes first
    order = [(remedy.rung != worst, -remedy.gain.gain) for remedy in found.remedies]
    assert order == sorted(order)
    assert found.advice.endswith(".")
    assert "\n" not in found.advice


@given(reports())
def test_a_report_is_no_different_from_itself(found):
    same = found.diff(found)
    assert all(change.delta in {0, None} for change in (*same.metrics, *same.classes))
    assert all(change.delta == 0 for change in same.ops)
    assert len(same.ops) == len(found.ops)
    assert same.speedup == 1


# -- Runs whose losses are known -------------------------------------------------------------------


def test_nothing():
    for found in (Report(0.0, (), (), 0, 0), account((0, 0, 0, 0, 0))):
        assert found.parallel_efficiency == 1
        assert [rung.efficiency for rung in found.ladder] == [1] * 5
        assert found.advice == "Nothing was computed on the engines."
        assert found.memory_speed is None
        assert found.bandwidth is None
        assert found.waits.shape == (len(found.engines),) * 2


def test_what_the_notebook_does_alone_is_said():
    found = account((0, 0, 0, 0, 100), (0, 0, 0, 0, 100))
    moments = Moment(0, 0, 0, 0), Moment(100 * MS, 60 * MS, 0, 0, 15 * MS)
    found = replace(found, notebook=Notebook(0.06, 0, 0, moments, 0.015))
    assert found.advice == (
        "Nothing was computed on the engines: in 100 ms the notebook computed (60 ms), waited for "
        "engines (15 ms), waited for threads of libraries, for a core or in a sleep (25 ms)."
    )
    assert found.headline is None
    assert [line.line for line in worst_lines(found)] == [
        "the notebook itself",
        "the notebook elsewhere",
    ]
    assert found.elsewhere == LAW(0.025)


def test_the_lines_that_the_notebook_was_on():
    found = account((0, 0, 0, 0, 100), (0, 0, 0, 0, 100))
    moments = Moment(0, 0, 0, 0), Moment(100 * MS, 60 * MS, 0, 0, 15 * MS)
    seen = (
        OwnLine("In [1] line 1: y = f(x)", 0.05, 0.045),
        OwnLine("In [1] line 2: wait()", 0.02, 0),
    )
    found = replace(found, notebook=Notebook(0.06, 0, 0, moments, 0.015, lines=seen))
    assert found.advice.endswith("in a sleep (25 ms), most at `y = f(x)`.")
    lines = worst_lines(found, 9)
    assert [line.line for line in lines] == [
        seen[0].line,
        seen[1].line,
        "the notebook itself",
    ]
    assert [line.mostly for line in lines[:2]] == [*DID]
    assert [line.whole for line in lines] == [LAW(0.05), LAW(0.02), LAW(0.015)]
    object.__setattr__(found, "notebook", found.notebook._replace(computed=0.03, waited=0.06))
    assert sum(line.whole for line in worst_lines(found, 9)) <= found.ladder[0].lost


def test_a_line_of_engines_and_of_the_notebook_is_one():
    steps = [step(span(0, 10), op="add", line="In [1] line 1: y = x + x")]
    found = report(steps, window=100)
    seen = (OwnLine("In [1] line 1: y = x + x", 0.06, 0.06),)
    found = replace(found, notebook=Notebook(0.06, lines=seen))
    (line,) = worst_lines(found, 9)
    assert (line.whole, line.mostly, line.ops) == (LAW(0.07), DID[0], ("add",))


def test_without_steps_the_accounts_stand_for_them():
    found = account((60, 10, 10, 10, 10), (20, 40, 10, 10, 20))
    assert found.stages == LAW((0.1, 0.09, 0.08, 0.06, 0.06, 0.04))
    assert found.load_balance == LAW(2 / 3)
    assert found.what_if[0].gain == LAW(0.2)
    assert "engine 0" in found.advice
    assert "-20 %" in found.advice


def test_an_engine_that_holds_more():
    """Engine 1 holds and computes 3 times as much; engine 0 waits for it."""
    steps = [
        step(
            span(t, 10, 20, waits=[(1, 20)]),
            span(t, 30),
            held=(100, 300),
            line="In [2] line 4: t[1:] = a + b",
        )
        for t in (0, 30, 60)
    ]
    found = report(steps)
    assert found.stages == LAW((0.09, 0.09, 0.09, 0.09, 0.09, 0.06))
    assert found.load_balance == found.load_balance_layout == LAW(2 / 3)
    assert found.load_balance_speed == LAW(1)
    assert found.worst.name == "load balance"
    assert found.waits[0, 1] == LAW(0.06)
    assert found.waited_for(0) == 1
    assert found.delays[0][:3] == ("add", "In [2] line 4: t[1:] = a + b", 1)
    assert found.what_if[0].after == LAW(0.06)
    assert found.advice == (
        "Load balance: engine 1 holds 1.5 times the mean of what `t[1:] = a + b` works on; deal its arrays "
        "evenly, as t = t.redistribute() does: about -33 % (90 ms -> 60 ms)."
    )


def test_a_slow_engine():
    found = report([step(span(0, 10), span(0, 30), span(0, 10))])
    assert found.load_balance_layout == 1
    assert found.load_balance_speed == found.load_balance == LAW(50 / 90)
    assert found.advice.startswith("Load balance: engine 1 computes 1.8 times as long as")
    assert "-44 % (30 ms -> 16.7 ms)" in found.advice


def test_engines_that_take_turns_are_serialised():
    """What one engine computes, the other waits for; both compute equally long."""
    turn = (
        step(span(0, 20), span(0, 0, 20, waits=[(0, 20)])),
        step(span(20, 0, 20, waits=[(1, 20)]), span(20, 20), op="multiply"),
    )
    found = report(turn)
    assert found.stages == LAW((0.04, 0.04, 0.04, 0.04, 0.02, 0.02))
    assert found.serialisation == LAW(0.5)
    assert found.load_balance == 1
    assert [(d.op, d.engine, d.seconds) for d in found.delays] == [
        ("add", 0, LAW(0.02)),
        ("multiply", 1, LAW(0.02)),
    ]
    assert found.what_if[0].gain == LAW(0.5)


def test_a_chain_of_waits_ends_where_work_was():
    """Engine 0 waits for 1, which waits for 2: what engine 2 does is what counts."""
    chain = step(
        span(0, 2, 10, waits=[(1, 10)]),
        span(0, 2, 9, waits=[(2, 9)]),
        span(0, 0, 0, 0, 10),
    )
    found = report([chain, step(span(12, 5), span(11), span(10))])
    assert found.run.length(found.run.compute + found.run.overhead) == LAW(17 * MS)
    assert found.run.length(found.run.compute, flight=False) == LAW(7 * MS)
    assert found.overhead_efficiency == LAW(8 / 17)
    assert found.transfer_efficiency == LAW(7 / 8)  # a millisecond on the way


def test_messages_on_their_way_are_transfer():
    both = step(span(0, 6, 3, waits=[(1, 3)]), span(0, 6, 3, waits=[(0, 3)]))
    found = report([both])
    assert found.transfer_efficiency == LAW(6 / 9)
    assert found.serialisation == found.overhead_efficiency == 1
    nobody = report([step(span(0, 6, 3), span(0, 6))])
    assert nobody.transfer_efficiency == LAW(6 / 9)


def test_moving_bytes():
    sent = [(1, 1, 10**6)]
    found = report(
        [
            step(span(0, 10, 0, 30, sent=sent), span(0, 10, 10, 20, waits=[(0, 10)])),
            step(span(40, 1), span(40, 1), op="sum", line="x.py line 3"),
        ]
    )
    assert found.worst.name == "transfer"
    assert found.transfer_efficiency == LAW(11 / 41)
    assert found.bandwidth == LAW(1e6 / 0.05)
    assert found.advice == (
        "Bandwidth: moving 1 MB takes 30 ms, 100 % of them for add in `b = a + a`; lay its operands out "
        "alike, once, with x.redistribute(y.layout): about -73 % (41 ms -> 11 ms)."
    )


def test_small_messages():
    both = [span(0, 10, 0, 30, sent=[(k, 500, 4000)]) for k in (1, 0)]
    found = report([step(*both, op="sum")])
    assert found.advice == (
        "Latency: 1,000 small messages cost 30 ms, most for sum in `b = a + a`; use fewer operations that "
        "send, on larger arrays, or fewer engines: about -75 % (40 ms -> 10 ms)."
    )


def test_overhead():
    found = report([step(span(0, 10, 0, 0, 40), span(0, 10, 0, 0, 40))], commands=80)
    assert found.overhead_efficiency == LAW(0.2)
    assert found.advice == (
        "Overhead: 80 commands cost 500 us of overhead each; use fewer operations on larger arrays: about "
        "-80 % (50 ms -> 10 ms)."
    )


def test_waiting_for_the_notebook():
    steps = [
        step(span(t, 2), span(t, 2), op="fetch", line="In [1] line 2: float(s)") for t in (0, 40)
    ]
    found = report(steps, window=44)
    assert found.stages == LAW((0.044, 0.004, 0.004, 0.004, 0.004, 0.004))
    assert found.what_if[1].after == LAW(0.004)
    assert found.advice == (
        "Waiting for the notebook: engines had no command for 40 ms, where `float(s)` reads 2 values; read "
        "fewer values, or give engines more to do between: about -91 % (44 ms -> 4 ms)."
    )


def test_idle_engines_wait_for_the_notebook_that_waits_for_others():
    """The notebook reads what engine 0 computes, then asks engine 1, and so on: no dispatch."""
    steps = [
        step(span(0, 10), span(0, 2)),
        step(span(10, 2), span(10, 10)),
    ]
    found = report(steps)
    assert found.dispatch_efficiency == 1
    assert found.overhead_efficiency == found.transfer_efficiency == 1
    assert found.serialisation == LAW(0.6)
    assert found.load_balance == 1


def test_good_runs_are_left_alone():
    good = report(
        [step(span(0, 98, touched=98 * MS), span(0, 99, touched=99 * MS))], memory_bandwidth=1.25e9
    )
    assert good.memory_rate == LAW(1e9)
    assert good.memory_speed == LAW(0.8)
    assert good.advice == (
        "No single change would gain much: 99 % of the engines' time is computing, at 80 % of the "
        "speed of memory: less data is all that helps."
    )
    assert "memory" not in report([step(span(0, 98), span(0, 99))]).advice


def test_diff():
    before = report([step(span(0, 30), line="In [1] line 2: b = a"), step(span(30, 5), op="sum")])
    after = report([step(span(0, 10), line="In [7] line 1: b = a")])
    found = after.diff(before)
    assert found.speedup == LAW(3.5)
    wall = found.metrics[0]
    assert (wall.name, wall.before, wall.after, wall.delta) == ("wall", 0.035, 0.01, LAW(-0.025))
    assert {change.name for change in found.classes} >= {"compute", "idle"}
    assert [(c.op, c.calls, c.delta) for c in found.ops] == [
        ("add", (1, 1), LAW(-0.02)),
        ("sum", (1, 0), LAW(-0.005)),
    ]
    speed = next(change for change in found.metrics if change.name == "memory_speed")
    assert speed.delta is None


def test_names_and_durations():
    assert assigned("f line 1: for i in range(3): x[i] = b") == "x"
    assert assigned("In [1] line 1: x += 1") == assigned("f line 2: x: int = 3") == "x"
    assert (
        assigned("f line 1: a, b = c") == assigned("f line 1: for x in y:") == assigned("f") == ""
    )
    assert [duration(s) for s in (12.0, 0.99949, 0.5e-3)] == ["12 s", "999 ms", "500 us"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Y = np.sin(X)", ("X",)),
        ("for _ in range(5): Y = X.copy()", ("X",)),
        ("if G[i % 7].sum() < 0: break", ("G",)),
        ("elif (X > 0).all():", ("X",)),
        ("np.add(G, 1, out=H)", ("H",)),
        ("with dnb.profile() as r: Y = X + w", ("X", "w")),
        ("X *= w", ("X",)),
        ("total += float(A[i] @ self.w)", ("A", "self.w")),
        ("return np.pi * X.T", ("X",)),
        ("print('nothing')", ()),
        ("half of a line = (", ()),
    ],
)
def test_the_names_that_lead(line, names):
    assert leading(f"In [1] line 2: {line}") == names
    assert all(name in evenly(f"In [1] line 2: {line}") for name in names)


def test_only_reports_are_compared():
    with pytest.raises(TypeError, match="diff: got int, expected a report"):
        report([step(span(0, 10))]).diff(3)
