"""Artists of large arrays: what they show is fetched again when the axes show something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from distnb.client.math.ufuncs import log10, where
from distnb.pictures.binning import Window
from distnb.pictures.reducing import extent_of, image, line, points

__all__ = ["Cells", "Marked", "Picture", "Scattered", "Trace", "pixels_of"]

#: Points at the beginning of a line that a logarithmic axis is shown as they are.
_HEAD = 1 << 17
#: Runs of points of a line that goes to and fro.
_RUNS = 1 << 15


def pixels_of(ax: Any) -> tuple[int, int]:
    """Return how many pixels axes are high and wide."""
    return max(1, round(ax.bbox.height)), max(1, round(ax.bbox.width))


class Picture:
    """An image of a large matrix: pixels are means of the elements that they show."""

    def __init__(self, x: Any, extent: Any, origin: str, ax: Any) -> None:
        self.x, self.ax = x, ax
        rows, columns = x.shape[:2]
        upper = (-0.5, columns - 0.5, rows - 0.5, -0.5)
        lower = (-0.5, columns - 0.5, -0.5, rows - 0.5)
        self.extent = extent or (upper if origin == "upper" else lower)
        self.origin = origin
        self.window = self._window(0, rows, 0, columns)
        self.artist: Any = None

    def _window(self, top: int, bottom: int, left: int, right: int) -> Window:
        high, wide = pixels_of(self.ax)
        height, width = max(1, (bottom - top) // high), max(1, (right - left) // wide)
        return Window(top, bottom, left, right, height, width)

    def _is_fine(self, wanted: Window) -> bool:
        """Tell whether the pixels will do that there are: axes change while they are laid out."""
        pairs = zip(self.window[4:], wanted[4:], strict=True)
        return all(there <= max(1, 1.5 * asked) for there, asked in pairs)

    def read(self) -> tuple[np.ndarray, float, float]:
        """Return the pixels of the window, and the extremes."""
        found, low, high = image(self.x, self.window)
        if found.ndim > 2 and self.x.dtype.kind in "ui":
            found = np.nan_to_num(found).round().astype(self.x.dtype)
        return found, low, high

    @property
    def place(self) -> tuple[float, float, float, float]:
        """Where the window is on the axes; the last pixels may be of fewer elements."""
        w, (rows, columns) = self.window, self.window.shape
        left, right, bottom, top = self.extent
        wide = (right - left) / self.x.shape[1]
        first, last = (bottom, top) if self.origin == "lower" else (top, bottom)
        high = (last - first) / self.x.shape[0]
        ends = first + w.top * high, first + (w.top + rows * w.height) * high
        xs = left + w.left * wide, left + (w.left + columns * w.width) * wide
        return (*xs, *(ends if self.origin == "lower" else ends[::-1]))

    def update(self) -> None:
        """Fetch what the axes show now, if that is something else."""
        left, right, bottom, top = self.extent
        first, last = (bottom, top) if self.origin == "lower" else (top, bottom)
        columns = _span(self.ax.get_xlim(), left, right, self.x.shape[1])
        rows = _span(self.ax.get_ylim(), first, last, self.x.shape[0])
        if not (columns and rows):
            return
        wanted = self._window(*rows, *columns)
        if wanted[:4] == self.window[:4] and self._is_fine(wanted):
            return
        self.window = wanted
        limits = self.ax.get_xlim(), self.ax.get_ylim()
        scales = self.ax.get_autoscalex_on(), self.ax.get_autoscaley_on()
        self.artist.set_data(self.read()[0])
        self.ax.set_autoscale_on(False)
        self.artist.set_extent(self.place)
        self.ax.set_xlim(limits[0], emit=False, auto=scales[0])
        self.ax.set_ylim(limits[1], emit=False, auto=scales[1])


def _span(limits: tuple[float, float], first: float, last: float, n: int) -> tuple[int, ...]:
    """Return between which elements of an axis limits are; nothing if they are outside."""
    # Limits are numbers such as 99.5, the border of two elements, and rounded.
    low, high = sorted(round((at - first) / (last - first) * n, 6) for at in limits)
    begin, end = max(0, int(np.floor(low))), min(n, int(np.ceil(high)))
    return (begin, end) if begin < end else ()


class Trace:
    """A line through many points: of those of a pixel the first, the last, and the extremes."""

    def __init__(self, x: Any, y: Any, ax: Any) -> None:
        self.x, self.y, self.ax = x, y, ax
        self.artist: Any = None
        self.whole = self._read(0, len(y))
        if not self._ascends:  # a run is not of one pixel
            self.whole = line(x, y, 0, len(y), _RUNS)
        self.shown = self._ends(None)

    def _read(
        self, begin: int, end: int, all_points: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        runs = end - begin if all_points else 2 * pixels_of(self.ax)[1]
        return line(self.x, self.y, begin, end, runs)

    @property
    def _ascends(self) -> bool:
        """Whether the line goes from left to right; else who knows what is to be seen of it."""
        return bool((np.diff(self.whole[1]) >= 0).all())

    @property
    def _is_even(self) -> bool:
        return bool(self.ax.get_xscale() == "linear")

    def _ends(self, limits: tuple[float, float] | None) -> tuple[int, int]:
        """Return which points are to be seen in more detail than the others, if any are."""
        places, xs, _ = self.whole
        begin, end = 0, len(self.y)
        if limits is not None and self._ascends:
            first, last = np.searchsorted(xs, sorted(limits))
            begin = int(places[max(0, first - 1)])
            end = int(places[min(last, len(places) - 1)]) + 1
        if not self._is_even:  # the first points are far apart
            end = min(end, begin + _HEAD)
        return begin, end

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the line as it is shown."""
        begin, end = self.shown
        places, xs, ys = self.whole
        if end - begin == len(self.y) and self._is_even:
            return xs, ys
        before, after = places < begin, places >= end
        _, fine_x, fine_y = self._read(begin, end, all_points=not self._is_even)
        return (
            np.concatenate([xs[before], fine_x, xs[after]]),
            np.concatenate([ys[before], fine_y, ys[after]]),
        )

    def claim(self) -> None:
        """Do nothing: extremes are among the points."""

    def update(self) -> None:
        """Fetch what the axes show now, if that is something else."""
        wanted = self._ends(self.ax.get_xlim())
        if wanted != self.shown:
            self.shown = wanted
            self.artist.set_data(*self.points())


class Cells(NamedTuple):
    """What a cloud of points looks like: where its markers are, how many points each is of."""

    offsets: np.ndarray
    counts: np.ndarray
    colors: np.ndarray | None
    sizes: np.ndarray | None


class Scattered:
    """A cloud of many points: one marker for all points of a cell that is smaller than a marker."""

    def __init__(self, x: Any, y: Any, colors: Any, size: Any, ax: Any) -> None:
        self.args, self.ax = (x, y, colors), ax
        self.sizes = size if np.ndim(size) else None
        mean = size if self.sizes is None else float(size.mean())
        self.size = max(1.0, np.sqrt(mean) * ax.figure.dpi / 72 / 3)
        self._lie()
        self.shown = self.extent
        self.artist: Any = None
        self.dress: Callable[[Any, Cells], None] | None = None

    def _lie(self) -> None:
        """Note where points lie on the axes, of which one may be logarithmic."""
        self.logs = self._logs
        x, y = (
            log10(where(a > 0, a, np.nan)) if log else a
            for a, log in zip(self.args[:2], self.logs, strict=True)
        )
        self.places: tuple[Any, Any] = (x, y)
        self.extent = (*extent_of(x), *extent_of(y))

    def claim(self) -> None:
        """Let axes that range over what they show have room for all points, not for cells."""
        xs, ys = (
            [10**a if log else a for a in ends]
            for ends, log in zip((self.extent[:2], self.extent[2:]), self.logs, strict=True)
        )
        self.ax.update_datalim([*zip(xs, ys, strict=True)])
        self.ax.autoscale_view()

    @property
    def _logs(self) -> tuple[bool, bool]:
        return self.ax.get_xscale() == "log", self.ax.get_yscale() == "log"

    def read(self) -> Cells:
        """Return the cells of what is shown."""
        high, wide = pixels_of(self.ax)
        cells = max(1, int(wide / self.size)), max(1, int(high / self.size))
        left, right, bottom, top = self.shown
        found = points(*self.places, self.args[2], self.shown, cells)
        column, row = found.cells % cells[0], found.cells // cells[0]
        xs = left + (column + 0.5) * (right - left) / cells[0]
        ys = bottom + (row + 0.5) * (top - bottom) / cells[1]
        xs, ys = (10**a if log else a for a, log in zip((xs, ys), self.logs, strict=True))
        colors = None if found.sums is None else found.sums / found.counts
        sizes = None
        if self.sizes is not None:  # the cells are the same: they have the same points
            added = points(*self.places, self.sizes, self.shown, cells).sums
            sizes = None if added is None else added / found.counts
        return Cells(np.stack([xs, ys], axis=1), found.counts, colors, sizes)

    def update(self) -> None:
        """Fetch what the axes show now, if that is something else."""
        other = self.logs != self._logs
        if other:
            self._lie()
            self.claim()
        limits = sorted(self.ax.get_xlim()), sorted(self.ax.get_ylim())
        ends = [np.log10(a) if log else a for a, log in zip(limits, self.logs, strict=True)]
        (left, right), (bottom, top), whole = *ends, self.extent
        wanted = (
            *(max(left, whole[0]), min(right, whole[1])),
            *(max(bottom, whole[2]), min(top, whole[3])),
        )
        same = wanted == self.shown and not other
        if same or wanted[0] >= wanted[1] or wanted[2] >= wanted[3]:
            return
        self.shown = wanted
        self.show(self.read())

    def show(self, cells: Cells) -> None:
        """Give the artist what is to be seen."""
        self.artist.set_offsets(cells.offsets)
        if self.dress is not None:
            self.dress(self.artist, cells)


class Marked(Scattered):
    """The same as ``plot`` draws it: markers that no line joins."""

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the markers as they are shown."""
        xs, ys = self.read().offsets.T
        return xs, ys

    def show(self, cells: Cells) -> None:
        """Give the artist what is to be seen."""
        self.artist.set_data(*cells.offsets.T)
