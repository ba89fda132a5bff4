"""Compiles loops in another process, keeps them on disk, and loads them when they are ready.

Compiling takes a second and would hold up the engine's own Python. One engine of a node compiles
what none has compiled yet; all load it from the cache, also those of later sessions.
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
from pathlib import Path
from typing import Any

from distnb.engines.fusion.compiled_loops import Kernel, Source

__all__ = ["Compiler", "folder"]

#: Seconds in which a loop is compiled for sure.
_TAKES = 120.0
#: Seconds between two looks for what is done.
_LOOK = 0.1
#: So often it is tried to load a loop.
_TRIES = 3
#: Numbers that a loop has made when it is time to have it compiled: it has taken about 0.2 s, and
#: as long it takes to load Numba for the first loop; where that is done, a tenth of it.
_PAYS, _PAYS_SOON = 1 << 28, 1 << 25
#: Seconds after which Python's threads take turns while a loop is loaded: the engine goes on.
_TURN = 1e-4
#: The process that compiles: imports each file that it reads the name of, and says that it is done.
_SERVER = """
import gc, importlib.util, os, pathlib, sys
gc.disable()  # which would look through all modules again and again
os.nice(5)  # engines and the notebook come first
for line in sys.stdin:
    path = pathlib.Path(line.strip())
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        path.with_suffix(".done").touch()
    except Exception as error:
        path.with_suffix(".failed").write_text(repr(error))
"""


#: How many threads load, and what the turns of Python's threads were before.
_TURNS: list[float] = []
_TURNS_LOCK = threading.Lock()


@contextlib.contextmanager
def short_turns() -> Iterator[None]:
    """Let Python's threads take turns more often, as long as one of those that load does."""
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
        self._ready: dict[str, Kernel | None] = {}
        #: Whether Numba is loaded.
        self._warm = False
        self._asked: set[str] = set()
        #: How often a loop could not be loaded; another thread may be importing what it imports.
        self._tries: dict[str, int] = {}
        self._server: Any = None
        self._folder: Path | None = None
        #: What is being compiled, here or elsewhere; a thread loads it once it is done.
        self._awaited: dict[str, tuple[Path, float]] = {}
        self._loading = False
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def get(self, source: Source) -> Kernel | None:
        """Return the compiled loop, or None as long as it is not there."""
        found = self._ready.get(source.name)
        if found is not None or source.name in self._ready:
            return found
        if self.wait:
            return self._compile_here(source)
        if source.name not in self._asked:
            self._asked.add(source.name)
            self._ask(source)
        self.young = self.young or source.name not in self._ready
        return None

    def tells_young(self) -> bool:
        """Tell whether loops ran since it was told last that are yet to be compiled."""
        found, self.young = self.young, False
        return found

    def pays(self, numbers: int) -> bool:
        """Tell whether a loop that has made so many numbers is worth to be compiled."""
        return self.wait or numbers >= (_PAYS_SOON if self._warm else _PAYS)

    def settled(self, source: Source) -> bool:
        """Tell whether a loop that was asked for is there, or never will be."""
        return source.name in self._ready

    def _compile_here(self, source: Source) -> Kernel:
        names: dict[str, Any] = {}
        exec(source.text.replace("cache=True, ", ""), names)
        self._ready[source.name] = names["kernel"]
        return names["kernel"]

    def _path(self, source: Source) -> Path:
        if self._folder is None:
            self._folder = folder() / f"kernels-{sys.version_info[0]}.{sys.version_info[1]}"
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self._folder.stat()  # what is in it will be run
            if found.st_uid != os.getuid() or found.st_mode & 0o022:
                raise PermissionError(f"folder for compiled loops: others can write {self._folder}")
        return self._folder / f"{source.name}.py"

    def _ask(self, source: Source) -> None:
        """Have a loop compiled, unless it is there or another engine is at it."""
        try:
            path = self._path(source)
            self._await(source.name, path)
            if path.with_suffix(".done").exists():
                return
            if path.exists() and time.time() - path.stat().st_mtime > _TAKES:
                path.unlink()  # whoever was at it is gone
            with open(path, "x", encoding="utf-8") as file:
                file.write(source.text)
            if self._server is None:
                self._server = subprocess.Popen(
                    [sys.executable, "-c", _SERVER],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env={k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI_"))},
                )
            self._server.stdin.write(f"{path}\n")
            self._server.stdin.flush()
        except FileExistsError:
            return
        except (OSError, RuntimeError, MemoryError):
            # Nowhere to keep it, or no room for a thread: the tiles go on as they are.
            self._ready[source.name] = None

    def _await(self, name: str, path: Path) -> None:
        """Have a loop loaded when it is done; one thread does so as long as there are any."""
        with self._lock:
            self._awaited[name] = path, time.monotonic() + _TAKES
            if not self._loading:
                # Thread.start() would wait for ever for a thread that has no memory to begin.
                _thread.start_new_thread(self._load_all, ())

    def _load_all(self) -> None:
        """Load what is awaited, until there is nothing any more; in one thread."""
        with self._lock:
            if self._loading:
                return
            self._loading = True
        try:
            self._load_awaited()
        except BaseException:  # else that is done already, and another thread may have begun
            with self._lock:
                self._loading = False
            raise

    def _load_awaited(self) -> None:
        while not self._closed.wait(_LOOK):
            for name, (path, end) in list(self._awaited.items()):
                if path.with_suffix(".done").exists():
                    with short_turns():
                        self._load(name, path)
                elif path.with_suffix(".failed").exists() or time.monotonic() > end:
                    self._ready[name] = None
            with self._lock:
                for name in self._ready.keys() & self._awaited.keys():
                    del self._awaited[name]
                if not self._awaited:
                    self._loading = False  # whoever awaits something from now on begins anew
                    return

    def _load(self, name: str, path: Path) -> None:
        try:
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            # Numba finds what it kept by the name of the module.
            module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            self._ready[name] = module.kernel
            self._warm = True
        except Exception:  # a broken cache must not stop anyone
            self._tries[name] = self._tries.get(name, 0) + 1
            if self._tries[name] == _TRIES:
                self._ready[name] = None

    def close(self) -> None:
        """End the compiling process, and stop to wait for what it makes."""
        self._closed.set()
        if self._server is not None:
            self._server.terminate()
            with contextlib.suppress(OSError):
                self._server.stdin.close()
            self._server.wait()
            self._server = None


def available() -> bool:
    """Tell whether Numba is installed."""
    return importlib.util.find_spec("numba") is not None
