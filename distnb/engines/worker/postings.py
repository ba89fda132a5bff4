"""Messages first: where in a batch the messages of its groups are sent, before the groups run.

What a group sends is sent as soon as nothing that is still to run writes it. That follows from the
commands; how much is on its way at a time is limited, by each rank for itself: messages meet by
their numbers, not by the order in which they are sent.

Nothing overwrites what is sent: what is read in place is read until its group ends, and what would
write it comes after that; all else is a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distnb.engines.fusion.elementwise import Task
from distnb.engines.worker.steps import Step, Turn
from distnb.geometry.layout import Ints
from distnb.measure.records import posted
from distnb.wire.protocol import Create, Fetch, Free, Reduce, bases_of

__all__ = ["Item", "Posting", "messages_first"]

#: What runs, the numbers of its commands, and how many elements this rank holds of what it is on.
Item = tuple[Task | Step, Ints, int]

#: Bytes, and groups, that may be on their way before their turn.
_MOST_BYTES = 1 << 25
_MOST = 16
#: How far ahead a group may be, in items of the batch; many more numbers have tags of their own.
_FARTHEST = 256


class Posting(Step):
    """Sends what a group owes, before its turn."""

    def __init__(self, task: Task, rows: Ints) -> None:
        super().__init__(0, task.commands[0])
        self.positions = posted(rows)
        self._task, self._number = task, rows[0]

    def run(self, turn: Turn, index: int) -> None:
        """Send it, under the number of the group."""
        turn.executor.post(turn.first + self._number, self._task)


def messages_first(items: Sequence[Item]) -> list[Item]:
    """Return the items of a batch, and among them those that send what later ones need."""
    places: dict[int, list[int]] = {}
    for j, (what, *_) in enumerate(items):
        if isinstance(what, Task) and what.ahead:
            place = _place(items, j)
            while _takes_no_time(items[place][0]):
                place += 1
            places.setdefault(place, []).append(j)
    found: list[Item] = []
    for i, item in enumerate(items):
        here = places.get(i, [])
        found += _postings(items, here) if here != [i] else ()
        found.append(item)
    return found


def _postings(items: Sequence[Item], chosen: Sequence[int]) -> Iterator[Item]:
    for j in chosen:
        task, rows, elements = items[j]
        assert isinstance(task, Task)
        yield Posting(task, rows), posted(rows), elements


def _place(items: Sequence[Item], j: int) -> int:
    """Return before which item group ``j`` can send."""
    task = items[j][0]
    assert isinstance(task, Task)
    groups, nbytes = 1, task.sent_bytes
    for i in range(j - 1, max(-1, j - _FARTHEST), -1):
        what = items[i][0]
        if not task.sent.isdisjoint(_changed(what)):
            return i + 1
        if isinstance(what, Task) and what.ahead:
            groups, nbytes = groups + 1, nbytes + what.sent_bytes
            if groups > _MOST or nbytes > _MOST_BYTES:
                return i + 1
    return max(0, j - _FARTHEST + 1)


def _takes_no_time(what: Task | Step) -> bool:
    """Tell whether something only makes an array without elements, or drops some."""
    if isinstance(what, Task):
        return False
    command = what.command
    return isinstance(command, Free) or (isinstance(command, Create) and command.bare)


def _changed(what: Task | Step) -> set[int]:
    """Return the bases that something writes, moves or drops."""
    if isinstance(what, Task):
        return what.group.written.keys() | set()
    if isinstance(what.command, Fetch | Reduce):
        return set(what.command.writes)
    return bases_of(what.command)
