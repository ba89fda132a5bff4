"""xarray's chunk manager ``"distnb"``: datasets whose arrays are on the engines.

xarray finds it by its entry point, and asks it what it would ask dask. To xarray an array of ours
is one chunk: functions get all of it, and files are cut as their formats do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from xarray.namedarray.parallelcompat import ChunkManagerEntrypoint

from distnb.client.array.distarray import DistArray
from distnb.client.files.reading import Source, slabs
from distnb.client.files.unread import unread
from distnb.client.files.writing import write
from distnb.client.handle.array import storable
from distnb.client.handle.indexing import some_axes
from distnb.client.math.blocks import map_blocks
from distnb.client.parts.foreach import foreach
from distnb.client.record.creation import asarray, full
from distnb.client.select.taking import take
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.formats.libraries.zarrs import stored_of
from distnb.formats.objects import Elements
from distnb.formats.stored import Stored
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["ChunkManager"]

#: What of dask's and of xarray's options says nothing to us.
_Chunks = Any


class ChunkManager(ChunkManagerEntrypoint[DistArray]):
    """What xarray asks of those who hold its arrays; see ``docs/xarray.md``."""

    array_cls = DistArray

    def __init__(self) -> None:
        """Nothing is to be kept."""

    def chunks(self, data: DistArray) -> Any:
        """Return the chunks that xarray shows: one."""
        return data.chunks

    def normalize_chunks(
        self,
        chunks: _Chunks,
        shape: Ints | None = None,
        limit: int | None = None,
        dtype: Any = None,
        previous_chunks: Any = None,
    ) -> Any:
        """Return chunks as lengths along each axis."""
        if shape is None:
            raise TypeError(explain("normalize_chunks()", "no shape", "one", "pass shape="))
        return tuple([_cut(_along(chunks, d), n) for d, n in enumerate(shape)])

    def from_array(
        self,
        data: Any,
        chunks: _Chunks,
        *,
        dist: Any = None,
        grid: Any = None,
        session: Session | None = None,
        **options: object,
    ) -> Any:
        """Return an array of what is in a file, read when it is used; others are made at once.

        A word for each axis in ``dist`` is for arrays of as many axes.
        """
        if isinstance(dist, tuple) and len(dist) != data.ndim:
            dist = grid = None
        if not storable(np.dtype(data.dtype)):  # times and texts stay NumPy's
            return np.asarray(data)
        if isinstance(data, np.ndarray | DistArray):
            return asarray(data, dist=dist, grid=grid, session=session)
        cut = self.normalize_chunks(chunks, data.shape)
        if dist is None and grid is None:
            dist = _along_chunks(cut)
        lengths = tuple([max(1, lengths[0]) if lengths else 1 for lengths in cut])
        dtype = np.dtype(data.dtype).newbyteorder("=").str
        stored = Stored("object", "xarray", (), tuple(data.shape), dtype, lengths, ())
        source = Source(stored, Elements(data))
        return unread(source, View.whole(stored.shape), dist, grid, session)

    def rechunk(self, data: DistArray, chunks: _Chunks, **options: object) -> Any:
        """Return an array whose axes of one chunk are not split, if others are to be."""
        dist = _along_chunks(self.normalize_chunks(chunks, data.shape))
        return data if dist is None else data.redistribute(dist)

    def compute(self, *data: Any, **options: object) -> Any:
        """Read what is in files; arrays stay on the engines, as ``.values`` gathers."""
        for x in data:
            if isinstance(x, DistArray) and not x.at_home:
                x.operand  # noqa: B018 - what is unread is read now
        return data

    persist = compute

    @property
    def array_api(self) -> Any:
        """Where xarray finds ``full``."""
        return _Namespace

    def map_blocks(
        self, func: Callable[..., Any], *args: Any, dtype: Any = None, **options: Any
    ) -> Any:
        """Apply a function that keeps shapes to parts of arrays."""
        for name in ("chunks", "drop_axis", "new_axis"):
            if options.pop(name, None) is not None:
                raise NotImplementedError(
                    explain("map_blocks()", f"{name}=", "a function that keeps shapes", "gather")
                )
        return map_blocks(partial(func, **options) if options else func, *args, dtype=dtype)

    def apply_gufunc(
        self,
        func: Callable[..., Any],
        signature: str,
        *args: Any,
        vectorize: bool | None = None,
        output_dtypes: Any = None,
        output_sizes: object = None,
        allow_rechunk: object = None,
        meta: object = None,
        **options: Any,
    ) -> Any:
        """Call a function for parts along the longest of the axes that it does not name."""
        if vectorize:
            func = np.vectorize(func, signature=signature, otypes=output_dtypes)
        task = partial(func, **options) if options else func
        ins, _, outs = signature.partition("->")
        named = [len(found.split(",")) if found else 0 for found in _ARGUMENT.findall(ins)]
        several = len(_ARGUMENT.findall(outs))
        split = _split(args, named)
        if split is None:
            return task(*[np.asarray(x) for x in args])
        if several == 1:
            return foreach(task, *split)
        return tuple([foreach(_Output(task, k), *split) for k in range(several)])

    def reduction(
        self,
        arr: DistArray,
        func: Callable[..., Any],
        combine_func: object = None,
        aggregate_func: Callable[..., Any] | None = None,
        axis: int | Sequence[int] | None = None,
        dtype: object = None,
        keepdims: bool = False,
    ) -> Any:
        """Reduce along axes by a function of parts, each of which has these axes whole."""
        axes = some_axes(axis if axis is None or isinstance(axis, int) else tuple(axis), arr.ndim)
        others = [d for d in range(arr.ndim) if d not in axes and arr.shape[d] > 1]
        given = axes if len(axes) > 1 else axes[0]
        task = partial(aggregate_func or func, axis=given, keepdims=True)
        if others:
            found = foreach(task, arr.splits(axis=max(others, key=lambda d: arr.shape[d])))
        else:
            found = task(np.asarray(arr))
        return found if keepdims else found.squeeze(axes)

    def unify_chunks(self, *args: Any, **options: object) -> Any:
        """Return arrays as they are: all are one chunk."""
        return {}, list(args[::2])

    def shuffle(self, x: DistArray, indexer: list[list[int]], axis: int, chunks: object) -> Any:
        """Return elements in another order along an axis."""
        return take(x, np.concatenate([np.asarray(some, int) for some in indexer]), axis=axis)

    def store(  # type: ignore[override]
        self,
        sources: Sequence[DistArray],
        targets: Sequence[Any],
        regions: Sequence[Any] | None = None,
        compute: bool = True,
        **options: object,
    ) -> None:
        """Write arrays: each engine its part into Zarr, others slab by slab from here."""
        if not compute:
            raise NotImplementedError(
                explain("compute", False, "True", "leave it out: arrays are written at once")
            )
        for x, target, region in zip(
            sources, targets, regions or [None] * len(sources), strict=True
        ):
            _put(x, target, _begins(region, x))


class _Namespace:
    """The functions of ours by which xarray makes arrays."""

    @staticmethod
    def full(
        shape: Ints,
        fill_value: Any,
        dtype: DTypeLike | None = None,
        chunks: object = None,
        **options: Any,
    ) -> Any:
        """Return a filled array."""
        if dtype is not None and not storable(np.dtype(dtype)):
            return np.full(shape, fill_value, dtype)
        return full(shape, fill_value, dtype, **options)


# -- chunks ----------------------------------------------------------------------------------------


def _along(chunks: _Chunks, d: int) -> Any:
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


def _along_chunks(cut: Sequence[Ints]) -> tuple[str, ...] | None:
    """Return the layout along the axis of most chunks; None if that is where arrays are cut anyway.

    >>> _along_chunks(((4,), (2, 2, 2))), _along_chunks(((2, 2), (3, 3))), _along_chunks(((4,),))
    (('*', 'block'), None, None)
    """
    many = [len(lengths) for lengths in cut]
    if max(many, default=1) == 1 or many[0] > 1:
        return None
    best = many.index(max(many))
    return tuple(["block" if d == best else "*" for d in range(len(many))])


# -- functions of parts ----------------------------------------------------------------------------

#: An argument, or a result, in the signature of a generalized ufunc.
_ARGUMENT = re.compile(r"\(([^()]*)\)")


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
        array = asarray(x) if np.ndim(x) else x
        missing = len(shape) - len(loop)
        if axis < missing or loop[axis - missing] == 1:
            found.append(array)
        else:
            found.append(array[(None,) * missing].splits(axis=axis))
    return found


# -- writing ---------------------------------------------------------------------------------------


def _begins(region: Any, x: DistArray) -> Ints:
    """Return where a region of a target begins, along each axis."""
    keys = region or (slice(None),) * x.ndim
    steps = {key.step for key in keys} - {None, 1}
    if steps:
        raise ValueError(explain("region", region, "slices of step 1", "write part by part"))
    return tuple([key.start or 0 for key in keys])


def _put(x: DistArray, target: Any, origin: Ints) -> None:
    """Write an array into what has an index, from a place on."""
    stored = stored_of(target)
    if stored is not None:
        write(x, stored, origin=origin)
        return
    for low, high in slabs(x.shape, x.itemsize, 1) if x.ndim else [(0, 0)]:
        part = x[low:high] if x.ndim else x
        key = [slice(o, o + n) for o, n in zip(origin, part.shape, strict=True)]
        if key:
            key[0] = slice(origin[0] + low, origin[0] + high)
        target[tuple(key)] = part.to_numpy()
