"""Shortest ways from a vertex: in steps, and in lengths."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import distnb as dnb
from distnb.applications.adjacency import adjacency, pattern
from distnb.common.errors import explain

__all__ = ["bfs", "shortest_paths"]

#: So many rounds are asked for before it is read whether there was anything left to do.
_ROUNDS = 3


def start_of(source: Any, n: int) -> int:
    """Return a vertex as an index of 0 to ``n - 1``."""
    found = operator.index(source)
    if not -n <= found < n:
        raise IndexError(explain("source", found, f"a vertex of 0 to {n - 1}", "choose another"))
    return found % n


def bfs(G: Any, source: int) -> tuple[Any, Any]:
    """Return how many steps each vertex is from one, and by which vertex it is reached.

    Parameters
    ----------
    G : sparse array, (n, n)
        Links from rows to columns: elements that are not zero.
    source : int
        Where to begin.

    Returns
    -------
    levels, parents : DistArray, (n,)
        In int64; -1 for what is not reached. The parent is the least that is one step nearer; the
        source is its own.

    Notes
    -----
    Breadth first: each level is one product in the semiring ``min_first`` of the numbers of those
    that were reached last. What is sent is what that product sends, and whether anything is new,
    which the notebook reads.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     G = dnb.sparse.csr_array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
    ...     levels, parents = dnb.graph.bfs(G, 0)
    ...     levels.to_numpy(), parents.to_numpy()
    (array([ 0,  1,  1, -1]), array([ 0,  0,  0, -1]))
    """
    A = pattern(adjacency(G), bool)
    n = A.shape[0]
    begin = start_of(source, n)
    names = dnb.arange(n, session=A.session)
    none = np.iinfo(np.int64).max
    levels = dnb.where(names == begin, 0, -1)
    parents = dnb.where(names == begin, begin, -1)
    new, level = names == begin, 0
    while True:
        by = dnb.sparse.matmul(names, A, "min_first", present=new)
        new = (by != none) & (levels < 0)
        if not new.any():
            return levels, parents
        level += 1
        levels, parents = dnb.where(new, level, levels), dnb.where(new, by, parents)


def shortest_paths(G: Any, source: int, *, delta: float | None = None) -> Any:
    """Return how far each vertex is from one: the least sum of weights on a way to it.

    Parameters
    ----------
    G : sparse array, (n, n)
        Lengths of the links from rows to columns. Zeros that are stored are links without length.
    source : int
        Where to begin.
    delta : float, optional
        Go by delta-stepping: vertices in bands of this width, one after the other, so that far ones
        are not looked at over and over again. Lengths must not be negative then. By default the
        links of all that has got nearer are followed in each round (Bellman and Ford), which on
        engines is most often faster.

    Returns
    -------
    DistArray, (n,)
        Distances in float64; ``inf`` for what is not reached.

    Raises
    ------
    ValueError
        If there is a cycle of negative length, a length that is NaN, or a negative one with
        ``delta``.

    Notes
    -----
    A round is one product in the semiring ``min_plus``: sent are distances that engines have found
    to the vertices of others; whether any got less is read every third time. U. Meyer, P. Sanders,
    "Delta-stepping: a parallelizable shortest path algorithm", Journal of Algorithms 49, 2003.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     G = dnb.sparse.csr_array([[0, 5.0, 1.0], [0, 0, 0], [0, 2.0, 0]])
    ...     dnb.graph.shortest_paths(G, 0).to_numpy()
    array([0., 3., 1.])
    """
    A = adjacency(G)
    if A.dtype.kind == "c":
        raise TypeError(explain("lengths", A.dtype, "real numbers", "use abs(G) or G.real"))
    A = A.astype(np.float64, copy=False)
    if A.nnz and np.isnan(A.data).any():
        raise ValueError(explain("lengths", "NaN", "numbers", "leave such links out"))
    n = A.shape[0]
    begin = start_of(source, n)
    far = dnb.where(dnb.arange(n, session=A.session) == begin, 0.0, np.inf)
    if delta is None:
        return _by_rounds(A, far, n)
    if not delta > 0:
        raise ValueError(explain("delta", delta, "a width above 0", "try the mean length"))
    if A.nnz and A.data.min() < 0:
        raise ValueError(explain("lengths with delta", "negative ones", "none", "leave delta out"))
    return _by_bands(A, far, float(delta))


def _by_rounds(A: Any, far: Any, n: int) -> Any:
    """Follow the links of what has got nearer until nothing does."""
    active = far < np.inf
    for k in range(1, n + 1):
        by = dnb.sparse.matmul(far, A, "min_plus", present=active)
        active, far = by < far, dnb.minimum(far, by)
        if (k % _ROUNDS == 0 or k == n) and not active.any():
            return far
    raise ValueError(
        explain("graph", "a cycle of negative length", "none", "no way is shortest there")
    )


def _by_bands(A: Any, far: Any, delta: float) -> Any:
    """Settle what is nearer than one, two, ... times ``delta``."""
    short = A.data <= delta
    light, heavy = _of(A, short), _of(A, ~short)
    settled = far < 0  # nothing
    while True:
        left = dnb.where(settled, np.inf, far)
        nearest = float(left.min()) if left.size else np.inf
        if nearest == np.inf:
            return far
        # a little more than the nearest, where that is lost in rounding
        band = max((nearest // delta + 1) * delta, np.nextafter(nearest, np.inf))
        active = inside = ~settled & (far < band)
        while active.any():
            by = dnb.sparse.matmul(far, light, "min_plus", present=active)
            nearer = dnb.minimum(far, by)
            active = (nearer < far) & (nearer < band)
            far, inside = nearer, inside | active
        by = dnb.sparse.matmul(far, heavy, "min_plus", present=inside)
        far, settled = dnb.minimum(far, by), settled | inside


def _of(A: Any, which: Any) -> Any:
    """Return the array of some of the stored elements."""
    rows, columns = A.tocoo(copy=False).coords
    return dnb.sparse.csr_array((A.data[which], (rows[which], columns[which])), shape=A.shape)
