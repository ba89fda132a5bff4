"""Arrays that move to another layout, in place, and others with them.

What moves is made first, all of it; when engines have done that, all arrays become it. So an error
in between leaves every array where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from weakref import ref

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import copied, move_out
from distnb.client.record.placement import layout_for
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.errors import LayoutError, explain
from distnb.geometry.axes import Whole, cut_at
from distnb.geometry.layout import Grid as Engines
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View

__all__ = ["Followers", "Group", "bounds_of", "cut_together", "laid", "move", "moved", "whole"]


class Sparse(Protocol):
    """What can be cut anew in place beside bases; those of one structure are cut at once."""

    structure: Any

    def _ready(self, cuts: Ints) -> Callable[[], None]:
        """Make what it is elsewhere; return what puts that in its place."""


def bounds_of(layout: Layout, shape: Ints, axis: int, size: int) -> Ints | None:
    """Return where an axis is cut among all engines, one after the other; None if it is not so."""
    grid, d = layout.grid, layout.dims[axis]
    if grid.first or grid.size != size or layout.parts(axis) != size:
        return None
    if size > 1 and grid.strides[d] != 1:
        return None
    kind, n = layout.axes[axis], shape[axis]
    if size > 1 and kind.period(size):
        return None
    return (0, *[kind.bounds(n, size, c)[1] for c in range(size)]) if size > 1 else (0, n)


def laid(bounds: Ints, ndim: int, axis: int) -> Layout:
    """Return the layout of an array whose axis is cut at some bounds."""
    axes = tuple([cut_at(bounds) if a == axis else Whole() for a in range(ndim)])
    dims = tuple([0 if a == axis else -1 for a in range(ndim)])
    return Layout(Engines.of((len(bounds) - 1,)), axes, dims)


def whole(base: Base) -> Any:
    """Return the array of all of a base."""
    return Array.made(base, View.whole(base.shape))


def _unit(x: Any) -> Any:
    """Return what is moved at once."""
    return x if isinstance(x, Base) else x.structure


def _there(x: object, unit: Any) -> Any:
    """Return something, if it is there, or else another array of its structure."""
    if x is not None or unit is None or isinstance(unit, Base):
        return x
    return next(iter(unit.arrays.values()), None)


class Group:
    """Arrays that are cut alike; it keeps none of them.

    Parameters
    ----------
    members : sequence
        Bases and sparse arrays, and the axis of each.
    rebalance : bool
        Whether all are cut anew where parts take unequally long.
    """

    def __init__(self, members: Sequence[tuple[Base | Sparse, int]], rebalance: bool) -> None:
        self._members = [(ref(x), ref(_unit(x)), axis) for x, axis in members]
        self.rebalance = rebalance

    def alive(self) -> list[tuple[Any, int]]:
        """Return those that are there, and the axis of each.

        For a sparse array that is gone, as ``A.T`` of a call, stands another one of its structure.
        """
        found = [(_there(x(), unit()), axis) for x, unit, axis in self._members]
        return [(x, axis) for x, axis in found if x is not None]

    def has(self, x: object) -> bool:
        """Tell whether something is one of them, or is moved with one."""
        return any(_unit(y) is _unit(x) for y, _ in self.alive())

    def check(self, base: Base, layout: Layout) -> None:
        """Raise LayoutError if others cannot go along with a base."""
        for x, axis in self.alive():
            if x is base and bounds_of(layout, base.shape, axis, base.session.size) is None:
                raise LayoutError(
                    explain(
                        "array with partners",
                        layout.spell(),
                        f"blocks along axis {axis}, one for each engine",
                        "choose such a layout, or redistribute() a copy",
                    )
                )


class Followers:
    """The groups of a session's arrays that go along with each other."""

    def __init__(self) -> None:
        self.groups: list[Group] = []

    def add(self, group: Group) -> None:
        """Remember a group."""
        self.groups = [g for g in self.groups if g.alive()]
        self.groups.append(group)

    def of(self, x: object) -> Iterator[Group]:
        """Yield the groups that something is in."""
        return (g for g in self.groups if g.has(x))

    def along(self, some: Sequence[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """Return some with all that go along with them, and the axis of each."""
        found = {id(_unit(x)): (x, axis) for x, axis in some}
        left = list(found.values())
        while left:
            for group in self.of(left.pop()[0]):
                new = [(y, a) for y, a in group.alive() if id(_unit(y)) not in found]
                found |= {id(_unit(y)): (y, a) for y, a in new}
                left += new
        return list(found.values())


def cut_together(session: Session, some: Sequence[tuple[Any, int]], bounds: Ints) -> None:
    """Cut some, and all that go along with them, at some places."""
    followers: Followers = session.extensions[Followers]
    _carry_out(session, [_ready(x, axis, bounds) for x, axis in followers.along(some)])


def _carry_out(session: Session, ready: Sequence[Callable[[], None]]) -> None:
    """Put all in place, when engines have made it."""
    session.flush()  # if one fails, all are where they were
    for put in ready:
        put()


def _ready(x: Any, axis: int, bounds: Ints) -> Callable[[], None]:
    if not isinstance(x, Base):
        put: Callable[[], None] = x._ready(bounds)
        return put
    own = None if x.host is not None else x.layout
    if own is not None and bounds_of(own, x.shape, axis, len(bounds) - 1) == bounds:
        return lambda: None
    return moved(x, laid(bounds, len(x.shape), axis))


def moved(base: Base, layout: Layout) -> Callable[[], None]:
    """Make what a base is in a layout; return what puts it there."""
    if base.host is not None:
        if base.related():
            move_out(base, layout)  # which says why it cannot
        return lambda: move_out(base, layout)
    if base.layout == layout:
        return lambda: None
    with base.session.journal.paused():  # to move is not what the cell computes
        made: Base = copied(whole(base), base.dtype, layout).dbase
        base.session.flush()
    return lambda: base.exchange(made)


def move(x: Array, dist: Dist, grid: Grid) -> None:
    """Move an array to another layout, in place; see :meth:`distnb.DistArray.move`."""
    base, session = x.dbase, x.session
    if not x.dview.is_whole(base.shape):
        raise LayoutError(
            explain("array to move", "a view of another one", "a whole array", "move its base")
        )
    session.check_open()
    layout = layout_for(base.shape, session, dist, grid)
    followers: Followers = session.extensions[Followers]
    for group in followers.groups:
        group.check(base, layout)
    session.flush()
    ready = [moved(base, layout)]
    axes = [axis for g in followers.of(base) for y, axis in g.alive() if y is base]
    for axis in dict.fromkeys(axes):
        bounds = bounds_of(layout, base.shape, axis, session.size)
        if bounds is not None:
            others = followers.along([(base, axis)])
            ready += [_ready(y, a, bounds) for y, a in others if y is not base]
    _carry_out(session, ready)
