"""Stacked bars as text and as inline SVG, to one scale; never told by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple
from zlib import crc32

from distnb.widgets.drawing.text import brief

__all__ = ["Fill", "bars_svg", "stacked"]

_LEFT, _WIDTH, _PITCH, _TOP = 60, 420, 18, 24


class Fill(NamedTuple):
    """How a class of things looks: a colour, a hatch, and a character in plain text."""

    name: str
    colour: str
    hatch: str
    mark: str


def stacked(parts: Sequence[float], whole: float, fills: Sequence[Fill], width: int = 24) -> str:
    """Return a bar of one character for each class.

    >>> two = (Fill("a", "", "", "#"), Fill("b", "", "", "."))
    >>> stacked((3, 1), 8, two, 8)
    '###.'
    """
    text, total = "", 0.0
    for part, fill in zip(parts, fills, strict=True):
        total += max(0.0, part)
        text += fill.mark * (round(total / (whole or 1) * width) - len(text))
    return text


def bars_svg(
    title: str,
    description: str,
    rows: Sequence[tuple[str, Sequence[float]]],
    fills: Sequence[Fill],
    whole: float,
) -> str:
    """Return one stacked bar for each row; ``whole`` is as long as a bar can be."""
    uid = f"b{crc32(repr((title, rows)).encode()):08x}"
    marks = "".join(
        _bar(_TOP + i * _PITCH, label, parts, fills, whole or 1, uid)
        for i, (label, parts) in enumerate(rows)
    )
    height = _TOP + len(rows) * _PITCH + 4
    return (
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 4}" '
        f'height="{height}" font-family="sans-serif" font-size="10" fill="currentColor">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        f"{_patterns(fills, uid)}{_legend(fills, uid)}{marks}</svg>"
    )


def _bar(
    top: int, label: str, parts: Sequence[float], fills: Sequence[Fill], whole: float, uid: str
) -> str:
    text = f'<text x="{_LEFT - 5}" y="{top + 11}" text-anchor="end">{escape(label)}</text>'
    total = 0.0
    for k, part in enumerate(parts):
        start = round(_LEFT + total / whole * _WIDTH)
        total += max(0.0, part)
        width = round(_LEFT + total / whole * _WIDTH) - start
        if width > 0:
            text += _box(start, top, width, 14, k, fills, uid)
    return text


def _box(
    x: float, y: float, width: float, height: float, k: int, fills: Sequence[Fill], uid: str
) -> str:
    fill = f"url(#{uid}{k})" if fills[k].hatch else fills[k].colour
    return (
        f'<rect x="{brief(x)}" y="{brief(y)}" width="{brief(width)}" height="{brief(height)}" '
        f'fill="{fill}" stroke="#999" stroke-width=".5"/>'
    )


def _patterns(fills: Sequence[Fill], uid: str) -> str:
    """Return the hatches: lines for //, dots for all others."""
    text = ""
    for k, fill in enumerate(fills):
        if fill.hatch:
            lines = '<path d="M0 5L5 0" stroke="#fff"/>'
            dots = '<circle cx="2.5" cy="2.5" r="1" fill="#fff"/>'
            text += (
                f'<pattern id="{uid}{k}" width="5" height="5" patternUnits="userSpaceOnUse">'
                f'<rect width="5" height="5" fill="{fill.colour}"/>'
                f"{lines if fill.hatch == '//' else dots}</pattern>"
            )
    return text


def _legend(fills: Sequence[Fill], uid: str) -> str:
    text, x = "", float(_LEFT)
    for k, fill in enumerate(fills):
        text += _box(x, 6, 9, 9, k, fills, uid)
        text += f'<text x="{brief(x + 12)}" y="14">{escape(fill.name)}</text>'
        x += 24 + 5.6 * len(fill.name)
    return text
