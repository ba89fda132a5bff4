"""How much there is to do for a rank: elements that it holds, and bytes that computing touches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed
from distnb.plans.transfer import Piece, Ref
from distnb.wire.messages import Param
from distnb.wire.protocol import Collective, Command, Create, Fetch, Local, Operand, Reduce

__all__ = ["elements_of", "of_blocks", "touched"]


def elements_of(command: Command, specs: dict[int, Any], rank: int) -> int:
    """Return how many elements a rank holds of what a command writes, reduces or only reads.

    The group of an elementwise command knows that itself.
    """
    if isinstance(command, Create):
        local = command.layout.local_shape(command.shape, rank)
        return 0 if local is None else prod(local)
    operand = _of(command)
    if operand is None or isinstance(operand.view, Param):  # a single element somewhere
        return 0
    spec = specs[operand.base]
    return Placed(spec.shape, spec.layout, operand.view).held(rank)


def _of(command: Command) -> Operand | None:
    if isinstance(command, Reduce | Fetch):
        return command.operand
    if isinstance(command, Local):
        return command.out
    if isinstance(command, Collective):
        return next(iter((*command.outs, *command.ins)), None)
    return None


def of_blocks(bases: Sequence[Any]) -> int:
    """Return the bytes of a rank's blocks, all of which are read or written."""
    return sum(base.block.nbytes for base in bases if base.block is not None)


def touched(
    pieces: Sequence[Piece], operands: Sequence[tuple[Any, int]], chosen: Collection[int]
) -> int:
    """Return the bytes of distinct elements under some of a group's references.

    ``operands`` are (base, bytes of an element) for each reference, ``chosen`` the references to
    count. Views of one base that overlap, as in a stencil, count once: an element that several of
    them read comes from memory once, and then from the cache. What that saves is found from the
    range of memory under them, so that it is exact for dense views.
    """
    found: dict[tuple[Any, int], list[int]] = {}
    for piece in pieces:
        for i in chosen:
            base, size = operands[i]
            ref = piece.refs[i]
            low, high = _range(piece.shape, ref)
            entry = found.setdefault((base, ref.source), [0, low, high, size])
            entry[0] += prod(n for n, s in zip(piece.shape, ref.strides, strict=True) if s)
            entry[1:3] = min(entry[1], low), max(entry[2], high)
    return sum(min(count, high - low) * size for count, low, high, size in found.values())


def _range(shape: Ints, ref: Ref) -> tuple[int, int]:
    """Return the first element in memory that a reference points at, and the end of the last."""
    steps = [(n - 1) * s for n, s in zip(shape, ref.strides, strict=True)]
    low = ref.offset + sum(s for s in steps if s < 0)
    return low, ref.offset + sum(s for s in steps if s > 0) + 1
