"""Who owns what: as a small page with an SVG, and as a picture on matplotlib axes.

Both draw one :class:`~distnb.widgets.picture.Picture` and say the same as :func:`describe`. A block
is told by its position and by the engine numbers printed in it; tints only help.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise, product
from math import prod
from statistics import median
from textwrap import wrap
from typing import Any
from zlib import crc32

import numpy as np

from distnb.views import Placed
from distnb.widgets.picture import Box, Picture, Range, aspect, picture, shown_axes, to_scale
from distnb.widgets.text import (
    HEAD,
    ROWS,
    Facts,
    brief,
    describe,
    facts_of,
    fitting,
    intervals,
    numbers,
    rows_of,
    shorten,
    table_html,
    together,
)

__all__ = ["describe", "plot", "to_html"]

#: Okabe and Ito's colours, drawn as tints; neighbouring numbers never have the same.
TINTS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
OPACITY = 0.25


# -- The page --------------------------------------------------------------------------------------


def to_html(placed: Placed, dtype: Any, title: str = "", size: int | None = None) -> str:
    """Return who holds what as one HTML element of at most 10 kB, without scripts or styles.

    The table has every number of :func:`describe`, for all ``size`` engines of the session; the SVG
    shows who owns what, to scale.
    """
    limits = ((10, 14), (6, 8), (4, 5), (2, 3), (1, 1))
    tries = ((limits, ROWS), (limits[1:], ROWS), (limits[2:], 8), (limits[4:], 4))
    return fitting(_page(placed, dtype, title, size, *most) for most in tries)


def _page(
    placed: Placed,
    dtype: Any,
    title: str,
    size: int | None,
    limits: Sequence[Range],
    most: int,
) -> str:
    facts = facts_of(placed, dtype, size)
    rows = rows_of(placed, facts, most)
    pic = _legible(placed, None, size, limits, (320, 200))
    notes = [shorten(note, 160) for note in pic.notes]
    notes += together(len(facts.held), len(rows), "sum")
    name = f"<b>{escape(shorten(title, 100))}</b> " if title else ""
    return (
        f"<div><p>{name}{escape(facts.head)}<br/>{escape(facts.layout)}</p>"
        '<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">'
        + table_html(HEAD, (row.cells for row in rows))
        + f"<div>{_Svg(pic).draw(facts, notes)}"
        + "".join(f"<br/><small>{escape(note)}</small>" for note in notes)
        + f"</div></div><p>{escape(facts.finding)}</p></div>"
    )


class _Svg:
    """Draws a picture as SVG text."""

    def __init__(self, pic: Picture) -> None:
        self.pic = pic
        self.width, self.height = _frame(pic, 320, 200)
        self.texts: list[str] = []

    def draw(self, facts: Facts, notes: Sequence[str]) -> str:
        """Return the SVG element with its title and description."""
        size = (self.height, self.width)
        scale = [full / max(1, n) for full, n in zip(size, self.pic.shape, strict=True)]
        top, left = 14, 4 + 6.2 * len(f"{self.pic.shape[0]:,}") * (self.pic.axes[0] >= 0)
        uid = f"d{crc32(repr((facts, self.pic)).encode()):08x}"
        marks = self._marks(self.pic.boxes, top, left, *scale)
        if not self.pic.boxes:
            frame = _rect(left, top, self.width, self.height)
            marks = f'<path d="{frame}" fill="none" stroke="currentColor"/>'
            self._text(left + self.width / 2, top + self.height / 2 + 3.5, "no elements")
        if self.pic.window is not None:
            marks += self._view(top, left, *scale)
        right = left + self.width + 3
        if self.pic.corner:
            marks += self._marks(self.pic.corner, top, right + 20, 18, 24)
            self._text(right + 20, top - 4, "first blocks", "start")
            right += 24 + 24 * max(b.cols[1] for b in self.pic.corner)
        self._ends(top, left)
        bottom = max(
            top + self.height, top + 18 * max((b.rows[1] for b in self.pic.corner), default=0)
        )
        title = escape(f"Who owns what: {facts.head}, {facts.layout}")
        desc = escape("; ".join((facts.finding, *notes)))
        return (
            f'<svg role="img" xmlns="http://www.w3.org/2000/svg" width="{brief(right)}" '
            f'height="{brief(bottom + 16)}" font-family="sans-serif" font-size="10" '
            f'fill="currentColor"><title>{title}</title><desc>{desc}</desc>'
            f'<pattern id="{uid}" width="6" height="6" patternUnits="userSpaceOnUse">'
            '<path d="M0 6L6 0" stroke="currentColor" stroke-width=".5" opacity=".5"/></pattern>'
            f'<pattern id="{uid}o" width="4" height="4" patternUnits="userSpaceOnUse">'
            '<path d="M0 0L4 4" stroke="currentColor" stroke-width=".5" opacity=".5"/></pattern>'
            + marks.replace("#HATCH", f"#{uid}")
            + f'<g text-anchor="middle">{"".join(self.texts)}</g></svg>'
        )

    def _marks(self, boxes: Iterable[Box], top: float, left: float, y: float, x: float) -> str:
        """Return one path for each tint, and note the numbers to print."""
        paths: dict[str, str] = {}
        for box in boxes:
            h, w = (box.rows[1] - box.rows[0]) * y, (box.cols[1] - box.cols[0]) * x
            r, c = top + box.rows[0] * y, left + box.cols[0] * x
            paths[_tint(box)] = paths.get(_tint(box), "") + _rect(c, r, w, h)
            text = _label(self.pic, box)
            if (size := fit(text, w, h)) >= 6:
                self._text(c + w / 2, r + h / 2 + 0.35 * size, text, size=size)
        return "".join(
            f'<path d="{d}" fill="{tint or "url(#HATCH)"}" stroke="currentColor" '
            f'fill-opacity="{OPACITY if tint else 1}"/>'
            for tint, d in paths.items()
        )

    def _view(self, top: float, left: float, y: float, x: float) -> str:
        """Hatch what is outside the view, frame what it touches, dot its elements."""
        whole = _rect(left, top, self.width, self.height)
        rows, cols = self.pic.window or (range(0), range(0))
        if not len(rows):
            return f'<path d="{whole}" fill="url(#HATCHo)"/>'
        r, c = top + rows[0] * y, left + cols[0] * x
        window = _rect(c, r, (cols[-1] + 1 - cols[0]) * x, (rows[-1] + 1 - rows[0]) * y)
        dots = "".join(
            f"M{brief(left + (j + 0.5) * x)} {brief(top + (i + 0.5) * y)}h0"
            for i, j in _dots(self.pic, 60)
        )
        return (
            f'<path d="{whole}{window}" fill="url(#HATCHo)" fill-rule="evenodd"/>'
            f'<path d="{window}" fill="none" stroke="currentColor" stroke-width="2.5"/>'
            + f'<path d="{dots}" stroke="currentColor" stroke-width="3" stroke-linecap="round"/>'
            * bool(dots)
        )

    def _text(self, x: float, y: float, text: str, anchor: str = "", size: float = 10) -> None:
        more = f' text-anchor="{anchor}"' if anchor else ""
        more += f' font-size="{brief(size)}"' if size != 10 else ""
        self.texts.append(f'<text x="{brief(x)}" y="{brief(y)}"{more}>{escape(text)}</text>')

    def _ends(self, top: float, left: float) -> None:
        """Print the lengths of the shown axes at their ends."""
        rows, cols = self.pic.axes
        if cols >= 0:
            words = f"axis {cols}: {self.pic.shape[1]:,}"
            self._text(left, top + self.height + 12, words, "start")
        if rows >= 0:
            self._text(left - 3, top + self.height, f"{self.pic.shape[0]:,}", "end")
            self._text(left, top - 4, f"axis {rows} down", "start")


def _rect(x: float, y: float, w: float, h: float) -> str:
    return f"M{brief(x)} {brief(y)}h{brief(w)}v{brief(h)}h{brief(-w)}z"


def _tint(box: Box) -> str:
    """Return the colour of a box, or none for one that engines share."""
    rank = box.engines[0]
    return TINTS[(rank + rank // len(TINTS)) % len(TINTS)] if not box.shared else ""


def _label(pic: Picture, box: Box) -> str:
    """Return the engine numbers of a box, in short."""
    if pic.replicated:
        every = len(box.engines) == pic.size  # else a part of the engines
        return f"on {'every engine: ' if every else 'engines '}{numbers(box.engines)}"
    few = len(intervals(box.engines)) <= 2
    return numbers(box.engines) if few else f"{box.engines[0]} +{len(box.engines) - 1}"


def fit(text: str, width: float, height: float) -> float:
    """Return the font size, at most 10, at which text fits a rectangle of this size."""
    return min(10.0, (width - 3) / (0.62 * len(text)), height / 1.15)


def _legible(
    placed: Placed,
    axes: int | Sequence[int] | None,
    size: int | None,
    limits: Sequence[Range],
    frame: tuple[float, float],
    lying: bool = False,
) -> Picture:
    """Return the picture with the most boxes whose numbers can be read, on half of the area."""
    for limit in limits:
        pic = picture(placed, axes, limit, size)
        sides = zip(_frame(pic, *frame), pic.shape[::-1], strict=True)
        x, y = (full / max(1, n) for full, n in sides)
        area = 0
        for box in pic.boxes:
            text, (h, w) = _label(pic, box), _extent(box)
            if fit(text, w * x, h * y) >= 6 or (lying and fit(text, h * y, w * x) >= 6):
                area += h * w
        if 2 * area >= prod(pic.shape):
            break
    return pic


def _extent(box: Box) -> tuple[int, int]:
    return box.rows[1] - box.rows[0], box.cols[1] - box.cols[0]


def _dots(pic: Picture, most: int) -> list[tuple[int, int]]:
    """Return the elements of a view with steps, if they are few enough to draw."""
    if pic.window is None or all(abs(t.step) == 1 or len(t) == 1 for t in pic.window):
        return []
    rows, cols = pic.window
    return list(product(rows, cols)) if len(rows) * len(cols) <= most else []


def _frame(pic: Picture, width: float, height: float) -> tuple[float, float]:
    """Return width and height to scale, unless that would be a thread."""
    if pic.axes[0] < 0:
        return (width if pic.axes[1] >= 0 else height / 2), height / 6
    tall = min(max(aspect(*pic.shape), 1 / 4), 2)
    return (width, width * tall) if width * tall <= height else (height / tall, height)


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
    pic = _legible(placed, axes, size, limits, (360, 300), lying=True)
    lines, side = _heading(placed, dtype, pic), None
    if ax is None:
        ax, side = _figure(pic, len(lines))
    _draw_boxes(ax, pic, pic.boxes, *_points(ax, pic.shape, to_scale(pic.shape) and not strip))
    if pic.window is not None:
        _draw_view(ax, pic)
    _draw_axes(ax, pic)
    if side:
        _draw_corner(side, pic)
    ax.set_title("\n".join(lines), loc="left", fontsize=9, parse_math=False)
    return ax


def _heading(placed: Placed, dtype: Any, pic: Picture) -> list[str]:
    """Return the lines of the title."""
    name = "" if dtype is None else f" {shorten(str(np.dtype(dtype)), 40)}"
    kind = "" if pic.window is None else "base "
    head = f"{kind}{shorten(str(placed.shape), 80)}{name}: {placed.layout.spell()}"
    return [line for text in (head, *pic.notes) for line in wrap(shorten(text, 200), 80)]


def _figure(pic: Picture, lines: int) -> tuple[Any, Any]:
    """Return the axes of a new figure: for the picture, and for the first blocks if need be."""
    from matplotlib import pyplot

    beside = bool(pic.corner)
    size = (6.0 + beside, _frame(pic, 5.0, 4.2)[1] + 0.7 + 0.3 * beside + 0.17 * lines)
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
        tint, (height, width) = _tint(box), _extent(box)
        fill = (tint, OPACITY) if tint else "none"
        hatch = None if tint else "//"
        ax.add_patch(
            Rectangle(
                (box.cols[0], box.rows[0]), width, height, fc=fill, ec="0.5", hatch=hatch, lw=0.8
            )
        )
    fits = [(_label(pic, box), _extent(box)) for box in boxes]
    upright = [fit(text, w * x, h * y) for text, (h, w) in fits]
    lying = [fit(text, h * y, w * x) for text, (h, w) in fits]
    lie = sum(s for s in lying if s >= 4) > 1.2 * sum(s for s in upright if s >= 4)
    sizes = lying if lie else upright
    usual = median([s for s in sizes if s >= 4] or [0])
    for box, (text, _), size in zip(boxes, fits, sizes, strict=True):
        if size < 4:
            continue
        at = (sum(box.cols) / 2, sum(box.rows) / 2)
        paper = None if _tint(box) else {"fc": ax.get_facecolor(), "ec": "none", "pad": 1.5}
        style = {"ha": "center", "va": "center", "rotation": 90 * lie, "bbox": paper}
        ax.text(*at, text, fontsize=min(size, max(6, usual)), **style)


def _draw_view(ax: Any, pic: Picture) -> None:
    """Hatch what is outside the view, frame what it touches, dot its elements."""
    from matplotlib.patches import Rectangle

    rows, cols = pic.window or (range(0), range(0))
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
    if dots := _dots(pic, 400):
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
