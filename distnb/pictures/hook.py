"""Calls a function when a module is imported, now or later, by whoever needs it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it takes longer to import than most of distnb's rooms
    from importlib.abc import Loader

__all__ = ["when_imported"]


def when_imported(name: str, then: Callable[[], Any]) -> None:
    """Call a function when a module has been imported; at once if it has been."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Finder(name, then))


class _Finder:
    """Finds one module as all others would, once."""

    def __init__(self, name: str, then: Callable[[], Any]) -> None:
        self._name, self._then = name, then

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads a module, and then calls a function."""

    def __init__(self, loader: Loader, then: Callable[[], Any]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then()
