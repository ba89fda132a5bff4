"""Where the time went: a report as text, as a small page, as a picture, and as files."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any

from distnb.measure.events import Report
from distnb.widgets.drawing import matrices
from distnb.widgets.drawing.page import standalone, view
from distnb.widgets.drawing.plots import check_axes
from distnb.widgets.drawing.showing import Showing
from distnb.widgets.times import ladder
from distnb.widgets.times.account import BARS, draw, rows
from distnb.widgets.times.changes import TimeComparison
from distnb.widgets.times.pages import bare, details_of, head_of, page_of, small_page, text_of
from distnb.widgets.times.trace import trace

__all__ = ["TimeReport"]

#: Characters of a line above the bars.
_TITLE = 100


class Text(str):
    """Text that a prompt shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TimeReport(Showing):
    """A report that shows itself; every attribute of a ``Report`` is there.

    In a terminal it is what matters on a few lines, and ``report.details()`` all numbers.
    ``report.plot()`` draws its bars with matplotlib; ``to_html``, ``to_png`` and ``to_json`` return
    it as a page, a picture and a trace for Perfetto, and write these to a file if told where.
    """

    def __repr__(self) -> str:
        return text_of(self._report)

    def _repr_html_(self) -> str:
        """Return the same numbers as one HTML element of at most 14 kB, with bars in SVG."""
        return small_page(self._report)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the text of what matters, and the page, which has all numbers folded."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def details(self) -> Text:
        """Return all numbers as text."""
        return Text(details_of(self._report))

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page of its own, with all operations; write it to ``path`` if given."""
        page = page_of(self._report, BARS, 64, 400, 100, 16, 32)
        page = page.replace("<details>", '<details open="">')
        return _saved(standalone(head_of(self._report), view(page)), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the trace of the steps in Chrome's event format; ui.perfetto.dev opens it."""
        return _saved(json.dumps(trace(self._report)), path)

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
        return TimeComparison(self._report.diff(bare(other)))

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
        else:
            check_axes(ax)
        draw(ax, found)
        title = "\n".join([head_of(self._report), *wrap(self._report.advice, _TITLE)])
        ax.set_title(title, loc="left", fontsize=9, pad=24, parse_math=False)  # above the legend
        return ax


def _saved(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


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
        f"{head_of(report)}\n{report.advice}",
        fontsize=9,
        x=0.01,
        ha="left",
        parse_math=False,
        wrap=True,
    )
    return figure
