"""Evenly spaced numbers: ``arange`` and ``linspace``."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, numeric
from distnb.client.handle.indexing import one_axis
from distnb.client.handle.scalars import numbers_in
from distnb.client.record.creation import array, made
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.ops.scalars import NUMBERS

__all__ = ["arange", "in_spaces", "linspace"]


#: Types of limits that no engine computes with.
_NOT_REAL = (list, tuple, str, bytes, complex, np.complexfloating)


def _in_range(
    start: float | None = None,
    stop: float | None = None,
    step: float | None = None,
    *_: object,
    **_options: object,
) -> float:
    """Return the number of elements that ``arange`` makes, or one more or less."""
    if stop is None:
        start, stop = 0, start
    length = stop - (0 if start is None else start)
    return 1 + abs(length / (1 if step is None else step))


def in_spaces(_start: object, _stop: object, num: int = 50, *_: object, **_options: object) -> int:
    """Return the number of elements between two limits."""
    return num


def _needs_stop(function: Callable[..., Array]) -> Callable[..., Array]:
    """Refuse ``start=`` without an end: as ``arange(4)``, it would be the end."""

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Array:
        if not args and options.get("stop") is None:
            raise TypeError("arange() requires stop to be specified.")
        return function(*args, **options)

    return checked


@stands_for(np.arange, makes=_in_range)
@_needs_stop
def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> Array:
    """Make evenly spaced numbers in ``[start, stop)``, bit for bit as ``numpy.arange``.

    Engines compute their parts, and nothing is sent; limits that are distributed arrays are read.
    Without ``dist`` and ``grid``, what is below the cutoff stays in the notebook.

    Parameters
    ----------
    start : number, optional
        The first one; by default 0. Alone it is ``stop``.
    stop : number
        Where they end; it does not belong to them.
    step : number, optional
        The distance of neighbours; by default 1.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one, or that of ``like``.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    like : DistArray, optional
        An array whose session is used.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.arange(0, 10, 2, dist="block")
    [0 2 4 6 8]
    (5,) int64, 40 B, elements in blocks on 2 engines
    """
    check_device(device)
    start, stop, step = (numbers_in(x) for x in (start, stop, 1 if step is None else step))
    if start is None and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if dtype is not None:
        numeric(dtype)  # which refuses dates
    if any(isinstance(x, _NOT_REAL) for x in (start, stop, step)):  # NumPy refuses most
        numpys: Any = np.arange
        return array(numpys(start, stop, step, dtype), dist=dist, grid=grid, session=session)
    start = 0 if start is None else start
    if stop is None:
        start, stop = 0, start
    first, kind = _first_two(start, stop, step, dtype)
    try:
        n = max(0, ceil((stop - start) / step))
    except OverflowError:
        raise ValueError(
            explain("length", (stop - start) / step, "a finite number", "check stop")
        ) from None
    one, two = first.astype({"?": np.int8, "e": np.float32}.get(kind.char, kind))
    low, gap = one.item(), np.subtract(two, one).item()  # which wraps without a warning
    return made((n,), kind, dist, grid, session, ("index", 0, low, gap), "C", like)


def _first_two(
    start: float, stop: float, step: float, dtype: DTypeLike | None
) -> tuple[np.ndarray, np.dtype]:
    """Return the first two numbers and the dtype of a range.

    NumPy computes these, and goes on with their difference. Of fewer the last one comes again.
    """
    if not step:
        np.arange(0, 1, step)  # which NumPy refuses
    short = _short(start, stop, step)
    end = stop if short else start + 3 * step  # bools are refused from three on
    first = np.arange(start, end, step, dtype=dtype)[:2]
    kind = numeric(first.dtype if short else _long_dtype(first.dtype, stop, dtype))
    if not short and not first.size:  # such a step is lost in the rounding
        first = np.asarray([start], kind)
    return np.resize(first, 2), kind


def _long_dtype(first: np.dtype, stop: Any, dtype: DTypeLike | None) -> np.dtype:
    """Return the dtype of a long range: that of its first numbers, or of the type of its end."""
    of_end = np.arange(type(stop)(0), dtype=dtype).dtype
    return of_end if first.kind in "biu" and of_end.kind in "fc" else first


def _short(start: float, stop: float, step: float) -> bool:
    return not (stop - start) / step > 1000


@stands_for(np.linspace, makes=in_spaces)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Any:
    """Make ``num`` evenly spaced numbers from ``start`` to ``stop``, as ``numpy.linspace``.

    Engines compute their parts, and nothing is sent; limits that are distributed arrays are read.
    Limits with axes are between slices along ``axis``; the numbers are split along it before they
    meet them.

    Parameters
    ----------
    start, stop : number or array_like
        The limits.
    num : int
        How many.
    endpoint : bool
        Whether ``stop`` is the last one.
    retstep : bool
        Whether to return the distance of neighbours, too.
    dtype : dtype, optional
        Of the result; by default as in NumPy.
    axis : int
        Where the axis of the numbers is, if limits have axes.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray, or a tuple of one and the distance
        Of ``num`` elements along ``axis``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.linspace(0, 1, 5).to_numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_device(device)
    n = operator.index(num)
    if n < 0:
        raise ValueError(f"Number of samples, {n}, must be non-negative.")
    parts = n - 1 if endpoint else n
    start, stop, working = _limits(start, stop, n)
    kind = numeric(working if dtype is None else dtype)
    delta = np.subtract(stop, start, dtype=working)
    step: Any = delta / parts if parts > 0 else np.nan
    y = arange(n, dtype=working, dist=dist, grid=grid, session=session)
    y = y[(slice(None), *(None,) * np.ndim(delta))]
    divided = parts > 0 and not np.any(step == 0)
    y = y * step if divided else (y / parts if parts > 0 else y) * delta
    y = y + start
    if endpoint and n > 1:
        y[-1] = stop
    if kind.kind in "iu":
        y = elementwise("floor", y)
    y = y.astype(kind, copy=False)
    y = y if axis == 0 else _first_axis_to(y, one_axis(axis, y.ndim))
    return (y, step) if retstep else y


def _limits(start: ArrayLike, stop: ArrayLike, n: int) -> tuple[Any, Any, np.dtype]:
    """Return limits as NumPy computes with them, and the dtype in which it does."""
    given = numbers_in(start), numbers_in(stop)
    weak = [x if type(x) in NUMBERS else np.asarray(x) for x in given]
    working = np.result_type(*weak, float(n))
    return np.asarray(given[0], working), np.asarray(given[1], working), working


def _first_axis_to(x: Array, axis: int) -> Array:
    """Return a view with the first axis at another place."""
    rest = list(range(1, x.ndim))
    return x.transpose([*rest[:axis], 0, *rest[axis:]])
