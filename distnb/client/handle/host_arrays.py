"""Arrays below the cutoff: they live in the notebook's process, and NumPy computes them here.

What comes out is what engines would compute. Errors are NumPy's, but for those that engines would
never see, which are worded as for arrays on engines (the callers check again when NumPy raises).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import Context, copy_context
from math import prod
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.batching import error_states
from distnb.client.batching.call_sites import from_users_line, user_place
from distnb.client.handle.array import Array, Elements, as_result, hosted, numeric
from distnb.client.handle.fields import fits
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.common.interrupts import interrupts
from distnb.common.memory_pool import NUMPYS_POOL
from distnb.geometry.layout import Ints, Layout, default_layout, in_notebook
from distnb.geometry.views import broadcast_shapes
from distnb.ops import table

__all__ = [
    "FLAGS",
    "all_here",
    "assign",
    "compute",
    "home",
    "in_context",
    "left",
    "plain",
    "stored",
    "tell",
    "tell_discarded",
]


def home(shape: Ints, dtype: np.dtype, size: int) -> Layout:
    """Return the layout of a new array for which none was asked."""
    if fits(prod(shape) * dtype.itemsize):
        return in_notebook(len(shape))
    return default_layout(shape, size)


def all_here(arrays: Iterable[Any], session: Session) -> bool:
    """Tell whether all of some operands that are arrays are of a session, in the notebook."""
    return all(a.at_home and a.session is session for a in arrays if isinstance(a, Array))


def plain(x: ArrayLike) -> Any:
    """Return an operand in reach as NumPy gets it: an ndarray, or the scalar itself."""
    if isinstance(x, Array):
        return x.near
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return x
    data = np.asarray(x)
    found = data.astype(numeric(data.dtype), copy=False)
    return found if found.ndim else found[()]


def compute(
    row: table.Elementwise,
    ins: Sequence[Any],
    into: Sequence[np.ndarray | None],
    where: ArrayLike,
    options: dict[str, Any],
    prepare: Callable[[], tuple[Ints, Sequence[np.dtype]]],
    small: bool = False,
) -> tuple[Any, ...] | None:
    """Compute an elementwise operation; return its results, or None if engines are to hold them.

    ``ins``, ``into`` and ``where`` are :func:`plain`; ``prepare`` returns the shape and the dtypes
    of the results. These may be here if they are ``small``, whatever their size.
    """
    small = small or any(o is not None for o in into)
    if not small and not _may_fit(ins, where):
        return None
    if isinstance(row.run, np.ufunc):
        if where is not True:
            ins = [_apart(x, into) for x in ins]
        if small or where is not True:
            options = options | {"out": tuple(into), "where": where}
        found = watched(row.name, row.run, *ins, **options)
        found = found if row.nout > 1 else (found,)
    else:
        shape, dtypes = prepare()
        found = tuple(
            np.empty(shape, d) if o is None else o for o, d in zip(into, dtypes, strict=True)
        )
        watched(row.name, row.run, *ins, out=found, where=where, **options)
    return found if small or all(fits(f.nbytes) for f in found) else None


def _apart(x: Any, into: Sequence[np.ndarray | None]) -> Any:
    """Return an input, or a copy where an output overlaps it.

    Where it also casts, NumPy writes what it has not computed to where a mask is false.
    """
    for o in into:
        if o is not None and isinstance(x, np.ndarray) and np.may_share_memory(x, o):
            return x.copy()
    return x


def _may_fit(ins: Sequence[Any], where: ArrayLike) -> bool:
    """Tell whether a result may be small, whatever its dtype."""
    shapes = [x.shape for x in (*ins, where) if isinstance(x, np.ndarray)]
    if shapes.count(shapes[0]) < len(shapes):
        return fits(prod(broadcast_shapes(*shapes)))
    return fits(prod(shapes[0]))


def delivered(
    session: Session,
    found: Sequence[Any],
    outs: Sequence[Array | None],
    make: Callable[[Session, np.ndarray], Array] = hosted,
) -> tuple[Any, ...]:
    """Return results: the outputs that were given, new arrays, and NumPy's scalars."""
    return tuple(
        o if o is not None else as_result(make(session, f)) if isinstance(f, np.ndarray) else f
        for f, o in zip(found, outs, strict=True)
    )


def assign(view: np.ndarray, value: ArrayLike, mask: np.ndarray | None) -> None:
    """Assign :func:`plain` values, where a mask is true."""
    if mask is None:
        watched("cast", view.__setitem__, ..., value)
        return
    if not isinstance(value, np.ndarray):  # NumPy refuses what cannot be stored
        value = np.asarray(stored(value, view.dtype))
    value, mask = _without(value, view), _without(mask, view)
    watched("cast", np.copyto, view, value, where=mask, casting="unsafe")


def stored(value: Any, dtype: np.dtype) -> Any:
    """Return a number as what a mask or indices store; NumPy refuses what cannot be stored.

    Its own numbers it casts then, but not those that are assigned to a slice.
    """
    if isinstance(value, np.generic | np.ndarray):
        return watched("cast", value.astype, dtype)
    return np.asarray(value, dtype)[()]


def _without(x: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Return ``x`` without leading axes of length 1 that a view does not have."""
    while x.ndim > view.ndim and x.shape[0] == 1:
        x = x[0]
    return x


def boolean(mask: Elements) -> Any:
    """Return a mask; raise TypeError if it is none."""
    if mask.dtype != bool:
        raise TypeError(explain("where", mask.dtype, "bool", "pass a mask"))
    return mask


# -- floating point warnings ---------------------------------------------------------------------

#: What went wrong in the last operation, as NumPy calls it.
FLAGS: list[str] = []


def _watching() -> Context:
    """Return a context in which NumPy notes what it would warn of (its settings are the user's).

    Memory for large results comes from a pool there, if that could be compiled.
    """
    context = copy_context()
    if NUMPYS_POOL is not None:
        context.run(NUMPYS_POOL.use)
    context.run(np.seterr, all="call")
    context.run(np.seterrcall, lambda kind, flag: FLAGS.append(kind))
    return context


_CONTEXT = _watching()
#: Types of functions that may warn by Python's means.
_IN_PYTHON = (FunctionType, type(np.nanmean))
#: Returns a context to run NumPy in, which notes in FLAGS what it would warn of.
in_context = _CONTEXT.copy


def watched(name: str, run: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call NumPy; warn with the user's line, not with one of this module, as NumPy would."""
    if type(run) in _IN_PYTHON:
        run, args = from_users_line, (run, *args)
    try:
        found = in_context().run(run, *args, **options)
    except BaseException:
        FLAGS.clear()
        raise
    if FLAGS:
        tell(name)
    return found


def left(error: BaseException) -> None:
    """Leave what NumPy raised to the long way, which says what is wrong.

    An interrupt goes on, and what else a handler of a signal raised, such as for a time limit.
    """
    FLAGS.clear()
    if interrupts(error):
        raise error


def tell(name: str) -> None:
    """Do what ``np.seterr`` says about what went wrong."""
    kinds = list(FLAGS)
    FLAGS.clear()
    error_states.tell(error_states.error_state(), kinds, name, user_place)


def tell_discarded(given: np.dtype, kept: np.dtype) -> None:
    """Warn as NumPy does before it casts complex numbers to real ones, which engines are to do."""
    if given.kind == "c" and kept.kind in "iuf":
        error_states.warn_at(
            user_place(),
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
        )
