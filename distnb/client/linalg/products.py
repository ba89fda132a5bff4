"""Products of matrices and vectors: ``@``, ``matmul``, ``dot``, ``vecdot``, ``matvec``, ``vecmat``.

A product of n x k and k x m matrices is computed in one of three ways, whichever moves the least:
the left operand stays split by rows and every engine gets the right one; the right operand stays
split by columns and every engine gets the left one; or both are split along k, and the engines'
partial products are added up. If an operand lies on a grid, there are the ways of
:mod:`distnb.client.linalg.grid_products` as well. Local products are NumPy's (BLAS).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create, numeric, room_for
from distnb.client.handle.conversion import array_of, as_dist, in_layout
from distnb.client.handle.fields import fits, fresh
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.linalg import grid_products
from distnb.client.linalg.contraction_commands import (
    add_up,
    contract,
    move,
    split,
    spread,
)
from distnb.client.linalg.grid_products import Way, multiply_parts
from distnb.client.linalg.matrix_commands import operands
from distnb.client.math.core_axes import Wanted, core_axes, delivered_at, places, to_end
from distnb.client.math.ufuncs import add_facts
from distnb.client.reach.admission import admitted, read_of
from distnb.client.reach.decorators import in_reach
from distnb.client.reach.methods import dots
from distnb.client.reach.rehearsal import part, promise
from distnb.client.reach.small_products import product
from distnb.client.reach.small_steps import made_of
from distnb.client.record.eager import Out, check_shape, delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.common.machine import blas_threads
from distnb.geometry.layout import Ints, Layout, replicated
from distnb.geometry.views import View, broadcast_shapes

__all__ = ["dot", "matmul", "matvec", "vecdot", "vecmat"]

#: Multiplications and additions, and bytes, of products that NumPy does in 20 ms or so.
_WORK, _TOUCHED = 1 << 31, 1 << 28
#: So many times as many are the notebook's if BLAS has as many threads there as all engines have.
_EQUAL = 8
#: Dtypes that BLAS multiplies; others take many times as long.
_BLAS = "fdFD"


@stands_for(np.matmul, small="wide")
def matmul(x1: ArrayLike, x2: ArrayLike, out: Out = None, **options: Any) -> Array:
    """Multiply matrices.

    The operand that is large stays: if split by rows, every engine gets the other one, and the
    result is split by rows; likewise for columns. Or both are split along the summed axis: then
    partial products are added up, and every engine gets the result. Taken is the way in which the
    least travels. If both axes of an operand are split, the result is in blocks on the same grid,
    or a row or column of it has copies. Stacks are split as by :func:`distnb.tensordot`.

    Parameters
    ----------
    x1, x2 : array_like
        Matrices, stacks of them that broadcast, or vectors.
    out : DistArray, optional
        Where the result is put.
    **options
        ``axes``, ``dtype``, ``casting`` of NumPy's generalized ufuncs.

    Returns
    -------
    DistArray
        The product; a vector gives no axis.

    Raises
    ------
    ValueError
        If lengths do not fit, or one operand is a number.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.ones((4, 3), dist="block")
    ...     (a @ dnb.arange(3)).to_numpy()
    array([3., 3., 3., 3.])
    """
    if options:
        return _with_options(np.matmul, matmul, (x1, x2), out, options)
    a, b = operands(x1, x2)
    if out is None:
        found = product(a, b, matmul)
        if found is not None:
            return found
    _check("matmul", a, b)
    core = min(a.ndim, 2) + min(b.ndim, 2) - 2
    dtype = np.matmul(np.zeros((1, 1), a.dtype), np.zeros((1, 1), b.dtype)).dtype
    if all_here((a, b), a.session) and _small(a, b, dtype):
        product_ = np.asarray(watched("matmul", np.matmul, a.here, b.here))
        return _put(array_of(a.session, product_), out, core, "matmul")
    found = _in_reach(a, b, dtype)
    if found is not None:
        return _put(found, out, core, "matmul")
    a, b = as_dist(a, a.session), as_dist(b, a.session)
    if dtype == np.float16:  # which NumPy sums in single precision, without BLAS
        found = matmul(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
        return _put(found, out, core, "matmul")
    left, right = a, b
    if a.ndim == 1:
        left = a.alias(a.dview.insert(0))
    if b.ndim == 1:
        right = b.alias(b.dview.insert(1))
    found = _stacked(left, right) if max(a.ndim, b.ndim) > 2 else _matrices(left, right, dtype)
    if b.ndim == 1:
        found = found.alias(found.dview.fix(found.ndim - 1, 0))
    if a.ndim == 1:
        found = found.alias(found.dview.fix(found.ndim - (1 if b.ndim == 1 else 2), 0))
    return _put(found, out, core, "matmul")


@stands_for(np.dot)
@dots
def dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> Array:
    """Sum products over the last axis of one array and the last but one of the other.

    Layout and messages are those of :func:`matmul`; with more than two axes, those of
    :func:`distnb.tensordot`. With a number it is an elementwise product.

    Parameters
    ----------
    a, b : array_like
        The operands.
    out : DistArray, optional
        Where the result is put: just what would be returned, of its dtype, shape and order.

    Returns
    -------
    DistArray
        Of the axes that are left, those of ``a`` first.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.dot(dnb.arange(4.0, dist="block"), dnb.ones(4, dist="block")))
    6.0
    """
    if out is None and isinstance(a, Array) and isinstance(b, Array):
        found = product(a, b, matmul, run=np.dot)
        if found is not None:
            return found
    return _dot(a, b, out)


@in_reach(np.dot, "wide")
def _dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> Any:
    """Return what :func:`dot` does, of other operands than small vectors in reach."""
    x, y = operands(a, b)
    if out is not None:
        _check_exact(out, x, y)
    if out is None and min(x.ndim, y.ndim) > 0 and max(x.ndim, y.ndim) < 3:
        found = product(x, y, matmul, run=np.dot)
        if found is not None:
            return found
    if 0 in (x.ndim, y.ndim):
        return delivered(elementwise("multiply", x, y), out)
    if max(x.ndim, y.ndim) > 2:
        _check("dot", x, y)
        last = y.ndim - 2 if y.ndim > 1 else 0
        ia = tuple(range(x.ndim))
        ib = tuple(ia[-1] if d == last else x.ndim + d for d in range(y.ndim))
        io = (*ia[:-1], *(i for i in ib if i != ia[-1]))
        return delivered(contract(x, ia, y, ib, io), out)
    return matmul(x, y, out=out)


@stands_for(np.vecdot, small="home")
def vecdot(
    x1: ArrayLike, x2: ArrayLike, out: Out = None, *, axis: int = -1, **options: Any
) -> Array:
    """Sum the products of (the conjugate of) vectors along an axis.

    An elementwise product, which is summed: it lies, and sends, as :func:`distnb.sum` along the
    axis.

    Parameters
    ----------
    x1, x2 : array_like
        The vectors; the first are conjugated. Other axes broadcast.
    out : DistArray, optional
        Where the result is put.
    axis : int
        Along which axis vectors lie.
    **options
        ``axes``, ``keepdims``, ``dtype``, ``casting`` of NumPy's generalized ufuncs.

    Returns
    -------
    DistArray
        A number for each pair of vectors.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.vecdot(dnb.ones((3, 2), dist="block"), [1, 2]).to_numpy()
    array([3., 3., 3.])
    """
    if axis != -1:
        options["axis"] = axis
    if options:
        return _with_options(np.vecdot, vecdot, (x1, x2), out, options)
    a, b = operands(x1, x2)
    _need("vecdot", a.ndim >= 1 and b.ndim >= 1 and a.shape[-1] == b.shape[-1], a, b)
    dtype = np.vecdot(np.zeros(1, a.dtype), np.zeros(1, b.dtype)).dtype
    terms = elementwise("multiply", elementwise("conjugate", a) if a.dtype.kind == "c" else a, b)
    kind = None if dtype.kind == "b" else dtype
    return _put(reduce("any" if kind is None else "sum", terms, -1, kind), out, 0, "vecdot")


@stands_for(np.matvec, small="wide")
def matvec(x1: ArrayLike, x2: ArrayLike, out: Out = None, **options: Any) -> Array:
    """Multiply matrices with vectors.

    Layout and messages are those of :func:`matmul`: of a matrix that is split by rows every engine
    gets the vector, and the result is split as the rows.

    Parameters
    ----------
    x1 : array_like
        A matrix, or a stack.
    x2 : array_like
        A vector, or a stack; the axes of stacks broadcast.
    out : DistArray, optional
        Where the result is put.
    **options
        ``axes``, ``dtype``, ``casting`` of NumPy's generalized ufuncs.

    Returns
    -------
    DistArray
        Vectors, along the last axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.matvec(dnb.ones((4, 3), dist="block"), [1, 2, 3]).to_numpy()
    array([6., 6., 6., 6.])
    """
    if options:
        return _with_options(np.matvec, matvec, (x1, x2), out, options)
    a, x = operands(x1, x2)
    _need("matvec", a.ndim >= 2 and x.ndim >= 1 and a.shape[-1] == x.shape[-1], a, x)
    found = matmul(a, x.alias(x.dview.insert(x.ndim)))
    return _put(found.alias(found.dview.fix(found.ndim - 1, 0)), out, 1, "matvec")


@stands_for(np.vecmat, small="wide")
def vecmat(x1: ArrayLike, x2: ArrayLike, out: Out = None, **options: Any) -> Array:
    """Multiply (conjugated) vectors with matrices.

    Layout and messages are those of :func:`matmul`.

    Parameters
    ----------
    x1 : array_like
        A vector, or a stack.
    x2 : array_like
        A matrix, or a stack; the axes of stacks broadcast.
    out : DistArray, optional
        Where the result is put.
    **options
        ``axes``, ``dtype``, ``casting`` of NumPy's generalized ufuncs.

    Returns
    -------
    DistArray
        Vectors, along the last axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.vecmat([1, 2, 3, 4], dnb.ones((4, 2), dist="block")).to_numpy()
    array([10., 10.])
    """
    if options:
        return _with_options(np.vecmat, vecmat, (x1, x2), out, options)
    x, a = operands(x1, x2)
    _need("vecmat", a.ndim >= 2 and x.ndim >= 1 and a.shape[-2] == x.shape[-1], x, a)
    row = elementwise("conjugate", x) if x.dtype.kind == "c" else x
    found = matmul(row.alias(row.dview.insert(row.ndim - 1)), a)
    return _put(found.alias(found.dview.fix(found.ndim - 2, 0)), out, 1, "vecmat")


# -- arguments ---------------------------------------------------------------------------------


# -- axes= and its like: other axes in place of the last ones -------------------------------------


def _with_options(
    ufunc: np.ufunc,
    product: Callable[..., Any],
    inputs: Sequence[ArrayLike],
    out: Out,
    options: dict[str, Any],
) -> Any:
    """Do a product with options of NumPy's generalized ufuncs; raise TypeError for unknown ones."""
    known = dict(options)
    wanted = Wanted.of(known)
    dtype, casting = known.pop("dtype", None), known.get("casting", "same_kind")
    for name in known.keys() - {"casting", "order", "subok"}:
        raise TypeError(explain(f"{ufunc.__name__}()", f"{name}=", "out or axes", "leave it out"))
    arrays = operands(*inputs)
    at = places(ufunc, core_axes(str(ufunc.signature), arrays), wanted)
    moved = [to_end(x, axes) for x, axes in zip(arrays, at, strict=False)]
    given, kind = [x.dtype for x in arrays], None if dtype is None else numeric(dtype)
    signature = (*[None] * len(given), kind)
    ufunc.resolve_dtypes((*given, None), signature=signature, casting=casting)  # or raises
    if kind is not None:
        moved = [x.astype(kind, casting=casting) for x in moved]
    found = product(*moved)
    if wanted.keepdims:
        found = found[..., None] if isinstance(found, Array) else np.asarray(found)[..., None]
    return delivered_at(at[-1], found, out, casting, ufunc.__name__)


# -- outputs ---------------------------------------------------------------------------------------


def _put(found: Any, out: Out, core: int, name: str) -> Any:
    """Return a product, or ``out`` with it; ``core`` axes of it are no loop's."""
    return delivered(found, out, "same_kind", core, name)


def _check_exact(out: Any, x: Array, y: Array) -> None:
    """Raise ValueError unless an output of ``dot`` is one that NumPy accepts."""
    one = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if not isinstance(one, Array | np.ndarray):
        return
    dtype = np.result_type(x.dtype, y.dtype)
    if one.dtype != dtype or not one.flags.c_contiguous:
        raise ValueError(
            explain("out", f"{one.dtype}, maybe a view", f"{dtype} in C order", "pass one")
        )
    if x.ndim and y.ndim:  # a loop of matmul's would repeat the product along more axes
        check_shape(one.shape, x.shape[:-1] + y.shape[:-2] + y.shape[-1:] * (y.ndim > 1))


# -- checks ----------------------------------------------------------------------------------------


def _need(name: str, good: bool, a: Array, b: Array) -> None:
    if not good:
        raise ValueError(
            explain(
                f"{name}", f"{a.shape} and {b.shape}", "summed axes of one length", "transpose one"
            )
        )


def _check(name: str, a: Array, b: Array) -> None:
    if 0 in (a.ndim, b.ndim):
        raise ValueError(
            explain(name, f"{a.ndim} and {b.ndim} axes", "at least 1 each", "use * for scalars")
        )
    _need(name, a.shape[-1] == b.shape[-2 if b.ndim > 1 else 0], a, b)


def _in_reach(a: Array, b: Array, dtype: np.dtype) -> Any:
    """Multiply in the notebook what takes NumPy a few milliseconds; return None if it is not.

    BLAS has all cores there, too, so that engines would be no quicker, and waited for. They would
    be slower where it was just used: its threads look for more work for 0.1 s, on engines' cores.
    """
    session, shape = a.session, _shape(a.shape, b.shape)
    if shape is None or not min(a.size, b.size):
        return None
    work, nbytes = 2 * a.size * b.size // max(a.shape[-1], 1), prod(shape) * dtype.itemsize
    if work > _most_work(session, dtype) or read_of(a) + read_of(b) + nbytes > _TOUCHED:
        return None
    if not admitted(session, (a, b), 0) or (x := a.near) is None or (y := b.near) is None:
        return None
    layout = promise(session, matmul, (part(a), part(b)), {}, shape, 0)
    memory = None
    if nbytes > config.cutoff:
        memory = room_for(session, shape, dtype, layout.layout())
        if memory is None:  # engines hold it, or say that there is no room
            return None
    found = np.asarray(watched("matmul", np.matmul, x, y, out=memory))
    session.large.touch()
    if memory is not None:
        return made_of(session, found, layout.layout(), memory)
    return fresh(session, found, layout) if shape else found[()]


def _most_work(session: Session, dtype: np.dtype) -> int:
    """Return how much of a product of a dtype is the notebook's; Ctrl-C waits for its end."""
    if dtype.char not in _BLAS:
        return _WORK >> 6
    theirs = sum(about.get("threads", 1) for about in session.transport.about)
    if blas_threads() < theirs:
        return _WORK
    return _WORK * _EQUAL >> 2 * (dtype.kind == "c")  # for these it takes four times as long


def _shape(a: Ints, b: Ints) -> Ints | None:
    """Return the shape of a product; None if stacks do not fit, which is explained elsewhere."""
    try:
        stack = broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return None
    return (*stack, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _small(a: Array, b: Array, dtype: np.dtype) -> bool:
    """Tell whether the product of two arrays in the notebook is to stay there."""
    shape = _shape(a.shape, b.shape)
    return shape is not None and fits(prod(shape) * dtype.itemsize)


# -- three ways to multiply two matrices -----------------------------------------------------------


def _matrices(a: Array, b: Array, dtype: np.dtype) -> Array:
    """Multiply n x k and k x m matrices in the way that moves the least."""
    size, n, m = a.session.size, a.shape[0], b.shape[1]
    rows, columns = split(0, size), split(1, size)
    ways = [
        Way(
            move(a, rows) + spread(b),
            lambda: _product(a, b, rows, replicated(2, size), (n, m), rows, dtype),
        ),
        Way(
            spread(a) + move(b, columns),
            lambda: _product(a, b, replicated(2, size), columns, (n, m), columns, dtype),
        ),
        Way(
            move(a, columns) + move(b, rows) + 2.0 * n * m * (size > 1),
            lambda: _inner(a, b, dtype),
        ),
        *grid_products.ways(a, b, dtype),
    ]
    return min(ways, key=lambda way: way.moved).run()


def _product(
    a: Array, b: Array, la: Layout, lb: Layout, shape: Ints, lo: Layout, dtype: np.dtype
) -> Array:
    """Multiply what each engine holds of two operands that were brought into these layouts."""
    out = create(a.session, shape, dtype, lo, ("empty",))
    multiply_parts(out, _lying(a, la), _lying(b, lb))
    return out


def _inner(a: Array, b: Array, dtype: np.dtype) -> Array:
    """Multiply the engines' parts along the summed axis, and add up the partial products."""
    size = a.session.size
    shape = (size, a.shape[0], b.shape[1])
    partial = create(a.session, shape, dtype, split(0, size, 3), ("fill", 0))
    multiply_parts(partial, _lying(a, split(1, size)), _lying(b, split(0, size)))
    return add_up(partial, (0,))


def _lying(x: Array, layout: Layout) -> Array:
    """Return ``x`` in a layout: itself, maybe as the transposed view of a base, or a copy."""
    base = x.dbase
    turned = len(base.shape) == 2 and x.dview == View.whole(base.shape).transpose((1, 0))
    if turned and layout == base.layout.T:
        return x
    return in_layout(x, layout)


def _stacked(a: Array, b: Array) -> Array:
    """Multiply stacks of matrices; axes of the stack that are stretched are left out."""
    try:
        stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        _need("matmul", False, a, b)
    n = len(stack)
    x, ia = _labelled(a, stack, (n, n + 1))
    y, ib = _labelled(b, stack, (n + 1, n + 2))
    io = (*range(n), n, n + 2)
    found = contract(x, ia, y, ib, tuple(i for i in io if i in ia or i in ib))
    for d in [d for d in range(n) if d not in ia and d not in ib]:
        found = found.alias(found.dview.insert(d))
    return found


def _labelled(x: Array, stack: Ints, last: Ints) -> tuple[Array, Ints]:
    """Return an operand without axes of length 1 of the stack, and the labels of those left."""
    labels: list[int] = []
    first = len(stack) - (x.ndim - 2)
    for d in range(first, len(stack)):
        if x.shape[len(labels)] == 1:
            x = x.alias(x.dview.fix(len(labels), 0))
        else:
            labels.append(d)
    return x, (*labels, *last)


for _function, _ufunc in (
    (matmul, np.matmul),
    (matvec, np.matvec),
    (vecdot, np.vecdot),
    (vecmat, np.vecmat),
):
    add_facts(_function, _ufunc)
