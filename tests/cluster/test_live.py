"""Engines are asked while they work; they answer no stranger; when they die or stop it is seen."""

import os
import signal
import threading
from collections import Counter

import pytest

import distnb as dnb
from distnb.client.transport import joining
from distnb.widgets.status.dashboard import Dashboard
from tests.failures import support
from tests.stopping import stopped
from tests.waiting import until


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


def is_seen_moving(looks):
    behind = [live for live in looks if live.slowest is not None]
    # Engines answer one after the other; on a busy machine one that is level may look behind.
    seen = Counter(live.slowest.rank for live in behind)
    moves = len({live.engines[1].left for live in looks}) > 5 and seen[1] > seen[0]
    return moves and any("x[...] = x[::-1]" in live.running for live in behind)


def test_a_batch_of_two_seconds_is_seen_moving(engines):
    looks = []
    while not is_seen_moving(looks):  # looks may come late
        looks = looks_while(engines, lambda: slow_loop(engines, 2.0))
    first, last = looks[0].engines[0].sample, looks[-1].engines[0].sample
    assert sum(last.account.since(first.account).spent) == last.account.now - first.account.now


def test_sessions_are_told_apart(engines):
    with dnb.connect(client=engines.transport.client) as other:
        per = 1 << 18
        x = dnb.zeros(3 * per // 8, session=other)
        other.flush()
        assert [e.sample.held for e in other.live(60).engines] == [per] * 3
        assert all(e.sample.held < per for e in engines.live(60).engines)
        del x
    assert engines.live(60).engines[0].sample is not None


def test_without_sockets_there_is_what_the_client_knows(engines):
    before, dnb.config.road = dnb.config.road, "ipyparallel"
    try:
        with dnb.connect(client=engines.transport.client) as other:
            dnb.zeros(10, session=other).sum().item()
            live = other.live()
            assert live.road == "ipyparallel"
            assert [(e.state, e.left, e.sample) for e in live.engines] == [("alive", 0, None)] * 3
            board = Dashboard(other)
            assert "?" in repr(board)
            board.close()
    finally:
        dnb.config.road = before


@pytest.fixture
def doomed(monkeypatch):
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    session = dnb.start(2, beside=True)
    yield session
    session.close()


def names_of(kind):
    return [t.name for t in threading.enumerate() if t.name.startswith(f"distnb-{kind}")]


def test_an_engine_that_stops_is_silent_and_one_that_is_killed_is_dead(doomed, capfd, monkeypatch):
    board = Dashboard(doomed)
    pid = doomed.transport.about[1]["pid"]

    def states():
        return [e.state for e in doomed.live().engines]

    until(lambda: states() == ["alive", "alive"])
    with stopped(pid):
        until(lambda: states()[1].startswith("silent for "))
        until(lambda: states()[0] == "alive")
        until(lambda: "engine 1 is silent for" in board._board.engines)
    until(lambda: states() == ["alive", "alive"])
    monkeypatch.setattr(dnb.config, "recover", "ask")  # else new ones start at once
    os.kill(pid, signal.SIGKILL)
    until(lambda: states()[1] == "dead")
    until(lambda: "dead: session.recover() starts new ones" in board._board.engines)
    monkeypatch.setattr(dnb.config, "recover", "never")  # too late: arrays can still be had
    assert doomed.live().recover == "ask"
    doomed.connection.keeps = False
    until(lambda: "dead: close the session and call dnb.start()" in board._board.engines)
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
    file = joining.connection_file(folder, folder.name)
    with ipyparallel.Client(file) as made, dnb.connect(client=made) as session:
        assert session.transport.kind == "direct sockets"
        session.live()
        assert monitors() == [n + 1 for n in before]
    assert monitors() == before


def test_engines_load_what_transforms_take_before_there_is_one(engines):
    view = engines.transport.client[:]

    def loaded():
        view.execute("import sys; found = 'scipy.fft' in sys.modules", block=True)
        return all(view.pull("found", block=True))

    until(loaded)
