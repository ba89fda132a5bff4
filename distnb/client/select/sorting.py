"""``sort``: a copy that lies as the result, sorted there, or where 1-D slices are whole."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of, copied, record_collective
from distnb.client.handle.indexing import one_axis
from distnb.client.reach.whole_functions import written_in_reach
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign
from distnb.client.shape.reshaping import ravel
from distnb.ops import table

__all__ = ["sort"]


@stands_for(np.sort, small="exact")
def sort(
    a: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Array:
    """Return a sorted copy, as ``numpy.sort``; NaN come last.

    The result follows the operand, and a cyclic axis that is sorted gets blocks. However the
    elements are distributed, each engine ends with the part of the layout, and no element is sent
    more than twice. Nothing is sent if the axis is not split.

    Parameters
    ----------
    a : array_like
        What to sort.
    axis : int or None
        Along which axis; None sorts all elements, reshaped to one axis.
    kind : {'quicksort', 'mergesort', 'heapsort', 'stable'}, optional
        ``'mergesort'`` and ``'stable'`` keep equal elements (such as 0.0 and -0.0) in order.
    order : None
        There are no fields.
    stable : bool, optional
        The same as ``kind='stable'``.
    descending : bool
        Whether the largest come first; then NaN come before all others.

    Returns
    -------
    DistArray
        Of the shape of ``a``; without an axis, of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.sort(dnb.array([3, 1, 4, 1, 5, 9, 2, 6])).to_numpy()
    array([1, 1, 2, 3, 4, 5, 6, 9])
    """
    x = a if isinstance(a, Array) else asarray(a)
    if axis is None:
        x, axis = ravel(x), -1
    check_sort(x, axis, kind, order, stable)
    d, size = one_axis(axis, x.ndim), x.session.size
    if descending:  # equal elements stay in order
        return reverse(sort(reverse(x, d), d, kind, stable=stable), d).copy()
    if x.here is not None:
        return array_of(x.session, np.sort(x.here, d, kind, stable=stable))
    layout = table.sorted_layout(x.placed, d, size)
    uncut = table.sorting_layout(x.shape, layout, d, size)
    found = copied(x, x.dtype, uncut)
    _record(found, d, kind, stable)
    return found if uncut == layout else copied(found, x.dtype, layout)


def reverse(x: Array, d: int) -> Array:
    """Return a view with the elements along an axis in reverse order."""
    return x[(slice(None),) * d + (slice(None, None, -1),)]


def sort_into(
    x: Array,
    axis: Any = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> None:
    """Sort in place: where it lies, if it is all of a base and its 1-D slices are in order."""
    if not x.writeable:
        raise ValueError("sort array is read-only")
    usual = order is None and stable is None
    if usual and written_in_reach("sort", np.ndarray.sort, "exact", x, axis, kind):
        return
    check_sort(x, axis, kind, order, stable)
    d, base = one_axis(axis, x.ndim), x.dbase
    whole = base.host is None and x.dview.is_whole(base.shape)
    parts = base.layout.parts(d) if whole else 0
    dealt = parts > 1 and base.layout.axes[d].period(parts)
    if parts and not dealt and _stays(x, d):
        _record(x, d, kind, stable)
    else:
        assign(x, sort(x, axis, kind, order, stable=stable))


def _stays(x: Array, d: int) -> bool:
    """Tell whether a whole base is sorted in its own layout."""
    layout = x.dbase.layout
    return table.sorting_layout(x.shape, layout, d, x.session.size) == layout


def check_sort(
    x: Array, axis: SupportsIndex | None, kind: Any, order: None, stable: bool | None
) -> None:
    """Raise what NumPy raises."""
    np.sort(np.empty((0,) * x.ndim, x.dtype), axis, kind, order, stable=stable)


def _record(x: Array, axis: int, kind: str | None, stable: bool | None) -> None:
    if not x.size:
        return
    keep = bool(stable) or str(kind or "")[:1].lower() in ("s", "m")
    args = (axis, "stable" if keep else None, 0)
    record_collective("sort", (x,), (x,), args)
