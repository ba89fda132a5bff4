"""Pictures of the pages in the colours of light and of dark pages, under two names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: The background and the text of the theme's dark pages.
GROUND, TEXT = "#14181e", "#ced6dd"

#: Settings of matplotlib, by the end of a file's name.
STYLES: dict[str, dict[str, Any]] = {
    "": {"savefig.facecolor": "white"},
    "-dark": {
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), GROUND),
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), TEXT),
        **dict.fromkeys(("axes.edgecolor", "grid.color"), "#7d8794"),
        "legend.facecolor": GROUND,
    },
}


@contextmanager
def style(end: str) -> Iterator[None]:
    """Draw in the colours of one of ``STYLES``."""
    from matplotlib import rc_context

    with rc_context(STYLES[end]):
        yield


def in_both(path: Path) -> Iterator[Path]:
    """Yield where to save a picture, in the colours of light pages and then of dark ones."""
    for end in STYLES:
        with style(end):
            yield path.with_stem(path.stem + end)
