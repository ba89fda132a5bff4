"""Small pages: tables of text, the budget of what is kept in a notebook, a page of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["BUDGET", "fitting", "standalone", "table_html"]

#: No page is longer than this (bytes).
BUDGET = 10_000

#: For dark and light screens.
STYLE = """\
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; }
table { border-collapse: collapse; margin: .5em 0; }
th, td { padding: .15em .6em; text-align: right; white-space: nowrap; }
tr { border-bottom: 1px solid #8885; }
th { font-weight: 600; }
svg { max-width: 100%; }
"""


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
    """Return the first page within the budget, or the last."""
    page = ""
    for page in pages:
        if len(page.encode()) <= most:
            break
    return page


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Return an HTML table; the first cell of each row names it. Cells are escaped.

    The columns in ``left`` are text, and begin on the left; numbers end on the right.

    What a ``th`` is the head of need not be said: its row or its column has no others.
    """
    side = [' style="text-align:left"' if i in left else "" for i in range(len(head))]
    top = "".join(f"<th{at}>{escape(cell)}</th>" for at, cell in zip(side, head, strict=True))
    body = "".join(
        f"<tr><th{side[0]}>{escape(first)}</th>"
        + "".join(f"<td{at}>{escape(cell)}</td>" for at, cell in zip(side[1:], rest, strict=False))
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
