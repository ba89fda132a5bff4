"""Heads and arrays arrive as they were sent, whatever their sizes and whatever broke before."""

import numpy as np
import pytest
import zmq

from distnb import channel
from distnb.channel import SMALL, Channel


@pytest.fixture(params=["one socket", "two sockets"])
def ends(request):
    """Two ends of a channel, which has one socket for all or one for large arrays."""
    context = zmq.Context()
    pairs = []
    for k in range(1 + (request.param == "two sockets")):
        ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        ours.bind(f"inproc://{k}")
        theirs.connect(f"inproc://{k}")
        pairs.append((ours, theirs))
    yield [Channel(pairs[0][side], pairs[-1][side]) for side in (0, 1)]
    context.destroy(linger=0)


def receive(end):
    """Return what comes next, which must be complete when nothing is left to take in."""
    while (found := end.receive()) is None and end.busy:
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
    assert receive(there) is None


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
    ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    ours.bind("inproc://x")
    theirs.connect("inproc://x")
    here, there = Channel(ours, ours), Channel(theirs, theirs)
    ours.send(b"chunk")
    here.send(b"first", [np.ones(SMALL + 1, np.uint8)])
    assert receive(there)[0] == b"first"
    ours.send_multipart([b"second", np.array([SMALL + 1]).tobytes()])  # no chunk comes
    here.send(b"third", [np.ones(SMALL + 1, np.uint8)])
    head, (found,) = receive(there)
    assert (head, len(found)) == (b"third", SMALL + 1)
    context.destroy(linger=0)
