"""A sparse array at a glance, and who holds how much of it, as bars."""

from __future__ import annotations

from html import escape
from typing import Any, Protocol

from distnb.widgets.drawing.bars import Bars, Fill
from distnb.widgets.drawing.page import fitting, flow, folded, table_html
from distnb.widgets.drawing.plots import check_axes
from distnb.widgets.drawing.text import ROWS, grouped, numbers, together
from distnb.widgets.layouts.layout_svg import OPACITY, TINTS
from distnb.widgets.layouts.layout_view import ink

__all__ = ["plot_sparse", "sparse_card"]

#: What an engine stores.
_FILLS = (Fill("stored elements of each engine", "#0072B2", "", "█", "white"),)

#: More engines than these are not written at one by one.
_WRITTEN = 16
#: Below this imbalance, which is written as 1.00, nobody holds most.
_EVEN = 1.005


class Shares(Protocol):
    """What is drawn (``client.sparse.structure.SparseLayout``)."""

    @property
    def holdings(self) -> tuple[str, ...]:
        """What each engine has."""

    @property
    def nnz(self) -> tuple[int, ...]:
        """Stored elements of each engine."""

    @property
    def total(self) -> int:
        """How many there are, without copies."""

    @property
    def imbalance(self) -> float:
        """The most of them, over their mean."""


def sparse_card(facts: str, layout: Shares, values: str, missing: str) -> str:
    """Return a sparse array as one HTML element: elements, facts, and what each engine stores.

    ``values`` are elements as text; where there are none, ``missing`` is why.
    """
    shown = f'<pre tabindex="0">{escape(values)}</pre>' if values else f"<i>{escape(missing)}</i>"
    words = f'<div class="words">{shown}<p>{escape(facts)}</p></div>'
    groups = grouped(range(len(layout.nnz)), ROWS)
    means = [(numbers(g), [sum(layout.nnz[r] for r in g) / len(g)]) for g in groups]
    most = max(layout.nnz, default=0)
    bars = Bars(means, _FILLS, most, "sparse", lambda i, _: f"{means[i][1][0]:,.0f}")
    picture = f"<div>{bars.draw('Stored elements of each engine', facts)}</div>"
    rows = (
        (str(r), what, f"{count:,}")
        for r, what, count in zip(range(ROWS), layout.holdings, layout.nnz, strict=False)
    )
    table = table_html(("engine", "holds", "stored"), rows, (1,), "engines")
    more = f"<p>{escape(' '.join(together(len(layout.nnz), len(groups), 'mean')))}</p>"
    head = f"engines: {_heading(layout, layout.nnz.index(most) if most else 0)[0]}"
    return fitting([flow(words, picture) + folded(head, table, more)])


def plot_sparse(layout: Shares, ax: Any = None) -> Any:
    """Draw how many elements each engine stores, and which part of the array that is.

    Parameters
    ----------
    layout : SparseLayout
        Who holds what.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: a bar for each engine, and a line at their mean. The title says who has most.
    """
    n = len(layout.nnz)
    if ax is None:
        from matplotlib import pyplot

        size = (6.5, 1.3 + 0.34 * min(n, 20))
        ax = pyplot.figure(figsize=size, layout="constrained").subplots()
    else:
        check_axes(ax)
    most, mean = max(layout.nnz), sum(layout.nnz) / n
    first = layout.nnz.index(most)
    for rank, count in enumerate(layout.nnz):
        strong = layout.imbalance >= _EVEN and rank == first
        tint = TINTS[(rank + rank // len(TINTS)) % len(TINTS)]
        opacity = min(1.0, 3 * OPACITY) if strong else OPACITY
        ax.barh(rank, count, height=0.8, fc=(tint, opacity), ec="0.5", lw=2 if strong else 0.8)
    if n <= _WRITTEN:
        _write(ax, layout, mean, most)
    ax.axvline(mean, ls="--", lw=1.2, color=ink())
    ax.set_ylim(n - 0.4, -0.6)
    ax.set_xlim(0, max(1, most) * (1.02 if n > _WRITTEN else 1.37))
    ax.set_xlabel(f"stored elements; dashed: the mean, {mean:,.0f}", fontsize=9)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_major_locator(_few())
    ax.tick_params(labelsize=8)
    ax.set_title("\n".join(_heading(layout, first)), loc="left", fontsize=9)
    return ax


def _write(ax: Any, layout: Shares, mean: float, most: int) -> None:
    """Write at each bar whose it is, and how long."""
    for rank, count in enumerate(layout.nnz):
        times = f"  {count / mean:.2f} x mean" if mean else ""
        at, paper = count + 0.02 * max(1, most), {"fc": ax.get_facecolor(), "ec": "none", "pad": 1}
        ax.text(at, rank, f"{count:,}{times}", va="center", fontsize=8, bbox=paper)
    names = [f"engine {r}: {what}" for r, what in enumerate(layout.holdings)]
    ax.set_yticks(range(len(names)), names)


def _heading(layout: Shares, first: int) -> list[str]:
    """Return the lines of the title: who has most, and of how many."""
    facts = f"{layout.total:,} stored elements on {len(layout.nnz)} engines"
    if len(layout.nnz) == 1:
        return [facts]
    if layout.imbalance < _EVEN:
        return ["All engines hold as much", facts]
    return [f"Engine {first} holds most: {layout.imbalance:.2f} times the mean", facts]


def _few() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)
