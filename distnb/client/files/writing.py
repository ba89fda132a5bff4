"""Arrays into files: a file appears whole, or not at all, and each engine writes its own part."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from distnb.client.files.reading import in_boxes, in_chunks, once, slabs, told
from distnb.client.handle.array import Array, is_whole
from distnb.client.handle.conversion import copied, record_collective
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.common.interrupts import deferred_interrupts, interrupts, unbroken
from distnb.common.leftovers import is_left, own_mark
from distnb.formats.boxes import full, moved, pieces
from distnb.formats.encodings import ENCODINGS
from distnb.formats.plain import run_bytes, write_all
from distnb.formats.stored import Stored, bytes_of, sub
from distnb.formats.table import writer_of
from distnb.geometry.layout import Ints, make_layout

__all__ = ["append", "is_stream", "replacing", "sync", "wait_for_writers", "write", "written"]

#: Bytes that are written at a time at least; what has fewer together is brought together first.
_RUN = 1 << 12
#: Files of a folder that are brought to the disk, or removed, at a time.
_THREADS = 16
#: What is being written, or was; with the mark of the process that does so.
_PART = re.compile(r"(?P<name>\..+\.(?P<mark>[0-9a-f]{8}-\d+-[0-9a-f]{8})\.part)(?:\.old)?")
#: Bytes of what an encoding makes of an element's byte.
_SWELLS = {"text": 4, "market": 8}


def is_stream(path: str) -> bool:
    """Tell whether a path is a device, a pipe or the like: something that is only written through.

    >>> is_stream(os.devnull)
    True
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def replacing(
    path: str, session: Session, folder: bool = False, beside: str = "", copied: bool = False
) -> Iterator[str]:
    """Yield the name of an empty file that is renamed to ``path`` if all goes well; or of a folder.

    If not, it goes, and what was at ``path`` stays. Its bytes are on the disk before it is renamed.
    It is ``beside`` the path, or another; if ``copied``, it has what the old file has.
    """
    name = once(session, _name, path, folder, beside or path)
    try:
        once(session, _begin, path, name, folder, copied)
        try:
            yield name
            once(session, _end, name, path)
        except OSError as error:
            do = "make room or use another folder; nothing was changed"
            told = type(error)(explain(f"writing {path}", error, "a file that is whole", do))
            raise _as_numbered(told, error) from error
    except BaseException as error:
        wait_for_writers(session, error)
        raise
    finally:
        if os.path.lexists(name):  # an interrupt may come between any two of these lines
            with contextlib.suppress(OSError):
                unbroken(partial(_remove, name))


def _as_numbered(told: OSError, error: OSError) -> OSError:
    """Return an error with the number of another one, by which programs tell errors."""
    told.errno = error.errno  # with more of it, its text would be another
    return told


def wait_for_writers(session: Session, error: BaseException) -> None:
    """Let engines end what they were asked to write, after Ctrl-C and before the file goes.

    Else they would fail where it is gone: the next use of another array would tell of that.
    """
    if interrupts(error):
        with contextlib.suppress(BaseException):  # one more Ctrl-C ends the wait alone
            session.flush()


def _name(path: str, folder: bool, beside: str) -> str:
    """Return the name of what is to replace something, as long as it is made."""
    real, (above, last) = os.path.realpath(path), os.path.split(os.path.realpath(beside))
    if os.path.islink(real):  # else it would be what it leads to
        got, do = "a link that leads to itself", "remove it, or name another"
        told = OSError(explain(f"file {path}", got, "a file, or none", do))
        told.errno = errno.ELOOP
        raise told
    if Path(real).is_dir() and not folder:
        raise IsADirectoryError(
            explain(f"file {path}", "a folder", "a name for a file", "name one in it")
        )
    return os.path.join(above, f".{last[:200]}.{own_mark()}.part")


@cache
def _sweep(folder: str) -> None:
    """Remove what processes that were killed had half written in a folder; one look is enough."""
    with contextlib.suppress(OSError):
        found = [m for m in map(_PART.fullmatch, os.listdir(folder)) if m and is_left(m["mark"])]
        several = Counter([m["name"] for m in found])
        for m in found:
            if several[m["name"]] == 1:  # else it was killed as one took the place of the other
                _remove(os.path.join(folder, m[0]))


def _begin(path: str, name: str, folder: bool, copied: bool) -> None:
    """Make the file beside the one that it is to replace, with the same permissions."""
    real, above = os.path.realpath(path), os.path.dirname(name)
    _sweep(above)
    try:
        if folder:
            os.mkdir(name)
            return
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError as error:
        got, do = f"{error.strerror} in folder {above}", "make it, or use another folder"
        told = explain(f"file {path}", got, "a folder to write into", do)
        raise _as_numbered(type(error)(told), error) from None
    try:
        with contextlib.suppress(OSError):  # there is no old file
            os.fchmod(fd, stat.S_IMODE(os.stat(real).st_mode))
    finally:
        os.close(fd)
    if copied:
        _copy(real, name)


def _copy(path: str, name: str) -> None:
    import shutil  # a while to import, and rare

    try:
        shutil.copyfile(path, name)
    except BaseException:
        os.unlink(name)
        raise


def _end(name: str, path: str) -> None:
    """Bring the file to the disk, and give it its name."""
    real = os.path.realpath(path)
    _together(sync, _files(name))
    sync(name)
    unbroken(partial(_put, name, real))
    with contextlib.suppress(OSError):  # not all file systems can
        sync(os.path.dirname(real))


def _files(folder: str) -> list[str]:
    return [os.path.join(above, each) for above, _, names in os.walk(folder) for each in names]


def _together(function: Callable[[str], None], paths: list[str]) -> None:
    """Call a function for many files, some at a time: a disk takes as long for these as for one."""
    if not paths:
        return
    from concurrent.futures import ThreadPoolExecutor  # a while to import

    def some() -> None:
        while paths:
            with contextlib.suppress(IndexError):  # another thread has taken the last one
                function(paths.pop())

    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            for done in [pool.submit(some) for _ in range(min(_THREADS, len(paths)))]:
                done.result()
        finally:
            paths.clear()  # after an error or Ctrl-C none begins with another one


def _put(name: str, real: str) -> None:
    """Give the file its name; of a folder, for which that takes two steps, both are done."""
    if Path(name).is_dir() and os.path.lexists(real):
        gone = f"{name}.old"
        os.rename(real, gone)
        try:
            os.rename(name, real)
        except BaseException:
            os.rename(gone, real)
            raise
        _remove(gone)
    else:
        os.replace(name, real)


def _remove(path: str) -> None:
    """Remove a file, or a folder, into which others may still be writing."""
    if not Path(path).is_dir():
        os.unlink(path)
        return
    import shutil  # a while to import, and rare

    _together(_unlink, _files(path))
    for wait in (0, 0.01, 0.1, 1, 5):
        time.sleep(wait)
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):  # whoever removes the folder tries again
        os.unlink(path)


def sync(path: str) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write(
    x: Array, stored: Stored, summed: bool = False, origin: Ints | None = None
) -> list[tuple[int, int]]:
    """Write an array into a file that is there, from a place on; wait until it is written.

    Returns what was written, one part of the file after the other: its bytes and, if ``summed``,
    their CRC-32.
    """
    if not x.size:
        return []
    origin = (0,) * x.ndim if origin is None else origin
    here = x.here
    if here is not None:
        return [once(x.session, _write_here, here, stored, summed, origin)]
    if _direct(x, stored, summed, origin):
        return _record(x, stored, summed, origin)
    size, found = x.session.size, list[tuple[int, int]]()
    for low, high in _slabs(x, stored, origin):
        part = x[low:high] if x.ndim else x
        layout = make_layout(part.shape, size, "block" if summed and x.ndim else None)
        if stored.chunks:
            layout = in_chunks(part.shape, size, stored.chunks[0])
        slab = copied(part, x.dtype, layout)
        place = (origin[0] + low, *origin[1:]) if x.ndim else ()
        found += _record(slab, stored, summed, place)
    return found


def _slabs(x: Array, stored: Stored, origin: Ints) -> Iterator[tuple[int, int]]:
    """Cut the first axis into slabs that end where chunks do; the first may begin within one."""
    if not x.ndim:
        yield 0, 0
        return
    chunk = stored.chunks[0] if stored.chunks else 1
    lead = min(x.shape[0], -origin[0] % chunk)
    if lead:
        yield 0, lead
    rest = (x.shape[0] - lead, *x.shape[1:])
    for low, high in slabs(rest, x.itemsize, x.session.size, chunk):
        yield lead + low, lead + high


def _direct(x: Array, stored: Stored, summed: bool, origin: Ints) -> bool:
    """Tell whether engines can write what they hold as it lies.

    So they can in boxes of long runs, or of whole chunks. Checksums are of parts in order.
    """
    placed, size = x.placed, x.session.size
    if not in_boxes(placed.layout):
        return False
    if summed:
        return _in_order(x)
    owned = [placed.owned(rank) for rank in range(size)]
    boxes = [tuple([range(s.start, s.start + s.block) for (s,) in f]) for f in owned if f]
    if stored.chunks:
        return all(
            (not r.start or (r.start + o) % c == 0) and (r.stop == n or (r.stop + o) % c == 0)
            for box in boxes
            for r, c, n, o in zip(box, stored.chunks, x.shape, origin, strict=True)
        )
    size_of = x.itemsize
    return all(
        run_bytes(box, x.shape, size_of) >= min(_RUN, size_of * prod([len(r) for r in box]))
        for box in boxes
    )


def _in_order(x: Array) -> bool:
    """Tell whether the parts of ranks, one after the other, are the array in C order."""
    layout = x.placed.layout
    one_row = not layout.dims or layout.parts(0) == layout.grid.size
    return (
        is_whole(x)
        and one_row
        and layout.in_order(x.shape)
        and min(layout.grid.strides, default=1) > 0
    )


def _record(x: Array, stored: Stored, summed: bool, origin: Ints) -> list[tuple[int, int]]:
    args = (tuple(stored), origin, summed)
    return [(n, check) for n, check in written("file.write", 2, (x,), args) if n]


def written(op: str, columns: int, ins: Sequence[Array], args: tuple[Any, ...]) -> list[list[int]]:
    """Let engines write into files; return what each of them tells of it when it is done.

    If that cannot be had, no others that take over write it: the file may be gone by then.
    """
    session = ins[0].session
    done = told(session, columns)
    try:
        record_collective(op, (done,), ins, args)
        found: list[list[int]] = done.to_numpy().tolist()
    except BaseException:
        with session.recorder.lock, deferred_interrupts():
            session.recorder.withdraw(done.dbase.handle)
            session.connection.withdraw(done.dbase.handle)
        raise
    return found


def _write_here(data: np.ndarray, stored: Stored, summed: bool, origin: Ints) -> tuple[int, int]:
    """Write in the notebook."""
    box, check = moved(full(data.shape), origin), 0
    writer = writer_of(stored)
    try:
        for piece in pieces(box, data.itemsize, stored.chunks):
            part = sub(data, piece)
            some = np.ascontiguousarray(part).reshape(part.shape)  # NumPy adds an axis
            writer.write(tuple([r[s] for r, s in zip(box, piece, strict=True)]), some)
            check = zlib.crc32(bytes_of(some), check) if summed else 0
    finally:
        writer.close()
    return data.nbytes, check


def append(
    x: Array,
    path: str,
    at: int,
    encoding: str,
    args: tuple[object, ...],
    beside: Sequence[Array] = (),
) -> list[tuple[int, int, int]]:
    """Encode an array, part by part in order, and write that from a place of a file on.

    With those ``beside`` it, which are as long. Returns of each part its bytes in the file, the
    CRC-32 of its elements, and their bytes.
    """
    if not x.size:
        return []
    arrays = (x, *beside)
    here = [np.ascontiguousarray(y.here) for y in arrays if y.here is not None]
    if len(here) == len(arrays):
        return [once(x.session, _append_here, here, path, at, encoding, args)]
    found, size = list[tuple[int, int, int]](), x.session.size
    made = x.itemsize * _SWELLS.get(encoding, 1)  # engines hold what they make of a slab
    for low, high in slabs(x.shape, made, size) if x.ndim else [(0, 0)]:
        parts = _alike([y[low:high] if y.ndim else y for y in arrays])
        done = written("file.append", 3, parts, (path, at, encoding, *args))
        rows = [(n, check, raw) for n, check, raw in done if raw]
        at += sum([n for n, _, _ in rows])
        found += rows
    return found


def _alike(arrays: list[Array]) -> list[Array]:
    """Return arrays that engines hold in order, and alike; as they are, if they lie so."""
    first = arrays[0]
    layout = first.placed.layout
    if _in_order(first) and all(is_whole(x) and x.placed.layout == layout for x in arrays):
        return arrays
    layout = make_layout(first.shape, first.session.size, "block" if first.ndim else None)
    return [copied(x, x.dtype, layout) for x in arrays]


def _append_here(
    arrays: list[np.ndarray], path: str, at: int, encoding: str, args: tuple[Any, ...]
) -> tuple[int, int, int]:
    """Do the same in the notebook."""
    data, packed = arrays[0], b"".join(ENCODINGS[encoding](*arrays, *args))
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        write_all(fd, packed, at)
    finally:
        os.close(fd)
    return len(packed), zlib.crc32(bytes_of(data)), data.nbytes
