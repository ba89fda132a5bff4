"""What can be closed, where compiled modules see at once whether it is."""

from __future__ import annotations

__all__ = ["Closable"]


class Closable:
    """Something that is open until it is closed, once.

    Attributes
    ----------
    closed : bool
        Whether it has been closed.
    """

    __slots__ = ("closed",)

    def __init__(self) -> None:
        self.closed = False
