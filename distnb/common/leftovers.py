"""Temporary folders that tell whose they are, and what killed processes have left behind.

A process that is killed removes nothing. Who starts engines next removes it: folders whose owner is
dead, and shared memory of MPI that nobody has mapped. Only what belongs to the same user.
"""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["folder_prefix", "is_left", "own_folder", "own_folders", "own_mark", "sweep"]

#: Where MPICH and Open MPI keep what the ranks of a node share, and under which names.
SHARED = Path("/dev/shm")
_SEGMENT = re.compile(rf"{SHARED}/(?:mpich_shm|sm_segment|vader_segment)[^\s]*")
#: Seconds after which shared memory that nobody has mapped is not about to be.
_OLD = 60.0


def own_folder() -> Path:
    """Make a temporary folder of this process, which only its user may enter."""
    import tempfile  # with it come all ways to compress, which importing distnb does not need

    return Path(tempfile.mkdtemp(prefix=f"{folder_prefix()}{os.getpid()}-"))


def sweep() -> None:
    """Remove what killed processes of this user have left."""
    import shutil  # as above

    for folder, lives in _folders():
        if not lives:
            shutil.rmtree(folder, ignore_errors=True)
    mapped = set(_mapped())
    for path in SHARED.glob("*"):
        if _SEGMENT.fullmatch(str(path)) and str(path) not in mapped and _mine(path, _OLD):
            path.unlink(missing_ok=True)


def own_folders() -> list[Path]:
    """Return the temporary folders of processes of this user that live."""
    return [folder for folder, lives in _folders() if lives]


def _folders() -> Iterator[tuple[Path, bool]]:
    """Yield temporary folders of this user, and whether whose they are lives."""
    import tempfile  # as above

    for folder in Path(tempfile.gettempdir()).glob(f"{folder_prefix()}*-*"):
        pid = folder.name.removeprefix(folder_prefix()).partition("-")[0]
        if pid.isdecimal() and _mine(folder):
            yield folder, _lives(int(pid))


def folder_prefix() -> str:
    """Return how names of folders begin: processes of another container have the same numbers."""
    try:
        return f"distnb-{Path('/proc/self/ns/pid').stat().st_ino:x}-"
    except OSError:
        return "distnb-"


def own_mark() -> str:
    """Return a word for names of files that tells whose they are; each is another one."""
    return f"{_machine()}-{os.getpid()}-{os.urandom(4).hex()}"


def is_left(mark: str) -> bool:
    """Tell whether a process of this machine made a mark, and has ended.

    >>> is_left(own_mark())
    False
    """
    machine, pid, _ = mark.split("-")
    return machine == _machine() and not _lives(int(pid))


@cache
def _machine() -> str:
    """Return a word for the processes that have numbers as this one: folders may be shared."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        started = os.urandom(16)
    return f"{zlib.crc32(started + folder_prefix().encode()):08x}"


def _mine(path: Path, age: float = 0.0) -> bool:
    """Tell whether something belongs to this user, and is so old (seconds)."""
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and time.time() - found.st_mtime >= age


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def _mapped() -> Iterator[str]:
    """Yield the shared memory of MPI that processes have mapped."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is gone, or somebody else's
            yield from _SEGMENT.findall((folder / "maps").read_text(errors="replace"))
