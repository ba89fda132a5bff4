"""Partners: arrays that are cut alike along an axis, and stay so when one of them is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.array.migration import (
    Followers,
    Group,
    bounds_of,
    cut_together,
    laid,
    move,
)
from distnb.client.handle.array import Array, is_whole
from distnb.client.handle.indexing import one_axis
from distnb.client.math.reductions import count_nonzero
from distnb.client.session.session import Session
from distnb.client.sparse.balance import balanced_cuts, costs_of, cut_anew, seconds_of
from distnb.client.sparse.compressed import Compressed
from distnb.client.sparse.structure import even, nearest, shares
from distnb.common.errors import LayoutError, SessionError, explain, quoted
from distnb.geometry.layout import Ints

__all__ = ["repartition", "together"]


def together(
    *arrays: Array | Compressed,
    axis: int | Sequence[int] | None = None,
    rebalance: bool = False,
) -> None:
    """Cut arrays alike along an axis, and keep them so: where one is moved, the others go along.

    All are brought, in place, to where the first is cut. From then on :meth:`distnb.DistArray.move`
    and :func:`repartition` of one move all. Nothing is sent between them for what is done along
    that axis, and :func:`distnb.foreach` finds the parts of each task on one engine.

    Parameters
    ----------
    *arrays : DistArray or sparse array
        Whole arrays of one length along the axis; CSR is cut along axis 0, CSC along axis 1.
    axis : int, or one for each array, optional
        What is cut: by default the columns of CSC, and axis 0 of all others.
    rebalance : bool
        Cut all of them anew where parts of a sparse one among them take unequally long in a loop of
        products (``A @ x``, ``A.T @ x``, :func:`distnb.sparse.matmul`) or of
        :func:`distnb.foreach` with its parts.

    Notes
    -----
    With ``rebalance``, or for every sparse array with ``distnb.config.rebalance = "auto"``, parts
    are compared after 4, 5, 6, 7, 8, 10, 12 ... products: after a quarter more, about.
    Where one engine has more than 1.1
    times the elements of the median one, or (after 16) computed for 1.25 times as long, and what
    was lost to that so far is more than what moving would cost, all is cut anew, in place: so that
    engines have as many elements, or else, as long to compute. Reports say what was done, why,
    and what it brought (``Report.notes``). Rows stay whole, so ``A @ x`` has the same digits; what
    is added up over engines (``A.T @ x``, sums of what lies as rows) may differ in the last one, as
    in any other layout. The setting does nothing where more than that could depend on who has what:
    after :func:`distnb.foreach`, :func:`distnb.map_blocks` or ``%px`` with arrays, and under
    ``mpiexec``, whose ranks would have to agree on times.

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
    session = getattr(arrays[0], "session", None)
    if session is None:
        got = type(arrays[0]).__name__
        raise TypeError(explain("together()", got, "distributed arrays", "pass dnb.asarray(x)"))
    axes = [*axis] if isinstance(axis, Sequence) else [axis] * len(arrays)
    if len(axes) != len(arrays):
        raise ValueError(explain("axis", axis, f"one, or {len(arrays)}", "one for each array"))
    places = [_checked(x, a, session) for x, a in zip(arrays, axes, strict=True)]
    lengths = [x.shape[a] for x, a in zip(arrays, places, strict=True)]
    if len(set(lengths)) > 1:
        raise ValueError(
            explain(
                "partners",
                f"lengths {lengths} along axes {places}",
                "one length",
                "pass such arrays",
            )
        )
    owners = [x.dbase if isinstance(x, Array) else x for x in arrays]
    members = list(zip(owners, places, strict=True))
    followers: Followers = session.extensions[Followers]
    followers.add(Group(members, rebalance))
    try:
        cut_together(session, members, _bounds(arrays[0], places[0]))
    except BaseException:
        followers.groups.pop()
        raise


def _checked(x: object, axis: int | None, session: Session, name: str = "partner") -> int:
    """Return an axis along which an array can be cut in place."""
    if not isinstance(x, Array | Compressed):
        expected = "a distributed array, dense, CSR or CSC"
        raise TypeError(explain(name, type(x).__name__, expected, "convert it first"))
    if x.session is not session:
        raise SessionError(
            explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
        )
    own = x.axis if isinstance(x, Compressed) else 0
    a = one_axis(own if axis is None else axis, x.ndim)
    do = _unlike(x, a)
    if do is not None:
        expected = f"a whole array that can be cut along axis {a}"
        raise LayoutError(explain(name, f"{x!r}", expected, do))
    return a


def _unlike(x: Array | Compressed, axis: int) -> str | None:
    """Return what to do about an array that cannot be cut along an axis, None if it can."""
    if isinstance(x, Array):
        return None if is_whole(x) else "pass what it is a view of"
    if not x.structure.lined:
        return "redistribute it first: it is in blocks, or all engines have all of it"
    if x.axis == axis:
        return None
    return f"{x.format.upper()} is cut along axis {x.axis}: pass axis={x.axis}, or convert it"


def _bounds(x: Array | Compressed, axis: int) -> Ints:
    """Return where an array is cut, or where it is to be cut if it does not lie so."""
    if isinstance(x, Compressed):
        return x.structure.cuts
    size, n = x.session.size, x.shape[axis]
    found = None if x.at_home else bounds_of(x.dbase.layout, x.shape, axis, size)
    return even(n, size) if found is None else found


# -- balance -----------------------------------------------------------------------------------


def repartition(x: Array | Compressed, by: str | ArrayLike = "nnz", axis: int | None = None) -> Any:
    """Cut an array anew so that engines have as much each; its partners go along, in place.

    Sent are the elements that get another owner; how much there is at each index is counted, and
    read, first: this waits.

    Parameters
    ----------
    x : DistArray or sparse array
        A whole array.
    by : 'nnz', 'time' or array_like
        What is to be balanced: elements that are not zero (of sparse arrays, stored ones); what
        engines computed in the last commands that read the array, spread over its parts; or
        weights, one for each index along the axis, not negative.
    axis : int, optional
        What is cut; by default the columns of CSC, and axis 0 of all others.

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
    session: Any = getattr(x, "session", None)
    a = _checked(x, axis, session, "x")
    bounds = _balanced(x, by, a)
    if isinstance(x, Array):
        move(x, laid(bounds, x.ndim, a), None)
    else:
        cut_anew(x, bounds)
    return x


def _balanced(x: Array | Compressed, by: str | ArrayLike, axis: int) -> Ints:
    size, n = x.session.size, x.shape[axis]
    if isinstance(by, str):
        if by == "time":
            return _by_time(x, axis)
        if by != "nnz":
            raise ValueError(
                explain("by", quoted(by), "'nnz', 'time' or weights", "pass one of these")
            )
        if isinstance(x, Compressed):
            return balanced_cuts(x.stored)
        others = tuple([a for a in range(x.ndim) if a != axis])
        weights = np.asarray(count_nonzero(x, axis=others) if others else x != 0, np.float64)
    else:
        weights = np.asarray(by)
        if weights.dtype.kind == "c":
            raise TypeError(explain("weights", weights.dtype, "real numbers", "use abs() or .real"))
        weights = weights.astype(np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            explain(
                "weights",
                f"shape {weights.shape}" if weights.shape != (n,) else "NaN, infinity or below 0",
                f"({n},) finite numbers >= 0",
                "give one for each index",
            )
        )
    if not n or not weights.any():
        return even(n, size)
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # their sum may be out of range
    total = float(weights.sum())
    upto = np.concatenate([[0.0], np.cumsum(weights)])
    wanted = np.arange(1, size) * (total / size)
    above = np.searchsorted(upto[1:], wanted)
    return nearest(wanted, above, upto[above], upto[np.minimum(above + 1, n)], n)


def _by_time(x: Array | Compressed, axis: int) -> Ints:
    """Return cuts between which engines would have computed equally long."""
    session: Session = x.session
    session.flush()
    if isinstance(x, Compressed):
        seconds = _seconds(session, x.structure.indptr.dbase.handle)
        costs = costs_of(seconds, x.structure.per_engine)
        return balanced_cuts(x.stored, shares(x.structure.ends, costs))
    bounds = None if x.at_home else bounds_of(x.dbase.layout, x.shape, axis, session.size)
    if bounds is None:
        raise LayoutError(
            explain(
                "array to be balanced by time",
                f"{x.layout.base.spell()}",
                f"blocks along axis {axis}, one for each engine",
                "move it so, and compute with it first",
            )
        )
    costs = costs_of(_seconds(session, x.dbase.handle), np.diff(bounds).tolist())
    inner = np.rint(shares(bounds, costs)).astype(int)
    return (0, *np.maximum.accumulate(inner).tolist(), bounds[-1])


def _seconds(session: Session, handle: int) -> np.ndarray:
    """Return how long engines computed with a base; the same on all ranks of a script."""
    found = seconds_of(session, (handle,))
    if session.transport.rank is not None:
        found = np.sum(session.transport.share(found), axis=0)
    if not found.any():
        raise ValueError(
            explain(
                "times of parts",
                "none",
                "some, of commands that read the array",
                "compute with it first, or balance it by 'nnz' or weights",
            )
        )
    return found
