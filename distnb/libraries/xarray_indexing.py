"""How xarray takes arrays of ours, put in place when this is imported, after xarray.

xarray asks arrays of the array API standard for less than ours do: its adapter for them writes to
pairs of positions where a block is meant, and refuses positions of several axes.

==================== ==========================================================================
function of xarray   what is done
==================== ==========================================================================
``as_indexable``     our arrays are indexed as NumPy's are
``_vindex_get``      positions in what is no array of ours, such as dates, are NumPy's
``expanded_indexer`` scalars in keys are numbers, masks without names of axes are NumPy's
``_resolve_group``   what is grouped by is NumPy's: its values are looked for in the notebook
``interp``           places between elements are NumPy's, as others know these alone
``interp`` of spline one NaN makes all NaN, as in SciPy's, also of other engines' parts
``apply_ufunc``      functions are called with our arrays, which are refused as dask's are
==================== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xarray import DataArray, Variable
from xarray.core import missing
from xarray.core.indexing import NdArrayLikeIndexingAdapter, VectorizedIndexer
from xarray.core.nputils import NumpyVIndexAdapter

from distnb.client.array.distarray import DistArray
from distnb.client.math.along_axis import vectorize
from distnb.libraries.hook import put_in_place

__all__: list[str] = []

_Function = Callable[..., Any]


class _Adapter(NdArrayLikeIndexingAdapter):
    """Indexes our arrays as xarray does NumPy's; positions may be on the engines, too."""

    __slots__ = ()

    def _vindex_get(self, indexer: VectorizedIndexer) -> Any:
        return NumpyVIndexAdapter(self.array)[indexer.tuple]  # type: ignore[no-untyped-call]


def _adapting(as_indexable: _Function) -> _Function:
    make: _Function = _Adapter
    return lambda array: make(array) if isinstance(array, DistArray) else as_indexable(array)


def _at_places(get: _Function) -> _Function:
    def got(self: Any, indexer: Any) -> Any:
        if not any(isinstance(k, DistArray) for k in indexer.tuple):
            return get(self, indexer)
        keys = [np.asarray(k) if isinstance(k, DistArray) else k for k in indexer.tuple]
        return get(self, type(indexer)(tuple(keys)))

    return got


def _knowing_keys(expanded_indexer: _Function) -> _Function:
    return lambda key, ndim: tuple([_key(k) for k in expanded_indexer(key, ndim)])


def _key(k: Any) -> Any:
    """Return a key as xarray's own tests of classes know it."""
    x = k.data if isinstance(k, Variable) and not k.ndim else k
    if not isinstance(x, DistArray):
        return k
    if not x.ndim:
        return x.item()
    return np.asarray(x) if x.dtype == bool else x


def _knowing_groups(resolve: _Function) -> _Function:
    def resolved(*args: Any, **options: Any) -> Any:
        group = resolve(*args, **options)
        if isinstance(group, DataArray) and isinstance(group.variable._data, DistArray):
            return group.copy(data=np.asarray(group.data))
        return group

    return resolved


def _knowing_places(validate: _Function) -> _Function:
    def validated(self: Any, indexers: dict[Any, Any]) -> Any:
        ours = {k: np.asarray(x)[()] for k, x in indexers.items() if isinstance(x, DistArray)}
        return validate(self, {**indexers, **ours})

    return validated


#: What SciPy fits to all elements at once.
_SPLINES = frozenset(("quadratic", "cubic", "polynomial"))


def _knowing_gaps(interpolate: _Function) -> _Function:
    def interpolated(var: Variable, places: Any, *, method: str, kwargs: dict[str, Any]) -> Any:
        found = interpolate(var, places, method=method, kwargs=kwargs)
        data, ours = found._data, var._data
        if not (isinstance(data, DistArray) and isinstance(ours, DistArray)) or len(places) > 1:
            return found
        at = {d for _, to in places.values() for d in to.dims} - {*places}
        if method not in _SPLINES or at & {*var.dims} or not bool(np.isnan(ours).any()):
            return found  # or each slice is interpolated by itself
        ((points, to),) = places.values()
        beyond = (to < points.min()) | (to > points.max())
        return found.where(beyond & (kwargs.get("fill_value") != "extrapolate"))

    return interpolated


def _calling(apply: _Function) -> _Function:
    def applied(function: _Function, *args: Any, **options: Any) -> Any:
        data = [getattr(x, "_data", x) for x in args]
        cut = [x for x in data if hasattr(x, "chunks")]
        if cut and options.get("dask") == "forbidden" and all(type(x) is DistArray for x in cut):
            options["dask"] = "allowed"
            if options.get("vectorize"):  # which xarray leaves to those that are allowed
                function = _slice_by_slice(function, **options)
        return apply(function, *args, **options)

    return applied


def _slice_by_slice(
    function: _Function,
    signature: Any,
    output_dtypes: Any = None,
    exclude_dims: Any = frozenset(),
    **_: object,
) -> _Function:
    """Return what calls a function with each slice along the axes that it takes."""
    text = signature.to_gufunc_string(exclude_dims) if signature.all_core_dims else None
    return vectorize(function, otypes=output_dtypes, signature=text)


put_in_place("xarray.core.indexing", "as_indexable", _adapting)
put_in_place("xarray.core.indexing", "expanded_indexer", _knowing_keys)
for _name in ("Numpy", "Pandas"):
    put_in_place("xarray.core.indexing", f"{_name}IndexingAdapter._vindex_get", _at_places)
put_in_place("xarray.core.groupby", "_resolve_group", _knowing_groups)
put_in_place("xarray.core.dataset", "Dataset._validate_interp_indexers", _knowing_places)
put_in_place(missing.__name__, "interpolate_variable", _knowing_gaps)
for _name in ("apply_variable_ufunc", "apply_array_ufunc"):
    put_in_place("xarray.computation.apply_ufunc", _name, _calling)
