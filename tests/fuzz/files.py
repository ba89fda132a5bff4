"""Files that are read: by our own readers, against those of NumPy."""

import io
import json
import os
import tempfile
import warnings
import zlib
from contextlib import contextmanager

import numpy as np

from distnb.client.lasting import manifests
from distnb.client.lasting.assembled import Parts
from distnb.formats import text
from distnb.formats.table import FORMATS, reader_of
from distnb.geometry.layout import default_layout
from distnb.geometry.views import View
from tests.fuzz.mutation import mutated

#: Bytes up to which what a file says to have is read.
_MOST = 1 << 20
_ARRAYS = [
    np.arange(7.0),
    np.arange(12, dtype="<i2").reshape(3, 4),
    np.asfortranarray(np.eye(3, 2)),
]
_ARRAYS += [np.array(2j), np.zeros((0, 3), ">f4"), np.array([True, False])]


def _bytes_of(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


@contextmanager
def _file():
    """Give what writes bytes into a file, and returns its path."""
    handle, path = tempfile.mkstemp(prefix="fuzz-", suffix=".npy")
    try:

        def written(data):
            os.ftruncate(handle, 0)
            os.pwrite(handle, data, 0)
            return path

        yield written
    finally:
        os.close(handle)
        os.unlink(path)


def _named(error, path):
    """Tell that a file was refused, if the error names it."""
    assert path in str(error.args[0]), error
    return "refused"


def _read(kind, path, member):
    """Return what is in a file; None if it says that there is too much to try."""
    stored, view = FORMATS[kind].describe(path, member)
    if stored.nbytes > _MOST:
        return None
    out = np.empty(stored.shape, stored.dtype)
    reader = reader_of(stored)
    try:
        reader.read(tuple(map(range, stored.shape)), out)
    finally:
        reader.close()
    return out if view == View.whole(stored.shape) else out.T


def _compared(kind, path, member, load):
    """Read a file, and compare with what NumPy reads, if both can."""
    try:
        found = _read(kind, path, member)
    except (ValueError, TypeError, KeyError, OSError) as error:
        return _named(error, path)
    if found is None:
        return "too large"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = load(path)
    except Exception:
        return "read by us alone"
    found, expected = (x.astype(x.dtype.newbyteorder("="), copy=False) for x in (found, expected))
    ours, theirs = (found.shape, found.dtype), (expected.shape, expected.dtype)
    assert ours == theirs, (ours, theirs)
    assert found.tobytes() == expected.tobytes()
    return "read"


@contextmanager
def npy():
    """NumPy's files of an array."""
    real = [_bytes_of(np.save, a) for a in _ARRAYS]
    real += [_bytes_of(np.lib.format.write_array, a, version=(2, 0)) for a in _ARRAYS]
    with _file() as written:

        def one(chance):
            path = written(mutated(chance, chance.choice(real), real))
            return _compared("npy", path, None, lambda p: np.load(p, allow_pickle=False))

        yield one


@contextmanager
def npz():
    """NumPy's archives."""
    real = [_bytes_of(save, x=a) for a in _ARRAYS for save in (np.savez, np.savez_compressed)]
    with _file() as written:

        def one(chance):
            path = written(mutated(chance, chance.choice(real), real))

            def load(path):
                with np.load(path, allow_pickle=False) as archive:
                    return archive["x"]

            return _compared("npz", path, "x", load)

        yield one


@contextmanager
def _library(kind, real, load, member=None):
    """Files of another library, which reads those that it can."""
    with _file() as written:

        def one(chance):
            path = written(mutated(chance, chance.choice(real), real))
            return _compared(kind, path, member, load)

        yield one


def _made(make, *args, **kwargs):
    """Return the bytes of a file that a function makes of a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x")
        make(path, *args, **kwargs)
        with open(path, "rb") as file:
            return file.read()


def hdf5():
    """HDF5, of which elements lie together, or in chunks."""
    import h5py

    def make(path, **options):
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=np.arange(48.0).reshape(8, 6), **options)

    def load(path):
        with h5py.File(path) as file:
            return file["x"][()]

    real = [_made(make), _made(make, chunks=(3, 4), compression="gzip", fletcher32=True)]
    return _library("hdf5", real, load, "x")


def parquet():
    """Parquet, with and without compression."""
    import pyarrow.parquet as pq
    from pyarrow import table

    columns = table({"x": np.arange(40) * 3, "y": np.arange(40.0)})
    real = [
        _made(lambda path, c=c: pq.write_table(columns, path, row_group_size=15, compression=c))
        for c in ("none", "snappy", "zstd")
    ]
    return _library("parquet", real, lambda path: pq.read_table(path)["x"].to_numpy(), "x")


def arrow():
    """Arrow's files, with and without compression."""
    from pyarrow import feather, table

    columns = table({"x": np.arange(40) * 3, "y": np.arange(40.0), "z": ["a"] * 40})
    real = [
        _made(lambda path, c=c: feather.write_feather(columns, path, c, chunksize=15))
        for c in ("uncompressed", "lz4", "zstd")
    ]

    def load(path):
        found = feather.read_table(path, memory_map=False)["x"]
        found.validate()
        return found.to_numpy()

    return _library("arrow", real, load, "x")


def tiff():
    """TIFF, of which elements lie together, in strips or in tiles."""
    import tifffile

    def make(path, **options):
        with open(path, "wb") as file:
            tifffile.imwrite(file, np.arange(600, dtype="u2").reshape(20, 30), **options)

    ways = {}, {"rowsperstrip": 7, "compression": "zlib"}, {"tile": (16, 16), "byteorder": ">"}
    real = [_made(make, **options) for options in ways]

    def load(path):
        with tifffile.TiffFile(path) as file:
            found = file.series[0].asarray()
            assert found.shape == file.series[0].shape  # of some it makes what they do not say
            return found

    return _library("tiff", real, load)


def pictures():
    """PNG and JPEG."""
    import PIL.Image

    x = np.arange(600, dtype="u1").reshape(20, 10, 3)
    real = [_bytes_of(lambda f, kind=k: PIL.Image.fromarray(x).save(f, kind)) for k in _PICTURES]

    def load(path):
        with PIL.Image.open(path) as image:
            return np.asarray(image.convert("RGBA") if image.mode == "P" else image)

    return _library("picture", real, load)


_PICTURES = ("PNG", "JPEG")


@contextmanager
def zarr():
    """What Zarr says of an array, and a chunk of it."""
    import zarr as library

    x = np.arange(48.0).reshape(8, 6)
    # Its threads may still be there at the end, and make what is gone once more.
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "x.zarr")
        parts = []
        for version, head, chunk in ((2, ".zarray", "0.0"), (3, "zarr.json", "c/0/0")):
            for shards in (None, (6, 6)) if version == 3 else (None,):
                named = f"{path}{len(parts)}"
                library.create_array(
                    named, data=x, chunks=(3, 3), shards=shards, zarr_format=version
                )
                for name in (head, chunk):
                    with open(os.path.join(named, name), "rb") as file:
                        parts.append((named, name, file.read()))

        def one(chance):
            named, name, real = chance.choice(parts)
            try:
                with open(os.path.join(named, name), "wb") as file:
                    file.write(mutated(chance, real))
                return _compared("zarr", named, None, lambda p: library.open(p, mode="r")[...])
            finally:
                with open(os.path.join(named, name), "wb") as file:
                    file.write(real)

        yield one


@contextmanager
def tables():
    """Text, as ``loadtxt`` reads it."""
    real = [b"1 2 3\n4 5.5 -6e3\n", b"# so\n1,2\n\n3,nan\n", b"1\n2\n3", b"0x10 7\n"]
    options = {"encoding": "latin1", "comments": "#"}
    with _file() as written:

        def one(chance):
            path = written(mutated(chance, chance.choice(real), real))
            columns = chance.choice((1, 2, 3))
            given = {**options, "delimiter": chance.choice((None, ","))}
            first = (given["delimiter"] or " ").join("0" * columns)
            try:
                (found,) = text.share(path, 0, 0, 1, None, "loadtxt", ("<f8", given, first))
            except ValueError as error:
                return _named(error, path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = np.loadtxt(path, ndmin=2, **given)
            np.testing.assert_array_equal(np.concatenate(found), expected.reshape(-1, columns))
            return "read"

        yield one


@contextmanager
def triplets():
    """Matrix Market's lines, as SciPy's parser reads them."""
    real = [b"1 1 2.5\n2 3 4\n", b"4 4 -1e3 0\n1 2 3 4\n", b"1 2\n\n2 2\n"]
    with _file() as written:

        def one(chance):
            path = written(mutated(chance, chance.choice(real), real))
            field = chance.choice(("real", "integer", "complex", "pattern"))
            given = ((4, 4), field, chance.choice(("general", "symmetric")))
            try:
                found = text.share(path, 0, 0, 1, None, "market", given)
            except ValueError as error:
                return _named(error, path)
            rows, columns, _ = map(np.concatenate, found)
            assert ((rows >= 0) & (rows < 4) & (columns >= 0) & (columns < 4)).all()
            return "read"

        yield one


@contextmanager
def checkpoints():
    """Manifests of checkpoints, some with the checksum of what they say."""
    entry = manifests.Entry((4, 3), "<f8", default_layout((4, 3), 2), ((48, 7), (48, 9)))
    file = "distnb-T-0123456789ab.npy"
    named = manifests.Named(file, View.whole((4, 3)), True)
    facts = ("csr", 0, (4, 3), default_layout((4, 3), 2), (0, 2, 4), True, False, False)
    made = Parts("sparse", (4, 3), "rows", facts, (named, named, named))
    there = manifests.Manifest(2, {file: entry}, {"T": named}, {"S": made})
    real = manifests.encoded(there)
    told = json.loads(real)

    def one(chance):
        data = mutated(chance, real) if chance.random() < 0.3 else _resealed(chance, told)
        try:
            manifests.decoded(data, "/x")
        except ValueError as error:
            assert str(error).startswith(("file /x: ", "checkpoint /x: "))
            return "refused"
        return "taken"

    yield one


def _resealed(chance, told):
    """Return a manifest that says something else, with its checksum."""
    body = {k: v for k, v in told.items() if k not in ("distnb checkpoint", "crc32")}
    try:
        body = json.loads(mutated(chance, json.dumps(body).encode()))
        check = zlib.crc32(json.dumps(body, sort_keys=True).encode())
        return json.dumps({"distnb checkpoint": 1, "crc32": check, **body}).encode()
    except (ValueError, TypeError, RecursionError):
        return b"[]"
