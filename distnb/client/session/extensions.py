"""What the rooms above the session keep for each session, such as a cache of operations."""

from __future__ import annotations

from typing import Any

__all__ = ["Extensions"]


class Extensions(dict[type[Any], Any]):
    """Class -> its one object of this session, made without arguments when it is first asked for.

    The class is defined where its state is used, and the session need not know it.

    Examples
    --------
    >>> extensions = Extensions()
    >>> extensions[list].append(1)
    >>> extensions[list]
    [1]
    """

    def __missing__(self, kind: type[Any]) -> Any:
        made = self[kind] = kind()
        return made
