"""Files of other libraries: HDF5, Zarr and Parquet, written by one and read by the other."""

import errno
import os
import struct
import threading
import zlib
from datetime import date, datetime, timedelta

import numpy as np
import pytest

import distnb as dnb
from tests.contract.test_files import (
    SHAPES,
    VIEWS,
    fractions,
    here,
    layouts_of,
    numbers,
    same,
    write_text,
)

pytestmark = pytest.mark.ways("one")
__all__ = ["here"]  # the fixture


@pytest.mark.cases(4)
@pytest.mark.parametrize("options", [{}, {"chunks": True}, {"chunks": "3", "compression": "gzip"}])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hdf5_both_ways(here, shape, options):
    h5py = pytest.importorskip("h5py")
    if options and 0 in (len(shape), *shape):
        pytest.skip("no chunks of nothing")
    if options.get("chunks") == "3":
        options = options | {"chunks": tuple(min(3, n) for n in shape)}
    for dtype in ("f8", "?", "c8", "i2"):
        x = numbers(shape, dtype)
        for dist in layouts_of(shape):
            ours = dnb.array(x, dist=dist)
            for view in (VIEWS["all"], VIEWS["every other"]):
                if options and view(x).shape != shape:
                    continue
                dnb.save("x.h5", view(ours), name="group/x", overwrite=True, **options)
                with h5py.File("x.h5") as file:
                    assert list(file["group"]) == ["x"]
                    same(file["group/x"][()], view(x))
                same(dnb.open("x.h5").read(dist=dist), view(x))
        with h5py.File("n.h5", "w") as file:
            file.create_dataset("a", data=x, **options)
            file["b"] = x.astype(">f4") if dtype != "c8" else x
        same(dnb.open("n.h5", "a").read(dist=dist), x)
        with pytest.raises(KeyError, match=r"one of \['a', 'b'\]"):
            dnb.open("n.h5")
        if x.ndim == 2:
            same(dnb.open("n.h5", "a")[::-2, 1:], x[::-2, 1:])


@pytest.mark.cases(2)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_zarr_both_ways(here, shape):
    zarr = pytest.importorskip("zarr")
    few = tuple(max(1, min(2, n)) for n in shape)
    for dtype, many in (("f8", None), ("?", 2), ("c8", 2)):
        x = numbers(shape, dtype)
        for dist in layouts_of(shape)[:many]:
            ours = dnb.array(x, dist=dist)
            for options in ({}, {"chunks": few}, {"name": "x", "chunks": few}):
                name = f"x{len(options)}.zarr"
                dnb.save(name, ours, overwrite=True, **options)
                found = zarr.open(name, mode="r")
                same(np.asarray((found["x"] if "name" in options else found)[...]), x)
                same(dnb.open(name).read(dist=dist), x)
        for version in (2, 3):
            zarr.create_array(
                f"n{version}.zarr", data=x, chunks=few, zarr_format=version, overwrite=True
            )
            opened = dnb.open(f"n{version}.zarr")
            assert opened.chunks == few
            same(opened.read(), x)
            if x.ndim == 2:
                same(opened[::-2, 1:], x[::-2, 1:])


def test_hdf5_behind_what_is_anothers(here, session):
    h5py = pytest.importorskip("h5py")
    x = fractions((10, 6))
    with h5py.File("x.mat", "w", userblock_size=512) as file:  # as MATLAB writes it
        file["x"] = x
        file.create_dataset("c", data=x, chunks=(3, 3))
    for name in "xc":
        same(dnb.open("x.mat", name).read(dist="block"), x)


def test_hdf5_numbers_of_other_bits_than_numpys(here, session):
    """Of less bits than their size, shifted in it, an enumeration: read as the library does."""
    h5py = pytest.importorskip("h5py")
    h5t, h5s, rows = h5py.h5t, h5py.h5s, np.arange(-3, 4)
    few, shifted = h5t.STD_I32LE.copy(), h5t.STD_I32LE.copy()
    few.set_precision(20)
    shifted.set_precision(16)
    shifted.set_offset(8)
    signs = h5t.enum_create(h5t.STD_I16LE)
    signs.enum_insert(b"NO", -3)
    with h5py.File("x.h5", "w") as file:
        for name, kind in ((b"few", few), (b"shifted", shifted), (b"signs", signs)):
            made = h5py.h5d.create(file.id, name, kind, h5s.create_simple(rows.shape))
            made.write(h5s.ALL, h5s.ALL, rows.astype("i2" if name == b"signs" else "i4"))
    with h5py.File("x.h5") as file:
        expected = {name: found[...] for name, found in file.items()}
    for name, rows in expected.items():
        same(dnb.open("x.h5", name)[...], rows)


def test_hdf5_links_into_other_files(here, session):
    h5py = pytest.importorskip("h5py")
    os.mkdir("far")
    with h5py.File("far/o.h5", "w") as file:
        file["q"], file["g/c"] = np.arange(7), np.arange(9)[::-1]
        file["q"].attrs["of"] = "o"
        file.create_dataset("cut", data=np.arange(50, 59), chunks=(4,))
    with h5py.File("main.h5", "w") as file:
        file["ext"], file["all"] = (h5py.ExternalLink("far/o.h5", at) for at in ("/q", "/"))
        file["soft"] = h5py.SoftLink("/all/cut")
        file["q"] = file["cut"] = np.arange(100, 110)
    for name, where, expected in (
        ("ext", "q", np.arange(7)),
        ("all/g/c", "g/c", np.arange(9)[::-1]),
        ("soft", "cut", np.arange(50, 59)),
    ):
        found = dnb.open("main.h5", name)
        same(found.read(dist="block"), expected)
        same(found[1:4], expected[1:4])
        assert found.path == os.path.abspath("far/o.h5")
        assert dict(found.attrs) == dict(dnb.open("far/o.h5", where).attrs)
    assert found.chunks == (4,)
    with h5py.File("far/o.h5", "a") as file:
        file["more"] = np.arange(1000)
    with pytest.raises(OSError, match=r"o\.h5 on host .* open the file again"):
        found.read(dist="block")
    with pytest.raises(ValueError, match=r"got 'all' in another file, expected a group in it"):
        dnb.save("main.h5", dnb.ones(5, dist="block"), name="all/new")
    dnb.save("main.h5", dnb.ones(5, dist="block"), name="ext", overwrite=True)
    same(dnb.open("main.h5", "ext")[...], np.ones(5))
    same(dnb.open("far/o.h5", "q")[...], np.arange(7))


def test_hdf5_with_elements_in_files_beside_it(here, session):
    """They are where the notebook works when it opens one, whoever reads them, and whenever."""
    h5py, above = pytest.importorskip("h5py"), os.getcwd()
    for name, k in (("one", 1), ("two", 2)):
        os.mkdir(name)
        os.chdir(name)
        with h5py.File("e.h5", "w") as file:
            made = file.create_dataset("x", (10,), "i4", external=[("x.raw", 0, 40)])
            made[...] = np.arange(10) * k
        os.chdir(above)
    os.chdir("one")
    found = dnb.open("e.h5")
    os.chdir("../two")
    same(found.read(dist="block"), np.arange(10, dtype="i4"))
    same(dnb.open("e.h5")[1:4], np.arange(1, 4, dtype="i4") * 2)


def test_hdf5_links_to_nothing_are_named(here, session):
    h5py = pytest.importorskip("h5py")
    with h5py.File("x.h5", "w") as file:
        file["g/soft"], file["out"] = h5py.SoftLink("/gone"), h5py.ExternalLink("no.h5", "/x")
    for name, to in (("g/soft", "'/gone'"), ("out", "'/x' in 'no.h5'")):
        with pytest.raises(
            KeyError, match=rf"x\.h5: got '{name}', a link to {to}, .* mend the link"
        ):
            dnb.open("x.h5", name)


def test_pictures_of_other_kinds_say_what_reads_them(here, session):
    image = pytest.importorskip("PIL.Image")
    tifffile = pytest.importorskip("tifffile")
    pixels = image.fromarray(np.arange(12, dtype="u1").reshape(3, 4))
    for name in ("x.gif", "x.bmp"):
        pixels.save(name)
        with pytest.raises(ValueError, match=r"use distnb.asarray\(np.asarray\(PIL.Image.open"):
            dnb.open(name)
    pixels.save("x.tif", compression="tiff_lzw")
    try:
        tifffile.imread("x.tif")
    except ValueError:
        with pytest.raises(ImportError, match=r"x\.tif: got no imagecodecs, .* pip install"):
            dnb.open("x.tif").read(dist="block")


def test_what_zarr_3_0_raises_where_an_array_is(here, session, monkeypatch):
    zarr = pytest.importorskip("zarr")
    if session.transport.rank is not None:
        pytest.skip("ranks share errors, and there is nothing to load this one from")

    class OldError(ValueError):
        def __init__(self, *args):
            super().__init__("An array exists in store {!r} at path {!r}.".format(*args))

    monkeypatch.setattr(zarr.errors, "ContainsArrayError", OldError)
    dnb.save("x.zarr", dnb.arange(9))
    with pytest.raises(OldError, match=r"x.zarr: got an array, expected nothing of this name"):
        dnb.save("x.zarr", dnb.arange(9))


def test_zarr_shards_and_zip_files(here, session):
    zarr = pytest.importorskip("zarr")
    x = numbers((40, 6))
    dnb.save("x.zarr", dnb.array(x, dist="cyclic"), chunks=(2, 3), shards=(8, 6))
    assert zarr.open("x.zarr").shards == (8, 6)
    same(zarr.open("x.zarr")[...], x)
    same(dnb.open("x.zarr")[3:33], x[3:33])
    for name in ("z.zarr", "z.zarr.zip", "z.zip"):
        with zarr.storage.ZipStore(name, mode="w") as store:
            zarr.create_array(store, data=x, chunks=(8, 2))
        same(dnb.open(name).read(dist="block"), x)


def test_zarr_that_is_another_array_meanwhile(here, session):
    pytest.importorskip("zarr")
    x = dnb.array(numbers((40, 6)), dist="block")
    dnb.save("x.zarr", x, chunks=(8, 6))
    opened = dnb.open("x.zarr")
    for other in (x[:39], x.astype("f4")):
        dnb.save("x.zarr", other, chunks=(8, 6), overwrite=True)
        with pytest.raises(OSError, match="as when it was opened; open it again"):
            opened.read(dist="block")
    dnb.save("x.zarr", x + 1, chunks=(8, 6), overwrite=True)
    same(opened.read(dist="block"), numbers((40, 6)) + 1)  # as they are when they are read


@pytest.mark.parametrize("options", [{}, {"chunks": (4, 3), "compression": "gzip"}])
def test_netcdf_both_ways(here, session, options):
    h5netcdf = pytest.importorskip("h5netcdf")
    x = fractions((13, 6))
    for dist in (None, "cyclic", ("*", "block")):
        given = {"dims": ("y", "x"), "overwrite": True, **options}
        dnb.save("x.nc", dnb.array(x, dist=dist), name="t", **given)
        with h5netcdf.File("x.nc") as file:
            assert file["t"].dimensions == ("y", "x")
            same(file["t"][...], x)
        same(dnb.open("x.nc", "t").read(dist=dist), x)
        same(dnb.open("x.nc")[::-3, 1:], x[::-3, 1:])
    with h5netcdf.File("n.nc", "w") as file:
        file.dimensions = {"y": 13, "x": 6}
        file.create_variable("x", ("x",), "i4", data=np.arange(6, dtype="i4"))
        file.create_variable("g/t", ("y", "x"), "f4", data=x.astype("f4"), **options)
    same(dnb.open("n.nc"), x.astype("f4"))
    same(dnb.open("n.nc", "x"), np.arange(6, dtype="i4"))
    for wrong in ({"dims": ("y",)}, {"dims": ("y", "x", "z")}):
        with pytest.raises(ValueError, match="dims=.*1|a name for each axis"):
            dnb.save("y.nc", dnb.array(x), **wrong)
    with pytest.raises(ValueError, match="real numbers"):
        dnb.save("y.nc", dnb.array(x) > 0)
    same(dnb.open("x.nc", "t"), x)


TIFFS = {
    "plain": {},
    "other bytes": {"byteorder": ">"},
    "strips": {"rowsperstrip": 5, "compression": "zlib"},
    "tiles": {"tile": (16, 32), "compression": "zlib"},
}


@pytest.mark.parametrize("kind", TIFFS)
def test_tiff(here, session, kind):
    tifffile = pytest.importorskip("tifffile")
    for x, options in (
        (numbers((37, 50), "u2"), {}),
        (numbers((3, 37, 50), "f4"), {}),
        (numbers((37, 50, 3), "u1"), {"photometric": "rgb"}),
    ):
        if kind == "tiles" and x.shape[-1] == 3:
            continue
        tifffile.imwrite("x.tif", x, **TIFFS[kind], **options)
        opened = dnb.open("x.tif")
        assert (opened.shape, opened.dtype) == (x.shape, x.dtype)
        for dist in (None, "cyclic", "replicated"):
            same(opened.read(dist=dist), x)
        same(opened[1:30:3, ::-1], x[1:30:3, ::-1])
    with pytest.raises(KeyError, match=r"one of \['0'\]"):
        dnb.open("x.tif", "1")
    with open("x.tif", "r+b") as file:
        file.truncate(500)
    with pytest.raises((ValueError, OSError), match=r"x.tif"):
        dnb.open("x.tif").read(dist="block")


@pytest.mark.cases(3)
@pytest.mark.parametrize("options", [{}, {"byteorder": ">"}, {"bigtiff": True}], ids=str)
@pytest.mark.parametrize("shape", [(7,), (1, 4), (17, 5), (4, 5, 3), (2, 4, 5, 4)], ids=str)
def test_tiff_is_written_at_offsets(here, session, shape, options):
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    for dtype in ("u1", "u2", "f4", "i8", "c8"):
        x = numbers(shape, dtype)
        for dist in layouts_of(shape):
            dnb.save("x.tif", dnb.array(x, dist=dist), **options)
            same(tifffile.imread("x.tif").astype(dtype), x)
            same(dnb.open("x.tif").read(dist=dist), x)
            dnb.save("v.tiff", dnb.array(x, dist=dist)[::-1], **options)
            same(dnb.open("v.tiff").read(), x[::-1])
    assert sorted(os.listdir(".")) == ["v.tiff", "x.tif"]


def test_what_of_tiff_is_not_written(here, session):
    pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    x = dnb.ones((20, 20), "u2", dist="block")
    dnb.save("x.tif", x)
    for options in ({"compression": "zlib"}, {"tile": (16, 16)}):
        with pytest.raises(ValueError, match=r"TIFF: .*tifffile.imwrite"):
            dnb.save("x.tif", x * 2, **options)
    with pytest.raises(TypeError, match="name='a'"):
        dnb.save("x.tif", x, name="a")
    for wrong in (x > 0, dnb.ones(()), dnb.ones((0, 3))):
        with pytest.raises(ValueError, match="TIFF: got shape"):
            dnb.save("x.tif", wrong)
    same(dnb.open("x.tif").read(), np.ones((20, 20), "u2"))
    assert os.listdir(".") == ["x.tif"]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
def test_pictures(here, session, mode):
    image = pytest.importorskip("PIL.Image")
    bands = {"LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}.get(mode, 1)
    x = numbers((37, 50, bands) if bands > 1 else (37, 50), "u2" if mode == "I;16" else "u1")
    made = image.fromarray(x, mode) if mode == "CMYK" else image.fromarray(x)
    made = made.convert(mode) if mode in ("1", "P") else made
    for name in ("x.jpg",) if mode == "CMYK" else ("x.png", "x.jpeg")[: 1 + (mode == "RGB")]:
        made.save(name)
        with image.open(name) as read:
            want = np.asarray(read.convert("RGBA") if mode == "P" else read)
        opened = dnb.open(name)
        assert (opened.shape, opened.dtype) == (want.shape, want.dtype)
        for dist in (None, "cyclic", "replicated"):
            same(opened.read(dist=dist), want)
        same(opened[1:30:3, ::-1], want[1:30:3, ::-1])
        with pytest.raises(KeyError, match="leave it out"):
            dnb.open(name, "0")
        with open(name, "r+b") as file:
            file.truncate(os.path.getsize(name) // 2)
        with pytest.raises(ValueError, match=rf"{name}: got .*check it"):
            dnb.open(name).read(dist="block")


def test_a_picture_of_more_bits_than_are_kept(here, session):
    pytest.importorskip("PIL")

    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(range(12))) * 2)
    with open("x.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows))
        file.write(chunk(b"IEND", b""))
    with pytest.raises(TypeError, match=r"x.png: got 16 bits a colour, expected 8"):
        dnb.open("x.png")


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_arrow_files(here, session, n, compression):
    feather = pytest.importorskip("pyarrow.feather")
    pa = pytest.importorskip("pyarrow")
    columns = {"i": numbers(n, "i4"), "f": fractions(n), "b": numbers(n) > 0}
    holes = {"h": pa.array([None, *range(1, n)][:n], "int64")}
    once = {"d": pa.array(columns["i"] % 3).dictionary_encode()}  # as pandas' categories
    table = pa.table(
        {
            "s": pa.array(["x"] * n, "string"),
            "n": pa.array([{"p": 1, "q": 2}] * n, pa.struct({"p": pa.int64(), "q": pa.int64()})),
            **columns,
            **holes,
            **once,
        }
    )
    feather.write_feather(table, "t.feather", compression, chunksize=7)
    want = columns | {
        "d": columns["i"] % 3,
        "h": np.array([np.nan, *range(1, n)][:n], None if n else int),
    }
    for dist in (None, "block", "cyclic", "replicated"):
        found = dnb.read_feather("t.feather", columns=["h", "d", *columns], dist=dist)
        assert list(found) == ["h", "d", *columns]
        for name, x in found.items():
            same(x, want[name])
    with pytest.raises(TypeError, match=r"no numbers in \['s', 'n'\].*'h', 'd'\]"):
        dnb.read_feather("t.feather")
    os.rename("t.feather", "t")  # its first bytes tell
    opened = dnb.open("t", "f")
    assert opened.chunks == ((min(n, 7),) if n else ())
    for key in (np.s_[5:40:3], np.s_[::-4], np.s_[8:20], np.s_[::20]):
        same(opened[key], columns["f"][key])
    with pytest.raises(KeyError, match="column 'z'"):
        dnb.open("t", "z")
    with pytest.raises(ValueError, match="good Parquet file"):
        dnb.read_parquet("t", columns=["f"])


@pytest.mark.parametrize(("write", "path"), [(dnb.to_parquet, "t"), (dnb.to_feather, "t.arrow")])
@pytest.mark.usefixtures("far")
def test_folders_that_were_written_again(here, session, write, path):
    pytest.importorskip("pyarrow")
    write(path, {"x": dnb.arange(300, dist="block")})
    for n, dtype in ((600, "i8"), (10, "i8"), (300, "f4"), (300, "i8")):
        opened, late = dnb.open(path, "x"), dnb.open(path, "x").later()
        write(path, {"x": dnb.ones(n, dtype, dist="block")})
        for call in (opened.read, lambda: opened[1:3], lambda: opened[...], late.to_numpy):
            with pytest.raises(OSError, match=r"on host .* open the file again if it was written"):
                call()
        same(dnb.open(path, "x").read(), np.ones(n, dtype))


def test_arrow_files_of_a_folder_and_columns_of_one_name(here, session):
    feather = pytest.importorskip("pyarrow.feather")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    os.makedirs("t/k=3")
    feather.write_feather(pa.table({"x": pa.array([1, 2], "int8")}), "t/a.feather")
    feather.write_feather(pa.table({"x": [0.5]}), "t/k=3/b.arrow")
    same(dnb.read_feather("t", columns=["x"])["x"], np.array([1, 2, 0.5]))
    os.mkdir("none")
    with pytest.raises(FileNotFoundError, match=r"none: got no \*.arrow or \*.feather"):
        dnb.read_feather("none")
    twice = pa.table([pa.array([1, 2]), pa.array([0.5, 1]), pa.array([7, 8])], ["a", "a", "b"])
    pq.write_table(twice, "t.parquet")
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_file(file, twice.schema) as writer:
        writer.write_table(twice)
    for name, read in (("t.parquet", dnb.read_parquet), ("t.arrow", dnb.read_feather)):
        with pytest.raises(ValueError, match=rf"{name}: got several columns 'a'"):
            read(name)
        same(read(name, columns=["b"])["b"], np.array([7, 8]))


@pytest.mark.parametrize("n", [0, 1, 50])
def test_parquet_both_ways(here, session, n):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = {"i": numbers(n, "i4"), "f": fractions(n), "b": numbers(n) > 0}
    for dist in (None, "cyclic", "replicated"):
        dnb.to_parquet("t.parquet", {k: dnb.array(v, dist=dist) for k, v in columns.items()})
        table = pq.read_table("t.parquet")
        assert table.column_names == [*columns]
        for name, want in columns.items():
            same(table[name].to_numpy(), want)
            same(dnb.read_parquet("t.parquet", dist=dist)[name], want)
    holes = pa.table(
        {
            **columns,
            "h": pa.array([None, *range(1, n)][:n], "int64"),
            "s": pa.array(["x"] * n, "string"),
        }
    )
    pq.write_table(holes, "n.parquet", row_group_size=7)
    with pytest.raises(TypeError, match=r"no numbers in \['s'\].*'h'\]"):
        dnb.read_parquet("n.parquet")
    found = dnb.read_parquet("n.parquet", columns=["h", "i"], dist="block")
    assert list(found) == ["h", "i"]
    same(found["i"], columns["i"])
    same(found["h"], np.array([np.nan, *range(1, n)][:n], None if n else int))
    opened = dnb.open("n.parquet", "f")
    for key in (np.s_[5:40:3], np.s_[::-4], np.s_[8:20], np.s_[::20]):
        same(opened[key], columns["f"][key])
    with pytest.raises(KeyError, match="column 'z'"):
        dnb.read_parquet("n.parquet", columns=["z"])


def test_parquet_files_that_differ(here, session):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    os.mkdir("t")
    parts = [
        {"i": pa.array([1, 2], "int8"), "f": [1, 2], "h": pa.array([1, 2], "int8"), "s": [1, 2]},
        {"i": [300, -5], "f": [0.5, 1.5], "h": pa.array([None, 7], "int16"), "s": ["a", "b"]},
    ]
    for k, part in enumerate(parts):
        pq.write_table(pa.table(part), f"t/{k}.parquet")
    found = dnb.read_parquet("t", columns=["i", "f", "h"], dist="block")
    same(found["i"], np.array([1, 2, 300, -5]))
    same(found["f"], np.array([1, 2, 0.5, 1.5]))
    same(found["h"], np.array([1, 2, np.nan, 7]))
    same(dnb.open("t", "i")[1:3], np.array([2, 300]))
    with pytest.raises(TypeError, match=r"no numbers in \['s'\]"):
        dnb.read_parquet("t")
    pq.write_table(pa.table({"i": [9], "new": [1]}), "t/2.parquet")
    for columns, file in ((["i", "f"], "t/2"), (["new"], "t/0"), (None, "t/2")):
        with pytest.raises(ValueError, match=rf"{file}.parquet: got no .*use columns=\['i'\]"):
            dnb.read_parquet("t", columns=columns)
    same(dnb.read_parquet("t", columns=["i"])["i"], np.array([1, 2, 300, -5, 9]))


def test_parquet_that_does_not_tell_what_is_missing(here, session):
    """Integers are floats then, unless they would be others, or none can be missing."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    big = np.array([2**60 + 1, 3, -7])
    fields = [pa.field("may", "int64"), pa.field("big", "int64"), pa.field("none", "int64", False)]
    table = pa.table([np.arange(3), big, big], schema=pa.schema(fields))
    pq.write_table(table, "x.parquet", write_statistics=False)
    same(dnb.open("x.parquet", "may").read(dist="block"), np.arange(3.0))
    same(dnb.open("x.parquet", "none").read(dist="block"), big)
    with pytest.raises(ValueError, match=rf"x\.parquet, row group 0: got {big[0]} in 'big'"):
        dnb.open("x.parquet", "big").read(dist="block")


def test_engines_look_for_what_is_missing_where_parquet_does_not_tell(here, session):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    largest = np.array([2**64 - 1, 0, 1], "u8")
    columns = {"i": np.arange(3), "u": largest, "b": largest > 0, "h": pa.array([7, None, 9])}
    os.mkdir("t")
    pq.write_table(pa.table(columns), "t/0.parquet", write_statistics=False, row_group_size=2)
    pq.write_table(pa.table(columns), "t/1.parquet")
    found = dnb.read_parquet("t", dist="block")
    for name, x in pq.read_table("t").to_pydict().items():
        same(found[name], np.array(x, float if name == "h" else columns[name].dtype))
    found = dnb.read_parquet("t", columns=["i"], filters=[("u", "==", 2**64 - 1), ("h", ">", 1)])
    same(found["i"], np.array([0, 0]))


def test_parquet_columns_in_names_of_folders(here, session):
    pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = {"x": np.arange(9), "k": np.arange(9) % 3, "g": ["a b"] * 9}
    pq.write_to_dataset(pa.table(columns), "t", partition_cols=["k", "g"])
    table = pq.read_table("t")
    found = dnb.read_parquet("t", columns=["k", "x"], dist="block")
    same(found["x"], table["x"].to_numpy())
    same(found["k"], table["k"].to_numpy().astype(int))
    with pytest.raises(TypeError, match=r"no numbers in \['g'\]"):
        dnb.read_parquet("t")
    holes = pa.table({"x": [1.5, 2.5], "h": pa.array([None, 4], "int64")})
    pq.write_to_dataset(holes, "h", partition_cols=["h"])
    same(dnb.read_parquet("h")["h"], np.array([4, np.nan]))


@pytest.mark.parametrize("rows", [7, 1000])
def test_rows_of_parquet_that_match(here, session, monkeypatch, rows):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    n = 100
    hole = [None if i % 9 == 0 else i % 10 for i in range(n)]
    columns = {"i": np.arange(n), "f": fractions(n), "h": pa.array(hole, "int32")}
    pq.write_table(pa.table(columns), "t.parquet", row_group_size=rows)
    for filters in (
        [("i", ">", 30), ("i", "<=", 60)],
        [("f", ">=", 0)],
        [("h", "==", 4)],
        [("h", "!=", 4), ("i", "<", 50)],
        [("i", "in", [3, 99, 500])],
        [("h", "not in", [1, 2])],
        [[("i", "<", 5)], [("i", "=", 95), ("f", "<", 1000)]],
        [("i", ">", 500)],
    ):
        want = pq.read_table("t.parquet", filters=filters)
        for dist in (None, "cyclic"):
            found = dnb.read_parquet("t.parquet", columns=["f", "i"], filters=filters, dist=dist)
            assert list(found) == ["f", "i"]
            same(found["i"], want["i"].to_numpy())
            same(found["f"], want["f"].to_numpy())
    with open("t.parquet", "r+b") as file:  # the first rows are no good
        file.seek(4)
        file.write(b"\xff" * 8)
    if rows == 7:
        same(
            dnb.read_parquet("t.parquet", columns=["i"], filters=[("i", ">", 97)])["i"],
            np.array([98, 99]),
        )
    for wrong in ([("i", "~", 3)], [("i", ">")]):
        with pytest.raises(ValueError, match=r"filters: got .* expected \(column"):
            dnb.read_parquet("t.parquet", filters=wrong)
    with pytest.raises(KeyError, match="column 'z'"):
        dnb.read_parquet("t.parquet", filters=[("z", ">", 3)])


def test_numbers_of_parquet_are_compared_with_numbers(here, session):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for part in ("1", "2"):
        os.makedirs(f"f/s={part}")
        columns = {"x": np.arange(3) * int(part), "h": pa.array([1, None, 3])}
        pq.write_table(pa.table(columns), f"f/s={part}/a.parquet")
    for filters in (
        [("s", "in", ["1", "7"])],
        [("s", "not in", {"1"})],
        [("x", ">", None)],
        [("h", "!=", None)],
        [("x", "in", [np.int8(2), 4])],
    ):
        want = pq.read_table("f", columns=["x"], filters=filters)["x"].to_numpy()
        same(dnb.read_parquet("f", columns=["x"], filters=filters)["x"], want)
    largest = dnb.arange(5, dist="block").max()
    same(dnb.read_parquet("f", columns=["x"], filters=[("x", "==", largest)])["x"], np.array([4]))
    for one in (
        ("s", "==", "1"),
        ("x", "<", "3"),
        ("x", "in", ["2"]),
        ("h", ">", date(2024, 1, 1)),
    ):
        with pytest.raises(
            TypeError, match=rf"filters: got \('{one[0]}', .* numbers, as the column"
        ):
            dnb.read_parquet("f", columns=["x"], filters=[one])


@pytest.mark.parametrize("rows", [2, 1000])
def test_nan_in_parquet_matches_as_in_arrow(here, session, rows):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    nan = float("nan")
    b = [1, 3, nan, None, 3, 3, nan, 3, nan, nan, 3, None]
    full = [3 if each is None else each for each in b]
    columns = {"a": np.arange(12), "b": pa.array(b, "float64"), "f": pa.array(full, "float32")}
    columns["h"] = pa.array([None if each is None else 3 for each in b], "int16")
    table = pa.table(columns)
    pq.write_table(table, "t.parquet", row_group_size=rows)
    single = [("!=", 3), ("!=", nan), ("==", nan), ("==", 3), ("<", 4), ("<", nan), (">=", nan)]
    sets = [[3], [nan], [nan, 3], []]
    for name in "bfh":
        for comparison, value in [*single, *[(op, v) for op in ("in", "not in") for v in sets]]:
            filters = [(name, comparison, value)]
            # of the table in memory: of the file pyarrow would skip groups of 3 and NaN by `!=`
            want = table.filter(pq.filters_to_expression(filters))["a"].to_numpy()
            found = dnb.read_parquet("t.parquet", columns=["a"], filters=filters)["a"]
            same(found, want)
    filters = [("b", "!=", 3), ("a", ">", 6)]
    same(dnb.read_parquet("t.parquet", columns=["a"], filters=filters)["a"], np.array([8, 9]))
    holes = pa.table({"x": [1.5, 2.5, 3.5], "k": pa.array([None, 4, 5], "int64")})
    pq.write_to_dataset(holes, "k", partition_cols=["k"])
    same(dnb.read_parquet("k", columns=["x"], filters=[("k", "!=", 4)])["x"], np.array([3.5]))


def test_rows_of_parquet_whose_integers_would_be_rounded(here, session):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 2**60
    columns = {"i": pa.array([n, n + 1, None, n + 3]), "v": [0, 1, 2, 3]}
    pq.write_table(pa.table(columns), "t.parquet", row_group_size=3)
    for comparison in ("==", "!=", "<", "<=", ">", ">=", "in", "not in"):
        value = [n + 1, 5] if comparison.endswith("in") else n + 1
        filters = [("i", comparison, value)]
        want = pq.read_table("t.parquet", filters=filters)["v"].to_numpy()
        same(dnb.read_parquet("t.parquet", columns=["v"], filters=filters)["v"], want)
    n, columns = 2**63, {"u": pa.array([2**63, 2**63 + 1, None, 5], "uint64"), "v": [0, 1, 2, 3]}
    pq.write_table(pa.table(columns), "u.parquet")
    for comparison, value, want in (("==", n + 1, [1]), (">", 5, [0, 1]), ("<=", n, [0, 3])):
        found = dnb.read_parquet("u.parquet", columns=["v"], filters=[("u", comparison, value)])
        same(found["v"], np.array(want))
    same(
        dnb.read_parquet("t.parquet", columns=["v"], filters=[("i", ">", 2.5)])["v"],
        np.array([0, 1, 3]),
    )


def test_rows_of_parquet_whose_text_or_date_matches(here, session):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 40
    text = [None if i % 9 == 0 else "tu\xe9"[i % 3] for i in range(n)]
    days = [date(2024, 1, 1) + timedelta(i) for i in range(n)]
    columns = {"i": np.arange(n), "s": text, "d": days, "c": pa.array(text).dictionary_encode()}
    pq.write_table(pa.table(columns), "t.parquet", row_group_size=7)
    for k, part in enumerate(("eu", "us")):
        os.makedirs(f"f/r={part}")
        pq.write_table(pa.table({"i": np.arange(5) + 5 * k}), f"f/r={part}/a.parquet")
    for path, filters in (
        ("t.parquet", [("s", "==", "t")]),
        ("t.parquet", [("s", "!=", "t"), ("i", ">", 9)]),
        ("t.parquet", [("s", "in", {"u", "\xe9"})]),
        ("t.parquet", [("c", "not in", ["u"])]),
        ("t.parquet", [("d", ">", date(2024, 1, 30))]),
        ("t.parquet", [[("d", "<", datetime(2024, 1, 3))], [("s", ">=", "u"), ("i", "<", 9)]]),
        ("t.parquet", [("s", "==", "none")]),
        ("f", [("r", "==", "us")]),
        ("f", [("r", "in", ["eu", "x"])]),
    ):
        want = pq.read_table(path, columns=["i"], filters=filters)["i"].to_numpy()
        same(dnb.read_parquet(path, columns=["i"], filters=filters)["i"], want)
    with pytest.raises(ValueError, match=r"t.parquet, row group 0: got .* compares so in 's'"):
        dnb.read_parquet("t.parquet", columns=["i"], filters=[("s", "==", 3)])
    for none in ([], [[]]):
        with pytest.raises(ValueError, match="filters: got .* give None for all rows"):
            dnb.read_parquet("t.parquet", columns=["i"], filters=none)


def test_parquet_columns_behind_nested_ones(here, session):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    nested = [{"p": 1, "q": 2}] * 3
    pq.write_table(pa.table({"s": nested, "z": pa.array([1, None, 3], "int64")}), "t.parquet")
    same(dnb.read_parquet("t.parquet", columns=["z"])["z"], np.array([1, np.nan, 3]))


def test_folders_of_others_are_not_replaced(here, session):
    pytest.importorskip("zarr")
    os.makedirs("x.zarr/mine")
    with pytest.raises(FileExistsError, match="other files"):
        dnb.save("x.zarr", dnb.arange(5))
    assert os.listdir("x.zarr") == ["mine"]


@pytest.mark.parametrize("name", ["x.h5", "x.nc", "x.zarr"])
def test_what_nobody_named_stays(here, session, name):
    pytest.importorskip({"x.h5": "h5py", "x.nc": "h5netcdf", "x.zarr": "zarr"}[name])
    x, y = numbers(40), numbers(40, "i4")
    dnb.save(name, dnb.array(x, dist="block"), name="a")
    dnb.save(name, dnb.array(y, dist="block"), name="g/b")
    dnb.save(name, dnb.array(y), name="g/h/c")
    with pytest.raises(ValueError, match=rf"{name}.*'?a'?.*overwrite=True|{name}/a.*overwrite"):
        dnb.save(name, dnb.array(y), name="a")
    with pytest.raises(ValueError, match=r"'?a'?.*another name"):
        dnb.save(name, dnb.array(y), name="a/b")
    with pytest.raises(ValueError, match=r"group"):
        dnb.save(name, dnb.array(y), name="g")
    if name == "x.zarr":
        with pytest.raises(ValueError, match=r"x.zarr: got a group.*overwrite=True"):
            dnb.save(name, dnb.array(y))
    same(dnb.open(name, "a").read(), x)
    if name != "x.nc":
        dnb.save(name, dnb.array(y, dist="block"), name="a", overwrite=True)
        same(dnb.open(name, "a").read(), y)
    else:
        with pytest.raises(ValueError, match="none can be taken out"):
            dnb.save(name, dnb.array(y), name="a", overwrite=True)
        with pytest.raises(ValueError, match=r"dimension 'dim_0' of length 40.*dims="):
            dnb.save(name, dnb.array(y)[:3], name="d")
    same(dnb.open(name, "g/b").read(), y)
    same(dnb.open(name, "g/h/c").read(), y)
    assert os.listdir(".") == [name]


@pytest.mark.parametrize("name", ["x.h5", "x.nc", "x.zarr"])
def test_attributes(here, session, name):
    pytest.importorskip({"x.h5": "h5py", "x.nc": "h5netcdf", "x.zarr": "zarr"}[name])
    given = {"units": "K", "scale": 0.5, "n": 3, "range": [1, 2]}
    dnb.save(name, dnb.arange(60.0, dist="block"), name="g/t", attrs=given)
    found = dnb.open(name, "g/t").attrs
    assert set(found) == set(given)
    assert (found["units"], found["scale"], found["n"]) == ("K", 0.5, 3)
    np.testing.assert_array_equal(found["range"], [1, 2])
    dnb.save(name, dnb.arange(60.0), name="u")
    assert dnb.open(name, "u").attrs == {}
    assert dnb.open(name, "g/t").attrs["units"] == "K"
    np.save("x.npy", np.arange(3))
    assert dnb.open("x.npy").attrs == {}
    with pytest.raises(TypeError, match="with options"):
        dnb.save("x.npy", dnb.arange(3), attrs=given)


@pytest.mark.filterwarnings("ignore:Consolidated metadata")  # Zarr says so of its version 3
def test_a_group_that_lists_its_arrays_lists_new_ones(here, session):
    zarr = pytest.importorskip("zarr")
    for version in (2, 3):
        name, x = f"{version}.zarr", dnb.arange(9, dist="block")
        zarr.create_group(name, zarr_format=version).create_array("a", data=np.ones(3))
        zarr.consolidate_metadata(name)
        dnb.save(name, x, name="b")
        same(dnb.open(name, "b").read(), np.arange(9))
        same(dnb.open(name, "a").read(), np.ones(3))
        assert zarr.open(name)["b"].metadata.zarr_format == version


@pytest.mark.parametrize("n", [0, 1, 50])
def test_arrow_is_written_for_others(here, session, n):
    dataset = pytest.importorskip("pyarrow.dataset")
    columns = {"i": numbers(n, "i4"), "h": fractions(n).astype("f2"), "b": numbers(n) > 0}
    for dist in (None, "cyclic"):
        given = {k: dnb.array(v, dist=dist) for k, v in columns.items()}
        dnb.to_feather("t.arrow", given, compression="zstd")
        table = dataset.dataset("t.arrow", format="feather").to_table()
        assert table.column_names == [*columns]
        for name, want in columns.items():
            same(table[name].to_numpy(), want)
            same(dnb.read_feather("t.arrow")[name], want)
        same(dnb.open("t.arrow", "i")[n // 2 :], columns["i"][n // 2 :])
    with pytest.raises(TypeError, match="'z': got complex128"):
        dnb.to_feather("t.arrow", {"z": dnb.ones(3, complex)})
    same(dnb.read_feather("t.arrow")["i"], columns["i"])
    dnb.to_parquet("t", {"x": dnb.arange(3)})
    with pytest.raises(FileExistsError, match="other files"):
        dnb.to_feather("t", {"x": dnb.arange(3)})


def test_tables_replace_tables_alone(here, session):
    pytest.importorskip("pyarrow")
    pytest.importorskip("zarr")
    dnb.save("x.zarr", dnb.arange(5))
    with pytest.raises(FileExistsError, match="other files"):
        dnb.to_parquet("x.zarr", {"x": dnb.arange(5)})
    same(dnb.open("x.zarr").read(), np.arange(5))
    for n in (5, 3):
        dnb.to_parquet("t", {"x": dnb.arange(n)})
    same(dnb.open("t", "x").read(), np.arange(3))
    write_text("y.zarr", "mine")
    with pytest.raises(FileExistsError, match="y.zarr"):
        dnb.save("y.zarr", dnb.arange(5), overwrite=True)


@pytest.mark.cases(7)
@pytest.mark.parametrize(
    "name", ["x.h5", "x.zarr", "x.parquet", "x.arrow", "x.tif", "x.png", "x.jpg"]
)
def test_bad_files_of_other_libraries(here, session, name):
    needs = {"x.h5": "h5py", "x.zarr": "zarr", "x.parquet": "pyarrow", "x.arrow": "pyarrow"}
    needs |= {"x.tif": "tifffile", "x.png": "PIL", "x.jpg": "PIL"}
    pytest.importorskip(needs[name])
    with pytest.raises(FileNotFoundError, match=name):
        dnb.open(name)
    write_text(name, "nonsense " * 100)
    with pytest.raises((ValueError, OSError), match=f"{name}.*check it"):
        dnb.open(name)


def test_damaged_chunks_are_named(here, session):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    x = fractions((64, 64))
    with h5py.File("x.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(8, 64), compression="gzip", fletcher32=True)
        where = file["x"].id.get_chunk_info(3).byte_offset
    zarr.create_array("x.zarr", data=x, chunks=(8, 64))
    for name, place in (("x.h5", where + 50), ("x.zarr/c/3/0", 60)):
        with open(name, "r+b") as file:
            file.seek(place)
            file.write(b"\x00\xff" * 20)
    for name in ("x.h5", "x.zarr"):
        with pytest.raises((ValueError, OSError), match=name):
            dnb.open(name).read(dist="block")
        same(dnb.open(name)[:16], x[:16])


def test_a_page_of_tiff_that_follows_itself(here, session):
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    for options in ({}, {"bigtiff": True}):
        tifffile.imwrite("x.tif", numbers((9, 7), "u2"), metadata=None, **options)
        with tifffile.TiffFile("x.tif") as file:
            first, after = file.pages[0].offset, file.pages.next_page_offset
            form, kind = file.tiff.offsetformat, file.tiff.is_bigtiff
        assert bool(options) == kind
        same(dnb.open("x.tif").read(), numbers((9, 7), "u2"))
        with open("x.tif", "r+b") as file:
            file.seek(after)
            file.write(struct.pack(form, first))
        with pytest.raises(ValueError, match=r"x.tif: got a page at byte \d+ that follows itself"):
            dnb.open("x.tif")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_page_of_tiff_that_does_not_say_where_it_is(here, session, compression):
    """tifffile would read zeros."""
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    tifffile.imwrite("x.tif", np.ones((60, 7), "u1"), compression=compression)
    with tifffile.TiffFile("x.tif") as file:
        at = file.pages[0].tags["StripOffsets"].offset
    with open("x.tif", "r+b") as file:
        file.seek(at)
        file.write(struct.pack("<H", 65000))  # another tag
    with pytest.raises(ValueError, match=r"x.tif: got page 0 that says where 0 of 1 strips are"):
        dnb.open("x.tif")


@pytest.mark.parametrize("index", [np.array([3, 200], "u1"), np.array([3, -2], "i1")])
def test_rows_of_a_file_by_small_integers(here, session, index):
    x = numbers((1000, 3), "f8")
    np.save("x.npy", x)
    same(dnb.open("x.npy")[index], x[index])
    same(dnb.open("x.npy")[index, ::2], x[index, ::2])


def test_tiff_without_pictures_and_what_says_nothing(here, session, monkeypatch):
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    tifffile.imwrite("x.tif", numbers((9, 7), "u2"), metadata=None)
    with monkeypatch.context() as patch:
        patch.setattr(tifffile.TiffFile, "series", [])
        with pytest.raises(ValueError, match=r"x\.tif: got no pictures, expected a good TIFF file"):
            dnb.open("x.tif")
    for error in (AssertionError(), KeyError(0)):

        def fails(file, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(tifffile.TiffFile, "series", property(fails))
            with pytest.raises(ValueError, match=rf"got what raises {type(error).__name__}\("):
                dnb.open("x.tif")


def test_records_that_are_not_written_are_told_of(here, session):
    """Readers of NetCDF fill them; HDF5 knows nothing of them."""
    h5py = pytest.importorskip("h5py")
    with h5py.File("x.nc", "w") as file:
        for name, n in (("t", 5), ("a", 5), ("b", 3)):
            file.create_dataset(name, data=np.arange(n * 1.0), maxshape=(None,), chunks=(5,))
        file["t"].make_scale()
        for name in "ab":
            file[name].dims[0].attach_scale(file["t"])
    same(dnb.open("x.nc", "a")[...], np.arange(5.0))
    with pytest.raises(ValueError, match="/b with 3 of 5 records.*xarray"):
        dnb.open("x.nc", "b")


def test_files_of_a_folder_are_brought_to_the_disk_together(here, session, monkeypatch):
    pytest.importorskip("zarr")
    from distnb.client.files import writing

    sync, pairs = writing.sync, threading.Barrier(2, timeout=60)  # breaks if one thread comes

    def paired(path):
        if "/c/" in path:
            pairs.wait()
        sync(path)

    def fails(path):
        if path.endswith("/c/3"):
            raise OSError(errno.ENOSPC, "No space left on device")

    x = np.arange(60)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "sync", paired)
        dnb.save("x.zarr", dnb.array(x, dist="block"), chunks=(10,))
        patch.setattr(writing, "sync", fails)
        with pytest.raises(OSError, match="writing .*No space left"):
            dnb.save("x.zarr", dnb.ones(60, dist="block"), chunks=(10,), overwrite=True)
    same(dnb.open("x.zarr")[...], x)
    assert os.listdir(".") == ["x.zarr"]


def test_netcdf_has_no_half_floats(here, session):
    pytest.importorskip("h5netcdf")
    with pytest.raises(ValueError, match="4 bytes and more"):
        dnb.save("x.nc", dnb.zeros(4, "f2"), name="a")


def test_netcdf_of_another_kind_is_named(here, session):
    pytest.importorskip("h5py")
    scipy = pytest.importorskip("scipy.io")
    with scipy.netcdf_file("x.nc", "w") as file:
        file.createDimension("t", 9)
        file.createVariable("x", "f8", ("t",))[:] = np.arange(9)
    with pytest.raises(OSError, match=r"x.nc: got NetCDF 3, expected .* convert it"):
        dnb.open("x.nc", "x")


def test_hdf5_that_is_open_already(here, session):
    h5py = pytest.importorskip("h5py")
    x = fractions((10, 6))
    with h5py.File("x.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(3, 6))
    for options in ({}, {"locking": False}):
        with h5py.File("x.h5", **options) as file:
            same(dnb.open("x.h5").read(dist="block"), x)
            same(file["x"][...], x)


def test_whatever_a_library_raises_of_a_damaged_file_names_it(here, session, monkeypatch):
    h5py = pytest.importorskip("h5py")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from distnb.formats.libraries import parquet

    with h5py.File("x.h5", "w") as file:
        file["x"] = fractions((10, 6))
    with open("x.h5", "r+b") as file:
        data = file.read()
        file.seek(data.index(b"HEAP"))
        file.write(b"PEAH")
    with pytest.raises(ValueError, match=r"^file .*x.h5: got .*local heap.*check it"):
        dnb.open("x.h5", "x")
    pq.write_table(pa.table({"x": pa.array([1, None, 3] * 20, "int64")}), "x.parquet")
    with monkeypatch.context() as patch:  # as statistics that were damaged
        patch.setattr(parquet._Sheet, "missing", lambda *_: False)
        with pytest.raises(ValueError, match=r"x.parquet, row group 0: got elements .* missing"):
            dnb.open("x.parquet", "x").read(dist="block")


@pytest.mark.parametrize("name", ["x.h5", "x.zarr"])
def test_what_an_array_has_itself_is_no_option(here, session, name):
    with pytest.raises(TypeError, match=r"save\(\): got options \['dtype'\], expected others"):
        dnb.save(name, numbers((3, 4)), dtype="f4")
    assert os.listdir(".") == []
