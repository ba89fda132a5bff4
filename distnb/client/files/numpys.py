"""NumPy's functions for its own files, raw bytes and iterables: each engine does its part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.files.members import write_members
from distnb.client.files.opening import open_
from distnb.client.files.reading import once, read_view
from distnb.client.files.writing import is_stream, replacing, write
from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, numeric, storable
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.addresses import local_path
from distnb.common.config import config
from distnb.common.errors import explain, quoted
from distnb.formats import npy
from distnb.formats.archives import members_of
from distnb.formats.stored import Stored, stamp_of
from distnb.formats.table import FORMATS, OTHERS, format_of
from distnb.geometry.views import View

__all__: list[str] = []

#: A file by its name, or open.
File: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]


def _reader(numpys: Callable[..., Any], example: str, shown: str) -> Callable[..., Array]:
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
    read.__doc__ = f"""Make an array as ``numpy.{name}`` does.

    It is made in the notebook, and each engine is sent its part.

    Parameters
    ----------
    *args, **options
        As in ``numpy.{name}``.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.{name}({example}, dist="block").to_numpy()
    {shown}
    """
    return stands_for(numpys)(read)


frombuffer = _reader(np.frombuffer, 'b"abc", "u1"', "array([97, 98, 99], dtype=uint8)")
fromiter = _reader(np.fromiter, "(i * i for i in range(3)), int", "array([0, 1, 4])")
fromstring = _reader(np.fromstring, '"1 2 3", sep=" "', "array([1., 2., 3.])")


@stands_for(np.fromfile)
def fromfile(
    file: File,
    dtype: DTypeLike = float,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    like: object = None,
) -> Array:
    """Read raw elements of a file, of one axis.

    Each engine reads its own part of a file that is named. Of an open file, and of text, the
    notebook reads all and sends each engine its part.

    Parameters
    ----------
    file : str, path or open file
        The file, which all engines see.
    dtype : dtype
        Element type in the file.
    count : int
        How many elements; -1 for all.
    sep : str
        What is between the elements of a text; without it the file is binary.
    offset : int
        Bytes before the first element.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.
    like : optional
        Changes nothing.

    Returns
    -------
    DistArray
        Of one axis.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.arange(4, dist="block").tofile("x.raw")
    ...     dnb.fromfile("x.raw", int, dist="block").to_numpy()
    array([0, 1, 2, 3])
    """
    path = path_of(file)
    if path is None or sep or is_stream(path):
        found = np.fromfile(file, dtype, count, sep, offset=offset)
        return asarray(found, dist=dist, grid=grid, session=session)
    kind = np.dtype(dtype)
    numeric(kind)
    stamp = stamp_of(path)
    late = count < 0 and offset >= stamp[0] + kind.itemsize  # as NumPy, which counts whole elements
    if offset < 0 or late:
        got, expected = f"offset {offset}", f"one from 0 to {stamp[0]}, where it ends"
        told = explain(f"file {path}", got, expected, "check it")
        raise (OSError if offset < 0 else ValueError)(told)
    there = max(0, stamp[0] - offset) // kind.itemsize
    shape = (there if count < 0 else min(count, there),)
    stored = Stored("raw", path, stamp, shape, kind.str, (), (offset,))
    return read_view(stored, View.whole(shape), dist, grid, session)


def tofile(x: Array, file: File, sep: str = "", format: str = "%s") -> None:
    """Write raw elements in C order, as ``numpy.ndarray.tofile``; text obeys the gather budget."""
    path = path_of(file)
    if path is None or sep or is_stream(path):
        for part in [x] if sep else in_slices(x):
            part.__array__().tofile(file, sep, format)
        return
    with replacing(path, x.session) as name:
        write(x, Stored("raw", name, (), x.shape, x.dtype.str, (), (0,)))


def path_of(file: object, suffix: str = "") -> str | None:
    """Return the whole path of a file that is given by its name; None if it is open.

    As NumPy does, what the name does not end in is appended to it: in a folder to no name at all.
    """
    if not isinstance(file, str | bytes | os.PathLike):
        return None
    found = os.fsdecode(file)
    return local_path(found if found.endswith(suffix) else found + suffix)


class Archive(Mapping[str, Any]):
    """The arrays of a file of several, each read when it is asked for."""

    def __init__(self, members: dict[str, Any], read: Callable[[Any], Any]) -> None:
        self._members, self._read = members, read
        self.files = list(members)

    def __getitem__(self, key: str) -> Any:
        name = key if key in self._members else key.removesuffix(".npy")
        if name not in self._members:
            raise KeyError(f"{key} is not a file in the archive; it has {self.files}")
        return self._read(self._members[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    @property
    def f(self) -> _Attributes:
        """The arrays by attributes, as of ``numpy.load``."""
        return _Attributes(self)

    def __repr__(self) -> str:
        return f"Archive with keys: {', '.join(self.files)}"

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing, as the file is open only while it is read."""


class _Attributes:
    """What is in an archive, each as an attribute."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def __getattr__(self, name: str) -> Any:
        try:
            return self._archive[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return self._archive.files


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
    """Return the array of a file, or a mapping of those of an archive.

    Each engine reads its own part; of an open file the notebook reads all. No pickle is read.

    Parameters
    ----------
    file : str, path or open file
        A ``.npy`` or ``.npz`` file, which all engines see.
    mmap_mode : {'r', 'c'}, optional
        With ``'r'`` nothing is read before it is used, and nobody can write into the array; ``'c'``
        changes nothing. See also :func:`distnb.open`.
    allow_pickle : bool
        Changes nothing.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    grid : int or tuple of int, optional
        Engines along each split axis.
    session : Session, optional
        Where it is made; by default the current one.
    **options
        Others of ``numpy.load``, for open files.

    Returns
    -------
    DistArray, or mapping of names to them
        Members of an archive are read when they are asked for.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.save("x.npy", dnb.arange(3))
    ...     dnb.load("x.npy", dist="block")
    [0 1 2]
    (3,) int64, 24 B, elements in blocks on 2 engines
    """
    if mmap_mode not in (None, "r", "c"):
        raise ValueError(
            explain("mmap_mode", quoted(mmap_mode), "None, 'r' or 'c'", "write with distnb.save")
        )
    where: dict[str, Any] = {"dist": dist, "grid": grid, "session": session}
    path = path_of(file)
    if path is None:
        found = np.load(file, None, False, **options)  # type: ignore[arg-type]
        if not hasattr(found, "files"):
            return asarray(found, **where)
        same = {name: name for name in found.files}
        return Archive(same, lambda name: asarray(found[name], **where))
    if _begins(path, b"PK"):
        return Archive(members_of(path), lambda name: open_(path, name).read(**where))
    found = format_of(path)
    if found not in ("npy", ""):
        expected = "a .npy or .npz file"
        raise ValueError(explain(f"file {path}", f"format {found!r}", expected, "use distnb.open"))
    opened = open_(path, format="npy")
    return opened.later(**where) if mmap_mode == "r" else opened.read(**where)


def _begins(path: str, magic: bytes) -> bool:
    stamp_of(path)
    with open(path, "rb") as file:
        found = file.read(6)
    if not found:
        told = explain(
            f"file {path}", "No data left in file", "a .npy or .npz file", "make it again"
        )
        raise EOFError(told)
    return found.startswith(magic)


@stands_for(np.save)
def save_npy(file: File, arr: ArrayLike, allow_pickle: bool = False) -> None:
    """Write an array to a file in NumPy's format, as ``numpy.save``."""
    if not isinstance(arr, Array):
        np.save(file, arr, allow_pickle)  # type: ignore[arg-type]
        return
    path = path_of(file, ".npy")
    if path is None and not hasattr(file, "write"):
        got, expected = f"file {file!r}", "a name, or an open file"
        raise TypeError(explain("save()", got, expected, "give one first, then the array"))
    head = npy.header(arr.shape, arr.dtype)
    if path is None or is_stream(path):
        stream: Any = file if path is None else open(path, "wb")  # noqa: SIM115
        try:
            stream.write(head)
            for part in in_slices(arr):
                stream.write(part.__array__().tobytes())
        finally:
            if path is not None:
                stream.close()
        return
    with replacing(path, arr.session) as name:
        once(arr.session, _write_head, name, head, len(head) + arr.nbytes)
        write(arr, Stored("npy", name, (), arr.shape, arr.dtype.str, (), (len(head),)))


def save(
    file: File,
    arr: ArrayLike,
    allow_pickle: bool = False,
    *,
    name: str | None = None,
    overwrite: bool = False,
    attrs: Mapping[str, object] | None = None,
    **options: object,
) -> None:
    """Write an array to a file: each engine writes its own part.

    In NumPy's format, as ``numpy.save``, or in that which the name ends in: ``.h5``, ``.hdf5``,
    ``.nc``, ``.zarr`` (``numpy.save`` appends ``.npy`` to any of them). The file appears whole, or
    not at all: what was there stays if anything goes wrong. Into HDF5, NetCDF and groups of Zarr
    that are there the array is put beside the others; one file is copied for that.

    Parameters
    ----------
    file : str, path or open file
        An open file is written by the notebook.
    arr : array_like
        What is to be written.
    allow_pickle : bool
        As in ``numpy.save``, for arrays of NumPy.
    name : str, optional
        Of a dataset of HDF5 or NetCDF, by default "data", or of an array in a group of Zarr.
    overwrite : bool
        Whether an array of this name in HDF5, NetCDF or Zarr, or a whole group of Zarr, is
        replaced. A file ``.npy`` always is.
    attrs : mapping of str to values, optional
        Attributes of the array in HDF5, NetCDF or Zarr; ``distnb.open(file, name).attrs`` reads
        them.
    **options
        Of h5py's, h5netcdf's or zarr's function that makes it, as ``chunks=`` and
        ``compression=``; and ``dims=`` of NetCDF, the names of the axes.

    Raises
    ------
    ValueError
        If there is such an array: that of h5py's and zarr's functions.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.save("x.npy", dnb.arange(10) ** 2)
    ...     dnb.open("x.npy")[-3:].to_numpy()
    array([49, 64, 81])
    """
    path = path_of(file)
    suffix = "" if path is None else os.path.splitext(path)[1].lower()
    row = next((f for f in FORMATS.values() if f.create and suffix in f.suffixes), None)
    _check_savable(path, arr)
    if path is None or row is None or row.create is None or row.place is None:
        if name is not None or options or attrs:
            raise TypeError(
                explain("save()", f"{file} with options", "none for .npy", "end in .h5 or .zarr")
            )
        save_npy(file, arr, allow_pickle)
        return
    if taken := {"data", "dtype", "shape"} & options.keys():
        got, do = f"options {sorted(taken)}", "save x.astype(dtype), or x.reshape(shape)"
        raise TypeError(explain("save()", got, "others: these are the array's", do))
    x = asarray(arr)
    place = once(x.session, row.place, path, name, overwrite)
    given = place.options | options | ({"attrs": dict(attrs)} if attrs else {})
    with replacing(place.path, x.session, row.folder, place.beside, place.copied) as made:
        write(x, once(x.session, row.create, made, place.name, x.shape, x.dtype, given))
    if row.listed is not None and place.path != path:
        once(x.session, row.listed, path)


def _check_savable(path: str | None, x: object) -> None:
    """Raise unless an array can be saved under a name: not as what its name does not say."""
    if hasattr(x, "nnz") and hasattr(x, "tocoo"):
        do = "use distnb.sparse.save_npz or mmwrite, or x.toarray()"
        raise TypeError(explain("save()", "a sparse array", "a dense one", do))
    other = next((row for row in OTHERS if path is not None and row.has(path)), None)
    if other is not None:
        name = os.path.basename(str(path))
        expected, do = "a name of .npy, .h5, .nc or .zarr", f"use {other.writes}"
        raise ValueError(explain("save()", f"file {name!r}", expected, do))


def _write_head(name: str, head: bytes, length: int) -> None:
    with open(name, "r+b") as file:
        file.write(head)
        file.truncate(length)


def in_slices(x: Array) -> Iterator[Array]:
    """Yield slices along the first axis, each within the gather budget."""
    if not x.ndim:
        yield x
        return
    n = x.shape[0]
    rows = max(1, config.gather_budget * n // max(1, x.nbytes))
    for low in range(0, n, rows):
        yield x[low : low + rows]


def _named(args: tuple[ArrayLike, ...], arrays: dict[str, ArrayLike]) -> dict[str, Any]:
    """Return what goes into an archive, by names, as NumPy names what has none."""
    named: dict[str, Any] = dict(arrays)
    for i, x in enumerate(args):
        if f"arr_{i}" in named:
            raise ValueError(f"Cannot use un-named variables and keyword arr_{i}")
        named[f"arr_{i}"] = x
    return named


@stands_for(np.savez)
def savez(file: File, *args: ArrayLike, allow_pickle: bool = True, **arrays: ArrayLike) -> None:
    """Write several arrays to an archive, ``.npz``: each engine writes its own parts.

    The file appears whole, or not at all. To an open file the notebook writes, within the gather
    budget.

    Parameters
    ----------
    file : str, path or open file
        Which is written; ``.npz`` is appended to a name without it.
    *args : array_like
        Arrays that are named ``arr_0``, ``arr_1``, ...
    allow_pickle : bool
        Changes nothing: no pickle is written.
    **arrays : array_like
        Arrays by their names.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.savez("all.npz", x=dnb.arange(3, dist="block"), y=dnb.ones(2))
    ...     dnb.load("all.npz")["x"].to_numpy()
    array([0, 1, 2])
    """
    _save_archive(file, _named(args, arrays), False)


@stands_for(np.savez_compressed)
def savez_compressed(
    file: File, *args: ArrayLike, allow_pickle: bool = True, **arrays: ArrayLike
) -> None:
    """Write several arrays to a compressed archive, ``.npz``: each engine deflates its own parts.

    The file appears whole, or not at all. To an open file the notebook writes, within the gather
    budget.

    Parameters
    ----------
    file : str, path or open file
        Which is written; ``.npz`` is appended to a name without it.
    *args : array_like
        Arrays that are named ``arr_0``, ``arr_1``, ...
    allow_pickle : bool
        Changes nothing: no pickle is written.
    **arrays : array_like
        Arrays by their names.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.savez_compressed("all.npz", x=dnb.arange(3, dist="block"))
    ...     dnb.load("all.npz")["x"].to_numpy()
    array([0, 1, 2])
    """
    _save_archive(file, _named(args, arrays), True)


def _save_archive(file: File, named: dict[str, Any], packed: bool) -> None:
    path = path_of(file, ".npz")
    if path is None or is_stream(path):
        plain = {k: x.__array__() if isinstance(x, Array) else x for k, x in named.items()}
        (np.savez_compressed if packed else np.savez)(file, **plain)  # type: ignore[arg-type]
        return
    first = next((x for x in named.values() if isinstance(x, Array)), None)
    session = need(None) if first is None else first.session
    found = {name: _in_archive(x, session) for name, x in named.items()}
    with replacing(path, session) as name:
        write_members(name, found, packed, session)


def _in_archive(x: ArrayLike, session: Session) -> Array | np.ndarray:
    """Return what goes into an archive: an array, or one of NumPy's that arrays cannot be."""
    if isinstance(x, str | bytes | np.ndarray | np.generic):
        plain = np.asarray(x)
        if not storable(plain.dtype) and not plain.dtype.hasobject:
            return plain
    return asarray(x, session=session)
