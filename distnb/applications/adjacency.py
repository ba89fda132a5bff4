"""What algorithms on graphs take: adjacency, as sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import distnb as dnb
from distnb.common.errors import explain

__all__ = ["adjacency", "check_weights", "pattern", "rmat", "simple"]


def adjacency(G: Any) -> Any:
    """Return a graph as a square ``csr_array`` whose equal places are summed."""
    summed = isinstance(G, dnb.sparse.csr_array) and G.structure.canonical
    A = G if summed else dnb.sparse.csr_array(G)  # the user's stays as it is
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(explain("graph", f"shape {A.shape}", "a square array", "see distnb.graph"))
    A.sum_duplicates()
    return A


def check_weights(what: str, weights: Any) -> None:
    """Raise unless all weights are finite real numbers that are not negative."""
    if weights.dtype.kind == "c":
        raise TypeError(explain(what, weights.dtype, "real numbers", "use abs() or .real"))
    if weights.size and not ((weights >= 0) & (weights < np.inf)).all():
        expected = "finite numbers, 0 or more"
        raise ValueError(explain(what, "NaN, infinity or below 0", expected, "leave those out"))


def pattern(A: Any, dtype: Any = np.float64) -> Any:
    """Return an array with ones at the stored elements that are not zero."""
    A = A != 0 if A.count_nonzero() < A.nnz else A
    return A._with_data(dnb.ones_like(A.data, dtype=dtype))


def simple(A: Any) -> Any:
    """Return the pattern of an undirected graph without loops: symmetric, ones."""
    A = pattern(A)
    A = A.maximum(A.T)
    return pattern(dnb.sparse.tril(A, -1) + dnb.sparse.triu(A, 1)).tocsr()


def rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    weights: bool = False,
    seed: int = 0,
    parts: tuple[float, float, float, float] = (0.57, 0.19, 0.19, 0.05),
    **options: Any,
) -> Any:
    """Return a random graph with few vertices of many edges: the Graph 500 benchmark's.

    Parameters
    ----------
    scale : int
        There are ``2**scale`` vertices.
    edge_factor : int
        So many times as many edges are drawn; those that are drawn again count once.
    weights : bool
        Draw weights between 0 and 1. By default they are 1.
    seed : int
        The graph follows from it: it is the same on any number of engines.
    parts : tuple of float
        The shares of the four quarters of the adjacency, and of theirs in turn.
    **options
        ``dist``, ``grid`` and ``session``, as for :class:`distnb.sparse.csr_array`.

    Returns
    -------
    csr_array
        The adjacency, made on the engines, in float64.

    Notes
    -----
    Each edge chooses a quarter ``scale`` times, and is sent to the engine that has its row: D.
    Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     G = dnb.graph.rmat(5, 4)
    ...     G.shape, bool(0 < G.nnz <= 4 * 32)
    ((32, 32), True)
    """
    if len(parts) != 4 or min(parts) < 0 or abs(sum(parts) - 1) > 1e-9:
        expected = "four shares that add up to 1"
        raise ValueError(explain("parts", parts, expected, "for example (0.57, 0.19, 0.19, 0.05)"))
    if scale < 0:
        raise ValueError(explain("scale", scale, "0 or more", "there are 2**scale vertices"))
    n, m = 1 << scale, edge_factor << scale
    rng = dnb.random.default_rng(seed, session=options.get("session"))
    a, b, c, _ = parts
    rows = columns = dnb.zeros(m, np.int64, session=options.get("session"))
    for _ in range(scale):
        chance = rng.random(m)
        lower = chance >= a + b
        right = ((chance >= a) & (chance < a + b)) | (chance >= a + b + c)
        rows, columns = 2 * rows + lower, 2 * columns + right
    G = dnb.sparse.csr_array((dnb.ones(m), (rows, columns)), shape=(n, n), **options)
    data = dnb.ones_like(G.data)
    return G._with_data(rng.random(G.nnz) if weights else data)
