"""Arrays below the cutoff: they live in the notebook's process, and NumPy computes them here.

What comes out is what engines would compute. Errors are NumPy's, but for those that engines would
never see, which are worded as for arrays on engines (the callers check again when NumPy raises).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from distnb import ops
from distnb.client.handle import Handle, hosted, numeric
from distnb.config import config
from distnb.errors import explain
from distnb.layout import Ints, Layout, default_layout, in_notebook

__all__ = ["all_here", "assign", "compute", "fits", "home", "plain"]


def fits(nbytes: int) -> bool:
    """Tell whether an array of so many bytes lives in the notebook if no layout is asked for."""
    return nbytes <= config.cutoff > 0


def home(shape: Ints, dtype: np.dtype, size: int) -> Layout:
    """Return the layout of a new array for which none was asked."""
    if fits(prod(shape) * dtype.itemsize):
        return in_notebook(len(shape))
    return default_layout(shape, size)


def all_here(arrays: Iterable[Any], session: Any) -> bool:
    """Tell whether all of some operands that are arrays are of a session, in the notebook."""
    return all(
        a._base.host is not None and a._base.session is session
        for a in arrays
        if isinstance(a, Handle)
    )


def plain(x: Any) -> Any:
    """Return an operand as NumPy gets it: an ndarray, or the scalar itself."""
    if isinstance(x, Handle):
        return x.here
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return x
    data = np.asarray(x)
    found = data.astype(numeric(data.dtype), copy=False)
    return found if found.ndim else found[()]


def compute(
    row: ops.Elementwise,
    ins: Sequence[Any],
    outs: Sequence[Handle | None],
    where: Any,
    options: dict[str, Any],
    prepare: Callable[[], tuple[Ints, Sequence[np.dtype]]],
) -> tuple[Any, ...] | None:
    """Compute an elementwise operation; return its results, or None if engines are to hold them.

    ``ins`` and ``where`` are :func:`plain`; ``prepare`` returns the shape and the dtypes of the
    results.
    """
    given = any(o is not None for o in outs)
    if not given and not _may_fit(ins, where):
        return None
    into = tuple(None if o is None else o.here for o in outs)
    if isinstance(row.run, np.ufunc):
        if given:
            options = options | {"out": into}
        found = row.run(*ins, **options) if where is True else row.run(*ins, where=where, **options)
        found = found if row.nout > 1 else (found,)
    else:
        shape, dtypes = prepare()
        found = tuple(
            np.empty(shape, d) if o is None else o for o, d in zip(into, dtypes, strict=True)
        )
        row.run(*ins, out=found, where=where, **options)
    return found if given or all(fits(f.nbytes) for f in found) else None


def _may_fit(ins: Sequence[Any], where: Any) -> bool:
    """Tell whether a result may be small, whatever its dtype."""
    shapes = [x.shape for x in (*ins, where) if isinstance(x, np.ndarray)]
    if shapes.count(shapes[0]) < len(shapes):
        return fits(prod(np.broadcast_shapes(*shapes)))
    return fits(prod(shapes[0]))


def delivered(session: Any, found: Sequence[Any], outs: Sequence[Handle | None]) -> tuple[Any, ...]:
    """Return results as arrays: the outputs that were given, and new ones."""
    return tuple(
        hosted(session, np.asarray(f)) if o is None else o
        for f, o in zip(found, outs, strict=True)
    )


def assign(target: Handle, value: Any, mask: Any) -> None:
    """Assign :func:`plain` values, where a mask is true."""
    view: Any = target.here
    target._base.copy = None
    if mask is None:
        view[...] = value
        return
    if not isinstance(value, np.ndarray):  # NumPy refuses what cannot be stored
        stored = np.empty((), view.dtype)
        stored[...] = value
        value = stored
    np.copyto(view, _without(value, view), where=_without(mask, view), casting="unsafe")


def _without(x: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Return ``x`` without leading axes of length 1 that a view does not have."""
    while x.ndim > view.ndim and x.shape[0] == 1:
        x = x[0]
    return x


def boolean(mask: Any) -> Any:
    """Return a mask; raise TypeError if it is none."""
    if mask.dtype != bool:
        raise TypeError(explain("where", mask.dtype, "bool", "pass a mask"))
    return mask
