"""xarray's chunks: lengths along each axis; functions that it applies to parts; parts it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.files.reading import slabs
from distnb.client.files.writing import write
from distnb.client.handle.array import storable
from distnb.client.parts.foreach import foreach
from distnb.client.record.creation import asarray
from distnb.common.errors import explain
from distnb.formats.libraries.zarrs import stored_of
from distnb.geometry.layout import Ints

__all__ = ["Chunks", "dist_of", "for_parts", "normalized", "put"]

#: What of dask's and of xarray's options says nothing to us.
Chunks = Any

#: An argument, or a result, in the signature of a generalized ufunc.
_ARGUMENT = re.compile(r"\(([^()]*)\)")


def normalized(chunks: Chunks, shape: Ints) -> tuple[Ints, ...]:
    """Return chunks as lengths along each axis."""
    return tuple([_cut(_asked(chunks, d), n) for d, n in enumerate(shape)])


def _asked(chunks: Chunks, d: int) -> Any:
    """Return what is asked for along an axis."""
    if isinstance(chunks, dict):
        return chunks.get(d)
    return chunks[d] if isinstance(chunks, tuple | list) else chunks


def _cut(chunk: Any, n: int) -> Ints:
    """Return the lengths of chunks along an axis.

    >>> _cut(4, 10), _cut("auto", 10), _cut(-1, 10), _cut((5, 5), 10)
    ((4, 4, 2), (10,), (10,), (5, 5))
    """
    if isinstance(chunk, tuple | list):
        return tuple(chunk)
    if chunk is None or isinstance(chunk, str) or chunk < 1 or chunk >= n:
        return (n,)
    whole, rest = divmod(n, int(chunk))
    return (int(chunk),) * whole + ((rest,) if rest else ())


def dist_of(cut: Sequence[Ints]) -> tuple[str, ...] | None:
    """Return the layout along the axis of most chunks; None if that is where arrays are cut anyway.

    >>> dist_of(((4,), (2, 2, 2))), dist_of(((2, 2), (3, 3))), dist_of(((4,),))
    (('*', 'block'), None, None)
    """
    many = [len(lengths) for lengths in cut]
    if max(many, default=1) == 1 or many[0] > 1:
        return None
    best = many.index(max(many))
    return tuple(["block" if d == best else "*" for d in range(len(many))])


def for_parts(task: Callable[..., Any], signature: str, args: Sequence[Any]) -> Any:
    """Call a function for parts along the longest of the axes that it does not name.

    One that has no other axes is called here, for NumPy's arrays, as each engine would call it, and
    what it returns is distributed.
    """
    ins, _, outs = signature.partition("->")
    named = [len(found.split(",")) if found else 0 for found in _ARGUMENT.findall(ins)]
    several = len(_ARGUMENT.findall(outs))
    split = _split(args, named)
    if split is None:
        found = task(*[np.asarray(x) for x in args])
        return _ours(found) if several == 1 else tuple(map(_ours, found))
    if several == 1:
        return foreach(task, *split)
    return tuple([foreach(_Output(task, k), *split) for k in range(several)])


def _ours(x: Any) -> Any:
    """Return a result as our array, if engines can hold such."""
    return asarray(x) if storable(np.asarray(x).dtype) else x


class _Output:
    """Calls a function for one of its results."""

    def __init__(self, function: Callable[..., Any], place: int) -> None:
        self._function, self._place = function, place

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)[self._place]


def _split(args: Sequence[Any], named: Sequence[int]) -> list[Any] | None:
    """Return arguments cut along the longest axis that the function does not name; None if none."""
    loops = [np.shape(x)[: np.ndim(x) - k] for x, k in zip(args, named, strict=True)]
    shape = np.broadcast_shapes(*loops)
    if max(shape, default=1) == 1:
        return None
    axis = shape.index(max(shape))
    found = list[Any]()
    for x, loop in zip(args, loops, strict=True):
        missing = len(shape) - len(loop)
        is_whole = axis < missing or loop[axis - missing] == 1
        if not storable(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype):  # times, texts
            if not is_whole:
                return None
            found.append(np.asarray(x))
        else:
            array = asarray(x) if np.ndim(x) else x
            found.append(array if is_whole else array[(None,) * missing].splits(axis=axis))
    return found


def put(x: DistArray, target: Any, region: Any) -> None:
    """Write an array into a region of what has an index."""
    stored, origin = stored_of(target), _begins(region, x)
    if stored is not None:
        write(x, stored, origin=origin)
        return
    for low, high in slabs(x.shape, x.itemsize, 1) if x.ndim else [(0, 0)]:
        part = x[low:high] if x.ndim else x
        key = [slice(o, o + n) for o, n in zip(origin, part.shape, strict=True)]
        if key:
            key[0] = slice(origin[0] + low, origin[0] + high)
        target[tuple(key)] = part.to_numpy()


def _begins(region: Any, x: DistArray) -> Ints:
    """Return where a region of a target begins, along each axis."""
    keys = region or (slice(None),) * x.ndim
    steps = {key.step for key in keys} - {None, 1}
    if steps:
        raise ValueError(explain("region", region, "slices of step 1", "write part by part"))
    return tuple([key.start or 0 for key in keys])
