"""`foreach`: a function of the user's, called for each part of arrays, on the engines."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from distnb.client.handle.array import Array
from distnb.client.math.mapping import constant
from distnb.client.math.pickling import pickled
from distnb.client.parts.cuts import Cuts
from distnb.client.parts.operands import Given, bases_of, cuts_of_all, given
from distnb.client.parts.results import Outcome, new_report
from distnb.client.session.session import Session
from distnb.client.shape.splits import Splits
from distnb.client.sparse.balance import count
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.compressed import Compressed
from distnb.common import calling
from distnb.common.errors import SessionError, explain
from distnb.common.interrupts import deferred_interrupts
from distnb.wire.protocol import Collective

__all__ = ["foreach"]


def foreach(
    function: Callable[..., Any],
    /,
    *args: Any,
    update: int | Sequence[int] = (),
    **constants: Any,
) -> Any:
    """Call a function for each part of arrays, as tasks on the engines.

    A task gets its part of each array that is split, ``A.splits(...)``, and all of every other one.
    Each engine runs the tasks whose parts it holds; who has none left goes on with those of others
    on its node. The call waits for all.

    Parameters
    ----------
    function : callable
        Gets for each of ``args`` NumPy arrays, or SciPy's for sparse ones; it returns anything.
    *args
        Splits, at least one; arrays, of which each task gets all, read-only: one copy for a node,
        which is kept until the array changes; and anything that can be pickled.
    update : int or sequence of int, optional
        Which of ``args`` tasks may write into: their part is the array itself. Each part has one
        writer. Of sparse arrays the stored elements are written, ``part.data``.
    **constants
        Arguments that are the same for all tasks.

    Returns
    -------
    DistArray, list or None
        Arrays that fit together are one array, joined along the axis of the first splits (or the
        last axis, if they have fewer); it lies where the tasks are at home. So do SciPy's
        ``csr_array`` and ``csc_array``: they are one ``csr_array`` if rows are joined, else a
        ``csc_array``. Else it is a list of what the tasks returned, within the gather budget; None
        if they returned nothing.

    Raises
    ------
    TypeError
        If no argument is split, or something cannot be pickled.
    ValueError
        If splits have different numbers of parts, or a part would have two writers.
    Exception
        What the function raised in a task, with a note that names it. Tasks that have not begun
        are then not run; what others wrote into arrays stays.

    See Also
    --------
    map_blocks : for functions of neighbours
    map : for functions of single elements

    Notes
    -----
    Arrays that are split along axes of one length are cut alike: as the one that a sparse part or
    an update keeps where it is, or as the largest. Parts are cut where engines are, so with as many
    parts as engines, or more, nothing is sent of an array that lies along that axis. The function
    goes along as in :func:`distnb.map`; parts that are not updated are read-only, and arrays that
    it updates must not be among those that it gets whole as they change: it gets them as they were
    before.

    Examples
    --------
    >>> import distnb as dnb
    >>> import numpy as np
    >>> with dnb.inprocess(2):
    ...     A = dnb.arange(8.0, dist="block").reshape(4, 2)
    ...     dnb.foreach(lambda a: a.sum(axis=1), A.splits()).to_numpy()
    ...     def scale(a, by):
    ...         a *= by
    ...     dnb.foreach(scale, A.splits(4), 10, update=0)
    ...     A.to_numpy()
    array([ 1.,  5.,  9., 13.])
    array([[ 0., 10.],
           [20., 30.],
           [40., 50.],
           [60., 70.]])
    """
    for name, x in constants.items():
        if isinstance(x, Splits):
            raise TypeError(explain(f"{name}=", "splits", "whole arrays", "pass it by position"))
    splits = [x for x in args if isinstance(x, Splits)]
    session = _session(args, splits)
    session.by_parts = True
    updated = _updated(update, args)
    written = [base for k in sorted(updated) for base in bases_of(args[k].array)]
    if len({id(base) for base in written}) < len(written):
        raise ValueError(
            explain(
                "update",
                f"{update}, of which two are one array",
                "one writer for each part",
                "pass what is updated once",
            )
        )
    cuts = cuts_of_all(splits, [args[k] for k in updated], session)
    found = _prepared(args, dict(zip(map(id, splits), cuts, strict=True)), updated, written)
    outcome = _run(session, function, args, constants, found, cuts[0], updated)
    outcome.check(_told_of(args, cuts), bool(updated))
    for one in found.values():
        if one.target is not None:
            one.target[...] = one.arrays[0]
    for split in splits:
        if isinstance(split.array, Compressed) and split.array.axis == split.axis:
            count(split.array)
    return outcome.result(splits[0].axis)


# -- what is passed ----------------------------------------------------------------------------


def _session(args: Sequence[Any], splits: Sequence[Splits]) -> Session:
    """Return the session of all arrays; raise unless there are splits, of as many parts."""
    if not splits:
        raise TypeError(
            explain(
                "foreach()",
                "no array that is split",
                "at least one",
                "pass A.splits(), for a loop over numbers dnb.arange(n).splits(n)",
            )
        )
    if len({one.parts for one in splits}) > 1:
        raise ValueError(
            explain(
                "splits",
                " and ".join(str(one.parts) for one in splits) + " parts",
                "one number of parts",
                "pass it to all: A.splits(n)",
            )
        )
    arrays = [x.array if isinstance(x, Splits) else x for x in args]
    sessions = {id(x.session): x.session for x in arrays if isinstance(x, Array | Sparse)}
    if len(sessions) > 1:
        raise SessionError(
            explain("arrays", "two sessions", "one", "use .to_numpy() and distnb.asarray")
        )
    found: Session = splits[0].array.session
    found.check_open()
    return found


def _updated(update: int | Sequence[int], args: Sequence[Any]) -> set[int]:
    """Return the places of the arguments that are updated."""
    try:
        given = [operator.index(k) for k in (update if isinstance(update, Sequence) else (update,))]
    except TypeError:
        given = [-1]
    for k in given:
        if not 0 <= k < len(args) or not isinstance(args[k], Splits):
            raise ValueError(
                explain(
                    "update", update, "places of arguments that are split", "pass update=0, say"
                )
            )
    if len(set(given)) < len(given):
        raise ValueError(explain("update", update, "each place once", "pass update=(0, 1)"))
    return set(given)


def _prepared(
    args: Sequence[Any], cuts: dict[int, Cuts], updated: set[int], written: Sequence[Any]
) -> dict[int, Given]:
    """Return the arrays among the arguments as engines get them, by their places."""
    return {
        k: given(x, cuts.get(id(x)), k in updated, written)
        for k, x in enumerate(args)
        if isinstance(x, Splits | Array | Sparse) and not (isinstance(x, Array) and not x.ndim)
    }


# -- the command -------------------------------------------------------------------------------


def _run(
    session: Session,
    function: Callable[..., Any],
    args: Sequence[Any],
    constants: dict[str, Any],
    found: dict[int, Given],
    cuts: Cuts,
    updated: set[int],
) -> Outcome:
    """Run the tasks; return what became of them."""
    fixed = tuple([None if k in found else constant(x) for k, x in enumerate(args)])
    named = {
        key: x._within_budget() if isinstance(x, Sparse) else constant(x)
        for key, x in constants.items()
    }
    text = pickled(calling.Task(function, tuple(found), fixed, named))
    ins: list[Array] = []
    described = []
    for k, one in found.items():
        kind, *more = one.what
        described.append((kind, len(ins), k in updated, *more))
        ins += one.arrays
    number = session.functions.number(text)
    read = tuple([x.operand for x in ins])
    updates = [found[k].arrays[0].operand for k in sorted(updated)]
    # last, for the above may send: it has to be made again where the tasks run again
    report = new_report(session, cuts.homes[-1])
    written = (report.operand, *updates)
    name = calling.name_of(function)
    apart = session.transport.rank is None and not session.transport.inline
    arguments = (number, name, cuts.homes, tuple(described), apart)
    # Ctrl-C comes in the wait, which lets engines give the tasks up: the idle timer may have sent
    # them before, and who reads what they update would wait for them.
    with session.recorder.lock, deferred_interrupts():
        session.record(Collective("foreach", written, read, arguments, session.site()))
        session.functions.trim()
        outcome = Outcome(report, cuts.homes, name)
        if outcome.failures:  # which tasks had begun by then is another matter when done again
            session.recovery.doubt([x.base for x in updates])
    return outcome


def _told_of(args: Sequence[Any], cuts: Sequence[Cuts]) -> list[str]:
    """Return which part of its first array each task has."""
    k, one = next((k, x) for k, x in enumerate(args) if isinstance(x, Splits))
    return [f"{a}:{b} of axis {one.axis} of argument {k}" for a, b in pairwise(cuts[0].places)]
