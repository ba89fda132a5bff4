"""Products made of others: ``cross``, ``multi_dot``, and the names of ``numpy.linalg``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import warn_user
from distnb.client.handle.array import Array, create
from distnb.client.handle.indexing import one_axis
from distnb.client.linalg import contractions, factorizations, products
from distnb.client.linalg.matrix_commands import operands
from distnb.client.record.creation import asarray
from distnb.client.record.eager import at_once, delivered
from distnb.client.record.namespace import stands_for
from distnb.client.shape.reshaping import reshape
from distnb.client.shape.viewing import moveaxis
from distnb.common.errors import explain
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Layout
from distnb.geometry.views import follow

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
]


# -- chains of matrices --------------------------------------------------------------------------


@stands_for(np.linalg.multi_dot, small="home")
def multi_dot(arrays: Sequence[Any], *, out: Array | None = None) -> Array:
    """Multiply several matrices in the order that needs the fewest multiplications.

    The order follows from the shapes alone. Each product lies, and sends, as :func:`distnb.matmul`.

    Parameters
    ----------
    arrays : sequence of array_like
        Matrices whose lengths fit; the first and the last may be vectors.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        The product; a number if both ends are vectors.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a, b = dnb.ones((9, 2), dist="block"), dnb.ones((2, 9), dist="block")
    ...     dnb.linalg.multi_dot([a, b, a]).to_numpy()[0]
    array([18., 18.])
    """
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    found = list(operands(*arrays))
    for k, x in enumerate(found):
        if x.ndim != 2 and not (x.ndim == 1 and k in (0, len(found) - 1)):
            raise np.linalg.LinAlgError(
                explain(f"array {k}", f"{x.ndim} axes", "2", "only the ends may be vectors")
            )
    lengths = [x.shape[0] if x.ndim == 2 else 1 for x in found[:1]]
    lengths += [x.shape[0] for x in found[1:]]
    lengths.append(found[-1].shape[1] if found[-1].ndim == 2 else 1)
    result = _multiply(found, _splits(lengths), 0, len(found) - 1)
    if out is not None and out.dtype != result.dtype:
        raise ValueError(explain("out", out.dtype, result.dtype, "pass an array of that dtype"))
    return delivered(result, out)


def _splits(n: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return for each run of matrices where to split it (matrix i is n[i] x n[i + 1])."""
    count = len(n) - 1
    cost = {(i, i): 0 for i in range(count)}
    best = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            ways = {
                k: cost[i, k] + cost[k + 1, j] + n[i] * n[k + 1] * n[j + 1] for k in range(i, j)
            }
            best[i, j] = min(ways, key=ways.__getitem__)
            cost[i, j] = ways[best[i, j]]
    return best


def _multiply(arrays: Sequence[Array], best: dict[tuple[int, int], int], i: int, j: int) -> Array:
    if i == j:
        return arrays[i]
    k = best[i, j]
    return products.dot(_multiply(arrays, best, i, k), _multiply(arrays, best, k + 1, j))


# -- equations of more axes ----------------------------------------------------------------------


@stands_for(np.linalg.tensorinv, small="home")
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of an array with respect to :func:`distnb.tensordot` over some axes.

    It is the inverse of a matrix, reshaped: what is sent is what two reshapes and
    :func:`distnb.linalg.inv` send.

    Parameters
    ----------
    a : array_like
        Its first ``ind`` axes have as many indices together as the others.
    ind : int
        How many of the first axes are the rows of the matrix.

    Returns
    -------
    DistArray
        Of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    LinAlgError
        If the matrix is singular: from the engines, when a value is read.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.reshape(2 * dnb.eye(6), (6, 2, 3))
    ...     dnb.linalg.tensorinv(a, ind=1).shape
    (2, 3, 6)
    """
    (x,) = operands(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = x.shape[ind:] + x.shape[:ind]
    found = factorizations.inv(reshape(x, (prod(x.shape[:ind]), prod(x.shape[ind:]))))
    return reshape(found, shape)


@stands_for(np.linalg.tensorsolve, small="home")
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solve ``tensordot(a, x, x.ndim) == b`` for ``x``.

    It is a system of linear equations, reshaped: what is sent is what two reshapes and
    :func:`distnb.linalg.solve` send.

    Parameters
    ----------
    a : array_like
        The coefficients, of shape ``b.shape`` and that of the solution.
    b : array_like
        The right hand side.
    axes : sequence of int, optional
        Axes of ``a`` that are moved to its end first.

    Returns
    -------
    DistArray
        The solution, of the shape that ``a`` has after that of ``b``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.reshape(2 * dnb.eye(6), (6, 2, 3))
    ...     dnb.linalg.tensorsolve(a, dnb.ones(6)).to_numpy()
    array([[0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]])
    """
    x, y = operands(a, b)
    moved = [one_axis(d, x.ndim) for d in axes or ()]
    x = x.transpose([*(d for d in range(x.ndim) if d not in moved), *moved])
    shape = x.shape[-(x.ndim - y.ndim) :]
    n = prod(shape)
    if x.size != n**2:
        raise np.linalg.LinAlgError(
            explain("tensorsolve", f"{x.shape}", "as many rows as columns", "see axes=")
        )
    return reshape(factorizations.solve(reshape(x, (n, n)), reshape(y, -1)), shape)


# -- vectors of three numbers --------------------------------------------------------------------


@stands_for(np.cross, small="exact", scalar=False)
def cross_(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Return the cross product of vectors of two or three numbers.

    It is computed from views of the components: the result lies as these, and its vectors are not
    split. Nothing is sent if both operands lie alike and their vectors are not split.

    Parameters
    ----------
    a, b : array_like
        The vectors; their other axes broadcast.
    axisa, axisb, axisc : int
        Along which axis of the operands and of the result vectors lie.
    axis : int, optional
        The same axis for all three.

    Returns
    -------
    DistArray
        Vectors, or the third components of those of two numbers.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.cross(dnb.array([[1, 0, 0], [0, 1, 0]], dist="block"), [0, 0, 1]).to_numpy()
    array([[ 0, -1,  0],
           [ 1,  0,  0]])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = operands(a, b)
    if 0 in (x.ndim, y.ndim):
        raise ValueError("At least one array has zero dimension")
    found = at_once(np.cross, x, y, axisa, axisb, axisc)
    if found is not None:
        return found
    dtype = np.promote_types(x.dtype, y.dtype)
    (a0, a1, a2), (b0, b1, b2) = (
        _components(z if z.dtype == dtype else z.astype(dtype), d)
        for z, d in ((x, axisa), (y, axisb))
    )
    last = _minor(a0, b1, a1, b0)
    if a2 is None or b2 is None:
        warn_user(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors "
            "instead. (deprecated in NumPy 2.0)",
            DeprecationWarning,
        )
        if a2 is None and b2 is None:
            return last
    minors = (_minor(a1, b2, a2, b1), _minor(a2, b0, a0, b2), last)
    return _stacked([asarray(part, session=x.session) for part in minors], axisc)


def _components(x: Array, axis: int) -> list[Any]:
    d = one_axis(axis, x.ndim)
    if x.shape[d] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    found = [x.alias(x.dview.fix(d, i)) for i in range(x.shape[d])]
    return found if len(found) == 3 else [*found, None]


def _minor(p: Any, q: Any, r: Any, s: Any) -> Array:
    """Return ``p * q - r * s``; None is 0."""
    if p is None or q is None:
        return -(r * s)
    return p * q if r is None or s is None else p * q - r * s


def _stacked(parts: Sequence[Array], axis: int) -> Array:
    """Return arrays along a new axis, which is not split."""
    like = parts[0]
    d = one_axis(axis, like.ndim + 1)
    layout = follow(like.placed, like.session.size)[0]
    longer = Layout(layout.grid, (*layout.axes, Whole()), (*layout.dims, -1))
    found = create(like.session, (*like.shape, len(parts)), like.dtype, longer, ("empty",))
    for i, part in enumerate(parts):
        found[..., i] = part
    return moveaxis(found, -1, d)


# -- the names of numpy.linalg -------------------------------------------------------------------


@stands_for(np.linalg.cross, small="exact")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three numbers along an axis.

    Layout and messages are those of :func:`distnb.cross`.

    Parameters
    ----------
    x1, x2 : array_like
        The vectors; their other axes broadcast.
    axis : int
        Along which axis vectors lie, in the operands and in the result.

    Returns
    -------
    DistArray
        The vectors.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.cross(dnb.array([[1, 0, 0], [0, 1, 0]], dist="block"), [0, 0, 1]).to_numpy()
    array([[ 0, -1,  0],
           [ 1,  0,  0]])
    """
    x, y = operands(x1, x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[axis]} and {y.shape[axis]} dimensional instead."
        )
    return cross_(x, y, axis=axis)


@stands_for(np.linalg.diagonal)
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return the diagonals of the matrices in the last two axes, as a read-only view.

    Layout and messages are those of :func:`distnb.diagonal`.

    Parameters
    ----------
    x : array_like
        A matrix, or a stack.
    offset : int
        Which diagonal; above the main one if positive.

    Returns
    -------
    DistArray
        The diagonals, along the last axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.diagonal(dnb.array([[1, 2], [3, 4]], dist="block")).to_numpy()
    array([1, 4])
    """
    return contractions.diagonal(x, offset, -2, -1)


@stands_for(np.linalg.trace, small="home")
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Sum the diagonals of the matrices in the last two axes.

    Layout and messages are those of :func:`distnb.sum` over the diagonals.

    Parameters
    ----------
    x : array_like
        A matrix, or a stack.
    offset : int
        Which diagonal; above the main one if positive.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.

    Returns
    -------
    DistArray
        The sums, of the shape of the stack.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.linalg.trace(dnb.eye(5, dist="block")))
    5.0
    """
    return contractions.trace(x, offset, -2, -1, dtype)


@stands_for(np.linalg.matmul, small="wide")
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply matrices, as :func:`distnb.matmul`, whose layout and messages it has.

    Parameters
    ----------
    x1, x2 : array_like
        Matrices, stacks of them, or vectors.

    Returns
    -------
    DistArray
        The product.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.ones((4, 3), dist="block")
    ...     dnb.linalg.matmul(a, [[1], [2], [3]]).to_numpy()[:, 0]
    array([6., 6., 6., 6.])
    """
    return products.matmul(x1, x2)


@stands_for(np.linalg.outer, small="grows")
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply each element of one vector with each of another.

    Layout and messages are those of :func:`distnb.outer`.

    Parameters
    ----------
    x1, x2 : array_like
        Of one axis.

    Returns
    -------
    DistArray
        Of shape ``(len(x1), len(x2))``.

    Raises
    ------
    ValueError
        If one has more or fewer axes, unlike :func:`distnb.outer`, which flattens.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.outer(dnb.arange(3, dist="block"), [1, 2]).to_numpy()
    array([[0, 0],
           [1, 2],
           [2, 4]])
    """
    x, y = operands(x1, x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x.ndim} and x2.ndim={y.ndim}."
        )
    return contractions.outer(x, y)


@stands_for(np.linalg.tensordot, small="wide")
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: contractions.SummedAxes = 2) -> Array:
    """Sum products over axes of two arrays, as :func:`distnb.tensordot`, which sends the same.

    Parameters
    ----------
    x1, x2 : array_like
        The operands.
    axes : int, or two sequences of int
        The last so many axes of ``x1`` and the first of ``x2``; or those of each.

    Returns
    -------
    DistArray
        Of the axes that are left, those of ``x1`` first.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.ones((4, 3), dist="block")
    ...     dnb.linalg.tensordot(a, a, axes=2).to_numpy()
    array(12.)
    """
    return contractions.tensordot(x1, x2, axes)


@stands_for(np.linalg.vecdot, small="home")
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Sum the products of (the conjugate of) vectors along an axis.

    Layout and messages are those of :func:`distnb.vecdot`.

    Parameters
    ----------
    x1, x2 : array_like
        The vectors; the first are conjugated. Other axes broadcast.
    axis : int
        Along which axis vectors lie.

    Returns
    -------
    DistArray
        A number for each pair of vectors.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linalg.vecdot(dnb.ones((3, 2), dist="block"), [1, 2]).to_numpy()
    array([3., 3., 3.])
    """
    return products.vecdot(x1, x2, axis=axis)


@stands_for(np.matrix_transpose)
@stands_for(np.linalg.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Return the view with the last two axes exchanged; nothing is sent.

    Parameters
    ----------
    x : array_like
        A matrix, or a stack.

    Returns
    -------
    DistArray
        A view: each element stays where it is, so rows that were split are columns that are.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.matrix_transpose(dnb.array([[1, 2], [3, 4]], dist="block")).to_numpy()
    array([[1, 3],
           [2, 4]])
    """
    (found,) = operands(x)
    return found.mT
