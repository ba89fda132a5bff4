"""The table of formats: what each is called, what it needs, what reads it and what writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from distnb.common.addresses import is_address, read_range
from distnb.formats import archives, npy, plain
from distnb.formats.encodings import PACKED
from distnb.formats.libraries import arrow, hdf5, images, parquet, tiff, zarrs
from distnb.formats.stored import Place, Reader, Stored, Writer, stamp_of
from distnb.geometry.views import View

__all__ = ["FORMATS", "OTHERS", "Format", "format_of", "reader_of", "writer_of"]


class Format(NamedTuple):
    """A format of files.

    ``suffixes``: of names that mean it. ``describe``: what is in a file, under a name in it, and
    the array that it is to be. ``by_turns``: a file has one writer at a time. ``create``: a file
    for an array of a shape and dtype, under a name in it, with options; ``place``: where that is to
    be, under a name, and whether it may take what is there; ``listed``: what is to know of it then.
    ``attributes``: what an array is described by. ``folder``: it is one.
    """

    name: str
    suffixes: tuple[str, ...]
    describe: Callable[[str, str | None], tuple[Stored, View]] | None
    reader: Callable[[Stored], Reader] | None
    writer: Callable[[Stored], Writer] | None
    by_turns: bool = False
    create: Callable[..., Stored] | None = None
    place: Callable[[str, str | None, bool], Place] | None = None
    listed: Callable[[str], None] | None = None
    attributes: Callable[[Stored], dict[str, Any]] | None = None
    folder: bool = False


FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("npy", (".npy",), npy.describe, plain.reader, plain.PlainWriter),
        Format("raw", (), None, plain.PlainReader, plain.PlainWriter),
        Format("npz", (".npz",), archives.describe, archives.ArchiveReader, None),
        Format(
            "hdf5",
            (".h5", ".hdf5", ".hdf"),
            hdf5.describe,
            hdf5.reader,
            hdf5.writer,
            by_turns=True,
            create=hdf5.create,
            place=hdf5.place,
            attributes=hdf5.attributes,
        ),
        Format(
            "netcdf",
            (".nc", ".nc4"),
            hdf5.describe,
            hdf5.reader,
            hdf5.writer,
            create=hdf5.create_netcdf,
            place=hdf5.place_netcdf,
            attributes=hdf5.attributes,
        ),
        Format(
            "tiff",
            (".tif", ".tiff"),
            tiff.describe,
            tiff.reader,
            tiff.writer,
            create=tiff.create,
            place=tiff.place,
        ),
        Format("picture", (".png", ".jpg", ".jpeg"), images.describe, images.Picture, None),
        Format(
            "zarr",
            (".zarr",),
            zarrs.describe,
            zarrs.ZarrArray,
            zarrs.ZarrArray.to_write,
            create=zarrs.create,
            place=zarrs.place,
            listed=zarrs.list_again,
            attributes=zarrs.attributes,
            folder=True,
        ),
        Format("parquet", (".parquet", ".pq"), parquet.describe, parquet.reader, None, folder=True),
        Format("arrow", arrow.SUFFIXES, arrow.describe, arrow.reader, None, folder=True),
    )
}


class Other(NamedTuple):
    """Files that are not opened or saved as one array: ends of names, and what is for them."""

    suffixes: tuple[str, ...]
    reads: str
    writes: str

    def has(self, path: str) -> bool:
        """Tell whether a file has such a name, compressed or not."""
        name = path.lower()
        packed = next((end for end in PACKED if name.endswith(end)), "")
        return name.removesuffix(packed).endswith(self.suffixes)


OTHERS = (
    Other((".csv", ".tsv"), "distnb.read_csv", "distnb.savetxt(file, x, delimiter=',')"),
    Other((".txt", ".dat"), "distnb.loadtxt", "distnb.savetxt"),
    Other((".mtx",), "distnb.sparse.mmread", "distnb.sparse.mmwrite"),
    Other((".npz",), "distnb.load", "distnb.savez"),
    Other((".parquet", ".pq"), "distnb.read_parquet", "distnb.to_parquet"),
    Other(arrow.SUFFIXES, "distnb.read_feather", "distnb.to_feather"),
    Other((".png", ".jpg", ".jpeg"), "distnb.open", "matplotlib.pyplot.imsave, or end in .tif"),
    Other(
        (".gif", ".bmp", ".webp"),
        "distnb.asarray(np.asarray(PIL.Image.open(path)))",
        "matplotlib.pyplot.imsave, or end in .tif",
    ),
    Other((".mat",), "scipy.io.loadmat", "scipy.io.savemat, or end in .h5"),
    Other((".wav",), "scipy.io.wavfile.read", "scipy.io.wavfile.write"),
    Other((".zip",), "distnb.open", "a folder: end in .zarr"),
)


#: Bytes that are looked at, and first ones -> format.
_BEGIN = 2056
_MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK\3\4": "npz",
    b"PK\5\6": "npz",
    b"\x89HDF\r\n\x1a\n": "hdf5",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x89PNG": "picture",
    b"\xff\xd8\xff": "picture",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
    b"II+\0": "tiff",
    b"MM\0+": "tiff",
}


def reader_of(stored: Stored) -> Reader:
    """Open a file to read boxes of it."""
    make = FORMATS[stored.format].reader
    assert make is not None
    return make(stored)


def writer_of(stored: Stored) -> Writer:
    """Open a file to write boxes of it."""
    make = FORMATS[stored.format].writer
    assert make is not None
    return make(stored)


def format_of(path: str) -> str:
    """Return the format of a file that is there, by its first bytes, else by its name."""
    suffix = Path(path.partition("?")[0] if is_address(path) else path).suffix.lower()
    named = next((row.name for row in FORMATS.values() if suffix in row.suffixes), "")
    if is_address(path):
        return named or (
            "zarr" if zarrs.is_zarr(path) else _by_magic(read_range(path, 0, _BEGIN), "")
        )
    if Path(path).is_dir():
        return "zarr" if zarrs.is_zarr(path) else named or "parquet"
    if named == "zarr":  # a zip file
        return named
    stamp_of(path)  # which refuses a pipe, that would be read
    with open(path, "rb") as file:
        found = _by_magic(file.read(_BEGIN), named)
    return "zarr" if found == "npz" and zarrs.in_zip(path) else found


def _by_magic(begin: bytes, named: str) -> str:
    """Return the format of a file that begins so; HDF5 may begin behind what is another's."""
    places = {"hdf5": (0, 512, 1024, 2048)}
    found = (
        name
        for magic, name in _MAGIC.items()
        for place in places.get(name, (0,))
        if begin.startswith(magic, place)
    )
    return next(found, named)
