"""``%%distlocal``: a cell on every engine, where arrays are their parts."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand

from distnb.common.calling import AS_PARTS
from distnb.magics.arguments import session_of
from distnb.magics.cells import follow_cells

__all__ = ["LocalMagics"]


@magics_class
class LocalMagics(Magics):
    """The magic that runs a cell on the engines."""

    shell: Any

    @cell_magic
    @no_var_expand
    def distlocal(self, line: str, cell: str) -> Any:
        """Run a cell on every engine, with the notebook's arrays as their parts: NumPy's arrays.

        As ``%%px``, whose options it takes, but that ``A`` is what is ``A.local`` there. What is
        written into a part is written into the array; what the cell binds to the name of an array
        goes with the cell.

        Examples::

            %%distlocal
            A[A < 0] = 0
            print(A.shape)
        """
        session = session_of("%%distlocal")
        follow_cells(self.shell)
        if getattr(session.transport, "client", None) is None:
            raise UsageError("%%distlocal: got engines in this process, expected dnb.start()")
        return self.shell.run_cell_magic("px", line, f"{cell.rstrip()}\n{AS_PARTS}\n")
