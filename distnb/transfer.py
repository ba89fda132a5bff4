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

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from distnb.layout import Ints, strides_of
from distnb.slices import Section, Sections, intersect, interval, total
from distnb.views import AxisMap, Placed

__all__ = [
    "LOCAL",
    "Chunk",
    "Message",
    "Part",
    "Piece",
    "Plan",
    "Ref",
    "plan_apply",
    "plan_parts",
    "plan_reduce",
]

#: Source of a piece's operand that lies in this rank's own memory.
LOCAL = -1


class Ref(NamedTuple):
    """Where a piece of an operand is: a buffer, and (offset, strides) in elements."""

    source: int
    offset: int
    strides: Ints


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
    """A dense message of one operand: whom from or to, its shape, what to pack (senders)."""

    operand: int
    peer: int
    shape: Ints
    chunks: tuple[Chunk, ...]


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


class _Span(NamedTuple):
    """One section of an axis for one operand: local start, step in a run, step between runs."""

    start: int
    inner: int
    outer: int


def _fold(sections: Iterable[Section]) -> Ints:
    """Return the shape of a product of sections, two axes (runs, block) where both exceed one."""
    return tuple(n for s in sections for n in _extents(s))


def _extents(s: Section) -> Ints:
    if s.count == 1:
        return (s.block,)
    return (s.count,) if s.block == 1 else (s.count, s.block)


def _steps(s: Section, span: _Span) -> Ints:
    if s.count == 1:
        return (span.inner,)
    return (span.outer,) if s.block == 1 else (span.outer, span.inner)


def _ref(
    source: int, base: int, strides: Ints, sections: Iterable[Section], spans: Iterable[_Span]
) -> Ref:
    """Combine one span for each axis into an offset and strides."""
    offset, steps = base, list[int]()
    for s, span, stride in zip(sections, spans, strides, strict=True):
        offset += span.start * stride
        steps.extend(step * stride for step in _steps(s, span))
    return Ref(source, offset, tuple(steps))


class _Memory:
    """A rank's part of a base, seen through a view: maps sections of the view to local memory."""

    def __init__(self, placed: Placed, rank: int) -> None:
        layout, view = placed.layout, placed.view
        self.maps = placed.maps
        self.dims = view.dims
        shape = placed.local_shape(rank)
        if shape is None:  # nothing here: such an operand is only ever read from messages
            self.strides: Ints = ()
            self.base = 0
            return
        strides = strides_of(shape)
        self.strides = tuple(strides[a] if a >= 0 else 0 for a, _, _ in view.dims)
        still = (
            layout.axes[a].to_local(placed.shape[a], layout.parts(a), i) * strides[a]
            for a, i in view.fixed
        )
        self.base = sum(still)

    def span(self, d: int, s: Section) -> _Span:
        m, (axis, start, step) = self.maps[d], self.dims[d]
        if m is not None:
            return _Span(*m.locate(s))
        if axis < 0:
            return _Span(0, 0, 0)
        return _Span(start + step * s.start, step, step * s.period)

    def ref(self, sections: tuple[Section, ...]) -> Ref:
        spans = [self.span(d, s) for d, s in enumerate(sections)]
        return _ref(LOCAL, self.base, self.strides, sections, spans)


class _Packed:
    """A dense message, seen as memory: the sections of each axis one after the other."""

    def __init__(self, source: int, sections: tuple[Sections, ...]) -> None:
        self.source = source
        self.sections = sections
        self.shape = tuple(total(s) for s in sections)
        self.strides = strides_of(self.shape)

    def span(self, d: int, s: Section) -> _Span:
        """Locate ``s``, which lies within one of the axis's sections, in the dense message."""
        at = 0
        for whole in self.sections[d]:
            run, into = divmod(s.start - whole.start, whole.period)
            if 0 <= run < whole.count and into < whole.block:
                outer = (
                    s.period // whole.period * whole.block
                    if s.period % whole.period == 0
                    else s.period
                )
                return _Span(at + run * whole.block + into, 1, outer)
            at += whole.block * whole.count
        raise AssertionError(f"section {s} is not in the message {self.sections[d]}")

    def ref(self, sections: tuple[Section, ...]) -> Ref:
        spans = [self.span(d, s) for d, s in enumerate(sections)]
        return _ref(self.source, 0, self.strides, sections, spans)

    def chunks(self, memory: _Memory) -> Iterator[Chunk]:
        """Enumerate the copies that fill the message (or are filled from it)."""
        for sections in product(*self.sections):
            yield Chunk(_fold(sections), memory.ref(sections), self.ref(sections))


#: A broadcast axis travels once: its message holds index 0 alone.
_FIRST = Section(0, 1, 1, 1)


def _meet(a: Sections, b: Sections) -> Sections:
    return tuple(sorted(p for x in a for y in b for p in intersect(x, y)))


def _message_sections(
    out: tuple[Sections, ...], operand: Placed, where: dict[int, int]
) -> tuple[Sections, ...]:
    """Return what of an operand at grid coordinates ``where`` the owner of ``out`` needs.

    Sender and receiver call this with the same arguments, so they agree on the order.
    """
    found: list[Sections] = []
    for d, (mine, m) in enumerate(zip(out, operand.maps, strict=True)):
        if operand.view.dims[d][0] < 0:
            found.append((_FIRST,))
        elif m is None:
            found.append(mine)
        else:
            found.append(_meet(mine, m.owned(where[m.gdim])))
    return tuple(found)


class _Strip(NamedTuple):
    """A section of one axis in which each operand's coordinate is constant (-1: not split)."""

    section: Section
    coords: Ints


def _strips(mine: Sections, maps: list[AxisMap | None]) -> list[_Strip]:
    """Split one axis where the owner of any operand changes.

    Each strip lies within one section of what each operand's owner would send
    (``_message_sections``), so that its place in a message is affine.
    """
    strips = [_Strip(s, ()) for s in mine]
    for j, m in enumerate(maps):
        if m is None:
            strips = [_Strip(s, (*c, -1)) for s, c in strips]
            continue
        owners = sorted({c for s in mine for c in m.candidates(s)})
        parts = [(p, c) for c in owners for p in _meet(mine, m.owned(c))]
        if all(other is None for other in maps[:j]):
            strips = [_Strip(p, (-1,) * j + (c,)) for p, c in parts]
        else:
            strips = [
                _Strip(q, (*cs, c)) for s, cs in strips for p, c in parts for q in intersect(s, p)
            ]
    return strips


@lru_cache(maxsize=4096)
def plan_apply(rank: int, out: Placed, ins: tuple[Placed, ...]) -> Plan:
    """Plan an elementwise operation: views ``ins`` of the shape of ``out``, computed at ``out``.

    Laws: over all ranks, the output pieces partition the output view; every send has one receive
    with the same shape and order; aligned operands send nothing.
    """
    mine = out.owned(rank)
    receives: list[Message] = []
    pieces: list[Piece] = []
    late: list[Piece] = []
    if mine is not None:
        _plan_pieces(rank, out, ins, mine, receives, pieces, late)
    sends = tuple(m for j, op in enumerate(ins) for m in _sends(rank, out, op, j))
    return Plan(sends, tuple(receives), tuple(pieces + late), len(pieces))


def _plan_pieces(
    rank: int,
    out: Placed,
    ins: tuple[Placed, ...],
    mine: tuple[Sections, ...],
    receives: list[Message],
    ready: list[Piece],
    late: list[Piece],
) -> None:
    memory = [_Memory(p, rank) for p in (out, *ins)]
    messages: dict[tuple[int, Ints], _Packed | None] = {}
    strips = [_strips(m, [op.maps[d] for op in ins]) for d, m in enumerate(mine)]
    for strip in product(*strips):
        sections = tuple(s.section for s in strip)
        refs = [memory[0].ref(sections)]
        for j, op in enumerate(ins):
            key = (j, tuple(s.coords[j] for s in strip))
            if key not in messages:
                messages[key] = _receive(rank, op, j, key[1], mine, receives)
            packed = messages[key]
            if packed is None:
                refs.append(memory[j + 1].ref(sections))
            else:
                refs.append(_ref_in_message(packed, op, sections))
        here = all(r.source == LOCAL for r in refs)
        (ready if here else late).append(Piece(_fold(sections), tuple(refs)))


def _ref_in_message(packed: _Packed, op: Placed, sections: tuple[Section, ...]) -> Ref:
    """Locate a piece in a message, in which broadcast axes stand still."""
    spans = [
        _Span(0, 0, 0) if op.view.dims[d][0] < 0 else packed.span(d, s)
        for d, s in enumerate(sections)
    ]
    return _ref(packed.source, 0, packed.strides, sections, spans)


def _receive(
    rank: int, op: Placed, j: int, coords: Ints, mine: tuple[Sections, ...], receives: list[Message]
) -> _Packed | None:
    """Return the message that brings operand ``j`` from grid coordinates; None if it is here."""
    where = dict(op.pinned)
    where.update((m.gdim, c) for m, c in zip(op.maps, coords, strict=True) if m)
    peer = op.source(where, rank)
    if peer == rank:
        return None
    packed = _Packed(len(receives), _message_sections(mine, op, where))
    receives.append(Message(j, peer, packed.shape, ()))
    return packed


def _sends(rank: int, out: Placed, op: Placed, j: int) -> Iterator[Message]:
    """Enumerate the messages that bring this rank's part of operand ``j`` to its users."""
    coords = op.layout.grid.coords(rank)
    held = op.owned(rank)
    if coords is None or held is None:
        return
    if len(op.free) == len(coords) and op.layout.grid.covers(out.layout.grid):
        return  # everyone has a copy
    where = {g: coords[g] for g in range(len(coords)) if g not in op.free}
    for peer in _receivers(rank, out, op, held):
        if peer == rank or op.source(where, peer) != rank:
            continue
        needed = out.owned(peer)
        if needed is None:
            continue
        sections = _message_sections(needed, op, where)
        packed = _Packed(0, sections)
        if 0 in packed.shape:
            continue
        chunks = tuple(packed.chunks(_Memory(op, rank)))
        yield Message(j, peer, packed.shape, chunks)


def _receivers(rank: int, out: Placed, op: Placed, held: tuple[Sections, ...]) -> Iterator[int]:
    """Enumerate, in order, the ranks whose part of the output may need what this rank holds."""
    grid = out.layout.grid
    choices: list[Iterable[int]] = [range(n) for n in grid.sizes]
    # On one grid, receivers that have a copy of their own take that.
    own = grid.coords(rank) or ()
    still = {g: own[g] for g in op.free} if grid == op.layout.grid else {}
    for g, c in (still | out.pinned).items():
        choices[g] = (c,) if still.get(g, c) == c else ()
    for m, sections in zip(out.maps, held, strict=True):
        if m is None:
            continue
        if m.gdim in still:
            meets = any(_meet(sections, m.owned(still[m.gdim])))
            choices[m.gdim] = choices[m.gdim] if meets else ()
        else:
            choices[m.gdim] = sorted({c for s in sections for _, c in m.split(s)})
    return (grid.rank(c) for c in product(*choices))


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
    packed = _Packed(0, owned)
    whole = _Packed(0, tuple(interval(0, n) for n in placed.view.shape))
    chunks = tuple(packed.chunks(_Memory(placed, rank)))
    places = tuple(whole.ref(sections) for sections in product(*owned))
    return Part(packed.shape, chunks, places)


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
    packed = _Packed(0, tuple(owned[d] for d in kept))
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
                packed.ref(keep),
            )
        )
    return packed.shape, tuple(pieces)


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
    return tuple(grid.rank(c) for c in product(*choices))
