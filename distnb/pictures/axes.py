"""matplotlib's axes, which draw large distributed arrays from what engines reduce to their pixels.

matplotlib makes these wherever it makes axes (``register_projection``), so ``plt.imshow`` and all
other ways to draw lead here. What is not large goes to matplotlib as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.artist import getp
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.projections import register_projection

from distnb.client.array.distarray import DistArray
from distnb.client.math.ufuncs import absolute, fmax, fmin, where
from distnb.client.record.ranges import arange
from distnb.client.stats.histograms import histogram
from distnb.common.errors import DistnbError
from distnb.pictures.arguments import (
    as_arrays,
    as_numpys,
    columns_of,
    curves,
    is_large,
    means_of,
    on_grid,
    shape_alone,
)
from distnb.pictures.live import Cells, Marked, Picture, Scattered, Trace, pixels_of
from distnb.pictures.reducing import extent_of, points, steps_of, thinned

__all__ = ["PixelAxes"]

#: Cells along an axis for each hexagon.
_FINER = 10
#: Markers that are a pixel, or lines.
_THIN = frozenset((",", "+", "x", "|", "_", "1", "2", "3", "4"))
#: What was told.
_TOLD: set[str] = set()


def _tell(what: str, zooms: bool = True) -> None:
    """Say once of what pictures of a kind are made."""
    if what not in _TOLD:
        _TOLD.add(what)
        print(f"distnb: large arrays are drawn as {what}" + "; zooming in shows more" * zooms)


class PixelAxes(Axes):
    """Rectilinear axes that draw distributed arrays of any size."""

    name = "rectilinear"

    def clear(self) -> None:
        """Remove everything, what is kept up to date as well."""
        self._live: list[Any] = []
        super().clear()

    def draw(self, renderer: Any) -> None:
        """Draw, with what is to be seen now."""
        self._live = [one for one in self._live if one.artist in self.get_children()]
        for one in list(self._live):
            try:
                one.update()
            except DistnbError as error:
                self._live.remove(one)  # it stays as it is: the array is not there any more
                print(f"distnb: a picture shows what it showed before: {error}")
        super().draw(renderer)

    def imshow(self, X: Any, *args: Any, **options: Any) -> Any:  # noqa: N803
        """As matplotlib's; pixels are the means of the elements that they show."""
        if not is_large(X) or X.ndim not in (2, 3) or X.dtype.kind == "c" or X.shape[2:] > (4,):
            return super().imshow(shape_alone(X), *args, **options)
        from matplotlib import rcParams

        _tell("means of the elements of a pixel")
        origin = options.get("origin") or rcParams["image.origin"]
        live = Picture(X, options.get("extent"), origin, self)
        pixels, low, high = live.read()
        if X.ndim == 2:
            args, options = args[:1], {"norm": (*args, None, None)[1], **options}
            options = _normed(options, X, [x for x in (low, high) if np.isfinite(x)])
        live.artist = super().imshow(pixels, *args, **{**options, "extent": live.place})
        left, right, bottom, top = live.extent
        self.set_xlim(left, right, auto=None)
        self.set_ylim(bottom, top, auto=None)
        self._live.append(live)
        return live.artist

    def plot(self, *args: Any, **options: Any) -> Any:
        """As matplotlib's; of the points of a pixel the first, the last and the extremes."""
        if not is_large(*args) or options.get("data") is not None:
            return super().plot(*args, **options)
        found = []
        for x, y, style in curves(args):
            if not is_large(x, y):
                found += super().plot(*[a for a in (x, y, style) if a is not None], **options)
                continue
            # What a line looks like matplotlib finds out; its colours come in turn, so only once.
            known = normalize_kwargs(options, Line2D)
            styles: Any = () if style is None else (style,)
            (like,) = super().plot([], [], *styles, **known)
            looks = {name: getp(like, name) for name in ("color", "linestyle", "marker")}
            like.remove()
            live = self._traced(x, y, looks["linestyle"], _width_of(like))
            (live.artist,) = super().plot(*live.points(), **known | looks)
            live.claim()
            self._live.append(live)
            found.append(live.artist)
        return found

    def _traced(self, x: Any, y: Any, linestyle: str, size: float) -> Trace | Marked:
        """Return what a line shows, or markers that no line joins: these are a cloud of points."""
        if linestyle not in ("None", "none", " ", ""):
            _tell("the extremes of each pixel's points")
            return Trace(x, y, self)
        _tell("one marker for all points that lie in a third of it")
        return Marked(arange(len(y), session=y.session) if x is None else x, y, None, size**2, self)

    def hist(self, x: Any, bins: Any = None, **options: Any) -> Any:
        """As matplotlib's; engines count."""
        several = list(x) if isinstance(x, list | tuple) else [x]
        if not is_large(*several):
            return super().hist(x, bins, **options)
        from matplotlib import rcParams

        weights, limits = options.pop("weights", None), options.pop("range", None)
        weighted = [None] * len(several) if weights is None else weights
        weighted = [weights] if weights is not None and len(several) == 1 else weighted
        columns = [(columns_of(a), columns_of(w)) for a, w in zip(several, weighted, strict=True)]
        several = [a for data, _ in columns for a in data]
        weighted = [
            w for data, ws in columns for w in (ws if len(ws) == len(data) else ws * len(data))
        ]
        edges = rcParams["hist.bins"] if bins is None else bins
        if np.ndim(edges) == 0 and limits is None:  # of numbers: NaN is none
            ends = [(float(fmin.reduce(a)), float(fmax.reduce(a))) for a in several]
            limits = min(low for low, _ in ends), max(high for _, high in ends)
        counts = []
        for one, w in zip(several, weighted, strict=True):
            count, edges = histogram(one, edges, limits, weights=w)
            counts.append(np.asarray(count))
        edges = np.asarray(edges).tolist()
        if len(several) == 1:
            return super().hist(edges[:-1], edges, weights=counts[0], **options)
        return super().hist([edges[:-1]] * len(counts), edges, weights=counts, **options)

    def scatter(self, x: Any, y: Any, s: Any = None, c: Any = None, **options: Any) -> Any:
        """As matplotlib's; one marker stands for all points of a cell smaller than itself."""
        if not is_large(x, y, s, c) or options.get("data") is not None:
            return super().scatter(x, y, s, c, **options)
        x, y = as_arrays(x, y)
        if x.size != y.size:
            raise ValueError("x and y must be the same size")
        from matplotlib import rcParams

        _tell("one marker for all points that lie in a third of it")
        size = rcParams["lines.markersize"] ** 2 if s is None else s
        sized = np.ndim(size) > 0
        if sized and size.size != x.size:
            raise ValueError(
                "s must be a scalar, or float array-like with the same size as x and y"
            )
        valued = isinstance(c, DistArray | np.ndarray) and c.size == x.size
        colors, sizes = c.ravel() if valued else None, size.ravel() if sized else size
        live = Scattered(x.ravel(), y.ravel(), colors, sizes, self)
        cells = live.read()
        alpha = options.pop("alpha", None)
        xs, ys = cells.offsets.T
        options |= {"s": cells.sizes if sized else size, "c": cells.colors if valued else c}
        live.artist = super().scatter(xs, ys, **options)
        live.dress = _dressing(alpha, valued, sized)
        live.dress(live.artist, cells)
        live.claim()
        self._live.append(live)
        return live.artist

    def contour(self, *args: Any, **options: Any) -> Any:
        """As matplotlib's, of means of the elements of a pixel."""
        return super().contour(*self._reduced(args, whole=True), **options)

    def contourf(self, *args: Any, **options: Any) -> Any:
        """As matplotlib's, of means of the elements of a pixel."""
        return super().contourf(*self._reduced(args, whole=True), **options)

    def pcolormesh(self, *args: Any, **options: Any) -> Any:
        """As matplotlib's; cells are means of the elements of a pixel."""
        return super().pcolormesh(*self._reduced(args, _are_cells(options)), **options)

    def pcolor(self, *args: Any, **options: Any) -> Any:
        """As matplotlib's; cells are means of the elements of a pixel."""
        return super().pcolor(*self._reduced(args, _are_cells(options)), **options)

    def matshow(self, Z: Any, **options: Any) -> Any:  # noqa: N803
        """As matplotlib's; pixels are the means of the elements that they show."""
        if not is_large(Z):
            return super().matshow(Z, **options)
        super().matshow(np.zeros((1, 1))).remove()  # it sets ticks and title where they are to be
        return self.imshow(Z, **({"origin": "upper", "interpolation": "nearest"} | options))

    def spy(self, Z: Any, precision: Any = 0, **options: Any) -> Any:  # noqa: N803
        """As matplotlib's; a pixel is black where one of its elements is."""
        if not is_large(Z) or options.get("marker") or options.get("markersize"):
            return super().spy(Z, precision=precision, **options)
        for name in ("marker", "markersize"):  # pyplot gives all that it knows
            options.pop(name, None)
        where = {name: options[name] for name in ("origin", "aspect") if name in options}
        super().spy(np.zeros((1, 1)), **where).remove()
        colors = {"cmap": ListedColormap(["w", "k"], name="binary"), "vmin": 0, "vmax": 1e-12}
        kinds = {"origin": "upper", "aspect": "equal", "interpolation": "nearest"}
        return self.imshow(absolute(Z) > precision, **(kinds | colors | options))

    def hexbin(self, x: Any, y: Any, C: Any = None, **options: Any) -> Any:  # noqa: N803
        """As matplotlib's; engines count in cells that are smaller than hexagons."""
        scales = {options.get("xscale", "linear"), options.get("yscale", "linear")}
        if not is_large(x, y) or C is not None or scales != {"linear"}:
            return super().hexbin(x, y, C, **options)
        _tell("counts of points in cells of a tenth of a hexagon", zooms=False)
        x, y = as_arrays(x, y)
        limits = options.pop("extent", None) or (*extent_of(x), *extent_of(y))
        wide, high = np.broadcast_to(options.get("gridsize", 100), 2) * _FINER
        found = points(x.ravel(), y.ravel(), None, limits, (int(wide), int(high)))
        counts = np.zeros(wide * high)
        counts[found.cells] = found.counts
        row, column = np.divmod(np.arange(wide * high), wide)
        xs = limits[0] + (column + 0.5) * (limits[1] - limits[0]) / wide
        ys = limits[2] + (row + 0.5) * (limits[3] - limits[2]) / high
        least = options.pop("mincnt", None) or 0
        options |= {"extent": limits, "reduce_C_function": partial(_sum_of, least)}
        return super().hexbin(xs, ys, counts, **options)

    def fill_between(self, x: Any, y1: Any, y2: Any = 0, *args: Any, **options: Any) -> Any:
        """As matplotlib's, between the extremes of each pixel's points."""
        if not is_large(x, y1, y2) or args:
            return super().fill_between(x, y1, y2, *args, **options)
        _tell("the extremes of each pixel's points, once", zooms=False)
        where = options.pop("where", None)
        x, y1, y2, where = thinned(x, (y1, y2), (where,), 2 * pixels_of(self)[1])
        return super().fill_between(x, y1, y2, where, **options)

    def errorbar(
        self, x: Any, y: Any, yerr: Any = None, xerr: Any = None, *args: Any, **options: Any
    ) -> Any:
        """As matplotlib's, of the extremes of each pixel's points."""
        limits = {name: options[name] for name in _LIMITS if np.ndim(options.get(name, 0))}
        if is_large(x, y, yerr, xerr):
            _tell("the extremes of each pixel's points, once", zooms=False)
            beside = (yerr, xerr, *limits.values())
            x, y, yerr, xerr, *found = thinned(x, (y,), beside, 2 * pixels_of(self)[1])
            limits = dict(zip(limits, found, strict=True))
        return super().errorbar(x, y, yerr, xerr, *args, **options | as_numpys(limits))

    def streamplot(self, *args: Any, **options: Any) -> Any:
        """As matplotlib's, which knows NumPy's arrays alone for colours and widths."""
        return super().streamplot(*args, **as_numpys(options))

    def ecdf(self, x: Any, weights: Any = None, **options: Any) -> Any:
        """As matplotlib's, in steps of half a pixel."""
        if not is_large(x) or weights is not None:
            return super().ecdf(x, weights, **options)
        _tell("steps of half a pixel", zooms=False)
        return super().ecdf(steps_of(x, 2 * max(pixels_of(self))), **options)

    def _reduced(
        self, args: tuple[Any, ...], cells: bool = False, whole: bool = False
    ) -> tuple[Any, ...]:
        """Return a grid and the values on it with about as many elements as there are pixels.

        Values of ``cells`` are between the lines of the grid, if it has one line more than they.
        The grid ends at the middles of pixels, or where the ``whole`` one does.
        """
        grids = 3 if len(args) > 2 else 1
        values = args[grids - 1]
        if not is_large(values) or values.ndim != 2:
            return args
        _tell("means of the elements of a pixel")
        steps = [
            max(1, n // pixels) for n, pixels in zip(values.shape, pixels_of(self), strict=True)
        ]
        numbers = [np.arange(n + cells, dtype=float) for n in values.shape[::-1]]
        grid = args[:2] if grids == 3 else numbers
        x, y = (on_grid(g, 1 - k, values.shape, steps, cells) for k, g in enumerate(grid))
        if whole and np.ndim(grid[0]) == np.ndim(grid[1]) == 1:
            for means, g in ((x, grid[0]), (y, grid[1])):
                means[[0, -1]] = float(g[0]), float(g[-1])
        return x, y, means_of(values, *steps), *args[grids:]


#: Which errors are limits, of ``errorbar``.
_LIMITS = ("lolims", "uplims", "xlolims", "xuplims")


def _width_of(marked: Any) -> float:
    """Return how wide the markers of a line are filled; those that are lines are not."""
    marker, size = marked.get_marker(), float(marked.get_markersize())
    if not isinstance(marker, str):
        return size
    return 0.0 if marker in _THIN else size / 2 if marker == "." else size


def _are_cells(options: dict[str, Any]) -> bool:
    """Tell whether values are of the cells between the lines of a grid, if they fit in these."""
    return options.get("shading") not in ("gouraud", "nearest")


def _normed(options: dict[str, Any], x: Any, ends: list[float]) -> dict[str, Any]:
    """Return options with a norm that ranges over all elements of a matrix, unless it is given."""
    given, known = options["norm"], dict(options)
    norm: Any = ScalarMappable(given).norm
    if not isinstance(given, Normalize):
        norm.vmin, norm.vmax = known.pop("vmin", None), known.pop("vmax", None)
    if ends and ends[0] <= 0 and isinstance(norm, LogNorm):
        ends.append(float(fmin.reduce(where(x > 0, x, np.inf), axis=None)))
    if ends:
        norm.autoscale_None(np.array(ends))
    return known | {"norm": norm}


def _sum_of(least: int, counts: Any) -> float:
    """Return how many points a hexagon has; NaN, which is not drawn, if there are too few."""
    total = float(np.sum(counts))
    return total if total >= least else np.nan


def _dressing(alpha: float | None, valued: bool, sized: bool) -> Callable[[Any, Cells], None]:
    """Return what gives markers colours, sizes, and the opacity of as many as they stand for."""

    def dress(artist: Any, cells: Cells) -> None:
        if valued:
            artist.set_array(cells.colors)
        if sized:
            artist.set_sizes(cells.sizes)
        if alpha is not None:
            artist.set_alpha(1 - (1 - alpha) ** np.minimum(cells.counts, 1000))

    return dress


register_projection(PixelAxes)  # so matplotlib makes these from now on
