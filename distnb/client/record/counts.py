"""How many elements there are in what NumPy's functions make, told from their arguments."""

from __future__ import annotations

from math import inf, prod
from typing import Any

__all__ = ["in_matrix", "in_range", "in_shape", "in_spaces"]


def in_shape(shape: Any, *_: Any, **_options: Any) -> float:
    """Return the number of elements in a shape; a truth value is no length."""
    if type(shape) is bool:
        return inf
    return prod(shape) if type(shape) is tuple or type(shape) is list else shape


def in_range(
    start: Any = None, stop: Any = None, step: Any = None, *_: Any, **_options: Any
) -> float:
    """Return the number of elements that ``arange`` makes, or one more or less."""
    if stop is None:
        start, stop = 0, start
    length = stop - (0 if start is None else start)
    return 1 + abs(length / (1 if step is None else step))


def in_spaces(_start: Any, _stop: Any, num: int = 50, *_: Any, **_options: Any) -> int:
    """Return the number of elements between two limits."""
    return num


def in_matrix(N: int, M: int | None = None, *_: Any, **_options: Any) -> int:  # noqa: N803
    """Return the number of elements in a matrix; an identity's has the order in the first place."""
    return N * (M if type(M) is int else N)
