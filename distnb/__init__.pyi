"""distnb: the array of a notebook, spread over MPI engines."""

# Made by tools/make_stub.py from the functions themselves.

import builtins
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy import False_ as False_
from numpy import ScalarType as ScalarType
from numpy import True_ as True_
from numpy import __array_namespace_info__ as __array_namespace_info__
from numpy import base_repr as base_repr
from numpy import binary_repr as binary_repr
from numpy import bool as bool
from numpy import bool_ as bool_
from numpy import busday_count as busday_count
from numpy import busday_offset as busday_offset
from numpy import busdaycalendar as busdaycalendar
from numpy import byte as byte
from numpy import bytes_ as bytes_
from numpy import cdouble as cdouble
from numpy import character as character
from numpy import complex64 as complex64
from numpy import complex128 as complex128
from numpy import complexfloating as complexfloating
from numpy import csingle as csingle
from numpy import datetime64 as datetime64
from numpy import datetime_as_string as datetime_as_string
from numpy import datetime_data as datetime_data
from numpy import double as double
from numpy import dtype as dtype
from numpy import dtypes as dtypes
from numpy import e as e
from numpy import errstate as errstate
from numpy import euler_gamma as euler_gamma
from numpy import exceptions as exceptions
from numpy import flexible as flexible
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import floating as floating
from numpy import format_float_positional as format_float_positional
from numpy import format_float_scientific as format_float_scientific
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import getbufsize as getbufsize
from numpy import geterr as geterr
from numpy import geterrcall as geterrcall
from numpy import half as half
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import info as info
from numpy import int8 as int8
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int_ as int_
from numpy import intc as intc
from numpy import integer as integer
from numpy import intp as intp
from numpy import is_busday as is_busday
from numpy import issubdtype as issubdtype
from numpy import iterable as iterable
from numpy import little_endian as little_endian
from numpy import long as long
from numpy import longlong as longlong
from numpy import mintypecode as mintypecode
from numpy import nan as nan
from numpy import ndindex as ndindex
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import object_ as object_
from numpy import pi as pi
from numpy import poly1d as poly1d
from numpy import printoptions as printoptions
from numpy import promote_types as promote_types
from numpy import s_ as s_
from numpy import sctypeDict as sctypeDict
from numpy import set_printoptions as set_printoptions
from numpy import setbufsize as setbufsize
from numpy import seterr as seterr
from numpy import seterrcall as seterrcall
from numpy import short as short
from numpy import show_config as show_config
from numpy import show_runtime as show_runtime
from numpy import signedinteger as signedinteger
from numpy import single as single
from numpy import str_ as str_
from numpy import timedelta64 as timedelta64
from numpy import typecodes as typecodes
from numpy import typename as typename
from numpy import typing as typing
from numpy import ubyte as ubyte
from numpy import uint as uint
from numpy import uint8 as uint8
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uintc as uintc
from numpy import uintp as uintp
from numpy import ulong as ulong
from numpy import ulonglong as ulonglong
from numpy import unsignedinteger as unsignedinteger
from numpy import ushort as ushort
from numpy import version as version
from numpy import void as void
from numpy.typing import ArrayLike, DTypeLike

from distnb import fft as fft
from distnb import graph as graph
from distnb import learn as learn
from distnb import lib as lib
from distnb import linalg as linalg
from distnb import plot as plot
from distnb import polynomial as polynomial
from distnb import random as random
from distnb import sparse as sparse
from distnb import special as special
from distnb import testing as testing
from distnb.client.array.array_api import finfo as finfo
from distnb.client.array.distarray import DistArray as DistArray
from distnb.client.array.stand_ins import ndarray as ndarray
from distnb.client.array.stand_ins import ufunc as ufunc
from distnb.client.files.numpys import Archive, File
from distnb.client.files.opening import Opened
from distnb.client.handle.arguments import Axes, Dist, Grid, Nested, NoValue, Number, Order, Shape
from distnb.client.lasting.kept_arrays import Table
from distnb.client.lasting.visiting import Others
from distnb.client.linalg.contractions import SummedAxes
from distnb.client.math.along_axis import vectorize as vectorize
from distnb.client.math.ufuncs import _Limit
from distnb.client.record.eager import Out
from distnb.client.record.placement import Placement as Placement
from distnb.client.reports.profiling import Profile
from distnb.client.session.session import Session as Session
from distnb.client.shape.brackets import Joined
from distnb.client.shape.flat import Flat
from distnb.client.shape.grids import Grids
from distnb.client.shape.walking import broadcast as broadcast
from distnb.client.shape.walking import ndenumerate as ndenumerate
from distnb.client.sparse.compressed import Compressed
from distnb.client.stats.histograms import Bins, Range
from distnb.client.stats.sets import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from distnb.common.config import Config as Config
from distnb.common.errors import DistnbError as DistnbError
from distnb.common.errors import EngineError as EngineError
from distnb.common.errors import GatherError as GatherError
from distnb.common.errors import LayoutError as LayoutError
from distnb.common.errors import LostArrayError as LostArrayError
from distnb.common.errors import SessionError as SessionError
from distnb.formats.libraries.columns import Filter
from distnb.geometry.layout import Ints
from distnb.lib import emath as emath

class _Ufunc:
    """An elementwise function with the methods of NumPy's ufuncs."""

    __name__: str
    nin: int
    nout: int
    nargs: int
    identity: complex | None

    def reduce(
        self,
        array: ArrayLike,
        /,
        axis: SupportsIndex | Sequence[SupportsIndex] | None = 0,
        dtype: DTypeLike | None = None,
        out: DistArray | tuple[DistArray] | None = None,
        *,
        keepdims: builtins.bool = False,
        initial: complex | np.generic | None = ...,
        where: ArrayLike = True,
    ) -> DistArray:
        """Combine the elements along axes."""

    def accumulate(
        self,
        array: ArrayLike,
        /,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: DistArray | None = None,
    ) -> DistArray:
        """Return the results of combining ever more elements along an axis."""

    def reduceat(
        self,
        array: ArrayLike,
        /,
        indices: ArrayLike,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: DistArray | None = None,
    ) -> DistArray:
        """Combine the elements of slices along an axis."""

    def outer(self, A: ArrayLike, B: ArrayLike, /, **kwargs: Any) -> DistArray:
        """Compute all pairs of elements."""

    def at(self, a: DistArray, indices: Any, b: ArrayLike | None = None, /) -> None:
        """Compute in place at indices, once for each time they are named."""

class _Unary(_Ufunc):
    def __call__(
        self,
        x: ArrayLike,
        /,
        out: DistArray | tuple[DistArray | None, ...] | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> DistArray:
        """Compute elementwise."""

class _UnaryPair(_Ufunc):
    def __call__(
        self,
        x: ArrayLike,
        /,
        out: DistArray | tuple[DistArray | None, ...] | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> tuple[DistArray, DistArray]:
        """Compute elementwise."""

class _Binary(_Ufunc):
    def __call__(
        self,
        x1: ArrayLike,
        x2: ArrayLike,
        /,
        out: DistArray | tuple[DistArray | None, ...] | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> DistArray:
        """Compute elementwise."""

class _BinaryPair(_Ufunc):
    def __call__(
        self,
        x1: ArrayLike,
        x2: ArrayLike,
        /,
        out: DistArray | tuple[DistArray | None, ...] | None = None,
        *,
        where: ArrayLike = True,
        casting: str = "same_kind",
        dtype: DTypeLike | None = None,
    ) -> tuple[DistArray, DistArray]:
        """Compute elementwise."""

__array_api_version__: str
__version__: str
c_: Joined
config: Config
flatiter: TypeAlias = Flat
mgrid: Grids
ogrid: Grids
r_: Joined

abs: _Unary
"""Return the absolute value; of complex numbers, the modulus."""

absolute: _Unary
"""Return the absolute value; of complex numbers, the modulus."""

acos: _Unary
"""Return the angle, from 0 to pi, whose cosine is given."""

acosh: _Unary
"""Return the number, 0 or more, whose hyperbolic cosine is given."""

add: _Binary
"""Add, element by element."""

def all(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Tell whether all elements are true along axes, as ``numpy.all``."""

def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike | None = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Tell whether all elements agree within tolerances, as ``numpy.allclose``."""

def amax(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    initial: Number | NoValue | None = ...,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Return the maximum over axes, as ``numpy.max``; NaN where there is one."""

def amin(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    initial: Number | NoValue | None = ...,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Return the minimum over axes, as ``numpy.min``; NaN where there is one."""

def angle(z: ArrayLike, deg: builtins.bool = False) -> DistArray:
    """Return the angle of complex numbers in the plane, as ``numpy.angle``."""

def any(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Tell whether any element is true along axes, as ``numpy.any``."""

def append(arr: ArrayLike, values: ArrayLike, axis: SupportsIndex | None = None) -> DistArray:
    """Join two arrays, as ``numpy.append``; by default all elements in C order."""

def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """Call a function for each 1-D slice, as ``numpy.apply_along_axis``."""

def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: ArrayLike) -> DistArray:
    """Call a function that reduces along one axis for one axis after the other."""

def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make evenly spaced numbers in ``[start, stop)``, bit for bit as ``numpy.arange``."""

arccos: _Unary
"""Return the angle, from 0 to pi, whose cosine is given."""

arccosh: _Unary
"""Return the number, 0 or more, whose hyperbolic cosine is given."""

arcsin: _Unary
"""Return the angle, from -pi/2 to pi/2, whose sine is given."""

arcsinh: _Unary
"""Return the number whose hyperbolic sine is given."""

arctan: _Unary
"""Return the angle, from -pi/2 to pi/2, whose tangent is given."""

arctan2: _Binary
"""Return the angle, from -pi to pi, of the point with the coordinates ``(x2, x1)``."""

arctanh: _Unary
"""Return the number whose hyperbolic tangent is given."""

def argmax(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    *,
    keepdims: builtins.bool | NoValue = False,
) -> DistArray:
    """Return where the first maximum along an axis is, as ``numpy.argmax``."""

def argmin(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    *,
    keepdims: builtins.bool | NoValue = False,
) -> DistArray:
    """Return where the first minimum along an axis is, as ``numpy.argmin``."""

def argpartition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: str | None = "introselect",
    order: None = None,
) -> DistArray:
    """Return positions that partition an array, as ``numpy.argpartition``."""

def argsort(
    a: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: builtins.bool | None = None,
    descending: builtins.bool = False,
) -> DistArray:
    """Return the positions of the elements in sorted order, as ``numpy.argsort``."""

def argwhere(a: ArrayLike) -> DistArray:
    """Return the indices of the elements that are not zero, one in each row."""

def around(a: ArrayLike, decimals: int = 0, out: DistArray | None = None) -> DistArray:
    """Round to a number of decimals, as ``numpy.round``; halves go to the even one."""

def array(
    object: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: builtins.bool | None = True,
    order: Order = "K",
    subok: builtins.bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make a distributed array from array-like data."""

def array2string(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    threshold: int | None = None,
    edgeitems: int | None = None,
    **options: Any,
) -> str:
    """Return an array as text, as ``numpy.array2string``."""

def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: builtins.bool = False) -> builtins.bool:
    """Tell whether shapes and all elements are equal, as ``numpy.array_equal``."""

def array_equiv(a1: ArrayLike, a2: ArrayLike) -> builtins.bool:
    """Tell whether elements are equal where they meet by broadcasting."""

def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
) -> str:
    """Return an array as NumPy's ``repr`` writes one, as ``numpy.array_repr``."""

def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[DistArray]:
    """Return views of parts along an axis, as ``numpy.array_split``; lengths may differ by 1."""

def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
) -> str:
    """Return the elements as text, as ``numpy.array_str``."""

def arrays(session: Session | None = None) -> Table:
    """Return the arrays of a session that have names, in the notebook or by ``session["T"] = A``."""

def asanyarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: builtins.bool | None = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make a distributed array, or return the data itself if it is one already."""

def asarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
    copy: builtins.bool | None = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make a distributed array, or return the data itself if it is one already."""

def asarray_chkfinite(
    a: ArrayLike, dtype: DTypeLike | None = None, order: Order = None
) -> DistArray:
    """Make a distributed array; refuse NaN and infinity, as ``numpy.asarray_chkfinite``."""

def ascontiguousarray(
    a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None
) -> DistArray:
    """Return an array that is one piece of its base, with an axis at least: itself, or a copy."""

def asfortranarray(
    a: ArrayLike, dtype: DTypeLike | None = None, *, like: object = None
) -> DistArray:
    """Return an array of which NumPy's would be in Fortran's order: itself, or a copy."""

asin: _Unary
"""Return the angle, from -pi/2 to pi/2, whose sine is given."""

asinh: _Unary
"""Return the number whose hyperbolic sine is given."""

def astype(
    x: DistArray, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: str | None = None
) -> DistArray:
    """Return a copy with another dtype, as ``numpy.astype``."""

atan: _Unary
"""Return the angle, from -pi/2 to pi/2, whose tangent is given."""

atan2: _Binary
"""Return the angle, from -pi to pi, of the point with the coordinates ``(x2, x1)``."""

atanh: _Unary
"""Return the number whose hyperbolic tangent is given."""

def atleast_1d(*arys: ArrayLike) -> Any:
    """Return views of one axis at least, as ``numpy.atleast_1d``."""

def atleast_2d(*arys: ArrayLike) -> Any:
    """Return views of two axes at least, as ``numpy.atleast_2d``."""

def atleast_3d(*arys: ArrayLike) -> Any:
    """Return views of three axes at least, as ``numpy.atleast_3d``."""

def attach() -> Session:
    """Take up the session of a notebook that has ended, which :func:`distnb.start` was to keep."""

def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: builtins.bool = False,
    *,
    keepdims: builtins.bool | NoValue = False,
) -> Any:
    """Return the weighted mean."""

def bartlett(M: float, **where: Any) -> DistArray:
    """Make Bartlett's window: a triangle that ends at zero."""

def bincount(
    x: ArrayLike, /, weights: ArrayLike | None = None, minlength: SupportsIndex = 0
) -> DistArray:
    """Count how often each number occurs, or add up its weights, as ``numpy.bincount``."""

bitwise_and: _Binary
"""Combine integers bit by bit: 1 where both are; of truth values, the logical and."""

bitwise_count: _Unary
"""Count the bits of the absolute value that are 1."""

bitwise_invert: _Unary
"""Invert every bit; of truth values, the logical not."""

bitwise_left_shift: _Binary
"""Shift the bits of integers to the left: multiply by ``2**x2``."""

bitwise_not: _Unary
"""Invert every bit; of truth values, the logical not."""

bitwise_or: _Binary
"""Combine integers bit by bit: 1 where one is; of truth values, the logical or."""

bitwise_right_shift: _Binary
"""Shift the bits of integers to the right: divide by ``2**x2``, rounded down."""

bitwise_xor: _Binary
"""Combine integers bit by bit: 1 where they differ; of truth values, the exclusive or."""

def blackman(M: float, **where: Any) -> DistArray:
    """Make Blackman's window: a constant and two cosines, almost zero at its ends."""

def block(arrays: Nested) -> DistArray:
    """Join nested lists of arrays, the innermost along the last axis, as ``numpy.block``."""

def broadcast_arrays(*args: ArrayLike, subok: builtins.bool = False) -> tuple[DistArray, ...]:
    """Return views of one shape, as ``numpy.broadcast_arrays``; they cannot be written."""

def broadcast_shapes(*args: Shape) -> Ints:
    """Return the shape to which shapes broadcast, as ``numpy.broadcast_shapes``."""

def broadcast_to(array: ArrayLike, shape: Shape, subok: builtins.bool = False) -> DistArray:
    """Return a view stretched to a shape, as ``numpy.broadcast_to``; it cannot be written."""

def can_cast(from_: DTypeLike | DistArray, to: DTypeLike, casting: str = "safe") -> builtins.bool:
    """Tell whether a dtype can be cast to another, as ``numpy.can_cast``."""

cbrt: _Unary
"""Return the cube root."""

ceil: _Unary
"""Round up: the least integer that is not less."""

def checkpoint(
    path: str | os.PathLike[str],
    names: Iterable[str] | None = None,
    *,
    every: str | float | None = None,
    session: Session | None = None,
) -> None:
    """Write the arrays that have names into a folder, from where :func:`restore` has them again."""

def choose(
    a: ArrayLike,
    choices: Sequence[ArrayLike] | DistArray,
    out: DistArray | None = None,
    mode: str = "raise",
) -> DistArray:
    """Return, for each element, that of one of several arrays, as ``numpy.choose``."""

def choose_layout(array: DistArray, name: str | None = None) -> Any:
    """Return a widget to choose where an array lies: axes, grid, block sizes, weights."""

def clip(
    a: ArrayLike,
    a_min: _Limit = ...,
    a_max: _Limit = ...,
    out: DistArray | None = None,
    *,
    min: _Limit = ...,
    max: _Limit = ...,
    **options: Any,
) -> DistArray:
    """Limit the elements to an interval, as ``numpy.clip``."""

def column_stack(tup: Sequence[ArrayLike] | DistArray) -> DistArray:
    """Join vectors and matrices as columns, as ``numpy.column_stack``."""

def common_type(*arrays: ArrayLike) -> type[np.inexact]:
    """Return the inexact scalar type to which arrays are promoted, as ``numpy.common_type``."""

def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the parts of an array along an axis for which a condition is true."""

def concat(
    arrays: Sequence[ArrayLike] | DistArray,
    /,
    axis: int | None = 0,
    out: DistArray | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays along an axis that exists: :func:`distnb.concatenate` by its other name."""

def concatenate(
    arrays: Sequence[ArrayLike] | DistArray,
    /,
    axis: SupportsIndex | None = 0,
    out: DistArray | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays along an axis that exists, as ``numpy.concatenate``."""

conj: _Unary
"""Return the complex conjugate."""

conjugate: _Unary
"""Return the complex conjugate."""

def connect(
    profile: str | None = None,
    cluster_id: str | None = None,
    client: Any = None,
    timeout: float = 0.0,
) -> Session:
    """Use engines that were started with ``ipcluster start --engines=MPI``."""

def convolve(a: ArrayLike, v: ArrayLike, mode: str | int = "full") -> DistArray:
    """Return the discrete convolution of two sequences."""

def copy(a: ArrayLike, order: Order = "K", subok: builtins.bool = False) -> DistArray:
    """Return a copy, as ``numpy.copy``."""

copysign: _Binary
"""Return ``x1`` with the sign of ``x2``."""

def copyto(
    dst: DistArray, src: ArrayLike, casting: str = "same_kind", where: ArrayLike = True
) -> None:
    """Assign the elements of an array to another one, where a mask is true, as ``numpy.copyto``."""

def corrcoef(
    x: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
) -> DistArray:
    """Return correlation coefficients: covariances, scaled."""

def correlate(a: ArrayLike, v: ArrayLike, mode: str | int = "valid") -> DistArray:
    """Return the cross-correlation of two sequences: a convolution with the second one backwards."""

cos: _Unary
"""Return the cosine of angles in radians."""

cosh: _Unary
"""Return the hyperbolic cosine."""

def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: builtins.bool = False) -> DistArray:
    """Count the elements that are not zero along axes, as ``numpy.count_nonzero``."""

def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> DistArray:
    """Return the covariance matrix of variables."""

def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> DistArray:
    """Return the cross product of vectors of two or three numbers."""

def cumprod(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return running products along an axis, as ``numpy.cumprod``; by default over all elements."""

def cumsum(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return running sums along an axis, as ``numpy.cumsum``; by default over all elements."""

def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    include_initial: builtins.bool = False,
) -> DistArray:
    """Return running products along an axis, as the array API standard has them."""

def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    include_initial: builtins.bool = False,
) -> DistArray:
    """Return running sums along an axis, as the array API standard has them."""

def dashboard(session: Session | None = None) -> Any:
    """Show a session's engines, the running cell and all arrays, kept up to date."""

deg2rad: _Unary
"""Convert angles from degrees to radians."""

degrees: _Unary
"""Convert angles from radians to degrees."""

def delete(arr: ArrayLike, obj: Any, axis: SupportsIndex | None = None) -> DistArray:
    """Return a copy without some indices along an axis, as ``numpy.delete``."""

def diag(v: ArrayLike, k: int = 0) -> DistArray:
    """Return a diagonal of a matrix, or a matrix with a diagonal."""

def diag_indices(n: int, ndim: int = 2) -> tuple[DistArray, ...]:
    """Return the indices of the diagonal of an array of equal lengths."""

def diag_indices_from(arr: ArrayLike) -> tuple[DistArray, ...]:
    """Return the indices of the diagonal of an array."""

def diagflat(v: ArrayLike, k: int = 0) -> DistArray:
    """Return a matrix with all elements of an array on a diagonal."""

def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DistArray:
    """Return diagonals, as a read-only view: what is written into the array later is seen."""

def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | NoValue | None = None,
    append: ArrayLike | NoValue | None = None,
) -> DistArray:
    """Return differences of neighbours along an axis, ``n`` times, as ``numpy.diff``."""

def digitize(x: ArrayLike, bins: ArrayLike, right: builtins.bool = False) -> DistArray:
    """Return the number of the bin of each element, as ``numpy.digitize``."""

divide: _Binary
"""Divide; integers become floats."""

divmod: _BinaryPair
"""Return quotients rounded down, and remainders with the sign of the divisor."""

def dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> DistArray:
    """Sum products over the last axis of one array and the last but one of the other."""

def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[DistArray]:
    """Return views of parts along the third axis, as ``numpy.dsplit``."""

def dstack(
    tup: Sequence[ArrayLike] | DistArray,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays along the third axis, as ``numpy.dstack``."""

def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> DistArray:
    """Return differences of neighbours in C order, as ``numpy.ediff1d``."""

def einsum(
    *operands_: Any,
    out: DistArray | None = None,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    casting: str = "safe",
    optimize: builtins.bool | str | Sequence[Any] = True,
) -> DistArray:
    """Sum products of operands over axes that have letters."""

def einsum_path(
    *operands_: Any, optimize: builtins.bool | str | Sequence[Any] = "greedy", **options: Any
) -> tuple[Any, str]:
    """Return in which order :func:`einsum` takes its operands, and a text about it."""

def empty(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make an array whose elements are not set, as ``numpy.empty``."""

def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: builtins.bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> DistArray:
    """Make an array whose elements are not set and that lies like another, as ``numpy.empty_like``."""

equal: _Binary
"""Tell where operands are equal."""

exp: _Unary
"""Return the exponential, e to the power of ``x``."""

exp2: _Unary
"""Return 2 to the power of ``x``."""

def expand_dims(a: ArrayLike, axis: Axes) -> DistArray:
    """Return a view with new axes of length 1, as ``numpy.expand_dims``."""

expm1: _Unary
"""Return ``exp(x) - 1``, exact to the last digits also near 0."""

def extract(condition: ArrayLike, arr: ArrayLike) -> DistArray:
    """Return the elements of an array for which a condition is true, along one axis."""

def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = ...,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make a matrix with ones on a diagonal and zeros elsewhere, as ``numpy.eye``."""

fabs: _Unary
"""Return the absolute value as a float; complex numbers are refused."""

def fill_diagonal(a: DistArray, val: ArrayLike, wrap: builtins.bool = False) -> None:
    """Assign to the diagonal of an array, in place."""

def fix(x: ArrayLike, out: DistArray | None = None) -> DistArray:
    """Round towards zero, as ``numpy.fix``."""

def flatnonzero(a: ArrayLike) -> DistArray:
    """Return the C-order positions of the elements that are not zero, as ``numpy.flatnonzero``."""

def flip(m: ArrayLike, axis: Axes = None) -> DistArray:
    """Return a view with the elements along axes in reverse order, as ``numpy.flip``."""

def fliplr(m: ArrayLike) -> DistArray:
    """Return a view with the elements along axis 1 in reverse order, as ``numpy.fliplr``."""

def flipud(m: ArrayLike) -> DistArray:
    """Return a view with the elements along axis 0 in reverse order, as ``numpy.flipud``."""

float_power: _Binary
"""Raise to a power, of floats in double precision at least."""

floor: _Unary
"""Round down: the largest integer that is not greater."""

floor_divide: _Binary
"""Divide and round down."""

fmax: _Binary
"""Return the greater of two elements; of NaN and a number, the number."""

fmin: _Binary
"""Return the smaller of two elements; of NaN and a number, the number."""

fmod: _Binary
"""Return the remainder of a division, with the sign of the dividend."""

def foreach(
    function: Callable[..., Any], /, *args: Any, update: int | Sequence[int] = (), **constants: Any
) -> Any:
    """Call a function for each part of arrays, as tasks on the engines."""

frexp: _UnaryPair
"""Split into mantissas, from 0.5 to 1 in size, and exponents of 2."""

def from_dlpack(
    x: Any, /, *, device: str | None = None, copy: builtins.bool | None = None
) -> DistArray:
    """Make a distributed array of another library's, as ``numpy.from_dlpack``."""

def from_parts(
    parts: Any, *, session: Session | None = None, device: str | None = None
) -> DistArray:
    """Make an array of parts, one for each engine, joined along the first axis."""

def frombuffer(
    *args: object,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> DistArray:
    """Make an array as ``numpy.frombuffer`` does."""

def fromfile(
    file: File,
    dtype: DTypeLike = ...,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    like: object = None,
) -> DistArray:
    """Read raw elements of a file, of one axis."""

def fromfunction(
    function: Callable[..., Any],
    shape: Shape,
    *,
    dtype: DTypeLike | None = ...,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
    **kwargs: Any,
) -> Any:
    """Call a function with the arrays of global indices, as ``numpy.fromfunction``."""

def fromiter(
    *args: object,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> DistArray:
    """Make an array as ``numpy.fromiter`` does."""

def fromstring(
    *args: object,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> DistArray:
    """Make an array as ``numpy.fromstring`` does."""

def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make an array of one value, as ``numpy.full``."""

def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: builtins.bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> DistArray:
    """Make an array of one value that lies like another, as ``numpy.full_like``."""

gcd: _Binary
"""Return the greatest common divisor."""

def genfromtxt(
    fname: File,
    dtype: DTypeLike | None = ...,
    comments: str = "#",
    delimiter: str | None = None,
    skip_header: int = 0,
    *args: object,
    unpack: builtins.bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> Any:
    """Read numbers from text where some are missing."""

def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: builtins.bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    **where: Any,
) -> DistArray:
    """Make a geometric progression."""

def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axes = None, edge_order: int = 1) -> Any:
    """Return derivatives along axes by second-order differences, as ``numpy.gradient``."""

greater: _Binary
"""Tell where ``x1`` is greater than ``x2``."""

greater_equal: _Binary
"""Tell where ``x1`` is greater than ``x2``, or equal."""

def hamming(M: float, **where: Any) -> DistArray:
    """Make Hamming's window: a constant and a cosine, with the least of the nearest side lobe."""

def hanning(M: float, **where: Any) -> DistArray:
    """Make the Hann window: a cosine that ends at zero."""

heaviside: _Binary
"""Return the step function: 0 below 0, 1 above, and ``x2`` at 0."""

def histogram(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Range = None,
    density: builtins.bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[DistArray, DistArray]:
    """Count elements in bins, or add up their weights."""

def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Bins = 10,
    range: Sequence[Range] | None = None,
    density: builtins.bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[DistArray, DistArray, DistArray]:
    """Count points in the plane, as :func:`histogramdd`, whose layout and messages it has."""

def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike | str = 10, range: Range = None, weights: ArrayLike | None = None
) -> DistArray:
    """Return the edges of the bins that :func:`histogram` takes."""

def histogramdd(
    sample: DistArray | np.ndarray | Sequence[ArrayLike],
    bins: Bins = 10,
    range: Sequence[Range] | None = None,
    density: builtins.bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[DistArray, list[DistArray]]:
    """Count points in bins of several dimensions."""

def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[DistArray]:
    """Return views of parts along the second axis, of a vector the first, as ``numpy.hsplit``."""

def hstack(
    tup: Sequence[ArrayLike] | DistArray,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays along the second axis, vectors along their only one, as ``numpy.hstack``."""

hypot: _Binary
"""Return the hypotenuse, ``sqrt(x1**2 + x2**2)``, without overflow on the way."""

def i0(x: ArrayLike) -> DistArray:
    """Return the modified Bessel function of the first kind and order 0, as ``numpy.i0``."""

def identity(n: int, dtype: DTypeLike | None = None, **layout: Any) -> DistArray:
    """Make the identity matrix, as ``numpy.identity``."""

def iinfo(type: DTypeLike | DistArray, /) -> np.iinfo:
    """Return the limits of an integer dtype, or of that of an array, as ``numpy.iinfo``."""

def imag(val: ArrayLike) -> DistArray:
    """Return the imaginary part, as ``numpy.imag``."""

def indices(
    dimensions: Sequence[int],
    dtype: DTypeLike | None = ...,
    sparse: builtins.bool = False,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Any:
    """Return, for each axis, the global indices along it, as ``numpy.indices``."""

def inner(a: ArrayLike, b: ArrayLike, /) -> DistArray:
    """Sum products over the last axes of two arrays."""

def inprocess(n: int = 1) -> Session:
    """Make a session whose engines live in this process, without MPI."""

def insert(
    arr: ArrayLike, obj: slice | ArrayLike, values: ArrayLike, axis: SupportsIndex | None = None
) -> DistArray:
    """Return a copy with values put in before some indices along an axis, as ``numpy.insert``."""

def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: complex | None = None,
    right: complex | None = None,
    period: float | None = None,
) -> DistArray:
    """Interpolate linearly in a table."""

def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: builtins.bool = False,
    return_indices: builtins.bool = False,
) -> Any:
    """Return the elements that are in both arrays, in order, each once."""

invert: _Unary
"""Invert every bit; of truth values, the logical not."""

def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike | None = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: builtins.bool = False,
) -> DistArray:
    """Tell which elements agree within tolerances, as ``numpy.isclose``."""

def iscomplex(x: ArrayLike) -> DistArray:
    """Tell which elements have an imaginary part that is not zero, as ``numpy.iscomplex``."""

def iscomplexobj(x: ArrayLike) -> builtins.bool:
    """Tell whether the dtype is complex, as ``numpy.iscomplexobj``."""

def isdtype(dtype: Any, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool:
    """Tell whether a dtype is of a kind, as ``numpy.isdtype``."""

isfinite: _Unary
"""Tell which elements are neither infinite nor NaN."""

def isfortran(a: ArrayLike) -> builtins.bool:
    """Tell whether NumPy's array would lie in Fortran's order, and not in C order."""

def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
    *,
    kind: str | None = None,
) -> DistArray:
    """Tell which elements are in another array."""

isinf: _Unary
"""Tell which elements are infinite."""

isnan: _Unary
"""Tell which elements are NaN."""

isnat: _Unary
"""Tell which times are not a time; distributed arrays hold numbers, which are refused."""

def isneginf(x: ArrayLike, out: DistArray | None = None) -> DistArray:
    """Tell which elements are negative infinity, as ``numpy.isneginf``."""

def isposinf(x: ArrayLike, out: DistArray | None = None) -> DistArray:
    """Tell which elements are positive infinity, as ``numpy.isposinf``."""

def isreal(x: ArrayLike) -> DistArray:
    """Tell which elements have no imaginary part, or one of zero, as ``numpy.isreal``."""

def isrealobj(x: ArrayLike) -> builtins.bool:
    """Tell whether the dtype is not complex, as ``numpy.isrealobj``."""

def isscalar(element: object) -> builtins.bool:
    """Tell whether something is a scalar, as ``numpy.isscalar``: also one that is on engines."""

def ix_(*args: ArrayLike) -> tuple[Any, ...]:
    """Return arrays that index all combinations of indices along each axis, as ``numpy.ix_``."""

def kaiser(M: float, beta: float, **where: Any) -> DistArray:
    """Make Kaiser's window, a Bessel function of a half circle."""

def kron(a: ArrayLike, b: ArrayLike) -> DistArray:
    """Return the Kronecker product: blocks of the second operand scaled by elements of the first."""

lcm: _Binary
"""Return the least common multiple."""

ldexp: _Binary
"""Return ``x1 * 2**x2``."""

left_shift: _Binary
"""Shift the bits of integers to the left: multiply by ``2**x2``."""

less: _Binary
"""Tell where ``x1`` is less than ``x2``."""

less_equal: _Binary
"""Tell where ``x1`` is less than ``x2``, or equal."""

def lexsort(keys: Any, axis: Any = -1) -> DistArray:
    """Return the positions in the order of several keys, the last one first, as ``numpy.lexsort``."""

def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: builtins.bool = True,
    retstep: builtins.bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
) -> Any:
    """Make ``num`` evenly spaced numbers from ``start`` to ``stop``, as ``numpy.linspace``."""

def load(
    file: File,
    mmap_mode: str | None = None,
    allow_pickle: builtins.bool = False,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    **options: object,
) -> DistArray | Archive:
    """Return the array of a file, or a mapping of those of an archive."""

def load_ipython_extension(shell: Any) -> None:
    """Register the magics (``%load_ext distnb``); starts nothing."""

def loadtxt(
    fname: File,
    dtype: DTypeLike = ...,
    comments: str | Sequence[str] | None = "#",
    delimiter: str | None = None,
    converters: object = None,
    skiprows: int = 0,
    usecols: int | Sequence[int] | None = None,
    unpack: builtins.bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    max_rows: int | None = None,
    *,
    quotechar: str | None = None,
    like: object = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> Any:
    """Read numbers from text: each engine parses a share of the lines."""

log: _Unary
"""Return the natural logarithm."""

log10: _Unary
"""Return the logarithm to the base 10."""

log1p: _Unary
"""Return ``log(1 + x)``, exact to the last digits also near 0."""

log2: _Unary
"""Return the logarithm to the base 2."""

logaddexp: _Binary
"""Return ``log(exp(x1) + exp(x2))`` without overflow on the way."""

logaddexp2: _Binary
"""Return ``log2(2**x1 + 2**x2)`` without overflow on the way."""

logical_and: _Binary
"""Tell where both operands are true."""

logical_not: _Unary
"""Tell where elements are false."""

logical_or: _Binary
"""Tell where one operand is true, or both."""

logical_xor: _Binary
"""Tell where one operand is true and not the other."""

def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: builtins.bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    **where: Any,
) -> DistArray:
    """Make numbers whose logarithms are evenly spaced."""

def map(
    function: Callable[..., Any],
    /,
    *arrays: ArrayLike,
    dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
    **constants: Any,
) -> Any:
    """Apply a function of NumPy arrays, element by element, on the engines."""

def map_blocks(
    function: Callable[..., Any],
    /,
    *arrays: ArrayLike,
    halo: int | Sequence[int] = 0,
    boundary: str | float = "nearest",
    dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
    out: Any = None,
    **constants: object,
) -> Any:
    """Apply a function of blocks of arrays, each with its halo, on the engines."""

def mask_indices(n: int, mask_func: Callable[..., Any], k: object = 0) -> tuple[DistArray, ...]:
    """Return the indices of what a function such as :func:`triu` leaves of a matrix of ones."""

def matmul(x1: ArrayLike, x2: ArrayLike, out: Out = None, **options: Any) -> DistArray:
    """Multiply matrices."""

def matrix_transpose(x: ArrayLike, /) -> DistArray:
    """Return the view with the last two axes exchanged; nothing is sent."""

def matvec(x1: ArrayLike, x2: ArrayLike, out: Out = None, **options: Any) -> DistArray:
    """Multiply matrices with vectors."""

def max(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    initial: Number | NoValue | None = ...,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Return the maximum over axes, as ``numpy.max``; NaN where there is one."""

maximum: _Binary
"""Return the greater of two elements; NaN if one is NaN."""

def may_share_memory(a: ArrayLike, b: ArrayLike, max_work: int | None = None) -> builtins.bool:
    """Tell whether two arrays may have an element in common, as ``numpy.may_share_memory``."""

def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Return the arithmetic mean over axes, as ``numpy.mean``."""

def median(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool | NoValue = False,
) -> DistArray:
    """Return the median along axes; of a slice with NaN, NaN."""

def meshgrid(
    *xi: ArrayLike, copy: builtins.bool = True, sparse: builtins.bool = False, indexing: str = "xy"
) -> tuple[DistArray, ...]:
    """Return coordinates of a grid, as ``numpy.meshgrid``."""

def min(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    initial: Number | NoValue | None = ...,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Return the minimum over axes, as ``numpy.min``; NaN where there is one."""

def min_scalar_type(a: ArrayLike) -> np.dtype:
    """Return the smallest dtype that holds a number, as ``numpy.min_scalar_type``."""

minimum: _Binary
"""Return the smaller of two elements; NaN if one is NaN."""

mod: _Binary
"""Return the remainder of a division, with the sign of the divisor."""

modf: _UnaryPair
"""Split into fractions and integers, both with the sign of the element."""

def moveaxis(a: ArrayLike, source: Any, destination: Any) -> DistArray:
    """Return a view with axes moved to other places, as ``numpy.moveaxis``."""

multiply: _Binary
"""Multiply, element by element."""

def nan_to_num(
    x: ArrayLike,
    copy: builtins.bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> DistArray:
    """Replace NaN and infinities by numbers, as ``numpy.nan_to_num``."""

def nanargmax(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    *,
    keepdims: builtins.bool | NoValue = ...,
) -> DistArray:
    """Return where the first maximum of what is not NaN is."""

def nanargmin(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    *,
    keepdims: builtins.bool | NoValue = ...,
) -> DistArray:
    """Return where the first minimum of what is not NaN is."""

def nancumprod(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return running products with NaN taken as 1, as ``numpy.nancumprod``."""

def nancumsum(
    a: ArrayLike,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return running sums with NaN taken as 0, as ``numpy.nancumsum``."""

def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = ...,
    initial: Number | NoValue = ...,
    where: ArrayLike | NoValue = ...,
) -> DistArray:
    """Return the maximum of what is not NaN."""

def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = ...,
    *,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Return the mean of what is not NaN."""

def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool | NoValue = False,
) -> DistArray:
    """Return the median of what is not NaN."""

def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = ...,
    initial: Number | NoValue = ...,
    where: ArrayLike | NoValue = ...,
) -> DistArray:
    """Return the minimum of what is not NaN."""

def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> DistArray:
    """Return elements by their rank in percent among what is not NaN."""

def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = ...,
    initial: Number | NoValue = ...,
    where: ArrayLike | NoValue = ...,
) -> DistArray:
    """Multiply what is not NaN."""

def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> DistArray:
    """Return elements by their rank among what is not NaN."""

def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    ddof: float = 0,
    keepdims: builtins.bool | NoValue = ...,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = ...,
    correction: float | NoValue = ...,
) -> DistArray:
    """Return the standard deviation of what is not NaN."""

def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = ...,
    initial: Number | NoValue = ...,
    where: ArrayLike | NoValue = ...,
) -> DistArray:
    """Sum what is not NaN."""

def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    ddof: float = 0,
    keepdims: builtins.bool | NoValue = ...,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = ...,
    correction: float | NoValue = ...,
) -> DistArray:
    """Return the variance of what is not NaN."""

def ndim(a: ArrayLike) -> int:
    """Return the number of axes, as ``numpy.ndim``."""

def nditer(
    op: ArrayLike | Sequence[ArrayLike],
    flags: Sequence[str] | None = None,
    op_flags: Sequence[Any] | None = None,
    *args: object,
    **options: object,
) -> np.nditer:
    """Return NumPy's ``nditer`` over the elements."""

negative: _Unary
"""Return the number with the other sign."""

nextafter: _Binary
"""Return the next float from ``x1`` towards ``x2``."""

def nonzero(a: ArrayLike) -> tuple[DistArray, ...]:
    """Return the indices of the elements that are not zero, an array for each axis."""

not_equal: _Binary
"""Tell where operands differ."""

def ones(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make an array of ones, as ``numpy.ones``."""

def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: builtins.bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> DistArray:
    """Make an array of ones that lies like another, as ``numpy.ones_like``."""

def open(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    format: str | None = None,
    session: Session | None = None,
) -> Opened:
    """Open an array in a file, of which nothing is read but what it is."""

def others() -> Others:
    """Return the sessions that other notebooks of this user have, to read their arrays by name."""

def outer(a: ArrayLike, b: ArrayLike, out: DistArray | None = None) -> DistArray:
    """Multiply each element of one array with each of another."""

def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> DistArray:
    """Pack truth values into the bits of bytes, as ``numpy.packbits``."""

def pad(
    array: ArrayLike,
    pad_width: ArrayLike | dict[int, Any],
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> DistArray:
    """Return a larger array with margins filled in one of many ways, as ``numpy.pad``."""

def partition(
    a: ArrayLike,
    kth: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: str | None = "introselect",
    order: None = None,
) -> DistArray:
    """Return a copy in which the elements at ``kth`` are where they would be in a sorted one."""

def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> DistArray:
    """Return elements by their rank in percent; of a slice with NaN, NaN."""

def permute_dims(a: ArrayLike, axes: Sequence[SupportsIndex] | None = None) -> DistArray:
    """Return a view with its axes in another order, as the array API standard has it."""

def piecewise(
    x: ArrayLike, condlist: ArrayLike, funclist: Sequence[Any], *args: Any, **kw: Any
) -> DistArray:
    """Choose a function, or a value, by conditions, as ``numpy.piecewise``."""

def place(arr: DistArray, mask: ArrayLike, vals: ArrayLike) -> None:
    """Assign values, one after the other, where a mask is true, as ``numpy.place``."""

def poly(seq_of_zeros: ArrayLike) -> Any:
    """Return the polynomial with given roots, or of the eigenvalues of a matrix."""

def polyadd(a1: ArrayLike, a2: ArrayLike) -> DistArray:
    """Add polynomials term by term."""

def polyder(p: ArrayLike, m: int = 1) -> DistArray:
    """Differentiate a polynomial."""

def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """Divide polynomials."""

def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: builtins.bool = False,
    w: ArrayLike | None = None,
    cov: builtins.bool | str = False,
) -> Any:
    """Fit a polynomial by least squares."""

def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> DistArray:
    """Integrate a polynomial."""

def polymul(a1: ArrayLike, a2: ArrayLike) -> DistArray:
    """Multiply polynomials: a convolution, with the layout and messages of :func:`distnb.convolve`."""

def polysub(a1: ArrayLike, a2: ArrayLike) -> DistArray:
    """Subtract polynomials term by term."""

def polyval(p: ArrayLike, x: ArrayLike) -> DistArray:
    """Evaluate a polynomial: a product and a sum for each coefficient."""

positive: _Unary
"""Return the elements as they are, in a new array."""

pow: _Binary
"""Raise to a power, in the dtype of the operands."""

power: _Binary
"""Raise to a power, in the dtype of the operands."""

def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    initial: Number | NoValue | None = ...,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Multiply over axes, as ``numpy.prod``."""

def profile(session: Session | None = None) -> Profile:
    """Measure where the time of a block of code goes."""

def ptp(
    a: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
) -> DistArray:
    """Return how far the largest element is from the smallest along axes, as ``numpy.ptp``."""

def put(a: DistArray, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Assign to elements at C-order positions, as ``numpy.put``."""

def put_along_axis(
    arr: DistArray, indices: ArrayLike, values: ArrayLike, axis: SupportsIndex | None
) -> None:
    """Assign to elements at positions along an axis, other ones for each 1-D slice."""

def putmask(a: DistArray, /, mask: ArrayLike, values: ArrayLike) -> None:
    """Assign the values at the same C-order positions where a mask is true, as ``numpy.putmask``."""

def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: DistArray | None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool | NoValue = False,
    *,
    weights: ArrayLike | None = None,
) -> DistArray:
    """Return elements by their rank; of a slice with NaN, NaN."""

rad2deg: _Unary
"""Convert angles from radians to degrees."""

radians: _Unary
"""Convert angles from degrees to radians."""

def ravel(a: ArrayLike, order: Order = "C") -> DistArray:
    """Return all elements along one axis, as ``numpy.ravel``: a view where NumPy's is one."""

def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Shape,
    mode: str | tuple[str, ...] = "raise",
    order: str = "C",
) -> Any:
    """Return the positions of indices along each axis, as ``numpy.ravel_multi_index``."""

def read_csv(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    dtype: DTypeLike | Mapping[str, DTypeLike] | None = None,
    names: Sequence[str] | None = None,
    delimiter: str = ",",
    skiprows: int = 0,
    comment: str | None = None,
    missing: Sequence[str] = (
        "",
        "#N/A",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
        "<NA>",
    ),
    decimal: str = ".",
    quote: str | None = '"',
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Read columns of numbers from text; each engine parses a share of the lines."""

def read_feather(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Read columns of a file of Arrow's, which is one of Feather, or of a folder of them."""

def read_parquet(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[Filter] | Sequence[Sequence[Filter]] | None = None,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Read columns of a Parquet file, or of a folder of them."""

def real(val: ArrayLike) -> DistArray:
    """Return the real part, as ``numpy.real``."""

def real_if_close(a: ArrayLike, tol: float = 100) -> DistArray:
    """Return the real parts if all imaginary parts are close to zero, as ``numpy.real_if_close``."""

reciprocal: _Unary
"""Return ``1 / x`` in the dtype of the operand: of integers, rounded towards 0."""

remainder: _Binary
"""Return the remainder of a division, with the sign of the divisor."""

def repartition(
    x: DistArray | Compressed, by: str | ArrayLike = "nnz", axis: int | None = None
) -> Any:
    """Cut an array anew so that engines have as much each; its partners go along, in place."""

def repeat(a: ArrayLike, repeats: Any, axis: SupportsIndex | None = None) -> DistArray:
    """Return each element several times, as ``numpy.repeat``."""

def require(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    requirements: str | Iterable[str] | None = None,
    *,
    like: object = None,
) -> DistArray:
    """Return an array of a dtype with what is required of it, as ``numpy.require``."""

def reshape(
    a: ArrayLike, /, shape: Any = None, order: Order = "C", *, copy: builtins.bool | None = None
) -> DistArray:
    """Return an array with the same elements in another shape, as ``numpy.reshape``."""

def resize(a: ArrayLike, new_shape: Shape) -> DistArray:
    """Return an array of another size: elements in C order, again and again, as ``numpy.resize``."""

def restore(
    path: str | os.PathLike[str],
    names: Iterable[str] | None = None,
    *,
    into: MutableMapping[str, Any] | None = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Return the arrays of a checkpoint, by their names: each engine reads its own parts."""

def result_type(*arrays_and_dtypes: DTypeLike | ArrayLike) -> np.dtype:
    """Return the dtype to which arrays, dtypes and Python numbers are promoted, as NumPy's."""

right_shift: _Binary
"""Shift the bits of integers to the right: divide by ``2**x2``, rounded down."""

rint: _Unary
"""Round to the nearest integer; halves go to the even one."""

def roll(a: ArrayLike, shift: ArrayLike, axis: Any = None) -> DistArray:
    """Return a copy whose elements have moved along axes, around the ends, as ``numpy.roll``."""

def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> DistArray:
    """Return a view with an axis moved before another one, as ``numpy.rollaxis``."""

def roots(p: ArrayLike) -> Any:
    """Return the roots of a polynomial."""

def rot90(m: ArrayLike, k: int = 1, axes: Any = (0, 1)) -> DistArray:
    """Return a view turned by 90 degrees, ``k`` times, from the first axis to the second."""

def round(a: ArrayLike, decimals: int = 0, out: DistArray | None = None) -> DistArray:
    """Round to a number of decimals, as ``numpy.round``; halves go to the even one."""

def row_stack(
    tup: Sequence[ArrayLike] | DistArray,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays as rows, as :func:`distnb.vstack`, which NumPy advises."""

def save(
    file: File,
    arr: ArrayLike,
    allow_pickle: builtins.bool = False,
    *,
    name: str | None = None,
    overwrite: builtins.bool = False,
    attrs: Mapping[str, object] | None = None,
    **options: object,
) -> None:
    """Write an array to a file: each engine writes its own part."""

def savetxt(
    fname: File,
    X: ArrayLike,
    fmt: str | Sequence[str] = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    """Write an array as text: each engine makes the lines of its rows."""

def savez(
    file: File, *args: ArrayLike, allow_pickle: builtins.bool = True, **arrays: ArrayLike
) -> None:
    """Write several arrays to an archive, ``.npz``: each engine writes its own parts."""

def savez_compressed(
    file: File, *args: ArrayLike, allow_pickle: builtins.bool = True, **arrays: ArrayLike
) -> None:
    """Write several arrays to a compressed archive, ``.npz``: each engine deflates its own parts."""

def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None
) -> DistArray:
    """Return the positions at which elements belong in a sorted array, as ``numpy.searchsorted``."""

def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> DistArray:
    """Return elements of the first choice whose condition is true, as ``numpy.select``."""

def session() -> Session:
    """Return the current session."""

def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: builtins.bool = False) -> DistArray:
    """Return the elements of one array that are not in another, in order, each once."""

def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: builtins.bool = False) -> DistArray:
    """Return the elements that are in one of two arrays only, in order."""

def shape(a: ArrayLike) -> Ints:
    """Return the lengths of the axes, as ``numpy.shape``."""

def shares_memory(a: ArrayLike, b: ArrayLike, max_work: int | None = None) -> builtins.bool:
    """Tell whether two arrays have an element in common, exactly, as ``numpy.shares_memory``."""

sign: _Unary
"""Return -1, 0 or 1; of a complex number, the number divided by its modulus."""

signbit: _Unary
"""Tell where the sign bit is set, also of -0.0."""

sin: _Unary
"""Return the sine of angles in radians."""

def sinc(x: ArrayLike) -> DistArray:
    """Return ``sin(pi x) / (pi x)``, and 1 at 0, as ``numpy.sinc``."""

sinh: _Unary
"""Return the hyperbolic sine."""

def size(a: ArrayLike, axis: Axes = None) -> int:
    """Return the number of elements, or the lengths of axes multiplied, as ``numpy.size``."""

def sort(
    a: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: builtins.bool | None = None,
    descending: builtins.bool = False,
) -> DistArray:
    """Return a sorted copy, as ``numpy.sort``; NaN come last."""

def sort_complex(a: ArrayLike) -> DistArray:
    """Sort along the last axis, and return complex numbers, as ``numpy.sort_complex``."""

spacing: _Unary
"""Return the distance to the next float away from 0."""

def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[DistArray]:
    """Return views of equal parts along an axis, as ``numpy.split``."""

def spmd(comm: object = None) -> Session:
    """Make every rank of ``mpiexec -n P python script.py`` an engine of one session (collective)."""

sqrt: _Unary
"""Return the square root; of negative floats NaN."""

square: _Unary
"""Multiply each element by itself."""

def squeeze(a: ArrayLike, axis: Axes = None) -> DistArray:
    """Return a view without axes of length 1, as ``numpy.squeeze``."""

def stack(
    arrays: Sequence[ArrayLike] | DistArray,
    axis: SupportsIndex | None = 0,
    out: DistArray | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays of one shape along a new axis, which is not split, as ``numpy.stack``."""

def start(
    n: int | None = None,
    *,
    beside: builtins.bool = False,
    keep: str | float | None = None,
    mpiexec: str | None = None,
    timeout: float = 60.0,
) -> Session:
    """Start ``n`` local MPI engines and make them the current session."""

def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    ddof: float = 0,
    keepdims: builtins.bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = ...,
    correction: float | NoValue = ...,
) -> DistArray:
    """Return the standard deviation over axes, as ``numpy.std``."""

def subset(engines: int, session: Session | None = None) -> Session:
    """Make a session on the first engines of another one, and make it the current one."""

subtract: _Binary
"""Subtract ``x2`` from ``x1``."""

def sum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    keepdims: builtins.bool | NoValue = False,
    initial: Number | NoValue | None = ...,
    where: ArrayLike | NoValue = True,
) -> DistArray:
    """Sum over axes, as ``numpy.sum``."""

def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> DistArray:
    """Return a view with two axes exchanged, as ``numpy.swapaxes``."""

def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: SupportsIndex | None = None,
    out: DistArray | None = None,
    mode: str = "raise",
) -> DistArray:
    """Return the elements at positions along an axis, as ``numpy.take``."""

def take_along_axis(
    arr: ArrayLike, indices: ArrayLike, axis: SupportsIndex | None = -1
) -> DistArray:
    """Return elements at positions along an axis, other ones for each 1-D slice."""

tan: _Unary
"""Return the tangent of angles in radians."""

tanh: _Unary
"""Return the hyperbolic tangent."""

def tensordot(a: ArrayLike, b: ArrayLike, axes: SummedAxes = 2) -> DistArray:
    """Sum products over axes of two arrays."""

def tile(A: ArrayLike, reps: Any) -> DistArray:
    """Return an array again and again along its axes, as ``numpy.tile``."""

def to_feather(
    path: str | os.PathLike[str], columns: Mapping[str, ArrayLike], **options: object
) -> None:
    """Write columns as a folder of Arrow's files, which are those of Feather, one of each engine."""

def to_parquet(
    path: str | os.PathLike[str], columns: Mapping[str, ArrayLike], **options: object
) -> None:
    """Write columns as a folder of Parquet files, one of each engine's rows."""

def together(
    *arrays: DistArray | Compressed,
    axis: int | Sequence[int] | None = None,
    rebalance: builtins.bool = False,
) -> None:
    """Cut arrays alike along an axis, and keep them so: where one is moved, the others go along."""

def topk(
    x: ArrayLike, k: int, axis: int = -1, *, largest: builtins.bool = True
) -> tuple[DistArray, DistArray]:
    """Return the ``k`` largest elements along an axis in descending order, and their positions."""

def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Sum diagonals."""

def transpose(a: ArrayLike, axes: Axes = None) -> DistArray:
    """Return a view with its axes in another order, as ``numpy.transpose``."""

def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> DistArray:
    """Integrate along an axis by the trapezoidal rule, as ``numpy.trapezoid``."""

def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = ...,
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    like: object = None,
) -> DistArray:
    """Make a matrix with ones on and below a diagonal, zeros above."""

def tril(m: ArrayLike, k: int = 0) -> DistArray:
    """Return a copy of matrices with zeros above a diagonal."""

def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[DistArray, ...]:
    """Return the indices of the lower triangle of a matrix."""

def tril_indices_from(arr: DistArray, k: int = 0) -> tuple[DistArray, ...]:
    """Return the indices of the lower triangle of a matrix, as :func:`tril_indices`."""

def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axes = None) -> DistArray:
    """Return a view without zeros at the ends of axes, as ``numpy.trim_zeros``."""

def triu(m: ArrayLike, k: int = 0) -> DistArray:
    """Return a copy of matrices with zeros below a diagonal."""

def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[DistArray, ...]:
    """Return the indices of the upper triangle of a matrix."""

def triu_indices_from(arr: DistArray, k: int = 0) -> tuple[DistArray, ...]:
    """Return the indices of the upper triangle of a matrix, as :func:`triu_indices`."""

true_divide: _Binary
"""Divide; integers become floats."""

trunc: _Unary
"""Round towards 0."""

def union1d(ar1: ArrayLike, ar2: ArrayLike) -> DistArray:
    """Return the elements of both arrays in order, each once."""

def unique(
    ar: ArrayLike,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: int | None = None,
    *,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> Any:
    """Return the distinct elements in order."""

def unique_all(x: ArrayLike) -> UniqueAllResult:
    """Return distinct elements, first positions, inverse and counts; each NaN is distinct."""

def unique_counts(x: ArrayLike) -> UniqueCountsResult:
    """Return distinct elements and how many there are of each; each NaN is distinct."""

def unique_inverse(x: ArrayLike) -> UniqueInverseResult:
    """Return distinct elements, and which one each element is; each NaN is distinct."""

def unique_values(x: ArrayLike) -> DistArray:
    """Return distinct elements, in order; each NaN is distinct."""

def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again."""

def unpackbits(
    a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> DistArray:
    """Unpack the bits of bytes, as ``numpy.unpackbits``."""

def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Any, ...]:
    """Return the indices along each axis of positions in an array, as ``numpy.unravel_index``."""

def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[DistArray, ...]:
    """Return a view for each index of an axis, as ``numpy.unstack``."""

def unwrap(
    p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = 6.283185307179586
) -> DistArray:
    """Take out jumps of a period along an axis, as ``numpy.unwrap``."""

def vander(x: ArrayLike, N: int | None = None, increasing: builtins.bool = False) -> DistArray:
    """Return the matrix of powers of numbers: those of one number in a row."""

def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: DistArray | None = None,
    ddof: float = 0,
    keepdims: builtins.bool | NoValue = False,
    *,
    where: ArrayLike | NoValue = True,
    mean: ArrayLike | NoValue = ...,
    correction: float | NoValue = ...,
) -> DistArray:
    """Return the variance over axes, as ``numpy.var``, in two passes."""

def vdot(a: ArrayLike, b: ArrayLike, /) -> DistArray:
    """Sum the products of all elements of two arrays, those of the first conjugated."""

def vecdot(
    x1: ArrayLike, x2: ArrayLike, out: Out = None, *, axis: int = -1, **options: Any
) -> DistArray:
    """Sum the products of (the conjugate of) vectors along an axis."""

def vecmat(x1: ArrayLike, x2: ArrayLike, out: Out = None, **options: Any) -> DistArray:
    """Multiply (conjugated) vectors with matrices."""

def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[DistArray]:
    """Return views of parts along the first axis, as ``numpy.vsplit``."""

def vstack(
    tup: Sequence[ArrayLike] | DistArray,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> DistArray:
    """Join arrays as rows, as ``numpy.vstack``."""

def where(condition: ArrayLike, x: _Limit = ..., y: _Limit = ..., /) -> Any:
    """Choose elements from ``x`` where a condition is true, else from ``y``."""

def zeros(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    dist: Dist = None,
    grid: Grid = None,
    session: Session | None = None,
    device: str | None = None,
    like: object = None,
) -> DistArray:
    """Make an array of zeros, as ``numpy.zeros``."""

def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    subok: builtins.bool = True,
    shape: Shape | None = None,
    *,
    dist: Dist = None,
    device: str | None = None,
) -> DistArray:
    """Make an array of zeros that lies like another, as ``numpy.zeros_like``."""
