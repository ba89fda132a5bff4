"""Strategies and comparisons for tests: those of distnb, and those of programs that use it.

The strategies draw every way to split an axis, layouts with copies and with ranks left out, and
views with steps, flips, fixed indices, broadcast and permuted axes. They shrink to what is
simplest: one rank, whole views. The helpers keep all ranks' parts in one process and follow plans
literally, so that what is wrong shows without MPI.

Only tests import this module: it needs ``hypothesis``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from distnb.geometry.axes import Axis, Block, BlockCyclic, Cyclic, Irregular, SlicedBlock, Whole
from distnb.geometry.layout import Grid, Ints, Layout, strides_of
from distnb.geometry.slices import Sections, elements
from distnb.geometry.views import Placed, View
from distnb.plans.transfer import LOCAL, Message, Piece, Plan, Ref, ZeroCopy, plan_apply

__all__ = [
    "arrays",
    "assemble",
    "assert_same_as_numpy",
    "axis_kinds",
    "dtypes",
    "grids",
    "indices_of",
    "layouts",
    "local_parts",
    "memory_of",
    "placed",
    "shapes",
    "simulate_apply",
    "view_of",
    "views",
]

#: One rank's part of an array; None where the rank is outside of the grid.
LocalPart = np.ndarray | None

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]

_sometimes = st.sampled_from([False, False, True])
_rarely = st.sampled_from([False] * 7 + [True])


def axis_kinds(n: int, p: int) -> st.SearchStrategy[Axis]:
    """Draw a way to split an axis.

    Law: ``check(n, p)`` passes, and every kind in ``axes.KINDS`` is drawn (whole axes for one
    coordinate only).

    Parameters
    ----------
    n : int
        Length of the axis.
    p : int
        Number of coordinates.
    """
    cuts = st.lists(st.integers(0, n), min_size=p - 1, max_size=p - 1)
    small = st.integers(0, 2 * p)
    kinds: list[st.SearchStrategy[Axis]] = [
        st.just(Block()),
        st.just(Cyclic()),
        st.builds(BlockCyclic, st.integers(1, n // p + 2)),
        st.builds(lambda inner: Irregular((0, *sorted(inner), n)), cuts),
        st.builds(_slice_of_blocks, st.just(n), small, st.integers(1, 4), small, st.booleans()),
    ]
    return st.one_of([st.just(Whole()), *kinds] if p == 1 else kinds)


def _slice_of_blocks(n: int, start: int, step: int, after: int, back: bool) -> SlicedBlock:
    last = start + step * max(0, n - 1)
    of = last + 1 + after
    return SlicedBlock(of, last, -step) if back else SlicedBlock(of, start, step)


@st.composite
def grids(draw: st.DrawFn, size: int) -> Grid:
    """Draw a grid of up to three dimensions, perhaps a part of a larger one.

    Law: its ranks are distinct and below ``size``. It need not begin at rank 0, nor be contiguous.

    Parameters
    ----------
    size : int
        Number of ranks.
    """
    sizes: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        sizes.append(draw(st.integers(1, size // prod(sizes))))
    first = draw(st.integers(0, size - prod(sizes)))
    kept = []
    for n, stride in zip(sizes, strides_of(sizes), strict=True):
        if draw(_rarely):  # hold this dimension still: ranks are left out
            first += stride * draw(st.integers(0, n - 1))
        else:
            kept.append((n, stride))
    grid = Grid(first, tuple(n for n, _ in kept), tuple(stride for _, stride in kept))
    return grid.turned(g for g in range(len(kept)) if draw(_rarely))


@st.composite
def layouts(draw: st.DrawFn, shape: Ints, size: int) -> Layout:
    """Draw a layout, replicated ones and those on one rank included.

    Law: ``check(shape)`` passes, and its ranks are below ``size``.

    Parameters
    ----------
    shape : tuple of int
        Shape of the base.
    size : int
        Number of ranks.
    """
    grid = draw(grids(size))
    some = draw(st.permutations([*range(len(grid.sizes)), *[-1] * len(shape)]))
    dims = tuple(some[: len(shape)])
    axes = tuple(
        draw(axis_kinds(n, grid.sizes[d])) if d >= 0 else Whole()
        for n, d in zip(shape, dims, strict=True)
    )
    return Layout(grid, axes, dims)


@st.composite
def _axis_of_view(draw: st.DrawFn, n: int) -> tuple[int, int, int]:
    """Draw (length, start, step) of a base axis of which a view takes ``n`` indices."""
    if not draw(_sometimes):
        return n, 0, 1
    step = draw(st.sampled_from([1, -1, 2, -2, 3, -3, 4, -4]))
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    span = (n - 1) * abs(step) + 1 if n else 0
    return before + span + after, before + (span - 1 if step < 0 else 0), step


@st.composite
def views(draw: st.DrawFn, shape: Ints, broadcast: bool = True) -> tuple[Ints, View]:
    """Draw the shape of a base, and a view of it with a given shape.

    Law: the view lies within the base. It may have steps, flips, permuted axes, axes that the base
    does not have (broadcast), and may hold some of the base's axes still.

    Parameters
    ----------
    shape : tuple of int
        Shape of the view.
    broadcast : bool
        False for views that can be written: each element of the view is another one of the base.

    Returns
    -------
    tuple of (tuple of int, View)
    """
    base: list[int] = []
    fixed: list[tuple[int, int]] = []
    dims = [(-1, 0, 0)] * len(shape)
    still = [-1] * (draw(st.integers(1, 2)) if draw(_rarely) else 0)
    for d in draw(st.permutations([*range(len(shape)), *still])):
        if d < 0:
            n = draw(st.integers(1, 5))
            fixed.append((len(base), draw(st.integers(0, n - 1))))
        elif broadcast and draw(_rarely):
            continue
        else:
            n, start, step = draw(_axis_of_view(shape[d]))
            dims[d] = (len(base), start, step)
        base.append(n)
    return tuple(base), View(tuple(shape), tuple(dims), tuple(fixed))


@st.composite
def placed(draw: st.DrawFn, shape: Ints, size: int, broadcast: bool = True) -> Placed:
    """Draw an operand: a view of a given shape, of a base with a layout.

    Parameters
    ----------
    shape : tuple of int
        Shape of the view.
    size : int
        Number of ranks.
    broadcast : bool
        False for an operand that can be written.
    """
    base, view = draw(views(shape, broadcast))
    return Placed(base, draw(layouts(base, size)), view)


def shapes(max_dims: int = 4, max_side: int = 6) -> st.SearchStrategy[Ints]:
    """Draw a shape, 0-d and empty ones included."""
    side = st.one_of(st.integers(1, max_side), st.integers(0, max_side))
    return st.lists(side, max_size=max_dims).map(tuple)


def dtypes() -> st.SearchStrategy[np.dtype]:
    """Draw a dtype that engines compute with: bool, integers, floats, complex numbers."""
    return st.sampled_from(DTYPES).map(np.dtype)


def arrays(shape: Any = None, dtype: Any = None, **options: Any) -> st.SearchStrategy[np.ndarray]:
    """Draw a NumPy array, NaN and infinities included.

    Parameters
    ----------
    shape : tuple of int or strategy, optional
        By default any of :func:`shapes`.
    dtype : dtype or strategy, optional
        By default any of :func:`dtypes`.
    **options
        What ``hypothesis.extra.numpy.arrays`` takes: ``elements``, ``fill``, ``unique``.
    """
    return hnp.arrays(
        dtypes() if dtype is None else dtype, shapes() if shape is None else shape, **options
    )


def indices_of(sections: Sections) -> list[int]:
    """Return the indices in sections as a list, in the order in which they lie in memory."""
    return list(elements(sections))


def view_of(array: np.ndarray, view: View) -> np.ndarray:
    """Return NumPy's view of a base array that is the same as a View: it shares memory.

    Examples
    --------
    >>> view_of(np.arange(10), View((3,), ((0, 8, -3),)))
    array([8, 5, 2])
    """
    if 0 in view.shape:  # its start may lie outside of the base
        return np.empty(view.shape, array.dtype)
    steps = array.strides
    offset = sum(steps[a] * start for a, start, _ in view.dims if a >= 0)
    offset += sum(steps[a] * i for a, i in view.fixed)
    strides = [steps[a] * step if a >= 0 else 0 for a, _, step in view.dims]
    return np.ndarray(view.shape, array.dtype, array, offset, strides)


def memory_of(buffer: np.ndarray, shape: Ints, ref: Ref) -> np.ndarray:
    """Return the elements of a buffer that a Ref points at; raise if they are not all in it."""
    item = buffer.itemsize
    strides = [step * item for step in ref.strides]
    return np.ndarray(shape, buffer.dtype, buffer, ref.offset * item, strides)


def _owned_index(placed: Placed, rank: int) -> tuple[Any, ...] | None:
    """Return what indexes a rank's part of a base, by the definition of the axes."""
    layout = placed.layout
    coords = layout.grid.coords(rank)
    if coords is None:
        return None
    owned = [
        indices_of(axis.sections(n, layout.parts(a), coords[d] if d >= 0 else 0))
        for a, (axis, n, d) in enumerate(zip(layout.axes, placed.shape, layout.dims, strict=True))
    ]
    return (*np.ix_(*owned), ...)  # the dots keep a 0-d part an array


def local_parts(array: np.ndarray, placed: Placed, size: int) -> list[LocalPart]:
    """Return what each rank holds of a base: C-contiguous copies, None outside of the grid.

    Law: the parts have the shapes that ``placed.local_shape`` says.

    Parameters
    ----------
    array : numpy.ndarray
        The whole base.
    placed : Placed
        Its shape and layout (the view does not matter).
    size : int
        Number of ranks.

    Examples
    --------
    >>> from distnb.geometry.layout import make_layout
    >>> base = Placed((5,), make_layout((5,), 2, "cyclic"), View.whole((5,)))
    >>> local_parts(np.arange(5), base, 2)
    [array([0, 2, 4]), array([1, 3])]
    """
    parts: list[LocalPart] = []
    for rank in range(size):
        here = _owned_index(placed, rank)
        part = None if here is None else array[here].copy(order="C")
        shape = None if part is None else part.shape
        assert shape == placed.local_shape(rank), (rank, shape, placed.local_shape(rank))
        parts.append(part)
    return parts


def assemble(parts: Sequence[LocalPart], placed: Placed, fill: Any = 0) -> np.ndarray:
    """Return the base whose parts the ranks hold: the inverse of :func:`local_parts`.

    Raise AssertionError if two ranks that hold copies of an element disagree (NaN agrees with NaN).

    Parameters
    ----------
    parts : sequence of numpy.ndarray or None
        One for each rank.
    placed : Placed
        Shape and layout of the base.
    fill : scalar
        Value of the elements that no rank holds (there are none in a correct layout).
    """
    dtype = next(part.dtype for part in parts if part is not None)
    array = np.full(placed.shape, fill, dtype)
    seen = np.zeros(placed.shape, bool)
    for rank, part in enumerate(parts):
        here = _owned_index(placed, rank)
        if here is None or part is None:
            continue
        old = seen[here]
        np.testing.assert_array_equal(part[old], array[here][old], f"copy on rank {rank}")
        array[here] = part
        seen[here] = True
    return array


def simulate_apply(
    function: Callable[..., Any],
    operands: Sequence[Placed],
    bases: Sequence[np.ndarray],
    size: int,
    zero_copy: ZeroCopy | None = None,
) -> list[LocalPart]:
    """Run an elementwise operation on simulated ranks, following their plans literally.

    All ranks pack their messages, every receive takes the one message that was sent for it, then
    every rank runs its pieces. Laws (asserted): every element of a message is packed once; sends
    and receives match one to one, with the same shape; the first ``ready`` pieces need no message;
    no element of the output is computed twice.

    Parameters
    ----------
    function : callable
        Takes a piece of each input and returns the piece of the output.
    operands : sequence of Placed
        The output and the inputs, all of one shape.
    bases : sequence of numpy.ndarray
        The whole bases of the operands, which are not changed.
    size : int
        Number of ranks.
    zero_copy : ZeroCopy
        Which messages are not sent: the inbox gets the sender's block then.

    Returns
    -------
    list of numpy.ndarray or None
        The parts of the output's base on each rank; see :func:`assemble`.
    """
    out, *ins = operands
    parts = [local_parts(base, p, size) for base, p in zip(bases, operands, strict=True)]
    plans = [plan_apply(rank, out, tuple(ins), zero_copy) for rank in range(size)]
    network = _pack_all(plans, parts)
    inboxes = [_take_all(plan, rank, network, parts) for rank, plan in enumerate(plans)]
    assert not network, f"no receive for the messages {sorted(network)}"
    for rank, plan in enumerate(plans):
        _run(plan, function, [of_all[rank] for of_all in parts], inboxes[rank])
    return parts[0]


#: (sender, receiver, operand) -> a packed message in flight.
Network = dict[tuple[int, int, int], np.ndarray]


def _pack_all(plans: Sequence[Plan], parts: Sequence[Sequence[LocalPart]]) -> Network:
    """Pack what every rank sends; of one operand a rank sends a peer one message at most."""
    network: Network = {}
    for rank, plan in enumerate(plans):
        for message in plan.sends:
            key = (rank, message.peer, message.operand)
            assert key not in network, f"second message of one operand to one peer: {key}"
            assert message.peer != rank, f"rank {rank} sends to itself"
            part = parts[message.operand + 1][rank]
            assert part is not None, f"rank {rank} sends what it does not hold"
            network[key] = _pack(message, part)
    return network


def _pack(message: Message, memory: np.ndarray) -> np.ndarray:
    dense = np.zeros(message.shape, memory.dtype)
    packed = np.zeros(message.shape, np.int64)
    for chunk in message.chunks:
        memory_of(dense, chunk.shape, chunk.message)[...] = memory_of(
            memory, chunk.shape, chunk.memory
        )
        memory_of(packed, chunk.shape, chunk.message)[...] += 1
    assert (packed == 1).all(), f"elements of a message packed {packed} times"
    return dense


def _take_all(
    plan: Plan, rank: int, network: Network, parts: Sequence[Sequence[LocalPart]]
) -> list[Any]:
    """Return the messages that the receives of a rank ask for, in their order.

    For those that are not sent it is the block of the sender.
    """
    inbox = []
    for message in plan.receives:
        key = (message.peer, rank, message.operand)
        assert key in network, f"no send for the receive {key}"
        assert network[key].shape == message.shape, (key, network[key].shape, message.shape)
        packed = network.pop(key)
        inbox.append(parts[message.operand + 1][message.peer] if message.zero_copy else packed)
    return inbox


def _run(
    plan: Plan,
    function: Callable[..., Any],
    memory: Sequence[LocalPart],
    inbox: Sequence[np.ndarray],
) -> None:
    """Run the pieces of one rank: ``memory`` has its part of each operand, output first."""
    if memory[0] is None:
        assert not plan.pieces, "pieces on a rank that holds nothing of the output"
        return
    result, times = memory[0].copy(), np.zeros(memory[0].shape, np.int64)
    for number, piece in enumerate(plan.pieces):
        if number < plan.ready:
            assert all(ref.source == LOCAL for ref in piece.refs), f"not ready: {piece}"
        assert piece.refs[0].source == LOCAL, f"output in a message: {piece}"
        values = function(*(_operand(piece, j, memory, inbox) for j in range(1, len(piece.refs))))
        memory_of(result, piece.shape, piece.refs[0])[...] = values
        memory_of(times, piece.shape, piece.refs[0])[...] += 1
    assert times.max(initial=0) <= 1, f"elements of the output computed {times} times"
    memory[0][...] = result


def _operand(
    piece: Piece, j: int, memory: Sequence[LocalPart], inbox: Sequence[np.ndarray]
) -> np.ndarray:
    ref = piece.refs[j]
    buffer = memory[j] if ref.source == LOCAL else inbox[ref.source]
    assert buffer is not None, f"operand {j} is not here: {piece}"
    return memory_of(buffer, piece.shape, ref)


def assert_same_as_numpy(
    actual: Any, expected: Any, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Raise AssertionError unless a result has NumPy's values, dtype and shape.

    Law: NaN equals NaN; values are exact unless a tolerance is given; a scalar differs from an
    array of one element, and every dtype from every other.

    Parameters
    ----------
    actual : array_like
        The result: anything that ``numpy.asarray`` takes. Where it has a ``shape`` and a ``dtype``
        of its own, these are compared as well, so that a proxy cannot promise other ones.
    expected : array_like
        What NumPy returned.
    rtol, atol : float
        Accepted error, relative to each expected value and absolute.

    Examples
    --------
    >>> assert_same_as_numpy(np.float32(1), np.ones(()))
    Traceback (most recent call last):
    ...
    AssertionError: dtype: got float32, expected float64
    """
    expected = np.asarray(expected)
    values = np.asarray(actual)
    for name in ("shape", "dtype"):
        wanted = getattr(expected, name)
        for got in (getattr(actual, name, wanted), getattr(values, name)):
            if got != wanted:
                raise AssertionError(f"{name}: got {got}, expected {wanted}")
    if rtol or atol:
        np.testing.assert_allclose(values, expected, rtol, atol, equal_nan=True)
    else:
        np.testing.assert_array_equal(values, expected)
