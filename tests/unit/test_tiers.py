"""What runs when, and the tools around it: measurements compared, processes paused."""

import subprocess
import sys

import pytest

from tests import tiers
from tests.stopping import stopped
from tests.waiting import until
from tools import pauses
from tools.covered import NOTHING, Covered, missed, runs


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


def test_this_test_is_quick(request):
    assert tiers.tier_of(request.node) == "quick"


@pytest.mark.xdist_group("alone")
def test_xdist_groups_what_shares_engines(request):
    """Where it does not, it says nothing, and starts everything twice."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not run by --dist loadgroup")
    assert request.node.nodeid.endswith("@alone"), "make .venv/ready installs a pytest that does"


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


def test_only_what_was_started_is_paused(tmp_path, monkeypatch):
    sleep = [sys.executable, "-c", "import time; time.sleep(1000)"]
    monkeypatch.setenv(pauses.VARIABLE, str(tmp_path))
    processes = [subprocess.Popen(sleep) for _ in range(2)]
    monkeypatch.delenv(pauses.VARIABLE)
    other = subprocess.Popen(sleep)
    mine, own = (process.pid for process in processes)
    try:
        until(lambda: sorted(pauses.started(str(tmp_path))) == sorted([mine, own]))
        pauses.send([mine], pauses.signal.SIGSTOP, str(tmp_path))
        until(lambda: pauses.is_stopped(mine))
        pauses.send([mine], pauses.signal.SIGCONT, str(tmp_path))
        until(lambda: not pauses.is_stopped(mine))
        monkeypatch.setenv(pauses.VARIABLE, str(tmp_path))
        with stopped(own):  # by a test
            until(lambda: pauses.is_stopped(own))
            pauses.send([own], pauses.signal.SIGCONT, str(tmp_path))
            assert pauses.is_stopped(own)
        until(lambda: not pauses.is_stopped(own))
        assert not pauses.is_stopped(other.pid)
    finally:
        for process in (*processes, other):
            process.kill()
            process.wait()
    assert pauses.is_stopped(mine)
