"""An engine that is killed: said at once, and again; nothing waits, nothing is left."""

import contextlib
import os
import signal
import time

import numpy as np
import pytest

import distnb as dnb
from tests.failures import support
from tests.failures.support import plant, reading
from tests.marking import own_engines
from tests.stopping import stopped
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")

GONE = r"^engines: got \d alive, expected 3; close the session and call dnb.start\(\)"


@pytest.fixture
def doomed(monkeypatch):
    """A session with three engines of its own that are not replaced; no process may be left."""
    with support.setting(recover="never"), own_engines(3, monkeypatch) as session:
        yield session


def kill(session, rank):
    os.kill(session.transport.about[rank]["pid"], signal.SIGKILL)


def refused(use):
    with pytest.raises(dnb.EngineError, match="alive, expected 3"):
        use()


def check_dead(session, array):
    """Whatever is done with the session says so."""
    for use in (
        *(array.to_numpy, array.sum, lambda: array + 1, lambda: dnb.zeros(3), array.copy),
        *(lambda: array.__setitem__(0, 1), session.start_window, lambda: dnb.array([1, 2])),
    ):
        refused(use)
    assert "engines gone" in repr(session)
    assert "content" not in repr(array)
    session.flush()
    session.close()
    with pytest.raises(dnb.SessionError):
        array.to_numpy()


@pytest.mark.ways("openmpi")
def test_while_engines_work(doomed, gate):
    x = dnb.ones(9)
    doomed.flush()
    plant(doomed, 1, "name == 'Reduce'", gate.stand)
    total = x.sum()
    doomed.send()
    until(gate.come)
    kill(doomed, 1)
    with pytest.raises(dnb.EngineError, match=GONE) as raised:
        total.item()
    cause = raised.value.__cause__  # none if it was heard of before anybody waited
    assert cause is None or "died" in str(cause)
    check_dead(doomed, x)


@pytest.mark.tier("test-all")
def test_in_a_measured_window(doomed):
    x = dnb.ones(9)
    doomed.flush()
    with pytest.raises(dnb.EngineError, match=GONE), dnb.profile() as report:
        kill(doomed, 2)
        while True:
            x.sum().item()
            time.sleep(0.01)
    with pytest.raises(AttributeError, match="did not answer"):
        _ = report.wall
    assert "did not answer" in repr(report)
    with dnb.start(3, beside=True):
        assert dnb.arange(10).sum().item() == 45


@pytest.mark.tier("test-all")
def test_while_nobody_works(doomed):
    x = dnb.ones(9)
    doomed.flush()
    kill(doomed, 0)
    with pytest.raises(dnb.EngineError, match=GONE):
        while True:
            (x + 1).sum().item()
            time.sleep(0.01)
    with pytest.raises(dnb.EngineError, match=GONE):
        x.to_numpy()


@pytest.mark.tier("test-all")
@pytest.mark.cases(1)
@pytest.mark.parametrize("what", ["a batch", "a function", "close"])
def test_that_is_told_of_while_a_message_is_sent(doomed, monkeypatch, what):
    """ipyparallel gives up what a dead engine was sent before it knew, but not what comes then."""
    client = doomed.transport.client
    with support.setting(road="ipyparallel"):
        session = dnb.connect(client=client)
    x = dnb.array(np.arange(9.0), session=session)
    session.flush()
    send = client.send_apply_request

    def late(*args, **kwargs):
        if doomed.transport.alive():
            kill(doomed, 1)
            until(lambda: not doomed.transport.alive())
        return send(*args, **kwargs)

    monkeypatch.setattr(client, "send_apply_request", late)
    if what != "close":
        with pytest.raises(dnb.EngineError, match=GONE):
            (x + 1 if what == "a batch" else dnb.map(lambda v: v * 3, x)).to_numpy()
    session.close()


@pytest.mark.tier("test-all")
def test_with_ctrl_c_at_the_same_time_and_close_hears_of_it(doomed, gate):
    x = dnb.ones(9)
    doomed.flush()
    plant(doomed, 1, "name == 'Reduce'", gate.stand)
    total = x.sum()
    doomed.send()
    until(gate.come)
    kill(doomed, 2)
    with pytest.raises((dnb.EngineError, KeyboardInterrupt)):
        os.kill(os.getpid(), signal.SIGINT)
        total.item()
    with contextlib.suppress(dnb.EngineError):
        x += 1
    doomed.close()
    assert repr(doomed).startswith("<distnb session: closed")


def test_an_engine_that_stands_still_for_a_while(cluster):
    x = dnb.arange(9.0)
    cluster.flush()
    pid = cluster.transport.about[1]["pid"]
    with stopped(pid), support.setting(timeout=0.5), pytest.raises(TimeoutError):
        x.sum().item()
    assert x.sum().item() == 36
    np.testing.assert_array_equal((x[1:] + x[:-1]).to_numpy(), np.arange(9.0)[1:] * 2 - 1)
    assert reading(x) is None
