"""How functions of the user's are called: with parts of arrays, or element by element."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from distnb.common.errors import SessionError, explain

__all__ = [
    "AS_PARTS",
    "HERE",
    "Elements",
    "Slices",
    "Task",
    "check_side",
    "checked",
    "name_of",
    "numpys",
    "on_engine",
    "run",
    "run_block",
    "run_slices",
    "without_halo",
]


#: How a cell ends in which arrays are their parts (``%%distlocal``): its lines keep their numbers.
AS_PARTS = "# distnb: arrays are their parts"


class _Here(threading.local):
    """Whether this thread is an engine's, which calls a function of the user's."""

    engine = False


HERE = _Here()


class Elements(NamedTuple):
    """Calls a function of scalars for each element of some arrays, as ``numpy.vectorize`` does.

    ``otypes`` are the codes of the results' dtypes. The arrays stand for the arguments at
    ``places`` among ``args``, then for those called ``names``; all others are fixed.
    """

    function: Any
    otypes: str
    places: tuple[int, ...]
    args: tuple[Any, ...]
    names: tuple[str, ...]
    kwargs: dict[str, Any]

    def __call__(self, *arrays: Any) -> Any:
        """Return the results of all elements: an array, or a tuple of arrays."""
        plain = len(self.places) == len(self.args) and not self.names and not self.kwargs
        function = self.function if plain else self.one
        return np.vectorize(function, otypes=self.otypes)(*arrays)

    def one(self, *values: Any) -> Any:
        """Call the function for one element."""
        args, named = list(self.args), values[len(self.places) :]
        for place, value in zip(self.places, values, strict=False):
            args[place] = value
        return self.function(*args, **self.kwargs, **dict(zip(self.names, named, strict=True)))


class Stacks(NamedTuple):
    """Calls a function of some last axes for each place of the others, as ``numpy.vectorize``."""

    element: Elements
    signature: str
    otypes: str | None

    def found(self, *arrays: Any) -> Any:
        """Return the results: an array, or a tuple of arrays."""
        return np.vectorize(self.element.one, self.otypes, signature=self.signature)(*arrays)

    def __call__(self, *arrays: Any) -> None:
        """Fill the last ones of some arrays with the results for the first ones."""
        count = len(self.element.places) + len(self.element.names)
        outs = arrays[count:]
        if not outs[0].size:
            return
        found = self.found(*arrays[:count])
        for out, one in zip(outs, found if isinstance(found, tuple) else (found,), strict=True):
            out[...] = one


class Task(NamedTuple):
    """Calls a function with parts of arrays, at ``places`` among arguments that are the same."""

    function: Any
    places: tuple[int, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, *parts: Any) -> Any:
        """Return what the function makes of some parts."""
        if len(parts) == len(self.args):
            return self.function(*parts, **self.kwargs)
        args = list(self.args)
        for place, part in zip(self.places, parts, strict=True):
            args[place] = part
        return self.function(*args, **self.kwargs)


class Slices(NamedTuple):
    """Calls a function of 1-D slices, with more arguments that are the same for all."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, one: np.ndarray) -> np.ndarray:
        """Return what the function makes of one slice."""
        return np.asarray(self.function(one, *self.args, **self.kwargs))


def run(function: Any, *ins: Any, out: tuple[np.ndarray, ...]) -> None:
    """Call a function with arrays of one shape, and numbers; put what it returns into ``out``.

    Its arrays have at least one axis, and cannot be written.
    """
    targets = [np.atleast_1d(o) for o in out]
    found = checked(function(*map(_shown, ins)), targets[0].shape)
    if len(found) != len(targets):
        raise ValueError(
            explain(
                "function of map()",
                f"{len(found)} results",
                f"{len(targets)}, as for empty arrays",
                "return as many for any arrays",
            )
        )
    for target, one in zip(targets, found, strict=True):
        np.copyto(target, one, casting="same_kind")


def run_slices(
    function: Slices, axis: int, block: np.ndarray, target: np.ndarray, shape: tuple[int, ...]
) -> None:
    """Call a function with the slices of a block along an axis, which cannot be written.

    What it returns, of the shape that it had for the first slice or of one that is broadcast to it,
    is put into ``target`` in place of that axis.
    """
    slices = np.moveaxis(block, axis, -1)
    slices.flags.writeable = False
    made = range(axis, axis + len(shape))
    found = np.moveaxis(target, made, range(-len(shape), 0))
    for place in np.ndindex(slices.shape[:-1]):
        one = function(slices[place])
        try:
            found[place] = one
        except ValueError:
            if one.shape == shape:
                raise
            raise ValueError(
                explain(
                    "function of apply_along_axis()",
                    f"shape {one.shape}",
                    f"{shape}, as for the first slice",
                    "return as much for any slice",
                )
            ) from None


def _shown(x: Any) -> Any:
    """Return an operand as the function gets it."""
    if not isinstance(x, np.ndarray):
        return x
    x = x.view() if x.ndim else x.reshape(1)
    x.flags.writeable = False
    return x


def checked(found: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return the results of a function; raise unless they are arrays of a shape."""
    many = found if isinstance(found, tuple) else (found,)
    many = tuple(map(_read, many))
    for one in many:
        if not isinstance(one, np.ndarray):
            raise TypeError(
                explain(
                    "function of map()",
                    type(one).__name__,
                    "a NumPy array",
                    "use NumPy's functions in it, or distnb.vectorize for a function of scalars",
                )
            )
        if one.shape != shape:
            raise ValueError(
                explain(
                    "function of map()",
                    f"shape {one.shape}",
                    f"{shape}, that of its arguments",
                    "compute element by element, or use distnb.apply_along_axis",
                )
            )
    return many


def _read(found: Any) -> Any:
    """Return an array of ours as NumPy's: in the notebook, functions that say ``dnb.`` make some.

    On engines they have NumPy's names (see ``numpys``). Raises TypeError for an array of which a
    mask hides elements, as it would be lost.
    """
    if isinstance(found, np.ma.MaskedArray) and np.ma.is_masked(found):
        got, do = "a masked array", "return .filled(value)"
        raise TypeError(explain("result of the function", got, "elements that are there", do))
    ours = hasattr(found, "__array_namespace__") and not isinstance(found, np.ndarray | np.generic)
    return np.asarray(found) if ours else found


def name_of(function: Any) -> str:
    """Return the name of a function, as reports and messages have it.

    >>> name_of(np.sin), name_of(partial(max, 0))
    ('sin', 'max')
    """
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def run_block(
    function: Any,
    blocks: tuple[Any, ...],
    halo: tuple[int, ...],
    out: tuple[np.ndarray, ...],
    fills: bool = False,
) -> None:
    """Call a function with blocks and their halo; put what it returns into ``out``, without halo.

    The blocks cannot be written; the function returns them with or without halo. One that
    ``fills`` gets ``out``, too, and may return nothing.
    """
    for block in blocks:
        block.flags.writeable = False
    if not fills:
        found = function(*blocks)
    elif (found := function(*blocks, out=out if len(out) > 1 else out[0])) is None:
        return
    many = found if isinstance(found, tuple) else (found,)
    if len(many) != len(out):
        raise ValueError(
            explain(
                "function of map_blocks()",
                f"{len(many)} results",
                f"{len(out)}, as for a small block",
                "return as many for any block",
            )
        )
    for one, target in zip(many, out, strict=True):
        if one is not target:
            np.copyto(target, without_halo(one, blocks[0].shape, halo), casting="same_kind")


def without_halo(found: Any, shape: tuple[int, ...], halo: tuple[int, ...]) -> np.ndarray:
    """Return what a function made of a block of some shape, but for the halo.

    >>> without_halo(np.arange(5), (5,), (2,)), without_halo(np.arange(1), (5,), (2,))
    (array([2]), array([0]))
    """
    found = _read(found)
    if isinstance(found, np.generic) and not shape:
        return np.asarray(found)
    if not isinstance(found, np.ndarray):
        raise TypeError(
            explain(
                "function of map_blocks()",
                type(found).__name__,
                "a NumPy array",
                "return the block, or use distnb.foreach",
            )
        )
    core = tuple(n - 2 * h for n, h in zip(shape, halo, strict=True))
    if found.shape == core:
        return found
    if found.shape == shape:
        return found[tuple(slice(h, n - h) for n, h in zip(shape, halo, strict=True))]
    raise ValueError(
        explain(
            "function of map_blocks()",
            f"shape {found.shape}",
            f"{shape}, that of its block" + (f", or {core} without halo" if any(halo) else ""),
            "return the block with or without its halo, or use distnb.foreach",
        )
    )


# -- which side --------------------------------------------------------------------------------


@contextmanager
def on_engine() -> Iterator[None]:
    """Mark that an engine calls a function of the user's: no session can be used in it."""
    HERE.engine = True
    try:
        yield
    finally:
        HERE.engine = False


def check_side() -> None:
    """Raise SessionError if an engine calls a function of the user's."""
    if HERE.engine:
        raise _no_session("none on an engine")


def _no_session(got: str) -> SessionError:
    expected = "NumPy's functions in what distnb.map calls"
    return SessionError(explain("session", got, expected, "write np. in it, not distnb."))


class _Numpys(ModuleType):
    """What a module of ours is on an engine to a function of the user's: NumPy's names.

    But for random numbers, which would depend on who draws them, and in which order.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._module = importlib.import_module(name)

    def __getattr__(self, name: str) -> Any:
        found = None if name == "random" else getattr(self._module, name, None)
        if found is None:
            raise _no_session(f"{name} of distnb on an engine")
        return found

    def __reduce__(self) -> Any:
        return numpys, (self.__name__,)


def read_only(values: object) -> Any:
    """Return an array that a function of the user's uses: what it wrote there would be lost."""
    found = np.asarray(values)
    found.flags.writeable = False
    return found[()]


@cache
def numpys(module: str, name: str | None = None) -> Any:
    """Return a module of NumPy's as functions of the user's see it on engines, or a name in it."""
    return _Numpys(module) if name is None else getattr(importlib.import_module(module), name)
