"""Arrays and sessions that go at odd moments, and several of them at once."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import uuid
import weakref

import numpy as np
import pytest

import distnb as dnb
from distnb.client.session import current
from tests.failures import support
from tests.failures.support import planted, reading
from tests.marking import MARK, marked
from tests.waiting import until

ADD = "name == 'Apply' and op == 'add'"
RAISE = "raise ValueError('boom')"


def bases(session):
    session.flush()
    return support.everywhere(session, "found = len(worker.store.bases)")


# Arrays


def test_arrays_that_another_thread_deletes(three):
    room, before = three.handles.budget.room(), bases(three)
    handed_over = []
    done = threading.Event()

    def drop():
        while not done.is_set() or handed_over:
            while handed_over:
                handed_over.pop()

    thread = threading.Thread(target=drop)
    thread.start()
    x = dnb.arange(30.0)
    for k in range(500):
        y = x * k
        handed_over.append(y + 1)
        del y
        if k % 100 == 0:
            np.testing.assert_array_equal((x + k).to_numpy(), np.arange(30.0) + k)
    done.set()
    thread.join()
    del x
    assert bases(three) == before
    assert three.handles.budget.room() == room


def test_data_while_another_thread_sends(three):
    """The buffers of an array leave with the command that needs them."""
    done = threading.Event()

    def send():
        while not done.is_set():
            three.send()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        for k in range(150):
            arrays = [dnb.array(np.full(9, 10 * k + i)) for i in range(5)]
            for i, x in enumerate(arrays):
                assert (x.to_numpy() == 10 * k + i).all()
    finally:
        done.set()
        thread.join()


class Node:
    """Something in a reference cycle that holds an array."""

    def __init__(self, array):
        self.array = array
        self.me = self


def test_arrays_in_reference_cycles(three):
    before = bases(three)
    for k in range(50):
        node = Node(dnb.full(9, k))
        view = Node(node.array[::2])
        node.other, view.other = view, node
    del node, view
    gc.collect()
    assert bases(three) == before


def test_garbage_that_is_collected_at_any_moment(three):
    before = gc.get_threshold()
    gc.set_threshold(7)
    try:
        x = dnb.zeros(9)
        for k in range(300):
            Node(dnb.full(9, k))
            x += Node(dnb.ones(9)).array
            if k % 50 == 0:
                assert x.sum().item() == 9 * (k + 1)
        np.testing.assert_array_equal(x.to_numpy(), np.full(9, 300.0))
    finally:
        gc.set_threshold(*before)
    del x
    gc.collect()
    assert bases(three) == [0, 0, 0]


def test_a_failed_array_in_the_traceback_of_its_error(three):
    before = bases(three)
    with planted(three, 1, ADD, RAISE):
        try:
            (dnb.ones(9) + 1).to_numpy()
        except ValueError as error:
            kept = error
    assert bases(three) != before
    del kept
    gc.collect()
    assert bases(three) == before


# Sessions


def test_closing_does_what_is_pending():
    with dnb.inprocess(3) as session:
        x = dnb.zeros(9)
        block = session.transport.workers[0].store
        x += 5
        session.flush()
        kept = block.bases[x.dbase.handle].block
        x += 1
    assert (kept == 6).all()
    assert block.bases == {}


def test_closing_raises_what_fails_then():
    session = dnb.inprocess(3)
    support.plant(session, 1, ADD, RAISE)
    x = dnb.ones(9) + 1
    with pytest.raises(ValueError, match="boom"):
        session.close()
    assert session.closed
    session.close()
    assert reading(x) is dnb.SessionError
    assert current.active() is not session


def test_closing_raises_what_failed_before_and_was_not_said():
    session = dnb.inprocess(3)
    support.plant(session, 1, ADD, RAISE)
    x = dnb.ones(9) + 1
    session.send()
    while session.connection.sent:
        session._collect_oldest()
    with pytest.raises(ValueError, match="boom"):
        session.close()
    assert session.closed
    del x


def test_an_exception_in_the_block_of_a_session():
    with pytest.raises(ZeroDivisionError), dnb.inprocess(3) as session:
        x = dnb.ones(9) + 1
        raise ZeroDivisionError
    assert session.closed
    assert all(not w.store.bases for w in session.transport.workers)
    del x


def test_arrays_outlive_their_session():
    with dnb.inprocess(2) as session:
        x = dnb.ones(9)
    gone = weakref.ref(x.dbase)
    del x
    gc.collect()
    assert gone() is None
    assert session.closed


def test_threads_end_with_their_session():
    before = set(threading.enumerate())
    for _ in range(3):
        with dnb.inprocess(3):
            dnb.ones(9).sum().item()
    until(lambda: set(threading.enumerate()) <= before)


def test_two_sessions_on_the_same_engines(cluster):
    """Batches of both reach all engines in one order, or they would wait for each other."""
    with dnb.connect(client=cluster.transport.client) as second:
        found, failed = {}, []

        def work(session):
            try:
                x = dnb.arange(40.0, session=session)
                for k in range(40):
                    x = x[::-1] + x.redistribute("cyclic") * (k % 2)
                    if k % 10 == 0:
                        session.send()
                found[session] = x.to_numpy()
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(s,)) for s in (cluster, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        x = np.arange(40.0)
        for k in range(40):
            x = x[::-1] + x * (k % 2)
        np.testing.assert_array_equal(found[cluster], x)
        np.testing.assert_array_equal(found[second], x)
        # what fails in one is not lost in the other
        mine, other = dnb.ones(9, session=cluster), dnb.ones(9, session=second)
        with planted(cluster, 1, ADD, RAISE), pytest.raises(ValueError, match="boom"):
            mine += 1
            other += 1
            cluster.flush()
        assert reading(mine) is dnb.LostArrayError
        np.testing.assert_array_equal(other.to_numpy(), np.full(9, 2.0))
    assert not cluster.closed
    support.work(cluster)


@pytest.mark.ways("openmpi")
def test_sessions_come_and_go_on_the_same_engines(cluster):
    before = support.everywhere(
        cluster, "import distnb.engines.server.entry as e; found = len(e._WORKERS)"
    )
    for _ in range(3):
        with dnb.connect(client=cluster.transport.client) as session:
            assert dnb.arange(9, session=session).sum().item() == 36
    after = support.everywhere(
        cluster, "import distnb.engines.server.entry as e; found = len(e._WORKERS)"
    )
    assert after == before
    support.work(cluster)


def test_a_forked_child_leaves_the_session_alone(cluster):
    x = dnb.arange(9.0)
    cluster.flush()
    x += 1
    if (pid := os.fork()) == 0:
        # in the child: nothing may reach the engines
        code = 1
        try:
            y = reading(x)
            cluster.flush()
            cluster.close()
            del x
            gc.collect()
            with pytest.raises(dnb.SessionError, match="this one was forked"):
                cluster.check_open()
            code = 0 if y is dnb.SessionError and cluster.closed else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    np.testing.assert_array_equal(x.to_numpy(), np.arange(1.0, 10))
    support.work(cluster)


def test_a_forked_child_waits_for_no_lock(cluster):
    """The idle timer holds the recorder's lock when it sends; in a child nobody would free it."""
    x = dnb.arange(9.0)
    locked, forked = threading.Event(), threading.Event()

    def hold():
        with cluster.recorder.lock:
            locked.set()
            forked.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    locked.wait()
    if (pid := os.fork()) == 0:
        signal.alarm(60)  # which ends the child
        os._exit(0 if reading(x) is dnb.SessionError else 2)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    support.work(cluster)


# The end of the process

ENDS = {
    "pending commands": """
        session = dnb.inprocess(3)
        x = dnb.zeros(9)
        x.sum().item()
        x += 1
    """,
    "busy engines and pending commands": """
        session = dnb.start(2, beside=True)
        x = dnb.zeros(9)
        x.sum().item()
        import time
        code = "import time, distnb.engines.server.entry as e; "
        code += "e.worker('%s').executor.fault = lambda c: time.sleep(300)"
        session.transport.client[0].execute(code % session.transport._session).get()
        y = x.sum()
        session.send()
        time.sleep(0.1)
        x += 1
    """,
    "threads": """
        for _ in range(20):
            session = dnb.inprocess(3)
            x = dnb.zeros(9)
            x += 1
            y = x.redistribute("cyclic")
    """,
    "an error that nobody read": """
        session = dnb.inprocess(3)
        session.transport.workers[1].executor.fault = lambda c: 1 / 0
        x = dnb.zeros(9) + 1
        session.send()
    """,
    "in a function": """
        def main():
            session = dnb.inprocess(3)
            x = dnb.zeros(9)
            for k in range(100):
                x += x[::-1]
        main()
        import gc
        gc.collect()
    """,
    "a forked child": """
        import os, sys
        session = dnb.inprocess(3)
        x = dnb.zeros(9)
        x += 1
        if os.fork() == 0:
            del x
            sys.exit()
        os.wait()
        x.sum().item()
    """,
    "a forked child in the block of a session": """
        import os, sys
        with dnb.start(2, beside=True) as session:
            x = dnb.zeros(9)
            x += 1
            if os.fork() == 0:
                sys.exit()  # leaves the block in the child, too
            os.wait()
            assert x.sum().item() == 9
    """,
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_quiet(monkeypatch, name):
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    monkeypatch.setenv("PYTHONPATH", str(support.ROOT))
    code = "import distnb as dnb\n" + textwrap.dedent(ENDS[name]) + "\nprint('end')\n"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    until(lambda: not marked(mark))


def test_slow_engines_do_not_keep_a_session_from_closing(gate):
    session = dnb.inprocess(3)
    support.plant(session, 1, ADD, gate.stand)
    x = dnb.ones(9) + 1
    session.send()
    until(gate.come)
    threading.Timer(0.3, gate.open).start()
    session.close()
    del x
