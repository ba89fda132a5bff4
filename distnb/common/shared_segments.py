"""Memory that processes of a node share: who makes a *shared segment* lets the others map it.

A segment is one file without a name (``memfd``), much larger than what is in it: pages come when
they are touched, and go when a part is given back. As it has no name, the system removes it with
the last process that uses it, however that ends; and it does not depend on the size of /dev/shm.
Peers open it through ``/proc``, which lets in processes of the same user only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import re
import weakref
from bisect import insort
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

__all__ = [
    "BEGUN",
    "CELLS",
    "CORE",
    "ENDED",
    "FAILED",
    "LISTED",
    "WRITTEN",
    "Card",
    "Pages",
    "SharedSegment",
    "card_of",
    "file_segment",
    "map_segment",
    "mapped_by",
    "new_segment",
]

#: Parts of a segment begin and end at multiples of this.
_GRAIN = 1 << 16
#: Where in a segment it says where the list lies of what is kept in it, after its secret.
LISTED = 16
#: And on which core its process ran last, counted from 1; 0 says nothing.
CORE = 24
#: And how often what is kept may have begun or ended to change: see ``session.keeping``.
CELLS = 32
#: And how often a part of it was given to the system.
_REMOVED = 40
#: Address space that the segments of a node may take in each process.
_ADDRESSES = 1 << 45
#: Bytes that are written to a file, or read, at a time: Ctrl-C comes through in between.
_AT_A_TIME = 1 << 25


#: Where in a segment there is room for a number of each process that maps it: how far it is
#: (:mod:`distnb.wire.progress`), the batch that it has done, and in which something failed. Then
#: comes room for numbers of the owner's; what is taken of the segment begins after the first grain.
BEGUN, ENDED, FAILED, WRITTEN = [64 + (k << 13) for k in range(4)]


def _huge_page() -> int:
    """Return the bytes of a huge page; 0 where the system has none, or none of a usual size."""
    try:
        found = int(Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").read_text("ascii"))
    except (OSError, ValueError):
        return 0
    return found if found <= 1 << 25 else 0


_HUGE = _huge_page()
#: Has the system put a huge page in the place of small ones, whatever else it is set to.
_MADV_COLLAPSE = 25


class Card(NamedTuple):
    """How a segment is found: its node, the process that made it, and what it begins with."""

    node: tuple[str, int]
    pid: int
    fd: int
    nbytes: int
    secret: bytes


class Pages:
    """A file in memory, which begins where a huge page can.

    Huge pages come where :meth:`enlarge` asks for them, for systems are set to have none in shared
    memory. Without them, new memory costs its first user a fault for each 4 KiB, and whoever goes
    along a column pays for each row again.

    Parameters
    ----------
    fd : int
        The file. Where it has no room behind ``nbytes`` for a huge page, it begins anywhere.
    nbytes : int
        How much of it.
    """

    def __init__(self, fd: int, nbytes: int) -> None:
        more = _HUGE if _HUGE and os.fstat(fd).st_size >= nbytes + _HUGE else 0
        self._map = mmap.mmap(fd, nbytes + more)
        address: int = np.frombuffer(self._map, np.uint8).ctypes.data
        self._before = -address % more if more else 0
        if self._before and not _map_again(fd, nbytes, address + self._before):
            self._before = 0
        #: What is in it, and where it begins.
        self.content = memoryview(self._map)[self._before : self._before + nbytes]
        self.start = address + self._before
        self._enlarges = more > 0
        #: Numbers of pages that are huge already, as long as nothing is given to the system.
        self._large, self._since = set[int](), 0
        self._removed = np.frombuffer(self.content, np.int64, 1, _REMOVED)

    def remove(self, start: int, length: int) -> None:
        """Give a part to the system, for all who have mapped the file."""
        self._map.madvise(mmap.MADV_REMOVE, self._before + start, length)
        if self._enlarges:  # a file on a disk is not written here: a full disk would be a signal
            self._removed += 1

    def enlarge(self, start: int, length: int) -> None:
        """Let a part be of huge pages, as far as it covers any; what is in there stays.

        The caller gets it from its own node of memory. Where the system has none it stays small.
        It is asked once, for it disturbs all processors, where pages are huge already, too.
        """
        first = -(-start // _HUGE) * _HUGE if self._enlarges else 0
        length = (start + length - first) // _HUGE * _HUGE if self._enlarges else 0
        if length <= 0 or self._is_large(pages := range(first // _HUGE, (first + length) // _HUGE)):
            return
        np.frombuffer(self.content, np.uint8, length, first)[::_HUGE].max()  # a page in each
        try:
            self._map.madvise(_MADV_COLLAPSE, self._before + first, length)
            self._large.update(pages)
        except OSError as error:
            self._enlarges = error.errno != errno.EINVAL  # else no such memory is left now

    def _is_large(self, pages: range) -> bool:
        """Tell whether this process has asked for all of some huge pages, and has them still."""
        if self._since != self._removed[0]:
            self._since = int(self._removed[0])
            self._large.clear()
        return self._large.issuperset(pages)


def _map_again(fd: int, nbytes: int, address: int) -> bool:
    """Map a file at an address where it is mapped, but with another beginning."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    fixed = 0x10  # MAP_FIXED, which is not in Python's mmap
    both = mmap.PROT_READ | mmap.PROT_WRITE
    found: int | None = libc.mmap(address, nbytes, both, mmap.MAP_SHARED | fixed, fd, 0)
    return found == address


class _Private(mmap.mmap):
    """Pages of a segment, of which this process has its own copies where it writes."""

    memory: np.ndarray


class SharedSegment:
    """Memory of one process that others of its node can map.

    Parameters
    ----------
    nbytes : int
        Its size; memory is used only where something is taken.
    fd : int, optional
        That of a process that is gone, whose segment this is to be, with what is in it.
    """

    def __init__(self, nbytes: int, fd: int = -1) -> None:
        self.nbytes = nbytes
        self.fd = os.memfd_create("distnb") if fd < 0 else fd
        try:
            if fd < 0:
                os.ftruncate(self.fd, nbytes + _HUGE)
            self._pages = Pages(self.fd, nbytes)
        except BaseException:
            self.close()
            raise
        content = self._pages.content
        #: Where a list of what is kept in it lies; 0: nowhere.
        self.listed = np.frombuffer(content, np.int64, 1, LISTED)
        self.cells = np.frombuffer(content, np.int64, 1, CELLS)
        self.core = np.frombuffer(content, np.int64, 1, CORE)
        #: How far each process of those that map it is, and the last batch that it has done; below
        #: 0: it has failed to do one.
        self.begun = np.frombuffer(content, np.int64, (ENDED - BEGUN) // 8, BEGUN)
        self.ended = np.frombuffer(content, np.int64, (FAILED - ENDED) // 8, ENDED)
        #: The last batch in which something failed there, or was warned of.
        self.failed = np.frombuffer(content, np.int64, (WRITTEN - FAILED) // 8, FAILED)
        #: How many of what is listed have been written since, and which.
        self.written = np.frombuffer(content, np.int64, (_GRAIN - WRITTEN) // 8, WRITTEN)
        #: (start, length) of what is free, in order; what came back may be called in at any time.
        self._free = [(_GRAIN, nbytes - _GRAIN)]
        self._returned: deque[tuple[int, int]] = deque()
        #: Whether what nobody refers to is to stay there all the same.
        self._stays = [False]
        if fd < 0:
            content[:LISTED] = os.urandom(LISTED)
        self.secret = bytes(content[:LISTED])

    def close(self) -> None:
        """Let nobody else in; those who have mapped it keep it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @property
    def used(self) -> int:
        """Bytes that are taken."""
        self._collect()
        return self.nbytes - _GRAIN - sum(length for _, length in self._free)

    def take(self, nbytes: int) -> np.ndarray:
        """Return memory, which comes back when nobody refers to it any more."""
        self._collect()
        for grain in (_HUGE, _GRAIN) if nbytes >= _HUGE > 0 else (_GRAIN,):  # huge pages are whole
            for i, (start, free) in enumerate(self._free):
                place = -(-start // grain) * grain
                if place + _whole(nbytes) <= start + free:
                    return self._taken(i, place, nbytes)
        raise MemoryError(f"shared memory: no room for {nbytes} bytes")

    def claim(self, place: int, nbytes: int) -> np.ndarray:
        """Return memory at a place, with what is there; raises MemoryError if it is taken."""
        for i, (start, free) in enumerate(self._free):
            if start <= place and place + _whole(nbytes) <= start + free:
                return self._taken(i, place, nbytes)
        raise MemoryError(f"shared memory: no room for {nbytes} bytes at {place}")

    def forget(self) -> None:
        """Give to the system what is there where nothing is taken."""
        for start, length in self._free:
            self._pages.remove(start, length)

    def enlarge(self, memory: np.ndarray) -> None:
        """Let memory that was taken, and that is about to be written, be of huge pages."""
        offset = self.offset(memory)
        if offset is not None:
            self._pages.enlarge(offset, memory.nbytes)

    def stay(self) -> None:
        """Give nothing back any more: this process ends, and others go on with what is there."""
        self._stays[0] = True

    def read(self, place: int, nbytes: int) -> bytes:
        """Return what is written at a place."""
        return bytes(self._pages.content[place : place + nbytes])

    def _taken(self, i: int, place: int, nbytes: int) -> np.ndarray:
        """Return memory at a place in the ``i``-th part that is free."""
        start, free = self._free[i]
        length = _whole(nbytes)
        sides = ((start, place - start), (place + length, start + free - place - length))
        self._free[i : i + 1] = [side for side in sides if side[1]]
        memory = np.frombuffer(self._pages.content, np.uint8, nbytes, place)
        back = (os.getpid(), self._stays, self._pages, self._returned, place, length)
        weakref.finalize(memory, _give_back, *back).atexit = False  # it ends with who has it last
        return memory

    def empty(self, memory: np.ndarray) -> None:
        """Give the pages of memory that was taken to the system: it stays taken, and is all 0."""
        offset = self.offset(memory)
        assert offset is not None
        self._pages.remove(offset, _whole(memory.nbytes))

    def write(self, source: np.ndarray) -> np.ndarray:
        """Return memory that was taken, and has the same bytes; the system writes them to its file.

        Not through the mapping, where a full disk would be a signal and no error.
        """
        found = self.take(source.nbytes)
        at, data = self.offset(found), memoryview(cast(Any, source.reshape(-1).view(np.uint8)))
        assert at is not None
        done = 0
        while done < len(data):
            done += os.pwrite(self.fd, data[done : done + _AT_A_TIME], at + done)
        return found

    def read_into(self, memory: np.ndarray, source: np.ndarray) -> None:
        """Read the bytes of memory that was taken, from its file, into other memory."""
        at, data = self.offset(source), memoryview(cast(Any, memory.reshape(-1).view(np.uint8)))
        assert at is not None
        done = 0
        while done < len(data):
            now = os.preadv(self.fd, [data[done : done + _AT_A_TIME]], at + done)
            if not now:
                raise OSError(errno.EIO, "the file of dnb.config.spill has been cut off")
            done += now

    def sync(self) -> None:
        """Wait until the disk has what was written, of which nothing stays in memory then."""
        os.fdatasync(self.fd)
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def private(self, memory: np.ndarray) -> mmap.mmap:
        """Return another look at memory that was taken: what is written there, others do not see.

        Only as long as the segment is open. The memory comes back when this is gone, too.
        """
        offset = self.offset(memory)
        assert offset is not None
        try:
            found = _Private(self.fd, memory.nbytes, flags=mmap.MAP_PRIVATE, offset=offset)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise MemoryError(
                f"memory of this process: no room for {memory.nbytes} bytes"
            ) from None
        found.memory = memory
        return found

    def offset(self, block: np.ndarray) -> int | None:
        """Return where in the segment an array lies, None if it does not."""
        at: int = block.__array_interface__["data"][0] - self._pages.start
        return at if 0 <= at < self.nbytes else None

    def _collect(self) -> None:
        """Make one of what is free side by side."""
        while self._returned:
            insort(self._free, self._returned.popleft())
            merged: list[tuple[int, int]] = []
            for start, length in self._free:
                if merged and sum(merged[-1]) == start:
                    merged[-1] = (merged[-1][0], merged[-1][1] + length)
                else:
                    merged.append((start, length))
            self._free = merged


def _whole(nbytes: int) -> int:
    """Return how much is taken for so many bytes."""
    return -(-nbytes // _GRAIN) * _GRAIN


def _give_back(
    owner: int,
    stays: list[bool],
    pages: Pages,
    returned: deque[tuple[int, int]],
    start: int,
    length: int,
) -> None:
    """Return memory to the system, and its place to the segment. Runs when nobody refers to it.

    In a forked child nothing is given back: the parent has the same memory, and needs it.
    """
    if os.getpid() != owner or stays[0]:
        return
    pages.remove(start, length)
    returned.append((start, length))


def new_segment(more: int = 0, share: int = 1) -> SharedSegment | None:
    """Return a segment as large as the node's memory; None where the system does not give one.

    ``more``: bytes that it is to be larger, for what is taken and is not in memory; ``share``: how
    many such segments each process maps.
    """
    if not hasattr(os, "memfd_create") or not hasattr(mmap, "MADV_REMOVE"):
        return None
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return SharedSegment(min(memory + more, _ADDRESSES // share) // _GRAIN * _GRAIN)
    except (OSError, ValueError):
        return None


def file_segment(folder: str) -> SharedSegment:
    """Return a segment as large as a disk, in a file without a name in a folder there."""
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        about = os.fstatvfs(fd)
        nbytes = min(about.f_blocks * about.f_frsize, _ADDRESSES) // _GRAIN * _GRAIN
        os.ftruncate(fd, nbytes)
    except BaseException:
        os.close(fd)
        raise
    return SharedSegment(nbytes, fd)


def card_of(segment: SharedSegment, least: int = 0) -> Card:
    """Return how others find a segment."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        boot = os.uname().nodename
    return Card((boot, least), os.getpid(), segment.fd, segment.nbytes, segment.secret)


def map_segment(card: Card) -> Pages | None:
    """Map the segment of another process; None if it is out of reach, or another file."""
    path = f"/proc/{card.pid}/fd/{card.fd}"
    try:
        if not os.readlink(path).startswith("/memfd:distnb"):
            return None
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            pages = Pages(fd, card.nbytes)
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None
    return pages if pages.content[: len(card.secret)] == card.secret else None


def mapped_by(segment: int) -> list[int]:
    """Return the other processes of this user that have mapped a segment, of which this is a fd."""
    inode, found = os.fstat(segment).st_ino, list[int]()
    known = re.compile(rf"\s{inode}\s+/memfd:distnb\b")
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it is gone, or somebody else's
            if int(folder.name) != os.getpid() and known.search((folder / "maps").read_text()):
                found.append(int(folder.name))
    return found
