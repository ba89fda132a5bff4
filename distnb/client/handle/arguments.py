"""Names for the types of arguments that many functions take.

What else they take is NumPy's: ``ArrayLike`` (a distributed array is one) and ``DTypeLike``.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from types import EllipsisType
from typing import Protocol, SupportsIndex, TypeAlias

import numpy as np
from numpy._globals import _NoValueType as NoValue  # of ``numpy._NoValue``: it is not given
from numpy.typing import ArrayLike

from distnb.geometry.layout import Layout
from distnb.geometry.views import Placed

__all__ = [
    "Axes",
    "Dist",
    "Grid",
    "Nested",
    "NoValue",
    "Number",
    "Order",
    "Placeable",
    "Shape",
    "Subscript",
    "kept",
    "order_of",
    "truly",
]


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
Dist: TypeAlias = bool | str | Sequence[object] | Layout | Placeable | None
#: What is asked for with ``grid=``: how many engines along each split axis.
Grid: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
#: In which order elements are read: ``'C'``, ``'F'``, ``'A'`` or ``'K'``, in capitals or not.
Order: TypeAlias = str | None
#: A single number of any kind.
Number: TypeAlias = complex | np.generic
#: One item of what is in brackets.
_Item: TypeAlias = SupportsIndex | slice | EllipsisType | ArrayLike | None
#: What is in brackets.
Subscript: TypeAlias = _Item | tuple[_Item, ...]
#: Arrays in lists in lists.
Nested: TypeAlias = "ArrayLike | list[Nested]"


def order_of(order: Order, default: str = "C", among: str = "CFAK") -> str:
    """Return an order as a capital; raises what NumPy raises for others.

    How elements lie in memory is for the layout: an order only says how they are read.
    """
    if order is None:
        return default
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    found = order.upper()
    if found not in tuple("CFAK"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if found not in among:
        raise ValueError("only 'C' or 'F' order is permitted")
    return found


def kept(keepdims: SupportsIndex | NoValue) -> bool:
    """Tell whether reduced axes are kept: integers say so, as to NumPy, and nothing else does."""
    return not isinstance(keepdims, NoValue) and bool(index(keepdims))


def truly(option: object) -> bool:
    """Tell whether an option is on that may be anything; where it is not given it is off."""
    return option is not np._NoValue and bool(option)
