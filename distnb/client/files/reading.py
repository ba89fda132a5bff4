"""Arrays from files: each engine reads its own part, and the notebook what is small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, TypeVar

import numpy as np

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, create, hosted
from distnb.client.record.operations import assign
from distnb.client.record.placement import layout_of_new
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.formats.boxes import full, in_file, pieces
from distnb.formats.stored import Stored, sub
from distnb.formats.table import reader_of
from distnb.geometry.axes import Axis, Block, Whole, cut_at
from distnb.geometry.layout import Grid as Ranks
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import View
from distnb.wire.protocol import Collective

__all__ = ["SLAB", "aligned", "in_boxes", "in_chunks", "once", "read_here", "read_view", "slabs"]

#: Bytes on each engine of what is brought into another layout on its way from or to a file.
SLAB = 1 << 28

_Found = TypeVar("_Found")


def once(session: Session, function: Callable[..., _Found], *args: object) -> _Found:
    """Return what a function returns that one client calls: under SPMD each rank has one."""
    error, found = None, None
    if not session.transport.rank:
        try:
            found = function(*args)
        except Exception as raised:  # the others are to raise it, too
            error = raised
    shared: Any = session.transport.share((found, error))[0]
    if shared[1] is not None:
        raise shared[1]
    return shared[0]


def in_boxes(layout: Layout) -> bool:
    """Tell whether each engine holds one box: nothing is dealt in turns."""
    split = ((axis, layout.parts(d)) for d, axis in enumerate(layout.axes))
    return not any(axis.period(parts) for axis, parts in split if parts > 1)


def slabs(shape: Ints, itemsize: int, size: int, chunk: int = 1) -> Iterator[tuple[int, int]]:
    """Cut the first axis so that what lies between two cuts has few bytes on each engine.

    And where chunks end.

    >>> list(slabs((5, 1 << 20), 256, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    rows = max(1, SLAB * size // max(1, itemsize * prod(shape[1:])))
    rows = -(-rows // chunk) * chunk
    return ((low, min(shape[0], low + rows)) for low in range(0, shape[0], rows))


def in_chunks(shape: Ints, size: int, chunk: int) -> Layout:
    """Return the layout along the first axis in which each chunk is on one engine.

    >>> in_chunks((5, 2), 3, 4).axes[0]
    Irregular(cuts=(0, 4, 5, 5))
    """
    axes = (_cut(shape[0], chunk, size), *(Whole() for _ in shape[1:]))
    return Layout(Ranks.of((size,)), axes, (0, *(-1 for _ in shape[1:])))


def aligned(layout: Layout, shape: Ints, chunks: Ints) -> Layout:
    """Return a layout in blocks whose cuts are where chunks end, where there are enough of these.

    >>> aligned(default_layout((10, 2), 2), (10, 2), (3, 2)).axes[0]
    Irregular(cuts=(0, 6, 10))
    """
    axes: list[Axis] = []
    for d, (axis, n) in enumerate(zip(layout.axes, shape, strict=True)):
        parts, chunk = layout.parts(d), chunks[d]
        if isinstance(axis, Block) and parts > 1 and -(-n // chunk) >= parts and chunk > 1:
            axes.append(_cut(n, chunk, parts))
        else:
            axes.append(axis)
    return Layout(layout.grid, tuple(axes), layout.dims)


def _cut(n: int, chunk: int, parts: int) -> Axis:
    """Return an axis that is cut where chunks end, as evenly as can be."""
    many = -(-n // chunk)
    return cut_at(
        tuple([min(n, Block().bounds(many, parts, c)[0] * chunk) for c in range(parts)]) + (n,)
    )


def read_view(
    stored: Stored,
    view: View,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Return an array of what a view of a file shows, when it has been read.

    Without ``dist=`` it is cut where the file's chunks end.
    """
    at = need(session)
    kind = np.dtype(stored.dtype).newbyteorder("=")
    layout = layout_of_new(view.shape, kind, at, dist, grid)
    if layout.here:
        return hosted(at, read_here(stored, view))
    if dist is None and grid is None and stored.chunks and view == View.whole(stored.shape):
        layout = aligned(layout, view.shape, stored.chunks)
    out = create(at, view.shape, kind, layout, ("empty",), stays=True)
    if in_boxes(layout):
        _record(out, stored, view)
    else:
        for low, high in slabs(view.shape, kind.itemsize, at.size):
            part = view.take(0, low, 1, high - low)
            between = default_layout(part.shape, at.size)
            slab = create(at, part.shape, kind, between, ("empty",))
            _record(slab, stored, part)
            assign(out[low:high], slab)
    at.flush()  # the file may be written again
    return out


def _record(out: Array, stored: Stored, view: View) -> None:
    session, operand = out.session, out.operand
    args = (tuple(stored), view)
    session.record(Collective("file.read", (operand,), (), args, session.site()))


def read_here(stored: Stored, view: View) -> np.ndarray:
    """Return what a view of a file shows, as the notebook reads it."""
    kind = np.dtype(stored.dtype).newbyteorder("=")
    found = np.empty(view.shape, kind)
    if not found.size:
        return found
    box, out = in_file(view, full(view.shape), len(stored.shape), found)
    reader = reader_of(stored)
    try:
        for piece in pieces(box, kind.itemsize, stored.chunks):
            reader.read(tuple([r[s] for r, s in zip(box, piece, strict=True)]), sub(out, piece))
    finally:
        reader.close()
    return found
