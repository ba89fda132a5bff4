"""The order of elements, equal ones by their places: on engines, and in the notebook."""

from __future__ import annotations

import numpy as np

__all__ = ["stable_order", "taken"]

#: Elements of a row, and of all rows, up to which NumPy's stable sort is as quick.
_FEW, _SMALL = 64, 1 << 12


def stable_order(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return ``np.argsort(x, axis, kind="stable")``, in half the time or less.

    NumPy's quick sort uses the processor's vectors, and its stable sort does not. The places of
    equal elements are sorted afterwards: as numbers of their runs, which are unlike, and places.

    >>> stable_order(np.array([3.0, 1.0, np.nan, 1.0, np.nan]))
    array([1, 3, 0, 2, 4])
    """
    n = x.shape[axis] if x.ndim else 0
    # Short integers are sorted digit by digit; of complex numbers parts can be NaN.
    if n <= _FEW or x.size <= _SMALL or x.dtype.itemsize <= 2 or x.dtype.kind not in "fiu":
        return np.argsort(x, axis, kind="stable")
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    return np.moveaxis(_of_rows(rows.reshape(-1, n)).reshape(rows.shape), -1, axis)


def _of_rows(rows: np.ndarray) -> np.ndarray:
    """Return the stable order of each row of a matrix."""
    n = rows.shape[1]
    order: np.ndarray = np.argsort(rows, -1)
    found = taken(rows, order)
    unlike = found[:, 1:] > found[:, :-1]
    if unlike.all():
        return order
    if rows.dtype.kind == "f":  # NaN come last, and are a run
        nan = np.isnan(found)
        unlike |= nan[:, 1:] & ~nan[:, :-1]
    runs = np.zeros(rows.shape, np.intp)
    np.cumsum(unlike, -1, out=runs[:, 1:])
    runs *= n
    order += runs
    order.sort(-1)
    order -= runs
    return order


def taken(rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return ``np.take_along_axis(rows, order, -1)`` of a contiguous matrix, in half the time.

    >>> taken(np.array([[5, 6], [7, 8]]), np.array([[1], [0]]))
    array([[6],
           [7]])
    """
    found = np.empty(order.shape, rows.dtype)
    first = np.arange(len(rows))[:, None] * rows.shape[1]
    # Any mode but "raise", for which NumPy would copy: no place is out of bounds.
    return rows.reshape(-1).take(order + first, out=found, mode="wrap")
