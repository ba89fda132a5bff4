"""Files: written by distnb and read by NumPy, and the other way round, whatever the layout."""

import bz2
import errno
import gzip
import io
import lzma
import os
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb
from distnb.common import leftovers
from distnb.formats import lines
from tests.contract.support import setting

pytestmark = pytest.mark.ways("one", "cutoff")

SHAPES = [(), (0,), (7,), (5, 4), (2, 9), (3, 4, 5), (0, 3)]
LAYOUTS = [None, "block", "cyclic", "replicated", ("engine", 0)]
VIEWS = {
    "all": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1] if x.ndim else x,
    "every other": lambda x: x[1::2] if x.ndim else x,
}


@pytest.fixture
def here(tmp_path, monkeypatch, session):
    """A folder to work in; nothing is left behind that nobody asked for."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    session.flush()
    assert not [name for name in os.listdir() if name.endswith(".part")]


def numbers(shape, dtype="f8"):
    return (np.arange(np.prod(shape, dtype=int)) * 7 % 11 - 3).reshape(shape).astype(dtype)


def layouts_of(shape):
    more = [("*", "block"), ("block", ("cyclic", 2))] if len(shape) == 2 else []
    return [d for d in LAYOUTS + more if shape or d not in ("block", "cyclic")]


def same(got, want):
    if isinstance(got, dnb.DistArray):
        got = got.to_numpy()
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


# -- NumPy's own files -------------------------------------------------------------------------


@pytest.mark.cases(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_npy_both_ways(here, shape):
    for dtype in ("f8", "?", "c8", "i2"):
        x = numbers(shape, dtype)
        for dist in layouts_of(shape):
            ours = dnb.array(x, dist=dist)
            for view in VIEWS.values():
                dnb.save("a.npy", view(ours))
                same(np.load("a.npy"), view(x))
                np.save("b.npy", view(x))  # of a transposed one the file is in Fortran order
                same(dnb.load("b.npy", dist=dist), view(x))


def test_engines_tell_how_many_bytes_they_read_and_wrote(here, session):
    """What the line of a long wait shows."""

    def told():
        filed = [engine.sample.filed for engine in session.live(5).engines]
        last = max(n for n, _, _ in filed)
        return [sum(counts) for counts in zip(*[f[1:] for f in filed if f[0] == last], strict=True)]

    x = dnb.array(numbers((9, 4)), dist="block")
    dnb.save("a.npy", x)
    assert told() == [288, 288]
    dnb.load("a.npy", dist="cyclic").to_numpy()
    assert told() == [288, 288]
    with setting(cutoff=0):
        dnb.savetxt("a.txt", x)
        length = os.path.getsize("a.txt")
        assert told() == [length, length]
        dnb.loadtxt("a.txt").to_numpy()
        assert told() == [length, length]
    session.connection.begin_epoch()  # what was interrupted is not told of for ever
    with setting(place="engines"):
        (x + 1).to_numpy()
    assert told() == [0, 0]


@pytest.mark.parametrize("order", ["<", ">"])
def test_npy_of_either_byte_order(here, order):
    np.save("x.npy", numbers((6, 3)).astype(f"{order}f4"))
    same(dnb.load("x.npy", dist="block"), numbers((6, 3), "f4"))


def test_numpys_save_takes_our_arrays(here, session):
    x = numbers((40, 30))
    np.save("x", dnb.array(x, dist="block"))
    same(np.load("x.npy"), x)
    with open("x", "wb") as file:
        np.save(file, dnb.array(x, dist=("*", "cyclic")))
    same(np.load("x"), x)


@pytest.mark.parametrize("save", ["savez", "savez_compressed"])
@pytest.mark.parametrize("shape", [(), (7,), (5, 4), (0, 3)], ids=str)
def test_archives_both_ways(here, save, shape):
    x = numbers(shape)
    for dist in layouts_of(shape):
        ours = dnb.array(x, dist=dist)
        getattr(dnb, save)("a.npz", ours, b=ours.T, c=x, d=ours[None])
        with zipfile.ZipFile("a.npz") as archive:
            assert archive.testzip() is None
        with np.load("a.npz") as found:
            assert sorted(found.files) == ["arr_0", "b", "c", "d"]
            for name, want in (("arr_0", x), ("b", x.T), ("c", x), ("d", x[None])):
                same(found[name], want)
        getattr(np, save)("n.npz", x, b=x.T)
        with dnb.load("n.npz", dist=dist) as found:
            assert repr(found) == "Archive with keys: b, arr_0"
            assert sorted(found.files) == ["arr_0", "b"]
            same(found["arr_0"], x)
            same(found["b.npy"], x.T)
            with pytest.raises(KeyError, match="not a file in the archive"):
                found["z"]


def test_raw_both_ways(here):
    x = numbers((9, 5), "i4")
    for dist in layouts_of(x.shape):
        dnb.array(x, dist=dist).T.tofile("raw")
        same(np.fromfile("raw", "i4"), x.T.ravel())
        same(dnb.fromfile("raw", "i4", count=7, offset=8, dist="block"), x.T.ravel()[2:9])
    dnb.array(x).tofile("text", sep=",")
    same(dnb.fromfile("text", "i4", sep=","), x.ravel())


def test_arrays_that_are_written_in_slabs(here, monkeypatch, session):
    from distnb.client.files import reading

    monkeypatch.setattr(reading, "SLAB", 64)
    x = numbers((50, 4))
    ours = dnb.array(x, dist=("cyclic", "*"))
    dnb.save("x.npy", ours)
    same(np.load("x.npy"), x)
    same(dnb.load("x.npy", dist="cyclic"), x)
    dnb.savez_compressed("x.npz", ours)
    same(np.load("x.npz")["arr_0"], x)
    dnb.savez("x.npz", ours)
    same(dnb.load("x.npz", dist="cyclic")["arr_0"], x)


def test_pieces_and_gaps(here, monkeypatch, session):
    from distnb.engines.files import reading
    from distnb.formats import boxes, plain

    monkeypatch.setattr(plain.PlainReader, "gap", 40)
    monkeypatch.setattr(plain, "_BUFFER", 100)
    monkeypatch.setattr(reading, "pieces", lambda *args: boxes.pieces(*args, most=90))
    x = numbers((13, 7, 5))
    np.save("x.npy", x)
    opened = dnb.open("x.npy")
    for key in (np.s_[...], np.s_[::-3, 1:6:2], np.s_[3, :, ::4], np.s_[:, :, 2], np.s_[5:5]):
        same(opened[key], x[key])
    same(dnb.load("x.npy", dist=("*", "block")), x)


# -- lazily opened -----------------------------------------------------------------------------


def test_an_opened_file_knows_what_it_is_and_reads_what_is_asked_for(here, session):
    x = numbers((40, 6))
    np.save("x.npy", x)
    opened = dnb.open("x.npy")
    assert (opened.shape, opened.dtype, opened.ndim, len(opened)) == (x.shape, x.dtype, 2, 40)
    assert (opened.size, opened.nbytes, opened.chunks) == (x.size, x.nbytes, ())
    assert repr(opened) == "<Opened (40, 6) float64 in 'x.npy'>"
    for key in (np.s_[...], 3, np.s_[:, 2], np.s_[::-5], np.s_[None, 2:4], [3, 1]):
        same(opened[key], x[key])
    assert float(opened[3, 4]) == x[3, 4]
    same(opened + 1, x + 1)
    same(1 - opened, 1 - x)
    same(dnb.sqrt(abs(opened)), np.sqrt(abs(x)))
    same(np.sin(opened), np.sin(x))
    same(np.concatenate([opened, opened]), np.concatenate([x, x]))
    same(dnb.concatenate([opened, opened]), np.concatenate([x, x]))
    same(dnb.sum(opened, axis=0), x.sum(axis=0))
    same(opened.mean(axis=1), x.mean(axis=1))
    same(np.asarray(opened), x)
    target = dnb.zeros((40, 6), dist=("cyclic", "*"))
    target[...] = opened
    same(target, x)
    target[:20] = opened[20:]
    same(target[:20], x[20:])
    same(dnb.asarray(opened, dist="cyclic"), x)
    dnb.save("y.npy", opened[::2] * 2)
    same(np.load("y.npy"), x[::2] * 2)
    with setting(gather_budget=100), pytest.raises(dnb.GatherError, match="engines read"):
        np.asarray(opened)


def test_nobody_can_write_into_an_opened_file(here, session):
    x = numbers((40, 6))
    np.save("x.npy", x)
    opened = dnb.open("x.npy")

    def is_set(where, value):
        opened[where] = value

    for write in (
        lambda: is_set(0, 5),
        lambda: dnb.add(opened, 1, out=opened),
        lambda: np.add(x, 1, out=opened),
        lambda: np.multiply(opened, 2, out=opened, where=opened > 1),
        lambda: dnb.copyto(opened, 5),
        lambda: np.copyto(opened, 5),
        lambda: dnb.put(opened, [0], 9),
        lambda: dnb.putmask(opened, opened > 1, 3),
        lambda: np.add.at(opened, [0], 1),
        lambda: dnb.fill_diagonal(opened, 1),
        lambda: dnb.nan_to_num(opened, copy=False),
        lambda: opened.sort(),
    ):
        with pytest.raises(ValueError, match=r"read-only"):
            write()
    with pytest.raises(TypeError, match="expected a DistArray"):
        dnb.sum(dnb.ones((2, 40, 6)), axis=0, out=opened)
    with pytest.raises(AttributeError):
        opened.real = 7
    with pytest.raises(ValueError, match="a copy that is allowed"):
        np.asarray(opened, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        dnb.asarray(opened, copy=False)[0] = 1
    own = dnb.asarray(opened)
    own[0] = 1
    same(opened, x)


def test_an_opened_file_is_true_or_a_number_as_an_array_is(here, session):
    for name, value in (("two.npy", np.array(2)), ("none.npy", np.zeros(0)), ("x.npy", np.ones(3))):
        np.save(name, value)
    two, none, x = (dnb.open(name) for name in ("two.npy", "none.npy", "x.npy"))
    for f in (bool, int, float, complex, range, "{:d}".format, lambda v: [5, 6, 7][v]):
        assert f(two) == f(np.array(2))
    assert (1 in x, 7 in x, 1 in none) == (True, False, False)
    for wrong in (x, none):
        with pytest.raises(ValueError, match="truth value"):
            bool(wrong)


def test_what_an_opened_file_has_not_is_not_read_for(here, session, monkeypatch):
    from distnb.client.files import reading, unread

    x = numbers((60, 6))
    np.save("x.npy", x)
    opened, read = dnb.open("x.npy"), []
    monkeypatch.setattr(
        unread, "read_here", lambda *given: read.append(0) or reading.read_here(*given)
    )
    monkeypatch.setattr(
        unread, "fill_from", lambda *given: read.append(1) or reading.fill_from(*given)
    )
    assert not hasattr(opened, "iloc")
    assert opened.T.shape == (6, 60)
    lazily = dnb.load("x.npy", mmap_mode="r")
    assert lazily.shape == x.shape
    if session.size > 1 and not dnb.config.cutoff:
        assert 1 not in read
    same(opened.T[2:4], x.T[2:4])
    same(lazily[3:7, 1], x[3:7, 1])
    same(lazily, x)
    with pytest.raises(ValueError, match="read-only"):
        lazily[0] = 1


def test_what_is_read_is_spread_or_not(here, session):
    np.save("x.npy", np.arange(12.0))
    same(dnb.load("x.npy", dist=True), np.arange(12.0))
    assert dnb.load("x.npy", dist=False).at_home


@pytest.mark.parametrize("runs", [32, 1])
def test_rows_that_are_named_are_read(here, session, monkeypatch, runs):
    from distnb.client.files import opening

    monkeypatch.setattr(opening, "_RUNS", runs)
    x = numbers((60, 6))
    np.save("x.npy", x)
    opened, read = dnb.open("x.npy"), []
    monkeypatch.setattr(type(opened), "read", lambda self: read.append(0))
    for rows in ([3, 1], [0, -1, 0], np.array([7, 8, 9, 50]), [5]):
        same(opened[rows], x[rows])
        same(opened[rows, 2:], x[rows, 2:])
        same(opened[rows, 3], x[rows, 3])
    with pytest.raises(IndexError, match="index 60 is out of bounds for axis 0 with size 60"):
        opened[[1, 60]]
    assert not read


def test_names_of_other_formats_are_refused(here, session):
    x = dnb.arange(9, dist="block")
    for name, use in (
        ("x.csv", "savetxt"),
        ("x.txt.gz", "savetxt"),
        ("x.png", "imsave"),
        ("x.zarr.zip", "zarr"),
        ("x.npz", "savez"),
        ("x.parquet", "to_parquet"),
        ("x.feather", "to_feather"),
        ("x.mtx", "mmwrite"),
        ("x.mat", "savemat"),
        ("x.wav", "wavfile"),
    ):
        with pytest.raises(ValueError, match=rf"save\(\): got file '{name}'.*{use}"):
            dnb.save(name, x)
    sp = pytest.importorskip("scipy.sparse")
    for sparse in (sp.eye_array(3), dnb.sparse.eye_array(3)):
        with pytest.raises(TypeError, match="sparse array, expected a dense one; use .*save_npz"):
            dnb.save("x.npy", sparse)
    assert not os.listdir(".")
    for name, use in (
        ("x.csv", "read_csv"),
        ("x.csv.gz", "read_csv"),
        ("x.mtx", "mmread"),
        ("x.mat", "loadmat"),
    ):
        write_text(name, "1,2\n")
        with pytest.raises(ValueError, match=f"{name}: got .*use .*{use}"):
            dnb.open(name)
    np.save("x.x", x.to_numpy())
    same(dnb.open("x.x.npy"), np.arange(9))


def test_a_member_of_an_archive_is_opened_by_its_name(here, session):
    np.savez("x.npz", a=numbers((4, 3)), b=numbers(5))
    same(dnb.open("x.npz", "a")[1:], numbers((4, 3))[1:])
    with pytest.raises(KeyError, match=r"one of \['a.npy', 'b.npy'\]"):
        dnb.open("x.npz")


# -- bad files ---------------------------------------------------------------------------------


def _cut(name):
    with open(name, "r+b") as file:
        file.truncate(os.path.getsize(name) - 8)


def _pickled(name):
    np.save(name, np.array([{}], object), allow_pickle=True)


def _structured(name):
    np.save(name, np.zeros(3, "f4,i4"))


def _text(name):
    with open(name, "w") as file:
        file.write("1 2 3\n")


def _broken(name):
    with open(name, "r+b") as file:
        file.seek(20)
        file.write(b"\xff\x00[[[[")


BAD = {
    "cut off": (_cut, ValueError, "cut off"),
    "pickled": (_pickled, ValueError, "no pickle"),
    "structured": (_structured, TypeError, "dtype"),
    "text": (_text, ValueError, "header"),
    "header": (_broken, ValueError, "header"),
    "empty": (lambda name: os.truncate(name, 0), (ValueError, EOFError), "."),
    "folder": (lambda name: (os.unlink(name), os.mkdir(name)), IsADirectoryError, "a folder"),
    "none": (os.unlink, FileNotFoundError, "x.npy"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_refused_and_named(here, session, what):
    spoil, kind, message = BAD[what]
    np.save("x.npy", numbers((30, 3)))
    spoil("x.npy")
    for read in (dnb.load, dnb.open):
        with pytest.raises(kind, match=message) as raised:
            read("x.npy")
        assert what == "empty" or "x.npy" in str(raised.value)


def test_headers_of_chance_neither_hang_nor_crash(here, session):
    np.save("x.npy", numbers((4, 3)))
    with open("x.npy", "rb") as file:
        good = file.read()
    rng = np.random.default_rng(5)
    for _ in range(60):
        bad = bytearray(good)
        for place in rng.integers(0, 100, 3):
            bad[place] = rng.integers(256)
        with open("x.npy", "wb") as file:
            file.write(bad)
        try:
            found = dnb.load("x.npy", dist="block")
        except (ValueError, TypeError, MemoryError):
            continue
        same(found, np.load("x.npy").astype(found.dtype))


def test_more_than_memory_is_refused_before_anything_is_read(here, session):
    head = (
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9007199254,), }"
    )
    with open("x.npy", "wb") as file:
        file.write(head.ljust(127) + b"\n")
        file.truncate(128 + 8 * 9007199254)  # a hole
    with pytest.raises(MemoryError, match="engine"):
        dnb.load("x.npy")
    same(dnb.open("x.npy")[5_000_000_000:5_000_000_003], np.zeros(3))


def test_a_file_that_changes_while_it_is_open_is_refused(here, session):
    np.save("x.npy", numbers((30, 3)))
    opened = dnb.open("x.npy")
    np.save("x.npy", numbers((31, 3)))
    with pytest.raises(OSError, match="open the file again"):
        opened.read(dist="block")
    os.unlink("x.npy")
    with pytest.raises(FileNotFoundError, match="all hosts share"):
        opened.read(dist="block")


# -- safe writing ------------------------------------------------------------------------------


def test_what_cannot_be_written_leaves_the_old_file(here, session):
    x = dnb.array(numbers((30, 3)), dist="block")
    dnb.save("x.npy", x)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        dnb.save("nowhere/x.npy", x)
    os.mkdir("folder.npy")
    with pytest.raises(IsADirectoryError, match="a folder"):
        dnb.save("folder.npy", x)
    same(np.load("x.npy"), numbers((30, 3)))


def test_a_file_keeps_its_permissions_and_links(here, session):
    x = dnb.array(numbers((30, 3)), dist="block")
    np.save("real.npy", numbers(3))
    os.chmod("real.npy", 0o640)
    os.symlink("real.npy", "link.npy")
    dnb.save("link.npy", x)
    assert os.path.islink("link.npy")
    assert os.stat("real.npy").st_mode & 0o777 == 0o640
    same(np.load("real.npy"), numbers((30, 3)))
    dnb.save("/dev/null.npy" if os.path.exists("/dev/null.npy") else "other.npy", x)
    x.tofile(os.devnull)


# -- text --------------------------------------------------------------------------------------


@pytest.fixture(params=["whole", "in blocks"])
def blocks(request, monkeypatch):
    """Text is parsed at once, or in blocks of some bytes."""
    if request.param != "whole":
        monkeypatch.setattr(lines, "BLOCK", 40)


def fractions(shape, dtype="f8"):
    return np.random.default_rng(4).uniform(-50, 50, shape).astype(dtype)


@pytest.mark.cases(4)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("shape", [(7,), (1,), (5, 4), (1, 3), (0, 3)], ids=str)
def test_savetxt_writes_what_numpy_writes(here, shape, dtype):
    a = fractions(shape, dtype)
    styles = [{}, {"fmt": "%s"}, {"delimiter": ",", "header": "a b\nc", "footer": "end"}]
    if dtype != "c16":
        styles.append({"fmt": "%.3f" if dtype[0] == "f" else "%d", "newline": "\r\n"})
    for dist in (None, "cyclic"):
        for style in styles:
            dnb.savetxt("a.txt", dnb.array(a, dist=dist), **style)
            np.savetxt("n.txt", a, **style)
            assert read("a.txt") == read("n.txt")
    with pytest.raises((TypeError, ValueError, AttributeError)):
        dnb.savetxt("a.txt", dnb.array(a), fmt="%d %d %d %d %d %d %d")


def read(name):
    with open(name, "rb") as file:
        return file.read()


def test_savetxt_writes_in_the_encoding_of_the_locale_or_another(here, session):
    x = fractions((5, 2))
    for style in (
        {"header": "\xb5m", "footer": "\u03b1 \u2192 \xb0C"},
        {"delimiter": "\xb7"},
        {"header": "\xb5m", "footer": "\xb0C", "encoding": "latin-1"},
        {"header": "\u03b1", "footer": "f", "encoding": "utf-16"},
        {"encoding": "utf-8-sig"},
        {"encoding": "locale"},
    ):
        for part in (x, x[:0]):
            np.savetxt("n.txt", part, **style)
            dnb.savetxt("a.txt", dnb.array(part, dist="block"), **style)
            assert read("a.txt") == read("n.txt")
        np.savetxt("n.txt", x, **style)
        given = {"delimiter": style.get("delimiter"), "encoding": style.get("encoding")}
        same(dnb.loadtxt("n.txt", **given), np.loadtxt("n.txt", **given))
    for style, kind in (
        ({"header": "\u03b1", "encoding": "latin-1"}, UnicodeEncodeError),
        ({"delimiter": "\u03b1", "encoding": "latin-1"}, UnicodeEncodeError),
        ({"encoding": ""}, LookupError),
    ):
        with pytest.raises(kind):
            dnb.savetxt("a.txt", dnb.array(x, dist="block"), **style)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_savetxt_compresses(here, session, suffix):
    unpack = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(suffix)
    if unpack is None:
        unpack = pytest.importorskip("zstandard").open
    x = fractions((40, 3))
    for part, header in ((x, ""), (x, "a b"), (x[:0], ""), (x[:0], "a b")):
        np.savetxt("n.txt", part, header=header, footer=header)
        name = f"x.txt{suffix}"
        dnb.savetxt(name, dnb.array(part, dist="block"), header=header, footer=header)
        with unpack(name, "rb") as file:
            assert file.read() == read("n.txt")
    dnb.savetxt(name, dnb.array(x, dist="cyclic"))
    same(dnb.loadtxt(name), x)


@pytest.mark.cases(3)
@pytest.mark.parametrize("shape", [(7,), (1,), (5, 4), (1, 3), (40, 1)], ids=str)
def test_loadtxt_reads_what_numpy_reads(here, blocks, shape):
    zstandard = pytest.importorskip("zstandard")
    np.savetxt("n.txt", fractions(shape))
    with open("c.gz", "wb") as file:
        file.write(gzip.compress(read("n.txt")))
    with open("c.zst", "wb") as file:
        file.write(zstandard.compress(read("n.txt")))
    for options in (
        {},
        {"ndmin": 2},
        {"ndmin": 1, "dtype": "f4"},
        {"unpack": True},
        {"usecols": 0},
    ):
        want = np.loadtxt("n.txt", **options)
        for name in ("n.txt", "c.gz", "c.zst"):
            same(dnb.loadtxt(name, **options), want)
            same(dnb.loadtxt(name, dist="cyclic" if want.ndim else None, **options), want)
    if shape[0] > 1:
        same(dnb.loadtxt("n.txt", skiprows=1), np.loadtxt("n.txt", skiprows=1))
        same(dnb.loadtxt("n.txt", max_rows=2), np.loadtxt("n.txt", max_rows=2))


def write_text(name, text):
    with open(name, "w", newline="") as file:
        file.write(text)


def test_comments_blank_lines_and_missing_numbers(here, session, blocks):
    write_text("m.csv", "# c\n1,2,3\r\n4,,6 # x\n\n7,8,N\n" * 9)
    for options in (
        {},
        {"missing_values": "N", "filling_values": -1},
        {"usecols": (0, 2), "skip_header": 2},
    ):
        want = np.genfromtxt("m.csv", delimiter=",", **options)
        same(dnb.genfromtxt("m.csv", delimiter=",", **options), want)
    write_text("c.txt", "% a\n1;2\n\n3;4 % b\n" * 8)
    options = {"comments": "%", "delimiter": ";", "dtype": int}
    same(dnb.loadtxt("c.txt", **options), np.loadtxt("c.txt", **options))


@pytest.mark.parametrize("bad", ["1 x", "1 2 3", "1"])
def test_a_bad_line_is_named(here, blocks, session, bad):
    write_text("r.txt", "1 2\n# c\n" * 17 + bad + "\n" + "3 4\n" * 20)
    with pytest.raises(ValueError, match=f"r.txt, line 35: got '{bad}'"):
        dnb.loadtxt("r.txt")


def test_blanks_are_a_field_where_there_is_a_delimiter(here, session, blocks):
    write_text("b.csv", "1,2\n" * 20 + " \n")
    for read in (dnb.loadtxt, np.loadtxt):
        with pytest.raises(ValueError, match="b.csv, line 21" if read is dnb.loadtxt else "row 21"):
            read("b.csv", delimiter=",")
    write_text("b.txt", "1 2\n" * 20 + " \n\f\n")
    same(dnb.loadtxt("b.txt"), np.loadtxt("b.txt"))


def test_columns_of_text(here, session, blocks):
    pytest.importorskip("pyarrow")
    n = 40
    rows = [f"{i},{i / 4},{i % 2 == 0},word{i}\n" for i in range(n)]
    write_text("t.csv", "i,f,b,s\n" + "".join(rows))
    with pytest.raises(TypeError, match=r"text in columns \['s'\].*columns=\['i', 'f', 'b'\]"):
        dnb.read_csv("t.csv")
    found = dnb.read_csv("t.csv", columns=["f", "i", "b"], dist="block")
    assert list(found) == ["f", "i", "b"]
    same(found["i"], np.arange(n))
    same(found["f"], np.arange(n) / 4)
    same(found["b"], np.arange(n) % 2 == 0)
    same(dnb.read_csv("t.csv", columns=["i"], dtype="i2")["i"], np.arange(n, dtype="i2"))
    same(dnb.read_csv("t.csv", columns=["i"], dtype={"i": "f4"})["i"], np.arange(n, dtype="f4"))
    with pytest.raises(KeyError, match="column 'z'"):
        dnb.read_csv("t.csv", columns=["z"])
    assert dnb.read_csv("t.csv", columns=[]) == {}
    for dtype in "e", "F", "D":
        with pytest.raises(TypeError, match=r"expected bool, an integer, .*astype"):
            dnb.read_csv("t.csv", columns=["i"], dtype=dtype)


def test_text_that_is_no_text_of_lines(here, session):
    pytest.importorskip("pyarrow")
    rows = "a,b\n" + "1,2\n" * 20
    write_text("t.csv", rows + "3,four\n" + rows[4:])
    with pytest.raises(TypeError, match=r"text in columns \['b'\] \(line 22: '3,four'\)"):
        dnb.read_csv("t.csv")
    write_text("t.csv", rows + "3,\N{MINUS SIGN}4\n")  # it was read as of Latin-1
    with pytest.raises(TypeError, match="line 22: '3,\N{MINUS SIGN}4'"):
        dnb.read_csv("t.csv")
    for data, what in (
        (rows.replace("\n", "\r").encode(), "carriage returns"),
        (rows.encode("utf-16"), "UTF-16"),
        (rows.replace("a", "\xe4").encode("latin-1"), "names of columns.*utf-8.*names="),
    ):
        with open("t.csv", "wb") as file:
            file.write(data)
        with pytest.raises(ValueError, match=f"t.csv.*{what}"):
            dnb.read_csv("t.csv")


def test_where_nothing_can_be_written_or_read(here, session):
    x = dnb.arange(9, dist="block")
    with pytest.raises(FileNotFoundError, match=r"file .*/none/x.npy: got No such file.*make it"):
        dnb.save("none/x.npy", x)
    write_text("empty.npy", "")
    with pytest.raises(EOFError, match=r"empty.npy: got No data left in file"):
        dnb.load("empty.npy")
    with pytest.raises(TypeError, match=r"column 'z': got complex128.*x.real"):
        dnb.to_parquet("t", {"z": x * 1j})
    h5py = pytest.importorskip("h5py")
    with h5py.File("s.h5", "w") as file:
        file["s"] = ["a", "b"]
    with pytest.raises(TypeError, match=r"s.h5, dataset /s: got text or other objects"):
        dnb.open("s.h5")


def test_lines_of_blanks_and_comments_in_names(here, session, blocks):
    """As pandas has them: what begins a comment does not in quotes, nor is a line there blank."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for text in (
        'a,"b"\n1,2\n   \n5,6\n \t \r\n7,"8"\n',
        '"a#1",b # c\n  \n1,2# d\n3,4\n',
        'a,b,"c"\n1,2,"x\n  \ny"\n \n3,4,z\n',
    ):
        write_text("t.csv", text)
        expected = pd.read_csv("t.csv", comment="#")
        found = dnb.read_csv("t.csv", columns=[n.strip() for n in expected][:2], comment="#")
        for x, n in zip(found.values(), expected, strict=False):
            same(x, expected[n].to_numpy())


def test_members_whose_names_differ_by_an_ending(here, session):
    with zipfile.ZipFile("a.npz", "w") as archive:
        for k, name in enumerate(("a", "a.npy", "b.npy")):
            file = io.BytesIO()
            np.save(file, np.array([k]))
            archive.writestr(name, file.getvalue())
    expected, found = np.load("a.npz"), dnb.load("a.npz")
    assert [*found] == ["a", "a.npy", "b"]
    for name in ("a", "b"):
        same(found[name], expected[name])
        same(dnb.open("a.npz", name)[...], expected[name])
    same(found["a.npy"], np.array([1]))


def test_shapes_that_no_array_has_and_links_to_themselves_are_named(here, session):
    for shape in ((2**32, 2**32, 0), (1,) * 65):
        with open("x.npy", "wb") as file:
            about = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, about)
            file.write(bytes(8))
        with pytest.raises(ValueError, match=r"x\.npy: got shape .* one that arrays can have"):
            dnb.load("x.npy")
    os.symlink("loop.npy", "loop.npy")
    with pytest.raises(OSError, match=r"loop\.npy: got a link that leads to itself") as told:
        dnb.save("loop.npy", dnb.ones(3))
    assert told.value.errno == errno.ELOOP


def test_a_pipe_is_refused_and_not_read(here, session):
    pytest.importorskip("pyarrow")
    os.mkfifo("p")
    for read in (dnb.read_csv, dnb.load, dnb.open):
        with pytest.raises(OSError, match=r"p: got a pipe, .* copy it into a file"):
            read("p")


def test_names_of_columns_in_quotes(here, session, blocks):
    pytest.importorskip("pyarrow")
    write_text("t.csv", '"length, m",b,"the ""c"""\n' + "1,2,3\n" * 20)
    found = dnb.read_csv("t.csv")
    assert list(found) == ["length, m", "b", 'the "c"']
    same(found["length, m"], np.ones(20, int))
    write_text("t.csv", "a,b,a\n" + "1,2,3\n" * 20)
    with pytest.raises(ValueError, match="t.csv: got several columns 'a', expected one"):
        dnb.read_csv("t.csv")
    same(
        dnb.read_csv("t.csv", columns=["b", "b"], skiprows=1, names=["a", "b", "c"])["b"],
        np.full(20, 2),
    )
    write_text("t.csv", '"a",b\n' + "1,2\n" * 20)
    assert list(dnb.read_csv("t.csv", quote=None)) == ['"a"', "b"]


#: A field of text, by the number of its row.
QUOTED = {
    "a line": lambda i: f'"x\n{i}0;y"',
    "doubled": lambda i: '"a ""\n"" b"' if i % 3 else '""',
    "late": lambda i: '"x\n\n1;"' if i == 37 else "z",
    "in the middle": lambda i: '5" long' if i % 5 else '"u\n""v""" w"',
    "a mark": lambda i: '"x#\n# y" # "z' if i % 2 else "# '\"'",
}


@pytest.mark.parametrize("kind", QUOTED)
def test_ends_of_lines_in_quotes(here, session, blocks, monkeypatch, kind):
    pytest.importorskip("pyarrow")
    from distnb.client.files import tables

    monkeypatch.setattr(tables, "_HEAD", 5)
    monkeypatch.setattr(lines, "_GLANCE", 32)
    n, comment = 41, "#" if kind == "a mark" else None
    rows = [f"{i};{i / 4};{QUOTED[kind](i)}\n" for i in range(n)]
    head = 'i;f;"a\ntext"\n'
    write_text("t.csv", head + "".join(rows))
    found = dnb.read_csv("t.csv", columns=["f", "i"], delimiter=";", comment=comment)
    same(found["i"], np.arange(n))
    same(found["f"], np.arange(n) / 4)
    write_text("t.csv", head + "".join([*rows[:30], "7;six;z\n", *rows]))
    line = 3 + "".join(rows[:30]).count("\n")
    with pytest.raises(ValueError, match=rf"t.csv, line {line}: got '7;six;z' .*six"):
        dnb.read_csv("t.csv", columns=["f"], delimiter=";", comment=comment)


def test_a_quote_that_is_never_closed_is_named(here, session, blocks):
    pytest.importorskip("pyarrow")
    write_text("t.csv", "i;s\n" + "1;z\n" * 30 + '2;"z\n' + "3;z\n" * 30)
    with pytest.raises(ValueError, match=r"t.csv, line 32: got '2;\"z' .*not closed"):
        dnb.read_csv("t.csv", columns=["i"], delimiter=";")
    same(
        dnb.read_csv("t.csv", columns=["i"], delimiter=";", quote=None)["i"],
        np.repeat([1, 2, 3], [30, 1, 30]),
    )


def test_missing_numbers_and_late_fractions(here, session, blocks, monkeypatch):
    pytest.importorskip("pyarrow")
    from distnb.client.files import tables

    monkeypatch.setattr(tables, "_HEAD", 5)
    n = 30
    write_text(
        "t.csv",
        "\n# head\na;b;c\n"
        + "".join(
            f"{i}{'.5' if i == 20 else ''};{'' if i == 25 else i};{i} # {i}\n\n" for i in range(n)
        ),
    )
    found = dnb.read_csv("t.csv", delimiter=";", comment="#")
    want = np.arange(n, dtype=float)
    same(found["a"], np.where(want == 20, 20.5, want))
    same(found["b"], np.where(want == 25, np.nan, want))
    same(found["c"], np.arange(n))
    with pytest.raises(ValueError, match="t.csv, line 54.*int64 has no NaN"):
        dnb.read_csv("t.csv", delimiter=";", comment="#", dtype={"b": int})
    write_text("t.csv", "a,b\n" + "1,2\n" * 20 + "1,2,3\n" + "5,6\n" * 9)
    with pytest.raises(ValueError, match="t.csv, line 22.*Expected 2 columns"):
        dnb.read_csv("t.csv")
    write_text("t.csv", "1,2\n" * 20 + "1,\n" + "5,six\n" * 9)
    with pytest.raises(ValueError, match="t.csv, line 22.*six"):
        dnb.read_csv("t.csv", names=["a", "b"])


def test_archives_in_memory_and_broken_ones(here, session):
    file = io.BytesIO()
    dnb.savez(file, a=dnb.arange(5), b=dnb.zeros(3))
    file.seek(0)
    with dnb.load(file) as found:
        assert found.files == ["a", "b"]
        same(found["a"], np.arange(5))
    write_text("x.npz", "PK\3\4 nonsense")
    for refused in (dnb.load, dnb.open):
        with pytest.raises(ValueError, match="x.npz.*check it"):
            refused("x.npz")
    dnb.savez_compressed("y.npz", a=dnb.arange(5000.0))
    with open("y.npz", "r+b") as file:
        file.seek(3000)
        file.write(b"\x00\xff" * 20)
    with pytest.raises(ValueError, match="y.npz, member a.npy"):
        dnb.load("y.npz")["a"]


def test_engines_that_do_not_see_the_file_say_so(here, session, monkeypatch):
    from distnb.client.files import writing

    monkeypatch.setattr(writing, "_begin", lambda *path: "elsewhere/x.part")
    with pytest.raises(FileNotFoundError, match="the notebook sees; use a folder that all hosts"):
        dnb.arange(50.0, dist="block").tofile("raw")


def test_what_killed_processes_had_half_written_is_removed(here):
    """Not what lives, nor both of two of which one was about to take the place of the other."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    mine = leftovers.own_mark()
    machine, pid, end = mine.split("-")
    dead = f".x.npy.{machine}-{ended.pid}-{end}.part"
    (here / "sub").mkdir()
    stay = [f"sub/.x.npy.{mine}.part", f"sub/.x.npy.0000ffff-{ended.pid}-{end}.part"]
    stay += [f"sub/.y{dead}", f"sub/.y{dead}.old", "sub/.x.npy.part"]
    for name in [*stay, f"sub/{dead}", f"sub/.z{dead}.old"]:
        (here / name).touch()
    (here / f"sub/.v{dead}").mkdir()
    (here / f"sub/.v{dead}/0").touch()
    dnb.save("sub/x.npy", dnb.ones(3))
    assert sorted(os.listdir("sub")) == sorted(["x.npy", *[Path(name).name for name in stay]])


def test_raw_elements_begin_within_the_file(here, session):
    np.arange(3.0).tofile("x.bin")
    for offset in (0, 16, 24, 31):
        same(dnb.fromfile("x.bin", offset=offset), np.fromfile("x.bin", offset=offset))
    for offset, kind in ((32, ValueError), (10_000, ValueError), (-1, OSError)):
        with pytest.raises(kind, match=rf"x.bin: got offset {offset}, expected .* 0 to 24"):
            dnb.fromfile("x.bin", offset=offset)


def test_a_count_of_raw_elements_behind_the_end(here, session):
    numbers(9).tofile("a.raw")
    for offset in (72, 79, 80, 300):
        same(dnb.fromfile("a.raw", count=2, offset=offset), np.empty(0))


def test_archives_have_text_of_numpys_beside_arrays(here, session):
    x = dnb.arange(30, dist="block")
    text = np.array(["a", "bc"])
    np.savez("x.npz", x=x, text=text, kind=b"csr", n=3)
    np.savez_compressed("y.npz", x=x, text=text, kind=b"csr", n=3)
    for name in ("x.npz", "y.npz"):
        with np.load(name) as found:
            same(found["x"], np.arange(30))
            assert found["text"].tolist() == ["a", "bc"]
            assert (found["kind"].item(), found["n"].item()) == (b"csr", 3)
    with pytest.raises(TypeError, match="object"):
        np.savez("z.npz", x=x, y=np.array([None]))
    assert sorted(os.listdir(".")) == ["x.npz", "y.npz"]


def test_text_of_which_no_array_can_be_is_named(here, session):
    rows = ["a,b,c", *[f"{i},{i}.5,x" for i in range(40)]]
    write_text("t.csv", "\n".join(rows) + "\n")
    for options in ({"names": True}, {"dtype": None}, {"dtype": None, "names": True}):
        with pytest.raises(TypeError, match=r"^file .*t.csv: got (columns|text) .*read_csv"):
            dnb.genfromtxt("t.csv", delimiter=",", **options)
    with pytest.raises(TypeError, match=r"^file .*t.csv: got columns .*read_csv"):
        dnb.loadtxt("t.csv", [("a", int), ("b", float), ("c", "U1")], delimiter=",", skiprows=1)


def test_lines_that_end_in_carriage_returns_alone(here, session):
    rows = numbers((30, 3))
    with open("t.txt", "w", newline="") as file:
        file.write("".join(f"{a} {b} {c}\r" for a, b, c in rows.tolist()))
    for read in ("loadtxt", "genfromtxt"):
        same(getattr(dnb, read)("t.txt"), getattr(np, read)("t.txt"))


def test_lines_to_be_skipped_end_in_carriage_returns_too(here, session):
    pytest.importorskip("pyarrow")
    with open("t.txt", "wb") as file:
        file.write(b"a\rb c\r\r\n1 2\n3 4\r5 6\r\n7 8\n")
    for skip in (3, 4, 5):
        same(dnb.loadtxt("t.txt", skiprows=skip), np.loadtxt("t.txt", skiprows=skip))
        expected = np.genfromtxt("t.txt", skip_header=skip)
        same(dnb.genfromtxt("t.txt", skip_header=skip), expected)
        found = dnb.read_csv("t.txt", skiprows=skip, names=["x", "y"], delimiter=" ", dtype=float)
        same(found["y"], expected[:, 1])


def test_integers_without_a_sign_are_exact(here, session):
    pytest.importorskip("pyarrow")
    x = 2**64 - 1 - np.arange(60, dtype="u8")
    lines = [f"{v},{k},{v}\n" for k, v in enumerate(x.tolist())]
    write_text("t.csv", "x,k,m\n" + "".join(lines) + "5,60,\n")
    found = dnb.read_csv("t.csv")
    same(found["x"], np.array([*x, 5], "u8"))
    same(found["k"], np.arange(61))
    assert found["m"].dtype == float  # there is no NaN else
    assert np.isnan(found["m"].to_numpy()[-1])
    write_text("t.csv", "x\n" + "".join(lines[:9]).replace(",", "\n") + "-1\n")
    with pytest.raises(ValueError, match="got '-1' .*no uint64, .*'f8' to round"):
        dnb.read_csv("t.csv")
    assert dnb.read_csv("t.csv", dtype=float)["x"].dtype == float


def test_integers_with_a_plus_sign_stay_integers(here, session, monkeypatch):
    """Arrow has floats for them: beyond 2**53 these are others."""
    pytest.importorskip("pyarrow")
    from distnb.client.files import tables

    monkeypatch.setattr(tables, "_HEAD", 20)
    numbers = range(2**53, 2**53 + 40)
    lines = [f'{k},"+{k}",+{k}.5,{k}e+1\n' for k in numbers]
    write_text("t.csv", "i,j,x,y\n" + "+".join(["-1,2,3,4\n", *lines]))
    found = dnb.read_csv("t.csv")
    same(found["i"], np.array([-1, *numbers]))
    same(found["j"], np.array([2, *numbers]))
    assert found["x"].dtype == float
    same(found["y"], np.array([4.0, *[float(k * 10) for k in numbers]]))


def test_hexadecimal_numbers_are_text(here, session, monkeypatch):
    """Arrow takes 64 bits of them as signed: 0xffffffffffffffff was -1."""
    pytest.importorskip("pyarrow")
    from distnb.client.files import tables

    write_text("t.csv", "x,y\n1,2\n0xffffffffffffffff,3\n")
    with pytest.raises(TypeError, match=r"text in columns \['x'\] \(line 3: .*columns=\['y'\]"):
        dnb.read_csv("t.csv")
    same(dnb.read_csv("t.csv", columns=["y"])["y"], np.array([2, 3]))
    monkeypatch.setattr(tables, "_HEAD", 20)
    write_text("t.csv", "x,y\n" + "1,2\n" * 99 + "0X80,3\n" + "1,2\n" * 99)
    for options in ({}, {"dtype": {"x": "i4"}}):
        with pytest.raises(ValueError, match="line 101: got '0X80,3'"):
            dnb.read_csv("t.csv", **options)


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2", "xz"])
def test_damaged_compressed_text_is_named(here, session, suffix):
    zstd = pytest.importorskip("zstandard") if suffix == "zst" else None
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    if zstd:  # of an end within a frame its library says nothing
        pack["zst"] = zstd.compress
    whole = pack[suffix](b"1,2\n" * 40_000)
    if suffix == "zst":
        with open("t.csv.zst", "wb") as file:
            skipped = b"\x50\x2a\x4d\x18\2\0\0\0ab"  # with which pzstd begins frames
            file.write(skipped + whole + skipped + whole)
        same(dnb.read_csv("t.csv.zst", names=["x", "y"])["x"], np.ones(80_000, int))
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 255
    calls = [lambda: dnb.loadtxt(name, delimiter=",")] if suffix != "zst" else []
    if suffix in ("gz", "zst"):
        pytest.importorskip("pyarrow")
        calls.append(lambda: dnb.read_csv(name, names=["x", "y"]))
    for k, text in enumerate((whole[:-9], bytes(middle))):
        name = f"t{k}.csv.{suffix}"
        with open(name, "wb") as file:
            file.write(text)
        for call in calls:
            with pytest.raises(ValueError, match=f"^file .*{name}: "):
                call()


def test_what_numpy_reads_is_named_in_its_errors(here, session):
    with open("b.txt", "wb") as file:
        file.write(b"\xff 1\n")
    with pytest.raises(UnicodeDecodeError, match=r"invalid start byte, in file .*b\.txt$"):
        dnb.loadtxt("b.txt", encoding="utf-8")
    write_text("t.txt", "a b\n1 2\n")
    for call in (lambda: dnb.loadtxt("t.txt"), lambda: dnb.loadtxt("t.txt", max_rows=1)):
        with pytest.raises(ValueError, match=r"^file .*t\.txt: could not convert string 'a'"):
            call()


def test_integers_that_do_not_fit_later_on_are_not_rounded(here, session, monkeypatch):
    pytest.importorskip("pyarrow")
    from distnb.client.files import tables

    monkeypatch.setattr(tables, "_HEAD", 50)  # lines from which dtypes are found
    some = ["1,2\n"] * 200
    for first, late, why in (
        ("-1", "9223372036854775809", "no int64, .*'u8', or 'f8'"),
        ("18446744073709551615", "-1", "no uint64, .*'f8'"),
    ):
        write_text("t.csv", "x,y\n" + "".join([f"{first},2\n", *some, f"{late},3\n", *some]))
        with pytest.raises(ValueError, match=f"line 203: got '{late},3' .*{why}"):
            dnb.read_csv("t.csv")
        x = dnb.read_csv("t.csv", dtype={"x": "f8"})["x"]
        assert x[201].item() == float(late)
    for late in ("1.5", "1e19", "", "36893488147419103232"):  # of floats nobody expects more
        write_text("t.csv", "x,y\n" + "".join([*some, f"{late},3\n", *some]))
        assert dnb.read_csv("t.csv")["x"].dtype == float


def test_dtypes_are_the_same_however_lines_fall_to_engines(here, session, blocks, monkeypatch):
    pytest.importorskip("pyarrow")
    from distnb.client.files import tables

    monkeypatch.setattr(tables, "_HEAD", 50)
    write_text("t.csv", "x\n" + "False\n" * 100 + "-1\n" * 400)
    with pytest.raises(ValueError, match="line 102: got '-1' .*to bool"):
        dnb.read_csv("t.csv")
    largest = 2**64 - 1
    for late in (1, 400):
        write_text("t.csv", "x\n" + f"{largest}\n" * 100 + "0.5\n" * late)
        same(dnb.read_csv("t.csv")["x"], np.array([float(largest)] * 100 + [0.5] * late))


def _as_numpy(name, text, **options):
    """Read lines by both: the same elements, or errors of the same type."""
    with open("l.txt", "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    try:
        want = getattr(np, name)("l.txt", **options)
    except ValueError:
        with pytest.raises(ValueError, match=r"^file .*l\.txt"):
            getattr(dnb, name)("l.txt", **options)
    else:
        same(getattr(dnb, name)("l.txt", **options), want)


def test_lines_of_another_length_are_those_of_numpy(here, session, blocks):
    """One that an engine has for itself is no column."""
    for text in ("1\n3 4\n", "1 2 3\n4 5\n", "4 5\n1 2 3\n", "1\n" * 30 + "7 " * 60 + "\n"):
        for columns in (None, 0, -1, -2, -3, (0, -1)):
            _as_numpy("genfromtxt", text, usecols=columns)
            _as_numpy("loadtxt", text, usecols=columns)
    with pytest.raises(ValueError, match=r"line 2: got '3 4' \(2 columns instead of 1\)"):
        write_text("g.txt", "1\n3 4\n")
        dnb.genfromtxt("g.txt")


def test_fields_of_a_width(here, session, blocks):
    """What of a line is a comment, and what is a row of nothing, NumPy tells."""
    for width in ((2, 3), (2, 2), 2, (2, 4)):
        for text in ("# c\n1234\n#x\n6789\n", "1234 #c\n\n5678\n", "1234\n  \n5678\n"):
            _as_numpy("genfromtxt", text * 9, delimiter=width)
    for text in ("1\t2\n\t\n \t \n", "\t\n1\t2\t3\n", "1,2\n  \n3,4\n"):
        _as_numpy("genfromtxt", text, delimiter=text[1] if "," in text else "\t")
        _as_numpy("genfromtxt", text, delimiter="\t", usecols=-1)


def test_text_in_other_codes(here, session, blocks):
    for code in ("utf-16", "utf-16-le", "utf-8-sig", "latin-1"):
        _as_numpy("genfromtxt", "1 2\n3 4\n5 6\n".encode(code), encoding=code)
    for name in ("genfromtxt", "loadtxt"):
        _as_numpy(name, b"1 2\n#\xff\n3 4\n", encoding="utf-8")
        _as_numpy(name, b"1 2 #x\n3 4\n", comments=b"#")
        with open("no.txt.gz", "wb") as file:
            file.write(b"nonsense")
        with pytest.raises(ValueError, match=r"no\.txt\.gz: got Not a gzipped file"):
            getattr(dnb, name)("no.txt.gz")
    with pytest.raises(TypeError, match=r"usemask=True.* give filling_values="):
        dnb.genfromtxt(["1 2"], usemask=True)


def test_savetxt_of_no_columns_and_of_no_text(here, session):
    for part in (fractions((4, 3))[:, :0], fractions((0, 3))):
        dnb.savetxt("a.txt", dnb.array(part, dist="block"), header="a", footer="b")
        np.savetxt("n.txt", part, header="a", footer="b")
        assert read("a.txt") == read("n.txt")
    dnb.savetxt("a.txt", dnb.zeros((0, 3), dist="block"), fmt="%x")
    assert read("a.txt") == b""
    for wrong in ({"header": 3}, {"footer": None}):
        with pytest.raises(TypeError):
            dnb.savetxt("a.txt", dnb.ones((4, 3)), **wrong)


def test_files_that_are_none(here, session):
    x = dnb.ones(3, dist="block")
    for file in (None, 5):
        with pytest.raises(TypeError, match=r"save\(\): got file"):
            dnb.save(file, x)
    for call in (dnb.load, dnb.loadtxt, dnb.open, dnb.read_csv, lambda name: dnb.savetxt(name, x)):
        with pytest.raises(FileNotFoundError, match="file '': got no name"):
            call("")
    for read in (dnb.read_csv, dnb.open):
        with pytest.raises(TypeError, match="got BytesIO, expected a name or a path; write"):
            read(io.BytesIO(b"a\n1\n"))
    os.mkdir("sub")
    for write in (np.save, np.savez):
        write("sub/", x)
    assert sorted(os.listdir("sub")) == [".npy", ".npz"]
    assert os.listdir() == ["sub"]


@pytest.mark.parametrize("text", ["", "# a\n#b\n"])
@pytest.mark.filterwarnings("ignore:.*Empty input file")
def test_genfromtxt_finds_no_dtype_in_no_line(here, session, text):
    write_text("a.txt", text)
    for given in ({}, {"ndmin": 2}, {"delimiter": ","}):
        found, want = (m.genfromtxt("a.txt", dtype=None, **given) for m in (dnb, np))
        assert (found.shape, found.dtype) == (want.shape, want.dtype)
        same(dnb.genfromtxt("a.txt", **given), np.genfromtxt("a.txt", **given))


def test_stored_members_have_their_checksum(here, session):
    """Of what is read whole: a part cannot be checked."""
    x = fractions((30, 20))
    np.savez("a.npz", x=x, t=x.T, none=x[:0], one=x[0, 0])
    found = dnb.load("a.npz")
    for name, want in (("x", x), ("t", x.T), ("none", x[:0]), ("one", x[0, 0])):
        same(found[name], np.asarray(want))
    data = bytearray(read("a.npz"))
    data[data.index(x[7].tobytes()) + 3] ^= 4
    with open("a.npz", "wb") as file:
        file.write(data)
    for dist in (None, "block", ("*", "block"), "cyclic"):
        with pytest.raises(ValueError, match=r"a\.npz: got bytes from \d+ on of CRC-32 0x"):
            dnb.load("a.npz", dist=dist)["x"]
    same(found["t"], x.T)
    same(dnb.open("a.npz", "x")[8:], x[8:])


def test_load_tells_what_opens_other_formats(here, session):
    for name, module in (("a.h5", "h5py"), ("a.zarr", "zarr"), ("a.tif", "tifffile")):
        pytest.importorskip(module)
        dnb.save(name, dnb.ones((3, 4)))
        with pytest.raises((ValueError, IsADirectoryError), match=r"distnb\.open"):
            dnb.load(name)


def test_no_columns_and_marks_that_are_none(here, session):
    Path("u.txt").write_text("1 2\n3 4\n")
    assert dnb.loadtxt("u.txt", usecols=[]).to_numpy().shape == (2, 0)
    Path("f.csv").write_text("a::b\n1::2\n")
    for wrong in ("::", "", None, "é"):
        with pytest.raises(ValueError, match="one ASCII character; let pandas"):
            dnb.read_csv("f.csv", delimiter=wrong)


def test_a_cast_of_text_warns_as_numpys(here, session):
    Path("f.txt").write_text("1 2 3\n65520 1e-8 0.1\n")
    with pytest.warns(RuntimeWarning, match="^overflow encountered in cast$"):
        dnb.loadtxt("f.txt", dtype="f2").to_numpy()
