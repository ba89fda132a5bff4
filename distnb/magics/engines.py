"""``%distnb``: engines and their status; ``%distlayout``: who holds what."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, output_can_be_silenced
from IPython.core.magic_arguments import argument, magic_arguments

from distnb.client.array.distarray import DistArray
from distnb.client.lasting.checkpoints import checkpoint
from distnb.client.lasting.kept_arrays import attach
from distnb.client.lasting.restoring import restore
from distnb.client.record.placement import Placement
from distnb.client.session import current
from distnb.magics.arguments import (
    deliver,
    parse,
    plain_errors,
    session_of,
    storing,
)
from distnb.magics.cells import follow_cells
from distnb.magics.expressions import axes_of, expressions
from distnb.widgets.layouts.several import Several
from distnb.widgets.status.status import Status

__all__ = ["EngineMagics"]

ACTIONS = ("start", "attach", "connect", "resize", "checkpoint", "restore", "status", "stop")


@magics_class
class EngineMagics(Magics):
    """The magics that start engines and show what is there."""

    shell: Any

    @magic_arguments()
    @argument("action", nargs="?", default="status", choices=ACTIONS, help="what to do")
    @argument("what", nargs="?", default=None, help="how many (start, resize), or the folder")
    @argument("-n", type=int, default=None, help="engines to start (default: one for each core)")
    @argument("--keep", default=None, help="how long arrays outlive the notebook, as in 1h")
    @argument("--every", default=None, help="how often a checkpoint is written, as in 5min")
    @argument("--profile", default=None, help="ipyparallel profile to connect to")
    @argument("--cluster-id", default=None, help="ipyparallel cluster to connect to")
    @argument("--timeout", type=float, default=0.0, help="seconds to wait for a cluster")
    @storing("status")
    @line_magic
    @output_can_be_silenced
    def distnb(self, line: str) -> Any:
        """Start or connect to engines, go on with another number, show their status, or stop.

        Examples::

            %distnb start -n 4
            %distnb start -n 4 --keep 1h
            %distnb attach
            %distnb resize 8
            %distnb checkpoint run --every 5min
            %distnb restore run
            %distnb connect --profile mpi
            %distnb
            %distnb stop
        """
        args = parse(self.distnb, line)
        with plain_errors(f"%distnb {args.action}"):
            self._do(args)
        follow_cells(self.shell)
        session = current.active()
        others = [each for each in current.open_sessions() if each is not session]
        return deliver(self.shell, args, Status(session, others))

    def _do(self, args: Any) -> None:
        folders = ("checkpoint", "restore")
        if args.what is not None and args.action not in ("start", "resize", *folders):
            got = f"got {args.what}, expected nothing; leave it out"
            raise UsageError(f"%distnb {args.action}: {got}")
        if args.action in folders:
            self._files(args)
        elif args.action in ("start", "resize"):
            self._engines(args)
        elif args.action == "attach":
            named = attach().named
            self.shell.user_ns.update({n: x for n, x in named.items() if n.isidentifier()})
        elif args.action == "connect":
            current.connect(args.profile, args.cluster_id, timeout=args.timeout)
        elif args.action == "stop" and (session := current.active()) is not None:
            session.close()

    def _engines(self, args: Any) -> None:
        count = args.n
        if args.what is not None:
            try:
                count = int(args.what)
            except ValueError:
                raise UsageError(
                    f"%distnb {args.action}: got {args.what}, expected a number; pass 4"
                ) from None
        if args.action == "start":
            current.start(count, keep=args.keep)
        elif count is None:
            raise UsageError("%distnb resize: got no number, expected how many engines; pass 4")
        else:
            session_of("%distnb resize").resize(count)

    def _files(self, args: Any) -> None:
        if args.what is None:
            raise UsageError(f"%distnb {args.action}: got nothing, expected a folder; name one")
        if args.action == "checkpoint":
            checkpoint(args.what, every=args.every, session=session_of("%distnb checkpoint"))
            return
        found = restore(args.what)
        self.shell.user_ns.update({n: x for n, x in found.items() if n.isidentifier()})

    @magic_arguments()
    @argument("--axes", "-a", default=None, help="the axes to show, rows first, as in 0,2")
    @argument("arrays", nargs="*", help="arrays, or any expressions")
    @storing("layout")
    @line_magic
    @output_can_be_silenced
    def distlayout(self, line: str) -> Any:
        """Show who holds what of arrays.

        Several arrays are drawn to one scale, with what an elementwise operation of two of them
        would send.

        Examples::

            %distlayout A
            %distlayout A[1:-1, ::2] B.T
            %distlayout --axes 0,2 A
        """
        args = parse(self.distlayout, line)
        texts = expressions(" ".join(args.arrays))
        found = [self._placement(text) for text in texts]
        if len(found) == 1 and args.axes is None:
            return deliver(self.shell, args, found[0])
        axes = None if args.axes is None else axes_of(args.axes)
        with plain_errors("%distlayout"):
            several = Several(found, texts if len(found) > 1 else (), axes)
        return deliver(self.shell, args, several)

    def _placement(self, expression: str) -> Placement:
        try:
            found = self.shell.ev(expression)
        except NameError as error:
            raise UsageError(f"%distlayout: {error}") from error
        if isinstance(found, DistArray):
            found = found.layout
        if not isinstance(found, Placement):
            raise UsageError(
                f"%distlayout: got {type(found).__name__}, expected a distributed array; "
                "make one with distnb.asarray"
            )
        return found
