"""The op table: one row per operation, and the pure rules for the spec of its result.

Elementwise rows come from NumPy itself: every ufunc without a core signature, plus a few NumPy
functions that behave like one. A row says only what NumPy cannot. Dtypes, and the exceptions for
wrong ones, are asked from NumPy by running the operation on empty stand-ins: NumPy is the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from distnb.common import calling
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import (
    Grid,
    Ints,
    Layout,
    default_layout,
)
from distnb.geometry.views import Placed, follow
from distnb.ops.fast import FAST
from distnb.ops.scalars import weak_kind

__all__ = [
    "CREATIONS",
    "ELEMENTWISE",
    "FILE",
    "LOCALS",
    "REDUCTIONS",
    "TOLD",
    "UFUNC_REDUCTIONS",
    "WRITING",
    "Elementwise",
    "Reduction",
    "elementwise_layout",
    "is_associative",
    "kept_layout",
    "reduction_layout",
    "result_dtypes",
    "selected_layout",
    "selecting_layout",
    "sorted_layout",
    "sorting_layout",
    "standin",
    "total_dtype",
    "uncast",
]


class Elementwise(NamedTuple):
    """An operation on elements that meet by broadcasting: ``run(*ins, out=outs, where=, ...)``."""

    name: str
    nin: int
    nout: int
    run: Callable[..., Any]


class Reduction(NamedTuple):
    """A reduction: ``function`` is NumPy's; ``ufunc`` combines partial results.

    Without a ufunc the partial results are pairs (value, position): argmin and argmax.
    """

    name: str
    function: Callable[..., Any]
    ufunc: np.ufunc | None


def _copy(x: Any, out: tuple[Any, ...], where: Any = True, casting: str = "unsafe") -> None:
    if out[0].dtype.kind in "iuf" and np.iscomplexobj(x):
        x = np.real(
            x
        )  # what NumPy would warn of, the notebook has told; filters may make it an error
    np.copyto(out[0], x, where=where, casting=casting)  # type: ignore[arg-type]


def _where(c: Any, x: Any, y: Any, out: tuple[Any, ...], where: Any = True) -> None:
    if where is True:  # a third of what masked copies take
        out[0][...] = np.where(c, x, y)
        return
    np.copyto(out[0], y, where=where, casting="unsafe")
    np.copyto(out[0], x, where=np.logical_and(np.not_equal(c, 0), where), casting="unsafe")


def _real(x: Any, out: tuple[Any, ...], where: Any = True) -> None:
    np.copyto(out[0], np.real(x), where=where)


def _imag(x: Any, out: tuple[Any, ...], where: Any = True) -> None:
    np.copyto(out[0], np.imag(x), where=where)


def _with_real(z: Any, x: Any, out: tuple[Any, ...], where: Any = True) -> None:
    np.copyto(out[0], z, where=where)
    np.copyto(out[0].real, x, where=where)


def _with_imag(z: Any, x: Any, out: tuple[Any, ...], where: Any = True) -> None:
    np.copyto(out[0], z, where=where)
    np.copyto(out[0].imag, x, where=where)


def _first(z: Any, x: Any) -> Any:
    return z


def _round(x: Any, decimals: Any, out: tuple[Any, ...], where: Any = True) -> None:
    np.copyto(out[0], np.round(x, decimals), where=where)


#: What ``told`` can warn of, by number.
TOLD = (
    "All-NaN slice encountered",
    "Mean of empty slice",
    "Degrees of freedom <= 0 for slice.",  # of nanvar, with a stop, as NumPy says it
    "Degrees of freedom <= 0 for slice",
)


def _told(x: Any, bad: Any, what: Any, out: tuple[Any, ...], where: Any = True) -> None:
    """Copy, and warn where something is bad: whoever listens to floating point errors is told."""
    np.copyto(out[0], x, where=where)
    listener: Any = np.geterrcall()
    if listener is not None and np.any(np.logical_and(bad, where)):
        listener(TOLD[int(np.asarray(what).flat[0])], 0)


def _ufuncs() -> dict[str, Elementwise]:
    """Read the rows of all of NumPy's elementwise ufuncs (gufuncs have a core signature)."""
    found = {}
    for _, f in sorted(vars(np).items()):  # dir() also names modules that would be imported
        if isinstance(f, np.ufunc) and f.signature is None:
            found[f.__name__] = Elementwise(f.__name__, f.nin, f.nout, f)
    return found


#: name -> row of every elementwise operation.
ELEMENTWISE: dict[str, Elementwise] = _ufuncs() | {
    row.name: row
    for row in (
        Elementwise("copy", 1, 1, _copy),
        Elementwise("where", 3, 1, _where),
        Elementwise("real", 1, 1, _real),
        Elementwise("imag", 1, 1, _imag),
        Elementwise("with_real", 2, 1, _with_real),
        Elementwise("with_imag", 2, 1, _with_imag),
        Elementwise("round", 2, 1, _round),
        Elementwise("told", 3, 1, _told),
        Elementwise("clip", 3, 1, np.clip),
        # a function of the user's, the first operand, of as many others and results as it has
        Elementwise("map", 1, 1, calling.run),
        *(Elementwise(name, 1, 1, run) for name, run in FAST.values()),
    )
}

#: name -> row of every reduction that the engines know.
REDUCTIONS: dict[str, Reduction] = {
    row.name: row
    for row in (
        Reduction("sum", np.sum, np.add),
        Reduction("prod", np.prod, np.multiply),
        Reduction("min", np.minimum.reduce, np.minimum),
        Reduction("max", np.maximum.reduce, np.maximum),
        Reduction("any", np.logical_or.reduce, np.logical_or),
        Reduction("all", np.logical_and.reduce, np.logical_and),
        Reduction("fmin.reduce", np.fmin.reduce, np.fmin),
        Reduction("fmax.reduce", np.fmax.reduce, np.fmax),
        Reduction("logical_xor.reduce", np.logical_xor.reduce, np.logical_xor),
        Reduction("bitwise_or.reduce", np.bitwise_or.reduce, np.bitwise_or),
        Reduction("bitwise_and.reduce", np.bitwise_and.reduce, np.bitwise_and),
        Reduction("bitwise_xor.reduce", np.bitwise_xor.reduce, np.bitwise_xor),
        Reduction("gcd.reduce", np.gcd.reduce, np.gcd),
        Reduction("lcm.reduce", np.lcm.reduce, np.lcm),
        Reduction("argmin", np.argmin, None),
        Reduction("argmax", np.argmax, None),
    )
}


def _bincount(x: Any, *weights: Any, out: np.ndarray) -> None:
    """Count; the last element is the length that this takes, and -1 if there are negative numbers.

    What is beyond the length that there is is left out.
    """
    numbers, n = x.reshape(-1), out.shape[-1] - 1
    try:
        found = np.bincount(numbers, weights[0].reshape(-1) if weights else None, n)
    except ValueError:
        out[...] = -1
        return
    if len(found) > n:
        taken = len(found)
    elif weights:
        taken = numbers.max() + 1 if len(numbers) else 0
    else:
        taken = n - (found[::-1] != 0).argmax() if found.any() else 0
    out[..., :n], out[..., n] = found[:n], taken


def _histogram(x: Any, edges: Any, *weights: Any, out: np.ndarray) -> None:
    """Count in bins that are all as wide.

    NumPy makes the edges anew of the limits, in their dtype: they must come to the same ones.
    """
    ends = edges.reshape(-1)
    heavy, bins = weights[0] if weights else None, len(ends) - 1
    for limits in ((ends[0], ends[-1]), (float(ends[0]), float(ends[-1]))):
        if np.array_equal(np.histogram_bin_edges(x[:0], bins, limits), ends):
            out[...] = np.histogram(x, bins, limits, weights=heavy)[0]
            return
    _histogram_edges(x, edges, *weights, out=out)


def _histogram_edges(x: Any, edges: Any, *weights: Any, out: np.ndarray) -> None:
    heavy = weights[0] if weights else None
    out[...] = np.histogram(x, edges.reshape(-1), weights=heavy)[0]


def _histogramdd(x: Any, *others: Any, out: np.ndarray) -> None:
    rows = x.reshape(x.shape[-2:])
    edges = [e.reshape(-1) for e in others[: rows.shape[1]]]
    heavy = others[-1].reshape(-1) if len(others) > len(edges) else None
    out[...] = np.histogramdd(rows, edges, weights=heavy)[0]


def _count(x: Any, out: np.ndarray) -> None:
    out[...] = np.count_nonzero(x)


def _repeat(x: Any, times: Any, out: np.ndarray) -> None:
    out[...] = np.repeat(x, times.reshape(-1), axis=0)


def _convolve(x: Any, kernel: Any, out: np.ndarray) -> None:
    a, v = x.reshape(-1), kernel.reshape(-1)
    inside = out.size == a.size - v.size + 1
    out[...] = np.convolve(a, v, "valid" if inside else "full").reshape(out.shape)


def _interp(x: Any, points: Any, values: Any, ends: Any, out: np.ndarray) -> None:
    left, right = ends.reshape(-1)
    out[...] = np.interp(x, points.reshape(-1), values.reshape(-1), left, right)


def _bits(function: Callable[..., np.ndarray], order: str, x: Any, out: np.ndarray) -> None:
    out[...] = function(x, axis=-1, bitorder=order)


#: name -> function of whole local parts, with ``out=`` (see ``protocol.Local``).
LOCALS: dict[str, Callable[..., Any]] = {
    "matmul": np.matmul,
    "bincount": _bincount,
    "histogram": _histogram,
    "histogram.edges": _histogram_edges,
    "histogramdd": _histogramdd,
    "count": _count,
    "convolve": _convolve,
    "interp": _interp,
    "repeat": _repeat,
    "packbits.big": partial(_bits, np.packbits, "big"),
    "packbits.little": partial(_bits, np.packbits, "little"),
    "unpackbits.big": partial(_bits, np.unpackbits, "big"),
    "unpackbits.little": partial(_bits, np.unpackbits, "little"),
}

#: ufunc name -> reduction, for ``np.add.reduce`` and its like.
UFUNC_REDUCTIONS = {row.ufunc.__name__: row for row in REDUCTIONS.values() if row.ufunc}

#: What NumPy's loops of float16 carry on in single precision, within a reduction.
_CARRIED = frozenset(("add", "divide", "multiply", "subtract"))

#: Collectives that write files; whose names begin so, and are none of these, read them.
FILE, WRITING = "file.", frozenset(("file.append", "file.table", "file.write"))

#: ways to fill a new base, with the names of their arguments (see ``protocol.Create``).
CREATIONS: dict[str, tuple[str, ...]] = {
    "empty": (),
    "fill": ("value",),
    "index": ("axis", "start", "step"),
    "random": ("kind", "seed", "stream", "args"),
    "data": ("slot",),
    "local": ("name",),
    "at": ("place", "how"),
    "room": ("place",),
    "same": ("place",),
    "lost": ("place",),
}


def is_associative(ufunc: str, dtype: np.dtype) -> bool:
    """Tell whether running totals of parts can be combined: NumPy rounds each of float16."""
    return ufunc in UFUNC_REDUCTIONS and dtype.char != "e"


def total_dtype(ufunc: str, dtype: np.dtype) -> np.dtype:
    """Return in which dtype a reduction goes on from element to element."""
    return np.dtype(np.float32) if dtype.char == "e" and ufunc in _CARRIED else dtype


def standin(x: Any) -> Any:
    """Return an empty array in place of a dtype; anything else (a scalar) is itself."""
    return np.empty(0, x) if isinstance(x, np.dtype) else x


def result_dtypes(op: str, ins: Sequence[Any], options: dict[str, Any]) -> tuple[np.dtype, ...]:
    """Return the dtypes of the results; raises what NumPy raises.

    Parameters
    ----------
    op : str
        A name in :data:`ELEMENTWISE`.
    ins : sequence
        A dtype for each array, and the scalars themselves (Python's are weak, and out of range
        ones raise OverflowError, as in NumPy 2).
    options : dict
        The ufunc's ``dtype`` and ``casting``.

    Examples
    --------
    >>> result_dtypes("add", [np.dtype("float32"), 2], {})
    (dtype('float32'),)
    """
    kinds = tuple([_kind(x) for x in ins])
    if all(k is not None for k in kinds):  # not `in`: float64 equals None
        return _dtypes_of_kinds(op, kinds, tuple(sorted(options.items())))
    return _ask(op, ins, options)


def _kind(x: Any) -> Any:
    """Return what the dtype of a result depends on; None if that is the value itself."""
    return x if isinstance(x, np.dtype) else weak_kind(x)


def result_dtypes_into(
    op: str, ins: tuple[Any, ...], options: tuple[tuple[str, Any], ...]
) -> tuple[np.dtype, ...]:
    """Return the dtypes of the results when ``options['out']`` names those of given outputs."""
    found = dict(options)
    into = found.pop("out")
    outs = tuple(None if d is None else np.empty(0, d) for d in into)
    results = ELEMENTWISE[op].run(*(standin(x) for x in ins), out=outs, **found)
    results = results if isinstance(results, tuple) else (results,)
    return tuple(r.dtype for r in results)


def uncast(name: str, found: np.dtype, into: np.dtype, casting: str) -> TypeError:
    """Return NumPy's own exception for a ufunc's result that may not be cast to its output.

    Examples
    --------
    >>> raise uncast("clip", np.dtype("float64"), np.dtype("int64"), "same_kind")
    Traceback (most recent call last):
    numpy._core._exceptions._UFuncOutputCastingError: Cannot cast ufunc 'clip' output from \
dtype('float64') to dtype('int64') with casting rule 'same_kind'
    """
    ufunc = SimpleNamespace(__name__=name, nout=1)  # NumPy's clip is one that nobody can name
    try:
        np.add(np.empty(0), 0.0, out=np.empty(0, np.int64))
    except TypeError as error:
        return type(error)(ufunc, casting, found, into, 0)
    raise RuntimeError("NumPy casts float64 to int64 as a ufunc's output")


@lru_cache(maxsize=4096)
def _dtypes_of_kinds(
    op: str, kinds: tuple[Any, ...], options: tuple[tuple[str, Any], ...]
) -> tuple[np.dtype, ...]:
    return _ask(op, [k(1) if isinstance(k, type) else k for k in kinds], dict(options))


def _ask(op: str, ins: Sequence[Any], options: dict[str, Any]) -> tuple[np.dtype, ...]:
    row = ELEMENTWISE[op]
    empties = [standin(x) for x in ins]
    if isinstance(row.run, np.ufunc):
        found = row.run(*empties, **options)
    else:
        found = FUNCTIONS[op](*empties, **options)
    outs = found if isinstance(found, tuple) else (found,)
    return tuple(np.asarray(o).dtype for o in outs)


#: How NumPy spells the rows that are no ufuncs.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "copy": np.copy,
    "where": np.where,
    "real": np.real,
    "imag": np.imag,
    "with_real": _first,
    "with_imag": _first,
    "round": np.round,
    "told": lambda x, bad, what: x,
    "clip": np.clip,
}
#: Those whose results are always new arrays.
NEW = frozenset(("where", "clip"))


def elementwise_layout(operands: tuple[tuple[int, Placed], ...], shape: Ints, size: int) -> Layout:
    """Return the layout of an elementwise result.

    The result stays where the largest operand is: the first with the most elements before
    broadcasting, and among equals the one that is split over most engines, then held by most.

    Parameters
    ----------
    operands : tuple of (int, Placed)
        Elements before broadcasting, and the operand broadcast to ``shape``.
    """
    if not operands:
        return default_layout(shape, size)

    def weight(item: tuple[int, Placed]) -> tuple[int, int, int]:
        n, placed = item
        return n, placed.layout.split, placed.layout.copies

    leader = operands[0][1] if len(operands) == 1 else max(operands, key=weight)[1]
    return follow(leader, size)[0]


#: The same for those who keep no templates.
kept_layout = lru_cache(maxsize=4096)(elementwise_layout)


@lru_cache(maxsize=2048)
def reduction_layout(operand: Placed, axes: Ints, size: int) -> tuple[Layout, bool]:
    """Return the layout of a reduction's result, and whether the operand can be reduced in place.

    Kept axes stay split as they are; every engine along a reduced axis gets a copy. Where the
    view's owners cannot be written as a layout (a strided view of a cyclic axis), the operand is
    first copied to the layout that :func:`distnb.geometry.views.follow` gives.
    """
    return follow(operand, size, axes)


@lru_cache(maxsize=2048)
def sorted_layout(operand: Placed, axis: int, size: int) -> Layout:
    """Return the layout of a sorted copy: it follows the operand, and a cyclic axis gets blocks."""
    layout = follow(operand, size)[0]
    if not layout.axes[axis].period(layout.parts(axis)):
        return layout
    axes = (*layout.axes[:axis], Block(), *layout.axes[axis + 1 :])
    return Layout(layout.grid, axes, layout.dims)


def sorting_layout(shape: Ints, layout: Layout, axis: int, size: int) -> Layout:
    """Return the layout in which an array is sorted that is to end in ``layout``.

    Where another axis is long enough to be split over all engines instead, every engine sorts
    whole 1-D slices; else the engines along the axis sort together.
    """
    others = [n if d != axis else 0 for d, n in enumerate(shape)]
    longest = max(others)
    if layout.parts(axis) == 1 or longest < size:
        return layout
    return _split_along(others.index(longest), len(shape), size)


@lru_cache(maxsize=2048)
def selecting_layout(operand: Placed, axes: Ints, size: int) -> Layout:
    """Return the layout in which elements are selected from 1-D slices along ``axes``.

    The operand's own, where 1-D slices are whole, or no other axis is long enough to be split over
    all engines instead.
    """
    layout = follow(operand, size)[0]
    shape = operand.view.shape
    kept = [n if d not in axes else 0 for d, n in enumerate(shape)]
    longest = max(kept, default=0)
    if longest < size or all(layout.parts(d) == 1 for d in axes):
        return layout
    return _split_along(kept.index(longest), len(shape), size)


def selected_layout(layout: Layout, axes: Ints) -> Layout:
    """Return the layout of what is selected: an axis in front, and those that are kept."""
    kept = [d for d in range(len(layout.axes)) if d not in axes]
    split = tuple(layout.axes[d] for d in kept), tuple(layout.dims[d] for d in kept)
    return Layout(layout.grid, (Whole(), *split[0]), (-1, *split[1]))


def _split_along(axis: int, ndim: int, size: int) -> Layout:
    """Return the layout with blocks along one axis, over all engines."""
    dims = tuple(0 if d == axis else -1 for d in range(ndim))
    axes = tuple(Block() if d == axis else Whole() for d in range(ndim))
    return Layout(Grid.of((size,)), axes, dims)


def reduced_shape(shape: Ints, axes: Ints, keepdims: bool) -> Ints:
    """Return the shape after a reduction.

    >>> reduced_shape((2, 3, 4), (1,), True)
    (2, 1, 4)
    """
    if keepdims:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def nbytes(shape: Ints, dtype: np.dtype) -> int:
    """Return the bytes of an array."""
    return prod(shape) * dtype.itemsize
