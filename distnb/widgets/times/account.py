"""The account of the engines: each instant is in one class, so that bars are full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from distnb.measure.events import (
    CLASSES,
    COMPUTE,
    IDLE,
    OVERHEAD,
    TRANSFER,
    WAITING,
)
from distnb.measure.quantities import duration, percent
from distnb.widgets.drawing import bars
from distnb.widgets.drawing.bars import Bars, Fill, stacked
from distnb.widgets.drawing.text import (
    grouped,
    numbers,
    together,
)
from distnb.widgets.layouts.layout_view import ink

__all__ = [
    "BARS",
    "OWN",
    "STYLES",
    "Row",
    "bars_of",
    "bars_svg",
    "draw",
    "engine_table",
    "legend",
    "own_shares",
    "rows",
]

#: Bars that are drawn; neighbouring engines share one beyond.
BARS = 64


#: How each class of time looks, in the order of the classes. Okabe and Ito's colours; the text
#: printed on each has a contrast of at least 4.5:1.
STYLES = (
    Fill(CLASSES[COMPUTE], "#0072B2", "", "█", "white"),
    Fill(CLASSES[WAITING], "#D55E00", "//", "/", "black"),
    Fill(CLASSES[TRANSFER], "#E69F00", "", "=", "black"),
    Fill(CLASSES[OVERHEAD], "#CC79A7", "..", ":", "black"),
    Fill(CLASSES[IDLE], "none", "", "·"),
)


#: How what the notebook did looks: its own steps, the disk where arrays go, and nothing.
OWN = (
    Fill("notebook", "#009E73", "", "▓", "black"),
    Fill("disk", "#56B4E9", "..", "o", "black"),
    STYLES[IDLE],
)


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


def legend(used: Sequence[Fill] = STYLES) -> str:
    """Say what the characters of bars mean."""
    return "  ".join(f"{style.mark} {style.name}" for style in used)


def own_shares(report: Any) -> list[float]:
    """Return the shares of a window that the notebook itself computed, was at the disk, and rest.

    Empty where it is one with an engine.
    """
    did, window = report.notebook, report.stages.window
    if did is None or not window:
        return []
    disk = min(1.0, did.disk / window)
    computed = min(1 - disk, did.computed / window)
    return [computed, disk, 1 - disk - computed]


def engine_table(report: Any, most: int, text: bool) -> list[tuple[str, ...]]:
    """Return the table of the account, its head first; the last row is the mean of all.

    As text it has bars, and sums, for which pages have no room.
    """
    found = rows(report, most)
    if len(found) > 1:
        found.append(_row(report, "mean", range(len(report.engines))))
    known = any(row.culprit is not None for row in found)
    sums, drawn = ["sum"] * text, [""] * text
    head = ("engine", *CLASSES, *sums, "accounted", *["waiting mostly for"] * known, *drawn)
    return [head, *(_entries(row, known, text) for row in found)]


def _entries(row: Row, known: bool, text: bool) -> tuple[str, ...]:
    classes = (
        f"{duration(ns / 1e9)} {percent(share):>{6 * text}}"
        for ns, share in zip(row.spent, row.shares, strict=True)
    )
    return (
        row.label,
        *classes,
        *[duration(sum(row.spent) / 1e9)] * text,
        percent(row.accounted),
        *["-" if row.culprit is None else f"engine {row.culprit}"] * known,
        *[stacked(row.shares, 1.0, STYLES, 16)] * text,
    )


# -- The picture ----------------------------------------------------------------------------------


def bars_svg(report: Any, most: int, head: str, uid: str) -> str:
    """Return one stacked bar for each row, to a common scale.

    ``uid`` begins the names of hatches, which other pictures of the same page use, too.
    """
    found = rows(report, most)
    shares = [f"{name} {percent(report.share(c))}" for c, name in enumerate(CLASSES)]
    notes = together(len(report.engines), len(found), "mean")
    words = "; ".join([", ".join(shares), *notes])
    return bars_of(found, uid).draw(f"Where the time went: {head}", words, shares)


def bars_of(found: list[Row], uid: str) -> Bars:
    """Return the bars of rows, with shares printed on them."""
    whole = max((max(row.now, sum(row.spent)) for row in found), default=1)
    parts = [(row.label, row.spent) for row in found]
    return Bars(parts, STYLES, whole, uid, lambda i, c: f"{100 * found[i].shares[c]:.0f} %")


# -- The plot --------------------------------------------------------------------------------------


def draw(ax: Any, found: list[Row]) -> None:
    """Draw stacked bars with percentages where these fit, a legend, and names."""
    parts = [(row.label, [ns / 1e6 for ns in row.spent]) for row in found]
    widest = max((max(row.now, sum(row.spent)) for row in found), default=0) / 1e6 or 1
    for c, starts in enumerate(bars.draw(ax, parts, STYLES)):
        style = STYLES[c]
        colour = ink() if c == IDLE else style.ink
        for i, (_, widths) in enumerate(parts):
            if len(found) <= 24 and widths[c] > 0.07 * widest and not style.hatch:
                text = f"{100 * found[i].shares[c]:.0f} %"
                at = (starts[i] + widths[c] / 2, i)
                ax.text(*at, text, ha="center", va="center", size=8, color=colour)
    ax.set_xlim(0, widest)
    ax.set_xlabel("ms")
    ax.set_ylabel("engine")
    if found:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False, fontsize=8)
