"""Measure what a process reaches of distnb; Python imports this where this folder is in its path.

``DISTNB_MARKS`` names a folder of ``tools/covered.py mark``: the modules, compiled with marks, and
a file with a byte for each. A module's statements set their bytes as they run, in memory that all
processes share: what a process has reached counts though it is killed, nobody combines anything,
and the tests take hardly longer.
"""

from __future__ import annotations

import json
import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


class Marked(SourceFileLoader):
    """Loads a module with marks in place of the one from its source."""

    def __init__(self, name: str, path: str, code: Path, reached: mmap.mmap) -> None:
        super().__init__(name, path)
        self._code, self._reached = code, reached

    def get_code(self, fullname: str) -> CodeType:
        """Return the module's code, compiled before."""
        code = marshal.loads(self._code.read_bytes())
        assert isinstance(code, CodeType)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which finds the bytes by this name."""
        module.__dict__["_marks_reached"] = self._reached
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the modules of which there is code with marks."""

    def __init__(self, folder: Path) -> None:
        self._codes: dict[str | None, str] = json.loads((folder / "codes.json").read_text())
        self._folder = folder
        with (folder / "reached").open("r+b") as file:
            self._reached = mmap.mmap(file.fileno(), 0)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module of distnb is loaded with marks."""
        spec = PathFinder.find_spec(name, path, target) if name.startswith("distnb") else None
        if spec is None or spec.origin is None or spec.origin not in self._codes:
            return None
        code = self._folder / self._codes[spec.origin]
        spec.loader = Marked(name, spec.origin, code, self._reached)
        return spec


if "DISTNB_MARKS" in os.environ:
    sys.meta_path.insert(0, Finder(Path(os.environ["DISTNB_MARKS"])))
