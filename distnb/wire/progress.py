"""How far an engine is in its batches: one integer, which it stores before each thing that it does.

It lies in the notebook's segment, and so is there when the engine is not. It tells the batch, how
many of its commands are done, and how many may have been begun. Commands are counted in their
order, in which all but creations and deletions run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from distnb.geometry.layout import Ints

__all__ = ["BATCH", "Progress", "batch_of", "marks", "progress"]

#: Bits of a number of commands; and of two of them, above which a note has the batch.
_BITS, BATCH = 16, 32
#: Stands for any number from here on.
_MANY = (1 << _BITS) - 1


class Progress(NamedTuple):
    """How many commands of a batch an engine, or all of them, have done, and may have begun."""

    done: int
    begun: int


def batch_of(note: Any) -> Any:
    """Return the batch of a note, or those of an array of them.

    >>> batch_of(7 << BATCH)
    7
    """
    return note >> BATCH


def marks(items: Sequence[tuple[Ints, bool]], count: int) -> list[int]:
    """Return what is noted before each item of a batch, and after the last, besides its number.

    Parameters
    ----------
    items : sequence of (tuple of int, bool)
        The positions of the commands of each item, of those that count; and whether it has its
        turn: what is made for an item that comes later may run before it.
    count : int
        How many commands the batch has.

    Examples
    --------
    Of an array that is made for commands 1 to 3, as command 2, nothing is said but that it may not
    be done.

    >>> items = [((0,), True), ((2,), False), ((1, 3), True)]
    >>> [progress([(7 << BATCH) + mark], 7, 4) for mark in marks(items, 4)][1:3]
    [Progress(done=1, begun=1), Progress(done=1, begun=4)]
    """
    if count >= _MANY:
        return [_MANY] * (len(items) + 1)
    done, begun, firsts, lasts = count, 0, [count], list[int]()
    for positions, _ in reversed(items):
        done = min(done, *positions) if positions else done
        firsts.append(done)
    for positions, turn in items:
        begun = max(begun, max(positions) + 1) if positions and turn else begun
        lasts.append(begun)
    return [f << _BITS | b for f, b in zip(reversed(firsts), [*lasts, count], strict=True)]


def progress(notes: Sequence[int], batch: int, count: int) -> Progress:
    """Return how many of the ``count`` commands of a batch all have done, and any may have begun.

    >>> progress([8 << BATCH, 7 << BATCH], 7, 4)
    Progress(done=0, begun=4)
    """
    found = [_progress(note, batch, count) for note in notes]
    return Progress(min(p.done for p in found), max(p.begun for p in found))


def _progress(note: int, batch: int, count: int) -> Progress:
    at = batch_of(note)
    if at != batch:
        return Progress(count, count) if at > batch else Progress(0, 0)
    done, begun = note >> _BITS & _MANY, note & _MANY
    return Progress(done, count if begun == _MANY else begun)
