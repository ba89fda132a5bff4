"""The picture of who owns what as SVG; and how large, in which tints and with which words.

A block is told by its position and by the engine numbers printed in it; tints only help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from xml.etree.ElementTree import Element
from zlib import crc32

from distnb.geometry.views import Placed
from distnb.widgets.drawing.markup import brief, element, pattern, svg
from distnb.widgets.drawing.text import Facts, intervals, numbers
from distnb.widgets.layouts.picture import (
    Box,
    Picture,
    Range,
    aspect,
    picture,
)

__all__ = [
    "OPACITY",
    "TINTS",
    "Svg",
    "dots_of",
    "extent_of",
    "fit",
    "frame_of",
    "label_of",
    "legible",
    "tint_of",
]

#: Okabe and Ito's colours, drawn as tints; neighbouring numbers never have the same.
TINTS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
OPACITY = 0.25
#: What travels is hatched in it.
VERMILLION = "#D55E00"
#: Rectangles of the base that are hatched.
Rects = Sequence[tuple[Range, Range]]


class Svg:
    """Draws a picture as SVG text."""

    def __init__(
        self, pic: Picture, frame: tuple[float, float] | None = None, travels: Rects = ()
    ) -> None:
        self.pic = pic
        self.width, self.height = frame or frame_of(pic, 320, 200)
        self.travels = travels
        self.uid = ""
        self.texts: list[Element] = []

    def draw(self, facts: Facts, notes: Sequence[str]) -> str:
        """Return the SVG element with its title and description."""
        size = (self.height, self.width)
        scale = [full / max(1, n) for full, n in zip(size, self.pic.shape, strict=True)]
        top, left = 14, 4 + 6.2 * len(f"{self.pic.shape[0]:,}") * (self.pic.axes[0] >= 0)
        self.uid = f"d{crc32(repr((facts, self.pic)).encode()):08x}"
        marks = self._marks(self.pic.boxes, top, left, *scale) or [self._nothing(top, left)]
        if self.pic.touched is not None:
            marks += self._view(top, left, *scale)
        marks += self._travelling(top, left, *scale)
        right = left + self.width + 3
        if self.pic.corner:
            marks += self._marks(self.pic.corner, top, right + 20, 18, 24)
            self._text(right + 20, top - 4, "first blocks", "start")
            right += 24 + max(54, 24 * max(b.cols[1] for b in self.pic.corner))
        self._ends(top, left)
        corner = max((b.rows[1] for b in self.pic.corner), default=0)
        bottom = max(top + self.height, top + 18 * corner)
        title = f"Who owns what: {facts.head}, {facts.layout}"
        texts = element("g", *self.texts, text_anchor="middle")
        inside = [*_hatches(self.uid), *marks, texts]
        return svg(
            title,
            "; ".join((facts.finding, *notes)),
            (right, bottom + 16),
            inside,
            fill="currentColor",
        )

    def _nothing(self, top: float, left: float) -> Element:
        self._text(left + self.width / 2, top + self.height / 2 + 3.5, "no elements")
        frame = _rect(left, top, self.width, self.height)
        return element("path", d=frame, fill="none", stroke="currentColor")

    def _marks(
        self, boxes: Iterable[Box], top: float, left: float, y: float, x: float
    ) -> list[Element]:
        """Return one path for each tint, and note the numbers to print."""
        paths: dict[str, str] = {}
        for box in boxes:
            h, w = (box.rows[1] - box.rows[0]) * y, (box.cols[1] - box.cols[0]) * x
            r, c = top + box.rows[0] * y, left + box.cols[0] * x
            paths[tint_of(box)] = paths.get(tint_of(box), "") + _rect(c, r, w, h)
            text = label_of(self.pic, box)
            if (size := fit(text, w, h)) >= 6:
                self._text(c + w / 2, r + h / 2 + 0.35 * size, text, size=size)
        hatch, line = f"url(#{self.uid})", "currentColor"
        return [
            element("path", d=d, fill=tint, stroke=line, fill_opacity=OPACITY)
            if tint
            else element("path", d=d, fill=hatch, stroke=line, fill_opacity=1)
            for tint, d in paths.items()
        ]

    def _view(self, top: float, left: float, y: float, x: float) -> Iterator[Element]:
        """Hatch what is outside the view, frame what it touches, dot its elements."""
        whole, outside = _rect(left, top, self.width, self.height), f"url(#{self.uid}o)"
        rows, cols = self.pic.touched or (range(0), range(0))
        if not len(rows):
            yield element("path", d=whole, fill=outside)
            return
        r, c = top + rows[0] * y, left + cols[0] * x
        inside = _rect(c, r, (cols[-1] + 1 - cols[0]) * x, (rows[-1] + 1 - rows[0]) * y)
        yield element("path", d=whole + inside, fill=outside, fill_rule="evenodd")
        yield element("path", d=inside, fill="none", stroke="currentColor", stroke_width="2.5")
        dots = "".join(
            f"M{brief(left + (j + 0.5) * x)} {brief(top + (i + 0.5) * y)}h0"
            for i, j in dots_of(self.pic, 60)
        )
        if dots:
            round_ends = {"stroke_width": 3, "stroke_linecap": "round"}
            yield element("path", d=dots, stroke="currentColor", **round_ends)

    def _travelling(self, top: float, left: float, y: float, x: float) -> Iterator[Element]:
        """Hatch what goes to other engines."""
        path = "".join(
            _rect(left + c0 * x, top + r0 * y, (c1 - c0) * x, (r1 - r0) * y)
            for (r0, r1), (c0, c1) in self.travels
        )
        if path:
            yield element("path", d=path, fill=f"url(#{self.uid}t)", stroke=VERMILLION)

    def _text(
        self, x: float, y: float, text: str, anchor: str | None = None, size: float = 10
    ) -> None:
        place = {"x": brief(x), "y": brief(y), "text_anchor": anchor}
        font = None if size == 10 else brief(size)
        self.texts.append(element("text", text, **place, font_size=font))

    def _ends(self, top: float, left: float) -> None:
        """Print the lengths of the shown axes at their ends."""
        rows, cols = self.pic.axes
        if cols >= 0:
            words = f"axis {cols}: {self.pic.shape[1]:,}"
            self._text(left, top + self.height + 12, words, "start")
        if rows >= 0:
            self._text(left - 3, top + self.height, f"{self.pic.shape[0]:,}", "end")
            self._text(left, top - 4, f"axis {rows} down", "start")


def _hatches(uid: str) -> Iterator[Element]:
    """Yield the hatches of what engines share, of what is outside a view, and of what travels."""
    thin = {"stroke": "currentColor", "stroke_width": ".5", "opacity": ".5"}
    red = {"stroke": VERMILLION, "stroke_width": ".8"}
    yield pattern(uid, 6, element("path", d="M0 6L6 0", **thin))
    yield pattern(f"{uid}o", 4, element("path", d="M0 0L4 4", **thin))
    yield pattern(f"{uid}t", 7, element("path", d="M0 0L7 7M0 7L7 0", **red))


def _rect(x: float, y: float, w: float, h: float) -> str:
    return f"M{brief(x)} {brief(y)}h{brief(w)}v{brief(h)}h{brief(-w)}z"


def tint_of(box: Box) -> str:
    """Return the colour of a box, or none for one that engines share."""
    rank = box.engines[0]
    return TINTS[(rank + rank // len(TINTS)) % len(TINTS)] if not box.shared else ""


def label_of(pic: Picture, box: Box) -> str:
    """Return the engine numbers of a box, in short."""
    if pic.replicated:
        every = len(box.engines) == pic.size  # else a part of the engines
        return f"on {'every engine: ' if every else 'engines '}{numbers(box.engines)}"
    few = len(intervals(box.engines)) <= 2
    return numbers(box.engines) if few else f"{box.engines[0]} +{len(box.engines) - 1}"


def fit(text: str, width: float, height: float) -> float:
    """Return the font size, at most 10, at which text fits a rectangle of this size."""
    return min(10.0, (width - 3) / (0.62 * len(text)), height / 1.15)


def legible(
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
        sides = zip(frame_of(pic, *frame), pic.shape[::-1], strict=True)
        x, y = (full / max(1, n) for full, n in sides)
        area = 0
        for box in pic.boxes:
            text, (h, w) = label_of(pic, box), extent_of(box)
            if fit(text, w * x, h * y) >= 6 or (lying and fit(text, h * y, w * x) >= 6):
                area += h * w
        if 2 * area >= prod(pic.shape):
            break
    return pic


def extent_of(box: Box) -> tuple[int, int]:
    """Return height and width of a box."""
    return box.rows[1] - box.rows[0], box.cols[1] - box.cols[0]


def dots_of(pic: Picture, most: int) -> list[tuple[int, int]]:
    """Return the elements of a view with steps, if they are few enough to draw."""
    if pic.touched is None or all(abs(t.step) == 1 or len(t) == 1 for t in pic.touched):
        return []
    rows, cols = pic.touched
    return list(product(rows, cols)) if len(rows) * len(cols) <= most else []


def frame_of(pic: Picture, width: float, height: float) -> tuple[float, float]:
    """Return width and height to scale, unless that would be a thread."""
    if pic.axes[0] < 0:
        return (width if pic.axes[1] >= 0 else height / 2), height / 6
    tall = min(max(aspect(*pic.shape), 1 / 4), 2)
    return (width, width * tall) if width * tall <= height else (height / tall, height)
