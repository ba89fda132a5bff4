"""Methods of NumPy's arrays that are functions under another name, or next to nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.linalg.products import dot
from distnb.client.select.ordering import argpartition, argsort, partition
from distnb.client.select.searching import searchsorted

__all__: list[str] = []


def _argsort(
    self: DistArray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> DistArray:
    """Return the positions of the elements in sorted order; see :func:`distnb.argsort`."""
    return argsort(self, axis, kind, order, stable=stable)


def _argpartition(
    self: DistArray, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> DistArray:
    """Return the positions of a partition; see :func:`distnb.argpartition`."""
    return argpartition(self, kth, axis, kind, order)


def _partition(
    self: DistArray, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Bring the elements into an order that is right at ``kth``, in place."""
    if not self._writeable:
        raise ValueError("partition array is read-only")
    self[...] = partition(self, kth, axis, kind, order)


def _searchsorted(self: DistArray, v: Any, side: str = "left", sorter: Any = None) -> DistArray:
    """Find where elements belong in the sorted array; see :func:`distnb.searchsorted`."""
    return searchsorted(self, v, side, sorter)


def _dot(self: DistArray, b: Any, out: Any = None) -> DistArray:
    """Return the product with another array; see :func:`distnb.dot`."""
    return dot(self, b, out)


def _tobytes(self: DistArray, order: Any = "C") -> bytes:
    """Return the elements as bytes; obeys the gather budget."""
    return self.__array__().tobytes(order)


def _contains(self: DistArray, value: Any) -> bool:
    """Tell whether an element equals the value."""
    return bool(np.any(self == value))


def _copy(self: DistArray) -> DistArray:
    """Return a copy, for the module ``copy``."""
    return self.copy()


def _deepcopy(self: DistArray, memo: Any) -> DistArray:
    """Return a copy, for the module ``copy``."""
    return self.copy()


for _name, _function in {
    "argsort": _argsort,
    "argpartition": _argpartition,
    "partition": _partition,
    "searchsorted": _searchsorted,
    "dot": _dot,
    "tobytes": _tobytes,
    "__contains__": _contains,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
}.items():
    _function.__name__, _function.__qualname__ = _name, f"DistArray.{_name}"
    setattr(DistArray, _name, _function)
