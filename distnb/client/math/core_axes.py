"""Which axes take part in a generalized ufunc: its signature, and ``axes=`` and its like."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.handle.indexing import one_axis
from distnb.client.record.eager import Out, delivered
from distnb.geometry.layout import Ints

__all__ = ["Wanted", "all_core_axes", "core_axes", "delivered_at", "places", "to_end"]


class Wanted(NamedTuple):
    """The options of a generalized ufunc that say which axes take part."""

    axes: object = None
    axis: SupportsIndex | None = None
    keepdims: bool | None = None

    @classmethod
    def of(cls, options: dict[str, Any]) -> Wanted:
        """Take these out of options; raise TypeError for ``keepdims`` that is no truth value."""
        if type(options.get("keepdims", False)) is not bool:
            raise TypeError("'keepdims' must be a boolean")
        return cls(*[options.pop(name, default) for name, default in cls._field_defaults.items()])


def all_core_axes(signature: str) -> list[list[str]]:
    """Return the names that a signature gives to the axes of each operand and result."""
    found = re.findall(r"\(([^()]*)\)", signature)
    return [[name.strip() for name in core.split(",") if name.strip()] for core in found]


def core_axes(signature: str, inputs: Sequence[Array]) -> list[list[str]]:
    """Return the names of the axes of each operand, and result, that take part.

    Names with a question mark are of axes that may be missing: where an operand has too few axes.
    """
    cores = all_core_axes(signature)
    missing: set[str] = set()
    for core, x in zip(cores, inputs, strict=False):
        present = [name for name in core if name not in missing]
        may = [name for name in present if name.endswith("?")]
        missing |= set(may[: max(len(present) - x.ndim, 0)])
    return [[name for name in core if name not in missing] for core in cores]


def places(ufunc: np.ufunc, cores: list[list[str]], wanted: Wanted) -> list[Ints]:
    """Return for each operand, and result, the axes that take part; checks what is given."""
    counts = [len(core) for core in cores]
    first, outs = counts[0], counts[ufunc.nin :]
    _check_support(ufunc, cores, wanted)
    if wanted.keepdims:
        outs = [first] * ufunc.nout
    counts = [*counts[: ufunc.nin], *outs]
    if wanted.axis is not None:
        at = operator.index(wanted.axis)
        return [(at,) if count else () for count in counts]
    if wanted.axes is None:
        return [tuple(range(-n, 0)) for n in counts]
    return [_given(one, n) for one, n in zip(_entries(wanted, counts, ufunc), counts, strict=True)]


def _check_support(ufunc: np.ufunc, cores: list[list[str]], wanted: Wanted) -> None:
    """Raise TypeError for options that mean nothing for a signature."""
    name = ufunc.__name__
    if wanted.axis is not None and wanted.axes is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    if wanted.axis is not None and len({one for core in cores for one in core}) != 1:
        raise TypeError(
            f"{name}: axis can only be used with a single shared core dimension, got those of "
            f"signature {ufunc.signature}"
        )
    counts = [len(core) for core in cores]
    alike = [counts[0]] * ufunc.nin + [0] * ufunc.nout
    if wanted.keepdims is not None and counts != alike:
        raise TypeError(f"{name} does not support keepdims: got its signature {ufunc.signature}")


def _entries(wanted: Wanted, counts: list[int], ufunc: np.ufunc) -> list[Any]:
    """Return what ``axes`` says of each operand and result; results without any may be left out."""
    if not isinstance(wanted.axes, list):
        raise TypeError("axes should be a list")
    given = list(wanted.axes)
    if len(given) == ufunc.nin and (wanted.keepdims or not any(counts[ufunc.nin :])):
        given += [tuple(range(-n, 0)) for n in counts[ufunc.nin :]]
    if len(given) != ufunc.nargs:
        raise ValueError("axes should be a list with an entry for all inputs and outputs")
    return given


def _given(one: object, count: int) -> Ints:
    if not isinstance(one, tuple | SupportsIndex):
        raise TypeError(f"axes item should be a tuple: got {one}")
    at = one if isinstance(one, tuple) else (one,)
    if len(at) != count:
        raise np.exceptions.AxisError(f"axes item should have {count} elements: got {one}")
    return tuple(operator.index(d) for d in at)


def to_end(x: Array, at: Ints) -> Array:
    """Return a view with some axes at the end, in their order."""
    last = _numbers(at, x.ndim)
    if last == tuple(range(x.ndim - len(last), x.ndim)):
        return x
    return x.transpose([*(d for d in range(x.ndim) if d not in last), *last])


def delivered_at(at: Ints, found: Array, out: Out, casting: str, name: str) -> Any:
    """Return a result whose last axes go to some places, or the output that it was put into.

    ``name`` is the ufunc's whose result it is.
    """
    into: Any = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if not isinstance(into, Array | np.ndarray) or into.ndim < len(at):
        # which says what does not fit
        return delivered(_from_end(found, at), out, casting, name=name)
    target: Any = into
    delivered(found, to_end(target, at), casting, len(at), name)
    return into


def _from_end(x: Array, at: Ints) -> Array:
    """Return a view whose last axes are at some places, in their order."""
    to = _numbers(at, x.ndim)
    rest = iter(range(x.ndim - len(to)))
    ends = {d: x.ndim - len(to) + k for k, d in enumerate(to)}
    if all(d == end for d, end in ends.items()):
        return x
    return x.transpose([ends[d] if d in ends else next(rest) for d in range(x.ndim)])


def _numbers(at: Ints, ndim: int) -> Ints:
    found = tuple(one_axis(d, ndim) for d in at)
    if len(set(found)) < len(found):
        raise ValueError(f"axes item has value {at} repeated")
    return found
