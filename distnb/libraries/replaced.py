"""Libraries that know arrays by their classes get NumPy's: put in place when they are imported.

pandas, h5py and Zarr take other arrays for lists: to pandas a mask is a list of rows 0 and 1. To
SciPy an output is a dtype, and no operand of a sparse array. There is no protocol to tell them
otherwise. But all that users hand over passes through few functions of these libraries. There
arrays of ours become NumPy's, within the gather budget, and scalars become NumPy's scalars.

======================================== =======================================================
function of pandas                       what passes through it
======================================== =======================================================
``apply_if_callable``                    keys in brackets; conditions and values of ``where``
``item_from_zerodim``                    the other operand of an operator; keys of an index
``maybe_prepare_scalar_for_op``          that of ``df.add`` and its like
``_flex_method``                         that of ``series.add`` and its like
``array_ufunc``, ``__array_ufunc__``     operands of ufuncs
``check_array_indexer``                  keys in brackets of pandas' own arrays and indexes
``extract_array``, ``sanitize_array``    what becomes a column or a part of one
``infer_dtype_from_scalar``              what is repeated in a column
``date_range``, ...                      how many of them, and their ends
``_ensure_arraylike``, ``get_grouper``   what is sorted into groups
``to_arrays``                            what becomes rows
``Series``, ``DataFrame``, ``array``     with ``copy=False`` the memory, or what cannot be written
``_MergeOperation``                      keys of ``merge`` that are no columns
methods of classes                       what these look at before they call one of the others
``maybe_convert_objects``, ``map_infer`` lists, and results of users' functions: scalars in them
**of h5py**: ``select``                  keys in brackets
``write_direct``                         what is written
**of Zarr**: ``pop_fields``              keys in brackets
``NDBuffer``                             what is written
**of SciPy**: ``ndimage.label``, ...     what is written into; refused if it is on engines
``gaussian_kde``, ``find_peaks``, ...    what compiled code is given, after no ``asarray``
``welch``, ``stft``, ...                 what it takes apart, each part for itself
``sosfilt``, ``chi2_kernel``, ...        what it reads, from memory that it asks to write
``minimize``, ``least_squares``, ...     results of users' functions
``aslinearoperator``                     matrices, by which engines multiply
``isscalarlike``                         what may be a number
``IndexMixin``                           keys in brackets of sparse arrays that are assigned to
all of ``linalg.blas``, ``lapack``       all; what they write comes back
operators of ``scipy.sparse``            the other operand, with which distnb's do the same
its classes and functions                sparse arrays, for SciPy's
**of scikit-learn**: ``ParameterGrid``   what parameters are tried
``validate_parameter_constraints``       whether parameters are arrays: none is read
**of others**: ``fromarray``, ...        what is no array to a picture, or to Arrow beside a mask
``to_networkx_graph``                    matrices, which else are lists of edges
**of statsmodels**: ``handle_data``      what is modelled, and by what
**of Matplotlib**: ``streamplot``        velocities, which it reads one by one
**of Polars**: ``Series``, ...           what becomes a column, or a literal; masks
**of PyTorch**: ``from_numpy``           what becomes a tensor
``collate``                              samples that become a batch, which may be tuples of them
**of sparse**: ``matmul``, ``COO``, ...  what is multiplied, or made sparse
**of SymPy**: ``converter``, ``Float``   numbers and arrays
**of NumPy**: ``polyval``, ...           points, at which ours evaluate series
``poly1d``                               what polynomials are divided by: numbers are no arrays
======================================== =======================================================
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.handle.array import in_memory, sealed
from distnb.client.sparse.base import Sparse
from distnb.common.errors import explain
from distnb.libraries.hook import put_in_place, unseen
from distnb.libraries.sparse_operands import (
    DENSE_RESULT,
    LATER,
    SPARSE,
    SPARSE_RESULT,
    densely,
    numpys,
    sparsely,
    take_sparse_arrays,
    taking,
)

__all__ = ["install"]

_Function = Callable[..., Any]

#: Module -> the functions and methods of it to which arrays of ours come as NumPy's.
_TAKE_ARRAYS = {
    "pandas._libs.lib": "item_from_zerodim",
    "pandas.core.construction": "extract_array sanitize_array",
    "pandas.core.internals.construction": "to_arrays",
    "pandas.core.dtypes.cast": "infer_dtype_from_scalar",
    "pandas.core.ops.array_ops": "maybe_prepare_scalar_for_op",
    "pandas.core.arraylike": "array_ufunc",
    "pandas.core.algorithms": "_ensure_arraylike",
    "pandas.core.arrays.masked": "BaseMaskedArray.__array_ufunc__",
    "pandas.core.arrays.sparse.array": "SparseArray.__array_ufunc__",
    "pandas.core.indexers.utils": "check_array_indexer",
    "pandas.core.indexes.base": "Index.delete",
    "pandas.core.frame": "DataFrame._align_for_op",
    "pandas.core.series": "Series._flex_method",
    "pandas.core.util.hashing": "hash_array",
    "pandas.core.indexes.datetimes": "bdate_range date_range",
    "pandas.core.indexes.interval": "interval_range",
    "pandas.core.indexes.period": "period_range",
    "pandas.core.indexes.timedeltas": "timedelta_range",
    "h5py._hl.dataset": "Dataset.write_direct",
    "zarr.core.buffer.core": "NDBuffer.__init__",
    "numpy": "poly1d.__truediv__ poly1d.__rtruediv__",
    "scipy.sparse._base": "_spbase.__truediv__",
    "scipy.sparse._dok": "_dok_base.__truediv__",
    "scipy.sparse._lil": "_lil_base.__truediv__",
    "networkx.convert": "to_networkx_graph",
    "scipy.io.wavfile": "write",
    "sympy.core.numbers": "Float.__new__",
    "scipy.signal": """
        coherence csd istft lombscargle periodogram spectrogram stft welch
        ShortTimeFFT.istft ShortTimeFFT.stft_detrend
    """,
    "scipy.linalg.interpolative": """
        estimate_rank estimate_spectral_norm estimate_spectral_norm_diff interp_decomp
        reconstruct_interp_matrix reconstruct_matrix_from_id reconstruct_skel_matrix id_to_svd svd
    """,
    "scipy.optimize": "isotonic_regression lsq_linear",
    "scipy.stats": """
        gaussian_kde.__init__ gaussian_kde.evaluate gaussian_kde.logpdf gaussian_kde.set_bandwidth
        shapiro
    """,
    "matplotlib.axes._axes": "Axes.streamplot",
    "matplotlib.colors": "LightSource.hillshade",
    "PIL.Image": "fromarray",
    "scipy.stats._multivariate": "normal_inverse_gamma_gen._logpdf normal_inverse_gamma_gen._pdf",
    "statsmodels.base.data": "handle_data",
    "polars.series.series": "Series.__init__ Series.filter",
    "polars.dataframe.frame": "DataFrame.__init__ DataFrame.filter",
    "polars.functions": "lit",
    "torch": "from_numpy",
    "sparse.numba_backend._common": "dot matmul tensordot",
    "sparse.numba_backend._compressed.compressed": "GCXS.__init__",
    "sparse.numba_backend._coo.core": "COO.__init__",
    "sparse.numba_backend._dok": "DOK.__init__",
    "sparse.numba_backend._sparse_array": "SparseArray.__array_ufunc__",
}
#: Those whose compiled code asks for memory that it may write, and does not. By the array API they
#: compute without it.
_TAKE_COPIES = {
    "scipy.interpolate": "NdPPoly.__init__ NdPPoly.__call__",
    "scipy.signal": "sosfilt sosfiltfilt",
    "scipy.spatial": "KDTree.count_neighbors",
    "scipy.spatial.transform": """
        Rotation.apply Rotation.from_euler Rotation.from_matrix Rotation.from_mrp Rotation.from_quat
        Rotation.from_rotvec Slerp.__init__ Slerp.__call__
    """,
    "sklearn.metrics.pairwise": "additive_chi2_kernel chi2_kernel",
}
#: Those to which they come also in slices, tuples and lists.
_TAKE_KEYS = {
    "pandas.core.common": "apply_if_callable",
    "pandas.core.groupby.grouper": "get_grouper",
    "pandas.core.frame": "DataFrame.set_index",
    "pandas.core.indexes.base": "Index.__contains__ Index.get_loc",
    "pandas.core.indexes.multi": "MultiIndex.__contains__ MultiIndex.get_loc",
    "pandas.core.indexes.range": "RangeIndex.__contains__ RangeIndex.get_loc",
    "pandas.core.indexing": """
        _ScalarAccessIndexer.__getitem__ _ScalarAccessIndexer.__setitem__ _AtIndexer.__getitem__
        _AtIndexer.__setitem__
    """,
    "h5py._hl.selections": "select",
    "zarr.core.indexing": "pop_fields",
    "scipy.signal": "find_peaks",
    "scipy.sparse._index": "IndexMixin.__setitem__",
    "pandas.core.reshape.merge": "_MergeOperation.__init__",
    "pyarrow.lib": "array scalar",
    "torch.utils.data._utils.collate": "collate",
}
#: Those that keep the memory that they are given where they are told to make no copy.
_KEEP = {
    "pandas.core.construction": "array",
    "pandas.core.frame": "DataFrame.__init__",
    "pandas.core.series": "Series.__init__",
}
#: Those that hand on to compiled code what users' functions return.
_CALL_BACK = {"scipy.linalg": "funm", "scipy.optimize": "least_squares minimize"}
#: Those that write into arrays of NumPy's, and take all else for dtypes.
_WRITE = {
    "scipy.ndimage": """
        binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
        binary_opening binary_propagation distance_transform_cdt distance_transform_edt label
        morphological_gradient morphological_laplace watershed_ift zoom
    """,
    "scipy.spatial.distance": "cdist pdist",
}
#: What asks whether something is a number: of ours those without axes are.
_ASK_FOR_NUMBERS = {"scipy.sparse._sputils": "isscalarlike"}
#: Modules of series, and how the names of their functions begin and end.
_SERIES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "laguerre": "lag",
    "hermite": "herm",
    "hermite_e": "herme",
}
_ENDS = ("val", "val2d", "val3d", "grid2d", "grid3d")
#: Those to which they come also in dicts, and lists of these.
_TAKE_DICTS = {
    "sklearn.model_selection._search": "ParameterGrid.__init__ ParameterSampler.__init__",
}
#: Those that ask what values of a dict are, and no more.
_ASK_FOR_KINDS = {"sklearn.utils._param_validation": "validate_parameter_constraints"}
#: What makes operators of matrices.
_MAKE_OPERATORS = {"scipy.sparse.linalg": "aslinearoperator"}
#: Those that make arrays of objects, in which scalars of ours are found.
_GIVE_OBJECTS = {"pandas._libs.lib": "maybe_convert_objects map_infer"}
#: Modules of compiled routines, which take what is no array of NumPy's for a copy that is theirs.
_ROUTINES = tuple([f"scipy.linalg.{name}" for name in ("_fblas", "_flapack", "blas", "lapack")])


def install(library: str) -> None:
    """Put our functions in the place of a library's."""
    if library == "numpy.polynomial":
        _evaluate_at_points()
        return
    if library == "sympy.core.sympify":
        known = sys.modules[library]
        known.converter[DistArray] = lambda x: known.sympify(numpys(x))
        return
    if library in _ROUTINES:
        _lend_to_routines(vars(sys.modules[library]))
        return
    if library in SPARSE:
        take_sparse_arrays(library)
    for table, make in (
        (_TAKE_ARRAYS, partial(taking, numpys)),
        (_TAKE_COPIES, _copying),
        (_TAKE_KEYS, partial(taking, _key)),
        (_TAKE_DICTS, partial(taking, partial(_within, numpys))),
        (_ASK_FOR_KINDS, partial(taking, partial(_within, _outline))),
        (_KEEP, _keeping),
        (_CALL_BACK, _called_back),
        (_WRITE, _writing),
        (_ASK_FOR_NUMBERS, partial(taking, _number)),
        (_MAKE_OPERATORS, _operating),
        (DENSE_RESULT, densely),
        (SPARSE_RESULT, sparsely),
        (_GIVE_OBJECTS, _giving_numbers),
    ):
        for module, names in table.items():
            inside = module.startswith(library + ".") and module not in LATER
            if inside or module == library:
                for name in names.split():
                    put_in_place(module, name, make)


def _evaluate_at_points() -> None:
    """Put ours in the place of NumPy's functions of series, which ask whether points are NumPy's.

    Where these are not, each point would get coefficients of its own.
    """
    for module, prefix in _SERIES.items():
        for name in [prefix + end for end in _ENDS] + ["polyvalfromroots"] * (prefix == "poly"):
            put_in_place(f"numpy.polynomial.{module}", name, partial(_evaluating, module))
    division = "ABCPolyBase.__truediv__"  # by a number, of which it knows Python's and NumPy's
    put_in_place("numpy.polynomial._polybase", division, partial(taking, _number))


def _evaluating(module: str, function: _Function) -> _Function:
    def called(*args: Any, **options: Any) -> Any:
        if not any(type(x) is DistArray for x in (*args, *options.values())):
            return function(*args, **options)
        from distnb import polynomial  # which may be what imports NumPy's

        return getattr(getattr(polynomial, module), function.__name__)(*args, **options)

    return called


def _copying(function: _Function) -> _Function:
    given_copies = unseen(taking(_own, function))

    def called(*args: Any, **options: Any) -> Any:
        return (function if _by_array_api(function) else given_copies)(*args, **options)

    return called


def _by_array_api(function: _Function) -> bool:
    """Return whether a library has the arrays themselves compute what a function of it returns."""
    if function.__module__.startswith("sklearn."):
        return bool(sys.modules["sklearn"].get_config()["array_api_dispatch"])
    scipys: Any = sys.modules.get("scipy._lib._array_api")
    able = getattr(scipys, "xp_capabilities_table", {}).get(function)
    return bool(able and scipys.SCIPY_ARRAY_API and not (able["np_only"] or able["cpu_only"]))


def _own(x: Any) -> Any:
    """Return an array of ours, or those of a tuple, as copies that are the caller's."""
    if type(x) is tuple:
        return tuple([_own(each) for each in x])
    return np.array(x)[()] if type(x) is DistArray else x


def _number(x: Any) -> Any:
    """Return a scalar of ours as NumPy's, and all else as it is."""
    return x if getattr(x, "ndim", 0) else numpys(x)


def _within(each_as: _Function, x: Any) -> Any:
    """Return so what is in a dict, or in dicts of a list."""
    if type(x) is dict:
        return {k: each_as(v) for k, v in x.items()}
    return [_within(each_as, each) for each in x] if type(x) is list else x


def _outline(x: Any) -> Any:
    """Return an array of NumPy's as large as one of ours, without its elements; or its number."""
    if type(x) is not DistArray:
        return x
    return np.broadcast_to(np.empty((), x.dtype), x.shape) if x.ndim else numpys(x)


def _keeping(function: _Function) -> _Function:
    called_so = unseen(taking(numpys, function))

    def called(*args: Any, **options: Any) -> Any:
        if options.get("copy") is False:
            args = tuple([_kept(x) for x in args])
            options = {k: _kept(x) for k, x in options.items()}
        return called_so(*args, **options)

    return called


def _kept(x: Any) -> Any:
    """Return an array of ours, or those of a dict, as NumPy's: its memory, or what is read-only."""
    if type(x) is dict:
        return {k: _kept(v) for k, v in x.items()}
    if type(x) is not DistArray:
        return x
    found = in_memory(x)
    return sealed(x, np.asarray(x)) if found is None else found


def _called_back(function: _Function) -> _Function:
    signature = inspect.signature(function)

    def called(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        given = bound.arguments
        for name in ("func", "jac", *(["fun"] if given.get("jac") is True else [])):
            if callable(given.get(name)):
                given[name] = _returning_numpys(given[name])
        return function(*bound.args, **bound.kwargs)

    return called


def _returning_numpys(function: _Function) -> _Function:
    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        return _key(function(*args, **options))

    return called


def _operating(function: _Function) -> _Function:
    def called(A: Any) -> Any:  # noqa: N803 - SciPy's name
        if isinstance(A, Sparse):
            return _operator(A, A.rmatvec)
        if type(A) is not DistArray or A.ndim > 2:
            return function(numpys(A))
        rows = A if A.ndim == 2 else A.reshape(1, -1)
        return _operator(rows, lambda x: (rows.T @ x.conj()).conj())

    return called


def _operator(rows: Any, turned: _Function) -> Any:
    """Return SciPy's operator for a matrix; what it gives is NumPy's, and SciPy writes into it."""
    return sys.modules["scipy.sparse.linalg"].LinearOperator(
        rows.shape,
        matvec=lambda x: numpys(rows @ x),
        rmatvec=lambda x: numpys(turned(x)),
        matmat=lambda x: numpys(rows @ x),
        rmatmat=lambda x: numpys(turned(x)),
        dtype=rows.dtype,
    )


def _writing(function: _Function) -> _Function:
    signature = inspect.signature(function)
    into = [k for k in ("output", "distances", "indices", "out") if k in signature.parameters]

    def called(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        for name in into:
            if type(bound.arguments.get(name)) is DistArray:
                bound.arguments[name] = _memory(name, bound.arguments[name])
        return function(*bound.args, **bound.kwargs)

    return called


def _memory(name: str, x: DistArray) -> np.ndarray:
    """Return an array of ours in the notebook as NumPy's of the same memory."""
    found = in_memory(x)
    if found is None:
        do = "assign what the function returns: x[...] = ..."
        raise TypeError(explain(name, "an array on engines", "NumPy's, or in the notebook", do))
    return found


def _lend_to_routines(names: dict[str, Any]) -> None:
    for name, routine in list(names.items()):
        if type(routine).__name__ == "fortran" and callable(routine):
            names[name] = _Routine(routine)


class _Routine:
    """A compiled routine that is lent the memory of arrays.

    It is no function: as an attribute of a class a function would be a method, which routines are
    not. Else it has what the routine has, such as by what compiled code finds it.
    """

    def __init__(self, routine: _Function) -> None:
        self.__wrapped__ = routine
        self.__doc__ = routine.__doc__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        routine = self.__wrapped__
        if DistArray not in {*map(type, args)} and DistArray not in {*map(type, options.values())}:
            return routine(*args, **options)
        lent: list[tuple[DistArray, np.ndarray, np.ndarray]] = []
        given = [_lent(x, lent) for x in args]
        found = routine(*given, **{k: _lent(x, lent) for k, x in options.items()})
        for x, before, copy in lent:
            if not np.array_equal(before.ravel("K").view("u1"), copy.ravel("K").view("u1")):
                x[...] = copy
        return found


def _lent(x: Any, lent: list[tuple[DistArray, np.ndarray, np.ndarray]]) -> Any:
    """Return the memory of an array of ours, or a copy of what is on engines; note both."""
    if type(x) is not DistArray:
        return x
    found = in_memory(x)
    if found is None:
        # Gathered once; contiguous, as its copy, and in the order that routines write in place.
        before = np.array(x, order="F" if x.flags.fnc else "C")
        found = before.copy("K")
        lent.append((x, before, found))
    return found


def _key(x: Any) -> Any:
    """Return so a key, which may be one of several axes."""
    kind = type(x)
    if kind is slice:
        return slice(numpys(x.start), numpys(x.stop), numpys(x.step))
    if kind is tuple or kind is list:
        kinds = {*map(type, x)}
        return kind([_key(each) for each in x]) if DistArray in kinds or slice in kinds else x
    return numpys(x)


def _giving_numbers(function: _Function) -> _Function:
    def called(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        if type(found) is not np.ndarray or found.dtype != object:
            return found
        flat = found.ravel().tolist()
        if DistArray not in {*map(type, flat)} or not any(map(_is_scalar, flat)):
            return found
        numbers = np.empty(found.size, object)
        for n, x in enumerate(flat):
            numbers[n] = numpys(x) if _is_scalar(x) else x
        lib: Any = sys.modules["pandas._libs.lib"]
        return lib.maybe_convert_objects(numbers.reshape(found.shape))

    return called


def _is_scalar(x: Any) -> bool:
    return type(x) is DistArray and not x.ndim
