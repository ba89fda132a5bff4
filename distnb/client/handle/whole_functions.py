"""NumPy's functions on small arrays in reach: called as they are, whatever they do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array, fresh, storable
from distnb.client.handle.host_arrays import FLAGS, fits, in_context, left, tell
from distnb.client.handle.reach import admitted
from distnb.client.handle.rehearsal import part, promise
from distnb.client.handle.small_steps import QUICK
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.layout import default_layout
from distnb.ops.scalars import SCALARS

__all__ = ["Kind", "in_reach", "put_in_reach"]

#: What matters of a function: "exact", its result is the same wherever it is computed; "sums", that
#: of floats depends on the order; "grows", its result may be much larger than the operands;
#: "picks", it takes some of the elements of the first one, by the others.
Kind: TypeAlias = Literal["exact", "sums", "grows", "picks"]
_F = TypeVar("_F", bound=Callable[..., Any])

#: Types of arguments that are handed on; with what is none of these the long way deals.
_PLAIN = SCALARS | {type(None), str, slice, range, type, type(np.dtype("d")), type(Ellipsis)}
#: Options that NumPy does not have, or that it must not write into.
_OURS = frozenset(("out", "dist", "grid", "session", "device"))


def in_reach(numpys: Callable[..., Any], kind: Kind) -> Callable[[_F], _F]:
    """Let a function be done by NumPy's if all its arrays are small and in reach."""

    def decorate(f: _F) -> _F:
        names = list(inspect.signature(f).parameters)
        most = names.index("out") if "out" in names else len(names)

        @functools.wraps(f)
        def function(*args: Any, **options: Any) -> Any:
            found = None
            if len(args) <= most:
                found = _step(numpys, function, kind, args, options)
            return f(*args, **options) if found is None else found

        return function  # type: ignore[return-value]

    return decorate


def _step(
    numpys: Callable[..., Any],
    function: Callable[..., Any],
    kind: Kind,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Return what NumPy's function returns; None if it is not to do it, or raises."""
    arrays: list[Any] = []
    if not _OURS.isdisjoint(options):
        return None
    try:
        nears = [_near(x, arrays, kind) for x in args]
        named = {k: _near(x, arrays, kind) for k, x in options.items()} if options else options
    except _RefusedError:
        return None
    if not arrays or not _allowed(kind, arrays, args):
        return None
    try:
        found = in_context().run(numpys, *nears, **named)
    except BaseException as error:
        return left(error)
    if not _is_result(found):
        return None
    if FLAGS:
        tell(numpys.__name__)
    return _results(arrays, found, functools.partial(_promised, function, args, options))


def put_in_reach(x: Array, key: Subscript, value: ArrayLike) -> bool:
    """Do ``x[key] = value`` with an index of arrays, in reach; tell whether it was done."""
    arrays: list[Any] = []
    try:
        near, index, given = [_near(y, arrays, "picks") for y in (x, key, value)]
    except _RefusedError:
        return False
    if not x.writeable or not _allowed("picks", arrays, (x, key)):
        return False
    x.dbase.about_to_be_written()
    try:
        in_context().run(near.__setitem__, index, given)
    except BaseException as error:
        left(error)
        return False
    if FLAGS:
        tell("cast")
    return True


class _RefusedError(Exception):
    """An argument is for the long way."""


def _near(x: Any, arrays: list[Any], what: Kind) -> Any:
    """Return an argument as NumPy gets it; add the arrays in it to a list."""
    kind = type(x)
    if kind is Array.made:
        near = x.near
        if near is None:
            few = what == "picks" and not arrays
            if not admitted(x.session, (x,), 0 if few else x.nbytes):
                raise _RefusedError
            near = x.near
        if near is None or not near.size:
            raise _RefusedError
        arrays.append(x)
        return near
    if kind in _PLAIN:
        return x
    if kind is list or kind is tuple:
        return kind([_near(item, arrays, what) for item in x])
    if kind is np.ndarray:
        return x
    raise _RefusedError


def _allowed(kind: Kind, arrays: Sequence[Any], args: tuple[Any, ...]) -> bool:
    """Tell whether the notebook is to do a step on arrays in reach."""
    session, nbytes, home, floats = arrays[0].session, 0, True, False
    for x in arrays:
        if x.session is not session:
            return False
        home = home and x.at_home
        nbytes += x.nbytes
        floats = floats or x.dtype.kind in "fc"
    if config.place == "engines" and not home:
        return False
    if nbytes > QUICK:
        return kind == "picks" and _picked(*args) <= QUICK
    if kind == "grows":
        return 8 * _factor(args) <= QUICK
    return home or kind != "sums" or not floats


def _picked(x: Any, *keys: Any) -> int:
    """Return bytes that what an index takes of an array cannot exceed, and those of the index."""
    parts = keys[0] if type(keys[0]) is tuple else keys
    nbytes, size = 0, 1
    for k in parts:
        if type(k) in (int, slice, type(None), type(Ellipsis)):
            continue
        elements = k if isinstance(k, Array | np.ndarray) else np.asarray(k)
        nbytes += elements.nbytes
        size = max(size, elements.size)
    return nbytes + size * x.itemsize * (x.size // max(x.shape[0], 1))


def _factor(x: Any) -> int:
    """Return how many elements a result of some arguments cannot exceed."""
    if isinstance(x, Array | np.ndarray):
        return max(x.size, 1)
    if type(x) in (list, tuple):
        found = 1
        for item in x:
            found *= _factor(item)
        return found
    return abs(x) + 1 if type(x) is int else 1


def _is_result(found: Any) -> bool:
    """Tell whether something is what functions return: arrays that can be held, and scalars."""
    if type(found) in (tuple, list):
        return all(_is_result(f) for f in found)
    if isinstance(found, np.ndarray | np.generic):
        return storable(found.dtype)
    return type(found) in SCALARS


def _results(arrays: Sequence[Any], found: Any, promised: Callable[..., Any]) -> Any:
    if type(found) in (tuple, list):
        return type(found)(
            [_result(arrays, f, functools.partial(promised, i)) for i, f in enumerate(found)]
        )
    return _result(arrays, found, functools.partial(promised, 0))


def _result(arrays: Sequence[Any], found: Any, promised: Callable[..., Any]) -> Any:
    """Return what NumPy returned, with an array in place of an ndarray."""
    if not isinstance(found, np.ndarray):
        return found
    session: Session = arrays[0].session
    near = found
    if not (near.flags.owndata and near.flags.c_contiguous):
        near = near.copy()
    if all(x.at_home for x in arrays):
        layout = None if fits(near.nbytes) else default_layout(near.shape, session.size)
    else:
        layout = promised(session, near)
    return fresh(session, near, layout)


def _promised(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    index: int,
    session: Session,
    near: np.ndarray,
) -> Any:
    """Return what promises the layout of a result."""
    return promise(session, function, _played(args), _played(options), near, index)


def _played(x: Any) -> Any:
    """Return arguments with the part of each array in its place."""
    kind = type(x)
    if kind is Array.made:
        return part(x)
    if kind is list or kind is tuple:
        return kind([_played(item) for item in x])
    return {k: _played(v) for k, v in x.items()} if kind is dict else x
