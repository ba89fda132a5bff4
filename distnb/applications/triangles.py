"""Triangles of a graph: three vertices that all know each other."""

from __future__ import annotations

from typing import Any

import numpy as np

import distnb as dnb
from distnb.applications.adjacency import adjacency, simple
from distnb.common.errors import explain

__all__ = ["triangles"]


def triangles(G: Any, *, by_vertex: bool = False, eigenvalues: int | None = None) -> Any:
    """Return how many triangles there are in an undirected graph.

    Parameters
    ----------
    G : sparse array, (n, n)
        Links, of which the direction does not matter; loops are left out.
    by_vertex : bool
        Return how many each vertex is part of.
    eigenvalues : int, optional
        Estimate the number from so many eigenvalues, those of largest magnitude, by Lanczos'
        method: for graphs that are too large to count.

    Returns
    -------
    int, DistArray of (n,) in int64, or float
        The number, that of each vertex, or the estimate.

    Notes
    -----
    Counted is a product with a mask in the semiring ``plus_pair``: ``(L @ L) * L`` of the lower
    triangle, of which only the places of ``L`` are computed. Vertices are renumbered by their
    degrees first, so that few have many before them. Sent are rows of ``L`` that engines need of
    each other's. The estimate is the sum of the third powers of eigenvalues, over 6: C.
    Tsourakakis, "Fast counting of triangles in large real networks", ICDM 2008.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     G = dnb.sparse.csr_array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    ...     dnb.graph.triangles(G), dnb.graph.triangles(G, by_vertex=True).to_numpy()
    (1, array([1, 1, 1, 0]))
    """
    A = simple(adjacency(G))
    if eigenvalues is not None:
        return _estimate(A, eigenvalues)
    if by_vertex:
        return _closed(A, A).sum(axis=1) // 2
    degree = A.astype(np.int64).sum(axis=1)
    order = dnb.argsort(degree, stable=True)
    place = dnb.empty_like(order)
    place[order] = dnb.arange(len(order), session=A.session)
    rows, columns = [place[x] for x in A.tocoo(copy=False).coords]
    low = rows > columns
    made = (dnb.ones(int(low.sum()), session=A.session), (rows[low], columns[low]))
    L = dnb.sparse.csr_array(made, shape=A.shape).redistribute("nnz")
    return int(_closed(L, L).sum())


def _closed(A: Any, B: Any) -> Any:
    """Return for each link how many vertices are linked to both ends."""
    return dnb.sparse.matmul(A, B, "plus_pair", mask=A, structure=True)


def _estimate(A: Any, eigenvalues: int) -> float:
    from scipy.sparse.linalg import eigsh

    if not 0 < eigenvalues < A.shape[0]:
        expected = f"1 to {A.shape[0] - 1}"
        raise ValueError(explain("eigenvalues", eigenvalues, expected, "choose so many"))
    if not A.nnz:
        return 0.0  # there is nothing to start from
    found = eigsh(A, k=eigenvalues, which="LM", return_eigenvectors=False)
    return float((found**3).sum() / 6)
