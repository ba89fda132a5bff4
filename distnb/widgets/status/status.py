"""The status of a session, as text and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from distnb.client.session.current import arrays_of
from distnb.measure.quantities import counted, size_text
from distnb.widgets.drawing.page import table_html, view
from distnb.widgets.drawing.text import shorten

__all__ = ["Status", "listing"]

_HEAD = ("rank", "process", "host", "MPI", "NumPy", "threads")


class Status:
    """A session's engines: rank, process, host, memory; and how they are reached.

    Read once, when made; nothing is asked from the engines.
    """

    def __init__(self, session: Any, others: Sequence[Any] = ()) -> None:
        #: Other sessions that are open, in a line each.
        self.others = [f"also open: {other!r}, {_arrays(other)}" for other in others]
        self.text = "no session: %distnb start, or dnb.start()"
        self.rows: list[tuple[str, ...]] = []
        if session is None:
            return
        room = session.handles.budget.room()
        left = "" if room is None else f"; room for {size_text(room)} on each"
        self.text = (
            f"{counted(session.size, 'engine')}, {session.transport.kind}; "
            f"{counted(session.batches, 'batch')} sent ({size_text(session.connection.bytes_out)})"
            f"{left}"
        )
        dead = session.size - len(session.transport.living())
        if dead:  # whose cure the error of the next use names
            self.text = f"{dead} of {session.size} engines have died; {self.text}"
        self.rows = [
            (
                *(str(a[name]) for name in ("rank", "pid", "host", "mpi")),
                f"NumPy {a['numpy']}",
                counted(a["threads"], "thread") if "threads" in a else "",
            )
            for a in session.transport.about
        ]

    def __repr__(self) -> str:
        rows = ("  rank " + "  ".join(row).rstrip() for row in self.rows)
        return "\n".join([self.text, *rows, *self.others])

    def _repr_html_(self) -> str:
        table = table_html(_HEAD, self.rows, (2, 3, 4, 5), "engines") if self.rows else ""
        more = "".join(f"<p>{escape(other)}</p>" for other in self.others)
        return view(f'<p class="lead">{escape(self.text)}</p>{table}{more}')


def listing(arrays: Sequence[Any]) -> str:
    """Return a table of arrays that have names, such as ``dnb.arrays()``."""
    made = [shorten(x.made.removeprefix("made at "), 80) for x in arrays]
    rows = [(shorten(x.name, 30), x.facts, m) for x, m in zip(arrays, made, strict=True)]
    table = table_html(("name", "array", "made at"), rows, (0, 1, 2), "arrays") if rows else ""
    return view(table or f"<p>{escape(repr(arrays))}</p>")


def _arrays(session: Any) -> str:
    return f"with {arrays_of(session)}; x.session tells whose an array is"
