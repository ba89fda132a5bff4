"""Elementwise functions: made from the op table, and composed of them; NumPy's small helpers."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.batching.call_sites import warn_user
from distnb.client.handle.arguments import NoValue
from distnb.client.handle.array import Array
from distnb.client.handle.operands import beside_text, by_numpy, others_in, understood
from distnb.client.handle.scalars import no_array
from distnb.client.math.ufunc_texts import docstring, method_docstring
from distnb.client.reach.methods import computes, methods_of
from distnb.client.reach.small_steps import of_scalars, quick
from distnb.client.reach.whole_functions import step, written_in_reach
from distnb.client.record.creation import asarray, refuse_masked
from distnb.client.record.eager import check_out, written_plain
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.operators import COMPARISONS, odd
from distnb.client.record.ufunc_options import as_mask, tell_unfilled
from distnb.client.select.taking import nonzero
from distnb.common.errors import NotNumericError, explain
from distnb.ops import table
from distnb.ops.scalars import NUMBERS, SCALARS

__all__: list[str] = []

_Function = Callable[..., Any]
_NONE: Any = np._NoValue
#: A limit, or what else may be left out.
_Limit: TypeAlias = ArrayLike | NoValue | None
#: Ufuncs of which NumPy does not want the output by its position, and how it says so.
_TWO_ALONE = {np.maximum, np.minimum} if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else set()
_TWO_ALONE_SAID = (
    "Passing more than 2 positional arguments to np.maximum and np.minimum is deprecated. If you "
    "meant to use the third argument as an output, use the `out` keyword argument instead. If you "
    "hoped to work with more than 2 inputs, combine them into a single array and get the extrema "
    "for the relevant axis."
)
#: Codes of dtypes that arrays cannot have.
_FOREIGN = frozenset("gGOMm")


def _first_array(*inputs: Any) -> tuple[Any, ...]:
    """Make sure that one input is distributed, so that the operation runs on the engines.

    It is one whose dtype counts: numbers of Python's are weak, unless there is nothing else.
    """
    if any(isinstance(x, Array) for x in inputs):
        return inputs
    strong = [i for i, x in enumerate(inputs) if type(x) not in NUMBERS]
    if not strong:
        return (asarray(inputs[0]), *map(np.asarray, inputs[1:]))
    return tuple(asarray(x) if i == strong[0] else x for i, x in enumerate(inputs))


def _make_elementwise(row: table.Elementwise) -> _Function:
    run: Any = row.run
    most = row.nin + row.nout

    def long(*inputs: Any, **options: Any) -> Any:
        if options.get("out") is ...:
            return _as_arrays(long(*inputs, **options | {"out": None}))
        if row.nin < len(inputs) <= most:  # as in NumPy, outputs may be given by position
            if "out" in options:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            if any(x is ... for x in inputs[row.nin :]):
                raise TypeError("out=... is only allowed as a keyword argument.")
            if run in _TWO_ALONE:
                warn_user(_TWO_ALONE_SAID, DeprecationWarning)
            options["out"] = (*inputs[row.nin :], *(None,) * (most - len(inputs)))
            inputs = inputs[: row.nin]
        if len(inputs) != row.nin:
            raise TypeError(
                explain(
                    f"{row.name}()", f"{len(inputs)} arguments", f"{row.nin}", "pass the others"
                )
            )
        if options and (others := others_in(options)):
            return _by_others(row, others[0], _first_array(*inputs), options)
        tell_unfilled(options)
        for x in inputs:
            if not understood(x):
                return _by_others(row, x, inputs, options)
        if row.run in COMPARISONS and not options and any(map(odd, inputs)):
            return row.run(*_first_array(*inputs))
        return elementwise(row.name, *_first_array(*inputs), **options)

    function = computes(run, long) if isinstance(run, np.ufunc) else long
    function.__signature__ = _signature(row.nin)  # type: ignore[attr-defined]
    return function


def _by_others(
    row: table.Elementwise, other: object, inputs: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Do what an operand has of its own for NumPy's function, such as a table or a sparse array."""
    if isinstance(other, str | bytes):
        return row.run(*_first_array(*inputs))  # which raises what NumPy raises
    if other is None or getattr(np, row.name, None) is not row.run:
        raise TypeError(explain(f"{row.name}()", type(other).__name__, "array-like", "convert it"))
    return row.run(*inputs, **options)


def _as_arrays(found: ArrayLike | tuple[ArrayLike, ...]) -> Any:
    """Return results with arrays in place of scalars, as ``out=...`` asks for."""
    return tuple(map(asarray, found)) if isinstance(found, tuple) else asarray(found)


@cache
def _signature(nin: int) -> inspect.Signature:
    """Return the signature of the ufuncs of so many inputs."""
    names = ["x"] if nin == 1 else [f"x{i + 1}" for i in range(nin)]
    inputs = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    out = inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in (("where", True), ("casting", "same_kind"), ("dtype", None))
    ]
    return inspect.Signature([*inputs, out, *options])


def _add_methods(function: Any, ufunc: np.ufunc) -> None:
    """Give a function what its ufunc has: methods and facts."""
    for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
        setattr(function, name, _method(ufunc, name))
    add_facts(function, ufunc)


def add_facts(function: Any, ufunc: np.ufunc) -> None:
    """Tell of a function what its ufunc tells: the number of operands, its loops and more."""
    for name in ("nin", "nout", "nargs", "identity", "signature", "resolve_dtypes"):
        setattr(function, name, getattr(ufunc, name))
    function.types = [loop for loop in ufunc.types if not _FOREIGN & {*loop}]
    function.ntypes = len(function.types)


def _method(ufunc: np.ufunc, name: str) -> _Function:
    def method(x: ArrayLike, /, *others: ArrayLike, **options: Any) -> Any:
        inputs: tuple[Any, ...] = (x, *others)
        if name != "at" and all(map(understood, inputs)):  # at writes into x
            inputs = _first_array(*inputs)
        return getattr(ufunc, name)(*inputs, **options)

    method.__name__, method.__qualname__ = name, f"{ufunc.__name__}.{name}"
    method.__doc__ = method_docstring(ufunc, name)
    return methods_of(ufunc, name, method)


def _of_table(name: str) -> Any:
    """Return the function of a ufunc, by one of NumPy's names, made from the table."""
    return _of_ufunc(getattr(np, name))


@cache
def _of_ufunc(ufunc: np.ufunc) -> Any:
    """Return the function of a ufunc: as in NumPy one, whatever it is called."""
    function: Any = _make_elementwise(table.ELEMENTWISE[ufunc.__name__])
    function.__name__ = function.__qualname__ = ufunc.__name__
    _add_methods(function, ufunc)
    function.__doc__ = docstring(function)  # it has the ufunc's loops, which take a while to list
    return function


# All elementwise ufuncs of NumPy; a test compares them with the table.
abs_ = _of_table("abs")
absolute = _of_table("absolute")
acos = _of_table("acos")
acosh = _of_table("acosh")
add = _of_table("add")
arccos = _of_table("arccos")
arccosh = _of_table("arccosh")
arcsin = _of_table("arcsin")
arcsinh = _of_table("arcsinh")
arctan = _of_table("arctan")
arctan2 = _of_table("arctan2")
arctanh = _of_table("arctanh")
asin = _of_table("asin")
asinh = _of_table("asinh")
atan = _of_table("atan")
atan2 = _of_table("atan2")
atanh = _of_table("atanh")
bitwise_and = _of_table("bitwise_and")
bitwise_count = _of_table("bitwise_count")
bitwise_invert = _of_table("bitwise_invert")
bitwise_left_shift = _of_table("bitwise_left_shift")
bitwise_not = _of_table("bitwise_not")
bitwise_or = _of_table("bitwise_or")
bitwise_right_shift = _of_table("bitwise_right_shift")
bitwise_xor = _of_table("bitwise_xor")
cbrt = _of_table("cbrt")
ceil = _of_table("ceil")
conj = _of_table("conj")
conjugate = _of_table("conjugate")
copysign = _of_table("copysign")
cos = _of_table("cos")
cosh = _of_table("cosh")
deg2rad = _of_table("deg2rad")
degrees = _of_table("degrees")
divide = _of_table("divide")
divmod = _of_table("divmod")
equal = _of_table("equal")
exp = _of_table("exp")
exp2 = _of_table("exp2")
expm1 = _of_table("expm1")
fabs = _of_table("fabs")
float_power = _of_table("float_power")
floor = _of_table("floor")
floor_divide = _of_table("floor_divide")
fmax = _of_table("fmax")
fmin = _of_table("fmin")
fmod = _of_table("fmod")
frexp = _of_table("frexp")
gcd = _of_table("gcd")
greater = _of_table("greater")
greater_equal = _of_table("greater_equal")
heaviside = _of_table("heaviside")
hypot = _of_table("hypot")
invert = _of_table("invert")
isfinite = _of_table("isfinite")
isinf = _of_table("isinf")
isnan = _of_table("isnan")
isnat = _of_table("isnat")
lcm = _of_table("lcm")
ldexp = _of_table("ldexp")
left_shift = _of_table("left_shift")
less = _of_table("less")
less_equal = _of_table("less_equal")
log = _of_table("log")
log10 = _of_table("log10")
log1p = _of_table("log1p")
log2 = _of_table("log2")
logaddexp = _of_table("logaddexp")
logaddexp2 = _of_table("logaddexp2")
logical_and = _of_table("logical_and")
logical_not = _of_table("logical_not")
logical_or = _of_table("logical_or")
logical_xor = _of_table("logical_xor")
maximum = _of_table("maximum")
minimum = _of_table("minimum")
mod = _of_table("mod")
modf = _of_table("modf")
multiply = _of_table("multiply")
negative = _of_table("negative")
nextafter = _of_table("nextafter")
not_equal = _of_table("not_equal")
positive = _of_table("positive")
pow_ = _of_table("pow")
power = _of_table("power")
rad2deg = _of_table("rad2deg")
radians = _of_table("radians")
reciprocal = _of_table("reciprocal")
remainder = _of_table("remainder")
right_shift = _of_table("right_shift")
rint = _of_table("rint")
sign = _of_table("sign")
signbit = _of_table("signbit")
sin = _of_table("sin")
sinh = _of_table("sinh")
spacing = _of_table("spacing")
sqrt = _of_table("sqrt")
square = _of_table("square")
subtract = _of_table("subtract")
tan = _of_table("tan")
tanh = _of_table("tanh")
true_divide = _of_table("true_divide")
trunc = _of_table("trunc")

# -- elementwise functions that are no ufuncs ---------------------------------------------------


@stands_for(np.where, scalar=False)
def where(condition: ArrayLike, x: _Limit = _NONE, y: _Limit = _NONE, /) -> Any:
    """Choose elements from ``x`` where a condition is true, else from ``y``.

    As ``numpy.where``. Element by element: the result stays where the largest operand is, what lies
    elsewhere is sent there, and an aligned operation sends nothing. Of a condition alone, return
    where it is true, as :func:`distnb.nonzero`.

    Parameters
    ----------
    condition : array_like of bool
        What decides.
    x, y : array_like, optional
        Where elements come from: both or neither.

    Returns
    -------
    DistArray, or a tuple of one for each axis
        Of the shape to which the three are broadcast; of a condition alone, indices.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.array([3, -1, 2])
    ...     dnb.where(x > 0, x, 0).to_numpy()
    array([3, 0, 2])
    """
    if x is _NONE and y is _NONE:
        return nonzero(condition)
    if x is _NONE or y is _NONE:
        raise ValueError("either both or neither of x and y should be given")
    given: tuple[Any, ...] = (condition, x, y)
    numbers = type(condition) in SCALARS and type(x) in SCALARS and type(y) in SCALARS
    found = step(np.where, where, "exact", given, {}) if numbers else quick(np.where, given)
    if found is not None:
        return found
    if any(one is None for one in given):
        return cast(Array, by_numpy(np.where, *given))  # its result has objects
    try:
        return elementwise("where", *_first_array(*given))
    except NotNumericError:
        if not beside_text(np.where, (x, y)):
            raise
        return cast(Array, by_numpy(np.where, *given))  # NumPy's: it has text, or dates


@stands_for(np.clip, small="elementwise")
def clip(
    a: ArrayLike,
    a_min: _Limit = _NONE,
    a_max: _Limit = _NONE,
    out: Array | None = None,
    *,
    min: _Limit = _NONE,
    max: _Limit = _NONE,
    **options: Any,
) -> Array:
    """Limit the elements to an interval, as ``numpy.clip``.

    Element by element: the result stays where the largest operand is, what lies elsewhere is sent
    there, and an aligned operation sends nothing.

    Parameters
    ----------
    a : array_like
        The elements.
    a_min, a_max : array_like, optional
        The limits, both; None for no limit.
    out : DistArray, optional
        Where the result is put.
    min, max : array_like, optional
        In place of these by name, one or both.
    **options
        Those of ufuncs: ``where``, ``casting``, ``dtype``.

    Returns
    -------
    DistArray
        Of the shape to which ``a`` and the limits are broadcast.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.array([1, 5, 9])
    ...     dnb.clip(x, 2, 7).to_numpy(), dnb.clip(x, max=7).to_numpy()
    (array([2, 5, 7]), array([1, 5, 7]))
    """
    if out is None and min is max is _NONE and not options:
        found = of_scalars(np.clip, (a, a_min, a_max))
        if found is not None:
            return found
    low, high = _limits((a_min, a_max), (min, max))
    x = asarray(a)
    if x.dtype.kind in "iu":
        low, high = _within(low, high, np.iinfo(x.dtype))
    if low is None and high is None:
        return elementwise("positive", x, out=out, **options)
    if high is None:
        return elementwise("maximum", x, low, out=out, **options)
    if low is None:
        return elementwise("minimum", x, high, out=out, **options)
    return elementwise("clip", x, low, high, out=out, **options)


def _limits(both: tuple[_Limit, _Limit], named: tuple[_Limit, _Limit]) -> tuple[Any, Any]:
    """Return the limits of ``clip``; raises what NumPy raises of the two ways to give them.

    A lower limit alone is what the array API standard has, where NumPy wants both.
    """
    if both[0] is _NONE and both[1] is not _NONE:
        raise TypeError("clip() missing 1 required positional argument: 'a_min'")
    if both[1] is _NONE:
        low, high = (None if x is _NONE else x for x in (both if both[0] is not _NONE else named))
        return low, high
    if named != (_NONE, _NONE):
        raise ValueError(
            explain("clip()", "min= or max= beside a_min, a_max", "one pair", "drop the others")
        )
    return both


def _within(low: object, high: object, limits: np.iinfo) -> tuple[Any, Any]:
    """Return limits of Python's as NumPy takes them: one beyond those of the dtype is none."""
    low = None if isinstance(low, int) and low <= limits.min else low
    return low, None if isinstance(high, int) and high >= limits.max else high


@stands_for(np.round, np.around, small="elementwise", scalar=True)
def round_(a: ArrayLike, decimals: int = 0, out: Array | None = None) -> Array:
    """Round to a number of decimals, as ``numpy.round``; halves go to the even one.

    Element by element: the result lies as ``a``, and nothing is sent.

    Parameters
    ----------
    a : array_like
        The elements.
    decimals : int
        How many decimals; negative ones are before the point.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Of the shape of ``a``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.round([1.25, 2.675, 35.0], 1).to_numpy()
    array([ 1.2,  2.7, 35. ])
    """
    x, places = asarray(a), operator.index(decimals)
    check_out(x, out)  # along more axes ufuncs repeat it
    if x.dtype == bool and not places:  # NumPy has a dtype for this alone
        return elementwise("rint", x, out=out)
    return elementwise("round", x, places, out=out)


around = round_


@stands_for(np.real)
def real(val: ArrayLike) -> Array:
    """Return the real part, as ``numpy.real``.

    Of complex numbers it is a view, of real ones the array itself: it lies as ``val``, and nothing
    is sent.

    Parameters
    ----------
    val : array_like
        The elements.

    Returns
    -------
    DistArray
        Of the shape of ``val``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.real([1 + 2j, 3 - 1j]).to_numpy()
    array([1., 3.])
    """
    given: Any = val
    return given.real if type(val) in SCALARS else asarray(val).real


@stands_for(np.imag)
def imag(val: ArrayLike) -> Array:
    """Return the imaginary part, as ``numpy.imag``.

    Of complex numbers it is a view, of real ones zeros that cannot be written: it lies as ``val``,
    and nothing is sent.

    Parameters
    ----------
    val : array_like
        The elements.

    Returns
    -------
    DistArray
        Of the shape of ``val``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.imag([1 + 2j, 3 - 1j]).to_numpy()
    array([ 2., -1.])
    """
    given: Any = val
    return given.imag if type(val) in SCALARS else asarray(val).imag


@stands_for(np.copyto)
def copyto(dst: Array, src: ArrayLike, casting: str = "same_kind", where: ArrayLike = True) -> None:
    """Assign the elements of an array to another one, where a mask is true, as ``numpy.copyto``.

    ``dst`` stays where it is: elements that lie elsewhere are sent there. An array of NumPy's is
    written in the notebook.

    Parameters
    ----------
    dst : DistArray or ndarray
        What is written.
    src : array_like
        What is assigned; it is broadcast.
    casting : str
        How ``src`` may be cast, as in NumPy.
    where : array_like of bool
        Which elements are assigned.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.zeros(3)
    ...     dnb.copyto(x, [1.0, 2.0, 3.0], where=[True, False, True])
    ...     x.to_numpy()
    array([1., 0., 3.])
    """
    if written_plain(np.copyto, dst, src, casting=casting, where=where):
        return
    if dst.single and not dst.ndim:
        raise no_array(dst)
    rest: Any = where
    usual = rest is True and casting == "same_kind"
    if usual and written_in_reach("cast", np.copyto, "exact", dst, src):
        return
    rule: Any = casting
    if isinstance(src, bool | int | float | complex):  # NumPy refuses what cannot be stored
        number = np.empty((), dst.dtype)
        np.copyto(number, src, casting=rule)
        src = number
    elif not isinstance(src, Array):  # lists are arrays first, of a dtype that is cast then
        src = np.asarray(src)
    if not np.can_cast(src.dtype, dst.dtype, rule):
        raise TypeError(
            f"Cannot cast from {src.dtype!r} to {dst.dtype!r} according to the rule {casting!r}"
        )
    if not src.ndim and not isinstance(src, Array):  # what is assigned would not be cast
        src = src.astype(dst.dtype)
    mask = as_mask(where)
    if np.ndim(mask) > dst.ndim:
        raise ValueError(explain("where", f"shape {mask.shape}", f"{dst.shape}", "slice the mask"))
    assign(dst, src, None if mask is True else mask)


@stands_for(np.array_equal, small="exact")
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Tell whether shapes and all elements are equal, as ``numpy.array_equal``.

    It is waited for one truth value. Of arrays that lie differently, one is sent to where the other
    is; of two shapes nothing is asked.

    Parameters
    ----------
    a1, a2 : array_like
        What to compare.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    bool
        In the notebook.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.array_equal(dnb.arange(3), [0, 1, 2])
    True
    """
    refuse_masked(a1)
    refuse_masked(a2)
    try:
        x, y = asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return of_no_numbers(np.array_equal, a1, a2, equal_nan=equal_nan)
    if x.shape != y.shape:
        return False
    same = elementwise("equal", x, y)
    if equal_nan and {x.dtype.kind, y.dtype.kind} & set("fc"):
        same = same | (elementwise("isnan", x) & elementwise("isnan", y))
    return bool(same.all())


def of_no_numbers(tell: Callable[..., bool], *given: ArrayLike, **options: Any) -> bool:
    """Return what NumPy tells of operands of which one is text, objects or ragged.

    That is in the notebook; what is distributed is brought there, within the gather budget.
    """
    return tell(*(np.asarray(x) if isinstance(x, Array) else x for x in given), **options)
