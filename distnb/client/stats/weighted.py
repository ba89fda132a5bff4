"""Quantiles of weighted elements: sorted with their weights, whose sums tell where they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array
from distnb.client.math.scans import cumsum
from distnb.client.record.creation import asarray, empty
from distnb.client.record.operations import elementwise
from distnb.client.record.reducing import reduce
from distnb.client.select.ordering import argsort
from distnb.client.select.taking import take_along_axis
from distnb.client.shape.reshaping import reshape
from distnb.client.stats.statistics import beside
from distnb.geometry.layout import Ints

__all__ = ["weighted"]


def weighted(
    x: Array, q: np.ndarray, weights: ArrayLike, axis: Axes, axes: Ints, skip: bool
) -> Array:
    """Return the elements at which the share of weights reaches each of ``q``: [q, *kept].

    ``skip``: whether NaN are left out. Whether weights are negative, or add up to nothing, is read.
    """
    heavy = beside(asarray(weights, session=x.session), x, axis, axes)
    if bool(reduce("any", elementwise("less", heavy, 0))):
        raise ValueError("Weights must be non-negative.")
    flat, heavy = _flattened(x, axes), _flattened(heavy, axes)
    order = argsort(flat, 0)
    flat = take_along_axis(flat, order, 0)
    heavy = take_along_axis(heavy, order, 0)
    nan = elementwise("isnan", flat)
    if skip:
        heavy = elementwise("where", nan, 0, heavy)
    shares = cumsum(heavy, 0, dtype=np.float64)
    total = shares[-1:]
    shares = shares / total
    # of a slice without a number there is nothing to weigh
    bare = elementwise("isnan", shares[-1, ...])
    bare = bare & ~elementwise("logical_and", nan, True).all(axis=0) if skip else bare
    if bool(reduce("any", bare)):
        raise ValueError("Weights included NaN, inf or were all zero.")
    if q.dtype.kind == "f":
        shares = shares.astype(q.dtype, copy=False)
    shares = elementwise("where", elementwise("equal", shares, 0), -1, shares)
    found = take_along_axis(flat, _places(shares, q), 0)
    if x.dtype.kind != "f":
        return found
    bad = elementwise("equal", total, 0) if skip else nan[-1:]
    return elementwise("where", bad, x.dtype.type(np.nan), found)


def _flattened(x: Array, axes: Ints) -> Array:
    """Return an array with all axes that are reduced as its first one."""
    kept = [d for d in range(x.ndim) if d not in axes]
    n = int(np.prod([x.shape[d] for d in axes], dtype=int))
    return reshape(x.transpose([*axes, *kept]), (n, *(x.shape[d] for d in kept)))


def _places(shares: Array, q: np.ndarray) -> Array:
    """Return how many shares are below each of ``q``."""
    made = empty((len(q), *shares.shape[1:]), np.intp, session=shares.session)
    for i, share in enumerate(q):
        below = reduce("sum", elementwise("less", shares, share), 0, np.dtype(np.intp))
        made[i] = elementwise("minimum", below, shares.shape[0] - 1)
    return made
