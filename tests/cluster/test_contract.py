"""The contract suite on real ipyparallel engines: those that distnb starts, and others'."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family
from tests.contract.support import SCALE

ROOT = Path(__file__).resolve().parents[2]

#: Seconds for one run of the whole suite, three times what it takes beside other tests.
LIMIT = 600


@pytest.fixture
def environment(tmp_path):
    """What a suite and its cluster get: an IPython folder of their own, and fewer examples."""
    launcher = find_mpiexec()
    outer = os.environ | {"DISTNB_ALLOW_ROOT": "1"}
    found = engine_environment(outer, mpi_family(launcher), 3)
    path = os.pathsep.join([str(Path(launcher).parent), found.get("PATH", os.defpath)])
    found["DISTNB_TEST_EXAMPLES"] = str(min(SCALE, 0.15))
    return found | {"IPYTHONDIR": str(tmp_path / "ipython"), "PATH": path, "PYTEST_ADDOPTS": ""}


def run(session, environment, folder, *parts):
    """Run the suite, or parts of it, in a process group of its own, which ends with it; check that it passes."""
    tests = [f"tests/contract/{part}" for part in parts or [""]]
    command = [sys.executable, "-m", "pytest", *tests, "-q", "-x", "--tb=short"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder / 'suite'}"]
    process = subprocess.Popen(
        command,
        env=environment | {"DISTNB_TEST_SESSION": session},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(f"hung; its output ends with\n{output[-6000:]}")
    assert process.returncode == 0, output[-8000:]
    assert " passed" in output


@pytest.mark.timeout(LIMIT + 60)
def test_engines_that_distnb_starts(environment, tmp_path):
    run("start:3", environment, tmp_path)


@pytest.mark.timeout(LIMIT + 60)
def test_engines_without_direct_sockets(environment, tmp_path):
    environment["DISTNB_ROAD"] = "ipyparallel"
    run("start:2", environment, tmp_path, "test_programs.py", "test_session.py")


@pytest.mark.timeout(LIMIT + 120)
def test_engines_of_ipcluster(environment, tmp_path):
    name = "contract"
    environment["DISTNB_SHARED"] = "0"  # all is sent here, and lent in the other runs
    ipcluster = [sys.executable, "-m", "ipyparallel.cluster"]
    options = ["-n", "2", "--engines=MPI", "--daemonize", f"--cluster-id={name}"]
    options += ["--ControllerLauncher.controller_args=--HeartMonitor.period=500"]
    wait = f"import ipyparallel as ipp; ipp.Client(cluster_id={name!r}).wait_for_engines(2, timeout=60)"
    quiet = {"env": environment, "capture_output": True, "text": True, "timeout": 90}
    started = subprocess.run([*ipcluster, "start", *options], check=False, **quiet)
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        subprocess.run([sys.executable, "-c", wait], check=True, **quiet)
        run(f"connect:{name}", environment, tmp_path)
        # The suite closed its session; the engines go on.
        subprocess.run([sys.executable, "-c", wait], check=True, **quiet)
    finally:
        stop = [*ipcluster, "stop", f"--cluster-id={name}"]
        subprocess.run(stop, check=False, **quiet)
