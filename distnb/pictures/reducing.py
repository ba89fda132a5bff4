"""From distributed arrays to what a picture of so many pixels shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.array.migration import bounds_of
from distnb.client.math.ufuncs import fmax, fmin, isfinite, where
from distnb.client.parts.foreach import foreach
from distnb.client.record.creation import array
from distnb.client.stats.quantiles import quantile
from distnb.common.config import config
from distnb.pictures.binning import Cloud, Strip, Window, cloud, extremes, strip

__all__ = ["extent_of", "image", "line", "pixels_come", "points", "steps_of", "thinned"]

#: Elements up to which a window of an array is fetched as it is.
_FETCHED = 1 << 18
#: Bytes that a picture's pixels may have: more than any screen shows.
_PIXELS = 1 << 30


@contextmanager
def pixels_come() -> Iterator[None]:
    """Let come what is of the size of a picture: the gather budget is about arrays."""
    budget = config.gather_budget
    config.gather_budget = max(budget, _PIXELS)
    try:
        yield
    finally:
        config.gather_budget = budget


@pixels_come()
def image(x: DistArray, window: Window) -> tuple[np.ndarray, float, float]:
    """Return the means of the pixels of a window, and the extremes of what they are made of.

    Rows or columns that lie on one engine are added up there. Of other layouts and views one
    element stands for a pixel: the middle one.
    """
    top, bottom, left, right, height, width = window
    few = height * width == 1 or (bottom - top) * (right - left) <= _FETCHED
    if few or x.at_home:
        seen = x[top:bottom, left:right].to_numpy()
        found = strip(seen, np.zeros(1, int), _moved(window), 0)
    else:
        axis, bounds = _rows(x)
        if not bounds:
            return _picked(x, window)
        starts = array(bounds[:-1], session=x.session).splits(len(bounds) - 1)
        found = _joined(foreach(strip, x.splits(axis=axis), starts, window, axis), window, axis)
    if found is None or not found.counts.any():
        return np.full(window.shape, np.nan), np.nan, np.nan
    with np.errstate(invalid="ignore"):
        return found.sums / found.counts, found.low, found.high


def _moved(window: Window) -> Window:
    """Return the same window of an array that begins there."""
    top, bottom, left, right, height, width = window
    return Window(0, bottom - top, 0, right - left, height, width)


def _rows(x: DistArray) -> tuple[int, tuple[int, ...]]:
    """Return along which axis engines have whole rows, or columns, and where these are cut."""
    if x.dview.is_whole(x.dbase.shape):
        for axis in (0, 1):
            bounds = bounds_of(x.dbase.layout, x.shape, axis, x.session.size)
            if bounds is not None:
                return axis, bounds
    return 0, ()


def _picked(x: DistArray, window: Window) -> tuple[np.ndarray, float, float]:
    """Return the element in the middle of each pixel of a window, and their extremes."""
    top, bottom, left, right, height, width = window
    rows, columns = (bottom - top, height), (right - left, width)
    middle = [min(step // 2, (n - 1) % step) for n, step in (rows, columns)]
    found = x[top + middle[0] : bottom : height, left + middle[1] : right : width].to_numpy()
    if found.dtype.kind != "f":
        return found, float(found.min()), float(found.max())
    good = found[np.isfinite(found)]
    return found, *((float(good.min()), float(good.max())) if good.size else (np.nan, np.nan))


def _joined(found: Any, window: Window, axis: int) -> Strip | None:
    """Return the sums of all parts; pixels on their borders are of two."""
    strips = [Strip(*s) for s in found or () if s is not None]
    if not strips:
        return None
    shape = (*window.shape, *strips[0].sums.shape[2:])
    sums, counts = np.zeros(shape), np.zeros(shape)
    for s in strips:
        where = slice(s.first, s.first + s.sums.shape[axis])
        at = (where,) if axis == 0 else (slice(None), where)
        sums[at] += s.sums
        counts[at] += s.counts
    return Strip(0, sums, counts, min(s.low for s in strips), max(s.high for s in strips))


@pixels_come()
def line(
    x: Any, y: Any, begin: int, end: int, runs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points of a piece of a line that its picture needs, of about so many runs.

    ``x`` is None if the points are numbered. Returns their places and coordinates.
    """
    x, y = (None if a is None else a[begin:end] for a in (x, y))
    if end - begin <= max(_FETCHED, 4 * runs):
        places, ys = np.arange(begin, end), _read(y)
        return places, places if x is None else _read(x), ys
    one = next(a for a in (y, x) if isinstance(a, DistArray))
    size = (end - begin) // runs
    found = foreach(extremes, *[_split(a, one) for a in (y, x)], size)
    starts = np.cumsum([0, *[part[3] for part in found]])
    places = np.concatenate([p[0] + at for p, at in zip(found, starts, strict=False)]) + begin
    ys = np.concatenate([part[2] for part in found])
    return places, places if x is None else np.concatenate([part[1] for part in found]), ys


def _read(x: Any) -> np.ndarray:
    """Return the elements of what is small enough for a picture."""
    return x.to_numpy() if isinstance(x, DistArray) else np.asarray(x)


@pixels_come()
def thinned(x: Any, ys: Sequence[Any], others: Sequence[Any], runs: int) -> list[Any]:
    """Return points of several lines over the same ``x``: all those that one of them needs.

    Others are what else belongs to the points, such as their errors, along their last axis. What is
    one number stays it.
    """
    n = len(x)
    lines = [y for y in ys if np.ndim(y)]
    places = np.unique(np.concatenate([line(None, y, 0, n, runs)[0] for y in lines]))
    return [_at(a, places) for a in (x, *ys, *others)]


def _at(a: Any, places: np.ndarray) -> Any:
    """Return elements along the last axis; of several arrays, of each."""
    if isinstance(a, list | tuple) and any(isinstance(each, DistArray) for each in a):
        return [_at(each, places) for each in a]
    if not np.ndim(a):
        return a
    return _read((a if isinstance(a, DistArray) else np.asarray(a))[..., places])


@pixels_come()
def steps_of(x: DistArray, steps: int) -> np.ndarray:
    """Return the least element and so many others, in order, as many apart from each other."""
    shares = np.arange(steps + 1) / steps
    return _read(quantile(x.ravel(), shares, method="inverted_cdf"))


def extent_of(x: Any) -> tuple[float, float]:
    """Return the extremes of what is a number in an array; (0, 1) if nothing is."""
    low, high = float(fmin.reduce(x)), float(fmax.reduce(x))
    if not (np.isfinite(low) and np.isfinite(high)):
        good = isfinite(x)
        if not bool(good.any()):
            return 0.0, 1.0
        low = float(fmin.reduce(where(good, x, np.inf)))
        high = float(fmax.reduce(where(good, x, -np.inf)))
    return low, high


def _split(x: Any, like: DistArray) -> Any:
    """Return what is given to the tasks of an array: its parts."""
    if x is None:
        return None
    whole = x if isinstance(x, DistArray) else array(x, dist=like.layout.base, session=like.session)
    return whole.splits()


@pixels_come()
def points(
    x: Any, y: Any, colors: Any, limits: tuple[float, float, float, float], cells: tuple[int, int]
) -> Cloud:
    """Return the cells of a grid in which points lie, how many, and sums of their colours."""
    one = next(a for a in (x, y) if isinstance(a, DistArray))
    found = foreach(cloud, *[_split(a, one) for a in (x, y, colors)], limits, cells)
    total = cells[0] * cells[1]
    counts = np.zeros(total, np.int64)
    sums = None if colors is None else np.zeros(total)
    for part in found:
        counts[part[0]] += part[1]
        if sums is not None:
            sums[part[0]] += part[2]
    seen = np.flatnonzero(counts)
    return Cloud(seen, counts[seen], None if sums is None else sums[seen])
