"""``distnb.lib.stride_tricks``: windows that slide over an array, and strides that are given."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import as_strided as _strided
from numpy.lib.stride_tricks import sliding_window_view as _numpys
from numpy.typing import ArrayLike

from distnb.client.array.flags import strides_of
from distnb.client.handle.arguments import Axes, Shape
from distnb.client.handle.array import Array
from distnb.client.handle.fields import at_hand, beside
from distnb.client.handle.indexing import lengths
from distnb.client.reach.aliasing import Look, look_at
from distnb.client.record.creation import asarray, empty
from distnb.client.record.namespace import stands_for
from distnb.client.session.bases import Base
from distnb.client.shape.joining import stack
from distnb.client.shape.viewing import broadcast_to
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = ["as_strided", "sliding_window_view"]


class Windows(NamedTuple):
    """Windows along an axis, one every ``by`` elements, theirs along a new last axis; read-only."""

    length: int
    axis: int
    by: int = 1

    def near(self, x: np.ndarray) -> np.ndarray:
        """Return NumPy's view."""
        return _numpys(x, self.length, self.axis)[(*self._before, slice(None, None, self.by))]

    @property
    def _before(self) -> tuple[slice, ...]:
        return (slice(None),) * self.axis

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now: a stack of slices.

        They are stacked by the places of elements, or by windows where those are fewer.
        """
        length, axis, by = self
        last = x.shape[axis] - length  # where the last window begins
        if length <= last // by + 1:
            places = [slice(j, j + last + 1, by) for j in range(length)]
            return stack([x[(*self._before, k)] for k in places], -1)
        return stack([self.one(x, i) for i in range(0, last + 1, by)], axis)

    def one(self, x: Array, i: int) -> Array:
        """Return the view of one window of an array."""
        order = [d for d in range(x.ndim) if d != self.axis] + [self.axis]
        return x[(*self._before, slice(i, i + self.length))].transpose(order)

    def of_part(self, x: Array, parts: Sequence[Part]) -> tuple[Array, Windows]:
        """Return the array, and the windows of it, of which all are part of those of ``x``."""
        start, step, n = parts[self.axis]
        first, by = start * self.by, step * self.by
        cuts = [slice(start, start + (n - 1) * step + 1, step) for start, step, n in parts]
        cuts[self.axis] = slice(first, first + (n - 1) * by + self.length)
        return x[tuple(cuts)], self._replace(by=by)

    def put(self, x: Array, found: Array) -> NoReturn:
        """Refuse: an element of the array may be in several windows."""
        raise ValueError("assignment destination is read-only")

    def after(self, before: Any) -> Any:
        """Return None: it is not one with any other way."""


class Part(NamedTuple):
    """What is asked for of an axis."""

    start: int
    step: int
    n: int


class _Unmade(Look):
    """Windows that are made when they are used, and of which a part is made by itself before."""

    __slots__ = ()

    def made_of(self, base: Base) -> int:
        """Return the bytes of all windows, if they are not made."""
        return 0 if base.heard_of else prod(base.shape) * base.dtype.itemsize

    def part(self, base: Base, view: View) -> Any:
        """Return an array of a part of the windows; None for all of them, or if they are made."""
        root, axes = self.family.root(), range(len(base.shape) - 1)
        if root is None or base.near is not None or base.heard_of or 0 in view.shape:
            return None
        asked = {a: Part(i, 1, 1) for a, i in view.fixed}
        asked |= {
            a: Part(start, step, n)
            for n, (a, start, step) in zip(view.shape, view.dims, strict=True)
        }
        if [asked[a].n for a in axes] == [base.shape[a] for a in axes]:
            return None
        if any(asked[a].step < 1 for a in axes):
            return None
        x = Array.made(root, View.whole(root.shape))
        *before, (seen, windows) = cast("tuple[tuple[View, Windows], ...]", self.steps)
        for shown, way in before:
            x = look_at(x.alias(shown), way, _Unmade if isinstance(way, Windows) else Look)
        x, windows = windows.of_part(x.alias(seen), [asked[a] for a in axes])
        if asked[windows.axis].n > 1:
            found = look_at(x, windows, _Unmade)
        else:
            only = windows.one(x, 0)
            found = only.alias(only.dview.insert(windows.axis))
        dims = [(a, 0, 1) if a in axes else (a, start, step) for a, start, step in view.dims]
        fixed = [(a, 0 if a in axes else i) for a, i in view.fixed]
        rest = View(view.shape, tuple(dims), tuple(fixed))
        return found.alias(found.dview.then(rest), writeable=False)


@stands_for(_numpys)
def sliding_window_view(
    x: ArrayLike,
    window_shape: Shape,
    axis: Axes = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Array:
    """Return the windows of an array, as a read-only view.

    Where the notebook has the elements it is NumPy's own view. On engines it is made of slices, so
    only borders are sent, and lies as the array does. It is made when it is used, and needs the
    memory of all windows then; a part of it (``windows[::8]``) that of the part. It is made again
    when it is used after the array was written. Reductions of it, and products, do without: the
    notebook finds them, of an array that it can reach and windows within the gather budget. To sum
    or compare neighbours, sum or compare slices instead.

    Parameters
    ----------
    x : array_like
        The elements.
    window_shape : int or tuple of int
        How long windows are along ``axis``.
    axis : int or tuple of int, optional
        Along which axes windows slide; by default all.
    subok : bool
        Changes nothing.
    writeable : bool
        False: an element may be in several windows.

    Returns
    -------
    DistArray
        A window for each place, its elements along the last axes.

    Raises
    ------
    ValueError
        If a window is longer than its axis, or the result is to be written into.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.stride_tricks.sliding_window_view(dnb.arange(5), 3).to_numpy()
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    if writeable:
        raise ValueError(
            explain("writeable", True, "False: windows share elements", "write into the array")
        )
    found = asarray(x)
    several = isinstance(window_shape, tuple | list) or np.ndim(window_shape)  # type: ignore[arg-type]
    given: Any = window_shape if several else (window_shape,)
    sizes = tuple(operator.index(n) for n in given)
    for length, d in zip(sizes, _axes(sizes, axis, found.ndim), strict=True):
        if length > found.shape[d]:
            raise ValueError("window shape cannot be larger than input array shape")
        if length:
            found = look_at(found, Windows(length, d), _Unmade)
        else:
            shape = (*found.shape[:d], found.shape[d] + 1, *found.shape[d + 1 :], 0)
            found = empty(shape, found.dtype, session=found.session)
    return found.alias(found.dview, writeable=False)


def _axes(lengths: tuple[int, ...], axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return the axis of each window; raises what NumPy raises."""
    if any(n < 0 for n in lengths):
        raise ValueError("`window_shape` cannot contain negative values")
    every: Any = range(ndim) if axis is None else axis
    axes = normalize_axis_tuple(every, ndim, allow_duplicate=True)
    if len(lengths) != len(axes):
        raise ValueError(
            explain("window_shape", f"{len(lengths)} lengths", f"{len(axes)}", "give one an axis")
        )
    return axes


def as_strided(
    x: ArrayLike,
    shape: Shape | None = None,
    strides: Shape | None = None,
    subok: bool = False,
    writeable: bool = False,
) -> Array:
    """Return a read-only view with the given shape and strides, as ``numpy``'s.

    It is made of windows, slices and stretched axes, and so has only elements of the array: what
    lies outside raises. An axis goes along the axis of the array of which its stride is a multiple,
    or along all elements of an array in C order. What is sent is what its windows send; see
    :func:`sliding_window_view`.

    Parameters
    ----------
    x : array_like
        The elements.
    shape : int or tuple of int, optional
        Of the view; by default the array's.
    strides : tuple of int, optional
        Bytes from one element to the next along each axis; by default the array's.
    subok : bool
        Changes nothing.
    writeable : bool
        False, unlike NumPy's: elements may be there several times.

    Returns
    -------
    DistArray
        A view that cannot be written into.

    Raises
    ------
    ValueError
        If the view would have elements that the array has not, or is to be written into.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.lib.stride_tricks.as_strided(dnb.arange(5), (2, 3), (16, 8)).to_numpy()
    array([[0, 1, 2],
           [2, 3, 4]])
    """
    if writeable:
        raise ValueError(
            explain("writeable", True, "False: elements may be there twice", "write into the array")
        )
    found = asarray(x)
    wanted = found.shape if shape is None else lengths(shape)
    given: Any = strides if np.iterable(strides) else (strides,)
    steps = strides_of(found) if strides is None else tuple(operator.index(n) for n in given)
    if len(steps) != len(wanted):
        raise ValueError(
            explain("strides", steps, f"as many as the shape {wanted} has lengths", "give one each")
        )
    if 0 in wanted:
        return broadcast_to(empty((), found.dtype, session=found.session), wanted)
    for seen in (found, *((found.reshape(-1),) if found.flags.c_contiguous else ())):
        moves = _moves(seen, wanted, steps)
        if moves is not None:
            near = at_hand(found)
            if near is None or near.strides != strides_of(found):
                return _moved(seen, wanted, moves)
            return beside(found, _strided(near, wanted, steps, writeable=False))
    raise ValueError(
        explain(
            "shape and strides",
            f"{wanted} and {steps}",
            f"what an array of shape {found.shape} and strides {strides_of(found)} has",
            "index or slice the array",
        )
    )


class Move(NamedTuple):
    """An axis of a strided view: along which axis of the array it goes, how far each time."""

    d: int
    along: int
    by: int


def _moves(x: Array, shape: Ints, strides: Ints) -> list[Move] | None:
    """Return how the axes go that are not stretched; None if they would leave the array."""
    steps, left = strides_of(x), [n - 1 for n in x.shape]
    order = sorted((a for a in range(x.ndim) if steps[a]), key=lambda a: -abs(steps[a]))
    moves = []
    for d in sorted(range(len(shape)), key=lambda d: -abs(strides[d])):
        if shape[d] == 1 or not strides[d]:
            continue
        for along in order:
            by, odd = divmod(strides[d], steps[along])
            if by > 0 and not odd and by * (shape[d] - 1) <= left[along]:
                left[along] -= by * (shape[d] - 1)
                moves.append(Move(d, along, by))
                break
        else:
            return None
    return moves if min(left, default=0) >= 0 else None


def _moved(x: Array, shape: Ints, moves: list[Move]) -> Array:
    """Return the view whose axes go so: of two along one axis the first goes among windows."""
    last = {a: a for a in range(x.ndim)}  # the axis that goes along one of the array's as it did
    goes: dict[int, Move] = {}
    for k, move in enumerate(moves):
        rest = sum(m.by * (shape[m.d] - 1) for m in moves[k + 1 :] if m.along == move.along)
        at = last[move.along]
        goes[at] = move
        if rest:
            among = Windows(rest + 1, at, move.by)
            x, _ = among.of_part(x, [Part(0, 1, n) for n in (*x.shape[:at], shape[move.d])])
            x = look_at(x, among, _Unmade)
            goes[at] = move._replace(by=1)
            last[move.along] = x.ndim - 1
    parts = [slice(1)] * x.ndim
    for at, (d, _, by) in goes.items():
        parts[at] = slice(0, by * (shape[d] - 1) + 1, by)
    x = x[tuple(parts)].squeeze(tuple(a for a in range(x.ndim) if a not in goes))
    found = [goes[a].d for a in sorted(goes)]
    x = x.transpose([found.index(d) for d in sorted(found)])
    given = [slice(None) if d in found else None for d in range(len(shape))]
    return broadcast_to(x[(*given, ...)], shape)
