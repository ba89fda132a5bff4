"""Fills the local block of a new base; everything is a function of global indices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from distnb.engines import random
from distnb.engines.store import Base
from distnb.errors import explain
from distnb.protocol import Create
from distnb.slices import Sections
from distnb.views import Placed, View

__all__ = ["adopt", "fill"]


def fill(base: Base, how: tuple[Any, ...], rank: int, user: dict[str, Any]) -> None:
    """Fill a block as ``how`` says (a row of ``ops.CREATIONS`` with its arguments)."""
    block = base.block
    if block is None:
        return
    kind, *args = how
    if kind == "fill":
        block.fill(_value(args[0]))
    elif kind == "index":
        _fill_index(base, block, rank, *args)
    elif kind == "random":
        owned = _owned(base, rank)
        if owned is not None:
            runs = random.runs_of(base.shape, owned)
            random.fill(args[0], args[1], args[2], args[3], runs, block.reshape(-1))
    elif kind == "local":
        block[...] = _user_array(user, args[0], block)


def _value(value: Any) -> Any:
    return np.dtype(value.dtype).type(value.value) if hasattr(value, "dtype") else value


def _owned(base: Base, rank: int) -> tuple[Sections, ...] | None:
    """Return the global indices along each axis that a rank holds."""
    return Placed(base.shape, base.layout, View.whole(base.shape)).owned(rank)


def _fill_index(base: Base, block: np.ndarray, rank: int, axis: int, start: Any, step: Any) -> None:
    """Fill with ``start + step*i`` for the global index i along ``axis``, as arange does."""
    owned = _owned(base, rank)
    if owned is None:
        return
    runs = [
        np.arange(s.count)[:, None] * s.period + np.arange(s.start, s.start + s.block)
        for s in owned[axis]
    ]
    index = np.concatenate([r.reshape(-1) for r in runs])
    # NumPy's arange rounds, or wraps around, after each step in the dtype of the result.
    working = np.dtype({"?": np.int64, "e": np.float32}.get(base.dtype.char, base.dtype))
    values = index.astype(working)
    if (start, step) != (0, 1):
        values = values * working.type(step) + working.type(start)
    block[...] = values.reshape(tuple(-1 if a == axis else 1 for a in range(block.ndim)))


def _user_array(user: dict[str, Any], name: str, block: np.ndarray) -> np.ndarray:
    found = np.asarray(user[name])
    if found.shape != block.shape:
        raise ValueError(
            explain(f"local array {name!r}", found.shape, block.shape, "do not change it meanwhile")
        )
    return found


def adopt(buffers: list[np.ndarray], slot: int, command: Create, rank: int) -> np.ndarray | None:
    """Return this rank's block of an array that came with the message."""
    shape = command.layout.local_shape(command.shape, rank)
    if shape is None:
        return None
    dtype = np.dtype(command.dtype)
    raw = buffers[slot]
    if raw.nbytes != prod(shape) * dtype.itemsize:
        raise ValueError(
            explain(
                "data of an array",
                f"{raw.nbytes} bytes",
                f"{shape} {dtype}",
                "report this as a bug",
            )
        )
    block = np.ndarray(shape, dtype, raw) if raw.nbytes else np.empty(shape, dtype)
    return block if block.flags.writeable and block.flags.aligned else block.copy()
