"""The first array finds or starts engines by itself, and says so in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family

SCRIPT = """
import distnb as dnb
x = dnb.arange(10)
assert int(x.sum()) == 45
assert dnb.ones(3).session is x.session is dnb.session()
"""


def run(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=80,
        check=True,
    )


@pytest.fixture
def environment(tmp_path):
    mpiexec = find_mpiexec()
    outer = os.environ | {"DISTNB_ALLOW_ROOT": "1"}
    path = os.pathsep.join([str(Path(mpiexec).parent), os.environ.get("PATH", "")])
    made = engine_environment(outer, mpi_family(mpiexec), 2)
    return made | {"IPYTHONDIR": str(tmp_path), "PATH": path}


@pytest.mark.timeout(100)
def test_without_a_cluster_the_first_array_starts_one_engine_a_core(environment):
    done = run(SCRIPT, environment)
    cores = len(os.sched_getaffinity(0))
    assert done.stdout.splitlines() == [
        f"distnb: started {cores} MPI engines; dnb.session().close() stops them"
    ]
    assert done.stderr == ""


@pytest.mark.timeout(100)
def test_the_number_of_engines_is_a_setting(environment):
    done = run(SCRIPT, environment | {"DISTNB_ENGINES": "3"})
    assert "started 3 MPI engines" in done.stdout


@pytest.mark.timeout(100)
def test_a_running_default_cluster_is_used_and_left_running(environment):
    ipcluster = [sys.executable, "-m", "ipyparallel.cluster"]
    start = [*ipcluster, "start", "-n", "2", "--engines=MPI", "--daemonize"]
    start.append("--ControllerLauncher.controller_args=--HeartMonitor.period=500")
    subprocess.run(start, env=environment, check=True, timeout=60, capture_output=True)
    try:
        wait = "import ipyparallel as ipp; ipp.Client().wait_for_engines(2, timeout=60)"
        run(wait, environment)
        for _ in range(2):
            done = run(SCRIPT, environment)
            assert done.stdout.splitlines() == [
                "distnb: using the running ipyparallel cluster with 2 engines"
            ]
    finally:
        stop = [*ipcluster, "stop"]
        subprocess.run(stop, env=environment, check=False, timeout=60, capture_output=True)
    assert not list(Path(environment["IPYTHONDIR"]).rglob("ipcontroller-client.json"))
