"""Write what editors and type checkers read of the public modules: their ``.pyi`` files.

``python tools/make_stub.py`` takes names, arguments and types from the functions themselves. They
are gathered from many modules, and the ufuncs are made from NumPy's: no such tool can read that.
A test tells when a stub is not what this would write.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import distnb as dnb
from distnb import numpys

ROOT = Path(__file__).resolve().parents[1]
#: The modules whose names are gathered from others.
MODULES = ("distnb", "distnb.fft", "distnb.linalg", "distnb.random")
#: Names of the root besides its ``__all__``.
MORE = (
    *("__array_api_version__", "__array_namespace_info__", "__version__"),
    *("load_ipython_extension", "unload_ipython_extension"),
)

#: What a ufunc is for a type checker; its call is added for each number of inputs and outputs.
UFUNC = '''\
class _Ufunc:
    """An elementwise function with the methods of NumPy's ufuncs."""

    __name__: str
    nin: int
    nout: int
    nargs: int
    identity: complex | None

    def reduce(
        self,
        array: ArrayLike,
        /,
        axis: SupportsIndex | Sequence[SupportsIndex] | None = 0,
        dtype: DTypeLike | None = None,
        out: DistArray | tuple[DistArray] | None = None,
        *,
        keepdims: builtins.bool = False,
        initial: complex | np.generic | None = ...,
        where: ArrayLike = True,
    ) -> DistArray:
        """Combine the elements along axes."""

    def accumulate(
        self,
        array: ArrayLike,
        /,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: DistArray | None = None,
    ) -> DistArray:
        """Return the results of combining ever more elements along an axis."""

    def reduceat(
        self,
        array: ArrayLike,
        /,
        indices: ArrayLike,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: DistArray | None = None,
    ) -> DistArray:
        """Combine the elements of slices along an axis."""

    def outer(self, A: ArrayLike, B: ArrayLike, /, **kwargs: Any) -> DistArray:
        """Compute all pairs of elements."""

    def at(self, a: DistArray, indices: Any, b: ArrayLike | None = None, /) -> None:
        """Compute in place at indices, once for each time they are named."""
'''
UFUNC_IMPORTS = {
    "SupportsIndex": "typing",
    "Sequence": "collections.abc",
    "Any": "typing",
    "ArrayLike": "numpy.typing",
    "DTypeLike": "numpy.typing",
    "DistArray": "distnb.client.array.distarray",
}
#: Types of the arguments of ufuncs, which are made without; all others are inputs.
UFUNC_TYPES = {
    "out": "DistArray | tuple[DistArray | None, ...] | None",
    "where": "ArrayLike",
    "casting": "str",
    "dtype": "DTypeLike | None",
}


class Stub:
    """The stub of one module while it is written: its lines, and what they need to import."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.names = list(module.__all__)
        self.names += MORE if module is dnb else ()
        #: Name in the stub -> where it is from; a public one is exported.
        self.imported: dict[str, str] = {}
        self.modules: set[str] = set()
        self.parts: list[str] = []
        self.constants: list[str] = []
        #: (number of inputs, of outputs) -> the class of these ufuncs.
        self.calls: dict[tuple[int, int], str] = {}
        #: Classes that are written out.
        self.written: set[str] = set()

    def text(self) -> str:
        """Return the stub."""
        for name in sorted(self.names):
            self._name(name, getattr(self.module, name))
        summary = (self.module.__doc__ or "").split("\n")[0]
        head = f'"""{summary}"""\n\n# Made by tools/make_stub.py from the functions themselves.\n'
        parts = [head, self._imports()]
        if self.calls:
            parts += [UFUNC, *(self.calls[key] for key in sorted(self.calls))]
        if self.constants:
            parts.append("\n".join(self.constants) + "\n")
        return "\n".join([*parts, *self.parts])

    def _name(self, name: str, thing: Any) -> None:
        """Write one public name."""
        if self.module is dnb and name in numpys.__all__:
            self.imported[name] = "numpy"
        elif inspect.ismodule(thing):
            self.imported[name] = thing.__name__.rpartition(".")[0]
        elif isinstance(thing, type):
            self._class(name, thing)
        elif hasattr(thing, "nin") and hasattr(thing, "at"):
            self._ufunc(name, thing)
        elif inspect.isroutine(thing) and not inspect.isbuiltin(thing):  # a function or a method
            self.parts.append(self._function(name, thing, ""))
        elif type(thing).__module__ == "builtins":
            self.constants.append(f"{name}: {type(thing).__name__.replace('NoneType', 'None')}")
        else:
            self.imported[type(thing).__name__] = type(thing).__module__
            self.constants.append(f"{name}: {type(thing).__name__}")

    def _class(self, name: str, thing: type) -> None:
        """Take a class from where it is; one whose methods return arrays is written out."""
        if self.module is dnb.random and thing.__module__.startswith("distnb"):
            methods = inspect.getmembers(thing, _is_method)
            base = next((b for b in thing.__mro__[1:] if b.__name__ in self.names), None)
            methods = [(m, f) for m, f in methods if f is not getattr(base, m, None)]
            above = "" if base is None else f"({base.__name__})"
            found = [f"class {name}{above}:", f'    """{_summary(thing)}"""\n']
            found += [
                self._method(m, f) for m, f in methods if m == "__init__" or not m.startswith("_")
            ]
            self.parts.append("\n".join(found))
            self.written.add(name)
        elif thing.__name__ != name:
            self.imported |= {thing.__name__: thing.__module__, "TypeAlias": "typing"}
            self.constants.append(f"{name}: TypeAlias = {thing.__name__}")
        else:
            self.imported[name] = thing.__module__

    def _method(self, name: str, method: Any) -> str:
        """Return the definition of a method, or of a property."""
        if not isinstance(method, property):
            return self._function(name, method, "    ")
        assert method.fget is not None
        return f"    @property\n{self._function(name, method.fget, '    ')}"

    def _ufunc(self, name: str, function: Any) -> None:
        """Write a function that was made from NumPy's ufunc."""
        key = function.nin, function.nout
        if key not in self.calls:
            self.imported |= UFUNC_IMPORTS
            self.modules |= {"builtins", "numpy as np"}
            own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
            given = [(own, "self")]
            for p in inspect.signature(function).parameters.values():
                given.append(_parameter(p, UFUNC_TYPES.get(p.name, "ArrayLike")))
            many = ", ".join(["DistArray"] * key[1])
            result = f"tuple[{many}]" if key[1] > 1 else many
            definition = _definition("__call__", given, result, "Compute elementwise.", "    ")
            self.calls[key] = f"class {_ufunc_class(key)}(_Ufunc):\n{definition}"
        self.parts.append(f'{name}: {_ufunc_class(key)}\n"""{_summary(function)}"""\n')

    def _function(self, name: str, function: Callable[..., Any], indent: str) -> str:
        """Return the definition of a function."""
        signature = inspect.signature(function)
        given = [
            (p, "self")
            if p.name == "self"
            else _parameter(p, self._annotation(function, p.annotation))
            for p in signature.parameters.values()
        ]
        result = self._annotation(function, signature.return_annotation)
        return _definition(name, given, result, _summary(function), indent)

    def _annotation(self, function: Callable[..., Any], annotation: Any) -> str:
        """Return a type as the stub names it, and take note of what that needs."""
        if annotation is inspect.Parameter.empty:
            self.imported["Any"] = "typing"
            return "Any"
        tree = ast.parse(str(annotation), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self._resolved(function.__module__, node.id)
        return ast.unparse(tree)

    def _resolved(self, module: str, name: str) -> str:
        """Return a name of a module as the stub has it."""
        origin = _imports_of(module).get(name)
        if origin is None and hasattr(builtins, name):
            if name not in self.names:
                return name
            self.modules.add("builtins")  # the stub has another one of this name
            return f"builtins.{name}"
        if origin is not None and origin.startswith("import "):
            self.modules.add(origin.removeprefix("import "))
            return name
        if (origin, name) == ("distnb.client.handle.array", "Array"):
            # There is one class of arrays, which functions do not know by name.
            origin, name = "distnb.client.array.distarray", "DistArray"
        self.imported[name] = origin or module
        return name

    def _imports(self) -> str:
        """Return the lines that import; what is public is exported."""
        lines = [f"import {module}" for module in self.modules]
        for name, module in self.imported.items():
            if name not in self.written:
                exported = f"{name} as {name}" if name in self.names else name
                lines.append(f"from {module} import {exported}")
        return "\n".join(lines) + "\n"


@functools.cache
def _imports_of(module: str) -> dict[str, str]:
    """Return where a module has its names from."""
    found: dict[str, str] = {}
    source = inspect.getsource(importlib.import_module(module))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: node.module or "" for a in node.names}
        elif isinstance(node, ast.Import):
            for a in node.names:
                asked = f"{a.name} as {a.asname}" if a.asname else a.name
                found[a.asname or a.name] = f"import {asked}"
    return found


def _ufunc_class(key: tuple[int, int]) -> str:
    """Return the name of the class of ufuncs with so many inputs and outputs."""
    return f"_{('Unary', 'Binary')[key[0] - 1]}{'' if key[1] == 1 else 'Pair'}"


def _summary(thing: Any) -> str:
    """Return the first line of a docstring, as it is written in another one."""
    doc = inspect.getdoc(thing) or ""
    return doc.split("\n\n")[0].replace("\n", " ").replace("\\", "\\\\").strip()


def _is_method(member: object) -> bool:
    """Tell whether a member of a class is a method or a property."""
    return inspect.isfunction(member) or isinstance(member, property)


def _parameter(p: inspect.Parameter, annotation: str) -> tuple[inspect.Parameter, str]:
    """Return a parameter and its text."""
    star = "*" * ((p.kind is p.VAR_POSITIONAL) + 2 * (p.kind is p.VAR_KEYWORD))
    default = "" if p.default is p.empty else f" = {_default(p.default)}"
    return p, f"{star}{p.name}: {annotation}{default}"


def _default(value: Any) -> str:
    """Return a default as a stub tells it."""
    if value is None or isinstance(value, bool | int | float | str | tuple):
        return repr(value) if '"' in str(value) else repr(value).replace("'", '"')
    return "..."


def _definition(
    name: str, given: list[tuple[inspect.Parameter, str]], result: str, summary: str, indent: str
) -> str:
    """Return a function of a stub."""
    arrow = f" -> {result}" if result else ""
    line = f"{indent}def {name}({', '.join(_marked(given))}){arrow}:"
    return f'{line}\n{indent}    """{summary}"""\n'


def _marked(given: list[tuple[inspect.Parameter, str]]) -> list[str]:
    """Return the texts of parameters, with the marks between their kinds."""
    kinds = [p.kind for p, _ in given]
    shown = [text for _, text in given]
    kind = inspect.Parameter
    if kind.KEYWORD_ONLY in kinds and kind.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(kind.KEYWORD_ONLY), "*")
    if kind.POSITIONAL_ONLY in kinds:
        shown.insert(kinds.count(kind.POSITIONAL_ONLY), "/")
    return shown


def path_of(module: str) -> Path:
    """Return where the stub of a module is."""
    own = ROOT.joinpath(*module.split("."))
    return own / "__init__.pyi" if own.is_dir() else own.with_suffix(".pyi")


def stub(module: str) -> str:
    """Return the stub of a module, in the project's format."""
    found = importlib.import_module(module)
    for each in found.__all__:  # some are imported when they are asked for
        getattr(found, each)
    text = Stub(found).text()
    ruff = [sys.executable, "-m", "ruff"]
    name = f"--stdin-filename={path_of(module)}"
    for command in (["check", "--select=I", "--fix", "--quiet"], ["format"]):
        done = [*ruff, *command, name, "-"]
        text = subprocess.run(
            done, input=text, text=True, cwd=ROOT, check=True, capture_output=True
        ).stdout
    return text


if __name__ == "__main__":
    for name in MODULES:
        path_of(name).write_text(stub(name), encoding="utf-8")
