"""``axes=``, ``axis=`` and ``keepdims=`` of products: other axes in place of the last ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distnb.client.handle.array import Array, numeric
from distnb.client.handle.indexing import one_axis
from distnb.client.linalg.matrix_commands import operands
from distnb.client.record.eager import delivered
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["with_options"]


def with_options(
    ufunc: np.ufunc, product: Callable[..., Any], inputs: Sequence[Any], out: Any, options: Any
) -> Any:
    """Do a product with options of NumPy's generalized ufuncs; raise TypeError for unknown ones."""
    known = dict(options)
    axes, axis = known.pop("axes", None), known.pop("axis", None)
    keep, dtype = known.pop("keepdims", False), known.pop("dtype", None)
    for name in ("casting", "order", "subok"):
        known.pop(name, None)
    if known:
        got = f"{', '.join(known)}="
        raise TypeError(explain(f"{ufunc.__name__}()", got, "out or axes", "leave it out"))
    if axis is not None and axes is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    signature = str(ufunc.signature).replace("?", "").split("->")
    cores = [part.count(",") + bool(part) for part in signature[0].strip("()").split("),(")]
    last = signature[1].strip("()")
    cores.append(last.count(",") + 1 if last else 0)
    if (axis is not None or keep) and cores != [1, 1, 0]:
        raise TypeError(f"{ufunc.__name__} does not support keepdims or axis: got its signature")
    arrays = operands(*inputs)
    if axis is not None:
        axes = [axis, axis, axis] if keep else [axis, axis]
    places = _places(axes, cores, arrays, bool(keep))
    moved = [_to_end(x, at) for x, at in zip(arrays, places, strict=False)]
    if dtype is not None:
        moved = [x.astype(numeric(dtype), casting="same_kind") for x in moved]
    found = product(*moved)
    if keep:
        found = found[..., None] if isinstance(found, Array) else np.asarray(found)[..., None]
    if places[-1]:
        at = _numbers(places[-1], found.ndim)
        rest = iter(range(found.ndim - len(at)))
        ends = {d: found.ndim - len(at) + k for k, d in enumerate(at)}
        found = found.transpose([ends[d] if d in ends else next(rest) for d in range(found.ndim)])
    return delivered(found, out)


def _places(axes: Any, cores: list[int], arrays: Sequence[Array], keep: bool) -> list[Ints]:
    """Return for each operand, and the result, the axes that take part; checks what is given."""
    count = [*cores[:-1], cores[-1] + keep]
    if axes is None:
        return [tuple(range(-n, 0)) for n in count]
    if not isinstance(axes, list):
        raise TypeError("axes should be a list")
    given = list(axes)
    if len(given) == len(arrays) and not count[-1]:
        given.append(())
    if len(given) != len(count):
        raise ValueError("axes should be a list with an entry for all inputs and outputs")
    found = []
    for one, n in zip(given, count, strict=True):
        if not isinstance(one, tuple) and n != 1:
            raise TypeError("axes item should be a tuple")
        at = one if isinstance(one, tuple) else (one,)
        if len(at) != n:
            raise np.exceptions.AxisError(f"axes item should have {n} elements: got {at}")
        found.append(tuple(operator.index(d) for d in at))
    return found


def _numbers(at: Ints, ndim: int) -> Ints:
    found = tuple(one_axis(d, ndim) for d in at)
    if len(set(found)) < len(found):
        raise ValueError(f"axes item has value {at} repeated")
    return found


def _to_end(x: Array, at: Ints) -> Array:
    """Return a view with some axes at the end, in their order."""
    last = _numbers(at, x.ndim)
    return x.transpose([*(d for d in range(x.ndim) if d not in last), *last])
