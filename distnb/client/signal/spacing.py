"""Arrays of numbers by a formula: logarithmic spacing, and windows for signals."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.record.creation import arange, linspace, ones
from distnb.client.record.namespace import FUNCTIONS, public
from distnb.client.record.operations import elementwise

__all__ = ["geomspace", "logspace"]


@public("logspace")
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    **where: Any,
) -> DistArray:
    """Make numbers whose logarithms are evenly spaced, as ``numpy.logspace``.

    ``dist``, ``grid`` and ``session`` are as in :func:`distnb.linspace`.
    """
    y = elementwise("power", base, linspace(start, stop, num, endpoint, **where))
    return y if dtype is None else y.astype(dtype)


@public("geomspace")
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, **where: Any
) -> DistArray:
    """Make a geometric progression, as ``numpy.geomspace``; see :func:`distnb.logspace`."""
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    ends = np.asarray(start), np.asarray(stop)
    kind = np.result_type(*ends, float(num), np.zeros((), dtype))
    sign = np.sign(kind.type(start))
    first, last = kind.type(start) / sign, kind.type(stop) / sign
    found = logspace(np.log10(first), np.log10(last), num, endpoint, 10.0, kind, **where)
    if num > 0:
        found[0] = first
    if num > 1 and endpoint:
        found[-1] = last
    return (found * sign).astype(kind if dtype is None else dtype, copy=False)


def _make_window(name: str, formula: Callable[[DistArray, int], Any]) -> None:
    """Make a window from its formula on the numbers 1 - M, 3 - M ... M - 1."""

    def function(M: Any, **where: Any) -> DistArray:  # noqa: N803 - NumPy's name
        n = int(np.ceil(M)) if M > 0 else 0
        if n < 2:
            return ones(n, **where)
        return formula(arange(1.0 - n, float(n), 2.0, **where), n)

    function.__doc__ = (
        f"Make a window of ``M`` numbers, as ``numpy.{name}``.\n\n    "
        "``dist``, ``grid`` and ``session`` are as in :func:`distnb.ones`."
    )
    public(name)(function)


def _cosines(*weights: float) -> Callable[[DistArray, int], Any]:
    """Return a formula: a sum of cosines of multiples."""

    def formula(n: DistArray, m: int) -> Any:
        found: Any = weights[0]
        for k, weight in enumerate(weights[1:], 1):
            found = found + weight * elementwise("cos", k * np.pi * n / (m - 1))
        return found

    return formula


def _triangle(n: DistArray, m: int) -> Any:
    return elementwise("where", n <= 0, 1 + n / (m - 1), 1 - n / (m - 1))


for _name, _formula in {
    "bartlett": _triangle,
    "blackman": _cosines(0.42, 0.5, 0.08),
    "hamming": _cosines(0.54, 0.46),
    "hanning": _cosines(0.5, 0.5),
}.items():
    _make_window(_name, _formula)


@public("kaiser")
def kaiser(M: Any, beta: float, **where: Any) -> DistArray:  # noqa: N803
    """Make a window of ``M`` numbers, as ``numpy.kaiser``; see :func:`distnb.hanning`."""
    if operator.index(M) < 2:
        return ones(max(0, M), **where)
    half = (M - 1) / 2.0
    n = arange(float(M), **where)
    bessel = FUNCTIONS[np.i0]
    return bessel(beta * elementwise("sqrt", 1 - ((n - half) / half) ** 2.0)) / np.i0(float(beta))
