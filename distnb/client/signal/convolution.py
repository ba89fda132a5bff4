"""Small tables that meet long arrays: convolution, correlation, interpolation.

The shorter operand, or the table, goes to every engine. Each engine does its part with NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import array_of, as_dist, copied, record_local
from distnb.client.handle.host_arrays import all_here, plain, watched
from distnb.client.reach.decorators import in_reach
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.placement import stay
from distnb.client.shape.joining import concatenate
from distnb.client.shape.reshaping import adopted
from distnb.common.errors import explain
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import Grid, Layout, replicated

__all__ = ["convolve", "correlate", "interp"]

_INTERP: Any = np.interp  # it has many signatures


@stands_for(np.convolve, small="sums")
def convolve(a: ArrayLike, v: ArrayLike, mode: str | int = "full") -> Array:
    """Return the discrete convolution of two sequences.

    The shorter one goes to every engine, and each gets as many elements of its neighbour as the
    shorter one has, less one. The result lies in blocks.

    Parameters
    ----------
    a, v : array_like
        Of one axis, with at least one element.
    mode : {'full', 'same', 'valid'}
        Whether to return all of ``len(a) + len(v) - 1`` elements, as many in the middle as the
        longer one has, or those for which the shorter one lies within the longer one.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.convolve(dnb.arange(4, dist="block"), [1, 1]).to_numpy()
    array([0, 1, 3, 5, 3])
    """
    x, w = _sequences(a, v, np.convolve, mode)
    if x.here is not None and w.here is not None:
        return array_of(x.session, watched("convolve", np.convolve, x.here, w.here, mode))
    k = min(x.size, w.size)
    return _of_full(x, w, _named(mode), (k - 1) // 2, x.session.size)


@stands_for(np.correlate, small="sums")
def correlate(a: ArrayLike, v: ArrayLike, mode: str | int = "valid") -> Array:
    """Return the cross-correlation of two sequences: a convolution with the second one backwards.

    Layout and messages are those of :func:`convolve`.

    Parameters
    ----------
    a, v : array_like
        Of one axis, with at least one element; ``v`` is conjugated.
    mode : {'valid', 'same', 'full'}
        As of :func:`convolve`, but 'valid' if it is not given.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.correlate(dnb.arange(4, dist="block"), [1, -1]).to_numpy()
    array([-1, -1, -1])
    """
    x, w = _sequences(a, v, np.correlate, mode)
    if x.here is not None and w.here is not None:
        return array_of(x.session, watched("correlate", np.correlate, x.here, w.here, mode))
    back = w[::-1]
    back = elementwise("conjugate", back) if w.dtype.kind == "c" else back
    k = min(x.size, w.size)
    start = k // 2 if x.size < w.size else (k - 1) // 2
    return _of_full(x, back, _named(mode), start, x.session.size)


def _named(mode: str | int) -> str:
    """Return the name of a mode that NumPy takes; it also has numbers for them."""
    return mode if isinstance(mode, str) else ("valid", "same", "full")[operator.index(mode)]


def _sequences(
    a: ArrayLike, v: ArrayLike, numpys: Callable[..., Any], mode: str | int
) -> tuple[Array, Array]:
    """Return operands of one dtype and one session; raises what NumPy raises."""
    one = a if isinstance(a, Array) else v if isinstance(v, Array) else asarray(a)
    x, w = asarray(a, session=one.session), asarray(v, session=one.session)
    samples = [np.zeros(tuple(min(n, 1) for n in y.shape), y.dtype) for y in (x, w)]
    kind = numpys(*samples, mode).dtype
    x, w = (y if y.ndim else y[None] for y in (x, w))
    return x.astype(kind, copy=False), w.astype(kind, copy=False)


def _in_parts(x: np.ndarray, w: np.ndarray, mode: str, start: int, p: int) -> np.ndarray:
    """Return what :func:`_of_full` does, of NumPy's arrays: the parts of engines, one by one."""
    long, short = (x, w) if x.size >= w.size else (w, x)
    k, m = short.size, long.size - short.size + 1
    width = -(-m // p)
    rows = np.zeros((p, width + k - 1), long.dtype)
    for c in range(p):
        part = long[c * width : (c + 1) * width + k - 1]
        rows[c, : part.size] = part
    valid = np.concatenate([np.convolve(row, short, "valid") for row in rows])[:m]
    if mode == "valid" or k == 1:
        return valid
    head = np.convolve(long[: k - 1], short)[: k - 1]
    tail = np.convolve(long[long.size - k + 1 :], short)[k - 1 :]
    if mode == "full":
        return np.concatenate((head, valid, tail))
    return np.concatenate((head[start:], valid, tail[: long.size - m - (k - 1 - start)]))


@in_reach(_in_parts, "exact")
def _of_full(x: Array, w: Array, mode: str, start: int, p: int) -> Array:
    """Return a part of a full convolution, of ``p`` engines."""
    long, short = (x, w) if x.size >= w.size else (w, x)
    session, k = long.session, short.size
    kernel = copied(short, short.dtype, replicated(1, session.size))
    valid = _valid(as_dist(long, session), kernel)
    if mode == "valid" or k == 1:
        return valid
    head = _whole(long[: k - 1], kernel)[: k - 1]
    tail = _whole(long[long.size - k + 1 :], kernel)[k - 1 :]
    if mode == "full":
        return concatenate((head, valid, tail))
    return concatenate((head[start:], valid, tail[: long.size - valid.size - (k - 1 - start)]))


def _valid(long: Array, kernel: Array) -> Array:
    """Convolve where the shorter operand lies within the longer one: rows that overlap."""
    session, k = long.session, kernel.size
    m, p = long.size - k + 1, session.size
    width = -(-m // p)
    layout = Layout(Grid.of((p,)), (Block(), Whole()), (0, -1))
    rows = create(session, (p, width + k - 1), long.dtype, layout, ("fill", 0))
    for c in range(p):
        part = long[c * width : (c + 1) * width + k - 1]
        assign(rows[c, : part.size], part)
    found = create(session, (p, width), long.dtype, layout, ("empty",))
    record_local("convolve", found, (rows, kernel))
    flat = Layout(layout.grid, (Block(),), (0,))
    return adopted(found, (p * width,), flat)[:m]


def _whole(part: Array, kernel: Array) -> Array:
    """Return the full convolution of a few elements, on every engine."""
    session = kernel.session
    few = copied(part, part.dtype, kernel.dbase.layout)
    n = few.size + kernel.size - 1
    found = create(session, (n,), few.dtype, kernel.dbase.layout, ("empty",))
    record_local("convolve", found, (few, kernel))
    return found


@stands_for(np.interp, small="dear", scalar=True)
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: complex | None = None,
    right: complex | None = None,
    period: float | None = None,
) -> Array:
    """Interpolate linearly in a table.

    The result lies as ``x``, and the table goes to every engine. With a period, it comes to the
    notebook first, where it is sorted.

    Parameters
    ----------
    x : array_like
        Where to interpolate.
    xp, fp : array_like
        The table: places in ascending order, and values there, which may be complex.
    left, right : optional
        The values before and after the table; by default its first and last ones.
    period : float, optional
        After which places, and values, come again; then ``left`` and ``right`` do not matter.

    Returns
    -------
    DistArray
        Of the shape of ``x``, float64 or complex128.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.interp(dnb.array([0.5, 2.0, 9.0], dist="block"), [0, 1, 3], [0, 10, 30]).to_numpy()
    array([ 5., 20., 30.])
    """
    given = [y for y in (x, xp, fp) if isinstance(y, Array)]
    session = (given[0] if given else asarray(_floats(x))).session
    if all_here((x, xp, fp), session):
        tables = [plain(y) for y in (x, xp, fp)]
        options = {"left": left, "right": right, "period": period}
        return array_of(session, np.asarray(_INTERP(*tables, **options)))
    x, points = _floats(x), _floats(xp)
    values = fp if isinstance(fp, Array) else np.asarray(fp)
    _check_table(x, points, values, period)
    at = as_dist(x, session)
    if period is not None:
        at, points, values = _wrapped(at, points, values, abs(period))
        left = right = None
    kind = np.dtype(np.complex128 if values.dtype.kind == "c" else np.float64)
    first = values[:1] if left is None else np.asarray([left])
    last = values[-1:] if right is None else np.asarray([right])
    table = [as_dist(y, session) for y in (points, values, first, last)]
    table[2:] = [concatenate(table[2:])]
    everywhere = replicated(1, session.size)
    kinds = (np.dtype(np.float64), kind, kind)
    small = [copied(t, d, everywhere) for t, d in zip(table, kinds, strict=True)]
    source = copied(at, np.dtype(np.float64), stay(at, kind))
    found = create(session, at.shape, kind, source.dbase.layout, ("empty",))
    record_local("interp", found, (source, *small))
    return found


def _floats(y: ArrayLike) -> Array | np.ndarray:
    """Return what is no array as one of floats, which also hold integers that int64 cannot."""
    if isinstance(y, Array | np.ndarray | np.generic):
        return y if isinstance(y, Array) else np.asarray(y)
    return np.asarray(y, None if np.iscomplexobj(y) else np.float64)  # complex ones are refused


def _check_table(
    x: Array | np.ndarray, xp: Array | np.ndarray, fp: Array | np.ndarray, period: float | None
) -> None:
    """Raise what NumPy raises."""
    samples = [np.zeros(tuple(min(n, 1) for n in y.shape), y.dtype) for y in (xp, fp)]
    _INTERP(np.zeros(1, x.dtype), *samples, period=period)
    if xp.shape != fp.shape:
        raise ValueError(
            explain("table", f"shapes {xp.shape} and {fp.shape}", "one length", "slice one")
        )


def _wrapped(x: Array, xp: ArrayLike, fp: ArrayLike, period: float) -> tuple[Array, Any, Any]:
    """Return what is looked up in a periodic table, and the table with its ends repeated."""
    points, values = np.asarray(xp, np.float64) % period, np.asarray(fp)
    order = np.argsort(points)
    points, values = points[order], values[order]
    points = np.concatenate((points[-1:] - period, points, points[:1] + period))
    return x.astype(np.float64) % period, points, np.concatenate((values[-1:], values, values[:1]))
