"""How Fourier transforms along the axes of a distributed array are carried out.

Engines transform whole 1-D slices. So axes that are not split come first, and nothing is sent for
them. A split axis is made whole by one redistribution, in which a whole axis takes its place on the
same dimension of the grid (a pencil decomposition stays one), and only engines along that dimension
talk.

Where no other axis is long enough to be split instead, as for one axis alone, engines transform the
slice together. For n = n1*n2 it is a matrix of n1 x n2 in C order: transform the columns, multiply
by twiddle factors, transform the rows, read it by columns (Bailey, "FFTs in external or
hierarchical memory", 1990). Blocks of columns of such a matrix are a block-cyclic layout of the
slice, so all but the transforms are redistributions. Other lengths are convolutions with a
chirp (Bluestein, "A linear filtering approach to the computation of discrete Fourier transform",
1970), for which a good length is chosen.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from math import isqrt, prod
from typing import NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create, is_whole
from distnb.client.handle.conversion import as_dist, copied, in_layout, record_collective
from distnb.client.reach.admission import admitted
from distnb.client.reach.small_steps import made_of
from distnb.client.record.creation import empty, zeros
from distnb.client.record.operations import elementwise
from distnb.client.record.placement import stay
from distnb.client.record.ranges import arange
from distnb.client.transport.contract import KERNELS
from distnb.common.ndarrays import QUICK
from distnb.geometry.axes import Block, BlockCyclic, Whole
from distnb.geometry.boxes import is_boxes
from distnb.geometry.layout import (
    Grid,
    Ints,
    Layout,
    on_engine,
)
from distnb.geometry.views import Placed, follow

__all__ = ["Transform", "run", "together"]

#: 1-D slices shorter than this are brought to one engine, not transformed by several together.
TOGETHER = 4096
#: Shorter than this, if engines are few: they take as long to exchange it three times.
LONG = 1 << 20
#: From so many engines on, all are faster than a single one, also where it takes a convolution.
CONVOLVE = 8

#: The transforms that give the first half of what others give for real elements.
_HALVES = {"fft": "rfft", "ifft": "ihfft"}
_TAKE_REAL = frozenset(_HALVES.values())
#: Along so many split axes may the indices of conjugates change sign: each doubles the messages.
_SPLIT = 3


@lru_cache(maxsize=64)
def _result_dtype(name: str, dtype: np.dtype) -> np.dtype:
    found: np.ndarray = getattr(np.fft, name)(np.zeros(2, dtype))
    return found.dtype


class Transform(NamedTuple):
    """A transform along one axis: NumPy's name of it, and the length that NumPy calls n."""

    name: str
    axis: int
    n: int
    norm: str | None

    def of(self, shape: Ints, dtype: np.dtype) -> tuple[Ints, np.dtype]:
        """Return the shape and the dtype of the result."""
        kind = _result_dtype(self.name, dtype)
        n = self.n // 2 + 1 if self.name in _TAKE_REAL else self.n
        return (*shape[: self.axis], n, *shape[self.axis + 1 :]), kind


class Hermitian(NamedTuple):
    """Of which axis half is computed, its length, and the other axes that are transformed."""

    half: int
    n: int
    others: Ints


class Stage(NamedTuple):
    """A transform, the layout in which it is done, and whether engines share a 1-D slice there."""

    transform: Transform
    layout: Layout
    together: bool


def run(x: Array, transforms: list[Transform], fresh: bool = False) -> Array:
    """Return what transforms make of ``x``; all but real ones can be done in any order.

    ``fresh``: whether ``x`` is nobody else's, so that it may be overwritten.
    """
    found = as_dist(x, x.session)
    halved = _halved(found, transforms)
    if halved is not None:
        return halved
    size = found.session.size
    stages = _course(found.shape, stay(found, found.dtype), size, tuple(transforms))
    return _follow(found, list(stages), fresh)


@lru_cache(maxsize=256)
def _course(
    shape: Ints, layout: Layout, size: int, transforms: tuple[Transform, ...]
) -> tuple[Stage, ...]:
    """Return in which order and in which layouts transforms are done: whole axes first."""
    found, todo = list[Stage](), list(transforms)
    while todo:
        layout = follow(Placed.whole(shape, layout), size)[0]
        transform = _next(todo, layout)
        todo.remove(transform)
        freed: Layout | None = layout
        if layout.parts(transform.axis) > 1:
            freed = _freed(shape, layout, transform.axis)
        found.append(Stage(transform, freed or layout, freed is None))
        layout = freed or _in_blocks(layout, transform.axis)
        shape = transform.of(shape, np.dtype(float))[0]
    return tuple(found)


def _next(todo: list[Transform], layout: Layout) -> Transform:
    """Choose what is next: what takes real elements, last what gives them; whole axes first."""
    first = [s for s in todo if s.name in _TAKE_REAL]
    those = first or [s for s in todo if s.name != "irfft"] or todo
    return next((s for s in those if layout.parts(s.axis) == 1), those[0])


def _follow(
    x: Array, stages: list[Stage], fresh: bool, hermitian: Hermitian | None = None
) -> Array:
    """Do the transforms of a course, two at a time where there is a redistribution between them.

    ``hermitian``: where the first transform gives half, the last one completes the result.
    """
    near = _in_reach(x, stages, hermitian)
    if near is not None:
        return near
    found = x
    while stages:
        stage, *stages = stages
        ahead = stages[0] if stages else None
        if stage.together:
            found = _along(found, stage.transform, stage.layout, fresh or found is not x)
        elif ahead is not None and _turns(
            found, stage, ahead, hermitian if not stages[1:] else None
        ):
            stages = stages[1:]
            found = in_layout(found, stage.layout)
            found = _pencils(found, stage.transform, ahead, None if stages else hermitian)
        elif is_whole(found) and _turns(found, stage._replace(layout=found.dbase.layout), stage):
            found = _pencils(found, None, stage, None if stages else hermitian)
        elif not stages and hermitian is not None:
            found = _pencils(in_layout(found, stage.layout), None, stage, hermitian)
        else:
            found = _local(found, stage.transform, stage.layout, fresh=fresh or found is not x)
    return found


def _turns(x: Array, stage: Stage, ahead: Stage, always: object = None) -> bool:
    """Tell whether a redistribution between two stages can be part of their transforms."""
    moves = always is not None or stage.layout != ahead.layout
    boxes = is_boxes(stage.layout) and is_boxes(ahead.layout)
    return bool(moves and boxes and not ahead.together and x.size)


def _halved(x: Array, transforms: list[Transform]) -> Array | None:
    """Transform real elements along several axes by half; None if that is not possible."""
    once = len({s.axis for s in transforms}) == len(transforms) > 1
    both = {s.name for s in transforms} <= {*_HALVES}
    if x.dtype.kind == "c" or not (once and both and x.size):
        return None
    layout = stay(x, x.dtype)
    half = next((s for s in transforms if layout.parts(s.axis) == 1), transforms[0])
    rest = [s for s in transforms if s is not half]
    others = tuple(s.axis for s in rest)
    stages = _course(x.shape, layout, x.session.size, (half, *rest))
    last = stages[-1].layout
    split = sum(last.parts(d) > 1 for d in others)
    if any(stage.together for stage in stages) or not is_boxes(last) or split > _SPLIT:
        return None
    real = half._replace(name=_HALVES[half.name])
    found = Hermitian(half.axis, half.n, others)
    return _follow(x, [stages[0]._replace(transform=real), *stages[1:]], False, found)


def _local(x: Array, transform: Transform, layout: Layout, fresh: bool) -> Array:
    """Transform 1-D slices that are whole in a layout; in place if the array is nobody else's."""
    source = in_layout(x, layout)
    shape, dtype = transform.of(x.shape, x.dtype)
    in_place = (fresh or source is not x) and (shape, dtype) == (x.shape, x.dtype)
    out = source if in_place else create(x.session, shape, dtype, layout, ("empty",))
    _record("fft", out, source, tuple(transform))
    return out


def _in_reach(x: Array, stages: list[Stage], hermitian: Hermitian | None) -> Array | None:
    """Transform a small array in reach, each 1-D slice as an engine would; None: engines are to."""
    steps = [stage.transform for stage in stages]
    if any(
        stage.together and not _is_for_one(stage.transform.n, x.session.size) for stage in stages
    ):
        return None
    shape, dtype, nbytes = x.shape, x.dtype, x.nbytes
    for step in steps:
        shape, dtype = step.of(shape, dtype)
        nbytes = max(nbytes, x.nbytes + prod(shape) * dtype.itemsize)
    if not x.size or not prod(shape) or nbytes > QUICK:
        return None
    near = x.near if admitted(x.session, (x,), nbytes) else None
    if near is None:
        return None
    found = np.ascontiguousarray(near)
    for step in steps:
        source, found = found, np.empty(*step.of(found.shape, found.dtype))
        import_module(KERNELS).transform_slices(source, found, *step)
    last = stages[-1]
    layout = _in_blocks(last.layout, last.transform.axis) if last.together else last.layout
    whole = found if hermitian is None else _completed(found, hermitian)
    made: Array = made_of(x.session, whole, layout)
    return made


def _completed(found: np.ndarray, hermitian: Hermitian) -> np.ndarray:
    """Return all of a transform of real elements of which half is given: the rest is conjugates."""
    half, n, others = hermitian
    rest = found.take(range((n - 1) // 2, 0, -1), half)
    for d in others:
        rest = np.roll(np.flip(rest, d), 1, d)
    rest = rest.conj()
    rest.imag += 0.0  # -0.0 where NumPy, which computes both halves, has 0.0
    return np.concatenate((found, rest), half)


def _pencils(x: Array, first: Transform | None, stage: Stage, hermitian: Hermitian | None) -> Array:
    """Transform along an axis, if it is given, redistribute, and transform along another."""
    shape, between = (x.shape, x.dtype) if first is None else first.of(x.shape, x.dtype)
    found, dtype = stage.transform.of(shape, between)
    signs = None
    if hermitian is not None:
        half, n, others = hermitian
        found, signs = (*found[:half], n, *found[half + 1 :]), (half, others)
    out = create(x.session, found, dtype, stage.layout, ("empty",))
    transforms = first and tuple(first), tuple(stage.transform)
    _record("pencils", out, x, (*transforms, between.str, signs))
    return out


def _record(op: str, out: Array, source: Array, args: tuple[object, ...]) -> None:
    if out.size:
        record_collective(op, (out,), (source,), args)


def _freed(shape: Ints, layout: Layout, axis: int) -> Layout | None:
    """Return a layout in which an axis is whole that was split; None if no axis can replace it."""
    others = [n if d != axis else 0 for d, n in enumerate(shape)]
    parts = layout.parts(axis)
    whole = [n if layout.dims[d] < 0 else 0 for d, n in enumerate(others)]
    if max(whole) >= parts:
        return _swapped(layout, axis, whole.index(max(whole)))
    size = layout.grid.size // layout.copies
    if max(others) >= size:
        return _split(layout.grid, others.index(max(others)), len(shape))
    return None


def _swapped(layout: Layout, axis: int, other: int) -> Layout:
    """Return the layout in which a whole axis is in blocks in place of one that was split."""
    axes, dims = list(layout.axes), list(layout.dims)
    axes[axis], dims[axis], axes[other], dims[other] = Whole(), -1, Block(), dims[axis]
    return Layout(layout.grid, tuple(axes), tuple(dims))


def _split(grid: Grid, axis: int, ndim: int) -> Layout:
    """Return the layout with one axis in blocks over the ranks of a grid, if they are a row."""
    row = grid.strides[-1:] == (1,) and grid == Grid.of(grid.sizes, grid.first)
    line = Grid.of((grid.size,), grid.first) if row else Grid.of((grid.last + 1,))
    axes = tuple(Block() if d == axis else Whole() for d in range(ndim))
    return Layout(line, axes, tuple(0 if d == axis else -1 for d in range(ndim)))


# -- along a split axis ------------------------------------------------------------------------


def _along(x: Array, transform: Transform, layout: Layout, fresh: bool) -> Array:
    """Transform along a split axis; the result is split along it, too, in blocks."""
    shape, dtype = transform.of(x.shape, x.dtype)
    wanted = _in_blocks(layout, transform.axis)
    size = x.session.size
    if _is_for_one(transform.n, size):
        found = _local(x, transform, _apart(x.shape, layout, transform.axis), fresh)
        return copied(found, dtype, wanted)
    out = create(x.session, shape, dtype, wanted, ("empty",))
    for index in np.ndindex(*(1 if d == transform.axis else n for d, n in enumerate(shape))):
        line = tuple(slice(None) if d == transform.axis else i for d, i in enumerate(index))
        out[line] = together(x[line], transform)
    return out


def _is_for_one(n: int, size: int) -> bool:
    """Tell whether one engine is faster than all together.

    >>> _is_for_one(1 << 19, 2), _is_for_one(1 << 20, 2), _is_for_one((1 << 20) + 1, 2)
    (True, False, True)
    >>> _is_for_one(1 << 19, 8), _is_for_one((1 << 19) + 1, 8)
    (False, False)
    """
    return n < TOGETHER or (size < CONVOLVE and (n < LONG or not _engines(n, size)))


@lru_cache(maxsize=256)
def _in_blocks(layout: Layout, axis: int) -> Layout:
    """Return the layout with blocks along an axis that is split."""
    axes = tuple(Block() if d == axis else kind for d, kind in enumerate(layout.axes))
    return Layout(layout.grid, axes, layout.dims)


@lru_cache(maxsize=256)
def _apart(shape: Ints, layout: Layout, axis: int) -> Layout:
    """Return a layout in which each 1-D slice is on one engine, and some engines may have none."""
    others = [n if d != axis else 0 for d, n in enumerate(shape)]
    if max(others) < 2:
        return on_engine(len(shape), layout.grid.first)
    return _split(layout.grid, others.index(max(others)), len(shape))


def together(x: Array, transform: Transform) -> Array:
    """Transform one 1-D slice by all engines together; real ones as if they were complex."""
    sign = -1 if transform.name in ("fft", "rfft") else 1
    n, dtype = transform.n, np.result_type(transform.of(x.shape, x.dtype)[1], np.complex64)
    y = _hermitian(x, n, dtype) if transform.name == "irfft" else _fitted(x, n, dtype)
    y = _complex(y, sign)
    if transform.name == "rfft":
        y = y[: n // 2 + 1]
    elif transform.name == "irfft":
        y = elementwise("real", y)
    scale = _scale(transform.norm, sign, n)
    return y if scale == 1 else y * scale


def _scale(norm: str | None, sign: int, n: int) -> float:
    if norm == "ortho":
        return 1 / float(np.sqrt(n))
    return 1 / n if (norm == "forward") == (sign < 0) else 1


def _fitted(x: Array, n: int, dtype: np.dtype) -> Array:
    """Return the 1-D slice with a length: cut, or with zeros at its end."""
    if x.shape == (n,):
        return x if x.dtype == dtype else x.astype(dtype)
    y, m = zeros(n, dtype, session=x.session, dist="block"), min(n, x.shape[0])
    y[:m] = x[:m]
    return y


def _hermitian(x: Array, n: int, dtype: np.dtype) -> Array:
    """Return all of a 1-D slice of which half is given; the other half is its conjugate."""
    half = _fitted(x, n // 2 + 1, dtype)
    y = empty(n, dtype, session=x.session, dist="block")
    y[: n // 2 + 1] = half
    y[n // 2 + 1 :] = elementwise("conjugate", half[1 : (n + 1) // 2][::-1])
    for i in (0, n // 2)[: 1 + (n % 2 == 0)]:  # what NumPy takes for real
        y[i : i + 1] = elementwise("real", half[i : i + 1])
    return y


def _complex(x: Array, sign: int) -> Array:
    """Transform one complex 1-D slice without a scale, whatever its length."""
    n, size = x.shape[0], x.session.size
    engines = _engines(n, size)
    return _factored(x, sign, engines) if engines else _chirped(x, sign)


def _engines(n: int, size: int) -> int:
    """Return how many engines can share a 1-D slice of n elements; 0 if they are too few.

    >>> _engines(4096, 4), _engines(4096, 3), _engines(4099, 2)
    (4, 2, 0)
    """
    found = max(q for q in range(1, size + 1) if n % (q * q) == 0)
    return found if 4 * found >= size and (found > 1 or size == 1) else 0


def _factored(x: Array, sign: int, engines: int, swap: bool = False) -> Array:
    """Transform a 1-D slice of n = n1*n2 elements, where the number of engines divides both.

    The slice is taken by blocks of columns of n1 x n2, and left by blocks of n2 x n1; ``swap``
    exchanges n1 and n2, so that a slice that was left like this need not be brought anywhere.
    """
    n, dtype, name = x.shape[0], x.dtype, "fft" if sign < 0 else "ifft"
    norm = None if sign < 0 else "forward"  # no scale
    one = _factor(n, engines)
    one, two = (n // one, one) if swap else (one, n // one)
    line = Grid.of((engines,))
    dealt = Layout(line, (BlockCyclic(two // engines),), (0,))
    columns = Layout(line, (Whole(), Block()), (-1, 0))
    rows = Layout(line, (Block(), Whole()), (0, -1))
    source = copied(x, dtype, dealt)
    matrix = create(x.session, (one, two), dtype, columns, ("empty",))
    _record("fft", matrix, source, (name, 0, one, norm))
    _record("twiddle", matrix, matrix, (n, sign))
    turned = copied(matrix, dtype, rows)
    left = Layout(line, (BlockCyclic(one // engines),), (0,))
    out = create(x.session, (n,), dtype, left, ("empty",))
    _record("fft", out, turned, (name, 1, two, norm))
    return out


def _factor(n: int, engines: int) -> int:
    """Return the factor of n nearest its root of which both it and n over it hold the engines."""
    rest = n // (engines * engines)
    return engines * next(f for f in range(isqrt(rest), 0, -1) if rest % f == 0)


def _chirped(x: Array, sign: int) -> Array:
    """Transform a 1-D slice of any length as a convolution with a chirp."""
    n, size, session = x.shape[0], x.session.size, x.session
    m = size * size * _smooth(-(-(2 * n - 1) // (size * size)))
    k = arange(n, session=session, dist="block")
    angle = (k * k % (2 * n)) * (sign * np.pi / n)
    chirp = elementwise("exp", angle * 1j)
    signal, filt = (zeros(m, complex, session=session, dist="block") for _ in range(2))
    signal[:n] = x * chirp
    filt[:n] = elementwise("conjugate", chirp)
    filt[m - n + 1 :] = filt[1:n][::-1]
    product = _factored(signal, -1, size) * _factored(filt, -1, size)
    found = _factored(product, 1, size, swap=True)[:n]
    return (chirp * (found * (1 / m))).astype(x.dtype)


def _smooth(n: int) -> int:
    """Return the least number from n on without prime factors above 5.

    >>> _smooth(7), _smooth(1001)
    (8, 1024)
    """
    best = 1 << (n - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            rest = -(-n // three)
            best = min(best, three << (rest - 1).bit_length())
            three *= 3
        five *= 5
    return best
