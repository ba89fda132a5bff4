"""What engines get for each argument of `foreach`: bases, and what they are to a task.

A dense array that does not lie so that each engine has the parts of its tasks is brought there; if
it is updated, it is written back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from distnb.client.handle.array import Array, is_whole, read_only
from distnb.client.handle.conversion import as_dist, copied, in_layout
from distnb.client.parts.cuts import Cuts, bounds_of, cut, laid
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.shape.splits import Splits
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import elements, places, recut
from distnb.client.sparse.compressed import Compressed
from distnb.client.sparse.structure import Stored, even
from distnb.common.errors import explain
from distnb.geometry.layout import replicated

__all__ = ["Given", "bases_of", "cuts_of_all", "given", "length"]

#: Calls for which copies of arrays are kept that are not used again.
_CALLS = 4


class Given(NamedTuple):
    """An argument as engines get it.

    ``what`` describes it (``engines.parts.arguments``), but for the number of its first base and
    whether it is updated; ``target`` is what is to be written back, from the first array.
    """

    what: tuple[Any, ...]
    arrays: tuple[Array, ...]
    target: Array | None = None


def length(one: Splits) -> int:
    """Return the length of the axis that is cut."""
    return int(one.array.shape[one.axis])


def bases_of(x: Array | Sparse) -> list[Base]:
    """Return the bases that are written if an array is updated."""
    return [x.data.dbase if isinstance(x, Sparse) else x.dbase]


# -- cuts --------------------------------------------------------------------------------------


def cuts_of_all(
    splits: Sequence[Splits], updated: Sequence[Splits], session: Session
) -> list[Cuts]:
    """Return where each is cut: as the one that leads, if their axes are as long.

    The one that is the hardest to bring elsewhere leads: a sparse one, one that is updated, the
    largest.
    """

    def weight(one: Splits) -> tuple[bool, bool, int]:
        x = one.array
        return isinstance(x, Sparse), any(one is u for u in updated), x.size * x.dtype.itemsize

    leader = max(splits, key=weight)
    first = _own_cuts(leader, session)
    n = length(leader)
    return [
        first if length(one) == n else Cuts(even(length(one), one.parts), first.homes)
        for one in splits
    ]


def _own_cuts(one: Splits, session: Session) -> Cuts:
    """Return where an array is cut if it lies as it is."""
    x, size, n = one.array, session.size, length(one)
    if isinstance(x, Sparse):
        s = _along(x, one.axis).structure
        return cut(s.cuts, one.parts, s.per_engine)
    found = None
    if not x.at_home and is_whole(x):
        found = bounds_of(x.dbase.layout, x.shape, one.axis, size)
    bounds = even(n, size) if found is None else found
    return cut(bounds, one.parts, [b - a for a, b in pairwise(bounds)])


def _along(x: Sparse, axis: int) -> Any:
    """Return a sparse array in the format that is cut along an axis."""
    return x.tocsr() if axis == 0 else x.asformat("csc")


# -- arguments ---------------------------------------------------------------------------------


def given(x: Any, cuts: Cuts | None, updated: bool, written: Sequence[Base]) -> Given:
    """Return an argument as engines get it; ``written`` are the bases that tasks update."""
    if isinstance(x, Splits) and cuts is not None:
        if isinstance(x.array, Sparse):
            return _compressed(x, cuts, updated)
        return _split(x, cuts, updated)
    if isinstance(x, Sparse):
        return _matrix(x._compressed(), written)
    return Given(("whole",), (_everywhere(x, written),))


def _split(one: Splits, cuts: Cuts, updated: bool) -> Given:
    x: Array = one.array
    if updated and not x.writeable:
        raise read_only(x)
    what = ("split", cuts.places, one.axis)
    if not x.at_home and is_whole(x):
        there = bounds_of(x.dbase.layout, x.shape, one.axis, x.session.size)
        if there == cuts.bounds:
            return Given(what, (x,))
    found = copied(x, x.dtype, laid(cuts.bounds, x.ndim, one.axis))
    return Given(what, (found,), x if updated else None)


def _compressed(one: Splits, cuts: Cuts, updated: bool) -> Given:
    x = one.array
    along = _along(x, one.axis)
    stored: Stored = recut(along.stored, cuts.bounds)
    if updated and (x.axis != one.axis or stored.structure is not x.structure):
        raise ValueError(
            explain(
                "sparse array that is updated",
                f"{x.layout}",
                f"one that is cut at {cuts.bounds} along axis {one.axis}",
                "redistribute it first",
            )
        )
    data = elements(stored)
    what = ("compressed", cuts.places, one.axis, stored.structure.minor)
    target = x.data if updated and data is not x.data else None
    return Given(what, (data, *places(stored.structure)), target)


def _matrix(x: Compressed, written: Sequence[Base]) -> Given:
    s = x.structure
    arrays = (elements(x.stored), *places(s))
    # Where a part begins among the pointers, of which each part has one more than rows.
    what = ("matrix", s.cuts, x.axis, s.minor, s.ends)
    return Given(what, tuple([_everywhere(a, written) for a in arrays]))


def _everywhere(x: Array, written: Sequence[Base]) -> Any:
    """Return an array with all elements of ``x`` on each engine, and none that tasks write.

    It is made once for as long as nothing writes into ``x``.
    """
    session, layout = x.session, replicated(x.ndim, x.session.size)
    if x.at_home:
        return in_layout(as_dist(x, session), layout)
    copies: Copies = session.extensions[Copies]
    found = copies.find(x) if is_whole(x) else None
    if found is None:
        own = any(x.dbase is base for base in written)
        found = copied(x, x.dtype, layout) if own else in_layout(x, layout)
        if is_whole(x) and found is not x:
            copies.keep(x, found)
    return found


class Copies:
    """Copies that each engine has of arrays on engines, as they were when they were made.

    A base knows its own (``Base.copy``) until something writes into it. Only those that the last
    calls used are kept.
    """

    def __init__(self) -> None:
        #: Handle of a copy -> what engines had been asked for besides batches when it was used.
        self._sent: dict[int, int] = {}
        #: The arrays that were passed now, and in the last calls.
        self._now: list[Base] = []
        self._calls: deque[list[Base]] = deque()

    def find(self, x: Array) -> Any:
        """Return the copy of an array that is as it is now, None if there is none."""
        base, session = x.dbase, x.session
        copy = base.copy
        if copy is None or copy.lost or base.lost or base.near is not None:
            return None
        if base.look is not None or self._sent.get(copy.handle) != session.transport.sent:
            return None
        self._now.append(base)
        return Array.made(copy, x.dview, writeable=False)

    def keep(self, x: Array, found: Array) -> None:
        """Keep a copy for as long as nothing writes into the array."""
        session = x.session
        written_unseen = session.memory.shown and session.transport.rank is not None
        if x.dbase.look is None and not written_unseen:
            x.session.looks = True
            x.dbase.copy = found.dbase
            self._now.append(x.dbase)

    def settle(self, session: Session) -> None:
        """Let go what was not used for some calls."""
        dropped = self._calls.popleft() if len(self._calls) == _CALLS else []
        self._calls.append(self._now)
        self._now = []
        kept = [base for call in self._calls for base in call]
        for base in dropped:
            if not any(base is other for other in kept):
                base.copy = None
        copies = [base.copy for base in kept]
        self._sent = {c.handle: session.transport.sent for c in copies if c is not None}
