"""``%%disttime``: where the time of a cell went."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import (
    Magics,
    cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import magic_arguments
from IPython.display import display

from distnb.client.reports.memory_bandwidth import with_memory_bandwidth
from distnb.client.session import current
from distnb.magics.arguments import deliver, parse, storing
from distnb.magics.cells import nested
from distnb.widgets.times.timing import TimeReport

__all__ = ["TimingMagics"]


@magics_class
class TimingMagics(Magics):
    """The magic that measures a cell."""

    shell: Any

    @magic_arguments()
    @storing("report")
    @cell_magic
    @no_var_expand
    @output_can_be_silenced
    def disttime(self, line: str, cell: str) -> Any:
        """Run a cell and report where its time went, engine by engine and line by line.

        Examples::

            %%disttime -o report
            B = A[1:] - A[:-1]
            float(B.sum())
        """
        args = parse(self.disttime, line)
        session = current.session()
        window = session.start_window()
        with nested(self.shell):
            result = self.shell.run_cell(cell)
        report = TimeReport(with_memory_bandwidth(session, session.end_window(window)))
        shown = deliver(self.shell, args, report)
        if not result.success:
            if shown is not None and report.commands:  # a slip of the pen needs no report
                display(shown)
            result.raise_error()
        return shown
