"""Betweenness: how many shortest ways lead over a vertex, or a link."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import distnb as dnb
from distnb.applications.adjacency import adjacency, pattern
from distnb.common.errors import explain

__all__ = ["betweenness", "edge_betweenness"]

#: Ways from so many vertices are followed at a time.
_BATCH = 32


class Ways(NamedTuple):
    """Shortest ways from some vertices, a column each.

    ``count``: how many lead to each vertex; ``depth``: in how many steps, -1 if there is none;
    ``share``: how many of those to others lead over each.
    """

    count: Any
    depth: Any
    share: Any


def betweenness(
    G: Any, *, samples: int | None = None, normalized: bool = True, seed: int = 0
) -> Any:
    """Return for each vertex the share of shortest ways, between two others, that lead over it.

    Parameters
    ----------
    G : sparse array, (n, n)
        Links from rows to columns, of equal length. An undirected graph is a symmetric array.
    samples : int, optional
        Ways from so many vertices only, chosen at random: an estimate. By default from all.
    normalized : bool
        As a share of the pairs of other vertices. Else the sum over all ordered pairs.
    seed : int
        Of the choice.

    Returns
    -------
    DistArray, (n,)
        In float64, between 0 and 1 if normalized.

    Notes
    -----
    Some vertices at a time: products of the links and a dense array with a column for each. What is
    sent is what these send, two for each step; whether there are more is read. U. Brandes, "A
    faster algorithm for betweenness centrality", J. Math. Sociology 25, 2001.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     line = dnb.sparse.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    ...     dnb.graph.betweenness(line).to_numpy()
    array([0., 1., 0.])
    """
    A = pattern(adjacency(G))
    n = A.shape[0]
    chosen = sources(n, samples, seed)
    total = dnb.zeros(n, session=A.session)
    for some in batches(chosen):
        ways = ways_from(A, some)
        total = total + dnb.where(ways.depth > 0, ways.share, 0).sum(axis=1)
    pairs = (n - 1) * (n - 2) if normalized else 1
    return total * (n / max(len(chosen), 1) / max(pairs, 1))


def edge_betweenness(
    G: Any, *, samples: int | None = None, normalized: bool = True, seed: int = 0
) -> Any:
    """Return for each link the share of shortest ways, between any two vertices, that lead over it.

    Parameters
    ----------
    G, samples, normalized, seed
        As for :func:`betweenness`.

    Returns
    -------
    csr_array, (n, n)
        The shares, at the places of the links.

    Notes
    -----
    What is sent is what :func:`betweenness` sends, and the rows of both ends of links to these.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     line = dnb.sparse.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    ...     dnb.graph.edge_betweenness(line, normalized=False).to_scipy().data
    array([2., 2., 2., 2.])
    """
    A = pattern(adjacency(G))
    n = A.shape[0]
    rows, columns = A.tocoo(copy=False).coords
    chosen = sources(n, samples, seed)
    total = dnb.zeros_like(A.data)
    for some in batches(chosen):
        ways = ways_from(A, some)
        per_way = dnb.where(ways.count > 0, (1 + ways.share) / dnb.maximum(ways.count, 1), 0)
        onward = (ways.depth[rows] >= 0) & (ways.depth[rows] + 1 == ways.depth[columns])
        total = total + dnb.where(onward, ways.count[rows] * per_way[columns], 0).sum(axis=1)
    pairs = n * (n - 1) if normalized else 1
    return A._with_data(total * (n / max(len(chosen), 1) / max(pairs, 1)))


def sources(n: int, samples: int | None, seed: int) -> np.ndarray:
    """Return the vertices from which ways are followed."""
    if samples is None:
        return np.arange(n)
    if not 0 < samples <= n:
        raise ValueError(explain("samples", samples, f"1 to {n}", "choose so many"))
    return np.sort(np.random.default_rng(seed).choice(n, samples, replace=False))


def batches(chosen: np.ndarray) -> list[np.ndarray]:
    """Return vertices some at a time."""
    return [chosen[k : k + _BATCH] for k in range(0, len(chosen), _BATCH)]


def ways_from(A: Any, some: np.ndarray) -> Ways:
    """Follow the ways from some vertices outwards, and add up what leads over each backwards."""
    n = A.shape[0]
    names = dnb.arange(n, session=A.session)[:, None]
    front = count = (names == dnb.asarray(some, session=A.session)).astype(np.float64)
    depth, level = dnb.where(front > 0, 0, -1), 0
    while True:
        front = dnb.where(depth < 0, A.T @ front, 0)
        if not front.any():
            break
        level += 1
        count, depth = count + front, dnb.where(front > 0, level, depth)
    share = dnb.zeros_like(count)
    for k in range(level, 0, -1):
        per_way = dnb.where(depth == k, (1 + share) / dnb.maximum(count, 1), 0)
        share = share + dnb.where(depth == k - 1, count * (A @ per_way), 0)
    return Ways(count, depth, share)
