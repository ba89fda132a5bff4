"""Weighted means and covariances: sums and products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import user_place
from distnb.client.batching.error_states import warn_at
from distnb.client.handle.arguments import Axes, NoValue, kept
from distnb.client.handle.array import Array
from distnb.client.handle.host_arrays import watched
from distnb.client.handle.indexing import some_axes
from distnb.client.linalg.contractions import diagonal
from distnb.client.linalg.products import matmul
from distnb.client.math.reductions import mean
from distnb.client.record.creation import asarray, empty, zeros_like
from distnb.client.record.eager import at_once, session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["beside"]


@stands_for(np.average, small="sums")
def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool | NoValue = False,
) -> Any:
    """Return the weighted mean.

    Layout and messages are those of :func:`distnb.sum`, for the products and the weights. Whether
    weights add up to zero is read first: then this waits.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    weights : array_like, optional
        Of the shape of ``a``, or of those axes; by default all are as heavy.
    returned : bool
        Whether to return the sum of the weights as well.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Of the axes that are left; a pair with the sums of weights, if they are asked for.

    Raises
    ------
    ZeroDivisionError
        If weights add up to zero.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.average(dnb.array([1.0, 4.0], dist="block"), weights=[2, 1]))
    2.0
    """
    x = asarray(a, session=session_of(a, weights))
    axes, keep = some_axes(axis, x.ndim), kept(keepdims)
    if weights is None:
        found = mean(x, axes, keepdims=keep)
        if not found.size:  # NumPy asks how many elements each is of
            raise ZeroDivisionError("division by zero")
        n = int(np.prod([x.shape[d] for d in axes], dtype=int))
        scale: Any = elementwise("add", zeros_like(found), found.dtype.type(n))
        return (found, scale) if returned else found
    heavy = beside(asarray(weights, session=x.session), x, axis, axes)
    kinds = (x.dtype, heavy.dtype, *([np.dtype(float)] if x.dtype.kind in "biu" else []))
    dtype = np.result_type(*kinds)
    scale = reduce("sum", heavy, axes, dtype, None, keep)
    if bool((scale == 0).any()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    x = x if np.result_type(x.dtype, heavy.dtype) == dtype else x.astype(dtype)
    total = reduce("sum", x * heavy, axes, None, None, keep)
    found = total / scale
    return (found, scale) if returned else found


def beside(weights: Array, x: Array, axis: Axes, axes: Ints) -> Array:
    """Return weights in the shape of ``x``; those of some axes are stretched along the others."""
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError("Axes must be specified when shapes of a and weights differ.")
    given = [d % x.ndim for d in (axis if isinstance(axis, tuple) else (axis,))]
    if weights.shape != tuple(x.shape[d] for d in given):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = weights.transpose([given.index(d) for d in axes])
    view = weights[tuple(slice(None) if d in axes else None for d in range(x.ndim))]
    return np.broadcast_to(view, x.shape)  # type: ignore[return-value]


@stands_for(np.cov, small="wide")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the covariance matrix of variables.

    A product of the matrix of deviations with its own transpose: layout and messages are those of
    :func:`distnb.matmul`. Sums of weights are read first: then this waits.

    Parameters
    ----------
    m : array_like
        A variable in each row.
    y : array_like, optional
        More of them, as many observations.
    rowvar : bool
        False: a variable is in each column.
    bias : bool
        Whether to divide by the number of observations, not by one less.
    ddof : int, optional
        What is taken from the number of observations before it divides, whatever ``bias``.
    fweights : array_like of int, optional
        How often each observation was made.
    aweights : array_like, optional
        How much each observation counts.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.

    Returns
    -------
    DistArray
        A row and a column for each variable; a number for one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.cov(dnb.array([[0, 1, 2], [2, 1, 0]], dist="block")).to_numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    session = session_of(m, y, fweights, aweights)
    given = [asarray(v, session=session) for v in (m, y) if v is not None]
    found = at_once(
        np.cov,
        *given,
        rowvar=rowvar,
        bias=bias,
        ddof=ddof,
        fweights=fweights,
        aweights=aweights,
        dtype=dtype,
    )
    if found is not None:
        return found
    if dtype is not None:  # NumPy refuses those that it does not compute in
        samples: Any = [np.ones(tuple(min(n, 2) for n in x.shape), x.dtype) for x in given]
        numpys: Any = np.cov
        numpys(*samples, rowvar=rowvar, dtype=dtype)
    x = _variables(given, rowvar, dtype)
    if x.shape[0] == 0 or _variables(given[:1], rowvar, dtype).shape[0] == 0:
        return empty((0, 0), session=session)
    free = ddof if ddof is not None else int(not bias)
    weights, share = _degrees(x, fweights, aweights, free)
    mean = average(x, 1, weights, keepdims=True)
    rest = x - mean
    heavy = rest if weights is None else rest * weights
    found = matmul(rest, elementwise("conjugate", heavy).T)
    return elementwise("multiply", found, share, out=found).squeeze()


def _variables(given: list[Array], rowvar: bool, dtype: DTypeLike | None) -> Array:
    """Return a row for each variable."""
    for x in given:
        if x.ndim > 2:
            raise ValueError(f"{'my'[given.index(x)]} has more than 2 dimensions")
    kind = np.result_type(*(x.dtype for x in given), np.float64) if dtype is None else dtype
    rows = []
    for i, x in enumerate(given):
        wide = x if x.ndim == 2 else x[(None,) * (2 - x.ndim)]
        turn = not rowvar and (x.ndim != 1 if i == 0 else wide.shape[0] != 1)
        rows.append((wide.T if turn else wide).astype(kind, copy=False))
    if len(rows) == 1:
        return rows[0]
    lengths = [len(r) for r in rows]
    if rows[0].shape[1] != rows[1].shape[1]:
        raise ValueError(
            explain("y", f"{rows[1].shape[1]} observations", f"{rows[0].shape[1]}", "cut one")
        )
    made = empty((sum(lengths), rows[0].shape[1]), kind, session=rows[0].session)
    made[: lengths[0]], made[lengths[0] :] = rows
    return made


def _degrees(
    x: Array, fweights: ArrayLike | None, aweights: ArrayLike | None, ddof: int
) -> tuple[Any, Any]:
    """Return the product of both kinds of weights, and what sums are multiplied by."""
    weights = [
        _checked(name, w, x) for name, w in (("f", fweights), ("a", aweights)) if w is not None
    ]
    w = weights[0] if len(weights) == 1 else weights[0] * weights[1] if weights else None
    if w is None:
        fact: float = x.shape[1] - ddof
    else:
        total = float(w.sum())
        if ddof == 0:
            fact = total
        elif aweights is None:
            fact = total - ddof
        else:
            fact = total - ddof * float((w * weights[-1]).sum()) / total
    if fact <= 0:
        warn_at(user_place(), "Degrees of freedom <= 0 for slice", RuntimeWarning)
        fact = 0.0
    return w, watched("divide", np.true_divide, 1, fact)


def _checked(kind: str, given: ArrayLike, x: Array) -> Array:
    """Return weights as floats; raise what NumPy raises."""
    w = asarray(given, session=x.session).astype(float, copy=False)
    if kind == "f" and not bool((w == elementwise("rint", w)).all()):
        raise TypeError("fweights must be integer")
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {kind}weights")
    if w.shape[0] != x.shape[1]:
        raise RuntimeError(f"incompatible numbers of samples and {kind}weights")
    if bool((w < 0).any()):
        raise ValueError(f"{kind}weights cannot be negative")
    return w


@stands_for(np.corrcoef, small="wide", scalar=True)
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> Array:
    """Return correlation coefficients: covariances, scaled.

    Layout and messages are those of :func:`cov`.

    Parameters
    ----------
    x : array_like
        A variable in each row.
    y : array_like, optional
        More of them, as many observations.
    rowvar : bool
        False: a variable is in each column.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.

    Returns
    -------
    DistArray
        A row and a column for each variable; a number for one.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.corrcoef(dnb.array([[0, 1, 2], [4, 2, 0]], dist="block")).to_numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    found = at_once(np.corrcoef, asarray(x, session=session_of(x, y)), y, rowvar, dtype=dtype)
    if found is not None:
        return found
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = elementwise("sqrt", diagonal(c.real))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind != "c":
        return elementwise("clip", c, -1, 1)
    real, imag = elementwise("clip", c.real, -1, 1), elementwise("clip", c.imag, -1, 1)
    return real + imag * c.dtype.type(1j)
