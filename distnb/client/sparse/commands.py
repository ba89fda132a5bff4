"""The commands of sparse arrays: parts are sent, made and held; elements and rows travel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import check_session, from_host, in_layout
from distnb.client.session.session import Session
from distnb.client.sparse.scipys import index_dtype
from distnb.client.sparse.structure import (
    Stored,
    Structure,
    cuts_of,
    even,
    line,
    local_pointers,
    pointer_cuts,
)
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.ops.semirings import Semiring
from distnb.wire.protocol import Collective

__all__ = [
    "arrays",
    "each",
    "elements",
    "made",
    "packed_ring",
    "places",
    "record",
    "recut",
    "routed",
    "rows_of",
    "sent",
    "times",
    "turned",
]

_COUNT = np.dtype(np.int64)


def sent(
    session: Session,
    given: tuple[np.ndarray, np.ndarray, np.ndarray],
    minor: int,
    cuts: Ints,
    canonical: bool,
) -> Stored:
    """Send elements, indices and pointers to the engines."""
    data, indices, indptr = given
    kind = index_dtype(cuts[-1], minor, len(data))
    ends = tuple(indptr[list(cuts)].tolist())
    where, pointers = line(ends), local_pointers(indptr, cuts)
    structure = Structure(
        cuts[-1],
        minor,
        cuts,
        ends,
        from_host(session, indices.astype(kind, copy=False), where),
        from_host(session, pointers.astype(kind, copy=False), line(pointer_cuts(cuts))),
        canonical,
    )
    return Stored(from_host(session, data, where), structure)


def elements(x: Stored) -> Any:
    """Return the elements where the structure has them: users may have moved them."""
    if x.data.shape != (x.structure.nnz,):
        raise ValueError(
            explain("elements", x.data.shape, f"({x.structure.nnz},)", "keep one for each place")
        )
    return in_layout(x.data, line(x.structure.ends))


def places(structure: Structure) -> tuple[Any, Any]:
    """Return indices and pointers where the structure has them."""
    return (
        in_layout(structure.indices, line(structure.ends)),
        in_layout(structure.indptr, line(pointer_cuts(structure.cuts))),
    )


def arrays(x: Stored) -> tuple[Any, ...]:
    """Return elements, indices and pointers where the structure has them."""
    return (elements(x), *places(x.structure))


def record(op: str, outs: Sequence[Array], ins: Sequence[Array], args: tuple[Any, ...]) -> None:
    """Record a command on arrays, which are there until it is recorded."""
    session = outs[0].session
    written, read = tuple([x.operand for x in outs]), tuple([x.operand for x in ins])
    session.record(Collective(op, written, read, args, session.site()))


def made(
    session: Session,
    op: str,
    ins: Sequence[Array],
    args: tuple[Any, ...],
    minor: int,
    cuts: Ints,
    dtype: np.dtype,
    canonical: bool = False,
) -> Stored:
    """Let engines make parts, read how many elements each has, and hold them.

    ``op`` is a command that makes parts (``engines.sparse.parts.Making``).
    """
    p = session.size
    counts = create(session, (p,), _COUNT, line(even(p, p)), ("empty",))
    record(op, (counts,), ins, args)
    ends = (0, *accumulate(counts.to_numpy().tolist()))
    kind, where = index_dtype(cuts[-1], minor, ends[-1]), line(ends)
    outs = (
        create(session, (ends[-1],), dtype, where, ("empty",)),
        create(session, (ends[-1],), kind, where, ("empty",)),
        create(session, (cuts[-1] + p,), kind, line(pointer_cuts(cuts)), ("empty",)),
    )
    record("sparse.hold", outs, (counts,), ())
    structure = Structure(cuts[-1], minor, cuts, ends, outs[1], outs[2], canonical)
    return Stored(outs[0], structure)


def each(
    name: str,
    sources: Sequence[Stored],
    dtype: np.dtype,
    params: tuple[Any, ...] = (),
    dense: Sequence[Array] = (),
    cuts: Ints | None = None,
    minor: int | None = None,
    canonical: bool = False,
) -> Stored:
    """Make parts of parts that are cut alike: a row of ``engines.sparse.local``, its arguments."""
    first = sources[0].structure
    session, cuts = first.session, first.cuts if cuts is None else cuts
    minor = first.minor if minor is None else minor
    ins = [a for x in sources for a in arrays(x)] + [*dense]
    args = (name, tuple(x.structure.minor for x in sources), *params)
    return made(session, "sparse.each", ins, args, minor, cuts, dtype, canonical)


def rows_of(x: Stored, positions: Array) -> Stored:
    """Return rows (of CSR) at some positions, which engines check; they lie as these do.

    ``positions`` are all of a base in a layout of ``line``.
    """
    s = x.structure
    cuts = cuts_of(positions.dbase.layout, len(positions))
    ins, args = (*arrays(x), positions), (s.minor, s.cuts)
    return made(s.session, "sparse.rows", ins, args, s.minor, cuts, x.data.dtype, s.canonical)


def recut(x: Stored, cuts: Ints) -> Stored:
    """Return the same array with its major axis cut elsewhere."""
    s = x.structure
    if s.cuts == cuts:
        return x
    positions = create(s.session, (s.major,), _COUNT, line(cuts), ("index", 0, 0, 1))
    return rows_of(x, positions)


def times(
    left: Stored, right: Stored, ring: Semiring, mask: Stored | None = None, others: bool = False
) -> Stored:
    """Return the product of two sparse arrays, both cut along rows (or both along columns).

    At the places of a mask, which lies as ``left``, or at all others.
    """
    a, b = left.structure, right.structure
    ins = (*arrays(right), *arrays(left), *(() if mask is None else arrays(mask)))
    args = (b.minor, b.cuts, packed_ring(ring), others)
    own = not ring.plain or mask is not None
    return made(a.session, "sparse.times", ins, args, b.minor, a.cuts, ring.dtype, own)


def packed_ring(ring: Semiring) -> tuple[str, str, str, bool]:
    """Return a semiring as it travels."""
    return (ring.add, ring.multiply, ring.dtype.str, ring.flip)


def turned(x: Stored, cuts: Ints | None = None) -> Stored:
    """Return the same array cut along its other axis."""
    s = x.structure
    cuts = even(s.minor, s.session.size) if cuts is None else cuts
    args = (s.major, cuts)
    kind = x.data.dtype
    return made(s.session, "sparse.turn", arrays(x), args, s.major, cuts, kind, s.canonical)


def routed(major: Array, minor: Array, data: Array, cuts: Ints, length: int) -> Stored:
    """Return the array of triplets on engines, where equal places are summed."""
    session = data.session
    for x in (major, minor):
        check_session(x, session)
    where = line(even(len(data), session.size))
    ins = [in_layout(x, where) for x in (major, minor, data)]
    return made(session, "sparse.route", ins, (length, cuts), length, cuts, data.dtype, True)
