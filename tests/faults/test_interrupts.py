"""Ctrl-C that comes twice, late, to functions that catch it, and to engines that do not answer."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import distnb as dnb
from distnb.client.batching import connection
from tests import tiers
from tests.failures import support
from tests.failures.support import plant
from tests.interrupting import CtrlC
from tests.stopping import stopped
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")

#: Trials, of which one in fifty hung before stops said what they were for.
TRIALS = "400" if tiers.TIER == "test-all" else "25"


@pytest.mark.timeout(400)
@pytest.mark.ways("openmpi")
def test_several_close_together(monkeypatch):
    """In a process of its own: what comes between two steps of a test would end pytest."""
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    command = [sys.executable, "-m", "tests.faults.storm", TRIALS]
    found = subprocess.run(command, capture_output=True, text=True, cwd=support.ROOT, check=False)
    assert found.stdout == "all is well\n", found.stdout + found.stderr


def test_a_stop_that_comes_late_stops_nothing_else(cluster, gate):
    x = dnb.arange(9.0)
    cluster.flush()
    old = cluster.batches
    plant(cluster, 1, "name == 'Reduce'", gate.stand)
    total = x.sum()
    cluster.send()
    until(gate.come)
    cluster.transport.sockets.monitor.stop(cluster.transport._session, old)
    until(lambda: not cluster.transport.sockets.monitor.silent(3))
    gate.open()
    assert total.item() == 36


def test_an_engine_that_gave_up_unasked_lets_the_others_go_on(cluster, monkeypatch, gate):
    """One that a stray signal meets on the way into an epoch comes along all the same."""
    monkeypatch.setattr(connection, "_LAST", 0.1)
    x = dnb.arange(9.0)
    cluster.flush()
    plant(cluster, 1, "name == 'Reduce'", gate.stand)
    total = x.sum()
    with CtrlC(0.2, after=gate.come):
        total.item()
    client = cluster.transport.client
    noise = threading.Event()

    def disturb():
        while not noise.wait(0.005):
            client.send_signal(signal.SIGUSR2, 1, block=False)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(10):
            with contextlib.suppress(KeyboardInterrupt):
                assert x.sum().item() == 36
    finally:
        noise.set()
        thread.join()
    time.sleep(0.1)
    plant(cluster, 1, "False", "None")
    while True:
        try:
            assert x.sum().item() == 36
            break
        except KeyboardInterrupt:
            pass


def told(function, say):
    """Return a function that says on an engine that it begins with elements."""

    def begins(v):
        if v.size:
            exec(say)
        return function(v)

    return begins


def catches_in_a_loop(v):
    if not v.size:
        return v
    while True:
        try:  # noqa: SIM105
            time.sleep(100)
        except:  # noqa: E722
            pass


def catches_and_returns(v):
    if not v.size:
        return v
    try:  # noqa: SIM105
        time.sleep(100)
    except BaseException:
        pass
    return v


def catches_at_every_depth(v):
    if not v.size:
        return v

    def deep(n):
        try:
            return deep(n - 1) if n else time.sleep(100)
        except:  # noqa: E722
            time.sleep(0.01)
            return 1

    while deep(20):
        pass
    return None


def computes_and_catches(v):
    if not v.size:
        return v
    while True:
        try:
            try:
                sum(range(1000))
            finally:
                try:
                    raise ValueError
                except ValueError:
                    pass
        except BaseException as error:
            str(error)


def makes_an_error_of_it(v):
    if not v.size:
        return v
    try:
        time.sleep(100)
    except BaseException as error:
        raise RuntimeError("Error calling __set_name__") from error


@pytest.mark.ways("openmpi")
@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "function",
    [
        catches_in_a_loop,
        makes_an_error_of_it,
        catches_at_every_depth,
        catches_and_returns,
        computes_and_catches,
    ],
)
def test_functions_that_catch_everything(cluster, function, gate):
    x = dnb.arange(9.0, dist="block")
    cluster.flush()
    for _ in range(2):
        gate.shut()
        found = dnb.map(told(function, gate.say), x)
        with CtrlC(0.3, after=gate.come):
            found.to_numpy()
        assert x.sum().item() == 36  # nobody waits for the function again
        del found


@contextlib.contextmanager
def patience(session, seconds):
    """Let functions of a session's engines have so long to tidy up."""
    code = "import distnb.common.insistence as i\nfound, i._PATIENCE = i._PATIENCE, {}"
    before = support.everywhere(session, code.format(seconds))
    try:
        yield
    finally:
        support.everywhere(session, code.format(before[0]))


def test_a_function_tidies_up(cluster, tmp_path, gate):
    """What does not catch an interrupt has its time to end in order."""
    note, say = str(tmp_path / "tidied"), gate.say

    def tidies(v):
        if not v.size:
            return v
        try:
            exec(say)
            time.sleep(100)
        finally:
            time.sleep(0.05)
            open(note, "w").close()
        return v

    x = dnb.arange(9.0, dist="block")
    with patience(cluster, 60.0):  # for one that is kept from its work
        found = dnb.map(tidies, x)
        with CtrlC(0.3, after=gate.come):
            found.to_numpy()
        until(lambda: os.path.exists(note))


@pytest.mark.ways("openmpi")
def test_an_engine_that_is_stopped_and_goes_on(cluster, monkeypatch):
    x, kept = dnb.arange(9.0), dnb.ones(5)
    cluster.flush()
    said, waits, wait = [], threading.Event(), cluster.connection.wait
    monkeypatch.setattr(cluster.connection, "wait", lambda: (waits.set(), wait()))
    with stopped(cluster.transport.about[1]["pid"]):
        while not said or not said[-1].startswith("engine 1: got no answer"):
            waits.clear()
            with CtrlC(0.2, after=waits.is_set):
                try:
                    x.sum().item()
                except KeyboardInterrupt as interrupt:
                    said.append(str(interrupt))
                    raise
            # The others may be late to answer, too.
            assert re.match(r"engines? (0, )?1(, 2)?: got no answer", said[-1])
            assert not cluster.waits  # a cell that needs no engine does not wait for one
    assert x.sum().item() == 36
    np.testing.assert_array_equal((x[1:] + x[:-1]).to_numpy(), np.arange(9.0)[1:] * 2 - 1)
    np.testing.assert_array_equal(kept.to_numpy(), np.ones(5))
