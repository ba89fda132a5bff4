"""What is recorded as soon as anything else is, and never if nobody wants it by then."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

__all__ = ["Deferred"]

#: Bases that wait, at most.
_MOST = 1 << 14

_Base = TypeVar("_Base")
_Base_contra = TypeVar("_Base_contra", contravariant=True)


class Maker(Protocol[_Base_contra]):
    """Records what makes a base."""

    def __call__(self, base: _Base_contra) -> None: ...


class Deferred:
    """The bases that a session is to make next.

    Those that nobody has any more when something else is recorded are not made. Under SPMD it is
    all the same: there garbage may be collected at other times on other ranks.

    Parameters
    ----------
    lock : context manager
        The recorder's.
    weak : bool
        Whether the bases may go before they are made.
    """

    def __init__(self, lock: AbstractContextManager[object], weak: bool) -> None:
        self._lock = lock
        self._weak = weak
        #: Identity of a base -> the base, as long as it is there, and what makes it.
        self.pending: dict[int, tuple[Callable[[], object], Maker[Any]]] = {}

    def defer(self, base: _Base, make: Maker[_Base]) -> None:
        """Let ``make(base)`` record what makes a base, before anything else is recorded."""
        with self._lock:
            if len(self.pending) >= _MOST:
                self.record()
            self.pending[id(base)] = (weakref.ref(base) if self._weak else lambda: base, make)

    def withdraw(self, base: object) -> Any:
        """Return what was to make a base, and forget it; None if it was called."""
        with self._lock:
            there, make = self.pending.get(id(base), (None, None))
            if there is None or there() is not base:
                return None
            del self.pending[id(base)]
            return make

    @contextmanager
    def aside(self, source: object) -> Iterator[None]:
        """Let what waits still wait while elements of a base are read; the caller has the lock.

        Unless that base is among it: then all is made, as wherever something is recorded.
        """
        if id(source) in self.pending:
            self.record()
        waiting, self.pending = self.pending, {}
        try:
            yield
        finally:
            self.pending = waiting | self.pending

    def record(self) -> None:
        """Have the bases made which somebody has still."""
        if not self.pending:
            return
        with self._lock:  # to the end: another thread is not to record what needs them before
            left, self.pending = self.pending, {}
            try:
                while left:
                    there, make = left.pop(next(iter(left)))
                    base = there()
                    if base is not None:
                        make(base)
            finally:
                self.pending = left | self.pending
