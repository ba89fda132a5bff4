"""Products of one part: SciPy's compiled loops, which write where they are told.

Its ``@`` makes new memory for each result, of which every page costs more than a few products of
its rows. Where its loops are not to be found under their names, ``@`` does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.engines.sparse.parts import csr

__all__ = ["multiply", "multiply_turned"]


def _loop(name: str) -> Any:
    """Return one of SciPy's loops, None if there is none."""
    try:
        from scipy.sparse import _sparsetools
    except ImportError:
        return None
    return getattr(_sparsetools, name, None)


def multiply(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the product of the part and ``x``."""
    _run("csr", len(indptr) - 1, len(x), (indptr, indices, data), x, out)


def multiply_turned(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the product of the transposed part and ``x``."""
    _run("csc", len(out), len(x), (indptr, indices, data), x, out)


def _run(
    kind: str,
    rows: int,
    columns: int,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
    x: np.ndarray,
    out: np.ndarray,
) -> None:
    loop = _loop(f"{kind}_matvec" if x.ndim == 1 else f"{kind}_matvecs")
    indptr, indices, data = arrays
    if loop is None or indptr.dtype != indices.dtype:
        shape = (rows, columns) if kind == "csr" else (columns, rows)
        part = csr(data, indices, indptr, shape)
        out[...] = (part if kind == "csr" else part.T) @ x
        return
    out[...] = 0
    some = () if x.ndim == 1 else (x.shape[1],)
    loop(rows, columns, *some, *arrays, np.ascontiguousarray(x).reshape(-1), out.reshape(-1))
