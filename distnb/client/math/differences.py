"""Neighbours along an axis: differences, gradients, integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes, NoValue
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import one_axis, some_axes
from distnb.client.record.creation import asarray, unset_like
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.reducing import reduce
from distnb.client.shape.joining import concatenate
from distnb.client.shape.reshaping import ravel
from distnb.common.errors import explain

__all__ = ["diff", "gradient", "trapezoid"]


def _part(x: Array, axis: int, *index: int | None) -> Array:
    """Return a slice of an array along one axis."""
    return x[(slice(None),) * axis + (slice(*index),)]


@stands_for(np.diff, small="exact")
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | NoValue | None = None,
    append: ArrayLike | NoValue | None = None,
) -> Array:
    """Return differences of neighbours along an axis, ``n`` times, as ``numpy.diff``.

    The result follows the operand from its second index on: an element goes over each border.

    Parameters
    ----------
    a : array_like
        The elements.
    n : int
        How often.
    axis : int
        Along which axis.
    prepend, append : array_like, optional
        What comes before and after along the axis first; it is joined as by
        :func:`distnb.concatenate`.

    Returns
    -------
    DistArray
        Shorter by ``n`` along the axis; of truth values, where they differ.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.diff(dnb.array([1, 4, 9, 16])).to_numpy()
    array([3, 5, 7])
    """
    if n == 0:
        return a  # type: ignore[return-value] # as NumPy does
    x = asarray(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    d = one_axis(axis, x.ndim)
    ends = [None if e is None or e is np._NoValue else _end(e, x, d) for e in (prepend, append)]
    parts = [p for p in (ends[0], x, ends[1]) if p is not None]
    found = concatenate(parts, d) if len(parts) > 1 else x
    for _ in range(n):
        op = "not_equal" if found.dtype == bool else "subtract"
        found = elementwise(op, _part(found, d, 1, None), _part(found, d, None, -1))
    return found


def _end(value: ArrayLike | NoValue, x: Array, d: int) -> Any:
    """Return what comes before or after, with a length along the axis."""
    found = value if isinstance(value, Array) else np.asarray(value)
    if found.ndim:
        return found
    return np.broadcast_to(found, (*x.shape[:d], 1, *x.shape[d + 1 :]))


@stands_for(np.ediff1d, small="exact")
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Return differences of neighbours in C order, as ``numpy.ediff1d``.

    Messages are those of :func:`distnb.ravel` and :func:`distnb.diff`: of one axis, an element goes
    over each border. With ends the result is joined as by :func:`distnb.concatenate`.

    Parameters
    ----------
    ary : array_like
        The elements.
    to_end, to_begin : array_like, optional
        What comes after and before the differences.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.ediff1d([1, 4, 9], to_begin=0).to_numpy()
    array([0, 3, 5])
    """
    x = ravel(asarray(ary))
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        kind = x.dtype if end is None else _kind(end)
        if not np.can_cast(kind, x.dtype, casting="same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
    ends = [None if e is None else np.ravel(e) for e in (to_begin, to_end)]
    middle = elementwise("subtract", x[1:], x[:-1])
    parts = [p for p in (ends[0], middle, ends[1]) if p is not None]
    return concatenate(parts, dtype=x.dtype) if len(parts) > 1 else middle


def _kind(x: ArrayLike) -> Any:
    return x.dtype if isinstance(x, Array) else np.asanyarray(x).dtype


# -- gradients -------------------------------------------------------------------------------------


@stands_for(np.gradient, small="exact")
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axes = None, edge_order: int = 1) -> Any:
    """Return derivatives along axes by second-order differences, as ``numpy.gradient``.

    They lie as the array; an element goes over each border in each direction. Coordinates are
    compared with each other, which waits if they are on engines.

    Parameters
    ----------
    f : array_like
        The values.
    varargs : scalar or array_like, optional
        The distance of neighbours, one for all axes or for each; or coordinates along an axis.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    edge_order : {1, 2}
        Of which order differences at the ends are.

    Returns
    -------
    DistArray, or a tuple of one for each axis
        Of the shape of ``f``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.gradient(dnb.array([1.0, 4.0, 9.0, 16.0])).to_numpy()
    array([3., 4., 6., 7.])
    """
    x = asarray(f)
    axes = tuple(range(x.ndim)) if axis is None else _axes(axis, x.ndim)
    spacings = _spacings(x, axes, varargs)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    x = x.astype(np.float64) if x.dtype.kind in "iu" else x
    found = []
    for d, h in zip(axes, spacings, strict=True):
        if x.shape[d] < edge_order + 1:
            raise ValueError(
                explain("gradient", f"{x.shape[d]} elements", f"{edge_order + 1}", "take more")
            )
        found.append(_derivative(x, d, h, edge_order))
    return found[0] if len(found) == 1 else tuple(found)


def _axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return axes in the order in which they were given."""
    some_axes(axis, ndim)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(one_axis(d, ndim) for d in given)


def _spacings(x: Array, axes: tuple[int, ...], given: tuple[ArrayLike, ...]) -> list[Any]:
    """Return the distance of neighbours along each axis: a number, or an array of distances."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_distances(h, x.shape[d]) for h, d in zip(given, axes, strict=True)]


def _distances(points: ArrayLike, n: int) -> Any:
    points = points if isinstance(points, Array) else np.asarray(points)
    if not points.ndim:
        return points
    if points.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if points.shape[0] != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    points = points.astype(np.float64) if points.dtype.kind in "iu" else points
    found = np.diff(points)
    return found[0] if (found == found[0]).all() else found


def _derivative(x: Array, d: int, h: Any, edge_order: int) -> Array:
    """Return the derivative along one axis; ``h`` are distances of neighbours."""
    found = unset_like(x, np.float64 if x.dtype == bool else x.dtype)
    even = np.ndim(h) == 0
    if not even:  # along the axis, to be broadcast
        h = h[(slice(None), *(None,) * (x.ndim - d - 1))]
    here, before, after = (_part(x, d, *s) for s in ((1, -1), (None, -2), (2, None)))
    inside = _part(found, d, 1, -1)
    if even:
        assign(inside, (after - before) / (2.0 * h))
    else:
        a, b = h[:-1], h[1:]
        weights = -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))
        assign(inside, weights[0] * before + weights[1] * here + weights[2] * after)
    for end in (0, -1):
        assign(_at(found, d, end), _edge(x, d, h, end, edge_order))
    return found


def _at(x: Array, d: int, i: int) -> Any:
    """Return what is at one index of an axis, which stays."""
    return _part(x, d, i, i + 1 if i != -1 else None)


def _edge(x: Array, d: int, h: Any, end: int, order: int) -> Any:
    """Return the derivative at an end: of order 1, or 2 with three elements."""
    even = np.ndim(h) == 0
    near, far = (h, h) if even else (h[:1], h[1:2]) if end == 0 else (h[-1:], h[-2:-1])
    sign = -1 if end else 1
    e0, e1 = _at(x, d, end), _at(x, d, end + sign)
    if order == 1:
        return (e1 - e0) / near if sign > 0 else (e0 - e1) / near
    e2 = _at(x, d, end + 2 * sign)
    if even:
        weights = -1.5 / h * sign, 2.0 / h * sign, -0.5 / h * sign
    else:
        both = near + far
        weights = (
            -(2.0 * near + far) / (near * both) * sign,
            both / (near * far) * sign,
            -near / (far * both) * sign,
        )
    first, last = (e0, weights[0]), (e2, weights[2])
    left, right = (first, last) if sign > 0 else (last, first)
    return left[1] * left[0] + weights[1] * e1 + right[1] * right[0]


@stands_for(np.trapezoid, small="sums")
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrate along an axis by the trapezoidal rule, as ``numpy.trapezoid``.

    An element goes over each border of the axis; then it is a sum, which lies and sends as
    :func:`distnb.sum`.

    Parameters
    ----------
    y : array_like
        The values.
    x : array_like, optional
        Where they are; by default ``dx`` apart.
    dx : float or array_like
        The distance of neighbours.
    axis : int
        Along which axis.

    Returns
    -------
    DistArray
        Of the other axes.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.trapezoid(dnb.array([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]), dx=0.5).to_numpy()
    array([2., 4.])
    """
    values = asarray(y)
    d = one_axis(axis, values.ndim)
    width: Any = dx
    if x is not None:
        points = x if isinstance(x, Array) else np.asarray(x)
        width = np.diff(points, axis=0 if points.ndim == 1 else axis)
        if points.ndim == 1:
            width = width[(slice(None), *(None,) * (values.ndim - d - 1))]
    both = _part(values, d, 1, None) + _part(values, d, None, -1)
    areas = elementwise("divide", width * both, 2.0)
    return reduce("sum", areas, one_axis(axis, areas.ndim))
