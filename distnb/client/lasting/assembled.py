"""What is made of several dense arrays, as sparse arrays are: these, and it again of them.

So whatever keeps, saves or reads dense arrays does it to what is made of them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from distnb.client.handle.array import Array
from distnb.geometry.layout import Ints

__all__ = [
    "KINDS",
    "Facts",
    "Kind",
    "Parts",
    "Shared",
    "again",
    "dense_parts",
    "is_array",
    "parts_of",
]

#: What things that are made one after the other have in common: a key -> it.
Shared = dict[object, object]
#: Numbers, tuples and layouts that tell what something is beside its arrays.
Facts = tuple[object, ...]


class Parts(NamedTuple):
    """What something is made of.

    Attributes
    ----------
    kind : str
        Its entry in ``KINDS``.
    shape : tuple of int
        Its shape.
    text : str
        What stands for it in a table.
    facts : tuple
        What it is besides.
    arrays : tuple of Array
        The dense arrays, elements first.
    """

    kind: str
    shape: Ints
    text: str
    facts: Facts
    arrays: tuple[Any, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(sum(x.nbytes for x in self.arrays))


class Kind(NamedTuple):
    """How things of a class are taken apart and made again.

    Attributes
    ----------
    cls : type
        The class, with its subclasses.
    apart : callable
        Returns the parts of one of it.
    again : callable
        Returns one of its shape, facts and arrays; of how many engines these facts are, which may
        be others than there are; and with what is shared.
    check : callable
        Raises ValueError if the elements of one that was made cannot be.
    """

    cls: type[object]
    apart: Callable[[object], Parts]
    again: Callable[[Ints, Facts, Sequence[Array], int, Shared], Any]
    check: Callable[[object], None]


#: Name -> kind.
KINDS: dict[str, Kind] = {}


def is_array(x: object) -> bool:
    """Tell whether something is a dense array, or made of such in a known way."""
    return isinstance(x, Array) or any(isinstance(x, kind.cls) for kind in KINDS.values())


def parts_of(x: object) -> Parts | None:
    """Return what something is made of; None for dense arrays."""
    if isinstance(x, Array):
        return None
    return next(kind.apart(x) for kind in KINDS.values() if isinstance(x, kind.cls))


def dense_parts(x: object) -> tuple[Any, ...]:
    """Return the dense arrays of what has a name: a dense array is its only one."""
    parts = parts_of(x)
    return (x,) if parts is None else parts.arrays


def again(parts: Parts, engines: int, shared: Shared) -> Any:
    """Return what is made of parts, whose facts are those of so many engines."""
    return KINDS[parts.kind].again(parts.shape, parts.facts, parts.arrays, engines, shared)
