"""Calls a function when a module is imported, and puts others in the place of its functions."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from distnb.common.errors import explain

if TYPE_CHECKING:  # it takes longer to import than most of distnb's rooms
    from importlib.abc import Loader

__all__ = ["put_in_place", "unseen", "when_imported"]

#: What libraries know of their own functions: modules, and dicts in them.
_REGISTRIES = {"scipy._lib._array_api": "xp_capabilities_table"}


def when_imported(name: str, then: Callable[[], Any]) -> None:
    """Call a function when a module has been imported; at once if it has been."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Finder(name, then))


def put_in_place(
    module: str, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Put what is made of a function of a library in its place, wherever the library has it.

    The name may be that of a method: ``Class.method``. A library that has no such function is told
    of, and goes on without: it is of a version that distnb does not know.
    """
    library = module.partition(".")[0]
    of, _, last = name.rpartition(".")
    holder = getattr(sys.modules.get(module), of, None) if of else sys.modules.get(module)
    function = getattr(holder, last, None)
    if function is None:
        say = explain(library, f"no {module}.{name}", "it", "pass it np.asarray(x), not arrays")
        warnings.warn(say, stacklevel=2)
        return
    if getattr(function, "__distnb_made__", False):  # distnb is imported once more (%reload_ext)
        return
    made: Any = functools.wraps(function)(unseen(make(function)))
    made.__distnb_made__ = True
    _enter(function, made)
    if of and isinstance(vars(holder).get(last), classmethod | staticmethod):
        setattr(holder, last, staticmethod(made))
        return
    modules = list(sys.modules.values())  # another thread may import
    others = [m for m in modules if getattr(m, "__name__", "").startswith(library)]
    for place in [holder] if of else others:
        if getattr(place, "__dict__", {}).get(last) is function:
            setattr(place, last, made)


def unseen(function: Any) -> Any:
    """Return a function whose frames warnings pass over, as they do those of the import system.

    So what a library warns of has the line that it would have without us. Tracebacks, and what
    looks for the user's line, know by the folder whose function it is.
    """
    code = function.__code__
    function.__code__ = code.replace(co_filename=f"{code.co_filename} (importlib._bootstrap)")
    return function


def _enter(function: Callable[..., Any], made: Callable[..., Any]) -> None:
    """Enter a function where a library's registries have the one that it stands for."""
    for module, name in _REGISTRIES.items():
        registry = getattr(sys.modules.get(module), name, {})
        if function in registry:
            registry[made] = registry[function]


class _Finder:
    """Finds one module as all others would, until it has been imported."""

    def __init__(self, name: str, then: Callable[[], Any]) -> None:
        self._name, self._then = name, then

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        for finder in [other for other in sys.meta_path if not _waits_for(other, name)]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:  # who only asks whether it is there does not load it
                    spec.loader = _Loader(spec.loader, self._loaded)  # type: ignore[assignment]
                return spec
        return None

    def _loaded(self) -> None:
        for finder in [each for each in sys.meta_path if _waits_for(each, self._name)]:
            sys.meta_path.remove(finder)
            finder._then()  # type: ignore[attr-defined]


def _waits_for(finder: object, name: str) -> bool:
    """Tell whether a finder is one of ours, for a module; others may wait for it, too."""
    return isinstance(finder, _Finder) and finder._name == name


class _Loader:
    """Loads a module, and then calls a function."""

    def __init__(self, loader: Loader, then: Callable[[], Any]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader  # who asks for its source or data asks the one who has it
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()
