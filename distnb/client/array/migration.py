"""Arrays that move to another layout, in place."""

from __future__ import annotations

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import copied, move_out
from distnb.client.record.placement import layout_for
from distnb.client.session.bases import Base
from distnb.common.errors import LayoutError, explain

__all__ = ["move"]


def move(x: Array, dist: Dist, grid: Grid) -> None:
    """Move an array to another layout, in place; see :meth:`distnb.DistArray.move`."""
    base, session = x.dbase, x.session
    if not x.dview.is_whole(base.shape):
        raise LayoutError(
            explain("array to move", "a view of another one", "a whole array", "move its base")
        )
    session.check_open()
    layout = layout_for(base.shape, session, dist, grid)
    if base.host is not None:
        move_out(base, layout)
    elif layout != base.layout:
        session.flush()
        with session.journal.paused():  # to move is not what the cell computes
            made: Base = copied(x, base.dtype, layout).dbase
            session.flush()  # if an engine fails, the elements are where they were
        base.exchange(made)
