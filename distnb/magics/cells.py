"""What distnb does around the cells of a shell; and a cell within a cell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.magics.arguments import arrays_of

__all__ = ["Cells", "follow_cells", "nested"]


class Cells:
    """What distnb does around the cells of a shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        shell.events.register("pre_run_cell", self.before)
        shell.events.register("post_run_cell", self.after)

    def before(self, info: Any = None) -> None:
        """Start of a cell: what comes now belongs to it."""
        session = current.active()
        if session is not None:
            session.journal.begin()

    def after(self, result: Any = None) -> None:
        """End of a cell: send what is pending, wait for it, and show what went wrong."""
        session = current.active()
        if session is None:
            return
        follow_cells(self.shell)
        try:
            session.flush()
        except KeyboardInterrupt:
            raise
        except Exception:
            self.shell.showtraceback(sys.exc_info())
        finally:
            session.journal.end()

    def remove(self) -> None:
        """Undo everything."""
        self.shell.events.unregister("pre_run_cell", self.before)
        self.shell.events.unregister("post_run_cell", self.after)


@contextmanager
def nested(shell: Any) -> Iterator[None]:
    """Run a cell within a cell: the outer one raises its error and has a result of its own.

    Its lines are known by the number of the outer one, which IPython 9 has counted on by now.
    """
    show, outer = shell.showtraceback, shell.displayhook.exec_result
    cache, number = shell.compile.cache, getattr(outer, "execution_count", None)
    shell.showtraceback = lambda *args, **kwargs: None
    shell.compile.cache = lambda code, count=0, *rest, **named: cache(
        code, number or count, *rest, **named
    )
    try:
        yield
    finally:
        shell.compile.cache = cache
        shell.showtraceback = show
        shell.displayhook.exec_result = outer


def follow_cells(shell: Any) -> None:
    """Let ``%px`` of the current session see the notebook's arrays under their names."""
    session = current.active()
    client = getattr(session.transport, "client", None) if session is not None else None
    if client is None or getattr(client, "_distnb_session", None) is session:
        return
    first = not hasattr(client, "_distnb_session")
    client._distnb_session = session
    client.activate()  # %px means the engines of the newest session
    if first:
        _bind_before(client, shell)


def _bind_before(client: Any, shell: Any) -> None:
    """Send the pending batch and the arrays' names before code that runs on a client's engines."""
    send = client.send_execute_request
    told: list[Any] = []
    reached: set[Any] = set()

    def send_after_flush(*args: Any, **kwargs: Any) -> Any:
        """Send them once for all engines.

        A batch between code for one engine and for the next would keep the second waiting until the
        first has ended, and code may communicate.
        """
        session = client._distnb_session
        if session is not None and not session.closed:
            state = [session, session.recorded, names := _bound(shell, session)]
            if state != told or kwargs.get("ident") in reached:
                session.bind(names)
                told[:] = [session, session.recorded, names]
                reached.clear()
            reached.add(kwargs.get("ident"))
        return send(*args, **kwargs)

    client.send_execute_request = send_after_flush


def _bound(shell: Any, session: Session) -> list[Any]:
    """Return (name, operand) of the notebook's arrays; of small ones, that they are not here."""
    return [
        (name, value.bound) for name, value in arrays_of(shell, session) if not value.dbase.lost
    ]
