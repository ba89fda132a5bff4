"""Histograms: every engine counts its part in bins that all know, and the counts are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.batching.call_sites import user_place
from distnb.client.batching.error_states import warn_at
from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import (
    array_of,
    as_dist,
    copied,
    from_host,
    in_layout,
    record_local,
)
from distnb.client.handle.fields import fresh
from distnb.client.handle.host_arrays import watched
from distnb.client.handle.scalars import numbers_in
from distnb.client.math.reductions import mean, std
from distnb.client.reach.admission import brought, is_mine
from distnb.client.reach.rehearsal import part, promise
from distnb.client.record.creation import asarray, empty, zeros
from distnb.client.record.eager import at_once, session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.placement import stay
from distnb.client.record.reducing import reduce
from distnb.client.select.taking import extract
from distnb.client.session.session import Session
from distnb.client.stats.quantiles import percentile
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import Layout, default_layout, replicated

__all__: list[str] = []

#: The outer edges; None are the extremes.
Range: TypeAlias = tuple[float, float] | None
#: The bins of several dimensions: how many, or for each dimension how many or their edges.
Bins: TypeAlias = int | Sequence[Any] | np.ndarray | Array
#: Rules for the number of bins.
_ESTIMATORS = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")


def _whole(x: Array) -> Array:
    """Return ``x`` as all of a base, where it lies."""
    return x if x.dview.is_whole(x.dbase.shape) else copied(x, x.dtype, stay(x, x.dtype))


def _counted(
    op: str, x: Array, edges: Sequence[Any], weights: Array | None, dtype: np.dtype
) -> Array:
    """Return the sum of what each engine makes of its part and of the edges, known to all."""
    session = x.session
    everywhere = [from_host(session, e, replicated(1, session.size)) for e in edges]
    layout = x.dbase.layout
    split = [d for d in range(x.ndim) if layout.parts(d) > 1]
    bins = tuple(e.shape[0] - 1 for e in edges)
    shape = (*(layout.parts(d) for d in split), *bins)
    kinds = (Block(),) * len(split) + (Whole(),) * len(bins)
    where = Layout(layout.grid, kinds, (*(layout.dims[d] for d in split), *(-1,) * len(bins)))
    out = create(session, shape, dtype, where, ("fill", 0))
    ins = [x, *everywhere] + ([] if weights is None else [in_layout(weights, layout)])
    record_local(op, out, ins)
    return reduce("sum", out, tuple(range(len(split))), dtype) if split else out


def _count_like(x: Array, bins: int) -> Array:
    """Return what lies as the counts of an array."""
    x = _whole(as_dist(x, x.session))
    return _counted("histogram", x, [np.zeros(bins + 1)], None, np.dtype(np.intp))


def _counts_like(x: Array, *bins: int) -> Array:
    """Return what lies as the counts of points."""
    return histogramdd(x, [np.arange(n + 1) for n in bins])[0]


def _in_reach(x: Array) -> Any:
    """Return NumPy's array of one that is small enough; None if engines are to count.

    They are waited for, as where they count: at the latest the extremes are read.
    """
    mine = x.near is not None and is_mine(x.session, x.nbytes)
    return x.near if x.size and (mine or brought(x)) else None


def _extent(x: Array, given: Range) -> tuple[float, float]:
    """Return the outer edges: those that are asked for, or the extremes, which are read."""
    if given is None and x.size:
        given = reduce("min", x), reduce("max", x)
        if any(isinstance(end, Array) for end in given):  # read at once
            ends = empty(2, x.dtype, dist="replicated", session=x.session)
            ends[0], ends[1] = given
            given = tuple(ends.to_numpy())
        if not np.isfinite(given).all():
            raise ValueError(f"autodetected range of [{given[0]}, {given[1]}] is not finite")
    return given if given is not None else (0, 1)


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return outer edges that are not the same."""
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _edges(x: Array, bins: ArrayLike | str, limits: Range) -> np.ndarray:
    """Return the edges as NumPy makes them of these limits; raise what it raises."""
    return np.histogram_bin_edges(np.empty(0, x.dtype), bins, limits)


def _bins_of(
    x: Array, bins: ArrayLike | str, limits: Range, weights: ArrayLike | None
) -> tuple[np.ndarray, bool]:
    """Return the edges of bins, and whether all bins are as wide."""
    bins = _plain(bins)
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        bins = _estimated(x, bins, limits)
    even = np.ndim(bins) == 0
    if even:
        _edges(x, bins, limits or (0, 1))  # whatever the elements are
        limits = _extent(x, limits)
        limits = _widened(*limits) if x.size else limits
    return _edges(x, bins, limits), even


def _estimated(x: Array, name: str, limits: Range) -> int:
    """Return the number of bins that a rule of NumPy's asks for.

    The rules want the length, extremes, moments or quartiles, which are read.
    """
    if name not in _ESTIMATORS:
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    if not x.size:
        return 1
    if limits is not None:
        _edges(x, 1, limits)  # whatever the elements are
    low, high = _widened(*_extent(x, limits))
    if limits is not None:
        inside = (x >= low) & (x <= high)
        n = int(inside.sum())
        x = extract(inside, x) if n < x.size else x
        if not n:
            return 1
    width = _width(x, name, low, high)
    if not width:
        return 1
    if x.dtype.kind in "iu" and width < 1:
        width = 1.0
    return int(np.ceil((float(high) - float(low)) / width))


def _spread(x: Array) -> float:
    return float(reduce("max", x)) - float(reduce("min", x))


def _width(x: Array, name: str, low: float, high: float) -> float:
    """Return the width of bins by a rule of thumb, 0 if it has none."""
    n = x.size
    extent = _spread(x)
    if name == "sqrt":
        return extent / np.sqrt(n)
    if name == "sturges":
        return extent / (np.log2(n) + 1.0)
    if name == "rice":
        return extent / (2.0 * n ** (1.0 / 3))
    if name == "scott":
        return float((24.0 * np.pi**0.5 / n) ** (1.0 / 3.0) * float(std(x)))
    if name == "doane":
        return _doane(x, extent)
    if name == "stone":
        return _stone(x, low, high)
    quartiles = percentile(x, [75, 25]).to_numpy()
    spread = 2.0 * float(quartiles[0] - quartiles[1]) * n ** (-1.0 / 3.0)
    if name == "fd":
        return spread
    sturges, root = _width(x, "sturges", low, high), _width(x, "sqrt", low, high)
    if x.dtype.kind in "iu" and spread and spread < 1:
        spread = 1.0
    spread = max(spread, root / 2)
    return min(spread, sturges)


def _doane(x: Array, extent: float) -> float:
    n = x.size
    sigma = float(std(x))
    if n <= 2 or sigma <= 0.0:
        return 0.0
    error = np.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    skew = float((((x - mean(x)) / sigma) ** 3).mean())
    return extent / float(1.0 + np.log2(n) + np.log2(1.0 + np.absolute(skew) / error))


def _stone(x: Array, low: float, high: float) -> float:
    n, extent = x.size, _spread(x)
    if n <= 1 or extent == 0:
        return 0.0

    def loss(bins: int) -> float:
        width = extent / bins
        share = histogram(x, bins, (low, high))[0].to_numpy() / n
        return float((2 - (n + 1) * share.dot(share)) / width)

    most = max(100, int(np.sqrt(n)))
    best = min(range(1, most + 1), key=loss)
    return extent / best


def here(range: Range) -> Range:
    """Return limits in the notebook: two numbers, which may have been an array."""
    return tuple(np.asarray(range)) if isinstance(range, Array | np.ndarray) else numbers_in(range)


def _numbers(x: Array) -> Array:
    """Return what is sorted into bins: of truth values numbers, of which NumPy warns."""
    if x.dtype != bool:
        return x
    text = f"Converting input from {x.dtype} to {np.uint8} for compatibility."
    warn_at(user_place(), text, RuntimeWarning)
    return x.astype(np.uint8)


@stands_for(np.histogram, small="home")
def histogram(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Range = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Count elements in bins, or add up their weights.

    Every engine counts its part, and the counts are added up as in a reduction: each engine gets
    them. If no ``range`` is given, the extremes are read first: this waits.

    Parameters
    ----------
    a : array_like
        The elements, of any shape.
    bins : int, array_like or str
        How many bins of one width; their edges, in ascending order; or a rule of NumPy's for how
        many, for which engines find what it needs.
    range : (float, float), optional
        The outer edges; by default the extremes.
    density : bool, optional
        Whether to return shares over widths: their integral is 1.
    weights : array_like, optional
        What each element counts, of the same shape.

    Returns
    -------
    counts : DistArray
        int64, or of the dtype of the weights.
    edges : DistArray
        One more than bins.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     counts, edges = dnb.histogram(dnb.array([1, 2, 1, 4]), bins=[0, 1, 2, 5])
    ...     counts.to_numpy()
    array([0, 2, 2])
    """
    session = session_of(a, bins, weights)
    x = _numbers(asarray(a, session=session))
    range = here(range)
    found = at_once(np.histogram, x, bins, range, density, weights)
    if found is not None:
        return found
    heavy = None if weights is None else asarray(weights, session=session)
    if heavy is not None and heavy.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    counts: Any
    near = None if weights is not None or isinstance(bins, str) else _in_reach(x)
    if near is not None:
        counts, ends = watched("histogram", np.histogram, near, _plain(bins), range, density)
        likewise = promise(session, _count_like, (part(x), counts.size), {}, counts.shape, 0)
        return fresh(session, counts, likewise), array_of(session, ends)
    edges, even = _bins_of(x, bins, range, weights)
    dtype = np.dtype(np.intp) if heavy is None else heavy.dtype
    x = _whole(as_dist(x, session))
    if heavy is not None:
        heavy = as_dist(heavy, session)
    op = "histogram" if even else "histogram.edges"
    none = not len(edges)  # which are no bins, not one less
    counts = zeros(0, dtype, session=session) if none else _counted(op, x, [edges], heavy, dtype)
    if density:
        widths = np.array(np.diff(edges), float)
        counts = counts / widths / counts.sum()
    return counts, array_of(session, edges)


@stands_for(np.histogram_bin_edges, small="home")
def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Range = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the edges of the bins that :func:`histogram` takes.

    If the extremes, or what a rule needs, are to be known, engines find them and they are read:
    then this waits. Nothing else is sent.

    Parameters
    ----------
    a : array_like
        The elements, of any shape.
    bins : int, array_like or str
        How many bins of one width; their edges; or a rule of NumPy's for how many.
    range : (float, float), optional
        The outer edges; by default the extremes.
    weights : array_like, optional
        Changes nothing, but that there is no rule then.

    Returns
    -------
    DistArray
        One more than bins.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.histogram_bin_edges(dnb.arange(9, dist="block"), bins=4).to_numpy()
    array([0., 2., 4., 6., 8.])
    """
    x = _numbers(asarray(a))
    range = here(range)
    found = at_once(np.histogram_bin_edges, x, bins, range, weights)
    if found is not None:
        return found
    return array_of(x.session, _bins_of(x, bins, range, weights)[0])


@stands_for(np.histogramdd, small="home")
def histogramdd(
    sample: Array | np.ndarray | Sequence[ArrayLike],
    bins: Bins = 10,
    range: Sequence[Range] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Array, list[Array]]:
    """Count points in bins of several dimensions.

    Points are brought into blocks of rows. Every engine counts its own, and the counts are added up
    as in a reduction: each engine gets them. Extremes that are not given as ``range`` are read
    first: then this waits.

    Parameters
    ----------
    sample : array_like
        A point in each row; or a sequence of the coordinates.
    bins : int or sequence
        How many bins along all axes; or for each how many, or their edges.
    range : sequence of (float, float), optional
        The outer edges along each axis; by default, or for None, the extremes.
    density : bool, optional
        Whether to return shares over volumes: their integral is 1.
    weights : array_like, optional
        What each point counts.

    Returns
    -------
    counts : DistArray
        float64, an axis for each dimension.
    edges : list of DistArray
        Along each, one more than bins.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     points = dnb.array([[0, 0], [1, 1], [1, 0]], dist="block")
    ...     counts, edges = dnb.histogramdd(points, bins=2)
    ...     counts.to_numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    session = session_of(weights, *(sample if isinstance(sample, list | tuple) else (sample,)))
    x = _points(sample, session)
    counts: Any
    edges = _all_edges(x, bins, range)
    near = None if weights is not None else _in_reach(x)
    if near is not None:
        counts, ends = watched("histogramdd", np.histogramdd, near, edges, None, density)
        likewise = promise(session, _counts_like, (part(x), *counts.shape), {}, counts.shape, 0)
        return fresh(session, counts, likewise), [array_of(session, e) for e in ends]
    heavy = None if weights is None else as_dist(asarray(weights, session=session), session)
    by_row = default_layout((max(2, x.shape[0] * 2), 1), session.size)
    x = in_layout(as_dist(x, session), by_row)
    if heavy is not None:
        row = Layout(by_row.grid, by_row.axes[:1], by_row.dims[:1])
        heavy = in_layout(in_layout(heavy, row)[:, None], by_row)
    counts = _counted("histogramdd", x, edges, heavy, np.dtype(float))
    if density:
        total = counts.sum()
        for i, e in enumerate(edges):
            widths = np.diff(e).reshape([-1 if d == i else 1 for d in np.arange(len(edges))])
            counts = counts / widths
        counts = counts / total
    return counts, [array_of(session, np.array(e)) for e in edges]


def _points(sample: Array | np.ndarray | Sequence[ArrayLike], session: Session) -> Array:
    """Return points as rows."""
    if isinstance(sample, Array | np.ndarray) and sample.ndim == 2:
        return asarray(sample, session=session)
    columns = [asarray(c, session=session) for c in sample]
    if not isinstance(sample, list | tuple) or columns[0].ndim == 0:
        columns = [asarray(cast(ArrayLike, sample), session=session)]
    kind = np.result_type(*(c.dtype for c in columns))
    made = empty((columns[0].shape[0], len(columns)), kind, session=session)
    for i, column in enumerate(columns):
        made[:, i] = column
    return made


def _plain(bins: Any) -> Any:
    return bins.__array__() if isinstance(bins, Array) else bins


def _all_edges(x: Array, bins: Bins, limits: Sequence[Range] | None) -> list[np.ndarray]:
    """Return the edges along each dimension; raise what NumPy raises."""
    n = x.shape[1]
    bins, limits = numbers_in(bins), numbers_in(limits)
    each = [bins] * n if not hasattr(bins, "__len__") else _plain(bins)
    known = [_plain(b) for b in each]
    asked: list[Range] = [None] * n if limits is None else list(limits)
    few = np.empty((0, n), x.dtype)
    np.histogramdd(few, known, None if limits is None else asked)  # type: ignore[arg-type]
    for i in np.flatnonzero([np.ndim(b) == 0 for b in known]):
        d = int(i)
        asked[d] = _extent(x[:, d], asked[d])
    return [np.asarray(e) for e in np.histogramdd(few, known, asked)[1]]  # type: ignore[arg-type]


@stands_for(np.histogram2d, small="home")
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Bins = 10,
    range: Sequence[Range] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """Count points in the plane, as :func:`histogramdd`, whose layout and messages it has.

    Parameters
    ----------
    x, y : array_like
        The coordinates, of one axis.
    bins : int or sequence
        How many bins along both axes, or their edges; or a pair, for each axis.
    range : sequence of (float, float), optional
        The outer edges along each axis; by default, or for None, the extremes.
    density : bool, optional
        Whether to return shares over areas: their integral is 1.
    weights : array_like, optional
        What each point counts.

    Returns
    -------
    counts : DistArray
        float64, of two axes, the first for ``x``.
    xedges, yedges : DistArray
        Along each, one more than bins.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.array([0, 1, 1], dist="block")
    ...     counts, _, _ = dnb.histogram2d(x, [0, 1, 0], bins=2)
    ...     counts.to_numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    points = [v if isinstance(v, Array) else np.asarray(v) for v in (x, y)]
    if len(points[0]) != len(points[1]):
        raise ValueError("x and y must have the same length.")
    each: Any = numbers_in(bins)
    if hasattr(each, "__len__") and len(each) != 2:
        each = [each[0]] * 2 if len(each) == 1 else [each, each]
    found, edges = histogramdd(points, each, range, density, weights)
    return found, edges[0], edges[1]
