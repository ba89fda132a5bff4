"""Methods of arrays that try the short way first, without a function of Python's between."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

import distnb.common.ndarrays as nd
from distnb.client.handle.arguments import Shape, Subscript
from distnb.client.handle.array import Array
from distnb.client.handle.fields import Fields, at_hand, beside, fresh, is_away, near_of
from distnb.client.reach.small_products import product, quick_dot
from distnb.client.reach.small_reductions import accumulated, quick_reduction
from distnb.client.reach.small_steps import (
    done,
    of_call,
    of_ufunc,
    quick_out,
    store,
)
from distnb.client.reach.small_views import indexed, laid, with_units
from distnb.client.reach.whole_functions import into_given, step, written_in_reach
from distnb.common.config import config
from distnb.ops import table

__all__ = [
    "calls",
    "computes",
    "dots",
    "methods_of",
    "multiplies",
    "reads",
    "reduction",
    "reshaped",
    "stores",
]

#: Types of axes.
_AXES = frozenset((int, tuple, type(None)))
#: What each call asks for, which takes a lookup less here than in NumPy.
_UFUNC, _MATMUL = np.ufunc, np.matmul
#: What a method of ufuncs that runs along an axis may be given by position, beside the array.
_NAMES = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
}
#: What stands for None of a method that did it.
_WRITTEN = object()
#: NumPy's ufunc -> the reduction that it makes.
_REDUCTIONS = {row.ufunc: op for op, row in table.REDUCTIONS.items() if row.ufunc is not None}


def reads(long: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the method that reads ``x[key]``; ``long`` does what is not in reach."""

    @wraps(long)
    def method(self: Array, key: Subscript) -> Any:
        taken = indexed(self, key)
        return long(self, key) if taken is None else taken

    return method


def stores(long: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
    """Return the method that stores ``x[key] = value``; ``long`` does what is not in reach."""

    @wraps(long)
    def method(self: Array, key: Subscript, value: ArrayLike) -> None:
        if not store(self, key, value):
            long(self, key, value)

    return method


def reduction(op: str, x: Array, args: tuple[object, ...], options: dict[str, object]) -> Any:
    """Do what a method does that reduces, by the short way; None if it is given more than axes."""
    axes, keepdims, known = args, False, 0
    if options:
        if "axis" in options:
            axes, known = (*args, options["axis"]), 1
        if type(options.get("keepdims")) is bool:
            keepdims, known = options["keepdims"] is True, known + 1
    axis: Any = axes[0] if axes else None
    if len(axes) > 1 or known < len(options) or type(axis) not in _AXES:
        return None
    return quick_reduction(op, x, axis, keepdims)


def multiplies(long: Callable[[Any, ArrayLike], Any]) -> Callable[[Any, ArrayLike], Any]:
    """Return the method of ``x @ y``; ``long`` does what is not in reach."""

    @wraps(long)
    def method(self: Array, other: ArrayLike) -> Any:
        y: Any = other
        found = product(self, y, long, True) if isinstance(y, Fields) else None
        return long(self, other) if found is None else found

    return method


def dots(long: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of ``np.dot``; ``long`` does what is not of two vectors in reach."""

    @wraps(long)
    def function(a: ArrayLike, b: ArrayLike, out: Any = None) -> Any:
        x, y = cast("Any", a), cast("Any", b)
        vectors = out is None and isinstance(x, Fields) and isinstance(y, Fields)
        found = quick_dot(x, y, True) if vectors else None
        return long(a, b, out) if found is None else found

    return function


def calls(long: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that NumPy's ufuncs call; ``long`` does what is not in reach."""

    @wraps(long)
    def function(
        self: Array, ufunc: np.ufunc, method: str, *inputs: ArrayLike, **options: Any
    ) -> Any:
        kind: type = type(ufunc)  # Numba's are of a class of their own
        if kind is not _UFUNC:
            inputs, options = as_numpys(ufunc, method, inputs, options)
        found = called(ufunc, method, inputs, options)
        if found is _WRITTEN:
            return None
        return long(self, ufunc, method, *inputs, **options) if found is None else found

    return function


def computes(ufunc: np.ufunc, long: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that stands for a ufunc; ``long`` does what is not in reach."""

    @wraps(long)
    def function(*inputs: ArrayLike, **options: Any) -> Any:
        found = of_call(ufunc, inputs, options, True)
        return long(*inputs, **options) if found is None else found

    return function


def methods_of(ufunc: np.ufunc, name: str, long: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands for a method of NumPy's ufunc; ``long`` does what is not in reach."""

    @wraps(long)
    def function(*inputs: ArrayLike, **options: Any) -> Any:
        found = _of_method(ufunc, name, inputs, options) if inputs else None
        if found is _WRITTEN:
            return None
        return long(*inputs, **options) if found is None else found

    return function


def _of_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Do what a method of NumPy's ufunc does; None if it is another operation."""
    names = _NAMES.get(method)
    if names is not None:
        if len(inputs) > 1:
            given = dict(zip(names, inputs[1:], strict=False))
            if len(inputs) > 1 + len(names) or not options.keys().isdisjoint(given):
                return None
            options = {**given, **options}
        return _along(ufunc, method, inputs[0], options)
    if options or not isinstance(inputs[0], Fields):
        return None
    if method == "at":
        return _at(ufunc, inputs)
    if len(inputs) != 2:
        return None
    if method == "outer":
        return _outer(ufunc, inputs[0], inputs[1])
    return _by_segments(ufunc, inputs[0], inputs[1]) if method == "reduceat" else None


def _along(ufunc: np.ufunc, method: str, x: object, options: dict[str, Any]) -> Any:
    """Do what a method of NumPy's ufunc does along an axis, of an array or several in a list."""
    if "out" in options:
        out = options["out"]
        rest = {k: v for k, v in options.items() if k != "out"}
        if type(out) is tuple and len(out) == 1:
            out = out[0]
        if out is not None:
            return into_given(out, getattr(ufunc, method), "sums", (x,), rest)
        options = rest
    if not isinstance(x, Fields):
        several, run = type(x) is list or type(x) is tuple, getattr(ufunc, method)
        return step(run, run, "home", (x,), options) if several else None
    one: Any = x
    if method == "accumulate":
        return accumulated(ufunc, one, options)
    return _reduced(ufunc, x, options)


def _at(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """Do what ``ufunc.at`` does in reach; None if it is not done."""
    x, usual = inputs[0], getattr(np, ufunc.__name__, None) is ufunc
    if not usual or ufunc.nout != 1 or len(inputs) != 1 + ufunc.nin or x.single:
        return None
    done_here = written_in_reach(ufunc.__name__, ufunc.at, "picks", *inputs)
    return _WRITTEN if done_here else None


def _reduced(ufunc: np.ufunc, x: Fields, options: dict[str, Any]) -> Any:
    """Do what ``ufunc.reduce`` does; of ufuncs that are no reductions only where arrays live."""
    one: Any = x
    if "axis" not in options:
        options = {"axis": 0, **options}
    op = _REDUCTIONS.get(ufunc)
    if op is not None:
        return reduction(op, one, (), options)
    near = near_of(x)
    if near is None or is_away(x) or not near.ndim or len(options) > 1:
        return None
    found = done(ufunc.reduce, (near, options["axis"]))
    return laid(x.session, found, ()) if type(found) is np.ndarray else found


def _outer(ufunc: np.ufunc, x: Fields, y: object) -> Any:
    """Do what ``ufunc.outer`` does: elementwise, with axes of length 1 for those of ``y``."""
    if not isinstance(y, Fields) or ufunc is _MATMUL or x.session is not y.session:
        return None
    one: Any = x
    near = near_of(y)
    if near is None:
        return None
    wide = indexed(one, (..., *(None,) * near.ndim))
    return None if wide is None else of_ufunc(ufunc, (wide, y))


def _by_segments(ufunc: np.ufunc, x: Fields, indices: object) -> Any:
    """Do what ``ufunc.reduceat`` does, of arrays that live in the notebook."""
    near, at = near_of(x), indices
    if near is None or is_away(x) or nd.nbytes(near) > nd.QUICK:
        return None
    if isinstance(indices, Fields):
        at = None if is_away(indices) else near_of(indices)
    if type(at) is not list and not (type(at) is np.ndarray and at.ndim):
        return None
    if len(at) < 2:  # of one segment NumPy's is wrong for some
        return None
    found = done(ufunc.reduceat, (near, at))
    return laid(x.session, found, ()) if type(found) is np.ndarray else None


def as_numpys(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments as NumPy hands them on: outputs are a tuple. Numba hands on what it got."""
    out = options.get("out")
    if out is not None and not isinstance(out, tuple):
        options = {**options, "out": (out,)}
    if method == "__call__" and len(inputs) > ufunc.nin:
        if out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        outs = inputs[ufunc.nin :] + (None,) * (ufunc.nargs - len(inputs))
        inputs, options = inputs[: ufunc.nin], {**options, "out": outs}
    return inputs, options


def called(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Do what NumPy hands on of a ufunc, as :func:`quick`; None if it is another operation."""
    if method == "__call__" and not options and ufunc is not _MATMUL:
        return of_ufunc(ufunc, inputs, True)
    if ufunc is _MATMUL:
        ours = not options and isinstance(inputs[0], Fields) and isinstance(inputs[1], Fields)
        return product(inputs[0], inputs[1], None, True) if ours else None
    if method in ("at", "accumulate", "reduce"):
        usual = isinstance(inputs[0], Fields) and getattr(np, ufunc.__name__, None) is ufunc
        return _of_method(ufunc, method, inputs, options) if usual else None
    if method != "__call__" or ufunc.signature is not None or ufunc.nout != 1:
        return None
    if "out" not in options or len(options) > 1 + ("where" in options):
        return None
    return quick_out(ufunc, inputs, options["out"][0], options.get("where", True))


def reshaped(x: Any, shape: Shape) -> Any:
    """Return an array in another shape, a view if NumPy has one; None if it is not at home.

    Where only axes of length 1 come or go, it is a view of the same base, also of arrays in reach.
    """
    home = at_hand(x)
    near = near_of(x) if home is None and type(x) is Array.made else home
    if near is None:
        return None
    for n in shape if type(shape) is tuple else (shape,):
        if type(n) is not int:
            return None
    try:
        # NumPy takes longer for what it is told, and of C order makes a view in any case
        shown = near.reshape(shape) if nd.in_c(near) else near.reshape(shape, copy=False)
    except ValueError:  # NumPy would copy, or the shape is wrong
        if home is None or nd.nbytes(near) > config.cutoff:
            return None
        shown = done(near.reshape, (shape,))
        return None if shown is None else fresh(x.session, shown, None)
    found = with_units(x, shown)
    return beside(x, shown) if found is None and home is not None else found
