"""Reductions: each rank reduces its part, partial results meet in a tree, everyone gets a copy.

A partial result is an array over the kept axes. Partial results combine in the order of the ranks,
in a binomial tree over the ranks that hold something, and travel back down the same way (as in
Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
2005); so the order of operations depends on the number of ranks, never on timing. Within a rank it
depends on the shape of its block (:mod:`distnb.engines.fusion.reduction_blocks`), or on the view
where that is not all of an array.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.engines.fusion.compiled_rows import best_of_rows
from distnb.engines.fusion.reduction_blocks import (
    Combiner,
    ReductionBlocks,
    Scratch,
    options,
    reduction_blocks,
)
from distnb.engines.runtime.exchange import Exchange
from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed
from distnb.measure.events import COMPUTE, Clock
from distnb.ops import table
from distnb.plans.transfer import (
    ReducePiece,
    group,
    plan_reduce,
    window,
)
from distnb.wire.protocol import Reduce

__all__ = ["Below", "OneProcess", "Tree", "Work", "plan", "run", "tree_of"]

_UP, _DOWN = 0, 1


class Tree:
    """A binomial tree over a list of members, seen from one of them; the first is the root."""

    def __init__(self, members: list[int], me: int) -> None:
        i, n = members.index(me), len(members)
        self.children: list[int] = []
        bit = 1
        while bit < n and not i & bit:
            if i + bit < n:
                self.children.append(members[i + bit])
            bit <<= 1
        self.parent = members[i - (i & -i)] if i else None


class Plan:
    """What one rank does in a reduction along axes: its pieces, and its places in the two trees."""

    def __init__(self, placed: Placed, axes: Ints, rank: int) -> None:
        self.view_shape = placed.view.shape
        self.whole = placed.view.is_whole(placed.shape)
        self.local = plan_reduce(rank, placed, axes)
        members = group(placed, axes, rank)
        holders = [r for r in members if placed.owned(r) is not None]
        rest = [r for r in members if r not in holders]
        # Where nobody holds anything each member has the identity, and nothing is sent.
        self.member = bool(members)
        self.up = Tree(holders, rank) if rank in holders else None
        self.down = Tree(holders + rest, rank) if holders and members else None
        #: Whether this rank has all there is to reduce.
        self.alone = len(holders) == 1 and not rest

        #: Number of the elements that this rank reduces.
        self.elements = sum(prod(p.shape) for p in self.local[1]) if self.local is not None else 0
        #: Messages this rank sends: its partial result up, the result down.
        self.owed = self._up() + [(r, _DOWN) for r in (self.down.children if self.down else [])]
        #: Messages this rank takes in.
        self.expected = [(r, _UP) for r in (self.up.children if self.up else [])] + self._down()

    def _up(self) -> list[tuple[int, int]]:
        return [(self.up.parent, _UP)] if self.up and self.up.parent is not None else []

    def _down(self) -> list[tuple[int, int]]:
        return [(self.down.parent, _DOWN)] if self.down and self.down.parent is not None else []


@lru_cache(maxsize=1024)
def plan(placed: Placed, axes: Ints, rank: int) -> Plan:
    """Return the plan of a reduction (the same object every time)."""
    return Plan(placed, axes, rank)


class Work(NamedTuple):
    """A reduction, and what one rank does in it."""

    command: Reduce
    plan: Plan
    #: Whether nobody talks: all ranks that would hold a copy of the result, which is empty.
    silent: bool


def run(
    work: Work,
    block: np.ndarray | Combiner | None,
    out: np.ndarray | None,
    exchange: Exchange,
    clock: Clock,
    scratch: Scratch,
    compiler: Any = None,
) -> None:
    """Reduce a rank's block and leave the result in ``out``, the rank's part of it.

    In place of the block there may be what has taken in all of its elements. ``compiler`` gives
    compiled loops, if there are to be any.
    """
    if not work.plan.member or out is None or out.size == 0:
        return
    positions = table.REDUCTIONS[work.command.op].ufunc is None
    kind: Any = _Positions(work, compiler) if positions else _Values(work, scratch)
    before = clock.switch(COMPUTE)
    partial = kind.local(block, out.shape)
    clock.switch(before)
    if work.plan.up is not None:
        other = np.empty_like(partial)
        for child in work.plan.up.children:
            exchange.receive(child, _UP, other)
            before = clock.switch(COMPUTE)
            kind.combine(partial, other)
            clock.switch(before)
        if work.plan.up.parent is not None:
            exchange.send(work.plan.up.parent, _UP, partial)
    if work.plan.down is not None:
        if work.plan.down.parent is not None:
            partial = np.empty_like(partial)
            exchange.receive(work.plan.down.parent, _DOWN, partial)
        for child in work.plan.down.children:
            exchange.send(child, _DOWN, partial)
    found = kind.result(partial)
    if not np.may_share_memory(found, out):  # what took in the elements may have made it there
        out[...] = found


class Below(NamedTuple):
    """A rank of a tree, and those whose partial results it combines with its own, in order."""

    rank: int
    children: tuple[Below, ...]


def tree_of(holders: list[int]) -> Below:
    """Return who combines what, of ranks in ascending order that hold something of one result.

    >>> tree_of([0, 1, 4])
    Below(rank=0, children=(Below(rank=1, children=()), Below(rank=4, children=())))
    """
    return _below(holders, holders[0])


def _below(holders: list[int], rank: int) -> Below:
    children = Tree(holders, rank).children
    return Below(rank, tuple([_below(holders, child) for child in children]))


class OneProcess:
    """A reduction as all ranks would do it, one after the other, in the process that has it all.

    Parameters
    ----------
    command : Reduce
        What to do; the numbers of its bases do not matter.
    placed : Placed
        Who has which elements of the operand.
    size : int
        Number of ranks.
    """

    def __init__(self, command: Reduce, placed: Placed, size: int) -> None:
        works = [Work(command, plan(placed, command.axes, r), False) for r in range(size)]
        self._parts = [_Values(work, Scratch()) for work in works]
        #: Of threads that do the same, one after the other has the memory of intermediate results.
        self._lock = threading.Lock()
        self._shapes = [placed.layout.local_shape(placed.shape, r) for r in range(size)]

    def rows(self) -> Ints | None:
        """Return the shape as which NumPy, along axis 1, combines all elements in this order.

        There is one where no two ranks combine what they have, and each has whole blocks, one after
        the other. None if it is not.
        """
        others, kinds = 0, set()
        for part, shape in zip(self._parts, self._shapes, strict=True):
            axes, tree = part.work.command.axes, part.work.plan.up
            if tree is None or shape is None or not prod(shape):
                continue
            together = tree.parent is not None or tree.children or not part.work.plan.whole
            how = None if together else reduction_blocks(shape, axes)
            found = None if how is None else how.rows
            if found is None:
                return None
            others += found[0]
            kinds.add(found[1:])
        return (others, *kinds.pop()) if len(kinds) == 1 else None

    def run(self, blocks: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Reduce the ranks' blocks; of a result that several have, only the first is written."""
        with self._lock:
            self._run(blocks, outs)

    def _run(self, blocks: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        for rank, out in enumerate(outs):
            if self.writes(rank) and out.size:
                out[...] = self._combined(rank, blocks, out.shape)

    def writes(self, rank: int) -> bool:
        """Tell whether a rank's part of the result is written: if no rank before it has a copy."""
        plan = self._parts[rank].work.plan
        return plan.member and (plan.up.parent is None if plan.up else plan.down is None)

    def _combined(self, rank: int, blocks: Sequence[np.ndarray], shape: Ints) -> Any:
        """Return the partial result of a rank and of those below it in the tree."""
        part = self._parts[rank]
        partial, tree = part.local(blocks[rank], shape), part.work.plan.up
        for child in tree.children if tree is not None else ():
            part.combine(partial, self._combined(child, blocks, shape))
        return partial


class _Values:
    """Partial results of a ufunc."""

    def __init__(self, work: Work, scratch: Scratch) -> None:
        self.work = work
        self.scratch = scratch
        self.ufunc: Any = table.REDUCTIONS[work.command.op].ufunc
        self.dtype = np.dtype(work.command.dtype)
        self.options = options(self.ufunc, self.dtype)

    def local(self, block: np.ndarray | Combiner | None, shape: Ints) -> np.ndarray:
        """Reduce what this rank holds."""
        if self.work.plan.local is None or block is None:
            return self.identity(shape)
        kept, pieces = self.work.plan.local
        if isinstance(block, Combiner):
            return block.result(kept)
        how = self._blocks(block)
        if how is None:
            return self._pieces(block, kept, pieces)
        if how.one and block.dtype == self.dtype:  # what a combiner would do of it, and no more
            return np.asarray(self.ufunc.reduce(block.reshape(-1), **self.options)).reshape(kept)
        combiner = Combiner(self.ufunc, self.dtype, how, self.scratch)
        combiner.all(block.reshape(how.shape))
        return combiner.result(kept)

    def _blocks(self, block: np.ndarray) -> ReductionBlocks | None:
        """Return how a block is cut, if this rank reduces all of it."""
        whole = self.work.plan.whole
        return reduction_blocks(block.shape, self.work.command.axes) if whole else None

    def _pieces(self, block: np.ndarray, kept: Ints, pieces: tuple[ReducePiece, ...]) -> np.ndarray:
        """Reduce the pieces of a view, each in its place of the partial result."""
        found = np.empty(kept, self.dtype)
        seen: set[int] = set()
        for piece in pieces:
            data = window(block, piece.shape, piece.memory.offset, piece.memory.strides)
            value = self.ufunc.reduce(data, axis=piece.axes, **self.options)
            place = window(found, piece.partial_shape, piece.partial.offset, piece.partial.strides)
            if piece.partial.offset in seen:
                self.ufunc(place, value, out=place, casting="unsafe")
            else:
                place[...] = value
                seen.add(piece.partial.offset)
        return found

    def identity(self, shape: Ints) -> np.ndarray:
        """Return the result where there is nothing to reduce (NumPy refused if there is none)."""
        found = np.empty(shape, self.dtype)
        if self.ufunc.identity is not None:
            found[...] = np.asarray(self.ufunc.identity).astype(self.dtype)  # -1 is all bits
        return found

    def combine(self, partial: np.ndarray, other: np.ndarray) -> None:
        self.ufunc(partial, other, out=partial, casting="unsafe")

    def result(self, partial: np.ndarray) -> np.ndarray:
        return partial


class _Positions:
    """Partial results of argmin and argmax: the best value and its position in the view."""

    def __init__(self, work: Work, compiler: Any = None) -> None:
        self.work = work
        self.compiler = compiler
        self.function = table.REDUCTIONS[work.command.op].function
        self.better: Any = np.less if work.command.op == "argmin" else np.greater
        #: positions along the reduced axes count in C order
        self.scale = _scales(work.plan.view_shape, work.command.axes)

    def local(self, block: np.ndarray | None, shape: Ints) -> np.ndarray:
        dtype = np.uint8 if block is None else block.dtype
        kind = np.dtype([("value", dtype), ("at", np.intp)])
        if self.work.plan.local is None or block is None:
            return np.empty(shape, kind)
        kept, pieces = self.work.plan.local
        if self.work.plan.alone and len(pieces) == 1:  # there is nothing to compare with
            return self._places(pieces[0], self._best(pieces[0], block)[1]).reshape(shape)
        found = np.empty(kept, kind)
        seen: set[int] = set()
        for piece in pieces:
            value = self._piece(piece, block)
            place = window(found, piece.partial_shape, piece.partial.offset, piece.partial.strides)
            if piece.partial.offset in seen:
                self.combine(place, value)
            else:
                place[...] = value
                seen.add(piece.partial.offset)
        return found

    def _piece(self, piece: ReducePiece, block: np.ndarray) -> np.ndarray:
        flat, at = self._best(piece, block)
        found = np.empty(at.shape, np.dtype([("value", block.dtype), ("at", np.intp)]))
        found["value"] = np.take_along_axis(flat, at[..., None], axis=-1)[..., 0]
        found["at"] = self._places(piece, at)
        return found

    def _best(self, piece: ReducePiece, block: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return a piece with its reduced axes as the last one, and the best positions there."""
        data = window(block, piece.shape, piece.memory.offset, piece.memory.strides)
        kept = [a for a in range(data.ndim) if a not in piece.axes]
        moved = data.transpose(kept + list(piece.axes))
        flat = moved.reshape(moved.shape[: len(kept)] + (-1,))
        return flat, self._where(flat)

    def _where(self, rows: np.ndarray) -> Any:
        """Return where the best along the last axis is."""
        better = "<" if self.better is np.less else ">"
        found = None if self.compiler is None else best_of_rows(self.compiler, rows, better)
        return self.function(rows, axis=-1) if found is None else found

    def _places(self, piece: ReducePiece, at: Any) -> np.ndarray:
        """Return where in the view positions in a piece are, which count its reduced axes' runs."""
        axes = self.work.command.axes
        sections = [piece.sections[d] for d in axes]
        flat = np.ravel(at)  # NumPy 2.4 errs with more than 8,192 indices in a column
        found = np.zeros(flat.shape, np.intp)
        places = np.unravel_index(flat, [s.count * s.block for s in sections]) if axes else ()
        for d, s, place in zip(axes, sections, places, strict=True):
            run, within = np.divmod(place, s.block)
            found += (s.start + run * s.period + within) * self.scale[d]
        return found.reshape(np.shape(at))

    def combine(self, partial: np.ndarray, other: np.ndarray) -> None:
        """Keep the better value; of equal ones the first; a NaN beats everything."""
        a, b = partial["value"], other["value"]
        nan_a, nan_b = a != a, b != b  # noqa: PLR0124
        first = other["at"] < partial["at"]
        tie = (a == b) | (nan_a & nan_b)
        with np.errstate(invalid="ignore"):  # NumPy's order of complex numbers tells of NaN
            better = self.better(b, a)
        take = (better & ~nan_a) | (nan_b & ~nan_a) | (tie & first)
        np.copyto(partial, other, where=take)

    def result(self, partial: np.ndarray) -> np.ndarray:
        return partial["at"] if partial.dtype.names else partial


def _scales(shape: Ints, axes: Ints) -> dict[int, int]:
    """Return the weight of each reduced axis in a position."""
    scale, found = 1, {}
    for d in reversed(axes):
        found[d] = scale
        scale *= shape[d]
    return found
