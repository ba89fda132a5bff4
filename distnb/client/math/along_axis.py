"""Functions that call the user's: with a 1-D slice of an array, or with the elements of a mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.indexing import one_axis
from distnb.client.record.creation import asarray, empty, zeros_like
from distnb.client.record.eager import session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise

__all__: list[str] = []


@stands_for(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """Call a function for each 1-D slice, as ``numpy.apply_along_axis``.

    The function runs in the notebook, with each slice as a distributed array: what it computes runs
    on the engines, in one batch for all slices if it reads nothing. Functions of NumPy with an
    ``axis`` are faster. The result has the default layout.
    """
    x = asarray(arr)
    d = one_axis(axis, x.ndim)
    moved = x.transpose([*(k for k in range(x.ndim) if k != d), d])
    places = list(np.ndindex(moved.shape[:-1]))
    if not places:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    out: Array | None = None
    for place in places:
        found = asarray(func1d(moved[(*place, ...)], *args, **kwargs), session=x.session)
        if out is None:
            out = empty((*moved.shape[:-1], *found.shape), found.dtype, session=x.session)
        out[(*place, ...)] = found
    assert out is not None
    more = out.ndim - (x.ndim - 1)
    order = list(range(x.ndim - 1))
    order[d:d] = range(x.ndim - 1, x.ndim - 1 + more)
    return out.transpose(order) if order else out


@stands_for(np.piecewise)
def piecewise(
    x: ArrayLike,
    condlist: ArrayLike,
    funclist: Sequence[Any],
    *args: Any,
    **kw: Any,
) -> Array:
    """Choose a function, or a value, by conditions, as ``numpy.piecewise``.

    A function is called in the notebook, with the elements for which its condition holds.
    """
    at = asarray(x, session=session_of(x))
    conditions: Any = condlist
    first = None if np.ndim(conditions) == 0 else conditions[0]
    many = isinstance(first, list | np.ndarray) or (isinstance(first, Array) and first.ndim > 0)
    several = many or (first is not None and not at.ndim)
    given = list(conditions) if several else [conditions]
    masks = [elementwise("not_equal", asarray(c, session=at.session), 0) for c in given]
    if len(funclist) == len(masks) + 1:
        rest = masks[0]
        for mask in masks[1:]:
            rest = rest | mask
        masks.append(~rest)
    elif len(funclist) != len(masks):
        n = len(masks)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = zeros_like(at)
    for mask, function in zip(masks, funclist, strict=True):
        if not callable(function):
            y[mask] = function
            continue
        elements = at[mask]
        if elements.size:
            y[mask] = function(elements, *args, **kw)
    return y
