"""Products of matrices and vectors: ``@``, ``matmul``, ``dot``, ``vecdot``, ``matvec``, ``vecmat``.

A product of n x k and k x m matrices is computed in one of three ways, whichever moves the least:
the left operand stays split by rows and every engine gets the right one; the right operand stays
split by columns and every engine gets the left one; or both are split along k, and the engines'
partial products are added up. Local products are NumPy's (BLAS).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.axes import Block, Whole
from distnb.client.array import DistArray
from distnb.client.creation import asarray
from distnb.client.handle import create
from distnb.client.namespace import public
from distnb.client.notebook import all_here, fits, watched
from distnb.client.operations import as_dist, check_session, copied, elementwise, settled
from distnb.client.reducing import reduce
from distnb.errors import explain
from distnb.layout import Grid, Ints, Layout, replicated
from distnb.protocol import Local

__all__ = ["dot", "matmul", "matvec", "vecdot", "vecmat"]


@public("matmul", np.matmul)
def matmul(x1: Any, x2: Any, out: Any = None, **options: Any) -> DistArray:
    """Multiply matrices, as ``numpy.matmul``.

    The result is split as the operand that stays (rows or columns), or held by every engine when
    both were split along the summed axis. Stacks of matrices are split along the first axis.
    """
    _no_options("matmul", options)
    a, b = _operands(x1, x2)
    _check("matmul", a, b)
    dtype = np.matmul(np.empty((1, 1), a.dtype), np.empty((1, 1), b.dtype)).dtype
    if all_here((a, b), a.session) and _small(a, b, dtype):
        return _into(
            settled(a.session, np.asarray(watched("matmul", np.matmul, a.here, b.here))), out
        )
    a, b = as_dist(a, a.session), as_dist(b, a.session)
    left, right = a, b
    if a.ndim == 1:
        left = a._look(a._view.insert(0))
    if b.ndim == 1:
        right = b._look(b._view.insert(1))
    found = (
        _stacked(left, right, dtype) if max(a.ndim, b.ndim) > 2 else _matrices(left, right, dtype)
    )
    if b.ndim == 1:
        found = found._look(found._view.fix(found.ndim - 1, 0))
    if a.ndim == 1:
        found = found._look(found._view.fix(found.ndim - (1 if b.ndim == 1 else 2), 0))
    return _into(found, out)


@public("dot", np.dot)
def dot(a: Any, b: Any, out: Any = None) -> DistArray:
    """Multiply as ``numpy.dot`` does: matrices and vectors by ``matmul``, scalars elementwise."""
    x, y = _operands(a, b)
    if 0 in (x.ndim, y.ndim):
        return _into(elementwise("multiply", x, y), out)
    if max(x.ndim, y.ndim) > 2:
        raise NotImplementedError(
            explain("dot", f"{x.ndim} and {y.ndim} axes", "at most 2", "use matmul for stacks")
        )
    return matmul(x, y, out=out)


@public("vecdot", np.vecdot)
def vecdot(x1: Any, x2: Any, out: Any = None, axis: int = -1, **options: Any) -> DistArray:
    """Sum the products of (the conjugate of) vectors along an axis, as ``numpy.vecdot``."""
    _no_options("vecdot", options)
    a, b = _operands(x1, x2)
    _need("vecdot", a.ndim >= 1 and b.ndim >= 1 and a.shape[axis] == b.shape[axis], a, b)
    dtype = np.vecdot(np.empty(1, a.dtype), np.empty(1, b.dtype)).dtype
    terms = elementwise("multiply", elementwise("conjugate", a) if a.dtype.kind == "c" else a, b)
    return _into(
        reduce(
            "any" if dtype.kind == "b" else "sum", terms, axis, None if dtype.kind == "b" else dtype
        ),
        out,
    )


@public("matvec", np.matvec)
def matvec(x1: Any, x2: Any, out: Any = None, **options: Any) -> DistArray:
    """Multiply matrices with vectors, as ``numpy.matvec``."""
    _no_options("matvec", options)
    a, x = _operands(x1, x2)
    _need("matvec", a.ndim >= 2 and x.ndim >= 1 and a.shape[-1] == x.shape[-1], a, x)
    found = matmul(a, x._look(x._view.insert(x.ndim)))
    return _into(found._look(found._view.fix(found.ndim - 1, 0)), out)


@public("vecmat", np.vecmat)
def vecmat(x1: Any, x2: Any, out: Any = None, **options: Any) -> DistArray:
    """Multiply (conjugated) vectors with matrices, as ``numpy.vecmat``."""
    _no_options("vecmat", options)
    x, a = _operands(x1, x2)
    _need("vecmat", a.ndim >= 2 and x.ndim >= 1 and a.shape[-2] == x.shape[-1], x, a)
    row = elementwise("conjugate", x) if x.dtype.kind == "c" else x
    found = matmul(row._look(row._view.insert(row.ndim - 1)), a)
    return _into(found._look(found._view.fix(found.ndim - 2, 0)), out)


# -- arguments ---------------------------------------------------------------------------------


def _operands(x1: Any, x2: Any) -> tuple[DistArray, DistArray]:
    one = x1 if isinstance(x1, DistArray) else x2
    for x in (x1, x2):
        if isinstance(x, DistArray):
            check_session(x, one.session)
    return asarray(x1, session=one.session), asarray(x2, session=one.session)


def _no_options(name: str, options: dict[str, Any]) -> None:
    if options:
        raise TypeError(explain(f"{name}()", f"{', '.join(options)}=", "out", "leave it out"))


def _need(name: str, good: bool, a: DistArray, b: DistArray) -> None:
    if not good:
        raise ValueError(
            explain(
                f"{name}", f"{a.shape} and {b.shape}", "summed axes of one length", "transpose one"
            )
        )


def _check(name: str, a: DistArray, b: DistArray) -> None:
    if 0 in (a.ndim, b.ndim):
        raise ValueError(
            explain(name, f"{a.ndim} and {b.ndim} axes", "at least 1 each", "use * for scalars")
        )
    _need(name, a.shape[-1] == b.shape[-2 if b.ndim > 1 else 0], a, b)


def _small(a: DistArray, b: DistArray, dtype: np.dtype) -> bool:
    """Tell whether the product of two arrays in the notebook is to stay there."""
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return False  # it is explained later
    columns = a.shape[-2:-1] + (b.shape[-1:] if b.ndim > 1 else ())
    return fits(prod(stack + columns) * dtype.itemsize)


def _into(found: DistArray, out: Any) -> DistArray:
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return found
    out[...] = found
    return out


# -- three ways to multiply two matrices -----------------------------------------------------------


class _Way(NamedTuple):
    """A way to multiply: the elements it moves, and what does it."""

    moved: float
    run: Callable[[], DistArray]


def _matrices(a: DistArray, b: DistArray, dtype: np.dtype) -> DistArray:
    """Multiply n x k and k x m matrices in the way that moves the least."""
    size, n, m = a.session.size, a.shape[0], b.shape[1]
    rows, columns = _split(0, size), _split(1, size)
    ways = [
        _Way(
            _move(a, rows) + _spread(b),
            lambda: _product(a, b, rows, _all(size), (n, m), rows, dtype),
        ),
        _Way(
            _spread(a) + _move(b, columns),
            lambda: _product(a, b, _all(size), columns, (n, m), columns, dtype),
        ),
        _Way(
            _move(a, columns) + _move(b, rows) + 2.0 * n * m * (size > 1),
            lambda: _inner(a, b, dtype),
        ),
    ]
    return min(ways, key=lambda way: way.moved).run()


def _split(axis: int, size: int, ndim: int = 2) -> Layout:
    """Return the layout with blocks along one axis."""
    if size == 1:
        return _all(size, ndim)
    dims = tuple(0 if d == axis else -1 for d in range(ndim))
    axes = tuple(Block() if d == axis else Whole() for d in range(ndim))
    return Layout(Grid.of((size,)), axes, dims)


def _all(size: int, ndim: int = 2) -> Layout:
    return replicated(ndim, size)


def _lies(x: DistArray, layout: Layout) -> bool:
    """Tell whether ``x`` is all of a base with this layout, so that it need not be copied."""
    return x._base.layout == layout and x._view.is_whole(x._base.shape)


def _spread(x: DistArray) -> float:
    """Return the elements that travel to give every engine all of ``x``."""
    placed = x.placed
    held = not any(placed.maps) and not placed.pinned and placed.layout.copies == x.session.size
    return 0.0 if held else float(x.size) * (x.session.size - 1)


def _move(x: DistArray, layout: Layout) -> float:
    """Return (about) the elements that travel to bring ``x`` into a layout."""
    if layout.copies > 1 or layout.grid.size == 1:
        return 0.0
    axis = layout.dims.index(0)
    m = x.placed.maps[axis]
    others = any(other for d, other in enumerate(x.placed.maps) if d != axis)
    if (
        m is not None
        and not others
        and m.step > 0
        and not m.axis.period(m.p)
        and m.p == x.session.size
    ):
        return 0.0
    return 0.0 if _spread(x) == 0.0 else float(x.size)


def _in(x: DistArray, layout: Layout) -> DistArray:
    return x if _lies(x, layout) else copied(x, x.dtype, layout)


def _product(
    a: DistArray, b: DistArray, la: Layout, lb: Layout, shape: Ints, lo: Layout, dtype: np.dtype
) -> DistArray:
    """Multiply what each engine holds of two operands that were brought into these layouts."""
    out = create(a.session, shape, dtype, lo, ("empty",))
    _call("matmul", out, (_in(a, la), _in(b, lb)))
    return out


def _inner(a: DistArray, b: DistArray, dtype: np.dtype) -> DistArray:
    """Multiply the engines' parts along the summed axis, and add up the partial products."""
    size = a.session.size
    shape = (size, a.shape[0], b.shape[1])
    partial = create(a.session, shape, dtype, _split(0, size, 3), ("fill", 0))
    _call("matmul", partial, (_in(a, _split(1, size)), _in(b, _split(0, size))))
    return reduce("any", partial, 0) if dtype.kind == "b" else reduce("sum", partial, 0, dtype)


def _stacked(a: DistArray, b: DistArray, dtype: np.dtype) -> DistArray:
    """Multiply stacks of matrices: each engine does some of the stack."""
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        _need("matmul", False, a, b)
    size, ndim = a.session.size, len(stack) + 2
    layout = _split(0, size, ndim) if prod(stack) else _all(size, ndim)
    wide = [x._look(x._view.broadcast((*stack, *x.shape[-2:])), writeable=False) for x in (a, b)]
    shape = (*stack, a.shape[-2], b.shape[-1])
    return _product(wide[0], wide[1], layout, layout, shape, layout, dtype)


def _call(op: str, out: DistArray, ins: tuple[DistArray, ...]) -> None:
    session = out.session
    operands = tuple(x.operand for x in ins)
    session.record(Local(op, out.operand, operands, session.site()))
