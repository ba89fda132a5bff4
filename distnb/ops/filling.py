"""Fills a part of a new array from its global indices: on engines, and in the notebook.

Everything is a function of the indices, so the parts of an array are the same wherever they lie.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from distnb.geometry.slices import Section, Sections
from distnb.ops import parameters, philox, samplers, variates

__all__ = ["drawer", "fill_index", "fill_random", "fill_value"]


def fill_value(block: np.ndarray, value: Any) -> None:
    """Fill with a number, which may be a ``Typed`` one."""
    typed = hasattr(value, "dtype")
    block.fill(np.dtype(value.dtype).type(value.value) if typed else value)


def fill_index(
    block: np.ndarray, owned: tuple[Sections, ...], axis: int, start: Any, step: Any
) -> None:
    """Fill with ``start + step*i`` for the global index i along ``axis``, as arange does."""
    # NumPy's arange rounds, or wraps around, after each step in the dtype of the result.
    working = np.dtype({"?": np.int64, "e": np.float32}.get(block.dtype.char, block.dtype))
    line = (working.type(start), working.type(step)) if (start, step) != (0, 1) else None
    runs, shape = owned[axis], tuple(-1 if a == axis else 1 for a in range(block.ndim))
    if block.ndim == 1 and working == block.dtype and [s.count for s in runs] == [1]:
        first = runs[0].start
        for lo in range(0, block.size, philox.TILE):
            tile = block[lo : lo + philox.TILE]
            tile[...] = np.arange(first + lo, first + lo + len(tile))
            _along(tile, line)
        return
    values = np.concatenate([_indices(s) for s in runs]).astype(working)
    with np.errstate(over="ignore"):  # of half precision, as in NumPy
        block[...] = _along(values, line).reshape(shape)


def _indices(s: Section) -> np.ndarray:
    """Return the global indices of a section."""
    firsts = np.arange(s.count)[:, None] * s.period
    return (firsts + np.arange(s.start, s.start + s.block)).reshape(-1)


def _along(values: np.ndarray, line: tuple[Any, Any] | None) -> np.ndarray:
    """Take indices, in place, to the numbers of a line: its start, and its step."""
    if line is not None:
        values *= line[1]
        values += line[0]
    return values


def fill_random(
    block: np.ndarray, owned: tuple[Sections, ...], shape: tuple[int, ...], *how: Any
) -> None:
    """Fill with the random numbers of the part of an array of ``shape`` (see ``philox.fill``).

    Arrays among the parameters are those of the part.
    """
    kind, seed, stream, args = how
    runs = philox.runs_of(shape, owned)
    flat = tuple(a.reshape(-1) if isinstance(a, np.ndarray) else a for a in args)
    arrays = any(isinstance(a, np.ndarray) for a in flat)
    if arrays:
        parameters.check(kind, flat)
    drawer(kind, arrays).fill(kind, seed, stream, flat, runs, block.reshape(-1))


def drawer(kind: str, arrays: bool = False) -> ModuleType:
    """Return what draws random numbers: it has ``fill``, and ``fill_all`` for all of an array.

    Uniform ones are those of their indices, NumPy draws the others block by block, and samplers
    take arrays of parameters, and what NumPy has not.
    """
    if kind in philox.DISTRIBUTIONS:
        return philox
    return samplers if arrays or not variates.draws(kind) else variates
