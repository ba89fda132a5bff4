"""Where the elements of an array or view are, to look at and to ask for with ``dist=``."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.handle import Handle
from distnb.client.notebook import home
from distnb.client.session import Session
from distnb.errors import LayoutError, explain
from distnb.layout import Ints, Layout, make_layout
from distnb.views import Placed, follow

__all__ = ["Placement", "layout_for", "layout_of_new", "stay"]


class Placement:
    """Where the elements of an array or view are: on which engines, or in the notebook.

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
        if self.base.here:
            raise LayoutError(
                explain("owner", "an array in the notebook", "one on engines", "redistribute it")
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


def layout_for(shape: Ints, session: Session, dist: Any, grid: Any = None) -> Layout:
    """Return the layout on the engines that ``dist=`` and ``grid=`` ask for."""
    return make_layout(shape, session.size, _asked(shape, session, dist), grid)


def layout_of_new(
    shape: Ints, dtype: np.dtype, session: Session, dist: Any, grid: Any = None
) -> Layout:
    """Return the layout of a new array: what was asked for, or where it is at home."""
    wanted = _asked(shape, session, dist)
    if wanted is None and grid is None:
        return home(shape, dtype, session.size)
    return make_layout(shape, session.size, wanted, grid)


def stay(x: Handle, dtype: np.dtype) -> Layout:
    """Return the layout of a new array with the shape of ``x`` that stays where ``x`` is."""
    if x._base.host is not None:
        return home(x.shape, dtype, x.session.size)
    return follow(x.placed, x.session.size)[0]


def _asked(shape: Ints, session: Session, dist: Any) -> Any:
    """Return what ``dist=`` asks for; an array in the notebook asks for nothing."""
    if isinstance(dist, Handle):
        dist = Placement(dist.placed, dist.dtype, session.size)
    if isinstance(dist, Placement):
        if dist.placed.view.shape != shape:
            same = len(dist.placed.view.shape) == len(shape)
            if not same:
                raise ValueError(
                    explain(
                        "layout", f"{dist.placed.view.shape}", f"one for {shape}", "pass another"
                    )
                )
        dist = follow(dist.placed, session.size, balanced=False)[0]
    return None if isinstance(dist, Layout) and dist.here else dist
