"""Turns of notebooks on the same engines: while batches of one are on their way, others wait.

Batches of two notebooks could reach engines in different orders, and each engine would wait for
one that runs something else. So who sends a batch takes a lock of this host, and leaves it when
somebody waits for it and nothing of his is on its way. The lock is the kernel's, so it ends with
its process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import mmap
import os
import stat
import struct
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from distnb.common.interrupts import interruptible

__all__ = ["Turns"]

#: Where files are, whatever ``TMPDIR`` says: it may be another one for each notebook.
_BASE = Path("/tmp")
#: When somebody waited last, by the clock of this host.
_WANTED = struct.Struct("d")
#: Seconds between two looks whether it is our turn: at first, and at most.
_SOON, _LATER = 1e-4, 5e-3
#: Seconds for which we may have turn after turn while others wait, and then leave it to them.
_OURS, _THEIRS = 0.02, 0.006
#: Seconds for which somebody counts as waiting since he wrote so.
_WAITS = 0.5
#: Seconds between two looks whether others wait for a notebook that does nothing.
_LOOK = 0.1
#: Seconds after which a file that nobody has locked may be of engines that are gone.
_OLD = 86_400.0


class Turns:
    """The turns of one client; all its sessions have them together.

    Parameters
    ----------
    key : bytes
        What clients of the same engines have in common, and nobody else.
    """

    _file: int
    _close: weakref.finalize[..., Any]

    def __init__(self, key: bytes) -> None:
        self._name = hashlib.sha256(key).hexdigest()[:32]
        self._open()
        self._lock = threading.RLock()
        #: Whether the lock is ours; it may be so with nothing on its way.
        self._ours = False
        #: Since when nobody else has waited, or had a turn.
        self._since = time.monotonic()
        #: Who has something on its way.
        self._users: weakref.WeakSet[Any] = weakref.WeakSet()
        #: What lets each session see whether others wait.
        self._sessions: list[weakref.WeakMethod[Callable[[], Any]]] = []
        #: Whether a thread calls that.
        self._looks = False
        _OPEN.add(self)

    def take(self, user: object, wait: float = float("inf")) -> bool:
        """Take the turn, unless others still have it after so many seconds; tell whether we do."""
        with self._lock:
            if not (self._users or self._locked() or self._awaited(wait)):
                return False
            self._users.add(user)
            return True

    def leave(self, user: object) -> None:
        """Leave the turn to others, if nothing else of this client is on its way."""
        with self._lock:
            self._users.discard(user)
            if self.wanted:
                self._unlock()

    @contextlib.contextmanager
    def taken(self, wait: float = float("inf")) -> Iterator[bool]:
        """Have the turn meanwhile; gives whether that is so."""
        user = threading.Event()  # of nobody else, and can be referred to weakly
        got = self.take(user, wait)
        try:
            yield got
        finally:
            if got:
                self.leave(user)
                self._unlock()  # nobody may look after it from now on

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for us."""
        return abs(time.monotonic() - float(_WANTED.unpack_from(self._memory)[0])) < _WAITS

    def look_after(self, heed: Callable[[], Any]) -> None:
        """Call a session's method now and then: others may wait while it does nothing."""
        with self._lock:
            self._sessions.append(weakref.WeakMethod(heed))
            if not self._looks:
                name, arguments = "distnb-turns", (weakref.ref(self),)
                threading.Thread(target=_look, args=arguments, name=name, daemon=True).start()
                self._looks = True

    def heed(self) -> bool:
        """Let sessions see whether others wait; tell whether there are sessions left."""
        found = [heed for heed in [known() for known in self._sessions] if heed is not None]
        for heed in found:
            with contextlib.suppress(Exception, KeyboardInterrupt):  # the next use tells
                heed()
        with self._lock:
            self._sessions = [known for known in self._sessions if known() is not None]
            self._looks = bool(self._sessions)
            if self.wanted or not self._looks:
                self._unlock()
            return self._looks

    def forget(self) -> None:
        """Close the file in a forked child: the lock is its parent's, and must end with that."""
        self._close()
        self._file, self._lock = -1, threading.RLock()

    def remove(self) -> None:
        """Remove the file, unless something is on its way; who comes later makes another one."""
        with self._lock:
            if self._file >= 0 and not self._users and self._tried():
                self._path.unlink(missing_ok=True)
            self._unlock()

    def _open(self) -> None:
        """Open the file, or make it, in place of another one; else that stays."""
        path, flags = _folder() / self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path, flags, 0o600)
        close = weakref.finalize(self, os.close, file)
        try:
            memory = _mapped(file)
        except BaseException:
            close()
            raise
        before, self._close = getattr(self, "_close", None), close
        self._path, self._file, self._memory = path, file, memory
        if before is not None:
            before()

    @property
    def overdue(self) -> bool:
        """Whether somebody has waited for long enough while we had turn after turn."""
        now = time.monotonic()
        if not self.wanted:
            self._since = now
        return now - self._since > _OURS

    def _locked(self) -> bool:
        """Take the lock if it is free, after others who have waited for long."""
        if self.overdue:
            self._unlock()
            time.sleep(_THEIRS)
            self._since = time.monotonic()
        return self._ours or self._tried()

    def _unlock(self) -> None:
        """Leave the lock to others, unless something is on its way."""
        with self._lock:
            if not self._users and self._file >= 0:
                self._ours = False
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _tried(self) -> bool:
        if self._file < 0:
            return True
        if not _flocked(self._file):
            return False
        if not os.fstat(self._file).st_nlink:  # somebody has removed it, and others have another
            with contextlib.suppress(OSError):  # where none can be had, nobody has one
                self._open()
            if not _flocked(self._file):
                return False
        self._ours = True
        return True

    def _awaited(self, seconds: float) -> bool:
        """Wait for the lock; lets Ctrl-C through."""
        try:
            return interruptible(lambda: self._waited(time.monotonic() + seconds))
        except BaseException:
            self._unlock()
            raise

    def _waited(self, end: float) -> bool:
        pause = _SOON
        while not self._tried():
            _WANTED.pack_into(self._memory, 0, time.monotonic())
            if time.monotonic() >= end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LATER)
        _WANTED.pack_into(self._memory, 0, 0.0)
        self._since = time.monotonic()
        return True


#: Those of this process.
_OPEN: weakref.WeakSet[Turns] = weakref.WeakSet()


def _forked() -> None:
    for turns in list(_OPEN):
        turns.forget()


os.register_at_fork(after_in_child=_forked)


def _look(turns: weakref.ref[Turns]) -> None:
    """Look after notebooks that do nothing while others wait, as long as there are sessions."""
    pause = threading.Event()
    while not pause.wait(_LOOK):
        found = turns()
        if found is None or not found.heed():
            return
        del found


def _folder() -> Path:
    """Return the folder of this user's files, without those of engines that are long gone."""
    base = _BASE if os.access(_BASE, os.W_OK) else Path(tempfile.gettempdir())
    folder = base / f"distnb-turns-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(errno.EACCES, "not a folder of this user's", str(folder))
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD:
                _removed(path)
    return folder


def _mapped(file: int) -> mmap.mmap:
    """Return the memory of a file, opened by another name: a fork would keep the lock with it."""
    other = os.open(f"/proc/self/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.posix_fallocate(file, 0, _WANTED.size)
        return mmap.mmap(other, _WANTED.size)
    finally:
        os.close(other)


def _flocked(file: int) -> bool:
    """Lock a file for this process; tell whether nobody else had."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _removed(path: Path) -> None:
    """Remove a file, unless somebody has it locked."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(file)
