"""The pending batch, without a session."""

import pytest

from distnb.client.batching.recorder import Recorder
from distnb.geometry.layout import default_layout
from distnb.wire.protocol import Ask, Create, Free


@pytest.fixture(params=[False, True], ids=["untimed", "timed"])
def recorder(request):
    made = Recorder(2, lambda idle=False: None, lambda: None, timed=request.param)
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
