"""Heads and arrays arrive as they were sent, whatever their sizes and whatever broke before."""

import gc
import select
import socket
import struct
import threading
import time

import numpy as np
import pytest
import zmq

from distnb.wire import channel, stream
from distnb.wire.channel import SMALL, Channel
from distnb.wire.stream import Stream
from tests.waiting import until


def joined(context, name="x"):
    """Return two ends of a ZeroMQ socket."""
    ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    ours.bind(f"inproc://{name}")
    theirs.connect(f"inproc://{name}")
    return ours, theirs


@pytest.fixture(params=["ZeroMQ", "local"])
def ends(request):
    """Two ends of a channel."""
    context = zmq.Context()
    if request.param == "ZeroMQ":
        made = [Channel(end) for end in joined(context)]
    else:
        made = [Stream(end) for end in socket.socketpair()]
    yield made
    for end in made:
        end.close()
    context.destroy(linger=0)


def receive(end):
    """Return what comes next, None if nothing comes for long."""
    while (found := end.receive()) is None and end.ready(10_000):
        pass
    return found


def bytes_of(arrays):
    return [np.ascontiguousarray(a).tobytes() for a in arrays]


@pytest.mark.parametrize("chunk", [1, 1000, SMALL + 1, 1 << 22])
def test_all_sizes_arrive(ends, monkeypatch, chunk):
    monkeypatch.setattr(channel, "_CHUNK", max(chunk, SMALL // 50))
    here, there = ends
    for sizes in ([], [0], [1], [SMALL], [SMALL + 1], [3, SMALL * 3 + 5, 0, SMALL + 1, 7]):
        arrays = [np.random.default_rng(n).integers(0, 256, n, np.uint8) for n in sizes]
        here.send(b"head %d" % len(sizes), arrays)
        head, found = receive(there)
        assert head == b"head %d" % len(sizes)
        assert bytes_of(found) == bytes_of(arrays)
        assert all(a.flags.writeable and a.flags.aligned for a in found)
    assert not there.ready(20)
    assert there.receive() is None


def test_any_array_travels_as_its_bytes(ends):
    here, there = ends
    a = np.arange(60_000.0).reshape(300, 200)
    arrays = [a, a.T, a[::2, ::-1], a[:3].astype(np.complex64), np.array(3)]
    here.send(b"x", arrays)
    _, found = receive(there)
    assert bytes_of(found) == bytes_of(arrays)


def test_many_at_once_keep_their_order(ends):
    here, there = ends
    sizes = [10, SMALL * 2, 0, SMALL + 1, 5]
    for k, n in enumerate(sizes):
        here.send(b"%d" % k, [np.full(n, k, np.uint8)])
    for k, n in enumerate(sizes):
        head, (found,) = receive(there)
        assert (head, len(found)) == (b"%d" % k, n)
        assert (found == k).all()


def test_the_wait_for_a_message_ends(ends):
    _, there = ends
    assert not there.ready(20)
    assert there.receive() is None


def test_chunks_that_nobody_announced_are_dropped():
    context = zmq.Context()
    ours, theirs = joined(context)
    here, there = Channel(ours), Channel(theirs)
    ours.send(b"chunk")
    here.send(b"first", [np.ones(SMALL + 1, np.uint8)])
    assert receive(there)[0] == b"first"
    ours.send_multipart([b"second", np.array([SMALL + 1]).tobytes()])  # no chunk comes
    here.send(b"third", [np.ones(SMALL + 1, np.uint8)])
    head, (found,) = receive(there)
    assert (head, len(found)) == (b"third", SMALL + 1)
    context.destroy(linger=0)


# Local sockets


@pytest.fixture
def pair():
    """Two ends of a local socket, and what it is called on each side."""
    made = [Stream(end) for end in socket.socketpair()]
    yield made
    for end in made:
        end.close()


def test_sending_does_not_wait_for_the_other_end(pair):
    """Both ends send more than the kernel takes, before either looks."""
    data = np.random.default_rng(0).integers(0, 256, 30_000_000, np.uint8)
    for end in pair:
        for k in range(3):
            end.send(b"%d" % k, [data[k:], data[:k]])
        end.send(b"small")
    for end in pair:
        for k in range(3):
            head, (found, rest) = receive(end)
            assert head == b"%d" % k
            np.testing.assert_array_equal(found, data[k:])
            np.testing.assert_array_equal(rest, data[:k])
        assert receive(end) == (b"small", [])
    until(lambda: not any(end._sending for end in pair))


def test_what_was_read_ahead_is_told_of_and_taken_in(pair):
    """Several messages come with one read; the last ones although the other end is closed."""
    here, there = pair
    sizes = [3, 0, stream._AHEAD - 40, stream._AHEAD * 3 + 7, 9]
    for k, n in enumerate(sizes):
        here.send(b"%d" % k, [np.full(n, k, np.uint8)])
    assert not there.busy
    assert there.receive()[0] == b"0"
    assert there.busy
    assert there.ready()
    here.close()
    for k, n in enumerate(sizes[1:], 1):
        head, (found,) = receive(there)
        assert (head, len(found), set(found.tolist())) == (b"%d" % k, n, {k} if n else set())
    assert not there.busy
    assert there.receive() is None
    assert there.closed


def test_nothing_is_told_of_after_what_is_no_message(pair):
    here, there = pair
    there.most = 20
    here.send(b"fits")
    here.send(b"x" * 21)
    here.send(b"fits")
    assert there.receive() == (b"fits", [])
    assert there.busy
    assert there.receive() is None
    assert there.closed
    assert not there.busy
    assert not there.ready()


def test_small_messages_need_no_thread(pair):
    here, there = pair
    for k in range(200):
        here.send(b"%d" % k, [np.arange(k, dtype=np.uint8)])
    assert not here._sending
    assert [receive(there)[0] for _ in range(200)] == [b"%d" % k for k in range(200)]


def test_many_arrays_arrive(pair):
    """More than the kernel takes in one call, and empty ones among them."""
    here, there = pair
    here.send(b"", [np.full(k % 3, k % 251, np.uint8) for k in range(3000)])
    head, found = receive(there)
    assert head == b""
    assert [a.tolist() for a in found] == [[k % 251] * (k % 3) for k in range(3000)]


@pytest.mark.parametrize("size", [0, 10, 50_000_000])
def test_an_end_that_is_gone_is_noticed(pair, size):
    here, there = pair
    here.send(b"x", [np.zeros(size, np.uint8)])
    there.close()
    assert there.closed
    assert not here.closed  # nobody has looked
    assert receive(here) is None
    assert here.closed
    assert here.descriptors == []
    assert not here.ready(1000)
    here.send(b"y", [np.zeros(size, np.uint8)])  # to nobody
    there.send(b"z")
    until(lambda: not here._sending)


def test_an_end_that_goes_in_the_middle_of_a_message(pair):
    here, there = pair
    here._socket.send(b"\0" * 7)
    assert there.receive() is None
    assert not there.closed
    here.close()
    assert there.receive() is None
    assert there.closed


def test_sending_needs_no_thread(pair, monkeypatch):
    """Where none can be had who sends waits, and the next one has one again."""
    here, there = pair
    data = np.random.default_rng(0).integers(0, 256, 30_000_000, np.uint8)
    found = []
    other = threading.Thread(target=lambda: found.extend(receive(there) for _ in range(2)))
    other.start()

    def refuse(*args):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(stream._thread, "start_new_thread", refuse)
        here.send(b"0", [data])
    here.send(b"1", [data[::-1]])
    other.join()
    assert [head for head, _ in found] == [b"0", b"1"]
    np.testing.assert_array_equal(found[0][1][0], data)
    np.testing.assert_array_equal(found[1][1][0], data[::-1])


NO_MESSAGES = {
    "a head of 2**64 - 1 bytes": struct.pack("<QQ", 2**64 - 1, 0),
    "2**61 arrays": struct.pack("<QQ", 0, 2**61),
    "2**63 arrays": struct.pack("<QQ", 7, 2**63),
    "an array of 2**63 bytes": struct.pack("<QQQ", 0, 1, 2**63),
    "an array of 2**64 - 1 bytes": struct.pack("<QQQQ", 0, 2, 1, 2**64 - 1) + b"x",
}


@pytest.mark.parametrize("name", NO_MESSAGES)
def test_what_is_no_message_ends_the_connection(pair, name):
    here, there = pair
    here._socket.send(NO_MESSAGES[name])
    assert there.receive() is None
    assert there.closed
    here.send(b"later")
    assert there.receive() is None


def test_a_message_has_at_most_so_many_bytes(pair):
    here, there = pair
    there.most = 20
    here.send(b"x" * 12, [np.zeros(20, np.uint8)])
    assert receive(there)[0] == b"x" * 12
    here.send(b"x" * 12, [np.zeros(21, np.uint8)])
    assert receive(there) is None
    assert there.closed


SIZES = {
    "half a size": b"\0" * 12,
    "an array of -1 bytes": struct.pack("<q", -1),
    "an array of 2**62 bytes": struct.pack("<q", 2**62),
    "no array": struct.pack("<q", 3),
    "another array": struct.pack("<q", 3) + b"//" + b"xx",
    "one byte for three": struct.pack("<q", 3) + b"//" + b"x",
    "too many arrays": struct.pack("<q", 1) + b"//" + b"x" + b"//" + b"y",
}


@pytest.mark.parametrize("name", SIZES)
def test_what_is_no_message_is_dropped(name):
    context = zmq.Context()
    ours, theirs = joined(context)
    here, there = Channel(ours), Channel(theirs)
    here.send(b"cut off", [np.ones(SMALL + 1, np.uint8)])
    ours.send_multipart([b"none", *SIZES[name].split(b"//")])
    here.send(b"whole", [np.arange(SMALL + 1, dtype=np.uint8), np.ones(3, np.uint8)])
    assert receive(there)[0] == b"cut off"
    head, arrays = receive(there)
    assert head == b"whole"
    assert bytes_of(arrays) == [np.arange(SMALL + 1, dtype=np.uint8).tobytes(), b"\1\1\1"]
    context.destroy(linger=0)


def test_a_chunk_longer_than_what_is_missing_is_dropped():
    context = zmq.Context()
    ours, theirs = joined(context)
    there = Channel(theirs)
    ours.send_multipart([b"head", struct.pack("<q", SMALL + 2)])
    ours.send(b"x" * SMALL)
    ours.send(b"y" * 3)
    ours.send(b"z" * 2)
    head, (found,) = receive(there)
    assert head == b"head"
    assert found.tobytes() == b"x" * SMALL + b"zz"
    context.destroy(linger=0)


def test_what_was_sent_is_let_go(pair):
    here, there = pair
    data = np.zeros(40_000_000, np.uint8)
    here.send(b"x", [data])
    assert receive(there)[0] == b"x"
    until(lambda: not here._sending)
    gc.collect()
    data.resize(1)  # NumPy refuses if anything looks at it
    assert data.size == 1


def test_what_was_received_is_held_by_nobody(ends):
    here, there = ends
    here.send(b"x", [np.ones(100, np.uint8), np.ones(SMALL * 3, np.uint8)])
    _, arrays = receive(there)
    for k in range(2):
        arrays[k].resize(1)


def test_what_came_before_one_sent_is_not_slept_through(ends):
    """To send may use up what the descriptor tells: whoever sleeps until it tells looks first."""
    here, there = ends
    there.send(b"early")
    time.sleep(0.05)
    here.send(b"late")
    poll = select.poll()
    for descriptor in here.descriptors:
        poll.register(descriptor, select.POLLIN)
    assert here.busy or poll.poll(200_000)
    assert receive(here)[0] == b"early"
    assert not here.receive()
    assert not here.busy
