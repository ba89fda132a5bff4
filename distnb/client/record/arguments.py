"""Types of the arguments that many functions take; what they mean is told where they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from numpy._globals import _NoValueType as NoValue

if TYPE_CHECKING:
    from distnb.client.record.array import Array
    from distnb.client.record.placement import Placement
    from distnb.geometry.layout import Layout

__all__ = ["Axes", "Dist", "GridLike", "NoValue", "Out", "Size"]

#: ``axis=`` of what takes several axes; None are all.
Axes: TypeAlias = int | Sequence[int] | None
#: ``size=``: the shape of what is drawn; None is a single number.
Size: TypeAlias = int | Sequence[int] | None
#: ``dist=``: as for :func:`distnb.geometry.layout.make_layout`, or as another array lies.
Dist: TypeAlias = "str | Sequence[object] | Layout | Placement | Array | None"
#: ``grid=``: how many engines along each split axis.
GridLike: TypeAlias = int | Sequence[int] | None
#: ``out=`` of ufuncs and their like.
Out: TypeAlias = "Array | tuple[Array | None, ...] | None"
