"""Who owns what: as text, as a small page with an SVG, and as a picture on matplotlib axes.

All three read one :class:`Placed`. A picture shows one or two axes of the *base*, to scale and with
its real block borders; a view is marked on top of it. :func:`picture` works it out, without drawing
and in time that depends on the number of engines but not of blocks or elements; the rest only
draws. A block is told by its position and by the engine numbers printed in it; tints only help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, product
from math import prod
from statistics import median
from textwrap import wrap
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from distnb.axes import Axis
from distnb.errors import LayoutError, explain
from distnb.events import imbalance
from distnb.layout import Ints, Placed

__all__ = ["Box", "Picture", "Span", "blocks", "describe", "picture", "plot", "spans", "to_html"]

#: No page is longer than this (bytes).
BUDGET = 10_000
#: Tables have no more rows than this; neighbours share a row beyond.
ROWS = 16
#: Okabe and Ito's colours, drawn as tints; neighbouring numbers never have the same.
TINTS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
OPACITY = 0.25

Range = tuple[int, int]


# -- The picture, before anything is drawn ---------------------------------------------------------


class Span(NamedTuple):
    """A stretch ``[lo, hi)`` of one axis: ``runs`` blocks, owned by the coordinates ``coords``."""

    lo: int
    hi: int
    coords: Ints
    runs: int = 1


class Box(NamedTuple):
    """A rectangle of the picture, and every engine that holds something of it.

    Several engines share it where it has copies, goes on along a hidden axis, or is dealt in turn;
    else they hold neighbouring blocks that are drawn as one.
    """

    rows: Range
    cols: Range
    engines: Ints
    shared: bool


@dataclass(frozen=True)
class Picture:
    """All that is to be drawn of a placed array.

    Attributes
    ----------
    axes : tuple of int
        The base axes along rows and columns; -1 where there is none (a strip, a single element).
    shape : tuple of int
        Lengths along rows and columns.
    boxes : tuple of Box
        They tile the shape; each is one block, or stands for several as the notes tell.
    corner : tuple of Box
        The first blocks in units of blocks, where the real ones are too many to draw; else empty.
    window : None or pair of range
        What the view touches along rows and columns; None if the view is the whole base.
    replicated : bool
        Whether several engines each hold all of it.
    notes : tuple of str
        What the picture cannot say.
    """

    axes: tuple[int, int]
    shape: tuple[int, int]
    boxes: tuple[Box, ...]
    corner: tuple[Box, ...]
    window: tuple[range, range] | None
    replicated: bool
    notes: tuple[str, ...]


def blocks(
    placed: Placed, axes: int | Sequence[int] | None = None, limit: tuple[int, int] = (20, 20)
) -> tuple[Box, ...]:
    """Return the rectangles of the base with their engines, at most ``limit`` along each axis.

    The boxes tile the two shown axes. Along hidden axes a box holds all that the view touches, so
    an element's owner is always among the engines of its box.
    """
    return picture(placed, axes, limit).boxes


def picture(
    placed: Placed, axes: int | Sequence[int] | None = None, limit: tuple[int, int] = (20, 20)
) -> Picture:
    """Return what to draw along one or two axes of the view (by default, the longest split)."""
    shown = _shown(placed, axes)
    shape = tuple(placed.shape[a] if a >= 0 else 1 for a in shown)
    cut = [_spans(placed, a, most) for a, most in zip(shown, limit, strict=True)]
    boxes = _boxes(placed, shown, cut) if prod(placed.shape) else ()
    corner: tuple[Box, ...] = ()
    if boxes and any(_in_turn(placed, a, t) for a, t in zip(shown, cut, strict=True)):
        corner = _boxes(placed, shown, [_corner(placed, a) for a in shown])
    notes = list(_notes(placed, shown, cut))
    if more := [len(b.engines) - 1 for b in boxes if len(_intervals(b.engines)) > 2]:
        notes.append(f"+{more[0]} means: and {more[0]} more engines")
    return Picture(
        axes=shown,
        shape=(shape[0], shape[1]),
        boxes=boxes,
        corner=corner,
        window=None if placed.view.is_whole(placed.shape) else _window(placed, shown),
        replicated=placed.layout.copies > 1 and placed.layout.split == 1,
        notes=tuple(notes),
    )


def spans(axis: Axis, n: int, p: int, most: int) -> list[Span]:
    """Cut an axis where its owner changes, into at most ``most`` stretches.

    Neighbouring blocks share a stretch where there are more; of a periodic axis, all do.
    """
    period = axis.period(p) if p > 1 else 0
    if period and (count := -(-n // (period // p))) > most:
        return [Span(0, n, tuple(range(min(p, count))), count)]
    found = list(_runs(axis, n, p))
    return [
        Span(g[0].lo, g[-1].hi, tuple(c for s in g for c in s.coords), len(g))
        for g in grouped(found, most)
    ]


def _runs(axis: Axis, n: int, p: int) -> Iterator[Span]:
    """Walk over the blocks of an axis."""
    lo = 0
    while lo < n:
        hi = axis.run(n, p, lo) if p > 1 else n
        yield Span(lo, hi, (axis.owner(n, p, lo) if p > 1 else 0,))
        lo = hi


def _spans(placed: Placed, a: int, most: int) -> list[Span]:
    if a < 0:
        return [Span(0, 1, (0,))]
    return spans(placed.layout.axes[a], placed.shape[a], placed.layout.parts(a), most)


def _period(placed: Placed, a: int) -> int:
    return placed.layout.axes[a].period(placed.layout.parts(a)) if a >= 0 else 0


def _in_turn(placed: Placed, a: int, cut: list[Span]) -> bool:
    """Tell whether an axis is dealt in turn, in more blocks than are drawn."""
    return _period(placed, a) > 0 and any(len(span.coords) > 1 for span in cut)


def _corner(placed: Placed, a: int) -> list[Span]:
    """Return the first two rounds of an axis's blocks, in units of blocks."""
    if a < 0:
        return [Span(0, 1, (0,))]
    p = placed.layout.parts(a)
    walk = zip(range(min(2 * p, 6)), _runs(placed.layout.axes[a], placed.shape[a], p), strict=False)
    return [Span(i, i + 1, s.coords) for i, s in walk]


def _shown(placed: Placed, axes: int | Sequence[int] | None) -> tuple[int, int]:
    """Return the base axes along rows and columns, -1 for none."""
    view, layout = placed.view, placed.layout
    moved = [a for a, _, _ in view.dims if a >= 0]
    if axes is not None:
        found = _asked(placed, axes)
    else:
        rank = {a: (layout.parts(a) > 1, a in moved, n) for a, n in enumerate(placed.shape)}
        found = sorted(sorted(rank, key=rank.__getitem__, reverse=True)[:2])
        if set(found) <= set(moved):  # in the order of the view: its transpose lies on its side
            found.sort(key=moved.index)
    first, second = ([-1, -1] + found)[-2:]
    return first, second


def _asked(placed: Placed, axes: int | Sequence[int]) -> list[int]:
    """Return the base axes of the view axes that the user wants to see."""
    wanted = (axes,) if isinstance(axes, int) else tuple(axes)
    ndim = len(placed.view.shape)
    good = len(wanted) in (1, 2) and all(isinstance(d, int) and -ndim <= d < ndim for d in wanted)
    found = [placed.view.dims[d][0] for d in wanted] if good else []
    if not good or -1 in found or len(set(found)) < len(found):
        can = [d for d, (a, _, _) in enumerate(placed.view.dims) if a >= 0]
        raise LayoutError(
            explain("axes", axes, f"one or two of {can}", "choose axes that are not broadcast")
        )
    return found


def _boxes(placed: Placed, shown: tuple[int, int], cut: Sequence[list[Span]]) -> tuple[Box, ...]:
    """Return the product of the stretches along rows and columns."""
    grid, gdims = placed.layout.grid, placed.layout.dims
    coords = _hidden(placed, shown)
    shared = any(len(c) > 1 for c in coords)
    shared |= any(_in_turn(placed, a, t) for a, t in zip(shown, cut, strict=True))
    known: dict[tuple[Ints, Ints], tuple[Ints, bool]] = {}
    found = []
    for r, c in product(*cut):
        if (r.coords, c.coords) not in known:
            for a, span in zip(shown, (r, c), strict=True):
                if a >= 0 and gdims[a] >= 0:
                    coords[gdims[a]] = span.coords
            ranks = tuple(sorted(grid.rank(at) for at in product(*coords)))
            known[r.coords, c.coords] = ranks, shared
        found.append(Box((r.lo, r.hi), (c.lo, c.hi), *known[r.coords, c.coords]))
    return tuple(found)


def _hidden(placed: Placed, shown: tuple[int, int]) -> list[Sequence[int]]:
    """Return, for each grid dimension, the coordinates that hold what the view touches."""
    grid = placed.layout.grid
    coords: list[Sequence[int]] = [range(n) for n in grid.sizes]
    for m in placed.maps:
        if m and m.extent:
            coords[m.gdim] = [c for c in range(m.p) if m.owned(c)]
    for g, c in placed.pinned.items():
        coords[g] = (c,)
    for a in shown:  # these are overwritten box by box
        if a >= 0 and placed.layout.dims[a] >= 0:
            coords[placed.layout.dims[a]] = ()
    return coords


def _window(placed: Placed, shown: tuple[int, int]) -> tuple[range, range]:
    """Return what the view touches along rows and columns of the base."""
    view = placed.view
    touched = {a: range(i, i + 1) for a, i in view.fixed}
    for n, (a, start, step) in zip(view.shape, view.dims, strict=True):
        up = range(start, start + step * n, step) if step else range(0)
        touched[a] = up if step > 0 else up[::-1]
    touched[-1] = range(1)
    if not prod(view.shape):
        return range(0), range(0)
    return touched[shown[0]], touched[shown[1]]


def _notes(placed: Placed, shown: tuple[int, int], cut: Sequence[list[Span]]) -> Iterator[str]:
    """Say what the picture cannot show."""
    layout, whole = placed.layout, placed.view.is_whole(placed.shape)
    if not whole:
        yield f"a view of it: {spell_view(placed)}"
    still = dict(placed.view.fixed)
    for a in range(len(placed.shape)):
        if a not in shown:
            yield f"axis {a} is not shown" + _share(placed, a, still.get(a))
    count, drawn = (prod(sum(s.runs for s in t) for t in cut), prod(len(t) for t in cut))
    if count > drawn > 0:
        yield f"{count:,} blocks, drawn as {drawn:,}" if drawn > 1 else f"{count:,} blocks"
    if prod(placed.shape) and not _to_scale(tuple(placed.shape[a] for a in shown if a >= 0)):
        yield "rows and columns are to different scales"
    for a, t in zip(shown, cut, strict=True):
        if _in_turn(placed, a, t):
            p = layout.parts(a)
            yield f"axis {a}: blocks of {_period(placed, a) // p:,} dealt in turn to {p}"
    if layout.copies > 1 and layout.split > 1:
        yield f"the engines of a block each hold a copy: {layout.copies} copies"
    if none := [r for r in layout.grid.ranks() if 0 in (placed.local_shape(r) or ())]:
        yield f"nothing on {_who(none)}"
    elif not whole and (none := [r for r in layout.grid.ranks() if not placed.held(r)]):
        yield f"nothing of the view on {_who(none)}"


def _to_scale(shape: Ints) -> bool:
    """Tell whether rows and columns can have one scale without the picture becoming a thread."""
    return len(shape) < 2 or 1 / 4 <= _ratio(*shape) <= 2


def _ratio(rows: int, cols: int) -> float:
    return max(1, rows) / max(1, cols)


def _share(placed: Placed, a: int, index: int | None) -> str:
    """Say what becomes of an axis that is not shown."""
    if index is not None:
        return f" (at {index})"
    if placed.layout.parts(a) == 1:
        return ""
    return f" ({placed.layout.axes[a].spell()}: the engines of a block share it)"


# -- Words and numbers -----------------------------------------------------------------------------


def spell_view(placed: Placed) -> str:
    """Return a view as an index into its base, and what an index cannot say.

    >>> from distnb.layout import Placed, View, replicated
    >>> view = View.whole((8, 9)).take(0, 1, 1, 6).take(1, 8, -2, 5).transpose((1, 0))
    >>> spell_view(Placed((8, 9), replicated(2, 2), view))
    'base[1:7, 8::-2], axes in order (1, 0)'
    """
    view = placed.view
    words = {a: str(i) for a, i in view.fixed}
    for n, (a, start, step) in zip(view.shape, view.dims, strict=True):
        if a >= 0:
            words[a] = _slice(start, step, n, placed.shape[a])
    index = ", ".join(words[a] for a in sorted(words))
    order = [a for a, _, _ in view.dims if a >= 0]
    more = [f"base[{index or '...'}]"]
    if order != sorted(order):
        more.append(f"axes in order ({', '.join(str(sorted(order).index(a)) for a in order)})")
    for d, (n, (a, _, _)) in enumerate(zip(view.shape, view.dims, strict=True)):
        if a < 0:
            more.append(f"axis {d} is new" if n == 1 else f"axis {d} repeats {n:,} times")
    return ", ".join(more)


def _slice(start: int, step: int, n: int, length: int) -> str:
    if (start, step, n) == (0, 1, length):
        return ":"
    if n == 0:
        return "0:0"
    if n == 1 or step == 1:
        return f"{start}:{start + n}"
    last = start + step * (n - 1)
    stop = last + (1 if step > 0 else -1)
    return f"{start}:{stop if stop >= 0 else ''}:{step}"


def shorten(text: str, most: int) -> str:
    """Return text on one line of at most ``most`` characters, with dots where it was cut."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= most else text[: most - 3] + "..."


def grouped(items: Sequence, most: int) -> list[Sequence]:
    """Return neighbours together in at most ``most`` groups of one size (the last may be short).

    >>> grouped(range(10), 4)
    [range(0, 5), range(5, 10)]
    """
    n = len(items)
    least = max(1, -(-n // most))
    size = next((s for s in range(least, 2 * least) if n % s == 0), least)
    return [items[i : i + size] for i in range(0, n, size)]


def numbers(ranks: Sequence[int]) -> str:
    """Return ascending numbers in short.

    >>> numbers([0, 1, 2, 5]), numbers(range(0, 40, 4))
    ('0-2,5', '0,4,...,36')
    """
    words: list[str] = []
    for first, last in _intervals(ranks):
        words.append(str(first) if first == last else f"{first}-{last}")
    if len(words) > 4:
        words[2:-1] = ["..."]
    return ",".join(words)


def _intervals(ranks: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for r in ranks:
        if found and r == found[-1][1] + 1:
            found[-1][1] = r
        else:
            found.append([r, r])
    return found


def _who(ranks: Sequence[int]) -> str:
    return f"engine{'s' if len(ranks) > 1 else ''} {numbers(sorted(ranks))}"


def size_text(count: float) -> str:
    """Return a number of bytes for reading.

    >>> size_text(999), size_text(8_000_000)
    ('999 B', '8.0 MB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    power = 1
    while count >= 999.95 * 1000**power and power < 5:
        power += 1
    return f"{count / 1000**power:.1f} {'kMGTP'[power - 1]}B"


def bar(share: float, width: int = 16) -> str:
    """Return a bar in eighths of a character.

    >>> bar(0.25), bar(0.02)
    ('████', '▍')
    """
    full, eighths = divmod(round(share * width * 8), 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[eighths] if eighths else "")


def aligned(table: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Return the lines of a table; the columns in ``left`` are aligned left, the others right."""
    columns = [
        [cell.ljust(w) if i in left else cell.rjust(w) for cell in column]
        for i, column in enumerate(zip(*table, strict=True))
        for w in [max(len(cell) for cell in column)]
    ]
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


class _Row(NamedTuple):
    """One line of the table: its words, and the mean of elements on its engines."""

    cells: tuple[str, ...]
    mean: float


_HEAD = ("engine", "local shape", "elements", "bytes", "share")


def _rows(placed: Placed, facts: _Facts, most: int) -> list[_Row]:
    found = []
    for ranks in grouped(sorted(facts.held), most):
        shapes = {placed.local_shape(r) for r in ranks}
        local = " x ".join(map(str, shapes.pop() or ())) or "()" if len(shapes) == 1 else "differ"
        held = sum(facts.held[r] for r in ranks)
        share = f"{100 * held / facts.size if facts.size else 0:.1f} %"
        size = size_text(held * facts.item)
        cells = (numbers(ranks), shorten(local, 40), f"{held:,}", size, share)
        found.append(_Row(cells, held / len(ranks)))
    return found


class _Facts(NamedTuple):
    """What the text and the page both say of a placed array."""

    head: str
    layout: str
    held: dict[int, int]
    size: int
    item: int
    finding: str


def _facts(placed: Placed, dtype: Any) -> _Facts:
    size, item = prod(placed.view.shape), np.dtype(dtype).itemsize
    held = {r: placed.held(r) for r in placed.layout.grid.ranks()}
    most = max(held, key=held.__getitem__)
    finding = f"imbalance {imbalance(list(held.values())):.2f} (max/mean of elements)"
    if held[most] > min(held.values()):
        finding += f", most on engine {most}"
    name = shorten(str(np.dtype(dtype)), 40)
    head = f"{shorten(str(placed.view.shape), 80)} {name}, {size_text(size * item)}"
    layout = shorten(placed.layout.spell(), 100)
    if not placed.view.is_whole(placed.shape):
        memory = size_text(prod(placed.shape) * placed.layout.copies * item)
        base = f"base {shorten(str(placed.shape), 80)}, {memory} in memory"
        layout = f"{shorten(spell_view(placed), 120)} of {base}: {layout}"
    return _Facts(head, layout, held, size, item, finding)


def together(count: int, rows: int, what: str) -> list[str]:
    """Say that engines share rows, if they do, and which ``what`` of them a row is."""
    if rows == count:
        return []
    size = len(grouped(range(count), rows)[0])
    each = f"{size}" if count % size == 0 else f"up to {size}"
    return [f"{count:,} engines in {rows} rows: each row is the {what} of {each}"]


def describe(placed: Placed, dtype: Any) -> str:
    """Return who holds how much, as plain text.

    Shares are of the view's elements; with copies they add up to more than 100 %. The local shape
    is that of the engine's part of the base.

    >>> from distnb.layout import Placed, View, make_layout
    >>> print(describe(Placed((5,), make_layout((5,), 2), View.whole((5,))), "f8"))
    (5,) float64, 40 B: block on 2 engines
    engine  local shape  elements  bytes   share  of the most
         0            3         3   24 B  60.0 %  ████████████████
         1            2         2   16 B  40.0 %  ██████████▋
    imbalance 1.20 (max/mean of elements), most on engine 0
    """
    facts = _facts(placed, dtype)
    rows = _rows(placed, facts, ROWS)
    most = max(row.mean for row in rows) or 1
    table = [(*_HEAD, "of the most"), *((*cells, bar(mean / most)) for cells, mean in rows)]
    whole = placed.view.is_whole(placed.shape)
    head = [f"{facts.head}: {facts.layout}"] if whole else [facts.head, facts.layout]
    more = together(len(facts.held), len(rows), "sum")
    return "\n".join([*head, *aligned(table, left=[5]), *more, facts.finding])


# -- The page --------------------------------------------------------------------------------------


def to_html(placed: Placed, dtype: Any, title: str = "") -> str:
    """Return who holds what as one HTML element of at most 10 kB, without scripts or styles.

    The table has every number of :func:`describe`; the SVG shows who owns what, to scale.
    """
    limits = ((10, 14), (6, 8), (4, 5), (2, 3), (1, 1))
    tries = ((limits, ROWS), (limits[1:], ROWS), (limits[2:], 8), (limits[4:], 4))
    return fitting(_page(placed, dtype, title, *most) for most in tries)


def fitting(pages: Iterable[str]) -> str:
    """Return the first page within the budget, or the last."""
    page = ""
    for page in pages:
        if len(page.encode()) <= BUDGET:
            break
    return page


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; the first cell of each row names it. Cells are escaped."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _page(placed: Placed, dtype: Any, title: str, limits: Sequence[Range], most: int) -> str:
    facts = _facts(placed, dtype)
    rows = _rows(placed, facts, most)
    pic = _legible(placed, None, limits, (320, 200))
    notes = [shorten(note, 160) for note in pic.notes]
    notes += together(len(facts.held), len(rows), "sum")
    name = f"<b>{escape(shorten(title, 100))}</b> " if title else ""
    return (
        f"<div><p>{name}{escape(facts.head)}<br/>{escape(facts.layout)}</p>"
        '<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">'
        + table_html(_HEAD, (row.cells for row in rows))
        + f"<div>{_Svg(pic).draw(facts, notes)}"
        + "".join(f"<br/><small>{escape(note)}</small>" for note in notes)
        + f"</div></div><p>{escape(facts.finding)}</p></div>"
    )


def brief(value: float) -> str:
    """Return a coordinate with at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")


class _Svg:
    """Draws a picture as SVG text."""

    def __init__(self, pic: Picture) -> None:
        self.pic = pic
        self.width, self.height = _frame(pic, 320, 200)
        self.texts: list[str] = []

    def draw(self, facts: _Facts, notes: Sequence[str]) -> str:
        """Return the SVG element with its title and description."""
        size = (self.height, self.width)
        scale = [full / max(1, n) for full, n in zip(size, self.pic.shape, strict=True)]
        top, left = 14, 4 + 6.2 * len(f"{self.pic.shape[0]:,}") * (self.pic.axes[0] >= 0)
        uid = f"d{crc32(repr((facts, self.pic)).encode()):08x}"
        marks = self._marks(self.pic.boxes, top, left, *scale)
        if not self.pic.boxes:
            frame = _rect(left, top, self.width, self.height)
            marks = f'<path d="{frame}" fill="none" stroke="currentColor"/>'
            self._text(left + self.width / 2, top + self.height / 2 + 3.5, "no elements")
        if self.pic.window is not None:
            marks += self._view(top, left, *scale)
        right = left + self.width + 3
        if self.pic.corner:
            marks += self._marks(self.pic.corner, top, right + 20, 18, 24)
            self._text(right + 20, top - 4, "first blocks", "start")
            right += 24 + 24 * max(b.cols[1] for b in self.pic.corner)
        self._ends(top, left)
        bottom = max(
            top + self.height, top + 18 * max((b.rows[1] for b in self.pic.corner), default=0)
        )
        title = escape(f"Who owns what: {facts.head}, {facts.layout}")
        desc = escape("; ".join((facts.finding, *notes)))
        return (
            f'<svg role="img" xmlns="http://www.w3.org/2000/svg" width="{brief(right)}" '
            f'height="{brief(bottom + 16)}" font-family="sans-serif" font-size="10" '
            f'fill="currentColor"><title>{title}</title><desc>{desc}</desc>'
            f'<pattern id="{uid}" width="6" height="6" patternUnits="userSpaceOnUse">'
            '<path d="M0 6L6 0" stroke="currentColor" stroke-width=".5" opacity=".5"/></pattern>'
            f'<pattern id="{uid}o" width="4" height="4" patternUnits="userSpaceOnUse">'
            '<path d="M0 0L4 4" stroke="currentColor" stroke-width=".5" opacity=".5"/></pattern>'
            + marks.replace("#HATCH", f"#{uid}")
            + f'<g text-anchor="middle">{"".join(self.texts)}</g></svg>'
        )

    def _marks(self, boxes: Iterable[Box], top: float, left: float, y: float, x: float) -> str:
        """Return one path for each tint, and note the numbers to print."""
        paths: dict[str, str] = {}
        for box in boxes:
            h, w = (box.rows[1] - box.rows[0]) * y, (box.cols[1] - box.cols[0]) * x
            r, c = top + box.rows[0] * y, left + box.cols[0] * x
            paths[_tint(box)] = paths.get(_tint(box), "") + _rect(c, r, w, h)
            text = _label(self.pic, box)
            if (size := fit(text, w, h)) >= 6:
                self._text(c + w / 2, r + h / 2 + 0.35 * size, text, size=size)
        return "".join(
            f'<path d="{d}" fill="{tint or "url(#HATCH)"}" stroke="currentColor" '
            f'fill-opacity="{OPACITY if tint else 1}"/>'
            for tint, d in paths.items()
        )

    def _view(self, top: float, left: float, y: float, x: float) -> str:
        """Hatch what is outside the view, frame what it touches, dot its elements."""
        whole = _rect(left, top, self.width, self.height)
        rows, cols = self.pic.window or (range(0), range(0))
        if not len(rows):
            return f'<path d="{whole}" fill="url(#HATCHo)"/>'
        r, c = top + rows[0] * y, left + cols[0] * x
        window = _rect(c, r, (cols[-1] + 1 - cols[0]) * x, (rows[-1] + 1 - rows[0]) * y)
        dots = "".join(
            f"M{brief(left + (j + 0.5) * x)} {brief(top + (i + 0.5) * y)}h0"
            for i, j in _dots(self.pic, 60)
        )
        return (
            f'<path d="{whole}{window}" fill="url(#HATCHo)" fill-rule="evenodd"/>'
            f'<path d="{window}" fill="none" stroke="currentColor" stroke-width="2.5"/>'
            + f'<path d="{dots}" stroke="currentColor" stroke-width="3" stroke-linecap="round"/>'
            * bool(dots)
        )

    def _text(self, x: float, y: float, text: str, anchor: str = "", size: float = 10) -> None:
        more = f' text-anchor="{anchor}"' if anchor else ""
        more += f' font-size="{brief(size)}"' if size != 10 else ""
        self.texts.append(f'<text x="{brief(x)}" y="{brief(y)}"{more}>{escape(text)}</text>')

    def _ends(self, top: float, left: float) -> None:
        """Print the lengths of the shown axes at their ends."""
        rows, cols = self.pic.axes
        if cols >= 0:
            words = f"axis {cols}: {self.pic.shape[1]:,}"
            self._text(left, top + self.height + 12, words, "start")
        if rows >= 0:
            self._text(left - 3, top + self.height, f"{self.pic.shape[0]:,}", "end")
            self._text(left, top - 4, f"axis {rows} down", "start")


def _rect(x: float, y: float, w: float, h: float) -> str:
    return f"M{brief(x)} {brief(y)}h{brief(w)}v{brief(h)}h{brief(-w)}z"


def _tint(box: Box) -> str:
    """Return the colour of a box, or none for one that engines share."""
    rank = box.engines[0]
    return TINTS[(rank + rank // len(TINTS)) % len(TINTS)] if not box.shared else ""


def _label(pic: Picture, box: Box) -> str:
    """Return the engine numbers of a box, in short."""
    if pic.replicated:
        every = box.engines == tuple(range(len(box.engines)))  # else a part of the engines
        return f"on {'every engine: ' if every else 'engines '}{numbers(box.engines)}"
    few = len(_intervals(box.engines)) <= 2
    return numbers(box.engines) if few else f"{box.engines[0]} +{len(box.engines) - 1}"


def fit(text: str, width: float, height: float) -> float:
    """Return the font size, at most 10, at which text fits a rectangle of this size."""
    return min(10.0, (width - 3) / (0.62 * len(text)), height / 1.15)


def _legible(
    placed: Placed,
    axes: int | Sequence[int] | None,
    limits: Sequence[Range],
    frame: tuple[float, float],
    lying: bool = False,
) -> Picture:
    """Return the picture with the most boxes whose numbers can be read, on half of the area."""
    for limit in limits:
        pic = picture(placed, axes, limit)
        sides = zip(_frame(pic, *frame), pic.shape[::-1], strict=True)
        x, y = (full / max(1, n) for full, n in sides)
        area = 0
        for box in pic.boxes:
            text, (h, w) = _label(pic, box), _extent(box)
            if fit(text, w * x, h * y) >= 6 or (lying and fit(text, h * y, w * x) >= 6):
                area += h * w
        if 2 * area >= prod(pic.shape):
            break
    return pic


def _extent(box: Box) -> tuple[int, int]:
    return box.rows[1] - box.rows[0], box.cols[1] - box.cols[0]


def _dots(pic: Picture, most: int) -> list[tuple[int, int]]:
    """Return the elements of a view with steps, if they are few enough to draw."""
    if pic.window is None or all(abs(t.step) == 1 or len(t) == 1 for t in pic.window):
        return []
    rows, cols = pic.window
    return list(product(rows, cols)) if len(rows) * len(cols) <= most else []


def _frame(pic: Picture, width: float, height: float) -> tuple[float, float]:
    """Return width and height to scale, unless that would be a thread."""
    if pic.axes[0] < 0:
        return (width if pic.axes[1] >= 0 else height / 2), height / 6
    ratio = min(max(_ratio(*pic.shape), 1 / 4), 2)
    return (width, width * ratio) if width * ratio <= height else (height / ratio, height)


# -- The plot --------------------------------------------------------------------------------------


def plot(
    placed: Placed, dtype: Any = None, ax: Any = None, axes: int | Sequence[int] | None = None
) -> Any:
    """Draw who owns what on matplotlib axes, and return these.

    Parameters
    ----------
    placed : Placed
        The array. A view is drawn as its base, hatched where the view does not reach.
    dtype : optional
        Named in the title.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, in a new figure.
    axes : int or pair of int, optional
        The axes of the view to show, rows first; by default the two longest that are split.
    """
    strip = _shown(placed, axes)[0] < 0
    limits = ((1, 64), (1, 32), (1, 16), (1, 8)) if strip else ((20, 20), (12, 12), (8, 8), (5, 5))
    pic = _legible(placed, axes, limits, (360, 300), lying=True)
    lines, side = _heading(placed, dtype, pic), None
    if ax is None:
        ax, side = _figure(pic, len(lines))
    _draw_boxes(ax, pic, pic.boxes, *_points(ax, pic.shape, _to_scale(pic.shape) and not strip))
    if pic.window is not None:
        _draw_view(ax, pic)
    _draw_axes(ax, pic)
    if side:
        _draw_corner(side, pic)
    ax.set_title("\n".join(lines), loc="left", fontsize=9, parse_math=False)
    return ax


def _heading(placed: Placed, dtype: Any, pic: Picture) -> list[str]:
    """Return the lines of the title."""
    name = "" if dtype is None else f" {shorten(str(np.dtype(dtype)), 40)}"
    kind = "" if pic.window is None else "base "
    head = f"{kind}{shorten(str(placed.shape), 80)}{name}: {placed.layout.spell()}"
    return [line for text in (head, *pic.notes) for line in wrap(shorten(text, 200), 80)]


def _figure(pic: Picture, lines: int) -> tuple[Any, Any]:
    """Return the axes of a new figure: for the picture, and for the first blocks if need be."""
    from matplotlib import pyplot

    beside = bool(pic.corner)
    size = (6.0 + beside, _frame(pic, 5.0, 4.2)[1] + 0.7 + 0.3 * beside + 0.17 * lines)
    figure = pyplot.figure(figsize=size, layout="constrained")
    if beside:
        return tuple(figure.subplots(1, 2, width_ratios=(3.5, 1)))
    return figure.subplots(), None


def _points(ax: Any, shape: tuple[int, int], equal: bool) -> tuple[float, float]:
    """Return about how many points (1/72 inch) one column and one row take."""
    extent, (rows, cols) = ax.get_window_extent(), (max(1, n) for n in shape)
    x, y = (72 / ax.figure.dpi * n for n in (extent.width / cols, extent.height / rows))
    return (min(x, y), min(x, y)) if equal else (x, y)


def _draw_boxes(ax: Any, pic: Picture, boxes: Sequence[Box], x: float, y: float) -> None:
    """Draw rectangles, and engine numbers where these can be read, all upright or on their side."""
    from matplotlib.patches import Rectangle

    for box in boxes:
        tint, (height, width) = _tint(box), _extent(box)
        fill = (tint, OPACITY) if tint else "none"
        hatch = None if tint else "//"
        ax.add_patch(
            Rectangle(
                (box.cols[0], box.rows[0]), width, height, fc=fill, ec="0.5", hatch=hatch, lw=0.8
            )
        )
    fits = [(_label(pic, box), _extent(box)) for box in boxes]
    upright = [fit(text, w * x, h * y) for text, (h, w) in fits]
    lying = [fit(text, h * y, w * x) for text, (h, w) in fits]
    lie = sum(s for s in lying if s >= 4) > 1.2 * sum(s for s in upright if s >= 4)
    sizes = lying if lie else upright
    usual = median([s for s in sizes if s >= 4] or [0])
    for box, (text, _), size in zip(boxes, fits, sizes, strict=True):
        if size < 4:
            continue
        at = (sum(box.cols) / 2, sum(box.rows) / 2)
        paper = None if _tint(box) else {"fc": ax.get_facecolor(), "ec": "none", "pad": 1.5}
        style = {"ha": "center", "va": "center", "rotation": 90 * lie, "bbox": paper}
        ax.text(*at, text, fontsize=min(size, max(6, usual)), **style)


def _draw_view(ax: Any, pic: Picture) -> None:
    """Hatch what is outside the view, frame what it touches, dot its elements."""
    from matplotlib.patches import Rectangle

    rows, cols = pic.window or (range(0), range(0))
    (n, m), full = pic.shape, len(rows) > 0
    top, bottom = (rows[0], rows[-1] + 1) if full else (n, n)
    left, right = (cols[0], cols[-1] + 1) if full else (0, m)
    outside = ((0, top, 0, m), (bottom, n, 0, m), (top, bottom, 0, left), (top, bottom, right, m))
    paper, grey = (ax.get_facecolor(), 0.5), (0.5, 0.5, 0.5, 0.6)
    for r0, r1, c0, c1 in outside:
        if r0 < r1 and c0 < c1:
            at, width, height = (c0, r0), c1 - c0, r1 - r0
            ax.add_patch(
                Rectangle(at, width, height, fc=paper, ec=grey, hatch="\\\\\\", linewidth=0)
            )
    if full:
        at, width, height = (left, top), right - left, bottom - top
        ax.add_patch(
            Rectangle(at, width, height, fill=False, ec=_ink(), linewidth=2.5, clip_on=False)
        )
    if dots := _dots(pic, 400):
        ax.plot([j + 0.5 for _, j in dots], [i + 0.5 for i, _ in dots], ".", color=_ink(), ms=3)


def _ink() -> str:
    from matplotlib import rcParams

    return rcParams["text.color"]


def _draw_axes(ax: Any, pic: Picture) -> None:
    """Set limits, ticks at the block borders, and names."""
    (rows, cols), (n, m) = pic.axes, pic.shape
    ax.set_xlim(0, max(1, m))
    ax.set_ylim(max(1, n), 0)
    if _to_scale(pic.shape) and min(pic.axes) >= 0:
        ax.set_aspect("equal")
    if not pic.boxes:
        ax.text(0.5, 0.5, "no elements", ha="center", va="center", transform=ax.transAxes)
    for axis, number, edges in (
        (ax.xaxis, cols, {0, m} | {b.cols[0] for b in pic.boxes}),
        (ax.yaxis, rows, {0, n} | {b.rows[0] for b in pic.boxes}),
    ):
        if number < 0:
            axis.set_ticks([])
            continue
        ticks = sorted(edges)
        if all(b - a > ticks[-1] / 16 for a, b in pairwise(ticks)):
            axis.set_ticks(ticks)
        axis.set_label_text(f"axis {number}", fontsize=9)
        axis.set_major_formatter("{x:,.0f}")
        axis.set_tick_params(labelsize=8)


def _draw_corner(ax: Any, pic: Picture) -> None:
    """Draw the first blocks, one by one."""
    n, m = (max(t) for t in zip(*((b.rows[1], b.cols[1]) for b in pic.corner), strict=True))
    ax.set(xlim=(0, m), ylim=(n, 0), xticks=[], yticks=[])
    equal = min(pic.axes) >= 0
    if equal:
        ax.set_aspect("equal", anchor="N")
    ax.set_title("first blocks", fontsize=9)
    _draw_boxes(ax, pic, pic.corner, *_points(ax, (n, m), equal))
