"""Functions that look at the same elements in another way; nothing is copied or sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.aliasing import are_related, outline
from distnb.client.handle.arguments import Axes, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.indexing import lengths, one_axis, some_axes
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.common.errors import explain

__all__: list[str] = []


# -- views -------------------------------------------------------------------------------------


@stands_for(np.transpose)
def transpose(a: ArrayLike, axes: Axes = None) -> Array:
    """Return a view with its axes in another order."""
    return asarray(a).transpose(axes)


def permute_dims(a: ArrayLike, axes: Sequence[SupportsIndex]) -> Array:
    """Return a view with its axes in another order."""
    return asarray(a).transpose(axes)


@stands_for(np.swapaxes)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Return a view with two axes exchanged."""
    return asarray(a).swapaxes(axis1, axis2)


@stands_for(np.moveaxis)
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """Return a view with axes moved to other places."""
    x = asarray(a)
    np.moveaxis(np.empty((1,) * x.ndim), source, destination)  # NumPy checks
    pairs = zip(*(np.atleast_1d(v).tolist() for v in (source, destination)), strict=True)
    targets = {one_axis(d, x.ndim): one_axis(s, x.ndim) for s, d in pairs}
    rest = iter(d for d in range(x.ndim) if d not in targets.values())
    return x.transpose([targets[d] if d in targets else next(rest) for d in range(x.ndim)])


@stands_for(np.flip)
def flip(m: ArrayLike, axis: Axes = None) -> Array:
    """Return a view with the elements along axes in reverse order."""
    x = asarray(m)
    axes = some_axes(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(x.ndim))]


@stands_for(np.expand_dims)
def expand_dims(a: ArrayLike, axis: Axes) -> Array:
    """Return a view with new axes of length 1."""
    x = asarray(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    view = x.dview
    for d in sorted(some_axes(tuple(given), x.ndim + len(given))):
        view = view.insert(d)
    return x.alias(view)


@stands_for(np.squeeze)
def squeeze(a: ArrayLike, axis: Axes = None) -> Array:
    """Return a view without axes of length 1."""
    return asarray(a).squeeze(axis)


@stands_for(np.broadcast_to)
def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> Array:
    """Return a read-only view stretched to a shape."""
    x = asarray(array)
    wanted = lengths(shape)
    try:
        good = np.broadcast_shapes(x.shape, wanted) == wanted
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            explain(
                "broadcast_to", f"shape {x.shape}", f"one that stretches to {wanted}", "reshape"
            )
        )
    return x.alias(x.dview.broadcast(wanted), writeable=False)


@stands_for(np.broadcast_arrays)
def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Return read-only views of one shape."""
    arrays = [asarray(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(broadcast_to(a, shape) for a in arrays)


@stands_for(np.shares_memory, np.may_share_memory)
def shares_memory(a: ArrayLike, b: ArrayLike) -> bool:
    """Tell whether two views have an element in common (exact; nothing is sent)."""
    if not (isinstance(a, Array) and isinstance(b, Array)):
        return False
    if a.dbase is b.dbase:
        return a.dview.meets(b.dview)
    return are_related(a.dbase, b.dbase) and np.shares_memory(outline(a), outline(b))
