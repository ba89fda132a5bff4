"""Grids of coordinates: ``meshgrid``, ``mgrid``, ``ogrid``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import broadcast, copied
from distnb.client.handle.host_arrays import home
from distnb.client.handle.scalars import numbers_in
from distnb.client.record.creation import asarray, empty
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign
from distnb.client.record.ranges import arange
from distnb.client.shape.reshaping import ravel
from distnb.geometry.layout import default_layout

__all__: list[str] = []


@stands_for(np.meshgrid, small="grows")
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Return coordinates of a grid, as ``numpy.meshgrid``.

    All results have the default layout, so that they meet without messages: engines are sent what
    they need of each vector. With ``copy=False`` they are views of the vectors, and nothing is
    sent.

    Parameters
    ----------
    *xi : array_like
        The coordinates along each axis, in one axis.
    copy : bool
        Whether to return copies.
    sparse : bool
        Whether to return arrays that broadcast to the whole ones.
    indexing : {'xy', 'ij'}
        Whether the first vector goes along the second axis or the first.

    Returns
    -------
    tuple of DistArray
        One for each vector.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x, y = dnb.meshgrid([1, 2, 3], [10, 20])
    ...     (x + y).to_numpy()
    array([[11, 12, 13],
           [21, 22, 23]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    flat = [ravel(asarray(x)) for x in xi]
    order = list(range(len(flat)))
    if indexing == "xy" and len(flat) > 1:
        order[:2] = [1, 0]
    shape = tuple(flat[d].size for d in order)
    views = []
    for d, x in enumerate(flat):
        at = order.index(d)
        view = x[(*(None,) * at, slice(None), *(None,) * (len(flat) - at - 1))]
        views.append(view if sparse else broadcast(view, shape))
    return tuple(_copied_home(v) for v in views) if copy else tuple(views)


def _copied_home(x: Array) -> Array:
    """Return a copy in the layout of a new array of its shape."""
    size = x.session.size
    layout = home(x.shape, x.dtype, size)
    there = layout.here and x.here is None
    return copied(x, x.dtype, default_layout(x.shape, size) if there else layout)


def _spaced(start: Any, stop: Any, length: Any) -> Any:
    """Return so many numbers, the last one being ``stop``, by NumPy's formula."""
    n = int(length)
    step = 1 if n == 1 else (stop - start) / float(n - 1)
    return arange(n, dtype=np.result_type(start, stop, length)) * step + start


class Grids:
    """What ``mgrid`` and ``ogrid`` are: coordinates of a grid, asked for by slices.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.mgrid[:2, 0:1:3j].to_numpy()
    array([[[0. , 0. , 0. ],
            [1. , 1. , 1. ]],
    <BLANKLINE>
           [[0. , 0.5, 1. ],
            [0. , 0.5, 1. ]]])
    """

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        key = tuple(map(_known, key)) if isinstance(key, tuple) else _known(key)
        if isinstance(key, slice):
            start, step = 0 if key.start is None else key.start, 1 if key.step is None else key.step
            if isinstance(step, complex | np.complexfloating):
                return _spaced(start, key.stop, abs(step))
            return arange(start, key.stop, step)
        axes = np.ogrid[key]
        if self.sparse:
            return tuple(asarray(a) for a in axes)
        shape = tuple(a.size for a in axes)
        found = empty((len(axes), *shape), np.result_type(*axes))
        near = found.here
        for d, a in enumerate(axes):
            if near is None:
                assign(found[d], a)
            else:  # the same, without an array for each
                near[d] = a
        return found


def _known(key: object) -> Any:
    """Return a slice with numbers that the notebook has."""
    if not isinstance(key, slice):
        return key
    return slice(numbers_in(key.start), numbers_in(key.stop), numbers_in(key.step))


mgrid, ogrid = Grids(False), Grids(True)
