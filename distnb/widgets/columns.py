"""A report as columns of numbers: what the timeline in the browser is sent of it.

All tables are float64, row by row, so that the browser reads them without parsing. Times are
nanoseconds since the window began. ``BOOKED`` are the last columns of spans and of parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from distnb.events import COMPUTE, IDLE, Report, Step, imbalance

__all__ = ["columns", "summary"]

#: What a span books: nanoseconds in the busy classes, messages and bytes sent.
BOOKED = ("compute", "waiting", "transfer", "overhead", "messages", "bytes")
#: Spans that are sent: beyond, neighbouring steps are added up.
SPANS = 8192
#: Pairs of engines that exchanged messages in a step, or waited: beyond, the heaviest are sent.
PAIRS = 8192
#: Times when no engine had a command that are sent: beyond, neighbours are added up.
GAPS = 100

Rows = Iterable[tuple[float, ...]]


def columns(report: Report, most: int = SPANS) -> dict[str, Any]:
    """Return what is drawn of a report: numbers that JSON can hold, and tables as bytes.

    Beyond ``most`` spans, ``each`` neighbouring steps are added up as one: all sums stay what they
    are, and the browser says so.
    """
    steps, engines = report.steps, report.engines
    each = max(1, -(-sum(len(step.spans) for step in steps) // most))
    names = {name: i for i, name in enumerate(dict.fromkeys(n for s in steps for n in s.names))}
    sends = _added(_table(_send_rows(steps, each), 5), 3)
    waits = _added(_table(_wait_rows(steps, each), 4), 3)
    tables = {
        "spans": _spans(steps, each),
        "parts": _parts(steps, names, each),
        "sends": _heaviest(sends),
        "waits": _heaviest(waits),
        "gaps": _gaps(report),
    }
    return {
        "wall": _window(report),
        "engines": [[*e.spent[:IDLE], e.messages, e.bytes] for e in engines],
        "commands": report.commands,
        "batches": report.batches,
        "names": [list(name) for name in names],
        "recorded": len(steps),
        "dropped": _dropped(report),
        "each": each,
        "pairs": len(sends),
        **{name: table.astype("<f8").tobytes() for name, table in tables.items()},
    }


def summary(report: Report) -> dict[str, Any]:
    """Return the numbers of the whole window, as the browser finds them for any part of it."""
    whole = _window(report)
    spent = [[*e.spent[:IDLE], whole - sum(e.spent[:IDLE])] for e in report.engines]
    compute = [e.spent[COMPUTE] for e in report.engines]
    mean = sum(compute) / len(compute) if compute else 0.0
    names = list(dict.fromkeys(n for s in report.steps for n in s.names))
    parts = _parts(report.steps, {name: i for i, name in enumerate(names)}, len(report.steps) or 1)
    return {
        "from": 0.0,
        "to": whole,
        "engines": spent,
        "messages": [e.messages for e in report.engines],
        "bytes": [e.bytes for e in report.engines],
        "balance": 1 / imbalance(compute),
        "efficiency": mean / whole if whole else 0.0,
        "dispatch": 1 - float(_gaps(report)[:, 2].sum()) / whole if whole else 1.0,
        "ops": [[*names[int(op)], *values] for _, op, *values in parts.tolist()],
    }


def _window(report: Report) -> float:
    """Return the end of everything: engines' windows may be some us longer than the notebook's."""
    ends = (span.end for step in report.steps for span in step.spans)
    return float(max(round(report.wall * 1e9), *(e.now for e in report.engines), 0, *ends))


def _dropped(report: Report) -> int:
    return getattr(report, "dropped", 0)


def _spans(steps: Sequence[Step], each: int) -> np.ndarray:
    """Return step, rank, start, end, bytes touched, and what is booked."""
    rows = (
        (i // each, rank, span.start, span.end, span.touched, *span.time)
        for i, step in enumerate(steps)
        for rank, span in enumerate(step.spans)
        if span.end > span.start or any(span.time)
    )
    return _added(_table(rows, 5 + len(BOOKED)), 2, least=(2,), greatest=(3,))


def _parts(steps: Sequence[Step], names: dict[tuple[str, str], int], each: int) -> np.ndarray:
    """Return step, operation, calls, and what is booked to it: its equal part of the step."""

    def rows() -> Iterator[tuple[float, ...]]:
        for i, step in enumerate(steps):
            total = np.reshape([span.time for span in step.spans], (-1, len(BOOKED))).sum(axis=0)
            part = (total / max(1, len(step.names))).tolist()
            yield from ((i // each, names[name], 1, *part) for name in step.names)

    return _added(_table(rows(), 3 + len(BOOKED)), 2)


def _send_rows(steps: Sequence[Step], each: int) -> Iterator[tuple[int, ...]]:
    """Yield step, sender, receiver, messages, bytes."""
    for i, step in enumerate(steps):
        for rank, span in enumerate(step.spans):
            yield from ((i // each, rank, *sent) for sent in span.sent)


def _wait_rows(steps: Sequence[Step], each: int) -> Iterator[tuple[int, ...]]:
    """Yield step, who waited, for whom, how long."""
    for i, step in enumerate(steps):
        for rank, span in enumerate(step.spans):
            yield from ((i // each, rank, *wait) for wait in span.waits)


def _gaps(report: Report) -> np.ndarray:
    """Return start, end and length of the times when no engine had a command.

    Where steps were dropped, which are the last ones, it is not known what was after the others.
    """
    spans = sorted((s.start, s.end) for step in report.steps for s in step.spans)
    last = max((end for _, end in spans), default=0) if _dropped(report) else _window(report)
    starts = np.array([start for start, _ in spans] + [last])
    ends = np.maximum.accumulate([0, *(end for _, end in spans)])
    found = np.stack([ends, starts, starts - ends], axis=1)[starts > ends].astype(float)
    groups = np.arange(len(found)) // max(1, -(-len(found) // GAPS))
    return _added(np.column_stack([groups, found]), 1, least=(1,), greatest=(2,))[:, 1:]


def _heaviest(table: np.ndarray) -> np.ndarray:
    """Return the rows with the greatest last column, as many as are sent, in their order."""
    kept = np.argsort(-table[:, -1], kind="stable")[:PAIRS]
    return table[np.sort(kept)]


def _table(rows: Rows, width: int) -> np.ndarray:
    return np.array(list(rows), np.float64).reshape(-1, width)


def _added(
    table: np.ndarray, keys: int, least: Sequence[int] = (), greatest: Sequence[int] = ()
) -> np.ndarray:
    """Add up the rows with the same ``keys`` first columns; take extremes of some other columns.

    >>> _added(np.array([[1.0, 5, 2], [0, 1, 1], [1, 3, 4]]), 1, least=(1,)).tolist()
    [[0.0, 1.0, 1.0], [1.0, 3.0, 6.0]]
    """
    table = table[np.lexsort(table[:, keys - 1 :: -1].T)]
    heads = table[:, :keys].tolist()
    first = [i for i, (a, b) in enumerate(pairwise([None, *heads])) if a != b]
    if not first:
        return table
    found = np.add.reduceat(table, first)
    found[:, :keys] = table[first, :keys]
    for extreme, which in ((np.minimum, least), (np.maximum, greatest)):
        for column in which:
            found[:, column] = extreme.reduceat(table[:, column], first)
    return found
