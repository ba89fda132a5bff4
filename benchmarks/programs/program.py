"""What a program of the benchmark is, and random numbers for it to work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

#: ``data(np, n)`` makes the arguments of a program.
Data = Callable[[Any, int], tuple[Any, ...]]


class Program(NamedTuple):
    """A program as a scientist types it for NumPy, what it works on, and in which sizes."""

    name: str
    """What ``--only`` and the tables call it."""
    code: Callable[..., Any]
    """The program: ``code(np, *data)`` returns an array, a number, or a tuple of these."""
    data: Data
    """``data(np, n)`` makes its arguments with the module ``np``; the program may write on them."""
    sizes: tuple[int, int, int]
    """Values of ``n`` for which NumPy takes about 10 ms, 100 ms and 1 s."""
    small: int
    """The ``n`` of tests, for which NumPy takes less than 2 ms."""


def uniform(shapes: str, *first: float, low: float = 0.0, dtype: str = "float64") -> Data:
    """Return what makes arrays of random numbers in [low, low + 1), after some that are given.

    Shapes are written as ``"n,m m"``, with numbers, ``n``, ``m`` for n + 1 and ``k`` for n + 2.
    """

    def data(np: Any, n: int) -> tuple[Any, ...]:
        rng = numpy.random.default_rng(12)
        arrays = (np.array((rng.random(x) + low).astype(dtype)) for x in _shapes(shapes, n))
        return *first, *arrays

    return data


def integers(high: int, shapes: str, dtype: str = "int64") -> Data:
    """Return what makes arrays of random integers in [0, high)."""

    def data(np: Any, n: int) -> tuple[Any, ...]:
        rng = numpy.random.default_rng(13)
        return tuple(np.array(rng.integers(0, high, x, dtype=dtype)) for x in _shapes(shapes, n))

    return data


def _shapes(words: str, n: int) -> list[list[int]]:
    """Return the shapes that are written in words."""
    sides = {"n": n, "m": n + 1, "k": n + 2}
    return [[sides.get(x) or int(x) for x in word.split(",")] for word in words.split()]
