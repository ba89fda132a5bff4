"""Sparse arrays as triplets.

One may stand for a compressed array: its coordinates are made when somebody asks for them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Axes, Shape
from distnb.client.handle.array import Array, create
from distnb.client.handle.indexing import lengths
from distnb.client.math.reductions import count_nonzero
from distnb.client.record.creation import asarray, zeros
from distnb.client.select.placing import at
from distnb.client.select.taking import flatnonzero
from distnb.client.session.session import Session
from distnb.client.sparse.arithmetic import Arithmetic, no_out
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import routed
from distnb.client.sparse.compressed import Compressed, csr_array, session_of
from distnb.client.sparse.creation import check_places, triplets
from distnb.client.sparse.dense import spread
from distnb.client.sparse.scipys import is_scalar, result_of, scipy_sparse, supported
from distnb.client.sparse.structure import SparseLayout, even, line
from distnb.common.errors import explain

__all__ = ["coo_array"]


class coo_array(Arithmetic):
    """A sparse array as triplets, in the order in which they were given, as SciPy's ``coo_array``.

    Coordinates and elements are dense arrays on the engines. They are sent to where rows are when
    it becomes a :class:`csr_array`, as products need it. It may have one axis only.

    Parameters
    ----------
    arg1
        A sparse array, a dense one, a shape, or ``(data, (rows, columns))``.
    shape, dtype, copy, session
        As for :class:`csr_array`.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     triplets = dnb.ones(2), (dnb.array([0, 2]), dnb.array([1, 1]))
    ...     dnb.sparse.coo_array(triplets, shape=(3, 3)).tocsr()
    <csr_array of shape (3, 3) and dtype 'float64', 2 stored elements: 1 + 1 on 2 engines>
    """

    format = "coo"
    #: The array for which this one stands, if it does; else the coordinates are known.
    _origin: Compressed | None = None
    _coords: tuple[Any, ...] | None = None

    def __init__(
        self,
        arg1: Any,
        shape: Shape | None = None,
        dtype: DTypeLike | None = None,
        copy: bool = False,
        *,
        session: Session | None = None,
    ) -> None:
        if isinstance(arg1, Sparse):
            x = arg1.tocoo(copy=copy)
            self._origin, self._coords = x._origin, x._coords
            self.shape, self.data = x.shape, x.data
            if dtype is not None and supported(np.dtype(dtype)) != self.dtype:
                self.data = x.astype(dtype).data
                self._coords, self._origin = x.coords, None
            return
        at_session = session_of(session, arg1)
        if isinstance(arg1, Array) and arg1.ndim == 1:
            (where,) = (flatnonzero(arg1),)
            self._set((where,), arg1[where], arg1.shape)
        elif isinstance(arg1, tuple) and any(isinstance(x, Array) for x in (arg1[0], *_tail(arg1))):
            kind = None if dtype is None else supported(np.dtype(dtype))
            rows, columns, data, extents = triplets(arg1, shape, kind)
            check_places((rows, columns), extents)
            self._set((rows, columns), data, extents)
        elif isinstance(arg1, Array):
            self.__init__(csr_array(arg1, dtype=dtype))  # type: ignore[misc]
        else:
            x = scipy_sparse().coo_array(arg1, shape=shape, dtype=dtype)
            if x.ndim > 2:
                raise NotImplementedError(
                    explain("coo_array", f"{x.ndim} axes", "one or two", "reshape it")
                )
            lies = line(even(x.nnz, at_session.size))
            send = [asarray(c, session=at_session, dist=lies) for c in (*x.coords, x.data)]
            self._set(tuple(send[:-1]), send[-1], x.shape)

    def _set(self, coords: tuple[Any, ...], data: Array, shape: Shape) -> None:
        self._coords = coords
        self.data, self.shape = data, lengths(shape)

    @classmethod
    def standing_for(cls, x: Compressed) -> Any:
        """Return the triplets of a compressed array, in its order."""
        found = cls.__new__(cls)
        found._origin, found._coords = x, None
        found.data, found.shape = x.data, x.shape
        return found

    @property
    def coords(self) -> tuple[Any, ...]:
        """The index of each element along each axis."""
        if self._coords is None:
            x: Any = self._origin
            s = x.structure
            first = create(s.session, (s.major,), s.index_dtype, s.along(), ("index", 0, 0, 1))
            found = (spread(x.held, first), s.shown_indices)
            self._coords = found if x.axis == 0 else found[::-1]
        return self._coords

    @property
    def row(self) -> Any:
        """The row of each element."""
        return self.coords[-2] if self.ndim > 1 else np.zeros_like(self.coords[0])

    @property
    def col(self) -> Any:
        """The column of each element."""
        return self.coords[-1]

    @property
    def layout(self) -> SparseLayout:
        """Who holds what."""
        if self._origin is not None:
            return self._origin.layout
        n, layout = self.nnz, self.data.dbase.layout
        counts = [layout.local_shape((n,), r) for r in range(self.session.size)]
        parts = tuple(0 if c is None else c[0] for c in counts)
        return SparseLayout("elements", (0, *np.cumsum(parts).tolist()), parts)

    def _flat(self, single: int) -> Any:
        """Return an array of one row or column as one of one axis."""
        found = coo_array.__new__(coo_array)
        found._origin = None
        found._set((self.coords[1 - single],), self.data, (self.shape[1 - single],))
        return found

    def _with_data(self, data: Array) -> Any:
        found = coo_array.__new__(coo_array)
        origin = self._origin
        found._origin = None if origin is None else origin._with_data(data)
        found._coords, found.data, found.shape = self._coords, data, self.shape
        return found

    def _summed(self) -> Any:
        return self if self.ndim == 1 else self._kind("coo").standing_for(self.tocsr()._summed())

    def sum_duplicates(self) -> None:
        """Sum elements of equal places, and sort by them; in place, as SciPy's.

        What is sent is what :meth:`tocsr` sends.
        """
        x = self._summed()
        self._origin, self._coords, self.data = x._origin, x._coords, x.data

    # -- other formats -----------------------------------------------------------------------

    def _compressed(self) -> Any:
        return self.tocsr()

    def _along(self, axis: int) -> Any:
        if self.ndim != 2:
            raise NotImplementedError(
                explain("compressed array", f"shape {self.shape}", "two axes", "use .toarray()")
            )
        if self._origin is not None:
            found = self._origin._along(axis)
            found.sum_duplicates()
            return found
        session, (major, minor) = self.session, self.coords if axis == 0 else self.coords[::-1]
        n, across = self.shape if axis == 0 else self.shape[::-1]
        cuts = even(n, session.size)
        return self._kind(("csr", "csc")[axis]).of(routed(major, minor, self.data, cuts, across))

    def tocsr(self, copy: bool = False) -> Any:
        """Return the array in rows: elements are sent where they belong; equal places are summed.

        Parameters
        ----------
        copy : bool
            Changes nothing: elements are copied.

        Returns
        -------
        csr_array
            As many rows on each engine, or cut as a compressed array that it stands for.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2, 0], [1, 0, 3]]).tocsr()
        <csr_array of shape (2, 3) and dtype 'int64', 3 stored elements: 1 + 2 on 2 engines>
        """
        return self._along(0)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the array in columns: elements go where they belong; equal places are summed.

        Parameters
        ----------
        copy : bool
            Changes nothing: elements are copied.

        Returns
        -------
        csc_array
            As many columns on each engine, or cut as a compressed array that it stands for.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2, 0], [1, 0, 3]]).tocsc()
        <csc_array of shape (2, 3) and dtype 'int64', 3 stored elements: 2 + 1 on 2 engines>
        """
        return self._along(1)

    def tocoo(self, copy: bool = False) -> Any:
        """Return the array itself, or a copy; nothing is sent.

        Parameters
        ----------
        copy : bool
            Whether elements are copied.

        Returns
        -------
        coo_array
            The array, or one of other elements.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.eye_array(3).tocoo().tocoo().nnz
        3
        """
        return self.copy() if copy else self

    @property
    def T(self) -> Any:
        """The transposed array."""
        found = coo_array.__new__(coo_array)
        found._origin = None if self._origin is None else self._origin.T
        found._coords = None if self._coords is None else self._coords[::-1]
        found.data, found.shape = self.data, self.shape[::-1]
        return found

    def transpose(self, axes: Axes = None, copy: bool = False) -> Any:
        """Return the transposed array; nothing is sent.

        Parameters
        ----------
        axes : tuple of int, optional
            Which axis takes the place of each; by default they are reversed.
        copy : bool
            Whether elements are copied.

        Returns
        -------
        coo_array
            Rows are columns.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2, 0], [1, 0, 3]]).transpose().shape
        (3, 2)
        """
        if axes is not None:
            if not isinstance(axes, tuple | list) or len(axes) != self.ndim:
                raise ValueError("axes don't match matrix dimensions")
            places = [range(self.ndim)[operator.index(axis)] for axis in axes]
            if len({*places}) < self.ndim:
                raise ValueError("repeated axis in transpose")
            if places == [*range(self.ndim)]:
                return self.copy() if copy else self._with_data(self.data)
        return self.T.copy() if copy else self.T

    def toarray(self) -> Any:
        """Return a dense array; what is sent is what :meth:`tocsr` sends."""
        if self.ndim == 2:
            return self.tocsr().toarray()
        found = zeros(self.shape, self.dtype, session=self.session)
        at(np.add, found, self.coords[0], self.data)
        return found

    def to_scipy(self) -> Any:
        """Return SciPy's array, in the notebook."""
        coords = tuple(c.to_numpy() for c in self.coords)
        return scipy_sparse().coo_array((self.data.to_numpy(), coords), shape=self.shape)

    def multiply(self, other: object) -> Any:
        """Return the product element by element; with an array, :meth:`tocsr` sends first.

        Parameters
        ----------
        other : number, sparse array or dense array
            What broadcasts to the array, or the array to it.

        Returns
        -------
        sparse array
            COO if ``other`` is a number or dense.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).multiply(2).toarray().to_numpy()
        array([[0, 4],
               [6, 2]])
        """
        if is_scalar(other):
            return self._scaled(other)
        return self.tocsr().multiply(other)

    def nonzero(self) -> tuple[Any, ...]:
        """Return the coordinates of the elements that are not zero.

        They lie where the elements are. How many there are is read: this waits.

        Returns
        -------
        tuple of DistArray
            An array for each axis, in the order of the elements.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rows, columns = dnb.sparse.coo_array([[0, 2], [3, 0]]).nonzero()
        ...     rows.to_numpy(), columns.to_numpy()
        (array([0, 1], dtype=int32), array([1, 0], dtype=int32))
        """
        keep = self.data != 0
        return tuple(c[keep] for c in self.coords)

    def eliminate_zeros(self) -> None:
        """Remove stored elements that are zero; in place, as SciPy's: each engine its own.

        How many are left is read: this waits.
        """
        keep = self.data != 0
        self._coords = tuple(c[keep] for c in self.coords)
        self.data, self._origin = self.data[keep], None

    def sum(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None) -> Any:
        """Return the sum of all elements, or along an axis as a dense array.

        What is sent is what :meth:`tocsr`, and the sum of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        dtype : dtype, optional
            In which it is computed; by default as in NumPy.
        out : None
            There is none: assign the result.

        Returns
        -------
        DistArray
            A number, or of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).sum(axis=0).to_numpy()
        array([3, 3])
        """
        no_out(out)
        if self.ndim == 1:
            return self.data.sum(dtype=dtype)
        if axis is None or isinstance(axis, tuple):
            return self.tocsr().sum(axis, dtype)
        between = result_of(lambda a: a.sum(), self.dtype).dtype  # counts bools of equal places
        return self.astype(between, copy=False).tocsr().sum(axis, dtype)

    def max(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the greatest element, or along an axis as a ``coo_array`` of one axis.

        What is sent is what :meth:`tocsr`, and ``max`` of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count.

        Returns
        -------
        DistArray or coo_array
            A number, or the elements that are not zero of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).max(axis=1).toarray().to_numpy()
        array([2, 3])
        """
        no_out(out)
        if self.ndim == 1:
            return self._extreme("max", explicit)
        return self.tocsr().max(axis, explicit=explicit)

    def min(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the least element, or along an axis as a ``coo_array`` of one axis.

        What is sent is what :meth:`tocsr`, and ``min`` of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count.

        Returns
        -------
        DistArray or coo_array
            A number, or the elements that are not zero of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).min(axis=1).toarray().to_numpy()
        array([0, 1])
        """
        no_out(out)
        if self.ndim == 1:
            return self._extreme("min", explicit)
        return self.tocsr().min(axis, explicit=explicit)

    def mean(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None) -> Any:
        """Return the mean of all elements, or along an axis as a dense array.

        What is sent is what :meth:`tocsr`, and the mean of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        dtype : dtype, optional
            In which it is computed; by default as in NumPy.
        out : None
            There is none: assign the result.

        Returns
        -------
        DistArray
            A number, or of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).mean(axis=1).to_numpy()
        array([1., 2.])
        """
        no_out(out)
        between = np.dtype(np.float64) if self.dtype.kind in "biu" else self.dtype
        return self.astype(between, copy=False).tocsr().mean(axis, dtype)

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal as a dense array; sent is what :meth:`tocsr` sends.

        Parameters
        ----------
        k : int
            Which diagonal; above the main one if positive.

        Returns
        -------
        DistArray
            Of one axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).diagonal().to_numpy()
        array([0, 1])
        """
        return self.tocsr().diagonal(k)

    def count_nonzero(self, axis: Axes = None) -> Any:
        """Return how many elements are not zero, or how many along an axis as a dense array.

        What is sent is what :meth:`tocsr`, and the count of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.

        Returns
        -------
        DistArray
            A number, or of one axis, int64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2], [3, 1]]).count_nonzero(axis=1).to_numpy()
        array([1, 2])
        """
        return count_nonzero(self.data) if self.ndim == 1 else self.tocsr().count_nonzero(axis)


def _tail(arg1: tuple[Any, ...]) -> tuple[Any, ...]:
    return arg1[1] if len(arg1) == 2 and isinstance(arg1[1], tuple) else arg1[1:]
