"""What is recorded as soon as anything else is, and never if nobody wants it by then."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from distnb.client.session.bases import Base

__all__ = ["Promise"]


class Promise:
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

    def __init__(self, lock: AbstractContextManager[Any], weak: bool) -> None:
        self._lock = lock
        self._weak = weak
        #: The base, as long as it is there, and what makes it.
        self.given: tuple[Callable[[], Base | None], Any] | None = None

    def give(self, base: Base, make: Any) -> None:
        """Let ``make(base)`` record what makes a base, before anything else is recorded."""
        self.keep()
        self.given = (weakref.ref(base) if self._weak else lambda: base, make)

    def withdraw(self, base: Base) -> Any:
        """Return what was to make a base, and forget it; None if it was called."""
        with self._lock:
            if self.given is None or self.given[0]() is not base:
                return None
            make, self.given = self.given[1], None
            return make

    def keep(self) -> None:
        """Have the base made, if one is promised and somebody has it still."""
        if self.given is None:
            return
        with self._lock:
            given, self.given = self.given, None
        base = given[0]() if given is not None else None
        if given is not None and base is not None:
            given[1](base)
