"""Tickets: numbers from 0 on that ranks of a node draw, each number once."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

__all__ = ["Tickets"]


class Tickets:
    """A file to which who draws appends a byte: where that came to lie is the ticket.

    The system does this at once, whoever else is at it, and a process that dies leaves nothing to
    be released. The file has no name; others of the node find it by process and descriptor.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def new(cls) -> Tickets:
        """Return tickets of which none is drawn."""
        fd = os.memfd_create("distnb-tickets")
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND | os.O_RDWR)
        return cls(fd)

    @classmethod
    def of(cls, pid: int, fd: int) -> Tickets:
        """Return the tickets of another process."""
        return cls(os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))

    @property
    def card(self) -> tuple[int, int]:
        """What others need to find them."""
        return os.getpid(), self.fd

    def below(self, n: int) -> Iterator[int]:
        """Draw tickets as long as they are below a number."""
        while (ticket := self._draw(1)) < n:
            yield ticket

    def end(self, n: int) -> None:
        """Leave none below a number for others."""
        self._draw(n)

    def _draw(self, n: int) -> int:
        os.write(self.fd, bytes(n))
        return os.lseek(self.fd, 0, os.SEEK_CUR) - n

    def close(self) -> None:
        """Give the file back."""
        with contextlib.suppress(OSError):
            os.close(self.fd)
