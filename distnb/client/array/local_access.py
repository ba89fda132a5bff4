"""What each rank of a script under ``mpiexec`` holds, and gives and gets by itself (SPMD).

All ranks call these functions together, each with its own part; so do scripts of D2O, whose names
the methods of arrays have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distnb.client.handle.arguments import Subscript
from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import move_out
from distnb.client.record.creation import asarray
from distnb.client.record.operations import assign
from distnb.client.session.session import Session
from distnb.common.errors import SessionError, explain
from distnb.geometry.axes import Whole, cut_at
from distnb.geometry.layout import Grid, Layout
from distnb.geometry.views import View

__all__ = ["get_data", "local_look", "local_part", "set_data", "set_full", "set_local"]


def local_part(x: Array) -> Any:
    """Return what this rank holds of an array; one that all ranks have is shared out first."""
    session = _together(x)
    if x.at_home:
        move_out(x.dbase)
    operand = x.operand
    session.flush()
    session.memory.lend([operand.base])
    return session.transport.local(operand)


def local_look(x: Array) -> np.ndarray:
    """Return the elements that this rank holds, which its script may write itself.

    So what was made of them, and what shows them in another way, is made again when it is used.
    """
    return _to_write(x)[1]


def _to_write(x: Array) -> tuple[Any, np.ndarray]:
    """Return what this rank holds of an array that its script may write, and the elements."""
    part = local_part(x)
    found: np.ndarray = part.local
    x.dbase.about_to_be_written()
    if x.dbase.look is not None:
        x.dbase.look.wrote(x.dbase)
    return part, found


def _together(x: Array) -> Any:
    """Return the session of an array, in which all ranks do the same."""
    session = x.session
    if session.transport.rank is None:
        raise SessionError(
            explain(
                "local part of an array",
                "a notebook, which is no engine",
                "a script under mpiexec",
                "use %px, %%distlocal or dnb.foreach",
            )
        )
    session.check_open()
    return session


def set_local(x: Array, values: ArrayLike) -> None:
    """Write what this rank holds; every rank does so with its own values."""
    held, part = _to_write(x)
    given = np.asarray(values)
    good = x.writeable and held.writeable and given.shape in (part.shape, ())
    fits = good and np.can_cast(given.dtype, part.dtype, "same_kind")
    if not all(x.session.transport.share(fits)):
        raise ValueError(
            explain(
                "local data",
                f"shape {given.shape} {given.dtype} on this rank",
                f"{part.shape} {part.dtype} that can be written, on each rank its own",
                "assign to the array itself where ranks share the elements",
            )
        )
    held.local = given


def set_full(x: Array, values: ArrayLike) -> None:
    """Write all of an array, of which every rank has the values."""
    given = np.asarray(values)
    if given.shape != x.shape:
        raise ValueError(
            explain("full data", f"shape {given.shape}", f"{x.shape}", "give all of the array")
        )
    assign(x, given)


def get_data(x: Array, key: Subscript, local_keys: bool) -> Any:
    """Return ``x[key]``; with keys of each rank's own, what all asked for, each its own."""
    if not local_keys:
        return x[key]
    pieces = [asarray(x[k], session=x.session) for k in _keys(x, key)]
    pieces = [p.reshape(1) if not p.ndim else p for p in pieces]
    cuts = (0, *accumulate(len(p) for p in pieces))
    inner = {p.shape[1:] for p in pieces}
    if len(inner) > 1:
        raise ValueError(
            explain("local keys", f"parts of shapes {inner}", "one", "let them differ in axis 0")
        )
    shape = (cuts[-1], *inner.pop())
    out = create(x.session, shape, x.dtype, _line(cuts, len(shape)), ("empty",))
    for rank, piece in enumerate(pieces):
        assign(out[cuts[rank] : cuts[rank + 1]], piece)
    return out


def _line(cuts: tuple[int, ...], ndim: int) -> Layout:
    """Return the layout of an array of which each rank has the rows between two cuts."""
    axes = (cut_at(cuts), *(Whole(),) * (ndim - 1))
    return Layout(Grid.of((len(cuts) - 1,)), axes, (0,) + (-1,) * (ndim - 1))


def set_data(x: Array, data: ArrayLike, key: Subscript, local_keys: bool) -> None:
    """Write ``x[key] = data``; with keys and data of each rank's own, those of all, in order."""
    if not local_keys:
        x[key] = data
        return
    keys, several = _keys(x, key), _together(x).transport.share(np.asarray(data))
    for one, values in zip(keys, several, strict=True):
        x[one] = values


def _keys(x: Array, key: Subscript) -> Sequence[Any]:
    """Return the keys of all ranks. Each knows its own; arrays have the same handles on all."""
    session = _together(x)
    parts = key if isinstance(key, tuple) else (key,)
    known = tuple([_named(k) if isinstance(k, Array) else (k,) for k in parts])
    session.flush()
    found: list[Any] = []
    for several in session.transport.share((isinstance(key, tuple), known)):
        is_tuple, names = several
        one = tuple([n[0] if len(n) == 1 else _by_name(session, *n) for n in names])
        found.append(one if is_tuple else one[0])
    return found


def _named(x: Array) -> tuple[Any, ...]:
    """Return an array as another rank finds it."""
    here = x.here
    return (here,) if here is not None else (x.operand.base, x.dview)


def _by_name(session: Session, handle: int, view: View) -> Array:
    found: Array = Array.made(session.handles.entries[handle](), view)
    return found
