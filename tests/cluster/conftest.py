"""A cluster as its users start it, with ipyparallel's own command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distnb.client.transport.mpiexec import engine_environment, find_mpiexec, mpi_family

WAIT = "import distnb as dnb; assert dnb.connect(timeout=250).size == 2"


def environment_of(folder, engines):
    """Return the environment of programs with an IPython folder of their own, and with our mpiexec."""
    launcher = find_mpiexec()
    outer = os.environ | {"DISTNB_ALLOW_ROOT": "1"}
    found = engine_environment(outer, mpi_family(launcher), engines)
    path = os.pathsep.join([str(Path(launcher).parent), found.get("PATH", os.defpath)])
    return found | {"IPYTHONDIR": str(folder), "PATH": path}


@pytest.fixture(scope="session")
def ipcluster(tmp_path_factory):
    """The environment of programs for which a default cluster runs, with two engines."""
    folder = tmp_path_factory.mktemp("ipython")
    environment = environment_of(folder, 2)
    command = [sys.executable, "-m", "ipyparallel.cluster"]
    options = ["-n", "2", "--engines=MPI", "--daemonize"]
    options += ["--ControllerLauncher.controller_args=--HeartMonitor.period=500"]
    quiet = {"env": environment, "capture_output": True, "text": True, "timeout": 250}
    started = subprocess.run([*command, "start", *options], check=False, **quiet)
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        subprocess.run([sys.executable, "-c", WAIT], check=True, **quiet)
        yield environment
        # Programs closed their sessions; the engines go on.
        subprocess.run([sys.executable, "-c", WAIT], check=True, **quiet)
    finally:
        subprocess.run([*command, "stop"], check=False, **quiet)
    assert not list(folder.rglob("ipcontroller-client.json"))
