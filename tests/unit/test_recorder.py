"""The pending batch, without a session."""

import pytest

from distnb.client.recorder import Recorder
from distnb.protocol import Describe, Free


@pytest.fixture
def recorder():
    made = Recorder(2, lambda idle=False: None, timed=False)
    yield made
    made.close()


def test_last_commands_are_taken_back(recorder):
    first, second, third = (Describe(slot, "x") for slot in range(3))
    recorder.add(first, second, third)
    assert recorder.last(2) == (second, third)
    assert not recorder.retract((first, second))
    assert recorder.retract((second, third))
    assert recorder.recorded == 1
    assert recorder.take()[0] == (first,)


def test_deletions_between_them_make_no_difference(recorder):
    """Under SPMD they may come at other places on other ranks, which must do the same."""
    first, second, third = (Describe(slot, "x") for slot in range(3))
    recorder.add(first)
    recorder.delete(7)
    recorder.add(second)
    recorder.delete(8)
    recorder.add(third)
    recorder.delete(9)
    assert recorder.last(2) == (second, third)
    assert recorder.retract((second, third))
    assert recorder.take()[0] == (first, Free((7,)), Free((8,)), Free((9,)))


def test_what_was_sent_is_not_taken_back(recorder):
    command = Describe(1, "x")
    recorder.add(command)
    recorder.take()
    recorder.delete(1)
    recorder.add(Describe(2, "x"))
    assert not recorder.retract((command,))
    assert not recorder.retract((command, Describe(2, "x")))
