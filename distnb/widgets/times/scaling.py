"""How a computation scales, as text, as a small page with an SVG, and as a plot."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any
from zlib import crc32

import numpy as np

from distnb.common.errors import explain, quoted
from distnb.measure.events import CLASSES
from distnb.measure.quantities import duration, percent
from distnb.widgets.drawing.bars import Bars, Fill, draw, stacked
from distnb.widgets.drawing.markup import brief, element, svg
from distnb.widgets.drawing.page import fitting, flow, folded, scrolled, table_html
from distnb.widgets.drawing.plots import check_axes
from distnb.widgets.drawing.showing import Showing
from distnb.widgets.drawing.text import aligned, shorten
from distnb.widgets.times.account import STYLES

__all__ = ["ScalingReport"]

#: What a class of time is called where it is a loss.
_LOSSES = ("more computing", *CLASSES[1:])
_HEAD = ("engines", "time", "speed-up", "efficiency", *_LOSSES)

#: Share of the engines' time below which what they did says nothing of the run.
WORKED = 0.02
_ALONE = (
    "engines worked for {} of the time: the notebook did the rest, so there is nothing to scale; "
    "arrays above dnb.config.cutoff are computed on engines"
)


def _fills() -> tuple[Fill, ...]:
    """Return the efficiency that is left, and what is lost, as the report of time colours it."""
    kept, computing = ("efficiency", "#009E73", "", "█"), (_LOSSES[0], "#56B4E9", "", "▒")
    return Fill(*kept), Fill(*computing), *STYLES[1:]


class ScalingReport(Showing):
    """Runs on several numbers of engines; all of ``scaling.Scaling`` is there.

    ``report.plot()`` draws them with matplotlib.
    """

    @property
    def finding(self) -> str:
        """What takes most from the efficiency on the most engines, in a sentence."""
        found, efficiency = self._report, self._report.efficiency[-1]
        if found.worked < WORKED:
            return _ALONE.format(percent(found.worked))
        head = f"on {found.engines[-1]} engines {found.speedup[-1]:.2f} times as fast as on "
        head += f"{found.engines[0]}, efficiency {percent(efficiency)}"
        if len(found.runs) > 1 and efficiency >= 1:  # what is lost is less than what is won
            return f"{head}; nothing is lost"
        losses = found.losses[-1]
        worst = max(range(len(losses)), key=losses.__getitem__)
        if len(found.runs) == 1 or losses[worst] < 0.01:
            return head
        return f"{head}; most is lost by {_LOSSES[worst]} ({percent(losses[worst])})"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        found = self._report
        for run, fast, share, lost in zip(
            found.runs, found.speedup, found.efficiency, found.losses, strict=True
        ):
            losses = map(percent, lost)
            yield (
                str(run.engines),
                duration(run.seconds),
                f"{fast:.2f}",
                percent(share),
                *losses,
            )

    def _bars(self) -> list[tuple[str, tuple[float, ...]]]:
        found = self._report
        pairs = zip(found.engines, found.efficiency, found.losses, strict=True)
        return [(str(n), (share, *lost)) for n, share, lost in pairs]

    def _whole(self) -> float:
        return max(1.0, *(sum(max(0.0, x) for x in parts) for _, parts in self._bars()))

    def __repr__(self) -> str:
        fills = _fills()
        bars = [stacked(parts, self._whole(), fills) for _, parts in self._bars()]
        rows = [(*row, bar) for row, bar in zip(self._rows(), bars, strict=True)]
        legend = "  ".join(f"{fill.mark} {fill.name}" for fill in fills)
        table = aligned([(*_HEAD, ""), *rows], left=[len(_HEAD)])
        factors = aligned(self._factors(), left=[0])
        return "\n".join([self.finding, "", *table, legend, "", *factors])

    def _factors(self) -> list[tuple[str, ...]]:
        """Return the table of factors: the rungs of the ladder, and how computing scales."""
        found = self._report
        rows = [*found.rungs, ("computing as on the fewest", found.computing)]
        head = ("factors", *(f"{n} engine{'s' * (n != 1)}" for n in found.engines))
        return [head, *((name, *(f"{x:.3f}" for x in values)) for name, values in rows)]

    def _repr_html_(self) -> str:
        return fitting([self._page()])

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        head, *rows = self._factors()
        return head, rows

    def _page(self) -> str:
        title = f"Efficiency, and what is lost: {', '.join(map(str, self._report.engines))} engines"
        uid = crc32(repr(self._bars()).encode())
        bars = Bars(self._bars(), _fills(), self._whole(), f"s{uid:08x}").draw(title, self.finding)
        note = "efficiency and losses are shares of the time of all engines; they add up to 100 %"
        return (
            f'<p class="lead"><b>{escape(shorten(self.finding, 300))}</b></p>'
            f"{flow(_curve(self._report, self.finding), scrolled(bars, title))}"
            f"{table_html(_HEAD, self._rows(), label='runs')}<p><small>{note}</small></p>"
            + folded("factors of the efficiency", table_html(*self._table(), left=[0]))
        )

    def plot(self, axes: Any = None) -> Any:
        """Draw speed-up and losses with matplotlib; returns the two axes."""
        from matplotlib import pyplot

        if axes is None:
            _, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
        elif np.shape(axes) != (2,):
            do = "pass those of plt.subplots(1, 2), or none"
            raise TypeError(explain("axes", quoted(axes), "two matplotlib axes", do))
        left, right = map(check_axes, axes)
        engines = self._report.engines
        ideal = [n / engines[0] for n in engines]
        left.plot(engines, ideal, "--", color="0.5", label="ideal")
        left.plot(engines, self._report.speedup, "o-", color="#0072B2", label="speed-up")
        left.set(xlabel="engines", ylabel="speed-up", xticks=engines, ylim=(0, None))
        left.legend(frameon=False)
        _draw_losses(right, self._bars())
        return axes


def _draw_losses(ax: Any, rows: list[tuple[str, tuple[float, ...]]]) -> None:
    draw(ax, rows, _fills())
    ax.set(xlabel="share of the engines' time", ylabel="engines")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)


def _curve(scaling: Any, finding: str) -> str:
    """Return speed-up over engines, with the line of the ideal."""
    left, top, width, height = 34, 14, 200, 140
    most = max(scaling.engines)
    tall = max(most / scaling.engines[0], *scaling.speedup)

    def at(n: float, s: float) -> str:
        return f"{brief(left + n / most * width)} {brief(top + (1 - s / tall) * height)}"

    pairs = list(zip(scaling.engines, scaling.speedup, strict=True))
    line = "L".join(at(n, s) for n, s in pairs)
    ideal = "L".join(at(n, n / scaling.engines[0]) for n in (scaling.engines[0], most))
    frame = f"M{left} {top}v{height}h{width}"
    marks = [
        element("path", d=frame, fill="none", stroke="currentColor"),
        element("path", d=f"M{ideal}", stroke="#999", stroke_dasharray="4 3", fill="none"),
        element("path", d=f"M{line}", stroke="#0072B2", stroke_width=2, fill="none"),
    ]
    for n, s in pairs:
        x, y = at(n, s).split()
        above, below = brief(float(y) - 6), top + height + 12
        marks += [
            element("circle", cx=x, cy=y, r=3, fill="#0072B2"),
            element("text", f"{s:.2f}", x=x, y=above, text_anchor="end"),
            element("text", f"{n}", x=x, y=below, text_anchor="middle"),
        ]
    marks += [
        element("text", "engines", x=left + width, y=top + height + 24, text_anchor="end"),
        element("text", "speed-up", x=left, y=top - 4, text_anchor="middle"),
    ]
    size = (left + width + 12, top + height + 28)
    return svg("Speed-up over engines", finding, size, marks, fill="currentColor")
