"""The account of the engines: each instant is in one class, so that bars are full."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from distnb.measure.events import (
    CLASSES,
    COMPUTE,
    IDLE,
    OVERHEAD,
    TRANSFER,
    WAITING,
)
from distnb.widgets.drawing.text import (
    ROWS,
    brief,
    grouped,
    numbers,
    together,
)
from distnb.widgets.layouts.layout_view import ink

__all__ = ["BARS", "STYLES", "Row", "Style", "bars_svg", "draw", "engine_table", "rows", "stacked"]

#: Bars that are drawn; neighbouring engines share one beyond.
BARS = 64


class Style(NamedTuple):
    """How a class of time looks: a character, and a colour with a hatch (never colour alone)."""

    mark: str
    colour: str
    hatch: str
    text: str


#: Okabe and Ito's colours. The text printed on each has a contrast of at least 4.5:1.
STYLES = {
    COMPUTE: Style("█", "#0072B2", "", "white"),
    WAITING: Style("/", "#D55E00", "//", "black"),
    TRANSFER: Style("=", "#E69F00", "", "black"),
    OVERHEAD: Style(":", "#CC79A7", "..", "black"),
    IDLE: Style("·", "none", "", "currentColor"),
}
#: Around bars: light colours need it on white paper, dark ones on black. Contrast 3:1 on both.
FRAME = "#808080"


class Row(NamedTuple):
    """Some engines: their number, and the means of their nanoseconds in each class and windows.

    ``culprit`` is the engine that they waited for most, if that is known.
    """

    label: str
    engines: int
    spent: tuple[float, ...]
    now: float
    culprit: int | None = None

    @property
    def accounted(self) -> float:
        """The sum of the classes over the window: 1.0 if no instant is lost or booked twice."""
        return ratio(sum(self.spent), self.now)

    @property
    def shares(self) -> list[float]:
        """The share of each class in the window."""
        return [ratio(spent, self.now) for spent in self.spent]


def rows(report: Any, most: int) -> list[Row]:
    """Return the engines in at most ``most`` rows, neighbours together."""
    return [
        _row(report, numbers(ranks), ranks) for ranks in grouped(range(len(report.engines)), most)
    ]


def _row(report: Any, label: str, ranks: Sequence[int]) -> Row:
    n, engines = len(ranks), [report.engines[r] for r in ranks]
    spent = tuple(sum(e.spent[c] for e in engines) / n for c in range(len(CLASSES)))
    waited = report.waits[list(ranks)].sum(axis=0)
    culprit = int(waited.argmax()) if waited.any() else None
    return Row(label, n, spent, sum(e.now for e in engines) / n, culprit)


# -- Words and numbers -----------------------------------------------------------------------------


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0.0 of nothing."""
    return part / whole if whole else 0.0


def milli(ns: float) -> str:
    """Return nanoseconds as milliseconds for reading."""
    return f"{ns / 1e6:,.2f}"


def legend() -> str:
    """Say what the characters of bars mean."""
    return "ms and % of the engine's window; " + "  ".join(
        f"{style.mark} {CLASSES[c]}" for c, style in STYLES.items()
    )


def engine_table(report: Any, most: int, text: bool) -> list[tuple[str, ...]]:
    """Return the table of the account, its head first; the last row is the mean of all.

    As text it has bars, and sums, for which pages have no room.
    """
    found = rows(report, most)
    if len(found) > 1:
        found.append(_row(report, "mean", range(len(report.engines))))
    known = any(row.culprit is not None for row in found)
    sums, bars = ["sum"] * text, [""] * text
    head = ("engine", *CLASSES, *sums, "accounted", *["waiting mostly for"] * known, *bars)
    return [head, *(_cells(row, known, text) for row in found)]


def _cells(row: Row, known: bool, text: bool) -> tuple[str, ...]:
    classes = (
        f"{milli(ns)} {100 * share:{5 * text}.1f} %"
        for ns, share in zip(row.spent, row.shares, strict=True)
    )
    return (
        row.label,
        *classes,
        *[milli(sum(row.spent))] * text,
        f"{100 * row.accounted:.1f} %",
        *["-" if row.culprit is None else f"engine {row.culprit}"] * known,
        *[stacked(row.shares)] * text,
    )


def stacked(shares: Sequence[float], width: int = 16) -> str:
    """Return a bar of one character for each class.

    >>> stacked([0.5, 0.125, 0.0, 0.125, 0.25])
    '████████//::····'
    """
    text, total = "", 0.0
    for c, share in enumerate(shares):
        total += share
        text += STYLES[c].mark * (round(total * width) - len(text))
    return text


# -- The picture ----------------------------------------------------------------------------------


def bars_svg(report: Any, most: int, head: str, uid: str) -> str:
    """Return one stacked bar for each row, to a common scale.

    ``uid`` begins the names of hatches, which other pictures of the same page use, too.
    """
    found = rows(report, most)
    shares = [f"{CLASSES[c]} {100 * report.share(c):.1f} %" for c in STYLES]
    notes = together(len(report.engines), len(found), "mean")
    title = f"Where the time went: {head}"
    return Bars(found, uid).draw(title, "; ".join([", ".join(shares), *notes]), shares)


class Bars:
    """Draws rows as SVG text."""

    left, top, width = 44, 26, 440

    def __init__(self, found: list[Row], uid: str) -> None:
        self.found = found
        self.uid = uid
        self.pitch = 18 if len(found) <= ROWS else max(5, 300 // len(found))
        self.thick = self.pitch - 1 - self.pitch // 8
        self.scale = self.width / max(1, *(max(row.now, sum(row.spent)) for row in found))

    def draw(self, title: str, description: str, names: list[str]) -> str:
        """Return the SVG element with a legend of these names, in the order of the classes."""
        height = self.top + self.pitch * len(self.found) + 4
        every = -(-22 // self.pitch) if self.pitch < 11 else 1
        labels = "".join(
            f'<text x="{self.left - 5}" y="{self._middle(i) + 4}">{row.label}</text>'
            for i, row in enumerate(self.found)
            if i % every == 0
        )
        return (
            '<svg role="img" xmlns="http://www.w3.org/2000/svg" '
            f'width="{self.left + self.width + 4}" height="{height}" font-family="sans-serif" '
            f'font-size="10"><title>{escape(title)}</title><desc>{escape(description)}</desc>'
            f"{patterns(self.uid)}{self._legend(names)}"
            f'<g fill="currentColor" text-anchor="end">{labels}</g>'
            f"{''.join(map(self._marks, STYLES))}{self._frames()}</svg>"
        )

    def _middle(self, i: int) -> int:
        return self.top + i * self.pitch + self.pitch // 2

    def _at(self, row: Row, c: int) -> int:
        """Return where a class begins, in whole pixels, so that segments meet."""
        return round(self.left + sum(row.spent[:c]) * self.scale)

    def _marks(self, c: int) -> str:
        """Return the segments of one class in all bars as one path, and what is printed on them."""
        path, texts = "", ""
        for i, row in enumerate(self.found):
            x, y = self._at(row, c), self._middle(i)
            if not (width := self._at(row, c + 1) - x):
                continue
            path += f"M{x} {y}h{width}"  # a thick line takes the fewest bytes
            if len(self.found) <= 8 and width >= 28 + 4 * len(self.found):  # 10 kB in all
                texts += f'<text x="{x + width // 2}" y="{y + 4}">{_share(row, c, width)}</text>'
        stroke = f'stroke="{fill(c, self.uid)}" stroke-width="{self.thick}"'
        halo = f' stroke="{STYLES[c].colour}" stroke-width="3" paint-order="stroke"'
        style = f'fill="{STYLES[c].text}" text-anchor="middle"{halo if STYLES[c].hatch else ""}'
        group = f"<g {style}>{texts}</g>" if texts else ""
        return (f'<path d="{path}" {stroke}/>' if path and c != IDLE else "") + group

    def _frames(self) -> str:
        """Return the frames of all bars: of idle time nothing else is drawn."""
        path = "".join(
            f"M{self.left} {brief(self._middle(i) - self.thick / 2)}H{self._at(row, len(CLASSES))}"
            f"v{self.thick}H{self.left}z"
            for i, row in enumerate(self.found)
        )
        return f'<path d="{path}" fill="none" stroke="{FRAME}"/>'

    def _legend(self, names: list[str]) -> str:
        boxes, texts = "", ""
        for i, (c, name) in enumerate(zip(STYLES, names, strict=True)):
            x = self.left + 90 * i
            boxes += f'<rect x="{x}" y="6" width="9" height="9" fill="{fill(c, self.uid)}"/>'
            texts += f'<text x="{x + 12}" y="14">{name}</text>'
        words = f'<g fill="currentColor" font-size="9">{texts}</g>'
        return f'<g stroke="{FRAME}">{boxes}</g>{words}'


def _share(row: Row, c: int, width: int) -> str:
    """Return what is printed on a segment: its share, and whom it waited for if there is room."""
    share = f"{100 * row.shares[c]:.0f} %"
    known = c == WAITING and row.culprit is not None and width >= 110
    return f"{share}, mostly for {row.culprit}" if known else share


def patterns(uid: str) -> str:
    """Return the hatch of waiting and the dots of overhead."""
    start = 'width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5"'
    return (
        f'<pattern id="{uid}{WAITING}" {start} fill="{STYLES[WAITING].colour}"/>'
        '<path d="M0 5L5 0" stroke="#fff"/></pattern>'
        f'<pattern id="{uid}{OVERHEAD}" {start} fill="{STYLES[OVERHEAD].colour}"/>'
        '<circle cx="2.5" cy="2.5" r="1" fill="#fff"/></pattern>'
    )


def fill(c: int, uid: str) -> str:
    return f"url(#{uid}{c})" if STYLES[c].hatch else STYLES[c].colour


# -- The plot --------------------------------------------------------------------------------------


def draw(ax: Any, found: list[Row]) -> None:
    """Draw stacked bars with percentages where these fit, a legend, and names."""
    places = range(len(found))
    widest = max((max(row.now, sum(row.spent)) for row in found), default=0) or 1
    for c, style in STYLES.items():
        widths = [row.spent[c] / 1e6 for row in found]
        starts = [sum(row.spent[:c]) / 1e6 for row in found]
        ax.barh(
            places,
            widths,
            left=starts,
            height=0.8,
            label=CLASSES[c],
            color=style.colour,
            hatch=style.hatch,
            edgecolor=FRAME if c == IDLE else "white",
            linewidth=0.8 if c == IDLE else 0,
        )
        colour = ink() if c == IDLE else style.text
        for i, row in enumerate(found):
            if len(found) <= 24 and row.spent[c] > 0.07 * widest:
                text = f"{100 * row.shares[c]:.0f} %"
                at = (starts[i] + widths[i] / 2, i)
                paper = {"fc": style.colour, "ec": "none", "pad": 1} if style.hatch else None
                ax.text(*at, text, ha="center", va="center", size=8, color=colour, bbox=paper)
    every = max(1, -(-len(found) // 24))
    ax.set_yticks(list(places)[::every], [row.label for row in found][::every])
    ax.set_ylim(max(1, len(found)) - 0.5, -0.5)
    ax.set_xlim(0, widest / 1e6)
    ax.set_xlabel("ms")
    ax.set_ylabel("engine")
    if found:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False, fontsize=8)
