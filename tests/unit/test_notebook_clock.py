"""What the notebook did itself: its account, by a clock that the test owns."""

import gc
import threading
from time import perf_counter_ns
from weakref import WeakSet

import numpy as np
import pytest

import distnb as dnb
from distnb.client.session.own_lines import OwnLines
from distnb.measure import notebook_clock
from distnb.measure.garbage import Collecting
from distnb.measure.notebook_clock import NotebookClock


class Times:
    """Time as the test has it: so long passed, and so much of it the processor worked."""

    def __init__(self, monkeypatch):
        self.now = self.worked = 1000
        monkeypatch.setattr(notebook_clock, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(notebook_clock, "thread_time_ns", lambda: self.worked)

    def pass_by(self, ns, working):
        self.now += ns
        self.worked += working


@pytest.fixture
def times(monkeypatch):
    return Times(monkeypatch)


def test_waits_are_no_computing_and_the_disk_is_apart(times):
    clock = NotebookClock()
    clock.begin()
    start = clock.read()
    times.pass_by(10, working=10)
    with clock.elsewhere():  # it looks again and again
        times.pass_by(20, working=20)
        with clock.elsewhere(disk=True):  # within a wait: one wait
            times.pass_by(1, working=1)
    times.pass_by(5, working=2)
    with clock.elsewhere(disk=True):
        times.pass_by(40, working=3)
        with clock.elsewhere():
            times.pass_by(2, working=2)
    found = clock.between(start, clock.read())
    assert (found.computed, found.disk, found.waited) == pytest.approx((12e-9, 42e-9, 21e-9))
    at = np.array([0, 10, 31, 36, 78])
    assert found.until(at).tolist() == [[0, 0], [10, 0], [10, 0], [12, 0], [12, 42]]
    assert found.moments[-1].at == times.now - start.at


@pytest.mark.tier("test")
def test_garbage_is_watched_only_while_a_window_is_open(monkeypatch):
    """Python drops a Ctrl-C that comes just as it calls who watches."""
    watching = Collecting()
    monkeypatch.setattr(notebook_clock, "_COLLECTING", watching)
    monkeypatch.setattr(notebook_clock, "_RUNNING", WeakSet())  # not those of other tests
    with dnb.inprocess(1):
        with dnb.profile():
            assert watching in gc.callbacks
            gc.collect()
        spent = watching.spent
        assert spent > 0
        dnb.ones(3).sum().item()
        assert watching not in gc.callbacks
    gc.collect()
    assert watching.spent == spent


def test_an_interrupt_of_a_wait_ends_it(times):
    clock = NotebookClock()
    clock.begin()
    start = clock.read()
    with pytest.raises(KeyboardInterrupt), clock.elsewhere():
        times.pass_by(20, working=20)
        raise KeyboardInterrupt
    times.pass_by(10, working=10)
    assert clock.between(start, clock.read()).computed == pytest.approx(10e-9)


def test_other_threads_are_not_in_it(times):
    clock, found = NotebookClock(), []
    clock.begin()
    start = clock.read()

    def other():
        with clock.elsewhere(disk=True):
            times.pass_by(20, working=20)
        found.append(clock.between(start, clock.read()))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [None]
    assert clock.between(start, clock.read()).disk == 0


def test_of_very_many_moments_the_first_are_kept(times, monkeypatch):
    monkeypatch.setattr(notebook_clock, "_MOST", 4)
    clock = NotebookClock()
    clock.begin()
    start = clock.read()
    for _ in range(10):
        times.pass_by(1, working=1)
        with clock.elsewhere():
            times.pass_by(1, working=0)
    found = clock.between(start, clock.read())
    assert (len(found.moments), found.computed) == (6, pytest.approx(10e-9))
    assert found.until(np.array([4, 20])).tolist() == [[2, 0], [10, 0]]


def test_a_wait_under_way_counts_as_gone(times):
    clock = NotebookClock()
    clock.begin()
    with clock.elsewhere():
        times.pass_by(20, working=0)
        assert clock.gone() == 20
    with clock.elsewhere(disk=True):
        times.pass_by(5, working=0)
    times.pass_by(7, working=7)
    assert clock.gone() == 25


@pytest.mark.parametrize("away", [False, True])
def test_lines_are_looked_at_until_the_end(away):
    """This thread is on one line until it was seen there; a wait for engines is no time of its own."""
    lines = OwnLines(lambda: 2 * perf_counter_ns() if away else 0, [1])
    start = perf_counter_ns()
    lines.begin(threading.get_ident())
    while len(lines._looks) < 5 and perf_counter_ns() - start < 60e9: pass  # fmt: skip # noqa: E701
    lines.end()
    found = lines.between(start, perf_counter_ns())
    if away:
        assert found == ()
        return
    (line,) = [line for line in found if "while len(lines._looks)" in line.line]
    assert line.seconds >= line.computed > 0
    assert line.seconds <= (perf_counter_ns() - start) / 1e9
    assert lines.between(0, start) == ()


@pytest.mark.tier("test")
@pytest.mark.parametrize("ended", [True, False])
def test_no_thread_looks_any_more_once_no_window_is_open(ended):
    before = looking()
    with dnb.inprocess(2) as session:
        for _ in range(3):
            window, inner = session.start_window(), session.start_window()
            (thread,) = looking() - before
            if ended:
                session.end_window(window)
                session.end_window(inner)
            del window, inner
            thread.join(30)
            assert not thread.is_alive()


def looking():
    """The threads that look at lines."""
    return {each for each in threading.enumerate() if each.name == "distnb lines"}
