"""Memory that runs out in the notebook or on one engine: an error of that command, and no more."""

import errno
import socket

import numpy as np
import pytest
import zmq

import distnb as dnb
from distnb.common import shared_segments
from distnb.wire import channel, stream
from distnb.wire.channel import SMALL, Channel
from distnb.wire.stream import Stream
from tests.failures import support
from tests.failures.support import setting


def joined(kind, context):
    if kind == "local":
        return [Stream(end) for end in socket.socketpair()]
    ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    ours.bind("inproc://memory")
    theirs.connect("inproc://memory")
    return [Channel(ours), Channel(theirs)]


def short_of(limit):
    """Return what gives memory below a limit only."""
    return lambda nbytes: np.empty(nbytes, np.uint8) if nbytes < limit else None


@pytest.mark.parametrize("kind", ["ZeroMQ", "local"])
def test_what_comes_after_an_array_without_room_arrives(kind, monkeypatch):
    context = zmq.Context()
    here, there = joined(kind, context)
    for module in (channel, stream):
        monkeypatch.setattr(module, "room", short_of(SMALL * 2))
    arrays = [
        np.full(n, n % 251, np.uint8) for n in (5, SMALL * 70 + 3, SMALL + 1, SMALL * 2, 0, 9)
    ]
    for head in (b"first", b"second"):
        here.send(head, arrays)
        while (found := there.receive()) is None:
            there.ready(1000)
        assert found[0] == head
        for got, sent in zip(found[1], arrays, strict=True):
            assert (got is None) == (len(sent) >= SMALL * 2)
            assert got is None or got.tobytes() == sent.tobytes()
    for end in (here, there):
        end.close()
    context.destroy(linger=0)


def test_a_head_without_room_has_the_memory_that_was_kept_for_it(monkeypatch):
    here, there = joined("local", None)
    here.send(b"first")
    there.ready(1000)
    assert there.receive()[0] == b"first"

    def full(length=0):
        if length > 100 and there._spare is not None:
            raise MemoryError
        return bytearray(length)

    monkeypatch.setattr(stream, "bytearray", full, raising=False)
    for letter in (b"a", b"b"):
        here.send(letter * 1000, [np.arange(9, dtype=np.uint8)])
        there.ready(1000)
        head, (array,) = there.receive()
        assert head == letter * 1000
        assert array.tolist() == [*range(9)]
    assert not there.closed
    for end in (here, there):
        end.close()


def test_without_room_for_a_few_bytes_nothing_of_a_message_is_sent(monkeypatch):
    here, there = joined("local", None)

    def full(data):
        if data is head:
            raise MemoryError
        return memoryview(data)

    head = b"lost"
    monkeypatch.setattr(stream, "memoryview", full, raising=False)
    with pytest.raises(MemoryError):
        here.send(head, [np.zeros(3, np.uint8)])
    here.send(b"next")
    there.ready(1000)
    assert there.receive()[0] == b"next"
    for end in (here, there):
        end.close()


def test_who_hands_over_the_rest_waits_for_memory(monkeypatch):
    here, there = joined("local", None)
    fails, push = iter([True, True]), here._push

    def short():
        if here._sending and next(fails, False):
            raise MemoryError
        push()

    monkeypatch.setattr(here, "_push", short)
    large = np.arange(30_000_000, dtype=np.uint8)
    here.send(b"large", [large])
    while (found := there.receive()) is None:
        there.ready(1000)
    assert next(fails, None) is None
    np.testing.assert_array_equal(found[1][0], large)
    for end in (here, there):
        end.close()


def test_without_memory_to_know_what_was_sent_nothing_is_sent_twice():
    """It would shift the elements that follow: the other end sees that this one is gone."""

    class Short(bytearray):
        def __getitem__(self, key):
            raise MemoryError

    here, there = joined("local", None)
    here._unsent.append(Short(30_000_000))
    here._push()
    assert not here._unsent
    while not there.closed:
        there.ready(1000)
        there.receive()
    for end in (here, there):
        end.close()


@pytest.mark.ways("openmpi")
def test_a_head_is_sent_from_where_it_lies():
    here, there = joined("local", None)
    head = bytes(30_000_000)
    here.send(head)
    assert any(piece.obj is head for piece in list(here._unsent))
    for end in (there, here):
        end.close()


def test_a_reply_without_room_has_the_memory_that_was_kept_for_it(cluster):
    """One engine has none for it, of which the others know nothing."""
    support.on_rank(
        cluster,
        1,
        """
        from distnb.engines.server import batch_server
        def fails(*args, server=batch_server, sent=batch_server._as_sent):
            server._as_sent = sent
            raise MemoryError
        batch_server._as_sent = fails
        """,
    )
    x = dnb.ones(9)
    for _ in range(2):  # the first may go through ipyparallel
        assert x.sum().item() == 9
    name = "found = __import__('distnb').engines.server.batch_server._as_sent.__name__"
    assert support.on_rank(cluster, 1, name) == "_as_sent"


def test_in_the_notebook(cluster, monkeypatch):
    x, small = dnb.arange(300_000.0), dnb.ones(5)
    cluster.flush()
    monkeypatch.setattr(cluster.memory, "available", lambda: False)  # as where engines are away
    with monkeypatch.context() as patch:
        for module in (channel, stream):
            patch.setattr(module, "room", short_of(SMALL * 2))
        for _ in range(2):
            with pytest.raises(MemoryError, match="memory of the notebook"):
                x.to_numpy()
            assert small.sum().item() == 5
    np.testing.assert_array_equal(x.to_numpy(), np.arange(300_000.0))


@pytest.mark.ways("openmpi")
def test_in_the_notebook_that_cannot_map_what_engines_have_written(cluster, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    x = dnb.arange(300_000.0)
    with monkeypatch.context() as patch:
        patch.setattr(shared_segments, "_Private", full)
        for _ in range(2):
            with pytest.raises(MemoryError, match="no room for 2400000 bytes"):
                x.to_numpy()
            assert x.sum().item() == 300_000 * 299_999 / 2
    np.testing.assert_array_equal(x.to_numpy(), np.arange(300_000.0))


LIMIT = """
    import resource
    used = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE')
    resource.setrlimit(resource.RLIMIT_AS, (used + {room}, -1))
"""
FREE = """
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
"""

CASES = {
    "all to all": lambda a, b: a + b,
    "other layout": lambda a, b: a.redistribute(("*", "block")),
    "halo": lambda a, b: a[1:] * a[:-1],
    "scan": lambda a, b: dnb.cumsum(a, axis=0),
    "sort": lambda a, b: dnb.sort(a.ravel()),
    "transposed": lambda a, b: a + a.T,
    "rows": lambda a, b: a[np.arange(len(a))[::-1]],
}


@pytest.mark.ways("openmpi")
@pytest.mark.cases(3)
@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_on_one_engine_whose_messages_are_sent(cluster, case, rank):
    """Nobody waits for the messages of who has no memory, however much it has."""
    with setting(shared=0, pool_bytes=0), dnb.connect(client=cluster.transport.client) as session:
        n = 1500
        a = dnb.arange(float(n * n)).reshape(n, n).redistribute(("block", "*"))
        b = dnb.ones((n, n), dist=("*", "block"))
        CASES[case](a, b)
        session.flush()  # what engines load for it, they load now
        for room in (2_000_000, 5_000_000, 9_000_000, 20_000_000):
            support.on_rank(session, rank, LIMIT.format(room=room))
            try:
                CASES[case](a, b)
                session.flush()
            except MemoryError:
                pass
            finally:
                support.on_rank(session, rank, FREE)
            assert b.sum().item() == n * n
            assert a[5, 7].item() == 5 * n + 7
