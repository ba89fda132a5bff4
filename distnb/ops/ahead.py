"""Random words found ahead: those of the small arrays that a generator draws next.

Words follow from seed, stream and index alone, and a generator's arrays are its streams in their
order. So the words of many small arrays are found at once, in the time of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from distnb.ops.philox import DISTRIBUTIONS, TILE, rows_of, streams_of

__all__ = ["FEW", "Ahead"]

#: Elements of an array up to which its words are found together with those of the next arrays.
FEW = TILE // 4


class _Block(NamedTuple):
    """Words of some streams: one row or two, all streams in each, and of each so many indices."""

    seed: int
    first: int
    streams: int
    width: int
    words: np.ndarray


class Ahead:
    """Draws small arrays, and finds words of the next ones ahead: twice as many each time.

    Examples
    --------
    >>> from distnb.ops.philox import fill
    >>> few, whole = np.empty(3), np.empty(3)
    >>> fill("normal", 7, 1, (0.0, 1.0), [(0, 3)], whole)
    >>> ahead = Ahead()
    >>> ahead.one("uniform", 7, 0, (0.0, 1.0), float) >= 0
    True
    >>> ahead.fill("normal", 7, 1, (0.0, 1.0), few)
    >>> bool((few == whole).all())
    True
    """

    def __init__(self) -> None:
        self._block = _Block(0, 0, 0, 0, np.empty((1, 0, 0), np.uint64))

    def fill(
        self, kind: str, seed: int, stream: int, args: tuple[Any, ...], out: np.ndarray
    ) -> None:
        """Fill a contiguous array of one axis, as ``philox.fill``."""
        block, at = self._at(seed, stream, out.size, rows_of(kind, args))
        DISTRIBUTIONS[kind](block.words[:, at, : out.size].copy(), out, *args)

    def one(self, kind: str, seed: int, stream: int, args: tuple[Any, ...], dtype: Any) -> Any:
        """Return the one element of an array without axes, of a kind in :data:`_SINGLE`."""
        block, at = self._at(seed, stream, 1, rows_of(kind, args))
        words = block.words
        second = words.item(1, at, 0) if len(words) > 1 else 0
        return dtype(_SINGLE[kind](words.item(0, at, 0), second, *args))

    def _at(self, seed: int, stream: int, size: int, rows: int) -> tuple[_Block, int]:
        """Return a block that has the words of a stream, and where."""
        block = self._block
        at = stream - block.first
        enough = size <= block.width and rows <= len(block.words)
        if seed == block.seed and enough and 0 <= at < block.streams:
            return block, at
        goes_on = seed == block.seed and 0 <= at <= block.streams
        width = max(size, block.width if goes_on else 1)
        rows = max(rows, len(block.words) if goes_on else 1)
        count = min(2 * block.streams if goes_on and block.streams else 1, TILE // width)
        count = max(count, 1)
        words = streams_of(width, seed, stream, count, rows)
        self._block = block = _Block(seed, stream, count, width, words)
        return block, 0


# One element, as the functions of ``philox.DISTRIBUTIONS`` compute it, step by step


def _uniform(w0: int, w1: int, low: float, high: float) -> float:
    u = (w0 >> 11) * 2.0**-53
    return u if (low, high) == (0, 1) else u * (high - low) + low


def _log_unit(w: int) -> float:
    return float(np.log(((w >> 11) + 1) * 2.0**-53))


def _normal(w0: int, w1: int, loc: float, scale: float) -> float:
    z = math.sqrt(_log_unit(w0) * -2.0)
    return z * float(np.cos((w1 >> 11) * (2 * math.pi * 2.0**-53))) * scale + loc


def _exponential(w0: int, w1: int, scale: float) -> float:
    return (0.0 - _log_unit(w0)) * scale


def _integers(w0: int, w1: int, low: int, high: int) -> int:
    n = high - low
    if n <= 1 << 32:
        return low + (w0 * n >> 64)
    return low + ((w0 << 64 | w1) * n >> 128 if n < 1 << 64 else w0)


_SINGLE: dict[str, Callable[..., Any]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
    "integers": _integers,
}
