"""What the Python array API standard asks for besides operations: dtypes, devices, exchange.

Consortium for Python Data API Standards, "Python array API standard", 2024.12.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array.distarray import DistArray
from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import check_device, stands_for

__all__ = ["VERSION"]

#: The version of the standard.
VERSION = "2024.12"


def _kind(x: object) -> Any:
    """Return the dtype of an array, and anything else as it is."""
    return x.dtype if isinstance(x, DistArray) else x


@stands_for(np.result_type)
def result_type(*arrays_and_dtypes: DTypeLike | ArrayLike) -> np.dtype:
    """Return the dtype that arrays, dtypes and Python numbers are promoted to, as NumPy's."""
    return np.result_type(*map(_kind, arrays_and_dtypes))


@stands_for(np.can_cast)
def can_cast(from_: DTypeLike | Array, to: DTypeLike, casting: str = "safe") -> bool:
    """Tell whether a dtype can be cast to another, as NumPy's; only the array's dtype counts."""
    return np.can_cast(_kind(from_), _kind(to), casting)  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Tell whether a dtype is of a kind, such as ``'real floating'``, as NumPy's."""
    return np.isdtype(dtype, kind)


@stands_for(np.astype)
def astype(
    x: DistArray, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None
) -> DistArray:
    """Return a copy with another dtype; the elements stay where they are."""
    check_device(device)
    return asarray(x).astype(dtype, copy=copy)


def iinfo(type: DTypeLike | Array, /) -> np.iinfo:
    """Return the limits of an integer dtype, or of that of an array."""
    return np.iinfo(_kind(type))


class finfo:  # noqa: N801 - NumPy's name
    """The limits of a floating point dtype, as numbers that are Python's; the rest is NumPy's.

    Examples
    --------
    >>> import distnb as dnb
    >>> dnb.finfo(dnb.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: DTypeLike | Array, /) -> None:
        self._numpys = np.finfo(_kind(type))
        self.bits = self._numpys.bits
        self.dtype = self._numpys.dtype
        for name in ("eps", "max", "min", "smallest_normal", "tiny", "resolution"):
            number = getattr(self._numpys, name)  # a float64 is one of Python's
            setattr(self, name, number if isinstance(number, float) else float(number))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)

    def __repr__(self) -> str:
        return f"finfo(min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"


@stands_for(np.from_dlpack)
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> DistArray:
    """Make a distributed array of another library's; a DistArray is returned as it is.

    Raises
    ------
    ValueError
        For another device, or if a copy would be needed and ``copy`` is False.
    """
    check_device(device)
    return asarray(x if isinstance(x, DistArray) else np.from_dlpack(x), copy=copy)
