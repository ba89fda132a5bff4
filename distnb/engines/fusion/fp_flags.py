"""Floating point errors of compiled code: the processor's flags, under NumPy's names."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from functools import cache
from typing import Any

__all__ = ["raised_flags"]

_FLAGS = (
    {1: "invalid value", 4: "divide by zero", 8: "overflow", 16: "underflow"}
    if platform.machine() in ("x86_64", "AMD64", "i686")
    else {1: "invalid value", 2: "divide by zero", 4: "overflow", 8: "underflow"}
)


@cache
def _libm() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("m"))


def raised_flags() -> list[str]:
    """Return the floating point errors since the last call, as NumPy names them; forget them."""
    libm = _libm()
    flags = libm.fetestexcept(sum(_FLAGS))
    if flags:
        libm.feclearexcept(sum(_FLAGS))
    return [name for bit, name in _FLAGS.items() if flags & bit]
