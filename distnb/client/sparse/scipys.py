"""SciPy, which is asked what a result would be: its dtype, or the exception that it raises."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.array import Array, numeric
from distnb.common.errors import explain

__all__ = [
    "dtype_of",
    "index_dtype",
    "is_matrix",
    "is_scalar",
    "is_scipys",
    "product_dtype",
    "result_of",
    "scipy_sparse",
    "supported",
]


def scipy_sparse() -> Any:
    """Return the module ``scipy.sparse``; it is an optional dependency."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError(
            explain("sparse arrays", "no SciPy", "scipy", "run: pip install distnb[sparse]")
        ) from error
    return scipy.sparse


def is_scipys(x: object) -> bool:
    """Tell whether something is a sparse array or matrix of SciPy's."""
    return bool(scipy_sparse().issparse(x))


def is_matrix(x: object) -> bool:
    """Tell whether something is a sparse matrix of SciPy's, for which ``*`` is the product."""
    return isinstance(x, scipy_sparse().spmatrix)


def supported(dtype: DTypeLike) -> np.dtype:
    """Return a dtype that sparse arrays can have; raises what SciPy raises for others."""
    _small(np.dtype(dtype).char)
    return numeric(dtype)


def index_dtype(*largest: int) -> np.dtype:
    """Return the dtype of indices that SciPy takes where these are the largest numbers."""
    return np.dtype(scipy_sparse().get_index_dtype(maxval=max(0, *largest)))


def product_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the dtype of a product of a sparse array and a dense one."""
    return _product_dtype(a.char, b.char)


@lru_cache(maxsize=256)
def _small(char: str) -> Any:
    return scipy_sparse().csr_array((1, 1), dtype=np.dtype(char))


@lru_cache(maxsize=256)
def _product_dtype(a: str, b: str) -> np.dtype:
    return np.dtype((_small(a) @ np.zeros(1, b)).dtype)


def result_of(run: Callable[..., Any], *dtypes: np.dtype) -> Any:
    """Return what a function gives of arrays of 1 x 1 without elements, in these dtypes."""
    with np.errstate(all="ignore"):
        return run(*[_small(d.char).copy() for d in dtypes])


def dtype_of(method: str, *given: object, **options: object) -> Any:
    """Return the dtype that a method gives of such arrays (their dtypes), and numbers.

    None of what has none. SciPy is asked once, so this is for what does not warn.
    """
    try:
        return _dtype_of(method, *given, **options)
    except TypeError:  # of what cannot be told apart from others, or SciPy's
        return _dtype_of.__wrapped__(method, *given, **options)


@lru_cache(maxsize=256, typed=True)
def _dtype_of(method: str, *given: object, **options: object) -> Any:
    kinds = [x for x in given if isinstance(x, np.dtype)]
    numbers = [x for x in given if not isinstance(x, np.dtype)]
    found = result_of(lambda a, *more: getattr(a, method)(*more, *numbers, **options), *kinds)
    return getattr(found, "dtype", None)


def is_scalar(x: object) -> TypeGuard[Any]:
    """Tell whether something is a single number."""
    return bool(np.isscalar(x)) or (isinstance(x, np.ndarray | Array) and x.ndim == 0)
