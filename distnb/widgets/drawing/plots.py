"""What plots share: the matplotlib axes that a user has passed to draw on."""

from __future__ import annotations

from typing import Any

from distnb.common.errors import explain, quoted

__all__ = ["check_axes"]


def check_axes(ax: object) -> Any:
    """Return matplotlib axes that a user passed as ``ax``."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        do = "pass one of plt.subplots(), or none"
        raise TypeError(explain("ax", quoted(ax), "matplotlib axes", do))
    return ax
