"""What it costs to move an array to another layout: from specs alone, without asking an engine."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import prod
from typing import Any

import numpy as np

from distnb.common.lazy import lazy
from distnb.geometry.layout import Layout
from distnb.geometry.views import Placed, View
from distnb.measure.events import imbalance
from distnb.measure.quantities import size_text
from distnb.plans.traffic import (
    Traffic,
    counts,
    pairs,
    traffic,
)
from distnb.widgets.drawing.page import table_html, view
from distnb.widgets.drawing.text import (
    ROWS,
    aligned,
    grouped,
    numbers,
    together,
)

__all__ = ["Cost"]

#: So many engines have a matrix of who sends to whom; of more, the totals are told.
MATRIX = 64
#: So many of them have it printed.
PRINTED = 8


class Cost:
    """What is sent when a view moves to a layout, and the memory and time that takes.

    Attributes
    ----------
    bytes, messages : int
        What engines send to each other; ``exact`` is False where ``messages`` is an upper bound.
    received, sent : numpy.ndarray
        Bytes that each engine takes and gives; ``sent`` is None where it would take too long to
        tell (sources with several copies, on many engines).
    matrix : numpy.ndarray or None
        Bytes that engine i sends to engine j, at [i, j]; None for more than 64 engines.
    extra : numpy.ndarray
        Bytes that each engine needs besides, at most, until the old part is freed: the new part,
        and messages on their way.
    seconds : float or None
        Time of the engine that has most to send and receive, at the rate of the last report in
        which enough was sent to tell; else None.
    """

    def __init__(
        self,
        placed: Placed,
        layout: Layout,
        dtype: Any,
        size: int,
        bandwidth: float | None = None,
    ) -> None:
        shape, item = placed.view.shape, np.dtype(dtype).itemsize
        self.source, self.layout, self.size = placed, layout, size
        self.target = target = Placed(shape, layout, View.whole(shape))
        found: Traffic = traffic(target, placed, size)
        self.received: np.ndarray = found.received * item
        self.sent: np.ndarray | None = None if found.sent is None else found.sent * item
        self.messages, self.exact = found.messages, found.exact
        self.bytes = int(self.received.sum())
        self.parts: np.ndarray = counts(target, size) * item
        #: The new part, and the messages that may be on their way.
        self.extra = self.parts + self.received + (0 if self.sent is None else self.sent)
        self.item = item
        busiest = self.received if self.sent is None else (self.received + self.sent) / 2
        self.seconds = float(busiest.max()) / bandwidth if bandwidth else None
        self.stays = prod(shape) * layout.copies * item - self.bytes

    @lazy
    def matrix(self) -> np.ndarray | None:
        """Return the bytes that engine i sends to engine j, at [i, j]; None for many engines."""
        if self.size > MATRIX:
            return None
        found = np.zeros((self.size, self.size), np.int64)
        for sender, receiver, n in pairs(self.target, self.source):
            found[sender, receiver] += n * self.item
        return found

    @property
    def imbalance(self) -> float:
        """Greatest over mean bytes of an engine in the new layout."""
        return imbalance(self.parts.tolist())

    def __repr__(self) -> str:
        lines = [f"{self.source.layout.spell()} -> {self.layout.spell()}", self.finding]
        if self.size <= PRINTED and self.bytes:
            lines += aligned(
                [["from \\ to", *map(str, range(self.size))], *self._matrix_rows()], []
            )
        elif self.bytes:
            rows = list(self._engine_rows())
            lines += [*aligned([_HEAD, *rows], []), *together(self.size, len(rows), "most")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same as one HTML element: tables only."""
        parts = [f"<b>{escape(self.source.layout.spell())} → {escape(self.layout.spell())}</b>"]
        parts.append(escape(self.finding))
        text = "".join(f"<p>{part}</p>" for part in parts)
        if self.size <= PRINTED and self.bytes:
            head = ("from \\ to", *map(str, range(self.size)))
            return view(text + table_html(head, self._matrix_rows(), label="what is sent"))
        if not self.bytes:
            return view(text)
        rows = list(self._engine_rows())
        notes = "".join(
            f"<p><small>{n}</small></p>" for n in together(self.size, len(rows), "most")
        )
        return view(text + table_html(_HEAD, rows, label="what is sent") + notes)

    @property
    def finding(self) -> str:
        """What matters, in one sentence."""
        after = f"; afterwards imbalance {self.imbalance:.2f}"
        if not self.bytes:
            return f"nothing is sent{after}"
        count = f"{'' if self.exact else 'at most '}{self.messages:,}"
        share = 100 * self.bytes / (self.bytes + self.stays)
        text = f"{size_text(self.bytes)} ({share:.0f} %) in {count} messages"
        if self.sent is not None:
            text += f", most from engine {_most(self.sent)}"
        text += f", most to engine {_most(self.received)}"
        text += f"; at most {size_text(int(self.extra.max()))} more memory on an engine meanwhile"
        if self.seconds is not None:
            text += f"; about {_time(self.seconds)} at the measured rate"
        return text + after

    def _matrix_rows(self) -> Iterator[list[str]]:
        for sender, row in enumerate(self.matrix.tolist() if self.matrix is not None else []):
            yield [str(sender), *(size_text(n) if n else "·" for n in row)]

    def _engine_rows(self) -> Iterator[list[str]]:
        """Yield a row for each engine; of neighbours that share one, the greatest numbers."""
        columns = (self.sent, self.received, self.extra)
        for ranks in grouped(range(self.size), ROWS):
            found = ("?" if x is None else size_text(int(x[list(ranks)].max())) for x in columns)
            yield [numbers(ranks), *found]


_HEAD = ("engine", "sends", "receives", "more memory")


def _most(values: np.ndarray) -> str:
    """Return the engine with the most, and how much."""
    rank = int(values.argmax())
    return f"{rank} ({size_text(int(values[rank]))})"


def _time(seconds: float) -> str:
    """Return a time for reading.

    >>> _time(0.0123), _time(2.5)
    ('12 ms', '2.5 s')
    """
    return f"{seconds * 1e3:.2g} ms" if seconds < 1 else f"{seconds:.2g} s"
