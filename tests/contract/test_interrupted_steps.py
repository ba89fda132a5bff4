"""Ctrl-C before any line of distnb's by which a step is recorded: arrays are as before, or done."""

import linecache
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from distnb.common.config import config

CLIENT = str(Path(dnb.__file__).parent / "client")
pytestmark = pytest.mark.ways("one", "started")


def pressed(at, call):
    """Call, with Ctrl-C before a line of distnb's; tell whether it was over before."""
    left = at

    def trace(frame, event, arg):
        nonlocal left
        if not frame.f_code.co_filename.startswith(CLIENT):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        # Also as a with block ends a line is told of; no signal comes there, before its lock is free.
        if event == "line" and not line.startswith("with "):
            left -= 1
            if left == 0:
                sys.settrace(None)
                os.kill(os.getpid(), signal.SIGINT)
        return trace

    before = sys.gettrace(), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            sys.settrace(trace)
            call()
        finally:
            sys.settrace(before[0])
            signal.signal(signal.SIGINT, before[1])
    except KeyboardInterrupt:
        return False
    return left > 0


STEPS = {
    "read": lambda x: x * 3,
    "written": lambda x: np.add(x, 1, out=x),
    "assigned": lambda x: x.__setitem__(slice(None), 7.0),
    "sorted": lambda x: x.sort(),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("step", STEPS)
def test_engines_have_what_the_notebook_writes_next(session, step, small, monkeypatch):
    for at in range(1, 2000):
        x = dnb.arange(1000.0 if small else 200_000.0)[::-1] + 1
        x[0] = 5.0  # the notebook's
        before, after = x.to_numpy(), x.to_numpy().copy()
        STEPS[step](after)
        monkeypatch.setattr(config, "place", "engines")
        over = pressed(at, lambda x=x: STEPS[step](x))
        monkeypatch.setattr(config, "place", "auto")
        x[3] = 77.0
        before[3] = after[3] = 77.0
        monkeypatch.setattr(config, "place", "engines")
        got = (x * 1).to_numpy()
        monkeypatch.setattr(config, "place", "auto")
        assert np.array_equal(got, before) or np.array_equal(got, after), (at, got)
        np.testing.assert_array_equal(x.to_numpy(), got)
        if over:
            break
    else:
        pytest.fail("so many lines are not expected")
