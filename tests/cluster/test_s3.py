"""Files in a store of objects: moto's server stands for Amazon's, s3fs asks it.

Neither is among the requirements of the tests: ``pip install "moto[server]" s3fs``.
"""

import io
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import distnb as dnb

pytestmark = [pytest.mark.tier("test-all"), pytest.mark.mpich_only]

X = np.random.default_rng(0).random((300, 20))


@pytest.fixture
def store(monkeypatch, tmp_path):
    """A store with a bucket; engines that start after it find it as we do."""
    pytest.importorskip("moto")
    s3fs = pytest.importorskip("s3fs")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    with (
        open(tmp_path / "moto.txt", "wb") as said,
        subprocess.Popen(command, stdout=said, stderr=said) as server,
    ):
        try:
            wait_for(port)
            s3fs.S3FileSystem.clear_instance_cache()  # of another server
            found = s3fs.S3FileSystem()
            found.mkdir("bucket")
            yield found
        finally:
            server.kill()


def wait_for(port):
    end = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < end, "moto's server does not listen"
            time.sleep(0.1)


@pytest.fixture
def session(store, monkeypatch):
    monkeypatch.setenv("DISTNB_ALLOW_ROOT", "1")
    with dnb.start(2, beside=True) as found:
        yield found


def test_each_engine_asks_for_its_part(store, session, tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    packed = io.BytesIO()
    np.save(packed, X)
    store.pipe("bucket/x.npy", packed.getvalue())
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("g/x", data=X, chunks=(30, 20), compression="gzip")
    store.put(str(tmp_path / "x.h5"), "bucket/x.h5")
    zarr.create_array("s3://bucket/x.zarr", data=X, chunks=(25, 20))
    for where in (("x.npy",), ("x.h5", "g/x"), ("x.zarr",)):
        opened = dnb.open(f"s3://bucket/{where[0]}", *where[1:])
        np.testing.assert_array_equal(opened.read(dist="block").to_numpy(), X)
        np.testing.assert_array_equal(opened[70:130].to_numpy(), X[70:130])


def test_what_is_not_there_or_changed_is_said(store, session):
    packed = io.BytesIO()
    np.save(packed, X)
    store.pipe("bucket/x.npy", packed.getvalue())
    opened = dnb.open("s3://bucket/x.npy")
    with pytest.raises(FileNotFoundError, match=r"none\.npy: got none"):
        dnb.open("s3://bucket/none.npy")
    with pytest.raises(OSError, match="NoSuchBucket"):
        dnb.open("s3://elsewhere/x.npy")
    store.pipe("bucket/x.npy", packed.getvalue()[:-8] + bytes(8))
    with pytest.raises(OSError, match="as the notebook found it"):
        opened.read(dist="block")
    assert dnb.ones(9).sum().item() == 9
