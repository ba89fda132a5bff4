"""``%%distscale``: a cell on 1, 2, 4 ... engines."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.utils.capture import capture_output

from distnb.client.array.distarray import DistArray
from distnb.client.reports.scaling import Run, Scaling, run_of
from distnb.client.reports.subset_copies import SubsetCopies, names_in
from distnb.client.session import current
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.magics.arguments import (
    deliver,
    parse,
    plain_errors,
    session_of,
    storing,
)
from distnb.magics.cells import nested, no_code, raise_of
from distnb.widgets.times.scaling import ScalingReport

__all__ = ["ScaleMagics"]


def counts(text: str) -> list[int]:
    """Return numbers of engines."""
    try:
        found = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected numbers such as 1,2,4") from None
    if found[0] < 1:
        raise argparse.ArgumentTypeError(f"got {found[0]}, expected numbers of at least 1")
    return found


def times(text: str) -> int:
    """Return how often to repeat."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number of at least 1")
    return int(text)


def doubling(size: int) -> list[int]:
    """Return 1, 2, 4 ... and the number of engines itself.

    >>> doubling(6)
    [1, 2, 4, 6]
    """
    return sorted({size, *(1 << k for k in range(size.bit_length()))})


@magics_class
class ScaleMagics(Magics):
    """The magic that measures how a cell scales."""

    shell: Any

    @magic_arguments()
    @argument(
        "--engines", type=counts, default=None, help="how many, as in 1,2,4 (default: doubled)"
    )
    @argument("--repeat", type=times, default=3, help="runs on each number; the fastest counts")
    @storing("report")
    @cell_magic
    @no_var_expand
    @output_can_be_silenced
    def distscale(self, line: str, cell: str) -> Any:
        """Run a cell on 1, 2, 4 ... of the engines: speed-up, efficiency, and what is lost by what.

        Every run begins with the same arrays: copies of those that the cell uses, by name, in
        lists, tuples and dicts, and by way of functions defined in the notebook. They lie on the
        first engines as they lie on all. What the cell makes or changes under a name is dropped
        after each run, as %timeit does; what it prints is shown once. Objects other than arrays,
        lists, tuples, dicts and generators of random numbers are not copied: do not change them.
        Where dnb.config.place is "auto", engines do what they can, as with "engines": steps that
        the notebook would do itself say nothing about engines.

        Examples::

            %%distscale --engines 1,2,4 -o scaling
            B = A[1:] - A[:-1]
            float(B.sum())
        """
        args = parse(self.distscale, line)
        try:
            self._code(cell)
        except SyntaxError as error:
            raise no_code(self.shell, error) from None
        session = session_of("%%distscale", self._arrays(cell))
        numbers = args.engines or doubling(session.size)
        if numbers[-1] > session.size:
            raise UsageError(
                f"%%distscale: got {numbers[-1]} engines, expected at most {session.size}"
            )
        session.flush()
        runs, shown = [], None
        with _on_engines(), session.journal.paused():  # nobody can make the copies cheaper
            for n in numbers:
                run, shown = self._fastest(session, n, args.repeat, cell)
                runs.append(run)
            session.flush()  # what the copies leave to do
        if shown is not None:
            shown.show()
        return deliver(self.shell, args, ScalingReport(Scaling(tuple(runs))))

    def _code(self, cell: str) -> CodeType:
        text = self.shell.transform_cell(cell)
        return compile(text, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    def _arrays(self, cell: str) -> list[DistArray]:
        """Return the arrays that a cell uses by name; those of closed sessions it may assign."""
        space = self.shell.user_ns
        with suppress(SyntaxError):  # the cell itself will say so
            found = [space[name] for name in sorted(names_in(self._code(cell), space))]
            return [x for x in found if isinstance(x, DistArray) and not x.session.closed]
        return []

    def _fastest(self, session: Session, n: int, repeat: int, cell: str) -> tuple[Run, Any]:
        """Return the fastest run of a cell on some engines, and what the last one printed."""
        with plain_errors("%%distscale"):
            target = current.subset(n, session)
        with target:
            found = [self._run(session, target, cell) for _ in range(repeat)]
        return min((run for run, _ in found), key=lambda run: run.seconds), found[-1][1]

    def _run(self, session: Session, target: Session, cell: str) -> tuple[Run, Any]:
        space = self.shell.user_ns
        with _copied(space, names_in(self._code(cell), space), SubsetCopies(session, target)):
            target.flush()
            before = session.recorded
            window = target.start_window()
            with nested(self.shell), capture_output() as shown:
                result = self.shell.run_cell(cell, silent=True)
            if not result.success:
                shown.show()
                raise_of(self.shell, result)
            target.flush()
            run = run_of(target.end_window(window))
        if session.recorded != before:
            raise UsageError(
                "%%distscale: got arrays that no name, list, tuple or dict holds, expected "
                "arrays that can be copied; give them names"
            )
        return run, shown


@contextmanager
def _on_engines() -> Iterator[None]:
    """Let engines do what they can, if nobody has said who is to compute."""
    before = config.place
    if before == "auto":
        config.place = "engines"
    try:
        yield
    finally:
        config.place = before


@contextmanager
def _copied(space: dict[str, Any], names: set[str], copies: SubsetCopies) -> Iterator[None]:
    """Put copies under names of a namespace, and restore all of it afterwards."""
    before = dict(space)
    try:
        space.update({name: copies.of(before[name]) for name in names})
        yield
    finally:
        for name in set(space) - set(before):
            del space[name]
        space.update(before)
