"""A line that tells how far the engines are, when the notebook waits for them for long.

Waits only note when they begin and end. A thread looks on, sleeping while nobody waits.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol, TextIO

from distnb.client.session.observing import Observer
from distnb.common.config import config
from distnb.measure.quantities import size_text
from distnb.measure.snapshot import Live

__all__ = ["Progress", "line_of", "told"]

#: Seconds after which the line is brought up to date.
_PAUSE = 0.25
#: Waits with less than so many seconds between them count as one.
_GAP = 0.1
#: Characters that show how much of a file is done.
_BAR = 20
#: Seconds that engines have to say what they do.
_PATIENCE = 0.2


class Surface(Protocol):
    """Where a line can be shown."""

    @property
    def cell(self) -> int:
        """The number of the running cell: waits of several are not one."""

    def show(self, text: str) -> None:
        """Show a text, in place of the one before."""

    def clear(self) -> None:
        """Show nothing."""


class Terminal:
    """One line at the bottom of a terminal, overwritten in place."""

    cell = 0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Replace the line."""
        import shutil  # few need it, and with it come all ways to compress

        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[K{text[:width]}")

    def clear(self) -> None:
        """Remove the line."""
        self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
            self._stream.write(text)
            self._stream.flush()


class Notebook:
    """An output of the running cell that is updated, and is empty in the end."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cell = -1
        self._output: Any = None

    @property
    def cell(self) -> int:
        """The number of the running cell."""
        found: int = self._shell.execution_count
        return found

    def show(self, text: str) -> None:
        """Replace the text; a cell has one such output."""
        if self._output is None or self._cell != self.cell:
            self._cell = self.cell
            display = sys.modules["IPython.display"].display
            self._output = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._output.update({"text/plain": text}, raw=True)

    def clear(self) -> None:
        """Show nothing."""
        if self._output is not None:
            self._output.update({"text/plain": ""}, raw=True)


def surface() -> Surface | None:
    """Return where progress can be shown: a notebook, a terminal; None if nobody would see it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is not None:
        return Notebook(shell)
    with contextlib.suppress(AttributeError, ValueError):  # there is no stderr, or it is closed
        if sys.stderr.isatty():
            return Terminal(sys.stderr)
    return None


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Show a line while something takes longer than ``dnb.config.progress``, and not after that."""
    place, done, began = surface(), threading.Event(), time.monotonic()
    if place is None or config.progress <= 0:
        yield
        return

    def run() -> None:
        over = done.wait(config.progress)
        shown = not over
        while not over:
            place.show(f"distnb: {what}, {time.monotonic() - began:.1f} s")
            over = done.wait(_PAUSE)
        if shown:
            place.clear()

    thread = threading.Thread(target=run, name="distnb-progress", daemon=True)
    with contextlib.suppress(RuntimeError):  # there is no room for one: there is no line then
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread.ident is not None:
            thread.join(1.0)


class Progress:
    """Follows the waits of a session.

    Parameters
    ----------
    observer : Observer
        Looks at the session that waits.
    surface : Surface or None
        Where to show the line.
    """

    def __init__(self, observer: Observer, surface: Surface | None) -> None:
        self._observer = observer
        self.surface = surface
        self._lock = threading.Lock()
        self._armed = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._waiting = False
        self._shown = False
        self._since = self._ended = 0.0
        self._cell = 0
        #: Commands that were done when the wait began.
        self._before = 0
        #: The command that goes through a file, when that was seen first, and its bytes then.
        self._file = (0, 0.0, 0)

    def begin(self) -> None:
        """Note that a wait begins; called where Ctrl-C is deferred."""
        if self.surface is None:
            return
        now = time.monotonic()
        if now - self._ended > _GAP or self._cell != self.surface.cell:
            self._since, self._before = now, self._observer.finished
            self._cell = self.surface.cell
        self._waiting = True
        if not self._armed.is_set():
            self._arm()

    def end(self, clear: bool = True) -> None:
        """Note that a wait ended; the line goes away if no other wait follows."""
        self._waiting = False
        self._ended = time.monotonic()
        if clear and self._shown:
            self.clear()

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._shown and not self._waiting and self.surface is not None:
                self._shown = False
                self.surface.clear()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._armed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def _arm(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="distnb-progress", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # there is no room for one: there is no line now
                return
            self._thread = thread
        self._armed.set()

    def _run(self) -> None:
        pause = threading.Event()
        while not self._closed:
            self._armed.wait()
            while not self._closed and (self._waiting or time.monotonic() - self._ended < 1.0):
                with contextlib.suppress(Exception):  # to look on must never be what fails
                    self._refresh()
                pause.wait(_PAUSE)
            self.clear()
            self._armed.clear()

    def _refresh(self) -> None:
        """Show the line if it is time to."""
        elapsed = time.monotonic() - self._since
        if not (self._waiting and 0 < config.progress <= elapsed):
            return
        live = self._observer.live(_PATIENCE)
        text = line_of(live, self._before, elapsed, self._rate(live))
        with self._lock:
            if self._waiting and self.surface is not None:
                self._shown = True
                self.surface.show(text)

    def _rate(self, live: Live) -> float:
        """Return the bytes per second of the file that engines are at, 0 if nobody knows yet."""
        if live.filed is None:
            return 0.0
        now, (number, done, _) = time.monotonic(), live.filed
        if number != self._file[0]:
            self._file = (number, now, done)
        _, began, before = self._file
        return (done - before) / (now - began) if now > began else 0.0


def line_of(live: Live, base: int, elapsed: float, rate: float = 0.0) -> str:
    """Return the line for a wait that began when ``base`` commands were done.

    While engines read or write a file, it tells of bytes: how many, of how many, and a second.

    >>> from distnb.measure.snapshot import Engine
    >>> engines = [Engine(r, True, 0.0, n, "sort (line 3)", None) for r, n in enumerate((2, 5))]
    >>> line_of(Live("direct sockets", tuple(engines), 30, 0), 20, 4.21)
    'distnb: 5 of 10 commands, 4.2 s, engine 1 is behind, sort (line 3)'
    """
    words = [f"distnb: {live.recorded - live.left - base:,} of {live.recorded - base:,} commands"]
    if live.filed is not None:
        words = ["distnb: " + _of_file(*live.filed[1:])]
        words += [f"{size_text(rate)}/s"] if rate else []
    words.append(f"{elapsed:.1f} s")
    words += [f"engine {e.rank} {e.state}" for e in live.engines if e.state != "alive"]
    if live.slowest is not None:
        words.append(f"engine {live.slowest.rank} is behind")
    return ", ".join([*words, *filter(None, [live.running])])


def _of_file(done: int, total: int) -> str:
    if not total:
        return size_text(done)
    bar = "#" * round(_BAR * min(1, done / total))
    return f"[{bar:.<{_BAR}}] {size_text(done)} of {size_text(total)}"
