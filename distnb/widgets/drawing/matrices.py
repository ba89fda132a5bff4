"""Between engines: who waits for whom, and who sends how much to whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.measure.quantities import duration, size_text
from distnb.widgets.drawing.text import shorten

__all__ = ["Pairs", "draw", "late_table", "pairs"]

#: Up to so many engines are shown as a matrix; of more, the worst pairs.
SMALL = 8
WORST = 6


class Pairs:
    """A number for each pair of engines, with words around it."""

    def __init__(
        self, title: str, found: np.ndarray, spell: Any, worst: str, gathered: Any = None
    ) -> None:
        self.title = title
        #: What engines sent to the notebook: a column of its own.
        self.gathered = gathered if gathered is not None and gathered.any() else None
        self.found = found
        self.spell = spell
        self._worst = worst

    def table(self, small: int = SMALL, most: int = WORST) -> list[tuple[str, ...]]:
        """Return a matrix of few engines, or the pairs with the greatest numbers; head first."""
        n, found, others = len(self.found), self.found, [*map(str, range(len(self.found)))]
        if self.gathered is not None:
            found, others = np.column_stack([found, self.gathered]), [*others, "notebook"]
        if n <= small:
            rows = [
                (str(i), *map(self._entry, row), self._entry(row.sum()))
                for i, row in enumerate(found)
            ]
            total = ("sum", *map(self._entry, found.sum(axis=0)), self._entry(found.sum()))
            return [("engine", *others, "sum"), *rows, total]
        order = np.argsort(-found, axis=None, kind="stable")[:most]
        pairs = [divmod(int(k), len(others)) for k in order if found.flat[k]]
        shown = sum(found[p] for p in pairs)
        rest = ("and", "all others", self._entry(found.sum() - shown))
        return [
            ("engine", self._worst, "much"),
            *((str(i), others[j], self._entry(found[i, j])) for i, j in pairs),
            rest,
        ]

    def _entry(self, value: float) -> str:
        return self.spell(value) if value else "-"


def pairs(report: Any) -> list[Pairs]:
    """Return the matrices of a report that are not empty."""
    found = [
        Pairs(
            "waiting: the engine of the row waited for that of the column",
            report.waits,
            duration,
            "waited for",
        ),
        Pairs(
            "sent: the engine of the row to that of the column",
            report.sent,
            size_text,
            "sent to",
            report.gathered,
        ),
    ]
    return [each for each in found if each.found.any() or each.gathered is not None]


def late_table(report: Any, most: int, width: int = 40) -> list[tuple[str, ...]]:
    """Return who was waited for longest, and what that engine was doing; head first."""
    rows = (
        (str(d.engine), shorten(d.op, 24), shorten(d.line, width), duration(d.seconds))
        for d in report.delays[:most]
    )
    return [("waited for", "while it was at", "line", "in all"), *rows]


def draw(ax: Any, each: Pairs) -> None:
    """Draw a matrix on matplotlib axes, with numbers in it where these fit."""
    n, top = len(each.found), float(each.found.max()) or 1.0
    ax.imshow(each.found, cmap="Blues", vmin=0, vmax=top)
    if n <= SMALL:
        for (i, j), value in np.ndenumerate(each.found):
            colour = "white" if value > 0.6 * top else "black"
            ax.text(
                j,
                i,
                each.spell(value) if value else "-",
                ha="center",
                va="center",
                size=7,
                color=colour,
            )
    ax.set_title(each.title.replace(": ", ":\n"), fontsize=8, loc="left")
    ax.set_xticks(range(0, n, -(-n // 16)))
    ax.set_yticks(range(0, n, -(-n // 16)))
