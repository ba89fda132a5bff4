"""K-means: points in groups around their means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import distnb as dnb
from distnb.common.errors import explain, quoted

__all__ = ["Groups", "kmeans"]


class Groups(NamedTuple):
    """What :func:`kmeans` found.

    Centers are held by every engine, labels lie as the points.

    Attributes
    ----------
    centers : DistArray, (k, d)
        The means.
    labels : DistArray, (n,)
        The group of each point.
    inertia : float
        The sum of squared distances to the means.
    iterations : int
        How many rounds it took.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     found = dnb.learn.kmeans(dnb.array([[0.0], [1.0], [9.0]]), 2, seed=1)
    ...     sorted(found.centers.to_numpy().ravel().tolist()), found.inertia
    ([0.5, 9.0], 0.5)
    """

    centers: Any
    labels: Any
    inertia: float
    iterations: int


def kmeans(
    X: Any,
    k: int,
    *,
    init: Any = "k-means++",
    max_iterations: int = 300,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> Groups:
    """Return points in ``k`` groups, each around its mean.

    Parameters
    ----------
    X : array, (n, d)
        The points, cut along the first axis.
    k : int
        How many groups.
    init : 'k-means++', 'random', or array of (k, d)
        The first centers: drawn among the points, far ones rather, or just drawn; or these.
    max_iterations : int
        So many rounds at most.
    tolerance : float
        It ends when the centers move by less, squared and added up, than this share of the mean
        variance; or when no point changes its group.
    seed : int
        Of what is drawn.

    Returns
    -------
    Groups
        Centers, labels, inertia and the number of rounds.

    Notes
    -----
    S. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28, 1982; D. Arthur,
    S. Vassilvitskii, "k-means++", SODA 2007. A group that lost all its points gets the one that is
    farthest from its center. What is sent is the centers, and sums of ``k`` rows.

    Examples
    --------
    >>> import numpy as np
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     X = dnb.asarray(np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]]))
    ...     dnb.learn.kmeans(X, 2, init=X[1:3]).centers.to_numpy()
    array([[0. , 0.5],
           [9. , 8.5]])
    """
    if dnb.sparse.issparse(X) or hasattr(X, "tocoo"):
        raise TypeError(explain("points", "a sparse array", "a dense one", "use X.toarray()"))
    X = dnb.asarray(X)
    if X.dtype.kind == "c":
        raise TypeError(explain("points", X.dtype, "real numbers", "stack X.real and X.imag"))
    if max_iterations < 1:
        raise ValueError(explain("max_iterations", max_iterations, "1 or more", "allow a round"))
    X = X if X.dtype.kind == "f" else X.astype(np.float64)
    if X.ndim != 2 or not 0 < k <= len(X) or not X.shape[1]:
        expected = "points as rows of one number or more, and as many groups as points at most"
        raise ValueError(explain("kmeans", f"shape {X.shape}, k={k}", expected, "check both"))
    centers = _begin(X, k, init, seed)
    spread = float(X.var(axis=0).mean())
    if not np.isfinite(spread + float(centers.sum())):
        raise ValueError(explain("points", "NaN or infinity", "finite numbers", "leave them out"))
    enough = tolerance * spread
    labels: Any = None
    for iterations in range(1, max_iterations + 1):  # noqa: B007 - it is returned
        distances = distances_to(X, centers)
        before, labels = labels, distances.argmin(axis=1)
        moved = _means(X, labels, distances, k)
        shift = float(((moved - centers) ** 2).sum())
        centers = moved
        if shift <= enough or (before is not None and not (before != labels).any()):
            break
    distances = distances_to(X, centers)
    return Groups(centers, distances.argmin(axis=1), float(distances.min(axis=1).sum()), iterations)


def distances_to(X: Any, centers: Any) -> Any:
    """Return the squared distances of points to centers."""
    return ((X[:, None] - centers) ** 2).sum(axis=-1)


def _means(X: Any, labels: Any, distances: Any, k: int) -> Any:
    """Return the means of the groups."""
    sums = dnb.stack([dnb.where((labels == g)[:, None], X, 0).sum(axis=0) for g in range(k)])
    counts = dnb.bincount(labels, minlength=k).to_numpy()
    means = sums / np.maximum(counts, 1)[:, None].astype(X.dtype)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        nearest = distances.min(axis=1)
        for g in empty.tolist():
            far = int(nearest.argmax())
            means[g], nearest[far] = X[far], 0
    return means


def _begin(X: Any, k: int, init: Any, seed: int) -> Any:
    """Return the first centers."""
    if not isinstance(init, str):
        centers = dnb.asarray(init, dtype=X.dtype, session=X.session)
        if centers.shape != (k, X.shape[1]):
            raise ValueError(
                explain("init", f"shape {centers.shape}", f"{(k, X.shape[1])}", "a row each")
            )
        return centers.copy()
    rng = np.random.default_rng(seed)
    if init == "random":
        return X[np.sort(rng.choice(len(X), k, replace=False))]
    if init != "k-means++":
        raise ValueError(
            explain("init", quoted(init), "'k-means++', 'random' or an array", "choose")
        )
    chosen = [int(rng.integers(len(X)))]
    nearest = distances_to(X, X[chosen])[:, 0]
    while len(chosen) < k:
        sums = dnb.cumsum(nearest)
        at = int(dnb.searchsorted(sums, rng.random() * float(sums[-1]), side="right"))
        chosen.append(min(at, len(X) - 1))
        nearest = dnb.minimum(nearest, distances_to(X, X[chosen[-1:]])[:, 0])
    return X[chosen]
