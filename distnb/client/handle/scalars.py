"""What NumPy has as a scalar: as a number, and what is refused of it."""

from __future__ import annotations

from typing import Any

from distnb.client.handle.array import Array
from distnb.common.errors import explain

__all__ = ["check_settable", "no_array", "numbers_in"]


def numbers_in(x: object) -> Any:
    """Return NumPy's scalar for an array of no axis, which is read; in a tuple or a list each."""
    if type(x) is tuple or type(x) is list:
        several = [numbers_in(each) for each in x]
        return several if type(x) is list else tuple(several)
    return x.to_numpy()[()] if isinstance(x, Array) and not x.ndim else x


def check_settable(x: Array, name: str) -> None:
    """Raise AttributeError where NumPy has a scalar, which stays as it is, in NumPy's words."""
    if x.single and not x.shape:
        raise AttributeError(f"attribute '{name}' of 'numpy.generic' objects is not writable")


def no_array(x: Array) -> TypeError:
    """Return the error for a write into a scalar, which other names may have, too."""
    return TypeError(explain("array to write into", "a scalar", "an array", "use dnb.array(x)"))
