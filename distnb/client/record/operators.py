"""Operators between arrays, by the shortest way that there is."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of
from distnb.client.handle.fields import Fields
from distnb.client.handle.operands import by_numpy, is_derived, understood
from distnb.client.reach.small_steps import quick, quick_into, quick_one, quick_pair
from distnb.client.record import operation_cache
from distnb.client.record.operation_cache import OperationCache
from distnb.client.record.operations import (
    done,
    elementwise,
    simple,
)
from distnb.common.config import config
from distnb.ops.scalars import NUMBERS, SCALARS

__all__ = [
    "COMPARISONS",
    "arithmetic",
    "comparison",
    "division",
    "left_to_other",
    "odd",
    "power_arithmetic",
    "takes_over",
    "unary",
]


class Arithmetic(NamedTuple):
    """The methods of an operator: ``x + y``, ``y + x`` and ``x += y``."""

    forward: Callable[[Any, Any], Any]
    reflected: Callable[[Any, ArrayLike], Any]
    in_place: Callable[[Any, ArrayLike], Any]


def arithmetic(ufunc: np.ufunc, run: Callable[[Any, Any], Any]) -> Arithmetic:
    """Return the methods of an operator, which take the shortest way that there is.

    That of an operation which came before: its template tells what to compute or to record.
    ``run`` is Python's operator.
    """
    op = ufunc.__name__

    def forward(self: Array, other: Any) -> Any:
        found = None
        x: Fields = self
        if x._near is not None or x._base.near is not None:
            found = quick_pair(ufunc, run, self, other)
        if found is None:
            session, key = operation_cache.key_of(op, (self, other), None)
            template = key and session.extensions[OperationCache].templates.get(key)
            large = session.large if template and template.large else None
            if large and large.nbytes < large.enough and config.place == "auto":
                session.small_steps = -1
                large.nbytes += template.judged_by
                found = operation_cache.repeat(session, op, template, (self, other), None)
            elif template is not None:
                found = done(session, op, template, (self, other), None)
        return _operate(ufunc, run, self, other) if found is None else found

    def reflected(self: Array, other: Any) -> Any:
        found = quick_pair(ufunc, run, self, other, swap=True)
        return _operate(ufunc, run, self, other, swap=True) if found is None else found

    def in_place(self: Array, other: Any) -> Any:
        x: Fields = self
        if x.single and not self.shape:  # a scalar, which other names may have, too
            found = forward(self, other)
            return other * operator.index(self) if found is NotImplemented else found
        if quick_into(ufunc, self, other):
            return self
        return _operate(ufunc, run, self, other, into=True)

    return Arithmetic(forward, reflected, in_place)


def division() -> tuple[Callable[[Any, ArrayLike], Any], Callable[[Any, ArrayLike], Any]]:
    """Return the methods of ``divmod(x, y)`` and ``divmod(y, x)``, of two results."""

    def forward(self: Array, other: ArrayLike) -> Any:
        found = quick(divmod, (self, other), True)
        return _operate(np.divmod, divmod, self, other) if found is None else found

    def reflected(self: Array, other: ArrayLike) -> Any:
        found = quick(divmod, (other, self), True)
        return _operate(np.divmod, divmod, self, other, swap=True) if found is None else found

    return forward, reflected


def power_arithmetic() -> Arithmetic:
    """Return the methods of ``**``, which for some numbers is another function, as in NumPy.

    That has another dtype for bools, and other digits and signs for complex numbers.
    """
    power = arithmetic(np.power, operator.pow)

    def forward(self: Array, other: Any) -> Any:
        ufunc = _shorter(self, other)
        if ufunc is None:
            _check_power(self, other)
            return power.forward(self, other)
        found = quick_one(ufunc, self)
        return elementwise(ufunc.__name__, self) if found is None else found

    def in_place(self: Array, other: Any) -> Any:
        ufunc = _shorter(self, other)
        if self.single and not self.shape:
            return forward(self, other)
        if ufunc is None:
            _check_power(self, other)
            return power.in_place(self, other)
        return elementwise(ufunc.__name__, self, out=self)

    return Arithmetic(forward, power.reflected, in_place)


def unary(ufunc: np.ufunc, run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the method of an operator on one array; ``run`` is Python's operator."""

    def method(self: Array) -> Any:
        found = quick_one(run, self)
        return ufunc(self) if found is None else found

    return method


#: Python's sequences that are operands like arrays, and those that ``*`` repeats.
_LISTS = frozenset((list, tuple))
_REPEATED = (list, tuple, str, bytes, bytearray)

#: Times of Python, and pandas', and its exact numbers: NumPy makes arrays of these.
_OTHERS = (date, timedelta, Fraction, Decimal)
_SIGNED = (int, np.signedinteger)

#: Type and value of exponents -> what NumPy computes for these, and of which kinds of dtype.
_SHORTER: dict[type, dict[Any, tuple[np.ufunc, str]]] = {
    int: {2: (np.square, "bfc"), -1: (np.reciprocal, "fc")},
    float: {0.5: (np.sqrt, "fc")},
}


def _check_power(x: Array, exponent: object) -> None:
    """Raise at the line what engines would raise later, when ``**=`` has lost the array."""
    if isinstance(exponent, _SIGNED) and exponent < 0 and x.dtype.kind in "bi" and x.size:
        raise ValueError("Integers to negative integer powers are not allowed.")


def _shorter(x: Array, exponent: Any) -> np.ufunc | None:
    """Return the ufunc that NumPy's ``**`` calls in place of ``power``; None if it does not."""
    known = _SHORTER.get(type(exponent))
    found = None if known is None else known.get(exponent)
    return found[0] if found is not None and x.dtype.kind in found[1] else None


def _operate(
    ufunc: np.ufunc,
    run: Callable[[Any, Any], Any],
    x: Array,
    y: Any,
    swap: bool = False,
    into: bool = False,
) -> Any:
    """Do what an operator does the first time, and with operands of all kinds."""
    if type(y) in NUMBERS or (isinstance(y, Array | np.number | np.bool_) and not odd(y)):
        inputs, out = (y, x) if swap else (x, y), x if into else None
        found = simple(ufunc.__name__, inputs, out)
        return elementwise(ufunc.__name__, *inputs, out=out) if found is None else found
    if ufunc is np.multiply and x.single and not x.shape and isinstance(y, _REPEATED):
        return NotImplemented  # of NumPy's scalars, too: Python repeats it, or raises TypeError
    if type(y) in _LISTS and not into and y and type(y[0]) in SCALARS:  # read once, for all ways
        y = np.asarray(y)
        found = quick_pair(ufunc, run, x, y, swap=swap)
        if found is not None:
            return found
    if x.single and not x.shape and _is_pythons(y):  # a duration or a fraction, beside a scalar
        number = np.asarray(x)[()]
        return run(y, number) if swap else run(number, y)
    is_other = isinstance(y, _OTHERS) and not into
    if ufunc not in _EQUALITY and not is_other and (y is None or _is_pythons(y)):
        return NotImplemented  # Python asks it, and says that this is not supported
    if into:
        return NotImplemented if takes_over(y) else ufunc(x, y, out=(x,))
    if is_other or is_derived(y):  # its operators may be others, as those of matrices
        found = by_numpy(run, y, x) if swap else by_numpy(run, x, y)
        compared = is_other and ufunc in COMPARISONS
        return array_of(x.session, np.asarray(found)) if compared else found
    if _defers(y):
        return by_numpy(run, y, x) if swap else left_to_other(run, x, y)
    try:
        return ufunc(y, x) if swap else ufunc(x, y)
    except TypeError:
        if ufunc not in _EQUALITY or np.asarray(y).dtype.kind in _NUMERIC:
            raise
    if y is None and x.single and not x.shape:  # as Python answers for NumPy's scalars
        return ufunc is np.not_equal
    return _compared(_EQUALITY[ufunc], x, y)


def _is_pythons(y: object) -> bool:
    """Tell whether something is an object of Python that knows NumPy's scalars, and no arrays."""
    known = y is None or isinstance(y, str) or understood(y)
    return not known and not any(hasattr(type(y), of) for of in ("__array__", "__array_ufunc__"))


def _defers(y: object) -> bool:
    """Tell whether an operator is left to the other operand, by NumPy's rules.

    One that has no say in ufuncs tells so by its priority.
    """
    kind = type(y)
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None
    return getattr(y, "__array_priority__", 0) > 0


#: Comparisons -> what the operand on the right is asked.
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def left_to_other(run: Callable[[Any, Any], Any], x: Array, y: Any) -> Any:
    """Leave an operator to the operand on the right, which may know NumPy's arrays alone."""
    name = run.__name__.rstrip("_")
    method = f"__{_MIRRORED.get(name, 'r' + name)}__"
    answer = getattr(type(y), method, None)
    if answer in (None, getattr(object, method, None)):
        return NotImplemented
    found = answer(y, x)
    # what has no axes comes as NumPy's scalar, as NumPy's elements do: PyTorch takes these alone
    return run(np.asarray(x)[()], y) if found is NotImplemented else found


def takes_over(y: object) -> bool:
    """Tell whether ``x += y`` is ``x = x + y``: with what is no array, as those that are sparse."""
    kind = type(y)
    if hasattr(kind, "__array_ufunc__"):
        return hasattr(kind, "__distnb_methods__")
    return getattr(y, "__array_priority__", 0) > 0


#: What compares elements with text, dates and objects.
_EQUALITY: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
#: What compares elements.
COMPARISONS = frozenset((*_EQUALITY, np.less, np.less_equal, np.greater, np.greater_equal))
_NUMERIC = "biufc"


def odd(x: object) -> bool:
    """Tell whether something is NumPy's, and other than numbers."""
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind not in _NUMERIC


def comparison(ufunc: np.ufunc, x: ArrayLike, y: ArrayLike) -> Any:
    """Compare elements with what is :func:`odd`, where NumPy asks for it.

    NumPy's ufuncs have no loops for text, and raise an error of which its operators make an answer.
    """
    pair: tuple[Any, ...] = (y, x) if odd(x) else (x, y)
    if pair[1].dtype.kind in _COMPARED and ufunc in _EQUALITY:
        return _compared(_EQUALITY[ufunc], *pair)
    if pair[1].dtype.kind in _COMPARED:
        return array_of(pair[0].session, np.asarray(ufunc(np.asarray(x), np.asarray(y))))
    return ufunc(*[np.empty(0, x.dtype) for x in pair])


#: Kinds of dtype that NumPy compares with numbers: objects and times.
_COMPARED = "OmM"


def _compared(run: Callable[[Any, Any], Any], x: Array, y: ArrayLike) -> Any:
    """Compare elements with what is other than numbers; for objects and times they are read."""
    if np.asarray(y).dtype.kind in _COMPARED:
        return array_of(x.session, np.asarray(run(x.__array__(), y)))
    other = run is operator.ne
    op = "logical_or" if other else "logical_and"
    return elementwise(op, x, np.full(np.asarray(y).shape, other))
