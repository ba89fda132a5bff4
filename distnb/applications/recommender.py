"""A recommender: what is known of who likes what, as a product of two narrow arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import distnb as dnb
from distnb.common.errors import explain

__all__ = ["als"]


def als(
    R: Any, rank: int, *, penalty: float = 0.1, iterations: int = 10, seed: int = 0
) -> tuple[Any, Any]:
    """Return two arrays whose product is near to the stored elements of a sparse one.

    Parameters
    ----------
    R : sparse array, (m, n)
        What is known: ratings of things (columns) by users (rows).
    rank : int
        How many factors to describe each by.
    penalty : float
        Weighs the squares of the factors, for each user and thing by the number of its ratings.
    iterations : int
        How often the one and the other are computed.
    seed : int
        Of the first factors.

    Returns
    -------
    users : DistArray, (m, rank)
        As the rows of ``R``.
    things : DistArray, (n, rank)
        ``users @ things.T`` is the estimate.

    Notes
    -----
    Alternating least squares: all users' normal equations are a product of the pattern of ``R`` and
    the outer products of the things' factors, solved as one stack. What is sent is what products of
    ``R`` and ``R.T`` with ``rank + rank**2`` columns send, two of each in an iteration. Y. Zhou et
    al., "Large-scale parallel collaborative filtering for the Netflix prize", AAIM 2008.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     R = dnb.sparse.csr_array([[5.0, 0, 4], [0, 3, 2], [1, 0, 1]])
    ...     users, things = dnb.learn.als(R, 2)
    ...     users.shape, things.shape
    ((3, 2), (3, 2))
    """
    R = dnb.sparse.csr_array(R)
    if R.dtype.kind == "c":
        raise TypeError(explain("ratings", R.dtype, "real numbers", "use abs(R) or R.real"))
    R = R.astype(np.float64, copy=False)
    if rank < 1:
        raise ValueError(explain("rank", rank, "1 or more", "choose the number of factors"))
    if iterations < 1:
        raise ValueError(explain("iterations", iterations, "1 or more", "allow one"))
    if not 0 <= penalty < np.inf:
        raise ValueError(explain("penalty", penalty, "a finite number, 0 or more", "choose one"))
    R.sum_duplicates()
    if not bool(np.isfinite(R.data).all()):
        raise ValueError(explain("ratings", "NaN or infinity", "finite numbers", "leave them out"))
    known = R._with_data(dnb.ones_like(R.data))  # zeros that are stored are known, too
    rng = dnb.random.default_rng(seed, session=R.session)
    things = rng.random((R.shape[1], rank)) / rank**0.5
    counts = known.sum(axis=1), known.sum(axis=0)
    for _ in range(iterations):
        users = solved(R, known, things, penalty, counts[0])
        things = solved(R.T, known.T, users, penalty, counts[1])
    return users, things


def solved(R: Any, known: Any, factors: Any, penalty: float, counts: Any) -> Any:
    """Return the best factors of the rows, given those of the columns."""
    rank = factors.shape[1]
    outer = (factors[:, :, None] * factors[:, None, :]).reshape(-1, rank * rank)
    left = (known @ outer).reshape(-1, rank, rank)
    weight = penalty * dnb.maximum(counts, 1)
    left = left + weight[:, None, None] * np.eye(rank)
    return dnb.linalg.solve(left, (R @ factors)[:, :, None])[:, :, 0]
