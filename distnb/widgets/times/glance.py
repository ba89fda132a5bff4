"""A report in three looks: a sentence, a picture of who did what, and the three worst lines.

The questions that they answer in five seconds: what cost most, what should I do, and where?
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from distnb.measure.advice import CAUSES
from distnb.measure.comparison import source
from distnb.measure.events import CLASSES, COMPUTE, IDLE, OVERHEAD, TRANSFER, WAITING
from distnb.measure.quantities import duration, percent
from distnb.measure.replay import waits_of
from distnb.widgets.drawing.bars import FRAME, paint, patterns, stacked
from distnb.widgets.drawing.markup import brief, element, svg
from distnb.widgets.drawing.page import table_html
from distnb.widgets.drawing.text import aligned, grouped, numbers, shorten, who
from distnb.widgets.times.account import OWN, STYLES, legend, own_shares, ratio, rows

__all__ = ["bars_text", "lines_table", "lines_text", "sentence_html", "time_axis", "worst_lines"]

#: Lines that are listed; rows of the picture, stretches of all bars, and waits that have an arrow.
LINES, ROWS, STRETCHES, ARROWS = 3, 8, 240, 3
#: Pixels: left of the bars, the bars, between two rows, a bar.
LEFT, WIDTH, PITCH, THICK = 58, 480, 24, 14
#: How all that can be in the picture looks: classes of engines, then what the notebook does.
FILLS = (*STYLES, *OWN[:2])
#: Pixels of a column of time, the narrowest first.
WIDTHS = (2, 4, 8, 16, 40)


# -- The sentence ----------------------------------------------------------------------------------


def sentence_html(report: Any) -> str:
    """Return the advice; its first words say more where the mouse rests."""
    text, best = report.advice, report.headline
    if best is None:
        return escape(text)
    cause = len(best.cause)
    return (
        f'<abbr title="{escape(CAUSES[best.cause])}"><b>{escape(text[:cause])}</b></abbr>'
        f"{escape(text[cause:])}"
    )


# -- The picture -----------------------------------------------------------------------------------


def bars_text(report: Any, most: int, width: int = 40) -> list[str]:
    """Return a line for each engine, at most ``most``: its bar in characters, and what it did."""
    groups, own = grouped(range(len(report.engines)), most), own_shares(report)
    lines = [("notebook", stacked(own, 1.0, OWN, width), _own_told(own))] if own else []
    lines += [
        (who(ranks), stacked(row.shares, 1.0, STYLES, width), _told(report, ranks))
        for ranks, row in zip(groups, rows(report, most), strict=True)
    ]
    used = [fill for fill, share in zip(OWN[:2], own, strict=False) if share * width >= 0.5]
    return [*aligned(lines, left=[0, 1, 2]), legend([*used, *STYLES])]


def time_axis(report: Any, uid: str, most: int = ROWS, stretches: int = STRETCHES) -> str:
    """Return a bar for each engine along time, with what it did, and the longest waits as arrows.

    Nothing where no steps were recorded. All bars together have at most so many ``stretches``.
    """
    if not report.steps or not report.stages.window:
        return ""
    groups = grouped(range(len(report.engines)), most)
    whole = report.stages.window * 1e9
    own, shares = report.notebook, own_shares(report)
    told = [(numbers(ranks), _told(report, ranks)) for ranks in groups]
    if shares:
        told = [("notebook", _own_told(shares)), *told]
    column, drawn = _drawn(report, groups, own if shares else None, stretches)
    marks: list[Element] = []
    for i, (classes, (label, words)) in enumerate(zip(drawn, told, strict=True)):
        y = 24 + PITCH * i
        marks += [
            element("text", label, x=LEFT - 6, y=y + 11, text_anchor="end"),
            *_bar(classes, y, column, uid),
            element("text", words, x=LEFT + WIDTH + 8, y=y + 11),
        ]
    bottom = 24 + PITCH * len(drawn)
    at = {rank: i for i, ranks in enumerate(groups, len(drawn) - len(groups)) for rank in ranks}
    used = {IDLE}.union(*drawn)
    inside = [
        *patterns(FILLS[: max(len(STYLES), 1 + max(used))], uid),
        *_legend(sorted(used), uid),
        *marks,
        *_arrows(report, at, whole),
        *_ticks(whole, bottom),
    ]
    size = (LEFT + WIDTH + 190, bottom + 18)
    title = f"What each engine did in {duration(report.stages.window)}"
    return svg(title, report.advice, size, inside, fill="currentColor", **{"class": "fit"})


def _drawn(report: Any, groups: Any, notebook: Any, stretches: int) -> tuple[int, list[list[int]]]:
    """Return how wide columns of time are for so few stretches, and what all did in them."""
    edges = np.linspace(0, report.stages.window * 1e9, WIDTH // WIDTHS[0] + 1)
    amounts = [_amounts(report, ranks, edges) for ranks in groups]
    if notebook is not None:
        amounts.insert(0, _own_amounts(notebook, edges))
    for column in WIDTHS:
        wide = column // WIDTHS[0]
        found = [_shown(each.reshape(len(each), -1, wide).sum(axis=2)) for each in amounts]
        if sum(a != b for row in found for a, b in pairwise(row)) + len(found) <= stretches:
            break
    return column, found


def _amounts(report: Any, ranks: Any, edges: np.ndarray) -> np.ndarray:
    """Return how much of each class (rows) is in columns of time, of engines that share a bar."""
    run = report.run
    amounts = np.zeros((len(FILLS), len(edges) - 1))
    for rank in ranks:
        ran = run.end[:, rank] > run.start[:, rank]
        begin, end = run.start[ran, rank], run.end[ran, rank]
        busy = ((OVERHEAD, run.overhead), (COMPUTE, run.compute), (TRANSFER, run.transfer))
        for cls, times in busy:  # work comes first, waiting last, as replays have it
            length = times[ran, rank]
            amounts[cls] += _covered(begin, length, edges) / len(ranks)
            begin = begin + length
        amounts[WAITING] += _covered(begin, np.maximum(0, end - begin), edges) / len(ranks)
    amounts[IDLE] = np.maximum(0, np.diff(edges) - amounts.sum(axis=0))
    return amounts


def _own_amounts(notebook: Any, edges: np.ndarray) -> np.ndarray:
    """Return how much of each class is in columns of time, of what the notebook did."""
    amounts = np.zeros((len(FILLS), len(edges) - 1))
    amounts[len(STYLES) :] = np.diff(notebook.until(edges), axis=0).T
    amounts[IDLE] = np.maximum(0, np.diff(edges) - amounts.sum(axis=0))
    return amounts


def _shown(amounts: np.ndarray) -> list[int]:
    """Return the class (row) that is drawn in each column, so that each has its share of the bar.

    What is less than a column is owed to its class, until that is there with more than the others.

    >>> _shown(np.array([[3, 3, 3, 3], [1, 1, 1, 1]]))
    [0, 0, 1, 0]
    """
    owed, found = np.zeros(len(amounts)), []
    for column in amounts.T:
        owed += column
        cls = int(np.where(column > 0, owed, -np.inf).argmax())
        owed[cls] -= column.sum()
        found.append(cls)
    return found


def _covered(begin: np.ndarray, length: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return how much of each column some stretches cover, which are in order and apart."""
    if not len(begin):
        return np.zeros(len(edges) - 1)
    at = np.stack([begin, begin + length], axis=1).ravel()
    after = np.cumsum(length)
    total = np.stack([after - length, after], axis=1).ravel()
    return np.diff(np.interp(edges, at, total))


def _bar(classes: list[int], y: int, column: int, uid: str) -> Iterator[Element]:
    """Yield the bar of an engine: one path for each class."""
    paths: dict[int, str] = {}
    start = 0
    for k in range(1, len(classes) + 1):
        if k == len(classes) or classes[k] != classes[start]:
            x, wide = LEFT + start * column, (k - start) * column
            paths[classes[start]] = paths.get(classes[start], "") + f"M{x} {y + THICK // 2}h{wide}"
            start = k
    for cls, path in paths.items():
        if cls != IDLE:
            yield element("path", d=path, stroke=paint(FILLS, cls, uid), stroke_width=THICK)
    yield element("path", d=f"M{LEFT} {y}h{WIDTH}v{THICK}h{-WIDTH}z", fill="none", stroke=FRAME)


def _told(report: Any, ranks: Any) -> str:
    """Return what an engine did most, beside its bar."""
    shares = report.spent[list(ranks)].mean(axis=0) / report.stages.window
    words = f"computes {100 * shares[COMPUTE]:.0f} %"
    most = int(shares[1:].argmax()) + 1
    if shares[most] >= 0.01:
        waits = report.waits[list(ranks)].sum(axis=0)
        whom = f" for {int(waits.argmax())}" if most == WAITING and waits.any() else ""
        name = "waits" if most == WAITING else CLASSES[most]
        words += f", {name} {100 * shares[most]:.0f} %{whom}"
    return words


def _own_told(shares: list[float]) -> str:
    """Return what the notebook did, beside its bar."""
    computes, disk, _ = shares
    found = f"computes {100 * computes:.0f} %"
    return f"{found}, disk {100 * disk:.0f} %" if disk >= 0.01 else found


def _arrows(report: Any, rows: dict[int, int], whole: float) -> Iterator[Element]:
    """Yield an arrow from who was waited for to who waited, where the longest waits ended."""
    waits = [
        (until - since, rank, of, until)
        for step in report.steps
        for rank, of, since, until in waits_of(step)
        if until - since >= 0.02 * whole and rows.get(rank) != rows.get(of)
    ]
    path = ""
    for _, rank, of, until in sorted(waits, reverse=True)[:ARROWS]:
        x = LEFT + min(WIDTH - 2, WIDTH * until / whole)
        down = rows[rank] > rows[of]
        start = 24 + PITCH * rows[of] + (THICK if down else 0)
        end = 24 + PITCH * rows[rank] + (0 if down else THICK)
        back = -4 if down else 4
        path += f"M{brief(x)} {start}V{end}m-3 {back}l3 {-back}l3 {back}"
    if path:
        yield element("path", d=path, fill="none", stroke="currentColor", stroke_width="1.5")


def _legend(used: list[int], uid: str) -> Iterator[Element]:
    x = LEFT
    for cls in used:
        fill, name = paint(FILLS, cls, uid), FILLS[cls].name
        yield element("rect", x=x, y=4, width=10, height=10, fill=fill, stroke=FRAME)
        yield element("text", name, x=x + 14, y=13)
        x += 30 + 6 * len(name)


def _ticks(whole: float, bottom: int) -> Iterator[Element]:
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        text = duration(share * whole / 1e9) if share else "0"
        yield element("text", text, x=LEFT + WIDTH * share, y=bottom + 10, text_anchor=anchor)


# -- The worst lines -------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line of the user's: what engines spent on it in the busy classes, and the notebook itself.

    All in seconds; of the notebook's ``own`` it computed for some.
    """

    line: str
    ops: tuple[str, ...]
    spent: tuple[float, ...]
    own: float = 0.0
    computed: float = 0.0

    @property
    def whole(self) -> float:
        """All that it took."""
        return sum(self.spent) + self.own

    @property
    def mostly(self) -> str:
        """What it took most of that for."""
        if self.line in ITSELF:
            return ITSELF[self.line]
        if self.own >= max(self.spent):
            return DID[0] if 2 * self.computed >= self.own else DID[1]
        ops = ", ".join(dict.fromkeys(op for op in self.ops if not op.startswith("create")))
        most = CLASSES[max(range(4), key=self.spent.__getitem__)]
        return f"{most}: {ops}" if ops else most


#: What the notebook does on a line: it computes, or nothing of its own.
DID = ("notebook: its steps, and Python", "notebook: a sleep, threads, no core")
#: What is no line of the user's, and what it is.
ITSELF = {
    "the notebook itself": "its own steps, and Python",
    "the disk": "arrays came and went: memory was full",
    "the notebook elsewhere": "threads of libraries, a sleep, no core",
}


def worst_lines(report: Any, most: int = LINES) -> list[Line]:
    """Return the lines that took most, of engines' time and of the notebook's own."""
    sums: dict[str, list[float]] = {}
    ops: dict[str, list[str]] = {}
    for op in report.ops:
        spent = [sum(c) / 1e9 / max(1, len(op.ranks)) for c in zip(*op.ranks, strict=True)][:4]
        spent = spent or [0.0] * 4
        sums[op.line] = [a + b for a, b in zip(sums.get(op.line, [0.0] * 4), spent, strict=False)]
        ops.setdefault(op.line, []).append(op.op)
    own = _own_lines(report)
    found = [
        Line(line, tuple(ops.get(line, ())), tuple(sums.get(line, (0.0,) * 4)), *own.get(line, ()))
        for line in dict.fromkeys((*sums, *own))
    ]
    return sorted(found, key=lambda each: -each.whole)[:most]


def _own_lines(report: Any) -> dict[str, tuple[float, float]]:
    """Return (seconds, computed) of the lines that the notebook was on while engines had nothing.

    What it was seen on is scaled to that; what it was not seen on is in lines of their own.
    """
    did, lost = report.notebook, report.ladder[0].lost
    if did is None or not report.stages.window:
        return {}
    seen, computed = (sum(line[i] for line in did.lines) for i in (1, 2))
    part = min(1.0, ratio(lost, max(seen, did.computed + report.elsewhere)))
    found = {line: (part * own, part * work) for line, own, work in did.lines}
    rest = max(0.0, did.computed - computed), max(0.0, report.elsewhere - (seen - computed))
    others = part * rest[0], min(did.disk, lost), part * rest[1]
    return {**found, **{at: (own, own) for at, own in zip(ITSELF, others, strict=True) if own}}


def lines_table(report: Any, width: int = 48) -> str:
    """Return them as a table: text to the left, numbers to the right."""
    found = _table(report, width)
    return table_html(_HEAD, found, (0, 3), "the worst lines") if found else ""


def lines_text(report: Any, width: int = 36) -> list[str]:
    """Return them as lines of text."""
    found = _table(report, width)
    return aligned([_HEAD, *found], left=[0, 3]) if found else []


_HEAD = ("line", "time", "share", "mostly")


def _table(report: Any, width: int) -> list[tuple[str, str, str, str]]:
    return [_entries(each, report.stages.window, width) for each in worst_lines(report)]


def _entries(each: Line, window: float, width: int) -> tuple[str, str, str, str]:
    text = source(each.line) or each.line or "no line"
    share = percent(each.whole / window) if window else ""
    return shorten(text, width), duration(each.whole), share, shorten(each.mostly, width)
