"""Writing that fails leaves the old file, and a clear error; no engine hangs, all goes on."""

import os
import subprocess

import numpy as np
import pytest

import distnb as dnb
from tests.failures.support import planted

STEPS = {
    "file.append": lambda name, x: dnb.savez_compressed(name, x=x),
    "file.write": lambda name, x: dnb.savez(name, x=x),
}


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("op", STEPS)
def test_an_engine_that_fails_leaves_the_old_file(three, tmp_path, op, rank):
    x, old = dnb.arange(900.0, dist="block", session=three), np.arange(3.0)
    name = tmp_path / "x.npz"
    np.savez(name, x=old)
    fails = planted(three, rank, f"op == {op!r}", "raise OSError(28, 'No space left on device')")
    with fails, pytest.raises(OSError, match="No space left on device.*nothing was changed"):
        STEPS[op](name, x)
    assert os.listdir(tmp_path) == ["x.npz"]
    np.testing.assert_array_equal(np.load(name)["x"], old)
    STEPS[op](name, x)
    np.testing.assert_array_equal(np.load(name)["x"], np.arange(900.0))


def test_an_engine_that_cannot_read_is_heard_of(three, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(900.0))
    with (
        planted(three, 1, "op == 'file.read'", "raise OSError(5, 'Input/output error')"),
        pytest.raises(OSError, match="Input/output error"),
    ):
        dnb.load(tmp_path / "x.npy", dist="block")
    found = dnb.load(tmp_path / "x.npy", dist="block")
    np.testing.assert_array_equal(found.to_numpy(), np.arange(900.0))


@pytest.fixture
def tiny(tmp_path):
    """A file system of a megabyte."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if made.returncode:
        pytest.skip("no permission to mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("save", [dnb.save, dnb.savez_compressed, dnb.savez])
def test_a_full_disk_leaves_the_old_file(three, tiny, save):
    np.save(tiny / "x.npy", np.arange(3.0))
    x = dnb.random.default_rng(1).random(200_000, dist="block")
    with pytest.raises(OSError, match="No space left on device.*make room"):
        save(tiny / "x.npy", x)
    assert os.listdir(tiny) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tiny / "x.npy"), np.arange(3.0))


def test_an_interrupt_leaves_the_old_file(three, tmp_path):
    name = tmp_path / "x.npy"
    np.save(name, np.arange(3.0))
    x = dnb.arange(900.0, dist="block", session=three)
    fails = planted(three, 1, "op == 'file.write'", "raise KeyboardInterrupt")
    with fails, pytest.raises(KeyboardInterrupt):
        dnb.save(name, x)
    assert os.listdir(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(name), np.arange(3.0))
    dnb.save(name, x)
    np.testing.assert_array_equal(np.load(name), np.arange(900.0))
