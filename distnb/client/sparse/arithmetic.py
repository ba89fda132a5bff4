"""Operators of sparse arrays: what they do depends on what the other operand is.

SciPy is asked what comes of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Order, Shape, order_of
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import check_session
from distnb.client.handle.indexing import lengths
from distnb.client.record.creation import asarray
from distnb.client.record.eager import delivered
from distnb.client.session.session import Session
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import each, laid, lined
from distnb.client.sparse.scipys import (
    dtype_of,
    is_matrix,
    is_scalar,
    is_scipys,
    product_dtype,
    result_of,
)
from distnb.client.sparse.structure import Stored
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.measure.quantities import counted

__all__ = [
    "Arithmetic",
    "compared",
    "dense_of",
    "factors",
    "fits",
    "into",
    "is_dense",
    "is_sparse",
    "merged",
    "ours",
    "sent",
]

#: Comparisons -> the method of SciPy's arrays.
_METHODS = {
    **{"add": "__add__", "subtract": "__sub__", "equal": "__eq__", "not_equal": "__ne__"},
    **{"less": "__lt__", "less_equal": "__le__", "greater": "__gt__", "greater_equal": "__ge__"},
    **{"multiply": "multiply", "maximum": "maximum", "minimum": "minimum"},
}


def is_dense(x: object) -> TypeGuard[Any]:
    """Tell whether something is a dense array, or can be made one."""
    return isinstance(x, np.ndarray | Array | list | tuple)


def into(found: Any, dtype: DTypeLike | None, out: Array | np.ndarray | None) -> Any:
    """Return a result in a dtype, or written into an array as NumPy's sums are."""
    if out is not None:
        if isinstance(found, np.generic):  # the method of a number returns one, not the array
            found = np.asarray(found)
        return found.sum(axis=(), dtype=dtype, out=out)
    return found if dtype is None else found.astype(dtype)


def dense_of(x: object, session: Session) -> Array:
    """Return a dense operand as a distributed array."""
    return asarray(cast(Any, x), session=session)


def packed(x: object) -> tuple[str, Any]:
    """Return a scalar as it travels: its dtype, if it has one, and its value."""
    if isinstance(x, Array):
        x = x.to_numpy()[()]
    if isinstance(x, np.ndarray):
        x = x[()]
    return (x.dtype.str, x.item()) if isinstance(x, np.generic) else ("", x)


def merged(name: str, x: Stored, y: Stored) -> Stored:
    """Return what an operator gives of two sparse arrays of one format, where the first one lies.

    Where the second one does if only of the first all engines have all; in whole lines where
    something comes of two zeros: parts of a line would not know whose these are.
    """
    method = _METHODS[name]
    kinds = x.data.dtype, y.data.dtype
    if getattr(np, name)(0, 0):  # SciPy warns of that
        x, y = [lined(z) if z.structure.blocks else z for z in (x, y)]
        kind = result_of(lambda a, b: getattr(a, method)(b), *kinds).dtype
    else:
        kind = dtype_of(method, *kinds)
    sorted_ = x.structure.canonical and y.structure.canonical
    return each("operator", aligned(x, y), kind, (method,), canonical=sorted_)


def aligned(x: Stored, y: Stored) -> tuple[Stored, Stored]:
    """Return two arrays of one format that are cut alike: as the first that is cut."""
    if not x.structure.copied or y.structure.copied:
        return x, laid(y, x.structure.layout)
    return laid(x, y.structure.layout), y


def compared(name: str, x: Stored, scalar: object) -> Stored:
    """Return what a comparison, or a maximum, gives of a sparse array and a number."""
    method, (kind, value) = _METHODS[name], packed(scalar)
    number = np.dtype(kind).type(value) if kind else value
    found = result_of(lambda a: getattr(a, method)(number), x.data.dtype)
    if x.structure.blocks and getattr(np, name)(0, number):
        x = lined(x)
    params = (method, kind, value)
    return each("operator", (x,), found.dtype, params, canonical=x.structure.canonical)


def is_sparse(x: object) -> TypeGuard[Any]:
    """Tell whether an operand is sparse: distributed, or SciPy's."""
    return isinstance(x, Sparse) or (not is_dense(x) and not is_scalar(x) and is_scipys(x))


def ours(x: Any, like: Sparse) -> Any:
    """Return a sparse operand as a distributed one: SciPy's are sent."""
    if isinstance(x, Sparse):
        check_session(x.data, like.session)
        return x
    return sent(x, like.session)


def sent(x: Any, session: Session) -> Any:
    """Return a sparse array of SciPy's as a distributed one: in rows or columns, or COO."""
    name = "coo" if x.ndim != 2 else x.format if x.format in ("csr", "csc") else "csr"
    return Sparse.kinds[name](x, session=session)


def factors(x: Sparse, other: object) -> tuple[Any, Any]:
    """Return both factors; if one is dense, in the dtype in which SciPy sums equal places then."""
    if is_sparse(other):
        return x, ours(other, x)
    y = dense_of(other, x.session)
    return x.astype(product_dtype(x.dtype, y.dtype), copy=False), y


def fits(shape: Ints, into: Ints) -> bool:
    """Tell whether a shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


class Arithmetic(Sparse):
    """Operators, by what the other operand is; and lengths of axes, which change in place."""

    __hash__ = None

    def resize(self, *shape: Shape) -> None:
        """Cut the array off, or let it grow without elements, in place, as SciPy's.

        Triplets stay where they are. CSR and CSC are made of theirs, as many rows (columns) on each
        engine.

        Parameters
        ----------
        *shape : int, or a tuple of int
            As many lengths as the array has axes.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     A = dnb.sparse.csr_array([[0, 2, 0], [1, 0, 3]])
        ...     A.resize(3, 2)
        ...     A.toarray().to_numpy()
        array([[0, 2],
               [1, 0],
               [0, 0]])
        """
        given: Any = shape[0] if len(shape) == 1 else shape
        wanted = lengths(given)
        if len(wanted) != self.ndim:
            got, expected = counted(len(wanted), "length"), counted(self.ndim, "length")
            raise NotImplementedError(explain("resize", got, expected, "use .reshape first"))
        if min(wanted) < 0:
            raise ValueError("'shape' elements cannot be negative")
        x = self.tocoo(copy=False)
        coords, data = x.coords, x.data
        for d, n in enumerate(wanted):
            if n < self.shape[d]:
                inside = coords[d] < n
                coords, data = tuple([c[inside] for c in coords]), data[inside]
        self._become(x.of_triplets(coords, data, wanted).asformat(self.format))

    def _become(self, x: Any) -> None:
        """Be what was made of it."""
        raise NotImplementedError

    def _plus(self, other: object, sign: int) -> Any:
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
        if is_sparse(other):
            return self._merged(("add", "subtract")[sign < 0], other)
        if sign < 0 or not is_dense(other):
            return self._with_dense(operator.sub, other)
        y = dense_of(other, self.session)  # SciPy adds equal places up in the dtype of both
        kind = result_of(lambda a: a + np.zeros((1, 1), y.dtype), self.dtype).dtype
        return self.astype(kind, copy=False)._with_dense(operator.add, y)

    def _with_dense(self, op: Callable[[Any, Any], Any], other: object) -> Any:
        """Return a sum with a dense array, which broadcasts to this one."""
        if is_dense(other) and not fits(np.shape(other), self.shape):
            raise ValueError("inconsistent shapes")
        return self._densely(op, other)

    def _densely(self, op: Callable[[Any, Any], Any], other: object) -> Any:
        """Return what an operator gives of the dense array."""
        if not is_dense(other):
            return NotImplemented
        return op(self.toarray(), dense_of(other, self.session))

    def __add__(self, other: object) -> Any:
        return self._plus(other, 1)

    def __radd__(self, other: object) -> Any:
        return self._plus(other, 1)

    def __sub__(self, other: object) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> Any:
        if is_scalar(other):
            return -(self - other)
        if is_sparse(other):
            return ours(other, self) - self
        return self._with_dense(lambda a, b: b - a, other)

    def __mul__(self, other: object) -> Any:
        return self.multiply(other)

    def __rmul__(self, other: object) -> Any:
        # SciPy's matrices, other than its arrays, have the matrix product for *
        return self.__rmatmul__(other) if is_matrix(other) else self.multiply(other)

    def __imul__(self, other: object) -> Any:
        return self._by_number(other) if is_scalar(other) else NotImplemented

    def __itruediv__(self, other: object) -> Any:
        return self._by_number(1.0 / cast(Any, other)) if is_scalar(other) else NotImplemented

    def _by_number(self, number: Any) -> Any:
        """Multiply the elements in place, with NumPy's rules of casting."""
        data = self.data
        data *= number
        return self

    def __rtruediv__(self, other: object) -> Any:
        return ours(other, self) / self if is_sparse(other) else NotImplemented

    def __truediv__(self, other: object) -> Any:
        if is_scalar(other):
            return self._divided(other)
        if is_sparse(other):
            if self.shape != other.shape:
                raise ValueError("inconsistent shapes")
            kind = result_of(operator.truediv, self.dtype, other.dtype).dtype
            x, y = [z._summed() if z.format == "coo" else z for z in (self, ours(other, self))]
            x, y = [z.astype(kind, copy=False).toarray() for z in (x, y)]  # sums equal places
            with np.errstate(divide="ignore", invalid="ignore"):
                return x / y
        return self.multiply(1 / dense_of(other, self.session))

    def __matmul__(self, other: object) -> Any:
        return self._compressed()._times(other)

    def __rmatmul__(self, other: object) -> Any:
        x = self._reading(int(self.format == "csc"))
        if is_sparse(other):
            return ours(other, x)._times(x)
        y = dense_of(other, self.session)
        found = x.T._times(y if y.ndim < 2 else y.T)
        return found.T if y.ndim == 2 else found

    def dot(self, other: object) -> Any:
        """Return the product, as ``@``, or with a number.

        Sent are entries of a vector, or rows of a matrix, that engines need of each other's; which
        these are is found once for a structure. COO is brought into rows first.

        Parameters
        ----------
        other : number, sparse array or dense array
            By what it is multiplied.

        Returns
        -------
        sparse array or DistArray
            Sparse if both are; a dense result of CSR is cut as the rows.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 0]]).dot(dnb.ones(2)).to_numpy()
        array([2., 3.])
        """
        return self * other if is_scalar(other) else self @ other

    def _compare(self, name: str, other: object) -> Any:
        if is_scalar(other):
            return self._compared(name, other)
        if is_sparse(other):
            if self.shape != other.shape and name in ("equal", "not_equal"):
                return name == "not_equal"
            return self._merged(name, other)
        return self._densely(getattr(np, name), other)

    def __eq__(self, other: object) -> Any:
        return self._compare("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("not_equal", other)

    def __lt__(self, other: object) -> Any:
        return self._compare("less", other)

    def __le__(self, other: object) -> Any:
        return self._compare("less_equal", other)

    def __gt__(self, other: object) -> Any:
        return self._compare("greater", other)

    def __ge__(self, other: object) -> Any:
        return self._compare("greater_equal", other)

    def maximum(self, other: object) -> Any:
        """Return the greater of elements, with another array or a number.

        A sparse array that is cut otherwise is brought along, and COO into rows; else nothing is
        sent. How many elements are stored then is read: this waits.

        Parameters
        ----------
        other : number, sparse array or dense array
            Of the same shape.

        Returns
        -------
        sparse array or DistArray
            Dense if ``other`` is.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, -2], [3, 0]]).maximum(0).toarray().to_numpy()
        array([[0, 0],
               [3, 0]])
        """
        return self._compare("maximum", other)

    def minimum(self, other: object) -> Any:
        """Return the lesser of elements, with another array or a number.

        A sparse array that is cut otherwise is brought along, and COO into rows; else nothing is
        sent. How many elements are stored then is read: this waits.

        Parameters
        ----------
        other : number, sparse array or dense array
            Of the same shape.

        Returns
        -------
        sparse array or DistArray
            Dense if ``other`` is.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, -2], [3, 0]]).minimum(0).toarray().to_numpy()
        array([[ 0, -2],
               [ 0,  0]])
        """
        return self._compare("minimum", other)

    # What each class says.

    def _merged(self, name: str, other: Sparse) -> Any:
        """Return what an operator gives of two sparse arrays."""
        raise NotImplementedError

    def _compared(self, name: str, number: object) -> Any:
        """Return what a comparison, or a maximum, gives of the array and a number."""
        raise NotImplementedError

    def _dense(self) -> Array:
        """Return a dense array of its own, which lies as this one."""
        raise NotImplementedError

    def multiply(self, other: object) -> Any:
        """Return the product element by element."""
        raise NotImplementedError

    def toarray(self, order: Order | None = None, out: Array | np.ndarray | None = None) -> Any:
        """Return a dense array, which lies as this one; of CSR and CSC nothing is sent.

        Parameters
        ----------
        order : {'C', 'F'}, optional
            As in SciPy. Elements lie as the layout says, whatever the order.
        out : DistArray or ndarray, optional
            An array of this shape and dtype, which is filled.

        Returns
        -------
        DistArray
            Of the same shape; ``out`` if it is given.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 1]]).toarray().to_numpy()
        array([[0, 2],
               [3, 1]])
        """
        if order is not None and order_of(order) not in "CF":
            raise ValueError("only 'C' or 'F' order is permitted")
        if out is None:
            return self._dense()
        if order is not None:
            raise ValueError("order cannot be specified if out is not None")
        if out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError("out array must be same dtype and shape as sparse array")
        return delivered(self._dense(), (cast(Any, out),))

    def todense(self, order: Order | None = None, out: Array | np.ndarray | None = None) -> Any:
        """Return a dense array, as :meth:`toarray`."""
        return self.toarray(order, out)

    def matvec(self, x: ArrayLike) -> Any:
        """Return ``A @ x``; so ``scipy.sparse.linalg`` takes the array for an operator.

        What is sent is what :meth:`dot` sends.

        Parameters
        ----------
        x : array_like
            A vector.

        Returns
        -------
        DistArray
            The product, cut as the rows.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 0]]).matvec([1.0, 10.0]).to_numpy()
        array([20.,  3.])
        """
        return self @ x

    def rmatvec(self, x: ArrayLike) -> Any:
        """Return the product of the conjugate transposed and a vector.

        It is not transposed for that: each engine sends its sums to those that own them in the
        result.

        Parameters
        ----------
        x : array_like
            A vector.

        Returns
        -------
        DistArray
            The product, as long as a row.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     dnb.sparse.csr_array([[0, 2], [3, 0]]).rmatvec([1.0, 10.0]).to_numpy()
        array([30.,  2.])
        """
        x = dense_of(x, self.session)
        if self.dtype.kind != "c":
            return cast(Any, self).T @ x
        return np.conjugate(cast(Any, self).T @ np.conjugate(x))
