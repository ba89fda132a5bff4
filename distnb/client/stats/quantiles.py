"""``median``, ``quantile`` and their like: elements at positions of sorted slices, interpolated.

Which positions follows from the length of the 1-D slices alone; where NaN are left out, from how
many are left, which the engines count. The elements are selected where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes, NoValue, truly
from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import array_of, as_dist, copied, in_layout, record_collective
from distnb.client.handle.host_arrays import all_here, plain, watched
from distnb.client.handle.indexing import some_axes
from distnb.client.math.reductions import mean, told
from distnb.client.record.creation import asarray, empty
from distnb.client.record.eager import delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.client.stats.weighted import weighted
from distnb.geometry.layout import Ints
from distnb.ops import table

__all__ = ["selected"]

#: Of the notebook, or distributed.
Numbers: TypeAlias = Array | np.ndarray


# -- selection ---------------------------------------------------------------------------------


def selected(x: Array, axes: Ints, at: Array | np.ndarray) -> Array:
    """Return elements by their positions in sorted 1-D slices along some axes: [position, *kept].

    ``at`` has these axes, too, or the first one only. Each engine sorts its part; what travels are
    samples, in a few rounds, and the elements that are found. But where another axis is long enough
    to be split instead, it is, so that 1-D slices are whole.
    """
    session = x.session
    wanted = table.selecting_layout(x.placed, axes, session.size)
    source = in_layout(x, wanted)
    layout = table.selected_layout(wanted, axes)
    there = as_dist(at, session)
    kept = table.reduced_shape(x.shape, axes, keepdims=False)
    wide = there[(slice(None), *[None] * (len(kept) + 1 - there.ndim))]
    shape = (at.shape[0], *kept)
    places = copied(np.broadcast_to(wide, shape), np.dtype(np.intp), layout)  # type: ignore[arg-type]
    out = create(session, shape, x.dtype, layout, ("empty",))
    record_collective("select", (out,), (source, places), (axes,))
    return out


# -- positions ---------------------------------------------------------------------------------
# As in Hyndman and Fan, "Sample quantiles in statistical packages", 1996, whose names NumPy uses.
# All work on numbers and arrays of NumPy, and on distributed ones where slices differ in length.


def _continuous(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _discrete(at: Numbers, stays: Callable[[Any, Any], Any]) -> Any:
    """Return the index below, or the one after it."""
    below = np.floor(at)
    return _index(np.maximum(np.where(stays(at - below, below), below, below + 1), 0))


def _index(at: Numbers) -> Any:
    return at.astype(np.intp)


#: Method -> index among n sorted elements, an integer one if there is nothing to interpolate.
_METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": lambda n, q: _discrete(n * q - 1, lambda gap, _: gap == 0),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": lambda n, q: _discrete(
        n * q - 1 - 0.5, lambda gap, below: (gap == 0) & (below % 2 == 1)
    ),
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _continuous(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _continuous(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: _index(np.floor((n - 1) * q)),
    "higher": lambda n, q: _index(np.ceil((n - 1) * q)),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: _index(np.round((n - 1) * q)),
}

#: Method -> weight of the next element, if that is not the fraction of the index.
_WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "averaged_inverted_cdf": lambda gap, _: np.where(gap == 0, 0.5, 1.0),
    "midpoint": lambda _, at: np.where(at % 1 == 0, 0.0, 0.5),
}


def _neighbours(at: Numbers, n: Array | int) -> tuple[Any, Any]:
    """Return the positions of the elements before and after an index."""
    last = np.maximum(n - 1, 0)
    before = np.where(at >= n - 1, last, np.where(at < 0, 0, np.floor(at)))
    after = np.where(at >= n - 1, last, np.where(at < 0, 0, np.floor(at) + 1))
    return _index(before), _index(after)


# -- quantiles ---------------------------------------------------------------------------------


def _interpolated(
    x: Array, axes: Ints, q: np.ndarray, method: str, n: Array | int, weak: bool
) -> Array:
    """Return quantiles of slices with ``n`` elements before the NaN that are left out: [q, *kept].

    ``n`` is a number, where NaN count; or an array: [*kept].
    """
    counted = isinstance(n, Array)
    if isinstance(n, Array):
        n_as_q = n.astype(q.dtype) if q.dtype.kind == "f" else n  # as a weak scalar's
        at = _METHODS[method](n_as_q, q.reshape(-1, *[1] * n.ndim))
        last = np.maximum(n - 1, 0)[None]
    else:
        at, last = _METHODS[method](n, q), np.array([n - 1])
    discrete = at.dtype.kind == "i"
    before, after = (np.clip(at, 0, last),) * 2 if discrete else _neighbours(at, n)
    found = selected(x, axes, _stacked((before, last) if discrete else (before, after, last)))
    m, end = len(q), found[-1, ...]
    result = found[:m]
    if not discrete:
        weight = _weight(method, at, before)
        if not counted:
            weight = float(weight[0]) if weak else weight.reshape(-1, *[1] * (found.ndim - 1))
        result = _between(found[:m], found[m : 2 * m], weight, weak)
    if x.dtype.kind == "f":
        result = elementwise("where", elementwise("isnan", end), end, result)
    return result


def _weight(method: str, at: Numbers, before: Numbers) -> Any:
    """Return the weight of the element after an index."""
    gap, rule = at - before, _WEIGHTS.get(method)
    return (gap if rule is None else rule(gap, at)).astype(at.dtype, copy=False)


def _stacked(parts: Sequence[Numbers]) -> Numbers:
    """Return positions one after the other, along the first axis."""
    if not any(isinstance(p, Array) for p in parts):
        return np.concatenate(parts)
    total = sum(len(p) for p in parts)
    session = next(p.session for p in parts if isinstance(p, Array))
    made, at = empty((total, *parts[0].shape[1:]), np.intp, session=session), 0
    for part in parts:
        made[at : at + len(part)] = part
        at += len(part)
    return made


def _between(a: Array, b: Array, t: Any, weak: bool) -> Array:
    """Interpolate from the nearer side, as NumPy; a ``weak`` weight has no dtype of its own."""
    step, rest, upper = b - a, 1 - t, t >= 0.5
    if weak and isinstance(t, Array) and a.dtype.kind == "f":
        t, rest = t.astype(a.dtype), rest.astype(a.dtype)
    return elementwise("where", upper, b - step * rest, a + step * t)


def _quantile(
    name: str,
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes,
    out: Array | None,
    method: str,
    keepdims: bool | NoValue,
    weights: ArrayLike | None,
    percent: bool,
    skip: bool,
) -> Array:
    """Return quantiles as NumPy's function ``name``."""
    function, x = getattr(np, name), asarray(a)
    q = q.__array__() if isinstance(q, Array) else q
    keep = truly(keepdims)
    options = {"axis": axis, "keepdims": keep}
    if not x.size or all_here((x, weights), x.session):
        options["weights"] = None if weights is None else plain(weights)
        known = x.to_numpy() if x.here is None else x.here
        found = watched(name, function, known, q, method=method, **options)
        return _put(array_of(x.session, np.asarray(found)), out, method, weights, skip)
    sample = np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)
    one = None if weights is None else np.ones(sample.shape)
    dtype = np.asarray(function(sample, q, method=method, weights=one, **options)).dtype
    axes, weak = some_axes(axis, x.ndim), type(q) in (int, float)
    share = np.true_divide(q, 100, out=...) if percent else np.asarray(q)
    if weights is not None:
        found = weighted(x, share.reshape(-1), weights, axis, axes, skip)
    else:
        n = _left(x, axes) if skip else int(np.prod([x.shape[d] for d in axes], dtype=int))
        found = _interpolated(x, axes, share.reshape(-1), method, n, weak)
    found = _shaped(found.astype(dtype, copy=False), share.shape, axes, keep)
    if skip and x.dtype.kind in "fc":
        found = told(found, elementwise("isnan", found), 0)
    return _put(found, out, method, weights, skip)


def _put(
    found: Array, out: Array | None, method: str, weights: ArrayLike | None, skip: bool
) -> Array:
    """Return quantiles, or the array that they were asked to be put into."""
    if skip:
        return _assigned(found, out)
    if weights is None and isinstance(out, Array) and out.shape != found.shape:
        return elementwise("positive", found, out=out)  # NumPy stretches it
    return delivered(found, out, _cast(method, weights))


def _assigned(found: Array, out: Array | None) -> Array:
    """Return a result without NaN, which NumPy does not put into an output, but assigns to it."""
    if isinstance(out, Array | np.ndarray):
        found = np.broadcast_to(found, out.shape)  # type: ignore[assignment] # or distnb's
    return delivered(found, out)


def _cast(method: str, weights: ArrayLike | None) -> str:
    """Return the rule by which results are put into an output: there is one for sums alone."""
    way = _METHODS.get(method)  # None of no elements: NumPy does not look at it
    between = weights is None and way is not None and way(1, np.zeros(1)).dtype.kind == "f"
    return "same_kind" if between else "unsafe"


def _left(x: Array, axes: Ints) -> Any:
    """Count the elements that are not NaN."""
    return np.logical_not(np.isnan(x)).sum(axis=axes)


def _shaped(found: Array, asked: Ints, axes: Ints, keep: bool) -> Array:
    """Return [q, *kept] with the axes of ``q``, and those that were reduced if they are kept."""
    for d in axes if keep else ():
        found = found.alias(found.dview.insert(d + 1))
    if len(asked) == 1:
        return found
    if not asked:
        return found[0, ...]
    made, rows = empty((*asked, *found.shape[1:]), found.dtype, session=found.session), asked[1]
    for i in range(asked[0]):
        made[i] = found[i * rows : (i + 1) * rows]
    return made


@stands_for(np.quantile, small="exact")
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return elements by their rank; of a slice with NaN, NaN.

    The kept axes stay split as they are, and every engine along a reduced axis gets a copy of the
    result. Engines sort their parts and find by exact splitters (as ``sort``) what is at the
    positions in question: what is sent are samples, not the elements. Where a kept axis has at
    least as many indices as there are engines, it is split instead for a while. With ``weights``
    all is sorted.

    Parameters
    ----------
    a : array_like
        The elements.
    q : array_like of float
        Which quantiles, from 0 to 1; known in the notebook, or read.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    overwrite_input : bool
        Changes nothing.
    method : str
        Which neighbours are taken, and how, if a quantile is between elements: all of NumPy's.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    weights : array_like, optional
        Of the elements; for ``method='inverted_cdf'``.

    Returns
    -------
    DistArray
        The axes of ``q``, and those that are left.

    References
    ----------
    R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", Am. Stat. 50, 1996.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     dnb.quantile(dnb.array([3.0, 1.0, 2.0, 4.0], dist="block"), [0, 0.5]).to_numpy()
    array([1. , 2.5])
    """
    return _quantile("quantile", a, q, axis, out, method, keepdims, weights, False, False)


@stands_for(np.percentile, small="exact")
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return elements by their rank in percent; of a slice with NaN, NaN.

    Layout and messages are those of :func:`distnb.quantile`.

    Parameters
    ----------
    a : array_like
        The elements.
    q : array_like of float
        Which percentiles, from 0 to 100; known in the notebook, or read.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    overwrite_input : bool
        Changes nothing.
    method : str
        Which neighbours are taken, and how, if a quantile is between elements: all of NumPy's.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    weights : array_like, optional
        Of the elements; for ``method='inverted_cdf'``.

    Returns
    -------
    DistArray
        The axes of ``q``, and those that are left.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.percentile(dnb.array([3.0, 1.0, 2.0, 4.0], dist="block"), [0, 50]).to_numpy()
    array([1. , 2.5])
    """
    return _quantile("percentile", a, q, axis, out, method, keepdims, weights, True, False)


@stands_for(np.nanquantile, small="exact")
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return elements by their rank among what is not NaN.

    Layout and messages are those of :func:`distnb.quantile`; how many are not NaN is counted first.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    q : array_like of float
        Which quantiles, from 0 to 1; known in the notebook, or read.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    overwrite_input : bool
        Changes nothing.
    method : str
        Which neighbours are taken, and how, if a quantile is between elements: all of NumPy's.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    weights : array_like, optional
        Of the elements; for ``method='inverted_cdf'``.

    Returns
    -------
    DistArray
        The axes of ``q``, and those that are left; NaN where all are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.array([3.0, 1.0, float("nan"), 2.0], dist="block")
    ...     dnb.nanquantile(x, [0, 0.5]).to_numpy()
    array([1., 2.])
    """
    return _quantile("nanquantile", a, q, axis, out, method, keepdims, weights, False, True)


@stands_for(np.nanpercentile, small="exact")
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return elements by their rank in percent among what is not NaN.

    Layout and messages are those of :func:`distnb.quantile`; how many are not NaN is counted first.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    q : array_like of float
        Which percentiles, from 0 to 100; known in the notebook, or read.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    overwrite_input : bool
        Changes nothing.
    method : str
        Which neighbours are taken, and how, if a quantile is between elements: all of NumPy's.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.
    weights : array_like, optional
        Of the elements; for ``method='inverted_cdf'``.

    Returns
    -------
    DistArray
        The axes of ``q``, and those that are left; NaN where all are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.array([3.0, 1.0, float("nan"), 2.0], dist="block")
    ...     dnb.nanpercentile(x, [0, 50]).to_numpy()
    array([1., 2.])
    """
    return _quantile("nanpercentile", a, q, axis, out, method, keepdims, weights, True, True)


# -- medians -----------------------------------------------------------------------------------


def _median(
    name: str, a: ArrayLike, axis: Axes, out: Array | None, keepdims: bool | NoValue
) -> Array:
    x, keep = asarray(a), truly(keepdims)
    put = _assigned if name == "nanmedian" else delivered
    if x.here is not None or not x.size:
        known = x.to_numpy() if x.here is None else x.here
        found = watched(name, getattr(np, name), known, axis, keepdims=keep)
        return put(array_of(x.session, np.asarray(found)), out)
    axes = some_axes(axis, x.ndim)
    n = int(np.prod([x.shape[d] for d in axes], dtype=int))
    middle = _middle_left(x, axes) if name == "nanmedian" else _middle(x, axes, n)
    if keep:
        middle = _shaped(asarray(middle, session=x.session)[None], (), axes, keep)
    if name == "nanmedian" and x.dtype.kind in "fc":
        middle = told(middle, elementwise("isnan", middle), 0)
    return put(middle, out)


def _middle(x: Array, axes: Ints, n: int) -> Array:
    places = [n // 2] if n % 2 else [n // 2 - 1, n // 2]
    found = selected(x, axes, np.array([*places, n - 1]))
    middle = mean(found[:-1], 0)
    if x.dtype.kind not in "fc":
        return middle
    last: Any = found[-1]
    if not isinstance(last, Array):  # at hand by now
        return last if np.isnan(last) else middle
    return np.where(np.isnan(last), last, middle)  # type: ignore[return-value]


def _middle_left(x: Array, axes: Ints) -> Array:
    """Return the medians of what is not NaN: of nothing, NaN."""
    n = _left(x, axes)
    places = [np.maximum(n - 1, 0)[None] // 2, n[None] // 2]
    found = selected(x, axes, _stacked(places))
    both = mean(found, 0)
    one = mean(found[:1], 0)
    return elementwise("where", n % 2 == 1, one, both)


@stands_for(np.median, small="exact")
def median(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    overwrite_input: bool = False,
    keepdims: bool | NoValue = False,
) -> Array:
    """Return the median along axes; of a slice with NaN, NaN.

    Layout and messages are those of :func:`distnb.quantile`.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    overwrite_input : bool
        Changes nothing.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Of the axes that are left; of an even number, the mean of the two in the middle.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.median(dnb.array([3.0, 1.0, 2.0, 4.0], dist="block")))
    2.5
    """
    return _median("median", a, axis, out, keepdims)


@stands_for(np.nanmedian, small="exact")
def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: Array | None = None,
    overwrite_input: bool = False,
    keepdims: bool | NoValue = False,
) -> Array:
    """Return the median of what is not NaN.

    Layout and messages are those of :func:`distnb.quantile`; how many are not NaN is counted first.

    Parameters
    ----------
    a : array_like
        The elements; those that are NaN do not count.
    axis : int or tuple of int, optional
        Along which axes; by default all.
    out : DistArray, optional
        Where the result is put.
    overwrite_input : bool
        Changes nothing.
    keepdims : bool
        Whether axes that are reduced are kept, with length 1.

    Returns
    -------
    DistArray
        Of the axes that are left; NaN where all are NaN.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     float(dnb.nanmedian(dnb.array([3.0, 1.0, float("nan"), 2.0], dist="block")))
    2.0
    """
    return _median("nanmedian", a, axis, out, keepdims)
