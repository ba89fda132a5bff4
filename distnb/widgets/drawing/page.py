"""What all views are made of: one stylesheet, and words, tables and folds that it knows.

A view is one HTML element with the stylesheet in it, as outputs of a notebook come and go one by
one. Where it is not let in (a notebook that is not trusted) there are plain tables and pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path

__all__ = [
    "BUDGET",
    "Html",
    "fitting",
    "flow",
    "folded",
    "scrolled",
    "standalone",
    "stylesheet",
    "table_html",
    "view",
]

#: No page is longer than this (bytes), its stylesheet aside.
BUDGET = 10_000

#: Letters that stay on a line of a table. What has more wraps, with room for some words to a line.
_LONG = 24

#: Around a view in a page of its own, for dark and light screens.
STYLE = """\
:root { color-scheme: light dark; }
body { margin: 2em; }
"""


class Html(str):
    """Text that is HTML already, such as a picture in a table."""

    __slots__ = ()


@cache
def stylesheet() -> str:
    """Return the stylesheet of all views, without what only readers of its file need."""
    text = Path(__file__).with_name("views.css").read_text(encoding="utf-8")
    return " ".join(text.partition("*/")[2].split())


def view(body: str) -> str:
    """Return a view: one HTML element with all that it needs.

    >>> view("<p>4 engines</p>").endswith("</style><p>4 engines</p></div>")
    True
    """
    return f'<div class="distnb"><style>{stylesheet()}</style>{body}</div>'


def standalone(title: str, body: str) -> str:
    """Return a whole HTML document that needs nothing else.

    >>> standalone("a < b", "<p/>").splitlines()[0]
    '<!DOCTYPE html>'
    """
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


def fitting(pages: Iterable[str], most: int = BUDGET) -> str:
    """Return as a view the first page within the budget, or the last."""
    page = ""
    for page in pages:
        if len(page.encode()) <= most:
            break
    return view(page)


def flow(*parts: str) -> str:
    """Return parts side by side, as many as there is room for."""
    return f'<div class="flow">{"".join(parts)}</div>'


def folded(summary: str, *parts: str) -> str:
    """Return parts behind a line on which to click."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def scrolled(part: str, label: str) -> str:
    """Return what may be wider than its place: it scrolls there, with keys too."""
    name = escape(label)
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{name}">{part}</div>'


def table_html(
    head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (), label: str = ""
) -> str:
    """Return an HTML table; the first cell of each row names it. Cells are escaped, but for Html.

    The columns in ``left`` are text, and begin on the left; numbers end on the right. ``label`` is
    what it is called for those who listen. What a ``th`` is the head of need not be said: its row
    or its column has no others. Columns that have nothing but a head are left out.

    >>> table_html(("array", "held by"), [("A", "")]).count("<th>")
    2
    """
    rows = list(rows)
    shown = [i for i in range(len(head)) if not rows or any(row[i] for row in rows)]
    top = "".join(_cell("th", head[i], i in left) for i in shown)
    cells = ("".join(_cell("td" if i else "th", row[i], i in left) for i in shown) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return scrolled(table, label or ", ".join(filter(None, head)))


def _cell(tag: str, text: str, left: bool) -> str:
    made = isinstance(text, Html)
    long = " long" * (not made and len(text) > _LONG)
    side = f' class="text{long}"' if left else ""
    return f"<{tag}{side}>{text if made else escape(text)}</{tag}>"
