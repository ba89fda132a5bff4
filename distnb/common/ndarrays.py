"""What each small step asks of ndarrays; compiled modules find it in ``ndarrays.pxd``."""

from __future__ import annotations

import numpy as np

__all__ = ["address", "in_c", "nbytes", "same_shape"]


def address(a: np.ndarray) -> int:
    """Return where the first element is."""
    return a.__array_interface__["data"][0]


def nbytes(a: np.ndarray) -> int:
    """Return the bytes of all elements."""
    return a.nbytes


def same_shape(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether arrays have one shape."""
    return a.shape == b.shape


def in_c(a: np.ndarray) -> bool:
    """Tell whether an array is in C order."""
    return a.flags.c_contiguous
