"""Linear algebra of whole matrices, by name: the same functions for engines and for the notebook.

They are NumPy's (LAPACK). Each takes arrays and plain arguments, and returns a tuple of arrays. On
an empty stack of matrices they say the specs of the results, and raise for wrong shapes and dtypes:
NumPy is the oracle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

__all__ = ["FUNCTIONS", "Spec", "finite", "lstsq", "specs", "svd", "work_dtype"]

Ints = tuple[int, ...]
#: Core shape and dtype of a result.
Spec = tuple[Ints, np.dtype]


def _eig(a: Any) -> tuple[Any, ...]:
    """Return eigenvalues and vectors, complex always: what they are must follow from the specs."""
    w, v = np.linalg.eig(a)
    return w.astype(_complex(w.dtype)), v.astype(_complex(v.dtype))


def _eigvals(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return w.astype(_complex(w.dtype))


def _complex(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _solve(a: Any, b: Any) -> Any:
    """Solve for matrices of right hand sides; no stack of them is taken for a vector."""
    return np.linalg.solve(a, b)


def finite(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function refuse matrices of which LAPACK may find no end, or end the process."""

    @functools.wraps(numpys)
    def function(a: Any, *args: Any, **options: Any) -> Any:
        if not np.isfinite(a).all():
            raise np.linalg.LinAlgError("SVD did not converge: infinities or NaN in the matrix")
        return numpys(a, *args, **options)

    return function


#: Of finite matrices.
svd, lstsq = finite(np.linalg.svd), finite(np.linalg.lstsq)


def _lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, ...]:
    """Return solution, rank and singular values of one least squares problem."""
    x, _, rank, s = lstsq(a, b, rcond)
    return x, np.asarray(rank, np.int64), s


def _contract(a: Any, b: Any, ia: Ints, ib: Ints, io: Ints) -> Any:
    """Multiply two arrays and sum over the labels of axes that are not among those of the result.

    Each label of the operands is in both, or in the result.
    """
    length = dict(zip(ia + ib, a.shape + b.shape, strict=True))
    both = [i for i in ia if i in ib and i in io]
    left, right = [i for i in ia if i not in ib], [i for i in ib if i not in ia]
    summed = [i for i in ia if i in ib and i not in io]

    def look(x: Any, labels: Ints, *parts: list[int]) -> Any:
        moved = x.transpose([labels.index(i) for part in parts for i in part])
        return moved.reshape([prod(length[i] for i in part) for part in parts])

    x, y = look(a, ia, both, left, summed), look(b, ib, both, summed, right)
    found = np.matmul(x, y) if summed else x * y
    order = both + left + right
    return found.reshape([length[i] for i in order]).transpose([order.index(i) for i in io])


def _inv_or_nan(a: Any) -> Any:
    """Return inverses; of what is singular, NaN."""
    with np.errstate(all="ignore"):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            if a.ndim > 2:
                return np.stack([_inv_or_nan(one) for one in a])
            return np.full(a.shape, np.nan, np.linalg.inv(np.ones((1, 1), a.dtype)).dtype)


#: name -> function of arrays and plain arguments.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, upper: np.linalg.cholesky(a, upper=upper),
    "det": np.linalg.det,
    "eig": _eig,
    "eigh": np.linalg.eigh,
    "eigvals": _eigvals,
    "eigvalsh": np.linalg.eigvalsh,
    "inv": np.linalg.inv,
    "inv_or_nan": _inv_or_nan,
    "lstsq": _lstsq,
    "qr": np.linalg.qr,
    "slogdet": np.linalg.slogdet,
    "solve": _solve,
    "svd": svd,
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "contract": _contract,
    "diagonal": lambda a, rows: a[..., np.arange(len(rows)), rows],
    "kron": np.kron,
}


def call(name: str, arrays: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call a function; return its results as a tuple."""
    found = FUNCTIONS[name](*arrays, *args)
    return tuple(found) if isinstance(found, tuple) else (found,)


def specs(name: str, arrays: Any, args: tuple[Any, ...]) -> tuple[Spec, ...]:
    """Return core shape and dtype of each result for arrays with shapes and dtypes.

    >>> from types import SimpleNamespace
    >>> a = SimpleNamespace(shape=(5, 3), dtype=np.dtype("f4"))
    >>> specs("qr", [a], ("reduced",))
    (((5, 3), dtype('float32')), ((3, 3), dtype('float32')))
    """
    if name == "lstsq":  # takes no stacks
        return _lstsq_specs(*arrays)
    found = call(name, [_empty_stack(a) for a in arrays], args)
    return tuple((f.shape[1:], f.dtype) for f in found)


def _empty_stack(a: Any) -> np.ndarray:
    """Return an array with no elements, with the matrices of ``a``."""
    shape = (0, *a.shape[-2:]) if len(a.shape) > 1 else (0,) * len(a.shape)
    return np.empty(shape, a.dtype)


def _lstsq_specs(a: Any, b: Any) -> tuple[Spec, ...]:
    (m, n), k = a.shape, b.shape[1]
    kind = np.result_type(work_dtype(a.dtype), work_dtype(b.dtype))
    _, _, _, s = np.linalg.lstsq(np.ones((1, 1), a.dtype), np.ones((1, 1), b.dtype))
    dtype = np.result_type(s.dtype, np.complex64) if kind.kind == "c" else s.dtype
    return ((n, k), dtype), ((), np.dtype(np.int64)), ((min(m, n),), s.dtype)


def work_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which NumPy factors matrices: double precision, whatever they are.

    >>> work_dtype(np.dtype("f4")), work_dtype(np.dtype("c8"))
    (dtype('float64'), dtype('complex128'))
    """
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
