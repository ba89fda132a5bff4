"""Has loops compiled in another process, keeps them on disk, and loads them when they are ready.

Compiling takes a second and would hold up the engine's own Python. One engine of a node has what
is not there compiled; all load it from disk, also those of later sessions.
"""

from __future__ import annotations

import _thread
import contextlib
import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

from distnb.engines.fusion import machine_code
from distnb.engines.fusion.compiled_loops import Source
from distnb.engines.fusion.machine_code import MachineCode, compiled, host, loaded

__all__ = ["Compiler", "folder", "short_turns"]

#: Seconds in which a loop is compiled for sure.
_TAKES = 120.0
#: Seconds between two looks for what is done.
_LOOK = 0.1
#: So often it is tried to load a loop: a file may be there that cannot be read yet.
_TRIES = 3
#: Numbers that a loop has made when it is time to have it compiled while others run: it has taken
#: some 20 ms.
_PAYS = 1 << 25
#: Numbers from which on it is compiled when the engine rests, and seconds without loops that are
#: rest: engines are tried for a moment while the notebook goes on, and what they were tried with is
#: to be there next time.
_COUNTS, _REST = 1 << 20, 0.1
#: Seconds after which Python's threads take turns while one of them imports: the engine goes on.
_TURN = 1e-4
#: The process that compiles what it reads the names of.
_SERVER = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


#: How many threads import, and what the turns of Python's threads were before.
_TURNS: list[float] = []
_TURNS_LOCK = threading.Lock()


@contextlib.contextmanager
def short_turns() -> Iterator[None]:
    """Let Python's threads take turns more often, as long as one of them imports."""
    with _TURNS_LOCK:
        _TURNS.append(_TURNS[-1] if _TURNS else sys.getswitchinterval())
        sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        with _TURNS_LOCK:
            before = _TURNS.pop()
            if not _TURNS:
                sys.setswitchinterval(before)


def folder() -> Path:
    """Return where compiled loops are kept: ``DISTNB_CACHE``, or the user's folder for caches."""
    given = os.environ.get("DISTNB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(given or os.path.join(base, "distnb"))


class _Awaited:
    """A loop that is not there: whether it is to be compiled soon, and since when it is."""

    def __init__(self, source: Source) -> None:
        self.source, self.soon, self.tries = source, False, 0
        #: Where it will be, as soon as somebody was asked to compile it; until when that is so.
        self.path: Path | None = None
        self.end = inf


class Compiler:
    """Gives compiled loops for their sources: none at first, the loop as soon as it is ready.

    Parameters
    ----------
    wait : bool
        Whether to compile at once, in this process (for tests).
    """

    def __init__(self, wait: bool = False) -> None:
        self.wait = wait
        #: Whether loops ran that are not compiled, and will be if they go on.
        self.young = False
        self._ready: dict[str, MachineCode | None] = {}
        #: What is not there; a thread has it compiled, and loads it.
        self._awaited: dict[str, _Awaited] = {}
        #: When such a loop ran last.
        self._ran = 0.0
        self._server: Any = None
        self._folder: Path | None = None
        self._looking = self._prepared = False
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def get(self, source: Source, numbers: int = _PAYS) -> MachineCode | None:
        """Return the compiled loop, or None as long as it is not there.

        If it has made few ``numbers``, it is compiled as soon as no loop runs.
        """
        name = source.name
        if name in self._ready:
            return self._ready[name]
        if self.wait:
            self._ready[name] = loaded(*source, compiled(*source))
            return self._ready[name]
        awaited = self._awaited.get(name)
        if awaited is None:
            awaited = _Awaited(source)
            self._await(awaited)
        awaited.soon = awaited.soon or numbers >= _PAYS
        self._ran = time.monotonic()
        self.young = self.young or name not in self._ready
        return self._ready.get(name)

    def tells_young(self) -> bool:
        """Tell whether loops ran since it was told last that are yet to be compiled."""
        found, self.young = self.young, False
        return found

    def counts(self, numbers: int) -> bool:
        """Tell whether a loop that has made so many numbers is worth to be compiled at all."""
        return self.wait or numbers >= _COUNTS

    def prepare(self) -> None:
        """Have at hand what loads loops, before the first one comes back."""
        if not (self.wait or self._prepared):
            self._prepared = True
            with contextlib.suppress(RuntimeError, MemoryError):  # no room for a thread
                self._begin()

    def settled(self, source: Source) -> bool:
        """Tell whether a loop that was asked for is there, or never will be."""
        return source.name in self._ready

    def _await(self, awaited: _Awaited) -> None:
        """Await a loop that is met first; load it if it is on disk, and others were."""
        name = awaited.source.name
        if self._folder is not None and self._object(name).exists():
            awaited.path, awaited.end = self._object(name), time.monotonic() + _TAKES
            if self._load(awaited):
                return
        try:
            self._begin(awaited)
        except (RuntimeError, MemoryError):  # no room for a thread: the tiles go on as they are
            self._settle(awaited, None)

    def _begin(self, *awaited: _Awaited) -> None:
        """Have something looked after."""
        with self._lock:
            self._awaited |= {x.source.name: x for x in awaited}
            if not self._looking:
                # Thread.start() would wait for ever for a thread that has no memory to begin.
                _thread.start_new_thread(self._look, ())

    def _settle(self, awaited: _Awaited, made: MachineCode | None) -> None:
        self._ready[awaited.source.name] = made
        self._awaited.pop(awaited.source.name, None)

    def _look(self) -> None:
        """Look after what is awaited, until there is nothing any more; in one thread."""
        with self._lock:
            if self._looking:
                return
            self._looking = True
        try:
            self._look_after()
        except BaseException:  # else that is done already, and another thread may have begun
            with self._lock:
                self._looking = False
            raise

    def _look_after(self) -> None:
        with contextlib.suppress(Exception):  # what is awaited is told
            self._object("")
        while not self._closed.wait(_LOOK):
            for awaited in list(self._awaited.values()):
                if awaited.path is None:
                    self._ask(awaited)
                elif awaited.path.exists():
                    self._load(awaited)
                elif awaited.path.with_suffix(".failed").exists() or time.monotonic() > awaited.end:
                    self._settle(awaited, None)
            with self._lock:
                if not self._awaited:
                    self._looking = False  # whoever awaits something from now on begins anew
                    return

    def _object(self, name: str) -> Path:
        """Return where a loop is kept, in a folder for this processor."""
        if self._folder is None:
            with short_turns():
                found = folder() / f"loops-{host()}"
            found.mkdir(mode=0o700, parents=True, exist_ok=True)
            about = found.stat()  # what is in it will be run
            if about.st_uid != os.getuid() or about.st_mode & 0o022:
                raise PermissionError(f"folder for compiled loops: others can write {found}")
            self._folder = found
        return self._folder / f"{name}.o"

    def _ask(self, awaited: _Awaited) -> None:
        """Have a loop compiled if it is time, unless it is there or another engine is at it."""
        try:
            path = self._object(awaited.source.name)
            rests = time.monotonic() - self._ran > _REST
            if not (awaited.soon or rests or path.exists()):
                return
            awaited.path, awaited.end = path, time.monotonic() + _TAKES
            if not path.exists():
                self._have_compiled(awaited.source, path.with_suffix(".py"))
        except FileExistsError:
            return
        except Exception:  # nowhere to keep it, nothing that loads it: the tiles go on as they are
            self._settle(awaited, None)

    def _have_compiled(self, source: Source, path: Path) -> None:
        """Hand a text to the process that compiles; FileExistsError if somebody else did."""
        if path.exists() and time.time() - path.stat().st_mtime > _TAKES:
            path.unlink()  # whoever was at it is gone
        with open(path, "x", encoding="utf-8") as file:
            file.write(source.text)
        with self._lock:
            if self._closed.is_set():
                return
            if self._server is None or self._server.poll() is not None:
                _end(self._server)  # it had nothing to do
                self._server = _served()
            self._server.stdin.write(f"{path}\n")
            self._server.stdin.flush()

    def _load(self, awaited: _Awaited) -> bool:
        """Load a loop that is on disk; tell whether it is settled."""
        assert awaited.path is not None
        try:
            made = loaded(*awaited.source, awaited.path.read_bytes())
        except Exception:  # a broken cache must not stop anyone
            awaited.tries += 1
            if awaited.tries < _TRIES:
                return False
            made = None
            with contextlib.suppress(OSError):
                awaited.path.unlink()  # a later session has it compiled anew
        self._settle(awaited, made)
        return True

    def close(self) -> None:
        """End the compiling process, and stop to wait for what it makes."""
        self._closed.set()
        with self._lock:  # nobody begins another one
            server, self._server = self._server, None
        _end(server)


def _served() -> Any:
    """Begin the process that compiles."""
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER, machine_code.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env={k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI_"))},
    )


def _end(server: Any) -> None:
    """End the process that compiles, if there is one."""
    if server is not None:
        server.terminate()
        with contextlib.suppress(OSError):
            server.stdin.close()
        server.wait()


def available() -> bool:
    """Tell whether Numba is installed."""
    return importlib.util.find_spec("numba") is not None
