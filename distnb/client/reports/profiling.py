"""``with profile() as report``: where the time of some code went, as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from distnb.client.reports.memory_bandwidth import with_memory_bandwidth
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.common.errors import DistnbError, explain
from distnb.measure.events import Report

__all__ = ["Profile", "Windows", "profile"]


class Windows:
    """Windows of several sessions, of which the one that did most in them is reported.

    The last session is the one whose window is the least disturbed by those of the others.
    """

    def __init__(self, sessions: Sequence[Session]) -> None:
        living = [each for each in sessions if not each.connection.dead] or sessions[-1:]
        self._windows = {each: each.start_window() for each in living}
        self._before = {each: each.recorded for each in living}

    def end(self) -> Report:
        """End all; return the report, which notes who else did something."""
        windows, self._windows = self._windows, {}
        worked = [each for each in current.most_recorded(self._before) if each in windows]
        first, *others = worked or list(windows)[-1:]
        notes = [_besides(each, each.recorded - self._before[each]) for each in others]
        report = first.end_window(windows.pop(first))
        for each, window in windows.items():
            if not (each.closed or each.connection.dead):
                each.end_window(window)
        found = with_memory_bandwidth(first, report)
        return replace(found, notes=(*found.notes, *notes)) if notes else found

    def flush(self) -> None:
        """Wait for what was asked of those that are measured."""
        for each in self._windows:
            if not each.closed:
                each.flush()


def _besides(session: Session, commands: int) -> str:
    """Return what is said of a session whose window is not the one that is shown."""
    return (
        f"{commands:,} commands went to another session, of {session.size} engines: "
        "dnb.profile(session) tells of it"
    )


class Profile:
    """What :func:`profile` gives: once its block has ended, all that the report has and shows."""

    #: Makes a value that shows itself of a report; the package sets it.
    shown: Callable[[Report], Any] = staticmethod(lambda report: report)

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._sessions = sessions
        self._windows: Any = None
        self._report: Any = None
        self._state = "not filled"

    def __enter__(self) -> Profile:
        self._report = None
        self._windows = Windows(self._sessions)
        self._state = "its block still runs"
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Fill the report, whatever happened; raise what engines raised, if the block did not."""
        failures: list[BaseException] = []
        try:
            self._windows.flush()
        except (Exception, KeyboardInterrupt) as failure:
            failures.append(failure)
        try:
            self._report = self.shown(self._windows.end())
        except DistnbError as failure:  # the engines are gone
            failures.append(failure)
            self._state = "the engines did not answer any more"
        self._windows = None
        if not failures:
            return
        if error is None:
            raise failures[0]
        error.add_note(f"meanwhile on the engines: {failures[0]}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("_repr_"):
            raise AttributeError(name)
        if self._report is None:
            do = "read it after `with dnb.profile() as report:` has ended"
            raise AttributeError(explain(f"profile().{name}", self._state, "a report", do))
        return getattr(self._report, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._report)})

    def __repr__(self) -> str:
        return f"<distnb profile: {self._state}>" if self._report is None else repr(self._report)


def profile(session: Session | None = None) -> Profile:
    """Measure where the time of a block of code goes.

    Sends what is pending and waits for it, at the beginning and at the end. Blocks may be nested,
    also in a cell with ``%%disttime``. Under SPMD it is collective, and all ranks get the same
    report.

    Parameters
    ----------
    session : Session, optional
        Whose engines to measure; by default those of the arrays that the block is about.

    Returns
    -------
    Profile
        A context manager. After the block it has all attributes of
        :class:`distnb.widgets.TimeReport`, and shows itself as that does. It is filled after an
        exception, too.

    Raises
    ------
    AttributeError
        If the report is read before the block has ended.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2), dnb.profile() as report:
    ...     x = dnb.ones(1_000_000)
    ...     total = float((x + x).sum())
    >>> [step.names[0][0] for step in report.steps if step.spans[0].touched]
    ['create (fill)', 'add', 'sum']
    >>> all(sum(engine.spent) == engine.now for engine in report.engines)
    True
    """
    found = current.need(session)
    return Profile([found] if session is not None else current.open_sessions())
