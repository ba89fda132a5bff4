"""Engines are asked while they work; they answer no stranger; when they die or stop it is seen."""

import os
import signal
import threading
import time
from collections import Counter

import pytest

import distnb as dnb
from distnb.client.transport import launch
from distnb.widgets.status.dashboard import Dashboard
from tests.failures import support

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def engines():
    """A session on two engines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTNB_ALLOW_ROOT", "1")
        path = [str(support.ROOT), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
        session = dnb.start(2)
    with session:
        yield session


def looks_while(session, work, pause=0.05):
    """Return what another thread sees of a session while ``work()`` runs here."""
    seen, ended = [], threading.Event()

    def watch():
        while not ended.wait(pause):
            seen.append(session.live())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        ended.set()
        watcher.join()
    return seen


def slow_loop(session, seconds):
    """Run commands that take so long in all on engine 1, in one batch."""
    x = dnb.zeros(8, session=session)
    do = f"time.sleep({seconds / 21})"
    with support.planted(session, 1, "True", do, times=1000):
        for _ in range(10):
            x[...] = x[::-1].copy() + 1
        x.to_numpy()


def test_a_batch_of_two_seconds_is_seen_moving(engines):
    looks = looks_while(engines, lambda: slow_loop(engines, 2.0))
    lefts = [live.engines[1].left for live in looks]
    assert len(set(lefts)) > 5
    behind = [live for live in looks if live.slowest is not None]
    assert behind
    # Engines answer one after the other; on a busy machine one that is level may look behind.
    seen = Counter(live.slowest.rank for live in behind)
    assert seen[1] > seen[0]
    assert any("x[...] = x[::-1]" in live.running for live in behind)
    first, last = looks[0].engines[0].sample, looks[-1].engines[0].sample
    assert sum(last.account.since(first.account).spent) == last.account.now - first.account.now


def test_sessions_are_told_apart(engines):
    with dnb.connect(client=engines.transport.client) as other:
        x = dnb.zeros(1 << 16, session=other)
        other.flush()
        assert [e.sample.held for e in other.live().engines] == [1 << 18] * 2
        assert all(e.sample.held < 1 << 18 for e in engines.live().engines)
        del x
    assert engines.live().engines[0].sample is not None


def test_without_sockets_there_is_what_the_client_knows(engines):
    before, dnb.config.road = dnb.config.road, "ipyparallel"
    try:
        with dnb.connect(client=engines.transport.client) as other:
            dnb.zeros(10, session=other).sum().item()
            live = other.live()
            assert live.road == "ipyparallel"
            assert [(e.state, e.left, e.sample) for e in live.engines] == [("alive", 0, None)] * 2
            board = Dashboard(other)
            assert "?" in repr(board)
            board.close()
    finally:
        dnb.config.road = before


@pytest.fixture
def doomed(monkeypatch):
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    session = dnb.start(2)
    yield session
    session.close()


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def names_of(kind):
    return [t.name for t in threading.enumerate() if t.name.startswith(f"distnb-{kind}")]


def test_an_engine_that_stops_is_silent_and_one_that_is_killed_is_dead(doomed, capfd):
    board = Dashboard(doomed)
    pid = doomed.transport.about[1]["pid"]

    def states():
        return [e.state for e in doomed.live().engines]

    assert states() == ["alive", "alive"]
    os.kill(pid, signal.SIGSTOP)
    until(lambda: states()[1].startswith("silent for "))
    assert states()[0] == "alive"
    until(lambda: "engine 1 is silent for" in board._health.value)
    os.kill(pid, signal.SIGCONT)
    until(lambda: states() == ["alive", "alive"])
    os.kill(pid, signal.SIGKILL)
    until(lambda: states()[1] == "dead")
    until(lambda: "dead: close the session and call dnb.start()" in board._health.value)
    doomed.close()
    until(lambda: board.closed)
    until(lambda: not names_of("dashboard"))
    assert "Traceback" not in capfd.readouterr().err


def test_closing_leaves_no_threads_on_engines(engines):
    import ipyparallel

    client = engines.transport.client
    code = "import threading; found = [t.name for t in threading.enumerate()]"

    def monitors():
        client[:].execute(code, block=True)
        return [names.count("distnb-monitor") for names in client[:].pull("found", block=True)]

    before = monitors()
    folder = engines._owner._watchdog.folder
    file = launch._connection_file(folder, folder.name)
    with ipyparallel.Client(file) as made, dnb.connect(client=made) as session:
        assert session.transport.kind == "direct sockets"
        session.live()
        assert monitors() == [n + 1 for n in before]
    assert monitors() == before
