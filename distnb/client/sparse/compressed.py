"""Compressed sparse arrays: rows (CSR) or columns (CSC) are cut, and each part is SciPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import check_session
from distnb.client.record.creation import asarray
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.client.sparse.commands import elements, gathered, scattered, sent
from distnb.client.sparse.scipys import is_scipys, scipy_sparse, supported
from distnb.client.sparse.structure import Structure, cuts_for, global_pointers
from distnb.geometry.layout import Ints

__all__ = ["Compressed", "csc_array", "csr_array"]


class Compressed:
    """What CSR and CSC have in common."""

    #: As SciPy names it, and which axis is cut.
    format: str
    axis: int

    data: Any
    structure: Structure

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
        if is_scipys(arg1):
            at = need(session)
            there = getattr(arg1, f"to{self.format}")()
            there = there if dtype is None else there.astype(supported(dtype))
            self._send(at, there, dist)
            return
        raise NotImplementedError

    def _send(self, session: Session, x: Any, dist: Any) -> None:
        """Send SciPy's array of this format."""
        kind = supported(x.dtype)
        cuts = cuts_for(dist, x.shape[self.axis], session.size, x.indptr)
        arrays = (x.data.astype(kind, copy=False), x.indices, x.indptr)
        self.data, self.structure = sent(session, arrays, x.shape[1 - self.axis], cuts)
        self.structure.canonical = bool(x.has_canonical_format)

    @classmethod
    def of(cls, data: Any, structure: Structure) -> Any:
        """Return the array of these elements and this structure."""
        found = cls.__new__(cls)
        found.data, found.structure = data, structure
        return found

    @property
    def session(self) -> Session:
        """The session the array lives in."""
        return self.structure.session

    @property
    def shape(self) -> Ints:
        """Lengths of the axes."""
        found = (self.structure.major, self.structure.minor)
        return found if self.axis == 0 else found[::-1]

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        found: np.dtype = self.data.dtype
        return found

    @property
    def nnz(self) -> int:
        """Number of stored elements, explicit zeros too."""
        return self.structure.nnz

    ndim = 2

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc is not np.matmul:
            return NotImplemented
        left, right = inputs
        return self.__matmul__(right) if left is self else self.__rmatmul__(left)

    # -- products ------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        return self._product(other, 1)

    def __rmatmul__(self, other: Any) -> Any:
        x = asarray(other, session=self.session)
        return self._product(x if x.ndim == 1 else x.T, 0, left=True)

    def _product(self, other: Any, axis: int, left: bool = False) -> Any:
        """Return the product with a dense array, summed over an axis of this one."""
        x = asarray(other, session=self.session)
        check_session(x, self.session)
        if x.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if x.shape[0] != self.shape[axis]:
            raise ValueError(f"matmul: dimension mismatch")
        multiply = scattered if axis == self.axis else gathered
        found = multiply(self.data, self.structure, x)
        return found.T if left and x.ndim == 2 else found

    @property
    def T(self) -> Any:
        """The transposed array: a view, of the other format."""
        return OTHER[type(self)].of(self.data, self.structure)

    # -- elsewhere -----------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Return SciPy's array in the notebook."""
        s = self.structure
        data = elements(self.data, s).to_numpy()
        pointers = global_pointers(s.indptr.to_numpy(), s.cuts, s.ends)
        make = getattr(scipy_sparse(), f"{self.format}_array")
        found = make((data, s.indices.to_numpy(), pointers), shape=self.shape)
        return found


class csr_array(Compressed):
    """Rows are cut: each engine has some of them."""

    format, axis = "csr", 0


class csc_array(Compressed):
    """Columns are cut: each engine has some of them."""

    format, axis = "csc", 1


OTHER: dict[type[Compressed], type[Compressed]] = {csr_array: csc_array, csc_array: csr_array}
