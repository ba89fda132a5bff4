"""Who owns what in words and numbers; and the words, tables and bars that other views share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.geometry.axes import Axis, Block, BlockCyclic
from distnb.geometry.layout import NOTEBOOK, Ints
from distnb.geometry.views import Placed
from distnb.measure.events import imbalance
from distnb.measure.quantities import size_text

__all__ = ["describe"]

#: Tables have no more rows than this; neighbours share a row beyond.
ROWS = 16
#: Columns of a terminal, into which text is to fit.
COLUMNS = 80
#: Characters that are left of what is cut for that.
_LEAST = 24


# -- Words and numbers -----------------------------------------------------------------------------


def spell_view(placed: Placed) -> str:
    """Return the place of a view in its base, in words.

    >>> from distnb.geometry.layout import replicated
    >>> from distnb.geometry.views import Placed, View
    >>> whole = View.whole((8, 9))
    >>> spell_view(Placed((8, 9), replicated(2, 2), whole.take(0, 1, 1, 6)))
    'rows 1:7 of base (8, 9)'
    >>> spell_view(Placed((8, 9), replicated(2, 2), whole.take(1, 8, -2, 5).transpose((1, 0))))
    'transpose of columns 8::-2 of base (8, 9)'
    """
    view, ndim = placed.view, len(placed.shape)
    words = {a: _axis_at(ndim, a, i) for a, i in view.fixed}
    for n, (a, start, step) in zip(view.shape, view.dims, strict=True):
        if a >= 0 and (part := _slice(start, step, n, placed.shape[a])) != ":":
            words[a] = f"{_axis_name(ndim, a)} {part}"
    parts = ", ".join(words[a] for a in sorted(words))
    text = f"{parts} of base {placed.shape}" if parts else f"base {placed.shape}"
    order = [a for a, _, _ in view.dims if a >= 0]
    if order == sorted(order, reverse=True) and len(order) > 1:
        text = f"transpose of {text}"
    elif order != sorted(order):
        text += f", axes in order ({', '.join(str(sorted(order).index(a)) for a in order)})"
    for d, (n, (a, _, _)) in enumerate(zip(view.shape, view.dims, strict=True)):
        if a < 0:
            text += f", axis {d} is new" if n == 1 else f", axis {d} repeats {n:,} times"
    return text


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
    for first, last in intervals(ranks):
        name = "notebook" if first == NOTEBOOK else str(first)
        words.append(name if first == last else f"{first}-{last}")
    if len(words) > 4:
        words[2:-1] = ["..."]
    return ",".join(words)


def intervals(ranks: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for r in ranks:
        if found and r == found[-1][1] + 1:
            found[-1][1] = r
        else:
            found.append([r, r])
    return found


def who(ranks: Sequence[int]) -> str:
    return f"engine{'s' if len(ranks) > 1 else ''} {numbers(sorted(ranks))}"


def engines_of(placed: Placed, size: int | None = None) -> range:
    """Return the engines of a session of ``size``; by default, up to the last of the grid."""
    return range(max(size or 1, 1 + max(placed.layout.grid.ranks())))


def bar(share: float, width: int = 16) -> str:
    """Return a bar in eighths of a character.

    >>> bar(0.25), bar(0.02)
    ('████', '▍')
    """
    full, eighths = divmod(round(share * width * 8), 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[eighths] if eighths else "")


def aligned(table: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Return the lines of a table; the columns in ``left`` are aligned left, the others right.

    Columns without any text take no room.
    """
    columns = [
        [cell.ljust(w) if i in left else cell.rjust(w) for cell in column]
        for i, column in enumerate(zip(*table, strict=True))
        for w in [max(len(cell) for cell in column)]
        if w
    ]
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def squeezed(table: Sequence[Sequence[str]], column: int) -> list[tuple[str, ...]]:
    """Return a table whose lines fit into a terminal, if cutting the texts of a column does it.

    Columns that have nothing but a head lose it.

    >>> squeezed([("array", "made by"), ("A", "A = dnb.zeros(9)" + " + 1" * 99)], 1)[1]
    ('A', 'A = dnb.zeros(9) + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1...')
    """
    columns = [texts if any(texts[1:]) else [""] * len(table) for texts in zip(*table, strict=True)]
    table = [*zip(*columns, strict=True)]
    others = [max(map(len, texts)) + 2 for texts in columns]
    room = max(_LEAST, COLUMNS - sum(others[:column] + others[column + 1 :]))
    return [(*r[:column], shorten(r[column], room), *r[column + 1 :]) for r in table]


class Row(NamedTuple):
    """One line of the table: its words, and the mean of elements on its engines."""

    entries: tuple[str, ...]
    mean: float


HEAD = ("engine", "local shape", "elements", "bytes", "share")


def rows_of(placed: Placed, facts: Facts, most: int) -> list[Row]:
    """Return the lines of the table, at most ``most``: neighbouring engines share one beyond."""
    found = []
    for ranks in grouped(sorted(facts.held), most):
        shapes = {placed.local_shape(r) for r in ranks}
        local = _spell_shape(shapes.pop()) if len(shapes) == 1 else "differ"
        held = sum(facts.held[r] for r in ranks)
        share = f"{100 * held / facts.size if facts.size else 0:.1f} %"
        size = size_text(held * facts.item)
        entries = (numbers(ranks), shorten(local, 40), f"{held:,}", size, share)
        found.append(Row(entries, held / len(ranks)))
    return found


def _spell_shape(shape: Ints | None) -> str:
    """Return a local shape for reading; an engine outside the grid has none."""
    return "-" if shape is None else " x ".join(map(str, shape)) or "()"


def facts_line(placed: Placed, dtype: Any) -> str:
    """Return shape, dtype, bytes and layout in words, and the place of a view in its base.

    >>> from distnb.geometry.layout import make_layout
    >>> from distnb.geometry.views import Placed, View
    >>> placed = Placed((6, 4), make_layout((6, 4), 2), View.whole((6, 4)).take(0, 1, 1, 3))
    >>> facts_line(placed, "f8")
    '(3, 4) float64, 96 B, rows 1:4 of base (6, 4): rows in blocks on 2 engines'
    """
    shape, kind = placed.view.shape, np.dtype(dtype)
    size = size_text(prod(shape) * kind.itemsize)
    where = layout_in_words(placed)
    if not placed.view.is_whole(placed.shape):
        where = f"{shorten(spell_view(placed), 140)}: {where}"
    return f"{shorten(str(shape), 80)} {shorten(str(kind), 40)}, {size}, {where}"


def layout_in_words(placed: Placed) -> str:
    """Return how the base is split, for who has never read ``dist=``.

    >>> from distnb.geometry.layout import make_layout
    >>> from distnb.geometry.views import Placed
    >>> def words(shape, *how):
    ...     return layout_in_words(Placed.whole(shape, make_layout(shape, 4, *how)))
    >>> words((8, 8), ("block", "cyclic")), words((9,), ("cyclic", 2))
    ('rows in blocks, columns in turn on 2 x 2 engines', 'elements in turn by 2 on 4 engines')
    >>> words((2,), "replicated"), words((2,), ("engine", 3))
    ('a copy on each of 4 engines', 'all on engine 3')
    """
    layout, grid = placed.layout, placed.layout.grid
    if layout.here:
        return layout.spell()
    split = [a for a in range(len(placed.shape)) if layout.dims[a] >= 0]
    if not split:
        return f"all on engine {grid.first}" if grid.size == 1 else _copies(grid.size)
    how = ", ".join(f"{_axis_name(len(placed.shape), a)} {_way(layout.axes[a])}" for a in split)
    used = " x ".join(str(layout.parts(a)) for a in split)
    engines = f"{used} engine{'s' if layout.split > 1 else ''}"
    more = f", {layout.copies} copies of each" if layout.copies > 1 else ""
    back = any(s < 0 for n, s in zip(grid.sizes, grid.strides, strict=True) if n > 1)
    return f"{how} on {engines}{more}{', last engine first' if back else ''}"


def _copies(count: int) -> str:
    return f"a copy on each of {count} engines"


def _axis_name(ndim: int, a: int) -> str:
    return ("elements", "rows", "columns")[ndim - 1 + a] if ndim <= 2 else f"axis {a}"


def _axis_at(ndim: int, a: int, i: int) -> str:
    return f"{_axis_name(ndim, a)[:-1]} {i}" if ndim <= 2 else f"axis {a} at {i}"


def _way(axis: Axis) -> str:
    """Return how an axis is split."""
    if isinstance(axis, BlockCyclic):
        return "in turn" if axis.k == 1 else f"in turn by {axis.k}"
    return "in blocks" if isinstance(axis, Block) else "in uneven blocks"


class Facts(NamedTuple):
    """What the text and the page both say of a placed array."""

    head: str
    layout: str
    held: dict[int, int]
    size: int
    item: int
    finding: str


def facts_of(placed: Placed, dtype: Any, engines: int | None = None) -> Facts:
    """Return what is said of a placed array, for ``engines`` engines of the session."""
    size, item = prod(placed.view.shape), np.dtype(dtype).itemsize
    held = {r: placed.held(r) for r in engines_of(placed, engines)}
    most = max(held, key=held.__getitem__)
    finding = f"imbalance {imbalance(list(held.values())):.2f} (max/mean of elements)"
    if held[most] > min(held.values()):
        finding += f", most on engine {most}"
    if placed.layout.here:
        finding = "no engine holds any of it; x.redistribute() is a copy on the engines"
    name = shorten(str(np.dtype(dtype)), 40)
    head = f"{shorten(str(placed.view.shape), 80)} {name}, {size_text(size * item)}"
    layout = shorten(placed.layout.spell(), 100)
    if not placed.view.is_whole(placed.shape):
        memory = prod(placed.shape) * placed.layout.copies * item
        more = f", {size_text(memory)} in memory" if memory != size * item else ""
        layout = f"{shorten(spell_view(placed), 160)}{more}: {layout}"
    return Facts(head, layout, held, size, item, finding)


def together(count: int, rows: int, what: str) -> list[str]:
    """Say that engines share rows, if they do, and which ``what`` of them a row is."""
    if rows == count:
        return []
    size = len(grouped(range(count), rows)[0])
    each = f"{size}" if count % size == 0 else f"up to {size}"
    return [f"{count:,} engines in {rows} rows: each row is the {what} of {each}"]


def describe(placed: Placed, dtype: Any, size: int | None = None, memory: Any = None) -> str:
    """Return who holds how much, as plain text; and what is said of ``memory``.

    Shares are of the view's elements; with copies they add up to more than 100 %. The local shape
    is that of the engine's part of the base. All ``size`` engines of the session are listed (by
    default, those up to the last of the grid); one outside the grid has no part, and 0 elements.

    >>> from distnb.geometry.layout import make_layout
    >>> from distnb.geometry.views import Placed, View
    >>> print(describe(Placed((5,), make_layout((5,), 2), View.whole((5,))), "f8"))
    (5,) float64, 40 B: block on 2 engines
    engine  local shape  elements  bytes   share  of the most
         0            3         3   24 B  60.0 %  ████████████████
         1            2         2   16 B  40.0 %  ██████████▋
    imbalance 1.20 (max/mean of elements), most on engine 0
    """
    facts = facts_of(placed, dtype, size)
    rows = rows_of(placed, facts, ROWS)
    most = max(row.mean for row in rows) or 1
    table = [(*HEAD, "of the most"), *((*entries, bar(mean / most)) for entries, mean in rows)]
    whole = placed.view.is_whole(placed.shape)
    head = [f"{facts.head}: {facts.layout}"] if whole else [facts.head, facts.layout]
    more = together(len(facts.held), len(rows), "sum")
    tail = [memory.tell()] if memory else []
    return "\n".join([*head, *aligned(table, left=[5]), *more, facts.finding, *tail])
