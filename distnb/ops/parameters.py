"""What NumPy refuses among the parameters of distributions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["check"]


def check(kind: str, args: tuple[Any, ...]) -> None:
    """Raise what NumPy raises for wrong parameters, numbers or arrays."""
    if kind.startswith("integers"):
        return  # they say so themselves
    if kind == "scaled_uniform":
        if not np.all(np.isfinite(args[1])):
            raise OverflowError("Range exceeds valid bounds")
        if np.any(np.less(args[1], 0)):
            raise ValueError("high - low < 0")
        return
    if kind.startswith("scaled"):
        kind, args = "normal", (0.0, args[1])
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    if not arrays:
        _check_numbers(kind, *args)
        return
    numpys = _numpys_method(kind)
    if kind in (
        "hypergeometric",
        "negative_binomial",
        "triangular",
    ):  # of several parameters together
        numpys(*args)
    elif all(a.size for a in arrays):
        for end in (np.min, np.max):
            numpys(*(end(a) if isinstance(a, np.ndarray) else a for a in args), size=0)


@lru_cache(maxsize=64, typed=True)
def _check_numbers(kind: str, *args: Any) -> None:
    """Raise what NumPy raises for numbers, which are found in order once."""
    _numpys_method(kind)(*args, size=0)


def _numpys_method(kind: str) -> Any:
    return getattr(np.random.default_rng(0), {"log_gamma": "standard_gamma"}.get(kind, kind))
