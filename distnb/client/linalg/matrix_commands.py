"""Commands on whole bases: operands of one session, brought into a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import check_session, in_layout, record_collective
from distnb.client.record.creation import asarray
from distnb.geometry.axes import Block, Whole
from distnb.geometry.layout import Grid, Layout
from distnb.ops import matrix_functions

__all__ = ["local", "operands", "rows"]


def operands(*given: ArrayLike) -> tuple[Array, ...]:
    """Return array-likes as arrays of one session."""
    known = [x for x in given if isinstance(x, Array)]
    session = known[0].session if known else asarray(given[0]).session
    for x in known:
        check_session(x, session)
    if len(known) == len(given):
        return given  # type: ignore[return-value]
    return tuple(asarray(x, session=session) for x in given)


def local(
    name: str,
    ins: Sequence[Array],
    args: tuple[Any, ...],
    layout: Layout | None,
    outs: Sequence[Layout],
    specs: Sequence[matrix_functions.Spec],
) -> tuple[Array, ...]:
    """Record a function of what each engine holds of operands that are brought into a layout.

    None: they are in place.
    """
    session = ins[0].session
    made = tuple(
        create(session, shape, dtype, where, ("empty",))
        for (shape, dtype), where in zip(specs, outs, strict=True)
    )
    brought = ins if layout is None else [in_layout(x, layout) for x in ins]
    record_collective(name, made, brought, args)
    return made


def rows(size: int) -> Layout:
    """Return the layout of a matrix in blocks of rows."""
    return Layout(Grid.of((size,)), (Block(), Whole()), (0, -1))
