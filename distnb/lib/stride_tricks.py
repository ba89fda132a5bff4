"""``distnb.lib.stride_tricks``: windows that slide over an array."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as _numpys
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes, Shape
from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray, empty
from distnb.client.record.namespace import stands_for
from distnb.client.shape.joining import stack
from distnb.common.errors import explain
from distnb.left_out import refusal

__all__ = ["sliding_window_view"]

__getattr__ = refusal(__name__)


@stands_for(_numpys)
def sliding_window_view(
    x: ArrayLike,
    window_shape: Shape,
    axis: Axes = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Array:
    """Return the windows of an array, as a read-only copy.

    It is not a view: an element of a view has one place in it. It is made of slices, so only
    borders are sent, and lies as the array does; it needs the memory of all windows. To sum or
    compare neighbours, sum or compare slices instead.

    Parameters
    ----------
    x : array_like
        The elements.
    window_shape : int or tuple of int
        How long windows are along ``axis``.
    axis : int or tuple of int, optional
        Along which axes windows slide; by default all.
    subok : bool
        Changes nothing.
    writeable : bool
        False: the result is a copy.

    Returns
    -------
    DistArray
        A window for each place, its elements along the last axes.

    Raises
    ------
    ValueError
        If a window is longer than its axis, or the result is to be written into.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.stride_tricks.sliding_window_view(dnb.arange(5), 3).to_numpy()
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    if writeable:
        raise ValueError(
            explain("writeable", True, "False: the windows are a copy", "write into the array")
        )
    found = asarray(x)
    several = isinstance(window_shape, tuple | list) or np.ndim(window_shape)  # type: ignore[arg-type]
    given: Any = window_shape if several else (window_shape,)
    lengths = tuple(operator.index(n) for n in given)
    for length, d in zip(lengths, _axes(lengths, axis, found.ndim), strict=True):
        found = _slid(found, length, d)
    found = found if found is not x else found.copy()
    return found.alias(found.dview, writeable=False)


def _axes(lengths: tuple[int, ...], axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return the axis of each window; raises what NumPy raises."""
    if any(n < 0 for n in lengths):
        raise ValueError("`window_shape` cannot contain negative values")
    every: Any = range(ndim) if axis is None else axis
    axes = normalize_axis_tuple(every, ndim, allow_duplicate=True)
    if len(lengths) != len(axes):
        raise ValueError(
            explain("window_shape", f"{len(lengths)} lengths", f"{len(axes)}", "give one an axis")
        )
    return axes


def _slid(x: Array, length: int, axis: int) -> Array:
    """Return the windows along one axis: stacked by their places, or by themselves if fewer."""
    n = x.shape[axis] - length + 1
    if n <= 0:
        raise ValueError("window shape cannot be larger than input array shape")
    if not length:
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :], 0)
        return empty(shape, x.dtype, session=x.session)
    before = (slice(None),) * axis
    if length <= n:
        return stack([x[(*before, slice(j, j + n))] for j in range(length)], -1)
    order = [d for d in range(x.ndim) if d != axis] + [axis]
    return stack([x[(*before, slice(i, i + length))].transpose(order) for i in range(n)], axis)
