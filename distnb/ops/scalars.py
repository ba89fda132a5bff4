"""Python's scalars among operands are *weak*: they leave the dtype of a result to the arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "CODES",
    "COMPARISONS",
    "NUMBERS",
    "NUMPYS",
    "PYTHON_SCALARS",
    "SCALARS",
    "SMALL",
    "STORABLE",
    "VALUE_FREE",
    "weak_kind",
    "within_range",
]

#: Name of a type, as it travels -> the type.
PYTHON_SCALARS: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
#: The types.
NUMBERS = frozenset(PYTHON_SCALARS.values())
#: NumPy's codes of the dtypes that arrays can have.
CODES = "?bhilqBHILQefdFD"
#: These dtypes, in this machine's order of bytes.
STORABLE = frozenset(map(np.dtype, CODES))
#: NumPy's scalars that arrays can have for elements.
NUMPYS = frozenset(np.dtype(code).type for code in CODES)
#: All of these.
SCALARS = NUMBERS | NUMPYS
#: Those whose values never matter for a dtype. Integers can be out of range,
VALUE_FREE = NUMBERS - {int}
#: but not those from 0 up to this: an int8 can be 127.
SMALL = 128
#: Comparisons, of which NumPy knows the result if an integer array cannot hold the other operand.
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))


def weak_kind(x: Any) -> type | None:
    """Return the type of a scalar whose value does not matter for the dtype of a result.

    >>> weak_kind(2.5), weak_kind(3), weak_kind(300)
    (<class 'float'>, <class 'int'>, None)
    """
    kind = type(x)
    alike = kind in VALUE_FREE or (kind is int and 0 <= x < SMALL)
    return kind if alike else None


def within_range(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return inputs with an infinity in place of integers that the other operand cannot hold.

    Comparisons with it come out the same. NumPy dies of such an integer where there is a mask.

    >>> within_range((np.zeros(2, np.int8), -300))
    (array([0, 0], dtype=int8), np.float64(-inf))
    """
    found = list(inputs)
    for i, x in enumerate(inputs):
        other = inputs[1 - i]
        if isinstance(x, int) and not isinstance(x, bool) and not isinstance(other, int):
            kind = other.dtype if hasattr(other, "dtype") else np.asarray(other).dtype
            limits = np.iinfo(kind) if kind.kind in "iu" else None
            if limits is not None and not limits.min <= x <= limits.max:
                found[i] = np.float64(np.inf if x > 0 else -np.inf)
    return tuple(found)
