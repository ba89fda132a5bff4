"""What is made of one part of an array: NumPy alone, called on the engines by ``foreach``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Cloud", "Strip", "Window", "block_means", "cloud", "extremes", "strip"]

#: Elements that are looked at together: they stay in a core's cache.
_TOGETHER = 1 << 17


class Window(NamedTuple):
    """A rectangle of elements, and how many rows and columns a pixel has."""

    top: int
    bottom: int
    left: int
    right: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Pixels that the picture has; the last ones may be of fewer elements."""
        rows, columns = self.bottom - self.top, self.right - self.left
        return -(-rows // self.height), -(-columns // self.width)


class Strip(NamedTuple):
    """Sums of what pixels show of a part, and how many elements they are; its extremes."""

    first: int
    sums: np.ndarray
    counts: np.ndarray
    low: float
    high: float


def strip(part: np.ndarray, first_row: np.ndarray, window: Window, axis: int) -> Strip | None:
    """Add up what pixels show of rows (or columns, if ``axis`` is 1); NaN counts as nothing.

    ``first_row`` holds the number of the first one in the whole array.
    """
    begins = int(first_row[0])
    if axis:
        part = part.swapaxes(0, 1)
        top, bottom, height = window.left, window.right, window.width
        left, right, width = window.top, window.bottom, window.height
    else:
        top, bottom, left, right, height, width = window
    start, stop = max(begins, top), min(begins + len(part), bottom)
    if start >= stop:
        return None
    seen = part[start - begins : stop - begins, left:right]
    first, last = (start - top) // height, (stop - 1 - top) // height
    shape = (last + 1 - first, -(-(right - left) // width), *seen.shape[2:])
    sums, counts = np.zeros(shape), np.zeros(shape)
    low, high = np.inf, -np.inf
    for pixel in range(first, last + 1):
        begin = max(top + pixel * height, start) - start
        end = min(top + (pixel + 1) * height, stop) - start
        rows = seen[begin:end]
        added, number, ends = _pixels(rows, width)
        sums[pixel - first], counts[pixel - first] = added, number
        low, high = min(low, ends[0]), max(high, ends[1])
    if axis:
        sums, counts = sums.swapaxes(0, 1), counts.swapaxes(0, 1)
    return Strip(first, sums, counts, low, high)


def _pixels(rows: np.ndarray, width: int) -> tuple[np.ndarray, Any, tuple[float, float]]:
    """Return sums and numbers of the elements of a row of pixels, and their extremes."""
    low, high = rows.min(), rows.max()
    edges = np.arange(0, rows.shape[1], width)
    number: Any
    if rows.dtype.kind == "f" and not (np.isfinite(low) and np.isfinite(high)):
        good = np.isfinite(rows)
        low, high = (rows[good].min(), rows[good].max()) if good.any() else (np.inf, -np.inf)
        number = np.add.reduceat(good.sum(axis=0), edges, axis=0)
        rows = np.where(good, rows, 0)
    else:
        counts = np.diff(edges, append=rows.shape[1]) * len(rows)
        number = counts.reshape(-1, *(1,) * (rows.ndim - 2))
    kind = rows.dtype if rows.dtype.kind == "f" and rows.dtype.itemsize > 2 else float
    added = np.add.reduceat(rows.sum(axis=0, dtype=kind), edges, axis=0)
    return added, number, (float(low), float(high))


def block_means(x: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the means of blocks of a matrix that is here; NaN where a block has no number."""
    window = Window(0, x.shape[0], 0, x.shape[1], height, width)
    found = strip(x, np.zeros(1, int), window, 0)
    if found is None:
        return np.empty((0, window.shape[1]))
    with np.errstate(invalid="ignore"):
        means: np.ndarray = found.sums / found.counts
    return means


def extremes(y: np.ndarray, x: np.ndarray | None, size: int) -> Any:
    """Return where a line turns: of each run of ``size`` points the first, the last, and extremes.

    What is drawn through these has the same pixels as the whole line, if a run is no wider than a
    pixel (Jugel et al., "M4", PVLDB 7, 2014). Returns their places and coordinates, and how many
    points there are in all.
    """
    if not len(y):
        return np.empty(0, int), x, y, 0
    runs = [_turns(y, size)] + ([] if x is None else [_turns(x, size)])
    where = np.unique(np.concatenate([np.arange(0, len(y), size), [len(y) - 1], *runs]))
    return where, None if x is None else x[where], y[where], len(y)


def _turns(y: np.ndarray, size: int) -> np.ndarray:
    """Return where the extremes and the last point of each run are; NaN is not compared."""
    whole = len(y) // size * size
    found = []
    for one, first in ((y[:whole].reshape(-1, size), 0), (y[whole:].reshape(1, -1), whole)):
        if not one.size:
            continue
        starts = first + np.arange(len(one)) * size
        for fill, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            found.append(starts + pick(_without_nan(one, fill), axis=1))
        found.append(starts + one.shape[1] - 1)
    return np.concatenate(found)


def _without_nan(x: np.ndarray, fill: float) -> np.ndarray:
    if x.dtype.kind != "f" or not np.isnan(x.sum()):
        return x
    return np.where(np.isnan(x), fill, x)


class Cloud(NamedTuple):
    """Cells in which points lie, how many, and sums of what colours them."""

    cells: np.ndarray
    counts: np.ndarray
    sums: np.ndarray | None


def cloud(
    x: np.ndarray,
    y: np.ndarray,
    colors: np.ndarray | None,
    limits: tuple[float, float, float, float],
    cells: tuple[int, int],
) -> Cloud:
    """Count the points of a part in the cells of a grid."""
    total = cells[0] * cells[1]
    counts = np.zeros(total, np.int64)
    sums = None if colors is None else np.zeros(total)
    for begin in range(0, len(x), _TOGETHER):
        part = slice(begin, begin + _TOGETHER)
        one, other = np.asarray(x[part], float), np.asarray(y[part], float)
        good = (one >= limits[0]) & (one <= limits[1]) & (other >= limits[2]) & (other <= limits[3])
        column = _cell(one[good], limits[0], limits[1], cells[0])
        row = _cell(other[good], limits[2], limits[3], cells[1])
        where = row * cells[0] + column
        counts += np.bincount(where, minlength=total)
        if sums is not None and colors is not None:
            sums += np.bincount(where, np.asarray(colors[part], float)[good], minlength=total)
    seen = np.flatnonzero(counts)
    return Cloud(seen, counts[seen], None if sums is None else sums[seen])


def _cell(x: np.ndarray, low: float, high: float, cells: int) -> np.ndarray:
    """Return in which of some cells between two limits numbers are."""
    scaled = (x - low) * (cells / (high - low)) if high > low else np.zeros(len(x))
    return np.clip(scaled.astype(np.int64), 0, cells - 1)
