"""Gather and scatter by position: what indexing by arrays, ``take`` and their like are made of.

An array is seen as a view whose first ``k`` axes are indexed together, by *flat indices*:
C-order positions over these axes, as int64; see :mod:`distnb.plans.gather_scatter`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array, Elements, create, is_whole
from distnb.client.handle.conversion import (
    as_dist,
    check_session,
    copied,
    from_host,
    in_layout,
    record_collective,
    record_local,
)
from distnb.client.handle.copies import Copies
from distnb.client.reach.admission import mask_counted
from distnb.client.record.operations import assign, elementwise
from distnb.client.session.session import Session
from distnb.geometry.axes import Block, Whole, cut_at
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import Placed, broadcast_shapes, follow
from distnb.plans.gather_scatter import (
    checked,
    gathered_layout,
    in_line,
    layout_of_indices,
    spread,
)
from distnb.plans.temporaries import alike

__all__ = [
    "Flat",
    "Position",
    "compressed",
    "expand",
    "flat_indices",
    "gather",
    "lazy_indices",
    "nonzero_indices",
    "rebalanced",
    "scatter",
]

_INTP = np.dtype(np.int64)


class Position(NamedTuple):
    """An array of indices along an axis (or, of C-order ones, along several) of length ``n``.

    ``axis`` is what an error calls it; ``checked``: whether all are from 0 to n - 1 for sure.
    """

    index: Any
    n: int
    axis: int = 0
    checked: bool = False


def moved(x: Array, count: int, to: int) -> Any:
    """Return the view in which the first ``count`` axes come after ``to`` of the others."""
    order = (*range(count, count + to), *range(count), *range(count + to, x.ndim))
    return x if to == 0 else x.alias(x.dview.transpose(order))


class Flat(NamedTuple):
    """Flat indices, an ndarray or a distributed array; ``rule``: how engines are to check them.

    It has the arguments of :func:`distnb.plans.gather_scatter.checked`, or is None if all are
    within bounds for sure.
    """

    index: Any
    rule: tuple[int, int, str] | None = None


def gather(x: Array, k: int, given: Flat | Elements) -> Any:
    """Return what flat indices name in a view: their axes, then those after its first ``k``."""
    flat, rule = given if isinstance(given, Flat) else Flat(given)
    session, size = x.session, x.session.size
    x = aligned_copy(as_dist(x, session), k)
    lies = flat.placed if isinstance(flat, Array) and flat.dbase.host is None else None
    layout = gathered_layout(x.placed, k, lies, flat.shape, size)
    at = brought(session, flat, layout_of_indices(layout, flat.ndim))
    out = create(session, flat.shape + x.shape[k:], x.dtype, layout, ("empty",))
    if out.size:
        record_collective("gather", (out,), (x, at), (k, rule))
    elif rule is not None and at.size:
        _check(at, rule)
    return rebalanced(out)


def _check(index: Array, rule: tuple[int, int, str]) -> None:
    record_collective("check", (), (index,), rule)


def rebalanced(x: Array) -> Any:
    """Return all of a base, or a copy in the default layout if one engine holds far too much."""
    layout, stays = follow(x.placed, x.session.size)
    return x if stays else copied(x, x.dtype, layout)


def scatter(
    x: Array,
    k: int,
    given: Flat | Elements,
    value: Elements | np.generic | None,
    op: str | None = None,
) -> None:
    """Assign values to what flat indices name in a view, or combine them by the ufunc ``op``.

    ``value`` is a NumPy scalar, an array with the shape of what is named, or None if ``op`` takes
    none. Of equal indices the last wins.
    """
    session = x.session
    flat, rule = given if isinstance(given, Flat) else Flat(given)
    if not in_line(x.placed, k):
        copy = aligned_copy(x, k)
        scatter(copy, k, given, value, op)
        assign(x, copy)
        return
    axis = (
        first_long(flat.shape) if flat.ndim else None
    )  # so engines are in the order of the indices
    layout = spread(x.placed, k, flat.shape, axis)
    at = brought(session, flat, layout_of_indices(layout, flat.ndim))
    ins, scalar = [x, at], None
    if isinstance(value, np.generic):
        scalar = (value.dtype.str, value.item())
    elif value is not None:
        ins.append(brought(session, value, layout, x.dtype if op is None else value.dtype))
    if x.size and flat.size:
        record_collective("scatter", ins[:1], ins, (k, op, scalar, rule))


def aligned_copy(x: Array, k: int) -> Any:
    """Return ``x``, or a copy if what is gathered could not lie in line with its other axes."""
    if in_line(x.placed, k):
        return x
    return copied(x, x.dtype, follow(x.placed, x.session.size)[0])


def brought(session: Session, x: Elements, layout: Layout, dtype: np.dtype | None = None) -> Any:
    """Return elements as all of a base in a layout, wherever they are."""
    if not isinstance(x, Array):
        return from_host(session, x, layout)
    check_session(x, session)  # whose engines the layout is about
    if session.size == 1 and x.dbase.host is None and is_whole(x):
        layout = x.dbase.layout  # one engine holds all of it in any
    return in_layout(x, layout, dtype)


# -- flat indices ------------------------------------------------------------------------------


def flat_indices(
    session: Session, positions: Sequence[Position], check: str = "index", sure: bool = False
) -> Any:
    """Return the flat indices of positions along successive axes, broadcast together.

    They are an ndarray if all positions are; ``check`` is as in
    :func:`distnb.plans.gather_scatter.checked`. ``sure``: wait until engines have checked what they
    have to. For an array that is to be written would be lost if a command that writes it could not
    run.
    """
    shape = _common_shape([np.shape(p.index) for p in positions])
    safe = 0 in shape  # NumPy does not look at indices that are not used
    found: Any = None
    for p in positions:
        one = p.index if p.checked or safe else _checked(session, p, check)
        found = one if found is None else _add(_multiply(found, p.n), one)
    if sure and not safe and any(_is_there(p) for p in positions):
        session.flush()
    if isinstance(found, Array):
        return found if found.dtype == _INTP else copied(found, _INTP, found.dbase.layout)
    return np.broadcast_to(np.asarray(found, _INTP), shape)


def lazy_indices(session: Session, positions: Sequence[Position], sure: bool = False) -> Flat:
    """Return the flat indices of :func:`flat_indices`, which are not made if there is one array.

    Engines then check its positions where they use them; if ``sure``, before.
    """
    first = positions[0]
    if len(positions) > 1 or not _is_there(first) or not first.index.size:
        return Flat(flat_indices(session, positions, sure=sure))
    index, rule = first.index, (first.n, first.axis, "index")
    if not is_whole(index):
        index = copied(index, index.dtype, follow(index.placed, session.size)[0])
    if sure:
        _check(index, rule)
        session.flush()
    return Flat(index, rule)


def _is_there(p: Position) -> bool:
    """Tell whether engines check positions."""
    return not p.checked and isinstance(p.index, Array) and p.index.dbase.host is None


def _common_shape(shapes: list[Ints]) -> Ints:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        shown = " ".join(map(str, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shown}"
        ) from None


def _multiply(x: Elements, n: int) -> Any:
    return elementwise("multiply", x, n) if isinstance(x, Array) else x * n


def _add(x: Elements, y: Elements) -> Any:
    if isinstance(x, Array) or isinstance(y, Array):
        return elementwise("add", x, y)
    return x + y


def _checked(session: Session, p: Position, check: str) -> Any:
    """Return positions from 0 to n - 1; raise, here or on the engines, if some are outside."""
    index = p.index
    if not isinstance(index, Array):
        return checked(np.asarray(index), p.n, p.axis, check)
    if index.here is not None:
        return checked(index.here, p.n, p.axis, check)
    if not is_whole(index):
        index = copied(index, index.dtype, follow(index.placed, session.size)[0])
    out = create(session, index.shape, _INTP, index.dbase.layout, ("empty",))
    if out.size:
        record_collective("check", (out,), (index,), (p.n, p.axis, check))
    return out


# -- masks -------------------------------------------------------------------------------------


def nonzero_indices(mask: Any) -> Any:
    """Return the C-order positions at which a mask is true, ascending.

    Of a mask on the engines they stay where these elements are if it lies in blocks of rows; else
    it is brought there first. How many there are on each engine is read.
    """
    if not isinstance(mask, Array):
        return np.flatnonzero(mask)
    if mask.here is not None:
        return np.flatnonzero(mask.here)
    session = mask.session
    counted = _counted(mask)
    out = create(session, (counted.n,), _INTP, counted.layout, ("empty",))
    if out.size:
        record_collective("nonzero", (out,), (counted.mask,))
    return out


class _Counted(NamedTuple):
    """A mask in blocks of rows: how many elements are true, and where lies what it leaves."""

    mask: Any
    n: int
    layout: Layout


def _counted(mask: Array) -> _Counted:
    """Bring a mask into blocks of rows, and read how many elements are true on each engine."""
    mask = brought(mask.session, mask, _rows(mask))
    layout = mask.dbase.layout
    counts = _counts(mask) if mask.size else np.zeros(layout.split, np.int64)
    cuts = (0, *np.cumsum(counts).tolist())
    split = next((g for g in layout.dims if g >= 0), -1)
    kind = cut_at(cuts) if split >= 0 else Whole()
    return _Counted(mask, cuts[-1], Layout(layout.grid, (kind,), (split,)))


def compressed(x: Array, mask: Elements) -> Any:
    """Return what a mask of the first axes leaves of an array, along one axis in their place.

    Nothing travels: it stays where these elements are. None if mask or array are not on the
    engines, or lie otherwise: then positions must travel.
    """
    if not isinstance(mask, Array) or (lies := _in_blocks_of(x, mask)) is None:
        return None
    session, counted, inner = x.session, _counted(mask), x.ndim - mask.ndim
    source = brought(session, x, lies)
    shape = (counted.n, *x.shape[mask.ndim :])
    out = create(session, shape, x.dtype, _with_rows(counted.layout, inner), ("empty",))
    if out.size:
        op = "compress.rows" if inner else "compress"
        record_collective(op, (out,), (source, counted.mask))
    return rebalanced(out)


def expand(x: Array, mask: Elements, values: Callable[[int], Elements]) -> bool:
    """Assign to what a mask of the first axes names; tell whether that could be done in place.

    ``values`` are made by ``values(n)`` of the number of elements that are true.
    """
    if not isinstance(mask, Array) or not is_whole(x):
        return False
    lies = _in_blocks_of(x, mask)
    if lies is None or (x.session.size > 1 and x.dbase.layout != lies):
        return False
    session, counted = x.session, _counted(mask)
    given = values(counted.n)
    if counted.n and x.size:
        layout = _with_rows(counted.layout, x.ndim - mask.ndim)
        given = brought(session, given, layout, x.dtype)
        record_collective("expand", (x,), (x, counted.mask, given))
    return True


def _in_blocks_of(x: Array, mask: Array) -> Layout | None:
    """Return the layout in which engines have all of an array that their parts of a mask name.

    None if elements of the array would have to travel, or the mask is in the notebook.
    """
    if mask.here is not None:
        return None
    lies = _with_rows(_rows(mask), x.ndim - mask.ndim)
    near = x.session.size == 1 and x.here is None
    return lies if near or alike(x.placed, Placed.whole(x.shape, lies)) else None


def _with_rows(layout: Layout, inner: int) -> Layout:
    """Return a layout with more axes, that are not split."""
    return Layout(layout.grid, layout.axes + (Whole(),) * inner, layout.dims + (-1,) * inner)


def _rows(mask: Array) -> Layout:
    """Return the layout of a mask in which the order of engines is that of positions."""
    layout = follow(mask.placed, mask.session.size)[0]
    split = [d for d, g in enumerate(layout.dims) if g >= 0]
    long = first_long(mask.shape)
    if not split or (split == [long] and not layout.axes[long].period(layout.parts(long))):
        return layout
    size = mask.session.size
    return default_layout(tuple(n if d == long else 1 for d, n in enumerate(mask.shape)), size)


def first_long(shape: Ints) -> int:
    """Return the first axis that is longer than 1, else 0."""
    return next((d for d, n in enumerate(shape) if n != 1), 0)


def _counts(mask: Array) -> np.ndarray:
    """Return how many elements of each part are true; they are read once, until one is written."""
    if not is_whole(mask):
        return _read_counts(mask)
    copies: Copies = mask.session.extensions[Copies]
    return copies.fact(mask.dbase, "counts", lambda: _read_counts(mask))


def _read_counts(mask: Array) -> np.ndarray:
    layout, session = mask.dbase.layout, mask.session
    split = next((g for g in layout.dims if g >= 0), -1)
    parts = layout.grid.sizes[split] if split >= 0 else 1
    kind = Block() if split >= 0 else Whole()
    where = Layout(layout.grid, (kind,), (split,))
    out = create(session, (parts,), _INTP, where, ("empty",))
    record_local("count", out, (mask,))
    found = np.asarray(out.to_numpy())
    mask_counted(session)
    return found
