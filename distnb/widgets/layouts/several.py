"""Several arrays to one scale, and what an operation of two of them would send."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed
from distnb.measure.quantities import size_text
from distnb.ops.table import elementwise_layout
from distnb.plans.traffic import traffic
from distnb.widgets.drawing.page import fitting, flow, table_html
from distnb.widgets.drawing.text import (
    aligned,
    facts_of,
    shorten,
)
from distnb.widgets.layouts.halo import Halo, halo
from distnb.widgets.layouts.layout_svg import (
    VERMILLION,
    Svg,
    frame_of,
    legible,
)
from distnb.widgets.layouts.layout_view import plot, to_html
from distnb.widgets.layouts.picture import Picture, shown_axes

__all__ = ["Several"]

_HEAD = ("first", "second", "is sent", "messages", "to engine", "most")
_HATCHED = "what other engines need in an operation with the first (of that: with the second)"
_NOTHING = "nothing"
#: Longer words wrap, so that there is room beside.
_WIDEST = 400
#: Smaller pictures are enlarged, and not to the scale of the others.
_LEAST = 12


class Meeting(NamedTuple):
    """An elementwise operation of two arrays: where it runs, and what is sent to there."""

    out: Placed
    operands: tuple[Placed, Placed]
    received: np.ndarray
    messages: int


def meet(first: Any, second: Any) -> Meeting | None:
    """Return what an operation of two placements sends; None if their shapes do not fit."""
    views = [x.placed.view for x in (first, second)]
    try:
        shape: Ints = np.broadcast_shapes(*(v.shape for v in views))
    except ValueError:
        return None
    size = max(first.size, second.size)
    stretched = tuple(_stretched(x.placed, shape) for x in (first, second))
    weighed = tuple((int(np.prod(v.shape)), x) for v, x in zip(views, stretched, strict=True))
    out = Placed.whole(shape, elementwise_layout(weighed, shape, size))
    found = [traffic(out, x, size) for x in stretched]
    received = sum(
        t.received * x.dtype.itemsize for t, x in zip(found, (first, second), strict=True)
    )
    return Meeting(
        out, (stretched[0], stretched[1]), np.asarray(received), sum(t.messages for t in found)
    )


def _stretched(placed: Placed, shape: Ints) -> Placed:
    return Placed(placed.shape, placed.layout, placed.view.broadcast(shape))


class Several:
    """One or more arrays, shown along chosen axes.

    Parameters
    ----------
    placements : sequence of Placement
        What to show.
    titles : sequence of str, optional
        The name of each; by default their numbers.
    axes : int or pair of int, optional
        The axes to show, rows first.

    Attributes
    ----------
    moves : dict
        For each pair of numbers (from 1): the bytes that each engine takes from others in an
        elementwise operation of the two, or None if their shapes do not fit.
    """

    def __init__(
        self, placements: Sequence[Any], titles: Sequence[str] = (), axes: Any = None
    ) -> None:
        self.placements = list(placements)
        numbers = range(len(self.placements))
        self.titles = [shorten(t, 40) for t in titles or [str(i + 1) for i in numbers]]
        self.axes = axes
        for x in self.placements:
            shown_axes(x.placed, axes)  # raises if there are none such
        pairs = combinations((i for i in numbers if not self.placements[i].base.here), 2)
        self._met = {(i, j): meet(self.placements[i], self.placements[j]) for i, j in pairs}
        self.moves = {
            (i + 1, j + 1): None if m is None else m.received for (i, j), m in self._met.items()
        }

    def __repr__(self) -> str:
        if len(self.placements) == 1:
            return repr(self.placements[0])
        heads = [facts_of(x.placed, x.dtype, x.size) for x in self.placements]
        lines = [f"{t}: {f.head}\n   {f.layout}" for t, f in zip(self.titles, heads, strict=True)]
        rows = self._rows()
        return "\n".join([*lines, *(aligned([_HEAD, *rows], left=[0, 1]) if rows else [])])

    def _rows(self) -> list[tuple[str, ...]]:
        return [self._row(i, j, met) for (i, j), met in self._met.items()]

    def _row(self, i: int, j: int, met: Meeting | None) -> tuple[str, ...]:
        names = self.titles[i], self.titles[j]
        if met is None:
            return (*names, "shapes do not fit", "", "", "")
        if not met.received.any():
            return (*names, _NOTHING, "", "", "")
        most = int(met.received.argmax())
        sent = size_text(int(met.received.sum()))
        return (*names, sent, f"{met.messages:,}", str(most), size_text(int(met.received[most])))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the text and the page: both have all numbers."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        """Return pictures and numbers as one HTML element of at most 10 kB, without scripts."""
        if len(self.placements) == 1:
            x = self.placements[0]
            title = self.titles[0] if self.titles != ["1"] else ""
            return to_html(x.placed, x.dtype, title, x.size, axes=self.axes)
        tries = ((10, 14), (6, 8), (4, 5), (2, 3), (1, 1))
        return fitting(self._page(tries[i:]) for i in range(len(tries)))

    def _page(self, limits: Sequence[tuple[int, int]]) -> str:
        frame = (320, 200) if len(self.placements) < 3 else (200, 150)
        pics = [legible(x.placed, self.axes, x.size, limits, frame) for x in self.placements]
        frames = common_frames(pics, *frame)
        halos = [self._halo(i, pic.axes) for i, pic in enumerate(pics)]
        sides: Sequence[Any] = frames if frames else [None] * len(pics)
        panels = "".join(map(self._panel, range(len(pics)), pics, sides, halos))
        notes = [] if frames else ["not to one scale"]
        if any(found.rects for found in halos):
            notes.append(f"hatched in red: {_HATCHED}")
        return (
            self._lead()
            + flow(panels)
            + table_html(_HEAD, self._rows(), (0, 1), "what is sent") * bool(self._met)
            + "".join(f"<small>{n}</small><br/>" for n in notes)
        )

    def _lead(self) -> str:
        """Return what two arrays send, in a sentence."""
        if len(self._met) != 1:
            return ""
        first, second, sent, messages, engine, most = self._rows()[0]
        words = f"{first} with {second}: {sent}"
        if sent == _NOTHING or messages:
            words += " is sent in an operation"
        if messages:
            words += f", most to engine {engine} ({most})"
        return f'<p class="lead"><b>{escape(words)}</b></p>'

    def _panel(self, i: int, pic: Picture, frame: tuple[float, float] | None, found: Halo) -> str:
        x = self.placements[i]
        facts = facts_of(x.placed, x.dtype, x.size)
        notes = [shorten(note, 160) for note in pic.notes]
        notes += [f"elements travel along axis {a}, too" for a in found.hidden]
        notes += ["what travels is too scattered to draw"] * found.too_many
        text = "".join(f"<br/><small>{escape(note)}</small>" for note in notes)
        return (
            f'<div style="max-width:{_WIDEST}px">'
            f"<b>{escape(self.titles[i])}</b> {escape(facts.head)}<br/>{escape(facts.layout)}"
            f"<br/>{Svg(pic, frame, found.rects).draw(facts, ())}{text}</div>"
        )

    def plot(self) -> Any:
        """Draw the arrays side by side with matplotlib; returns the figure."""
        from matplotlib import pyplot
        from matplotlib.patches import Rectangle

        n = len(self.placements)
        figure, panels = pyplot.subplots(1, n, figsize=(4.5 * n, 4), squeeze=False)
        figure.set_layout_engine("constrained")
        for i, (x, ax) in enumerate(zip(self.placements, panels[0], strict=True)):
            plot(x.placed, x.dtype, ax=ax, axes=self.axes, size=x.size)
            ax.set_title(f"{self.titles[i]}\n{ax.get_title(loc='left')}", loc="left", fontsize=9)
            for (r0, r1), (c0, c1) in self._halo(i, shown_axes(x.placed, self.axes)).rects:
                style: Any = {"fc": "none", "ec": VERMILLION, "hatch": "xxx", "lw": 0.8}
                ax.add_patch(Rectangle((c0, r0), c1 - c0, r1 - r0, **style))
        return figure

    def _halo(self, i: int, axes: tuple[int, int]) -> Halo:
        """Return what travels of an array in its operation with the first (of that: the second)."""
        met = self._met.get((0, max(i, 1)))
        return Halo(()) if met is None else halo(met.out, met.operands[i > 0], axes)


def common_frames(
    pics: Sequence[Picture], width: float, height: float
) -> list[tuple[float, float]] | None:
    """Return width and height of each picture to one scale, or None where some would be specks."""
    flat = [pic.axes[0] < 0 for pic in pics]
    if any(flat) and not all(flat):
        return None
    scale = min(min(width / max(1, pic.shape[1]), height / max(1, pic.shape[0])) for pic in pics)
    if all(flat):
        scale = min(width / max(1, pic.shape[1]) for pic in pics)
        found = [(pic.shape[1] * scale, frame_of(pic, width, height)[1]) for pic in pics]
    else:
        found = [(pic.shape[1] * scale, pic.shape[0] * scale) for pic in pics]
    return found if all(min(sides) >= _LEAST for sides in found) else None
