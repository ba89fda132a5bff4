"""PageRank: how often a random surfer is at each page."""

from __future__ import annotations

from typing import Any

import numpy as np

import distnb as dnb
from distnb.applications.adjacency import adjacency, check_weights
from distnb.common.errors import explain

__all__ = ["pagerank"]


def pagerank(
    G: Any,
    damping: float = 0.85,
    *,
    personalization: Any = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Any:
    """Return the PageRank of each vertex: they add up to 1.

    Parameters
    ----------
    G : sparse array, (n, n)
        Weights of the links, from rows to columns.
    damping : float
        How likely the surfer follows a link; else he goes anywhere.
    personalization : array, (n,), optional
        Where he goes then, and from vertices without links: weights. By default to all alike.
    tolerance : float
        It ends when the ranks change by less than this in all.
    max_iterations : int
        After so many it is an error.

    Returns
    -------
    DistArray, (n,)
        The ranks, as the rows of ``G``.

    Raises
    ------
    RuntimeError
        If it does not come to an end.

    Notes
    -----
    An iteration is one product, ``G.T @ rank``, in which no transposition is made, and one group of
    elementwise operations. Sent are parts of the product that belong to others' rows, and two sums,
    of which one is read. L. Page et al., "The PageRank citation ranking", 1999.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     G = dnb.sparse.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    ...     dnb.graph.pagerank(G).to_numpy().round(3)
    array([0.486, 0.257, 0.257])
    """
    A = adjacency(G)
    n = A.shape[0]
    if not 0 <= damping <= 1:
        raise ValueError(explain("damping", damping, "0 to 1", "try 0.85"))
    check_weights("weights of links", A.data)
    out = A.sum(axis=1).astype(np.float64)
    share = dnb.where(out != 0, 1 / dnb.where(out != 0, out, 1), 0)
    stuck = out == 0
    to = 1 / n if n else 0.0
    if personalization is not None:
        check_weights("personalization", dnb.asarray(personalization, session=A.session))
        to = dnb.asarray(personalization, dtype=np.float64, session=A.session)
        if to.shape != (n,):
            raise ValueError(
                explain("personalization", f"shape {to.shape}", f"{n} weights", "give one each")
            )
        if not to.sum() > 0:
            raise ValueError(
                explain("personalization", "no weight above 0", "one at least", "give one")
            )
        to = to / to.sum()
    rank = dnb.full(n, 1 / max(n, 1), session=A.session) + 0 * out
    for _ in range(max_iterations):
        before = rank
        lost = (rank * stuck).sum()
        rank = damping * (A.T @ (rank * share) + lost * to) + (1 - damping) * to
        if abs(rank - before).sum() < tolerance or not n:
            return rank
    raise RuntimeError(
        explain("pagerank", f"no end in {max_iterations} iterations", "one", "raise tolerance")
    )
