"""Arrays from files: each engine reads its own part, and the notebook what is small."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import zip_longest
from math import prod
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from distnb.client.batching.call_sites import user_line
from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, create, hosted
from distnb.client.handle.conversion import record_collective
from distnb.client.math.blocks import record_call
from distnb.client.math.pickling import pickled
from distnb.client.record.operations import assign
from distnb.client.record.placement import layout_of_new
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.errors import EngineError, explain
from distnb.formats.archives import combined
from distnb.formats.boxes import full, in_file, pieces
from distnb.formats.objects import Called
from distnb.formats.plain import checksum
from distnb.formats.stored import Box, Reader, Stored, check_same, sub
from distnb.formats.table import reader_of
from distnb.geometry.axes import Axis, Block, Whole, cut_at
from distnb.geometry.layout import Grid as Ranks
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import View

__all__ = [
    "SLAB",
    "Source",
    "aligned",
    "check_sum",
    "checksum_of",
    "fill_from",
    "in_boxes",
    "in_chunks",
    "layout_in_file",
    "once",
    "read_here",
    "read_view",
    "slabs",
    "summed",
    "told",
]

#: Bytes on each engine of what is brought into another layout on its way from or to a file.
SLAB = 1 << 28

_Found = TypeVar("_Found")


class Source(NamedTuple):
    """Where elements are read: an array in a file, or what a function reads into boxes."""

    stored: Stored
    function: Callable[[Box, np.ndarray], object] | None = None

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements, as they are read."""
        return np.dtype(self.stored.dtype).newbyteorder("=")

    def open(self) -> Reader:
        """Return what reads boxes here."""
        return reader_of(self.stored) if self.function is None else Called(self.function)

    def record(self, out: Array, view: View) -> None:
        """Let each engine read its part of a view."""
        args = tuple(self.stored), view
        if self.function is not None:
            record_call("file.call", pickled(self.function), self.stored.path, [out], [], *args)
        else:
            record_collective("file.read", (out,), (), args)


def once(session: Session, function: Callable[..., _Found], *args: object) -> _Found:
    """Return what a function returns that one client calls: under SPMD each rank has one.

    It is the first rank's, so names that others give it must be the same.
    """
    error, found = None, None
    if not session.transport.rank:
        try:
            found = function(*args)
        except Exception as raised:  # the others are to raise it, too
            error = raised
    several: Any = session.transport.share((found, error, user_line(), list(_names_in(args))))
    _check_alike(several)
    found, error, *_ = several[0]
    if error is not None:
        raise error
    return cast("_Found", found)


def _names_in(given: object) -> Iterator[str]:
    """Yield the names of files, members and arrays in what a function is given."""
    if isinstance(given, str | os.PathLike):
        yield str(given)
    elif isinstance(given, Mapping | tuple):
        for each in given.items() if isinstance(given, Mapping) else given:
            yield from _names_in(each)


def _check_alike(several: Sequence[tuple[object, object, str, list[str]]]) -> None:
    """Raise EngineError where a rank gives other names than the first one."""
    for rank, (_, _, line, names) in enumerate(several):
        for name, first in zip_longest(names, several[0][3]):
            if name != first:
                got = f"{first!r} on rank 0 ({several[0][2]}), {name!r} on rank {rank} ({line})"
                do = "let no name of a file or an array depend on the rank"
                raise EngineError(explain("SPMD", got, "the same names on all ranks", do))


def told(session: Session, columns: int) -> Array:
    """Return an array with a row for each rank, in which it tells what it did."""
    p = session.size
    layout = Layout(Ranks.of((p,)), (Block(), Whole()), (0, -1))
    return create(session, (p, columns), np.dtype(np.int64), layout, ("empty",))


def checksum_of(session: Session, stored: Stored, begin: int, length: int, here: bool) -> int:
    """Return the CRC-32 of bytes of a file, which the notebook reads, or engines in parts."""
    if here:
        check_same(stored.path, stored.stamp)
        return checksum(stored.path, begin, length, bool)
    done, args = told(session, 2), (tuple(stored), begin, length)
    record_collective("file.sum", (done,), (), args)
    return summed(done.to_numpy().tolist())


def summed(parts: Iterable[Sequence[int]]) -> int:
    """Return the CRC-32 of all parts of some bytes: of each how many, and its own."""
    return reduce(lambda found, part: combined(found, part[1], part[0]), parts, 0)


def check_sum(session: Session, stored: Stored, here: bool = False) -> None:
    """Raise ValueError if a file has a checksum of an array, and not its bytes."""
    if not stored.summed:
        return
    begin, length, wanted = stored.summed
    found = checksum_of(session, stored, begin, length, here)
    if found != wanted:
        got, expected = f"bytes from {begin} on of CRC-32 {found:#x}", f"{wanted:#x}, as it says"
        raise ValueError(explain(f"file {stored.path}", got, expected, "get it again"))


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


def aligned(layout: Layout, shape: Ints, chunks: Ints, skews: Ints = ()) -> Layout:
    """Return a layout in blocks whose cuts are where chunks end, where there are enough of these.

    ``skews``: how far into a chunk each axis begins.

    >>> aligned(default_layout((10, 2), 2), (10, 2), (3, 2)).axes[0]
    Irregular(cuts=(0, 6, 10))
    >>> aligned(default_layout((10, 2), 2), (10, 2), (3, 2), (2, 0)).axes[0]
    Irregular(cuts=(0, 4, 10))
    """
    axes: list[Axis] = []
    for d, (axis, n) in enumerate(zip(layout.axes, shape, strict=True)):
        parts, chunk, skew = layout.parts(d), chunks[d], skews[d] if skews else 0
        if isinstance(axis, Block) and parts > 1 and -(-(n + skew) // chunk) >= parts and chunk > 1:
            axes.append(_cut(n, chunk, parts, skew))
        else:
            axes.append(axis)
    return Layout(layout.grid, tuple(axes), layout.dims)


def _cut(n: int, chunk: int, parts: int, skew: int = 0) -> Axis:
    """Return an axis that is cut where chunks end, as evenly as can be."""
    many = -(-(n + skew) // chunk)
    begins = [Block().bounds(many, parts, c)[0] * chunk - skew for c in range(parts)]
    return cut_at(tuple([min(n, max(0, begin)) for begin in begins]) + (n,))


def layout_in_file(
    source: Source, view: View, session: Session, dist: Dist = None, grid: Grid = None
) -> Layout:
    """Return where a view of a file is to lie: what was asked for, or cut where chunks end."""
    layout = layout_of_new(view.shape, source.dtype, session, dist, grid)
    chunks = source.stored.chunks
    plain = all(axis >= 0 and step == 1 for axis, _, step in view.dims)
    if layout.here or dist is not None or grid is not None or not chunks or not plain:
        return layout
    own = tuple([chunks[axis] for axis, _, _ in view.dims])
    skews = tuple([start % chunks[axis] for axis, start, _ in view.dims])
    return aligned(layout, view.shape, own, skews)


def read_view(
    stored: Stored,
    view: View,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Return an array of what a view of a file shows, when it has been read.

    Without ``dist=`` it is cut where the file's chunks end. Where it shows all, that has to have
    the checksum that the file tells.
    """
    at, source = need(session), Source(stored)
    layout = layout_in_file(source, view, at, dist, grid)
    if prod(view.shape) == prod(stored.shape):
        check_sum(at, stored, layout.here)
    if layout.here:
        return hosted(at, read_here(source, view))
    out = create(at, view.shape, source.dtype, layout, ("empty",), stays=True)
    fill_from(source, view, out)
    at.flush()  # the file may be written again
    return out


def fill_from(source: Source, view: View, out: Array) -> None:
    """Record that engines read a view into an array of its shape."""
    session, shape, layout = out.session, view.shape, out.dbase.layout
    if in_boxes(layout):
        source.record(out, view)
        return
    for low, high in slabs(shape, out.itemsize, session.size):
        part = view.take(0, low, 1, high - low)
        between = default_layout(part.shape, session.size)
        slab = create(session, part.shape, source.dtype, between, ("empty",))
        source.record(slab, part)
        assign(out[low:high], slab)


def read_here(source: Source, view: View) -> np.ndarray:
    """Return what a view of a file shows, as the notebook reads it."""
    stored = source.stored
    found = np.empty(view.shape, source.dtype)
    if not found.size:
        return found
    box, out = in_file(view, full(view.shape), len(stored.shape), found)
    reader = source.open()
    try:
        for piece in pieces(box, found.itemsize, stored.chunks):
            reader.read(tuple([r[s] for r, s in zip(box, piece, strict=True)]), sub(out, piece))
    finally:
        reader.close()
    return found
