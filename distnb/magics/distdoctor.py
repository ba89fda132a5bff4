"""``%distdoctor``: what could be cheaper in the last cell, or in this one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import magic_arguments
from IPython.display import display

from distnb.client.reports.doctor import diagnose
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.magics.arguments import (
    arrays_of,
    deliver,
    parse,
    session_of,
    storing,
)
from distnb.magics.cells import nested, raise_of
from distnb.widgets.status.doctor import DoctorReport

__all__ = ["DoctorMagics"]


@magics_class
class DoctorMagics(Magics):
    """The magic that advises."""

    shell: Any

    @magic_arguments()
    @storing("report")
    @line_cell_magic
    @no_var_expand
    @output_can_be_silenced
    def distdoctor(self, line: str, cell: str | None = None) -> Any:
        """Tell what could be cheaper in the last cell, or, as a cell magic, in this one.

        It finds loops over single elements, many small operations, arrays that are moved again and
        again, operands that lie apart, reductions along the split axis, gathers, and results that
        nobody reads; each with its line, its cost, and the cheaper way. What took less than 2 % of
        the cell is not mentioned.

        Examples::

            %distdoctor

            %%distdoctor -o report
            for i in range(100):
                total += float(A[i])
        """
        args = parse(self.distdoctor, line)
        session, result = session_of("%distdoctor"), None
        if cell is not None:
            before = _begun(current.open_sessions())
            with nested(self.shell):
                result = self.shell.run_cell(cell)
            session = next(iter(current.most_recorded(before)), session)
        session.flush()
        names = {
            handle: name
            for name, x in arrays_of(self.shell, session)
            if _is_there(x)
            for handle in session.journal.names(x.dbase.handle)
        }
        journal = session.journal
        examined = journal.latest if cell is None else journal.cell
        found = diagnose(examined, session.line, names, session.size)
        found = found._replace(older=cell is None and journal.is_older)
        shown = deliver(self.shell, args, DoctorReport(found))
        if result is not None and not result.success:
            if shown is not None:
                display(shown)
            raise_of(self.shell, result)
        return shown


def _begun(sessions: Iterable[Session]) -> dict[Session, int]:
    """Let a new cell begin in journals; return the commands of sessions by then."""
    found = {}
    for each in sessions:
        each.flush()
        each.journal.begin()
        found[each] = each.recorded
    return found


def _is_there(x: Any) -> bool:
    """Tell whether an array is all of a base on the engines: its name is that of the base."""
    base = x.dbase
    return base.host is None and base.heard_of and bool(x.dview.is_whole(base.shape))
