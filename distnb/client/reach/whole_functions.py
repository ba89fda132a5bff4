"""NumPy's functions on small arrays: called as they are, where nobody can tell who computed.

:mod:`distnb.client.reach.decorators` lets ours try them first.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from math import prod
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

import distnb.common.ndarrays as nd
from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array, storable
from distnb.client.handle.fields import Fields, fits, fresh, is_away, near_of, stayed
from distnb.client.handle.host_arrays import FLAGS, in_context, left, tell
from distnb.client.reach.admission import admitted, is_mine
from distnb.client.reach.rehearsal import part, promise
from distnb.client.reach.small_steps import refused
from distnb.client.reach.small_views import laid, turned
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.layout import Ints, default_layout
from distnb.ops.scalars import SCALARS, STORABLE
from distnb.ops.weights import LIGHT, MOST

__all__ = ["Kind", "Makes", "into_given", "made", "put_in_reach", "step", "written_in_reach"]

#: What matters of a function: "exact", its result is the same wherever it is computed; "dear",
#: likewise, and each element of the first operand takes long; "elementwise", it lies as that of a
#: ufunc; "sums", that of floats depends on the order; "products", these are BLAS's, whose last
#: digits depend on who computes in any case; "home", engines have a way of their own, so it is
#: NumPy's where all arrays are at home; "wide", likewise, and its result may have the longest axes
#: of its operands as its shape; "factors", likewise, and engines, too, take LAPACK's for at most
#: ``config.cutoff`` bytes; "grows", its result may be much larger than the operands; "picks", it
#: takes some of the elements of the first one, by the others as its index; "takes", likewise, at
#: positions along an axis, or of all; "seeks", it looks up the second one in the first.
Kind: TypeAlias = Literal[
    "exact",
    "dear",
    "elementwise",
    "sums",
    "products",
    "home",
    "wide",
    "factors",
    "grows",
    "picks",
    "takes",
    "seeks",
]
_Run: TypeAlias = Callable[..., Any]
#: Returns how many elements an array has at most that a function makes of such arguments.
Makes: TypeAlias = Callable[..., Any]

#: Types of arguments that are handed on; with what is none of these the long way deals.
_PLAIN = SCALARS | {type(None), str, slice, range, type, type(np.dtype("d")), type(Ellipsis)}
_PLAIN |= {np.ufunc}
#: Options that NumPy does not have, or that it must not write into.
_OURS = frozenset(("out", "dist", "grid", "session", "device"))
#: Options of what makes arrays that are the same to NumPy and here.
_SAME = frozenset(
    ("dtype", "num", "endpoint", "base", "retstep", "N", "M", "k", "start", "stop", "d")
)


def made(
    numpys: Callable[..., Any], most: Makes, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return the array that NumPy's function makes; None if it is not to make it, or raises."""
    if options and not _SAME.issuperset(options):
        return None
    for x in args:
        if type(x) not in _PLAIN and not _is_shape(x):
            return None
    for x in options.values():
        if type(x) not in _PLAIN:
            return None
    try:
        if not fits(int(16 * most(*args, **options))):
            return None
        found = in_context().run(numpys, *args, **options)
    except BaseException as error:
        return left(error)
    usual = type(found) is ndarray and found.dtype in STORABLE
    if not usual and not _is_result(found):
        return _not_taken()
    if FLAGS:
        tell(numpys.__name__)
    session = need(None)
    if type(found) is tuple:
        return (fresh(session, found[0], None), *found[1:])
    return fresh(session, found, None)


def _is_shape(x: object) -> bool:
    """Tell whether something is a tuple, or a list, of Python's integers."""
    if not isinstance(x, tuple | list):
        return False
    for n in x:  # noqa: SIM110 - half the time of all()
        if type(n) is not int:
            return False
    return True


def step(
    numpys: _Run, function: _Run, kind: Kind, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return what NumPy's function returns; None if it is not to do it, or raises."""
    arrays: list[Any] = []
    if options and not _OURS.isdisjoint(options):
        return _with_ours(numpys, function, kind, args, options)
    try:
        nears = [x if type(x) in _PLAIN else _near(x, arrays, kind) for x in args]
        named = options and _named(options, arrays, kind)
    except _RefusedError:
        return None
    home = _home(kind, arrays, args, options) if arrays else _alone(kind, args, options)
    if home is None:
        return None
    try:
        found = in_context().run(numpys, *nears, **named)
    except BaseException as error:
        return left(error)
    if arrays and nears and type(nears[0]) is ndarray and nd.nbytes(nears[0]) > nd.HALF:
        arrays[0].session.large.touch()
    if nears and found is nears[0] and found is not args[0]:  # as a difference of order 0
        return args[0]
    plain = type(found) is ndarray and found.base is None and found.dtype in STORABLE
    good = plain or type(found) in SCALARS  # these are most of what comes
    if not good and (not _is_result(found) or _shows(found, [*nears, *named.values()])):
        return _not_taken()
    if FLAGS:
        tell(numpys.__name__)
    if good and not plain:
        return found
    session = arrays[0].session if arrays else need(None)
    promised: Any = None if home else functools.partial(_promised, function, args, options)
    if plain and nd.in_c(found) and (not home or nd.nbytes(found) <= config.cutoff):
        return fresh(session, found, promised and promised(0, session, found))
    if plain and (home or kind == "elementwise"):
        return laid(session, found, () if home else [x for x in arrays if is_away(x)])
    return _results(session, found, promised)


def _with_ours(
    numpys: _Run, function: _Run, kind: Kind, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Do a step with an output, or with options for engines that are None."""
    given = [k for k in options if k in _OURS and options[k] is not None]
    rest = {k: v for k, v in options.items() if k not in _OURS}
    if not given:
        return step(numpys, function, kind, args, rest)
    return into_given(options["out"], numpys, kind, args, rest) if given == ["out"] else None


def into_given(
    out: Any, numpys: _Run, kind: Kind, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return an output in reach that NumPy's function writes into; None if it is not to do it."""
    arrays: list[Any] = []
    if not isinstance(out, Fields) or out.single or not out.writeable:
        return None
    try:
        nears = [_near(x, arrays, kind) for x in args]
        named = options and _named(options, arrays, kind)
        near = _near(out, arrays, kind)
    except _RefusedError:
        return None
    if kind == "wide":
        kind = "home"  # the result is as large as the output
    if _home(kind, arrays, args, options) is None:
        return None
    try:
        found = in_context().run(numpys, *nears, out=near, **named)
    except BaseException as error:
        return refused(error)
    if type(found) is ndarray and found is not near:  # ``fft.ifft2`` forgets what it was given
        return _not_taken()
    if not stayed(out, near):
        out[...] = near  # type: ignore[index]
    if FLAGS:
        tell(numpys.__name__)
    return out


def _not_taken() -> None:
    """Forget what NumPy warned of: the long way does the same again, and warns itself."""
    FLAGS.clear()


def _named(options: dict[str, Any], arrays: list[Any], kind: Kind) -> dict[str, Any]:
    """Return options as NumPy gets them; add the arrays in them to a list."""
    for x in options.values():
        if type(x) not in _PLAIN:
            return {k: _near(x, arrays, kind) for k, x in options.items()}
    return options


def _home(
    kind: Kind, arrays: Sequence[Any], args: tuple[Any, ...], options: dict[str, Any]
) -> bool | None:
    """Tell whether arrays that the notebook is to do a step on live there; None: it is not to."""
    session, home, nbytes = arrays[0].session, True, 0
    for x in arrays:
        if x.session is not session:
            return None
        if is_away(x):
            home = False
        near = x._near
        if near is None:  # another thread has given it to engines
            return None
        nbytes += nd.nbytes(near)
    if not _allowed(kind, arrays, home, nbytes, args, options):
        return None
    return home


def _alone(kind: Kind, args: tuple[Any, ...], options: dict[str, Any]) -> bool | None:
    """Tell whether the notebook is to do a step on numbers alone; None: it is not to."""
    if config.place == "engines":
        return None
    for x in (*args, *options.values()):
        if type(x) not in _PLAIN and not _is_shape(x):
            return None
    return _allowed(kind, (), True, 0, args, options) or None


def put_in_reach(x: Array, key: Subscript, value: ArrayLike) -> bool:
    """Do ``x[key] = value`` with an index of arrays, in reach; tell whether it was done."""
    return written_in_reach("cast", operator.setitem, "picks", x, key, value)


def written_in_reach(
    name: str, run: Callable[..., Any], kind: Kind, x: Array, *args: Subscript | ArrayLike
) -> bool:
    """Let NumPy write into an array in reach, ``run(x, *args)``; tell whether it was done.

    Of a kind that "picks", the first argument is the index. ``name`` is for warnings.
    """
    arrays: list[Any] = []
    try:
        nears = [_near(y, arrays, kind) for y in (x, *args)]
    except _RefusedError:
        return False
    if not x.writeable or _home(kind, arrays, (x, args[0]), {}) is None:
        return False
    try:
        in_context().run(run, *nears)
    except BaseException as error:
        left(error)
        return False
    if not stayed(x, nears[0]):
        if kind != "picks":
            FLAGS.clear()
            return False  # it is done once more, elsewhere
        x[args[0]] = nears[0][nears[1]]
    if FLAGS:
        tell(name)
    return True


class _RefusedError(Exception):
    """An argument is for the long way."""


def _near(x: Any, arrays: list[Any], what: Kind) -> Any:
    """Return an argument as NumPy gets it; add the arrays in it to a list."""
    kind = type(x)
    if isinstance(x, Fields):
        array: Any = x
        near = near_of(array)
        if near is None:
            often = 1 if arrays else _OFTEN.get(what, 1)
            if not admitted(array.session, (array,), often * array.nbytes):
                raise _RefusedError
            near = array.near
        if near is None:
            raise _RefusedError
        arrays.append(x)
        return near
    if kind in _PLAIN:
        return x
    if kind is list or kind is tuple:
        return kind([_near(item, arrays, what) for item in x])
    if type(x) is ndarray:
        return x
    raise _RefusedError


def _allowed(
    kind: Kind,
    arrays: Sequence[Any],
    home: bool,
    nbytes: int,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> bool:
    """Tell whether the notebook is to do a step on arrays in reach."""
    if not home and (config.place == "engines" or kind in ("home", "wide")):
        return False
    if kind == "factors" and not home and nbytes > config.cutoff:
        return False
    if kind == "dear" and not home and nbytes > LIGHT and isinstance(args[0], Array):
        nbytes += (MOST - 1) * args[0].nbytes
    # Twice as much, for the result takes it, too
    if nbytes > nd.HALF and not is_mine(arrays[0].session, 2 * nbytes):
        few = _FEW.get(kind)
        return few is not None and few(*args, **options) <= nd.QUICK
    if kind in ("exact", "dear", "elementwise", "picks", "products", "seeks", "takes"):
        return True
    if kind == "sums":
        return home or not any(map(_is_of_floats, (*arrays, *args[1:], *options.values())))
    if kind == "grows":
        return 8 * _factor(args) <= nd.QUICK
    given = len(args) + len(options)
    if kind in ("wide", "factors") and 16 * _most(arrays) > nd.QUICK < 16 * _widest(arrays, given):
        return False
    return 16 * _asked((*args, *options.values()) if options else args) <= nd.QUICK


def _is_of_floats(x: object) -> bool:
    """Tell whether an argument makes floats of integers: such a number, array or dtype."""
    if isinstance(x, list | tuple):
        return any(map(_is_of_floats, x))
    if isinstance(x, Array | ndarray | np.generic):
        return x.dtype.kind in "fc"
    if not isinstance(x, type | str | np.dtype):
        return isinstance(x, float | complex)
    try:
        return np.dtype(x).kind in "fc"
    except (TypeError, ValueError, SyntaxError):  # another word
        return False


def _most(arrays: Sequence[Any]) -> int:
    """Return what no :func:`_widest` exceeds."""
    found = 1
    for x in arrays:
        found *= x._near.size
    return found if len(arrays) > 1 else found * found


def _widest(arrays: Sequence[Any], given: int) -> int:
    """Return how many elements a matrix cannot exceed that has axes of its operands.

    ``given`` are all arguments: two vectors alone have a number for their product.
    """
    found = 1
    if given == len(arrays) and all(x.ndim < 2 for x in arrays):
        return 4
    for x in arrays:
        found *= max(x.shape, default=1)
    return found if len(arrays) > 1 else found * found


def _asked(given: Iterable[object]) -> int:
    """Return the largest length, or the product of several, that arguments may ask for."""
    found = 1
    for x in given:
        if type(x) is int:
            found *= abs(x) or 1
        elif type(x) in (tuple, list):
            found *= _asked(x)  # type: ignore[arg-type]
    return found


def _picked(x: Any, *keys: Any) -> int:
    """Return bytes that what an index takes of an array cannot exceed, and those of the index."""
    parts = keys[0] if type(keys[0]) is tuple else keys
    items = [k if type(k) in _STEPS else _elements(k) for k in parts]
    rest = [slice(None)] * (x.ndim - sum(map(_axes, items)))
    at = next((i for i, k in enumerate(items) if k is Ellipsis), len(items))
    items[at : at + 1] = rest
    nbytes, size, d, wide = 0, x.itemsize, 0, [1]
    for k in items:
        if type(k) is slice:
            size *= len(range(*k.indices(x.shape[d]))) if d < x.ndim else 1
        elif type(k) not in _STEPS:
            nbytes += k.nbytes
            shape = (k.size,) if k.dtype.kind == "b" else k.shape
            wide = [max(pair) for pair in zip_longest(wide, shape[::-1], fillvalue=1)]
        d += _axes(k)
    return nbytes + size * prod(wide)


def _taken(a: Any, indices: Any, axis: Any = None, *_: object, **__: object) -> int:
    """Return bytes of positions, and of what is taken there of an array along an axis.

    Arguments are those of ``np.take``, by their names, too.
    """
    at = _elements(indices)
    plain = type(axis) is int and -a.ndim <= axis < a.ndim
    each = a.nbytes // max(a.shape[axis], 1) if plain else a.itemsize
    return int(at.nbytes + at.size * each)


def _sought(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> int:
    """Return bytes that are touched to look elements up in a sorted array; all if it is cast.

    Arguments are those of ``np.searchsorted``, by their names, too.
    """
    line, what = _elements(a), _elements(v)
    if sorter is not None or np.result_type(line.dtype, what.dtype) != line.dtype:
        return int(line.nbytes + what.nbytes)
    return int(what.nbytes) * int(line.size).bit_length()


#: Kinds of functions that touch few elements of the array which they are given first -> how many.
_FEW: dict[Kind, Callable[..., int]] = {"picks": _picked, "takes": _taken, "seeks": _sought}
#: Kinds of functions -> how often the bytes of that array count, before its elements are in reach.
_OFTEN: dict[Kind, int] = {**dict.fromkeys(_FEW, 0), "dear": MOST}
#: Items of an index that are no arrays.
_STEPS = frozenset((int, slice, type(None), type(Ellipsis)))


def _elements(k: ArrayLike) -> Any:
    return k if isinstance(k, Array | np.ndarray) else np.asarray(k)


def _axes(k: Any) -> int:
    """Return how many axes of an array an item of an index stands for, without those of '...'."""
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if type(k) not in _STEPS and k.dtype.kind == "b" else 1


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


def _is_result(found: object) -> bool:
    """Tell whether something is what functions return: arrays that can be held, and scalars."""
    kind, one = type(found), cast("np.ndarray", found)
    if kind in SCALARS or (kind is ndarray and one.dtype in STORABLE):
        return True  # all that most functions return
    if isinstance(found, np.ndarray | np.generic):
        return storable(found.dtype) and found.dtype.isnative
    if not isinstance(found, tuple | list):
        return False
    for f in found:  # noqa: SIM110 - half the time of all()
        if not _is_result(f):
            return False
    return True


def _shows(found: object, nears: Sequence[Any]) -> bool:
    """Tell whether a result is NumPy's view of an operand: then the long way makes ours."""
    if isinstance(found, tuple | list):
        for f in found:  # noqa: SIM110 - half the time of any()
            if _shows(f, nears):
                return True
        return False
    owner = found.base if type(found) is ndarray else None
    if owner is None:  # NumPy's views have that of the memory for their base
        return False
    apart = type(owner) is ndarray and owner.base is None
    for x in nears:
        if type(x) is ndarray:
            near = not apart or x is owner or x.base is owner
            if near and np.may_share_memory(cast("np.ndarray", found), x):
                return True
        elif (type(x) is tuple or type(x) is list) and _shows(found, x):
            return True
    return False


def _results(session: Session, found: Any, promised: Callable[..., Any] | None) -> Any:
    """Return what NumPy returned, with arrays in place of ndarrays."""
    if type(found) is not ndarray and isinstance(found, tuple | list):
        made = [_result(session, f, promised, i) for i, f in enumerate(found)]
        return type(found)(*made) if hasattr(found, "_fields") else type(found)(made)
    return _result(session, found, promised, 0)


def _result(session: Session, found: Any, promised: Callable[..., Any] | None, index: int) -> Any:
    """Return what NumPy returned, with an array in place of an ndarray."""
    if not isinstance(found, np.ndarray):
        return found
    if found.ndim > 1 and not nd.in_c(found):
        if promised is None:
            return laid(session, np.array(found, order="K"), ())
        axes = tuple(sorted(range(found.ndim), key=found.strides.__getitem__, reverse=True))
        whole = found.transpose(axes).copy()
        shown = turned(
            fresh(session, whole, promised(index, session, found, axes)),
            tuple(sorted(range(found.ndim), key=axes.__getitem__)),
        )
        shown._owner = None  # it is no view of the user's
        return shown
    near = found
    if not (near.base is None and nd.in_c(near)):
        near = near.copy()
    if promised is not None:
        return fresh(session, near, promised(index, session, near))
    if fits(near.nbytes):
        return fresh(session, near, None)
    return fresh(session, near, default_layout(near.shape, session.size))


def _promised(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    index: int,
    session: Session,
    near: np.ndarray,
    axes: Ints = (),
) -> Any:
    """Return what promises the layout of a result, or of what lies in C order of that."""
    return promise(session, function, _played(args), _played(options), near.shape, index, axes)


def _played(x: Any) -> Any:
    """Return arguments with the part of each array in its place."""
    kind = type(x)
    if isinstance(x, Fields):
        one: Any = x
        return part(one)
    if kind is list or kind is tuple:
        return kind([_played(item) for item in x])
    return {k: _played(v) for k, v in x.items()} if kind is dict else x
