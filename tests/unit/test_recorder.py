"""The pending batch, without a session."""

import sys

import pytest

from distnb.client.batching.recorder import Recorder
from distnb.geometry.layout import default_layout
from distnb.wire.protocol import Ask, Create, Free


@pytest.fixture(params=[None, lambda count: 0.0], ids=["untimed", "timed"])
def recorder(request):
    made = Recorder(2, lambda idle=False: None, lambda: None, request.param)
    yield made
    made.close()


def test_deletions_come_after_what_was_recorded_before(recorder):
    first, second, third = (Ask(slot, "describe", ("x",)) for slot in range(3))
    recorder.add(first)
    recorder.delete(7)
    recorder.add(second, third)
    recorder.delete(8)
    recorder.delete(9)
    assert recorder.recorded == 3
    assert recorder.take()[0] == (first, Free((7,)), second, third, Free((8, 9)))
    assert recorder.take()[0] == ()


@pytest.mark.parametrize("how", [("fill", 1.0), ("empty",)])
def test_what_was_filled_last_and_is_not_used_is_not_made(recorder, how):
    create = Create(7, (4,), "<f8", default_layout((4,), 2), how, 0)
    recorder.add(create)
    recorder.delete(7)
    made = () if recorder.timed and how[0] == "fill" else (create, Free((7,)))
    assert recorder.take()[0] == made


def test_ctrl_c_between_any_two_instructions_loses_no_deletion(recorder):
    """Nor is anything deleted twice, or recorded and not counted as waiting."""
    command = Ask(0, "describe", ("x",))
    for at in range(400):
        recorder.take()
        handles = tuple(range(10 * at + 1, 10 * at + 7))
        for handle in handles:
            recorder.delete(handle)
        done = interrupted(at, lambda: recorder.add(command))
        pending = sum(type(c) is Ask for c in recorder._commands)
        assert recorder.waiting >= pending
        recorder.delete(10 * at + 7)
        recorder.add(command)
        commands, _ = recorder.take()
        freed = [h for c in commands if type(c) is Free for h in c.bases]
        assert freed == [*handles, 10 * at + 7], at
        if done:
            break
    else:
        pytest.fail("so many instructions are not expected")


def interrupted(at, call):
    """Call, with Ctrl-C before one of the recorder's instructions; tell whether it was over before."""
    left = at

    def trace(frame, event, arg):
        nonlocal left
        if not frame.f_code.co_filename.endswith("recorder.py"):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True
