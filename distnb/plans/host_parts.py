"""What each engine is to hold of an ndarray, and what engines would fill one with."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.geometry.layout import Ints, Layout
from distnb.geometry.slices import interval
from distnb.geometry.views import Placed, View
from distnb.ops import filling
from distnb.plans.transfer import at, part_of

__all__ = ["fill", "filled", "parts_of"]


def parts_of(size: int, data: np.ndarray, layout: Layout) -> list[np.ndarray]:
    """Return, for each rank, a copy of what it is to hold."""
    placed = Placed(data.shape, layout, View.whole(data.shape))
    return [_part(data, placed, rank) for rank in range(size)]


def _part(data: np.ndarray, placed: Placed, rank: int) -> np.ndarray:
    owned = placed.owned(rank)
    if owned is None:
        return np.empty(0, data.dtype)
    part = part_of(rank, placed, owned)
    source = np.ascontiguousarray(data)
    out = np.empty(part.shape, data.dtype)
    for chunk, place in zip(part.chunks, part.places, strict=True):
        at(out, chunk.shape, chunk.message)[...] = at(source, chunk.shape, place)
    return out


def filled(shape: Ints, dtype: np.dtype, how: tuple[Any, ...]) -> np.ndarray:
    """Return what engines would make, all of it."""
    made = np.empty(shape, dtype)
    fill(made, shape, how)
    return made


def fill(made: np.ndarray, shape: Ints, how: tuple[Any, ...]) -> None:
    """Fill an array as engines would."""
    kind, *args = how
    owned = tuple(interval(0, n) for n in shape)
    if made.size == 0:
        return
    if kind == "fill":
        filling.fill_value(made, args[0])
    elif kind == "index":
        filling.fill_index(made, owned, *args)
    elif kind == "random":
        filling.fill_random(made, owned, shape, *args)
