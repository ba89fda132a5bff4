"""Python's scalars among operands are *weak*: they leave the dtype of a result to the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NUMBERS", "NUMPYS", "PYTHON_SCALARS", "SCALARS", "SMALL", "VALUE_FREE", "weak_kind"]

#: Name of a type, as it travels -> the type.
PYTHON_SCALARS: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
#: The types.
NUMBERS = frozenset(PYTHON_SCALARS.values())
#: NumPy's scalars that arrays can have for elements.
NUMPYS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefdFD")
#: All of these.
SCALARS = NUMBERS | NUMPYS
#: Those whose values never matter for a dtype. Integers can be out of range,
VALUE_FREE = NUMBERS - {int}
#: but not those from 0 up to this: an int8 can be 127.
SMALL = 128


def weak_kind(x: Any) -> type | None:
    """Return the type of a scalar whose value does not matter for the dtype of a result.

    >>> weak_kind(2.5), weak_kind(3), weak_kind(300)
    (<class 'float'>, <class 'int'>, None)
    """
    kind = type(x)
    alike = kind in VALUE_FREE or (kind is int and 0 <= x < SMALL)
    return kind if alike else None
