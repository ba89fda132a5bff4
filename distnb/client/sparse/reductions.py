"""Reductions of sparse arrays: each engine its own rows; across them, parts are added up."""

from __future__ import annotations

import operator
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.math.reductions import count_nonzero
from distnb.client.record.ranges import arange
from distnb.client.sparse.arithmetic import Arithmetic, into
from distnb.client.sparse.commands import elements, lined
from distnb.client.sparse.dense import rowwise, summed_across
from distnb.client.sparse.scipys import dtype_of
from distnb.client.sparse.structure import Stored, Structure
from distnb.common.errors import explain

__all__ = ["Extremes", "Reductions"]


def no_out(out: object) -> None:
    """Raise ValueError if the result is to be written into an array, as SciPy's does."""
    if out is not None:
        raise ValueError(explain("out", type(out).__name__, "None", "assign the result"))


class Extremes(Arithmetic):
    """Extremes of all formats; how they are found is for each to say."""

    def _extremes(self, name: str, axis: Axes, explicit: bool) -> Any:
        """Return the least or greatest elements, of all or along an axis."""
        raise NotImplementedError

    def _where(self, name: str, axis: Axes, explicit: bool) -> Any:
        """Return where they are."""
        raise NotImplementedError

    def _in_c_order(self) -> Any:
        """Return the array as triplets in C order, no place twice."""
        raise NotImplementedError

    def _where_of_all(self, name: str, explicit: bool) -> int:
        """Return where the first of the greatest or least elements is, in C order.

        Of those that are stored alone: which of them it is.
        """
        if 0 in self.shape:
            raise ValueError("Cannot apply the operation along a zero-sized dimension.")
        if not self.nnz and explicit:
            raise ValueError(f"Cannot apply {name} to a matrix without stored elements.")
        if not self.nnz:
            return 0
        x, n = self._in_c_order(), self.shape[-1]
        first = int(getattr(x.data, name)())
        if explicit:
            return first
        value, at = x.data[first], int(x.row[first]) * n + int(x.col[first])
        if (value > 0 if name == "argmax" else value < 0) or x.nnz == prod(self.shape):
            return at
        places = arange(x.nnz, session=x.session)  # where all would be, if none were left out
        out = (x.row != places // n) | (x.col != places % n)
        missing = int(out.argmax()) if out.any() else x.nnz
        return min(missing, at) if value == 0 else missing

    def max(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the greatest element, or along an axis as a ``coo_array`` of one axis.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR.

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
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).max(axis=1).toarray().to_numpy()
        array([2, 3])
        """
        no_out(out)
        return self._extremes("max", axis, explicit)

    def min(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the least element, or along an axis as a ``coo_array`` of one axis.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR.

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
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).min(axis=1).toarray().to_numpy()
        array([0, 1])
        """
        no_out(out)
        return self._extremes("min", axis, explicit)

    def nanmax(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the greatest element that is not NaN, or along an axis as a ``coo_array``.

        Layout and messages are those of :meth:`max`.

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
            A number, or the elements that are not zero of one axis; NaN where all are NaN.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[dnb.nan, 2], [3, 1]])
        ...     A.nanmax(axis=1).toarray().to_numpy()
        array([2., 3.])
        """
        no_out(out)
        return self._extremes("nanmax", axis, explicit)

    def nanmin(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return the least element that is not NaN, or along an axis as a ``coo_array``.

        Layout and messages are those of :meth:`min`.

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
            A number, or the elements that are not zero of one axis; NaN where all are NaN.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[dnb.nan, 2], [3, 1]])
        ...     A.nanmin(axis=1).toarray().to_numpy()
        array([2., 1.])
        """
        no_out(out)
        return self._extremes("nanmin", axis, explicit)

    def argmax(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return where along an axis the greatest elements are, as a dense array.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR. Of all elements, in C order, the place is read:
        this waits.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count. Of all elements it is then returned which of those
            that are stored it is, in C order; where none is stored along an axis, 0.

        Returns
        -------
        DistArray or int
            Positions, int64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).argmax(axis=1).to_numpy()
        array([1, 0])
        """
        no_out(out)
        return self._where("argmax", axis, explicit)

    def argmin(self, axis: Axes = None, out: None = None, *, explicit: bool = False) -> Any:
        """Return where along an axis the least elements are, as a dense array.

        Of rows of CSR and of columns of CSC nothing is sent; across them the array is brought into
        the other format first, and COO into CSR. Of all elements, in C order, the place is read:
        this waits.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all elements.
        out : None
            There is none: assign the result.
        explicit : bool
            Whether only stored elements count. Of all elements it is then returned which of those
            that are stored it is, in C order; where none is stored along an axis, 0.

        Returns
        -------
        DistArray or int
            Positions, int64.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).argmin(axis=1).to_numpy()
        array([0, 1])
        """
        no_out(out)
        return self._where("argmin", axis, explicit)


class Reductions(Extremes):
    """What compressed arrays can be reduced by."""

    #: The axis that is cut.
    axis: int
    structure: Structure

    @property
    def held(self) -> Stored:
        """Elements and structure."""
        return Stored(self.data, self.structure)

    @property
    def stored(self) -> Stored:
        """The same of the array in rows (columns of CSC), for what knows no other layout."""
        return lined(self.held)

    @classmethod
    def of(cls, x: Stored) -> Any:
        """Return the array of these elements and this structure."""
        raise NotImplementedError

    def _along(self, axis: int) -> Any:
        """Return the array in the format that is cut along an axis."""
        raise NotImplementedError

    def sum_duplicates(self) -> None:
        """Sum elements of equal places, and sort; in place, as SciPy's."""
        raise NotImplementedError

    def _axis(self, axis: Axes, name: str, **options: Any) -> tuple[int | None, Any]:
        """Return the axis to reduce, None for both, and the dtype that SciPy gives, if any."""
        kind = dtype_of(name, self.dtype, axis=axis, **options)
        if isinstance(axis, tuple):
            axis = None if len(axis) == 2 else axis[0]
        return (None if axis is None else operator.index(cast(Any, axis)) % 2), kind

    def _rowwise(self, axis: int, method: str, dtype: np.dtype, **options: Any) -> Any:
        """Reduce along an axis: each engine its own, for which the array may have to be turned."""
        x = self._reading(1 - axis)
        return rowwise(x.held, method, dtype, tuple(options.items()))

    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
    ) -> Any:
        """Return the sum of all elements, or along an axis as a dense array.

        Of rows (CSR) or columns (CSC) nothing is sent, and the result is cut as they are. Across
        them each engine sends its sums to those that own them in the result.

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
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).sum(axis=0).to_numpy()
        array([3, 3])
        """
        along, kind = self._axis(axis, "sum")
        if along is None:
            if self.dtype != kind:  # equal places are one element first, in the array's own dtype
                self.sum_duplicates()
            return elements(self.held).sum(dtype=kind if dtype is None else dtype, out=out)
        if along != self.axis:
            found = rowwise(self.held, "sum", kind)
        else:
            found = summed_across(self.held, kind)
        return into(found, dtype, out)

    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | np.ndarray | None = None,
    ) -> Any:
        """Return the mean of all elements, or along an axis as a dense array.

        Layout and messages are those of :meth:`sum`.

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
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).mean(axis=1).to_numpy()
        array([1., 2.])
        """
        along, _ = self._axis(axis, "mean")
        n = int(np.prod(self.shape)) if along is None else self.shape[along]
        between = np.dtype(np.float64) if self.dtype.kind in "biu" else self.dtype
        found = (self.astype(between, copy=False) * (1.0 / n)).sum(axis=along)
        return into(found.astype(between), dtype if out is None else None, out)

    def _extremes(self, name: str, axis: Axes, explicit: bool) -> Any:
        along, _ = self._axis(axis, name)
        if along is None:
            return self._extreme(name, explicit)
        if self.shape[along] == 0:
            raise ValueError("zero-size array to reduction operation")
        options = {"explicit": True} if explicit else {}
        return self._kind("coo")(self._rowwise(along, name, self.dtype, **options))

    def _where(self, name: str, axis: Axes, explicit: bool) -> Any:
        along, _ = self._axis(axis, name)
        if along is None:
            return self._where_of_all(name, explicit)
        if self.shape[along] == 0:
            raise ValueError("Cannot apply the operation along a zero-sized dimension.")
        options = {"explicit": True} if explicit else {}
        return self._rowwise(along, name, np.dtype(np.int64), **options)

    def _in_c_order(self) -> Any:
        return self._along(0).in_lines()._summed().tocoo(copy=False)

    def count_nonzero(self, axis: Axes = None) -> Any:
        """Return how many elements are not zero, or how many along an axis as a dense array.

        Of rows (CSR) or columns (CSC) nothing is sent; across them the array is brought into the
        other format first.

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
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).count_nonzero(axis=1).to_numpy()
        array([1, 2])
        """
        along, _ = self._axis(axis, "count_nonzero")
        if along is None:
            return count_nonzero(self._summed().data)
        return self._rowwise(along, "count_nonzero", np.dtype(np.int64))
