"""Partners: arrays that are cut alike along an axis, and stay so when one of them is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.array.migration import Followers, move
from distnb.client.handle.array import Array, is_whole
from distnb.client.handle.indexing import one_axis
from distnb.client.math.reductions import count_nonzero
from distnb.client.parts.cuts import bounds_of, laid
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.sparse.commands import recut
from distnb.client.sparse.compressed import Compressed
from distnb.client.sparse.creation import balanced_cuts
from distnb.client.sparse.structure import even, nearest
from distnb.common.errors import LayoutError, SessionError, explain
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View

__all__ = ["repartition", "together"]


def together(*arrays: Array | Compressed, axis: int = 0) -> None:
    """Cut arrays alike along an axis, and keep them so: where one is moved, the others go along.

    All are brought, in place, to where the first is cut. From then on :meth:`distnb.DistArray.move`
    and :func:`repartition` of one move all. Nothing is sent between them for what is done along
    that axis, and :func:`distnb.foreach` finds the parts of each task on one engine.

    Parameters
    ----------
    *arrays : DistArray or sparse array
        Whole arrays of one length along the axis; CSR is cut along axis 0, CSC along axis 1.
    axis : int
        What is cut.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     M, x = dnb.zeros((6, 6), dist="block"), dnb.ones(6, dist="cyclic")
    ...     dnb.together(M, x)
    ...     M.move(("irregular", (0, 2, 6)))
    ...     print(x.layout.base.spell())
    ('irregular', (0, 2, 6)) on 2 engines
    """
    if not arrays:
        raise TypeError(explain("together()", "no arrays", "at least one", "pass some"))
    session = arrays[0].session
    places = [_checked(x, axis, session) for x in arrays]
    lengths = [x.shape[a] for x, a in zip(arrays, places, strict=True)]
    if len(set(lengths)) > 1:
        raise ValueError(
            explain(
                "partners", f"lengths {lengths} along axis {axis}", "one length", "pass such arrays"
            )
        )
    group = _Group(arrays, places)
    group.cut_at(_bounds(arrays[0], places[0]))
    followers: Followers = session.extensions[Followers]
    followers.groups = [g for g in followers.groups if g.alive()]
    followers.groups.append(group)


def _checked(x: object, axis: int, session: Session) -> int:
    """Return an axis along which an array can be cut in place."""
    if not isinstance(x, Array | Compressed):
        raise TypeError(
            explain("partner", type(x).__name__, "a distributed array", "convert it first")
        )
    if x.session is not session:
        raise SessionError(
            explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
        )
    a = one_axis(axis, x.ndim)
    good = x.axis == a if isinstance(x, Compressed) else is_whole(x)
    if not good:
        raise LayoutError(
            explain(
                "partner",
                f"{x!r}",
                f"a whole array that can be cut along axis {a}",
                "pass what it is a view of, or convert it to CSR or CSC",
            )
        )
    return a


def _bounds(x: Array | Compressed, axis: int) -> Ints:
    """Return where an array is cut, or where it is to be cut if it does not lie so."""
    if isinstance(x, Compressed):
        return x.structure.cuts
    size, n = x.session.size, x.shape[axis]
    found = None if x.at_home else bounds_of(x.dbase.layout, x.shape, axis, size)
    return even(n, size) if found is None else found


class _Group:
    """Arrays that are cut alike; it keeps none of them. Dense ones are known by their bases."""

    def __init__(self, arrays: Sequence[Any], axes: Sequence[int]) -> None:
        owners = [x.dbase if isinstance(x, Array) else x for x in arrays]
        self._members = [(ref(x), axis) for x, axis in zip(owners, axes, strict=True)]
        self._moving = False

    def alive(self) -> list[tuple[Any, int]]:
        """Return those that are there: bases, and sparse arrays; and the axis of each."""
        found = [(r(), axis) for r, axis in self._members]
        return [(x, axis) for x, axis in found if x is not None]

    def check(self, base: Base, layout: Layout) -> None:
        """Raise LayoutError if others cannot go along with a base."""
        for x, axis in self.alive():
            if x is base and bounds_of(layout, base.shape, axis, base.session.size) is None:
                raise LayoutError(
                    explain(
                        "array with partners",
                        layout.spell(),
                        f"blocks along axis {axis}, one for each engine",
                        "choose such a layout, or redistribute() a copy",
                    )
                )

    def follow(self, base: Base) -> None:
        """Bring the others to where a base is cut now."""
        if self._moving:
            return
        for x, axis in self.alive():
            bounds = bounds_of(base.layout, base.shape, axis, base.session.size)
            if x is base and bounds is not None:
                self.cut_at(bounds)

    def has(self, x: object) -> bool:
        """Tell whether a sparse array is one of them."""
        return any(y is x for y, _ in self.alive())

    def cut_at(self, bounds: Ints) -> None:
        """Cut all of them at some places."""
        self._moving = True
        try:
            for x, axis in self.alive():
                if isinstance(x, Base):
                    move(Array.made(x, View.whole(x.shape)), _there(x, axis, bounds), None)
                else:
                    x._become(recut(x.stored, bounds))
        finally:
            self._moving = False


def _there(base: Base, axis: int, bounds: Ints) -> Layout:
    """Return a layout with these bounds: that of the base if it has them."""
    own = None if base.host is not None else base.layout
    if own is not None and bounds_of(own, base.shape, axis, len(bounds) - 1) == bounds:
        return own
    return laid(bounds, len(base.shape), axis)


# -- balance -----------------------------------------------------------------------------------


def repartition(x: Array | Compressed, by: str | ArrayLike = "nnz", axis: int = 0) -> Any:
    """Cut an array anew so that engines have as much each; its partners go along, in place.

    Sent are the elements that get another owner; how much there is at each index is counted, and
    read, first: this waits.

    Parameters
    ----------
    x : DistArray or sparse array
        A whole array.
    by : 'nnz' or array_like
        What is to be balanced: elements that are not zero (of sparse arrays, stored ones), or
        weights, one for each index along the axis, not negative.
    axis : int
        What is cut.

    Returns
    -------
    DistArray or sparse array
        ``x`` itself.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.repartition(dnb.arange(6.0), by=[9, 1, 1, 1, 1, 5])
    ...     print(x.layout.base.spell())
    ('irregular', (0, 1, 6)) on 2 engines
    """
    session: Session = x.session
    a = _checked(x, axis, session)
    bounds = _balanced(x, by, a)
    if isinstance(x, Array):
        move(x, laid(bounds, x.ndim, a), None)
        return x
    followers: Followers = session.extensions[Followers]
    groups = [g for g in followers.groups if g.has(x)] or [_Group((x,), (a,))]
    for group in groups:
        group.cut_at(bounds)
    return x


def _balanced(x: Array | Compressed, by: str | ArrayLike, axis: int) -> Ints:
    size, n = x.session.size, x.shape[axis]
    if isinstance(by, str):
        if by != "nnz":
            raise ValueError(explain("by", repr(by), "'nnz' or weights", "pass one of these"))
        if isinstance(x, Compressed):
            return balanced_cuts(x.stored)
        others = tuple([a for a in range(x.ndim) if a != axis])
        weights = np.asarray(count_nonzero(x, axis=others) if others else x != 0, np.float64)
    else:
        weights = np.asarray(by, np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            explain(
                "weights",
                f"shape {weights.shape}" if weights.shape != (n,) else "NaN, infinity or below 0",
                f"({n},) finite numbers >= 0",
                "give one for each index",
            )
        )
    total = float(weights.sum())
    if not n or not total:
        return even(n, size)
    upto = np.concatenate([[0.0], np.cumsum(weights)])
    wanted = np.arange(1, size) * (total / size)
    above = np.searchsorted(upto[1:], wanted)
    return nearest(wanted, above, upto[above], upto[np.minimum(above + 1, n)], n)
