"""Functions that look at the same elements in another way; nothing is copied or sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.record.creation import asarray
from distnb.client.record.indexing import lengths, one_axis, some_axes
from distnb.client.record.namespace import FUNCTIONS, public
from distnb.common.errors import explain
from distnb.geometry.slices import intersect, section

__all__: list[str] = []


# -- views -------------------------------------------------------------------------------------


@public("transpose", np.transpose)
def _transpose(a: Any, axes: Any = None) -> DistArray:
    """Return a view with its axes in another order."""
    return asarray(a).transpose(axes)


@public("permute_dims")
def _permute_dims(a: Any, axes: Any) -> DistArray:
    """Return a view with its axes in another order."""
    return asarray(a).transpose(axes)


@public("swapaxes", np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> DistArray:
    """Return a view with two axes exchanged."""
    return asarray(a).swapaxes(axis1, axis2)


@public("moveaxis", np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> DistArray:
    """Return a view with axes moved to other places."""
    x = asarray(a)
    np.moveaxis(np.empty((1,) * x.ndim), source, destination)  # NumPy checks
    pairs = zip(*(np.atleast_1d(v).tolist() for v in (source, destination)), strict=True)
    targets = {one_axis(d, x.ndim): one_axis(s, x.ndim) for s, d in pairs}
    rest = iter(d for d in range(x.ndim) if d not in targets.values())
    return x.transpose([targets[d] if d in targets else next(rest) for d in range(x.ndim)])


@public("flip", np.flip)
def _flip(m: Any, axis: Any = None) -> DistArray:
    """Return a view with the elements along axes in reverse order."""
    x = asarray(m)
    axes = some_axes(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(x.ndim))]


@public("expand_dims", np.expand_dims)
def _expand_dims(a: Any, axis: Any = 0) -> DistArray:
    """Return a view with new axes of length 1."""
    x = asarray(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    view = x._view
    for d in sorted(some_axes(tuple(given), x.ndim + len(given))):
        view = view.insert(d)
    return x._look(view)


@public("squeeze", np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> DistArray:
    """Return a view without axes of length 1."""
    return asarray(a).squeeze(axis)


@public("broadcast_to", np.broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> DistArray:
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
    return x._look(x._view.broadcast(wanted), writeable=False)


@public("broadcast_arrays", np.broadcast_arrays)
def _broadcast_arrays(*args: Any) -> tuple[DistArray, ...]:
    """Return read-only views of one shape."""
    arrays = [asarray(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(_broadcast_to(a, shape) for a in arrays)


@public("shares_memory", np.shares_memory)
def _shares_memory(a: Any, b: Any) -> bool:
    """Tell whether two views have an element in common (exact; nothing is sent)."""
    if not (isinstance(a, DistArray) and isinstance(b, DistArray)) or a._base is not b._base:
        return False
    return _views_meet(a, b)


def _views_meet(a: DistArray, b: DistArray) -> bool:
    """Tell whether views meet: the index sets of each base axis do (views are products)."""
    if a.size == 0 or b.size == 0:
        return False
    return all(intersect(x, y) for x, y in zip(_footprint(a), _footprint(b), strict=True))


def _footprint(a: DistArray) -> list[Any]:
    """Return, for each base axis, the section that a view covers."""
    found: dict[int, Any] = {axis: section(i, 1, 1, 1)[0] for axis, i in a._view.fixed}
    for n, (axis, start, step) in zip(a._view.shape, a._view.dims, strict=True):
        if axis >= 0:
            low = start if step > 0 else start + step * (n - 1)
            found[axis] = section(low, 1, max(1, abs(step)), n)[0]
    return [found[axis] for axis in range(len(a._base.shape))]


FUNCTIONS[np.may_share_memory] = _shares_memory
