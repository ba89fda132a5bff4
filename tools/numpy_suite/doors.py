"""What the imports of NumPy's tests find: distnb in place of NumPy, for every public name.

Private modules of NumPy are looked through: what is public elsewhere is distnb's there as well, and
the rest is NumPy's own, such as the helpers of its tests. On the control run all is NumPy's,
through the same doors.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import unittest
import warnings
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy
import pytest
from numpy.testing._private import utils

from distnb.left_out import LEFT_OUT

__all__ = ["Doors"]

#: Modules of NumPy whose public names are distnb's.
PUBLIC = [
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.testing",
    "numpy.lib",
    "numpy.lib.array_utils",
    "numpy.lib.format",
    "numpy.lib.mixins",
    "numpy.lib.scimath",
    "numpy.lib.stride_tricks",
]

#: What is NumPy's own whoever asks: no function of arrays is in it.
NUMPYS = ("numpy.exceptions", "numpy.dtypes", "numpy.polynomial", "numpy.typing", "numpy.version")

#: Assertions and contexts at whose end engines are waited for, and raise or tell what they met.
WAITING = [
    "assert_raises",
    "assert_raises_regex",
    "assert_warns",
    "assert_no_warnings",
    "suppress_warnings",
]

#: Of ``numpy.typecodes``, those of dtypes that distnb has not.
FOREIGN = "gGOSUVMmca"


#: Functions that make arrays: while a file is read, NumPy does for dtypes that distnb has not.
MAKES = ["arange", "array", "asarray", "empty", "full", "ones", "zeros"]


class Door(ModuleType):
    """A module whose attributes are looked up by a function."""

    def __init__(self, name: str, look: Callable[[str], Any]) -> None:
        super().__init__(name)
        self.__dict__["_look"] = look

    def __getattr__(self, name: str) -> Any:
        return self._look(name)

    def __reduce__(self) -> Any:
        """Send the library's own module with functions that use it."""
        return importlib.import_module, (self.__name__,)


class _Arrays:
    """``numpy.ndarray`` while a file is read: classes that derive from it are NumPy's."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (numpy.ndarray,)

    def __instancecheck__(self, thing: object) -> bool:
        return isinstance(thing, self._kind)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._kind(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    @staticmethod
    def gone_from(module: ModuleType) -> None:
        """Let functions of a file that was read have the class itself for a default."""
        found = [
            f for c in vars(module).values() for f in (c, *getattr(c, "__dict__", {}).values())
        ]
        for f in found:
            if isinstance(f, FunctionType) and f.__defaults__:
                f.__defaults__ = tuple(x._kind if type(x) is _Arrays else x for x in f.__defaults__)


class _Unbound:
    """A function that stays one as an attribute of a class, as those do that NumPy has in C."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **options: Any) -> Any:
        function: Any = self.__wrapped__  # type: ignore[attr-defined]
        return function(*args, **options)

    def __reduce__(self) -> Any:
        return unbound, (self.__wrapped__,)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__wrapped__  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.__wrapped__)  # type: ignore[attr-defined]


@functools.cache
def unbound(function: Callable[..., Any]) -> _Unbound:
    """Return the one function that stays one as an attribute, of another."""
    return _Unbound(function)


class Doors:
    """The doors to a library: ``distnb``, or None for NumPy itself (the control run)."""

    def __init__(self, library: ModuleType | None, wait: Callable[[], None]) -> None:
        self.library = library
        self.wait = wait
        #: Whether files are read now, and no test runs.
        self.reading = True
        self._doors: dict[str, ModuleType] = {}
        self._public = {
            id(found): (module, name)
            for module in reversed(PUBLIC)
            for name, found in vars(importlib.import_module(module)).items()
            if callable(found) and not name.startswith("_")
        }
        self.builtins = dict(vars(builtins), __import__=self.find)

    def leave(self, module: ModuleType) -> None:
        """Let functions of a file that was read have no stand-ins for classes as defaults."""
        _Arrays.gone_from(module)

    # -- import statements ---------------------------------------------------------------------

    def find(
        self, name: str, names: Any = None, local: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        """Do what ``__import__`` does."""
        if level:
            above = names["__package__"].split(".")
            name = ".".join([*above[: len(above) - level + 1], *filter(None, [name])])
        if name in ("pytest", "warnings", "unittest"):
            return self._outside(name)
        if name.split(".")[0] != "numpy" or name.endswith("_locales"):
            return builtins.__import__(name, names, local, fromlist, 0)
        module = importlib.import_module(name)
        for inner in fromlist or ():
            if not hasattr(module, inner):
                importlib.import_module(f"{name}.{inner}")
        return self.door(name) if fromlist else self.door("numpy")

    def door(self, name: str) -> ModuleType:
        """Return what stands for a module of NumPy."""
        if name in NUMPYS:
            return importlib.import_module(name)
        if name not in self._doors:
            looks = self._testing if name.startswith("numpy.testing") else self._name
            module = importlib.import_module(name)
            made = self._doors[name] = Door(name, functools.partial(looks, module))
            if name not in PUBLIC:  # some tests look at all that is in it
                shown = {k for k, x in vars(module).items() if isinstance(x, numpy.ufunc)}
                vars(made).update({k: self._name(module, k) for k in shown})
        return self._doors[name]

    # -- names of NumPy ------------------------------------------------------------------------

    def _name(self, module: ModuleType, name: str) -> Any:
        """Return what a name of a module is."""
        if name == "typecodes":
            table = str.maketrans("", "", FOREIGN)
            codes: dict[str, Any] = dict(numpy.typecodes)
            return {key: found.translate(table) for key, found in codes.items()}
        if module.__name__ in PUBLIC and self.library is not None and not name.startswith("_"):
            if f"{module.__name__}.{name}" in PUBLIC:
                return self.door(f"{module.__name__}.{name}")
            return self._ours(module.__name__, name)
        found = getattr(module, name)
        if isinstance(found, ModuleType):
            return self.door(found.__name__) if found.__name__.startswith("numpy") else found
        if self.library is None or id(found) not in self._public:
            return found
        public = self._public[id(found)]
        return found if is_left_out(*public) else self._ours(*public)

    def _ours(self, module: str, name: str) -> Any:
        """Return distnb's object under a public name; AttributeError if there is none.

        What is left out on purpose is NumPy's while a file is read: tests of it are out of scope.
        """
        if self.reading and is_left_out(module, name):
            return getattr(importlib.import_module(module), name)
        found = getattr(importlib.import_module(module.replace("numpy", "distnb", 1)), name)
        numpys = getattr(importlib.import_module(module), name, None)
        if self.reading and name in MAKES and module == "numpy":
            return _Unbound(_of_any_dtype(found, getattr(numpy, name)))
        if isinstance(found, FunctionType) and not hasattr(type(numpys), "__get__"):
            return unbound(found)
        return _Arrays(found) if self.reading and name == "ndarray" else found

    def _testing(self, module: ModuleType, name: str) -> Any:
        """Return one of the helpers of tests: distnb's, or one that is for NumPy's tests only."""
        if name in WAITING:
            return self._waiting(name)
        if self.library is not None:
            ours = importlib.import_module(f"{self.library.__name__}.testing")
            if name in ours.__all__:
                return getattr(ours, name)
        found = getattr(module, name, None)
        if isinstance(found, ModuleType):
            return self.door(found.__name__)
        return found if found is not None else getattr(utils, name)

    # -- what waits ----------------------------------------------------------------------------

    def _outside(self, name: str) -> Any:
        """Return ``pytest`` or ``warnings`` with contexts that wait; texts of messages are ours."""
        if name == "warnings":
            return _with(warnings, catch_warnings=self._block(warnings.catch_warnings))
        if name == "unittest":
            return unittest
        return _with(
            pytest, **{kind: self._expecting(getattr(pytest, kind)) for kind in ("raises", "warns")}
        )

    def _expecting(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``pytest.raises`` or ``warns``: any text, and engines are waited for."""

        def expecting(*args: Any, match: object = None, **options: Any) -> Any:
            if len(args) > 1 and callable(args[1]):
                return inner(args[0], self._then_wait(args[1]), *args[2:], **options)
            return _Block(inner(*args, **options), self.wait)

        return expecting

    def _waiting(self, name: str) -> Callable[..., Any]:
        """Return an assertion of ``numpy.testing`` about what is raised or told."""
        inner = getattr(numpy.testing, "assert_raises" if name.endswith("regex") else name)

        def waiting(*args: Any, **options: Any) -> Any:
            if name.endswith("regex"):  # without the expression: texts are ours
                options.pop("expected_regex", None)
                args = args[:1] + args[2:]
            at = next((k for k, x in enumerate(args) if callable(x) and not _is_kind(x)), None)
            if at is None:
                return _Block(inner(*args, **options), self.wait)
            return inner(*args[:at], self._then_wait(args[at]), *args[at + 1 :], **options)

        return waiting

    def _then_wait(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            found = function(*args, **options)
            self.wait()
            return found

        return called

    def _block(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: _Block(inner(*args, **options), self.wait)


def is_left_out(module: str, name: str) -> bool:
    """Tell whether distnb leaves out a name of NumPy's on purpose."""
    ours = module.replace("numpy", "distnb", 1)
    return any(row.module == ours and name in row.names.split() for row in LEFT_OUT)


def _of_any_dtype(ours: Callable[..., Any], numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes arrays, with NumPy's for dtypes that are out of scope."""

    @functools.wraps(ours)
    def make(*args: Any, **options: Any) -> Any:
        try:
            return ours(*args, **options)
        except TypeError as error:
            if str(error).startswith("dtype: got"):
                return numpys(*args, **options)
            raise

    return make


def _is_kind(x: object) -> bool:
    return isinstance(x, type) and issubclass(x, BaseException)


def _with(module: ModuleType, **others: Any) -> ModuleType:
    """Return a module with some other attributes."""
    return Door(module.__name__, lambda name: others.get(name) or getattr(module, name))


class _Block(contextlib.AbstractContextManager[Any]):
    """A context at whose end engines are waited for: what they raise is raised in it."""

    def __init__(self, inner: Any, wait: Callable[[], None]) -> None:
        self._inner = inner
        self._wait = wait

    def __enter__(self) -> Any:
        self._wait()
        return self._inner.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if error is None:
            try:
                self._wait()
            except Exception as late:
                if self._inner.__exit__(type(late), late, late.__traceback__):
                    return True
                raise
        return self._inner.__exit__(kind, error, trace)

    def __call__(self, function: Callable[..., Any]) -> Any:
        return self._inner(function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
