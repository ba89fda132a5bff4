"""Where the elements of an array or view are, to look at and to ask for with ``dist=``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from distnb.client.handle.arguments import Axes, Dist, Grid, Placeable
from distnb.client.handle.array import Array
from distnb.client.handle.host_arrays import home
from distnb.client.session.session import Session
from distnb.common.errors import LayoutError, explain
from distnb.geometry.layout import Ints, Layout, in_notebook, make_layout
from distnb.geometry.views import Placed, follow

__all__ = ["Placement", "layout_for", "layout_of_new", "stay"]


class Placement:
    """Where the elements of an array or view are: on which engines, or in the notebook.

    Printed plainly or as HTML, it shows each engine's share; ``plot()`` draws who owns what, and
    ``cost()`` tells what it would take to lie elsewhere. Nothing here talks to the engines.
    """

    #: Set by the package root: the module that draws (the client does not know the widgets).
    views: Any = None

    def __init__(
        self, placed: Placed, dtype: np.dtype, size: int, session: Session | None = None
    ) -> None:
        self.placed = placed
        self.dtype = dtype
        self.size = size
        #: Of what is on the engines besides, if it is known.
        self.session = session

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

    def plot(self, ax: object = None, axes: Axes = None) -> Any:
        """Draw who owns what; returns the matplotlib Axes.

        ``axes`` are one or two axes to show, rows first; by default the longest that are split.
        """
        return self.views.plot(self.placed, self.dtype, ax=ax, axes=axes, size=self.size)

    def show(self, *others: Placeable, axes: Axes = None) -> Any:
        """Return who owns what as a value that shows itself: other axes, or other arrays, too.

        Parameters
        ----------
        others : DistArray or Placement
            Shown beside it to the same scale, with what an operation of each with the first would
            send; that is hatched.
        axes : int or pair of int, optional
            The axes to show, rows first; by default the two longest that are split.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     a = dnb.zeros((6, 4), dist="block")
        ...     print(a[1:].layout.show(a[:-1]))
        1: (5, 4) float64, 160 B
           rows 1:6 of base (6, 4), 192 B in memory: block x * on 2 engines
        2: (5, 4) float64, 160 B
           rows 0:5 of base (6, 4), 192 B in memory: block x * on 2 engines
        first  second  is sent  messages  to engine  most
        1      2          32 B         1          1  32 B
        """
        found = [self, *(getattr(other, "layout", other) for other in others)]
        return self.views.Several(found, axes=axes)

    def cost(self, dist: Dist = None, grid: Grid = None) -> Any:
        """Return what moving to another layout would cost, as a value that shows itself.

        Its attributes: ``bytes``, ``messages``, ``sent`` and ``received`` (bytes of each engine),
        ``matrix`` (bytes from-to, for few engines), ``extra`` (bytes that engines need besides
        while elements move), ``seconds`` (None before anything was measured).

        Parameters
        ----------
        dist, grid
            As in :func:`distnb.array`; another array's ``layout`` is accepted, too.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     cost = dnb.zeros((4, 4), dist="block").layout.cost(("*", "block"))
        >>> cost.bytes, cost.messages
        (64, 2)
        """
        if self.base.here:
            raise LayoutError(
                explain("cost", "an array in the notebook", "one on engines", "redistribute it")
            )
        layout = _layout(self.placed.view.shape, self.size, dist, grid)
        bandwidth = self.session.measuring.bandwidth if self.session is not None else None
        return self.views.Cost(self.placed, layout, self.dtype, self.size, bandwidth)

    def __repr__(self) -> str:
        return str(self.views.describe(self.placed, self.dtype, self.size, self.memory()))

    def facts(self) -> str:
        """Return shape, dtype, bytes and layout in words, on a line.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     print(dnb.zeros((6, 4), dist="block").layout.facts())
        (6, 4) float64, 192 B, rows in blocks on 2 engines
        """
        return str(self.views.facts_line(self.placed, self.dtype))

    def _repr_html_(self) -> str:
        memory = self.memory()
        return str(self.views.to_html(self.placed, self.dtype, "", self.size, memory))

    def memory(self) -> Any:
        """Return what is known of the memory of the engines."""
        if self.session is None or self.base.here:
            return None
        return self.views.memory_of(self.placed, self.dtype, self.session)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.placed == other.placed

    def __hash__(self) -> int:
        return hash(self.placed)


def layout_for(shape: Ints, session: Session, dist: Dist, grid: Grid = None) -> Layout:
    """Return the layout on the engines that ``dist=`` and ``grid=`` ask for."""
    return _layout(shape, session.size, dist, grid)


def _layout(shape: Ints, size: int, dist: Dist, grid: Grid) -> Layout:
    return make_layout(shape, size, _asked(shape, size, dist), grid)


def layout_of_new(
    shape: Ints, dtype: np.dtype, session: Session, dist: Dist, grid: Grid = None
) -> Layout:
    """Return the layout of a new array: what was asked for, or where it is at home.

    What is not to be spread (False) is the notebook's, however large it is.
    """
    wanted = _asked(shape, session.size, dist)
    if wanted is False and grid is None:
        return in_notebook(len(shape))
    if wanted is None and grid is None:
        return home(shape, dtype, session.size)
    return make_layout(shape, session.size, wanted, grid)


def stay(x: Array, dtype: np.dtype) -> Layout:
    """Return the layout of a new array with the shape of ``x`` that stays where ``x`` is."""
    if x.dbase.host is not None:
        return home(x.shape, dtype, x.session.size)
    placed = Placed(x.dbase.shape, x.dbase.layout, x.placed.moved)
    return _followed(placed, x.session.size)


@lru_cache(maxsize=4096)
def _followed(placed: Placed, size: int) -> Layout:
    return follow(placed, size)[0]


def _asked(shape: Ints, size: int, dist: Dist) -> Any:
    """Return what ``dist=`` asks for; an array in the notebook asks for nothing."""
    if isinstance(dist, Array):
        dist = Placement(dist.placed, dist.dtype, size)
    if isinstance(dist, Placement):
        if dist.placed.view.shape != shape:
            same = len(dist.placed.view.shape) == len(shape)
            if not same:
                raise ValueError(
                    explain(
                        "layout", f"{dist.placed.view.shape}", f"one for {shape}", "pass another"
                    )
                )
        dist = follow(dist.placed, size, balanced=False)[0]
    return None if isinstance(dist, Layout) and dist.here else dist
