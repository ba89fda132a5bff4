"""Engines that have arrays in their own memory: others make them again, from how they came to be."""

import contextlib
import os
import threading
import time
from uuid import uuid4

import ipyparallel
import numpy as np
import pytest
from traitlets.config import Config

import distnb as dnb
from distnb.client.recovery import lineage, shared_memory
from tests.faults import hosts
from tests.faults.programs import Program
from tests.faults.test_recovery import kill, lost, numbers
from tests.interrupting import CtrlC
from tests.marking import MARK, marked, own_engines
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.fixture
def apart(monkeypatch):
    """Engines and notebook share no memory, as on different hosts."""
    monkeypatch.setattr(shared_memory, "new_segment", lambda *args, **options: None)


@pytest.fixture
def doomed(apart, doomed):
    """A session whose engines have arrays in their own memory, and may die."""
    return doomed


def program():
    """Return arrays that came to be in many ways, and what is in them."""
    x = dnb.array(numbers(300, 20), dist="block")
    y = dnb.arange(6000.0).reshape(300, 20).T.copy().T
    x[3:9] = y[13:19] + 1
    z = x * y
    z += x[::-1]
    for _ in range(30):
        z = z * 0.5 + x
    found = [x, y, z, z.sum(axis=1), x[2:90], dnb.map(lambda v: v * 2, y), x.T @ y]
    found += [dnb.random.default_rng(5).normal(size=(200, 30)), dnb.sort(x.ravel())]
    matrix = dnb.sparse.random_array((300, 300), density=0.1, rng=1, format="csr")
    found += [matrix @ y, dnb.unique(dnb.floor(x))]
    found.append(dnb.map_blocks(lambda block: block[1:-1] + block[2:], y, halo=(1, 0)))
    return found, [each.to_numpy() for each in found]


def same(found, wanted):
    for mine, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine.to_numpy(), right)


@pytest.mark.ways("openmpi")
def test_arrays_are_made_again(doomed, capsys):
    found, wanted = program()
    for ranks in ((1,), ()):
        kill(doomed, *ranks)
        found[2] += 1  # and goes on from there
        wanted[2] += 1
        same(found, wanted)
    text = capsys.readouterr().err
    assert text.count("new ones start, and make the arrays again") == 2
    assert text.count("arrays on engines made again") == 2
    assert "lost" not in text.replace("%px", "")


def test_what_px_was_shown_is_lost_and_says_so(doomed):
    x, y = dnb.arange(2000.0), dnb.ones(1000) * 3
    doomed.bind([("x", x.operand)])
    z = x * 2
    doomed.flush()
    kill(doomed)
    assert y.sum().item() == 3000
    for each in (x, z):
        lost(each.to_numpy, "%px code may have written it; it was made")
    x[:] = 5
    assert x.sum().item() == 10_000


def test_what_tasks_made_is_lost_or_as_it_was(doomed):
    """Which engine ran a task is settled by who is free."""
    a, b = dnb.arange(4000.0).reshape(400, 10), dnb.zeros((400, 10))
    joined = dnb.foreach(lambda part: part + 1, a.splits(40))
    dnb.foreach(lambda part: part.__iadd__(2), b.splits(40), update=0)
    torn = b.copy()

    def fails(part):
        part += 1
        if part[0, 0] == 3:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        dnb.foreach(fails, torn.splits(40), update=0)
    doomed.flush()
    kill(doomed)
    assert (b + a).sum().item() == 4000 * 3999 / 2 + 8000
    lost(joined.to_numpy, "which engine called the function")
    lost(torn.to_numpy, "failed, or was given up")


def test_files_that_were_written_are_not_written_again(doomed, tmp_path):
    x, y = dnb.arange(4000.0) * 2, dnb.ones(4000) * 3
    dnb.save(tmp_path / "x.npy", x)
    x.tofile(tmp_path / "x.raw")
    doomed["x"] = x
    dnb.checkpoint(tmp_path / "run")
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    kill(doomed)
    assert y.sum().item() == 12_000
    np.testing.assert_array_equal(x.to_numpy(), np.arange(4000.0) * 2)
    assert stamps == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}


def test_checkpoints_one_after_the_other(doomed, tmp_path, monkeypatch):
    """A chain that was given up begins anew at each; the last one counts."""
    monkeypatch.setattr(lineage, "_MOST", 60)
    monkeypatch.setattr(lineage, "_FEW", 10)
    x, short = dnb.arange(4000.0), dnb.ones(4000) * 2
    for step in range(4):
        for _ in range(50):
            x = x * 0.5 + 1
            doomed.flush()
        doomed["x"] = x
        doomed["short"] = short
        dnb.checkpoint(tmp_path / "run")
        short += step
        x += 1
        doomed.flush()
    wanted, after = x.to_numpy(), short * 3
    kill(doomed)
    np.testing.assert_array_equal(x.to_numpy(), wanted)
    assert (short.sum().item(), after.sum().item()) == (4000 * 8, 4000 * 24)


def test_a_file_that_is_another_now(doomed, tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", numbers(400, 50))
    a, b = (dnb.load(tmp_path / f"{name}.npy") * 2 for name in "ab")
    doomed.flush()
    (tmp_path / "b.npy").write_bytes(b"other")
    kill(doomed)
    np.testing.assert_array_equal(a.to_numpy(), numbers(400, 50) * 2)
    lost(b.to_numpy, "the file that it was read from is another now")


def test_what_cannot_be_kept_changes_nothing(doomed):
    """To ask for it on engines that share no memory is refused, and they are followed as before."""
    x = dnb.arange(2000.0) * 2
    doomed.flush()
    with pytest.raises(dnb.EngineError, match="keep: got no memory that processes share"):
        doomed.recovery.prepare(wanted=True)
    kill(doomed)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(2000.0) * 2)


@pytest.mark.tier("test-all")
def test_what_takes_too_long_is_lost(apart, monkeypatch, capsys):
    monkeypatch.setattr(dnb.config, "lineage", 1e-9)
    with own_engines(2, monkeypatch) as session:
        x = dnb.arange(2000.0) * 2
        session.flush()
        kill(session)
        with pytest.raises(dnb.LostArrayError, match=r"longer than dnb\.config\.lineage"):
            x.to_numpy()
        assert (dnb.ones(900) * 2).sum().item() == 1800


@pytest.mark.tier("test-all")
def test_without_it_a_death_is_the_end(apart, monkeypatch):
    monkeypatch.setattr(dnb.config, "lineage", 0)
    with own_engines(2, monkeypatch) as session:
        x = dnb.arange(2000.0) * 2
        session.flush()
        kill(session)
        with pytest.raises(dnb.EngineError, match=r"arrays are lost"):
            x.to_numpy()


@pytest.mark.parametrize("more", [0, pytest.param(2, marks=pytest.mark.tier("test-all"))])
def test_engines_that_die_of_doing_it_again(doomed, tmp_path, more):
    """What kills them is tried twice; then it is lost, and the session goes on."""
    mine, other = tmp_path / "once", dnb.ones(900) * 2

    def deadly(x, path=str(mine)):
        if os.path.exists(path):
            os._exit(1)
        return x + 1

    x, beside = dnb.map(deadly, other, dtype=float), other + 5  # in one batch
    others = [dnb.map(deadly, other, dtype=float) for _ in range(more)]
    doomed.flush()
    y, z = x * 2, other * 3
    doomed.flush()
    mine.touch()
    kill(doomed)
    for each in (x, y, *others):
        lost(each.to_numpy, "engines died as they did")
    assert (other + z + beside).sum().item() == 900 * 15


def test_ctrl_c_while_they_are_made_again(doomed, tmp_path):
    """The next use begins once more."""
    come, go = tmp_path / "come", tmp_path / "go"

    def waits(v, come=str(come), go=str(go)):
        open(come, "w").close()
        while not os.path.exists(go):
            time.sleep(0.01)
        return v + 1

    go.touch()
    x = dnb.arange(4000.0) * 2
    y = dnb.map(waits, x, dtype=float)
    doomed.flush()
    come.unlink()
    go.unlink()
    kill(doomed)
    with CtrlC(0.2, after=come.exists):
        y.sum().item()
    go.touch()
    np.testing.assert_array_equal(y.to_numpy(), np.arange(4000.0) * 2 + 1)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(4000.0) * 2)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.tier("test-all"))])
def test_a_program_goes_on(doomed, seed):
    program = Program(seed)
    for _ in range(2):
        doomed.flush()
        pid = doomed.transport.about[0]["pid"]
        thread = threading.Timer(0.05, kill, [doomed])
        thread.start()
        while thread.is_alive():
            try:
                program.statement()
            except dnb.LostArrayError:
                program.check()
        thread.join()
        program.check()
        assert doomed.transport.about[0]["pid"] != pid


# Clusters of the user's


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """Start a cluster of somebody's, whose engines may die; returns what does it.

    The same one twice where the same is asked for and all of its engines are there.
    """
    mark, made = uuid4().hex, {}

    def start(**options):
        asked = str(options)
        if asked not in made or len(made[asked].connect_client_sync().ids) != 2:
            pauses = ["--HeartMonitor.period=500"]
            made[asked] = ipyparallel.Cluster(
                engines="mpi", n=2, controller_args=pauses, log_level=40, **options
            )
            stack.callback(made[asked].stop_cluster_sync)
            made[asked].start_and_connect_sync()
        return made[asked]

    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setenv(MARK, mark)
        for name, value in hosts.environment(tmp_path_factory.mktemp("theirs")).items():
            patch.setenv(name, value)
        yield start
    until(lambda: not marked(mark))


@pytest.mark.parametrize(
    "ways", [("use",), pytest.param(("use", "recover"), marks=pytest.mark.tier("test-all"))]
)
def test_engines_that_somebody_starts_again_take_over(theirs, capsys, ways):
    cluster = theirs(profile="waits")
    with dnb.connect(client=cluster.connect_client_sync()) as session:
        go_on(session, cluster, *ways)
        assert "arrays are as before" in capsys.readouterr().err


def test_connecting_again_waits_for_engines(theirs, monkeypatch):
    """It is the same session, which goes on with them."""
    cluster = theirs(profile="waits")
    with dnb.connect("waits", cluster.cluster_id, timeout=60) as session:
        x = dnb.arange(4000.0) * 2
        session.flush()
        kill(session)
        timer = threading.Timer(1.5, start_again, [session, cluster])
        timer.start()
        assert dnb.connect("waits", cluster.cluster_id, timeout=60) is session
        timer.join()
        np.testing.assert_array_equal(x.to_numpy(), np.arange(4000.0) * 2)
        session.close()


@pytest.mark.tier("test-all")
def test_engines_of_other_hosts_that_somebody_starts_again(apart, theirs, capsys):
    cluster = theirs()
    with dnb.connect(client=cluster.connect_client_sync()) as session:
        go_on(session, cluster, "use", "recover")
        assert "arrays on engines made again" in capsys.readouterr().err


def go_on(session, cluster, *ways):
    """Let engines die and somebody start others, once for each way in which they are met."""
    found, wanted = program()
    for way in ways:
        kill(session)
        with pytest.raises(dnb.EngineError, match="start as many again, as these were started"):
            found[2].sum().item()
        with pytest.raises(dnb.EngineError, match="got 0, expected 2; start as many again"):
            session.recover()
        if way == ways[-1]:  # of which too many are no help, and do no harm
            start_again(session, cluster, 3)
            with pytest.raises(dnb.EngineError, match="got 3, expected 2; end the others"):
                session.recover()
            cluster.stop_engines_sync()
            until(lambda: not session.transport.client.ids)
        start_again(session, cluster)
        if way == "recover":
            session.recover()
        same(found, wanted)


def start_again(session, cluster, count=2):
    client = session.transport.client
    before = dict(client._engines)
    cluster.start_engines_sync(n=count)
    until(lambda: len(client._engines.items() - before.items()) == count)


# Several hosts


@pytest.mark.mpich_only  # whose launcher can be told how to reach hosts
@pytest.mark.tier("test-all")
@pytest.mark.skipif(not hosts.possible(), reason="needs network namespaces")
def test_a_host_whose_link_is_slow_one_that_is_lost_and_one_whose_link_is_cut(
    apart, theirs, tmp_path, capsys
):
    with hosts.Hosts(tmp_path, 2) as two:
        settings = Config()
        settings.MPILauncher.mpi_args = settings.MPIEngineSetLauncher.mpi_args = two.mpi
        cluster = theirs(controller_ip=two.address, config=settings)
        with dnb.connect(client=cluster.connect_client_sync()) as session:
            assert {about["host"] for about in session.transport.about} == {*two.names}
            assert session.transport.kind == "direct sockets"
            two.slow(two.names[0])
            found, wanted = program()
            same(found, wanted)
            for fault in (two.lose, two.cut):
                fault(two.names[1])
                with pytest.raises(dnb.EngineError, match="start as many again"):
                    found[2].sum().item()
                two.join(two.names[1])
                start_again(session, cluster)
                same(found, wanted)
    assert capsys.readouterr().err.count("arrays on engines made again") == 2
