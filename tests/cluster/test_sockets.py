"""Batches take sockets of their own, guarded, in order with ipyparallel's messages; or ipyparallel."""

import contextlib
import gc
import socket
import time
from pathlib import Path

import ipyparallel
import numpy as np
import pytest
import zmq

import distnb as dnb
from distnb.client.transport import client_hooks, joining, socket_transport
from distnb.client.transport.socket_client import SocketClient
from distnb.widgets.status.status import Status
from distnb.wire.stream import Stream


@pytest.fixture
def client(engines):
    return engines.transport.client


@contextlib.contextmanager
def another(client, road="direct"):
    """Another session on the engines."""
    before, dnb.config.road = dnb.config.road, road
    try:
        with dnb.connect(client=client) as session:
            yield session
    finally:
        dnb.config.road = before


def works(session):
    x = dnb.arange(20.0, session=session)
    np.testing.assert_array_equal((x[1:] * x[:-1]).to_numpy(), np.arange(20.0)[1:] * np.arange(19))
    return True


def on_engines(client, code):
    """Run code on all engines; return what each found."""
    execute(client, code)
    return client[:].pull("found", block=True)


def execute(client, code):
    """Run code on all engines; do not wait for its output, of which a new client may miss the end."""
    client[:].execute(code, block=False).get(60)


FAULT = """
import distnb.engines.server.entry as e
w = e.worker({session!r})
if w.comm.rank == 1:
    def fails(*_):
        del w._run
        raise KeyError("planning")
    w._run = fails
"""


@pytest.mark.parametrize("road", ["direct", "ipyparallel"])
def test_a_single_engine_gets_data_of_its_own(client, road):
    with another(client, road) as session, dnb.subset(1, session) as one:
        x = np.arange(50.0)
        there = dnb.asarray(x, dist="block", session=one)
        there[[6, 1, 5]] = 7.0
        twice = dnb.map(lambda v: 2 * v, there)
        x[[6, 1, 5]] = 7.0
        np.testing.assert_array_equal(twice.to_numpy(), 2 * x)


@pytest.mark.parametrize("road", ["direct", "ipyparallel"])
def test_an_engine_that_fails_outside_of_a_batch_keeps_nobody_waiting(engines, client, road):
    with another(client, road) as session:
        x = dnb.arange(30.0, dist="cyclic", session=session)
        assert float(x.sum()) == 435
        execute(client, FAULT.format(session=session.transport._session))
        with pytest.raises(dnb.EngineError, match=r"KeyError\W+planning"):
            dnb.sort(x).to_numpy()  # others wait for what it has
        np.testing.assert_array_equal(x, np.arange(30.0))
        assert works(session)
    with another(client, road) as session:  # hears nothing of that
        assert works(session)
    assert works(engines)


# Which transport


def test_the_status_shows_the_transport(engines, client):
    assert engines.transport.kind == "direct sockets"
    assert "3 engines, direct sockets; " in repr(Status(engines))
    with another(client, "ipyparallel") as session:
        assert session.transport.kind == "ipyparallel"
        assert works(session)
    assert works(engines)


def test_a_setting_refuses_other_words():
    with pytest.raises(ValueError, match=r"^setting road: got 'sea', expected one of \('direct', "):
        dnb.config.road = "sea"


@pytest.fixture
def newcomer(engines, monkeypatch):
    """Another client of the engines, without sockets that could be shared."""
    folder = engines._owner._watchdog.folder
    monkeypatch.setattr(socket_transport, "_PATIENCE", 60.0)
    with ipyparallel.Client(joining.connection_file(folder, folder.name)) as made:
        yield made


def check_fallback(client, reason):
    with another(client) as session:
        assert session.transport.kind.startswith("ipyparallel (no direct sockets: ")
        assert reason in session.transport.kind
        assert works(session)
    assert (
        on_engines(client, "import distnb.engines.server.entry as e; found = len(e._SERVERS)")
        == [1] * 3
    )


def test_without_encryption_there_is_ipyparallel(newcomer, monkeypatch):
    def unsupported():
        raise zmq.ZMQError(95, "Operation not supported")

    monkeypatch.setattr(zmq, "curve_keypair", unsupported)
    check_fallback(newcomer, "not supported")


def impatient(monkeypatch):
    """Wait half a second for answers on sockets, and longer for where these are."""
    answers = SocketClient.answers
    monkeypatch.setattr(SocketClient, "answers", lambda self, _: answers(self, 0.5))


def moved(monkeypatch, nowhere, token):
    """Let engines tell clients of another place."""
    make = SocketClient.__init__
    impatient(monkeypatch)

    def elsewhere(self, ids, places, *rest):
        make(self, ids, [(nowhere, key, token, monitor) for _, key, _, monitor in places], *rest)

    monkeypatch.setattr(SocketClient, "__init__", elsewhere)


@pytest.mark.parametrize(
    ("nowhere", "token", "reason"),
    [
        ("tcp://127.0.0.1:9", "", "no answer within 60.0 s"),
        ("/nowhere/batches", "x", "No such file"),
    ],
)
def test_engines_that_cannot_be_reached(newcomer, monkeypatch, nowhere, token, reason):
    moved(monkeypatch, nowhere, token)
    check_fallback(newcomer, reason)


def test_a_wrong_token_gets_nowhere(newcomer, monkeypatch):
    make = SocketClient.__init__

    def guessing(self, ids, places, *rest):
        make(
            self, ids, [(place, key, "0" * 64, monitor) for place, key, _, monitor in places], *rest
        )

    monkeypatch.setattr(SocketClient, "__init__", guessing)
    impatient(monkeypatch)
    check_fallback(newcomer, "no answer within 60.0 s")


def test_engines_of_another_host_get_everything_encrypted(newcomer, monkeypatch):
    # as far as the client can tell
    monkeypatch.setattr(socket_transport.socket, "gethostname", lambda: "localhost")
    with another(newcomer) as session:
        assert session.transport.kind == "direct sockets"
        for each in session.transport.sockets._channels:
            place = each._socket.getsockopt_string(zmq.LAST_ENDPOINT)
            assert place.startswith("tcp://127.0.0.1:")
            assert each._socket.mechanism == zmq.CURVE
        assert works(session)
        data = np.arange(1_000_000.0)
        np.testing.assert_array_equal(dnb.asarray(data, session=session).to_numpy(), data)


# Who gets in


def answer(context, place, keys=None, key=None, seconds=0.4):
    """Return whether an engine's socket answers a greeting."""
    with context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        if keys:
            stranger.curve_publickey, stranger.curve_secretkey = keys
            stranger.curve_serverkey = key.encode()
        stranger.connect(place)
        stranger.send_multipart([b"1 \nhello", b""])
        return bool(stranger.poll(int(seconds * 1000)))


@contextlib.contextmanager
def opened(client, host):
    """A client's key, and what engines hand over to it when it comes from a host."""
    mine = zmq.curve_keypair()
    code = f"""
import distnb.engines.server.entry as e
found = e.open_server({mine[0].decode()!r}, {host!r})
"""
    context = zmq.Context()
    try:
        yield context, mine, on_engines(client, code)[0]
    finally:
        context.destroy(linger=0)
        execute(client, f"e.close_server({mine[0].decode()!r})")


def test_only_the_client_with_the_key_gets_in_from_elsewhere(engines, client):
    with opened(client, "127.0.0.1") as (context, mine, (place, key, token, monitor)):
        assert place.startswith("tcp://127.0.0.1:")
        assert monitor.startswith("tcp://127.0.0.1:")
        assert token == ""
        assert not answer(context, place)
        assert not answer(context, place, zmq.curve_keypair(), key)
        assert not answer(context, place, mine, zmq.curve_keypair()[0].decode())
        assert answer(context, place, mine, key, seconds=60)
    assert works(engines)


def knock(place, *messages, seconds=60):
    """Send messages to a local socket; return what it answers, None if it hangs up."""
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(place)
        stream = Stream(end)
        for message in messages:
            stream.send(message)
        found = None
        while found is None and not stream.closed and stream.ready(int(seconds * 1000)):
            found = stream.receive()
        return found


def test_only_the_client_with_the_token_gets_in(engines, client):
    with opened(client, "") as (_, _, (place, _, token, monitor)):
        assert monitor.startswith("tcp://127.0.0.1:")
        folder = Path(place).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert knock(place, b"1 \nhello") is None
        assert knock(place, b"0" * 64, b"1 \nhello") is None
        assert knock(place, b"", b"1 \nhello") is None
        assert knock(place, seconds=0.2) is None
        assert knock(place, token.encode(), b"1 \nhello") == (b"1 ok\nhello", [])
        assert not folder.exists()
    assert works(engines)


def test_on_one_host_nothing_listens_to_others(engines):
    for each in engines.transport.sockets._channels:
        assert each._socket.family == socket.AF_UNIX
        assert not Path(each._socket.getpeername()).parent.exists()


def test_engines_outlive_a_client_that_is_gone(engines, client):
    """They do not look for more from it, and the engine's loop sleeps."""
    with opened(client, "") as (_, _, (place, _, token, _)):
        assert knock(place, token.encode(), b"1 \nhello") == (b"1 ok\nhello", [])
        code = "import time; t = time.process_time()"
        execute(client, code)
        time.sleep(0.5)
        spent = on_engines(client, "found = time.process_time() - t")
        assert max(spent) < 0.3
    assert works(engines)


# Order


class Numbers:
    """An array that distnb and code sent through ipyparallel change in turn."""

    def __init__(self, session):
        self.session = session
        self.view = session.transport.client[:]
        self.array = dnb.zeros(4, session=session)
        session.flush()
        worker = f"import time, distnb.engines.server.entry as e\nw = e.worker({session.transport._session!r})\n"
        self.block = worker + f"block = w.store.bases[{self.array.dbase.handle}].block\n"

    def by_distnb(self, factor):
        self.array *= factor
        self.session.send()

    def by_code(self, add, before=""):
        self.view.execute(f"{self.block}{before}\nblock += {add}", block=False)

    def slow(self, seconds):
        """Let engines sleep before each operation."""
        self.view.execute(
            f"{self.block}w.executor.fault = lambda c: time.sleep({seconds})", block=True
        )


@pytest.fixture
def numbers(engines):
    made = Numbers(engines)
    yield made
    made.slow(0)


def test_batches_come_before_code_that_is_sent_later(numbers):
    numbers.by_code(3)
    numbers.slow(0.2)
    numbers.by_distnb(2)
    numbers.by_distnb(2)
    numbers.by_code(1)
    assert (numbers.array.to_numpy() == 13).all()


def test_batches_come_after_code_that_was_sent_before(numbers):
    numbers.by_code(3, "time.sleep(0.3)")
    numbers.by_distnb(2)
    assert (numbers.array.to_numpy() == 6).all()


def test_a_message_that_is_never_answered_blocks_the_sockets_once(numbers):
    client = numbers.session.transport.client
    client.outstanding.add("lost")
    try:
        numbers.by_code(3)
        numbers.by_distnb(2)
        assert not isinstance(numbers.session.connection.sent[-1].ticket, int)
        assert (numbers.array.to_numpy() == 6).all()
        numbers.by_distnb(2)
        assert isinstance(numbers.session.connection.sent[-1].ticket, int)
    finally:
        client.outstanding.discard("lost")


@pytest.mark.parametrize("seed", range(3))
def test_any_order_is_kept(numbers, seed):
    rng = np.random.default_rng(seed)
    numbers.slow(0.001)
    expected = 0.0
    for _ in range(60):
        if rng.integers(3):
            numbers.by_distnb(3)
            expected *= 3
        else:
            numbers.by_code(1, "time.sleep(0.003)" if rng.integers(2) else "")
            expected += 1
        if expected > 1e12:
            numbers.by_distnb(0)
            expected = 0.0
        time.sleep(rng.choice([0, 0, 0.002, 0.02]))
    assert (numbers.array.to_numpy() == expected).all()


def test_sessions_on_both_transports_keep_one_order(engines, client):
    """Else engines would wait for each other, each in another session's batch."""
    with another(client, "ipyparallel") as slow, another(client) as fast:
        for k in range(15):
            arrays = [dnb.arange(9.0, session=s) for s in (fast, slow, engines)]
            sums = [x[::-1] + x.redistribute("cyclic") for x in arrays]
            for s in (slow, fast, engines)[:: 1 if k % 2 else -1]:
                s.send()
            for x in sums:
                np.testing.assert_array_equal(x.to_numpy(), np.full(9, 8.0))


# Large arrays


def test_large_arrays_do_not_pass_the_hub(engines, client, monkeypatch):
    data = np.random.default_rng(0).random(13_000_000)
    sent = []
    send = client._send
    monkeypatch.setattr(client, "_send", lambda *a, **k: [sent.append(a), send(*a, **k)][1])
    x = dnb.asarray(data, session=engines)
    y = x + 1
    np.testing.assert_array_equal(x.to_numpy(), data)
    np.testing.assert_array_equal(y[::-2].to_numpy(), data[::-2] + 1)
    np.testing.assert_array_equal(dnb.array(data[:9], dist=("engine", 1)).to_numpy(), data[:9])
    assert sent == []


def test_what_was_sent_is_a_snapshot(engines):
    data = np.arange(4_000_000.0)
    for k in range(5):
        x = dnb.asarray(data, session=engines)
        engines.send()
        data += 1
        found = x.to_numpy()
        x += 100
        engines.send()
        np.testing.assert_array_equal(found, np.arange(4_000_000.0) + k)


# The end


def test_nothing_is_left(engines, client, newcomer):
    def state():
        engines.flush()
        gc.collect()
        code = "import gc, os, distnb.engines.server.entry as e; gc.collect()\n"  # mapped memory has an fd
        code += "found = len(e._SERVERS), len(e._WORKERS), len(os.listdir('/proc/self/fd'))"
        return on_engines(client, code), len(list(Path("/proc/self/fd").iterdir()))

    for k in range(4):
        with another(newcomer) as session:
            assert session.transport.kind == "direct sockets"
            assert works(session)
            sockets = session.transport.sockets
        assert sockets._context.closed
        if k == 0:
            before = state()
    assert state() == before
    assert works(engines)


def test_the_last_session_leaves_the_client_as_it_was(newcomer):
    before = dict(vars(newcomer))
    with another(newcomer) as one:
        with another(newcomer) as two:
            assert two.transport.sockets is one.transport.sockets
        assert client_hooks.installed(newcomer, "order") is not None
        assert works(one)
    assert set(vars(newcomer)) == set(before)
    assert newcomer.send_apply_request.__func__ is ipyparallel.Client.send_apply_request


def test_sessions_of_a_client_share_sockets(engines, client):
    with another(client) as second:
        assert second.transport.sockets is engines.transport.sockets
    assert not engines.transport.sockets._context.closed
    assert works(engines)


def test_engines_say_nothing(engines):
    log = engines._owner._watchdog.folder / "mpiexec.log"
    assert "ERROR" not in log.read_text(), log.read_text()


def test_prefetched_elements_show_what_px_did(engines, client):
    """What was prefetched does not hold any more once anything went to the engines."""
    a = dnb.zeros(100)
    engines.bind([("looked_at", a.bound)])
    for i in range(20):
        assert float(a[i]) == 0
    client[:].execute("looked_at.local[...] = 7", block=True)
    assert [float(a[i]) for i in range(20, 40)] == [7.0] * 20
