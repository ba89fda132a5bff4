"""Where the elements of a sparse array are, to look at."""

from __future__ import annotations

from typing import NamedTuple

from distnb.geometry.layout import Ints

__all__ = ["SparseLayout"]

#: More engines than these are not listed one by one.
_LISTED = 8


class SparseLayout(NamedTuple):
    """Who holds what of a sparse array.

    Attributes
    ----------
    axis : str
        What is cut: ``'rows'``, ``'columns'``, or ``'elements'`` (COO).
    cuts : tuple of int
        Where: engine ``r`` has those from ``cuts[r]`` up to ``cuts[r + 1]``.
    nnz : tuple of int
        Stored elements of each engine.
    """

    axis: str
    cuts: Ints
    nnz: Ints

    @property
    def imbalance(self) -> float:
        """The most elements of an engine, over their mean."""
        mean = sum(self.nnz) / len(self.nnz)
        return max(self.nnz) / mean if mean else 1.0

    def shares(self) -> str:
        """Return how many elements each engine has, in words."""
        if len(self.nnz) > _LISTED:
            return f"{min(self.nnz):,} to {max(self.nnz):,} on each of {len(self.nnz)} engines"
        return " + ".join(f"{n:,}" for n in self.nnz) + f" on {len(self.nnz)} engines"

    def __repr__(self) -> str:
        lines = [f"{self.axis} cut at {self.cuts}" if len(self.nnz) <= _LISTED else self.axis]
        lines += [self.shares(), f"the most is {self.imbalance:.2f} of the mean"]
        return ", ".join(lines)
