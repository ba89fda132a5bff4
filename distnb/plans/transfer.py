"""Pure plans: which rank sends what to whom, and the pieces in which it then computes.

Every plan is a function of (rank, specs) alone, so all ranks agree without talking. An operation
runs where its output lives (owner computes). Its iteration space on a rank is a product of
sections, split on each axis where the owner of any operand changes; in each resulting *piece*
every operand lies in one place: here, or in one message from one peer. Pieces refer to memory as
(offset, strides) in elements, two axes for each periodic section, so that a piece costs the same
however many blocks it covers.

The model is DistNumPy's sub-view-blocks (Kristensen and Vinter 2012), with periodic sections in
place of lists of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from distnb.geometry.layout import Ints, strides_of
from distnb.geometry.overlaps import Along, Interval, by_coord, divide, split
from distnb.geometry.slices import Section, Sections, total
from distnb.geometry.views import Placed

__all__ = [
    "LOCAL",
    "Chunk",
    "Message",
    "Part",
    "Piece",
    "Plan",
    "Ref",
    "ZeroCopy",
    "at",
    "plan_apply",
    "plan_parts",
    "plan_reduce",
    "window",
]

#: Source of a piece's operand that lies in this rank's own memory.
LOCAL = -1


class Ref(NamedTuple):
    """Where a piece of an operand is: a buffer, and (offset, strides) in elements."""

    source: int
    offset: int
    strides: Ints


def window(block: np.ndarray, shape: Ints, offset: int, strides: Ints) -> np.ndarray:
    """Return a strided look at a contiguous block; offset and strides in elements."""
    size = block.itemsize
    return np.ndarray(shape, block.dtype, block, offset * size, tuple(s * size for s in strides))


def at(block: np.ndarray, shape: Ints, ref: Ref) -> np.ndarray:
    """Return what a Ref points at in a contiguous block."""
    return window(block, shape, ref.offset, ref.strides)


class Piece(NamedTuple):
    """A part of an operation in which every operand lies in one place: output first."""

    shape: Ints
    refs: tuple[Ref, ...]


class Chunk(NamedTuple):
    """A strided copy between a rank's memory and a dense message (elements)."""

    shape: Ints
    memory: Ref
    message: Ref


class Message(NamedTuple):
    """A dense message of one operand: whom from or to, its shape, what to pack (senders).

    A *zero-copy* message is not sent: the receiver reads the elements in the sender's memory.
    """

    operand: int
    peer: int
    shape: Ints
    chunks: tuple[Chunk, ...]
    zero_copy: bool = False


class ZeroCopy(NamedTuple):
    """Which messages are: between ``ranks``, of so many elements of an operand (0: none)."""

    ranks: frozenset[int]
    least: Ints

    def covers(self, operand: int, peer: int, shape: Ints) -> bool:
        """Tell whether a message is; its sender and its receiver find the same."""
        return peer in self.ranks and 0 < self.least[operand] <= prod(shape)


_ALL_SENT = ZeroCopy(frozenset(), ())


class Plan(NamedTuple):
    """What one rank does for one elementwise operation; ``pieces[:ready]`` need no message."""

    sends: tuple[Message, ...]
    receives: tuple[Message, ...]
    pieces: tuple[Piece, ...]
    ready: int


class Part(NamedTuple):
    """What a rank holds of a view: its dense shape, and copies memory -> part -> whole view."""

    shape: Ints
    chunks: tuple[Chunk, ...]
    places: tuple[Ref, ...]


#: Where sections lie in a buffer along one axis, in elements: the first's offset, and strides.
_Place = tuple[int, Ints]


def _extents(s: Section) -> Ints:
    if s.count == 1:
        return (s.block,)
    return (s.count,) if s.block == 1 else (s.count, s.block)


def _fold(sections: Iterable[Section]) -> Ints:
    """Return the shape of a product of sections, two axes (runs, block) where both exceed one."""
    return tuple([n for s in sections for n in _extents(s)])


def _place(s: Section, start: int, inner: int, outer: int, stride: int) -> _Place:
    """Place a section: ``start``, the step in a run and the step between runs are in indices."""
    if s.count == 1:
        return start * stride, (inner * stride,)
    if s.block == 1:
        return start * stride, (outer * stride,)
    return start * stride, (outer * stride, inner * stride)


def _ref(source: int, base: int, places: Iterable[_Place]) -> Ref:
    """Combine one place for each axis."""
    strides: Ints = ()
    for start, steps in places:
        base += start
        strides += steps
    return Ref(source, base, strides)


class _Memory:
    """A rank's part of a base, seen through a view: maps sections of the view to local memory."""

    def __init__(self, placed: Placed, rank: int) -> None:
        layout, view = placed.layout, placed.view
        self.placed = placed
        self.coords = coords = layout.grid.coords(rank)
        #: What the rank holds of the view, and its coordinate along each axis of that.
        self.held = None if coords is None else placed.owned_at(coords)
        self.own = tuple(
            [-1 if m is None or coords is None else coords[m.gdim] for m in placed.maps]
        )
        self.base = 0
        self.strides: Ints = ()
        if coords is None or self.held is None:  # such an operand is only read from messages
            return
        strides = strides_of(layout.shape_at(placed.shape, coords))
        self.strides = tuple([strides[a] if a >= 0 else 0 for a, _, _ in view.dims])
        for a, i in view.fixed:
            self.base += layout.axes[a].to_local(placed.shape[a], layout.parts(a), i) * strides[a]

    def along(self, d: int) -> Along:
        """Return how axis ``d`` of the view is split, and what the rank holds there."""
        held = () if self.held is None else self.held[d]
        return Along(self.placed.maps[d], self.own[d], held)

    def place(self, d: int, s: Section) -> _Place:
        """Place a section in memory; a broadcast axis has no steps."""
        m, (_, start, step) = self.placed.maps[d], self.placed.view.dims[d]
        if m is not None:
            return _place(s, *m.locate(s), stride=self.strides[d])
        return _place(s, start + step * s.start, step, step * s.period, self.strides[d])

    def ref(self, sections: Iterable[Section]) -> Ref:
        return _ref(LOCAL, self.base, (self.place(d, s) for d, s in enumerate(sections)))


def _dense(sections: Sections, stride: int) -> Iterator[_Place]:
    """Place sections one after the other."""
    at = 0
    for s in sections:
        yield _place(s, at, 1, s.block, stride)
        at += s.block * s.count


def _dense_shape(sections: Iterable[Sections]) -> Ints:
    return tuple([total(s) for s in sections])


def _message_strides(shape: Ints, dims: Sequence[tuple[int, int, int]]) -> Ints:
    """Return the strides of a message of a view with ``dims``.

    It lies in the order of the base's axes, not the view's, so that packing copies whole runs of
    memory; who reads a transposed view crosses it tile by tile.
    """
    order = sorted(range(len(shape)), key=lambda d: dims[d][0])
    inner = dict(zip(order, strides_of([shape[d] for d in order]), strict=True))
    return tuple([inner[d] for d in range(len(shape))])


def _chunks(memory: _Memory, sections: Sequence[Sections], strides: Ints) -> tuple[Chunk, ...]:
    """Return the copies between memory and a dense message of a product of sections."""
    axes = (
        [(s, memory.place(d, s), dense) for s, dense in zip(of, _dense(of, stride), strict=True)]
        for d, (of, stride) in enumerate(zip(sections, strides, strict=True))
    )
    return tuple(
        Chunk(
            _fold([s for s, _, _ in several]),
            _ref(LOCAL, memory.base, [here for _, here, _ in several]),
            _ref(0, 0, [dense for _, _, dense in several]),
        )
        for several in product(*axes)
    )


#: A broadcast axis travels once: its message holds index 0 alone.
_FIRST = (Section(0, 1, 1, 1),)


@lru_cache(maxsize=4096)
def plan_apply(
    rank: int, out: Placed, ins: tuple[Placed, ...], zero_copy: ZeroCopy | None = None
) -> Plan:
    """Plan an elementwise operation: views ``ins`` of the shape of ``out``, computed at ``out``.

    Laws: over all ranks, the output pieces partition the output view; every send has one receive
    with the same shape and order; aligned operands send nothing; what is not sent is read in place.
    """
    if zero_copy is None or rank not in zero_copy.ranks:
        zero_copy = _ALL_SENT
    output, inputs = _Memory(out, rank), [_Memory(op, rank) for op in ins]
    receives: list[Message] = []
    pieces: list[Piece] = []
    late: list[Piece] = []
    for piece in _pieces(rank, output, inputs, receives, zero_copy):
        here = all(r.source == LOCAL for r in piece.refs)
        (pieces if here else late).append(piece)
    sends = tuple(
        [m for j, op in enumerate(inputs) for m in _sends(rank, output, op, j, zero_copy)]
    )
    return Plan(tuple(sends), tuple(receives), tuple(pieces + late), len(pieces))


def _pieces(
    rank: int,
    output: _Memory,
    inputs: list[_Memory],
    receives: list[Message],
    zero_copy: ZeroCopy,
) -> Iterator[Piece]:
    """Enumerate the pieces of one rank; note the messages they need in ``receives``."""
    if output.held is None:
        return
    axes = [split(mine, [op.along(d) for op in inputs]) for d, mine in enumerate(output.held)]
    readers = [
        _Reader(rank, j, op, [axis.lengths[j] for axis in axes], receives, zero_copy)
        for j, op in enumerate(inputs)
    ]
    written = [
        [(s, output.place(d, s.section)) for s in axis.intervals] for d, axis in enumerate(axes)
    ]
    for several in product(*written):
        intervals = [s for s, _ in several]
        result = _ref(LOCAL, output.base, [place for _, place in several])
        refs = (result, *[reader.ref(intervals) for reader in readers])
        yield Piece(_fold([s.section for s in intervals]), refs)


class _Reader:
    """An operand as one rank reads it: from memory, its own or another rank's, or from messages."""

    def __init__(
        self,
        rank: int,
        j: int,
        memory: _Memory,
        lengths: list[dict[int, int]],
        receives: list[Message],
        zero_copy: ZeroCopy,
    ) -> None:
        self.rank, self.j, self.memory = rank, j, memory
        self.lengths, self.receives, self.zero_copy = lengths, receives, zero_copy
        #: coordinates -> source; the memory that it is, or the strides of a message
        self.sources: dict[Ints, tuple[int, _Memory | None, Ints]] = {}
        self.places: dict[tuple[int, int, Section], _Place] = {}

    def ref(self, intervals: list[Interval]) -> Ref:
        coords = tuple([s.overlaps[self.j].coord for s in intervals])
        if coords not in self.sources:
            self.sources[coords] = self._source(coords)
        source, memory, strides = self.sources[coords]
        if memory is not None:
            places = [self._place(source, memory, d, s.section) for d, s in enumerate(intervals)]
            return _ref(source, memory.base, places)
        return _ref(source, 0, map(self._in_message, intervals, strides))

    def _place(self, source: int, memory: _Memory, d: int, s: Section) -> _Place:
        found = self.places.get((source, d, s))
        if found is None:
            found = self.places[source, d, s] = memory.place(d, s)
        return found

    def _in_message(self, interval: Interval, stride: int) -> _Place:
        """Place a interval in a message: it lies within one of the sections there."""
        s, (whole, _, _, at) = interval.section, interval.overlaps[self.j]
        run, into = divmod(s.start - whole.start, whole.period)
        apart = s.period // whole.period * whole.block
        outer = s.period if s.period % whole.period else apart
        return _place(s, at + run * whole.block + into, 1, outer, stride)

    def _source(self, coords: Ints) -> tuple[int, _Memory | None, Ints]:
        """Return where to read what lies at grid coordinates: here, or in a new message."""
        if coords == self.memory.own and self.memory.held is not None:
            return LOCAL, self.memory, ()
        op = self.memory.placed
        where = dict(op.pinned)
        where.update((m.gdim, c) for m, c in zip(op.maps, coords, strict=True) if m)
        peer = op.source(where, self.rank)
        if peer == self.rank:
            return LOCAL, self.memory, ()
        still = [axis < 0 for axis, _, _ in op.view.dims]
        shape = tuple(
            1 if once else lengths[c]
            for once, lengths, c in zip(still, self.lengths, coords, strict=True)
        )
        in_place = self.zero_copy.covers(self.j, peer, shape)
        self.receives.append(Message(self.j, peer, shape, (), in_place))
        number = len(self.receives) - 1
        if in_place:
            return number, _Memory(op, peer), ()
        strides = zip(still, _message_strides(shape, op.view.dims), strict=True)
        return number, None, tuple(0 if once else stride for once, stride in strides)


def _sends(rank: int, out: _Memory, op: _Memory, j: int, zero_copy: ZeroCopy) -> Iterator[Message]:
    """Enumerate the messages that bring this rank's part of operand ``j`` to its users."""
    if op.coords is None or op.held is None or _aligned(out, op):
        return
    free = op.placed.free
    where = {g: c for g, c in enumerate(op.coords) if g not in free}
    users = _users(out, op, op.held) if where or not op.coords else _strangers(rank, out, op)
    for peer, sections in users:
        if peer != rank and (not free or op.placed.source(where, peer) == rank):
            shape = _dense_shape(sections)
            strides = _message_strides(shape, op.placed.view.dims)
            in_place = zero_copy.covers(j, peer, shape)
            yield Message(j, peer, shape, _chunks(op, sections, strides), in_place)


def _aligned(out: _Memory, op: _Memory) -> bool:
    """Tell whether this rank, and those with copies of its part, hold just what they need."""
    same = out.held == op.held and out.placed.layout.grid == op.placed.layout.grid
    return same and set(out.placed.free) <= set(op.placed.free)


def _strangers(rank: int, out: _Memory, op: _Memory) -> Iterator[tuple[int, tuple[Sections, ...]]]:
    """Enumerate who needs what of an operand that this rank and others have copies of."""
    for peer in op.placed.strangers(rank, out.placed.layout.grid.last):
        needed = out.placed.owned(peer)
        if needed is not None:
            yield peer, tuple(_once(op, d, of) for d, of in enumerate(needed))


def _once(op: _Memory, d: int, sections: Sections) -> Sections:
    return _FIRST if op.placed.view.dims[d][0] < 0 else sections


def _users(
    out: _Memory, op: _Memory, held: tuple[Sections, ...]
) -> Iterator[tuple[int, tuple[Sections, ...]]]:
    """Enumerate, in order, the ranks that need something of what this rank holds, and what."""
    grid = out.placed.layout.grid
    # On one grid, receivers that have a copy of their own take that.
    still = op.placed.free if grid == op.placed.layout.grid else ()
    axis = {m.gdim: d for d, m in enumerate(out.placed.maps) if m}
    sections = [_once(op, d, of) for d, of in enumerate(held)]
    choices: list[Iterable[tuple[int, Sections]]] = []
    for g, n in enumerate(grid.sizes):
        asked = None if out.coords is None or g not in still else [out.coords[g]]
        if g in axis:
            choices.append(by_coord(divide(held[axis[g]], out.along(axis[g]), asked)))
            continue
        every = (out.placed.pinned[g],) if g in out.placed.pinned else range(n)
        choices.append([(c, ()) for c in every if asked is None or c in asked])
    for several in product(*choices):
        for g, d in axis.items():
            sections[d] = _once(op, d, several[g][1])
        yield grid.rank([c for c, _ in several]), tuple(sections)


@lru_cache(maxsize=1024)
def plan_parts(rank: int, placed: Placed) -> Part | None:
    """Plan what a rank holds of a view, for gathering it to, or scattering it from, one place.

    ``places`` says where each chunk lies in a dense array of the whole view. Of copies, only the
    first counts (gather); None if the rank holds nothing.
    """
    owned = placed.owned(rank)
    coords = placed.layout.grid.coords(rank)
    if owned is None or coords is None or any(coords[g] for g in placed.free):
        return None
    return part_of(rank, placed, owned)


def part_of(rank: int, placed: Placed, owned: tuple[Sections, ...]) -> Part:
    """Return the part of a view that a rank holds, copies included."""
    strides = strides_of(placed.view.shape)
    places = (
        [_place(s, s.start, 1, s.period, stride) for s in of]
        for of, stride in zip(owned, strides, strict=True)
    )
    whole = tuple(_ref(0, 0, several) for several in product(*places))
    shape = _dense_shape(owned)
    return Part(shape, _chunks(_Memory(placed, rank), owned, strides_of(shape)), whole)


class ReducePiece(NamedTuple):
    """A local piece of a reduction: memory, which of its axes are reduced, where it adds to."""

    shape: Ints
    memory: Ref
    axes: Ints
    sections: tuple[Section, ...]
    partial_shape: Ints
    partial: Ref


@lru_cache(maxsize=1024)
def plan_reduce(
    rank: int, placed: Placed, dropped: Ints
) -> tuple[Ints, tuple[ReducePiece, ...]] | None:
    """Plan the local part of a reduction over the axes ``dropped`` of a view.

    Returns the shape of this rank's partial result (the kept axes, in local order) and the pieces
    that add up to it; None if the rank holds nothing of the view.
    """
    owned = placed.owned(rank)
    if owned is None:
        return None
    memory = _Memory(placed, rank)
    kept = [d for d in range(len(owned)) if d not in dropped]
    shape = _dense_shape(owned[d] for d in kept)
    strides = strides_of(shape)
    dense = [
        dict(zip(owned[d], _dense(owned[d], stride), strict=True))
        for d, stride in zip(kept, strides, strict=True)
    ]
    pieces = []
    for sections in product(*owned):
        axes, at = list[int](), 0
        for d, s in enumerate(sections):
            n = len(_extents(s))
            if d in dropped:
                axes.extend(range(at, at + n))
            at += n
        keep = tuple(sections[d] for d in kept)
        pieces.append(
            ReducePiece(
                _fold(sections),
                memory.ref(sections),
                tuple(axes),
                sections,
                _fold(keep),
                _ref(0, 0, (of[s] for of, s in zip(dense, keep, strict=True))),
            )
        )
    return shape, tuple(pieces)


def group(placed: Placed, dropped: Ints, rank: int) -> tuple[int, ...]:
    """Return the ranks that get the same result of a reduction as ``rank``, ascending.

    They differ from it only along the grid dimensions of the reduced axes. Those of them that hold
    something of the view combine their partial results; the others get a copy.
    """
    grid = placed.layout.grid
    coords = grid.coords(rank)
    if coords is None or any(coords[g] != c for g, c in placed.pinned.items()):
        return ()
    moving = {m.gdim for d, m in enumerate(placed.maps) if m and d in dropped}
    choices = [range(n) if g in moving else (coords[g],) for g, n in enumerate(grid.sizes)]
    return tuple(sorted(grid.rank(c) for c in product(*choices)))
