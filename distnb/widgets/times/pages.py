"""A report as text and as a small page, both with all that matters."""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import Any
from zlib import crc32

from distnb.measure.events import Report
from distnb.measure.quantities import counted, duration
from distnb.widgets.drawing import matrices
from distnb.widgets.drawing.page import fitting, folded, scrolled, table_html
from distnb.widgets.drawing.text import ROWS, aligned, together
from distnb.widgets.times import glance, ladder
from distnb.widgets.times.account import BARS, bars_svg, engine_table, legend, rows
from distnb.widgets.times.operations import op_table, own_table

__all__ = ["bare", "details_of", "head_of", "page_of", "small_page", "text_of"]

#: Bytes of a page at most: much of it is folded.
BUDGET = 14_000
#: The text that matters has lines of so many characters, and at most so many engines.
COLUMNS, ENGINES = 100, 4
#: Operations that are listed; the rest shares a line.
OPS = 12
#: Delays that are listed, of the engine that was waited for longest first.
LATE = 3
#: What a page shows at most, as long as it is short enough: bars, engines, operations, characters
#: of a line, engines of a matrix, pairs of engines.
SIZES = (
    (BARS, ROWS, OPS, 40, 8, 6),
    (BARS, ROWS, OPS, 40, 4, 6),
    (BARS, ROWS, 10, 36, 4, 3),
    (BARS, ROWS, 8, 36, 4, 3),
    (32, ROWS, 6, 32, 4, 3),
    (ROWS, ROWS, 4, 32, 0, 2),
    (ROWS, ROWS, 2, 24, 0, 2),
    (ROWS, ROWS, 2, 24, 0, 1),
    (8, 8, 4, 24, 0, 2),
    (4, 4, 2, 24, 0, 2),
)


def bare(report: Any) -> Any:
    """Return the report under all that shows it."""
    while (inner := getattr(report, "_report", None)) is not None:
        report = inner
    return report


def small_page(report: Report) -> str:
    """Return a report as one HTML element of at most 14 kB, with bars in SVG."""
    return fitting((page_of(report, *most) for most in SIZES), BUDGET)


def head_of(report: Report) -> str:
    """Return how long it took, on how many engines, and how much was done, in a line."""
    engines, commands = counted(len(report.engines), "engine"), counted(report.commands, "command")
    batches = counted(report.batches, "batch")
    did = report.notebook
    own = f", {duration(did.computed)} computed by the notebook itself" if did else ""
    return f"wall {duration(report.wall)} on {engines}: {commands} in {batches}{own}"


def text_of(report: Report) -> str:
    """Return what matters as plain text: the sentence, bars, and the worst lines."""
    if not report.engines:
        return head_of(report)
    lines = [*wrap(report.advice, COLUMNS), head_of(report), ""]
    lines += [*glance.bars_text(report, ENGINES), ""]
    return "\n".join([*lines, *glance.lines_text(report), "report.details() has all numbers"])


def details_of(report: Report) -> str:
    """Return a report as plain text, with all numbers."""
    if not report.engines:
        return head_of(report)
    lines = [head_of(report), report.advice, ""]
    table = engine_table(report, ROWS, text=True)
    lines += aligned(table, left=[len(table[0]) - 1])
    lines += [legend(), *_notes(report, ROWS), ""]
    lines += [*aligned(ladder.ladder_table(report, bars=True), left=[0, 3, 4])]
    lines += [ladder.product(report), ladder.split(report)]
    for each in matrices.pairs(report):
        lines += ["", each.title, *aligned(each.table(), left=[])]
    if report.delays:
        lines += ["", *aligned(matrices.late_table(report, LATE), left=[1, 2])]
    if report.ops:
        lines += ["", *aligned(op_table(report, OPS), left=[0, 1])]
    if own := own_table(report, OPS):
        lines += ["", *aligned(own, left=[0])]
    return "\n".join(lines)


def _notes(report: Report, most: int) -> list[str]:
    """Return what else must be said: engines that share a row, and steps that were not kept."""
    notes = together(len(report.engines), len(rows(report, most)), "mean")
    notes += report.notes
    if report.dropped:
        kept = f"the first {len(report.steps):,} steps"
        notes.append(f"efficiencies are those of {kept}; {report.dropped:,} more are only in sums")
    if report.clock_error:
        notes.append(f"clocks of other hosts are known within {duration(report.clock_error)}")
    return notes


def page_of(
    report: Report, bars: int, most: int, ops: int, width: int, small: int, worst: int
) -> str:
    """Return a report as an HTML element that shows so much of each kind, as in ``SIZES``."""
    head = head_of(report)
    if not report.engines:
        return f"<p>{escape(head)}</p>"
    uid = f"t{crc32(repr((report.engines, bars)).encode()):08x}"
    notes = ["shares are of the engine's window", *_notes(report, most)]
    picture = glance.time_axis(report, uid, min(bars, glance.ROWS), min(20 * ops, glance.STRETCHES))
    looks = [
        f'<p class="lead">{glance.sentence_html(report)}</p><p><small>{escape(head)}</small></p>',
        scrolled(picture or bars_svg(report, bars, head, uid), "what each engine did"),
        glance.lines_table(report, width),
    ]
    parts = [
        _table(engine_table(report, most, text=False)),
        *(f"<p><small>{escape(note)}</small></p>" for note in notes),
        scrolled(ladder.ladder_svg(report, uid), "efficiencies"),
        _table(ladder.ladder_table(report, bars=False), (0, 3)),
        f"<p>{escape(ladder.product(report))}<br/>{escape(ladder.split(report))}</p>",
    ]
    for each in matrices.pairs(report):
        parts += [f"<p>{escape(each.title)}</p>", _table(each.table(small, worst))]
    if report.delays and worst > 1:
        parts.append(_table(matrices.late_table(report, min(worst - 1, LATE), width), (1, 2)))
    if report.ops:
        parts.append(_table(op_table(report, ops, width), (0, 1)))
    if own := own_table(report, ops, width):
        parts.append(_table(own, (0,)))
    return "".join(looks) + folded("all numbers", *parts)


def _table(table: list[tuple[str, ...]], left: tuple[int, ...] = ()) -> str:
    return table_html(table[0], table[1:], left)
