"""Files at addresses: each engine asks for its own part, and what goes wrong has the file's name."""

import os
import traceback
from functools import partial

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import numbered, same
from tests.serving import serving

pytest.importorskip("aiohttp")
pytestmark = [
    pytest.mark.ways("one", "started"),
    # Ranks that each serve the files have addresses of their own.
    pytest.mark.skipif("spmd" in os.environ.get("DISTNB_TEST_SESSION", ""), reason="one notebook"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
X = numbered((60, 50))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with files of all formats."""
    path = tmp_path_factory.mktemp("served")
    np.save(path / "x.npy", X)
    np.save(path / "t.npy", np.asfortranarray(X))
    np.save(path / "noname", X)
    np.savez(path / "x.npz", X)
    (path / "bad.npy").write_bytes(b"no header at all")
    (path / "short.npy").write_bytes((path / "x.npy").read_bytes()[:5000])
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    tifffile, table = pytest.importorskip("tifffile"), pytest.importorskip("pyarrow").table
    import pyarrow.parquet as pq

    with h5py.File(path / "x.h5", "w") as file:
        file["plain"] = X
        file.create_dataset("packed", data=X, chunks=(10, 50), compression="gzip")
    zarr.create_array(str(path / "x.zarr"), data=X, chunks=(10, 25))
    zarr.create_group(str(path / "g.zarr")).create_array("in", data=X, chunks=(10, 25))
    tifffile.imwrite(path / "x.tif", X.astype("f4"))
    tifffile.imwrite(path / "z.tif", X.astype("f4"), compression="zlib", rowsperstrip=7)
    pq.write_table(table({"a": X[:, 0]}), path / "x.parquet", row_group_size=17)
    return path


@pytest.mark.parametrize(
    ("file", "name", "dtype"),
    [
        ("x.npy", None, "f8"),
        ("t.npy", None, "f8"),
        ("noname.npy", None, "f8"),
        ("x.h5", "plain", "f8"),
        ("x.h5", "packed", "f8"),
        ("x.zarr", None, "f8"),
        ("g.zarr", "in", "f8"),
        ("x.tif", None, "f4"),
        ("z.tif", None, "f4"),
    ],
)
def test_every_format_is_read_in_parts(session, folder, file, name, dtype):
    expected = X.astype(dtype)
    with serving(folder) as (address, _):
        x = dnb.open(f"{address}/{file}", name)
        assert (x.shape, x.dtype) == (X.shape, np.dtype(dtype))
        same(x[...], expected)
        same(x[5:40:3, ::-7], expected[5:40:3, ::-7])
        same(x.read(dist=("*", "block")), expected)


def test_columns(session, folder):
    with serving(folder) as (address, _):
        same(dnb.open(f"{address}/x.parquet", "a")[3:40:2], X[3:40:2, 0])


def test_engines_ask_for_their_own_parts(session, folder, engines_only):
    size = (folder / "x.npy").stat().st_size
    with serving(folder) as (address, asked):
        same(dnb.open(f"{address}/x.npy").read(dist="block"), X)
        parts = sorted({a[2:] for a in asked if a[0] == "GET" and a[3] - a[2] < size})
    ours = [part for part in parts if part[0]]
    assert len(ours) == session.size
    assert [b for _, b in ours] == [*[a for a, _ in ours[1:]], size]  # one after the other


def test_a_server_without_ranges_is_asked_for_all(session, folder):
    with serving(folder, ranges=False) as (address, _):
        same(dnb.open(f"{address}/x.npy")[7:9], X[7:9])
        same(dnb.open(f"{address}/x.h5", "packed")[7:9], X[7:9])
        same(dnb.open(f"{address}/x.parquet", "a")[7:9], X[7:9, 0])


@pytest.mark.parametrize(("status", "kind"), [(0, OSError), (500, OSError), (403, PermissionError)])
def test_a_server_that_fails_while_it_is_read(session, folder, status, kind):
    with serving(folder) as (address, _):
        x = dnb.open(f"{address}/x.npy")
        z = dnb.open(f"{address}/x.zarr")
    port = int(address.rpartition(":")[2])
    with serving(folder, whole=400, status=status, port=port):
        with pytest.raises(kind, match=r"x\.npy: got \w+.* expected an answer") as caught:
            x[...].to_numpy()
        assert type(caught.value) is kind
        with pytest.raises((OSError, ValueError), match=r"x\.zarr"):
            z[...].to_numpy()
    with pytest.raises(OSError, match=r"x\.npy.* expected an answer"):  # nobody is there any more
        x[...].to_numpy()


@pytest.mark.parametrize(("file", "name"), [("x.zarr", None), ("g.zarr", "in")])
def test_what_follows_the_question_mark_is_sent_for_every_chunk(session, folder, file, name):
    with serving(folder) as (address, asked):
        same(dnb.open(f"{address}/{file}?sig=a%2Fb", name)[5:40:3, ::-7], X[5:40:3, ::-7])
    assert asked
    assert all(path.endswith("?sig=a%2Fb") for command, path, *_ in asked if command == "GET")


def test_nothing_tells_who_gets_in(session, folder):
    secret = "open-sesame"
    with serving(folder) as (address, _):
        known = address.replace("//", f"//me:{secret}@")
        x, z = dnb.open(f"{known}/x.npy?key={secret}"), dnb.open(f"{known}/x.zarr")
        same(x[:2], X[:2])
        assert repr(x) == "<Opened (60, 50) float64 in 'x.npy?***'>"
    with serving(folder, whole=100, port=int(address.rpartition(":")[2])):
        files = "x.npy", "none.npy", "bad.npy", "g.zarr", "x.h5", "none.h5", "x.tif", "x.parquet"
        opens = [partial(dnb.open, f"{known}/{file}?key={secret}") for file in files]
        for call in (*opens, lambda: x[...].to_numpy(), lambda: z[...].to_numpy()):
            with pytest.raises((OSError, ValueError, KeyError)) as caught:
                call()
            told = "".join(traceback.format_exception(caught.value))
            assert secret not in told, told


def test_what_is_wrong(session, folder):
    with serving(folder) as (address, _):
        for path, kind, message in (
            (f"{address}/none.npy", FileNotFoundError, r"none\.npy: got none, expected a file"),
            (f"{address}/none.zarr", FileNotFoundError, r"none\.zarr: got none"),
            (f"{address}/bad.npy", ValueError, r"bad\.npy: got no good header"),
            (f"{address}/short.npy", ValueError, r"short\.npy: got 5000 bytes, expected at least"),
            (f"{address}/x.npz", ValueError, r"x\.npz: got an address, expected a file"),
            ("nothing://x.npy", ValueError, r"^file nothing://x\.npy: got Protocol not known"),
        ):
            with pytest.raises(kind, match=message):
                dnb.open(path)
    with pytest.raises(OSError, match=r"^file http://127.* expected an answer"):
        dnb.open("http://127.0.0.1:9/x.npy")  # where nobody listens
    for call in (lambda: dnb.save("s3://b/x.npy", dnb.ones(3)), lambda: dnb.load("s3://b/x.npy")):
        with pytest.raises(ValueError, match=r"^file s3://b/x\.npy: got an address"):
            call()


def test_hdf5_of_several_files_is_refused(session, tmp_path):
    h5py = pytest.importorskip("h5py")
    whole = h5py.VirtualLayout((3,), int)
    whole[:] = h5py.VirtualSource("o.h5", "q", shape=(3,))
    with h5py.File(tmp_path / "main.h5", "w") as file:
        file["q"], file["link"] = np.arange(3), h5py.ExternalLink("o.h5", "q")
        file.create_virtual_dataset("whole", whole)
    with serving(tmp_path) as (address, _):
        same(dnb.open(f"{address}/main.h5", "q")[...], np.arange(3))
        for name in ("link", "whole"):
            with pytest.raises(ValueError, match=r"in another file, expected data in this one"):
                dnb.open(f"{address}/main.h5", name)


@pytest.mark.parametrize("version", ["ETag", "Last-Modified"])
def test_another_file_than_was_opened(session, tmp_path, version):
    np.save(tmp_path / "y.npy", X)
    with serving(tmp_path, version=version) as (address, _):
        x = dnb.open(f"{address}/y.npy")
        same(x[:2], X[:2])
        os.utime(tmp_path / "y.npy", ns=(1, 1))
        with pytest.raises(OSError, match=r"y\.npy on host .* as the notebook found it"):
            x[...].to_numpy()


def test_what_is_not_installed(monkeypatch):
    import fsspec

    def missing(path):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(ImportError, match=r"got Install s3fs .* pip install \"distnb\[remote\]\""):
        dnb.open("s3://bucket/x.npy")
