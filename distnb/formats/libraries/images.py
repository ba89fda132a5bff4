"""PNG and JPEG: pictures that are read from their beginning, by Pillow, which Matplotlib needs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from distnb.common.addresses import opened
from distnb.common.errors import explain
from distnb.formats.stored import Box, Stored, check_same, good, stamp_of
from distnb.geometry.views import View

__all__ = ["Picture", "describe"]

_KINDS = ("PNG", "JPEG")
#: What colours of a palette become, as Matplotlib has them.
_COLOURS = "RGBA"


def _load() -> Any:
    import PIL.Image
    import PIL.ImageMode

    return PIL


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Yield an open picture; raise ValueError that names the file for one that is no good."""
    pillow = _load().Image
    with good(path, f"a good {' or '.join(_KINDS)}"), warnings.catch_warnings():
        warnings.simplefilter("ignore", pillow.DecompressionBombWarning)
        with pillow.open(opened(path), formats=_KINDS) as image:
            yield image


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a picture: rows, columns and, if there are several, bands."""
    stamp = stamp_of(path)
    if name is not None:
        raise KeyError(explain(f"file {path}", f"name {name!r}", "no name", "leave it out"))
    with _opened(path) as image:
        _check_bits(path, image)
        mode = _load().ImageMode.getmode(_COLOURS if image.mode == "P" else image.mode)
        bands = (len(mode.bands),) if len(mode.bands) > 1 else ()
        shape = (image.height, image.width, *bands)
    return Stored("picture", path, stamp, shape, mode.typestr, (), ()), View.whole(shape)


def _check_bits(path: str, image: Any) -> None:
    """Raise TypeError for colours of more bits than Pillow keeps."""
    if image.mode.startswith("RGB") and any(";16" in str(tile[3]) for tile in image.tile):
        do = "convert it to TIFF with another program"
        raise TypeError(explain(f"file {path}", "16 bits a colour", "8, which Pillow reads", do))


class Picture:
    """Reads boxes of a picture, all of which is decoded at the first."""

    def __init__(self, stored: Stored) -> None:
        check_same(stored.path, stored.stamp)
        self._stored, self._all = stored, np.empty(0)

    def close(self) -> None:
        """Do nothing: the file is open while it is decoded."""

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        if not self._all.size:
            with _opened(self._stored.path) as image:
                self._all = np.asarray(image.convert(_COLOURS) if image.mode == "P" else image)
        out[...] = self._all[tuple([slice(r.start, r.stop, r.step) for r in box])]
