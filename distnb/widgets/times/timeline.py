"""The drawn timeline: a widget that recomputes its numbers for any part of a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from distnb.widgets.drawing.page import stylesheet
from distnb.widgets.drawing.staying import Staying
from distnb.widgets.times.columns import columns, summary
from distnb.widgets.times.pages import bare, small_page, text_of

__all__ = ["Timeline"]

_HERE = Path(__file__).parent


class Timeline(Staying, anywidget.AnyWidget):
    """Where the time of a report went, step by step: rows for the notebook and each engine.

    Drag over the timeline, and times, load balance, bytes and operations are those of what is
    selected: computed in the browser, so that it works while a cell runs, too. Hover over a step to
    see its operation, line and numbers. *Pin* keeps the numbers that are shown, and this timeline
    and the next ones compare theirs with them.

    Without a browser (a terminal, an exported notebook) it shows itself as the report does.

    Parameters
    ----------
    report : Report
        What ``%%disttime`` returns, or ``dnb.profile()`` gives.
    against : Report, optional
        Another run to compare with; by default what was pinned last, if anything.

    Attributes
    ----------
    report : Report
        What is drawn.
    selection : tuple of float
        Start and end of what is selected, in seconds; empty if nothing is. It can be assigned.
    pinned : dict
        The numbers that are compared with; empty if there are none.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2), dnb.profile() as report:
    ...     x = dnb.ones(10_000, dist="block") + 1
    >>> timeline = report.timeline()
    >>> timeline.selection = (0.0, report.wall / 2)    # in the browser, by dragging
    """

    _esm = _HERE / "timeline.js"
    _css = stylesheet() + (_HERE / "timeline.css").read_text(encoding="utf-8")

    #: What was pinned last in any timeline of this process.
    _last: ClassVar[dict[str, Any]] = {}

    data = traitlets.Dict().tag(sync=True)
    selection = traitlets.Tuple().tag(sync=True)
    pinned = traitlets.Dict().tag(sync=True)

    def __init__(self, report: Any, against: Any = None) -> None:
        pinned = summary(against) if against is not None else Timeline._last
        super().__init__(data=columns(report), pinned=pinned)
        self.report = report
        self._outputs = []
        self.observe(_pin, "pinned")

    def show(self, report: Any) -> None:
        """Draw another report in the same place."""
        self.report = report
        with self.hold_sync():
            self.selection = ()
            self.data = columns(report)
        self._store()

    def __repr__(self) -> str:
        return text_of(bare(self.report))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Add the report's text and page to the view, for where there is no widget."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/plain": repr(self), "text/html": self._picture()}, metadata

    def _picture(self) -> str:
        return small_page(bare(self.report))


def _pin(change: Any) -> None:
    Timeline._last = change["new"]
