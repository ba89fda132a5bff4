"""A report as a trace in Chrome's event format, which Perfetto (ui.perfetto.dev) opens.

Each engine is a process, each span a slice, with its account as arguments; messages are arrows from
the start of the span that sent them to the end of the span of the same step that they came to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distnb.measure.events import CLASSES
from distnb.measure.metrics import label

__all__ = ["trace"]


def trace(report: Any) -> dict[str, Any]:
    """Return the trace as a dictionary for ``json``."""
    return {
        "traceEvents": [*_processes(report), *_slices(report), *_arrows(report)],
        "displayTimeUnit": "ms",
        "otherData": {
            "wall": report.wall,
            "commands": report.commands,
            "batches": report.batches,
            "advice": report.advice,
            "accounts": [dict(zip(CLASSES, e.spent, strict=True)) for e in report.engines],
            "ladder": {rung.name: rung.efficiency for rung in report.ladder},
        },
    }


def _processes(report: Any) -> Iterator[dict[str, Any]]:
    for rank in range(len(report.engines)):
        named = {"ph": "M", "pid": rank, "tid": 0}
        yield {**named, "name": "process_name", "args": {"name": f"engine {rank}"}}
        yield {**named, "name": "process_sort_index", "args": {"sort_index": rank}}


def _slices(report: Any) -> Iterator[dict[str, Any]]:
    for step in report.steps:
        op, line = label(step.names)
        for rank, span in enumerate(step.spans):
            if span.end > span.start:
                yield {
                    "ph": "X",
                    "name": op,
                    "cat": "step",
                    "pid": rank,
                    "tid": 0,
                    "ts": span.start / 1e3,
                    "dur": (span.end - span.start) / 1e3,
                    "args": {"line": line, **_details(span)},
                }


def _details(span: Any) -> dict[str, Any]:
    """Return the account of a span in ms, and what it waited for."""
    times = {f"{name} ms": ns / 1e6 for name, ns in zip(CLASSES, span.time[:4], strict=False)}
    waited = {f"waited for engine {j} ms": ns / 1e6 for j, ns in span.waits}
    return {**times, **waited, "bytes touched": span.touched, "bytes sent": span.time.bytes}


def _arrows(report: Any) -> Iterator[dict[str, Any]]:
    """Yield a start and an end for each pair of ranks that a step sends between."""
    number = 0
    for step in report.steps:
        for rank, span in enumerate(step.spans):
            for other, messages, size in span.sent:
                to = step.spans[other]
                if span.end <= span.start or to.end <= max(to.start, span.start):
                    continue
                number += 1
                what = {"name": "message", "cat": "message", "id": number, "tid": 0}
                args = {"messages": messages, "bytes": size}
                sent = {"ph": "s", "pid": rank, "ts": span.start / 1e3}
                came = {"ph": "f", "bp": "e", "pid": other, "ts": (to.end - 1) / 1e3}
                yield {**what, **sent, "args": args}
                yield {**what, **came, "args": args}
