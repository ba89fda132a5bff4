"""What the Python array API standard asks for besides operations: dtypes, devices, exchange.

Consortium for Python Data API Standards, "Python array API standard", 2024.12.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array.distarray import DistArray
from distnb.client.handle.array import Array, storable
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
    """Return the dtype to which arrays, dtypes and Python numbers are promoted, as NumPy's.

    The notebook knows the dtypes: nothing is sent.

    Parameters
    ----------
    *arrays_and_dtypes : array_like or dtype
        What meets.

    Returns
    -------
    dtype
        The common dtype.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.result_type(dnb.arange(3), dnb.float32)
    dtype('float64')
    """
    return np.result_type(*map(_kind, arrays_and_dtypes))


@stands_for(np.can_cast)
def can_cast(from_: DTypeLike | Array, to: DTypeLike, casting: str = "safe") -> bool:
    """Tell whether a dtype can be cast to another, as ``numpy.can_cast``.

    Of an array only the dtype counts, which the notebook knows: nothing is sent.

    Parameters
    ----------
    from_ : dtype or DistArray
        From which.
    to : dtype
        To which.
    casting : str
        By which rule.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.can_cast(dnb.arange(3), dnb.float32), dnb.can_cast(dnb.int64, dnb.float64)
    (False, True)
    """
    return np.can_cast(_kind(from_), _kind(to), casting)  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Tell whether a dtype is of a kind, as ``numpy.isdtype``.

    A matter of the dtype alone: nothing is sent.

    Parameters
    ----------
    dtype : dtype
        The dtype.
    kind : str, dtype or tuple of these
        Such as ``'real floating'`` or ``'integral'``.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> dnb.isdtype(dnb.float32, "real floating")
    True
    """
    return np.isdtype(dtype, kind)


@stands_for(np.astype)
def astype(
    x: DistArray, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None
) -> DistArray:
    """Return a copy with another dtype, as ``numpy.astype``.

    The elements stay where they are, and nothing is sent. Text, times and objects are NumPy's.

    Parameters
    ----------
    x : DistArray
        The elements.
    dtype : dtype
        Of the result.
    copy : bool
        Whether an array that has the dtype is copied.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.astype(dnb.array([1.7, -1.7]), int).to_numpy()
    array([ 1, -1])
    """
    check_device(device)
    given = getattr(x, "dtype", np.dtype(bool))  # lists are arrays, too
    if not (storable(np.dtype(dtype)) and storable(given)):  # text, times: xarray's labels
        return np.asarray(x).astype(dtype, copy=copy)
    return asarray(x).astype(dtype, copy=copy)


def iinfo(type: DTypeLike | Array, /) -> np.iinfo:
    """Return the limits of an integer dtype, or of that of an array, as ``numpy.iinfo``.

    A matter of the dtype alone: nothing is sent.

    Parameters
    ----------
    type : dtype or DistArray
        Of what.

    Returns
    -------
    numpy.iinfo
        With ``min``, ``max`` and ``bits``.

    Examples
    --------
    >>> import distnb as dnb
    >>> dnb.iinfo(dnb.int8).max
    127
    """
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

    def __str__(self) -> str:
        return str(self._numpys)

    def __repr__(self) -> str:
        return f"finfo(min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"


@stands_for(np.from_dlpack)
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> DistArray:
    """Make a distributed array of another library's, as ``numpy.from_dlpack``.

    Engines are sent their parts, as by :func:`distnb.asarray`. A DistArray is returned as it is.

    Parameters
    ----------
    x : object
        What has ``__dlpack__``, in the memory of the notebook.
    device : str, optional
        ``'cpu'``, the only one there is, as the array API standard asks.
    copy : bool, optional
        True: always a copy; False: an error if one is needed.

    Returns
    -------
    DistArray
        Of the shape of ``x``.

    Raises
    ------
    ValueError
        For another device, or if a copy would be needed and ``copy`` is False.

    Examples
    --------
    >>> import distnb as dnb
    >>> import numpy as np
    >>> with dnb.inprocess(2):
    ...     dnb.from_dlpack(np.arange(3)).to_numpy()
    array([0, 1, 2])
    """
    check_device(device)
    return asarray(x if isinstance(x, DistArray) else np.from_dlpack(x), copy=copy)
