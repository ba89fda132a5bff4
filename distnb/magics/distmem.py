"""``%distmem``: what fills the engines' memory."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, output_can_be_silenced
from IPython.core.magic_arguments import argument, magic_arguments

from distnb.client.lasting.assembled import is_array
from distnb.client.reports.memory_report import survey
from distnb.magics.arguments import (
    deliver,
    parse,
    session_of,
    storing,
)
from distnb.widgets.status.usage import MemoryReport

__all__ = ["MemoryMagics"]


@magics_class
class MemoryMagics(Magics):
    """The magic that shows memory."""

    shell: Any

    @magic_arguments()
    @argument("arrays", nargs="*", help="names of arrays to list (default: the largest)")
    @storing("report")
    @line_magic
    @output_can_be_silenced
    def distmem(self, line: str) -> Any:
        """Show what fills the engines' memory.

        Arrays with their names (memory counts once, however many views look at it; a sparse array
        is elements, indices and pointers), arrays that no name holds and what else holds them,
        memory kept for reuse, other memory of the processes, and what is free; which arrays are
        newer than the last checkpoint, and how long it takes to write them; and what would free
        most.

        Examples::

            %distmem
            %distmem A B
            %distmem -q -o memory
        """
        args = parse(self.distmem, line)
        for name in args.arrays:
            if not is_array(self.shell.user_ns.get(name)):
                raise UsageError(f"%distmem: got {name!r}, expected the name of an array")
        session = session_of("%distmem", [self.shell.user_ns[name] for name in args.arrays])
        found = survey(session, self.shell.user_ns)
        return deliver(self.shell, args, MemoryReport(found, args.arrays))
