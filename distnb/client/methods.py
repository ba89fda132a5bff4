"""Methods of NumPy's arrays that are functions under another name, or next to nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.array import DistArray
from distnb.client.products import dot

__all__: list[str] = []


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
    "dot": _dot,
    "tobytes": _tobytes,
    "__contains__": _contains,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
}.items():
    _function.__name__, _function.__qualname__ = _name, f"DistArray.{_name}"
    setattr(DistArray, _name, _function)
