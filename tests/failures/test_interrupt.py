"""Ctrl-C ends every wait within moments; what was given up is done when it is used."""

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import distnb as dnb
from distnb.client.batching import entries
from distnb.client.handle import host_arrays
from distnb.client.reach import small_steps
from distnb.client.session.bases import Base
from distnb.common import interrupts
from tests.contract.support import closed
from tests.failures import support
from tests.failures.support import World, plant, reading, setting
from tests.interrupting import CtrlC
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")

REDUCE = "name == 'Reduce'"


def quiet(session):
    """No engine is in a batch, and each has the arrays that the client has."""
    support.heal(session)
    session.flush()
    live = len(session.handles)
    assert support.everywhere(session, "found = len(worker.store.bases)") == [live] * session.size


@pytest.mark.ways("openmpi")
@pytest.mark.cases(1)
@pytest.mark.parametrize("late", range(3))
def test_while_engines_wait_for_a_late_one(cluster, late, gate):
    w = World(cluster)
    for _ in range(2):
        gate.shut()
        before = w.dist.a + 1
        plant(cluster, late, REDUCE, gate.stand)
        total = w.dist.b.sum()
        w.dist.c += 1
        after = w.dist.a * 2
        with CtrlC(0.2, after=gate.come):
            total.item()
        support.heal(cluster)
        np.testing.assert_array_equal(before.to_numpy(), w.np.a + 1)
        w.np.c += 1
        w.check()  # what engines gave up is done when it is used
        np.testing.assert_array_equal(after.to_numpy(), w.np.a * 2)
        np.testing.assert_allclose(total.item(), w.np.b.sum())
        support.work(cluster)
        del total, after
    quiet(cluster)


def test_what_is_soon_done_is_not_lost(cluster, gate, monkeypatch):
    for limit in "_SOON", "_LATEST":
        monkeypatch.setattr(f"distnb.client.batching.connection.{limit}", 60)  # on any machine
    w = World(cluster)
    plant(cluster, 1, REDUCE, gate.stand)
    x = w.dist.a
    with CtrlC(0.1, after=gate.come, then=gate.open):
        while True:
            x = x + 1  # the name of the last is that of a result that was not there
            x.sum().item()
    np.testing.assert_array_equal(x.to_numpy(), w.np.a + 1)
    w.check()
    support.heal(cluster)
    del x
    quiet(cluster)


def test_a_loop_that_reads_nothing_keeps_what_it_had(cluster, gate, monkeypatch):
    for limit in "_SOON", "_LATEST":
        monkeypatch.setattr(f"distnb.client.batching.connection.{limit}", 60)  # on any machine
    for limit in "_BATCH", "_AHEAD":
        monkeypatch.setattr(f"distnb.client.batching.lead.{limit}", 1e-9)
    w = World(cluster)
    plant(cluster, 1, "name == 'Apply'", gate.stand)
    x, before, under_way = w.dist.a, cluster.recorded, []

    def look():
        under_way.append((len(cluster.connection.sent), cluster.recorded - before))
        gate.open()

    with CtrlC(0.3, after=gate.come, then=look):
        while True:
            x = x + 1
    ((batches, commands),) = under_way
    assert batches <= 2  # it does not run away from the engines, which end these
    assert commands <= 20
    added = x.to_numpy() - w.np.a
    np.testing.assert_allclose(added, round(added.flat[0]))
    w.check()
    support.heal(cluster)
    del x
    quiet(cluster)


def test_in_a_measured_window(cluster, gate):
    w = World(cluster)
    plant(cluster, 1, REDUCE, gate.stand)
    with CtrlC(0.2, after=gate.come), dnb.profile() as report:
        w.dist.a + 1
        w.dist.b.sum().item()
    closed(report, cluster)
    (step,) = (s for s in report.steps if "sum" in dict(s.names))
    assert max(dict(step.spans[0].waits)[1], step.spans[1].end - step.spans[1].start) > 1e8
    support.heal(cluster)
    with dnb.profile() as report:
        w.dist.b.sum().item()
    closed(report, cluster)
    quiet(cluster)


@pytest.mark.cases(1)
@pytest.mark.parametrize("late", range(3))
def test_while_engines_sort(cluster, late, gate):
    w = World(cluster)
    plant(cluster, late, "name == 'Collective'", gate.stand)
    found = dnb.sort(w.dist.a[:, 0])
    w.dist.row.sort()
    with CtrlC(0.2, after=gate.come):
        found.to_numpy()
    support.heal(cluster)
    w.np.row.sort()
    w.check()
    np.testing.assert_array_equal(found.to_numpy(), np.sort(w.np.a[:, 0]))
    np.testing.assert_array_equal(dnb.sort(w.dist.row).to_numpy(), np.sort(w.np.row))
    w.check()
    del found
    quiet(cluster)


@pytest.mark.ways("openmpi")
def test_while_messages_of_an_exchange_are_awaited(cluster, gate):
    w = World(cluster)
    big = dnb.array(support.numbers(600, 500), dist=("block", "*"))  # too large for one packet
    plant(cluster, 1, "op == 'multiply'", gate.stand)
    found = big * big.redistribute(("*", "block"))
    with CtrlC(0.2, after=gate.come):
        found.to_numpy()
    support.heal(cluster)
    np.testing.assert_array_equal(found.to_numpy(), support.numbers(600, 500) ** 2)
    np.testing.assert_array_equal((big * big).to_numpy(), support.numbers(600, 500) ** 2)
    w.check()


@pytest.mark.ways("openmpi")
def test_while_messages_of_later_groups_are_on_their_way(cluster, gate):
    """None of them meets what is asked for afterwards, under the same numbers."""
    arrays = [dnb.array(support.numbers(400 + k, 500)) for k in range(6)]
    cluster.flush()
    for _ in range(2):
        gate.shut()
        plant(cluster, 1, "op == 'subtract'", gate.stand)
        found = [a[1:-1] - a[2:] for a in arrays]
        with CtrlC(0.2, after=gate.come):
            found[-1].to_numpy()
        support.heal(cluster)
        again = [a[2:] * 3 - a[:-2] for a in arrays]
        for k, y in enumerate(again):
            x = support.numbers(400 + k, 500)
            np.testing.assert_array_equal(y.to_numpy(), x[2:] * 3 - x[:-2])
        for k, y in enumerate(found):
            x = support.numbers(400 + k, 500)
            np.testing.assert_array_equal(y.to_numpy(), x[1:-1] - x[2:])
        del found, again
    quiet(cluster)


@pytest.fixture
def let_go(cluster, gate, monkeypatch):
    """Open the gate once all engines have heard that they are to give up: before, they get done."""
    told, stop = threading.Event(), cluster.transport.stop
    monkeypatch.setattr(cluster.transport, "stop", lambda: (stop(), told.set()))

    def lets_go():
        until(told.is_set)
        until(lambda: not cluster.transport.sockets.monitor.silent(cluster.size))
        gate.open()

    return lets_go


@pytest.mark.ways("openmpi")
def test_within_a_long_call(cluster, gate, let_go):
    """One into NumPy, say, in which Python does not look for signals."""
    w = World(cluster)
    plant(cluster, 1, REDUCE, gate.call)
    total = w.dist.b.sum()
    with CtrlC(0.2, after=gate.come, then=let_go):
        total.item()
    support.heal(cluster)
    np.testing.assert_allclose(total.item(), w.np.b.sum())
    w.check()


def test_pressed_again_and_again(cluster, gate, let_go):
    w = World(cluster)
    plant(cluster, 1, REDUCE, gate.call)
    total = w.dist.b.sum()
    delays = [0.1, 0.15, 0.2, 0.5, 0.8]
    last = threading.Barrier(len(delays), let_go)
    with CtrlC(*delays, after=gate.come, then=last.wait):
        total.item()
    support.heal(cluster)
    np.testing.assert_allclose(total.item(), w.np.b.sum())
    w.check()
    support.work(cluster)


def test_pressed_twice_at_once(cluster, gate, monkeypatch):
    """As keys do, and hands: engines end what they write in place nevertheless."""
    for limit in "_SOON", "_LATEST", "_ONE_PRESS":
        monkeypatch.setattr(f"distnb.client.batching.connection.{limit}", 60)  # on any machine
    w = World(cluster)
    plant(cluster, 1, "op == 'multiply'", gate.stand)
    w.dist.a *= 2

    def press():
        until(gate.come)
        time.sleep(0.1)  # until who reads it waits
        for _ in range(7):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        time.sleep(0.1)
        gate.open()

    presses = threading.Thread(target=press)
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        w.dist.a.sum().item()
    presses.join()
    support.heal(cluster)
    w.np.a *= 2
    w.check()
    quiet(cluster)


@pytest.mark.parametrize("n", [1, 3])
def test_engines_of_this_process(n, gate):
    with dnb.inprocess(n) as session:
        w = World(session)
        late = session.transport.workers[n - 1]

        def go_on():
            """Let the engine go on when it was told to stop: before, it might get done."""
            until(lambda: late.stopping or late.now is None)
            gate.open()

        for k in range(2):
            with setting(flush_idle=60):  # or the idle timer's thread runs the batch if n is 1
                gate.shut()
                plant(session, n - 1, REDUCE, gate.stand)
                total = w.dist.b.sum()
                w.dist.c += 1
                with CtrlC(0.2, after=gate.come, then=go_on):
                    total.item()
                support.heal(session)
            assert reading(total) is dnb.LostArrayError
            w.check("c")
            w.dist.c[...] = k
            w.np.c[...] = k
            w.check()
            support.work(session)
        del total
        quiet(session)


def test_with_many_batches_on_their_way(cluster, gate):
    w = World(cluster)
    plant(cluster, 2, REDUCE, gate.stand)
    total = w.dist.b.sum()
    for _ in range(8):
        w.dist.c += 1
        cluster.send()
    more = [w.dist.a.redistribute(("cyclic", "*")) for _ in range(5)]
    with CtrlC(0.2, after=gate.come):
        cluster.flush()
    support.heal(cluster)
    w.np.c += 8
    w.check()
    for x in more:
        np.testing.assert_array_equal(x.to_numpy(), w.np.a)
    np.testing.assert_allclose(total.item(), w.np.b.sum())
    del x
    del total, more
    quiet(cluster)


def test_arrays_that_never_came_to_be_can_be_written(cluster, gate):
    plant(cluster, 1, REDUCE, gate.stand)
    total = dnb.ones(9).sum()
    never = dnb.zeros(9)
    with CtrlC(0.2, after=gate.come):
        total.item()
    support.heal(cluster)
    never[...] = dnb.arange(9.0, dist="cyclic")
    np.testing.assert_array_equal(never.to_numpy(), np.arange(9.0))


@pytest.mark.parametrize("kind", ["three", "cluster"])
def test_a_storm_of_interrupts(request, kind):
    session = request.getfixturevalue(kind)
    w = World(session)
    chance = random.Random(3)
    for _ in range(15):
        with CtrlC(chance.uniform(0.001, 0.06)):
            while True:
                found = (w.dist.a + w.dist.b).sum(axis=0).to_numpy()
                np.testing.assert_array_equal(found, (w.np.a + w.np.b).sum(axis=0))
        w.check()
    quiet(session)


@pytest.mark.parametrize("kind", ["three", "cluster"])
def test_no_recorded_command_gets_lost(request, kind):
    session = request.getfixturevalue(kind)
    chance = random.Random(4)
    for _ in range(10):
        x, count = dnb.zeros(9), 0
        session.flush()
        with setting(flush_size=7), CtrlC(chance.uniform(0.001, 0.05)):
            while True:
                x += 1
                count += 1
                if count % 30 == 0:
                    time.sleep(0.005)
        if reading(x) is None:  # else the engines were interrupted, too
            value = x.to_numpy()
            assert (value == value[0]).all()
            assert value[0] in (count, count + 1)
    quiet(session)


def test_while_data_are_sent(cluster):
    chance = random.Random(5)
    data = np.arange(200_000.0)
    found = []
    for _ in range(4):
        with CtrlC(chance.uniform(0.001, 0.1)):
            while True:
                found.append(dnb.array(data))
                if len(found) > 5:
                    found.clear()
        for x in found:
            if reading(x) is None:
                np.testing.assert_array_equal(x.to_numpy(), data)
    found.clear()
    del x
    quiet(cluster)


def test_while_large_arrays_come(cluster):
    chance = random.Random(6)
    data = np.arange(3_000_000.0)
    x = dnb.array(data)
    cluster.flush()  # an interrupt would take what is still on its way
    for _ in range(6):
        with CtrlC(chance.uniform(0.001, 0.1)):
            while True:
                found = x.to_numpy()
                np.testing.assert_array_equal(found, data)
        np.testing.assert_array_equal(x.to_numpy(), data)
    del x
    quiet(cluster)


def test_a_timeout_loses_nothing(cluster, gate):
    x = dnb.ones(9)
    plant(cluster, 1, REDUCE, gate.stand)
    total = x.sum()
    with setting(timeout=0.2), pytest.raises(TimeoutError, match="raise dnb.config.timeout"):
        total.item()
    gate.open()
    assert total.item() == 9
    assert cluster.replies.values == {}


def test_a_timeout_of_engines_of_this_process(three, gate):
    x = dnb.ones(9)
    plant(three, 1, REDUCE, gate.stand)
    total = x.sum()
    with setting(timeout=0.1), pytest.raises(TimeoutError, match="raise dnb.config.timeout"):
        total.item()
    gate.open()
    assert total.item() == 9


def test_what_another_signal_raises_ends_a_wait_as_ctrl_c_does(cluster, gate):
    """Also an exception that distnb itself raises, and that leaves engines at work then."""
    w = World(cluster)
    plant(cluster, 1, REDUCE, gate.stand)
    total = w.dist.b.sum()
    with CtrlC(0.1, after=gate.come, number=signal.SIGUSR1, error=TimeoutError):
        total.item()
    support.heal(cluster)
    np.testing.assert_allclose(total.item(), w.np.b.sum())
    w.check()
    support.work(cluster)
    quiet(cluster)


@pytest.mark.skipif(entries.__file__.endswith(".py"), reason="interpreted, Python drops it")
def test_where_an_array_is_dropped(cluster, monkeypatch):
    """Python drops what is raised in __del__: the array is freed, and Ctrl-C comes after that."""
    x, free, where = dnb.ones(9), Base.free, iter(("before", "after"))

    def press(base):
        place = next(where, "")
        if place == "before":
            signal.raise_signal(signal.SIGINT)
        free(base)
        if place == "after":
            signal.raise_signal(signal.SIGINT)

    cluster.flush()
    monkeypatch.setattr(Base, "free", press)
    with pytest.raises(KeyboardInterrupt):
        del x
        sum(k for k in range(9))
    assert next(where, None) is None
    quiet(cluster)


class LimitError(Exception):
    """Of a time limit, and made of more than a text."""

    def __init__(self, *, seconds):
        super().__init__(seconds, "seconds")


@pytest.mark.skipif(entries.__file__.endswith(".py"), reason="interpreted, Python drops it")
@pytest.mark.parametrize(
    "error",
    [LimitError(seconds=2), TimeoutError("mine"), OSError(4, "mine"), SystemExit(3), KeyError()],
)
def test_what_a_handler_raises_where_an_array_is_dropped(cluster, monkeypatch, error):
    x, free, where = dnb.ones(9), Base.free, iter(("before",))

    def press(base):
        if next(where, ""):
            signal.raise_signal(signal.SIGALRM)
        free(base)

    cluster.flush()
    monkeypatch.setattr(Base, "free", press)
    with (
        raising(signal.SIGALRM, error),
        pytest.raises(type(error)) as found,
    ):
        del x
        sum(k for k in range(9))
    assert str(found.value) == str(error)
    assert found.value.args == error.args
    assert getattr(found.value, "code", 3) == 3
    quiet(cluster)


def test_what_a_handler_raises_while_a_function_is_pickled(cluster):
    class Slow:
        def __reduce__(self):
            signal.raise_signal(signal.SIGALRM)
            return int, (3,)

    slow = Slow()
    with raising(signal.SIGALRM, TimeoutError("mine")), pytest.raises(TimeoutError, match="mine"):
        dnb.map(lambda x: x + slow, dnb.ones(9), dtype=float)
    quiet(cluster)


def test_before_an_array_is_made(monkeypatch):
    """Ctrl-C may come between the two halves of making one: nothing of it is freed."""
    dropped = []
    monkeypatch.setattr("sys.unraisablehook", dropped.append)
    Base.__new__(Base)
    assert not dropped


# Interrupts that come another way than from the notebook


@pytest.mark.cases(1)
@pytest.mark.ways("openmpi")
@pytest.mark.parametrize("number", [interrupts.STOP, signal.SIGINT])
def test_somebody_interrupts_one_engine(cluster, number, gate):
    w = World(cluster)
    slow = f"({gate.say}, [(time.sleep(0.01), worker.comm.check()) for _ in iter(int, 1)])"
    for rank in range(3):
        plant(cluster, rank, REDUCE, slow if rank == 1 else "pass")
    total = w.dist.b.sum()

    def interrupt():
        until(gate.come)
        cluster.transport.client.send_signal(number, 1, block=False)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        total.item()
    thread.join()
    support.heal(cluster)
    np.testing.assert_allclose(total.item(), w.np.b.sum())
    w.check()


def test_signals_to_idle_engines(cluster):
    w = World(cluster)
    client = cluster.transport.client
    for number in (interrupts.STOP, signal.SIGINT):
        client.send_signal(number, block=True)
    w.check()


def misses_a_batch(cluster, gate):
    """Let an interrupt hit engine 1 before it has begun the next batch."""
    support.on_rank(
        cluster,
        1,
        """
        def run(message, buffers):
            del worker.run
            SAY
            raise KeyboardInterrupt
        worker.run = run
        """.replace("SAY", gate.say),
    )


def test_an_engine_that_misses_a_batch(cluster, gate):
    """An interrupt that hits an engine outside of a batch costs this batch, no more."""
    w = World(cluster)
    cluster.flush()
    with cluster.recorder.lock:  # the idle timer sends no deletions first
        misses_a_batch(cluster, gate)
        total = w.dist.b.sum()
        w.dist.c += 1
    with CtrlC(0.3, after=gate.come):
        total.item()
    assert reading(total) is reading(w.dist.c) is dnb.LostArrayError
    w.dist.c[...] = w.np.c[...] = 1
    w.check()
    support.work(cluster)


def test_what_a_missed_batch_was_to_make_is_known_to_be_lost(cluster, gate, monkeypatch):
    """Also if that was not waited for: an engine that missed it has the arrays that others have."""
    w = World(cluster)
    support.work(cluster)
    with cluster.recorder.lock:  # all of it in one batch
        misses_a_batch(cluster, gate)
        made, other = dnb.zeros((9, 4), dist="block"), dnb.ones(7, dist="cyclic")
        total = other.sum()
    with CtrlC(0.3, after=gate.come), monkeypatch.context() as patch:
        patch.setattr(cluster.transport, "interrupt", lambda ticket: "engine 1: no answer")
        total.item()
    del other
    part = total
    with contextlib.suppress(dnb.LostArrayError):  # if the engine has answered meanwhile
        part = made[2:] + 1
    made[...] = 5
    assert made.to_numpy().tolist() == [[5] * 4] * 9
    assert reading(total) is reading(part) is dnb.LostArrayError
    w.check()
    support.work(cluster)


def test_an_engine_whose_reply_gets_lost(cluster, monkeypatch):
    w = World(cluster)
    sockets = cluster.transport.sockets
    keep, lost = sockets._keep, []

    def lose(rank, *reply):
        if rank == 1 and not lost:
            lost.append(rank)
        else:
            keep(rank, *reply)

    monkeypatch.setattr(sockets, "_keep", lose)
    total = w.dist.b.sum()
    with CtrlC(0.3, after=lambda: lost):
        total.item()
    assert lost == [1]
    interrupt_until_idle(cluster)
    assert reading(total) is dnb.LostArrayError
    w.check()


def test_an_engine_whose_reply_through_ipyparallel_gets_lost(cluster, monkeypatch):
    with setting(road="ipyparallel"), dnb.connect(client=cluster.transport.client) as session:
        w = World(session)
        total = w.dist.b.sum()
        session.send()
        (stuck,) = session.connection.sent[0].ticket
        done = session.transport.done
        monkeypatch.setattr(stuck, "get", not_ready)
        monkeypatch.setattr(session.transport, "done", lambda t: stuck not in t and done(t))
        interrupt_until_idle(session)
        assert reading(total) is dnb.LostArrayError
        w.check()


def interrupt_until_idle(session):
    """Interrupt again while engines do not answer soon: only then are they asked once more."""
    with session.recorder.lock:
        while session.connection.sent:
            session.unfinished.interrupt(KeyboardInterrupt())


def not_ready(timeout):
    raise TimeoutError("Result not ready.")


# SPMD


@pytest.mark.ways("openmpi")
def test_interrupts_under_spmd(tmp_path):
    assert support.spmd("interrupts", tmp_path) == "all is well\n"


@pytest.mark.ways("openmpi")
def test_ctrl_c_ends_a_job(gate):
    command, environment = support.spmd_command("wait", gate.folder)
    with subprocess.Popen(
        command, env=environment, cwd=support.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as job:
        assert job.stdout.readline() == b"ready\n"
        until(gate.come)
        job.send_signal(signal.SIGINT)
        job.wait()
    assert job.returncode != 0


# How it is done


def test_ctrl_c_is_put_off_and_comes_at_the_end():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts.deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            with interrupts.deferred_interrupts():
                signal.raise_signal(signal.SIGINT)
            done.append(1)
        done.append(2)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_comes_through_where_it_is_let_through():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append(1)
        interrupts.interruptible(lambda: done.append(2))
    assert done == [1]
    with interrupts.deferred_interrupts(forget=True):
        signal.raise_signal(signal.SIGINT)
    interrupts.interruptible(lambda: done.append(3))  # outside of any block it is a mere call
    assert done == [1, 3]


def test_ctrl_c_is_put_off_again_where_it_is_let_through():
    done = []

    def within():
        interrupts.shielded(lambda: [signal.raise_signal(signal.SIGINT), done.append(1)])
        done.append(2)

    with pytest.raises(KeyboardInterrupt), interrupts.deferred_interrupts():
        interrupts.interruptible(within)
    assert done == [1]
    with interrupts.deferred_interrupts(forget=True):
        interrupts.shielded(lambda: signal.raise_signal(signal.SIGINT))  # it was not let through
    interrupts.shielded(lambda: done.append(3))  # outside of any block it is a mere call
    assert done == [1, 3]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_does_within_what_it_would_not_do_outside():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            interrupts.deferred_interrupts(forget=True, handler=signal.default_int_handler),
        ):
            interrupts.interruptible(lambda: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def held_and_let_through(done):
    with interrupts.deferred_interrupts():
        interrupts.interruptible(lambda: done.append("within"))
        done.append("after")


def held_let_through_and_shielded(done):
    with interrupts.deferred_interrupts():
        interrupts.interruptible(lambda: interrupts.shielded(lambda: done.append("within")))
        done.append("after")


@contextlib.contextmanager
def raising(number, error):
    """Let a signal raise an exception; it is handled by the same function at the end."""

    def handler(*args):
        raise error

    before = signal.signal(number, handler)
    try:
        yield
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGINT, KeyboardInterrupt),
        (signal.SIGALRM, TimeoutError),
        (signal.SIGTERM, SystemExit),
    ],
)
@pytest.mark.parametrize("function", [held_and_let_through, held_let_through_and_shielded])
def test_a_signal_at_every_instruction(function, number, error):
    """Wherever it comes, it comes out once, and everything is as before."""
    with raising(number, error):
        at_every_instruction(function, number, error)


@pytest.mark.parametrize("leave", [host_arrays.left, small_steps.refused])
def test_what_a_handler_raises_is_not_taken_for_numpys(leave):
    """As a time limit that ends within a function of NumPy's, of which the long way tells more."""
    with raising(signal.SIGALRM, TimeoutError("mine")):
        with pytest.raises(TimeoutError, match="mine") as found:
            np.apply_along_axis(lambda x: signal.raise_signal(signal.SIGALRM), 0, np.ones(3))
        with pytest.raises(TimeoutError, match="mine"):
            leave(found.value)
        assert leave(TimeoutError("NumPy's")) is None


def at_every_instruction(function, number, error):
    handlers = [signal.getsignal(n) for n in (signal.SIGINT, number)]
    for at in range(1, 3000):
        left, done = [at], []

        def trace(frame, event, arg, left=left):
            frame.f_trace_opcodes = True
            if event == "opcode":
                left[0] -= 1
                if left[0] == 0:
                    signal.raise_signal(number)
            return trace

        sys.settrace(trace)
        try:
            function(done)
        except error:
            done.append("out")
        finally:
            sys.settrace(None)
        gc.collect(1)
        assert [signal.getsignal(n) for n in (signal.SIGINT, number)] == handlers, at
        assert interrupts._DEFERRALS == [], at
        assert ("out" in done) == (left[0] <= 0), at
        if left[0] > 0:
            break
    assert 100 < at < 2999


def test_what_handlers_raise_comes_out_as_it_is():
    """Within, it is KeyboardInterrupt: no wait takes it for its own."""
    error, within = TimeoutError("mine"), []
    with raising(signal.SIGALRM, error):
        with pytest.raises(TimeoutError) as found, interrupts.deferred_interrupts():
            signal.raise_signal(signal.SIGALRM)
            within.append("put off")
            try:
                interrupts.interruptible(lambda: within.append("not run"))
            except KeyboardInterrupt:
                within.append("let through")
        assert found.value is error
        with pytest.raises(TimeoutError) as found, interrupts.deferred_interrupts(forget=True):
            signal.raise_signal(signal.SIGALRM)  # only Ctrl-C is forgotten
        assert found.value is error
    assert within == ["put off", "let through"]


def test_each_of_several_signals_is_handled():
    came = []
    before = signal.signal(signal.SIGTERM, lambda *args: came.append("SIGTERM"))
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.deferred_interrupts():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                signal.raise_signal(number)
            assert came == []
        assert came == ["SIGTERM"]
        # also one that comes of what another one's handler does
        signal.signal(signal.SIGTERM, lambda *args: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt), interrupts.deferred_interrupts():
            interrupts.interruptible(
                lambda: [signal.raise_signal(signal.SIGTERM), came.append("not run")]
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == ["SIGTERM"]


def test_what_a_handler_sets_stays():
    def handler(*args):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(SystemExit), interrupts.deferred_interrupts():
            interrupts.interruptible(lambda: signal.raise_signal(signal.SIGTERM))
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_one_that_raises_as_soon_as_it_is_put_back(monkeypatch):
    """The others are put back all the same."""
    put, left = interrupts._signal.signal, [signal.SIGINT]

    def signals(number, handler):
        put(number, handler)
        if handler is signal.default_int_handler and left:
            signal.raise_signal(left.pop())

    with (
        raising(signal.SIGALRM, TimeoutError),
        monkeypatch.context() as patch,
        pytest.raises(KeyboardInterrupt),
        interrupts.deferred_interrupts(),
    ):
        patch.setattr(interrupts._signal, "signal", signals)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_signal_for_engines_does_nothing_elsewhere():
    before = signal.getsignal(interrupts.STOP)
    interrupts.listen()
    try:
        signal.raise_signal(interrupts.STOP)
        with interrupts.deferred_interrupts(forget=True):
            signal.raise_signal(interrupts.STOP)
        with pytest.raises(KeyboardInterrupt), interrupts.deferred_interrupts():
            interrupts.interruptible(lambda: signal.raise_signal(interrupts.STOP))
    finally:
        signal.signal(interrupts.STOP, before)


def test_other_threads_hold_nothing():
    found = []

    def look():
        with interrupts.deferred_interrupts():
            interrupts.interruptible(lambda: found.append(signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_a_handler_that_ignores_ctrl_c_stays():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.deferred_interrupts():
            interrupts.interruptible(lambda: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
