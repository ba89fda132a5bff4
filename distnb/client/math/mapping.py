"""Functions of the user's that run on the engines, element by element."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle import host_arrays
from distnb.client.handle.array import Array, numeric
from distnb.client.handle.fields import fits, is_away
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.handle.operands import understood
from distnb.client.math.pickling import pickled
from distnb.client.math.ufuncs import copyto
from distnb.client.reach.admission import near_if_brief
from distnb.client.reach.kept_order import axes_of, in_their_order
from distnb.client.reach.small_views import laid
from distnb.client.record.creation import asarray, empty_like, refuse_masked
from distnb.client.record.eager import arrays_of, session_of
from distnb.client.record.operations import on_engines
from distnb.client.record.ufunc_options import broadcast_shape
from distnb.common import calling
from distnb.common.errors import explain
from distnb.common.interrupts import interrupts
from distnb.geometry.layout import Ints
from distnb.ops import table
from distnb.ops.scalars import NUMBERS
from distnb.wire.protocol import Function

__all__ = [
    "OTHERS_METHODS",
    "constant",
    "foreign",
    "foreign_method",
    "given_dtypes",
    "map_operands",
    "mapped",
]

_Dtypes = tuple[np.dtype, ...]


def map_(
    function: Callable[..., Any],
    /,
    *arrays: ArrayLike,
    dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
    **constants: Any,
) -> Any:
    """Apply a function of NumPy arrays, element by element, on the engines.

    Each engine calls the function with its own parts of the arrays, which are broadcast and brought
    together as for any elementwise operation: the result follows the largest operand, and what is
    sent are elements that lie elsewhere, and the function when it is new.

    Parameters
    ----------
    function : callable
        Gets arrays of one shape, with at least one axis, which it must not write to; returns an
        array of this shape, or a tuple of them. It may see any part of the arrays in any shape, so
        an element must not depend on its place or its neighbours.
    *arrays : array_like
        Scalars among them are passed as they are.
    dtype : dtype, or tuple of them, optional
        Of the results. By default the function is called with empty arrays in the notebook to find
        out.
    **constants
        Arguments that are the same for all elements; arrays among them are NumPy's, and each engine
        gets all of it.

    Returns
    -------
    DistArray
        Or a tuple, if the function returns one.

    Raises
    ------
    TypeError
        If the dtype cannot be found out, or the function cannot be pickled.
    ValueError
        If the function returns another shape.

    Notes
    -----
    The function is pickled at each call, with the globals of the notebook that it uses, as they are
    then. It is sent only if it is not on the engines yet; they keep those used last, up to 16 MiB.
    Modules are imported on the engines. Where all arrays are in the notebook, it is called there.

    Examples
    --------
    >>> import distnb as dnb
    >>> import numpy as np
    >>> with dnb.inprocess(3):
    ...     x = dnb.arange(6.0, dist="block")
    ...     dnb.map(lambda x, y, k: np.maximum(x - y, 0) ** k, x, x[::-1], k=2).to_numpy()
    array([ 0.,  0.,  0.,  1.,  9., 25.])
    """
    if not arrays:
        raise TypeError(explain("map()", "no arrays", "at least one", "pass what to map"))
    fixed = {name: constant(x) for name, x in constants.items()}
    called = partial(function, **fixed) if fixed else function
    ins = map_operands(arrays)
    dtypes = _asked(called, ins) if dtype is None else given_dtypes(dtype)
    return mapped(called, calling.name_of(function), ins, dtypes)


def map_operands(arrays: Sequence[Any]) -> list[Any]:
    """Return the operands as arrays and scalars; one of them is a DistArray."""
    for x in arrays:
        refuse_masked(x)
        if not understood(x) and not hasattr(type(x), "__array__"):
            raise TypeError(explain("map()", type(x).__name__, "array-like", "convert it"))
    found = [x if isinstance(x, Array) or type(x) in NUMBERS else np.asarray(x) for x in arrays]
    if not any(isinstance(x, Array) for x in found):
        found[0] = asarray(found[0])
    return found


def constant(x: Any) -> Any:
    """Return an argument that is the same for all elements: an array is read, within the budget."""
    return x.__array__()[()] if isinstance(x, Array) else x


def given_dtypes(dtype: DTypeLike | tuple[DTypeLike, ...]) -> _Dtypes:
    """Return the dtypes of results that the user gives."""
    return tuple(numeric(d) for d in (dtype if isinstance(dtype, tuple) else (dtype,)))


def _asked(function: Callable[..., Any], ins: Sequence[Any]) -> _Dtypes:
    """Return the dtypes of the results, which the function says for empty arrays."""
    empties = [x if type(x) in NUMBERS else np.empty(0, numeric(x.dtype)) for x in ins]
    for x in empties:
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(numeric(f.dtype) for f in calling.checked(function(*empties), (0,)))
    except Exception as error:
        if interrupts(error) or isinstance(getattr(function, "func", function), np.ufunc):
            raise  # it says of these dtypes what it says of arrays of NumPy's
        raise TypeError(
            explain(
                "dtype of map()",
                f"{type(error).__name__} for empty arrays: {error}",
                "a result that tells",
                "give dtype=, or let the function take empty arrays; pass all arrays as arguments",
            )
        ) from error


def mapped(
    function: Callable[..., Any] | calling.Elements,
    name: str,
    ins: Sequence[Any],
    dtypes: _Dtypes,
    seconds: float = inf,
) -> Any:
    """Call a function where the arrays are; return its results.

    ``seconds`` is what one element takes in the notebook, where few are computed then.
    """
    session = next(x for x in ins if isinstance(x, Array)).session
    shape = broadcast_shape(ins, ())
    small = all(fits(prod(shape) * d.itemsize) for d in dtypes)
    none = (None,) * len(dtypes)
    run = partial(_in_notebook, function, name, shape, dtypes)
    arrays = [x for x in ins if isinstance(x, Array)]
    nbytes = prod(shape) * sum([d.itemsize for d in dtypes])
    if small and all_here(ins, session):
        given: list[Any] = [x.here if isinstance(x, Array) else x for x in ins]
        found = run(given)
        results = host_arrays.delivered(session, found, none)
    elif nears := near_if_brief(arrays, nbytes, prod(shape) * seconds):
        given = [nears.pop(0) if isinstance(x, Array) else x for x in ins]
        found = run(given)
        away = [x for x in arrays if is_away(x)]
        results = host_arrays.delivered(session, found, none, lambda s, f: laid(s, f, away))
    else:
        session.check_open()
        number = session.functions.number(pickled(function, isinstance(function, calling.Elements)))
        row, inputs = table.ELEMENTWISE["map"], (Function(number, name), *ins)
        results = on_engines(session, row, inputs, none, True, {}, dtypes)
        session.functions.trim()
    return results[0] if len(results) == 1 else results


def _in_notebook(
    function: Callable[..., Any] | calling.Elements,
    name: str,
    shape: Ints,
    dtypes: _Dtypes,
    ins: Sequence[ArrayLike],
) -> tuple[np.ndarray, ...]:
    """Return what a function makes of operands in the notebook."""
    found = tuple([np.empty(shape, d) for d in dtypes])
    args = [_spread(x, shape) for x in ins]
    host_arrays.watched(f"map ({name})", calling.run, function, *args, out=found)
    return found


def _spread(found: ArrayLike, shape: Ints) -> Any:
    """Return an operand in the notebook as the function gets it."""
    if not isinstance(found, np.ndarray) or (shape and found.shape == shape):
        return found
    return np.broadcast_to(found, shape) if found.ndim or not shape else found[()]


# -- ufuncs ------------------------------------------------------------------------------------


def foreign(
    ufunc: np.ufunc,
    *inputs: Any,
    out: tuple[Any, ...] | None = None,
    where: ArrayLike = True,
    casting: str = "same_kind",
    **options: Any,
) -> Any:
    """Apply a ufunc that is not NumPy's, such as those of ``scipy.special``."""
    outs = (None,) * ufunc.nout if out is None else out
    if ufunc.types and all(set(kinds) <= set("O->") for kinds in ufunc.types):
        expected = "a ufunc of numbers: numpy.frompyfunc's keeps its function to itself"
        do = "use distnb.vectorize(function, otypes=[float])"
    elif not all(x is None or isinstance(x, Array | np.ndarray) for x in outs):
        expected, do = "arrays as out=", "assign the result"
    else:
        return _placed(_applied(ufunc, inputs, casting, options), outs, where, casting)
    raise TypeError(explain("operation on distributed arrays", ufunc.__name__, expected, do))


#: Methods of ufuncs for which engines know NumPy's ufuncs only, by name.
OTHERS_METHODS = ("accumulate", "reduce", "reduceat")


def foreign_method(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Do what a method of a ufunc that is not NumPy's does, in the notebook if arrays are there."""
    session, given = session_of(*inputs), [x for x in inputs if isinstance(x, Array)]
    if not all_here(given, session) or any(isinstance(x, Array) for x in options.values()):
        name, do = f"{ufunc.__name__}.{method}", f"lambda row: f.{method}(row)"
        raise TypeError(
            explain(
                "operation on distributed arrays",
                f"{name} of a ufunc that is not NumPy's",
                f"one of NumPy's, such as np.add.{method}",
                f"use distnb.apply_along_axis({do}, axis, x), or .to_numpy() for small arrays",
            )
        )
    here = [np.asarray(x.here) if isinstance(x, Array) else x for x in inputs]
    return arrays_of(session, watched(method, getattr(ufunc, method), *here, **options))


def _applied(ufunc: np.ufunc, inputs: Any, casting: str, options: dict[str, Any]) -> Any:
    """Return the results of a ufunc as a tuple."""
    given = options | ({} if casting == "same_kind" else {"casting": casting})
    run = partial(map_, partial(ufunc, **given) if given else ufunc)
    found = in_their_order(run, inputs, axes_of(inputs))
    return found if isinstance(found, tuple) else (found,)


def _placed(found: Any, outs: tuple[Any, ...], where: ArrayLike, casting: str) -> Any:
    """Return results where they are wanted: in outputs that are given, under a mask."""
    results = []
    for one, given in zip(found, outs, strict=True):
        target = empty_like(one) if given is None and where is not True else given
        if target is not None:
            copyto(target, one, casting, where)
        results.append(one if target is None else target)
    return results[0] if len(results) == 1 else tuple(results)
