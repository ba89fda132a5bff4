"""Functions of the user's that run on the engines, block by block, each with its halo."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle import host_arrays
from distnb.client.handle.array import Array, create, is_whole, numeric, read_only
from distnb.client.handle.conversion import check_session, copied, in_layout, record_collective
from distnb.client.handle.fields import fits
from distnb.client.handle.host_arrays import all_here
from distnb.client.math.mapping import constant, given_dtypes
from distnb.client.math.pickling import pickled
from distnb.client.math.ufuncs import copyto
from distnb.client.record.creation import asarray
from distnb.client.record.eager import session_of
from distnb.client.session.session import Session
from distnb.common import calling
from distnb.common.errors import explain, quoted
from distnb.common.interrupts import interrupts
from distnb.geometry.axes import Block
from distnb.geometry.layout import Ints, Layout, default_layout, on_engine
from distnb.geometry.views import follow
from distnb.plans.halos import BOUNDARIES

__all__ = ["map_blocks", "record_call"]


def map_blocks(
    function: Callable[..., Any],
    /,
    *arrays: ArrayLike,
    halo: int | Sequence[int] = 0,
    boundary: str | float = "nearest",
    dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
    out: Any = None,
    **constants: object,
) -> Any:
    """Apply a function of blocks of arrays, each with its halo, on the engines.

    A block is a box of the array, its halo the elements around it: those of other engines, and at
    the ends of the array what ``boundary`` says. The result is what the function makes of the whole
    array with its halo, if it computes each element from its neighbours within the halo, whatever
    the number of engines and the layout.

    Parameters
    ----------
    function : callable
        Gets NumPy arrays of one shape, which it must not write to; returns an array of this shape,
        or one without the halo, or a tuple of such. It is called for any boxes that cover the
        array, so an element must depend on its neighbours alone, and not on its place.
    *arrays : array_like
        Of one shape.
    halo : int or sequence of int
        How many elements there are around a block, for each axis or for all. It may be wider than
        the part of an engine.
    boundary : {'nearest', 'periodic', 'reflect'} or a number
        What is beyond the array: the last element again; the elements from its other end; those
        from its end on backwards, the last one first (as in ``scipy.ndimage``); this value.
    dtype : dtype, or tuple of them, optional
        Of the results. By default the function is called in the notebook for a block of one element
        and its halo to find out.
    out : DistArray, or tuple of them, optional
        Where results are put. It may be one of ``arrays``, which then changes in place: the
        function still gets all of its elements as they were. If the function has a parameter of
        this name, too, it is called with ``out=``, the elements of ``out`` where the block is,
        without its halo, or a tuple of them, and writes there; nothing is copied then.
    **constants
        Arguments that are the same for all blocks; arrays among them are NumPy's, and each engine
        gets all of it.

    Returns
    -------
    DistArray
        Of the shape of the arrays, in blocks where the first of them lies in blocks, along the
        axes that are split there; or a tuple, if the function returns one; or ``out``.

    Raises
    ------
    TypeError
        If the dtype cannot be found out, or results be stored in that of ``out``; if the function
        cannot be pickled.
    ValueError
        If shapes differ, ``out`` cannot be written, or the function returns another shape.

    See Also
    --------
    map : for functions of single elements
    foreach : for any functions of parts

    Notes
    -----
    What is sent is the halo, and arrays that are dealt in turns or lie unlike the first one. The
    function goes along as in :func:`distnb.map`. It gets looks at the elements where they lie, some
    rows at a time; results that it returns are copied, those of ufuncs without a halo written
    where they belong. ``out`` saves this copy, and new memory, in loops.

    Examples
    --------
    >>> import distnb as dnb
    >>> import numpy as np
    >>> def smooth(block):
    ...     return (block[:-2] + block[1:-1] + block[2:]) / 3
    >>> with dnb.inprocess(3):
    ...     x = dnb.arange(6.0, dist="block")
    ...     dnb.map_blocks(smooth, x, halo=1, boundary="periodic").to_numpy()
    array([2., 1., 2., 3., 4., 3.])
    >>> def rises(block, out):
    ...     np.subtract(block[2:], block[:-2], out=out)
    >>> with dnb.inprocess(3):
    ...     x = dnb.arange(6.0, dist="block")
    ...     dnb.map_blocks(rises, x, halo=1, out=x).to_numpy()
    array([1., 2., 2., 2., 2., 1.])
    """
    if not arrays:
        raise TypeError(explain("map_blocks()", "no arrays", "at least one", "pass what to map"))
    session = session_of(*arrays)
    given = [asarray(x, session=session) for x in arrays]
    shape, name = _one_shape(given), calling.name_of(function)
    for x in given:
        check_session(x, session)
    targets = _targets(out, shape, session)
    fixed = {key: constant(x) for key, x in constants.items()}
    called = partial(function, **fixed) if fixed else function
    halos, edge = _halo(halo, len(shape)), _boundary(boundary, given)
    call = _Call(called, name, halos, edge, _how(function, halos, bool(targets)))
    if targets and dtype is None:
        dtypes: Any = tuple([x.dtype for x in targets])
    else:
        dtypes = _asked(called, given, halos) if dtype is None else given_dtypes(dtype)
    small = all(fits(prod(shape) * d.itemsize) for d in dtypes)
    if small and all_here([*given, *targets], session):
        results = _put(_here(call, given, dtypes, targets), targets)
    else:
        results = _recorded(call, given, dtypes, targets)
    return results[0] if len(results) == 1 else results


class _Call(NamedTuple):
    """How a function is called: with what halo, what is beyond the array, where results go.

    ``how`` is as in ``engines.parts.blocks.Blocks``.
    """

    function: Callable[..., Any]
    name: str
    halo: Ints
    boundary: str | float | complex
    how: str


def _how(function: Any, halo: Ints, is_given: bool) -> str:
    """Return how a function gives its results; ``is_given``: there is an ``out=``."""
    if isinstance(function, np.ufunc):
        return "returns" if any(halo) else "ufunc"
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C
        return "returns"
    return "fills" if is_given and "out" in known else "returns"


def _targets(out: Any, shape: Ints, session: Session) -> tuple[Any, ...]:
    """Return the arrays that results are put into; none if none are given."""
    found: tuple[Any, ...] = () if out is None else out if isinstance(out, tuple) else (out,)
    for x in found:
        if not isinstance(x, Array):
            raise TypeError(
                explain(
                    "out= of map_blocks()",
                    type(x).__name__,
                    "distributed arrays",
                    "pass dnb.empty_like(A), or assign the result",
                )
            )
        check_session(x, session)
        if x.shape != shape:
            raise ValueError(
                explain("out= of map_blocks()", x.shape, shape, "pass an array of this shape")
            )
        if not x.writeable:
            raise read_only(x)
    return found


def _one_shape(given: Sequence[Array]) -> Ints:
    shapes = [x.shape for x in given]
    if len(set(shapes)) > 1:
        raise ValueError(
            explain(
                "arrays of map_blocks()",
                " and ".join(map(str, shapes)),
                "one shape",
                "stretch them with distnb.broadcast_to, or pass constants by name",
            )
        )
    return shapes[0]


def _halo(halo: int | Sequence[int], ndim: int) -> Ints:
    """Return the halo along each axis."""
    try:
        found = [operator.index(h) for h in (halo if np.iterable(halo) else (halo,) * ndim)]
    except TypeError:
        found = []
    if len(found) != ndim or min(found, default=0) < 0:
        raise ValueError(
            explain("halo", halo, f"{ndim} integers >= 0, or one for all", "pass halo=1")
        )
    return tuple(found)


def _boundary(boundary: object, given: Sequence[Array]) -> Any:
    """Return a boundary: a word, or a Python number that all arrays can hold."""
    if isinstance(boundary, str):
        if boundary not in BOUNDARIES:
            words = ", ".join(map(repr, BOUNDARIES))
            raise ValueError(
                explain("boundary", quoted(boundary), f"one of {words}, or a number", "pass one")
            )
        return boundary
    value = np.asarray(boundary)
    if value.ndim or value.dtype.kind not in "biufc":
        raise TypeError(
            explain("boundary", quoted(boundary), "a word or a number", "pass boundary='nearest'")
        )
    for x in given:
        np.zeros(1, x.dtype)[...] = value.item()  # NumPy refuses what cannot be stored
    return value.item()


def _asked(function: Callable[..., Any], given: Sequence[Array], halo: Ints) -> Any:
    """Return the dtypes of the results, which the function says for a block of one element."""
    shape = tuple([1 + 2 * h for h in halo])
    blocks = [np.ones(shape, x.dtype) for x in given]
    for block in blocks:
        block.flags.writeable = False
    try:
        tried = given[0].session.measuring.clock.trying()
        with tried, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*blocks)
    except Exception as error:
        if interrupts(error):
            raise
        raise TypeError(
            explain(
                "dtype of map_blocks()",
                f"{type(error).__name__} for blocks of shape {shape}: {error}",
                "a result that tells",
                "give dtype=, or let the function take small blocks; pass all arrays as arguments",
            )
        ) from error
    many = found if isinstance(found, tuple) else (found,)
    return tuple([numeric(calling.without_halo(one, shape, halo).dtype) for one in many])


def _here(
    call: _Call, given: Sequence[Array], dtypes: Sequence[np.dtype], targets: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Call the function in the notebook, for all of the arrays."""
    if call.how == "fills":
        pairs = zip(targets, dtypes, strict=False)
        found = tuple([np.array(x.here, d, order="C") for x, d in pairs])
    else:
        found = tuple([np.empty(given[0].shape, d) for d in dtypes])
    if given[0].size:
        width = [(h, h) for h in call.halo]
        if isinstance(call.boundary, str):
            mode: Any = {"mode": BOUNDARIES[call.boundary][1]}
        else:
            mode = {"constant_values": call.boundary}
        near = [np.asarray(x.here) for x in given]
        blocks = tuple([np.pad(x, width, **mode) if width else x for x in near])
        arguments = call.function, blocks, call.halo, found, call.how != "returns"
        host_arrays.watched(f"map_blocks ({call.name})", calling.run_block, *arguments)
    return host_arrays.delivered(given[0].session, found, (None,) * len(found))


def _recorded(
    call: _Call, given: Sequence[Array], dtypes: Sequence[np.dtype], targets: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Let the engines call the function; return its results."""
    session, shape = given[0].session, given[0].shape
    session.check_open()
    leader = next((x for x in given if not x.at_home), given[0])
    layout = _in_blocks(leader)
    ins = [in_layout(x, layout) for x in given]
    text = pickled(call.function)
    there = _filled_there(targets, layout, dtypes)
    if there:
        outs = targets
    elif call.how == "fills":
        outs = tuple([copied(x, d, layout) for x, d in zip(targets, dtypes, strict=False)])
    else:
        outs = tuple([create(session, shape, d, layout, ("empty",)) for d in dtypes])
    ins += outs if call.how == "fills" else ()  # the function may read what it is to fill
    record_call("map_blocks", text, call.name, outs, ins, call.halo, call.boundary, call.how)
    return outs if there else _put(outs, targets)


def _filled_there(targets: Sequence[Array], layout: Layout, dtypes: Sequence[np.dtype]) -> bool:
    """Tell whether engines can fill outputs where they lie."""
    bases = [x.dbase for x in targets]
    return (
        tuple([x.dtype for x in targets]) == tuple(dtypes)
        and len({id(base) for base in bases}) == len(bases)
        and all(base.host is None and base.layout == layout for base in bases)
        and all(is_whole(x) and not x.dbase.related() for x in targets)
    )


def _put(found: tuple[Any, ...], targets: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return results where they are wanted."""
    if targets and len(found) != len(targets):
        raise ValueError(
            explain(
                "out= of map_blocks()",
                f"{len(targets)} arrays",
                f"{len(found)}, one for each result",
                "pass a tuple of as many",
            )
        )
    for one, target in zip(found, targets, strict=False):
        copyto(target, one)
    return targets or found


def record_call(
    op: str, text: bytes, name: str, outs: Sequence[Array], ins: Sequence[Array], *args: Any
) -> None:
    """Record a command that calls a pickled function: ``args`` after its number and name."""
    session = outs[0].session
    number = session.functions.number(text)
    session.by_parts |= op == "map_blocks"
    record_collective(op, outs, ins, (number, name, *args))
    session.functions.trim()


def _in_blocks(x: Array) -> Layout:
    """Return a layout in which each element is in a block of one engine; that of ``x`` if it is."""
    size = x.session.size
    if x.size < 2:  # a default layout would have copies
        return on_engine(x.ndim, 0)
    if x.at_home:
        return default_layout(x.shape, size)
    found = x.dbase.layout if is_whole(x) else follow(x.placed, size)[0]
    if found.copies > 1:
        return default_layout(x.shape, size)
    axes = [Block() if axis.period(found.parts(a)) else axis for a, axis in enumerate(found.axes)]
    return Layout(found.grid, tuple(axes), found.dims)
