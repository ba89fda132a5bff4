"""Arrays that move to another layout, in place."""

from __future__ import annotations

from typing import Any, Protocol

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import copied, move_out
from distnb.client.record.placement import layout_for
from distnb.client.session.bases import Base
from distnb.common.errors import LayoutError, explain
from distnb.geometry.layout import Ints, Layout

__all__ = ["Followers", "move"]


class Group(Protocol):
    """Arrays that go along with each other (``client.parts.partners``)."""

    def alive(self) -> list[Any]:
        """Return those that are there."""

    def has(self, x: object) -> bool:
        """Tell whether a sparse array is one of them."""

    def cut_at(self, bounds: Ints) -> None:
        """Cut all of them at some places."""

    def check(self, base: Base, layout: Layout) -> None:
        """Raise LayoutError if others cannot go along with a base."""

    def follow(self, base: Base) -> None:
        """Bring the others to where a base is cut now."""


class Followers:
    """The groups of a session's arrays that go along with each other."""

    def __init__(self) -> None:
        self.groups: list[Group] = []


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
    if base.host is not None:
        move_out(base, layout)
    elif layout != base.layout:
        session.flush()
        with session.journal.paused():  # to move is not what the cell computes
            made: Base = copied(x, base.dtype, layout).dbase
            session.flush()  # if an engine fails, the elements are where they were
        base.exchange(made)
    for group in followers.groups:
        group.follow(base)
