"""What engines do with parts by themselves: SciPy's functions on what lies alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.collectives.single_engine import SingleEngine
from distnb.engines.sparse.parts import Making, block_of, block_part, part_of
from distnb.geometry.boxes import box_of
from distnb.ops.sparse_parts import made, rowwise

__all__ = ["Counted", "Dense", "Diagonal", "Each", "Looked", "Rowwise", "Spread"]


class Each(Making):
    """Make a part of parts that are cut alike; ``args``: which function, minor axes, its arguments.

    Operands: three for each sparse array, then dense ones.
    """

    def make(self, exchange: Any) -> Any:
        """Return the part."""
        name, minors, *params = self.args
        k = 3 * len(minors)
        parts = [part_of(self.ins[3 * i : 3 * i + 3], n) for i, n in enumerate(minors)]
        dense = [block_of(base) for base in self.ins[k:]]
        return made(name, self.rank, parts, dense, params)


class Dense(SingleEngine):
    """Fill a dense block with a part; ``args``: shape, layout, the axis that is cut."""

    def work(self) -> None:
        """Fill the block."""
        shape, layout, axis = self.args
        part = block_part(self.ins, shape, layout, self.rank)
        (part if axis == 0 else part.T).toarray(out=block_of(self.out))


class Rowwise(SingleEngine):
    """Reduce each row of a part; ``args``: length of the minor axis, SciPy's method, options."""

    def work(self) -> None:
        """Fill the block."""
        minor, method, options = self.args
        block_of(self.out)[...] = rowwise(part_of(self.ins, minor), method, options)


class Diagonal(SingleEngine):
    """Take a diagonal; ``args``: minor axis, where each rank's rows begin, and which diagonal."""

    def work(self) -> None:
        """Fill the block."""
        minor, cuts, k = self.args
        block_of(self.out)[...] = part_of(self.ins, minor).diagonal(k + cuts[self.rank])


class Counted(SingleEngine):
    """Make the pointers of a part, from how many elements its rows have."""

    def work(self) -> None:
        """Fill the block."""
        block = block_of(self.out)
        block[0] = 0
        np.cumsum(block_of(self.ins[0]), out=block[1:])


class Spread(SingleEngine):
    """Give each element the entry of its row in a vector; operands: pointers, the vector."""

    def work(self) -> None:
        """Fill the block."""
        indptr, x = [block_of(base) for base in self.ins]
        block_of(self.out)[...] = np.repeat(x, np.diff(indptr))


class Looked(SingleEngine):
    """Give each element what a dense array has at its place; operands: indices, pointers, that.

    ``args``: shape, layout, the axis that is cut.
    """

    def work(self) -> None:
        """Fill the block."""
        shape, layout, axis = self.args
        indices, indptr, x = [block_of(base) for base in self.ins]
        box = box_of(layout, shape, self.rank)
        assert box is not None  # it has elements
        indices = indices - indices.dtype.type(box[1][0])
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        block_of(self.out)[...] = x[rows, indices] if axis == 0 else x[indices, rows]
