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
from collections import deque
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import anywidget
import traitlets
from ipywidgets import HTML, VBox

from distnb.client.reports.referrers import (
    Referred,
    arrays_of,
    drop,
    shell,
)
from distnb.client.session.session import Session
from distnb.measure.snapshot import Live
from distnb.widgets.drawing.page import stylesheet
from distnb.widgets.drawing.staying import Staying
from distnb.widgets.status import dashboard_view as pictures
from distnb.widgets.status.dashboard_view import ARRAYS, HISTORY, Cell, Scene
from distnb.widgets.times.timing import TimeReport

__all__ = ["Dashboard"]

#: Seconds between two pictures, while a cell runs and at rest.
_PAUSE, _REST = 0.25, 1.0
#: The thread works for at most this part of the time.
_SHARE = 0.01
#: Seconds that engines have to answer.
_PATIENCE = 0.1
#: Session -> its dashboard: there is one at a time.
_OPEN: WeakKeyDictionary[Session, Dashboard] = WeakKeyDictionary()


class Dashboard(Staying):
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
        self._board = _Board(self._pressed)
        #: Key of a button -> the array that it frees.
        self._buttons: dict[str, Referred] = {}
        self._history: deque[Live] = deque(maxlen=HISTORY)
        self._report = VBox()
        self.widget = VBox([self._board, self._report])
        self._outputs = []
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
        self._history.append(live)
        arrays = arrays_of(self.session, self._shell, ARRAYS)
        about, history = self.session.transport.about, tuple(self._history)
        return Scene(live, about, self._cells.cell(), arrays, history)

    def _draw(self, scene: Scene) -> None:
        self._buttons = {_key(array): array for array in scene.arrays[:ARRAYS]}
        self._board.cell = pictures.cell_html(scene, "live")
        self._board.engines = pictures.engines_html(scene)
        self._board.arrays = pictures.arrays_html(scene.arrays, ARRAYS, _key)

    def _cell_changed(self) -> None:
        """Show at once that a cell began or ended, and what was measured in it."""
        if self.closed:  # in the cell that ends
            return
        report, self._measured = self._measured, None
        if report is not None:
            self.show(report)
        if not self._cells.running:
            self.refresh()
            self._store()
        self._wake.set()

    def _note_report(self, report: Any) -> None:
        self._measured = report

    def show(self, report: Any) -> None:
        """Show a report, such as ``%%disttime`` returns, below the last cell."""
        before = self._report.children
        self._report.children = [_view(report)]
        for widget in before:
            widget.close()

    def _pressed(self, key: str) -> None:
        """Drop what holds an array, as its button says."""
        array = self._buttons.get(key)
        if array is None:  # it has gone meanwhile
            return
        gone = drop(self._shell, array.key)
        words = f"freed {array.label}" if gone else f"{array.label} is still held by something else"
        self._board.note = f"<p>{escape(words)}</p>"
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

    def _picture(self) -> str:
        return "" if self.closed else pictures.stored(self._scene)

    def close(self) -> None:
        """End the thread, and leave a static page wherever it is displayed. Idempotent."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        if self.session.closed:
            self._scene = self._scene._replace(cell=None, ended=True)
        if _OPEN.get(self.session) is self:
            del _OPEN[self.session]
        atexit.unregister(self.close)
        self.session.measuring.reported = None
        self._cells.close()
        self._wake.set()
        for shown, _ in self._outputs:
            with contextlib.suppress(Exception):  # nobody is there to see it
                shown.update(self._static(), raw=True)
        self._store()
        for widget in (self._board, *self._report.children, self._report, self.widget):
            widget.close()
        if self._thread is not threading.current_thread():
            self._thread.join(5.0)


class _Board(anywidget.AnyWidget):
    """A page of HTML in parts; those that change are sent, and what is open in them stays open.

    Parameters
    ----------
    pressed : callable
        Called with the ``data-key`` of a button that is pressed.
    """

    _esm = Path(__file__).parent / "board.js"
    _css = stylesheet()

    cell = traitlets.Unicode().tag(sync=True)
    engines = traitlets.Unicode().tag(sync=True)
    arrays = traitlets.Unicode().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)

    def __init__(self, pressed: Callable[[str], None]) -> None:
        super().__init__()
        self.on_msg(lambda _, content, __: _tell(content, pressed))


def _tell(content: Any, pressed: Callable[[str], None]) -> None:
    if isinstance(content, dict) and isinstance(content.get("press"), str):
        pressed(content["press"])


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


def _key(array: Referred) -> str:
    """Return what names an array among the buttons: the reference to it is the same each time."""
    return str(id(array.key))


def _view(report: Any) -> Any:
    """Return a report as a widget: its timeline, if its steps are known."""
    shown = report if isinstance(report, TimeReport) else TimeReport(report)
    return shown.timeline() if report.steps else HTML(shown._repr_html_())
