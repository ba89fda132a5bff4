"""Tasks: a function of the user's, called for each part of arrays that are split.

Each rank is *home* to some tasks, those whose parts it holds. Ranks of a node draw tickets for the
tasks of one home, their own first; who is done goes on with those of others, whose parts it reads
and writes in their shared memory. So nobody waits while there is something to do on its node, and a
task still runs once. Nobody ends the command before all that may use its memory have said that they
are done, as in :mod:`distnb.engines.runtime.peer_blocks`.

What a function raises is a result, too: the command goes on to its end on all ranks, and the client
raises it. So arrays that are updated are not lost.
"""

from __future__ import annotations

import io
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from math import prod
from typing import Any

import numpy as np

from distnb.engines.parts.arguments import ARGUMENTS, check_structure
from distnb.engines.parts.tickets import Tickets
from distnb.engines.runtime.exchange import Exchange, Key
from distnb.engines.runtime.store import BaseTable, LocalBase
from distnb.measure.events import COMPUTE, Clock
from distnb.ops.scalars import CODES
from distnb.wire.exceptions import packed
from distnb.wire.protocol import Collective

__all__ = ["Tasks"]

_OFFER, _DONE = 0, 1
#: Sparse arrays that can be parts of one.
_SPARSE = ("csr_array", "csc_array")


class Tasks:
    """Run tasks; the first output tells what they returned, or that it did not fit in there.

    ``args``: the function's number and name; the numbers of the tasks where each rank's begin; for
    each argument its kind, the number of its first base, whether it is updated, and what
    :data:`ARGUMENTS` want; whether what tasks print is for the notebook to show.
    """

    def __init__(self, command: Collective, store: BaseTable) -> None:
        number, _, self.homes, self.described, shown = command.args
        # Where ranks are threads, they have one output, which is the notebook's.
        self.listens = shown and threading.current_thread() is threading.main_thread()
        self.function = store.functions[number]
        self.store, self.rank = store, store.rank
        self.report, *self.outs = [store.bases[x.base] for x in command.outs]
        #: Copies in shared memory of blocks that cannot be moved there.
        self.copies: dict[int, np.ndarray] = {}
        self.ins: list[LocalBase] = [store.bases[x.base] for x in command.ins]
        #: What is of a rank, and so is read where it lies: bases of arrays that are split.
        self.split = [
            base
            for kind, first, *_ in self.described
            if kind in ("split", "compressed")
            for base in self.ins[first : first + ARGUMENTS[kind][0]]
        ]
        node = store.memory.node
        near = [] if node is None else sorted(node.ranks)
        several = any(self._count(r) > 1 for r in near)
        others = [r for r in near if r != self.rank] if several else []
        #: Those of the node, the next one first, so that not all go to the same one.
        self.others = sorted(others, key=lambda r: (r - self.rank) % len(near))
        self.owed: list[Key] = [(r, tag) for r in others for tag in (_OFFER, _DONE)]
        self.expected: list[Key] = list(self.owed)
        self.results: dict[int, Any] = {}
        #: What tasks wrote to their output and to that for errors.
        self.printed: list[tuple[int, str, str]] = []
        self._streams: tuple[io.StringIO, ...] = ()
        self.told: list[tuple[int, Any]] = []
        self.failure: tuple[Any, ...] | None = None

    def _count(self, home: int) -> int:
        return int(self.homes[home + 1] - self.homes[home])

    def run(self, exchange: Exchange, clock: Clock) -> None:
        """Run tasks until there are none."""
        before = clock.switch(COMPUTE)
        tickets = [Tickets.new()] if self.others else []
        try:
            if tickets:
                self._offer(exchange, tickets[0])
            own = [self._block(base) for base in self.ins]
            with self._listening():
                self._work(self.rank, own, tickets[0] if tickets else None)
                for home in self.others:
                    self._help(exchange, home, tickets)
            for peer in self.others:
                exchange.refuse(peer, _DONE)
            for peer in self.others:
                exchange.drop(peer, _DONE)
            self._put_back()
        finally:
            for one in tickets:
                one.close()
        self._tell()
        clock.switch(before)

    # -- tasks of others -----------------------------------------------------------------------

    def _offer(self, exchange: Exchange, tickets: Tickets) -> None:
        """Tell others of the node where the parts are; nothing if there is only one task."""
        some = self._count(self.rank) > 1 and all(self._block(base).size for base in self.split)
        places = [self._place(base) if some else 0 for base in self.split]
        offer = np.array([*tickets.card, *places], np.int64)
        for peer in self.others:
            exchange.tell(peer, _OFFER, offer)

    def _place(self, base: LocalBase) -> int:
        """Return where in shared memory a block lies, or a copy of it that tasks work on."""
        place = self.store.place(base, move=True)
        if place is None:  # somebody looks at it where it is
            if id(base) not in self.copies:
                block = self._block(base)
                copy = self.store.memory.allocate(block.shape, block.dtype, shared=True)
                copy[...] = block
                self.copies[id(base)] = copy
            place = self.store.memory.offset(self.copies[id(base)])
        assert place is not None
        return place

    def _put_back(self) -> None:
        """Write what tasks wrote into copies to where it belongs."""
        for base in self.outs:
            if id(base) in self.copies:
                self._block(base, True)[...] = self.copies[id(base)]

    def _help(self, exchange: Exchange, home: int, tickets: list[Tickets]) -> None:
        """Run tasks of another rank, as long as it has some left."""
        offer = np.empty(2 + len(self.split), np.int64)
        exchange.receive(home, _OFFER, offer)
        pid, fd, *places = offer.tolist()
        if not any(places):
            return
        tickets.append(Tickets.of(pid, fd))
        if self.failure is not None:
            tickets[-1].end(self._count(home))
            return
        there = {
            id(base): self._at(home, base, place)
            for base, place in zip(self.split, places, strict=True)
        }
        blocks = [there.get(id(base), self._block(base)) for base in self.ins]
        self._work(home, blocks, tickets[-1])

    def _at(self, home: int, base: LocalBase, place: int) -> np.ndarray:
        """Return the block of another rank, where it lies."""
        shape = base.layout.local_shape(base.shape, home) or ()
        return self.store.memory.block(home, place, prod(shape), base.dtype).reshape(shape)

    # -- tasks ---------------------------------------------------------------------------------

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Take what tasks print, if the notebook is to show it."""
        if not self.listens:
            yield
            return
        self._streams = io.StringIO(), io.StringIO()
        with redirect_stdout(self._streams[0]), redirect_stderr(self._streams[1]):
            yield

    def _hear(self, task: int) -> None:
        """Note what a task printed, if it did."""
        out, err = self._streams
        if out.tell() or err.tell():
            self.printed.append((task, out.getvalue(), err.getvalue()))
            for x in self._streams:
                x.seek(0)
                x.truncate()

    def _block(self, base: LocalBase, own: bool = False) -> np.ndarray:
        """Return the block that tasks work on; the base's own if asked."""
        if id(base) in self.copies and not own:
            return self.copies[id(base)]
        return np.empty(0, base.dtype) if base.block is None else base.block

    def _work(self, home: int, blocks: list[np.ndarray], tickets: Tickets | None) -> None:
        """Run tasks of a home, with the blocks that it has."""
        count, first = self._count(home), self.homes[home]
        if not count:
            return
        getters = list(self._getters(blocks, first))
        sparse = [
            j
            for j, (kind, _, updated, *_) in enumerate(self.described)
            if updated and kind == "compressed"
        ]
        for ticket in range(count) if tickets is None else tickets.below(count):
            task = first + ticket
            try:
                self._one(task, getters, sparse)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # it is for the client to raise
                self._fail(task, error)
                if tickets is not None:
                    tickets.end(count)
                return
            finally:
                if self._streams:
                    self._hear(task)

    def _getters(self, blocks: list[np.ndarray], first: int) -> Iterator[Callable[[int], Any]]:
        for kind, at, updated, *more in self.described:
            n, make = ARGUMENTS[kind]
            yield make(blocks[at : at + n], first, updated, *more)

    def _one(self, task: int, getters: list[Callable[[int], Any]], sparse: list[int]) -> None:
        """Run a task, and keep what it returned."""
        parts = [get(task) for get in getters]
        before = [(parts[j].data, parts[j].indices, parts[j].indptr) for j in sparse]
        found = self.function(*parts)
        for j, arrays in zip(sparse, before, strict=True):
            check_structure(parts[j], arrays)
        if type(found) is np.ndarray and found.ndim and found.dtype.char in CODES:
            self.results[task] = found
        elif found is not None and _is_part(found):
            found.check_format()
            self.results[task] = found
        else:
            self.told.append((task, None if found is None else pickle.dumps(found, protocol=5)))

    def _fail(self, task: int, error: BaseException) -> None:
        kinds = tuple([cls.__name__ for cls in type(error).__mro__])
        try:
            message = str(error)
        except Exception as again:
            message = f"(no text: {type(again).__name__})"
        trace = "".join(traceback.format_exception(error))
        self.failure = (task, kinds, message, trace, packed(error))

    def _tell(self) -> None:
        """Write what the tasks returned: arrays by shape and dtype, all else as it is."""
        arrays = [(task, *_description(x)) for task, x in self.results.items()]
        said = self.told, arrays, self.failure, self.printed
        text = np.frombuffer(pickle.dumps(said, protocol=5), np.uint8)
        report = self.report.block
        assert report is not None
        report[:8].view(np.int64)[0] = text.size
        if text.size <= report.size - 8:
            report[8 : 8 + text.size] = text
        self.report.kept = (text, self.results)


def _is_part(found: Any) -> bool:
    """Tell whether a result is a sparse array that can be part of one."""
    kind = type(found)
    ours = kind.__module__.startswith("scipy.sparse") and kind.__name__ in _SPARSE
    return ours and len(found.shape) == 2 and found.dtype.char in "?bBhHiIlLqQfdFD"


def _description(found: Any) -> tuple[Any, ...]:
    """Return shape and dtype of an array; of a sparse one also its format, and what it stores."""
    sparse = () if isinstance(found, np.ndarray) else (found.format, len(found.data))
    return (found.shape, found.dtype.str, *sparse)
