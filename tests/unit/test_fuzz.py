"""Damaged messages and files are refused, clearly, in bounded memory, and strangers get nowhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distnb.client.lasting import manifests
from distnb.geometry.layout import default_layout
from tests.fuzz.__main__ import TARGETS

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc"),
    pytest.mark.tier("test"),
]
ROOT = Path(__file__).resolve().parents[2]


def fuzzed(count, name="all"):
    """Run all targets, or one, in a process of their own, which has little memory."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.fuzz", str(count), name]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("dtype", [",", "f4,,", "nothing"])
def test_a_manifest_with_a_dtype_that_is_none(dtype):
    file = "distnb-T-0123456789ab.npy"
    entry = manifests.Entry((4,), dtype, default_layout((4,), 1), ((32, 7),))
    there = manifests.Manifest(1, {file: entry}, {}, {})
    with pytest.raises(ValueError, match=r"^file /x: got what cannot be"):
        manifests.decoded(manifests.encoded(there), "/x")


def test_damaged_bytes():
    done = fuzzed(50)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(TARGETS)


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", ["arrow", "tiff", "pictures", "zarr"])  # others end the process
def test_damaged_files_of_other_libraries(name):
    for needed in {"arrow": ["pyarrow"], "tiff": ["tifffile", "zarr"], "zarr": ["zarr"]}.get(
        name, []
    ):
        pytest.importorskip(needed)
    done = fuzzed(50, name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}: 50 inputs")


@pytest.mark.tier("test-all")
@pytest.mark.timeout(3600)
def test_many_damaged_bytes():
    done = fuzzed(int(os.environ.get("DISTNB_TEST_FUZZ", "20000")))
    assert done.returncode == 0, done.stderr
