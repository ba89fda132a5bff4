"""Ufuncs of some last axes, as ``numba.guvectorize`` makes them: called with parts of arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.conversion import in_layout
from distnb.client.handle.fields import fits
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.math.blocks import record_call
from distnb.client.math.core_axes import (
    Wanted,
    all_core_axes,
    core_axes,
    delivered_at,
    places,
    to_end,
)
from distnb.client.math.pickling import pickled
from distnb.client.record.creation import asarray
from distnb.client.record.eager import arrays_of, session_of
from distnb.client.session.session import Session
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Ints, Layout, default_layout, on_engine
from distnb.geometry.views import follow
from distnb.ops.scalars import NUMBERS

__all__ = ["Made", "recorded", "stacked"]


class _Called(NamedTuple):
    """A ufunc with options of NumPy's, and how many axes of each operand and result take part."""

    ufunc: np.ufunc
    kinds: dict[str, Any]
    counts: list[int]

    def run(self, *args: np.ndarray) -> Any:
        """Call it."""
        return self.ufunc(*args, **self.kinds)

    def sendable(self) -> Any:
        """Return what can be pickled, called with operands and outputs."""
        found = _sendable(self.ufunc)
        return partial(found, **self.kinds) if self.kinds else found


class Made(NamedTuple):
    """What a function makes of each stack: the shape of its last axes, and the dtype."""

    shape: Ints
    dtype: np.dtype


def stacked(
    ufunc: np.ufunc,
    *inputs: Any,
    out: tuple[Any, ...] | None = None,
    casting: str = "same_kind",
    **options: Any,
) -> Any:
    """Apply a ufunc of some last axes: these are made whole, others stay cut as they are.

    The result follows the largest operand. Sent are parts of operands of which a last axis is cut,
    or that lie unlike the largest one.
    """
    wanted = Wanted.of(options)
    session = session_of(*inputs)
    given = _operands(ufunc, inputs, session)
    cores = core_axes(str(ufunc.signature), given)
    at = places(ufunc, cores, wanted)
    given = [
        to_end(x, axes) if x.ndim >= len(axes) else x for x, axes in zip(given, at, strict=False)
    ]
    kinds = {name: options[name] for name in options.keys() - {"order", "subok"}}
    if casting != "same_kind":
        kinds["casting"] = casting
    results = _results(_Called(ufunc, kinds, [len(core) for core in cores]), given, session)
    if wanted.keepdims:
        results = [x[(..., *[None] * len(at[0]))] for x in results]
    outs = (None,) * len(results) if out is None else out
    ends = zip(at[ufunc.nin :], results, outs, strict=True)
    done = [delivered_at(axes, one, into, casting, ufunc.__name__) for axes, one, into in ends]
    return done[0] if len(done) == 1 else tuple(done)


def _results(called: _Called, given: list[Array], session: Session) -> list[Any]:
    """Return what is made of stacks, in the notebook if all is there."""
    made = _asked(called, given)
    loops = [_loop(x, c) for x, c in zip(given, called.counts, strict=False)]
    loop = np.broadcast_shapes(*loops)
    if all_here(given, session) and all(
        fits(prod(loop + m.shape) * m.dtype.itemsize) for m in made
    ):
        here = [np.asarray(x.here) for x in given]
        found = arrays_of(session, watched(called.ufunc.__name__, called.run, *here))
        return [*found] if isinstance(found, tuple) else [found]
    text = pickled(called.sendable())
    return recorded(text, called.ufunc.__name__, given, called.counts, loop, made)


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


def _asked(called: _Called, given: Sequence[Array]) -> list[Made]:
    """Return what comes of it, which the ufunc says for no stacks; raises what NumPy raises."""
    whole = all_core_axes(str(called.ufunc.signature))
    # An operand in which an axis is missing has no axes but these.
    many = [
        count == len(core) <= x.ndim
        for x, count, core in zip(given, called.counts, whole, strict=False)
    ]
    none = [
        np.zeros((0, *x.shape[x.ndim - count :]) if first else x.shape, x.dtype)
        for x, count, first in zip(given, called.counts, many, strict=False)
    ]
    found = called.run(*none)
    results = found if isinstance(found, tuple) else (found,)
    return [Made(np.shape(one)[any(many) :], numeric(one.dtype)) for one in results]


def recorded(
    text: bytes, name: str, given: list[Array], counts: list[int], loop: Ints, made: list[Made]
) -> list[Any]:
    """Let engines call a pickled function with what they hold, and with arrays for results.

    ``counts`` tells how many last axes of each operand it takes, ``loop`` the lengths of others.
    """
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
    record_call("map_stacks", text, name, outs, ins)
    return [*outs]


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
