"""Small steps on arrays in reach, without a batch: what NumPy does, and an array of the result.

Each function returns None, or False, where a step is not so small or not so simple: the long way
then does it, or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array
from distnb.client.handle.host_arrays import FLAGS, quietly, tell
from distnb.client.handle.indexing import is_plain
from distnb.client.handle.promised_layouts import promised
from distnb.client.handle.reach import admitted
from distnb.client.session.bases import Base, Promised
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.layout import Layout
from distnb.geometry.views import View
from distnb.ops.scalars import SCALARS

__all__ = ["done", "like", "look", "made_of", "product", "quick", "store"]

#: Bytes up to which operands in reach, and results, are not looked at twice.
_QUICK = 1 << 22


def quick(run: Callable[..., Any], inputs: Sequence[ArrayLike], out: Array | None = None) -> Any:
    """Do an elementwise operation on scalars, and small arrays in reach; None if it is another one.

    NumPy finds out dtype and shape. The layout is found when somebody asks.
    """
    found = _operands(inputs if out is None else (*inputs, out))
    if found is None or getattr(run, "nout", 1) > 1:
        return None
    session, args, away = found
    if out is None:
        near = done(run, args)
        return None if near is None else made_of(session, near, promised(session, away, near))
    if not out.writeable:
        return None
    out.dbase.copy = None
    return None if done(run, args) is None else out


def _operands(inputs: Sequence[Any]) -> tuple[Session, list[Any], list[Array]] | None:
    """Return the session of operands, what NumPy gets for them, and those not at home.

    None if they are not all small, in reach and of one session.
    """
    session, shape, alike, nbytes = None, None, True, 0
    args: list[Any] = []
    away: list[Array] = []
    for x in inputs:
        kind = type(x)
        if kind is Array.made:
            base = x.dbase
            whole = base.near
            if whole is None or (session is not None and base.session is not session):
                return None
            near = x._near if x._whole is whole else x.near
            args.append(near)
            nbytes += near.nbytes
            if session is None:
                session, shape = base.session, near.shape
            elif shape != near.shape:
                alike = False
            if base.host is None:
                away.append(x)
        elif kind in SCALARS:
            args.append(x)
        else:
            return None
    if session is None or nbytes > _QUICK or session.closed:
        return None
    if (away and config.place == "engines") or not (alike or _is_small(args)):
        return None
    return session, args, away


def done(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Return what NumPy makes of small operands, an array; None if it raises."""
    try:
        found = quietly(run, args)
    except Exception:
        return None  # the long way says what is wrong
    if FLAGS:
        tell(run.__name__)
    if type(found) is not np.ndarray:
        return np.asarray(found)
    return found if found.flags.c_contiguous else found.copy()


def product(x: Array, y: Array) -> Any:
    """Multiply small matrices and vectors in reach; return None if they are something else."""
    session = x.dbase.session
    if not (0 < x.ndim < 3 and 0 < y.ndim < 3) or session is not y.dbase.session:
        return None
    nbytes = x.nbytes + y.nbytes
    if nbytes > _QUICK or session.closed or not admitted(session, (x, y), nbytes):
        return None
    found = done(np.matmul, (x.near, y.near))
    return None if found is None else made_of(session, found, promised(session, (), found))


def look(x: Array, key: Subscript) -> Any:
    """Return what NumPy makes of an index in reach: an element or a view; None if it is no such."""
    near = x.near if is_plain(key) and not x.dbase.session.closed else None
    if near is None:
        return None
    try:
        return near[key]  # type: ignore[index]
    except IndexError:
        return None  # the long way says what is wrong


def like(x: Array, run: Callable[..., Any], *args: object) -> Any:
    """Return ``run(x, *args)`` of a small array in reach, which lies as ``x``; None if not."""
    session, near = x.dbase.session, x.dbase.near
    if near is None or x.nbytes > _QUICK or session.closed:
        return None
    found = done(run, (x.near, *args))
    away = [x] if x.dbase.host is None else []
    return None if found is None else made_of(session, found, promised(session, away, found))


def store(x: Array, key: Subscript, value: ArrayLike) -> bool:
    """Do ``x[key] = value`` in reach, if it is small and simple; tell whether it was done."""
    base = x.dbase
    if not is_plain(key) or not x.writeable or base.session.closed:
        return False
    given: Any = value
    kind = type(value)
    if kind is Array.made:
        other = given.dbase
        if other.near is None or other.session is not base.session:
            return False
        given = given.near
        if given.nbytes > _QUICK:
            return False
    elif kind not in SCALARS:
        return False
    near: Any = x.near
    try:
        if near.nbytes > _QUICK and type(key) is not int and near[key].nbytes > _QUICK:
            return False
        base.copy = None
        quietly(near.__setitem__, (key, given))
    except Exception:
        return False  # the long way says what is wrong
    if FLAGS:
        tell("cast")
    return True


def _is_small(args: Sequence[Any]) -> bool:
    """Tell whether a result is small of operands of several shapes."""
    try:
        shape = np.broadcast_shapes(*[a.shape for a in args if type(a) is np.ndarray])
    except ValueError:
        return False
    return 16 * prod(shape) <= _QUICK


def made_of(
    session: Session, near: np.ndarray, layout: Layout | Promised, memory: np.ndarray | None = None
) -> Any:
    """Return the array in reach of an ndarray in C order; a layout, or what promises one."""
    found = Array.made(Base.reached(session, near, layout, memory), View.whole(near.shape))
    found._whole = found._near = near
    return found
