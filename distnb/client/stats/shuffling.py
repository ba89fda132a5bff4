"""Random numbers that come together: orders, choices, counts of categories, vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Dist, Grid
from distnb.client.handle.array import Array, hosted
from distnb.client.handle.indexing import lengths, one_axis
from distnb.client.handle.scalars import numbers_in
from distnb.client.linalg.products import matmul
from distnb.client.math.scans import cumsum
from distnb.client.reach.whole_functions import step, written_in_reach
from distnb.client.record.creation import asarray, empty, full
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange
from distnb.client.select.ordering import argsort
from distnb.client.select.searching import searchsorted
from distnb.client.select.sorting import sort
from distnb.client.select.taking import take_along_axis
from distnb.client.session.session import Session
from distnb.client.shape.reshaping import reshape
from distnb.client.stats.drawing import Size, Source, check_cast, number
from distnb.common.errors import NotNumericError, explain
from distnb.geometry.layout import Ints
from distnb.ops import philox

__all__ = ["Shuffler"]

_FLOATS, _INTEGERS, _KEYS = map(np.dtype, (np.float64, np.int64, np.uint64))
#: Of so many numbers at least one is chosen, and so many at most, where few are chosen.
_RARE, _FEW = 8, 1 << 20


class Shuffler(Source):
    """Draws what depends on several elements: composed of independent numbers and operations."""

    def permutation(
        self, x: ArrayLike, axis: int = 0, *, dist: Dist = None, grid: Grid = None
    ) -> Array:
        """Return the numbers below ``x`` in random order, or an array's slices along an axis.

        The order is that of random keys of 64 bits. Keys are sorted, as by :func:`distnb.sort`, and
        slices sent where they belong; the result lies as the keys: in the default layout, or in
        blocks.

        Parameters
        ----------
        x : int or array_like
            How many numbers; or an array, which is not changed.
        axis : int
            Along which axis slices are.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            The numbers, or a copy of the array; NumPy's array of text, times or objects.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     rng.permutation(dnb.arange(6, dist="block")).to_numpy()
        array([3, 5, 2, 0, 1, 4])
        """
        n = numbers_in(x) if isinstance(x, Array) and x.single else x
        if isinstance(n, int | np.integer):  # of less than 0 there are none, as NumPy has it
            return self._order(max(operator.index(n), 0), dist, grid)
        a = _elements(x, dist, grid)
        d = one_axis(axis, a.ndim)
        return _in_order(a, self._index(a.shape[d]), d)

    def shuffle(self, x: Array | np.ndarray | list[Any], axis: int = 0) -> None:
        """Bring an array's slices along an axis, or a list, into random order, in place.

        What is sent is what :meth:`permutation` sends, and what goes back to where the array lies.

        Parameters
        ----------
        x : DistArray, ndarray or list
            What is changed.
        axis : int
            Along which axis slices are.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.arange(6, dist="block")
        ...     dnb.random.default_rng(1).shuffle(x)
        ...     x.to_numpy()
        array([3, 5, 2, 0, 1, 4])
        """
        if isinstance(x, Array):
            d = one_axis(axis, x.ndim)
            index = self._index(x.shape[d])
            if not written_in_reach("shuffle", _reorder, "exact", x, index, d):
                x[...] = _in_order(x, index, d)
        elif isinstance(x, np.ndarray):
            d = one_axis(axis, x.ndim)
            _reorder(x, np.asarray(self._index(x.shape[d])), d)
        elif isinstance(x, list):
            if axis:
                raise NotImplementedError("Axis argument is only supported on ndarray objects")
            x[:] = [x[i] for i in np.asarray(self._index(len(x)))]
        else:
            raise TypeError(
                explain("array", type(x).__name__, "an array or a list", "use permutation()")
            )

    def permuted(self, x: ArrayLike, *, axis: int | None = None, out: Array | None = None) -> Array:
        """Bring each 1-D slice along an axis into an order of its own; without, all elements.

        Random keys are sorted with their positions, and elements sent where they belong: nothing if
        the axis is not split.

        Parameters
        ----------
        x : array_like
            The elements.
        axis : int, optional
            Along which axis; by default all elements change places.
        out : DistArray, optional
            Where the result is put.

        Returns
        -------
        DistArray
            Of the same shape.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     x = dnb.array([[0, 1, 2], [3, 4, 5]], dist="block")
        ...     dnb.random.default_rng(1).permuted(x, axis=1).to_numpy()
        array([[2, 0, 1],
               [3, 5, 4]])
        """
        a = _elements(x)
        if not a.ndim:
            raise TypeError(explain("x", "a number", "an array", "use permutation()"))
        if out is not None:
            if out.shape != a.shape:
                raise ValueError("out must have the same shape as x")
            check_cast(a.dtype, out.dtype)
        if axis is None:
            found = self.permutation(a.reshape(-1)).reshape(a.shape)
        else:
            keys = self._draw("integers", (0, 2**64), a.shape, np.uint64, *_beside(a))
            order = argsort(keys, axis=one_axis(axis, a.ndim))
            found = _take_along(a, order, one_axis(axis, a.ndim))
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

        Each engine draws for what it holds. Sent are slices to where they are chosen; with ``p``
        its sums, or its part of them, as by :func:`distnb.searchsorted`, and whether ``p`` is right
        is read: this waits. Without replacement a whole order is drawn, as by :meth:`permutation`;
        a few of many are numbers of which those that were there before are left out.

        Parameters
        ----------
        a : int or array_like
            How many numbers; or an array.
        size : int or tuple of int, optional
            The shape; by default one is chosen.
        replace : bool
            Whether one may be chosen again.
        p : array_like, optional
            Probabilities, with sum 1; by default all are the same.
        axis : int
            Along which axis slices are.
        shuffle : bool
            Changes nothing: the order is random.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            int64, or slices of the array; NumPy's array of text, times or objects.

        References
        ----------
        P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir", Inf. Process. Lett.
        97, 2006: with ``p`` and without replacement.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     rng.choice(10, 4, replace=False, dist="block").to_numpy()
        array([3, 5, 2, 9])
        """
        given, d = None, 0
        if isinstance(a, int | np.integer) or (isinstance(a, Array | np.ndarray) and not a.ndim):
            n = operator.index(a)
        else:
            given = _elements(a)
            d = one_axis(axis, given.ndim)
            n = given.shape[d]
        shape = () if size is None else lengths(size)
        _check_choice(n, prod(shape), replace, p)
        if replace:
            ours = isinstance(given, Array)
            line = given is None or (ours and given.ndim == 1 and given.at_home)
            single = size is None and line and _near(p)
            chosen = self._with_replacement(n, None if single else shape, p, dist, grid)
            if single and not isinstance(chosen, Array):
                first: Any = int(chosen)
                return first if given is None else given[first]
        else:
            chosen = self._without_replacement(n, shape, p, dist, grid)
        found: Any = chosen if given is None else _take(given, chosen, d)
        if isinstance(given, np.ndarray):
            return found if size is not None else found[()]
        return found if size is not None else number(found, given is None)

    def _with_replacement(
        self, n: int, shape: Ints | None, p: ArrayLike | None, dist: Dist, grid: Grid
    ) -> Any:
        if p is None:
            return self._draw("integers", (0, n), shape, _INTEGERS, dist, grid)
        u: Any = self._draw("uniform", (0.0, 1.0), shape, _FLOATS, dist, grid)
        if _near(p):
            sums = np.cumsum(np.asarray(p, np.float64))
            if not isinstance(u, Array):
                return min(np.searchsorted(sums, u * sums[-1], side="right"), n - 1)
            if u.here is not None:  # the same, without an array for each step
                near = np.searchsorted(sums, u.here * sums[-1], side="right")
                return hosted(u.session, np.asarray(np.minimum(near, n - 1)))
        along = _sums(p, u.session)
        found = searchsorted(along, u * along[-1], side="right")
        return elementwise("minimum", found, n - 1)

    def _without_replacement(
        self, n: int, shape: Ints, p: ArrayLike | None, dist: Dist, grid: Grid
    ) -> Array:
        k = prod(shape)
        if p is None and k <= min(n // _RARE, _FEW):
            few = self._few(n, k).reshape(shape)
            return asarray(few, dist=dist, grid=grid, session=self._session)
        if p is None:
            order = self._order(n, dist, grid)
        else:
            times = self._draw("exponential", (1.0,), n, np.float64, dist, grid)
            chances = elementwise("maximum", asarray(p, session=times.session), 1e-300)
            order = argsort(times / chances)
        first = order[:k]
        if len(shape) == 1:
            return first.copy()
        return reshape(first, shape)

    def _few(self, n: int, k: int) -> np.ndarray:
        """Return ``k`` numbers below ``n``, each once: those that random ones show first."""
        shown: dict[Any, None] = {}
        while len(shown) < k:
            more = np.empty(k + k // _RARE + 16, _INTEGERS)
            philox.fill_all("integers", self._seed, self._next(), (0, n), more)
            shown.update(dict.fromkeys(more.tolist()))
        return np.fromiter(shown, _INTEGERS, k)

    def _index(self, n: int) -> Array | np.ndarray:
        """Return the numbers below n in random order: NumPy's, where they are in the notebook."""
        order = self._order(n, None, None)
        return order if order.here is None else order.here

    def _order(self, n: int, dist: Dist, grid: Grid) -> Array:
        """Return the numbers below n in random order: sorted keys that end in the number.

        The keys differ in as many bits as the numbers leave, which is 34 for 2**30 of them; where
        they are equal in these, the smaller number comes first.
        """
        if n < 0:
            raise ValueError(explain("length", n, "a number >= 0", "check the arithmetic"))
        keys = self._draw("integers", (0, 2**64), n, _KEYS, dist, grid)
        bits = max(1, int(n - 1).bit_length())
        mask = (1 << bits) - 1
        if keys.here is not None:  # the same, without an array for each step
            near = keys.here
            np.bitwise_and(near, np.uint64(2**64 - 1 - mask), near)
            np.bitwise_or(near, np.arange(n, dtype=_KEYS), near)
            near.sort()
            np.bitwise_and(near, np.uint64(mask), near)
            return hosted(keys.session, near.astype(_INTEGERS))
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
        """Draw how often each category occurs in ``n`` trials: binomial numbers of those left.

        The layout is the default, or ``dist=``. Probabilities come to the notebook; sent are counts
        of one category that do not lie where the result does.

        Parameters
        ----------
        n : int or array_like
            How many trials.
        pvals : array_like
            The probabilities of categories, along the last axis.
        size : int or tuple of int, optional
            The shape without the last axis; by default that of ``n`` and ``pvals``.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            int64, a count for each category along the last axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     rng.multinomial(10, [0.5, 0.3, 0.2], size=2, dist="block").to_numpy()
        array([[4, 4, 2],
               [7, 2, 1]])
        """
        chances = np.asarray(pvals, np.float64)
        trials = n if isinstance(n, Array) else np.asarray(n)
        if trials.ndim:
            check_cast(trials.dtype, np.int64)
        there = isinstance(n, Array) or not trials.size
        least = 0 if there else trials.min()  # engines find what is wrong with theirs
        np.random.default_rng(0).multinomial(least, chances, **_no_size(chances))
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
        """Draw how many of each color are in a sample without replacement.

        The layout is the default, or ``dist=``. Numbers of colors come to the notebook; sent are
        counts of one color that do not lie where the result does.

        Parameters
        ----------
        colors : array_like
            How many there are of each.
        nsample : int
            How many are drawn.
        size : int or tuple of int, optional
            The shape without the last axis.
        method : {'marginals', 'count'}
            Changes nothing.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            int64, a count for each color along the last axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     rng.multivariate_hypergeometric([6, 4, 2], 5, size=2, dist="block").to_numpy()
        array([[2, 2, 1],
               [3, 2, 0]])
        """
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
        """Draw vectors of positive numbers with sum 1: gamma numbers over their sum.

        The layout is the default, or ``dist=``. Nothing is sent but the shapes, and partial sums if
        vectors are split.

        Parameters
        ----------
        alpha : array_like
            The shapes, positive; they come to the notebook.
        size : int or tuple of int, optional
            The shape without the last axis.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            float64, vectors along the last axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     rng.dirichlet([1.0, 2.0, 3.0], size=2, dist="block").sum(axis=1).to_numpy()
        array([1., 1.])
        """
        weights = np.asarray(alpha, np.float64)
        np.random.default_rng(0).dirichlet(weights, 0)  # raises what NumPy raises
        shape = (*(() if size is None else lengths(size)), len(weights))
        infinite = np.isinf(weights)
        if infinite.any() or not weights.any():  # where nothing is drawn: infinity over infinity
            shares = np.where(infinite, np.nan, 0.0)
            return full(shape, shares, dist=dist, grid=grid, session=self._session)
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
        """Draw normal vectors: standard ones times a root of the covariance.

        Mean and covariance come to the notebook, where the root is found. It is sent to all
        engines; layout and messages are those of :func:`distnb.matmul` of standard numbers and the
        root.

        Parameters
        ----------
        mean : array_like
            Of one axis.
        cov : array_like
            The covariance, symmetric.
        size : int or tuple of int, optional
            The shape without the last axis.
        check_valid : {'warn', 'raise', 'ignore'}
            What happens if the covariance is not positive semidefinite.
        tol : float
            How much it may be off.
        method : {'svd', 'eigh', 'cholesky'}
            How the root is found.
        dist : bool, str, tuple, DistArray or layout, optional
            How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
            ``('*', 'block')``, or as another array; see :func:`distnb.array`.
        grid : int or tuple of int, optional
            Engines along each split axis.

        Returns
        -------
        DistArray
            float64, vectors along the last axis.

        Examples
        --------
        >>> import distnb as dnb
        >>> with dnb.inprocess(2):
        ...     rng = dnb.random.default_rng(1)
        ...     x = rng.multivariate_normal([0, 9], [[1, 0.5], [0.5, 1]], size=4000, dist="block")
        ...     dnb.cov(x.T).to_numpy().round(1)
        array([[1. , 0.5],
               [0.5, 1. ]])
        """
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


def _elements(x: ArrayLike, dist: Dist = None, grid: Grid = None) -> Any:
    """Return what changes places as an array: NumPy's where engines have no such elements."""
    if isinstance(x, Array):
        return x
    try:
        return asarray(x, dist=dist, grid=grid)
    except NotNumericError:
        if dist is not None or grid is not None:
            raise
        return np.asarray(x)


def _beside(a: Array | np.ndarray) -> tuple[Any, Any]:
    """Return ``dist`` and ``grid`` of a new array that is to lie as ``a``."""
    return (None if isinstance(a, np.ndarray) or a.here is not None else a), None


def _sums(p: ArrayLike, session: Session) -> Array:
    """Return the sums of probabilities; of those in the notebook they never depend on engines."""
    if isinstance(p, Array) and p.here is None:
        return cumsum(p)
    return asarray(np.cumsum(np.asarray(p, np.float64)), session=session)


def _near(p: ArrayLike | None) -> bool:
    """Tell whether the notebook has probabilities."""
    return not isinstance(p, Array) or p.here is not None


def _take_along(a: Array | np.ndarray, index: Array, axis: int) -> Any:
    """Return the elements of each 1-D slice at places of its own."""
    if isinstance(a, np.ndarray):
        return np.take_along_axis(a, np.asarray(index), axis)
    return take_along_axis(a, index, axis)


def _reorder(a: np.ndarray, index: np.ndarray, axis: int) -> None:
    """Bring slices along an axis to other places."""
    a[...] = _take(a, index, axis)


def _in_order(a: Array | np.ndarray, index: Array | np.ndarray, axis: int) -> Any:
    """Return all slices along an axis in another order; NumPy does it in reach."""
    if isinstance(a, np.ndarray) or isinstance(index, Array):
        return _take(a, index, axis)
    found = step(_take, _in_blocks, "exact", (a, index, axis), {})
    return _in_blocks(a, index, axis) if found is None else found


def _in_blocks(a: Array, index: np.ndarray, axis: int) -> Any:
    """Return slices of an array along an axis, in blocks if they are on engines."""
    dist = "block" if a.here is None else None
    return _take(a, asarray(index, dist=dist, session=a.session), axis)


def _take(a: Array | np.ndarray, index: Array | np.ndarray, axis: int) -> Any:
    """Return slices along an axis; of NumPy's arrays the index is read, and an array comes."""
    key: list[Any] = [slice(None)] * axis
    if isinstance(a, np.ndarray):
        return a[(*key, np.asarray(index), ...)]
    return a[(*key, index)]


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
