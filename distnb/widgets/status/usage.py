"""What fills the engines' memory, as text and as a small page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any
from zlib import crc32

from distnb.geometry.views import Placed
from distnb.measure.quantities import counted, duration, size_text
from distnb.widgets.drawing.bars import Bars, Fill, stacked
from distnb.widgets.drawing.page import fitting, scrolled, table_html
from distnb.widgets.drawing.showing import Showing
from distnb.widgets.drawing.text import (
    ROWS,
    aligned,
    grouped,
    layout_in_words,
    numbers,
    shorten,
    squeezed,
)

__all__ = ["MemoryReport"]

#: Arrays that are listed; the rest shares a line.
ARRAYS = 12
FILLS = (
    Fill("named arrays", "#0072B2", "", "█"),
    Fill("unnamed arrays", "#D55E00", "//", "/"),
    Fill("kept for reuse", "#E69F00", "", "="),
    Fill("other", "#CC79A7", "..", ":"),
)
_ENGINE_HEAD = ("engine", "named", "unnamed", "reuse", "other", "sum", "free on node", "of")
#: Characters of a bar in text.
_BAR = 14
#: One more, where something is on disk.
_DISK = "on disk"
_ARRAY_HEAD = ("array", "shape", "layout", "bytes", "most on one", "made by", "held by")


class MemoryReport(Showing):
    """Memory that shows itself; every attribute of ``memory_report.MemorySurvey`` is there.

    Parameters
    ----------
    memory : MemorySurvey
        What is there.
    only : sequence of str
        Names of the arrays to list; by default all.
    """

    def __init__(self, memory: Any, only: Sequence[str] = ()) -> None:
        super().__init__(memory)
        self._only = set(only)

    def __repr__(self) -> str:
        head = self._engine_head()
        engines = [(*head, ""), *((*row, bar) for row, bar in self._engine_rows(ROWS))]
        lines = aligned(engines, left=[len(head)])
        lines.append("  ".join(f"{fill.mark} {fill.name}" for fill in FILLS))
        rows = list(self._array_rows(ARRAYS))
        if rows:
            lines += ["", *aligned(squeezed([_ARRAY_HEAD, *rows], 5), left=[0, 1, 2, 5, 6])]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        return fitting(self._page(most) for most in (ARRAYS, 6, 2))

    def _page(self, most: int) -> str:
        rows = [row for row, _ in self._engine_rows(ROWS)]
        arrays = list(self._array_rows(most))
        table = table_html(_ARRAY_HEAD, arrays, (0, 1, 2, 5, 6), "arrays") if arrays else ""
        lead, *notes = reversed(self._notes())
        more = "".join(f"<p>{escape(note)}</p>" for note in notes)
        engines = table_html(self._engine_head(), rows, label="engines")
        picture = scrolled(self._svg(), "what fills the memory")
        return f'<p class="lead">{escape(lead)}</p>{picture}{engines}{table}{more}'

    def _svg(self) -> str:
        bars = [(label, parts) for label, parts, *_ in self._groups(ROWS)]
        title = f"What fills the memory of {len(self._report.engines)} engines"
        uid = f"u{crc32(repr(bars).encode()):08x}"
        return Bars(bars, FILLS, self._most(), uid).draw(title, self._report.advice)

    def _engine_head(self) -> tuple[str, ...]:
        return (*_ENGINE_HEAD, _DISK) if self._on_disk() else _ENGINE_HEAD

    def _on_disk(self) -> bool:
        return any(engine.disk for engine in self._report.engines)

    def _groups(self, most: int) -> Iterator[tuple[str, list[float], list[float]]]:
        """Yield engines in at most so many rows: label, means of the parts and of the rest."""
        for ranks in grouped(range(len(self._report.engines)), most):
            engines = [self._report.engines[r] for r in ranks]
            means = [sum(e[k] for e in engines) / len(engines) for k in range(1, 8)]
            yield numbers(ranks), means[:4], means[4:] if self._on_disk() else means[4:6]

    def _most(self) -> float:
        return max((sum(e[1:5]) for e in self._report.engines), default=1) or 1

    def _engine_rows(self, most: int) -> Iterator[tuple[tuple[str, ...], str]]:
        for label, parts, rest in self._groups(most):
            sizes = [size_text(n) for n in (*parts, sum(parts), *rest)]
            yield (label, *sizes), stacked(parts, self._most(), FILLS, _BAR)

    def _array_rows(self, most: int) -> Iterator[tuple[str, ...]]:
        held = [
            h for h in self._report.arrays if not self._only or self._only & {*h.names, *h.views}
        ]
        for h in held[:most]:
            views = [f"{name} (view)" for name in h.views]
            yield (
                shorten(", ".join((*h.names, *views)) or "(no name)", 30),
                f"{shorten(str(h.shape), 30)} {shorten(h.dtype, 12)}",
                shorten(layout_in_words(Placed.whole(h.shape, h.layout)), 80),
                size_text(h.total or sum(h.disk)),
                _DISK if h.disk else size_text(max(h.bytes, default=0)),
                shorten(h.line, 120),
                shorten(", ".join(h.referrers) or ("" if h.named else "not found"), 30),
            )
        if rest := held[most:]:
            total = size_text(sum(h.total or sum(h.disk) for h in rest))
            yield (f"and {len(rest):,} more", "", "", total, "", "", "")

    def _notes(self) -> list[str]:
        here = self._report.here
        size = size_text(sum(h.notebook for h in here))
        inside = [f"in the notebook alone: {counted(len(here), 'array')}, {size}"] if here else []
        deaths = [] if self._report.deaths is None else [_if_they_die(self._report.deaths)]
        told = [*map(_told, self._report.checkpoints), *deaths]
        return [*inside, *told, self._report.advice]


def _if_they_die(found: Any) -> str:
    """Tell what becomes of arrays if engines die."""
    made = f"arrays are made again in about {duration(found.seconds)}"
    if not found.lost:
        return f"if engines die: {made}"
    lost = shorten(", ".join(found.lost), 60)
    is_ = "is" if len(found.lost) == 1 else "are"
    return f"if engines die: {lost} {is_} lost, and other {made}; dnb.checkpoint() keeps them all"


def _told(found: Any) -> str:
    """Tell which arrays are newer than a checkpoint."""
    age = f"{max(1, found.age):.0f} s" if found.age < 120 else f"{found.age / 60:,.0f} min"
    head = f"checkpoint {Path(found.folder).name}, {age} ago:"
    if not found.names:
        return f"{head} no array is newer"
    is_ = "is" if len(found.names) == 1 else "are"
    takes = f", about {duration(found.seconds)} to write" if found.seconds else ""
    names = shorten(", ".join(found.names), 60)
    return f"{head} {names} {is_} newer, {size_text(found.nbytes)}{takes}"
