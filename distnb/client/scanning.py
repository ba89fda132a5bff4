"""Running results: ``cumsum`` and its like, differences, and the other methods of ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from distnb import ops
from distnb.client.array import DistArray
from distnb.client.creation import asarray
from distnb.client.handle import numeric
from distnb.client.indexing import one_axis
from distnb.client.joining import concatenate
from distnb.client.namespace import FUNCTIONS, public
from distnb.client.notebook import watched
from distnb.client.operations import assign, copied, elementwise, outputs, settled
from distnb.client.reshaping import ravel
from distnb.errors import explain
from distnb.protocol import Collective

__all__ = ["accumulate"]


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> DistArray:
    """Return the running results of a ufunc along an axis, as ``ufunc.accumulate``.

    The result follows the operand, and a cyclic axis along which it runs gets blocks.
    """
    x = asarray(array)
    out = out[0] if isinstance(out, tuple) else out
    if out is not None:
        outputs(out, 1)
    kind = _result_dtype(ufunc, x, axis, dtype, out)
    d = 0 if axis is None else one_axis(axis, x.ndim)
    if x.here is not None:
        run = watched("accumulate", ufunc.accumulate, x.here, d, kind)
        found = settled(x.session, np.asarray(run))
    else:
        found = copied(x, kind, ops.sorted_layout(x.placed, d, x.session.size))
        if x.size:
            here = (found.operand,)
            args = (ufunc.__name__, d)
            x.session.record(Collective("scan", here, here, args, x.session.site()))
    if out is None:
        return found
    if out.shape != x.shape:
        raise ValueError(explain("out", f"shape {out.shape}", f"{x.shape}", "pass a matching one"))
    assign(out, found)
    return out


def _result_dtype(ufunc: np.ufunc, x: DistArray, axis: Any, dtype: Any, out: Any) -> np.dtype:
    """Ask NumPy for the dtype in which it accumulates; raises what it raises."""
    sample = np.ones((1,) * x.ndim, x.dtype)
    if dtype is None and out is not None:
        return ufunc.accumulate(sample, axis, out=np.ones(sample.shape, out.dtype)).dtype
    return numeric(ufunc.accumulate(sample, axis, dtype).dtype)


# -- functions -------------------------------------------------------------------------------------


def _make_cumulative(name: str, ufunc: np.ufunc, neutral: int) -> None:
    """Make ``cumsum`` or ``cumprod``, with and without NaN, and what the standard calls them."""
    numpys, without, standards = (
        getattr(np, n) for n in (f"cum{name}", f"nancum{name}", f"cumulative_{name}")
    )

    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DistArray:
        x = asarray(a)
        if axis is None:
            x, axis = ravel(x), 0
        return accumulate(ufunc, x if x.ndim else ravel(x), axis, dtype, out)

    def nan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DistArray:
        x = asarray(a)
        if x.dtype.kind in "fc":
            x = elementwise("where", elementwise("isnan", x), x.dtype.type(neutral), x)
        return function(x, axis, dtype, out)

    def cumulative(
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> DistArray:
        return _cumulative(ufunc, neutral, asarray(x), axis, dtype, out, include_initial)

    function.__doc__ = _SCAN.format(f"cum{name}")
    nan.__doc__ = f"Running results with NaN taken as {neutral}; see :func:`distnb.cum{name}`."
    cumulative.__doc__ = (
        f"Running results along an axis; see :func:`distnb.cum{name}`.\n\n    "
        f"``include_initial``: the first one is {neutral}, and there is one more."
    )
    public(f"cum{name}", numpys)(function)
    public(f"nancum{name}", without)(nan)
    public(f"cumulative_{name}", standards)(cumulative)
    setattr(DistArray, f"cum{name}", function)


_SCAN = """Return running results along an axis, as ``numpy.{0}``; by default over all elements.

    The result follows the operand, and a cyclic axis along which it runs gets blocks. Each engine
    accumulates its part. Then the totals of the parts travel, in as many rounds as the engines
    along the axis double.

    Along a split axis, floats differ from NumPy's in the last digits: NumPy adds one element after
    the other, here the sum of the engines before is added to the sum of the engine's own. Which
    elements are added to which depends on the layout, never on timing.
    """


def _cumulative(
    ufunc: np.ufunc, neutral: int, x: DistArray, axis: Any, dtype: Any, out: Any, initial: bool
) -> DistArray:
    """Accumulate as the array API standard says."""
    x = x if x.ndim else ravel(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"For arrays which have more than one dimension ``axis`` argument is required, "
                f"got {x.ndim} axes"
            )
        axis = 0
    if not initial:
        return accumulate(ufunc, x, axis, dtype, out)
    d = one_axis(axis, x.ndim)
    found = accumulate(ufunc, x, d, dtype)
    first = np.full((*x.shape[:d], 1, *x.shape[d + 1 :]), neutral, found.dtype)
    return concatenate((first, found), d, out)


_make_cumulative("sum", np.add, 0)
_make_cumulative("prod", np.multiply, 1)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """Apply a ufunc to all pairs of elements, by views that broadcast."""
    x, y = asarray(a), asarray(b)
    return ufunc(x[(..., *(None,) * y.ndim)], y, **options)


FUNCTIONS["accumulate"] = accumulate
FUNCTIONS["outer"] = _outer
