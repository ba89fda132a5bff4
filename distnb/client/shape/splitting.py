"""Splitting arrays: views of parts along an axis."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.indexing import one_axis
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.geometry.axes import Block

__all__: list[str] = []


@stands_for(np.unstack)
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return a view for each index of an axis."""
    found = asarray(x)
    if found.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    d = one_axis(axis, found.ndim)
    return tuple(found.alias(found.dview.fix(d, i)) for i in range(found.shape[d]))


@stands_for(np.array_split)
def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[Array]:
    """Return views of parts along an axis, as ``numpy.array_split``; lengths may differ by 1."""
    x = asarray(ary)
    d = one_axis(axis, x.ndim)
    before = (slice(None),) * d
    cuts = _cuts(x.shape[d], indices_or_sections)
    return [x[(*before, slice(low, high))] for low, high in pairwise(cuts)]


def _cuts(n: int, given: Any) -> list[int]:
    """Return where parts of an axis begin and end."""
    try:
        inner: Iterable[Any] = list(given)
    except TypeError:
        parts = int(given)
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        return [Block().bounds(n, parts, c)[0] for c in range(parts)] + [n]
    return [0, *(operator.index(i) for i in inner), n]


@stands_for(np.split)
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return views of equal parts along an axis, or of parts that begin at given indices."""
    x = asarray(ary)
    if not hasattr(indices_or_sections, "__len__"):
        n = x.shape[one_axis(axis, x.ndim)]
        if n % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def _at_least(x: ArrayLike, least: int, name: str) -> Array:
    """Return an array that has the axes to be split."""
    found = asarray(x)
    if found.ndim < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
    return found


@stands_for(np.hsplit)
def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Array]:
    """Return views of parts along the second axis (of a vector: the first), as NumPy's."""
    x = _at_least(ary, 1, "hsplit")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@stands_for(np.vsplit)
def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Array]:
    """Return views of parts along the first axis, as ``numpy.vsplit``."""
    return split(_at_least(ary, 2, "vsplit"), indices_or_sections, 0)


@stands_for(np.dsplit)
def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Array]:
    """Return views of parts along the third axis, as ``numpy.dsplit``."""
    return split(_at_least(ary, 3, "dsplit"), indices_or_sections, 2)
