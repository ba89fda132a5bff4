"""Archives of arrays: each engine writes its parts, and the notebook what stands between them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from distnb.client.files.reading import once
from distnb.client.files.writing import append, write
from distnb.client.handle.array import Array
from distnb.client.session.session import Session
from distnb.formats import archives, npy
from distnb.formats.archives import combined
from distnb.formats.plain import write_all
from distnb.formats.stored import Stored

__all__ = ["put", "write_members"]

_STORED, _DEFLATED = 0, 8
#: What a zip file says of a member: its name, checksum, bytes in the file, bytes, and method.
_Row: TypeAlias = tuple[str, int, int, int, int]


class _Written(NamedTuple):
    """What was written of a member: its checksum, and its bytes in the file."""

    check: int
    packed: int


def write_members(
    path: str, arrays: Mapping[str, Array | np.ndarray], packed: bool, session: Session
) -> None:
    """Write an archive of arrays into a file that is there; NumPy's may have any dtype."""
    at, members = 0, list[tuple[str, int, int, int, int, int]]()
    for name, x in arrays.items():
        if isinstance(x, Array):
            row = _put_parts(path, at, f"{name}.npy", x, packed)
        else:
            row = _put_here(path, at, f"{name}.npy", x, session)
        members.append((*row, at))
        at += len(archives.local_header(*row)) + row[2]
    once(session, put, path, at, archives.directory(members, at))


def _put_parts(path: str, at: int, member: str, x: Array, packed: bool) -> _Row:
    """Let engines write a member, and what stands before it."""
    head, method = npy.header(x.shape, x.dtype), _DEFLATED if packed else _STORED
    begin = at + len(archives.local_header(member, 0, 0, 0, method))
    made = (_deflate if packed else _store)(path, x, head, begin)
    row = (member, made.check, made.packed, len(head) + x.nbytes, method)
    once(x.session, _put_row, path, at, row)
    return row


def _put_here(path: str, at: int, member: str, x: np.ndarray, session: Session) -> _Row:
    """Write a member that the notebook has, and what stands before it."""
    data = npy.header(x.shape, x.dtype) + x.tobytes()
    row = (member, zlib.crc32(data), len(data), len(data), _STORED)
    once(session, _put_row, path, at, row, data)
    return row


def _put_row(path: str, at: int, row: _Row, data: bytes = b"") -> None:
    put(path, at, archives.local_header(*row) + data)


def put(path: str, at: int, data: bytes) -> None:
    """Write bytes at a place of a file that is there."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        write_all(fd, data, at)
    finally:
        os.close(fd)


def _store(path: str, x: Array, head: bytes, at: int) -> _Written:
    once(x.session, put, path, at, head)
    stored = Stored("npy", path, (), x.shape, x.dtype.str, (), (at + len(head),))
    check = zlib.crc32(head)
    for length, part in write(x, stored, summed=True):
        check = combined(check, part, length)
    return _Written(check, len(head) + x.nbytes)


def _deflate(path: str, x: Array, head: bytes, at: int) -> _Written:
    first = b"".join(archives.deflated(np.frombuffer(head, np.uint8)))
    once(x.session, put, path, at, first)
    check, end = zlib.crc32(head), at + len(first)
    for length, part, size in append(x, path, end, "deflate", ()):
        check, end = combined(check, part, size), end + length
    once(x.session, put, path, end, archives.FINAL)
    return _Written(check, end + len(archives.FINAL) - at)
