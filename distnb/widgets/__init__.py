"""What the notebook shows: who owns which elements, and where the time went.

Everything here is a pure reader of specs (:class:`~distnb.geometry.views.Placed`) and of records
(:class:`~distnb.measure.events.Report`); nothing talks to an engine, so that a repr is always cheap
and works on a broken array too. Text carries every number; the small pages add a picture in inline
SVG without scripts; ``plot`` draws on matplotlib axes, which are imported only then.
"""

from __future__ import annotations

from distnb.measure.quantities import size_text
from distnb.widgets.drawing.text import describe, facts_line
from distnb.widgets.layouts.card import card  # the function hides its module
from distnb.widgets.layouts.engine_memory import Memory, memory_of
from distnb.widgets.layouts.layout_view import plot, to_html
from distnb.widgets.layouts.migration import Cost
from distnb.widgets.layouts.picture import (  # the function hides its module
    Box,
    Picture,
    blocks,
    picture,
)
from distnb.widgets.layouts.several import Several
from distnb.widgets.layouts.sparse_view import plot_sparse, sparse_card
from distnb.widgets.status.status import listing
from distnb.widgets.times.timing import TimeReport

__all__ = [
    "Box",
    "Cost",
    "Memory",
    "Picture",
    "Several",
    "TimeReport",
    "blocks",
    "card",
    "describe",
    "facts_line",
    "listing",
    "memory_of",
    "picture",
    "plot",
    "plot_sparse",
    "size_text",
    "sparse_card",
    "to_html",
]
