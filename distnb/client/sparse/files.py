"""Sparse arrays in files: SciPy reads and writes them in the notebook."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any, TypeAlias

from distnb.client.session.session import Session
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.compressed import csc_array, csr_array
from distnb.client.sparse.coordinates import coo_array
from distnb.client.sparse.scipys import scipy_sparse

__all__ = ["load_npz", "mmread", "mmwrite", "save_npz"]


#: A path, or an open file.
File: TypeAlias = str | PathLike[str] | IO[bytes]


def _sent(x: Any, session: Session | None) -> Any:
    """Return SciPy's array as a distributed one, of its format if that is there, else CSR."""
    found = {"coo": coo_array, "csc": csc_array}.get(x.format, csr_array)
    return found(x, session=session)


def load_npz(file: File, *, session: Session | None = None) -> Any:
    """Return the sparse array that a file of SciPy's ``save_npz`` holds.

    The notebook reads it, and sends to each engine its part.
    """
    return _sent(scipy_sparse().load_npz(file), session)


def save_npz(file: File, matrix: Sparse, compressed: bool = True) -> None:
    """Save a sparse array as SciPy's ``save_npz``; it comes to the notebook for that."""
    scipy_sparse().save_npz(file, matrix.to_scipy(), compressed)


def mmread(source: File, *, session: Session | None = None) -> Any:
    """Return the sparse array of a Matrix Market file, as ``scipy.io.mmread``.

    The notebook reads it, and sends to each engine its part. Dense files give a ``csr_array``.
    """
    sparse = scipy_sparse()
    from scipy.io import mmread

    found = mmread(source)
    return _sent(sparse.coo_array(found), session)


def mmwrite(target: File, a: Sparse, **options: Any) -> None:
    """Write a sparse array as a Matrix Market file, as ``scipy.io.mmwrite``."""
    scipy_sparse()
    from scipy.io import mmwrite

    mmwrite(target, a.to_scipy(), **options)
