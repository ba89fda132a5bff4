"""Stacked bars as text, as inline SVG and on matplotlib axes, to one scale; never colour alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from distnb.widgets.drawing.markup import brief, element, pattern, svg
from distnb.widgets.drawing.text import ROWS

__all__ = ["FRAME", "Bars", "Fill", "draw", "paint", "stacked"]

#: Around bars: light colours need it on white paper, dark ones on black. Contrast 3:1 on both.
FRAME = "#808080"


class Fill(NamedTuple):
    """How a class of things looks: a colour, a hatch, and a character in plain text.

    ``ink`` is the colour of what is printed on it. The colour "none" has a frame only.
    """

    name: str
    colour: str
    hatch: str
    mark: str
    ink: str = "currentColor"


def stacked(parts: Sequence[float], whole: float, fills: Sequence[Fill], width: int = 24) -> str:
    """Return a bar of one character for each class.

    >>> two = (Fill("a", "", "", "#"), Fill("b", "", "", "."))
    >>> stacked((3, 1), 8, two, 8)
    '###.'
    """
    text, total = "", 0.0
    for part, fill in zip(parts, fills, strict=True):
        total += max(0.0, part)
        text += fill.mark * (round(total / (whole or 1) * width) - len(text))
    return text


def paint(fills: Sequence[Fill], k: int, uid: str) -> str:
    """Return what an SVG fills the class ``k`` with; ``uid`` begins the names of hatches."""
    return f"url(#{uid}{k})" if fills[k].hatch else fills[k].colour


def patterns(fills: Sequence[Fill], uid: str) -> Iterator[Element]:
    """Yield the hatches: lines for //, dots for all others."""
    for k, fill in enumerate(fills):
        if fill.hatch:
            paper = element("rect", width=5, height=5, fill=fill.colour)
            lines = element("path", d="M0 5L5 0", stroke="#fff")
            dots = element("circle", cx="2.5", cy="2.5", r=1, fill="#fff")
            yield pattern(f"{uid}{k}", 5, paper, lines if fill.hatch == "//" else dots)


class Bars:
    """One stacked bar for each row, as SVG.

    Parameters
    ----------
    rows : sequence of (str, sequence of float)
        The label and the parts of each; what is negative is not drawn.
    fills : sequence of Fill
        How parts look.
    whole : float
        What is as long as a bar can be.
    uid : str
        Begins the names of hatches, which other pictures of the same page use, too.
    printed : callable, optional
        Returns what is printed on a part: of a row, a class. Nothing is on hatches, as nobody could
        read it.
    """

    width = 300

    def __init__(
        self,
        rows: Sequence[tuple[str, Sequence[float]]],
        fills: Sequence[Fill],
        whole: float,
        uid: str,
        printed: Callable[[int, int], str] | None = None,
    ) -> None:
        self.rows = rows
        self.fills = fills
        self.uid = uid
        self.printed = printed
        self.top = 26
        self.left = max(44, *(2 + 6 * len(label) for label, _ in rows), 0)
        self.pitch = 18 if len(rows) <= ROWS else max(5, 300 // len(rows))
        self.thick = self.pitch - 1 - self.pitch // 8
        self.scale = self.width / (whole or 1)

    def draw(self, title: str, description: str, names: Sequence[str] = ()) -> str:
        """Return the SVG element; ``names`` of the legend may tell more than those of fills."""
        legend = list(self._legend(names or [fill.name for fill in self.fills]))
        size = (self.left + self.width + 4, self.top + self.pitch * len(self.rows) + 4)
        every = -(-22 // self.pitch) if self.pitch < 11 else 1
        labels = [
            element("text", label, x=self.left - 5, y=self._middle(i) + 4)
            for i, (label, _) in enumerate(self.rows)
            if i % every == 0
        ]
        inside = [
            *patterns(self.fills, self.uid),
            *legend,
            element("g", *labels, fill="currentColor", text_anchor="end"),
            *(mark for k in range(len(self.fills)) for mark in self._marks(k)),
            self._frames(),
        ]
        return svg(title, description, size, inside)

    def _middle(self, i: int) -> int:
        return self.top + i * self.pitch + self.pitch // 2

    def _at(self, parts: Sequence[float], k: int) -> int:
        """Return where a class begins, in whole pixels, so that segments meet."""
        return round(self.left + sum(max(0.0, x) for x in parts[:k]) * self.scale)

    def _marks(self, k: int) -> Iterator[Element]:
        """Yield the segments of one class in all bars as one path, and what is printed on them."""
        path, texts = "", []
        for i, (_, parts) in enumerate(self.rows):
            x, y = self._at(parts, k), self._middle(i)
            if not (width := self._at(parts, k + 1) - x):
                continue
            path += f"M{x} {y}h{width}"  # a thick line takes the fewest bytes
            few = len(self.rows) <= 8 and width >= 28 + 4 * len(self.rows)  # 10 kB in all
            if self.printed is not None and few and not self.fills[k].hatch:
                words = self.printed(i, k)
                texts.append(element("text", words, x=x + width // 2, y=y + 4))
        fill = self.fills[k]
        if path and fill.colour != "none":
            stroke = paint(self.fills, k, self.uid)
            yield element("path", d=path, stroke=stroke, stroke_width=self.thick)
        if texts:
            yield element("g", *texts, fill=fill.ink, text_anchor="middle")

    def _frames(self) -> Element:
        """Return the frames of all bars: of what has no colour nothing else is drawn."""
        path = "".join(
            f"M{self.left} {brief(self._middle(i) - self.thick / 2)}"
            f"H{self._at(parts, len(self.fills))}v{self.thick}H{self.left}z"
            for i, (_, parts) in enumerate(self.rows)
        )
        return element("path", d=path, fill="none", stroke=FRAME)

    def _legend(self, names: Sequence[str]) -> Iterator[Element]:
        """Yield what the classes are called, in as many lines as that takes; bars lie below."""
        boxes, texts, x, y = [], [], 2, 6
        for k, name in enumerate(names):
            fill, wide = paint(self.fills, k, self.uid), 22 + round(5.6 * len(name))
            if x > 2 and x + wide > self.left + self.width:
                x, y = 2, y + 15
            boxes.append(element("rect", x=x, y=y, width=9, height=9, fill=fill))
            texts.append(element("text", name, x=x + 13, y=y + 8))
            x += wide
        self.top = y + 20
        yield element("g", *boxes, stroke=FRAME)
        yield element("g", *texts, fill="currentColor")


def draw(
    ax: Any, rows: Sequence[tuple[str, Sequence[float]]], fills: Sequence[Fill]
) -> list[list[float]]:
    """Draw stacked bars on matplotlib axes, the first on top; return where parts begin.

    Of many rows, some are named.
    """
    starts, found = [0.0] * len(rows), []
    for k, fill in enumerate(fills):
        widths = [max(0.0, parts[k]) for _, parts in rows]
        framed = {"edgecolor": FRAME if fill.colour == "none" else "white"}
        line = {"linewidth": 0.8 if fill.colour == "none" else 0}
        style = {"label": fill.name, "color": fill.colour, "hatch": fill.hatch, **framed, **line}
        ax.barh(range(len(rows)), widths, left=starts, height=0.8, **style)
        found.append(starts)
        starts = [a + b for a, b in zip(starts, widths, strict=True)]
    every = max(1, -(-len(rows) // 24))
    ax.set_yticks(range(len(rows))[::every], [label for label, _ in rows][::every])
    ax.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    return found
