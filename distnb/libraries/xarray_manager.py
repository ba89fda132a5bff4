"""xarray's chunk manager ``"distnb"``: datasets whose arrays are on the engines.

xarray finds it by its entry point, and asks it what it would ask dask. To xarray an array of ours
is one chunk: functions get all of it, and files are cut as their formats do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from xarray.namedarray.parallelcompat import ChunkManagerEntrypoint

from distnb.client.array.distarray import DistArray
from distnb.client.files.reading import Source
from distnb.client.files.unread import unread
from distnb.client.handle.array import storable
from distnb.client.handle.indexing import some_axes
from distnb.client.math.blocks import map_blocks
from distnb.client.parts.foreach import foreach
from distnb.client.record.creation import asarray, full
from distnb.client.select.taking import take
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.formats.objects import Elements
from distnb.formats.stored import Stored
from distnb.geometry.layout import Ints
from distnb.geometry.views import View
from distnb.libraries.xarray_parts import Chunks, dist_of, for_parts, normalized, put

__all__ = ["ChunkManager"]


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
        chunks: Chunks,
        shape: Ints | None = None,
        limit: int | None = None,
        dtype: Any = None,
        previous_chunks: Any = None,
    ) -> Any:
        """Return chunks as lengths along each axis."""
        if shape is None:
            raise TypeError(explain("normalize_chunks()", "no shape", "one", "pass shape="))
        return normalized(chunks, shape)

    def from_array(
        self,
        data: Any,
        chunks: Chunks,
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
            dist = dist_of(cut)
        lengths = tuple([max(1, lengths[0]) if lengths else 1 for lengths in cut])
        dtype = np.dtype(data.dtype).newbyteorder("=").str
        stored = Stored("object", "xarray", (), tuple(data.shape), dtype, lengths, ())
        source = Source(stored, Elements(data))
        return unread(source, View.whole(stored.shape), dist, grid, session)

    def rechunk(self, data: DistArray, chunks: Chunks, **options: object) -> Any:
        """Return an array whose axes of one chunk are not split, if others are to be."""
        dist = dist_of(self.normalize_chunks(chunks, data.shape))
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
        return for_parts(task, signature, args)

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
            put(x, target, region)


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
