"""Parts of complex numbers, and bytes as another dtype: views in the notebook."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.aliasing import copy_of, look_at
from distnb.client.handle.array import Array, numeric
from distnb.client.record.operations import assign, elementwise
from distnb.common.errors import explain

__all__ = ["part_of_complex", "set_imag", "set_real", "view_as"]


def part_of_complex(x: Array, name: str) -> Any:
    """Return the real or the imaginary part, which in the notebook is a view.

    On engines it is a copy, and refuses to be written while the array is there.
    """
    here = x.here
    if here is not None:
        return look_at(x, getattr(here, name))
    found = elementwise(name, x)
    if not isinstance(found, Array):
        return found
    if x.dtype.kind != "c":
        found.writeable = False  # zeros, as NumPy's
        return found
    return copy_of(x, found)


def set_real(x: Array, value: ArrayLike) -> None:
    """Do ``x.real = value``."""
    assign(x if x.dtype.kind != "c" else _part_here(x, "real"), value)


def set_imag(x: Array, value: ArrayLike) -> None:
    """Do ``x.imag = value``; real arrays have none."""
    if x.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    assign(_part_here(x, "imag"), value)


def _part_here(x: Array, name: str) -> Any:
    if x.here is None:
        raise ValueError(
            explain(
                f"assignment to x.{name}",
                "an array on engines",
                "one in the notebook",
                "assign real + 1j * imag to x[...]",
            )
        )
    return part_of_complex(x, name)


def view_as(x: Array, dtype: DTypeLike | None) -> Any:
    """Return a view of all of an array; of its bytes as another dtype, if it is in the notebook."""
    if dtype is None or np.dtype(dtype) == x.dtype:
        return x.alias(x.dview)
    here = x.here
    if here is None:
        raise ValueError(
            explain(
                "view(dtype)",
                f"an array on engines, of {x.dtype}",
                "one in the notebook",
                "use astype(), or to_numpy().view()",
            )
        )
    return look_at(x, here.view(numeric(dtype)))
