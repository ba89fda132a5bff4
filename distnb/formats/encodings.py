"""Elements as bytes whose number only the elements tell: deflated, and text."""

from __future__ import annotations

import codecs
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from distnb.formats import archives
from distnb.formats.stored import module

__all__ = ["ENCODINGS", "PACKED", "encoded", "lines", "market_text", "packed"]

#: Suffixes of files of text that are compressed.
PACKED = (".gz", ".zst", ".bz2", ".xz", ".lzma")

#: Rows that are made text at a time.
_ROWS = 4096
#: Triplets that are made text at a time.
_TRIPLETS = 1 << 18
#: A format for whatever shows itself.
_SHOWN = re.compile(r"%[-+ #0-9.]*[sra]")


def _zstandard() -> Any:
    import zstandard

    return zstandard


def _compressor(suffix: str) -> Any:
    """Return what makes a member of a compressed file; members may stand one after the other."""
    if suffix == ".gz":
        return zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    if suffix == ".zst":
        zstd = module(_zstandard, f"a file {suffix}", "zstandard", "zstd")
        return zstd.ZstdCompressor().compressobj()
    if suffix == ".bz2":
        import bz2  # few need it

        return bz2.BZ2Compressor()
    import lzma  # few need it

    return lzma.LZMACompressor()


def packed(parts: Iterable[bytes], suffix: str) -> Iterator[bytes]:
    """Yield bytes as files of a suffix have them: in a member of their own, if it is one of these.

    >>> b"".join(packed([b"some ", b"bytes"], ".txt")), len(b"".join(packed([], ".gz")))
    (b'some bytes', 20)
    """
    pump = _compressor(suffix) if suffix in PACKED else None
    for part in parts:
        yield part if pump is None else pump.compress(part)
    if pump is not None:
        yield pump.flush()


def encoded(text: str, encoding: str) -> bytes:
    r"""Return the bytes of text that stands behind other text: no mark of their order begins it.

    >>> encoded("a", "utf-16-le"), len(encoded("a", "utf-16")), encoded("\xb5", "utf-8-sig")
    (b'a\x00', 2, b'\xc2\xb5')
    """
    encoder = codecs.getincrementalencoder(encoding)()
    encoder.setstate(0)
    return encoder.encode(text, final=True)


def lines(data: np.ndarray, row: str, encoding: str, suffix: str = "") -> Iterator[bytes]:
    """Yield rows as lines: ``row`` is the format of one, of all columns, with its newline."""
    yield from packed(_lines(data, row, encoding), suffix)


def _lines(data: np.ndarray, row: str, encoding: str) -> Iterator[bytes]:
    rows = data.reshape(len(data), -1)
    plain = not _SHOWN.search(row)
    for low in range(0, len(rows), _ROWS):
        some = np.ascontiguousarray(rows[low : low + _ROWS])
        text = row * len(some)
        if some.dtype.kind == "c":
            some = some.view(some.real.dtype)
            text = (text % _numbers(some, plain)).replace("+-", "-")
        else:
            text = text % _numbers(some, plain)
        yield encoded(text, encoding)


def _numbers(some: np.ndarray, plain: bool) -> tuple[Any, ...]:
    """Return numbers to be formatted; where they show themselves, as NumPy's scalars do."""
    return tuple(some.reshape(-1).tolist() if plain else some.flat)


def market(
    data: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    shape: tuple[int, int],
    field: str | None,
    precision: int | None,
    suffix: str = "",
) -> Iterator[bytes]:
    """Yield triplets as Matrix Market's lines, as SciPy writes them."""

    def lines() -> Iterator[bytes]:
        for low in range(0, len(data), _TRIPLETS):
            at = slice(low, low + _TRIPLETS)
            some = (data[at], (rows[at], columns[at]))
            yield market_text(some, shape, field=field, precision=precision, symmetry="general")[1]

    yield from packed(lines(), suffix)


def market_text(triplets: Any, shape: tuple[int, int], **options: Any) -> tuple[bytes, bytes]:
    """Return the lines that SciPy writes above that of lengths, and those below."""
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    file = io.BytesIO()
    mmwrite(file, coo_array(triplets, shape=shape), **options)
    above, below = list[bytes](), file.getvalue()
    while below.startswith(b"%"):
        line, _, below = below.partition(b"\n")
        above.append(line + b"\n")
    return b"".join(above), below.partition(b"\n")[2]


#: Name -> what makes bytes of a part: of an array, and of others that lie as it does.
ENCODINGS: dict[str, Callable[..., Iterator[Any]]] = {
    "deflate": archives.deflated,
    "market": market,
    "text": lines,
}
