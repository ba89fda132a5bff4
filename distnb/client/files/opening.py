"""Files that look like arrays: their shape is known, and a slice reads what it shows."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.files.reading import Source, read_here, read_view
from distnb.client.files.unread import unread
from distnb.client.handle.arguments import Dist, Grid, Subscript
from distnb.client.handle.conversion import Readable
from distnb.client.handle.indexing import index_view
from distnb.client.record.advanced_indexing import is_advanced
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.common.addresses import whole_path
from distnb.common.config import config
from distnb.common.errors import GatherError, explain, without_secrets
from distnb.formats.stored import Stored
from distnb.formats.table import FORMATS, OTHERS, format_of
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["Opened", "open_"]

#: Runs of rows that are read by themselves; what lies between more of them is read, too.
_RUNS = 32


class Opened(NDArrayOperatorsMixin, Readable):
    """An array in a file: indexing it reads, directly into the engines; see :func:`distnb.open`.

    Nobody can write into it: what takes it for a target finds an array that is read-only.
    """

    __slots__ = ("__weakref__", "_session", "_stored", "_view", "name", "path")

    def __init__(self, stored: Stored, view: View, name: str | None, session: Session | None):
        self._stored, self._view, self._session = stored, view, session
        self.path = stored.path
        self.name = name

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        return self._view.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements, as they are read."""
        return np.dtype(self._stored.dtype).newbyteorder("=")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> Ints:
        """Lengths of what the format reads at once; without axes if there is no such thing."""
        return self._stored.chunks

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the array in the file, as its library returns them."""
        found = FORMATS[self._stored.format].attributes
        return {} if found is None else found(self._stored)

    def read(self, dist: Dist = None, grid: Grid = None, session: Session | None = None) -> Any:
        """Return an array of all of it.

        Each engine reads its own part: nothing is sent.

        Parameters
        ----------
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; by default it is cut where chunks end.
        grid : int or tuple of int, optional
            Engines along each split axis.
        session : Session, optional
            By default that for which it was opened, or the current one.

        Returns
        -------
        DistArray
            Of the shape and dtype of the file.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.save("x.npy", dnb.arange(3))
        ...     dnb.open("x.npy").read(dist="block").to_numpy()
        array([0, 1, 2])
        """
        return read_view(self._stored, self._view, dist, grid, session or self._session)

    def later(self, dist: Dist = None, grid: Grid = None, session: Session | None = None) -> Any:
        """Return an array that nobody can write into, which is read when it is used.

        Parameters
        ----------
        dist, grid, session : optional
            As in :meth:`read`.

        Returns
        -------
        DistArray
            Of the shape and dtype of the file. Its slices are read by themselves.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.save("x.npy", dnb.arange(3))
        ...     dnb.open("x.npy").later()[1:].to_numpy()
        array([1, 2])
        """
        return unread(Source(self._stored), self._view, dist, grid, session or self._session)

    def __getitem__(self, key: Subscript) -> Any:
        if is_advanced(key):
            return self._picked(key)
        view, element = index_view(self._view, key)
        found = read_view(self._stored, view, session=self._session)
        return found[()] if element else found

    def _picked(self, key: Subscript) -> Any:
        """Return what arrays of indices show: of rows that are named, no others are read."""
        several: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        rows = np.asarray(several[0]) if isinstance(several[0], list | np.ndarray) else np.empty(0)
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or not rows.size
            or is_advanced(several[1:])
        ):
            return self.read()[key]
        n = self.shape[0]
        if rows.min() < -n or rows.max() >= n:
            wrong = rows[(rows < -n) | (rows >= n)][0]
            raise IndexError(f"index {wrong} is out of bounds for axis 0 with size {n}")
        rows = rows.astype(np.intp)  # or a small dtype has no n
        wanted, place = np.unique(rows % n, return_inverse=True)
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1)
        if len(runs) > _RUNS:
            runs, place = [wanted], rows % n - wanted[0]
        read = [self[(slice(run[0], run[-1] + 1), *several[1:])] for run in runs]
        return (read[0] if len(read) == 1 else concatenate(read))[place]

    def __setitem__(self, key: Subscript, value: ArrayLike) -> None:
        self.later()[key] = value

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __bool__(self) -> bool:
        return bool(self.later())

    def __contains__(self, value: object) -> bool:
        return value in self.later()

    def __int__(self) -> int:
        return int(self.later())

    def __float__(self) -> float:
        return float(self.later())

    def __complex__(self) -> complex:
        return complex(self.later())

    def __index__(self) -> int:
        return operator.index(self.later())

    def __format__(self, spec: str) -> str:
        return format(self.later(), spec) if spec else str(self)

    def __distarray__(self, session: Session | None) -> Any:
        """Return the array that functions of distnb take in its place."""
        return self.later(session=session)

    def as_array(self, session: Session | None) -> Any:
        """Return an array of its own, which can be written."""
        return self.read(session=session)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return all of it in the notebook, within the gather budget."""
        if copy is False:
            got, do = "copy=False of an array in a file", "leave out copy="
            raise ValueError(explain("array", got, "a copy that is allowed", do))
        if self.nbytes > config.gather_budget:
            raise GatherError(
                explain(
                    f"file {self.path} in the notebook",
                    f"{self.nbytes:,} bytes",
                    f"at most {config.gather_budget:,}",
                    "use [...], which engines read, or raise dnb.config.gather_budget",
                )
            )
        found = read_here(Source(self._stored), self._view)
        return found if dtype is None else found.astype(dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> Any:
        return getattr(ufunc, method)(*_read_all(inputs), **_read_all(options))

    def __array_function__(
        self, function: Callable[..., Any], types: object, args: object, kwargs: object
    ) -> Any:
        return function(*_read_all(args), **_read_all(kwargs))

    def __getattr__(self, name: str) -> Any:
        """Return what an array has, as ``x.sum``; it is read when an operation needs it."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.later(), name)

    def __repr__(self) -> str:
        named = "" if self.name is None else f", {self.name!r}"
        cut = f", chunks {self.chunks}" if self.chunks else ""
        file = os.path.basename(without_secrets(self.path))
        return f"<Opened {self.shape} {self.dtype}{cut} in {file!r}{named}>"


def _read_all(x: object) -> Any:
    """Return arguments with the arrays of files in their place."""
    if isinstance(x, Opened):
        return x.later()
    if isinstance(x, tuple | list):
        return type(x)([_read_all(each) for each in x])
    return {k: _read_all(v) for k, v in x.items()} if isinstance(x, dict) else x


def open_(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    format: str | None = None,
    session: Session | None = None,
) -> Opened:
    """Open an array in a file, of which nothing is read but what it is.

    It knows its shape, dtype and chunks. An index reads what it shows, each engine its own part;
    so does an operation. Nobody can write into it.

    Parameters
    ----------
    path : str or path
        The file; for some formats, a folder. Or an address that fsspec knows, such as
        ``https://...`` or ``s3://...``: each engine asks for its own part.
    name : str, optional
        Of the array in it: a member, a dataset, a column.
    format : str, optional
        By default what the name and the first bytes of the file say.
    session : Session, optional
        Where it is read; by default the session that is current then.

    Returns
    -------
    Opened
        With ``shape``, ``dtype``, ``chunks``, and ``read(dist=, grid=)``.

    Raises
    ------
    OSError, ValueError, TypeError
        If there is no such file, or it is no good, or its elements are no numbers.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.save("table.npy", dnb.ones((1000, 3)))
    ...     x = dnb.open("table.npy")
    ...     x
    ...     x[::500, 0].to_numpy()
    <Opened (1000, 3) float64 in 'table.npy'>
    array([1., 1.])
    """
    whole = whole_path(path)
    found = format_of(whole) if format is None else format
    row = FORMATS.get(found)
    if row is None or row.describe is None:
        known = [f.name for f in FORMATS.values() if f.describe is not None]
        other = next((row for row in OTHERS if row.has(whole)), None)
        do = "give format=" if other is None else f"use {other.reads}"
        got = f"format {found!r}" if found else "a name and first bytes that no format has"
        raise ValueError(explain(f"file {without_secrets(whole)}", got, f"one of {known}", do))
    stored, view = row.describe(whole, name)
    return Opened(stored, view, name, session)
