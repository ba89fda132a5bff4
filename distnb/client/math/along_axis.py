"""Functions that call the user's: with slices of an array, elements of a mask, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create, numeric
from distnb.client.handle.conversion import in_layout
from distnb.client.handle.fields import fresh
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.handle.indexing import one_axis
from distnb.client.math.blocks import record_call
from distnb.client.math.core_axes import core_axes
from distnb.client.math.mapping import constant, map_operands, mapped
from distnb.client.math.pickling import pickled
from distnb.client.math.stacks import Made, recorded
from distnb.client.reach.admission import near_if_brief
from distnb.client.reach.kept_order import axes_of, in_their_order
from distnb.client.record.creation import array, asarray, zeros_like
from distnb.client.record.eager import arrays_of, at_once, session_of
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.common import calling
from distnb.geometry.axes import Whole
from distnb.geometry.layout import Layout, default_layout, on_engine
from distnb.geometry.views import follow

__all__: list[str] = []


@stands_for(np.apply_along_axis, scalar=False)
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """Call a function for each 1-D slice, as ``numpy.apply_along_axis``.

    Each engine calls it for the slices that it holds; an array whose slices are split is
    redistributed first. The function goes along as in :func:`distnb.map`, and must not write to its
    slice; distributed arrays that it uses are read, within the gather budget. It is called once
    more, in the notebook, for the first slice, which is read to find out dtype and shape; where all
    would take less than 3 ms there, of an array in reach, it is called there for all. For an
    array of one axis it is called once, in the notebook, with the distributed array, to which it
    may write. Functions of NumPy with an ``axis`` are faster.

    Parameters
    ----------
    func1d : callable
        Called as ``func1d(slice, *args, **kwargs)``.
    axis : int
        Along which axis slices are taken.
    arr : array_like
        The elements.
    *args, **kwargs
        What the function gets besides.

    Returns
    -------
    DistArray
        With the axes of what the function returns in place of ``axis``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     rows = dnb.array([[1, 5], [2, 9]])
    ...     dnb.apply_along_axis(lambda row: row.max() - row.min(), 1, rows).to_numpy()
    array([4, 7])
    """
    x = asarray(arr, session=session_of(arr))
    d = one_axis(axis, x.ndim)
    if x.ndim == 1:
        return array(func1d(x, *args, **kwargs), session=x.session)  # it may return its slice
    if 0 in (*x.shape[:d], *x.shape[d + 1 :]):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    if x.at_home:
        found = at_once(np.apply_along_axis, func1d, d, x, *args, **kwargs)
        if found is not None:
            return found
    fixed = {key: constant(value) for key, value in kwargs.items()}
    called = calling.Slices(func1d, tuple([constant(a) for a in args]), fixed)
    first = np.asarray(x[tuple([slice(None) if k == d else 0 for k in range(x.ndim)])])
    began = perf_counter()
    one = called(first)
    seconds = perf_counter() - began
    if not one.size:  # engines would have nothing to put there, and not call it
        numpys: Any = np.apply_along_axis
        return asarray(numpys(called, d, x.__array__()), session=x.session)
    layout = _with_whole(x, d)
    shape = (*x.shape[:d], *one.shape, *x.shape[d + 1 :])
    axes = (*layout.axes[:d], *(Whole(),) * one.ndim, *layout.axes[d + 1 :])
    dims = (*layout.dims[:d], *(-1,) * one.ndim, *layout.dims[d + 1 :])
    where = Layout(layout.grid, axes, dims)
    slices = prod((*x.shape[:d], *x.shape[d + 1 :]))
    nears = near_if_brief([x], slices * one.nbytes, slices * seconds)
    if nears is not None:
        found = np.empty(shape, numeric(one.dtype))
        watched("apply_along_axis", calling.run_slices, called, d, *nears, found, one.shape)
        return fresh(x.session, found, where)
    text = pickled(called, reads=True)
    source = in_layout(x, layout)
    out = create(x.session, shape, numeric(one.dtype), where, ("empty",))
    name = calling.name_of(func1d)
    record_call("apply_along_axis", text, name, (out,), (source,), d, one.shape)
    return out


def _with_whole(x: Array, axis: int) -> Layout:
    """Return a layout in which an axis is whole, and nobody has copies; that of ``x`` if it is."""
    size = x.session.size
    found = default_layout(x.shape, size) if x.at_home else follow(x.placed, size)[0]
    if found.parts(axis) == 1 and found.copies == 1:
        return found
    others = tuple([1 if a == axis else n for a, n in enumerate(x.shape)])
    if prod(others) < 2:  # a default layout would have copies
        return on_engine(x.ndim, 0)
    found = default_layout(others, size)
    axes = [Whole() if a == axis else kind for a, kind in enumerate(found.axes)]
    return Layout(found.grid, tuple(axes), found.dims)


@stands_for(np.piecewise)
def piecewise(
    x: ArrayLike,
    condlist: ArrayLike,
    funclist: Sequence[Any],
    *args: Any,
    **kw: Any,
) -> Array:
    """Choose a function, or a value, by conditions, as ``numpy.piecewise``.

    A function is called in the notebook, with the elements for which its condition holds: these are
    taken and put back as by ``x[mask]``, which waits for their number. The result lies as ``x``.

    Parameters
    ----------
    x : array_like
        The elements.
    condlist : sequence of array_like of bool
        The conditions; where several hold, the last one counts.
    funclist : sequence of callable or scalar
        What comes where each holds; one more is for where none does.
    *args, **kw
        What functions get besides.

    Returns
    -------
    DistArray
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.array([-2.0, 0.0, 3.0])
    ...     dnb.piecewise(x, [x < 0, x > 0], [-1, lambda v: v * v, 7]).to_numpy()
    array([-1.,  7.,  9.])
    """
    at = asarray(x, session=session_of(x))
    conditions: Any = condlist
    given = [conditions] if _is_one(conditions, at.ndim) else list(conditions)
    masks = [elementwise("not_equal", asarray(c, session=at.session), 0) for c in given]
    if len(funclist) == len(masks) + 1:
        rest = masks[0]
        for mask in masks[1:]:
            rest = rest | mask
        masks.append(~rest)
    elif len(funclist) != len(masks):
        n = len(masks)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = zeros_like(at)
    for mask, function in zip(masks, funclist, strict=True):
        if not callable(function):
            y[mask] = function
            continue
        elements = at[mask]
        if elements.size:
            y[mask] = function(elements, *args, **kw)
    return y


def _is_one(given: Any, ndim: int) -> bool:
    """Tell whether this is a condition, and not a sequence of them: those are lists or arrays."""
    if np.isscalar(given) or _is_number(given):
        return True
    first = given[0]
    return bool(ndim) and (_is_number(first) or not isinstance(first, list | np.ndarray | Array))


def _is_number(x: Any) -> bool:
    """Tell whether this is what NumPy has as a scalar, and not as an array of no axes."""
    return isinstance(x, Array) and x.single and not x.shape


# -- functions of scalars ----------------------------------------------------------------------


class vectorize(np.vectorize):  # noqa: N801 - NumPy's name
    """Make a function of arrays of a function of scalars, as ``numpy.vectorize``.

    It is called for each element, on the engine that holds it, or in the notebook for few elements
    in reach, if it was brief for the first ones; what is sent, and what it must not
    depend on, is as in :func:`distnb.map`. Distributed arrays that it uses are read, within the
    gather budget: each engine gets all of them, and cannot write there. It can be a decorator.

    Parameters
    ----------
    pyfunc : callable
        A Python function of scalars.
    otypes : str or list of dtypes, optional
        Dtypes of the results. By default the function is called in the notebook with the first
        elements to find out, which reads them and waits for the engines.
    doc : str, optional
        The docstring.
    excluded : set of int and str, optional
        Places and names of arguments that are constants, and no arrays.
    cache : bool
        Has no effect: the function is called for the first elements once more.
    signature : str, optional
        Of a function of arrays of some last axes, such as ``"(n),(n)->()"``. These axes are made
        whole, others stay cut as they are; the first arrays are read to find out what comes of it.

    Examples
    --------
    >>> import distnb as dnb
    >>> @dnb.vectorize
    ... def steps(n):
    ...     count = 0
    ...     while n != 1:
    ...         n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
    ...     return count
    >>> with dnb.inprocess(3):
    ...     steps(dnb.arange(1, 8, dist="block")).to_numpy()
    array([ 0,  1,  7,  2,  5,  8, 16])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for each element of the arguments that are not excluded."""
        places = [i for i in range(len(args)) if i not in self.excluded]
        names = [name for name in kwargs if name not in self.excluded]
        given = [*(args[i] for i in places), *(kwargs[name] for name in names)]
        if not (callable(self.pyfunc) and given):  # a decorator with options; no arrays
            return super().__call__(*args, **kwargs)
        called = calling.Elements(
            self.pyfunc,
            "",
            tuple(places),
            tuple(None if i in places else constant(x) for i, x in enumerate(args)),
            tuple(names),
            {name: constant(x) for name, x in kwargs.items() if name not in names},
        )
        if self.signature is not None:
            return self._of_stacks(called, given)
        ins = map_operands(given)
        kinds, seconds = _of_first(called, ins) if self.otypes is None else (self.otypes, inf)
        dtypes = tuple(numeric(d) for d in kinds)
        called = called._replace(otypes="".join(d.char for d in dtypes))
        name = calling.name_of(self.pyfunc)
        run = lambda *x: mapped(called, name, x, dtypes, seconds)  # noqa: E731
        found = in_their_order(run, ins, axes_of(ins))
        for each in found if isinstance(found, tuple) else (found,):
            each.single = False  # NumPy's are arrays, also of no axes
        return found

    def _of_stacks(self, called: calling.Elements, given: Sequence[ArrayLike]) -> Any:
        """Call a function of arrays of some last axes."""
        session = session_of(*given)
        arrays = [asarray(x, session=session) for x in given]
        many = calling.Stacks(called, str(self.signature), self.otypes)
        name = calling.name_of(self.pyfunc)
        cores = core_axes(many.signature, arrays)
        loops = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores, strict=False)]
        if all_here(arrays, session) or 0 in np.broadcast_shapes(*loops):
            values = [np.asarray(x if x.here is None else x.here) for x in arrays]
            return arrays_of(session, watched(f"vectorize ({name})", many.found, *values))
        firsts = [np.asarray(x[(0,) * len(loop)]) for x, loop in zip(arrays, loops, strict=True)]
        found = many.found(*firsts)
        made = [
            Made(np.shape(x), numeric(x.dtype))
            for x in (found if isinstance(found, tuple) else (found,))
        ]
        counts = [len(core) for core in cores]
        text = pickled(many, reads=True)
        results = recorded(text, name, arrays, counts, np.broadcast_shapes(*loops), made)
        return results[0] if len(results) == 1 else tuple(results)


def _of_first(called: calling.Elements, ins: Sequence[Any]) -> tuple[list[np.dtype], float]:
    """Return the dtypes of what a function returns for the first elements, and its seconds."""
    if any(0 in np.shape(x) for x in ins):
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    firsts = [_first(x) for x in ins]
    began = perf_counter()
    found = called.one(*firsts)
    seconds = perf_counter() - began
    many = found if isinstance(found, tuple) else (found,)
    return [np.asarray(one).dtype for one in many], seconds


def _first(x: ArrayLike) -> Any:
    """Return the first element of an operand."""
    return np.asarray(x[(0,) * x.ndim] if isinstance(x, Array) else x).flat[0]
