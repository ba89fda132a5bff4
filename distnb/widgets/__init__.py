"""What the notebook shows: who owns which elements, and where the time went.

Everything here is a pure reader of specs (:class:`~distnb.geometry.views.Placed`) and of records
(:class:`~distnb.measure.events.Report`); nothing talks to an engine, so that a repr is always cheap
and works on a broken array too. Text carries every number; the small pages add a picture in inline
SVG without scripts; ``plot`` draws on matplotlib axes, which are imported only then.
"""

from __future__ import annotations

import importlib
from typing import Any

from distnb.measure.quantities import size_text
from distnb.widgets.drawing.text import describe, facts_line

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

#: Module -> what it has. It is imported when that is asked for: a repr is one line of words.
_VIEWS = {
    "layouts.card": "card",
    "layouts.engine_memory": "Memory memory_of",
    "layouts.layout_view": "plot to_html",
    "layouts.migration": "Cost",
    "layouts.picture": "Box Picture blocks picture",
    "layouts.several": "Several",
    "layouts.sparse_view": "plot_sparse sparse_card",
    "status.status": "listing",
    "times.timing": "TimeReport",
}
_MODULES = {name: module for module, names in _VIEWS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a view."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the names of views, for completion."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
