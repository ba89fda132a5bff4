"""What the timeline sends, and what the browser makes of it: the numbers of the report."""

import base64
import json
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from distnb.measure.events import CLASSES, Moment, Notebook
from distnb.widgets.times import columns as sent
from distnb.widgets.times.columns import BOOKED, columns, summary
from distnb.widgets.times.timeline import Timeline
from tests.reports import CASES, overlaps, synthetic

SCRIPT = Path(sent.__file__).with_name("timeline.js")
WIDTHS = {"spans": 13, "parts": 9, "sends": 5, "waits": 4, "gaps": 5}
ALL = pytest.mark.parametrize(("engines", "steps"), CASES)


def table(data, name):
    return np.frombuffer(data[name]).reshape(-1, WIDTHS[name])


def whole(report):
    return max(e.now for e in report.engines)


# -- What is sent ----------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("most", [1000, 12, 1])
def test_sums_are_those_of_the_steps_whatever_is_added_up(engines, steps, most):
    report = synthetic(engines, steps)
    assert not overlaps(report)
    data = columns(report, most)
    spans = table(data, "spans")
    assert len(spans) <= most + engines
    assert data["recorded"] == steps
    for rank in range(engines):
        spent = [step.spans[rank] for step in report.steps]
        own = [(*s.time[:5], sum(size for _, _, size in s.sent)) for s in spent]
        found = spans[spans[:, 1] == rank][:, 7:].sum(axis=0)
        assert found.tolist() == [sum(t[i] for t in own) for i in range(len(BOOKED))]
    parts = table(data, "parts")
    assert parts[:, 2].sum() == report.commands
    np.testing.assert_allclose(parts[:, 3:].sum(axis=0), spans[:, 7:].sum(axis=0), rtol=1e-12)
    assert table(data, "waits")[:, 3].sum() == sum(
        ns for step in report.steps for span in step.spans for _, ns in span.waits
    )
    if most == 1000:
        assert data["each"] == 1


@ALL
def test_gaps_are_the_times_without_a_command(engines, steps):
    report = synthetic(engines, steps)
    busy = np.zeros(int(whole(report)) + 1, bool)
    for step in report.steps:
        for span in step.spans:
            busy[span.start : span.end] = True
    gaps = table(columns(report), "gaps")
    assert gaps[:, 2].sum() == (~busy[:-1]).sum()
    assert all(not busy[int(a) : int(b)].any() for a, b, *_ in gaps)


@ALL
def test_gaps_have_what_the_notebook_did_in_them(engines, steps):
    report = synthetic(engines, steps)
    end = int(whole(report))
    moments = (Moment(0, 0, 0, 0), Moment(end, end // 2, 0, end // 4))
    gaps = table(columns(replace(report, notebook=Notebook(1.0, moments=moments))), "gaps")
    np.testing.assert_allclose(gaps[:, 3] * 2, gaps[:, 2], atol=1e-3 * end)
    np.testing.assert_allclose(gaps[:, 4] * 4, gaps[:, 2], atol=1e-3 * end)


def test_many_steps_are_sent_in_little_time_and_space():
    step = synthetic(4, 3).steps[0]
    report = synthetic(4, 3)
    many = tuple(
        step._replace(
            spans=tuple(
                s._replace(start=s.start + 300_000 * i, end=s.end + 300_000 * i) for s in step.spans
            )
        )
        for i in range(20_000)
    )
    data = columns(type(report)(7.0, report.engines, (), 20_000, 40, many))
    assert data["each"] == 10
    assert sum(len(data[name]) for name in WIDTHS) < 1_600_000
    assert len(table(data, "gaps")) <= sent.GAPS
    assert table(data, "spans")[:, 7].sum() == 20_000 * sum(s.time.compute for s in step.spans)


def test_the_summary_is_that_of_the_accounts():
    report = synthetic(3, 40)
    found = summary(report)
    assert [row[:4] for row in found["engines"]] == [list(e.spent[:4]) for e in report.engines]
    assert all(sum(row) == found["to"] == whole(report) for row in found["engines"])
    assert found["bytes"] == report.sent.sum(axis=1).tolist()
    assert found["efficiency"] == pytest.approx(report.parallel_efficiency)
    assert found["dispatch"] == pytest.approx(report.dispatch_efficiency)
    assert found["balance"] == pytest.approx(report.load_balance)
    assert sum(row[2] for row in found["ops"]) == report.commands


# -- The widget ------------------------------------------------------------------------------------


def test_without_a_browser_it_is_the_report():
    timeline = Timeline(synthetic(2, 7))
    bundle = timeline._repr_mimebundle_()[0]
    assert bundle["text/plain"] == repr(timeline)
    assert "2 engines" in bundle["text/plain"]
    assert "<table>" in bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    timeline.close()


def test_what_is_pinned_is_there_for_the_next_one():
    first = Timeline(synthetic(2, 7))
    assert first.pinned == {}
    first.set_state({"pinned": summary(first.report)})  # as the browser does
    second = Timeline(synthetic(2, 9))
    assert second.pinned == first.pinned
    third = Timeline(synthetic(2, 9), against=second.report)
    assert third.pinned == summary(second.report)
    first.set_state({"pinned": {}})
    assert Timeline(second.report).pinned == {}


def test_another_report_in_the_same_place():
    timeline = Timeline(synthetic(2, 7))
    timeline.selection = (0.0, 1e-3)
    timeline.show(synthetic(3, 9))
    assert timeline.selection == ()
    assert len(timeline.data["engines"]) == 3


# -- The browser's part ----------------------------------------------------------------------------

HARNESS = """
import { readFileSync } from "node:fs";
import * as timeline from "./timeline.mjs";
const [data, calls] = JSON.parse(readFileSync("input.json"));
for (const name of %s) data[name] = new Uint8Array(Buffer.from(data[name], "base64"));
const run = timeline.unpack(data);
const plain = (_, value) => value instanceof Float64Array ? [...value] : value instanceof Set ? [...value] : value;
console.log(JSON.stringify(calls.map(([name, ...args]) => timeline[name](run, ...args)), plain));
"""


@pytest.fixture(scope="module")
def node():
    if found := shutil.which("node"):
        return found
    driver = pytest.importorskip("playwright._impl._driver", reason="no node, nor playwright's")
    return driver.compute_driver_executable()[0]


@pytest.fixture
def script(node, tmp_path):
    """Call functions of the script: their first argument is the run of a report."""
    shutil.copy(SCRIPT, tmp_path / "timeline.mjs")
    (tmp_path / "harness.mjs").write_text(HARNESS % json.dumps(list(WIDTHS)))

    def call(data, *calls):
        encoded = {n: base64.b64encode(data[n]).decode() for n in WIDTHS}
        (tmp_path / "input.json").write_text(json.dumps([{**data, **encoded}, calls]))
        done = subprocess.run(
            [node, "harness.mjs"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@ALL
def test_the_whole_window_has_the_numbers_of_the_report(script, engines, steps):
    report = synthetic(engines, steps)
    expected = summary(report)
    for most in (1000, 12):
        (found,) = script(columns(report, most), ("metrics", 0, expected["to"]))
        for name in ("engines", "messages", "bytes", "balance", "efficiency", "dispatch"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-6)
        ours = {(op, line): values for op, line, *values in found["ops"]}
        for op, line, *values in expected["ops"]:
            np.testing.assert_allclose(ours[op, line], values, rtol=1e-9)
        assert len(ours) == len(expected["ops"])


def test_every_part_is_accounted_for_and_parts_add_up(script):
    report = synthetic(3, 40)
    end = whole(report)
    cuts = [0, end * 0.1, end * 0.35, end * 0.351, end * 0.9, end]
    calls = [("metrics", a, b) for a, b in pairwise(cuts)]
    found = script(columns(report), *calls)
    total = np.sum([f["engines"] for f in found], axis=0)
    np.testing.assert_allclose(total, summary(report)["engines"], rtol=1e-9)
    for part, (_, a, b) in zip(found, calls, strict=True):
        rows = np.array(part["engines"])
        np.testing.assert_allclose(rows.sum(axis=1), b - a, rtol=1e-9)
        assert (rows >= 0).all()
        assert 0 <= part["efficiency"] <= part["balance"] <= 1
        ops = sum(np.array(row[3:]) for row in part["ops"])
        assert (ops[:4] <= rows.sum(axis=0)[:4] + 1e-6).all()


def test_a_part_has_the_numbers_of_its_steps(script):
    report = synthetic(3, 40)
    step = report.steps[20]
    rank, span = max(enumerate(step.spans), key=lambda each: each[1].end - each[1].start)
    (found,) = script(columns(report), ("metrics", span.start, span.end))
    assert found["engines"][rank] == pytest.approx([*span.time[:4], 0])
    assert found["messages"][rank] == span.time.messages
    assert found["waits"][rank] == pytest.approx(list(span.waits[0]))


@pytest.mark.parametrize("most", [400, 50])
def test_few_marks_are_drawn_and_they_add_up(script, most):
    report = synthetic(3, 400)
    data = columns(report)
    ((found, far),) = [script(data, ("marks", 0, whole(report), most), ("marks", 1e15, 2e15, most))]
    assert most / 3 < len(found["drawn"]) <= most
    spans = table(data, "spans")
    assert found["count"] == len(spans)
    booked = np.sum([mark["booked"] for mark in found["drawn"]], axis=0)
    np.testing.assert_allclose(booked, spans[:, 7:].sum(axis=0), rtol=1e-9)
    assert far == {"drawn": [], "count": 0, "each": 1}


def test_arrows_join_steps_that_sent_and_received(script):
    report = synthetic(3, 40)
    (found,) = script(columns(report), ("arrows", 0, whole(report), 10))
    assert len(found["drawn"]) == 10 < found["count"]
    for arrow in found["drawn"]:
        step = report.steps[int(arrow["step"])]
        receiver = step.spans[int(arrow["to"])]
        assert arrow["bytes"] == max(s.sent[0][2] for s in step.spans if s.sent)
        assert arrow["end"] >= arrow["start"] == step.spans[int(arrow["rank"])].start
        assert arrow["end"] <= max(receiver.end, arrow["start"])
        assert arrow["late"] == (receiver.waits == ((arrow["rank"], receiver.waits[0][1]),))


def test_lines_label_the_time_of_their_steps(script):
    report = synthetic(2, 8)
    fine, coarse = script(
        columns(report), ("lines", 0, whole(report), 0), ("lines", 0, whole(report), 1e12)
    )
    assert len(coarse) == 1 < len(fine) <= 8
    known = {line for step in report.steps for _, line in step.names}
    assert set(coarse[0]["of"]) == known


def test_a_step_is_described_by_its_numbers(script):
    report = synthetic(3, 40)
    data = columns(report)
    (marks,) = script(data, ("marks", 0, whole(report), 400))
    (text,) = script(data, ("describe", marks["drawn"][5]))
    for part in (
        "engine 0, step",
        *CLASSES[:4],
        "waiting mostly for engine 2",
        "GB/s",
        "elements, 33.3 %",
    ):
        assert part in text
