"""What is known of the machine that a process runs on."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from distnb.common.errors import explain

__all__ = ["NodeMemory", "blas_threads", "check_spare", "cores", "node_memory", "runnable"]

#: Bytes that libraries take as they connect to new engines: buffers, stacks of threads.
_SPARE = 64 * 2**20


class NodeMemory(NamedTuple):
    """Bytes of memory, 0 where the system does not tell."""

    #: What this process can still have.
    available: int
    #: What there is in all, for it and for others.
    total: int


class _Files(NamedTuple):
    """What a version of control groups calls its files of memory."""

    limits: tuple[str, ...]
    used: str
    #: The lines of ``memory.stat`` of what is given back when memory is short.
    reclaimable: tuple[str, ...]


_CACHES = ("inactive_file", "active_file")
_V1 = _Files(
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    tuple(f"total_{name}" for name in _CACHES),
)
_V2 = _Files(("memory.max", "memory.high"), "memory.current", (*_CACHES, "slab_reclaimable"))
#: A limit of so many bytes is what version 1 has for none.
_NONE = 1 << 60


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def blas_threads() -> int:
    """Return how many threads the BLAS of this process starts, as it was when first asked for."""
    from threadpoolctl import threadpool_info  # it looks at all libraries that are loaded

    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(pools, default=1)


def runnable(root: Path = Path("/")) -> int:
    """Return how many threads of this machine run or wait for a core; 0 if the system is silent."""
    found = _text(root / "proc/loadavg").split()
    return int(found[3].partition("/")[0]) if len(found) == 5 else 0


def check_spare() -> None:
    """Raise MemoryError if this process may not have what it takes to connect to new engines.

    Where a limit keeps memory from ZeroMQ, that ends the process, and all arrays go with it.
    """
    try:
        mmap.mmap(-1, _SPARE).close()
    except OSError as error:
        got = f"no room for {_SPARE >> 20} MB"
        do = "delete some in the notebook, or raise its limit"
        raise MemoryError(explain("memory of the notebook", got, "some to connect", do)) from error


def node_memory(root: Path = Path("/")) -> NodeMemory:
    """Return the memory of this process's node, as far as its control groups let it have that.

    A group's limit is one of all groups in it, so the least room on the way to the top counts.
    ``root`` is where the system's files are.
    """
    lines = [line.split() for line in _text(root / "proc/meminfo").splitlines()]
    known = {words[0]: int(words[1]) * 1024 for words in lines if len(words) == 3}
    available, total = known.get("MemAvailable:", 0), known.get("MemTotal:", 0)
    for limit, room in _limits(root):
        available = min(available or room, room)
        total = min(total or limit, limit)
    return NodeMemory(available, total)


def _limits(root: Path) -> Iterator[tuple[int, int]]:
    """Yield the limit of each control group of this process, and what is left of it."""
    for folder, files in _groups(root):
        found = [_text(folder / name).strip() for name in files.limits]
        # The others are "max", or what no process could live with.
        limits = [int(text) for text in found if text.isdecimal() and 0 < int(text) < _NONE]
        used = _text(folder / files.used).strip()
        if limits and used.isdecimal():
            lines = [line.split() for line in _text(folder / "memory.stat").splitlines()]
            stat = {words[0]: int(words[1]) for words in lines if len(words) == 2}
            taken = max(0, int(used) - sum(stat.get(name, 0) for name in files.reclaimable))
            yield min(limits), max(1, min(limits) - taken)  # 0 would say that it is not known


def _groups(root: Path) -> Iterator[tuple[Path, _Files]]:
    """Yield the folders of the control groups of memory that this process is in."""
    paths = dict[str, PurePosixPath]()
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, kinds, group = (*line.split(":", 2), "", "")[:3]
        paths |= {kind: PurePosixPath(group) for kind in kinds.split(",") if group}
    for line in _text(root / "proc/self/mountinfo").splitlines():
        mount, _, system = (part.split() for part in line.partition(" - "))
        if len(mount) < 5 or not system:
            continue
        top, point = (PurePosixPath(name.replace("\\040", " ")) for name in mount[3:5])
        if system[0] == "cgroup2" and "" in paths:
            files, path = _V2, paths[""]
        elif system[0] == "cgroup" and "memory" in system[-1].split(",") and "memory" in paths:
            files, path = _V1, paths["memory"]
        else:
            continue
        # What is mounted in a container may begin at its own group, and others are out of sight.
        inside = path.is_relative_to(top) and ".." not in path.parts
        below = path.relative_to(top) if inside else PurePosixPath()
        for folder in (below, *below.parents):
            yield root / point.relative_to("/") / folder, files


def _text(path: Path) -> str:
    """Return what is in a file of the system, "" if it is not there or not to be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
