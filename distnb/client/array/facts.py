"""What is known of an array without its elements: ``shape``, ``ndim``, ``size`` and more."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.record.namespace import stands_for
from distnb.geometry.layout import Ints

__all__: list[str] = []


def _hollow(a: ArrayLike) -> ArrayLike:
    """Return an array of NumPy's with the shape and dtype of a distributed one: one element."""
    return np.broadcast_to(np.zeros((), a.dtype), a.shape) if isinstance(a, Array) else a


@stands_for(np.shape)
def shape(a: ArrayLike) -> Ints:
    """Return the lengths of the axes."""
    return np.shape(_hollow(a))


@stands_for(np.ndim)
def ndim(a: ArrayLike) -> int:
    """Return the number of axes."""
    return np.ndim(_hollow(a))


@stands_for(np.size)
def size(a: ArrayLike, axis: Axes = None) -> int:
    """Return the number of elements, or the lengths of axes multiplied."""
    return np.size(_hollow(a), axis)  # type: ignore[arg-type]


@stands_for(np.iscomplexobj)
def iscomplexobj(x: ArrayLike) -> bool:
    """Tell whether the dtype is complex."""
    return np.iscomplexobj(_hollow(x))


@stands_for(np.isrealobj)
def isrealobj(x: ArrayLike) -> bool:
    """Tell whether the dtype is not complex."""
    return np.isrealobj(_hollow(x))


def isfortran(a: ArrayLike) -> bool:
    """Tell whether an array of NumPy's lies in Fortran order; a distributed one never does.

    How its elements lie is for the layout.
    """
    return isinstance(a, np.ndarray) and np.isfortran(a)


@stands_for(np.common_type)
def common_type(*arrays: ArrayLike) -> type[np.inexact]:
    """Return the inexact scalar type that arrays are promoted to, as ``numpy.common_type``."""
    return np.common_type(*map(_hollow, arrays))


@stands_for(np.min_scalar_type)
def min_scalar_type(a: ArrayLike) -> np.dtype:
    """Return the smallest dtype that holds a number, which is read; else the array's dtype."""
    one = isinstance(a, Array) and not a.ndim
    return np.min_scalar_type(np.asarray(a) if one else _hollow(a))
