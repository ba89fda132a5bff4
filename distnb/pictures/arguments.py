"""What is given to matplotlib's functions, as what they are to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.pictures.binning import Window, block_means
from distnb.pictures.reducing import image

__all__ = [
    "LARGE",
    "as_arrays",
    "as_numpys",
    "columns_of",
    "curves",
    "is_large",
    "means_of",
    "on_grid",
    "shape_alone",
]

#: Elements from which a picture is made of what engines reduce; of fewer it is matplotlib's own.
LARGE = 1 << 20


def is_large(*arrays: Any) -> bool:
    """Tell whether there is an array of ours of so many elements."""
    return any(isinstance(x, DistArray) and x.size >= LARGE for x in arrays)


def shape_alone(x: Any) -> Any:
    """Return what matplotlib is to refuse, without its elements."""
    return np.empty((1,) * x.ndim, x.dtype) if is_large(x) else x


def as_arrays(*several: Any) -> list[Any]:
    """Return arrays of what is given, ours as they are."""
    return [x if x is None or isinstance(x, DistArray) else np.asarray(x) for x in several]


def as_numpys(options: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with arrays of ours as NumPy's, within the gather budget."""
    return {k: np.asarray(v) if isinstance(v, DistArray) else v for k, v in options.items()}


def means_of(x: Any, height: int, width: int) -> np.ndarray:
    """Return the means of blocks of a matrix."""
    if not isinstance(x, DistArray):
        return block_means(np.asarray(x), height, width)
    return image(x, Window(0, x.shape[0], 0, x.shape[1], height, width))[0]


def on_grid(x: Any, axis: int, shape: Ints, steps: Sequence[int], cells: bool) -> np.ndarray:
    """Return the coordinates of pixels along an axis of a matrix: their middles, or their borders.

    Borders if values are of ``cells``, and ``x`` is of the lines around them: of one more.
    """
    if np.ndim(x) != 2:
        n, step, given = shape[axis], steps[axis], np.asarray(x, float)
        return given[_borders(n, step)] if cells and len(given) == n + 1 else _middles(x, n, step)
    if not (cells and x.shape == (shape[0] + 1, shape[1] + 1)):
        return means_of(x, *steps)
    rows, columns = (_borders(n, step) for n, step in zip(shape, steps, strict=True))
    return np.asarray(x[rows][:, columns])


def _borders(n: int, step: int) -> np.ndarray:
    """Return between which rows, or columns, pixels of so many begin and end."""
    return np.append(np.arange(0, n, step), n)


def _middles(x: Any, n: int, step: int) -> np.ndarray:
    """Return the coordinates of the pixels' middles along an axis."""
    given = np.asarray(x, float)
    if given.ndim != 1 or len(given) not in (n, n + 1):
        raise TypeError(
            explain("coordinates", f"shape {given.shape}", f"({n},)", "one for each row or column")
        )
    if len(given) == n + 1:  # edges
        given = (given[1:] + given[:-1]) / 2
    return block_means(given[None], 1, step)[0]


def columns_of(x: Any) -> list[Any]:
    """Return the columns of a matrix, which are data sets of their own; all else as it is."""
    return [x[:, j] for j in range(x.shape[1])] if np.ndim(x) == 2 else [x]


def curves(args: tuple[Any, ...]) -> list[tuple[Any, Any, str | None]]:
    """Return x, y and style of each line that ``plot`` is asked for; columns are lines."""
    found, rest = [], list(args)
    while rest:
        x, y, style = None, rest.pop(0), None
        if rest and not isinstance(rest[0], str):
            x, y = y, rest.pop(0)
        if rest and isinstance(rest[0], str):
            style = rest.pop(0)
        if not is_large(x, y):
            found.append((x, y, style))
            continue
        x, y = as_arrays(x, y)
        if x is not None and x.shape[0] != y.shape[0]:
            raise ValueError(
                f"x and y must have same first dimension, but have shapes {x.shape} and {y.shape}"
            )
        if max(x.ndim if x is not None else 1, y.ndim) > 2:
            raise ValueError(f"x and y can be no greater than 2D, but have shape {y.shape}")
        many = max(a.shape[1] if a is not None and a.ndim > 1 else 1 for a in (x, y))
        for j in range(many):
            column = [a if a is None or a.ndim == 1 else a[:, j % a.shape[1]] for a in (x, y)]
            found.append((*column, style))
    return found
