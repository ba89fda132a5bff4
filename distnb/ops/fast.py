"""Functions of one number by the processor's vectors, at most 4 ulp off.

``vector_math.c`` has them. They are used with ``dnb.config.math = "fast"``, for float32 and
float64.
Where they could not be compiled, NumPy's are all there is.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from distnb.common.config import config

__all__ = ["FAST", "fast_name"]

#: Those of NumPy's functions that a library of vectors has.
_NAMES = """
    exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh cbrt
"""
#: How their rows of the table are called.
_FAST = "fast_{}"


def _compiled() -> Any:
    try:
        return importlib.import_module("distnb.ops.vector_math")
    except ImportError:
        return np


#: Name of NumPy's function -> that of the row of the table, and what computes it.
FAST: dict[str, tuple[str, np.ufunc]] = {
    name: (_FAST.format(name), getattr(_compiled(), name)) for name in _NAMES.split()
}


def fast_name(op: str, inputs: Sequence[Any]) -> str:
    """Return the name of the row of an operation, which is another one if that is to be fast."""
    if config.math == "numpy" or op not in FAST:
        return op
    char = inputs[0].dtype.char if hasattr(inputs[0], "dtype") else ""
    return FAST[op][0] if char in ("f", "d") and inputs[0].shape else op
