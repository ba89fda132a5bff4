"""``searchsorted`` and ``digitize``: where elements belong in a sorted array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, Elements, create, is_whole
from distnb.client.handle.conversion import (
    array_of,
    as_dist,
    check_session,
    in_layout,
    record_collective,
)
from distnb.client.handle.host_arrays import all_here, plain, watched
from distnb.client.record.creation import asarray, zeros
from distnb.client.record.namespace import stands_for
from distnb.client.record.placement import stay
from distnb.common.errors import explain
from distnb.geometry.layout import default_layout, replicated

__all__ = ["SMALL", "digitize", "looked_up", "searchsorted"]

#: A sorted array up to this size in bytes is brought to every engine.
SMALL = 1 << 16


@stands_for(np.searchsorted, small="seeks", scalar=True)
def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None
) -> Array:
    """Return the positions at which elements belong in a sorted array, as ``numpy.searchsorted``.

    The result lies as ``v``. A sorted array of at most 64 KiB, or one that every engine holds, is
    brought to all engines, and nothing else is sent. A larger one is split in blocks: each engine
    sends every distinct element of its part of ``v`` to the engine in whose part it belongs, and
    gets a position back.

    Parameters
    ----------
    a : array_like
        One axis, in ascending order (or in that of ``sorter``).
    v : array_like
        What to look for.
    side : {'left', 'right'}
        Before or after equal elements.
    sorter : array_like of int, optional
        Positions that sort ``a``, as from ``argsort``.

    Returns
    -------
    DistArray of int
        Of the shape of ``v``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.searchsorted(dnb.arange(0, 50, 10), [7, 30, 99]).to_numpy()
    array([1, 3, 5])
    """
    given = [x for x in (a, v) if isinstance(x, Array)]
    if not given:
        a = asarray(a)
        given = [a]
    session = given[0].session
    if all_here((a, v, sorter), session):
        values = [None if x is None else plain(x) for x in (a, v, sorter)]
        found = watched("searchsorted", np.searchsorted, values[0], values[1], side, values[2])
        return array_of(session, np.asarray(found))
    for x in given:
        check_session(x, session)
    line, wanted = (x if isinstance(x, Array) else np.asarray(x) for x in (a, v))
    if wanted.dtype == object:  # Python's integers beyond 64 bits lie beyond all elements
        wanted = np.asarray(v, np.float64)
    _check(line, wanted, side, sorter)
    if sorter is not None:
        line = asarray(line, session=session)[asarray(sorter, session=session)]
    word = "right" if str(side)[:1].lower() == "r" else "left"
    return looked_up(as_dist(line, session), as_dist(wanted, session), word)


def _check(a: Elements, v: Elements, side: Any, sorter: ArrayLike | None) -> None:
    """Raise what NumPy raises."""
    np.searchsorted(np.empty((0,) * a.ndim, a.dtype), np.empty((0,) * v.ndim, v.dtype), side)
    if sorter is not None:
        known = sorter if isinstance(sorter, Array) else np.asarray(sorter)
        if known.shape != a.shape:
            raise ValueError("sorter.size must equal len(a)")
        np.searchsorted(np.empty(0), np.empty(0), sorter=np.empty(0, known.dtype))


def looked_up(a: Array, v: Array, side: str) -> Array:
    """Return positions in a sorted array, or whether elements are in it (``side='in'``).

    A sorted array that is small or that every engine holds is brought to all of them.
    """
    kind = np.dtype(bool if side == "in" else np.intp)
    session, size = a.session, a.session.size
    if not is_whole(v):
        v = v.copy()
    if not a.size:
        return zeros(v.shape, kind, dist=stay(v, kind), session=session)
    everywhere = a.nbytes <= SMALL or a.placed.layout.copies == size
    layout = replicated(1, size) if everywhere else default_layout(a.shape, size)
    a = in_layout(a, layout)
    out = create(session, v.shape, kind, v.dbase.layout, ("empty",))
    record_collective("search", (out,), (a, v), (side,))
    return out


@stands_for(np.digitize, small="dear", scalar=True)
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Array:
    """Return the number of the bin of each element, as ``numpy.digitize``.

    Layout and messages are those of :func:`distnb.searchsorted`, also in descending bins: the
    result lies as ``x``. Bins on the engines are looked at first, to see in which order they are:
    this waits.

    Parameters
    ----------
    x : array_like
        The elements.
    bins : array_like
        The edges, in ascending or descending order.
    right : bool
        Whether bins include their right edge, and not the left one.

    Returns
    -------
    DistArray of int
        Of the shape of ``x``: 0 before all edges, their number after all.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.digitize(dnb.array([0.2, 6.4, 3.0]), [0.0, 1.0, 2.5, 4.0]).to_numpy()
    array([1, 4, 3])
    """
    array = x if isinstance(x, Array) else None
    edges = bins if isinstance(bins, Array) else np.asarray(bins)
    if array is None and not isinstance(bins, Array):
        array = asarray(x)
    kind = array.dtype if array is not None else np.asarray(x).dtype
    np.digitize(np.empty(0, kind), np.zeros((min(1, edges.size),) * edges.ndim, edges.dtype))
    side = "left" if right else "right"
    what = x if array is None else array
    if _rises(edges):
        return searchsorted(edges, what, side)
    return edges.shape[0] - searchsorted(edges[::-1], what, side)


def _rises(edges: Elements) -> bool:
    """Tell whether bins ascend; raise ValueError if they do neither that nor descend."""
    known = edges.here if isinstance(edges, Array) else edges
    steps = edges if known is None else known
    low, high = steps[:-1], steps[1:]
    up, turn = low < high, low != high  # NaN is neither, and turns: as NumPy has it
    if not bool(up.any()):
        return not bool(turn.any())
    if bool(up[turn.argmax()]) and not bool((low > high).any()):
        return True
    raise ValueError(explain("bins", "no order", "ascending or descending bins", "sort them first"))
