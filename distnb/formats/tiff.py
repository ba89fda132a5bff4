"""TIFF: pictures and stacks of them, by tifffile; what lies together in the file by its offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.common.addresses import opened
from distnb.common.errors import explain
from distnb.formats.npy import check_dtype
from distnb.formats.plain import reader as plain_reader
from distnb.formats.stored import Box, Reader, Stored, check_same, module, stamp_of
from distnb.geometry.views import View

__all__ = ["describe", "reader"]


def _load() -> Any:
    import tifffile
    import zarr

    return tifffile, zarr


def _series(path: str, number: int, name: str | None = None) -> Any:
    """Return what reads a series of pictures, and the open file."""
    tifffile, _ = module(_load, "TIFF", "tifffile or zarr", "tiff")
    try:
        file = tifffile.TiffFile(opened(path))
        many = file.series
    except (FileNotFoundError, ImportError):
        raise
    except Exception as error:  # tifffile has many, one for each way to be none
        raise ValueError(explain(f"file {path}", error, "a good TIFF file", "check it")) from None
    if number < len(many) and name in (None, str(number)):
        return many[number], file
    file.close()
    known = [str(n) for n in range(len(many))]
    raise KeyError(explain(f"file {path}", f"name {name!r}", f"one of {known}", "give name="))


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a series, the first one by default."""
    stamp = stamp_of(path)
    number = int(name) if name is not None and name.isdigit() else 0
    series, file = _series(path, number, name)
    with file:
        check_dtype(series.dtype, f"{path}, series {number}")
        shape, offset = tuple(map(int, series.shape)), series.dataoffset
        dtype = np.dtype(series.dtype)
        if offset is not None:
            dtype = dtype.newbyteorder(file.byteorder)
        page = series.keyframe
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
        self._array = zarr.open(series.aszarr(), mode="r")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        try:
            out[...] = self._array[tuple([slice(r.start, r.stop, r.step) for r in box])]
        except Exception as error:  # whatever decompressing raises
            raise ValueError(
                explain(f"file {self._path}", error, "good pictures", "check it")
            ) from None


def reader(stored: Stored) -> Reader:
    """Open a series to read it."""
    check_same(stored.path, stored.stamp)
    if stored.details[1] is None:
        return _Pictures(stored)
    return plain_reader(stored._replace(details=(stored.details[1],)))
