"""How a rank walks through the pieces of a group: loops, tiles, and what is delayed.

Where a group writes a base that it also reads through another view (a *write-after-read hazard*),
results are delayed in a buffer, until no later tile reads the old values under them: for a stencil
assigned back into the array it reads, that is one tile, and one pass over memory in place of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt, prod
from typing import NamedTuple

from distnb.engines.fusion.amounts import touched
from distnb.engines.fusion.groups import GroupSignature, GroupStep
from distnb.engines.fusion.reduction_blocks import ReductionBlocks, Tile, reduction_blocks, tiles
from distnb.geometry.layout import Ints
from distnb.plans.transfer import (
    LOCAL,
    Piece,
    Plan,
    ZeroCopy,
    plan_apply,
)

__all__ = ["TILE", "GroupPlan", "Loop", "group_plan", "hazards", "sources"]

#: Elements of a tile: a few buffers of 8 bytes an element stay in a core's L2 and L3 cache, and
#: what Python adds for each tile is little (1 << 15 was 10 % slower, 1 << 18 no faster).
TILE = 1 << 16
#: Ranks of a node that share memory, and the bytes from which they read messages in place.
NodeReads = tuple[frozenset[int], int]
#: A tile that goes into a reduction may be larger, for it has one more call.
_REDUCED = 2
#: A tile that is delayed may be larger, so that the rows that are read again fit into it.
_DELAYED = 1 << 18


class Loop(NamedTuple):
    """A piece with its axes merged and sorted: longest strides first, and lengths of tiles."""

    shape: Ints
    offsets: Ints
    strides: tuple[Ints, ...]
    tile: Ints
    lag: int = 0  # rows for which results that are delayed wait
    small: bool = False  # whether it is one tile, and not worth to be compiled

    def tiles(self, once: bool = False) -> Iterator[Tile]:
        """Enumerate the tiles, in order of memory (all as one tile if ``once``)."""
        return tiles(self.shape, self.shape if once else self.tile)


def loop_of(piece: Piece, limit: int) -> Loop:
    """Return the loop over a piece, in the order of the output's memory.

    Axes that all operands walk through alike become one.
    """
    order = sorted(range(len(piece.shape)), key=lambda d: -abs(piece.refs[0].strides[d]))
    axes = [
        (piece.shape[d], [r.strides[d] for r in piece.refs]) for d in order if piece.shape[d] != 1
    ]
    merged: list[tuple[int, list[int]]] = []
    for n, steps in axes:
        if merged and all(a == b * n for a, b in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = (merged[-1][0] * n, steps)
        else:
            merged.append((n, steps))
    shape = tuple(n for n, _ in merged)
    strides = tuple(tuple(steps[j] for _, steps in merged) for j in range(len(piece.refs)))
    offsets = tuple(r.offset for r in piece.refs)
    tile = _tile(shape, strides, limit)
    small = tile == shape and 0 < prod(shape) < TILE
    return Loop(shape, offsets, strides, tile, small=small)


def _tile(shape: Ints, strides: Sequence[Ints], limit: int) -> Ints:
    """Return the lengths of a tile: whole inner axes as far as they fit.

    Where an operand runs across memory (a transposed view), tiles are square, so that each line
    of the cache that it touches is used up.
    """
    crossed = len(shape) > 1 and any(0 < abs(s[-2]) < abs(s[-1]) for s in strides)
    lengths: list[int] = []
    left = limit
    for n in reversed(shape):
        most = isqrt(limit) if crossed and not lengths else left
        parts = -(-n // max(1, most))
        lengths.insert(0, -(-n // parts))
        left //= lengths[0]
    return tuple(lengths)


class GroupPlan(NamedTuple):
    """How a rank runs a signature.

    ``inputs`` are the slots in memory, in the order of a piece's references. Results that are
    still to be read elsewhere are *delayed*: for one tile in the first piece, whose ``loops`` and
    order are fitted to that, while what other pieces read of them is saved before
    (``saved``: piece, number of the reference). Where that is not possible, ``whole`` is set:
    results go to temporaries as large as the outputs. ``blocks`` says how tiles go into the group's
    tail; where that is None, what it reduces is stored. ``elements`` of the result are this rank's,
    and computing them touches so many bytes of memory.
    """

    transfer: Plan
    inputs: Ints
    loops: tuple[Loop, ...]
    saved: tuple[tuple[int, int], ...]
    whole: bool
    blocks: ReductionBlocks | None = None
    elements: int = 0
    touched: int = 0


@lru_cache(maxsize=1024)
def group_plan(rank: int, signature: GroupSignature, node: NodeReads | None = None) -> GroupPlan:
    """Return how a rank runs a group.

    ``node``: the ranks of its node that share memory, and the bytes from which messages between
    them are read in place. What the group writes is not.
    """
    found = _group_plan(rank, signature, node)
    pieces = found.transfer.pieces
    elements = sum(prod(p.shape) for p in pieces)
    return found._replace(elements=elements, touched=_touched(signature, found))


def _touched(signature: GroupSignature, found: GroupPlan) -> int:
    """Return the bytes that are read, and those that are written."""
    slots, inputs = signature.slots, found.inputs
    taken = signature.tail[0] if signature.tail is not None and found.blocks is not None else None
    operands = [(slots[s].base, slots[s].dtype.itemsize) for s in inputs]
    nbytes = 0
    for those in (_read(signature), _written(signature)):
        chosen = [i for i, s in enumerate(inputs) if s in those and slots[s].kept and s != taken]
        nbytes += touched(found.transfer.pieces, operands, chosen)
    return nbytes


def _group_plan(rank: int, signature: GroupSignature, node: NodeReads | None) -> GroupPlan:
    slots = signature.slots
    lead = signature.steps[0].outs[0]
    inputs = (lead, *(s for s in range(len(slots)) if s != lead and slots[s].kept))
    ins = tuple(slots[s].placed for s in inputs[1:])
    plan = plan_apply(rank, slots[lead].placed, ins, node and _zero_copy(signature, inputs, *node))
    first = signature.steps[0].op  # a function of the user's may make temporaries
    alone = len(signature.steps) == 1 and slots[lead].kept and first != "map"
    limit = max(1, prod(slots[lead].placed.view.shape)) if alone else TILE
    clashes = _clashes(signature, inputs)
    if not clashes and signature.tail is not None:
        found = _with_tail(rank, signature, plan, inputs)
        if found is not None:
            return found
    if not clashes:
        loops = tuple(loop_of(p, limit) for p in plan.pieces)
        return GroupPlan(plan, inputs, loops, (), False)
    return _delaying(GroupPlan(plan, inputs, (), (), False), clashes)


def _with_tail(rank: int, signature: GroupSignature, plan: Plan, inputs: Ints) -> GroupPlan | None:
    """Fit tiles to the reduction's blocks, if one piece is all that it reduces on this rank."""
    assert signature.tail is not None
    slot, axes = signature.tail
    placed = signature.slots[slot].placed
    shape = placed.layout.local_shape(placed.shape, rank)
    if len(plan.pieces) != 1 or plan.pieces[0].shape != shape:
        return None
    how = reduction_blocks(shape, axes)
    if how is None:
        return None
    refs = plan.pieces[0].refs
    steps = tuple(tuple(s for n, s in zip(shape, r.strides, strict=True) if n != 1) for r in refs)
    tile = how.tile(_REDUCED * TILE)
    small = tile == how.shape and prod(tile) < TILE
    loop = Loop(how.shape, tuple(r.offset for r in refs), steps, tile, small=small)
    return GroupPlan(plan, inputs, (loop,), (), False, how)


def _zero_copy(
    signature: GroupSignature, inputs: Ints, ranks: frozenset[int], nbytes: int
) -> ZeroCopy:
    written = {signature.slots[s].base for s in _written(signature)}
    slots = [signature.slots[s] for s in inputs[1:]]
    least = (0 if s.base in written else -(-nbytes // s.dtype.itemsize) for s in slots)
    return ZeroCopy(ranks, tuple(least))


def hazards(signature: GroupSignature) -> set[int]:
    """Return the slots that are written while other views of the same elements are read."""
    return {written for written, _ in _clashing(signature)}


def _clashing(signature: GroupSignature) -> list[tuple[int, int]]:
    """Return the pairs (written, read) of slots that are different views of the same elements."""
    slots, read = signature.slots, _read(signature)
    return [
        (w, r)
        for w in _written(signature)
        for r in read
        if r != w
        and slots[r].base == slots[w].base
        and slots[r].placed.view.meets(slots[w].placed.view)
    ]


def _written(signature: GroupSignature) -> set[int]:
    return {o for step in signature.steps for o in step.outs}


def _read(signature: GroupSignature) -> set[int]:
    """Return the slots that are read before they are written."""
    found: set[int] = set()
    written: set[int] = set()
    for step in signature.steps:
        found |= {s for s in sources(step) if s not in written}
        written.update(step.outs)
    return found


def sources(step: GroupStep) -> Iterator[int]:
    """Enumerate the slots that a step reads."""
    yield from (s for s in step.ins if s >= 0)
    if step.mask is not None:
        yield step.mask


def _clashes(signature: GroupSignature, inputs: Ints) -> list[tuple[int, int]]:
    """Return the pairs (written, read) of references to the same elements."""
    at = {s: i for i, s in enumerate(inputs)}
    return [(at[w], at[r]) for w, r in _clashing(signature)]


def _delaying(found: GroupPlan, clashes: list[tuple[int, int]]) -> GroupPlan:
    """Fit the pieces to results that are delayed, or choose whole temporaries."""
    plan = found.transfer
    sizes = [prod(p.shape) for p in plan.pieces]
    whole = found._replace(loops=tuple(loop_of(p, TILE) for p in plan.pieces), whole=True)
    if not plan.pieces:
        return whole
    if plan.ready == 0:
        return whole
    first = max(range(plan.ready), key=sizes.__getitem__)
    if sum(sizes) > 2 * sizes[first]:
        return whole
    order = [first, *(i for i in range(len(sizes)) if i != first)]
    pieces = tuple(plan.pieces[i] for i in order)
    main = _lagging(pieces[0], clashes)
    if main is None:
        return whole
    readers = sorted({r for _, r in clashes})
    saved = tuple(
        (i, r) for i, p in enumerate(pieces) if i for r in readers if p.refs[r].source == LOCAL
    )
    loops = (main, *(loop_of(p, TILE) for p in pieces[1:]))
    return found._replace(transfer=plan._replace(pieces=pieces), loops=loops, saved=saved)


def _lagging(piece: Piece, clashes: list[tuple[int, int]]) -> Loop | None:
    """Return a loop whose tiles are long enough to delay results for one tile only."""
    loop = loop_of(piece, TILE)
    if not loop.shape:
        return loop
    row = prod(loop.shape[1:])
    lag = 0
    for w, r in clashes:
        if loop.strides[w] != loop.strides[r]:
            return None
        lag = max(lag, _lag(loop, w, loop.offsets[r] - loop.offsets[w]))
    rows = max(lag, TILE // row, 1)
    if rows * row > max(_DELAYED, row) or rows < lag:
        return None
    return loop._replace(tile=(min(rows, loop.shape[0]), *loop.shape[1:]), lag=lag)


def _lag(loop: Loop, written: int, distance: int) -> int:
    """Return for how many rows a result must be delayed for a read ``distance`` elements off.

    Row i of the read and row i - k of the write meet where ``|distance + k*stride| <= extent``.
    """
    step = loop.strides[written][0]
    extent = sum((n - 1) * abs(s) for n, s in zip(loop.shape, loop.strides[written], strict=True))
    extent -= (loop.shape[0] - 1) * abs(step)
    return max(0, (extent - (distance if step > 0 else -distance)) // abs(step))
