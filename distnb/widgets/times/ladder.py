"""The ladder of efficiencies: from the length of the window down to what engines computed."""

from __future__ import annotations

from typing import Any

from distnb.measure.events import (
    COMPUTE,
    IDLE,
    OVERHEAD,
    TRANSFER,
    WAITING,
)
from distnb.measure.quantities import duration, size_text
from distnb.widgets.drawing.bars import FRAME, paint
from distnb.widgets.drawing.markup import element, svg
from distnb.widgets.drawing.text import bar
from distnb.widgets.times.account import STYLES

__all__ = ["draw", "ladder_svg", "ladder_table", "product", "split"]

#: The class of time that a rung has most to do with; unequal work is idle or waiting elsewhere.
LOOKS = (IDLE, OVERHEAD, TRANSFER, WAITING, IDLE)
HEAD = ("rung", "efficiency", "lost", "what is lost")


def ladder_table(report: Any, bars: bool) -> list[tuple[str, ...]]:
    """Return the table of the rungs, its head first."""
    rows = [
        (
            rung.name,
            f"{rung.efficiency:.2f}",
            duration(rung.lost) + (" (most)" if rung is report.marked else ""),
            *[bar(rung.efficiency, 10)] * bars,
            rung.meaning,
        )
        for rung in report.ladder
    ]
    return [(*HEAD[:3], *[""] * bars, HEAD[3]), *rows]


def product(report: Any) -> str:
    """Return the parallel efficiency as the product that it is."""
    factors = " x ".join(f"{rung.efficiency:.2f}" for rung in report.ladder)
    return (
        f"parallel efficiency {report.parallel_efficiency:.2f} = {factors} "
        f"(mean compute / window; POP's: {report.pop_efficiency:.2f})"
    )


def split(report: Any) -> str:
    """Return the load balance by its causes, and what else is known in one number."""
    words = f"load balance {report.load_balance:.2f}"
    if report.steps:
        by = f"layout {report.load_balance_layout:.2f} x speed {report.load_balance_speed:.2f}"
        words += f" = {by}"
    words += f"; about {report.speedup:.1f} times as fast as one engine"
    if report.memory_rate is not None:
        words += f"; computing touches {size_text(report.memory_rate)}/s on each engine"
    if report.memory_speed is not None:
        words += f", {100 * report.memory_speed:.0f} % of the memory bandwidth"
    return words


# -- Pictures --------------------------------------------------------------------------------------


def ladder_svg(report: Any, uid: str) -> str:
    """Return bars that shrink from rung to rung; what is lost at each is drawn as its class.

    Hatches are those of :func:`~distnb.widgets.times.account.bars_svg` with the same ``uid``.
    """
    stages = report.stages
    if not stages.window:
        return ""
    left, width, pitch = 84, 300, 18
    scale = width / stages.window
    marks = []
    for i, rung in enumerate(report.ladder):
        above, below = round(stages[i] * scale), round(stages[i + 1] * scale)
        y, worst = 4 + pitch * i, rung is report.marked
        frame = {"stroke": "currentColor", "stroke_width": 2} if worst else {"stroke": FRAME}
        note = f", {duration(rung.lost)} lost: most" * worst
        lost = f"M{left + below} {y + 0.5}h{above - below}v13h{below - above}z"
        kept = {"stroke": STYLES[COMPUTE].colour, "stroke_width": 13}
        marks += [
            element("text", rung.name, x=left - 5, y=y + 11, text_anchor="end"),
            element("path", d=f"M{left} {y + 7}h{below}", **kept),
            element("path", d=lost, fill=paint(STYLES, LOOKS[i], uid), **frame),
            element("text", f"{rung.efficiency:.2f}{note}", x=left + above + 5, y=y + 11),
        ]
    size = (left + width + 130, pitch * 5 + 6)
    return svg("Efficiencies", report.advice, size, marks, fill="currentColor")


def draw(ax: Any, report: Any) -> None:
    """Draw the ladder on matplotlib axes."""
    stages, whole = report.stages, report.stages.window or 1.0
    for i, rung in enumerate(report.ladder):
        style, worst = STYLES[LOOKS[i]], rung is report.marked
        ax.barh(i, 100 * stages[i + 1] / whole, color=STYLES[COMPUTE].colour, height=0.7)
        ax.barh(
            i,
            100 * rung.lost / whole,
            left=100 * stages[i + 1] / whole,
            color=style.colour,
            hatch=style.hatch,
            edgecolor="0.2" if worst else FRAME,
            linewidth=1.8 if worst else 0.6,
            height=0.7,
        )
        text = f"{rung.efficiency:.2f}" + f", {duration(rung.lost)} lost" * worst
        ax.text(100 * stages[i] / whole + 1, i, text, va="center", size=8)
    ax.set_yticks(range(5), [rung.name for rung in report.ladder])
    ax.set_ylim(4.6, -0.6)
    ax.set_xlim(0, 125)
    ax.set_xticks(range(0, 101, 20))
    ax.set_xlabel("% of the window")
