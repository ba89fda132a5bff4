"""Engines that are killed: new ones take over, nothing is done twice, and what is lost says so."""

import errno
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import ipyparallel
import numpy as np
import pytest

import distnb as dnb
from distnb.client.batching import user_functions
from distnb.client.batching.rounds import Rounds
from distnb.client.recovery import renewal
from distnb.common import machine
from distnb.magics.cells import follow_cells
from tests.failures.support import ROOT, plant, setting
from tests.faults.programs import LAYOUTS, Program
from tests.interrupting import CtrlC
from tests.marking import own_engines
from tests.stopping import stopped
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")


def kill(session, *ranks):
    for rank in ranks or range(session.size):
        os.kill(session.transport.about[rank]["pid"], signal.SIGKILL)


def caught(session, gate, rank, when="name == 'Reduce'"):
    """Let an engine stop in a batch; return what ends it, sends it and kills the engines."""
    last = dnb.ones(9)
    plant(session, rank, when, gate.stand)

    def die():
        total = last.sum()
        session.send()
        until(gate.come)
        until(
            lambda: min(notes := session.memory.segment.begun[: session.size]) >= notes[rank]
        )  # all are there
        kill(session)
        return total

    return die


@pytest.fixture
def at_once(monkeypatch):
    """Batches leave when they are sent, and at no other time, however slow the machine is."""
    monkeypatch.setattr(Rounds, "_share", lambda self, count: 0.0)
    with setting(flush_idle=600.0):
        yield


def numbers(*shape):
    return (np.arange(np.prod(shape)) * 7919 % 104729 + 0.25).reshape(shape)


def lost(use, pattern="engines died while"):
    with pytest.raises(dnb.LostArrayError, match=pattern):
        use()


@pytest.mark.ways("openmpi")
def test_while_idle_all_arrays_are_as_before(doomed, capsys):
    large, small = numbers(300, 200), numbers(5, 3)
    found = []
    for layout in LAYOUTS:
        for data in (large, small):
            x = dnb.array(data, dist=layout)
            found += [(x, data), (x * 2, data * 2), (x[::-1] + 1, data[::-1] + 1)]
    found.append((dnb.random.default_rng(3).random(100_000), None))
    found.append((dnb.sparse.random_array((400, 300), density=0.1, rng=1, format="csr"), None))
    before = [x.to_scipy() if hasattr(x, "to_scipy") else x.to_numpy() for x, _ in found]
    views = [(found[0][0][3:9, ::2], large[3:9, ::2]), (found[0][0].T, large.T)]
    for ranks in ((1,), ()):
        kill(doomed, *ranks)
        for (x, data), was in zip(found, before, strict=True):
            if hasattr(x, "to_scipy"):
                assert (x.to_scipy() != was).nnz == 0
                np.testing.assert_array_equal((x @ np.ones(300)), was @ np.ones(300))
            else:
                np.testing.assert_array_equal(x.to_numpy(), was if data is None else data)
        for view, data in views:
            np.testing.assert_array_equal(view.to_numpy(), data)
        found[0][0][0] += 1  # and they can be written
        found[0] = found[0][0], found[0][0].to_numpy()
        views = [(found[0][0][3:9, ::2], found[0][1][3:9, ::2])]
    text = capsys.readouterr().err
    assert text.count("engines have died: new ones start") == 2
    assert text.count("; arrays are as before; what %px") == 2
    assert "lost" not in text.replace("%px", "")
    log = doomed._owner._watchdog.folder / "controller.log"
    assert "heartbeat" not in log.read_text()  # it would be a line at every beat, for ever


@pytest.mark.tier("test-all")
def test_what_products_keep_is_found_again(doomed):
    matrix = dnb.sparse.random_array((400, 300), density=0.1, rng=1, format="csr")
    a, u = matrix.to_scipy(), numbers(300)
    x = dnb.array(u, dist="block")
    np.testing.assert_allclose((matrix @ x).to_numpy(), a @ u)
    kill(doomed)
    assert x.sum().item() == pytest.approx(u.sum())  # engines are there again
    for _ in range(2):
        np.testing.assert_allclose((matrix @ x).to_numpy(), a @ u)
    x += 1
    np.testing.assert_allclose((matrix @ x).to_numpy(), a @ (u + 1))


def test_products_under_way_are_made_again(doomed, gate, at_once):
    """What engines had planned for them went with these, and is planned anew."""
    matrix = dnb.sparse.random_array((300, 300), density=0.1, rng=1, format="csr")
    a, want = matrix.to_scipy(), [numbers(300)]
    found = [dnb.array(want[0], dist="block")]
    np.testing.assert_allclose((matrix @ found[0]).to_numpy(), a @ want[0])
    at = np.arange(300)
    picked = matrix[at, at[::-1]]
    die = caught(doomed, gate, 1, "op == 'sparse.multiply'")
    for _ in range(3):
        found.append(matrix @ found[-1] / 100)
        want.append(a @ want[-1] / 100)
    die()
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x.to_numpy(), y)
    np.testing.assert_array_equal(picked.to_numpy(), a[at, at[::-1]])


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
def test_new_engines_take_over_although_nobody_asks(doomed, capsys):
    x, half = dnb.array(numbers(300, 200)), dnb.zeros(9)
    doomed.flush()
    with setting(flush_idle=600.0):
        half += 1  # not sent
        before = doomed.transport.about
        kill(doomed, 1)
        until(lambda: doomed.transport.about is not before and not doomed.connection.dead)
        until(lambda: doomed.recorder.lock.acquire(blocking=False))
        doomed.recorder.lock.release()
    assert capsys.readouterr().err.count("ready again after") == 1
    kill(doomed, 0)  # new ones are looked after, too
    until(lambda: "new ones start" in capsys.readouterr().err)
    np.testing.assert_array_equal(x.to_numpy(), numbers(300, 200))
    assert half.sum().item() == 9


@pytest.mark.cases(1)
@pytest.mark.parametrize(("recover", "do"), [("ask", "session.recover"), ("never", "dnb.start")])
def test_a_line_says_at_once_what_to_do(monkeypatch, capsys, recover, do):
    with setting(recover=recover), own_engines(2, monkeypatch) as session:
        kill(session, 1)
        until(lambda: do in capsys.readouterr().err)
        session.close()
        assert not capsys.readouterr().err


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
def test_functions_that_were_dropped_meanwhile(doomed, gate, at_once, monkeypatch):
    monkeypatch.setattr(user_functions, "_MOST", 1)
    x = dnb.arange(1000.0)
    die = caught(doomed, gate, 0)
    found = [dnb.map(lambda v, k=k: v + k, x) for k in range(3)]
    die()
    found.append(dnb.map(lambda v: v + 3, x))  # told to engines that are dead
    for k, array in enumerate(found):
        np.testing.assert_array_equal(array.to_numpy(), np.arange(1000.0) + k)
    doomed.flush()
    assert not doomed.functions.leaving


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
def test_an_engine_that_aborts(doomed):
    x = dnb.array(numbers(50, 50))
    doomed.flush()
    before = doomed.transport.about
    code = "from mpi4py import MPI; MPI.COMM_WORLD.Abort()"
    doomed.transport.client[1].execute(code, block=False)
    while doomed.transport.about is before:  # nobody hears of the others' being interrupted
        np.testing.assert_array_equal((x + 1).to_numpy(), numbers(50, 50) + 1)


@pytest.mark.ways("openmpi")
@pytest.mark.cases(1)
@pytest.mark.parametrize("torn", [True, False])
def test_a_batch_is_run_again_and_what_was_half_written_is_named(
    doomed, gate, at_once, torn, capsys
):
    data = numbers(60, 50)
    x, y, z, w = (dnb.array(data + k) for k in range(4))
    die = caught(doomed, gate, 1, "op == 'add'" if torn else "name == 'Reduce'")
    x += 1
    y[2:5] = 7.0
    new = w * 2 + 1
    z[:] = w + 5
    of_torn = x * 2
    total = new.sum()
    die()
    after = w + 100  # recorded when engines are dead already
    assert total.item() == ((data + 3) * 2 + 1).sum()
    expected = data + 1
    expected[2:5] = 7.0
    for array, value in ((y, expected), (w, data + 3), (z, data + 8), (after, data + 103)):
        np.testing.assert_array_equal(array.to_numpy(), value)
    np.testing.assert_array_equal(new.to_numpy(), (data + 3) * 2 + 1)
    if not torn:  # what all had done is not done twice
        np.testing.assert_array_equal(x.to_numpy(), data + 1)
        np.testing.assert_array_equal(of_torn.to_numpy(), (data + 1) * 2)
        return
    assert "; arrays are as before, 2 lost: each says why" in capsys.readouterr().err
    lost(x.to_numpy, "'add' at .*test_recovery.py")
    lost(lambda: x + 1)
    lost(of_torn.to_numpy)
    x[:] = 3
    assert x.sum().item() == 3 * data.size


@pytest.mark.tier("test-all")
def test_what_no_engine_had_begun_is_done_once(doomed, gate, at_once):
    x, y = dnb.zeros((40, 40)), dnb.ones((40, 40))
    die = caught(doomed, gate, 0)
    die()
    for _ in range(3):
        x += 1
        doomed.send()
    x += 10  # not sent
    assert y.sum().item() == 1600
    assert np.all(x.to_numpy() == 13)


@pytest.mark.tier("test-all")
def test_functions_streams_and_names(doomed, gate, at_once):
    x = dnb.arange(1000.0)
    rng = dnb.random.default_rng(5)
    rng.random(1000)
    offset = 3
    mapped = dnb.map(lambda v: v + offset, x).to_numpy()
    twin = dnb.random.default_rng(5)
    twin.random(1000)
    expected = twin.random(1000).to_numpy()
    die = caught(doomed, gate, 1)
    later, total = dnb.map(lambda v: v + offset, x), x.sum()
    die()
    assert total.item() == 999 * 500
    np.testing.assert_array_equal(later.to_numpy(), mapped)
    np.testing.assert_array_equal(dnb.map(lambda v: v + offset, x).to_numpy(), mapped)
    np.testing.assert_array_equal(rng.random(1000).to_numpy(), expected)
    client = doomed.transport.client
    assert client[:].apply_sync(os.getpid) == [a["pid"] for a in doomed.transport.about]
    assert client.ids == [0, 1]


def wait_in_vain(session, monkeypatch, x):
    """Press Ctrl-C while engines are waited for, until they are known not to answer."""
    waits, wait = threading.Event(), session.connection.wait
    with monkeypatch.context() as patch:
        patch.setattr(session.connection, "wait", lambda: (waits.set(), wait()))
        while not session.connection.silent:
            waits.clear()
            with CtrlC(0.1, after=waits.is_set):
                x.sum().item()


@pytest.mark.ways("openmpi")
def test_engines_that_do_not_answer_are_replaced(doomed, at_once, monkeypatch):
    """As in a long call of compiled code, which no Ctrl-C ends: until then all waits for them."""
    x, y, z = (dnb.array(numbers(50, 50), dist="block") for _ in range(3))
    doomed.flush()
    doomed.recover()
    before = [about["pid"] for about in doomed.transport.about]
    with stopped(before[1]):
        y += 1
        made = x * 2
        wait_in_vain(doomed, monkeypatch, made)
        z += 1  # is asked for while they do not answer
        doomed.recover()
        assert not set(before) & {about["pid"] for about in doomed.transport.about}
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
    np.testing.assert_array_equal(z.to_numpy(), numbers(50, 50) + 1)
    for gone in (y, made):
        with pytest.raises(dnb.LostArrayError):
            gone.to_numpy()


def test_an_engine_whose_socket_is_cut_is_replaced(doomed):
    x = dnb.array(numbers(50, 50), dist="block")
    doomed.flush()
    before = {about["pid"] for about in doomed.transport.about}
    doomed.transport.sockets._channels[1]._socket.shutdown(socket.SHUT_RDWR)
    np.testing.assert_array_equal((x + 1).to_numpy(), numbers(50, 50) + 1)
    assert not before & {about["pid"] for about in doomed.transport.about}


def test_engines_that_failed_outside_of_a_batch_are_replaced(doomed):
    x = dnb.array(numbers(50, 50), dist="block")
    doomed.flush()
    fails = FAILS.format(doomed.transport._session)
    doomed.transport.client[:].execute(fails, block=False).get(60)
    with pytest.raises(dnb.EngineError, match=r"KeyError\W+planning.*recover\(\)"):
        np.sort(x.reshape(-1)).to_numpy()
    doomed.recover()
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))


#: Batches of a session fail before they begin.
FAILS = """
import distnb.engines.server.entry as e
def fails(*_):
    raise KeyError("planning")
e.worker({!r}).run = fails
"""


@pytest.mark.tier("test-all")
def test_engines_that_do_not_answer_and_have_the_arrays_stay(monkeypatch):
    with setting(recover="never"), own_engines(2, monkeypatch) as session:
        x = dnb.array(numbers(50, 50), dist="block")
        session.flush()
        with stopped(session.transport.about[1]["pid"]):
            wait_in_vain(session, monkeypatch, x)
            with pytest.raises(dnb.EngineError, match=r"do not answer.*beside=True"):
                session.recover()
        np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
        with stopped(session.transport.about[1]["pid"]):
            wait_in_vain(session, monkeypatch, x)
            session.close()  # waits for nothing


def test_what_engines_die_of_each_time_is_left_out(doomed, at_once, monkeypatch):
    """It would end the engines that come in their place, and so on for ever."""
    monkeypatch.setattr(renewal, "_DEATHS", 2)
    x = dnb.array(numbers(50, 50), dist="block")
    doomed.flush()
    made = dnb.map(lambda v: os._exit(1), x, dtype=float)
    after, last = x * 2, made + 1
    with pytest.raises(dnb.EngineError, match=r"got 2 deaths at 'map \(<lambda>\)' at"):
        last.to_numpy()
    for gone in (made, last):
        lost(gone.to_numpy)
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
    np.testing.assert_array_equal(after.to_numpy(), numbers(50, 50) * 2)


@pytest.mark.tier("test-all")
def test_tasks_that_engines_die_of_each_time_are_left_out(doomed, at_once, monkeypatch):
    monkeypatch.setattr(renewal, "_DEATHS", 2)
    x = dnb.array(numbers(50, 50), dist="block")

    def end(part):
        os._exit(1)

    with pytest.raises(dnb.EngineError, match=r"got 2 deaths at 'foreach \(.*end\)' at"):
        dnb.foreach(end, x.splits(2))
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))


@pytest.mark.tier("test-all")
def test_tasks_that_were_updating_an_array_when_engines_died(doomed, at_once, tmp_path):
    x = dnb.array(numbers(50, 50), dist="block")
    doomed.flush()

    def end(part, path):
        part += 1
        if not os.path.exists(path):
            open(path, "w").close()
            os._exit(1)

    with pytest.raises(dnb.LostArrayError, match=r"^foreach \(.*end\): got no results: .*again$"):
        dnb.foreach(end, x.splits(2), str(tmp_path / "begun"), update=0)
    lost(x.to_numpy)
    x[:] = numbers(50, 50)
    dnb.foreach(end, x.splits(2), str(tmp_path / "begun"), update=0)
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50) + 1)


@pytest.mark.tier("test-all")
def test_engines_that_die_while_they_take_over(doomed, monkeypatch):
    x = dnb.array(numbers(50, 50))
    x += 1
    doomed.flush()
    take_over, left = doomed.recovery._take_over, [True]

    def dying(orphans):
        if left.pop() if left else False:
            kill(doomed)
        return take_over(orphans)

    monkeypatch.setattr(doomed.recovery, "_take_over", dying)
    kill(doomed, 0)
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50) + 1)
    assert not left


def test_what_was_lost_before_engines_died_is_not_there(doomed, gate, at_once):
    """Although nobody has it any more but a batch on its way."""
    x = dnb.array(numbers(50, 50))
    doomed.flush()

    def fails(part):
        raise ZeroDivisionError("mine")

    die = caught(doomed, gate, 1)
    bad = dnb.map(fails, x, dtype=float)
    doomed.send()
    y = bad + 1
    del bad
    total = die()
    with pytest.raises(ZeroDivisionError, match="mine"):
        doomed.flush()
    assert total.item() == 9
    lost(y.to_numpy)
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
    y[:] = x
    doomed.flush()
    kill(doomed)  # and what is good again stays
    np.testing.assert_array_equal(y.to_numpy(), numbers(50, 50))


def test_new_engines_that_are_gone_before_they_are_reached(doomed, monkeypatch):
    """What ipyparallel says of that is no EngineError."""
    x = dnb.array(numbers(50, 50))
    doomed.flush()
    kind = type(doomed.transport)
    reach, left = kind._reach, [True]

    def gone(self, ids):
        if left:
            left.pop()
            raise ipyparallel.error.NoEnginesRegistered("none")
        reach(self, ids)

    monkeypatch.setattr(kind, "_reach", gone)
    kill(doomed)
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
    assert not left


def test_a_notebook_without_room_to_connect_goes_on_when_there_is_some(doomed, monkeypatch):
    """ZeroMQ would end it, and with it the arrays."""

    def full(*args):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    x = dnb.array(numbers(50, 50))
    doomed.flush()
    with monkeypatch.context() as patch, setting(place="engines"):
        patch.setattr(machine, "mmap", SimpleNamespace(mmap=full))
        with pytest.raises(MemoryError, match="expected some to connect"):
            doomed.resize(3)
        np.testing.assert_array_equal((x + 1).to_numpy(), numbers(50, 50) + 1)
        kill(doomed)
        with pytest.raises(MemoryError, match="expected some to connect"):
            (x + 2).to_numpy()
    np.testing.assert_array_equal((x + 2).to_numpy(), numbers(50, 50) + 2)


@pytest.mark.tier("test-all")
def test_new_engines_that_die_before_they_answer(doomed, monkeypatch):
    x = dnb.array(numbers(50, 50))
    doomed.flush()
    kind = type(doomed.transport)
    ranks, left = kind._ranks, [True]

    def dying(self, client, ids):
        if left:
            left.clear()
            for pid in client[ids].apply_sync(os.getpid):
                os.kill(pid, signal.SIGKILL)
        return ranks(self, client, ids)

    monkeypatch.setattr(kind, "_ranks", dying)
    kill(doomed)
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
    assert not left


def test_ctrl_c_meanwhile(doomed, monkeypatch):
    x = dnb.array(numbers(50, 50))
    doomed.flush()
    renew, left = type(doomed.transport).renew, [True]

    def pressed(self):
        renew(self)
        if left:
            left.clear()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(type(doomed.transport), "renew", pressed)
    kill(doomed, 1)
    with pytest.raises(KeyboardInterrupt):
        x.to_numpy()
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))


@pytest.mark.tier("test-all")
def test_only_if_it_is_wanted(doomed):
    x = dnb.array(numbers(50, 50))
    doomed.flush()
    with setting(recover="ask"):
        kill(doomed, 0)
        for _ in range(2):
            with pytest.raises(dnb.EngineError, match=r"session.recover\(\)"):
                (x + 1).to_numpy()
        doomed.recover()
        doomed.recover()
    np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))


@pytest.mark.tier("test-all")
def test_code_for_engines_is_for_those_that_take_over(doomed, monkeypatch):
    monkeypatch.setattr(doomed.transport.client, "activate", lambda: None)  # there is no %px here
    follow_cells(SimpleNamespace(user_ns={"x": dnb.array(numbers(50, 50), dist="block")}))
    engines = doomed.transport.client.direct_view("all")

    def pressed(*args):
        raise KeyboardInterrupt

    def dies():
        kill(doomed, 0)
        until(lambda: not doomed.transport.alive())

    def resizes():
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(type(doomed.transport), "start_others", pressed)
            doomed.resize(3)

    for goes in (dies, resizes):
        goes()
        engines.execute("n = x.shape[0]", block=True)
        assert engines["n"] == [50] * doomed.size
        assert not doomed.connection.dead


@pytest.mark.tier("test-all")
@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_was_not_saved_is_written_by_no_others(doomed, tmp_path, meanwhile):
    x = dnb.array(numbers(50, 50))
    doomed.flush()
    with setting(recover="ask"):
        if meanwhile:
            plant(doomed, 0, "op == 'file.write'", "os.kill(os.getpid(), 9)")
        else:
            kill(doomed, 0)
        with pytest.raises(dnb.EngineError, match=r"session.recover\(\)"):
            dnb.save(tmp_path / "x.npy", x)
        assert not os.listdir(tmp_path)
        doomed.recover()
        doomed.flush()
    dnb.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), numbers(50, 50))


@pytest.mark.tier("test-all")
def test_arrays_in_engines_own_memory_are_lost_with_them(monkeypatch):
    with setting(recover="never"), own_engines(2, monkeypatch) as session:
        x = dnb.array(numbers(50, 50))
        session.flush()
        kill(session, 0)
        with pytest.raises(dnb.EngineError, match="arrays are lost"):
            x.to_numpy()
        with setting(recover="auto"), pytest.raises(dnb.EngineError):
            session.recover()


@pytest.mark.tier("test-all")
def test_a_session_on_some_of_the_engines(doomed):
    x = dnb.array(numbers(50, 50))
    with dnb.subset(1) as part:
        y = dnb.array(numbers(20, 20), session=part)
        part.flush()
        doomed.flush()
        kill(doomed, 1)
        np.testing.assert_array_equal(x.to_numpy(), numbers(50, 50))
        lost_or_not = part.connection.keeps
        if lost_or_not:
            np.testing.assert_array_equal(y.to_numpy(), numbers(20, 20))
        else:
            with pytest.raises(dnb.EngineError):
                y.to_numpy()


# Random programs


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
@pytest.mark.cases(1)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_numpys_or_say_what_is_lost(doomed, seed):
    program = Program(seed)
    chance = random.Random(seed + 1000)
    doomed.flush()
    for _ in range(2):
        victims = chance.choice([(0,), (1,), ()])
        pid = doomed.transport.about[0]["pid"]
        thread = threading.Timer(chance.uniform(0, 0.05), kill, (doomed, *victims))
        thread.start()
        end = time.monotonic() + 0.2
        while time.monotonic() < end or thread.is_alive():
            try:
                program.statement()
            except dnb.LostArrayError:
                program.check()
        thread.join()
        program.check()
        assert doomed.transport.about[0]["pid"] != pid


@pytest.mark.tier("test-all")
@pytest.mark.timeout(600)
@pytest.mark.ways("openmpi")
@pytest.mark.parametrize("options", [["1"], ["2"], ["3", "apart"]])
def test_a_program_under_faults_of_all_kinds(monkeypatch, options):
    """What ``python -m tests.faults.soak`` does for as long as one likes."""
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    command = [sys.executable, "-m", "tests.faults.soak", "0", *options]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert found.stdout.endswith("all is well\n"), found.stdout + found.stderr
