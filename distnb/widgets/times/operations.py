"""The operations of a report, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distnb.measure.events import COMPUTE, WAITING
from distnb.measure.quantities import duration, percent, size_text, three
from distnb.widgets.drawing.text import shorten
from distnb.widgets.times.account import ratio

__all__ = ["HEAD", "OWN_HEAD", "op_table", "own_table"]

HEAD = (
    "op",
    "line",
    "calls",
    "mean",
    "share",
    "balance",
    "waiting",
    "messages",
    "sent",
    "GB/s",
)


#: The columns of what the notebook did on lines.
OWN_HEAD = ("on the notebook", "time", "share", "computed")


def op_table(report: Any, most: int, width: int = 40) -> list[tuple[str, ...]]:
    """Return the most expensive operations and the sum of the rest, the head first.

    ``share`` is of the engines' time, ``balance`` mean over greatest computing time, ``waiting``
    the share of the operation's time; GB/s is what computing read and wrote on one engine.
    """
    return [HEAD, *_rows(report, most, width)]


def own_table(report: Any, most: int, width: int = 40) -> list[tuple[str, ...]]:
    """Return the lines that the notebook was seen on, the head first; nothing if on none.

    Shares are of the window.
    """
    did, whole = report.notebook, report.stages.window
    lines = sorted(did.lines, key=lambda line: -line.seconds)[:most] if did else []
    found: list[tuple[str, ...]] = [OWN_HEAD] * bool(lines)
    for line, own, computed in lines:
        numbers = duration(own), percent(ratio(own, whole)), duration(computed)
        found.append((shorten(line, width), *numbers))
    return found


def _rows(report: Any, most: int, width: int) -> Iterator[tuple[str, ...]]:
    whole = float(sum(e.now for e in report.engines))
    for op in report.ops[:most]:
        sums = [sum(column) for column in zip(*op.ranks, strict=True)] or [0] * 6
        busy, touched = sum(sums[:4]), report.touched_by.get((op.op, op.line), 0)
        yield (
            shorten(op.op, 24),
            shorten(op.line, width),
            f"{op.calls:,}",
            duration(ratio(busy, len(op.ranks)) / 1e9),
            percent(ratio(busy, whole)),
            f"{1 / op.imbalance:.2f}",
            percent(ratio(sums[WAITING], busy)),
            f"{sums[4]:,}" if sums[4] else "-",
            size_text(sums[5]) if sums[5] else "-",
            three(touched / sums[COMPUTE]) if touched and sums[COMPUTE] else "-",
        )
    if rest := report.ops[most:]:
        yield _rest(rest, whole)


def _rest(rest: Any, whole: float) -> tuple[str, ...]:
    busy = [sum(sum(rank[:4]) for rank in op.ranks) for op in rest]
    mean = sum(ratio(b, len(op.ranks)) for b, op in zip(busy, rest, strict=True))
    sent, size = (sum(rank[i] for op in rest for rank in op.ranks) for i in (4, 5))
    return (
        f"and {len(rest):,} more",
        "",
        f"{sum(op.calls for op in rest):,}",
        duration(mean / 1e9),
        percent(ratio(sum(busy), whole)),
        "",
        "",
        f"{sent:,}",
        size_text(size),
        "",
    )
