"""What the notebook shows: who owns which elements, and where the time went.

Everything here is a pure reader of specs (:class:`~distnb.views.Placed`) and of records
(:class:`~distnb.events.Report`); nothing talks to an engine, so that a repr is always cheap and
works on a broken array too. Text carries every number; the small pages add a picture in inline SVG
without scripts; ``plot`` draws on matplotlib axes, which are imported only then.
"""

from __future__ import annotations

from distnb.widgets.layout import plot, to_html
from distnb.widgets.memory import Memory, memory_of
from distnb.widgets.moving import Cost
from distnb.widgets.picture import Box, Picture, blocks, picture  # the function hides its module
from distnb.widgets.several import Several
from distnb.widgets.text import describe
from distnb.widgets.timing import TimeReport

__all__ = [
    "Box",
    "Cost",
    "Memory",
    "Picture",
    "Several",
    "TimeReport",
    "blocks",
    "describe",
    "memory_of",
    "picture",
    "plot",
    "to_html",
]
