"""Random numbers of NumPy's own samplers: block by block, so that an index has its number.

NumPy draws numbers in turn, and how many words one takes is not known before it is drawn. So the
indices are cut into blocks; each has a counter of Philox's to itself, from which NumPy draws the
numbers of the block in order. Engines still agree without talking, whatever the layout: who owns
a part of a block draws, and drops, those before it, at most ``BLOCK - 1`` for each run of indices.

For parameters that are numbers. With arrays of them an element would have to know those of its
whole block; :mod:`~distnb.ops.samplers` draws each index by itself then.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from distnb.ops.philox import is_run, numpys, places

__all__ = ["BLOCK", "Numbers", "draws", "fill", "fill_all", "one"]

#: Indices whose numbers are drawn in turn.
BLOCK = 1024
#: Which of the words of a seed: those of uniform numbers have other keys.
_ROW = 2
#: What is drawn, scaled and moved here: arrays of parameters give the same numbers then.
_STANDARD = {"normal": "standard_normal", "exponential": "standard_exponential"}
#: Parameters with which a normal number is what it is without.
_AS_THEY_ARE = (0.0, 1.0)


def draws(kind: str) -> bool:
    """Tell whether NumPy draws such numbers: its generators have a method of that name."""
    return hasattr(np.random.Generator, kind)


class Numbers:
    """The numbers of one array, which are asked for by index; cheapest in order."""

    def __init__(self, kind: str, seed: int, stream: int, args: tuple[Any, ...]) -> None:
        self._key = seed, _ROW, stream
        self._name, self._args = kind, args
        self._loc, self._scale = 0.0, 1.0
        if kind in _STANDARD:
            self._name, self._args = _STANDARD[kind], ()
            *loc, self._scale = args
            self._loc = loc[0] if loc else 0.0
        #: The next number that NumPy would draw: in which block, at what place.
        self._block, self._place = -1, 0

    def run(self, start: int, out: np.ndarray) -> None:
        """Fill with the numbers of the indices from one on."""
        at = 0
        while at < out.size:
            block, place = divmod(start + at, BLOCK)
            n = min(BLOCK - place, out.size - at)
            out[at : at + n] = self._next(block, place, n)
            at += n

    def at(self, index: np.ndarray, out: np.ndarray) -> None:
        """Fill with the numbers of indices, an array of uint64."""
        if is_run(index):
            self.run(int(index[0]), out)
            return
        blocks, places = np.divmod(index.view(np.int64), BLOCK)
        cuts = (np.flatnonzero(blocks[1:] != blocks[:-1]) + 1).tolist()
        for a, b in pairwise([0, *cuts, index.size] if index.size else []):
            here = places[a:b]
            first = int(here.min())
            found = self._next(int(blocks[a]), first, int(here.max()) + 1 - first)
            out[a:b] = found[here - first]

    def _next(self, block: int, place: int, n: int) -> Any:
        """Draw n numbers of a block from a place on."""
        if block != self._block or place < self._place:
            self._method = getattr(numpys(*self._key, block), self._name)
            self._block, self._place = block, 0
        if place > self._place:
            self._method(*self._args, place - self._place)
        self._place = place + n
        found = self._method(*self._args, n)
        if (self._loc, self._scale) != (0, 1):
            found *= self._scale
            found += self._loc
        return found


def fill(
    kind: str,
    seed: int,
    stream: int,
    args: tuple[Any, ...],
    index_runs: Iterable[tuple[int, int]],
    out: np.ndarray,
) -> None:
    """Fill ``out`` as ``philox.fill`` does; ``kind`` is the name of a method of NumPy's generators.

    >>> whole, part = np.empty(10), np.empty(4)
    >>> fill("gamma", 1, 0, (2.0, 1.0), [(0, 10)], whole)
    >>> fill("gamma", 1, 0, (2.0, 1.0), [(8, 10), (3, 5)], part)
    >>> bool((part == whole[[8, 9, 3, 4]]).all())
    True
    """
    numbers = Numbers(kind, seed, stream, args)
    for index, here in places(index_runs, out.size):
        numbers.at(index, out[here])


def fill_all(kind: str, seed: int, stream: int, args: tuple[Any, ...], out: np.ndarray) -> None:
    """Fill ``out`` as :func:`fill` does, with all numbers of an array: of the indices from 0 on."""
    if 0 < out.size <= BLOCK:
        out[...] = _first(kind, seed, stream, args, out.size)
    else:
        Numbers(kind, seed, stream, args).run(0, out)


def one(kind: str, seed: int, stream: int, args: tuple[Any, ...]) -> Any:
    """Return the number of an array without axes, Python's: the same as :func:`fill_all` gives.

    >>> few = np.empty(4)
    >>> fill_all("normal", 1, 0, (0.0, 2.0), few)
    >>> one("normal", 1, 0, (0.0, 2.0)) == few[0]
    np.True_
    """
    return _first(kind, seed, stream, args)


def _first(kind: str, seed: int, stream: int, args: tuple[Any, ...], *n: int) -> Any:
    """Draw the first numbers of an array, at most ``BLOCK``; without ``n`` one, Python's."""
    generator = numpys(seed, _ROW, stream, 0)
    if kind not in _STANDARD:
        return getattr(generator, kind)(*args, *n)
    found = getattr(generator, _STANDARD[kind])(*n)
    if args != _AS_THEY_ARE:
        *loc, scale = args
        found *= scale
        if loc:
            found += loc[0]
    return found
