"""From sparse arrays to dense ones: products, reductions along rows, diagonals, single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create, is_whole, record_creation
from distnb.client.handle.conversion import as_dist, record_collective
from distnb.client.handle.copies import Copies, lying
from distnb.client.math.scans import cumsum
from distnb.client.reach.small_steps import made_of
from distnb.client.record.creation import zeros
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.client.sparse.commands import (
    arrays,
    elements,
    in_reach,
    lined,
    made_here,
    packed_ring,
    places,
)
from distnb.client.sparse.scipys import product_dtype
from distnb.client.sparse.structure import Seen, Stored, Structure, even, line
from distnb.geometry.layout import Ints, Layout, default_layout, replicated
from distnb.geometry.views import View
from distnb.ops.semirings import Semiring

__all__ = [
    "Plan",
    "dense",
    "diagonal",
    "gathered",
    "looked_up",
    "majors",
    "picked",
    "plan_for",
    "pointers_of",
    "points",
    "row_pointers",
    "rowwise",
    "scattered",
    "spread",
    "summed_across",
]

_COUNT = np.dtype(np.int64)
#: Plans that a structure keeps: vectors of a loop lie in one layout, most often.
_PLANS = 4
#: What parts of a line have of these adds up.
_ADDED = ("count_nonzero", "lengths", "repeated", "sum", "unsorted")


def _scattered_here(seen: Seen, s: Structure, y: np.ndarray) -> np.ndarray:
    """Return the product with the transposed: the sums of parts, in the order of the engines."""
    found = None
    for part, (a, b) in zip(seen.turned, pairwise(s.cuts), strict=True):
        sums = part @ y[a:b]
        found = sums if found is None else np.add(found, sums, out=found)
    return np.asarray(found)


class Plan(NamedTuple):
    """What products need of a vector: what engines keep of it, and how much who needs of whom."""

    kept: Any
    counts: tuple[Ints, ...]


def plan_for(structure: Structure, layout: Layout) -> Plan:
    """Return what the parts need of a vector along the minor axis that lies in a layout."""
    found: Plan | None = structure.plans.get(layout)
    if found is not None and not found.kept.dbase.lost:
        return found
    session = structure.session
    kept = _counted(session, structure)
    indices, _ = places(structure)
    record_collective("sparse.plan", (kept,), (indices,), (structure.minor, layout))
    plan = Plan(kept, tuple([tuple(row) for row in kept.to_numpy().tolist()]))
    if len(structure.plans) >= _PLANS:
        structure.plans.clear()
    structure.plans[layout] = plan
    return plan


def _counted(session: Session, structure: Structure) -> Any:
    """Make the base of a plan, which counts as what engines keep with it."""
    p = session.size
    shape, layout = (p, p), line(even(p, p), 1)
    each = structure.index_dtype.itemsize
    need = 8 * p + max(structure.per_engine) * each + 16 * structure.minor // p
    base = Base(session, shape, _COUNT, layout, need)
    record_creation(base, ("empty",))
    return Array.made(base, View.whole(shape))


def gathered(
    x: Stored, other: Array, ring: Semiring | None = None, present: Array | None = None
) -> Any:
    """Return the product with a vector, or columns, along the minor axis.

    ``present``: which elements of a vector take part.
    """
    s, inner = x.structure, other.shape[1:]
    lies, room = s.line(s.cuts, len(inner)), s.cuts[-1] * prod(inner)
    near = in_reach(s.session, (x,), (other,), room) if ring is None and present is None else None
    if near is not None:
        return made_of(s.session, near[0].whole @ other.near, lies)
    y = _readable(as_dist(other, s.session))
    ring = ring or _plain(product_dtype(x.data.dtype, y.dtype))
    out = create(s.session, (s.cuts[-1], *inner), ring.dtype, lies, ("empty",))
    if out.size:
        plan, (_, indptr) = plan_for(s, _along(y.dbase.layout)), places(s)
        parts, entries = (elements(x), indptr), _at_hand(plan, y)
        if present is not None:
            there = _entries(plan, lying(as_dist(present, s.session), y.dbase.layout))
            some = (plan.kept, _entries(plan, y), there)
            record_collective("sparse.gather", (out,), (*parts, *some), (packed_ring(ring),))
        elif entries is not None:
            record_collective(
                "sparse.gather", (out,), (*parts, plan.kept, entries), (packed_ring(ring),)
            )
        else:  # in one command, so that nobody waits for who still reads
            outs, ins = (_room(plan, y), out), (plan.kept, y, *parts)
            record_collective("sparse.multiply", outs, ins, (plan.counts, packed_ring(ring)))
            _keep(plan, y, outs[0])
    return folded(s, out)


def folded(s: Structure, lines: Array) -> Any:
    """Return the sums of what parts of lines have for them; of whole lines it is there.

    They lie in equal blocks.
    """
    if not s.blocks:
        return lines
    inner = lines.shape[1:]
    lies = line(even(s.major, s.session.size), len(inner))
    out = create(s.session, (s.major, *inner), lines.dtype, lies, ("empty",))
    return _fill("sparse.fold", out, (lines, places(s)[1]), (s.shape, s.layout))


def scattered(
    x: Stored, other: Array, ring: Semiring | None = None, present: Array | None = None
) -> Any:
    """Return the product with a vector, or columns, along the major axis: of the transposed.

    ``present``: which elements of a vector take part.
    """
    s, inner = x.structure, other.shape[1:]
    cuts = s.cuts if s.major == s.minor and not s.blocks else even(s.minor, s.session.size)
    lies, room = s.line(cuts, len(inner)), s.minor * prod(inner) * len(s.ends)
    near = in_reach(s.session, (x,), (other,), room) if ring is None and present is None else None
    if near is not None:
        return made_of(s.session, _scattered_here(near[0], s, np.asarray(other.near)), lies)
    y = lying(as_dist(other, s.session), s.along(len(inner)))
    ring = ring or _plain(product_dtype(x.data.dtype, y.dtype))
    out = create(s.session, (s.minor, *inner), ring.dtype, lies, ("empty",))
    if out.size:
        plan, (_, indptr) = plan_for(s, s.line(cuts)), places(s)
        there = () if present is None else (lying(as_dist(present, s.session), s.along()),)
        ins, args = (elements(x), indptr, plan.kept, y, *there), (plan.counts, packed_ring(ring))
        record_collective("sparse.scatter", (out,), ins, args)
    return out


def _plain(dtype: np.dtype) -> Semiring:
    return Semiring("plus", "times", dtype)


def picked(x: Stored, other: Array) -> Any:
    """Return for each element the entry of a vector along the minor axis; they lie as elements."""
    s, where = x.structure, x.structure.line(x.structure.ends)
    near = made_here(s.session, "sparse.pick", (x,), (other,), ())
    if near is not None:
        return made_of(s.session, near, where)
    y = _readable(as_dist(other, s.session))
    out = create(s.session, (s.nnz,), y.dtype, where, ("empty",))
    if out.size:
        plan = plan_for(s, _along(y.dbase.layout))
        record_collective("sparse.pick", (out,), (plan.kept, _entries(plan, y)), ())
    return out


def spread(x: Stored, other: Array) -> Any:
    """Return for each element the entry of a vector along the major axis; they lie as elements."""
    s = x.structure
    kind, where = other.dtype, s.line(s.ends)
    how = _Asked((2,), s.along())
    return _filled("sparse.spread", x, (other,), (), (s.nnz,), kind, where, how)


def majors(x: Stored) -> Any:
    """Return for each element its major index; they lie as elements."""
    return spread(x, _along_lines(x, np.arange, x.structure.index_dtype, ("index", 0, 0, 1)))


def summed_across(x: Stored, dtype: np.dtype) -> Any:
    """Return the sums along the major axis: the product of ones and the array."""
    return scattered(x, _along_lines(x, np.ones, dtype, ("fill", 1)))


def _along_lines(
    x: Stored, make: Callable[..., np.ndarray], dtype: np.dtype, how: tuple[str, *tuple[int, ...]]
) -> Any:
    """Return a vector that lies as the major axis: in reach if the array is, or made by engines."""
    s = x.structure
    if in_reach(s.session, (x,)) is not None:
        return made_of(s.session, make(s.major, dtype=dtype), s.along())
    return create(s.session, (s.major,), dtype, s.along(), how)


def looked_up(x: Stored, other: Array, axis: int) -> Any:
    """Return for each element what a dense array of the same shape has there."""
    s = x.structure
    args, where = (s.shape, s.layout, axis), s.line(s.ends)
    how = _Asked((1, 2), s.layout if axis == 0 else s.layout.T)
    return _filled("sparse.look", x, (other,), args, (s.nnz,), other.dtype, where, how)


def _entries(plan: Plan, y: Array) -> Any:
    """Return what the parts need of a vector, which is brought if it is not at hand."""
    found = _at_hand(plan, y)
    if found is None:
        found = _room(plan, y)
        record_collective("sparse.bring", (found,), (plan.kept, y), (plan.counts,))
        _keep(plan, y, found)
    return found


def _at_hand(plan: Plan, y: Array) -> Any:
    """Return what the parts need of a vector: itself, if each has just that, or what was brought.

    It is brought once for as long as nothing writes into the vector. None if that is still to do.
    """
    held = [y.dbase.layout.local_shape(y.shape, r) for r in range(len(plan.counts))]
    if all(_is_all(r, row, held[r]) for r, row in enumerate(plan.counts)):
        return y
    copies: Copies = y.session.extensions[Copies]
    return copies.find(y, plan.kept.dbase)


def _room(plan: Plan, y: Array) -> Any:
    """Return an array for what parts need of a vector.

    Elements of a part name its entries in no order, which is faster in large pages.
    """
    ends, inner = (0, *accumulate(map(sum, plan.counts))), y.shape[1:]
    shape = (ends[-1], *inner)
    base = Base(y.session, shape, y.dtype, line(ends, len(inner)))
    base.apart = True
    record_creation(base, ("empty",))
    return Array.made(base, View.whole(shape))


def _keep(plan: Plan, y: Array, entries: Array) -> None:
    """Keep what parts need of a vector for as long as nothing writes into this."""
    copies: Copies = y.session.extensions[Copies]
    copies.keep(y, plan.kept.dbase, entries)


def _is_all(rank: int, needs: Ints, held: Ints | None) -> bool:
    """Tell whether a rank needs all that it has, and nothing else, or nothing at all."""
    return held is not None and (not any(needs) or needs[rank] == held[0] == sum(needs))


def _readable(x: Array) -> Any:
    """Return ``x`` such that each row is on one engine, or all of it on each."""
    layout, size = x.dbase.layout, x.session.size
    everywhere = layout.split == 1 and layout.grid.size in (1, size)
    rows = layout.copies == 1 and len(layout.grid.sizes) == 1 and layout.dims[:1] == (0,)
    if is_whole(x) and (everywhere or rows):
        return x
    return lying(x, line(even(x.shape[0], size), x.ndim - 1))


def _along(layout: Layout) -> Layout:
    """Return the layout of a column of an array."""
    return Layout(layout.grid, layout.axes[:1], layout.dims[:1])


def dense(x: Stored, axis: int) -> Any:
    """Return the dense array; ``axis``: the one that is cut, as it stays."""
    s = x.structure
    shape, where = (s.shape, s.layout) if axis == 0 else (s.shape[::-1], s.layout.T)
    return _filled("sparse.dense", x, (), (s.shape, s.layout, axis), shape, x.data.dtype, where)


def rowwise(
    x: Stored, method: str, dtype: np.dtype, options: tuple[tuple[str, Any], ...] = ()
) -> Any:
    """Return a reduction along the minor axis: a method of SciPy's with its options."""
    x = lined(x) if x.structure.blocks and method not in _ADDED else x
    s = x.structure
    args, shape, where = (s.minor, method, options), (s.cuts[-1],), s.line(s.cuts)
    return folded(s, _filled("sparse.rowwise", x, (), args, shape, dtype, where))


def diagonal(x: Stored, k: int) -> Any:
    """Return the elements whose minor index is ``k`` more than the major one."""
    x = lined(x) if x.structure.blocks else x
    s = x.structure
    first = max(-k, 0)
    n = max(0, min(s.major - first, s.minor - max(k, 0)))
    cuts = tuple(min(max(c - first, 0), n) for c in s.cuts)
    args, where = (s.minor, s.starts, k), s.line(cuts)
    return _filled("sparse.diagonal", x, (), args, (n,), x.data.dtype, where)


def points(x: Stored, rows: Array, columns: Array) -> Any:
    """Return single elements; both index arrays are all of a base, and lie alike on a line."""
    s = x.structure
    others, args, where = (rows, columns), (s.minor, s.cuts), rows.dbase.layout
    return _filled("sparse.points", x, others, args, rows.shape, x.data.dtype, where)


class _Asked(NamedTuple):
    """What engines need: which of elements, indices and pointers, and where other operands lie."""

    which: tuple[int, ...]
    layout: Layout


def _filled(
    op: str,
    x: Stored,
    others: Sequence[Array],
    args: tuple[Any, ...],
    shape: Ints,
    dtype: np.dtype,
    layout: Layout,
    asked: _Asked | None = None,
) -> Any:
    """Return a dense array that a command fills; of a small one in reach the notebook makes it.

    ``asked``: what engines need, if that is not all, and other operands as they are.
    """
    session, size = x.structure.session, prod(shape)
    near = made_here(session, op, (x,), others, args, size) if size else None
    if near is not None:
        return made_of(session, near.astype(dtype, order="C", copy=False), layout)
    out, held = create(session, shape, dtype, layout, ("empty",)), arrays(x)
    if asked is not None:
        held = tuple([held[i] for i in asked.which])
        others = [lying(as_dist(y, session), asked.layout) for y in others]
    return _fill(op, out, (*held, *others), args)


def _fill(op: str, out: Array, ins: Sequence[Array], args: tuple[Any, ...]) -> Any:
    if out.size:
        record_collective(op, (out,), ins, args)
    return out


def pointers_of(structure: Structure) -> np.ndarray:
    """Read the pointers of the parts."""
    return np.asarray(places(structure)[1].to_numpy())


def row_pointers(x: Stored) -> Any:
    """Return where the elements of each row (of CSR) begin, and where the last ends."""
    s, size = x.structure, x.structure.session.size
    near = in_reach(s.session, (x,))
    if near is not None:
        found = near[0].whole.indptr.astype(s.index_dtype)
        cut = min(s.major, size) > 1  # else what is joined below is on one engine, and copied
        where = default_layout(found.shape, size) if cut else replicated(1, size)
        return made_of(s.session, found, where)
    lengths = rowwise(x, "lengths", _COUNT)
    first = zeros(1, _COUNT, session=x.structure.session)
    return concatenate([first, cumsum(lengths)]).astype(x.structure.index_dtype)
