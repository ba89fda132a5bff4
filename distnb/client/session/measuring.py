"""The windows in which a session measures, and what their reports taught."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import perf_counter_ns

from distnb.client.session.connection import Outcome
from distnb.client.session.windows import Reading, Record, Window
from distnb.client.transport.contract import AnyTransport
from distnb.measure.events import Report, bandwidth

__all__ = ["Measuring"]


class Measuring:
    """The open windows of a session.

    Attributes
    ----------
    bandwidth : float or None
        Bytes that an engine sends in a second, as measured; None before anything was.
    reported : callable or None
        Gets each report (a dashboard sets it).
    """

    def __init__(self, transport: AnyTransport, line: Callable[[int], str]) -> None:
        self._transport = transport
        self._line = line
        #: One that nobody holds any more is forgotten.
        self.windows: weakref.WeakSet[Window] = weakref.WeakSet()
        self.bandwidth: float | None = None
        self.reported: Callable[[Report], None] | None = None

    def start(self, reading: Reading) -> Window:
        """Begin to measure."""
        window = Window(self._transport, reading)
        self.windows.add(window)
        return window

    def take(self, outcome: Outcome) -> None:
        """Take in the times of a batch."""
        sent, replies, _ = outcome
        if replies and self.windows:
            times = [r.times for r in sorted(replies, key=lambda r: r.rank)]
            record = Record(sent.commands, sent.at, perf_counter_ns(), times)
            for window in list(self.windows):
                window.take(record)

    def end(self, window: Window, reading: Reading) -> Report:
        """End measuring; return where the time went."""
        self.windows.discard(window)
        report = window.report(reading, self._line)
        self.bandwidth = bandwidth(report.engines) or self.bandwidth
        if self.reported is not None:
            self.reported(report)
        return report
