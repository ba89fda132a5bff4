"""Names for the types of arguments that many functions take.

What else they take is NumPy's: ``ArrayLike`` (a distributed array is one) and ``DTypeLike``.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol, SupportsIndex, TypeAlias

import numpy as np
from numpy._globals import _NoValueType as NoValue  # of ``numpy._NoValue``: it is not given
from numpy.typing import ArrayLike

from distnb.geometry.layout import Layout
from distnb.geometry.views import Placed

__all__ = ["Axes", "Dist", "Grid", "Nested", "NoValue", "Number", "Placeable", "Shape", "Subscript"]


class Placeable(Protocol):
    """What lies somewhere: an array, or its ``layout``."""

    @property
    def placed(self) -> Placed:
        """View, base shape and layout in one."""


#: One axis, several, or all.
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
#: Lengths of axes; of one axis, a number.
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
#: What is asked for with ``dist=``: words as in :func:`distnb.array`, or where something lies.
Dist: TypeAlias = str | Sequence[object] | Layout | Placeable | None
#: What is asked for with ``grid=``: how many engines along each split axis.
Grid: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
#: A single number of any kind.
Number: TypeAlias = complex | np.generic
#: One item of what is in brackets.
_Item: TypeAlias = SupportsIndex | slice | EllipsisType | ArrayLike | None
#: What is in brackets.
Subscript: TypeAlias = _Item | tuple[_Item, ...]
#: Arrays in lists in lists.
Nested: TypeAlias = "ArrayLike | list[Nested]"
