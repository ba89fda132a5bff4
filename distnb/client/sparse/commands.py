"""The commands of sparse arrays: parts are made and held, products are planned and computed."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from distnb.client.handle.array import Array, create, is_whole, record_creation
from distnb.client.handle.conversion import as_dist, from_host, in_layout
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.sparse.scipys import index_dtype, product_dtype
from distnb.client.sparse.structure import Structure, even, line, local_pointers, pointer_cuts
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View
from distnb.wire.protocol import Collective

__all__ = ["Plan", "gathered", "made", "operands", "plan_for", "scattered", "sent"]

_COUNT = np.dtype(np.int64)


def sent(
    session: Session, arrays: tuple[np.ndarray, np.ndarray, np.ndarray], minor: int, cuts: Ints
) -> tuple[Any, Structure]:
    """Send elements, indices and pointers to the engines; return elements and structure."""
    data, indices, indptr = arrays
    kind = index_dtype(cuts[-1], minor, len(data))
    ends = tuple(indptr[list(cuts)].tolist())
    where = line(ends)
    structure = Structure(
        cuts[-1],
        minor,
        cuts,
        ends,
        from_host(session, indices.astype(kind, copy=False), where),
        from_host(
            session,
            local_pointers(indptr, cuts).astype(kind, copy=False),
            line(pointer_cuts(cuts)),
        ),
    )
    return from_host(session, data, where), structure


def operands(data: Array, structure: Structure) -> tuple[Any, ...]:
    """Return elements, indices and pointers as commands name them; where they lie is sure."""
    return (elements(data, structure).operand, *index_operands(structure))


def elements(data: Array, structure: Structure) -> Any:
    """Return the elements where the structure has them: users may have moved them."""
    return in_layout(data, line(structure.ends))


def index_operands(structure: Structure) -> tuple[Any, Any]:
    """Return indices and pointers as commands name them."""
    indices = in_layout(structure.indices, line(structure.ends))
    indptr = in_layout(structure.indptr, line(pointer_cuts(structure.cuts)))
    return indices.operand, indptr.operand


def made(
    session: Session,
    op: str,
    ins: tuple[Any, ...],
    args: tuple[Any, ...],
    minor: int,
    cuts: Ints,
    dtype: np.dtype,
    canonical: bool = False,
) -> tuple[Any, Structure]:
    """Let engines make parts, read how many elements each has, and hold them.

    ``op`` is a command that makes parts (``engines.sparse.parts.Making``).
    """
    p = session.size
    counts = create(session, (p,), _COUNT, line(even(p, p)), ("empty",))
    session.record(Collective(op, (counts.operand,), ins, args, session.site()))
    ends = (0, *accumulate(counts.to_numpy().tolist()))
    kind, where = index_dtype(cuts[-1], minor, ends[-1]), line(ends)
    outs = (
        create(session, (ends[-1],), dtype, where, ("empty",)),
        create(session, (ends[-1],), kind, where, ("empty",)),
        create(session, (cuts[-1] + p,), kind, line(pointer_cuts(cuts)), ("empty",)),
    )
    written, read = tuple(x.operand for x in outs), (counts.operand,)
    session.record(Collective("sparse.hold", written, read, (), session.site()))
    return outs[0], Structure(cuts[-1], minor, cuts, ends, outs[1], outs[2], canonical)


class Plan(NamedTuple):
    """What products need of a vector: what engines keep of it, and how much who needs of whom."""

    kept: Any
    counts: tuple[Ints, ...]


def plan_for(structure: Structure, layout: Layout) -> Plan:
    """Return what the parts need of a vector along the minor axis that lies in a layout."""
    found: Plan | None = structure.plans.get(layout)
    if found is not None and not found.kept.dbase.lost:
        return found
    session, p = structure.session, structure.session.size
    kept = _counted(session, structure)
    indices, _ = index_operands(structure)
    args = (structure.minor, layout)
    session.record(Collective("sparse.plan", (kept.operand,), (indices,), args, session.site()))
    rows = kept.to_numpy().tolist()
    plan = Plan(kept, tuple([tuple(row) for row in rows]))
    if len(structure.plans) >= _PLANS:
        structure.plans.clear()
    structure.plans[layout] = plan
    return plan


#: Plans that a structure keeps: vectors of a loop lie in one layout, most often.
_PLANS = 4


def _counted(session: Session, structure: Structure) -> Any:
    """Make the base of a plan, which counts as what engines keep with it."""
    p = session.size
    shape, layout = (p, p), line(even(p, p), 1)
    each = structure.index_dtype.itemsize
    need = 8 * p + max(structure.per_engine) * each + 16 * structure.minor // p
    base = Base(session, shape, _COUNT, layout, need)
    record_creation(base, ("empty",))
    return Array.made(base, View.whole(shape))


def gathered(data: Array, structure: Structure, x: Any) -> Any:
    """Return the product with a vector, or columns, along the minor axis."""
    session = structure.session
    x = _readable(as_dist(x, session))
    inner = x.shape[1:]
    dtype = product_dtype(data.dtype, x.dtype)
    where = line(structure.cuts, len(inner))
    out = create(session, (structure.major, *inner), dtype, where, ("empty",))
    _multiply("sparse.gather", out, data, structure, _along(x.dbase.layout), x)
    return out


def scattered(data: Array, structure: Structure, x: Any) -> Any:
    """Return the product with a vector, or columns, along the major axis: of the transposed."""
    session = structure.session
    x = as_dist(x, session)
    inner = x.shape[1:]
    x = in_layout(x, line(structure.cuts, len(inner)))
    dtype = product_dtype(data.dtype, x.dtype)
    square = structure.major == structure.minor
    cuts = structure.cuts if square else even(structure.minor, session.size)
    where = line(cuts, len(inner))
    out = create(session, (structure.minor, *inner), dtype, where, ("empty",))
    _multiply("sparse.scatter", out, data, structure, line(cuts), x)
    return out


def _multiply(
    op: str, out: Array, data: Array, structure: Structure, along: Layout, x: Array
) -> None:
    """Record a product; ``along``: the layout of a vector along the minor axis."""
    if not out.size:
        return
    session, plan = structure.session, plan_for(structure, along)
    _, indptr = index_operands(structure)
    ins = (elements(data, structure).operand, indptr, plan.kept.operand, x.operand)
    session.record(Collective(op, (out.operand,), ins, (plan.counts,), session.site()))


def _readable(x: Array) -> Any:
    """Return ``x`` such that each row is on one engine, or all of it on each."""
    layout, size = x.dbase.layout, x.session.size
    everywhere = layout.split == 1 and layout.grid.size in (1, size)
    rows = layout.copies == 1 and len(layout.grid.sizes) == 1 and layout.dims[:1] == (0,)
    if is_whole(x) and (everywhere or rows):
        return x
    return in_layout(x, line(even(x.shape[0], size), x.ndim - 1))


def _along(layout: Layout) -> Layout:
    """Return the layout of a column of an array."""
    return Layout(layout.grid, layout.axes[:1], layout.dims[:1])
