"""``%distnb``: engines and their status; ``%distlayout``: who holds what."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, output_can_be_silenced
from IPython.core.magic_arguments import argument, magic_arguments

from distnb.client import current
from distnb.client.array import DistArray
from distnb.client.placement import Placement
from distnb.magics.arguments import deliver, parse, plain_errors, storing
from distnb.magics.cells import follow_cells
from distnb.widgets.status import Status

__all__ = ["EngineMagics"]

ACTIONS = ("start", "connect", "status", "stop")


@magics_class
class EngineMagics(Magics):
    """The magics that start engines and show what is there."""

    shell: Any

    @magic_arguments()
    @argument("action", nargs="?", default="status", choices=ACTIONS, help="what to do")
    @argument("-n", type=int, default=None, help="engines to start (default: one for each core)")
    @argument("--profile", default=None, help="ipyparallel profile to connect to")
    @argument("--cluster-id", default=None, help="ipyparallel cluster to connect to")
    @storing("status")
    @line_magic
    @output_can_be_silenced
    def distnb(self, line: str) -> Any:
        """Start or connect to engines, show their status, or stop.

        Examples::

            %distnb start -n 4
            %distnb connect --profile mpi
            %distnb
            %distnb stop
        """
        args = parse(self.distnb, line)
        with plain_errors(f"%distnb {args.action}"):
            self._do(args)
        follow_cells(self.shell)
        return deliver(self.shell, args, Status(current.active()))

    def _do(self, args: Any) -> None:
        if args.action == "start":
            current.start(args.n)
        elif args.action == "connect":
            current.connect(args.profile, args.cluster_id)
        elif args.action == "stop" and (session := current.active()) is not None:
            session.close()

    @magic_arguments()
    @argument("array", nargs="*", help="the array, or any expression")
    @storing("layout")
    @line_magic
    @output_can_be_silenced
    def distlayout(self, line: str) -> Any:
        """Show who holds what of an array.

        Examples::

            %distlayout A
            %distlayout A[1:-1, ::2]
        """
        args = parse(self.distlayout, line)
        if not args.array:
            raise UsageError(
                "%distlayout: got nothing, expected an array; for example %distlayout A"
            )
        found = self.shell.ev(" ".join(args.array))
        if isinstance(found, DistArray):
            found = found.layout
        if not isinstance(found, Placement):
            raise UsageError(
                f"%distlayout: got {type(found).__name__}, expected a distributed array; "
                "make one with distnb.asarray"
            )
        return deliver(self.shell, args, found)
