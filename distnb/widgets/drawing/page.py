"""A page of its own around what a notebook shows, for dark and light screens."""

from __future__ import annotations

from html import escape

__all__ = ["standalone"]

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
