"""Where loops come round again: batches of 1, 2, 4, ... whole rounds, whatever comes before."""

import itertools

import pytest

from distnb.client.batching.budget import Budget
from distnb.client.batching.lead import Lead
from distnb.client.batching.rounds import Rounds, missing, period
from distnb.geometry.views import View
from distnb.wire.protocol import Apply, Operand


@pytest.mark.parametrize("length", range(1, 7))
def test_a_round_is_found_however_much_of_it_has_come(length):
    for round_ in itertools.product("ab", repeat=length):
        smallest = next(
            n for n in range(1, length + 1) if [*round_] == [round_[i % n] for i in range(length)]
        )
        if length % smallest:
            continue  # its repetition is another one's
        for n in range(4 * length, 6 * length):
            marks = [round_[i % length] for i in range(n)]
            found, covered = period(marks)
            assert (found, covered) == (smallest, n)
            ends = n + missing(length, n)
            assert ends % length == 0
            assert (ends // length) & (ends // length - 1) == 0


def test_nothing_comes_round_in_what_is_different():
    assert period("abcdefgh") == (0, 0)
    assert period("") == (0, 0)
    assert period("a") == (0, 0)
    assert period("zzabcc") == (0, 0)  # twice the same, once


def loop(turns, ops="add multiply add"):
    """Operations of a loop: each makes a base that the next one reads."""
    handle = 1
    for _ in range(turns):
        for op in ops.split():
            read, made = (Operand(h, View.whole((3,))) for h in (handle, handle + 1))
            yield Apply(op, (made,), (read, 1), None, (), 5)
            handle += 1


@pytest.mark.parametrize("enough", range(2, 40))
def test_batches_end_where_a_round_does(enough):
    rounds = Rounds(lambda count: count / enough)
    pending, sizes = [], []
    for command in loop(200):
        pending.append(command)
        if len(pending) >= rounds.look and rounds.is_full(len(pending), (command,), pending):
            sizes.append(len(pending))
            pending.clear()
            rounds.look, rounds.wanted = rounds.first, 0
    later = sizes[3:]
    assert {size % 3 for size in later} == {0}
    assert {(n & (n - 1)) for n in (size // 3 for size in later)} == {0}
    assert all(enough <= size <= max(3, 3 * enough) for size in later)


def test_where_nothing_comes_round_more_is_waited_for_but_not_for_ever():
    rounds = Rounds(lambda count: count / 10)
    pending = []
    for i in range(100):
        command = Apply(f"op{i}", (), (), None, (), i)
        pending.append(command)
        if len(pending) >= rounds.look and rounds.is_full(len(pending), (command,), pending):
            break
    assert 40 <= len(pending) <= 50


def test_without_a_measure_a_batch_has_never_enough():
    assert Rounds(None).look > 10**9


def test_one_slow_batch_does_not_count():
    lead = Lead(Budget(0))
    work = 10, 10**6
    assert 0.01 < lead.seconds(*work) < 0.1  # nothing is known
    lead.learn(*work, 1.0)
    assert lead.seconds(*work) == pytest.approx(1.0)
    lead.learn(*work, 1.1)
    assert lead.seconds(*work) == pytest.approx(1.0)
    assert lead.slow
    lead.learn(*work, 0.001)
    assert lead.seconds(*work) == pytest.approx(0.001)
    assert not lead.slow
    assert lead.seconds(10, 10**9) == pytest.approx(0.1)  # unlike the last: its bytes count


def test_what_is_made_is_the_next_batch_s():
    budget = Budget(0)
    lead = Lead(budget)
    budget.work += 10**10
    assert lead.filled(3) == pytest.approx(10)
    lead.sent = budget.work
    assert lead.filled(3) < 0.1
