"""Two reports side by side: what changed, number by number and line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Change", "Comparison", "OpChange", "compare", "source"]

#: Metrics that are compared, and their units: seconds, ratios, bytes, bytes each second, counts.
METRICS = (
    ("wall", "s"),
    ("parallel_efficiency", ""),
    ("dispatch_efficiency", ""),
    ("overhead_efficiency", ""),
    ("transfer_efficiency", ""),
    ("serialisation", ""),
    ("load_balance", ""),
    ("load_balance_layout", ""),
    ("load_balance_speed", ""),
    ("pop_efficiency", ""),
    ("speedup", ""),
    ("memory_speed", ""),
    ("commands", "n"),
    ("batches", "n"),
)


class Change(NamedTuple):
    """A number of both reports; None where one of them does not know it."""

    name: str
    unit: str
    before: float | None
    after: float | None

    @property
    def delta(self) -> float | None:
        """What was added: after - before."""
        known = self.before is not None and self.after is not None
        return self.after - self.before if known else None  # type: ignore[operator]


class OpChange(NamedTuple):
    """An operation of a source line in both reports: calls, seconds (mean of engines) and bytes."""

    op: str
    line: str
    calls: tuple[int, int]
    seconds: tuple[float, float]
    bytes: tuple[int, int]

    @property
    def delta(self) -> float:
        """Seconds that were added."""
        return self.seconds[1] - self.seconds[0]


@dataclass(frozen=True)
class Comparison:
    """What changed between two reports.

    Attributes
    ----------
    metrics : tuple of Change
        Wall time, efficiencies and counts.
    classes : tuple of Change
        Seconds in each class, in the mean of the engines.
    ops : tuple of OpChange
        Operations of source lines, matched by their text; the greatest change first.
    """

    metrics: tuple[Change, ...]
    classes: tuple[Change, ...]
    ops: tuple[OpChange, ...]

    @property
    def speedup(self) -> float:
        """How many times shorter the wall time is after."""
        wall = self.metrics[0]
        return wall.before / wall.after if wall.before and wall.after else 1.0


def compare(before: Any, after: Any, classes: Sequence[str]) -> Comparison:
    """Compare two reports."""
    metrics = (Change(m, unit, getattr(before, m), getattr(after, m)) for m, unit in METRICS)
    return Comparison(tuple(metrics), tuple(_classes(before, after, classes)), _ops(before, after))


def _classes(before: Any, after: Any, classes: Sequence[str]) -> list[Change]:
    means = [r.spent.sum(axis=0) / max(1, len(r.engines)) for r in (before, after)]
    return [
        Change(name, "s", a, b)
        for name, a, b in zip(classes, *(m.tolist() for m in means), strict=True)
    ]


def _ops(before: Any, after: Any) -> tuple[OpChange, ...]:
    """Match the operations of equal source text: a cell that runs again has another number."""
    old, new = _keyed(before), _keyed(after)
    found = []
    for key in {**new, **old}:
        sides = [side.get(key) for side in (old, new)]
        op = next(o for o in reversed(sides) if o is not None)
        calls, seconds, size = zip(*map(_sums, sides), strict=True)
        found.append(OpChange(op.op, op.line, calls, seconds, size))
    return tuple(sorted(found, key=lambda change: -abs(change.delta)))


def _keyed(report: Any) -> dict[tuple[str, str, int], Any]:
    """Return operations by name, text of the line, and which of those with this text it is."""
    found: dict[tuple[str, str, int], Any] = {}
    for op in report.ops:
        text = source(op.line) or op.line
        nth = sum(key[:2] == (op.op, text) for key in found)
        found[op.op, text, nth] = op
    return found


def _sums(op: Any) -> tuple[int, float, int]:
    if op is None:
        return 0, 0.0, 0
    busy = sum(sum(rank[:4]) for rank in op.ranks)
    return op.calls, busy / max(1, len(op.ranks)) / 1e9, sum(rank.bytes for rank in op.ranks)


def source(line: str) -> str:
    """Return the text of a line without its place.

    >>> source("Cell In [3] line 2: b = a[::2]"), source("somewhere")
    ('b = a[::2]', '')
    """
    return line.partition(": ")[2]
