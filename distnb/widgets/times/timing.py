"""Where the time went: a report as text, as a small page, as a picture, and as files."""

from __future__ import annotations

import json
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

from distnb.measure.advice import duration
from distnb.measure.events import Report
from distnb.widgets.drawing import matrices
from distnb.widgets.drawing.page import standalone
from distnb.widgets.drawing.text import (
    ROWS,
    aligned,
    fitting,
    table_html,
    together,
)
from distnb.widgets.times import ladder
from distnb.widgets.times.account import (
    BARS,
    STYLES,
    bars_svg,
    draw,
    engine_table,
    legend,
    rows,
)
from distnb.widgets.times.changes import TimeComparison
from distnb.widgets.times.operations import op_table
from distnb.widgets.times.trace import trace

__all__ = ["STYLES", "TimeReport"]

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


class TimeReport:
    """A report that shows itself; every attribute of a ``Report`` is there.

    ``report.plot()`` draws its bars with matplotlib; ``to_html``, ``to_png`` and ``to_json`` return
    it as a page, a picture and a trace for Perfetto, and write these to a file if told where.
    """

    def __init__(self, report: Report) -> None:
        self._report = report

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # IPython asks for many; and copying, before there is a report
            raise AttributeError(name)
        return getattr(self._report, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._report)} - {"_report"})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeReport) and self._report == other._report

    def __hash__(self) -> int:
        return hash(self._report)

    def __repr__(self) -> str:
        return "\n".join(_text(self._report))

    def _repr_html_(self) -> str:
        """Return the same numbers as one HTML element of at most 10 kB, with bars in SVG."""
        return fitting(_page(self._report, *most) for most in SIZES)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the text and the page: both are complete."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page of its own, with all operations; write it to ``path`` if given."""
        page = _page(self._report, BARS, 64, 400, 100, 16, 32)
        return _kept(standalone(_head(self._report), page), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the trace of the steps in Chrome's event format; ui.perfetto.dev opens it."""
        return _kept(json.dumps(trace(self._report)), path)

    def to_png(self, path: str | Path | None = None, dpi: int = 120) -> bytes:
        """Return a picture of bars, ladder and matrices; write it to ``path`` if given."""
        from matplotlib import pyplot

        figure, data = _figure(self._report), BytesIO()
        try:
            figure.savefig(data, format="png", dpi=dpi)
        finally:
            pyplot.close(figure)
        if path is not None:
            Path(path).write_bytes(data.getvalue())
        return data.getvalue()

    def diff(self, other: Any) -> TimeComparison:
        """Return what changed since another report: ``after.diff(before)``."""
        return TimeComparison(self._report.diff(_bare(other)))

    def timeline(self, against: Any = None) -> Any:
        """Return what ran as a widget, in time."""
        from distnb.widgets.times.timeline import Timeline  # imports the widgets

        return Timeline(self, against)

    def plot(self, ax: Any = None) -> Any:
        """Draw one bar for each engine on matplotlib axes, and return these."""
        found = rows(self._report, BARS)
        if ax is None:
            from matplotlib import pyplot

            size = (7.0, 1.4 + 0.3 * min(len(found), 24))
            ax = pyplot.subplots(figsize=size, layout="constrained")[1]
        draw(ax, found)
        title = "\n".join([_head(self._report), ladder.split(self._report)])
        ax.set_title(title, loc="left", fontsize=9, pad=24, parse_math=False)  # above the legend
        return ax


def _bare(report: Any) -> Any:
    """Return the report under all that shows it."""
    while (inner := getattr(report, "_report", None)) is not None:
        report = inner
    return report


def _kept(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


# -- Words and numbers -----------------------------------------------------------------------------


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" + ("" if n == 1 else "es" if word.endswith("ch") else "s")


def _head(report: Report) -> str:
    engines, commands = _count(len(report.engines), "engine"), _count(report.commands, "command")
    batches = _count(report.batches, "batch")
    return f"wall {report.wall * 1e3:,.2f} ms on {engines}: {commands} in {batches}"


def _text(report: Report) -> list[str]:
    if not report.engines:
        return [_head(report)]
    lines = [_head(report), report.advice, ""]
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
    return lines


def _notes(report: Report, most: int) -> list[str]:
    """Return what else must be said: engines that share a row, and steps that were not kept."""
    notes = together(len(report.engines), len(rows(report, most)), "mean")
    if report.dropped:
        kept = f"the first {len(report.steps):,} steps"
        notes.append(f"efficiencies are those of {kept}; {report.dropped:,} more are only in sums")
    if report.clock_error:
        notes.append(f"clocks of other hosts are known within {duration(report.clock_error)}")
    return notes


def _page(
    report: Report, bars: int, most: int, ops: int, width: int, small: int, worst: int
) -> str:
    head = _head(report)
    if not report.engines:
        return f"<div><p>{escape(head)}</p></div>"
    uid = f"t{crc32(repr((report.engines, bars)).encode()):08x}"
    notes = ["ms and % of the engine's window", *_notes(report, most)]
    parts = [
        f"<p>{escape(head)}<br/><b>{escape(report.advice)}</b></p>",
        bars_svg(report, bars, head, uid),
        _table(engine_table(report, most, text=False)),
        *(f"<p><small>{escape(note)}</small></p>" for note in notes),
        ladder.ladder_svg(report, uid),
        _table(ladder.ladder_table(report, bars=False)),
        f"<p>{escape(ladder.product(report))}<br/>{escape(ladder.split(report))}</p>",
    ]
    for each in matrices.pairs(report):
        parts += [f"<p>{escape(each.title)}</p>", _table(each.table(small, worst))]
    if report.delays and worst > 1:
        parts.append(_table(matrices.late_table(report, min(worst - 1, LATE), width)))
    if report.ops:
        parts.append(_table(op_table(report, ops, width)))
    return f"<div>{''.join(parts)}</div>"


def _table(table: list[tuple[str, ...]]) -> str:
    return table_html(table[0], table[1:])


# -- The picture -----------------------------------------------------------------------------------


def _figure(report: Report) -> Any:
    """Draw bars, the ladder, and matrices if there are any, one under the other."""
    from matplotlib import pyplot

    found, between = rows(report, BARS), matrices.pairs(report)
    bars = 1.2 + 0.3 * min(len(found), 24)
    heights = [bars, 2.0, *[3.2] * bool(between)]
    figure = pyplot.figure(figsize=(8.0, 0.9 + sum(heights)), layout="constrained")
    panels = figure.add_gridspec(len(heights), 2, height_ratios=heights)
    draw(figure.add_subplot(panels[0, :]), found)
    ladder.draw(figure.add_subplot(panels[1, :]), report)
    for k, each in enumerate(between):
        matrices.draw(figure.add_subplot(panels[2, k]), each)
    figure.suptitle(
        f"{_head(report)}\n{report.advice}",
        fontsize=9,
        x=0.01,
        ha="left",
        parse_math=False,
        wrap=True,
    )
    return figure
