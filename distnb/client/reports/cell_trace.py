"""A cell as the rules of the doctor see it: its commands, what they took, where operands lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.session.journal import OURS, Cell
from distnb.geometry.views import Placed
from distnb.measure.events import TRANSFER, WAITING
from distnb.plans.forecast import Spec
from distnb.plans.traffic import traffic
from distnb.wire.protocol import Command, Create, Operand

__all__ = ["Act", "CellTrace", "Diagnosis", "Finding"]


class Finding(NamedTuple):
    """Something that could be cheaper.

    Attributes
    ----------
    kind : str
        A few words for what it is.
    line : str
        Where.
    calls : int
        How often in the cell.
    seconds : float
        What it took.
    bytes : int
        What engines sent each other, or the notebook, for it.
    what : str
        What was seen, in a sentence.
    instead : str
        The cheaper way, as code.
    """

    kind: str
    line: str
    calls: int
    seconds: float
    bytes: int
    what: str
    instead: str


class Diagnosis(NamedTuple):
    """What was found in a cell, the costliest first.

    ``seconds`` is how long the cell took, ``commands`` how many were looked at, and ``left`` how
    many were too many to be kept. ``first`` is the line of the first of them; ``older`` tells that
    cells after this one asked engines for nothing.
    """

    findings: tuple[Finding, ...]
    seconds: float
    commands: int
    left: int
    first: str = ""
    older: bool = False


class Act(NamedTuple):
    """A command, its line and batch, and what it took: seconds by class (mean of the engines)."""

    command: Command
    line: str
    batch: int
    spent: Sequence[float]
    bytes: int
    #: Its share of the time that the notebook may have waited for the batch.
    seconds: float

    @property
    def busy(self) -> float:
        """Seconds of an engine."""
        return sum(self.spent)

    @property
    def blocked(self) -> float:
        """Seconds in which an engine waited or moved bytes."""
        return self.spent[WAITING] + self.spent[TRANSFER]


class CellTrace:
    """A cell as the rules see it."""

    def __init__(
        self, cell: Cell, line: Callable[[int], str], names: Mapping[int, str], size: int
    ) -> None:
        self.size = size
        self.specs: dict[int, Spec] = dict(cell.specs)
        self.acts = list(_acts(cell, line))
        self.freed = {handle for batch in cell.batches for handle in batch.freed}
        self._names = names
        self._moved: dict[tuple[Placed, Placed], int] = {}
        self._follows: dict[int, int] = {}
        for act in self.acts:
            if isinstance(act.command, Create):
                c = act.command
                self.specs[c.base] = Spec(c.shape, np.dtype(c.dtype), c.layout)
            else:
                self._note(act.command)

    def _note(self, command: Command) -> None:
        """Note which operand the results of a command follow: the largest one."""
        ins = [x for x in getattr(command, "ins", ()) if type(x) is Operand]
        if ins:
            leader = max(ins, key=lambda x: prod(x.view.shape))  # the first of equals
            for base in command.writes:
                self._follows.setdefault(base, leader.base)

    def origin(self, handle: int) -> int:
        """Return the base with a name that a result without one follows, or the result."""
        found, seen = handle, {handle}
        while found not in self._names and self._follows.get(found, found) not in seen:
            found = self._follows[found]
            seen.add(found)
        return found if found in self._names else handle

    def name(self, handle: int, otherwise: str = "x") -> str:
        """Return what the notebook calls a base."""
        return self._names.get(handle, otherwise)

    def placed(self, operand: Operand) -> Placed | None:
        """Return where an operand lies; None if that is not known any more."""
        spec = self.specs.get(operand.base)
        return None if spec is None else Placed(spec[0], spec[2], operand.view)

    def nbytes(self, operand: Operand) -> int:
        """Return the bytes of an operand."""
        spec = self.specs.get(operand.base)
        return 0 if spec is None else prod(operand.view.shape) * spec[1].itemsize

    def nbytes_of_base(self, operand: Operand) -> int:
        """Return the bytes of the array of which an operand is a part, or all."""
        spec = self.specs.get(operand.base)
        return 0 if spec is None else prod(spec[0]) * spec[1].itemsize

    def is_part(self, operand: Operand) -> bool:
        """Tell whether an operand is a part of a larger base."""
        spec = self.specs.get(operand.base)
        return spec is not None and prod(operand.view.shape) < prod(spec[0])

    def is_one_of_many(self, x: Any) -> bool:
        """Tell whether an operand is one element of a larger base."""
        if type(x) is not Operand or prod(x.view.shape) != 1 or x.base not in self.specs:
            return False
        return prod(self.specs[x.base][0]) > 1

    def moved(self, out: Operand, operand: Operand) -> int:
        """Return how many elements of an operand travel to where an output lies."""
        target, source = self.placed(out), self.placed(operand)
        if target is None or source is None:
            return 0
        found = self._moved.get((target, source))
        if found is None:
            found = self._moved[target, source] = int(traffic(target, source, self.size)[0].sum())
        return found

    def by_line(self, acts: Iterable[Act]) -> dict[str, list[Act]]:
        """Return acts under their lines."""
        found = defaultdict(list)
        for act in acts:
            found[act.line].append(act)
        return found


def _acts(cell: Cell, line: Callable[[int], str]) -> Iterator[Act]:
    """Yield the user's commands of a cell."""
    lines: dict[int, str] = {}
    for k, batch in enumerate(cell.batches):
        n = len(batch.commands)
        rows = sum((t.rows(n)[:n] for t in batch.times), np.zeros((n, 6)))
        spent = (rows[:, :4] / (1e9 * max(1, len(batch.times)))).tolist()
        for i, command in enumerate(batch.commands):
            if isinstance(command, OURS):
                continue
            site: int = getattr(command, "site", 0)
            if site not in lines:
                lines[site] = line(site)
            share = batch.seconds / n
            yield Act(command, lines[site], k, spent[i], int(rows[i, 5]), share)
