"""The commands of sparse arrays: parts are sent, made and held; elements and rows travel.

What they make of small arrays in reach, the notebook makes of the whole array. It does so with the
functions of engines (:mod:`distnb.ops.sparse_parts`), so bits and order are theirs. What two parts
give that are not in order may depend on where these end: it is made of each by itself, here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from distnb.client.handle.array import Array, create
from distnb.client.handle.conversion import (
    check_session,
    copied,
    from_host,
    in_layout,
    record_collective,
)
from distnb.client.reach.admission import admitted
from distnb.client.reach.small_steps import made_of
from distnb.client.session.session import Session
from distnb.client.sparse.scipys import index_dtype
from distnb.client.sparse.structure import (
    Seen,
    Stored,
    Structure,
    cuts_of,
    even,
    global_pointers,
    is_everywhere,
    line,
    lines_of,
    local_pointers,
    pointer_cuts,
)
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.common.ndarrays import QUICK
from distnb.geometry.layout import Ints, Layout, replicated
from distnb.ops.compressed import rows_of as whole_of
from distnb.ops.semirings import Semiring
from distnb.ops.sparse_parts import ALL, check_places, rowwise, stacked, summed
from distnb.ops.sparse_parts import made as part_of
from distnb.ops.sparse_parts import turned as turned_part
from distnb.plans.gather_scatter import checked

__all__ = [
    "arrays",
    "below",
    "brought",
    "each",
    "elements",
    "everywhere",
    "in_reach",
    "laid",
    "laid_out",
    "lined",
    "made",
    "made_here",
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

#: Dense arrays in reach; a semiring as it travels; options of SciPy's methods.
Near: TypeAlias = list[np.ndarray]
Packed: TypeAlias = tuple[str, str, str, bool]
Options: TypeAlias = tuple[tuple[str, object], ...]


# -- small ones in reach --------------------------------------------------------------------


def _stays(session: Session, nbytes: int) -> bool:
    """Tell whether an array of so many bytes that the notebook has stays in reach."""
    return config.place != "engines" and session.memory.possible and nbytes <= QUICK


def brought(x: Array, layout: Layout, dtype: np.dtype | None = None) -> Any:
    """Return all of a base with the elements of ``x`` in a layout: itself, or a copy.

    Of a small one in reach it stays there.
    """
    near = x.near
    if near is None or x.dbase.layout == layout or not _stays(x.session, x.nbytes):
        return in_layout(x, layout, dtype)
    return laid_out(x.session, near.astype(dtype or near.dtype, order="C"), layout, own=True)


def elements(x: Stored) -> Any:
    """Return the elements where the structure has them: users may have moved them."""
    return brought(_counted(x), x.structure.line(x.structure.ends))


def _counted(x: Stored) -> Any:
    """Return the elements; ValueError if users have put there more or fewer than places."""
    if x.data.shape != (x.structure.nnz,):
        raise ValueError(
            explain("elements", x.data.shape, f"({x.structure.nnz},)", "keep one for each place")
        )
    return x.data


def places(structure: Structure) -> tuple[Any, Any]:
    """Return indices and pointers where the structure has them."""
    return (
        in_layout(structure.indices, structure.line(structure.ends)),
        in_layout(structure.indptr, structure.line(pointer_cuts(structure.cuts))),
    )


def arrays(x: Stored) -> tuple[Any, ...]:
    """Return elements, indices and pointers where the structure has them."""
    return (elements(x), *places(x.structure))


def laid_out(session: Session, data: np.ndarray, layout: Layout, own: bool = False) -> Any:
    """Return the array of an ndarray, cut among engines: small ones stay in reach.

    ``own``: it was made for that, and is copied only where more memory hangs on it than its own.
    """
    if not _stays(session, data.nbytes):
        return from_host(session, data, layout)
    kept = own and data.base is None and data.flags.writeable and data.flags.c_contiguous
    return made_of(session, data if kept else data.copy(), layout)


def in_reach(
    session: Session, sources: Sequence[Stored], others: Sequence[Array] = (), room: int = 0
) -> list[Seen] | None:
    """Return SciPy's arrays on the memory of small ones in reach, whose rows are the lines.

    None where engines are to look. They are read only, and give the same bits as engines. ``room``
    is how many elements a result has; ``others`` may be in the notebook.
    """
    for y in others:
        check_session(y, session)
    nbytes = sum([y.nbytes for y in others]) + 16 * room
    nbytes += sum([x.data.nbytes + x.structure.indices.nbytes for x in sources])
    if nbytes > QUICK or not all(x.structure.lined for x in sources):
        return None
    if config.place != "engines" and all(y.near is not None for y in others):
        found = [_as_before(x) for x in sources]
        if None not in found:
            return found  # nothing has left since the last time
    held = [_anywhere(x) for x in sources]
    if not admitted(session, [a for three in held for a in three] + [*others], nbytes):
        return None
    return [_seen(x.structure, *three) for x, three in zip(sources, held, strict=True)]


def _anywhere(x: Stored) -> tuple[Any, ...]:
    """Return elements, indices and pointers: in reach they are whole, wherever they lie."""
    data, near = _counted(x), x.data.near
    whole = near is None or near.flags.c_contiguous
    return (data if whole else elements(x), x.structure.indices, x.structure.indptr)


def _as_before(x: Stored) -> Any:
    """Return what was seen of an array that nothing has left since, else None."""
    seen = x.structure.seen
    if seen is None or x.data.near is not seen.data or x.structure.indices.near is not seen.indices:
        return None
    return seen


def _seen(s: Structure, data: Array, indices: Array, indptr: Array) -> Seen:
    """Return SciPy's arrays in the memory of these: what is written there later, they have."""
    elements, places = np.asarray(data.near), np.asarray(indices.near)
    if s.seen is None or s.seen.data is not elements or s.seen.indices is not places:
        pointers = global_pointers(np.asarray(indptr.near), s.cuts, s.ends)
        x, i = elements.view(), places.view()
        x.flags.writeable = i.flags.writeable = False  # SciPy may sort in place
        whole = whole_of((x, i, pointers.astype(i.dtype, copy=False)), (s.major, s.minor))
        if s.canonical:
            whole.has_canonical_format = True
        s.seen = Seen(elements, places, whole, s.cuts)
    return s.seen


def made_here(
    session: Session,
    op: str,
    sources: Sequence[Stored],
    others: Sequence[Array],
    args: tuple[Any, ...],
    room: int = 0,
) -> Any:
    """Return what a command makes of small arrays in reach, None where engines are to do it.

    That is an array of SciPy's, or of NumPy's, with memory that nobody else writes into.
    """
    run = _HERE.get(op)
    seen = None if run is None else in_reach(session, sources, others, room)
    if run is None or seen is None:
        return None
    return run(seen, [y.near for y in others], *args)


# -- parts ------------------------------------------------------------------------------------


def sent(
    session: Session,
    given: tuple[np.ndarray, np.ndarray, np.ndarray],
    minor: int,
    cuts: Ints,
    canonical: bool,
    own: bool = False,
) -> Stored:
    """Send elements, indices and pointers to the engines, or keep them in reach if they are small.

    ``own``: they were made for that.
    """
    data, indices, indptr = given
    kind = index_dtype(cuts[-1], minor, len(data))
    ends = tuple(indptr[list(cuts)].tolist())
    where, pointers = line(ends), local_pointers(indptr, cuts)
    structure = Structure(
        (cuts[-1], minor),
        line(cuts, 1),
        ends,
        laid_out(session, indices.astype(kind, copy=False), where, own),
        laid_out(session, pointers.astype(kind, copy=False), line(pointer_cuts(cuts)), True),
        canonical,
    )
    return Stored(laid_out(session, data, where, own), structure)


def made(
    session: Session,
    op: str,
    sources: Sequence[Stored],
    others: Sequence[Array],
    args: tuple[Any, ...],
    shape: Ints,
    layout: Layout,
    dtype: np.dtype,
    canonical: bool = False,
) -> Stored:
    """Let engines make parts, read how many elements each has, and hold them.

    ``op`` is a command that makes parts (``engines.sparse.parts.Making``), of an array with this
    shape (major axis, minor axis) in this layout. Its operands are the arrays of ``sources``, and
    others. Of small ones in reach the notebook makes it.
    """
    p, copied, cuts = session.size, is_everywhere(layout), lines_of(layout, shape, session.size)
    lined = layout == line(cuts, 1)
    near = made_here(session, op, sources, others, args) if lined else None
    if near is not None:
        found = (near.data.astype(dtype, copy=False), near.indices, near.indptr)
        return sent(session, found, shape[1], cuts, canonical, own=True)
    ins = (*[a for x in sources for a in arrays(x)], *others)
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
    args = (name, tuple(x.structure.minor for x in sources), *params)
    return made(first.session, "sparse.each", sources, dense, args, shape, layout, dtype, canonical)


def rows_of(x: Stored, positions: Array) -> Stored:
    """Return rows (of CSR) at some positions, which engines check; they lie as these do.

    ``positions`` are all of a base in a layout of ``line``.
    """
    s = x.structure
    cuts = cuts_of(positions.dbase.layout, len(positions))
    args, shape, where, kind = (s.minor, s.cuts), (cuts[-1], s.minor), line(cuts, 1), x.data.dtype
    return made(s.session, "sparse.rows", (x,), (positions,), args, shape, where, kind, s.canonical)


def laid(x: Stored, layout: Layout) -> Stored:
    """Return the same array in a layout of boxes, each of which is on one engine.

    Engines send each other what their boxes have in common; one that has all takes its own.
    """
    s = x.structure
    if s.layout == layout:
        return x
    args, kind = (s.shape, s.layout, layout), x.data.dtype
    return made(s.session, "sparse.lay", (x,), (), args, s.shape, layout, kind, s.canonical)


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
    sources = (right, left, *(() if mask is None else (mask,)))
    args = (b.minor, b.cuts, packed_ring(ring), others)
    own = not ring.plain or mask is not None
    shape = (a.major, b.minor)
    return made(a.session, "sparse.times", sources, (), args, shape, a.layout, ring.dtype, own)


def packed_ring(ring: Semiring) -> Packed:
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
    args, where = (s.major, cuts), line(cuts, 1)
    return made(s.session, "sparse.turn", (x,), (), args, shape, where, kind, s.canonical)


def routed(major: Array, minor: Array, data: Array, cuts: Ints, length: int) -> Stored:
    """Return the array of triplets on engines, where equal places are summed."""
    session = data.session
    for x in (major, minor):
        check_session(x, session)
    where = line(even(len(data), session.size))
    ins = [brought(x, where) for x in (major, minor, data)]
    shape, args, kind = (cuts[-1], length), (length, cuts), data.dtype
    return made(session, "sparse.route", (), ins, args, shape, line(cuts, 1), kind, True)


# -- what the commands do, of all rows; None is for engines ------------------------------------


def _each(seen: list[Seen], dense: Near, name: str, minors: Ints, *params: object) -> Any:
    if len(seen) < 2 or all(x.whole.has_canonical_format for x in seen):
        return part_of(name, ALL, [x.whole for x in seen], dense, params)
    every = zip(*[x.parts for x in seen], strict=True)
    parts = [part_of(name, r, [*of], dense, params) for r, of in enumerate(every)]
    return stacked(parts, parts[0])


def _rows(seen: list[Seen], dense: Near, minor: int, cuts: Ints) -> Any:
    (x,), (positions,) = seen, dense
    wanted = checked(positions, cuts[-1])
    return x.whole[wanted] if _is_small(np.diff(x.whole.indptr)[wanted]) else None


def _lay(seen: list[Seen], dense: Near, *_: object) -> Any:
    return seen[0].whole.copy()


def _turn(seen: list[Seen], dense: Near, *_: object) -> Any:
    return turned_part(seen[0].whole)


def _times(
    seen: list[Seen], dense: Near, minor: int, cuts: Ints, ring: Packed, others: bool
) -> Any:
    if len(seen) > 2 or ring[:2] != ("plus", "times"):
        return None
    right, left = [x.whole for x in seen]
    return left @ right if _is_small(np.diff(right.indptr)[left.indices]) else None


def _is_small(lengths: np.ndarray) -> bool:
    """Tell whether rows of these lengths are few enough elements for the notebook."""
    return 16 * int(lengths.sum(dtype=np.int64)) <= QUICK


def _route(seen: list[Seen], dense: Near, length: int, cuts: Ints) -> Any:
    major, minor, data = dense
    check_places((major, minor), (cuts[-1], length))
    major, minor = [x.astype(np.int64, copy=False) for x in (major, minor)]
    return summed(major, minor, data, (cuts[-1], length))


def _rowwise(seen: list[Seen], dense: Near, minor: int, method: str, options: Options) -> Any:
    return rowwise(seen[0].whole, method, options)


def _dense(seen: list[Seen], dense: Near, shape: Ints, layout: Layout, axis: int) -> Any:
    whole = seen[0].whole
    return (whole if axis == 0 else whole.T).toarray()


def _diagonal(seen: list[Seen], dense: Near, minor: int, starts: Ints, k: int) -> Any:
    return seen[0].whole.diagonal(k)


def _points(seen: list[Seen], dense: Near, minor: int, cuts: Ints) -> Any:
    rows, columns = dense
    return seen[0].whole[checked(rows, cuts[-1]), checked(columns, minor, 1)]


def _spread(seen: list[Seen], dense: Near) -> Any:
    return np.repeat(dense[0], np.diff(seen[0].whole.indptr))


def _look(seen: list[Seen], dense: Near, shape: Ints, layout: Layout, axis: int) -> Any:
    whole, (y,) = seen[0].whole, dense
    rows = np.repeat(np.arange(len(whole.indptr) - 1), np.diff(whole.indptr))
    return y[rows, whole.indices] if axis == 0 else y[whole.indices, rows]


def _pick(seen: list[Seen], dense: Near) -> Any:
    return dense[0][seen[0].whole.indices]


#: Commands -> what they make of all rows.
_HERE: dict[str, Callable[..., Any]] = {
    "sparse.dense": _dense,
    "sparse.diagonal": _diagonal,
    "sparse.each": _each,
    "sparse.lay": _lay,
    "sparse.look": _look,
    "sparse.pick": _pick,
    "sparse.points": _points,
    "sparse.route": _route,
    "sparse.rows": _rows,
    "sparse.rowwise": _rowwise,
    "sparse.spread": _spread,
    "sparse.times": _times,
    "sparse.turn": _turn,
}
