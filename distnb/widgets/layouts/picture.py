"""The picture of who owns what, before anything is drawn: spans, boxes, what is touched, and notes.

A picture shows one or two axes of the *base*, to scale and with its real block borders; a view is
marked on top of it. It is worked out in time that depends on the number of engines but not of
blocks or elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

from distnb.common.errors import LayoutError, explain
from distnb.geometry.axes import Axis
from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed
from distnb.widgets.drawing.text import (
    engines_of,
    grouped,
    intervals,
    who,
)

__all__ = ["Box", "Picture", "Span", "blocks", "picture", "spans"]

Range = tuple[int, int]


class Span(NamedTuple):
    """A stretch ``[lo, hi)`` of one axis: ``runs`` blocks, owned by the coordinates ``coords``."""

    lo: int
    hi: int
    coords: Ints
    runs: int = 1


class Box(NamedTuple):
    """A rectangle of the picture, and every engine that holds something of it.

    Several engines share it where it has copies, goes on along a hidden axis, or is dealt in turn;
    else they hold neighbouring blocks that are drawn as one.
    """

    rows: Range
    cols: Range
    engines: Ints
    shared: bool


@dataclass(frozen=True)
class Picture:
    """All that is to be drawn of a placed array.

    Attributes
    ----------
    axes : tuple of int
        The base axes along rows and columns; -1 where there is none (a strip, a single element).
    shape : tuple of int
        Lengths along rows and columns.
    boxes : tuple of Box
        They tile the shape; each is one block, or stands for several as the notes tell.
    corner : tuple of Box
        The first blocks in units of blocks, where the real ones are too many to draw; else empty.
    touched : None or pair of range
        What the view touches along rows and columns; None if the view is the whole base.
    replicated : bool
        Whether several engines each hold all of it.
    size : int
        Number of engines of the session.
    notes : tuple of str
        What the picture cannot say.
    """

    axes: tuple[int, int]
    shape: tuple[int, int]
    boxes: tuple[Box, ...]
    corner: tuple[Box, ...]
    touched: tuple[range, range] | None
    replicated: bool
    size: int
    notes: tuple[str, ...]


def blocks(
    placed: Placed, axes: int | Sequence[int] | None = None, limit: tuple[int, int] = (20, 20)
) -> tuple[Box, ...]:
    """Return the rectangles of the base with their engines, at most ``limit`` along each axis.

    The boxes tile the two shown axes. Along hidden axes a box holds all that the view touches, so
    an element's owner is always among the engines of its box.
    """
    return picture(placed, axes, limit).boxes


def picture(
    placed: Placed,
    axes: int | Sequence[int] | None = None,
    limit: tuple[int, int] = (20, 20),
    size: int | None = None,
) -> Picture:
    """Return what to draw along one or two axes of the view (by default, the longest split).

    ``size`` is the number of engines of the session (by default, up to the last of the grid).
    """
    shown = shown_axes(placed, axes)
    shape = tuple(placed.shape[a] if a >= 0 else 1 for a in shown)
    cut = [_spans(placed, a, most) for a, most in zip(shown, limit, strict=True)]
    boxes = _boxes(placed, shown, cut) if prod(placed.shape) else ()
    corner: tuple[Box, ...] = ()
    if boxes and any(_in_turn(placed, a, t) for a, t in zip(shown, cut, strict=True)):
        corner = _boxes(placed, shown, [_corner(placed, a) for a in shown])
    notes = list(_notes(placed, shown, cut))
    if more := [len(b.engines) - 1 for b in boxes if len(intervals(b.engines)) > 2]:
        notes.append(f"+{more[0]} means: and {more[0]} more engines")
    return Picture(
        axes=shown,
        shape=(shape[0], shape[1]),
        boxes=boxes,
        corner=corner,
        touched=None if placed.view.is_whole(placed.shape) else _touched(placed, shown),
        replicated=placed.layout.copies > 1 and placed.layout.split == 1,
        size=len(engines_of(placed, size)),
        notes=tuple(notes),
    )


def spans(axis: Axis, n: int, p: int, most: int) -> list[Span]:
    """Cut an axis where its owner changes, into at most ``most`` stretches.

    Neighbouring blocks share a stretch where there are more; of a periodic axis, all do.
    """
    period = axis.period(p) if p > 1 else 0
    if period and (count := -(-n // (period // p))) > most:
        return [Span(0, n, tuple(range(min(p, count))), count)]
    found = list(_runs(axis, n, p))
    return [
        Span(g[0].lo, g[-1].hi, tuple(c for s in g for c in s.coords), len(g))
        for g in grouped(found, most)
    ]


def _runs(axis: Axis, n: int, p: int) -> Iterator[Span]:
    """Walk over the blocks of an axis."""
    lo = 0
    while lo < n:
        hi = axis.run(n, p, lo) if p > 1 else n
        yield Span(lo, hi, (axis.owner(n, p, lo) if p > 1 else 0,))
        lo = hi


def _spans(placed: Placed, a: int, most: int) -> list[Span]:
    if a < 0:
        return [Span(0, 1, (0,))]
    return spans(placed.layout.axes[a], placed.shape[a], placed.layout.parts(a), most)


def _period(placed: Placed, a: int) -> int:
    return placed.layout.axes[a].period(placed.layout.parts(a)) if a >= 0 else 0


def _in_turn(placed: Placed, a: int, cut: list[Span]) -> bool:
    """Tell whether an axis is dealt in turn, in more blocks than are drawn."""
    return _period(placed, a) > 0 and any(len(span.coords) > 1 for span in cut)


def _corner(placed: Placed, a: int) -> list[Span]:
    """Return the first two rounds of an axis's blocks, in units of blocks."""
    if a < 0:
        return [Span(0, 1, (0,))]
    p = placed.layout.parts(a)
    walk = zip(range(min(2 * p, 6)), _runs(placed.layout.axes[a], placed.shape[a], p), strict=False)
    return [Span(i, i + 1, s.coords) for i, s in walk]


def shown_axes(placed: Placed, axes: int | Sequence[int] | None) -> tuple[int, int]:
    """Return the base axes along rows and columns, -1 for none."""
    view, layout = placed.view, placed.layout
    moved = [a for a, _, _ in view.dims if a >= 0]
    if axes is not None:
        found = _asked(placed, axes)
    else:
        rank = {a: (layout.parts(a) > 1, a in moved, n) for a, n in enumerate(placed.shape)}
        found = sorted(sorted(rank, key=rank.__getitem__, reverse=True)[:2])
        if set(found) <= set(moved):  # in the order of the view: its transpose lies on its side
            found.sort(key=moved.index)
    first, second = ([-1, -1] + found)[-2:]
    return first, second


def _asked(placed: Placed, axes: int | Sequence[int]) -> list[int]:
    """Return the base axes of the view axes that the user wants to see."""
    wanted = (axes,) if isinstance(axes, int) else tuple(axes)
    ndim = len(placed.view.shape)
    good = len(wanted) in (1, 2) and all(isinstance(d, int) and -ndim <= d < ndim for d in wanted)
    found = [placed.view.dims[d][0] for d in wanted] if good else []
    if not good or -1 in found or len(set(found)) < len(found):
        can = [d for d, (a, _, _) in enumerate(placed.view.dims) if a >= 0]
        raise LayoutError(
            explain("axes", axes, f"one or two of {can}", "choose axes that are not broadcast")
        )
    return found


def _boxes(placed: Placed, shown: tuple[int, int], cut: Sequence[list[Span]]) -> tuple[Box, ...]:
    """Return the product of the stretches along rows and columns."""
    grid, gdims = placed.layout.grid, placed.layout.dims
    coords = _hidden(placed, shown)
    shared = any(len(c) > 1 for c in coords)
    shared |= any(_in_turn(placed, a, t) for a, t in zip(shown, cut, strict=True))
    known: dict[tuple[Ints, Ints], tuple[Ints, bool]] = {}
    found = []
    for r, c in product(*cut):
        if (r.coords, c.coords) not in known:
            for a, span in zip(shown, (r, c), strict=True):
                if a >= 0 and gdims[a] >= 0:
                    coords[gdims[a]] = span.coords
            ranks = tuple(sorted(grid.rank(at) for at in product(*coords)))
            known[r.coords, c.coords] = ranks, shared
        found.append(Box((r.lo, r.hi), (c.lo, c.hi), *known[r.coords, c.coords]))
    return tuple(found)


def _hidden(placed: Placed, shown: tuple[int, int]) -> list[Sequence[int]]:
    """Return, for each grid dimension, the coordinates that hold what the view touches."""
    grid = placed.layout.grid
    coords: list[Sequence[int]] = [range(n) for n in grid.sizes]
    for m in placed.maps:
        if m and m.extent:
            coords[m.gdim] = [c for c in range(m.p) if m.owned(c)]
    for g, c in placed.pinned.items():
        coords[g] = (c,)
    for a in shown:  # these are overwritten box by box
        if a >= 0 and placed.layout.dims[a] >= 0:
            coords[placed.layout.dims[a]] = ()
    return coords


def _touched(placed: Placed, shown: tuple[int, int]) -> tuple[range, range]:
    """Return what the view touches along rows and columns of the base."""
    view = placed.view
    touched = {a: range(i, i + 1) for a, i in view.fixed}
    for n, (a, start, step) in zip(view.shape, view.dims, strict=True):
        up = range(start, start + step * n, step) if step else range(0)
        touched[a] = up if step > 0 else up[::-1]
    touched[-1] = range(1)
    if not prod(view.shape):
        return range(0), range(0)
    return touched[shown[0]], touched[shown[1]]


def _notes(placed: Placed, shown: tuple[int, int], cut: Sequence[list[Span]]) -> Iterator[str]:
    """Say what the picture cannot show."""
    layout, whole = placed.layout, placed.view.is_whole(placed.shape)
    still = dict(placed.view.fixed)
    for a in range(len(placed.shape)):
        if a not in shown:
            yield f"axis {a} is not shown" + _share(placed, a, still.get(a))
    count, drawn = (prod(sum(s.runs for s in t) for t in cut), prod(len(t) for t in cut))
    if count > drawn > 0:
        yield f"{count:,} blocks, drawn as {drawn:,}" if drawn > 1 else f"{count:,} blocks"
    if prod(placed.shape) and not to_scale(tuple(placed.shape[a] for a in shown if a >= 0)):
        yield "rows and columns are to different scales"
    for a, t in zip(shown, cut, strict=True):
        if _in_turn(placed, a, t):
            p = layout.parts(a)
            yield f"axis {a}: blocks of {_period(placed, a) // p:,} dealt in turn to {p}"
    if layout.copies > 1 and layout.split > 1:
        yield f"the engines of a block each hold a copy: {layout.copies} copies"
    if none := [r for r in sorted(layout.grid.ranks()) if 0 in (placed.local_shape(r) or ())]:
        yield f"nothing on {who(none)}"
    elif not whole and (none := [r for r in sorted(layout.grid.ranks()) if not placed.held(r)]):
        yield f"nothing of the view on {who(none)}"


def to_scale(shape: Ints) -> bool:
    """Tell whether rows and columns can have one scale without the picture becoming a thread."""
    return len(shape) < 2 or 1 / 4 <= aspect(*shape) <= 2


def aspect(rows: int, cols: int) -> float:
    return max(1, rows) / max(1, cols)


def _share(placed: Placed, a: int, index: int | None) -> str:
    """Say what becomes of an axis that is not shown."""
    if index is not None:
        return f" (at {index})"
    if placed.layout.parts(a) == 1:
        return ""
    return f" ({placed.layout.axes[a].spell()}: the engines of a block share it)"
