"""Elements, and rows, that are read one after the other are fetched several at a time.

A loop that reads element by element, or row by row, waits for the engines each time. When it has
gone in even steps for a while, along one axis, the next ones come along with the one that is asked
for: twice as many each time, as operating systems read files ahead. When it goes here and there,
the whole array comes, once it was read often enough for its size. They hold as long as nothing is
recorded but reading and nothing is sent to the engines in any other way, and for a few milliseconds
at most. So a loop may walk through several arrays.
"""

from __future__ import annotations

from math import prod
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.session.session import Session
from distnb.common.config import config
from distnb.geometry.layout import Ints
from distnb.geometry.views import Placed, View
from distnb.wire.protocol import Operand

__all__ = ["Prefetch"]

#: Seconds for which they hold: what others do on the engines is not known here.
_FRESH = 0.01
#: Bytes of an array that take about as long to come as one element: what loops get at a time.
_AS_ONE = 1 << 18
#: Elements, or rows, that are read here and there before their whole array comes.
_FEW = 2
#: Arrays through which loops walk at a time.
_WALKS = 8


class _Page(NamedTuple):
    """The parts of a box of places, ``step`` apart along each axis, and how long they hold."""

    start: Ints
    step: Ints
    values: np.ndarray
    state: tuple[int, int]
    until: float

    def find(self, at: Ints) -> np.ndarray | None:
        """Return a copy of a part, None if it is not among these."""
        places = []
        for i, a, step, n in zip(at, self.start, self.step, self.values.shape, strict=False):
            k, rest = divmod(i - a, step)
            if rest or not 0 <= k < n:
                return None
            places.append(slice(k, k + 1))
        return self.values[tuple(places)].reshape(self.values.shape[len(at) :]).copy()


class _Walk:
    """The part of an array that was read last, how reading went on, and what was prefetched.

    Parts are what views show that hold some axes still, at some place, and are alike in all else:
    elements, rows, every other column.
    """

    def __init__(self) -> None:
        self._last: Ints = ()
        #: (which of the axes that are held, distance) from the part before to the last one.
        self._step = (-1, 0)
        #: Whether that was the distance before, too.
        self._even = False
        self._page: _Page | None = None
        #: Parts that were read since engines were asked.
        self._used = 1
        #: Those since elements may have changed, or since several came at a time.
        self._reads, self._state = 0, (0, 0)

    def read(self, x: Array) -> np.ndarray:
        """Return a part of an array on the engines, as it is now."""
        session, at = x.session, tuple([i for _, i in x.dview.fixed])
        self._note(session, at)
        found = self._kept(session, at)
        if found is not None:
            self._used += 1
            return found
        start, step, counts = self._box(x, at)
        self._page, self._used = None, 1
        if prod(counts) < 2:
            return session.gather(x.operand, x.placed, x.dtype)
        self._reads = 0
        held = tuple((a, i, d) for (a, _), i, d in zip(x.dview.fixed, start, step, strict=True))
        view = View(counts + x.dview.shape, held + x.dview.dims)
        placed = Placed(x.dbase.shape, x.dbase.layout, view)
        values = session.gather(Operand(x.operand.base, view), placed, x.dtype)
        self._page = page = _Page(start, step, values, _state(session), monotonic() + _FRESH)
        found = page.find(at)
        assert found is not None
        return found

    def _note(self, session: Session, at: Ints) -> None:
        """Take note of what is read."""
        if self._state != (state := _state(session)):
            self._reads, self._state = 0, state
        self._reads += 1
        moved = [a for a, (i, j) in enumerate(zip(at, self._last, strict=False)) if i != j]
        step = (moved[0], at[moved[0]] - self._last[moved[0]]) if len(moved) == 1 else (-1, 0)
        self._even = step == self._step and step[1] != 0
        self._last, self._step = at, step

    def _kept(self, session: Session, at: Ints) -> np.ndarray | None:
        """Return a part that was prefetched, if that still holds."""
        page = self._page
        if page is None or page.state != _state(session) or monotonic() > page.until:
            return None
        return page.find(at)

    def _box(self, x: Array, at: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the start, step and counts of the places of what is fetched along with a part."""
        shape, ones = tuple([x.dbase.shape[a] for a, _ in x.dview.fixed]), (1,) * len(at)
        if x.session.transport.concurrent:
            if self._even:
                axis, step = self._step
                left = (shape[axis] - 1 - at[axis]) // step if step > 0 else at[axis] // -step
                n = min(2 * self._used, _AS_ONE // x.nbytes, left + 1)
                steps, counts = ones[:axis] + (step,), ones[:axis] + (n,)
                return at, steps + ones[axis + 1 :], counts + ones[axis + 1 :]
            worth = min(_AS_ONE * (self._reads - _FEW), config.gather_budget)
            if prod(shape) * x.nbytes <= worth:
                return (0,) * len(at), ones, shape
        return at, ones, ones


class Prefetch:
    """The walks through arrays, those that went on last.

    Under SPMD nothing is prefetched: ranks that measure time would come to different ends.
    """

    def __init__(self) -> None:
        #: Handle, and what is alike in its parts -> walk, the one that went on last at the end.
        self._walks: dict[tuple[Any, ...], _Walk] = {}

    def read(self, x: Array) -> np.ndarray:
        """Return a part of an array on the engines, as it is now."""
        session, view = x.session, x.dview
        if not 0 < x.nbytes <= _AS_ONE:
            return session.gather(x.operand, x.placed, x.dtype)
        with session.recorder.lock:  # several threads may walk through arrays
            key = (x.operand.base, view.shape, view.dims)
            walk = self._walks.pop(key, None) or _Walk()
            self._walks[key] = walk
            if len(self._walks) > _WALKS:
                del self._walks[next(iter(self._walks))]
            return walk.read(x)


def _state(session: Session) -> tuple[int, int]:
    """Return what changes when anything is done that could change elements."""
    return session.changes, session.transport.foreign
