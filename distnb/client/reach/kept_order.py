"""In which order the elements of results lie: in that of their operands, as NumPy's ``order='K'``.

An array's own memory is in C order. So what is made elementwise of transposed operands is made of
these as they lie, and its transposed view is what comes out. Nobody sees the difference but in what
it costs, and in what shares memory: where NumPy's ``reshape`` copies, ours does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from distnb.client.handle.array import Array
from distnb.client.reach.aliasing import outline
from distnb.geometry.layout import Ints

__all__ = ["axes_asked", "axes_in", "axes_of", "in_their_order"]


def axes_of(operands: Sequence[object]) -> Ints:
    """Return the axes of an elementwise result, as they lie, the last one closest; none in C order.

    >>> x = np.ones((4, 5))
    >>> axes_of([x, x.T]), axes_of([x.T, 2, np.ones(4)]), axes_of([x.T, x.reshape(5, 4)])
    ((), (1, 0), ())
    """
    known: list[Ints] = []
    turned = False
    for given in operands:
        x = np.asarray(given) if isinstance(given, list | tuple) else given
        steps = _steps(x) if isinstance(x, Array | np.ndarray) and x.ndim > 1 else ()
        if steps:
            known.append(steps)
            turned = turned or not _falling(steps)
    return _order(tuple(known)) if turned else ()


def axes_in(x: Array, order: str) -> Ints:
    """Return the axes, as they lie, of a copy in an order: C, F, A or K; none in C order.

    What a broadcast array repeats is farther in than all else, other than in results of ufuncs.
    """
    if order == "C" or x.ndim < 2:
        return ()
    shown = outline(x)
    fortran = shown.flags.f_contiguous and not shown.flags.c_contiguous
    if order == "F" or fortran:
        return tuple(range(x.ndim)[::-1])
    if order == "A" or shown.flags.c_contiguous:
        return ()
    axes = tuple(sorted(range(x.ndim), key=[-abs(s) for s in shown.strides].__getitem__))
    return () if axes == tuple(range(x.ndim)) else axes


def axes_asked(operands: Sequence[object], order: str) -> Ints:
    """Return the axes, as they lie, of an elementwise result in an order: C, F, A or K."""
    if order == "K":
        return axes_of(operands)
    given = [x for x in operands if isinstance(x, Array | np.ndarray) and x.ndim]
    flags = [x.flags if isinstance(x, np.ndarray) else outline(x).flags for x in given]
    alike = all(f.f_contiguous for f in flags) and not all(f.c_contiguous for f in flags)
    fortran = order == "F" or (order == "A" and alike)
    return tuple(range(max((x.ndim for x in given), default=0))[::-1]) if fortran else ()


def in_their_order(run: Callable[..., Any], operands: Sequence[Any], axes: Ints) -> Any:
    """Return what ``run`` gives of operands, made of them with their axes in the order given."""
    if not axes:
        return run(*operands)
    found = run(*[_turned(x, axes) for x in operands])
    back = tuple(np.argsort(axes).tolist())
    return tuple(_shown(f, back) for f in found) if type(found) is tuple else _shown(found, back)


def _turned(given: object, axes: Ints) -> Any:
    x = np.asarray(given) if isinstance(given, list | tuple) else given
    if not isinstance(x, Array | np.ndarray) or not x.ndim:
        return x
    missing = len(axes) - x.ndim
    return (x[(None,) * missing] if missing else x).transpose(axes)


def _shown(found: Array | np.ndarray, axes: Ints) -> Any:
    """Return the view of a result that its operands ask for; it is no view of the user's."""
    shown = found.transpose(axes)
    if isinstance(shown, Array):
        shown._owner = None
    return shown


def _steps(x: Any) -> Ints:
    """Return how far apart elements are along each axis, in memory; 0 where there is one only."""
    near = x if isinstance(x, np.ndarray) else x.near
    if near is None and x.dbase.look is not None:
        near = outline(x)
    if near is not None:
        return tuple(
            [abs(s) if n > 1 else 0 for s, n in zip(near.strides, near.shape, strict=True)]
        )
    view, shape = x.dview, x.dbase.shape
    return tuple(
        [
            abs(step) * prod(shape[axis + 1 :]) if axis >= 0 and n > 1 else 0
            for (axis, _, step), n in zip(view.dims, view.shape, strict=True)
        ]
    )


def _falling(steps: Ints) -> bool:
    """Tell whether no axis is farther apart than one before it."""
    last = 0
    for step in steps:
        if step:
            if last and step > last:
                return False
            last = step
    return True


@lru_cache(maxsize=1024)
def _order(known: tuple[Ints, ...]) -> Ints:
    """Return the order of the axes that NumPy gives a result; it is asked with small arrays."""
    n = max(map(len, known))
    memory = np.empty(n * (n + 1), np.int8)
    models = []
    for steps in known:
        ranks = {step: i + 1 for i, step in enumerate(sorted({0, *steps} - {0}))}
        shape = tuple([2 if s else 1 for s in steps])
        models.append(as_strided(memory, shape, [ranks.get(s, 0) for s in steps]))
    operands: Any = [*models, None]
    flags: Any = [["readonly"]] * len(models) + [["writeonly", "allocate"]]
    strides = np.nditer(operands, op_flags=flags).operands[-1].strides
    found = tuple(sorted(range(n), key=strides.__getitem__, reverse=True))
    return () if found == tuple(range(n)) else found
