"""TIFF: pictures and stacks of them, by tifffile; what lies together in the file by its offset.

So are they written: each engine's part at its offset.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from distnb.common.addresses import is_address, opened
from distnb.common.errors import explain
from distnb.formats.npy import check_dtype
from distnb.formats.plain import PlainWriter
from distnb.formats.plain import reader as plain_reader
from distnb.formats.stored import (
    Box,
    Place,
    Reader,
    Stored,
    Writer,
    check_same,
    good,
    module,
    stamp_of,
)
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["create", "describe", "place", "reader", "writer"]


def _load() -> Any:
    import tifffile
    import zarr

    return tifffile, zarr


def _series(path: str, number: int, name: str | None = None) -> Any:
    """Return what reads a series of pictures, and the open file."""
    tifffile, _ = module(_load, "TIFF", "tifffile or zarr", "tiff")
    with good(path, "a good TIFF file"):
        file = tifffile.TiffFile(opened(path))
        try:
            if not is_address(path):  # where each look would be a request
                _check_chain(file)
            many = file.series
            if not many:
                raise ValueError("no pictures")
        except BaseException:
            file.close()
            raise
    if number < len(many) and name in (None, str(number)):
        return many[number], file
    file.close()
    known = [str(n) for n in range(len(many))]
    raise KeyError(explain(f"file {path}", f"name {name!r}", f"one of {known}", "give name="))


def _check_chain(file: Any) -> None:
    """Raise ValueError for pages that lead back to one another: the library would go on forever."""
    handle, tiff, seen = file.filehandle, file.tiff, set[int]()
    place: int | None = 8 if tiff.is_bigtiff else 4
    while place is not None:
        at = _number(handle, place, tiff.offsetformat)
        if at in seen:
            raise ValueError(f"a page at byte {at} that follows itself")
        if not at:
            return
        seen.add(at)
        tags = _number(handle, at, tiff.tagnoformat)
        place = None if tags is None else at + tiff.tagnosize + tags * tiff.tagsize


def _number(handle: Any, place: int, kind: str) -> int | None:
    """Return a number in a file; None if it ends before."""
    handle.seek(place)
    found = handle.read(struct.calcsize(kind))
    return int(struct.unpack(kind, found)[0]) if len(found) == struct.calcsize(kind) else None


def _check_data(series: Any, pages: Iterable[Any]) -> None:
    """Raise ValueError for a page that does not say where each strip is: zeros would come."""
    expected = prod(series.keyframe.chunked)
    for number, page in enumerate(pages):
        if page is None:  # of a stack that has none there
            continue
        known = min(len(page.dataoffsets), len(page.databytecounts))
        if known < expected:
            raise ValueError(f"page {number} that says where {known} of {expected} strips are")


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a series, the first one by default."""
    stamp = stamp_of(path)
    number = int(name) if name is not None and name.isdigit() else 0
    series, file = _series(path, number, name)
    with good(path, "a good TIFF file"), file:
        check_dtype(series.dtype, f"{path}, series {number}")
        shape, offset = tuple(map(int, series.shape)), series.dataoffset
        dtype = np.dtype(series.dtype)
        if offset is not None:
            dtype = dtype.newbyteorder(file.byteorder)
        page = series.keyframe
        _check_data(series, [page])
        tile = (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip,)
        lengths = (*tile, *page.shape[len(tile) :]) if offset is None else ()
        chunks = (1,) * (len(shape) - len(lengths)) + lengths if lengths else ()
        chunks = tuple([min(max(1, c), max(1, n)) for c, n in zip(chunks, shape, strict=False)])
    details = (number, offset)
    return Stored("tiff", path, stamp, shape, dtype.str, chunks, details), View.whole(shape)


class _Pictures:
    """Reads boxes of strips and tiles."""

    def __init__(self, stored: Stored) -> None:
        _, zarr = _load()
        self._path = stored.path
        series, self._file = _series(stored.path, stored.details[0])
        try:
            with good(stored.path, "a good TIFF file"):
                if not is_address(stored.path):  # each page would be a request
                    _check_data(series, series.pages)
                self._array = zarr.open(series.aszarr(), mode="r")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        with good(self._path, "good pictures"), _with_codecs(self._path):
            out[...] = self._array[tuple([slice(r.start, r.stop, r.step) for r in box])]


@contextmanager
def _with_codecs(path: str) -> Iterator[None]:
    """Raise ImportError for a compression that tifffile has from another package."""
    try:
        yield
    except ValueError as error:  # whatever decompressing raises
        if "imagecodecs" not in str(error):
            raise
        do = "run: pip install imagecodecs"
        raise ImportError(explain(f"file {path}", "no imagecodecs", f"it ({error})", do)) from None


def reader(stored: Stored) -> Reader:
    """Open a series to read it."""
    check_same(stored.path, stored.stamp)
    if stored.details[1] is None:
        return _Pictures(stored)
    return plain_reader(stored._replace(details=(stored.details[1],)))


def place(path: str, name: str | None, overwrite: bool) -> Place:
    """Return where a picture is to be: in place of what is there, as of tifffile's function."""
    if name is not None:
        told = explain("save()", f"name={name!r}", "none for .tif", "leave it out")
        raise TypeError(told)
    return Place(path, None, path)


def create(path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any) -> Stored:
    """Make a file of pictures that are to be filled; its elements have a place in the file."""
    tifffile, _ = module(_load, "TIFF", "tifffile or zarr", "tiff")
    colours = len(shape) > 2 and shape[-1] in (3, 4) and dtype.str[1:] in ("u1", "u2")
    kind = {"photometric": "rgb" if colours else "minisblack"} if len(shape) > 1 else {}
    if not all(shape) or not shape or dtype.kind == "b":
        do = "use .astype('u1'), or another format"
        raise ValueError(explain("TIFF", f"shape {shape}, dtype {dtype}", "elements, no bools", do))
    try:
        made = tifffile.imwrite(path, shape=shape, dtype=dtype, returnoffset=True, **kind | options)
    except ValueError as error:  # of compression, which needs the elements
        do = "leave out what compresses or cuts, or use tifffile.imwrite"
        raise ValueError(explain("TIFF", f"{error} ({options})", "other options", do)) from None
    with tifffile.TiffFile(path) as file:
        there, order = tuple(map(int, file.series[0].shape)), file.byteorder
    if made is None or there != shape:
        do = "leave out what cuts or reorders, or use tifffile.imwrite"
        raise ValueError(explain("TIFF", f"options {options}", "others", do))
    return Stored("tiff", path, (), shape, dtype.newbyteorder(order).str, (), (0, int(made[0])))


def writer(stored: Stored) -> Writer:
    """Open a picture to write it."""
    return PlainWriter(stored._replace(details=(stored.details[1],)))
