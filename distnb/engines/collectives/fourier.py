"""Fourier transforms of the 1-D slices that each engine holds, in tiles that fit a core's cache.

SciPy's transforms are taken where SciPy is installed: they do several 1-D slices at once with the
processor's vector instructions. Otherwise they are NumPy's.
"""

from __future__ import annotations

import _thread
import contextlib
import time
from functools import lru_cache
from math import pi, prod
from types import ModuleType

import numpy as np

from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.fusion.compiler import short_turns
from distnb.measure.events import IDLE, Clock

__all__ = [
    "TILE",
    "Transform",
    "Twiddle",
    "length",
    "prepare",
    "transform",
    "transform_slices",
    "twiddles",
]

#: Nanoseconds without a batch after which an engine loads what it may need later.
_REST = 1_000_000_000
#: Bytes of a tile, before and after the transform.
TILE = 1 << 20


class Transform(SingleEngine):
    """Transform along an axis that is not split; ``args`` are its name, axis, n and norm.

    Where one of the bases has one axis and the other two, the one stands for a matrix in C order,
    of which blocks of columns were dealt: the operand by columns of the result, the result by rows
    of the operand.
    """

    def work(self) -> None:
        """Transform this rank's 1-D slices."""
        source, target = self.ins[0].block, self.out.block
        if source is None or target is None:
            return
        if source.ndim < target.ndim:
            source = source.reshape(target.shape)
        elif target.ndim < source.ndim:
            target = target.reshape(source.shape[::-1]).T
        transform_slices(source, target, *self.args)


class Twiddle(SingleEngine):
    """Multiply the element at (i, j) of a matrix with the i*j-th power of a root of unity.

    ``args`` are the order of the root and the sign of its angle. The columns are in blocks.
    """

    def work(self) -> None:
        """Multiply this rank's columns, some rows at a time."""
        block, (order, sign) = self.out.block, self.args
        coords = self.out.layout.grid.coords(self.rank)
        if block is None or coords is None:
            return
        axis, parts = self.out.layout.axes[1], self.out.layout.parts(1)
        first, end = axis.bounds(self.out.shape[1], parts, coords[0] if parts > 1 else 0)
        column = np.arange(first, end)
        step = max(1, TILE // (16 * block.shape[1]))
        for i in range(0, len(block), step):
            row = np.arange(i, min(i + step, len(block)))[:, None]
            block[i : i + step] *= twiddles(row * column, order, sign)


def transform_slices(
    source: np.ndarray, target: np.ndarray, name: str, axis: int, n: int, norm: str | None
) -> None:
    """Set ``target`` to the transforms of 1-D slices, or to themselves if it is ``source``."""
    outer, inner = prod(source.shape[:axis]), prod(source.shape[axis + 1 :])
    a = source.reshape(outer, source.shape[axis], inner)
    # A transposed target cannot be reshaped; there its 1-D slices are the last of two axes.
    b = target.reshape(outer, target.shape[axis], inner) if _dense(target) else target[:, :, None]
    if a.shape[1] == 0:  # NumPy may read beyond the end
        b[...] = 0
        return
    longest = max(a.shape[1], b.shape[1]) * b.dtype.itemsize
    wide = max(1, min(inner, TILE // longest))
    deep = max(1, TILE // (longest * wide)) if wide == inner else 1
    for i in range(0, outer, deep):
        for j in range(0, inner, wide):
            tile = (slice(i, i + deep), slice(None), slice(j, j + wide))
            b[tile] = transform(a[tile], name, 1, n, norm)


def transform(
    x: np.ndarray, name: str, axis: int, n: int, norm: str | None, spare: bool = False
) -> np.ndarray:
    """Return the transforms of 1-D slices; in the same memory if that can be spared."""
    library = np.fft if x.dtype.char == "e" else _library()  # NumPy scales these by float16
    options = {"overwrite_x": spare} if library is not np.fft else {}
    found: np.ndarray = getattr(library, name)(x, n, axis, norm, **options)
    if library is not np.fft and x.dtype.kind != "c" and name in ("fft", "ifft"):
        found.imag += 0.0  # SciPy makes half of them conjugates: -0.0 where NumPy has 0.0
    return found


def length(name: str, n: int) -> int:
    """Return the length of a transform.

    >>> length("fft", 8), length("rfft", 8)
    (8, 5)
    """
    return n // 2 + 1 if name in ("rfft", "ihfft") else n


def _dense(x: np.ndarray) -> bool:
    return bool(x.flags.c_contiguous)


@lru_cache(maxsize=1)
def _library() -> ModuleType:
    """Return the module with the fastest transforms."""
    try:
        import scipy.fft as found
    except ImportError:
        return np.fft
    return found


def prepare(clock: Clock) -> None:
    """Load the module with the fastest transforms in a thread, once the engine has rested.

    To load it takes as long as a transform of ten million numbers. Beside work it would take its
    core, so the first transform loads it where that comes before a rest.
    """

    def load() -> None:
        while clock.current != IDLE or time.perf_counter_ns() - clock.now < _REST:
            time.sleep(_REST / 4e9)
        with contextlib.suppress(Exception), short_turns():  # who needs it is told
            _library()

    with contextlib.suppress(RuntimeError, MemoryError):  # no room for a thread: it is loaded late
        _thread.start_new_thread(load, ())  # Thread.start() would wait for ever for room


def twiddles(power: np.ndarray, order: int, sign: int) -> np.ndarray:
    """Return ``exp(sign * 2j * pi * power / order)`` for ``0 <= power < order``.

    Each is the product of two entries of short tables, which is faster than a sine and a cosine.

    >>> bool(np.allclose(twiddles(np.arange(8), 8, -1), np.exp(-2j * np.pi * np.arange(8) / 8)))
    True
    """
    bits = order.bit_length() // 2
    coarse, fine = _tables(order, sign, bits)
    found: np.ndarray = coarse[power >> bits]
    found *= fine[power & ((1 << bits) - 1)]
    return found


@lru_cache(maxsize=4)
def _tables(order: int, sign: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    angle = sign * 2 * pi / order
    coarse = np.arange((order >> bits) + 1) << bits
    return np.exp(1j * angle * coarse), np.exp(1j * angle * np.arange(1 << bits))
