"""What belongs to a cluster ends: all of it does, is told within moments, and a new one starts."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import distnb as dnb
from distnb.common import leftovers
from tests.failures import support
from tests.faults.processes import below, controllers_of, launchers_of, watchdog_of
from tests.marking import own_engines

pytestmark = [pytest.mark.usefixtures("interruptible"), pytest.mark.tier("test-all")]


def engine_of(session):
    return session.transport.about[0]["pid"]


#: What is killed, in this order.
KILLED = {
    "watchdog": lambda s: [watchdog_of(s)],
    "controller": lambda s: controllers_of(s),
    "controller, then an engine": lambda s: [*controllers_of(s), engine_of(s)],
    "launcher": lambda s: launchers_of(s),
    "engine": lambda s: [engine_of(s)],
}


@pytest.mark.ways("openmpi")
@pytest.mark.parametrize("what", KILLED)
def test_all_ends_and_says_so(monkeypatch, what):
    with support.setting(recover="never"), own_engines(2, monkeypatch) as doomed:
        all_ends(doomed, what)


def all_ends(doomed, what):
    x = dnb.ones(9)
    doomed.flush()
    for pid in KILLED[what](doomed):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(dnb.EngineError, match=r"got \d alive, expected 2; close the session"):
        while True:
            x.sum().item()
            time.sleep(0.01)
    for use in (x.to_numpy, lambda: dnb.ones(3), lambda: dnb.map(lambda v: v, x)):
        with pytest.raises(dnb.EngineError):
            use()
    doomed.close()
    with dnb.start(2, beside=True):
        assert dnb.arange(10).sum().item() == 45


@pytest.mark.ways("openmpi")
@pytest.mark.parametrize("what", KILLED)
def test_arrays_outlive_all_of_it(monkeypatch, what):
    with own_engines(2, monkeypatch) as session:
        x = dnb.arange(10_000.0)
        x += 1
        session.flush()
        before = session.transport.about
        for pid in KILLED[what](session):
            os.kill(pid, signal.SIGKILL)
        while session.transport.about is before:
            assert x.sum().item() == 50_005_000
            time.sleep(0.01)
        assert dnb.map(lambda v: v + 1, x).sum().item() == 50_015_000
        pids = [about["pid"] for about in session.transport.about]
        assert session.transport.client[:].apply_sync(os.getpid) == pids
        assert session.transport.alive()
        assert session.transport.turns._looks  # others may come to these


# Security


def listening(pids):
    """Return the addresses on which processes listen by TCP."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes.add(os.readlink(link))
            except OSError:
                continue
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return [r[1] for r in rows if r[3] == "0A" and f"socket:[{r[9]}]" in inodes]


def test_all_listens_on_loopback_only(doomed):
    found = listening(below(watchdog_of(doomed)))
    assert len(found) > 10
    assert {address.partition(":")[0] for address in found} == {"0100007F"}


STRANGER = """
import sys, time, zmq
context = zmq.Context()
got = []
for port in sys.argv[1:]:
    for kind in (zmq.SUB, zmq.DEALER):
        socket = context.socket(kind)
        if kind == zmq.SUB:
            socket.subscribe(b"")
        socket.linger = 0
        socket.connect(f"tcp://127.0.0.1:{port}")
        got.append(socket)
print("ready", flush=True)
end = time.monotonic() + 3
while time.monotonic() < end:
    for socket in got:
        if socket.type == zmq.DEALER:
            try:
                socket.send_multipart([b"<IDS|MSG>", b"", b"{}", b"{}", b"{}", b"{}"], zmq.NOBLOCK)
            except zmq.Again:
                pass
        while socket.poll(0):
            print("READ", socket.recv_multipart())
    time.sleep(0.01)
print("end")
context.destroy(linger=0)
"""


def test_a_stranger_on_this_host_reads_nothing(doomed):
    """One who may connect, as any user of the machine may, but has no key."""
    ports = [str(int(a.partition(":")[2], 16)) for a in listening(below(watchdog_of(doomed)))]
    command = [sys.executable, "-c", STRANGER, *ports]
    client = doomed.transport.client
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout.readline() == "ready\n"
        while stranger.poll() is None:
            client[:].execute("secret = 'this is secret'; print(secret)", block=True)
            time.sleep(0.05)
        assert stranger.stdout.read() == "end\n"
    assert client[:].apply_sync(os.getpid) == [a["pid"] for a in doomed.transport.about]
    assert dnb.arange(10).sum().item() == 45


# What killed processes leave


def ended():
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_leftovers_go_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = leftovers.own_folder()
    old = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{ended()}-"))
    old.mkdir()
    (old / "some.log").touch()
    other = tmp_path / "distnb-work"
    other.mkdir()
    leftovers.sweep()
    assert mine.exists()
    assert other.exists()
    assert not old.exists()


def test_a_killed_notebook_and_watchdog_leave_nothing_for_long(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    code = "import distnb, os, time; s = distnb.start(2); print(s._owner._watchdog.process.pid, flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=support.ROOT
    ) as p:
        watchdog = int(p.stdout.readline())
        everyone = below(p.pid)
        os.kill(watchdog, signal.SIGKILL)
        p.kill()
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in everyone):
        time.sleep(0.05)
    assert list(tmp_path.glob("distnb-*"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    leftovers.sweep()
    assert not list(tmp_path.glob("distnb-*"))
