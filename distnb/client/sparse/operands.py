"""The other operand of an operator: what it is, and SciPy's answer to what comes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.sparse.commands import each, recut
from distnb.client.sparse.scipys import result_of
from distnb.client.sparse.structure import Stored

__all__ = ["compared", "is_dense", "is_scalar", "merged", "packed"]

#: Comparisons -> the method of SciPy's arrays.
_METHODS = {
    **{"add": "__add__", "subtract": "__sub__", "equal": "__eq__", "not_equal": "__ne__"},
    **{"less": "__lt__", "less_equal": "__le__", "greater": "__gt__", "greater_equal": "__ge__"},
    **{"multiply": "multiply", "maximum": "maximum", "minimum": "minimum"},
}


def is_scalar(x: object) -> bool:
    """Tell whether something is a single number."""
    return bool(np.isscalar(x)) or (isinstance(x, np.ndarray | Array) and x.ndim == 0)


def is_dense(x: object) -> bool:
    """Tell whether something is a dense array, or can be made one."""
    return isinstance(x, np.ndarray | Array | list | tuple)


def packed(x: Any) -> tuple[str, Any]:
    """Return a scalar as it travels: its dtype, if it has one, and its value."""
    if isinstance(x, Array):
        x = x.to_numpy()[()]
    if isinstance(x, np.ndarray):
        x = x[()]
    return (x.dtype.str, x.item()) if isinstance(x, np.generic) else ("", x)


def merged(name: str, x: Stored, y: Stored) -> Stored:
    """Return what an operator gives of two sparse arrays that are cut along one axis."""
    method = _METHODS[name]
    found = result_of(lambda a, b: getattr(a, method)(b), x.data.dtype, y.data.dtype)
    sorted_ = x.structure.canonical and y.structure.canonical
    return each(
        "operator",
        (x, recut(y, x.structure.cuts)),
        found.dtype,
        (method,),
        canonical=sorted_,
    )


def compared(name: str, x: Stored, scalar: Any) -> Stored:
    """Return what a comparison, or a maximum, gives of a sparse array and a number."""
    method, (kind, value) = _METHODS[name], packed(scalar)
    number = np.dtype(kind).type(value) if kind else value
    found = result_of(lambda a: getattr(a, method)(number), x.data.dtype)
    return each("operator", (x,), found.dtype, (method, kind, value))
