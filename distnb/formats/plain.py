"""Elements as they lie in memory, at a place of a file: boxes are read and written by offset.

Nothing is mapped: a file that another process cuts off would end the engine, and not the read.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from distnb.common.addresses import is_address, read_range
from distnb.common.errors import explain
from distnb.formats.stored import Box, Stored, bytes_of, check_same, sub
from distnb.geometry.layout import Ints, strides_of

__all__ = ["PlainReader", "PlainWriter", "checksum", "cut_off", "reader", "run_bytes", "write_all"]

#: Bytes of a buffer.
_BUFFER = 1 << 23
#: Bytes of a request.
_REQUEST = 1 << 25


class PlainReader:
    """Reads boxes of elements that lie in C order; the format's details are where they begin."""

    #: Bytes that may lie between what is wanted: reading them takes less time than another call.
    gap = 1 << 14

    def __init__(self, stored: Stored) -> None:
        check_same(stored.path, stored.stamp)
        self._path = stored.path
        self._start = int(stored.details[0])
        self._dtype = np.dtype(stored.dtype)
        self._steps = tuple(n * self._dtype.itemsize for n in strides_of(stored.shape))
        self._open()

    def _open(self) -> None:
        self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        if not out.size:
            return
        d, exact = self._looped(box)
        inner = self._start + sum(r[0] * s for r, s in zip(box[d:], self._steps[d:], strict=True))
        for index in product(*[range(len(r)) for r in box[:d]]):
            pairs = zip(box[:d], index, self._steps[:d], strict=True)
            at = inner + sum(r[i] * s for r, i, s in pairs)
            target = sub(out, index)
            if exact and target.dtype == self._dtype and target.flags.c_contiguous:
                self._fill(at, bytes_of(target))
            else:
                self._covering(at, box[d:], self._steps[d:], target)

    def _looped(self, box: Box) -> tuple[int, bool]:
        """Return how many axes to walk along, with a read for each index; the others are read over.

        And whether these reads are exact: nothing lies between what is wanted.
        """
        d, span, exact = len(box), self._dtype.itemsize, True
        while d:
            n, by = len(box[d - 1]), box[d - 1].step * self._steps[d - 1]
            if n > 1 and by - span > self.gap:
                break
            exact = exact and (n == 1 or by == span)
            span += (n - 1) * by
            d -= 1
        return d, exact

    def _covering(self, at: int, box: Box, steps: Ints, out: np.ndarray) -> None:
        """Read all from the first element of a box to its last one; take what is wanted."""
        size = self._dtype.itemsize
        strides = tuple(r.step * s for r, s in zip(box, steps, strict=True))
        if box and strides[0] > _BUFFER and len(box) > 1:
            for i in range(len(box[0])):
                self._covering(at + i * strides[0], box[1:], steps[1:], out[i])
            return
        if not box:
            box, strides, out = (range(1),), (size,), out.reshape(1)
        within = size + sum((len(r) - 1) * s for r, s in zip(box[1:], strides[1:], strict=True))
        rows = max(1, _BUFFER // max(1, strides[0]))
        for low in range(0, len(box[0]), rows):
            part = out[low : low + rows]
            buffer = np.empty((len(part) - 1) * strides[0] + within, np.uint8)
            self._fill(at + low * strides[0], buffer)
            part[...] = np.ndarray(part.shape, self._dtype, buffer, 0, strides)

    def _fill(self, at: int, into: Any) -> None:
        """Fill bytes from a place of the file on."""
        done = 0
        while done < into.nbytes:
            n = os.preadv(self._fd, [into[done : done + (1 << 30)]], at + done)
            if n == 0:
                raise cut_off(self._path, at + into.nbytes, os.fstat(self._fd).st_size)
            done += n


class _RemoteReader(PlainReader):
    """Reads the same at an address: each call is a request."""

    gap = 1 << 18

    def _open(self) -> None:
        """Do nothing: nothing is open between two requests."""

    def close(self) -> None:
        """Do nothing."""

    def _fill(self, at: int, into: Any) -> None:
        """Fill bytes from a place of the file on."""
        done = 0
        while done < into.nbytes:
            found = read_range(self._path, at + done, at + min(into.nbytes, done + _REQUEST))
            if not found:
                raise cut_off(self._path, at + into.nbytes, at + done)
            into[done : done + len(found)] = np.frombuffer(found, np.uint8)
            done += len(found)


def reader(stored: Stored) -> PlainReader:
    """Open a file to read it."""
    return (_RemoteReader if is_address(stored.path) else PlainReader)(stored)


def checksum(path: str, begin: int, length: int, look: Callable[[], object]) -> int:
    """Return the CRC-32 of bytes of a file; ``look`` is called now and then."""
    buffer, check, done = bytearray(min(length, _BUFFER)), 0, 0
    there = memoryview(buffer)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while done < length:
            look()
            n = os.preadv(fd, [there[: length - done]], begin + done)
            if n == 0:
                raise cut_off(path, begin + length, begin + done)
            check, done = zlib.crc32(there[:n], check), done + n
    finally:
        os.close(fd)
    return check


def cut_off(path: str, wanted: int, there: int) -> ValueError:
    """Return the error for a file that ends too early."""
    return ValueError(
        explain(
            f"file {path}",
            f"{there} bytes",
            f"at least {wanted}, as its header says",
            "it was cut off: make it again",
        )
    )


class PlainWriter:
    """Writes boxes of elements in C order, at their offsets in a file that is there."""

    def __init__(self, stored: Stored) -> None:
        self._start = int(stored.details[0])
        self._dtype = np.dtype(stored.dtype)
        self._steps = tuple(n * self._dtype.itemsize for n in strides_of(stored.shape))
        self._shape = stored.shape
        check_same(stored.path, ())
        self._fd = os.open(stored.path, os.O_WRONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def write(self, box: Box, data: np.ndarray) -> None:
        """Write a box whose steps are 1."""
        if not data.size:
            return
        d = _contiguous(box, self._shape)
        for index in product(*[range(len(r)) for r in box[:d]]):
            at = self._start + sum(
                (r[0] + i) * s
                for r, i, s in zip(box, (*index, *[0] * (len(box) - d)), self._steps, strict=True)
            )
            run = np.ascontiguousarray(sub(data, index), self._dtype)
            write_all(self._fd, bytes_of(run), at)


def _contiguous(box: Box, shape: Ints) -> int:
    """Return the axes before those along which a box is one run of a file."""
    d = len(box)
    while d and len(box[d - 1]) == shape[d - 1]:
        d -= 1
    return max(0, d - 1)


def run_bytes(box: Box, shape: Ints, itemsize: int) -> int:
    """Return how many bytes of a box lie together in a file in C order.

    >>> [run_bytes(box, (4, 3), 8) for box in ((range(2), range(3)), (range(4), range(1)))]
    [48, 8]
    """
    d = _contiguous(box, shape)
    found = itemsize
    for r in box[d:]:
        found *= len(r)
    return found


def write_all(fd: int, data: Any, at: int) -> None:
    """Write bytes at a place of a file."""
    done, view = 0, memoryview(data)
    while done < len(view):
        done += os.pwrite(fd, view[done : done + (1 << 26)], at + done)
