"""``%load_ext distnb``: thin magics over the client, and what happens at the end of a cell."""

from __future__ import annotations

from typing import Any

from distnb.magics.arguments import Semicolons
from distnb.magics.cells import Cells
from distnb.magics.completion import Completion
from distnb.magics.distdoctor import DoctorMagics
from distnb.magics.distlocal import LocalMagics
from distnb.magics.distmem import MemoryMagics
from distnb.magics.distscale import ScaleMagics
from distnb.magics.disttime import TimingMagics
from distnb.magics.engines import EngineMagics
from distnb.magics.tracebacks import Tracebacks

__all__ = ["load", "unload"]

MAGICS = (EngineMagics, LocalMagics, TimingMagics, MemoryMagics, ScaleMagics, DoctorMagics)

_LOADED: dict[int, tuple[Cells, Completion, Tracebacks, Semicolons]] = {}


def load(shell: Any) -> None:
    """Register the magics in a shell; harmless when done twice."""
    if id(shell) in _LOADED:
        return
    shell.register_magics(*MAGICS)
    parts = Cells(shell), Completion(shell, _names()), Tracebacks(shell)
    _LOADED[id(shell)] = *parts, Semicolons(shell, _names()["line"])


def unload(shell: Any) -> None:
    """Take the magics, what happens around cells and the completion away."""
    for each in _LOADED.pop(id(shell), ()):
        each.remove()
    for kind, names in _names().items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)


def _names() -> dict[str, list[str]]:
    """Return the names of the magics: of a line, and of a cell."""
    return {kind: [n for cls in MAGICS for n in cls.magics[kind]] for kind in ("line", "cell")}
