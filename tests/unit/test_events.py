"""Every instant is booked once, and sums of records are what the records say."""

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distnb.measure import events
from distnb.measure.events import (
    CLASSES,
    COMPUTE,
    IDLE,
    OVERHEAD,
    TRANSFER,
    WAITING,
    Account,
    Clock,
    CommandTime,
    OpTime,
    Report,
    clock_name,
    imbalance,
)


class Hand:
    """A clock hand that tests turn."""

    def __init__(self):
        self.now = 1000

    def __call__(self):
        return self.now


@pytest.fixture
def hand(monkeypatch):
    made = Hand()
    monkeypatch.setattr(events, "perf_counter_ns", made)
    monkeypatch.setattr(events, "delayed", lambda: 0)  # what the system says goes on by itself
    return made


def test_classes():
    assert len(CLASSES) == 5
    assert sorted((COMPUTE, WAITING, TRANSFER, OVERHEAD, IDLE)) == list(range(5))
    assert CLASSES[COMPUTE] == "compute"
    assert CLASSES[IDLE] == "idle"


def test_a_clock_books_to_the_class_it_is_in(hand):
    clock = Clock()
    hand.now += 5
    assert clock.switch(COMPUTE) == IDLE
    hand.now += 7
    assert clock.switch(WAITING) == COMPUTE
    hand.now += 11
    assert clock.switch(COMPUTE) == WAITING
    hand.now += 13
    account = clock.read()
    assert account.spent == (20, 11, 0, 0, 5)
    assert account.now == 1036
    assert clock.current == COMPUTE


def test_reading_changes_nothing(hand):
    clock = Clock()
    clock.switch(TRANSFER)
    hand.now += 4
    one, two = clock.read(), clock.read()
    assert one == two
    hand.now += 6
    assert clock.read().since(one).spent == (0, 0, 6, 0, 0)


STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10**12)), max_size=30)


@given(STEPS, STEPS)
def test_the_classes_add_up_to_the_wall_time(first, second):
    hand = Hand()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "perf_counter_ns", hand)
        clock = Clock()
        start = clock.read()
        accounts = []
        for steps in (first, second):
            for to, wait in steps:
                clock.switch(to)
                hand.now += wait
            accounts.append(clock.read())
    one, two = accounts
    assert sum(one.spent) - sum(start.spent) == one.now - start.now
    assert sum(two.since(one).spent) == two.since(one).now == sum(wait for _, wait in second)
    assert two.since(start).now == one.since(start).now + two.since(one).now
    for cls in range(5):
        assert two.since(one).spent[cls] == sum(w for to, w in second if to == cls) + 0
        # what was current before the first switch of a window lasted no time at all


def test_the_identity_holds_for_real_time():
    clock = Clock()
    at = [time.perf_counter_ns()]
    before = clock.read()
    at.append(time.perf_counter_ns())
    for n in range(200):
        clock.switch(n % 5)
        sum(range(n))
    at.append(time.perf_counter_ns())
    after = clock.read()
    at.append(time.perf_counter_ns())
    window = after.since(before)
    assert sum(window.spent) == window.now
    assert at[2] - at[1] <= window.now <= at[3] - at[0]
    assert min(window.spent) > 0


def test_accounts_count_messages():
    clock = Clock()
    before = clock.read()
    clock.messages += 3
    clock.bytes += 700
    window = clock.read().since(before)
    assert (window.messages, window.bytes) == (3, 700)


def test_accounts_say_who_was_waited_for_and_what_was_sent():
    clock = Clock()
    clock.waited(2, 30)
    clock.send(1, 100)
    before = clock.read()
    assert (before.waits, before.sent) == (((2, 30),), ((1, 1, 100),))
    clock.waited(2, 5)
    clock.waited(0, 7)
    clock.send(1, 8, in_place=1000)
    clock.touched += 64
    window = clock.read().since(before)
    assert window.waits == ((0, 7), (2, 5))
    assert window.sent == ((1, 1, 1000),)
    # what is read in place counts as what it is, and not as the message that says where it is
    assert (window.messages, window.bytes, window.touched) == (1, 1000, 64)
    assert window.in_place == 1000


def test_peers_are_those_since_they_were_forgotten():
    clock = Clock()
    clock.waited(1, 3)
    clock.waited(1, 4)
    clock.send(0, 9)
    assert (clock.waits, clock.sent) == ({1: 7}, {0: (1, 9)})
    clock.forget_peers()
    clock.waited(2, 1)
    assert (clock.waits, clock.sent) == ({2: 1}, {})
    assert clock.read().waits == ((1, 7), (2, 1))


def test_processes_of_a_host_name_the_same_clock():
    code = "from distnb.measure.events import clock_name; print(clock_name())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == clock_name() != ""


def test_switching_is_one_look_at_the_time_and_keeps_nothing(monkeypatch):
    looks = iter(range(10_000))
    clock = Clock()
    monkeypatch.setattr(events, "perf_counter_ns", looks.__next__)
    blocks = sys.getallocatedblocks()
    for _ in range(10_000):
        clock.switch(COMPUTE)
    assert list(looks) == []
    assert sys.getallocatedblocks() - blocks < 100


# -- sums --------------------------------------------------------------------------------------


def test_imbalance():
    assert imbalance([5, 5, 5]) == 1.0
    assert imbalance([4, 0]) == 2.0
    assert imbalance([0, 0]) == 1.0
    assert imbalance([7]) == 1.0
    one, two = CommandTime(30, 0, 0, 0, 0, 0), CommandTime(10, 99, 99, 99, 9, 9)
    assert OpTime("add", "", 1, (one, two)).imbalance == 1.5


def test_reports():
    engines = (
        Account(100, (60, 10, 10, 10, 10), 2, 64),
        Account(100, (20, 40, 10, 10, 20), 0, 0),
    )
    report = Report(1e-7, engines, (), 5, 1)
    assert report.imbalance == 1.5
    assert report.share(COMPUTE) == 0.4
    assert sum(report.share(cls) for cls in range(5)) == pytest.approx(1)
    assert Report(0.0, (), (), 0, 0).share(COMPUTE) == 0.0
