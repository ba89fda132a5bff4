"""The first array finds or starts engines by itself, and says so in one line."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cluster.conftest import environment_of

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
        timeout=250,
        check=True,
    )


@pytest.fixture
def environment(tmp_path):
    return environment_of(tmp_path, 2)


@pytest.mark.ways("openmpi")
def test_without_a_cluster_the_first_array_starts_one_engine_a_core(environment):
    done = run(SCRIPT, environment)
    cores = len(os.sched_getaffinity(0))
    assert done.stdout.splitlines() == [
        f"distnb: started {cores} MPI engines; dnb.session().close() stops them"
    ]
    assert done.stderr == ""


@pytest.mark.tier("test-all")
def test_the_number_of_engines_is_a_setting(environment):
    done = run(SCRIPT, environment | {"DISTNB_ENGINES": "3"})
    assert "started 3 MPI engines" in done.stdout


def test_a_running_default_cluster_is_used_and_left_running(ipcluster):
    for _ in range(2):
        done = run(SCRIPT, ipcluster)
        assert done.stdout.splitlines() == [
            "distnb: using the running ipyparallel cluster with 2 engines"
        ]
