"""A layout as it is put together by hand: what is chosen, and what that would mean.

Nothing here draws a widget or changes an array, so that all of it can be tested without a browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import accumulate
from math import prod
from typing import Any

from distnb.common.errors import LayoutError, explain
from distnb.geometry.axes import (
    Axis,
    Block,
    BlockCyclic,
    Cyclic,
    Irregular,
    SlicedBlock,
)
from distnb.geometry.layout import Ints, Layout, make_layout
from distnb.geometry.views import Placed, View
from distnb.measure.quantities import counted, size_text
from distnb.plans.forecast import Forecast, forecast
from distnb.widgets.drawing.page import flow, table_html, view
from distnb.widgets.drawing.text import facts_of, layout_in_words, shorten
from distnb.widgets.layouts.layout_svg import Svg, legible
from distnb.widgets.layouts.migration import Cost

__all__ = ["KINDS", "WHERE", "Choice", "Outlook", "cuts_by", "grids_of"]

WHERE = ("split", "replicated", "one engine")
KINDS = ("whole", "block", "cyclic", "block-cyclic", "irregular")
#: More grids than this are not offered.
_GRIDS = 60
#: So many source lines are listed.
_LINES = 5
#: Width and height of a picture.
_FRAME = (260, 170)


@dataclass(frozen=True)
class Choice:
    """What is chosen: the kind of each axis, with a block size or weights, and a grid.

    ``grid`` is None for the one that is made when none is asked for.
    """

    kinds: tuple[str, ...]
    sizes: Ints
    weights: tuple[str, ...]
    where: str = "split"
    engine: int = 0
    grid: Ints | None = None

    @classmethod
    def of(cls, layout: Layout, ndim: int) -> Choice:
        """Return the choice that comes nearest to a layout."""
        kinds = tuple(_kind(axis) for axis in layout.axes)
        sizes = tuple(axis.k if isinstance(axis, BlockCyclic) else 1 for axis in layout.axes)
        weights = tuple(_weights(axis) for axis in layout.axes)
        split = [n for g, n in enumerate(layout.grid.sizes) if g in layout.dims]
        if any(kind != "whole" for kind in kinds):
            return cls(kinds, sizes, weights, grid=tuple(split) if len(split) > 1 else None)
        if layout.here:
            kinds = ("block",) * (ndim > 0) + kinds[1:]
            return cls(kinds, sizes, weights)
        if layout.grid.size == 1:
            return cls(kinds, sizes, weights, "one engine", layout.grid.first)
        return cls(kinds, sizes, weights, "replicated")

    def dist(self, shape: Ints) -> Any:
        """Return what is chosen as ``dist=``."""
        if self.where == "one engine":
            return ("engine", self.engine)
        if self.where == "replicated" or not shape:
            return "replicated"
        return tuple(self._word(a, n) for a, n in enumerate(shape))

    def _word(self, a: int, n: int) -> Any:
        kind = self.kinds[a]
        if kind == "block-cyclic":
            return ("cyclic", self.sizes[a])
        if kind == "irregular":
            return ("irregular", cuts_by(self.weights[a], n))
        return "*" if kind == "whole" else kind

    def layout(self, shape: Ints, size: int) -> Layout:
        """Return the layout; raise LayoutError if there is none such."""
        return make_layout(shape, size, self.dist(shape), self._asked())

    def _asked(self) -> Ints | None:
        return self.grid if self.where == "split" and self.split > 1 else None

    @property
    def split(self) -> int:
        """How many axes are split."""
        return sum(kind != "whole" for kind in self.kinds)

    def code(self, name: str, shape: Ints) -> str:
        """Return the line of code that does the same."""
        grid = self._asked()
        more = f", grid={grid}" if grid is not None else ""
        return f"{name}.move({self.dist(shape)!r}{more})"


def _kind(axis: Axis) -> str:
    if isinstance(axis, Cyclic):
        return "cyclic"
    if isinstance(axis, BlockCyclic):
        return "block-cyclic"
    if isinstance(axis, Irregular):
        return "irregular"
    return "block" if isinstance(axis, Block | SlicedBlock) else "whole"


def _weights(axis: Axis) -> str:
    """Return the lengths of an irregular axis: weights that give the same cuts."""
    if not isinstance(axis, Irregular):
        return ""
    return " ".join(str(b - a) for a, b in zip(axis.cuts, axis.cuts[1:], strict=False))


def cuts_by(weights: str, n: int) -> Ints:
    """Return the cuts of an axis of ``n`` in proportion to weights.

    >>> cuts_by("1 2 1", 16), cuts_by("3,0,1", 8)
    ((0, 4, 12, 16), (0, 6, 6, 8))
    """
    try:
        numbers = [float(w) for w in weights.replace(",", " ").split()]
        good = all(0 <= w < float("inf") for w in numbers) and sum(numbers) > 0
    except ValueError:
        good = False
    if not good:
        raise LayoutError(
            explain("weights", repr(weights), "numbers such as 1 2 1", "give one for each part")
        )
    whole = sum(numbers)
    return (0, *(round(n * done / whole) for done in accumulate(numbers)))[:-1] + (n,)


def grids_of(size: int, ndim: int) -> list[Ints]:
    """Return the grids of ``ndim`` dimensions that use all engines, the squarest first.

    >>> grids_of(6, 2)
    [(2, 3), (3, 2), (1, 6), (6, 1)]
    """
    found: list[Ints] = [()]
    for left in range(ndim, 0, -1):
        found = [
            (*g, n)
            for g in found
            for rest in (size // prod(g),)
            for n in ([rest] if left == 1 else [d for d in range(1, rest + 1) if rest % d == 0])
        ]
    return sorted(found, key=lambda g: (max(g) / min(g), g) if g else (1.0, g))[:_GRIDS]


class Outlook:
    """What a layout would mean for an array: balance, the move, and the traffic of a cell.

    Parameters
    ----------
    array : DistArray
        All of a base.
    layout : Layout
        Where it might lie.
    before : Outlook, optional
        What was shown before: what the cell sent need not be found out again.
    """

    def __init__(self, array: Any, layout: Layout, before: Outlook | None = None) -> None:
        session, base = array.session, array.dbase
        self.layout, self.dtype, self.size = layout, array.dtype, session.size
        self.placed = Placed(base.shape, layout, View.whole(base.shape))
        self.before = Placed(base.shape, base.layout, View.whole(base.shape))
        self.cost = None
        if base.host is None:
            args = base.shape, base.layout, View.whole(base.shape)
            self.cost = Cost(
                Placed(*args), layout, array.dtype, session.size, session.measuring.bandwidth
            )
        journal = session.journal
        self.cell = cell = journal.computed
        there = base.host is None and base.heard_of
        moved = dict.fromkeys(journal.names(base.handle), layout) if there else {}
        self.now: Forecast
        self.kept, self.left_out = cell.kept, cell.left
        if before is not None and before.cell is cell and before.kept == cell.kept:
            self.now = before.now
        else:
            self.now = forecast(cell.commands, cell.specs, session.size)
        self.then = forecast(cell.commands, cell.specs, session.size, moved)
        self.line = session.line

    @property
    def finding(self) -> str:
        """What the layout would change, as one sentence."""
        now, then = self.now.total, self.then.total
        if not self.now.commands:
            return "No cell has computed anything yet, so its traffic cannot be told."
        if now == then:
            return f"Saves nothing: the last cell would send as much as it did, {size_text(now)}."
        head = "Saves" if then < now else "Costs"
        change = f" ({100 * (then - now) / now:+.0f} %)" if now else ""
        found = (
            f"{head} {size_text(abs(now - then))}{change} a cell: the last one would send "
            f"{size_text(then)} in place of {size_text(now)}"
        )
        move = 0 if self.cost is None else self.cost.bytes
        if then < now and move:
            cells = counted(-(-move // (now - then)), "cell")
            found += f"; the move sends {size_text(move)} and pays after {cells}"
        return f"{found}."

    def notes(self) -> list[str]:
        """Return what the numbers do not say."""
        found = []
        if self.then.unknown:
            found.append(
                f"{self.then.unknown:,} commands are not counted: what they send depends on the "
                "elements, or on arrays that are gone"
            )
        if self.left_out:
            found.append(f"of the last cell, the first {self.left_out:,} commands are not counted")
        return found

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the source lines that send most, with bytes now and then."""
        sites = {**self.now.sent, **self.then.sent}
        sizes = {s: (self.now.sent.get(s, 0), self.then.sent.get(s, 0)) for s in sites}
        most = sorted((s for s in sites if max(sizes[s])), key=lambda s: -max(sizes[s]))
        found = [
            (shorten(self.line(s), 60), *(size_text(n) for n in sizes[s])) for s in most[:_LINES]
        ]
        if len(most) > _LINES:
            rest = [sum(sizes[s][i] for s in most[_LINES:]) for i in (0, 1)]
            found.append((f"{len(most) - _LINES:,} other lines", *map(size_text, rest)))
        return [(line, now, then) for line, now, then in found]

    def text(self) -> str:
        """Return the outlook as plain text."""
        facts = facts_of(self.placed, self.dtype, self.size)
        lines = [f"{facts.head}: {facts.layout}", facts.finding]
        if self.cost is not None:
            lines.append(f"the move: {self.cost.finding}")
        lines.append(self.finding)
        lines += [f"  {line}: {now} -> {then}" for line, now, then in self.rows()]
        return "\n".join([*lines, *self.notes()])

    def lead(self) -> str:
        """Return the sentence as an HTML element of its own."""
        return view(self._lead())

    def _lead(self) -> str:
        return f'<p class="lead"><b>{escape(self.finding)}</b></p>'

    def html(self, lead: bool = True) -> str:
        """Return the picture and the numbers as one HTML element; the sentence is its ``lead``."""
        pictures = [self._panel("it would lie" if self.differs else "it lies", self.placed)]
        if self.differs:
            pictures.insert(0, self._panel("it lies now", self.before))
        rows, head = self.rows(), ("line", "sent", "would be sent")
        table = table_html(head, rows, (0,), "what lines send") if rows else ""
        move = "" if self.cost is None else f"<p>The move: {escape(self.cost.finding)}</p>"
        notes = "".join(f"<p><small>{escape(n)}</small></p>" for n in self.notes())
        return view(self._lead() * lead + flow(*pictures) + move + table + notes)

    @property
    def differs(self) -> bool:
        """Whether it lies elsewhere now."""
        return self.layout != self.before.layout

    def _panel(self, when: str, placed: Placed) -> str:
        """Return where it lies, or would lie, as a picture with words."""
        facts = facts_of(placed, self.dtype, self.size)
        words = f"<b>{when}</b>: {escape(layout_in_words(placed))}<br/>{escape(facts.finding)}"
        if placed.layout.here:
            return f"<div><p>{words}</p></div>"
        limits = ((10, 14), (6, 8), (4, 5), (2, 3), (1, 1))
        pic = legible(placed, None, self.size, limits, _FRAME)
        notes = "".join(f"<br/><small>{escape(note)}</small>" for note in pic.notes)
        return f'<div class="panel"><p>{words}</p>{Svg(pic).draw(facts, pic.notes)}{notes}</div>'
