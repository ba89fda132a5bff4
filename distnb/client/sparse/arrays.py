"""The classes of sparse arrays: SciPy's names and arguments over the commands of this room.

COO can stand for a compressed array: its coordinates are made when somebody asks for them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import check_session
from distnb.client.math.reductions import count_nonzero
from distnb.client.record.creation import asarray, zeros
from distnb.client.select.placing import at
from distnb.client.select.taking import flatnonzero
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import each, elements, recut, routed, times, turned
from distnb.client.sparse.creation import balanced_cuts, shape_of, stored, triplets
from distnb.client.sparse.dense import (
    dense,
    diagonal,
    gathered,
    looked_up,
    picked,
    pointers_of,
    row_pointers,
    rowwise,
    scattered,
    spread,
)
from distnb.client.sparse.indexing import key_of, pointwise, selected
from distnb.client.sparse.layouts import SparseLayout
from distnb.client.sparse.operands import compared, is_dense, is_scalar, merged
from distnb.client.sparse.scipys import is_scipys, result_of, scipy_sparse, supported
from distnb.client.sparse.structure import Stored, cuts_for, even, global_pointers, line
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["Compressed", "coo_array", "csc_array", "csr_array", "issparse"]


def issparse(x: object) -> bool:
    """Tell whether something is a distributed sparse array."""
    return isinstance(x, Sparse)


class _Arithmetic(Sparse):
    """Operators, by what the other operand is."""

    def _plus(self, other: Any, sign: int) -> Any:
        """Return the sum, or the difference."""
        word = ("adding", "subtracting")[sign < 0]
        if is_scalar(other):
            if other == 0:
                return self.copy()
            raise NotImplementedError(
                f"{word} a nonzero scalar to a sparse array is not supported"
                if sign > 0
                else "subtracting a nonzero scalar from a sparse array is not supported"
            )
        op = operator.add if sign > 0 else operator.sub
        if is_sparse(other):
            return self._compressed()._merged(("add", "subtract")[sign < 0], other)
        return self._densely(op, other)

    def _densely(self, op: Callable[[Any, Any], Any], other: Any) -> Any:
        """Return what an operator gives of the dense array."""
        if not is_dense(other):
            return NotImplemented
        return op(self.toarray(), asarray(other, session=self.session))

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __radd__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        if is_scalar(other) or is_sparse(other):
            return -(self - other) if not is_sparse(other) else _ours(other, self) - self
        return self._densely(lambda a, b: b - a, other)

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if is_scalar(other):
            return self._divided(other)
        if is_sparse(other):
            raise NotImplementedError(
                explain(
                    "quotient of two sparse arrays",
                    "0 / 0 nearly everywhere",
                    "a dense one",
                    "use A.toarray() / B.toarray()",
                )
            )
        return self.multiply(1 / asarray(other, session=self.session))

    def __matmul__(self, other: Any) -> Any:
        return self._compressed()._times(other)

    def __rmatmul__(self, other: Any) -> Any:
        x = self._compressed()
        if is_sparse(other):
            return _ours(other, x)._times(x)
        y = asarray(other, session=self.session)
        found = x.T._times(y if y.ndim < 2 else y.T)
        return found.T if y.ndim == 2 else found

    def dot(self, other: Any) -> Any:
        """Return the product, as ``@``, or with a number."""
        return self * other if is_scalar(other) else self @ other

    def _compare(self, name: str, other: Any) -> Any:
        if is_scalar(other):
            return self._compressed()._compared(name, other)
        if is_sparse(other):
            if self.shape != other.shape and name in ("equal", "not_equal"):
                return name == "not_equal"
            return self._compressed()._merged(name, other)
        return self._densely(getattr(np, name), other)

    def __eq__(self, other: object) -> Any:
        return self._compare("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("not_equal", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("less", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare("greater_equal", other)

    def maximum(self, other: Any) -> Any:
        """Return the greater of elements, with another array or a number."""
        return self._compare("maximum", other)

    def minimum(self, other: Any) -> Any:
        """Return the lesser of elements, with another array or a number."""
        return self._compare("minimum", other)

    # What each class says.

    def _compressed(self) -> Any:
        """Return it as CSR or CSC."""
        raise NotImplementedError

    def toarray(self) -> Any:
        """Return a dense array, which lies as this one."""
        raise NotImplementedError

    def multiply(self, other: Any) -> Any:
        """Return the product element by element."""
        raise NotImplementedError

    def todense(self) -> Any:
        """Return a dense array, which lies as this one."""
        return self.toarray()

    def matvec(self, x: Any) -> Any:
        """Return ``A @ x``; so ``scipy.sparse.linalg`` takes the array for an operator."""
        return self @ x

    def rmatvec(self, x: Any) -> Any:
        """Return the product of the conjugate transposed."""
        x = asarray(x, session=self.session)
        if self.dtype.kind != "c":
            return self._compressed().T @ x
        return np.conjugate(self._compressed().T @ np.conjugate(x))


def is_sparse(x: object) -> bool:
    """Tell whether an operand is sparse: distributed, or SciPy's."""
    return isinstance(x, Sparse) or (not is_dense(x) and not is_scalar(x) and is_scipys(x))


class Compressed(_Arithmetic):
    """What CSR and CSC have in common.

    Parameters
    ----------
    arg1
        A sparse array (distributed or SciPy's), a dense one, a shape, ``(data, (rows, columns))``,
        whose equal places are summed, or ``(data, indices, indptr)``.
    shape : tuple of int, optional
        The shape, where that does not follow.
    dtype : dtype, optional
        Element type.
    copy : bool
        As SciPy's: elements that are on engines already are shared if False.
    dist : None, 'block', 'nnz' or ('irregular', cuts)
        How rows (CSR) or columns (CSC) are cut: as many on each engine, or as many stored
        elements, or at these places.
    session : Session, optional
        By default the current one.
    """

    #: The axis that is cut.
    axis: int

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        copy: bool = False,
        *,
        dist: Any = None,
        session: Session | None = None,
    ) -> None:
        if isinstance(arg1, Sparse):
            x = arg1._compressed()._along(self.axis)
            x = x if dtype is None else x.astype(dtype, copy=False)
            x = x if dist is None else x.redistribute(dist)
            self._become(x.copy() if copy else x)
            if shape is not None and tuple(shape) != self.shape:
                raise ValueError(f"shapes {shape} and {self.shape} are inconsistent")
            return
        self._become(stored(_session(session, arg1), arg1, shape, dtype, self.axis, dist))

    @classmethod
    def of(cls, x: Stored) -> Any:
        """Return the array of these elements and this structure."""
        found = cls.__new__(cls)
        found._become(x)
        return found

    def _become(self, x: Any) -> None:
        self.data, self.structure = x.data, x.structure

    @property
    def stored(self) -> Stored:
        """Elements and structure."""
        return Stored(self.data, self.structure)

    @property
    def shape(self) -> Ints:  # type: ignore[override]
        """Lengths of the axes."""
        found = (self.structure.major, self.structure.minor)
        return found if self.axis == 0 else found[::-1]

    @property
    def indices(self) -> Any:
        """The column (CSR) or row (CSC) of each stored element."""
        return self.structure.indices

    @property
    def indptr(self) -> Any:
        """Where the elements of each row (CSR) or column (CSC) begin: a copy."""
        return row_pointers(self.stored)

    @property
    def layout(self) -> SparseLayout:
        """Who holds what."""
        s = self.structure
        return SparseLayout(("rows", "columns")[self.axis], s.cuts, s.per_engine)

    def redistribute(self, dist: Any = None) -> Any:
        """Return the array cut elsewhere; ``dist`` is as for the constructor."""
        s = self.structure
        if isinstance(dist, str) and dist == "nnz":
            cuts = balanced_cuts(self.stored)
        else:
            cuts = cuts_for(dist, s.major, s.session.size)
        return type(self).of(recut(self.stored, cuts))

    # -- other formats -----------------------------------------------------------------------

    def _compressed(self) -> Compressed:
        return self

    def _along(self, axis: int, cuts: Ints | None = None) -> Any:
        """Return the array in the format that is cut along an axis."""
        x = self.stored if axis == self.axis else turned(self.stored)
        x = x if cuts is None else recut(x, cuts)
        return (csr_array, csc_array)[axis].of(x)

    def tocsr(self, copy: bool = False) -> Any:
        """Return the array in rows: itself, or with its elements sent to other engines."""
        return self.copy() if copy and self.axis == 0 else self._along(0)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the array in columns: itself, or with its elements sent to other engines."""
        return self.copy() if copy and self.axis == 1 else self._along(1)

    def tocoo(self, copy: bool = True) -> Any:
        """Return the array as coordinates; nothing is sent."""
        return coo_array._standing_for(self.copy() if copy else self)

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """Return the array in a format: ``'csr'``, ``'csc'`` or ``'coo'``."""
        return _in_format(self, format, copy)

    @property
    def T(self) -> Any:  # noqa: N802 - SciPy's name
        """The transposed array: the same parts, in the other format."""
        return (csr_array, csc_array)[1 - self.axis].of(self.stored)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the transposed array: the same parts, in the other format."""
        if axes not in (None, (1, 0), (-1, 0), (1, -2), (-1, -2)):
            raise ValueError(
                "Sparse arrays/matrices do not support an 'axes' parameter because swapping "
                "dimensions is the only logical permutation."
            )
        return self.T.copy() if copy else self.T

    def toarray(self) -> Any:
        """Return a dense array, which lies as this one."""
        return dense(self.stored, self.axis)

    def to_scipy(self) -> Any:
        """Return SciPy's array, in the notebook."""
        s = self.structure
        pointers = global_pointers(pointers_of(s), s.cuts, s.ends)
        arrays = (elements(self.stored).to_numpy(), s.indices.to_numpy(), pointers)
        return getattr(scipy_sparse(), type(self).__name__)(arrays, shape=self.shape)

    def _with_data(self, data: Any) -> Any:
        x = Stored(data, self.structure)
        return type(self).of(Stored(elements(x), self.structure))

    def _summed(self) -> Any:
        self.sum_duplicates()
        return self

    def _made(self, name: str, canonical: bool) -> None:
        """Be what engines make of the parts alone."""
        self._become(each(name, (self.stored,), self.dtype, canonical=canonical))

    def sum_duplicates(self) -> None:
        """Sum elements of equal places, and sort; in place, as SciPy's."""
        if not self.structure.canonical:
            self._made("sum_duplicates", True)

    def sort_indices(self) -> None:
        """Sort the elements of each row or column by their indices; in place, as SciPy's."""
        if not self.structure.canonical:
            self._made("sort_indices", False)

    def eliminate_zeros(self) -> None:
        """Remove stored elements that are zero; in place, as SciPy's."""
        self._made("eliminate_zeros", self.structure.canonical)

    # -- operators -----------------------------------------------------------------------------

    def _merged(self, name: str, other: Any) -> Any:
        """Return what an operator gives of two sparse arrays."""
        if self.shape != other.shape:
            raise ValueError("inconsistent shapes")
        y = _ours(other, self)._compressed()._along(self.axis, self.structure.cuts)
        return type(self).of(merged(name, self.stored, y.stored))

    def _compared(self, name: str, number: Any) -> Any:
        return type(self).of(compared(name, self.stored, number))

    def multiply(self, other: Any) -> Any:
        """Return the product element by element, with a number, or an array sparse or dense."""
        if is_scalar(other):
            return self._scaled(other)
        if is_sparse(other):
            if self.shape != other.shape and _fits(other.shape, self.shape):
                raise NotImplementedError(
                    explain(
                        "product of sparse arrays",
                        f"shapes {self.shape} and {other.shape}",
                        "equal ones",
                        "multiply by a dense row or column",
                    )
                )
            return self._merged("multiply", other)
        y = asarray(other, session=self.session)
        check_session(y, self.session)
        if y.ndim > 2 or not _fits(y.shape, self.shape):
            raise ValueError("inconsistent shapes")
        supported(result_of(lambda a: a.multiply(np.zeros((1, 1), y.dtype)), self.dtype).dtype)
        if y.size == 1:
            return self._scaled(y.reshape(()))
        found = self._with_data(elements(self.stored) * self._at_places(y))
        return coo_array._standing_for(found)

    def _at_places(self, y: Any) -> Any:
        """Return for each element what a dense array has at its place, broadcast."""
        shape = (1, 1, *y.shape)[-2:]
        if shape == self.shape:
            return looked_up(self.stored, y.reshape(shape), self.axis)
        along = 0 if shape[1] == 1 else 1  # the axis of the vector
        take = spread if along == self.axis else picked
        return take(self.stored, y.reshape(-1))

    def _times(self, other: Any) -> Any:
        """Return the matrix product."""
        if is_sparse(other):
            return self._times_sparse(_ours(other, self))
        y = asarray(other, session=self.session)
        check_session(y, self.session)
        if y.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if y.ndim > 2:
            raise NotImplementedError(
                explain("product with a dense array", f"{y.ndim} axes", "one or two", "use a loop")
            )
        _check_product(self.shape, y.shape)
        return (gathered if self.axis == 0 else scattered)(self.stored, y)

    def _times_sparse(self, other: Any) -> Any:
        _check_product(self.shape, other.shape)
        y = other._compressed()._along(self.axis)
        found = result_of(operator.matmul, self.dtype, y.dtype)
        left, right = (self, y) if self.axis == 0 else (y, self)
        return type(self).of(times(left.stored, right.stored, found.dtype))

    # -- in brackets ---------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if is_sparse(key) or (is_dense(key) and not isinstance(key, tuple) and np.ndim(key) == 2):
            return self[_places(key, self)]
        found = key_of(key, self.shape)
        major, minor = found[:2] if self.axis == 0 else found[1::-1]
        if found.apart:
            return pointwise(self.stored, major, minor)
        x = type(self).of(selected(self.stored, major, minor))
        single = isinstance(found.rows, int), isinstance(found.columns, int)
        if all(single):
            return x.to_scipy()[0, 0]
        return x.tocoo(copy=False)._flat(single.index(True)) if any(single) else x

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal as a dense array."""
        m, n = self.shape
        if k <= -m or k >= n:
            return zeros(0, self.dtype, session=self.session)
        return diagonal(self.stored, k if self.axis == 0 else -k)

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        return self.diagonal(offset).sum()

    def nonzero(self) -> tuple[Any, Any]:
        """Return rows and columns of the elements that are not zero."""
        return self.tocsr().tocoo(copy=False).nonzero()  # in C order

    # -- reductions ----------------------------------------------------------------------------

    def _axis(self, axis: Any, name: str, **options: Any) -> tuple[int | None, Any]:
        """Return the axis to reduce, None for both, and what SciPy gives of a small array."""
        found = result_of(lambda a: getattr(a, name)(axis=axis, **options), self.dtype)
        if isinstance(axis, tuple):
            axis = None if len(axis) == 2 else axis[0]
        return (None if axis is None else operator.index(axis) % 2), found

    def _rowwise(self, axis: int, method: str, dtype: np.dtype, **options: Any) -> Any:
        """Reduce along an axis: each engine its own, for which the array may have to be turned."""
        x = self._along(1 - axis)
        return rowwise(x.stored, method, dtype, tuple(options.items()))

    def sum(self, axis: Any = None, dtype: DTypeLike | None = None) -> Any:
        """Return the sum of all elements, or along an axis as a dense array."""
        along, like = self._axis(axis, "sum")
        if along is None:
            found = elements(self.stored).sum(dtype=like.dtype)
        elif along != self.axis:
            found = rowwise(self.stored, "sum", like.dtype)
        else:
            s = self.structure
            ones = create(s.session, (s.major,), like.dtype, line(s.cuts), ("fill", 1))
            found = scattered(self.stored, ones)
        return found if dtype is None else found.astype(dtype)

    def mean(self, axis: Any = None, dtype: DTypeLike | None = None) -> Any:
        """Return the mean of all elements, or along an axis as a dense array."""
        along, _ = self._axis(axis, "mean")
        n = int(np.prod(self.shape)) if along is None else self.shape[along]
        between = np.dtype(np.float64) if self.dtype.kind in "biu" else self.dtype
        found = (self.astype(between, copy=False) * (1.0 / n)).sum(axis=along)
        found = found.astype(between)
        return found if dtype is None else found.astype(dtype)

    def _extremes(self, name: str, axis: Any, explicit: bool) -> Any:
        along, _ = self._axis(axis, name)
        if along is None:
            return self._extreme(name, explicit)
        if self.shape[along] == 0:
            raise ValueError("zero-size array to reduction operation")
        options = {"explicit": True} if explicit else {}
        return coo_array(self._rowwise(along, name, self.dtype, **options))

    def max(self, axis: Any = None, *, explicit: bool = False) -> Any:
        """Return the greatest element, or along an axis as a ``coo_array`` of one axis."""
        return self._extremes("max", axis, explicit)

    def min(self, axis: Any = None, *, explicit: bool = False) -> Any:
        """Return the least element, or along an axis as a ``coo_array`` of one axis."""
        return self._extremes("min", axis, explicit)

    def _where(self, name: str, axis: Any) -> Any:
        along, _ = self._axis(axis, name)
        if along is None:
            raise NotImplementedError(
                explain(name, "axis=None", "an axis", f"use A.{name}(axis=1), and then A.max()")
            )
        if self.shape[along] == 0:
            raise ValueError(f"Cannot apply the operation along a zero-sized dimension.")
        return self._rowwise(along, name, np.dtype(np.int64))

    def argmax(self, axis: Any = None) -> Any:
        """Return where along an axis the greatest elements are, as a dense array."""
        return self._where("argmax", axis)

    def argmin(self, axis: Any = None) -> Any:
        """Return where along an axis the least elements are, as a dense array."""
        return self._where("argmin", axis)

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many elements are not zero, or how many along an axis as a dense array."""
        along, _ = self._axis(axis, "count_nonzero")
        if along is None:
            return count_nonzero(self._summed().data)
        return self._rowwise(along, "count_nonzero", np.dtype(np.int64))


class csr_array(Compressed):  # noqa: N801 - SciPy's name
    """A sparse array in rows: each engine has some of them, as SciPy's ``csr_array``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.csr_array([[0, 2, 0], [1, 0, 3]])
    ...     (A @ dnb.arange(3)).to_numpy()
    ...     A
    array([2, 6])
    <csr_array of shape (2, 3) and dtype 'int64', 3 stored elements: 1 + 2 on 2 engines>
    """

    format, axis = "csr", 0


csr_array.__doc__ = (csr_array.__doc__ or "").replace(
    "    Examples", (Compressed.__doc__ or "").partition("\n\n")[2] + "\n    Examples"
)


class csc_array(Compressed):  # noqa: N801 - SciPy's name
    """A sparse array in columns: each engine has some of them, as SciPy's ``csc_array``.

    See :class:`csr_array` for what it takes.
    """

    format, axis = "csc", 1


class coo_array(_Arithmetic):  # noqa: N801 - SciPy's name
    """A sparse array as triplets, in the order in which they were given, as SciPy's ``coo_array``.

    Coordinates and elements are dense arrays on the engines. It may have one axis only.

    Parameters
    ----------
    arg1
        A sparse array, a dense one, a shape, or ``(data, (rows, columns))``.
    shape, dtype, copy, session
        As for :class:`csr_array`.
    """

    format = "coo"

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        copy: bool = False,
        *,
        session: Session | None = None,
    ) -> None:
        self._origin: Compressed | None = None
        if isinstance(arg1, Sparse):
            x = arg1.tocoo(copy=copy)
            self._origin, self._coords = x._origin, x._coords
            self.shape, self.data = x.shape, x.data
            if dtype is not None and supported(np.dtype(dtype)) != self.dtype:
                self.data = x.astype(dtype).data
                self._coords, self._origin = x.coords, None
            return
        at_session = _session(session, arg1)
        if isinstance(arg1, Array) and arg1.ndim == 1:
            (where,) = (flatnonzero(arg1),)
            self._set((where,), arg1[where], arg1.shape)
        elif isinstance(arg1, tuple) and any(isinstance(x, Array) for x in (arg1[0], *_tail(arg1))):
            kind = None if dtype is None else supported(np.dtype(dtype))
            rows, columns, data, extents = triplets(arg1, shape, kind)
            self._set((rows, columns), data, extents)
        elif isinstance(arg1, Array):
            self.__init__(csr_array(arg1, dtype=dtype))  # type: ignore[misc]
        else:
            x = scipy_sparse().coo_array(arg1, shape=shape, dtype=dtype)
            if x.ndim > 2:
                raise NotImplementedError(
                    explain("coo_array", f"{x.ndim} axes", "one or two", "reshape it")
                )
            where = line(even(x.nnz, at_session.size))
            send = [asarray(c, session=at_session, dist=where) for c in (*x.coords, x.data)]
            self._set(tuple(send[:-1]), send[-1], x.shape)

    def _set(self, coords: tuple[Any, ...], data: Any, shape: Any) -> None:
        self._coords: tuple[Any, ...] | None = coords
        self.data, self.shape = data, shape_of(shape)

    @classmethod
    def _standing_for(cls, x: Compressed) -> Any:
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
            first = create(
                s.session, (s.major,), s.index_dtype, line(s.cuts), ("index", 0, 0, 1)
            )
            found = (spread(x.stored, first), s.indices)
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

    def _with_data(self, data: Any) -> Any:
        found = coo_array.__new__(coo_array)
        origin = self._origin
        found._origin = None if origin is None else origin._with_data(data)
        found._coords, found.data, found.shape = self._coords, data, self.shape
        return found

    def _summed(self) -> Any:
        return self if self.ndim == 1 else coo_array._standing_for(self.tocsr()._summed())

    def sum_duplicates(self) -> None:
        """Sum elements of equal places, and sort by them; in place, as SciPy's."""
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
        lengths = self.shape if axis == 0 else self.shape[::-1]
        cuts = even(lengths[0], session.size)
        return (csr_array, csc_array)[axis].of(
            routed(major, minor, self.data, cuts, lengths[1])
        )

    def tocsr(self, copy: bool = False) -> Any:
        """Return the array in rows: elements go where they belong, equal places are summed."""
        return self._along(0)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the array in columns: elements go where they belong, equal places are summed."""
        return self._along(1)

    def tocoo(self, copy: bool = False) -> Any:
        """Return the array itself, or a copy."""
        return self.copy() if copy else self

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """Return the array in a format: ``'csr'``, ``'csc'`` or ``'coo'``."""
        return _in_format(self, format, copy)

    @property
    def T(self) -> Any:  # noqa: N802 - SciPy's name
        """The transposed array."""
        found = coo_array.__new__(coo_array)
        found._origin = None if self._origin is None else self._origin.T
        found._coords = None if self._coords is None else self._coords[::-1]
        found.data, found.shape = self.data, self.shape[::-1]
        return found

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the transposed array."""
        return self.T.copy() if copy else self.T

    def toarray(self) -> Any:
        """Return a dense array."""
        if self.ndim == 2:
            return self.tocsr().toarray()
        found = zeros(self.shape, self.dtype, session=self.session)
        at(np.add, found, self.coords[0], self.data)
        return found

    def to_scipy(self) -> Any:
        """Return SciPy's array, in the notebook."""
        coords = tuple(c.to_numpy() for c in self.coords)
        return scipy_sparse().coo_array((self.data.to_numpy(), coords), shape=self.shape)

    def multiply(self, other: Any) -> Any:
        """Return the product element by element."""
        if is_scalar(other):
            return self._scaled(other)
        return self.tocsr().multiply(other)

    def nonzero(self) -> tuple[Any, ...]:
        """Return the coordinates of the elements that are not zero."""
        keep = self.data != 0
        return tuple(c[keep] for c in self.coords)

    def eliminate_zeros(self) -> None:
        """Remove stored elements that are zero; in place, as SciPy's."""
        keep = self.data != 0
        self._coords = tuple(c[keep] for c in self.coords)
        self.data, self._origin = self.data[keep], None

    def sum(self, axis: Any = None, dtype: DTypeLike | None = None) -> Any:
        """Return the sum of all elements, or along an axis as a dense array."""
        return self.data.sum(dtype=dtype) if self.ndim == 1 else self.tocsr().sum(axis, dtype)

    def max(self, axis: Any = None, *, explicit: bool = False) -> Any:
        """Return the greatest element, or along an axis as a ``coo_array`` of one axis."""
        if self.ndim == 1:
            return self._extreme("max", explicit)
        return self.tocsr().max(axis, explicit=explicit)

    def min(self, axis: Any = None, *, explicit: bool = False) -> Any:
        """Return the least element, or along an axis as a ``coo_array`` of one axis."""
        if self.ndim == 1:
            return self._extreme("min", explicit)
        return self.tocsr().min(axis, explicit=explicit)

    def mean(self, axis: Any = None, dtype: DTypeLike | None = None) -> Any:
        """Return the mean of all elements, or along an axis as a dense array."""
        return self.tocsr().mean(axis, dtype)

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal as a dense array."""
        return self.tocsr().diagonal(k)

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many elements are not zero, or how many along an axis as a dense array."""
        return count_nonzero(self.data) if self.ndim == 1 else self.tocsr().count_nonzero(axis)


def _tail(arg1: tuple[Any, ...]) -> tuple[Any, ...]:
    return arg1[1] if len(arg1) == 2 and isinstance(arg1[1], tuple) else arg1[1:]


def _session(session: Session | None, *given: Any) -> Session:
    """Return the session that was asked for, that of an array, or the current one."""
    flat = [z for x in given for z in (x if isinstance(x, tuple) else (x,))]
    flat = [z for x in flat for z in (x if isinstance(x, tuple) else (x,))]
    found = next((x.session for x in flat if isinstance(x, Array)), None)
    return need(session if session is not None else found)


def _ours(x: Any, like: Any) -> Any:
    """Return a sparse operand as a distributed one: SciPy's are sent."""
    if isinstance(x, Sparse):
        check_session(x.data, like.session)
        return x
    kind = {"csr": csr_array, "csc": csc_array}.get(x.format, csr_array)
    return kind(x, session=like.session)


def _in_format(x: Any, name: str | None, copy: bool) -> Any:
    if name in ("bsr", "dia", "dok", "lil"):
        raise NotImplementedError(
            explain("format", repr(name), "'csr', 'csc' or 'coo'", "use .to_scipy() for others")
        )
    if name not in (None, "csr", "csc", "coo"):
        raise ValueError(f"Format {name} is unknown.")
    found = x if name in (None, x.format) else getattr(x, f"to{name}")(copy=copy)
    return found.copy() if copy and found is x else found


def _fits(shape: Ints, into: Ints) -> bool:
    """Tell whether a shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def _check_product(a: Ints, b: Ints) -> None:
    if a[1] != b[0]:
        right = f"(k={b[0]},1?)->(n,1?)" if len(b) == 1 else f"(k={b[0]},m)->(n,m)"
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={a[1]}),{right}")


def _places(mask: Any, like: Any) -> tuple[Any, Any]:
    """Return the rows and columns that a mask of two axes names, in C order."""
    if mask.shape != like.shape:
        raise IndexError(f"bool index shape {mask.shape} does not match {like.shape}")
    if mask.dtype != bool:
        raise IndexError(f"index of two axes: got {mask.dtype}, expected a mask of bools")
    if is_sparse(mask):
        x = _ours(mask, like).tocsr()
        x.sum_duplicates()
        rows, columns = x.nonzero()
        return rows, columns
    rows, columns = asarray(mask, session=like.session).nonzero()
    return rows, columns
