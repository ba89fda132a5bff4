"""Elementwise functions: made from the op table, and composed of them; NumPy's small helpers."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import FUNCTIONS, NAMESPACE, public
from distnb.client.record.operations import assign, elementwise, understood
from distnb.common.errors import explain
from distnb.ops import table

__all__: list[str] = []

_Function = Callable[..., Any]


def _first_array(*inputs: Any) -> tuple[Any, ...]:
    """Make sure that one input is distributed, so that the operation runs on the engines."""
    if any(isinstance(x, DistArray) for x in inputs):
        return inputs
    return (asarray(inputs[0]), *inputs[1:])


def _make_elementwise(row: table.Elementwise) -> _Function:
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

    function.__signature__ = _signature(row)  # type: ignore[attr-defined]
    summary = (row.run.__doc__ or "").split("\n\n")
    first = next((s.strip() for s in summary if s.strip() and "(" not in s.split()[0]), "")
    function.__doc__ = (
        f"{first}\n\n    Elementwise, as ``numpy.{row.name}``. The result stays where the largest "
        "operand is; what\n    lies elsewhere is sent there, and an aligned operation sends "
        "nothing.\n    "
    )
    return function


def _signature(row: table.Elementwise) -> inspect.Signature:
    """Return the signature of a ufunc."""
    names = ["x"] if row.nin == 1 else [f"x{i + 1}" for i in range(row.nin)]
    inputs = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    out = inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in (("where", True), ("casting", "same_kind"), ("dtype", None))
    ]
    return inspect.Signature([*inputs, out, *options])


def _add_methods(function: Any, ufunc: np.ufunc) -> None:
    """Give a function what its ufunc has: methods, and the number of operands."""
    for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
        setattr(function, name, _method(ufunc, name))
    for name in ("nin", "nout", "nargs", "identity"):
        setattr(function, name, getattr(ufunc, name))


def _method(ufunc: np.ufunc, name: str) -> _Function:
    def method(x: Any, /, *others: Any, **options: Any) -> Any:
        return getattr(ufunc, name)(*_first_array(x, *others), **options)

    method.__name__, method.__qualname__ = name, f"{ufunc.__name__}.{name}"
    method.__doc__ = f"Do as ``numpy.{ufunc.__name__}.{name}``, on the engines."
    return method


for _name in sorted(dir(np)):
    _row = table.ELEMENTWISE.get(getattr(getattr(np, _name), "__name__", ""))
    if _row is not None and isinstance(getattr(np, _name), np.ufunc):
        _add_methods(public(_name)(_make_elementwise(_row)), getattr(np, _name))

# -- elementwise functions that are no ufuncs ---------------------------------------------------


@public("where", np.where)
def _where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Choose elements from ``x`` where the condition is true, else from ``y``.

    Of a condition alone, return where it is true, as :func:`distnb.nonzero`.
    """
    if x is None and y is None:
        return FUNCTIONS[np.nonzero](condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return elementwise("where", *_first_array(condition, x, y))


@public("clip", np.clip)
def _clip(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> DistArray:
    """Limit the elements to an interval; ``a_min`` and ``a_max`` are other names of the limits."""
    low, high = a_min if min is None else min, a_max if max is None else max
    x = asarray(a)
    if low is None and high is None:
        return elementwise("positive", x, out=out)
    if high is None:
        return elementwise("maximum", x, low, out=out)
    if low is None:
        return elementwise("minimum", x, high, out=out)
    return elementwise("clip", x, low, high, out=out)


@public("round", np.round, np.around)
def _round(a: Any, decimals: int = 0, out: Any = None) -> DistArray:
    """Round to a number of decimals."""
    return elementwise("round", asarray(a), operator.index(decimals), out=out)


NAMESPACE["around"] = NAMESPACE["round"]


@public("real", np.real)
def _real(val: Any) -> DistArray:
    """Return the real part."""
    return asarray(val).real


@public("imag", np.imag)
def _imag(val: Any) -> DistArray:
    """Return the imaginary part."""
    return asarray(val).imag


@public("copyto", np.copyto)
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


@public("array_equal", np.array_equal)
def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Tell whether shapes and all elements are equal (reads one value)."""
    x, y = asarray(a1), asarray(a2)
    if x.shape != y.shape:
        return False
    same = elementwise("equal", x, y)
    if equal_nan and {x.dtype.kind, y.dtype.kind} & set("fc"):
        same = same | (elementwise("isnan", x) & elementwise("isnan", y))
    return bool(same.all())


FUNCTIONS[np.copy] = lambda a, order="K", subok=False: a.copy()
FUNCTIONS[np.shape] = lambda a: a.shape
FUNCTIONS[np.ndim] = lambda a: a.ndim
FUNCTIONS[np.size] = lambda a, axis=None: a.size if axis is None else a.shape[axis]
FUNCTIONS[np.iscomplexobj] = lambda x: x.dtype.kind == "c"
FUNCTIONS[np.isrealobj] = lambda x: x.dtype.kind != "c"
