"""Sparse arrays as triplets.

One may stand for a compressed array: its coordinates are made when somebody asks for them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Axes, Order, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import lengths
from distnb.client.lasting.assembled import KINDS
from distnb.client.math.reductions import count_nonzero
from distnb.client.record.creation import asarray, ones_like, zeros_like
from distnb.client.select.taking import flatnonzero
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.client.sparse.arithmetic import dense_of, factors, into, is_dense, is_sparse, ours
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import routed
from distnb.client.sparse.compressed import Compressed, csr_array, kept, session_of
from distnb.client.sparse.creation import KIND, triplets
from distnb.client.sparse.dense import majors
from distnb.client.sparse.indexing import (
    Positions,
    index_within,
    inside,
    is_basic,
    is_mask,
    key_of,
    named,
    named_in,
    on_diagonal,
    pointwise,
    selected,
    with_new,
)
from distnb.client.sparse.reductions import Extremes
from distnb.client.sparse.scipys import index_dtype, is_scalar, result_of, scipy_sparse, supported
from distnb.client.sparse.structure import SparseLayout, even, line
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.ops.sparse_parts import check_places

__all__ = ["coo_array"]

#: Places that can be counted.
_MOST = 2**63 - 1
#: So many more rows than elements, and no array is made for all rows where there is another way.
_MANY = 2**20


class coo_array(Extremes):
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

    _format = "coo"
    _shape: Ints
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
            x = x if dtype is None else x.astype(dtype, copy=False)
            self._become(x)
            return
        at_session = session_of(session, arg1)
        if isinstance(arg1, Array) and arg1.ndim == 1:
            (where,) = (flatnonzero(arg1),)
            self._set((where,), arg1[where], arg1.shape)
        elif isinstance(arg1, tuple) and any(isinstance(x, Array) for x in (arg1[0], *_tail(arg1))):
            kind = None if dtype is None else supported(np.dtype(dtype))
            coords, data, extents = triplets(arg1, shape, kind)
            check_places(coords, extents)
            self._set(coords, data, extents)
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
        self._origin, self._coords = None, coords
        self.data, self._shape = data, lengths(shape)

    def _become(self, x: Any) -> None:
        self._origin, self._coords, self._shape, self.data = x._origin, x._coords, x.shape, x.data

    @classmethod
    def standing_for(cls, x: Compressed) -> Any:
        """Return the triplets of a compressed array, in its order."""
        found = cls.__new__(cls)
        found._origin, found._coords = x, None
        found.data, found._shape = x.data, x.shape
        return found

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        return self._shape

    @property
    def coords(self) -> tuple[Any, ...]:
        """The index of each element along each axis."""
        if self._coords is None:
            x: Any = self._origin
            major = majors(x.held)  # elements stay where the compressed array has them
            found = (major.alias(major.dview, writeable=False), x.indices)
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
        return self.of_triplets((self.coords[1 - single],), self.data, (self.shape[1 - single],))

    @classmethod
    def of_triplets(cls, coords: Sequence[Any], data: Array, shape: Shape) -> Any:
        """Return the array of these triplets."""
        found = cls.__new__(cls)
        found._set(tuple(coords), data, shape)
        return found

    def _as_column(self) -> Any:
        """Return an array of one axis as a column."""
        (index,) = self.coords
        return self.of_triplets((index, zeros_like(index)), self.data, (*self.shape, 1))

    def _in_rows(self) -> Any:
        """Return the array in rows; of one axis as a column."""
        return self.tocsr() if self.ndim == 2 else self._as_column().tocsr()

    def _reading(self, axis: int = 0) -> Any:
        """Return what :meth:`_in_rows` or ``_along`` does, to be read alone: it is kept."""
        origin = self._origin
        if origin is not None:
            return origin._with_data(self.data)._reading(axis).in_order()
        forth = slice(None, None, 1 - 2 * axis)  # from the axis that is cut
        make = self._in_rows if axis == 0 else self.tocsc
        return kept(axis, (self.data, *self.coords[forth]), self.shape[forth], make)

    def _as_before(self, x: Sparse) -> Any:
        """Return what was made of the array in rows, with as many axes as this one has."""
        return x if self.ndim == 2 else x.tocoo(copy=False)._flat(1)

    def _with_data(self, data: Array) -> Any:
        found = coo_array.__new__(coo_array)
        origin = self._origin
        own: Any = None if origin is None else origin._with_data(data)
        found._origin, same = own, origin is None or own.structure is origin.structure
        found._coords, found.data, found._shape = self._coords if same else None, data, self.shape
        return found

    @property
    def _wide(self) -> bool:
        """Tell whether there are many more rows than elements, of which nothing is known."""
        return self._origin is None and self.shape[0] > self.nnz + _MANY

    def _summed(self) -> Any:
        size, parts = prod(self.shape), self.session.size
        each = -(-size // parts)
        if self._wide and parts * each <= _MOST:  # a row for each engine, with all of its places
            found = self._reshaped((parts, each), "C")._along(0).tocoo(copy=False)
            return found._reshaped(self.shape, "C")
        return self._as_before(self._in_rows()._summed()).tocoo(copy=False)

    @property
    def has_canonical_format(self) -> bool:
        """Whether places rise, row by row, and none is there twice.

        Engines look at them, if it is not known: then this waits. SciPy's says what is known.
        """
        if self._origin is not None and self._origin.axis == 0:
            return bool(self._origin.has_canonical_format)
        rises: Any = False
        equal: Any = True
        for c in self.coords:
            rises, equal = rises | (equal & (c[1:] > c[:-1])), equal & (c[1:] == c[:-1])
        return bool(rises.all())

    def sum_duplicates(self) -> None:
        """Sum elements of equal places, and sort by them; in place, as SciPy's.

        What is sent is what :meth:`tocsr` sends.
        """
        self._become(self._summed())

    # -- other formats -----------------------------------------------------------------------

    def _compressed(self) -> Any:
        return self._along(0)

    def _along(self, axis: int) -> Any:
        if self.ndim != 2:
            raise NotImplementedError(
                explain("compressed array", f"shape {self.shape}", "two axes", "use .toarray()")
            )
        if self._origin is not None:
            found = self._origin._with_data(self.data)._along(axis)  # others may be put there
            found = found.copy() if found.data is self.data else found
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
            As many rows on each engine, or cut as a compressed array that it stands for. An array
            of one axis is COO, with equal places summed.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.coo_array([[0, 2, 0], [1, 0, 3]]).tocsr()
        <csr_array of shape (2, 3) and dtype 'int64', 3 stored elements: 1 + 2 on 2 engines>
        """
        return self._along(0) if self.ndim == 2 else self._summed()

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
        if self.ndim != 2:
            raise ValueError(f"Cannot convert. CSC format must be 2D. Got {self.ndim}D")
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
        found.data, found._shape = self.data, self.shape[::-1]
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

    def _dense(self) -> Array:
        """Return a dense array; what is sent is what :meth:`tocsr` sends."""
        return self._reading().toarray().reshape(self.shape)

    def to_scipy(self) -> Any:
        """Return SciPy's array, in the notebook."""
        coords = tuple(c.to_numpy() for c in self.coords)
        return scipy_sparse().coo_array((self.data.to_numpy(), coords), shape=self.shape)

    # -- shapes and diagonals ----------------------------------------------------------------

    def _reshaped(self, shape: Ints, order: Order) -> Any:
        """Return the triplets in another shape: elements lie where they lay."""
        if prod(shape) > _MOST:
            got, most = f"shape {self.shape}", f"at most {_MOST:,} places"
            raise ValueError(explain("reshape", got, most, "keep the shape"))
        axes = slice(None, None, 1 if order == "C" else -1)
        flat, *inner = [c.astype(np.int64) for c in self.coords[axes]]
        for index, n in zip(inner, self.shape[axes][1:], strict=True):
            flat = flat * n + index
        across = max(1, shape[axes][-1])
        coords = (flat,) if len(shape) == 1 else (flat // across, flat % across)[axes]
        kind = index_dtype(*shape)
        return self.of_triplets([c.astype(kind) for c in coords], self.data, shape)

    def _set_diagonal(self, values: Array | np.ndarray, k: int, count: int) -> None:
        data, *places = on_diagonal(values, k, count, self)
        row, column = [c.astype(np.int64) for c in self.coords]
        keep = (column - row != k) | (np.minimum(row, column) >= count)
        data = concatenate([self.data[keep], data])
        supported(data.dtype)
        pairs = zip(self.coords, places, strict=True)
        kind = index_dtype(*self.shape)
        coords = [concatenate([x.astype(kind) for x in (c[keep], new)]) for c, new in pairs]
        self._origin = None
        self._set(tuple(coords), data, self.shape)

    # -- in brackets -------------------------------------------------------------------------

    def __getitem__(self, key: object) -> Any:
        """Return some elements, as SciPy's: triplets, or a number for a single place.

        Numbers and slices leave elements where they are. For arrays of positions the array is
        brought into rows, and its rows are sent.
        """
        items = (key if isinstance(key, tuple) else (key,)) or (Ellipsis,)
        if any(item is None for item in items) and all(map(is_basic, items)):
            return self._with_axes(items)
        if self.ndim == 1:
            return self._in_line(items)
        found = named(key, self) if is_mask(key) else key_of(key, self.shape)
        if found.apart:
            some = self._points(found.rows, found.columns)
            return some if found.lies is None else some.reshape(found.lies)
        if is_basic(found.rows) and is_basic(found.columns):
            return self._inside(found[:2])
        x = csr_array.of(selected(self._reading().stored, *found[:2])).tocoo(copy=False)
        single = [isinstance(item, int) for item in found[:2]]
        return x._flat(single.index(True)) if any(single) else x

    def _with_axes(self, items: tuple[Any, ...]) -> Any:
        """Return what is in brackets, with an axis of length 1 for each None there."""
        found = self[tuple([item for item in items if item is not None])]
        shape = with_new(items, np.shape(found), self.ndim)
        if len(shape) > 2:
            got, do = f"{len(shape)} axes", "use .toarray(), or fewer None"
            raise NotImplementedError(explain("index of a sparse array", got, "one or two", do))
        if isinstance(found, Sparse):
            return found.reshape(shape)
        return coo_array(np.full(shape, found), session=self.session)

    def _in_line(self, items: tuple[Any, ...]) -> Any:
        """Return what is in the brackets of an array of one axis: of the column."""
        if is_sparse(items[0]):
            items = (*ours(items[0], self)._summed().nonzero(), *items[1:])
        elif is_dense(items[0]) and np.ndim(items[0]) == 2 and len(items) == 1:
            index = items[0] if isinstance(items[0], Array) else np.asarray(items[0])
            return self[index.reshape(-1)].reshape(index.shape)
        return self._as_column()[(*items, 0)]

    def _points(self, rows: Positions, columns: Positions) -> Any:
        """Return what is stored at single places, along one axis."""
        x = self._reading().in_lines()
        places = x._with_data(ones_like(x.data, dtype=bool))
        where = flatnonzero(pointwise(places.held, rows, columns))
        found = pointwise(x.held, rows, columns)[where]
        return self.of_triplets((where.astype(index_dtype(len(rows))),), found, (len(rows),))

    def _inside(self, items: tuple[Any, ...]) -> Any:
        """Return what is in numbers and slices; elements lie where they lay."""
        keep, coords, shape = None, [], []
        for item, c, n in zip(items, self.coords, self.shape, strict=True):
            index, inside, length = index_within(item, c, n)
            if inside is not None:
                keep = inside if keep is None else keep & inside
            if length is not None:
                coords.append(index)
                shape.append(length)
        if keep is None:
            return self._with_data(self.data.copy())
        data = self.data[keep]
        if not shape:
            return np.asarray(data.sum()).astype(self.dtype)[()]
        return self.of_triplets([c[keep] for c in coords], data, shape)

    def __setitem__(self, key: object, value: object) -> None:
        """Put in other values, as SciPy's: of several places no zeros are stored."""
        x, y = self._in_rows(), value
        if self.ndim == 1:
            key = (*(key if isinstance(key, tuple) else (key,)), 0)
            y = ours(value, self).reshape(-1, 1) if is_sparse(value) else value
        elif is_sparse(value) and value.ndim == 1:  # of one axis is what ``A[:, 0]`` returns
            where = named_in(x, key)
            column = isinstance(where.columns, int) and isinstance(where.rows, slice)
            y = ours(value, self).reshape(-1, 1) if column else value
        x[key] = y
        named = named_in(x, key)
        if isinstance(named.rows, int) and isinstance(named.columns, int):
            keep: Any = slice(None)
        else:
            keep = (x.data != 0) | ~inside(x, named)
        found = self._as_before(x).tocoo(copy=False)
        self._origin, self._coords = None, tuple([c[keep] for c in found.coords])
        self.data = found.data[keep]

    def __iter__(self) -> Any:
        x = self if self.ndim == 1 else self._reading()
        return (x[i] for i in range(self.shape[0]))

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
        if self.ndim == 2:
            return self._reading().multiply(other)
        other = ours(other, self) if is_sparse(other) else dense_of(other, self.session)
        if other.shape == self.shape:
            y = other._as_column() if is_sparse(other) else other.reshape(-1, 1)
            return self._as_before(self._reading().multiply(y))
        if is_sparse(other) and other.ndim == 2:
            if other.shape == (1, *self.shape):  # SciPy's is a row of triplets then
                return other.multiply(self).tocoo(copy=False)
            return other._scaled(self.sum()) if self.shape == (1,) else other.multiply(self)
        if is_sparse(other):
            one, many = (self, other) if self.shape == (1,) else (other, self)
            if one.shape != (1,):
                raise ValueError("inconsistent shapes")
            return many._scaled(one.sum() if one is self else one.toarray().reshape(()))
        if self.shape == (1,) and other.size != 1:
            return self.sum() * other  # SciPy's is dense then, of the dtype of a sum
        found = self._reading().T.multiply(other)  # a row, which is cut along its columns
        found = found.tocoo(copy=False)
        return found if other.ndim == 2 else found._flat(0)

    def _merged(self, name: str, other: Sparse) -> Any:
        if self.shape != other.shape:
            raise ValueError("inconsistent shapes")
        y = ours(other, self)
        y = y if self.ndim == 2 else y._as_column()
        return self._as_before(self._reading()._merged(name, y))

    def _compared(self, name: str, number: object) -> Any:
        return self._as_before(self._reading()._compared(name, number))

    def __matmul__(self, other: object) -> Any:
        x, y = factors(self, other)
        if self.ndim == 2:
            return x._reading()._times(y)
        found = x._reading().T._times(y)  # a row, which is cut along its columns
        found = found.toarray() if is_sparse(y) and y.ndim == 1 else found
        return found.reshape(found.shape[1:])

    def __rmatmul__(self, other: object) -> Any:
        x, y = factors(self, other)
        if self.ndim == 2:
            return super(coo_array, x).__rmatmul__(y)
        return y @ x if is_sparse(y) else x @ (y if y.ndim < 2 else y.T)

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

    def _is_all(self, axis: Axes) -> bool:
        """Tell whether a reduction is that of all elements because there is one axis only."""
        if self.ndim == 1 and axis not in (None, 0, -1, (0,), (-1,)):
            raise ValueError("axis out of range for ndim")
        return self.ndim == 1

    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
    ) -> Any:
        """Return the sum of all elements, or along an axis as a dense array.

        What is sent is what :meth:`tocsr`, and the sum of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        dtype : dtype, optional
            In which it is computed; by default as in NumPy.
        out : DistArray or array, optional
            The result is written into it, and returned.

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
        if self._is_all(axis):
            return self.data.sum(dtype=dtype, out=out)
        between = result_of(lambda a: a.sum(axis=axis), self.dtype).dtype
        if axis is None or (isinstance(axis, tuple) and len(axis) == 2):
            x = self if between == self.dtype else self._summed()  # equal places in their own dtype
            return x.data.sum(dtype=between if dtype is None else dtype, out=out)
        x = self.astype(between, copy=False)  # which counts bools of equal places
        return x._towards(axis).sum(axis, dtype, out)

    def _towards(self, axis: Axes) -> Any:
        """Return the array in the format in which each engine reduces its own along an axis."""
        one: Any = axis[0] if isinstance(axis, tuple) else axis
        return self._reading(1 - operator.index(one) % 2)

    def _extremes(self, name: str, axis: Axes, explicit: bool) -> Any:
        if self._is_all(axis) or axis is None:
            return self._extreme(name, explicit)
        result_of(lambda a: getattr(a, name)(axis=axis), self.dtype)
        return self._towards(axis)._extremes(name, axis, explicit)

    def _where(self, name: str, axis: Axes, explicit: bool) -> Any:
        if self._is_all(axis) or axis is None:
            return self._where_of_all(name, explicit)
        result_of(lambda a: getattr(a, name)(axis=axis), self.dtype)
        return self._towards(axis)._where(name, axis, explicit)

    def _in_c_order(self) -> Any:
        return self._summed()

    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
    ) -> Any:
        """Return the mean of all elements, or along an axis as a dense array.

        What is sent is what :meth:`tocsr`, and the mean of that, send.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        dtype : dtype, optional
            In which it is computed; by default as in NumPy.
        out : DistArray or array, optional
            The result is written into it, and returned.

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
        between = np.dtype(np.float64) if self.dtype.kind in "biu" else self.dtype
        x = self.astype(between, copy=False)
        if not self._is_all(axis) and axis is not None:
            result_of(lambda a: a.mean(axis=axis), self.dtype)
            return x._towards(axis).mean(axis, dtype, out)
        found = (x.data * (1.0 / prod(self.shape))).sum()
        return into(found.astype(between), dtype if out is None else None, out)

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
        if self.ndim != 2:
            raise ValueError("diagonal requires two dimensions")
        return self._reading(int(self._wide)).diagonal(k)

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
        if self._is_all(axis) or axis is None:
            return count_nonzero(self._summed().data)
        result_of(lambda a: a.count_nonzero(axis=axis), self.dtype)
        return self._towards(axis).count_nonzero(axis)


def _tail(arg1: tuple[Any, ...]) -> tuple[Any, ...]:
    return arg1[1] if len(arg1) == 2 and isinstance(arg1[1], tuple) else arg1[1:]


KINDS["sparse"] = KIND
