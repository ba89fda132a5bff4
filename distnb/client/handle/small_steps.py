"""Small steps on arrays in reach, without a batch: what NumPy does, and an array of the result.

Each function returns None, or False, where a step is not so small or not so simple: the long way
then does it, or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import STORABLE, Array, fresh
from distnb.client.handle.host_arrays import FLAGS, fits, in_context, left, tell
from distnb.client.handle.indexing import Turn, is_plain
from distnb.client.handle.promised_layouts import promised
from distnb.client.handle.reach import admitted
from distnb.client.session.bases import Base
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View
from distnb.ops.scalars import SCALARS

__all__ = [
    "QUICK",
    "done",
    "indexed",
    "like",
    "made_of",
    "of_scalars",
    "picked",
    "product",
    "quick",
    "quick_call",
    "quick_into",
    "quick_one",
    "quick_out",
    "quick_pair",
    "store",
    "turned",
]

_new: Any = object.__new__

#: Bytes of the largest number.
_NUMBER = 16
#: Python's integers below this have the same dtype everywhere.
_USUAL = 1 << 31
#: Bytes up to which operands in reach, and results, are not looked at twice.
QUICK = 1 << 22
#: What no array has.
_OBJECTS = np.dtype(object)
#: What is stored without anything to tell of: letter of a dtype -> types of scalars. (A letter, for
#: to look up a dtype takes as long as to store.)
_FITTING = {
    "d": frozenset((float, np.float64, bool, np.bool_)),
    "l": frozenset((np.dtype("l").type, bool, np.bool_)),
    "?": frozenset((bool, np.bool_)),
}


def quick(run: Callable[..., Any], inputs: Sequence[ArrayLike]) -> Any:
    """Do an elementwise operation on scalars, and small arrays in reach; None if it is another one.

    NumPy finds out dtype and shape, and what is a scalar. The layout is found when somebody asks.
    """
    taken = _taken(inputs)
    if taken is None:
        return None
    session, args, away = taken
    found = done(run, args)
    if type(found) is not np.ndarray:
        return found
    if found.dtype is _OBJECTS:
        return None  # of a ufunc of Python's objects, which says so elsewhere
    return fresh(session, found, promised(session, away, found))


def quick_pair(  # noqa: PLR0912 - in two functions it takes a tenth longer
    ufunc: np.ufunc, run: Callable[[Any, Any], Any], x: Array, y: Any, swap: bool = False
) -> Any:
    """Do an operation on two arrays of a shape, or one and a scalar, as :func:`quick` does.

    This is what operators are, so it is the shortest way that there is. ``run`` is Python's
    operator: NumPy does that quicker than its ufunc.
    """
    near: Any = x._near
    if near is None or (x._whole is not None and x._whole is not x._base.near):
        near = x.near
    other, session, paired = y, x.session, type(y) is Array.made
    if paired:
        other = y._near
        if other is None or (y._whole is not None and y._whole is not y._base.near):
            other = y.near
        if near is None or other is None:
            return None
        if session is not y.session or not (near.shape == other.shape or _is_small((near, other))):
            return None
    elif near is None or type(y) not in SCALARS:
        return None
    away: Any = ()
    if (x.promise is not None) if x._whole is None else (x._base.host is None):
        away = (x,)
    if paired and ((y.promise is not None) if y._whole is None else (y._base.host is None)):
        away = (*away, y)
    if near.nbytes > QUICK >> 1 or session.closed or (away and config.place == "engines"):
        return None
    try:
        found = in_context().run(run, other, near) if swap else in_context().run(run, near, other)
    except BaseException as error:
        return left(error)
    if FLAGS:
        tell(ufunc.__name__)
    if type(found) is not np.ndarray:
        return found
    if found.ndim > 1 and not found.flags.c_contiguous:
        found = found.copy()
    home = not away and found.nbytes <= config.cutoff
    return fresh(session, found, None if home else promised(session, away, found))


def quick_one(run: Callable[[Any], Any], x: Array) -> Any:
    """Do an operation on one array, as :func:`quick` does."""
    near: Any = x._near
    if near is None or (x._whole is not None and x._whole is not x._base.near):
        near = x.near
    if near is None or near.nbytes > QUICK or x.session.closed:
        return None
    away = (x.promise is not None) if x._whole is None else (x._base.host is None)
    if away and config.place == "engines":
        return None
    found = done(run, (near,))
    if type(found) is not np.ndarray:
        return found
    return fresh(x.session, found, promised(x.session, (x,) if away else (), found))


def _taken(inputs: Sequence[Any]) -> tuple[Session, list[Any], list[Array]] | None:
    """Return the session of operands, what NumPy gets for them, and those not at home.

    None if they are not all small, in reach and of one session. NumPy's arrays are taken where all
    have the same shape, so that the result lies as ours.
    """
    session: Any = None
    shape: Any = None
    alike, apart, others, nbytes = True, False, False, 0
    args: list[Any] = []
    away: list[Any] = []
    for x in inputs:
        if type(x) is Array.made:
            near = x._near
            if near is None or (x._whole is not None and x._whole is not x._base.near):
                near = x.near
                if near is None:
                    return None
            if session is None:
                session, shape = x.session, near.shape if shape is None else shape
            apart = apart or session is not x.session
            alike = alike and shape == near.shape
            if (x.promise is not None) if x._whole is None else (x._base.host is None):
                away.append(x)
            nbytes += near.nbytes
            args.append(near)
        elif type(x) in SCALARS:
            args.append(x)
        elif type(x) is np.ndarray and x.ndim and x.dtype in STORABLE:
            others, shape = True, x.shape if shape is None else shape
            alike = alike and shape == x.shape
            nbytes += x.nbytes
            args.append(x)
        else:
            return None
    if session is None or apart or nbytes > QUICK or session.closed:
        return None
    if (away and config.place == "engines") or not (alike or (not others and _is_small(args))):
        return None
    return session, args, away


def of_scalars(run: Callable[..., Any], nin: int, inputs: Sequence[object]) -> Any:
    """Do an elementwise operation on numbers alone; None if it is another one, or for engines."""
    if len(inputs) != nin or not fits(_NUMBER):
        return None
    for x in inputs:
        if type(x) not in SCALARS or (type(x) is int and not -_USUAL < x < _USUAL):
            return None
    need(None)  # which starts the engines, as any other array does
    return done(run, inputs)


def quick_out(run: Callable[..., Any], inputs: Sequence[ArrayLike], out: ArrayLike) -> Any:
    """Do an elementwise operation into an array, as :func:`quick`; None if it is another one."""
    taken = _taken((*inputs, out)) if isinstance(out, Array) else None
    if taken is None or not isinstance(out, Array):
        return None
    if out._whole is not None:
        out._base.kept = None
    return None if done(run, taken[1]) is None else out


def quick_call(ufunc: np.ufunc, inputs: Sequence[ArrayLike], options: dict[str, Any]) -> Any:
    """Do what NumPy hands on of a ufunc, as :func:`quick`; None if it is another operation."""
    if not options:
        return quick(ufunc, inputs)
    if len(options) == 1 and "out" in options:
        return quick_out(ufunc, inputs, options["out"][0])
    return None


def quick_into(run: Callable[..., Any], out: Array, other: ArrayLike) -> bool:
    """Do ``run(out, other, out)`` on small operands in reach; tell whether it was done."""
    near, kind = out.near, type(other)
    if near is None or near.nbytes > QUICK:
        return False
    given: Any = other
    if kind is Array.made:
        given = given.near if given.session is out.session else None
        if given is None or given.nbytes > QUICK:
            return False
    elif kind not in SCALARS:
        return False
    if config.place == "engines" and not out.at_home:
        return False
    if out._whole is not None:
        out._base.kept = None
    return done(run, (near, given, near)) is not None


def done(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Return what NumPy makes of small operands, in C order or a scalar; None if it raises."""
    try:
        found = in_context().run(run, *args)
    except BaseException as error:
        return left(error)
    if FLAGS:
        tell(run.__name__)
    if type(found) is np.ndarray and found.ndim > 1 and not found.flags.c_contiguous:
        return found.copy()
    return found


def product(x: Array, y: Array) -> Any:
    """Multiply small matrices and vectors in reach; return None if they are something else."""
    session = x.session
    one: Any = x.near
    other: Any = y.near
    if one is None or other is None:
        nbytes = x.nbytes + y.nbytes
        if nbytes > QUICK or session is not y.session or not admitted(session, (x, y), nbytes):
            return None
        one, other = x.near, y.near
    if session is not y.session or one.nbytes + other.nbytes > QUICK:
        return None
    if not (0 < one.ndim < 3 and 0 < other.ndim < 3):
        return None
    if config.place == "engines" and not (x.at_home and y.at_home):
        return None
    found = done(np.matmul, (one, other))
    if type(found) is not np.ndarray:
        return found
    return fresh(session, found, promised(session, (), found))


def indexed(x: Array, key: Subscript) -> Any:
    """Return what NumPy makes of an index in reach: an element or a view; None if it is no such."""
    near: Any = x._near
    if near is None or (x._whole is not None and x._whole is not x._base.near):
        near = x.near
    if near is None or x.session.closed or not (type(key) is int or is_plain(key)):
        return None
    try:
        taken = near[key]
    except IndexError:
        return None  # the long way says what is wrong
    return _view(x, taken, key) if type(taken) is np.ndarray else taken


def picked(x: Array, key: Array) -> Any:
    """Return ``x[key]`` with an array for an index, both small and at home; None in other cases."""
    near, index = x.near, key.near
    if near is None or index is None or x.session is not key.session:
        return None
    if not (x.at_home and key.at_home and index.ndim and near.size and index.size):
        return None
    if not near.ndim or index.size * (near.nbytes // len(near)) > QUICK:
        return None
    try:
        found = near[index]
    except IndexError:
        return None  # the long way says what is wrong
    if not fits(found.nbytes):
        return None
    return fresh(x.session, found if found.flags.c_contiguous else found.copy(), None)


def turned(x: Array, axes: Ints) -> Any:
    """Return an array in reach with its axes in another order, a view; None if it is not."""
    near: Any = x.near
    return None if near is None else _view(x, near.transpose(axes), Turn(axes))


def _view(x: Array, taken: np.ndarray, key: Subscript | Turn) -> Any:
    """Return the array of a view that NumPy took of one in reach."""
    found = _new(Array.made)
    found._base = base = x._base or x.dbase
    found._near = taken
    found._whole = base.near
    found._key = (x._view or x.dview, key)
    found._view = found._placed = found.promise = None
    found.spec = 0
    found.single = False
    found.writeable = x.writeable
    found.session = x.session
    return found


def like(x: Array, run: Callable[..., Any], *args: object) -> Any:
    """Return ``run(x, *args)`` of a small array in reach, which lies as ``x``; None if not."""
    near = x.near
    if near is None or near.nbytes > QUICK:
        return None
    found = done(run, (near, *args))
    away = [] if x.at_home else [x]
    return None if found is None else fresh(x.session, found, promised(x.session, away, found))


def store(x: Array, key: Subscript, value: ArrayLike) -> bool:
    """Do ``x[key] = value`` in reach, if it is small and simple; tell whether it was done."""
    near: Any = x._near
    if near is None or (x._whole is not None and x._whole is not x._base.near):
        near = x.near
    if near is None or x.session.closed or not (type(key) is int or is_plain(key)):
        return False
    if not near.ndim and x.single:  # which is as good as a scalar, and so never written
        return False
    given: Any = value
    kind = type(value)
    if kind is Array.made:
        given = given.near if given.session is x.session else None
        if given is None or given.nbytes > QUICK:
            return False
        plain = given.dtype is near.dtype
    elif kind in SCALARS:
        plain = kind in _FITTING.get(near.dtype.char, ())
    else:
        return False
    if x._whole is not None:
        x._base.kept = None
    try:
        if near.nbytes > QUICK and type(key) is not int and near[key].nbytes > QUICK:
            return False
        if plain:
            near[key] = given
            return True
        in_context().run(near.__setitem__, key, given)
    except BaseException as error:
        left(error)
        return False
    if FLAGS:
        tell("cast")
    return True


def _is_small(args: Sequence[Any]) -> bool:
    """Tell whether a result is small of operands of several shapes."""
    shapes = [a.shape[::-1] for a in args if type(a) is np.ndarray]
    return 16 * prod(map(max, zip_longest(*shapes, fillvalue=1))) <= QUICK


def made_of(
    session: Session, near: np.ndarray, layout: Layout, memory: np.ndarray | None = None
) -> Any:
    """Return the array in reach of an ndarray in C order, in a layout."""
    if memory is None:
        return fresh(session, near, None if layout.here else layout)
    return Array.made(Base.reached(session, near, layout, memory), View.whole(near.shape))
