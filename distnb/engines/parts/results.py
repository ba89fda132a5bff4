"""What tasks returned: a report that was too long, arrays, and the one array that they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.engines.sparse.parts import PART, Making, receive_part, send_part
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.compressed import csr
from distnb.ops.sparse_parts import stacked
from distnb.wire.protocol import Collective

__all__ = ["Joined", "SparseJoined", "Told"]

_INDEX = np.dtype(np.int64)


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
        arrays = [x for task in sorted(results) for x in _arrays_of(results[task])]
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
        self.away, self.back = _moves(moved, self.homes, rank)
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


class SparseJoined(Making):
    """Make a part of the sparse arrays that tasks returned, one after the other along an axis.

    ``args`` as of :class:`Joined`; the length of the other axis, and the dtype.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        super().__init__(command, store)
        self.axis, self.cuts, self.homes, moved, minor, dtype = self.args
        nothing, pointers = np.empty(0, np.dtype(dtype)), np.zeros(1, _INDEX)
        self.none = csr(nothing, np.empty(0, _INDEX), pointers, (0, minor))
        self.away, self.back = _moves(moved, self.homes, self.rank)
        self.owed = [(r, tag) for r in self.away for tag in PART]
        self.expected = [(r, tag) for r in self.back for tag in PART]

    def make(self, exchange: Exchange) -> Any:
        """Send others theirs, and return what belongs here."""
        (kept,), none = self.ins, self.none
        _, results = kept.kept
        parts = {task: self._turned(x) for task, x in results.items()}
        for peer, tasks in self.away.items():
            send_part(exchange, peer, stacked([parts[t] for t in tasks], none), _INDEX)
        for peer, tasks in self.back.items():
            came, at = receive_part(exchange, peer, _INDEX, none), 0
            for task in tasks:
                end = at + self.cuts[task + 1] - self.cuts[task]
                parts[task], at = came[at:end], end
        kept.kept = None
        mine = range(self.homes[self.rank], self.homes[self.rank + 1])
        return stacked([parts[task] for task in mine], none)

    def _turned(self, found: Any) -> Any:
        """Return a copy of a result that is compressed along the axis, as rows."""
        return (found if self.axis == 0 else found.T).tocsr().astype(self.none.dtype)


def _moves(
    moved: tuple[tuple[int, int], ...], homes: tuple[int, ...], rank: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return home -> tasks that a rank ran for it, and rank -> tasks that it ran for this one."""
    owners = np.searchsorted(np.array(homes[1:]), [t for t, _ in moved], "right").tolist()
    away: dict[int, list[int]] = {}
    back: dict[int, list[int]] = {}
    for (task, ran), home in zip(moved, owners, strict=True):
        if ran == rank:
            away.setdefault(home, []).append(task)
        if home == rank:
            back.setdefault(ran, []).append(task)
    return away, back


def _arrays_of(found: Any) -> list[np.ndarray]:
    """Return the arrays that a result consists of."""
    if isinstance(found, np.ndarray):
        return [found]
    return [found.data, *[x.astype(_INDEX, copy=False) for x in (found.indices, found.indptr)]]


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
