"""What engines get for each argument of `foreach`: bases, and what they are to a task.

A dense array that does not lie so that each engine has the parts of its tasks is brought there; if
it is updated, it is written back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from distnb.client.array.migration import bounds_of, laid
from distnb.client.handle.array import Array, is_whole, read_only
from distnb.client.handle.conversion import copied
from distnb.client.handle.copies import lying
from distnb.client.parts.cuts import Cuts, cut
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
    return (x.tocsr() if axis == 0 else x.asformat("csc")).in_lines()


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
                "redistribute it first" if x.axis == one.axis else f"use .splits(axis={x.axis})",
            )
        )
    data = elements(stored)
    what = ("compressed", cuts.places, one.axis, stored.structure.minor)
    target = x.data if updated and data is not x.data else None
    return Given(what, (data, *places(stored.structure)), target)


def _matrix(x: Compressed, written: Sequence[Base]) -> Given:
    x = x.in_lines() if x.structure.blocks else x
    s = x.structure
    arrays = (elements(x.held), *places(s))
    # Where a part begins among the pointers, of which each part has one more than rows.
    what = ("matrix", s.cuts, x.axis, s.minor, s.ends)
    return Given(what, tuple([_everywhere(a, written) for a in arrays]))


def _everywhere(x: Array, written: Sequence[Base]) -> Any:
    """Return an array with all elements of ``x`` on each engine, and none that tasks write."""
    layout = replicated(x.ndim, x.session.size)
    if any(x.dbase is base for base in written):
        return copied(x, x.dtype, layout)
    return lying(x, layout)
