"""NumPy's format ``.npy``: a header, and the elements as they lie in memory."""

from __future__ import annotations

import io
from math import prod
from typing import IO

import numpy as np
from numpy.lib import format as npy

from distnb.common.addresses import is_address, read_range
from distnb.common.errors import explain
from distnb.formats.plain import cut_off
from distnb.formats.stored import Stored, stamp_of
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["check_dtype", "describe", "header", "in_order", "read_header"]

#: Bytes that a header of numbers has at most; NumPy refuses longer ones, too.
_LONGEST = 10_000
#: Axes that any array can have.
_FEW_AXES = 32


def describe(path: str, name: str | None = None) -> tuple[Stored, View]:
    """Return what is in a file, and its axes: of one in Fortran order they are reversed there."""
    stamp = stamp_of(path)
    with _begin(path) as file:
        shape, fortran, dtype = read_header(file, path)
        start = file.tell()
    nbytes = prod(shape) * dtype.itemsize
    if stamp[0] < start + nbytes:
        raise cut_off(path, start + nbytes, stamp[0])
    return in_order(Stored("npy", path, stamp, shape, dtype.str, (), (start,)), fortran)


def _begin(path: str) -> IO[bytes]:
    """Return an open file that has the header."""
    if is_address(path):
        return io.BytesIO(read_range(path, 0, _LONGEST + 16))
    return open(path, "rb")


def in_order(stored: Stored, fortran: bool) -> tuple[Stored, View]:
    """Return what is in a file as it is in C order, and the array that it is to be."""
    if not fortran:
        return stored, View.whole(stored.shape)
    turned = stored._replace(shape=stored.shape[::-1])
    return turned, View.whole(turned.shape).transpose(range(len(turned.shape))[::-1])


def read_header(file: IO[bytes], name: str) -> tuple[Ints, bool, np.dtype]:
    """Return shape, order and dtype; raise ValueError that names the file if there is no header."""
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(file, _LONGEST)
        elif version in ((2, 0), (3, 0)):  # 3.0 differs in the names of fields alone
            shape, fortran, dtype = npy.read_array_header_2_0(file, _LONGEST)
        else:
            raise ValueError(f"version {version}")
    except Exception as error:  # whatever a header that is none makes of NumPy
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "got b'\\x80" in reason:
            reason = "a pickle, which is never read"
        raise ValueError(
            explain(f"file {name}", f"no good header ({reason})", "one of NumPy's .npy", "check it")
        ) from None
    if any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(
            explain(f"file {name}", f"shape {shape}", "lengths of axes", "make it again")
        )
    if dtype.hasobject:
        do = "no pickle is read: np.load(allow_pickle=True) does if you trust it"
        raise ValueError(
            explain(f"file {name}", "Python objects, which are pickled", "numbers", do)
        )
    check_dtype(dtype, name)
    if 0 in shape or len(shape) > _FEW_AXES:  # of others the file would have to be as long
        try:
            np.broadcast_to(np.empty((), dtype), shape)
        except ValueError as error:
            got, expected = f"shape {shape} ({error})", "one that arrays can have"
            raise ValueError(explain(f"file {name}", got, expected, "make it again")) from None
    return shape, fortran, dtype


def check_dtype(dtype: np.dtype, name: str) -> None:
    """Raise TypeError unless arrays can have a dtype."""
    if dtype.kind not in "biufc" or dtype.char in "gG":
        got = "text or other objects" if dtype.hasobject else f"dtype {dtype}"
        do = "read it with the library of the format, and convert"
        raise TypeError(explain(f"file {name}", got, "numbers", do))


def header(shape: Ints, dtype: np.dtype) -> bytes:
    """Return the header of an array in C order."""
    file = io.BytesIO()
    described = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, described)
    return file.getvalue()
