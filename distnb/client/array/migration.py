"""Arrays that move to another layout, in place."""

from __future__ import annotations

from typing import Any

from distnb.client.array.distarray import DistArray
from distnb.client.record.operations import copied, move_out
from distnb.client.record.placement import layout_for
from distnb.client.session.bases import Base
from distnb.common.errors import LayoutError, explain

__all__: list[str] = []


def _move(self: DistArray, dist: Any = None, grid: Any = None) -> None:
    """Move the array to another layout, in place.

    All views of it follow, and all names of it: it stays the same array, with the same elements.
    (:meth:`redistribute` returns a new one, and the old one stays.) While it moves, engines need
    memory for both; ``x.layout.cost(dist)`` tells how much, and what is sent.

    Parameters
    ----------
    dist, grid
        As in :func:`distnb.array`; another array's ``layout`` is accepted, too.

    Raises
    ------
    LayoutError
        If the array is a view of a part of another one, or with other axes: move that one.

    Notes
    -----
    What is sent is the same as by :meth:`redistribute`. It is waited for: if an engine fails, the
    array is where it was.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a = dnb.zeros((4, 4), dist="block")
    ...     row = a[1]
    ...     a.move(("*", "block"))
    ...     row[:] = 1.0
    ...     a, row, float(a.sum())
    (<DistArray (4, 4) float64, * x block on 2 engines, 0.0 MiB>,
     <DistArray (4,) float64, view of (4, 4), * x block on 2 engines, 0.0 MiB>, 4.0)
    """
    base, session = self._base, self.session
    if not self._view.is_whole(base.shape):
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
            made: Base = copied(self, base.dtype, layout)._base
            session.flush()  # if an engine fails, the elements are where they were
        base.exchange(made)


_move.__name__, _move.__qualname__ = "move", "DistArray.move"
DistArray.move = _move  # type: ignore[attr-defined]
