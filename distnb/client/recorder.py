"""The pending batch: commands in program order, deletions among them, and when they are sent.

A batch leaves when a value is needed, when a cell ends, when it is large, or when nothing was
recorded for a few milliseconds, so that engines work while the cell still runs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice

import numpy as np

from distnb.config import config
from distnb.interrupts import held
from distnb.protocol import Command, Create, Free

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
    timed : bool
        Whether an idle timer runs.
    """

    def __init__(self, size: int, flush: Callable[..., None], timed: bool) -> None:
        self.lock = threading.RLock()
        self.recorded = 0
        self._taken = 0
        self._size = size
        self._timed = timed
        self._flush = flush
        self._commands: list[Command] = []
        self._buffers: list[list[np.ndarray]] = []
        self._dead: deque[int] = deque()
        self._armed = threading.Event()
        self._is_armed = False  # as the event says, but cheaper to ask
        self._closed: list[bool] = []
        if timed:
            threading.Thread(target=self._idle, name="distnb-flush", daemon=True).start()

    def add(self, *commands: Command) -> None:
        """Record commands, after the deletions that came before them."""
        with self.lock:
            if self._dead:
                self._delete()
            self._commands += commands
            self.recorded += len(commands)
            full = self.recorded - self._taken >= config.flush_size
        if full:
            self._flush()
        elif not self._is_armed:
            with held():  # Ctrl-C could leave the event's lock locked
                self._is_armed = True
                self._armed.set()

    def last(self, n: int) -> tuple[Command, ...]:
        """Return the last commands that are pending, deletions left out."""
        with self.lock:
            return tuple([self._commands[i] for i in self._last(n)])

    def retract(self, commands: tuple[Command, ...]) -> bool:
        """Take commands back if they are still the last ones that are pending; tell whether."""
        with self.lock:
            places = self._last(len(commands))
            if [id(self._commands[i]) for i in places] != [id(c) for c in commands]:
                return False
            for i in reversed(places):
                del self._commands[i]
            self.recorded -= len(commands)
            return True

    def _last(self, n: int) -> list[int]:
        """Return where the last commands are, which are the same on all ranks under SPMD.

        Deletions are not: they come when each rank's garbage collector finds something.
        """
        commands = self._commands
        back = (i for i in reversed(range(len(commands))) if not isinstance(commands[i], Free))
        return list(islice(back, n))[::-1]

    def attach(self, parts: list[np.ndarray]) -> int:
        """Add a buffer for each rank to the pending message; return its slot."""
        with self.lock:
            if not self._buffers:
                self._buffers = [[] for _ in range(self._size)]
            for mine, part in zip(self._buffers, parts, strict=True):
                mine.append(part)
            return len(self._buffers[0]) - 1

    def delete(self, handle: int) -> None:
        """Note that a base is not needed any more (called by the garbage collector: no lock)."""
        self._dead.append(handle)

    def take(self) -> tuple[tuple[Command, ...], list[list[np.ndarray]]]:
        """Return and forget what is pending."""
        if self._dead:
            self._delete()
        commands, buffers = tuple(self._commands), self._buffers
        self._taken = self.recorded
        self._commands, self._buffers = [], []
        self._armed.clear()
        self._is_armed = False
        return commands, buffers

    @property
    def pending(self) -> int:
        """Number of commands that wait."""
        return len(self._commands)

    @property
    def waiting(self) -> int:
        """Number of those that wait, without deletions."""
        return self.recorded - self._taken

    def close(self) -> None:
        """Stop the idle timer."""
        self._closed.append(True)
        self._armed.set()

    def _delete(self) -> None:
        """Record the deletions; what was made last and is not used need not be made.

        Under SPMD it is: there garbage may be collected at other times on other ranks.
        """
        dead = {self._dead.popleft(): None for _ in range(len(self._dead))}
        last = self._commands[-1] if self._commands else None
        if self._timed and isinstance(last, Create) and last.base in dead and last.how[0] == "fill":
            del self._commands[-1], dead[last.base]
            self.recorded -= 1
        if dead:
            self._commands.append(Free(tuple(dead)))

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
