"""Masks of blocks: each rank has all that its part of a mask names, so nothing is sent.

Masks of all axes are taken in groups (:mod:`distnb.engines.fusion.groups`), and so not here.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np

from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.fusion.compressed import Compressed

__all__ = ["CompressRows", "Expand", "Nonzero"]

#: Elements of a mask that are looked at together: their positions stay in the cache.
_CHUNK = 1 << 15


class Nonzero(SingleEngine):
    """Find where a mask is true: C-order positions; the output is as long as there are of these."""

    def work(self) -> None:
        """Fill the positions."""
        found, mask = cast(Any, self.out.block), cast(Any, self.ins[0].block)
        found[...] = np.flatnonzero(mask) + self._first()

    def _first(self) -> int:
        """Return the position of the first element of this rank; axes before it have length 1."""
        base = self.ins[0]
        layout = base.layout
        split = next((d for d in range(len(layout.dims)) if layout.parts(d) > 1), None)
        coords = base.layout.grid.coords(self.rank)
        if split is None or coords is None:
            return 0
        c, p = coords[base.layout.dims[split]], base.layout.parts(split)
        low = base.layout.axes[split].bounds(base.shape[split], p, c)[0]
        return low * prod(base.shape[split + 1 :])


class CompressRows(SingleEngine):
    """Take what a mask of the first axes leaves of a base."""

    def work(self) -> None:
        """Fill the block."""
        x, mask = [base.block for base in self.ins]
        if self.out.block is not None and x is not None and mask is not None:
            Compressed(x, mask).fill(0, self.out.block)


class Expand(SingleEngine):
    """Assign to what a mask of the first axes names: the third operand has what is left of it."""

    def work(self) -> None:
        """Write into the block; values may be those of the same base, which come no earlier."""
        blocks: list[Any] = [base.block for base in self.ins]
        x, mask, values = blocks
        if values is None or not values.size:
            return
        rows = x.reshape(mask.size, *x.shape[mask.ndim :])
        flat, done = mask.reshape(-1), 0
        for i in range(0, flat.size, _CHUNK):
            (positions,) = flat[i : i + _CHUNK].nonzero()
            rows[i : i + _CHUNK][positions] = values[done : done + len(positions)]
            done += len(positions)
