"""The commands of the last cell, kept so that one can ask what they would send in other layouts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from distnb.forecast import Spec
from distnb.layout import Ints, Layout
from distnb.protocol import Apply, Collective, Command, Local, Reduce

if TYPE_CHECKING:
    from distnb.client.bases import Base

__all__ = ["Trace"]

#: Commands that are kept, and bases that are gone.
MOST = 4096


class Trace:
    """The commands that a session sent: those of the last cell in which something was computed.

    Where nobody tells when a cell ends, they are those that were sent last. Commands are data; no
    element is kept.
    """

    def __init__(self) -> None:
        self._last: tuple[Command, ...] = ()
        self._now: deque[Command] = deque(maxlen=MOST)
        self._gone: deque[tuple[int, Ints, np.dtype, Layout]] = deque(maxlen=MOST)
        self._count = self._counted = 0
        self._paused = False
        self._names: dict[int, tuple[int, ...]] = {}

    def add(self, commands: tuple[Command, ...]) -> None:
        """Note commands that are sent."""
        if self._paused:
            return
        self._now.extend(commands)
        self._count += len(commands)

    def freed(self, base: Base) -> None:
        """Note what is known of a base that goes (the garbage collector calls: no lock)."""
        self._gone.append((base.handle, base.shape, base.dtype, base.layout))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take no note of what is sent meanwhile."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def renamed(self, old: int, new: int) -> None:
        """Note that a base that moved has another handle."""
        self._names[new] = (*self._names.pop(old, ()), old)

    def names(self, handle: int) -> tuple[int, ...]:
        """Return the handles that a base has had."""
        return (*self._names.get(handle, ()), handle)

    def end_cell(self) -> None:
        """Note that a cell has ended."""
        if any(isinstance(c, Apply | Reduce | Local | Collective) for c in self._now):
            self._last, self._counted = tuple(self._now), self._count
        self._now.clear()
        self._count = 0

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the last cell, at most so many of them as are kept."""
        return self._last or tuple(self._now)

    @property
    def left_out(self) -> int:
        """Number of commands of that cell that were not kept."""
        return (self._counted if self._last else self._count) - len(self.commands)

    def specs(self, bases: Iterable[Base]) -> dict[int, Spec]:
        """Return what is known of bases: of those that are gone, and of those given."""
        known = [*self._gone, *((b.handle, b.shape, b.dtype, b.layout) for b in bases)]
        return {handle: Spec(shape, dtype.str, layout) for handle, shape, dtype, layout in known}
