"""Archives of arrays: each engine writes its parts, and the notebook what stands between them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import NamedTuple

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


class _Written(NamedTuple):
    """What was written of a member: its checksum, and its bytes in the file."""

    check: int
    packed: int


def write_members(path: str, arrays: Mapping[str, Array], packed: bool, session: Session) -> None:
    """Write an archive of arrays into a file that is there."""
    at, members = 0, []
    method = _DEFLATED if packed else _STORED
    for name, x in arrays.items():
        member, head = f"{name}.npy", npy.header(x.shape, x.dtype)
        begin = at + len(archives.local_header(member, 0, 0, 0, method))
        size = len(head) + x.nbytes
        made = (_deflate if packed else _store)(path, x, head, begin)
        row = (member, made.check, made.packed, size, method)
        once(session, put, path, at, archives.local_header(*row))
        members.append((*row, at))
        at = begin + made.packed
    once(session, put, path, at, archives.directory(members, at))


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
