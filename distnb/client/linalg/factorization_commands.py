"""How matrices are factored: which engine does what, and in which layout the results lie.

There are three cases, told apart by specs alone:

- stacks of matrices: the stack is split, every engine works on its matrices;
- matrices that an engine (or every engine) holds whole: where they are;
- other matrices: tall ones in blocks of rows, if there is a way; else a single engine works, with
  all cores of its node, as long as the matrix is not larger than ``config.alone`` (``ON_NODE``
  times that for LU where all engines share a node). For larger ones there is ScaLAPACK, where it is
  installed, and else :mod:`distnb.client.linalg.panel_commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from distnb.client.handle.array import Array, create, is_whole
from distnb.client.handle.conversion import (
    array_of,
    as_dist,
    broadcast,
    copied,
    in_layout,
    record_collective,
)
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.linalg.matrix_commands import local, rows
from distnb.client.linalg.scalapack_commands import ROUTINES
from distnb.common.config import config
from distnb.geometry.axes import Whole
from distnb.geometry.layout import (
    Ints,
    Layout,
    default_layout,
    on_engine,
    replicated,
)
from distnb.geometry.views import follow
from distnb.ops import matrix_functions

__all__ = [
    "ON_NODE",
    "factored",
    "is_few",
    "tall",
    "too_large",
    "triangles",
]

#: How much larger than ``config.alone`` a matrix is whose spectrum all engines find together: this
#: takes about twenty times as many operations as LAPACK.
SPECTRAL = 16
#: The same for LU where all engines share a node, and so one of them has as many cores as all.
#: (Cholesky and QR are faster there in panels, too.)
ON_NODE = 16
#: How the results of a matrix are found where it is split.
Way = Callable[..., Sequence[Array]]
#: Elements of an engine's part up to which ScaLAPACK can count in a workspace.
_COUNTED = 1 << 29


def factored(
    name: str,
    ins: Sequence[Array],
    args: tuple[Any, ...] = (),
    in_rows: Way | None = None,
    large: Way | None = None,
    patience: int = 1,
    on_node: int | None = None,
) -> tuple[Array, ...]:
    """Return the results of a function of ``matrix_functions`` for matrices or stacks of them.

    ``in_rows`` finds the results (in any dtype and layout) for a tall matrix, ``large`` for one
    that is ``patience`` times larger than ``config.alone``, or ``on_node`` times if all engines
    share a node.
    """
    specs = matrix_functions.specs(name, ins, args)
    session = ins[0].session
    if all_here(ins, session):
        found = watched(name, matrix_functions.call, name, [x.here for x in ins], args)
        return tuple(array_of(session, np.array(f, order="C")) for f in found)
    ins = [as_dist(x, session) for x in ins]
    if on_node is not None and _on_node(ins[0]):
        patience = on_node
    stack = np.broadcast_shapes(*(x.shape[:-2] for x in ins))
    if prod(stack) != 1:
        return _stacked(name, ins, args, stack, specs)
    ins = [_without(x, len(x.shape) - 2) for x in ins]
    layout = follow(ins[0].placed, session.size)[0]
    if layout.split == 1:
        found = local(name, ins, args, layout, [layout_like(layout, s) for s, _ in specs], specs)
    elif in_rows is not None and tall(ins[0]):
        found = in_rows(*ins)
    elif (ready := _by_scalapack(name, ins, args)) is not None:
        found = ready
    elif large is not None and too_large(ins[0], patience):
        found = large(*ins)
    else:
        found = _on_single_engine(name, ins, args, specs)
    return tuple(_finished(f, s, len(stack)) for f, s in zip(found, specs, strict=True))


def _by_scalapack(name: str, ins: Sequence[Array], args: tuple[Any, ...]) -> Sequence[Array] | None:
    """Return the results that ScaLAPACK finds, if the engines have it and it pays."""
    session = ins[0].session
    served = all(0 < a.get("scalapack", 0) <= config.scalapack for a in session.transport.about)
    counted = max(x.size for x in ins) <= _COUNTED * session.size
    if not (served and counted and name in ROUTINES and too_large(ins[0])):
        return None
    found = ROUTINES[name](*ins, *args)
    return found and [in_layout(f, _spread(f)) if is_whole(f) else f for f in found]


def _on_node(x: Array) -> bool:
    """Tell whether all engines share a node, and one of them can take a matrix and two copies."""
    session = x.session
    room = session.handles.budget.room()
    one = len({a["host"] for a in session.transport.about}) == 1
    return one and (
        room is None or room > 3 * x.size * matrix_functions.work_dtype(x.dtype).itemsize
    )


def too_large(x: Array, patience: int = 1) -> bool:
    """Tell whether a matrix is too large for a single engine to factor."""
    return x.size * matrix_functions.work_dtype(x.dtype).itemsize > patience * config.alone


def _without(x: Array, n: int) -> Array:
    """Return a view without ``n`` leading axes of length 1."""
    return x.alias(x.dview.of_ndim(x.ndim - n)) if n else x


def _finished(x: Array, spec: matrix_functions.Spec, n: int) -> Array:
    """Return a result in its dtype, with ``n`` leading axes of length 1."""
    if not is_whole(x):
        x = copied(x, spec[1], _spread(x))
    x = x if x.dtype == spec[1] else x.astype(spec[1])
    return x.alias(x.dview.of_ndim(x.ndim + n)) if n else x


def layout_like(layout: Layout, shape: Ints) -> Layout:
    """Return the layout of an array that the engines of an unsplit one hold whole."""
    return Layout(layout.grid, (Whole(),) * len(shape), (-1,) * len(shape))


# -- stacks ------------------------------------------------------------------------------------


def _stacked(
    name: str,
    ins: Sequence[Array],
    args: tuple[Any, ...],
    stack: Ints,
    specs: Sequence[matrix_functions.Spec],
) -> tuple[Array, ...]:
    wide = [broadcast(x, (*stack, *x.shape[-2:])) for x in ins]
    layout = stack_layout(max(zip(ins, wide, strict=True), key=lambda pair: pair[0].size)[1])
    full = [((*stack, *shape), dtype) for shape, dtype in specs]
    outs = [_longer(layout, len(shape)) for shape, _ in specs]
    return local(name, wide, args, _longer(layout, 2), outs, full)


def stack_layout(x: Array) -> Layout:
    """Return how a stack of whole matrices is split: as it lies, or else by default."""
    size, n = x.session.size, x.ndim - 2
    layout = follow(x.placed, size)[0]
    if layout.parts(n) == layout.parts(n + 1) == 1:
        return Layout(layout.grid, layout.axes[:n], layout.dims[:n])
    return default_layout(x.shape[:n], size)


def _longer(layout: Layout, n: int) -> Layout:
    """Return a layout with ``n`` more axes, which are not split."""
    return Layout(layout.grid, layout.axes + (Whole(),) * n, layout.dims + (-1,) * n)


# -- one matrix --------------------------------------------------------------------------------


def _on_single_engine(
    name: str,
    ins: Sequence[Array],
    args: tuple[Any, ...],
    specs: Sequence[matrix_functions.Spec],
) -> tuple[Array, ...]:
    """Let a single engine work, and spread its results: vectors to all, matrices by default."""
    outs = [on_engine(len(shape), 0) for shape, _ in specs]
    found = local(name, ins, args, on_engine(2, 0), outs, specs)
    return tuple(copied(f, f.dtype, _spread(f)) for f in found)


def _spread(x: Array) -> Layout:
    """Return the layout of a result: that of matrices by default, others are held by all."""
    size = x.session.size
    return default_layout(x.shape, size) if x.ndim > 1 else replicated(x.ndim, size)


def tall(x: Array) -> bool:
    """Tell whether each engine gets at least a square of a matrix that is split in rows."""
    m, n = x.shape
    return m >= n * x.session.size and n > 0 and not is_few(x)


def is_few(x: Array) -> bool:
    """Tell whether a matrix is so small that one engine factors it sooner than several do."""
    return x.nbytes <= config.cutoff


def triangles(x: Array, with_q: bool) -> list[Array]:
    """Return the factors Q (in rows) and R (held by all) of a tall matrix; R alone if asked for."""
    size, session, n = x.session.size, x.session, x.shape[1]
    dtype = matrix_functions.work_dtype(x.dtype)
    source = in_layout(x, rows(size), dtype)
    outs = [create(session, x.shape, dtype, rows(size), ("empty",))] if with_q else []
    outs.append(create(session, (n, n), dtype, replicated(2, size), ("empty",)))
    record_collective("tsqr", outs, [source], ())
    return outs
