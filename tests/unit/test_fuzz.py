"""Damaged messages and files are refused, clearly, in bounded memory, and strangers get nowhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc"),
    pytest.mark.tier("test"),
]
ROOT = Path(__file__).resolve().parents[2]


def fuzzed(count):
    """Run all targets in a process of their own, which has little memory."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.fuzz", str(count)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_damaged_bytes():
    done = fuzzed(150)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 12


@pytest.mark.tier("test-all")
@pytest.mark.timeout(3600)
def test_many_damaged_bytes():
    done = fuzzed(int(os.environ.get("DISTNB_TEST_FUZZ", "20000")))
    assert done.returncode == 0, done.stderr
