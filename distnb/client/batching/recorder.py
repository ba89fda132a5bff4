"""The pending batch: commands in program order, deletions among them, and when they are sent.

A batch leaves when a value is needed, when a cell ends, when it is large, or when nothing was
recorded for a few milliseconds, so that engines work while the cell still runs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import repeat, starmap

import numpy as np

from distnb.client.batching.deferred import Deferred
from distnb.client.batching.error_states import DEFAULT, SETTINGS, error_state
from distnb.client.batching.rounds import Rounds
from distnb.common.config import config
from distnb.common.interrupts import deferred_interrupts
from distnb.wire.protocol import Command, Create, Free

__all__ = ["Recorder"]


class Recorder:
    """Collects commands and the buffers that go with them.

    Parameters
    ----------
    size : int
        Number of ranks.
    flush : callable
        Sends what :meth:`take` returns; called when a batch is large, and with True when it was
        left idle.
    wait : callable
        Sends it and waits for the engines: for who wants to know of each error where it is made.
    filled : callable, optional
        Returns what share of a batch so many commands are that are pending. Without it only their
        number counts, and no idle timer runs: where each rank records, all send the same.
    """

    def __init__(
        self,
        size: int,
        flush: Callable[..., None],
        wait: Callable[[], None],
        filled: Callable[[int], float] | None,
    ) -> None:
        self.lock = threading.RLock()
        self.timed = filled is not None
        self.deferred = Deferred(self.lock, weak=self.timed)
        self.recorded = 0
        self._taken = 0
        self.size = size
        self._flush, self._wait = flush, wait
        self._rounds = Rounds(filled)
        #: Is told what is about to be recorded, where it may name what is on disk; it may send what
        #: is pending.
        self.uses: Callable[[tuple[Command, ...]], None] | None = None
        #: What is to be done about floating point errors of what is pending; settings it is from.
        self.errors = DEFAULT
        self._settings: object = None
        self._waits = False
        self._commands: list[Command] = []
        self._buffers: list[list[np.ndarray]] = []
        #: Whether commands are recorded together with what is noted of them.
        self._together = False
        self._dead: deque[int] = deque()
        #: Those whose deletion was recorded last.
        self._freeing: tuple[int, ...] = ()
        #: Notes the handle of a base that is not needed any more (called by the garbage collector:
        #: no lock).
        self.delete: Callable[[int], None] = self._dead.append
        self._armed = threading.Event()
        #: As the event says, but cheaper to ask. A batch that leaves changes nothing: where a loop
        #: reads a value in each turn the timer would be woken each time.
        self._is_armed = False
        self._closed: list[bool] = []
        if self.timed:
            threading.Thread(target=self._idle, name="distnb-flush", daemon=True).start()

    def add(self, *commands: Command) -> None:
        """Record commands, after the deletions that came before them, and what was deferred."""
        if self.deferred.pending:
            self.deferred.record()
        if SETTINGS is None or SETTINGS.get(None) is not self._settings:
            self._follow()
        with self.lock:
            if self.uses is not None:
                self.uses(commands)
            if self._dead:
                self._delete()
            self.recorded += len(commands)  # first: Ctrl-C between the two must not hide them
            self._commands += commands
            count = self.recorded - self._taken
            full = count >= config.flush_size or (
                count >= self._rounds.look and self._rounds.is_full(count, commands, self._commands)
            )
            if self._together:  # by this thread, which has the lock
                return
        if self._waits:
            self._wait()
        elif full:
            self._flush()
        elif not self._is_armed:
            self._arm()

    def together(self, record: Callable[[], None]) -> None:
        """Call what records commands and notes that it did; no Ctrl-C comes between the two.

        Nothing is sent, and nobody waited for, before it is done.
        """
        self.deferred.record()
        with self.lock:
            if SETTINGS is None or SETTINGS.get(None) is not self._settings:
                self._follow()
            with deferred_interrupts():
                self._together = True
                try:
                    record()
                finally:
                    self._together = False
            self.add()

    def _follow(self) -> None:
        """Send what is pending where other errors are told of from now on."""
        errors = error_state()
        if errors != self.errors and self._commands:
            self._flush()
        self.errors, self._waits = errors, errors.waits
        self._settings = None if SETTINGS is None else SETTINGS.get(None)

    def attach(self, parts: list[np.ndarray]) -> int:
        """Add a buffer for each rank to the pending message; return its slot."""
        with self.lock:
            if SETTINGS is None or SETTINGS.get(None) is not self._settings:
                self._follow()  # a buffer goes with the command that comes next
            if not self._buffers:
                self._buffers = [[] for _ in range(self.size)]
            for mine, part in zip(self._buffers, parts, strict=True):
                mine.append(part)
            return len(self._buffers[0]) - 1

    def take(self) -> tuple[tuple[Command, ...], list[list[np.ndarray]]]:
        """Return and forget what is pending."""
        if self._dead:
            self._delete()
        commands, buffers = tuple(self._commands), self._buffers
        self._taken = self.recorded
        rounds = self._rounds
        rounds.look, rounds.wanted = rounds.first, 0
        self._commands, self._buffers = [], []
        return commands, buffers

    def give_back(self, commands: tuple[Command, ...], buffers: list[list[np.ndarray]]) -> None:
        """Let what was taken, and could not be sent, be pending again; it is sent the next time."""
        self._commands, self._buffers = [*commands, *self._commands], buffers or self._buffers
        self._taken -= len(commands)

    def withdraw(self, handle: int) -> None:
        """Forget a command that is pending and writes a base, but for what makes that."""
        kept = [c for c in self._commands if type(c) is Create or handle not in c.writes]
        self.recorded -= len(self._commands) - len(kept)
        self._commands = kept

    def do_again(self, freed: Iterable[int], made: list[Create]) -> None:
        """Record what engines that missed a batch do not know: what it dropped, and what it made.

        That comes before all that is pending, which may name it.
        """
        self.drop(freed)
        self._commands[:0] = made
        self.recorded += len(made)

    def drop(self, handles: Iterable[int]) -> None:
        """Delete what was recorded as deleted before, and is still there."""
        self._freeing = ()  # or the first of them would stand for those that it was with
        for handle in handles:
            self.delete(handle)

    def count(self, commands: int = 1) -> None:
        """Count commands that engines were sent past the recorder."""
        with self.lock:
            self.recorded += commands
            self._taken += commands

    @property
    def pending(self) -> int:
        """Number of commands that wait."""
        return len(self._commands)

    @property
    def empty(self) -> bool:
        """Whether nothing waits, deletions included."""
        return not (self._commands or self._dead)

    @property
    def waiting(self) -> int:
        """Number of those that wait, without deletions."""
        return self.recorded - self._taken

    @property
    def busy(self) -> bool:
        """Whether this thread is in the middle of a step of the session's."""
        return bool(self.lock._is_owned())  # type: ignore[attr-defined] # as threading.Condition does

    def after_fork(self) -> None:
        """Free the lock in a forked child: the idle timer may have held it, and is not there."""
        self.lock._at_fork_reinit()  # type: ignore[attr-defined] # as the standard library does

    def close(self) -> None:
        """Stop the idle timer."""
        self._closed.append(True)
        self._armed.set()

    def _delete(self) -> None:
        """Record the deletions, once each wherever Ctrl-C comes: it comes between instructions.

        What it left undone is done the next time, and told by the handles, which are never given
        to others. What was made last and is not used need not be made; under SPMD it is: there
        garbage may be collected at other times on other ranks.
        """
        commands, dead, handles = self._commands, self._dead, self._freeing
        last = commands[-1] if commands else None
        if type(last) is Create and self.timed and last.how[0] == "fill" and last.base in dead:
            with deferred_interrupts():
                dead.remove(commands.pop().base)  # type: ignore[union-attr]
                self.recorded -= 1
        if not dead:
            return
        if not handles or dead[0] != handles[0]:
            handles = self._freeing = tuple(map(dead.__getitem__, range(len(dead))))
        if not commands or type(commands[-1]) is not Free or commands[-1].bases is not handles:
            commands.append(Free(handles))
        deque(starmap(dead.popleft, repeat((), len(handles))), maxlen=0)

    def _arm(self) -> None:
        """Let the idle timer look after what is recorded."""
        with deferred_interrupts():  # Ctrl-C could leave the event's lock locked
            self._is_armed = True
            self._armed.set()

    def _idle(self) -> None:
        """Send what was left alone for a while."""
        pause = threading.Event()
        while True:
            self._armed.wait()
            before = -1
            while before != self.recorded:
                before = self.recorded
                pause.wait(config.flush_idle)
            if self._closed:
                return
            self._armed.clear()
            self._is_armed = False
            if self._commands:
                self._flush(True)
