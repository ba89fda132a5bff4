"""What runs when, and the tools around it: measurements compared, processes paused."""

import ast
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import tiers
from tests.stopping import stopped
from tests.waiting import until
from tools import pauses
from tools.covered import NOTHING, Covered, Marker, missed, runs


@pytest.fixture
def tier(monkeypatch):
    return lambda name: monkeypatch.setattr(tiers, "TIER", name)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 11])
def test_some_are_evenly_chosen(tier, n):
    tier("test-all")
    assert tiers.some(range(10), n) == list(range(10))
    tier("test")
    found = tiers.some(range(10), n)
    assert len(found) == min(n, 10)
    assert found[0] == 0
    assert sorted(set(found)) == found


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_cases_of_a_product_have_as_many_values_as_can_be(n):
    """At even distances three of them would all have the same second one."""
    ids = [f"{a}-{b}" for a in "xyz" for b in "1234"]
    cases = [SimpleNamespace(callspec=SimpleNamespace(id=name)) for name in ids]
    first, second = zip(*(x.callspec.id.split("-") for x in tiers.varied(cases, n)), strict=True)
    assert (len(set(first)), len(set(second))) == (min(n, 3), n)
    assert tiers.varied(cases, len(cases)) == cases


def test_cases_of_one_parameter_are_evenly_chosen():
    cases = [SimpleNamespace(callspec=SimpleNamespace(id=str(k))) for k in range(10)]
    assert tiers.varied(cases, 3) == [cases[0], cases[3], cases[6]]


def function_of(module, name, *marks):
    """Return a test of a module of the contract, with the marks of its own and of the module."""
    found = SimpleNamespace(module=module, name=name, nodeid=name)
    every = [(found, mark) for mark in marks] + [(module, mark) for mark in module.marks]
    found.iter_markers_with_node = lambda kind: every
    return found


@pytest.mark.parametrize("n", [1, 5, 6, 13, 41])
def test_ways_of_a_module_are_taken_by_turns(tier, n):
    names = [f"test_{k}" for k in range(n)]
    module = SimpleNamespace(**dict.fromkeys(names), marks=[pytest.mark.ways("one", "four").mark])
    functions = [function_of(module, name) for name in names]
    tier("test")
    for word in ("inprocess:1", "inprocess:4"):
        there = sum(tiers.has_way(x, word) for x in functions)
        assert min(n, 6) <= there <= max(n if n < 12 else 0, 8)
    assert all(tiers.has_way(x, "inprocess:3") for x in functions)
    assert not any(tiers.has_way(x, "spmd:3") for x in functions)
    own = function_of(module, names[-1], pytest.mark.ways("spmd").mark)
    assert tiers.has_way(own, "spmd:3")
    module.marks = [pytest.mark.ways("one", every=True).mark]
    assert all(tiers.has_way(function_of(module, name), "inprocess:1") for name in names)
    tier("test-all")
    assert all(tiers.has_way(x, "spmd:3") for x in functions)


def test_this_test_is_quick(request):
    assert tiers.tier_of(request.node) == "quick"


@pytest.mark.xdist_group("alone")
def test_xdist_groups_what_shares_engines(request):
    """Where it does not, it says nothing, and starts everything twice."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not run by --dist loadgroup")
    assert request.node.nodeid.endswith("@alone"), "make .venv/ready installs a pytest that does"


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/unit/test_a.py::test_b", "tests/unit/test_a.py"),
        ("tests/unit/test_a.py::TestC::test_b[x::y-1@2]", "tests/unit/test_a.py"),
        ("tests/unit/test_a.py::test_b[1]@engines", "engines"),
    ],
)
def test_one_worker_runs_a_module(nodeid, scope):
    scheduling = pytest.importorskip("tests.scheduling").ModuleScheduling
    assert scheduling._split_scope(object.__new__(scheduling), nodeid) == scope


@pytest.mark.parametrize(
    ("lines", "text"), [([], ""), ([3], "3"), ([3, 4], "3-4"), ([1, 3, 4, 5, 9], "1, 3-5, 9")]
)
def test_lines_are_written_as_ranges(lines, text):
    assert runs(lines) == text


def test_what_only_one_run_reaches():
    whole = Covered(frozenset({1, 2, 3, 7}), frozenset({(1, 2), (1, 7), (3, -1)}))
    part = Covered(frozenset({1, 2, 3}), frozenset({(1, 2)}))
    assert missed(whole, whole) == ""
    assert missed(whole, part) == "lines 7; branches 3->exit"  # to reach 7 is told once
    assert missed(whole, NOTHING) == "lines 1-3, 7"


MARKED = '''"""Text."""
from __future__ import annotations
total = 0
def f(x):
    """Text."""
    global total
    if x:
        total += 1
    for _ in range(x):
        try:
            total += 1 / (x - 2)
        except ZeroDivisionError:
            return 0
    while total > 100:
        total = 0
    else:
        total += 0
    match x:
        case 3:
            pass
        case _:
            x = 4
    return total
'''


@pytest.mark.parametrize(
    ("values", "lines", "branches"),
    [
        ([], {3, 4}, set()),
        ([0], {7, 9, 14, 17, 18, 22, 23}, {(7, -1), (9, -1), (14, 17), (21, 22)}),
        ([2], {7, 8, 9, 10, 11, 13}, {(7, 8), (9, 10)}),
        (
            [3],
            {7, 8, 9, 10, 11, 14, 17, 18, 20, 23},
            {(7, 8), (9, 10), (9, -1), (14, 17), (19, 20)},
        ),
    ],
)
def test_marks_are_reached(values, lines, branches):
    marker = Marker(5)
    code = compile(marker.mark(ast.parse(MARKED)), "marked", "exec")
    reached = bytearray(5 + len(marker.places))
    there = {"_marks_reached": reached}
    exec(code, there)
    for x in values:
        there["f"](x)
    found = {
        place for place, is_reached in zip(marker.places, reached[5:], strict=True) if is_reached
    }
    assert found == {(x,) for x in lines | {3, 4}} | branches
    assert there["f"].__doc__ == "Text."


SLEEPS = ["-c", "import time; time.sleep(1000)"]


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start programs of Python that sleep, as the tool does or not; return their pids."""
    processes = []

    def starts(program=sys.executable, known=True):
        with monkeypatch.context() as patch:
            if known:
                patch.setenv(pauses.VARIABLE, str(tmp_path / "notes"))
            processes.append(subprocess.Popen([program, *SLEEPS]))
        return processes[-1].pid

    (tmp_path / "notes").mkdir()
    yield starts
    for process in processes:
        process.kill()
        process.wait()
        assert pauses.is_stopped(process.pid)


@pytest.fixture
def notes(tmp_path, start):
    return str(tmp_path / "notes")


def test_only_what_was_started_is_paused(start, notes, monkeypatch):
    mine, own, other = start(), start(), start(known=False)
    until(lambda: sorted(pauses.started(notes)) == sorted([mine, own]))
    pauses.send([mine], signal.SIGSTOP, notes)
    until(lambda: pauses.is_stopped(mine))
    pauses.send([mine], signal.SIGCONT, notes)
    until(lambda: not pauses.is_stopped(mine))
    monkeypatch.setenv(pauses.VARIABLE, notes)
    for _ in range(2):
        with stopped(own):  # by a test
            assert pauses.is_stopped(own)
            pauses.send([own], signal.SIGCONT, notes)
            assert pauses.is_stopped(own)
        until(lambda: not pauses.is_stopped(own))
    assert not pauses.is_stopped(other)


def waits_for(folder):
    """Tell whether somebody waits for the lock of a folder."""
    lines = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and f":{os.stat(folder).st_ino} " in line for line in lines)


def test_nobody_is_paused_or_goes_on_while_a_test_notes_whom_it_stops(start, notes, monkeypatch):
    mine, sent = start(), []

    def send():
        pauses.send([mine], signal.SIGSTOP, notes)
        sent.append(mine)

    with pauses.alone(notes):
        tool = threading.Thread(target=send)
        tool.start()
        until(lambda: waits_for(notes))
        assert not sent
        assert not pauses.is_stopped(mine)
        Path(notes, str(mine)).touch()
    tool.join()
    assert not pauses.is_stopped(mine)


def test_launchers_of_mpi_are_not_paused(start, notes, tmp_path, monkeypatch):
    """They pass on that they go on."""
    mpiexec = tmp_path / "mpiexec.some"
    mpiexec.symlink_to(sys.executable)
    mine, launcher, sent = start(), start(str(mpiexec)), []
    until(lambda: pauses.is_launcher(launcher) and len(pauses.started(notes)) == 2)
    monkeypatch.setattr(pauses, "ALL", 1)
    monkeypatch.setattr(pauses, "STOPPED", (0, 0))
    monkeypatch.setattr(pauses, "send", lambda pids, number, folder: sent.append((pids, number)))
    assert pauses.pause(notes, random.Random(1)) == 1
    assert sent == [([mine], signal.SIGSTOP), ([mine], signal.SIGCONT)]
