"""``%%disttime``: where the time of a cell went."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import magic_arguments
from IPython.display import display

from distnb.client.reports.profiling import Windows
from distnb.client.session import current
from distnb.magics.arguments import deliver, parse, storing
from distnb.magics.cells import nested, raise_of
from distnb.widgets.times.timing import TimeReport

__all__ = ["TimingMagics"]


#: The options at the beginning of a line.
_OPTIONS = re.compile(r"\s*(?:(?:-o\s+\S+|--output[= ]\s*\S+|-q|--quiet)\s+)*")


def _parted(line: str) -> tuple[str, str]:
    """Return the options of a line, and the code after them.

    >>> _parted("-o r  -q A @ A.T")
    ('-o r  -q', 'A @ A.T')
    """
    found = _OPTIONS.match(line)
    end = found.end() if found else 0
    if not line[end:].strip():
        raise UsageError("%disttime: got no code, expected an expression, as %disttime A @ B")
    return line[:end].strip(), line[end:]


@magics_class
class TimingMagics(Magics):
    """The magic that measures a cell."""

    shell: Any

    @magic_arguments()
    @storing("report")
    @line_cell_magic
    @no_var_expand
    @output_can_be_silenced
    def disttime(self, line: str, cell: str | None = None) -> Any:
        """Run a cell, or the rest of the line, and report where its time went.

        Unlike ``%timeit``, which times how long operations take to be recorded, it waits for the
        engines. The report tells of each engine, and of each line. A line's value is not shown.

        Examples::

            %%disttime -o report
            B = A[1:] - A[:-1]
            float(B.sum())

            %disttime A @ A.T
        """
        alone = cell is None  # then its value is not what was asked for
        if cell is None:
            line, cell = _parted(line)
        args = parse(self.disttime, line)
        current.session()  # which starts engines, if there are none
        windows = Windows(current.open_sessions())
        with nested(self.shell):
            result = self.shell.run_cell(cell, silent=alone)
        report = TimeReport(windows.end())
        shown = deliver(self.shell, args, report)
        if not result.success:
            if shown is not None and report.commands:  # a slip of the pen needs no report
                display(shown)
            raise_of(self.shell, result)
        return shown
