"""The array namespace: every function under the name that users see, from the module where it is.

Only imports belong here: :mod:`distnb` offers all of them. Names of Python's own functions, as
``sum``, end in ``_`` where they are defined, so that they hide nothing there.
"""

from distnb.client.array.array_api import (
    astype,
    can_cast,
    finfo,
    from_dlpack,
    iinfo,
    isdtype,
    result_type,
)
from distnb.client.array.facts import (
    common_type,
    iscomplexobj,
    isfortran,
    isrealobj,
    isscalar,
    min_scalar_type,
    ndim,
    shape,
    size,
)
from distnb.client.array.printing import array2string, array_repr, array_str
from distnb.client.array.stand_ins import ndarray, ufunc
from distnb.client.files.numpys import (
    frombuffer,
    fromfile,
    fromiter,
    fromstring,
    load,
    save,
    savez,
    savez_compressed,
)
from distnb.client.files.opening import open_ as open
from distnb.client.files.tables import read_csv, read_feather, read_parquet, to_feather, to_parquet
from distnb.client.files.text import genfromtxt, loadtxt, savetxt
from distnb.client.linalg.chains import cross_ as cross
from distnb.client.linalg.chains import matrix_transpose
from distnb.client.linalg.contractions import diagonal, inner, kron, outer, tensordot, trace, vdot
from distnb.client.linalg.diagonals import (
    diag,
    diag_indices,
    diag_indices_from,
    diagflat,
    fill_diagonal,
    mask_indices,
    tri,
    tril,
    tril_indices,
    tril_indices_from,
    triu,
    triu_indices,
    triu_indices_from,
    vander,
)
from distnb.client.linalg.einsum import einsum, einsum_path
from distnb.client.linalg.products import dot, matmul, matvec, vecdot, vecmat
from distnb.client.math.along_axis import apply_along_axis, piecewise, vectorize
from distnb.client.math.bits import packbits, unpackbits
from distnb.client.math.blocks import map_blocks
from distnb.client.math.composed import (
    allclose,
    angle,
    apply_over_axes,
    array_equiv,
    fix,
    i0,
    isclose,
    iscomplex,
    isneginf,
    isposinf,
    isreal,
    nan_to_num,
    real_if_close,
    sinc,
    sort_complex,
    unwrap,
)
from distnb.client.math.differences import diff, ediff1d, gradient, trapezoid
from distnb.client.math.mapping import map_ as map
from distnb.client.math.padding import pad, trim_zeros
from distnb.client.math.reductions import all_ as all
from distnb.client.math.reductions import (
    amax,
    amin,
    argmax,
    argmin,
    count_nonzero,
    mean,
    prod,
    ptp,
    std,
    var,
)
from distnb.client.math.reductions import any_ as any
from distnb.client.math.reductions import max_ as max
from distnb.client.math.reductions import min_ as min
from distnb.client.math.reductions import sum_ as sum
from distnb.client.math.scans import (
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    nancumprod,
    nancumsum,
)
from distnb.client.math.ufuncs import abs_ as abs
from distnb.client.math.ufuncs import (
    absolute,
    acos,
    acosh,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    around,
    array_equal,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    clip,
    conj,
    conjugate,
    copysign,
    copyto,
    cos,
    cosh,
    deg2rad,
    degrees,
    divide,
    divmod,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    float_power,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    frexp,
    gcd,
    greater,
    greater_equal,
    heaviside,
    hypot,
    imag,
    invert,
    isfinite,
    isinf,
    isnan,
    isnat,
    lcm,
    ldexp,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    modf,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    power,
    rad2deg,
    radians,
    real,
    reciprocal,
    remainder,
    right_shift,
    rint,
    sign,
    signbit,
    sin,
    sinh,
    spacing,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
    where,
)
from distnb.client.math.ufuncs import pow_ as pow
from distnb.client.math.ufuncs import round_ as round
from distnb.client.parts.foreach import foreach
from distnb.client.parts.partners import repartition, together
from distnb.client.record.as_arrays import (
    asanyarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    copy,
    require,
)
from distnb.client.record.as_arrays import asarray_ as asarray
from distnb.client.record.creation import (
    array,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from distnb.client.record.index_arrays import eye, fromfunction, identity, indices
from distnb.client.record.ranges import arange, linspace
from distnb.client.select.coordinates import ix_, ravel_multi_index, unravel_index
from distnb.client.select.counting import bincount
from distnb.client.select.ordering import argpartition, argsort, lexsort, partition, topk
from distnb.client.select.placing import delete, insert, place, put, put_along_axis, putmask
from distnb.client.select.searching import digitize, searchsorted
from distnb.client.select.sorting import sort
from distnb.client.select.taking import (
    argwhere,
    choose,
    compress,
    extract,
    flatnonzero,
    nonzero,
    select,
    take,
    take_along_axis,
)
from distnb.client.shape.brackets import c_, r_
from distnb.client.shape.flat import Flat as flatiter  # noqa: N813 - NumPy's name
from distnb.client.shape.grids import meshgrid, mgrid, ogrid
from distnb.client.shape.joining import (
    append,
    block,
    column_stack,
    concat,
    concatenate,
    dstack,
    hstack,
    row_stack,
    stack,
    vstack,
)
from distnb.client.shape.parts import from_parts
from distnb.client.shape.repeating import repeat, tile
from distnb.client.shape.reshaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_shapes,
    ravel,
    reshape,
    resize,
)
from distnb.client.shape.splitting import array_split, dsplit, hsplit, split, unstack, vsplit
from distnb.client.shape.turning import fliplr, flipud, roll, rollaxis, rot90
from distnb.client.shape.viewing import (
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    flip,
    may_share_memory,
    moveaxis,
    permute_dims,
    shares_memory,
    squeeze,
    swapaxes,
    transpose,
)
from distnb.client.shape.walking import broadcast, ndenumerate, nditer
from distnb.client.signal.convolution import convolve, correlate, interp
from distnb.client.signal.polynomials import (
    poly,
    polyadd,
    polyder,
    polydiv,
    polyfit,
    polyint,
    polymul,
    polysub,
    polyval,
    roots,
)
from distnb.client.signal.spacing import (
    bartlett,
    blackman,
    geomspace,
    hamming,
    hanning,
    kaiser,
    logspace,
)
from distnb.client.stats.histograms import histogram, histogram2d, histogram_bin_edges, histogramdd
from distnb.client.stats.nans import (
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from distnb.client.stats.quantiles import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from distnb.client.stats.sets import (
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from distnb.client.stats.statistics import average, corrcoef, cov

__all__ = [name for name in dir() if not name.startswith("_")]
