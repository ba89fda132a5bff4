"""Functions whose arrays are all in the notebook: NumPy computes them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from distnb.client.handle.array import Array, as_result
from distnb.client.handle.conversion import array_of, check_session
from distnb.client.handle.host_arrays import all_here, plain, watched
from distnb.client.record.operations import assign
from distnb.client.record.ufunc_options import outputs, put_plain
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.ops.table import uncast

__all__ = [
    "Out",
    "arrays_of",
    "at_once",
    "check_out",
    "check_shape",
    "delivered",
    "session_of",
    "written_plain",
]

#: ``out=`` of ufuncs and their like.
Out: TypeAlias = Array | tuple[Array | None, ...] | None


def session_of(*args: object) -> Any:
    """Return the session of the first array among some arguments; the current one without any."""
    found = next((a for a in args if isinstance(a, Array)), None)
    return need(None) if found is None else found.session


def at_once(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what NumPy's function returns, if all arrays are in the notebook; else None."""
    session = session_of(*args, *options.values())
    if not all_here((*args, *options.values()), session):
        return None
    args = tuple([_plain(a) for a in args])
    options = {name: _plain(a) for name, a in options.items()}
    return arrays_of(session, watched(function.__name__, function, *args, **options))


def _plain(x: object) -> Any:
    return plain(x) if isinstance(x, Array) else x


def arrays_of(session: Session, found: object) -> Any:
    """Return a result of NumPy's, or several, as arrays of a session."""
    if isinstance(found, tuple):
        return tuple(f if isinstance(f, np.generic) else arrays_of(session, f) for f in found)
    return array_of(session, np.array(found))


def written_plain(function: Callable[..., Any], target: object, *args: Any, **options: Any) -> bool:
    """Let NumPy write into what is no distributed array; tell whether it is none.

    Arrays among the other arguments are read, within the gather budget.
    """
    if isinstance(target, Array):
        return False
    values = {name: _read(a) for name, a in options.items()}
    watched(function.__name__, function, target, *[_read(a) for a in args], **values)
    return True


def _read(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_read(item) for item in x)
    return np.asarray(x) if isinstance(x, Array) else x


def delivered(
    found: Any, out: Out, casting: str = "unsafe", core: int | None = None, name: str = ""
) -> Any:
    """Return a result, or the array of its shape that it was asked to be put into.

    ``casting`` says into which dtypes, ``name`` is that of the ufunc that casts, if any. With
    ``core`` the output may have more axes, which the result is repeated along: all but so many of
    its last ones are those of a loop.
    """
    if out is None:
        return as_result(found)
    one: Any = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    kind, rule = getattr(one, "dtype", None), cast(Any, casting)
    if kind is not None and not np.can_cast(found.dtype, kind, rule):
        if name:
            raise uncast(name, found.dtype, np.dtype(kind), casting)
        raise TypeError(explain("out", f"{kind}", f"a {casting} cast of {found.dtype}", "cast it"))
    if core is not None and kind is not None and one.shape != found.shape:
        found = _looped(found, one.shape, core)
    if isinstance(one, np.ndarray):
        check_shape(one.shape, np.shape(found))
        return put_plain(found, one, casting="unsafe")
    into = check_out(found, out)
    if isinstance(found, Array):
        check_session(found, into.session)
    elif isinstance(found, np.generic):  # a number that is assigned would not be cast
        found = found.astype(into.dtype)
    assign(into, found)
    return into


def _looped(found: Any, shape: Ints, core: int) -> Any:
    """Return a result as it is repeated in an output; raise ValueError if it does not fit."""
    loop = len(shape) - core
    if loop < 0 or shape[loop:] != found.shape[found.ndim - core :]:
        raise _unfit(shape, found.shape)
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise _unfit(shape, found.shape) from None


def check_out(found: Any, out: Out) -> Any:
    """Return the array that a result is to be put into; raise ValueError if shapes differ."""
    one: Any = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    into = one if isinstance(one, np.ndarray) else outputs(out, 1)[0]
    if into is not None:
        check_shape(into.shape, found.shape)
    return into


def check_shape(given: Ints, shape: Ints) -> None:
    """Raise ValueError if the shape of an output is not that of the result."""
    if given != shape:
        raise _unfit(given, shape)


def _unfit(given: Ints, shape: Ints) -> ValueError:
    """Return the error for an output of another shape."""
    return ValueError(explain("out", f"shape {given}", f"{shape}", "pass a matching one"))
