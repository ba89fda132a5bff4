"""Small steps on arrays in reach, without a batch: what NumPy does, and an array of the result.

Each function returns None, or False, where a step is not so small or not so simple: the long way
then does it, or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

import distnb.common.ndarrays as nd
from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array
from distnb.client.handle.fields import Fields, fresh, is_away, near_of, stayed
from distnb.client.handle.host_arrays import FLAGS, in_context, tell
from distnb.client.reach.promised_layouts import promised
from distnb.client.reach.rehearsal import part, promise
from distnb.client.reach.small_views import indexed, is_plain, laid
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.common.interrupts import interrupts
from distnb.geometry.layout import Layout
from distnb.geometry.views import View
from distnb.ops import table
from distnb.ops.fast import FAST
from distnb.ops.scalars import SCALARS, STORABLE
from distnb.ops.weights import LIGHT, weight

__all__ = [
    "chosen",
    "done",
    "like",
    "made_of",
    "of_call",
    "of_scalars",
    "picked",
    "quick",
    "quick_into",
    "quick_one",
    "quick_out",
    "quick_pair",
    "store",
]

#: Bytes of the largest number.
_NUMBER = 16
#: Python's integers below this have the same dtype everywhere.
_USUAL = 1 << 31
#: NumPy's elementwise ufuncs -> whether there are others of them, by the processor's vectors.
_USUAL_UFUNCS = {
    row.run: row.name in FAST
    for row in table.ELEMENTWISE.values()
    if isinstance(row.run, np.ufunc) and getattr(np, row.name, None) is row.run
}
#: Those of which NumPy warns that an output is no positional argument of theirs.
_WARNS = frozenset((np.maximum, np.minimum))
#: Options of ufuncs for what is there already.
_INTO = frozenset(("out", "where"))
#: Types of items of a list that is an index.
_POSITIONS = frozenset(kind for kind in SCALARS if np.dtype(kind).kind in "iub")
#: Where the line of the user's is that was seen last (the globals of its module).
_line = 0
_PACKAGE = "distnb."
#: What no array has.
_OBJECTS = np.dtype(object)


def quick(run: Callable[..., Any], inputs: Sequence[ArrayLike], seen: bool = False) -> Any:
    """Do an elementwise operation on scalars, and small arrays in reach; None if it is another one.

    Of several results there is a tuple. NumPy finds out dtype and shape, and what is a scalar. The
    layout is found when somebody asks.
    ``seen`` says that only compiled functions are between the user's line and this one.
    """
    taken = _taken(inputs)
    if taken is None or (taken[2] and _is_theirs(run, taken[1])):
        return None
    session, args, away, total = taken
    found = _done(run, args, seen and total < nd.POOLED)
    if type(found) is tuple:
        return tuple([laid(session, f, away) if type(f) is ndarray else f for f in found])
    if type(found) is not ndarray:
        return found
    if found.dtype is _OBJECTS:
        return None  # of a ufunc of Python's objects, which says so elsewhere
    if nd.in_c(found):
        return fresh(session, found, promised(session, away, found))
    return laid(session, found, away)


def quick_pair(
    ufunc: np.ufunc,
    run: Callable[[Any, Any], Any],
    x: Fields,
    y: Any,
    swap: bool = False,
    seen: bool = True,
) -> Any:
    """Do an operation on two arrays of a shape, or one and a scalar, as :func:`quick` does.

    This is what operators are, so it is the shortest way that there is. ``run`` is Python's
    operator: NumPy does that quicker than its ufunc.
    """
    near, session = near_of(x), x.session
    if near is None:
        return None
    nbytes = largest = nd.nbytes(near)
    away: tuple[Any, ...] = (x,) if is_away(x) else ()
    other: Any = y
    if isinstance(y, Fields):
        second: Fields = y
        other = near_of(second)
        if other is None or session is not second.session:
            return None
        if not nd.same_shape(near, other):
            largest = _NUMBER * nd.of_both(near, other)
            if largest > nd.QUICK:
                return None
        away += (second,) if is_away(second) else ()
    elif type(y) not in SCALARS:
        return None
    if nbytes > nd.HALF or (away and (config.place == "engines" or _is_dear(ufunc, near))):
        return None
    one, two = (other, near) if swap else (near, other)
    direct = seen and largest < nd.POOLED and nd.COMPILED and _is_users()
    try:
        found = run(one, two) if direct else in_context().run(run, one, two)
    except BaseException as error:
        return refused(error)
    if FLAGS:
        tell(ufunc.__name__)
    if type(found) is not ndarray:
        return found
    if nd.in_c(found):
        return fresh(session, found, promised(session, away, found))
    return laid(session, found, away)


def quick_one(run: Callable[[Any], Any], x: Fields, seen: bool = True) -> Any:
    """Do an operation on one array, as :func:`quick` does."""
    near = near_of(x)
    if near is None:
        return None
    nbytes, away = nd.nbytes(near), is_away(x)
    if nbytes > nd.HALF or (away and (config.place == "engines" or _is_dear(run, near))):
        return None
    found = _done(run, (near,), seen and nbytes < nd.POOLED)
    if type(found) is not ndarray:
        return found
    those = (x,) if away else ()
    if nd.in_c(found):
        return fresh(x.session, found, promised(x.session, those, found))
    return laid(x.session, found, those)


def _taken(inputs: Sequence[Any]) -> tuple[Session, list[Any], list[Array], int] | None:
    """Return the session of operands, what NumPy gets for them, those not at home, and all bytes.

    None if they are not all small, in reach and of one session. NumPy's arrays are taken where ours
    have one shape, and these are repeated to that, so that the result lies as ours.
    """
    session: Any = None
    shown: Any = None
    alike, apart, others, total, most = True, False, False, 0, 0
    args: list[Any] = []
    away: list[Any] = []
    for x in inputs:
        if type(x) in SCALARS:
            args.append(x)
            continue
        if isinstance(x, Fields):
            one: Fields = x
            near = near_of(one)
            if near is None:
                return None
            if session is None:
                session = one.session
            apart = apart or session is not one.session
            most = max(most, nd.nbytes(near))
            if is_away(one):
                away.append(x)
        elif type(x) is ndarray and x.dtype in STORABLE:
            if not x.ndim:
                args.append(x[()])
                continue
            near, others = x, True
        else:
            return None
        if shown is None:
            shown = near
        alike = alike and nd.same_shape(shown, near)
        total += nd.nbytes(near)
        args.append(near)
    if session is None or apart or total > nd.QUICK or most > nd.HALF:
        return None
    good = alike or (_are_repeated(inputs, args) if others else _largest(args) <= nd.QUICK)
    return (session, args, away, total) if good else None


def _is_theirs(run: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Tell whether an operation on what was taken, some of which engines have, is for them."""
    if config.place == "engines":
        return True
    for x in args:  # noqa: SIM110 - half the time of any()
        if type(x) is ndarray and _is_dear(run, x):
            return True
    return False


def _is_dear(run: Callable[..., Any], near: np.ndarray) -> bool:
    """Tell whether an operation takes as long as on more bytes than are done here."""
    nbytes = nd.nbytes(near)
    return nbytes > LIGHT and nbytes * weight(run, near.dtype) > nd.HALF


def _are_repeated(inputs: Sequence[Any], args: Sequence[Any]) -> bool:
    """Tell whether arrays of ours have one shape, which those of NumPy's are repeated to."""
    shapes = {a.shape for x, a in zip(inputs, args, strict=True) if isinstance(x, Fields)}
    if len(shapes) != 1:
        return False
    whole = shapes.pop()[::-1]
    return all(
        a.ndim <= len(whole)
        and all(n in (1, m) for n, m in zip(a.shape[::-1], whole, strict=False))
        for a in args
        if type(a) is ndarray
    )


def of_scalars(run: Callable[..., Any], inputs: Sequence[object], seen: bool = False) -> Any:
    """Do an elementwise operation on numbers alone; None if it is another one, or for engines."""
    if config.cutoff < _NUMBER:
        return None
    for x in inputs:
        if type(x) not in SCALARS or (type(x) is int and not -_USUAL < x < _USUAL):
            return None
    return done(run, inputs, seen)


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
    if isinstance(error, BaseException) and (late or interrupts(error)):
        raise error


def of_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], seen: bool = False) -> Any:
    """Do what a ufunc does of inputs alone, as :func:`quick`."""
    vectors = _USUAL_UFUNCS.get(ufunc)
    if vectors is None:  # somebody else's
        elementwise = ufunc.signature is None and ufunc.nout == 1
        return quick(ufunc, inputs, seen) if elementwise else None
    if vectors and config.math != "numpy":
        return None
    if ufunc.nout > 1:
        return quick(ufunc, inputs, seen)
    if len(inputs) == 1 and isinstance(inputs[0], Fields):
        return quick_one(ufunc, inputs[0], seen)
    found = None
    if len(inputs) == 2 and isinstance(inputs[0], Fields):
        found = quick_pair(ufunc, ufunc, inputs[0], inputs[1], False, seen)
    elif len(inputs) == 2 and isinstance(inputs[1], Fields):
        found = quick_pair(ufunc, ufunc, inputs[1], inputs[0], True, seen)
    return quick(ufunc, inputs, seen) if found is None else found


def of_call(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any], seen: bool = False
) -> Any:
    """Do what a call of a ufunc does, or of what stands for it, as :func:`quick`."""
    if len(inputs) != ufunc.nin:
        into = not options and len(inputs) == ufunc.nargs == ufunc.nin + 1
        return quick_out(ufunc, inputs[:-1], inputs[-1]) if into and ufunc not in _WARNS else None
    if options:
        into = "out" in options and _INTO.issuperset(options)
        where = options.get("where", True)
        return quick_out(ufunc, inputs, options["out"], where) if into else None
    found = of_scalars(ufunc, inputs, seen) if type(inputs[0]) in SCALARS else None
    return of_ufunc(ufunc, inputs, seen) if found is None else found


def quick_out(
    run: Callable[..., Any], inputs: Sequence[ArrayLike], out: ArrayLike, where: ArrayLike = True
) -> Any:
    """Do an elementwise operation into an array, as :func:`quick`; None if it is another one.

    Where a mask is false, the array keeps what it has.
    """
    if config.math != "numpy" and run.__name__ in FAST:
        return None
    taken = _taken((*inputs, out, where)) if isinstance(out, Array) else None
    if taken is None or not isinstance(out, Array):
        return None
    if taken[2] and _is_theirs(run, taken[1]):
        return None
    *args, near, mask = taken[1]
    given = {"out": near} if mask is True else {"out": near, "where": mask}
    try:
        in_context().run(run, *args, **given)  # of some, NumPy does not want it by its position
    except BaseException as error:
        refused(error)
        return None
    if not stayed(out, near):
        out[...] = near
    if FLAGS:
        tell(run.__name__)
    return out


def quick_into(run: Callable[..., Any], out: Array, other: ArrayLike) -> bool:
    """Do ``run(out, other, out)`` on small operands in reach; tell whether it was done."""
    near = near_of(out)
    given: Any = other
    if near is None or nd.nbytes(near) > nd.HALF:
        return False
    if isinstance(given, Fields):
        second: Fields = given
        given = near_of(second) if second.session is out.session else None
        if given is None or nd.nbytes(given) > nd.QUICK:
            return False
    elif type(other) not in SCALARS:
        return False
    if is_away(out) and (config.place == "engines" or _is_dear(run, near)):
        return False
    try:
        if nd.COMPILED and _is_users():
            run(near, given, near)
        else:
            in_context().run(run, near, given, near)
    except BaseException as error:
        refused(error)
        return False
    if not stayed(out, near):
        out[...] = near
    if FLAGS:
        tell(run.__name__)
    return True


def done(run: Callable[..., Any], args: Sequence[Any], seen: bool = False) -> Any:
    """Return what NumPy makes of small operands, in C order or a scalar; None if it refuses.

    ``seen`` is as in :func:`quick`, of operands that need no memory of the pool.
    """
    found = _done(run, args, seen)
    return found.copy() if type(found) is ndarray and not nd.in_c(found) else found


def _done(run: Callable[..., Any], args: Sequence[Any], seen: bool) -> Any:
    """Return what NumPy makes of small operands, in whatever order; None if it refuses."""
    direct = seen and nd.COMPILED and _is_users()
    try:
        found = run(*args) if direct else in_context().run(run, *args)
    except BaseException as error:
        return refused(error)
    if FLAGS:
        tell(run.__name__)
    return found


def picked(x: Array, key: Array, long: Callable[..., Any]) -> Any:
    """Return ``x[key]`` with an array for an index, if both are small and in reach, else None.

    ``long`` does it otherwise, and tells where the result lies of what engines have.
    """
    near, index, session = near_of(x), near_of(key), x.session
    if near is None or index is None or session is not key.session:
        return None
    away = is_away(x) or is_away(key)
    if away and config.place == "engines":
        return None
    if not index.ndim and index.dtype.kind in "iu":
        one: Any = indexed(x, int(index))
        return one if key.single or not isinstance(one, Array) else one.copy()
    if not (index.ndim and near.size and near.ndim):
        return None
    if index.size * (nd.nbytes(near) // len(near)) > nd.QUICK:
        return None
    try:
        found = near[index]
    except IndexError:
        return None  # the long way says what is wrong
    if not away:
        return laid(session, found, ())
    found = found if nd.in_c(found) else found.copy()
    return fresh(session, found, promise(session, long, (part(x), part(key)), {}, found.shape, 0))


def chosen(x: Array, key: Subscript) -> Any:
    """Return ``x[key]`` with arrays or lists in an index, of what is at home; None if it is not."""
    near = near_of(x)
    if near is None or is_away(x):
        return None
    index = _index(x, near, key)
    if index is None:
        return None
    try:
        return laid(x.session, near[index], ())
    except IndexError:
        return None  # the long way says what is wrong


def like(x: Array, run: Callable[..., Any], *args: object) -> Any:
    """Return ``run(x, *args)`` of a small array in reach, which lies as ``x``; None if not."""
    near = near_of(x)
    if near is None or nd.nbytes(near) > nd.QUICK:
        return None
    away = [x] if is_away(x) else []
    if away and config.place == "engines":
        return None
    found = _done(run, (near, *args), False)
    return None if found is None else laid(x.session, found, away)


def store(x: Array, key: Subscript, value: ArrayLike) -> bool:
    """Do ``x[key] = value`` in reach, if it is small and simple; tell whether it was done."""
    near, given = near_of(x), _given(x, value)
    if near is None or given is None or (x.single and not near.ndim):
        return False  # a single one is as good as a scalar, and so never written
    index: Any = key
    if not (type(key) is int or is_plain(key)):
        index = _index(x, near, key)
        if index is None:
            return False
    try:
        if nd.nbytes(near) > nd.QUICK and type(key) is not int and near[index].nbytes > nd.QUICK:
            return False
        if nd.COMPILED and _is_users():
            near[index] = given
        else:
            in_context().run(near.__setitem__, index, given)
    except BaseException as error:
        refused(error)
        return False
    if not stayed(x, near):
        x[key] = near[index]
    if FLAGS:
        tell("cast")
    return True


def _given(x: Array, value: object) -> Any:
    """Return what NumPy gets for a value to store, None if it is not so small."""
    if isinstance(value, Fields):
        other: Fields = value
        given = near_of(other) if other.session is x.session else None
        if given is None or nd.nbytes(given) > nd.QUICK:
            return None
        # Of a number NumPy makes no integer if it is NaN
        return given[()] if other.single and not given.ndim else given
    if type(value) is list or type(value) is tuple:
        return value if _are_all(value, SCALARS) else None
    return value if type(value) in SCALARS else None


def _are_all(items: Any, kinds: Set[type]) -> bool:
    """Tell whether items are of some types."""
    for item in items:  # noqa: SIM110 - half the time of all()
        if type(item) not in kinds:
            return False
    return True


def _index(x: Array, near: np.ndarray, key: Any) -> Any:
    """Return what NumPy gets for an index with arrays, or lists; None if it is not so small."""
    if nd.nbytes(near) > nd.HALF or (config.place == "engines" and is_away(x)):
        return None
    if type(key) is not tuple:
        return _positions(x, key)
    items: list[Any] = []
    plain = True
    for k in key:
        item = k
        if type(k) is tuple or not (type(k) is int or is_plain(k)):
            item = _positions(x, k)
            if item is None or type(item) is int:  # an array without axes
                return None
            plain = False
        items.append(item)
    return None if plain else tuple(items)


def _positions(x: Array, key: Any) -> Any:
    """Return what NumPy gets for an array of positions or truth, None if it is not so small."""
    if type(key) is list:
        return key if _are_all(key, _POSITIONS) else None
    index = key
    if isinstance(key, Fields):
        one: Fields = key
        index = near_of(one) if one.session is x.session else None
        if index is None or (config.place == "engines" and is_away(one)):
            return None
        if not index.ndim:
            return int(index) if index.dtype.kind in "iu" else None
    if type(index) is not ndarray or not index.ndim or index.dtype.kind not in "iub":
        return None
    return index if nd.nbytes(index) <= nd.HALF else None


def _largest(args: Sequence[Any]) -> int:
    """Return bytes that a result of operands of several shapes cannot exceed."""
    shapes = [a.shape[::-1] for a in args if type(a) is ndarray]
    return _NUMBER * prod(map(max, zip_longest(*shapes, fillvalue=1)))


def made_of(
    session: Session, near: np.ndarray, layout: Layout, memory: np.ndarray | None = None
) -> Any:
    """Return the array in reach of an ndarray in C order, in a layout."""
    if memory is None:
        return fresh(session, near, None if layout.here else layout)
    return Array.made(Base.reached(session, near, layout, memory), View.whole(near.shape))
