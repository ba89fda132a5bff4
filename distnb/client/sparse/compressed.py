"""Compressed sparse arrays: rows (CSR) or columns (CSC) are cut, and each part is SciPy's own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Axes, Dist, Grid, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import check_session
from distnb.client.handle.copies import Copies
from distnb.client.handle.indexing import lengths
from distnb.client.record.creation import ones, ones_like, zeros
from distnb.client.record.ranges import arange
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.client.shape.splits import Splits
from distnb.client.shape.viewing import shares_memory
from distnb.client.sparse.arithmetic import (
    compared,
    dense_of,
    fits,
    is_sparse,
    merged,
    ours,
)
from distnb.client.sparse.balance import count, recut_in_place
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import (
    each,
    elements,
    everywhere,
    in_reach,
    laid,
    lined,
    recut,
    times,
    turned,
)
from distnb.client.sparse.creation import placed, stored
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
from distnb.client.sparse.indexing import (
    assigned,
    is_basic,
    is_mask,
    key_of,
    named,
    pointwise,
    selected,
    with_diagonal,
    with_new,
)
from distnb.client.sparse.reductions import Reductions
from distnb.client.sparse.scipys import (
    dtype_of,
    is_scalar,
    result_of,
    scipy_sparse,
    supported,
)
from distnb.client.sparse.structure import (
    SparseLayout,
    Stored,
    Structure,
    cuts_of,
    global_pointers,
)
from distnb.common.errors import explain
from distnb.geometry.boxes import box_of
from distnb.geometry.layout import Ints
from distnb.ops.semirings import Semiring

__all__ = ["Compressed", "csc_array", "csr_array", "kept", "session_of"]


_COUNT = np.dtype(np.int64)


class Compressed(Reductions):
    """What CSR and CSC have in common; see :class:`csr_array` for what they take."""

    def __init__(
        self,
        arg1: Any,
        shape: Shape | None = None,
        dtype: DTypeLike | None = None,
        copy: bool = False,
        *,
        dist: Dist = None,
        grid: Grid = None,
        session: Session | None = None,
    ) -> None:
        if isinstance(arg1, Sparse):
            x = arg1._compressed()._along(self.axis)
            x = x if dtype is None else x.astype(dtype, copy=False)
            x = x if dist is None and grid is None else x.redistribute(dist, grid)
            self._become(x.copy() if copy else x)
            if shape is not None and lengths(shape) != self.shape:
                raise ValueError(f"shapes {shape} and {self.shape} are inconsistent")
            return
        at = session_of(session, arg1)
        self._become(stored(at, arg1, shape, dtype, self.axis, dist, grid))

    @classmethod
    def of(cls, x: Stored) -> Any:
        """Return the array of these elements and this structure."""
        found = cls.__new__(cls)
        found._become(x)
        return found

    def in_lines(self) -> Any:
        """Return the array cut along its major axis: itself, if it is."""
        return self if self.structure.lined else type(self).of(self.stored)

    def _become_as_before(self, x: Stored) -> None:
        """Be what was made of it, where it lay."""
        s = self.structure
        self._become(everywhere(x) if s.copied else laid(x, s.layout) if s.blocks else x)

    def _become(self, x: Compressed | Stored) -> None:
        self.data, self.structure = x.data, x.structure
        x.structure.arrays[id(self)] = self

    def _ready(self, cuts: Ints) -> Callable[[], None]:
        """Cut it elsewhere, with all arrays of its structure; return what puts that in place."""
        return recut_in_place(self.structure, cuts)

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        found = (self.structure.major, self.structure.minor)
        return found if self.axis == 0 else found[::-1]

    @property
    def indices(self) -> Any:
        """The column (CSR) or row (CSC) of each stored element: a read-only view."""
        if not self.structure.canonical and self._sharing()[1]:  # who sorts them is to know whose
            self._share(self.structure.again())
        return self.structure.shown_indices

    @property
    def indptr(self) -> Any:
        """Where the elements of each row (CSR) or column (CSC) begin: a copy."""
        if self.structure.blocks:
            raise NotImplementedError(
                explain("indptr", self.layout, "whole rows or columns", "use .redistribute() first")
            )
        return row_pointers(self.held)

    @property
    def layout(self) -> SparseLayout:
        """Who holds what."""
        s = self.structure
        if s.blocks:
            lies = s.layout if self.axis == 0 else s.layout.T
            cuts, across = [cuts_of(lies, n, a) for a, n in enumerate(self.shape)]
            boxes = tuple([box_of(lies, self.shape, r) for r in range(s.session.size)])
            return SparseLayout("blocks", cuts, s.per_engine, across=across, boxes=boxes)
        copies = s.session.size if s.copied else 1
        return SparseLayout(("rows", "columns")[self.axis], s.cuts, s.per_engine, copies)

    def redistribute(self, dist: Dist = None, grid: Grid = None) -> Any:
        """Return the array cut elsewhere.

        Sent are the elements that get another owner.

        Parameters
        ----------
        dist : None, bool, 'block', 'nnz', ('irregular', cuts) or 'replicated'
            How rows (CSR) or columns (CSC) are cut: as many on each engine, or as many stored
            elements, or at these places; or not at all: each engine has the whole array.
        grid : tuple of int, optional
            Engines along rows and along columns: each has a block. ``dist`` may then have a word
            for each of both, as for dense arrays; see :func:`distnb.array`.

        Returns
        -------
        csr_array or csc_array
            Of the same format.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[1, 2, 3], [0, 0, 4], [0, 5, 0]])
        ...     A.redistribute("nnz")
        <csr_array of shape (3, 3) and dtype 'int64', 5 stored elements: 3 + 2 on 2 engines>
        >>> with dnb.inprocess(4):
        ...     dnb.sparse.eye_array(4).redistribute(grid=(2, 2)).layout.holdings[1]
        'rows 0:2, columns 2:4'
        """
        return type(self).of(placed(self.held, self.axis, dist, grid))

    def splits(self, parts: int | None = None, axis: int = 0) -> Splits:
        """Cut the array into parts for the tasks of :func:`distnb.foreach`: SciPy's arrays.

        Rows of CSR and columns of CSC are cut where they lie: then nothing is sent.

        Parameters
        ----------
        parts : int, optional
            How many; by default as many as engines.
        axis : int
            What is cut.

        Returns
        -------
        Splits
            An argument for :func:`distnb.foreach`.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[1, 2], [0, 4]])
        ...     dnb.foreach(lambda a: a.sum(axis=1), A.splits(2)).to_numpy()
        array([3, 4])
        """
        return Splits(self, parts, axis)

    # -- other formats -----------------------------------------------------------------------

    def _compressed(self) -> Compressed:
        return self

    def _along(self, axis: int, cuts: Ints | None = None) -> Any:
        """Return the array in the format that is cut along an axis."""
        x = self.held if axis == self.axis else turned(self.held)
        x = x if cuts is None else recut(x, cuts)
        return self._kind(("csr", "csc")[axis]).of(x)

    def _reading(self, axis: int) -> Any:
        if axis == self.axis:
            return self
        s = self.structure
        sources, what = (self.data, s.indices, s.indptr), (s.shape, s.layout)
        return kept(axis, sources, what, lambda: self._along(axis))

    def tocsr(self, copy: bool = False) -> Any:
        """Return the array in rows: itself, or with its elements sent to where their rows are.

        Parameters
        ----------
        copy : bool
            Whether elements are copied if it has the format.

        Returns
        -------
        csr_array
            As many rows on each engine, if it was in columns.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csc_array([[0, 2, 0], [1, 0, 3]]).tocsr()
        <csr_array of shape (2, 3) and dtype 'int64', 3 stored elements: 1 + 2 on 2 engines>
        """
        return self.copy() if copy and self.axis == 0 else self._along(0)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the array in columns: itself, or with its elements sent to where these are.

        Parameters
        ----------
        copy : bool
            Whether elements are copied if it has the format.

        Returns
        -------
        csc_array
            As many columns on each engine, if it was in rows.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2, 0], [1, 0, 3]]).tocsc()
        <csc_array of shape (2, 3) and dtype 'int64', 3 stored elements: 2 + 1 on 2 engines>
        """
        return self.copy() if copy and self.axis == 1 else self._along(1)

    def tocoo(self, copy: bool | None = None) -> Any:
        """Return the array as coordinates; nothing is sent.

        Parameters
        ----------
        copy : bool, optional
            Whether elements are copied: by default those of CSC alone, as SciPy's.

        Returns
        -------
        coo_array
            Which stands for this array, and makes coordinates when they are asked for.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2, 0], [1, 0, 3]]).tocoo().col.to_numpy()
        array([1, 0, 2], dtype=int32)
        """
        copy = self.axis == 1 if copy is None else copy
        x = self.copy() if copy else self._with_data(self.data)  # of now, whatever is made of it
        return self._kind("coo").standing_for(x)

    @property
    def T(self) -> Any:
        """The transposed array: the same parts, in the other format."""
        return self._kind(("csr", "csc")[1 - self.axis]).of(self.held)

    def transpose(self, axes: Axes = None, copy: bool = False) -> Any:
        """Return the transposed array: the same parts, in the other format; nothing is sent.

        Parameters
        ----------
        axes : optional
            None or (1, 0).
        copy : bool
            Whether elements are copied.

        Returns
        -------
        csc_array or csr_array
            CSC of CSR, and CSR of CSC.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2, 0], [1, 0, 3]]).transpose().shape
        (3, 2)
        """
        if axes not in (None, (1, 0), (-1, 0), (1, -2), (-1, -2)):
            raise ValueError(
                "Sparse arrays/matrices do not support an 'axes' parameter because swapping "
                "dimensions is the only logical permutation."
            )
        return self.T.copy() if copy else self.T

    def _dense(self) -> Array:
        return dense(self.held, self.axis)

    def to_scipy(self) -> Any:
        """Return SciPy's array, in the notebook."""
        x = lined(self.held) if self.structure.blocks else self.held
        s = x.structure
        pointers = global_pointers(pointers_of(s), s.cuts, s.ends)
        arrays = (elements(x).to_numpy(), s.indices.to_numpy(), pointers)
        return getattr(scipy_sparse(), type(self).__name__)(arrays, shape=self.shape)

    def _with_data(self, data: Array) -> Any:
        s = self.structure
        alone = s.shown and not s.canonical and not self._has(data)
        return type(self).of(Stored(data, s.again() if alone else s))

    def _has(self, data: Array) -> bool:
        """Tell whether elements are in the memory of those of this array, as real parts are."""
        return data.dbase is self.data.dbase or shares_memory(data, self.data)

    def _sharing(self) -> tuple[list[Any], bool]:
        """Return the arrays with these elements and this structure, and if it has others."""
        s = self.structure
        found = [x for x in s.arrays.values() if x.structure is s]
        ours = [x for x in found if self._has(x.data)]
        return ours, len(ours) < len(found)

    def _share(self, structure: Structure) -> None:
        """Have another structure, with all arrays of these elements."""
        for x in self._sharing()[0]:
            x._become(Stored(x.data, structure))

    def _summed(self) -> Any:
        self.sum_duplicates()
        return self

    def in_order(self) -> Any:
        """Return the array with equal places summed and sorted; it stays as it is."""
        if self.structure.canonical:
            return self
        found = type(self).of(self._made("sum_duplicates"))
        self.structure.unique |= found.nnz == self.nnz
        return found

    def _made(self, name: str, canonical: bool = True) -> Stored:
        """Return what engines make of the parts alone."""
        return each(name, (self.held,), self.dtype, canonical=canonical)

    def _put(self, found: Stored) -> None:
        """Be what was made of it, if it has as many elements in the memory where these lie.

        So views of the elements and of the indices stay views of this array, as in SciPy.
        """
        s, (sharing, others) = self.structure, self._sharing()
        apart = any(x.data.nbytes > self.data.nbytes for x in sharing)  # of which it is a part
        if found.structure.ends != s.ends or apart or not self.data.flags.writeable:
            self._become(found)
            return
        self.data[...] = found.data
        if others:
            self._share(found.structure)
        else:
            s.sort(found.structure)

    def sum_duplicates(self) -> None:
        """Sum elements of equal places, and sort; in place, as SciPy's: each engine its own.

        How many are left is read: this waits, if it is not known that there is nothing to do.
        """
        if not self.structure.canonical:
            self._put(self._made("sum_duplicates"))

    @property
    def has_sorted_indices(self) -> bool:
        """Whether indices rise within each row or column; equal ones may follow each other.

        Of blocks on a grid: within each block. Each engine looks at its own, if it is not known:
        then this waits.
        """
        return self.structure.canonical or not rowwise(self.held, "unsorted", _COUNT).any()

    @property
    def has_canonical_format(self) -> bool:
        """Whether indices rise within each row or column, and none is there twice.

        Of blocks on a grid: within each block. Each engine looks at its own, if it is not known:
        then this waits.
        """
        return self.structure.canonical or not rowwise(self.held, "repeated", _COUNT).any()

    def sorted_indices(self) -> Any:
        """Return a copy in which the elements of each row or column are sorted by their indices.

        Each engine sorts its own.

        Returns
        -------
        csr_array or csc_array
            Of the same format, cut alike.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array(([1, 2], [1, 0], [0, 2]), shape=(1, 2))
        ...     A.has_sorted_indices, A.sorted_indices().indices.to_numpy()
        (False, array([0, 1], dtype=int32))
        """
        found = self.copy()
        found.sort_indices()
        return found

    def prune(self) -> None:
        """Do nothing, as SciPy's does if nothing is behind the elements: engines have no more."""
        elements(self.held)

    def check_format(self, full_check: bool = True) -> None:
        """Raise ValueError for an array that is not as CSR, or CSC, has to be.

        Parameters
        ----------
        full_check : bool
            Whether engines look at all indices, and the notebook reads the least and the greatest.

        Raises
        ------
        ValueError
            If there are not as many elements as places, or an index is outside.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).check_format()
        """
        self.prune()
        if full_check and self.nnz:
            indices, n = self.indices, self.structure.minor
            low, high = int(indices.min()), int(indices.max())
            if low < 0 or high >= n:
                got = f"{low} to {high}"
                raise ValueError(explain("indices", got, f"0 to {n - 1}", "make the array anew"))

    def sort_indices(self) -> None:
        """Sort the elements of each row or column by their indices; in place, as SciPy's.

        Each engine sorts its own, and is waited for, if it is not known that there is nothing to
        do.
        """
        if not self.structure.canonical:
            self._put(self._made("sort_indices", False))

    def eliminate_zeros(self) -> None:
        """Remove stored elements that are zero; in place, as SciPy's: each engine its own.

        How many are left is read: this waits.
        """
        found = self._made("eliminate_zeros", self.structure.canonical)
        if found.structure.nnz < self.nnz:
            self._become(found)

    # -- operators -----------------------------------------------------------------------------

    def _merged(self, name: str, other: Sparse) -> Any:
        """Return what an operator gives of two sparse arrays."""
        if self.shape != other.shape:
            raise ValueError("inconsistent shapes")
        y = ours(other, self)._reading(self.axis)
        return type(self).of(merged(name, self.held, y.held))

    def _compared(self, name: str, number: object) -> Any:
        return type(self).of(compared(name, self.held, number))

    def multiply(self, other: object) -> Any:
        """Return the product element by element.

        A sparse array that is cut otherwise is brought along; of a dense one engines ask for the
        elements at their places, or for those of a row or column.

        Parameters
        ----------
        other : number, sparse array or dense array
            What broadcasts to the array, or the array to it.

        Returns
        -------
        sparse array
            Of the same format; COO if ``other`` is dense.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).multiply([[10, 1]]).toarray().to_numpy()
        array([[ 0,  2],
               [30,  1]])
        """
        if is_scalar(other):
            return self._scaled(other)
        if is_sparse(other):
            if self.shape != other.shape:
                return self._multiplied_by_line(other)
            return self._merged("multiply", other)
        y = dense_of(other, self.session)
        check_session(y, self.session)
        if y.ndim > 2:
            raise ValueError("inconsistent shapes")
        shape = np.broadcast_shapes(self.shape, y.shape)
        if shape != self.shape:
            one = self.shape == (1, 1)  # SciPy's is dense then, of the dtype of a sum
            return self.sum() * y if one else self._repeated(shape).multiply(y)
        supported(result_of(lambda a: a.multiply(np.zeros((1, 1), y.dtype)), self.dtype).dtype)
        if y.size == 1:
            return self._scaled(y.reshape(()))
        found = self._with_data(elements(self.held) * self._at_places(y))
        return self._kind("coo").standing_for(found)

    def _repeated(self, shape: Ints) -> Any:
        """Return a row or a column as often as a shape has room for it: what is stored is."""
        axis = 0 if shape[0] != self.shape[0] else 1
        n, session = shape[axis], self.session
        steps = arange(n, session=session)
        places = (steps, steps * 0) if axis == 0 else (steps * 0, steps)
        lies = (n, 1) if axis == 0 else (1, n)
        line = type(self)((ones(n, self.dtype, session=session), places), shape=lies)
        once = self._with_data(ones_like(self.data))
        found = line @ once if axis == 0 else once @ line
        take = spread if 1 - axis == self.axis else picked
        return found._with_data(take(found.held, self.toarray().reshape(-1)))

    def _multiplied_by_line(self, other: Any) -> Any:
        """Return the product with a sparse array that broadcasts: a row, a column, an element."""
        other = other if other.ndim == 2 else ours(other, self).reshape(1, -1)
        if self.shape == other.shape:
            return self._merged("multiply", other)
        if self.shape == (1, 1):  # SciPy's is of the dtype of a sum then
            return ours(other, self)._scaled(self.sum())
        if fits(self.shape, other.shape):
            return ours(other, self)._compressed()._multiplied_by_line(self)
        y = ours(other, self)
        if fits(y.shape, self.shape):
            found = self.multiply(y.toarray())._along(self.axis)
            if y.shape != (1, 1):
                found.eliminate_zeros()  # as SciPy, which multiplies by a diagonal of them
            return found
        y = y._compressed()
        column, row = (self, y) if self.shape[1] == 1 else (y, self)
        if column.shape[1] != 1 or row.shape[0] != 1:
            raise ValueError(f"inconsistent shapes {self.shape} and {y.shape}")
        return column._times_sparse(row)._along(self.axis)

    def _at_places(self, y: Array) -> Any:
        """Return for each element what a dense array has at its place, broadcast."""
        shape = (1, 1, *y.shape)[-2:]
        if shape == self.shape:
            return looked_up(self.held, y.reshape(shape), self.axis)
        along = 0 if shape[1] == 1 else 1  # the axis of the vector
        take = spread if along == self.axis else picked
        return take(self.held, y.reshape(-1))

    def _times(self, other: object) -> Any:
        """Return the matrix product."""
        if is_sparse(other):
            return self._times_sparse(ours(other, self))
        y = dense_of(other, self.session)
        check_session(y, self.session)
        if y.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if y.ndim > 2:
            raise NotImplementedError(
                explain("product with a dense array", f"{y.ndim} axes", "one or two", "use a loop")
            )
        check_product(self.shape, y.shape)
        count(self)
        alone = y.dbase.layout.copies == y.session.size
        x = self.held if alone or self.structure.blocks else self.stored
        return (gathered if self.axis == 0 else scattered)(x, y)

    def _times_sparse(self, other: Sparse) -> Any:
        check_product(self.shape, other.shape)
        if other.ndim == 1:
            one_axis: Any = other
            return one_axis._as_before(self._times_sparse(one_axis._as_column()))
        y = other._reading(self.axis)
        kind = dtype_of("__matmul__", self.dtype, y.dtype)
        left, right = (self, y) if self.axis == 0 else (y, self)
        ring = Semiring("plus", "times", kind)
        right = right if right.structure.copied else right.in_lines()
        alone = left.structure.copied and right.structure.copied
        return type(self).of(times(left.held if alone else left.stored, right.held, ring))

    # -- in brackets ---------------------------------------------------------------------------

    def __getitem__(self, key: object) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if any(item is None for item in items) and all(map(is_basic, items)):
            return self._with_axes(items)
        found = named(key, self) if is_mask(key) else key_of(key, self.shape)
        major, minor = found[:2] if self.axis == 0 else found[1::-1]
        if found.apart:
            values = pointwise(self.stored, major, minor)
            if found.lies is not None:
                return type(self)(values.reshape(found.lies))
            return values if values.size else self.tocoo(copy=False)[key]  # as SciPy has none
        single = isinstance(found.rows, int), isinstance(found.columns, int)
        near = in_reach(self.session, (self.held,)) if all(single) else None
        if near is not None:
            return near[0].whole[major, minor]
        x = type(self).of(selected(self.stored, major, minor))
        if all(single):
            return x.to_scipy()[0, 0]
        return x.tocoo(copy=False)._flat(single.index(True)) if any(single) else x

    def _with_axes(self, items: tuple[Any, ...]) -> Any:
        """Return what is in brackets, with an axis of length 1 for each None there.

        It stays in its format where that is what ints, taken as slices, give.
        """
        key = key_of(tuple([item for item in items if item is not None]), self.shape)[:2]
        found = self[tuple([slice(i, i + 1) if isinstance(i, int) else i for i in key])]
        both = zip(found.shape, key, strict=True)
        lies = tuple([n for n, i in both if not isinstance(i, int)])
        shape = with_new(items, lies, 2)
        if len(shape) > 2:
            got, do = f"{len(shape)} axes", "use .toarray(), or fewer None"
            raise IndexError(explain("index of a sparse array", got, "one or two", do))
        return (found if lies else found.toarray()).reshape(shape)

    def __setitem__(self, key: object, value: object) -> None:
        self._become_as_before(assigned(type(self).of(self.stored), key, value))

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal as a dense array.

        Each engine looks in its own rows (CSR) or columns (CSC): nothing is sent.

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
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).diagonal().to_numpy()
        array([0, 1])
        """
        m, n = self.shape
        if k <= -m or k >= n:
            return zeros(0, self.dtype, session=self.session)
        return diagonal(self.held, k if self.axis == 0 else -k)

    def _set_diagonal(self, values: Array | np.ndarray, k: int, count: int) -> None:
        self._become_as_before(with_diagonal(type(self).of(self.stored), values, k, count))

    def nonzero(self) -> tuple[Any, Any]:
        """Return rows and columns of the elements that are not zero.

        They lie where the elements are; CSC is brought into rows first. How many there are is read:
        this waits.

        Returns
        -------
        tuple of DistArray
            Rows and columns, in C order.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rows, columns = dnb.sparse.csr_array([[0, 2], [3, 0]]).nonzero()
        ...     rows.to_numpy(), columns.to_numpy()
        (array([0, 1], dtype=int32), array([1, 0], dtype=int32))
        """
        x = self.tocsr()
        x = x.in_lines() if x.structure.blocks else x
        return x.tocoo(copy=False).nonzero()  # in C order


class csr_array(Compressed):
    """A sparse array in rows: each engine has some of them, as SciPy's ``csr_array``.

    SciPy's arrays are sent in parts, triplets to the engines that have their rows; of rows of a
    dense array, which are brought together first, each engine takes what is not zero. Parts are
    SciPy's own.

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
    dist : None, bool, 'block', 'nnz', ('irregular', cuts) or 'replicated'
        How rows (CSR) or columns (CSC) are cut: as many on each engine, or as many stored elements,
        or at these places; or not at all: each engine has the whole array.
    grid : tuple of int, optional
        Engines along rows and along columns: each has a block. ``dist`` may then have a word for
        each of both, as for dense arrays; see :func:`distnb.array`.
    session : Session, optional
        Where it is made; by default the current one.

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

    _format, axis = "csr", 0


class csc_array(Compressed):
    """A sparse array in columns: each engine has some of them, as SciPy's ``csc_array``.

    What is sent is as for :class:`csr_array`, of columns in place of rows.

    Parameters
    ----------
    arg1, shape, dtype, copy, dist, grid, session
        As for :class:`csr_array`.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.sparse.csc_array([[0, 2, 0], [1, 0, 3]])
    <csc_array of shape (2, 3) and dtype 'int64', 3 stored elements: 2 + 1 on 2 engines>
    """

    _format, axis = "csc", 1


def session_of(session: Session | None, *given: Any) -> Session:
    """Return the session that was asked for, that of an array, or the current one."""
    flat = [z for x in given for z in (x if isinstance(x, tuple) else (x,))]
    flat = [z for x in flat for z in (x if isinstance(x, tuple) else (x,))]
    found = next((x.session for x in flat if isinstance(x, Array)), None)
    return need(session if session is not None else found)


def kept(
    axis: int, sources: Sequence[Array], what: Hashable, make: Callable[[], Compressed]
) -> Any:
    """Return what is made of elements and their places, once as long as nothing writes there.

    It may have been made of the transposed array: of that it is the other format.
    """
    copies: Copies = sources[0].session.extensions[Copies]
    found = copies.made_of(sources, what, make, _parts)
    return found if found.axis == axis else found.T


def _parts(x: Compressed) -> list[Any]:
    """Return what engines have of an array."""
    s = x.structure
    return [x.data, s.indices, s.indptr, *[plan.kept for plan in s.plans.values()]]


def check_product(a: Ints, b: Ints) -> None:
    if a[1] != b[0]:
        right = f"(k={b[0]},1?)->(n,1?)" if len(b) == 1 else f"(k={b[0]},m)->(n,m)"
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={a[1]}),{right}")
