"""Writing that fails leaves the old file, and a clear error; no engine hangs, all goes on."""

import errno
import importlib
import os
import signal
import subprocess
from functools import partial

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
    match = "No space left on device.*nothing was changed"
    with fails, pytest.raises(OSError, match=match) as told:
        STEPS[op](name, x)
    assert told.value.errno == errno.ENOSPC
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


def _to_parquet(name, x):
    dnb.to_parquet(name, {"x": x})


def _to_feather(name, x):
    dnb.to_feather(name, {"x": x}, compression="uncompressed")


#: What is written, and how: a file in each format, and what the library needs.
FULL = {
    "npy": ("x.npy", dnb.save, "numpy"),
    "npz": ("x.npz", dnb.savez, "numpy"),
    "deflated": ("x.npz", dnb.savez_compressed, "numpy"),
    "text": ("x.txt", dnb.savetxt, "numpy"),
    "text, packed": ("x.txt.gz", dnb.savetxt, "numpy"),
    "hdf5": ("x.h5", partial(dnb.save, overwrite=True), "h5py"),
    "hdf5, chunks": (
        "x.h5",
        partial(dnb.save, overwrite=True, chunks=(500,), compression="gzip"),
        "h5py",
    ),
    "netcdf": ("x.nc", partial(dnb.save, overwrite=True), "h5netcdf"),
    "zarr": ("x.zarr", partial(dnb.save, overwrite=True, chunks=(1000,)), "zarr"),
    "zarr, shards": (
        "x.zarr",
        partial(dnb.save, overwrite=True, chunks=(500,), shards=(5000,)),
        "zarr",
    ),
    "parquet": ("x.parquet", _to_parquet, "pyarrow"),
    "arrow": ("x.arrow", _to_feather, "pyarrow"),
}


@pytest.mark.parametrize("kind", FULL)
def test_a_full_disk_leaves_the_old_file(three, tiny, kind):
    name, save, needs = FULL[kind]
    pytest.importorskip(needs)
    save(tiny / name, dnb.arange(600.0, session=three))
    before = _bytes_in(tiny)
    x = dnb.random.default_rng(1, session=three).random(200_000, dist="block")
    with pytest.raises(OSError, match="No space left on device.*make room"):
        save(tiny / name, x)
    assert _bytes_in(tiny) == before
    save(tiny / name, x[:1000])
    assert _bytes_in(tiny) != before


@pytest.mark.parametrize("kind", ["npy", "deflated", "parquet"])
def test_what_could_not_be_sent_is_not_written_later(three, tmp_path, monkeypatch, kind):
    name, save, needs = FULL[kind]
    pytest.importorskip(needs)
    x = dnb.arange(900.0, dist="block", session=three)
    three.flush()
    with monkeypatch.context() as patched, pytest.raises(dnb.EngineError):
        patched.setattr(type(three), "flush", _dead)
        save(tmp_path / name, x)
    assert not os.listdir(tmp_path)
    three.flush()
    assert three.recorder.waiting == 0
    assert float(x.sum()) == 404550.0


def _dead(session):
    raise dnb.EngineError("engines have died")


#: Where Ctrl-C comes: a module, what was just done there, and whether the file is written.
PRESSED = {
    "made": ("distnb.client.files.writing", "_begin", False),
    "named": ("distnb.client.files.writing", "_put", True),
    "called back": ("distnb.formats.libraries.hdf5", "_Kept.write", False),
}


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (k, p)
        for k, (_, _, needs) in FULL.items()
        for p in PRESSED
        if p != "called back" or needs in ("h5py", "h5netcdf")
    ],
)
def test_ctrl_c_leaves_one_file_that_is_whole(
    three, tmp_path, monkeypatch, interruptible, kind, place
):
    """And no other: also within what the library calls, and with one more while that is removed."""
    name, save, needs = FULL[kind]
    pytest.importorskip(needs)
    module, what, written = PRESSED[place]
    old, new = (dnb.random.default_rng(i, session=three).random(5000) for i in range(2))
    save(tmp_path / name, old)
    before = _bytes_in(tmp_path)
    press(monkeypatch, module, what)
    press(monkeypatch, "distnb.client.files.writing", "_remove")
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / name, new)
    monkeypatch.undo()
    assert len(os.listdir(tmp_path)) == 1
    assert (_bytes_in(tmp_path) != before) == written
    assert float((old * 2).sum()) == float(old.sum()) * 2
    save(tmp_path / name, new)
    assert _bytes_in(tmp_path) != before


def press(monkeypatch, module, what):
    """Have Ctrl-C come after a function has been called, once."""
    owner = importlib.import_module(module)
    *inside, name = what.split(".")
    owner = getattr(owner, inside[0]) if inside else owner
    function, left = getattr(owner, name), [True]

    def called(*args):
        found = function(*args)
        if left:
            left.clear()
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(owner, name, called)


def _bytes_in(folder):
    """Return all files in a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


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
