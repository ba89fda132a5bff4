"""Elements that are read one after the other are fetched several at a time.

A loop that reads element by element waits for the engines each time. When it has gone in even steps
for a while, along one axis, the next elements come along with the one that is asked for: twice as
many each time, as operating systems read files ahead. They hold as long as nothing is recorded but
reading and nothing is sent to the engines in any other way, and for a few milliseconds at most. So
a loop may walk through several arrays.
"""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.session.session import Session
from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed, View
from distnb.wire.protocol import Operand

__all__ = ["Prefetch"]

#: Elements that are fetched at a time, at most.
_MOST = 4096
#: Seconds for which they hold: what others do on the engines is not known here.
_FRESH = 0.01
#: Arrays through which loops walk at a time.
_WALKS = 8


class _Page(NamedTuple):
    """Elements at ``start + k*step`` along an axis, and how long they hold."""

    axis: int
    start: Ints
    step: int
    values: np.ndarray
    state: tuple[int, int]
    until: float

    def find(self, at: Ints) -> np.ndarray | None:
        """Return an element, None if it is not among these."""
        axis = self.axis
        if at[:axis] + at[axis + 1 :] != self.start[:axis] + self.start[axis + 1 :]:
            return None
        k, rest = divmod(at[axis] - self.start[axis], self.step)
        good = rest == 0 and 0 <= k < len(self.values)
        return self.values[k : k + 1].reshape(()).copy() if good else None


class _Walk:
    """The element of an array that was read last, how reading went on, and what was prefetched."""

    def __init__(self) -> None:
        self._last: Ints = ()
        #: (axis, distance) from the element before to the last one.
        self._step = (-1, 0)
        #: Whether that was the distance before, too.
        self._even = False
        self._page: _Page | None = None
        #: Elements that were read since engines were asked.
        self._used = 1

    def element(self, x: Array) -> np.ndarray:
        """Return an element of an array on the engines, as it is now."""
        session, at = x.session, tuple([i for _, i in x.dview.fixed])
        self._note(at)
        found = self._kept(session, at)
        if found is not None:
            self._used += 1
            return found
        n = self._count(session, x.dbase.shape, at)
        self._page, self._used = None, 1
        if n < 2:
            return session.gather(x.operand, x.placed, x.dtype)
        axis, step = self._step
        others = tuple([pair for pair in x.dview.fixed if pair[0] != axis])
        view = View((n,), ((axis, at[axis], step),), others)
        placed = Placed(x.dbase.shape, x.dbase.layout, view)
        values = session.gather(Operand(x.operand.base, view), placed, x.dtype)
        until = monotonic() + _FRESH
        self._page = _Page(axis, at, step, values, _state(session), until)
        return values[0:1].reshape(()).copy()

    def _note(self, at: Ints) -> None:
        """Take note of what is read."""
        moved = [a for a, (i, j) in enumerate(zip(at, self._last, strict=False)) if i != j]
        step = (moved[0], at[moved[0]] - self._last[moved[0]]) if len(moved) == 1 else (-1, 0)
        self._even = step == self._step and step[1] != 0
        self._last, self._step = at, step

    def _kept(self, session: Session, at: Ints) -> np.ndarray | None:
        """Return an element that was prefetched, if that still holds."""
        page = self._page
        if page is None or page.state != _state(session) or monotonic() > page.until:
            return None
        return page.find(at)

    def _count(self, session: Session, shape: Ints, at: Ints) -> int:
        """Return how many elements to fetch, from this one on."""
        if not self._even or not session.transport.concurrent:
            return 1
        axis, step = self._step
        left = (shape[axis] - 1 - at[axis]) // step if step > 0 else at[axis] // -step
        return min(2 * self._used, _MOST, left + 1)


class Prefetch:
    """The walks through arrays, those that went on last.

    Under SPMD nothing is prefetched: ranks that measure time would come to different ends.
    """

    def __init__(self) -> None:
        #: Handle -> walk, the one that went on last at the end.
        self._walks: dict[int, _Walk] = {}

    def element(self, x: Array) -> np.ndarray:
        """Return an element of an array on the engines, as it is now."""
        with x.session.recorder.lock:  # several threads may walk through arrays
            handle = x.operand.base
            walk = self._walks.pop(handle, None) or _Walk()
            self._walks[handle] = walk
            if len(self._walks) > _WALKS:
                del self._walks[next(iter(self._walks))]
            return walk.element(x)


def _state(session: Session) -> tuple[int, int]:
    """Return what changes when anything is done that could change elements."""
    return session.changes, session.transport.foreign
