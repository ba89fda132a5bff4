"""The dashboard: engines, the running cell and arrays, kept up to date from a thread.

What is shown comes from :mod:`distnb.widgets.status.dashboard_view`. While a cell runs, the
notebook's main thread is busy: pictures move, as a thread of the kernel sends them, but buttons act
when the cell ends.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any
from weakref import WeakKeyDictionary

from ipywidgets import HTML, Button, HBox, VBox

from distnb.client.reports.referrers import (
    Referred,
    arrays_of,
    drop,
    shell,
)
from distnb.client.session.session import Session
from distnb.measure.snapshot import Live
from distnb.widgets.status import dashboard_view as pictures
from distnb.widgets.status.dashboard_view import ARRAYS, Cell, Scene
from distnb.widgets.times.timing import TimeReport

__all__ = ["Dashboard"]

#: Seconds between two pictures, while a cell runs and at rest.
_PAUSE, _REST = 0.25, 1.0
#: The thread works for at most this part of the time.
_SHARE = 0.01
#: Seconds that engines have to answer.
_PATIENCE = 0.1
#: Layouts of a line of the list, and of what is beside it.
_LINE, _BUTTON = {"flex": "1 1 0", "min_width": "0"}, {"flex": "0 0 5em", "width": "5em"}
#: Session -> its dashboard: there is one at a time.
_OPEN: WeakKeyDictionary[Session, Dashboard] = WeakKeyDictionary()


class Dashboard:
    """A session's engines, the running cell and arrays, as widgets that keep up to date.

    Made by :func:`distnb.dashboard`. Exported, and after :meth:`close`, it is a static page.

    Attributes
    ----------
    session : Session
        What it shows.
    widget : ipywidgets.VBox
        The box of widgets, to be put into others. Closing it closes the dashboard.
    closed : bool
        Whether it is a static page by now.
    """

    def __init__(self, session: Session) -> None:
        if (other := _OPEN.get(session)) is not None:
            other.close()
        _OPEN[session] = self
        self.session = session
        self.closed = False
        self._shell = shell()
        self._cells = _Cells(session, self._shell, self._cell_changed)
        self._health, self._cell, self._note = HTML(), HTML(), HTML()
        for box in (self._health, self._cell):
            for name in ("jp-RenderedHTMLCommon", "jp-OutputArea-output"):
                box.add_class(name)  # tables as in other outputs
        self._arrays = _Arrays(self._free)
        self._report = VBox()
        self.widget = VBox([self._health, self._cell, self._report, self._arrays.box, self._note])
        #: Where it is displayed: the widgets, and a picture that is stored with the notebook.
        self._outputs: list[tuple[Any, Any]] = []
        #: The last report, until it is shown.
        self._measured: Any = None
        session.measuring.reported = self._note_report
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._scene = self._observe()
        self._draw(self._scene)
        atexit.register(self.close)  # a kernel that restarts leaves a page
        self._thread = threading.Thread(target=self._run, name="distnb-dashboard", daemon=True)
        self._thread.start()

    # -- keeping up to date --------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw what is there now; the thread does it all the time."""
        with self._lock:
            if not self.closed and not self.session.closed:
                self._scene = self._observe()
                self._draw(self._scene)

    def _run(self) -> None:
        while not (self.closed or self.session.closed or self.widget.comm is None):
            start = time.thread_time()
            with contextlib.suppress(Exception):  # of a session that ends meanwhile
                self.refresh()
            worked = time.thread_time() - start
            pause = _PAUSE if self._cells.running else _REST
            self._wake.wait(max(pause, worked / _SHARE))
            self._wake.clear()
        self.close()

    def _observe(self) -> Scene:
        live = self.session.live(_PATIENCE)
        arrays = arrays_of(self.session, self._shell, ARRAYS)
        return Scene(live, self.session.transport.about, self._cells.cell(), arrays)

    def _draw(self, scene: Scene) -> None:
        self._health.value = pictures.health_html(scene)
        self._cell.value = pictures.cell_html(scene, "live")
        self._arrays.show(scene.arrays)

    def _cell_changed(self) -> None:
        """Show at once that a cell began or ended, and what was measured in it."""
        if self.closed:  # in the cell that ends
            return
        report, self._measured = self._measured, None
        if report is not None:
            self.show(report)
        if not self._cells.running:
            self.refresh()
            for _, stored in self._outputs:
                stored.update(self._stored(), raw=True)
        self._wake.set()

    def _note_report(self, report: Any) -> None:
        self._measured = report

    def show(self, report: Any) -> None:
        """Show a report, such as ``%%disttime`` returns, below the last cell."""
        before = self._report.children
        self._report.children = [_view(report)]
        for widget in before:
            widget.close()

    def _free(self, array: Referred) -> None:
        """Drop what holds an array, as its button says."""
        label = array.label
        gone = drop(self._shell, array.key)
        words = f"freed {label}" if gone else f"{label} is still held by something else"
        self._note.value = f"<p>{escape(words)}</p>"
        self._wake.set()

    # -- showing -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return pictures.text(self._scene)

    def _static(self) -> dict[str, str]:
        note = "a picture of a dashboard: call dnb.dashboard() for one that moves"
        return {"text/plain": repr(self), "text/html": pictures.page(self._scene, note)}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the widgets, and for where there are none a page and text."""
        if self.closed or self.widget.comm is None:
            return self._static()
        return {**self.widget._repr_mimebundle_(), **self._static()}

    def _ipython_display_(self) -> None:
        """Display it in a way that can be replaced by a page when it is closed."""
        from IPython.display import display

        shown = display(self._repr_mimebundle_(), raw=True, display_id=True)
        if not self.closed and getattr(self._shell, "kernel", None) is not None:
            self._outputs.append((shown, display(self._stored(), raw=True, display_id=True)))

    def _stored(self) -> dict[str, str]:
        """Return what a notebook shows that is opened without the kernel: widgets are gone then."""
        page = "" if self.closed else pictures.folded(self._scene)
        return {"text/plain": "", "text/html": page}

    def close(self) -> None:
        """End the thread, and leave a static page wherever it is displayed. Idempotent."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        if _OPEN.get(self.session) is self:
            del _OPEN[self.session]
        atexit.unregister(self.close)
        self.session.measuring.reported = None
        self._cells.close()
        self._wake.set()
        for shown, stored in self._outputs:
            with contextlib.suppress(Exception):  # nobody is there to see it
                shown.update(self._static(), raw=True)
                stored.update(self._stored(), raw=True)
        for widget in (*self._arrays.widgets, *self._report.children, self._report):
            widget.close()
        for widget in (self._health, self._cell, self._note, self.widget):
            widget.close()
        if self._thread is not threading.current_thread():
            self._thread.join(5.0)


class _Cells:
    """Follows the cells of a shell: which one runs, since when, and the session at both ends.

    A cell within a cell, as ``%%disttime`` runs it, is part of that.
    """

    def __init__(self, session: Session, shell: Any, changed: Callable[[], None]) -> None:
        self._session = session
        self._shell = shell
        self._changed = changed
        self._depth = 0
        self._number = 0
        self._seconds = 0.0
        self._began = 0.0
        self._start: Live | None = None
        self._end: Live | None = None
        if shell is not None:
            shell.events.register("pre_run_cell", self._before)
            shell.events.register("post_run_cell", self._after)

    @property
    def running(self) -> bool:
        """Whether a cell runs."""
        return self._depth > 0

    def cell(self) -> Cell | None:
        """Return the running cell, or the last one."""
        start, end = self._start, self._end
        if start is None:
            return None
        seconds = self._seconds if end else time.monotonic() - self._began
        return Cell(self._number, seconds, start, end)

    def _before(self, info: Any = None) -> None:
        self._depth += 1
        if self._depth == 1 and not self._session.closed:
            self._start = self._session.live(_PATIENCE)
            self._number = self._shell.displayhook.prompt_count
            self._began = time.monotonic()
            self._end = None
            self._changed()

    def _after(self, result: Any = None) -> None:
        if self._depth == 0:  # the cell that made the dashboard
            return
        self._depth -= 1
        if self._depth == 0 and not self._session.closed:
            self._seconds = time.monotonic() - self._began
            self._end = self._session.live(_PATIENCE)
            self._changed()

    def close(self) -> None:
        """Follow no more."""
        if self._shell is not None:
            with contextlib.suppress(ValueError):  # a reset of the shell took them out
                self._shell.events.unregister("pre_run_cell", self._before)
                self._shell.events.unregister("post_run_cell", self._after)


class _Arrays:
    """A row for each of the largest arrays, with a button that frees it."""

    def __init__(self, free: Callable[[Referred], None]) -> None:
        self._free = free
        self._shown: Sequence[Referred] = ()
        self._rows: list[HBox] = []
        self._head, self._rest = HTML(layout=_LINE), HTML()
        self._top = HBox([self._head, HTML(layout=_BUTTON)])  # as wide as the rows
        self.box = VBox()

    @property
    def widgets(self) -> list[Any]:
        """All widgets of the list, the innermost first."""
        parts = [part for row in (self._top, *self._rows) for part in (*row.children, row)]
        return [*parts, self._rest, self.box]

    def show(self, arrays: Sequence[Referred]) -> None:
        """Show these arrays; widgets of rows are used again."""
        shown, rest = arrays[:ARRAYS], arrays[ARRAYS:]
        self._shown = shown
        while len(self._rows) < len(shown):
            self._rows.append(self._row(len(self._rows)))
        self._head.value = pictures.array_head() if shown else "<p>no arrays</p>"
        self._rest.value = pictures.array_rest(rest)
        for row, array in zip(self._rows, shown, strict=False):
            line, button = row.children
            line.value = pictures.array_line(array)
            button.tooltip = f"del {array.label}"
            button.disabled = not array.can_drop
        children = (self._top, *self._rows[: len(shown)], self._rest)
        if self.box.children != children:
            self.box.children = children

    def _row(self, place: int) -> HBox:
        button = Button(description="Free", layout=_BUTTON)
        button.on_click(lambda _: self._clicked(place))
        return HBox([HTML(layout=_LINE), button])

    def _clicked(self, place: int) -> None:
        if place < len(self._shown):
            self._free(self._shown[place])


def _view(report: Any) -> Any:
    """Return a report as a widget: its timeline, if its steps are known."""
    shown = report if isinstance(report, TimeReport) else TimeReport(report)
    return shown.timeline() if report.steps else HTML(shown._repr_html_())
