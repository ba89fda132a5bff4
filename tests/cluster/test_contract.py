"""The contract suite on real ipyparallel engines: those that distnb starts, and others'."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.conftest import environment_of
from tests.tiers import SCALE, TIER

ROOT = Path(__file__).resolve().parents[2]

#: Seconds for one run of the whole suite, three times what it takes beside other tests.
LIMIT = 1800 if TIER == "test-all" else 600


def suite_environment(outer):
    """Return what a suite gets: fewer examples, and fewer cases."""
    fewer = {"DISTNB_TEST_EXAMPLES": str(min(SCALE, 0.15)), "DISTNB_TEST_CASES": "2"}
    return outer | fewer | {"PYTEST_ADDOPTS": ""}


@pytest.fixture
def environment(tmp_path):
    return suite_environment(environment_of(tmp_path / "ipython", 3))


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


@pytest.mark.tier("test-all")
@pytest.mark.timeout(LIMIT + 60)
def test_engines_without_direct_sockets(environment, tmp_path):
    environment["DISTNB_ROAD"] = "ipyparallel"
    run("start:2", environment, tmp_path, "test_programs.py", "test_session.py")


@pytest.mark.tier("test-all")
@pytest.mark.timeout(LIMIT + 120)
def test_engines_of_ipcluster(ipcluster, tmp_path):
    security = Path(ipcluster["IPYTHONDIR"]) / "profile_default" / "security"
    # one that is found by its name
    named = security / "ipcontroller-contract-client.json"
    named.write_bytes((security / "ipcontroller-client.json").read_bytes())
    try:
        # all is sent here, and lent in the other runs
        environment = suite_environment(ipcluster) | {"DISTNB_SHARED": "0"}
        run("connect:contract", environment, tmp_path)
    finally:
        named.unlink()
