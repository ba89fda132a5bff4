"""``%load_ext distnb``: thin magics over the client, and what happens at the end of a cell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from distnb.client import current
from distnb.client.array import DistArray
from distnb.client.copying import with_copy_speed
from distnb.client.placement import Placement
from distnb.client.session import Session
from distnb.errors import DistnbError, LayoutError
from distnb.magics.expressions import parse_layouts
from distnb.widgets.several import Several
from distnb.widgets.status import Status
from distnb.widgets.timing import TimeReport

__all__ = ["DistnbMagics", "load", "unload"]


@magics_class
class DistnbMagics(Magics):
    """The magics of distnb."""

    shell: Any

    @magic_arguments()
    @argument("action", nargs="?", default="status", help="start, connect, status or stop")
    @argument("-n", type=int, default=None, help="engines to start (default: one for each core)")
    @argument("--profile", default=None, help="ipyparallel profile to connect to")
    @argument("--cluster-id", default=None, help="ipyparallel cluster to connect to")
    @line_magic
    def distnb(self, line: str) -> Any:
        """Start or connect to engines, show their status, or stop."""
        args = parse_argstring(self.distnb, line)
        try:
            if args.action == "start":
                current.start(args.n)
            elif args.action == "connect":
                current.connect(args.profile, args.cluster_id)
            elif args.action == "stop":
                return _stop()
            elif args.action != "status":
                raise UsageError(
                    f"%distnb: got {args.action!r}, expected start, connect, status or stop"
                )
        except (DistnbError, OSError, ValueError) as error:
            raise UsageError(f"%distnb {args.action}: {error}") from error
        follow_cells(self.shell)
        return Status(current.active())

    @line_magic
    def distlayout(self, line: str) -> Any:
        """Show who holds what of arrays: ``%distlayout A``, or ``%distlayout A B``.

        Each may be any expression. Several arrays are drawn to one scale, with what an elementwise
        operation of two of them would send. ``--axes 0,2`` before them chooses the axes to show,
        rows first.
        """
        axes, expressions = parse_layouts(line)
        found = [self._placement(text) for text in expressions]
        if len(found) == 1 and axes is None:
            return found[0]
        try:
            return Several(found, expressions if len(found) > 1 else (), axes)
        except LayoutError as error:
            raise UsageError(f"%distlayout: {error}") from error

    def _placement(self, expression: str) -> Placement:
        found = self.shell.ev(expression)
        if isinstance(found, Placement):
            return found
        if not isinstance(found, DistArray):
            raise UsageError(
                f"%distlayout: got {type(found).__name__}, expected a distributed array; "
                "make one with distnb.asarray"
            )
        return found.layout

    @magic_arguments()
    @argument("-o", dest="name", default=None, help="store the report under this name")
    @argument("-q", dest="quiet", action="store_true", help="do not show the report")
    @cell_magic
    @no_var_expand
    def disttime(self, line: str, cell: str) -> Any:
        """Run a cell and report where its time went, engine by engine and line by line."""
        args = parse_argstring(self.disttime, line)
        session = current.session()
        window = session.start_window()
        with _nested(self.shell):
            result = self.shell.run_cell(cell)
        report = TimeReport(with_copy_speed(session, session.end_window(window)))
        if args.name:
            self.shell.user_ns[args.name] = report
        if not result.success:
            display(report)
            result.raise_error()
        return None if args.quiet else report


@contextmanager
def _nested(shell: Any) -> Iterator[None]:
    """Run a cell within a cell: the outer one raises its error and has a result of its own."""
    show, outer = shell.showtraceback, shell.displayhook.exec_result
    shell.showtraceback = lambda *args, **kwargs: None
    try:
        yield
    finally:
        shell.showtraceback = show
        shell.displayhook.exec_result = outer


def _stop() -> Status:
    session = current.active()
    if session is not None:
        session.close()
    return Status(current.active())


class _Cells:
    """What distnb does around the cells of a shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        shell.events.register("post_run_cell", self.after)

    def after(self, result: Any = None) -> None:
        """End of a cell: send what is pending, wait for it, and show what went wrong."""
        session = current.active()
        if session is None:
            return
        follow_cells(self.shell)
        try:
            session.flush()
            session.trace.end_cell()
        except KeyboardInterrupt:
            raise
        except Exception:
            self.shell.showtraceback(sys.exc_info())

    def remove(self) -> None:
        """Undo everything."""
        self.shell.events.unregister("post_run_cell", self.after)


_CELLS: dict[int, _Cells] = {}


def follow_cells(shell: Any) -> None:
    """Let ``%px`` of the current session see the notebook's arrays under their names."""
    session = current.active()
    client = getattr(session.transport, "client", None) if session is not None else None
    if client is None or getattr(client, "_distnb_session", None) is session:
        return
    client._distnb_session = session
    client.activate()  # %px means the engines of the newest session
    send = client.send_execute_request
    told: list[Any] = []
    reached: set[Any] = set()

    def send_after_flush(*args: Any, **kwargs: Any) -> Any:
        """Send the pending batch and the arrays' names before code that runs on the engines.

        Once for all of them: a batch between code for one engine and for the next would keep the
        second waiting until the first has ended, and code may communicate.
        """
        session = client._distnb_session
        if session is not None and not session.closed:
            state = [session, session.recorded, names := _arrays(shell, session)]
            if state != told or kwargs.get("ident") in reached:
                session.bind(names)
                told[:] = [session, session.recorded, names]
                reached.clear()
            reached.add(kwargs.get("ident"))
        return send(*args, **kwargs)

    client.send_execute_request = send_after_flush


def _arrays(shell: Any, session: Session) -> list[Any]:
    """Return (name, operand) of the notebook's arrays; of small ones, that they are not here."""
    return [
        (name, value.bound)
        for name, value in list(shell.user_ns.items())
        if isinstance(value, DistArray)
        and value.session is session
        and not value._base.lost
        and not name.startswith("_")
    ]


def load(shell: Any) -> None:
    """Register the magics in a shell; harmless when done twice."""
    if id(shell) in _CELLS:
        return
    shell.register_magics(DistnbMagics)
    _CELLS[id(shell)] = _Cells(shell)


def unload(shell: Any) -> None:
    """Take the magics and the cell hook away."""
    cells = _CELLS.pop(id(shell), None)
    if cells is not None:
        cells.remove()
        for name in ("distnb", "distlayout"):
            shell.magics_manager.magics["line"].pop(name, None)
        shell.magics_manager.magics["cell"].pop("disttime", None)
