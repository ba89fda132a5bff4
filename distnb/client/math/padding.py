"""``pad``: a larger array, its middle assigned, its margins filled axis by axis; ``trim_zeros``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Axes
from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import array_of
from distnb.client.handle.indexing import some_axes
from distnb.client.math.along_axis import apply_along_axis
from distnb.client.math.reductions import mean
from distnb.client.record.creation import asarray
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import assign, elementwise
from distnb.client.record.placement import stay
from distnb.client.record.ranges import arange
from distnb.client.record.reducing import reduce
from distnb.geometry.axes import Block, Irregular, SlicedBlock
from distnb.geometry.layout import Layout
from distnb.geometry.views import Placed, follow

__all__ = ["pad", "trim_zeros"]

#: It has one signature for each kind of mode.
_NUMPYS: Any = np.pad
#: mode -> the names of its options, with their defaults.
_OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


@stands_for(np.pad, small="grows")
def pad(
    array: ArrayLike,
    pad_width: ArrayLike | dict[int, Any],
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """Return a larger array with margins filled in one of many ways, as ``numpy.pad``.

    The result follows the array; axes that are split in intervals get blocks. The middle is one
    assignment, and each margin is one or a few.

    Parameters
    ----------
    array : array_like
        What comes into the middle.
    pad_width : int, pair of int, sequence of pairs, or dict
        How many elements come before and after, along each axis.
    mode : str
        ``'constant'``, ``'edge'``, ``'empty'``, ``'linear_ramp'``, ``'maximum'``, ``'mean'``,
        ``'median'``, ``'minimum'``, ``'reflect'``, ``'symmetric'`` or ``'wrap'``; or a function
        that writes into a 1-D slice with margins of zeros, for all of them along an axis and then
        along the next. It gets the slice, the two widths, the axis and a dict of ``kwargs``.
    **kwargs
        The options of a mode: ``constant_values``, ``end_values``, ``stat_length``,
        ``reflect_type``.

    Returns
    -------
    DistArray
        Longer along each axis by its margins.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.pad(dnb.array([1, 2, 3]), (2, 1), "reflect").to_numpy()
    array([3, 2, 1, 2, 3, 2])
    """
    x = asarray(array)
    if callable(mode):
        return _padded_by(mode, x, _margins(x, pad_width, "constant", {}), kwargs)
    margins = _margins(x, pad_width, mode, kwargs)
    if x.here is not None:
        return array_of(x.session, _NUMPYS(x.here, pad_width, mode, **kwargs))
    options = _OPTIONS[mode] | kwargs
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, margins, strict=True))
    found = create(x.session, shape, x.dtype, _layout(x, shape), ("empty",))
    ends = [slice(a, a + n) for n, (a, _) in zip(x.shape, margins, strict=True)]
    assign(found[(*ends, ...)], x)
    if not x.size and mode != "constant":
        return found
    per_axis = {name: _pairs(options[name], x.ndim) for name in options if name != "reflect_type"}
    for d, widths in enumerate(margins):
        padded = found[(*(slice(None),) * d, slice(None), *ends[d + 1 :])]
        one = {name: pairs[d] for name, pairs in per_axis.items()}
        kind = options.get("reflect_type")
        _FILL[mode](_Padded(padded, d, widths), *([kind] if kind else one.values()))
    return found


def _filled(function: Callable[..., Any], one: ArrayLike, *args: Any) -> np.ndarray:
    """Return a 1-D slice with what a function writes into it."""
    found = np.array(one)
    function(found, *args)
    return found


def _padded_by(
    function: Callable[..., Any],
    x: Array,
    margins: list[tuple[int, int]],
    kwargs: dict[str, Any],
) -> Array:
    """Return a larger array whose margins a function of the user's has filled."""
    found = pad(x, margins)
    for axis, widths in enumerate(margins) if found.size else ():
        found = apply_along_axis(partial(_filled, function), axis, found, widths, axis, kwargs)
    return found


def _margins(
    x: Array,
    width: ArrayLike | dict[int, Any],
    mode: str,
    kwargs: dict[str, Any],
) -> list[tuple[int, int]]:
    """Return the widths before and after along each axis; raises what NumPy raises."""
    # NumPy checks all on an array as empty as this one, and as small as can be.
    sample = np.zeros(tuple(min(n, 1) for n in x.shape), x.dtype)
    _NUMPYS(sample, _narrow(width), mode, **kwargs)
    pairs: Any = width
    if isinstance(width, dict):
        pairs = [(0, 0)] * x.ndim
        for d, given in width.items():
            pairs[d] = given if isinstance(given, tuple) else (given, given)
    return [(int(a), int(b)) for a, b in _pairs(pairs, x.ndim)]


def _narrow(width: Any) -> Any:
    """Return widths of at most 1 in place of widths, for a check."""
    if isinstance(width, dict):
        return {d: _narrow(w) for d, w in width.items()}
    if isinstance(width, tuple | list):
        return type(width)(map(_narrow, width))
    return min(width, 1) if isinstance(width, int) else np.minimum(width, 1)


def _pairs(value: ArrayLike | None, ndim: int) -> Any:
    """Return a pair for each axis: NumPy's scalars, which are not weak, where NumPy has them."""
    if value is None:
        return [(None, None)] * ndim
    found = np.asarray(value)
    strong = found.size < 3 and found.shape != (2, 1)
    pairs = np.broadcast_to(found, (ndim, 2))
    return [tuple(pair) for pair in pairs] if strong else pairs.tolist()


def _layout(x: Array, shape: tuple[int, ...]) -> Layout:
    """Return the layout of a larger array that follows ``x``."""
    layout = stay(x, x.dtype)
    axes = tuple(Block() if isinstance(a, Irregular | SlicedBlock) else a for a in layout.axes)
    return follow(Placed.whole(shape, Layout(layout.grid, axes, layout.dims)), x.session.size)[0]


class _Padded(NamedTuple):
    """An array that is to be filled along one axis, outside of its middle."""

    x: Array
    d: int
    widths: tuple[int, int]

    def part(self, start: int | None, stop: int | None, step: int = 1) -> Array:
        """Return a slice along the axis."""
        return self.x[(slice(None),) * self.d + (slice(start, stop, step),)]

    @property
    def ends(self) -> tuple[int, int]:
        """Where the middle begins and ends."""
        return self.widths[0], self.x.shape[self.d] - self.widths[1]

    def sides(self) -> list[tuple[int, Array, Array]]:
        """Return for each margin that there is its side, itself, and the edge of the middle."""
        low, high = self.ends
        both = (
            (0, self.part(0, low), self.part(low, low + 1)),
            (1, self.part(high, None), self.part(high - 1, high)),
        )
        return [side for side in both if self.widths[side[0]]]


def _constant(padded: _Padded, values: Sequence[Any]) -> None:
    for side, margin, _ in padded.sides():
        assign(margin, np.asarray(values[side]).astype(padded.x.dtype))


def _edge(padded: _Padded) -> None:
    for _, margin, edge in padded.sides():
        assign(margin, edge)


def _ramp(padded: _Padded, values: Sequence[Any]) -> None:
    """Fill margins with evenly spaced numbers, from a value to the edge, as ``linspace``."""
    for side, margin, edge in padded.sides():
        n = padded.widths[side]
        outer = np.result_type(values[side], edge.dtype, 1.0).type(values[side])
        delta = elementwise("subtract", edge, outer)
        shape = (n, *(1,) * (padded.x.ndim - padded.d - 1))
        at = arange(n, dtype=delta.dtype, dist="replicated", session=padded.x.session)
        at = at[(slice(None), *(None,) * (len(shape) - 1))]
        step = elementwise("divide", delta, n)
        # If a step is 0 anywhere, NumPy divides before it multiplies.
        level = reduce("any", elementwise("equal", step, 0))
        found = elementwise("where", level, at / n * delta, at * step) + outer
        if padded.x.dtype.kind in "iu":
            found = elementwise("floor", found)
        assign(margin if side == 0 else _reversed(margin, padded.d), found)


def _reversed(x: Array, d: int) -> Array:
    return x[(slice(None),) * d + (slice(None, None, -1),)]


def _statistic(function: Callable[[Array, int], Any]) -> Callable[[_Padded, Any], None]:
    def fill(padded: _Padded, lengths: Sequence[int | None]) -> None:
        low, high = padded.ends
        most = high - low
        cut = [most if n is None else min(n, most) for n in lengths]
        parts = padded.part(low, low + cut[0]), padded.part(high - cut[1], high)
        found = [function(p, padded.d) for p in parts]
        for side, margin, _ in padded.sides():
            value = found[side]
            assign(margin, elementwise("round", value, 0) if padded.x.dtype.kind in "iu" else value)

    return fill


def _mirror(edge: int) -> Callable[[_Padded, str], None]:
    """Return what mirrors the middle at its edges, which it repeats (1) or not (0)."""

    def fill(padded: _Padded, kind: str) -> None:
        low, high = padded.ends
        n = high - low
        if n == 1:
            _edge(padded)
            return
        left, right = padded.widths
        period = n - 1 + edge
        while left or right:
            # What is filled so far is mirrored, in whole periods.
            known = padded.x.shape[padded.d] - left - right - 1 + edge
            known -= known % period
            for side, width in ((0, min(known, left)), (1, min(known, right))):
                if width:
                    _reflect(padded, side, (left, right), width, edge, kind)
            left, right = left - min(known, left), right - min(known, right)

    return fill


def _reflect(
    padded: _Padded, side: int, todo: tuple[int, int], width: int, edge: int, kind: str
) -> None:
    """Mirror ``width`` elements at the end of what is filled on one side."""
    left, end = todo[0], padded.x.shape[padded.d] - todo[1]
    if side == 0:
        start = left + 1 - edge
        source, rim = padded.part(start, start + width), padded.part(left, left + 1)
        target = padded.part(left - width, left)
    else:
        stop = end - 1 + edge
        source, rim = padded.part(stop - width, stop), padded.part(end - 1, end)
        target = padded.part(end, end + width)
    found = _reversed(source, padded.d)
    assign(target, elementwise("subtract", 2 * rim, found) if kind == "odd" else found)


def _wrap(padded: _Padded) -> None:
    """Repeat the middle as often as it takes."""
    low, high = padded.ends
    n = high - low
    for stop in range(low, 0, -n):
        start = max(0, stop - n)
        assign(padded.part(start, stop), padded.part(high - (stop - start), high))
    for start in range(high, padded.x.shape[padded.d], n):
        stop = min(padded.x.shape[padded.d], start + n)
        assign(padded.part(start, stop), padded.part(low, low + stop - start))


_FILL: dict[str, Callable[..., None]] = {
    "constant": _constant,
    "edge": _edge,
    "empty": lambda padded: None,
    "linear_ramp": _ramp,
    "maximum": _statistic(lambda x, d: reduce("max", x, d, keepdims=True)),
    "mean": _statistic(lambda x, d: mean(x, d, keepdims=True)),
    "median": _statistic(lambda x, d: np.median(x, d, keepdims=True)),
    "minimum": _statistic(lambda x, d: reduce("min", x, d, keepdims=True)),
    "reflect": _mirror(0),
    "symmetric": _mirror(1),
    "wrap": _wrap,
}


# -- trimming --------------------------------------------------------------------------------------


@stands_for(np.trim_zeros)
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axes = None) -> Array:
    """Return a view without zeros at the ends of axes, as ``numpy.trim_zeros``.

    Its shape depends on the elements: it is waited for two numbers of each axis. The view moves
    nothing.

    Parameters
    ----------
    filt : array_like
        The elements.
    trim : {'fb', 'f', 'b'}
        At which ends: front, back or both.
    axis : int or tuple of int, optional
        Along which axes; by default all.

    Returns
    -------
    DistArray
        A view.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.trim_zeros(dnb.array([0, 0, 5, 0, 7, 0])).to_numpy()
    array([5, 0, 7])
    """
    if isinstance(filt, list | tuple):
        part: Any = np.trim_zeros(filt, cast(Any, trim), cast(Any, axis))
        return part
    x = asarray(filt)
    words = trim.lower()
    if words not in {"fb", "bf", "f", "b"}:
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    there = elementwise("not_equal", x, 0)
    key = [slice(None)] * x.ndim
    for d in some_axes(axis, x.ndim):
        used = reduce("any", there, tuple(e for e in range(x.ndim) if e != d))
        n = x.shape[d]
        if not n or not bool(used.any()):
            key[d] = slice(0, 0)
            continue
        first, last = int(used.argmax()), n - int(used[::-1].argmax())
        key[d] = slice(first if "f" in words else 0, last if "b" in words else n)
    return x[tuple(key)]
