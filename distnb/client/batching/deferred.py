"""What is recorded as soon as anything else is, and never if nobody wants it by then."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

__all__ = ["Deferred"]

_Base = TypeVar("_Base")
_Base_contra = TypeVar("_Base_contra", contravariant=True)


class Maker(Protocol[_Base_contra]):
    """Records what makes a base."""

    def __call__(self, base: _Base_contra) -> None: ...


class Deferred:
    """The base that a session is to make next.

    If nobody has it any more when something else is recorded, it is not made. Under SPMD it is all
    the same: there garbage may be collected at other times on other ranks.

    Parameters
    ----------
    lock : context manager
        The recorder's.
    weak : bool
        Whether the base may go before it is made.
    """

    def __init__(self, lock: AbstractContextManager[object], weak: bool) -> None:
        self._lock = lock
        self._weak = weak
        #: The base, as long as it is there, and what makes it.
        self.pending: tuple[Callable[[], object], Maker[Any]] | None = None

    def defer(self, base: _Base, make: Maker[_Base]) -> None:
        """Let ``make(base)`` record what makes a base, before anything else is recorded."""
        with self._lock:
            self.record()
            self.pending = (weakref.ref(base) if self._weak else lambda: base, make)

    def withdraw(self, base: object) -> Any:
        """Return what was to make a base, and forget it; None if it was called."""
        with self._lock:
            if self.pending is None or self.pending[0]() is not base:
                return None
            make, self.pending = self.pending[1], None
            return make

    def record(self) -> None:
        """Have the base made, if there is one and somebody has it still."""
        if self.pending is None:
            return
        with self._lock:  # to the end: another thread is not to record what needs it before
            pending, self.pending = self.pending, None
            base = pending[0]() if pending is not None else None
            if pending is not None and base is not None:
                pending[1](base)
