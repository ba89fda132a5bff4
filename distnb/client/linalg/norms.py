"""Norms and condition numbers: elementwise operations and reductions, or singular values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes, kept
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of
from distnb.client.handle.host_arrays import watched
from distnb.client.handle.indexing import some_axes
from distnb.client.linalg.factorizations import inv_or_nan, svdvals
from distnb.client.linalg.matrix_commands import operands
from distnb.client.math.ufuncs import where
from distnb.client.reach.small_reductions import quick_norm
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.common.errors import explain

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


@stands_for(np.linalg.norm, small="home", scalar=True)
def norm(
    x: ArrayLike, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False
) -> Array:
    """Return a norm of matrices or vectors.

    Layout and messages are those of :func:`distnb.sum` over the axes; for the norms 2, -2 and 'nuc'
    of matrices those of :func:`svdvals`.

    Parameters
    ----------
    x : array_like
        The elements.
    ord : {None, 'fro', 'nuc'} or number, optional
        Which norm; by default the root of the sum of squares.
    axis : int or tuple of int, optional
        One axis: of vectors; two: of matrices. By default all, of which there are one or two unless
        ``ord`` is None.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Real numbers, of the axes that are left.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     x = dnb.array([[3.0, 0.0], [4.0, 0.0]])
    ...     float(dnb.linalg.norm(x)), float(dnb.linalg.norm(x, 1)), float(dnb.linalg.norm(x, 2))
    (5.0, 7.0, 5.0)
    """
    if ord is None and keepdims is False and isinstance(x, Array):
        found = quick_norm(x, axis)
        if found is not None:
            return found
    (a,) = operands(x)
    if a.here is not None:
        return _here(a, "norm", np.linalg.norm, a.here, ord, axis, keepdims)
    a = a if a.dtype.kind in "fc" else a.astype(float)
    if axis is None and (
        ord is None or (ord == 2 and a.ndim == 1) or (ord in ("f", "fro") and a.ndim == 2)
    ):
        return _vector(a, None, some_axes(None, a.ndim), kept(keepdims))
    axes = _axes(axis, a.ndim)
    if len(axes) == 1:
        return _vector(a, ord, some_axes(axes, a.ndim), kept(keepdims))
    if len(axes) == 2:
        return _matrix(a, ord, axes, kept(keepdims))
    raise ValueError(explain("norm", f"{len(axes)} axes", "1 or 2", "give axis="))


@stands_for(np.linalg.vector_norm, small="home", scalar=True)
def vector_norm(
    x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: float | str | None = 2
) -> Array:
    """Return a norm of vectors along axes.

    Layout and messages are those of :func:`distnb.sum` over the axes.

    Parameters
    ----------
    x : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    ord : number
        Which norm; 2 is the root of the sum of squares.

    Returns
    -------
    DistArray
        Real numbers, of the axes that are left.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.linalg.vector_norm(dnb.array([3.0, 4.0], dist="block")))
    5.0
    """
    (a,) = operands(x)
    if a.here is not None:
        options = {"axis": axis, "keepdims": keepdims, "ord": ord}
        return _here(a, "vector_norm", np.linalg.vector_norm, a.here, **options)
    a = a if a.dtype.kind in "fc" else a.astype(float)
    return _vector(a, ord, some_axes(axis, a.ndim), bool(keepdims))


@stands_for(np.linalg.matrix_norm)
def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: float | str | None = "fro"
) -> Array:
    """Return a norm of the matrices in the last two axes, as :func:`norm`, which sends the same.

    Parameters
    ----------
    x : array_like
        A matrix, or a stack.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    ord : {'fro', 'nuc'} or number
        Which norm; 'fro' is the root of the sum of squares.

    Returns
    -------
    DistArray
        Real numbers, of the shape of the stack.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.linalg.matrix_norm(dnb.array([[3.0, 0.0], [4.0, 0.0]], dist="block"), ord=1))
    7.0
    """
    return norm(x, ord, (-2, -1), bool(keepdims))


def _here(a: Array, name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Array:
    return array_of(a.session, np.asarray(watched(name, function, *args, **options)))


def _axes(axis: Any, ndim: int) -> tuple[Any, ...]:
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple):
        return axis
    try:
        return (int(axis),)
    except Exception as error:
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from error


def _vector(a: Array, ord: float | str | None, axes: tuple[int, ...], keepdims: bool) -> Array:
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if ord is None or ord in (2, "f", "fro"):
        _no_words(ord)
        squares = (a.conj() * a).real if a.dtype.kind == "c" else a * a
        return elementwise("sqrt", squares.sum(**options))
    size = elementwise("absolute", a)
    if ord == np.inf:
        return size.max(initial=0, **options)
    if ord == -np.inf:
        return size.min(**options)
    if ord == 0:
        return (a != 0).astype(size.dtype).sum(**options)
    if ord == 1:
        return size.sum(**options)
    _no_words(ord)
    ord = float(ord)  # of whatever precision it was
    powers = elementwise("power", size, ord).sum(**options)
    return elementwise("power", powers, 1 / np.asarray(ord, powers.dtype)[()])


def _no_words(ord: float | str | None) -> None:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")


#: For each norm that adds up: which of the two axes is summed, and how sums are compared.
_SUMS = {1: (0, "max"), -1: (0, "min"), np.inf: (1, "max"), -np.inf: (1, "min")}


def _matrix(a: Array, ord: float | str | None, axes: tuple[Any, ...], keepdims: bool) -> Array:
    pair = tuple(some_axes(d, a.ndim)[0] for d in axes)
    if pair[0] == pair[1]:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return _vector(a, None, pair, keepdims)
    if not isinstance(ord, str) and ord in _SUMS:
        which, best = _SUMS[ord]
        sums = elementwise("absolute", a).sum(axis=pair[which], keepdims=True)
        least = {"initial": 0} if best == "max" else {}  # as NumPy: of nothing, 0
        found = getattr(sums, best)(axis=pair, keepdims=True, **least)
    elif ord in (2, -2, "nuc"):
        rest = [d for d in range(a.ndim) if d not in pair]
        s = svdvals(a.transpose([*rest, *pair]))
        least = {} if ord == -2 else {"initial": 0}
        best = {2: "max", -2: "min", "nuc": "sum"}[ord]
        found = asarray(getattr(s, best)(axis=-1, **least))  # it may be a scalar that is at hand
        for d in sorted(pair):
            found = found.alias(found.dview.insert(d))
    else:
        raise ValueError("Invalid norm order for matrices.")
    return found if keepdims else found.squeeze(axis=pair)


@stands_for(np.linalg.cond, scalar=True)
def cond(x: ArrayLike, p: float | str | None = None) -> Array:
    """Return the condition number of matrices; infinite where it cannot be known.

    What is sent is what :func:`svdvals` sends; for other norms what two norms and :func:`inv` send.

    Parameters
    ----------
    x : array_like
        A matrix, or a stack.
    p : {'fro', 'nuc'} or number, optional
        In which norm; by default 2: the largest singular value over the smallest.

    Returns
    -------
    DistArray
        Real numbers, of the shape of the stack.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     round(float(dnb.linalg.cond(dnb.array([[4.0, 0.0], [0.0, 2.0]], dist="block"))), 6)
    2.0
    """
    (a,) = operands(x)
    if a.here is not None:
        numpys: Callable[..., Any] = np.linalg.cond
        return array_of(a.session, np.asarray(numpys(a.here, p)))
    square = a.ndim >= 2 and a.shape[-1] == a.shape[-2]
    if a.ndim < 2 or not (square or p in (None, 2, -2)):
        np.linalg.inv(np.empty((1,) * a.ndim if a.ndim < 2 else (1, 2)))  # raises what NumPy raises
    if a.size == 0 and 0 in a.shape[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svdvals(a)
        first, last = s[..., 0], s[..., -1]
        with np.errstate(all="ignore"):
            found = last / first if p == -2 else first / last
    else:
        found = norm(a, p, axis=(-2, -1)) * norm(inv_or_nan(a), p, axis=(-2, -1))
    broken = elementwise("isnan", a).any(axis=(-2, -1))
    return where(elementwise("isnan", found) & ~broken, np.inf, found)
