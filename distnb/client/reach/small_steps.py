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

import distnb.common.ndarrays as nd
from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import STORABLE, Array
from distnb.client.handle.fields import Fields, fresh, is_away, near_of, viewed
from distnb.client.handle.host_arrays import FLAGS, in_context, tell
from distnb.client.handle.indexing import BASIC, Turn
from distnb.client.reach.admission import admitted
from distnb.client.reach.promised_layouts import promised
from distnb.client.reach.rehearsal import part, promise
from distnb.client.session.bases import Base
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View
from distnb.ops import table
from distnb.ops.fast import FAST
from distnb.ops.scalars import NUMPYS, SCALARS

__all__ = [
    "HALF",
    "QUICK",
    "done",
    "indexed",
    "like",
    "made_of",
    "of_call",
    "of_scalars",
    "picked",
    "product",
    "quick",
    "quick_dot",
    "quick_into",
    "quick_one",
    "quick_out",
    "quick_pair",
    "store",
    "turned",
    "with_units",
]

#: Bytes of the largest number.
_NUMBER = 16
#: Python's integers below this have the same dtype everywhere.
_USUAL = 1 << 31
#: Bytes up to which operands in reach, and results, are not looked at twice.
QUICK = 1 << 23
#: Bytes of one operand, as the result takes as much: steps on arrays of a size are all done here,
#: or none.
HALF = QUICK >> 1
#: What there is of one of NumPy's ufuncs: its own loops alone, or some of the processor's vectors.
_ONE, _FAST = 1, 2
#: NumPy's elementwise ufuncs with one result.
_USUAL_UFUNCS = {
    row.run: _FAST if row.name in FAST else _ONE
    for row in table.ELEMENTWISE.values()
    if isinstance(row.run, np.ufunc) and row.nout == 1 and getattr(np, row.name, None) is row.run
}
#: Where the line of the user's is that was seen last (the globals of its module).
_line = 0
_PACKAGE = "distnb."
#: Views of which each is told of by the one before, at most.
_NESTED = 4
#: What no array has.
_OBJECTS = np.dtype(object)
#: Types of an index of integers, slices, None and '...': NumPy's integers, too.
_PLAIN = BASIC | {kind for kind in NUMPYS if issubclass(kind, np.integer)}


def quick(run: Callable[..., Any], inputs: Sequence[ArrayLike], seen: bool = False) -> Any:
    """Do an elementwise operation on scalars, and small arrays in reach; None if it is another one.

    NumPy finds out dtype and shape, and what is a scalar. The layout is found when somebody asks.
    ``seen`` says that only compiled functions are between the user's line and this one.
    """
    taken = _taken(inputs)
    if taken is None:
        return None
    session, args, away = taken
    found = done(run, args, seen)
    if type(found) is not np.ndarray:
        return found
    if found.dtype is _OBJECTS:
        return None  # of a ufunc of Python's objects, which says so elsewhere
    return fresh(session, found, promised(session, away, found))


def quick_pair(
    ufunc: np.ufunc,
    run: Callable[[Any, Any], Any],
    x: Array,
    y: Any,
    swap: bool = False,
    seen: bool = True,
) -> Any:
    """Do an operation on two arrays of a shape, or one and a scalar, as :func:`quick` does.

    This is what operators are, so it is the shortest way that there is. ``run`` is Python's
    operator: NumPy does that quicker than its ufunc.
    """
    near, session, other = near_of(x), x.session, y
    away: tuple[Any, ...] = ()
    if near is None:
        return None
    if is_away(x):
        away = (x,)
    if isinstance(y, Fields):
        other = near_of(y)
        if other is None or session is not y.session:
            return None
        if not nd.same_shape(near, other) and not _is_small((near, other)):
            return None
        if is_away(y):
            away = (*away, y)
    elif type(y) not in SCALARS:
        return None
    if nd.nbytes(near) > HALF or (away and config.place == "engines"):
        return None
    one, two = (other, near) if swap else (near, other)
    direct = seen and nd.COMPILED and _is_users()
    try:
        found = run(one, two) if direct else in_context().run(run, one, two)
    except BaseException as error:
        return refused(error)
    if FLAGS:
        tell(ufunc.__name__)
    if type(found) is not np.ndarray:
        return found
    if not nd.in_c(found):
        found = found.copy()
    home = not away and nd.nbytes(found) <= config.cutoff
    return fresh(session, found, None if home else promised(session, away, found))


def quick_one(run: Callable[[Any], Any], x: Array, seen: bool = True) -> Any:
    """Do an operation on one array, as :func:`quick` does."""
    near = near_of(x)
    if near is None or nd.nbytes(near) > HALF:
        return None
    away = is_away(x)
    if away and config.place == "engines":
        return None
    found = done(run, (near,), seen)
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
    alike, apart, others, total, most = True, False, False, 0, 0
    args: list[Any] = []
    away: list[Any] = []
    for x in inputs:
        if type(x) is Array.made:
            near = near_of(x)
            if near is None:
                return None
            if session is None:
                session, shape = x.session, near.shape if shape is None else shape
            apart = apart or session is not x.session
            alike = alike and shape == near.shape
            if is_away(x):
                away.append(x)
            total += nd.nbytes(near)
            most = max(most, nd.nbytes(near))
            args.append(near)
        elif type(x) in SCALARS:
            args.append(x)
        elif type(x) is np.ndarray and x.dtype in STORABLE:
            if not x.ndim:
                args.append(x[()])
                continue
            others, shape = True, x.shape if shape is None else shape
            alike = alike and shape == x.shape
            total += nd.nbytes(x)
            args.append(x)
        else:
            return None
    if session is None or apart or total > QUICK or most > HALF:
        return None
    if (away and config.place == "engines") or not (alike or (not others and _is_small(args))):
        return None
    return session, args, away


def of_scalars(run: Callable[..., Any], inputs: Sequence[object]) -> Any:
    """Do an elementwise operation on numbers alone; None if it is another one, or for engines."""
    if config.cutoff < _NUMBER:
        return None
    for x in inputs:
        if type(x) not in SCALARS or (type(x) is int and not -_USUAL < x < _USUAL):
            return None
    need(None)  # which starts the engines, as any other array does
    return done(run, inputs)


def _is_users() -> bool:
    """Tell whether the line of Python's that runs is not one of distnb's: NumPy may warn there."""
    global _line  # noqa: PLW0603 - compiled, it is a number in C
    line = nd.running()
    if line != _line:
        if nd.is_of(_PACKAGE):
            return False
        _line = line
    return True


def refused(error: object) -> Any:
    """Leave what NumPy refused to the long way; raise what came when all was computed.

    That are floating point errors, and whatever a function of the user's raises that is told of
    them: the long way would compute once more, of what was written already.
    """
    FLAGS.clear()
    late = isinstance(error, FloatingPointError | Warning) or np.geterrcall() is not None
    if isinstance(error, BaseException) and (late or not isinstance(error, Exception)):
        raise error


def of_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], seen: bool = False) -> Any:
    """Do what a ufunc does of inputs alone, as :func:`quick`."""
    usual = _USUAL_UFUNCS.get(ufunc)
    if usual is None:  # somebody else's
        return quick(ufunc, inputs, seen)
    if usual == _FAST and config.math != "numpy":
        return None
    if len(inputs) == 1 and type(inputs[0]) is Array.made:
        return quick_one(ufunc, inputs[0], seen)
    found = None
    if len(inputs) == 2 and type(inputs[0]) is Array.made:
        found = quick_pair(ufunc, ufunc, inputs[0], inputs[1], False, seen)
    elif len(inputs) == 2 and type(inputs[1]) is Array.made:
        found = quick_pair(ufunc, ufunc, inputs[1], inputs[0], True, seen)
    return quick(ufunc, inputs, seen) if found is None else found


def of_call(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Do what a call of a ufunc does, or of what stands for it, as :func:`quick`."""
    if len(inputs) != ufunc.nin:
        return None
    if options:
        out = len(options) == 1 and "out" in options
        return quick_out(ufunc, inputs, options["out"]) if out else None
    found = of_scalars(ufunc, inputs) if type(inputs[0]) in SCALARS else None
    return of_ufunc(ufunc, inputs) if found is None else found


def quick_out(run: Callable[..., Any], inputs: Sequence[ArrayLike], out: ArrayLike) -> Any:
    """Do an elementwise operation into an array, as :func:`quick`; None if it is another one."""
    taken = _taken((*inputs, out)) if isinstance(out, Array) else None
    if taken is None or not isinstance(out, Array):
        return None
    if out._whole is not None:
        out._base.kept = None
    *args, near = taken[1]
    try:
        in_context().run(run, *args, out=near)  # of some, NumPy does not want it by its position
    except BaseException as error:
        refused(error)
        return None
    if FLAGS:
        tell(run.__name__)
    return out


def quick_into(run: Callable[..., Any], out: Array, other: ArrayLike) -> bool:
    """Do ``run(out, other, out)`` on small operands in reach; tell whether it was done."""
    near = near_of(out)
    given: Any = other
    if near is None or nd.nbytes(near) > HALF:
        return False
    if isinstance(given, Fields):
        given = near_of(given) if given.session is out.session else None
        if given is None or nd.nbytes(given) > QUICK:
            return False
    elif type(other) not in SCALARS:
        return False
    if is_away(out) and config.place == "engines":
        return False
    if out._whole is not None:
        out._base.kept = None
    try:
        if nd.COMPILED and _is_users():
            run(near, given, near)
        else:
            in_context().run(run, near, given, near)
    except BaseException as error:
        refused(error)
        return False
    if FLAGS:
        tell(run.__name__)
    return True


def done(run: Callable[..., Any], args: Sequence[Any], seen: bool = False) -> Any:
    """Return what NumPy makes of small operands, in C order or a scalar; None if it refuses.

    ``seen`` is as in :func:`quick`.
    """
    direct = seen and nd.COMPILED and _is_users()
    try:
        found = run(*args) if direct else in_context().run(run, *args)
    except BaseException as error:
        return refused(error)
    if FLAGS:
        tell(run.__name__)
    if type(found) is np.ndarray and not nd.in_c(found):
        return found.copy()
    return found


def product(x: Array, y: Array, seen: bool = False) -> Any:
    """Multiply small matrices and vectors in reach; return None if they are something else."""
    session, one, other = x.session, near_of(x), near_of(y)
    if one is None or other is None:
        total = x.nbytes + y.nbytes
        if total > HALF or session is not y.session or not admitted(session, (x, y), total):
            return None
        one, other = x.near, y.near
    if session is not y.session or nd.nbytes(one) + nd.nbytes(other) > HALF:
        return None
    if not (0 < one.ndim < 3 and 0 < other.ndim < 3):
        return None
    if config.place == "engines" and (is_away(x) or is_away(y)):
        return None
    found = done(np.matmul, (one, other), seen)
    if type(found) is not np.ndarray:
        return found
    return fresh(session, found, promised(session, (), found))


def quick_dot(x: Array, y: Array) -> Any:
    """Multiply two small vectors in reach; return None if they are something else.

    By ``np.dot``, which adds in another order than ``np.matmul`` where vectors have strides.
    """
    one, other = near_of(x), near_of(y)
    if one is None or other is None or one.ndim != 1 or other.ndim != 1:
        return None
    if x.session is not y.session or nd.nbytes(one) + nd.nbytes(other) > HALF:
        return None
    if config.place == "engines" and (is_away(x) or is_away(y)):
        return None
    return done(np.dot, (one, other))


def indexed(x: Array, key: Subscript) -> Any:
    """Return what NumPy makes of an index in reach: an element or a view; None if it is no such."""
    near = near_of(x)
    if near is None or not (type(key) is int or _is_plain(key)):
        return None
    try:
        taken = near[key]
    except IndexError:
        return None  # the long way says what is wrong
    if type(taken) is not np.ndarray:
        return taken
    return viewed(x, taken, x._base or x.dbase, (_seen(x), key))


def _seen(x: Array) -> Any:
    """Return what :func:`view_of` finds the view of an array in reach by, without finding it."""
    if x._view is not None:
        return x._view
    key, depth = x._key, 0
    parent: Any = key
    while type(parent) is tuple:
        parent = parent[0]
        depth += 1
    return key if depth < _NESTED else x.dview


def _is_plain(key: Subscript) -> bool:
    """Tell whether an index is of integers, slices, None and '...', which NumPy takes as we do.

    It is kept, so nothing in it may change.
    """
    if type(key) is not tuple:
        return type(key) in _PLAIN and (type(key) is not slice or _is_fixed(key))
    for k in key:  # bool is another type, as is an array  # noqa: SIM110 - half the time of all()
        if type(k) not in _PLAIN or (type(k) is slice and not _is_fixed(k)):
            return False
    return True


def _is_fixed(key: Any) -> bool:
    """Tell whether the parts of a slice are numbers, and none that may change."""
    start, stop, step = key.start, key.stop, key.step
    return (
        (start is None or type(start) in _PLAIN)
        and (stop is None or type(stop) in _PLAIN)
        and (step is None or type(step) in _PLAIN)
    )


def picked(x: Array, key: Array, long: Callable[..., Any]) -> Any:
    """Return ``x[key]`` with an array for an index, if both are small and in reach, else None.

    ``long`` does it otherwise, and tells where the result lies of what engines have.
    """
    near, index, session = near_of(x), near_of(key), x.session
    if near is None or index is None or session is not key.session:
        return None
    if not (index.ndim and near.size and index.size and near.ndim):
        return None
    away = is_away(x) or is_away(key)
    if index.size * (nd.nbytes(near) // len(near)) > QUICK or (away and config.place == "engines"):
        return None
    try:
        found = near[index]
    except IndexError:
        return None  # the long way says what is wrong
    found = found if nd.in_c(found) else found.copy()
    if away:
        layout = promise(session, long, (part(x), part(key)), {}, found.shape, 0)
        return fresh(session, found, layout)
    return fresh(session, found, None) if nd.nbytes(found) <= config.cutoff else None


def with_units(x: Array, shown: np.ndarray) -> Any:
    """Return the view of an array in reach that NumPy shows, if only axes of length 1 differ."""
    key: list[Any] = []
    lengths, i = x._near.shape, 0  # type: ignore[union-attr]
    for n in (*shown.shape, -1):
        if n == 1:
            key.append(None)
            continue
        while i < len(lengths) and lengths[i] == 1:
            key.append(0)
            i += 1
        if n >= 0:
            if i == len(lengths) or lengths[i] != n:
                return None
            key.append(slice(None))
            i += 1
    if i < len(lengths):
        return None
    return viewed(x, shown, x._base or x.dbase, (_seen(x), tuple(key)))


def turned(x: Array, axes: Ints) -> Any:
    """Return an array in reach with its axes in another order, a view; None if it is not."""
    near = near_of(x)
    if near is None:
        return None
    key = (_seen(x), Turn(axes))
    return viewed(x, near.transpose(axes), x._base or x.dbase, key)


def like(x: Array, run: Callable[..., Any], *args: object) -> Any:
    """Return ``run(x, *args)`` of a small array in reach, which lies as ``x``; None if not."""
    near = near_of(x)
    if near is None or nd.nbytes(near) > QUICK:
        return None
    away = [x] if is_away(x) else []
    if away and config.place == "engines":
        return None
    found = done(run, (near, *args))
    return None if found is None else fresh(x.session, found, promised(x.session, away, found))


def store(x: Array, key: Subscript, value: ArrayLike) -> bool:
    """Do ``x[key] = value`` in reach, if it is small and simple; tell whether it was done."""
    near, given = near_of(x), _given(x, value)
    if near is None or given is None or (x.single and not near.ndim):
        return False  # a single one is as good as a scalar, and so never written
    index: Any = key
    if type(index) is Array.made:
        index = _index(x, near, index)
        if index is None:
            return False
    elif not (type(key) is int or _is_plain(key)):
        return False
    if x._whole is not None:
        x._base.kept = None
    try:
        if nd.nbytes(near) > QUICK and type(key) is not int and near[index].nbytes > QUICK:
            return False
        if nd.COMPILED and _is_users():
            near[index] = given
            return True
        in_context().run(near.__setitem__, index, given)
    except BaseException as error:
        refused(error)
        return False
    if FLAGS:
        tell("cast")
    return True


def _given(x: Array, value: object) -> Any:
    """Return what NumPy gets for a value to store, None if it is not so small."""
    if isinstance(value, Fields):
        given = near_of(value) if value.session is x.session else None
        return None if given is None or nd.nbytes(given) > QUICK else given
    return value if type(value) in SCALARS else None


def _index(x: Array, near: np.ndarray, key: Array) -> Any:
    """Return what NumPy gets for an array that is an index, None if the step is not so small."""
    index = near_of(key)
    if index is None or key.session is not x.session or not index.ndim:
        return None
    if nd.nbytes(near) > HALF or nd.nbytes(index) > HALF:
        return None
    away = is_away(x) or is_away(key)
    return None if away and config.place == "engines" else index


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
