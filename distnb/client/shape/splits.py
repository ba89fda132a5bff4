"""Arrays as they are split among tasks: what `foreach` gets."""

from __future__ import annotations

import operator
from typing import Any

from distnb.client.handle.indexing import one_axis
from distnb.common.errors import explain, quoted

__all__ = ["Splits"]


class Splits:
    """An array, cut along an axis into parts of which each task of :func:`distnb.foreach` gets one.

    Made by ``A.splits(parts, axis)``; nothing is sent or copied.

    Attributes
    ----------
    array : DistArray or sparse array
        What is split.
    parts : int
        The number of parts, and of tasks.
    axis : int
        What is cut.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     parts = dnb.arange(10, dist="block").splits(4)
    ...     len(parts), dnb.foreach(len, parts)
    (4, [3, 2, 3, 2])
    """

    def __init__(self, array: Any, parts: int | None, axis: int) -> None:
        self.array = array
        self.axis = one_axis(axis, array.ndim)
        try:
            self.parts = array.session.size if parts is None else operator.index(parts)
        except TypeError:
            self.parts = 0
        if self.parts < 1:
            raise ValueError(
                explain(
                    "parts", quoted(parts), "an integer >= 1", "leave it out for one per engine"
                )
            )

    def __len__(self) -> int:
        return self.parts

    def __repr__(self) -> str:
        x = self.array
        of = f"<{type(x).__name__} {x.shape} {x.dtype}>"
        return f"<{self.parts} parts along axis {self.axis} of {of}>"
