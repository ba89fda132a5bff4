"""Ufuncs of some last axes, as ``numba.guvectorize`` makes them: called with parts of arrays."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.conversion import in_layout
from distnb.client.handle.host_arrays import all_here, fits, watched
from distnb.client.math.blocks import record_call
from distnb.client.math.pickling import pickled
from distnb.client.record.creation import asarray
from distnb.client.record.eager import arrays_of, session_of
from distnb.client.session.session import Session
from distnb.client.shape.viewing import moveaxis
from distnb.common.errors import explain
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Ints, Layout, default_layout, on_engine
from distnb.geometry.views import follow
from distnb.ops.scalars import NUMBERS

__all__ = ["stacked"]


class _Made(NamedTuple):
    """What a ufunc makes of each stack: the shape of its last axes, and the dtype."""

    shape: Ints
    dtype: np.dtype


def stacked(ufunc: np.ufunc, *inputs: Any, axis: int | None = None, **options: Any) -> Any:
    """Apply a ufunc of some last axes: these are made whole, others stay cut as they are.

    The result follows the largest operand. Sent are parts of operands of which a last axis is cut,
    or that lie unlike the largest one.
    """
    if options or "?" in str(ufunc.signature):
        what = f"with {[*options]}" if options else f"of {ufunc.signature}"
        got, do = f"{ufunc.__name__} {what}", "assign the result, or move axes before"
        raise TypeError(explain("ufunc of some last axes", got, "one with axis= alone", do))
    session = session_of(*inputs)
    counts = [len(core) for core in _cores(ufunc)]
    if axis is not None and max(counts) > 1:
        raise TypeError(
            f"{ufunc.__name__}: axis can only be used with a single shared core dimension"
        )
    given = _operands(ufunc, inputs, session)
    if axis is not None:
        pairs = zip(given, counts, strict=False)
        given = [moveaxis(x, axis, -1) if count else x for x, count in pairs]
    made = _asked(ufunc, given, counts)
    loop = np.broadcast_shapes(*[_loop(x, c) for x, c in zip(given, counts, strict=False)])
    if all_here(given, session) and all(
        fits(prod(loop + m.shape) * m.dtype.itemsize) for m in made
    ):
        here = [np.asarray(x.here) for x in given]
        found = arrays_of(session, watched(ufunc.__name__, ufunc, *here))
        results = found if isinstance(found, tuple) else (found,)
    else:
        results = _recorded(ufunc, given, counts, loop, made)
    if axis is not None:
        results = tuple(
            [moveaxis(x, -1, axis) if m.shape else x for x, m in zip(results, made, strict=True)]
        )
    return results[0] if len(results) == 1 else results


def _cores(ufunc: np.ufunc) -> list[list[str]]:
    """Return the names of the last axes of each operand and result."""
    found = re.findall(r"\(([^()]*)\)", str(ufunc.signature))
    return [[name for name in core.split(",") if name.strip()] for core in found]


def _loop(x: Array, count: int) -> Ints:
    """Return the lengths of an operand's first axes."""
    return x.shape[: x.ndim - count]


def _operands(ufunc: np.ufunc, inputs: Sequence[Any], session: Session) -> list[Array]:
    """Return the operands as arrays; Python's numbers in the dtype that they get beside others."""
    arrays = [x if type(x) in NUMBERS else asarray(x, session=session) for x in inputs]
    if not any(type(x) in NUMBERS for x in arrays):
        return arrays
    kinds = [type(x) if type(x) in NUMBERS else x.dtype for x in arrays]
    chosen = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    pairs = zip(arrays, chosen, strict=False)
    return [asarray(x, kind, session=session) if type(x) in NUMBERS else x for x, kind in pairs]


def _asked(ufunc: np.ufunc, given: Sequence[Array], counts: Sequence[int]) -> list[_Made]:
    """Return what comes of it, which the ufunc says for no stacks; raises what NumPy raises."""
    none = [
        np.empty((0, *x.shape[x.ndim - count :]) if x.ndim >= count else x.shape, x.dtype)
        for x, count in zip(given, counts, strict=False)
    ]
    found = ufunc(*none)
    many = found if isinstance(found, tuple) else (found,)
    return [_Made(one.shape[1:], numeric(one.dtype)) for one in many]


def _recorded(
    ufunc: np.ufunc, given: list[Array], counts: list[int], loop: Ints, made: list[_Made]
) -> tuple[Any, ...]:
    """Let engines call it with what they hold."""
    session = given[0].session
    session.check_open()
    layout = _of_loop(given, counts, loop)
    pairs = zip(given, counts, strict=False)
    ins = [in_layout(x, _along(layout, loop, _loop(x, count), count)) for x, count in pairs]
    outs = [
        create(
            session, loop + m.shape, m.dtype, _along(layout, loop, loop, len(m.shape)), ("empty",)
        )
        for m in made
    ]
    record_call("map_stacks", pickled(_sendable(ufunc)), ufunc.__name__, outs, ins)
    return tuple(outs)


def _of_loop(given: list[Array], counts: list[int], loop: Ints) -> Layout:
    """Return how first axes are to lie: as those of the largest operand, if its last are whole."""
    size = given[0].session.size
    most, count = max(zip(given, counts, strict=False), key=lambda pair: pair[0].size)
    if _loop(most, count) == loop and not most.at_home:
        found, n = follow(most.placed, size)[0], len(loop)
        if found.copies == 1 and all(found.parts(d) == 1 for d in range(n, most.ndim)):
            return Layout(found.grid, found.axes[:n], found.dims[:n])
    # A default layout of few elements has copies.
    return on_engine(len(loop), 0) if prod(loop) < 2 else default_layout(loop, size)


def _along(layout: Layout, loop: Ints, shape: Ints, count: int) -> Layout:
    """Return the layout of an operand; ``shape``: lengths of its first axes, which broadcast."""
    skip = len(loop) - len(shape)
    cut = [n == whole for n, whole in zip(shape, loop[skip:], strict=True)]
    axes = [layout.axes[skip + d] if same else Whole() for d, same in enumerate(cut)]
    dims = [layout.dims[skip + d] if same else -1 for d, same in enumerate(cut)]
    return Layout(layout.grid, (*axes, *[Whole()] * count), (*dims, *[-1] * count))


def _sendable(ufunc: np.ufunc) -> Any:
    """Return what can be pickled: of Numba's the function that was called, which has the ufunc."""
    frame: Any = sys._getframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if type(caller).__module__.startswith("numba.") and getattr(caller, "ufunc", None) is ufunc:
            return caller
        frame = frame.f_back
    return ufunc
