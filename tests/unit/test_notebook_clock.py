"""What the notebook did itself: its account, by a clock that the test owns."""

import threading

import numpy as np
import pytest

from distnb.measure import notebook_clock
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
