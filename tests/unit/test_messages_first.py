"""Messages first: what a batch sends when, told by its items, and by messages that are held back."""

import threading

import numpy as np
import pytest

import distnb as dnb
from distnb.engines.fusion.elementwise import Elementwise, Task
from distnb.engines.worker import postings
from distnb.engines.worker.postings import Posting

pytestmark = pytest.mark.tier("test")

RANKS = 3
SUMS = 6


class Held:
    """A communicator whose messages arrive when the test says so."""

    def __init__(self, comm, arrives, sent):
        self._comm, self._arrives, self._sent = comm, arrives, sent

    def __getattr__(self, name):
        return getattr(self._comm, name)

    def send(self, data, peer, tag):
        self._sent.append((self._comm.rank, tag))
        return self._comm.send(data, peer, tag)

    def probe(self, peer, tag):
        return self._comm.probe(peer, tag) if self._arrives() else None


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(dnb.config, "flush_idle", 60)
    with dnb.inprocess(RANKS) as found:
        yield found


def hold(session, arrives):
    """Have messages arrive when ``arrives()``; return the list of those that are sent."""
    sent = []
    for worker in session.transport.workers:
        worker.comm = worker.executor.comm = Held(worker.comm, arrives, sent)
    return sent


@pytest.fixture
def arrays(session):
    """Arrays of which no two have one iteration space, so that no two sums run in one pass."""
    found = [dnb.array(np.arange(12.0 + k)) for k in range(SUMS)]
    session.flush()
    return found


def smooth(a):
    return a[1:-1] + a[2:] + a[:-2]


def items(session, rank=1):
    """Return what the last batch of a rank consists of: ``send k`` and ``run k`` for group k."""
    batch = next(reversed(session.transport.workers[rank].plans._batches.values()))
    (plan,) = batch._prepared.values()
    tasks = [what for what, *_ in plan.quick if isinstance(what, Task)]
    found = []
    for what, *_ in plan.quick:
        if isinstance(what, Posting):
            found.append(f"send {tasks.index(what._task)}")
        elif isinstance(what, Task):
            found.append(f"run {tasks.index(what)}")
    return found


def test_the_batch_waits_for_the_network_once(session, arrays):
    """No message arrives before all are sent: if one group waited for its own, all would for ever."""
    right = [smooth(np.arange(12.0 + k)) for k in range(SUMS)]
    total = 2 * (RANKS - 1) * SUMS  # to each neighbour
    sent = hold(session, lambda: len(sent) >= total)
    for _ in range(2):
        sent.clear()
        found = [smooth(a) for a in arrays]
        session.flush()
        for x, y in zip(right, found, strict=True):
            np.testing.assert_array_equal(y.to_numpy(), x)


def test_all_is_sent_before_anything_computes(session, arrays, monkeypatch):
    events = hold(session, lambda: True)
    real = Elementwise.piece

    def piece(self, *args):
        rank = int(threading.current_thread().name.rpartition("-")[2])
        events.append((rank, "computes"))
        return real(self, *args)

    monkeypatch.setattr(Elementwise, "piece", piece)
    found = [smooth(a) for a in arrays]
    session.flush()
    for rank in range(RANKS):
        mine = [what for r, what in events if r == rank]
        sends = SUMS * (1 + (rank == 1))
        assert "computes" not in mine[:sends]
        assert mine[sends] == "computes"
    del found


def test_each_message_is_of_its_group(session, arrays):
    with dnb.profile() as report:
        found = [smooth(a) for a in arrays]
        session.flush()
    of = {"add": 0, "agree": 0}
    for step in report.steps:
        names = {op for op, _ in step.names}
        for name in names & of.keys():
            of[name] += sum(span.time.messages for span in step.spans)
    assert of["add"] == sum(r.messages for op in report.ops for r in op.ranks)
    assert of["add"] == 2 * (RANKS - 1) * SUMS
    assert sum(e.messages for e in report.engines) == of["add"] + of["agree"]
    assert {op.op: op.calls for op in report.ops}["add"] == 2 * SUMS
    assert all(sum(e.spent) == e.now for e in report.engines)
    del found


def in_a_batch(do, session):
    session.flush()
    kept = do()
    session.flush()
    del kept
    return items(session)


def test_who_sends_when(session, arrays):
    a, b, c, *_ = arrays

    def independent():
        return smooth(a), smooth(b), smooth(c)

    def dependent():
        x = smooth(a)
        return x, smooth(x), smooth(b)

    def written_between():
        x = smooth(a)
        a[1:4] = 0
        return x, smooth(a)

    def read_between():
        return smooth(a), b.sum(), smooth(b)

    def sorted_between():
        x = smooth(a)
        b.sort()
        return x, smooth(b)

    runs = ["run 0", "run 1", "run 2"]
    assert in_a_batch(independent, session) == ["send 0", "send 1", "send 2", *runs]
    assert in_a_batch(dependent, session) == [*("send 0", "send 2", "run 0", "run 1", "run 2")]
    assert in_a_batch(written_between, session) == runs
    assert in_a_batch(read_between, session) == ["send 0", "send 1", "run 0", "run 1"]
    assert in_a_batch(sorted_between, session) == ["run 0", "run 1"]


def test_little_is_on_its_way_at_a_time(session, arrays, monkeypatch):
    """Each rank sends a number of 8 bytes to each neighbour for each sum."""
    run = [f"run {k}" for k in range(SUMS)]
    monkeypatch.setattr(postings, "_MOST", 2)
    expected = ["send 0", "send 1", "run 0", "send 2", "run 1", "send 3", "run 2"]
    found = in_a_batch(lambda: [smooth(a) for a in arrays], session)
    assert found[:7] == expected
    assert [x for x in found if x in run] == run
    monkeypatch.setattr(postings, "_MOST_BYTES", 0)
    assert in_a_batch(lambda: [smooth(a) for a in arrays[::-1]], session) == run
