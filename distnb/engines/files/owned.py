"""What of a view, or of a file that is as long, is this rank's to read or to write."""

from __future__ import annotations

import numpy as np

from distnb.engines.runtime.store import BaseTable
from distnb.formats.stored import Box
from distnb.geometry.slices import Sections
from distnb.plans.transfer import at, part_of, plan_parts
from distnb.wire.protocol import Operand

__all__ = ["held", "own"]


def held(store: BaseTable, operand: Operand) -> tuple[Box, np.ndarray] | None:
    """Return what a rank holds of a view, a box, and its elements in memory; None if nothing."""
    placed = store.placed(operand)
    owned, block = placed.owned(store.rank), store.bases[operand.base].block
    if owned is None or block is None:
        return None
    (chunk,) = part_of(store.rank, placed, owned).chunks
    return _box(owned), at(block, chunk.shape, chunk.memory)


def own(store: BaseTable, operand: Operand) -> tuple[Box, np.ndarray] | None:
    """Return the same for the rank alone that speaks for all that have copies; None for others."""
    first = plan_parts(store.rank, store.placed(operand)) is not None
    return held(store, operand) if first else None


def _box(owned: tuple[Sections, ...]) -> Box:
    return tuple([range(s.start, s.start + s.block) for (s,) in owned])
