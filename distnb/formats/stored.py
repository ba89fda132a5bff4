"""What is known of an array in a file, and how one process tells whether it sees the same file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from distnb.common.addresses import is_address, stamp_at
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = [
    "Box",
    "Place",
    "Reader",
    "Stored",
    "Writer",
    "bytes_of",
    "check_same",
    "good",
    "module",
    "stamp_of",
    "sub",
]

#: What is read or written along each axis of a file's array; steps are positive.
Box = tuple[range, ...]


class Stored(NamedTuple):
    """An array in a file: plain data, which travels to whoever is to read it.

    ``stamp`` tells a file from another one, or from itself when it was written again; ``chunks``
    are the lengths of what the format reads at once, if it has such; ``details`` are the format's.
    ``summed``: where the bytes begin of which the file has a CRC-32, how many they are, and that.
    """

    format: str
    path: str
    stamp: Ints
    shape: Ints
    dtype: str
    chunks: Ints
    details: tuple[Any, ...]
    summed: Ints = ()

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class Place(NamedTuple):
    """Where a new array is to be.

    ``path``: what is replaced by what is made ``beside`` another path, where the array is ``name``;
    ``copied``: that begins as a copy. ``options``: of whoever makes it, from what is there.
    """

    path: str
    name: str | None
    beside: str
    copied: bool = False
    options: dict[str, Any] = {}  # noqa: RUF012 - nobody writes into it


def bytes_of(x: np.ndarray) -> Any:
    """Return the bytes of a contiguous array, in its memory."""
    return x.reshape(-1).view(np.uint8)


def sub(x: np.ndarray, index: Iterable[int | slice | None]) -> Any:
    """Return a look at a part of an array, which is an array for a single element, too."""
    return x[(*index, ...)]


class Reader(Protocol):
    """An open file of which boxes are read."""

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box into an array of its shape."""

    def close(self) -> None:
        """Close the file."""


class Writer(Protocol):
    """An open file into which boxes are written."""

    def write(self, box: Box, data: np.ndarray) -> None:
        """Write a box."""

    def close(self) -> None:
        """Close the file; all that was written is on its way to the disk."""


def stamp_of(path: str) -> Ints:
    """Return what tells a file from another one: its length, and when it was written.

    Raises what opening it would raise, IsADirectoryError for a folder, and OSError for a pipe.
    """
    if is_address(path):
        return stamp_at(path)
    found = os.stat(path)
    if Path(path).is_dir():
        raise IsADirectoryError(
            explain(
                f"file {path}",
                "a folder",
                "a file",
                "name a file in it, or give distnb.open its format",
            )
        )
    if stat.S_ISFIFO(found.st_mode):
        do = "copy it into a file, or let NumPy or pandas read it"
        raise OSError(explain(f"file {path}", "a pipe", "a file, of which parts are read", do))
    return (found.st_size, found.st_mtime_ns)


def check_same(path: str, stamp: Ints) -> None:
    """Raise OSError unless a path is the file of this stamp here, too; or any, without one."""
    try:
        if not is_address(path):
            os.stat(path)
        here = stamp_of(path) if stamp else ()
    except FileNotFoundError:
        raise FileNotFoundError(
            explain(
                f"file {path} on host {os.uname().nodename}",
                "none",
                "the one that the notebook sees",
                "use a folder that all hosts share",
            )
        ) from None
    if here != stamp:
        raise OSError(
            explain(
                f"file {path} on host {os.uname().nodename}",
                f"{here[0]} bytes, version {here[1]}",
                f"{stamp[0]} bytes, version {stamp[1]}, as the notebook found it",
                "use a folder that all hosts share, and open the file again if it was written",
            )
        )


@contextmanager
def good(path: str, expected: str, place: str = "") -> Iterator[None]:
    """Raise ValueError that names a file for what a library raises of one that is no good.

    Libraries have many errors, one for each way to be none. Those that name the file stay.
    """
    try:
        yield
    except (FileNotFoundError, ImportError):
        raise
    except Exception as error:
        if error.args and str(error.args[0]).startswith(f"file {path}"):
            raise
        told = str(error) and not isinstance(error, KeyError)
        got = str(error) if told else f"what raises {error!r}"
        where = f"file {path}{place}"
        raise ValueError(explain(where, got, expected, "check it")) from None


def module(load: Callable[[], Any], what: str, name: str, extra: str) -> Any:
    """Return an optional module; raise ImportError that tells how to install it.

    >>> module(lambda: np, "arrays", "numpy", "").__name__
    'numpy'
    """
    try:
        return load()
    except ImportError as error:
        raise ImportError(
            explain(what, f"no {name}", name, f'run: pip install "distnb[{extra}]"')
        ) from error
