"""Functions of the array namespace, and which NumPy functions they stand for.

Elementwise functions and plain reductions are made from the op table; the rest is composed of
them, with NumPy's rules for dtypes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from distnb import ops
from distnb.client.array import FUNCTIONS, DistArray
from distnb.client.creation import asarray, full_like
from distnb.client.indexing import one_axis, some_axes
from distnb.client.operations import assign, broadcast, elementwise, understood
from distnb.client.reducing import reduce
from distnb.errors import explain
from distnb.slices import intersect, section

__all__ = ["NAMESPACE"]

_Function = Callable[..., Any]

#: name -> function of the array namespace. Not module globals, which would hide the builtins
#: ``sum``, ``max``, ``abs`` ... in this module.
NAMESPACE: dict[str, _Function] = {}


def _public(name: str, *stands_for: Any) -> Callable[[_Function], _Function]:
    """Put a function into the namespace, and in place of NumPy's for distributed arrays."""

    def register(f: _Function) -> _Function:
        f.__name__ = f.__qualname__ = name
        NAMESPACE[name] = f
        for numpys in stands_for:
            FUNCTIONS[numpys] = f
        return f

    return register


def _first_array(*inputs: Any) -> tuple[Any, ...]:
    """Make sure that one input is distributed, so that the operation runs on the engines."""
    if any(isinstance(x, DistArray) for x in inputs):
        return inputs
    return (asarray(inputs[0]), *inputs[1:])


def _make_elementwise(row: ops.Elementwise) -> _Function:
    def function(*inputs: Any, **options: Any) -> Any:
        if len(inputs) > row.nin:  # as in NumPy, outputs may be given by position
            options["out"] = tuple(inputs[row.nin :])
            inputs = inputs[: row.nin]
        if len(inputs) != row.nin:
            raise TypeError(
                explain(
                    f"{row.name}()", f"{len(inputs)} arguments", f"{row.nin}", "pass the others"
                )
            )
        for x in inputs:
            if not understood(x):
                raise TypeError(
                    explain(f"{row.name}()", type(x).__name__, "array-like", "convert it")
                )
        return elementwise(row.name, *_first_array(*inputs), **options)

    summary = (row.run.__doc__ or "").split("\n\n")
    first = next((s.strip() for s in summary if s.strip() and "(" not in s.split()[0]), "")
    function.__doc__ = (
        f"{first}\n\n    Elementwise, as ``numpy.{row.name}``. The result stays where the largest "
        "operand is; what\n    lies elsewhere is sent there, and an aligned operation sends "
        "nothing.\n    "
    )
    return function


def _make_reduction(name: str) -> _Function:
    def function(a: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        return getattr(_array(a), name)(axis, *args, **options)

    function.__doc__ = (
        f"Reduce over ``axis`` as ``numpy.{name}`` does.\n\n    The kept axes stay split as they "
        "are and every engine along a reduced axis gets a copy of the\n    result; partial results "
        "travel up and down a binomial tree.\n    "
    )
    return function


def _array(x: Any) -> DistArray:
    return x if isinstance(x, DistArray) else asarray(x)


for _name in sorted(dir(np)):
    _row = ops.ELEMENTWISE.get(getattr(getattr(np, _name), "__name__", ""))
    if _row is not None and isinstance(getattr(np, _name), np.ufunc):
        _public(_name)(_make_elementwise(_row))

for _name, _numpys in {
    "sum": (np.sum,),
    "prod": (np.prod,),
    "min": (np.min,),
    "max": (np.max,),
    "any": (np.any,),
    "all": (np.all,),
    "argmin": (np.argmin,),
    "argmax": (np.argmax,),
    "std": (),
    "var": (),
    "mean": (),
}.items():
    _public(_name, *_numpys)(_make_reduction(_name))
NAMESPACE["amax"], NAMESPACE["amin"] = NAMESPACE["max"], NAMESPACE["min"]


# -- means -------------------------------------------------------------------------------------


def _count(x: DistArray, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """Return how many elements each result is of."""
    if where is True or where is np._NoValue:
        return int(np.prod([x.shape[d] for d in axes], dtype=np.int64))
    mask = broadcast(asarray(where, session=x.session), x.shape)
    return reduce("sum", mask, axes, np.dtype(np.intp), None, keepdims)


def _working_dtype(x: DistArray, dtype: Any) -> Any:
    """Return the dtype in which NumPy adds up for mean and var."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if x.dtype == np.float16 else None


def _result_dtype(f: _Function, x: DistArray, dtype: Any) -> np.dtype:
    return np.asarray(f(np.ones(1, x.dtype), dtype=dtype)).dtype


def _finish(found: DistArray, dtype: np.dtype, out: Any) -> DistArray:
    if out is not None:
        assign(out, found)
        return out
    return found if found.dtype == dtype else found.astype(dtype)


def _mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):  # type: ignore[no-untyped-def]
    """Arithmetic mean: a sum, divided on the engines."""
    x = _array(a)
    axes = some_axes(axis, x.ndim)
    keep = keepdims is True
    total = reduce("sum", x, axes, _working_dtype(x, dtype), None, keep, None, where)
    mean = elementwise("divide", total, _count(x, axes, where, keep))
    return _finish(mean, _result_dtype(np.mean, x, dtype), out)


def _var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True):  # type: ignore[no-untyped-def]
    """Variance in two passes, as NumPy: the mean, then the mean square of what is left."""
    x = _array(a)
    axes = some_axes(axis, x.ndim)
    keep = keepdims is True
    working = _working_dtype(x, dtype)
    total = reduce("sum", x, axes, working, None, True, None, where)
    rest = elementwise("subtract", x, elementwise("divide", total, _count(x, axes, where, True)))
    if rest.dtype.kind == "c":
        square = rest.real * rest.real + rest.imag * rest.imag
    else:
        square = elementwise("multiply", rest, rest)
    squares = reduce(
        "sum", square, axes, None if working is None else square.dtype, None, keep, None, where
    )
    n = _count(x, axes, where, keep)
    free = max(n - ddof, 0) if isinstance(n, int) else elementwise("maximum", n - ddof, 0)
    return _finish(elementwise("divide", squares, free), _result_dtype(np.var, x, dtype), out)


def _std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True):  # type: ignore[no-untyped-def]
    """Take the square root of the variance."""
    return elementwise(
        "sqrt", FUNCTIONS[np.var](a, axis, dtype, None, ddof, keepdims, where=where), out=out
    )


FUNCTIONS[np.mean] = _mean
FUNCTIONS[np.var] = _var
FUNCTIONS[np.std] = _std
FUNCTIONS[np.amax] = FUNCTIONS[np.max]
FUNCTIONS[np.amin] = FUNCTIONS[np.min]


@_public("count_nonzero", np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> DistArray:
    """Count the elements that are not zero."""
    x = _array(a)
    return reduce("sum", elementwise("not_equal", x, 0), axis, np.dtype(np.intp), None, keepdims)


# -- elementwise functions that are no ufuncs ---------------------------------------------------


@_public("where", np.where)
def _where(condition: Any, x: Any, y: Any) -> DistArray:
    """Choose elements from ``x`` where the condition is true, else from ``y``."""
    return elementwise("where", *_first_array(condition, x, y))


@_public("clip", np.clip)
def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **limits: Any
) -> DistArray:
    """Limit the elements to an interval."""
    low, high = limits.get("min", a_min), limits.get("max", a_max)
    x = _array(a)
    if low is None and high is None:
        return elementwise("positive", x, out=out)
    if high is None:
        return elementwise("maximum", x, low, out=out)
    if low is None:
        return elementwise("minimum", x, high, out=out)
    return elementwise("clip", x, low, high, out=out)


@_public("round", np.round, np.around)
def _round(a: Any, decimals: int = 0, out: Any = None) -> DistArray:
    """Round to a number of decimals."""
    return elementwise("round", _array(a), operator.index(decimals), out=out)


@_public("real", np.real)
def _real(val: Any) -> DistArray:
    """Return the real part."""
    return _array(val).real


@_public("imag", np.imag)
def _imag(val: Any) -> DistArray:
    """Return the imaginary part."""
    return _array(val).imag


@_public("copyto", np.copyto)
def _copyto(dst: DistArray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Assign the elements of ``src`` to ``dst``, where a mask is true."""
    kind = src.dtype if hasattr(src, "dtype") else np.asarray(src).dtype
    weak = isinstance(src, bool | int | float | complex)
    if weak:  # NumPy refuses what cannot be stored
        np.copyto(np.empty(0, dst.dtype), src, casting=casting)  # type: ignore[arg-type]
    elif not np.can_cast(kind, dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast from {kind!r} to {dst.dtype!r} according to the rule {casting!r}"
        )
    assign(dst, src, None if where is True else where)


@_public("allclose", np.allclose)
def _allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Tell whether all elements agree within tolerances (reads one value)."""
    x, y = _first_array(a, b)
    near = elementwise("less_equal", abs(x - y), atol + rtol * abs(_array(y)))
    near = near & elementwise("isfinite", _array(y)) | elementwise("equal", x, y)
    if equal_nan:
        near = near | (elementwise("isnan", _array(x)) & elementwise("isnan", _array(y)))
    return bool(near.all())


@_public("array_equal", np.array_equal)
def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Tell whether shapes and all elements are equal (reads one value)."""
    x, y = _array(a1), _array(a2)
    if x.shape != y.shape:
        return False
    same = elementwise("equal", x, y)
    if equal_nan and {x.dtype.kind, y.dtype.kind} & set("fc"):
        same = same | (elementwise("isnan", x) & elementwise("isnan", y))
    return bool(same.all())


# -- views -------------------------------------------------------------------------------------


@_public("transpose", np.transpose)
def _transpose(a: Any, axes: Any = None) -> DistArray:
    """Return a view with its axes in another order."""
    return _array(a).transpose(axes)


@_public("permute_dims")
def _permute_dims(a: Any, axes: Any) -> DistArray:
    """Return a view with its axes in another order."""
    return _array(a).transpose(axes)


@_public("swapaxes", np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> DistArray:
    """Return a view with two axes exchanged."""
    return _array(a).swapaxes(axis1, axis2)


@_public("moveaxis", np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> DistArray:
    """Return a view with axes moved to other places."""
    x = _array(a)
    np.moveaxis(np.empty((1,) * x.ndim), source, destination)  # NumPy checks
    pairs = zip(*(np.atleast_1d(v).tolist() for v in (source, destination)), strict=True)
    targets = {one_axis(d, x.ndim): one_axis(s, x.ndim) for s, d in pairs}
    rest = iter(d for d in range(x.ndim) if d not in targets.values())
    return x.transpose([targets[d] if d in targets else next(rest) for d in range(x.ndim)])


@_public("flip", np.flip)
def _flip(m: Any, axis: Any = None) -> DistArray:
    """Return a view with the elements along axes in reverse order."""
    x = _array(m)
    axes = some_axes(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(x.ndim))]


@_public("expand_dims", np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> DistArray:
    """Return a view with new axes of length 1."""
    x = _array(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    view = x._view
    for d in sorted(some_axes(tuple(given), x.ndim + len(given))):
        view = view.insert(d)
    return x._look(view)


@_public("squeeze", np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> DistArray:
    """Return a view without axes of length 1."""
    return _array(a).squeeze(axis)


@_public("broadcast_to", np.broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> DistArray:
    """Return a read-only view stretched to a shape."""
    x = _array(array)
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
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


@_public("broadcast_arrays", np.broadcast_arrays)
def _broadcast_arrays(*args: Any) -> tuple[DistArray, ...]:
    """Return read-only views of one shape."""
    arrays = [_array(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(_broadcast_to(a, shape) for a in arrays)


@_public("shares_memory", np.shares_memory)
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
FUNCTIONS[np.full_like] = full_like
FUNCTIONS[np.copy] = lambda a, order="K", subok=False: a.copy()
FUNCTIONS[np.shape] = lambda a: a.shape
FUNCTIONS[np.ndim] = lambda a: a.ndim
FUNCTIONS[np.size] = lambda a, axis=None: a.size if axis is None else a.shape[axis]
FUNCTIONS[np.iscomplexobj] = lambda x: x.dtype.kind == "c"
FUNCTIONS[np.isrealobj] = lambda x: x.dtype.kind != "c"
FUNCTIONS[np.result_type] = lambda *xs: np.result_type(
    *(x.dtype if isinstance(x, DistArray) else x for x in xs)
)
