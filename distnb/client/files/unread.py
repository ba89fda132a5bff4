"""Arrays in files that are read when they are used, and of which a slice reads what it shows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from distnb.client.files.reading import Source, fill_from, layout_in_file, read_here
from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, hosted, record_creation, room_for
from distnb.client.reach.aliasing import Family, Look, outline
from distnb.client.session.bases import Base
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.geometry.views import View

__all__ = ["unread"]


def unread(
    source: Source,
    view: View,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Return a read-only array of what a view of a file shows, which is read when it is used.

    What is small is read here and now.
    """
    at = need(session)
    layout = layout_in_file(source, view, at, dist, grid)
    if layout.here:
        near = read_here(source, view)
        near.flags.writeable = False  # small steps go by what NumPy says
        found = hosted(at, near)
        found.writeable = False
        return found
    base = Base.to_come(at, view.shape, source.dtype, layout)
    found = Array.made(base, View.whole(view.shape), False)
    base.look = _Unread(found, source, view, (dist, grid))
    return found


class _Unread(Look):
    """What a base is until it is read: a look at a file, whose slices are looks of their own.

    Nobody can write into such arrays, so nothing is lost between those that are read apart.
    """

    __slots__ = ("_asked", "_source", "_view")
    unread = True

    def __init__(self, x: Array, source: Source, view: View, asked: tuple[Dist, Grid]) -> None:
        super().__init__(Family(x.dbase, outline(x)), ())
        self._source, self._view, self._asked = source, view, asked

    def refresh(self, base: Base) -> None:
        """Read all of it."""
        with base.session.recorder.lock:
            if base.look is not self:  # another thread has read it
                return
            base.look = None
            try:
                base.memory = room_for(base.session, base.shape, base.dtype, base.layout, False)
                base.move(base.layout)
                record_creation(base, base.laid("empty"))
                fill_from(self._source, self._view, Array.made(base, View.whole(base.shape)))
            except BaseException:
                base.look = self
                raise

    def part(self, base: Base, view: View) -> Any:
        """Return an array of a part of it, which is read by itself; None for all of it."""
        if any(axis < 0 for axis, _, _ in view.dims) or prod(view.shape) >= prod(base.shape):
            return None
        inner = self._view.then(view)
        dist, grid = self._asked if len(inner.shape) == len(base.shape) else (None, None)
        return unread(self._source, inner, dist, grid, base.session)

    def wrote(self, base: Base) -> None:
        """Do nothing: nothing is written before it was read."""

    def leave(self, base: Base) -> None:
        """Do nothing: it is not in reach."""

    def come(self, base: Base, come: Callable[[Base], bool]) -> bool:
        """Read it, and bring it in reach."""
        self.refresh(base)
        base.session.flush()
        return come(base)
