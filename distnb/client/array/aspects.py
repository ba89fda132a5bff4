"""Parts of complex numbers, and bytes as another dtype: views."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.batching.call_sites import at_users_line, from_users_line
from distnb.client.handle.array import (
    Array,
    as_result,
    in_memory,
    numeric,
    sealed,
)
from distnb.client.handle.conversion import copied, in_layout
from distnb.client.handle.scalars import check_settable
from distnb.client.reach.aliasing import look_at
from distnb.client.reach.kept_order import axes_in, in_their_order
from distnb.client.reach.small_steps import like
from distnb.client.record.operations import assign, elementwise, on_engines
from distnb.client.record.placement import stay
from distnb.client.shape.reshaping import adopted
from distnb.common.errors import explain
from distnb.geometry.axes import Block, Irregular
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.ops import table
from distnb.ops.scalars import SCALARS

__all__ = ["cast", "fill", "part_of_complex", "set_dtype", "set_imag", "set_real", "view_as"]


class Part(NamedTuple):
    """The real or the imaginary parts of complex numbers."""

    name: str

    def near(self, x: np.ndarray) -> np.ndarray:
        """Return NumPy's view."""
        found: np.ndarray = getattr(x, self.name)
        return found

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now."""
        row = table.ELEMENTWISE[self.name]  # all of a base, whatever the order of x
        found: Array = on_engines(x.session, row, (x,), (None,), True, {})[0]
        return found

    def put(self, x: Array, found: Array) -> None:
        """Write what such an array has now into ``x``."""
        elementwise(f"with_{self.name}", x, found, out=x)

    def after(self, before: Any) -> Any:
        """Return None: it is not one with any other way."""


class Bytes(NamedTuple):
    """The bytes of the elements as those of another dtype."""

    dtype: np.dtype

    def near(self, x: np.ndarray) -> np.ndarray:
        """Return NumPy's view, or raise what NumPy raises."""
        return x.view(self.dtype)

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now."""
        small, large = sorted((x.itemsize, self.dtype.itemsize))
        ratio = large // small
        if ratio == 1:
            return _as_bytes(x, self.dtype, x.shape, *_layouts(x.shape, 1, x.session.size))
        n = x.shape[-1] * x.itemsize // self.dtype.itemsize
        shape = (*x.shape[:-1], n)
        coarse, fine = _layouts(min(shape, x.shape), ratio, x.session.size)
        if n > x.shape[-1]:
            return _as_bytes(x, self.dtype, shape, coarse, fine)
        return _as_bytes(x, self.dtype, shape, fine, coarse)

    def put(self, x: Array, found: Array) -> None:
        """Write what such an array has now into ``x``."""
        assign(x, Bytes(x.dtype).made(found))

    def after(self, before: Any) -> Any:
        """Return the one way that does both, if the other is of the same kind."""
        return self if type(before) is Bytes else None


def _layouts(shape: Ints, ratio: int, size: int) -> tuple[Layout, Layout]:
    """Return the layout of a shape, and that of one with a last axis so many times as long.

    Every engine holds the same bytes in both.
    """
    coarse = default_layout(shape, size)
    d = len(shape) - 1
    if ratio == 1 or coarse.parts(d) == 1:
        return coarse, coarse
    p = coarse.parts(d)
    cuts = [ratio * Block().bounds(shape[d], p, c)[0] for c in range(p)]
    axis = Irregular((*cuts, ratio * shape[d]))
    return coarse, Layout(coarse.grid, (*coarse.axes[:d], axis), coarse.dims)


def _as_bytes(x: Array, dtype: np.dtype, shape: Ints, source: Layout, target: Layout) -> Array:
    """Return a copy with the bytes of ``x``, in the default layout of its shape."""
    found = adopted(copied(x, x.dtype, source), shape, target, dtype)
    layout = default_layout(shape, x.session.size)
    return found if target == layout else in_layout(found, layout)


#: The ways to look at the parts of complex numbers.
_PARTS = {name: Part(name) for name in ("real", "imag")}


def part_of_complex(x: Array, name: str) -> Any:
    """Return the real or the imaginary part: a view, but the zeros that real arrays have."""
    if x.dtype.kind == "c" and (x.shape or not x.single):
        view = look_at(x, _PARTS[name])
        view.single = False  # into which one writes
        return view
    if name == "real" and x.dtype.kind != "c":
        return x
    found = elementwise(name, x)
    if isinstance(found, Array):
        found.single = x.single
    if isinstance(found, Array) and x.dtype.kind != "c":
        found.writeable = False  # zeros, as NumPy's
        if found._near is not None:
            found._near.flags.writeable = False
    return found


def set_real(x: Array, value: ArrayLike) -> None:
    """Do ``x.real = value``."""
    check_settable(x, "real")
    part = part_of_complex(x, "real")
    assign(part, _cast_freely(value, part.dtype))


def set_imag(x: Array, value: ArrayLike) -> None:
    """Do ``x.imag = value``; real arrays have none."""
    check_settable(x, "imag")
    if x.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    part = part_of_complex(x, "imag")
    assign(part, _cast_freely(value, part.dtype))


def set_dtype(x: Array, dtype: DTypeLike) -> None:
    """Do ``x.dtype = dtype``: the array is a view of its bytes from then on."""
    check_settable(x, "dtype")
    x.become(view_as(x, dtype, None))


def _cast_freely(value: ArrayLike, dtype: np.dtype) -> Any:
    """Return a value as an array: unlike numbers that are assigned, NumPy casts it to any dtype."""
    return value if isinstance(value, Array) else from_users_line(np.asarray(value).astype, dtype)


def _is_class(kind: object) -> bool:
    """Tell whether something is a class of arrays, of which there is one, whatever it is called."""
    if not isinstance(kind, type) or kind is object:
        return False
    return kind is np.ndarray or issubclass(Array.made, kind)


def view_as(x: Array, dtype: DTypeLike | type | None, kind: type | None) -> Any:
    """Return a view of all of an array, or of its bytes as another dtype; there is one class."""
    if _is_class(dtype):
        dtype, kind = None, None
    for cls in (kind, dtype):
        if isinstance(cls, type) and issubclass(cls, np.ndarray) and not _is_class(cls):
            there = in_memory(x)
            found = sealed(x, np.asarray(x)) if there is None else there
            return found.view(cls) if cls is dtype or dtype is None else found.view(dtype, cls)
    if kind is not None and not _is_class(kind):
        raise ValueError(explain("view", kind, "ndarray, the class of all arrays", "leave it out"))
    number = x.single and not x.shape  # which stays as it is
    if dtype is None or np.dtype(dtype) == x.dtype:
        return x if number else x.alias(x.dview)
    if not np.dtype(dtype).isnative:  # engines' arrays have no other; its numbers would be wrong
        raise TypeError(
            explain("dtype of a view", dtype, "the byte order of this machine", "byteswap() a view")
        )
    found = look_at(x.copy() if number else x, Bytes(numeric(dtype)))
    return as_result(found) if number else found


_ASTYPE: Any = np.ndarray.astype
_AT_LINE = at_users_line(_ASTYPE)


def fill(x: Array, value: ArrayLike) -> None:
    """Set all elements to a scalar; NumPy tells why it takes no values with axes."""
    axes = 0 if type(value) in SCALARS else np.ndim(value)
    if axes and x.dtype == bool:
        value = bool(value)  # as the truth of any object
    elif axes:
        np.empty((), x.dtype).fill(np.ones(1) if isinstance(value, Array) else value)
    elif isinstance(value, np.ma.MaskedArray):  # which has a number, or tells that it has none
        one = np.empty((), x.dtype)
        from_users_line(one.fill, value)
        value = one
    x[...] = value


def cast(x: Array, dtype: DTypeLike, casting: str, copy: bool) -> Array:
    """Return a copy with another dtype, or the array itself where it has it and may be taken."""
    to = numeric(dtype)
    same = casting == "same_value"  # NumPy's rule of values, which it knows from version 2.4 on
    free = same or casting == "unsafe"
    if not free and not np.can_cast(x.dtype, to, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {x.dtype!r} to {to!r} according to the rule {casting!r}"
        )
    if not copy and to == x.dtype:
        return x
    loses = x.dtype.kind == "c" and to.kind not in "bc"  # of which NumPy warns
    found = None if same else like(x, _AT_LINE if loses else np.ndarray.astype, to)
    if found is None:
        found = in_their_order(lambda y: copied(y, to, stay(y, to)), (x,), axes_in(x, "K"))
    if same and to.kind != "b" and not _same_values(x, found):
        raise ValueError(f"could not cast 'same_value' {x.dtype.name} to {to.name}")
    return as_result(found) if x.single else found


def _same_values(x: Any, found: Any) -> bool:
    """Tell whether elements are what they were before they were cast."""
    same = found.astype(x.dtype) == x
    if x.dtype.kind == "c" != found.dtype.kind and not bool((x.imag == 0).all()):
        return False
    if {found.dtype.kind, x.dtype.kind} == {"i", "u"}:
        same = same & ((found < 0) == (x < 0))  # there and back, -1 is -1 by way of 2**64 - 1
    elif x.dtype.kind in "fc":
        same = same | ((found != found) & (x != x))  # noqa: PLR0124 - only nan is not itself
    return bool(same.all())
