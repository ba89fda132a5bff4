"""A report as columns of numbers: what the timeline in the browser is sent of it.

All tables are float64, row by row, so that the browser reads them without parsing. Times are
nanoseconds since the window began. ``BOOKED`` are the last columns of spans and of parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from distnb.measure.events import (
    COMPUTE,
    IDLE,
    Report,
    Step,
    imbalance,
)

__all__ = ["columns", "summary"]

#: What a span books: nanoseconds in the busy classes; messages, and bytes that others got: sent, or
#: read in place.
BOOKED = ("compute", "waiting", "transfer", "overhead", "messages", "bytes")
#: Columns of spans before these.
_KEYS = 7
#: Spans that are sent: beyond, neighbouring steps are added up.
SPANS = 8192
#: Pairs of engines that exchanged messages in a step, or waited: beyond, the heaviest are sent.
PAIRS = 8192
#: Times when no engine had a command that are sent: beyond, neighbours are added up.
GAPS = 100


def columns(report: Report, most: int = SPANS) -> dict[str, Any]:
    """Return what is drawn of a report: numbers that JSON can hold, and tables as bytes.

    Beyond ``most`` spans, ``each`` neighbouring steps are added up as one: all sums stay what they
    are, and the browser says so.
    """
    steps, spans, names = report.steps, _spans(report.steps), _names(report.steps)
    each = max(1, -(-sum(len(step.spans) for step in steps) // most))
    sends = _added(_together(_sends(steps), each), 3)
    tables = {
        "spans": _added(_together(spans, each), 2, least=(2,), greatest=(3,)),
        "parts": _added(_together(_parts(steps, spans, names), each), 2),
        "sends": _heaviest(sends),
        "waits": _heaviest(_added(_together(_waits(steps), each), 3)),
        "gaps": _gaps(report, spans),
    }
    return {
        "wall": _window(report, spans),
        "engines": [[*e.spent[:IDLE], e.messages, _bytes(e.sent)] for e in report.engines],
        "commands": report.commands,
        "batches": report.batches,
        "names": [list(name) for name in names],
        "recorded": len(steps),
        "dropped": report.dropped,
        "each": each,
        "pairs": len(sends),
        **{name: table.astype("<f8").tobytes() for name, table in tables.items()},
    }


def summary(report: Report) -> dict[str, Any]:
    """Return the numbers of the whole window, as the browser finds them for any part of it."""
    spans, names = _spans(report.steps), _names(report.steps)
    whole = _window(report, spans)
    compute = [e.spent[COMPUTE] for e in report.engines]
    mean = sum(compute) / len(compute) if compute else 0.0
    parts = _added(_together(_parts(report.steps, spans, names), len(report.steps) or 1), 2)
    found = list(names)
    return {
        "from": 0.0,
        "to": whole,
        "engines": [[*e.spent[:IDLE], whole - sum(e.spent[:IDLE])] for e in report.engines],
        "messages": [e.messages for e in report.engines],
        "bytes": [_bytes(e.sent) for e in report.engines],
        "balance": 1 / imbalance(compute),
        "efficiency": mean / whole if whole else 0.0,
        "dispatch": 1 - float(_gaps(report, spans)[:, 2].sum()) / whole if whole else 1.0,
        "ops": [[*found[int(op)], *values] for _, op, *values in parts.tolist()],
    }


def _bytes(sent: Iterable[tuple[int, int, int]]) -> int:
    return sum(size for _, _, size in sent)


def _names(steps: Sequence[Step]) -> dict[tuple[str, str], int]:
    """Return numbers for the operations and their lines, in order."""
    found = dict.fromkeys(name for step in steps for name in step.names)
    return {name: i for i, name in enumerate(found)}


def _spans(steps: Sequence[Step]) -> np.ndarray:
    """Return step, rank, start, end, bytes touched, elements held, of how many; what is booked."""
    rows = (
        (i, rank, *span[:2], span.touched, held, whole, *span.time[:5], _bytes(span.sent))
        for i, step in enumerate(steps)
        for whole in (sum(step.held),)
        for rank, (span, held) in enumerate(zip(step.spans, _held(step), strict=True))
    )
    table = _table(rows, _KEYS + len(BOOKED))
    return table[(table[:, 3] > table[:, 2]) | table[:, _KEYS:].any(axis=1)]


def _held(step: Step) -> Sequence[int]:
    return step.held or (0,) * len(step.spans)


def _parts(
    steps: Sequence[Step], spans: np.ndarray, names: dict[tuple[str, str], int]
) -> np.ndarray:
    """Return step, operation, calls, and what is booked to it: its equal part of the step."""
    totals = np.zeros((len(steps), len(BOOKED)))
    np.add.at(totals, spans[:, 0].astype(int), spans[:, _KEYS:])
    rows = (
        (i, names[name], len(step.names)) for i, step in enumerate(steps) for name in step.names
    )
    table = _table(rows, 3)
    shared = totals[table[:, 0].astype(int)] / table[:, 2:]
    return np.column_stack([table[:, :2], np.ones(len(table)), shared])


def _sends(steps: Sequence[Step]) -> np.ndarray:
    """Return step, sender, receiver, messages, bytes."""
    rows = (
        (i, rank, *sent)
        for i, step in enumerate(steps)
        for rank, span in enumerate(step.spans)
        for sent in span.sent
    )
    return _table(rows, 5)


def _waits(steps: Sequence[Step]) -> np.ndarray:
    """Return step, who waited, for whom, how long."""
    rows = (
        (i, rank, *wait)
        for i, step in enumerate(steps)
        for rank, span in enumerate(step.spans)
        for wait in span.waits
    )
    return _table(rows, 4)


def _window(report: Report, spans: np.ndarray) -> float:
    """Return the end of everything: engines' windows may be some us longer than the notebook's."""
    ends = [round(report.wall * 1e9), *(e.now for e in report.engines)]
    return float(max(*ends, 0, spans[:, 3].max(initial=0)))


def _gaps(report: Report, spans: np.ndarray) -> np.ndarray:
    """Return start, end and length of the times when no engine had a command.

    And what the notebook did then: how long it computed, and how long arrays went to disk and back.
    Where steps were dropped, which are the last ones, it is not known what was after the others.
    """
    spans = spans[np.argsort(spans[:, 2], kind="stable")]
    ends = np.maximum.accumulate(np.append(0, spans[:, 3]))
    starts = np.append(spans[:, 2], ends[-1] if report.dropped else _window(report, spans))
    ends, starts = ends[starts > ends], starts[starts > ends]
    did = np.zeros((len(ends), 2))
    if report.notebook is not None:
        did = report.notebook.until(starts) - report.notebook.until(ends)
    found = np.column_stack([ends, starts, starts - ends, did])
    groups = np.arange(len(found)) // max(1, -(-len(found) // GAPS))
    return _added(np.column_stack([groups, found]), 1, least=(1,), greatest=(2,))[:, 1:]


def _heaviest(table: np.ndarray) -> np.ndarray:
    """Return the rows with the greatest last column, as many as are sent, in their order."""
    kept = np.argsort(-table[:, -1], kind="stable")[:PAIRS]
    return table[np.sort(kept)]


def _table(rows: Iterable[tuple[float, ...]], width: int) -> np.ndarray:
    return np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, width)


def _together(table: np.ndarray, each: int) -> np.ndarray:
    """Give ``each`` neighbouring steps the same number."""
    return np.column_stack([table[:, 0] // each, table[:, 1:]])


def _added(
    table: np.ndarray, keys: int, least: Sequence[int] = (), greatest: Sequence[int] = ()
) -> np.ndarray:
    """Add up the rows with the same ``keys`` first columns; take extremes of some other columns.

    >>> _added(np.array([[1.0, 5, 2], [0, 1, 1], [1, 3, 4]]), 1, least=(1,)).tolist()
    [[0.0, 1.0, 1.0], [1.0, 3.0, 6.0]]
    """
    if not len(table):
        return table
    table = table[np.lexsort(table[:, keys - 1 :: -1].T)]
    new = (np.diff(table[:, :keys], axis=0) != 0).any(axis=1)
    first = np.flatnonzero(np.append(True, new))
    found = np.add.reduceat(table, first)
    found[:, :keys] = table[first, :keys]
    for extreme, which in ((np.minimum, least), (np.maximum, greatest)):
        for column in which:
            found[:, column] = extreme.reduceat(table[:, column], first)
    return found
