"""SciPy's compressed sparse arrays on memory that is given, which nothing is copied of."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Arrays", "columns_of", "csr", "rows_of"]

#: Elements, indices and pointers.
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return SciPy's array of these, in their memory."""
    from scipy.sparse import csr_array

    return csr_array((data, indices, indptr), shape=shape, copy=False)


def rows_of(arrays: Arrays, shape: tuple[int, int]) -> Any:
    """Return SciPy's ``csr_array`` of elements, indices and pointers, in their memory.

    What is written there later is seen in it. SciPy's constructor copies what is a small part of
    other memory, without being asked to.

    >>> memory = np.zeros(80)
    >>> x = rows_of((memory[:2], np.array([1, 0]), np.array([0, 1, 2])), (2, 2))
    >>> memory[:2] = 3.0, 4.0
    >>> x.toarray()
    array([[0., 3.],
           [4., 0.]])
    """
    from scipy.sparse import csr_array

    return _of(csr_array, arrays, shape)


def columns_of(arrays: Arrays, shape: tuple[int, int]) -> Any:
    """Return SciPy's ``csc_array`` of elements, indices and pointers, in their memory.

    >>> columns_of((np.array([3, 4]), np.array([1, 0]), np.array([0, 1, 2])), (2, 2)).toarray()
    array([[0, 4],
           [3, 0]])
    """
    from scipy.sparse import csc_array

    return _of(csc_array, arrays, shape)


def _of(kind: Any, arrays: Arrays, shape: tuple[int, int]) -> Any:
    found = kind(shape, dtype=arrays[0].dtype)
    found.data, found.indices, found.indptr = arrays
    return found
