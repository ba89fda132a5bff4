"""NumPy's archives ``.npz``: zip files whose members are ``.npy`` files, stored or deflated."""

from __future__ import annotations

import errno
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from distnb.common.addresses import check_local
from distnb.common.errors import explain
from distnb.formats.npy import in_order, read_header
from distnb.formats.plain import PlainReader
from distnb.formats.stored import Stored, bytes_of, stamp_of
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = [
    "FINAL",
    "ArchiveReader",
    "combined",
    "deflated",
    "describe",
    "directory",
    "local_header",
]

#: The end of deflated data whose parts end where bytes do.
FINAL = b"\x03\x00"
_LEVEL = 6
#: Of CRC-32, its constant in the highest bit.
_POLYNOMIAL = 0xEDB88320
#: What comes of fields that say what cannot be, and of methods that zipfile does not know.
_DAMAGED = (zlib.error, EOFError, struct.error, RuntimeError, OverflowError, UnicodeDecodeError)
#: What a zip file says in place of a length that is in its 64-bit field.
_LONG = 0xFFFFFFFF


def describe(path: str, member: str | None) -> tuple[Stored, View]:
    """Return what is in a member, and its axes: in Fortran order they are reversed there."""
    check_local(path)
    stamp = stamp_of(path)
    with _checked(path):
        return _described(path, _named(path, member), stamp)


def members_of(path: str) -> dict[str, str]:
    """Return the members of an archive: name, as NumPy has it -> whole name.

    Where that is the whole name of another one, it is its own.
    """
    import zipfile

    with _checked(path), zipfile.ZipFile(path) as archive:
        whole = archive.namelist()
    names = [(name.removesuffix(".npy"), name) for name in whole]
    return {name if short in whole else short: name for short, name in names}


@contextmanager
def _checked(path: str) -> Iterator[None]:
    """Raise ValueError that names the file for whatever a damaged one makes of zipfile."""
    import zipfile

    try:
        yield
    except (*_DAMAGED, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise ValueError(explain(f"file {path}", error, "a good zip file", "check it")) from None


def _named(path: str, member: str | None) -> str:
    """Return the whole name of a member; raise KeyError, which tells what there is, for others."""
    names = [*members_of(path).values()]
    if member is None and len(names) == 1:
        return names[0]
    for name in (member, f"{member}.npy"):
        if name in names:
            return str(name)
    raise KeyError(explain(f"file {path}", f"name {member!r}", f"one of {names}", "give name="))


def _described(path: str, member: str, stamp: Ints) -> tuple[Stored, View]:
    import zipfile

    name = f"{path}, member {member}"
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
        with archive.open(info) as file:
            shape, fortran, dtype = read_header(file, name)
            start = file.tell()
    size = dtype.itemsize
    for n in shape:
        size *= n
    if info.file_size < start + size:
        raise ValueError(
            explain(f"file {name}", f"{info.file_size} bytes", f"{start + size}", "make it again")
        )
    if info.compress_type == zipfile.ZIP_STORED:
        begin = _data_at(path, info.header_offset)
        about = (path, stamp, shape, dtype.str, (), (begin + start,))
        return in_order(Stored("npy", *about, (begin, info.file_size, info.CRC)), fortran)
    return in_order(Stored("npz", path, stamp, shape, dtype.str, (), (start, member)), fortran)


def _data_at(path: str, header: int) -> int:
    """Return where the bytes of a stored member begin."""
    with open(path, "rb") as file:
        file.seek(header + 26)
        name, extra = struct.unpack("<2H", file.read(4))
    return int(header + 30 + name + extra)


class ArchiveReader(PlainReader):
    """Reads boxes of a deflated member: from the first byte on, whatever is wanted."""

    def __init__(self, stored: Stored) -> None:
        import zipfile

        super().__init__(stored)
        self._archive = zipfile.ZipFile(stored.path)
        self._member = stored.details[1]
        self._stream: IO[bytes] | None = None
        self._at = 0

    def close(self) -> None:
        """Close the file."""
        self._archive.close()
        super().close()

    def _fill(self, at: int, into: Any) -> None:
        import zipfile

        try:
            if self._stream is None or at < self._at:
                self._stream, self._at = self._archive.open(self._member), 0
            while self._at < at:
                self._at += len(self._stream.read(min(1 << 20, at - self._at))) or self._cut_off()
            done = 0
            while done < into.nbytes:
                some = self._stream.read(min(1 << 20, into.nbytes - done)) or self._cut_off()
                into[done : done + len(some)] = np.frombuffer(some, np.uint8)
                done += len(some)
        except (*_DAMAGED, zipfile.BadZipFile) as error:
            raise ValueError(
                explain(f"file {self._path}, member {self._member}", error, "good data", "check it")
            ) from None
        self._at = at + into.nbytes

    def _cut_off(self) -> Any:
        raise EOFError("the end")


# -- writing -----------------------------------------------------------------------------------


def deflated(data: np.ndarray) -> Iterator[bytes]:
    """Yield a part of a deflated stream: others may come before it, and have to come after it."""
    flat = bytes_of(data)
    pump = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    for low in range(0, flat.nbytes, 1 << 22):
        yield pump.compress(flat[low : low + (1 << 22)])
    yield pump.flush(zlib.Z_FULL_FLUSH)


def combined(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two parts, of which the second has ``length`` bytes.

    >>> combined(zlib.crc32(b"some "), zlib.crc32(b"bytes"), 5) == zlib.crc32(b"some bytes")
    True
    """
    # A register is a polynomial of bits, its highest one the constant: moved on by a bit it is
    # multiplied by x; by 2, 4, .. bits by squares of that.
    moved, bits = 1 << 30, length * 8
    while bits:
        if bits & 1:
            first = _product(first, moved)
        moved = _product(moved, moved)
        bits >>= 1
    return first ^ second


def _product(a: int, b: int) -> int:
    """Return the product of two polynomials of bits, modulo that of CRC-32."""
    found = 0
    for k in range(31, -1, -1):
        if a >> k & 1:
            found ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return found


def local_header(name: str, check: int, packed: int, size: int, method: int) -> bytes:
    """Return what stands before a member's data, with lengths of 64 bits."""
    raw = name.encode()
    extra = struct.pack("<2H2Q", 1, 16, size, packed)
    fields = (b"PK\3\4", 45, 0x800, method, 0, 0x21, check, _LONG, _LONG, len(raw), len(extra))
    return struct.pack("<4s5H3L2H", *fields) + raw + extra


def directory(members: list[tuple[str, int, int, int, int, int]], at: int) -> bytes:
    """Return the end of a zip file: of each member name, CRC, packed size, size, method, place."""
    entries = []
    for name, check, packed, size, method, place in members:
        raw, extra = name.encode(), struct.pack("<2H3Q", 1, 24, size, packed, place)
        fields = (b"PK\1\2", 45, 45, 0x800, method, 0, 0x21, check, _LONG, _LONG, len(raw))
        more = (len(extra), 0, 0, 0, 0o600 << 16, _LONG)
        entries.append(struct.pack("<4s6H3L5H2L", *fields, *more) + raw + extra)
    body = b"".join(entries)
    end, n = at + len(body), len(members)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, len(body), at)
    where = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    few = min(n, 0xFFFF)
    last = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, few, few, min(len(body), _LONG), _LONG, 0)
    return body + wide + where + last
