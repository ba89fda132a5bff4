"""The commands of sparse arrays: parts are sent, made and held; elements and rows travel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import (
    check_session,
    copied,
    from_host,
    in_layout,
    record_collective,
)
from distnb.client.session.session import Session
from distnb.client.sparse.scipys import index_dtype
from distnb.client.sparse.structure import (
    Stored,
    Structure,
    cuts_of,
    even,
    is_everywhere,
    line,
    lines_of,
    local_pointers,
    pointer_cuts,
)
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, Layout, replicated
from distnb.ops.semirings import Semiring

__all__ = [
    "arrays",
    "below",
    "each",
    "elements",
    "everywhere",
    "laid",
    "lined",
    "made",
    "packed_ring",
    "places",
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
        (cuts[-1], minor),
        line(cuts, 1),
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
    return in_layout(x.data, x.structure.line(x.structure.ends))


def places(structure: Structure) -> tuple[Any, Any]:
    """Return indices and pointers where the structure has them."""
    return (
        in_layout(structure.indices, structure.line(structure.ends)),
        in_layout(structure.indptr, structure.line(pointer_cuts(structure.cuts))),
    )


def arrays(x: Stored) -> tuple[Any, ...]:
    """Return elements, indices and pointers where the structure has them."""
    return (elements(x), *places(x.structure))


def made(
    session: Session,
    op: str,
    ins: Sequence[Array],
    args: tuple[Any, ...],
    shape: Ints,
    layout: Layout,
    dtype: np.dtype,
    canonical: bool = False,
) -> Stored:
    """Let engines make parts, read how many elements each has, and hold them.

    ``op`` is a command that makes parts (``engines.sparse.parts.Making``), of an array with this
    shape (major axis, minor axis) in this layout.
    """
    p, copied, cuts = session.size, is_everywhere(layout), lines_of(layout, shape, session.size)
    counts = create(session, (p,), _COUNT, line(even(p, p)), ("empty",))
    record_collective(op, (counts,), ins, args)
    lengths = counts.to_numpy().tolist()
    ends = (0, *accumulate(lengths[:1] if copied else lengths))
    places = pointer_cuts(cuts)
    kind = index_dtype(*shape, ends[-1])
    where, pointers = [replicated(1, p) if copied else line(x) for x in (ends, places)]
    outs = (
        create(session, (ends[-1],), dtype, where, ("empty",)),
        create(session, (ends[-1],), kind, where, ("empty",)),
        create(session, (places[-1],), kind, pointers, ("empty",)),
    )
    record_collective("sparse.hold", outs, (counts,), ())
    return Stored(outs[0], Structure(shape, layout, ends, outs[1], outs[2], canonical))


def each(
    name: str,
    sources: Sequence[Stored],
    dtype: np.dtype,
    params: tuple[Any, ...] = (),
    dense: Sequence[Array] = (),
    shape: Ints | None = None,
    layout: Layout | None = None,
    canonical: bool = False,
) -> Stored:
    """Make parts of parts that are cut alike: a row of ``engines.sparse.local``, its arguments.

    ``shape`` and ``layout`` are those of the first one, unless others are given.
    """
    first = sources[0].structure
    shape, layout = shape or first.shape, layout or first.layout
    ins = [a for x in sources for a in arrays(x)] + [*dense]
    args = (name, tuple(x.structure.minor for x in sources), *params)
    return made(first.session, "sparse.each", ins, args, shape, layout, dtype, canonical)


def rows_of(x: Stored, positions: Array) -> Stored:
    """Return rows (of CSR) at some positions, which engines check; they lie as these do.

    ``positions`` are all of a base in a layout of ``line``.
    """
    s = x.structure
    cuts = cuts_of(positions.dbase.layout, len(positions))
    ins, args = (*arrays(x), positions), (s.minor, s.cuts)
    shape, where = (cuts[-1], s.minor), line(cuts, 1)
    return made(s.session, "sparse.rows", ins, args, shape, where, x.data.dtype, s.canonical)


def laid(x: Stored, layout: Layout) -> Stored:
    """Return the same array in a layout of boxes, each of which is on one engine.

    Engines send each other what their boxes have in common; one that has all takes its own.
    """
    s = x.structure
    if s.layout == layout:
        return x
    ins, args = arrays(x), (s.shape, s.layout, layout)
    return made(s.session, "sparse.lay", ins, args, s.shape, layout, x.data.dtype, s.canonical)


def recut(x: Stored, cuts: Ints) -> Stored:
    """Return the same array with its major axis cut, at other places."""
    return laid(x, line(cuts, 1))


def lined(x: Stored) -> Stored:
    """Return the same array in whole lines, in equal blocks of these if it is not so."""
    s = x.structure
    return x if s.lined else recut(x, even(s.major, s.session.size))


def everywhere(x: Stored) -> Stored:
    """Return the same array with all of it on each engine."""
    if x.structure.copied:
        return x
    x = lined(x)
    s = x.structure
    session, kind = s.session, s.index_dtype
    where = replicated(1, session.size)
    lengths = create(session, (s.major,), _COUNT, line(s.cuts), ("empty",))
    record_collective("sparse.rowwise", (lengths,), arrays(x), (s.minor, "lengths", ()))
    indptr = create(session, (s.major + 1,), kind, where, ("empty",))
    record_collective("sparse.count", (indptr,), (copied(lengths, kind, where),), ())
    data, indices = [copied(y, y.dtype, where) for y in (elements(x), s.indices)]
    whole = replicated(2, session.size)
    return Stored(data, Structure(s.shape, whole, (0, s.nnz), indices, indptr, s.canonical))


def below(sources: Sequence[Stored]) -> Stored:
    """Return arrays one below the other, as many rows of all on each engine."""
    first, ends = sources[0].structure, [0, *accumulate(x.structure.major for x in sources)]
    cuts = even(ends[-1], first.session.size)
    parts = []
    for x, start in zip(sources, ends, strict=False):
        n = x.structure.major
        parts.append(recut(x, tuple([min(max(c - start, 0), n) for c in cuts])))
    shape, canonical = (ends[-1], first.minor), all(x.structure.canonical for x in sources)
    kind, where = sources[0].data.dtype, line(cuts, 1)
    return each("below", parts, kind, shape=shape, layout=where, canonical=canonical)


def times(
    left: Stored, right: Stored, ring: Semiring, mask: Stored | None = None, others: bool = False
) -> Stored:
    """Return the product of two sparse arrays, both cut along rows (or both along columns).

    At the places of a mask, which lies as ``left``, or at all others. It lies as ``left``, of which
    engines have all only if they have all of ``right``.
    """
    a, b = left.structure, right.structure
    ins = (*arrays(right), *arrays(left), *(() if mask is None else arrays(mask)))
    args = (b.minor, b.cuts, packed_ring(ring), others)
    own = not ring.plain or mask is not None
    shape = (a.major, b.minor)
    return made(a.session, "sparse.times", ins, args, shape, a.layout, ring.dtype, own)


def packed_ring(ring: Semiring) -> tuple[str, str, str, bool]:
    """Return a semiring as it travels."""
    return (ring.add, ring.multiply, ring.dtype.str, ring.flip)


def turned(x: Stored) -> Stored:
    """Return the same array cut along its other axis; what is copied, or in blocks, stays so."""
    s, kind = x.structure, x.data.dtype
    shape = s.shape[::-1]
    if not s.lined:
        params, where = (s.shape, s.layout), s.layout.T
        return each("turned", (x,), kind, params, (), shape, where, s.canonical)
    cuts = even(s.minor, s.session.size)
    ins, args, where = arrays(x), (s.major, cuts), line(cuts, 1)
    return made(s.session, "sparse.turn", ins, args, shape, where, kind, s.canonical)


def routed(major: Array, minor: Array, data: Array, cuts: Ints, length: int) -> Stored:
    """Return the array of triplets on engines, where equal places are summed."""
    session = data.session
    for x in (major, minor):
        check_session(x, session)
    where = line(even(len(data), session.size))
    ins = [in_layout(x, where) for x in (major, minor, data)]
    shape, args = (cuts[-1], length), (length, cuts)
    return made(session, "sparse.route", ins, args, shape, line(cuts, 1), data.dtype, True)
