"""The largest singular values and their vectors, from products alone."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

import distnb as dnb
from distnb.common.errors import explain

__all__ = ["truncated_svd"]


def truncated_svd(
    A: Any, k: int, *, oversample: int = 10, power: int = 4, seed: int = 0
) -> tuple[Any, Any, Any]:
    """Return the ``k`` largest singular values of an array, and their vectors, nearly.

    Parameters
    ----------
    A : sparse or dense array, (m, n)
        What to decompose.
    k : int
        How many.
    oversample : int
        So many more columns are worked with.
    power : int
        How often both products are made: more of them where the values fall slowly.
    seed : int
        Of the random columns to begin with.

    Returns
    -------
    u : DistArray, (m, k)
        As the rows of ``A``.
    s : DistArray, (k,)
        Falling.
    vh : DistArray, (k, n)
        ``(u * s) @ vh`` is near to ``A``.

    Notes
    -----
    Random projections: N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness", SIAM
    Review 53, 2011. Sent is what products send, and triangles of ``k + oversample`` rows (TSQR).

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     A = dnb.sparse.diags_array([3.0, 1.0, 2.0])
    ...     dnb.learn.truncated_svd(A, 2)[1].to_numpy().round(6)
    array([3., 2.])
    """
    if not dnb.sparse.issparse(A):
        A = dnb.sparse.csr_array(A) if hasattr(A, "tocoo") else dnb.asarray(A)
    if A.ndim != 2:
        raise ValueError(explain("matrix", f"shape {A.shape}", "two axes", "reshape it"))
    small = min(A.shape)
    k = index(k)
    if not 0 < k <= small:
        raise ValueError(explain("k", k, f"1 to {small}", "choose so many values"))
    for name, number in (("oversample", oversample), ("power", power)):
        if number < 0:
            raise ValueError(explain(name, number, "0 or more", "choose so many"))
    wide = min(k + oversample, small)
    A = A if A.dtype.kind in "fc" else A.astype(np.float64)
    turned = A.T.conj()
    Q = dnb.random.default_rng(seed, session=A.session).normal(size=(A.shape[1], wide))
    Q = basis(A @ Q.astype(A.dtype))
    for _ in range(power):
        Q = basis(A @ basis(turned @ Q))
    B = turned @ Q
    v, s, wh = dnb.linalg.svd(B, full_matrices=False)
    return (Q @ wh.T.conj())[:, :k], s[:k], v.T.conj()[:k]


def basis(Y: Any) -> Any:
    """Return orthonormal columns that span what these span."""
    return dnb.linalg.qr(Y)[0]
