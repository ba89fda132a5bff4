"""``distnb.plot``: pictures of arrays of any size, by pyplot's names.

Importing this makes matplotlib's own functions (``plt.imshow`` and its like) do the same, in axes
that are made from then on; ``%load_ext distnb`` imports it when matplotlib is imported.
"""

from __future__ import annotations

from typing import Any

from distnb.left_out import listing
from distnb.pictures.axes import PixelAxes
from distnb.widgets.drawing.plots import check_axes

__all__ = [
    "contour",
    "contourf",
    "ecdf",
    "errorbar",
    "fill_between",
    "hexbin",
    "hist",
    "imshow",
    "matshow",
    "pcolor",
    "pcolormesh",
    "plot",
    "scatter",
    "spy",
]


#: What a colour bar can be of.
_COLOURED = ("hexbin", "imshow", "matshow", "pcolor", "pcolormesh", "scatter")

__dir__ = listing(__all__)


def _axes(ax: Any) -> Any:
    """Return the axes to draw into: those given, or pyplot's current ones."""
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.gca()
    return check_axes(ax)


def _draw(name: str, ax: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    found = getattr(PixelAxes, name)(_axes(ax), *args, **options)
    if name in _COLOURED and ax is None:
        from matplotlib import pyplot as plt

        plt.sci(found)
    return found


def imshow(X: Any, *args: Any, ax: Any = None, **options: Any) -> Any:  # noqa: N803
    """Show a matrix, or a picture of three or four colours, as ``matplotlib.pyplot.imshow``.

    Parameters
    ----------
    X : array_like
        Shape (rows, columns), or with 3 or 4 colours more.
    *args, **options
        As matplotlib's: ``cmap``, ``norm``, ``vmin``, ``extent``, ``origin`` ...
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default pyplot's current axes.

    Returns
    -------
    matplotlib.image.AxesImage
        Its colours range over the extremes of all elements.

    Notes
    -----
    Of 1,048,576 elements or more, engines add up those of each pixel where they have whole rows or
    columns, and send the sums: 16 bytes a pixel, once for each engine. Of other layouts, and of
    views, the element in the middle stands for its pixel. NaN and infinities do not count. When the
    axes show another part, that part is read when they are next drawn.

    Examples
    --------
    >>> import distnb as dnb
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> with dnb.inprocess(2):
    ...     picture = dnb.plot.imshow(dnb.ones((40, 30), dist="block"), ax=ax)
    >>> picture.get_array().shape
    (40, 30)
    >>> plt.close(figure)
    """
    return _draw("imshow", ax, (X, *args), options)


def plot(*args: Any, ax: Any = None, **options: Any) -> Any:
    """Draw lines through points, as ``matplotlib.pyplot.plot``.

    Of 1,048,576 points or more only those are read that their picture needs: of the points of half
    a pixel the first, the last, and those where the coordinates are extreme (Jugel et al., "M4: A
    Visualization-Oriented Time Series Data Aggregation", PVLDB 7, 2014).
    """
    return _draw("plot", ax, args, options)


def hist(x: Any, bins: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw a histogram, as ``matplotlib.pyplot.hist``; the engines count."""
    return _draw("hist", ax, (x, bins), options)


def scatter(x: Any, y: Any, s: Any = None, c: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw points, as ``matplotlib.pyplot.scatter``.

    Of 1,048,576 points or more there is one marker for all points in a cell of a third of its
    size: engines count them. Its colour is that of their mean, and ``alpha`` is that of as many
    markers one over the other.
    """
    return _draw("scatter", ax, (x, y, s, c), options)


def contour(*args: Any, ax: Any = None, **options: Any) -> Any:
    """Draw lines of one height, as ``matplotlib.pyplot.contour``, of the means of pixels."""
    return _draw("contour", ax, args, options)


def contourf(*args: Any, ax: Any = None, **options: Any) -> Any:
    """Fill what is between lines of one height, of the means of pixels."""
    return _draw("contourf", ax, args, options)


def pcolormesh(*args: Any, ax: Any = None, **options: Any) -> Any:
    """Draw cells of colour, as ``matplotlib.pyplot.pcolormesh``; cells are means of pixels."""
    return _draw("pcolormesh", ax, args, options)


def pcolor(*args: Any, ax: Any = None, **options: Any) -> Any:
    """Draw cells of colour, as ``matplotlib.pyplot.pcolor``; cells are means of pixels."""
    return _draw("pcolor", ax, args, options)


def matshow(Z: Any, *, ax: Any = None, **options: Any) -> Any:  # noqa: N803
    """Show a matrix, as ``matplotlib.axes.Axes.matshow``; pixels are means of their elements."""
    return _draw("matshow", ax, (Z,), options)


def spy(Z: Any, precision: Any = 0, *, ax: Any = None, **options: Any) -> Any:  # noqa: N803
    """Show where a matrix is not 0, as ``matplotlib.pyplot.spy``.

    Of 1,048,576 elements or more a pixel is black where one of its elements is: none is lost.
    """
    return _draw("spy", ax, (Z, precision), options)


def hexbin(x: Any, y: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw in hexagons how many points there are, as ``matplotlib.pyplot.hexbin``.

    Of 1,048,576 points or more engines count those in cells of a tenth of a hexagon, which belong
    to the hexagon where their middle is.
    """
    return _draw("hexbin", ax, (x, y), options)


def fill_between(x: Any, y1: Any, y2: Any = 0, *, ax: Any = None, **options: Any) -> Any:
    """Fill what is between two lines, as ``matplotlib.pyplot.fill_between``.

    Of 1,048,576 points or more those are read that one of the lines needs, as for :func:`plot`.
    """
    return _draw("fill_between", ax, (x, y1, y2), options)


def errorbar(x: Any, y: Any, yerr: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw a line with errors, as ``matplotlib.pyplot.errorbar``: at the points that it needs."""
    return _draw("errorbar", ax, (x, y, yerr), options)


def ecdf(x: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw shares of elements below each, as ``matplotlib.pyplot.ecdf``, in half pixels' steps."""
    return _draw("ecdf", ax, (x,), options)
