"""The bases on the engines, by their handles, and the memory that they take there."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from itertools import count

from distnb.client.batching.budget import Budget
from distnb.client.batching.entries import Entry
from distnb.client.batching.failures import lost_error
from distnb.common.errors import LostArrayError
from distnb.geometry.layout import Ints

__all__ = ["HandleTable"]


class HandleTable:
    """Handle -> base, for all bases on the engines that are alive. It holds them weakly.

    Parameters
    ----------
    budget : Budget
        Counts their bytes.
    delete : callable
        Records the deletion of a handle.
    """

    def __init__(self, budget: Budget, delete: Callable[[int], None]) -> None:
        self.budget = budget
        self._delete = delete
        #: Handles that were never used.
        self.numbers = count(1)
        self._turns = count(1)
        #: Handle -> base, to tell it if its content gets lost.
        self.entries: dict[int, weakref.ref[Entry]] = {}

    def next_turn(self) -> int:
        """Return a number for a change of a base's layout."""
        return next(self._turns)

    def watch(self, base: Entry) -> None:
        """Remember a base."""
        self.entries[base.handle] = weakref.ref(base)

    def release(self, base: Entry) -> None:
        """Free a base whose last reference went (called by the garbage collector: no lock).

        It has no handle then. What Ctrl-C left undone is done when this is called again: it comes
        where a call ends, not between two names that are bound.
        """
        self.entries.pop(base.handle, None)
        nbytes, base.nbytes = base.nbytes, -1
        if nbytes >= 0:
            self.budget.release(nbytes)
        handle, base.handle = base.handle, 0
        if handle:
            self._delete(handle)

    def undo(self, base: Entry, handle: int) -> None:
        """Give a base that engines were not told of the handle that it had; count it no more."""
        self.entries.pop(base.handle, None)
        nbytes, base.nbytes = base.nbytes, -1
        if nbytes >= 0:
            self.budget.release(nbytes)
        base.handle = handle

    def bases(self) -> list[Entry]:
        """Return the bases that are alive."""
        found = [reference() for reference in list(self.entries.values())]
        return [base for base in found if base is not None]

    def lost(self, handle: int) -> bool | str:
        """Return whether the content of a base is lost, or why."""
        reference = self.entries.get(handle)
        base = None if reference is None else reference()
        return base is not None and base.lost

    def lost_error(self, handle: int, shape: Ints) -> LostArrayError:
        """Return the error for reading a base whose content is gone, or a view of this shape."""
        reference = self.entries.get(handle)
        base = None if reference is None else reference()
        return lost_error(shape, "") if base is None else lost_error(base.shape, base.lost)

    def __len__(self) -> int:
        return len(self.entries)

    def lose(self, handles: Iterable[int], number: int, why: str = "") -> None:
        """Mark bases as lost by a batch, but for those that a later one made good again."""
        for handle in handles:
            reference = self.entries.get(handle)
            base = reference() if reference is not None else None
            if base is not None and base.since <= number:
                base.lost = why or base.lost or True  # what follows from a loss has no other reason
