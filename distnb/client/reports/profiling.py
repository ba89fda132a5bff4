"""``with profile() as report``: where the time of some code went, as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distnb.client.reports.memory_bandwidth import with_memory_bandwidth
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.common.errors import DistnbError, explain
from distnb.measure.events import Report

__all__ = ["Profile", "profile"]


class Profile:
    """What :func:`profile` gives: once its block has ended, all that the report has and shows."""

    #: Makes a value that shows itself of a report; the package sets it.
    shown: Callable[[Report], Any] = staticmethod(lambda report: report)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._window: Any = None
        self._report: Any = None
        self._state = "not filled"

    def __enter__(self) -> Profile:
        self._report = None
        self._window = self._session.start_window()
        self._state = "its block still runs"
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Fill the report, whatever happened; raise what engines raised, if the block did not."""
        failures: list[BaseException] = []
        try:
            self._session.flush()
        except (Exception, KeyboardInterrupt) as failure:
            failures.append(failure)
        try:
            report = self._session.end_window(self._window)
            self._report = self.shown(with_memory_bandwidth(self._session, report))
        except DistnbError as failure:  # the engines are gone
            failures.append(failure)
            self._state = "the engines did not answer any more"
        self._window = None
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
        Whose engines to measure; by default the current one.

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
    return Profile(current.need(session))
