"""What each small step asks of ndarrays and of Python; compiled modules find it in the ``.pxd``."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np

__all__ = [
    "COMPILED",
    "HALF",
    "POOLED",
    "QUICK",
    "address",
    "bare",
    "in_c",
    "is_fixed",
    "is_of",
    "nbytes",
    "of_both",
    "running",
    "same_shape",
]


#: Whether the caller is compiled: then no line of Python's need be between NumPy and the user's,
#: and NumPy itself warns where it is to.
COMPILED = False
#: Bytes up to which operands in reach, and results, are not looked at twice.
QUICK = 1 << 23
#: Bytes of one operand, as the result takes as much: steps on arrays of a size are all done here,
#: or none.
HALF = QUICK >> 1
#: Bytes from which results are worth memory of a pool, in contexts of ours (``numpy_pool.c``).
POOLED = 1 << 17
#: Makes an object of a class, and no more.
bare: Callable[[type[Any]], Any] = object.__new__


def running() -> int:
    """Return where the globals of Python's function are that calls a compiled one."""
    return 0


def is_of(package: str) -> bool:
    """Tell whether these are of a module of a package."""
    return True


def address(a: np.ndarray) -> int:
    """Return where the first element is."""
    return a.__array_interface__["data"][0]


def nbytes(a: np.ndarray) -> int:
    """Return the bytes of all elements."""
    return a.nbytes


def same_shape(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether arrays have one shape."""
    return a.shape == b.shape


def of_both(a: np.ndarray, b: np.ndarray) -> int:
    """Return how many elements a result of two arrays has at most; of more than `QUICK`, that."""
    shapes = zip_longest(a.shape[::-1], b.shape[::-1], fillvalue=1)
    return min(prod(map(max, shapes)), QUICK)


def in_c(a: np.ndarray) -> bool:
    """Tell whether an array is in C order."""
    return a.flags.c_contiguous


def is_fixed(k: Any, kinds: Set[type]) -> bool:
    """Tell whether the parts of a slice are None, or of types of numbers that never change."""
    return (
        (k.start is None or type(k.start) in kinds)
        and (k.stop is None or type(k.stop) in kinds)
        and (k.step is None or type(k.step) in kinds)
    )
