"""Random numbers that come together: orders, choices, counts of categories, vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import lengths, one_axis
from distnb.client.linalg.products import matmul
from distnb.client.math.scans import cumsum
from distnb.client.record.creation import asarray, empty, full
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange
from distnb.client.select.ordering import argsort
from distnb.client.select.searching import searchsorted
from distnb.client.select.sorting import sort
from distnb.client.select.taking import take_along_axis
from distnb.client.session.session import Session
from distnb.client.shape.reshaping import reshape
from distnb.client.stats.drawing import Size, Source
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["Shuffler"]


class Shuffler(Source):
    """Draws what depends on several elements: composed of independent numbers and operations."""

    def permutation(
        self, x: ArrayLike, axis: int = 0, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Return the numbers below ``x`` in random order, or an array's slices along an axis.

        The order is that of random keys of 64 bits. Keys are sorted, elements sent where they
        belong.
        """
        if isinstance(x, int | np.integer):
            return self._order(
                max(operator.index(x), 0), dist, grid
            )  # as NumPy, whose arange is empty
        a = x if isinstance(x, Array) else asarray(x, dist=dist, grid=grid)
        d = one_axis(axis, a.ndim)
        return _take(a, self._order(a.shape[d], None, None, a), d)

    def shuffle(self, x: Array | np.ndarray | list[Any], axis: int = 0) -> None:
        """Bring an array's slices along an axis, or a list, into random order, in place."""
        if isinstance(x, Array):
            x[...] = self.permutation(x, axis)
        elif isinstance(x, np.ndarray):
            order = self._order(x.shape[one_axis(axis, x.ndim)], None, None)
            x[...] = x.take(order.to_numpy(), axis)
        elif isinstance(x, list):
            x[:] = [x[i] for i in self._order(len(x), None, None).to_numpy()]
        else:
            raise TypeError(
                explain("array", type(x).__name__, "an array or a list", "use permutation()")
            )

    def permuted(self, x: ArrayLike, *, axis: int | None = None, out: Array | None = None) -> Array:
        """Bring each 1-D slice along an axis into an order of its own; without, all elements."""
        a = x if isinstance(x, Array) else asarray(x)
        if axis is None:
            found = reshape(self.permutation(reshape(a, (-1,))), a.shape)
        else:
            keys = self._draw("integers", (0, 2**64), a.shape, np.uint64, *_beside(a))
            order = argsort(keys, axis=one_axis(axis, a.ndim))
            found = take_along_axis(a, order, one_axis(axis, a.ndim))
        if out is None:
            return found
        out[...] = found
        return out

    def choice(
        self,
        a: ArrayLike,
        size: Size = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Choose among the numbers below ``a``, or among an array's slices along an axis.

        With ``p``, each is chosen with its probability: by looking up uniform numbers in the sums
        of ``p``, or, without replacement, by the order of exponential numbers over ``p``
        (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
        """
        given, d = None, 0
        if isinstance(a, int | np.integer) or (isinstance(a, Array | np.ndarray) and not a.ndim):
            n = operator.index(a)
        else:
            given = asarray(a)
            d = one_axis(axis, given.ndim)
            n = given.shape[d]
        shape = () if size is None else lengths(size)
        _check_choice(n, int(np.prod(shape)), replace, p)
        if replace:
            chosen = self._with_replacement(n, shape, p, dist, grid)
        else:
            chosen = self._without_replacement(n, shape, p, dist, grid)
        return chosen if given is None else _take(given, chosen, d)

    def _with_replacement(
        self, n: int, shape: Ints, p: ArrayLike | None, dist: Dist, grid: Grid
    ) -> Array:
        if p is None:
            return self._draw("integers", (0, n), shape, np.int64, dist, grid)
        u = self._draw("uniform", (0.0, 1.0), shape, np.float64, dist, grid)
        sums = _sums(p, u.session)
        found = searchsorted(sums, u * sums[-1], side="right")
        return elementwise("minimum", found, n - 1)

    def _without_replacement(
        self, n: int, shape: Ints, p: ArrayLike | None, dist: Dist, grid: Grid
    ) -> Array:
        if p is None:
            order = self._order(n, dist, grid)
        else:
            times = self._draw("exponential", (1.0,), n, np.float64, dist, grid)
            chances = elementwise("maximum", asarray(p, session=times.session), 1e-300)
            order = argsort(times / chances)
        first = order[: int(np.prod(shape))]
        if len(shape) == 1:
            return first.copy()
        return reshape(first, shape)

    def _order(self, n: int, dist: Dist, grid: Grid, like: Array | None = None) -> Array:
        """Return the numbers below n in random order: sorted keys that end in the number.

        The keys differ in as many bits as the numbers leave, which is 34 for 2**30 of them; where
        they are equal in these, the smaller number comes first.
        """
        if n < 0:
            raise ValueError(explain("length", n, "a number >= 0", "check the arithmetic"))
        if like is not None:
            dist, grid = (None, None) if like.here is not None else ("block", None)
        keys = self._draw("integers", (0, 2**64), n, np.uint64, dist, grid)
        bits = max(1, int(n - 1).bit_length())
        mask = (1 << bits) - 1
        number = arange(n, dtype=np.uint64, dist=keys, session=keys.session)
        ordered = sort((keys & np.uint64(2**64 - 1 - mask)) | number)
        return (ordered & np.uint64(mask)).astype(np.int64)

    # -- counts and vectors --------------------------------------------------------------------

    def multinomial(
        self,
        n: ArrayLike,
        pvals: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw how often each category occurs in ``n`` trials: binomial numbers of those left."""
        chances = np.asarray(pvals, np.float64)
        if not isinstance(n, Array):
            np.random.default_rng(0).multinomial(np.min(n), chances, **_no_size(chances))
        rest = np.cumsum(chances[..., ::-1], -1)[..., ::-1]
        share = np.divide(chances, rest, out=np.zeros_like(chances), where=rest > 0)
        share = np.minimum(share, 1.0)

        def draw(j: int, left: ArrayLike) -> Array:
            return self._sample("binomial", (left, share[..., j]), None, dist, grid, np.int64)

        return self._counts(n, chances.shape, size, draw, dist, grid)

    def multivariate_hypergeometric(
        self,
        colors: ArrayLike,
        nsample: int,
        size: Size = None,
        method: str = "marginals",
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw how many of each color are in a sample without replacement."""
        numbers = np.asarray(colors)
        numpys: Any = np.random.default_rng(0)
        numpys.multivariate_hypergeometric(numbers, nsample, 0, method)  # raises what NumPy raises
        rest = np.cumsum(numbers[::-1])[::-1] - numbers

        def draw(j: int, left: ArrayLike) -> Array:
            args = numbers[j], rest[j], left
            return self._sample("hypergeometric", args, None, dist, grid, np.int64, np.int64)

        return self._counts(nsample, numbers.shape, size, draw, dist, grid)

    def _counts(
        self,
        n: ArrayLike,
        shape: Ints,
        size: Size,
        draw: Callable[[int, ArrayLike], Array],
        dist: Dist,
        grid: Grid,
    ) -> Array:
        """Draw category by category; what is left is of the last one."""
        outer = n.shape if isinstance(n, Array) else np.shape(n)
        outer = np.broadcast_shapes(outer, shape[:-1]) if size is None else lengths(size)
        session = n.session if isinstance(n, Array) else self._session
        found = empty((*outer, shape[-1]), np.int64, dist=dist, grid=grid, session=session)
        left = full(outer, n, np.int64, session=found.session) if not isinstance(n, Array) else n
        for j in range(shape[-1] - 1):
            drawn = draw(j, left)
            found[..., j] = drawn
            left = left - drawn
        if shape[-1]:
            found[..., -1] = left
        return found

    def dirichlet(
        self, alpha: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Draw vectors of positive numbers with sum 1: gamma numbers over their sum."""
        weights = np.asarray(alpha, np.float64)
        np.random.default_rng(0).dirichlet(weights, 0)  # raises what NumPy raises
        shape = (*(() if size is None else lengths(size)), len(weights))
        logs = self._sample("log_gamma", (weights,), shape, dist, grid)
        parts = elementwise("exp", logs - logs.max(axis=-1, keepdims=True))
        return parts / parts.sum(axis=-1, keepdims=True)

    def multivariate_normal(
        self,
        mean: ArrayLike,
        cov: ArrayLike,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        dist: Dist = None,
        grid: Grid = None,
    ) -> Array:
        """Draw normal vectors: standard ones times a root of the covariance (of the notebook)."""
        center, spread = np.asarray(mean, np.float64), np.asarray(cov, np.float64)
        numpys: Any = np.random.default_rng(0)
        numpys.multivariate_normal(center, spread, 0, check_valid, tol, method=method)
        shape = (*(() if size is None else lengths(size)), len(center))
        numbers = self._draw("normal", (0.0, 1.0), shape, np.float64, dist, grid)
        return matmul(numbers, _root(spread, method)) + center


def _root(cov: np.ndarray, method: str) -> np.ndarray:
    """Return a matrix whose product with itself, transposed from the left, is the covariance."""
    if method == "cholesky":
        return np.ascontiguousarray(np.linalg.cholesky(cov).T)
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        return np.ascontiguousarray((vectors * np.sqrt(np.abs(values))).T)
    u, s, _ = np.linalg.svd(cov)
    return np.ascontiguousarray((u * np.sqrt(s)).T)


def _no_size(chances: np.ndarray) -> dict[str, Any]:
    return {"size": (0, *chances.shape[:-1])}


def _beside(a: Array) -> tuple[Any, Any]:
    """Return ``dist`` and ``grid`` of a new array that is to lie as ``a``."""
    return (None if a.here is not None else a), None


def _sums(p: ArrayLike, session: Session) -> Array:
    """Return the sums of probabilities; of those in the notebook they never depend on engines."""
    if isinstance(p, Array) and p.here is None:
        return cumsum(p)
    return asarray(np.cumsum(np.asarray(p, np.float64)), session=session)


def _take(a: Array, index: Array | slice, axis: int) -> Array:
    return a[(*[slice(None)] * axis, index)]


def _check_choice(n: int, number: int, replace: bool, p: ArrayLike | None) -> None:
    """Raise what NumPy raises; the elements of ``p`` are read."""
    if n <= 0 and number:
        raise ValueError("a must be a positive integer unless no samples are taken")
    if p is not None:
        shape = p.shape if isinstance(p, Array) else np.shape(p)
        if shape != (n,):
            raise ValueError("a and p must have same size")
        chances = p if isinstance(p, Array) else np.asarray(p, np.float64)
        if not float(chances.min()) >= 0:
            raise ValueError("Probabilities are not non-negative")
        if not abs(float(chances.sum()) - 1) < 1e-8**0.5:
            raise ValueError("Probabilities do not sum to 1")
        if not replace and int((chances > 0).sum()) < number:
            raise ValueError("Fewer non-zero entries in p than size")
    if not replace and number > n:
        raise ValueError("Cannot take a larger sample than population when replace is False")
