"""An array at a glance: elements, a line of facts, who owns what; and, folded, every engine.

The question that it answers in five seconds: what is in it, and who holds it?
"""

from __future__ import annotations

from html import escape
from typing import Any

from distnb.geometry.views import Placed
from distnb.widgets.drawing.page import fitting, flow, folded, table_html
from distnb.widgets.drawing.text import HEAD, ROWS, Facts, facts_line, facts_of, rows_of, together
from distnb.widgets.layouts.engine_memory import Memory, bars
from distnb.widgets.layouts.layout_svg import Svg, frame_of, legible
from distnb.widgets.layouts.picture import shown_axes

__all__ = ["card"]

#: Width and height of the picture, in pixels.
_FRAME = (190, 110)
#: Why there are no elements, in words.
_WORDS = {
    "being computed": "the engines are still computing it; show it again for its elements",
    "closed session": "its session is closed",
    "engines gone": "its engines are gone",
    "engines reported an error": "the engines reported an error; the next operation raises it",
    "content lost": "its content is lost",
    "": "",
}


def card(
    placed: Placed,
    dtype: Any,
    values: str,
    missing: str,
    size: int | None = None,
    memory: Memory | None = None,
) -> str:
    """Return an array as one HTML element of at most 10 kB, without scripts.

    ``values`` are its elements as text; where there are none, ``missing`` is why.
    """
    tries = ((14, ROWS), (8, ROWS), (4, 8), (2, 4), (1, 4))
    return fitting(_page(placed, dtype, values, missing, size, memory, *limits) for limits in tries)


def _page(
    placed: Placed,
    dtype: Any,
    values: str,
    missing: str,
    size: int | None,
    memory: Memory | None,
    boxes: int,
    most: int,
) -> str:
    facts = facts_of(placed, dtype, size)
    why = _WORDS.get(missing, f"no elements: {missing}")
    shown = f'<pre tabindex="0">{escape(values)}</pre>' if values else f"<i>{escape(why)}</i>"
    words = f'<div class="words">{shown}<p>{escape(facts_line(placed, dtype))}</p></div>'
    picture = _picture(placed, facts, size, boxes)
    return flow(words, picture) + _engines(placed, facts, memory, most)


def _picture(placed: Placed, facts: Facts, size: int | None, boxes: int) -> str:
    """Return who owns what, of elements on engines, where there is more than a number."""
    if placed.layout.here or not placed.view.shape or 0 in placed.shape:
        return ""
    limits = ((boxes, boxes), (min(boxes, 4), min(boxes, 5)), (1, 1))
    pic = legible(placed, None, size, limits, _FRAME)
    frame = frame_of(pic, *_FRAME)
    if shown_axes(placed, None)[0] < 0:
        frame = (_FRAME[0], 26.0)
    below = ["numbers: engines that hold it", *(n for n in pic.notes if n.startswith("nothing"))]
    svg = Svg(pic, frame).draw(facts, pic.notes)
    return f"<div>{svg}<br/><small>{escape('; '.join(below))}</small></div>"


def _engines(placed: Placed, facts: Facts, memory: Memory | None, most: int) -> str:
    """Return the table of the engines, folded."""
    if placed.layout.here:
        return ""
    rows = rows_of(placed, facts, most)
    notes = "".join(f"<br/>{escape(note)}" for note in together(len(facts.held), len(rows), "sum"))
    beside = f"<div>{bars(memory, facts.head, most)}</div>" if memory else ""
    tail = f"<br/>{escape(memory.tell())}" if memory else ""
    table = table_html(HEAD, (row.entries for row in rows), label="engines")
    more = f"<p>{escape(facts.layout)}{notes}{tail}</p>"
    return folded(f"engines: {_balance(facts)}", flow(table, beside), more)


def _balance(facts: Facts) -> str:
    """Return how evenly engines hold it, in words."""
    least, most = min(facts.held.values()), max(facts.held.values())
    if least == most:
        return f"{most:,} element{'s' if most != 1 else ''} each"
    rank = max(facts.held, key=facts.held.__getitem__)
    ratio = most * len(facts.held) / sum(facts.held.values())
    return f"{least:,} to {most:,} elements each, most on engine {rank}: {ratio:.2f} times the mean"
