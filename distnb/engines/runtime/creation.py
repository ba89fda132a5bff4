"""Fills the local block of a new base; everything is a function of global indices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from distnb.common.errors import explain
from distnb.engines.runtime.store import LocalBase
from distnb.geometry.slices import Sections
from distnb.geometry.views import Placed, View
from distnb.ops import filling
from distnb.wire.protocol import Create

__all__ = ["adopt", "fill", "owned"]


def fill(base: LocalBase, how: tuple[Any, ...], rank: int, user: dict[str, Any]) -> None:
    """Fill a block as ``how`` says (a row of ``ops.CREATIONS`` with its arguments)."""
    block = base.block
    if block is None or not block.size:
        return
    kind, *args = how
    if kind == "fill":
        filling.fill_value(block, args[0])
    elif kind == "local":
        block[...] = _user_array(user, args[0], block)
    elif kind != "empty" and (here := owned(base, rank)) is not None:
        if kind == "index":
            filling.fill_index(block, here, *args)
        else:
            filling.fill_random(block, here, base.shape, *args)


def owned(base: LocalBase, rank: int) -> tuple[Sections, ...] | None:
    """Return the global indices along each axis that a rank holds."""
    return Placed(base.shape, base.layout, View.whole(base.shape)).owned(rank)


def _user_array(user: dict[str, Any], name: str, block: np.ndarray) -> np.ndarray:
    found = np.asarray(user[name])
    if found.shape != block.shape:
        raise ValueError(
            explain(f"local array {name!r}", found.shape, block.shape, "do not change it meanwhile")
        )
    return found


def adopt(
    buffers: Sequence[np.ndarray | None], slot: int, command: Create, rank: int
) -> np.ndarray | None:
    """Return this rank's block of an array that came with the message."""
    shape = command.layout.local_shape(command.shape, rank)
    if shape is None:
        return None
    dtype = np.dtype(command.dtype)
    raw = buffers[slot]
    if raw is None:
        raise MemoryError(f"data of an array: no room for {shape} {dtype} on rank {rank}")
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
