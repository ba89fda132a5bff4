"""Where the elements of an array or view are, for people to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.errors import explain
from distnb.layout import Layout
from distnb.views import Placed

__all__ = ["Placement"]


class Placement:
    """Where the elements of an array or view are.

    Printed plainly or as HTML, it shows each engine's share; ``plot()`` draws who owns what.
    Nothing here talks to the engines.
    """

    #: Set by the package root: the module that draws (the client does not know the widgets).
    views: Any = None

    def __init__(self, placed: Placed, dtype: np.dtype, size: int) -> None:
        self.placed = placed
        self.dtype = dtype
        self.size = size

    @property
    def base(self) -> Layout:
        """The layout of the base; can be passed as ``dist=``."""
        return self.placed.layout

    def owner(self, *index: int) -> int:
        """Return the lowest rank that holds the element at ``index``."""
        shape = self.placed.view.shape
        fits = len(index) == len(shape)
        if not fits or any(not 0 <= i < n for i, n in zip(index, shape, strict=True)):
            raise IndexError(
                explain("index", index, f"one within {shape}", "give one number an axis")
            )
        return self.placed.owner(tuple(index))

    def elements(self) -> tuple[int, ...]:
        """Return how many elements each rank holds."""
        return tuple(self.placed.held(r) for r in range(self.size))

    def plot(self, ax: Any = None, axes: Any = None) -> Any:
        """Draw who owns what; returns the matplotlib Axes."""
        return self.views.plot(self.placed, self.dtype, ax=ax, axes=axes, size=self.size)

    def __repr__(self) -> str:
        return str(self.views.describe(self.placed, self.dtype, size=self.size))

    def _repr_html_(self) -> str:
        return str(self.views.to_html(self.placed, self.dtype, size=self.size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.placed == other.placed

    def __hash__(self) -> int:
        return hash(self.placed)
