"""Products of arrays that sum over axes: ``tensordot``, ``einsum`` and their like, and diagonals.

All are made of one operation on two arrays (:mod:`distnb.client.linalg.contraction_commands`). The
result is split along the axis for which the least travels; if that is a summed one, every engine
gets the result.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of, as_dist, in_layout
from distnb.client.handle.fields import at_hand, beside, fits
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.handle.indexing import one_axis
from distnb.client.linalg.contraction_commands import contract
from distnb.client.linalg.matrix_commands import local, operands
from distnb.client.math.reductions import sum_
from distnb.client.reach.aliasing import look_at
from distnb.client.record.creation import asarray
from distnb.client.record.eager import delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange
from distnb.client.shape.reshaping import reshape
from distnb.common.errors import explain
from distnb.geometry.axes import (
    Axis,
    Block,
    Irregular,
    Whole,
)
from distnb.geometry.layout import (
    Grid,
    Ints,
    Layout,
    replicated,
)
from distnb.geometry.views import follow

#: Axis that are summed: the last so many and the first so many, or some of either operand.
SummedAxes: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]

__all__ = ["diagonal", "inner", "kron", "outer", "tensordot", "trace", "vdot"]


@stands_for(np.tensordot, small="products", scalar=False)
def tensordot(a: ArrayLike, b: ArrayLike, axes: SummedAxes = 2) -> Array:
    """Sum products over axes of two arrays.

    One axis is split over all engines, that for which the least travels. Operands that have it are
    brought into blocks along it, the other goes to every engine. The result lies in blocks along
    it; if it is one that is summed, engines' partial results are added up, and all get the result.

    Parameters
    ----------
    a, b : array_like
        The operands.
    axes : int, or two sequences of int
        The last so many axes of ``a`` and the first of ``b``; or those of each.

    Returns
    -------
    DistArray
        Of the axes that are left, those of ``a`` first.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.ones((4, 5, 6))
    ...     dnb.tensordot(a, a, axes=([0, 2], [0, 2])).shape
    (5, 5)
    """
    x, y = operands(a, b)
    left, right = _summed(axes)
    pairs = _pairs(x, left, y, right)
    of = {j: i for i, j in pairs}
    if len(set(of.values())) < len(pairs):
        raise ValueError(
            explain("tensordot", f"axes {left} and {right}", "each axis once", "see axes=")
        )
    ia = tuple(range(x.ndim))
    ib = tuple(of.get(d, x.ndim + d) for d in range(y.ndim))
    return _contract(x, ia, y, ib, tuple(i for i in ia + ib if (i in ia) != (i in ib)))


def _summed(axes: SummedAxes) -> tuple[list[int], list[int]]:
    """Return the axes of either operand that are summed."""
    if not np.iterable(axes):
        n = operator.index(axes)
        return list(range(-n, 0)), list(range(n))
    left, right = axes
    return ([*left] if np.iterable(left) else [left]), ([*right] if np.iterable(right) else [right])


def _pairs(x: Array, left: list[int], y: Array, right: list[int]) -> list[tuple[int, int]]:
    """Return axes of two operands that are summed together; raise what is wrong first."""
    found = []
    fit = len(left) == len(right)
    for i, j in zip(left, right, strict=True) if fit else ():
        found.append((_axis(i, x), _axis(j, y)))
        fit = x.shape[i] == y.shape[j]
        if not fit:
            break
    if not fit:
        raise ValueError(
            explain(
                "tensordot", f"{x.shape} and {y.shape}", "pairs of axes of one length", "see axes="
            )
        )
    return found


def _axis(d: SupportsIndex, x: Array) -> int:
    d = operator.index(d)
    if not -x.ndim <= d < x.ndim:
        raise IndexError(explain("axis", d, f"one of an array with {x.ndim}", "see axes="))
    return d % x.ndim


def _contract(x: Array, ia: Ints, y: Array, ib: Ints, io: Ints) -> Array:
    if len(set(ia)) < len(ia) or len(set(ib)) < len(ib):
        raise ValueError(explain("axes", "one twice", "each once", "sum over other axes"))
    return contract(x, ia, y, ib, io)


@stands_for(np.inner, small="products", scalar=True)
def inner(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Sum products over the last axes of two arrays.

    Layout and messages are those of :func:`tensordot` over the last axes; with a number it is an
    elementwise product.

    Parameters
    ----------
    a, b : array_like
        The operands, whose last axes are as long.

    Returns
    -------
    DistArray
        Of the axes that are left, those of ``a`` first.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.inner(dnb.ones((3, 2), dist="block"), [1, 2]).to_numpy()
    array([3., 3., 3.])
    """
    x, y = operands(a, b)
    if 0 in (x.ndim, y.ndim):
        return elementwise("multiply", x, y)
    return tensordot(x, y, (-1, -1))


@stands_for(np.vdot, small="products", scalar=True)
def vdot(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Sum the products of all elements of two arrays, those of the first conjugated.

    Each engine sums its part, and gets the result. What is sent is a number up and down a tree, and
    elements of operands that do not lie in the same blocks.

    Parameters
    ----------
    a, b : array_like
        As many elements in both; they are taken in C order if shapes differ.

    Returns
    -------
    DistArray
        A number, without axes.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     complex(dnb.vdot(dnb.array([1j, 2.0], dist="block"), [1j, 3.0]))
    (7+0j)
    """
    x, y = operands(a, b)
    if x.size != y.size:
        raise ValueError("cannot reshape array: operands of vdot must have as many elements")
    if x.shape != y.shape:
        x, y = (reshape(z, -1) for z in (x, y))
    left = asarray(x.conj(), session=x.session) if x.dtype.kind == "c" else x
    axes = tuple(range(x.ndim))
    return _contract(left, axes, y, axes, ())


@stands_for(np.outer, small="grows")
def outer(a: ArrayLike, b: ArrayLike, out: Array | None = None) -> Array:
    """Multiply each element of one array with each of another.

    The result is in blocks of rows or of columns: one operand is split along them, and the other,
    of which less travels, goes to every engine.

    Parameters
    ----------
    a, b : array_like
        Flattened in C order if they have more axes.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of shape ``(a.size, b.size)``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.outer(dnb.arange(3, dist="block"), [1, 2]).to_numpy()
    array([[0, 0],
           [1, 2],
           [2, 4]])
    """
    x, y = (z if z.ndim == 1 else reshape(z, -1) for z in operands(a, b))
    found = contract(x, (0,), y, (1,), (0, 1))
    return delivered(found, out, "same_kind", core=0, name="multiply")


@stands_for(np.kron, small="grows")
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: blocks of the second operand scaled by elements of the first.

    It is split along one axis, where the first operand is then cut; every engine gets the second.

    Parameters
    ----------
    a, b : array_like
        The operands; one with fewer axes gets others of length 1 in front.

    Returns
    -------
    DistArray
        Along each axis as long as the lengths of both, multiplied.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.kron(dnb.eye(2, dtype=int, dist="block"), [[1, 2]]).to_numpy()
    array([[1, 2, 0, 0],
           [0, 0, 1, 2]])
    """
    x, y = operands(a, b)
    if 0 in (x.ndim, y.ndim):
        return elementwise("multiply", x, y)
    n = max(x.ndim, y.ndim)
    x, y = (_with_axes(z, n) for z in (x, y))
    shape = tuple(i * j for i, j in zip(x.shape, y.shape, strict=True))
    dtype = np.multiply(np.empty(0, x.dtype), np.empty(0, y.dtype)).dtype
    if all_here((x, y), x.session) and fits(prod(shape) * dtype.itemsize):
        return array_of(x.session, watched("kron", np.kron, x.here, y.here))
    size = x.session.size
    d = max(range(n), key=lambda i: min(x.shape[i], size))
    where = _along(d, n, Block(), size)
    cuts = [y.shape[d] * where.axes[d].bounds(x.shape[d], size, c)[0] for c in range(size)]
    last = _along(d, n, Irregular((*cuts, shape[d])), size)
    x, y = as_dist(x, x.session), as_dist(y, x.session)
    brought = [in_layout(x, where), in_layout(y, replicated(n, size))]
    return local("kron", brought, (), None, [last], [(shape, dtype)])[0]


def _with_axes(x: Array, n: int) -> Array:
    """Return a view with leading axes of length 1, up to ``n`` axes."""
    return x if x.ndim >= n else x.alias(x.dview.of_ndim(n))


def _along(d: int, n: int, axis: Axis, size: int) -> Layout:
    """Return the layout that splits axis ``d`` of ``n`` in a way."""
    axes = tuple(axis if i == d else Whole() for i in range(n))
    return Layout(Grid.of((size,)), axes, tuple(0 if i == d else -1 for i in range(n)))


# -- diagonals ---------------------------------------------------------------------------------


@stands_for(np.diagonal)
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return diagonals, as a read-only view: what is written into the array later is seen.

    Each element lies where its row does, or its column if rows are not split: then nothing is sent.
    A matrix of which both axes are split is brought into blocks of rows first.

    Parameters
    ----------
    a : array_like
        With at least two axes.
    offset : int
        Which diagonal; above the main one if positive.
    axis1, axis2 : int
        The rows and the columns.

    Returns
    -------
    DistArray
        The other axes, and the diagonals along the last one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.diagonal(dnb.array([[1, 2], [3, 4]], dist="block")).to_numpy()
    array([1, 4])
    """
    near = at_hand(a)
    if near is not None and type(offset) is type(axis1) is type(axis2) is int:
        try:
            return beside(a, near.diagonal(offset, axis1, axis2))
        except ValueError:
            pass  # it is told below what is wrong
    (x,) = operands(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    d, e = one_axis(axis1, x.ndim), one_axis(axis2, x.ndim)
    if d == e:
        raise ValueError("axis1 and axis2 cannot be the same")
    found: Array = look_at(x, Diagonal(operator.index(offset), d, e))
    return found


class Diagonal(NamedTuple):
    """The elements at which two indices differ by ``offset``, along a last axis.

    As NumPy's they are read-only, unless ``flags.writeable`` is set.
    """

    offset: int
    axis1: int
    axis2: int

    def near(self, x: np.ndarray) -> np.ndarray:
        """Return NumPy's view."""
        return np.diagonal(x, *self)

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now."""
        x = self._last(x)
        x = x[..., max(0, -self.offset) :, max(0, self.offset) :]
        k = min(x.shape[-2:])
        return _main_diagonal(x[..., :k, :k], k)

    def put(self, x: Array, found: Array) -> None:
        """Write what such an array has now into ``x``."""
        rows = np.arange(found.shape[-1]) + max(0, -self.offset)
        self._last(x)[..., rows, rows + self.offset] = found

    def _last(self, x: Array) -> Array:
        """Return a view with both axes at the end."""
        rest = [i for i in range(x.ndim) if i not in (self.axis1, self.axis2)]
        return x.transpose([*rest, self.axis1, self.axis2])

    def after(self, before: Any) -> Any:
        """Return None: it is not one with any other way."""


def _main_diagonal(x: Array, k: int) -> Array:
    """Return the diagonals of square matrices."""
    n = x.ndim - 2
    layout = follow(x.placed, x.session.size)[0]
    if layout.parts(n) == 1:
        x = x.mT
        layout = follow(x.placed, x.session.size)[0]
    if layout.parts(n) > 1 and layout.parts(n + 1) > 1:
        layout = _along(n, n + 2, Block(), x.session.size)
    vector = Layout(layout.grid, layout.axes[:-1], layout.dims[:-1])
    where = Layout(layout.grid, layout.axes[n : n + 1], layout.dims[n : n + 1])
    rows = arange(k, dist=where, session=x.session)
    spec = x.shape[:-1], x.dtype
    return local("diagonal", [in_layout(x, layout), rows], (), None, [vector], [spec])[0]


@stands_for(np.trace, small="sums")
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """Sum diagonals.

    Each engine sums what it has of :func:`diagonal`; layout and messages are those of
    :func:`distnb.sum` over them.

    Parameters
    ----------
    a : array_like
        With at least two axes.
    offset : int
        Which diagonal; above the main one if positive.
    axis1, axis2 : int
        The rows and the columns.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        A number, or one for each matrix.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     int(dnb.trace(dnb.array([[1, 2], [3, 4]], dist="block")))
    5
    """
    found: Array = sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)
    return found
