"""What tasks returned: a report that was too long, arrays, and the one array that they make."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.wire.protocol import Collective

__all__ = ["Joined", "Told"]


class Told:
    """Fill with what a rank keeps of tasks, as bytes; ``args``: whether that is the report.

    Else it is the arrays, one after the other in the order of their tasks.
    """

    owed: tuple[Key, ...] = ()
    expected: tuple[Key, ...] = ()

    def __init__(self, command: Collective, store: BaseTable) -> None:
        (self.is_report,) = command.args
        self.out: LocalBase = store.bases[command.outs[0].base]
        self.kept = store.bases[command.ins[0].base]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Fill the block."""
        before = clock.switch(COMPUTE)
        text, results = self.kept.kept
        block, at = self.out.block, 0
        assert block is not None
        arrays = [results[task] for task in sorted(results)]
        for one in [text] if self.is_report else arrays:
            block[at : at + one.nbytes] = _bytes(one)
            at += one.nbytes
        clock.switch(before)


class Joined:
    """Fill with the arrays that tasks returned, one after the other along an axis.

    ``args``: the axis, where each task's begins, where each rank's tasks begin, and which tasks
    others ran than the ranks that are home to them: pairs of (task, rank). Those send them home.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        self.axis, self.cuts, self.homes, moved = command.args
        self.rank = rank = store.rank
        self.out: LocalBase = store.bases[command.outs[0].base]
        self.kept = store.bases[command.ins[0].base]
        owners = np.searchsorted(np.array(self.homes[1:]), [t for t, _ in moved], "right").tolist()
        self.away: dict[int, list[int]] = {}
        self.back: dict[int, list[int]] = {}
        for (task, ran), home in zip(moved, owners, strict=True):
            if ran == rank:
                self.away.setdefault(home, []).append(task)
            if home == rank:
                self.back.setdefault(ran, []).append(task)
        self.owed: list[Key] = [(r, 0) for r in self.away]
        self.expected: list[Key] = [(r, 0) for r in self.back]

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Send others theirs, and put what belongs here in its place."""
        before = clock.switch(COMPUTE)
        _, results = self.kept.kept
        dtype = self.out.dtype
        for peer, tasks in self.away.items():
            parts = [_bytes(results[t].astype(dtype, copy=False)) for t in tasks]
            exchange.send(peer, 0, _some(np.concatenate(parts)))
        for task in range(self.homes[self.rank], self.homes[self.rank + 1]):
            if task in results:
                self._place(task)[...] = results[task]
        for peer, tasks in self.back.items():
            targets = [self._place(task) for task in tasks]
            message = np.empty(sum(x.size for x in targets), dtype)
            exchange.receive(peer, 0, _some(message))
            for target, part in zip(targets, _cut(message, targets), strict=True):
                target[...] = part
        self.kept.kept = None
        clock.switch(before)

    def _place(self, task: int) -> np.ndarray:
        """Return where the result of a task of this home belongs."""
        block, start = self.out.block, self.cuts[self.homes[self.rank]]
        assert block is not None
        low, high = self.cuts[task] - start, self.cuts[task + 1] - start
        found: np.ndarray = block[(*(slice(None),) * self.axis, slice(low, high))]
        return found


def _cut(message: np.ndarray, targets: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Go through the parts of a message, one for each target."""
    at = 0
    for target in targets:
        yield message[at : at + target.size].reshape(target.shape)
        at += target.size


def _bytes(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def _some(message: np.ndarray) -> np.ndarray:
    """Return a message; one without elements is a byte, as empty ones tell of failures."""
    return message if message.size else np.zeros(1, np.uint8)
