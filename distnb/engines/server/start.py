"""The process of an engine: ipyparallel's, with what takes longest at its start done once.

Run as a script (``python -P start.py``) in place of ``python -m ipyparallel.engine``. An engine has
a *nanny*, a process that tells of its end: here that is a fork of the engine as it begins, which
need not load all modules once more. And the notebook's sides of ipyparallel and of distnb are not
loaded unless somebody asks for them.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import pickle
import signal
import sys
import threading
from types import ModuleType
from typing import Any

__all__ = ["Lazy"]

#: The name of a nanny's process, by which the watchdog (``client.transport``) tells it from its
#: engine, of which it has the command line.
NANNY = b"distnb-nanny"
_SET_NAME = 15
#: Names of packages with two underscores; for others the import system looks.
_OWN = {"__all__", "__version__", "__array_api_version__", "__array_namespace_info__"}


class Lazy(ModuleType):
    """A package whose own code runs when a name is asked for that it does not have yet.

    Its modules can be imported before that.
    """

    def __getattr__(self, name: str) -> Any:
        """Import the module of this name; if there is none, run the package's code, but once."""
        if name.startswith("__") and name not in _OWN:
            raise AttributeError(name)
        if not name.startswith("__") and importlib.util.find_spec(f"{self.__name__}.{name}"):
            return importlib.import_module(f"{self.__name__}.{name}")
        with _LOADING:
            if self not in _LOADED:
                _LOADED.append(self)
                self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)


_LOADING, _LOADED = threading.RLock(), list[ModuleType]()


def _lazy_package(name: str) -> None:
    """Let modules of a package be imported without all of it."""
    spec = importlib.util.find_spec(name)
    if spec is not None and name not in sys.modules:
        module = Lazy(name)
        module.__spec__, module.__path__ = spec, spec.submodule_search_locations  # type: ignore
        module.__file__, module.__loader__ = spec.origin, spec.loader
        sys.modules[name] = module


# Its clients and clusters are a quarter of all that an engine would load.
_lazy_package("ipyparallel")

from ipyparallel.engine import app  # noqa: E402
from ipyparallel.engine.nanny import KernelNanny  # noqa: E402


class Engine(app.IPEngine):
    """An engine of ipyparallel that loads distnb while the controller listens to its heart."""

    def start_heartbeat(self, *args: Any) -> None:
        """Begin to be known."""
        super().start_heartbeat(*args)
        _lazy_package("distnb")
        with contextlib.suppress(Exception):  # who needs it is told why it cannot be had
            importlib.import_module("distnb.engines.server.entry")


def _fork_nanny() -> Any:
    """Fork the nanny before there are threads; return what starts it, as ``start_nanny`` does."""
    theirs, ours = os.pipe()
    heard, said = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(ours)
            _nanny(theirs, said)
        finally:
            os._exit(0)
    os.close(theirs)
    os.close(said)

    def start(**about: Any) -> tuple[str, Any]:
        with os.fdopen(ours, "wb") as file:
            pickle.dump(about | {"pid": os.getpid()}, file)
        answer = os.fdopen(heard, "rb")
        url = answer.readline().decode().strip()
        if not url:
            raise RuntimeError("nanny failed")
        return url, answer  # it is open as long as the engine lives

    return start


def _nanny(told: int, said: int) -> None:
    """Be a nanny, of the engine that is told of; nothing of its files stays open here."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_NAME, NANNY)
    os.dup2(told, 0)
    os.dup2(said, 1)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    with os.fdopen(0, "rb", closefd=False) as file:
        about = pickle.load(file)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    KernelNanny.main(**about, pipe=os.fdopen(1, "w", buffering=1))


def main() -> None:
    """Be an engine."""
    if sys.platform.startswith("linux"):
        app.start_nanny = _fork_nanny()
    Engine.launch_instance()


if __name__ == "__main__":
    main()
