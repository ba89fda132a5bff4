"""Who owns what: as a small page with an SVG, and as a picture on matplotlib axes.

Both draw one :class:`~distnb.widgets.layouts.picture.Picture` and say the same as :func:`describe`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from statistics import median
from textwrap import wrap
from typing import Any

import numpy as np

from distnb.geometry.views import Placed
from distnb.widgets.drawing.page import fitting, flow, table_html
from distnb.widgets.drawing.plots import check_axes
from distnb.widgets.drawing.text import (
    HEAD,
    ROWS,
    describe,
    facts_of,
    rows_of,
    shorten,
    spell_view,
    together,
)
from distnb.widgets.layouts.engine_memory import Memory, bars
from distnb.widgets.layouts.layout_svg import (
    OPACITY,
    TINTS,
    Svg,
    dots_of,
    extent_of,
    fit,
    frame_of,
    label_of,
    legible,
    tint_of,
)
from distnb.widgets.layouts.picture import (
    Box,
    Picture,
    Range,
    shown_axes,
    to_scale,
)

__all__ = ["OPACITY", "TINTS", "describe", "plot", "to_html"]

# -- The page --------------------------------------------------------------------------------------


def to_html(
    placed: Placed,
    dtype: Any,
    title: str = "",
    size: int | None = None,
    memory: Memory | None = None,
    axes: int | Sequence[int] | None = None,
) -> str:
    """Return who holds what as one HTML element of at most 10 kB, without scripts or styles.

    The table has every number of :func:`describe`, for all ``size`` engines of the session; the SVG
    shows who owns what along two axes, to scale; bars show the memory of the engines.
    """
    limits = ((10, 14), (6, 8), (4, 5), (2, 3), (1, 1))
    tries = ((limits, ROWS), (limits[1:], ROWS), (limits[2:], 8), (limits[4:], 4))
    return fitting(_page(placed, dtype, title, size, memory, axes, *most) for most in tries)


def _page(
    placed: Placed,
    dtype: Any,
    title: str,
    size: int | None,
    memory: Memory | None,
    axes: int | Sequence[int] | None,
    limits: Sequence[Range],
    most: int,
) -> str:
    facts = facts_of(placed, dtype, size)
    rows = rows_of(placed, facts, most)
    pic = legible(placed, axes, size, limits, (320, 200))
    notes = [shorten(note, 160) for note in pic.notes]
    notes += together(len(facts.held), len(rows), "sum")
    name = f"<b>{escape(shorten(title, 100))}</b> " if title else ""
    beside = f"<div>{bars(memory, facts.head, most)}</div>" if memory else ""
    tail = f"<br/>{escape(memory.tell())}" if memory else ""
    words = "".join(f"<br/><small>{escape(note)}</small>" for note in notes)
    picture = f"<div>{Svg(pic).draw(facts, notes)}{words}</div>"
    table = table_html(HEAD, (row.entries for row in rows), label="engines")
    return (
        f"<p>{name}{escape(facts.head)}<br/>{escape(facts.layout)}</p>"
        f"{flow(picture, table, beside)}<p>{escape(facts.finding)}{tail}</p>"
    )


# -- The plot --------------------------------------------------------------------------------------


def plot(
    placed: Placed,
    dtype: Any = None,
    ax: Any = None,
    axes: int | Sequence[int] | None = None,
    size: int | None = None,
) -> Any:
    """Draw who owns what on matplotlib axes, and return these.

    Parameters
    ----------
    placed : Placed
        The array. A view is drawn as its base, hatched where the view does not reach.
    dtype : optional
        Named in the title.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, in a new figure.
    axes : int or pair of int, optional
        The axes of the view to show, rows first; by default the two longest that are split.
    size : int, optional
        The number of engines of the session; by default, up to the last of the grid.
    """
    strip = shown_axes(placed, axes)[0] < 0
    limits = ((1, 64), (1, 32), (1, 16), (1, 8)) if strip else ((20, 20), (12, 12), (8, 8), (5, 5))
    pic = legible(placed, axes, size, limits, (360, 300), lying=True)
    lines, side = _heading(placed, dtype, pic), None
    if ax is None:
        ax, side = _figure(pic, len(lines))
    else:
        check_axes(ax)
    _draw_boxes(ax, pic, pic.boxes, *_points(ax, pic.shape, to_scale(pic.shape) and not strip))
    if pic.touched is not None:
        _draw_view(ax, pic)
    _draw_axes(ax, pic)
    if side:
        _draw_corner(side, pic)
    ax.set_title("\n".join(lines), loc="left", fontsize=9, parse_math=False)
    return ax


def _heading(placed: Placed, dtype: Any, pic: Picture) -> list[str]:
    """Return the lines of the title."""
    name = "" if dtype is None else f" {shorten(str(np.dtype(dtype)), 40)}"
    shape = f"{shorten(str(placed.shape), 80)}{name}: {placed.layout.spell()}"
    place = [f"{spell_view(placed)}{name}", placed.layout.spell()]
    head = [shape] if pic.touched is None else place
    return [line for text in (*head, *pic.notes) for line in wrap(shorten(text, 200), 80)]


def _figure(pic: Picture, lines: int) -> tuple[Any, Any]:
    """Return the axes of a new figure: for the picture, and for the first blocks if need be."""
    from matplotlib import pyplot

    beside = bool(pic.corner)
    size = (6.0 + beside, frame_of(pic, 5.0, 4.2)[1] + 0.7 + 0.3 * beside + 0.17 * lines)
    figure = pyplot.figure(figsize=size, layout="constrained")
    if beside:
        return tuple(figure.subplots(1, 2, width_ratios=(3.5, 1)))
    return figure.subplots(), None


def _points(ax: Any, shape: tuple[int, int], equal: bool) -> tuple[float, float]:
    """Return about how many points (1/72 inch) one column and one row take."""
    extent, (rows, cols) = ax.get_window_extent(), (max(1, n) for n in shape)
    x, y = (72 / ax.figure.dpi * n for n in (extent.width / cols, extent.height / rows))
    return (min(x, y), min(x, y)) if equal else (x, y)


def _draw_boxes(ax: Any, pic: Picture, boxes: Sequence[Box], x: float, y: float) -> None:
    """Draw rectangles, and engine numbers where these can be read, all upright or on their side."""
    from matplotlib.patches import Rectangle

    for box in boxes:
        tint, (height, width) = tint_of(box), extent_of(box)
        fill = (tint, OPACITY) if tint else "none"
        hatch = None if tint else "//"
        ax.add_patch(
            Rectangle(
                (box.cols[0], box.rows[0]), width, height, fc=fill, ec="0.5", hatch=hatch, lw=0.8
            )
        )
    fits = [(label_of(pic, box), extent_of(box)) for box in boxes]
    upright = [fit(text, w * x, h * y) for text, (h, w) in fits]
    lying = [fit(text, h * y, w * x) for text, (h, w) in fits]
    lie = sum(s for s in lying if s >= 4) > 1.2 * sum(s for s in upright if s >= 4)
    sizes = lying if lie else upright
    usual = median([s for s in sizes if s >= 4] or [0])
    for box, (text, _), size in zip(boxes, fits, sizes, strict=True):
        if size < 4:
            continue
        at = (sum(box.cols) / 2, sum(box.rows) / 2)
        paper = None if tint_of(box) else {"fc": ax.get_facecolor(), "ec": "none", "pad": 1.5}
        style = {"ha": "center", "va": "center", "rotation": 90 * lie, "bbox": paper}
        ax.text(*at, text, fontsize=min(size, max(6, usual)), **style)


def _draw_view(ax: Any, pic: Picture) -> None:
    """Hatch what is outside the view, frame what it touches, dot its elements."""
    from matplotlib.patches import Rectangle

    rows, cols = pic.touched or (range(0), range(0))
    (n, m), full = pic.shape, len(rows) > 0
    top, bottom = (rows[0], rows[-1] + 1) if full else (n, n)
    left, right = (cols[0], cols[-1] + 1) if full else (0, m)
    outside = ((0, top, 0, m), (bottom, n, 0, m), (top, bottom, 0, left), (top, bottom, right, m))
    paper, grey = (ax.get_facecolor(), 0.5), (0.5, 0.5, 0.5, 0.6)
    for r0, r1, c0, c1 in outside:
        if r0 < r1 and c0 < c1:
            at, width, height = (c0, r0), c1 - c0, r1 - r0
            ax.add_patch(
                Rectangle(at, width, height, fc=paper, ec=grey, hatch="\\\\\\", linewidth=0)
            )
    if full:
        at, width, height = (left, top), right - left, bottom - top
        ax.add_patch(
            Rectangle(at, width, height, fill=False, ec=ink(), linewidth=2.5, clip_on=False)
        )
    if dots := dots_of(pic, 400):
        ax.plot([j + 0.5 for _, j in dots], [i + 0.5 for i, _ in dots], ".", color=ink(), ms=3)


def ink() -> str:
    from matplotlib import rcParams

    return rcParams["text.color"]


def _draw_axes(ax: Any, pic: Picture) -> None:
    """Set limits, ticks at the block borders, and names."""
    (rows, cols), (n, m) = pic.axes, pic.shape
    ax.set_xlim(0, max(1, m))
    ax.set_ylim(max(1, n), 0)
    if to_scale(pic.shape) and min(pic.axes) >= 0:
        ax.set_aspect("equal")
    if not pic.boxes:
        ax.text(0.5, 0.5, "no elements", ha="center", va="center", transform=ax.transAxes)
    for axis, number, edges in (
        (ax.xaxis, cols, {0, m} | {b.cols[0] for b in pic.boxes}),
        (ax.yaxis, rows, {0, n} | {b.rows[0] for b in pic.boxes}),
    ):
        if number < 0:
            axis.set_ticks([])
            continue
        ticks = sorted(edges)
        if all(b - a > ticks[-1] / 16 for a, b in pairwise(ticks)):
            axis.set_ticks(ticks)
        axis.set_label_text(f"axis {number}", fontsize=9)
        axis.set_major_formatter("{x:,.0f}")
        axis.set_tick_params(labelsize=8)


def _draw_corner(ax: Any, pic: Picture) -> None:
    """Draw the first blocks, one by one."""
    n, m = (max(t) for t in zip(*((b.rows[1], b.cols[1]) for b in pic.corner), strict=True))
    ax.set(xlim=(0, m), ylim=(n, 0), xticks=[], yticks=[])
    equal = min(pic.axes) >= 0
    if equal:
        ax.set_aspect("equal", anchor="N")
    ax.set_title("first blocks", fontsize=9)
    _draw_boxes(ax, pic, pic.corner, *_points(ax, (n, m), equal))
