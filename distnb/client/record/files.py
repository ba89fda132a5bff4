"""Arrays from files, text and iterables, and to files: NumPy reads and writes, in the notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.errors import explain

__all__: list[str] = []

#: A file by its name, or open.
File: TypeAlias = str | Path | IO[bytes] | IO[str]


def _reader(numpys: Callable[..., Any]) -> Callable[..., Array]:
    """Return a function that makes a distributed array of what NumPy's function makes."""

    def read(
        *args: object,
        dist: Dist = None,
        grid: Grid = None,
        session: Session | None = None,
        **options: object,
    ) -> Array:
        return asarray(numpys(*args, **options), dist=dist, grid=grid, session=session)

    name = numpys.__name__
    read.__name__ = read.__qualname__ = name
    read.__doc__ = f"""Make an array as ``numpy.{name}`` does, and send each engine its part.

    Arguments are NumPy's, and ``dist=``, ``grid=`` and ``session=`` those of
    :func:`distnb.array`.
    """
    return stands_for(numpys)(read)


frombuffer = _reader(np.frombuffer)
fromfile = _reader(np.fromfile)
fromiter = _reader(np.fromiter)
fromstring = _reader(np.fromstring)
genfromtxt = _reader(np.genfromtxt)
loadtxt = _reader(np.loadtxt)


class Archive(Mapping[str, Any]):
    """The arrays of a file of several, each read when it is asked for."""

    def __init__(self, found: np.lib.npyio.NpzFile, where: dict[str, Any]) -> None:
        self._found = found
        self._where = where
        self.files = found.files

    def __getitem__(self, key: str) -> Array:
        return asarray(self._found[key], **self._where)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._found.close()


def load(
    file: File,
    mmap_mode: str | None = None,
    allow_pickle: bool = False,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> Array | Archive:
    """Return the array of a file, or a mapping of those of an archive, as ``numpy.load``.

    The notebook reads. With ``mmap_mode="r"`` it does so while engines are sent their parts.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.save("x.npy", dnb.arange(3))
    ...     dnb.load("x.npy", dist="block")
    [0 1 2]
    (3,) int64, 24 B, elements in blocks on 2 engines
    """
    if mmap_mode not in (None, "r"):
        raise ValueError(explain("mmap_mode", mmap_mode, "None or 'r'", "write with distnb.save"))
    found = np.load(file, mmap_mode, allow_pickle, **options)  # type: ignore[arg-type]
    where: dict[str, Any] = {"dist": dist, "grid": grid, "session": session}
    return Archive(found, where) if hasattr(found, "files") else asarray(found, **where)


@stands_for(np.save)
def save(file: File, arr: ArrayLike, allow_pickle: bool = False) -> None:
    """Write an array to a file in NumPy's format, as ``numpy.save``.

    A large one comes to the notebook in slices along its first axis, each within the gather budget.
    """
    if not isinstance(arr, Array):
        np.save(file, arr, allow_pickle)  # type: ignore[arg-type]
        return
    if hasattr(file, "write"):
        opened: Any = file
        _write(opened, arr)
        return
    name = str(file)
    with Path(name if name.endswith(".npy") else f"{name}.npy").open("wb") as opened:
        _write(opened, arr)


def _write(file: IO[bytes], x: Array) -> None:
    """Write a header and the elements, slice by slice."""
    head = {"descr": npy.dtype_to_descr(x.dtype), "fortran_order": False, "shape": x.shape}
    npy.write_array_header_1_0(file, head)
    n = x.shape[0] if x.ndim else 1
    rows = max(1, config.gather_budget * n // max(1, x.nbytes))
    for low in range(0, n, rows):
        part = x[low : low + rows] if x.ndim else x
        file.write(part.__array__().tobytes())


def _plain(x: ArrayLike) -> Any:
    return x.__array__() if isinstance(x, Array) else x


@stands_for(np.savetxt)
def savetxt(fname: File, X: ArrayLike, *args: object, **options: object) -> None:  # noqa: N803
    """Write an array as text, as ``numpy.savetxt``; obeys the gather budget."""
    numpys: Any = np.savetxt
    numpys(fname, _plain(X), *args, **options)


@stands_for(np.savez)
def savez(file: File, *args: ArrayLike, allow_pickle: bool = True, **arrays: ArrayLike) -> None:
    """Write several arrays to an archive, as ``numpy.savez``; each obeys the gather budget."""
    named = {name: _plain(x) for name, x in arrays.items()}
    np.savez(file, *map(_plain, args), allow_pickle=allow_pickle, **named)  # type: ignore[arg-type]


@stands_for(np.savez_compressed)
def savez_compressed(
    file: File, *args: ArrayLike, allow_pickle: bool = True, **arrays: ArrayLike
) -> None:
    """Write several arrays to a compressed archive; each obeys the gather budget."""
    named = {name: _plain(x) for name, x in arrays.items()}
    plain = map(_plain, args)
    np.savez_compressed(file, *plain, allow_pickle=allow_pickle, **named)  # type: ignore[arg-type]
