"""From sparse arrays to dense ones: products, reductions along rows, diagonals, single elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create, is_whole, record_creation
from distnb.client.handle.conversion import as_dist, record_collective
from distnb.client.handle.copies import Copies, lying
from distnb.client.math.scans import cumsum
from distnb.client.reach.admission import admitted
from distnb.client.reach.small_steps import made_of
from distnb.client.record.creation import zeros
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.shape.joining import concatenate
from distnb.client.sparse.commands import arrays, elements, lined, packed_ring, places
from distnb.client.sparse.scipys import product_dtype
from distnb.client.sparse.structure import Seen, Stored, Structure, even, global_pointers, line
from distnb.common.config import config
from distnb.common.ndarrays import QUICK
from distnb.geometry.layout import Ints, Layout, default_layout
from distnb.geometry.views import View
from distnb.ops.compressed import columns_of, rows_of
from distnb.ops.semirings import Semiring

__all__ = [
    "Plan",
    "dense",
    "diagonal",
    "gathered",
    "in_reach",
    "looked_up",
    "picked",
    "plan_for",
    "pointers_of",
    "points",
    "row_pointers",
    "rowwise",
    "scattered",
    "spread",
]

_COUNT = np.dtype(np.int64)
#: Plans that a structure keeps: vectors of a loop lie in one layout, most often.
_PLANS = 4
#: What parts of a line have of these adds up.
_ADDED = ("count_nonzero", "lengths", "repeated", "sum", "unsorted")


def in_reach(x: Stored, *others: Array, room: int = 0) -> Any:
    """Return SciPy's arrays on the memory of a small one in reach, whose rows are the lines.

    None where engines are to look. They are read only, and give the same bits as engines. ``room``
    is how many elements a result has.
    """
    s, seen = x.structure, x.structure.seen
    nbytes = x.data.nbytes + sum([y.nbytes for y in others]) + 8 * room
    if nbytes > QUICK or not s.lined or x.data.dtype == bool:
        return None
    same = seen is not None and x.data.near is seen.data and s.indices.near is seen.indices
    if same and config.place != "engines" and all(y.near is not None for y in others):
        return seen  # nothing has left since the last time
    held = arrays(x)
    nbytes += sum([a.nbytes for a in held[1:]])
    if nbytes > QUICK or not admitted(s.session, (*held, *others), nbytes):
        return None
    data, indices, indptr = [a.near for a in held]
    if s.seen is None or s.seen.data is not data or s.seen.indices is not indices:
        s.seen = _seen(s, data, indices, indptr)
    return s.seen


def _seen(s: Structure, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Seen:
    """Return SciPy's arrays in the memory of these: what is written there later, they have."""
    pointers = global_pointers(indptr, s.cuts, s.ends).astype(indices.dtype, copy=False)
    x, i = data.view(), indices.view()
    x.flags.writeable = i.flags.writeable = False  # SciPy may sort in place
    parts = []
    for (a, b), (c, d) in zip(pairwise(s.cuts), pairwise(s.ends), strict=True):
        parts.append(columns_of((x[c:d], i[c:d], pointers[a : b + 1] - c), (s.minor, b - a)))
    m, n = s.shape
    return Seen(data, indices, rows_of((x, i, pointers), (m, n)), parts)


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
    s = x.structure
    y = _readable(as_dist(other, s.session))
    inner = y.shape[1:]
    lies, room = s.line(s.cuts, len(inner)), s.cuts[-1] * prod(inner)
    near = in_reach(x, y, room=room) if ring is None and present is None else None
    if near is not None:
        return made_of(s.session, near.whole @ y.near, lies)
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
    s = x.structure
    y = as_dist(other, s.session)
    inner = y.shape[1:]
    y = lying(y, s.along(len(inner)))
    cuts = s.cuts if s.major == s.minor and not s.blocks else even(s.minor, s.session.size)
    lies, room = s.line(cuts, len(inner)), s.minor * prod(inner) * len(s.ends)
    near = in_reach(x, y, room=room) if ring is None and present is None else None
    if near is not None:
        return made_of(s.session, _scattered_here(near, s, y.near), lies)
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
    s = x.structure
    y = _readable(as_dist(other, s.session))
    out = create(s.session, (s.nnz,), y.dtype, s.line(s.ends), ("empty",))
    if out.size:
        plan = plan_for(s, _along(y.dbase.layout))
        record_collective("sparse.pick", (out,), (plan.kept, _entries(plan, y)), ())
    return out


def spread(x: Stored, other: Array) -> Any:
    """Return for each element the entry of a vector along the major axis; they lie as elements."""
    s = x.structure
    y = lying(as_dist(other, s.session), s.along())
    out = create(s.session, (s.nnz,), y.dtype, s.line(s.ends), ("empty",))
    _, indptr = places(s)
    return _fill("sparse.spread", out, (indptr, y), ())


def looked_up(x: Stored, other: Array, axis: int) -> Any:
    """Return for each element what a dense array of the same shape has there."""
    s = x.structure
    y = lying(as_dist(other, s.session), s.layout if axis == 0 else s.layout.T)
    out = create(s.session, (s.nnz,), y.dtype, s.line(s.ends), ("empty",))
    return _fill("sparse.look", out, (*places(s), y), (s.shape, s.layout, axis))


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
    out = create(s.session, shape, x.data.dtype, where, ("empty",))
    return _fill("sparse.dense", out, arrays(x), (s.shape, s.layout, axis))


def rowwise(
    x: Stored, method: str, dtype: np.dtype, options: tuple[tuple[str, Any], ...] = ()
) -> Any:
    """Return a reduction along the minor axis: a method of SciPy's with its options."""
    x = lined(x) if x.structure.blocks and method not in _ADDED else x
    s = x.structure
    out = create(s.session, (s.cuts[-1],), dtype, s.line(s.cuts), ("empty",))
    return folded(s, _fill("sparse.rowwise", out, arrays(x), (s.minor, method, options)))


def diagonal(x: Stored, k: int) -> Any:
    """Return the elements whose minor index is ``k`` more than the major one."""
    x = lined(x) if x.structure.blocks else x
    s = x.structure
    first = max(-k, 0)
    n = max(0, min(s.major - first, s.minor - max(k, 0)))
    cuts = tuple(min(max(c - first, 0), n) for c in s.cuts)
    near = in_reach(x) if n else None
    if near is not None:
        return made_of(s.session, near.whole.diagonal(k), s.line(cuts))
    out = create(s.session, (n,), x.data.dtype, s.line(cuts), ("empty",))
    return _fill("sparse.diagonal", out, arrays(x), (s.minor, s.starts, k))


def points(x: Stored, rows: Array, columns: Array) -> Any:
    """Return single elements; both index arrays are all of a base, and lie alike on a line."""
    s = x.structure
    near = in_reach(x, rows, columns) if rows.size else None  # of no places SciPy's is sparse
    if near is not None:
        return made_of(s.session, near.whole[rows.near, columns.near], rows.dbase.layout)
    out = create(s.session, rows.shape, x.data.dtype, rows.dbase.layout, ("empty",))
    return _fill("sparse.points", out, (*arrays(x), rows, columns), (s.minor, s.cuts))


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
    near = in_reach(x) if min(s.major, size) > 1 else None
    if near is not None:
        found = near.whole.indptr.astype(s.index_dtype)
        return made_of(s.session, found, default_layout(found.shape, size))
    lengths = rowwise(x, "lengths", _COUNT)
    first = zeros(1, _COUNT, session=x.structure.session)
    return concatenate([first, cumsum(lengths)]).astype(x.structure.index_dtype)
