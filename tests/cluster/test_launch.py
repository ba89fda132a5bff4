"""Engines start, stop, and never outlive the process that started them.

Processes are found by a mark in their environment, which all of a cluster's processes inherit.
"""

import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import ipyparallel
import pytest

import distnb as dnb
from distnb.client.transport import joining, launch, watchdog
from distnb.client.transport.contract import KERNELS
from distnb.client.transport.mpiexec import (
    ROOT_CONFIRMED,
    THREADS,
    engine_environment,
    find_mpiexec,
)
from distnb.common.errors import EngineError, LateError
from tests.interrupting import CtrlC
from tests.marking import MARK, marked
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture(autouse=True)
def allow_root(monkeypatch):
    """Let containers, where tests run as root, use Open MPI."""
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")


@pytest.fixture
def mark(monkeypatch):
    """A mark on the processes that a test starts; none may be left at its end."""
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    yield name
    until(lambda: not marked(name))


@pytest.fixture
def scratch(monkeypatch, tmp_path):
    """Folders of its own for temporary files and for IPython."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "t").mkdir()
    return tmp_path


@pytest.fixture
def client(engines):
    return engines.transport.client


def script(body, *before):
    """Return the command of an owner that starts two engines, says so, and runs a body."""
    code = """
        import os, signal, sys, time
        from distnb.client.transport import launch
        engines = launch.start_engines(2)
        print("ready", flush=True)
    """
    return [*before, sys.executable, "-c", textwrap.dedent(code) + textwrap.dedent(body)]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def run(command):
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)


# Starting and stopping


def place():
    """What an engine sees."""
    import os
    import sys

    from mpi4py import MPI

    import distnb.common.errors

    world = MPI.COMM_WORLD
    return world.rank, world.size, sys.executable, os.getcwd(), distnb.common.errors.__file__


@pytest.mark.ways("openmpi")
def test_engines_that_got_other_numbers_are_known_by_their_ranks(monkeypatch):
    """Where one that is ending still has its number."""
    dog = SimpleNamespace(check_ports=lambda: None, mpiexec="mpiexec")
    monkeypatch.setattr(launch, "_places", lambda *_: [[1, 3], [2, 3], [0, 3]])
    assert launch._by_ranks(dog, None, [1, 2, 3]) == [3, 1, 2]
    monkeypatch.setattr(launch, "_places", lambda *_: [[0, 1], [0, 1]])
    with pytest.raises(dnb.EngineError, match="different MPIs"):
        launch._by_ranks(dog, None, [0, 1])


def test_engine_ids_are_ranks_of_one_world(client):
    from distnb.common import errors

    assert client.ids == [0, 1, 2]
    same = sys.executable, os.getcwd(), errors.__file__
    assert client[:].apply_sync(place) == [(rank, 3, *same) for rank in range(3)]


def test_engines_get_a_copy_of_the_controllers_file(tmp_path):
    """It sets the permissions of its own after it has written it, and ends if that is gone."""
    (tmp_path / "security").mkdir()
    assert not watchdog._publish(tmp_path)
    written = tmp_path / "security" / "ipcontroller-x-engine.json"
    written.write_text('{"key": "half')
    assert not watchdog._publish(tmp_path)
    written.write_text('{"key": "whole"}')
    assert watchdog._publish(tmp_path)
    for path in (written, tmp_path / "engine.json"):
        assert json.loads(path.read_text()) == {"key": "whole"}


def test_the_hub_is_asked_no_longer_than_the_start_may_take(tmp_path, monkeypatch):
    file = joining.connection_file(tmp_path, tmp_path.name)
    file.parent.mkdir()
    file.write_text('{"key": "k"}')
    asked = []
    monkeypatch.setattr(ipyparallel, "Client", lambda info, timeout: asked.append(timeout))
    for seconds in (3, 600):
        launch._client(SimpleNamespace(folder=tmp_path, deadline=time.monotonic() + seconds))
    short, long = asked
    assert short <= 3
    assert long == launch._ANSWER


@pytest.mark.tier("test-all")
def test_a_hub_that_does_not_hear_is_asked_again(mark, scratch, monkeypatch):
    """By another client; and if its port was taken, another hub."""
    asked, real = [], ipyparallel.Client._connect

    def connect(client, *args):
        asked.append(sorted((scratch / "t").glob("distnb-*")))
        if len(asked) > 2:
            return real(client, *args)
        if len(asked) == 2:
            (asked[-1][0] / "controller.log").write_text(launch.TAKEN)
        raise TimeoutError("Hub connection request timed out")

    monkeypatch.setattr(ipyparallel.Client, "_connect", connect)
    with dnb.start(2) as session:
        assert session.size == 2
    first, second, third = asked
    assert first == second
    assert first != third


@pytest.mark.ways("openmpi")
@LINUX
def test_ranks_do_not_listen_on_the_network(client):
    def own_listeners():
        import os
        from pathlib import Path

        def sockets(pid):
            found = set()
            for name in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{name}"
                found.add(os.readlink(path) if os.path.lexists(path) else "")
            return found

        rows = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{name}").read_text().splitlines()
        ]
        listening = {f"socket:[{row[9]}]": row[1] for row in rows if row[3] == "0A"}
        # What is inherited belongs to the launcher.
        own = sockets("self") - sockets(os.getppid())
        return [listening[name].split(":")[0] for name in own & set(listening)]

    loopback = "0100007F"
    for addresses in client[:].apply_sync(own_listeners):
        assert set(addresses) == {loopback}


@pytest.mark.tier("test-all")
@LINUX
def test_start_without_mpiexec_on_path_and_stop_twice(mark, scratch, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    engines = launch.start_engines(2)
    assert len(marked(mark)) >= 6  # watchdog, controller, mpiexec, 2 engines and nannies
    engines.stop()
    assert marked(mark) == {}
    assert list((scratch / "t").iterdir()) == []
    profile = scratch / "ipython" / "profile_default"  # made by any use of IPython
    assert not list(profile.glob("security/*"))
    assert not list(profile.glob("log/*"))
    engines.stop()
    with pytest.raises(dnb.EngineError, match="got stopped ones"):
        engines.renew(0)  # what is read at exit, after engines have ended


def test_what_the_first_sum_needs_is_loaded_while_engines_attach(mark, scratch):
    body = f"""
        import distnb as dnb
        del sys.modules[{KERNELS!r}]  # as where somebody else has started them
        dnb.connect(client=engines.client)
        print({KERNELS!r} in sys.modules)
        engines.stop()
    """
    found = run(script(body))
    assert found.stdout.split() == ["ready", "True"], found.stderr


def test_what_the_first_sum_needs_is_loaded_while_engines_start(mark, scratch):
    found = run(script(f"print({KERNELS!r} in sys.modules)\nengines.stop()"))
    assert found.stdout.split() == ["ready", "True"], found.stderr


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
@LINUX
def test_stop_ends_engines_that_wait_for_each_other(mark, scratch):
    def deadlock():
        from mpi4py import MPI

        MPI.COMM_WORLD.Recv(bytearray(1), source=1 - MPI.COMM_WORLD.rank)

    engines = launch.start_engines(2)
    segments = {path for pid in marked(mark) for path in watchdog._segments(pid)}
    engines.client[:].apply_async(deadlock)
    time.sleep(0.3)
    engines.stop()
    assert marked(mark) == {}
    assert list((scratch / "t").iterdir()) == []
    assert segments
    assert [path for path in segments if path.exists()] == []


@pytest.mark.tier("test-all")
@LINUX
def test_nothing_is_printed_and_a_forked_child_stops_nothing(mark):
    body = """
        if os.fork() == 0:
            engines.stop()
            sys.exit()  # with the hooks of atexit
        os.wait()
        assert engines.client[:].apply_sync(lambda: 1) == [1, 1]
        engines.stop()
    """
    done = run(script(body))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")
    assert marked(mark) == {}


# The end of the owner

ENDS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "sys.exit": "sys.exit()",
    "os._exit": "os._exit(1)",
}


@pytest.mark.cases(1)
@pytest.mark.ways("openmpi")
@LINUX
@pytest.mark.parametrize("end", ENDS)
def test_nothing_outlives_the_owner(mark, scratch, end):
    done = run(script(ENDS[end]))
    assert done.stdout == "ready\n"
    assert done.stderr == ""
    until(lambda: not marked(mark))
    assert list((scratch / "t").iterdir()) == []


@LINUX
def test_what_a_script_has_written_is_in_its_files_when_it_ends(mark, scratch):
    """Its names are let go at the end, as without engines: those of files that nobody closed."""
    body = f"""
        session = __import__("distnb").connect(client=engines.client)
        file = open({str(scratch / "written")!r}, "w")
        file.write("all of it")
    """
    done = run(script(body))
    assert (done.returncode, done.stderr) == (0, "")
    assert (scratch / "written").read_text() == "all of it"


@LINUX
def test_threads_that_compute_as_python_ends_end_without_a_word(mark):
    """Python does not wait for them; they meet engines that have ended."""
    body = """
        import threading
        import distnb as dnb
        dnb.config.place, dnb.config.cutoff = "engines", 0
        session = dnb.connect(client=engines.client)
        x = dnb.ones(1000)
        on_their_way = threading.Semaphore(0)
        def adds():
            while True:
                (x + 1).sum().item()
                on_their_way.release()
        for _ in range(2):
            threading.Thread(target=adds, daemon=True).start()
        on_their_way.acquire()
        on_their_way.acquire()
        import atexit
        atexit.register(time.sleep, 0.5)  # called after the next
        atexit.register(engines.stop)
    """
    done = run(script(body))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")
    assert marked(mark) == {}


@pytest.mark.tier("test-all")
@pytest.mark.cases(1)
@LINUX
@pytest.mark.parametrize("after", [0.2, 0.8])
def test_nothing_outlives_an_owner_that_dies_while_starting(mark, scratch, after):
    stays = script("time.sleep(500)")
    with subprocess.Popen(stays, env=environment(), stdout=subprocess.DEVNULL) as owner:
        until(lambda: len(marked(mark)) > 1)
        time.sleep(after)
        owner.kill()
    until(lambda: not marked(mark))
    assert list((scratch / "t").iterdir()) == []


@LINUX
def test_an_interrupted_start_leaves_nothing(mark, scratch):
    # the watchdog and the controller run, engines do not answer yet
    with CtrlC(0.2, after=lambda: len(marked(mark)) > 1):
        launch.start_engines(2)
    assert marked(mark) == {}
    assert list((scratch / "t").iterdir()) == []


@pytest.mark.tier("test-all")
@pytest.mark.ways("openmpi")
@LINUX
def test_an_owner_may_be_a_rank_itself(mark, monkeypatch):
    mpiexec = find_mpiexec()
    for name in ROOT_CONFIRMED:
        monkeypatch.setenv(name, "1")
    done = run(script("engines.stop()", mpiexec, "-n", "1"))
    assert (done.returncode, done.stdout) == (0, "ready\n")


@pytest.mark.tier("test-all")
@LINUX
def test_in_a_kernel(mark):
    manager = pytest.importorskip("jupyter_client").KernelManager(kernel_name="python3")
    manager.start_kernel(env=environment())
    client = manager.client()
    client.start_channels()

    def execute(code):
        printed = []

        def output(message):
            content = message["content"]
            printed.extend(content.get("traceback", []))
            printed.append(content.get("text", ""))
            printed.append(content.get("data", {}).get("text/plain", ""))

        client.execute_interactive(code, timeout=250, output_hook=output)
        return "".join(printed)

    try:
        client.wait_for_ready(timeout=250)
        begin = "from distnb.client.transport import launch; engines = launch.start_engines(2)"
        assert execute(begin) == ""
        manager.interrupt_kernel()  # reaches the kernel's whole group, not the engines
        shown = execute("%px print(mpi_rank, mpi_size)")
        assert "0 2" in shown
        assert "1 2" in shown
        assert execute("engines.stop(); engines = launch.start_engines(1)") == ""
    except queue.Empty:
        pytest.fail("the kernel does not answer")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


# What can go wrong


@pytest.mark.parametrize("n", [True, 2.0, "2", None])
def test_n_is_an_integer(n):
    with pytest.raises(TypeError, match=r"^n: got .*, expected an integer >= 1; pass"):
        launch.start_engines(n)


@pytest.mark.parametrize("n", [0, -1])
def test_n_is_positive(n):
    with pytest.raises(ValueError, match=rf"^n: got {n}, expected an integer >= 1; pass"):
        launch.start_engines(n)


def fake(folder, body):
    """Return the path of a launcher that is a shell script."""
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.tier("test-all")
@pytest.mark.cases(1)
@LINUX
@pytest.mark.parametrize("which", ["registration", "control", "heartbeat"])
def test_a_port_that_was_taken_meanwhile(mark, scratch, monkeypatch, which):
    """Another process took it after the controller had chosen it, and before it listened there."""
    commands, tries = launch._commands, []

    def unlucky(*args):
        found = commands(*args)
        tries.append(found)
        if len(tries) == 1:
            found["controller"].append(f"--IPController.engine_ports={ports}")
        return found

    monkeypatch.setattr(launch, "_commands", unlucky)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(9)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = ",".join(str(each.getsockname()[1]) for each in sockets)
        for k, each in enumerate(sockets):
            if k != {"registration": 0, "control": 1, "heartbeat": 6}[which]:
                each.close()
        running = launch.start_engines(2)
    try:
        assert len(tries) == 2
        assert running.client[:].apply_sync(os.getpid) == running.client[:].apply_sync(os.getpid)
    finally:
        running.stop()
    assert list((scratch / "t").iterdir()) == []


@pytest.mark.tier("test-all")
@LINUX
def test_ports_that_are_always_taken(mark, scratch, monkeypatch):
    commands = launch._commands

    def unlucky(*args):
        found = commands(*args)
        found["controller"].append(f"--IPController.engine_ports={port}")
        return found

    monkeypatch.setattr(launch, "_commands", unlucky)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        with pytest.raises(EngineError, match=f"controller: got .*{port}.* expected a free"):
            launch.start_engines(2)
    assert list((scratch / "t").iterdir()) == []


@pytest.mark.tier("test-all")
@LINUX
def test_engines_are_asked_again_if_a_question_was_dropped(mark, scratch, monkeypatch):
    """As by a scheduler to which an engine that has registered is not connected yet."""
    import ipyparallel

    pull, questions = ipyparallel.DirectView.pull, []

    def dropped_at_first(view, *args, **kwargs):
        questions.append(args)
        with monkeypatch.context() as patch:
            if len(questions) == 1:
                patch.setitem(view.client._engines, 1, "nobody")
            return pull(view, *args, **kwargs)

    monkeypatch.setattr(launch, "_DROPPED", 0.1)
    monkeypatch.setattr(ipyparallel.DirectView, "pull", dropped_at_first)
    engines = launch.start_engines(2)
    try:
        assert len(questions) > 1
        until(lambda: not engines.client.outstanding)
    finally:
        engines.stop()


@pytest.mark.cases(1)
@LINUX
@pytest.mark.parametrize("code", [0, 3])
def test_a_launcher_that_ends_tells_why(mark, scratch, code):
    mpiexec = fake(scratch, f"echo 'no slots on this moon' >&2; exit {code}")

    with pytest.raises(RuntimeError, match="no slots on this moon") as raised:
        launch.start_engines(2, mpiexec=mpiexec)
    assert f"got mpiexec ended with code {code}, expected" in str(raised.value)
    assert marked(mark) == {}
    assert list((scratch / "t").iterdir()) == []


@LINUX
def test_a_launcher_that_cannot_run(mark, scratch):
    mpiexec = fake(scratch, "")
    Path(mpiexec).write_text("#!/nowhere/sh\n")
    with pytest.raises(RuntimeError, match="No such file"):
        launch.start_engines(2, mpiexec=mpiexec)
    assert marked(mark) == {}


@pytest.mark.tier("test-all")
@LINUX
def test_a_launcher_that_hangs(mark, scratch):
    mpiexec = fake(scratch, '[ "$1" = --version ] || { echo waiting; trap "" TERM; sleep 600; }')
    with pytest.raises(LateError, match=r"(?s)got (0 of 2|no) .*, expected.*waiting"):
        launch.start_engines(2, mpiexec=mpiexec, timeout=4)
    assert marked(mark) == {}
    assert list((scratch / "t").iterdir()) == []


@pytest.mark.ways("openmpi")
@LINUX
def test_engines_of_separate_worlds_are_refused(mark, scratch):
    # What a launcher does whose MPI is not that of mpi4py.
    mpiexec = fake(scratch, '[ "$1" = --version ] && exit; shift 2; "$@" & "$@"')
    with pytest.raises(RuntimeError, match=r"ranks 0 to 1 of 2; .* belong to different MPIs"):
        launch.start_engines(2, mpiexec=mpiexec)
    assert marked(mark) == {}


def test_no_launcher(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *names: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"expected mpiexec; pip install distnb\[mpich\]"):
        find_mpiexec()
    with pytest.raises(FileNotFoundError, match=r"got no executable 'mpirun_rsh', expected"):
        find_mpiexec("mpirun_rsh")
    with pytest.raises(dnb.EngineError, match="expected mpiexec; .* pass mpiexec= "):
        dnb.start(2, beside=True)
    assert {"mpiexec", "timeout"} <= signature(dnb.start).parameters.keys()  # that errors name
    fake(tmp_path, "")
    assert find_mpiexec() == str(tmp_path / "mpiexec")


# The environment of the engines


@pytest.mark.ways("openmpi")
def test_root_is_refused_by_open_mpi(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(PermissionError, match=r"^user: got root .* DISTNB_ALLOW_ROOT=1"):
        engine_environment({}, "openmpi", 2)
    allowed = engine_environment({"DISTNB_ALLOW_ROOT": "1"}, "openmpi", 2)
    confirmed = dict.fromkeys(ROOT_CONFIRMED, "1")
    assert confirmed.items() <= allowed.items()
    assert engine_environment(confirmed, "openmpi", 2)
    assert engine_environment({}, "mpich", 2)


def test_what_the_user_has_set_stays():
    plain = engine_environment({}, "mpich", 10**6)
    assert plain["UCX_TLS"] == "posix,self,cma"
    assert plain["UCX_MEM_EVENTS"] == "n"
    assert {plain[name] for name in THREADS} == {"1"}
    outer = {"UCX_TLS": "all", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "2", "HOME": "/h"}
    changed = engine_environment(outer, "mpich", 10**6)
    assert outer.items() <= changed.items()
    assert changed["OPENBLAS_NUM_THREADS"] == "3"  # it would win over OMP_NUM_THREADS


def test_an_outer_mpi_or_cluster_is_not_inherited():
    stays = {"PMIX_MCA_gds": "hash", "IPP_ENABLE_CURVE": "1", "OMPI_MCA_pml": "ob1"}
    goes = {"PMI_RANK": "1", "PMIX_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "IPP_CLUSTER_ID": "x"}
    inner = engine_environment(stays | goes, "mpich", 2)
    assert stays.items() <= inner.items()
    assert not goes.keys() & inner.keys()


def test_python_path_starts_with_distnb(monkeypatch):
    inner = engine_environment({"PYTHONPATH": "/mine"}, "other", 2)
    assert inner["PYTHONPATH"] == os.pathsep.join([str(ROOT), "/mine"])
    # As in an installed distnb: the engines find it there by themselves.
    monkeypatch.setattr("sysconfig.get_path", lambda *names: str(ROOT))
    assert engine_environment({"PYTHONPATH": "/mine"}, "other", 2)["PYTHONPATH"] == "/mine"


# Clusters that others started

PORTS = ("registration", "control", "mux", "task", "iopub", "notification", "broadcast")


def connection_file(folder, port):
    """Write the connection file of a default cluster, with one port for everything."""
    path = folder / "ipython" / "profile_default" / "security" / "ipcontroller-client.json"
    path.parent.mkdir(parents=True)
    info = {"interface": "tcp://127.0.0.1", "location": socket.gethostname(), "ssh": ""}
    path.write_text(json.dumps(info | dict.fromkeys(PORTS, port)))


def test_no_default_cluster(scratch):
    assert not joining.running_default_cluster()
    with pytest.raises(ConnectionError, match=r"got no connection file .*; start one with `ipcl"):
        joining.connect_client()
    with pytest.raises(ConnectionError, match=r"^cluster 'b' of profile 'a': got no connection"):
        joining.connect_client("a", "b")


def test_the_file_of_a_dead_controller(scratch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        connection_file(scratch, closed.getsockname()[1])
    assert not joining.running_default_cluster()
    with pytest.raises(ConnectionError, match=r"got no answer at tcp://127.0.0.1, expected"):
        joining.connect_client()


def test_a_port_that_another_program_has_got(scratch, monkeypatch):
    monkeypatch.setattr(joining, "_GREETING", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection_file(scratch, silent.getsockname()[1])
        assert not joining.running_default_cluster()


def test_a_controller_that_is_kept_from_its_work_greets_late(scratch):
    """Somebody listens: that nothing runs cannot be known in a moment."""

    def greet():
        for pause in (0.4, *[0.0] * (len(PORTS) - 1)):
            with late.accept()[0] as connection:
                time.sleep(pause)
                connection.sendall(b"\xff" + bytes(8) + b"\x7f")

    with socket.create_server(("127.0.0.1", 0)) as late:
        connection_file(scratch, late.getsockname()[1])
        greeter = threading.Thread(target=greet, daemon=True)
        greeter.start()
        assert joining.running_default_cluster()
        greeter.join()


@LINUX
def test_a_cluster_that_the_user_started(mark, scratch):
    command = [sys.executable, "-m", "ipyparallel.controller", "--HeartMonitor.period=100"]
    with (
        open(scratch / "log", "w") as log,
        subprocess.Popen(command, env=environment(), stdout=log, stderr=log) as controller,
    ):
        try:
            until(joining.running_default_cluster)
            with pytest.raises(ConnectionError, match=r"^engines of the cluster: got 0, expected"):
                joining.connect_client()
            launch.start_engines(2).stop()  # must leave the user's cluster alone
            assert joining.running_default_cluster()
            command[2] = "ipyparallel.engine"
            with subprocess.Popen(command[:3], env=environment(), stdout=log, stderr=log) as engine:
                try:
                    with contextlib.closing(joining.connect_client(timeout=60)) as client:
                        assert joining.connect_client(client=client) is client
                        assert client[:].apply_sync(lambda: 1) == [1]
                finally:
                    engine.terminate()
        finally:
            controller.terminate()
    until(lambda: not marked(mark))
    assert not joining.running_default_cluster()


def test_a_client_is_a_client():
    with pytest.raises(TypeError, match=r"^client: got list, expected an ipyparallel.Client"):
        joining.connect_client(client=[])


def test_output_leaves_out_what_the_controller_writes_at_each_start(tmp_path):
    process = SimpleNamespace()
    watched = launch._Watchdog(process, tmp_path, 0.0, "mpiexec", "engine")
    noise = "[IPController] ERROR | Monitor message without topic: [b'']\n"
    (tmp_path / "controller.log").write_text(noise)
    (tmp_path / "watchdog.log").write_text("no such launcher\n")
    assert watched.output() == "  no such launcher"
    (tmp_path / "controller.log").write_text(noise + "no room\n" + noise)
    assert watched.output() == "  no room"
